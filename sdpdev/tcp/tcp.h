/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The native TCP socket of an endpoint.
 */
#ifndef _SDP_TCP_H
#define _SDP_TCP_H

#include "core/ep.h"
#include "transport/transport.h"

/* native.c */
int sdp_native_create(struct sdp_ep *ep, unsigned short family);
int sdp_native_ensure(struct sdp_ep *ep);
void sdp_native_release(struct sdp_ep *ep);
bool sdp_native_fall_back(struct sdp_ep *ep, struct sockaddr_storage *peer, int *err);
bool sdp_native_only_bound(struct sdp_ep *ep);
int sdp_native_flow(struct sdp_ep *ep, struct sdp_xprt_params *params);
int sdp_native_may_connect(struct sdp_ep *ep, const struct sockaddr_storage *addr,
			   unsigned int len, u8 *reason);
int sdp_native_local(struct sdp_ep *ep, struct sockaddr_storage *ss);
int sdp_native_autobind(struct sdp_ep *ep);
__poll_t sdp_native_poll(struct sdp_ep *ep);
ssize_t sdp_native_recv(struct sdp_ep *ep, struct iov_iter *to,
			unsigned int flags, struct msghdr *msg);
ssize_t sdp_native_send(struct sdp_ep *ep, struct iov_iter *from,
			unsigned int flags);
long sdp_native_ioctl(struct sdp_ep *ep, unsigned int cmd, unsigned long arg);
bool sdp_native_signs(struct sdp_ep *ep);
bool sdp_native_holds(struct sdp_ep *ep);
void sdp_native_info(struct sdp_ep *ep, struct sdp_info *info);

/* opts.c */
struct sock *sdp_native_sk(struct sdp_ep *ep);
bool sdp_native_shared(struct sdp_ep *ep);
long sdp_timeo(struct sdp_ep *ep, bool send);
int sdp_rcvlowat(struct sdp_ep *ep);
bool sdp_recv_by_call(struct sdp_ep *ep);
void sdp_opts_get(struct sdp_ep *ep, struct sdp_opts *opts);
u8 sdp_nonagle(struct sdp_ep *ep);
void sdp_opts_set(struct sock *sk, const struct sdp_opts *opts);

/* inherit.c */
void sdp_inherit_get(const struct sock *sk, struct sdp_inherited *what);
void sdp_inherit_set(struct sock *sk, const struct sdp_inherited *what);

/* route.c */
void sdp_route_set(struct sdp_ep *ep);
void sdp_route_forget(struct sdp_ep *ep);

#endif /* _SDP_TCP_H */

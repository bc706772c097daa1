/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The native TCP socket of an endpoint, and the socket options.
 *
 * The socket holds the port and the options, listens beside SDP, and takes the connection
 * where SDP cannot.  User space can get a descriptor of it, so whatever state it is in is
 * never taken for granted.  An accepted endpoint has none before somebody asks for it:
 * what it would have stands in struct sdp_tcp.
 *
 * Locks: ep->op_mutex serialises those that make the socket; it is set once, with release
 * order, and stays as long as the endpoint.  The socket's own lock is user space's to
 * keep: nobody waits for it but in calls that user space makes itself.
 */
#ifndef _SDP_TCP_H
#define _SDP_TCP_H

#include "core/core.h"
#include "transport/transport.h"

/**
 * struct sdp_opts - socket options that an accepted endpoint inherits
 * @rcvtimeo: SO_RCVTIMEO in jiffies
 * @sndtimeo: SO_SNDTIMEO in jiffies
 * @linger: SO_LINGER's time in jiffies, or -1 where it is off
 * @rcvlowat: SO_RCVLOWAT
 * @rcvbuf: SO_RCVBUF, or zero where it was not set
 * @sndbuf: SO_SNDBUF, or zero where it was not set
 * @oobinline: SO_OOBINLINE
 * @keepalive: SO_KEEPALIVE
 * @keepidle: TCP_KEEPIDLE in jiffies
 * @keepintvl: TCP_KEEPINTVL in jiffies
 * @keepcnt: TCP_KEEPCNT
 * @user_timeout: TCP_USER_TIMEOUT in jiffies, or zero
 * @nonagle: TCP_NODELAY and TCP_CORK, as TCP_NAGLE_*
 * @user_mss: TCP_MAXSEG, or zero where it was not set
 * @reuse: SO_REUSEADDR
 * @bound_dev_if: SO_BINDTODEVICE
 *
 * Stands in for the native socket until there is one.
 */
struct sdp_opts {
	long rcvtimeo;
	long sndtimeo;
	long linger;
	int rcvlowat;
	int rcvbuf;
	int sndbuf;
	bool oobinline;
	bool keepalive;
	unsigned long keepidle;
	unsigned long keepintvl;
	int keepcnt;
	unsigned long user_timeout;
	u8 nonagle;
	u16 user_mss;
	u8 reuse;
	int bound_dev_if;
};

/**
 * struct sdp_inherited - options that an accepted endpoint inherits, and that do
 *	nothing over SDP
 * @pacing: SO_MAX_PACING_RATE
 * @flags: those that are one bit of the socket's flags
 * @mark: SO_MARK
 * @tsflags: SO_TIMESTAMPING
 * @notsent_lowat: TCP_NOTSENT_LOWAT
 * @linger2: TCP_LINGER2 in jiffies
 * @peek_off: SO_PEEK_OFF, which does what it says over SDP as well, or -1
 * @ttl: IP_TTL
 * @hops: IPV6_UNICAST_HOPS
 * @rxopt: IPV6_RECV*
 * @tos: IP_TOS
 * @min_ttl: IP_MINTTL
 * @syn_retries: TCP_SYNCNT
 * @reuseport: SO_REUSEPORT
 * @v6only: IPV6_V6ONLY
 * @inq: TCP_INQ, which does what it says over SDP as well
 */
struct sdp_inherited {
	unsigned long pacing;
	unsigned long flags;
	u32 mark;
	u32 tsflags;
	u32 notsent_lowat;
	int linger2;
	int peek_off;
	s16 ttl;
	s16 hops;
	u16 rxopt;
	u8 tos;
	u8 min_ttl;
	u8 syn_retries;
	bool reuseport;
	bool v6only;
	bool inq;
};

/**
 * struct sdp_tcp - the native socket, and what stands in for it
 * @ep: the endpoint
 * @file: file of the TCP socket; set once, under ep->op_mutex
 * @wait: passes the TCP socket's wake-ups on to ep->wait
 * @urg_seq: sequence number of the last urgent byte told of, under the lock of the TCP
 *	socket's wait queue
 * @opts: stands in for @file where that is NULL; ep->lock
 * @inherited: what @file gets from the listener when it is made, besides
 */
struct sdp_tcp {
	struct sdp_ep *ep;
	struct file *file;
	wait_queue_entry_t wait;
	u64 urg_seq;
	struct sdp_opts opts;
	struct sdp_inherited inherited;
};

/* native.c */
void sdp_tcp_init(struct sdp_tcp *tcp, struct sdp_ep *ep);
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
bool sdp_native_holds(struct sdp_ep *ep, u16 port, bool listens);
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

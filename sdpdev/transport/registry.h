/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transports that there are: for the protocol, which is on this side of transport.h.
 * Transports include transport.h and share.h alone.
 *
 * A mutex serialises registration and the ports listened on; a caller of sdp_xprt_listen() or
 * sdp_xprt_unlisten() must not hold a lock that a transport's upcall takes.  The
 * list of transports is read under RCU.  A reference to a transport keeps it registered,
 * and its module loaded: each connection has one from its making until it is freed.
 */
#ifndef _SDP_REGISTRY_H
#define _SDP_REGISTRY_H

#include "transport/transport.h"

struct sdp_xprt_port;

/* registry.c */
void sdp_xprt_init(const struct sdp_xprt_upcalls *up);
bool sdp_xprt_get(const struct sdp_xprt_ops *ops);
void sdp_xprt_put(const struct sdp_xprt_ops *ops);
const struct sdp_xprt_ops *sdp_xprt_route(struct net *net, struct sdp_xprt_params *params);
bool sdp_xprt_takes(const struct net_device *dev, u8 by);
struct sdp_xprt_port *sdp_xprt_listen(struct net *net, u16 port);
void sdp_xprt_unlisten(struct sdp_xprt_port *port);
void sdp_xprt_stats(struct seq_file *seq);

/* share.c */
void sdp_xprt_disown(struct sdp_xprt_conn *conn);

#endif /* _SDP_REGISTRY_H */

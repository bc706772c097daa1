/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transports that there are: for the protocol, which is on this side of transport.h.
 *
 * A mutex serialises registration and the ports listened on; nobody may hold a lock that a
 * transport's upcall takes when calling sdp_xprt_listen() or sdp_xprt_unlisten().
 * A reference to a transport keeps it registered, and its module loaded.
 */
#ifndef _SDP_REGISTRY_H
#define _SDP_REGISTRY_H

#include "transport/transport.h"

/* registry.c */
void sdp_xprt_init(const struct sdp_xprt_upcalls *up);
const struct sdp_xprt_ops *sdp_xprt_get(void);
void sdp_xprt_put(void);
int sdp_xprt_listen(u16 port);
void sdp_xprt_unlisten(u16 port);
void sdp_xprt_stats(struct seq_file *seq);

#endif /* _SDP_REGISTRY_H */

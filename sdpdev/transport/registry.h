/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transports that there are.
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

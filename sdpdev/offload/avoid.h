/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is remembered of peers that have no carrier, so that no end asks them in vain.
 */
#ifndef _SDP_OFFLOAD_AVOID_H
#define _SDP_OFFLOAD_AVOID_H

#include "offload/carrier.h"
#include "offload/offload.h"

struct sdp_avoid;

enum sdp_stay sdp_avoid(struct sdp_sock *ss, u8 kind, int ifindex, gfp_t gfp);
void sdp_avoid_joined(struct sdp_sock *ss, const struct sdp_carrier *c);
void sdp_avoid_untried(struct sdp_sock *ss, u8 kind, int ifindex, unsigned long began);
void sdp_avoid_gone(struct sdp_sock *ss, const struct sdp_carrier *c);
void sdp_avoid_over(struct sdp_sock *ss, struct sdp_carrier *c);
void sdp_avoid_free(struct sdp_avoid *avoid);

#endif /* _SDP_OFFLOAD_AVOID_H */

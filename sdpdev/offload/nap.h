/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SDP_NAP_H
#define _SDP_NAP_H

#include <linux/types.h>

struct sdp_pipe;
struct sdp_sock;

/**
 * struct sdp_nap - how a reader of a mapped pipe sleeps (nap.c)
 * @sent: where the reader's own sending direction was when it waited last
 * @least: bytes that a nap has to find
 * @dense: waits in a row that were short, since the reader has sent something
 * @wanted: and how many there must be before a nap
 *
 * The readers change it without a lock: it is a guess.
 */
struct sdp_nap {
	u64 sent;
	u32 least;
	u16 dense;
	u16 wanted;
};

void sdp_nap(struct sdp_sock *ss);
u64 sdp_nap_wait(const struct sdp_sock *ss);
void sdp_nap_woken(struct sdp_sock *ss, u64 since);
void sdp_nap_end(struct sdp_pipe *pipe);

#endif /* _SDP_NAP_H */

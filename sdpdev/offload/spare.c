// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of small messages serves again, once each way: a request and its answer need no new one.
 *
 * A carrier has one packet for the next message to be sent, and one for the next that comes.  They
 * go with it, so an idle connection has none.
 */
#include <net/sock.h>

#include "core/core.h"
#include "offload/lane.h"

/*
 * Empties a packet that can serve again; false if it cannot.  A packet with a notice cannot, as
 * only its end lets go of the notice.  Newer kernels give a packet one before they look at the
 * program's memory.
 */
static bool sdp_spare_empty(struct sk_buff *skb)
{
	if (skb_is_nonlinear(skb) || skb_cloned(skb) || skb_shared(skb) || skb->destructor ||
	    skb_zcopy(skb) || skb_end_offset(skb) > SKB_WITH_OVERHEAD(PAGE_SIZE / 2))
		return false;
	skb->data = skb->head;
	skb_reset_tail_pointer(skb);
	skb->len = 0;
	return true;
}

/*
 * No end needs the message any more: the carrier keeps it, or it is freed.  The socket is locked.
 */
void sdp_spare_sent(struct sdp_lane *lane, struct sk_buff *skb)
{
	struct sdp_carrier *c = lane->carrier;

	if (!sdp_lane_msg(skb)->lent)
		sdp_frag_keep(skb);
	if (c && !c->own && sdp_spare_empty(skb))
		c->own = skb;
	else
		kfree_skb(skb);
}

/* An empty packet, or NULL.  The lane has a carrier, and its socket is locked. */
struct sk_buff *sdp_spare_take(struct sdp_lane *lane)
{
	struct sk_buff *skb = lane->carrier->own;

	lane->carrier->own = NULL;
	return skb;
}

/*
 * The program has read all of the message: the carrier keeps it, or it is freed.  The socket is
 * locked, but the carrier's module may take the spare one at the same time: sdp_carrier_spare().
 */
void sdp_spare_read(struct sdp_lane *lane, struct sk_buff *skb)
{
	struct sdp_carrier *c = lane->carrier;

	if (c && sdp_spare_empty(skb))
		skb = xchg(&c->spare, skb);
	kfree_skb(skb);
}

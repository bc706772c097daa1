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
 * Is a packet as good as new, once it is empty?  If so, it is.  One that has a notice goes, and
 * lets go of that: newer kernels give it one before they look at the program's memory.
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

/**
 * sdp_spare_sent() - nobody needs a message any more that was sent
 * @lane: the lane, its socket locked
 * @skb: the message
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

/**
 * sdp_spare_take() - memory for a message to be sent
 * @lane: a lane that has a carrier, its socket locked
 *
 * Return: an empty packet, or NULL.
 */
struct sk_buff *sdp_spare_take(struct sdp_lane *lane)
{
	struct sk_buff *skb = lane->carrier->own;

	lane->carrier->own = NULL;
	return skb;
}

/**
 * sdp_spare_read() - the program has read all of a message
 * @lane: the lane, its socket locked
 * @skb: the message
 *
 * The carrier's module may take it at the same time: sdp_carrier_spare().
 */
void sdp_spare_read(struct sdp_lane *lane, struct sk_buff *skb)
{
	struct sdp_carrier *c = lane->carrier;

	if (c && sdp_spare_empty(skb))
		skb = xchg(&c->spare, skb);
	kfree_skb(skb);
}

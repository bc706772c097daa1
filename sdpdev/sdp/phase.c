// SPDX-License-Identifier: GPL-2.0
/*
 * How far a connection is.
 */
#include <linux/poll.h>

#include "sdp/sdp.h"

/**
 * sdp_set_ended() - nothing is sent or received from now on
 * @ep: the endpoint, ep->lock held
 * @reason: SDP_REASON_*, NONE after an orderly end
 * @err: error for user space, positive, or zero
 */
void sdp_set_ended(struct sdp_ep *ep, u8 reason, int err)
{
	if (ep->reason == SDP_REASON_NONE && reason != SDP_REASON_NONE) {
		ep->reason = reason;
		sdp_count(SDP_CNT_REASON + reason);
	}
	if (err && !ep->orphan)
		ep->err = err;
	ep->shut = SHUTDOWN_MASK;
	ep->state = SDP_STATE_CLOSED;
	sdp_ring_tx_end(ep);
	sdp_ring_rx_flags(ep);
	sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT |
			EPOLLWRNORM | EPOLLERR | EPOLLHUP);
}

/**
 * sdp_conn_ended() - the connection has ended, orderly or not
 * @ep: the endpoint, ep->lock held
 * @reason: SDP_REASON_*, NONE after an orderly end
 * @err: error for user space, positive, or zero
 */
void sdp_conn_ended(struct sdp_ep *ep, u8 reason, int err)
{
	if (ep->kill || !ep->conn)
		return;
	/* Who lingers looks for it when it is woken. */
	ep->kill = true;
	if (!ep->ending)
		sdp_set_ended(ep, reason, err);
	sdp_ep_kick(ep);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * How far a connection is.
 */
#include <linux/poll.h>

#include "sdp/sdp.h"

/**
 * sdp_set_ended() - nothing is sent or received from now on
 * @conn: the connection, ep->lock held
 * @reason: SDP_REASON_*, NONE after an orderly end
 * @err: error for user space, positive, or zero
 */
void sdp_set_ended(struct sdp_conn *conn, u8 reason, int err)
{
	struct sdp_ep *ep = conn->ep;

	if (ep->reason == SDP_REASON_NONE && reason != SDP_REASON_NONE) {
		ep->reason = reason;
		sdp_count(SDP_CNT_REASON + reason);
	}
	if (err && !ep->orphan)
		ep->err = err;
	ep->shut = SHUTDOWN_MASK;
	ep->state = SDP_STATE_CLOSED;
	sdp_ring_tx_end(conn);
	sdp_ring_rx_flags(conn);
	sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT |
			EPOLLWRNORM | EPOLLERR | EPOLLHUP);
}

/**
 * sdp_conn_ended() - the connection has ended, orderly or not
 * @conn: the connection, ep->lock held
 * @reason: SDP_REASON_*, NONE after an orderly end
 * @err: error for user space, positive, or zero
 */
void sdp_conn_ended(struct sdp_conn *conn, u8 reason, int err)
{
	struct sdp_ep *ep = conn->ep;

	if (conn->kill || !conn->xc)
		return;
	/* Who lingers looks for it when it is woken. */
	conn->kill = true;
	if (!conn->ending)
		sdp_set_ended(conn, reason, err);
	sdp_ep_kick(ep);
}

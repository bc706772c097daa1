// SPDX-License-Identifier: GPL-2.0
/*
 * How connections end: half by half with DisConn, or at once with AbortConn.
 */
#include <linux/poll.h>

#include "sdp/sdp.h"

/**
 * sdp_abort() - end the connection by AbortConn
 * @ep: the endpoint, ep->lock held
 * @reason: SDP_REASON_*
 * @err: error for user space, positive, or zero
 */
void sdp_abort(struct sdp_ep *ep, u8 reason, int err)
{
	struct sdp_xprt_buf *buf;

	if (ep->ending || ep->kill || !ep->conn)
		return;
	if (!ep->live || sdp_credit_tx(&ep->credit) < 1) {
		sdp_conn_ended(ep, reason, err);
		return;
	}
	/* What the transport does not have yet is not sent any more. */
	list_for_each_entry(buf, &ep->tx_pending, list)
		ep->tx_used--;
	list_splice_init(&ep->tx_pending, &ep->tx_free);
	ep->ending = true;
	sdp_set_ended(ep, reason, err);
	sdp_conn_timer(ep, SDP_ABORT_MS);
	if (ep->live && !ep->kill)
		sdp_post_abort(ep);
}

/**
 * sdp_bad_message() - the peer sent what it must not send
 * @ep: the endpoint, ep->lock held
 * @bad: what is wrong with it
 */
void sdp_bad_message(struct sdp_ep *ep, enum sdp_bad bad)
{
	u8 reason = SDP_REASON_BAD_MESSAGE;

	if (bad == SDP_BAD_MSEQ || bad == SDP_BAD_MSEQ_ACK)
		reason = SDP_REASON_SEQUENCE;
	else if (bad == SDP_BAD_CREDITS)
		reason = SDP_REASON_CREDITS;
	sdp_count(SDP_CNT_BAD + bad);
	sdp_abort(ep, reason, ECONNRESET);
}

/**
 * sdp_close_progress() - a DisConn came, or ours has arrived
 * @ep: the endpoint, ep->lock held
 */
void sdp_close_progress(struct sdp_ep *ep)
{
	if (ep->ending || ep->kill)
		return;
	if (ep->state == SDP_STATE_CONNECTED)
		ep->state = SDP_STATE_CLOSING;
	if (ep->fin_rcvd && ep->fin_done)
		sdp_conn_ended(ep, SDP_REASON_NONE, 0);
	else if (ep->fin_done)
		/* Somebody may linger until the peer has all. */
		sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
}

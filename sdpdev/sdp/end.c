// SPDX-License-Identifier: GPL-2.0
/*
 * How connections end: half by half with DisConn, or at once with AbortConn.
 */
#include <linux/poll.h>

#include "sdp/sdp.h"

/**
 * sdp_abort() - end the connection by AbortConn
 * @conn: the connection, ep->lock held
 * @reason: SDP_REASON_*
 * @err: error for user space, positive, or zero
 */
void sdp_abort(struct sdp_conn *conn, u8 reason, int err)
{
	struct sdp_xprt_buf *buf;

	if (sdp_conn_over(conn))
		return;
	if (conn->phase == SDP_PHASE_SETUP || sdp_credit_tx(&conn->credit) < 1) {
		sdp_conn_ended(conn, reason, err);
		return;
	}
	/* What the transport does not have yet is not sent any more. */
	list_for_each_entry(buf, &conn->tx.pending.list, list)
		conn->tx.used--;
	sdp_segs_cut(&conn->tx.pending, &conn->tx.free);
	sdp_phase_set(conn, SDP_PHASE_ABORT);
	sdp_set_ended(conn, reason, err);
	sdp_conn_timer(conn, SDP_ABORT_MS);
	if (conn->phase == SDP_PHASE_ABORT)
		sdp_post_abort(conn);
}

/**
 * sdp_bad_message() - the peer sent what it must not send
 * @conn: the connection, ep->lock held
 * @bad: what is wrong with it
 */
void sdp_bad_message(struct sdp_conn *conn, enum sdp_bad bad)
{
	u8 reason = SDP_REASON_BAD_MESSAGE;

	if (bad == SDP_BAD_MSEQ || bad == SDP_BAD_MSEQ_ACK)
		reason = SDP_REASON_SEQUENCE;
	else if (bad == SDP_BAD_CREDITS)
		reason = SDP_REASON_CREDITS;
	sdp_count(SDP_CNT_BAD + bad);
	sdp_abort(conn, reason, ECONNRESET);
}

/**
 * sdp_close_progress() - a DisConn came, or ours has arrived
 * @conn: the connection, ep->lock held
 */
void sdp_close_progress(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	if (sdp_conn_over(conn))
		return;
	if (ep->state == SDP_STATE_CONNECTED)
		sdp_state_set(ep, SDP_STATE_CLOSING);
	if (conn->rx.state == SDP_RX_FIN && conn->tx.state == SDP_TX_FIN_ACKED)
		sdp_conn_ended(conn, SDP_REASON_NONE, 0);
	else if (conn->tx.state == SDP_TX_FIN_ACKED)
		/* Somebody may linger until the peer has all. */
		sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
}

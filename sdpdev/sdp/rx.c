// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving: messages from the transport, checked, their bytes queued or put
 * into the receive ring.
 */
#include <linux/poll.h>

#include "sdp/sdp.h"

static void sdp_rx_drop(struct sdp_conn *conn, struct sdp_xprt_buf *buf)
{
	conn->credit.bufs--;
	sdp_buf_free(conn, conn->xc, buf);
}

/**
 * sdp_rx_repost() - use a receive buffer again
 * @conn: the connection, ep->lock held
 * @buf: the buffer
 * @fresh: it has carried stream bytes
 *
 * A receive buffer that has served goes back to the transport, unless SO_RCVBUF has
 * become less than there are.
 */
void sdp_rx_repost(struct sdp_conn *conn, struct sdp_xprt_buf *buf, bool fresh)
{
	int err = -ECANCELED;

	if (!sdp_conn_over(conn) && !sdp_credit_over_limit(&conn->credit))
		err = conn->xprt->post_recv(conn->xc, buf);
	if (!err) {
		sdp_credit_posted(&conn->credit, fresh);
		return;
	}
	sdp_rx_drop(conn, buf);
	if (err == -ENOBUFS)
		sdp_size_lost(conn);
}

/**
 * sdp_rx_to_ring() - move what there is room for from the queue into the ring
 * @conn: a connection with rings, ep->lock held
 */
void sdp_rx_to_ring(struct sdp_conn *conn)
{
	struct sdp_xprt_buf *buf;
	u32 n;

	while (!sdp_segs_empty(&conn->rx.queue)) {
		buf = sdp_segs_first(&conn->rx.queue);
		n = sdp_urg_until(conn, sdp_seg_bytes(buf));
		n = sdp_ring_put(conn, buf->data + buf->off, n);
		if (!sdp_segs_take(&conn->rx.queue, n))
			return;
		sdp_rx_repost(conn, buf, true);
	}
}

/* Stream bytes: returns whether @buf was kept. */
static bool sdp_rx_data(struct sdp_conn *conn, struct sdp_xprt_buf *buf,
			const struct sdp_pdu *pdu)
{
	struct sdp_ep *ep = conn->ep;
	bool direct = conn->rings.rx.size && sdp_segs_empty(&conn->rx.queue);

	if (!pdu->payload) {
		sdp_size_told(conn);
		return false;
	}
	if (conn->rx.state == SDP_RX_FIN) {
		sdp_bad_message(conn, SDP_BAD_TURN);
		return false;
	}
	/* Nobody will read it; TCP answers late data with a reset, too. */
	if (ep->orphan ||
	    (conn->rx.state == SDP_RX_SHUT && (ep->shut & SEND_SHUTDOWN))) {
		sdp_tx_abort_after(conn);
		return false;
	}
	buf->off = pdu->off;
	sdp_segs_add(&conn->rx.queue, buf);
	sdp_size_received(conn);
	if (pdu->oob_pres)
		sdp_urg_arrived(conn, ((u8 *)buf->data)[buf->len - 1]);
	if (direct)
		sdp_rx_to_ring(conn);
	sdp_ring_rx_flags(conn);
	return true;
}

/*
 * Mode changes (A4.6.1): Buffered to Combined is the sink's to ask, everything
 * else the source's.  Both halves begin in Combined mode.
 */
static bool sdp_rx_mode_change(struct sdp_conn *conn, const struct sdp_pdu *pdu)
{
	if (pdu->mode_of_receiver) {
		if (conn->tx.mode != SDP_MODE_BUFFERED ||
		    pdu->mode != SDP_MODE_COMBINED)
			return false;
		conn->tx.mode = pdu->mode;
		return true;
	}
	/* From the source: Combined is next to either of the other two. */
	if (conn->rx.mode == SDP_MODE_BUFFERED || pdu->mode == conn->rx.mode ||
	    (conn->rx.mode != SDP_MODE_COMBINED && pdu->mode != SDP_MODE_COMBINED))
		return false;
	conn->rx.mode = pdu->mode;
	return true;
}

/*
 * Advertisements of memory are never taken up: the answer to a source is "send
 * it by Bcopy" (SendSm), and a sink's becomes void with the next Data message.
 */
static bool sdp_rx_advert(struct sdp_conn *conn, const struct sdp_pdu *pdu)
{
	switch (pdu->mid) {
	case SDP_MID_SRC_AVAIL:
		if (conn->rx.mode == SDP_MODE_BUFFERED || conn->rx.state == SDP_RX_FIN ||
		    (conn->rx.mode == SDP_MODE_COMBINED && !pdu->payload))
			return false;
		conn->rx.advert = true;
		conn->send_sm++;
		return true;
	case SDP_MID_SRC_AVAIL_CANCEL:
		/* It crossed the SendSm, which is the answer to it as well. */
		if (!conn->rx.advert)
			return false;
		conn->rx.advert = false;
		return true;
	case SDP_MID_SINK_AVAIL:
		return conn->tx.mode != SDP_MODE_BUFFERED;
	case SDP_MID_SINK_AVAIL_CANCEL:
		conn->cancel_acks++;
		return true;
	default:
		return false;
	}
}

static void sdp_rx_disconn(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	sdp_rx_set(conn, SDP_RX_FIN);
	ep->shut |= RCV_SHUTDOWN;
	sdp_ring_rx_flags(conn);
	sdp_close_progress(conn);
	sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLHUP);
}

/* The message's own meaning; returns whether @buf was kept. */
static bool sdp_rx_dispatch(struct sdp_conn *conn, struct sdp_xprt_buf *buf,
			    const struct sdp_pdu *pdu)
{
	switch (pdu->mid) {
	case SDP_MID_DATA:
		return sdp_rx_data(conn, buf, pdu);
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SRC_AVAIL_CANCEL:
	case SDP_MID_SINK_AVAIL_CANCEL:
		if (!sdp_rx_advert(conn, pdu))
			break;
		return sdp_rx_data(conn, buf, pdu);
	case SDP_MID_DISCONN:
		if (conn->rx.state == SDP_RX_FIN)
			break;
		sdp_rx_disconn(conn);
		return false;
	case SDP_MID_ABORT_CONN:
		sdp_conn_ended(conn, SDP_REASON_PEER_ABORT,
			       conn->rx.state == SDP_RX_FIN ? EPIPE : ECONNRESET);
		return false;
	case SDP_MID_MODE_CHANGE:
		if (!sdp_rx_mode_change(conn, pdu))
			break;
		return false;
	case SDP_MID_CH_RCV_BUF:
		conn->rcv_buf_acks++;
		return false;
	default:
		/*
		 * Answers to what is never asked here, the handshake once more,
		 * and the suspension of the connection, which cannot be refused
		 * otherwise.
		 */
		break;
	}
	sdp_bad_message(conn, SDP_BAD_TURN);
	return false;
}

/* What all messages have in common; returns what is wrong with this one. */
static enum sdp_bad sdp_rx_header(struct sdp_conn *conn, const struct sdp_pdu *pdu)
{
	struct sdp_credit *c = &conn->credit;

	if (pdu->mseq != c->rx_mseq + 1)
		return SDP_BAD_MSEQ;
	if (pdu->mseq_ack - c->tx_acked > c->tx_mseq - c->tx_acked)
		return SDP_BAD_MSEQ_ACK;
	if (!sdp_credit_received(c, pdu->mseq, pdu->mseq_ack, pdu->bufs, pdu->payload))
		return SDP_BAD_CREDITS;
	conn->rx.msgs++;
	return SDP_BAD_NOTHING;
}

/* Is it a Data message without stream bytes? */
static bool sdp_rx_empty(const struct sdp_xprt_buf *buf)
{
	const struct sdp_bsdh *h = buf->data;

	return buf->len == sizeof(*h) && h->mid == SDP_MID_DATA;
}

/* Returns whether @buf was kept. */
static bool sdp_rx_message(struct sdp_conn *conn, struct sdp_xprt_buf *buf)
{
	struct sdp_pdu pdu;
	enum sdp_bad bad;

	bad = sdp_parse(buf->data, buf->len, &pdu);
	if (!bad)
		bad = sdp_rx_header(conn, &pdu);
	if (bad) {
		sdp_bad_message(conn, bad);
		return false;
	}
	sdp_alive_heard(conn);
	if (pdu.oob_pend || pdu.oob_pres)
		sdp_urg_announced(conn);
	return sdp_rx_dispatch(conn, buf, &pdu);
}

/* A message of a connection that is there, and what follows from it. */
static void sdp_rx_one(struct sdp_conn *conn, struct sdp_xprt_buf *buf)
{
	struct sdp_ep *ep = conn->ep;
	u64 before = conn->rx.queue.end;
	bool kept;

	conn->credit.posted--;
	kept = sdp_rx_message(conn, buf);
	if (!kept && sdp_rx_empty(buf) && sdp_size_quiet(conn) &&
	    sdp_credit_is_surplus(&conn->credit))
		sdp_rx_drop(conn, buf);
	else if (!kept)
		sdp_rx_repost(conn, buf, false);
	sdp_tx_push(conn);
	if (conn->rx.queue.end != before)
		sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLPRI);
	if (conn->tx.nospace && sdp_tx_room(conn)) {
		conn->tx.nospace = false;
		sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
	}
}

/**
 * sdp_rx_begin() - deal with the messages that came too early
 * @conn: a connection that has become connected, ep->lock held
 */
void sdp_rx_begin(struct sdp_conn *conn)
{
	struct sdp_xprt_buf *buf, *next;

	list_for_each_entry_safe(buf, next, &conn->rx.early, list) {
		/* The rest goes with the connection. */
		if (sdp_conn_over(conn))
			return;
		list_del(&buf->list);
		sdp_rx_one(conn, buf);
	}
}

/**
 * sdp_rx_done() - the transport gives a receive buffer back
 * @conn: the connection, ep->lock held
 * @xc: the transport's
 * @buf: the buffer, with a message in it
 * @error: negative errno where there is none
 */
void sdp_rx_done(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
		 struct sdp_xprt_buf *buf, int error)
{
	struct sdp_ep *ep = conn->ep;

	if (error || sdp_conn_over(conn)) {
		conn->credit.posted--;
		sdp_buf_free(conn, xc, buf);
	} else if (ep->state == SDP_STATE_CONNECTING) {
		/* Its event comes, with the HelloAck. */
		list_add_tail(&buf->list, &conn->rx.early);
	} else {
		sdp_rx_one(conn, buf);
	}
}

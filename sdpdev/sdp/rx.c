// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving: messages from the transport, checked, their bytes queued or put
 * into the receive ring.
 */
#include <linux/poll.h>

#include "sdp/sdp.h"

static void sdp_rx_drop(struct sdp_ep *ep, struct sdp_xprt_buf *buf)
{
	ep->credit.bufs--;
	sdp_buf_free(ep, ep->conn, buf);
}

/**
 * sdp_rx_repost() - use a receive buffer again
 * @ep: the endpoint, ep->lock held
 * @buf: the buffer
 * @fresh: it has carried stream bytes
 *
 * A receive buffer that has served goes back to the transport, unless SO_RCVBUF has
 * become less than there are.
 */
void sdp_rx_repost(struct sdp_ep *ep, struct sdp_xprt_buf *buf, bool fresh)
{
	int err = -ECANCELED;

	if (!ep->ending && !ep->kill && !sdp_credit_over_limit(&ep->credit))
		err = ep->xprt->post_recv(ep->conn, buf);
	if (!err) {
		sdp_credit_posted(&ep->credit, fresh);
		return;
	}
	sdp_rx_drop(ep, buf);
	if (err == -ENOBUFS)
		sdp_size_lost(ep);
}

/**
 * sdp_rx_to_ring() - move what there is room for from the queue into the ring
 * @ep: an endpoint with rings, ep->lock held
 */
void sdp_rx_to_ring(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf;
	u32 n;

	while (!list_empty(&ep->rx_queue)) {
		buf = list_first_entry(&ep->rx_queue, struct sdp_xprt_buf, list);
		n = sdp_urg_until(ep, buf->len - buf->off);
		n = sdp_ring_put(ep, buf->data + buf->off, n);
		buf->off += n;
		ep->rx_queued -= n;
		if (buf->off < buf->len)
			return;
		list_del(&buf->list);
		sdp_rx_repost(ep, buf, true);
	}
}

/* Stream bytes: returns whether @buf was kept. */
static bool sdp_rx_data(struct sdp_ep *ep, struct sdp_xprt_buf *buf,
			const struct sdp_pdu *pdu)
{
	bool direct = ep->rx_ring.size && list_empty(&ep->rx_queue);

	if (!pdu->payload) {
		sdp_size_told(ep);
		return false;
	}
	if (ep->fin_rcvd) {
		sdp_bad_message(ep, SDP_BAD_TURN);
		return false;
	}
	/* Nobody will read it; TCP answers late data with a reset, too. */
	if (ep->orphan || (ep->shut_rd && (ep->shut & SEND_SHUTDOWN))) {
		sdp_tx_abort_after(ep);
		return false;
	}
	buf->off = pdu->off;
	ep->rx_bytes += pdu->payload;
	sdp_size_received(ep);
	ep->rx_queued += pdu->payload;
	list_add_tail(&buf->list, &ep->rx_queue);
	if (pdu->oob_pres)
		sdp_urg_arrived(ep, ((u8 *)buf->data)[buf->len - 1]);
	if (direct)
		sdp_rx_to_ring(ep);
	sdp_ring_rx_flags(ep);
	return true;
}

/*
 * Mode changes (A4.6.1): Buffered to Combined is the sink's to ask, everything
 * else the source's.  Both halves begin in Combined mode.
 */
static bool sdp_rx_mode_change(struct sdp_ep *ep, const struct sdp_pdu *pdu)
{
	if (pdu->mode_of_receiver) {
		if (ep->tx_mode != SDP_MODE_BUFFERED ||
		    pdu->mode != SDP_MODE_COMBINED)
			return false;
		ep->tx_mode = pdu->mode;
		return true;
	}
	/* From the source: Combined is next to either of the other two. */
	if (ep->rx_mode == SDP_MODE_BUFFERED || pdu->mode == ep->rx_mode ||
	    (ep->rx_mode != SDP_MODE_COMBINED && pdu->mode != SDP_MODE_COMBINED))
		return false;
	ep->rx_mode = pdu->mode;
	return true;
}

/*
 * Advertisements of memory are never taken up: the answer to a source is "send
 * it by Bcopy" (SendSm), and a sink's becomes void with the next Data message.
 */
static bool sdp_rx_advert(struct sdp_ep *ep, const struct sdp_pdu *pdu)
{
	switch (pdu->mid) {
	case SDP_MID_SRC_AVAIL:
		if (ep->rx_mode == SDP_MODE_BUFFERED || ep->fin_rcvd ||
		    (ep->rx_mode == SDP_MODE_COMBINED && !pdu->payload))
			return false;
		ep->rx_advert = true;
		ep->send_sm++;
		return true;
	case SDP_MID_SRC_AVAIL_CANCEL:
		/* It crossed the SendSm, which is the answer to it as well. */
		if (!ep->rx_advert)
			return false;
		ep->rx_advert = false;
		return true;
	case SDP_MID_SINK_AVAIL:
		return ep->tx_mode != SDP_MODE_BUFFERED;
	case SDP_MID_SINK_AVAIL_CANCEL:
		ep->cancel_acks++;
		return true;
	default:
		return false;
	}
}

static void sdp_rx_disconn(struct sdp_ep *ep)
{
	ep->fin_rcvd = true;
	ep->shut |= RCV_SHUTDOWN;
	sdp_ring_rx_flags(ep);
	sdp_close_progress(ep);
	sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLHUP);
}

/* The message's own meaning; returns whether @buf was kept. */
static bool sdp_rx_dispatch(struct sdp_ep *ep, struct sdp_xprt_buf *buf,
			    const struct sdp_pdu *pdu)
{
	switch (pdu->mid) {
	case SDP_MID_DATA:
		return sdp_rx_data(ep, buf, pdu);
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SRC_AVAIL_CANCEL:
	case SDP_MID_SINK_AVAIL_CANCEL:
		if (!sdp_rx_advert(ep, pdu))
			break;
		return sdp_rx_data(ep, buf, pdu);
	case SDP_MID_DISCONN:
		if (ep->fin_rcvd)
			break;
		sdp_rx_disconn(ep);
		return false;
	case SDP_MID_ABORT_CONN:
		sdp_conn_ended(ep, SDP_REASON_PEER_ABORT,
			       ep->fin_rcvd ? EPIPE : ECONNRESET);
		return false;
	case SDP_MID_MODE_CHANGE:
		if (!sdp_rx_mode_change(ep, pdu))
			break;
		return false;
	case SDP_MID_CH_RCV_BUF:
		ep->rcv_buf_acks++;
		return false;
	default:
		/*
		 * Answers to what is never asked here, the handshake once more,
		 * and the suspension of the connection, which cannot be refused
		 * otherwise.
		 */
		break;
	}
	sdp_bad_message(ep, SDP_BAD_TURN);
	return false;
}

/* What all messages have in common; returns what is wrong with this one. */
static enum sdp_bad sdp_rx_header(struct sdp_ep *ep, const struct sdp_pdu *pdu)
{
	struct sdp_credit *c = &ep->credit;

	if (pdu->mseq != c->rx_mseq + 1)
		return SDP_BAD_MSEQ;
	if (pdu->mseq_ack - c->tx_acked > c->tx_mseq - c->tx_acked)
		return SDP_BAD_MSEQ_ACK;
	if (!sdp_credit_received(c, pdu->mseq, pdu->mseq_ack, pdu->bufs, pdu->payload))
		return SDP_BAD_CREDITS;
	ep->rx_msgs++;
	return SDP_BAD_NOTHING;
}

/* Is it a Data message without stream bytes? */
static bool sdp_rx_empty(const struct sdp_xprt_buf *buf)
{
	const struct sdp_bsdh *h = buf->data;

	return buf->len == sizeof(*h) && h->mid == SDP_MID_DATA;
}

/* Returns whether @buf was kept. */
static bool sdp_rx_message(struct sdp_ep *ep, struct sdp_xprt_buf *buf)
{
	struct sdp_pdu pdu;
	enum sdp_bad bad;

	bad = sdp_parse(buf->data, buf->len, &pdu);
	if (!bad)
		bad = sdp_rx_header(ep, &pdu);
	if (bad) {
		sdp_bad_message(ep, bad);
		return false;
	}
	sdp_alive_heard(ep);
	if (pdu.oob_pend || pdu.oob_pres)
		sdp_urg_announced(ep);
	return sdp_rx_dispatch(ep, buf, &pdu);
}

/* A message of a connection that is there, and what follows from it. */
static void sdp_rx_one(struct sdp_ep *ep, struct sdp_xprt_buf *buf)
{
	u64 before = ep->rx_bytes;
	bool kept;

	ep->credit.posted--;
	kept = sdp_rx_message(ep, buf);
	if (!kept && sdp_rx_empty(buf) && sdp_size_quiet(ep) &&
	    sdp_credit_is_surplus(&ep->credit))
		sdp_rx_drop(ep, buf);
	else if (!kept)
		sdp_rx_repost(ep, buf, false);
	sdp_tx_push(ep);
	if (ep->rx_bytes != before)
		sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLPRI);
	if (ep->tx_nospace && sdp_tx_room(ep)) {
		ep->tx_nospace = false;
		sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
	}
}

/**
 * sdp_rx_begin() - deal with the messages that came too early
 * @ep: an endpoint that has become connected, ep->lock held
 */
void sdp_rx_begin(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf, *next;

	list_for_each_entry_safe(buf, next, &ep->rx_early, list) {
		/* The rest goes with the connection. */
		if (ep->ending || ep->kill)
			return;
		list_del(&buf->list);
		sdp_rx_one(ep, buf);
	}
}

/**
 * sdp_rx_done() - the transport gives a receive buffer back
 * @ep: the endpoint, ep->lock held
 * @conn: its connection
 * @buf: the buffer, with a message in it
 * @error: negative errno where there is none
 */
void sdp_rx_done(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		 struct sdp_xprt_buf *buf, int error)
{
	if (error || ep->ending || ep->kill) {
		ep->credit.posted--;
		sdp_buf_free(ep, conn, buf);
	} else if (ep->state == SDP_STATE_CONNECTING) {
		/* Its event comes, with the HelloAck. */
		list_add_tail(&buf->list, &ep->rx_early);
	} else {
		sdp_rx_one(ep, buf);
	}
}

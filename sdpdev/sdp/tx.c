// SPDX-License-Identifier: GPL-2.0
/*
 * Sending: stream bytes into Data messages, messages to the transport as the
 * peer's credits allow (A4.5.2), and the short answers that the peer is owed.
 */
#include <net/tcp.h>

#include "sdp/sdp.h"
#include "tcp/tcp.h"

/**
 * sdp_tx_unsent() - stream bytes written that the transport has not got
 * @conn: the connection, ep->lock held
 */
u64 sdp_tx_unsent(struct sdp_conn *conn)
{
	u64 bytes = sdp_segs_bytes(&conn->tx.pending);
	u32 ring;

	if (conn->rings.tx.size && sdp_ring_tx_check(conn, &ring))
		bytes += ring;
	return bytes;
}

/**
 * sdp_tx_queued() - stream bytes written that the peer's transport has not got
 * @conn: the connection, ep->lock held
 */
u64 sdp_tx_queued(struct sdp_conn *conn)
{
	return conn->tx.unacked + sdp_tx_unsent(conn);
}

/**
 * sdp_tx_room() - is there so much room that a writer should be woken?
 * @conn: the connection, ep->lock held
 *
 * A third of all, as TCP has it, so that writers sleep rarely and long.
 */
bool sdp_tx_room(struct sdp_conn *conn)
{
	u32 bytes;

	/* SO_SNDBUF may have become less than what is used. */
	if (conn->tx.max < conn->tx.used + max(conn->tx.max / 3, 1U))
		return false;
	if (!conn->rings.tx.size || !sdp_ring_tx_check(conn, &bytes))
		return true;
	return bytes <= conn->rings.tx.size - conn->rings.tx.size / 3;
}

/* As many of the answers owed as the credits allow. */
static void sdp_push_answer(struct sdp_conn *conn, u32 *owed, u8 mid, const void *ext,
			    u32 ext_len)
{
	while (*owed && sdp_credit_may_answer(&conn->credit) &&
	       sdp_post_ctl(conn, mid, ext, ext_len))
		--*owed;
}

static void sdp_push_answers(struct sdp_conn *conn)
{
	__be32 size = cpu_to_be32(conn->rx.size);

	sdp_push_answer(conn, &conn->send_sm, SDP_MID_SEND_SM, NULL, 0);
	sdp_push_answer(conn, &conn->cancel_acks, SDP_MID_SINK_CANCEL_ACK, NULL, 0);
	sdp_push_answer(conn, &conn->rcv_buf_acks, SDP_MID_CH_RCV_BUF_ACK, &size, sizeof(size));
}

/**
 * sdp_buf_room() - how many stream bytes a send buffer can still take
 * @conn: the connection, ep->lock held
 * @buf: the buffer
 */
u32 sdp_buf_room(const struct sdp_conn *conn, const struct sdp_xprt_buf *buf)
{
	/* The urgent byte is the last one of its message. */
	return buf->kind == SDP_BUF_OOB ? 0 : conn->tx.size - buf->len;
}

/**
 * sdp_tx_clear() - make a send buffer ready to be filled
 * @buf: the buffer
 */
void sdp_tx_clear(struct sdp_xprt_buf *buf)
{
	buf->kind = SDP_BUF_DATA;
	buf->off = sizeof(struct sdp_bsdh);
	buf->len = sizeof(struct sdp_bsdh);
}

/**
 * sdp_tx_get() - a send buffer with room
 * @conn: the connection, ep->lock held
 *
 * Return: the last one that waits for credits, or a free one, taken from its
 * list, or NULL.
 */
struct sdp_xprt_buf *sdp_tx_get(struct sdp_conn *conn)
{
	struct sdp_xprt_buf *buf;

	if (!sdp_segs_empty(&conn->tx.pending) &&
	    sdp_buf_room(conn, list_last_entry(&conn->tx.pending.list,
					       struct sdp_xprt_buf, list)))
		return sdp_segs_unadd(&conn->tx.pending);
	if (conn->tx.used >= conn->tx.max)
		return NULL;
	buf = list_first_entry_or_null(&conn->tx.free, struct sdp_xprt_buf, list);
	if (buf) {
		list_del(&buf->list);
		sdp_tx_clear(buf);
		conn->tx.used++;
	}
	return buf;
}

/**
 * sdp_tx_put() - give back what sdp_tx_get() gave
 * @conn: the connection, ep->lock held
 * @buf: with more bytes in it, or without
 */
void sdp_tx_put(struct sdp_conn *conn, struct sdp_xprt_buf *buf)
{
	if (sdp_seg_bytes(buf)) {
		sdp_segs_add(&conn->tx.pending, buf);
	} else {
		list_add(&buf->list, &conn->tx.free);
		conn->tx.used--;
	}
}

/**
 * sdp_buf_from_ring() - fill a send buffer from the transmit ring
 * @conn: a connection with rings, ep->lock held
 * @buf: the buffer
 * @most: bytes to take at most; no more than sdp_ring_tx_check() told
 */
void sdp_buf_from_ring(struct sdp_conn *conn, struct sdp_xprt_buf *buf, u32 most)
{
	buf->len += sdp_ring_take(conn, buf->data + buf->len,
				  min(most, sdp_buf_room(conn, buf)));
}

/* Fills free buffers from the transmit ring. */
static void sdp_push_ring(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_buf *buf;
	u32 bytes;

	while (sdp_ring_tx_check(conn, &bytes) && bytes) {
		sdp_alive_sending(conn);
		buf = sdp_tx_get(conn);
		if (!buf)
			return;
		sdp_buf_from_ring(conn, buf, bytes);
		sdp_tx_put(conn, buf);
		/* As a call without MSG_MORE. */
		conn->tx.corked = sdp_nonagle(ep) & TCP_NAGLE_CORK;
		conn->tx.more = conn->tx.corked;
	}
}

/*
 * Is @buf, the first one pending, held back?  Either for more to come, which its writer
 * has announced, and not for ever; or because an answer does: the transport's, which has
 * nothing to do with the peer's program.
 */
static bool sdp_push_later(struct sdp_conn *conn, const struct sdp_xprt_buf *buf)
{
	if (!list_is_singular(&conn->tx.pending.list) || !sdp_buf_room(conn, buf))
		return false;
	if (conn->tx.more && !conn->tx.final) {
		if (!conn->tx.owned)
			sdp_alive_hold(conn);
		return true;
	}
	return conn->tx.nagle && buf->kind != SDP_BUF_OOB &&
	       conn->tx.small + conn->tx.unacked > conn->tx.pending.begin;
}

static void sdp_push_data(struct sdp_conn *conn)
{
	struct sdp_segs *pending = &conn->tx.pending;
	struct sdp_xprt_buf *buf;

	for (;;) {
		if (conn->rings.tx.size && !conn->tx.owned &&
		    conn->tx.state < SDP_TX_FIN_SENT)
			sdp_push_ring(conn);
		if (!sdp_conn_open(conn) || !sdp_credit_may_send(&conn->credit)) {
			conn->tx.held = false;
			return;
		}
		if (sdp_segs_empty(pending) ||
		    sdp_push_later(conn, sdp_segs_first(pending)))
			return;
		conn->tx.held = false;
		buf = sdp_segs_pop(pending);
		if (!sdp_post(conn, buf, SDP_MID_DATA)) {
			sdp_segs_unpop(pending, buf);
			return;
		}
		if (buf->kind == SDP_BUF_OOB)
			conn->tx.oob--;
		conn->tx.unacked += sdp_seg_bytes(buf);
		if (sdp_buf_room(conn, buf))
			conn->tx.small = pending->begin;
		sdp_size_sent(conn);
	}
}

static void sdp_push_disconn(struct sdp_conn *conn)
{
	u32 bytes;

	if (conn->tx.state != SDP_TX_FIN_WANTED || conn->tx.owned ||
	    !sdp_segs_empty(&conn->tx.pending))
		return;
	if (conn->rings.tx.size && (!sdp_ring_tx_check(conn, &bytes) || bytes))
		return;
	if (sdp_credit_may_answer(&conn->credit) && sdp_post_ctl(conn, SDP_MID_DISCONN, NULL, 0))
		sdp_tx_set(conn, SDP_TX_FIN_SENT);
}

/* An empty Data message tells the peer of buffers that it does not know of, if any. */
static void sdp_push_update(struct sdp_conn *conn)
{
	if (sdp_credit_news(&conn->credit) > 0 &&
	    sdp_credit_must_update(&conn->credit, conn->tx.state >= SDP_TX_FIN_SENT,
				   conn->rx.state == SDP_RX_FIN,
				   sdp_size_quiet(conn)))
		sdp_post_ctl(conn, SDP_MID_DATA, NULL, 0);
}

/* Credits that are not needed go back as empty Data messages: see size.c. */
static void sdp_push_returns(struct sdp_conn *conn)
{
	while (sdp_credit_may_return(&conn->credit, conn->tx.state >= SDP_TX_FIN_SENT) &&
	       sdp_post_ctl(conn, SDP_MID_DATA, NULL, 0))
		conn->credit.owed--;
}

/**
 * sdp_tx_probe() - send what makes the peer's transport answer
 * @conn: a connection that is live and does not end, ep->lock held
 *
 * Every peer takes an empty Data message.  Where there is no credit for one, as the
 * peer's user reads nothing, it is the transport's probe: there may be peers that end
 * the connection at that.
 */
void sdp_tx_probe(struct sdp_conn *conn)
{
	/* What is under way serves as well. */
	if (conn->tx.posted)
		return;
	if (sdp_credit_may_probe(&conn->credit))
		sdp_post_ctl(conn, SDP_MID_DATA, NULL, 0);
	else
		sdp_post_probe(conn);
}

/*
 * Is there plainly nothing to send but what tells of buffers?  So it is most times that
 * somebody asks.
 */
static bool sdp_push_nothing(const struct sdp_conn *conn)
{
	return sdp_segs_empty(&conn->tx.pending) && !conn->rings.tx.size &&
	       conn->tx.state == SDP_TX_OPEN && conn->phase == SDP_PHASE_OPEN &&
	       !(conn->send_sm | conn->cancel_acks | conn->rcv_buf_acks);
}

/* Answers, the stream and its end. */
static void sdp_push_stream(struct sdp_conn *conn)
{
	sdp_push_answers(conn);
	do {
		sdp_push_data(conn);
	} while (sdp_ring_tx_sleep(conn));
	if (conn->rings.bad)
		sdp_abort(conn, SDP_REASON_RING, ECONNABORTED);
	if (conn->phase == SDP_PHASE_DRAIN && !sdp_tx_unsent(conn))
		sdp_abort(conn, SDP_REASON_LOCAL_ABORT, ECONNRESET);
	if (sdp_conn_open(conn))
		sdp_push_disconn(conn);
}

/**
 * sdp_tx_push() - send what can be sent
 * @conn: the connection, ep->lock held
 *
 * To be called whenever something changed that sending depends on.
 */
void sdp_tx_push(struct sdp_conn *conn)
{
	if (!sdp_conn_live(conn))
		return;
	if (conn->phase == SDP_PHASE_ABORT) {
		sdp_post_abort(conn);
		return;
	}
	if (!sdp_push_nothing(conn))
		sdp_push_stream(conn);
	/* A message that could not be sent, or a bad index in the ring, has ended it. */
	if (!sdp_conn_open(conn))
		return;
	sdp_push_update(conn);
	sdp_push_returns(conn);
}

/**
 * sdp_tx_uncork() - no more comes, ever: nothing is held back for it
 * @conn: the connection, ep->lock held
 */
void sdp_tx_uncork(struct sdp_conn *conn)
{
	conn->tx.final = true;
	conn->tx.nagle = false;
}

/**
 * sdp_tx_abort_after() - end the connection by AbortConn behind what was written
 * @conn: the connection, ep->lock held
 *
 * Nobody reads any more.  A few credits are enough to have a short answer wait for
 * one, where TCP would have sent it by now; it is not to be lost because the peer
 * went on sending.  That peer's messages bring the credits.
 */
void sdp_tx_abort_after(struct sdp_conn *conn)
{
	sdp_tx_uncork(conn);
	sdp_tx_push(conn);
	if (conn->phase == SDP_PHASE_DRAIN)
		return;
	if (sdp_conn_open(conn) && sdp_tx_unsent(conn)) {
		sdp_conn_timer(conn, SDP_ABORT_MS);
		sdp_phase_set(conn, SDP_PHASE_DRAIN);
		return;
	}
	sdp_abort(conn, SDP_REASON_LOCAL_ABORT, ECONNRESET);
}

/**
 * sdp_tx_look() - has TCP_CORK been taken away?
 * @conn: the connection
 *
 * The option is the native socket's, which does not tell.
 */
void sdp_tx_look(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	sdp_ep_lock(ep);
	if (conn->tx.corked && !(sdp_nonagle(ep) & TCP_NAGLE_CORK)) {
		conn->tx.corked = false;
		conn->tx.more = false;
		sdp_tx_push(conn);
	}
	sdp_ep_unlock(ep);
}

/**
 * sdp_tx_done() - the transport gives a send buffer back
 * @conn: the connection
 * @xc: the transport's
 * @buf: the buffer
 * @error: negative errno where it was not sent
 */
void sdp_tx_done(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
		 struct sdp_xprt_buf *buf, int error)
{
	struct sdp_ep *ep = conn->ep;
	u8 mid = ((struct sdp_bsdh *)buf->data)->mid;

	sdp_ep_lock(ep);
	conn->tx.posted--;
	if (!sdp_conn_live(conn)) {
		sdp_buf_free(conn, xc, buf);
		goto out;
	}
	if (buf->kind == SDP_BUF_CTL) {
		list_add(&buf->list, &conn->tx.ctl);
	} else {
		conn->tx.unacked -= sdp_seg_bytes(buf);
		conn->tx.moved = jiffies;
		list_add(&buf->list, &conn->tx.free);
		conn->tx.used--;
	}
	/* The event that says why follows. */
	if (error)
		goto out;
	sdp_alive_heard(conn);

	if (mid == SDP_MID_ABORT_CONN) {
		sdp_conn_ended(conn, ep->reason, ep->err);
		goto out;
	}
	if (mid == SDP_MID_DISCONN) {
		sdp_tx_set(conn, SDP_TX_FIN_ACKED);
		sdp_close_progress(conn);
	}
	sdp_tx_push(conn);
	if (conn->tx.nospace && sdp_tx_room(conn)) {
		conn->tx.nospace = false;
		sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
	}
out:
	sdp_ep_unlock(ep);
}

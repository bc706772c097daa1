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
 * @ep: the endpoint, ep->lock held
 */
u64 sdp_tx_unsent(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf;
	u64 bytes = 0;
	u32 ring;

	list_for_each_entry(buf, &ep->tx_pending, list)
		bytes += buf->len - sizeof(struct sdp_bsdh);
	if (ep->tx_ring.size && sdp_ring_tx_check(ep, &ring))
		bytes += ring;
	return bytes;
}

/**
 * sdp_tx_queued() - stream bytes written that the peer's transport has not got
 * @ep: the endpoint, ep->lock held
 */
u64 sdp_tx_queued(struct sdp_ep *ep)
{
	return ep->tx_unacked + sdp_tx_unsent(ep);
}

/**
 * sdp_tx_room() - is there so much room that a writer should be woken?
 * @ep: the endpoint, ep->lock held
 *
 * A third of all, as TCP has it, so that writers sleep rarely and long.
 */
bool sdp_tx_room(struct sdp_ep *ep)
{
	u32 bytes;

	/* SO_SNDBUF may have become less than what is used. */
	if (ep->tx_max < ep->tx_used + max(ep->tx_max / 3, 1U))
		return false;
	if (!ep->tx_ring.size || !sdp_ring_tx_check(ep, &bytes))
		return true;
	return bytes <= ep->tx_ring.size - ep->tx_ring.size / 3;
}

/* As many of the answers owed as the credits allow. */
static void sdp_push_answer(struct sdp_ep *ep, u32 *owed, u8 mid, const void *ext,
			    u32 ext_len)
{
	while (*owed && sdp_credit_may_answer(&ep->credit) &&
	       sdp_post_ctl(ep, mid, ext, ext_len))
		--*owed;
}

static void sdp_push_answers(struct sdp_ep *ep)
{
	__be32 size = cpu_to_be32(ep->rx_size);

	sdp_push_answer(ep, &ep->send_sm, SDP_MID_SEND_SM, NULL, 0);
	sdp_push_answer(ep, &ep->cancel_acks, SDP_MID_SINK_CANCEL_ACK, NULL, 0);
	sdp_push_answer(ep, &ep->rcv_buf_acks, SDP_MID_CH_RCV_BUF_ACK, &size, sizeof(size));
}

/**
 * sdp_buf_room() - how many stream bytes a send buffer can still take
 * @ep: the endpoint, ep->lock held
 * @buf: the buffer
 */
u32 sdp_buf_room(const struct sdp_ep *ep, const struct sdp_xprt_buf *buf)
{
	/* The urgent byte is the last one of its message. */
	return buf->off == SDP_BUF_OOB ? 0 : ep->tx_size - buf->len;
}

/**
 * sdp_tx_get() - a send buffer with room
 * @ep: the endpoint, ep->lock held
 *
 * Return: the last one that waits for credits, or a free one, taken from its
 * list, or NULL.
 */
struct sdp_xprt_buf *sdp_tx_get(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf;

	if (!list_empty(&ep->tx_pending)) {
		buf = list_last_entry(&ep->tx_pending, struct sdp_xprt_buf, list);
		if (sdp_buf_room(ep, buf)) {
			list_del(&buf->list);
			return buf;
		}
	}
	if (ep->tx_used >= ep->tx_max)
		return NULL;
	buf = list_first_entry_or_null(&ep->tx_free, struct sdp_xprt_buf, list);
	if (buf) {
		list_del(&buf->list);
		buf->off = SDP_BUF_DATA;
		buf->len = sizeof(struct sdp_bsdh);
		ep->tx_used++;
	}
	return buf;
}

/**
 * sdp_tx_put() - give back what sdp_tx_get() gave
 * @ep: the endpoint, ep->lock held
 * @buf: with more bytes in it, or without
 */
void sdp_tx_put(struct sdp_ep *ep, struct sdp_xprt_buf *buf)
{
	if (buf->len > sizeof(struct sdp_bsdh)) {
		list_add_tail(&buf->list, &ep->tx_pending);
	} else {
		list_add(&buf->list, &ep->tx_free);
		ep->tx_used--;
	}
}

/**
 * sdp_buf_from_ring() - fill a send buffer from the transmit ring
 * @ep: an endpoint with rings, ep->lock held
 * @buf: the buffer
 * @most: bytes to take at most; no more than sdp_ring_tx_check() told
 */
void sdp_buf_from_ring(struct sdp_ep *ep, struct sdp_xprt_buf *buf, u32 most)
{
	buf->len += sdp_ring_take(ep, buf->data + buf->len,
				  min(most, sdp_buf_room(ep, buf)));
}

/* Fills free buffers from the transmit ring. */
static void sdp_push_ring(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf;
	u32 bytes;

	while (sdp_ring_tx_check(ep, &bytes) && bytes) {
		sdp_alive_sending(ep);
		buf = sdp_tx_get(ep);
		if (!buf)
			return;
		sdp_buf_from_ring(ep, buf, bytes);
		sdp_tx_put(ep, buf);
		/* As a call without MSG_MORE. */
		ep->tx_corked = sdp_nonagle(ep) & TCP_NAGLE_CORK;
		ep->tx_more = ep->tx_corked;
	}
}

/*
 * Is @buf, the first one pending, held back?  Either for more to come, which its writer
 * has announced, and not for ever; or because an answer does: the transport's, which has
 * nothing to do with the peer's program.
 */
static bool sdp_push_later(struct sdp_ep *ep, const struct sdp_xprt_buf *buf)
{
	if (!list_is_singular(&ep->tx_pending) || !sdp_buf_room(ep, buf))
		return false;
	if (ep->tx_more && !ep->tx_final) {
		if (!ep->tx_owned)
			sdp_alive_hold(ep);
		return true;
	}
	return ep->tx_nagle && buf->off != SDP_BUF_OOB &&
	       ep->tx_small + ep->tx_unacked > ep->tx_bytes;
}

static void sdp_push_data(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf;

	for (;;) {
		if (ep->tx_ring.size && !ep->tx_owned && !ep->fin_sent)
			sdp_push_ring(ep);
		if (ep->ending || !sdp_credit_may_send(&ep->credit)) {
			ep->tx_held = false;
			return;
		}
		buf = list_first_entry_or_null(&ep->tx_pending,
					       struct sdp_xprt_buf, list);
		if (!buf)
			return;
		if (sdp_push_later(ep, buf))
			return;
		ep->tx_held = false;
		list_del(&buf->list);
		if (!sdp_post(ep, buf, SDP_MID_DATA)) {
			list_add(&buf->list, &ep->tx_pending);
			return;
		}
		if (buf->off == SDP_BUF_OOB)
			ep->tx_oob--;
		ep->tx_bytes += buf->len - sizeof(struct sdp_bsdh);
		ep->tx_unacked += buf->len - sizeof(struct sdp_bsdh);
		if (sdp_buf_room(ep, buf))
			ep->tx_small = ep->tx_bytes;
		sdp_size_sent(ep);
	}
}

static void sdp_push_disconn(struct sdp_ep *ep)
{
	u32 bytes;

	if (!(ep->shut & SEND_SHUTDOWN) || ep->fin_sent || ep->tx_owned ||
	    !list_empty(&ep->tx_pending))
		return;
	if (ep->tx_ring.size && (!sdp_ring_tx_check(ep, &bytes) || bytes))
		return;
	if (sdp_credit_may_answer(&ep->credit) && sdp_post_ctl(ep, SDP_MID_DISCONN, NULL, 0))
		ep->fin_sent = true;
}

/* An empty Data message tells the peer of buffers that it does not know of. */
static void sdp_push_update(struct sdp_ep *ep)
{
	if (sdp_credit_must_update(&ep->credit, ep->fin_sent, ep->fin_rcvd,
				   sdp_size_quiet(ep)))
		sdp_post_ctl(ep, SDP_MID_DATA, NULL, 0);
}

/* Credits that are not needed go back as empty Data messages: see size.c. */
static void sdp_push_returns(struct sdp_ep *ep)
{
	while (sdp_credit_may_return(&ep->credit, ep->fin_sent) &&
	       sdp_post_ctl(ep, SDP_MID_DATA, NULL, 0))
		ep->credit.owed--;
}

/**
 * sdp_tx_probe() - send what makes the peer's transport answer
 * @ep: an endpoint that is live and does not end, ep->lock held
 *
 * Every peer takes an empty Data message.  Where there is no credit for one, as the
 * peer's user reads nothing, it is the transport's probe: there may be peers that end
 * the connection at that.
 */
void sdp_tx_probe(struct sdp_ep *ep)
{
	/* What is under way serves as well. */
	if (ep->tx_posted)
		return;
	if (sdp_credit_may_probe(&ep->credit))
		sdp_post_ctl(ep, SDP_MID_DATA, NULL, 0);
	else
		sdp_post_probe(ep);
}

/**
 * sdp_tx_push() - send what can be sent
 * @ep: the endpoint, ep->lock held
 *
 * To be called whenever something changed that sending depends on.
 */
void sdp_tx_push(struct sdp_ep *ep)
{
	if (!ep->live || ep->kill)
		return;
	if (ep->ending) {
		sdp_post_abort(ep);
		return;
	}
	sdp_push_answers(ep);
	do {
		sdp_push_data(ep);
	} while (sdp_ring_tx_sleep(ep));
	if (ep->ring_bad)
		sdp_abort(ep, SDP_REASON_RING, ECONNABORTED);
	if (!ep->ending && ep->abort_due && !sdp_tx_unsent(ep))
		sdp_abort(ep, SDP_REASON_LOCAL_ABORT, ECONNRESET);
	if (!ep->ending && !ep->kill)
		sdp_push_disconn(ep);
	/* A message that could not be sent, or a bad index in the ring, has ended it. */
	if (ep->ending || ep->kill)
		return;
	sdp_push_update(ep);
	sdp_push_returns(ep);
}

/**
 * sdp_tx_uncork() - no more comes, ever: nothing is held back for it
 * @ep: the endpoint, ep->lock held
 */
void sdp_tx_uncork(struct sdp_ep *ep)
{
	ep->tx_final = true;
	ep->tx_nagle = false;
}

/**
 * sdp_tx_abort_after() - end the connection by AbortConn behind what was written
 * @ep: the endpoint, ep->lock held
 *
 * Nobody reads any more.  A few credits are enough to have a short answer wait for
 * one, where TCP would have sent it by now; it is not to be lost because the peer
 * went on sending.  That peer's messages bring the credits.
 */
void sdp_tx_abort_after(struct sdp_ep *ep)
{
	sdp_tx_uncork(ep);
	sdp_tx_push(ep);
	if (ep->live && sdp_tx_unsent(ep)) {
		if (!ep->abort_due)
			sdp_conn_timer(ep, SDP_ABORT_MS);
		ep->abort_due = true;
		return;
	}
	sdp_abort(ep, SDP_REASON_LOCAL_ABORT, ECONNRESET);
}

/**
 * sdp_tx_look() - has TCP_CORK been taken away?
 * @ep: the endpoint
 *
 * The option is the native socket's, which does not tell.
 */
void sdp_tx_look(struct sdp_ep *ep)
{
	sdp_ep_lock(ep);
	if (ep->tx_corked && !(sdp_nonagle(ep) & TCP_NAGLE_CORK)) {
		ep->tx_corked = false;
		ep->tx_more = false;
		sdp_tx_push(ep);
	}
	sdp_ep_unlock(ep);
}

/**
 * sdp_tx_done() - the transport gives a send buffer back
 * @ep: the endpoint
 * @conn: its connection
 * @buf: the buffer
 * @error: negative errno where it was not sent
 */
void sdp_tx_done(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		 struct sdp_xprt_buf *buf, int error)
{
	u8 mid = ((struct sdp_bsdh *)buf->data)->mid;

	sdp_ep_lock(ep);
	ep->tx_posted--;
	if (!ep->live || ep->kill) {
		sdp_buf_free(ep, conn, buf);
		goto out;
	}
	if (buf->off == SDP_BUF_CTL) {
		list_add(&buf->list, &ep->tx_ctl);
	} else {
		ep->tx_unacked -= buf->len - sizeof(struct sdp_bsdh);
		ep->tx_moved = jiffies;
		list_add(&buf->list, &ep->tx_free);
		ep->tx_used--;
	}
	/* The event that says why follows. */
	if (error)
		goto out;
	sdp_alive_heard(ep);

	if (mid == SDP_MID_ABORT_CONN) {
		sdp_conn_ended(ep, ep->reason, ep->err);
		goto out;
	}
	if (mid == SDP_MID_DISCONN) {
		ep->fin_done = true;
		sdp_close_progress(ep);
	}
	sdp_tx_push(ep);
	if (ep->tx_nospace && sdp_tx_room(ep)) {
		ep->tx_nospace = false;
		sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
	}
out:
	sdp_ep_unlock(ep);
}

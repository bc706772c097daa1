// SPDX-License-Identifier: GPL-2.0
/*
 * Sending: stream bytes into Data messages, messages to the transport as the
 * peer's credits allow (A4.5.2), and the short answers that the peer is owed.
 */
#include <net/tcp.h>

#include "sdpdev.h"

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

/*
 * Gives @buf its header and the transport @buf.  Where the transport is done with the
 * connection already, what has come is still being handed up, and how it ended follows.
 */
static bool sdp_post(struct sdp_ep *ep, struct sdp_xprt_buf *buf, u8 mid)
{
	struct sdp_bsdh *h = buf->data;
	int err;

	h->mid = mid;
	h->flags = ep->tx_oob ? SDP_OOB_PEND : 0;
	if (buf->off == SDP_BUF_OOB)
		h->flags |= SDP_OOB_PRES;
	h->bufs = cpu_to_be16(ep->credit.posted);
	h->len = cpu_to_be32(buf->len);
	h->mseq = cpu_to_be32(ep->credit.tx_mseq + 1);
	h->mseq_ack = cpu_to_be32(ep->credit.rx_mseq);

	err = ep->xprt->post_send(ep->conn, buf);
	if (err && err != -ENOTCONN)
		sdp_conn_ended(ep, SDP_REASON_TRANSPORT, ECONNRESET);
	if (err)
		return false;
	sdp_credit_sent(&ep->credit);
	ep->tx_msgs++;
	ep->tx_posted++;
	return true;
}

/* A message of the base header and @ext, which is @ext_len bytes. */
static bool sdp_post_ctl(struct sdp_ep *ep, u8 mid, const void *ext, u32 ext_len)
{
	struct sdp_xprt_buf *buf;

	buf = list_first_entry_or_null(&ep->tx_ctl, struct sdp_xprt_buf, list);
	if (!buf)
		return false;
	list_del(&buf->list);
	buf->len = sizeof(struct sdp_bsdh) + ext_len;
	if (ext_len)
		memcpy(buf->data + sizeof(struct sdp_bsdh), ext, ext_len);
	if (sdp_post(ep, buf, mid))
		return true;
	list_add(&buf->list, &ep->tx_ctl);
	return false;
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

static u32 sdp_buf_room(const struct sdp_ep *ep, const struct sdp_xprt_buf *buf)
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

static void sdp_buf_from_ring(struct sdp_ep *ep, struct sdp_xprt_buf *buf, u32 most)
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

/* An empty Data message tells the peer of buffers that it does not know of, if any. */
static void sdp_push_update(struct sdp_ep *ep)
{
	if (sdp_credit_news(&ep->credit) > 0 &&
	    sdp_credit_must_update(&ep->credit, ep->fin_sent, ep->fin_rcvd,
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

/* The transport's probe, which takes no credit.  Nothing is under way. */
static void sdp_post_probe(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf;
	int err;

	buf = list_first_entry(&ep->tx_ctl, struct sdp_xprt_buf, list);
	list_del(&buf->list);
	/* For sdp_tx_done(): no message that matters. */
	((struct sdp_bsdh *)buf->data)->mid = SDP_MID_DATA;
	err = ep->xprt->post_probe(ep->conn, buf);
	if (!err) {
		ep->tx_posted++;
		return;
	}
	list_add(&buf->list, &ep->tx_ctl);
	if (err != -ENOTCONN)
		sdp_conn_ended(ep, SDP_REASON_TRANSPORT, ECONNRESET);
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

/*
 * Is there plainly nothing to send but what tells of buffers?  So it is most times that
 * somebody asks.
 */
static bool sdp_push_nothing(const struct sdp_ep *ep)
{
	return list_empty(&ep->tx_pending) && !ep->tx_ring.size &&
	       !(ep->shut & SEND_SHUTDOWN) && !ep->abort_due &&
	       !(ep->send_sm | ep->cancel_acks | ep->rcv_buf_acks);
}

/* Answers, the stream and its end. */
static void sdp_push_stream(struct sdp_ep *ep)
{
	sdp_push_answers(ep);
	do {
		sdp_push_data(ep);
	} while (sdp_ring_tx_sleep(ep));
	if (!ep->ending && ep->abort_due && !sdp_tx_unsent(ep))
		sdp_abort(ep, SDP_REASON_LOCAL_ABORT, ECONNRESET);
	if (!ep->ending && !ep->kill)
		sdp_push_disconn(ep);
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
		if (!ep->abort_sent && sdp_credit_tx(&ep->credit) > 0)
			ep->abort_sent = sdp_post_ctl(ep, SDP_MID_ABORT_CONN, NULL, 0);
		return;
	}
	if (!sdp_push_nothing(ep))
		sdp_push_stream(ep);
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
 * sdp_tx_look() - has TCP_CORK been taken away?
 * @ep: the endpoint
 *
 * The option is the native socket's, which does not tell.
 */
void sdp_tx_look(struct sdp_ep *ep)
{
	spin_lock_bh(&ep->lock);
	if (ep->tx_corked && !(sdp_nonagle(ep) & TCP_NAGLE_CORK)) {
		ep->tx_corked = false;
		ep->tx_more = false;
		sdp_tx_push(ep);
	}
	spin_unlock_bh(&ep->lock);
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

	spin_lock_bh(&ep->lock);
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
	spin_unlock_bh(&ep->lock);
}

/* Another send buffer; tx_mutex held, ep->lock not. */
static struct sdp_xprt_buf *sdp_tx_alloc(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf;

	buf = sdp_buf_alloc(ep, ep->tx_size, false);
	if (!buf)
		return NULL;
	buf->off = SDP_BUF_DATA;
	buf->len = sizeof(struct sdp_bsdh);
	spin_lock_bh(&ep->lock);
	ep->tx_bufs++;
	ep->tx_used++;
	spin_unlock_bh(&ep->lock);
	return buf;
}

/**
 * sdp_tx_prepare() - have send buffers for the transmit ring
 * @ep: the endpoint, tx_mutex held
 * @want: how many there shall be, if there may be so many
 *
 * The transmit ring is drained where nothing can be allocated.
 *
 * Return: zero, -ENOTCONN or -ENOMEM.
 */
int sdp_tx_prepare(struct sdp_ep *ep, u32 want)
{
	struct sdp_xprt_buf *buf;

	while (ep->tx_bufs < min(want, ep->tx_max)) {
		if (!READ_ONCE(ep->live))
			return -ENOTCONN;
		buf = sdp_tx_alloc(ep);
		if (!buf)
			return -ENOMEM;
		spin_lock_bh(&ep->lock);
		sdp_tx_put(ep, buf);
		spin_unlock_bh(&ep->lock);
	}
	return 0;
}

/* Can nothing be sent any more? */
static bool sdp_tx_ended(const struct sdp_ep *ep)
{
	return ep->err || (ep->shut & SEND_SHUTDOWN) || !ep->live;
}

/* No memory for another buffer: those that there are must do, if any. */
static int sdp_tx_short(struct sdp_ep *ep)
{
	int err = -ENOBUFS;

	spin_lock_bh(&ep->lock);
	if (ep->tx_bufs) {
		ep->tx_max = ep->tx_bufs;
		ep->tx_nospace = true;
		err = 0;
	}
	spin_unlock_bh(&ep->lock);
	return err;
}

/* A buffer to fill; NULL where there is none to be had now, or an ERR_PTR(). */
static struct sdp_xprt_buf *sdp_tx_next(struct sdp_ep *ep)
	__must_hold(&ep->lock)
{
	struct sdp_xprt_buf *buf;
	int err;

	buf = sdp_tx_get(ep);
	if (buf)
		return buf;
	if (ep->tx_used >= ep->tx_max || ep->tx_bufs >= ep->tx_max) {
		ep->tx_nospace = true;
		return NULL;
	}
	spin_unlock_bh(&ep->lock);
	buf = sdp_tx_alloc(ep);
	err = buf ? 0 : sdp_tx_short(ep);
	spin_lock_bh(&ep->lock);
	return buf ? : ERR_PTR(err);
}

/*
 * Fills one buffer from @from; ep->lock held, dropped while it copies.  Zero: there
 * is none to be had now.
 */
static ssize_t sdp_tx_fill_one(struct sdp_ep *ep, struct iov_iter *from,
			       unsigned int flags)
	__must_hold(&ep->lock)
{
	struct sdp_xprt_buf *buf;
	size_t n, want;

	if (sdp_tx_ended(ep))
		return -EPIPE;
	if (!iov_iter_count(from))
		return 0;
	buf = sdp_tx_next(ep);
	if (IS_ERR_OR_NULL(buf))
		return PTR_ERR(buf);

	want = min_t(size_t, sdp_buf_room(ep, buf), iov_iter_count(from));
	spin_unlock_bh(&ep->lock);
	n = sdp_copy_from(buf->data + buf->len, want, from);
	spin_lock_bh(&ep->lock);
	if (!ep->ending && ep->live)
		buf->len += n;
	else
		/* Aborted meanwhile: nothing waits for credits any more. */
		buf->len = sizeof(struct sdp_bsdh);
	if ((flags & MSG_OOB) && n && !iov_iter_count(from)) {
		buf->off = SDP_BUF_OOB;
		ep->tx_oob++;
	}
	sdp_tx_put(ep, buf);
	if (!ep->ending && iov_iter_count(from))
		sdp_tx_push(ep);
	return n ? n : -EFAULT;
}

/*
 * What is in the ring by now was written before, and what comes there later is not
 * to come between the bytes of one call.  Zero: there is no room for all of it.
 */
static int sdp_tx_ring_first(struct sdp_ep *ep)
	__must_hold(&ep->lock)
{
	struct sdp_xprt_buf *buf;
	u32 bytes = 0;
	u64 end;

	if (ep->tx_ring.size && !sdp_ring_tx_check(ep, &bytes))
		return -EPIPE;
	for (end = ep->tx_ring.own + bytes; ep->tx_ring.own != end; ) {
		if (sdp_tx_ended(ep))
			return -EPIPE;
		buf = sdp_tx_next(ep);
		if (IS_ERR_OR_NULL(buf))
			return PTR_ERR(buf);
		/* It may have been aborted meanwhile. */
		if (!ep->ending && ep->live)
			sdp_buf_from_ring(ep, buf, end - ep->tx_ring.own);
		sdp_tx_put(ep, buf);
		sdp_tx_push(ep);
	}
	return 1;
}

/* Takes what there is room for.  Zero: there is none. */
static ssize_t sdp_tx_fill(struct sdp_ep *ep, struct iov_iter *from,
			   unsigned int flags)
{
	u8 nonagle = sdp_nonagle(ep);
	bool corked = nonagle & TCP_NAGLE_CORK;
	ssize_t done = 0, n;

	spin_lock_bh(&ep->lock);
	sdp_size_look(ep);
	sdp_alive_sending(ep);
	ep->tx_owned = true;
	ep->tx_more = true;
	ep->tx_nagle = !(nonagle & TCP_NAGLE_OFF);
	n = sdp_tx_ring_first(ep);
	while (n > 0) {
		n = sdp_tx_fill_one(ep, from, flags);
		if (n > 0)
			done += n;
		if (!iov_iter_count(from))
			break;
	}
	ep->tx_owned = false;
	ep->tx_corked = corked;
	ep->tx_more = (corked || (flags & MSG_MORE)) && !iov_iter_count(from);
	sdp_tx_push(ep);
	spin_unlock_bh(&ep->lock);
	return done ? done : n;
}

static bool sdp_tx_ready(struct sdp_ep *ep)
{
	bool ready;

	spin_lock_bh(&ep->lock);
	ep->tx_nospace = true;
	ready = sdp_tx_ended(ep) || sdp_tx_room(ep);
	spin_unlock_bh(&ep->lock);
	return ready;
}

/**
 * sdp_tx_wait() - wait until there is room, or never will be
 * @ep: the endpoint
 * @timeo: in and out: jiffies to wait; zero: not at all
 *
 * Return: zero, -EAGAIN, -EINTR or -ERESTARTSYS.
 */
int sdp_tx_wait(struct sdp_ep *ep, long *timeo)
{
	long left;

	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	left = wait_event_interruptible_timeout(ep->wait, sdp_tx_ready(ep),
						*timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return left ? 0 : -EAGAIN;
}

/**
 * sdp_tx_drain() - look at the transmit ring
 * @ep: the endpoint
 *
 * Return: zero, or -EPIPE where nothing can be sent any more.
 */
int sdp_tx_drain(struct sdp_ep *ep)
{
	bool ended;

	spin_lock_bh(&ep->lock);
	ep->tx_nagle = !(sdp_nonagle(ep) & TCP_NAGLE_OFF);
	sdp_tx_push(ep);
	ended = sdp_tx_ended(ep);
	spin_unlock_bh(&ep->lock);
	return ended ? -EPIPE : 0;
}

static bool sdp_tx_takes(struct sdp_ep *ep)
{
	bool takes;

	spin_lock_bh(&ep->lock);
	takes = sdp_tx_room(ep);
	spin_unlock_bh(&ep->lock);
	return takes;
}

static int sdp_tx_error(struct sdp_ep *ep, unsigned int flags, int err)
{
	if (err == -EPIPE)
		err = -sdp_ep_take_error(ep) ? : -EPIPE;
	if (err == -EPIPE && !(flags & MSG_NOSIGNAL))
		send_sig(SIGPIPE, current, 0);
	return err;
}

/**
 * sdp_send() - send on an SDP connection
 * @ep: the endpoint
 * @from: where from
 * @flags: MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL, MSG_OOB
 * @timeo: jiffies to wait
 *
 * Return: bytes, or a negative errno, that of sendmsg(2).
 */
ssize_t sdp_send(struct sdp_ep *ep, struct iov_iter *from, unsigned int flags,
		 long timeo)
{
	ssize_t done = 0, n;

	/*
	 * For want of a page nobody else's bytes are to come between those of a call.  A
	 * caller that does not wait for room needs no page unless there is room.
	 */
	if (timeo || sdp_tx_takes(ep))
		sdp_fault_in(from, false);
	for (;;) {
		if (mutex_lock_killable(&ep->tx_mutex)) {
			n = -ERESTARTSYS;
			break;
		}
		n = sdp_tx_fill(ep, from, flags);
		mutex_unlock(&ep->tx_mutex);
		if (n == -EFAULT && sdp_fault_in(from, false))
			continue;
		if (n > 0)
			done += n;
		if (n < 0 || !iov_iter_count(from))
			break;
		if (n > 0)
			continue;
		n = sdp_tx_wait(ep, &timeo);
		if (n < 0)
			break;
	}
	return done ? done : sdp_tx_error(ep, flags, n);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving: messages from the transport, checked, their bytes queued or put
 * into the receive ring; and readers, who take from the ring first.
 */
#include <linux/tcp.h>

#include "sdpdev.h"

/**
 * sdp_rx_avail() - stream bytes that can be read
 * @ep: the endpoint, ep->lock held
 */
u64 sdp_rx_avail(struct sdp_ep *ep)
{
	u32 ring = 0;

	if (ep->rx_ring.size && !sdp_ring_rx_check(ep, &ring))
		return 0;
	return (u64)ring + ep->rx_queued;
}

static void sdp_rx_drop(struct sdp_ep *ep, struct sdp_xprt_buf *buf)
{
	ep->credit.bufs--;
	sdp_buf_free(ep, ep->conn, buf);
}

/*
 * A receive buffer that has served goes back to the transport, unless SO_RCVBUF has
 * become less than there are.  With @fresh it has carried stream bytes.
 */
static void sdp_rx_repost(struct sdp_ep *ep, struct sdp_xprt_buf *buf, bool fresh)
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

/* Moves what there is room for from the queue into the ring. */
static void sdp_rx_to_ring(struct sdp_ep *ep)
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
		sdp_abort_after(ep);
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
	if (ep->deferred && (ep->rx_bytes != before || ep->fin_rcvd))
		sdp_incoming_offer(ep);
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
 * @ep: the endpoint
 * @conn: its connection
 * @buf: the buffer, with a message in it
 * @error: negative errno where there is none
 */
void sdp_rx_done(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		 struct sdp_xprt_buf *buf, int error)
{
	spin_lock_bh(&ep->lock);
	if (error || ep->ending || ep->kill) {
		ep->credit.posted--;
		sdp_buf_free(ep, conn, buf);
		goto out;
	}
	/* The peer heard of the acceptance before we heard that it did. */
	if (ep->listener && ep->state == SDP_STATE_CONNECTING)
		sdp_incoming_established(ep);
	/* Its event comes, with the HelloAck. */
	if (ep->state == SDP_STATE_CONNECTING)
		list_add_tail(&buf->list, &ep->rx_early);
	else
		sdp_rx_one(ep, buf);
out:
	spin_unlock_bh(&ep->lock);
}

/* Takes @n bytes off the first message of the queue; ep->lock held. */
static void sdp_rx_take(struct sdp_ep *ep, struct sdp_xprt_buf *buf, size_t n)
{
	buf->off += n;
	ep->rx_queued -= n;
	sdp_urg_moved(ep);
	if (buf->off < buf->len)
		return;
	list_del(&buf->list);
	sdp_rx_repost(ep, buf, true);
}

/**
 * sdp_rx_fetch() - move what waits into the receive ring
 * @ep: an endpoint, rx_mutex held
 */
void sdp_rx_fetch(struct sdp_ep *ep)
{
	if (!ep->rx_ring.size)
		return;
	spin_lock_bh(&ep->lock);
	while (sdp_urg_fetch(ep))
		sdp_rx_take(ep, list_first_entry(&ep->rx_queue,
						 struct sdp_xprt_buf, list), 1);
	sdp_rx_to_ring(ep);
	sdp_ring_rx_flags(ep);
	sdp_tx_push(ep);
	spin_unlock_bh(&ep->lock);
}

/* Takes @n bytes off the head of the queue; rx_mutex held. */
static void sdp_rx_consume(struct sdp_ep *ep, struct sdp_xprt_buf *buf, size_t n)
{
	bool last;

	spin_lock_bh(&ep->lock);
	last = buf->off + n == buf->len;
	sdp_rx_take(ep, buf, n);
	if (last) {
		if (list_empty(&ep->rx_queue))
			sdp_ring_rx_flags(ep);
		sdp_tx_push(ep);
	}
	spin_unlock_bh(&ep->lock);
}

/* Stream bytes in the receive ring; ep->lock held. */
static u32 sdp_rx_in_ring(struct sdp_ep *ep)
{
	u32 bytes;

	return ep->rx_ring.size && sdp_ring_rx_check(ep, &bytes) ? bytes : 0;
}

/* The message with the byte at @at from the head of the queue, and where in it. */
static struct sdp_xprt_buf *sdp_rx_find(struct sdp_ep *ep, size_t *at)
{
	struct sdp_xprt_buf *buf;

	list_for_each_entry(buf, &ep->rx_queue, list) {
		if (*at < buf->len - buf->off)
			return buf;
		*at -= buf->len - buf->off;
	}
	return NULL;
}

/*
 * Copies what is in the queue, @skip bytes from the reader on, and takes what was
 * copied off it unless @flags say otherwise.  Zero: there is none, or the mark of
 * urgent data is there and the call has @begun before it; -EAGAIN: bytes have come
 * into the ring since it was looked at, and those are first.  With @hole the byte
 * there was passed over and not copied.
 */
static ssize_t sdp_rx_copy_queue(struct sdp_ep *ep, struct iov_iter *to, size_t skip,
				 unsigned int flags, bool begun, bool *hole)
{
	struct sdp_xprt_buf *buf = NULL;
	u32 n = 0, in_ring;
	size_t at;

	/*
	 * With rx_mutex held the queue only grows, and nothing comes into the ring as
	 * long as something is in the queue.
	 */
	spin_lock_bh(&ep->lock);
	in_ring = sdp_rx_in_ring(ep);
	at = skip - in_ring;
	if (in_ring <= skip && !(begun && sdp_urg_here(ep, skip)))
		buf = sdp_rx_find(ep, &at);
	if (buf)
		n = sdp_urg_clip(ep, skip - in_ring, buf->len - buf->off - at, hole);
	spin_unlock_bh(&ep->lock);
	if (!buf)
		return in_ring > skip ? -EAGAIN : 0;

	n = min_t(size_t, n, iov_iter_count(to));
	if (!*hole) {
		if (flags & MSG_TRUNC)
			iov_iter_advance(to, n);
		else
			n = sdp_copy_to(buf->data + buf->off + at, n, to);
		if (!n)
			return -EFAULT;
	}
	if (!(flags & MSG_PEEK))
		sdp_rx_consume(ep, buf, n);
	return n;
}

/* One piece of the stream from @skip on.  Zero: there is none. */
static ssize_t sdp_rx_copy_one(struct sdp_ep *ep, struct iov_iter *to, size_t skip,
			       unsigned int flags, bool begun, bool *hole)
{
	ssize_t n;

	*hole = false;
	do {
		n = ep->rx_ring.size ? sdp_ring_consume(ep, to, skip, flags) : 0;
		if (!n)
			n = sdp_rx_copy_queue(ep, to, skip, flags, begun, hole);
	} while (n == -EAGAIN);
	return n;
}

static bool sdp_rx_at_mark(struct sdp_ep *ep, size_t skip)
{
	bool here;

	if (!READ_ONCE(ep->urg.state))
		return false;
	spin_lock_bh(&ep->lock);
	here = sdp_urg_here(ep, skip);
	spin_unlock_bh(&ep->lock);
	return here;
}

/*
 * Copies what there is, up to the mark of urgent data unless it begins there;
 * @done is what the call has copied so far.  With MSG_PEEK @skip moves on.  @absent:
 * there is more, but not the memory where it goes.
 */
static ssize_t sdp_rx_copy(struct sdp_ep *ep, struct iov_iter *to, size_t done,
			   size_t *skip, unsigned int flags, bool *absent)
{
	ssize_t copied = 0, n = 0;
	bool hole;

	while (iov_iter_count(to)) {
		n = sdp_rx_copy_one(ep, to, *skip, flags, done + copied, &hole);
		if (n <= 0)
			break;
		if (!hole)
			copied += n;
		if (flags & MSG_PEEK)
			*skip += n;
	}
	*absent = n == -EFAULT;
	return copied ? copied : min_t(ssize_t, n, 0);
}

/* Has another thread taken the connection apart, by connect(2) with AF_UNSPEC? */
static bool sdp_rx_parted(struct sdp_ep *ep)
{
	return ep->parting || sdp_ep_native(ep);
}

/**
 * sdp_rx_ready() - is there something to read, or never will be?
 * @ep: the endpoint
 * @more_than: bytes that do not count
 */
bool sdp_rx_ready(struct sdp_ep *ep, u64 more_than)
{
	bool ready;

	spin_lock_bh(&ep->lock);
	ready = sdp_rx_avail(ep) > more_than || ep->err ||
		(ep->shut & RCV_SHUTDOWN) || sdp_rx_parted(ep);
	spin_unlock_bh(&ep->lock);
	return ready;
}

/**
 * sdp_rx_wait() - wait until there is something to read, or never will be
 * @ep: the endpoint
 * @more_than: bytes that are there already
 * @timeo: in and out: jiffies to wait; zero: not at all
 *
 * Return: zero, -EAGAIN, -EINTR or -ERESTARTSYS.
 */
int sdp_rx_wait(struct sdp_ep *ep, u64 more_than, long *timeo)
{
	long left;

	if (!*timeo)
		return -EAGAIN;
	/* Whoever comes again and again can be killed. */
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	left = wait_event_interruptible_timeout(ep->wait,
						sdp_rx_ready(ep, more_than),
						*timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return left ? 0 : -EAGAIN;
}

/**
 * sdp_rx_end() - whether to go on reading, in the order in which TCP looks
 * @ep: the endpoint
 * @seen: bytes of what is there that have been peeked at
 * @done: bytes read so far
 *
 * Return: zero where more is there or may come, one where not, or a negative
 * errno, which is the pending error taken.
 */
int sdp_rx_end(struct sdp_ep *ep, u64 seen, size_t done)
{
	int ret = 0;

	spin_lock_bh(&ep->lock);
	if (sdp_rx_parted(ep))
		ret = -EPIPE;
	else if (sdp_rx_avail(ep) > seen)
		ret = 0;
	else if (ep->fin_rcvd || (done && ep->err))
		ret = 1;
	else if (ep->err)
		ret = -xchg(&ep->err, 0);
	else if (ep->shut & RCV_SHUTDOWN)
		ret = 1;
	spin_unlock_bh(&ep->lock);
	return ret;
}

/* Where a peek begins, and what any read does to that: SO_PEEK_OFF. */
static size_t sdp_peek_begin(struct sdp_ep *ep, unsigned int flags)
{
	struct sock *sk = sdp_native_sk(ep);

	return sk ? max(sk_peek_offset(sk, flags), 0) : 0;
}

static void sdp_peek_end(struct sdp_ep *ep, unsigned int flags, size_t done)
{
	struct sock *sk = sdp_native_sk(ep);

	if (!sk)
		return;
	if (flags & MSG_PEEK)
		sk_peek_offset_fwd(sk, done);
	else
		sk_peek_offset_bwd(sk, done);
}

/* What sdp_recv() does where the bytes are asked for in their turn. */
static ssize_t sdp_recv_stream(struct sdp_ep *ep, struct iov_iter *to,
			       unsigned int flags, long timeo)
{
	size_t len = iov_iter_count(to), target, skip, done = 0;
	bool absent;
	ssize_t n;

	target = flags & MSG_WAITALL ? len : min_t(size_t, sdp_rcvlowat(ep), len);
	if (!target)
		target = 1;
	skip = sdp_peek_begin(ep, flags);

	for (;;) {
		if (mutex_lock_killable(&ep->rx_mutex)) {
			n = -ERESTARTSYS;
			break;
		}
		n = sdp_rx_copy(ep, to, done, &skip, flags, &absent);
		mutex_unlock(&ep->rx_mutex);
		if (n > 0)
			done += n;
		if (absent && sdp_fault_in(to, true))
			continue;
		if (n == -EBUSY) {
			n = signal_pending(current) ? -ERESTARTSYS : 0;
			cond_resched();
			if (!n)
				continue;
		}
		if (absent || n < 0)
			break;
		if (done >= target || (done && sdp_rx_at_mark(ep, skip)))
			break;
		n = sdp_rx_end(ep, skip, done);
		/* Who wants nothing waits until something is there. */
		if (n || (!len && sdp_rx_ready(ep, skip)))
			break;
		n = sdp_rx_wait(ep, skip, &timeo);
		if (n < 0)
			break;
	}
	if (!done)
		return n > 0 ? 0 : n;
	sdp_peek_end(ep, flags, done);
	return done;
}

/* How much is left, for who has set TCP_INQ; at the end one byte that is not there. */
static void sdp_recv_inq(struct sdp_ep *ep, struct msghdr *msg)
{
	struct sock *sk = sdp_native_sk(ep);
	int inq;

	if (!(sk ? tcp_sk(sk)->recvmsg_inq : ep->inherited.inq))
		return;
	spin_lock_bh(&ep->lock);
	inq = min_t(u64, sdp_rx_avail(ep), INT_MAX);
	if (!inq && ep->fin_rcvd)
		inq = 1;
	spin_unlock_bh(&ep->lock);
	put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(inq), &inq);
}

/**
 * sdp_recv() - receive from an SDP connection
 * @ep: the endpoint
 * @to: where to
 * @flags: MSG_DONTWAIT, MSG_ERRQUEUE, MSG_OOB, MSG_PEEK, MSG_TRUNC, MSG_WAITALL
 * @timeo: jiffies to wait
 * @msg: in and out: its flags, and where control messages go; NULL without either
 *
 * Return: bytes, or a negative errno, that of recvmsg(2).
 */
ssize_t sdp_recv(struct sdp_ep *ep, struct iov_iter *to, unsigned int flags,
		 long timeo, struct msghdr *msg)
{
	ssize_t ret;

	/* Nothing ever comes there. */
	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;
	if (flags & MSG_OOB)
		ret = sdp_urg_recv(ep, to, flags, &msg->msg_flags);
	else
		ret = sdp_recv_stream(ep, to, flags, timeo);
	if (ret >= 0 && msg)
		sdp_recv_inq(ep, msg);
	return ret;
}

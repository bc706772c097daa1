// SPDX-License-Identifier: GPL-2.0
/*
 * Readers: they take from the receive ring first, then from the queue of messages.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/tcp.h>

#include "sdp/sdp.h"
#include "tcp/tcp.h"

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
	sdp_ep_lock(ep);
	while (sdp_urg_fetch(ep))
		sdp_rx_take(ep, list_first_entry(&ep->rx_queue,
						 struct sdp_xprt_buf, list), 1);
	sdp_rx_to_ring(ep);
	sdp_ring_rx_flags(ep);
	sdp_tx_push(ep);
	sdp_ep_unlock(ep);
}

/* Takes @n bytes off the head of the queue; rx_mutex held. */
static void sdp_rx_consume(struct sdp_ep *ep, struct sdp_xprt_buf *buf, size_t n)
{
	bool last;

	sdp_ep_lock(ep);
	last = buf->off + n == buf->len;
	sdp_rx_take(ep, buf, n);
	if (last) {
		if (list_empty(&ep->rx_queue))
			sdp_ring_rx_flags(ep);
		sdp_tx_push(ep);
	}
	sdp_ep_unlock(ep);
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
	sdp_ep_lock(ep);
	in_ring = sdp_rx_in_ring(ep);
	at = skip - in_ring;
	if (in_ring <= skip && !(begun && sdp_urg_here(ep, skip)))
		buf = sdp_rx_find(ep, &at);
	if (buf)
		n = sdp_urg_clip(ep, skip - in_ring, buf->len - buf->off - at, hole);
	sdp_ep_unlock(ep);
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
	sdp_ep_lock(ep);
	here = sdp_urg_here(ep, skip);
	sdp_ep_unlock(ep);
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

	sdp_ep_lock(ep);
	ready = sdp_rx_avail(ep) > more_than || ep->err ||
		(ep->shut & RCV_SHUTDOWN) || sdp_rx_parted(ep);
	sdp_ep_unlock(ep);
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

	sdp_ep_lock(ep);
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
	sdp_ep_unlock(ep);
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
	sdp_ep_lock(ep);
	inq = min_t(u64, sdp_rx_avail(ep), INT_MAX);
	if (!inq && ep->fin_rcvd)
		inq = 1;
	sdp_ep_unlock(ep);
	put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(inq), &inq);
}

/**
 * sdp_recv() - receive from an SDP connection
 * @ep: the endpoint
 * @to: where to
 * @flags: MSG_DONTWAIT, MSG_ERRQUEUE, MSG_OOB, MSG_PEEK, MSG_TRUNC, MSG_WAITALL
 * @timeo: jiffies to wait
 * @msg: in and out: its flags, and where control messages go
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
	if (ret >= 0 && msg->msg_control)
		sdp_recv_inq(ep, msg);
	return ret;
}

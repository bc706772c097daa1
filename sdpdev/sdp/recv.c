// SPDX-License-Identifier: GPL-2.0
/*
 * Readers: they take from the receive ring first, then from the queue of messages.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/tcp.h>

#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* Takes @n bytes off the first message of the queue, which may be used up; ep->lock held. */
static void sdp_rx_take(struct sdp_conn *conn, size_t n)
{
	struct sdp_xprt_buf *buf = sdp_segs_take(&conn->rx.queue, n);

	sdp_urg_moved(conn);
	if (buf)
		sdp_rx_repost(conn, buf, true);
}

/**
 * sdp_rx_fetch() - move what waits into the receive ring
 * @conn: a connection, rx.mutex held
 */
void sdp_rx_fetch(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	if (!conn->rings.rx.size)
		return;
	sdp_ep_lock(ep);
	while (sdp_urg_fetch(conn))
		sdp_rx_take(conn, 1);
	sdp_rx_to_ring(conn);
	sdp_ring_rx_flags(conn);
	sdp_tx_push(conn);
	sdp_ep_unlock(ep);
}

/* Takes @n bytes off the head of the queue; rx.mutex held. */
static void sdp_rx_consume(struct sdp_conn *conn, size_t n)
{
	struct sdp_ep *ep = conn->ep;
	bool last;

	sdp_ep_lock(ep);
	last = sdp_seg_bytes(sdp_segs_first(&conn->rx.queue)) == n;
	sdp_rx_take(conn, n);
	if (last) {
		if (sdp_segs_empty(&conn->rx.queue))
			sdp_ring_rx_flags(conn);
		sdp_tx_push(conn);
	}
	sdp_ep_unlock(ep);
}

/*
 * Copies what is in the queue, from where sdp_rx_from() says that the reader goes on, and
 * takes what was copied off it or, with MSG_PEEK, moves @pos on.  Zero: there is none, or the
 * mark of urgent data is there and the call has @begun before it; -EAGAIN: bytes have come
 * into the ring since it was looked at, and those are first.  With @hole the byte
 * there was passed over and not copied.
 */
static ssize_t sdp_rx_copy_queue(struct sdp_conn *conn, struct iov_iter *to, u64 *pos,
				 unsigned int flags, bool begun, bool *hole)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_buf *buf = NULL;
	bool in_ring;
	u32 n = 0, at;
	u64 from;

	/*
	 * With rx.mutex held the queue only grows, and nothing comes into the ring as
	 * long as something is in the queue.
	 */
	sdp_ep_lock(ep);
	from = sdp_rx_from(conn, *pos);
	in_ring = from < conn->rx.queue.begin;
	if (!in_ring && !(begun && sdp_urg_here(conn, from)))
		buf = sdp_segs_find(&conn->rx.queue, from, &at);
	if (buf)
		n = sdp_urg_clip(conn, from, sdp_seg_bytes(buf) - at, hole);
	sdp_ep_unlock(ep);
	if (!buf)
		return in_ring ? -EAGAIN : 0;

	n = min_t(size_t, n, iov_iter_count(to));
	if (!*hole) {
		if (flags & MSG_TRUNC)
			iov_iter_advance(to, n);
		else
			n = sdp_copy_to(buf->data + buf->off + at, n, to);
		if (!n)
			return -EFAULT;
	}
	if (flags & MSG_PEEK)
		*pos = from + n;
	else
		sdp_rx_consume(conn, n);
	return n;
}

/* One piece of the stream from @pos on.  Zero: there is none. */
static ssize_t sdp_rx_copy_one(struct sdp_conn *conn, struct iov_iter *to, u64 *pos,
			       unsigned int flags, bool begun, bool *hole)
{
	ssize_t n;

	*hole = false;
	do {
		n = conn->rings.rx.size ? sdp_ring_consume(conn, to, pos, flags) : 0;
		if (!n)
			n = sdp_rx_copy_queue(conn, to, pos, flags, begun, hole);
	} while (n == -EAGAIN);
	return n;
}

static bool sdp_rx_at_mark(struct sdp_conn *conn, u64 pos)
{
	struct sdp_ep *ep = conn->ep;
	bool here;

	if (!READ_ONCE(conn->urg.state))
		return false;
	sdp_ep_lock(ep);
	here = sdp_urg_here(conn, pos);
	sdp_ep_unlock(ep);
	return here;
}

/*
 * Copies what there is, up to the mark of urgent data unless it begins there;
 * @done is what the call has copied so far.  With MSG_PEEK @pos moves on.  @absent:
 * there is more, but not the memory where it goes.
 */
static ssize_t sdp_rx_copy(struct sdp_conn *conn, struct iov_iter *to, size_t done,
			   u64 *pos, unsigned int flags, bool *absent)
{
	ssize_t copied = 0, n = 0;
	bool hole;

	while (iov_iter_count(to)) {
		n = sdp_rx_copy_one(conn, to, pos, flags, done + copied, &hole);
		if (n <= 0)
			break;
		if (!hole)
			copied += n;
	}
	*absent = n == -EFAULT;
	return copied ? copied : min_t(ssize_t, n, 0);
}

/* Has another thread taken the connection apart, by connect(2) with AF_UNSPEC? */
static bool sdp_rx_parted(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	return ep->attempt == SDP_ATTEMPT_PARTING || ep->conn != conn;
}

/* Are there bytes behind @pos?  ep->lock held. */
static bool sdp_rx_more(struct sdp_conn *conn, u64 pos)
{
	return conn->rx.queue.end > sdp_rx_from(conn, pos);
}

/**
 * sdp_rx_ready() - is there something to read, or never will be?
 * @conn: the connection
 * @pos: how far the reader has peeked, as sdp_rx_from() takes it
 */
bool sdp_rx_ready(struct sdp_conn *conn, u64 pos)
{
	struct sdp_ep *ep = conn->ep;
	bool ready;

	sdp_ep_lock(ep);
	ready = sdp_rx_more(conn, pos) || ep->err ||
		(ep->shut & RCV_SHUTDOWN) || sdp_rx_parted(conn);
	sdp_ep_unlock(ep);
	return ready;
}

/**
 * sdp_rx_wait() - wait until there is something to read, or never will be
 * @conn: the connection
 * @pos: how far the reader has peeked, as sdp_rx_from() takes it
 * @timeo: in and out: jiffies to wait; zero: not at all
 *
 * Return: zero, -EAGAIN, -EINTR or -ERESTARTSYS.
 */
int sdp_rx_wait(struct sdp_conn *conn, u64 pos, long *timeo)
{
	struct sdp_ep *ep = conn->ep;
	long left;

	if (!*timeo)
		return -EAGAIN;
	/* Whoever comes again and again can be killed. */
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	left = wait_event_interruptible_timeout(ep->wait,
						sdp_rx_ready(conn, pos), *timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return left ? 0 : -EAGAIN;
}

/**
 * sdp_rx_end() - whether to go on reading, in the order in which TCP looks
 * @conn: the connection
 * @pos: how far the reader has peeked, as sdp_rx_from() takes it
 * @done: bytes read so far
 *
 * Return: zero where more is there or may come, one where not, or a negative
 * errno, which is the pending error taken.
 */
int sdp_rx_end(struct sdp_conn *conn, u64 pos, size_t done)
{
	struct sdp_ep *ep = conn->ep;
	int ret = 0;

	sdp_ep_lock(ep);
	/* Which ends it, if an index in the ring is bad. */
	if (conn->rings.bad)
		sdp_tx_push(conn);
	if (sdp_rx_parted(conn))
		ret = -EPIPE;
	else if (sdp_rx_more(conn, pos))
		ret = 0;
	else if (conn->rx.state == SDP_RX_FIN || (done && ep->err))
		ret = 1;
	else if (ep->err)
		ret = -xchg(&ep->err, 0);
	else if (ep->shut & RCV_SHUTDOWN)
		ret = 1;
	sdp_ep_unlock(ep);
	return ret;
}

/* Where a peek begins, and what any read does to that: SO_PEEK_OFF. */
static u64 sdp_peek_begin(struct sdp_conn *conn, unsigned int flags)
{
	struct sdp_ep *ep = conn->ep;
	struct sock *sk = sdp_native_sk(ep);
	int off = sk ? sk_peek_offset(sk, flags) : 0;
	u64 pos;

	if (off <= 0)
		return 0;
	sdp_ep_lock(ep);
	pos = sdp_rx_from(conn, 0) + off;
	sdp_ep_unlock(ep);
	return pos;
}

static void sdp_peek_end(struct sdp_conn *conn, unsigned int flags, size_t done)
{
	struct sdp_ep *ep = conn->ep;
	struct sock *sk = sdp_native_sk(ep);

	if (!sk)
		return;
	if (flags & MSG_PEEK)
		sk_peek_offset_fwd(sk, done);
	else
		sk_peek_offset_bwd(sk, done);
}

/* What sdp_recv() does where the bytes are asked for in their turn. */
static ssize_t sdp_recv_stream(struct sdp_conn *conn, struct iov_iter *to,
			       unsigned int flags, long timeo)
{
	struct sdp_ep *ep = conn->ep;
	size_t len = iov_iter_count(to), target, done = 0;
	bool absent;
	u64 pos;
	ssize_t n;

	target = flags & MSG_WAITALL ? len : min_t(size_t, sdp_rcvlowat(ep), len);
	if (!target)
		target = 1;
	pos = sdp_peek_begin(conn, flags);

	for (;;) {
		if (mutex_lock_killable(&conn->rx.mutex)) {
			n = -ERESTARTSYS;
			break;
		}
		n = sdp_rx_copy(conn, to, done, &pos, flags, &absent);
		mutex_unlock(&conn->rx.mutex);
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
		if (done >= target || (done && sdp_rx_at_mark(conn, pos)))
			break;
		n = sdp_rx_end(conn, pos, done);
		/* A call for no bytes waits until something is there. */
		if (n || (!len && sdp_rx_ready(conn, pos)))
			break;
		n = sdp_rx_wait(conn, pos, &timeo);
		if (n < 0)
			break;
	}
	if (!done)
		return n > 0 ? 0 : n;
	sdp_peek_end(conn, flags, done);
	return done;
}

/* How much is left, for who has set TCP_INQ; at the end one byte that is not there. */
static void sdp_recv_inq(struct sdp_conn *conn, struct msghdr *msg)
{
	struct sdp_ep *ep = conn->ep;
	struct sock *sk = sdp_native_sk(ep);
	int inq;

	if (!(sk ? tcp_sk(sk)->recvmsg_inq : ep->tcp->inherited.inq))
		return;
	sdp_ep_lock(ep);
	inq = min_t(u64, sdp_rx_avail(conn), INT_MAX);
	if (!inq && conn->rx.state == SDP_RX_FIN)
		inq = 1;
	sdp_ep_unlock(ep);
	put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(inq), &inq);
}

/**
 * sdp_recv() - receive from an SDP connection
 * @conn: the connection
 * @to: where to
 * @flags: MSG_DONTWAIT, MSG_ERRQUEUE, MSG_OOB, MSG_PEEK, MSG_TRUNC, MSG_WAITALL
 * @timeo: jiffies to wait
 * @msg: in and out: its flags, and where control messages go
 *
 * Return: bytes, or a negative errno, that of recvmsg(2).
 */
ssize_t sdp_recv(struct sdp_conn *conn, struct iov_iter *to, unsigned int flags,
		 long timeo, struct msghdr *msg)
{
	ssize_t ret;

	/* Nothing ever comes there. */
	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;
	if (flags & MSG_OOB)
		ret = sdp_urg_recv(conn, to, flags, &msg->msg_flags);
	else
		ret = sdp_recv_stream(conn, to, flags, timeo);
	if (ret >= 0)
		sdp_recv_inq(conn, msg);
	return ret;
}

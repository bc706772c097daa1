// SPDX-License-Identifier: GPL-2.0
/*
 * Writers: they fill send buffers, or wait until there are some.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <net/tcp.h>

#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* Another send buffer; tx.mutex held, ep->lock not. */
static struct sdp_xprt_buf *sdp_tx_alloc(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_buf *buf;

	buf = sdp_buf_alloc(conn, conn->tx.size, false);
	if (!buf)
		return NULL;
	sdp_tx_clear(buf);
	sdp_ep_lock(ep);
	conn->tx.bufs++;
	conn->tx.used++;
	sdp_ep_unlock(ep);
	return buf;
}

/**
 * sdp_tx_prepare() - have send buffers for the transmit ring
 * @conn: the connection, tx.mutex held
 * @want: how many there shall be, if there may be so many
 *
 * The transmit ring is drained where nothing can be allocated.
 *
 * Return: zero, -ENOTCONN or -ENOMEM.
 */
int sdp_tx_prepare(struct sdp_conn *conn, u32 want)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_buf *buf;

	while (conn->tx.bufs < min(want, conn->tx.max)) {
		if (!sdp_conn_live(conn))
			return -ENOTCONN;
		buf = sdp_tx_alloc(conn);
		if (!buf)
			return -ENOMEM;
		sdp_ep_lock(ep);
		sdp_tx_put(conn, buf);
		sdp_ep_unlock(ep);
	}
	return 0;
}

/* Can nothing be sent any more? */
static bool sdp_tx_ended(const struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	return ep->err || (ep->shut & SEND_SHUTDOWN) || !sdp_conn_live(conn);
}

/* No memory for another buffer: those that there are must do, if any. */
static int sdp_tx_short(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	int err = -ENOBUFS;

	sdp_ep_lock(ep);
	if (conn->tx.bufs) {
		conn->tx.max = conn->tx.bufs;
		conn->tx.nospace = true;
		err = 0;
	}
	sdp_ep_unlock(ep);
	return err;
}

/* A buffer to fill; NULL where there is none to be had now, or an ERR_PTR(). */
static struct sdp_xprt_buf *sdp_tx_next(struct sdp_conn *conn)
	__must_hold(&ep->lock)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_buf *buf;
	int err;

	buf = sdp_tx_get(conn);
	if (buf)
		return buf;
	if (conn->tx.used >= conn->tx.max || conn->tx.bufs >= conn->tx.max) {
		conn->tx.nospace = true;
		return NULL;
	}
	sdp_ep_unlock(ep);
	buf = sdp_tx_alloc(conn);
	err = buf ? 0 : sdp_tx_short(conn);
	sdp_ep_lock(ep);
	return buf ? : ERR_PTR(err);
}

/*
 * Fills one buffer from @from; ep->lock held, dropped while it copies.  Zero: there
 * is none to be had now.
 */
static ssize_t sdp_tx_fill_one(struct sdp_conn *conn, struct iov_iter *from,
			       unsigned int flags)
	__must_hold(&ep->lock)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_buf *buf;
	size_t n, want;

	if (sdp_tx_ended(conn))
		return -EPIPE;
	if (!iov_iter_count(from))
		return 0;
	buf = sdp_tx_next(conn);
	if (IS_ERR_OR_NULL(buf))
		return PTR_ERR(buf);

	want = min_t(size_t, sdp_buf_room(conn, buf), iov_iter_count(from));
	sdp_ep_unlock(ep);
	n = sdp_copy_from(buf->data + buf->len, want, from);
	sdp_ep_lock(ep);
	if (sdp_conn_open(conn))
		buf->len += n;
	else
		/* Aborted meanwhile: nothing waits for credits any more. */
		sdp_tx_clear(buf);
	if ((flags & MSG_OOB) && n && !iov_iter_count(from)) {
		buf->kind = SDP_BUF_OOB;
		conn->tx.oob++;
	}
	sdp_tx_put(conn, buf);
	if (sdp_conn_open(conn) && iov_iter_count(from))
		sdp_tx_push(conn);
	return n ? n : -EFAULT;
}

/*
 * What is in the ring by now was written before, and what comes there later is not
 * to come between the bytes of one call.  The ring begins where the pending bytes end.
 * Zero: there is no room for all of it.
 */
static int sdp_tx_ring_first(struct sdp_conn *conn)
	__must_hold(&ep->lock)
{
	struct sdp_xprt_buf *buf;
	u32 bytes = 0;
	u64 end;

	if (conn->rings.tx.size && !sdp_ring_tx_check(conn, &bytes))
		return -EPIPE;
	for (end = conn->tx.pending.end + bytes; conn->tx.pending.end != end; ) {
		if (sdp_tx_ended(conn))
			return -EPIPE;
		buf = sdp_tx_next(conn);
		if (IS_ERR_OR_NULL(buf))
			return PTR_ERR(buf);
		/* It may have been aborted meanwhile. */
		if (sdp_conn_open(conn))
			sdp_buf_from_ring(conn, buf,
					  end - conn->tx.pending.end - sdp_seg_bytes(buf));
		sdp_tx_put(conn, buf);
		sdp_tx_push(conn);
	}
	return 1;
}

/* Takes what there is room for.  Zero: there is none. */
static ssize_t sdp_tx_fill(struct sdp_conn *conn, struct iov_iter *from,
			   unsigned int flags)
{
	struct sdp_ep *ep = conn->ep;
	u8 nonagle = sdp_nonagle(ep);
	bool corked = nonagle & TCP_NAGLE_CORK;
	ssize_t done = 0, n;

	sdp_ep_lock(ep);
	sdp_size_look(conn);
	sdp_alive_sending(conn);
	conn->tx.owned = true;
	conn->tx.more = true;
	conn->tx.nagle = !(nonagle & TCP_NAGLE_OFF);
	n = sdp_tx_ring_first(conn);
	while (n > 0) {
		n = sdp_tx_fill_one(conn, from, flags);
		if (n > 0)
			done += n;
		if (!iov_iter_count(from))
			break;
	}
	conn->tx.owned = false;
	conn->tx.corked = corked;
	conn->tx.more = (corked || (flags & MSG_MORE)) && !iov_iter_count(from);
	sdp_tx_push(conn);
	sdp_ep_unlock(ep);
	return done ? done : n;
}

static bool sdp_tx_ready(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	bool ready;

	sdp_ep_lock(ep);
	conn->tx.nospace = true;
	ready = sdp_tx_ended(conn) || sdp_tx_room(conn);
	sdp_ep_unlock(ep);
	return ready;
}

/**
 * sdp_tx_wait() - wait until there is room, or never will be
 * @conn: the connection
 * @timeo: in and out: jiffies to wait; zero: not at all
 *
 * Return: zero, -EAGAIN, -EINTR or -ERESTARTSYS.
 */
static int sdp_tx_wait(struct sdp_conn *conn, long *timeo)
{
	struct sdp_ep *ep = conn->ep;
	long left;

	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	left = wait_event_interruptible_timeout(ep->wait, sdp_tx_ready(conn),
						*timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return left ? 0 : -EAGAIN;
}

/**
 * sdp_tx_drain() - look at the transmit ring
 * @conn: the connection
 *
 * Return: zero, or -EPIPE where nothing can be sent any more.
 */
int sdp_tx_drain(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	bool ended;

	sdp_ep_lock(ep);
	conn->tx.nagle = !(sdp_nonagle(ep) & TCP_NAGLE_OFF);
	sdp_tx_push(conn);
	ended = sdp_tx_ended(conn);
	sdp_ep_unlock(ep);
	return ended ? -EPIPE : 0;
}

static bool sdp_tx_takes(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	bool takes;

	sdp_ep_lock(ep);
	takes = sdp_tx_room(conn);
	sdp_ep_unlock(ep);
	return takes;
}

/**
 * sdp_send() - send on an SDP connection
 * @conn: the connection
 * @from: where from
 * @flags: MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL, MSG_OOB
 * @timeo: jiffies to wait
 *
 * Return: bytes, or a negative errno: -EPIPE where nothing can be sent any more.
 */
ssize_t sdp_send(struct sdp_conn *conn, struct iov_iter *from, unsigned int flags,
		 long timeo)
{
	ssize_t done = 0, n;

	/*
	 * For want of a page nobody else's bytes are to come between those of a call.  A
	 * caller that does not wait for room needs no page unless there is room.
	 */
	if (timeo || sdp_tx_takes(conn))
		sdp_fault_in(from, false);
	for (;;) {
		if (mutex_lock_killable(&conn->tx.mutex)) {
			n = -ERESTARTSYS;
			break;
		}
		n = sdp_tx_fill(conn, from, flags);
		mutex_unlock(&conn->tx.mutex);
		if (n == -EFAULT && sdp_fault_in(from, false))
			continue;
		if (n > 0)
			done += n;
		if (n < 0 || !iov_iter_count(from))
			break;
		if (n > 0)
			continue;
		n = sdp_tx_wait(conn, &timeo);
		if (n < 0)
			break;
	}
	return done ? done : n;
}

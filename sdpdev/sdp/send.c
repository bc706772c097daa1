// SPDX-License-Identifier: GPL-2.0
/*
 * Writers: they fill send buffers, or wait until there are some.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <net/tcp.h>

#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* Another send buffer; tx_mutex held, ep->lock not. */
static struct sdp_xprt_buf *sdp_tx_alloc(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf;

	buf = sdp_buf_alloc(ep, ep->tx_size, false);
	if (!buf)
		return NULL;
	buf->off = SDP_BUF_DATA;
	buf->len = sizeof(struct sdp_bsdh);
	sdp_ep_lock(ep);
	ep->tx_bufs++;
	ep->tx_used++;
	sdp_ep_unlock(ep);
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
		sdp_ep_lock(ep);
		sdp_tx_put(ep, buf);
		sdp_ep_unlock(ep);
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

	sdp_ep_lock(ep);
	if (ep->tx_bufs) {
		ep->tx_max = ep->tx_bufs;
		ep->tx_nospace = true;
		err = 0;
	}
	sdp_ep_unlock(ep);
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
	sdp_ep_unlock(ep);
	buf = sdp_tx_alloc(ep);
	err = buf ? 0 : sdp_tx_short(ep);
	sdp_ep_lock(ep);
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
	sdp_ep_unlock(ep);
	n = sdp_copy_from(buf->data + buf->len, want, from);
	sdp_ep_lock(ep);
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

	sdp_ep_lock(ep);
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
	sdp_ep_unlock(ep);
	return done ? done : n;
}

static bool sdp_tx_ready(struct sdp_ep *ep)
{
	bool ready;

	sdp_ep_lock(ep);
	ep->tx_nospace = true;
	ready = sdp_tx_ended(ep) || sdp_tx_room(ep);
	sdp_ep_unlock(ep);
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

	sdp_ep_lock(ep);
	ep->tx_nagle = !(sdp_nonagle(ep) & TCP_NAGLE_OFF);
	sdp_tx_push(ep);
	ended = sdp_tx_ended(ep);
	sdp_ep_unlock(ep);
	return ended ? -EPIPE : 0;
}

static bool sdp_tx_takes(struct sdp_ep *ep)
{
	bool takes;

	sdp_ep_lock(ep);
	takes = sdp_tx_room(ep);
	sdp_ep_unlock(ep);
	return takes;
}

/**
 * sdp_send() - send on an SDP connection
 * @ep: the endpoint
 * @from: where from
 * @flags: MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL, MSG_OOB
 * @timeo: jiffies to wait
 *
 * Return: bytes, or a negative errno: -EPIPE where nothing can be sent any more.
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
	return done ? done : n;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * How many buffers a connection has: few at first, more with use, and few again
 * when it is idle.
 *
 * Receive buffers are added when the peer has used up what it may use.  A
 * buffer that the transport has cannot be had back before a message came into
 * it, and the peer may send what it was told.  So an idle sender gives its
 * credits back, as one empty Data message each, and the receiver does not post
 * again what these took; of buffers that the sender has not heard of it tells
 * then.  A peer that posts them nevertheless gets no more than twice as many as
 * there were.
 *
 * Both ends measure for themselves how long there were no stream bytes; the
 * receiver with half the time, as bytes that the sender remembers may be late.
 *
 * Rings have no pages while there are no stream bytes either way: see ringmem.c.
 */
#include <linux/jiffies.h>

#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* Buffers in @bytes; where that option was not set as many as there can be. */
static u32 sdp_size_bufs(const struct sdp_ep *ep, int bytes, u32 least, u32 most)
{
	return bytes ? clamp_t(u32, bytes / ep->rx_size, least, most) : most;
}

/**
 * sdp_size_limit() - the buffers that there may be by SO_SNDBUF and SO_RCVBUF
 * @ep: the endpoint, ep->lock held
 * @opts: its options now
 */
void sdp_size_limit(struct sdp_ep *ep, const struct sdp_opts *opts)
{
	u32 limit = sdp_size_bufs(ep, opts->sndbuf, 2, ep->tx_depth);

	sdp_credit_limit(&ep->credit, READ_ONCE(sdp_idle_bufs),
			 sdp_size_bufs(ep, opts->rcvbuf, SDP_MIN_BUFS, ep->rx_depth));
	/* It may be less for want of memory. */
	if (limit != ep->tx_limit)
		ep->tx_max = limit;
	ep->tx_limit = limit;
}

/**
 * sdp_size_look() - as sdp_size_limit(), with the options looked up
 * @ep: the endpoint, ep->lock held
 */
void sdp_size_look(struct sdp_ep *ep)
{
	struct sock *sk = sdp_native_sk(ep);
	struct sdp_opts opts;

	/* Whoever sets an option has a native socket made, and few ever do. */
	if (!sk || !(sk->sk_userlocks & (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK)))
		return;
	sdp_opts_get(ep, &opts);
	sdp_size_limit(ep, &opts);
}

/**
 * sdp_size_init() - what a new connection begins with, and may come to
 * @ep: the endpoint, ep->lock held
 */
void sdp_size_init(struct sdp_ep *ep)
{
	struct sdp_opts opts;

	sdp_opts_get(ep, &opts);
	ep->rx_size = min(READ_ONCE(sdp_recv_size), ep->xprt->max_msg);
	ep->rx_depth = READ_ONCE(sdp_recv_bufs);
	ep->tx_depth = READ_ONCE(sdp_send_bufs);
	ep->tx_limit = 0;
	sdp_size_limit(ep, &opts);
	sdp_credit_init(&ep->credit);
	ep->rx_grow = false;
	ep->rx_lost = 0;
	ep->rx_last = jiffies;
	ep->tx_bufs = 0;
	ep->tx_last = jiffies;
}

/**
 * sdp_size_received() - stream bytes came
 * @ep: the endpoint, ep->lock held
 */
void sdp_size_received(struct sdp_ep *ep)
{
	ep->rx_last = jiffies;
	sdp_size_look(ep);
	/* What a peer sends before anybody accepts its connection gets no more room. */
	if (ep->rx_grow || ep->listener || !sdp_credit_wants_more(&ep->credit))
		return;
	ep->rx_grow = true;
	sdp_ep_kick(ep);
}

/**
 * sdp_size_lost() - the transport had no room for a receive buffer that goes back to it
 * @ep: the endpoint, ep->lock held
 */
void sdp_size_lost(struct sdp_ep *ep)
{
	ep->rx_lost++;
	sdp_ep_retry(ep);
}

/**
 * sdp_size_quiet() - have no stream bytes come for so long that buffers may go?
 * @ep: the endpoint, ep->lock held
 */
bool sdp_size_quiet(const struct sdp_ep *ep)
{
	return sdp_quiet_since(ep->rx_last, READ_ONCE(sdp_idle_ms) / 2);
}

/**
 * sdp_size_watch() - look whether it is idle, at the earliest time that it can be
 * @ep: the endpoint, which has a connection; ep->lock held
 */
void sdp_size_watch(struct sdp_ep *ep)
{
	sdp_ep_get(ep);
	if (!queue_delayed_work(sdp_wq, &ep->idle,
				msecs_to_jiffies(READ_ONCE(sdp_idle_ms))))
		refcount_dec(&ep->ref);
}

/**
 * sdp_size_soon() - look again, as there was no memory for what is in the ring
 * @ep: the endpoint
 */
void sdp_size_soon(struct sdp_ep *ep)
{
	unsigned long when = jiffies + HZ / 10;

	sdp_ep_lock(ep);
	/* Not put off, however often that is asked for. */
	if (ep->live && (!delayed_work_pending(&ep->idle) ||
			 time_after(ep->idle.timer.expires, when))) {
		sdp_ep_get(ep);
		if (mod_delayed_work(sdp_wq, &ep->idle, HZ / 10))
			refcount_dec(&ep->ref);
	}
	sdp_ep_unlock(ep);
}

/**
 * sdp_size_told() - the peer has told of buffers, and may have nothing else to say
 * @ep: the endpoint, ep->lock held
 */
void sdp_size_told(struct sdp_ep *ep)
{
	if (sdp_quiet_since(ep->tx_last, READ_ONCE(sdp_idle_ms)))
		sdp_credit_told(&ep->credit);
}

/**
 * sdp_size_sent() - stream bytes were sent
 * @ep: the endpoint, ep->lock held
 */
void sdp_size_sent(struct sdp_ep *ep)
{
	ep->tx_last = jiffies;
	sdp_credit_sent_data(&ep->credit);
	if (!delayed_work_pending(&ep->idle))
		sdp_size_watch(ep);
}

/**
 * sdp_size_stop() - the connection is freed
 * @ep: the endpoint
 *
 * Context: process context, the caller holds a reference of its own.
 */
void sdp_size_stop(struct sdp_ep *ep)
{
	if (cancel_delayed_work(&ep->idle))
		sdp_ep_put(ep);
}

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
 * Rings have no pages while there are no stream bytes either way: see ring/mem.c.
 */
#include <linux/jiffies.h>

#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* Buffers in @bytes; where that option was not set as many as there can be. */
static u32 sdp_size_bufs(const struct sdp_conn *conn, int bytes, u32 least, u32 most)
{
	return bytes ? clamp_t(u32, bytes / conn->rx.size, least, most) : most;
}

/**
 * sdp_size_limit() - the buffers that there may be by SO_SNDBUF and SO_RCVBUF
 * @conn: the connection, ep->lock held
 * @opts: its options now
 */
void sdp_size_limit(struct sdp_conn *conn, const struct sdp_opts *opts)
{
	u32 limit = sdp_size_bufs(conn, opts->sndbuf, 2, conn->tx.depth);

	sdp_credit_limit(&conn->credit, READ_ONCE(sdp_idle_bufs),
			 sdp_size_bufs(conn, opts->rcvbuf, SDP_MIN_BUFS, conn->rx.depth));
	/* It may be less for want of memory. */
	if (limit != conn->tx.limit)
		conn->tx.max = limit;
	conn->tx.limit = limit;
}

/**
 * sdp_size_look() - as sdp_size_limit(), with the options looked up
 * @conn: the connection, ep->lock held
 */
void sdp_size_look(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	struct sock *sk = sdp_native_sk(ep);
	struct sdp_opts opts;

	/* Whoever sets an option has a native socket made, and few ever do. */
	if (!sk || !(sk->sk_userlocks & (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK)))
		return;
	sdp_opts_get(ep, &opts);
	sdp_size_limit(conn, &opts);
}

/**
 * sdp_size_init() - what a new connection begins with, and may come to
 * @conn: the connection, ep->lock held
 */
void sdp_size_init(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_opts opts;

	sdp_opts_get(ep, &opts);
	conn->rx.size = min(READ_ONCE(sdp_recv_size), conn->xprt->max_msg);
	conn->rx.depth = READ_ONCE(sdp_recv_bufs);
	conn->tx.depth = READ_ONCE(sdp_send_bufs);
	conn->tx.limit = 0;
	sdp_size_limit(conn, &opts);
	sdp_credit_init(&conn->credit);
	conn->rx.grow = false;
	conn->rx.last = jiffies;
	conn->tx.bufs = 0;
	conn->tx.last = jiffies;
}

/**
 * sdp_size_received() - stream bytes came
 * @conn: the connection, ep->lock held
 */
void sdp_size_received(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	conn->rx.last = jiffies;
	sdp_size_look(conn);
	/* What a peer sends before anybody accepts its connection gets no more room. */
	if (conn->rx.grow || ep->listener || !sdp_credit_wants_more(&conn->credit))
		return;
	conn->rx.grow = true;
	sdp_ep_kick(ep);
}

/**
 * sdp_size_lost() - the transport had no room for a receive buffer that goes back to it
 * @conn: the connection, ep->lock held
 */
void sdp_size_lost(struct sdp_conn *conn)
{
	conn->rx.lost++;
	sdp_ep_retry(conn->ep);
}

/**
 * sdp_size_quiet() - have no stream bytes come for so long that buffers may go?
 * @conn: the connection, ep->lock held
 */
bool sdp_size_quiet(const struct sdp_conn *conn)
{
	return sdp_quiet_since(conn->rx.last, READ_ONCE(sdp_idle_ms) / 2);
}

/**
 * sdp_size_watch() - look whether it is idle, at the earliest time that it can be
 * @conn: the connection, ep->lock held
 */
void sdp_size_watch(struct sdp_conn *conn)
{
	refcount_inc(&conn->ref);
	if (!queue_delayed_work(sdp_wq, &conn->idle,
				msecs_to_jiffies(READ_ONCE(sdp_idle_ms))))
		refcount_dec(&conn->ref);
}

/**
 * sdp_size_soon() - look again, as there was no memory for what is in the ring
 * @conn: the connection
 */
void sdp_size_soon(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	unsigned long when = jiffies + HZ / 10;

	sdp_ep_lock(ep);
	/* Not put off, however often that is asked for. */
	if (sdp_conn_open(conn) &&
	    (!delayed_work_pending(&conn->idle) ||
	     time_after(conn->idle.timer.expires, when)))
		sdp_conn_arm(conn, &conn->idle, HZ / 10);
	sdp_ep_unlock(ep);
}

/**
 * sdp_size_told() - the peer has told of buffers, and may have nothing else to say
 * @conn: the connection, ep->lock held
 */
void sdp_size_told(struct sdp_conn *conn)
{
	if (sdp_quiet_since(conn->tx.last, READ_ONCE(sdp_idle_ms)))
		sdp_credit_told(&conn->credit);
}

/**
 * sdp_size_sent() - stream bytes were sent
 * @conn: the connection, ep->lock held
 */
void sdp_size_sent(struct sdp_conn *conn)
{
	conn->tx.last = jiffies;
	sdp_credit_sent_data(&conn->credit);
	if (!delayed_work_pending(&conn->idle))
		sdp_size_watch(conn);
}

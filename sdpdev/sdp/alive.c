// SPDX-License-Identifier: GPL-2.0
/*
 * When to look at the peer: SO_KEEPALIVE with its times, and TCP_USER_TIMEOUT.  When bytes
 * that wait for more go in any case: TCP_CORK and MSG_MORE.  The look itself is in probe.c.
 *
 * A probe is a Data message without stream bytes, or, where there is no credit for one
 * (the peer's user reads nothing), what the transport has for it: no peer's user
 * notices either, and its transport acknowledges both, or ours tells that it does not.
 *
 * The options are the native socket's, which tells nobody when they change.  So
 * whenever user space has had a descriptor of it the options are looked at soon
 * afterwards, and now and then as long as it keeps one.
 */
#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* How long bytes are held back for more: as long as TCP's. */
#define SDP_TX_HOLD	(HZ / 5)

/**
 * sdp_alive_arm() - look at the peer in some time, and not before
 * @conn: the connection
 * @delay: jiffies
 */
void sdp_alive_arm(struct sdp_conn *conn, unsigned long delay)
{
	sdp_conn_arm(conn, &conn->alive, delay);
}

/**
 * sdp_alive_wanted() - is there anybody to look for?
 * @conn: the connection, ep->lock held
 */
bool sdp_alive_wanted(const struct sdp_conn *conn)
{
	return sdp_conn_open(conn) && !conn->ep->orphan;
}

/**
 * sdp_alive_begin() - messages flow
 * @conn: the connection, ep->lock held
 */
void sdp_alive_begin(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_opts opts;

	sdp_alive_heard(conn);
	sdp_opts_get(ep, &opts);
	if (opts.keepalive || opts.user_timeout)
		sdp_alive_arm(conn, 0);
}

/**
 * sdp_alive_look() - user space may change the options from now on
 * @conn: the connection
 */
void sdp_alive_look(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	sdp_ep_lock(ep);
	if (sdp_alive_wanted(conn))
		sdp_alive_arm(conn, SDP_ALIVE_LOOK);
	sdp_ep_unlock(ep);
}

/**
 * sdp_alive_sending() - stream bytes are about to be sent
 * @conn: the connection, ep->lock held
 */
void sdp_alive_sending(struct sdp_conn *conn)
{
	if (!conn->user_timeout)
		return;
	if (!conn->tx.unacked && sdp_segs_empty(&conn->tx.pending))
		conn->tx.moved = jiffies;
	if (sdp_alive_wanted(conn) && !delayed_work_pending(&conn->alive))
		sdp_alive_arm(conn, conn->user_timeout);
}

/**
 * sdp_alive_hold() - stream bytes are held back for more
 * @conn: the connection, ep->lock held
 */
void sdp_alive_hold(struct sdp_conn *conn)
{
	if (conn->tx.held)
		return;
	conn->tx.held = true;
	conn->tx.held_end = jiffies + SDP_TX_HOLD;
	if (sdp_alive_wanted(conn) &&
	    (!delayed_work_pending(&conn->alive) ||
	     time_after(conn->alive.timer.expires, conn->tx.held_end)))
		sdp_alive_arm(conn, SDP_TX_HOLD);
}

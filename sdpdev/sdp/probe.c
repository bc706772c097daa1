// SPDX-License-Identifier: GPL-2.0
/*
 * A look at a silent peer, and at bytes that wait, when a time of SO_KEEPALIVE,
 * TCP_USER_TIMEOUT, TCP_CORK or MSG_MORE is over.
 */
#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* Jiffies until what is held back goes as it is. */
static unsigned long sdp_alive_held(struct sdp_conn *conn)
{
	if (conn->tx.held && !time_before(jiffies, conn->tx.held_end)) {
		conn->tx.more = false;
		conn->tx.nagle = false;
		conn->tx.held = false;
		sdp_tx_push(conn);
	}
	return conn->tx.held ? conn->tx.held_end - jiffies : MAX_JIFFY_OFFSET;
}

/* Jiffies until the bytes under way are too old; zero: they are. */
static unsigned long sdp_alive_sent(struct sdp_conn *conn)
{
	unsigned long waited = jiffies - conn->tx.moved;

	if (!conn->user_timeout || !sdp_tx_queued(conn))
		return MAX_JIFFY_OFFSET;
	return conn->user_timeout - min(waited, conn->user_timeout);
}

/* Jiffies until the next probe or the end; zero: it has come. */
static unsigned long sdp_alive_probe(struct sdp_conn *conn,
				     const struct sdp_opts *opts)
{
	unsigned long idle = opts->keepidle, quiet = jiffies - conn->heard;
	bool end;

	if (!opts->keepalive)
		return MAX_JIFFY_OFFSET;
	if (quiet < idle)
		return idle - quiet;
	if (conn->user_timeout)
		end = quiet >= conn->user_timeout && conn->probes;
	else
		end = conn->probes >= opts->keepcnt;
	if (end)
		return 0;
	sdp_tx_probe(conn);
	conn->probes++;
	return opts->keepintvl;
}

/**
 * sdp_alive_work() - look at the options, and at the peer
 * @work: of struct sdp_conn
 */
void sdp_alive_work(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(to_delayed_work(work), struct sdp_conn, alive);
	struct sdp_ep *ep = conn->ep;
	unsigned long next;
	struct sdp_opts opts;

	sdp_opts_get(ep, &opts);
	sdp_ep_lock(ep);
	if (!sdp_alive_wanted(conn))
		goto out;
	if (!conn->user_timeout)
		conn->tx.moved = jiffies;
	conn->user_timeout = opts.user_timeout;

	next = min(sdp_alive_sent(conn), sdp_alive_probe(conn, &opts));
	if (!next) {
		sdp_abort(conn, SDP_REASON_TRANSPORT, ETIMEDOUT);
		goto out;
	}
	next = min(next, sdp_alive_held(conn));
	if (sdp_native_shared(ep))
		next = min_t(unsigned long, next, SDP_ALIVE_LOOK);
	if (next != MAX_JIFFY_OFFSET && sdp_alive_wanted(conn))
		sdp_alive_arm(conn, next);
out:
	sdp_ep_unlock(ep);
	sdp_conn_put(conn);
}

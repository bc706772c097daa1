// SPDX-License-Identifier: GPL-2.0
/*
 * Idle connections give back buffers, and the pages of their rings.  The reverse is here,
 * too: a connection whose peer uses up its receive buffers gets more of them.
 */
#include "ring/ring.h"
#include "sdp/sdp.h"
#include "tcp/tcp.h"

/**
 * sdp_size_grow() - replace receive buffers that were lost, or add some
 * @conn: the connection
 * @more: add as many as there are
 *
 * Without memory, or without more of it for this user, all goes on with what
 * there is.  Those that were lost are tried for again.
 *
 * Context: the endpoint's work.
 */
void sdp_size_grow(struct sdp_conn *conn, bool more)
{
	struct sdp_ep *ep = conn->ep;
	u32 bufs, want;
	int err;

	sdp_ep_lock(ep);
	bufs = conn->credit.bufs + conn->rx.lost;
	want = min(more ? bufs * 2 : bufs, conn->credit.max);
	conn->rx.lost = 0;
	sdp_ep_unlock(ep);
	err = sdp_conn_recv_bufs(conn, want);

	sdp_ep_lock(ep);
	if (err == -ENOBUFS && conn->credit.bufs + conn->rx.lost < bufs) {
		conn->rx.lost = bufs - conn->credit.bufs;
		sdp_ep_retry(ep);
	}
	sdp_tx_push(conn);
	sdp_ep_unlock(ep);
}

/*
 * Takes the send buffers that are not needed off their list.  A ring that has pages may
 * be written to at any time, and is drained where nothing can be allocated.
 */
static void sdp_size_shrink_tx(struct sdp_conn *conn, struct list_head *bufs)
{
	u32 keep = conn->rings.tx.size && !conn->rings.tx.away;

	while (conn->tx.bufs > keep && !list_empty(&conn->tx.free)) {
		list_move(conn->tx.free.next, bufs);
		conn->tx.bufs--;
	}
}

/*
 * Gives back the memory of rings that nobody uses either way; tx.mutex held.  Whether it
 * has to be looked at again.
 */
static bool sdp_size_idle_rings(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	bool idle, again;

	sdp_ep_lock(ep);
	idle = sdp_conn_open(conn) && sdp_quiet_since(conn->tx.last, READ_ONCE(sdp_idle_ms)) &&
	       sdp_quiet_since(conn->rx.last, READ_ONCE(sdp_idle_ms));
	sdp_ep_unlock(ep);
	if (!idle)
		return conn->rings.tx.size && !conn->rings.tx.away;
	/* A reader copies from the pages. */
	if (!mutex_trylock(&conn->rx.mutex))
		return true;
	again = sdp_ring_mem_idle(&conn->rings);
	mutex_unlock(&conn->rx.mutex);
	return again;
}

/* What both halves have and the sending half does not need; tx.mutex held. */
static void sdp_size_shrink(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	bool again = sdp_size_idle_rings(conn);
	struct sdp_xprt_buf *buf, *next;
	LIST_HEAD(bufs);

	sdp_ep_lock(ep);
	if (!sdp_conn_open(conn)) {
		/* It ends, and with it goes all. */
	} else if (!sdp_quiet_since(conn->tx.last, READ_ONCE(sdp_idle_ms))) {
		sdp_size_watch(conn);
	} else {
		if (again)
			sdp_size_watch(conn);
		sdp_size_shrink_tx(conn, &bufs);
		conn->tx.max = conn->tx.limit;
		sdp_credit_idle(&conn->credit);
		sdp_tx_push(conn);
	}
	sdp_ep_unlock(ep);
	list_for_each_entry_safe(buf, next, &bufs, list)
		sdp_buf_free(conn, conn->xc, buf);
}

/**
 * sdp_size_idle() - the sending half, or both, may be idle by now
 * @work: of struct sdp_conn
 */
void sdp_size_idle(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(to_delayed_work(work), struct sdp_conn, idle);
	struct sdp_ep *ep = conn->ep;

	/* A writer, or who sets up rings, may be about to use the buffers. */
	if (mutex_trylock(&conn->tx.mutex)) {
		sdp_size_shrink(conn);
		mutex_unlock(&conn->tx.mutex);
		/* Who put bytes into the ring meanwhile found the mutex taken. */
		sdp_ring_tx_grow(conn);
	} else {
		sdp_ep_lock(ep);
		if (sdp_conn_open(conn))
			sdp_size_watch(conn);
		sdp_ep_unlock(ep);
		sdp_ring_look(conn);
	}
	sdp_conn_put(conn);
}

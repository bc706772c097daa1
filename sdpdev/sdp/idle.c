// SPDX-License-Identifier: GPL-2.0
/*
 * Idle connections: their buffers, and the pages of their rings, are given back; and the
 * reverse, more receive buffers for one whose peer uses up what there are.
 */
#include "ring/ring.h"
#include "sdp/sdp.h"
#include "tcp/tcp.h"

/**
 * sdp_size_grow() - replace receive buffers that were lost, or add some
 * @ep: the endpoint
 * @more: add as many as there are
 *
 * Without memory, or without more of it for this user, all goes on with what
 * there is.  Those that were lost are tried for again.
 *
 * Context: the endpoint's work.
 */
void sdp_size_grow(struct sdp_ep *ep, bool more)
{
	u32 bufs, want;
	int err;

	sdp_ep_lock(ep);
	bufs = ep->credit.bufs + ep->rx_lost;
	want = min(more ? bufs * 2 : bufs, ep->credit.max);
	ep->rx_lost = 0;
	sdp_ep_unlock(ep);
	err = sdp_conn_recv_bufs(ep, want);

	sdp_ep_lock(ep);
	if (err == -ENOBUFS && ep->credit.bufs + ep->rx_lost < bufs) {
		ep->rx_lost = bufs - ep->credit.bufs;
		sdp_ep_retry(ep);
	}
	sdp_tx_push(ep);
	sdp_ep_unlock(ep);
}

/*
 * Takes the send buffers that are not needed off their list.  A ring that has pages may
 * be written to at any time, and is drained where nothing can be allocated.
 */
static void sdp_size_shrink_tx(struct sdp_ep *ep, struct list_head *bufs)
{
	u32 keep = ep->tx_ring.size && !ep->tx_ring.away;

	while (ep->tx_bufs > keep && !list_empty(&ep->tx_free)) {
		list_move(ep->tx_free.next, bufs);
		ep->tx_bufs--;
	}
}

/*
 * Gives back the memory of rings that nobody uses either way; tx_mutex held.  Whether it
 * has to be looked at again.
 */
static bool sdp_size_idle_rings(struct sdp_ep *ep)
{
	bool idle;

	sdp_ep_lock(ep);
	idle = ep->live && sdp_quiet_since(ep->tx_last, READ_ONCE(sdp_idle_ms)) &&
	       sdp_quiet_since(ep->rx_last, READ_ONCE(sdp_idle_ms));
	sdp_ep_unlock(ep);
	return idle ? sdp_ring_mem_idle(ep) : ep->tx_ring.size && !ep->tx_ring.away;
}

/* What both halves have and the sending half does not need; tx_mutex held. */
static void sdp_size_shrink(struct sdp_ep *ep)
{
	bool again = sdp_size_idle_rings(ep);
	struct sdp_xprt_buf *buf, *next;
	LIST_HEAD(bufs);

	sdp_ep_lock(ep);
	if (!ep->live || ep->kill || ep->ending) {
		/* It ends, and with it goes all. */
	} else if (!sdp_quiet_since(ep->tx_last, READ_ONCE(sdp_idle_ms))) {
		sdp_size_watch(ep);
	} else {
		if (again)
			sdp_size_watch(ep);
		sdp_size_shrink_tx(ep, &bufs);
		ep->tx_max = ep->tx_limit;
		sdp_credit_idle(&ep->credit);
		sdp_tx_push(ep);
	}
	sdp_ep_unlock(ep);
	list_for_each_entry_safe(buf, next, &bufs, list)
		sdp_buf_free(ep, ep->conn, buf);
}

/**
 * sdp_size_idle() - the sending half, or both, may be idle by now
 * @work: of struct sdp_ep
 */
void sdp_size_idle(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(to_delayed_work(work), struct sdp_ep,
					 idle);

	/* A writer, or who sets up rings, may be about to use the buffers. */
	if (mutex_trylock(&ep->tx_mutex)) {
		sdp_size_shrink(ep);
		mutex_unlock(&ep->tx_mutex);
		/* Who put bytes into the ring meanwhile found the mutex taken. */
		sdp_ring_tx_grow(ep);
	} else {
		sdp_ep_lock(ep);
		if (ep->live)
			sdp_size_watch(ep);
		sdp_ep_unlock(ep);
		sdp_ring_look(ep);
	}
	sdp_ep_put(ep);
}

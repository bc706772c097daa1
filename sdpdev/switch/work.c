// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoint's work: what has to be done in process context, in its order, and what
 * time brings.
 */
#include "sdp/sdp.h"
#include "tcp/tcp.h"
#include "switch/switch.h"

/* struct sdp_ep_ops.retry */
static void sdp_ep_try_again(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(to_delayed_work(work), struct sdp_ep, retry);
	bool orphan;

	sdp_ep_lock(ep);
	if (ep->connecting_failed || ep->rx_lost)
		sdp_ep_kick(ep);
	orphan = ep->orphan;
	sdp_ep_unlock(ep);
	if (orphan)
		sdp_close_port(ep);
	sdp_ep_put(ep);
}

/* struct sdp_ep_ops.timeout */
static void sdp_ep_timeout(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(to_delayed_work(work), struct sdp_ep,
					 timer);

	sdp_ep_lock(ep);
	if (ep->conn && !ep->kill) {
		if (ep->ending)
			sdp_conn_ended(ep, ep->reason, ep->err);
		else if (ep->abort_due)
			sdp_abort(ep, SDP_REASON_LOCAL_ABORT, ECONNRESET);
		else
			sdp_abort(ep, SDP_REASON_TRANSPORT, ETIMEDOUT);
	}
	sdp_ep_unlock(ep);
	sdp_ep_put(ep);
}

/* After this nothing is sent or received; what was received can be read. */
static void sdp_conn_destroy(struct sdp_ep *ep)
{
	LIST_HEAD(bufs);

	/* First, as the rest may take some time. */
	sdp_port_drop(ep);
	mutex_lock(&ep->tx_mutex);
	sdp_ep_lock(ep);
	ep->live = false;
	ep->device = ep->conn->device;
	list_splice_init(&ep->tx_free, &bufs);
	list_splice_init(&ep->tx_pending, &bufs);
	list_splice_init(&ep->tx_ctl, &bufs);
	list_splice_init(&ep->rx_early, &bufs);
	sdp_ep_unlock(ep);
	sdp_bufs_free(ep, ep->conn, &bufs);
	mutex_unlock(&ep->tx_mutex);

	ep->xprt->conn_destroy(ep->conn);

	sdp_ep_lock(ep);
	ep->destroyed = true;
	sdp_ep_unlock(ep);
}

/* Forgets a destroyed connection and what it received. */
static void sdp_conn_free(struct sdp_ep *ep)
{
	const struct sdp_xprt_ops *xprt = NULL;
	struct sdp_xprt_conn *conn;
	LIST_HEAD(bufs);

	mutex_lock(&ep->rx_mutex);
	sdp_ep_lock(ep);
	if (ep->conn && ep->destroyed) {
		xprt = ep->xprt;
		conn = ep->conn;
		ep->conn = NULL;
		list_splice_init(&ep->rx_queue, &bufs);
		ep->rx_queued = 0;
	}
	sdp_ep_unlock(ep);
	mutex_unlock(&ep->rx_mutex);
	if (!xprt)
		return;

	sdp_bufs_free(ep, conn, &bufs);
	sdp_uncharge(&ep->account, SDP_LIMIT_CONNS, 1);
	sdp_size_stop(ep);
	if (cancel_delayed_work(&ep->timer))
		sdp_ep_put(ep);
	/* These may be hours ahead. */
	if (cancel_delayed_work(&ep->alive))
		sdp_ep_put(ep);
	if (cancel_delayed_work(&ep->offer))
		sdp_ep_put(ep);
	sdp_xprt_put();
	sdp_ep_put(ep);
}

/* struct sdp_ep_ops.work */
static void sdp_ep_work(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(work, struct sdp_ep, work);
	bool accept, grow, lost, kill, free, settle;

	sdp_ep_lock(ep);
	accept = ep->accepting && !ep->kill;
	ep->accepting = false;
	grow = ep->rx_grow && !ep->kill;
	ep->rx_grow = false;
	lost = ep->rx_lost && !ep->kill;
	if (ep->ring_bad)
		sdp_tx_push(ep);
	sdp_ep_unlock(ep);
	if (accept)
		sdp_incoming_accept(ep);
	if (grow || lost)
		sdp_size_grow(ep, grow);

	sdp_ep_lock(ep);
	kill = ep->kill && ep->conn && !ep->destroyed;
	settle = ep->connecting_failed || (ep->parting && (!ep->conn || ep->kill));
	sdp_ep_unlock(ep);
	if (kill) {
		sdp_incoming_forget(ep);
		sdp_conn_destroy(ep);
	}

	sdp_ep_lock(ep);
	free = ep->destroyed && (ep->orphan || ep->purge || settle);
	sdp_ep_unlock(ep);
	if (free)
		sdp_conn_free(ep);
	if (settle)
		sdp_connect_settle(ep);
	sdp_ep_put(ep);
}

const struct sdp_ep_ops sdp_ep_ops = {
	.release = sdp_ep_release,
	.work	 = sdp_ep_work,
	.retry	 = sdp_ep_try_again,
	.timeout = sdp_ep_timeout,
	.alive	 = sdp_alive_work,
	.idle	 = sdp_size_idle,
	.offer	 = sdp_incoming_time,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * The transport's connection of an endpoint: its buffers, its end, and the
 * work that needs process context.
 */
#include "sdpdev.h"

/**
 * sdp_conn_init() - give an endpoint a connection
 * @ep: an endpoint without one, ep->lock held, which has been charged for it
 * @xprt: the transport, whose reference passes to the endpoint
 * @conn: the connection; its ctx is set here
 */
void sdp_conn_init(struct sdp_ep *ep, const struct sdp_xprt_ops *xprt,
		   struct sdp_xprt_conn *conn)
{
	sdp_ep_get(ep);
	ep->xprt = xprt;
	ep->conn = conn;
	conn->ctx = ep;

	ep->live = false;
	ep->device = NULL;
	ep->ending = false;
	ep->abort_due = false;
	ep->abort_sent = false;
	ep->kill = false;
	ep->purge = false;
	ep->destroyed = false;
	sdp_size_init(ep);
	ep->rx_queued = 0;
	ep->rx_mode = SDP_MODE_COMBINED;
	ep->rx_advert = false;
	ep->tx_used = 0;
	ep->tx_posted = 0;
	ep->tx_unacked = 0;
	ep->tx_size = 0;
	ep->tx_owned = false;
	ep->tx_more = false;
	ep->tx_final = false;
	ep->tx_corked = false;
	ep->tx_held = false;
	ep->tx_nagle = false;
	ep->tx_small = 0;
	ep->tx_oob = 0;
	ep->tx_mode = SDP_MODE_COMBINED;
	ep->send_sm = 0;
	ep->cancel_acks = 0;
	ep->rcv_buf_acks = 0;
	memset(&ep->urg, 0, sizeof(ep->urg));
}

static int sdp_conn_post(struct sdp_ep *ep, struct sdp_xprt_buf *buf)
{
	int err;

	if (ep->kill || ep->ending)
		return -ECANCELED;
	err = ep->xprt->post_recv(ep->conn, buf);
	if (err)
		return err;
	ep->credit.bufs++;
	sdp_credit_posted(&ep->credit, true);
	return 0;
}

/**
 * sdp_conn_recv_bufs() - post more receive buffers
 * @ep: the endpoint
 * @want: how many there shall be
 *
 * Context: where the connection is not destroyed at the same time.
 * Return: zero or a negative errno: there are fewer then.
 */
int sdp_conn_recv_bufs(struct sdp_ep *ep, u32 want)
{
	struct sdp_xprt_buf *buf;
	int err = 0;

	while (!err && READ_ONCE(ep->credit.bufs) < want) {
		buf = sdp_buf_alloc(ep, ep->rx_size, true);
		if (!buf)
			return -ENOBUFS;
		spin_lock_bh(&ep->lock);
		err = sdp_conn_post(ep, buf);
		spin_unlock_bh(&ep->lock);
		if (err)
			sdp_buf_free(ep, ep->conn, buf);
	}
	return err;
}

/* The buffers for messages without stream bytes. */
static int sdp_conn_ctl_bufs(struct sdp_ep *ep)
{
	struct sdp_xprt_buf *buf;
	bool kill = false;
	int i;

	for (i = 0; i < SDP_CTL_BUFS && !kill; i++) {
		buf = sdp_buf_alloc(ep, SDP_CTL_SIZE, false);
		if (!buf)
			return -ENOBUFS;
		buf->off = SDP_BUF_CTL;
		spin_lock_bh(&ep->lock);
		kill = ep->kill;
		if (!kill)
			list_add(&buf->list, &ep->tx_ctl);
		spin_unlock_bh(&ep->lock);
		if (kill)
			sdp_buf_free(ep, ep->conn, buf);
	}
	return kill ? -ECANCELED : 0;
}

/**
 * sdp_conn_bufs() - allocate and post what a new connection needs
 * @ep: the endpoint, of whose connection the device is known by now
 *
 * Return: zero or a negative errno; what there is by then is freed when the
 * connection is destroyed.
 */
int sdp_conn_bufs(struct sdp_ep *ep)
{
	return sdp_conn_ctl_bufs(ep) ? : sdp_conn_recv_bufs(ep, ep->credit.min);
}

/**
 * sdp_conn_kick() - have the endpoint's work done
 * @ep: the endpoint
 *
 * Context: any.
 */
void sdp_conn_kick(struct sdp_ep *ep)
{
	sdp_ep_get(ep);
	/* Pending already: it has its own reference, so this is not the last. */
	if (!queue_work(sdp_wq, &ep->work))
		refcount_dec(&ep->ref);
}

/**
 * sdp_conn_timer() - end the connection if it has not ended by then
 * @ep: the endpoint
 * @ms: milliseconds from now
 *
 * Context: any.
 */
void sdp_conn_timer(struct sdp_ep *ep, unsigned int ms)
{
	sdp_ep_get(ep);
	if (mod_delayed_work(sdp_wq, &ep->timer, msecs_to_jiffies(ms)))
		refcount_dec(&ep->ref);
}

/**
 * sdp_conn_retry() - try again soon
 * @ep: the endpoint, for which the native socket's lock, or room for a receive buffer, was
 *	not to be had
 *
 * Context: any.
 */
void sdp_conn_retry(struct sdp_ep *ep)
{
	sdp_ep_get(ep);
	if (mod_delayed_work(sdp_wq, &ep->retry, msecs_to_jiffies(SDP_NATIVE_RETRY_MS)))
		refcount_dec(&ep->ref);
}

/**
 * sdp_conn_try_again() - the work of that
 * @work: of struct sdp_ep
 */
void sdp_conn_try_again(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(to_delayed_work(work), struct sdp_ep, retry);
	bool orphan;

	spin_lock_bh(&ep->lock);
	if (ep->connecting_failed || ep->rx_lost)
		sdp_conn_kick(ep);
	orphan = ep->orphan;
	spin_unlock_bh(&ep->lock);
	if (orphan)
		sdp_close_port(ep);
	sdp_ep_put(ep);
}

/**
 * sdp_conn_timeout() - the timer's work
 * @work: of struct sdp_ep
 */
void sdp_conn_timeout(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(to_delayed_work(work), struct sdp_ep,
					 timer);

	spin_lock_bh(&ep->lock);
	if (ep->conn && !ep->kill) {
		if (ep->ending)
			sdp_conn_ended(ep, ep->reason, ep->err);
		else if (ep->abort_due)
			sdp_abort(ep, SDP_REASON_LOCAL_ABORT, ECONNRESET);
		else
			sdp_abort(ep, SDP_REASON_TRANSPORT, ETIMEDOUT);
	}
	spin_unlock_bh(&ep->lock);
	sdp_ep_put(ep);
}

static void sdp_bufs_free(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
			  struct list_head *bufs)
{
	struct sdp_xprt_buf *buf, *next;

	list_for_each_entry_safe(buf, next, bufs, list)
		sdp_buf_free(ep, conn, buf);
}

/* After this nothing is sent or received; what was received can be read. */
static void sdp_conn_destroy(struct sdp_ep *ep)
{
	LIST_HEAD(bufs);

	/* First, as the rest may take some time. */
	sdp_port_drop(ep);
	mutex_lock(&ep->tx_mutex);
	spin_lock_bh(&ep->lock);
	ep->live = false;
	ep->device = ep->conn->device;
	list_splice_init(&ep->tx_free, &bufs);
	list_splice_init(&ep->tx_pending, &bufs);
	list_splice_init(&ep->tx_ctl, &bufs);
	list_splice_init(&ep->rx_early, &bufs);
	spin_unlock_bh(&ep->lock);
	sdp_bufs_free(ep, ep->conn, &bufs);
	mutex_unlock(&ep->tx_mutex);

	ep->xprt->conn_destroy(ep->conn);

	spin_lock_bh(&ep->lock);
	ep->destroyed = true;
	spin_unlock_bh(&ep->lock);
}

/* Forgets a destroyed connection and what it received. */
static void sdp_conn_free(struct sdp_ep *ep)
{
	const struct sdp_xprt_ops *xprt = NULL;
	struct sdp_xprt_conn *conn;
	LIST_HEAD(bufs);

	mutex_lock(&ep->rx_mutex);
	spin_lock_bh(&ep->lock);
	if (ep->conn && ep->destroyed) {
		xprt = ep->xprt;
		conn = ep->conn;
		ep->conn = NULL;
		list_splice_init(&ep->rx_queue, &bufs);
		ep->rx_queued = 0;
	}
	spin_unlock_bh(&ep->lock);
	mutex_unlock(&ep->rx_mutex);
	if (!xprt)
		return;

	sdp_bufs_free(ep, conn, &bufs);
	sdp_uncharge(ep, SDP_LIMIT_CONNS, 1);
	sdp_size_stop(ep);
	if (cancel_delayed_work(&ep->timer))
		sdp_ep_put(ep);
	/* It may be hours ahead. */
	if (cancel_delayed_work(&ep->alive))
		sdp_ep_put(ep);
	sdp_xprt_put();
	sdp_ep_put(ep);
}

/**
 * sdp_conn_work() - what has to be done in process context
 * @work: of struct sdp_ep
 */
void sdp_conn_work(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(work, struct sdp_ep, work);
	bool accept, grow, lost, kill, free, settle;

	spin_lock_bh(&ep->lock);
	accept = ep->accepting && !ep->kill;
	ep->accepting = false;
	grow = ep->rx_grow && !ep->kill;
	lost = ep->rx_lost && !ep->kill;
	ep->rx_grow = false;
	spin_unlock_bh(&ep->lock);
	if (accept)
		sdp_incoming_accept(ep);
	if (grow || lost)
		sdp_size_grow(ep, grow);

	spin_lock_bh(&ep->lock);
	kill = ep->kill && ep->conn && !ep->destroyed;
	settle = ep->connecting_failed || (ep->parting && (!ep->conn || ep->kill));
	spin_unlock_bh(&ep->lock);
	if (kill) {
		sdp_incoming_forget(ep);
		sdp_conn_destroy(ep);
	}

	spin_lock_bh(&ep->lock);
	free = ep->destroyed && (ep->orphan || ep->purge || settle);
	spin_unlock_bh(&ep->lock);
	if (free)
		sdp_conn_free(ep);
	if (settle)
		sdp_connect_settle(ep);
	sdp_ep_put(ep);
}

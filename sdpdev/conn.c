// SPDX-License-Identifier: GPL-2.0
/*
 * The transport's connection of an endpoint: its buffers, its end, and the
 * work that needs process context.
 */
#include "sdpdev.h"

/**
 * sdp_conn_init() - give an endpoint a connection
 * @ep: an endpoint without one, ep->lock held
 * @xprt: the transport, whose reference passes to the endpoint
 * @conn: the connection; its ctx is set here
 */
void sdp_conn_init(struct sdp_ep *ep, const struct sdp_xprt_ops *xprt,
		   struct sdp_xprt_conn *conn)
{
	u32 bufs = READ_ONCE(sdp_recv_bufs);
	struct sdp_opts opts;

	sdp_opts_get(ep, &opts);
	sdp_ep_get(ep);
	ep->xprt = xprt;
	ep->conn = conn;
	conn->ctx = ep;

	ep->live = false;
	ep->ending = false;
	ep->abort_sent = false;
	ep->kill = false;
	ep->purge = false;
	ep->destroyed = false;
	ep->rx_size = READ_ONCE(sdp_recv_size);
	ep->tx_max = READ_ONCE(sdp_send_bufs);
	if (opts.rcvbuf)
		bufs = clamp_t(u32, opts.rcvbuf / ep->rx_size,
			       SDP_KEPT_CREDITS + 2, bufs);
	if (opts.sndbuf)
		ep->tx_max = clamp_t(u32, opts.sndbuf / ep->rx_size,
				     2, ep->tx_max);
	ep->rx_bufs = bufs;
	ep->rx_posted = 0;
	ep->rx_queued = 0;
	ep->rx_mseq = 0;
	ep->adv_bufs = bufs;
	ep->adv_mseq = 0;
	ep->rx_mode = SDP_MODE_COMBINED;
	ep->rx_advert = false;
	ep->tx_bufs = 0;
	ep->tx_used = 0;
	ep->tx_posted = 0;
	ep->tx_unacked = 0;
	ep->tx_size = 0;
	ep->tx_owned = false;
	ep->tx_more = false;
	ep->tx_mseq = 0;
	ep->tx_acked = 0;
	ep->tx_bufs_told = 0;
	ep->tx_mode = SDP_MODE_COMBINED;
	ep->send_sm = 0;
	ep->cancel_acks = 0;
	ep->rcv_buf_acks = 0;
}

/**
 * sdp_conn_bufs() - allocate and post what a new connection needs
 * @ep: the endpoint
 * @conn: its connection, of which the device is known by now
 *
 * Return: zero or a negative errno; what was posted comes back when the
 * connection is destroyed.
 */
int sdp_conn_bufs(struct sdp_ep *ep, struct sdp_xprt_conn *conn)
{
	const struct sdp_xprt_ops *xprt = conn->ops;
	struct sdp_xprt_buf *buf;
	int err = 0;
	u32 i;

	if (ep->rx_size > conn->max_sge_bytes)
		return -EMSGSIZE;

	for (i = 0; i < ep->rx_bufs + SDP_CTL_BUFS && !err; i++) {
		bool ctl = i >= ep->rx_bufs;

		buf = xprt->buf_alloc(conn, ctl ? SDP_CTL_SIZE : ep->rx_size,
				      !ctl);
		if (!buf)
			return -ENOMEM;
		buf->off = SDP_BUF_CTL;
		spin_lock_bh(&ep->lock);
		if (ep->kill) {
			err = -ECANCELED;
		} else if (ctl) {
			list_add(&buf->list, &ep->tx_ctl);
		} else {
			err = xprt->post_recv(conn, buf);
			if (!err)
				ep->rx_posted++;
		}
		spin_unlock_bh(&ep->lock);
		if (err)
			xprt->buf_free(conn, buf);
	}
	return err;
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
		else
			sdp_abort(ep, SDP_REASON_TRANSPORT, ETIMEDOUT);
	}
	spin_unlock_bh(&ep->lock);
	sdp_ep_put(ep);
}

static void sdp_bufs_free(const struct sdp_xprt_ops *xprt,
			  struct sdp_xprt_conn *conn, struct list_head *bufs)
{
	struct sdp_xprt_buf *buf, *next;

	list_for_each_entry_safe(buf, next, bufs, list)
		xprt->buf_free(conn, buf);
}

/* After this nothing is sent or received; what was received can be read. */
static void sdp_conn_destroy(struct sdp_ep *ep)
{
	LIST_HEAD(bufs);

	mutex_lock(&ep->tx_mutex);
	spin_lock_bh(&ep->lock);
	ep->live = false;
	list_splice_init(&ep->tx_free, &bufs);
	list_splice_init(&ep->tx_pending, &bufs);
	list_splice_init(&ep->tx_ctl, &bufs);
	spin_unlock_bh(&ep->lock);
	sdp_bufs_free(ep->xprt, ep->conn, &bufs);
	mutex_unlock(&ep->tx_mutex);

	ep->xprt->conn_destroy(ep->conn);

	spin_lock_bh(&ep->lock);
	ep->destroyed = true;
	spin_unlock_bh(&ep->lock);
}

/**
 * sdp_conn_free() - forget a destroyed connection and what it received
 * @ep: the endpoint; without such a connection nothing happens
 *
 * Context: process context, the caller holds a reference of its own.
 */
void sdp_conn_free(struct sdp_ep *ep)
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

	sdp_bufs_free(xprt, conn, &bufs);
	if (cancel_delayed_work(&ep->timer))
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
	bool accept, kill, free, settle;

	spin_lock_bh(&ep->lock);
	accept = ep->accepting && !ep->kill;
	ep->accepting = false;
	spin_unlock_bh(&ep->lock);
	if (accept)
		sdp_incoming_accept(ep);

	spin_lock_bh(&ep->lock);
	kill = ep->kill && ep->conn && !ep->destroyed;
	settle = ep->connecting_failed;
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

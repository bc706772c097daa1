// SPDX-License-Identifier: GPL-2.0
/*
 * The transport's connection of an endpoint: its buffers, its end, and the
 * work that needs process context.
 */
#include "sdp/sdp.h"

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

/* What a buffer takes, as far as it is its size that decides. */
static long sdp_buf_cost(u32 size)
{
	return kmalloc_size_roundup(size);
}

/**
 * sdp_buf_alloc() - a message buffer that the endpoint's user pays for
 * @ep: the endpoint, which has a connection
 * @size: bytes
 * @recv: to receive, else to send
 *
 * Context: process context, whose ever.
 * Return: the buffer, or NULL: no memory, or the user has had enough.
 */
struct sdp_xprt_buf *sdp_buf_alloc(struct sdp_ep *ep, u32 size, bool recv)
{
	struct sdp_xprt_buf *buf;
	struct mem_cgroup *old;

	if (sdp_charge(&ep->account, SDP_LIMIT_MEMORY, sdp_buf_cost(size)))
		return NULL;
	old = set_active_memcg(ep->account.memcg);
	buf = ep->xprt->buf_alloc(ep->conn, size, recv);
	set_active_memcg(old);
	if (!buf)
		sdp_uncharge(&ep->account, SDP_LIMIT_MEMORY, sdp_buf_cost(size));
	return buf;
}

/**
 * sdp_buf_free() - free it
 * @ep: the endpoint
 * @conn: its connection
 * @buf: the buffer
 *
 * Context: any.
 */
void sdp_buf_free(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		  struct sdp_xprt_buf *buf)
{
	sdp_uncharge(&ep->account, SDP_LIMIT_MEMORY, sdp_buf_cost(buf->size));
	conn->ops->buf_free(conn, buf);
}

/**
 * sdp_bufs_free() - free a list of buffers
 * @ep: the endpoint
 * @conn: its connection
 * @bufs: the list
 */
void sdp_bufs_free(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
			  struct list_head *bufs)
{
	struct sdp_xprt_buf *buf, *next;

	list_for_each_entry_safe(buf, next, bufs, list)
		sdp_buf_free(ep, conn, buf);
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
		sdp_ep_lock(ep);
		err = sdp_conn_post(ep, buf);
		sdp_ep_unlock(ep);
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
		sdp_ep_lock(ep);
		kill = ep->kill;
		if (!kill)
			list_add(&buf->list, &ep->tx_ctl);
		sdp_ep_unlock(ep);
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

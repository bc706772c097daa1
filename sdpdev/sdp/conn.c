// SPDX-License-Identifier: GPL-2.0
/*
 * A connection: how it is made, its buffers, and how it is taken apart.
 */
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "sdp/sdp.h"

/**
 * sdp_conn_create() - make a connection
 * @ep: the endpoint, which has been charged for it
 * @xprt: the transport, whose reference passes to the connection with sdp_conn_attach()
 *
 * Return: the connection with one reference, or NULL.
 */
struct sdp_conn *sdp_conn_create(struct sdp_ep *ep, const struct sdp_xprt_ops *xprt)
{
	struct mem_cgroup *old = set_active_memcg(ep->account.memcg);
	struct sdp_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);

	set_active_memcg(old);
	if (!conn)
		return NULL;
	refcount_set(&conn->ref, 1);
	sdp_ep_get(ep);
	conn->ep = ep;
	conn->xprt = xprt;
	conn->rings.ep = ep;
	INIT_DELAYED_WORK(&conn->timer, ep->ops->timeout);
	INIT_DELAYED_WORK(&conn->alive, ep->ops->alive);
	INIT_DELAYED_WORK(&conn->idle, ep->ops->idle);
	mutex_init(&conn->tx.mutex);
	INIT_LIST_HEAD(&conn->tx.free);
	sdp_segs_init(&conn->tx.pending);
	INIT_LIST_HEAD(&conn->tx.ctl);
	conn->tx.mode = SDP_MODE_COMBINED;
	mutex_init(&conn->rx.mutex);
	INIT_LIST_HEAD(&conn->rx.early);
	sdp_segs_init(&conn->rx.queue);
	conn->rx.mode = SDP_MODE_COMBINED;
	return conn;
}

/**
 * sdp_conn_attach() - give an endpoint its connection
 * @conn: the connection, after sdp_size_init(); its reference passes to the endpoint;
 *	ep->lock held
 * @xc: the transport's, which from now on has a reference of its own; its ctx is set here
 */
void sdp_conn_attach(struct sdp_conn *conn, struct sdp_xprt_conn *xc)
{
	SDP_ASSERT(!conn->ep->conn);
	refcount_inc(&conn->ref);
	xc->ctx = conn;
	conn->xc = xc;
	/* It is complete: pairs with the load in sdp_conn_get(). */
	smp_store_release(&conn->ep->conn, conn);
}

/**
 * sdp_conn_release() - the last reference is gone
 * @conn: the connection
 *
 * Context: process context, no spinlock held.
 */
void sdp_conn_release(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	sdp_ring_mem_detach(&conn->rings);
	kfree_rcu(conn, rcu);
	sdp_ep_put(ep);
}

/**
 * sdp_conn_arm() - have a work of the connection's done
 * @conn: the connection
 * @work: one of its works, which drops a reference in the end
 * @delay: jiffies
 *
 * Context: any.
 */
void sdp_conn_arm(struct sdp_conn *conn, struct delayed_work *work, unsigned long delay)
{
	refcount_inc(&conn->ref);
	/* Pending already: it has its own reference, so this is not the last. */
	if (mod_delayed_work(sdp_wq, work, delay))
		refcount_dec(&conn->ref);
}

/* Takes a work back; the caller has a reference of its own. */
static void sdp_conn_disarm(struct sdp_conn *conn, struct delayed_work *work)
{
	if (cancel_delayed_work(work))
		sdp_conn_put(conn);
}

/* What a buffer takes, as far as it is its size that decides: seldom less than this. */
static long sdp_buf_cost(u32 size)
{
	return roundup_pow_of_two(size);
}

/**
 * sdp_buf_alloc() - a message buffer that the endpoint's user pays for
 * @conn: the connection
 * @size: bytes
 * @recv: to receive, else to send
 *
 * Context: process context, whose ever.
 * Return: the buffer, or NULL: no memory, or the user has had enough.
 */
struct sdp_xprt_buf *sdp_buf_alloc(struct sdp_conn *conn, u32 size, bool recv)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_buf *buf;
	struct mem_cgroup *old;

	if (sdp_charge(&ep->account, SDP_LIMIT_MEMORY, sdp_buf_cost(size)))
		return NULL;
	old = set_active_memcg(ep->account.memcg);
	buf = conn->xprt->buf_alloc(conn->xc, size, recv);
	set_active_memcg(old);
	if (!buf)
		sdp_uncharge(&ep->account, SDP_LIMIT_MEMORY, sdp_buf_cost(size));
	return buf;
}

/**
 * sdp_buf_free() - free it
 * @conn: the connection
 * @xc: the transport's
 * @buf: the buffer
 *
 * Context: any.
 */
void sdp_buf_free(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
		  struct sdp_xprt_buf *buf)
{
	struct sdp_ep *ep = conn->ep;

	sdp_uncharge(&ep->account, SDP_LIMIT_MEMORY, sdp_buf_cost(buf->size));
	xc->ops->buf_free(xc, buf);
}

static void sdp_bufs_free(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
			  struct list_head *bufs)
{
	struct sdp_xprt_buf *buf, *next;

	list_for_each_entry_safe(buf, next, bufs, list)
		sdp_buf_free(conn, xc, buf);
}

static int sdp_conn_post(struct sdp_conn *conn, struct sdp_xprt_buf *buf)
{
	int err;

	if (sdp_conn_over(conn))
		return -ECANCELED;
	err = conn->xprt->post_recv(conn->xc, buf);
	if (err)
		return err;
	conn->credit.bufs++;
	sdp_credit_posted(&conn->credit, true);
	return 0;
}

/**
 * sdp_conn_recv_bufs() - post more receive buffers
 * @conn: the connection
 * @want: how many there shall be
 *
 * Context: where the connection is not destroyed at the same time.
 * Return: zero or a negative errno: there are fewer then.
 */
int sdp_conn_recv_bufs(struct sdp_conn *conn, u32 want)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_buf *buf;
	int err = 0;

	while (!err && READ_ONCE(conn->credit.bufs) < want) {
		buf = sdp_buf_alloc(conn, conn->rx.size, true);
		if (!buf)
			return -ENOBUFS;
		sdp_ep_lock(ep);
		err = sdp_conn_post(conn, buf);
		sdp_ep_unlock(ep);
		if (err)
			sdp_buf_free(conn, conn->xc, buf);
	}
	return err;
}

/* The buffers for messages without stream bytes. */
static int sdp_conn_ctl_bufs(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_buf *buf;
	bool kill = false;
	int i;

	for (i = 0; i < SDP_CTL_BUFS && !kill; i++) {
		buf = sdp_buf_alloc(conn, SDP_CTL_SIZE, false);
		if (!buf)
			return -ENOBUFS;
		buf->kind = SDP_BUF_CTL;
		sdp_ep_lock(ep);
		kill = sdp_conn_dead(conn);
		if (!kill)
			list_add(&buf->list, &conn->tx.ctl);
		sdp_ep_unlock(ep);
		if (kill)
			sdp_buf_free(conn, conn->xc, buf);
	}
	return kill ? -ECANCELED : 0;
}

/**
 * sdp_conn_bufs() - allocate and post what a new connection needs
 * @conn: the connection, of which the device is known by now
 *
 * Return: zero or a negative errno; what there is by then is freed when the
 * connection is destroyed.
 */
int sdp_conn_bufs(struct sdp_conn *conn)
{
	return sdp_conn_ctl_bufs(conn) ? : sdp_conn_recv_bufs(conn, conn->credit.min);
}

/**
 * sdp_conn_timer() - end the connection if it has not ended by then
 * @conn: the connection
 * @ms: milliseconds from now
 *
 * Context: any.
 */
void sdp_conn_timer(struct sdp_conn *conn, unsigned int ms)
{
	sdp_conn_arm(conn, &conn->timer, msecs_to_jiffies(ms));
}

/**
 * sdp_conn_destroy() - end the transport's part
 * @conn: a connection that has ended
 *
 * After this nothing is sent or received; what was received can be read.
 *
 * Context: the endpoint's work.
 */
void sdp_conn_destroy(struct sdp_conn *conn)
{
	LIST_HEAD(bufs);

	mutex_lock(&conn->tx.mutex);
	sdp_ep_lock(conn->ep);
	conn->dev = conn->xc->dev;
	list_splice_init(&conn->tx.free, &bufs);
	sdp_segs_cut(&conn->tx.pending, &bufs);
	list_splice_init(&conn->tx.ctl, &bufs);
	list_splice_init(&conn->rx.early, &bufs);
	sdp_ep_unlock(conn->ep);
	sdp_bufs_free(conn, conn->xc, &bufs);
	mutex_unlock(&conn->tx.mutex);

	conn->xprt->conn_destroy(conn->xc);

	sdp_ep_lock(conn->ep);
	sdp_phase_set(conn, SDP_PHASE_HUSK);
	sdp_ep_unlock(conn->ep);
}

/**
 * sdp_conn_free() - free what a destroyed connection has received, and the transport's part
 * @conn: the connection
 *
 * Context: the endpoint's work.
 */
void sdp_conn_free(struct sdp_conn *conn)
{
	struct sdp_xprt_conn *xc;
	LIST_HEAD(bufs);

	mutex_lock(&conn->rx.mutex);
	sdp_ep_lock(conn->ep);
	xc = conn->xc;
	conn->xc = NULL;
	sdp_segs_skip(&conn->rx.queue, &bufs);
	sdp_ep_unlock(conn->ep);
	mutex_unlock(&conn->rx.mutex);
	if (!xc)
		return;

	sdp_bufs_free(conn, xc, &bufs);
	sdp_uncharge(&conn->ep->account, SDP_LIMIT_CONNS, 1);
	/* These may be hours ahead. */
	sdp_conn_disarm(conn, &conn->timer);
	sdp_conn_disarm(conn, &conn->alive);
	sdp_conn_disarm(conn, &conn->idle);
	sdp_xprt_put(conn->xprt);
	/* The transport's. */
	sdp_conn_put(conn);
}

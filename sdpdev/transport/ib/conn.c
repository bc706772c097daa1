// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a connection, and the one place that orders its events.
 */
#include <linux/slab.h>

#include "transport/ib/ib.h"

/* Connections that have a device. */
static LIST_HEAD(sdp_ib_conns);
static DEFINE_SPINLOCK(sdp_ib_conns_lock);

static void sdp_ib_conn_release(struct kref *ref)
{
	struct sdp_ib_conn *conn = container_of(ref, struct sdp_ib_conn, ref);

	if (conn->dev)
		sdp_ib_dev_put(conn->dev);
	put_net(conn->net);
	mutex_destroy(&conn->mutex);
	kfree(conn);
}

/**
 * sdp_ib_conn_put() - drop a reference
 * @conn: the connection
 *
 * Context: any.
 */
void sdp_ib_conn_put(struct sdp_ib_conn *conn)
{
	kref_put(&conn->ref, sdp_ib_conn_release);
}

/**
 * sdp_ib_conn_post() - note that something happened
 * @conn: the connection, which the caller knows to exist
 * @ev: what; its arguments are written before, under conn->lock
 *
 * Context: any.
 */
void sdp_ib_conn_post(struct sdp_ib_conn *conn, enum sdp_ib_event ev)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (!conn->dead) {
		__set_bit(ev, &conn->events);
		/* The work cannot end, and put it, before it has the lock. */
		if (queue_work(sdp_ib_wq, &conn->work))
			kref_get(&conn->ref);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * sdp_ib_conn_end() - note that the connection cannot go on
 * @conn: the connection
 * @error: why: a negative errno, or zero where the peer asked for it
 *
 * Context: any.
 */
void sdp_ib_conn_end(struct sdp_ib_conn *conn, int error)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (!test_and_set_bit(SDP_IB_F_ENDING, &conn->flags))
		conn->error = error;
	spin_unlock_irqrestore(&conn->lock, flags);
	sdp_ib_conn_post(conn, SDP_IB_EV_END);
}

/**
 * sdp_ib_conn_event() - hand an event to the protocol
 * @conn: the connection
 * @ev: the event
 *
 * Return: the protocol's answer.
 */
int sdp_ib_conn_event(struct sdp_ib_conn *conn, const struct sdp_xprt_event *ev)
{
	return sdp_ib_up->event(&conn->xc, conn->xc.ctx, ev);
}

/**
 * sdp_ib_conn_close() - enter the last state, once
 * @conn: the connection
 * @was: out: the state before
 *
 * When it returns true every posted buffer has come back, and it is for the
 * caller to tell the protocol.
 *
 * Context: process context, without conn->mutex.
 * Return: false if it has been closed before.
 */
bool sdp_ib_conn_close(struct sdp_ib_conn *conn, enum sdp_ib_state *was)
{
	mutex_lock(&conn->mutex);
	*was = conn->state;
	conn->state = SDP_IB_CLOSED;
	mutex_unlock(&conn->mutex);

	if (*was == SDP_IB_CLOSED)
		return false;
	cancel_delayed_work(&conn->timer);
	sdp_ib_qp_flush(conn);
	return true;
}

/**
 * sdp_ib_conn_fail() - end the connection and tell the protocol
 * @conn: the connection
 * @error: why, or zero
 *
 * Context: the connection's work.
 */
void sdp_ib_conn_fail(struct sdp_ib_conn *conn, int error)
{
	struct sdp_xprt_event ev = { .error = error };
	enum sdp_ib_state was;

	if (!sdp_ib_conn_close(conn, &was))
		return;
	switch (was) {
	case SDP_IB_RESOLVING:
	case SDP_IB_CONNECTING:
		ev.type = SDP_XPRT_UNREACHABLE;
		break;
	default:
		ev.type = SDP_XPRT_DISCONNECTED;
	}
	sdp_ib_conn_event(conn, &ev);
}

static void sdp_ib_conn_ended(struct sdp_ib_conn *conn)
{
	sdp_ib_conn_fail(conn, conn->error);
}

static void sdp_ib_conn_timed_out(struct sdp_ib_conn *conn)
{
	bool waiting;

	mutex_lock(&conn->mutex);
	waiting = conn->state == SDP_IB_RESOLVING ||
		  conn->state == SDP_IB_CONNECTING ||
		  conn->state == SDP_IB_ACCEPTED;
	mutex_unlock(&conn->mutex);

	if (waiting)
		sdp_ib_conn_fail(conn, -ETIMEDOUT);
}

static void sdp_ib_conn_device_gone(struct sdp_ib_conn *conn)
{
	static const struct sdp_xprt_event ev = {
		.type = SDP_XPRT_DEVICE_GONE,
		.error = -ENODEV,
	};
	enum sdp_ib_state was;

	sdp_ib_conn_close(conn, &was);
	sdp_ib_conn_event(conn, &ev);
}

static void (*const sdp_ib_conn_do[])(struct sdp_ib_conn *conn) = {
	[SDP_IB_EV_ADDR]	= sdp_ib_addr_resolved,
	[SDP_IB_EV_PATH]	= sdp_ib_path_resolved,
	[SDP_IB_EV_REPLY]	= sdp_ib_cm_reply,
	[SDP_IB_EV_READY]	= sdp_ib_cm_ready,
	[SDP_IB_EV_REJECTED]	= sdp_ib_cm_rejected,
	[SDP_IB_EV_END]		= sdp_ib_conn_ended,
	[SDP_IB_EV_TIMEOUT]	= sdp_ib_conn_timed_out,
	[SDP_IB_EV_GONE]	= sdp_ib_conn_device_gone,
};

/* The earliest event of enum sdp_ib_event that has happened, or _NUM. */
static enum sdp_ib_event sdp_ib_conn_next(struct sdp_ib_conn *conn)
{
	enum sdp_ib_event ev = SDP_IB_EV_NUM;

	spin_lock_irq(&conn->lock);
	if (!conn->dead && conn->events) {
		ev = __ffs(conn->events);
		__clear_bit(ev, &conn->events);
	}
	spin_unlock_irq(&conn->lock);
	return ev;
}

static void sdp_ib_conn_work(struct work_struct *work)
{
	struct sdp_ib_conn *conn = container_of(work, struct sdp_ib_conn, work);
	enum sdp_ib_event ev;

	while ((ev = sdp_ib_conn_next(conn)) != SDP_IB_EV_NUM)
		sdp_ib_conn_do[ev](conn);
	sdp_ib_conn_put(conn);
}

static void sdp_ib_conn_timer(struct work_struct *work)
{
	struct sdp_ib_conn *conn = container_of(to_delayed_work(work),
						struct sdp_ib_conn, timer);

	sdp_ib_conn_post(conn, SDP_IB_EV_TIMEOUT);
}

/**
 * sdp_ib_conn_set_timer() - limit the time in which the state must change
 * @conn: the connection
 * @ms: the limit
 */
void sdp_ib_conn_set_timer(struct sdp_ib_conn *conn, unsigned int ms)
{
	mod_delayed_work(sdp_ib_wq, &conn->timer, msecs_to_jiffies(ms));
}

/**
 * sdp_ib_conn_alloc() - a connection in its first state
 * @net: its namespace
 *
 * Return: the connection with one reference, or NULL.
 */
struct sdp_ib_conn *sdp_ib_conn_alloc(struct net *net)
{
	struct sdp_ib_conn *conn;

	conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);
	if (!conn)
		return NULL;
	/* A request may be for an interface of a namespace that is going. */
	conn->net = maybe_get_net(net);
	if (!conn->net) {
		kfree(conn);
		return NULL;
	}
	conn->xc.ops = &sdp_ib_ops;
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->list);
	mutex_init(&conn->mutex);
	spin_lock_init(&conn->lock);
	INIT_WORK(&conn->work, sdp_ib_conn_work);
	INIT_DELAYED_WORK(&conn->timer, sdp_ib_conn_timer);
	init_completion(&conn->flushed);
	return conn;
}

/**
 * sdp_ib_conn_attach() - make known that the connection uses its device
 * @conn: the connection; conn->dev is set and referenced
 *
 * From now on it hears of the device's removal.
 */
void sdp_ib_conn_attach(struct sdp_ib_conn *conn)
{
	spin_lock_bh(&sdp_ib_conns_lock);
	list_add_tail(&conn->list, &sdp_ib_conns);
	if (conn->dev->gone)
		sdp_ib_conn_post(conn, SDP_IB_EV_GONE);
	spin_unlock_bh(&sdp_ib_conns_lock);
}

/**
 * sdp_ib_conns_device_gone() - tell all connections of a device, and those to
 *	come
 * @dev: the device, which is being removed or has broken
 */
void sdp_ib_conns_device_gone(struct sdp_ib_dev *dev)
{
	struct sdp_ib_conn *conn;

	spin_lock_bh(&sdp_ib_conns_lock);
	dev->gone = true;
	list_for_each_entry(conn, &sdp_ib_conns, list)
		if (conn->dev == dev)
			sdp_ib_conn_post(conn, SDP_IB_EV_GONE);
	spin_unlock_bh(&sdp_ib_conns_lock);
}

/**
 * sdp_ib_conn_create() - struct sdp_xprt_ops.conn_create
 * @net: the namespace that connect() looks for addresses in
 * @ctx: the protocol's
 */
struct sdp_xprt_conn *sdp_ib_conn_create(struct net *net, void *ctx)
{
	struct sdp_ib_conn *conn = sdp_ib_conn_alloc(net);

	if (!conn)
		return ERR_PTR(-ENOMEM);
	conn->xc.ctx = ctx;
	return &conn->xc;
}

/**
 * sdp_ib_conn_destroy() - struct sdp_xprt_ops.conn_destroy
 * @xc: the connection, in any state
 *
 * The order matters: first no more events; then nothing that could produce
 * one; then the queue pair, whose completions use the cm_id; then the cm_id,
 * which waits for its handlers; and the list last, as the handler of a new
 * request may be the one that has just put it there.
 */
void sdp_ib_conn_destroy(struct sdp_xprt_conn *xc)
{
	struct sdp_ib_conn *conn = sdp_ib_conn(xc);
	enum sdp_ib_state was;

	spin_lock_irq(&conn->lock);
	conn->dead = true;
	spin_unlock_irq(&conn->lock);
	/* An upcall may destroy: then the work is what runs this. */
	if (current_work() != &conn->work)
		flush_work(&conn->work);

	sdp_ib_addr_cancel(conn);
	sdp_ib_conn_close(conn, &was);
	cancel_delayed_work_sync(&conn->timer);
	if (conn->cm_id)
		ib_destroy_cm_id(conn->cm_id);
	sdp_ib_qp_destroy(conn);

	spin_lock_bh(&sdp_ib_conns_lock);
	list_del_init(&conn->list);
	spin_unlock_bh(&sdp_ib_conns_lock);
	sdp_ib_conn_put(conn);
}

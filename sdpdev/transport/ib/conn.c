// SPDX-License-Identifier: GPL-2.0
/*
 * A connection as an object: references, its timer, and the one place that orders its
 * events.
 */
#include <linux/slab.h>

#include "transport/ib/ib.h"

/* Connections that have a device. */
static LIST_HEAD(sdp_ib_conns);
static DEFINE_SPINLOCK(sdp_ib_conns_lock);

/* What the protocol calls, and what each event leads to; set once. */
static const struct sdp_xprt_ops *sdp_ib_conn_ops;
static const sdp_ib_step *sdp_ib_conn_steps;

/**
 * sdp_ib_conns_init() - what connections are made with
 * @ops: what the protocol calls
 * @steps: what each of enum sdp_ib_event leads to; called by the connection's work
 */
void sdp_ib_conns_init(const struct sdp_xprt_ops *ops, const sdp_ib_step *steps)
{
	sdp_ib_conn_ops = ops;
	sdp_ib_conn_steps = steps;
}

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
	return sdp_xprt_tell(sdp_ib_up, &conn->xc, ev);
}

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
		sdp_ib_conn_steps[ev](conn);
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
	conn->xc.ops = sdp_ib_conn_ops;
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->list);
	mutex_init(&conn->mutex);
	spin_lock_init(&conn->lock);
	spin_lock_init(&conn->mr_lock);
	INIT_LIST_HEAD(&conn->mrs);
	INIT_LIST_HEAD(&conn->free_mrs);
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
 * sdp_ib_conn_detach() - it does not use its device any more
 * @conn: the connection
 */
void sdp_ib_conn_detach(struct sdp_ib_conn *conn)
{
	spin_lock_bh(&sdp_ib_conns_lock);
	list_del_init(&conn->list);
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

// SPDX-License-Identifier: GPL-2.0
/*
 * A connection as an object: references, its timer, and the one place that orders its
 * events.
 */
#include <linux/slab.h>

#define CREATE_TRACE_POINTS
#include "transport/verbs/trace.h"
#include "transport/verbs/verbs.h"

/* Connections that have a device. */
static LIST_HEAD(sdp_rc_conns);
static DEFINE_SPINLOCK(sdp_rc_conns_lock);

static void sdp_rc_conn_release(struct kref *ref)
{
	struct sdp_rc_conn *conn = container_of(ref, struct sdp_rc_conn, ref);

	if (conn->dev)
		sdp_rc_dev_put(conn->dev);
	put_net(conn->net);
	mutex_destroy(&conn->mutex);
	kfree(conn);
}

/**
 * sdp_rc_conn_put() - drop a reference
 * @conn: the connection
 *
 * Context: any.
 */
void sdp_rc_conn_put(struct sdp_rc_conn *conn)
{
	kref_put(&conn->ref, sdp_rc_conn_release);
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_put);

/**
 * sdp_rc_conn_post() - note that something happened
 * @conn: the connection, which the caller knows to exist
 * @ev: what; its arguments are written before, under conn->lock
 *
 * Context: any.
 */
void sdp_rc_conn_post(struct sdp_rc_conn *conn, enum sdp_rc_event ev)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (!conn->dead) {
		__set_bit(ev, &conn->events);
		/* The work cannot end, and put it, before it has the lock. */
		if (queue_work(sdp_rc_wq, &conn->work))
			kref_get(&conn->ref);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_post);

/**
 * sdp_rc_conn_end() - note that the connection cannot go on
 * @conn: the connection
 * @error: why: a negative errno, or zero where the peer asked for it
 *
 * Context: any.
 */
void sdp_rc_conn_end(struct sdp_rc_conn *conn, int error)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (!test_and_set_bit(SDP_RC_F_ENDING, &conn->flags))
		conn->error = error;
	spin_unlock_irqrestore(&conn->lock, flags);
	sdp_rc_conn_post(conn, SDP_RC_EV_END);
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_end);

/**
 * sdp_rc_conn_event() - hand an event to the protocol
 * @conn: the connection
 * @ev: the event
 *
 * Return: the protocol's answer.
 */
int sdp_rc_conn_event(struct sdp_rc_conn *conn, const struct sdp_xprt_event *ev)
{
	trace_sdp_rc_event(conn, ev);
	return sdp_xprt_tell(conn->kind->up, &conn->xc, ev);
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_event);

/* The earliest event of enum sdp_rc_event that has happened, or _NUM. */
static enum sdp_rc_event sdp_rc_conn_next(struct sdp_rc_conn *conn)
{
	enum sdp_rc_event ev = SDP_RC_EV_NUM;

	spin_lock_irq(&conn->lock);
	if (!conn->dead && conn->events) {
		ev = __ffs(conn->events);
		__clear_bit(ev, &conn->events);
	}
	spin_unlock_irq(&conn->lock);
	return ev;
}

static void sdp_rc_conn_work(struct work_struct *work)
{
	struct sdp_rc_conn *conn = container_of(work, struct sdp_rc_conn, work);
	enum sdp_rc_event ev;

	while ((ev = sdp_rc_conn_next(conn)) != SDP_RC_EV_NUM)
		conn->kind->steps[ev](conn);
	sdp_rc_conn_put(conn);
}

static void sdp_rc_conn_timer(struct work_struct *work)
{
	struct sdp_rc_conn *conn = container_of(to_delayed_work(work),
						struct sdp_rc_conn, timer);

	sdp_rc_conn_post(conn, SDP_RC_EV_TIMEOUT);
}

/* Limits the time in which the state must change. */
void sdp_rc_conn_set_timer(struct sdp_rc_conn *conn, unsigned int ms)
{
	mod_delayed_work(sdp_rc_wq, &conn->timer, msecs_to_jiffies(ms));
}

/**
 * sdp_rc_conn_alloc() - a connection in its first state
 * @kind: the transport
 * @net: its namespace
 *
 * Return: the connection with one reference, or NULL.
 */
struct sdp_rc_conn *sdp_rc_conn_alloc(const struct sdp_rc_kind *kind, struct net *net)
{
	struct sdp_rc_conn *conn;

	conn = kzalloc(kind->conn_size, GFP_KERNEL_ACCOUNT);
	if (!conn)
		return NULL;
	/* A request may be for an interface of a namespace that is going. */
	conn->net = maybe_get_net(net);
	if (!conn->net) {
		kfree(conn);
		return NULL;
	}
	conn->kind = kind;
	conn->xc.ops = kind->ops;
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->list);
	mutex_init(&conn->mutex);
	spin_lock_init(&conn->lock);
	spin_lock_init(&conn->mr_lock);
	INIT_LIST_HEAD(&conn->mrs);
	INIT_LIST_HEAD(&conn->free_mrs);
	INIT_WORK(&conn->work, sdp_rc_conn_work);
	INIT_DELAYED_WORK(&conn->timer, sdp_rc_conn_timer);
	init_completion(&conn->flushed);
	return conn;
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_alloc);

/**
 * sdp_rc_conn_attach() - make known that the connection uses its device
 * @conn: the connection; conn->dev is set and referenced
 *
 * From now on it hears of the device's removal.
 */
void sdp_rc_conn_attach(struct sdp_rc_conn *conn)
{
	spin_lock_bh(&sdp_rc_conns_lock);
	list_add_tail(&conn->list, &sdp_rc_conns);
	if (conn->dev->gone)
		sdp_rc_conn_post(conn, SDP_RC_EV_GONE);
	spin_unlock_bh(&sdp_rc_conns_lock);
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_attach);

/**
 * sdp_rc_conn_asked() - the same for a connection that the peer asks for
 * @conn: the connection, which the protocol does not know yet: its work hands it up, as the
 *	step of SDP_RC_EV_ADDR, before it does anything else
 *
 * The work may destroy it as soon as this has returned.
 */
void sdp_rc_conn_asked(struct sdp_rc_conn *conn)
{
	spin_lock_bh(&sdp_rc_conns_lock);
	/* A call that destroys it waits for the lock in sdp_rc_conn_detach(). */
	list_add_tail(&conn->list, &sdp_rc_conns);
	sdp_rc_conn_post(conn, SDP_RC_EV_ADDR);
	if (conn->dev->gone)
		sdp_rc_conn_post(conn, SDP_RC_EV_GONE);
	spin_unlock_bh(&sdp_rc_conns_lock);
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_asked);

/* Tells all connections of a device that is being removed or has broken, and those to come. */
void sdp_rc_conns_device_gone(struct sdp_rc_dev *dev)
{
	struct sdp_rc_conn *conn;

	spin_lock_bh(&sdp_rc_conns_lock);
	dev->gone = true;
	list_for_each_entry(conn, &sdp_rc_conns, list)
		if (conn->dev == dev)
			sdp_rc_conn_post(conn, SDP_RC_EV_GONE);
	spin_unlock_bh(&sdp_rc_conns_lock);
}

/* The connection does not use its device any more. */
void sdp_rc_conn_detach(struct sdp_rc_conn *conn)
{
	spin_lock_bh(&sdp_rc_conns_lock);
	list_del_init(&conn->list);
	spin_unlock_bh(&sdp_rc_conns_lock);
}

/**
 * sdp_rc_conn_create() - struct sdp_xprt_ops.conn_create
 * @kind: the transport
 * @net: the namespace that connect() looks for addresses in
 * @ctx: the protocol's
 */
struct sdp_xprt_conn *sdp_rc_conn_create(const struct sdp_rc_kind *kind, struct net *net,
					 void *ctx)
{
	struct sdp_rc_conn *conn = sdp_rc_conn_alloc(kind, net);

	if (!conn)
		return ERR_PTR(-ENOMEM);
	conn->xc.ctx = ctx;
	return &conn->xc;
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_create);

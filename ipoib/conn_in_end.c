// SPDX-License-Identifier: GPL-2.0
/*
 * The end of incoming connections: of one by its work, of those that are idle, of all.
 */
#include "ipoib.h"
#include "trace.h"

/* Called under in_end, with a connection of which nothing will complete. */
static void ipoib_conn_in_destroy(struct ipoib_conn_in *c)
{
	struct ipoib_cm *cm = &c->priv->cm;
	bool last;

	trace_ipoib_rx_conn_close(c->priv, &c->gid, c->qpn, 0);
	/* Tells the peer, and waits for the handler. */
	if (c->id)
		ib_destroy_cm_id(c->id);
	if (c->ring)
		ipoib_rc_ring_stop(c->ring);
	if (c->qp)
		ib_destroy_qp(c->qp);
	if (c->ring)
		ipoib_rc_ring_free(c->ring);
	/* Of the queue pair's last event. */
	ipoib_conns_in_listen(cm);
	kfree(c);

	spin_lock_bh(&cm->in_lock);
	last = !--cm->in_count;
	spin_unlock_bh(&cm->in_lock);
	if (last)
		wake_up(&cm->in_wait);
}

static void ipoib_conn_in_kill(struct ipoib_conn_in *c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ipoib_cm *cm = &c->priv->cm;

	if (c->ring)
		ipoib_rc_ring_stop(c->ring);
	if (ib_modify_qp(c->qp, &attr, IB_QP_STATE) && net_ratelimit())
		netdev_warn(c->priv->dev, "cannot move a connection to error\n");

	spin_lock_bh(&cm->in_lock);
	ipoib_conn_in_move(c, IPOIB_IN_DYING);
	/* What came back before this looked in vain for one that is dying. */
	if (c->ring && ipoib_conn_in_empty(c))
		c->last_wqe = true;
	ipoib_conn_in_drain(c);
	spin_unlock_bh(&cm->in_lock);
}

static struct ipoib_conn_in *ipoib_conn_in_first(struct ipoib_cm *cm,
						 enum ipoib_in_state state)
{
	struct ipoib_conn_in *c;

	spin_lock_bh(&cm->in_lock);
	c = list_first_entry_or_null(&cm->in[state], struct ipoib_conn_in,
				     node);
	if (c && state == IPOIB_IN_DRAINED)
		list_del_init(&c->node);
	spin_unlock_bh(&cm->in_lock);
	return c;
}

/* Called under in_end: another caller must not free what this one looks at. */
static void ipoib_conns_in_proceed(struct ipoib_cm *cm)
{
	struct ipoib_conn_in *c;

	ipoib_conns_in_listen(cm);
	while ((c = ipoib_conn_in_first(cm, IPOIB_IN_DOOMED)))
		ipoib_conn_in_kill(c);
	while ((c = ipoib_conn_in_first(cm, IPOIB_IN_DRAINED)))
		ipoib_conn_in_destroy(c);
}

void ipoib_conn_in_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(work, struct ipoib_cm, in_work);

	mutex_lock(&cm->in_end);
	ipoib_conns_in_proceed(cm);
	mutex_unlock(&cm->in_end);
}

static unsigned int ipoib_conns_in_left(struct ipoib_cm *cm)
{
	unsigned int left;

	spin_lock_bh(&cm->in_lock);
	left = cm->in_count;
	spin_unlock_bh(&cm->in_lock);
	return left;
}

/* Ends those that an adapter never drained, without waiting for a worker. */
static void ipoib_conns_in_force(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;
	struct ipoib_conn_in *c, *next;
	int state;

	if (net_ratelimit())
		netdev_warn(priv->dev, "incoming connections never drained\n");
	ipoib_cm_pause(priv, true);
	mutex_lock(&cm->in_end);
	ipoib_conns_in_proceed(cm);
	/* Only NAPI takes one from this list, and others only under in_end. */
	list_for_each_entry(c, &cm->in[IPOIB_IN_DYING], node)
		ipoib_cm_reset(c->qp);
	ipoib_cm_reap(priv);
	spin_lock_bh(&cm->in_lock);
	for (state = IPOIB_IN_LIVE; state < IPOIB_IN_DRAINED; state++)
		list_for_each_entry_safe(c, next, &cm->in[state], node)
			ipoib_conn_in_move(c, IPOIB_IN_DRAINED);
	spin_unlock_bh(&cm->in_lock);
	ipoib_conns_in_proceed(cm);
	mutex_unlock(&cm->in_end);
	ipoib_cm_pause(priv, false);
}

/* The interface accepts no more. Called under ctl; may wait for seconds. */
void ipoib_conns_in_stop(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;
	struct ipoib_conn_in *c, *next;
	unsigned int left, before;

	spin_lock_bh(&cm->in_lock);
	list_for_each_entry_safe(c, next, &cm->in[IPOIB_IN_LIVE], node)
		ipoib_conn_in_doom_locked(c);
	spin_unlock_bh(&cm->in_lock);

	/* As long as they get fewer. */
	left = ipoib_conns_in_left(cm);
	do {
		before = left;
		wait_event_timeout(cm->in_wait, !ipoib_conns_in_left(cm),
				   IPOIB_CM_DRAIN_TIMEOUT);
		left = ipoib_conns_in_left(cm);
	} while (left && left < before);
	if (left)
		ipoib_conns_in_force(priv);
	cancel_work_sync(&cm->in_work);
}

/* Ends connections that have been idle for long, and half-open ones sooner. */
void ipoib_conns_in_reap(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;
	struct ipoib_conn_in *c, *next;
	unsigned long idle;

	spin_lock_bh(&cm->in_lock);
	list_for_each_entry_safe(c, next, &cm->in[IPOIB_IN_LIVE], node) {
		idle = 2 * ipoib_idle();
		if (ipoib_conn_in_is_half_open(c))
			idle = min(idle, IPOIB_IN_ESTABLISH);
		if (time_after(jiffies, READ_ONCE(c->last_used) + idle))
			ipoib_conn_in_doom_locked(c);
	}
	spin_unlock_bh(&cm->in_lock);
}

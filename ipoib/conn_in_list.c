// SPDX-License-Identifier: GPL-2.0
/*
 * The states of incoming connections, each of which is a list.
 *
 *     LIVE ----------> DOOMED ----------> DYING ----------> DRAINED ---> freed
 *          an error,          its work            nothing
 *          idle, down         moves the           more will
 *                             queue pair          complete
 *                             to the error
 *                             state
 *
 * A queue pair may be destroyed when nothing of it can complete any more. In the
 * error state it gives back what it has of the shared buffers and says so
 * (IB_EVENT_QP_LAST_WQE_REACHED, IBA 10.2.9.3); behind that goes a work request
 * whose completion comes last. Private buffers are counted instead.
 */
#include "ipoib.h"

/* The one function that changes a connection's state. Called under in_lock. */
void ipoib_conn_in_move(struct ipoib_conn_in *c, enum ipoib_in_state state)
{
	struct ipoib_cm *cm = &c->priv->cm;

	c->state = state;
	list_move_tail(&c->node, &cm->in[state]);
	if (state == IPOIB_IN_DOOMED || state == IPOIB_IN_DRAINED)
		queue_work(ipoib_wq, &cm->in_work);
}

/* Lets the work end the connection. Called under in_lock. */
void ipoib_conn_in_doom_locked(struct ipoib_conn_in *c)
{
	if (c->state == IPOIB_IN_LIVE)
		ipoib_conn_in_move(c, IPOIB_IN_DOOMED);
}

void ipoib_conn_in_doom(struct ipoib_conn_in *c)
{
	spin_lock_bh(&c->priv->cm.in_lock);
	ipoib_conn_in_doom_locked(c);
	spin_unlock_bh(&c->priv->cm.in_lock);
}

/* Posts what completes last, as soon as there are no more receives. Called under in_lock. */
void ipoib_conn_in_drain(struct ipoib_conn_in *c)
{
	const struct ib_send_wr wr = {
		.wr_id = IPOIB_WR_DRAIN,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	if (c->state != IPOIB_IN_DYING || !c->last_wqe || c->draining)
		return;
	c->draining = true;
	/* ipoib_conns_in_stop() does not wait for it without end. */
	if (ib_post_send(c->qp, &wr, NULL) && net_ratelimit())
		netdev_warn(c->priv->dev, "cannot drain a connection\n");
}

/* Nothing more of the connection will complete. */
void ipoib_conn_in_drained(struct ipoib_conn_in *c)
{
	spin_lock_bh(&c->priv->cm.in_lock);
	if (c->state == IPOIB_IN_DYING)
		ipoib_conn_in_move(c, IPOIB_IN_DRAINED);
	spin_unlock_bh(&c->priv->cm.in_lock);
}

/* Has the adapter given back all private buffers? The connection has some; softirqs are off. */
bool ipoib_conn_in_empty(struct ipoib_conn_in *c)
{
	bool empty;

	spin_lock(&c->ring->lock);
	empty = !c->ring->posted;
	spin_unlock(&c->ring->lock);
	return empty;
}

/* All private buffers have come back, which means something only if the connection is dying. */
void ipoib_conn_in_emptied(struct ipoib_conn_in *c)
{
	spin_lock_bh(&c->priv->cm.in_lock);
	if (c->state == IPOIB_IN_DYING && ipoib_conn_in_empty(c)) {
		c->last_wqe = true;
		ipoib_conn_in_drain(c);
	}
	spin_unlock_bh(&c->priv->cm.in_lock);
}

/*
 * Has the peer only asked, and neither answered nor sent? The peer says itself how long ib_cm waits
 * for its answer, which may be hours. Called under in_lock.
 */
bool ipoib_conn_in_is_half_open(const struct ipoib_conn_in *c)
{
	return !c->established && !READ_ONCE(c->packets);
}

/* Any context, also before the connection is in a list. */
void ipoib_conn_in_qp_event(struct ib_event *event, void *context)
{
	struct ipoib_conn_in *c = context;
	struct ipoib_cm *cm = &c->priv->cm;

	switch (event->event) {
	case IB_EVENT_QP_LAST_WQE_REACHED:
		set_bit(IPOIB_IN_LAST_WQE, &c->flags);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		set_bit(IPOIB_IN_ERROR, &c->flags);
		break;
	default:
		return;
	}
	if (!test_and_set_bit(IPOIB_IN_TOLD, &c->flags))
		llist_add(&c->event, &cm->in_events);
	queue_work(ipoib_wq, &cm->in_work);
}

/* Does what the queue pairs' events have told. Called under in_end. */
void ipoib_conns_in_listen(struct ipoib_cm *cm)
{
	struct llist_node *told = llist_del_all(&cm->in_events);
	struct ipoib_conn_in *c, *next;

	llist_for_each_entry_safe(c, next, told, event) {
		clear_bit(IPOIB_IN_TOLD, &c->flags);
		/*
		 * Pairs with test_and_set_bit() in ipoib_conn_in_qp_event(): an event that finds
		 * it set has set its other bit before.
		 */
		smp_mb__after_atomic();
		spin_lock_bh(&cm->in_lock);
		if (test_bit(IPOIB_IN_LAST_WQE, &c->flags))
			c->last_wqe = true;
		if (!list_empty(&c->node))
			ipoib_conn_in_doom_locked(c);
		ipoib_conn_in_drain(c);
		spin_unlock_bh(&cm->in_lock);
	}
}

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

/**
 * ipoib_conn_in_move() - the one function that changes its state
 * @c: the connection; under in_lock
 * @state: the next one
 */
void ipoib_conn_in_move(struct ipoib_conn_in *c, enum ipoib_in_state state)
{
	struct ipoib_cm *cm = &c->priv->cm;

	c->state = state;
	list_move_tail(&c->node, &cm->in[state]);
	if (state == IPOIB_IN_DOOMED || state == IPOIB_IN_DRAINED)
		queue_work(ipoib_wq, &cm->in_work);
}

/**
 * ipoib_conn_in_doom_locked() - let the work end it
 * @c: the connection; under in_lock
 */
void ipoib_conn_in_doom_locked(struct ipoib_conn_in *c)
{
	if (c->state == IPOIB_IN_LIVE)
		ipoib_conn_in_move(c, IPOIB_IN_DOOMED);
}

/**
 * ipoib_conn_in_doom() - let the work end it
 * @c: the connection
 */
void ipoib_conn_in_doom(struct ipoib_conn_in *c)
{
	spin_lock_bh(&c->priv->cm.in_lock);
	ipoib_conn_in_doom_locked(c);
	spin_unlock_bh(&c->priv->cm.in_lock);
}

/**
 * ipoib_conn_in_drain() - post what completes last, as soon as there are no more receives
 * @c: the connection; under in_lock
 */
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

/**
 * ipoib_conn_in_drained() - nothing more of a connection will complete
 * @c: the connection
 */
void ipoib_conn_in_drained(struct ipoib_conn_in *c)
{
	spin_lock_bh(&c->priv->cm.in_lock);
	if (c->state == IPOIB_IN_DYING)
		ipoib_conn_in_move(c, IPOIB_IN_DRAINED);
	spin_unlock_bh(&c->priv->cm.in_lock);
}

/**
 * ipoib_conn_in_empty() - has the adapter given all of its private buffers back?
 * @c: the connection, which has such buffers
 *
 * Return: that.
 */
bool ipoib_conn_in_empty(struct ipoib_conn_in *c)
{
	bool empty;

	spin_lock(&c->ring->lock);
	empty = !c->ring->posted;
	spin_unlock(&c->ring->lock);
	return empty;
}

/**
 * ipoib_conn_in_emptied() - all of its private buffers have come back
 * @c: the connection; nothing happens unless it is dying
 */
void ipoib_conn_in_emptied(struct ipoib_conn_in *c)
{
	spin_lock_bh(&c->priv->cm.in_lock);
	if (c->state == IPOIB_IN_DYING && ipoib_conn_in_empty(c)) {
		c->last_wqe = true;
		ipoib_conn_in_drain(c);
	}
	spin_unlock_bh(&c->priv->cm.in_lock);
}

/**
 * ipoib_conn_in_is_half_open() - has its peer only asked, and neither answered nor sent?
 * @c: the connection
 *
 * The peer says itself how long ib_cm waits for its answer, which may be hours.
 *
 * Return: whether it has.
 */
bool ipoib_conn_in_is_half_open(const struct ipoib_conn_in *c)
{
	return !c->established && !READ_ONCE(c->packets);
}

/**
 * ipoib_conn_in_qp_event() - its queue pair has something to tell
 * @event: what
 * @context: the connection
 *
 * In any context, also before the connection is in a list.
 */
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

/**
 * ipoib_conns_in_listen() - do what the queue pairs' events tell
 * @cm: connected mode's part of the interface
 */
void ipoib_conns_in_listen(struct ipoib_cm *cm)
{
	struct llist_node *told = llist_del_all(&cm->in_events);
	struct ipoib_conn_in *c, *next;

	llist_for_each_entry_safe(c, next, told, event) {
		clear_bit(IPOIB_IN_TOLD, &c->flags);
		/* An event that finds it set has set its other bit before. */
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

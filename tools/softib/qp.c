// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to a QP as a whole: errors, draining, events
 */
#include "softib.h"

/* How often a QP in error is looked at for receives that were posted late */
#define LATE_INTERVAL	msecs_to_jiffies(20)

/*
 * Puts a QP into the error state (IBA 10.3.1.7). @status: what a receive that is being worked on
 * completes with. r_lock and s_lock are held.
 */
void softib_qp_error(struct rvt_qp *qp, enum ib_wc_status status)
{
	struct softib_qp *priv = qp->priv;

	if (rvt_error_qp(qp, status))
		__set_bit(IB_EVENT_QP_LAST_WQE_REACHED, &priv->events);
}

/* rdmavt flushes the receives that are there when a QP falls into error, but not those
 * that come later.
 */
static bool flush_late(struct rvt_qp *qp)
{
	unsigned long flags;
	bool error;

	spin_lock_irqsave(&qp->r_lock, flags);
	error = qp->state == IB_QPS_ERR;
	if (error)
		softib_flush_receives(qp);
	spin_unlock_irqrestore(&qp->r_lock, flags);
	return error;
}

/* User space posts receives without a word to the kernel. */
static void late_receives(struct timer_list *t)
{
	struct softib_qp *priv = timer_container_of(priv, t, late_timer);

	if (flush_late(priv->qp))
		mod_timer(&priv->late_timer, jiffies + LATE_INTERVAL);
}

/*
 * The kernel has posted receives to a QP. rdmavt looks at the state before it takes the queue's
 * lock: the QP may have fallen into error since. No lock is held.
 */
void softib_qp_posted(struct rvt_qp *qp)
{
	/* Either this sees the state, or rdmavt the receives: pairs with the
	 * barrier in softib_qp_error_notify().
	 */
	smp_mb();
	if (unlikely(READ_ONCE(qp->state) == IB_QPS_ERR) && !qp->ip && !qp->ibqp.srq)
		flush_late(qp);
}

void softib_qp_init(struct softib_qp *priv, struct rvt_qp *qp)
{
	priv->qp = qp;
	mutex_init(&priv->modify_lock);
	INIT_LIST_HEAD(&priv->send_node);
	timer_setup(&priv->late_timer, late_receives, 0);
	qp->priv = priv;
	softib_qp_reset(qp);
}

/* What was posted is gone with a reset (IBA 10.3.1.1), but rdmavt would go on to write
 * into it. User space resets its own head and tail.
 */
static void forget_receives(struct rvt_qp *qp)
{
	struct rvt_krwq *kwq = qp->r_rq.kwq;

	if (!kwq)
		return;
	spin_lock(&kwq->p_lock);
	spin_lock(&kwq->c_lock);
	if (!qp->ip) {
		kwq->head = 0;
		kwq->tail = 0;
	}
	kwq->count = 0;
	spin_unlock(&kwq->c_lock);
	spin_unlock(&kwq->p_lock);
}

/* Forgets what was going on. The QP is in the state RESET. */
void softib_qp_reset(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp->priv;
	int i;

	forget_receives(qp);
	priv->events = 0;
	priv->draining = false;
	priv->req_pos.valid = false;
	priv->rd_pos.valid = false;
	priv->rd_psns = 0;
	priv->gap = false;
	priv->lso_done = 0;
	priv->msg = SOFTIB_MSG_NONE;
	priv->nak_status = IB_WC_SUCCESS;
	atomic_set(&qp->local_ops_pending, 0);
	for (i = 0; qp->s_ack_queue && i < SOFTIB_NACKS; i++) {
		qp->s_ack_queue[i].opcode = 0;
		qp->s_ack_queue[i].sent = 1;
	}
}

/* A QP is in error. r_lock and s_lock are held. */
void softib_qp_error_notify(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp->priv;

	/* Messages in progress are over, and rdmavt drops their references. */
	priv->msg = SOFTIB_MSG_NONE;
	/* The state is set, the receives come next: pairs with the barrier in
	 * softib_qp_posted().
	 */
	smp_mb();
	if (qp->ip && !qp->ibqp.srq)
		mod_timer(&priv->late_timer, jiffies + LATE_INTERVAL);
}

/*
 * Waits for what does not hold a reference to the QP, which is in the state RESET. No lock is held.
 */
void softib_qp_quiesce(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp->priv;

	timer_delete_sync(&priv->late_timer);
}

/* Has every message that was begun been completed? */
static bool drained(struct softib_qp *priv)
{
	struct rvt_qp *qp = priv->qp;
	struct rvt_swqe *wqe;

	if (!softib_is_connected(qp))
		return !priv->lso_done;
	if (qp->s_last != qp->s_cur)
		return false;
	if (qp->s_cur == READ_ONCE(qp->s_head))
		return true;
	wqe = rvt_get_swqe_ptr(qp, qp->s_cur);
	return softib_is_local(wqe) ||
	       softib_psn_diff(wqe->psn, priv->req_max) >= 0;
}

/*
 * Notes that a send queue is drained, if it is (IBA 10.3.1.6). The QP has nothing to send, and its
 * locks are held.
 */
void softib_qp_drain(struct softib_qp *priv)
{
	if (priv->draining && priv->qp->state == IB_QPS_SQD && drained(priv)) {
		priv->draining = false;
		__set_bit(IB_EVENT_SQ_DRAINED, &priv->events);
	}
}

/*
 * Tells the consumer. @events: a mask of 1 << enum ib_event_type. The QP is unlocked, and the
 * caller keeps it from going away.
 */
void softib_qp_report(struct rvt_qp *qp, unsigned long events)
{
	struct ib_event ev = { .device = qp->ibqp.device };
	unsigned int event;

	if (!qp->ibqp.event_handler)
		return;
	ev.element.qp = &qp->ibqp;
	for_each_set_bit(event, &events, BITS_PER_LONG) {
		ev.event = event;
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
	}
}

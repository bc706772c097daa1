// SPDX-License-Identifier: GPL-2.0
/*
 * Completion events, told where the completions are made
 *
 * rdmavt has a worker of its own tell consumers, which costs two switches of
 * context for an event. So an HCA's work disarms the CQs of the QP that it works
 * for, and afterwards, without the QP's locks, tells of what has come. What is
 * completed elsewhere, and CQs armed for solicited events, are left to rdmavt.
 *
 * The QP is held meanwhile, and it holds the CQs.
 */
#include "softib.h"

static void disarm(struct softib_armed *armed, struct ib_cq *ibcq)
{
	struct rvt_cq *cq = ibcq ? ibcq_to_rvtcq(ibcq) : NULL;
	unsigned long flags;

	armed->cq = NULL;
	/* Unlocked: if it is armed at this moment, rdmavt may tell as well. */
	if (!cq || READ_ONCE(cq->notify) != IB_CQ_NEXT_COMP)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	if (cq->notify == IB_CQ_NEXT_COMP) {
		cq->notify = RVT_CQ_NONE;
		armed->cq = cq;
		armed->triggered = cq->triggered;
		armed->ring = cq->ip ? (void *)cq->queue : cq->kqueue;
		armed->head = cq->ip ? RDMA_READ_UAPI_ATOMIC(cq->queue->head) :
				       cq->kqueue->head;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* A ring that was resized in the meantime may have any head. */
static bool has_more(const struct softib_armed *armed)
{
	const struct rvt_cq *cq = armed->cq;

	if (cq->ip)
		return armed->ring != cq->queue ||
		       armed->head != RDMA_READ_UAPI_ATOMIC(cq->queue->head);
	return armed->ring != cq->kqueue || armed->head != cq->kqueue->head;
}

static void tell(struct softib_armed *armed)
{
	struct rvt_cq *cq = armed->cq;
	unsigned long flags;
	bool more = false;

	if (!cq)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	/* Armed again in the meantime, rdmavt may have told already. */
	if (armed->triggered == cq->triggered) {
		more = has_more(armed);
		if (!more)
			cq->notify = IB_CQ_NEXT_COMP;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (more)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

/*
 * Keeps rdmavt from telling of the next completions of a QP: softib_cq_tell() does that. None of
 * the QP's locks is held.
 */
void softib_cq_disarm(struct softib_armed armed[2], struct rvt_qp *qp)
{
	disarm(&armed[0], qp->ibqp.recv_cq);
	disarm(&armed[1], qp->ibqp.send_cq);
}

/*
 * Tells of completions, or arms the CQs again. No lock of a QP is held, for consumers may post to
 * one.
 */
void softib_cq_tell(struct softib_armed armed[2])
{
	tell(&armed[0]);
	tell(&armed[1]);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Receives, as consumers post them
 *
 * User space has the queues mapped, and can write there at any time, also what
 * it has posted: all of it is read once, and checked after that. rdmavt's own
 * functions trust the number of SGEs.
 */
#include "fail.h"

/* Where the next receive is, whatever the consumer wrote there */
static u32 get_tail(const struct rvt_rq *rq, bool user)
{
	u32 tail = user ? RDMA_READ_UAPI_ATOMIC(rq->wq->tail) : rq->kwq->tail;

	return tail < rq->size ? tail : 0;
}

static void set_tail(struct rvt_rq *rq, bool user, u32 tail)
{
	if (user)
		RDMA_WRITE_UAPI_ATOMIC(rq->wq->tail, tail);
	else
		rq->kwq->tail = tail;
}

/* How many there are from @tail on */
static u32 posted(struct rvt_rq *rq, bool user, u32 tail)
{
	u32 head = user ? RDMA_READ_UAPI_ATOMIC(rq->wq->head) :
			  /* pairs with the release in rvt_post_recv() */
			  smp_load_acquire(&rq->kwq->head);

	return rvt_get_rq_count(rq, head < rq->size ? head : 0, tail);
}

/* Makes qp->r_sge of the SGEs that have a length; r_sg_list has room for all but
 * the first of max_sge.
 */
static bool take_sges(struct rvt_qp *qp, const struct rvt_rq *rq,
		      const struct rvt_rwqe *wqe)
{
	struct rvt_dev_info *rdi = ib_to_rvt(qp->ibqp.device);
	struct ib_srq *srq = qp->ibqp.srq;
	struct rvt_pd *pd = ibpd_to_rvtpd(srq ? srq->pd : qp->ibqp.pd);
	struct rvt_sge_state *ss = &qp->r_sge;
	u8 n = READ_ONCE(wqe->num_sge);
	struct ib_sge sge;
	int i;

	ss->sg_list = qp->r_sg_list;
	ss->num_sge = 0;
	qp->r_len = 0;
	if (n > rq->max_sge)
		return false;
	for (i = 0; i < n; i++) {
		struct rvt_sge *last = ss->num_sge ?
			&ss->sg_list[ss->num_sge - 1] : &ss->sge;

		sge.addr = READ_ONCE(wqe->sg_list[i].addr);
		sge.length = READ_ONCE(wqe->sg_list[i].length);
		sge.lkey = READ_ONCE(wqe->sg_list[i].lkey);
		if (!sge.length)
			continue;
		/* What ends before it begins seems to be within any region. */
		if (sge.addr + sge.length < sge.addr ||
		    rvt_lkey_ok(&rdi->lkey_table, pd, last, NULL, &sge,
				IB_ACCESS_LOCAL_WRITE) <= 0) {
			rvt_put_ss(ss);
			return false;
		}
		ss->num_sge++;
		qp->r_len += sge.length;
	}
	ss->total_len = qp->r_len;
	return true;
}

static void fail(struct rvt_qp *qp)
{
	struct ib_wc wc = {
		.wr_id = qp->r_wr_id,
		.status = IB_WC_LOC_PROT_ERR,
		.opcode = IB_WC_RECV,
		.qp = &qp->ibqp,
	};

	rvt_recv_cq(qp, &wc, true);
}

/* True once there are fewer than the consumer wanted to be told of. */
static bool below_limit(struct rvt_srq *srq, u32 left)
{
	if (!srq || !srq->ibsrq.event_handler || left >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

/**
 * softib_take_receive - take the next receive of a QP or its SRQ
 * @qp:		the QP; its r_lock is held
 * @name_only:	its wr_id is all that is wanted of it, no memory
 *
 * It is qp->r_wr_id then, and qp->r_sge unless @name_only.
 *
 * Return: 1, or 0 if there is none, or -1 if it is none that can be used; that
 * is completed with an error.
 */
int softib_take_receive(struct rvt_qp *qp, bool name_only)
{
	struct rvt_srq *srq = qp->ibqp.srq ? ibsrq_to_rvtsrq(qp->ibqp.srq) : NULL;
	struct rvt_rq *rq = srq ? &srq->rq : &qp->r_rq;
	bool user = srq ? srq->ip : qp->ip, few;
	const struct rvt_rwqe *wqe;
	unsigned long flags;
	u32 tail, count;
	int ret = 1;

	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK))
		return 0;
	spin_lock_irqsave(&rq->kwq->c_lock, flags);
	tail = get_tail(rq, user);
	count = posted(rq, user, tail);
	if (!count) {
		rq->kwq->count = 0;
		spin_unlock_irqrestore(&rq->kwq->c_lock, flags);
		return 0;
	}
	wqe = rvt_get_rwqe_ptr(rq, tail);
	qp->r_wr_id = READ_ONCE(wqe->wr_id);
	if (name_only || (!softib_fail_request(qp) && take_sges(qp, rq, wqe)))
		set_bit(RVT_R_WRID_VALID, &qp->r_aflags);
	else
		ret = -1;
	set_tail(rq, user, tail + 1 < rq->size ? tail + 1 : 0);
	rq->kwq->count = count - 1;
	few = below_limit(srq, count - 1);
	spin_unlock_irqrestore(&rq->kwq->c_lock, flags);

	if (ret < 0)
		fail(qp);
	if (few) {
		struct ib_event event = {
			.device = qp->ibqp.device,
			.element.srq = qp->ibqp.srq,
			.event = IB_EVENT_SRQ_LIMIT_REACHED,
		};

		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
	}
	return ret;
}

/**
 * softib_modify_srq - set an SRQ's limit
 * @ibsrq:	the SRQ
 * @attr:	srq_limit is what counts
 * @mask:	what to change; another size it cannot have
 * @udata:	unused
 *
 * Return: 0, -EOPNOTSUPP for a size, or -EINVAL for a limit that is larger than
 * the queue.
 */
int softib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rvt_srq *srq = ibsrq_to_rvtsrq(ibsrq);

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit >= srq->rq.size)
		return -EINVAL;
	spin_lock_irq(&srq->rq.kwq->c_lock);
	srq->limit = attr->srq_limit;
	spin_unlock_irq(&srq->rq.kwq->c_lock);
	return 0;
}

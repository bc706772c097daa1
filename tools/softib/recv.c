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

/* Makes qp->r_sge of SGEs that have a length, and keeps a copy of them in softib_qp.sges,
 * which may be where they come from and has room for max_sge. r_sg_list has room for all
 * but the first.
 */
static bool open_sges(struct softib_qp *priv, const struct rvt_wqe_sge *from, u8 n)
{
	struct rvt_qp *qp = priv->qp;
	struct rvt_dev_info *rdi = ib_to_rvt(qp->ibqp.device);
	struct ib_srq *srq = qp->ibqp.srq;
	struct rvt_pd *pd = ibpd_to_rvtpd(srq ? srq->pd : qp->ibqp.pd);
	struct rvt_sge_state *ss = &qp->r_sge;
	u64 len = 0;
	int i;

	ss->sg_list = qp->r_sg_list;
	ss->num_sge = 0;
	for (i = 0; i < n; i++) {
		struct ib_sge sge = {
			.addr = READ_ONCE(from[i].addr),
			.length = READ_ONCE(from[i].length),
			.lkey = READ_ONCE(from[i].lkey),
		};

		if (!sge.length)
			continue;
		/* A range that ends before it begins seems to be within any region. */
		if (sge.addr + sge.length < sge.addr ||
		    rvt_lkey_ok(&rdi->lkey_table, pd, ss->num_sge ?
				&ss->sg_list[ss->num_sge - 1] : &ss->sge, NULL, &sge,
				IB_ACCESS_LOCAL_WRITE) <= 0) {
			rvt_put_ss(ss);
			return false;
		}
		priv->sges[ss->num_sge++] = (struct rvt_wqe_sge) {
			.addr = sge.addr,
			.length = sge.length,
			.lkey = sge.lkey,
		};
		len += sge.length;
	}
	priv->num_sges = ss->num_sge;
	/* No message is longer than that. */
	qp->r_len = min_t(u64, len, SOFTIB_MAX_MSG);
	ss->total_len = qp->r_len;
	return true;
}

/* The consumer may write another number there at any time. */
static bool open_receive(struct softib_qp *priv, const struct rvt_rq *rq,
			 const struct rvt_rwqe *wqe)
{
	u8 n = READ_ONCE(wqe->num_sge);

	return n <= rq->max_sge && open_sges(priv, wqe->sg_list, n);
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

static void tell_limit(struct rvt_srq *srq)
{
	struct ib_event event = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

/*
 * Takes the next receive of a QP or its SRQ: its qp->r_wr_id, and qp->r_sge unless @name_only.
 * r_lock is held. Returns 1; 0 if there is none; -1 if it cannot be used and was completed with an
 * error.
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
		ret = 0;
		goto unlock;
	}
	wqe = rvt_get_rwqe_ptr(rq, tail);
	qp->r_wr_id = READ_ONCE(wqe->wr_id);
	if (name_only || (!softib_fail_request(qp) && open_receive(qp->priv, rq, wqe)))
		set_bit(RVT_R_WRID_VALID, &qp->r_aflags);
	else
		ret = -1;
	set_tail(rq, user, tail + 1 < rq->size ? tail + 1 : 0);
	count--;
unlock:
	rq->kwq->count = count;
	few = below_limit(srq, count);
	spin_unlock_irqrestore(&rq->kwq->c_lock, flags);

	if (ret < 0)
		fail(qp);
	if (few)
		tell_limit(srq);
	return ret;
}

/*
 * Has the memory of a receive at hand again, whose references in qp->r_sge were dropped. r_lock is
 * held. Returns 1; -1 if the memory cannot be used any more and the receive was completed with an
 * error.
 */
int softib_reopen_receive(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp->priv;

	if (open_sges(priv, priv->sges, priv->num_sges))
		return 1;
	clear_bit(RVT_R_WRID_VALID, &qp->r_aflags);
	fail(qp);
	return -1;
}

/* The QP is in error and has no SRQ. r_lock is held. */
void softib_flush_receives(struct rvt_qp *qp)
{
	struct ib_wc wc = {
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = IB_WC_RECV,
		.qp = &qp->ibqp,
	};
	struct rvt_cq *cq = ibcq_to_rvtcq(qp->ibqp.recv_cq);
	struct rvt_rq *rq = &qp->r_rq;
	unsigned long flags;
	u32 tail, count;

	spin_lock_irqsave(&rq->kwq->c_lock, flags);
	tail = get_tail(rq, qp->ip);
	for (count = posted(rq, qp->ip, tail); count; count--) {
		wc.wr_id = READ_ONCE(rvt_get_rwqe_ptr(rq, tail)->wr_id);
		rvt_cq_enter(cq, &wc, true);
		tail = tail + 1 < rq->size ? tail + 1 : 0;
		set_tail(rq, qp->ip, tail);
	}
	spin_unlock_irqrestore(&rq->kwq->c_lock, flags);
}

/*
 * Sets an SRQ's limit; another size it cannot have (-EOPNOTSUPP). The SRQ may hold fewer receives
 * than the limit already: the consumer hears of that at once, for an empty SRQ never gets emptier.
 */
int softib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rvt_srq *srq = ibsrq_to_rvtsrq(ibsrq);
	struct rvt_rq *rq = &srq->rq;
	bool few;

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit >= rq->size)
		return -EINVAL;
	spin_lock_irq(&rq->kwq->c_lock);
	srq->limit = attr->srq_limit;
	few = below_limit(srq, posted(rq, srq->ip, get_tail(rq, srq->ip)));
	spin_unlock_irq(&rq->kwq->c_lock);
	if (few)
		tell_limit(srq);
	return 0;
}

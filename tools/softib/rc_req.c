// SPDX-License-Identifier: GPL-2.0
/*
 * Reliable connections, requester's side (IBA 9.7.3, 9.7.5)
 *
 * Requests go out in the order of their PSNs, from qp->s_psn on, which lies in
 * the work request at qp->s_cur. Everything before una(), which lies in the
 * one at qp->s_last, has been acknowledged. To send again is to put s_psn and
 * s_cur back there: what a packet holds follows from its PSN alone. Work
 * requests complete in order, at qp->s_last; a read or atomic operation does
 * so when its data is here, whatever later PSNs were acknowledged.
 *
 * All functions are called with the QP's r_lock and s_lock held.
 */
#include "fail.h"

/* Packets that a requester may have on their way unacknowledged, and how often on the
 * way it asks for an acknowledgment
 */
#define WINDOW		256
#define ACK_INTERVAL	64

/* The retry timer may take up to four times what the QP's timeout says (9.7.6.1.3). It
 * takes twice that: a virtual machine's processors stand still at times.
 */
#define TIMEOUT_SHIFT	1

/* First PSN that has not been acknowledged */
static u32 una(const struct rvt_qp *qp)
{
	return qp->s_last_psn + 1;
}

static bool is_atomic(const struct rvt_swqe *wqe)
{
	return wqe->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->wr.opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_rd_atomic(const struct rvt_swqe *wqe)
{
	return wqe->wr.opcode == IB_WR_RDMA_READ || is_atomic(wqe);
}

/* Does the request use up a receive at the other side? Then it needs credit. */
static bool takes_receive(const struct rvt_swqe *wqe)
{
	switch (wqe->wr.opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return true;
	default:
		return false;
	}
}

/* Send again from the first PSN that was not acknowledged. */
static void restart(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp->priv;

	softib_conn_local(qp);
	qp->s_psn = una(qp);
	priv->req_asked = qp->s_psn;
	priv->rd_psns = 0;
	qp->s_cur = qp->s_last;
	qp->s_num_rd_atomic = 0;
	softib_qp_schedule(qp);
}

static void retry(struct rvt_qp *qp)
{
	if (!qp->s_retry) {
		softib_conn_fail(qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->s_retry--;
	rvt_to_iport(qp)->n_rc_resends++;
	restart(qp);
}

/* Is an answer due that was asked for (9.7.6.1.3)? The packets before the one that asks may
 * take their time.
 */
static bool answer_due(const struct softib_qp *priv)
{
	const struct rvt_qp *qp = priv->qp;

	return softib_psn_diff(priv->req_max, una(qp)) > 0 && !(qp->s_flags & RVT_S_WAIT_RNR) &&
	       softib_psn_diff(priv->req_asked, una(qp)) > 0;
}

/* The retry timer runs at least as long as an answer is due. */
static void start_timer(struct softib_qp *priv)
{
	struct rvt_qp *qp = priv->qp;

	if (qp->timeout && !(qp->s_flags & RVT_S_TIMER))
		rvt_mod_retry_timer_ext(qp, TIMEOUT_SHIFT);
}

/*
 * Has the answer come that the timer was started for? The timer was not stopped then: it goes on
 * for the answer that is due now, if there is one.
 */
static bool too_early(struct softib_qp *priv)
{
	struct rvt_qp *qp = priv->qp;
	unsigned long end = priv->asked_at + (qp->timeout_jiffies << TIMEOUT_SHIFT);

	if (!answer_due(priv))
		return true;
	if (time_after_eq(jiffies, end))
		return false;
	qp->s_flags |= RVT_S_TIMER;
	mod_timer(&qp->s_timer, end + 1);
	return true;
}

/* The retry timer ran out. @psn is always the first unacknowledged one. */
void softib_req_timeout(struct rvt_qp *qp, u32 psn, int wait)
{
	struct softib_qp *priv = qp->priv;

	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK))
		return;
	if (too_early(priv)) {
		rvt_to_iport(qp)->n_rc_timeouts--;
		return;
	}
	priv->gap = false;
	retry(qp);
}

/* Responses or acknowledgments in between are missing. Many packets may show
 * that; one is enough to act on.
 */
static void gap(struct softib_qp *priv)
{
	if (priv->gap)
		return;
	priv->gap = true;
	rvt_to_iport(priv->qp)->n_rdma_seq++;
	retry(priv->qp);
}

static void advance(struct softib_qp *priv, u32 psn)
{
	struct rvt_qp *qp = priv->qp;

	if (softib_psn_diff(psn, una(qp)) <= 0)
		return;
	qp->s_last_psn = psn - 1;
	qp->s_retry = qp->s_retry_cnt;
	qp->s_rnr_retry = qp->s_rnr_retry_cnt;
	priv->gap = false;
}

/* What was sent before, and was to be sent again, may be acknowledged yet. */
static void settle(struct softib_qp *priv)
{
	struct rvt_qp *qp = priv->qp;

	softib_conn_local(qp);
	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK))
		return;
	if (softib_psn_diff(qp->s_psn, una(qp)) < 0) {
		qp->s_psn = una(qp);
		qp->s_cur = qp->s_last;
	}
	/* The answer that is due next has as much time from here on. */
	if (answer_due(priv)) {
		priv->asked_at = jiffies;
		start_timer(priv);
	}
	/* A consumer that posts more says so itself. */
	if (qp->s_cur != READ_ONCE(qp->s_head) || priv->draining)
		softib_qp_schedule(qp);
}

/* Complete what an acknowledgment of all before @psn covers. Returns false if
 * a read or atomic operation that has no response yet is in the way.
 */
static bool acknowledge(struct softib_qp *priv, u32 psn)
{
	struct rvt_qp *qp = priv->qp;

	for (;;) {
		struct rvt_swqe *wqe;

		softib_conn_local(qp);
		if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK) ||
		    softib_psn_diff(psn, una(qp)) <= 0 ||
		    qp->s_last == READ_ONCE(qp->s_head))
			return true;
		wqe = rvt_get_swqe_ptr(qp, qp->s_last);
		if (is_rd_atomic(wqe))
			return false;
		if (softib_psn_diff(psn, wqe->lpsn) <= 0) {
			advance(priv, psn);
			return true;
		}
		advance(priv, wqe->lpsn + 1);
		rvt_send_complete(qp, wqe, IB_WC_SUCCESS);
	}
}

static void rnr_nak(struct softib_qp *priv, u32 aeth)
{
	struct rvt_qp *qp = priv->qp;

	if (qp->s_flags & RVT_S_WAIT_RNR)
		return;
	if (!qp->s_rnr_retry) {
		softib_conn_fail(qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->s_rnr_retry_cnt < 7)
		qp->s_rnr_retry--;
	rvt_to_iport(qp)->n_rnr_naks++;
	rvt_stop_rc_timers(qp);
	restart(qp);
	rvt_add_rnr_timer(qp, aeth);
}

static void nak(struct softib_qp *priv, u32 aeth)
{
	struct rvt_qp *qp = priv->qp;

	switch (aeth >> IB_AETH_CREDIT_SHIFT) {
	case IB_NAK_PSN_ERROR:
		rvt_to_iport(qp)->n_seq_naks++;
		retry(qp);
		break;
	case IB_NAK_INVALID_REQUEST:
		rvt_to_iport(qp)->n_other_naks++;
		softib_conn_fail(qp, IB_WC_REM_INV_REQ_ERR);
		break;
	case IB_NAK_REMOTE_ACCESS_ERROR:
		rvt_to_iport(qp)->n_other_naks++;
		softib_conn_fail(qp, IB_WC_REM_ACCESS_ERR);
		break;
	case IB_NAK_REMOTE_OPERATIONAL_ERROR:
		rvt_to_iport(qp)->n_other_naks++;
		softib_conn_fail(qp, IB_WC_REM_OP_ERR);
		break;
	default:
		/* Reserved codes are ignored (9.7.5.2.8). */
		break;
	}
}

/* 9.7.5.2: an acknowledgment or a negative one */
static void receive_ack(struct softib_qp *priv, u32 psn, u32 aeth)
{
	struct rvt_qp *qp = priv->qp;

	if (softib_psn_diff(psn, una(qp)) < 0) {
		/* Old news, but for the credits in the very last of it */
		if (psn == (qp->s_last_psn & SOFTIB_PSN_MASK) &&
		    aeth >> IB_AETH_NAK_SHIFT == SOFTIB_AETH_ACK)
			rvt_get_credit(qp, aeth);
		return;
	}

	switch (aeth >> IB_AETH_NAK_SHIFT) {
	case SOFTIB_AETH_ACK:
		if (!acknowledge(priv, psn + 1))
			gap(priv);
		rvt_get_credit(qp, aeth);
		break;
	case SOFTIB_AETH_RNR:
		if (acknowledge(priv, psn))
			rnr_nak(priv, aeth);
		else
			gap(priv);
		break;
	case SOFTIB_AETH_NAK:
		if (acknowledge(priv, psn))
			nak(priv, aeth);
		else
			gap(priv);
		break;
	}
}

static void finish_rd_atomic(struct softib_qp *priv, struct rvt_swqe *wqe)
{
	struct rvt_qp *qp = priv->qp;

	/* Responses to a first try may come before the next is sent. */
	if (qp->s_num_rd_atomic)
		qp->s_num_rd_atomic--;
	rvt_send_complete(qp, wqe, IB_WC_SUCCESS);
}

/* A response that is longer or shorter than asked for is one to nothing that
 * was asked (9.7.5.2.5).
 */
static bool receive_read(struct softib_qp *priv, struct rvt_swqe *wqe,
			 const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	u32 psn = una(qp);
	u32 left = wqe->length - softib_msg_offset(qp, wqe, psn);
	bool last = !softib_psn_diff(psn, wqe->lpsn);

	switch (pkt->opcode) {
	case IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST:
	case IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE:
		if (last)
			return false;
		break;
	default:
		if (!last)
			return false;
	}
	if (pkt->len != min_t(u32, left, qp->pmtu))
		return false;

	if (pkt->len) {
		softib_msg_seek(qp, wqe, psn, &priv->rd_pos);
		rvt_copy_sge(qp, &priv->rd_pos.ss, pkt->payload, pkt->len,
			     false, last && rvt_is_user_qp(qp));
	}
	advance(priv, psn + 1);
	if (priv->rd_psns)
		priv->rd_psns--;
	if (last)
		finish_rd_atomic(priv, wqe);
	return true;
}

static bool receive_atomic(struct softib_qp *priv, struct rvt_swqe *wqe,
			   const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	u64 value = ib_u64_get(&pkt->bth->u.at.atomic_ack_eth);

	softib_msg_seek(qp, wqe, wqe->psn, &priv->rd_pos);
	rvt_copy_sge(qp, &priv->rd_pos.ss, &value, sizeof(value), false, false);
	advance(priv, wqe->psn + 1);
	finish_rd_atomic(priv, wqe);
	return true;
}

/* The data of a read or atomic operation; it acknowledges all before it, too.
 */
static void receive_data(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	bool atomic = pkt->opcode == IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE;
	struct rvt_swqe *wqe;
	bool ok;

	if (softib_psn_diff(pkt->psn, una(qp)) < 0)
		return;
	if (!acknowledge(priv, pkt->psn) ||
	    softib_psn_diff(pkt->psn, una(qp)) > 0) {
		gap(priv);
		return;
	}
	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK) ||
	    qp->s_last == READ_ONCE(qp->s_head))
		return;
	wqe = rvt_get_swqe_ptr(qp, qp->s_last);
	if (atomic)
		ok = is_atomic(wqe) && receive_atomic(priv, wqe, pkt);
	else
		ok = wqe->wr.opcode == IB_WR_RDMA_READ &&
		     receive_read(priv, wqe, pkt);
	if (!ok) {
		softib_conn_fail(qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	if (pkt->opcode != IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE)
		rvt_get_credit(qp, be32_to_cpu(pkt->bth->u.aeth));
}

/* A response arrived. */
void softib_req_receive(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;

	/* A response to what was not sent yet is a ghost of an old connection. */
	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK) ||
	    softib_psn_diff(pkt->psn, priv->req_max) >= 0)
		return;
	if (pkt->opcode == IB_OPCODE_RC_ACKNOWLEDGE)
		receive_ack(priv, pkt->psn, be32_to_cpu(pkt->bth->u.aeth));
	else
		receive_data(priv, pkt);
	settle(priv);
}

static bool wants_ack(const struct rvt_qp *qp, const struct rvt_swqe *wqe)
{
	return !softib_psn_diff(qp->s_psn, wqe->lpsn) ||
	       !(qp->s_psn % ACK_INTERVAL);
}

/* One request for all that has not been answered; it takes up the PSNs of its
 * responses.
 */
static struct sk_buff *build_rd_atomic(struct softib_qp *priv,
				       struct rvt_swqe *wqe,
				       struct softib_hdrs *hdrs)
{
	struct rvt_qp *qp = priv->qp;
	u32 offset = softib_msg_offset(qp, wqe, qp->s_psn);
	struct ib_atomic_eth *eth = &hdrs->eth.atomic_eth;

	if (wqe->wr.opcode == IB_WR_RDMA_READ) {
		hdrs->opcode = IB_OPCODE_RC_RDMA_READ_REQUEST;
		softib_put_reth(&hdrs->eth.rc.reth,
				wqe->rdma_wr.remote_addr + offset,
				wqe->rdma_wr.rkey, wqe->length - offset);
	} else {
		bool swap = wqe->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP;
		u64 arg = wqe->atomic_wr.compare_add;

		hdrs->opcode = swap ? IB_OPCODE_RC_COMPARE_SWAP :
				      IB_OPCODE_RC_FETCH_ADD;
		put_ib_ateth_vaddr(wqe->atomic_wr.remote_addr, eth);
		eth->rkey = cpu_to_be32(wqe->atomic_wr.rkey);
		put_ib_ateth_swap(swap ? wqe->atomic_wr.swap : arg, eth);
		put_ib_ateth_compare(swap ? arg : 0, eth);
	}
	qp->s_num_rd_atomic++;
	if (wqe->wr.opcode == IB_WR_RDMA_READ)
		priv->rd_psns += softib_psn_diff(wqe->lpsn, qp->s_psn) + 1;
	qp->s_psn = wqe->lpsn + 1;
	qp->s_cur = rvt_qp_swqe_incr(qp, qp->s_cur);
	return softib_pkt_build(qp_to_hca(qp), hdrs, NULL, 0, false);
}

/* Has nothing of it ever been sent? */
static bool begins(const struct softib_qp *priv, const struct rvt_swqe *wqe)
{
	return softib_psn_diff(wqe->psn, priv->req_max) >= 0;
}

/* May that many packets be on their way? The responses to reads do not count: there is
 * another limit to how many are asked for at a time. But all PSNs that are in use must be
 * comparable.
 */
static bool window_open(const struct softib_qp *priv, const struct rvt_swqe *wqe)
{
	const struct rvt_qp *qp = priv->qp;
	u32 used = softib_psn_diff(qp->s_psn, una(qp));

	if (wqe->wr.opcode == IB_WR_RDMA_READ)
		return !used || used + softib_psn_diff(wqe->lpsn, qp->s_psn) < SOFTIB_MAX_PKTS;
	return used - priv->rd_psns < WINDOW;
}

/* May the next packet, which belongs to @wqe, be sent now? What makes it so
 * schedules the QP again.
 */
static bool may_send(struct softib_qp *priv, struct rvt_swqe *wqe)
{
	struct rvt_qp *qp = priv->qp;

	if (!window_open(priv, wqe))
		return false;
	if (begins(priv, wqe)) {
		if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_NEXT_SEND_OK))
			return false;
		if (takes_receive(wqe) && !rvt_rc_credit_avail(qp, wqe))
			return false;
	}
	if (wqe->wr.send_flags & IB_SEND_FENCE && qp->s_num_rd_atomic)
		return false;
	return !is_rd_atomic(wqe) || qp->s_num_rd_atomic < qp->s_max_rd_atomic;
}

/* Sends the next packet of the requester. Returns true if there may be more to do. */
bool softib_req_send(struct softib_qp *priv, struct sk_buff_head *out)
{
	struct rvt_qp *qp = priv->qp;
	struct softib_hdrs hdrs;
	struct rvt_swqe *wqe;
	struct sk_buff *skb;
	bool asks = true;

	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK))
		return softib_flush_send(qp);
	if (qp->s_flags & RVT_S_WAIT_RNR)
		return false;
	softib_conn_local(qp);
	/* Pairs with the barrier in rvt_post_one_wr() */
	if (qp->s_cur == smp_load_acquire(&qp->s_head))
		return false;
	wqe = rvt_get_swqe_ptr(qp, qp->s_cur);
	if (softib_is_local(wqe)) {
		if (!(wqe->wr.send_flags & RVT_SEND_COMPLETION_ONLY))
			return false;
		qp->s_cur = rvt_qp_swqe_incr(qp, qp->s_cur);
		return true;
	}
	if (!may_send(priv, wqe))
		return false;
	if (qp->s_cur == qp->s_last && begins(priv, wqe) && softib_fail_request(qp)) {
		softib_conn_fail(qp, IB_WC_LOC_PROT_ERR);
		return true;
	}

	softib_conn_hdrs(qp, &hdrs, qp->s_psn);
	if (is_rd_atomic(wqe)) {
		skb = build_rd_atomic(priv, wqe, &hdrs);
	} else {
		asks = wants_ack(qp, wqe);
		if (asks)
			hdrs.psn |= IB_BTH_REQ_ACK;
		skb = softib_msg_build(priv, wqe, &hdrs);
	}
	if (skb)
		__skb_queue_tail(out, skb);
	if (softib_psn_diff(qp->s_psn, priv->req_max) > 0)
		priv->req_max = qp->s_psn;
	if (asks) {
		/* An answer that is due already does not get more time. */
		if (!answer_due(priv))
			priv->asked_at = jiffies;
		priv->req_asked = qp->s_psn;
		start_timer(priv);
	}
	return true;
}

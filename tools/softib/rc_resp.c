// SPDX-License-Identifier: GPL-2.0
/*
 * Reliable connections, responder's side (IBA 9.7.4, 9.7.5)
 *
 * Requests are carried out in the order of their PSNs, the next of which is
 * qp->r_psn. Reads and atomic operations leave an entry in the ring
 * qp->s_ack_queue, from which their responses are sent, and which stays until
 * the ring comes round, to answer the request again. From s_tail_ack_queue to
 * r_head_ack_queue are the entries that have something to send. An
 * acknowledgment or a negative one goes out when they have all been sent, so
 * it never overtakes them.
 *
 * All functions are called with the QP's r_lock and s_lock held.
 */
#include "softib.h"

#define ACK_OWED	RVT_R_RSP_SEND
#define NAK_OWED	RVT_R_RSP_NAK

static u32 next_entry(u32 i)
{
	return i + 1 < SOFTIB_NACKS ? i + 1 : 0;
}

static u32 prev_entry(u32 i)
{
	return i ? i - 1 : SOFTIB_NACKS - 1;
}

static void drop_entry(struct rvt_ack_entry *e)
{
	if (e->rdma_sge.mr) {
		rvt_put_mr(e->rdma_sge.mr);
		e->rdma_sge.mr = NULL;
	}
	e->sent = 1;
}

static void owe_ack(struct rvt_qp *qp)
{
	qp->r_flags |= ACK_OWED;
	softib_qp_schedule(qp);
}

/* A NAK for the packet that was expected. Until that comes, all others are
 * dropped. With @status the QP ends in error when the NAK has been sent.
 */
static void owe_nak(struct softib_qp *priv, u8 syndrome,
		    enum ib_wc_status status)
{
	struct rvt_qp *qp = priv->qp;

	qp->r_nak_state = syndrome;
	qp->r_flags |= NAK_OWED;
	priv->nak_status = status;
	softib_qp_schedule(qp);
}

static void invalid_request(struct softib_qp *priv)
{
	owe_nak(priv, IB_NAK_INVALID_REQUEST, IB_WC_LOC_QP_OP_ERR);
}

static void access_error(struct softib_qp *priv)
{
	owe_nak(priv, IB_NAK_REMOTE_ACCESS_ERROR, IB_WC_LOC_ACCESS_ERR);
}

static void not_ready(struct softib_qp *priv)
{
	owe_nak(priv, IB_RNR_NAK | priv->qp->r_min_rnr_timer, IB_WC_SUCCESS);
}

static void execute_message(struct softib_qp *priv,
			    const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;

	switch (softib_msg_receive(priv, pkt)) {
	case SOFTIB_MSG_DONE:
		qp->r_psn = (qp->r_psn + 1) & SOFTIB_PSN_MASK;
		if (ib_bth_get_ackreq(pkt->bth))
			owe_ack(qp);
		break;
	case SOFTIB_MSG_NOT_READY:
		not_ready(priv);
		break;
	case SOFTIB_MSG_BAD_RECEIVE:
		owe_nak(priv, IB_NAK_REMOTE_OPERATIONAL_ERROR,
			IB_WC_LOC_QP_OP_ERR);
		break;
	case SOFTIB_MSG_BAD_LENGTH:
		owe_nak(priv, IB_NAK_INVALID_REQUEST, IB_WC_LOC_LEN_ERR);
		break;
	case SOFTIB_MSG_INVALID:
		invalid_request(priv);
		break;
	case SOFTIB_MSG_NO_ACCESS:
		access_error(priv);
		break;
	}
}

/* Room for one more read or atomic operation. There is some for as many as may
 * be agreed on; a requester that has more under way has to send them again.
 */
static struct rvt_ack_entry *new_entry(struct rvt_qp *qp)
{
	struct rvt_ack_entry *e = &qp->s_ack_queue[qp->r_head_ack_queue];

	if (next_entry(qp->r_head_ack_queue) == qp->s_tail_ack_queue)
		return NULL;
	drop_entry(e);
	return e;
}

static void push_entry(struct softib_qp *priv, struct rvt_ack_entry *e,
		       u8 opcode, u32 npsn)
{
	struct rvt_qp *qp = priv->qp;
	u32 i = qp->r_head_ack_queue;

	e->opcode = opcode;
	e->psn = qp->r_psn;
	e->lpsn = qp->r_psn + npsn - 1;
	e->sent = 0;
	priv->ack_psn[i] = e->psn;
	priv->ack_first[i] = e->psn;
	qp->r_head_ack_queue = next_entry(i);
	qp->r_psn = (qp->r_psn + npsn) & SOFTIB_PSN_MASK;
	qp->r_msn++;
	softib_qp_schedule(qp);
}

static u32 read_psns(struct rvt_qp *qp, u32 len)
{
	return len ? rvt_div_round_up_mtu(qp, len) : 1;
}

/* Are reads, or atomic operations, as @access says, allowed here and now? */
static bool rd_atomic_ok(struct softib_qp *priv, int access)
{
	struct rvt_qp *qp = priv->qp;

	return priv->msg == SOFTIB_MSG_NONE && qp->r_max_rd_atomic &&
	       qp->qp_access_flags & access;
}

static bool read_ok(struct rvt_qp *qp, struct ib_reth *reth,
		    struct rvt_sge *sge)
{
	u32 len = be32_to_cpu(reth->length);

	memset(sge, 0, sizeof(*sge));
	return !len || softib_rkey_ok(qp, sge, get_ib_reth_vaddr(reth),
			       be32_to_cpu(reth->rkey), len,
			       IB_ACCESS_REMOTE_READ);
}

static void execute_read(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	struct ib_reth *reth = &pkt->bth->u.rc.reth;
	u32 len = be32_to_cpu(reth->length);
	struct rvt_ack_entry *e;

	if (!rd_atomic_ok(priv, IB_ACCESS_REMOTE_READ) ||
	    len > SOFTIB_MAX_MSG || len >> qp->log_pmtu > SOFTIB_MAX_PKTS) {
		invalid_request(priv);
		return;
	}
	e = new_entry(qp);
	if (!e)
		return;
	if (!read_ok(qp, reth, &e->rdma_sge)) {
		access_error(priv);
		return;
	}
	push_entry(priv, e, pkt->opcode, read_psns(qp, len));
}

/* 9.4.5; the memory is locked against our own CPUs, which are the only ones. */
static bool atomic_op(struct rvt_qp *qp, const struct softib_pkt *pkt,
		      u64 *old)
{
	struct ib_atomic_eth *eth = &pkt->bth->u.atomic_eth;
	u64 swap = get_ib_ateth_swap(eth);
	struct rvt_sge sge;
	atomic64_t *target;
	bool ok;

	if (!softib_rkey_ok(qp, &sge, get_ib_ateth_vaddr(eth),
			    be32_to_cpu(eth->rkey), sizeof(u64),
			    IB_ACCESS_REMOTE_ATOMIC))
		return false;
	target = sge.vaddr;
	ok = sge.length >= sizeof(u64) &&
	     IS_ALIGNED((unsigned long)target, sizeof(u64));
	if (ok && pkt->opcode == IB_OPCODE_RC_FETCH_ADD)
		*old = atomic64_fetch_add(swap, target);
	else if (ok)
		*old = atomic64_cmpxchg(target, get_ib_ateth_compare(eth),
					swap);
	rvt_put_mr(sge.mr);
	return ok;
}

static void execute_atomic(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	struct rvt_ack_entry *e;

	if (!rd_atomic_ok(priv, IB_ACCESS_REMOTE_ATOMIC) ||
	    get_ib_ateth_vaddr(&pkt->bth->u.atomic_eth) % sizeof(u64)) {
		invalid_request(priv);
		return;
	}
	e = new_entry(qp);
	if (!e)
		return;
	if (!atomic_op(qp, pkt, &e->atomic_data)) {
		access_error(priv);
		return;
	}
	push_entry(priv, e, pkt->opcode, 1);
}

/* Is entry @i older than the oldest that has something to send? */
static bool is_done(struct rvt_qp *qp, u32 i)
{
	u32 head = qp->r_head_ack_queue, tail = qp->s_tail_ack_queue;

	return tail <= head ? i < tail || i >= head : i < tail && i >= head;
}

/* The entry that @psn falls into, or -1; the youngest is looked at first. */
static int find_entry(struct rvt_qp *qp, u32 psn)
{
	u32 i = qp->r_head_ack_queue;
	int n;

	for (n = 1; n < SOFTIB_NACKS; n++) {
		struct rvt_ack_entry *e;

		i = prev_entry(i);
		e = &qp->s_ack_queue[i];
		if (e->opcode && softib_psn_diff(psn, e->psn) >= 0 &&
		    softib_psn_diff(psn, e->lpsn) <= 0)
			return i;
	}
	return -1;
}

/* A read that was carried out before is carried out again, from where the
 * request says; of an atomic operation the result is sent again (9.7.5.1.3).
 * What is no such thing, or too old to be known, gets no answer.
 */
static void repeat_entry(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	struct rvt_ack_entry *e;
	int i = find_entry(qp, pkt->psn);

	if (i < 0)
		return;
	e = &qp->s_ack_queue[i];
	if (e->opcode != pkt->opcode)
		return;
	if (pkt->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST) {
		struct ib_reth *reth = &pkt->bth->u.rc.reth;
		u32 npsn = read_psns(qp, be32_to_cpu(reth->length));

		if (softib_psn_diff(pkt->psn + npsn - 1, e->lpsn))
			return;
		drop_entry(e);
		if (!(qp->qp_access_flags & IB_ACCESS_REMOTE_READ) ||
		    !read_ok(qp, reth, &e->rdma_sge))
			return;
		priv->ack_psn[i] = pkt->psn;
		priv->ack_first[i] = pkt->psn;
	}
	e->sent = 0;
	if (is_done(qp, i))
		qp->s_tail_ack_queue = i;
	softib_qp_schedule(qp);
}

static void receive_duplicate(struct softib_qp *priv,
			      const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;

	qp_to_hca(qp)->ibp.n_rc_dupreq++;
	switch (pkt->opcode) {
	case IB_OPCODE_RC_RDMA_READ_REQUEST:
	case IB_OPCODE_RC_COMPARE_SWAP:
	case IB_OPCODE_RC_FETCH_ADD:
		repeat_entry(priv, pkt);
		break;
	default:
		owe_ack(qp);
	}
}

/* A request arrived. */
void softib_resp_receive(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	int diff = softib_psn_diff(pkt->psn, qp->r_psn);

	if (priv->nak_status != IB_WC_SUCCESS)
		return;
	if (diff < 0) {
		receive_duplicate(priv, pkt);
		return;
	}
	if (diff > 0) {
		qp_to_hca(qp)->ibp.n_rc_seqnak++;
		if (!qp->r_nak_state)
			owe_nak(priv, IB_NAK_PSN_ERROR, IB_WC_SUCCESS);
		return;
	}

	qp->r_nak_state = 0;
	qp->r_flags &= ~NAK_OWED;
	switch (pkt->opcode) {
	case IB_OPCODE_RC_RDMA_READ_REQUEST:
		execute_read(priv, pkt);
		break;
	case IB_OPCODE_RC_COMPARE_SWAP:
	case IB_OPCODE_RC_FETCH_ADD:
		execute_atomic(priv, pkt);
		break;
	default:
		execute_message(priv, pkt);
	}
}

static u8 response_opcode(bool first, bool last)
{
	if (first)
		return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY :
			      IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST;
	return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST :
		      IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE;
}

static struct sk_buff *build_read(struct softib_qp *priv, u32 i)
{
	struct rvt_qp *qp = priv->qp;
	struct rvt_ack_entry *e = &qp->s_ack_queue[i];
	struct rvt_sge_state ss = { .sge = e->rdma_sge, .num_sge = 1 };
	u32 psn = priv->ack_psn[i]++, len = 0;
	bool last = !softib_psn_diff(psn, e->lpsn);
	struct softib_hdrs hdrs;
	struct sk_buff *skb;

	if (e->rdma_sge.mr)
		len = min_t(u32, e->rdma_sge.sge_length, qp->pmtu);
	softib_conn_hdrs(qp, &hdrs, psn);
	hdrs.opcode = response_opcode(psn == priv->ack_first[i], last);
	hdrs.eth.aeth = rvt_compute_aeth(qp);
	skb = softib_pkt_build(qp_to_hca(qp), &hdrs, &ss, len, false);
	e->rdma_sge = ss.sge;
	if (last)
		drop_entry(e);
	return skb;
}

static struct sk_buff *build_atomic(struct softib_qp *priv, u32 i)
{
	struct rvt_qp *qp = priv->qp;
	struct rvt_ack_entry *e = &qp->s_ack_queue[i];
	struct softib_hdrs hdrs;

	e->sent = 1;
	softib_conn_hdrs(qp, &hdrs, e->psn);
	hdrs.opcode = IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE;
	hdrs.eth.at.aeth = rvt_compute_aeth(qp);
	ib_u64_put(e->atomic_data, &hdrs.eth.at.atomic_ack_eth);
	return softib_pkt_build(qp_to_hca(qp), &hdrs, NULL, 0, false);
}

static struct sk_buff *build_ack(struct rvt_qp *qp, u32 psn, __be32 aeth)
{
	struct softib_hdrs hdrs;

	softib_conn_hdrs(qp, &hdrs, psn);
	hdrs.opcode = IB_OPCODE_RC_ACKNOWLEDGE;
	hdrs.eth.aeth = aeth;
	return softib_pkt_build(qp_to_hca(qp), &hdrs, NULL, 0, false);
}

/* What no completion tells the consumer an event does (11.6.3.2). */
static void end_in_error(struct softib_qp *priv)
{
	struct rvt_qp *qp = priv->qp;
	bool completes = test_bit(RVT_R_WRID_VALID, &qp->r_aflags);

	if (qp->r_nak_state == IB_NAK_REMOTE_ACCESS_ERROR)
		__set_bit(IB_EVENT_QP_ACCESS_ERR, &priv->events);
	else if (qp->r_nak_state == IB_NAK_INVALID_REQUEST && !completes)
		__set_bit(IB_EVENT_QP_REQ_ERR, &priv->events);
	softib_qp_error(qp, priv->nak_status);
}

static struct sk_buff *build_nak(struct softib_qp *priv)
{
	struct rvt_qp *qp = priv->qp;
	u32 aeth = (u32)qp->r_nak_state << IB_AETH_CREDIT_SHIFT |
		   (qp->r_msn & IB_MSN_MASK);
	struct sk_buff *skb;

	skb = build_ack(qp, qp->r_psn, cpu_to_be32(aeth));
	if (priv->nak_status != IB_WC_SUCCESS)
		end_in_error(priv);
	return skb;
}

/* The next response that an entry has, which moves the tail past it if it was
 * the last.
 */
static bool next_response(struct softib_qp *priv, struct sk_buff **skb)
{
	struct rvt_qp *qp = priv->qp;

	while (qp->s_tail_ack_queue != qp->r_head_ack_queue) {
		u32 i = qp->s_tail_ack_queue;
		struct rvt_ack_entry *e = &qp->s_ack_queue[i];

		if (e->sent) {
			qp->s_tail_ack_queue = next_entry(i);
			continue;
		}
		*skb = e->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST ?
		       build_read(priv, i) : build_atomic(priv, i);
		return true;
	}
	return false;
}

/* Sends the next packet of the responder. Returns true if there may be more to do. */
bool softib_resp_send(struct softib_qp *priv, struct sk_buff_head *out)
{
	struct rvt_qp *qp = priv->qp;
	struct sk_buff *skb;

	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK))
		return false;
	if (!next_response(priv, &skb)) {
		if (qp->r_flags & NAK_OWED) {
			qp->r_flags &= ~(NAK_OWED | ACK_OWED);
			skb = build_nak(priv);
		} else if (qp->r_flags & ACK_OWED) {
			qp->r_flags &= ~ACK_OWED;
			skb = build_ack(qp, qp->r_psn - 1,
					rvt_compute_aeth(qp));
		} else {
			return false;
		}
	}
	if (skb)
		__skb_queue_tail(out, skb);
	return true;
}

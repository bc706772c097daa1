// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: how the data of sends and RDMA writes is cut into packets and put
 * together again, on reliable and unreliable connections alike (IBA 9.7.4)
 *
 * All functions are called with the QP's r_lock and s_lock held.
 */
#include "softib.h"

/* What the opcode of a send or write says about a packet; the first two are
 * enum softib_msg.
 */
#define SEND	SOFTIB_MSG_SEND
#define RWRITE	SOFTIB_MSG_WRITE
#define FIRST	BIT(2)
#define LAST	BIT(3)
#define WITH_IMM BIT(4)
#define WITH_INV BIT(5)

/* By operation, the part of the opcode that does not name the service */
static const u8 parts[] = {
	[IB_OPCODE_SEND_FIRST] = SEND | FIRST,
	[IB_OPCODE_SEND_MIDDLE] = SEND,
	[IB_OPCODE_SEND_LAST] = SEND | LAST,
	[IB_OPCODE_SEND_LAST_WITH_IMMEDIATE] = SEND | LAST | WITH_IMM,
	[IB_OPCODE_SEND_LAST_WITH_INVALIDATE] = SEND | LAST | WITH_INV,
	[IB_OPCODE_SEND_ONLY] = SEND | FIRST | LAST,
	[IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE] = SEND | FIRST | LAST | WITH_IMM,
	[IB_OPCODE_SEND_ONLY_WITH_INVALIDATE] = SEND | FIRST | LAST | WITH_INV,
	[IB_OPCODE_RDMA_WRITE_FIRST] = RWRITE | FIRST,
	[IB_OPCODE_RDMA_WRITE_MIDDLE] = RWRITE,
	[IB_OPCODE_RDMA_WRITE_LAST] = RWRITE | LAST,
	[IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE] = RWRITE | LAST | WITH_IMM,
	[IB_OPCODE_RDMA_WRITE_ONLY] = RWRITE | FIRST | LAST,
	[IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE] =
		RWRITE | FIRST | LAST | WITH_IMM,
};

static u8 part_of(u8 opcode)
{
	return parts[opcode & ~RVT_OPCODE_QP_MASK];
}

/* Where in the message of @wqe, in bytes, the packet with @psn begins. */
u32 softib_msg_offset(struct rvt_qp *qp, struct rvt_swqe *wqe, u32 psn)
{
	return softib_psn_diff(psn, wqe->psn) << qp->log_pmtu;
}

/*
 * Has @pos point to the data of a packet. It does already if the packet before was the last that it
 * was used for.
 */
void softib_msg_seek(struct rvt_qp *qp, struct rvt_swqe *wqe, u32 psn,
		     struct softib_pos *pos)
{
	u32 offset = softib_msg_offset(qp, wqe, psn);

	if (!offset || !pos->valid || softib_psn_diff(psn, pos->psn))
		rvt_restart_sge(&pos->ss, wqe, offset);
	pos->valid = true;
	pos->psn = psn + 1;
}

static u8 send_opcode(const struct rvt_swqe *wqe, bool first, bool last)
{
	if (!last)
		return first ? IB_OPCODE_SEND_FIRST : IB_OPCODE_SEND_MIDDLE;
	switch (wqe->wr.opcode) {
	case IB_WR_SEND_WITH_IMM:
		return first ? IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE :
			       IB_OPCODE_SEND_LAST_WITH_IMMEDIATE;
	case IB_WR_SEND_WITH_INV:
		return first ? IB_OPCODE_SEND_ONLY_WITH_INVALIDATE :
			       IB_OPCODE_SEND_LAST_WITH_INVALIDATE;
	default:
		return first ? IB_OPCODE_SEND_ONLY : IB_OPCODE_SEND_LAST;
	}
}

static u8 write_opcode(const struct rvt_swqe *wqe, bool first, bool last)
{
	if (!last)
		return first ? IB_OPCODE_RDMA_WRITE_FIRST :
			       IB_OPCODE_RDMA_WRITE_MIDDLE;
	if (wqe->wr.opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		return first ? IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE :
			       IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE;
	return first ? IB_OPCODE_RDMA_WRITE_ONLY : IB_OPCODE_RDMA_WRITE_LAST;
}

/* IBA 9.3.3. */
void softib_put_reth(struct ib_reth *reth, u64 vaddr, u32 rkey, u32 len)
{
	put_ib_reth_vaddr(vaddr, reth);
	reth->rkey = cpu_to_be32(rkey);
	reth->length = cpu_to_be32(len);
}

/* Headers of the packet with PSN qp->s_psn; the immediate data or the R_Key to
 * invalidate comes last, behind a RETH if there is one.
 */
static void message_hdrs(struct rvt_qp *qp, struct rvt_swqe *wqe,
			 struct softib_hdrs *hdrs)
{
	bool first = !softib_psn_diff(qp->s_psn, wqe->psn);
	bool last = !softib_psn_diff(qp->s_psn, wqe->lpsn);

	if (wqe->wr.opcode == IB_WR_RDMA_WRITE ||
	    wqe->wr.opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
		hdrs->opcode = write_opcode(wqe, first, last);
		if (first)
			softib_put_reth(&hdrs->eth.rc.reth,
					wqe->rdma_wr.remote_addr,
					wqe->rdma_wr.rkey, wqe->length);
		if (last && first)
			hdrs->eth.rc.imm_data = wqe->wr.ex.imm_data;
		else if (last)
			hdrs->eth.imm_data = wqe->wr.ex.imm_data;
	} else {
		hdrs->opcode = send_opcode(wqe, first, last);
		if (wqe->wr.opcode == IB_WR_SEND_WITH_INV)
			hdrs->eth.ieth =
				cpu_to_be32(wqe->wr.ex.invalidate_rkey);
		else
			hdrs->eth.imm_data = wqe->wr.ex.imm_data;
	}
	hdrs->opcode |= qp->allowed_ops;
	if (last && wqe->wr.send_flags & IB_SEND_SOLICITED)
		hdrs->flags |= IB_BTH_SOLICITED;
}

/*
 * Builds the packet with PSN qp->s_psn, or returns NULL without memory. @wqe is at qp->s_cur, and
 * @hdrs are as softib_conn_hdrs() left them. qp->s_psn and, at the end of a message, qp->s_cur go
 * on to the next packet.
 */
struct sk_buff *softib_msg_build(struct softib_qp *priv, struct rvt_swqe *wqe,
				 struct softib_hdrs *hdrs)
{
	struct rvt_qp *qp = priv->qp;
	u32 offset = softib_msg_offset(qp, wqe, qp->s_psn);
	u32 len = min_t(u32, wqe->length - offset, qp->pmtu);
	struct sk_buff *skb;

	message_hdrs(qp, wqe, hdrs);
	if (len)
		softib_msg_seek(qp, wqe, qp->s_psn, &priv->req_pos);
	skb = softib_pkt_build(qp_to_hca(qp), hdrs, &priv->req_pos.ss, len,
			       false);
	if (softib_psn_diff(++qp->s_psn, wqe->lpsn) > 0)
		qp->s_cur = rvt_qp_swqe_incr(qp, qp->s_cur);
	return skb;
}

/*
 * May the other side use an R_Key in this way (IBA 10.6.7)? @sge takes the memory, with a reference
 * to its region. rvt_rkey_ok() takes R_Key 0 for all of memory, which no peer may have, and trusts
 * the end of the range not to wrap.
 */
bool softib_rkey_ok(struct rvt_qp *qp, struct rvt_sge *sge, u64 vaddr,
		    u32 rkey, u32 len, int access)
{
	if (!rkey || vaddr + len < vaddr)
		return false;
	return rvt_rkey_ok(qp, sge, len, vaddr, rkey, access);
}

/* Get a receive: the one that was got for a message that then went missing, or
 * the next. A write with immediate data needs nothing but its name.
 */
static enum softib_msg_result get_receive(struct rvt_qp *qp, bool name_only)
{
	int ret;

	if (!test_and_clear_bit(RVT_R_REWIND_SGE, &qp->r_aflags))
		ret = softib_take_receive(qp, name_only);
	else
		ret = name_only ? 1 : softib_reopen_receive(qp);
	if (ret > 0)
		return SOFTIB_MSG_DONE;
	return ret ? SOFTIB_MSG_BAD_RECEIVE : SOFTIB_MSG_NOT_READY;
}

/* Take in what the first packet of a write says about its message. */
static enum softib_msg_result begin_write(struct rvt_qp *qp,
					  const struct softib_pkt *pkt)
{
	struct ib_reth *reth = &pkt->bth->u.rc.reth;
	u32 len = be32_to_cpu(reth->length);

	if (!(qp->qp_access_flags & IB_ACCESS_REMOTE_WRITE) ||
	    len > SOFTIB_MAX_MSG)
		return SOFTIB_MSG_INVALID;
	if (len && !softib_rkey_ok(qp, &qp->r_sge.sge, get_ib_reth_vaddr(reth),
				   be32_to_cpu(reth->rkey), len,
				   IB_ACCESS_REMOTE_WRITE))
		return SOFTIB_MSG_NO_ACCESS;
	qp->r_sge.sg_list = NULL;
	qp->r_sge.num_sge = !!len;
	qp->r_sge.total_len = len;
	qp->r_len = len;
	return SOFTIB_MSG_DONE;
}

static enum softib_msg_result begin(struct softib_qp *priv, u8 part,
				    const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	enum softib_msg_result ret;

	ret = part & SEND ? get_receive(qp, false) : begin_write(qp, pkt);
	if (ret != SOFTIB_MSG_DONE)
		return ret;
	priv->msg = part & (SEND | RWRITE);
	priv->rcv = qp->r_sge;
	qp->r_rcv_len = 0;
	return SOFTIB_MSG_DONE;
}

/* Lengths, 9.7.4.1.6: every packet but the last is full, and a message fits
 * what was announced or posted for it.
 */
static bool length_ok(struct rvt_qp *qp, u8 part, u32 len)
{
	u32 sum = qp->r_rcv_len + len;

	if (len > qp->pmtu || (!(part & LAST) && len != qp->pmtu) ||
	    (!(part & FIRST) && !len) || sum > qp->r_len)
		return false;
	return !(part & RWRITE) || !(part & LAST) || sum == qp->r_len;
}

/* The other side may take back what it was given: a region that was registered by a
 * work request, with remote access (IBA 10.6.5). Only the kernel can have one; with
 * programs, a peer would take the memory of their receives away.
 */
static bool invalidate(struct rvt_qp *qp, u32 rkey)
{
	const int remote = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
			   IB_ACCESS_REMOTE_ATOMIC;
	struct rvt_dev_info *rdi = ib_to_rvt(qp->ibqp.device);
	const struct rvt_mregion *mr;
	bool given;

	if (rvt_is_user_qp(qp))
		return false;
	rcu_read_lock();
	mr = rcu_dereference(rdi->lkey_table.table[rkey >> (32 - rdi->dparms.lkey_table_size)]);
	given = mr && READ_ONCE(mr->access_flags) & remote;
	rcu_read_unlock();
	return given && !rvt_invalidate_rkey(qp, rkey);
}

static void complete_receive(struct rvt_qp *qp, u8 part,
			     const struct softib_pkt *pkt)
{
	const struct ib_other_headers *bth = pkt->bth;
	struct ib_wc wc = {
		.wr_id = qp->r_wr_id,
		.opcode = part & SEND ? IB_WC_RECV : IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = qp->r_rcv_len,
		.qp = &qp->ibqp,
		.src_qp = qp->remote_qpn,
		.slid = pkt->slid,
		.sl = pkt->sl,
		.port_num = qp->port_num,
	};

	if (!test_and_clear_bit(RVT_R_WRID_VALID, &qp->r_aflags))
		return;
	if (part & WITH_IMM) {
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = part & RWRITE && part & FIRST ?
				 bth->u.rc.imm_data : bth->u.imm_data;
	} else if (part & WITH_INV) {
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = be32_to_cpu(bth->u.ieth);
	}
	rvt_recv_cq(qp, &wc, ib_bth_is_solicited(pkt->bth));
}

/* Is a packet the first of a message? The opcode is that of a send or write. */
bool softib_msg_begins(u8 opcode)
{
	return part_of(opcode) & FIRST;
}

/*
 * Forgets the message that is arriving, if one is. The receive that a send has got waits for the
 * next one. It keeps no reference to its memory meanwhile: the consumer may take that back.
 */
void softib_msg_abandon(struct softib_qp *priv)
{
	struct rvt_qp *qp = priv->qp;

	if (priv->msg != SOFTIB_MSG_NONE)
		rvt_put_ss(&qp->r_sge);
	if (priv->msg == SOFTIB_MSG_SEND)
		set_bit(RVT_R_REWIND_SGE, &qp->r_aflags);
	priv->msg = SOFTIB_MSG_NONE;
}

/*
 * A packet of a send or write arrived, the next one by its PSN. What is wrong with it is found
 * before anything of it is carried out. With SOFTIB_MSG_NOT_READY it may come again.
 */
enum softib_msg_result softib_msg_receive(struct softib_qp *priv,
					  const struct softib_pkt *pkt)
{
	u8 part = part_of(pkt->opcode), msg = part & (SEND | RWRITE);
	enum softib_msg_result ret = SOFTIB_MSG_DONE;
	struct rvt_qp *qp = priv->qp;

	if (priv->msg != (part & FIRST ? SOFTIB_MSG_NONE : msg))
		return SOFTIB_MSG_INVALID;
	if (part & FIRST)
		ret = begin(priv, part, pkt);
	if (ret != SOFTIB_MSG_DONE)
		return ret;
	if (!length_ok(qp, part, pkt->len))
		return SOFTIB_MSG_BAD_LENGTH;
	if (msg == RWRITE && part & WITH_IMM)
		ret = get_receive(qp, true);
	if (ret == SOFTIB_MSG_NOT_READY && part & FIRST)
		softib_msg_abandon(priv);
	if (ret != SOFTIB_MSG_DONE)
		return ret;
	if (part & WITH_INV && !invalidate(qp, be32_to_cpu(pkt->bth->u.ieth)))
		return SOFTIB_MSG_NO_ACCESS;

	if (pkt->len)
		rvt_copy_sge(qp, &priv->rcv, pkt->payload, pkt->len, false,
			     msg == RWRITE && part & LAST && rvt_is_user_qp(qp));
	qp->r_rcv_len += pkt->len;
	if (part & LAST) {
		rvt_put_ss(&qp->r_sge);
		priv->msg = SOFTIB_MSG_NONE;
		qp->r_msn++;
		/* A write has none, but an abandoned send's may be waiting. */
		if (part & (SEND | WITH_IMM))
			complete_receive(qp, part, pkt);
	}
	return SOFTIB_MSG_DONE;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Unreliable datagrams, and with them QP0 and QP1 (IBA 9.8.2)
 */
#include "fail.h"

/* IBV_WC_IP_CSUM_OK of libibverbs; no header of the kernel has it. */
#define USER_WC_IP_CSUM_OK	BIT(2)

/* Without SMPs' own routing the SLID is the base LID; a permissive DLID says
 * that the SMP is routed by its path, and then so is the SLID (14.2.2.1).
 */
static u16 source_lid(struct softib_port *port, const struct rdma_ah_attr *ah)
{
	u16 permissive = be16_to_cpu(IB_LID_PERMISSIVE);

	if (rdma_ah_get_dlid(ah) == permissive)
		return permissive;
	return softib_source_lid(port, ah);
}

/* A packet with the next @len bytes of data, after the first @offset ones */
static struct sk_buff *build(struct softib_hca *hca, struct rvt_qp *qp,
			     struct rvt_swqe *wqe, u32 offset, u32 len)
{
	struct softib_port *port = softib_hca_port(hca);
	const struct ib_ud_wr *wr = &wqe->ud_wr.wr;
	bool imm = wqe->wr.opcode == IB_WR_SEND_WITH_IMM;
	u32 qkey = rvt_get_swqe_remote_qkey(wqe);
	u16 pkey_index = qp->s_pkey_index;
	struct softib_hdrs hdrs = {
		.ah = rvt_get_swqe_ah_attr(wqe),
		.qpn = rvt_get_swqe_remote_qpn(wqe),
		.psn = wqe->psn,
		.flags = IB_BTH_MIG_REQ,
		.opcode = imm ? IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE :
				IB_OPCODE_UD_SEND_ONLY,
	};
	struct sk_buff *skb;

	hdrs.slid = source_lid(port, hdrs.ah);
	if (qp->ibqp.qp_type == IB_QPT_SMI)
		hdrs.vl = SOFTIB_VL_SMP;
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		pkey_index = rvt_get_swqe_pkey_index(wqe);
	hdrs.pkey = qp->ibqp.qp_type == IB_QPT_SMI ? IB_DEFAULT_PKEY_FULL :
		    READ_ONCE(port->pkeys[pkey_index]);
	if (wqe->wr.send_flags & IB_SEND_SOLICITED)
		hdrs.flags |= IB_BTH_SOLICITED;
	/* A Q_Key with the high bit set stands for the QP's own (10.2.5). */
	hdrs.eth.ud.deth[0] = cpu_to_be32(qkey & BIT(31) ? qp->qkey : qkey);
	hdrs.eth.ud.deth[1] = cpu_to_be32(qp->ibqp.qp_num);
	hdrs.eth.ud.imm_data = wqe->wr.ex.imm_data;
	if (wqe->wr.opcode == IB_WR_LSO) {
		hdrs.psn = (wqe->psn + offset / wr->mss) & SOFTIB_PSN_MASK;
		hdrs.head = wr->header;
		hdrs.head_len = wr->hlen;
	}

	if (len && !offset) {
		qp->s_sge.sge = wqe->sg_list[0];
		qp->s_sge.sg_list = wqe->sg_list + 1;
		qp->s_sge.num_sge = wqe->wr.num_sge;
	}
	skb = softib_pkt_build(hca, &hdrs, &qp->s_sge, len, false);
	if (skb && qp->ibqp.qp_type == IB_QPT_UD) {
		len += hdrs.head_len;
		softib_offload_send(hca, wqe, softib_pkt_payload(skb, len), len,
				    offset);
	}
	return skb;
}

/* What is begun is finished, before the send queue is drained (10.3.1.6). */
static bool may_send(struct softib_qp *priv)
{
	return ib_rvt_state_ops[priv->qp->state] &
	       (priv->lso_done ? RVT_PROCESS_SEND_OK :
				 RVT_PROCESS_NEXT_SEND_OK);
}

/*
 * Does the next send of a UD QP, or the next packet of a large one. A send is complete as soon as
 * its packets exist: nothing answers them. The QP's locks are held. Returns true if there may be
 * more to do.
 */
bool softib_ud_send(struct softib_qp *priv, struct sk_buff_head *out)
{
	struct rvt_qp *qp = priv->qp;
	struct rvt_swqe *wqe;
	struct sk_buff *skb;
	u32 len;

	if (!may_send(priv)) {
		priv->lso_done = 0;
		return softib_flush_send(qp);
	}
	/* Pairs with the barrier in rvt_post_one_wr() */
	if (qp->s_last == smp_load_acquire(&qp->s_head))
		return false;
	wqe = rvt_get_swqe_ptr(qp, qp->s_last);
	if (!priv->lso_done && softib_fail_request(qp)) {
		softib_conn_fail(qp, IB_WC_LOC_PROT_ERR);
		return true;
	}
	len = wqe->length - priv->lso_done;
	if (wqe->wr.opcode == IB_WR_LSO)
		len = min_t(u32, len, wqe->ud_wr.wr.mss);
	skb = build(qp_to_hca(qp), qp, wqe, priv->lso_done, len);
	if (skb)
		__skb_queue_tail(out, skb);
	priv->lso_done += len;
	if (priv->lso_done < wqe->length)
		return true;
	priv->lso_done = 0;
	rvt_send_complete(qp, wqe, IB_WC_SUCCESS);
	return true;
}

/* P_Key and Q_Key, IBA 9.6.1.4 and 9.8.2.2; QP0 has neither */
static bool keys_ok(struct rvt_qp *qp, const struct softib_pkt *pkt,
		    struct ib_wc *wc)
{
	struct softib_hca *hca = qp_to_hca(qp);
	struct softib_port *port = softib_hca_port(hca);
	u16 pkey = ib_bth_get_pkey(pkt->bth);
	int index = qp->s_pkey_index;

	if (qp->ibqp.qp_type == IB_QPT_SMI)
		return true;
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		index = softib_find_pkey(port, pkey);
	if (index < 0 ||
	    !softib_pkey_ok(READ_ONCE(port->pkeys[index]), pkey)) {
		softib_violation(&hca->ibp.pkey_violations);
		return false;
	}
	if (ib_get_qkey(pkt->bth) != qp->qkey) {
		softib_violation(&hca->ibp.qkey_violations);
		return false;
	}
	wc->pkey_index = qp->ibqp.qp_type == IB_QPT_GSI ? index : 0;
	return true;
}

/* rdmavt shows user space the kernel's flags, and this one is another there. */
static int csum_ok_flag(const struct rvt_qp *qp)
{
	return ibcq_to_rvtcq(qp->ibqp.recv_cq)->ip ? USER_WC_IP_CSUM_OK :
						     IB_WC_IP_CSUM_OK;
}

/*
 * What does not fit or has no place to go is dropped silently, as IBA 9.8.2 asks. The QP's locks
 * are held.
 */
void softib_ud_receive(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	struct softib_hca *hca = qp_to_hca(qp);
	struct ib_wc wc = { .qp = &qp->ibqp };

	if ((pkt->opcode & RVT_OPCODE_QP_MASK) != IB_OPCODE_UD ||
	    !(ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK) ||
	    !keys_ok(qp, pkt, &wc))
		goto drop;

	/* A request that was fetched for a packet that did not fit stays. */
	if (qp->r_flags & RVT_R_REUSE_SGE) {
		qp->r_flags &= ~RVT_R_REUSE_SGE;
	} else {
		int ret = softib_take_receive(qp, false);

		if (ret < 0) {
			softib_qp_error(qp, IB_WC_LOC_QP_OP_ERR);
			return;
		}
		if (!ret)
			goto drop;
	}
	if (pkt->len + sizeof(struct ib_grh) > qp->r_len) {
		qp->r_flags |= RVT_R_REUSE_SGE;
		goto drop;
	}

	if (pkt->grh) {
		rvt_copy_sge(qp, &qp->r_sge, (void *)pkt->grh,
			     sizeof(*pkt->grh), true, false);
		wc.wc_flags |= IB_WC_GRH;
	} else {
		rvt_skip_sge(&qp->r_sge, sizeof(struct ib_grh), true);
	}
	rvt_copy_sge(qp, &qp->r_sge, pkt->payload, pkt->len, true, false);
	rvt_put_ss(&qp->r_sge);
	if (!test_and_clear_bit(RVT_R_WRID_VALID, &qp->r_aflags))
		return;

	if (pkt->opcode == IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE) {
		wc.ex.imm_data = pkt->bth->u.ud.imm_data;
		wc.wc_flags |= IB_WC_WITH_IMM;
	}
	if (qp->ibqp.qp_type == IB_QPT_UD &&
	    softib_offload_receive(hca, pkt->payload, pkt->len))
		wc.wc_flags |= csum_ok_flag(qp);
	wc.wr_id = qp->r_wr_id;
	wc.opcode = IB_WC_RECV;
	wc.byte_len = pkt->len + sizeof(struct ib_grh);
	wc.src_qp = ib_get_sqpn(pkt->bth);
	wc.slid = pkt->slid;
	wc.sl = pkt->sl;
	wc.dlid_path_bits = softib_lid_is_mcast(pkt->dlid) ? 0 :
		pkt->dlid & (BIT(softib_hca_port(hca)->lmc) - 1);
	wc.port_num = qp->port_num;
	rvt_recv_cq(qp, &wc, ib_bth_is_solicited(pkt->bth));
	return;
drop:
	hca->ibp.n_pkt_drops++;
}

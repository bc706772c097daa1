// SPDX-License-Identifier: GPL-2.0
/*
 * Connections, reliable or not: what both kinds of QP share
 *
 * All functions are called with the QP's r_lock and s_lock held.
 */
#include "softib.h"

/**
 * softib_conn_hdrs - begin the headers of a packet to the connection's other end
 * @qp:		the QP
 * @hdrs:	is filled in but for opcode and extended headers
 * @psn:	PSN of the packet
 */
void softib_conn_hdrs(struct rvt_qp *qp, struct softib_hdrs *hdrs, u32 psn)
{
	struct softib_port *port = softib_hca_port(qp_to_hca(qp));

	*hdrs = (struct softib_hdrs) {
		.ah = &qp->remote_ah_attr,
		.slid = softib_source_lid(port, &qp->remote_ah_attr),
		.pkey = READ_ONCE(port->pkeys[qp->s_pkey_index]),
		.flags = qp->s_mig_state == IB_MIG_MIGRATED ?
			 IB_BTH_MIG_REQ : 0,
		.qpn = qp->remote_qpn,
		.psn = psn & SOFTIB_PSN_MASK,
	};
}

/**
 * softib_conn_fail - complete the oldest work request with an error
 * @qp:		the QP, whose other work requests are flushed
 * @status:	the error
 *
 * Only the send queue of what is not reliable fails (IBA 10.3.1). The state
 * comes first: who sees the completion asks for it without a lock.
 */
void softib_conn_fail(struct rvt_qp *qp, enum ib_wc_status status)
{
	if (qp->ibqp.qp_type == IB_QPT_RC) {
		softib_qp_error(qp, IB_WC_WR_FLUSH_ERR);
	} else if (qp->state == IB_QPS_RTS) {
		qp->state = IB_QPS_SQE;
		softib_qp_schedule(qp);
	}
	if (qp->s_last != READ_ONCE(qp->s_head))
		rvt_send_complete(qp, rvt_get_swqe_ptr(qp, qp->s_last), status);
}

/**
 * softib_is_local - is a work request one on a memory region?
 * @wqe:	the work request
 *
 * Return: true if no packet comes of it.
 */
bool softib_is_local(const struct rvt_swqe *wqe)
{
	return wqe->wr.opcode == IB_WR_REG_MR ||
	       wqe->wr.opcode == IB_WR_LOCAL_INV;
}

/**
 * softib_conn_local - do and complete the oldest work requests if they are local
 * @qp:		the QP
 *
 * Operations on memory regions wait for all that was posted before them. Most
 * were carried out when they were posted, and only complete here. In an error state
 * they are flushed as all others are.
 */
void softib_conn_local(struct rvt_qp *qp)
{
	while (qp->s_last != READ_ONCE(qp->s_head)) {
		struct rvt_swqe *wqe = rvt_get_swqe_ptr(qp, qp->s_last);
		int ret = 0;

		if (!softib_is_local(wqe) ||
		    !(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK))
			return;
		if (!(wqe->wr.send_flags & RVT_SEND_COMPLETION_ONLY)) {
			ret = rvt_invalidate_rkey(qp,
						  wqe->wr.ex.invalidate_rkey);
			atomic_dec(&qp->local_ops_pending);
		}
		if (ret) {
			softib_conn_fail(qp, IB_WC_LOC_PROT_ERR);
			return;
		}
		rvt_send_complete(qp, wqe, IB_WC_SUCCESS);
	}
}

/**
 * softib_flush_send - flush the oldest work request
 * @qp:		the QP
 *
 * Return: true if there was one, and the state asked for it.
 */
bool softib_flush_send(struct rvt_qp *qp)
{
	struct rvt_swqe *wqe = rvt_get_swqe_ptr(qp, qp->s_last);

	if (!(ib_rvt_state_ops[qp->state] & RVT_FLUSH_SEND) ||
	    qp->s_last == READ_ONCE(qp->s_head))
		return false;
	if (softib_is_local(wqe) &&
	    !(wqe->wr.send_flags & RVT_SEND_COMPLETION_ONLY))
		atomic_dec(&qp->local_ops_pending);
	rvt_send_complete(qp, wqe, IB_WC_WR_FLUSH_ERR);
	return true;
}

/**
 * softib_conn_send - send the next packet of a connection
 * @priv:	the QP
 * @out:	takes the packet
 *
 * Responses go first: the other side may be waiting for them to be able to
 * take our requests.
 *
 * Return: true if there may be more to do.
 */
bool softib_conn_send(struct softib_qp *priv, struct sk_buff_head *out)
{
	if (priv->qp->ibqp.qp_type == IB_QPT_UC)
		return softib_uc_send(priv, out);
	return softib_resp_send(priv, out) || softib_req_send(priv, out);
}

/* Does the packet come from the other end of the connection (IBA 9.6.1.5)? */
static bool addresses_ok(struct rvt_qp *qp, const struct softib_pkt *pkt)
{
	const struct rdma_ah_attr *ah = &qp->remote_ah_attr;
	bool global = rdma_ah_get_ah_flags(ah) & IB_AH_GRH;

	if (pkt->slid != rdma_ah_get_dlid(ah) || global != !!pkt->grh)
		return false;
	return !global || !memcmp(&pkt->grh->sgid, &rdma_ah_read_grh(ah)->dgid,
				  sizeof(pkt->grh->sgid));
}

/* The first packet shows that the other end is ready to send (12.9.7.2). */
static void established(struct softib_qp *priv)
{
	struct rvt_qp *qp = priv->qp;

	if (qp->state == IB_QPS_RTR && !(qp->r_flags & RVT_R_COMM_EST)) {
		qp->r_flags |= RVT_R_COMM_EST;
		__set_bit(IB_EVENT_COMM_EST, &priv->events);
	}
}

/**
 * softib_conn_receive - a packet for a connection arrived
 * @priv:	the QP that it is for
 * @pkt:	the packet
 */
void softib_conn_receive(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	struct softib_hca *hca = qp_to_hca(qp);
	struct softib_port *port = softib_hca_port(hca);

	if ((pkt->opcode & RVT_OPCODE_QP_MASK) != qp->allowed_ops ||
	    !(ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK) ||
	    !addresses_ok(qp, pkt)) {
		hca->ibp.n_pkt_drops++;
		return;
	}
	if (!softib_pkey_ok(ib_bth_get_pkey(pkt->bth),
			    READ_ONCE(port->pkeys[qp->s_pkey_index]))) {
		softib_violation(&hca->ibp.pkey_violations);
		return;
	}

	if (pkt->opcode >= IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST &&
	    pkt->opcode <= IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE) {
		softib_req_receive(priv, pkt);
		return;
	}
	established(priv);
	if (qp->ibqp.qp_type == IB_QPT_UC)
		softib_uc_receive(priv, pkt);
	else
		softib_resp_receive(priv, pkt);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Connections, reliable or not: which side of which kind a packet is for
 *
 * All functions are called with the QP's r_lock and s_lock held.
 */
#include "softib.h"

/*
 * Sends the next packet. Responses go first: the other side may be waiting for them to be able to
 * take our requests. Returns true if there may be more to do.
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

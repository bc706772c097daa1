// SPDX-License-Identifier: GPL-2.0
/*
 * Reliable connections: what requester and responder share
 */
#include "softib.h"

/**
 * softib_rc_hdrs - begin the headers of a packet to the connection's other end
 * @qp:		the QP
 * @hdrs:	is filled in but for opcode and extended headers
 * @psn:	PSN of the packet
 */
void softib_rc_hdrs(struct rvt_qp *qp, struct softib_hdrs *hdrs, u32 psn)
{
	struct softib_port *port = softib_hca_port(qp_to_hca(qp));

	*hdrs = (struct softib_hdrs) {
		.ah = &qp->remote_ah_attr,
		.slid = READ_ONCE(port->lid) |
			rdma_ah_get_path_bits(&qp->remote_ah_attr),
		.pkey = READ_ONCE(port->pkeys[qp->s_pkey_index]),
		.flags = qp->s_mig_state == IB_MIG_MIGRATED ?
			 IB_BTH_MIG_REQ : 0,
		.qpn = qp->remote_qpn,
		.psn = psn & SOFTIB_PSN_MASK,
	};
}

/**
 * softib_rc_send - send the next packet of a connection
 * @priv:	the QP, with its locks held
 * @out:	takes the packet
 *
 * Responses go first: the other side may be waiting for them to be able to
 * take our requests.
 *
 * Return: true if there may be more to do.
 */
bool softib_rc_send(struct softib_qp *priv, struct sk_buff_head *out)
{
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

/**
 * softib_rc_receive - a packet for a connection arrived
 * @priv:	the QP that it is for, with its locks held
 * @pkt:	the packet
 */
void softib_rc_receive(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;
	struct softib_hca *hca = qp_to_hca(qp);
	struct softib_port *port = softib_hca_port(hca);

	if ((pkt->opcode & RVT_OPCODE_QP_MASK) != IB_OPCODE_RC ||
	    !(ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK) ||
	    !addresses_ok(qp, pkt)) {
		hca->ibp.n_pkt_drops++;
		return;
	}
	if (!softib_pkey_ok(ib_bth_get_pkey(pkt->bth),
			    READ_ONCE(port->pkeys[qp->s_pkey_index]))) {
		hca->ibp.pkey_violations++;
		return;
	}

	if (pkt->opcode >= IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST &&
	    pkt->opcode <= IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE)
		softib_req_receive(priv, pkt);
	else
		softib_resp_receive(priv, pkt);
}

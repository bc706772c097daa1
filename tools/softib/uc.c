// SPDX-License-Identifier: GPL-2.0
/*
 * Unreliable connections (IBA 9.8): what is sent is done, and a message of
 * which a packet is missing never was.
 *
 * All functions are called with the QP's r_lock and s_lock held.
 */
#include "softib.h"

/* Returns true if there may be more to do. */
bool softib_uc_send(struct softib_qp *priv, struct sk_buff_head *out)
{
	struct rvt_qp *qp = priv->qp;
	struct softib_hdrs hdrs;
	struct rvt_swqe *wqe;
	struct sk_buff *skb;

	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK))
		return softib_flush_send(qp);
	softib_conn_local(qp);
	/* Pairs with the barrier in rvt_post_one_wr() */
	if (qp->s_last == smp_load_acquire(&qp->s_head) ||
	    !(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK))
		return false;
	wqe = rvt_get_swqe_ptr(qp, qp->s_last);
	/* A queue that is drained finishes the message that it has begun. */
	if (!softib_psn_diff(qp->s_psn, wqe->psn) &&
	    !(ib_rvt_state_ops[qp->state] & RVT_PROCESS_NEXT_SEND_OK))
		return false;

	softib_conn_hdrs(qp, &hdrs, qp->s_psn);
	skb = softib_msg_build(priv, wqe, &hdrs);
	if (skb)
		__skb_queue_tail(out, skb);
	priv->req_max = qp->s_psn;
	if (softib_psn_diff(qp->s_psn, wqe->lpsn) > 0)
		rvt_send_complete(qp, wqe, IB_WC_SUCCESS);
	return true;
}

/*
 * A packet that is not the one expected ends the message that was arriving. If it does not begin
 * another one, it is dropped, as all are until one does.
 */
void softib_uc_receive(struct softib_qp *priv, const struct softib_pkt *pkt)
{
	struct rvt_qp *qp = priv->qp;

	if (softib_psn_diff(pkt->psn, qp->r_psn) ||
	    softib_msg_begins(pkt->opcode))
		softib_msg_abandon(priv);
	qp->r_psn = (pkt->psn + 1) & SOFTIB_PSN_MASK;

	switch (softib_msg_receive(priv, pkt)) {
	case SOFTIB_MSG_DONE:
		break;
	case SOFTIB_MSG_BAD_RECEIVE:
		softib_qp_error(qp, IB_WC_LOC_QP_OP_ERR);
		break;
	default:
		softib_msg_abandon(priv);
		qp_to_hca(qp)->ibp.n_pkt_drops++;
	}
}

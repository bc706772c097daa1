// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues: how the oldest work request ends
 *
 * All functions are called with the QP's r_lock and s_lock held.
 */
#include "softib.h"

/*
 * Completes the oldest work request with an error; the others are flushed. Only the send queue of
 * what is not reliable fails (IBA 10.3.1). The state comes first: a consumer that sees the
 * completion asks for it without a lock.
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

/*
 * Does and completes the oldest work requests if they are local: operations on memory regions wait
 * for all that was posted before them. Most were carried out when they were posted, and only
 * complete here. In an error state they are flushed as all others are.
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

/*
 * Flushes the oldest work request. Returns false if there is none, or the state does not ask for
 * it.
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

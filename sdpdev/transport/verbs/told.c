// SPDX-License-Identifier: GPL-2.0
/*
 * What a communication manager tells of a connection, noted for the connection's work.
 */
#include <rdma/ib_cm.h>

#include "transport/verbs/verbs.h"

/**
 * sdp_rc_told_status() - a step of the resolution has ended
 * @conn: the connection
 * @status: zero, or why there is no result
 * @ev: SDP_RC_EV_ADDR or _PATH
 *
 * Context: any.
 */
void sdp_rc_told_status(struct sdp_rc_conn *conn, int status, enum sdp_rc_event ev)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	conn->status = status;
	spin_unlock_irqrestore(&conn->lock, flags);
	sdp_rc_conn_post(conn, ev);
}
EXPORT_SYMBOL_GPL(sdp_rc_told_status);

/* Keeps an answer for the work.  False where there is one already, which stays. */
static bool sdp_rc_keep(struct sdp_rc_conn *conn, const void *pdata, unsigned int len,
			enum sdp_xprt_reject reason)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&conn->lock, flags);
	first = !conn->replied;
	if (first) {
		conn->replied = true;
		conn->reason = reason;
		conn->pdata_len = min_t(unsigned int, len, sizeof(conn->pdata));
		memcpy(conn->pdata, pdata, conn->pdata_len);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return first;
}

/**
 * sdp_rc_told_accepted() - the peer accepts
 * @conn: the connection
 * @pdata: private data of the answer
 * @len: bytes of @pdata
 * @reads_out: reads that the peer lets this end have under way there
 * @reads_in: reads that the peer wants to have under way here
 *
 * Context: any but hard interrupts.
 */
void sdp_rc_told_accepted(struct sdp_rc_conn *conn, const void *pdata, unsigned int len,
			  u8 reads_out, u8 reads_in)
{
	if (!sdp_rc_keep(conn, pdata, len, 0))
		return;
	/* No code looks at them before the work has this event. */
	conn->reads_out = min(conn->reads_out, reads_out);
	conn->reads_in = min(conn->reads_in, reads_in);
	sdp_rc_conn_post(conn, SDP_RC_EV_REPLY);
}
EXPORT_SYMBOL_GPL(sdp_rc_told_accepted);

static enum sdp_xprt_reject sdp_rc_reason(int reason)
{
	switch (reason) {
	case IB_CM_REJ_CONSUMER_DEFINED:
		return SDP_XPRT_REJECT_CONSUMER;
	case IB_CM_REJ_INVALID_SERVICE_ID:
		return SDP_XPRT_REJECT_NO_SERVICE;
	case IB_CM_REJ_STALE_CONN:
		return SDP_XPRT_REJECT_STALE;
	default:
		return SDP_XPRT_REJECT_OTHER;
	}
}

/**
 * sdp_rc_told_refused() - the peer, or its communication manager, refuses
 * @conn: the connection
 * @pdata: private data of the answer
 * @len: bytes of @pdata
 * @reason: of enum ib_cm_rej_reason
 *
 * Context: any but hard interrupts.
 */
void sdp_rc_told_refused(struct sdp_rc_conn *conn, const void *pdata, unsigned int len,
			 int reason)
{
	if (sdp_rc_keep(conn, pdata, len, sdp_rc_reason(reason)))
		sdp_rc_conn_post(conn, SDP_RC_EV_REJECTED);
	else
		sdp_rc_conn_end(conn, -ECONNRESET);
}
EXPORT_SYMBOL_GPL(sdp_rc_told_refused);

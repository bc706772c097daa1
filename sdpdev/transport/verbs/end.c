// SPDX-License-Identifier: GPL-2.0
/*
 * The ends of a connection: it is over, and the protocol is told; it is destroyed.
 */
#include "transport/verbs/verbs.h"

/*
 * Enters the last state, once, in process context without conn->mutex.  False if it has been
 * closed before; else every posted buffer has come back, and it is for the caller to tell the
 * protocol.
 */
bool sdp_rc_conn_close(struct sdp_rc_conn *conn, enum sdp_rc_state *was)
{
	mutex_lock(&conn->mutex);
	*was = conn->state;
	conn->state = SDP_RC_CLOSED;
	mutex_unlock(&conn->mutex);

	if (*was == SDP_RC_CLOSED)
		return false;
	cancel_delayed_work(&conn->timer);
	sdp_rc_qp_flush(conn);
	return true;
}

/**
 * sdp_rc_conn_fail() - end the connection and tell the protocol
 * @conn: the connection
 * @error: why, or zero
 *
 * Context: the connection's work.
 */
void sdp_rc_conn_fail(struct sdp_rc_conn *conn, int error)
{
	struct sdp_xprt_event ev = { .error = error };
	enum sdp_rc_state was;

	if (!sdp_rc_conn_close(conn, &was))
		return;
	switch (was) {
	case SDP_RC_RESOLVING:
	case SDP_RC_CONNECTING:
		ev.type = SDP_XPRT_UNREACHABLE;
		break;
	default:
		ev.type = SDP_XPRT_DISCONNECTED;
	}
	sdp_rc_conn_event(conn, &ev);
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_fail);

/**
 * sdp_rc_conn_destroy() - struct sdp_xprt_ops.conn_destroy
 * @xc: the connection, in any state
 *
 * The order matters: first no more events; then nothing that could produce
 * one; then what is posted; then the communication manager's part, which waits for its
 * handlers; then the queue pair; and the list last, as the handler of a new
 * request may be the one that has just put it there.
 */
void sdp_rc_conn_destroy(struct sdp_xprt_conn *xc)
{
	struct sdp_rc_conn *conn = sdp_rc_conn(xc);
	enum sdp_rc_state was;

	spin_lock_irq(&conn->lock);
	conn->dead = true;
	spin_unlock_irq(&conn->lock);
	/* An upcall may destroy: then the work is what runs this. */
	if (current_work() != &conn->work)
		flush_work(&conn->work);

	conn->kind->cancel(conn);
	sdp_rc_conn_close(conn, &was);
	cancel_delayed_work_sync(&conn->timer);
	conn->kind->cm_destroy(conn);
	sdp_rc_qp_destroy(conn);

	sdp_rc_conn_detach(conn);
	sdp_rc_conn_put(conn);
}
EXPORT_SYMBOL_GPL(sdp_rc_conn_destroy);

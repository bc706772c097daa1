// SPDX-License-Identifier: GPL-2.0
/*
 * The ends of a connection: it is over, and the protocol is told; it is destroyed.
 */
#include "transport/ib/ib.h"

/**
 * sdp_ib_conn_close() - enter the last state, once
 * @conn: the connection
 * @was: out: the state before
 *
 * When it returns true every posted buffer has come back, and it is for the
 * caller to tell the protocol.
 *
 * Context: process context, without conn->mutex.
 * Return: false if it has been closed before.
 */
bool sdp_ib_conn_close(struct sdp_ib_conn *conn, enum sdp_ib_state *was)
{
	mutex_lock(&conn->mutex);
	*was = conn->state;
	conn->state = SDP_IB_CLOSED;
	mutex_unlock(&conn->mutex);

	if (*was == SDP_IB_CLOSED)
		return false;
	cancel_delayed_work(&conn->timer);
	sdp_ib_qp_flush(conn);
	return true;
}

/**
 * sdp_ib_conn_fail() - end the connection and tell the protocol
 * @conn: the connection
 * @error: why, or zero
 *
 * Context: the connection's work.
 */
void sdp_ib_conn_fail(struct sdp_ib_conn *conn, int error)
{
	struct sdp_xprt_event ev = { .error = error };
	enum sdp_ib_state was;

	if (!sdp_ib_conn_close(conn, &was))
		return;
	switch (was) {
	case SDP_IB_RESOLVING:
	case SDP_IB_CONNECTING:
		ev.type = SDP_XPRT_UNREACHABLE;
		break;
	default:
		ev.type = SDP_XPRT_DISCONNECTED;
	}
	sdp_ib_conn_event(conn, &ev);
}

/*
 * Stops whatever resolution is under way.  A cancelled query still calls back, later: it
 * holds a reference.  Under the lock, because ib_sa may use a query's number again once it
 * has called back.
 */
static void sdp_ib_addr_cancel(struct sdp_ib_conn *conn)
{
	if (conn->addr.net)
		rdma_addr_cancel(&conn->addr);

	spin_lock_irq(&conn->lock);
	if (conn->query)
		ib_sa_cancel_query(conn->query_id, conn->query);
	spin_unlock_irq(&conn->lock);
}

/**
 * sdp_ib_conn_destroy() - struct sdp_xprt_ops.conn_destroy
 * @xc: the connection, in any state
 *
 * The order matters: first no more events; then nothing that could produce
 * one; then the queue pair, whose completions use the cm_id; then the cm_id,
 * which waits for its handlers; and the list last, as the handler of a new
 * request may be the one that has just put it there.
 */
void sdp_ib_conn_destroy(struct sdp_xprt_conn *xc)
{
	struct sdp_ib_conn *conn = sdp_ib_conn(xc);
	enum sdp_ib_state was;

	spin_lock_irq(&conn->lock);
	conn->dead = true;
	spin_unlock_irq(&conn->lock);
	/* An upcall may destroy: then the work is what runs this. */
	if (current_work() != &conn->work)
		flush_work(&conn->work);

	sdp_ib_addr_cancel(conn);
	sdp_ib_conn_close(conn, &was);
	cancel_delayed_work_sync(&conn->timer);
	if (conn->cm_id)
		ib_destroy_cm_id(conn->cm_id);
	sdp_ib_qp_destroy(conn);

	sdp_ib_conn_detach(conn);
	sdp_ib_conn_put(conn);
}

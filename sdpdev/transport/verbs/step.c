// SPDX-License-Identifier: GPL-2.0
/*
 * The steps of a connection that are the same for every communication manager: it is asked
 * for, answered, established, refused, over.
 */
#include "transport/verbs/verbs.h"

/*
 * How long the peer may leave an acceptance unanswered.  A manager may repeat it by the times
 * in the peer's request, which may be a day's.
 */
#define SDP_RC_READY_MS		20000

/* --- the side that connects ------------------------------------------------- */

/**
 * sdp_rc_connect() - struct sdp_xprt_ops.connect
 * @xc: the connection
 * @params: as the transport's route() left them
 * @resolved: called when buffers can be posted
 * @pdata: for the request
 * @len: bytes of @pdata
 */
int sdp_rc_connect(struct sdp_xprt_conn *xc, const struct sdp_xprt_params *params,
		   int (*resolved)(struct sdp_xprt_conn *conn, void *ctx),
		   const void *pdata, unsigned int len)
{
	struct sdp_rc_conn *conn = sdp_rc_conn(xc);
	int ret = -EISCONN;

	if (len > sizeof(conn->req_pdata) || !params->timeout_ms)
		return -EINVAL;

	mutex_lock(&conn->mutex);
	if (conn->state != SDP_RC_IDLE)
		goto out;
	conn->params = *params;
	conn->local = params->local;
	conn->peer = params->peer;
	conn->reads_out = SDP_RC_READS;
	conn->reads_in = SDP_RC_READS;
	conn->resolved = resolved;
	memcpy(conn->req_pdata, pdata, len);
	conn->req_len = len;
	ret = conn->kind->resolve(conn);
	if (ret)
		goto out;
	conn->state = SDP_RC_RESOLVING;
	sdp_rc_conn_set_timer(conn, params->timeout_ms);
out:
	mutex_unlock(&conn->mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(sdp_rc_connect);

/**
 * sdp_rc_path_known() - make the queue pair and ask the peer
 * @conn: the connection, whose device and path are known
 *
 * The protocol posts its buffers before the peer hears of the connection.
 */
void sdp_rc_path_known(struct sdp_rc_conn *conn)
{
	int ret = 1;

	mutex_lock(&conn->mutex);
	if (conn->state == SDP_RC_RESOLVING)
		ret = sdp_rc_qp_create(conn, &conn->params);
	mutex_unlock(&conn->mutex);
	if (ret > 0)
		return;

	if (!ret)
		ret = conn->resolved(&conn->xc, conn->xc.ctx);
	if (!ret) {
		mutex_lock(&conn->mutex);
		if (conn->state == SDP_RC_RESOLVING) {
			conn->state = SDP_RC_CONNECTING;
			ret = conn->kind->request(conn);
			if (ret)
				conn->state = SDP_RC_RESOLVING;
		}
		mutex_unlock(&conn->mutex);
	}
	if (ret)
		sdp_rc_conn_fail(conn, ret);
}
EXPORT_SYMBOL_GPL(sdp_rc_path_known);

/**
 * sdp_rc_replied() - the peer has accepted
 * @conn: the connection
 *
 * The peer hears that this end knows it before the protocol does: what the protocol sends at
 * once does not overtake that, and a connection that is asked for next comes later than it.
 */
void sdp_rc_replied(struct sdp_rc_conn *conn)
{
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_ESTABLISHED,
		.pdata = conn->pdata,
		.pdata_len = conn->pdata_len,
	};
	int ret = -ENOTCONN;

	mutex_lock(&conn->mutex);
	if (conn->state == SDP_RC_CONNECTING) {
		ret = sdp_rc_qp_connect(conn);
		ret = conn->kind->confirm(conn, ret);
		if (!ret) {
			cancel_delayed_work(&conn->timer);
			conn->state = SDP_RC_ESTABLISHED;
		}
	}
	mutex_unlock(&conn->mutex);
	if (ret)
		sdp_rc_conn_fail(conn, ret);
	else
		sdp_rc_conn_event(conn, &ev);
}
EXPORT_SYMBOL_GPL(sdp_rc_replied);

/**
 * sdp_rc_rejected() - the peer has refused
 * @conn: the connection
 */
void sdp_rc_rejected(struct sdp_rc_conn *conn)
{
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_REJECTED,
		.error = -ECONNREFUSED,
		.reason = conn->reason,
		.pdata = conn->pdata,
		.pdata_len = conn->pdata_len,
	};
	enum sdp_rc_state was;

	if (!sdp_rc_conn_close(conn, &was))
		return;
	/* The peer gave up what this side had accepted, or was about to. */
	if (was != SDP_RC_CONNECTING) {
		ev.type = SDP_XPRT_DISCONNECTED;
		ev.error = -ECONNRESET;
	}
	sdp_rc_conn_event(conn, &ev);
}
EXPORT_SYMBOL_GPL(sdp_rc_rejected);

/* --- the side that accepts -------------------------------------------------- */

/**
 * sdp_rc_accept() - struct sdp_xprt_ops.accept
 * @xc: a connection that the peer has asked for, prepared
 * @pdata: for the acceptance
 * @len: bytes of @pdata
 */
int sdp_rc_accept(struct sdp_xprt_conn *xc, const void *pdata, unsigned int len)
{
	struct sdp_rc_conn *conn = sdp_rc_conn(xc);
	int ret = -ENOTCONN;

	if (len > SDP_XPRT_REP_PDATA)
		return -EINVAL;

	mutex_lock(&conn->mutex);
	if (conn->state != SDP_RC_REQUESTED || !conn->qp)
		goto out;
	ret = sdp_rc_qp_connect(conn);
	if (ret)
		goto out;
	set_bit(SDP_RC_F_AWAIT_RTU, &conn->flags);
	/*
	 * Before the answer: the peer's first message may come, and be answered, at once.
	 * The locks and the doorbell of the answer are the barrier.  Pairs with
	 * sdp_rc_can_post().
	 */
	WRITE_ONCE(conn->state, SDP_RC_ACCEPTED);
	ret = conn->kind->accept(conn, pdata, len);
	if (ret)
		conn->state = SDP_RC_REQUESTED;
	else
		sdp_rc_conn_set_timer(conn, SDP_RC_READY_MS);
out:
	mutex_unlock(&conn->mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(sdp_rc_accept);

/**
 * sdp_rc_ready() - the peer knows that it has been accepted
 * @conn: the connection
 *
 * By its manager's word, or by a message that has overtaken it.  This end's manager is not
 * told of that: where the connection ends before ib_cm has thought about it (ib_cm_notify()
 * only queues that) ib_cm goes on to repeat the REP, and nothing can be destroyed as long as
 * the times in the peer's REQ say.
 */
void sdp_rc_ready(struct sdp_rc_conn *conn)
{
	static const struct sdp_xprt_event ev = {
		.type = SDP_XPRT_ESTABLISHED,
	};
	bool ready;

	mutex_lock(&conn->mutex);
	ready = conn->state == SDP_RC_ACCEPTED;
	if (ready) {
		cancel_delayed_work(&conn->timer);
		conn->state = SDP_RC_ESTABLISHED;
	}
	mutex_unlock(&conn->mutex);

	clear_bit(SDP_RC_F_AWAIT_RTU, &conn->flags);
	if (ready)
		sdp_rc_conn_event(conn, &ev);
}
EXPORT_SYMBOL_GPL(sdp_rc_ready);

/**
 * sdp_rc_reject() - struct sdp_xprt_ops.reject
 * @xc: a connection that the peer has asked for
 * @pdata: why
 * @len: bytes of @pdata; what does not fit is left out
 */
void sdp_rc_reject(struct sdp_xprt_conn *xc, const void *pdata, unsigned int len)
{
	struct sdp_rc_conn *conn = sdp_rc_conn(xc);
	enum sdp_rc_state was;

	if (sdp_rc_conn_close(conn, &was) && was == SDP_RC_REQUESTED)
		conn->kind->reject(conn, pdata, len);
}
EXPORT_SYMBOL_GPL(sdp_rc_reject);

/* --- either side ------------------------------------------------------------ */

/**
 * sdp_rc_ended() - the connection cannot go on
 * @conn: the connection; conn->error says why
 */
void sdp_rc_ended(struct sdp_rc_conn *conn)
{
	sdp_rc_conn_fail(conn, conn->error);
}
EXPORT_SYMBOL_GPL(sdp_rc_ended);

/**
 * sdp_rc_timed_out() - conn->timer
 * @conn: the connection
 */
void sdp_rc_timed_out(struct sdp_rc_conn *conn)
{
	bool waiting;

	mutex_lock(&conn->mutex);
	waiting = conn->state == SDP_RC_RESOLVING ||
		  conn->state == SDP_RC_CONNECTING ||
		  conn->state == SDP_RC_ACCEPTED;
	mutex_unlock(&conn->mutex);

	if (waiting)
		sdp_rc_conn_fail(conn, -ETIMEDOUT);
}
EXPORT_SYMBOL_GPL(sdp_rc_timed_out);

/**
 * sdp_rc_device_gone() - the device goes
 * @conn: the connection
 */
void sdp_rc_device_gone(struct sdp_rc_conn *conn)
{
	static const struct sdp_xprt_event ev = {
		.type = SDP_XPRT_DEVICE_GONE,
		.error = -ENODEV,
	};
	enum sdp_rc_state was;

	sdp_rc_conn_close(conn, &was);
	sdp_rc_conn_event(conn, &ev);
}
EXPORT_SYMBOL_GPL(sdp_rc_device_gone);

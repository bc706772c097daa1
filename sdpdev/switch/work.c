// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoint's work: what has to be done in process context, in its order, and what
 * time brings.
 */
#include "sdp/sdp.h"
#include "tcp/tcp.h"
#include "switch/switch.h"

/* struct sdp_ep_ops.retry */
static void sdp_ep_try_again(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(to_delayed_work(work), struct sdp_ep, retry);
	bool orphan;

	sdp_ep_lock(ep);
	if (ep->attempt == SDP_ATTEMPT_FAILED || (ep->conn && ep->conn->rx.lost))
		sdp_ep_kick(ep);
	orphan = ep->orphan;
	sdp_ep_unlock(ep);
	if (orphan)
		sdp_close_port(ep);
	sdp_ep_put(ep);
}

/* struct sdp_ep_ops.timeout */
static void sdp_ep_timeout(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(to_delayed_work(work), struct sdp_conn, timer);
	struct sdp_ep *ep = conn->ep;

	sdp_ep_lock(ep);
	if (conn->phase == SDP_PHASE_ABORT)
		sdp_conn_ended(conn, ep->reason, ep->err);
	else if (conn->phase == SDP_PHASE_DRAIN)
		sdp_abort(conn, SDP_REASON_LOCAL_ABORT, ECONNRESET);
	else
		sdp_abort(conn, SDP_REASON_TRANSPORT, ETIMEDOUT);
	sdp_ep_unlock(ep);
	sdp_conn_put(conn);
}

/* Has the endpoint no connection any more; the transport's part of @conn is freed. */
static void sdp_ep_detach(struct sdp_ep *ep, struct sdp_conn *conn)
{
	bool mine;

	sdp_ep_lock(ep);
	mine = ep->conn == conn;
	if (mine)
		WRITE_ONCE(ep->conn, NULL);
	sdp_ep_unlock(ep);
	if (mine)
		sdp_conn_put(conn);
}

/* What the connection asks for while it lives. */
static void sdp_ep_serve(struct sdp_ep *ep, struct sdp_conn *conn)
{
	bool accept, grow, lost;

	sdp_ep_lock(ep);
	accept = ep->accepting && !sdp_conn_dead(conn);
	ep->accepting = false;
	grow = conn->rx.grow && !sdp_conn_dead(conn);
	conn->rx.grow = false;
	lost = conn->rx.lost && !sdp_conn_dead(conn);
	if (conn->rings.bad)
		sdp_tx_push(conn);
	sdp_ep_unlock(ep);
	if (accept)
		sdp_incoming_accept(conn);
	if (grow || lost)
		sdp_size_grow(conn, grow);
}

/* Its end, as far as it has come; with @anew the endpoint is to have no connection. */
static void sdp_ep_end(struct sdp_ep *ep, struct sdp_conn *conn, bool anew)
{
	bool destroy, free;

	sdp_ep_lock(ep);
	destroy = conn->phase == SDP_PHASE_DEAD;
	sdp_ep_unlock(ep);
	if (destroy) {
		sdp_incoming_forget(ep);
		/* It may be hours ahead. */
		if (cancel_delayed_work(&ep->offer))
			sdp_ep_put(ep);
		/* First, as the rest may take some time. */
		sdp_port_drop(ep);
		sdp_conn_destroy(conn);
	}

	sdp_ep_lock(ep);
	anew |= ep->orphan;
	free = conn->phase == SDP_PHASE_HUSK && (anew || conn->purge);
	sdp_ep_unlock(ep);
	if (free)
		sdp_conn_free(conn);
	if (free && anew)
		sdp_ep_detach(ep, conn);
}

/* struct sdp_ep_ops.work */
static void sdp_ep_work(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(work, struct sdp_ep, work);
	struct sdp_conn *conn = sdp_conn_get(ep);
	bool settle;

	if (conn)
		sdp_ep_serve(ep, conn);
	sdp_ep_lock(ep);
	settle = ep->attempt == SDP_ATTEMPT_FAILED ||
		 (ep->attempt == SDP_ATTEMPT_PARTING && (!conn || sdp_conn_dead(conn)));
	sdp_ep_unlock(ep);
	if (conn)
		sdp_ep_end(ep, conn, settle);
	if (settle)
		sdp_connect_settle(ep);
	sdp_conn_put(conn);
	sdp_ep_put(ep);
}

const struct sdp_ep_ops sdp_ep_ops = {
	.release = sdp_ep_release,
	.work	 = sdp_ep_work,
	.retry	 = sdp_ep_try_again,
	.timeout = sdp_ep_timeout,
	.alive	 = sdp_alive_work,
	.idle	 = sdp_size_idle,
	.offer	 = sdp_incoming_time,
};

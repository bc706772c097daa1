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

/* Things to be done for an endpoint and its connection, in this order. */
#define SDP_DO_ACCEPT	BIT(0)	/* make an incoming connection ready and accept it */
#define SDP_DO_GROW	BIT(1)	/* add receive buffers */
#define SDP_DO_REPLACE	BIT(2)	/* replace receive buffers that were lost */
#define SDP_DO_DESTROY	BIT(3)	/* the connection has ended: end the transport's part */
#define SDP_DO_FREE	BIT(4)	/* it is destroyed: free what is left */
#define SDP_DO_DETACH	BIT(5)	/* and the endpoint has no connection any more */
#define SDP_DO_SETTLE	BIT(6)	/* fall back to TCP, or tell that there is no connection */

/* ep->lock is held. */
static unsigned int sdp_ep_todo_conn(struct sdp_ep *ep, struct sdp_conn *conn, bool anew)
{
	unsigned int todo = 0;

	if (conn->rings.bad)
		sdp_tx_push(conn);
	switch (conn->phase) {
	case SDP_PHASE_DEAD:
		return SDP_DO_DESTROY;
	case SDP_PHASE_HUSK:
		if (anew || ep->orphan)
			return SDP_DO_FREE | SDP_DO_DETACH;
		return conn->purge ? SDP_DO_FREE : 0;
	}
	if (ep->accepting)
		todo |= SDP_DO_ACCEPT;
	if (conn->rx.grow)
		todo |= SDP_DO_GROW;
	if (conn->rx.lost)
		todo |= SDP_DO_REPLACE;
	ep->accepting = false;
	conn->rx.grow = false;
	return todo;
}

static unsigned int sdp_ep_todo(struct sdp_ep *ep, struct sdp_conn *conn)
{
	unsigned int todo = 0;
	bool settle;

	sdp_ep_lock(ep);
	/* A connection that was attached since then kicks for a run of its own when it ends. */
	settle = ep->conn == conn &&
		 (ep->attempt == SDP_ATTEMPT_FAILED ||
		  (ep->attempt == SDP_ATTEMPT_PARTING && (!conn || sdp_conn_dead(conn))));
	if (conn)
		todo = sdp_ep_todo_conn(ep, conn, settle);
	sdp_ep_unlock(ep);
	return settle ? todo | SDP_DO_SETTLE : todo;
}

static void sdp_ep_destroy_conn(struct sdp_ep *ep, struct sdp_conn *conn)
{
	sdp_incoming_forget(ep);
	/* It may be hours ahead. */
	if (cancel_delayed_work(&ep->offer))
		sdp_ep_put(ep);
	/* First, as the rest may take some time. */
	sdp_port_drop(ep);
	sdp_conn_destroy(conn);
}

/*
 * struct sdp_ep_ops.work
 *
 * An event that comes meanwhile, as an acceptance that fails, queues the work again.
 */
static void sdp_ep_work(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(work, struct sdp_ep, work);
	struct sdp_conn *conn = sdp_conn_get(ep);
	unsigned int todo = sdp_ep_todo(ep, conn);

	if (todo & SDP_DO_ACCEPT)
		sdp_incoming_accept(conn);
	if (todo & (SDP_DO_GROW | SDP_DO_REPLACE))
		sdp_size_grow(conn, todo & SDP_DO_GROW);
	if (todo & SDP_DO_DESTROY) {
		sdp_ep_destroy_conn(ep, conn);
		todo = sdp_ep_todo(ep, conn);
	}
	if (todo & SDP_DO_FREE)
		sdp_conn_free(conn);
	if (todo & SDP_DO_DETACH)
		sdp_ep_detach(ep, conn);
	if (todo & SDP_DO_SETTLE)
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

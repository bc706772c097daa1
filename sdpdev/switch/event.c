// SPDX-License-Identifier: GPL-2.0
/*
 * The transports' events, on their way to the endpoints.
 */
#include "switch/switch.h"

static int sdp_request_addrs(const void *pdata, unsigned int len,
			     struct sockaddr_storage *local,
			     struct sockaddr_storage *peer)
{
	struct sdp_hello hello;
	enum sdp_bad bad;

	bad = sdp_parse_hello(pdata, len, &hello);
	if (bad) {
		sdp_count(SDP_CNT_BAD + bad);
		sdp_count(SDP_CNT_REFUSED_BAD_HELLO);
		return -EPROTO;
	}
	*local = hello.dst;
	*peer = hello.src;
	return 0;
}

/* The device goes away: what the connection has must be given back. */
static void sdp_conn_lost(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	conn->purge = true;
	if (ep->state == SDP_STATE_CONNECTING && !ep->listener)
		sdp_connect_failed(ep, SDP_REASON_DEVICE, -ENETDOWN);
	sdp_conn_ended(conn, SDP_REASON_DEVICE, ENETDOWN);
	sdp_ep_kick(ep);
}

static void sdp_conn_disconnected(struct sdp_conn *conn, int error)
{
	struct sdp_ep *ep = conn->ep;

	if (ep->state == SDP_STATE_CONNECTING && !ep->listener)
		sdp_connect_failed(ep, SDP_REASON_UNREACHABLE,
				   error ? : -ECONNRESET);
	else if (conn->rx.state == SDP_RX_FIN && conn->tx.state >= SDP_TX_FIN_SENT &&
		 (conn->tx.state == SDP_TX_FIN_ACKED || error != -ETIMEDOUT))
		sdp_conn_ended(conn, SDP_REASON_NONE, 0);
	else if (error == -ETIMEDOUT)
		sdp_conn_ended(conn, SDP_REASON_TRANSPORT, ETIMEDOUT);
	else
		sdp_conn_ended(conn, SDP_REASON_TRANSPORT,
			       conn->rx.state == SDP_RX_FIN ? EPIPE : ECONNRESET);
}

static u8 sdp_reject_reason(const struct sdp_xprt_event *ev)
{
	return ev->reason == SDP_XPRT_REJECT_CONSUMER ||
	       ev->reason == SDP_XPRT_REJECT_NO_SERVICE ?
	       SDP_REASON_REFUSED : SDP_REASON_UNREACHABLE;
}

static void sdp_conn_event(struct sdp_conn *conn, const struct sdp_xprt_event *ev)
{
	struct sdp_ep *ep = conn->ep;

	sdp_ep_lock(ep);
	switch (ev->type) {
	case SDP_XPRT_ESTABLISHED:
		if (ep->listener)
			sdp_incoming_established(ep);
		else
			sdp_connect_established(conn, ev);
		break;
	case SDP_XPRT_REJECTED:
		sdp_connect_failed(ep, sdp_reject_reason(ev), -ECONNREFUSED);
		break;
	case SDP_XPRT_UNREACHABLE:
		if (ev->error == -EDQUOT)
			sdp_count(SDP_CNT_OVER_LIMIT);
		sdp_connect_failed(ep, sdp_shortage(ev->error, SDP_REASON_UNREACHABLE),
				   ev->error == -EDQUOT ? -ENOBUFS :
				   ev->error ? : -EHOSTUNREACH);
		break;
	case SDP_XPRT_DISCONNECTED:
		sdp_conn_disconnected(conn, ev->error);
		break;
	case SDP_XPRT_DEVICE_GONE:
		sdp_conn_lost(conn);
		break;
	default:
		break;
	}
	sdp_ep_unlock(ep);
}

/* A message of a connection, or a buffer of one that has ended. */
static void sdp_conn_received(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
			      const struct sdp_xprt_event *ev)
{
	struct sdp_ep *ep = conn->ep;

	sdp_ep_lock(ep);
	/* The peer heard of the acceptance before we heard that it did. */
	if (!ev->error && ep->listener && ep->state == SDP_STATE_CONNECTING)
		sdp_incoming_established(ep);
	sdp_rx_done(conn, xc, ev->buf, ev->error);
	/* What TCP_DEFER_ACCEPT waits for */
	if (READ_ONCE(ep->accept) == SDP_ACCEPT_DEFERRED &&
	    (conn->rx.queue.end || conn->rx.state == SDP_RX_FIN))
		sdp_incoming_offer(ep);
	sdp_ep_unlock(ep);
}

static int sdp_event(struct sdp_xprt_conn *xc, void *ctx,
		     const struct sdp_xprt_event *ev)
{
	switch (ev->type) {
	case SDP_XPRT_CONNECT_REQUEST:
		return sdp_incoming(xc, ev);
	case SDP_XPRT_RECV_DONE:
		sdp_conn_received(ctx, xc, ev);
		return 0;
	case SDP_XPRT_SEND_DONE:
		sdp_tx_done(ctx, xc, ev->buf, ev->error);
		return 0;
	default:
		sdp_conn_event(ctx, ev);
		return 0;
	}
}

/* Of one device, or of the whole transport. */
static void sdp_xprt_gone(const struct sdp_xprt_ops *ops, const struct sdp_xprt_dev *dev)
{
	struct sdp_conn *conn;
	unsigned long id = 0;
	struct sdp_ep *ep;

	while ((ep = sdp_ep_next(&id))) {
		sdp_ep_lock(ep);
		conn = ep->conn;
		if (conn && conn->xc && conn->xprt == ops &&
		    (!dev || conn->dev == dev))
			sdp_conn_lost(conn);
		sdp_ep_unlock(ep);
		sdp_ep_put(ep);
		id++;
	}
}

const struct sdp_xprt_upcalls sdp_upcalls = {
	.request_addrs	= sdp_request_addrs,
	.event		= sdp_event,
	.gone		= sdp_xprt_gone,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * The transport: its registration, and its events on their way to the
 * endpoints.
 */
#include <linux/completion.h>
#include <linux/seq_file.h>

#include "sdpdev.h"

/* Serialises registration, and the ports listened on. */
DEFINE_MUTEX(sdp_xprt_mutex);

/* Protected by sdp_xprt_mutex for writing; stays while referenced. */
static const struct sdp_xprt_ops *sdp_xprt;
static refcount_t sdp_xprt_ref = REFCOUNT_INIT(0);
static DECLARE_COMPLETION(sdp_xprt_gone);
static bool sdp_xprt_going;

/**
 * sdp_xprt_get() - the transport, if there is one
 *
 * Return: the transport, referenced, or NULL.
 */
const struct sdp_xprt_ops *sdp_xprt_get(void)
{
	/* A transport that starts to leave just now ends the caller's connection soon. */
	if (READ_ONCE(sdp_xprt_going) || !refcount_inc_not_zero(&sdp_xprt_ref))
		return NULL;
	/*
	 * The count orders no later load.  Pairs with the smp_wmb() in
	 * sdp_xprt_register(): whoever finds the count set finds the transport.
	 */
	smp_acquire__after_ctrl_dep();
	return READ_ONCE(sdp_xprt);
}

/**
 * sdp_xprt_put() - drop the reference
 */
void sdp_xprt_put(void)
{
	if (refcount_dec_and_test(&sdp_xprt_ref))
		complete(&sdp_xprt_gone);
}

/**
 * sdp_xprt_listen() - let requests for a port in
 * @port: host byte order
 *
 * Context: sdp_xprt_mutex held.
 * Return: zero (also without a transport) or a negative errno.
 */
int sdp_xprt_listen(u16 port)
{
	return sdp_xprt && !sdp_xprt_going ? sdp_xprt->listen(port) : 0;
}

/**
 * sdp_xprt_unlisten() - keep them out
 * @port: host byte order
 *
 * Context: sdp_xprt_mutex held.
 */
void sdp_xprt_unlisten(u16 port)
{
	if (sdp_xprt)
		sdp_xprt->unlisten(port);
}

/**
 * sdp_xprt_stats() - the transport's own counters
 * @seq: where to
 */
void sdp_xprt_stats(struct seq_file *seq)
{
	mutex_lock(&sdp_xprt_mutex);
	if (sdp_xprt && sdp_xprt->show_stats)
		sdp_xprt->show_stats(seq);
	mutex_unlock(&sdp_xprt_mutex);
}

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
static void sdp_conn_lost(struct sdp_ep *ep)
{
	ep->purge = true;
	if (ep->state == SDP_STATE_CONNECTING && !ep->listener)
		sdp_connect_failed(ep, SDP_REASON_DEVICE, -ENETDOWN);
	sdp_conn_ended(ep, SDP_REASON_DEVICE, ENETDOWN);
	if (ep->conn)
		sdp_conn_kick(ep);
}

static void sdp_conn_disconnected(struct sdp_ep *ep, int error)
{
	if (ep->state == SDP_STATE_CONNECTING && !ep->listener)
		sdp_connect_failed(ep, SDP_REASON_UNREACHABLE,
				   error ? : -ECONNRESET);
	else if (ep->fin_rcvd && ep->fin_sent && (ep->fin_done || error != -ETIMEDOUT))
		sdp_conn_ended(ep, SDP_REASON_NONE, 0);
	else if (error == -ETIMEDOUT)
		sdp_conn_ended(ep, SDP_REASON_TRANSPORT, ETIMEDOUT);
	else
		sdp_conn_ended(ep, SDP_REASON_TRANSPORT,
			       ep->fin_rcvd ? EPIPE : ECONNRESET);
}

static u8 sdp_reject_reason(const struct sdp_xprt_event *ev)
{
	return ev->reason == SDP_XPRT_REJECT_CONSUMER ||
	       ev->reason == SDP_XPRT_REJECT_NO_SERVICE ?
	       SDP_REASON_REFUSED : SDP_REASON_UNREACHABLE;
}

static void sdp_conn_event(struct sdp_ep *ep, const struct sdp_xprt_event *ev)
{
	spin_lock_bh(&ep->lock);
	switch (ev->type) {
	case SDP_XPRT_ESTABLISHED:
		if (ep->listener)
			sdp_incoming_established(ep);
		else
			sdp_connect_established(ep, ev);
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
		sdp_conn_disconnected(ep, ev->error);
		break;
	case SDP_XPRT_DEVICE_GONE:
		sdp_conn_lost(ep);
		break;
	default:
		break;
	}
	spin_unlock_bh(&ep->lock);
}

static int sdp_event(struct sdp_xprt_conn *conn, void *ctx,
		     const struct sdp_xprt_event *ev)
{
	switch (ev->type) {
	case SDP_XPRT_CONNECT_REQUEST:
		return sdp_incoming(conn->ops, conn, ev);
	case SDP_XPRT_RECV_DONE:
		sdp_rx_done(ctx, conn, ev->buf, ev->error);
		return 0;
	case SDP_XPRT_SEND_DONE:
		sdp_tx_done(ctx, conn, ev->buf, ev->error);
		return 0;
	default:
		sdp_conn_event(ctx, ev);
		return 0;
	}
}

/* Of one device, or of all. */
static void sdp_xprt_end_all(const void *device)
{
	struct sdp_ep *ep;
	unsigned long id;

	xa_lock_bh(&sdp_eps);
	xa_for_each(&sdp_eps, id, ep) {
		spin_lock(&ep->lock);
		if (ep->conn && (!device || ep->device == device))
			sdp_conn_lost(ep);
		spin_unlock(&ep->lock);
	}
	xa_unlock_bh(&sdp_eps);
}

static const struct sdp_xprt_upcalls sdp_upcalls = {
	.request_addrs	= sdp_request_addrs,
	.event		= sdp_event,
	.device_gone	= sdp_xprt_end_all,
};

static void sdp_xprt_listen_one(u16 port)
{
	if (sdp_xprt_listen(port))
		sdp_count(SDP_CNT_LISTEN_FAILED);
}

int sdp_xprt_register(const struct sdp_xprt_ops *ops,
		      const struct sdp_xprt_upcalls **up)
{
	int err = 0;

	mutex_lock(&sdp_xprt_mutex);
	if (sdp_xprt) {
		err = -EEXIST;
		goto out;
	}
	*up = &sdp_upcalls;
	reinit_completion(&sdp_xprt_gone);
	WRITE_ONCE(sdp_xprt, ops);
	WRITE_ONCE(sdp_xprt_going, false);
	/* The transport before the count: pairs with the acquire in sdp_xprt_get(). */
	smp_wmb();
	refcount_set(&sdp_xprt_ref, 1);
	sdp_ports_for_each(sdp_xprt_listen_one);
out:
	mutex_unlock(&sdp_xprt_mutex);
	return err;
}
EXPORT_SYMBOL_GPL(sdp_xprt_register);

void sdp_xprt_unregister(const struct sdp_xprt_ops *ops)
{
	mutex_lock(&sdp_xprt_mutex);
	/* Read alone in sdp_xprt_get(): no barrier is needed, see the loop below. */
	WRITE_ONCE(sdp_xprt_going, true);
	sdp_ports_for_each(sdp_xprt_unlisten);
	mutex_unlock(&sdp_xprt_mutex);
	sdp_xprt_put();
	/* A connection that began in the last moment is found a bit later. */
	do {
		sdp_xprt_end_all(NULL);
	} while (!wait_for_completion_timeout(&sdp_xprt_gone, HZ / 4));
	mutex_lock(&sdp_xprt_mutex);
	WRITE_ONCE(sdp_xprt, NULL);
	mutex_unlock(&sdp_xprt_mutex);
}
EXPORT_SYMBOL_GPL(sdp_xprt_unregister);

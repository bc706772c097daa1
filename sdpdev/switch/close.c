// SPDX-License-Identifier: GPL-2.0
/*
 * How connections end: half by half with DisConn, at once with AbortConn, or
 * because the transport lost them.
 */
#include "sdpdev.h"

/* How long an AbortConn may take before the connection ends without it. */
#define SDP_ABORT_MS	2000

/* Nothing is sent or received from now on. */
static void sdp_set_ended(struct sdp_ep *ep, u8 reason, int err)
{
	if (ep->reason == SDP_REASON_NONE && reason != SDP_REASON_NONE) {
		ep->reason = reason;
		sdp_count(SDP_CNT_REASON + reason);
	}
	if (err && !ep->orphan)
		ep->err = err;
	ep->shut = SHUTDOWN_MASK;
	ep->state = SDP_STATE_CLOSED;
	sdp_ring_tx_end(ep);
	sdp_ring_rx_flags(ep);
	sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT |
			EPOLLWRNORM | EPOLLERR | EPOLLHUP);
}

/**
 * sdp_conn_ended() - the connection has ended, orderly or not
 * @ep: the endpoint, ep->lock held
 * @reason: SDP_REASON_*, NONE after an orderly end
 * @err: error for user space, positive, or zero
 */
void sdp_conn_ended(struct sdp_ep *ep, u8 reason, int err)
{
	if (ep->kill || !ep->conn)
		return;
	/* Who lingers looks for it when it is woken. */
	ep->kill = true;
	if (!ep->ending)
		sdp_set_ended(ep, reason, err);
	sdp_conn_kick(ep);
}

/**
 * sdp_abort() - end the connection by AbortConn
 * @ep: the endpoint, ep->lock held
 * @reason: SDP_REASON_*
 * @err: error for user space, positive, or zero
 */
void sdp_abort(struct sdp_ep *ep, u8 reason, int err)
{
	struct sdp_xprt_buf *buf;

	if (ep->ending || ep->kill || !ep->conn)
		return;
	if (!ep->live || sdp_credit_tx(&ep->credit) < 1) {
		sdp_conn_ended(ep, reason, err);
		return;
	}
	/* What the transport does not have yet is not sent any more. */
	list_for_each_entry(buf, &ep->tx_pending, list)
		ep->tx_used--;
	list_splice_init(&ep->tx_pending, &ep->tx_free);
	ep->ending = true;
	sdp_set_ended(ep, reason, err);
	sdp_conn_timer(ep, SDP_ABORT_MS);
	sdp_tx_push(ep);
}

/**
 * sdp_abort_after() - end the connection by AbortConn behind what was written
 * @ep: the endpoint, ep->lock held
 *
 * Nobody reads any more.  A few credits are enough to have a short answer wait for
 * one, where TCP would have sent it by now; it is not to be lost because the peer
 * went on sending.  That peer's messages bring the credits.
 */
void sdp_abort_after(struct sdp_ep *ep)
{
	sdp_tx_uncork(ep);
	sdp_tx_push(ep);
	if (ep->live && sdp_tx_unsent(ep)) {
		if (!ep->abort_due)
			sdp_conn_timer(ep, SDP_ABORT_MS);
		ep->abort_due = true;
		return;
	}
	sdp_abort(ep, SDP_REASON_LOCAL_ABORT, ECONNRESET);
}

/**
 * sdp_bad_message() - the peer sent what it must not send
 * @ep: the endpoint, ep->lock held
 * @bad: what is wrong with it
 */
void sdp_bad_message(struct sdp_ep *ep, enum sdp_bad bad)
{
	u8 reason = SDP_REASON_BAD_MESSAGE;

	if (bad == SDP_BAD_MSEQ || bad == SDP_BAD_MSEQ_ACK)
		reason = SDP_REASON_SEQUENCE;
	else if (bad == SDP_BAD_CREDITS)
		reason = SDP_REASON_CREDITS;
	sdp_count(SDP_CNT_BAD + bad);
	sdp_abort(ep, reason, ECONNRESET);
}

/**
 * sdp_close_progress() - a DisConn came, or ours has arrived
 * @ep: the endpoint, ep->lock held
 */
void sdp_close_progress(struct sdp_ep *ep)
{
	if (ep->ending || ep->kill)
		return;
	if (ep->state == SDP_STATE_CONNECTED)
		ep->state = SDP_STATE_CLOSING;
	if (ep->fin_rcvd && ep->fin_done)
		sdp_conn_ended(ep, SDP_REASON_NONE, 0);
	else if (ep->fin_done)
		/* Somebody may linger until the peer has all. */
		sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
}

static int sdp_shutdown_sdp(struct sdp_ep *ep, int how)
{
	int err = 0;

	spin_lock_bh(&ep->lock);
	switch (ep->state) {
	case SDP_STATE_CONNECTING:
		ep->no_tcp = true;
		sdp_connect_failed(ep, SDP_REASON_LOCAL_ABORT, -ECONNRESET);
		break;
	case SDP_STATE_CONNECTED:
	case SDP_STATE_CLOSING:
		ep->shut |= how;
		if (how & RCV_SHUTDOWN)
			ep->shut_rd = true;
		if (how & SEND_SHUTDOWN) {
			ep->state = SDP_STATE_CLOSING;
			sdp_tx_uncork(ep);
			sdp_ring_tx_end(ep);
		}
		sdp_ring_rx_flags(ep);
		sdp_tx_push(ep);
		sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT |
				EPOLLWRNORM | EPOLLHUP);
		break;
	default:
		err = -ENOTCONN;
	}
	spin_unlock_bh(&ep->lock);
	return err;
}

/**
 * sdp_shutdown() - shutdown(2)
 * @ep: the endpoint
 * @how: SHUT_RD, SHUT_WR or SHUT_RDWR
 *
 * Return: zero or a negative errno.
 */
int sdp_shutdown(struct sdp_ep *ep, int how)
{
	int err;

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	if (!sdp_ep_native(ep))
		return sdp_shutdown_sdp(ep, how + 1);

	if (sdp_listens_alone(ep)) {
		if (how != SHUT_WR)
			sdp_unlisten(ep);
		return 0;
	}
	err = kernel_sock_shutdown(sdp_native_sk(ep)->sk_socket, how);
	/* TCP stops listening then, and accept(2) gives EINVAL. */
	if (how != SHUT_WR)
		sdp_unlisten(ep);
	return err;
}

static bool sdp_lingered(struct sdp_ep *ep)
{
	return READ_ONCE(ep->fin_done) || READ_ONCE(ep->kill) ||
	       READ_ONCE(ep->ending);
}

/* Begins the end; returns whether it goes on without the file. */
static bool sdp_close_begin(struct sdp_ep *ep, long linger)
{
	bool orderly = false;

	spin_lock_bh(&ep->lock);
	/* Somebody may still have the ring mapped. */
	sdp_ring_tx_end(ep);
	switch (ep->state) {
	case SDP_STATE_CONNECTING:
		ep->no_tcp = true;
		sdp_connect_failed(ep, SDP_REASON_LOCAL_ABORT, -ECONNABORTED);
		break;
	case SDP_STATE_CONNECTED:
	case SDP_STATE_CLOSING:
		if (linger == 0) {
			sdp_abort(ep, SDP_REASON_LOCAL_ABORT, 0);
			break;
		}
		if (sdp_rx_avail(ep)) {
			sdp_abort_after(ep);
			ep->shut_rd = true;
			break;
		}
		orderly = true;
		ep->shut = SHUTDOWN_MASK;
		ep->shut_rd = true;
		sdp_tx_uncork(ep);
		ep->state = SDP_STATE_CLOSING;
		sdp_tx_push(ep);
		break;
	}
	spin_unlock_bh(&ep->lock);
	return orderly;
}

/**
 * sdp_close_port() - TCP does not listen any more where connections keep the port
 * @ep: an endpoint that does not listen
 *
 * Where user space has the native socket's lock it is tried again later: nobody waits
 * for it here, as the last descriptor may be closed by one of the kernel's workers.
 */
void sdp_close_port(struct sdp_ep *ep)
{
	/* Pairs with sdp_port_lend(), which lends nothing once nobody listens. */
	if (READ_ONCE(ep->port_lent) && !sdp_native_only_bound(ep))
		sdp_conn_retry(ep);
}

/**
 * sdp_close() - the last descriptor of the file is closed
 * @ep: the endpoint; the file's reference is dropped
 *
 * What was written still goes to the peer, in the background, unless SO_LINGER
 * says otherwise; bytes that were not read end the connection by AbortConn, as
 * TCP resets it.
 */
void sdp_close(struct sdp_ep *ep)
{
	struct sdp_opts opts;
	bool orderly;

	sdp_unlisten(ep);
	sdp_opts_get(ep, &opts);
	orderly = sdp_close_begin(ep, opts.linger);
	sdp_ring_look(ep);
	if (orderly && opts.linger > 0 && !(current->flags & PF_EXITING))
		wait_event_interruptible_timeout(ep->wait, sdp_lingered(ep),
						 opts.linger);

	spin_lock_bh(&ep->lock);
	ep->orphan = true;
	ep->file = NULL;
	if (ep->conn) {
		if (orderly && !ep->kill && !ep->ending && !ep->abort_due)
			sdp_conn_timer(ep, READ_ONCE(sdp_close_ms));
		sdp_conn_kick(ep);
	}
	spin_unlock_bh(&ep->lock);
	/* Now, as it is tried again for an orphan only. */
	sdp_close_port(ep);
	sdp_ep_put(ep);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * shutdown(2) and close(2).
 */
#include "switch/switch.h"

static int sdp_shutdown_sdp(struct sdp_ep *ep, int how)
{
	int err = 0;

	sdp_ep_lock(ep);
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
	sdp_ep_unlock(ep);
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

	sdp_ep_lock(ep);
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
			sdp_tx_abort_after(ep);
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
	sdp_ep_unlock(ep);
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
		sdp_ep_retry(ep);
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

	sdp_ep_lock(ep);
	ep->orphan = true;
	ep->file = NULL;
	if (ep->conn) {
		if (orderly && !ep->kill && !ep->ending && !ep->abort_due)
			sdp_conn_timer(ep, READ_ONCE(sdp_close_ms));
		sdp_ep_kick(ep);
	}
	sdp_ep_unlock(ep);
	/* Now, as it is tried again for an orphan only. */
	sdp_close_port(ep);
	sdp_ep_put(ep);
}

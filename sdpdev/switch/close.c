// SPDX-License-Identifier: GPL-2.0
/*
 * shutdown(2) and close(2).
 */
#include "switch/switch.h"

/* Nobody reads any more. */
static void sdp_shut_rx(struct sdp_conn *conn)
{
	if (conn->rx.state == SDP_RX_OPEN)
		sdp_rx_set(conn, SDP_RX_SHUT);
}

/* Nobody writes any more: DisConn follows. */
static void sdp_shut_tx(struct sdp_conn *conn)
{
	if (conn->tx.state == SDP_TX_OPEN)
		sdp_tx_set(conn, SDP_TX_FIN_WANTED);
	sdp_state_set(conn->ep, SDP_STATE_CLOSING);
	sdp_tx_uncork(conn);
}

static int sdp_shutdown_sdp(struct sdp_ep *ep, int how)
{
	struct sdp_conn *conn;
	int err = 0;

	sdp_ep_lock(ep);
	conn = ep->conn;
	switch (ep->state) {
	case SDP_STATE_CONNECTING:
		ep->no_tcp = true;
		sdp_connect_failed(ep, SDP_REASON_LOCAL_ABORT, -ECONNRESET);
		break;
	case SDP_STATE_CONNECTED:
	case SDP_STATE_CLOSING:
		ep->shut |= how;
		if (how & RCV_SHUTDOWN)
			sdp_shut_rx(conn);
		if (how & SEND_SHUTDOWN) {
			sdp_shut_tx(conn);
			sdp_ring_tx_end(conn);
		}
		sdp_ring_rx_flags(conn);
		sdp_tx_push(conn);
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

static bool sdp_lingered(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->tx.state) == SDP_TX_FIN_ACKED || sdp_conn_over(conn);
}

/* Begins the end of the connection; returns whether it goes on without the file. */
static bool sdp_close_begin(struct sdp_conn *conn, long linger)
{
	struct sdp_ep *ep = conn->ep;
	bool orderly = false;

	sdp_ep_lock(ep);
	/* Somebody may still have the ring mapped. */
	sdp_ring_tx_end(conn);
	if (conn->rings.bad)
		sdp_tx_push(conn);
	switch (ep->state) {
	case SDP_STATE_CONNECTING:
		ep->no_tcp = true;
		sdp_connect_failed(ep, SDP_REASON_LOCAL_ABORT, -ECONNABORTED);
		break;
	case SDP_STATE_CONNECTED:
	case SDP_STATE_CLOSING:
		if (linger == 0) {
			sdp_abort(conn, SDP_REASON_LOCAL_ABORT, 0);
			break;
		}
		if (sdp_rx_avail(conn)) {
			sdp_tx_abort_after(conn);
			sdp_shut_rx(conn);
			break;
		}
		orderly = true;
		ep->shut = SHUTDOWN_MASK;
		sdp_shut_rx(conn);
		sdp_shut_tx(conn);
		sdp_tx_push(conn);
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
	struct sdp_listener *listen = sdp_ep_listen(ep);

	/* Pairs with sdp_port_lend(), which lends nothing once nobody listens. */
	if (listen && READ_ONCE(listen->lent) && !sdp_native_only_bound(ep))
		sdp_ep_retry(ep);
}

/* Returns whether the connection ends in an orderly way, of which nobody sees the end. */
static bool sdp_close_conn(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_opts opts;
	bool orderly;

	sdp_opts_get(ep, &opts);
	orderly = sdp_close_begin(conn, opts.linger);
	if (conn->rings.tx.size)
		sdp_ring_look(conn);
	if (orderly && opts.linger > 0 && !(current->flags & PF_EXITING))
		wait_event_interruptible_timeout(ep->wait, sdp_lingered(conn),
						 opts.linger);
	return orderly;
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
	struct sdp_conn *conn;
	bool orderly = false;

	sdp_unlisten(ep);
	conn = sdp_conn_get(ep);
	if (conn)
		orderly = sdp_close_conn(conn);

	sdp_ep_lock(ep);
	ep->orphan = true;
	ep->file = NULL;
	if (orderly && conn->phase == SDP_PHASE_OPEN)
		sdp_conn_timer(conn, READ_ONCE(sdp_close_ms));
	/* Otherwise its end kicks. */
	if (ep->conn && sdp_conn_dead(ep->conn))
		sdp_ep_kick(ep);
	sdp_ep_unlock(ep);
	sdp_conn_put(conn);
	/* Now, as it is tried again for an orphan only. */
	sdp_close_port(ep);
	sdp_ep_put(ep);
}

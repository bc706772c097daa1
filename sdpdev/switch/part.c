// SPDX-License-Identifier: GPL-2.0
/*
 * connect(2) with AF_UNSPEC: whatever the endpoint does it does no longer, and it
 * can bind, connect or listen again.
 */
#include <net/inet_sock.h>
#include <net/tcp_states.h>

#include "switch/switch.h"

/* TCP takes its own apart, or stops to listen, or does nothing. */
static int sdp_part_native(struct sdp_ep *ep)
{
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };
	int err;

	sdp_unlisten(ep);
	err = kernel_connect(sdp_native_sk(ep)->sk_socket, &unspec, sizeof(unspec), 0);
	if (err)
		return err;
	sdp_ep_lock(ep);
	sdp_carrier_set(ep, SDP_CARRIER_NONE);
	sdp_state_set(ep, SDP_STATE_BOUND);
	ep->err = 0;
	sdp_ep_unlock(ep);
	return 0;
}

/* Begins the end; the endpoint's work makes a new one of it. */
static void sdp_part_begin(struct sdp_ep *ep)
{
	sdp_ep_lock(ep);
	sdp_attempt_set(ep, SDP_ATTEMPT_PARTING);
	if (ep->state == SDP_STATE_CONNECTING)
		sdp_connect_failed(ep, SDP_REASON_LOCAL_ABORT, 0);
	else if (ep->conn)
		sdp_abort(ep->conn, SDP_REASON_LOCAL_ABORT, 0);
	/* It may have ended long ago. */
	sdp_ep_kick(ep);
	sdp_ep_unlock(ep);
}

/* op_mutex is held. */
static int sdp_part(struct sdp_ep *ep)
{
	struct sdp_conn *conn;
	int err;

	if (sdp_ep_native(ep))
		return sdp_part_native(ep);
	err = sdp_native_ensure(ep);
	if (err)
		return err;
	conn = sdp_conn_get(ep);
	sdp_part_begin(ep);
	if (conn)
		sdp_ring_drop(conn);
	sdp_conn_put(conn);
	/* Pairs with the release in sdp_attempt_set(). */
	err = wait_event_interruptible(ep->wait, smp_load_acquire(&ep->attempt) !=
				       SDP_ATTEMPT_PARTING);
	if (err)
		return err;
	sdp_route_forget(ep);
	/* The fall back may have been faster. */
	if (inet_sk_state_load(sdp_native_sk(ep)) != TCP_CLOSE)
		return sdp_part_native(ep);
	return 0;
}

/**
 * sdp_disconnect() - take a connection apart
 * @ep: the endpoint
 *
 * The peer finds its end reset, and the error that is pending then is ECONNRESET,
 * as with TCP.  It takes a moment, since the transport has to let go first.
 *
 * Rings go with the connection, and with the bytes in them.
 *
 * Return: zero or a negative errno.
 */
int sdp_disconnect(struct sdp_ep *ep)
{
	int err;

	if (mutex_lock_killable(&ep->op_mutex))
		return -ERESTARTSYS;
	err = sdp_part(ep);
	mutex_unlock(&ep->op_mutex);
	return err;
}

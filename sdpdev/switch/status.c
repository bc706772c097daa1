// SPDX-License-Identifier: GPL-2.0
/*
 * An endpoint tells its events for poll(2), its error, and the answer to SDP_IOC_INFO.
 */
#include <linux/poll.h>

#include "ring/ring.h"
#include "switch/switch.h"

/* Of a connection over SDP; ep->lock held. */
static __poll_t sdp_conn_poll(struct sdp_conn *conn, const struct sdp_opts *opts)
{
	struct sdp_ep *ep = conn->ep;
	__poll_t mask = 0;
	u64 avail, hidden;
	bool waited_for;

	sdp_size_limit(conn, opts);
	if (ep->shut == SHUTDOWN_MASK || ep->state == SDP_STATE_CLOSED)
		mask |= EPOLLHUP;
	if (ep->shut & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	avail = sdp_rx_avail(conn);
	hidden = sdp_urg_hidden(conn);
	/* No more comes than there are buffers for, whatever is waited for. */
	if (avail >= hidden + max(opts->rcvlowat, 1) ||
	    (avail > hidden && sdp_credit_rx(&conn->credit) <= SDP_KEPT_CREDITS))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (conn->urg.state == SDP_URG_VALID)
		mask |= EPOLLPRI;
	waited_for = conn->tx.nospace;
	conn->tx.nospace = true;
	if ((ep->shut & SEND_SHUTDOWN) || sdp_tx_room(conn)) {
		mask |= EPOLLOUT | EPOLLWRNORM;
		conn->tx.nospace = false;
		/* Room that SO_SNDBUF has made: others have not heard of it. */
		if (waited_for)
			sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
	}
	return mask;
}

/* False if the native socket has to be asked. */
static bool sdp_ep_poll_sdp(struct sdp_ep *ep, __poll_t *events)
{
	struct sdp_opts opts;
	bool native;

	/* The rest is for who may still be another's. */
	if (READ_ONCE(ep->carrier) == SDP_CARRIER_TCP)
		return false;
	sdp_opts_get(ep, &opts);
	sdp_ep_lock(ep);
	/* Under the lock, since a fall back ends CONNECTING at any time. */
	native = sdp_ep_native(ep);
	if (!native) {
		*events = ep->err ? EPOLLERR : 0;
		if (ep->state != SDP_STATE_CONNECTING && ep->conn)
			*events |= sdp_conn_poll(ep->conn, &opts);
	}
	sdp_ep_unlock(ep);
	return !native;
}

/**
 * sdp_ep_poll() - the events that poll(2) would tell now
 * @ep: an endpoint after SDP_IOC_INIT
 *
 * The same as for a TCP socket in the corresponding state.
 */
__poll_t sdp_ep_poll(struct sdp_ep *ep)
{
	__poll_t mask;

	if (sdp_ep_poll_sdp(ep, &mask))
		return mask;

	mask = sdp_listens_alone(ep) ? 0 : sdp_native_poll(ep);
	if (READ_ONCE(ep->err))
		mask |= EPOLLERR | EPOLLIN | EPOLLRDNORM;
	if (sdp_accept_ready(ep))
		mask |= EPOLLIN | EPOLLRDNORM;
	return mask;
}

/**
 * sdp_ep_take_error() - take the pending error
 * @ep: an endpoint after SDP_IOC_INIT
 *
 * Return: a positive errno, or zero.
 */
int sdp_ep_take_error(struct sdp_ep *ep)
{
	int err;

	sdp_ep_lock(ep);
	err = ep->err;
	ep->err = 0;
	sdp_ep_unlock(ep);
	if (!err && sdp_ep_native(ep))
		err = -sock_error(sdp_native_sk(ep));
	return err;
}

/**
 * sdp_ep_pending() - what who reads or writes where TCP answers has to be told first
 * @ep: an endpoint whose native socket answers
 *
 * An attempt to connect that came to nothing left its error here.
 *
 * Return: zero or a negative errno.
 */
int sdp_ep_pending(struct sdp_ep *ep)
{
	return READ_ONCE(ep->err) ? -sdp_ep_take_error(ep) : 0;
}

static u32 sdp_put_addr(struct __kernel_sockaddr_storage *to,
			const struct sockaddr_storage *from)
{
	memcpy(to, from, sizeof(*to));
	return sdp_addr_len(from);
}

/* ep->lock held. */
static void sdp_conn_info(const struct sdp_conn *conn, struct sdp_info *info)
{
	info->tx_ring_bytes = conn->rings.tx.size;
	info->rx_ring_bytes = conn->rings.rx.size;
	if (conn->rings.tx.size)
		info->ring_data_offset = sdp_ring_data_offset();
	if (sdp_conn_live(conn))
		info->tx_credits = max(sdp_credit_tx(&conn->credit), 0);
	info->tx_bytes = conn->tx.pending.begin;
	info->rx_bytes = conn->rx.queue.end;
	info->tx_msgs = conn->tx.msgs;
	info->rx_msgs = conn->rx.msgs;
}

/**
 * sdp_ep_info() - what SDP_IOC_INFO tells
 * @ep: an endpoint after SDP_IOC_INIT
 * @info: out: zero so far
 */
void sdp_ep_info(struct sdp_ep *ep, struct sdp_info *info)
{
	sdp_ep_lock(ep);
	info->state = ep->state;
	info->carrier = ep->carrier;
	info->reason = ep->reason;
	info->error = ep->err;
	info->shutdown = ep->shut;
	if (ep->conn)
		sdp_conn_info(ep->conn, info);
	info->local_len = sdp_put_addr(&info->local, &ep->local);
	info->peer_len = sdp_put_addr(&info->peer, &ep->peer);
	sdp_ep_unlock(ep);
	info->family = ep->family;
	info->id = ep->id;
	info->recv_by_call = sdp_recv_by_call(ep);

	if (sdp_ep_native(ep))
		sdp_native_info(ep, info);
	if (sdp_listens_alone(ep))
		info->state = SDP_STATE_LISTEN;
}

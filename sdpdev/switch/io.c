// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes in and out: of SDP, or of the native socket where that answers.
 */
#include <linux/sched/signal.h>

#include "switch/switch.h"

/* -EPIPE: somebody takes the connection apart, by connect(2) with AF_UNSPEC. */
static ssize_t sdp_io_recv_sdp(struct sdp_ep *ep, struct iov_iter *to, unsigned int flags,
			       long timeo, struct msghdr *msg)
{
	struct sdp_conn *conn = sdp_conn_get(ep);
	ssize_t ret = conn ? sdp_recv(conn, to, flags, timeo, msg) : -EPIPE;

	sdp_conn_put(conn);
	return ret;
}

/**
 * sdp_io_recv() - receive from whatever carries the connection
 * @ep: the endpoint
 * @to: where to
 * @flags: MSG_*
 * @timeo: jiffies to wait
 * @msg: in and out: its flags, and where control messages go
 *
 * Return: bytes, or a negative errno, that of recvmsg(2).
 */
ssize_t sdp_io_recv(struct sdp_ep *ep, struct iov_iter *to, unsigned int flags, long timeo,
		    struct msghdr *msg)
{
	int err;

	err = sdp_connect_wait(ep, &timeo);
	if (err)
		return err;
	if (!sdp_ep_native(ep))
		return sdp_io_recv_sdp(ep, to, flags, timeo, msg);
	/* The queue of errors is TCP's, whatever the endpoint has to tell. */
	err = flags & MSG_ERRQUEUE ? 0 : sdp_ep_pending(ep);
	return err ? : sdp_native_recv(ep, to, flags, msg);
}

/* What a call that could send nothing returns, and SIGPIPE. */
static int sdp_io_error(struct sdp_ep *ep, unsigned int flags, int err)
{
	if (err == -EPIPE)
		err = -sdp_ep_take_error(ep) ? : -EPIPE;
	if (err == -EPIPE && !(flags & MSG_NOSIGNAL))
		send_sig(SIGPIPE, current, 0);
	return err;
}

/**
 * sdp_io_send() - send on whatever carries the connection
 * @ep: the endpoint
 * @from: where from
 * @flags: MSG_*
 * @timeo: jiffies to wait
 *
 * Return: bytes, or a negative errno, that of sendmsg(2).
 */
ssize_t sdp_io_send(struct sdp_ep *ep, struct iov_iter *from, unsigned int flags, long timeo)
{
	struct sdp_conn *conn;
	ssize_t ret;
	int err;

	err = sdp_connect_wait(ep, &timeo);
	if (err)
		return err;
	if (sdp_ep_native(ep))
		return sdp_ep_pending(ep) ? : sdp_native_send(ep, from, flags);
	conn = sdp_conn_get(ep);
	ret = conn ? sdp_send(conn, from, flags, timeo) : -EPIPE;
	sdp_conn_put(conn);
	return ret < 0 ? sdp_io_error(ep, flags, ret) : ret;
}

/**
 * sdp_io_ring_setup() - SDP_IOC_RING_SETUP
 * @ep: the endpoint
 * @tx_bytes: size of the transmit ring's data
 * @rx_bytes: size of the receive ring's data
 *
 * Return: zero or a negative errno.
 */
int sdp_io_ring_setup(struct sdp_ep *ep, u32 tx_bytes, u32 rx_bytes)
{
	struct sdp_conn *conn = sdp_conn_get(ep);
	int err = -ENOTCONN;

	if (!sdp_ring_sizes_ok(tx_bytes, rx_bytes))
		err = -EINVAL;
	else if (READ_ONCE(ep->carrier) == SDP_CARRIER_TCP)
		err = -EOPNOTSUPP;
	else if (conn)
		err = sdp_ring_setup(conn, tx_bytes, rx_bytes);
	sdp_conn_put(conn);
	return err;
}

/**
 * sdp_io_ring_enter() - SDP_IOC_RING_ENTER
 * @ep: the endpoint
 * @flags: SDP_ENTER_*
 * @nonblock: do not wait
 *
 * Return: zero or a negative errno.
 */
int sdp_io_ring_enter(struct sdp_ep *ep, u32 flags, bool nonblock)
{
	struct sdp_conn *conn = sdp_conn_get(ep);
	int err = conn ? sdp_ring_enter(conn, flags, nonblock) : -ENXIO;

	sdp_conn_put(conn);
	return err;
}

/**
 * sdp_io_mmap() - map a ring, or the state of both
 * @ep: the endpoint
 * @vma: where to
 *
 * Return: zero or a negative errno, those of sdp_ring_mmap().
 */
int sdp_io_mmap(struct sdp_ep *ep, struct vm_area_struct *vma)
{
	struct sdp_conn *conn = sdp_conn_get(ep);
	int err = sdp_ring_mmap_check(vma);

	if (!err)
		err = conn ? sdp_ring_mmap(&conn->rings, vma) : -ENXIO;
	sdp_conn_put(conn);
	return err;
}

/**
 * sdp_io_closing() - a descriptor of the endpoint's file has gone away
 * @ep: the endpoint
 */
void sdp_io_closing(struct sdp_ep *ep)
{
	struct sdp_conn *conn = sdp_conn_get(ep);

	if (conn && sdp_ring_closing(&conn->rings))
		sdp_ring_look(conn);
	sdp_conn_put(conn);
}

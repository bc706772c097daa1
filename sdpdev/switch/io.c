// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes in and out: of SDP, or of the native socket where that answers.
 */
#include <linux/sched/signal.h>

#include "switch/switch.h"

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
		return sdp_recv(ep, to, flags, timeo, msg);
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
	ssize_t ret;
	int err;

	err = sdp_connect_wait(ep, &timeo);
	if (err)
		return err;
	if (sdp_ep_native(ep))
		return sdp_ep_pending(ep) ? : sdp_native_send(ep, from, flags);
	ret = sdp_send(ep, from, flags, timeo);
	return ret < 0 ? sdp_io_error(ep, flags, ret) : ret;
}

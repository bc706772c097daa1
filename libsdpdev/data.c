// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Sending and receiving by system call.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include "internal.h"

#define SEND_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | MSG_EOR | MSG_OOB)
#define RECV_FLAGS	(MSG_DONTWAIT | MSG_PEEK | MSG_WAITALL | MSG_TRUNC | MSG_OOB | \
			 MSG_ERRQUEUE)

/* Flags that TCP takes from a program and that mean nothing to a stream. */
#define SEND_IGNORED	(MSG_DONTROUTE | MSG_CONFIRM | MSG_ZEROCOPY | MSG_WAITALL)
#define RECV_IGNORED	(MSG_DONTROUTE | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC)

/*
 * A descriptor of the native socket if the whole call may be left to it: where
 * TCP carries the bytes, it knows control messages and flags that SDP does not.
 */
static int native_if_tcp(int fd, int *flags)
{
	struct sdp_info info;
	int mode;

	if (sdp_info(fd, &info))
		return -1;
	if (info.carrier != SDP_CARRIER_TCP)
		return sdp_fail(EOPNOTSUPP);
	/* O_NONBLOCK is the endpoint's file's, not its native socket's. */
	mode = fcntl(fd, F_GETFL);
	if (mode >= 0 && (mode & O_NONBLOCK))
		*flags |= MSG_DONTWAIT;
	return sdp_native(fd);
}

static void unnative(const int *native)
{
	if (*native >= 0)
		sdp_unnative(*native);
}

/* Closed also where the thread is cancelled. */
#define NATIVE(fd, flags)						\
	__attribute__((cleanup(unnative))) int native = native_if_tcp(fd, flags)

static ssize_t native_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	NATIVE(fd, &flags);

	return native < 0 ? -1 : sendmsg(native, msg, flags);
}

static ssize_t native_recvmsg(int fd, struct msghdr *msg, int flags)
{
	NATIVE(fd, &flags);

	return native < 0 ? -1 : recvmsg(native, msg, flags);
}

/**
 * sdp_sendmsg - sendmsg(2) for an endpoint
 * @fd: the endpoint
 * @msg: what to send; its name is ignored, as TCP does
 * @flags: MSG_DONTWAIT, MSG_NOSIGNAL, MSG_MORE, MSG_EOR, MSG_OOB, MSG_FASTOPEN or
 *	zero
 *
 * With MSG_FASTOPEN it connects first, to the name, and sends when it is connected.
 * Other flags are EOPNOTSUPP unless TCP carries the bytes.  So are control messages
 * that would do something: those for a mark and for time stamps.
 *
 * Return: the bytes sent, or -1 with the errno value of sendmsg(2)
 */
__public ssize_t sdp_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct sdp_msg arg = {
		.size = sizeof(arg),
		.flags = flags & ~SEND_IGNORED,
		.iov = (uintptr_t)msg->msg_iov,
		.iov_len = msg->msg_iovlen,
	};
	ssize_t ret;

	if (msg->msg_iovlen > IOV_MAX)
		return sdp_fail(EMSGSIZE);
	if (flags & MSG_FASTOPEN) {
		if (sdp_check_fastopen(msg) ||
		    sdp_connect(fd, msg->msg_name, msg->msg_namelen,
				(flags & MSG_DONTWAIT) ? SDP_CONNECT_NONBLOCK : 0))
			return -1;
		flags &= ~MSG_FASTOPEN;
		arg.flags &= ~MSG_FASTOPEN;
	}
	if (msg->msg_controllen || (flags & ~(SEND_FLAGS | SEND_IGNORED))) {
		ret = native_sendmsg(fd, msg, flags);
		if (ret >= 0 || errno != EOPNOTSUPP ||
		    (flags & ~(SEND_FLAGS | SEND_IGNORED)))
			return ret;
		if (sdp_check_control(msg))
			return -1;
	}
	return sdp_ioctl_blocking(fd, SDP_IOC_SEND, &arg);
}

/**
 * sdp_recvmsg - recvmsg(2) for an endpoint
 * @fd: the endpoint
 * @msg: where to put it; no name comes, and over SDP no control message but that of
 *	TCP_INQ
 * @flags: MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL, MSG_TRUNC, MSG_OOB, MSG_ERRQUEUE or zero
 *
 * Other flags are EOPNOTSUPP unless TCP carries the bytes.
 *
 * Return: the bytes received, 0 at the end of the stream, or -1 with the errno
 * value of recvmsg(2)
 */
__public ssize_t sdp_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct sdp_msg arg = {
		.size = sizeof(arg),
		.flags = flags & ~RECV_IGNORED,
		.iov = (uintptr_t)msg->msg_iov,
		.iov_len = msg->msg_iovlen,
	};
	size_t room = msg->msg_controllen;
	ssize_t ret;

	if (msg->msg_iovlen > IOV_MAX)
		return sdp_fail(EMSGSIZE);
	if (room || (flags & ~(RECV_FLAGS | RECV_IGNORED))) {
		ret = native_recvmsg(fd, msg, flags);
		/* Room for control messages is an offer, not a wish. */
		if (ret >= 0 || errno != EOPNOTSUPP ||
		    (flags & ~(RECV_FLAGS | RECV_IGNORED)))
			return ret;
	}

	ret = sdp_ioctl_blocking(fd, SDP_IOC_RECV, &arg);
	if (ret < 0)
		return ret;
	msg->msg_namelen = 0;
	msg->msg_controllen = 0;
	msg->msg_flags = arg.out_flags;
	if (room)
		sdp_put_control(fd, msg, room);
	return ret;
}

/**
 * sdp_send - send(2) for an endpoint
 * @fd: the endpoint
 * @buf: what to send
 * @len: its length
 * @flags: as for sdp_sendmsg()
 *
 * Return: as sdp_sendmsg()
 */
__public ssize_t sdp_send(int fd, const void *buf, size_t len, int flags)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	/* The same, and the kernel has less to copy and to check. */
	if (len && !(flags & ~SEND_IGNORED))
		return write(fd, buf, len);
	return sdp_sendmsg(fd, &msg, flags);
}

/**
 * sdp_recv - recv(2) for an endpoint
 * @fd: the endpoint
 * @buf: where to put it
 * @len: its length
 * @flags: as for sdp_recvmsg()
 *
 * Return: as sdp_recvmsg()
 */
__public ssize_t sdp_recv(int fd, void *buf, size_t len, int flags)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (len && !(flags & ~RECV_IGNORED))
		return read(fd, buf, len);
	return sdp_recvmsg(fd, &msg, flags);
}

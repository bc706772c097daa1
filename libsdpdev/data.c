// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Sending and receiving by system call.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include "internal.h"

#define SEND_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | MSG_EOR | MSG_OOB | \
			 MSG_ZEROCOPY)
#define RECV_FLAGS	(MSG_DONTWAIT | MSG_PEEK | MSG_WAITALL | MSG_TRUNC | MSG_OOB | \
			 MSG_ERRQUEUE)

/* Flags that TCP takes from a program and that mean nothing to a stream. */
#define SEND_IGNORED	(MSG_DONTROUTE | MSG_CONFIRM | MSG_WAITALL)
#define RECV_IGNORED	(MSG_DONTROUTE | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC)

/*
 * Whether TCP carries the bytes, which looks at no flag that it does not know; SDP may
 * come to have some use for it.
 */
static bool carried_by_tcp(int fd)
{
	struct sdp_info info;

	if (sdp_info(fd, &info))
		return false;
	if (info.carrier != SDP_CARRIER_TCP)
		errno = EOPNOTSUPP;
	return info.carrier == SDP_CARRIER_TCP;
}

/*
 * A descriptor of the native socket if the whole call may be left to it: where TCP
 * carries the bytes, it knows what the endpoint's own calls have no room for.
 */
static int native_if_tcp(int fd, int *flags)
{
	int mode;

	if (!carried_by_tcp(fd))
		return -1;
	/* O_NONBLOCK is the endpoint's file's, not its native socket's. */
	mode = fcntl(fd, F_GETFL);
	if (mode >= 0 && (mode & O_NONBLOCK))
		*flags |= MSG_DONTWAIT;
	return sdp_native(fd);
}

/* After a failed call on it: whether there was none to be had, for either reason. */
static bool no_native(void)
{
	return errno == EOPNOTSUPP || errno == EMFILE || errno == ENFILE;
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

/* Bytes with nothing else, and with flags that the endpoint knows. */
static ssize_t send_bytes(int fd, const struct iovec *iov, size_t n, int flags)
{
	struct sdp_msg arg = {
		.size = sizeof(arg),
		.flags = flags & SEND_FLAGS,
		.iov = (uintptr_t)iov,
		.iov_len = n,
	};

	return sdp_ioctl_blocking(fd, SDP_IOC_SEND, &arg);
}

/*
 * Sends nothing, as TCP reads control messages only where it can send.  Those of a 32-bit
 * program the kernel has to translate first.
 */
static ssize_t send_nothing(int fd, int flags)
{
	if (sizeof(long) < sizeof(long long))
		return 0;
	return send_bytes(fd, NULL, 0, flags & (MSG_DONTWAIT | MSG_NOSIGNAL));
}

/*
 * Sends a message with control messages that may do something or are wrong;
 * sdp_check_control() has left the error.  The native socket judges them where TCP carries
 * the bytes.  If there is no descriptor for it, wrong ones fail without it.
 */
static ssize_t send_control(int fd, const struct msghdr *msg, int flags)
{
	int error = errno;
	ssize_t ret;

	if (error != EFAULT && send_nothing(fd, flags) < 0)
		return -1;
	ret = native_sendmsg(fd, msg, flags);
	if (ret < 0 && (errno == EOPNOTSUPP || (no_native() && error != EOPNOTSUPP)))
		errno = error;
	return ret;
}

static ssize_t send_msg(int fd, const struct msghdr *msg, int flags)
{
	if (msg->msg_iovlen > IOV_MAX)
		return sdp_fail(EMSGSIZE);
	if (flags & MSG_FASTOPEN) {
		if (sdp_check_fastopen(msg) ||
		    sdp_connect(fd, msg->msg_name, msg->msg_namelen,
				(flags & MSG_DONTWAIT) ? SDP_CONNECT_NONBLOCK : 0))
			return -1;
		flags &= ~MSG_FASTOPEN;
	}
	if ((flags & ~(SEND_FLAGS | SEND_IGNORED)) && !carried_by_tcp(fd))
		return -1;
	if (sdp_check_control(msg))
		return send_control(fd, msg, flags);
	return send_bytes(fd, msg->msg_iov, msg->msg_iovlen, flags);
}

/* Of a name that is ignored the kernel wants to know as much as it can use. */
static int check_name(const struct msghdr *msg)
{
	const socklen_t most = sizeof(struct sockaddr_storage);

	if (!msg->msg_name)
		return 0;
	if (msg->msg_namelen > INT_MAX)
		return sdp_fail(EINVAL);
	return sdp_check_addr(msg->msg_name,
			      msg->msg_namelen < most ? msg->msg_namelen : most);
}

/**
 * sdp_sendmsg - sendmsg(2) for an endpoint
 * @fd: the endpoint
 * @msg: what to send; its name is ignored, as TCP does
 * @flags: MSG_DONTWAIT, MSG_NOSIGNAL, MSG_MORE, MSG_EOR, MSG_OOB, MSG_ZEROCOPY,
 *	MSG_FASTOPEN or zero
 *
 * With MSG_FASTOPEN it connects first, to the name, and sends when it is connected.
 * Other flags are EOPNOTSUPP unless TCP carries the bytes.  So are control messages
 * that would do something: those for a mark and for time stamps.
 *
 * Return: the bytes sent, or -1 with the errno value of sendmsg(2), or EMFILE for
 * control messages that do something
 */
__public ssize_t sdp_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (!sdp_can_read(msg, sizeof(*msg)))
		return sdp_fail(EFAULT);
	if (check_name(msg))
		return -1;
	return send_msg(fd, msg, flags);
}

static ssize_t recv_msg(int fd, struct msghdr *msg, int flags)
{
	size_t room = msg->msg_controllen;
	struct sdp_msg arg = {
		.size = sizeof(arg),
		.flags = flags & RECV_FLAGS,
		.iov = (uintptr_t)msg->msg_iov,
		.iov_len = msg->msg_iovlen,
		.control = (uintptr_t)msg->msg_control,
		.control_len = room < INT_MAX ? room : INT_MAX,
	};
	ssize_t ret;

	if (msg->msg_name && msg->msg_namelen > INT_MAX)
		return sdp_fail(EINVAL);
	if (msg->msg_iovlen > IOV_MAX)
		return sdp_fail(EMSGSIZE);
	if ((flags & ~(RECV_FLAGS | RECV_IGNORED)) && !carried_by_tcp(fd))
		return -1;
	/* Whom an error came from is nothing that SDP_IOC_RECV would tell. */
	if (msg->msg_name && (flags & MSG_ERRQUEUE)) {
		ret = native_recvmsg(fd, msg, flags);
		if (ret >= 0 || !no_native())
			return ret;
	}

	ret = sdp_ioctl_blocking(fd, SDP_IOC_RECV, &arg);
	if (ret < 0)
		return ret;
	if (msg->msg_name)
		msg->msg_namelen = 0;
	msg->msg_controllen = arg.control_len;
	msg->msg_flags = arg.out_flags | (flags & MSG_CMSG_CLOEXEC);
	return ret;
}

/**
 * sdp_recvmsg - recvmsg(2) for an endpoint
 * @fd: the endpoint
 * @msg: where to put it; no name comes but with errors of TCP's, and over SDP no
 *	control message but that of TCP_INQ
 * @flags: MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL, MSG_TRUNC, MSG_OOB, MSG_ERRQUEUE or zero
 *
 * Other flags are EOPNOTSUPP unless TCP carries the bytes.
 *
 * Return: the bytes received, 0 at the end of the stream, or -1 with the errno
 * value of recvmsg(2)
 */
__public ssize_t sdp_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct msghdr copy;
	ssize_t ret;

	if (sdp_can_write(msg, sizeof(*msg)))
		return recv_msg(fd, msg, flags);
	if (!sdp_can_read(msg, sizeof(*msg)))
		return sdp_fail(EFAULT);
	/* The bytes are gone then, as with recvmsg(2). */
	copy = *msg;
	ret = recv_msg(fd, &copy, flags);
	return ret < 0 ? ret : sdp_fail(EFAULT);
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
	struct msghdr msg;

	if (!(flags & ~(SEND_FLAGS | SEND_IGNORED)))
		return send_bytes(fd, &iov, 1, flags);
	msg = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 };
	return send_msg(fd, &msg, flags);
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
	struct sdp_msg arg = {
		.size = sizeof(arg),
		.flags = flags & RECV_FLAGS,
		.iov = (uintptr_t)&iov,
		.iov_len = 1,
	};

	if ((flags & ~(RECV_FLAGS | RECV_IGNORED)) && !carried_by_tcp(fd))
		return -1;
	return sdp_ioctl_blocking(fd, SDP_IOC_RECV, &arg);
}

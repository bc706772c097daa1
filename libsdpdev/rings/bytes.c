// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The calls that move bytes.  What a ring can do at once, and whole, it does; everything else is
 * the system call that the program has made.
 *
 * A bad buffer is a fault of the program here, where a system call would say EFAULT, unless it is
 * null or near, or goes beyond the last address.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "calls.h"
#include "table.h"

/* Null, or near: the kernel says what is wrong. */
static bool bad(const void *p)
{
	return (uintptr_t)p < 4096;
}

/* All of the bytes are sent, and how many; or none: 0. */
static ssize_t ring_send(int fd, const struct iovec *iov, size_t n, int flags)
{
	struct sdp_fast *fast;
	size_t all;

	if (flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL) || n > IOV_MAX || bad(iov))
		return 0;
	pthread_testcancel();
	fast = table_enter(fd);
	if (!fast)
		return 0;
	all = sdp_mapped_bytes(iov, n);
	if (all)
		all = sdp_mapped_send(fast, iov, n, all);
	table_leave(fd, fast);
	return all;
}

/* Bytes that are received, or 0. */
static ssize_t ring_recv(int fd, const struct iovec *iov, size_t n, int flags)
{
	struct sdp_fast *fast;
	size_t all = 1;
	ssize_t ret;

	if (flags & ~(MSG_DONTWAIT | MSG_WAITALL) || n > IOV_MAX || bad(iov))
		return 0;
	pthread_testcancel();
	fast = table_enter(fd);
	if (!fast)
		return 0;
	if (flags & MSG_WAITALL)
		all = sdp_mapped_bytes(iov, n);
	ret = sdp_mapped_recv(fast, iov, n, all, !(flags & MSG_DONTWAIT));
	table_leave(fd, fast);
	return ret > 0 ? ret : 0;
}

static ssize_t send_bytes(int fd, const void *buf, size_t n, int flags)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = n };

	return ring_send(fd, &iov, 1, flags);
}

/* The program's own room for @n bytes, which is @size, is the C library's to judge. */
static ssize_t recv_bytes(int fd, void *buf, size_t n, size_t size, int flags)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = n };

	return n > size ? 0 : ring_recv(fd, &iov, 1, flags);
}

static ssize_t send_msg(int fd, const struct msghdr *msg, int flags)
{
	return bad(msg) || msg->msg_name || msg->msg_controllen ? 0 :
	       ring_send(fd, msg->msg_iov, msg->msg_iovlen, flags);
}

static ssize_t recv_msg(int fd, struct msghdr *msg, int flags)
{
	ssize_t ret;

	if (bad(msg) || msg->msg_name || msg->msg_controllen)
		return 0;
	ret = ring_recv(fd, msg->msg_iov, msg->msg_iovlen, flags);
	if (ret)
		msg->msg_flags = 0;
	return ret;
}

/* --- descriptors that messages carry -------------------------------------- */

static ssize_t each_passed(const struct msghdr *msg, ssize_t ret, unsigned int how)
{
	struct cmsghdr *c;

	if (ret < 0 || !msg->msg_controllen)
		return ret;
	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR((struct msghdr *)msg, c)) {
		const int *fd = (const int *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (; (char *)(fd + 1) <= (char *)c + c->cmsg_len; fd++)
			table_forget(*fd, how);
	}
	return ret;
}

/* To another process: something else refers to their sockets then. */
ssize_t msg_sent(const struct msghdr *msg, ssize_t ret)
{
	return each_passed(msg, ret, SHARED);
}

ssize_t msg_came(const struct msghdr *msg, ssize_t ret)
{
	return each_passed(msg, ret, NEW);
}

int msgs_sent(const struct mmsghdr *msgs, int ret)
{
	int i;

	for (i = 0; i < ret; i++)
		msg_sent(&msgs[i].msg_hdr, 0);
	return ret;
}

int msgs_came(const struct mmsghdr *msgs, int ret)
{
	int i;

	for (i = 0; i < ret; i++)
		msg_came(&msgs[i].msg_hdr, 0);
	return ret;
}

/* --- the calls ------------------------------------------------------------- */

CALL(ssize_t, write, (int fd, const void *buf, size_t n),
	send_bytes(fd, buf, n, 0) ?: NEXT(write)(fd, buf, n))

CALL(ssize_t, writev, (int fd, const struct iovec *iov, int n),
	ring_send(fd, iov, n, 0) ?: NEXT(writev)(fd, iov, n))

CALL(ssize_t, send, (int fd, const void *buf, size_t n, int flags),
	send_bytes(fd, buf, n, flags) ?: NEXT(send)(fd, buf, n, flags))

CALL(ssize_t, sendto, (int fd, const void *buf, size_t n, int flags, const struct sockaddr *addr,
		       socklen_t len),
	(addr ? 0 : send_bytes(fd, buf, n, flags)) ?: NEXT(sendto)(fd, buf, n, flags, addr, len))

CALL(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags),
	send_msg(fd, msg, flags) ?: msg_sent(msg, NEXT(sendmsg)(fd, msg, flags)))

CALL(int, sendmmsg, (int fd, struct mmsghdr *msgs, unsigned int n, int flags),
	msgs_sent(msgs, NEXT(sendmmsg)(fd, msgs, n, flags)))

CALL(ssize_t, read, (int fd, void *buf, size_t n),
	recv_bytes(fd, buf, n, n, 0) ?: NEXT(read)(fd, buf, n))

CALL(ssize_t, readv, (int fd, const struct iovec *iov, int n),
	ring_recv(fd, iov, n, 0) ?: NEXT(readv)(fd, iov, n))

CALL(ssize_t, recv, (int fd, void *buf, size_t n, int flags),
	recv_bytes(fd, buf, n, n, flags) ?: NEXT(recv)(fd, buf, n, flags))

CALL(ssize_t, recvfrom, (int fd, void *buf, size_t n, int flags, struct sockaddr *addr,
			 socklen_t *len),
	(addr ? 0 : recv_bytes(fd, buf, n, n, flags)) ?:
	NEXT(recvfrom)(fd, buf, n, flags, addr, len))

CALL(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags),
	recv_msg(fd, msg, flags) ?: msg_came(msg, NEXT(recvmsg)(fd, msg, flags)))

CALL(int, recvmmsg, (int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		     struct timespec *timeout),
	msgs_came(msgs, NEXT(recvmmsg)(fd, msgs, n, flags, timeout)))

/* Of programs that are built with _FORTIFY_SOURCE. */
CALL(ssize_t, __read_chk, (int fd, void *buf, size_t n, size_t size),
	recv_bytes(fd, buf, n, size, 0) ?: NEXT(__read_chk)(fd, buf, n, size))

CALL(ssize_t, __recv_chk, (int fd, void *buf, size_t n, size_t size, int flags),
	recv_bytes(fd, buf, n, size, flags) ?: NEXT(__recv_chk)(fd, buf, n, size, flags))

CALL(ssize_t, __recvfrom_chk, (int fd, void *buf, size_t n, size_t size, int flags,
			       struct sockaddr *addr, socklen_t *len),
	(addr ? 0 : recv_bytes(fd, buf, n, size, flags)) ?:
	NEXT(__recvfrom_chk)(fd, buf, n, size, flags, addr, len))

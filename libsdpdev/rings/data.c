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

#include "life.h"
#include "next.h"
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

static ssize_t recv_bytes(int fd, void *buf, size_t n, int flags)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = n };

	return ring_recv(fd, &iov, 1, flags);
}

__public ssize_t write(int fd, const void *buf, size_t n)
{
	return send_bytes(fd, buf, n, 0) ?: NEXT(write)(fd, buf, n);
}

__public ssize_t writev(int fd, const struct iovec *iov, int n)
{
	return ring_send(fd, iov, n, 0) ?: NEXT(writev)(fd, iov, n);
}

__public ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	return send_bytes(fd, buf, n, flags) ?: NEXT(send)(fd, buf, n, flags);
}

__public ssize_t sendto(int fd, const void *buf, size_t n, int flags,
			const struct sockaddr *addr, socklen_t len)
{
	return (addr ? 0 : send_bytes(fd, buf, n, flags)) ?:
	       NEXT(sendto)(fd, buf, n, flags, addr, len);
}

static void each_passed(const struct msghdr *msg, void (*tell)(int fd))
{
	struct cmsghdr *c;

	if (!msg->msg_controllen)
		return;
	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR((struct msghdr *)msg, c)) {
		const int *fd = (const int *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (; (char *)(fd + 1) <= (char *)c + c->cmsg_len; fd++)
			tell(*fd);
	}
}

/* Descriptors that go to another process: something else refers to their sockets then. */
ssize_t msg_sent(const struct msghdr *msg, ssize_t ret)
{
	if (ret >= 0)
		each_passed(msg, table_forget);
	return ret;
}

ssize_t msg_came(const struct msghdr *msg, ssize_t ret)
{
	if (ret >= 0)
		each_passed(msg, table_new);
	return ret;
}

static ssize_t send_msg(int fd, const struct msghdr *msg, int flags)
{
	return bad(msg) || msg->msg_name || msg->msg_controllen ? 0 :
	       ring_send(fd, msg->msg_iov, msg->msg_iovlen, flags);
}

static int all_sent(const struct mmsghdr *msgs, int n)
{
	int i;

	for (i = 0; i < n; i++)
		msg_sent(&msgs[i].msg_hdr, 0);
	return n;
}

static int all_came(const struct mmsghdr *msgs, int n)
{
	int i;

	for (i = 0; i < n; i++)
		msg_came(&msgs[i].msg_hdr, 0);
	return n;
}

__public ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return send_msg(fd, msg, flags) ?: msg_sent(msg, NEXT(sendmsg)(fd, msg, flags));
}

__public int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	return all_sent(msgs, NEXT(sendmmsg)(fd, msgs, n, flags));
}

__public ssize_t read(int fd, void *buf, size_t n)
{
	return recv_bytes(fd, buf, n, 0) ?: NEXT(read)(fd, buf, n);
}

__public ssize_t __read_chk(int fd, void *buf, size_t n, size_t size)
{
	return (n > size ? 0 : recv_bytes(fd, buf, n, 0)) ?: NEXT(__read_chk)(fd, buf, n, size);
}

__public ssize_t readv(int fd, const struct iovec *iov, int n)
{
	return ring_recv(fd, iov, n, 0) ?: NEXT(readv)(fd, iov, n);
}

__public ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	return recv_bytes(fd, buf, n, flags) ?: NEXT(recv)(fd, buf, n, flags);
}

__public ssize_t __recv_chk(int fd, void *buf, size_t n, size_t size, int flags)
{
	return (n > size ? 0 : recv_bytes(fd, buf, n, flags)) ?:
	       NEXT(__recv_chk)(fd, buf, n, size, flags);
}

__public ssize_t recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *addr,
			  socklen_t *len)
{
	return (addr ? 0 : recv_bytes(fd, buf, n, flags)) ?:
	       NEXT(recvfrom)(fd, buf, n, flags, addr, len);
}

__public ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t size, int flags,
				struct sockaddr *addr, socklen_t *len)
{
	return (addr || n > size ? 0 : recv_bytes(fd, buf, n, flags)) ?:
	       NEXT(__recvfrom_chk)(fd, buf, n, size, flags, addr, len);
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

__public ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	return recv_msg(fd, msg, flags) ?: msg_came(msg, NEXT(recvmsg)(fd, msg, flags));
}

__public int recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		      struct timespec *timeout)
{
	return all_came(msgs, NEXT(recvmmsg)(fd, msgs, n, flags, timeout));
}

#if __SIZEOF_LONG__ == 4
/* 32-bit programs with times of 64 bits. */
__public ssize_t __sendmsg64(int fd, const struct msghdr *msg, int flags)
{
	return send_msg(fd, msg, flags) ?: msg_sent(msg, NEXT(__sendmsg64)(fd, msg, flags));
}

__public int __sendmmsg64(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	return all_sent(msgs, NEXT(__sendmmsg64)(fd, msgs, n, flags));
}

__public ssize_t __recvmsg64(int fd, struct msghdr *msg, int flags)
{
	return recv_msg(fd, msg, flags) ?: msg_came(msg, NEXT(__recvmsg64)(fd, msg, flags));
}

__public int __recvmmsg64(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			  void *timeout)
{
	return all_came(msgs, NEXT(__recvmmsg64)(fd, msgs, n, flags, timeout));
}
#endif

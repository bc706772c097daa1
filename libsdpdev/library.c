// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * libsdpdev.so: sending and receiving without system calls, for programs that ask for it, and the
 * calls that have nothing to do with rings.
 *
 * What does not go by a ring goes by send(2) and recv(2), which the kernel keeps in order.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mapped.h"

/* SDPDEV_VERSION of the library that the program has found. */
__public unsigned int sdp_version(void)
{
	return SDPDEV_VERSION;
}

/* What the kernel does not know of the structure is zero. */
__public int sdp_info(int fd, struct sdp_sock_info *info, size_t size)
{
	socklen_t len = size;

	memset(info, 0, size);
	return getsockopt(fd, IPPROTO_SDP, SDP_SOCK_INFO, info, &len);
}

__public int sdp_set_rule(const struct sdp_rule *rule)
{
	int fd = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	int ret, error;

	if (fd < 0)
		return -1;
	ret = ioctl(fd, SDP_IOC_RULE, rule);
	error = errno;
	close(fd);
	errno = error;
	return ret;
}

/* --- rings ---------------------------------------------------------------- */

void sdp_mapped_close(int fd)
{
	syscall(SYS_close, fd);
}

__public struct sdp_fast *sdp_fast_open(int fd, unsigned int flags)
{
	struct sdp_fast *fast;

	if (flags) {
		errno = EINVAL;
		return NULL;
	}
	fast = malloc(sizeof(*fast));
	if (!fast)
		return NULL;
	sdp_mapped_begin(fast, fd);
	if (fast->owner)
		fast->device = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	return fast;
}

__public void sdp_fast_close(struct sdp_fast *fast)
{
	sdp_mapped_end(fast);
	free(fast);
}

__public unsigned int sdp_fast_state(struct sdp_fast *fast)
{
	return sdp_mapped_state(fast);
}

__public ssize_t sdp_fast_send(struct sdp_fast *fast, const void *buf, size_t len, int flags)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	size_t done = 0;
	ssize_t n;

	if (!(flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL)))
		done = sdp_mapped_send(fast, &iov, 1, 1);
	if (done && done == len)
		return done;
	/* Behind a part no signal: the next call finds the end by itself. */
	n = send(fast->fd, (const char *)buf + done, len - done,
		 done ? flags | MSG_NOSIGNAL : flags);
	if (n < 0)
		return done ? (ssize_t)done : -1;
	return done + n;
}

__public ssize_t sdp_fast_recv(struct sdp_fast *fast, void *buf, size_t len, int flags)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = len };
	bool nowait = flags & MSG_DONTWAIT;
	size_t done = 0;
	ssize_t n = -1;

	if (!(flags & ~(MSG_DONTWAIT | MSG_WAITALL)))
		n = sdp_mapped_recv(fast, &iov, 1, 1, !nowait);
	if (n > 0)
		done = n;
	if (done && (done == len || nowait || !(flags & MSG_WAITALL)))
		return done;
	if (!n && nowait) {
		errno = EAGAIN;
		return -1;
	}
	n = recv(fast->fd, (char *)buf + done, len - done, flags);
	if (n < 0)
		return done ? (ssize_t)done : -1;
	return done + n;
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Sending and receiving on TCP sockets with the ULP "sdp" without system calls, for programs
 * that ask for it.
 *
 * Whatever does not go by a ring goes by send(2) and recv(2), which the kernel keeps in order.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mapped.h"

void sdp_mapped_close(int fd)
{
	syscall(SYS_close, fd);
}

/**
 * sdp_fast_open - begin to send and receive on a socket by rings
 * @fd: a connected TCP socket; without the ULP "sdp" everything goes by send(2) and recv(2)
 * @flags: zero
 *
 * Rings come when both ends are on this kernel and the connection has carried some bytes.  The
 * socket stays the caller's, and usable as before.
 *
 * Return: what the other calls take; NULL with errno EINVAL, or ENOMEM
 */
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

/**
 * sdp_fast_close - let go of the rings
 * @fast: what sdp_fast_open() has given; no other thread is in a call with it
 *
 * The connection goes on.  After fork(2) each process does it for itself.
 */
__public void sdp_fast_close(struct sdp_fast *fast)
{
	sdp_mapped_end(fast);
	free(fast);
}

/**
 * sdp_fast_state - which halves are open
 * @fast: what sdp_fast_open() has given
 *
 * Return: SDP_RING_TX, SDP_RING_RX of <linux/sdp_ring.h>, which may be over already
 */
__public unsigned int sdp_fast_state(struct sdp_fast *fast)
{
	return sdp_mapped_state(fast);
}

/**
 * sdp_fast_send - send bytes, by the ring if it is open
 * @fast: what sdp_fast_open() has given
 * @buf: what to send
 * @len: its length
 * @flags: as send(2) has them; with others than MSG_DONTWAIT and MSG_NOSIGNAL it is a send(2)
 *
 * Several threads may send at once; the bytes of a call that has to wait for room may have those
 * of others in between, as with send(2).
 *
 * Return: as send(2)
 */
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

/**
 * sdp_fast_recv - receive bytes, by the ring if it is open
 * @fast: what sdp_fast_open() has given
 * @buf: where to put them
 * @len: how many at most
 * @flags: as recv(2) has them; with others than MSG_DONTWAIT and MSG_WAITALL it is a recv(2)
 *
 * Several threads may receive at once, by whatever calls: each byte goes to one of them.  The
 * buffer may have been written to behind what was received.
 *
 * Return: as recv(2)
 */
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
	if (!n && nowait)
		return sdp_fail(EAGAIN);
	n = recv(fast->fd, (char *)buf + done, len - done, flags);
	if (n < 0)
		return done ? (ssize_t)done : -1;
	return done + n;
}

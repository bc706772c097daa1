// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * poll(2) and select(2): where the program waits for a socket that is served to be readable, they
 * wait for the endpoint's descriptor, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define READABLE	(POLLIN | POLLRDNORM)
/* Descriptors of a call that need no memory of the heap. */
#define FEW		64

static int endpoint_of(const struct pollfd *p)
{
	struct served *s = (p->events & READABLE) ? table_enter(p->fd) : NULL;
	int fd = -1;

	if (!s)
		return -1;
	if (s->state == SERVED)
		fd = s->e->epoll;
	table_leave(s);
	return fd;
}

static bool has_datagram(int fd)
{
	struct served *s = table_enter(fd);
	bool has;

	if (!s)
		return false;
	has = serve_fill(s);
	table_leave(s);
	return has;
}

/* Marks the sockets whose endpoints have something; how many of them were not marked before. */
static int mark(struct pollfd *fds, nfds_t n)
{
	int more = 0;
	nfds_t i;

	for (i = 0; i < n; i++) {
		if (!(fds[i].events & READABLE) || !has_datagram(fds[i].fd))
			continue;
		if (!fds[i].revents)
			more++;
		fds[i].revents |= fds[i].events & READABLE;
	}
	return more;
}

static void left(const struct timespec *end, struct timespec *to)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	to->tv_sec = end->tv_sec - now.tv_sec;
	to->tv_nsec = end->tv_nsec - now.tv_nsec;
	if (to->tv_nsec < 0) {
		to->tv_nsec += 1000000000;
		to->tv_sec--;
	}
	if (to->tv_sec < 0)
		memset(to, 0, sizeof(*to));
}

static void end_of(const struct timespec *timeout, struct timespec *end)
{
	clock_gettime(CLOCK_MONOTONIC, end);
	end->tv_sec += timeout->tv_sec;
	end->tv_nsec += timeout->tv_nsec;
	if (end->tv_nsec >= 1000000000) {
		end->tv_nsec -= 1000000000;
		end->tv_sec++;
	}
}

/* @all has the @n descriptors of the program, then those of @own endpoints. */
static int wait_both(struct pollfd *fds, struct pollfd *all, nfds_t n, nfds_t own,
		     const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec end, rest = {};
	int ret, more;
	nfds_t i;

	if (timeout)
		end_of(timeout, &end);
	for (;;) {
		memset(&rest, 0, sizeof(rest));
		if (timeout)
			left(&end, &rest);
		for (i = 0; i < n; i++)
			fds[i].revents = 0;
		/* What is there already ends the call, but signals and others are looked at. */
		more = mark(fds, n);
		if (more)
			memset(&rest, 0, sizeof(rest));
		ret = NEXT(ppoll)(all, n + own, timeout || more ? &rest : NULL, mask);
		if (ret < 0)
			return ret;
		for (i = 0; i < n; i++)
			fds[i].revents = all[i].revents;
		mark(fds, n);
		ret = 0;
		for (i = 0; i < n; i++)
			ret += !!fds[i].revents;
		if (ret || (timeout && !rest.tv_sec && !rest.tv_nsec))
			return ret;
	}
}

int wait_poll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd few[2 * FEW], *all = few;
	int ret, error, fd;
	nfds_t i, own = 0;

	if (n > FEW) {
		all = n < SIZE_MAX / sizeof(*all) / 2 ? malloc(2 * n * sizeof(*all)) : NULL;
		if (!all) {
			errno = ENOMEM;
			return -1;
		}
	}
	for (i = 0; i < n; i++) {
		all[i] = fds[i];
		fd = endpoint_of(&fds[i]);
		if (fd >= 0)
			all[n + own++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	ret = own ? wait_both(fds, all, n, own, timeout, mask) : NEXT(ppoll)(fds, n, timeout, mask);
	error = errno;
	if (all != few)
		free(all);
	errno = error;
	return ret;
}

/* --- select(2) -------------------------------------------------------------- */

#define IN	(POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR)
#define OUT	(POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR)

static int put(fd_set *set, int fd, bool is)
{
	if (!set || !FD_ISSET(fd, set))
		return 0;
	if (!is)
		FD_CLR(fd, set);
	return is;
}

/* With as many descriptors as an fd_set has. @timeout gets what is left, as Linux has it. */
int wait_select(int n, fd_set *in, fd_set *out, fd_set *except, struct timespec *timeout,
		const sigset_t *mask)
{
	struct pollfd fds[FD_SETSIZE];
	struct timespec end;
	int fd, count = 0, ret;

	for (fd = 0; fd < n && fd < FD_SETSIZE; fd++) {
		short events = (in && FD_ISSET(fd, in) ? POLLIN | POLLRDNORM : 0) |
			       (out && FD_ISSET(fd, out) ? POLLOUT : 0) |
			       (except && FD_ISSET(fd, except) ? POLLPRI : 0);

		if (events)
			fds[count++] = (struct pollfd){ .fd = fd, .events = events };
	}
	if (timeout)
		end_of(timeout, &end);
	ret = wait_poll(fds, count, timeout, mask);
	if (ret < 0)
		return ret;
	if (timeout)
		left(&end, timeout);
	for (fd = 0; fd < count; fd++)
		if (fds[fd].revents & POLLNVAL) {
			errno = EBADF;
			return -1;
		}
	for (fd = 0, ret = 0; fd < count; fd++) {
		ret += put(in, fds[fd].fd, fds[fd].revents & IN);
		ret += put(out, fds[fd].fd, fds[fd].revents & OUT);
		ret += put(except, fds[fd].fd, fds[fd].revents & POLLPRI);
	}
	return ret;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The preload library's rings: what send(), recv(), write() and read() can do at once
 * they do without a system call, and everything else is left to the kernel.  See fast.c.
 *
 * All of these leave errno alone.
 */
#ifndef SDPDEV_FAST_H
#define SDPDEV_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "internal.h"

/* The flags of calls that may go by the rings. */
#define FAST_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL)

#ifdef __LP64__

/**
 * fast_init - read SDPDEV_RINGS
 *
 * Called once, by the constructor.
 *
 * Return: NULL, or what is wrong with it; there are no rings then
 */
__hidden const char *fast_init(void);

/* Whether all of it has been sent, as send() would; else send() has to. */
__hidden bool fast_send(int fd, const void *buf, size_t n, int flags);

/* What there was, at least a byte, as recv() would; zero: recv() has to. */
__hidden size_t fast_recv(int fd, void *buf, size_t n, int flags);

/*
 * What a system call with such flags sent or received of @n bytes, on an endpoint:
 * whether there should be rings by now and are none, as where TCP carries it.
 */
__hidden bool fast_sent(int fd, const void *buf, size_t n, ssize_t ret);
__hidden bool fast_received(int fd, void *buf, size_t n, ssize_t ret);

/* Maps the rings of an endpoint where SDPDEV_RINGS says always. */
__hidden bool fast_always(int fd);

/* Options that receiving depends on have changed, by whichever number. */
__hidden void fast_options(void);

/*
 * The descriptor is about to be closed: whether fast_closed() has to follow.  Until then
 * there are no new rings for the number.
 */
__hidden bool fast_closing(int fd);
__hidden void fast_closed(int fd);

/* The same for many. */
__hidden bool fast_closing_range(unsigned int first, unsigned int last);
__hidden void fast_closed_range(void);

/* The number means something else from now on. */
__hidden void fast_new(int fd);

/* Threads have, or may have, different descriptors of the same number. */
__hidden void fast_stop(void);

#else /* The indices of a ring are read in one piece. */

static inline const char *fast_init(void)
{
	return NULL;
}

static inline bool fast_send(int fd, const void *buf, size_t n, int flags)
{
	(void)fd;
	(void)buf;
	(void)n;
	(void)flags;
	return false;
}

static inline size_t fast_recv(int fd, void *buf, size_t n, int flags)
{
	return fast_send(fd, buf, n, flags);
}

static inline bool fast_sent(int fd, const void *buf, size_t n, ssize_t ret)
{
	return fast_send(fd, buf, n, ret);
}

static inline bool fast_received(int fd, void *buf, size_t n, ssize_t ret)
{
	return fast_send(fd, buf, n, ret);
}

static inline bool fast_always(int fd)
{
	return fast_send(fd, NULL, 0, 0);
}

static inline void fast_options(void)
{
}

static inline bool fast_closing(int fd)
{
	return fast_always(fd);
}

static inline void fast_closed(int fd)
{
	fast_closing(fd);
}

static inline bool fast_closing_range(unsigned int first, unsigned int last)
{
	return fast_closing(first + last);
}

static inline void fast_closed_range(void)
{
}

static inline void fast_new(int fd)
{
	fast_always(fd);
}

static inline void fast_stop(void)
{
}

#endif

#endif /* SDPDEV_FAST_H */

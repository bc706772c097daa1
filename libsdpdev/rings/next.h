/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The calls that this library stands in front of: NEXT(call) is the next definition in the
 * program's search order, which is the C library's or another preloaded one's.
 */
#ifndef SDPDEV_RINGS_NEXT_H
#define SDPDEV_RINGS_NEXT_H

#include <sys/socket.h>
#include <sys/types.h>

#include "../internal.h"

/* Of the C library, for programs that are built with _FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *buf, size_t n, size_t size);
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t size, int flags,
		       struct sockaddr *addr, socklen_t *len);

/* Looks @name up once; @where remembers it. */
__hidden void *next_find(void **where, const char *name);

#define NEXT(call)							\
({									\
	static void *next_;						\
									\
	(__typeof__(call) *)(__atomic_load_n(&next_, __ATOMIC_RELAXED) ?:\
			     next_find(&next_, #call));			\
})

#endif /* SDPDEV_RINGS_NEXT_H */

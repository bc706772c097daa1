// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The calls that give descriptors: what the table knows of their numbers is of others.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "life.h"
#include "next.h"
#include "table.h"

int came(int fd)
{
	if (fd >= 0)
		table_new(fd);
	return fd;
}

int came_two(const int ends[2], int ret)
{
	if (!ret) {
		table_new(ends[0]);
		table_new(ends[1]);
	}
	return ret;
}

/* --- sockets ------------------------------------------------------------- */

__public int socket(int family, int type, int protocol)
{
	return came(NEXT(socket)(family, type, protocol));
}

__public int accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return came(NEXT(accept)(fd, addr, len));
}

__public int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	return came(NEXT(accept4)(fd, addr, len, flags));
}

__public int socketpair(int family, int type, int protocol, int ends[2])
{
	return came_two(ends, NEXT(socketpair)(family, type, protocol, ends));
}

/* --- files --------------------------------------------------------------- */

/* The mode is an argument of some of the calls only, and read whether it is there or not. */
#define WITH_MODE(call, last, ...)					\
({									\
	va_list args_;							\
	mode_t mode_;							\
									\
	va_start(args_, last);						\
	mode_ = va_arg(args_, mode_t);					\
	va_end(args_);							\
	came(NEXT(call)(__VA_ARGS__, mode_));				\
})

__public int open(const char *path, int flags, ...)
{
	return WITH_MODE(open, flags, path, flags);
}

__public int open64(const char *path, int flags, ...)
{
	return WITH_MODE(open64, flags, path, flags);
}

__public int openat(int dir, const char *path, int flags, ...)
{
	return WITH_MODE(openat, flags, dir, path, flags);
}

__public int openat64(int dir, const char *path, int flags, ...)
{
	return WITH_MODE(openat64, flags, dir, path, flags);
}

__public int __open_2(const char *path, int flags)
{
	return came(NEXT(__open_2)(path, flags));
}

__public int __open64_2(const char *path, int flags)
{
	return came(NEXT(__open64_2)(path, flags));
}

__public int __openat_2(int dir, const char *path, int flags)
{
	return came(NEXT(__openat_2)(dir, path, flags));
}

__public int __openat64_2(int dir, const char *path, int flags)
{
	return came(NEXT(__openat64_2)(dir, path, flags));
}

__public int creat(const char *path, mode_t mode)
{
	return came(NEXT(creat)(path, mode));
}

__public int creat64(const char *path, mode_t mode)
{
	return came(NEXT(creat64)(path, mode));
}

__public int memfd_create(const char *name, unsigned int flags)
{
	return came(NEXT(memfd_create)(name, flags));
}

/* --- pipes and events ---------------------------------------------------- */

__public int pipe(int ends[2])
{
	return came_two(ends, NEXT(pipe)(ends));
}

__public int pipe2(int ends[2], int flags)
{
	return came_two(ends, NEXT(pipe2)(ends, flags));
}

__public int eventfd(unsigned int count, int flags)
{
	return came(NEXT(eventfd)(count, flags));
}

__public int epoll_create(int size)
{
	return came(NEXT(epoll_create)(size));
}

__public int epoll_create1(int flags)
{
	return came(NEXT(epoll_create1)(flags));
}

__public int timerfd_create(clockid_t clock, int flags)
{
	return came(NEXT(timerfd_create)(clock, flags));
}

__public int signalfd(int fd, const sigset_t *mask, int flags)
{
	int ret = NEXT(signalfd)(fd, mask, flags);

	return fd < 0 ? came(ret) : ret;
}

__public int inotify_init(void)
{
	return came(NEXT(inotify_init)());
}

__public int inotify_init1(int flags)
{
	return came(NEXT(inotify_init1)(flags));
}

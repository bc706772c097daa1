// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The calls that give descriptors, sockets and processes another meaning.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "calls.h"
#include "table.h"

/* --- the end of a number --------------------------------------------------- */

/*
 * Before it is closed, and again behind: another thread's call may have got rings in between.  A
 * call may fail, and have closed the number all the same.
 */
static int closed(int fd, int ret)
{
	int error = errno;

	table_forget(fd, CLOSED);
	errno = error;
	return ret;
}

int close_done(int fd, int ret)
{
	return ret < 0 && errno == EBADF ? ret : closed(fd, ret);
}

CALL(int, close, (int fd), table_forget(fd, SHARED), close_done(fd, NEXT(close)(fd)))

__public int fclose(FILE *file)
{
	int fd = fileno(file);

	table_forget(fd, SHARED);
	return closed(fd, NEXT(fclose)(file));
}

typedef FILE *reopen_t(const char *path, const char *mode, FILE *file);

/* It closes the number, and gives the same one, or none. */
static FILE *reopen(reopen_t *call, const char *path, const char *mode, FILE *file)
{
	int fd = fileno(file);

	table_forget(fd, SHARED);
	file = call(path, mode, file);
	closed(fd, 0);
	if (file)
		came(fileno(file));
	return file;
}

CALL(FILE *, freopen, (const char *path, const char *mode, FILE *file),
	reopen(NEXT(freopen), path, mode, file))
CALL(FILE *, freopen64, (const char *path, const char *mode, FILE *file),
	reopen(NEXT(freopen64), path, mode, file))

__public int close_range(unsigned int first, unsigned int last, int flags)
{
	int ret;

	if (flags & CLOSE_RANGE_UNSHARE)
		table_stop();
	if (flags & CLOSE_RANGE_CLOEXEC)
		return NEXT(close_range)(first, last, flags);
	table_forget_range(first, last, SHARED);
	ret = NEXT(close_range)(first, last, flags);
	if (!ret)
		table_forget_range(first, last, CLOSED);
	return ret;
}

__public void closefrom(int first)
{
	table_forget_range(first < 0 ? 0 : first, ~0U, SHARED);
	NEXT(closefrom)(first);
	table_forget_range(first < 0 ? 0 : first, ~0U, CLOSED);
}

/* --- two numbers for a socket ---------------------------------------------- */

static int twice(int old, int new)
{
	if (new >= 0) {
		table_forget(old, SHARED);
		table_forget(new, NEW);
	}
	return new;
}

static void replaced(int old, int new)
{
	if (old != new)
		table_forget(new, REPLACED);
}

CALL(int, dup, (int fd), twice(fd, NEXT(dup)(fd)))
CALL(int, dup2, (int old, int new), replaced(old, new), twice(old, NEXT(dup2)(old, new)))
CALL(int, dup3, (int old, int new, int flags),
	replaced(old, new), twice(old, NEXT(dup3)(old, new, flags)))

/* --- what a ring's reader does not look at --------------------------------- */

static int fcntl_done(int fd, int cmd, int flags, int ret)
{
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)
		return twice(fd, ret);
	if (cmd != F_SETFL || ret)
		return ret;
	/* A signal for each byte: the kernel has to see all of them. */
	if (flags & O_ASYNC)
		table_forget(fd, SHARED);
	table_waits(fd, !(flags & O_NONBLOCK));
	return ret;
}

__public int fcntl(int fd, int cmd, ...)
{
	void *arg = LAST_ARGUMENT(cmd);

	return fcntl_done(fd, cmd, (intptr_t)arg, NEXT(fcntl)(fd, cmd, arg));
}

__public int fcntl64(int fd, int cmd, ...)
{
	void *arg = LAST_ARGUMENT(cmd);

	return fcntl_done(fd, cmd, (intptr_t)arg, NEXT(fcntl64)(fd, cmd, arg));
}

__public int ioctl(int fd, unsigned long request, ...)
{
	const int *arg = LAST_ARGUMENT(request);
	int ret = NEXT(ioctl)(fd, request, arg);

	if (!ret && request == FIONBIO)
		table_waits(fd, !*arg);
	else if (!ret && request == FIOASYNC && *arg)
		table_forget(fd, SHARED);
	return ret;
}

/* The kernel looks at these when it lends a half. */
__public int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int ret = NEXT(setsockopt)(fd, level, name, value, len);

	if (!ret && level == SOL_SOCKET && (name == SO_RCVLOWAT || name == SO_PEEK_OFF))
		table_forget(fd, SHARED);
	return ret;
}

/* --- processes ------------------------------------------------------------- */

pid_t forked(pid_t pid)
{
	if (!pid)
		table_child();
	else if (pid > 0)
		table_parent();
	return pid;
}

/* It runs no handlers of pthread_atfork(3). */
CALL(pid_t, _Fork, (void), forked(NEXT(_Fork)()))

__public int unshare(int flags)
{
	if (flags & CLONE_FILES)
		table_stop();
	return NEXT(unshare)(flags);
}

/* --- new numbers ----------------------------------------------------------- */

int came(int fd)
{
	if (fd >= 0)
		table_forget(fd, NEW);
	return fd;
}

static int came_two(const int ends[2], int ret)
{
	if (!ret) {
		came(ends[0]);
		came(ends[1]);
	}
	return ret;
}

/* Its name, its parameters, and what they are passed on as. */
#define GIVES(name, params, ...)	CALL(int, name, params, came(NEXT(name)(__VA_ARGS__)))
/* The same with a mode behind them, which not every call has. */
#define OPENS(name, params, ...)					\
	__public int name params					\
	{								\
		mode_t mode = (uintptr_t)LAST_ARGUMENT(flags);		\
									\
		return came(NEXT(name)(__VA_ARGS__, mode));		\
	}

GIVES(socket, (int family, int type, int protocol), family, type, protocol)
GIVES(accept, (int fd, struct sockaddr *addr, socklen_t *len), fd, addr, len)
GIVES(accept4, (int fd, struct sockaddr *addr, socklen_t *len, int flags), fd, addr, len, flags)
OPENS(open, (const char *path, int flags, ...), path, flags)
OPENS(open64, (const char *path, int flags, ...), path, flags)
OPENS(openat, (int dir, const char *path, int flags, ...), dir, path, flags)
OPENS(openat64, (int dir, const char *path, int flags, ...), dir, path, flags)
GIVES(__open_2, (const char *path, int flags), path, flags)
GIVES(__open64_2, (const char *path, int flags), path, flags)
GIVES(__openat_2, (int dir, const char *path, int flags), dir, path, flags)
GIVES(__openat64_2, (int dir, const char *path, int flags), dir, path, flags)
GIVES(creat, (const char *path, mode_t mode), path, mode)
GIVES(creat64, (const char *path, mode_t mode), path, mode)
GIVES(memfd_create, (const char *name, unsigned int flags), name, flags)
GIVES(eventfd, (unsigned int count, int flags), count, flags)
GIVES(epoll_create, (int size), size)
GIVES(epoll_create1, (int flags), flags)
GIVES(timerfd_create, (clockid_t clock, int flags), clock, flags)
GIVES(inotify_init, (void))
GIVES(inotify_init1, (int flags), flags)

CALL(int, signalfd, (int fd, const sigset_t *mask, int flags),
	fd < 0 ? came(NEXT(signalfd)(fd, mask, flags)) : NEXT(signalfd)(fd, mask, flags))
CALL(int, pipe, (int ends[2]), came_two(ends, NEXT(pipe)(ends)))
CALL(int, pipe2, (int ends[2], int flags), came_two(ends, NEXT(pipe2)(ends, flags)))
CALL(int, socketpair, (int family, int type, int protocol, int ends[2]),
	came_two(ends, NEXT(socketpair)(family, type, protocol, ends)))

/* --- the C library's other names ------------------------------------------- */

#define ALIAS(name, ...)						\
	extern __public __typeof__(name) __##name __attribute__((alias(#name), ##__VA_ARGS__))

ALIAS(close);
ALIAS(dup2, nothrow, leaf);
ALIAS(fcntl);
ALIAS(open);
ALIAS(open64);
ALIAS(pipe, nothrow, leaf);

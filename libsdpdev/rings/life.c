// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The calls that give descriptors, sockets and processes another meaning.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "life.h"
#include "next.h"
#include "table.h"

/* The linker's: where NEXT() has put its structures. */
extern struct next __start_sdp_next[] __hidden, __stop_sdp_next[] __hidden;

void *next_find(struct next *next)
{
	void *call = dlsym(RTLD_NEXT, next->name);

	__atomic_store_n(&next->call, call, __ATOMIC_RELAXED);
	return call;
}

void next_find_all(void)
{
	struct next *next;

	/* cppcheck-suppress comparePointers ; the two ends of an array */
	for (next = __start_sdp_next; next < __stop_sdp_next; next++)
		next_find(next);
}

__attribute__((constructor))
static void start(void)
{
	next_find_all();
	sdp_forget_runtime();
	table_start();
	pthread_atfork(NULL, table_parent, table_child);
}

/* Before it is closed, and again behind: another thread's call may have got rings in between. */
__public int close(int fd)
{
	int ret;

	table_forget(fd);
	ret = NEXT(close)(fd);
	if (!ret)
		table_closed(fd);
	return ret;
}

__public int fclose(FILE *file)
{
	int ret, fd = fileno(file);

	table_forget(fd);
	ret = NEXT(fclose)(file);
	if (!ret)
		table_closed(fd);
	return ret;
}

void closes_range(unsigned int first, unsigned int last, int flags)
{
	if (flags & CLOSE_RANGE_UNSHARE)
		table_stop();
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		table_forget_range(first, last);
}

void closed_range(unsigned int first, unsigned int last, int flags)
{
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		table_closed_range(first, last);
}

__public int close_range(unsigned int first, unsigned int last, int flags)
{
	int ret;

	closes_range(first, last, flags);
	ret = NEXT(close_range)(first, last, flags);
	if (!ret)
		closed_range(first, last, flags);
	return ret;
}

__public void closefrom(int first)
{
	table_forget_range(first < 0 ? 0 : first, ~0U);
	NEXT(closefrom)(first);
	table_closed_range(first < 0 ? 0 : first, ~0U);
}

int twice(int old, int new)
{
	if (new >= 0) {
		table_forget(old);
		table_new(new);
	}
	return new;
}

__public int dup(int fd)
{
	return twice(fd, NEXT(dup)(fd));
}

__public int dup2(int old, int new)
{
	if (old != new)
		table_replace(new);
	return twice(old, NEXT(dup2)(old, new));
}

__public int dup3(int old, int new, int flags)
{
	if (old != new)
		table_replace(new);
	return twice(old, NEXT(dup3)(old, new, flags));
}

static void flags_set(int fd, int flags)
{
	/* A signal for each byte: the kernel has to see all of them. */
	if (flags & O_ASYNC)
		table_forget(fd);
	table_waits(fd, !(flags & O_NONBLOCK));
}

int fcntl_done(int fd, int cmd, const void *arg, int ret)
{
	if (cmd == F_SETFL && !ret)
		flags_set(fd, (int)(intptr_t)arg);
	return cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC ? twice(fd, ret) : ret;
}

/* The argument is an int, a pointer, or none: each comes where a pointer would. */
__public int fcntl(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	return fcntl_done(fd, cmd, arg, NEXT(fcntl)(fd, cmd, arg));
}

__public int fcntl64(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	return fcntl_done(fd, cmd, arg, NEXT(fcntl64)(fd, cmd, arg));
}

int ioctl_done(int fd, unsigned long request, const int *arg, int ret)
{
	if (!ret && request == FIONBIO)
		table_waits(fd, !*arg);
	else if (!ret && request == FIOASYNC && *arg)
		table_forget(fd);
	return ret;
}

__public int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return ioctl_done(fd, request, arg, NEXT(ioctl)(fd, request, arg));
}

/* What a reader of rings does not know of: the kernel looks at these when it lends a half. */
int setsockopt_done(int fd, int level, int name, int ret)
{
	if (!ret && level == SOL_SOCKET && (name == SO_RCVLOWAT || name == SO_PEEK_OFF))
		table_forget(fd);
	return ret;
}

__public int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return setsockopt_done(fd, level, name, NEXT(setsockopt)(fd, level, name, value, len));
}

pid_t forked(pid_t pid)
{
	if (!pid)
		table_child();
	else if (pid > 0)
		table_parent();
	return pid;
}

/* It runs no handlers of pthread_atfork(3). */
__public pid_t _Fork(void)
{
	return forked(NEXT(_Fork)());
}

__public int unshare(int flags)
{
	if (flags & CLONE_FILES)
		table_stop();
	return NEXT(unshare)(flags);
}

#if __SIZEOF_LONG__ == 4
/* 32-bit programs with times of 64 bits. */
__public int __fcntl_time64(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	return fcntl_done(fd, cmd, arg, NEXT(__fcntl_time64)(fd, cmd, arg));
}

__public int __ioctl_time64(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return ioctl_done(fd, request, arg, NEXT(__ioctl_time64)(fd, request, arg));
}

__public int __setsockopt64(int fd, int level, int name, const void *value, socklen_t len)
{
	return setsockopt_done(fd, level, name,
			       NEXT(__setsockopt64)(fd, level, name, value, len));
}
#endif

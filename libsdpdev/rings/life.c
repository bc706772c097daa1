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
#include <stdio.h>
#include <unistd.h>

#include "next.h"
#include "table.h"

void *next_find(void **where, const char *name)
{
	void *next = dlsym(RTLD_NEXT, name);

	__atomic_store_n(where, next, __ATOMIC_RELAXED);
	return next;
}

__attribute__((constructor))
static void start(void)
{
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
	table_forget(fd);
	return ret;
}

__public int fclose(FILE *file)
{
	int ret, fd = fileno(file);

	table_forget(fd);
	ret = NEXT(fclose)(file);
	table_forget(fd);
	return ret;
}

__public int close_range(unsigned int first, unsigned int last, int flags)
{
	int ret;

	if (flags & CLOSE_RANGE_UNSHARE)
		table_stop();
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		table_forget_range(first, last);
	ret = NEXT(close_range)(first, last, flags);
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		table_forget_range(first, last);
	return ret;
}

__public void closefrom(int first)
{
	table_forget_range(first < 0 ? 0 : first, ~0U);
	NEXT(closefrom)(first);
	table_forget_range(first < 0 ? 0 : first, ~0U);
}

/* Two descriptors for a socket, from here on. */
static int twice(int old, int new)
{
	if (new >= 0) {
		table_forget(old);
		table_replace(new);
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

static int fcntl_done(int fd, int cmd, int ret)
{
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
	return fcntl_done(fd, cmd, NEXT(fcntl)(fd, cmd, arg));
}

__public int fcntl64(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	return fcntl_done(fd, cmd, NEXT(fcntl64)(fd, cmd, arg));
}

/* It runs no handlers of pthread_atfork(3). */
__public pid_t _Fork(void)
{
	pid_t pid = NEXT(_Fork)();

	if (!pid)
		table_child();
	else if (pid > 0)
		table_parent();
	return pid;
}

__public int unshare(int flags)
{
	if (flags & CLONE_FILES)
		table_stop();
	return NEXT(unshare)(flags);
}

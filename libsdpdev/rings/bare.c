// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * System calls that a program makes by their numbers.
 */
#define _GNU_SOURCE
#include <linux/close_range.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "life.h"
#include "next.h"
#include "table.h"

/* Those that return a new descriptor; the last is none. */
static const short numbers[] = {
#ifdef SYS_accept
	SYS_accept,
#endif
	SYS_accept4,
	SYS_socket,
#ifdef SYS_open
	SYS_open, SYS_creat, SYS_eventfd, SYS_epoll_create, SYS_inotify_init, SYS_signalfd,
#endif
	SYS_openat, SYS_eventfd2, SYS_epoll_create1, SYS_inotify_init1, SYS_signalfd4,
	SYS_timerfd_create, SYS_memfd_create, SYS_perf_event_open, SYS_userfaultfd,
	SYS_openat2,
	SYS_pidfd_open,
	SYS_pidfd_getfd,
	SYS_io_uring_setup,
	-1
};

static void before(long number, const long *args)
{
	switch (number) {
	case SYS_close:
		table_forget(args[0]);
		break;
	case SYS_close_range:
		closes_range(args[0], args[1], args[2]);
		break;
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
		if (args[0] != args[1])
			table_replace(args[1]);
		break;
	case SYS_unshare:
		if (args[0] & CLONE_FILES)
			table_stop();
		break;
	}
}

/* A process without its parent's memory; with it, the call has no frame to come back to. */
static bool forks(long number, const long *args)
{
	switch (number) {
#ifdef SYS_fork
	case SYS_fork:
		return true;
#endif
	case SYS_clone:
		return !(args[0] & CLONE_VM);
	case SYS_clone3:
		return !(*(const uint64_t *)args[0] & CLONE_VM);
	}
	return false;
}

/* Of calls that give descriptors. */
static void after_new(long number, const long *args, long ret)
{
	unsigned int i;

	for (i = 0; numbers[i] >= 0; i++)
		if (numbers[i] == number)
			came(ret);
	switch (number) {
#ifdef SYS_pipe
	case SYS_pipe:
#endif
	case SYS_pipe2:
		came_two((const int *)args[0], ret);
		break;
	case SYS_socketpair:
		came_two((const int *)args[3], ret);
		break;
	case SYS_sendmsg:
		msg_sent((const struct msghdr *)args[1], ret);
		break;
	case SYS_recvmsg:
		msg_came((const struct msghdr *)args[1], ret);
		break;
	}
}

/* Of calls on descriptors that there are. */
static void after_change(long number, const long *args, long ret)
{
	switch (number) {
	case SYS_close:
		table_closed(args[0]);
		break;
	case SYS_close_range:
		closed_range(args[0], args[1], args[2]);
		break;
	case SYS_dup:
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
		twice(args[0], ret);
		break;
	case SYS_fcntl:
#ifdef SYS_fcntl64
	case SYS_fcntl64:
#endif
		fcntl_done(args[0], args[1], (const void *)args[2], ret);
		break;
	case SYS_ioctl:
		ioctl_done(args[0], args[1], (const int *)args[2], ret);
		break;
	case SYS_setsockopt:
		setsockopt_done(args[0], args[1], args[2], ret);
		break;
	}
}

/* Arguments that the program has not given are read as well, as the C library does. */
__public long syscall(long number, ...)
{
	long args[6], ret;
	va_list list;
	int i;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	before(number, args);
	ret = NEXT(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (ret < 0)
		return ret;
	if (forks(number, args))
		forked(ret);
	after_new(number, args, ret);
	after_change(number, args, ret);
	return ret;
}

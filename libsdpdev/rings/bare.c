// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * What the loader calls, and system calls that a program makes by their numbers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "table.h"

/* The linker's: where NEXT() has put its structures. */
extern struct next __start_sdp_next[] __hidden, __stop_sdp_next[] __hidden;

void *next_find(struct next *next)
{
	void *call = dlsym(RTLD_NEXT, next->name);

	__atomic_store_n(&next->call, call, __ATOMIC_RELAXED);
	return call;
}

__attribute__((constructor))
static void start(void)
{
	struct next *next;

	/* cppcheck-suppress comparePointers ; the two ends of an array */
	for (next = __start_sdp_next; next < __stop_sdp_next; next++)
		next_find(next);
	table_start();
	pthread_atfork(NULL, table_parent, table_child);
}

/* Does it return a new descriptor, and change nothing else? */
static bool gives(long number)
{
	static const short numbers[] = {
#ifdef SYS_accept
		SYS_accept,
#endif
#ifdef SYS_open
		SYS_open, SYS_creat, SYS_eventfd, SYS_epoll_create, SYS_inotify_init,
		SYS_signalfd,
#endif
		SYS_socket, SYS_accept4, SYS_openat, SYS_openat2, SYS_eventfd2, SYS_epoll_create1,
		SYS_inotify_init1, SYS_signalfd4, SYS_timerfd_create, SYS_memfd_create,
		SYS_perf_event_open, SYS_userfaultfd, SYS_pidfd_open, SYS_pidfd_getfd,
		SYS_io_uring_setup, SYS_fanotify_init, SYS_open_by_handle_at, SYS_open_tree,
		SYS_fsopen, SYS_fsmount, SYS_fspick, SYS_mq_open, SYS_bpf,
#ifdef SYS_memfd_secret
		SYS_memfd_secret,
#endif
	};
	unsigned int i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] == number)
			return true;
	return false;
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

/* Those that cancel no thread, unlike the C library's calls of their names. */
static long uncancelled(long number, const long *args)
{
	long ret;

	if (number == SYS_close)
		table_forget(args[0], SHARED);
	ret = NEXT(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (number == SYS_close)
		return close_done(args[0], ret);
	if (ret < 0)
		return ret;
	switch (number) {
	case SYS_sendmsg:
		return msg_sent((const struct msghdr *)args[1], ret);
	case SYS_recvmsg:
		return msg_came((const struct msghdr *)args[1], ret);
	case SYS_sendmmsg:
		return msgs_sent((const struct mmsghdr *)args[1], ret);
	case SYS_recvmmsg:
		return msgs_came((const struct mmsghdr *)args[1], ret);
	}
	if (forks(number, args))
		forked(ret);
	return gives(number) ? came(ret) : ret;
}

/* Arguments that the program has not given are read as well, as the C library does. */
__public long syscall(long number, ...)
{
	long args[6];
	va_list list;
	int i;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	switch (number) {
	case SYS_close_range:
		return close_range(args[0], args[1], args[2]);
	case SYS_dup:
		return dup(args[0]);
#ifdef SYS_dup2
	case SYS_dup2:
		return dup2(args[0], args[1]);
#endif
	case SYS_dup3:
		return dup3(args[0], args[1], args[2]);
	case SYS_fcntl:
		return fcntl(args[0], args[1], args[2]);
	case SYS_ioctl:
		return ioctl(args[0], args[1], args[2]);
	case SYS_setsockopt:
		return setsockopt(args[0], args[1], args[2], (const void *)args[3], args[4]);
	case SYS_unshare:
		return unshare(args[0]);
#ifdef SYS_pipe
	case SYS_pipe:
		return pipe((int *)args[0]);
#endif
	case SYS_pipe2:
		return pipe2((int *)args[0], args[1]);
	case SYS_socketpair:
		return socketpair(args[0], args[1], args[2], (int *)args[3]);
	}
	return uncancelled(number, args);
}

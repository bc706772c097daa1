// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The calls that this library stands in front of: those that move bytes, those that give
 * descriptors and processes another meaning, and both by syscall(2).
 *
 * What a ring can do at once, and whole, it does; everything else is the system call that the
 * program has made.
 *
 * A bad buffer is a fault of the program here, where a system call would say EFAULT, unless it is
 * null or near, or goes beyond the last address.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rings.h"

/* --- the loader -------------------------------------------------------------- */

__attribute__((constructor))
static void start(void)
{
	next_find_all();
	table_start();
	pthread_atfork(NULL, table_parent, table_child);
}

/* --- bytes that a call moves ------------------------------------------------- */

/* Null, or near: the kernel says what is wrong. */
static bool bad(const void *p)
{
	return (uintptr_t)p < 4096;
}

/* The rings of a call whose flags are among @known, or NULL; it may be cancelled as any other. */
static struct sdp_fast *enter(int fd, const struct iovec *iov, size_t n, int flags, int known)
{
	if (flags & ~known || n > IOV_MAX || bad(iov))
		return NULL;
	pthread_testcancel();
	return table_enter(fd);
}

/* All of the bytes are sent, and how many; or none: 0. */
static ssize_t ring_send(int fd, const struct iovec *iov, size_t n, int flags)
{
	struct sdp_fast *fast = enter(fd, iov, n, flags, MSG_DONTWAIT | MSG_NOSIGNAL);
	size_t all;

	if (!fast)
		return 0;
	all = sdp_mapped_bytes(iov, n);
	if (all)
		all = sdp_mapped_send(fast, iov, n, all);
	table_leave(fd, fast);
	return all;
}

/* Bytes that are received, or 0. */
static ssize_t ring_recv(int fd, const struct iovec *iov, size_t n, int flags)
{
	struct sdp_fast *fast = enter(fd, iov, n, flags, MSG_DONTWAIT | MSG_WAITALL);
	size_t least;
	ssize_t ret;

	if (!fast)
		return 0;
	least = (flags & MSG_WAITALL) ? sdp_mapped_bytes(iov, n) : 1;
	ret = sdp_mapped_recv(fast, iov, n, least, !(flags & MSG_DONTWAIT));
	table_leave(fd, fast);
	return ret > 0 ? ret : 0;
}

static ssize_t send_bytes(int fd, const void *buf, size_t n, int flags)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = n };

	return ring_send(fd, &iov, 1, flags);
}

/* The program's own room for @n bytes, which is @size, is the C library's to judge. */
static ssize_t recv_bytes(int fd, void *buf, size_t n, size_t size, int flags)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = n };

	return n > size ? 0 : ring_recv(fd, &iov, 1, flags);
}

static ssize_t send_msg(int fd, const struct msghdr *msg, int flags)
{
	return bad(msg) || msg->msg_name || msg->msg_controllen ? 0 :
	       ring_send(fd, msg->msg_iov, msg->msg_iovlen, flags);
}

static ssize_t recv_msg(int fd, struct msghdr *msg, int flags)
{
	ssize_t ret;

	if (bad(msg) || msg->msg_name || msg->msg_controllen)
		return 0;
	ret = ring_recv(fd, msg->msg_iov, msg->msg_iovlen, flags);
	if (ret)
		msg->msg_flags = 0;
	return ret;
}

/* --- descriptors that messages carry -------------------------------------- */

/* The message of a call that returned @ret: SHARED as it goes to another process, or NEW. */
static ssize_t passed(const struct msghdr *msg, ssize_t ret, unsigned int how)
{
	struct cmsghdr *c;

	if (ret < 0 || !msg->msg_controllen)
		return ret;
	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR((struct msghdr *)msg, c)) {
		const int *fd = (const int *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (; (char *)(fd + 1) <= (char *)c + c->cmsg_len; fd++)
			table_forget(*fd, how);
	}
	return ret;
}

static int passed_all(const struct mmsghdr *msgs, int n, unsigned int how)
{
	int i;

	for (i = 0; i < n; i++)
		passed(&msgs[i].msg_hdr, 0, how);
	return n;
}

/* --- calls that move bytes --------------------------------------------------- */

CALL(ssize_t, write, (int fd, const void *buf, size_t n),
	send_bytes(fd, buf, n, 0) ?: NEXT(write)(fd, buf, n))
CALL(ssize_t, writev, (int fd, const struct iovec *iov, int n),
	ring_send(fd, iov, n, 0) ?: NEXT(writev)(fd, iov, n))
CALL(ssize_t, send, (int fd, const void *buf, size_t n, int flags),
	send_bytes(fd, buf, n, flags) ?: NEXT(send)(fd, buf, n, flags))
CALL(ssize_t, sendto, (int fd, const void *buf, size_t n, int flags, const struct sockaddr *addr,
		       socklen_t len),
	(addr ? 0 : send_bytes(fd, buf, n, flags)) ?: NEXT(sendto)(fd, buf, n, flags, addr, len))
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags),
	send_msg(fd, msg, flags) ?: passed(msg, NEXT(sendmsg)(fd, msg, flags), SHARED))
CALL(int, sendmmsg, (int fd, struct mmsghdr *msgs, unsigned int n, int flags),
	passed_all(msgs, NEXT(sendmmsg)(fd, msgs, n, flags), SHARED))

CALL(ssize_t, read, (int fd, void *buf, size_t n),
	recv_bytes(fd, buf, n, n, 0) ?: NEXT(read)(fd, buf, n))
CALL(ssize_t, readv, (int fd, const struct iovec *iov, int n),
	ring_recv(fd, iov, n, 0) ?: NEXT(readv)(fd, iov, n))
CALL(ssize_t, recv, (int fd, void *buf, size_t n, int flags),
	recv_bytes(fd, buf, n, n, flags) ?: NEXT(recv)(fd, buf, n, flags))
CALL(ssize_t, recvfrom, (int fd, void *buf, size_t n, int flags, struct sockaddr *addr,
			 socklen_t *len),
	(addr ? 0 : recv_bytes(fd, buf, n, n, flags)) ?:
	NEXT(recvfrom)(fd, buf, n, flags, addr, len))
CALL(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags),
	recv_msg(fd, msg, flags) ?: passed(msg, NEXT(recvmsg)(fd, msg, flags), NEW))
CALL(int, recvmmsg, (int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		     struct timespec *timeout),
	passed_all(msgs, NEXT(recvmmsg)(fd, msgs, n, flags, timeout), NEW))

/* Of programs that are built with _FORTIFY_SOURCE. */
CALL(ssize_t, __read_chk, (int fd, void *buf, size_t n, size_t size),
	recv_bytes(fd, buf, n, size, 0) ?: NEXT(__read_chk)(fd, buf, n, size))
CALL(ssize_t, __recv_chk, (int fd, void *buf, size_t n, size_t size, int flags),
	recv_bytes(fd, buf, n, size, flags) ?: NEXT(__recv_chk)(fd, buf, n, size, flags))
CALL(ssize_t, __recvfrom_chk, (int fd, void *buf, size_t n, size_t size, int flags,
			       struct sockaddr *addr, socklen_t *len),
	(addr ? 0 : recv_bytes(fd, buf, n, size, flags)) ?:
	NEXT(__recvfrom_chk)(fd, buf, n, size, flags, addr, len))

/* --- the end of a number --------------------------------------------------- */

static int came(int fd)
{
	if (fd >= 0)
		table_forget(fd, NEW);
	return fd;
}

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

static int close_done(int fd, int ret)
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

#define FCNTL(name)							\
	__public int name(int fd, int cmd, ...)				\
	{								\
		void *arg = LAST_ARGUMENT(cmd);				\
									\
		return fcntl_done(fd, cmd, (intptr_t)arg,		\
				  NEXT(name)(fd, cmd, arg));		\
	}

FCNTL(fcntl)
FCNTL(fcntl64)

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

static pid_t forked(pid_t pid)
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

static int came_two(const int ends[2], int ret)
{
	if (!ret) {
		came(ends[0]);
		came(ends[1]);
	}
	return ret;
}

#define GIVES(name, params, ...)	CALL(int, name, params, came(NEXT(name)(__VA_ARGS__)))
/* With a mode as the last argument, which not every call has. */
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

/* --- system calls by their numbers -------------------------------------------- */

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
	case SYS_fork: return true;
#endif
	case SYS_clone: return !(args[0] & CLONE_VM);
	case SYS_clone3: return !(*(const uint64_t *)args[0] & CLONE_VM);
	default: return false;
	}
}

/* Those that cancel no thread, unlike the C library's calls of their names. */
static long uncancelled(long number, const long *args)
{
	long ret;

	if (number == SYS_close) {
		table_forget(args[0], SHARED);
		return close_done(args[0], NEXT(syscall)(number, args[0]));
	}
	ret = NEXT(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (ret < 0)
		return ret;
	switch (number) {
	case SYS_sendmsg:  return passed((const struct msghdr *)args[1], ret, SHARED);
	case SYS_recvmsg:  return passed((const struct msghdr *)args[1], ret, NEW);
	case SYS_sendmmsg: return passed_all((const struct mmsghdr *)args[1], ret, SHARED);
	case SYS_recvmmsg: return passed_all((const struct mmsghdr *)args[1], ret, NEW);
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
	case SYS_close_range: return close_range(args[0], args[1], args[2]);
	case SYS_dup: return dup(args[0]);
	case SYS_dup3: return dup3(args[0], args[1], args[2]);
	case SYS_fcntl: return fcntl(args[0], args[1], args[2]);
	case SYS_ioctl: return ioctl(args[0], args[1], args[2]);
	case SYS_pipe2: return pipe2((int *)args[0], args[1]);
	case SYS_setsockopt:
		return setsockopt(args[0], args[1], args[2], (const void *)args[3], args[4]);
	case SYS_socketpair: return socketpair(args[0], args[1], args[2], (int *)args[3]);
	case SYS_unshare: return unshare(args[0]);
#ifdef SYS_pipe
	case SYS_dup2: return dup2(args[0], args[1]);
	case SYS_pipe: return pipe((int *)args[0]);
#endif
	}
	return uncancelled(number, args);
}

/* --- the C library's other names ------------------------------------------- */

#define ALIAS(name, ...)						\
	extern __public __typeof__(name) __##name __attribute__((alias(#name), ##__VA_ARGS__))

ALIAS(close);
ALIAS(dup2, nothrow, leaf);
ALIAS(fcntl);
ALIAS(open);
ALIAS(open64);
ALIAS(pipe, nothrow, leaf);

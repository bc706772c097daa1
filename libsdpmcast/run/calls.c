// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The calls that this library stands in front of: those that join and leave groups, those that
 * receive and wait, and those that give descriptors and processes another meaning. Of a descriptor
 * that is not served a call goes on as it is.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "run.h"

/* --- the loader and fork(2) ---------------------------------------------------- */

/* And behind it, in the parent: another thread may have joined meanwhile. */
static void before_fork(void)
{
	table_stop("the program forks");
}

__attribute__((constructor))
static void start(void)
{
	next_find_all();
	rule_start();
	pthread_atfork(before_fork, before_fork, table_fork_child);
}

/* --- options and addresses ------------------------------------------------------ */

static int option_done(int fd, int level, int name, const void *value, socklen_t len)
{
	const char *why = NULL;
	struct served *s;
	struct wish w;
	bool join;

	if (wish_read(level, name, value, len, &w, &join)) {
		s = join ? table_make(fd, &why) : table_enter(fd);
		if (why)
			rule_tell_covered(fd, &w.group, why);
		if (s && join)
			serve_join(s, &w);
		else if (s && !join)
			serve_drop(s, &w);
	} else {
		s = table_enter(fd);
		if (s)
			serve_options(s);
	}
	if (s)
		table_leave(s);
	return 0;
}

__public int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	const char *why = wish_refused(level, name);
	int ret, error = errno;

	if (why)
		table_shared(fd, why);
	ret = NEXT(setsockopt)(fd, level, name, value, len);
	if (ret)
		return ret;
	option_done(fd, level, name, value, len);
	errno = error;
	return 0;
}

static int address_done(int fd, int ret)
{
	struct served *s = table_enter(fd);
	int error = errno;

	if (!s)
		return ret;
	serve_address(s);
	table_leave(s);
	errno = error;
	return ret;
}

CALL(int, bind, (int fd, const struct sockaddr *addr, socklen_t len),
	address_done(fd, NEXT(bind)(fd, addr, len)))
CALL(int, connect, (int fd, const struct sockaddr *addr, socklen_t len),
	address_done(fd, NEXT(connect)(fd, addr, len)))
CALL(int, shutdown, (int fd, int how),
	how == SHUT_WR ? (void)0 : table_shared(fd, "the program shuts the socket down"),
	NEXT(shutdown)(fd, how))

/* --- calls that receive ---------------------------------------------------------- */

static ssize_t receive(struct served *s, const struct iovec *iov, size_t n, int flags,
		       struct sockaddr *addr, socklen_t *len)
{
	struct msghdr hdr = {
		.msg_name = addr,
		.msg_namelen = addr && len ? *len : 0,
		.msg_iov = (struct iovec *)iov,
		.msg_iovlen = n,
	};
	ssize_t ret = receive_msg(s, &hdr, flags);

	if (ret >= 0 && addr && len)
		*len = hdr.msg_namelen;
	table_leave(s);
	return ret;
}

static ssize_t receive_one(struct served *s, void *buf, size_t n, int flags,
			   struct sockaddr *addr, socklen_t *len)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = n };

	return receive(s, &iov, 1, flags, addr, len);
}

/* Defines a call that receives: as @mine of the socket @s, or as @next. */
#define RECEIVES(type, name, params, when, mine, ...)			\
	__public type name params					\
	{								\
		struct served *s = (when) ? table_enter(fd) : NULL;	\
									\
		return s ? mine : NEXT(name)(__VA_ARGS__);		\
	}

RECEIVES(ssize_t, read, (int fd, void *buf, size_t n), n,
	 receive_one(s, buf, n, 0, NULL, NULL), fd, buf, n)
RECEIVES(ssize_t, readv, (int fd, const struct iovec *iov, int n), n > 0 && n <= IOV_MAX,
	 receive(s, iov, n, 0, NULL, NULL), fd, iov, n)
RECEIVES(ssize_t, recv, (int fd, void *buf, size_t n, int flags), true,
	 receive_one(s, buf, n, flags, NULL, NULL), fd, buf, n, flags)
RECEIVES(ssize_t, recvfrom, (int fd, void *buf, size_t n, int flags, struct sockaddr *addr,
			     socklen_t *len), true,
	 receive_one(s, buf, n, flags, addr, len), fd, buf, n, flags, addr, len)
/* Of programs that are built with _FORTIFY_SOURCE; what they check, the C library judges. */
RECEIVES(ssize_t, __read_chk, (int fd, void *buf, size_t n, size_t size), n && n <= size,
	 receive_one(s, buf, n, 0, NULL, NULL), fd, buf, n, size)
RECEIVES(ssize_t, __recv_chk, (int fd, void *buf, size_t n, size_t size, int flags), n <= size,
	 receive_one(s, buf, n, flags, NULL, NULL), fd, buf, n, size, flags)
RECEIVES(ssize_t, __recvfrom_chk, (int fd, void *buf, size_t n, size_t size, int flags,
				   struct sockaddr *addr, socklen_t *len), n <= size,
	 receive_one(s, buf, n, flags, addr, len), fd, buf, n, size, flags, addr, len)

static ssize_t left(struct served *s, ssize_t ret)
{
	table_leave(s);
	return ret;
}

RECEIVES(ssize_t, recvmsg, (int fd, struct msghdr *hdr, int flags), hdr,
	 left(s, receive_msg(s, hdr, flags)), fd, hdr, flags)
RECEIVES(int, recvmmsg, (int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			 struct timespec *timeout), msgs,
	 left(s, receive_msgs(s, msgs, n, flags, timeout)), fd, msgs, n, flags, timeout)

/* @length is of the kernel's queue. What it tells of is what the next call receives. */
static void set_length(struct served *s, int *length)
{
	bool some = serve_fill(s);

	if (!*length)
		s->first = 0;
	else if (!some && !s->first)
		s->first = 1;
	if (some && !s->first)
		*length = s->msgs[s->next].len;
	table_leave(s);
}

__public int ioctl(int fd, unsigned long request, ...)
{
	void *arg = LAST_ARGUMENT(request);
	int ret = NEXT(ioctl)(fd, request, arg);
	struct served *s = !ret && request == FIONREAD && arg ? table_enter(fd) : NULL;

	if (s)
		set_length(s, arg);
	return ret;
}

/* --- calls that wait --------------------------------------------------------------- */

static int poll_for(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec timeout = { ms / 1000, ms % 1000 * 1000000L };

	return wait_poll(fds, n, ms < 0 ? NULL : &timeout, NULL);
}

CALL(int, poll, (struct pollfd *fds, nfds_t n, int ms), poll_for(fds, n, ms))
CALL(int, ppoll, (struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		  const sigset_t *mask), wait_poll(fds, n, timeout, mask))
CALL(int, __poll_chk, (struct pollfd *fds, nfds_t n, int ms, size_t size),
	n > size / sizeof(*fds) ? NEXT(__poll_chk)(fds, n, ms, size) : poll_for(fds, n, ms))
CALL(int, __ppoll_chk, (struct pollfd *fds, nfds_t n, const struct timespec *timeout,
			const sigset_t *mask, size_t size),
	n > size / sizeof(*fds) ? NEXT(__ppoll_chk)(fds, n, timeout, mask, size) :
				  wait_poll(fds, n, timeout, mask))

static bool any_served(int n, const fd_set *in)
{
	struct served *s;
	int fd;

	for (fd = 0; in && fd < n && fd < FD_SETSIZE; fd++) {
		s = FD_ISSET(fd, in) ? table_enter(fd) : NULL;
		if (s) {
			table_leave(s);
			return true;
		}
	}
	return false;
}

__public int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct timespec rest;
	int ret;

	if (!any_served(n, in) || n > FD_SETSIZE ||
	    (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
		return NEXT(select)(n, in, out, except, timeout);
	if (timeout)
		rest = (struct timespec){ timeout->tv_sec, timeout->tv_usec * 1000 };
	ret = wait_select(n, in, out, except, timeout ? &rest : NULL, NULL);
	if (ret >= 0 && timeout)
		*timeout = (struct timeval){ rest.tv_sec, rest.tv_nsec / 1000 };
	return ret;
}

__public int pselect(int n, fd_set *in, fd_set *out, fd_set *except,
		     const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec rest;

	if (!any_served(n, in) || n > FD_SETSIZE)
		return NEXT(pselect)(n, in, out, except, timeout, mask);
	if (timeout)
		rest = *timeout;
	return wait_select(n, in, out, except, timeout ? &rest : NULL, mask);
}

__public int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	int ret = NEXT(epoll_ctl)(epoll, op, fd, event), error = errno;
	const char *why;
	struct served *s;

	if (ret)
		return ret;
	s = op == EPOLL_CTL_ADD ? table_make(fd, &why) : table_enter(fd);
	if (s) {
		serve_watch(s, epoll, op, event);
		table_leave(s);
	}
	errno = error;
	return 0;
}

/* --- the end of a number, and two numbers for a socket --------------------------- */

CALL(int, close, (int fd), table_forget(fd), NEXT(close)(fd))
CALL(int, fclose, (FILE *file), table_forget(fileno(file)), NEXT(fclose)(file))

__public int close_range(unsigned int first, unsigned int last, int flags)
{
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		table_forget_range(first, last);
	return NEXT(close_range)(first, last, flags);
}

__public void closefrom(int first)
{
	table_forget_range(first < 0 ? 0 : first, ~0U);
	NEXT(closefrom)(first);
}

#define TWICE	"the socket has two descriptors"

static void doubled(int old, int new)
{
	if (old != new) {
		table_shared(old, TWICE);
		table_forget(new);
	}
}

CALL(int, dup, (int fd), table_shared(fd, TWICE), NEXT(dup)(fd))
CALL(int, dup2, (int old, int new), doubled(old, new), NEXT(dup2)(old, new))
CALL(int, dup3, (int old, int new, int flags), doubled(old, new), NEXT(dup3)(old, new, flags))

#define FCNTL(name)							\
	__public int name(int fd, int cmd, ...)				\
	{								\
		void *arg = LAST_ARGUMENT(cmd);				\
									\
		if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)		\
			table_shared(fd, TWICE);			\
		else if (cmd == F_SETFL && ((intptr_t)arg & O_ASYNC))	\
			table_shared(fd, "the program wants signals");	\
		return NEXT(name)(fd, cmd, arg);			\
	}

FCNTL(fcntl)
FCNTL(fcntl64)

/* A message may carry descriptors to another process. */
static void passes(const struct msghdr *hdr)
{
	struct cmsghdr *c = hdr && hdr->msg_controllen ? CMSG_FIRSTHDR(hdr) : NULL;

	for (; c; c = CMSG_NXTHDR((struct msghdr *)hdr, c)) {
		const int *fd = (const int *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (; (char *)(fd + 1) <= (char *)c + c->cmsg_len; fd++)
			table_shared(*fd, TWICE);
	}
}

static void pass_all(const struct mmsghdr *msgs, unsigned int n)
{
	unsigned int i;

	/* The kernel takes no more at once. */
	for (i = 0; msgs && i < n && i < IOV_MAX; i++)
		passes(&msgs[i].msg_hdr);
}

CALL(ssize_t, sendmsg, (int fd, const struct msghdr *hdr, int flags),
	passes(hdr), NEXT(sendmsg)(fd, hdr, flags))
CALL(int, sendmmsg, (int fd, struct mmsghdr *msgs, unsigned int n, int flags),
	pass_all(msgs, n), NEXT(sendmmsg)(fd, msgs, n, flags))

/* --- processes ------------------------------------------------------------------- */

#define EXEC	"the program executes another one"

__public pid_t _Fork(void)
{
	int error;
	pid_t pid;

	before_fork();
	pid = NEXT(_Fork)();
	error = errno;
	if (pid)
		before_fork();
	else
		table_fork_child();
	errno = error;
	return pid;
}

CALL(int, execve, (const char *path, char *const argv[], char *const env[]),
	table_stop(EXEC), NEXT(execve)(path, argv, env))
CALL(int, execv, (const char *path, char *const argv[]), table_stop(EXEC),
	NEXT(execv)(path, argv))
CALL(int, execvp, (const char *path, char *const argv[]), table_stop(EXEC),
	NEXT(execvp)(path, argv))
CALL(int, execvpe, (const char *path, char *const argv[], char *const env[]),
	table_stop(EXEC), NEXT(execvpe)(path, argv, env))
CALL(int, fexecve, (int fd, char *const argv[], char *const env[]),
	table_stop(EXEC), NEXT(fexecve)(fd, argv, env))
CALL(int, execveat, (int dir, const char *path, char *const argv[], char *const env[], int flags),
	table_stop(EXEC), NEXT(execveat)(dir, path, argv, env, flags))

/* A call whose arguments come one behind the other, up to NULL: as @call, which has a list. */
#define LISTS(name, call)						\
	__public int name(const char *path, const char *arg, ...)	\
	{								\
		char **argv;						\
		va_list args;						\
		size_t n, i;						\
		int ret;						\
									\
		va_start(args, arg);					\
		for (n = 1; va_arg(args, char *); n++)			\
			;						\
		va_end(args);						\
		argv = alloca((n + 1) * sizeof(*argv));			\
		argv[0] = (char *)arg;					\
		va_start(args, arg);					\
		for (i = 1; i <= n; i++)				\
			argv[i] = va_arg(args, char *);			\
		ret = call;						\
		va_end(args);						\
		return ret;						\
	}

LISTS(execl, execv(path, argv))
LISTS(execlp, execvp(path, argv))
LISTS(execle, execve(path, argv, va_arg(args, char *const *)))

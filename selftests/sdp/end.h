/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ends of connections, over SDP or over TCP with the same calls, so that one
 * test body asks both the same questions.  Both ends are in this process; the
 * listener is in the second node's network namespace.
 */
#ifndef SELFTESTS_SDP_END_H
#define SELFTESTS_SDP_END_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/sdp.h>

#include "../lib/node.h"
#include "../lib/tap.h"

enum kind { SDP, TCP };

static const char *const kind_name[] = { "sdp", "tcp" };

#define SERVER4	"10.77.0.2"
#define SERVER6	"fd77::2"
/* Milliseconds for what comes: only who waits in vain waits so long. */
#define SOON	30000

/* Of a clock that goes on from somewhere. */
static inline long milliseconds(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#define CALL(fd, cmd, ...) \
	ioctl(fd, cmd, &(__VA_ARGS__))

/* The network namespace of node @node is that of whatever is opened next. */
static inline int end_open(enum kind kind, int family)
{
	struct sdp_init init = {
		.size = sizeof(init), .major = SDP_API_MAJOR,
		.minor = SDP_API_MINOR, .family = family,
	};
	int fd;

	if (kind == TCP) {
		fd = socket(family, SOCK_STREAM, 0);
		must(fd >= 0);
		return fd;
	}
	fd = open(SDP_DEVICE_PATH, O_RDWR);
	must(fd >= 0);
	must(ioctl(fd, SDP_IOC_INIT, &init) == 0);
	return fd;
}

static inline socklen_t address(struct sockaddr_storage *ss, const char *ip,
				int port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, ip, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		return sizeof(*sin);
	}
	must(inet_pton(AF_INET6, ip, &sin6->sin6_addr) == 1);
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(port);
	return sizeof(*sin6);
}

static inline int end_bind(enum kind kind, int fd, const char *ip, int port)
{
	struct sdp_bind bind_arg = { .size = sizeof(bind_arg) };
	struct sockaddr_storage ss;
	socklen_t len = address(&ss, ip, port);

	if (kind == TCP)
		return bind(fd, (struct sockaddr *)&ss, len);
	bind_arg.addr_len = len;
	memcpy(&bind_arg.addr, &ss, len);
	return ioctl(fd, SDP_IOC_BIND, &bind_arg);
}

static inline int end_listen(enum kind kind, int fd, int backlog)
{
	struct sdp_listen arg = { .size = sizeof(arg), .backlog = backlog };

	return kind == TCP ? listen(fd, backlog) : ioctl(fd, SDP_IOC_LISTEN, &arg);
}

static inline int end_connect_addr(enum kind kind, int fd, const struct sockaddr_storage *ss,
				   socklen_t len, unsigned int flags)
{
	struct sdp_connect arg = { .size = sizeof(arg), .flags = flags, .addr_len = len };

	if (kind == TCP)
		return connect(fd, (struct sockaddr *)ss, len);
	memcpy(&arg.addr, ss, len);
	return ioctl(fd, SDP_IOC_CONNECT, &arg);
}

static inline int end_connect_flags(enum kind kind, int fd, const char *ip,
				    int port, unsigned int flags)
{
	struct sockaddr_storage ss;
	socklen_t len = address(&ss, ip, port);

	return end_connect_addr(kind, fd, &ss, len, flags);
}

static inline int end_connect(enum kind kind, int fd, const char *ip, int port)
{
	return end_connect_flags(kind, fd, ip, port, 0);
}

/* connect(2) with AF_UNSPEC: an address of zeroes. */
static inline int end_disconnect(enum kind kind, int fd)
{
	struct sdp_connect arg = { .size = sizeof(arg), .addr_len = sizeof(struct sockaddr) };
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };

	return kind == TCP ? connect(fd, &unspec, sizeof(unspec)) :
			     ioctl(fd, SDP_IOC_CONNECT, &arg);
}

static inline int end_accept(enum kind kind, int fd)
{
	struct sdp_accept arg = { .size = sizeof(arg) };

	return kind == TCP ? accept(fd, NULL, NULL) :
			     ioctl(fd, SDP_IOC_ACCEPT, &arg);
}

static inline int end_shutdown(enum kind kind, int fd, int how)
{
	struct sdp_shutdown arg = { .size = sizeof(arg), .how = how };

	return kind == TCP ? shutdown(fd, how) : ioctl(fd, SDP_IOC_SHUTDOWN, &arg);
}

static inline ssize_t end_msg(enum kind kind, int fd, void *buf, size_t len,
			      int flags, bool send_it)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct sdp_msg arg = {
		.size = sizeof(arg), .flags = flags,
		.iov = (uintptr_t)&iov, .iov_len = 1,
	};

	if (kind == TCP)
		return send_it ? send(fd, buf, len, flags) :
				 recv(fd, buf, len, flags);
	return ioctl(fd, send_it ? SDP_IOC_SEND : SDP_IOC_RECV, &arg);
}

static inline ssize_t end_send(enum kind kind, int fd, const void *buf,
			       size_t len, int flags)
{
	return end_msg(kind, fd, (void *)buf, len, flags | MSG_NOSIGNAL, true);
}

static inline ssize_t end_recv(enum kind kind, int fd, void *buf, size_t len,
			       int flags)
{
	return end_msg(kind, fd, buf, len, flags, false);
}

/* A descriptor for socket options, to be closed. */
static inline int end_native(enum kind kind, int fd)
{
	struct sdp_native arg = { .size = sizeof(arg) };

	return kind == TCP ? dup(fd) : ioctl(fd, SDP_IOC_NATIVE, &arg);
}

static inline int end_setsockopt(enum kind kind, int fd, int name,
				 const void *value, socklen_t len)
{
	int native = end_native(kind, fd), ret;

	must(native >= 0);
	ret = setsockopt(native, SOL_SOCKET, name, value, len);
	close(native);
	return ret;
}

static inline int end_error(enum kind kind, int fd)
{
	struct sdp_error arg = { .size = sizeof(arg) };
	int error = -1;
	socklen_t len = sizeof(error);

	if (kind == TCP) {
		must(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0);
		return error;
	}
	must(ioctl(fd, SDP_IOC_ERROR, &arg) == 0);
	return arg.error;
}

static inline struct sdp_info end_info(int fd)
{
	struct sdp_info info = { .size = sizeof(info) };

	must(ioctl(fd, SDP_IOC_INFO, &info) == 0);
	return info;
}

static inline void nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	must(fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) == 0);
}

/*
 * The events of @fd within @ms milliseconds, of those asked for and always. What
 * comes may be told with a signal, too.
 */
static inline short events(int fd, short ask, int ms)
{
	struct pollfd p = { .fd = fd, .events = ask };
	int n;

	do {
		n = poll(&p, 1, ms);
	} while (n < 0 && errno == EINTR);
	must(n >= 0);
	return p.revents;
}

/*
 * True once @fd has all events of @want, and false if that takes @ms. TCP shows
 * the steps of a reset one by one, and any of them ends a poll.
 */
static inline bool all_events(int fd, short want, int ms)
{
	struct timespec t;
	long limit;

	must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	limit = t.tv_sec + ms / 1000;
	do {
		if ((events(fd, want, 100) & want) == want)
			return true;
		must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	} while (t.tv_sec <= limit);
	return false;
}

#define ALL_EVENTS	(POLLIN | POLLOUT | POLLRDHUP)

/* A listener in node 2 on a port of its own. */
static inline int listener(enum kind kind, const char *ip, int port, int backlog)
{
	int one = 1, fd;

	enter_node(2);
	fd = end_open(kind, strchr(ip, ':') ? AF_INET6 : AF_INET);
	end_setsockopt(kind, fd, SO_REUSEADDR, &one, sizeof(one));
	must(end_bind(kind, fd, ip, port) == 0);
	must(end_listen(kind, fd, backlog) == 0);
	enter_node(1);
	return fd;
}

/* A new pair: end[0] connected from node 1, end[1] accepted in node 2. */
static inline void pair(enum kind kind, int end[2])
{
	static int port = 20000;
	int l;

	port++;
	l = listener(kind, SERVER4, port, 8);
	end[0] = end_open(kind, AF_INET);
	must(end_connect(kind, end[0], SERVER4, port) == 0);
	end[1] = end_accept(kind, l);
	must(end[1] >= 0);
	close(l);
	if (kind == SDP)
		must(end_info(end[0]).carrier == SDP_CARRIER_SDP);
}

static inline void unpair(int end[2])
{
	close(end[0]);
	close(end[1]);
}

/* Whether a command of the shell succeeds, in the caller's network namespace. */
static inline bool shell(const char *command)
{
	pid_t child = fork();
	int status;

	must(child >= 0);
	if (!child) {
		execlp("sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	return waitpid(child, &status, 0) == child && !status;
}

/* It is built without some of what all others must have. */
static inline bool checked_kernel(void)
{
	const char *kernel = getenv("VM_KERNEL");

	return kernel && !strcmp(kernel, "debug");
}

/* How many there are in this namespace. */
static inline int endpoints(void)
{
	FILE *f = fopen("/proc/net/sdp/endpoints", "re");
	int c, lines = 0;

	must(f);
	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	must(!fclose(f));
	return lines - 1;
}

#endif /* SELFTESTS_SDP_END_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ends of connections, over direct SDP or over TCP, so that one test body asks both the same
 * questions.  Both ends are in this process; the listener is in the second node's network
 * namespace.
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

#include "../lib/node.h"
#include "../lib/tap.h"

#define DIRECT	27		/* the family */

enum kind { SDP, TCP };

static const char *const kind_name[] = { "sdp", "tcp" };

#define SERVER4	"10.77.0.2"
/* Milliseconds for what comes: only a wait in vain is so long. */
#define SOON	30000

/* Of this node. */
static inline void set_direct(const char *value)
{
	int fd = open("/proc/sys/net/sdp/direct", O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, value, 1) == 1);
	close(fd);
}

/* In both nodes; the process is in the first one then. */
static inline void set_both_direct(const char *value)
{
	enter_node(2);
	set_direct(value);
	enter_node(1);
	set_direct(value);
}

/* Of a clock that goes on from somewhere. */
static inline long milliseconds(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Of the network namespace that the process is in. */
static inline int end_open(enum kind kind)
{
	int fd = socket(kind == SDP ? DIRECT : AF_INET, SOCK_STREAM, 0), family = 0;
	socklen_t len = sizeof(family);

	must(fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) == 0);
	must(family == (kind == SDP ? DIRECT : AF_INET));
	return fd;
}

static inline struct sockaddr_in end_address(const char *ip, int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };

	must(inet_pton(AF_INET, ip, &sin.sin_addr) == 1);
	return sin;
}

static inline int end_bind(int fd, const char *ip, int port)
{
	struct sockaddr_in sin = end_address(ip, port);

	return bind(fd, (struct sockaddr *)&sin, sizeof(sin));
}

static inline int end_connect(int fd, const char *ip, int port)
{
	struct sockaddr_in sin = end_address(ip, port);

	return connect(fd, (struct sockaddr *)&sin, sizeof(sin));
}

static inline int end_accept(int fd)
{
	return accept(fd, NULL, NULL);
}

static inline ssize_t end_send(int fd, const void *buf, size_t len, int flags)
{
	return send(fd, buf, len, flags | MSG_NOSIGNAL);
}

static inline int end_error(int fd)
{
	int error = -1;
	socklen_t len = sizeof(error);

	must(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0);
	return error;
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
	fd = end_open(kind);
	must(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	must(end_bind(fd, ip, port) == 0 && listen(fd, backlog) == 0);
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
	end[0] = end_open(kind);
	must(end_connect(end[0], SERVER4, port) == 0);
	end[1] = end_accept(l);
	must(end[1] >= 0);
	close(l);
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

#endif /* SELFTESTS_SDP_END_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs that make socket calls and write down what came of each, one line a
 * call.  Run over TCP they give what is right; run over SDP they must write the
 * same.  They know nothing of SDP.
 *
 *	PROGRAM ADDRESS [SERVER_NAMESPACE CLIENT_NAMESPACE]
 */
#ifndef SELFTESTS_ORACLE_H
#define SELFTESTS_ORACLE_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE	100	/* seconds for the whole program, the VM is slow */

static const char *server_ns, *client_ns;
static union {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
} server_addr;
static socklen_t server_len;

/* What a call gave: its value, or the name of its error. */
static inline long say(const char *label, long ret)
{
	if (ret < 0)
		printf("%s: %s\n", label, strerrorname_np(errno));
	else
		printf("%s: %ld\n", label, ret);
	return ret;
}

static inline void say_text(const char *label, const char *text)
{
	printf("%s: %s\n", label, text);
}

/* For what must work before there is anything to tell. */
#define must(cond)							\
do {									\
	if (!(cond)) {							\
		printf("BROKEN %s:%d: %s: %s\n", __FILE__, __LINE__,	\
		       #cond, strerror(errno));				\
		exit(1);						\
	}								\
} while (0)

static inline void enter_ns(const char *name)
{
	char path[256];
	int fd;

	if (!name)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	must(!setns(fd, CLONE_NEWNET));
	close(fd);
}

static inline void oracle_init(int argc, char **argv)
{
	must(argc == 2 || argc == 4);
	if (argc == 4) {
		server_ns = argv[2];
		client_ns = argv[3];
	}
	memset(&server_addr, 0, sizeof(server_addr));
	if (inet_pton(AF_INET, argv[1], &server_addr.in.sin_addr) == 1) {
		server_addr.any.sa_family = AF_INET;
		server_len = sizeof(server_addr.in);
	} else {
		must(inet_pton(AF_INET6, argv[1], &server_addr.in6.sin6_addr) == 1);
		server_addr.any.sa_family = AF_INET6;
		server_len = sizeof(server_addr.in6);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(PATIENCE);
}

/* The port lies at the same place in both. */
static inline void set_port(int port)
{
	server_addr.in.sin_port = htons(port);
}

/*
 * An address beside the server's that no host has; from there, back to the server.  Not
 * where another program has just asked, whose answer would come to this one, nor where
 * this one has asked before: three seconds after that it is known that no host is there.
 */
static inline void to_nobody(void)
{
	static int distance;
	static bool there;

	if (!distance)
		distance = 128 | (getpid() & 63);
	if (server_addr.any.sa_family == AF_INET)
		server_addr.in.sin_addr.s_addr ^= htonl(distance);
	else
		server_addr.in6.sin6_addr.s6_addr[15] ^= distance;
	set_port(9);
	if (there)
		distance ^= 32;
	there = !there;
}

static inline int server_socket(int flags)
{
	int fd;

	enter_ns(server_ns);
	fd = socket(server_addr.any.sa_family, SOCK_STREAM | flags, 0);
	must(fd >= 0);
	return fd;
}

static inline int client_socket(int flags)
{
	int fd;

	enter_ns(client_ns);
	fd = socket(server_addr.any.sa_family, SOCK_STREAM | flags, 0);
	must(fd >= 0);
	return fd;
}

/* A listener on a port of the kernel's choice, which server_addr then holds. */
static inline int listener(int backlog)
{
	int fd = server_socket(0);
	socklen_t len = server_len;

	set_port(0);
	must(!bind(fd, &server_addr.any, server_len));
	must(!listen(fd, backlog));
	must(!getsockname(fd, &server_addr.any, &len));
	must(len == server_len);
	return fd;
}

/* A connection: [0] the client's end, [1] the server's. */
static inline void connected(int pair[2])
{
	int l = listener(5);

	pair[0] = client_socket(0);
	must(!connect(pair[0], &server_addr.any, server_len));
	pair[1] = accept(l, NULL, NULL);
	must(pair[1] >= 0);
	must(!close(l));
}

static inline void close_pair(int pair[2])
{
	must(!close(pair[0]));
	must(!close(pair[1]));
}

/* Until @fd shows one of @events; what it shows then. */
static inline int wait_for(int fd, int events)
{
	struct pollfd p = { .fd = fd, .events = events };

	must(poll(&p, 1, PATIENCE * 1000) == 1);
	return p.revents;
}

/* What @fd shows now, of those that a program may ask for. */
static inline int shows(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP | POLLPRI };

	must(poll(&p, 1, 0) >= 0);
	return p.revents;
}

/*
 * TCP shows the steps of a reset one by one, and any of them ends a poll:
 * returns what @fd shows after the last.
 */
static inline int shows_reset(int fd)
{
	while (!(wait_for(fd, POLLRDHUP) & POLLRDHUP))
		;
	return shows(fd);
}

/* Writes poll's events out by name. */
static inline void say_events(const char *label, int events)
{
	printf("%s:%s%s%s%s%s%s\n", label, events & POLLIN ? " IN" : "",
	       events & POLLOUT ? " OUT" : "", events & POLLPRI ? " PRI" : "",
	       events & POLLRDHUP ? " RDHUP" : "", events & POLLERR ? " ERR" : "",
	       events & POLLHUP ? " HUP" : "");
}

/* Until @n bytes lie ready on @fd. */
static inline void wait_bytes(int fd, int n)
{
	int there = 0, i;

	for (i = 0; i < PATIENCE * 200; i++) {
		must(!ioctl(fd, FIONREAD, &there));
		if (there >= n)
			return;
		usleep(5000);
	}
	must(there >= n);
}

#endif /* SELFTESTS_ORACLE_H */

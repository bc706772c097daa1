// SPDX-License-Identifier: GPL-2.0
/*
 * Which descriptors of a program that the preload library is put before are TCP sockets
 * and which are endpoints: those of connections over TCP are sockets, unless something
 * hangs on them.  Run in node 1; in node 2 are servers without SDP and with it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node.h"
#include "sdpdev.h"
#include "tap.h"

#define LOOPBACK	"127.0.0.1"
#define SELF		"10.77.0.1"
#define PEER		"10.77.0.2"
#define PORT		24101

static char buf[64];

/* Where the connections go, and the listener there. */
struct target {
	const char *name;
	struct sockaddr_in addr;
	int listener;
};

static void target(struct target *t, const char *name, int node, const char *ip, int port,
		   int family)
{
	int one = 1;

	t->name = name;
	t->addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	must(inet_pton(AF_INET, ip, &t->addr.sin_addr) == 1);
	enter_node(node);
	t->listener = socket(family, SOCK_STREAM, 0);
	setsockopt(t->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(!bind(t->listener, (struct sockaddr *)&t->addr, sizeof(t->addr)) &&
	     !listen(t->listener, 8));
	enter_node(1);
}

/* What the kernel has there, whatever the library says of it. */
static bool is_socket(int fd)
{
	char path[32], to[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	return !strncmp(to, "socket:[", 8);
}

static bool is_endpoint(int fd)
{
	struct sdp_info info;

	return !is_socket(fd) && !sdp_info(fd, &info);
}

static bool carried_by(int fd, unsigned int carrier)
{
	struct sdp_info info;

	return !is_socket(fd) && !sdp_info(fd, &info) && info.carrier == carrier;
}

static unsigned int reason_of(int fd)
{
	struct sdp_info info;

	return sdp_info(fd, &info) ? SDP_REASON_NONE : info.reason;
}

static int connect_to(int fd, const struct target *t)
{
	return connect(fd, (struct sockaddr *)&t->addr, sizeof(t->addr));
}

static int accepted(const struct target *t)
{
	int fd = accept(t->listener, NULL, NULL);

	must(fd >= 0);
	return fd;
}

/* Bytes go both ways. */
static bool works(int c, int a)
{
	return send(c, "there", 5, 0) == 5 && recv(a, buf, 5, MSG_WAITALL) == 5 &&
	       write(a, "back", 4) == 4 && read(c, buf, sizeof(buf)) == 4;
}

static int new_socket(int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	must(is_endpoint(fd));
	return fd;
}

static bool ready(int fd, short what)
{
	struct pollfd p = { .fd = fd, .events = what };

	return poll(&p, 1, 10000) == 1 && (p.revents & what) == what;
}

static int so_error(int fd)
{
	int error = -1;
	socklen_t len = sizeof(error);

	must(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len));
	return error;
}

static void test_blocking(const struct target *t)
{
	int c = new_socket(SOCK_CLOEXEC), a;

	ok(!connect_to(c, t) && is_socket(c), "%s: connect: a socket", t->name);
	ok(fcntl(c, F_GETFD) == FD_CLOEXEC && fcntl(c, F_GETFL) == O_RDWR,
	   "%s: with its FD_CLOEXEC", t->name);
	a = accepted(t);
	ok(is_socket(a), "%s: accept: a socket", t->name);
	ok(works(c, a), "%s: bytes both ways", t->name);
	close(c);
	ok(read(a, buf, 1) == 0, "%s: its end", t->name);
	close(a);
}

static void test_nonblocking(const struct target *t)
{
	int c = new_socket(SOCK_NONBLOCK), a;

	must(connect_to(c, t) < 0 && errno == EINPROGRESS);
	a = accepted(t);
	ok(ready(c, POLLOUT) && so_error(c) == 0 && is_socket(c),
	   "%s: without blocking: a socket", t->name);
	ok(fcntl(c, F_GETFD) == 0 && fcntl(c, F_GETFL) == (O_RDWR | O_NONBLOCK),
	   "%s: with its O_NONBLOCK", t->name);
	must(!fcntl(c, F_SETFL, 0));
	ok(works(c, a), "%s: bytes both ways", t->name);
	close(c);
	close(a);
}

/* Who never asks how it went, but sends. */
static void test_sending(const struct target *t)
{
	int c = new_socket(0), a, i;

	must(sendto(c, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&t->addr,
		    sizeof(t->addr)) == 1);
	a = accepted(t);
	for (i = 0; i < 40; i++)
		must(send(c, "x", 1, 0) == 1 && read(a, buf, sizeof(buf)) > 0);
	ok(is_socket(c), "%s: after MSG_FASTOPEN and small messages: a socket", t->name);
	ok(works(c, a), "%s: bytes both ways", t->name);
	close(c);
	close(a);
}

static void test_dup(const struct target *t)
{
	int c = new_socket(0), other = dup(c), a;

	must(!connect_to(c, t));
	a = accepted(t);
	ok(carried_by(c, SDP_CARRIER_TCP) && carried_by(other, SDP_CARRIER_TCP),
	   "%s: with a duplicate: an endpoint", t->name);
	ok(works(c, a) && works(other, a), "%s: bytes both ways, by both", t->name);
	must(!fcntl(other, F_SETFL, O_NONBLOCK));
	ok(fcntl(c, F_GETFL) & O_NONBLOCK, "%s: flags are common", t->name);
	close(c);
	must(!fcntl(other, F_SETFL, 0));
	ok(works(other, a), "%s: bytes by the one that is left", t->name);
	close(other);
	close(a);
}

static void test_epoll(const struct target *t)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET }, got;
	int c = new_socket(SOCK_NONBLOCK), set = epoll_create1(0), a, i;

	must(!epoll_ctl(set, EPOLL_CTL_ADD, c, &ev));
	epoll_wait(set, &got, 1, 0);
	must(connect_to(c, t) < 0 && errno == EINPROGRESS);
	a = accepted(t);
	for (got.events = 0; !(got.events & EPOLLOUT);)
		must(epoll_wait(set, &got, 1, 10000) == 1);
	ok(so_error(c) == 0 && carried_by(c, SDP_CARRIER_TCP),
	   "%s: in an epoll set: an endpoint", t->name);
	for (i = 0; i < 40; i++)
		must(write(c, "x", 1) == 1 && read(a, buf, sizeof(buf)) > 0);
	must(write(a, "x", 1) == 1);
	for (got.events = 0; !(got.events & EPOLLIN);)
		must(epoll_wait(set, &got, 1, 10000) == 1);
	ok(read(c, buf, 2) == 1 && carried_by(c, SDP_CARRIER_TCP),
	   "%s: and its events come", t->name);
	must(!epoll_ctl(set, EPOLL_CTL_DEL, c, &ev));
	ok(so_error(c) == 0 && is_socket(c), "%s: out of it: a socket", t->name);
	close(set);
	close(c);
	close(a);
}

static void test_owner(const struct target *t)
{
	int c = new_socket(0), a;
	sigset_t urgent;

	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	sigprocmask(SIG_BLOCK, &urgent, NULL);
	must(!fcntl(c, F_SETOWN, getpid()) && !connect_to(c, t));
	a = accepted(t);
	ok(carried_by(c, SDP_CARRIER_TCP) && fcntl(c, F_GETOWN) == getpid(),
	   "%s: with an owner: an endpoint", t->name);
	must(send(a, "!", 1, MSG_OOB) == 1);
	ok(sigwaitinfo(&urgent, NULL) == SIGURG, "%s: and the signal comes", t->name);
	close(c);
	close(a);
}

static void test_fork(const struct target *t)
{
	int c = new_socket(0), a, status;
	pid_t child;
	int go[2];

	must(!pipe(go));
	child = fork();
	must(child >= 0);
	if (!child) {
		/* Connected by the other process meanwhile. */
		must(read(go[0], buf, 1) == 1);
		_exit(carried_by(c, SDP_CARRIER_TCP) && write(c, "child", 5) == 5 ? 0 : 1);
	}
	must(!connect_to(c, t));
	a = accepted(t);
	ok(carried_by(c, SDP_CARRIER_TCP), "%s: with a child: an endpoint", t->name);
	must(write(go[1], "x", 1) == 1 && waitpid(child, &status, 0) == child);
	ok(!status && recv(a, buf, 5, MSG_WAITALL) == 5 && works(c, a),
	   "%s: both processes have the connection", t->name);
	close(c);
	close(a);

	/* After it is connected it is a socket in both. */
	c = new_socket(0);
	must(!connect_to(c, t));
	a = accepted(t);
	child = fork();
	must(child >= 0);
	if (!child)
		_exit(is_socket(c) && write(c, "child", 5) == 5 ? 0 : 1);
	must(waitpid(child, &status, 0) == child);
	ok(!status && recv(a, buf, 5, MSG_WAITALL) == 5 && works(c, a),
	   "%s: a later child has the socket", t->name);
	close(c);
	close(a);
}

/* What fails over TCP leaves the endpoint, and SDP is tried the next time. */
static void test_again(const struct target *sdp)
{
	struct sockaddr_in nobody = sdp->addr;
	int c = new_socket(0), a;

	nobody.sin_port = htons(9);
	ok(connect(c, (struct sockaddr *)&nobody, sizeof(nobody)) < 0 &&
	   errno == ECONNREFUSED && is_endpoint(c), "refused: an endpoint");
	ok(!connect_to(c, sdp) && carried_by(c, SDP_CARRIER_SDP),
	   "then over SDP: an endpoint");
	a = accepted(sdp);
	ok(carried_by(a, SDP_CARRIER_SDP) && so_error(c) == 0 && is_endpoint(c) && works(c, a),
	   "and it stays one");
	close(c);
	close(a);
}

static bool set_key(int fd, const char *peer)
{
	struct tcp_md5sig key = { .tcpm_keylen = 4, .tcpm_key = "word" };
	struct sockaddr_in addr = { .sin_family = AF_INET };

	must(inet_pton(AF_INET, peer, &addr.sin_addr) == 1);
	memcpy(&key.tcpm_addr, &addr, sizeof(addr));
	return !setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof(key));
}

/* A socket that is bound to an IPv4 address reaches nothing by IPv6. */
static void test_family(void)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6 };
	int c = socket(AF_INET6, SOCK_STREAM, 0);

	must(c >= 0 && inet_pton(AF_INET6, "::ffff:" SELF, &addr.sin6_addr) == 1 &&
	     !bind(c, (struct sockaddr *)&addr, sizeof(addr)));
	must(inet_pton(AF_INET6, "fd77::2", &addr.sin6_addr) == 1);
	addr.sin6_port = htons(PORT);
	ok(connect(c, (struct sockaddr *)&addr, sizeof(addr)) < 0 &&
	   reason_of(c) == SDP_REASON_FAMILY, "the other family: not over SDP, for that reason");
	close(c);
}

/* SDP signs nothing: who wants its peer's segments signed, at either end, has TCP. */
static void test_signed(const struct target *sdp)
{
	struct target keyed;
	int c, a;

	target(&keyed, "a server with a key", 2, PEER, PORT + 3, AF_INET);
	if (!set_key(keyed.listener, SELF)) {
		ok(errno == ENOPROTOOPT, "a kernel that signs nothing takes no key");
		close(keyed.listener);
		return;
	}
	c = new_socket(0);
	must(set_key(c, PEER));
	ok(!connect_to(c, &keyed) && is_socket(c), "a key at both ends: over TCP");
	a = accepted(&keyed);
	ok(is_socket(a) && works(c, a), "and bytes both ways");
	close(c);
	close(a);

	/* Over TCP these would wait for answers that nobody gives. */
	c = socket(AF_INET_OFFLOAD, SOCK_STREAM, 0);
	must(c >= 0);
	ok(connect_to(c, &keyed) < 0 && errno == ECONNREFUSED,
	   "a key at the listener only: not over SDP");
	close(c);
	c = socket(AF_INET_OFFLOAD, SOCK_STREAM, 0);
	must(c >= 0 && set_key(c, PEER));
	ok(connect_to(c, sdp) < 0 && reason_of(c) == SDP_REASON_SIGNED,
	   "a key at the client only: not over SDP, for that reason");
	close(c);
	close(keyed.listener);
}

int main(void)
{
	struct target loopback, plain, sdp;
	const struct target *t;

	signal(SIGPIPE, SIG_IGN);
	target(&loopback, "loopback", 1, LOOPBACK, PORT, AF_INET);
	target(&plain, "a server without SDP", 2, PEER, PORT + 1, AF_INET_DIRECT);
	target(&sdp, "SDP", 2, PEER, PORT + 2, AF_INET);
	for (t = &loopback; t; t = t == &loopback ? &plain : NULL) {
		test_blocking(t);
		test_nonblocking(t);
		test_sending(t);
		test_dup(t);
		test_epoll(t);
		test_owner(t);
		test_fork(t);
	}
	test_again(&sdp);
	test_family();
	test_signed(&sdp);
	printf("1..%u\n", tap_done);
	return tap_exit();
}

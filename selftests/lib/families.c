// SPDX-License-Identifier: GPL-2.0
/*
 * The families of sockets that ask for a carrier, by the socket calls of a program
 * that the preload library is put before.  Run in node 1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include "node.h"
#include "sdpdev.h"
#include "tap.h"

#define PORT	24001

static char buf[8];

/* With the family of the socket in the address, as old programs have it. */
static struct sockaddr_in address(int family, int port)
{
	struct sockaddr_in addr = { .sin_family = family, .sin_port = htons(port) };

	must(inet_pton(AF_INET, "10.77.0.2", &addr.sin_addr) == 1);
	return addr;
}

static int listener(int family, int port)
{
	struct sockaddr_in addr = address(family == AF_INET_OFFLOAD ? family : AF_INET, port);
	int fd, one = 1;

	enter_node(2);
	fd = socket(family, SOCK_STREAM, 0);
	/* An earlier run's connections may have the port still. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, 5));
	enter_node(1);
	return fd;
}

/* A connection's descriptor, or -1. */
static int client(int family, int in_address, int port)
{
	struct sockaddr_in addr = address(in_address, port);
	int fd = socket(family, SOCK_STREAM, 0), error;

	if (fd < 0 || !connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int carrier(int fd)
{
	struct sdp_info info;

	/* What is no endpoint is the kernel's. */
	return sdp_info(fd, &info) ? SDP_CARRIER_TCP : (int)info.carrier;
}

static bool fails(int ret, int error)
{
	return ret == -1 && errno == error;
}

/* A connection between the two families goes over that carrier. */
static void between(int port, int server, int family, int in_address, int want)
{
	int l = listener(server, port), c = client(family, in_address, port), a;
	struct sockaddr_in addr = { 0 };
	socklen_t len = sizeof(addr);

	ok(c >= 0 && carrier(c) == want, "client %d, server %d: carrier %d", family, server, want);
	a = c < 0 ? -1 : accept(l, NULL, NULL);
	ok(a >= 0 && carrier(a) == want && send(c, "abc", 3, 0) == 3 &&
	   recv(a, buf, 3, MSG_WAITALL) == 3, "and works");
	ok(!getpeername(c, (struct sockaddr *)&addr, &len) && addr.sin_family == AF_INET,
	   "with an address of AF_INET");
	close(a);
	close(c);
	close(l);
}

static int port_of(int fd)
{
	struct sockaddr_in addr = { 0 };
	socklen_t len = sizeof(addr);

	must(!getsockname(fd, (struct sockaddr *)&addr, &len));
	return ntohs(addr.sin_port);
}

/* A port that the one has the other cannot have, whoever chose it. */
static void one_space(int first, int second)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int a = socket(first, SOCK_STREAM, 0), b = socket(second, SOCK_STREAM, 0);

	must(a >= 0 && b >= 0);
	must(!bind(a, (struct sockaddr *)&addr, sizeof(addr)));
	addr.sin_port = htons(port_of(a));
	ok(addr.sin_port && fails(bind(b, (struct sockaddr *)&addr, sizeof(addr)), EADDRINUSE),
	   "a port of %d, then of %d: EADDRINUSE", first, second);
	close(a);
	ok(!bind(b, (struct sockaddr *)&addr, sizeof(addr)), "free again when it is closed");
	close(b);
}

/* argument: whether SDP is what AF_INET gets */
int main(int argc, char **argv)
{
	int inet = argc > 1 && !strcmp(argv[1], "tcp") ? SDP_CARRIER_TCP : SDP_CARRIER_SDP;
	int l;

	tap_plan(22);
	between(PORT, AF_INET_OFFLOAD, AF_INET_OFFLOAD, AF_INET, SDP_CARRIER_SDP);
	between(PORT + 1, AF_INET_OFFLOAD, AF_INET_OFFLOAD, AF_INET_OFFLOAD, SDP_CARRIER_SDP);
	between(PORT + 2, AF_INET_DIRECT, AF_INET_DIRECT, AF_INET, SDP_CARRIER_TCP);
	between(PORT + 3, AF_INET, AF_INET, AF_INET, inet);

	l = listener(AF_INET_OFFLOAD, PORT + 4);
	ok(fails(client(AF_INET_DIRECT, AF_INET, PORT + 4), ECONNREFUSED),
	   "TCP to a server that is SDP's: ECONNREFUSED");
	close(l);
	l = listener(AF_INET_DIRECT, PORT + 5);
	ok(fails(client(AF_INET_OFFLOAD, AF_INET, PORT + 5), ECONNREFUSED),
	   "SDP to a server that is TCP's: ECONNREFUSED");
	close(l);
	ok(fails(socket(AF_INET_OFFLOAD, SOCK_DGRAM, 0), EAFNOSUPPORT),
	   "datagrams over SDP: EAFNOSUPPORT");
	ok(fails(socket(AF_INET_OFFLOAD, SOCK_STREAM, IPPROTO_UDP), EAFNOSUPPORT),
	   "another protocol over SDP: EAFNOSUPPORT");
	l = socket(AF_INET_DIRECT, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ok(l >= 0 && fcntl(l, F_GETFL) & O_NONBLOCK && fcntl(l, F_GETFD) == FD_CLOEXEC,
	   "datagrams over the kernel's stack, with their flags");
	close(l);
	l = socket(AF_INET_OFFLOAD, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	ok(l >= 0 && fcntl(l, F_GETFL) & O_NONBLOCK && fcntl(l, F_GETFD) == FD_CLOEXEC,
	   "a socket over SDP, with its flags");
	close(l);
	one_space(AF_INET_OFFLOAD, AF_INET_DIRECT);
	one_space(AF_INET_DIRECT, AF_INET_OFFLOAD);
	return tap_exit();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Which socket may have which port: SO_REUSEADDR, SO_REUSEPORT, IPV6_V6ONLY, SO_BINDTODEVICE,
 * ports of the kernel's choice, and both ends of a connection that are taken.
 */
#include "oracle.h"

#define MANY	24

static long set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* The port lies at the same place in both. */
static int port_of(int fd)
{
	struct sockaddr_in6 addr = { 0 };
	socklen_t len = sizeof(addr);

	must(!getsockname(fd, (struct sockaddr *)&addr, &len));
	return ntohs(addr.sin6_port);
}

/* bind(): to @text, an address of its family, and that port. */
static long bind_at(int fd, const char *text, int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		return bind(fd, (struct sockaddr *)&in, sizeof(in));
	must(inet_pton(AF_INET6, text, &in6.sin6_addr) == 1);
	return bind(fd, (struct sockaddr *)&in6, sizeof(in6));
}

static long connect_to(int fd, const char *text, int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		return connect(fd, (struct sockaddr *)&in, sizeof(in));
	must(inet_pton(AF_INET6, text, &in6.sin6_addr) == 1);
	return connect(fd, (struct sockaddr *)&in6, sizeof(in6));
}

static int of_family(int family, const char *ns)
{
	int fd;

	enter_ns(ns);
	fd = socket(family, SOCK_STREAM, 0);
	must(fd >= 0);
	return fd;
}

static void say_accepted(const char *label, int l)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in6 in6 = { 0 };
	socklen_t len = sizeof(in6);
	int fd;

	wait_for(l, POLLIN);
	fd = accept(l, (struct sockaddr *)&in6, &len);
	must(fd >= 0);
	inet_ntop(in6.sin6_family, in6.sin6_family == AF_INET ?
		  (void *)&((struct sockaddr_in *)&in6)->sin_addr : (void *)&in6.sin6_addr,
		  text, sizeof(text));
	printf("%s: length %u, from %s\n", label, len, text);
	must(!close(fd));
}

/* Two of them, with and without SO_REUSEADDR. */
static void reuse_addr(void)
{
	int a = server_socket(0), b = server_socket(0), c = server_socket(0), port;

	set_port(0);
	must(!set(a, SOL_SOCKET, SO_REUSEADDR, 1) && !set(b, SOL_SOCKET, SO_REUSEADDR, 1));
	say("bind", bind(a, &server_addr.any, server_len));
	port = port_of(a);
	say("it has a port", port > 0);
	set_port(port);
	say("another, SO_REUSEADDR both", bind(b, &server_addr.any, server_len));
	say("one without", bind(c, &server_addr.any, server_len));
	say("listen", listen(a, 5));
	say("listen of the other", listen(b, 5));
	must(!close(b));
	b = server_socket(0);
	must(!set(b, SOL_SOCKET, SO_REUSEADDR, 1));
	say("bind where one listens", bind(b, &server_addr.any, server_len));
	must(!close(a));
	say("bind where one listened", bind(b, &server_addr.any, server_len));
	say("listen", listen(b, 5));
	must(!close(b) && !close(c));
}

/* A port is its connections' as well, even without a listener. */
static void kept(bool reuse)
{
	int l = server_socket(0), other = server_socket(0), same = server_socket(0);
	int c, a, port;

	must(!set(same, SOL_SOCKET, SO_REUSEADDR, 1));
	must(!set(l, SOL_SOCKET, SO_REUSEADDR, reuse));
	set_port(0);
	must(!bind(l, &server_addr.any, server_len) && !listen(l, 5));
	port = port_of(l);
	set_port(port);
	c = client_socket(0);
	must(!connect(c, &server_addr.any, server_len));
	a = accept(l, NULL, NULL);
	must(a >= 0 && !close(l));
	say("bind where a connection is", bind(other, &server_addr.any, server_len));
	say("with SO_REUSEADDR", bind(same, &server_addr.any, server_len));
	if (reuse)
		say("listen", listen(same, 5));
	must(!close(same));
	/* With TCP the end that closes first would keep it. */
	must(!close(c));
	wait_for(a, POLLIN);
	must(!close(a));
	while (bind(other, &server_addr.any, server_len))
		must(errno == EADDRINUSE);
	say("listen once it has ended", listen(other, 5));
	must(!close(other));
}

static int reusing(int port)
{
	int fd = server_socket(0);

	must(!set(fd, SOL_SOCKET, SO_REUSEPORT, 1));
	set_port(port);
	must(!bind(fd, &server_addr.any, server_len));
	must(!listen(fd, MANY));
	must(!fcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

/* Connects that often; how many of them came to each of the two listeners. */
static void spread(int l[2], int came[2])
{
	int c[MANY], i, fd;

	memset(came, 0, 2 * sizeof(*came));
	for (i = 0; i < MANY; i++) {
		c[i] = client_socket(0);
		must(!connect(c[i], &server_addr.any, server_len));
	}
	while (came[0] + came[1] < MANY) {
		struct pollfd p[2] = {
			{ .fd = l[0], .events = POLLIN }, { .fd = l[1], .events = POLLIN },
		};

		must(poll(p, 2, PATIENCE * 1000) > 0);
		for (i = 0; i < 2; i++) {
			fd = l[i] < 0 ? -1 : accept(l[i], NULL, NULL);
			came[i] += fd >= 0;
			if (fd >= 0)
				close(fd);
		}
	}
	for (i = 0; i < MANY; i++)
		must(!close(c[i]));
}

/* Servers that share a port each get some; the last one gets all. */
static void reuse_port(void)
{
	int l[2], came[2], fd;

	l[0] = reusing(0);
	l[1] = reusing(port_of(l[0]));
	fd = server_socket(0);
	say("one without SO_REUSEPORT", bind(fd, &server_addr.any, server_len));
	must(!close(fd));
	spread(l, came);
	say("each has some", came[0] > 0 && came[1] > 0);
	fprintf(stderr, "%d and %d of %d\n", came[0], came[1], MANY);
	must(!close(l[0]));
	l[0] = -1;
	spread(l, came);
	say("the last one has all", came[1]);
	must(!close(l[1]));
	fd = client_socket(0);
	say("and then nobody", connect(fd, &server_addr.any, server_len));
	must(!close(fd));
}

static void v6_only(void)
{
	int six = of_family(AF_INET6, server_ns), four = of_family(AF_INET, server_ns);
	int port, fd, value = -1;
	socklen_t len = sizeof(value);

	say("IPV6_V6ONLY", getsockopt(six, IPPROTO_IPV6, IPV6_V6ONLY, &value, &len));
	say("is", value);
	/* TCP keeps the port for a while for the connections that it had. */
	must(!set(six, SOL_SOCKET, SO_REUSEADDR, 1) && !bind_at(six, "::", 0));
	port = port_of(six);
	say("IPv4 beside both", bind_at(four, "0.0.0.0", port));
	say("too late", set(six, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	must(!listen(six, 5));
	fd = of_family(AF_INET, client_ns);
	say("IPv4 to both", connect_to(fd, "10.77.0.2", port));
	say_accepted("accepted", six);
	must(!close(fd));
	fd = of_family(AF_INET6, client_ns);
	say("mapped to both", connect_to(fd, "::ffff:10.77.0.2", port));
	say_accepted("accepted", six);
	must(!close(fd));
	fd = of_family(AF_INET6, client_ns);
	say("IPv6 to both", connect_to(fd, "fd77::2", port));
	say_accepted("accepted", six);
	must(!close(fd) && !close(six));

	must(!close(four));
	four = of_family(AF_INET, server_ns);
	six = of_family(AF_INET6, server_ns);
	must(!set(four, SOL_SOCKET, SO_REUSEADDR, 1) && !set(six, SOL_SOCKET, SO_REUSEADDR, 1));
	must(!set(six, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	say("IPv6 alone", bind_at(six, "::", port));
	say("mapped of IPv6 alone", bind_at(six, "::ffff:10.77.0.2", port));
	must(!listen(six, 5));
	fd = of_family(AF_INET, client_ns);
	say("IPv4 to IPv6 alone", connect_to(fd, "10.77.0.2", port));
	must(!close(fd));
	say("IPv4 beside it", bind_at(four, "0.0.0.0", port));
	say("listens", listen(four, 5));
	fd = of_family(AF_INET, client_ns);
	say("IPv4 to IPv4", connect_to(fd, "10.77.0.2", port));
	say_accepted("accepted", four);
	must(!close(fd));
	fd = of_family(AF_INET6, client_ns);
	say("mapped to IPv4", connect_to(fd, "::ffff:10.77.0.2", port));
	say_accepted("accepted", four);
	must(!close(fd));
	fd = of_family(AF_INET6, client_ns);
	say("IPv6 to IPv6", connect_to(fd, "fd77::2", port));
	say_accepted("accepted", six);
	must(!close(fd) && !close(four) && !close(six));
}

/* The more is fixed the better it fits. */
static void nearest(void)
{
	int any = of_family(AF_INET, server_ns), one = of_family(AF_INET, server_ns);
	int device = of_family(AF_INET, server_ns), fd, port;

	must(!set(any, SOL_SOCKET, SO_REUSEPORT, 1) && !set(one, SOL_SOCKET, SO_REUSEPORT, 1) &&
	     !set(device, SOL_SOCKET, SO_REUSEPORT, 1));
	must(!bind_at(any, "0.0.0.0", 0) && !listen(any, 5));
	port = port_of(any);
	must(!setsockopt(device, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
	say("of another device", bind_at(device, "0.0.0.0", port));
	must(!listen(device, 5));
	fd = of_family(AF_INET, client_ns);
	must(!connect_to(fd, "10.77.0.2", port));
	say_accepted("to any", any);
	must(!close(fd));
	say("of the address", bind_at(one, "10.77.0.2", port));
	must(!listen(one, 5));
	fd = of_family(AF_INET, client_ns);
	must(!connect_to(fd, "10.77.0.2", port));
	say_accepted("to the address", one);
	must(!close(fd) && !close(any) && !close(one));
	fd = of_family(AF_INET, client_ns);
	say("to the device", connect_to(fd, "10.77.0.2", port));
	must(!close(fd) && !close(device));
}

/* A client that is bound first. */
static void from_port(void)
{
	int l = listener(5), c = of_family(AF_INET, client_ns), other, port, to = port_of(l), l2;
	const char *here = "10.77.0.1", *there = "10.77.0.2";

	must(!set(c, SOL_SOCKET, SO_REUSEADDR, 1));
	say("bind", bind_at(c, here, 0));
	port = port_of(c);
	say("has a port", port > 0);
	say("connect", connect_to(c, there, to));
	say("which it keeps", port_of(c) == port);
	other = of_family(AF_INET, client_ns);
	say("without SO_REUSEADDR", bind_at(other, here, port));
	must(!set(other, SOL_SOCKET, SO_REUSEADDR, 1));
	say("with it", bind_at(other, here, port));
	say("from there to the same peer", connect_to(other, there, to));
	say("to nobody", connect_to(other, there, 1));
	must(!close(c));
	l2 = listener(5);
	say("to another port of it", connect_to(other, there, port_of(l2)));
	must(!close(l2));
	must(!close(other));

	c = of_family(AF_INET, client_ns);
	must(!set(c, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1));
	say("an address without a port", bind_at(c, here, 0));
	say("it has none", port_of(c));
	say("connect", connect_to(c, there, to));
	say("now it has", port_of(c) > 0);
	must(!close(c) && !close(l));

	c = of_family(AF_INET, client_ns);
	say("of nobody here", bind_at(c, "192.0.2.1", 0));
	must(!set(c, IPPROTO_IP, IP_FREEBIND, 1));
	say("IP_FREEBIND", bind_at(c, "192.0.2.1", 0));
	must(!close(c));
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	reuse_addr();
	kept(false);
	kept(true);
	reuse_port();
	v6_only();
	nearest();
	if (server_addr.any.sa_family == AF_INET)
		from_port();
	return 0;
}

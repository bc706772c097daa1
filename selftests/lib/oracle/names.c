// SPDX-License-Identifier: GPL-2.0
/*
 * Making, naming and connecting sockets, their options, and the errors of all
 * these.
 */
#include "oracle.h"

#include <dirent.h>
#include <netdb.h>

static bool same_addr(const void *a, const void *b)
{
	const struct sockaddr_in6 *a6 = a, *b6 = b;
	const struct sockaddr_in *a4 = a, *b4 = b;

	if (a4->sin_family != b4->sin_family || a4->sin_port != b4->sin_port)
		return false;
	if (a4->sin_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return !memcmp(&a6->sin6_addr, &b6->sin6_addr, 16);
}

/* A file that was opened also has O_LARGEFILE, which means nothing to a stream. */
static int flags(int fd)
{
	return fcntl(fd, F_GETFD) | (fcntl(fd, F_GETFL) & ~0100000);
}

static void option(int fd, const char *label, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	if (getsockopt(fd, level, name, &value, &len) < 0)
		say(label, -1);
	else
		printf("%s: %d, %u bytes\n", label, value, len);
}

static void fresh(void)
{
	int one = 1, fd = client_socket(SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct sockaddr_storage addr;
	socklen_t len;
	char c;

	say("flags of a new socket", flags(fd));
	option(fd, "SO_TYPE", SOL_SOCKET, SO_TYPE);
	option(fd, "SO_DOMAIN", SOL_SOCKET, SO_DOMAIN);
	option(fd, "SO_PROTOCOL", SOL_SOCKET, SO_PROTOCOL);
	option(fd, "SO_ACCEPTCONN", SOL_SOCKET, SO_ACCEPTCONN);
	option(fd, "SO_ERROR", SOL_SOCKET, SO_ERROR);
	option(fd, "SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE);
	say("set SO_KEEPALIVE", setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)));
	option(fd, "SO_KEEPALIVE set", SOL_SOCKET, SO_KEEPALIVE);
	say("set TCP_NODELAY", setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	option(fd, "TCP_NODELAY set", IPPROTO_TCP, TCP_NODELAY);
	option(fd, "no such option", SOL_SOCKET, 9999);
	say("set no such option", setsockopt(fd, SOL_SOCKET, 9999, &one, sizeof(one)));
	say("set too short", setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, 1));
	len = 1;
	say("SO_TYPE into one byte", getsockopt(fd, SOL_SOCKET, SO_TYPE, &c, &len));
	say("its length", len);
	len = -1;
	say("SO_TYPE with a negative length", getsockopt(fd, SOL_SOCKET, SO_TYPE, &c, &len));

	memset(&addr, 0, sizeof(addr));
	len = sizeof(addr);
	say("name of a new socket", getsockname(fd, (struct sockaddr *)&addr, &len));
	printf("its family %d, port %d, length %u\n", addr.ss_family,
	       ((struct sockaddr_in *)&addr)->sin_port, len);
	len = 4;
	memset(&addr, 0xff, sizeof(addr));
	say("its name cut short", getsockname(fd, (struct sockaddr *)&addr, &len));
	printf("its length %u, next byte %d\n", len, ((unsigned char *)&addr)[4]);
	len = -1;
	say("its name with a negative length",
	    getsockname(fd, (struct sockaddr *)&addr, &len));
	say("peer of a new socket", getpeername(fd, (struct sockaddr *)&addr, &len));
	say("send on a new socket", send(fd, "x", 1, MSG_NOSIGNAL));
	say("recv on a new socket", recv(fd, &c, 1, 0));
	say("accept on a new socket", accept(fd, NULL, NULL));
	say("shutdown of a new socket", shutdown(fd, SHUT_WR));
	must(!close(fd));
}

static void binding(void)
{
	struct sockaddr_storage other = { .ss_family = AF_UNIX };
	struct sockaddr_storage foreign;
	int a = server_socket(0), b = server_socket(0);
	socklen_t len = server_len;

	set_port(0);
	say("bind of length 1", bind(a, &server_addr.any, 1));
	say("bind of length 1000", bind(a, &server_addr.any, 1000));
	say("bind of another family", bind(a, (void *)&other, sizeof(other)));
	memcpy(&foreign, &server_addr, server_len);
	((unsigned char *)&foreign)[4] ^= 0x55;		/* first of an IPv4 address */
	((unsigned char *)&foreign)[10] ^= 0x55;	/* among an IPv6 address's */
	say("bind to an address of others", bind(a, (void *)&foreign, server_len));
	say("bind", bind(a, &server_addr.any, server_len));
	say("bind again", bind(a, &server_addr.any, server_len));
	must(!getsockname(a, &server_addr.any, &len));
	say("bind where another is", bind(b, &server_addr.any, server_len));
	say("listen", listen(a, 1));
	option(a, "SO_ACCEPTCONN listening", SOL_SOCKET, SO_ACCEPTCONN);
	say("listen again", listen(a, 5));
	say("connect of a listener", connect(a, &server_addr.any, server_len));
	fcntl(a, F_SETFL, O_NONBLOCK);
	say("accept from nobody", accept(a, NULL, NULL));
	say("accept4 with wrong flags", accept4(a, NULL, NULL, 1));
	say("send on a listener", send(a, "x", 1, MSG_NOSIGNAL));
	say("recv on a listener", recv(a, &len, 1, 0));
	say_events("a listener shows", shows(a));
	must(!close(a));
	say("bind where another was", bind(b, &server_addr.any, server_len));
	must(!close(b));
}

/* Threads of this program; of its own it has none but the first. */
static int tasks(void)
{
	DIR *all = opendir("/proc/self/task");
	struct dirent *one;
	int n = 0;

	must(all);
	while ((one = readdir(all)))
		n += one->d_name[0] != '.';
	closedir(all);
	return n;
}

static void connecting(void)
{
	struct sockaddr_storage theirs, ours, given;
	int l = listener(5), c, s;
	socklen_t len;

	c = client_socket(0);
	say("connect", connect(c, &server_addr.any, server_len));
	say("connect again", connect(c, &server_addr.any, server_len));
	say_events("a listener with a connection shows", wait_for(l, POLLIN));
	memset(&given, 0, sizeof(given));
	memset(&ours, 0, sizeof(ours));
	memset(&theirs, 0, sizeof(theirs));
	len = sizeof(given);
	s = accept4(l, (struct sockaddr *)&given, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	say("accept4", s >= 0);
	printf("length of the peer's address %u\n", len);
	say("flags of an accepted socket", flags(s));

	len = sizeof(ours);
	say("getsockname of the client", getsockname(c, (struct sockaddr *)&ours, &len));
	len = sizeof(theirs);
	say("getpeername of the server", getpeername(s, (struct sockaddr *)&theirs, &len));
	say("accept gave the client's name", same_addr(&given, &ours));
	say("the server's peer is the client", same_addr(&theirs, &ours));
	len = sizeof(ours);
	say("getpeername of the client", getpeername(c, (struct sockaddr *)&ours, &len));
	say("the client's peer is where it went", same_addr(&ours, &server_addr));
	len = sizeof(theirs);
	say("getsockname of the server", getsockname(s, (struct sockaddr *)&theirs, &len));
	say("the server's name is where the client went", same_addr(&theirs, &server_addr));
	len = 3;
	say("getpeername cut short", getpeername(c, (struct sockaddr *)&ours, &len));
	say("its length", len);
	say("getpeername without a length", getpeername(c, (struct sockaddr *)&ours, NULL));
	option(c, "SO_ERROR connected", SOL_SOCKET, SO_ERROR);
	option(s, "SO_DOMAIN accepted", SOL_SOCKET, SO_DOMAIN);
	option(s, "SO_ACCEPTCONN accepted", SOL_SOCKET, SO_ACCEPTCONN);
	option(s, "TCP_NODELAY accepted", IPPROTO_TCP, TCP_NODELAY);
	say("bind connected", bind(c, (struct sockaddr *)&given, server_len));
	say("listen connected", listen(c, 1));
	say("accept connected", accept(c, NULL, NULL));
	say_events("the client shows", shows(c));
	say_events("the server shows", shows(s));
	say("threads", tasks());
	must(!close(c));
	must(!close(s));
	must(!close(l));
}

static void failing(void)
{
	int l = listener(1), c;
	struct sockaddr_storage other = { .ss_family = AF_UNIX };

	/* The port was free a moment ago, and no other program runs here. */
	must(!close(l));
	c = client_socket(0);
	say("connect to another family", connect(c, (void *)&other, sizeof(other)));
	say("connect of length 1", connect(c, &server_addr.any, 1));
	say("connect to a closed port", connect(c, &server_addr.any, server_len));
	option(c, "SO_ERROR refused", SOL_SOCKET, SO_ERROR);
	must(!close(c));

	c = client_socket(SOCK_NONBLOCK);
	say("connect without waiting to a closed port",
	    connect(c, &server_addr.any, server_len) < 0 &&
	    (errno == EINPROGRESS || errno == ECONNREFUSED));
	say_events("refused it shows", shows_reset(c));
	must(!close(c));
}

static void not_waiting(void)
{
	int l = listener(5), c = client_socket(SOCK_NONBLOCK), s, ret;

	ret = connect(c, &server_addr.any, server_len);
	say("connect without waiting", !ret || errno == EINPROGRESS);
	say_events("connected without waiting it shows", wait_for(c, POLLOUT));
	option(c, "SO_ERROR after that", SOL_SOCKET, SO_ERROR);
	say("connect once more", connect(c, &server_addr.any, server_len) &&
	    errno != EISCONN ? -1 : 0);
	wait_for(l, POLLIN);
	s = accept(l, NULL, NULL);
	say("accept", s >= 0);
	say("flags of an accepted socket", flags(s));
	say("threads", tasks());
	must(!close(c));
	must(!close(s));
	must(!close(l));
}

/* What names are, is nothing that a carrier has to do with. */
static void looked_up(void)
{
	struct addrinfo *all, *one;
	char host[64], port[8];
	int err;

	err = getaddrinfo("localhost", "80", NULL, &all);
	say("getaddrinfo", err);
	if (err)
		return;
	for (one = all; one; one = one->ai_next) {
		must(!getnameinfo(one->ai_addr, one->ai_addrlen, host, sizeof(host), port,
				  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV));
		printf("family %d, type %d, protocol %d, flags %d, %u bytes: %s %s\n",
		       one->ai_family, one->ai_socktype, one->ai_protocol, one->ai_flags,
		       one->ai_addrlen, host, port);
	}
	freeaddrinfo(all);
}

/* An attempt that gets no answer, and that is given up by shutdown(). */
static void given_up(void)
{
	int c = client_socket(SOCK_NONBLOCK);

	to_nobody();
	say("connect to nobody", connect(c, &server_addr.any, server_len));
	say("connect again", connect(c, &server_addr.any, server_len));
	say("shutdown", shutdown(c, SHUT_RDWR));
	say_events("it shows", wait_for(c, POLLHUP));
	option(c, "SO_ERROR", SOL_SOCKET, SO_ERROR);
	say("shutdown again", shutdown(c, SHUT_RDWR));
	say("recv", recv(c, NULL, 0, 0));
	must(!close(c));
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	fresh();
	binding();
	connecting();
	failing();
	not_waiting();
	looked_up();
	given_up();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sdp_sock.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "conn.h"
#include "row.h"

/* Rounds after which a connection that has not moved will not. */
#define MOVE_ROUNDS	2000
/* A peer on another host may have said that it is not to be asked for so many milliseconds. */
#define MOVE_LATER	15000
/* Bytes of one call. */
#define CONN_CHUNK	(1 << 20)
/* The family of direct SDP. */
#define DIRECT		27

bool late;
struct place place = { .family = AF_INET, .listen = "127.0.0.1", .connect = "127.0.0.1" };

void place_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "6l:c:S:C:w")) != -1) {
		switch (c) {
		case '6':
			place.family = AF_INET6;
			break;
		case 'w':
			late = true;
			break;
		case 'l':
			place.listen = optarg;
			break;
		case 'c':
			place.connect = optarg;
			break;
		case 'S':
			place.server = optarg;
			break;
		case 'C':
			place.client = optarg;
			break;
		default:
			exit(2);
		}
	}
}

void netns_enter(const char *name)
{
	char path[200];
	int fd;

	if (!name)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	need(fd >= 0 && !setns(fd, CLONE_NEWNET));
	close(fd);
}

void sock_ulp(int fd)
{
	if (!plain)
		need(!setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3));
}

int sock_new(const char *netns)
{
	int fd, one = 1;

	netns_enter(netns);
	fd = socket(place.direct ? DIRECT : place.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	need(fd >= 0);
	sock_ulp(fd);
	/* The rows are about bytes and not about when TCP sends them. */
	need(!setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	return fd;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t address(union address *a, const char *text, int port)
{
	memset(a, 0, sizeof(*a));
	if (place.family == AF_INET) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(port);
		need(inet_pton(AF_INET, text, &a->v4.sin_addr) == 1);
		return sizeof(a->v4);
	}
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons(port);
	need(inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1);
	return sizeof(a->v6);
}

int sock_listen(int backlog, int *port)
{
	union address a;
	socklen_t len = address(&a, place.listen, 0);
	int fd = sock_new(place.server);

	need(!bind(fd, &a.any, len) && !listen(fd, backlog));
	need(!getsockname(fd, &a.any, &len));
	*port = ntohs(place.family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	return fd;
}

int sock_connect(int fd, int port)
{
	union address a;
	socklen_t len = address(&a, place.connect, port);

	return connect(fd, &a.any, len);
}

struct conn conn_new(void)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int port, listener = sock_listen(8, &port);

	c.a.fd = sock_new(place.client);
	need(!sock_connect(c.a.fd, port));
	c.b.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	need(c.b.fd >= 0);
	close(listener);
	return c;
}

int sock_mode(int fd, int mode)
{
	return setsockopt(fd, IPPROTO_SDP, SDP_SOCK_MODE, &mode, sizeof(mode));
}

struct conn conn_modes(int client, int server)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	bool was = plain;
	int port, listener;

	plain = server < 0;
	listener = sock_listen(8, &port);
	need(plain || !sock_mode(listener, server));
	plain = client < 0;
	c.a.fd = sock_new(place.client);
	need(plain || !sock_mode(c.a.fd, client));
	plain = was;
	need(!sock_connect(c.a.fd, port));
	c.b.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	need(c.b.fd >= 0);
	close(listener);
	return c;
}

void conn_close(struct conn *c)
{
	close(c->a.fd);
	close(c->b.fd);
}

bool moved(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	need(!getsockopt(fd, IPPROTO_TCP, TCP_ULP, name, &len));
	return !strncmp(name, "sdp-", strlen("sdp-"));
}

void want(const struct end *e, bool pipe)
{
	/* A way back through TCP takes a while where the ends do not share memory. */
	if (late && pipe)
		return;
	if (!plain && moved(e->fd) != pipe)
		wrong("direction %d is %s", e->way, pipe ? "with TCP" : "in a pipe");
}

void stays(const struct end *e, const char *why)
{
	struct sdp_sock_info info = {};
	socklen_t len = sizeof(info);

	if (plain)
		return;
	want(e, false);
	need(!getsockopt(e->fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len));
	/* Where the ends do not share memory one does not know why the other one stays. */
	if (late ? !*info.stay : strcmp(info.stay, why))
		wrong("direction %d stays with TCP because of %s, not %s", e->way, info.stay, why);
}

bool test_carrier(void)
{
	return !access("/sys/module/sdp_carrier_test", F_OK);
}

void carrier(const char *name, const char *value)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "/sys/module/sdp_carrier_test/parameters/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	need(fd >= 0 && write(fd, value, strlen(value)) > 0);
	close(fd);
}

void no_segs(int fd)
{
	struct tcp_info tcp = {};
	socklen_t len = sizeof(tcp);

	need(!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len));
	if (tcp.tcpi_data_segs_out || tcp.tcpi_data_segs_in)
		wrong("%u packets with bytes sent, %u received", tcp.tcpi_data_segs_out,
		      tcp.tcpi_data_segs_in);
}

void move(struct conn *c)
{
	long long until = now_ms() + (late ? MOVE_LATER : 0);
	int i;

	for (i = 0; i < MOVE_ROUNDS || now_ms() < until; i++) {
		if (i >= MOVE_ROUNDS)
			usleep(10000);
		put(&c->a, 1, 0);
		get_all(&c->b, 1);
		put(&c->b, 1, 0);
		get_all(&c->a, 1);
		if (plain ? i == 16 : moved(c->a.fd) && moved(c->b.fd))
			return;
	}
	wrong("it has not moved: %d, %d", moved(c->a.fd), moved(c->b.fd));
}

struct conn conn_moved(void)
{
	struct conn c = conn_new();

	move(&c);
	c.a.out = 0;
	c.a.in = 0;
	c.b.out = 0;
	c.b.in = 0;
	return c;
}

void tick(void)
{
	struct timespec now, start;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &start);
	do {
		usleep(1000);
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
		now.tv_nsec += (now.tv_sec - start.tv_sec) * 1000000000L;
	} while (now.tv_nsec - start.tv_nsec < 8000000);
}

/* A limit on the rate keeps a sender with TCP.  This one is none. */
void gate(struct end *e, bool open)
{
	uint64_t rate = open ? UINT64_MAX : UINT64_C(1) << 40;

	need(!setsockopt(e->fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)));
	tick();
}

/* A byte of a direction: no two near each other have the same ones around them. */
static unsigned char byte_at(int way, uint64_t pos)
{
	uint64_t x = (pos >> 3) * 0x9e3779b97f4a7c15ull + way;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x >> (8 * (pos & 7));
}

void fill(const struct end *e, void *bytes, size_t n)
{
	unsigned char *to = bytes;
	size_t i;

	for (i = 0; i < n; i++)
		to[i] = byte_at(e->way, e->out + i);
}

void look(const struct end *e, size_t skip, const void *bytes, size_t n)
{
	const unsigned char *from = bytes;
	size_t i;

	for (i = 0; i < n; i++) {
		if (from[i] == byte_at(!e->way, e->in + skip + i))
			continue;
		wrong("direction %d: byte %zu of %zu behind %ju", !e->way, i, n,
		      (uintmax_t)e->in + skip);
		_exit(1);
	}
}

static void *chunk(void)
{
	static __thread void *bytes;

	if (!bytes)
		bytes = malloc(CONN_CHUNK);
	need(bytes);
	return bytes;
}

ssize_t put_some(struct end *e, size_t n, int flags)
{
	void *bytes = chunk();
	ssize_t ret;

	n = n < CONN_CHUNK ? n : CONN_CHUNK;
	fill(e, bytes, n);
	ret = send(e->fd, bytes, n, flags);
	if (ret > 0)
		e->out += ret;
	return ret;
}

void put(struct end *e, size_t n, int flags)
{
	while (n) {
		ssize_t ret = put_some(e, n, flags);

		need(ret > 0);
		n -= ret;
	}
}

ssize_t get(struct end *e, size_t n, int flags)
{
	void *bytes = chunk();
	ssize_t ret;

	n = n < CONN_CHUNK ? n : CONN_CHUNK;
	ret = recv(e->fd, bytes, n, flags);
	if (ret <= 0)
		return ret;
	if (!(flags & MSG_TRUNC))
		look(e, 0, bytes, ret);
	if (!(flags & MSG_PEEK))
		e->in += ret;
	return ret;
}

void get_all(struct end *e, size_t n)
{
	while (n) {
		ssize_t ret = get(e, n, 0);

		need(ret > 0);
		n -= ret;
	}
}

void arrived(const struct end *e, size_t n)
{
	int have = 0;

	while (!ioctl(e->fd, FIONREAD, &have) && have < (int)n)
		usleep(1000);
	if (have != (int)n)
		wrong("%d bytes of %zu have arrived", have, n);
}

struct conn conn_three(void)
{
	struct conn c = conn_moved();

	put(&c.a, THREE_CLAIMED + 1000, 0);
	want(&c.a, true);
	get_all(&c.b, 1000);
	put(&c.a, THREE_TCP - 700, 0);
	gate(&c.a, false);
	put(&c.a, 700, 0);
	want(&c.a, false);
	arrived(&c.b, THREE_CLAIMED + THREE_TCP);
	gate(&c.a, true);
	put(&c.a, THREE_PIPE, 0);
	want(&c.a, true);
	arrived(&c.b, THREE_ALL);
	return c;
}

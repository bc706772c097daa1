// SPDX-License-Identifier: GPL-2.0
/*
 * Connections between the two sides. The calls are those of sockets, for a preload
 * library to take, but for the rings of moved ones.
 */
#include "bench.h"

#include <arpa/inet.h>
#include <linux/sdp_sock.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/un.h>
#include <unistd.h>

#define PORT 7100

static const char ulp[] = "sdp";

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_un un;
};

static socklen_t server_address(const struct side *side, union address *to)
{
	static const char name[] = "bench";

	memset(to, 0, sizeof(*to));
	if (side->family == AF_UNIX) {
		to->un.sun_family = AF_UNIX;
		/* A name without a file. */
		memcpy(to->un.sun_path + 1, name, strlen(name));
		return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
	}
	to->in.sin_family = AF_INET;
	to->in.sin_port = htons(PORT);
	if (inet_pton(AF_INET, side->address, &to->in.sin_addr) != 1)
		die(side->address);
	return sizeof(to->in);
}

static int new_socket(const struct side *side)
{
	int fd = socket(side->family, SOCK_STREAM, 0);

	if (fd < 0)
		die("socket");
	if (side->ulp && setsockopt(fd, IPPROTO_TCP, TCP_ULP, ulp, strlen(ulp)))
		die("TCP_ULP");
	return fd;
}

/* Whether what this end sends goes by the carrier. */
bool conn_moved(const struct side *side, const struct conn *conn)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	if (getsockopt(conn->fd, IPPROTO_TCP, TCP_ULP, name, &len))
		die("TCP_ULP");
	return side->carrier && !strcmp(name, side->carrier);
}

static void get_info(const struct conn *conn, struct sdp_sock_info *info)
{
	socklen_t len = sizeof(*info);

	if (getsockopt(conn->fd, IPPROTO_SDP, SDP_SOCK_INFO, info, &len))
		die("SDP_SOCK_INFO");
}

/* Has this end given up what carried it, because it was idle? */
bool conn_rests(const struct conn *conn)
{
	struct sdp_sock_info info;

	get_info(conn, &info);
	return !strcmp(info.stay, "idle");
}

/*
 * What was measured has to be what was asked for: most bytes by a carrier, or none. A direction
 * may be on its way by TCP when the work ends.
 */
void conn_check(const struct side *side, const struct conn *conn)
{
	struct sdp_sock_info info;
	struct tcp_info tcp;
	socklen_t len = sizeof(tcp);
	uint64_t carried, all;

	if (!side->ulp || side->server)
		return;
	get_info(conn, &info);
	if (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &tcp, &len))
		die("TCP_INFO");
	carried = info.tx_bytes + info.rx_bytes;
	all = tcp.tcpi_bytes_acked + tcp.tcpi_bytes_received;
	if (side->carrier ? carried < all / 2 : carried > 0) {
		fprintf(stderr, "bench: %llu of %llu bytes were carried (%s)\n",
			(unsigned long long)carried, (unsigned long long)all, info.stay);
		exit(1);
	}
}

void side_listen(struct side *side)
{
	int one = 1, fd = new_socket(side);
	union address to;
	socklen_t len = server_address(side, &to);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &to.any, len) || listen(fd, 1024))
		die("listen");
	side->listener = fd;
}

/* Returns when the other side has come as far. */
void side_sync(const struct side *side)
{
	char byte = 0;

	if (write(side->control, &byte, 1) != 1)
		die("control");
	if (read(side->control, &byte, 1) != 1)
		die("the other side is gone");
}

static int accept_one(const struct side *side)
{
	int fd = accept(side->listener, NULL, NULL);

	if (fd < 0)
		die("accept");
	return fd;
}

static int connect_one(const struct side *side)
{
	int fd = new_socket(side);
	union address to;
	socklen_t len = server_address(side, &to);

	if (connect(fd, &to.any, len))
		die("connect");
	return fd;
}

void conn_open(const struct side *side, struct conn *conn, bool nodelay)
{
	int one = 1;

	memset(conn, 0, sizeof(*conn));
	conn->fd = side->server ? accept_one(side) : connect_one(side);
	if (nodelay && side->family != AF_UNIX &&
	    setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY");
	if (!side->fast)
		return;
	conn->fast = sdp_fast_open(conn->fd, 0);
	if (!conn->fast)
		die("sdp_fast_open");
}

static void conn_close(const struct conn *conn)
{
	if (conn->fast)
		sdp_fast_close(conn->fast);
	close(conn->fd);
}

/* The client ends the connection, and knows then that the server has done so, too. */
void conn_finish(const struct side *side, struct conn *conn)
{
	char byte;

	if (!side->server && shutdown(conn->fd, SHUT_WR))
		die("shutdown");
	if (conn_recv(conn, &byte, 1))
		die("a byte where the end should be");
	conn_close(conn);
}

static ssize_t send_some(const struct conn *conn, const void *buf, size_t len)
{
	if (conn->fast)
		return sdp_fast_send(conn->fast, buf, len, 0);
	return send(conn->fd, buf, len, 0);
}

static ssize_t recv_some(const struct conn *conn, void *buf, size_t len)
{
	if (conn->fast)
		return sdp_fast_recv(conn->fast, buf, len, 0);
	return recv(conn->fd, buf, len, 0);
}

void conn_send(const struct conn *conn, const void *buf, size_t len)
{
	const char *at = buf;
	ssize_t n;

	for (; len; at += n, len -= n) {
		n = send_some(conn, at, len);
		if (n <= 0)
			die("send");
	}
}

/* Takes the notices of what is the program's again. */
static void take_notices(const struct conn *conn)
{
	char notice[128];
	struct msghdr msg = { .msg_control = notice };

	do
		msg.msg_controllen = sizeof(notice);
	while (!recvmsg(conn->fd, &msg, MSG_ERRQUEUE));
}

/* The socket lends the memory, which the caller does not write to meanwhile. */
void conn_lend(const struct conn *conn, const void *buf, size_t len)
{
	const char *at = buf;
	int one = 1;
	ssize_t n;

	if (setsockopt(conn->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		die("SO_ZEROCOPY");
	for (; len; at += n, len -= n) {
		n = send(conn->fd, at, len, MSG_ZEROCOPY);
		if (n <= 0)
			die("MSG_ZEROCOPY");
		take_notices(conn);
	}
}

void conn_send_file(const struct conn *conn, int file, size_t len)
{
	off_t at = 0;
	ssize_t n;

	for (; len; len -= n) {
		n = sendfile(conn->fd, file, &at, len);
		if (n <= 0)
			die("sendfile");
	}
}

size_t conn_recv(const struct conn *conn, void *buf, size_t len)
{
	ssize_t n = recv_some(conn, buf, len);

	if (n < 0)
		die("recv");
	return n;
}

void conn_recv_all(const struct conn *conn, void *buf, size_t len)
{
	char *at = buf;
	size_t n;

	for (; len; at += n, len -= n) {
		n = conn_recv(conn, at, len);
		if (!n)
			die("recv: the other side ended");
	}
}

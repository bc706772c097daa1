// SPDX-License-Identifier: GPL-2.0
/*
 * Two connections with the same addresses, ports and sequence numbers, in namespaces that know
 * nothing of each other: the end that connected of one, and the end that accepted of the other,
 * must not take each other for peers.
 *
 * With SYN cookies the server's sequence number is made of the addresses, the client's sequence
 * number, and the minute.  The client can choose its number by TCP_REPAIR.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "../common/conn.h"
#include "rows.h"

/* A minute may end between the two. */
#define TWIN_TRIES	4

/* The next number of one of TCP's two queues; set if the socket is not connected. */
static uint32_t number(int fd, int queue, const uint32_t *new)
{
	socklen_t len = sizeof(uint32_t);
	int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP;
	uint32_t seq = 0;

	need(!setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)));
	need(!setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)));
	if (new)
		need(!setsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, new, sizeof(*new)));
	else
		need(!getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, &len));
	need(!setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)));
	return seq;
}

static void bind_to(int fd, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };

	need(!bind(fd, (struct sockaddr *)&a, sizeof(a)));
}

/* One end of a connection is an endpoint, the other one is plain TCP. */
static int end_of(bool endpoint, int port)
{
	bool was = plain;
	int fd;

	plain = was || !endpoint;
	fd = sock_new(NULL);
	plain = was;
	bind_to(fd, port);
	return fd;
}

/* @first is the client's sequence number, or zero if the kernel chooses it. */
static struct conn twin(bool a, bool b, int port, uint32_t first)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int listener;

	fresh();
	/* The checked kernel has none, and so no twins. */
	if (!access("/proc/sys/net/ipv4/tcp_syncookies", F_OK))
		sysctl("net/ipv4/tcp_syncookies", "2");
	listener = end_of(b, port);
	need(!listen(listener, 1));
	c.a.fd = end_of(a, port + 1);
	if (first)
		number(c.a.fd, TCP_SEND_QUEUE, &first);
	need(!sock_connect(c.a.fd, port));
	c.b.fd = accept(listener, NULL, NULL);
	need(c.b.fd >= 0);
	close(listener);
	return c;
}

static void rounds(struct conn *c)
{
	put(&c->a, 100, 0);
	get_all(&c->b, 100);
	put(&c->b, 100, 0);
	get_all(&c->a, 100);
}

static void strangers(void)
{
	struct conn one, two;
	bool same = false;
	int i;

	for (i = 0; !same && i < TWIN_TRIES; i++) {
		one = twin(true, false, 7000, 0);
		two = twin(false, true, 7000, number(one.b.fd, TCP_RECV_QUEUE, NULL) - 1);
		same = number(one.b.fd, TCP_SEND_QUEUE, NULL) ==
		       number(two.a.fd, TCP_RECV_QUEUE, NULL);
		if (access("/proc/sys/net/ipv4/tcp_syncookies", F_OK))
			break;
	}
	say("the same numbers: %d", same);
	for (i = 0; i < 40; i++) {
		rounds(&one);
		rounds(&two);
		want(&one.a, false);
		want(&two.b, false);
	}
	stays(&one.a, "peer");
	stays(&two.b, "peer");
	conn_close(&one);
	conn_close(&two);
	nothing_left();
}

const struct row twin_rows[] = {
	{ "connections with the same addresses and numbers", strangers },
	{ }
};

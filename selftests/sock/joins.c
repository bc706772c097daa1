// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that carry something and then wait.
 *
 *	joins [-r ROUNDS] [-o END] [-s SECONDS] [-u] COUNT
 *
 * makes so many connections to itself, one after the other.  Each carries ROUNDS messages of one
 * byte each way, or only those of one end: -o a is the end that connected, and -o b the other one.
 * For each line that the program reads all of them do that again, if it does not begin with "?".
 * After that it prints how many ends a, and ends b, send otherwise than by TCP, and why the last
 * end a does not.  With -u two threads use the newest end b without a pause.  With -s the last
 * connection sends as fast as it can for so long, from a to b, and the program prints how many
 * bytes of that went by TCP for each time that it moved.
 */
#include <linux/sdp_sock.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/conn.h"
#include "common/row.h"

#define MOST	1000

static struct conn conns[MOST];
static int rounds = 20;
static char only;
static atomic_int used = -1;

static void talk(struct conn *c)
{
	int i;

	for (i = 0; i < rounds; i++) {
		if (only != 'b') {
			put(&c->a, 1, 0);
			get_all(&c->b, 1);
		}
		if (only != 'a') {
			put(&c->b, 1, 0);
			get_all(&c->a, 1);
		}
	}
}

static void tell(int count)
{
	struct sdp_sock_info info = {};
	socklen_t len = sizeof(info);
	int i, a = 0, b = 0;

	for (i = 0; i < count; i++) {
		a += moved(conns[i].a.fd);
		b += moved(conns[i].b.fd);
	}
	need(!getsockopt(conns[count - 1].a.fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len));
	printf("%d %d %s\n", a, b, *info.stay ? info.stay : "-");
	fflush(stdout);
}

static void *reader(void *arg)
{
	struct end *b = arg;

	while (get(b, 1 << 18, 0) > 0)
		;
	return NULL;
}

/* A call that needs the socket and changes nothing. */
static void *user(void *arg)
{
	atomic_int *fd = arg;
	int one = 1;

	for (;;)
		setsockopt(*fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
	return NULL;
}

static void use(void)
{
	pthread_t t;
	int i;

	for (i = 0; i < 2; i++)
		need(!pthread_create(&t, NULL, user, &used));
}

static void counts(int fd, unsigned long long *moves, unsigned long long *by_tcp)
{
	struct sdp_sock_info info = {};
	struct tcp_info tcp = {};
	socklen_t len = sizeof(info);

	need(!getsockopt(fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len));
	len = sizeof(tcp);
	need(!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len));
	*moves = info.moves;
	*by_tcp = tcp.tcpi_bytes_acked - info.tx_bytes;
}

/* A carrier's bytes count as acknowledged when they are sent, so what goes twice counts. */
static void stream(struct conn *c, int seconds)
{
	unsigned long long moves, more, before, by_tcp;
	long long end = now_ms() + 1000 * seconds;
	pthread_t t;

	counts(c->a.fd, &moves, &before);
	need(!pthread_create(&t, NULL, reader, &c->b));
	while (now_ms() < end)
		put(&c->a, 60000, 0);
	shutdown(c->a.fd, SHUT_WR);
	pthread_join(t, NULL);
	counts(c->a.fd, &more, &by_tcp);
	printf("%llu\n", more > moves ? (by_tcp - before) / (more - moves) : 0);
}

int main(int argc, char **argv)
{
	int c, i, count, seconds = 0;
	char line[10];

	while ((c = getopt(argc, argv, "r:o:s:u")) != -1) {
		if (c == 'r')
			rounds = atoi(optarg);
		else if (c == 'o')
			only = *optarg;
		else if (c == 's')
			seconds = atoi(optarg);
		else if (c == 'u')
			use();
		else
			return 2;
	}
	count = argv[optind] ? atoi(argv[optind]) : 0;
	need(count > 0 && count <= MOST);
	for (i = 0; i < count; i++) {
		conns[i] = conn_new();
		used = conns[i].b.fd;
		talk(&conns[i]);
	}
	for (tell(count); fgets(line, sizeof(line), stdin); tell(count))
		for (i = 0; i < count && *line != '?'; i++)
			talk(&conns[i]);
	if (seconds)
		stream(&conns[count - 1], seconds);
	return wrongs() != 0;
}

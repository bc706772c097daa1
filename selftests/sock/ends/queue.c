// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that a listener has not accepted, and listeners that change meanwhile.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "../common/conn.h"
#include "rows.h"

#define CLIENTS		12
#define FLOOD_ROUNDS	12

/* As many connections as fit into the queue, and some more. */
static void clients(int *fds, int port)
{
	int i;

	for (i = 0; i < CLIENTS; i++) {
		fds[i] = sock_new(NULL);
		need(!fcntl(fds[i], F_SETFL, O_NONBLOCK));
		if (sock_connect(fds[i], port))
			need(errno == EINPROGRESS);
	}
}

/* With data in every child, or with none. */
static void unaccepted_once(int backlog, bool data)
{
	struct end e[CLIENTS] = {};
	int i, fds[CLIENTS], port, listener, up = 0, ended = 0;

	fresh();
	listener = sock_listen(backlog, &port);
	clients(fds, port);
	usleep(20000);
	for (i = 0; i < CLIENTS; i++) {
		e[i].fd = fds[i];
		up += data && put_some(&e[i], 20000, MSG_DONTWAIT) > 0;
	}
	usleep(20000);
	close(listener);
	usleep(50000);
	for (i = 0; i < CLIENTS; i++) {
		struct pollfd p = { fds[i], POLLIN | POLLRDHUP, 0 };

		need(poll(&p, 1, 0) >= 0);
		ended += !!(p.revents & POLLHUP);
		if (p.revents & POLLHUP && get(&e[i], 1, MSG_DONTWAIT) >= 0)
			wrong("client %d reads", i);
	}
	/* With a full queue it depends on the time which client may send. */
	say("backlog %d: sent %d, ended %d", backlog, data && backlog == CLIENTS ? up : 0, ended);
	for (i = 0; i < CLIENTS; i++)
		close(fds[i]);
	nothing_left();
}

static void unaccepted(void)
{
	unaccepted_once(CLIENTS, false);
	unaccepted_once(CLIENTS, true);
	unaccepted_once(2, false);
	unaccepted_once(2, true);
}

/* A child that is accepted late has all, and moves. */
static void accepted_late(void)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int i, port, listener;

	fresh();
	listener = sock_listen(4, &port);
	c.a.fd = sock_new(NULL);
	SAY(sock_connect(c.a.fd, port));
	for (i = 0; i < 30; i++)
		put(&c.a, 1000, 0);
	want(&c.a, false);
	c.b.fd = accept(listener, NULL, NULL);
	SAY(get(&c.b, 30000, MSG_WAITALL));
	move(&c);
	/* What the peer has sent before it went is there. */
	conn_close(&c);
	c = (struct conn){ { .way = 0 }, { .way = 1 } };
	c.a.fd = sock_new(NULL);
	SAY(sock_connect(c.a.fd, port));
	put(&c.a, 3000, 0);
	close(c.a.fd);
	c.b.fd = accept(listener, NULL, NULL);
	SAY(get(&c.b, 9999, MSG_WAITALL));
	SAY(get(&c.b, 9999, 0));
	close(c.b.fd);
	close(listener);
	nothing_left();
}

/* The numbers of a connection come from a cookie. */
static void cookies(void)
{
	struct conn c;
	int i;

	fresh();
	/* The checked kernel has none. */
	if (access("/proc/sys/net/ipv4/tcp_syncookies", F_OK))
		return;
	sysctl("net/ipv4/tcp_syncookies", "2");
	for (i = 0; i < 5; i++) {
		c = conn_moved();
		put(&c.a, 5000, 0);
		SAY(get(&c.b, 5000, MSG_WAITALL));
		conn_close(&c);
	}
	nothing_left();
}

struct flood {
	int port;
	bool stop;
	unsigned int up;
	unsigned int good;
};

/* Each connection sends eight bytes, and reads them. */
static void *flooder(void *arg)
{
	struct flood *f = arg;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		struct end e = { .fd = sock_new(NULL) };
		char back[8];

		if (!sock_connect(e.fd, f->port)) {
			__atomic_fetch_add(&f->up, 1, __ATOMIC_RELAXED);
			if (send(e.fd, "12345678", 8, 0) == 8 &&
			    recv(e.fd, back, 8, MSG_WAITALL) == 8)
				__atomic_fetch_add(&f->good, 1, __ATOMIC_RELAXED);
		}
		close(e.fd);
	}
	return NULL;
}

static void echo(int listener)
{
	char bytes[8];
	int fd = accept(listener, NULL, NULL);

	need(fd >= 0);
	if (recv(fd, bytes, 8, MSG_WAITALL) == 8)
		need(send(fd, bytes, 8, 0) == 8);
	close(fd);
}

/* A listener gets the ULP while connections come; old children and new ones work. */
static void flooded(void)
{
	struct flood f = {};
	bool was = plain;
	pthread_t t[2];
	int i, j, listener;

	fresh();
	for (i = 0; i < FLOOD_ROUNDS; i++) {
		plain = true;
		listener = sock_listen(64, &f.port);
		plain = was;
		f.stop = false;
		for (j = 0; j < 2; j++)
			need(!pthread_create(&t[j], NULL, flooder, &f));
		for (j = 0; j < 40; j++) {
			if (j == 10 + i)
				sock_ulp(listener);
			echo(listener);
		}
		__atomic_store_n(&f.stop, true, __ATOMIC_RELAXED);
		close(listener);
		for (j = 0; j < 2; j++)
			pthread_join(t[j], NULL);
	}
	say("enough: %d", f.good >= 40 * FLOOD_ROUNDS - 4);
	nothing_left();
}

/* Children of a listener that goes are another one's, with the ULP and without. */
static void migrate(bool first, bool second)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	int i, fds[2], one = 1;
	bool was = plain;

	fresh();
	sysctl("net/ipv4/tcp_migrate_req", "1");
	for (i = 0; i < 2; i++) {
		plain = was || !(i ? second : first);
		fds[i] = sock_new(NULL);
		plain = was;
		need(!setsockopt(fds[i], SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)));
		need(!bind(fds[i], (struct sockaddr *)&a, len));
		need(!getsockname(fds[i], (struct sockaddr *)&a, &len));
		if (!i)
			need(!listen(fds[i], 4));
	}
	c.a.fd = sock_new(NULL);
	SAY(sock_connect(c.a.fd, ntohs(a.sin_port)));
	put(&c.a, 100, 0);
	need(!listen(fds[1], 4));
	close(fds[0]);
	c.b.fd = accept(fds[1], NULL, NULL);
	SAY(get(&c.b, 100, MSG_WAITALL));
	for (i = 0; i < 30; i++) {
		put(&c.a, 100, 0);
		get_all(&c.b, 100);
		put(&c.b, 100, 0);
		get_all(&c.a, 100);
	}
	SAY(close(c.a.fd));
	SAY(get(&c.b, 100, 0));
	close(c.b.fd);
	close(fds[1]);
	nothing_left();
}

static void migrated(void)
{
	migrate(true, false);
	migrate(false, true);
	migrate(true, true);
}

const struct row queue_rows[] = {
	{ "a listener closes with connections in its queue", unaccepted },
	{ "connections that are accepted late", accepted_late },
	{ "connections by SYN cookies", cookies },
	{ "a listener gets the ULP while connections come", flooded },
	{ "connections go to another listener", migrated },
	{ }
};

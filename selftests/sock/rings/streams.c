// SPDX-License-Identifier: GPL-2.0
/*
 * Streams by rings, by system calls, and by both at random, while the directions move and come
 * back.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../lib/random.h"
#include "rows.h"

#define STREAM	(4 << 20)

/**
 * struct flow - one direction, with a thread that sends and one that receives
 * @tx: the sender
 * @tx_fast: its rings, or NULL
 * @rx: the reader
 * @rx_fast: its rings, or NULL
 * @mixed: each call goes by either way
 * @bytes: how many go
 * @seed: of the sizes
 */
struct flow {
	struct end *tx;
	struct sdp_fast *tx_fast;
	struct end *rx;
	struct sdp_fast *rx_fast;
	bool mixed;
	size_t bytes;
	unsigned int seed;
};

static size_t size_of(unsigned int *seed)
{
	switch (random32(seed) % 8) {
	case 0:
		return 1 + random32(seed) % 150000;
	case 1:
		return 1 + random32(seed) % 20000;
	default:
		return 1 + random32(seed) % 300;
	}
}

static struct sdp_fast *way_of(const struct flow *f, struct sdp_fast *fast, unsigned int *seed)
{
	return f->mixed && random32(seed) % 4 == 0 ? NULL : fast;
}

static void *sends(void *arg)
{
	struct flow *f = arg;
	unsigned int seed = f->seed + 1;
	size_t left = f->bytes;

	while (left) {
		size_t n = size_of(&seed);
		int flags = random32(&seed) % 4 ? 0 : MSG_DONTWAIT;
		ssize_t ret = fast_put_some(f->tx, way_of(f, f->tx_fast, &seed),
					    n < left ? n : left, flags);

		if (ret < 0) {
			struct pollfd p = { .fd = f->tx->fd, .events = POLLOUT };

			need(errno == EAGAIN);
			need(poll(&p, 1, 20000) == 1);
			continue;
		}
		left -= ret;
	}
	return NULL;
}

static void *receives(void *arg)
{
	struct flow *f = arg;
	unsigned int seed = f->seed + 2;
	size_t left = f->bytes;

	while (left) {
		struct sdp_fast *fast = way_of(f, f->rx_fast, &seed);
		size_t n = size_of(&seed);
		int flags = random32(&seed) % 4 ? 0 : MSG_DONTWAIT;
		ssize_t ret;

		if (f->mixed && random32(&seed) % 16 == 0)
			get(f->rx, n, MSG_PEEK | MSG_DONTWAIT);
		n = n < left ? n : left;
		ret = fast_get(f->rx, fast, n, flags);
		if (ret < 0) {
			struct pollfd p = { .fd = f->rx->fd, .events = POLLIN };

			need(errno == EAGAIN);
			need(poll(&p, 1, 20000) == 1);
			continue;
		}
		need(ret > 0);
		left -= ret;
	}
	return NULL;
}

static void flows_run(struct flow *f, int n)
{
	pthread_t threads[4];
	int i;

	for (i = 0; i < n; i++) {
		need(!pthread_create(&threads[2 * i], NULL, sends, &f[i]));
		need(!pthread_create(&threads[2 * i + 1], NULL, receives, &f[i]));
	}
	for (i = 0; i < 2 * n; i++)
		need(!pthread_join(threads[i], NULL));
}

static void stream(struct ringed *r, bool mixed)
{
	size_t bytes = slow_kernel() ? STREAM / 4 : STREAM;
	struct flow f[2] = {
		{ &r->c.a, r->a, &r->c.b, r->b, mixed, bytes, 17 },
		{ &r->c.b, r->b, &r->c.a, r->a, mixed, bytes, 34 },
	};

	flows_run(f, 2);
	SAY(get(&r->c.a, 1, MSG_DONTWAIT));
	SAY(get(&r->c.b, 1, MSG_DONTWAIT));
}

static void by_rings(void)
{
	struct ringed r = ringed_new();

	stream(&r, false);
	ringed_open(&r);
	want(&r.c.a, true);
	want(&r.c.b, true);
	ringed_close(&r);
}

static void by_one_end(void)
{
	struct ringed r = { .c = conn_moved() };

	r.a = sdp_fast_open(r.c.a.fd, 0);
	need(r.a);
	ringed_open(&r);
	stream(&r, false);
	ringed_close(&r);
}

static void by_both_ways(void)
{
	struct ringed r = ringed_new();

	stream(&r, true);
	ringed_close(&r);
}

static bool stop;

/* What brings directions back: a limit on the rate, and a capture. */
static void *returns(void *arg)
{
	struct ringed *r = arg;
	unsigned int seed = 5;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct end *e = random32(&seed) % 2 ? &r->c.a : &r->c.b;
		int fd;

		gate(e, false);
		usleep(random32(&seed) % 20000);
		gate(e, true);
		usleep(random32(&seed) % 50000);
		if (random32(&seed) % 4)
			continue;
		fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
		need(fd >= 0);
		usleep(random32(&seed) % 20000);
		close(fd);
	}
	gate(&r->c.a, true);
	gate(&r->c.b, true);
	return NULL;
}

static void returned(bool mixed)
{
	struct ringed r = ringed_new();
	pthread_t thread;
	int i;

	need(!pthread_create(&thread, NULL, returns, &r));
	for (i = 0; i < 2; i++)
		stream(&r, mixed);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	need(!pthread_join(thread, NULL));
	ringed_open(&r);
	ringed_close(&r);
}

static void returned_rings(void)
{
	returned(false);
}

static void returned_mixed(void)
{
	returned(true);
}

#define SENDERS		3
#define MESSAGES	3000
#define MESSAGE		32

static void *sends_alike(void *arg)
{
	struct ringed *r = arg;
	char message[MESSAGE];
	int i;

	for (i = 0; i < MESSAGES; i++) {
		size_t done = 0;

		for (done = 0; done < sizeof(message); done++)
			message[done] = i % 251;
		done = 0;
		while (done < sizeof(message)) {
			size_t len = sizeof(message) - done;
			ssize_t n = i % 5 ? sdp_fast_send(r->a, message, len, 0) :
					    send(r->c.a.fd, message, len, 0);

			need(n > 0);
			done += n;
		}
	}
	return NULL;
}

/* All threads count what they get: each byte goes to one of them. */
struct tally {
	struct ringed *r;
	unsigned long *bytes;
	unsigned long *sum;
};

static void *takes(void *arg)
{
	struct tally *t = arg;
	unsigned char buf[100];
	int i, turn = 0;

	for (;;) {
		ssize_t n = turn++ % 5 ? sdp_fast_recv(t->r->b, buf, sizeof(buf), 0) :
					 recv(t->r->c.b.fd, buf, sizeof(buf), 0);

		need(n >= 0);
		if (!n)
			return NULL;
		for (i = 0; i < n; i++)
			__atomic_fetch_add(t->sum, buf[i], __ATOMIC_RELAXED);
		__atomic_fetch_add(t->bytes, n, __ATOMIC_RELAXED);
	}
}

static void many_threads(void)
{
	unsigned long bytes = 0, sum = 0, expected = 0;
	struct ringed r = ringed_new();
	struct tally t = { &r, &bytes, &sum };
	pthread_t tx[SENDERS], rx[SENDERS];
	int i;

	for (i = 0; i < SENDERS; i++) {
		need(!pthread_create(&rx[i], NULL, takes, &t));
		need(!pthread_create(&tx[i], NULL, sends_alike, &r));
	}
	for (i = 0; i < SENDERS; i++)
		need(!pthread_join(tx[i], NULL));
	SAY(shutdown(r.c.a.fd, SHUT_WR));
	for (i = 0; i < SENDERS; i++)
		need(!pthread_join(rx[i], NULL));
	for (i = 0; i < MESSAGES; i++)
		expected += (unsigned long)(i % 251) * MESSAGE * SENDERS;
	if (bytes != (unsigned long)SENDERS * MESSAGES * MESSAGE || sum != expected)
		wrong("%lu bytes, sum %lu, not %lu", bytes, sum, expected);
	ringed_close(&r);
}

const struct row stream_rows[] = {
	{ "both ends by rings", by_rings },
	{ "one end by rings, the other by system calls", by_one_end },
	{ "both ways at random", by_both_ways },
	{ "rings while the directions return and move", returned_rings },
	{ "both ways while the directions return and move", returned_mixed },
	{ "several threads at each end, by both ways", many_threads },
	{ NULL, NULL },
};

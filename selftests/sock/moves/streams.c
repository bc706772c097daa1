// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes in both directions, of all sizes, while the directions move and come back.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../lib/random.h"
#include "../common/conn.h"
#include "rows.h"

static size_t stream_bytes(void)
{
	return slow_kernel() ? 1 << 20 : 6 << 20;
}

static void both_move(void)
{
	struct conn c = conn_new();

	move(&c);
	gate(&c.a, false);
	put(&c.a, 100, 0);
	want(&c.a, false);
	want(&c.b, true);
	gate(&c.b, false);
	put(&c.b, 100, 0);
	want(&c.b, false);
	get_all(&c.a, 100);
	get_all(&c.b, 100);
	gate(&c.a, true);
	gate(&c.b, true);
	move(&c);
	put(&c.a, 5000, 0);
	get_all(&c.b, 5000);
	say("all of it");
}

/* Each size there and back: whole messages of it, and pieces of those. */
static void sizes(void)
{
	struct conn c = conn_moved();
	size_t n, step = slow_kernel() ? 37 : 1;

	for (n = 1; n <= 70000; n += n < 600 ? step : n / 5) {
		put(&c.a, n, 0);
		get_all(&c.b, n);
		put(&c.b, n, 0);
		get_all(&c.a, n / 2);
		get_all(&c.a, n - n / 2);
	}
	want(&c.a, true);
	say("%llu bytes", (unsigned long long)c.a.out);
}

static int single_bytes(void)
{
	return slow_kernel() ? 600 : 3000;
}

static void *one_byte_each(void *arg)
{
	struct end *e = arg;
	int i;

	for (i = 0; i < single_bytes(); i++)
		put(e, 1, 0);
	return NULL;
}

/* The reader's sizes are odd ones. */
static void one_byte(void)
{
	struct conn c = conn_moved();
	pthread_t t;
	int n = 0;

	need(!pthread_create(&t, NULL, one_byte_each, &c.a));
	while (n < single_bytes())
		n += get(&c.b, 1 + n % 13, 0);
	pthread_join(t, NULL);
	say("%d", n);
}

/* One in two is small. */
static size_t size(unsigned int *seed, unsigned int most)
{
	unsigned int below = random32(seed) & 1 ? 300 : most;

	return 1 + random32(seed) % below;
}

static void *sender(void *arg)
{
	struct end *e = arg;
	unsigned int seed = 7 + e->way;
	size_t n, left = stream_bytes();

	while (left) {
		n = size(&seed, 200000);
		n = n < left ? n : left;
		put(e, n, 0);
		left -= n;
	}
	shutdown(e->fd, SHUT_WR);
	return NULL;
}

static void *receiver(void *arg)
{
	static const int flags[] = { 0, 0, MSG_PEEK, MSG_WAITALL, MSG_DONTWAIT };
	struct end *e = arg;
	unsigned int seed = 70 + e->way;
	ssize_t n = 1;

	while (n) {
		n = get(e, size(&seed, 300000), flags[random32(&seed) % 5]);
		if (n < 0)
			need(errno == EAGAIN);
	}
	return NULL;
}

/* Each half of a connection is used by one thread, so that it needs no lock. */
static void stream(void)
{
	struct conn c = conn_moved();
	struct end in_a = c.a, in_b = c.b;
	int i, there = 0, back = 0;
	pthread_t t[4];

	need(!pthread_create(&t[0], NULL, sender, &c.a));
	need(!pthread_create(&t[1], NULL, sender, &c.b));
	need(!pthread_create(&t[2], NULL, receiver, &in_a));
	need(!pthread_create(&t[3], NULL, receiver, &in_b));
	for (i = 0; pthread_tryjoin_np(t[2], NULL); i++) {
		if (!plain) {
			there += moved(c.a.fd);
			back += !moved(c.a.fd);
		}
		gate(i & 1 ? &c.a : &c.b, i & 2);
	}
	pthread_join(t[3], NULL);
	/* A machine that has no time for the look has seen nothing. */
	if (!plain && i > 100 && (!there || !back))
		wrong("looked at, it was %d times in a pipe, %d times with TCP", there, back);
	say("%llu, %llu", (unsigned long long)in_a.in, (unsigned long long)in_b.in);
}

const struct row stream_rows[] = {
	{ "both directions move, come back, and move again", both_move },
	{ "messages of all sizes", sizes },
	{ "messages of one byte", one_byte },
	{ "streams both ways, with moves in the middle", stream },
	{ }
};

// SPDX-License-Identifier: GPL-2.0
/*
 * When a reader naps.  Where time is counted in instructions: how many messages come meanwhile
 * does not depend on the machine.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "rows.h"

/* To write and to check them is most of the work. */
#define MESSAGE		8
#define MESSAGES	20000
/* Before what is looked at, as a reader has to learn first. */
#define WARM		2000
#define ROUNDS		2000

/* A round trip takes 14 microseconds, and 19 where each reader naps for 50 when it may. */
#define ROUND_TRIP_US	17

static struct ringed one, two;

static void *sends(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < WARM + MESSAGES; i++)
		fast_put(&one.c.a, one.a, MESSAGE, 0);
	return NULL;
}

static void reads_until(uint64_t end)
{
	while (one.c.b.in < end)
		need(fast_get(&one.c.b, one.b, MESSAGE * MESSAGES, 0) > 0);
}

static void stream(void)
{
	const uint64_t all = (uint64_t)MESSAGE * MESSAGES, warm = MESSAGE * WARM;
	pthread_t thread;
	uint64_t start;
	long slept;

	one = ringed_new();
	start = one.c.b.in;
	need(!pthread_create(&thread, NULL, sends, NULL));
	reads_until(start + warm);
	slept = -sleeps();
	reads_until(start + warm + all);
	slept += sleeps();
	need(!pthread_join(thread, NULL));
	if (!plain && slept > MESSAGES / 50)
		wrong("%ld sleeps for %d messages", slept, MESSAGES);
	ringed_close(&one);
}

static void *answers(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < WARM + ROUNDS; i++) {
		get_all(&one.c.b, MESSAGE);
		fast_put(&two.c.b, two.b, MESSAGE, 0);
	}
	return NULL;
}

static void asks(int rounds)
{
	int i;

	for (i = 0; i < rounds; i++) {
		fast_put(&one.c.a, one.a, MESSAGE, 0);
		get_all(&two.c.a, MESSAGE);
	}
}

/* Each direction looks like a stream, by itself.  Readers make system calls, and so do sleep. */
static void conversation(void)
{
	pthread_t thread;
	long long took;

	one = ringed_new();
	two = ringed_new();
	need(!pthread_create(&thread, NULL, answers, NULL));
	asks(WARM);
	took = -now_ms();
	asks(ROUNDS);
	took += now_ms();
	need(!pthread_join(thread, NULL));
	if (!plain && took * 1000 > (long long)ROUND_TRIP_US * ROUNDS)
		wrong("%lld ms for %d round trips", took, ROUNDS);
	ringed_close(&one);
	ringed_close(&two);
}

const struct row nap_rows[] = {
	{ "naps: a reader of a stream sleeps once for many messages", stream },
	{ "naps: not in a conversation by two connections", conversation },
	{ NULL, NULL },
};

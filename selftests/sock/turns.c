// SPDX-License-Identifier: GPL-2.0
/*
 * Two threads of one processor answer each other: a reader that finds nothing gives its turn to
 * the peer's thread, and does not sleep.
 *
 *	turns [ROW...]
 *	turns counted [ROW...]
 *
 * The latter has rows for a machine that counts its time in instructions.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/conn.h"
#include "common/row.h"

#define MESSAGE		64
#define ROUNDS		10000
/* Beside a busy program it is the scheduler that takes most of the time. */
#define BUSY_ROUNDS	2000
/* A connection gives few turns where they take long. */
#define CONNECTIONS	20
#define THREADS		10

static struct conn c;
static int rounds;

static void one_processor(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	need(!sched_setaffinity(0, sizeof(cpus), &cpus));
}

static void *answers(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < rounds; i++) {
		get_all(&c.b, MESSAGE);
		put(&c.b, MESSAGE, 0);
	}
	return NULL;
}

static void asks(int n)
{
	while (n--) {
		put(&c.a, MESSAGE, 0);
		get_all(&c.a, MESSAGE);
	}
}

/* So many round trips of the connection; returns milliseconds. */
static long long talk(int n)
{
	long long took = -now_ms();
	pthread_t thread;

	rounds = n;
	need(!pthread_create(&thread, NULL, answers, NULL));
	asks(n);
	need(!pthread_join(thread, NULL));
	return took + now_ms();
}

/* Of all threads. */
static long all_sleeps(void)
{
	struct rusage usage;

	need(!getrusage(RUSAGE_SELF, &usage));
	return usage.ru_nvcsw;
}

static void awake(void)
{
	long slept;

	if (plain)
		return;
	one_processor();
	c = conn_moved();
	slept = -all_sleeps();
	talk(ROUNDS);
	slept += all_sleeps();
	if (slept > ROUNDS / 2)
		wrong("%ld sleeps for %d round trips", slept, ROUNDS);
	conn_close(&c);
}

/* That program may run when a reader gives its turn away, and has not been there from the start. */
static void beside_busy(void)
{
	long long by_tcp, took;
	pid_t busy;

	if (plain)
		return;
	one_processor();
	c = conn_moved();
	talk(BUSY_ROUNDS);
	busy = fork();
	need(busy >= 0);
	if (!busy)
		for (;;)
			;
	took = talk(BUSY_ROUNDS);
	conn_close(&c);
	c = conn_modes(-1, -1);
	by_tcp = talk(BUSY_ROUNDS);
	conn_close(&c);
	need(!kill(busy, SIGKILL) && waitpid(busy, NULL, 0) == busy);
	if (took > by_tcp)
		wrong("%lld ms for %d round trips, %lld by TCP", took, BUSY_ROUNDS, by_tcp);
}

static void *answers_once(void *arg)
{
	(void)arg;
	get_all(&c.b, MESSAGE);
	put(&c.b, MESSAGE, 0);
	return NULL;
}

static void *asks_once(void *arg)
{
	(void)arg;
	asks(1);
	return NULL;
}

/* Each end's reader gives its turn to a thread that is about to exit. */
static void come_and_go(void)
{
	pthread_t one, other;
	int i, n;

	one_processor();
	for (n = 0; n < CONNECTIONS; n++) {
		c = conn_moved();
		for (i = 0; i < THREADS; i++) {
			need(!pthread_create(&other, NULL, answers_once, NULL));
			need(!pthread_create(&one, NULL, asks_once, NULL));
			need(!pthread_join(one, NULL) && !pthread_join(other, NULL));
		}
		conn_close(&c);
	}
}

static const struct row rows[] = {
	{ "threads come and go", come_and_go },
	{ NULL, NULL },
};

static const struct row counted_rows[] = {
	{ "those who answer each other hardly sleep", awake },
	{ "beside a busy program they are no slower than TCP", beside_busy },
	{ NULL, NULL },
};

static const struct row *const lists[] = { rows, NULL };
static const struct row *const counted[] = { counted_rows, rows, NULL };

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "counted"))
		return rows_main(counted, argv + 2);
	return rows_main(lists, argv + 1);
}

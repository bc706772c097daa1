// SPDX-License-Identifier: GPL-2.0
/*
 * Two programs on two processors: while both are busy they make no system call, and neither
 * sleeps.  Not time is looked at but how often that happens.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rows.h"

#define MESSAGE	64

/* TCP has nothing to show. */
static int rounds(void)
{
	return plain ? 20 : slow_kernel() ? 500 : 2000;
}

/* The machine's other work comes between now and then. */
static int few(void)
{
	return rounds() / 20;
}

/**
 * struct side - what one of the threads does
 * @e: its end
 * @fast: its rings
 * @first: it sends first
 * @cpu: its processor
 * @work: what it does
 * @calls: system calls that it has made
 * @sleeps: how often it slept
 */
struct side {
	struct end *e;
	struct sdp_fast *fast;
	bool first;
	int cpu;
	void (*work)(struct side *s);
	long long calls;
	long sleeps;
};

/* A file that counts this thread's system calls, the read(2) of it too. */
static int counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
	};
	char id[24] = "";
	int fd = open("/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id", O_RDONLY);

	need(fd >= 0 && read(fd, id, sizeof(id) - 1) > 0);
	close(fd);
	attr.config = strtoul(id, NULL, 10);
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	need(fd >= 0);
	return fd;
}

static long long calls(int fd)
{
	__u64 n;

	need(read(fd, &n, sizeof(n)) == sizeof(n));
	return n;
}

static void *runs(void *arg)
{
	struct side *s = arg;
	cpu_set_t cpus;
	int fd;

	CPU_ZERO(&cpus);
	CPU_SET(s->cpu, &cpus);
	need(!sched_setaffinity(0, sizeof(cpus), &cpus));
	fd = counter();
	/* The first ones meet while the other thread is not there yet. */
	s->work(s);
	s->sleeps = -sleeps();
	s->calls = -calls(fd);
	s->work(s);
	/* This read(2), and getrusage(2) above, are not theirs. */
	s->calls += calls(fd) - 1;
	s->sleeps += sleeps();
	close(fd);
	return NULL;
}

static void busy(void (*work)(struct side *s))
{
	struct ringed r = ringed_new();
	struct side sides[2] = {
		{ .e = &r.c.a, .fast = r.a, .cpu = 0, .work = work, .first = true },
		{ .e = &r.c.b, .fast = r.b, .cpu = 1, .work = work },
	};
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		need(!pthread_create(&threads[i], NULL, runs, &sides[i]));
	for (i = 0; i < 2; i++)
		need(!pthread_join(threads[i], NULL));
	for (i = 0; i < 2 && !plain; i++)
		if (sides[i].calls > few() || sides[i].sleeps > few())
			wrong("%s: %lld system calls, asleep %ld times in %d rounds",
			      i ? "the server" : "the client", sides[i].calls, sides[i].sleeps,
			      rounds());
	ringed_close(&r);
}

static void asks(struct side *s)
{
	int i, n = rounds();

	for (i = 0; i < n; i++) {
		if (s->first)
			fast_put(s->e, s->fast, MESSAGE, 0);
		fast_get_all(s->e, s->fast, MESSAGE);
		if (!s->first)
			fast_put(s->e, s->fast, MESSAGE, 0);
	}
}

static void round_trips(void)
{
	busy(asks);
}

/* Each is ahead of the other one by as much as is on the way. */
static void streams(struct side *s)
{
	const int ahead = 16;
	int i, n = rounds();

	for (i = 0; i < n + ahead; i++) {
		if (i < n)
			fast_put(s->e, s->fast, MESSAGE, 0);
		if (i >= ahead)
			fast_get_all(s->e, s->fast, MESSAGE);
	}
}

static void both_ways(void)
{
	busy(streams);
}

const struct row busy_rows[] = {
	{ "no system call and no sleep: round trips on two processors", round_trips },
	{ "no system call and no sleep: streams both ways", both_ways },
	{ NULL, NULL },
};

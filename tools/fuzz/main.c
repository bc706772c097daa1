// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz: a fuzzer of sdpdev, or of IPoIB, that is guided by the kernel's coverage.  Runs in
 * the virtual machine: see tools/fuzz/run.
 *
 * It prints on standard output, each in hex:
 *   run INPUT		the input that is run next, with --trace
 *   report INPUT	the input that ran when the kernel reported something
 *   keep INPUT		at the end: the corpus, without what is not needed
 */
#include "fuzz.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define NOBODY		65534
#define STATS_S		10

static unsigned long inputs;
static bool covered, as_root;
bool to_ipoib;
static time_t began;

void die(const char *what)
{
	fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: fuzz [--time SECONDS] [--operations N] [--seed N] [--root] [--trace]\n"
		"            [--times] [--ipoib] [--replay INPUT] [CORPUS]\n");
	exit(2);
}

static time_t seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void stats(void)
{
	unsigned long operations = shared->operations;
	time_t time = seconds() - began;

	fprintf(stderr,
		"fuzz: %ld s, %lu operations (%lu/s), %lu inputs, %lu connections (%lu again), %u places, %u edges, corpus %u, reports %lu\n",
		(long)time, operations, operations / (time ?: 1), inputs, pairs_made,
		pairs_reused, cover_pcs, edges_seen,
		corpus_n, reports);
}

static void run(const struct input *in)
{
	inputs++;
	if (covered)
		corpus_consider(in);
	else
		exec_input(in);
}

/* A user's limits, and a user's rights. */
static void become_nobody(void)
{
	if (as_root || to_ipoib)
		return;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		die("rights of a user");
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (!*text || *end)
		usage();
	return n;
}

static void loop(unsigned long limit_s, unsigned long limit_ops, uint32_t seed)
{
	time_t from = seconds(), shown = from;
	struct input in = {};

	/* Without the time that the corpus took. */
	while ((!limit_s || seconds() - from < (time_t)limit_s) &&
	       (!limit_ops || shared->operations < limit_ops)) {
		corpus_mutate(&in, &seed);
		run(&in);
		if (seconds() - shown >= STATS_S) {
			stats();
			shown = seconds();
		}
	}
}

/* One input, if there is one; else all of the corpus, and new ones. */
static void work(struct input *one, unsigned long limit_s, unsigned long limit_ops, uint32_t seed)
{
	if (one->n) {
		run(one);
	} else {
		corpus_replay();
		stats();
		loop(limit_s, limit_ops, seed);
	}
	stats();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "time", required_argument, NULL, 't' },
		{ "operations", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "replay", required_argument, NULL, 'r' },
		{ "trace", no_argument, NULL, 'x' },
		{ "root", no_argument, NULL, 'R' },
		{ "ipoib", no_argument, NULL, 'i' },
		{ "times", no_argument, NULL, 'T' },
		{}
	};
	unsigned long limit_s = 0, limit_ops = 0;
	uint32_t seed = time(NULL) | 1;
	struct input one = {};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 't')
			limit_s = number(optarg);
		else if (c == 'o')
			limit_ops = number(optarg);
		else if (c == 's')
			seed = number(optarg) ?: 1;
		else if (c == 'x')
			tracing = true;
		else if (c == 'R')
			as_root = true;
		else if (c == 'T')
			timing = true;
		else if (c == 'i')
			to_ipoib = true;
		else if (c != 'r' || !corpus_parse(&one, optarg))
			usage();
	}
	if (argc - optind > 1)
		usage();
	if (optind < argc)
		corpus_load(argv[optind]);
	if (to_ipoib)
		ops_of_ipoib();
	else
		joins_init();
	report_open();
	covered = cover_open(0) && cover_open(1);
	exec_init();
	become_nobody();
	began = seconds();
	fprintf(stderr, "fuzz: seed %u, corpus of %u, %s\n", seed, corpus_n,
		covered ? "guided by coverage" : "without coverage");
	work(&one, limit_s, limit_ops, seed);
	if (timing)
		exec_times();
	if (covered && !one.n)
		corpus_minimise();
	return reports ? 1 : 0;
}

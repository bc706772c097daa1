// SPDX-License-Identifier: GPL-2.0
/*
 * How long nothing arrives when a joined connection returns to TCP.
 *
 *	pause -w -l ADDRESS -S NETNS -c ADDRESS -C NETNS ROUNDS COMMAND
 *
 * In each round the connection is joined, and sends 100 bytes each millisecond; then the command
 * runs.  The longest time between two bytes that arrive is the pause.  Prints the median and the
 * 99th of 100 in milliseconds, or fails: a byte was wrong, or it was not joined again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>

#include "../sock/common/conn.h"
#include "../sock/common/row.h"

#define MOST		1000
#define BEGIN_US	50000	/* it has sent so long when the command begins */
#define STEP_US		1000
/* A path that has failed is left alone for up to ten minutes. */
#define JOIN_MS		700000

static struct conn c;
static double pauses[MOST];

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void join(void)
{
	long long until = now_ms() + JOIN_MS;
	int i;

	for (i = 0; !moved(c.a.fd) || !moved(c.b.fd); i++) {
		need(now_ms() < until);
		put(&c.a, 10, 0);
		get_all(&c.b, 10);
		put(&c.b, 10, 0);
		get_all(&c.a, 10);
		if (i > 100)
			sleep(1);
	}
}

static pid_t run(const char *command)
{
	pid_t pid = fork();

	need(pid >= 0);
	if (pid)
		return pid;
	execl("/bin/bash", "bash", "-c", command, NULL);
	_exit(127);
}

/* Milliseconds */
static double round_of(const char *command)
{
	long long begin = now_us(), next = begin, last = begin, longest = 0, now;
	uint64_t enough = 0;
	pid_t pid = 0;
	int status;

	do {
		now = now_us();
		if (!pid && now > begin + BEGIN_US)
			pid = run(command);
		if (pid > 0 && waitpid(pid, &status, WNOHANG) == pid) {
			need(!status);
			pid = -1;
			enough = c.a.out + 1;
		}
		if (now >= next) {
			put_some(&c.a, 100, MSG_DONTWAIT | MSG_NOSIGNAL);
			next = now + STEP_US;
		}
		if (get(&c.b, 1 << 16, MSG_DONTWAIT) > 0) {
			longest = now - last > longest ? now - last : longest;
			last = now;
		} else {
			usleep(STEP_US / 4);
		}
	} while (!enough || c.b.in < enough);
	get_all(&c.b, c.a.out - c.b.in);
	return longest / 1000.0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int i, rounds;

	place_options(argc, argv);
	need(optind + 2 == argc);
	rounds = atoi(argv[optind]);
	need(rounds > 0 && rounds <= MOST);
	c = conn_new();
	for (i = 0; i < rounds; i++) {
		join();
		pauses[i] = round_of(argv[optind + 1]);
	}
	conn_close(&c);
	qsort(pauses, rounds, sizeof(*pauses), compare);
	printf("median %.1f ms, 99th of 100 %.1f ms\n", pauses[rounds / 2],
	       pauses[(rounds - 1) * 99 / 100]);
	return wrongs() != 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What a round trip makes the kernel do.
 *
 *	counts [-w] -l ADDRESS -S NETNS -c ADDRESS -C NETNS BYTES tcp|direct|moved
 *
 * Two processes send BYTES to and fro, by TCP, by direct SDP, or by what has taken TCP's place.
 * Prints for one round trip, on average: how often a processor went from one task to another one,
 * and how often the kernel allocated memory (objects and pages).
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sock/common/conn.h"
#include "../sock/common/row.h"

#define TRACING		"/sys/kernel/tracing/events/"
/* Until paths, caches and thresholds are warm. */
#define WARM		300
#define ROUNDS		1000
#define MOST_CPUS	8

#define COUNT(list)	(sizeof(list) / sizeof(*(list)))

static const char * const switches[] = { "sched/sched_switch", NULL };
static const char * const allocations[] = {
	"kmem/kmalloc", "kmem/kmalloc_node", "kmem/kmem_cache_alloc",
	"kmem/kmem_cache_alloc_node", "kmem/mm_page_alloc", NULL
};

static struct conn c;

/* A counter of a tracepoint on one processor; -1 if this kernel has no such tracepoint. */
static int counter(const char *event, int cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	unsigned long long id;
	char path[128];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), TRACING "%s/id", event);
	f = fopen(path, "re");
	if (!f)
		return -1;
	need(fscanf(f, "%llu", &id) == 1);
	fclose(f);
	attr.config = id;
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	need(fd >= 0);
	return fd;
}

/* What the counters of @events have seen; they begin with the first call. */
static long long seen(const char * const *events, int (*fds)[MOST_CPUS])
{
	long cpu, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	long long all = 0, n;
	int *fd;

	need(cpus <= MOST_CPUS);
	for (; *events; events++, fds++) {
		for (cpu = 0; cpu < cpus; cpu++) {
			fd = &(*fds)[cpu];
			if (!*fd)
				*fd = counter(*events, cpu);
			if (*fd < 0)
				continue;
			need(read(*fd, &n, sizeof(n)) == sizeof(n));
			all += n;
		}
	}
	return all;
}

/* The other process sends back whatever comes. */
static void echo(size_t bytes)
{
	int i;

	for (i = 0; i < WARM + ROUNDS; i++) {
		get_all(&c.b, bytes);
		put(&c.b, bytes, 0);
	}
	_exit(wrongs() ? 1 : 0);
}

static void round_trips(int n, size_t bytes)
{
	while (n--) {
		put(&c.a, bytes, 0);
		get_all(&c.a, bytes);
	}
}

int main(int argc, char **argv)
{
	static int of_switches[COUNT(switches)][MOST_CPUS];
	static int of_allocations[COUNT(allocations)][MOST_CPUS];
	long long went, allocated;
	size_t bytes;
	int status;
	pid_t pid;

	place_options(argc, argv);
	need(optind + 2 == argc);
	bytes = atoi(argv[optind]);
	place.direct = !strcmp(argv[optind + 1], "direct");
	plain = place.direct || !strcmp(argv[optind + 1], "tcp");
	c = plain ? conn_new() : conn_moved();
	pid = fork();
	need(pid >= 0);
	if (!pid)
		echo(bytes);
	round_trips(WARM, bytes);
	need(plain || (moved(c.a.fd) && moved(c.b.fd)));
	went = seen(switches, of_switches);
	allocated = seen(allocations, of_allocations);
	round_trips(ROUNDS, bytes);
	went = seen(switches, of_switches) - went;
	allocated = seen(allocations, of_allocations) - allocated;
	need(plain || (moved(c.a.fd) && moved(c.b.fd)));
	need(waitpid(pid, &status, 0) == pid && !status);
	printf("%.2f %.2f\n", (double)went / ROUNDS, (double)allocated / ROUNDS);
	return wrongs() != 0;
}

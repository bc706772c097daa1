// SPDX-License-Identifier: GPL-2.0
/*
 * What the machine spends. In a counting VM time goes on while nothing runs, too,
 * so what the kernel calls idle is taken off; not where time itself is asked for
 * (BENCH_WALL).
 */
#include "bench.h"
#include "mark.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The sum of the numbers that follow a key in a file of /proc. */
static int64_t sum(const char *path, const char *key)
{
	FILE *file = fopen(path, "r");
	char line[256];
	int64_t n = 0;
	bool found = false;

	if (!file)
		die(path);
	while (fgets(line, sizeof(line), file)) {
		const char *at = line + strspn(line, " .");

		if (strncmp(at, key, strlen(key)))
			continue;
		at += strlen(key);
		n += strtoll(at + strspn(at, " :"), NULL, 10);
		found = true;
	}
	fclose(file);
	if (!found) {
		fprintf(stderr, "bench: no %s in %s\n", key, path);
		exit(1);
	}
	return n;
}

static int64_t idle(void)
{
	const char *wall = getenv("BENCH_WALL");

	if (wall && *wall)
		return 0;
	return sum("/proc/timer_list", "idle_sleeptime");
}

/* The slow readings are outside of what is measured. */
void meter_start(struct meter *meter)
{
	meter->idle = idle();
	meter->time = now();
	MARK(MARK_BEGIN);
}

int64_t meter_stop(const struct meter *meter)
{
	int64_t time;

	MARK(MARK_END);
	time = now() - meter->time;
	return time - (idle() - meter->idle);
}

static void forget(const char *what)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	if (fd < 0 || write(fd, what, strlen(what)) < 0)
		die("no caches dropped");
	close(fd);
}

/* Bytes that are neither free, also on a CPU's list, nor a cache's. */
int64_t memory_used(void)
{
	static const char meminfo[] = "/proc/meminfo";

	forget("2");
	forget("3");
	return 1024 * (sum(meminfo, "MemTotal:") - sum(meminfo, "MemFree:") -
		       sum(meminfo, "Buffers:") - sum(meminfo, "Cached:") -
		       sum(meminfo, "SReclaimable:")) -
	       sysconf(_SC_PAGESIZE) * sum("/proc/zoneinfo", "count:");
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Coverage, by the kernel's KCOV: the places in the target's modules that
 * the calls of our threads passed, and which of them followed which.  What the
 * modules do in interrupts and in work queues is not in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/kcov.h>

#include "fuzz.h"

#define ENTRIES		(1UL << 16)
#define MODULES		3
#define PLACES		(1U << 20)

static const char *names[MODULES] = { "sdpdev", "sdp_ib", "sdp_verbs" };

static struct {
	unsigned long start, end;
} text[MODULES];

static struct {
	int fd;
	unsigned long *buf;
} thread[THREADS];

static unsigned char edges_now[EDGES], places[PLACES];
static uint16_t list[EDGES];
static unsigned int n_edges;

unsigned int cover_pcs;

static void find_text(unsigned int i)
{
	unsigned long size = 0, start;
	char line[512], name[64];
	FILE *f = fopen("/proc/modules", "r");

	if (!f)
		die("/proc/modules");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lu %*s %*s %*s %lx", name, &size, &start) == 3 &&
		    !strcmp(name, names[i])) {
			text[i].start = start;
			text[i].end = start + size;
		}
	fclose(f);
}

bool cover_open(unsigned int t)
{
	unsigned int i;
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (to_ipoib) {
		names[0] = "ib_ipoib";
		names[1] = "";
	}
	for (i = 0; i < MODULES; i++)
		find_text(i);
	if (ioctl(fd, KCOV_INIT_TRACE, ENTRIES))
		die("kcov");
	thread[t].buf = mmap(NULL, ENTRIES * sizeof(long), PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
	if (thread[t].buf == MAP_FAILED)
		die("kcov");
	thread[t].fd = fd;
	return true;
}

/* The thread itself calls this. */
void cover_on(unsigned int t)
{
	if (thread[t].buf && ioctl(thread[t].fd, KCOV_ENABLE, KCOV_TRACE_PC))
		die("kcov");
}

void cover_start(void)
{
	unsigned int i;

	for (i = 0; i < n_edges; i++)
		edges_now[list[i]] = 0;
	n_edges = 0;
}

void cover_begin(unsigned int t)
{
	if (thread[t].buf)
		__atomic_store_n(thread[t].buf, 0, __ATOMIC_RELAXED);
}

/* The same for every address that the modules may be loaded at; zero: no place. */
static unsigned int place_of(unsigned long pc)
{
	unsigned int i;

	for (i = 0; i < MODULES; i++)
		if (pc >= text[i].start && pc < text[i].end)
			return ((pc - text[i].start) & (PLACES / MODULES - 1)) * MODULES + i;
	return 0;
}

static void see_edge(unsigned int from, unsigned int to)
{
	unsigned int edge = (from * 0x9e3779b1U ^ to * 0x85ebca6bU) >> 16;

	if (__atomic_exchange_n(&edges_now[edge], 1, __ATOMIC_RELAXED))
		return;
	list[__atomic_fetch_add(&n_edges, 1, __ATOMIC_RELAXED)] = edge;
}

void cover_end(unsigned int t)
{
	unsigned int place, before = 0;
	unsigned long i, n;

	if (!thread[t].buf)
		return;
	n = __atomic_load_n(thread[t].buf, __ATOMIC_RELAXED);
	for (i = 1; i <= n; i++) {
		place = place_of(thread[t].buf[i]);
		if (!place)
			continue;
		if (!__atomic_exchange_n(&places[place], 1, __ATOMIC_RELAXED))
			__atomic_fetch_add(&cover_pcs, 1, __ATOMIC_RELAXED);
		see_edge(before, place);
		before = place;
	}
}

unsigned int cover_get(uint16_t *edges)
{
	memcpy(edges, list, n_edges * sizeof(*list));
	return n_edges;
}

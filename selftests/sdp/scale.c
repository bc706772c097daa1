// SPDX-License-Identifier: GPL-2.0
/*
 * scale CONNECTIONS ACTIVE: many connections over SDP at once, most of them
 * idle: what they cost in memory and in time, and that buffers grow with use
 * and shrink without.  All of them are an ordinary user's.
 */
#include "end.h"

#include <sys/resource.h>

#define PORT		30000
#define WINDOW		32		/* connections that are made at a time */
#define BYTES		(256 << 10)	/* through each active connection */
#define IDLE_KIB	64		/* that an idle end may cost */
#define OTHERS_KIB	8		/* for an end: what others take meanwhile */
#define PARAMETERS	"/sys/module/sdpdev/parameters/"
#define IDLE_TIME	PARAMETERS "idle_time"
#define USER		12345		/* any that is not root */

struct pair {
	int client, server;
	size_t sent, received;
	bool wrong;
};

static struct pair *pairs;
static int total, active;

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	must(fd >= 0);
	must(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/*
 * What the kernel and this process have allocated, in KiB.  Not by the pages
 * that are free: each CPU keeps some that count as used, more with newer kernels.
 */
static long memory_used(void)
{
	long kib, used = 0;
	char name[64];
	FILE *f;

	write_file("/proc/sys/vm/drop_caches", "3");
	f = fopen("/proc/meminfo", "r");
	must(f);
	while (fscanf(f, "%63s %ld%*[^\n]", name, &kib) == 2) {
		if (!strcmp(name, "Slab:") || !strcmp(name, "VmallocUsed:") ||
		    !strcmp(name, "AnonPages:") || !strcmp(name, "PageTables:"))
			used += kib;
	}
	fclose(f);
	return used;
}

/* Endpoints of a node over SDP, and bytes of buffers that they have. */
static long sum_endpoints(int node, long *memory)
{
	char line[512], carrier[16];
	long n = 0, bytes;
	FILE *f;

	enter_node(node);
	f = fopen("/proc/self/net/sdp/endpoints", "r");
	must(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %*s %*s %*s %15s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
			   carrier, &bytes) == 2 && !strcmp(carrier, "SDP")) {
			*memory += bytes;
			n++;
		}
	}
	fclose(f);
	enter_node(1);
	return n;
}

static void allow_descriptors(rlim_t n)
{
	struct rlimit limit = { n, n };

	must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* More than a user may have of himself are given to him. */
static void allow_user(void)
{
	if (total <= 1000)
		return;
	write_file(PARAMETERS "user_endpoints", "100000");
	write_file(PARAMETERS "user_connections", "100000");
	write_file(PARAMETERS "user_memory", "3072");
	write_file(PARAMETERS "user_share", "100");
}

static int user_open(void)
{
	int fd;

	must(seteuid(USER) == 0);
	fd = end_open(SDP, AF_INET);
	must(seteuid(0) == 0);
	return fd;
}

static int user_listener(void)
{
	int fd;

	enter_node(2);
	fd = user_open();
	must(end_bind(SDP, fd, SERVER4, PORT) == 0);
	must(end_listen(SDP, fd, 2 * WINDOW) == 0);
	enter_node(1);
	return fd;
}

/* Connects pairs @from up to @to, some at a time. */
static bool connect_pairs(int l, int from, int to)
{
	int i, j, end;

	for (i = from; i < to; i = end) {
		end = i + WINDOW < to ? i + WINDOW : to;
		for (j = i; j < end; j++) {
			pairs[j].client = user_open();
			nonblock(pairs[j].client, true);
			if (end_connect(SDP, pairs[j].client, SERVER4, PORT) == 0 ||
			    errno != EINPROGRESS)
				return false;
		}
		for (j = i; j < end; j++)
			if (!(events(pairs[j].client, POLLOUT, 60000) & POLLOUT) ||
			    end_info(pairs[j].client).carrier != SDP_CARRIER_SDP)
				return false;
		for (j = i; j < end; j++) {
			pairs[j].server = end_accept(SDP, l);
			if (pairs[j].server < 0)
				return false;
			nonblock(pairs[j].server, true);
		}
	}
	return true;
}

static void test_connect(void)
{
	int l = user_listener(), quarter = total / 4;
	long before = memory_used(), start, first, last, kib = 0;
	long most = IDLE_KIB + OTHERS_KIB;
	int i;

	start = milliseconds();
	ok(connect_pairs(l, 0, quarter), "the first quarter of %d connections", total);
	first = milliseconds() - start;
	ok(connect_pairs(l, quarter, total - quarter), "the second and third");
	start = milliseconds();
	ok(connect_pairs(l, total - quarter, total), "the last");
	last = milliseconds() - start;
	close(l);

	/* Told and not tested: others may be at work on the same machine. */
	printf("# %ld us for each of the first quarter, %ld of the last\n",
	       first * 1000 / quarter, last * 1000 / quarter);
	/* The checked kernel puts as much around what is allocated. */
	if (access("/sys/kernel/debug/kmemleak", F_OK) == 0)
		most *= 2;
	/* What others have taken for a while they give back. */
	for (i = 0; i < 100; i++) {
		kib = (memory_used() - before) / (2 * total);
		if (kib <= most)
			break;
		usleep(100000);
	}
	printf("# %ld KiB for each end, after %d looks in vain\n", kib, i);
	ok(kib <= most, "an idle end costs %d KiB at most", IDLE_KIB);
}

/* The pairs are in any order: who was accepted when is not known. */
static void match_pairs(void)
{
	unsigned int which;
	int i, *server;

	server = calloc(total, sizeof(*server));
	must(server);
	for (i = 0; i < total; i++) {
		which = i;
		must(write(pairs[i].client, &which, sizeof(which)) == sizeof(which));
	}
	for (i = 0; i < total; i++) {
		must(events(pairs[i].server, POLLIN, 60000) & POLLIN);
		must(read(pairs[i].server, &which, sizeof(which)) == sizeof(which));
		must(which < (unsigned int)total && !server[which]);
		server[which] = pairs[i].server;
	}
	for (i = 0; i < total; i++)
		pairs[i].server = server[i];
	free(server);
}

static unsigned char pattern(int i, size_t at)
{
	return at * 7 + (at >> 8) + i;
}

/* What can be done for pair @i now; returns whether all of it is done. */
static bool move_bytes(int i)
{
	static unsigned char buf[32768];
	struct pair *p = &pairs[i];
	size_t n, at;
	ssize_t ret;

	n = BYTES - p->sent < sizeof(buf) ? BYTES - p->sent : sizeof(buf);
	for (at = 0; at < n; at++)
		buf[at] = pattern(i, p->sent + at);
	ret = n ? write(p->client, buf, n) : 0;
	p->sent += ret > 0 ? ret : 0;

	ret = read(p->server, buf, sizeof(buf));
	for (at = 0; ret > 0 && at < (size_t)ret; at++)
		p->wrong |= buf[at] != pattern(i, p->received + at);
	p->received += ret > 0 ? ret : 0;
	return p->received == BYTES || ret == 0;
}

static long test_active(void)
{
	long idle = 0, memory = 0, later = 0, start = milliseconds();
	int i, left = active, step = total / active, wrong = 0;

	must(sum_endpoints(2, &idle) == total);
	while (left) {
		left = 0;
		for (i = 0; i < active; i++)
			left += !move_bytes(i * step);
		/* Late after the last of them they may be idle already. */
		if (left < active && !memory)
			sum_endpoints(2, &memory);
		if (milliseconds() - start > 600000)
			break;
	}
	for (i = 0; i < active; i++)
		wrong += pairs[i * step].wrong || pairs[i * step].received != BYTES;
	ok(!wrong, "%d of them move %d bytes each", active, BYTES);
	sum_endpoints(2, &later);
	memory = later > memory ? later : memory;
	printf("# %ld ms; buffers of a receiving end were %ld KiB idle, %ld active\n",
	       milliseconds() - start, idle / total / 1024,
	       ((memory - idle) / active + idle / total) / 1024);
	ok(memory > idle + active * (idle / total) / 2, "their buffers have grown");
	return memory - idle;
}

static bool shrunk(long most)
{
	long start = milliseconds(), memory;

	do {
		memory = 0;
		sum_endpoints(1, &memory);
		sum_endpoints(2, &memory);
		usleep(50000);
	} while (memory > most && milliseconds() - start < 60000);
	printf("# %ld KiB for each end\n", memory / total / 2 / 1024);
	return memory <= most;
}

static bool all_gone(void)
{
	long start = milliseconds(), memory = 0;

	while (sum_endpoints(1, &memory) + sum_endpoints(2, &memory)) {
		usleep(50000);
		if (milliseconds() - start > 300000)
			return false;
	}
	printf("# after %ld ms\n", milliseconds() - start);
	return true;
}

int main(int argc, char **argv)
{
	long idle = 0, grown;
	int i;

	total = argc > 1 ? atoi(argv[1]) : 500;
	active = argc > 2 ? atoi(argv[2]) : total / 10;
	must(total >= 8 && active > 0 && active <= total);
	pairs = calloc(total, sizeof(*pairs));
	must(pairs);
	allow_descriptors(2 * total + 64);
	allow_user();
	/* What a busy machine is late with counts as no silence: half of it is to spare. */
	write_file(IDLE_TIME, total > 1000 ? "10000" : "1000");

	tap_plan(8);
	test_connect();
	match_pairs();
	sum_endpoints(1, &idle);
	sum_endpoints(2, &idle);
	grown = test_active();
	ok(shrunk(idle + grown / 10), "and shrink again when they are idle");
	for (i = 0; i < total; i++) {
		close(pairs[i].client);
		close(pairs[i].server);
	}
	ok(all_gone(), "all end when they are closed");
	return tap_exit();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations, pages and verbs calls fail at each step of a join, of what goes by InfiniBand, and
 * of a return: the connection goes on by TCP, no byte is wrong, and it is joined later.
 *
 *	fail [-6] -l ADDRESS -S NETNS -c ADDRESS -C NETNS [-w] STEP
 *
 * A join is the work of the kernel's own threads, which fail-nth does not reach: so the failures
 * are those of all of them, one at a time, behind ever more bytes that they have allocated.  STEP
 * is how many bytes more each time.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/time.h>

#include "../fail/nth.h"
#include "../sock/common/conn.h"
#include "../sock/common/row.h"

#define DEBUGFS		"/sys/kernel/debug/"
/* Milliseconds in which a connection is joined, or something has failed. */
#define JOIN_MS		30000
/* And after what has failed, as long as a peer may be left alone. */
#define LATER_MS	200000

static struct conn c;

/* --- failures of others --------------------------------------------------------- */

/**
 * struct fault - failures of the kernel's threads, or of softirqs
 * @name: what fails
 * @folder: the settings
 * @workers: in threads, also where they may sleep; otherwise where sleep is not allowed
 * @bytes: that are allocated for each of what the folder counts, roughly: a step is so many fewer
 */
struct fault {
	const char *name;
	const char *folder;
	bool workers;
	int bytes;
};

static const struct fault faults[] = {
	{ "memory, in threads", "failslab", true, 1 },
	{ "memory, where nobody may sleep", "failslab", false, 1 },
	{ "pages, in threads", "fail_page_alloc", true, 1000 },
	{ "pages, where nobody may sleep", "fail_page_alloc", false, 1000 },
	{ "verbs calls, in threads", "softib/fail_verbs", true, 10000 },
};

static void set(const struct fault *f, const char *name, const char *value)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", f->folder, name);
	fd = open(path, O_WRONLY);
	must(fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value));
	close(fd);
}

/* Has the one that was to fail failed? */
static bool has_failed(const struct fault *f)
{
	char path[200], left = 0;
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/times", f->folder);
	fd = open(path, O_RDONLY);
	must(fd >= 0 && read(fd, &left, 1) == 1);
	close(fd);
	return left == '0';
}

static bool is_thread(const char *pid)
{
	char path[300], name[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (f && !fgets(name, sizeof(name), f))
		*name = 0;
	if (f)
		fclose(f);
	return !strncmp(name, "kworker", 7) || !strncmp(name, "kthreadd", 8);
}

/* Which tasks' calls count: the kernel's workers, and those that begin meanwhile. */
static void mark(const char *value)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char path[300];
	FILE *f;

	must(dir);
	while ((entry = readdir(dir))) {
		if (!isdigit(*entry->d_name) || !is_thread(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/make-it-fail", entry->d_name);
		f = fopen(path, "we");
		if (!f)
			continue;
		fputs(value, f);
		fclose(f);
	}
	closedir(dir);
}

static void arm(const struct fault *f, int skip)
{
	char text[20];

	snprintf(text, sizeof(text), "%d", skip);
	set(f, "space", text);
	set(f, "times", "1");
	set(f, "probability", "100");
}

static void disarm(const struct fault *f)
{
	set(f, "probability", "0");
}

/* --- connections ---------------------------------------------------------------- */

/* Messages to and fro, until both ends are joined, or F has failed, or for so long. */
static bool talks(const struct fault *f, int ms)
{
	long long until = now_ms() + ms;

	while (now_ms() < until) {
		put(&c.a, 2000, 0);
		get_all(&c.b, 2000);
		put(&c.b, 10, 0);
		get_all(&c.a, 10);
		if (moved(c.a.fd) && moved(c.b.fd))
			return true;
		if (f && has_failed(f))
			return false;
		usleep(f ? 10000 : 100000);
	}
	return false;
}

/* A connection with one failure; false if nothing is left to fail. */
static bool connection(const struct fault *f, int skip, bool *joins)
{
	bool failed;

	c = conn_new();
	arm(f, skip);
	talks(f, JOIN_MS);
	put(&c.a, 50000, 0);
	get_all(&c.b, 50000);
	failed = has_failed(f);
	if (failed) {
		disarm(f);
		*joins = talks(NULL, LATER_MS);
	}
	conn_close(&c);
	/* What ends it is the threads' work, too. */
	usleep(100000);
	failed = has_failed(f);
	disarm(f);
	return failed;
}

static void run_fault(const struct fault *f, int step)
{
	bool joins = true;
	int skip, failures = 0;

	set(f, "verbose", "0");
	set(f, "task-filter", f->workers ? "Y" : "N");
	if (strcmp(f->folder, "softib/fail_verbs"))
		set(f, "ignore-gfp-wait", f->workers ? "N" : "Y");
	if (f->workers)
		mark("1");
	for (skip = 0; joins && connection(f, skip, &joins); skip += step) {
		failures++;
		printf("# %s: fails behind %d\n", f->name, skip);
		fflush(stdout);
	}
	mark("0");
	set(f, "task-filter", "N");
	printf("# %s: %d failures\n", f->name, failures);
	if (!joins)
		printf("# never joined again behind %d\n", skip);
	ok(joins && failures > 1 && !wrongs(), "%s", f->name);
}

/* --- failures of the program's own calls ----------------------------------------- */

/* What was sent arrives, and the connection goes on; then it is closed. */
static bool goes_on(int ret)
{
	(void)ret;
	gate(&c.a, true);
	put(&c.a, 1000, 0);
	get_all(&c.b, c.a.out - c.b.in);
	put(&c.b, 1000, 0);
	get_all(&c.a, 1000);
	conn_close(&c);
	return !wrongs();
}

static void before_send(void)
{
	c = conn_moved();
}

static int act_send(void)
{
	return put_some(&c.a, 100000, MSG_DONTWAIT);
}

static void before_read(void)
{
	c = conn_moved();
	put(&c.a, 10000, 0);
	arrived(&c.b, 10000);
}

static int act_read(void)
{
	return get(&c.b, 10000, MSG_WAITALL);
}

static void before_return(void)
{
	c = conn_moved();
	put(&c.a, 100000, MSG_DONTWAIT);
	gate(&c.a, false);
}

static int act_return(void)
{
	return put_some(&c.a, 100, MSG_DONTWAIT);
}

static void before_end(void)
{
	c = conn_moved();
	put(&c.a, 50000, 0);
}

static int act_shutdown(void)
{
	return shutdown(c.a.fd, SHUT_WR);
}

/* All bytes, or a reset.  TCP forgets a FIN that it has no memory for. */
static bool after_shutdown(int ret)
{
	struct timeval tv = { .tv_sec = 5 };
	ssize_t n;

	(void)ret;
	must(!setsockopt(c.b.fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	while ((n = get(&c.b, 1000, 0)) > 0)
		;
	if (c.b.in != c.a.out && (!n || errno != ECONNRESET))
		wrong("%d bytes are missing", (int)(c.a.out - c.b.in));
	conn_close(&c);
	return !wrongs();
}

static const struct scene scenes[] = {
	{ "bytes go by InfiniBand", before_send, act_send, goes_on },
	{ "bytes are read", before_read, act_read, goes_on },
	{ "bytes come back", before_return, act_return, goes_on },
	{ "bytes come back before shutdown()", before_end, act_shutdown, after_shutdown },
};

int main(int argc, char **argv)
{
	int step;
	unsigned int i;

	place_options(argc, argv);
	must(argv[optind]);
	step = atoi(argv[optind]);
	tap_plan(sizeof(faults) / sizeof(*faults) + sizeof(scenes) / sizeof(*scenes));
	for (i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		run_fault(&faults[i], (step / faults[i].bytes) ?: 1);
	nth_open();
	for (i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		nth_run(&scenes[i]);
	return tap_exit();
}

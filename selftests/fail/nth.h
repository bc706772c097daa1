/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls in which the first, then the second, ... allocation or copy from or to the
 * program's memory fails, until there is none left to fail.
 */
#ifndef SELFTESTS_NTH_H
#define SELFTESTS_NTH_H

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "../lib/tap.h"

#define NTH_LIMIT	20000	/* nothing allocates so often */
#define NTH_SECONDS	180	/* nothing takes so long */

struct scene {
	const char *name;
	void (*before)(void);	/* makes what the call needs */
	int (*act)(void);	/* the call: negative with errno, or not */
	bool (*after)(int ret);	/* false: it did not do what it said; unmakes it all */
};

static int nth_file = -1;
static int nth_now, nth_failures;
static char nth_said[80];	/* what is to be said if a call does not return */

static inline void nth_late(int sig)
{
	ssize_t n = write(1, nth_said, strlen(nth_said));

	(void)sig;
	(void)n;
	_exit(1);
}

/* Sleeping allocations fail, too, and the kernel does not print where. */
static inline void nth_open(void)
{
	static const char *const settings[][2] = {
		{ "failslab/ignore-gfp-wait", "N" }, { "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" }, { "fail_page_alloc/verbose", "0" },
		{ "fail_usercopy/verbose", "0" }, { "softib/fail_verbs/verbose", "0" },
	};
	char path[100];
	unsigned int i;
	int fd;

	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", settings[i][0]);
		fd = open(path, O_WRONLY);
		/* The last is the HCA's, and there may be none yet. */
		if (fd < 0 && i == sizeof(settings) / sizeof(*settings) - 1)
			break;
		must(fd >= 0 && write(fd, settings[i][1], 1) == 1);
		close(fd);
	}
	nth_file = open("/proc/thread-self/fail-nth", O_RDWR);
	must(nth_file >= 0);
	signal(SIGALRM, nth_late);
	signal(SIGPIPE, SIG_IGN);
}

/*
 * 0: from here on nothing fails.  Tells whether something has; what is asked here
 * may be what fails, and then nothing had.
 */
static inline bool nth_set(int n)
{
	char text[16], was[16] = "";
	int len = snprintf(text, sizeof(text), "%d", n);
	bool failed = pread(nth_file, was, sizeof(was) - 1, 0) > 0 && !atoi(was);

	if (pwrite(nth_file, text, len, 0) != len)
		must(pwrite(nth_file, text, len, 0) == len);
	return failed;
}

/* What a call may say when there is no memory for it. */
static inline bool nth_plausible(int error)
{
	return error == ENOMEM || error == EFAULT || error == ENOBUFS;
}

/*
 * A result for @s. The number of failures and of those that the caller was told of
 * is for the reader.
 */
static inline void nth_run(const struct scene *s)
{
	int told = 0, ret, error;
	bool failed = true;

	for (nth_now = 1; failed && nth_now < NTH_LIMIT; nth_now++) {
		snprintf(nth_said, sizeof(nth_said),
			 "Bail out! failure %d does not return\n", nth_now);
		alarm(NTH_SECONDS);
		if (s->before)
			s->before();
		nth_set(nth_now);
		ret = s->act();
		error = errno;
		failed = nth_set(0);
		told += ret < 0;
		if (ret < 0 && !nth_plausible(error))
			printf("# %s: failure %d: %s\n", s->name, nth_now, strerror(error));
		errno = error;
		if ((ret < 0 && (!failed || error >= 512)) || (s->after && !s->after(ret))) {
			printf("# failure %d, returned %d\n", nth_now, ret);
			ok(false, "%s", s->name);
			return;
		}
		alarm(0);
		if (nth_now % 100 == 0) {
			printf("# %s: %d failures so far\n", s->name, nth_now);
			fflush(stdout);
		}
	}
	printf("# %s: %d failures, %d of them told\n", s->name, nth_now - 2, told);
	nth_failures += nth_now - 2;
	ok(!failed, "%s", s->name);
}

static inline int nth_all(const struct scene *scenes, unsigned int n)
{
	unsigned int i;

	nth_open();
	tap_plan(n + 1);
	for (i = 0; i < n; i++)
		nth_run(&scenes[i]);
	/* A call may have nothing to allocate, but not all of them. */
	ok(nth_failures >= 100, "allocations failed at all");
	return tap_exit();
}

#endif /* SELFTESTS_NTH_H */

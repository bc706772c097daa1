/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Results in the Test Anything Protocol, for the C programs of this suite.
 */
#ifndef SELFTESTS_TAP_H
#define SELFTESTS_TAP_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int tap_done, tap_failed;

/* One result; a failed one says where and what errno was. */
#define ok(cond, ...)	tap_result(!!(cond), __FILE__, __LINE__, errno, __VA_ARGS__)

__attribute__((format(printf, 5, 6)))
static inline bool tap_result(bool good, const char *file, int line, int error,
			      const char *format, ...)
{
	va_list args;

	printf("%sok %u - ", good ? "" : "not ", ++tap_done);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	if (!good) {
		tap_failed++;
		printf("# %s:%d, errno %d (%s)\n", file, line, error, strerror(error));
	}
	fflush(stdout);
	return good;
}

/* For what a test needs before it can test anything. */
#define must(cond)							\
do {									\
	if (!(cond)) {							\
		printf("Bail out! %s:%d: %s: %s\n", __FILE__, __LINE__,	\
		       #cond, strerror(errno));				\
		exit(1);						\
	}								\
} while (0)

static inline void tap_plan(unsigned int n)
{
	printf("TAP version 13\n1..%u\n", n);
	fflush(stdout);
}

static inline int tap_exit(void)
{
	return tap_failed ? 1 : 0;
}

#endif /* SELFTESTS_TAP_H */

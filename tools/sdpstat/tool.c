// SPDX-License-Identifier: GPL-2.0
/*
 * See tool.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool.h"

#define DAY	86400

static void say(const char *format, va_list args)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void bad_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	exit(2);
}

void *grow(void *old, size_t n, size_t size)
{
	void *p = reallocarray(old, n, size);

	if (!p) {
		complain("no memory");
		exit(1);
	}
	return p;
}

double read_seconds(const char *value, double least)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds >= least && seconds <= DAY))
		bad_usage("%s: not a time from %g to %d seconds", value, least, DAY);
	return seconds;
}

void take_last(int c, const char *usage, const char *version)
{
	if (c == 'h')
		fputs(usage, stdout);
	else if (c == 'V')
		printf("%s %s\n", program_invocation_short_name, version);
	else
		bad_usage("try --help");
	exit(0);
}

double clock_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void sleep_for(double seconds)
{
	struct timespec time;

	if (seconds <= 0)
		return;
	time.tv_sec = (time_t)seconds;
	time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
		;
}

int written(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 1;
	complain("writing: %s", strerror(errno));
	return 0;
}

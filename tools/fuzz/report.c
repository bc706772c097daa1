// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel reports while an input runs.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

unsigned long reports;
bool tracing;

static int kmsg = -1;

void report_open(void)
{
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		die("/dev/kmsg");
}

/* A line that says that something is wrong. */
static bool is_report(const char *line)
{
	static const char *const words[] = {
		"BUG:", "WARNING:", "KASAN", "UBSAN", "INFO: ", "possible circular",
		"general protection", "Oops", "ODEBUG", "refcount_t", "page allocation",
	};
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

static bool is_reported(void)
{
	char line[1024];
	bool bad = false;
	ssize_t n;

	for (;;) {
		n = read(kmsg, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return bad;
		line[n] = 0;
		bad |= is_report(line);
	}
}

void report_before(const struct input *in)
{
	if (tracing)
		corpus_print("run ", in);
}

void report_after(const struct input *in)
{
	if (!is_reported())
		return;
	reports++;
	corpus_print("report ", in);
}

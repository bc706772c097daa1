// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "row.h"

/* Seconds for a row; what hangs is a failure. */
#define ROW_SECONDS	40

/**
 * struct story - what a row has said in one run
 * @length: of @text
 * @wrong: how often something was wrong
 * @text: lines
 *
 * Both processes have it, and all threads of the row write it.
 */
struct story {
	size_t length;
	unsigned int wrong;
	char text[60000];
};

bool plain;
/* For programs without rows: what is wrong is printed, and what is said is not. */
static struct story alone;
static struct story *story = &alone;

static void story_add(const char *mark, const char *format, va_list args)
{
	char line[500];
	int n = snprintf(line, sizeof(line), "%s", mark);
	size_t at;

	n += vsnprintf(line + n, sizeof(line) - n - 1, format, args);
	n = n < (int)sizeof(line) - 2 ? n : (int)sizeof(line) - 2;
	line[n++] = '\n';
	at = __atomic_fetch_add(&story->length, n, __ATOMIC_RELAXED);
	if (at + n < sizeof(story->text))
		memcpy(story->text + at, line, n);
}

static void tell(const char *format, va_list args)
{
	printf("# ");
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
}

unsigned int wrongs(void)
{
	return story->wrong;
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	story_add("", format, args);
	va_end(args);
}

void wrong(const char *format, ...)
{
	va_list args;

	__atomic_fetch_add(&story->wrong, 1, __ATOMIC_RELAXED);
	va_start(args, format);
	if (story == &alone)
		tell(format, args);
	else
		story_add("wrong: ", format, args);
	va_end(args);
}

void say_call(const char *call, long long ret)
{
	if (ret < 0)
		say("%s: %s", call, strerrorname_np(errno));
	else
		say("%s: %lld", call, ret);
}

void need_failed(const char *file, int line, const char *what)
{
	wrong("%s:%d: %s: %s", file, line, what, strerror(errno));
	_exit(1);
}

bool slow_kernel(void)
{
	const char *kernel = getenv("KERNEL");

	return kernel && !strcmp(kernel, "debug");
}

long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

long sleeps(void)
{
	struct rusage usage;

	need(!getrusage(RUSAGE_THREAD, &usage));
	return usage.ru_nvcsw;
}

void until_asleep(pid_t tid)
{
	char path[64], state;
	int times = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	/* A lock of the C library may hold it up for a moment as well. */
	while (times < 3) {
		f = fopen(path, "re");
		need(f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1);
		fclose(f);
		times = state == 'S' ? times + 1 : 0;
		usleep(1000);
	}
}

/* One run of a row, in a process group of its own, so that it leaves no process behind. */
static void row_once(const struct row *row, struct story *to, bool on_tcp)
{
	int status = 0;
	pid_t pid;

	story = to;
	plain = on_tcp;
	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		setpgid(0, 0);
		signal(SIGPIPE, SIG_IGN);
		alarm(ROW_SECONDS * (slow_kernel() ? 5 : 1));
		row->run();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid);
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status))
		wrong("ended by signal %d", WTERMSIG(status));
}

static void story_print(const char *title, const struct story *s)
{
	const char *line = s->text;

	printf("# %s:\n", title);
	while (*line) {
		int n = strcspn(line, "\n");

		printf("#   %.*s\n", n, line);
		line += n + !!line[n];
	}
}

static void row_run(const struct row *row, struct story *stories)
{
	bool good;

	memset(stories, 0, 2 * sizeof(*stories));
	row_once(row, &stories[0], true);
	row_once(row, &stories[1], false);
	good = !stories[0].wrong && !stories[1].wrong && !strcmp(stories[0].text, stories[1].text);
	if (!ok(good, "%s", row->name)) {
		story_print("TCP", &stories[0]);
		story_print("sdp", &stories[1]);
	}
}

/* A row is named by the beginning of its name. */
static bool row_wanted(const struct row *row, char **names)
{
	char **name;

	for (name = names; *name; name++)
		if (!strncmp(row->name, *name, strlen(*name)))
			return true;
	return !*names;
}

int rows_main(const struct row *const *lists, char **names)
{
	const struct row *const *list;
	const struct row *row;
	struct story *stories;
	unsigned int n = 0;

	stories = mmap(NULL, 2 * sizeof(*stories), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(stories != MAP_FAILED);
	for (list = lists; *list; list++)
		for (row = *list; row->name; row++)
			n += row_wanted(row, names);
	tap_plan(n);
	for (list = lists; *list; list++)
		for (row = *list; row->name; row++)
			if (row_wanted(row, names))
				row_run(row, stories);
	return tap_exit();
}

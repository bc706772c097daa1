// SPDX-License-Identifier: GPL-2.0
/*
 * Runs an input: in this thread, which is in node1's network namespace, and
 * where it says so in a second one, which is in node2's; a third scribbles in
 * ring memory.  Calls that wait are interrupted: see wake.c.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STROKES	32	/* of the scribbler, for each operation */

static struct worker workers[THREADS];
static sem_t wanted, done, scribble_wanted, ready;
static struct record second;	/* for the second thread */
static bool second_busy;
static volatile bool may_scribble;
static pid_t child;

static struct {
	unsigned long n, ns;
} times[256];

bool timing;

static __thread sigjmp_buf escape;
static __thread volatile bool may_fault;

/* A mapping that is gone while a thread writes there. */
static void on_fault(int sig)
{
	if (may_fault)
		siglongjmp(escape, 1);
	signal(sig, SIG_DFL);
}

static void enter_node(unsigned int node)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/var/run/netns/node%u", node);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) && errno == EINTR)
		;
}

/* Two pages, one behind them that is not there, and one for iovecs. */
static void worker_init(unsigned int nr)
{
	struct worker *w = &workers[nr];

	w->nr = nr;
	w->page = mmap((void *)(ARENA + nr * ARENA_STEP), 4 * ANY_MEMORY, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (w->page == MAP_FAILED || munmap(w->page + 2 * ANY_MEMORY, ANY_MEMORY))
		die("memory");
	w->iov = (struct iovec *)(w->page + 4 * ANY_MEMORY) - IOVS;
}

/* Only what called something counts.  @nr: of a thread, or CHILD. */
static void run_one(unsigned int nr, const struct record *r)
{
	struct worker *w = &workers[nr == CHILD ? 0 : nr];

	wake_begin(nr);
	if (!sigsetjmp(escape, 0)) {
		may_fault = true;
		if (op_run(w, r))
			__atomic_fetch_add(&shared->operations, 1, __ATOMIC_RELAXED);
	}
	may_fault = false;
	wake_end(nr);
}

static unsigned long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000UL + t.tv_nsec;
}

static void run_covered(unsigned int nr, const struct record *r)
{
	unsigned long began = timing ? now_ns() : 0;
	unsigned int kind = op_kind(r);

	cover_begin(nr);
	run_one(nr, r);
	if (timing) {
		times[kind].ns += now_ns() - began;
		times[kind].n++;
	}
	cover_end(nr);
}

/* The time that all records of a kind took, which is their place in the table of ops.c. */
void exec_times(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (times[i].n)
			fprintf(stderr, "fuzz: op %u: %lu times, %lu us each, %lu ms in all\n", i,
				times[i].n, times[i].ns / times[i].n / 1000,
				times[i].ns / 1000000);
}

static void *second_thread(void *arg)
{
	struct record r;

	enter_node(2);
	if (!to_ipoib) {
		allow_direct();
		listener = listen_somewhere(PORT);
	}
	cover_on(1);
	wake_me(1);
	sem_post(&ready);
	for (;;) {
		wait_for(&wanted);
		r = second;
		run_covered(1, &r);
		sem_post(&done);
	}
	return arg;
}

static void scribble(uint32_t *seed, unsigned int strokes)
{
	unsigned int i;

	if (!sigsetjmp(escape, 0)) {
		may_fault = true;
		for (i = 0; i < strokes && may_scribble; i++)
			scribble_once(seed);
	}
	may_fault = false;
}

/* Some strokes for each operation: it would take the time of all others otherwise. */
static void *scribbler(void *arg)
{
	uint32_t seed = 77;

	for (;;) {
		wait_for(&scribble_wanted);
		scribble(&seed, STROKES);
	}
	return arg;
}

void exec_init(void)
{
	struct sigaction fault_action = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	pthread_t t;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN);
	signal(SIGURG, SIG_IGN);
	sigaction(SIGSEGV, &fault_action, NULL);
	sigaction(SIGBUS, &fault_action, NULL);
	sem_init(&wanted, 0, 0);
	sem_init(&done, 0, 0);
	sem_init(&scribble_wanted, 0, 0);
	sem_init(&ready, 0, 0);
	worker_init(0);
	worker_init(1);
	wake_init();
	ops_clean();
	if (pthread_create(&t, NULL, second_thread, NULL) ||
	    pthread_create(&t, NULL, scribbler, NULL))
		die("thread");
	wait_for(&ready);
	enter_node(1);
	if (!to_ipoib)
		allow_direct();
	cover_on(0);
	wake_me(0);
}

static void second_wait(void)
{
	if (second_busy)
		wait_for(&done);
	second_busy = false;
}

/* The child runs what follows at the same time, until the parent is through. */
static void fork_here(const struct input *in, unsigned int i)
{
	if (child)
		return;
	child = fork();
	if (child) {
		if (child < 0)
			child = 0;
		return;
	}
	wake_me(CHILD);
	pairs_forget();
	for (; i < in->n; i++)
		if (!op_is_fork(&in->r[i]) && !op_is_async(&in->r[i]))
			run_one(CHILD, &in->r[i]);
	_exit(0);
}

static void end_child(void)
{
	if (!child)
		return;
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	wake_end(CHILD);
	child = 0;
}

void exec_input(const struct input *in)
{
	static uint32_t seed = 78;
	bool async = false;
	unsigned int i;

	report_before(in);
	cover_start();
	may_scribble = true;
	for (i = 0; i < in->n; i++) {
		const struct record *r = &in->r[i];

		if (scribbling) {
			sem_post(&scribble_wanted);
			scribble(&seed, 2);
		}
		if (op_is_fork(r)) {
			fork_here(in, i + 1);
		} else if (op_is_async(r)) {
			async = true;
		} else if (async) {
			second_wait();
			second = *r;
			second_busy = true;
			async = false;
			sem_post(&wanted);
		} else {
			run_covered(0, r);
		}
	}
	second_wait();
	may_scribble = false;
	scribbling = 0;
	end_child();
	ops_clean();
	report_after(in);
}

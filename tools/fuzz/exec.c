// SPDX-License-Identifier: GPL-2.0
/*
 * Runs an input: in this thread, which is in node1's network namespace, and
 * where it says so in a second one, which is in node2's; a third scribbles in
 * ring memory.  Calls that wait are interrupted by a timer.
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
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS		4000000

unsigned long operations;

static struct worker workers[THREADS];
static sem_t wanted, done, scribble_wanted, scribble_done, ready;
static struct record second;	/* for the second thread */
static bool second_busy;
static pid_t child;

static __thread sigjmp_buf escape;
static __thread volatile bool may_fault;

/* True: calls of this thread go on for as long as they take. */
void exec_untimed(bool on)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* A mapping that is gone while somebody writes there. */
static void on_fault(int sig)
{
	if (may_fault)
		siglongjmp(escape, 1);
	signal(sig, SIG_DFL);
}

static void on_tick(int sig)
{
	(void)sig;
}

static void tick(void)
{
	struct itimerspec every = {
		.it_interval.tv_nsec = TICK_NS, .it_value.tv_nsec = TICK_NS,
	};
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
	timer_t timer;

	event._sigev_un._tid = syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL))
		die("timer");
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

static void run_one(struct worker *w, const struct record *r)
{
	if (!sigsetjmp(escape, 1)) {
		may_fault = true;
		op_run(w, r);
	}
	may_fault = false;
}

static void run_counted(unsigned int nr, const struct record *r)
{
	cover_begin(nr);
	run_one(&workers[nr], r);
	cover_end(nr);
	__atomic_fetch_add(&operations, 1, __ATOMIC_RELAXED);
}

static void *second_thread(void *arg)
{
	struct record r;

	enter_node(2);
	if (!to_ipoib)
		listener = listen_somewhere(7700);
	cover_on(1);
	tick();
	sem_post(&ready);
	for (;;) {
		wait_for(&wanted);
		r = second;
		run_counted(1, &r);
		sem_post(&done);
	}
	return arg;
}

static void *scribbler(void *arg)
{
	uint32_t seed = 77;
	unsigned int i;

	for (;;) {
		wait_for(&scribble_wanted);
		while (scribbling) {
			if (!sigsetjmp(escape, 1)) {
				may_fault = true;
				for (i = 0; i < 64 && scribbling; i++)
					scribble_once(&seed);
			}
			may_fault = false;
			sched_yield();
		}
		sem_post(&scribble_done);
	}
	return arg;
}

void exec_init(void)
{
	struct sigaction tick_action = { .sa_handler = on_tick };
	struct sigaction fault_action = { .sa_handler = on_fault };
	pthread_t t;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN);
	signal(SIGURG, SIG_IGN);
	sigaction(SIGALRM, &tick_action, NULL);
	sigaction(SIGSEGV, &fault_action, NULL);
	sigaction(SIGBUS, &fault_action, NULL);
	sem_init(&wanted, 0, 0);
	sem_init(&done, 0, 0);
	sem_init(&scribble_wanted, 0, 0);
	sem_init(&scribble_done, 0, 0);
	sem_init(&ready, 0, 0);
	worker_init(0);
	worker_init(1);
	ops_clean();
	if (pthread_create(&t, NULL, second_thread, NULL) ||
	    pthread_create(&t, NULL, scribbler, NULL))
		die("thread");
	wait_for(&ready);
	enter_node(1);
	cover_on(0);
	tick();
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
	struct itimerval every = { .it_interval.tv_usec = TICK_NS / 1000,
				   .it_value.tv_usec = TICK_NS / 1000 };

	if (child)
		return;
	child = fork();
	if (child) {
		if (child < 0)
			child = 0;
		return;
	}
	setitimer(ITIMER_REAL, &every, NULL);
	for (; i < in->n; i++)
		if (!op_is_fork(&in->r[i]) && !op_is_async(&in->r[i]))
			run_one(&workers[0], &in->r[i]);
	_exit(0);
}

void exec_input(const struct input *in)
{
	bool async = false, scribbled = false;
	unsigned int i;

	report_before(in);
	cover_start();
	for (i = 0; i < in->n; i++) {
		const struct record *r = &in->r[i];

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
			run_counted(0, r);
		}
		if (scribbling && !scribbled) {
			scribbled = true;
			sem_post(&scribble_wanted);
		}
	}
	second_wait();
	if (scribbling && !scribbled)
		sem_post(&scribble_wanted);
	scribbled |= scribbling != 0;
	scribbling = 0;
	if (scribbled)
		wait_for(&scribble_done);
	if (child) {
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		child = 0;
	}
	ops_clean();
	report_after(in);
}

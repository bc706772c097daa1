// SPDX-License-Identifier: GPL-2.0
/*
 * Ends calls that wait.  A thread that runs only when no other would looks which thread is
 * in a call then, and interrupts it: on one CPU all that the call can wait for has happened by
 * then, but for time.  With more of them it looks twice, with some time between.
 */
#include "fuzz.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS		2000000

struct shared *shared;

static __thread unsigned int me;

static void on_wake(int sig)
{
	(void)sig;
}

void wake_begin(unsigned int nr)
{
	me = nr;
	__atomic_fetch_add(&shared->calls[nr], 1, __ATOMIC_RELAXED);
}

/* Also of one that did not come to its end. */
void wake_end(unsigned int nr)
{
	__atomic_store_n(&shared->calls[nr], (shared->calls[nr] | 1) + 1, __ATOMIC_RELAXED);
}

/* True: this call goes on for as long as it takes. */
void wake_not(bool on)
{
	__atomic_store_n(&shared->patient[me], on, __ATOMIC_RELAXED);
}

void wake_me(unsigned int nr)
{
	shared->patient[nr] = false;
	shared->tid[nr] = syscall(SYS_gettid);
	shared->pid[nr] = getpid();
}

/* In the same call as when it was looked at before. */
static bool is_waiting(unsigned int nr, unsigned int *before)
{
	unsigned int now = __atomic_load_n(&shared->calls[nr], __ATOMIC_RELAXED);
	bool same = now == *before;

	*before = now;
	return same && (now & 1) && !__atomic_load_n(&shared->patient[nr], __ATOMIC_RELAXED);
}

static void *waker(void *arg)
{
	struct timespec time = { .tv_nsec = LOOK_NS };
	unsigned int before[CALLERS] = {}, nr, again = 0, looks;
	struct sched_param param = {};

	if (sched_setscheduler(0, SCHED_IDLE, &param))
		die("SCHED_IDLE");
	/* On one CPU, without sleep as long as that helps. */
	looks = sysconf(_SC_NPROCESSORS_ONLN) == 1 ? 3 : 0;
	for (;;) {
		for (nr = 0; nr < CALLERS; nr++)
			if (is_waiting(nr, &before[nr])) {
				syscall(SYS_tgkill, shared->pid[nr], shared->tid[nr], SIGALRM);
				again = 0;
			}
		if (again++ < looks) {
			sched_yield();
			continue;
		}
		nanosleep(&time, NULL);
		again = 0;
	}
	return arg;
}

void wake_init(void)
{
	struct sigaction action = { .sa_handler = on_wake };
	pthread_t t;

	sigaction(SIGALRM, &action, NULL);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || pthread_create(&t, NULL, waker, NULL))
		die("waker");
}

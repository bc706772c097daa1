/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that wait in a call, and what came of it. */
#ifndef SELFTESTS_ORACLE_WAITER_H
#define SELFTESTS_ORACLE_WAITER_H

#include "oracle.h"

#include <pthread.h>
#include <sys/syscall.h>

struct waiter {
	long (*call)(int fd);
	int fd, error;
	long ret;
	pid_t tid;
	bool done;
	pthread_t thread;
};

static inline void *waiter_thread(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	errno = 0;
	w->ret = w->call(w->fd);
	w->error = errno;
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static inline bool waiter_done(struct waiter *w)
{
	return __atomic_load_n(&w->done, __ATOMIC_ACQUIRE);
}

/*
 * Until the thread is asleep: nothing but its call is left that it could sleep in.
 * False: the call has ended.
 */
static inline bool waiter_asleep(struct waiter *w)
{
	char path[64], line[256];
	int times = 0;
	FILE *stat;

	while (times < 3) {
		usleep(1000);
		if (waiter_done(w))
			return false;
		if (!__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE))
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", w->tid);
		stat = fopen(path, "r");
		if (!stat)
			continue;
		times = fgets(line, sizeof(line), stat) && strstr(line, ") S ") ? times + 1 : 0;
		fclose(stat);
	}
	return !waiter_done(w);
}

/* One that is asleep, unless its call does not wait. */
static inline void waiter_start(struct waiter *w, long (*call)(int fd), int fd)
{
	*w = (struct waiter){ .call = call, .fd = fd };
	must(!pthread_create(&w->thread, NULL, waiter_thread, w));
	waiter_asleep(w);
}

/* What the call gave, and its error in errno. */
static inline long waiter_end(struct waiter *w)
{
	must(!pthread_join(w->thread, NULL));
	errno = w->error;
	return w->ret;
}

#endif /* SELFTESTS_ORACLE_WAITER_H */

// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * A descriptor of the native socket, for the time of a call.
 *
 * A child that another thread makes meanwhile by fork() gets it too, and as long as it
 * has it the peer sees no end.  So such descriptors are listed, and the child closes
 * those of the threads that it has not: but not those of the one that it has, which may
 * have forked in a signal handler, in the midst of the call.
 *
 * fork() waits until nobody has one that is not listed yet or not any more, and nobody
 * comes to be so until it is done.  These moments are a system call long, and signals
 * are blocked: a handler might not come back, or fork() itself.
 *
 * Children made by a bare clone, and by vfork() to call exec, are left alone.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#define MOST		256	/* more at a time are not listed */
#define PATIENCE	100	/* times a millisecond */

/*
 * All in one order (SEQ_CST), since each side stores before it loads: a thread stores
 * @changing, then loads @forking; fork() stores @forking, then loads @changing.  At least
 * one of them sees the other, and waits.  @owner and @fd of an entry are stored in the
 * order in which in_child() must not miss them.
 */
#define load(p)		__atomic_load_n(p, __ATOMIC_SEQ_CST)
#define store(p, v)	__atomic_store_n(p, v, __ATOMIC_SEQ_CST)
#define add(p, v)	__atomic_add_fetch(p, v, __ATOMIC_SEQ_CST)

/**
 * struct entry - a descriptor that is in use
 * @owner: whose it is: the address of the thread's @forking_here; NULL: nobody's
 * @fd: the descriptor; -1: not known yet, or not any more
 */
struct entry {
	const void *owner;
	int fd;
};

static struct entry entries[MOST] = { [0 ... MOST - 1] = { .fd = -1 } };

/* Threads that have a descriptor that is not as the list says. */
static unsigned int changing;

/* Calls of fork() that are under way, of all threads and of this one. */
static unsigned int forking;
static __thread unsigned int forking_here __attribute__((tls_model("initial-exec")));

/* For a millisecond at most; what for, the caller looks. */
static void wait_while(unsigned int *word, unsigned int value)
{
	/* As the system call has it, whatever times the program has. */
	static const long wait[2] = { 0, 1000000 };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, wait, NULL, 0);
}

static void wake(unsigned int *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* --- in calls ------------------------------------------------------------ */

static void changed(void)
{
	if (!add(&changing, -1) && load(&forking))
		wake(&changing);
}

/*
 * Not for ever: who comes here may be a signal handler, and may have interrupted what
 * has a lock that fork() waits for.  The thread that forks itself may have others'
 * handlers to call.
 */
static void begin_change(sigset_t *mask)
{
	unsigned int forks, patience;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, mask);
	for (patience = PATIENCE; ; patience--) {
		add(&changing, 1);
		forks = forking_here ? 0 : load(&forking);
		if (!forks || !patience)
			break;
		changed();
		wait_while(&forking, forks);
	}
}

static void end_change(const sigset_t *mask)
{
	changed();
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static void list(int fd)
{
	const void *nobody;
	struct entry *e;

	for (e = entries; e < entries + MOST; e++) {
		nobody = NULL;
		if (!load(&e->owner) &&
		    __atomic_compare_exchange_n(&e->owner, &nobody, &forking_here, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			store(&e->fd, fd);
			return;
		}
	}
}

static void unlist(int fd)
{
	struct entry *e;

	for (e = entries; e < entries + MOST; e++) {
		if (load(&e->owner) == &forking_here && load(&e->fd) == fd) {
			store(&e->fd, -1);
			store(&e->owner, NULL);
			return;
		}
	}
}

int sdp_native(int fd)
{
	struct sdp_native arg = { .size = sizeof(arg) };
	sigset_t mask;
	int native, saved = errno;

	begin_change(&mask);
	errno = saved;
	native = ioctl(fd, SDP_IOC_NATIVE, &arg);
	saved = errno;
	if (native >= 0)
		list(native);
	end_change(&mask);
	errno = saved;
	return native;
}

/* Where a thread may be cancelled it would be here, in calls that never are. */
void sdp_unnative(int native)
{
	int saved = errno;
	sigset_t mask;

	begin_change(&mask);
	unlist(native);
	syscall(SYS_close, native);
	end_change(&mask);
	errno = saved;
}

/* --- in fork() ----------------------------------------------------------- */

static void before_fork(void)
{
	int saved = errno;
	unsigned int others;

	forking_here++;
	add(&forking, 1);
	while ((others = load(&changing)))
		wait_while(&changing, others);
	errno = saved;
}

static void after_fork(void)
{
	int saved = errno;

	add(&forking, -1);
	wake(&forking);
	forking_here--;
	errno = saved;
}

static void in_child(void)
{
	int saved = errno;
	struct entry *e;

	for (e = entries; e < entries + MOST; e++) {
		if (!e->owner || e->owner == &forking_here)
			continue;
		syscall(SYS_close, e->fd);
		e->fd = -1;
		e->owner = NULL;
	}
	/* A signal handler's fork() may have come while this thread was about to fork. */
	forking_here--;
	store(&forking, forking_here);
	store(&changing, 0);
	errno = saved;
}

/* Without memory for that children keep what they get. */
__attribute__((constructor))
static void native_init(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

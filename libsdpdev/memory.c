// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Whether memory that a program names is there.
 *
 * A system call that is given a bad pointer is EFAULT; a library that follows it ends the
 * program.  So the kernel is asked first, by calls that change nothing: one that reads a
 * signal mask and has no use for it, and one that ORs zero to the word.  The second may
 * wake a thread that waits for the word as a futex; such threads look again, and wait on.
 * Both are cheap, and are allowed wherever programs with threads or signals are.  Where a
 * filter forbids them all memory is taken to be there.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

/* No page is smaller. */
#define PAGE		4096UL

static bool can_read_word(uintptr_t at)
{
	const int no_such_way = -1;

	return !syscall(SYS_rt_sigprocmask, no_such_way, at, NULL, 8) || errno != EFAULT;
}

static bool can_write_word(uintptr_t at)
{
	static __u32 ours;

	return syscall(SYS_futex, &ours, FUTEX_WAKE_OP_PRIVATE, 0, 0, at,
		       FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) >= 0 ||
		errno != EFAULT;
}

/* One aligned word of each page will do. */
static bool all_pages(uintptr_t from, size_t n, bool (*can)(uintptr_t at))
{
	uintptr_t at = from & ~7UL, last = from + n - 1;
	int saved = errno;
	bool there = true;

	if (!n)
		return true;
	/* The null page is none, and neither is what comes after the last address. */
	if (from < PAGE || last < from)
		return false;
	for (; there && at <= last; at = (at | (PAGE - 1)) + 1)
		there = can(at);
	errno = saved;
	return there;
}

bool sdp_can_read(const void *p, size_t n)
{
	return all_pages((uintptr_t)p, n, can_read_word);
}

bool sdp_can_write(void *p, size_t n)
{
	return all_pages((uintptr_t)p, n, can_write_word);
}

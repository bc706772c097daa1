// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Calls that unmake descriptors, for the sake of rings (fast.c) and of nothing else:
 * their memory is given back at once, and the number is not taken for the connection's
 * in the moment in which it is free and the kernel has not counted that yet.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>
#include <linux/close_range.h>

#include "fast.h"
#include "next.h"

static void closed(const int *fd)
{
	if (*fd >= 0)
		fast_closed(*fd);
}

/* It is over also where the thread is cancelled. */
__public int close(int fd)
{
	__attribute__((cleanup(closed))) int told = fast_closing(fd) ? fd : -1;

	(void)told;
	return NEXT(close)(fd);
}

/* A thread may have descriptors of its own, but what is remembered is the process's. */
__public int unshare(int flags)
{
	if (flags & CLONE_FILES)
		fast_stop();
	return NEXT(unshare)(flags);
}

__public int close_range(unsigned int first, unsigned int last, int flags)
{
	bool told = false;
	int ret;

	if (flags & CLOSE_RANGE_UNSHARE)
		fast_stop();
	else if (!flags)
		told = fast_closing_range(first, last);
	ret = NEXT(close_range)(first, last, flags);
	if (told)
		fast_closed_range();
	return ret;
}

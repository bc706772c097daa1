/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The library of sdprun --rings: calls of the C library (calls.c), and which descriptors of the
 * program have rings (table.c); the rules are in Documentation/libsdpdev.rst.
 *
 * Nothing here waits or allocates, so that a signal handler may make every call that this library
 * stands in front of.
 */
#ifndef SDPDEV_RINGS_H
#define SDPDEV_RINGS_H

#include "../interpose.h"
#include "../mapped.h"

/* Reads what the environment says, and makes what no signal handler can. */
__hidden void table_start(void);

/* The rings of a descriptor until table_leave(), or NULL: then the call counts, and may attach. */
__hidden struct sdp_fast *table_enter(int fd);
__hidden void table_leave(int fd, struct sdp_fast *fast);

/* What becomes of a descriptor. */
#define SHARED		0	/* it is to be closed, or something else refers to its socket */
#define CLOSED		1	/* what it was is closed */
#define REPLACED	2	/* the number is going to be another descriptor */
#define NEW		(CLOSED | REPLACED)	/* it is another one already */

/* Its rings are given back. */
__hidden void table_forget(int fd, unsigned int how);
__hidden void table_forget_range(unsigned int first, unsigned int last, unsigned int how);

/* Does a call on the descriptor wait, or not from now on (O_NONBLOCK)? */
__hidden void table_waits(int fd, bool waits);

/* No descriptor has rings any more, and none gets any: threads differ in what they mean. */
__hidden void table_stop(void);

/* After fork(2). */
__hidden void table_parent(void);
__hidden void table_child(void);

#endif /* SDPDEV_RINGS_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Which descriptors of the program have rings.
 *
 * A socket gets rings when it has made some calls and its descriptor is all that refers to it.
 * The socket loses them before its descriptor is closed, as soon as something else may refer to
 * the socket, and when its number comes again as another descriptor.  A descriptor that is closed
 * where this library does not see it, and comes again where it does not, is what remains: the
 * connection has ended then, its rings are closed, and the program's call goes to the kernel.
 * But only the pages say so, and the other end's program can write there.
 *
 * Nothing here waits or allocates, so that a signal handler may make every call that this library
 * stands in front of.
 */
#ifndef SDPDEV_RINGS_TABLE_H
#define SDPDEV_RINGS_TABLE_H

#include "../mapped.h"

/* Reads what the environment says, and makes what no signal handler can. */
__hidden void table_start(void);

/*
 * The rings of a descriptor, for the time until table_leave(); NULL if there are none.  Counts
 * the call, and attaches when there have been enough.
 */
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

#endif /* SDPDEV_RINGS_TABLE_H */

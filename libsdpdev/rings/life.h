/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * What calls mean for the table, for all of the names that they have.
 */
#ifndef SDPDEV_RINGS_LIFE_H
#define SDPDEV_RINGS_LIFE_H

#include <sys/socket.h>
#include <sys/types.h>

#include "../internal.h"

/* Two descriptors for a socket, from here on; returns @new. */
__hidden int twice(int old, int new);

/* Before the call, and behind it. */
__hidden void closes_range(unsigned int first, unsigned int last, int flags);
__hidden void closed_range(unsigned int first, unsigned int last, int flags);

/* A call has returned @ret, and so do these. */
__hidden int fcntl_done(int fd, int cmd, const void *arg, int ret);
__hidden int ioctl_done(int fd, unsigned long request, const int *arg, int ret);
__hidden int setsockopt_done(int fd, int level, int name, int ret);
__hidden pid_t forked(pid_t pid);

/* A descriptor has come, or not; returns it. */
__hidden int came(int fd);
__hidden int came_two(const int ends[2], int ret);
/* Messages have gone, or come, with descriptors perhaps; return @ret. */
__hidden ssize_t msg_sent(const struct msghdr *msg, ssize_t ret);
__hidden ssize_t msg_came(const struct msghdr *msg, ssize_t ret);

#endif /* SDPDEV_RINGS_LIFE_H */

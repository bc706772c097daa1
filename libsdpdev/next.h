/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The calls that the preload library stands in front of.
 *
 * NEXT(call) is the next definition in the program's search order, which is the
 * C library's or another preload library's.  Before this library's constructor
 * has looked them up, it is the bare system call: other libraries' constructors
 * may run first, and looking up is allowed neither in a signal handler nor
 * without taking the loader's locks.
 */
#ifndef SDPDEV_NEXT_H
#define SDPDEV_NEXT_H

#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#include "internal.h"

struct timespec64;

struct next_calls {
	int (*socket)(int family, int type, int protocol);
	int (*bind)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*listen)(int fd, int backlog);
	int (*accept)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*accept4)(int fd, struct sockaddr *addr, socklen_t *len, int flags);
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*shutdown)(int fd, int how);
	ssize_t (*send)(int fd, const void *buf, size_t n, int flags);
	ssize_t (*sendto)(int fd, const void *buf, size_t n, int flags,
			  const struct sockaddr *addr, socklen_t len);
	ssize_t (*sendmsg)(int fd, const struct msghdr *msg, int flags);
	int (*sendmmsg)(int fd, struct mmsghdr *msgs, unsigned int n, int flags);
	ssize_t (*recv)(int fd, void *buf, size_t n, int flags);
	ssize_t (*recvfrom)(int fd, void *buf, size_t n, int flags,
			    struct sockaddr *addr, socklen_t *len);
	ssize_t (*recvmsg)(int fd, struct msghdr *msg, int flags);
	int (*recvmmsg)(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			struct timespec *timeout);
	int (*getsockname)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*getpeername)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*getsockopt)(int fd, int level, int name, void *val, socklen_t *len);
	int (*setsockopt)(int fd, int level, int name, const void *val, socklen_t len);
	ssize_t (*read)(int fd, void *buf, size_t n);
	ssize_t (*write)(int fd, const void *buf, size_t n);
	int (*close)(int fd);
	int (*close_range)(unsigned int first, unsigned int last, int flags);
	int (*unshare)(int flags);
	int (*fchmod)(int fd, mode_t mode);
	int (*fchmodat)(int fd, const char *path, mode_t mode, int flags);
	int (*fchown)(int fd, uid_t uid, gid_t gid);
	int (*fchownat)(int fd, const char *path, uid_t uid, gid_t gid, int flags);
#if __TIMESIZE == 32
	ssize_t (*__recvmsg64)(int fd, struct msghdr *msg, int flags);
	int (*__recvmmsg64)(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			    struct timespec64 *timeout);
#endif
};

__hidden extern struct next_calls next_calls;

/* No order is needed: both definitions that there ever are work at any time. */
#define NEXT(call)	(__atomic_load_n(&next_calls.call, __ATOMIC_RELAXED))

/* Looks all of them up; called once, by the constructor. */
__hidden void next_find(void);

#endif /* SDPDEV_NEXT_H */

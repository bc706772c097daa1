/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The calls that this library stands in front of: NEXT(call) is the next definition in the
 * program's search order, which is the C library's or another preloaded one's.
 *
 * The constructor looks all of them up: a signal handler must not wait for the loader's lock.
 * Only a call before that looks for itself.
 */
#ifndef SDPDEV_RINGS_NEXT_H
#define SDPDEV_RINGS_NEXT_H

#include <sys/socket.h>
#include <sys/types.h>

#include "../internal.h"

/* Of the C library, for programs that are built with _FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *buf, size_t n, size_t size);
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t size, int flags,
		       struct sockaddr *addr, socklen_t *len);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

/* And for 32-bit programs with times of 64 bits. */
struct mmsghdr;
int __fcntl_time64(int fd, int cmd, ...);
int __ioctl_time64(int fd, unsigned long request, ...);
int __setsockopt64(int fd, int level, int name, const void *value, socklen_t len);
ssize_t __sendmsg64(int fd, const struct msghdr *msg, int flags);
int __sendmmsg64(int fd, struct mmsghdr *msgs, unsigned int n, int flags);
ssize_t __recvmsg64(int fd, struct msghdr *msg, int flags);
int __recvmmsg64(int fd, struct mmsghdr *msgs, unsigned int n, int flags, void *timeout);

/**
 * struct next - where a call goes on
 * @name: the call
 * @call: its next definition, or NULL if nobody has looked
 */
struct next {
	const char *name;
	void *call;
};

__hidden void *next_find(struct next *next);
__hidden void next_find_all(void);

#define NEXT(name_)							\
({									\
	static struct next next_ __attribute__((section("sdp_next"))) = {	\
		.name = #name_,						\
	};								\
									\
	(__typeof__(name_) *)(__atomic_load_n(&next_.call, __ATOMIC_RELAXED) ?:\
			      next_find(&next_));			\
})

#endif /* SDPDEV_RINGS_NEXT_H */

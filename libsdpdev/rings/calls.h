/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The calls that this library stands in front of: NEXT(call) is the next definition in the
 * program's search order, which is the C library's or another preloaded one's.
 *
 * The constructor looks all of them up: a signal handler must not wait for the loader's lock.
 * Only a call before that looks for itself.
 */
#ifndef SDPDEV_RINGS_CALLS_H
#define SDPDEV_RINGS_CALLS_H

#include <sys/socket.h>
#include <sys/types.h>

#include "../mapped.h"

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

#define NEXT(name_)							\
({									\
	static struct next next_ __attribute__((section("sdp_next"))) = {	\
		.name = #name_,						\
	};								\
									\
	(__typeof__(name_) *)(__atomic_load_n(&next_.call, __ATOMIC_RELAXED) ?:\
			      next_find(&next_));			\
})

/* Stands in front of a call: its type, its name, its parameters, and what it returns. */
#define CALL(type, name, params, ...)					\
	__public type name params					\
	{								\
		return __VA_ARGS__;					\
	}

/* The argument behind the last one that has a name: each comes where a pointer would. */
#define LAST_ARGUMENT(last)						\
({									\
	va_list args_;							\
	void *arg_;							\
									\
	va_start(args_, last);						\
	arg_ = va_arg(args_, void *);					\
	va_end(args_);							\
	arg_;								\
})

/* The call has given a descriptor, or has not; returns @fd. */
__hidden int came(int fd);
/* close(2) has returned @ret, and so does this. */
__hidden int close_done(int fd, int ret);
/* A message has gone, or come, perhaps with descriptors; return @ret. */
__hidden ssize_t msg_sent(const struct msghdr *msg, ssize_t ret);
__hidden ssize_t msg_came(const struct msghdr *msg, ssize_t ret);
__hidden int msgs_sent(const struct mmsghdr *msgs, int ret);
__hidden int msgs_came(const struct mmsghdr *msgs, int ret);
/* fork(2) has returned @pid, and so does this. */
__hidden pid_t forked(pid_t pid);

#endif /* SDPDEV_RINGS_CALLS_H */

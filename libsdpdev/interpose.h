/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * For a library that a program has loaded, and that stands in front of calls of the C library. It
 * says what __public is.
 */
#ifndef SDPDEV_INTERPOSE_H
#define SDPDEV_INTERPOSE_H

#include <dlfcn.h>
#include <stdarg.h>

/* Stands in front of a call. */
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

/*
 * NEXT(call) is the next definition in the program's search order, which is the C library's or
 * another preloaded one's.  The constructor looks all of them up: a signal handler must not wait
 * for the loader's lock.  Only a call before that looks for itself.
 */
struct next {
	const char *name;
	void *call;		/* NULL before the first look */
};

#define NEXT(name_)							\
({									\
	static struct next next_ __attribute__((section("sdp_next"))) = {	\
		.name = #name_,						\
	};								\
									\
	(__typeof__(name_) *)(__atomic_load_n(&next_.call, __ATOMIC_RELAXED) ?:\
			      next_find(&next_));			\
})

/* The linker's: where NEXT() has put its structures. */
#pragma GCC visibility push(hidden)
extern struct next __start_sdp_next[], __stop_sdp_next[];
#pragma GCC visibility pop

static inline void *next_find(struct next *next)
{
	void *call = dlsym(RTLD_NEXT, next->name);

	__atomic_store_n(&next->call, call, __ATOMIC_RELAXED);
	return call;
}

/* For the library's constructor. */
static inline void next_find_all(void)
{
	struct next *next;

	/* cppcheck-suppress comparePointers ; the two ends of an array */
	for (next = __start_sdp_next; next < __stop_sdp_next; next++)
		next_find(next);
}

#endif /* SDPDEV_INTERPOSE_H */

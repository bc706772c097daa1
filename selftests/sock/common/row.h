/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rows: what a program does with a connection, done twice.
 *
 * A row runs on plain TCP sockets first, and then on sockets with the ULP "sdp".  It says()
 * what it sees.  It has passed if it has said the same both times, and nothing was wrong().
 */
#ifndef SELFTESTS_SOCK_ROW_H
#define SELFTESTS_SOCK_ROW_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct row - one test
 * @name: what holds if it passes
 * @run: the test, in a process of its own
 */
struct row {
	const char *name;
	void (*run)(void);
};

/* This run is that of plain TCP. */
extern bool plain;

/* What TCP has to do as well. */
__attribute__((format(printf, 1, 2)))
void say(const char *format, ...);

/* What is wrong whatever TCP does. */
__attribute__((format(printf, 1, 2)))
void wrong(const char *format, ...);

/* How often something was wrong. */
unsigned int wrongs(void);

/* What a call returns, and its errno, is the same on TCP. */
#define SAY(call)							\
({									\
	long long said_;						\
	errno = 0;							\
	said_ = (call);							\
	say_call(#call, said_);						\
	said_;								\
})
void say_call(const char *call, long long ret);

/* For what a row needs before it can test anything. */
#define need(cond)							\
	((cond) ? (void)0 : need_failed(__FILE__, __LINE__, #cond))
__attribute__((noreturn))
void need_failed(const char *file, int line, const char *what);

/* Is the checked kernel the one that runs?  It takes fewer rounds. */
bool slow_kernel(void);

/* Milliseconds of a clock that does not jump. */
long long now_ms(void);

/*
 * How often this thread has slept: a call that waits does.  Times would not tell: a timer of the
 * kernel's counts from its last tick, which may be long ago where other machines are busy.
 */
long sleeps(void);

/* Until a thread of this process is in a call that waits. */
void until_asleep(pid_t tid);

/*
 * Run the rows whose names begin with one of @names, or all of them without names, and
 * print the results.  @lists ends with NULL, each list with a row without a name.
 */
int rows_main(const struct row *const *lists, char **names);

#endif /* SELFTESTS_SOCK_ROW_H */

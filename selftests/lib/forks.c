// SPDX-License-Identifier: GPL-2.0
/*
 * A child that is made while another thread asks an endpoint for an option has no
 * descriptor of that call's, which would keep the connection open.  Nor does a child keep
 * one from a signal handler that comes in the midst of such a call, which goes on there.
 * Run by sdprun.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sdpdev.h"
#include "tap.h"

#define CHILDREN	400
#define MOST		256	/* descriptors */
#define OPTIONS		200	/* calls of a child's */
#define CALLS		100000	/* that a signal may come in the midst of */
#define PERIOD		300	/* microseconds */

static int endpoint, happened;
static unsigned int asked, made, wrong;
static bool in_child;

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < MOST; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool ask(void)
{
	socklen_t len = sizeof(int);
	int value = 1;

	return !setsockopt(endpoint, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value)) &&
	       !getsockopt(endpoint, SOL_SOCKET, SO_KEEPALIVE, &value, &len) && value == 1;
}

static void *keep_asking(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&happened, __ATOMIC_ACQUIRE)) {
		must(ask());
		__atomic_fetch_add(&asked, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static bool good_exit(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

static bool good_child(unsigned int round, int before)
{
	pid_t child;

	/* It is to meet every moment of a call. */
	for (unsigned int i = 0; i < round * 2654435761U >> 20; i++)
		__atomic_load_n(&happened, __ATOMIC_RELAXED);
	child = fork();
	must(child >= 0);
	if (child)
		return good_exit(child);
	if (descriptors() != before)
		_exit(1);
	for (int i = 0; i < OPTIONS; i++) {
		if (!ask())
			_exit(2);
	}
	_exit(descriptors() == before ? 0 : 3);
}

static void test_thread(void)
{
	int before = descriptors();
	unsigned int bad = 0;
	pthread_t thread;

	must(!pthread_create(&thread, NULL, keep_asking, NULL));
	while (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE))
		;
	for (unsigned int i = 0; i < CHILDREN; i++)
		bad += !good_child(i, before);
	__atomic_store_n(&happened, 1, __ATOMIC_RELEASE);
	must(!pthread_join(thread, NULL));
	ok(!bad, "fork while a thread asks: %u of %u children have more, or cannot ask", bad,
	   CHILDREN);
	ok(descriptors() == before, "the parent has what it had");
}

static void fork_there(int unused)
{
	pid_t child;

	(void)unused;
	if (in_child || made >= CHILDREN)
		return;
	child = fork();
	made++;
	if (child)
		wrong += child < 0 || !good_exit(child);
	else
		in_child = true;
}

static void test_handler(void)
{
	const struct itimerval often = { { 0, PERIOD }, { 0, PERIOD } }, never = { 0 };
	int before = descriptors();

	signal(SIGALRM, fork_there);
	must(!setitimer(ITIMER_REAL, &often, NULL));
	for (int i = 0; i < CALLS && made < CHILDREN; i++) {
		if (!ask())
			_exit(2);
		if (in_child)
			_exit(descriptors() == before ? 0 : 1);
	}
	must(!setitimer(ITIMER_REAL, &never, NULL));
	ok(made && !wrong, "fork in a signal handler: %u of %u children have more, or cannot ask",
	   wrong, made);
	ok(descriptors() == before, "the parent has what it had");
}

int main(void)
{
	struct sdp_info info;

	tap_plan(5);
	endpoint = socket(AF_INET, SOCK_STREAM, 0);
	must(endpoint >= 0);
	ok(!sdp_info(endpoint, &info), "the socket is an endpoint");
	test_thread();
	test_handler();
	return tap_exit();
}

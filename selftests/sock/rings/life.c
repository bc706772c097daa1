// SPDX-License-Identifier: GPL-2.0
/*
 * Rings, and what ends: processes, sockets, directions; and waiting calls.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rows.h"

static int ended(pid_t pid)
{
	int status = -1;

	need(waitpid(pid, &status, 0) == pid);
	return status;
}

static void forked(void)
{
	struct ringed r = ringed_new();
	pid_t pid = fork();

	if (!pid) {
		fast_put(&r.c.a, r.a, 500, 0);
		fast_get_all(&r.c.b, r.b, 200);
		if (sdp_fast_state(r.a) || sdp_fast_state(r.b))
			wrong("a child has rings");
		sdp_fast_close(r.a);
		_exit(0);
	}
	SAY(ended(pid));
	r.c.a.out += 500;
	r.c.b.in += 200;
	SAY(fast_get(&r.c.b, r.b, 1000, 0));
	ringed_open(&r);
	fast_put(&r.c.a, r.a, 100, 0);
	fast_get_all(&r.c.b, r.b, 100);
	ringed_close(&r);
}

/* The maker of rings and its child have the same process ID, each in its own namespace. */
static void other_namespace(void)
{
	struct ringed r;
	pid_t pid;

	need(!unshare(CLONE_NEWPID));
	pid = fork();
	if (pid) {
		SAY(ended(pid));
		return;
	}
	need(getpid() == 1);
	r = ringed_new();
	need(!unshare(CLONE_NEWPID));
	pid = fork();
	if (!pid) {
		need(getpid() == 1);
		need(sdp_fast_open(r.c.b.fd, 0));
		fast_put(&r.c.a, r.a, 500, 0);
		if (sdp_fast_state(r.a) || sdp_fast_state(r.b))
			wrong("a child has rings");
		_exit(0);
	}
	SAY(ended(pid));
	r.c.a.out += 500;
	fast_get_all(&r.c.b, r.b, 500);
	_exit(0);
}

static void socket_goes(void)
{
	struct ringed r = ringed_new();

	fast_put(&r.c.a, r.a, 3000, 0);
	SAY(close(r.c.a.fd));
	SAY(fast_put_some(&r.c.a, r.a, 10, MSG_NOSIGNAL));
	SAY(fast_get(&r.c.a, r.a, 10, 0));
	fast_get_all(&r.c.b, r.b, 3000);
	SAY(fast_get(&r.c.b, r.b, 10, 0));
	SAY(fast_get(&r.c.b, NULL, 10, 0));
	sdp_fast_close(r.a);
	sdp_fast_close(r.b);
	close(r.c.b.fd);
}

static void rings_go(void)
{
	struct ringed r = ringed_new();

	fast_put(&r.c.a, r.a, 3000, 0);
	fast_put(&r.c.b, r.b, 2000, 0);
	fast_get_all(&r.c.b, r.b, 100);
	sdp_fast_close(r.a);
	r.a = NULL;
	fast_put(&r.c.a, NULL, 500, 0);
	fast_get_all(&r.c.a, NULL, 2000);
	fast_get_all(&r.c.b, r.b, 3400);
	/* And they come back. */
	r.a = sdp_fast_open(r.c.a.fd, 0);
	need(r.a);
	ringed_open(&r);
	ringed_close(&r);
}

static void unread(void)
{
	struct ringed r = ringed_new();

	fast_put(&r.c.a, r.a, 3000, 0);
	SAY(close(r.c.b.fd));
	SAY(fast_get(&r.c.a, r.a, 10, 0));
	SAY(fast_put_some(&r.c.a, r.a, 10, MSG_NOSIGNAL));
	sdp_fast_close(r.a);
	sdp_fast_close(r.b);
	close(r.c.a.fd);
}

static void shut(void)
{
	struct ringed r = ringed_new();

	fast_put(&r.c.a, r.a, 3000, 0);
	SAY(shutdown(r.c.a.fd, SHUT_WR));
	SAY(fast_put_some(&r.c.a, r.a, 10, MSG_NOSIGNAL));
	fast_get_all(&r.c.b, r.b, 3000);
	SAY(fast_get(&r.c.b, r.b, 10, 0));
	/* The other half goes on. */
	fast_put(&r.c.b, r.b, 1000, 0);
	fast_get_all(&r.c.a, r.a, 1000);
	SAY(shutdown(r.c.a.fd, SHUT_RD));
	SAY(fast_get(&r.c.a, r.a, 10, MSG_DONTWAIT));
	ringed_close(&r);
}

static void shut_to_read(void)
{
	struct ringed r = ringed_new();

	fast_put(&r.c.b, r.b, 1000, 0);
	arrived(&r.c.a, 1000);
	SAY(shutdown(r.c.a.fd, SHUT_RD));
	SAY(fast_get(&r.c.a, r.a, 2000, MSG_DONTWAIT));
	SAY(fast_get(&r.c.a, r.a, 10, MSG_DONTWAIT));
	fast_put(&r.c.a, r.a, 1000, 0);
	fast_get_all(&r.c.b, r.b, 1000);
	ringed_close(&r);
}

static void killed(void)
{
	int i;

	for (i = 0; i < 5; i++) {
		struct ringed r = { .c = conn_moved() };
		pid_t pid = fork();
		ssize_t n;

		if (!pid) {
			close(r.c.b.fd);
			r.a = sdp_fast_open(r.c.a.fd, 0);
			need(r.a);
			for (;;)
				fast_put(&r.c.a, r.a, 1 + r.c.a.out % 3000, 0);
		}
		close(r.c.a.fd);
		if (i % 2)
			r.b = sdp_fast_open(r.c.b.fd, 0);
		fast_get_all(&r.c.b, r.b, 3000000);
		kill(pid, SIGKILL);
		need(ended(pid) == SIGKILL);
		/* Every byte that was sent, and then the end. */
		do {
			n = fast_get(&r.c.b, r.b, 10000, 0);
		} while (n > 0);
		SAY(n);
		if (r.b)
			sdp_fast_close(r.b);
		close(r.c.b.fd);
	}
}

/* A reader that has a half of its own goes, and whoever waits for room goes on. */
static void reader_killed(void)
{
	struct ringed r = { .c = conn_moved() };
	pid_t pid = fork();
	ssize_t n;

	if (!pid) {
		close(r.c.a.fd);
		r.b = sdp_fast_open(r.c.b.fd, 0);
		need(r.b);
		fast_get_all(&r.c.b, r.b, 3000000);
		raise(SIGKILL);
	}
	close(r.c.b.fd);
	r.a = sdp_fast_open(r.c.a.fd, 0);
	need(r.a);
	do {
		n = fast_put_some(&r.c.a, r.a, 10000, MSG_NOSIGNAL);
	} while (n > 0);
	SAY(n);
	need(ended(pid) == SIGKILL);
	sdp_fast_close(r.a);
	close(r.c.a.fd);
}

static void by_edges(void)
{
	struct ringed r = ringed_new();
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	int i, n, ep = epoll_create1(0);

	need(!epoll_ctl(ep, EPOLL_CTL_ADD, r.c.b.fd, &e));
	for (i = 0; i < 300; i++) {
		ssize_t got;

		fast_put(&r.c.a, i % 3 ? r.a : NULL, 1 + i, 0);
		n = epoll_wait(ep, &e, 1, 5000);
		if (n != 1)
			wrong("round %d: %d events", i, n);
		do {
			got = fast_get(&r.c.b, i % 5 ? r.b : NULL, 100, MSG_DONTWAIT);
		} while (got > 0);
		need(got < 0 && errno == EAGAIN);
		need(r.c.b.in == r.c.a.out);
	}
	close(ep);
	ringed_close(&r);
}

/* Whatever comes behind a call gives an event, also where the call has left bytes. */
static void edges_of_parts(void)
{
	struct ringed r = ringed_new();
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	int i, n, ep = epoll_create1(0);

	need(!epoll_ctl(ep, EPOLL_CTL_ADD, r.c.b.fd, &e));
	for (i = 0; i < 300; i++) {
		size_t left = r.c.a.out - r.c.b.in;

		fast_put(&r.c.a, r.a, 10, 0);
		n = epoll_wait(ep, &e, 1, 5000);
		if (n != 1)
			wrong("round %d, %zu bytes left: %d events", i, left, n);
		/* Nothing is left of every third, nor looked for behind it. */
		n = i % 3 ? 5 : left + 10 + i % 2;
		need(fast_get(&r.c.b, i % 5 < 3 ? r.b : NULL, n, MSG_DONTWAIT) > 0);
	}
	close(ep);
	ringed_close(&r);
}

static void *late_one(void *arg)
{
	struct ringed *r = arg;
	int i;

	for (i = 0; i < 50; i++) {
		usleep(3000);
		fast_put(&r->c.a, r->a, 20, 0);
	}
	return NULL;
}

/* By all calls that sleep. */
static void sleepers(void)
{
	struct ringed r = ringed_new();
	char bytes[20] = "";
	pthread_t thread;
	int i;

	need(!pthread_create(&thread, NULL, late_one, &r));
	for (i = 0; i < 50; i++) {
		struct pollfd p = { .fd = r.c.b.fd, .events = POLLIN };

		switch (i % 3) {
		case 0:
			need(poll(&p, 1, 10000) == 1);
			break;
		case 1:
			need(recv(r.c.b.fd, bytes, 20, MSG_PEEK | MSG_WAITALL) == 20);
			break;
		}
		fast_get_all(&r.c.b, i % 2 ? r.b : NULL, 20);
	}
	need(!pthread_join(thread, NULL));
	ringed_close(&r);
}

/* A full ring, and calls that wait for room there. */
static void full(void)
{
	struct ringed r = ringed_new();
	struct epoll_event e = { .events = EPOLLOUT | EPOLLET };
	int i, ep = epoll_create1(0);

	need(!epoll_ctl(ep, EPOLL_CTL_ADD, r.c.a.fd, &e));
	for (i = 0; i < 8; i++) {
		size_t sent = 0;

		while (fast_put_some(&r.c.a, r.a, 70000, MSG_DONTWAIT) > 0)
			;
		need(errno == EAGAIN);
		epoll_wait(ep, &e, 1, 0);
		if (fast_put_some(&r.c.a, r.a, 1, MSG_DONTWAIT) > 0)
			continue;
		sent = r.c.a.out - r.c.b.in;
		fast_get_all(&r.c.b, i % 3 ? r.b : NULL, sent);
		need(epoll_wait(ep, &e, 1, 10000) == 1);
	}
	close(ep);
	ringed_close(&r);
}

static void asked(void)
{
	struct ringed r = ringed_new();
	int n = -1;

	fast_put(&r.c.a, r.a, 1000, 0);
	arrived(&r.c.b, 1000);
	fast_get_all(&r.c.b, r.b, 400);
	need(!ioctl(r.c.b.fd, FIONREAD, &n));
	SAY(n);
	ringed_close(&r);
}

/* The rules hold for a program that makes no system call: it passes by TCP now and then. */
static void touched(void)
{
	struct ringed r = ringed_new();
	long long end = now_ms() + 6000;
	bool passed = plain;

	while (!passed && now_ms() < end) {
		fast_put(&r.c.a, r.a, 100, 0);
		fast_get_all(&r.c.b, r.b, 100);
		passed = !moved(r.c.a.fd);
	}
	if (!passed)
		wrong("it has not passed by TCP");
	ringed_open(&r);
	ringed_close(&r);
}

static void wait_sigio(const sigset_t *set, const char *when)
{
	const struct timespec patience = { .tv_sec = 60 };

	if (sigtimedwait(set, NULL, &patience) != SIGIO)
		wrong("no SIGIO %s", when);
}

/* The kernel is not told of O_ASYNC: it finds it when it looks after all pipes. */
static void by_sigio(void)
{
	struct ringed r = ringed_new();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	need(!sigprocmask(SIG_BLOCK, &set, NULL));
	need(!fcntl(r.c.b.fd, F_SETOWN, getpid()));
	need(!fcntl(r.c.b.fd, F_SETFL, fcntl(r.c.b.fd, F_GETFL) | O_ASYNC));
	fast_put(&r.c.a, r.a, 1, 0);
	wait_sigio(&set, "for the first byte");
	fast_get_all(&r.c.b, r.b, 1);
	fast_put(&r.c.a, r.a, 1, 0);
	wait_sigio(&set, "for the second byte");
	fast_get_all(&r.c.b, r.b, 1);
	ringed_close(&r);
	/* What is left of them ends no other process. */
	signal(SIGIO, SIG_IGN);
	need(!sigprocmask(SIG_UNBLOCK, &set, NULL));
}

const struct row life_rows[] = {
	{ "a child has no rings", forked },
	{ "nor has one in another PID namespace", other_namespace },
	{ "a socket is closed, and its rings stay", socket_goes },
	{ "rings are closed, and their socket stays", rings_go },
	{ "a close with bytes in the ring resets", unread },
	{ "shutdown", shut },
	{ "shutdown of what is received", shut_to_read },
	{ "a sender is killed", killed },
	{ "a reader is killed", reader_killed },
	{ "edges", by_edges },
	{ "edges where bytes are left", edges_of_parts },
	{ "SIGIO", by_sigio },
	{ "whoever sleeps is woken", sleepers },
	{ "a full ring", full },
	{ "SIOCINQ", asked },
	{ "a program without system calls passes by TCP", touched },
	{ NULL, NULL },
};

// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting: for time, signals, poll(), epoll, SIGIO; and what ends a wait.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/conn.h"
#include "rows.h"

static volatile sig_atomic_t signals;

static void count(int sig)
{
	(void)sig;
	signals++;
}

static void handle(int sig, int flags)
{
	struct sigaction act = { .sa_handler = count, .sa_flags = flags };

	need(!sigaction(sig, &act, NULL));
}

static void timeouts(int fd, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	need(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	need(!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
}

/* Milliseconds in which TCP moves unread bytes on. */
#define MOVES_ON	(late ? 300 : 100)

/* Fill the direction; how much fits is no fact. */
static void stuff(struct end *e)
{
	long long last = now_ms();

	while (now_ms() - last < MOVES_ON) {
		while (put_some(e, 65536, MSG_DONTWAIT) > 0)
			last = now_ms();
		need(errno == EAGAIN);
		usleep(5000);
	}
	want(e, true);
}

static void drain(struct conn *c)
{
	while (c->b.in < c->a.out)
		need(get(&c->b, 1 << 20, 0) > 0);
}

/*
 * Milliseconds by the kernel's ticks, which time-outs count, too: a busy machine may have them late
 * and several at once, and then a time-out is short by any other clock.
 */
static long long ticks_ms(void)
{
	struct timespec t;

	need(!clock_gettime(CLOCK_MONOTONIC_COARSE, &t));
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void receive_timeout(void)
{
	struct conn c = conn_moved();
	long long start = ticks_ms();

	timeouts(c.b.fd, 60);
	SAY(get(&c.b, 10, 0));
	say("not before: %d", ticks_ms() - start >= 55);
	put(&c.a, 5, 0);
	SAY(get(&c.b, 10, MSG_WAITALL));
	put(&c.a, 5, 0);
	SAY(get(&c.b, 10, MSG_WAITALL | MSG_PEEK));
	SAY(get(&c.b, 10, 0));
	SAY(get(&c.b, 10, MSG_PEEK));
}

/* Milliseconds that a call may wait; urgent data comes shortly before they are over. */
#define URGENT_WAIT	1000
#define URGENT_AFTER	900

static void *urgent_later(void *arg)
{
	usleep(URGENT_AFTER * 1000);
	put(arg, 1, MSG_OOB);
	return NULL;
}

/* An urgent byte is none of those that the call waits for, and does not prolong it. */
static void urgent_timeout(void)
{
	struct conn c = conn_moved();
	long long start, took;
	pthread_t t;
	char byte;

	timeouts(c.b.fd, URGENT_WAIT);
	need(!pthread_create(&t, NULL, urgent_later, &c.a));
	start = ticks_ms();
	SAY(recv(c.b.fd, &byte, 1, 0));
	took = ticks_ms() - start;
	if (took < URGENT_WAIT - 50 || took >= URGENT_WAIT + URGENT_AFTER - 50)
		wrong("it waited %lld ms of %d", took, URGENT_WAIT);
	pthread_join(t, NULL);
}

static void send_timeout(void)
{
	struct conn c = conn_moved();
	long long start;

	stuff(&c.a);
	timeouts(c.a.fd, 60);
	do
		start = ticks_ms();
	while (put_some(&c.a, 1 << 20, 0) > 0);
	say("%s", strerrorname_np(errno));
	say("not before: %d", ticks_ms() - start >= 55);
	drain(&c);
	SAY(put_some(&c.a, 1000, 0));
	drain(&c);
}

/* What a call may wait, also if it sends in pieces by TCP so that the direction may move. */
#define SEND_WAIT	1000

/* Milliseconds that a call takes which can send no more than a part. */
static long long send_timed_out(struct conn *c)
{
	long long took;
	ssize_t n;

	took = ticks_ms();
	n = put_some(&c->a, 1 << 20, 0);
	took = ticks_ms() - took;
	/* Less than a piece. */
	say("some: %d", n >= 0 && n < 1 << 18);
	want(&c->a, false);
	drain(c);
	return took;
}

/* A busy machine is late, but not each time. */
static void send_timeout_by_tcp(void)
{
	struct conn c = conn_moved();
	long long took = LLONG_MAX;
	int i, size = 1 << 15;

	need(!setsockopt(c.a.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
	need(!setsockopt(c.b.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	gate(&c.a, false);
	timeouts(c.a.fd, SEND_WAIT);
	for (i = 0; i < 5 && took >= 2 * SEND_WAIT - 50; i++)
		took = send_timed_out(&c);
	if (took < SEND_WAIT - 50 || i == 5)
		wrong("it waited %lld ms of %d", took, SEND_WAIT);
}

struct later {
	struct end *end;
	pthread_t thread;
	pid_t tid;
	int signal;
	size_t bytes;
	bool shut;
};

/* Another thread sends a signal, bytes, or FIN, once this one waits. */
static void *later_run(void *arg)
{
	struct later *l = arg;

	until_asleep(l->tid);
	if (l->signal)
		pthread_kill(l->thread, l->signal);
	if (l->bytes)
		put(l->end, l->bytes, 0);
	if (l->shut)
		shutdown(l->end->fd, SHUT_WR);
	return NULL;
}

#define LATER(...)							\
({									\
	static struct later later_;					\
	pthread_t thread_;						\
	later_ = (struct later){					\
		.thread = pthread_self(), .tid = gettid(), __VA_ARGS__		\
	};								\
	need(!pthread_create(&thread_, NULL, later_run, &later_));	\
	thread_;							\
})

static int bits(int fd, int events, int ms)
{
	struct pollfd p = { fd, events, 0 };
	int n = poll(&p, 1, ms);

	return n < 0 ? -errno : p.revents;
}

/* How often a call tells what is left, and what that is. */
static void tell(struct end *e, size_t n, int flags)
{
	char bytes[100], control[4 * CMSG_SPACE(sizeof(int))];
	struct iovec v = { bytes, n };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int times = 0, left = -1;
	struct cmsghdr *cm;
	ssize_t got;

	need(n <= sizeof(bytes));
	got = SAY(recvmsg(e->fd, &m, flags));
	for (cm = CMSG_FIRSTHDR(&m); cm; cm = CMSG_NXTHDR(&m, cm)) {
		need(cm->cmsg_level == IPPROTO_TCP && cm->cmsg_type == TCP_CM_INQ);
		memcpy(&left, CMSG_DATA(cm), sizeof(left));
		times++;
	}
	say("told %d times: %d left", times, left);
	if (got <= 0)
		return;
	look(e, 0, bytes, got);
	if (!(flags & MSG_PEEK))
		e->in += got;
}

static void inq_of_waits(void)
{
	struct conn c = conn_moved();
	pthread_t t;
	int one = 1;

	need(!setsockopt(c.b.fd, IPPROTO_TCP, TCP_INQ, &one, sizeof(one)));
	gate(&c.a, false);
	put(&c.a, 10, 0);
	arrived(&c.b, 10);
	timeouts(c.b.fd, 60);
	tell(&c.b, 15, MSG_PEEK | MSG_WAITALL);
	timeouts(c.b.fd, 0);
	t = LATER(.end = &c.a, .bytes = 20);
	tell(&c.b, 15, MSG_WAITALL);
	pthread_join(t, NULL);
	tell(&c.b, 99, 0);
	gate(&c.a, true);
	put(&c.a, 5, 0);
	want(&c.a, true);
	arrived(&c.b, 5);
	shutdown(c.a.fd, SHUT_WR);
	need(bits(c.b.fd, POLLRDHUP, 1000));
	tell(&c.b, 99, 0);
	tell(&c.b, 99, 0);
}

static void interrupted(void)
{
	struct conn c = conn_moved();
	pthread_t t;

	handle(SIGUSR1, 0);
	handle(SIGUSR2, SA_RESTART);
	t = LATER(.signal = SIGUSR1);
	SAY(get(&c.b, 10, 0));
	pthread_join(t, NULL);

	put(&c.a, 4, 0);
	t = LATER(.signal = SIGUSR1);
	SAY(get(&c.b, 10, MSG_WAITALL));
	pthread_join(t, NULL);

	t = LATER(.signal = SIGUSR2, .end = &c.a, .bytes = 7);
	SAY(get(&c.b, 7, MSG_WAITALL));
	pthread_join(t, NULL);

	/* With a limit in time no call is begun again. */
	timeouts(c.b.fd, 5000);
	t = LATER(.signal = SIGUSR2);
	SAY(get(&c.b, 10, 0));
	pthread_join(t, NULL);

	stuff(&c.a);
	t = LATER(.signal = SIGUSR1);
	SAY(send(c.a.fd, "x", 1, 0));
	pthread_join(t, NULL);
	say("%d signals", signals);
}

static void woken(void)
{
	struct conn c = conn_moved();
	pthread_t t;

	t = LATER(.end = &c.a, .bytes = 1);
	SAY(get(&c.b, 10, 0));
	pthread_join(t, NULL);
	t = LATER(.end = &c.a, .bytes = 3000);
	SAY(get(&c.b, 3000, MSG_WAITALL));
	pthread_join(t, NULL);
	/* The bytes come by TCP, and the reader has begun to wait at the pipe. */
	gate(&c.a, false);
	t = LATER(.end = &c.a, .bytes = 3);
	SAY(get(&c.b, 10, 0));
	pthread_join(t, NULL);
	gate(&c.a, true);
	t = LATER(.end = &c.a, .bytes = 3, .shut = true);
	SAY(get(&c.b, 10, MSG_WAITALL));
	pthread_join(t, NULL);
	SAY(get(&c.b, 10, 0));
}

#define BITS (POLLIN | POLLOUT | POLLPRI | POLLRDHUP | POLLRDNORM | POLLWRNORM)

static void polled(void)
{
	struct conn c = conn_moved();

	SAY(bits(c.b.fd, BITS, 0));
	put(&c.a, 1, 0);
	need(bits(c.b.fd, POLLIN, 1000));
	SAY(bits(c.b.fd, BITS, 0));
	get_all(&c.b, 1);
	SAY(bits(c.b.fd, BITS, 0));
	SAY(bits(c.b.fd, POLLIN, 30));
	stuff(&c.a);
	SAY(bits(c.a.fd, BITS, 0));
	SAY(bits(c.b.fd, BITS, 0));
	drain(&c);
	SAY(bits(c.a.fd, POLLOUT, 5000));
	SAY(bits(c.b.fd, BITS, 0));
	c = conn_three();
	SAY(bits(c.b.fd, BITS, 0));
	get_all(&c.b, THREE_CLAIMED);
	SAY(bits(c.b.fd, BITS, 0));
	get_all(&c.b, THREE_TCP);
	SAY(bits(c.b.fd, BITS, 0));
	get_all(&c.b, THREE_PIPE);
	SAY(bits(c.b.fd, BITS, 0));
}

static int watch(int fd, int events)
{
	struct epoll_event e = { .events = events };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	need(ep >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	return ep;
}

static int event(int ep, int ms)
{
	struct epoll_event e = {};
	int n = epoll_wait(ep, &e, 1, ms);

	return n < 0 ? -errno : (int)e.events;
}

/* Each byte that comes is an event, read or not. */
static void edges(void)
{
	struct conn c = conn_moved();
	int i, ep = watch(c.b.fd, EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP);

	SAY(event(ep, 0));
	SAY(event(ep, 0));
	for (i = 0; i < 6; i++) {
		if (i == 3)
			gate(&c.a, false);
		put(&c.a, 1, 0);
		arrived(&c.b, c.a.out - c.b.in);
		SAY(event(ep, 1000));
		SAY(event(ep, 0));
		if (i & 1)
			SAY(get(&c.b, 1, 0));
	}
	SAY(get(&c.b, 99, 0));
	SAY(get(&c.b, 99, MSG_DONTWAIT));
	SAY(event(ep, 0));
	gate(&c.a, true);
	put(&c.a, 1, 0);
	want(&c.a, true);
	SAY(event(ep, 1000));
	put(&c.a, 1, 0);
	shutdown(c.a.fd, SHUT_WR);
	need(bits(c.b.fd, POLLRDHUP, 1000));
	SAY(event(ep, 1000));
	SAY(get(&c.b, 99, 0));
	SAY(get(&c.b, 99, 0));
}

/* A process that asks for one byte and then stays; it runs when no other one wants to. */
static pid_t idle_reader(int fd)
{
	struct sched_param param = {};
	char byte, path[32];
	int call = -1;
	pid_t pid = fork();
	FILE *f;

	need(pid >= 0);
	if (!pid) {
		sched_setscheduler(0, SCHED_IDLE, &param);
		recv(fd, &byte, 1, 0);
		for (;;)
			pause();
	}
	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	/* "running" is no number. */
	while (call != SYS_recvfrom) {
		f = fopen(path, "re");
		need(f);
		if (fscanf(f, "%d", &call) != 1)
			sched_yield();
		fclose(f);
	}
	return pid;
}

/*
 * A reader that has been woken, and has not run since, need not be woken again; others that wait
 * for edges still hear of each byte.
 */
static void edges_beside_reader(void)
{
	struct conn c = conn_moved();
	int i, ep = watch(c.b.fd, EPOLLIN | EPOLLET);
	pid_t pid = idle_reader(c.b.fd);

	for (i = 0; i < 3; i++) {
		put(&c.a, 2, 0);
		SAY(event(ep, 1000));
	}
	need(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
}

static void levels(void)
{
	struct conn c = conn_moved();
	int i, ep = watch(c.b.fd, EPOLLIN | EPOLLRDHUP);

	for (i = 0; i < 4; i++) {
		put(&c.a, 2, 0);
		SAY(event(ep, 1000));
		SAY(get(&c.b, 1, 0));
		SAY(event(ep, 1000));
		SAY(get(&c.b, 1, 0));
		SAY(event(ep, 0));
	}
	shutdown(c.a.fd, SHUT_WR);
	SAY(event(ep, 1000));
	SAY(event(ep, 1000));
}

/* A writer that waits for room by edges is told of it, and not before. */
static void edges_of_room(void)
{
	struct conn c = conn_moved();
	int i, ep = watch(c.a.fd, EPOLLOUT | EPOLLET);

	SAY(event(ep, 0));
	for (i = 0; i < 3; i++) {
		do
			stuff(&c.a);
		while (event(ep, 50) > 0);
		drain(&c);
		SAY(event(ep, 5000));
	}
}

static void wait_signals(int n)
{
	int ms;

	for (ms = 0; signals < n && ms < 1000; ms++)
		usleep(1000);
}

static void sigio(void)
{
	struct conn c = conn_moved();
	int i;

	handle(SIGIO, SA_RESTART);
	need(!fcntl(c.b.fd, F_SETOWN, getpid()));
	need(!fcntl(c.b.fd, F_SETFL, fcntl(c.b.fd, F_GETFL) | O_ASYNC));
	for (i = 0; i < 4; i++) {
		if (i == 2)
			gate(&c.a, false);
		signals = 0;
		put(&c.a, 1, 0);
		wait_signals(1);
		say("signals: %d", !!signals);
		get_all(&c.b, 1);
	}
	want(&c.a, false);
}

static void half_closed(void)
{
	struct conn c = conn_moved();

	put(&c.a, 3000, 0);
	want(&c.a, true);
	SAY(shutdown(c.a.fd, SHUT_WR));
	SAY(put_some(&c.a, 1, 0));
	need(bits(c.b.fd, POLLRDHUP, 1000));
	SAY(bits(c.b.fd, BITS, 0));
	SAY(get(&c.b, 9999, MSG_WAITALL));
	SAY(get(&c.b, 9999, 0));
	/* The end that sends no more still reads. */
	gate(&c.b, true);
	SAY(put_some(&c.b, 2000, 0));
	want(&c.b, true);
	SAY(put_some(&c.b, 2000, 0));
	SAY(get(&c.a, 4000, MSG_WAITALL));
	SAY(shutdown(c.b.fd, SHUT_WR));
	SAY(get(&c.a, 1, 0));
	SAY(bits(c.a.fd, BITS, 100));
}

const struct row wait_rows[] = {
	{ "SO_RCVTIMEO", receive_timeout },
	{ "SO_RCVTIMEO beside urgent data", urgent_timeout },
	{ "SO_SNDTIMEO", send_timeout },
	{ "SO_SNDTIMEO of a call that TCP gets in pieces", send_timeout_by_tcp },
	{ "TCP_INQ of calls that wait, and at the end", inq_of_waits },
	{ "signals interrupt calls that wait", interrupted },
	{ "bytes and FIN end a wait", woken },
	{ "poll()", polled },
	{ "epoll: levels", levels },
	{ "epoll: edges, a byte at a time", edges },
	{ "epoll: edges, beside a reader", edges_beside_reader },
	{ "epoll: edges of room", edges_of_room },
	{ "SIGIO", sigio },
	{ "half-close", half_closed },
	{ }
};

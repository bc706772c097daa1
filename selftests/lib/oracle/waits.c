// SPDX-License-Identifier: GPL-2.0
/*
 * Other ways to wait, to duplicate and to share: select() and its like, processes that
 * accept from one listener, connect() that is cut short, programs without the library.
 */
#include "oracle.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>

static char back[64];
static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
	(void)signal;
	caught++;
}

static void say_select(const char *label, int fd, long timeout_us)
{
	struct timeval wait = { .tv_sec = timeout_us / 1000000, .tv_usec = timeout_us % 1000000 };
	fd_set in, out, urgent;
	int n;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&urgent);
	FD_SET(fd, &in);
	FD_SET(fd, &out);
	FD_SET(fd, &urgent);
	n = select(fd + 1, &in, &out, &urgent, &wait);
	printf("%s: %d%s%s%s\n", label, n, FD_ISSET(fd, &in) ? " in" : "",
	       FD_ISSET(fd, &out) ? " out" : "", FD_ISSET(fd, &urgent) ? " urgent" : "");
}

static void selects(void)
{
	struct timespec soon = { .tv_nsec = 1000000 };
	struct sigaction act = { .sa_handler = on_signal };
	struct epoll_event event = { .events = EPOLLIN };
	int l = listener(5), c = client_socket(0), s, e = epoll_create1(0);
	struct pollfd shown;
	sigset_t none, usr1;
	fd_set in;

	say_select("select of a listener", l, 0);
	say_select("of a new one", c, 0);
	must(!connect(c, &server_addr.any, server_len));
	wait_for(l, POLLIN);
	say_select("somebody is there", l, 0);
	s = accept(l, NULL, NULL);
	must(s >= 0 && !close(l));
	say_select("a connection", s, 0);
	must(send(c, "x", 1, 0) == 1);
	wait_bytes(s, 1);
	say_select("a byte", s, 0);
	must(send(c, "u", 1, MSG_OOB) == 1);
	wait_for(s, POLLPRI);
	say_select("an urgent one", s, 0);
	must(recv(s, back, 1, MSG_OOB) == 1 && recv(s, back, 1, 0) == 1);
	say_select("none any more", s, 0);

	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	must(!sigaction(SIGUSR1, &act, NULL) && !sigprocmask(SIG_BLOCK, &usr1, NULL));
	must(!epoll_ctl(e, EPOLL_CTL_ADD, s, &event));
	shown = (struct pollfd){ .fd = s, .events = POLLIN };
	FD_ZERO(&in);
	FD_SET(s, &in);
	raise(SIGUSR1);
	say("pselect", pselect(s + 1, &in, NULL, NULL, NULL, &none));
	raise(SIGUSR1);
	say("ppoll", ppoll(&shown, 1, NULL, &none));
	raise(SIGUSR1);
	say("epoll_pwait", epoll_pwait(e, &event, 1, -1, &none));
	say("signals", caught);
	say("epoll_pwait2", epoll_pwait2(e, &event, 1, &soon, NULL));
	must(!sigprocmask(SIG_UNBLOCK, &usr1, NULL));
	must(!shutdown(c, SHUT_WR));
	wait_for(s, POLLRDHUP);
	say_select("the end", s, 0);
	close(e);
	must(!close(c) && !close(s));
}

static void duplicates(void)
{
	int p[2], d;

	connected(p);
	d = fcntl(p[0], F_DUPFD_CLOEXEC, 300);
	say("F_DUPFD_CLOEXEC", d);
	say("its flags", fcntl(d, F_GETFD));
	say("send", send(d, "one", 3, 0));
	must(!close(d));
	d = fcntl(p[0], F_DUPFD, 300);
	say("F_DUPFD", d);
	say("its flags", fcntl(d, F_GETFD));
	say("dup3", dup3(p[0], 301, O_CLOEXEC));
	say("its flags", fcntl(301, F_GETFD));
	must(!close(p[0]) && !close(d));
	say("send", send(301, "two", 3, 0));
	say("recv", recv(p[1], back, 6, MSG_WAITALL));
	/* O_NONBLOCK is of all of them. */
	d = dup(301);
	must(!fcntl(d, F_SETFL, O_NONBLOCK));
	say("recv without waiting", recv(301, back, 1, 0));
	must(!close(301) && !close(d));
	say("the end", recv(p[1], back, 1, 0));
	must(!close(p[1]));
}

static int in_clone(void *arg)
{
	int *p = arg;

	must(send(p[0], "clone", 5, 0) == 5);
	must(!close(p[0]));
	return 0;
}

/* A process that shares the table of descriptors. */
static void cloned(void)
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	int p[2], status = -1;
	pid_t child;

	connected(p);
	child = clone(in_clone, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, p);
	must(child >= 0 && waitpid(child, &status, 0) == child);
	say("a clone", status);
	say("what it sent", recv(p[1], back, 5, MSG_WAITALL));
	say("it closed here, too", send(p[0], "x", 1, 0));
	say("the end", recv(p[1], back, 1, 0));
	must(!close(p[1]));
}

#define WORKERS		4
#define CLIENTS		12

/* Each connection is one worker's. */
static void worker(int l, int to, bool waits)
{
	int s;

	if (!waits)
		must(!fcntl(l, F_SETFL, O_NONBLOCK));
	for (;;) {
		if (!waits)
			wait_for(l, POLLIN);
		s = accept(l, NULL, NULL);
		if (s < 0 && errno == EAGAIN)
			continue;
		if (s < 0)
			_exit(errno == EINVAL ? 0 : 1);
		must(write(to, "a", 1) == 1);
		must(send(s, "served", 6, 0) == 6 && !close(s));
	}
}

static void workers(bool waits)
{
	int l = listener(CLIENTS), c[CLIENTS], pipes[2], i, status, bad = 0, served = 0;
	pid_t child[WORKERS];

	must(!pipe(pipes));
	for (i = 0; i < WORKERS; i++) {
		child[i] = fork();
		must(child[i] >= 0);
		if (!child[i]) {
			alarm(PATIENCE);
			close(pipes[0]);
			worker(l, pipes[1], waits);
		}
	}
	close(pipes[1]);
	for (i = 0; i < CLIENTS; i++) {
		c[i] = client_socket(0);
		must(!connect(c[i], &server_addr.any, server_len));
	}
	for (i = 0; i < CLIENTS; i++) {
		served += recv(c[i], back, 7, MSG_WAITALL) == 6;
		must(!close(c[i]));
	}
	say("served by several processes", served);
	must(!shutdown(l, SHUT_RD));
	for (i = 0; i < WORKERS; i++) {
		must(waitpid(child[i], &status, 0) == child[i]);
		bad += status != 0;
	}
	say("programs that ended badly", bad);
	say("accepted", read(pipes[0], back, sizeof(back)));
	must(!close(l) && !close(pipes[0]));
}

/* Again and again, since the first one may come before the call waits; 0: no more. */
static void alarm_often(long us)
{
	struct itimerval often = { .it_value.tv_usec = us, .it_interval.tv_usec = us };

	must(!setitimer(ITIMER_REAL, &often, NULL));
}

static void connect_cut_short(void)
{
	struct timeval wait = { .tv_usec = 200000 };
	struct sigaction act = { .sa_handler = on_signal };
	long ret;
	int c;

	to_nobody();
	c = client_socket(0);
	must(!setsockopt(c, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)));
	say("connect with a time", connect(c, &server_addr.any, server_len));
	say("once more", connect(c, &server_addr.any, server_len));
	say_events("it shows", shows(c));
	say("send", send(c, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT));
	say("recv", recv(c, back, 1, MSG_DONTWAIT));
	must(!close(c));

	/* Back, and to another one. */
	to_nobody();
	to_nobody();
	alarm(0);
	must(!sigaction(SIGALRM, &act, NULL));
	c = client_socket(0);
	caught = 0;
	alarm_often(200000);
	ret = connect(c, &server_addr.any, server_len);
	alarm_often(0);
	say("connect and a signal", ret);
	say("signals", caught > 0);
	must(!fcntl(c, F_SETFL, O_NONBLOCK));
	say("once more", connect(c, &server_addr.any, server_len));
	must(!close(c));
	signal(SIGALRM, SIG_DFL);
	alarm(PATIENCE);
	to_nobody();
}

/* cat without the library: read(), write() and the end are the kernel's. */
static void without_library(void)
{
	int p[2], status = -1;
	pid_t child;

	connected(p);
	child = fork();
	must(child >= 0);
	if (!child) {
		unsetenv("LD_PRELOAD");
		dup2(p[1], 0);
		dup2(p[1], 1);
		closefrom(3);
		execlp("cat", "cat", NULL);
		_exit(1);
	}
	must(!close(p[1]));
	say("to a program without the library", send(p[0], "hello", 5, 0));
	say("back from it", recv(p[0], back, 5, MSG_WAITALL));
	must(!shutdown(p[0], SHUT_WR));
	say("the end", recv(p[0], back, 1, 0));
	must(waitpid(child, &status, 0) == child);
	say("it is content", status);
	must(!close(p[0]));
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	selects();
	duplicates();
	cloned();
	workers(true);
	workers(false);
	connect_cut_short();
	without_library();
	return 0;
}

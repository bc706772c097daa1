// SPDX-License-Identifier: GPL-2.0
/*
 * How connections end: half closed, closed, reset; and what poll(), errors and
 * signals say of it.
 */
#include "oracle.h"

#include <pthread.h>
#include <sys/epoll.h>

static volatile sig_atomic_t pipes;

static void on_pipe(int signal)
{
	(void)signal;
	pipes++;
}

static void half_closed(void)
{
	char back[16];
	int p[2];

	connected(p);
	say("write before", write(p[0], "last", 4));
	say("shutdown of the sending half", shutdown(p[0], SHUT_WR));
	say_events("the other end shows", wait_for(p[1], POLLRDHUP));
	say("it reads the rest", recv(p[1], back, sizeof(back), 0));
	say("then the end", recv(p[1], back, sizeof(back), 0));
	say("and again", read(p[1], back, sizeof(back)));
	say("the end without waiting", recv(p[1], back, 1, MSG_DONTWAIT));
	say("it still sends", send(p[1], "answer", 6, 0));
	wait_bytes(p[0], 6);
	say("which arrives", recv(p[0], back, sizeof(back), 0));
	say_events("the half closed end shows", shows(p[0]));
	pipes = 0;
	say("write after shutdown", write(p[0], "x", 1));
	say("signals", pipes);
	say("send after shutdown", send(p[0], "x", 1, 0));
	say("signals", pipes);
	say("send without signal", send(p[0], "x", 1, MSG_NOSIGNAL));
	say("signals", pipes);
	say("shutdown again", shutdown(p[0], SHUT_WR));
	say("shutdown of the other half", shutdown(p[1], SHUT_WR));
	say_events("both halves closed, it shows", wait_for(p[0], POLLIN | POLLHUP));
	say("it reads the end", recv(p[0], back, sizeof(back), 0));
	say("wrong way to shut", shutdown(p[0], 7));
	close_pair(p);
}

static void shut_receiving(void)
{
	char back[16];
	int p[2];

	connected(p);
	say("shutdown of the receiving half", shutdown(p[1], SHUT_RD));
	say("it reads the end", recv(p[1], back, sizeof(back), 0));
	say_events("it shows", shows(p[1]));
	say("it still sends", send(p[1], "x", 1, 0));
	wait_bytes(p[0], 1);
	say("which arrives", recv(p[0], back, sizeof(back), 0));
	close_pair(p);

	connected(p);
	say("shutdown of both", shutdown(p[0], SHUT_RDWR));
	say("recv then", recv(p[0], back, sizeof(back), 0));
	say("send then", send(p[0], "x", 1, MSG_NOSIGNAL));
	wait_for(p[1], POLLRDHUP);
	say("the other end reads the end", recv(p[1], back, sizeof(back), 0));
	close_pair(p);
}

static void closed(void)
{
	char back[16];
	int p[2];

	connected(p);
	must(write(p[0], "bye", 3) == 3);
	say("close", close(p[0]));
	wait_for(p[1], POLLRDHUP);
	say_events("the other end shows", shows(p[1]));
	say("what was sent before arrives", recv(p[1], back, sizeof(back), 0));
	say("then the end", recv(p[1], back, sizeof(back), 0));
	say("peer's name is known still",
	    getpeername(p[1], (struct sockaddr *)back, &(socklen_t){ sizeof(back) }));
	must(!close(p[1]));
}

/* An end that closes with bytes unread, or without lingering, resets. */
static void reset(const char *how, bool unread)
{
	struct linger now = { .l_onoff = 1 };
	socklen_t len = sizeof(int);
	int error = -1, p[2];
	char back[16];

	say_text("reset by", how);
	connected(p);
	if (unread) {
		must(write(p[1], "unread", 6) == 6);
		wait_bytes(p[0], 6);
	} else {
		must(!setsockopt(p[0], SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	}
	must(!close(p[0]));
	say_events("the other end shows", shows_reset(p[1]));
	say("recv", recv(p[1], back, sizeof(back), 0));
	say("recv again", recv(p[1], back, sizeof(back), 0));
	pipes = 0;
	say("send", send(p[1], "x", 1, 0));
	say("signals", pipes);
	must(!getsockopt(p[1], SOL_SOCKET, SO_ERROR, &error, &len));
	say("SO_ERROR then", error);
	say("getpeername", getpeername(p[1], (struct sockaddr *)back,
				       &(socklen_t){ sizeof(back) }));
	must(!close(p[1]));

	connected(p);
	must(!setsockopt(p[0], SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	must(!close(p[0]));
	shows_reset(p[1]);
	must(!getsockopt(p[1], SOL_SOCKET, SO_ERROR, &error, &len));
	printf("SO_ERROR first: %s\n", strerrorname_np(error));
	say("recv after it", recv(p[1], back, sizeof(back), 0));
	must(!close(p[1]));
}

static void blocked(void)
{
	static char much[8 << 20];
	char back[4096];
	ssize_t n, all = 0;
	int p[2];
	pid_t child;

	connected(p);
	child = fork();
	must(child >= 0);
	if (!child) {
		must(!close(p[1]));
		n = write(p[0], much, sizeof(much));
		_exit(n == sizeof(much) ? 0 : 1);
	}
	must(!close(p[0]));
	while ((n = read(p[1], back, sizeof(back))) > 0)
		all += n;
	say("a long write, closed at once, arrives whole", all == sizeof(much));
	say("then the end", n);
	must(waitpid(child, NULL, 0) == child);
	must(!close(p[1]));

	connected(p);
	child = fork();
	must(child >= 0);
	if (!child) {
		must(!close(p[1]));
		usleep(100000);
		_exit(write(p[0], "x", 1) == 1 ? 0 : 1);
	}
	must(!close(p[0]));
	say("a reader waits for its byte", read(p[1], back, sizeof(back)));
	say("and for the end", read(p[1], back, sizeof(back)));
	must(waitpid(child, NULL, 0) == child);
	must(!close(p[1]));
}

static void say_epoll(const char *label, int e, int timeout)
{
	struct epoll_event event = { 0 };
	int n = epoll_wait(e, &event, 1, timeout);

	say_events(label, n ? (int)event.events : 0);
}

static void edges(void)
{
	struct epoll_event want = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	int e = epoll_create1(EPOLL_CLOEXEC), p[2];
	char back[16];

	connected(p);
	must(!epoll_ctl(e, EPOLL_CTL_ADD, p[1], &want));
	say_epoll("first edge", e, 5000);
	say_epoll("no other", e, 100);
	must(write(p[0], "a", 1) == 1);
	wait_bytes(p[1], 1);
	say_epoll("bytes came", e, 5000);
	say_epoll("no other", e, 100);
	must(write(p[0], "b", 1) == 1);
	wait_bytes(p[1], 2);
	say_epoll("more came though none was read", e, 5000);
	must(recv(p[1], back, sizeof(back), 0) == 2);
	say_epoll("reading makes none", e, 100);
	must(!shutdown(p[0], SHUT_WR));
	wait_for(p[1], POLLRDHUP);
	say_epoll("the end came", e, 5000);
	close(e);
	close_pair(p);
}

/* Sends signals, one after the other: the first may come before the call waits. */
static pid_t signals_begin(void)
{
	pid_t child, parent = getpid();

	child = fork();
	must(child >= 0);
	if (child)
		return child;
	do {
		usleep(200000);
	} while (getppid() == parent && !kill(parent, SIGUSR1));
	_exit(1);
}

static void signals_end(pid_t child)
{
	must(!kill(child, SIGKILL));
	while (waitpid(child, NULL, 0) != child)
		must(errno == EINTR);
}

static void interrupted(void)
{
	struct sigaction act = { .sa_handler = on_pipe };
	char back[16];
	pid_t child;
	int p[2], l;

	connected(p);
	must(!sigaction(SIGUSR1, &act, NULL));
	child = signals_begin();
	say("recv that a signal interrupts", recv(p[1], back, sizeof(back), 0));
	signals_end(child);
	close_pair(p);

	l = listener(1);
	child = signals_begin();
	say("accept that a signal interrupts", accept(l, NULL, NULL));
	signals_end(child);
	must(!close(l));
}

/* The only thread of a process has cancelled itself, and is so at the next call. */
static void cancelled(void)
{
	int l = listener(1), status;
	pid_t child;

	must(!fcntl(l, F_SETFL, O_NONBLOCK));
	fflush(stdout);
	child = fork();
	must(child >= 0);
	if (!child) {
		must(!pthread_cancel(pthread_self()));
		accept(l, NULL, NULL);
		_exit(1);
	}
	must(waitpid(child, &status, 0) == child);
	say("accept ends a thread that has cancelled itself", !status);
	must(!close(l));
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	signal(SIGPIPE, on_pipe);
	half_closed();
	shut_receiving();
	closed();
	reset("SO_LINGER of no time", false);
	reset("bytes unread", true);
	blocked();
	edges();
	interrupted();
	cancelled();
	return 0;
}

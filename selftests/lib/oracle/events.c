// SPDX-License-Identifier: GPL-2.0
/*
 * Signals, threads and epoll() around connections, and calls in many pieces.
 */
#include "oracle.h"

#include <limits.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/time.h>

#include "waiter.h"

static char buf[256 << 10], back[256 << 10];
static volatile sig_atomic_t caught;
static siginfo_t last;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	last = *info;
	caught++;
}

static void catch(int signal, int flags)
{
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags };

	must(!sigaction(signal, &act, NULL));
	caught = 0;
}

static int wait_caught(void)
{
	int i;

	for (i = 0; i < PATIENCE * 200 && !caught; i++)
		usleep(5000);
	return caught > 0;
}

static void async(int near)
{
	int p[2], here, there;

	catch(SIGIO, SA_RESTART);
	catch(SIGRTMIN, 0);
	connected(p);
	here = p[near];
	there = p[!near];
	must(!fcntl(here, F_SETOWN, getpid()));
	must(!fcntl(here, F_SETFL, O_ASYNC));
	must(send(there, "a", 1, 0) == 1);
	say("SIGIO", wait_caught());
	say("F_SETSIG", fcntl(here, F_SETSIG, SIGRTMIN));
	say("F_GETSIG", fcntl(here, F_GETSIG) == SIGRTMIN);
	caught = 0;
	must(send(there, "b", 1, 0) == 1);
	say("the signal of choice", wait_caught());
	say("it says which descriptor", last.si_fd == here);
	say("that it is readable", last.si_code == POLL_IN);
	must(!fcntl(here, F_SETFL, 0));
	caught = 0;
	must(send(there, "c", 1, 0) == 1);
	wait_bytes(here, 3);
	say("switched off", caught);
	must(!fcntl(here, F_SETFL, O_ASYNC));
	must(!shutdown(there, SHUT_WR));
	say("the end", wait_caught());
	say("is readable", last.si_code == POLL_IN);
	close_pair(p);
	signal(SIGIO, SIG_IGN);
}

static void async_listener(void)
{
	int l = listener(2), c;

	catch(SIGIO, SA_RESTART);
	must(!fcntl(l, F_SETOWN, getpid()));
	must(!fcntl(l, F_SETFL, O_ASYNC | O_NONBLOCK));
	c = client_socket(0);
	must(!connect(c, &server_addr.any, server_len));
	say("SIGIO for a listener", wait_caught());
	must(!close(c));
	must(!close(l));
	signal(SIGIO, SIG_IGN);
}

static void say_epoll(const char *label, int e, int timeout)
{
	struct epoll_event event = { 0 };
	int n = epoll_wait(e, &event, 1, timeout);

	say_events(label, n ? (int)event.events : 0);
}

static void epolls(void)
{
	struct epoll_event want = { .events = EPOLLIN | EPOLLONESHOT };
	int one = epoll_create1(EPOLL_CLOEXEC), two = epoll_create1(EPOLL_CLOEXEC), p[2];

	connected(p);
	must(!epoll_ctl(one, EPOLL_CTL_ADD, p[1], &want));
	must(send(p[0], "a", 1, 0) == 1);
	say_epoll("one shot", one, PATIENCE * 1000);
	must(send(p[0], "b", 1, 0) == 1);
	wait_bytes(p[1], 2);
	say_epoll("and no other", one, 0);
	must(!epoll_ctl(one, EPOLL_CTL_MOD, p[1], &want));
	say_epoll("until it is armed again", one, PATIENCE * 1000);
	must(!epoll_ctl(one, EPOLL_CTL_DEL, p[1], NULL));

	want.events = EPOLLIN | EPOLLEXCLUSIVE;
	say("exclusive", epoll_ctl(one, EPOLL_CTL_ADD, p[1], &want));
	say_epoll("tells what is there", one, PATIENCE * 1000);
	must(recv(p[1], back, 2, MSG_WAITALL) == 2);
	say_epoll("level: nothing left", one, 0);
	want.events = EPOLLIN;
	must(!epoll_ctl(two, EPOLL_CTL_ADD, one, &want));
	say_epoll("nested: nothing", two, 0);
	must(send(p[0], "c", 1, 0) == 1);
	say_epoll("nested: something", two, PATIENCE * 1000);
	say_epoll("and what", one, PATIENCE * 1000);
	say_epoll("level: again", one, 0);
	must(!close(p[0]));
	wait_for(p[1], POLLRDHUP);
	say_epoll("the peer has closed", one, 0);
	must(!close(p[1]));
	say_epoll("closed descriptors are gone", one, 0);
	close(one);
	close(two);
}

static long call_recv(int fd)
{
	return recv(fd, back, 1, 0);
}

/* Bytes that are not read; true: they will be read from now on. */
static volatile bool taken;

static long call_send(int fd)
{
	long n;

	do {
		n = send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
	} while (n > 0 && !taken);
	return n;
}

static long call_accept(int fd)
{
	return accept(fd, NULL, NULL);
}

static long call_connect(int fd)
{
	return connect(fd, &server_addr.any, server_len);
}

static long call_poll(int fd)
{
	return wait_for(fd, POLLIN);
}

static long call_epoll(int fd)
{
	struct epoll_event event;

	return epoll_wait(fd, &event, 1, PATIENCE * 1000);
}

/*
 * How many of the two have been woken.  All that one event wakes it wakes in one go,
 * with the lock of the listener's wait queue held: poll() takes that after it.
 */
static int woken(int l, const int e[2])
{
	wait_for(l, POLLIN);
	return (shows(e[0]) & POLLIN) + (shows(e[1]) & POLLIN);
}

/* Two wait for one listener: one connection wakes one of them, two wake both. */
static void wake_one(void)
{
	struct epoll_event want = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	int l = listener(5), e[2], c[2], i;
	struct waiter w[2];
	struct pollfd p[2];

	for (i = 0; i < 2; i++) {
		e[i] = epoll_create1(EPOLL_CLOEXEC);
		must(!epoll_ctl(e[i], EPOLL_CTL_ADD, l, &want));
		waiter_start(&w[i], call_epoll, e[i]);
		p[i] = (struct pollfd){ .fd = e[i], .events = POLLIN };
	}
	for (i = 0; i < 2; i++) {
		c[i] = client_socket(0);
		must(!connect(c[i], &server_addr.any, server_len));
		while (poll(p, 2, PATIENCE * 1000) <= i)
			usleep(1000);
		say("exclusive: woken by now", woken(l, e));
	}
	for (i = 0; i < 2; i++) {
		say("each once", waiter_end(&w[i]));
		must(!close(c[i]) && !close(e[i]));
	}
	must(!close(l));
}

static void threads(void)
{
	struct waiter w;
	int p[2], l;

	connected(p);
	waiter_start(&w, call_recv, p[1]);
	must(!shutdown(p[1], SHUT_RD));
	say("recv when another thread shuts it", waiter_end(&w));
	close_pair(p);

	connected(p);
	waiter_start(&w, call_send, p[0]);
	must(!shutdown(p[0], SHUT_WR));
	say("send when another thread shuts it", waiter_end(&w));
	close_pair(p);

	connected(p);
	waiter_start(&w, call_poll, p[1]);
	must(!shutdown(p[1], SHUT_RDWR));
	say_events("poll when another thread shuts it", waiter_end(&w));
	close_pair(p);

	l = listener(1);
	waiter_start(&w, call_accept, l);
	must(!shutdown(l, SHUT_RD));
	say("accept when another thread shuts it", waiter_end(&w));
	must(!close(l));

	/* Linux keeps the file until the call is done. */
	connected(p);
	waiter_start(&w, call_recv, p[1]);
	must(!close(p[1]));
	must(send(p[0], "x", 1, 0) == 1);
	say("recv when another thread closes it", waiter_end(&w));
	say("then it is closed", recv(p[0], back, 1, 0));
	must(!close(p[0]));
}

/* As many signals while it waits, each when it does so again; false: it has ended. */
static bool waits_on(struct waiter *w, int signals)
{
	while (signals-- && waiter_asleep(w)) {
		caught = 0;
		must(!pthread_kill(w->thread, SIGUSR1));
		wait_caught();
	}
	return waiter_asleep(w);
}

static void restart_accept(void)
{
	int l = listener(1), c = client_socket(0);
	struct waiter w;
	long ret;

	waiter_start(&w, call_accept, l);
	if (waits_on(&w, 1))
		must(!connect(c, &server_addr.any, server_len));
	ret = waiter_end(&w);
	say("accept and a signal", ret < 0 ? ret : 0);
	must(ret < 0 || !close(ret));
	must(!close(c) && !close(l));
}

/* What was sent in part is cut short in any case; then nothing more goes in. */
static void restart_send(int signals)
{
	int p[2], little = 4096;
	struct waiter w;

	connected(p);
	must(!setsockopt(p[0], SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)));
	must(!setsockopt(p[1], SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)));
	taken = false;
	waiter_start(&w, call_send, p[0]);
	if (waits_on(&w, signals)) {
		taken = true;
		while (!waiter_done(&w))
			if (recv(p[1], back, sizeof(back), MSG_DONTWAIT) < 0)
				usleep(1000);
	}
	say("send and a signal", waiter_end(&w) > 0 ? 1 : -1);
	close_pair(p);
}

static void restart_connect(void)
{
	int c = client_socket(0);
	struct waiter w;

	to_nobody();
	waiter_start(&w, call_connect, c);
	if (waits_on(&w, 1))
		must(!shutdown(c, SHUT_RDWR));
	say("connect and a signal", waiter_end(&w));
	must(!close(c));
	to_nobody();
}

/* A handler that was set up without SA_RESTART ends the calls. */
static void restarts(int flags)
{
	catch(SIGUSR1, flags);
	restart_accept();
	restart_send((flags & SA_RESTART) ? 5 : 1000);
	restart_connect();
	signal(SIGUSR1, SIG_DFL);
}

static void alarm_soon(void)
{
	struct itimerval soon = { .it_value.tv_usec = 100000 };

	caught = 0;
	must(!setitimer(ITIMER_REAL, &soon, NULL));
}

/* Again and again, since the first one may come before the call waits. */
static void alarm_often(void)
{
	struct itimerval often = {
		.it_value.tv_usec = 100000, .it_interval.tv_usec = 100000
	};

	must(!setitimer(ITIMER_REAL, &often, NULL));
}

/* What the call gave that alarms were for: there are no more. */
static long interrupted_by(long ret)
{
	struct itimerval never = { 0 };

	must(!setitimer(ITIMER_REAL, &never, NULL));
	return ret;
}

/* A byte that comes after the signal. */
static pid_t byte_later(int fd)
{
	pid_t child = fork();

	must(child >= 0);
	if (!child) {
		usleep(400000);
		_exit(send(fd, "x", 1, 0) == 1 ? 0 : 1);
	}
	return child;
}

static void interrupted(void)
{
	struct timeval wait = { .tv_sec = PATIENCE };
	struct pollfd shown;
	pid_t child;
	ssize_t n;
	int p[2], l;

	alarm(0);
	connected(p);
	catch(SIGALRM, 0);
	alarm_often();
	say("recv", interrupted_by(recv(p[1], back, 1, 0)));
	alarm_often();
	say("read", interrupted_by(read(p[1], back, 1)));
	shown = (struct pollfd){ .fd = p[1], .events = POLLIN };
	alarm_often();
	say("poll", interrupted_by(poll(&shown, 1, PATIENCE * 1000)));
	catch(SIGALRM, SA_RESTART);
	/* Before the child begins to count, or the byte may come first. */
	alarm_soon();
	child = byte_later(p[0]);
	say("recv with SA_RESTART", recv(p[1], back, 1, 0));
	say("the signal came", caught);
	must(waitpid(child, NULL, 0) == child);
	must(!setsockopt(p[1], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)));
	alarm_often();
	say("recv with SA_RESTART and a time", interrupted_by(recv(p[1], back, 1, 0)));
	l = listener(1);
	must(!setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)));
	alarm_often();
	say("accept with SA_RESTART and a time", interrupted_by(accept(l, NULL, NULL)));
	must(!close(l));
	catch(SIGALRM, 0);
	alarm_often();
	say("a long send is cut short",
	    interrupted_by(send(p[0], buf, sizeof(buf), 0)) > 0);
	/* There is room now and then as bytes move on. */
	alarm_often();
	do {
		n = send(p[0], buf, sizeof(buf), 0);
	} while (n > 0);
	say("or not begun", interrupted_by(n));
	close_pair(p);
	signal(SIGALRM, SIG_DFL);
	alarm(PATIENCE);
}

static void pieces(void)
{
	static struct iovec out[IOV_MAX + 1], in[IOV_MAX];
	struct msghdr msg = { .msg_iov = in, .msg_iovlen = IOV_MAX };
	int i, at = 0, p[2];

	for (i = 0; i < IOV_MAX; i++) {
		out[i] = (struct iovec){ .iov_base = buf + at, .iov_len = i % 7 };
		in[i] = (struct iovec){ .iov_base = back + at, .iov_len = i % 7 };
		at += i % 7;
	}
	for (i = 0; i < at; i++)
		buf[i] = i * 31 >> 2;
	memset(back, 0, sizeof(back));
	connected(p);
	say("writev of 1024 pieces", writev(p[0], out, IOV_MAX));
	wait_bytes(p[1], at);
	say("recvmsg into as many", recvmsg(p[1], &msg, MSG_WAITALL));
	say("the same", !memcmp(buf, back, at));
	msg.msg_iov = out;
	say("sendmsg of 1024 pieces", sendmsg(p[0], &msg, 0));
	wait_bytes(p[1], at);
	memset(back, 0, sizeof(back));
	say("readv into as many", readv(p[1], in, IOV_MAX));
	say("the same", !memcmp(buf, back, at));
	say("writev of one more", writev(p[0], out, IOV_MAX + 1));
	close_pair(p);
}

/* MSG_PEEK from SO_PEEK_OFF on, where the kernel knows it for TCP. */
static void peeks(void)
{
	int off = 2, p[2];
	socklen_t len = sizeof(off);
	ssize_t n;

	connected(p);
	must(send(p[0], "0123456789", 10, 0) == 10);
	wait_bytes(p[1], 10);
	say("SO_PEEK_OFF", setsockopt(p[1], SOL_SOCKET, SO_PEEK_OFF, &off, len));
	n = recv(p[1], back, 3, MSG_PEEK);
	printf("peek: %.*s\n", (int)n, back);
	n = recv(p[1], back, 3, MSG_PEEK);
	printf("peek: %.*s\n", (int)n, back);
	n = recv(p[1], back, 4, 0);
	printf("recv: %.*s\n", (int)n, back);
	n = recv(p[1], back, 3, MSG_PEEK);
	printf("peek: %.*s\n", (int)n, back);
	say("SO_PEEK_OFF now", getsockopt(p[1], SOL_SOCKET, SO_PEEK_OFF, &off, &len) ? -1 : off);
	say("no error waits", recv(p[1], back, 10, MSG_ERRQUEUE));
	say("thrown away while peeking",
	    recv(p[1], NULL, 3, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT));
	close_pair(p);
}

/* The peer does not read any more: a write by way of a pipe or a file fails, too. */
static void gone(void)
{
	int file, pipes[2], p[2];
	char name[] = "/tmp/oracle.XXXXXX";
	off_t at = 0;

	catch(SIGPIPE, 0);
	file = mkstemp(name);
	must(file >= 0 && !unlink(name));
	must(write(file, buf, 100) == 100);
	must(!pipe(pipes));
	must(write(pipes[1], "piped", 5) == 5);
	connected(p);
	must(!shutdown(p[0], SHUT_WR));
	say("sendfile after the end", sendfile(p[0], file, &at, 100));
	say("signals", caught);
	say("splice after the end", splice(pipes[0], NULL, p[0], NULL, 5, 0));
	say("tee of what is left", tee(pipes[0], pipes[1], 5, SPLICE_F_NONBLOCK));
	wait_for(p[1], POLLRDHUP);
	say("splice of the end", splice(p[1], NULL, pipes[1], NULL, 5, 0));
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	say("splice without waiting", splice(p[0], NULL, pipes[1], NULL, 5, SPLICE_F_NONBLOCK));
	close(pipes[0]);
	close(pipes[1]);
	close(file);
	close_pair(p);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	async(1);
	async(0);
	async_listener();
	epolls();
	wake_one();
	threads();
	interrupted();
	restarts(0);
	restarts(SA_RESTART);
	pieces();
	peeks();
	gone();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Urgent data: MSG_OOB, SO_OOBINLINE, SIOCATMARK, POLLPRI and SIGURG.
 */
#include "oracle.h"

#include <linux/sockios.h>
#include <sys/epoll.h>

static char back[64];
static volatile sig_atomic_t urgents;

static void on_urgent(int signal)
{
	(void)signal;
	urgents++;
}

static void say_bytes(const char *label, ssize_t n)
{
	if (n < 0)
		say(label, -1);
	else
		printf("%s: %zd \"%.*s\"\n", label, n, (int)n, back);
}

static int at_mark(int fd)
{
	int mark = -1;

	return ioctl(fd, SIOCATMARK, &mark) ? -1 : mark;
}

static int ready(int fd)
{
	int n = -1;

	return ioctl(fd, FIONREAD, &n) ? -1 : n;
}

static void nothing(void)
{
	int p[2];

	connected(p);
	say("no urgent byte", recv(p[1], back, 1, MSG_OOB));
	say("no mark", at_mark(p[1]));
	say("it blocks never", recv(p[1], back, 1, MSG_OOB | MSG_DONTWAIT));
	must(send(p[0], "x", 1, 0) == 1);
	wait_bytes(p[1], 1);
	say("an ordinary byte is none", recv(p[1], back, 1, MSG_OOB));
	say("send nothing urgently", send(p[0], "", 0, MSG_OOB));
	say("one half closed", shutdown(p[0], SHUT_WR));
	say("send urgently then", send(p[0], "x", 1, MSG_OOB | MSG_NOSIGNAL));
	close_pair(p);
}

/* The byte is out of the stream, and reading stops where it was. */
static void beside(void)
{
	struct msghdr msg = { .msg_iovlen = 1,
		.msg_iov = &(struct iovec){ .iov_base = back, .iov_len = 8 } };
	int p[2];

	connected(p);
	say("send", send(p[0], "before", 6, 0));
	say("send urgently", send(p[0], "abU", 3, MSG_OOB));
	say("send more", send(p[0], "after", 5, 0));
	say_events("it shows", wait_for(p[1], POLLPRI));
	wait_bytes(p[1], 8);
	say("ready up to the mark", ready(p[1]));
	say("at the mark", at_mark(p[1]));
	say_bytes("peek at the urgent byte", recv(p[1], back, 8, MSG_OOB | MSG_PEEK));
	say_bytes("reading stops before it", recv(p[1], back, 3, 0));
	say_bytes("though all is waited for", recv(p[1], back, 20, MSG_WAITALL));
	say("at the mark", at_mark(p[1]));
	wait_for(p[1], POLLIN);
	say_events("it shows", shows(p[1]));
	say("recvmsg of the urgent byte", recvmsg(p[1], &msg, MSG_OOB));
	printf("byte %c, flags %#x\n", back[0], msg.msg_flags);
	say("once", recv(p[1], back, 1, MSG_OOB));
	say("still at the mark", at_mark(p[1]));
	say_events("it shows", shows(p[1]));
	say_bytes("peek beyond", recv(p[1], back, 3, MSG_PEEK));
	say_bytes("then the rest", recv(p[1], back, 5, MSG_WAITALL));
	say("past the mark", at_mark(p[1]));
	say("no urgent byte any more", recv(p[1], back, 1, MSG_OOB));
	close_pair(p);
}

static void in_line(void)
{
	int one = 1, p[2];

	connected(p);
	must(!setsockopt(p[1], SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one)));
	must(send(p[0], "before", 6, 0) == 6);
	must(send(p[0], "abU", 3, MSG_OOB) == 3);
	must(send(p[0], "after", 5, 0) == 5);
	say_events("in line, it shows", wait_for(p[1], POLLPRI));
	wait_bytes(p[1], 14);
	say("all is ready", ready(p[1]));
	say("in line there is no other way", recv(p[1], back, 1, MSG_OOB));
	say_bytes("reading stops before it", recv(p[1], back, 20, 0));
	say("at the mark", at_mark(p[1]));
	say_bytes("then it goes on with it", recv(p[1], back, 20, 0));
	say("past the mark", at_mark(p[1]));
	say_events("it shows", shows(p[1]));
	close_pair(p);
}

/* An urgent byte that was not read gives way to the next. */
static void another(void)
{
	int i, p[2];

	connected(p);
	must(send(p[0], "1", 1, MSG_OOB) == 1);
	wait_for(p[1], POLLPRI);
	say("alone it is not ready", ready(p[1]));
	say_events("alone it shows", shows(p[1]));
	say("nor to be read", recv(p[1], back, 1, MSG_DONTWAIT));
	must(send(p[0], "abc", 3, 0) == 3);
	wait_for(p[1], POLLIN);
	say_events("with others it shows", shows(p[1]));
	must(send(p[0], "2", 1, MSG_OOB) == 1);
	wait_for(p[1], POLLPRI);
	say_bytes("the second", recv(p[1], back, 1, MSG_OOB));
	say_bytes("what was between", recv(p[1], back, 20, 0));
	say("at the mark", at_mark(p[1]));
	must(send(p[0], "end", 3, 0) == 3);
	say_bytes("what follows", recv(p[1], back, 3, MSG_WAITALL));

	must(send(p[0], "a3", 2, MSG_OOB) == 2);
	must(send(p[0], "b4", 2, MSG_OOB) == 2);
	wait_bytes(p[1], 3);
	say_bytes("the last of two", recv(p[1], back, 1, MSG_OOB));
	say_bytes("the other is in the stream", recv(p[1], back, 20, 0));
	close_pair(p);

	connected(p);
	must(send(p[0], "5", 1, MSG_OOB) == 1);
	wait_for(p[1], POLLPRI);
	must(send(p[0], "6", 1, MSG_OOB) == 1);
	for (i = 0; i < PATIENCE * 200 && *back != '6'; i++) {
		usleep(5000);
		must(recv(p[1], back, 1, MSG_OOB | MSG_PEEK) == 1);
	}
	say("of two that are next only the last is ready", ready(p[1]));
	say("at the mark", at_mark(p[1]));
	say_events("they show", shows(p[1]));
	must(send(p[0], "xyz7", 4, MSG_OOB) == 4);
	for (i = 0; i < PATIENCE * 200 && *back != '7'; i++) {
		usleep(5000);
		must(recv(p[1], back, 1, MSG_OOB | MSG_PEEK) == 1);
	}
	say("ready up to the third", ready(p[1]));
	say_bytes("up to there it reads", recv(p[1], back, 20, 0));
	say("at the mark", at_mark(p[1]));
	say("nothing else", recv(p[1], back, 20, MSG_DONTWAIT));
	close_pair(p);
}

static void signalled(int near)
{
	struct sigaction act = { .sa_handler = on_urgent };
	struct epoll_event event = { .events = EPOLLPRI };
	int e = epoll_create1(EPOLL_CLOEXEC), i, p[2], here, there;

	connected(p);
	here = p[near];
	there = p[!near];
	must(!sigaction(SIGURG, &act, NULL));
	must(!epoll_ctl(e, EPOLL_CTL_ADD, here, &event));
	urgents = 0;
	must(send(there, "n", 1, MSG_OOB) == 1);
	say("epoll tells", epoll_wait(e, &event, 1, PATIENCE * 1000));
	say("POLLPRI", event.events == EPOLLPRI);
	say("nobody owns it: signals", urgents);
	say("F_SETOWN", fcntl(here, F_SETOWN, getpid()));
	say("F_GETOWN", fcntl(here, F_GETOWN) == getpid());
	must(send(there, "s", 1, MSG_OOB) == 1);
	for (i = 0; i < PATIENCE * 200 && !urgents; i++)
		usleep(5000);
	say("signals", urgents);
	say("F_SETOWN of the group", fcntl(here, F_SETOWN, -getpgrp()));
	must(send(there, "g", 1, MSG_OOB) == 1);
	for (i = 0; i < PATIENCE * 200 && urgents < 2; i++)
		usleep(5000);
	say("signals", urgents);
	close(e);
	close_pair(p);
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	must(!setpgid(0, 0));
	nothing();
	beside();
	in_line();
	another();
	signalled(1);
	signalled(0);
	return 0;
}

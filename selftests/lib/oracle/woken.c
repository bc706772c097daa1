// SPDX-License-Identifier: GPL-2.0
/*
 * A thread waits in a call; its connection ends in one way or another.  What the
 * call gives then, and what there is to be had of the connection afterwards.
 */
#include "oracle.h"

#include <sys/epoll.h>

#include "waiter.h"

#define ENDS_BY_SHUTDOWN	3	/* the first of those */

static char buf[64 << 10];

static long do_read(int fd)
{
	char c;

	return read(fd, &c, 1);
}

static long do_recv_all(int fd)
{
	char back[100];

	return recv(fd, back, sizeof(back), MSG_WAITALL);
}

static long do_peek(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_PEEK);
}

static long do_splice(int fd)
{
	int pipes[2], error;
	long n;

	must(!pipe(pipes));
	n = splice(fd, NULL, pipes[1], NULL, 100, 0);
	error = errno;
	must(!close(pipes[0]) && !close(pipes[1]));
	errno = error;
	return n;
}

static long do_poll(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, PATIENCE * 1000);
}

static long do_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };
	int e = epoll_create1(EPOLL_CLOEXEC), n;

	must(e >= 0 && !epoll_ctl(e, EPOLL_CTL_ADD, fd, &event));
	n = epoll_wait(e, &event, 1, PATIENCE * 1000);
	must(!close(e));
	return n;
}

/* A part may have been taken; the next call tells what is wrong then. */
static long do_send(int fd)
{
	long n;

	do {
		n = send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
	} while (n > 0);
	return n;
}

static const struct call {
	const char *name;
	long (*make)(int fd);
	/* What has to be shut for it to end. */
	int half;
} calls[] = {
	{ "read", do_read, SHUT_RD },
	{ "recv of all", do_recv_all, SHUT_RD },
	{ "recv of a peek", do_peek, SHUT_RD },
	{ "splice", do_splice, SHUT_RD },
	{ "poll", do_poll, SHUT_RD },
	{ "epoll_wait", do_epoll, SHUT_RD },
	{ "send", do_send, SHUT_WR },
};

static const char *const ends[] = {
	"the peer resets", "the peer closes with bytes unread", "the peer closes",
	"it is shut to receive", "it is shut to send", "it is shut",
};

static void end(int p[2], unsigned int how)
{
	struct linger reset = { .l_onoff = 1 };

	if (how >= ENDS_BY_SHUTDOWN) {
		must(!shutdown(p[1], how - ENDS_BY_SHUTDOWN));
		return;
	}
	if (!how)
		must(!setsockopt(p[0], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)));
	must(!close(p[0]));
}

static void one(const struct call *call, unsigned int how)
{
	char label[100], back[10];
	struct waiter w;
	int p[2];

	connected(p);
	if (how == 1) {
		must(send(p[1], "x", 1, 0) == 1);
		wait_bytes(p[0], 1);
	}
	waiter_start(&w, call->make, p[1]);
	/* Whether the peer has something unread decides what the sender is told. */
	if (call->half == SHUT_WR)
		wait_bytes(p[0], 1);
	end(p, how);
	snprintf(label, sizeof(label), "%s, %s", call->name, ends[how]);
	say(label, waiter_end(&w));
	if (how >= ENDS_BY_SHUTDOWN)
		must(!close(p[0]));
	else if (how < 2 || call->half == SHUT_WR)
		say_events("it shows", shows_reset(p[1]));
	else
		say("recv", recv(p[1], back, sizeof(back), 0));
	if (how < 2) {
		say("recv", recv(p[1], back, sizeof(back), 0));
		say("send", send(p[1], "z", 1, MSG_NOSIGNAL));
		say("recv again", recv(p[1], back, sizeof(back), 0));
	}
	must(!close(p[1]));
}

int main(int argc, char **argv)
{
	unsigned int i, how;

	oracle_init(argc, argv);
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (how = 0; how < sizeof(ends) / sizeof(*ends); how++)
			if (how < ENDS_BY_SHUTDOWN || how == ENDS_BY_SHUTDOWN + SHUT_RDWR ||
			    how == ENDS_BY_SHUTDOWN + (unsigned int)calls[i].half)
				one(&calls[i], how);
	return 0;
}

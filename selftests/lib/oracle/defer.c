// SPDX-License-Identifier: GPL-2.0
/*
 * TCP_DEFER_ACCEPT: the client is connected, but accept() and poll() have nothing
 * before the first bytes, the end, or the end of the time.
 */
#include "oracle.h"

static char buf[100];

static long get(int fd)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &value, &len) ? -1 : value;
}

/* A listener that does not wait in accept(), and its time in seconds. */
static int deferring(int seconds)
{
	int l = listener(5);

	must(!setsockopt(l, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds)));
	must(!fcntl(l, F_SETFL, O_NONBLOCK));
	return l;
}

static int client(void)
{
	int c = client_socket(0);

	must(!connect(c, &server_addr.any, server_len));
	return c;
}

static int accepted(int l)
{
	int s;

	wait_for(l, POLLIN);
	s = accept4(l, NULL, NULL, SOCK_NONBLOCK);
	must(s >= 0);
	return s;
}

static void values(void)
{
	static const int seconds[] = { 0, 1, 2, 30, 1000, -1 };
	int l = listener(1);
	unsigned int i;

	for (i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
		printf("%d seconds ", seconds[i]);
		say("set", setsockopt(l, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds[i],
				      sizeof(*seconds)));
		say("are", get(l));
	}
	must(!close(l));
}

static void by_bytes(void)
{
	int l = deferring(60), c = client(), other = client(), s;

	say_events("connected, and silent", shows(l));
	say("accept", accept(l, NULL, NULL));
	must(send(other, "other", 5, 0) == 5);
	s = accepted(l);
	say("the one that speaks first", recv(s, buf, sizeof(buf), 0));
	say("the option of what was accepted", get(s));
	say("accept again", accept(l, NULL, NULL));
	must(!close(s));
	must(send(c, "one", 3, 0) == 3);
	s = accepted(l);
	say("then the other", recv(s, buf, sizeof(buf), 0));
	must(send(s, "answer", 6, 0) == 6);
	say("its answer", recv(c, buf, sizeof(buf), 0));
	must(!close(s) && !close(c) && !close(other) && !close(l));
}

static void by_end(void)
{
	struct linger reset = { .l_onoff = 1 };
	int l = deferring(60), c = client(), s;

	must(!shutdown(c, SHUT_WR));
	s = accepted(l);
	say("one that only ends", recv(s, buf, sizeof(buf), 0));
	must(!close(s) && !close(c));

	/* One that was reset is never accepted. */
	c = client();
	must(!setsockopt(c, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)));
	must(!close(c));
	c = client();
	must(send(c, "second", 6, 0) == 6);
	s = accepted(l);
	say("the one after one that was reset", recv(s, buf, sizeof(buf), 0));
	say("and no more", accept(l, NULL, NULL));
	must(!close(s) && !close(c) && !close(l));
}

static void by_time(void)
{
	struct timespec before, after;
	int l = deferring(1), c, s;

	/* Its time begins with the connection. */
	clock_gettime(CLOCK_MONOTONIC, &before);
	c = client();
	s = accepted(l);
	clock_gettime(CLOCK_MONOTONIC, &after);
	say("after its time", (after.tv_sec - before.tv_sec) * 1000 +
	    (after.tv_nsec - before.tv_nsec) / 1000000 > 500);
	say("it is accepted without bytes", recv(s, buf, sizeof(buf), 0));
	must(send(c, "late", 4, 0) == 4);
	wait_for(s, POLLIN);
	say("which come later", recv(s, buf, sizeof(buf), 0));
	must(!close(s) && !close(c) && !close(l));
}

/* It is never accepted. */
static void by_nobody(void)
{
	int l = deferring(60), c = client();

	must(!close(l));
	send(c, "hello", 5, MSG_NOSIGNAL);
	say("the listener is closed: it ends", (shows_reset(c) & POLLHUP) != 0);
	must(!close(c));
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	values();
	by_bytes();
	by_end();
	by_time();
	by_nobody();
	return 0;
}

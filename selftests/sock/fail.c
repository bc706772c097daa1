// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations fail at each step of a move and of a return: the connection goes on by TCP, or
 * fails as TCP does, and no byte is lost without an error.
 */
#include "../fail/nth.h"
#include "common/conn.h"
#include "common/row.h"

#include <linux/sdp_sock.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/time.h>

/* Bytes that may be allocated before one fails: no more at a time than an endpoint's part. */
#define CHILD_STEP	128

static struct conn c;
static size_t due;

/* What was sent arrives, and the connection goes on; then it is closed. */
static bool goes_on(int ret)
{
	(void)ret;
	gate(&c.a, true);
	put(&c.a, 1000, 0);
	get_all(&c.b, c.a.out - c.b.in);
	put(&c.b, 1000, 0);
	get_all(&c.a, 1000);
	conn_close(&c);
	return !wrongs();
}

static void before_ulp(void)
{
	plain = true;
	c.a.fd = sock_new(NULL);
	plain = false;
}

static int act_ulp(void)
{
	return setsockopt(c.a.fd, IPPROTO_TCP, TCP_ULP, "sdp", 3);
}

/* It is an endpoint, or a TCP socket. */
static bool after_ulp(int ret)
{
	int port, listener = sock_listen(4, &port);

	(void)ret;
	need(!sock_connect(c.a.fd, port));
	c = (struct conn){ { .fd = c.a.fd }, { .fd = accept(listener, NULL, NULL), .way = 1 } };
	close(listener);
	return goes_on(0);
}

/* The next message makes them a pair. */
static void before_join(void)
{
	int i;

	c = conn_new();
	for (i = 0; i < 10; i++) {
		put(&c.b, 100, 0);
		get_all(&c.a, 100);
	}
	for (i = 0; i < 7; i++) {
		put(&c.a, 100, 0);
		get_all(&c.b, 100);
	}
}

static void before_moved(void)
{
	c = conn_moved();
}

static int act_send(void)
{
	return put_some(&c.a, 100000, MSG_DONTWAIT);
}

static void before_return(void)
{
	c = conn_moved();
	put(&c.a, 100000, 0);
	want(&c.a, true);
	gate(&c.a, false);
}

static int act_return(void)
{
	return put_some(&c.a, 100, 0);
}

static int act_return_once(void)
{
	return put_some(&c.a, 100, MSG_DONTWAIT);
}

/* No other call of the sender brings the bytes back. */
static bool comes_by_itself(int ret)
{
	struct timeval tv = { .tv_sec = 60 };

	need(!setsockopt(c.b.fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	get_all(&c.b, c.a.out - c.b.in);
	return goes_on(ret);
}

static void before_end(void)
{
	struct timeval tv = { .tv_sec = 1 };

	c = conn_moved();
	need(!setsockopt(c.b.fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	put(&c.a, 50000, 0);
	want(&c.a, true);
	due = 50000;
}

static int act_shutdown(void)
{
	return shutdown(c.a.fd, SHUT_WR);
}

static int act_close(void)
{
	return close(c.a.fd);
}

/* All bytes and the end, or a reset.  TCP forgets a FIN that it has no memory for. */
static bool read_to_end(void)
{
	ssize_t n;

	while ((n = get(&c.b, due + 1, 0)) > 0)
		due -= n;
	if (due && (!n || errno != ECONNRESET))
		wrong("%zu bytes are missing, errno %d", due, n ? errno : 0);
	return !wrongs();
}

static bool after_shutdown(int ret)
{
	bool good = read_to_end();

	(void)ret;
	conn_close(&c);
	return good;
}

static bool after_close(int ret)
{
	bool good = read_to_end();

	(void)ret;
	close(c.b.fd);
	return good;
}

static void before_read(void)
{
	c = conn_three();
}

static int act_read(void)
{
	return get(&c.b, THREE_ALL, MSG_WAITALL);
}

static int act_peek(void)
{
	return get(&c.b, THREE_ALL, MSG_PEEK);
}

static const struct scene scenes[] = {
	{ "setsockopt(TCP_ULP)", before_ulp, act_ulp, after_ulp },
	{ "the ends become a pair", before_join, act_send, goes_on },
	{ "bytes go into a pipe", before_moved, act_send, goes_on },
	{ "bytes come back", before_return, act_return, goes_on },
	{ "bytes come back without another call", before_return, act_return_once,
	  comes_by_itself },
	{ "bytes come back before shutdown()", before_end, act_shutdown, after_shutdown },
	{ "bytes come back before close()", before_end, act_close, after_close },
	{ "bytes are read", before_read, act_read, goes_on },
	{ "bytes are looked at", before_read, act_peek, goes_on },
};

/* Of the kernel's settings for allocations that fail. */
static int failslab(const char *name)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/failslab/%s", name);
	fd = open(path, O_RDWR);
	need(fd >= 0);
	return fd;
}

static void set(int fd, int value)
{
	char text[20];
	int n = snprintf(text, sizeof(text), "%d", value);

	need(write(fd, text, n) == n);
}

/* Has the one that was to fail failed? */
static bool has_failed(void)
{
	int fd = failslab("times");
	char left = 0;

	need(read(fd, &left, 1) == 1);
	close(fd);
	return left == '0';
}

static bool endpoint(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	return !getsockopt(fd, IPPROTO_TCP, TCP_ULP, name, &len) && !strncmp(name, "sdp", 3);
}

/*
 * One that carries no byte: what the peer sends first is not read.  An end that looks for its peer
 * in vain would end in the same way, but later.
 */
static void carries_nothing(void)
{
	char byte;

	if (send(c.a.fd, "x", 1, MSG_NOSIGNAL) != 1 && errno != EPIPE && errno != ECONNRESET)
		wrong("send: %d", errno);
	if (recv(c.b.fd, &byte, 1, 0) > 0)
		wrong("a child without the ULP has read a byte");
	conn_close(&c);
}

/*
 * A listener's child is made in a softirq, where fail-nth does not reach: an allocation fails
 * while a connection comes, then a later one.  A child without memory for the ULP is a TCP
 * socket.
 */
static void children(bool only)
{
	int space = failslab("space"), times = failslab("times");
	int probability = failslab("probability"), ignore = failslab("ignore-gfp-wait");
	int skip, port, listener = sock_listen(4, &port), without = 0, with = 0;

	need(!only || !sock_mode(listener, SDP_MODE_ONLY));
	/* Those of softirqs; the machine's other programs go on. */
	set(ignore, 1);
	for (skip = 0; !skip || has_failed(); skip += CHILD_STEP) {
		int err;

		c = (struct conn){ { .fd = sock_new(NULL) }, { .way = 1 } };
		set(space, skip);
		set(times, 1);
		set(probability, 100);
		err = sock_connect(c.a.fd, port);
		set(probability, 0);
		if (err) {
			close(c.a.fd);
			continue;
		}
		c.b.fd = accept(listener, NULL, NULL);
		need(c.b.fd >= 0);
		*(endpoint(c.b.fd) ? &with : &without) += 1;
		if (only && !endpoint(c.b.fd))
			carries_nothing();
		else
			goes_on(0);
	}
	set(space, 0);
	close(listener);
	ok(without && with && !wrongs(), only ? "children that may use no TCP" :
						"children of a listener");
	printf("# %d with the ULP, %d without\n", with, without);
}

int main(void)
{
	unsigned int i;

	tap_plan(sizeof(scenes) / sizeof(*scenes) + 2);
	nth_open();
	for (i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		nth_run(&scenes[i]);
	children(false);
	children(true);
	return tap_exit();
}

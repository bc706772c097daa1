// SPDX-License-Identifier: GPL-2.0
/*
 * All ways to read, over the borders between a pipe and TCP's queue.
 *
 * The bytes lie in three places, so there are two borders (conn_three()).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../common/conn.h"
#include "rows.h"

static char bytes[1 << 16];

static void waitall(void)
{
	struct conn c = conn_three();

	SAY(get(&c.b, THREE_ALL, MSG_WAITALL));
	c = conn_three();
	SAY(get(&c.b, 9999, 0));
}

static void pieces(void)
{
	static const int sizes[] = { 1, 7, 100, 1999, 2000, 2001, 4199, 4200, 4201 };
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct conn c = conn_three();
		int n = 0;

		while (n < THREE_ALL)
			n += get(&c.b, sizes[i], MSG_WAITALL * (sizes[i] < THREE_ALL - n));
		say("%d by %d: %llu", n, sizes[i], (unsigned long long)c.b.in);
		conn_close(&c);
	}
}

static void peek(void)
{
	static const int sizes[] = { 1, 1999, 2000, 2001, 4199, 4200, 4201, 5099, 5100, 9999 };
	struct conn c = conn_three();
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		SAY(get(&c.b, sizes[i], MSG_PEEK));
	SAY(get(&c.b, THREE_ALL, MSG_PEEK | MSG_WAITALL));
	SAY(get(&c.b, 1500, 0));
	SAY(get(&c.b, 9999, MSG_PEEK | MSG_DONTWAIT));
	SAY(get(&c.b, 2600, 0));
	SAY(get(&c.b, 9999, MSG_PEEK));
	SAY(get(&c.b, 9999, 0));
	SAY(get(&c.b, 1, MSG_PEEK | MSG_DONTWAIT));
}

/* FIN has a sequence number, and is no byte. */
static void peek_end(void)
{
	struct conn c = conn_three();

	shutdown(c.a.fd, SHUT_WR);
	arrived(&c.b, THREE_ALL);
	SAY(get(&c.b, 9999, MSG_PEEK));
	SAY(get(&c.b, 9999, MSG_PEEK | MSG_WAITALL));
	SAY(get(&c.b, 9999, MSG_WAITALL));
	SAY(get(&c.b, 9999, MSG_PEEK));
}

/* A look goes on where the last one ended, and a read takes that back. */
static void peek_off(void)
{
	static const struct {
		int size, flags, skip;
	} looks[] = {
		{ 600, MSG_PEEK, 100 }, { 3000, MSG_PEEK, 700 }, { 500, 0, 0 },
		{ 9999, MSG_PEEK, 3200 }, { 9999, MSG_PEEK | MSG_DONTWAIT, 0 }, { 9999, 0, 0 },
	};
	struct conn c = conn_three();
	socklen_t len = sizeof(int);
	int off = 100;
	unsigned int i;
	ssize_t n;

	/* Older kernels have it for other sockets only. */
	if (SAY(setsockopt(c.b.fd, SOL_SOCKET, SO_PEEK_OFF, &off, len)))
		return;
	for (i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		n = SAY(recv(c.b.fd, bytes, looks[i].size, looks[i].flags));
		if (n > 0)
			look(&c.b, looks[i].skip, bytes, n);
		if (n > 0 && !looks[i].flags)
			c.b.in += n;
		need(!getsockopt(c.b.fd, SOL_SOCKET, SO_PEEK_OFF, &off, &len));
		say("offset %d", off);
	}
}

/* The bytes are thrown away. */
static void discard(void)
{
	struct conn c = conn_three();

	SAY(get(&c.b, 100, MSG_TRUNC));
	SAY(get(&c.b, 3000, MSG_TRUNC));
	SAY(get(&c.b, 100, MSG_PEEK));
	SAY(get(&c.b, 1500, MSG_TRUNC));
	SAY(get(&c.b, 9999, 0));
	SAY(get(&c.b, 9, MSG_TRUNC | MSG_DONTWAIT));
}

static void dontwait(void)
{
	struct conn c = conn_three();

	SAY(get(&c.b, 4000, MSG_DONTWAIT));
	SAY(get(&c.b, 4000, MSG_DONTWAIT));
	SAY(get(&c.b, 4000, MSG_DONTWAIT));
	SAY(get(&c.b, 4000, MSG_DONTWAIT | MSG_WAITALL));
	put(&c.a, 10, 0);
	SAY(get(&c.b, 4000, MSG_DONTWAIT | MSG_WAITALL));
}

static void no_bytes(void)
{
	struct conn c = conn_three();

	SAY(recv(c.b.fd, bytes, 0, 0));
	SAY(recv(c.b.fd, bytes, 0, MSG_PEEK));
	SAY(read(c.b.fd, bytes, 0));
	SAY(send(c.a.fd, bytes, 0, 0));
	SAY(get(&c.b, THREE_ALL, 0));
	SAY(recv(c.b.fd, bytes, 0, MSG_DONTWAIT));
	SAY(read(c.b.fd, bytes, 0));
	shutdown(c.a.fd, SHUT_WR);
	SAY(recv(c.b.fd, bytes, 0, 0));
}

static void vectors(void)
{
	struct conn c = conn_three();
	struct iovec v[5] = {
		{ bytes, 1 }, { bytes + 1, 1998 }, { bytes + 1999, 0 }, { bytes + 1999, 2 },
		{ bytes + 2001, 3000 },
	};
	ssize_t n = SAY(readv(c.b.fd, v, 5));

	look(&c.b, 0, bytes, n);
	c.b.in += n;
	SAY(get(&c.b, 99, 0));
	fill(&c.a, bytes, 5001);
	n = SAY(writev(c.a.fd, v, 5));
	c.a.out += n;
	get_all(&c.b, 5001);
	want(&c.a, true);
}

static void many_messages(void)
{
	struct conn c = conn_three();
	struct iovec v[8];
	struct mmsghdr m[8] = {};
	int i, n;

	for (i = 0; i < 8; i++) {
		v[i] = (struct iovec){ bytes + 777 * i, 777 };
		m[i].msg_hdr = (struct msghdr){ .msg_iov = &v[i], .msg_iovlen = 1 };
	}
	n = SAY(recvmmsg(c.b.fd, m, 8, MSG_DONTWAIT, NULL));
	for (i = 0; i < n; i++) {
		say("%u, flags %x", m[i].msg_len, m[i].msg_hdr.msg_flags);
		look(&c.b, 0, v[i].iov_base, m[i].msg_len);
		c.b.in += m[i].msg_len;
	}
	fill(&c.a, bytes, 8 * 777);
	n = SAY(sendmmsg(c.a.fd, m, 8, 0));
	c.a.out += n * 777;
	SAY(get(&c.b, n * 777, MSG_WAITALL));
}

static int waiting(int fd)
{
	int n = -1;

	return ioctl(fd, FIONREAD, &n) ? -errno : n;
}

/* What recvmsg() says is left, and what FIONREAD does. */
static void inq(void)
{
	struct conn c = conn_three();
	char control[CMSG_SPACE(sizeof(int))];
	int one = 1, left;

	SAY(waiting(c.b.fd));
	need(!setsockopt(c.b.fd, IPPROTO_TCP, TCP_INQ, &one, sizeof(one)));
	do {
		struct iovec v = { bytes, 600 };
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
				    .msg_controllen = sizeof(control) };
		struct cmsghdr *cm;

		SAY(recvmsg(c.b.fd, &m, 0));
		cm = CMSG_FIRSTHDR(&m);
		need(cm && cm->cmsg_level == IPPROTO_TCP && cm->cmsg_type == TCP_CM_INQ);
		memcpy(&left, CMSG_DATA(cm), sizeof(left));
		say("left %d, FIONREAD %d", left, waiting(c.b.fd));
	} while (left);
}

/* What the other end's TCP has taken is not the sender's any more. */
static void outq(void)
{
	struct conn c = conn_moved();
	int n = -1, ms;

	put(&c.a, 3000, 0);
	want(&c.a, true);
	for (ms = 0; !ioctl(c.a.fd, SIOCOUTQ, &n) && n && ms < 1000; ms++)
		usleep(1000);
	say("outstanding %d", n);
	SAY(ioctl(c.a.fd, SIOCOUTQNSD, &n));
	say("not sent %d", n);
	get_all(&c.b, 3000);
	SAY(ioctl(c.a.fd, SIOCOUTQ, &n));
	say("outstanding %d", n);
}

/* From the socket to a pipe, by splice() and tee(), and from there to a socket. */
static void splices(void)
{
	struct conn c = conn_three();
	int n = 0, m, p[2], q[2];

	need(!pipe(p) && !pipe(q));
	while (n < THREE_ALL) {
		m = splice(c.b.fd, NULL, p[1], NULL, 1700, 0);
		need(m > 0);
		n += m;
		m = tee(p[0], q[1], m, 0);
		need(m > 0 && read(q[0], bytes, m) == m);
		look(&c.b, 0, bytes, m);
		while (m) {
			int k = splice(p[0], NULL, c.b.fd, NULL, m, SPLICE_F_MORE);

			need(k > 0);
			m -= k;
		}
		c.b.in = c.a.out - THREE_ALL + n;
	}
	say("%d", n);
	need(!fcntl(c.b.fd, F_SETFL, O_NONBLOCK));
	SAY(splice(c.b.fd, NULL, p[1], NULL, 1700, 0));
	need(!fcntl(c.b.fd, F_SETFL, 0));
	/* What has come back is what the direction from a has carried. */
	while (n) {
		m = recv(c.a.fd, bytes, n, 0);
		need(m > 0);
		c.b.in = c.a.out - n;
		look(&c.b, 0, bytes, m);
		n -= m;
	}
	shutdown(c.a.fd, SHUT_WR);
	SAY(splice(c.b.fd, NULL, p[1], NULL, 1700, 0));
}

/* From a direction that has moved, small ones. */
static void splices_small(void)
{
	struct conn c = conn_moved();
	int n, p[2];

	need(!pipe(p));
	for (n = 1; n < 9000; n = n * 3 + 1) {
		put(&c.a, n, 0);
		arrived(&c.b, n);
		SAY(splice(c.b.fd, NULL, p[1], NULL, 60000, 0));
		/* What the sender sends next is not in it. */
		put(&c.a, n, 0);
		SAY(read(p[0], bytes, n));
		look(&c.b, 0, bytes, n);
		c.b.in += n;
		get_all(&c.b, n);
	}
	want(&c.a, true);
}

/* Memory that was never touched: a call gets all that there is. */
static void fresh_memory(void)
{
	struct conn c = conn_moved();
	long page = sysconf(_SC_PAGESIZE);
	int i;

	for (i = 1; i < 4; i++) {
		char *to = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		need(to != MAP_FAILED);
		*to = 1;
		put(&c.a, 3000, 0);
		arrived(&c.b, 3000);
		SAY(recv(c.b.fd, to + page - 700 * i, 2 * page, 0));
		look(&c.b, 0, to + page - 700 * i, 3000);
		c.b.in += 3000;
		munmap(to, 4 * page);
	}
	want(&c.a, true);
}

/* The low-water mark counts at once, also if the peer does not send. */
static void lowat_late(void)
{
	struct conn c = conn_moved();
	struct timeval tv = { .tv_usec = 200000 };
	int mark = 8;
	long slept;

	put(&c.a, 4, 0);
	arrived(&c.b, 4);
	need(!setsockopt(c.b.fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark)));
	need(!setsockopt(c.b.fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	slept = sleeps();
	SAY(get(&c.b, 8, 0));
	say("it has waited: %d", sleeps() > slept);
}

/* No page can be mapped while bytes come by a pipe: the call says how much to read instead. */
static void zerocopy_receive(void)
{
	const size_t room = 1 << 14, sent = 3 * room / 2;
	struct conn c = conn_moved();
	void *at = mmap(NULL, room, PROT_READ, MAP_SHARED, c.b.fd, 0);
	int i;

	need(at != MAP_FAILED);
	for (i = 0; i < 4; i++) {
		struct tcp_zerocopy_receive zc = { .address = (uintptr_t)at, .length = room };
		socklen_t len = sizeof(zc);

		/* By the pipe and by TCP in turn */
		gate(&c.a, !(i & 1));
		put(&c.a, sent, 0);
		want(&c.a, !(i & 1));
		arrived(&c.b, sent);
		need(!getsockopt(c.b.fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &zc, &len));
		if (!plain && !late && !(i & 1) && (zc.length || zc.recv_skip_hint != sent))
			wrong("length %u, to read %u", zc.length, zc.recv_skip_hint);
		look(&c.b, 0, at, zc.length);
		c.b.in += zc.length;
		get_all(&c.b, sent - zc.length);
	}
}

static void bad_memory(void)
{
	struct conn c = conn_three();

	SAY(recv(c.b.fd, (void *)1, 100, 0));
	SAY(recv(c.b.fd, (void *)1, 100, MSG_PEEK));
	SAY(send(c.a.fd, (void *)1, 100, 0));
	SAY(get(&c.b, 9999, 0));
	put(&c.a, 100, 0);
	SAY(recv(c.b.fd, (void *)1, 100, 0));
	SAY(get(&c.b, 9999, 0));
}

const struct row read_rows[] = {
	{ "reads over the borders: MSG_WAITALL, more than there is", waitall },
	{ "reads over the borders: in pieces", pieces },
	{ "reads over the borders: MSG_PEEK", peek },
	{ "reads over the borders: MSG_PEEK up to FIN", peek_end },
	{ "reads over the borders: SO_PEEK_OFF", peek_off },
	{ "reads over the borders: MSG_TRUNC", discard },
	{ "reads over the borders: MSG_DONTWAIT", dontwait },
	{ "reads of no byte", no_bytes },
	{ "readv() and writev()", vectors },
	{ "recvmmsg() and sendmmsg()", many_messages },
	{ "TCP_INQ and FIONREAD", inq },
	{ "SIOCOUTQ and SIOCOUTQNSD", outq },
	{ "splice() both ways, and tee()", splices },
	{ "splice() of small messages", splices_small },
	{ "reads to memory that is not there yet", fresh_memory },
	{ "reads after SO_RCVLOWAT", lowat_late },
	{ "TCP_ZEROCOPY_RECEIVE", zerocopy_receive },
	{ "addresses that are none", bad_memory },
	{ }
};

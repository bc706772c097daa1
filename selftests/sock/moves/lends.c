// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes that a program or a file lends: sendfile(2), and MSG_ZEROCOPY with its notices.
 *
 * A carrier of messages has the pages themselves.  So what is written there before the carrier
 * brings them arrives.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>
#include <linux/sdp_sock.h>

#include "../common/conn.h"
#include "rows.h"

/* Calls of a mix, and the bytes of one, at most. */
#define CALLS	120
#define MOST	20000
/* Bytes that a sender may be ahead in any case. */
#define AHEAD	50000

static char bytes[1 << 17];

static void file_sent(bool first_moved)
{
	struct conn c = first_moved ? conn_moved() : conn_new();
	int fd = memfd_create("file", 0);
	ssize_t n;

	fill(&c.a, bytes, 60000);
	need(write(fd, bytes, 60000) == 60000);
	lseek(fd, 0, SEEK_SET);
	n = SAY(sendfile(c.a.fd, fd, NULL, 60000));
	c.a.out += n;
	get_all(&c.b, n);
	if (!late || first_moved)
		want(&c.a, first_moved);
	/* It counts as sends do. */
	if (!first_moved)
		move(&c);
}

static void send_file(void)
{
	file_sent(false);
	file_sent(true);
}

/**
 * struct notice - for which calls memory was given back
 * @first: number of the first call
 * @last: and of the last one
 * @copied: bytes were copied
 */
struct notice {
	unsigned int first;
	unsigned int last;
	bool copied;
};

/* Reads a notice, if there is one. */
static bool notice(int fd, struct notice *got)
{
	char control[200];
	struct msghdr m = { .msg_control = control, .msg_controllen = sizeof(control) };
	struct sock_extended_err *e;

	if (recvmsg(fd, &m, MSG_ERRQUEUE) < 0) {
		need(errno == EAGAIN);
		return false;
	}
	need(CMSG_FIRSTHDR(&m));
	e = (void *)CMSG_DATA(CMSG_FIRSTHDR(&m));
	need(e->ee_origin == SO_EE_ORIGIN_ZEROCOPY && !e->ee_errno);
	got->first = e->ee_info;
	got->last = e->ee_data;
	got->copied = e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	return true;
}

static void lends(const struct end *e)
{
	int one = 1;

	need(!setsockopt(e->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)));
}

static struct sdp_sock_info info(int fd)
{
	struct sdp_sock_info info = {};
	socklen_t len = sizeof(info);

	if (!plain)
		need(!getsockopt(fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len));
	return info;
}

/* Waits for the notice of the call with this number, the next one. */
static bool copied(int fd, unsigned int call)
{
	struct notice got;

	while (!notice(fd, &got))
		usleep(1000);
	if (got.first != call || got.last != call)
		wrong("a notice for %u to %u, not %u", got.first, got.last, call);
	return got.copied;
}

/* A call's bytes are copied where there are few, by memory of the host, and by nothing else. */
static void sizes(void)
{
	static const size_t of[] = {
		1, 511, 512, 4096, 16367, 16368, 16369, 16384, 16385, 60000, 60001
	};
	struct conn c = conn_moved();
	unsigned int i;

	lends(&c.a);
	put(&c.a, 1, 0);
	get_all(&c.b, 1);
	for (i = 0; i < sizeof(of) / sizeof(*of); i++) {
		uint64_t lent = info(c.a.fd).tx_zcopy, may = of[i];
		unsigned int by;
		bool was;

		fill(&c.a, bytes, of[i]);
		SAY(send(c.a.fd, bytes, of[i], MSG_ZEROCOPY));
		by = info(c.a.fd).tx_carrier;
		c.a.out += of[i];
		get_all(&c.b, of[i]);
		was = copied(c.a.fd, i);
		lent = info(c.a.fd).tx_zcopy - lent;
		if (plain || by == SDP_SOCK_BY_TCP)
			continue;
		if (by == SDP_SOCK_BY_LOCAL || of[i] < 512)
			may = 0;
		/* It may just have gone by TCP, and moved again. */
		if (lent != may && lent + 1 != may)
			wrong("of %zu bytes %ju were lent", of[i], (uintmax_t)lent);
		/* The carrier of the tests copies when it brings them. */
		if (by != SDP_SOCK_BY_TEST && was != !lent)
			wrong("the notice of %zu bytes says that they were%s copied", of[i],
			      was ? "" : " not");
	}
}

/**
 * struct mix - calls of all kinds, and what became of what they have lent
 * @memory: as much for each call
 * @len: bytes that the call has lent, by its number of those that have
 * @at: where
 * @told: it has been given back
 * @calls: calls that have lent
 * @notices: for so many of them
 * @fd: a file
 */
struct mix {
	char *memory;
	size_t len[CALLS];
	char *at[CALLS];
	bool told[CALLS];
	unsigned int calls;
	unsigned int notices;
	int fd;
};

/* Memory that is given back is written to at once: it must not be read any more. */
static void given_back(struct mix *mix, int fd)
{
	struct notice got;

	while (notice(fd, &got)) {
		need(got.first <= got.last);
		for (; got.first <= got.last; got.first++) {
			need(got.first < mix->calls && mix->at[got.first]);
			if (mix->told[got.first])
				wrong("a second notice for call %u of %u", got.first, mix->calls);
			mix->told[got.first] = true;
			mix->notices++;
			memset(mix->at[got.first], 0, mix->len[got.first]);
		}
	}
}

static void lend_file(struct mix *mix, struct end *e, char *at, size_t len)
{
	off_t pos = at - mix->memory;

	need(pwrite(mix->fd, at, len, pos) == (ssize_t)len);
	while (len) {
		ssize_t n = sendfile(e->fd, mix->fd, &pos, len);

		need(n > 0);
		e->out += n;
		len -= n;
	}
}

static void lend_memory(struct mix *mix, struct end *e, char *at, size_t len)
{
	mix->len[mix->calls] = len;
	mix->at[mix->calls++] = at;
	need(send(e->fd, at, len, MSG_ZEROCOPY) == (ssize_t)len);
	e->out += len;
}

/* The same numbers each time, below @most. */
static unsigned int some(unsigned int most)
{
	static unsigned int next = 4711;

	next = next * 1103515245 + 12345;
	return (next >> 8) % most;
}

static void mixed(void)
{
	struct mix mix = { .fd = memfd_create("file", 0) };
	struct conn c = conn_moved();
	int i;

	lends(&c.a);
	mix.memory = mmap(NULL, CALLS * MOST, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(mix.fd >= 0 && mix.memory != MAP_FAILED);
	for (i = 0; i < CALLS; i++) {
		size_t len = 1 + some(some(4) ? MOST : 600);
		char *at = mix.memory + i * MOST + some(MOST - len + 1);

		if (!some(12))
			gate(&c.a, some(2));
		if (c.a.out - c.b.in + len > AHEAD || !some(3))
			get_all(&c.b, c.a.out - c.b.in);
		fill(&c.a, at, len);
		switch (some(4)) {
		case 0:
			lend_file(&mix, &c.a, at, len);
			break;
		case 1:
			put(&c.a, len, 0);
			break;
		default:
			lend_memory(&mix, &c.a, at, len);
		}
		given_back(&mix, c.a.fd);
	}
	get_all(&c.b, c.a.out - c.b.in);
	while (mix.notices < mix.calls) {
		given_back(&mix, c.a.fd);
		usleep(1000);
	}
	say("%u calls, %u notices", mix.calls, mix.notices);
	munmap(mix.memory, CALLS * MOST);
	close(mix.fd);
}

/* A call that sends nothing has no notice, and a number that the next one gets. */
static void nothing_sent(void)
{
	struct conn c = conn_moved();
	unsigned int open, call = 0;

	lends(&c.a);
	for (open = 2; open--;) {
		gate(&c.a, open);
		put(&c.a, 100, 0);
		get_all(&c.b, 100);
		SAY(send(c.a.fd, (void *)1, 5000, MSG_ZEROCOPY));
		fill(&c.a, bytes, 5000);
		SAY(send(c.a.fd, bytes, 5000, MSG_ZEROCOPY));
		c.a.out += 5000;
		get_all(&c.b, 5000);
		copied(c.a.fd, call++);
	}
}

/* What has come is this, from @n bytes on. */
static void gets(const struct conn *c, size_t n, const char *right, size_t all)
{
	static char got[sizeof(bytes)];

	need(recv(c->b.fd, got, all, MSG_WAITALL) == (ssize_t)all);
	if (memcmp(got + n, right + n, all - n))
		wrong("other bytes have come than those of the pages");
}

/* The carrier brings the file's own pages. */
static void pages_of_file(void)
{
	const size_t all = 20000;
	int fd = memfd_create("file", 0);
	struct conn c;

	if (plain || !late || !test_carrier())
		return;
	c = conn_moved();
	put(&c.a, 1, 0);
	get_all(&c.b, 1);
	memset(bytes, 1, all);
	need(write(fd, bytes, all) == (ssize_t)all && !lseek(fd, 0, SEEK_SET));
	carrier("frozen", "1");
	need(sendfile(c.a.fd, fd, NULL, all) == (ssize_t)all);
	memset(bytes, 2, all);
	need(pwrite(fd, bytes, all, 0) == (ssize_t)all);
	carrier("frozen", "0");
	gets(&c, 0, bytes, all);
	close(fd);
}

/* Lends @all bytes until the first of them that a carrier gets are on their way. */
static unsigned int first_lent(struct conn *c, size_t all)
{
	long long until = now_ms() + 15000;
	unsigned int call = 0;

	for (;;) {
		carrier("frozen", "1");
		memset(bytes, 1, all);
		need(send(c->a.fd, bytes, all, MSG_ZEROCOPY) == (ssize_t)all);
		if (moved(c->a.fd))
			return call;
		carrier("frozen", "0");
		gets(c, 0, bytes, all);
		copied(c->a.fd, call++);
		put(&c->b, 1, 0);
		get_all(&c->a, 1);
		if (now_ms() > until)
			wrong("it has not moved");
		usleep(10000);
	}
}

/* And the program's, but for the first byte behind a move: a return depends on that one. */
static void pages_of_program(void)
{
	const size_t all = 20000;
	struct conn c;

	if (plain || !late || !test_carrier())
		return;
	c = conn_new();
	lends(&c.a);
	first_lent(&c, all);
	memset(bytes, 2, all);
	carrier("frozen", "0");
	gets(&c, 1, bytes, all);
	/* The record that brings the direction back has the first byte. */
	gate(&c.a, false);
	put(&c.a, 10, 0);
	get_all(&c.b, 10);
	want(&c.a, false);
}

/* What comes back goes by TCP, and the notice says that it was copied. */
static void comes_back(void)
{
	const size_t all = 30000;
	struct conn c;
	int i;

	if (plain || !late || !test_carrier())
		return;
	c = conn_moved();
	lends(&c.a);
	for (i = 0; i < 3; i++) {
		carrier("frozen", "1");
		fill(&c.a, bytes, all);
		need(send(c.a.fd, bytes, all, MSG_ZEROCOPY) == (ssize_t)all);
		c.a.out += all;
		if (!moved(c.a.fd))
			wrong("it has not moved");
		gate(&c.a, false);
		put(&c.a, 10, 0);
		want(&c.a, false);
		carrier("frozen", "0");
		get_all(&c.b, all + 10);
		if (!copied(c.a.fd, i))
			wrong("they were not copied");
		gate(&c.a, true);
		move(&c);
	}
}

/* More calls than a socket may have notices, net.core.optmem_max: one tells of several. */
static void many_lent(void)
{
	static char memory[60][600];
	struct conn c;
	struct notice got;
	unsigned int call, next = 0;

	if (plain || !late || !test_carrier())
		return;
	c = conn_moved();
	lends(&c.a);
	put(&c.a, 1, 0);
	get_all(&c.b, 1);
	carrier("frozen", "1");
	for (call = 0; call < 60; call++) {
		fill(&c.a, memory[call], sizeof(memory[call]));
		need(send(c.a.fd, memory[call], sizeof(memory[call]), MSG_ZEROCOPY) == 600);
		c.a.out += sizeof(memory[call]);
	}
	carrier("frozen", "0");
	get_all(&c.b, call * sizeof(memory[0]));
	while (next < call) {
		if (!notice(c.a.fd, &got)) {
			usleep(1000);
			continue;
		}
		need(got.first == next && got.last >= got.first && got.last < call);
		next = got.last + 1;
	}
}

const struct row lend_rows[] = {
	{ "sendfile()", send_file },
	{ "notices of MSG_ZEROCOPY: calls of all sizes", sizes },
	{ "notices of MSG_ZEROCOPY: calls that send nothing", nothing_sent },
	{ "notices of MSG_ZEROCOPY: lent, copied, and from a file, in turn", mixed },
	{ "a carrier brings the pages of a file", pages_of_file },
	{ "a carrier brings the pages of a program", pages_of_program },
	{ "notices of MSG_ZEROCOPY: bytes that come back", comes_back },
	{ "notices of MSG_ZEROCOPY: more calls than notices", many_lent },
	{ }
};

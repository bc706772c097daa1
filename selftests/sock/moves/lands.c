// SPDX-License-Identifier: GPL-2.0
/*
 * A reader that waits for a large message lets the sender copy into its memory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sdp_sock.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/conn.h"
#include "rows.h"

#define LARGE 65536

/* What a thread does while the other one reads. */
struct sender {
	struct conn *conn;
	pid_t reader;
	pthread_t main;
	void (*act)(struct sender *s);
};

/* A counter of the namespace */
static long counter(const char *name)
{
	char line[128], word[64];
	long value, now = 0;
	FILE *f = fopen("/proc/net/sdp/snmp", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld", word, &value) == 2 && !strcmp(word, name))
			now = value;
	if (f)
		fclose(f);
	return now;
}

/* Messages that readers' memory has got, since this was asked last. */
static long landed(void)
{
	static long last;
	long now = counter("landed"), since;

	since = now - last;
	last = now;
	return since;
}

static void has_landed(bool is)
{
	long n = landed();

	if (!plain && !n == is)
		wrong("%ld messages came to the memory of a reader", n);
}

static void *sender_run(void *arg)
{
	struct sender *s = arg;

	until_asleep(s->reader);
	s->act(s);
	return NULL;
}

/* Receive while the other thread acts.  Large messages have come before. */
static ssize_t during(struct conn *c, void (*act)(struct sender *), size_t n, int flags)
{
	struct sender s = { .conn = c, .reader = gettid(), .main = pthread_self(), .act = act };
	pthread_t thread;
	ssize_t ret;

	put(&c->a, LARGE, 0);
	get_all(&c->b, LARGE);
	landed();
	need(!pthread_create(&thread, NULL, sender_run, &s));
	ret = get(&c->b, n, flags);
	pthread_join(thread, NULL);
	return ret;
}

static void send_large(struct sender *s)
{
	put(&s->conn->a, LARGE, 0);
}

static void send_five(struct sender *s)
{
	put(&s->conn->a, 5, 0);
}

/* The middle part goes by TCP. */
static void send_parts(struct sender *s)
{
	struct end *e = &s->conn->a;

	put(e, 20000, 0);
	until_asleep(s->reader);
	gate(e, false);
	put(e, 20000, 0);
	gate(e, true);
	until_asleep(s->reader);
	put(e, LARGE - 40000, 0);
}

static void send_and_interrupt(struct sender *s)
{
	put(&s->conn->a, 10000, 0);
	until_asleep(s->reader);
	pthread_kill(s->main, SIGUSR1);
}

/* More than the memory that a reader offers at a time. */
static void send_much(struct sender *s)
{
	put(&s->conn->a, 8 * LARGE, 0);
}

static void send_and_end(struct sender *s)
{
	put(&s->conn->a, 10000, 0);
	shutdown(s->conn->a.fd, SHUT_WR);
}

static void whole(void)
{
	struct conn c = conn_moved();

	SAY(during(&c, send_large, LARGE, MSG_WAITALL));
	has_landed(true);
	SAY(during(&c, send_five, LARGE, 0));
	has_landed(true);
	SAY(during(&c, send_much, 8 * LARGE, MSG_WAITALL));
	has_landed(true);
	SAY(during(&c, send_parts, LARGE, MSG_WAITALL));
	has_landed(true);
	SAY(during(&c, send_and_end, LARGE, MSG_WAITALL));
	has_landed(true);
	SAY(get(&c.b, 1, 0));
}

/* Here bytes that stay where they are, and bytes that are thrown away. */
static void elsewhere(void)
{
	struct conn c = conn_moved();

	SAY(during(&c, send_five, LARGE, MSG_PEEK));
	SAY(get(&c.b, 5, 0));
	SAY(during(&c, send_five, LARGE, MSG_TRUNC));
	has_landed(false);
}

static void nothing(int sig)
{
	(void)sig;
}

/* Memory that a call has left is the program's again. */
static void left_behind(void)
{
	struct sigaction act = { .sa_handler = nothing };
	struct timeval tv = { .tv_usec = 20000 };
	struct conn c = conn_moved();
	unsigned char *bytes = calloc(1, LARGE);
	int i;

	need(bytes && !sigaction(SIGUSR1, &act, NULL));
	SAY(during(&c, send_and_interrupt, LARGE, MSG_WAITALL));
	has_landed(true);

	need(!setsockopt(c.b.fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	SAY(recv(c.b.fd, bytes, LARGE, 0));
	put(&c.a, 20000, 0);
	for (i = 0; i < LARGE && !bytes[i]; i++)
		;
	say("%d bytes are as before", i);
	get_all(&c.b, 20000);
	free(bytes);
}

/* Pages that are not there yet, at both ends, and ones that never will be. */
static unsigned char *absent;

static void send_absent(struct sender *s)
{
	struct end *e = &s->conn->a;

	SAY(send(e->fd, absent + 2 * LARGE, LARGE, 0));
	SAY(send(e->fd, absent, LARGE, 0));
	e->out += LARGE;
}

static void faults(void)
{
	int mem = memfd_create("pages", MFD_CLOEXEC);
	struct conn c = conn_moved();
	unsigned char *to;

	need(mem >= 0 && !ftruncate(mem, LARGE));
	absent = mmap(NULL, 3 * LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(absent != MAP_FAILED);
	absent = mmap(absent, LARGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, mem, 0);
	need(absent != MAP_FAILED);
	c.a.out += LARGE;
	fill(&c.a, absent, LARGE);
	c.a.out -= LARGE;
	need(!madvise(absent, LARGE, MADV_DONTNEED));
	SAY(during(&c, send_absent, LARGE, MSG_WAITALL));
	has_landed(true);

	/* The sender's memory becomes the reader's that may not be written to. */
	to = mmap(NULL, LARGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(to != MAP_FAILED);
	put(&c.a, 10, 0);
	SAY(recv(c.b.fd, to, LARGE, 0));
	need(!mprotect(to, LARGE, PROT_READ | PROT_WRITE));
	SAY(recv(c.b.fd, to + 7, LARGE - 7, 0));
	look(&c.b, 0, to + 7, 10);
	munmap(to, LARGE);
	munmap(absent, 3 * LARGE);
	close(mem);
}

/* Pages that the kernel has pinned now. */
static long pins(void)
{
	int refresh = open("/proc/sys/vm/stat_refresh", O_WRONLY | O_CLOEXEC);
	long n, got = 0, released = 0;
	char line[128];
	FILE *f;

	/* Each processor counts by itself, and tells the others now and then. */
	need(refresh >= 0 && write(refresh, "1", 1) == 1 && !close(refresh));
	f = fopen("/proc/vmstat", "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "nr_foll_pin_acquired %ld", &n) == 1)
			got = n;
		else if (sscanf(line, "nr_foll_pin_released %ld", &n) == 1)
			released = n;
	}
	if (f)
		fclose(f);
	return got - released;
}

static void send_late(struct sender *s)
{
	if (!plain && !pins())
		wrong("a reader that waits offers no memory");
	/* The module's worker comes every two seconds. */
	sleep(5);
	if (pins())
		wrong("%ld pages are pinned for a reader that waits long", pins());
	put(&s->conn->a, LARGE, 0);
}

static void send_by_tcp(struct sender *s)
{
	if (pins())
		wrong("%ld pages are pinned for bytes that come by TCP", pins());
	put(&s->conn->a, LARGE, 0);
}

static void waits_long(void)
{
	struct conn c = conn_moved();

	SAY(during(&c, send_late, LARGE, MSG_WAITALL));
	has_landed(false);
	gate(&c.a, false);
	SAY(during(&c, send_by_tcp, LARGE, MSG_WAITALL));
	has_landed(false);
	if (pins())
		wrong("%ld pages stay pinned", pins());
}

/* The direction comes back with no byte that would wake the reader. */
static void send_never(struct sender *s)
{
	if (!plain && !pins())
		wrong("a reader that waits offers no memory");
	need(plain || !sock_mode(s->conn->a.fd, SDP_MODE_NEVER));
	if (pins())
		wrong("%ld pages are pinned behind a return", pins());
	put(&s->conn->a, LARGE, 0);
}

static void comes_back(void)
{
	struct conn c = conn_moved();

	SAY(during(&c, send_never, LARGE, MSG_WAITALL));
	has_landed(false);
	stays(&c.a, "never");
}

static void killed(void)
{
	struct conn c = conn_moved();
	long long start = now_ms();
	pid_t reader;

	put(&c.a, LARGE, 0);
	get_all(&c.b, LARGE);
	reader = fork();
	need(reader >= 0);
	if (!reader)
		_exit(get(&c.b, LARGE, MSG_WAITALL));
	while (!plain && !pins() && now_ms() - start < 10000)
		usleep(1000);
	if (!plain && !pins())
		wrong("a reader that waits offers no memory");
	need(!kill(reader, SIGKILL) && waitpid(reader, NULL, 0) == reader);
	if (pins())
		wrong("%ld pages are pinned for a reader that is gone", pins());
	put(&c.a, LARGE, 0);
	get_all(&c.b, LARGE);
}

/* Both ends write before they read. */
#define MUCH 150000

static void send_and_more(struct sender *s)
{
	put(&s->conn->a, LARGE, 0);
	put(&s->conn->a, MUCH, 0);
	get_all(&s->conn->a, MUCH);
}

static void both_write(void)
{
	struct conn c = conn_moved();
	struct sender s = { .conn = &c, .reader = gettid(), .act = send_and_more };
	long long start;
	pthread_t thread;

	put(&c.a, LARGE, 0);
	get_all(&c.b, LARGE);
	landed();
	need(!pthread_create(&thread, NULL, sender_run, &s));
	get_all(&c.b, LARGE);
	start = now_ms();
	put(&c.b, MUCH, 0);
	pthread_join(thread, NULL);
	get_all(&c.b, MUCH);
	has_landed(true);
	/* Two seconds are what brings an unread pipe back to TCP. */
	if (now_ms() - start > 1500)
		wrong("both ends waited for each other for %lld ms", now_ms() - start);
	want(&c.a, true);
	want(&c.b, true);
}

static void counted_since(long sent, long received, long n)
{
	sent = counter("bytes_sent") - sent;
	received = counter("bytes_received") - received;
	if (!plain && (sent < n || received < n || sent > 2 * n || received > 2 * n))
		wrong("of %ld bytes %ld count as sent, %ld as received", n, sent, received);
}

/* What the worker of the pairs has counted, and the rest at the end */
static void counted(void)
{
	long sent, received, n = 20 * LARGE, i;
	struct conn c;

	sent = counter("bytes_sent");
	received = counter("bytes_received");
	c = conn_moved();
	for (i = 0; i < 20; i++) {
		put(&c.a, LARGE, 0);
		get_all(&c.b, LARGE);
	}
	for (i = 0; !plain && i < 10000 && counter("bytes_received") - received < n; i++)
		usleep(1000);
	counted_since(sent, received, n);
	put(&c.b, LARGE, 0);
	get_all(&c.a, LARGE);
	conn_close(&c);
	counted_since(sent, received, n + LARGE);
	/* TCP is over before the last bytes are read: they are not to go by it. */
	sent = counter("bytes_sent");
	received = counter("bytes_received");
	c = conn_modes(SDP_MODE_ONLY, SDP_MODE_ONLY);
	put(&c.a, LARGE, 0);
	need(!shutdown(c.b.fd, SHUT_WR) && !shutdown(c.a.fd, SHUT_WR));
	get_all(&c.b, LARGE);
	conn_close(&c);
	counted_since(sent, received, LARGE);
}

const struct row land_rows[] = {
	{ "a waiting reader's memory", whole },
	{ "peeking and throwing away while waiting", elsewhere },
	{ "memory that a reader has left", left_behind },
	{ "pages that are not there", faults },
	{ "a reader that waits long", waits_long },
	{ "a return while a reader waits", comes_back },
	{ "a reader that is killed", killed },
	{ "both ends write before they read", both_write },
	{ "bytes are counted", counted },
	{ }
};

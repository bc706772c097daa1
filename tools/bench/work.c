// SPDX-License-Identifier: GPL-2.0
/*
 * What is measured. Both sides run the same function; the client prints the cost.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A receiver's buffer: as large as the messages, and no smaller than this. */
#define READ_SIZE (64 * 1024)

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		die("calloc");
	return p;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/*
 * A message of the client's, and the server's answer, on each connection: all are on their way
 * at once. Each has its connection's number in it, if there is room.
 */
static void exchange(const struct side *side, const struct conn *conn, unsigned int count,
		     char *buf, size_t size)
{
	const size_t room = size < sizeof(count) ? 0 : sizeof(count);
	unsigned int i;

	for (i = 0; i < count && !side->server; i++) {
		memcpy(buf, &i, room);
		conn_send(&conn[i], buf, size);
	}
	for (i = 0; i < count; i++) {
		conn_recv_all(&conn[i], buf, size);
		if (memcmp(buf, &i, room))
			die("another connection's bytes");
		if (side->server)
			conn_send(&conn[i], buf, size);
	}
}

/* The client keeps how long each exchange took. */
static void exchanges(const struct side *side, const struct conn *conn, char *buf, size_t size,
		      unsigned int rounds, int64_t *times)
{
	unsigned int i;
	int64_t start;

	for (i = 0; i < rounds; i++) {
		start = side->server ? 0 : now();
		exchange(side, conn, side->active, buf, size);
		if (!side->server)
			times[i] = now() - start;
	}
}

static bool all_moved(const struct side *side, const struct conn *conn, unsigned int count)
{
	while (count--)
		if (!conn_moved(side, &conn[count]))
			return false;
	return true;
}

/*
 * A direction moves when it has carried enough and the peer has answered, which takes a moment:
 * so there are messages both ways until it has. Those with rings have moved after the warm-up.
 */
static void move(const struct side *side, const struct conn *conn, unsigned int count)
{
	char more;

	if (!side->carrier || side->fast)
		return;
	do {
		more = !side->server && !all_moved(side, conn, count);
		exchange(side, conn, count, &more, 1);
	} while (more);
}

/* All have given up what carried them. */
static void rest(const struct conn *conn, unsigned int count)
{
	static const struct timespec nap = { .tv_sec = 1 };

	while (count--)
		while (!conn_rests(&conn[count]))
			nanosleep(&nap, NULL);
}

/* Connections that lie idle meanwhile; NULL without any */
static struct conn *open_beside(const struct side *side)
{
	struct conn *conn;
	unsigned int i;

	if (!side->beside)
		return NULL;
	conn = allocate(side->beside, sizeof(*conn));
	for (i = 0; i < side->beside; i++) {
		conn_open(side, &conn[i], false);
		move(side, &conn[i], 1);
	}
	if (side->carrier)
		rest(conn, side->beside);
	side_sync(side);
	return conn;
}

static void close_beside(const struct side *side, struct conn *conn)
{
	unsigned int i;

	for (i = 0; i < side->beside; i++)
		conn_finish(side, &conn[i]);
	free(conn);
}

/*
 * Prints instructions for a round trip; the time of the median and of the 99th of 100, of all
 * connections together.
 */
void work_pingpong(const struct side *side, size_t size, unsigned int rounds)
{
	unsigned int n = side->active, warm = rounds / 4, i;
	int64_t *times = allocate(rounds, sizeof(*times)), cost;
	struct conn *beside = open_beside(side);
	struct conn *conn = allocate(n, sizeof(*conn));
	char *buf = allocate(1, size);
	struct meter meter;

	for (i = 0; i < n; i++) {
		conn_open(side, &conn[i], true);
		move(side, &conn[i], 1);
	}
	/* One that has waited for all others may have come to rest. */
	move(side, conn, n);
	exchanges(side, conn, buf, size, warm, times);
	meter_start(&meter);
	exchanges(side, conn, buf, size, rounds, times);
	cost = meter_stop(&meter);
	/* The client measures what the server does meanwhile, too. */
	if (!side->server) {
		qsort(times, rounds, sizeof(*times), compare);
		printf("%lld %lld %lld\n", (long long)cost / rounds / n,
		       (long long)times[rounds / 2], (long long)times[rounds * 99 / 100]);
	}
	for (i = 0; i < n; i++) {
		conn_check(side, &conn[i]);
		conn_finish(side, &conn[i]);
	}
	close_beside(side, beside);
	free(conn);
	free(times);
	free(buf);
}

/* One direction of one connection, in one thread of each side. */
struct flow {
	const struct conn *conn;
	bool sends;
	enum way way;
	int file;
	size_t size;
	size_t bytes;
	pthread_barrier_t *barrier;
	pthread_t thread;
};

static void flow_send(const struct flow *flow, const char *buf, size_t n)
{
	if (flow->way == WAY_LENT)
		conn_lend(flow->conn, buf, n);
	else if (flow->way == WAY_FILE)
		conn_send_file(flow->conn, flow->file, n);
	else
		conn_send(flow->conn, buf, n);
}

static void flow_pass(const struct flow *flow, char *buf, size_t size, size_t bytes)
{
	size_t n;

	for (; bytes; bytes -= n) {
		n = bytes < size ? bytes : size;
		if (flow->sends)
			flow_send(flow, buf, n);
		else
			n = conn_recv(flow->conn, buf, n);
		if (!n)
			die("recv: the other side ended");
	}
}

static void *flow_run(void *arg)
{
	const struct flow *flow = arg;
	size_t size = flow->sends || flow->size > READ_SIZE ? flow->size : READ_SIZE;
	char *buf = allocate(1, size);

	/* What no program has written is one page of zeros: it is pinned in another way. */
	memset(buf, 1, size);
	/* Windows and buffers grow. */
	flow_pass(flow, buf, size, flow->bytes / 4 + 1);
	pthread_barrier_wait(flow->barrier);
	pthread_barrier_wait(flow->barrier);
	flow_pass(flow, buf, size, flow->bytes);
	pthread_barrier_wait(flow->barrier);
	free(buf);
	return NULL;
}

static int64_t flows_measure(const struct side *side, pthread_barrier_t *barrier)
{
	struct meter meter;

	pthread_barrier_wait(barrier);
	side_sync(side);
	meter_start(&meter);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	side_sync(side);
	return meter_stop(&meter);
}

/* A file in memory, of bytes that were written. */
static int new_file(size_t size)
{
	int file = memfd_create("bench", MFD_CLOEXEC);
	char *bytes = allocate(1, size);

	memset(bytes, 1, size);
	if (file < 0 || write(file, bytes, size) != (ssize_t)size)
		die("memfd_create");
	free(bytes);
	return file;
}

/* Prints instructions for a KiB. */
void work_stream(const struct side *side, size_t size, size_t total, unsigned int conns,
		 enum way way)
{
	unsigned int n = way == WAY_BOTH ? 2 * conns : conns, i;
	struct conn *conn = allocate(conns, sizeof(*conn));
	struct flow *flow = allocate(n, sizeof(*flow));
	int file = way == WAY_FILE ? new_file(size) : -1;
	pthread_barrier_t barrier;
	int64_t cost;

	pthread_barrier_init(&barrier, NULL, n + 1);
	for (i = 0; i < conns; i++) {
		conn_open(side, &conn[i], false);
		move(side, &conn[i], 1);
	}
	for (i = 0; i < n; i++) {
		flow[i] = (struct flow){
			.conn = &conn[i % conns],
			.sends = (i < conns) != side->server,
			.way = way,
			.file = file,
			.size = size,
			.bytes = total / n,
			.barrier = &barrier,
		};
		if (pthread_create(&flow[i].thread, NULL, flow_run, &flow[i]))
			die("pthread_create");
	}
	cost = flows_measure(side, &barrier);
	for (i = 0; i < n; i++)
		pthread_join(flow[i].thread, NULL);
	if (!side->server)
		printf("%lld\n", (long long)(cost * 1024 / (int64_t)total));
	for (i = 0; i < conns; i++) {
		conn_check(side, &conn[i]);
		conn_finish(side, &conn[i]);
	}
	if (file >= 0)
		close(file);
	free(flow);
	free(conn);
}

static void connections(const struct side *side, unsigned int count)
{
	struct conn conn;

	while (count--) {
		conn_open(side, &conn, false);
		conn_finish(side, &conn);
	}
}

/* Prints instructions for a connection that is made and ended. */
void work_connect(const struct side *side, unsigned int count)
{
	struct meter meter;

	connections(side, count / 4);
	side_sync(side);
	meter_start(&meter);
	connections(side, count);
	side_sync(side);
	if (!side->server)
		printf("%lld\n", (long long)meter_stop(&meter) / count);
}

/*
 * Prints bytes of memory for a connection, both ends together; of one that has been moved, and
 * has come to rest since.
 */
void work_idle(const struct side *side, unsigned int count, bool moved)
{
	/* The connection manager remembers a connection that long. */
	static const struct timespec forget = { .tv_sec = 60 };
	struct conn *conn = allocate(count, sizeof(*conn));
	struct conn first;
	unsigned int i;
	int64_t before = 0;

	/* What there is once, for all connections. */
	conn_open(side, &first, false);
	if (moved)
		move(side, &first, 1);
	memset(conn, 0, count * sizeof(*conn));
	side_sync(side);
	if (!side->server)
		before = memory_used();
	side_sync(side);
	for (i = 0; i < count; i++) {
		conn_open(side, &conn[i], false);
		if (moved)
			move(side, &conn[i], 1);
	}
	side_sync(side);
	if (moved) {
		rest(&first, 1);
		rest(conn, count);
		nanosleep(&forget, NULL);
	}
	if (!side->server)
		printf("%lld\n", (long long)(memory_used() - before) / count);
	side_sync(side);
	for (i = 0; i < count; i++)
		conn_finish(side, &conn[i]);
	conn_finish(side, &first);
	free(conn);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Both doors to one stream: threads put bytes in by write(2) and by the
 * transmit ring, and take them out by read(2) and from the receive ring, all at
 * once.  No byte may be lost, doubled or out of order.
 *
 * What is sent are records of eight bytes: the sender and a number.  Records
 * are written whole, so each sender's arrive in order; and every receiver takes
 * whole records, since they fill buffers and rings evenly, so all together they
 * see each exactly once.
 */
#include "end.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <linux/sockios.h>
#include <sys/mman.h>

#define RING	16384
#define RECORDS	(1 << 16)	/* of each sender */
#define SENDERS	3

struct record {
	uint32_t sender, number;
};

struct side {
	int fd;
	unsigned int data;
	struct sdp_ring *tx, *rx;
};

static struct side side[2];

/* The indices are shared with the kernel. */
static __u64 load(__u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static bool needs_enter(struct sdp_ring *r)
{
	return __atomic_load_n(&r->flags, __ATOMIC_SEQ_CST) & SDP_RING_NEED_ENTER;
}

static int enter(struct side *s, unsigned int flags)
{
	struct sdp_ring_enter arg = { .size = sizeof(arg), .flags = flags };

	return ioctl(s->fd, SDP_IOC_RING_ENTER, &arg);
}

static void *map(int fd, unsigned long size, unsigned long offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	must(p != MAP_FAILED);
	return p;
}

static void set_up(struct side *s, int fd)
{
	struct sdp_ring_setup arg = {
		.size = sizeof(arg), .tx_bytes = RING, .rx_bytes = RING,
	};

	must(ioctl(fd, SDP_IOC_RING_SETUP, &arg) == 0);
	s->fd = fd;
	s->data = arg.data_offset;
	s->tx = map(fd, s->data + RING, SDP_MMAP_TX_RING);
	s->rx = map(fd, s->data + RING, SDP_MMAP_RX_RING);
}

static void tear_down(struct side *s)
{
	munmap(s->tx, s->data + RING);
	munmap(s->rx, s->data + RING);
	close(s->fd);
}

static void lock(uint32_t *l)
{
	while (__atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(uint32_t *l)
{
	__atomic_store_n(l, 0, __ATOMIC_RELEASE);
}

static void ring_copy(char *data, uint64_t index, void *buf, size_t len, bool in)
{
	for (size_t i = 0; i < len; i++) {
		char *p = data + ((index + i) & (RING - 1));

		if (in)
			*p = ((char *)buf)[i];
		else
			((char *)buf)[i] = *p;
	}
}

/* Puts @len bytes into the transmit ring; they fit into it. */
static void ring_write(struct side *s, void *buf, size_t len)
{
	struct sdp_ring *r = s->tx;

	lock(&r->lock);
	while (RING - (r->tail - load(&r->head)) < len)
		must(enter(s, SDP_ENTER_TX | SDP_ENTER_WAIT_TX) == 0);
	ring_copy((char *)r + s->data, r->tail, buf, len, true);
	__atomic_store_n(&r->tail, r->tail + len, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (needs_enter(r))
		must(enter(s, SDP_ENTER_TX) == 0);
	unlock(&r->lock);
}

/* Takes up to @len bytes from the receive ring; zero at the end. */
static size_t ring_read(struct side *s, void *buf, size_t len)
{
	struct sdp_ring *r = s->rx;
	uint64_t head, tail;
	uint32_t flags;
	size_t n;

	for (;;) {
		head = load(&r->head);
		flags = __atomic_load_n(&r->flags, __ATOMIC_ACQUIRE);
		tail = load(&r->tail);
		n = tail - head < len ? tail - head : len;
		/* Records are eight bytes, and so is everything in the ring. */
		n &= ~7UL;
		if (n) {
			ring_copy((char *)r + s->data, head, buf, n, false);
			if (!__atomic_compare_exchange_n(&r->head, &head, head + n, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
				continue;
			if (needs_enter(r))
				must(enter(s, SDP_ENTER_RX) == 0);
			return n;
		}
		if (flags & SDP_RING_EOF)
			return 0;
		must(enter(s, SDP_ENTER_RX | SDP_ENTER_WAIT_RX) == 0);
	}
}

static struct { struct side *s; bool ring; } senders[SENDERS];
static atomic_uint senders_left;

static void *send_records(void *arg)
{
	struct side *s = senders[(uintptr_t)arg].s;
	bool ring = senders[(uintptr_t)arg].ring;
	uint32_t id = (uintptr_t)arg, i = 0, n;
	struct record batch[256];

	while (i < RECORDS) {
		n = 1 + (i * 2654435761U >> 24);
		if (n > RECORDS - i)
			n = RECORDS - i;
		for (uint32_t j = 0; j < n; j++)
			batch[j] = (struct record){ id, i + j };
		if (ring)
			ring_write(s, batch, n * sizeof(*batch));
		else
			must(write(s->fd, batch, n * sizeof(*batch)) ==
			     (ssize_t)(n * sizeof(*batch)));
		i += n;
	}
	if (atomic_fetch_sub(&senders_left, 1) == 1)
		must(end_shutdown(SDP, s->fd, SHUT_WR) == 0);
	return NULL;
}

static unsigned char seen[SENDERS][RECORDS];
static atomic_uint wrong, taken, by_ring, by_read;

/* One receiver sees each sender's records in order. */
static void *receive_records(void *arg)
{
	struct side *s = &side[1];
	int64_t last[SENDERS] = { -1, -1, -1 };
	struct record batch[512];
	bool ring = arg;
	ssize_t n;

	for (;;) {
		n = ring ? (ssize_t)ring_read(s, batch, sizeof(batch)) :
			   read(s->fd, batch, sizeof(batch));
		if (n <= 0)
			break;
		if (n % sizeof(*batch)) {
			atomic_fetch_add(&wrong, 1);
			break;
		}
		n /= sizeof(*batch);
		for (ssize_t i = 0; i < n; i++) {
			struct record r = batch[i];

			if (r.sender >= SENDERS || r.number >= RECORDS ||
			    (int64_t)r.number <= last[r.sender] ||
			    __atomic_fetch_add(&seen[r.sender][r.number], 1, __ATOMIC_RELAXED)) {
				atomic_fetch_add(&wrong, 1);
				continue;
			}
			last[r.sender] = r.number;
		}
		atomic_fetch_add(&taken, n);
		atomic_fetch_add(ring ? &by_ring : &by_read, n);
	}
	return NULL;
}

static void test_doors(const char *name, const bool *ring_sender, const bool *ring_receiver,
		       int receivers)
{
	pthread_t s[SENDERS], r[3];
	unsigned int missing = 0;
	int e[2];

	pair(SDP, e);
	set_up(&side[0], e[0]);
	set_up(&side[1], e[1]);
	memset(seen, 0, sizeof(seen));
	wrong = 0;
	taken = 0;
	by_ring = 0;
	by_read = 0;
	senders_left = SENDERS;
	for (uintptr_t i = 0; i < (uintptr_t)receivers; i++)
		must(pthread_create(&r[i], NULL, receive_records,
				    (void *)(uintptr_t)ring_receiver[i]) == 0);
	for (uintptr_t i = 0; i < SENDERS; i++) {
		senders[i].s = &side[0];
		senders[i].ring = ring_sender[i];
		must(pthread_create(&s[i], NULL, send_records, (void *)i) == 0);
	}
	for (int i = 0; i < SENDERS; i++)
		pthread_join(s[i], NULL);
	for (int i = 0; i < receivers; i++)
		pthread_join(r[i], NULL);
	for (int i = 0; i < SENDERS; i++)
		for (int j = 0; j < RECORDS; j++)
			missing += !seen[i][j];
	ok(!missing && !wrong && taken == SENDERS * RECORDS,
	   "%s: %u records, %u missing, %u wrong (ring %u, read %u)", name,
	   (unsigned int)taken, missing, (unsigned int)wrong,
	   (unsigned int)by_ring, (unsigned int)by_read);
	tear_down(&side[0]);
	tear_down(&side[1]);
}

/* Nothing behind the mark is in the ring until the reader has stopped there. */
static void test_urgent(void)
{
	char buf[16];
	int e[2], n;

	pair(SDP, e);
	set_up(&side[0], e[0]);
	must(end_send(SDP, e[1], "abU", 3, MSG_OOB) == 3);
	must(write(e[1], "cd", 2) == 2);
	must(events(e[0], POLLPRI, SOON) == POLLPRI);
	for (int i = 0; i < 500 && end_info(e[0]).rx_bytes < 5; i++)
		poll(NULL, 0, 20);
	ok(load(&side[0].rx->tail) == 2, "urgent: the ring ends at the mark");
	ok(ioctl(e[0], FIONREAD, &n) == 0 && n == 2, "FIONREAD, too");
	ok(end_recv(SDP, e[0], buf, 1, MSG_OOB) == 1 && *buf == 'U', "MSG_OOB has it");
	side[0].rx->head = 2;
	must(enter(&side[0], SDP_ENTER_RX) == 0);
	ok(load(&side[0].rx->tail) == 2 && ioctl(e[0], SIOCATMARK, &n) == 0 && n == 1,
	   "the first call stops at the mark");
	must(enter(&side[0], SDP_ENTER_RX | SDP_ENTER_WAIT_RX) == 0);
	ring_copy((char *)side[0].rx + side[0].data, 2, buf, 2, false);
	ok(load(&side[0].rx->tail) == 4 && !memcmp(buf, "cd", 2), "the second goes on behind it");
	ok(ioctl(e[0], SIOCATMARK, &n) == 0 && n == 0, "past the mark");
	tear_down(&side[0]);
	close(e[1]);
}

/* The bands of the next two signals; zero for one that does not come. */
static long next_bands(const sigset_t *set)
{
	struct timespec soon = { .tv_sec = SOON / 1000 };
	long bands = 0;
	siginfo_t si;

	for (int i = 0; i < 2 && sigtimedwait(set, &si, &soon) > 0; i++)
		bands |= si.si_band;
	return bands;
}

/* A call has looked for room, and did not wait: bytes that come then tell of both. */
static void test_sigio(void)
{
	sigset_t set;
	char byte;
	int e[2];

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	must(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	pair(SDP, e);
	set_up(&side[0], e[0]);
	must(fcntl(e[0], F_SETOWN, getpid()) == 0 && fcntl(e[0], F_SETSIG, SIGRTMIN) == 0);
	must(fcntl(e[0], F_SETFL, fcntl(e[0], F_GETFL) | O_ASYNC) == 0);
	must(enter(&side[0], SDP_ENTER_WAIT_TX) == 0);
	must(write(e[1], "x", 1) == 1);
	ok(next_bands(&set) == (POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLWRBAND),
	   "SIGIO of bytes and of room at once");
	must(read(e[0], &byte, 1) == 1);
	tear_down(&side[0]);
	close(e[1]);
}

/* A message that is held back for more gets the ring's bytes, and then those of a call. */
static void test_held(void)
{
	char buf[4];
	int e[2];

	pair(SDP, e);
	set_up(&side[0], e[0]);
	must(end_send(SDP, e[0], "01", 2, MSG_MORE) == 2);
	*((char *)side[0].tx + side[0].data) = '2';
	__atomic_store_n(&side[0].tx->tail, 1, __ATOMIC_RELEASE);
	must(end_send(SDP, e[0], "3", 1, 0) == 1);
	ok(end_recv(SDP, e[1], buf, 4, MSG_WAITALL) == 4 && !memcmp(buf, "0123", 4) &&
	   load(&side[0].tx->head) == 1, "MSG_MORE, a ring and a call: in that order");
	tear_down(&side[0]);
	close(e[1]);
}

/* Small things that the doors must agree on. */
static void test_agreement(void)
{
	static char buf[RING * 2];
	char byte = 'x';
	int e[2], n;

	pair(SDP, e);
	must(write(e[1], "early", 5) == 5);
	must(events(e[0], POLLIN, SOON) == POLLIN);
	set_up(&side[0], e[0]);
	ring_copy((char *)side[0].rx + side[0].data, 0, buf, 5, false);
	ok(load(&side[0].rx->tail) == 5 && !memcmp(buf, "early", 5),
	   "what came before the rings is in them");
	ok(end_recv(SDP, e[0], buf, 10, MSG_PEEK) == 5, "MSG_PEEK sees the ring");
	ok(ioctl(e[0], FIONREAD, &n) == 0 && n == 5, "FIONREAD counts it");
	ok(read(e[0], buf, 3) == 3 && load(&side[0].rx->head) == 3, "read moves the head");
	ok(end_recv(SDP, e[0], buf, 10, 0) == 2, "and the rest");
	nonblock(e[0], true);
	ok(enter(&side[0], SDP_ENTER_WAIT_RX) == -1 && errno == EAGAIN,
	   "nothing to wait for: EAGAIN");
	nonblock(e[0], false);

	/* Fill ring and queue, and see both. */
	must(write(e[1], buf, sizeof(buf)) == sizeof(buf));
	for (int i = 0; i < 500 && (ioctl(e[0], FIONREAD, &n), n < (int)sizeof(buf)); i++)
		poll(NULL, 0, 20);
	ok(n == sizeof(buf) && load(&side[0].rx->tail) - load(&side[0].rx->head) == RING,
	   "the ring is full and more waits");
	ok(side[0].rx->flags & SDP_RING_NEED_ENTER, "which the ring says");
	ok(end_recv(SDP, e[0], buf, sizeof(buf), MSG_PEEK) == sizeof(buf), "MSG_PEEK sees both");
	ok(end_recv(SDP, e[0], buf, sizeof(buf), MSG_WAITALL) == sizeof(buf),
	   "and so does MSG_WAITALL");
	ok(!(side[0].rx->flags & SDP_RING_NEED_ENTER), "nothing waits now");

	/* What is in the ring goes before what is written. */
	for (int i = 0; i < 500 && !needs_enter(side[0].tx); i++)
		poll(NULL, 0, 20);
	ok(needs_enter(side[0].tx), "idle: the kernel sleeps");
	*((char *)side[0].tx + side[0].data) = '1';
	__atomic_store_n(&side[0].tx->tail, 1, __ATOMIC_RELEASE);
	must(write(e[0], "2", 1) == 1);
	ok(end_recv(SDP, e[1], buf, 2, MSG_WAITALL) == 2 && !memcmp(buf, "12", 2),
	   "write sends the ring first");

	/* The end. */
	ring_write(&side[0], &byte, 1);
	must(end_shutdown(SDP, e[0], SHUT_WR) == 0);
	/* NOLINTNEXTLINE(misc-redundant-expression): two calls, not one twice */
	ok(read(e[1], buf, 10) == 1 && read(e[1], buf, 10) == 0, "shutdown sends the ring first");
	ok(enter(&side[0], SDP_ENTER_TX) == -1 && errno == EPIPE, "then: EPIPE");
	close(e[1]);
	events(e[0], POLLRDHUP, SOON);
	ok(side[0].rx->flags & SDP_RING_EOF, "the peer's end: EOF");
	ok(enter(&side[0], SDP_ENTER_WAIT_RX) == 0, "which ends waiting");
	tear_down(&side[0]);

	test_urgent();
	test_sigio();
	test_held();

	/* Closing sends what is in the ring without anybody asking. */
	pair(SDP, e);
	set_up(&side[0], e[0]);
	memset((char *)side[0].tx + side[0].data, 'y', RING);
	__atomic_store_n(&side[0].tx->tail, RING, __ATOMIC_RELEASE);
	tear_down(&side[0]);
	ok(end_recv(SDP, e[1], buf, RING, MSG_WAITALL) == RING && read(e[1], buf, 1) == 0,
	   "close sends the ring first");
	close(e[1]);

	/* Also where unread bytes make a reset of it. */
	pair(SDP, e);
	set_up(&side[0], e[0]);
	must(write(e[1], &byte, 1) == 1 && events(e[0], POLLIN, SOON) == POLLIN);
	must(write(e[0], &byte, 1) == 1);
	__atomic_store_n(&side[0].tx->tail, RING, __ATOMIC_RELEASE);
	tear_down(&side[0]);
	ok(end_recv(SDP, e[1], buf, RING + 1, MSG_WAITALL) == RING + 1 &&
	   end_recv(SDP, e[1], buf, 1, 0) == -1 && errno == ECONNRESET,
	   "and so does a reset");
	close(e[1]);
}

int main(void)
{
	static const bool rings[] = { true, true, true }, calls[3], mixed[] = { true, false, true };

	signal(SIGPIPE, SIG_IGN);
	test_agreement();
	test_doors("rings only", rings, rings, 1);
	test_doors("rings, three receivers", rings, rings, 3);
	test_doors("calls only", calls, calls, 2);
	test_doors("both doors", mixed, mixed, 3);
	printf("1..%u\n", tap_done);
	return tap_exit();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The orders that a mapped ring promises: libsdpdev/ring.c in some threads against
 * sdpdev/ring/kring.h, the kernel's side, in another.  Both are the code that is used.  The
 * kernel's locks are played by the order in which one thread does things.
 *
 * The rings have 64 bytes, so that each place in them is overwritten all the time, and
 * both sides run for a time (LITMUS_MS for each test) instead of a number of rounds, so
 * that an emulator may take as long as it likes for a round.  A missing order shows only
 * where processor, compiler or emulator use the freedom: see Documentation/testing.rst.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <sdpdev.h>

#include "tap.h"

/* --- what sdpdev/ring/kring.h needs of the kernel ------------------------------- */

typedef __u32 u32;
typedef __u64 u64;

#define PAGE_SIZE		4096
#define BIT_ULL(n)		(1ULL << (n))
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

/* As the kernel's, both are full barriers. */
static u64 xchg(__u64 *p, u64 v)
{
	u64 old;

	smp_mb();
	old = __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
	smp_mb();
	return old;
}

static u64 cmpxchg(__u64 *p, u64 old, u64 v)
{
	smp_mb();
	__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	smp_mb();
	return old;
}

#include "../../sdpdev/ring/kring.h"

/* --- two rings and the calls on them --------------------------------------- */

#define RING_BYTES	64
#define PATIENCE	20	/* seconds; what takes so long does not come */

static struct sdp_rings rings;
static struct sdp_kring tx, rx;
static unsigned long calls;	/* of SDP_IOC_RING_ENTER */
static bool stop;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The time that a test may take, or so many times that. */
static long long end_of_test(unsigned int times)
{
	const char *ms = getenv("LITMUS_MS");

	return now() + times * (ms ? atoi(ms) : 1000) * 1000000LL;
}

static bool stopped(void)
{
	return READ_ONCE(stop);
}

/* Others may need the processor: a while, which differs each time. */
static void pause_a_while(unsigned int *seed)
{
	unsigned int n;

	*seed = *seed * 1103515245 + 12345;
	n = *seed >> 16 & 63;
	if (!(*seed >> 24 & 127))
		sched_yield();
	while (n--)
		__asm__ volatile("" ::: "memory");
}

/* Rounds that each of two threads has come to: they go on as close together as can be. */
static struct {
	unsigned long at __attribute__((aligned(64)));
} side[2];

static void meet(int which)
{
	unsigned long n = side[which].at + 1;
	unsigned int looks = 0;

	__atomic_store_n(&side[which].at, n, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&side[!which].at, __ATOMIC_SEQ_CST) < n)
		if (!(++looks & 255))
			sched_yield();
}

/* What does not go by the rings has ended. */
int __wrap_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	(void)fd;
	switch (request) {
	case SDP_IOC_RING_SETUP:
		((struct sdp_ring_setup *)arg)->data_offset = PAGE_SIZE;
		return 0;
	case SDP_IOC_RING_ENTER:
		/* It enters the kernel, which takes a lock. */
		__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
		return 0;
	case SDP_IOC_SEND:
		errno = EPIPE;
		return -1;
	case SDP_IOC_RECV:
		errno = ECONNRESET;
		return -1;
	}
	errno = ENOTTY;
	return -1;
}

/* Both rings empty, from an index on that runs over soon. */
static void reset(void)
{
	const u64 start = (u64)-1000 & ~255ULL;

	memset(rings.tx, 0, sizeof(*rings.tx));
	memset(rings.rx, 0, sizeof(*rings.rx));
	tx = (struct sdp_kring){ .map = rings.tx, .size = RING_BYTES, .own = start,
				 .user = start };
	rx = (struct sdp_kring){ .map = rings.rx, .size = RING_BYTES, .own = start,
				 .user = start };
	rings.tx->head = start;
	rings.tx->tail = start;
	rings.rx->head = start;
	rings.rx->tail = start;
	calls = 0;
	side[0].at = 0;
	side[1].at = 0;
	stop = false;
}

static void setup(void)
{
	int fd = memfd_create("rings", MFD_CLOEXEC);

	must(fd >= 0);
	must(!ftruncate(fd, SDP_MMAP_RX_RING + PAGE_SIZE + PAGE_SIZE));
	must(!sdp_ring_attach(fd, RING_BYTES, RING_BYTES, &rings));
}

/* The byte at a position of a stream, and whether some are those that follow @first. */
static void make_bytes(unsigned char *buf, u64 from, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		buf[i] = from + i;
}

static bool in_turn(const unsigned char *buf, size_t n, unsigned char first)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (buf[i] != (unsigned char)(first + i))
			return false;
	return true;
}

/* --- a transmit ring: bytes, and the kernel's sleep ------------------------- */

static void *send_turns(void *arg)
{
	u64 *sent = arg, at = tx.own;
	unsigned char buf[RING_BYTES];
	unsigned int seed = 1;
	ssize_t n;

	while (!stopped()) {
		n = 1 + (seed >> 8) % ((at & 1) ? 2 : sizeof(buf));
		make_bytes(buf, at, n);
		n = sdp_ring_send(&rings, buf, n, MSG_DONTWAIT);
		if (n > 0)
			at += n;
		pause_a_while(&seed);
	}
	*sent = at;
	return NULL;
}

/* Waits for the call that sdp_kring_sleep() asks for. */
static bool sleep_well(unsigned long before)
{
	long long late = now() + PATIENCE * 1000000000LL;
	u32 bytes;

	sdp_kring_sleep(&tx, 0);
	if (!sdp_kring_sent(&tx, &bytes) || bytes)
		goto awake;
	while (__atomic_load_n(&calls, __ATOMIC_SEQ_CST) == before && !stopped()) {
		sched_yield();
		/* A producer that has bytes there for so long has not called. */
		if (now() > late)
			return !sdp_kring_sent(&tx, &bytes) || !bytes;
	}
awake:
	WRITE_ONCE(tx.map->flags, 0);
	return true;
}

/* Takes what is there; sleeps where there is nothing. */
static bool take_turns(unsigned long *sleeps)
{
	unsigned long before = __atomic_load_n(&calls, __ATOMIC_SEQ_CST);
	unsigned char buf[RING_BYTES];
	u64 at = tx.own;
	u32 bytes, n;

	if (!sdp_kring_sent(&tx, &bytes))
		return false;
	if (!bytes) {
		(*sleeps)++;
		return sleep_well(before);
	}
	n = sdp_kring_take(&tx, buf, bytes);
	return in_turn(buf, n, at);
}

static void transmit(void)
{
	unsigned long sleeps = 0;
	long long end = end_of_test(1);
	unsigned int seed = 7;
	pthread_t producer;
	bool good = true;
	u64 sent, start;

	reset();
	start = tx.own;
	must(!pthread_create(&producer, NULL, send_turns, &sent));
	while (good && now() < end) {
		good = take_turns(&sleeps);
		pause_a_while(&seed);
	}
	WRITE_ONCE(stop, true);
	pthread_join(producer, NULL);
	while (good && tx.own != sent)
		good = take_turns(&sleeps);
	ok(good, "what is put into a transmit ring is taken, and wakes the kernel");
	printf("# %llu bytes, %lu sleeps, %lu calls\n",
	       (unsigned long long)(tx.own - start), sleeps, calls);
}

/*
 * The handshake alone.  In each round either side stores its own word, then looks at the
 * other's: the producer has put a byte there, the kernel is about to sleep.  Both may see
 * it, but not seeing it is for one of them only.  Words that the producer has written last
 * are what the kernel writes first, so that its store of the flags has to queue.
 */
static struct {
	unsigned long word __attribute__((aligned(64)));
} queue[8];

static void fill_queue(void)
{
	size_t i;

	for (i = 0; i < sizeof(queue) / sizeof(*queue); i++)
		WRITE_ONCE(queue[i].word, queue[i].word + 1);
}

static void *knock_rounds(void *arg)
{
	unsigned int seed = 3;
	char c = 0;

	(void)arg;
	for (;;) {
		fill_queue();
		meet(0);
		if (stopped())
			return NULL;
		pause_a_while(&seed);
		must(sdp_ring_send(&rings, &c, 1, MSG_DONTWAIT) == 1);
		meet(0);
	}
}

/* Whether neither has seen the other. */
static bool handshake_lost(unsigned int *seed)
{
	unsigned long before = calls;
	unsigned char c;
	u32 seen, bytes;

	WRITE_ONCE(tx.map->flags, 0);
	meet(1);
	pause_a_while(seed);
	fill_queue();
	sdp_kring_sleep(&tx, 0);
	must(sdp_kring_sent(&tx, &seen));
	meet(1);
	must(sdp_kring_sent(&tx, &bytes) && sdp_kring_take(&tx, &c, bytes) == 1);
	return !seen && calls == before;
}

/* The longest of all: it is what x86 itself would reorder, and seldom does. */
static void handshake(void)
{
	unsigned long rounds = 0, lost = 0;
	long long end = end_of_test(6);
	unsigned int seed = 19;
	pthread_t producer;

	reset();
	must(!pthread_create(&producer, NULL, knock_rounds, NULL));
	for (; now() < end; rounds++)
		lost += handshake_lost(&seed);
	WRITE_ONCE(stop, true);
	meet(1);
	pthread_join(producer, NULL);
	ok(!lost, "the kernel sees the tail, or the producer sees that the kernel sleeps");
	printf("# %lu rounds, %lu lost\n", rounds, lost);
}

/* --- a transmit ring: its end ------------------------------------------------ */

/* Sends until it is refused; in each round the bytes of calls that said so. */
static void *send_rounds(void *arg)
{
	unsigned long *taken = arg;
	unsigned char c = 0;
	ssize_t n;

	for (;;) {
		meet(0);
		if (stopped())
			return NULL;
		*taken = 0;
		do {
			n = sdp_ring_send(&rings, &c, 1, MSG_DONTWAIT);
			*taken += n > 0;
		} while (n > 0 || errno == EAGAIN);
		must(errno == EPIPE);
		meet(0);
	}
}

/* Ends the ring at some moment; the bytes that came before. */
static u64 end_one(unsigned int *seed)
{
	u64 start = tx.own;
	unsigned char buf[RING_BYTES];
	unsigned int n = *seed >> 20 & 15;
	u32 bytes;

	meet(1);
	while (n--) {
		pause_a_while(seed);
		if (sdp_kring_sent(&tx, &bytes) && bytes)
			sdp_kring_take(&tx, buf, bytes);
	}
	pause_a_while(seed);
	sdp_kring_end(&tx, SDP_RING_NEED_ENTER | SDP_RING_EOF);
	must(sdp_kring_sent(&tx, &bytes));
	meet(1);
	return tx.own + bytes - start;
}

static void transmit_end(void)
{
	unsigned long rounds = 0, wrong = 0, taken = 0;
	long long end = end_of_test(1);
	unsigned int seed = 5;
	pthread_t producer;

	reset();
	must(!pthread_create(&producer, NULL, send_rounds, &taken));
	for (; now() < end; rounds++) {
		tx.ended = false;
		WRITE_ONCE(tx.map->flags, 0);
		WRITE_ONCE(tx.map->head, tx.own);
		WRITE_ONCE(tx.map->tail, tx.own);
		wrong += end_one(&seed) != taken;
	}
	WRITE_ONCE(stop, true);
	meet(1);
	pthread_join(producer, NULL);
	ok(!wrong, "a byte counts as sent if it came before the end, and only then");
	printf("# %lu ends, %lu wrong\n", rounds, wrong);
}

/* --- a receive ring: its end ------------------------------------------------- */

/* Bytes of one stream up to what the ring says is its end, or -1. */
static long recv_all(int wanted)
{
	unsigned char buf[RING_BYTES];
	long got = 0;
	ssize_t n;

	for (;;) {
		n = sdp_ring_recv(&rings, buf, sizeof(buf), MSG_DONTWAIT);
		if (n > 0)
			got += n;
		else if (n == 0 || errno != EAGAIN)
			return (n ? errno : 0) == wanted ? got : -1;
	}
}

static unsigned int sent_in_round;

static void *end_rounds(void *arg)
{
	unsigned char buf[RING_BYTES] = { 0 };
	unsigned int seed = 9, first;
	u32 flag = *(u32 *)arg;

	for (;;) {
		meet(0);
		if (stopped())
			return NULL;
		pause_a_while(&seed);
		first = seed >> 20 & 7;
		sdp_kring_put(&rx, buf, first);
		sdp_kring_put(&rx, buf, 1);
		sdp_kring_tell(&rx, flag);
		sent_in_round = first + 1;
		meet(0);
	}
}

static void receive_end(const char *name, u32 flag, int error)
{
	unsigned long rounds = 0, early = 0;
	long long end = end_of_test(1);
	pthread_t kernel;
	long got;

	reset();
	must(!pthread_create(&kernel, NULL, end_rounds, &flag));
	for (; now() < end; rounds++) {
		/* What was missed belongs to no later round. */
		WRITE_ONCE(rings.rx->head, rx.own);
		WRITE_ONCE(rings.rx->flags, 0);
		meet(1);
		got = recv_all(error);
		meet(1);
		early += got != sent_in_round;
	}
	WRITE_ONCE(stop, true);
	meet(1);
	pthread_join(kernel, NULL);
	ok(!early, "%s", name);
	printf("# %lu ends, %lu early\n", rounds, early);
}

/* --- a receive ring: many who want the bytes ---------------------------------- */

struct reader {
	unsigned long bytes, mixed;
};

/* By the library, as programs do. */
static void *recv_turns(void *arg)
{
	unsigned char buf[RING_BYTES / 2];
	struct reader *r = arg;
	unsigned int seed = 11;
	ssize_t n;

	while (!stopped()) {
		n = sdp_ring_recv(&rings, buf, 1 + (seed >> 8) % sizeof(buf), MSG_DONTWAIT);
		if (n > 0) {
			r->bytes += n;
			r->mixed += !in_turn(buf, n, buf[0]);
		}
		pause_a_while(&seed);
	}
	return NULL;
}

/* The kernel's lock: its reader and its producer look at the indices under it. */
static pthread_mutex_t ep_lock = PTHREAD_MUTEX_INITIALIZER;

/* As sdp_ring_consume() does, which copies without the lock. */
static void read_or_peek(struct reader *r, bool peek)
{
	unsigned char buf[RING_BYTES];
	u32 bytes, done = 0, n;
	bool good;
	u64 head;

	pthread_mutex_lock(&ep_lock);
	good = sdp_kring_unread(&rx, &bytes);
	head = rx.user;
	pthread_mutex_unlock(&ep_lock);
	if (!good)
		r->mixed++;
	if (!good || !bytes)
		return;
	for (; done < bytes; done += n) {
		n = sdp_kring_piece(&rx, head + done, bytes - done);
		memcpy(buf + done, sdp_kring_data(&rx, head + done), n);
	}
	if (peek) {
		r->mixed += sdp_kring_unmoved(&rx, head) && !in_turn(buf, bytes, head);
		return;
	}
	pthread_mutex_lock(&ep_lock);
	if (sdp_kring_move(&rx, head, head + bytes)) {
		r->bytes += bytes;
		r->mixed += !in_turn(buf, bytes, head);
	}
	pthread_mutex_unlock(&ep_lock);
}

static void *read_turns(void *arg)
{
	struct reader *r = arg;
	unsigned int seed = 13;

	while (!stopped()) {
		read_or_peek(r, seed & 1 << 20);
		pause_a_while(&seed);
	}
	return NULL;
}

/* As much as there is room for. */
static bool put_turns(void)
{
	unsigned char buf[RING_BYTES];
	bool good;
	u32 used;

	pthread_mutex_lock(&ep_lock);
	good = sdp_kring_unread(&rx, &used);
	if (good) {
		make_bytes(buf, rx.own, RING_BYTES - used);
		sdp_kring_put(&rx, buf, RING_BYTES - used);
	}
	pthread_mutex_unlock(&ep_lock);
	return good;
}

static void receive(void)
{
	struct reader reader[2] = { { 0, 0 }, { 0, 0 } }, rest = { 0, 0 };
	long long end = end_of_test(1);
	unsigned int seed = 17;
	pthread_t thread[2];
	bool good = true;
	u64 start;

	reset();
	start = rx.own;
	must(!pthread_create(&thread[0], NULL, recv_turns, &reader[0]));
	must(!pthread_create(&thread[1], NULL, read_turns, &reader[1]));
	while (good && now() < end) {
		good = put_turns();
		pause_a_while(&seed);
	}
	WRITE_ONCE(stop, true);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	read_or_peek(&rest, false);
	ok(good && !reader[0].mixed && !reader[1].mixed && !rest.mixed,
	   "what is received or peeked at was not overwritten");
	ok(reader[0].bytes + reader[1].bytes + rest.bytes == rx.own - start,
	   "each byte goes to one of library and kernel");
	printf("# %lu bytes by the library, %lu by the kernel, %lu and %lu mixed\n",
	       reader[0].bytes, reader[1].bytes, reader[0].mixed, reader[1].mixed);
}

int main(void)
{
	tap_plan(7);
	setup();
	transmit();
	handshake();
	transmit_end();
	receive_end("with SDP_RING_EOF the tail is the last one", SDP_RING_EOF, 0);
	receive_end("with SDP_RING_ERROR the tail is the last one", SDP_RING_ERROR, ECONNRESET);
	receive();
	return tap_exit();
}

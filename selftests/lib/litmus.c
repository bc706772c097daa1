// SPDX-License-Identifier: GPL-2.0
/*
 * The orders that mapped rings promise: libsdpdev/mapped.c, the code that is used, in one thread
 * against itself or the kernel's steps in another.  The kernel's side, sdpdev/offload/share.c, is
 * played: it closes a half by one exchange, and looks again behind what it asks for.
 *
 * The rings have 64 bytes, so that each place in them is overwritten all the time, and both sides
 * run for a time (LITMUS_MS for each test) instead of a number of rounds, so that an emulator may
 * take as long as it likes for a round.  A missing order shows only where processor, compiler or
 * emulator use the freedom: see Documentation/testing.rst.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

#include <mapped.h>

#include "tap.h"

#define RING_BYTES	64

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define full_barrier()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

/* The two ends of a direction. */
static struct sdp_fast sender, reader;
static struct sdp_shared shared;
static char bytes[RING_BYTES];
static unsigned long kicks;
static bool opens;	/* the kernel lends a half to whoever asks */
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

void sdp_mapped_close(int fd)
{
	(void)fd;
}

/* It enters the kernel, which takes a lock. */
int __wrap_ioctl(int fd, unsigned long request, unsigned long what);
int __wrap_ioctl(int fd, unsigned long request, unsigned long what)
{
	__u64 *word = what == SDP_RING_TX ? &shared.head : &shared.tail;

	(void)fd;
	if (request == SDP_RING_KICK) {
		__atomic_fetch_add(&kicks, 1, __ATOMIC_SEQ_CST);
		return 0;
	}
	if (!opens)
		return 0;
	__atomic_fetch_and(word, ~SDP_RING_CLOSED, __ATOMIC_SEQ_CST);
	return what;
}

static unsigned long yields;
int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
	__atomic_fetch_add(&yields, 1, __ATOMIC_RELAXED);
	return __real_sched_yield();
}

/* The kernel takes a half back; where it finds the program. */
static __u64 take_back(__u64 *word)
{
	return __atomic_fetch_or(word, SDP_RING_CLOSED, __ATOMIC_SEQ_CST) & ~SDP_RING_CLOSED;
}

/* Empty, and both halves lent. */
static void reset(bool open)
{
	const struct half half = { .shared = &shared, .bytes = bytes };

	shared = (struct sdp_shared){ .limit = RING_BYTES };
	sdp_mapped_begin(&sender, -1);
	sdp_mapped_begin(&reader, -1);
	sender.size = RING_BYTES;
	reader.size = RING_BYTES;
	sender.tx = half;
	sender.rx = half;
	reader.tx = half;
	reader.rx = half;
	opens = open;
	stop = false;
	kicks = 0;
	side[0].at = 0;
	side[1].at = 0;
}

static size_t put(const unsigned char *buf, size_t n)
{
	const struct iovec iov = { .iov_base = (void *)buf, .iov_len = n };

	return sdp_mapped_send(&sender, &iov, 1, 1);
}

static ssize_t take(unsigned char *buf, size_t n)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = n };

	return sdp_mapped_recv(&reader, &iov, 1, 1, false);
}

/* --- bytes ----------------------------------------------------------------- */

static void *send_turns(void *arg)
{
	unsigned long *sent = arg;
	unsigned char buf[RING_BYTES];
	unsigned int seed = 1;
	size_t i, n;

	while (!READ_ONCE(stop)) {
		n = 1 + (seed >> 8) % ((*sent & 1) ? 2 : sizeof(buf));
		for (i = 0; i < n; i++)
			buf[i] = *sent + i;
		*sent += put(buf, n);
		pause_a_while(&seed);
	}
	return NULL;
}

/* The kernel takes one half or the other now and then. */
static void *take_turns(void *arg)
{
	unsigned int seed = 11;

	(void)arg;
	while (!READ_ONCE(stop)) {
		take_back((seed >> 20) & 1 ? &shared.head : &shared.tail);
		for (int i = 0; i < 100; i++)
			pause_a_while(&seed);
	}
	return NULL;
}

static void in_order(void)
{
	unsigned long sent = 0, got = 0;
	unsigned char buf[RING_BYTES];
	long long end = end_of_test(1);
	unsigned int seed = 7;
	pthread_t producer, kernel;
	bool good = true;
	ssize_t i, n;

	reset(true);
	must(!pthread_create(&producer, NULL, send_turns, &sent));
	must(!pthread_create(&kernel, NULL, take_turns, NULL));
	for (bool last = false; good && !last;) {
		if (now() > end && !READ_ONCE(stop)) {
			WRITE_ONCE(stop, true);
			pthread_join(producer, NULL);
			pthread_join(kernel, NULL);
		}
		n = take(buf, sizeof(buf));
		for (i = 0; i < n; i++)
			good &= buf[i] == (unsigned char)(got + i);
		got += n > 0 ? n : 0;
		last = READ_ONCE(stop) && got == sent;
		pause_a_while(&seed);
	}
	ok(good, "bytes come in their order, while the kernel takes halves and lends them again");
	printf("# %lu bytes\n", got);
}

/* --- a waiting thread is woken ---------------------------------------------- */

/*
 * In each round either side stores its own word, then looks at the other's.  Both may see it, but
 * not seeing it is for one of them only.  Words that the sender has written last are what the
 * reader writes first, so that its store has to queue.
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
	unsigned char c = 0;

	(void)arg;
	for (;;) {
		fill_queue();
		meet(0);
		if (READ_ONCE(stop))
			return NULL;
		pause_a_while(&seed);
		must(put(&c, 1) == 1);
		meet(0);
	}
}

static bool data_lost(unsigned int *seed)
{
	unsigned long before = kicks;
	unsigned char c;
	ssize_t seen;

	WRITE_ONCE(shared.want_data, 0);
	meet(1);
	pause_a_while(seed);
	fill_queue();
	seen = take(&c, 1);
	meet(1);
	return !seen && (take(&c, 1) != 1 || kicks == before);
}

/* The reader takes all that there is; the sender, without room, is about to sleep in send(2). */
static void *drain_rounds(void *arg)
{
	unsigned char buf[RING_BYTES];
	unsigned int seed = 5;

	(void)arg;
	for (;;) {
		fill_queue();
		meet(0);
		if (READ_ONCE(stop))
			return NULL;
		pause_a_while(&seed);
		must(take(buf, sizeof(buf)) == sizeof(buf));
		meet(0);
	}
}

static bool room_lost(unsigned int *seed)
{
	static const unsigned char buf[RING_BYTES];
	unsigned long before;
	__u64 tail;

	must(put(buf, sizeof(buf)) == sizeof(buf));
	before = kicks;
	WRITE_ONCE(shared.want_room, 0);
	meet(1);
	pause_a_while(seed);
	fill_queue();
	WRITE_ONCE(shared.want_room, 1);
	full_barrier();
	tail = READ_ONCE(shared.tail);
	meet(1);
	return tail != READ_ONCE(shared.head) && kicks == before;
}

/* The longest: it is what x86 itself would reorder, and seldom does. */
static void handshake(void *(*other)(void *arg), bool (*lost)(unsigned int *seed),
		      const char *name)
{
	unsigned long rounds = 0, missed = 0;
	long long end = end_of_test(3);
	unsigned int seed = 19;
	pthread_t thread;

	reset(true);
	must(!pthread_create(&thread, NULL, other, NULL));
	for (; now() < end; rounds++)
		missed += lost(&seed);
	WRITE_ONCE(stop, true);
	meet(1);
	pthread_join(thread, NULL);
	ok(!missed, "%s", name);
	printf("# %lu rounds, %lu lost\n", rounds, missed);
}

/* --- an end ------------------------------------------------------------------ */

/* Sends until it is refused; the bytes of calls that said so. */
static void *send_rounds(void *arg)
{
	unsigned long *sent = arg;
	const unsigned char c = 0;
	bool open;

	for (;;) {
		meet(0);
		if (READ_ONCE(stop))
			return NULL;
		for (*sent = 0, open = true; open;) {
			open = !(READ_ONCE(shared.head) & SDP_RING_CLOSED);
			*sent += put(&c, 1);
		}
		meet(0);
	}
}

static void at_the_end(void)
{
	unsigned long rounds = 0, wrong = 0, sent = 0;
	long long end = end_of_test(1);
	unsigned char buf[RING_BYTES];
	unsigned int seed = 23, n;
	pthread_t producer;
	__u64 start, head;

	reset(false);
	must(!pthread_create(&producer, NULL, send_rounds, &sent));
	for (; now() < end; rounds++) {
		shared.head &= ~SDP_RING_CLOSED;
		shared.tail = shared.head;
		sender.tx.skip = 0;
		start = shared.head;
		meet(1);
		for (n = seed >> 20 & 15; n; n--) {
			pause_a_while(&seed);
			take(buf, sizeof(buf));
		}
		pause_a_while(&seed);
		head = take_back(&shared.head);
		meet(1);
		wrong += sent != head - start;
	}
	WRITE_ONCE(stop, true);
	meet(1);
	pthread_join(producer, NULL);
	ok(!wrong, "what a call has sent is what the kernel finds when it takes the half");
	printf("# %lu rounds, %lu wrong\n", rounds, wrong);
}

/* --- a sender without rings --------------------------------------------------- */

/* Its half is closed, and the reader's is not: the reader lets others run before it sleeps. */
static void without_rings(void)
{
	unsigned char c;
	const struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	unsigned long turns;

	reset(false);
	take_back(&shared.head);
	turns = reader.turns;
	yields = 0;
	must(!sdp_mapped_recv(&reader, &iov, 1, 1, true));
	ok(turns && yields == turns, "a reader lets a sender run that has no rings");
}

int main(void)
{
	tap_plan(5);
	in_order();
	handshake(knock_rounds, data_lost, "a reader sees the bytes, or is woken for them");
	handshake(drain_rounds, room_lost, "a sender sees the room, or is woken for it");
	at_the_end();
	without_rings();
	return tap_exit();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Rings that are empty and idle have no pages, and whoever has them mapped notices
 * nothing: heads are as they were, and no byte is lost by who begins again just then.
 */
#include "end.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define RING		16384
#define PAGE		4096
#define IDLE_MS		300		/* as main() sets it */
#define BUFFERS		60000		/* an idle end has less than this, or rings, too */
#define IDLE_TIME	"/sys/module/sdpdev/parameters/idle_time"
#define SENDERS		8
#define NUMBERS		20

/* A connection whose one end has its rings mapped. */
struct ends {
	int end[2];
	struct sdp_ring *tx, *rx;
	const struct sdp_ring_state *state;
};

static char in[64];

static void set_idle_time(const char *ms)
{
	int fd = open(IDLE_TIME, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, ms, strlen(ms)) > 0);
	close(fd);
}

static void *map(int fd, size_t size, int prot, unsigned long where)
{
	void *p = mmap(NULL, size, prot, MAP_SHARED, fd, where);

	must(p != MAP_FAILED);
	return p;
}

static void make(struct ends *e)
{
	struct sdp_ring_setup arg = {
		.size = sizeof(arg), .tx_bytes = RING, .rx_bytes = RING,
	};

	pair(SDP, e->end);
	must(!ioctl(e->end[0], SDP_IOC_RING_SETUP, &arg));
	e->state = map(e->end[0], PAGE, PROT_READ, SDP_MMAP_STATE);
	e->tx = map(e->end[0], PAGE + RING, PROT_READ | PROT_WRITE, SDP_MMAP_TX_RING);
	e->rx = map(e->end[0], PAGE + RING, PROT_READ | PROT_WRITE, SDP_MMAP_RX_RING);
}

static void unmap(struct ends *e)
{
	munmap((void *)e->state, PAGE);
	munmap(e->tx, PAGE + RING);
	munmap(e->rx, PAGE + RING);
}

static void end(struct ends *e)
{
	unpair(e->end);
	unmap(e);
}

/* Bytes of an endpoint, as everybody can see them. */
static long memory_of(unsigned long long id)
{
	char line[512];
	long bytes = -1;
	FILE *f;

	f = fopen("/proc/self/net/sdp/endpoints", "re");
	must(f);
	while (fgets(line, sizeof(line), f))
		if (strtoull(line, NULL, 10) == id)
			sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
			       &bytes);
	fclose(f);
	must(bytes >= 0);
	return bytes;
}

static bool has_pages(const struct ends *e)
{
	return memory_of(end_info(e->end[0]).id) > BUFFERS;
}

/* The same of those that were used after @since: who looks too late learns nothing. */
static bool had_pages(const struct ends *e, long since)
{
	return has_pages(e) || milliseconds() - since >= IDLE_MS;
}

static bool goes_away(const struct ends *e)
{
	for (int i = 0; i < 1000; i++) {
		if (!has_pages(e))
			return true;
		poll(NULL, 0, 20);
	}
	return false;
}

static void enter(const struct ends *e, unsigned int flags)
{
	struct sdp_ring_enter arg = { .size = sizeof(arg), .flags = flags };

	must(!ioctl(e->end[0], SDP_IOC_RING_ENTER, &arg));
}

/* Until what has come is in the ring, whose pages may go again after each look. */
static void fetch(const struct ends *e)
{
	for (int i = 0; i < 20 && e->rx->tail == e->rx->head; i++)
		enter(e, SDP_ENTER_RX);
}

static bool lock(struct sdp_ring *ring)
{
	__u32 none = 0;

	return __atomic_compare_exchange_n(&ring->lock, &none, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Four bytes, which never wrap; whether the kernel has to be told. */
static bool store(const struct ends *e, const void *bytes)
{
	struct sdp_ring *ring = e->tx;
	__u64 tail;

	must(lock(ring));
	tail = ring->tail;
	memcpy((char *)ring + PAGE + (tail & (RING - 1)), bytes, 4);
	must(__atomic_compare_exchange_n(&ring->tail, &tail, tail + 4, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST));
	__atomic_store_n(&ring->lock, 0, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->flags, __ATOMIC_RELAXED) & SDP_RING_NEED_ENTER;
}

static void put(const struct ends *e, const void *bytes)
{
	if (store(e, bytes))
		enter(e, SDP_ENTER_TX);
}

static bool came(int fd, const char *bytes)
{
	return read(fd, in, sizeof(in)) == 4 && !memcmp(in, bytes, 4);
}

static void test_use(struct ends *e)
{
	long before = milliseconds();
	__u64 tail;

	put(e, "one.");
	must(came(e->end[1], "one."));
	ok(had_pages(e, before), "rings have memory when they are used");
	ok(goes_away(e), "and none when they are not");

	must(write(e->end[1], "two.", 4) == 4 && events(e->end[0], POLLIN, 10000) == POLLIN);
	ok(came(e->end[0], "two.") && !has_pages(e), "calls do without");
	before = milliseconds();
	tail = e->tx->tail;
	ok(tail == 4 && e->tx->head == 4 && !e->rx->tail && had_pages(e, before),
	   "who looks finds the indices as they were");
	put(e, "four");
	ok(e->tx->tail == 8 && came(e->end[1], "four"), "and sends on");

	must(goes_away(e));
	must(write(e->end[1], "five", 4) == 4 && events(e->end[0], POLLIN, 10000) == POLLIN);
	ok(e->rx->flags & SDP_RING_NEED_ENTER, "what comes meanwhile waits");
	fetch(e);
	ok(e->rx->tail - e->rx->head == 4 && !memcmp((char *)e->rx + PAGE, "five", 4),
	   "and is fetched");
	ok(came(e->end[0], "five"), "or read");
}

/* Those that are idle for longer than one that has gone, and stay. */
static void test_stay(struct ends *e)
{
	struct ends unread, locked, part;

	make(&unread);
	must(write(unread.end[1], "wait", 4) == 4 &&
	     events(unread.end[0], POLLIN, 10000) == POLLIN);
	fetch(&unread);
	make(&locked);
	must(lock(locked.tx));
	memcpy((char *)locked.tx + PAGE, "part", 4);
	make(&part);
	must(goes_away(&part));
	put(e, "last");
	must(came(e->end[1], "last") && goes_away(e) && goes_away(&part));
	ok(has_pages(&unread) && unread.rx->tail == 4, "not with bytes to be read");
	ok(has_pages(&locked) && locked.tx->lock == 1, "not while one has the producers' lock");
	locked.tx->lock = 0;
	put(&locked, (char *)locked.tx + PAGE);
	ok(came(locked.end[1], "part"), "whose bytes are there");
	must(came(unread.end[0], "wait"));
	ok(goes_away(&unread) && goes_away(&locked), "and afterwards they go");
	end(&unread);
	end(&locked);
	end(&part);
}

static void test_shared(struct ends *e)
{
	__u64 before = e->state->closes;
	int other, status;
	pid_t child;

	must(goes_away(e));
	other = dup(e->end[0]);
	must(other >= 0);
	close(other);
	ok(!has_pages(e) && e->state->closes == before + 1 &&
	   e->state->id == end_info(e->end[0]).id, "a descriptor that is closed meanwhile counts");

	must(goes_away(e));
	child = fork();
	must(child >= 0);
	if (!child) {
		put(e, "kid.");
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child && !status);
	ok(came(e->end[1], "kid."), "another process has the same memory");
	put(e, "self");
	ok(came(e->end[1], "self"), "as this one sees");
}

static bool both_ended(const struct ends *e)
{
	for (int i = 0; i < 500; i++) {
		if (e->tx->flags & e->rx->flags & SDP_RING_ERROR)
			return true;
		poll(NULL, 0, 20);
	}
	return false;
}

static void test_ends(struct ends *e)
{
	struct ends other;

	make(&other);
	must(goes_away(&other));
	must(!end_disconnect(SDP, other.end[0]));
	ok(both_ended(&other), "taken away meanwhile: both say so");
	end(&other);

	must(goes_away(e));
	unpair(e->end);
	ok(both_ended(e), "closed meanwhile: both say so");
	unmap(e);

	make(&other);
	must(goes_away(&other));
	unmap(&other);
	other.tx = map(other.end[0], PAGE + RING, PROT_READ | PROT_WRITE, SDP_MMAP_TX_RING);
	put(&other, "new.");
	ok(came(other.end[1], "new."), "mapped again meanwhile");
	munmap(other.tx, PAGE + RING);
	unpair(other.end);
}

static bool comes(int fd, const char *bytes)
{
	return events(fd, POLLIN, SOON) && came(fd, bytes);
}

/* Without pages there is no send buffer either, and who should tell the kernel does not. */
static void test_untold(void)
{
	struct ends e;

	make(&e);
	must(goes_away(&e) && store(&e, "dup."));
	close(dup(e.end[0]));
	ok(comes(e.end[1], "dup."), "the kernel looks when a descriptor is closed");
	must(goes_away(&e) && store(&e, "map."));
	unmap(&e);
	ok(comes(e.end[1], "map."), "and when the ring is unmapped");
	unpair(e.end);

	make(&e);
	must(goes_away(&e) && store(&e, "last"));
	close(e.end[0]);
	ok(comes(e.end[1], "last") && read(e.end[1], in, 1) == 0, "all is sent at the last close");
	close(e.end[1]);
	unmap(&e);

	make(&e);
	must(goes_away(&e) && store(&e, "shut") && !end_shutdown(SDP, e.end[0], SHUT_WR));
	ok(e.tx->tail - e.tx->head > RING, "shut down: nothing more gets in");
	close(dup(e.end[0]));
	ok(comes(e.end[1], "shut") && read(e.end[1], in, 1) == 0, "and what was there is sent");
	end(&e);
}

/* Begins again at about the time at which the pages are taken. */
static void *send_numbers(void *arg)
{
	const struct ends *e = arg;

	for (unsigned int i = 0; i < NUMBERS; i++) {
		poll(NULL, 0, 92 + (i * 7 + e->end[0]) % 24);
		put(e, &i);
	}
	return NULL;
}

static void test_race(void)
{
	struct ends e[SENDERS];
	pthread_t thread[SENDERS];
	unsigned int i, j, n, wrong = 0;

	set_idle_time("100");
	for (i = 0; i < SENDERS; i++) {
		make(&e[i]);
		must(!pthread_create(&thread[i], NULL, send_numbers, &e[i]));
	}
	for (j = 0; j < NUMBERS; j++)
		for (i = 0; i < SENDERS; i++)
			wrong += read(e[i].end[1], &n, sizeof(n)) != sizeof(n) || n != j;
	for (i = 0; i < SENDERS; i++) {
		must(!pthread_join(thread[i], NULL));
		end(&e[i]);
	}
	ok(!wrong, "who begins just then loses nothing");
}

int main(void)
{
	struct ends e;

	signal(SIGPIPE, SIG_IGN);
	tap_plan(24);
	set_idle_time("300");
	make(&e);
	test_use(&e);
	test_stay(&e);
	test_shared(&e);
	test_ends(&e);
	test_untold();
	test_race();
	set_idle_time("10000");
	return tap_exit();
}

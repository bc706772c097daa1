// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The preload library's rings; see fast.h.
 *
 * A call that sends or receives goes by the rings only where it can be completed at
 * once: all bytes fit, or there are some to take.  Whatever has to wait, fails or is not
 * plain goes to the kernel, which takes both doors together.  So blocking, time-outs,
 * signals, errors and the end of the stream are the kernel's.  Nothing here waits, not
 * for a lock either: the calls may be made in signal handlers, and a process may die at
 * any point.
 *
 * Which connection a descriptor's number means is remembered with the count of closed
 * descriptors that the kernel shows (struct sdp_ring_state).  As long as the count is
 * the same the number means the same connection; otherwise SDP_IOC_INFO is asked.  The
 * count moves a moment after a number has become free.  That matters where another
 * thread gets the number in that moment: socket(), accept() and close() see to it, and
 * that no third one comes to map the rings by it (struct table).
 *
 * A number may also be taken away while a call is at work in the ring.  What it has put
 * in before the kernel ended the ring is sent; later it does not get in, and goes where
 * the number leads to by then.  Who cannot let the kernel know of what is in the ring
 * leaves that to unmapping it.
 *
 * A child made by fork() begins without rings: neither the slots nor the mappings are
 * there.
 */
#define _GNU_SOURCE
#include "fast.h"

#ifdef __LP64__

#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Each access that has an order says what it pairs with: one here, or one of the kernel's in
 * sdpdev/ring/kring.h and ringmem.c.  load() and store() have none: the word is looked at
 * alone.  Those that are called ordered pair with each other: see struct table.
 */
#define load(p)			__atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define load_ordered(p)		__atomic_load_n(p, __ATOMIC_SEQ_CST)
#define store(p, v)		__atomic_store_n(p, v, __ATOMIC_RELAXED)
#define store_ordered(p, v)	__atomic_store_n(p, v, __ATOMIC_SEQ_CST)
#define add_ordered(p, v)	__atomic_fetch_add(p, v, __ATOMIC_SEQ_CST)

#define SLOTS		65536	/* descriptors with higher numbers have no rings */
#define MOST		256	/* connections with rings in a process */
#define RING_BYTES	16384U
#define SMALL		2048	/* what a system call costs more than copying twice */
#define RUN		32	/* small ones in one direction before there are rings */
#define EXCLUSIVE	(1U << 31)
#define BY_CALL		(1ULL << 63)
#define STALE		(1ULL << 62)
#define PAGES		1024
#define CLOSES		1024
#define BEGUN		(1ULL << 32)
#define PAGE		4096
#define READABLE	1U
#define WRITABLE	2U

/**
 * struct slot - the rings of one descriptor's number
 * @users: calls that use the mappings; EXCLUSIVE: somebody changes the slot
 * @gone: the number means something else: not to be used, only to be unmapped
 * @seen: the count of closes with which the number was the connection's, and BY_CALL
 *	where receiving is not for the ring (SO_RCVLOWAT, SO_PEEK_OFF): one word, so that
 *	nobody has the one of another time than the other.  Or STALE, BY_CALL and a
 *	number that was not there before: SDP_IOC_INFO is to be asked, and who was just
 *	asking keeps to himself what he was told.
 * @state: the connection's state; NULL without rings
 * @tx: its transmit ring
 * @rx: its receive ring
 * @tx_bytes: size of the one's data
 * @rx_bytes: size of the other's
 * @data: where the data begins in either
 * @full: the kernel took less than it was given last: the ring is no way around that
 * @run: small sends since the last receive, or minus small receives since the last send
 * @wait: how long @run has to become, zero: RUN
 *
 * The mappings change under EXCLUSIVE, which is to be had only where there are no
 * users.  The rest is single words; @run and @wait may be wrong.
 */
struct slot {
	__u32 users;
	__u32 gone;
	__u64 seen;
	struct sdp_ring_state *state;
	struct sdp_ring *tx;
	struct sdp_ring *rx;
	__u32 tx_bytes;
	__u32 rx_bytes;
	__u32 data;
	__u32 full;
	__s32 run;
	__s32 wait;
};

/**
 * struct table - all slots; a child made by fork() finds it zero
 * @slot: by the descriptor's number
 * @page: pages that the kernel could read or write lately: number, and in the lowest
 *	two bits which of it
 * @closes: calls that take a number away, by the number's remainder: in the upper half
 *	how many have begun, in the lower one how many of them are not over
 * @moves: the same of calls that take many away, and the changes of options
 * @attached: slots with rings
 * @end: none from here on has ever had any, nor is getting some
 *
 * As long as a close() is not over the number may be another file's already, and the
 * kernel's count says nothing yet.  A slot that has rings is made useless first, by
 * @gone.  One that is getting them has none yet to be seen, so close() first says here
 * that it has begun, then looks for rings; who maps them first lets them be seen, then
 * looks here whether any close() has begun meanwhile or before, and lets go of them if
 * so.  Each writes before it reads, and all of it in one order (SEQ_CST): at least one
 * of them sees the other.  The same holds for options that change meanwhile.  A close()
 * that a signal handler leaves by siglongjmp() is never over: no rings there any more.
 */
struct table {
	struct slot slot[SLOTS];
	__u64 page[PAGES];
	__u64 closes[CLOSES];
	__u64 moves;
	__u32 attached;
	__u32 end;
};

/* Made by the constructor; NULL: no rings. */
static struct table *table;
static bool always;

const char *fast_init(void)
{
	const char *value = getenv("SDPDEV_RINGS");
	struct table *t;

	if (value && !strcmp(value, "never"))
		return NULL;
	always = value && !strcmp(value, "always");
	if (value && *value && !always && strcmp(value, "auto"))
		return "SDPDEV_RINGS is none of always, auto and never";
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	if (madvise(t, sizeof(*t), MADV_WIPEONFORK))
		munmap(t, sizeof(*t));
	else
		store(&table, t);
	return NULL;
}

void fast_stop(void)
{
	store(&table, NULL);
}

static struct slot *slot_of(int fd)
{
	struct table *t = load(&table);

	return t && (unsigned int)fd < SLOTS ? &t->slot[fd] : NULL;
}

/* --- calls that take numbers away ---------------------------------------- */

static __u64 *closes_of(struct table *t, int fd)
{
	return &t->closes[(unsigned int)fd % CLOSES];
}

/* In a child that a signal handler made in the midst of a call none has begun. */
static void call_over(__u64 *calls)
{
	__u64 now = load(calls);

	while ((__u32)now && !__atomic_compare_exchange_n(calls, &now, now - 1, false,
							  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* What stays the same as long as nothing begins; with a lower half of zero all is over. */
static __u64 calls_begun(struct table *t, int fd)
{
	return load_ordered(closes_of(t, fd)) + load_ordered(&t->moves);
}

/* --- mapping and unmapping ----------------------------------------------- */

static bool lock_slot(struct slot *slot)
{
	__u32 none = 0;

	/* Pairs with the release in leave(): no other thread uses the mappings any more. */
	return __atomic_compare_exchange_n(&slot->users, &none, EXCLUSIVE, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void unlock_slot(struct slot *slot)
{
	/* Pairs with the acquire in enter(): the mappings are all there. */
	__atomic_fetch_and(&slot->users, ~EXCLUSIVE, __ATOMIC_RELEASE);
}

static void *map(int fd, size_t bytes, int prot, off_t where)
{
	void *p = mmap(NULL, bytes, prot, MAP_SHARED, fd, where);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_DONTFORK);
	return p;
}

/* The slot is locked. */
static void unmap_slot(struct slot *slot)
{
	if (slot->state)
		munmap(slot->state, slot->data);
	if (slot->tx)
		munmap(slot->tx, slot->data + slot->tx_bytes);
	if (slot->rx)
		munmap(slot->rx, slot->data + slot->rx_bytes);
	store(&slot->state, NULL);
	slot->tx = NULL;
	slot->rx = NULL;
}

/* Unmaps what is gone, unless somebody is about to leave it, who does so then. */
static void collect(struct slot *slot)
{
	struct table *t = load(&table);

	if (!load(&slot->gone) || !lock_slot(slot))
		return;
	if (slot->gone) {
		if (slot->state && t)
			__atomic_fetch_sub(&t->attached, 1, __ATOMIC_RELAXED);
		unmap_slot(slot);
		store(&slot->run, 0);
		store(&slot->wait, 0);
		store(&slot->gone, 0);
	}
	unlock_slot(slot);
}

/* Those that were closed by calls that this library does not see. */
static void collect_ended(struct table *t)
{
	struct slot *slot;

	for (slot = t->slot; slot < t->slot + load(&t->end); slot++) {
		if (!load(&slot->state) || !lock_slot(slot))
			continue;
		if (slot->state && (load(&slot->tx->flags) & SDP_RING_ERROR))
			store(&slot->gone, 1);
		unlock_slot(slot);
		collect(slot);
	}
}

/*
 * Asks the kernel whether the number is still that connection's, as of a count that was
 * read before.  If fast_options() comes meanwhile the next one asks again.
 */
static bool verify(int fd, struct slot *slot, struct sdp_info *info)
{
	/*
	 * Both before the call, which tells of a later time: pairs with sdp_ring_closing(),
	 * where the kernel takes the descriptor away before it counts that.
	 */
	__u64 closes = load_acquire(&slot->state->closes);
	__u64 seen = load_acquire(&slot->seen);

	if (sdp_info(fd, info) || info->id != slot->state->id)
		return false;
	if (info->recv_by_call)
		closes |= BY_CALL;
	__atomic_compare_exchange_n(&slot->seen, &seen, closes, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return true;
}

/* Whether nothing has been closed since @seen, which is not stale either. */
static bool counts(const struct slot *slot, __u64 seen)
{
	/* As in verify(): what is done with the number comes after this. */
	return load_acquire(&slot->state->closes) == (seen & ~BY_CALL);
}

/* The slot is locked; what had begun before was @begun, and nothing more is to begin. */
static bool map_slot(struct table *t, int fd, struct slot *slot, __u64 begun)
{
	struct sdp_ring_setup setup = {
		.size = sizeof(setup), .tx_bytes = RING_BYTES, .rx_bytes = RING_BYTES,
	};
	struct sdp_info info;

	if (ioctl(fd, SDP_IOC_RING_SETUP, &setup) && errno != EEXIST)
		return false;
	slot->data = sysconf(_SC_PAGESIZE);
	store_ordered(&slot->state, map(fd, slot->data, PROT_READ, SDP_MMAP_STATE));
	/*
	 * Another file may have the number by now, or may have had it just then: its
	 * mapping is not to be touched.
	 */
	if (!slot->state || sdp_info(fd, &info) || calls_begun(t, fd) != begun ||
	    !verify(fd, slot, &info) || !info.tx_ring_bytes)
		return false;
	slot->full = 0;
	slot->tx_bytes = info.tx_ring_bytes;
	slot->rx_bytes = info.rx_ring_bytes;
	slot->data = info.ring_data_offset;
	slot->tx = map(fd, slot->data + slot->tx_bytes, PROT_READ | PROT_WRITE,
		       SDP_MMAP_TX_RING);
	slot->rx = map(fd, slot->data + slot->rx_bytes, PROT_READ | PROT_WRITE,
		       SDP_MMAP_RX_RING);
	/* All three are of one connection only if the number was its all the time. */
	return slot->tx && slot->rx && counts(slot, load(&slot->seen));
}

static void move_end(struct table *t, __u32 fd)
{
	__u32 end = load_ordered(&t->end);

	while (end <= fd && !__atomic_compare_exchange_n(&t->end, &end, fd + 1, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* The slot is locked. */
static bool fill_slot(struct table *t, int fd, struct slot *slot)
{
	__u64 begun = calls_begun(t, fd);

	if ((__u32)begun)
		return false;
	move_end(t, fd);
	if (map_slot(t, fd, slot, begun) && calls_begun(t, fd) == begun) {
		__atomic_fetch_add(&t->attached, 1, __ATOMIC_RELAXED);
		return true;
	}
	unmap_slot(slot);
	return false;
}

/* Whether there are rings now. */
static bool attach(int fd, struct slot *slot)
{
	struct table *t = load(&table);
	int saved = errno;
	bool done;

	collect(slot);
	if (t && load(&t->attached) >= MOST)
		collect_ended(t);
	if (!t || load(&t->attached) >= MOST || !lock_slot(slot))
		return false;
	done = slot->state || fill_slot(t, fd, slot);
	unlock_slot(slot);
	errno = saved;
	return done;
}

bool fast_always(int fd)
{
	struct slot *slot = always ? slot_of(fd) : NULL;

	return slot && attach(fd, slot);
}

/*
 * Whether the kernel would not, or TCP carries it: it may not be asked again soon
 * then.
 */
static bool attach_later(int fd, struct slot *slot)
{
	__s32 wait = load(&slot->wait);

	store(&slot->run, 0);
	if (attach(fd, slot))
		return false;
	store(&slot->wait, wait < 1 << 24 ? (wait ? wait : RUN) * 4 : wait);
	return true;
}

/*
 * A buffer where there is no memory is EFAULT, and not the program's end.  So only pages
 * that the kernel has found there are copied from and to here.
 */
static void remember(const void *buf, ssize_t n, unsigned int how)
{
	__u64 page = (uintptr_t)buf / PAGE, last = ((uintptr_t)buf + n - 1) / PAGE;
	struct table *t = load(&table);
	__u64 *entry;

	if (!t || n <= 0 || n > RING_BYTES)
		return;
	for (; page <= last; page++) {
		entry = &t->page[page % PAGES];
		if (load(entry) >> 2 != page)
			store(entry, page << 2 | how);
		else if ((load(entry) & how) != how)
			store(entry, load(entry) | how);
	}
}

static bool known(const void *buf, size_t n, unsigned int how)
{
	__u64 page = (uintptr_t)buf / PAGE, last = ((uintptr_t)buf + n - 1) / PAGE;
	struct table *t = load(&table);
	__u64 entry;

	if (!t || last < page)
		return false;
	for (; page <= last; page++) {
		entry = load(&t->page[page % PAGES]);
		if (entry >> 2 != page || !(entry & how))
			return false;
	}
	return true;
}

bool fast_sent(int fd, const void *buf, size_t n, ssize_t ret)
{
	struct slot *slot = slot_of(fd);
	__s32 run;

	if (!slot)
		return false;
	if (load(&slot->state)) {
		store(&slot->full, ret != (ssize_t)n);
		remember(buf, ret, READABLE);
		return false;
	}
	run = load(&slot->run);
	if (n > SMALL || ret != (ssize_t)n)
		run = 0;
	else
		run = run < 0 ? 1 : run + 1;
	store(&slot->run, run);
	return run >= (load(&slot->wait) ? load(&slot->wait) : RUN) &&
	       attach_later(fd, slot);
}

/* Less than was asked for: whoever reads so is not behind, and gains nothing. */
bool fast_received(int fd, void *buf, size_t n, ssize_t ret)
{
	struct slot *slot = slot_of(fd);
	__s32 run;

	if (!slot)
		return false;
	if (load(&slot->state)) {
		remember(buf, ret, READABLE | WRITABLE);
		return false;
	}
	run = load(&slot->run);
	if (n > SMALL || ret != (ssize_t)n)
		run = 0;
	else
		run = run > 0 ? -1 : run - 1;
	store(&slot->run, run);
	return -run >= (load(&slot->wait) ? load(&slot->wait) : RUN) &&
	       attach_later(fd, slot);
}

/* --- whose rings they are ------------------------------------------------ */

static void leave(struct slot *slot)
{
	/* Pairs with the acquire in lock_slot(). */
	if (__atomic_sub_fetch(&slot->users, 1, __ATOMIC_RELEASE) == 0)
		collect(slot);
}

/* The slot of a number with rings that are that number's connection's, or NULL. */
static struct slot *enter(int fd)
{
	struct slot *slot = slot_of(fd);
	struct sdp_info info;
	int saved = errno;

	if (!slot || !load(&slot->state))
		return NULL;
	/* As in the calls that it stands for. */
	pthread_testcancel();
	/* Pairs with the release in unlock_slot(). */
	if ((__atomic_fetch_add(&slot->users, 1, __ATOMIC_ACQUIRE) & EXCLUSIVE) ||
	    !slot->state || load(&slot->gone))
		goto out;
	if (counts(slot, load(&slot->seen)) || verify(fd, slot, &info))
		return slot;
	store(&slot->gone, 1);
	errno = saved;
out:
	leave(slot);
	return NULL;
}

/* Other numbers may be the same connection's. */
void fast_options(void)
{
	struct table *t = load(&table);
	struct slot *slot;
	__u64 moves;

	if (!t)
		return;
	moves = add_ordered(&t->moves, BEGUN) / BEGUN;
	for (slot = t->slot; slot < t->slot + load_ordered(&t->end); slot++) {
		if (load_ordered(&slot->state))
			store(&slot->seen, STALE | BY_CALL | moves);
	}
}

/* Whoever is getting rings for the number finds out: it is told already. */
static void set_gone(struct slot *slot)
{
	if (load_ordered(&slot->state))
		store(&slot->gone, 1);
}

bool fast_closing(int fd)
{
	struct table *t = load(&table);
	struct slot *slot = slot_of(fd);

	if (!t || !slot)
		return false;
	add_ordered(closes_of(t, fd), BEGUN + 1);
	set_gone(slot);
	return true;
}

static void forget(struct slot *slot)
{
	if (!load(&slot->state) && !load(&slot->run) && !load(&slot->wait))
		return;
	store(&slot->run, 0);
	store(&slot->wait, 0);
	collect(slot);
}

void fast_closed(int fd)
{
	struct table *t = load(&table);
	struct slot *slot = slot_of(fd);
	int saved = errno;

	if (!t || !slot)
		return;
	forget(slot);
	call_over(closes_of(t, fd));
	errno = saved;
}

bool fast_closing_range(unsigned int first, unsigned int last)
{
	struct table *t = load(&table);

	if (!t)
		return false;
	add_ordered(&t->moves, BEGUN + 1);
	for (; first <= last && first < load_ordered(&t->end); first++)
		set_gone(&t->slot[first]);
	return true;
}

void fast_closed_range(void)
{
	struct table *t = load(&table);

	if (t)
		call_over(&t->moves);
}

void fast_new(int fd)
{
	struct table *t = load(&table);
	struct slot *slot = slot_of(fd);
	int saved = errno;

	if (!t || !slot)
		return;
	/* It has been closed, by whatever call, and that is over. */
	add_ordered(closes_of(t, fd), BEGUN);
	set_gone(slot);
	forget(slot);
	errno = saved;
}

/* --- the data ------------------------------------------------------------ */

static void knock(int fd, unsigned int which)
{
	struct sdp_ring_enter arg = { .size = sizeof(arg), .flags = which };
	int saved = errno;

	if (ioctl(fd, SDP_IOC_RING_ENTER, &arg))
		errno = saved;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Who holds the lock may be what this call interrupted, or may be dead. */
static bool trylock_ring(struct sdp_ring *ring)
{
	__u32 free = 0;

	/* Pairs with the release in unlock_ring(), here and in ring.c. */
	return __atomic_compare_exchange_n(&ring->lock, &free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* As sdp_ring_send() does, which waits for it. */
static void unlock_ring(struct sdp_ring *ring)
{
	/* Pairs with trylock_ring() here, and with lock_ring() in ring.c. */
	if (__atomic_exchange_n(&ring->lock, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &ring->lock, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool put_bytes(const struct slot *slot, const char *buf, size_t n)
{
	char *data = (char *)slot->tx + slot->data;
	struct sdp_ring *ring = slot->tx;
	size_t at, part;
	bool done;
	__u64 tail;

	if (!trylock_ring(ring))
		return false;
	/* Producers exclude each other, and the kernel moves it once: the exchange tells. */
	tail = load(&ring->tail);
	/* Pairs with the release in sdp_kring_take(): the kernel has copied the bytes. */
	done = tail - load_acquire(&ring->head) + n <= slot->tx_bytes;
	if (done) {
		at = tail & (slot->tx_bytes - 1);
		part = smaller(n, slot->tx_bytes - at);
		memcpy(data + at, buf, part);
		memcpy(data, buf + part, n - part);
		/*
		 * After the bytes: pairs with the acquire in sdp_kring_sent().  The
		 * kernel moves the tail away where it takes no more.
		 */
		done = __atomic_compare_exchange_n(&ring->tail, &tail, tail + n, false,
						   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	}
	unlock_ring(ring);
	return done;
}

/*
 * Has the kernel look into the ring.  That goes elsewhere if the number has been taken
 * away: where the count tells of it the kernel looks when the ring is unmapped, and
 * where it does not yet, when it counts.
 */
static void ask_to_send(int fd, struct slot *slot)
{
	/* Before the call: pairs with fast_options(), which changes it at any time. */
	__u64 seen = load_acquire(&slot->seen);

	knock(fd, SDP_ENTER_TX);
	if (!counts(slot, seen))
		store(&slot->gone, 1);
}

static bool send_slot(int fd, struct slot *slot, const void *buf, size_t n)
{
	__u32 flags = load(&slot->tx->flags);

	if (flags & SDP_RING_ERROR)
		store(&slot->gone, 1);
	if ((flags & (SDP_RING_ERROR | SDP_RING_EOF)) || n > slot->tx_bytes ||
	    load(&slot->full) || !known(buf, n, READABLE) || !put_bytes(slot, buf, n))
		return false;
	/*
	 * The tail is stored before the flags and the count are loaded.  Pairs with the
	 * smp_mb() in sdp_kring_sleep(), where the kernel stores the flags, and with the
	 * one in sdp_ring_closing(), where it stores the count, before it loads the tail.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (load(&slot->tx->flags) & SDP_RING_NEED_ENTER)
		ask_to_send(fd, slot);
	return true;
}

bool fast_send(int fd, const void *buf, size_t n, int flags)
{
	struct slot *slot;
	bool done;

	if (!n || (flags & ~FAST_FLAGS))
		return false;
	slot = enter(fd);
	if (!slot)
		return false;
	done = send_slot(fd, slot, buf, n);
	leave(slot);
	return done;
}

static void copy_out(const struct slot *slot, __u64 head, char *buf, size_t n)
{
	const char *data = (const char *)slot->rx + slot->data;
	size_t at = head & (slot->rx_bytes - 1);
	size_t part = smaller(n, slot->rx_bytes - at);

	memcpy(buf, data + at, part);
	memcpy(buf + part, data, n - part);
}

/*
 * Where the kernel holds more than is in the ring, and more is asked for than that, the
 * kernel gives all of it; but a few bytes at a time are worth fetching many at once.
 */
static size_t recv_slot(int fd, struct slot *slot, void *buf, size_t n)
{
	struct sdp_ring *ring = slot->rx;
	bool fetched = n > SMALL;
	__u64 head, there;
	__u32 flags;
	size_t take;

	for (;;) {
		/* As take_bytes() in ring.c, and paired with the same. */
		flags = load_acquire(&ring->flags);
		head = load_acquire(&ring->head);
		there = load_acquire(&ring->tail) - head;
		if (there < n && (flags & SDP_RING_NEED_ENTER) && !(flags & SDP_RING_ERROR)) {
			if (fetched)
				return 0;
			fetched = true;
			knock(fd, SDP_ENTER_RX);
			continue;
		}
		if (!there && (flags & SDP_RING_ERROR))
			store(&slot->gone, 1);
		/* Impossible, or others took some meanwhile: the kernel knows. */
		if (!there || there > slot->rx_bytes)
			return 0;
		take = smaller(n, there);
		if (!known(buf, take, WRITABLE))
			return 0;
		copy_out(slot, head, buf, take);
		/* After the copy: pairs with the acquire in sdp_kring_unread(). */
		if (__atomic_compare_exchange_n(&ring->head, &head, head + take, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return take;
	}
}

size_t fast_recv(int fd, void *buf, size_t n, int flags)
{
	struct slot *slot;
	size_t done = 0;

	if (!n || (flags & ~FAST_FLAGS))
		return 0;
	slot = enter(fd);
	if (!slot)
		return 0;
	if (!(load(&slot->seen) & BY_CALL))
		done = recv_slot(fd, slot, buf, n);
	leave(slot);
	return done;
}

#endif

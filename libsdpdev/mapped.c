// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The rings that the kernel lets a program map, of TCP sockets with the ULP "sdp".  The protocol is
 * told in <linux/sdp_ring.h>.
 *
 * The other end's program can write anything into the mapping.  Positions are bounded before they
 * are used, so that this costs the connection and nothing else.
 *
 * Each access that has an order says what it pairs with.  "The kernel" is sdpdev/offload/share.c.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mapped.h"

#define load(p)			__atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v)		__atomic_store_n(p, v, __ATOMIC_RELAXED)
#define store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define full_barrier()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

/* The two parts of a head, and of a tail. */
#define position(word)		((word) & ~SDP_RING_CLOSED)
#define is_closed(word)		((word) & SDP_RING_CLOSED)

#define SKIP_MOST	1023	/* calls between two tries to open a half */
#define TURNS_MOST	16	/* yields of a reader before it sleeps: at most, */
#define TURNS_FIRST	8	/* and at first */
#define TURNS_AGAIN	16	/* sleeps without any, until it tries that again */
#define LOOKS		100	/* before each yield, if the other end may have another processor */
#define LOCK_TURNS	64	/* yields to a thread that works on a half: then the system call */
#define PAGE		4096	/* no page is smaller, and the first one is never mapped */

/*
 * The number of the process, in a page that fork(2) clears, as it takes the mappings away.  A
 * child takes the next number, so it has another one than all that it descends from.  No process
 * ID does that: it repeats, in another namespace at once.
 */
static unsigned long *alive;
static unsigned long last_number;
/* LOOKS, or none where all of the process has one processor. */
static unsigned int looks;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;

static void process_begin(void)
{
	cpu_set_t processors;
	void *page;

	/* Of more than fit in there the call fails. */
	if (sched_getaffinity(0, sizeof(processors), &processors) || CPU_COUNT(&processors) > 1)
		looks = LOOKS;
	page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Linux before 4.14 cannot do that, and has no rings either. */
	if (page != MAP_FAILED && !madvise(page, sysconf(_SC_PAGESIZE), MADV_WIPEONFORK))
		alive = page;
}

/* This process's number; zero if there is none to be had. */
static unsigned long number(void)
{
	unsigned long old = 0, new;

	pthread_once(&process_once, process_begin);
	if (!alive)
		return 0;
	if (load(alive))
		return load(alive);
	new = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
	/* Another thread may have been faster. */
	return __atomic_compare_exchange_n(alive, &old, new, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ? new : old;
}

/* Does this process have the rings?  A child of fork(2) has not. */
static bool is_own(const struct sdp_fast *fast)
{
	return alive && load(alive) == fast->owner;
}

/* --- attaching ----------------------------------------------------------- */

static void half_set(struct half *half, char *shared, char *bytes, __u64 base)
{
	half->bytes = bytes;
	half->base = base;
	/* Pairs with the acquire in mapped(): all of it is there. */
	store_release(&half->shared, (struct sdp_shared *)shared);
}

bool sdp_mapped_attach(struct sdp_fast *fast, int device, unsigned int flags)
{
	struct sdp_attach arg = {
		.size = sizeof(arg),
		.flags = flags,
		.major = SDP_API_MAJOR,
		.minor = SDP_API_MINOR,
		.fd = fast->fd,
	};
	char *map;

	fast->rings = ioctl(device, SDP_IOC_ATTACH, &arg);
	if (fast->rings < 0)
		return false;
	fast->length = 2 * (size_t)arg.head_bytes + 2 * (size_t)arg.ring_bytes;
	map = mmap(NULL, fast->length, PROT_READ | PROT_WRITE, MAP_SHARED, fast->rings, 0);
	if (map == MAP_FAILED) {
		sdp_mapped_close(fast->rings);
		fast->rings = -1;
		return false;
	}
	fast->map = map;
	fast->size = arg.ring_bytes;
	half_set(&fast->tx, map, map + 2 * (size_t)arg.head_bytes, arg.tx_base);
	half_set(&fast->rx, map + arg.head_bytes,
		 map + 2 * (size_t)arg.head_bytes + arg.ring_bytes, arg.rx_base);
	return true;
}

static bool mapped(struct half *half)
{
	/* Pairs with the release in half_set(). */
	return load_acquire(&half->shared);
}

/* One thread attaches, and only once: the device is closed behind it. */
static bool attached(struct sdp_fast *fast, struct half *half)
{
	if (mapped(half))
		return true;
	if (__atomic_exchange_n(&fast->attaching, true, __ATOMIC_ACQUIRE))
		return false;
	if (fast->device >= 0 && sdp_mapped_attach(fast, fast->device, 0)) {
		sdp_mapped_close(fast->device);
		fast->device = -1;
	}
	store_release(&fast->attaching, false);
	return mapped(half);
}

void sdp_mapped_begin(struct sdp_fast *fast, int fd)
{
	*fast = (struct sdp_fast){
		.fd = fd,
		.device = -1,
		.rings = -1,
		.turns = TURNS_FIRST,
		.owner = number(),
	};
}

void sdp_mapped_end(struct sdp_fast *fast)
{
	/* A child does not have it, and may have something else there. */
	if (fast->map && is_own(fast))
		munmap(fast->map, fast->length);
	if (fast->rings >= 0)
		sdp_mapped_close(fast->rings);
	if (fast->device >= 0)
		sdp_mapped_close(fast->device);
}

/* --- halves -------------------------------------------------------------- */

/*
 * A thread works on a half for a moment, unless a signal handler has interrupted it: the handler
 * makes the system call instead, as does everybody while a thread stands still with the lock.
 */
static bool lock(struct half *half)
{
	unsigned int i;

	for (i = 0; i < LOCK_TURNS; i++) {
		if (!__atomic_exchange_n(&half->locked, true, __ATOMIC_ACQUIRE))
			return true;
		sched_yield();
	}
	return false;
}

static void unlock(struct half *half)
{
	store_release(&half->locked, false);
}

/*
 * The kernel has refused what it does for rings: the connection is over, or the number of the
 * rings is not theirs any more.  The other end is woken when the mapping goes.
 */
static void give_up(struct sdp_fast *fast)
{
	if (errno == EBADF || errno == ENOTTY)
		store(&fast->rings, -1);
	store(&fast->broken, true);
}

/* Opens a half, with its lock, now and then.  What keeps it closed may be there for long. */
static bool reopen(struct sdp_fast *fast, struct half *half, unsigned int which)
{
	int open = 0;

	if (half->skip) {
		half->skip--;
		return false;
	}
	if (attached(fast, half))
		open = ioctl(load(&fast->rings), SDP_RING_OPEN, which);
	if (open < 0)
		give_up(fast);
	if (open > 0) {
		half->skipped = 0;
		/* The head may be behind what it was. */
		half->peer = 0;
		return true;
	}
	half->skipped = 2 * half->skipped + 1;
	if (half->skipped > SKIP_MOST)
		half->skipped = SKIP_MOST;
	half->skip = half->skipped;
	return false;
}

size_t sdp_mapped_bytes(const struct iovec *iov, int n)
{
	size_t all = 0;
	int i;

	for (i = 0; i < n; i++) {
		uintptr_t from = (uintptr_t)iov[i].iov_base;

		if (iov[i].iov_len > INT32_MAX - all ||
		    (iov[i].iov_len && (from < PAGE || from + iov[i].iov_len < from)))
			return SIZE_MAX;
		all += iov[i].iov_len;
	}
	return all;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Between the ring, from a position on, and the pieces that a call names: @n bytes.  It is inline,
 * so that each direction has its own: a tenth of what a small message costs.
 */
static __always_inline void copy(const struct sdp_fast *fast, const struct half *half, __u64 pos,
				 const struct iovec *iov, size_t n, bool in)
{
	size_t at, part, done = 0;
	char *piece;

	for (; n; n -= part, pos += part) {
		at = (pos - half->base) & (fast->size - 1);
		part = smaller(smaller(n, iov->iov_len - done), fast->size - at);
		piece = (char *)iov->iov_base + done;
		memcpy(in ? half->bytes + at : piece, in ? piece : half->bytes + at, part);
		done += part;
		if (done == iov->iov_len) {
			iov++;
			done = 0;
		}
	}
}

static void kick(struct sdp_fast *fast, unsigned int what)
{
	if (ioctl(load(&fast->rings), SDP_RING_KICK, what))
		give_up(fast);
}

static bool usable(const struct sdp_fast *fast)
{
	return is_own(fast) && !load(&fast->broken);
}

unsigned int sdp_mapped_state(struct sdp_fast *fast)
{
	unsigned int open = 0;

	if (!usable(fast) || !mapped(&fast->tx) || !mapped(&fast->rx))
		return 0;
	if (!is_closed(load(&fast->tx.shared->head)))
		open |= SDP_RING_TX;
	if (!is_closed(load(&fast->rx.shared->tail)))
		open |= SDP_RING_RX;
	return open;
}

/* --- sending ------------------------------------------------------------- */

static size_t room(const struct sdp_fast *fast, struct half *tx, __u64 head, size_t want)
{
	size_t limit = smaller(load(&tx->shared->limit), fast->size);

	if (head - tx->peer > limit || limit - (head - tx->peer) < want)
		/* Pairs with the reader's release: it has copied what lies before. */
		tx->peer = position(load_acquire(&tx->shared->tail));
	return head - tx->peer > limit ? 0 : limit - (head - tx->peer);
}

/* As many of @n bytes as there is room for, with the lock; none if the half is closed. */
static size_t put(const struct sdp_fast *fast, struct half *tx, const struct iovec *iov, size_t n,
		  size_t least)
{
	struct sdp_shared *shared = tx->shared;
	__u64 head;

	store(&shared->busy, 1);
	/* Pairs with the kernel's exchange: it sees this, or we that it has closed the half. */
	full_barrier();
	head = load(&shared->head);
	n = is_closed(head) ? 0 : smaller(n, room(fast, tx, head, n));
	if (n < least)
		n = 0;
	if (n) {
		copy(fast, tx, head, iov, n, true);
		/* The bytes are there: pairs with the acquire of the thread that reads the head. */
		if (!__atomic_compare_exchange_n(&shared->head, &head, head + n, false,
						 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			n = 0;
	}
	/* Pairs with the acquire in sdp_share_busy(): nothing is written behind this. */
	store_release(&shared->busy, 0);
	return n;
}

size_t sdp_mapped_send(struct sdp_fast *fast, const struct iovec *iov, int n, size_t least)
{
	size_t all = sdp_mapped_bytes(iov, n);
	struct half *tx = &fast->tx;

	if (!usable(fast) || all == SIZE_MAX || !lock(tx))
		return 0;
	if ((mapped(tx) && !is_closed(load(&tx->shared->head))) ||
	    reopen(fast, tx, SDP_RING_TX))
		all = put(fast, tx, iov, all, least);
	else
		all = 0;
	unlock(tx);
	if (!all)
		return 0;
	/* The head is there.  Pairs with the barrier of a thread that sets this and looks again. */
	full_barrier();
	if (load(&tx->shared->want_data))
		kick(fast, SDP_RING_DATA);
	return all;
}

/* --- receiving ----------------------------------------------------------- */

/* Bytes that are there, behind a tail. */
static size_t there(const struct sdp_fast *fast, struct half *rx, __u64 tail, size_t want)
{
	if (rx->peer - tail > fast->size || rx->peer - tail < want)
		/* Pairs with the sender's release: the bytes are there. */
		rx->peer = position(load_acquire(&rx->shared->head));
	return rx->peer - tail > fast->size ? 0 : rx->peer - tail;
}

/* What there is of @n bytes, with the lock; -1 if the half is closed. */
static ssize_t take(const struct sdp_fast *fast, struct half *rx, const struct iovec *iov,
		    size_t n, size_t least)
{
	struct sdp_shared *shared = rx->shared;
	__u64 tail = load(&shared->tail);

	if (is_closed(tail))
		return -1;
	n = smaller(n, there(fast, rx, tail, n));
	if (!n || n < least)
		return 0;
	copy(fast, rx, tail, iov, n, false);
	/*
	 * The bytes are copied: pairs with the acquire of the writer there.  If it fails, they
	 * were not ours, and those that we remember to be there may be others now.
	 */
	if (__atomic_compare_exchange_n(&shared->tail, &tail, tail + n, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		return n;
	rx->peer = 0;
	return -1;
}

/* Wakes a sender that waits for room, when it is worth it. */
static void tell_room(struct sdp_fast *fast, struct half *rx, __u64 used)
{
	/* The tail is there.  Pairs with the barrier of a thread that sets this and looks again. */
	full_barrier();
	if (load(&rx->shared->want_room) && used * 2 < load(&rx->shared->limit))
		kick(fast, SDP_RING_ROOM);
}

/* Does a program rely on an event for later bytes? */
static bool watched(struct half *rx)
{
	return mapped(rx) && load(&rx->shared->watched);
}

/* Bytes by the ring, with the lock: 0 if there are none, -1 if the half is closed. */
static ssize_t take_or_ask(struct sdp_fast *fast, const struct iovec *iov, size_t n,
			   size_t least, bool ask)
{
	struct half *rx = &fast->rx;
	ssize_t ret;

	if ((!mapped(rx) || is_closed(load(&rx->shared->tail))) &&
	    !reopen(fast, rx, SDP_RING_RX))
		return -1;
	if (!watched(rx)) {
		ret = take(fast, rx, iov, n, least);
		if (ret || !ask)
			return ret;
	}
	store(&rx->shared->want_data, 1);
	/* Pairs with the sender's full barrier: it sees this, or we its bytes. */
	full_barrier();
	return take(fast, rx, iov, n, least);
}

static ssize_t recv_now(struct sdp_fast *fast, const struct iovec *iov, size_t n, size_t least,
			bool ask)
{
	struct half *rx = &fast->rx;
	__u64 used = 0;
	ssize_t ret;

	if (!lock(rx))
		return -1;
	ret = take_or_ask(fast, iov, n, least, ask);
	if (ret > 0)
		used = position(load(&rx->shared->head)) - position(load(&rx->shared->tail));
	unlock(rx);
	if (ret > 0)
		tell_room(fast, rx, used);
	return ret;
}

/* Tells the processor that this thread only waits for another one's store. */
static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

/*
 * Looks for what another processor sends: bytes that come soon come before a system call would be
 * over.  True if there is something.
 */
static bool look(const struct half *rx)
{
	unsigned int i;

	for (i = 0; i < looks; i++) {
		if (position(load(&rx->shared->head)) != position(load(&rx->shared->tail)))
			return true;
		relax();
	}
	return false;
}

/*
 * Before a reader sleeps, it looks for what another processor sends, and lets other threads run:
 * the sender may be one of them.  That costs less than to sleep and be woken.  The reader does so
 * as often as it has been worth it.
 */
static ssize_t recv_soon(struct sdp_fast *fast, const struct iovec *iov, size_t n, size_t least)
{
	unsigned int i, turns = load(&fast->turns);
	ssize_t ret = 0;

	for (i = 0; !ret && i < turns; i++) {
		if (!look(&fast->rx))
			sched_yield();
		ret = recv_now(fast, iov, n, least, false);
	}
	if (ret > 0)
		turns = smaller(2 * turns, TURNS_MOST);
	else if (turns)
		turns /= 2;
	else if (load(&fast->slept) == TURNS_AGAIN)
		turns = TURNS_FIRST;
	store(&fast->slept, turns ? 0 : load(&fast->slept) + 1);
	store(&fast->turns, turns);
	return ret;
}

ssize_t sdp_mapped_recv(struct sdp_fast *fast, const struct iovec *iov, int n, size_t least,
			bool wait)
{
	size_t all = sdp_mapped_bytes(iov, n);
	ssize_t ret;

	if (!usable(fast) || !all || all == SIZE_MAX)
		return -1;
	if (load(&fast->polls))
		wait = false;
	ret = recv_now(fast, iov, all, least, !wait);
	/* A program that polls does not sleep in its next call. */
	return !ret && wait && !watched(&fast->rx) ? recv_soon(fast, iov, all, least) : ret;
}

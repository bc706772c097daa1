// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Sending and receiving on TCP sockets with the ULP "sdp" without system calls, by the rings
 * that the kernel lets a program map.  The protocol is told in <linux/sdp_ring.h>.
 *
 * Whatever does not go by a ring goes by send(2) and recv(2), which the kernel keeps in order.
 *
 * The other end's program can write anything into the mapping.  Positions are bounded before they
 * are used, so that this costs the connection and nothing else.
 *
 * Each access that has an order says what it pairs with.  "The kernel" is sdpdev/offload/share.c.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sdp_ring.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define load(p)			__atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v)		__atomic_store_n(p, v, __ATOMIC_RELAXED)
#define store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define full_barrier()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

/* Calls between two tries to open a half, at most. */
#define SKIP_MOST		1023

/*
 * How often a reader lets others run before it sleeps, at most; and one that has found nothing by
 * that tries again when it has slept so often.
 */
#define TURNS_MOST		16
#define TURNS_FIRST		8
#define TURNS_AGAIN		16

/* How often one looks before it lets others run, if the other end may have another processor. */
#define LOOKS			100

/**
 * struct half - what a program sends by, or receives by
 * @lock: who works on it
 * @shared: the head of its ring
 * @bytes: the ring
 * @base: position of the first one
 * @peer: where the other program was, when it was looked at last
 * @skip: calls to let pass before the next try to open it
 * @skipped: how many were let pass after the last try that failed
 */
struct half {
	pthread_mutex_t lock;
	struct sdp_shared *shared;
	char *bytes;
	__u64 base;
	__u64 peer;
	unsigned int skip;
	unsigned int skipped;
};

/**
 * struct sdp_fast - see sdp_fast_open()
 * @fd: the socket; the caller's
 * @device: a file of /dev/sdp until there are rings, or -1
 * @rings: what they are mapped from, or -1
 * @owner: @alive's value in the process that made this
 * @attach: who attaches
 * @size: bytes of a ring
 * @map: the mapping, or NULL
 * @length: its bytes
 * @turns: how often a reader lets others run before it sleeps; a guess of any thread
 * @slept: how often one has slept since that became none
 * @tx: the sending half
 * @rx: the receiving half
 */
struct sdp_fast {
	int fd;
	int device;
	int rings;
	unsigned long owner;
	pthread_mutex_t attach;
	size_t size;
	void *map;
	size_t length;
	unsigned int turns;
	unsigned int slept;
	struct half tx;
	struct half rx;
};

/* In a page that fork(2) clears, as it takes the mappings away: the number of the process. */
static unsigned long *alive;
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
	if (page == MAP_FAILED)
		return;
	if (madvise(page, sysconf(_SC_PAGESIZE), MADV_WIPEONFORK))
		munmap(page, sysconf(_SC_PAGESIZE));
	else
		alive = page;
}

static bool own(const struct sdp_fast *fast)
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

/* False if there are no rings yet. */
static bool attach(struct sdp_fast *fast)
{
	struct sdp_attach arg = {
		.size = sizeof(arg),
		.major = SDP_RING_MAJOR,
		.minor = SDP_RING_MINOR,
		.fd = fast->fd,
	};
	char *map;

	fast->rings = ioctl(fast->device, SDP_IOC_ATTACH, &arg);
	if (fast->rings < 0)
		return false;
	fast->length = 2 * (size_t)arg.head_bytes + 2 * (size_t)arg.ring_bytes;
	map = mmap(NULL, fast->length, PROT_READ | PROT_WRITE, MAP_SHARED, fast->rings, 0);
	if (map == MAP_FAILED) {
		close(fast->rings);
		fast->rings = -1;
		return false;
	}
	fast->map = map;
	fast->size = arg.ring_bytes;
	half_set(&fast->tx, map, map + 2 * (size_t)arg.head_bytes, arg.tx_base);
	half_set(&fast->rx, map + arg.head_bytes,
		 map + 2 * (size_t)arg.head_bytes + arg.ring_bytes, arg.rx_base);
	close(fast->device);
	fast->device = -1;
	return true;
}

static bool mapped(struct half *half)
{
	/* Pairs with the release in half_set(). */
	return load_acquire(&half->shared);
}

static bool attached(struct sdp_fast *fast, struct half *half)
{
	bool ret;

	if (mapped(half))
		return true;
	if (pthread_mutex_trylock(&fast->attach))
		return false;
	ret = mapped(half) || (fast->device >= 0 && attach(fast));
	pthread_mutex_unlock(&fast->attach);
	return ret;
}

/**
 * sdp_fast_open - begin to send and receive on a socket by rings
 * @fd: a connected TCP socket; without the ULP "sdp" everything goes by send(2) and recv(2)
 * @flags: zero
 *
 * Rings come when both ends are on this kernel and the connection has carried some bytes.  The
 * socket stays the caller's, and usable as before.
 *
 * Return: what the other calls take; NULL with errno EINVAL, or ENOMEM
 */
__public struct sdp_fast *sdp_fast_open(int fd, unsigned int flags)
{
	struct sdp_fast *fast;

	if (flags) {
		errno = EINVAL;
		return NULL;
	}
	fast = calloc(1, sizeof(*fast));
	if (!fast)
		return NULL;
	fast->fd = fd;
	fast->rings = -1;
	fast->turns = TURNS_FIRST;
	pthread_mutex_init(&fast->attach, NULL);
	pthread_mutex_init(&fast->tx.lock, NULL);
	pthread_mutex_init(&fast->rx.lock, NULL);
	pthread_once(&process_once, process_begin);
	fast->device = alive ? open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC) : -1;
	if (alive && !load(alive))
		store(alive, getpid());
	fast->owner = alive ? load(alive) : 0;
	return fast;
}

/**
 * sdp_fast_close - let go of the rings
 * @fast: what sdp_fast_open() has given; no other thread is in a call with it
 *
 * The connection goes on.  After fork(2) each process does it for itself.
 */
__public void sdp_fast_close(struct sdp_fast *fast)
{
	/* A child does not have it, and may have something else there. */
	if (fast->map && own(fast))
		munmap(fast->map, fast->length);
	if (fast->rings >= 0)
		close(fast->rings);
	if (fast->device >= 0)
		close(fast->device);
	pthread_mutex_destroy(&fast->rx.lock);
	pthread_mutex_destroy(&fast->tx.lock);
	pthread_mutex_destroy(&fast->attach);
	free(fast);
}

/* --- halves -------------------------------------------------------------- */

static __u64 position(__u64 word)
{
	return word & ~SDP_RING_CLOSED;
}

static bool is_closed(__u64 word)
{
	return word & SDP_RING_CLOSED;
}

/* Opens a half, with its lock, now and then.  What keeps it closed may be there for long. */
static bool reopen(struct sdp_fast *fast, struct half *half, unsigned int which)
{
	if (half->skip) {
		half->skip--;
		return false;
	}
	if (attached(fast, half) && ioctl(fast->rings, SDP_RING_OPEN, which) > 0) {
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

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Where a position is, and how many bytes there are to the end of the ring. */
static char *place(const struct sdp_fast *fast, const struct half *half, __u64 pos, size_t *rest)
{
	size_t at = (pos - half->base) & (fast->size - 1);

	*rest = fast->size - at;
	return half->bytes + at;
}

static void kick(const struct sdp_fast *fast, unsigned int what)
{
	ioctl(fast->rings, SDP_RING_KICK, what);
}

/**
 * sdp_fast_state - which halves are open
 * @fast: what sdp_fast_open() has given
 *
 * Return: SDP_RING_TX, SDP_RING_RX of <linux/sdp_ring.h>, which may be over already
 */
__public unsigned int sdp_fast_state(struct sdp_fast *fast)
{
	unsigned int open = 0;

	if (!own(fast) || !mapped(&fast->tx) || !mapped(&fast->rx))
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

static void put_bytes(const struct sdp_fast *fast, const struct half *tx, __u64 pos,
		      const char *from, size_t n)
{
	size_t rest;
	char *to = place(fast, tx, pos, &rest);

	if (n > rest) {
		memcpy(to, from, rest);
		memcpy(tx->bytes, from + rest, n - rest);
	} else {
		memcpy(to, from, n);
	}
}

/* As many bytes as there is room for, with the lock; none if the half is closed. */
static size_t put(const struct sdp_fast *fast, struct half *tx, const char *from, size_t n)
{
	struct sdp_shared *shared = tx->shared;
	__u64 head;

	store(&shared->busy, 1);
	/* Pairs with the kernel's exchange: it sees this, or we that it has closed the half. */
	full_barrier();
	head = load(&shared->head);
	n = is_closed(head) ? 0 : smaller(n, room(fast, tx, head, n));
	if (n) {
		put_bytes(fast, tx, head, from, n);
		/* The bytes are there: pairs with the acquire of who reads the head. */
		if (!__atomic_compare_exchange_n(&shared->head, &head, head + n, false,
						 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			n = 0;
	}
	/* Pairs with the acquire in sdp_share_busy(): nothing is written behind this. */
	store_release(&shared->busy, 0);
	return n;
}

static size_t send_ring(struct sdp_fast *fast, const char *from, size_t n)
{
	struct half *tx = &fast->tx;

	if (!own(fast))
		return 0;
	pthread_mutex_lock(&tx->lock);
	if ((mapped(tx) && !is_closed(load(&tx->shared->head))) ||
	    reopen(fast, tx, SDP_RING_TX))
		n = put(fast, tx, from, n);
	else
		n = 0;
	pthread_mutex_unlock(&tx->lock);
	if (!n)
		return 0;
	/* The head is there.  Pairs with the barrier of who sets this and looks at it again. */
	full_barrier();
	if (load(&tx->shared->want_data))
		kick(fast, SDP_RING_DATA);
	return n;
}

/**
 * sdp_fast_send - send bytes, by the ring if it is open
 * @fast: what sdp_fast_open() has given
 * @buf: what to send
 * @len: its length
 * @flags: as send(2) has them; with others than MSG_DONTWAIT and MSG_NOSIGNAL it is a send(2)
 *
 * Several threads may send at once; the bytes of a call that has to wait for room may have those
 * of others in between, as with send(2).
 *
 * Return: as send(2)
 */
__public ssize_t sdp_fast_send(struct sdp_fast *fast, const void *buf, size_t len, int flags)
{
	size_t done = 0;
	ssize_t n;

	if (!(flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL)))
		done = send_ring(fast, buf, len);
	if (done && done == len)
		return done;
	/* Behind a part no signal: the next call finds the end by itself. */
	n = send(fast->fd, (const char *)buf + done, len - done,
		 done ? flags | MSG_NOSIGNAL : flags);
	if (n < 0)
		return done ? (ssize_t)done : -1;
	return done + n;
}

/* --- receiving ----------------------------------------------------------- */

static void take_bytes(const struct sdp_fast *fast, const struct half *rx, __u64 pos, char *to,
		       size_t n)
{
	size_t rest;
	const char *from = place(fast, rx, pos, &rest);

	if (n > rest) {
		memcpy(to, from, rest);
		memcpy(to + rest, rx->bytes, n - rest);
	} else {
		memcpy(to, from, n);
	}
}

/* Bytes that are there, behind a tail. */
static size_t there(const struct sdp_fast *fast, struct half *rx, __u64 tail, size_t want)
{
	if (rx->peer - tail > fast->size || rx->peer - tail < want)
		/* Pairs with the sender's release: the bytes are there. */
		rx->peer = position(load_acquire(&rx->shared->head));
	return rx->peer - tail > fast->size ? 0 : rx->peer - tail;
}

/* What there is, with the lock; -1 if the half is closed. */
static ssize_t take(const struct sdp_fast *fast, struct half *rx, char *to, size_t n)
{
	struct sdp_shared *shared = rx->shared;
	__u64 tail = load(&shared->tail);

	if (is_closed(tail))
		return -1;
	n = smaller(n, there(fast, rx, tail, n));
	if (!n)
		return 0;
	take_bytes(fast, rx, tail, to, n);
	/*
	 * The bytes are copied: pairs with the acquire of who writes there.  If it fails, they
	 * were not ours, and those that we remember to be there may be others now.
	 */
	if (__atomic_compare_exchange_n(&shared->tail, &tail, tail + n, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		return n;
	rx->peer = 0;
	return -1;
}

/* Whoever waits for room is woken when it is worth it. */
static void tell_room(const struct sdp_fast *fast, struct half *rx, __u64 used)
{
	/* The tail is there.  Pairs with the barrier of who sets this and looks at it again. */
	full_barrier();
	if (load(&rx->shared->want_room) && used * 2 < load(&rx->shared->limit))
		kick(fast, SDP_RING_ROOM);
}

/* Bytes by the ring, with the lock: 0 if there are none, -1 if the half is closed. */
static ssize_t take_or_ask(struct sdp_fast *fast, struct half *rx, char *to, size_t n, bool ask)
{
	ssize_t ret;

	if ((!mapped(rx) || is_closed(load(&rx->shared->tail))) &&
	    !reopen(fast, rx, SDP_RING_RX))
		return -1;
	ret = take(fast, rx, to, n);
	if (ret || !ask)
		return ret;
	store(&rx->shared->want_data, 1);
	/* Pairs with the sender's full barrier: it sees this, or we its bytes. */
	full_barrier();
	return take(fast, rx, to, n);
}

static ssize_t recv_ring(struct sdp_fast *fast, char *to, size_t n, bool ask)
{
	struct half *rx = &fast->rx;
	__u64 used = 0;
	ssize_t ret;

	if (!own(fast))
		return -1;
	pthread_mutex_lock(&rx->lock);
	ret = take_or_ask(fast, rx, to, n, ask);
	if (ret > 0)
		used = position(load(&rx->shared->head)) - position(load(&rx->shared->tail));
	pthread_mutex_unlock(&rx->lock);
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
		if (load(&rx->shared->head) != load(&rx->shared->tail))
			return true;
		relax();
	}
	return false;
}

/*
 * Before it sleeps, it looks for what another processor sends, and lets others run, who may be the
 * sender on this processor: that costs less than to sleep and be woken.  As often as it has been
 * worth it.
 */
static ssize_t recv_soon(struct sdp_fast *fast, char *to, size_t n)
{
	unsigned int i, turns = load(&fast->turns);
	ssize_t ret = 0;

	for (i = 0; !ret && i < turns; i++) {
		if (!look(&fast->rx))
			sched_yield();
		ret = recv_ring(fast, to, n, false);
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

/**
 * sdp_fast_recv - receive bytes, by the ring if it is open
 * @fast: what sdp_fast_open() has given
 * @buf: where to put them
 * @len: how many at most
 * @flags: as recv(2) has them; with others than MSG_DONTWAIT and MSG_WAITALL it is a recv(2)
 *
 * Several threads may receive at once, by whatever calls: each byte goes to one of them.  The
 * buffer may have been written to behind what was received.
 *
 * A program that waits by edges (EPOLLET) has to receive until EAGAIN.
 *
 * Return: as recv(2)
 */
__public ssize_t sdp_fast_recv(struct sdp_fast *fast, void *buf, size_t len, int flags)
{
	bool nowait = flags & MSG_DONTWAIT;
	size_t done = 0;
	ssize_t n = -1;

	if (len && !(flags & ~(MSG_DONTWAIT | MSG_WAITALL)))
		n = recv_ring(fast, buf, len, nowait);
	if (!n && !nowait)
		n = recv_soon(fast, buf, len);
	if (n > 0)
		done = n;
	if (done && (done == len || nowait || !(flags & MSG_WAITALL)))
		return done;
	if (!n && nowait)
		return sdp_fail(EAGAIN);
	n = recv(fast->fd, (char *)buf + done, len - done, flags);
	if (n < 0)
		return done ? (ssize_t)done : -1;
	return done + n;
}

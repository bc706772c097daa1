// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The mapped rings: bytes in and out without a system call while both sides are
 * busy.  The protocol is told at struct sdp_ring in <linux/sdp.h>.
 *
 * Ring memory is shared with every process that has the descriptor.  Indices are
 * bounded before they are used, so that a peer process that scribbles over them
 * costs this one the connection and nothing else.
 *
 * Each access that has an order says what it pairs with.  "The kernel" is sdpdev/ring/kring.h.
 * load() has no order: what is loaded is looked at alone.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <linux/sockios.h>
#include <unistd.h>

#include "internal.h"

#define load(p)			__atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define full_barrier()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

/* --- attaching ----------------------------------------------------------- */

static struct sdp_ring *map_ring(int fd, size_t bytes, off_t where)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, where);

	if (p == MAP_FAILED)
		return NULL;
	return p;
}

static int map_rings(struct sdp_rings *rings)
{
	int saved;

	rings->tx = map_ring(rings->fd, rings->data_offset + rings->tx_bytes,
			     SDP_MMAP_TX_RING);
	if (!rings->tx)
		return -1;
	rings->rx = map_ring(rings->fd, rings->data_offset + rings->rx_bytes,
			     SDP_MMAP_RX_RING);
	if (rings->rx)
		return 0;

	saved = errno;
	munmap(rings->tx, rings->data_offset + rings->tx_bytes);
	return sdp_fail(saved);
}

/**
 * sdp_ring_attach - give a connection its rings and map them
 * @fd: a connected endpoint that SDP carries
 * @tx_bytes: size of the transmit ring, a power of two from SDP_RING_MIN to
 *	SDP_RING_MAX
 * @rx_bytes: size of the receive ring, likewise
 * @rings: filled
 *
 * Return: 0, or -1 with the errno value of SDP_IOC_RING_SETUP or mmap(2)
 */
__public int sdp_ring_attach(int fd, unsigned int tx_bytes, unsigned int rx_bytes,
			     struct sdp_rings *rings)
{
	struct sdp_ring_setup setup = {
		.size = sizeof(setup),
		.tx_bytes = tx_bytes,
		.rx_bytes = rx_bytes,
	};

	if (ioctl(fd, SDP_IOC_RING_SETUP, &setup))
		return -1;
	rings->fd = fd;
	rings->tx_bytes = tx_bytes;
	rings->rx_bytes = rx_bytes;
	rings->data_offset = setup.data_offset;
	return map_rings(rings);
}

/**
 * sdp_ring_map - map the rings that a connection has
 * @fd: the endpoint
 * @rings: filled
 *
 * For a process that got the descriptor by fork, exec or over a UNIX socket.
 *
 * Return: 0, or -1 with the errno value of sdp_info() or mmap(2), or ENXIO
 * where the connection has no rings
 */
__public int sdp_ring_map(int fd, struct sdp_rings *rings)
{
	struct sdp_info info;

	if (sdp_info(fd, &info))
		return -1;
	if (!info.tx_ring_bytes)
		return sdp_fail(ENXIO);
	rings->fd = fd;
	rings->tx_bytes = info.tx_ring_bytes;
	rings->rx_bytes = info.rx_ring_bytes;
	rings->data_offset = info.ring_data_offset;
	return map_rings(rings);
}

/**
 * sdp_ring_detach - unmap the rings
 * @rings: as sdp_ring_attach() or sdp_ring_map() filled it
 *
 * The connection keeps its rings, what is in them stays in the stream.
 *
 * Return: 0, or -1 with the errno value of munmap(2)
 */
__public int sdp_ring_detach(struct sdp_rings *rings)
{
	int tx = munmap(rings->tx, rings->data_offset + rings->tx_bytes);
	int rx = munmap(rings->rx, rings->data_offset + rings->rx_bytes);

	rings->tx = NULL;
	rings->rx = NULL;
	return tx || rx ? -1 : 0;
}

/* --- the data ------------------------------------------------------------ */

static char *ring_data(const struct sdp_rings *rings, struct sdp_ring *ring)
{
	return (char *)ring + rings->data_offset;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void copy_in(char *data, size_t size, __u64 at, const char *from, size_t n)
{
	size_t first = at & (size - 1);
	size_t part = smaller(n, size - first);

	memcpy(data + first, from, part);
	memcpy(data, from + part, n - part);
}

static void copy_out(const char *data, size_t size, __u64 at, char *to, size_t n)
{
	size_t first = at & (size - 1);
	size_t part = smaller(n, size - first);

	memcpy(to, data + first, part);
	memcpy(to + part, data, n - part);
}

static int enter(const struct sdp_rings *rings, unsigned int flags)
{
	struct sdp_ring_enter arg = { .size = sizeof(arg), .flags = flags };

	if (flags & (SDP_ENTER_WAIT_TX | SDP_ENTER_WAIT_RX))
		return sdp_ioctl_blocking(rings->fd, SDP_IOC_RING_ENTER, &arg);
	return ioctl(rings->fd, SDP_IOC_RING_ENTER, &arg);
}

/* --- sending ------------------------------------------------------------- */

/*
 * The producers' lock: 0 free, 1 held, 2 held and waited for.  Held for a copy
 * only, never while waiting for room.  The futex is shared: the producers may
 * be in several processes.  False: who has it does not come back, or takes his time;
 * nothing in the ring is his before its tail has moved, so others can do without.
 */
static bool lock_ring(__u32 *lock, bool wait)
{
	static const struct timespec patience = { .tv_sec = 1 };
	__u32 seen = 0;

	/* Both acquire: pair with the release in unlock_ring(). */
	if (__atomic_compare_exchange_n(lock, &seen, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	if (!wait)
		return false;
	while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE))
		if (syscall(SYS_futex, lock, FUTEX_WAIT, 2, &patience, NULL, 0) &&
		    errno == ETIMEDOUT)
			return false;
	return true;
}

static void unlock_ring(__u32 *lock)
{
	/* Pairs with lock_ring() here, and with trylock_ring() in fast.c. */
	if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, lock, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Ended or shut. */
static bool has_ended(const struct sdp_ring *ring)
{
	return load(&ring->flags) & (SDP_RING_ERROR | SDP_RING_EOF);
}

/*
 * Puts in what there is room for, with the lock; -1 where the indices are not possible.
 * The kernel may end the ring meanwhile, and moves the tail away: what is put in before
 * that counts, and nothing else.
 */
static ssize_t put_bytes(const struct sdp_rings *rings, const char *buf, size_t len)
{
	struct sdp_ring *ring = rings->tx;
	__u64 head, tail;
	size_t n;

	/*
	 * Pairs with the kernel's exchange in sdp_kring_end(), as does the failure of the
	 * one below: with a tail that is not possible the flags say that it is the end.
	 */
	tail = load_acquire(&ring->tail);
	do {
		/* Pairs with the release in sdp_kring_take(): the kernel has copied the bytes. */
		head = load_acquire(&ring->head);
		if (tail - head > rings->tx_bytes)
			return has_ended(ring) ? 0 : sdp_fail(EPROTO);
		n = smaller(len, rings->tx_bytes - (tail - head));
		copy_in(ring_data(rings, ring), rings->tx_bytes, tail, buf, n);
		/* After the bytes: pairs with the acquire in sdp_kring_sent(). */
	} while (!__atomic_compare_exchange_n(&ring->tail, &tail, tail + n, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE));
	return n;
}

/* Has the kernel look where it asked for it; it must not go unheard. */
static void knock(const struct sdp_rings *rings, const struct sdp_ring *ring,
		  unsigned int which)
{
	/*
	 * The tail, or the head, is stored before the flags are loaded.  Pairs with the
	 * smp_mb() in sdp_kring_sleep(), where the kernel stores the flags before it
	 * loads the tail: at least one of the two sees what the other stored.
	 */
	full_barrier();
	if (!(load(&ring->flags) & SDP_RING_NEED_ENTER))
		return;
	while (enter(rings, which) && errno == EINTR)
		;
}

/**
 * sdp_ring_send - put bytes into the transmit ring
 * @rings: the rings
 * @buf: what to send
 * @len: its length
 * @flags: MSG_DONTWAIT, MSG_NOSIGNAL or zero
 *
 * Waits while the ring is full, unless MSG_DONTWAIT or O_NONBLOCK forbids it.
 * Several threads and processes may send at once; what does not fit at one time
 * may have other producers' bytes in between.  Not to be called from a signal
 * handler that may interrupt another sdp_ring_send() on the same rings.
 *
 * Return: the bytes taken, or -1 with the errno value of send(2), or EPROTO
 * where the ring's indices are not possible
 */
__public ssize_t sdp_ring_send(const struct sdp_rings *rings, const void *buf,
			       size_t len, int flags)
{
	const char *from = buf;
	bool knocked = false;
	size_t done = 0;
	ssize_t n;

	if (flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL))
		return sdp_fail(EOPNOTSUPP);

	for (;;) {
		/* The system call knows the error and the signal. */
		if (has_ended(rings->tx))
			return done ? (ssize_t)done : sdp_send(rings->fd, buf, len, flags);

		if (!lock_ring(&rings->tx->lock, !(flags & MSG_DONTWAIT))) {
			n = sdp_send(rings->fd, from + done, len - done, flags);
			return done && n < 0 ? (ssize_t)done : n + (ssize_t)done;
		}
		n = put_bytes(rings, from + done, len - done);
		unlock_ring(&rings->tx->lock);
		if (n < 0)
			return done ? (ssize_t)done : -1;
		done += n;
		if (done < len && !(flags & MSG_DONTWAIT)) {
			if (!enter(rings, SDP_ENTER_TX | SDP_ENTER_WAIT_TX) || has_ended(rings->tx))
				continue;
			return done ? (ssize_t)done : -1;
		}
		/* If it fails, what has been put in still counts. */
		knock(rings, rings->tx, SDP_ENTER_TX);
		if (done == len || (!n && knocked))
			return done || !len ? (ssize_t)done : sdp_fail(EAGAIN);
		knocked = true;
	}
}

/* --- receiving ----------------------------------------------------------- */

/*
 * Takes what there is; -1 where the indices are not possible.  @state is read
 * before the tail: with SDP_RING_EOF in it, that tail was the last.
 */
static ssize_t take_bytes(const struct sdp_rings *rings, char *buf, size_t len,
			  __u32 *state)
{
	struct sdp_ring *ring = rings->rx;
	__u64 head, there;
	size_t n;

	for (;;) {
		/* Pairs with the release in sdp_kring_tell(), which follows the last tail. */
		*state = load_acquire(&ring->flags);
		/* Before the tail, which is never behind it: pairs with the exchange below. */
		head = load_acquire(&ring->head);
		/* Pairs with the release in sdp_kring_put(): the bytes are there. */
		there = load_acquire(&ring->tail) - head;
		if (there > rings->rx_bytes) {
			/* Others may have taken and the kernel put meanwhile. */
			if (load(&ring->head) == head)
				return sdp_fail(EPROTO);
			continue;
		}
		n = smaller(len, there);
		if (!n)
			return 0;
		copy_out(ring_data(rings, ring), rings->rx_bytes, head, buf, n);
		/* After the copy: pairs with the acquire in sdp_kring_unread(). */
		if (__atomic_compare_exchange_n(&ring->head, &head, head + n, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return n;
	}
}

static bool at_mark(const struct sdp_rings *rings)
{
	int mark = 0;

	return !ioctl(rings->fd, SIOCATMARK, &mark) && mark;
}

/**
 * sdp_ring_recv - take bytes out of the receive ring
 * @rings: the rings
 * @buf: where to put them
 * @len: how many at most
 * @flags: MSG_DONTWAIT, MSG_WAITALL or zero
 *
 * Waits while the ring is empty, unless MSG_DONTWAIT or O_NONBLOCK forbids it.
 * Several threads and processes may receive at once, and read(2) as well: each
 * byte goes to one of them.
 *
 * Return: the bytes taken, 0 at the end of the stream, or -1 with the errno
 * value of recv(2), or EPROTO where the ring's indices are not possible
 */
__public ssize_t sdp_ring_recv(const struct sdp_rings *rings, void *buf, size_t len,
			       int flags)
{
	bool knocked = false;
	char *to = buf;
	size_t done = 0;
	__u32 state;
	ssize_t n;

	if (flags & ~(MSG_DONTWAIT | MSG_WAITALL))
		return sdp_fail(EOPNOTSUPP);

	for (;;) {
		n = take_bytes(rings, to + done, len - done, &state);
		if (n < 0)
			return done ? (ssize_t)done : -1;
		if (n) {
			done += n;
			knock(rings, rings->rx, SDP_ENTER_RX);
			knocked = true;
		}
		if (done == len || (done && !(flags & MSG_WAITALL)))
			return done;
		if (n)
			continue;

		/* The system call knows the error. */
		if (state & SDP_RING_ERROR)
			return done ? (ssize_t)done : sdp_recv(rings->fd, buf, len, flags);
		if (state & SDP_RING_EOF)
			return done;

		/* No call goes across the mark of urgent data. */
		if (done && (state & SDP_RING_NEED_ENTER) && at_mark(rings))
			return done;

		if (!(flags & MSG_DONTWAIT)) {
			if (!enter(rings, SDP_ENTER_RX | SDP_ENTER_WAIT_RX))
				continue;
			/* Another thread has taken the connection apart: there are no rings. */
			if (errno == ENXIO && !done)
				return sdp_recv(rings->fd, buf, len, flags);
			return done ? (ssize_t)done : -1;
		} else if (!knocked) {
			knock(rings, rings->rx, SDP_ENTER_RX);
			knocked = true;
		} else {
			return done ? (ssize_t)done : sdp_fail(EAGAIN);
		}
	}
}

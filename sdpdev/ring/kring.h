/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's side of one mapped ring: the indices, the bytes, and the order of the
 * accesses to them.
 *
 * Nothing here knows of endpoints, locks or memory: selftests/lib/litmus.c compiles this
 * file in user space and runs it against the library's side, libsdpdev/ring.c.  Each
 * access that has an order says which one of user space's it pairs with.
 *
 * User space may write anything into a ring at any time.  Its index is read once, and is
 * good only between the kernel's own and the size of the ring.
 */
#ifndef _SDP_KRING_H
#define _SDP_KRING_H

/* From any index in a ring to one that is in none. */
#define SDP_KRING_NOWHERE	BIT_ULL(63)

/**
 * struct sdp_kring - the kernel's side of a mapped ring
 * @map: the mapped pages in one piece: head and data.  Hostile: user space
 *	writes there at any time.  While @away the head alone, and nobody else's
 * @away: the pages have been given back (sdp_ring_mem_idle()); the ring is empty
 * @size: bytes of data, a power of two; zero without the ring
 * @own: the kernel's own index: of the next byte to take (transmit ring) or to
 *	put (receive ring)
 * @user: the last index of user space's that was found good; of the transmit ring:
 *	where it ends once it has @ended
 * @ended: of the transmit ring: no more comes, whatever user space writes there
 *
 * @map and @size change under ep->lock, tx.mutex and rx.mutex together, but
 * when pages come back @map does under ep->lock alone; the rest is protected by
 * ep->lock.  @map is in the memory of the connection's rings.
 */
struct sdp_kring {
	struct sdp_ring *map;
	bool away;
	u32 size;
	u64 own;
	u64 user;
	bool ended;
};

static inline void *sdp_kring_data(const struct sdp_kring *ring, u64 index)
{
	return (void *)ring->map + PAGE_SIZE + (index & (ring->size - 1));
}

/* Bytes from @index on that lie in one piece. */
static inline u32 sdp_kring_piece(const struct sdp_kring *ring, u64 index, u32 len)
{
	return min_t(u32, len, ring->size - (index & (ring->size - 1)));
}

/* --- transmit rings ---------------------------------------------------------- */

/**
 * sdp_kring_sent() - how many bytes wait in a transmit ring
 * @ring: the ring
 * @bytes: out: how many
 *
 * Return: false where user space's index is bad.
 */
static inline bool sdp_kring_sent(const struct sdp_kring *ring, u32 *bytes)
{
	u64 tail;

	/*
	 * The tail before the bytes: pairs with the compare-and-exchange of the tail in
	 * put_bytes(), which comes after the bytes.
	 */
	tail = ring->ended ? ring->user : smp_load_acquire(&ring->map->tail);
	if (tail - ring->own > ring->size)
		return false;
	*bytes = tail - ring->own;
	return true;
}

/**
 * sdp_kring_take() - take bytes from a transmit ring
 * @ring: the ring
 * @data: where to
 * @len: how many, at most what sdp_kring_sent() told
 *
 * Return: how many, which can be fewer where the ring wraps.
 */
static inline u32 sdp_kring_take(struct sdp_kring *ring, void *data, u32 len)
{
	u32 n = sdp_kring_piece(ring, ring->own, len);

	memcpy(data, sdp_kring_data(ring, ring->own), n);
	ring->own += n;
	/*
	 * The copy before the news of the room: pairs with the acquiring load of the
	 * head in put_bytes(), which overwrites the bytes.
	 */
	smp_store_release(&ring->map->head, ring->own);
	return n;
}

/**
 * sdp_kring_sleep() - have user space call for what it puts into a transmit ring
 * @ring: the ring
 * @flags: SDP_RING_* besides
 *
 * The caller looks at the ring once more, by sdp_kring_sent(), before it relies on that.
 */
static inline void sdp_kring_sleep(struct sdp_kring *ring, u32 flags)
{
	WRITE_ONCE(ring->map->flags, flags | SDP_RING_NEED_ENTER);
	/*
	 * The flags are stored before the tail is loaded.  Pairs with the full barrier
	 * in knock() and send_slot(), where user space stores the tail before it loads
	 * the flags: at least one of the two sees what the other stored.
	 */
	smp_mb();
}

/**
 * sdp_kring_end() - what is in a transmit ring is all that comes
 * @ring: the ring
 * @flags: SDP_RING_*, with SDP_RING_EOF or SDP_RING_ERROR
 *
 * User space moves the tail by compare-and-exchange.  Either that comes first, and the
 * bytes count, or it fails, since the tail goes where none can be.
 *
 * Context: the caller looks at the result by sdp_kring_sent().
 */
static inline void sdp_kring_end(struct sdp_kring *ring, u32 flags)
{
	WRITE_ONCE(ring->map->flags, flags);
	if (ring->ended)
		return;
	ring->ended = true;
	/*
	 * A full barrier: the flags come before this tail.  Pairs with the acquiring loads
	 * of the tail in put_bytes(): a producer that finds this tail looks for the end in
	 * the flags.
	 */
	ring->user = xchg(&ring->map->tail, ring->own + SDP_KRING_NOWHERE);
}

/* --- receive rings ----------------------------------------------------------- */

/**
 * sdp_kring_unread() - how many bytes wait in a receive ring
 * @ring: the ring
 * @bytes: out: how many
 *
 * Return: false where user space's index is bad.
 */
static inline bool sdp_kring_unread(struct sdp_kring *ring, u32 *bytes)
{
	/*
	 * The head before new bytes go where old ones were: pairs with the
	 * compare-and-exchange of the head in take_bytes(), which comes after the copy,
	 * and with the smp_rmb() in sdp_kring_unmoved().
	 */
	u64 head = smp_load_acquire(&ring->map->head);

	/* It never moves back. */
	if (head - ring->user > ring->own - ring->user)
		return false;
	ring->user = head;
	*bytes = ring->own - head;
	return true;
}

/**
 * sdp_kring_put() - put bytes into a receive ring
 * @ring: the ring
 * @data: the bytes
 * @len: how many, at most what sdp_kring_unread() leaves room for
 */
static inline void sdp_kring_put(struct sdp_kring *ring, const void *data, u32 len)
{
	u32 n, done = 0;

	while (done < len) {
		n = sdp_kring_piece(ring, ring->own + done, len - done);
		memcpy(sdp_kring_data(ring, ring->own + done), data + done, n);
		done += n;
	}
	ring->own += done;
	/*
	 * The bytes first, then the news of them: pairs with the acquiring load of the
	 * tail in take_bytes().
	 */
	smp_store_release(&ring->map->tail, ring->own);
}

/**
 * sdp_kring_tell() - tell user space what follows a receive ring's tail
 * @ring: the ring
 * @flags: SDP_RING_*
 */
static inline void sdp_kring_tell(struct sdp_kring *ring, u32 flags)
{
	/*
	 * After the tail: pairs with the acquiring load of the flags in take_bytes(),
	 * which comes before that of the tail.  With SDP_RING_EOF or SDP_RING_ERROR the
	 * tail that user space finds is the last one.  A consumer that empties the ring
	 * just now may miss SDP_RING_NEED_ENTER, which costs nothing: poll(2) and every
	 * call that waits look at what the kernel holds.
	 */
	smp_store_release(&ring->map->flags, flags);
}

/**
 * sdp_kring_unmoved() - were the bytes at @from there while they were copied?
 * @ring: the ring
 * @from: the head before the copy
 */
static inline bool sdp_kring_unmoved(const struct sdp_kring *ring, u64 from)
{
	/*
	 * The copy before this look at the head: pairs with the acquiring load of the
	 * head in sdp_kring_unread(), after which the kernel overwrites the bytes.
	 */
	smp_rmb();
	return READ_ONCE(ring->map->head) == from;
}

/**
 * sdp_kring_move() - compete with user space for bytes that were copied
 * @ring: the ring
 * @from: the head before the copy
 * @to: the head after it
 *
 * Return: whether they are the caller's.
 */
static inline bool sdp_kring_move(struct sdp_kring *ring, u64 from, u64 to)
{
	/*
	 * A full barrier where it succeeds: the copy is made before the head moves.  Pairs
	 * with the acquiring load of the head in sdp_kring_unread(), after which the
	 * kernel overwrites the bytes.
	 */
	if (cmpxchg(&ring->map->head, from, to) != from)
		return false;
	ring->user = to;
	return true;
}

#endif /* _SDP_KRING_H */

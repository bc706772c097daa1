// SPDX-License-Identifier: GPL-2.0
/*
 * A connection takes stream bytes from its transmit ring, puts received bytes into its
 * receive ring, and tells user space by flags when to call.
 *
 * An index that is not between the kernel's own and the size of the ring ends the
 * connection: the next look at what can be sent does that, or the endpoint's work.
 */
#include <linux/sched/signal.h>

#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* User space has written what no index can be. */
static void sdp_ring_bad(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	if (conn->rings.bad)
		return;
	conn->rings.bad = true;
	sdp_ep_kick(ep);
}

/**
 * sdp_ring_tx_check() - how many bytes wait in the transmit ring
 * @conn: a connection with rings, ep->lock held
 * @bytes: out: how many
 *
 * Return: false where the index is bad, which ends the connection.
 */
bool sdp_ring_tx_check(struct sdp_conn *conn, u32 *bytes)
{
	if (sdp_kring_sent(&conn->rings.tx, bytes))
		return true;
	sdp_ring_bad(conn);
	return false;
}

/**
 * sdp_ring_take() - take bytes from the transmit ring
 * @conn: a connection with rings, ep->lock held
 * @data: where to
 * @len: how many, at most what sdp_ring_tx_check() told
 *
 * Return: how many, which can be fewer where the ring wraps.
 */
u32 sdp_ring_take(struct sdp_conn *conn, void *data, u32 len)
{
	return sdp_kring_take(&conn->rings.tx, data, len);
}

/**
 * sdp_ring_rx_check() - how many bytes wait in the receive ring
 * @conn: a connection with rings, ep->lock held
 * @bytes: out: how many
 *
 * Return: false where the index is bad, which ends the connection.
 */
bool sdp_ring_rx_check(struct sdp_conn *conn, u32 *bytes)
{
	if (sdp_kring_unread(&conn->rings.rx, bytes))
		return true;
	sdp_ring_bad(conn);
	return false;
}

/**
 * sdp_ring_put() - put received bytes into the receive ring
 * @conn: a connection with rings, ep->lock held
 * @data: the bytes
 * @len: how many
 *
 * Return: how many there was room for.
 */
u32 sdp_ring_put(struct sdp_conn *conn, const void *data, u32 len)
{
	struct sdp_kring *ring = &conn->rings.rx;
	u32 used;

	if (!sdp_ring_rx_check(conn, &used) || ring->away)
		return 0;
	len = min(len, ring->size - used);
	sdp_kring_put(ring, data, len);
	return len;
}

/* Of the flags those that say whether anything more is taken. */
static u32 sdp_ring_tx_flags(const struct sdp_conn *conn, bool ended)
{
	struct sdp_ep *ep = conn->ep;

	if (ep->state == SDP_STATE_CLOSED)
		return SDP_RING_NEED_ENTER | SDP_RING_ERROR;
	return ended ? SDP_RING_NEED_ENTER | SDP_RING_EOF : 0;
}

/**
 * sdp_ring_tx_sleep() - let user space know whether it must call
 * @conn: the connection, ep->lock held
 *
 * While messages are under way or wait for credits the kernel comes back to the
 * ring by itself; not so for one that is held back for what may come there.
 *
 * No store of the flags but the one before the barrier needs an order: without
 * SDP_RING_NEED_ENTER the kernel looks again later, and an end that user space
 * does not see yet is found when it moves the tail (sdp_ring_tx_end()).
 *
 * Return: true where bytes came in the last moment, so the caller goes on.
 */
bool sdp_ring_tx_sleep(struct sdp_conn *conn)
{
	struct sdp_kring *ring = &conn->rings.tx;
	u32 bytes, end = sdp_ring_tx_flags(conn, ring->ended);

	if (!ring->size || conn->tx.owned || conn->tx.state >= SDP_TX_FIN_SENT ||
	    conn->phase == SDP_PHASE_ABORT)
		return false;
	/*
	 * Without a buffer nothing can be taken: sdp_ring_tx_grow() allocates one, and
	 * looks at the ring when it is there.
	 */
	if (!conn->tx.posted && list_empty(&conn->tx.free) && sdp_segs_empty(&conn->tx.pending)) {
		WRITE_ONCE(ring->map->flags, end | SDP_RING_NEED_ENTER);
		return false;
	}
	if (conn->tx.posted || (!sdp_segs_empty(&conn->tx.pending) && !conn->tx.held)) {
		WRITE_ONCE(ring->map->flags, end);
		return false;
	}
	sdp_kring_sleep(ring, end);
	if (!sdp_ring_tx_check(conn, &bytes) || !bytes)
		return false;
	WRITE_ONCE(ring->map->flags, end);
	return true;
}

/**
 * sdp_ring_tx_end() - what is in the transmit ring is all that comes
 * @conn: the connection, ep->lock held; it may have no rings
 *
 * A producer without a descriptor may be about to put bytes there: nothing but the ring
 * itself could tell it.
 */
void sdp_ring_tx_end(struct sdp_conn *conn)
{
	u32 bytes;

	if (!conn->rings.tx.size)
		return;
	sdp_kring_end(&conn->rings.tx, sdp_ring_tx_flags(conn, true));
	sdp_ring_tx_check(conn, &bytes);
}

/**
 * sdp_ring_rx_flags() - tell user space what follows the receive ring's tail
 * @conn: the connection, ep->lock held
 */
void sdp_ring_rx_flags(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	u32 flags = 0;

	if (!conn->rings.rx.size)
		return;
	if (!sdp_segs_empty(&conn->rx.queue))
		flags |= SDP_RING_NEED_ENTER;
	else if (ep->shut & RCV_SHUTDOWN)
		flags |= SDP_RING_EOF;
	if (ep->state == SDP_STATE_CLOSED && ep->reason != SDP_REASON_NONE)
		flags |= SDP_RING_ERROR;
	sdp_kring_tell(&conn->rings.rx, flags);
}

/**
 * sdp_ring_from() - sdp_rx_from() where there are rings
 * @conn: a connection with rings, ep->lock held
 * @pos: as of sdp_rx_from()
 *
 * What is in the receive ring ends where the queue begins.
 *
 * Return: the position; where the index is bad that behind all that there is.
 */
u64 sdp_ring_from(struct sdp_conn *conn, u64 pos)
{
	u32 bytes;

	if (!sdp_ring_rx_check(conn, &bytes))
		return conn->rx.queue.end;
	return max(pos, conn->rx.queue.begin - bytes);
}

/* Copies @n bytes from @index on, in one or two pieces. */
static size_t sdp_ring_copy(const struct sdp_kring *ring, u64 index, size_t n,
			    struct iov_iter *to, unsigned int flags)
{
	size_t done = 0, got;
	u32 piece;

	if (flags & MSG_TRUNC) {
		iov_iter_advance(to, n);
		return n;
	}
	while (done < n) {
		piece = sdp_kring_piece(ring, index + done, n - done);
		got = sdp_copy_to(sdp_kring_data(ring, index + done), piece, to);
		done += got;
		if (got < piece)
			break;
	}
	return done;
}

/* Competes with user space for the bytes from @from to @to. */
static bool sdp_ring_move_head(struct sdp_conn *conn, u64 from, u64 to)
{
	struct sdp_ep *ep = conn->ep;
	bool won;

	sdp_ep_lock(ep);
	won = sdp_kring_move(&conn->rings.rx, from, to);
	sdp_ep_unlock(ep);
	return won;
}

/**
 * sdp_ring_consume() - read from the receive ring
 * @conn: a connection with rings, rx.mutex held
 * @to: where to
 * @pos: in and out: with MSG_PEEK how far has been peeked, as sdp_rx_from() takes it; else
 *	zero
 * @flags: MSG_PEEK, MSG_TRUNC
 *
 * User space consumes at the same time: who moves the head has the bytes.
 *
 * Return: bytes; zero where there are none from @pos on; -EFAULT; -EBUSY where user
 * space was faster: who tries again lets go of the mutex first, as that may go on.
 */
ssize_t sdp_ring_consume(struct sdp_conn *conn, struct iov_iter *to, u64 *pos,
			 unsigned int flags)
{
	struct sdp_kring *ring = &conn->rings.rx;
	struct sdp_ep *ep = conn->ep;
	u64 head, index, from, end;
	size_t n;

	sdp_ep_lock(ep);
	from = sdp_ring_from(conn, *pos);
	end = conn->rx.queue.begin;
	/* User space counts from where the ring began: its index of @end is the ring's own. */
	index = ring->own - (end - from);
	head = ring->user;
	sdp_ep_unlock(ep);
	if (from >= end)
		return 0;

	n = min_t(u64, end - from, iov_iter_count(to));
	n = sdp_ring_copy(ring, index, n, to, flags);
	if (!n)
		return -EFAULT;
	if (flags & MSG_PEEK) {
		if (sdp_kring_unmoved(ring, head)) {
			*pos = from + n;
			return n;
		}
	} else if (sdp_ring_move_head(conn, head, head + n)) {
		return n;
	}
	iov_iter_revert(to, n);
	return -EBUSY;
}

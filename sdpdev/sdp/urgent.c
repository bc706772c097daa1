// SPDX-License-Identifier: GPL-2.0
/*
 * Urgent data, as TCP has it: one byte, at a mark in the stream where reading
 * stops.  It can be had out of turn with MSG_OOB, or in its place with
 * SO_OOBINLINE.  On the wire a message with OOB_PRES ends with it, and OOB_PEND
 * announces it (A4.3.1).
 *
 * Nothing behind the mark is in the receive ring as long as the mark is ahead
 * of the reader, for user space does not see it there.
 */
#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* Bytes from @pos on that readers pass over since another is urgent now. */
static u64 sdp_urg_hole(const struct sdp_conn *conn, u64 pos)
{
	const struct sdp_urg *urg = &conn->urg;

	return pos >= urg->hole && pos < urg->hole_end ? urg->hole_end - pos : 0;
}

/* Position of the next byte that is not in a hole; @pos as sdp_rx_from() takes it. */
static u64 sdp_urg_read_pos(struct sdp_conn *conn, u64 pos)
{
	pos = sdp_rx_from(conn, pos);
	return pos + sdp_urg_hole(conn, pos);
}

/**
 * sdp_urg_announced() - a message came with OOB_PEND or OOB_PRES
 * @conn: the connection, ep->lock held
 */
void sdp_urg_announced(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	if (conn->urg.pending)
		return;
	conn->urg.pending = true;
	sdp_ep_urge(ep);
}

/**
 * sdp_urg_arrived() - the last byte received is urgent
 * @conn: the connection, ep->lock held; the byte is counted and queued, and not in
 *	the receive ring yet
 * @byte: the byte
 *
 * It takes the place of one before it that was not read, which is in the stream
 * then, unless the reader stands before it: so does TCP.
 */
void sdp_urg_arrived(struct sdp_conn *conn, u8 byte)
{
	struct sdp_urg *urg = &conn->urg;

	if (sdp_urg_here(conn, 0) && !sdp_urg_inline(conn)) {
		/* The holes are next to be read, so they are one. */
		if (urg->hole_end != urg->pos)
			urg->hole = urg->pos;
		urg->hole_end = urg->pos + 1;
	}
	urg->state = SDP_URG_VALID;
	urg->pos = conn->rx.queue.end - 1;
	urg->byte = byte;
	urg->pending = false;
	urg->told = false;
}

/**
 * sdp_urg_inline() - is the urgent byte read in its place?
 * @conn: the connection
 */
bool sdp_urg_inline(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	struct sock *sk = sdp_native_sk(ep);

	return sk ? sock_flag(sk, SOCK_URGINLINE) : ep->tcp->opts.oobinline;
}

/**
 * sdp_urg_here() - does the reader stand at the mark?
 * @conn: the connection, ep->lock held
 * @pos: how far it has peeked, as sdp_rx_from() takes it
 */
bool sdp_urg_here(struct sdp_conn *conn, u64 pos)
{
	return conn->urg.state && sdp_urg_read_pos(conn, pos) == conn->urg.pos;
}

/**
 * sdp_urg_ahead() - bytes that FIONREAD tells of
 * @conn: the connection, ep->lock held
 *
 * Return: what is there, or what is before the mark where that is ahead and the
 * urgent byte not in line.
 */
u64 sdp_urg_ahead(struct sdp_conn *conn)
{
	u64 avail, pos = sdp_urg_read_pos(conn, 0), before = conn->urg.pos - pos;

	avail = conn->rx.queue.end - pos;
	/* A mark that has been passed is far away in unsigned numbers. */
	if (!conn->urg.state || before >= avail || sdp_urg_inline(conn))
		return avail;
	return before;
}

/**
 * sdp_urg_hidden() - bytes next in turn that an ordinary reader passes over
 * @conn: the connection, ep->lock held
 */
u64 sdp_urg_hidden(struct sdp_conn *conn)
{
	u64 hole = sdp_urg_hole(conn, conn->rx.queue.begin);

	return hole + (sdp_urg_here(conn, 0) && !sdp_urg_inline(conn));
}

/**
 * sdp_urg_clip() - how far a read from the queue goes
 * @conn: the connection, ep->lock held
 * @pos: position where it begins
 * @n: bytes there in one piece
 * @hole: out: the byte there is not for ordinary readers
 *
 * Return: bytes to read; one where @hole.
 */
u32 sdp_urg_clip(struct sdp_conn *conn, u64 pos, u32 n, bool *hole)
{
	struct sdp_urg *urg = &conn->urg;

	*hole = sdp_urg_hole(conn, pos) ||
		(urg->state && pos == urg->pos && !sdp_urg_inline(conn));
	if (*hole)
		return 1;
	if (!urg->state || pos >= urg->pos)
		return n;
	return min_t(u64, n, urg->pos - pos);
}

/**
 * sdp_urg_moved() - bytes were taken off the queue
 * @conn: the connection, ep->lock held
 */
void sdp_urg_moved(struct sdp_conn *conn)
{
	if (conn->urg.state && conn->rx.queue.begin > conn->urg.pos)
		conn->urg.state = SDP_URG_NONE;
}

/**
 * sdp_urg_until() - how much of the queue's head may go into the receive ring
 * @conn: the connection, ep->lock held
 * @n: bytes there in one piece
 *
 * Return: those before the mark; none of a hole, which sdp_rx_fetch() drops.
 */
u32 sdp_urg_until(const struct sdp_conn *conn, u32 n)
{
	const struct sdp_urg *urg = &conn->urg;
	u64 pos = conn->rx.queue.begin;

	if (sdp_urg_hole(conn, pos))
		return 0;
	if (urg->state && urg->pos - pos < n)
		n = urg->pos - pos;
	return n;
}

/**
 * sdp_urg_fetch() - user space, which has drained the receive ring, asks for more
 * @conn: the connection, ep->lock and rx.mutex held
 *
 * Where the ring ends at the mark the first call stops there, as a read does,
 * and the second goes on.
 *
 * Return: true where the byte at the head of the queue is to be dropped.
 */
bool sdp_urg_fetch(struct sdp_conn *conn)
{
	struct sdp_urg *urg = &conn->urg;

	if (sdp_segs_empty(&conn->rx.queue) || sdp_rx_from(conn, 0) != conn->rx.queue.begin)
		return false;
	if (sdp_urg_hole(conn, conn->rx.queue.begin))
		return true;
	if (!sdp_urg_here(conn, 0))
		return false;
	if (!urg->told) {
		urg->told = true;
		return false;
	}
	urg->state = SDP_URG_NONE;
	return !sdp_urg_inline(conn);
}

/**
 * sdp_urg_recv() - recv(2) with MSG_OOB
 * @conn: the connection
 * @to: where to
 * @flags: MSG_PEEK, MSG_TRUNC
 * @out_flags: out: MSG_OOB is added, and MSG_TRUNC without room
 *
 * Never waits.
 *
 * Return: one or zero bytes; -EINVAL without urgent data; -EAGAIN where it is
 * announced only; -EFAULT.
 */
ssize_t sdp_urg_recv(struct sdp_conn *conn, struct iov_iter *to, unsigned int flags,
		     unsigned int *out_flags)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_urg *urg = &conn->urg;
	ssize_t ret = -EINVAL;
	u8 byte;

	sdp_ep_lock(ep);
	byte = urg->byte;
	if (sdp_urg_inline(conn)) {
		ret = -EINVAL;
	} else if (urg->state == SDP_URG_VALID) {
		ret = 1;
		if (!(flags & MSG_PEEK))
			urg->state = SDP_URG_READ;
	} else if (urg->pending) {
		ret = ep->shut & RCV_SHUTDOWN ? 0 : -EAGAIN;
	}
	sdp_ep_unlock(ep);
	if (ret <= 0)
		return ret;

	*out_flags |= MSG_OOB;
	if (!iov_iter_count(to)) {
		*out_flags |= MSG_TRUNC;
		return 0;
	}
	if (!(flags & MSG_TRUNC) && copy_to_iter(&byte, 1, to) != 1)
		return -EFAULT;
	return 1;
}

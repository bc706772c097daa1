// SPDX-License-Identifier: GPL-2.0
/*
 * A direction whose programs have it mapped: <linux/sdp_ring.h> has what they do.
 *
 * What struct sdp_pipe says is the kernel's truth.  While a half is lent, its program moves the
 * head, or the tail, in struct sdp_shared, and the pipe's own is behind.  The kernel takes a
 * half back by one exchange, which sets SDP_RING_CLOSED: what it finds there is the last that the
 * program has done, since the program's exchange fails from then on.
 *
 *	SHUT --- SDP_RING_OPEN ---> LENT --- a system call ---> TAKEN
 *	  ^                          |  ^                         |
 *	  |                          |  +--- the call is over ----+
 *	  +---- sdp_tx_return(), an end goes, the file goes ------+
 *
 * The worker of pair.c takes the senders' halves now and then, and does not give them back: the
 * program's next message is a system call, which looks at the rules.
 *
 * Programs write anything at any time.  Each word is read once and bounded before it counts, and
 * so is no more than a number of bytes of this connection.
 *
 * Each pipe here has a shared head (sdp_pipe_shared()).
 */
#include <linux/sdp_ring.h>
#include <net/tcp.h>

#include "offload/offload.h"

static u64 sdp_share_pos(u64 word)
{
	return word & ~SDP_RING_CLOSED;
}

static bool sdp_share_lent(const u8 *half)
{
	/* Pairs with the release in sdp_share_take(): the pipe has the position then. */
	return smp_load_acquire(half) == SDP_HALF_LENT;
}

/* From here on the program moves it no more; others see where it is.  A full barrier. */
static u64 sdp_share_close(u64 *word)
{
	return sdp_share_pos(atomic64_fetch_or(SDP_RING_CLOSED, (atomic64_t *)word));
}

/* What is not possible has not happened. */
static void sdp_share_adopt(struct sdp_pipe *pipe, u64 head, u64 tail, bool rx)
{
	if (head < pipe->head || tail < pipe->tail || head < tail ||
	    head - tail > SDP_PIPE_BYTES)
		return;
	WRITE_ONCE(pipe->head, head);
	if (!rx)
		return;
	WRITE_ONCE(pipe->claim, tail);
	/* Pairs with the acquire in sdp_pipe_write(). */
	smp_store_release(&pipe->tail, tail);
}

/*
 * Learns what the programs have done, and takes @halves (SDP_RING_*) back; those that are not lent
 * stay as they are.  Any context, the pipe locked.
 */
void sdp_share_take(struct sdp_pipe *pipe, unsigned int halves)
{
	bool tx = sdp_share_lent(&pipe->tx_half), rx = sdp_share_lent(&pipe->rx_half);
	bool take_tx = tx && halves & SDP_RING_TX, take_rx = rx && halves & SDP_RING_RX;
	struct sdp_shared *shared = pipe->shared;
	u64 head = pipe->head, tail = 0;

	lockdep_assert_held(&pipe->lock);
	if (!tx && !rx)
		return;
	/*
	 * What stands still first.  Then the head is not before the tail, and the tail, which is
	 * loaded last, not more than a ring behind the head.  Only if both move the two may not
	 * fit together: then all stays as it is for now.
	 */
	if (take_rx)
		tail = sdp_share_close(&shared->tail);
	if (take_tx)
		head = sdp_share_close(&shared->head);
	else if (tx)
		/* Pairs with the sending program's release: the bytes are there. */
		head = sdp_share_pos(smp_load_acquire(&shared->head));
	if (!rx)
		/* Pairs with the release in sdp_pipe_read(). */
		tail = smp_load_acquire(&pipe->tail);
	else if (!take_rx)
		/* Pairs with the receiving program's release: it has copied the bytes. */
		tail = sdp_share_pos(smp_load_acquire(&shared->tail));

	sdp_share_adopt(pipe, head, tail, rx);
	if (take_tx) {
		/* Pairs with the acquire in sdp_share_lent(). */
		smp_store_release(&pipe->tx_half, SDP_HALF_TAKEN);
		WRITE_ONCE(shared->head, pipe->head | SDP_RING_CLOSED);
	}
	if (take_rx) {
		/* Pairs with the acquire in sdp_share_lent(). */
		smp_store_release(&pipe->rx_half, SDP_HALF_TAKEN);
		WRITE_ONCE(shared->tail, pipe->tail | SDP_RING_CLOSED);
	}
}

/* Takes both halves, for good.  Any context, the pipe locked. */
void sdp_share_close_all(struct sdp_pipe *pipe)
{
	sdp_share_take(pipe, SDP_RING_TX | SDP_RING_RX);
	WRITE_ONCE(pipe->tx_half, SDP_HALF_SHUT);
	WRITE_ONCE(pipe->rx_half, SDP_HALF_SHUT);
}

/* Each program sees what the pipe has, unless the word is a program's own.  The pipe is locked. */
void sdp_share_show(struct sdp_pipe *pipe)
{
	struct sdp_shared *shared = pipe->shared;

	WRITE_ONCE(shared->limit, pipe->limit);
	if (!sdp_share_lent(&pipe->tx_half))
		/* Pairs with the receiving program's acquire: the bytes are there. */
		smp_store_release(&shared->head, pipe->head | SDP_RING_CLOSED);
	if (!sdp_share_lent(&pipe->rx_half))
		/* Pairs with the sending program's acquire: they have been copied. */
		smp_store_release(&shared->tail, pipe->tail | SDP_RING_CLOSED);
}

static void sdp_share_lend_tx(struct sdp_pipe *pipe)
{
	sdp_share_show(pipe);
	/* A poll may have looked already, when all senders were in the kernel. */
	WRITE_ONCE(pipe->shared->want_data, 1);
	WRITE_ONCE(pipe->tx_half, SDP_HALF_LENT);
	/* The words before it are there.  Pairs with the sending program's barrier. */
	smp_store_release(&pipe->shared->head, pipe->head);
}

/* TCP has nothing to read, will get nothing before the direction returns, and nothing to tell. */
static bool sdp_share_may_read(struct sdp_pipe *pipe)
{
	const struct sock *sk = pipe->rx;

	return sk && pipe->state == SDP_PIPE_MOVED &&
	       sdp_pipe_arrived(pipe, tcp_sk(sk)->rcv_nxt) &&
	       skb_queue_empty(&sk->sk_receive_queue) && !tcp_sk(sk)->urg_data && !sk->sk_err &&
	       !(sk->sk_shutdown & RCV_SHUTDOWN) && READ_ONCE(sk->sk_rcvlowat) <= 1;
}

/*
 * Does a poller, a call that sleeps, or O_ASYNC count on each wake-up of a reader's socket?  Any
 * context; a full barrier.
 */
bool sdp_share_watched(const struct sock *sk)
{
	bool ret;

	rcu_read_lock();
	ret = skwq_has_sleeper(rcu_dereference(sk->sk_wq)) || sock_flag(sk, SOCK_FASYNC);
	rcu_read_unlock();
	return ret;
}

/*
 * A program polls the reader's socket.  An epoll set with EPOLLET gets an event for all that comes
 * after the program's last call, and the program may leave bytes in the ring.  Any context.
 */
void sdp_share_watch(const struct sdp_pipe *pipe, const struct sock *sk)
{
	struct sdp_shared *shared = pipe->shared;

	if (READ_ONCE(shared->watched) || !sdp_share_watched(sk))
		return;
	WRITE_ONCE(shared->watched, 1);
	/* A thread of the program may just have seen that it is not. */
	sdp_share_want_data(pipe);
}

static void sdp_share_lend_rx(struct sdp_pipe *pipe)
{
	/*
	 * First cleared, then looked at: the barrier in between pairs with that in
	 * sock_poll_wait().  A poller that saw the old word is in the queue already, and the word
	 * of one that comes later is not overwritten.
	 */
	WRITE_ONCE(pipe->shared->watched, 0);
	if (sdp_share_watched(pipe->rx))
		WRITE_ONCE(pipe->shared->watched, 1);
	/* What a call has claimed and not read is the program's again. */
	WRITE_ONCE(pipe->claim, pipe->tail);
	sdp_share_show(pipe);
	/* Never the other way: a sender may set both this very moment. */
	if (READ_ONCE(pipe->want_room))
		WRITE_ONCE(pipe->shared->want_room, 1);
	WRITE_ONCE(pipe->rx_half, SDP_HALF_LENT);
	/* The words before it are there.  Pairs with the receiving program's exchange. */
	smp_store_release(&pipe->shared->tail, pipe->tail);
}

/*
 * The kernel is going to put bytes in; false if it must not: the program may be writing there.  The
 * caller is the sender, its socket locked.
 */
bool sdp_share_begin_write(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	sdp_share_take(pipe, SDP_RING_TX);
	spin_unlock_bh(&pipe->lock);
	return !sdp_share_busy(pipe);
}

/*
 * May the sending program be writing, whose half is not lent?  The caller is the sender, its socket
 * locked.
 */
bool sdp_share_busy(const struct sdp_pipe *pipe)
{
	/*
	 * The half was closed by an exchange before.  Pairs with the program's full barrier: it
	 * has set this, or sees that the half is closed.  And with the release that clears this:
	 * then what it wrote, it wrote before.
	 */
	return smp_load_acquire(&pipe->shared->busy);
}

/*
 * The kernel has put bytes in: the program has its half back.  The caller is the sender, its socket
 * and the pipe locked.
 */
void sdp_share_written(struct sdp_pipe *pipe)
{
	if (pipe->tx_half == SDP_HALF_TAKEN && pipe->state == SDP_PIPE_MOVED)
		sdp_share_lend_tx(pipe);
	else
		sdp_share_show(pipe);
}

/*
 * The kernel is going to read, or to say that there is nothing.  The caller is the reader, its
 * socket and the pipe locked.
 */
void sdp_share_look(struct sdp_pipe *pipe)
{
	bool watched = pipe->rx && sdp_share_watched(pipe->rx);

	/* Before the look: what comes behind it wakes. */
	if (watched)
		sdp_share_want_data(pipe);
	sdp_share_take(pipe, SDP_RING_RX);
	if (watched || pipe->head != pipe->tail)
		return;
	sdp_share_want_data(pipe);
	sdp_share_take(pipe, 0);
}

/* From here on only the kernel reads.  The caller is the reader, its socket locked. */
void sdp_share_begin_read(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	sdp_share_look(pipe);
	spin_unlock_bh(&pipe->lock);
}

/* The kernel has read.  The caller is the reader, its socket locked. */
void sdp_share_read(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	sdp_share_show(pipe);
	spin_unlock_bh(&pipe->lock);
}

/*
 * The kernel reads no more: the program has its half back, if it may read.  The caller is the
 * reader, its socket locked.
 */
void sdp_share_end_read(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	if (pipe->rx_half == SDP_HALF_TAKEN && sdp_share_may_read(pipe))
		sdp_share_lend_rx(pipe);
	else
		sdp_share_show(pipe);
	spin_unlock_bh(&pipe->lock);
}

/* How often two words are read that both move. */
#define SDP_SHARE_READS	4

/*
 * Bytes that are in the pipe: a guess, but not older than what was done before.  Words that cannot
 * be true do not count, as in sdp_share_adopt(): a call that is told of room, or of bytes, has to
 * find them.  Any context.
 */
size_t sdp_share_used(const struct sdp_pipe *pipe)
{
	const struct sdp_shared *shared = pipe->shared;
	u64 head, tail;
	int i;

	for (i = 0; i < SDP_SHARE_READS; i++) {
		tail = sdp_share_lent(&pipe->rx_half) ? sdp_share_pos(READ_ONCE(shared->tail)) :
						       READ_ONCE(pipe->tail);
		/* Then it is not behind the head. */
		smp_rmb();
		head = sdp_share_lent(&pipe->tx_half) ? sdp_share_pos(READ_ONCE(shared->head)) :
						       READ_ONCE(pipe->head);
		if (head >= tail && head - tail <= SDP_PIPE_BYTES)
			return head - tail;
	}
	return READ_ONCE(pipe->head) - READ_ONCE(pipe->tail);
}

/*
 * A thread is going to wait for more bytes.  The caller looks once more after this.  Any context.
 */
void sdp_share_want_data(const struct sdp_pipe *pipe)
{
	WRITE_ONCE(pipe->shared->want_data, 1);
	/* Pairs with the sending program's full barrier: one of both sees the other. */
	smp_mb();
}

/*
 * A thread is going to wait for room.  The caller makes a full barrier after this, and looks once
 * more.  Any context.
 */
void sdp_share_want_room(const struct sdp_pipe *pipe)
{
	WRITE_ONCE(pipe->shared->want_room, 1);
}

/* There is room, and the caller wakes the sender after this.  The pipe is locked. */
void sdp_share_has_room(struct sdp_pipe *pipe)
{
	WRITE_ONCE(pipe->want_room, false);
	WRITE_ONCE(pipe->shared->want_room, 0);
}

static void sdp_share_kick_rx(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	/* Before the wake-up: a reader that wakes and finds too little sets it again. */
	WRITE_ONCE(pipe->shared->want_data, 0);
	sdp_share_take(pipe, 0);
	sdp_pipe_wake_rx(pipe);
	spin_unlock_bh(&pipe->lock);
}

static void sdp_share_kick_tx(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	sdp_share_take(pipe, 0);
	if (sdp_share_used(pipe) * 2 < pipe->limit) {
		sdp_share_has_room(pipe);
		sdp_pipe_wake_tx(pipe);
	}
	spin_unlock_bh(&pipe->lock);
}

/*
 * The program of the end @accepted has done something that the other end waits for: @what is
 * SDP_RING_DATA, SDP_RING_ROOM.
 */
void sdp_share_kick(struct sdp_pair *pair, bool accepted, unsigned int what)
{
	if (what & SDP_RING_DATA)
		sdp_share_kick_rx(&pair->pipe[accepted]);
	if (what & SDP_RING_ROOM)
		sdp_share_kick_tx(&pair->pipe[!accepted]);
}

static bool sdp_share_open_tx(struct sdp_sock *ss, struct sdp_pipe *pipe)
{
	struct sock *sk = ss->sk;
	enum sdp_stay why;
	bool open;

	/* The program says so by the call. */
	WRITE_ONCE(pipe->shared->busy, 0);
	if (sk->sk_err || sk->sk_shutdown & SEND_SHUTDOWN)
		return false;
	if (pipe->state == SDP_PIPE_IDLE) {
		sdp_tx_try(ss, pipe);
	} else if (pipe->state == SDP_PIPE_MOVED) {
		why = sdp_tx_recheck(ss, pipe);
		if (why)
			sdp_tx_return(ss, why);
	}
	spin_lock_bh(&pipe->lock);
	open = pipe->state == SDP_PIPE_MOVED && pipe->rx;
	if (open && !sdp_share_lent(&pipe->tx_half))
		sdp_share_lend_tx(pipe);
	spin_unlock_bh(&pipe->lock);
	return open;
}

static bool sdp_share_open_rx(struct sdp_pipe *pipe)
{
	bool open;

	spin_lock_bh(&pipe->lock);
	open = sdp_share_lent(&pipe->rx_half);
	if (!open && sdp_share_may_read(pipe)) {
		sdp_share_lend_rx(pipe);
		open = true;
	}
	spin_unlock_bh(&pipe->lock);
	return open;
}

/*
 * Lends @halves (SDP_RING_TX, SDP_RING_RX) to an end's program, which has them mapped.  Returns
 * those that are lent now.  The socket is locked, in process context.
 */
unsigned int sdp_share_open(struct sdp_sock *ss, unsigned int halves)
{
	unsigned int open = 0;

	if (halves & SDP_RING_TX && sdp_share_open_tx(ss, sdp_tx_pipe(ss, ss->pair)))
		open |= SDP_RING_TX;
	if (halves & SDP_RING_RX && sdp_share_open_rx(sdp_rx_pipe(ss, ss->pair)))
		open |= SDP_RING_RX;
	return open;
}

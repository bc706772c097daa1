// SPDX-License-Identifier: GPL-2.0
/*
 * One direction's bytes on their way between two sockets of this kernel: a ring of pages.
 *
 * The sender copies into pages that are its own, then shows them by a new head.  The reader
 * first claims what it is going to read: the sender may take back the rest at any time, to
 * return it to TCP.
 *
 *	        tail          claim            head
 *	----------|-------------|----------------|------------>  positions
 *	   free   | the reader  |   either, by   |  the sender
 *	          | copies out  |   the lock     |  copies in
 *
 * Its states, which sdp_pipe_set() changes:
 *
 *	IDLE --- the sender moves ---> MOVED --- sdp_tx_return() ---> RETURNING
 *	  ^                              |                             |     |
 *	  |                              +--- the sender is gone ---> ENDED <+
 *	  +------------ all is in TCP's queue -------------------------+
 *
 * A sender that finds the reader within TCP goes from MOVED to IDLE at once.  IDLE ends, too.
 */
#include <linux/gfp.h>
#include <linux/sdp_ring.h>
#include <net/tcp.h>

#include "offload/offload.h"

static const u8 sdp_pipe_steps[] = {
	[SDP_PIPE_IDLE] = BIT(SDP_PIPE_MOVED) | BIT(SDP_PIPE_ENDED),
	[SDP_PIPE_MOVED] = BIT(SDP_PIPE_IDLE) | BIT(SDP_PIPE_RETURNING) | BIT(SDP_PIPE_ENDED),
	[SDP_PIPE_RETURNING] = BIT(SDP_PIPE_IDLE) | BIT(SDP_PIPE_ENDED),
	[SDP_PIPE_ENDED] = 0,
};

void sdp_pipe_set(struct sdp_pipe *pipe, enum sdp_pipe_state state)
{
	lockdep_assert_held(&pipe->lock);
	SDP_ASSERT(sdp_pipe_steps[pipe->state] & BIT(state));
	/* What comes from now on comes behind TCP's bytes. */
	sdp_land_drop(pipe);
	WRITE_ONCE(pipe->state, state);
}

/* Pages of all pipes; a part of the machine's memory is the most that they may be. */
static atomic_long_t sdp_pipe_pages;

/*
 * The caller's memory control group pays.  The page is clear, as a program may map the pipe later.
 * NULL if memory is short, or pipes have enough of it.
 */
struct page *sdp_pipe_page(gfp_t gfp)
{
	struct page *page = NULL;

	if (atomic_long_inc_return(&sdp_pipe_pages) <= totalram_pages() / SDP_PIPES_PART)
		page = alloc_page(gfp | __GFP_ACCOUNT | __GFP_NORETRY |
				   __GFP_NOWARN | __GFP_ZERO);
	if (!page)
		atomic_long_dec(&sdp_pipe_pages);
	return page;
}

void sdp_pipe_page_free(struct page *page)
{
	__free_page(page);
	atomic_long_dec(&sdp_pipe_pages);
}

static void sdp_pipe_drop(struct sdp_pipe *pipe)
{
	int i;

	for (i = 0; i < SDP_PIPE_PAGES && pipe->pages[i]; i++) {
		sdp_pipe_page_free(pipe->pages[i]);
		pipe->pages[i] = NULL;
	}
}

void sdp_pipe_init(struct sdp_pipe *pipe, struct sock *tx, struct sdp_sock *reader)
{
	spin_lock_init(&pipe->lock);
	pipe->write_space = reader->base->write_space;
	pipe->tx = tx;
	pipe->rx = reader->sk;
	pipe->reader = reader;
	pipe->limit = SDP_PIPE_BYTES;
}

void sdp_pipe_free(struct sdp_pipe *pipe)
{
	sdp_pipe_drop(pipe);
	if (pipe->shared)
		sdp_pipe_page_free(virt_to_page(pipe->shared));
}

/*
 * Copies up to @most bytes in, as far as there is room; sdp_pipe_publish() shows them.  Returns
 * how many; 0 without room; -EFAULT or -ENOMEM if there are none; -EBUSY if the program may be
 * writing there itself.  The caller is the sender, its socket locked; its memory control group
 * pays for pages.  Copies from user memory.
 */
ssize_t sdp_pipe_write(struct sdp_pipe *pipe, struct iov_iter *from, size_t most, gfp_t gfp)
{
	bool shared = sdp_pipe_shared(pipe);
	size_t room, done = 0;
	u64 used;

	if (shared && !sdp_share_begin_write(pipe))
		return -EBUSY;
	/* Pairs with the release in sdp_pipe_read(). */
	used = pipe->head - smp_load_acquire(&pipe->tail);
	room = used < pipe->limit ? min_t(size_t, pipe->limit - used, most) : 0;
	/* All has been read, so no reader looks at the pages: begin with the first one again. */
	if (!used && !shared)
		pipe->base = pipe->head;

	while (done < room && iov_iter_count(from)) {
		unsigned int slot = sdp_pipe_slot(pipe, pipe->head + done);
		unsigned int offset = sdp_pipe_offset(pipe, pipe->head + done);
		size_t n, got;

		if (!pipe->pages[slot])
			pipe->pages[slot] = sdp_pipe_page(gfp);
		if (!pipe->pages[slot])
			return done ?: -ENOMEM;
		n = min3(room - done, iov_iter_count(from), (size_t)PAGE_SIZE - offset);
		got = copy_page_from_iter(pipe->pages[slot], offset, n, from);
		done += got;
		if (got < n)
			return done ?: -EFAULT;
	}
	return done;
}

/*
 * Has the only call that waits been woken before, and will it still look for bytes?  Others in the
 * queue want to hear of each message (EPOLLET).
 */
static bool sdp_pipe_told(const struct sock *rx, const struct sdp_sock *reader)
{
	const struct socket_wq *wq;

	if (READ_ONCE(reader->sleeper) != SDP_SLEEPER_TOLD || sock_flag(rx, SOCK_FASYNC))
		return false;
	/* Pairs with sdp_quick_sleep(): a call that does not see the new head is seen here. */
	smp_mb();
	wq = rcu_dereference_bh(rx->sk_wq);
	if (!wq || !list_is_singular(&wq->wait.head))
		return false;
	/* It leaves that state before it leaves the queue: so it was the one that was there. */
	smp_rmb();
	return READ_ONCE(reader->sleeper) == SDP_SLEEPER_TOLD;
}

/* False if there is no reader that can be woken.  The pipe is locked. */
bool sdp_pipe_wake_rx(struct sdp_pipe *pipe)
{
	struct sdp_sock *reader = pipe->reader;
	struct sock *rx = pipe->rx;

	if (!sdp_pipe_wakes(pipe))
		return false;
	if (sdp_pipe_told(rx, reader))
		return true;
	/* Before it is woken, as it may be gone behind that. */
	cmpxchg(&reader->sleeper, SDP_SLEEPER_WAITS, SDP_SLEEPER_TOLD);
	/* The kernel's own, even if a client has put its own there meanwhile: that wants locks. */
	reader->base->data_ready(rx);
	return true;
}

/*
 * Shows the reader @len bytes that were copied in, and wakes it.  False if there is no reader for
 * them: the sender has to return them.  The caller is the sender, its socket locked.
 */
bool sdp_pipe_publish(struct sdp_pipe *pipe, size_t len)
{
	bool woken;

	spin_lock_bh(&pipe->lock);
	WRITE_ONCE(pipe->head, pipe->head + len);
	if (sdp_pipe_shared(pipe))
		sdp_share_written(pipe);
	woken = sdp_pipe_wake_rx(pipe);
	spin_unlock_bh(&pipe->lock);
	return woken;
}

/* Bytes that are in it: without the sender's socket's lock a guess. */
static size_t sdp_pipe_used(const struct sdp_pipe *pipe)
{
	if (sdp_pipe_shared(pipe))
		return sdp_share_used(pipe);
	return READ_ONCE(pipe->head) - READ_ONCE(pipe->tail);
}

/*
 * May the sender put bytes in, or has it to go to TCP?  With @wake half of the pipe has to be free,
 * so that it is worth waking somebody.  If not, the reader wakes the sender when there is room.
 * Any context.
 */
bool sdp_pipe_has_room(struct sdp_pipe *pipe, int wake)
{
	if (!READ_ONCE(pipe->rx) || READ_ONCE(pipe->stalled))
		return true;
	if (sdp_pipe_used(pipe) << wake < pipe->limit)
		return true;
	WRITE_ONCE(pipe->want_room, true);
	if (sdp_pipe_shared(pipe))
		sdp_share_want_room(pipe);
	/*
	 * Pairs with the barrier in sdp_pipe_freed(), and with the receiving program's: one of
	 * both sides sees the other.
	 */
	smp_mb();
	return sdp_pipe_used(pipe) << wake < pipe->limit;
}

/*
 * Are fewer than @bytes in the pipe?  If not, the reader wakes the sender when half of the pipe is
 * free.  The caller is the sender.
 */
bool sdp_pipe_below(struct sdp_pipe *pipe, size_t bytes)
{
	if (sdp_pipe_used(pipe) < bytes)
		return true;
	WRITE_ONCE(pipe->want_room, true);
	/* Pairs with the barrier in sdp_pipe_freed(), as in sdp_pipe_has_room(). */
	smp_mb();
	return sdp_pipe_used(pipe) < bytes;
}

/* Wakes a sender that waits for room.  The pipe is locked. */
void sdp_pipe_wake_tx(struct sdp_pipe *pipe)
{
	struct sock *tx = pipe->tx;

	if (!tx || READ_ONCE(tx->sk_write_space) != pipe->write_space)
		return;
	/* Keeps tx->sk_socket where it is. */
	read_lock(&tx->sk_callback_lock);
	tx->sk_write_space(tx);
	read_unlock(&tx->sk_callback_lock);
}

/* The reader, which is the caller, has made room.  The pipe is not locked. */
void sdp_pipe_freed(struct sdp_pipe *pipe)
{
	/* Pairs with the barrier in sdp_pipe_has_room(). */
	smp_mb();
	if (!READ_ONCE(pipe->want_room) || sdp_pipe_used(pipe) * 2 >= pipe->limit)
		return;
	spin_lock_bh(&pipe->lock);
	WRITE_ONCE(pipe->want_room, false);
	if (sdp_pipe_shared(pipe))
		sdp_share_has_room(pipe);
	sdp_pipe_wake_tx(pipe);
	spin_unlock_bh(&pipe->lock);
}

/*
 * May bytes be claimed?  @seq is what the reader's TCP waits for.  While a direction is moved its
 * TCP is silent, so this is @pipe->start when TCP has delivered what came before.  It never is if
 * this is not the reader's connection.  Any context; without the pipe's lock a guess.
 */
bool sdp_pipe_arrived(const struct sdp_pipe *pipe, u32 seq)
{
	switch (READ_ONCE(pipe->state)) {
	case SDP_PIPE_MOVED:
	case SDP_PIPE_ENDED:
		/* Nothing but a FIN comes by TCP where no byte does. */
		return seq - READ_ONCE(pipe->start) <= pipe->only;
	default:
		return false;
	}
}

/*
 * Bytes that the reader may read; its TCP waits for @seq.  If there are none, a program that sends
 * wakes the reader from now on.  Any context; without the reader's socket's lock a guess.
 */
size_t sdp_pipe_queued(const struct sdp_pipe *pipe, u32 seq)
{
	u64 tail = READ_ONCE(pipe->tail);
	size_t used;

	if (!sdp_pipe_arrived(pipe, seq))
		return READ_ONCE(pipe->claim) - tail;
	if (!sdp_pipe_shared(pipe))
		return READ_ONCE(pipe->head) - tail;
	used = sdp_share_used(pipe);
	if (!used) {
		/* The caller may be going to wait. */
		sdp_share_want_data(pipe);
		used = sdp_share_used(pipe);
	}
	return used;
}

/*
 * Makes all that is in the pipe the reader's; true if there is something.  The caller is the
 * reader, its socket locked, and has read all that its TCP has.
 */
bool sdp_pipe_claim(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	if (sdp_pipe_shared(pipe))
		sdp_share_look(pipe);
	if (sdp_pipe_arrived(pipe, tcp_sk(pipe->reader->sk)->rcv_nxt))
		WRITE_ONCE(pipe->claim, pipe->head);
	spin_unlock_bh(&pipe->lock);
	return pipe->claim != pipe->tail;
}

/* @len bytes from @pos on, and before @end, that lie side by side.  They are the caller's. */
void *sdp_pipe_slice(struct sdp_pipe *pipe, u64 pos, u64 end, size_t *len)
{
	unsigned int offset = sdp_pipe_offset(pipe, pos);

	*len = min_t(u64, end - pos, PAGE_SIZE - offset);
	return page_address(pipe->pages[sdp_pipe_slot(pipe, pos)]) + offset;
}

/*
 * Copies claimed bytes out, and makes room.  Without @to they are thrown away.  Returns how many,
 * or -EFAULT if none.  The caller is the reader, its socket locked.  Copies to user memory.
 */
ssize_t sdp_pipe_read(struct sdp_pipe *pipe, struct iov_iter *to, size_t len)
{
	u64 pos = pipe->tail, end = min(pipe->claim, pos + len);
	bool bad = false;

	while (pos < end && !bad) {
		size_t n, got;
		void *from = sdp_pipe_slice(pipe, pos, end, &n);

		got = to ? copy_to_iter(from, n, to) : n;
		bad = got < n;
		pos += got;
	}
	len = pos - pipe->tail;
	/* Pairs with the acquire in sdp_pipe_write(). */
	smp_store_release(&pipe->tail, pos);
	if (sdp_pipe_shared(pipe))
		sdp_share_read(pipe);
	if (len)
		sdp_pipe_freed(pipe);
	return len || !bad ? len : -EFAULT;
}

/* Copy what the sender may take back at any moment: through a page of our own. */
static ssize_t sdp_pipe_bounce(struct sdp_pipe *pipe, u64 pos, struct iov_iter *to, size_t len)
{
	void *page = (void *)__get_free_page(pipe->reader->sk->sk_allocation);
	size_t n = 0, got;

	if (!page)
		return -ENOMEM;
	spin_lock_bh(&pipe->lock);
	if (sdp_pipe_shared(pipe))
		sdp_share_take(pipe, SDP_RING_RX);
	if (sdp_pipe_arrived(pipe, tcp_sk(pipe->reader->sk)->rcv_nxt) && pos < pipe->head) {
		void *from = sdp_pipe_slice(pipe, pos, min(pipe->head, pos + len), &n);

		memcpy(page, from, n);
	}
	spin_unlock_bh(&pipe->lock);
	got = to ? copy_to_iter(page, n, to) : n;
	free_page((unsigned long)page);
	return got || !n ? got : -EFAULT;
}

/*
 * Copies bytes out that stay in, from @pos on, which is not before the tail.  @to may be NULL.
 * Returns how many, at a border of pages fewer than there are; 0 if there are none; or -errno.  The
 * caller is the reader, its socket locked.  Copies to user memory.
 */
ssize_t sdp_pipe_peek(struct sdp_pipe *pipe, u64 pos, struct iov_iter *to, size_t len)
{
	size_t n, got;
	void *from;

	if (WARN_ON_ONCE(pos < pipe->tail))
		return 0;
	if (pos >= pipe->claim)
		return sdp_pipe_bounce(pipe, pos, to, len);
	from = sdp_pipe_slice(pipe, pos, min(pipe->claim, pos + len), &n);
	got = to ? copy_to_iter(from, n, to) : n;
	return got || !n ? got : -EFAULT;
}

static void sdp_pipe_tell_one(const struct sock *sk, enum sdp_counter which, u64 now, u64 *told)
{
	/* What has come back to TCP is told already, and there is not less for that. */
	if (sk && now > *told) {
		sdp_count_add(sock_net(sk), which, now - *told);
		*told = now;
	}
}

/* Adds to the byte counters of the ends' namespaces.  The lock is held. */
void sdp_pipe_tell(struct sdp_pipe *pipe)
{
	sdp_pipe_tell_one(pipe->tx, SDP_CNT_SENT, sdp_pipe_sent(pipe), &pipe->told[0]);
	sdp_pipe_tell_one(pipe->rx, SDP_CNT_RECEIVED, sdp_pipe_received(pipe), &pipe->told[1]);
}

/* The sender is gone.  Any context. */
void sdp_pipe_detach_tx(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	if (!pipe->tx) {
		spin_unlock_bh(&pipe->lock);
		return;
	}
	if (sdp_pipe_shared(pipe))
		sdp_share_close_all(pipe);
	sdp_pipe_tell(pipe);
	pipe->tx = NULL;
	/* Its bytes in the middle of a return go with it, as unsent ones of TCP do. */
	if (pipe->state == SDP_PIPE_RETURNING)
		WRITE_ONCE(pipe->head, pipe->claim);
	sdp_pipe_set(pipe, SDP_PIPE_ENDED);
	spin_unlock_bh(&pipe->lock);
}

/* A reader, whose TCP was over before it had read all, lets go: nothing else tells for it now. */
void sdp_pipe_tell_rest(struct sdp_pipe *pipe, const struct sock *rx)
{
	sdp_pipe_tell_one(rx, SDP_CNT_RECEIVED, sdp_pipe_received(pipe), &pipe->told[1]);
}

/*
 * The reader is gone.  The sender brings its bytes back to TCP when it comes by, or else the pairs'
 * worker does.  Any context.
 */
void sdp_pipe_detach_rx(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	if (sdp_pipe_shared(pipe))
		sdp_share_close_all(pipe);
	sdp_land_drop(pipe);
	sdp_pipe_tell(pipe);
	WRITE_ONCE(pipe->rx, NULL);
	sdp_pipe_wake_tx(pipe);
	spin_unlock_bh(&pipe->lock);
}

/* Gives the pages of an empty pipe back.  The sender's socket is locked; does not sleep. */
void sdp_pipe_trim(struct sdp_pipe *pipe)
{
	/* Pairs with the release in sdp_pipe_read(): the reader has let go of the pages. */
	if (!sdp_pipe_shared(pipe) && pipe->head == smp_load_acquire(&pipe->tail))
		sdp_pipe_drop(pipe);
}

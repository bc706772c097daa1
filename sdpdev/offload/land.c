// SPDX-License-Identifier: GPL-2.0
/*
 * One copy instead of two: a reader that waits lets the sender copy into its own memory.
 *
 * The reader pins a part of the program's buffer and offers it while nothing lies before the
 * bytes that come next: the pipe is empty, and TCP has delivered all that it ever will before
 * the direction comes back.  The sender copies a page at a time under the pipe's lock, without
 * page faults.  So the reader never waits for a sender to let go of its memory, even if the
 * sender's own memory is slow or hostile.
 *
 * Bytes that have landed are read: neither the pipe nor a return has to do with them.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <net/tcp.h>

#include "compat.h"
#include "offload/land.h"
#include "offload/offload.h"

/* Pinning costs about as much as copying this. */
#define SDP_LAND_LEAST	SZ_8K

static void __user *sdp_land_address(const struct iov_iter *to)
{
	if (iter_is_ubuf(to))
		return to->ubuf + to->iov_offset;
	return iter_iov(to)->iov_base + to->iov_offset;
}

/*
 * May a sender's copy into the reader's memory save something?  The last messages say how large the
 * next one will be.  The caller is the reader; without its socket's lock a guess.
 */
bool sdp_land_worth(const struct sdp_sock *ss, const struct iov_iter *to, size_t len)
{
	struct sdp_pair *pair;
	bool ret;

	if (ss->recent < SDP_LAND_LEAST || !user_backed_iter(to) ||
	    min(len, iov_iter_single_seg_count(to)) < SDP_LAND_LEAST)
		return false;
	rcu_read_lock();
	pair = sdp_sock_pair(ss);
	ret = pair && !sdp_pipe_shared(sdp_rx_pipe(ss, pair));
	rcu_read_unlock();
	return ret;
}

/* Is nothing before the bytes that come next?  Without the pipe's lock a guess. */
static bool sdp_land_may(const struct sdp_pipe *pipe, const struct tcp_sock *tp)
{
	return !pipe->landing && !pipe->shared && pipe->rx && pipe->state == SDP_PIPE_MOVED &&
	       pipe->head == pipe->tail && sdp_pipe_arrived(pipe, tp->rcv_nxt) &&
	       tp->copied_seq == tp->rcv_nxt;
}

/*
 * Pages of files are not for this: their file system wants to know before they change.  Returns
 * bytes that the pages take.
 */
static size_t sdp_land_pin(struct sdp_landing *land, struct iov_iter *to, size_t len)
{
	unsigned long start = (unsigned long)sdp_land_address(to);
	int i, n;

	land->offset = offset_in_page(start);
	len = min3(len, iov_iter_single_seg_count(to), SDP_LAND_PAGES * PAGE_SIZE - land->offset);
	n = pin_user_pages_fast(start - land->offset, DIV_ROUND_UP(land->offset + len, PAGE_SIZE),
				FOLL_WRITE, land->pages);
	if (n <= 0)
		return 0;
	land->count = n;
	for (i = 0; i < n; i++) {
		if (!PageAnon(land->pages[i]))
			return 0;
	}
	return min(len, n * PAGE_SIZE - land->offset);
}

static void sdp_land_unpin(struct sdp_landing *land)
{
	if (land->count)
		unpin_user_pages(land->pages, land->count);
	land->count = 0;
}

/*
 * Lets the sender copy to the program's memory, which is user_backed_iter(), until sdp_land_take().
 * Where that cannot be, the bytes come by the pipe.  The caller is the reader, its socket locked,
 * and has read all that its TCP has.
 */
void sdp_land_offer(struct sdp_pipe *pipe, struct sdp_landing *land, struct iov_iter *to,
		    size_t len)
{
	struct tcp_sock *tp = tcp_sk(pipe->reader->sk);

	land->done = 0;
	land->count = 0;
	land->old = false;
	if (!sdp_land_may(pipe, tp))
		return;
	land->len = sdp_land_pin(land, to, len);
	spin_lock_bh(&pipe->lock);
	if (land->len && sdp_land_may(pipe, tp))
		pipe->landing = land;
	else
		sdp_land_unpin(land);
	spin_unlock_bh(&pipe->lock);
}

/*
 * No more bytes come to the reader's memory: a reader that has some is woken, another one has its
 * memory back.  Any context, the pipe locked.
 */
void sdp_land_drop(struct sdp_pipe *pipe)
{
	struct sdp_landing *land = pipe->landing;

	if (!land)
		return;
	pipe->landing = NULL;
	if (land->done)
		sdp_pipe_wake_rx(pipe);
	else
		sdp_land_unpin(land);
}

/*
 * Ends what sdp_land_offer() began.  Returns how many bytes have come; @to is behind them.  Process
 * context; the caller is the reader.
 */
size_t sdp_land_take(struct sdp_pipe *pipe, struct sdp_landing *land, struct iov_iter *to)
{
	spin_lock_bh(&pipe->lock);
	if (pipe->landing == land)
		pipe->landing = NULL;
	spin_unlock_bh(&pipe->lock);
	if (land->count)
		unpin_user_pages_dirty_lock(land->pages, land->count, land->done);
	iov_iter_advance(to, land->done);
	return land->done;
}

/* Copy to one page.  Returns bytes, 0 if none is offered, or -EFAULT for a page to fault in. */
static ssize_t sdp_land_page(struct sdp_pipe *pipe, struct iov_iter *from)
{
	struct sdp_landing *land;
	ssize_t got = 0;

	spin_lock_bh(&pipe->lock);
	land = pipe->landing;
	if (land && pipe->head == READ_ONCE(pipe->tail)) {
		unsigned int at = land->offset + land->done;
		struct page *page = land->pages[at >> PAGE_SHIFT];
		size_t n = min3(land->len - land->done, iov_iter_count(from),
				(size_t)PAGE_SIZE - offset_in_page(at));

		got = compat_copy_page_from_iter(page, offset_in_page(at), n, from);
		flush_dcache_page(page);
		WRITE_ONCE(land->done, land->done + got);
		WRITE_ONCE(pipe->landed, pipe->landed + got);
		/* The caller wakes the reader. */
		if (land->done == land->len)
			WRITE_ONCE(pipe->landing, NULL);
		got = got ?: -EFAULT;
	}
	spin_unlock_bh(&pipe->lock);
	return got;
}

/*
 * Copies bytes to where the reader waits for them, and leaves it to the caller to wake the reader.
 * The caller is the sender, its socket locked, and the direction is MOVED.  Reads from user memory.
 */
size_t sdp_land_write(struct sdp_pipe *pipe, struct iov_iter *from)
{
	size_t done = 0;
	ssize_t n;

	while (READ_ONCE(pipe->landing) && iov_iter_count(from)) {
		n = sdp_land_page(pipe, from);
		/* A page fault may take as long as it likes: the reader has to hear first. */
		if (!n || (n < 0 && (done || fault_in_iov_iter_readable(from, 1))))
			break;
		done += max_t(ssize_t, n, 0);
	}
	pipe->lands |= done >= SDP_LAND_LEAST;
	return done;
}

/*
 * A reader that waits for long has its memory back, as pages that are pinned cannot be moved or
 * swapped out.  The worker calls once in a while, the pipe locked.
 */
void sdp_land_age(struct sdp_pipe *pipe)
{
	struct sdp_landing *land = pipe->landing;

	lockdep_assert_held(&pipe->lock);
	if (land && land->old)
		sdp_land_drop(pipe);
	else if (land)
		land->old = true;
}

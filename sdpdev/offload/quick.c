// SPDX-License-Identifier: GPL-2.0
/*
 * Small messages of directions that have moved.
 *
 * To own a socket (lock_sock()) and let it go again costs more than to copy a small message.  So
 * these calls hold no more than the spinlock of a socket without an owner, copy without page
 * faults, and leave every case but the most frequent one to tx.c and rx.c, before they have
 * changed anything.
 *
 * What is copied lies within one page of the pipe, so nothing has to check that (_copy_to_iter()).
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <net/tcp.h>

#include "offload/offload.h"

/* Bytes that are copied with softirqs off, at most. */
#define SDP_QUICK_MOST	SZ_4K

/* What such a message may ask for: nothing that a pipe would have to do for it. */
#define SDP_QUICK_SEND	(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | MSG_EOR)

/* Is the next message the pipe's, without a question?  The rules are asked once a tick (move.c). */
static bool sdp_quick_may_send(const struct sdp_sock *ss, const struct sdp_pipe *pipe)
{
	return pipe->state == SDP_PIPE_MOVED && !time_after(jiffies, ss->checked) && !pipe->lands &&
	       !READ_ONCE(pipe->landing) && !READ_ONCE(pipe->stalled) &&
	       !sdp_pipe_shared(pipe) && !sdp_tx_shut(ss->sk);
}

/* Copy a message in that fits into the page that is next, and do not show it yet. */
static bool sdp_quick_put(struct sdp_pipe *pipe, struct iov_iter *from, size_t len)
{
	/* Pairs with the release of the reader: the room is the sender's again. */
	u64 head = pipe->head, used = head - smp_load_acquire(&pipe->tail);
	struct page *page;
	unsigned int at;
	size_t n;

	if (!used)
		pipe->base = head;
	page = pipe->pages[sdp_pipe_slot(pipe, head)];
	at = sdp_pipe_offset(pipe, head);
	if (!page || at + len > PAGE_SIZE || used + len > pipe->limit)
		return false;
	pagefault_disable();
	n = _copy_from_iter(page_address(page) + at, len, from);
	pagefault_enable();
	if (likely(n == len))
		return true;
	iov_iter_revert(from, n);
	return false;
}

/*
 * Sends a small message, if that is simple; false: nothing is sent.  The socket's spinlock is held,
 * without an owner, and softirqs are off.  Copies from user memory without page faults.
 */
bool sdp_quick_send(struct sdp_sock *ss, struct msghdr *msg, size_t len)
{
	struct sdp_pair *pair = ss->pair;
	struct sdp_pipe *pipe;
	bool sent;

	if (!pair || !len || len > SDP_QUICK_MOST || msg->msg_controllen ||
	    msg->msg_flags & ~SDP_QUICK_SEND)
		return false;
	pipe = sdp_tx_pipe(ss, pair);
	if (!sdp_quick_may_send(ss, pipe) || !sdp_quick_put(pipe, &msg->msg_iter, len))
		return false;
	spin_lock(&pipe->lock);
	/* A landing that is new is for what comes behind bytes that are in the pipe. */
	sent = sdp_pipe_wakes(pipe) && !pipe->landing;
	if (likely(sent)) {
		WRITE_ONCE(pipe->head, pipe->head + len);
		sdp_pipe_wake_rx(pipe);
	}
	spin_unlock(&pipe->lock);
	if (unlikely(!sent))
		iov_iter_revert(&msg->msg_iter, len);
	return sent;
}

/*
 * Copy claimed bytes out: all of them, or none where a page is to be faulted in.  A program takes
 * fewer than it asks for as a sign that there are no more.
 */
static size_t sdp_quick_get(struct sdp_pipe *pipe, struct iov_iter *to, size_t len)
{
	u64 pos = pipe->tail, end = pos + len;
	size_t got = 0, n;

	pagefault_disable();
	do {
		struct page *page = pipe->pages[sdp_pipe_slot(pipe, pos)];
		unsigned int at = sdp_pipe_offset(pipe, pos);

		n = min_t(u64, end - pos, PAGE_SIZE - at);
		got = _copy_to_iter(page_address(page) + at, n, to);
		pos += got;
	} while (got == n && pos != end);
	pagefault_enable();
	if (likely(pos == end))
		return len;
	iov_iter_revert(to, pos - pipe->tail);
	return 0;
}

/* Claim what may be, if so many bytes are not: nothing of TCP's lies between.  As in rx.c. */
static size_t sdp_quick_claim(const struct sdp_sock *ss, struct sdp_pipe *pipe, size_t len)
{
	if (pipe->claim - pipe->tail < len) {
		spin_lock(&pipe->lock);
		if (sdp_pipe_arrived(pipe, tcp_sk(ss->sk)->rcv_nxt))
			WRITE_ONCE(pipe->claim, pipe->head);
		spin_unlock(&pipe->lock);
	}
	return min_t(u64, len, pipe->claim - pipe->tail);
}

/*
 * Take what there is, with the socket's spinlock.  Returns bytes, 0 if there are none and none
 * have to be looked for elsewhere, or -EXDEV for rx.c.
 */
static ssize_t sdp_quick_take(struct sdp_sock *ss, struct iov_iter *to, size_t len)
{
	const struct tcp_sock *tp = tcp_sk(ss->sk);
	struct sdp_pair *pair = ss->pair;
	struct sdp_pipe *pipe;

	if (!pair || pair->only || tp->urg_data || tp->recvmsg_inq ||
	    READ_ONCE(ss->sk->sk_rcvlowat) > 1 || READ_ONCE(ss->sk->sk_peek_off) >= 0 ||
	    !skb_queue_empty(&ss->sk->sk_receive_queue))
		return -EXDEV;
	pipe = sdp_rx_pipe(ss, pair);
	if (pipe->state != SDP_PIPE_MOVED || sdp_pipe_shared(pipe))
		return -EXDEV;
	len = sdp_quick_claim(ss, pipe, len);
	if (!len)
		return sdp_rx_ended(ss->sk) || sdp_land_worth(ss, to, iov_iter_count(to)) ?
		       -EXDEV : 0;
	if (len > SDP_QUICK_MOST)
		return -EXDEV;
	len = sdp_quick_get(pipe, to, len);
	if (!len)
		return -EXDEV;
	/* Pairs with the acquire in sdp_pipe_write() and sdp_quick_put(). */
	smp_store_release(&pipe->tail, pipe->tail + len);
	sdp_pipe_freed(pipe);
	/* Behind its barrier, which pairs with that in sdp_share_install(): one shows the tail. */
	if (sdp_pipe_shared(pipe))
		sdp_share_read(pipe);
	ss->recent = max_t(size_t, len, ss->recent / 2);
	return len;
}

/* The same; a socket that has an owner is for rx.c. */
static ssize_t sdp_quick_try(struct sdp_sock *ss, struct iov_iter *to, size_t len)
{
	struct sock *sk = ss->sk;
	ssize_t n = -EXDEV;

	spin_lock_bh(&sk->sk_lock.slock);
	if (!sock_owned_by_user(sk))
		n = sdp_quick_take(ss, to, len);
	spin_unlock_bh(&sk->sk_lock.slock);
	return n;
}

/* Sleep until there is something to look at, under the lock. */
static void sdp_quick_sleep(struct sdp_sock *ss, long *timeo)
{
	struct sock *sk = ss->sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	/* Pairs with the barrier in sdp_pipe_told(): the sender sees this, or we its bytes. */
	smp_store_mb(ss->sleeper, SDP_SLEEPER_WAITS);
	if (!sdp_rx_more(ss, 0) && !sdp_rx_ended(sk))
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	/* Before it leaves the queue, and before it looks for bytes. */
	smp_store_mb(ss->sleeper, SDP_SLEEPER_NONE);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
}

/* Wait until there is something to look at.  A turn may take longer than a time-out. */
static void sdp_quick_wait(struct sdp_sock *ss, long *timeo)
{
	WRITE_ONCE(ss->waits, current);
	if (*timeo != MAX_SCHEDULE_TIMEOUT || !sdp_turn_give(ss))
		sdp_quick_sleep(ss, timeo);
	WRITE_ONCE(ss->waits, NULL);
}

/*
 * Receives what is in the pipe, or waits for it, if that is simple; -EXDEV: nothing is done, and
 * sdp_rx_recv() has to do it.  Waits for at most @timeo jiffies, and leaves the rest there.
 * Process context; the socket is not locked.
 */
int sdp_quick_recv(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags, long *timeo)
{
	struct sock *sk = ss->sk;
	int disconnects = READ_ONCE(sk->sk_disconnects);
	ssize_t n;

	/* Into a pipe of splice(2) older kernels would put the page itself. */
	if (!READ_ONCE(ss->pair) || !len || flags & ~MSG_DONTWAIT || msg->msg_get_inq ||
	    !user_backed_iter(&msg->msg_iter))
		return -EXDEV;
	while (!(n = sdp_quick_try(ss, &msg->msg_iter, len))) {
		if (!*timeo)
			return -EAGAIN;
		if (signal_pending(current))
			return sock_intr_errno(*timeo);
		sdp_quick_wait(ss, timeo);
		if (unlikely(READ_ONCE(sk->sk_disconnects) != disconnects))
			return -EPIPE;
	}
	return n;
}

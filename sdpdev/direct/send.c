// SPDX-License-Identifier: GPL-2.0
/*
 * Sending.  What is written waits in sk_write_queue, as messages of the peer's size at most, for
 * the channel to have room.  The last message there takes more bytes until it goes, and as long
 * as others are on their way a short one waits for more, unless the program has set TCP_NODELAY.
 *
 * The caller copies its bytes into a page first, without the lock, and then the bytes get into a
 * message: that one may have been sent meanwhile.
 */
#include <linux/mm.h>

#include "direct/direct.h"

static bool sdp_direct_has_room(struct sock *sk)
{
	return sk_wmem_alloc_get(sk) < READ_ONCE(sk->sk_sndbuf) || READ_ONCE(sk->sk_err) ||
	       READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN;
}

/* A message with @has bytes may take so many of the @left ones, or more; the lock held. */
static u32 sdp_direct_room(const struct sdp_chan *chan, u32 has, size_t left)
{
	return chan->most - has + (left <= chan->most - has + chan->tail ? chan->tail : 0);
}

/* As sdp_direct_room(), of a message that has not gone. */
static u32 sdp_direct_open(struct sock *sk, struct sk_buff *skb, size_t left)
{
	const struct sdp_chan *chan = &sdp_direct(sk)->link->chan;

	return !*sdp_direct_offers(skb) && skb_shinfo(skb)->nr_frags < MAX_SKB_FRAGS &&
	       skb->len < chan->most ? sdp_direct_room(chan, skb->len, left) : 0;
}

/* May bytes be sent?  Lock held. */
bool sdp_direct_may_send(struct sock *sk)
{
	return sk->sk_state == TCP_ESTABLISHED && sdp_direct(sk)->link &&
	       !(sk->sk_shutdown & SEND_SHUTDOWN);
}

/* How many bytes the next copy of @left may have; zero: none can be sent. */
static u32 sdp_direct_most(struct sock *sk, size_t left)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sk_buff *last;
	u32 most = 0;

	spin_lock_bh(&direct->lock);
	if (sdp_direct_may_send(sk)) {
		last = skb_peek_tail(&sk->sk_write_queue);
		most = (last ? sdp_direct_open(sk, last, left) : 0) ?:
		       sdp_direct_room(&direct->link->chan, 0, left);
	}
	spin_unlock_bh(&direct->lock);
	return most;
}

/* Copies as many of the next bytes as the page takes; how many, or a negative errno. */
static int sdp_direct_copy_in(struct sock *sk, struct page_frag *frag, struct iov_iter *from,
			      size_t most)
{
	size_t n;

	/* sk_page_frag_refill() would make sk_sndbuf small, and nothing makes it large again. */
	if (!skb_page_frag_refill(32U, frag, sk->sk_allocation))
		return -ENOBUFS;
	n = min3(most, iov_iter_count(from), (size_t)(frag->size - frag->offset));
	n = copy_page_from_iter(frag->page, frag->offset, n, from);
	return n ?: -EFAULT;
}

/* Puts the @n bytes at the page's end into the message @skb; the lock held. */
static void sdp_direct_put(struct sock *sk, struct sk_buff *skb, struct page_frag *frag, u32 n)
{
	int i = skb_shinfo(skb)->nr_frags;

	if (skb_can_coalesce(skb, i, frag->page, frag->offset)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[i - 1], n);
	} else {
		skb_fill_page_desc(skb, i, frag->page, frag->offset, n);
		get_page(frag->page);
	}
	frag->offset += n;
	skb->len += n;
	skb->data_len += n;
	skb->truesize += n;
	refcount_add(n, &sk->sk_wmem_alloc);
	sdp_direct(sk)->queued += n;
	sdp_direct(sk)->tx_bytes += n;
}

/* The last message takes the bytes, if it has not gone and has room for them. */
static bool sdp_direct_append(struct sock *sk, struct page_frag *frag, u32 n)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sk_buff *last;
	bool good;

	spin_lock_bh(&direct->lock);
	last = skb_peek_tail(&sk->sk_write_queue);
	good = last && sdp_direct_may_send(sk) && sdp_direct_open(sk, last, n) >= n;
	if (good) {
		sdp_direct_put(sk, last, frag, n);
		sdp_direct_push(sk);
	}
	spin_unlock_bh(&direct->lock);
	return good;
}

/* A new message takes them. */
static int sdp_direct_queue(struct sock *sk, struct page_frag *frag, u32 n)
{
	struct sk_buff *skb = sock_wmalloc(sk, 0, true, sk->sk_allocation);
	struct sdp_direct *direct = sdp_direct(sk);
	bool open;

	if (!skb)
		return -ENOBUFS;
	spin_lock_bh(&direct->lock);
	open = sdp_direct_may_send(sk);
	if (open) {
		sdp_direct_put(sk, skb, frag, n);
		__skb_queue_tail(&sk->sk_write_queue, skb);
		sdp_direct_push(sk);
	}
	spin_unlock_bh(&direct->lock);
	if (open)
		return 0;
	kfree_skb(skb);
	return sock_error(sk) ?: -EPIPE;
}

/* No room: a program that polls is to be woken when there is. */
static int sdp_direct_no_room(struct sock *sk)
{
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	/* It may have come before: pairs with sock_wfree(), which frees first and looks then. */
	smp_mb__after_atomic();
	return sdp_direct_has_room(sk) ? 0 : -EAGAIN;
}

/* Sends what there is room for; the mutex held, so that it never waits for the peer. */
static int sdp_direct_send(struct sock *sk, struct msghdr *msg, size_t *sent)
{
	struct page_frag *frag = sk_page_frag(sk);
	u32 most = sdp_direct_most(sk, 0);
	int n, err;

	if (!most)
		return sock_error(sk) ?: -EPIPE;
	while (msg_data_left(msg)) {
		err = sdp_direct_has_room(sk) ? 0 : sdp_direct_no_room(sk);
		if (err)
			return err;
		most = sdp_direct_most(sk, msg_data_left(msg));
		if (!most)
			return sock_error(sk) ?: -EPIPE;
		n = sdp_direct_copy_in(sk, frag, &msg->msg_iter, most);
		if (n < 0)
			return n;
		err = sdp_direct_append(sk, frag, n) ? 0 : sdp_direct_queue(sk, frag, n);
		if (err)
			return err;
		*sent += n;
	}
	return 0;
}

/* Sends all of it.  Others may write while this one waits for room. */
static int sdp_direct_send_all(struct sock *sk, struct msghdr *msg, size_t *sent, long timeo)
{
	struct sdp_direct *direct = sdp_direct(sk);
	size_t n;
	int err;

	for (;;) {
		n = sdp_direct_lend(sk, msg, &timeo);
		*sent += n;
		if (n)
			continue;
		if (mutex_lock_interruptible(&direct->send))
			return sock_intr_errno(timeo);
		err = sdp_direct_send(sk, msg, sent);
		mutex_unlock(&direct->send);
		if (err != -EAGAIN || !timeo)
			return err;
		err = sdp_direct_wait(sk, &timeo, sdp_direct_has_room);
		if (err)
			return err;
	}
}

int sdp_direct_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	size_t sent = 0;
	int err = 0;

	if (msg->msg_flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (!sdp_direct_is_tried(sk))
		err = timeo ? sdp_direct_wait(sk, &timeo, sdp_direct_is_tried) : -EAGAIN;
	if (err)
		return err;
	err = sdp_direct_send_all(sk, msg, &sent, timeo);
	if (sent)
		return sent;
	if (err == -EPIPE && !(msg->msg_flags & MSG_NOSIGNAL))
		send_sig(SIGPIPE, current, 0);
	return err;
}

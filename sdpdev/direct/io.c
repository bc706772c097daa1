// SPDX-License-Identifier: GPL-2.0
/*
 * Sending and receiving.  What is written waits in sk_write_queue, as messages of the peer's
 * size, for the channel to have room; what has come waits in sk_receive_queue, and each of its
 * packets takes one of the channel's buffers.
 */
#include <asm/ioctls.h>
#include <linux/poll.h>
#include <linux/sockios.h>

#include "direct/direct.h"

/* What is so short has no page of its own. */
#define SDP_DIRECT_SHORT	SZ_1K

static bool sdp_direct_is_connected(struct sock *sk)
{
	return READ_ONCE(sk->sk_state) != TCP_SYN_SENT;
}

/* --- sending ---------------------------------------------------------------------- */

/* A packet of the next bytes of @msg, at most @most of them; or an ERR_PTR. */
static struct sk_buff *sdp_direct_packet(struct sock *sk, struct msghdr *msg, size_t most)
{
	size_t n = min(msg_data_left(msg), most);
	size_t pages = n > SDP_DIRECT_SHORT ? n : 0;
	struct sk_buff *skb;
	int err;

	skb = sock_alloc_send_pskb(sk, n - pages, pages, true, &err, PAGE_ALLOC_COSTLY_ORDER);
	if (!skb)
		return ERR_PTR(err);
	skb_put(skb, n - pages);
	skb->data_len = pages;
	skb->len = n;
	err = skb_copy_datagram_from_iter(skb, 0, &msg->msg_iter, n);
	if (!err)
		return skb;
	kfree_skb(skb);
	return ERR_PTR(err);
}

/* Sends a packet now or later. */
static int sdp_direct_queue(struct sock *sk, struct sk_buff *skb)
{
	struct sdp_direct *direct = sdp_direct(sk);
	bool open;

	spin_lock_bh(&direct->lock);
	open = sk->sk_state == TCP_ESTABLISHED && !(sk->sk_shutdown & SEND_SHUTDOWN);
	if (open) {
		__skb_queue_tail(&sk->sk_write_queue, skb);
		direct->tx_bytes += skb->len;
		sdp_direct_push(sk);
	}
	spin_unlock_bh(&direct->lock);
	if (open)
		return 0;
	kfree_skb(skb);
	return sock_error(sk) ?: -EPIPE;
}

/* How long a message may be; zero: none can be sent. */
static u32 sdp_direct_most(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	u32 most = 0;

	spin_lock_bh(&direct->lock);
	if (sk->sk_state == TCP_ESTABLISHED && direct->link &&
	    !(sk->sk_shutdown & SEND_SHUTDOWN))
		most = direct->link->chan.most;
	spin_unlock_bh(&direct->lock);
	return most;
}

/* Sends what there is room for; the mutex held, so that it never waits for the peer. */
static int sdp_direct_send(struct sock *sk, struct msghdr *msg, size_t *sent)
{
	u32 most = sdp_direct_most(sk);
	struct sk_buff *skb;
	size_t n;
	int err;

	if (!most)
		return sock_error(sk) ?: -EPIPE;
	while (msg_data_left(msg)) {
		skb = sdp_direct_packet(sk, msg, most);
		if (IS_ERR(skb))
			return PTR_ERR(skb);
		n = skb->len;
		err = sdp_direct_queue(sk, skb);
		if (err)
			return err;
		*sent += n;
	}
	return 0;
}

static bool sdp_direct_has_room(struct sock *sk)
{
	return sk_wmem_alloc_get(sk) < READ_ONCE(sk->sk_sndbuf) || READ_ONCE(sk->sk_err) ||
	       READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN;
}

/* Sends all of it.  Others may write while this one waits for room. */
static int sdp_direct_send_all(struct sock *sk, struct msghdr *msg, size_t *sent, long timeo)
{
	struct sdp_direct *direct = sdp_direct(sk);
	int err;

	for (;;) {
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

/**
 * sdp_direct_sendmsg() - struct proto_ops.sendmsg
 * @sock: the socket
 * @msg: the bytes
 * @len: how many
 */
int sdp_direct_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	size_t sent = 0;
	int err = 0;

	if (msg->msg_flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (!sdp_direct_is_connected(sk))
		err = timeo ? sdp_direct_wait(sk, &timeo, sdp_direct_is_connected) : -EAGAIN;
	if (err)
		return err;
	err = sdp_direct_send_all(sk, msg, &sent, timeo);
	if (sent)
		return sent;
	if (err == -EPIPE && !(msg->msg_flags & MSG_NOSIGNAL))
		send_sig(SIGPIPE, current, 0);
	return err;
}

/* --- receiving -------------------------------------------------------------------- */

static bool sdp_direct_is_readable(struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_receive_queue) || sk->sk_err ||
	       sk->sk_shutdown & RCV_SHUTDOWN || READ_ONCE(sk->sk_state) == TCP_CLOSE;
}

/* The packet behind @prev, or the first. */
static struct sk_buff *sdp_direct_next(struct sock *sk, struct sk_buff *prev)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sk_buff *skb;

	spin_lock_bh(&direct->lock);
	skb = prev ? skb_peek_next(prev, &sk->sk_receive_queue) : skb_peek(&sk->sk_receive_queue);
	spin_unlock_bh(&direct->lock);
	return skb;
}

/* So many bytes of the first packet have been read. */
static void sdp_direct_read(struct sock *sk, struct sk_buff *skb, u32 n)
{
	struct sdp_direct *direct = sdp_direct(sk);
	bool all;

	spin_lock_bh(&direct->lock);
	*sdp_direct_off(skb) += n;
	direct->readable -= n;
	all = *sdp_direct_off(skb) == skb->len;
	if (all) {
		__skb_unlink(skb, &sk->sk_receive_queue);
		if (direct->link)
			sdp_chan_freed(&direct->link->chan, 1);
	}
	spin_unlock_bh(&direct->lock);
	if (all)
		consume_skb(skb);
}

/* Copies what is there, at most @len bytes; how many, or a negative errno. */
static ssize_t sdp_direct_copy(struct sock *sk, struct msghdr *msg, size_t len, int flags)
{
	struct sk_buff *skb = NULL;
	ssize_t done = 0;
	u32 n, off;

	while (done < len) {
		skb = sdp_direct_next(sk, flags & MSG_PEEK ? skb : NULL);
		if (!skb)
			break;
		off = *sdp_direct_off(skb);
		n = min_t(size_t, skb->len - off, len - done);
		if (!(flags & MSG_TRUNC) && skb_copy_datagram_msg(skb, off, msg, n))
			return done ?: -EFAULT;
		if (!(flags & MSG_PEEK))
			sdp_direct_read(sk, skb, n);
		done += n;
	}
	return done;
}

/* Why there is nothing to be read: zero at the end of the stream; or one: there may be. */
static int sdp_direct_nothing(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	int err = 1;

	/* The last bytes and the end come together. */
	spin_lock_bh(&direct->lock);
	if (!skb_queue_empty(&sk->sk_receive_queue))
		goto out;
	/* As with TCP: all that there is has been read, whatever came of it later. */
	if (direct->fin_came)
		err = 0;
	else if (sk->sk_err)
		err = sock_error(sk);
	else if (sk->sk_shutdown & RCV_SHUTDOWN)
		err = 0;
	else if (sk->sk_state != TCP_ESTABLISHED)
		err = -ENOTCONN;
out:
	spin_unlock_bh(&direct->lock);
	return err;
}

static ssize_t sdp_direct_receive(struct sock *sk, struct msghdr *msg, size_t len, int flags,
				  long *timeo)
{
	struct sdp_direct *direct = sdp_direct(sk);
	size_t target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	ssize_t n, done = 0;
	int err;

	for (;;) {
		if (mutex_lock_interruptible(&direct->receive))
			return done ?: -ERESTARTSYS;
		n = sdp_direct_copy(sk, msg, len - done, flags);
		mutex_unlock(&direct->receive);
		if (n < 0)
			return done ?: n;
		done += n;
		if (done >= target || (done && flags & MSG_PEEK))
			return done;
		/* As with TCP, a read of nothing waits for bytes and leaves them there. */
		if (!len && !skb_queue_empty_lockless(&sk->sk_receive_queue))
			return 0;
		err = done && sk->sk_err ? 0 : sdp_direct_nothing(sk);
		if (err <= 0)
			return done ?: err;
		err = *timeo ? sdp_direct_wait(sk, timeo, sdp_direct_is_readable) : -EAGAIN;
		if (err)
			return done ?: err;
	}
}

/**
 * sdp_direct_recvmsg() - struct proto_ops.recvmsg
 * @sock: the socket
 * @msg: where to
 * @len: bytes, at most
 * @flags: MSG_*
 */
int sdp_direct_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = sock->sk;
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	int err = 0;

	msg->msg_namelen = 0;
	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;
	if (!sdp_direct_is_connected(sk))
		err = timeo ? sdp_direct_wait(sk, &timeo, sdp_direct_is_connected) : -EAGAIN;
	return err ?: sdp_direct_receive(sk, msg, len, flags, &timeo);
}

/* --- polling ---------------------------------------------------------------------- */

static __poll_t sdp_direct_writable(struct sock *sk)
{
	if (READ_ONCE(sk->sk_state) == TCP_SYN_SENT)
		return 0;
	if (sk->sk_shutdown & SEND_SHUTDOWN || sock_writeable(sk))
		return EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	/* It may have become so before. */
	smp_mb__after_atomic();
	return sock_writeable(sk) ? EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND : 0;
}

/**
 * sdp_direct_poll() - struct proto_ops.poll
 * @file: of the socket
 * @sock: the socket
 * @wait: who polls
 */
__poll_t sdp_direct_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	struct sock *sk = sock->sk;
	u8 state, shutdown;
	__poll_t mask = 0;

	sock_poll_wait(file, sock, wait);
	state = READ_ONCE(sk->sk_state);
	if (state == TCP_LISTEN)
		return list_empty_careful(&sdp_direct(sk)->children) ? 0 : EPOLLIN | EPOLLRDNORM;
	shutdown = READ_ONCE(sk->sk_shutdown);
	if (shutdown == SHUTDOWN_MASK || state == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shutdown & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	/* Pairs with the barrier in sdp_direct_ended(). */
	smp_rmb();
	if (READ_ONCE(sk->sk_err))
		mask |= EPOLLERR;
	if (!skb_queue_empty_lockless(&sk->sk_receive_queue))
		mask |= EPOLLIN | EPOLLRDNORM;
	return mask | sdp_direct_writable(sk);
}

/**
 * sdp_direct_ioctl() - struct proto_ops.ioctl
 * @sock: the socket
 * @cmd: SIOCINQ or SIOCOUTQ
 * @arg: where the answer goes
 */
int sdp_direct_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct sock *sk = sock->sk;
	int n;

	switch (cmd) {
	case SIOCINQ:
		n = READ_ONCE(sdp_direct(sk)->readable);
		break;
	case SIOCOUTQ:
		n = sk_wmem_alloc_get(sk);
		break;
	default:
		return -ENOIOCTLCMD;
	}
	return put_user(n, (int __user *)arg);
}

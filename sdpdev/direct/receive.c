// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving.  What has come waits in sk_receive_queue, and each of its packets takes one of the
 * channel's buffers.
 */
#include <linux/wait.h>

#include "direct/direct.h"

/* Are there so many bytes, or will there be no more before some are read? */
static bool sdp_direct_has(struct sock *sk, u32 bytes)
{
	return sdp_direct_ready(sk, bytes) || READ_ONCE(sk->sk_err) ||
	       READ_ONCE(sdp_direct(sk)->sink.state) == SDP_SINK_OFFERED ||
	       READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN ||
	       READ_ONCE(sk->sk_state) == TCP_CLOSE;
}

/* As sdp_direct_wait(), for bytes. */
static int sdp_direct_wait_for(struct sock *sk, long *timeo, u32 bytes)
{
	long left = wait_event_interruptible_timeout(*sk_sleep(sk), sdp_direct_has(sk, bytes),
						     *timeo);

	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return left ? 0 : -EAGAIN;
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

	/* A peek copies all at once: a caller that wants more waits before. */
	if (flags & MSG_PEEK && target > 1 && *timeo)
		while (!sdp_direct_wait_for(sk, timeo, min_t(size_t, target, INT_MAX)) &&
		       sdp_direct_decline(sk))
			;
	for (;;) {
		if (mutex_lock_interruptible(&direct->receive))
			return done ?: -ERESTARTSYS;
		n = sdp_direct_copy(sk, msg, len - done, flags);
		if (n >= 0 && done + n < len)
			n += sdp_direct_fetch(sk, msg, len - done - n,
					      *timeo && !(flags & (MSG_PEEK | MSG_TRUNC)),
					      done + n < target);
		mutex_unlock(&direct->receive);
		if (n < 0)
			return done ?: n;
		done += n;
		if (done >= target || (done && flags & MSG_PEEK))
			return done;
		/*
		 * As with TCP, a read of nothing waits for bytes and leaves them there, be it
		 * with the peer.
		 */
		if (!len && (sdp_direct_ready(sk, 1) ||
			     READ_ONCE(direct->sink.state) == SDP_SINK_OFFERED))
			return 0;
		err = done && sk->sk_err ? 0 : sdp_direct_nothing(sk);
		if (err <= 0)
			return done ?: err;
		n = *timeo && !(flags & (MSG_PEEK | MSG_TRUNC)) ?
		    sdp_direct_invite(sk, msg, len - done, timeo) : 0;
		done += n;
		if (done >= target)
			return done;
		if (n)
			continue;
		sdp_direct_decline_unread(sk);
		err = *timeo ? sdp_direct_wait_for(sk, timeo, 1) : -EAGAIN;
		if (err)
			return done ?: err;
	}
}

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
	if (!sdp_direct_is_tried(sk))
		err = timeo ? sdp_direct_wait(sk, &timeo, sdp_direct_is_tried) : -EAGAIN;
	return err ?: sdp_direct_receive(sk, msg, len, flags, &timeo);
}

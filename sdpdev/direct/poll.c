// SPDX-License-Identifier: GPL-2.0
/*
 * What a program may ask without reading or writing.
 */
#include <asm/ioctls.h>
#include <linux/poll.h>
#include <linux/sockios.h>

#include "direct/direct.h"

/*
 * Are there so many bytes to be read?  Those that there are suffice if the peer cannot send before
 * some are read.
 */
bool sdp_direct_ready(struct sock *sk, u32 bytes)
{
	struct sdp_direct *direct = sdp_direct(sk);
	u32 readable = READ_ONCE(direct->readable);
	bool full;

	if (!readable || readable >= bytes)
		return readable;
	spin_lock_bh(&direct->lock);
	full = !direct->link || sdp_chan_full(&direct->link->chan);
	spin_unlock_bh(&direct->lock);
	return full;
}

int sdp_direct_set_rcvlowat(struct sock *sk, int val)
{
	WRITE_ONCE(sk->sk_rcvlowat, val ?: 1);
	/* Fewer than before may be enough. */
	sk->sk_data_ready(sk);
	return 0;
}

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
	if (sdp_direct_ready(sk, sock_rcvlowat(sk, 0, INT_MAX)))
		mask |= EPOLLIN | EPOLLRDNORM;
	else
		/* Bytes that the peer offers are none to be read yet: it sends them. */
		sdp_direct_decline(sk);
	return mask | sdp_direct_writable(sk);
}

/* Bytes that were written, and that the peer does not have; lock held. */
u32 sdp_direct_unsent(struct sdp_direct *direct)
{
	return direct->queued + (direct->link ? sdp_chan_unsent(&direct->link->chan) : 0);
}

/*
 * SIOCOUTQ: bytes that the peer does not have; SIOCOUTQNSD: of them, those that the transport does
 * not have, either.
 */
int sdp_direct_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct sock *sk = sock->sk;
	struct sdp_direct *direct = sdp_direct(sk);
	int n;

	if (cmd != SIOCINQ && cmd != SIOCOUTQ && cmd != SIOCOUTQNSD)
		return -ENOIOCTLCMD;
	if (READ_ONCE(sk->sk_state) == TCP_LISTEN)
		return -EINVAL;
	spin_lock_bh(&direct->lock);
	switch (cmd) {
	case SIOCINQ:
		n = direct->readable;
		break;
	case SIOCOUTQ:
		n = sdp_direct_unsent(direct);
		break;
	default:
		n = direct->queued;
		break;
	}
	spin_unlock_bh(&direct->lock);
	return put_user(n, (int __user *)arg);
}

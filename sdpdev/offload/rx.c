// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving half: bytes come from TCP's queue and from a pipe, and this is their order:
 *
 *	1. what has been claimed of the pipe
 *	2. what is in TCP's queue
 *	3. what is in the pipe, if TCP has delivered all that was sent before the direction moved
 *
 * Nothing is claimed before the reader has read TCP's queue to that point.  So what TCP delivers
 * after a claim comes behind it: the sender returned it later (tx.c).
 *
 * A reader does not sleep in TCP's own recvmsg, where it would not see that the direction moves.
 * For the few calls that have to, the sender waits (sdp_sock.in_tcp).
 */
#include <linux/sched/signal.h>
#include <net/tcp.h>

#include "offload/offload.h"

/* What an actor of tcp_read_sock() is told. */
struct sdp_rx_copy {
	struct iov_iter *to;
	int err;
};

static struct sdp_pipe *sdp_rx_here(const struct sdp_sock *ss)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);

	return pair ? sdp_rx_pipe(ss, pair) : NULL;
}

/**
 * sdp_rx_queued() - bytes to read that do not come by TCP
 * @ss: the endpoint
 *
 * Context: any, within an RCU read section or with the socket locked.
 */
size_t sdp_rx_queued(const struct sdp_sock *ss)
{
	struct sdp_pipe *pipe = sdp_rx_here(ss);

	return pipe ? sdp_pipe_queued(pipe, READ_ONCE(tcp_sk(ss->sk)->rcv_nxt)) : 0;
}

/* Does TCP have all that there is to read, and what comes next? */
static bool sdp_rx_by_tcp(struct sdp_sock *ss)
{
	struct sdp_pipe *pipe;
	bool ret;

	rcu_read_lock();
	pipe = sdp_rx_here(ss);
	ret = !pipe || (READ_ONCE(pipe->state) != SDP_PIPE_MOVED && !sdp_rx_queued(ss));
	rcu_read_unlock();
	return ret;
}

/**
 * sdp_rx_enter_tcp() - go to sleep in TCP's own reading, if that is where the bytes come from
 * @ss: the endpoint
 *
 * Return: false if they do not.  Otherwise the direction does not move before
 * sdp_rx_leave_tcp().
 */
bool sdp_rx_enter_tcp(struct sdp_sock *ss)
{
	atomic_inc(&ss->in_tcp);
	/* Pairs with the barrier in sdp_tx_try(): one of both sees the other. */
	smp_mb__after_atomic();
	if (sdp_rx_by_tcp(ss))
		return true;
	atomic_dec(&ss->in_tcp);
	return false;
}

void sdp_rx_leave_tcp(struct sdp_sock *ss)
{
	atomic_dec(&ss->in_tcp);
}

static bool sdp_rx_ended(const struct sock *sk)
{
	return READ_ONCE(sk->sk_err) || (READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN) ||
	       READ_ONCE(sk->sk_state) == TCP_CLOSE || sock_flag(sk, SOCK_DONE);
}

/* Are there more than @have bytes to read?  Without the lock a guess, which wakes once too often. */
static bool sdp_rx_more(struct sdp_sock *ss, size_t have)
{
	const struct tcp_sock *tp = tcp_sk(ss->sk);
	size_t queued;

	rcu_read_lock();
	queued = (u32)(READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq)) + sdp_rx_queued(ss);
	rcu_read_unlock();
	return queued > have;
}

/*
 * Sleep until there are more than @have bytes to read, or an end, or the time is over.  Returns
 * -errno for a signal, or when the socket was disconnected meanwhile.
 */
static int sdp_rx_wait(struct sdp_sock *ss, size_t have, long *timeo)
{
	struct sock *sk = ss->sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int ret;

	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	ret = sk_wait_event(sk, timeo, sdp_rx_more(ss, have) || sdp_rx_ended(sk), &wait);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
	return ret < 0 ? ret : 0;
}

static int sdp_rx_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset,
			size_t len)
{
	struct sdp_rx_copy *copy = desc->arg.data;

	len = min(len, desc->count);
	if (copy->to)
		copy->err = skb_copy_datagram_iter(skb, offset, copy->to, len);
	if (copy->err)
		return 0;
	desc->count -= len;
	return len;
}

/* Read what TCP has, without its recvmsg, which would release the lock before it looks. */
static ssize_t sdp_rx_tcp(struct sock *sk, struct iov_iter *to, size_t len)
{
	struct sdp_rx_copy copy = { .to = to };
	read_descriptor_t desc = { .arg.data = &copy, .count = len };
	int n = tcp_read_sock(sk, &desc, sdp_rx_actor);

	return n ?: copy.err;
}

/* The next bytes, from wherever they are; 0 if there are none. */
static ssize_t sdp_rx_some(struct sdp_sock *ss, struct sdp_pipe *pipe, struct iov_iter *to,
			   size_t len)
{
	struct sock *sk = ss->sk;
	ssize_t n;

	if (pipe && pipe->claim != pipe->tail)
		return sdp_pipe_read(pipe, to, len);
	if (!skb_queue_empty(&sk->sk_receive_queue)) {
		n = sdp_rx_tcp(sk, to, len);
		if (n)
			return n;
	}
	return pipe && sdp_pipe_claim(pipe) ? sdp_pipe_read(pipe, to, len) : 0;
}

/* Copy bytes of TCP's queue that stay in; @skip of it have been looked at. */
static ssize_t sdp_rx_peek_tcp(struct sock *sk, size_t skip, struct iov_iter *to, size_t len)
{
	u32 seq = tcp_sk(sk)->copied_seq + skip;
	struct sk_buff *skb;

	skb_queue_walk(&sk->sk_receive_queue, skb) {
		u32 offset = seq - TCP_SKB_CB(skb)->seq;

		if (before(seq, TCP_SKB_CB(skb)->seq) || offset >= skb->len)
			continue;
		len = min_t(size_t, len, skb->len - offset);
		return skb_copy_datagram_iter(skb, offset, to, len) ?: len;
	}
	return 0;
}

/*
 * The next bytes behind @done of them, which stay where they are: in the order that the head of
 * this file has.
 */
static ssize_t sdp_rx_peek_some(struct sdp_sock *ss, struct sdp_pipe *pipe, size_t done,
				struct iov_iter *to, size_t len)
{
	const struct tcp_sock *tp = tcp_sk(ss->sk);
	size_t claimed = pipe ? pipe->claim - pipe->tail : 0;
	ssize_t n;

	if (done < claimed)
		return sdp_pipe_peek(pipe, pipe->tail + done, to, len);
	n = sdp_rx_peek_tcp(ss->sk, done - claimed, to, len);
	if (n || !pipe)
		return n;
	done -= (u32)(tp->rcv_nxt - tp->copied_seq);
	return sdp_pipe_peek(pipe, pipe->tail + done, to, len);
}

/* What TCP's recvmsg tells of how much is left. */
static void sdp_rx_inq(struct sdp_sock *ss, struct msghdr *msg)
{
	struct tcp_sock *tp = tcp_sk(ss->sk);

	if (tp->recvmsg_inq)
		msg->msg_get_inq = 1;
	if (!msg->msg_get_inq)
		return;
	msg->msg_inq = (u32)(tp->rcv_nxt - tp->copied_seq) + sdp_rx_queued(ss);
	if (!msg->msg_inq && sock_flag(ss->sk, SOCK_DONE))
		msg->msg_inq = 1;
	if (tp->recvmsg_inq)
		put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(msg->msg_inq), &msg->msg_inq);
}

/*
 * Read from wherever the bytes come, behind @done of them, and wait for more.  Returns bytes
 * read; -errno without bytes; 0 if TCP's own recvmsg has to say what there is: the end, an
 * error, urgent data.
 */
static int sdp_rx_locked(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags,
			 size_t done, long *timeo)
{
	size_t target = sock_rcvlowat(ss->sk, flags & MSG_WAITALL, len);
	struct iov_iter *to = flags & MSG_TRUNC ? NULL : &msg->msg_iter;
	struct sdp_pipe *pipe;
	ssize_t n = 0;

	/* A call for no byte at all waits for the first, too. */
	while (len ? done < len : !sdp_rx_more(ss, 0)) {
		pipe = sdp_rx_here(ss);
		if (flags & MSG_PEEK)
			n = sdp_rx_peek_some(ss, pipe, done, &msg->msg_iter, len - done);
		else
			n = sdp_rx_some(ss, pipe, to, len - done);
		if (n < 0)
			break;
		done += n;
		if (n)
			continue;
		if (done >= target || sdp_rx_ended(ss->sk) || tcp_sk(ss->sk)->urg_data)
			break;
		n = *timeo ? sdp_rx_wait(ss, flags & MSG_PEEK ? done : 0, timeo) : -EAGAIN;
		if (n < 0)
			break;
	}
	if (done)
		sdp_rx_inq(ss, msg);
	return done ?: n;
}

/* Only TCP's own recvmsg can do what this socket asks for. */
static bool sdp_rx_tcp_only(struct sdp_sock *ss)
{
	const struct sock *sk = ss->sk;

	return sock_flag(sk, SOCK_RCVTSTAMP) || READ_ONCE(sk->sk_tsflags) ||
	       READ_ONCE(sk->sk_state) == TCP_LISTEN || tcp_sk(sk)->repair ||
	       READ_ONCE(tcp_sk(sk)->urg_data);
}

static int sdp_rx_once(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags,
		       int *addr_len)
{
	struct sock *sk = ss->sk;
	typeof(sk->sk_prot->recvmsg) recvmsg = ss->base->prot->recvmsg;
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	int n;

	if (timeo && sdp_rx_tcp_only(ss) && sdp_rx_enter_tcp(ss)) {
		n = recvmsg(sk, msg, len, flags, addr_len);
		sdp_rx_leave_tcp(ss);
		return n;
	}
again:
	n = 0;
	if (sdp_rx_by_tcp(ss) && (!timeo || sdp_rx_more(ss, 0) || sdp_rx_ended(sk))) {
		n = recvmsg(sk, msg, len, flags | MSG_DONTWAIT, addr_len);
		/* But for a part, or nothing yet, of what this call waits for. */
		if (!timeo || !n || (n < 0 && n != -EAGAIN) || READ_ONCE(tcp_sk(sk)->urg_data) ||
		    n >= sock_rcvlowat(sk, flags & MSG_WAITALL, len))
			return n;
	}

	lock_sock(sk);
	if (n > 0 && flags & MSG_PEEK)
		iov_iter_revert(&msg->msg_iter, n);
	n = sdp_rx_locked(ss, msg, len, flags, n > 0 && !(flags & MSG_PEEK) ? n : 0, &timeo);
	release_sock(sk);
	if (n || (!len && !sdp_rx_ended(sk)))
		return n;

	n = recvmsg(sk, msg, len, flags | MSG_DONTWAIT, addr_len);
	if (n == -EAGAIN && timeo)
		goto again;
	return n;
}

/**
 * sdp_rx_recv() - receive from an endpoint
 * @ss: the endpoint; its socket is not locked
 * @msg: where the bytes go
 * @len: how many, at most
 * @flags: as recvmsg(2) has them
 * @addr_len: as struct proto has it
 *
 * Context: process.
 *
 * Return: bytes received, or -errno as tcp_recvmsg() has it.
 */
int sdp_rx_recv(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags, int *addr_len)
{
	int n = sdp_rx_once(ss, msg, len, flags, addr_len);

	if (n > 0 && !READ_ONCE(ss->pair) && sdp_sock_used(ss, n)) {
		lock_sock(ss->sk);
		sdp_sock_look(ss);
		release_sock(ss->sk);
	}
	return n;
}

/**
 * sdp_rx_wait_readable() - wait until there is something to read, or an end
 * @ss: the endpoint; its socket is not locked
 * @nonblock: do not wait
 *
 * Context: process.
 *
 * Return: 0, also without anything if it must not wait; or -errno.
 */
int sdp_rx_wait_readable(struct sdp_sock *ss, bool nonblock)
{
	struct sock *sk = ss->sk;
	long timeo = sock_rcvtimeo(sk, nonblock);
	int err = 0;

	if (!timeo || sdp_rx_more(ss, 0) || sdp_rx_ended(sk) || sdp_rx_tcp_only(ss))
		return 0;
	lock_sock(sk);
	while (!err && !sdp_rx_more(ss, 0) && !sdp_rx_ended(sk))
		err = timeo ? sdp_rx_wait(ss, 0, &timeo) : -EAGAIN;
	release_sock(sk);
	return err;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The sending half: bytes go to TCP or to a pipe, and come back from it by sdp_tx_return().
 *
 * A direction moves between two bytes of its stream.  The pipe remembers the sequence number at
 * which it left TCP, so that the reader takes nothing from it before TCP has delivered what came
 * before (rx.c).  The direction comes back when the sender appends to TCP's queue what the
 * reader has not claimed.
 */
#include <linux/sched/signal.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "offload/net.h"
#include "offload/offload.h"

/* Bytes of one call that TCP gets, while the direction may soon move. */
#define SDP_TX_TCP_CHUNK	SZ_256K

/* ss(8) shows the name of the ULP: where the bytes go. */
static void sdp_tx_show(struct sdp_sock *ss, const struct tcp_ulp_ops *ulp)
{
	WRITE_ONCE(inet_csk(ss->sk)->icsk_ulp_ops, ulp);
}

/*
 * TCP has delivered more than the direction had sent when it returned last.  A peer whose TCP
 * waits for bytes that this end has never sent is none.
 */
static bool sdp_tx_passed(const struct sdp_sock *ss, const struct sock *rx)
{
	u32 got = READ_ONCE(tcp_sk(rx)->rcv_nxt);

	return after(got, ss->passed) && !after(got, tcp_sk(ss->sk)->write_seq);
}

/* Let the next bytes go by the pipe, if they can. */
static bool sdp_tx_try(struct sdp_sock *ss, struct sdp_pipe *pipe)
{
	struct sock *sk = ss->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	bool moved = false;

	/* Another call sleeps in TCP with the rest of its bytes. */
	if (sk->sk_write_pending)
		return false;
	/* The gate is asked when TCP has got a message, and so at each touch. */
	ss->stay = sdp_gate(ss, true);
	if (ss->stay)
		return false;

	spin_lock_bh(&pipe->lock);
	if (!pipe->rx)
		ss->stay = SDP_STAY_CLOSED;
	else
		ss->stay = sdp_gate_peer(pipe->reader);
	/* A way back by TCP is open if it has delivered a message since the last time. */
	if (!ss->stay && pipe->state == SDP_PIPE_IDLE && sdp_tx_passed(ss, pipe->rx)) {
		WRITE_ONCE(pipe->start, tp->write_seq);
		sdp_pipe_set(pipe, SDP_PIPE_MOVED);
		/* Pairs with the barrier in sdp_rx_enter_tcp(): one of both sees the other. */
		smp_mb();
		moved = !atomic_read(&pipe->reader->in_tcp);
		if (!moved)
			sdp_pipe_set(pipe, SDP_PIPE_IDLE);
	}
	if (moved && !(pipe->rx->sk_userlocks & SOCK_RCVBUF_LOCK))
		pipe->limit = SDP_PIPE_BYTES;
	else if (moved)
		pipe->limit = clamp_t(u32, pipe->rx->sk_rcvbuf, PAGE_SIZE, SDP_PIPE_BYTES);
	spin_unlock_bh(&pipe->lock);
	if (!moved)
		return false;

	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK)
		pipe->limit = clamp_t(u32, sk->sk_sndbuf, PAGE_SIZE, pipe->limit);
	ss->moves++;
	ss->checked = jiffies;
	ss->touched = jiffies;
	sdp_tx_show(ss, ss->base->ulp_moved);
	return true;
}

/* Why a moved direction has to come back now, if it has. */
static enum sdp_stay sdp_tx_recheck(struct sdp_sock *ss, struct sdp_pipe *pipe)
{
	unsigned int touch;
	enum sdp_stay stay;

	if (!READ_ONCE(pipe->rx))
		return SDP_STAY_CLOSED;
	if (likely(ss->checked == jiffies))
		return SDP_STAY_NOT;
	ss->checked = jiffies;
	touch = READ_ONCE(sdp_net(sock_net(ss->sk))->touch);
	if (touch && time_after_eq(jiffies, ss->touched + touch * HZ))
		return SDP_STAY_TOUCH;
	stay = sdp_gate(ss, false);
	if (stay)
		return stay;
	spin_lock_bh(&pipe->lock);
	stay = pipe->rx ? sdp_gate_peer(pipe->reader) : SDP_STAY_CLOSED;
	spin_unlock_bh(&pipe->lock);
	return stay;
}

/* Append bytes of the pipe to TCP's queue; as far as it goes. */
static u64 sdp_tx_append(struct sock *sk, struct sdp_pipe *pipe, u64 pos, u64 end)
{
	while (pos != end) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
		struct kvec vec;
		int n;

		vec.iov_base = sdp_pipe_slice(pipe, pos, end, &vec.iov_len);
		if (pos + vec.iov_len != end)
			msg.msg_flags |= MSG_MORE;
		iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, vec.iov_len);
		n = tcp_sendmsg_locked(sk, &msg, vec.iov_len);
		if (n <= 0)
			break;
		pos += n;
	}
	return pos;
}

/**
 * sdp_tx_return() - bring the sending direction back to TCP
 * @ss: the endpoint, its socket locked
 * @why: the reason
 *
 * The one way back, for whatever reason.  TCP's queue takes all bytes whatever its limit is:
 * they were accounted for as the pipe's.
 *
 * Context: process; not after sock_orphan().
 *
 * Return: 0, or -ENOBUFS if memory was short in the middle: nothing may be sent before another
 * call has brought back the rest.
 */
int sdp_tx_return(struct sdp_sock *ss, enum sdp_stay why)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);
	struct sock *sk = ss->sk;
	int err, sndbuf;
	u64 pos, end;
	struct sdp_pipe *pipe;
	bool shut;

	if (!pair)
		return 0;
	pipe = sdp_tx_pipe(ss, pair);
	if (pipe->state != SDP_PIPE_MOVED && pipe->state != SDP_PIPE_RETURNING)
		return 0;
	ss->stay = why;
	spin_lock_bh(&pipe->lock);
	if (pipe->state == SDP_PIPE_MOVED) {
		sdp_pipe_set(pipe, SDP_PIPE_RETURNING);
		pipe->back = pipe->claim;
	}
	spin_unlock_bh(&pipe->lock);

	pos = pipe->back;
	end = pipe->head;
	if (pos != end && sk->sk_state != TCP_CLOSE) {
		/* An error that waits is the program's, and not this call's. */
		err = xchg(&sk->sk_err, 0);
		sndbuf = sk->sk_sndbuf;
		WRITE_ONCE(sk->sk_sndbuf, INT_MAX / 2);
		/* inet_shutdown() has set it before it asks the protocol. */
		shut = sk->sk_shutdown & SEND_SHUTDOWN;
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown & ~SEND_SHUTDOWN);
		pos = sdp_tx_append(sk, pipe, pos, end);
		if (shut)
			WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
		WRITE_ONCE(sk->sk_sndbuf, sndbuf);
		if (err && !sk->sk_err)
			WRITE_ONCE(sk->sk_err, err);
		pipe->back = pos;
		if (pos != end && sk->sk_state != TCP_CLOSE)
			return -ENOBUFS;
	}
	ss->passed = tcp_sk(sk)->write_seq;
	spin_lock_bh(&pipe->lock);
	WRITE_ONCE(pipe->head, pipe->claim);
	sdp_pipe_set(pipe, SDP_PIPE_IDLE);
	spin_unlock_bh(&pipe->lock);
	sdp_tx_show(ss, ss->base->ulp);
	return 0;
}

/* Bytes by TCP: at most so many that the direction may move in the middle of a long call. */
static int sdp_tx_tcp(struct sdp_sock *ss, struct msghdr *msg, size_t len)
{
	size_t rest = 0;
	int ret;

	if (ss->pair && len > SDP_TX_TCP_CHUNK && !(msg->msg_flags & MSG_ZEROCOPY)) {
		rest = len - SDP_TX_TCP_CHUNK;
		iov_iter_truncate(&msg->msg_iter, SDP_TX_TCP_CHUNK);
	}
	ret = tcp_sendmsg_locked(ss->sk, msg, len - rest);
	if (rest)
		iov_iter_reexpand(&msg->msg_iter, iov_iter_count(&msg->msg_iter) + rest);
	return ret;
}

/* A program that asked for notices of zero copy gets one: that the bytes were copied. */
static int sdp_tx_notice(struct sock *sk, const struct msghdr *msg, size_t len)
{
	struct ubuf_info *uarg;

	if (!(msg->msg_flags & MSG_ZEROCOPY) || msg->msg_ubuf || !len ||
	    !sock_flag(sk, SOCK_ZEROCOPY))
		return 0;
	uarg = msg_zerocopy_realloc(sk, len, NULL);
	if (!uarg)
		return -ENOBUFS;
	uarg_to_msgzc(uarg)->zerocopy = 0;
	net_zcopy_put(uarg);
	return 0;
}

/*
 * Wait until the pipe has room, or the direction has come back.  sk_stream_wait_memory() takes
 * room that has come meanwhile for a shortage of memory, and sleeps.
 */
static int sdp_tx_wait(struct sdp_sock *ss, struct sdp_pair *pair, long *timeo)
{
	struct sdp_pipe *pipe = sdp_tx_pipe(ss, pair);
	struct sock *sk = ss->sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	refcount_inc(&pair->refs);
	add_wait_queue(sk_sleep(sk), &wait);
	while (pipe->state == SDP_PIPE_MOVED && !sdp_pipe_has_room(pipe, 0)) {
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		err = -EPIPE;
		if (sk->sk_err || (sk->sk_shutdown & SEND_SHUTDOWN))
			break;
		err = -EAGAIN;
		if (!*timeo)
			break;
		err = sock_intr_errno(*timeo);
		if (signal_pending(current))
			break;
		err = sk_wait_event(sk, timeo, READ_ONCE(sk->sk_err) ||
				    (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN) ||
				    READ_ONCE(pipe->state) != SDP_PIPE_MOVED ||
				    sdp_pipe_has_room(pipe, 0), &wait);
		if (err < 0)
			break;
		err = 0;
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	sdp_pair_put(pair);
	return err;
}

/* Bytes by the pipe: as many as there is room for, waiting for the first. */
static ssize_t sdp_tx_piped(struct sdp_sock *ss, struct msghdr *msg, long *timeo)
{
	struct sdp_pipe *pipe = sdp_tx_pipe(ss, ss->pair);
	struct sock *sk = ss->sk;
	ssize_t n;

	if (unlikely(sk->sk_err || (sk->sk_shutdown & SEND_SHUTDOWN)))
		return -EPIPE;
	n = sdp_pipe_write(pipe, pipe->head, &msg->msg_iter, sk->sk_allocation);
	if (n > 0)
		sdp_pipe_publish(pipe, pipe->head + n);
	else if (!n && msg_data_left(msg))
		n = sdp_tx_wait(ss, ss->pair, timeo);
	return n;
}

/* May this message go by a pipe at all? */
static bool sdp_tx_plain(const struct msghdr *msg)
{
	return !msg->msg_controllen && !(msg->msg_flags & (MSG_OOB | MSG_FASTOPEN));
}

/* Make sure where the next bytes go.  Returns 1 for the pipe, 0 for TCP, or -errno. */
static int sdp_tx_direct(struct sdp_sock *ss, const struct msghdr *msg)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);
	struct sdp_pipe *pipe;
	enum sdp_stay why;

	if (!pair)
		return 0;
	pipe = sdp_tx_pipe(ss, pair);
	if (unlikely(!sdp_tx_plain(msg))) {
		why = msg->msg_flags & MSG_OOB ? SDP_STAY_URGENT : SDP_STAY_TOUCH;
		if (sdp_tx_return(ss, why))
			return -ENOBUFS;
		ss->stay = why;
		return 0;
	}
	switch (pipe->state) {
	case SDP_PIPE_MOVED:
		why = sdp_tx_recheck(ss, pipe);
		return likely(!why) ? 1 : sdp_tx_return(ss, why);
	case SDP_PIPE_RETURNING:
		return sdp_tx_return(ss, ss->stay);
	default:
		return sdp_tx_try(ss, pipe);
	}
}

/* Some bytes of a message, by whatever way they go now. */
static ssize_t sdp_tx_some(struct sdp_sock *ss, struct msghdr *msg, size_t len, long *timeo)
{
	ssize_t n = sdp_tx_direct(ss, msg);

	if (n < 0)
		return n;
	if (!n)
		return sdp_tx_tcp(ss, msg, len);
	n = sdp_tx_piped(ss, msg, timeo);
	if (n == -ENOMEM && !sdp_tx_return(ss, SDP_STAY_MEMORY))
		return sdp_tx_tcp(ss, msg, len);
	return n;
}

/**
 * sdp_tx_send() - send a message of an endpoint
 * @ss: the endpoint, its socket locked
 * @msg: the message
 * @len: its bytes
 *
 * Context: process; may release the lock while it waits for room.
 *
 * Return: bytes sent, or -errno as tcp_sendmsg() has it.
 */
int sdp_tx_send(struct sdp_sock *ss, struct msghdr *msg, size_t len)
{
	struct sock *sk = ss->sk;
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	size_t sent = 0;
	ssize_t n;

	if (!ss->pair && sdp_sock_used(ss, len))
		sdp_sock_look(ss);
	if (!ss->pair)
		return tcp_sendmsg_locked(sk, msg, len);
	do {
		n = sdp_tx_some(ss, msg, len - sent, &timeo);
		if (n < 0)
			break;
		sent += n;
		/* The next call tells the program, as with TCP. */
	} while (sent < len && !sk->sk_err && !(sk->sk_shutdown & SEND_SHUTDOWN));
	if (sent)
		return sdp_tx_notice(sk, msg, sent) ?: sent;
	return n < 0 ? sk_stream_error(sk, msg->msg_flags, n) : 0;
}

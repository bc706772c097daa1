// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving half: bytes come from TCP's queue and from a pipe, and this is their order:
 *
 *	1. what has been claimed of the pipe
 *	2. what is in TCP's queue
 *	3. what is in the pipe, if TCP has delivered all that was sent before the direction moved
 *
 * Nothing is claimed before the reader has read TCP's queue to that point.  So what TCP delivers
 * after a claim comes behind it: the sender returned it later (move.c).
 *
 * A reader does not sleep in TCP's own recvmsg, where it would not see that the direction moves.
 * For the few calls that have to, the sender waits (sdp_sock.in_tcp).
 */
#include <linux/sched/signal.h>
#include <net/tcp.h>

#include "compat.h"
#include "offload/land.h"
#include "offload/offload.h"

/* What an actor of tcp_read_sock() is told. */
struct sdp_rx_copy {
	struct iov_iter *to;
	int err;
};

static struct sdp_pipe *sdp_sock_rx(const struct sdp_sock *ss)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);

	return pair ? sdp_rx_pipe(ss, pair) : NULL;
}

/*
 * Bytes to read that do not come by TCP.  Any context, in an RCU read section or with the socket
 * locked.
 */
size_t sdp_rx_queued(const struct sdp_sock *ss)
{
	struct sdp_pipe *pipe = sdp_sock_rx(ss);
	struct sdp_lane *lane = sdp_sock_lane(ss);

	if (unlikely(lane))
		return sdp_lane_queued(lane);
	return pipe ? sdp_pipe_queued(pipe, READ_ONCE(tcp_sk(ss->sk)->rcv_nxt)) : 0;
}

/* A program polls the endpoint.  Any context, in an RCU read section. */
void sdp_rx_watch(const struct sdp_sock *ss)
{
	struct sdp_pipe *pipe = sdp_sock_rx(ss);

	if (pipe && sdp_pipe_shared(pipe))
		sdp_share_watch(pipe, ss->sk);
}

/* Bytes in TCP's queue that the program may read. */
static u32 sdp_rx_tcp_queued(const struct sdp_sock *ss)
{
	const struct tcp_sock *tp = tcp_sk(ss->sk);
	struct sdp_lane *lane = sdp_sock_lane(ss);

	return unlikely(lane) ? sdp_lane_tcp_bytes(lane, ss->sk) :
				READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);
}

/* Does TCP have all that there is to read, and what comes next? */
static bool sdp_rx_by_tcp(struct sdp_sock *ss)
{
	struct sdp_lane *lane;
	struct sdp_pipe *pipe;
	bool ret;

	/* TCP's own functions would take its bytes without a question. */
	if (unlikely(READ_ONCE(ss->mode) == SDP_MODE_ONLY || READ_ONCE(ss->peer_only)))
		return false;
	rcu_read_lock();
	lane = sdp_sock_lane(ss);
	if (unlikely(lane)) {
		ret = sdp_lane_by_tcp(lane);
		rcu_read_unlock();
		return ret;
	}
	pipe = sdp_sock_rx(ss);
	ret = !pipe || (READ_ONCE(pipe->state) != SDP_PIPE_MOVED && !sdp_rx_queued(ss));
	rcu_read_unlock();
	return ret;
}

/* The socket is not locked; may sleep. */
void sdp_rx_leave_tcp(struct sdp_sock *ss)
{
	struct sdp_lane *lane;
	struct sdp_pair *pair;
	struct sdp_pipe *pipe;
	bool waits;

	atomic_dec(&ss->in_tcp);
	/* Pairs with the barrier in sdp_lane_take_switch(), whose lane may be new. */
	smp_mb__after_atomic();
	rcu_read_lock();
	pair = sdp_sock_pair(ss);
	/* A sender whose first bytes may not go by TCP has waited for that. */
	if (unlikely(pair && pair->only)) {
		pipe = sdp_rx_pipe(ss, pair);
		spin_lock_bh(&pipe->lock);
		sdp_pipe_wake_tx(pipe);
		spin_unlock_bh(&pipe->lock);
	}
	rcu_read_unlock();
	if (likely(!READ_ONCE(ss->lane)))
		return;
	rcu_read_lock();
	lane = sdp_sock_lane(ss);
	waits = lane && sdp_lane_waits(lane);
	rcu_read_unlock();
	if (waits)
		sdp_lane_kick(ss);
}

/*
 * A call goes into TCP's own reading, if the bytes come from there; false if not.  The direction
 * does not move before sdp_rx_leave_tcp().
 */
bool sdp_rx_enter_tcp(struct sdp_sock *ss)
{
	atomic_inc(&ss->in_tcp);
	/* Pairs with sdp_tx_try() and sdp_lane_take_switch(): one of both sees the other. */
	smp_mb__after_atomic();
	if (sdp_rx_by_tcp(ss))
		return true;
	sdp_rx_leave_tcp(ss);
	return false;
}

/* The program reads no more, and calls tell it so.  The socket is locked and shut down. */
void sdp_rx_shut(struct sdp_sock *ss)
{
	struct sdp_pipe *pipe = sdp_sock_rx(ss);

	if (pipe && sdp_pipe_shared(pipe))
		sdp_share_begin_read(pipe);
}

/*
 * What comes from here on comes by TCP.  The program can still read what has come, unless TCP has
 * bytes that lie before it: then the sender brings it back.  The socket is locked.
 */
void sdp_rx_stop(struct sdp_sock *ss)
{
	struct sdp_pipe *pipe = sdp_sock_rx(ss);

	/* The peer comes back, and is told as by TCP. */
	if (ss->lane)
		sdp_lane_stop(ss->lane);
	if (!pipe)
		return;
	if (skb_queue_empty(&ss->sk->sk_receive_queue))
		sdp_pipe_claim(pipe);
	sdp_pipe_detach_rx(pipe);
}

bool sdp_rx_ended(const struct sock *sk)
{
	return READ_ONCE(sk->sk_err) || (READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN) ||
	       READ_ONCE(sk->sk_state) == TCP_CLOSE || sock_flag(sk, SOCK_DONE);
}

/* Are there more than @have bytes to read?  Any context; without the socket's lock a guess. */
bool sdp_rx_more(struct sdp_sock *ss, size_t have)
{
	size_t queued;

	rcu_read_lock();
	queued = sdp_rx_tcp_queued(ss) + sdp_rx_queued(ss);
	rcu_read_unlock();
	return queued > have;
}

/*
 * Sleep until there are more than @have bytes to read, or some have landed, or an end, or the
 * time is over.  Returns -errno for a signal, or when the socket was disconnected meanwhile.
 */
static int sdp_rx_wait(struct sdp_sock *ss, size_t have, const struct sdp_landing *land,
		       long *timeo)
{
	struct sdp_pipe *pipe = sdp_sock_rx(ss);
	struct sock *sk = ss->sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int ret;

	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	/* There may be bytes, and not enough. */
	if (pipe && sdp_pipe_shared(pipe))
		sdp_share_want_data(pipe);
	ret = sk_wait_event(sk, timeo,
			    (land && READ_ONCE(land->done)) || sdp_rx_more(ss, have) ||
			    sdp_rx_ended(sk), &wait);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
	return min(ret, 0);
}

/* Sleep, and let the sender copy to the program's memory: @done counts the bytes. */
static int sdp_rx_wait_landing(struct sdp_sock *ss, struct iov_iter *to, size_t len, size_t *done,
			       long *timeo)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);
	struct sdp_pipe *pipe = sdp_rx_pipe(ss, pair);
	struct sdp_landing land;
	int err;

	refcount_inc(&pair->refs);
	sdp_land_offer(pipe, &land, to, len);
	err = sdp_rx_wait(ss, 0, &land, timeo);
	*done += sdp_land_take(pipe, &land, to);
	sdp_pair_put(pair);
	return err;
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
ssize_t sdp_rx_tcp(struct sock *sk, struct iov_iter *to, size_t len)
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

	if (unlikely(ss->lane))
		return sdp_lane_read(ss, to, len);
	if (pipe && pipe->claim != pipe->tail)
		return sdp_pipe_read(pipe, to, len);
	if (!skb_queue_empty(&sk->sk_receive_queue)) {
		n = sdp_rx_tcp(sk, to, len);
		/* It stops at urgent data. */
		if (n || tcp_sk(sk)->urg_data)
			return n;
	}
	return pipe && sdp_pipe_claim(pipe) ? sdp_pipe_read(pipe, to, len) : 0;
}

/* Copy bytes of TCP's queue that stay in; @skip of it have been looked at. */
ssize_t sdp_rx_peek_tcp(struct sock *sk, size_t skip, struct iov_iter *to, size_t len)
{
	u32 seq = tcp_sk(sk)->copied_seq + skip;
	struct sk_buff *skb;

	skb_queue_walk(&sk->sk_receive_queue, skb) {
		u32 offset = seq - TCP_SKB_CB(skb)->seq;

		if (before(seq, TCP_SKB_CB(skb)->seq) || offset >= skb->len)
			continue;
		len = min_t(size_t, len, skb->len - offset);
		return (to ? skb_copy_datagram_iter(skb, offset, to, len) : 0) ?: len;
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
	u32 queued = pipe && pipe->only ? 0 : tp->rcv_nxt - tp->copied_seq;
	ssize_t n;

	if (unlikely(ss->lane))
		return sdp_lane_peek(ss, done, to, len);
	if (done < claimed)
		return sdp_pipe_peek(pipe, pipe->tail + done, to, len);
	n = sdp_rx_peek_tcp(ss->sk, done - claimed, to, len);
	/* A FIN counts as queued, and nothing comes behind it. */
	if (n || !pipe || done < claimed + queued)
		return n;
	return sdp_pipe_peek(pipe, pipe->tail + done - queued, to, len);
}

/* What TCP's recvmsg tells of how much is left.  The socket is not locked. */
static void sdp_rx_inq(struct sdp_sock *ss, struct msghdr *msg)
{
	struct tcp_sock *tp = tcp_sk(ss->sk);

	if (tp->recvmsg_inq)
		msg->msg_get_inq = 1;
	if (!msg->msg_get_inq)
		return;
	/* Another reader may be between TCP's bytes and the pipe's. */
	lock_sock(ss->sk);
	msg->msg_inq = sdp_rx_tcp_queued(ss) + sdp_rx_queued(ss);
	release_sock(ss->sk);
	if (!msg->msg_inq && sock_flag(ss->sk, SOCK_DONE))
		msg->msg_inq = 1;
	if (tp->recvmsg_inq)
		put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(msg->msg_inq), &msg->msg_inq);
}

/* What a read tells that finds nothing more: as tcp_recvmsg() has it, and in its order. */
static int sdp_rx_end(struct sock *sk)
{
	if (sock_flag(sk, SOCK_DONE))
		return 0;
	if (sk->sk_err)
		return sock_error(sk);
	if (sk->sk_shutdown & RCV_SHUTDOWN)
		return 0;
	return sk->sk_state == TCP_CLOSE || sk->sk_state == TCP_LISTEN ? -ENOTCONN : -EAGAIN;
}

/* What only TCP's own recvmsg does right. */
static bool sdp_rx_tcp_only(struct sdp_sock *ss)
{
	const struct sock *sk = ss->sk;

	return READ_ONCE(tcp_sk(sk)->urg_data) || tcp_sk(sk)->repair ||
	       READ_ONCE(sk->sk_state) == TCP_LISTEN || sock_flag(sk, SOCK_RCVTSTAMP) ||
	       READ_ONCE(sk->sk_tsflags) || READ_ONCE(sk->sk_peek_off) >= 0;
}

/*
 * Read from wherever the bytes come, behind @done of them, and wait for more.  Returns bytes
 * read, 0 at the end, or -errno; -EXDEV if TCP's own recvmsg has to be asked.
 */
static int sdp_rx_locked(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags,
			 size_t done, long *timeo)
{
	size_t target = sock_rcvlowat(ss->sk, flags & MSG_WAITALL, len);
	struct iov_iter *to = flags & MSG_TRUNC ? NULL : &msg->msg_iter;
	/* SO_PEEK_OFF, where TCP has it: bytes that a look passes over. */
	size_t off = flags & MSG_PEEK ? max(sk_peek_offset(ss->sk, flags), 0) : 0;
	size_t before = done;
	struct sdp_pipe *pipe;
	ssize_t n = 0;

	/* A call for no byte at all waits for the first, too. */
	while (len ? done < len : !sdp_rx_more(ss, 0)) {
		/* Another thread may have opened the ring while this one slept. */
		pipe = sdp_sock_rx(ss);
		if (pipe && sdp_pipe_shared(pipe))
			sdp_share_begin_read(pipe);
		if (unlikely(sdp_only(ss)) && sdp_only_came(ss)) {
			sdp_only_end(ss, SDP_STAY_ONLY);
			n = done ? 0 : sock_error(ss->sk);
			break;
		}
		n = -EXDEV;
		if (unlikely(READ_ONCE(tcp_sk(ss->sk)->urg_data)) && sdp_rx_by_tcp(ss) &&
		    (sdp_rx_more(ss, 0) || sdp_rx_ended(ss->sk)))
			break;
		pipe = sdp_sock_rx(ss);
		n = flags & MSG_PEEK ? sdp_rx_peek_some(ss, pipe, off + done, to, len - done) :
				       sdp_rx_some(ss, pipe, to, len - done);
		if (n < 0)
			break;
		done += n;
		if (n)
			continue;
		if (done >= target)
			break;
		n = sdp_rx_ended(ss->sk) && !done ? sdp_rx_end(ss->sk) : -EAGAIN;
		if (sdp_rx_ended(ss->sk) || !*timeo)
			break;
		if (to && !(flags & MSG_PEEK) && sdp_land_worth(ss, to, len - done))
			n = sdp_rx_wait_landing(ss, to, len - done, &done, timeo);
		else
			n = sdp_rx_wait(ss, flags & MSG_PEEK ? off + done : 0, NULL, timeo);
		if (n < 0 && ss->ended && !done)
			n = sock_error(ss->sk) ?: n;
		if (n < 0)
			break;
	}
	pipe = sdp_sock_rx(ss);
	if (pipe && sdp_pipe_shared(pipe))
		sdp_share_end_read(pipe);
	if (flags & MSG_PEEK)
		sk_peek_offset_fwd(ss->sk, done);
	else
		sk_peek_offset_bwd(ss->sk, done - before);
	ss->recent = max_t(size_t, done, ss->recent / 2);
	return done ?: n;
}

/*
 * Bytes that come by TCP are read by TCP's own recvmsg, which sleeps only where nothing else does
 * right.  Returns -EXDEV if they do not come by TCP, or if there are not enough yet and the call
 * may wait: *done has those that were read.  A call that has waited @before does not sleep in TCP,
 * which would count its time anew.
 */
static int sdp_rx_by_recvmsg(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags,
			     int *addr_len, size_t *done, bool before)
{
	struct sock *sk = ss->sk;
	bool wait = !(flags & MSG_DONTWAIT);
	const struct msghdr was = *msg;
	int n;

	if (!sdp_rx_enter_tcp(ss))
		return -EXDEV;
	if (wait && (before || !sdp_rx_tcp_only(ss))) {
		n = -EAGAIN;
		if (sdp_rx_more(ss, 0) || sdp_rx_ended(sk))
			n = compat_recvmsg(ss->base->prot, sk, msg, len,
					   flags | MSG_DONTWAIT, addr_len);
	} else {
		n = compat_recvmsg(ss->base->prot, sk, msg, len, flags, addr_len);
		wait = false;
	}
	sdp_rx_leave_tcp(ss);
	if (!wait || (n < 0 && n != -EAGAIN) || !n ||
	    (n > 0 && READ_ONCE(tcp_sk(sk)->urg_data)) ||
	    n >= sock_rcvlowat(sk, flags & MSG_WAITALL, len))
		return n;
	/* What is left is told at the end of the call, and once. */
	msg->msg_control = was.msg_control;
	msg->msg_controllen = was.msg_controllen;
	msg->msg_flags = was.msg_flags;
	if (n > 0 && flags & MSG_PEEK) {
		/* All of it is looked at anew. */
		sk_peek_offset_bwd(sk, n);
		if (!(flags & MSG_TRUNC))
			iov_iter_revert(&msg->msg_iter, n);
		n = 0;
	}
	*done = max(n, 0);
	return -EXDEV;
}

/*
 * Sleep once before the socket is locked, which saves taking its lock twice, and lock it.  What
 * woke the call is looked at under the lock.  Returns whether it is the same connection still.
 */
static bool sdp_rx_wait_first(struct sdp_sock *ss, long *timeo)
{
	struct sock *sk = ss->sk;
	int disconnects = READ_ONCE(sk->sk_disconnects);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	u64 since = sdp_nap_wait(ss);

	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	if (!sdp_rx_more(ss, 0) && !sdp_rx_ended(sk) && !signal_pending(current))
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
	sdp_nap_woken(ss, since);
	lock_sock(sk);
	return sk->sk_disconnects == disconnects;
}

static int sdp_rx_once(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags,
		       int *addr_len, long timeo)
{
	struct sock *sk = ss->sk;
	/* quick.c may have waited. */
	bool waits, same, before = timeo != sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	size_t done = 0;
	int n;

	do {
		/* A look behind an urgent byte is TCP's. */
		n = sdp_rx_by_recvmsg(ss, msg, len, flags | (timeo ? 0 : MSG_DONTWAIT), addr_len,
				      &done, before && !(flags & MSG_PEEK));
		before = true;
		if (n != -EXDEV)
			return n;
		same = true;
		waits = timeo && !done && !sdp_land_worth(ss, &msg->msg_iter, len);
		if (waits)
			sdp_nap(ss);
		if (waits && !sdp_rx_more(ss, 0))
			same = sdp_rx_wait_first(ss, &timeo);
		else
			lock_sock(sk);
		if (likely(same))
			n = sdp_rx_locked(ss, msg, len, flags, done, &timeo);
		else
			n = ss->ended ? sock_error(sk) ?: -EPIPE : -EPIPE;
		release_sock(sk);
	} while (n == -EXDEV);
	/* Also at the end of the stream, as TCP's own recvmsg does. */
	if (n >= 0)
		sdp_rx_inq(ss, msg);
	return n;
}

/* Has the endpoint no other way than TCP for now? */
static bool sdp_rx_seeks(struct sdp_sock *ss)
{
	struct sdp_lane *lane;
	bool ret;

	if (READ_ONCE(ss->pair))
		return false;
	if (likely(!READ_ONCE(ss->lane)))
		return true;
	rcu_read_lock();
	lane = sdp_sock_lane(ss);
	ret = !lane || !sdp_lane_asking(lane);
	rcu_read_unlock();
	return ret;
}

/*
 * tcp_recvmsg() of an endpoint, which waits for at most @timeo jiffies.  The socket is not locked.
 */
int sdp_rx_recv(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags, int *addr_len,
		long timeo)
{
	int n = sdp_rx_once(ss, msg, len, flags, addr_len, timeo);

	if (n > 0 && sdp_rx_seeks(ss) && sdp_sock_used(ss, n)) {
		lock_sock(ss->sk);
		sdp_sock_look(ss);
		release_sock(ss->sk);
	}
	return n;
}

/*
 * Waits until there is something to read, or an end.  0 also if it must not wait, or only TCP's own
 * recvmsg can; or -errno.  Process context; the socket is not locked.
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
		err = timeo ? sdp_rx_wait(ss, 0, NULL, &timeo) : -EAGAIN;
	release_sock(sk);
	return err;
}

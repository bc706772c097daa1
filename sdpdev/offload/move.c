// SPDX-License-Identifier: GPL-2.0
/*
 * A sending direction moves to a pipe, and comes back by sdp_tx_return().
 *
 * A direction moves between two bytes of its stream.  The pipe remembers the sequence number at
 * which it left TCP, so that the reader takes nothing from it before TCP has delivered what came
 * before (rx.c).  The direction comes back when the sender appends to TCP's queue what the
 * reader has not claimed.
 */
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "offload/net.h"
#include "offload/offload.h"
#include "offload/trace.h"

/* A change of routes makes a direction pass by TCP no sooner than this after the last time. */
#define SDP_TX_CALM		HZ

/* The name of the ULP, which ss(8) shows, says where the bytes go.  The socket is locked. */
void sdp_sock_show(struct sdp_sock *ss, const struct tcp_ulp_ops *ulp)
{
	WRITE_ONCE(inet_csk(ss->sk)->icsk_ulp_ops, ulp);
}

/*
 * TCP has delivered more than the direction had sent when it returned last.  A peer whose TCP
 * waits for bytes that this end has never sent is none.  Behind a stall the program has to read
 * again, too.
 */
static bool sdp_tx_passed(const struct sdp_sock *ss, const struct sock *rx)
{
	u32 got = READ_ONCE(tcp_sk(rx)->rcv_nxt);

	if (ss->stalled && !after(READ_ONCE(tcp_sk(rx)->copied_seq), ss->passed))
		return false;
	return after(got, ss->passed) && !after(got, tcp_sk(ss->sk)->write_seq);
}

/*
 * Does TCP keep bytes back until the program sends more?  They have to go with what follows.  The
 * socket is locked.
 */
bool sdp_tx_held(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcp_send_head(sk) && (!tp->packets_out || tp->nonagle & TCP_NAGLE_CORK);
}

/*
 * A direction may send more than 2 GiB by TCP before it moves: @passed stays within what sequence
 * numbers can compare.  TCP's window is no larger than 1 GiB.  The socket is locked.
 */
void sdp_tx_follow(struct sdp_sock *ss)
{
	u32 seq = tcp_sk(ss->sk)->write_seq;

	if (seq - ss->passed > SZ_1G)
		ss->passed = seq - SZ_1G;
}

/* As many bytes as either end has asked for, if it has. */
static void sdp_tx_limit(struct sock *sk, struct sdp_pipe *pipe)
{
	u32 limit = SDP_PIPE_BYTES;

	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK)
		limit = min_t(u32, limit, READ_ONCE(sk->sk_sndbuf));
	if (pipe->rx && (pipe->rx->sk_userlocks & SOCK_RCVBUF_LOCK))
		limit = min_t(u32, limit, READ_ONCE(pipe->rx->sk_rcvbuf));
	pipe->limit = max_t(u32, limit, PAGE_SIZE);
	pipe->lands = false;
}

/* Changes with the namespace's routes, addresses, devices and policies of IPsec. */
static u32 sdp_tx_routes(const struct sock *sk)
{
	struct net *net = sock_net(sk);
	u32 routes = rt_genid_ipv4(net);

#if IS_ENABLED(CONFIG_IPV6)
	routes += atomic_read(&net->ipv6.fib6_sernum);
#endif
	return routes;
}

void sdp_tx_moved(struct sdp_sock *ss, const struct tcp_ulp_ops *ulp)
{
	ss->stalled = false;
	ss->moves++;
	sdp_count(sock_net(ss->sk), SDP_CNT_MOVED);
	trace_sdp_sock_move(ss, SDP_STAY_NOT);
	ss->checked = jiffies;
	sdp_sock_show(ss, ulp);
}

/* Bytes have gone by TCP, as all packets do: the time to the next touch counts from now. */
void sdp_tx_touched(struct sdp_sock *ss)
{
	ss->touched = jiffies;
	ss->routes = sdp_tx_routes(ss->sk);
}

/* Lets the next bytes go by the pipe, if they may; true if they do.  The socket is locked. */
bool sdp_tx_try(struct sdp_sock *ss, struct sdp_pipe *pipe)
{
	struct sock *sk = ss->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	enum sdp_stay stay;
	bool moved = false;

	sdp_tx_follow(ss);
	if (pipe->state != SDP_PIPE_IDLE || !READ_ONCE(pipe->rx) || ss->rests)
		return false;
	/* Another call sleeps in TCP with the rest of its bytes. */
	if (sk->sk_write_pending || sdp_tx_held(sk) ||
	    (sdp_pipe_shared(pipe) && sdp_share_busy(pipe))) {
		sdp_stay_set(ss, SDP_STAY_PASSING, false);
		return false;
	}
	/* The gate is asked when TCP has got a message, and so at each touch. */
	stay = sdp_gate(ss, true);
	/* The reader would take what TCP has carried for what it may not read. */
	if (!stay && pipe->only && tp->write_seq != ss->isn + 1)
		stay = SDP_STAY_ONLY;
	if (stay) {
		sdp_stay_set(ss, stay, false);
		return false;
	}
	spin_lock_bh(&pipe->lock);
	stay = pipe->rx ? sdp_gate_peer(pipe->reader) : SDP_STAY_CLOSED;
	/* A way back by TCP is open if it has delivered a message since the last time. */
	if (!stay && sdp_tx_passed(ss, pipe->rx)) {
		WRITE_ONCE(pipe->start, tp->write_seq);
		sdp_pipe_set(pipe, SDP_PIPE_MOVED);
		/* Pairs with the barrier in sdp_rx_enter_tcp(): one of both sees the other. */
		smp_mb();
		moved = !atomic_read(&pipe->reader->in_tcp);
		if (!moved)
			sdp_pipe_set(pipe, SDP_PIPE_IDLE);
	}
	if (moved) {
		pipe->stalled = false;
		sdp_tx_limit(sk, pipe);
	}
	spin_unlock_bh(&pipe->lock);
	sdp_stay_set(ss, stay || moved ? stay : SDP_STAY_PASSING, false);
	if (!moved)
		return false;

	sdp_tx_touched(ss);
	sdp_tx_moved(ss, ss->base->ulp_local);
	return true;
}

/*
 * Is a message to pass by TCP, which looks up its route anew if need be?  The gate is asked behind
 * it.  A namespace of its own does not decide how late the host's rules take effect.
 */
static bool sdp_tx_touches(struct sdp_sock *ss, unsigned int touch)
{
	return (touch && time_after_eq(jiffies, ss->touched + touch * HZ)) ||
	       (unlikely(sdp_tx_routes(ss->sk) != ss->routes) &&
		time_after_eq(jiffies, ss->touched + SDP_TX_CALM));
}

/*
 * Why has a moved direction to come back now, if it has?  @pipe is NULL if a carrier of messages
 * has it.  The rules are looked at once a tick of the clock.  The socket is locked.
 */
enum sdp_stay sdp_tx_recheck(struct sdp_sock *ss, struct sdp_pipe *pipe)
{
	unsigned int touch;
	enum sdp_stay stay;

	if (pipe && !READ_ONCE(pipe->rx))
		return SDP_STAY_CLOSED;
	if (pipe && READ_ONCE(pipe->stalled))
		return SDP_STAY_STALL;
	if (likely(!time_after(jiffies, ss->checked)))
		return SDP_STAY_NOT;
	ss->checked = jiffies;
	touch = min(READ_ONCE(sdp_net(sock_net(ss->sk))->touch),
		    READ_ONCE(sdp_net(&init_net)->touch));
	if (!(pipe ? pipe->only : sdp_only(ss)))
		stay = sdp_tx_touches(ss, touch) ? SDP_STAY_TOUCH : SDP_STAY_NOT;
	else if (touch && time_after_eq(jiffies, ss->touched + touch * HZ))
		stay = sdp_only_touch(ss, pipe, touch);
	else
		stay = SDP_STAY_NOT;
	if (stay)
		return stay;
	stay = sdp_gate(ss, false);
	if (stay || !pipe)
		return stay;
	spin_lock_bh(&pipe->lock);
	stay = pipe->rx ? sdp_gate_peer(pipe->reader) : SDP_STAY_CLOSED;
	sdp_tx_limit(ss->sk, pipe);
	spin_unlock_bh(&pipe->lock);
	return stay;
}

/*
 * Appends bytes of a return to TCP's queue, and does not wait.  Returns how many TCP has taken, or
 * -errno.  With @more others follow.  The socket is locked.
 */
int sdp_tx_feed(struct sock *sk, void *data, size_t len, bool more)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0) };
	struct kvec vec = { .iov_base = data, .iov_len = len };

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
}

/* Append bytes of the pipe to TCP's queue.  Returns whether all of them are there. */
static bool sdp_tx_append(struct sdp_sock *ss)
{
	struct sdp_pipe *pipe = sdp_tx_pipe(ss, ss->pair);

	while (pipe->back != pipe->head) {
		size_t len;
		void *data = sdp_pipe_slice(pipe, pipe->back, pipe->head, &len);
		int n = sdp_tx_feed(ss->sk, data, len, pipe->back + len != pipe->head);

		if (n <= 0)
			return false;
		pipe->back += n;
	}
	return true;
}

/*
 * TCP takes all that @append gives it: limits are lifted meanwhile, an error and a shutdown are put
 * aside.  @append tells whether that was all.  True if it was, or TCP is over.  The socket is
 * locked.
 */
bool sdp_tx_bring(struct sdp_sock *ss, bool (*append)(struct sdp_sock *ss))
{
	struct sock *sk = ss->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	bool all;
	u32 lowat = tp->notsent_lowat;
	int err, sndbuf = sk->sk_sndbuf;
	bool shut = sk->sk_shutdown & SEND_SHUTDOWN;

	if (sk->sk_state == TCP_CLOSE)
		return true;
	err = xchg(&sk->sk_err, 0);
	WRITE_ONCE(sk->sk_sndbuf, INT_MAX / 2);
	WRITE_ONCE(tp->notsent_lowat, UINT_MAX);
	/* inet_shutdown() has set it before it asks the protocol. */
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown & ~SEND_SHUTDOWN);
	all = append(ss);
	if (shut)
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	WRITE_ONCE(tp->notsent_lowat, lowat);
	WRITE_ONCE(sk->sk_sndbuf, sndbuf);
	if (err && !sk->sk_err)
		WRITE_ONCE(sk->sk_err, err);
	return all || sk->sk_state == TCP_CLOSE;
}

/*
 * The one way back to TCP.  0, or -ENOBUFS if memory was short in the middle: nothing may be sent
 * before another call has brought back the rest.  The worker of the pairs, or of the lane, makes
 * that call if no other does.  The socket is locked, in process context, and not after
 * sock_orphan().
 */
int sdp_tx_return(struct sdp_sock *ss, enum sdp_stay why)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);
	struct sock *sk = ss->sk;
	struct sdp_pipe *pipe;

	if (ss->lane)
		return sdp_lane_return(ss, why);
	if (!pair)
		return 0;
	pipe = sdp_tx_pipe(ss, pair);
	if (pipe->state != SDP_PIPE_MOVED && pipe->state != SDP_PIPE_RETURNING)
		return 0;
	sdp_stay_set(ss, why, pipe->state == SDP_PIPE_MOVED);
	ss->stalled |= why == SDP_STAY_STALL;
	spin_lock_bh(&pipe->lock);
	if (pipe->state == SDP_PIPE_MOVED) {
		if (sdp_pipe_shared(pipe))
			sdp_share_close_all(pipe);
		sdp_pipe_set(pipe, SDP_PIPE_RETURNING);
		pipe->back = pipe->claim;
	}
	spin_unlock_bh(&pipe->lock);

	if (pipe->back != pipe->head && !sdp_tx_bring(ss, sdp_tx_append))
		return -ENOBUFS;
	ss->passed = tcp_sk(sk)->write_seq;
	spin_lock_bh(&pipe->lock);
	/* A reset among the packets that came meanwhile has ended it. */
	if (pipe->state == SDP_PIPE_RETURNING) {
		WRITE_ONCE(pipe->head, pipe->claim);
		sdp_pipe_set(pipe, SDP_PIPE_IDLE);
	}
	spin_unlock_bh(&pipe->lock);
	sdp_sock_show(ss, ss->base->ulp);
	/* Calls that wait for room in the pipe. */
	sk->sk_write_space(sk);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_MODE_ONLY over carriers of messages; only.c has the rules.
 *
 * The end that connected asks, and its request says that no byte may go by TCP.  That binds the
 * other end, too.  Both ends hold their first byte back until the carrier is joined, so both
 * directions leave TCP where it begins to count.  Where a carrier is lost the ends join another
 * one, or the connection ends within net.sdp.only_wait seconds.
 *
 * TCP's FIN says nothing of bytes that go elsewhere.  So the sender says by the carrier that the
 * stream ends, behind the last byte, and TCP sends its FIN when the peer has taken that in.  A
 * connection whose stream has ended one way joins no other carrier.
 */
#include <linux/sched/signal.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "offload/avoid.h"
#include "offload/lane.h"
#include "offload/net.h"

/* A close that waits looks again after so long at the latest. */
#define SDP_ONLY_LOOK		(HZ / 10)

/* Has TCP carried no byte, either way?  The endpoint has its numbers, and its socket is locked. */
bool sdp_only_fresh(const struct sdp_sock *ss)
{
	return tcp_sk(ss->sk)->write_seq == ss->isn + 1 && !sdp_only_came(ss);
}

/* Has an endpoint a way that is not TCP's?  Any context; without the socket's lock a guess. */
bool sdp_only_ready(const struct sdp_sock *ss)
{
	const struct sdp_lane *lane;
	bool ready;

	rcu_read_lock();
	lane = sdp_sock_lane(ss);
	ready = READ_ONCE(ss->pair) || (lane && READ_ONCE(lane->ready));
	rcu_read_unlock();
	return ready;
}

/* TCP sends no bytes, so it does not look for the device by which packets would leave. */
static void sdp_only_reroute(struct sock *sk)
{
	if (!__sk_dst_check(sk, 0))
		inet_csk(sk)->icsk_af_ops->rebuild_header(sk);
}

/*
 * Looks for a way that is not TCP's; true if there is one now.  The socket is locked.  Context: any
 * that @gfp allows.
 */
bool sdp_only_find(struct sdp_sock *ss, gfp_t gfp)
{
	if (sdp_only_ready(ss))
		return true;
	if (sdp_lane_asked(ss))
		return false;
	if (!sdp_only(ss) || ss->accepted || sdp_gate(ss, true) ||
	    (ss->later && time_before(jiffies, ss->later)))
		return sdp_lane_clear(ss) && sdp_pair_join(ss, gfp);
	ss->later = 0;
	sdp_only_reroute(ss->sk);
	sdp_sock_ask(ss, gfp);
	return ss->pair;
}

/* Does an endpoint that has lost its carrier get no other one?  The socket is locked. */
bool sdp_only_over(const struct sdp_sock *ss)
{
	const struct sdp_lane *lane = ss->lane;

	return lane && !lane->carrier && (ss->moves || lane->rx.state != SDP_HALF_RX_TCP) &&
	       ss->sk->sk_state != TCP_ESTABLISHED;
}

/*
 * Has the program ended its stream, and the peer not heard of it?  The endpoint has a lane, and its
 * socket is locked.
 */
bool sdp_only_owes(const struct sdp_sock *ss)
{
	return ss->lane->fin && !ss->lane->ended;
}

/* --- sending ------------------------------------------------------------------- */

/* A moved direction, whose packets may leave elsewhere since the last touch. */
static int sdp_only_moved(struct sdp_sock *ss)
{
	unsigned long touched = ss->touched;
	enum sdp_stay why = sdp_tx_recheck(ss, NULL);

	if (unlikely(why))
		return sdp_only_end(ss, why);
	if (likely(touched == ss->touched) || sdp_lane_way(ss->lane) != SDP_STAY_ROUTE)
		return 1;
	sdp_lane_lose(ss->lane);
	return -EXFULL;
}

/* Why has a carrier that is joined not got the direction? */
static int sdp_only_left(struct sdp_sock *ss)
{
	if (ss->stay == SDP_STAY_PASSING) {
		/* A program that waits for room hears of it. */
		sdp_lane_later(ss->lane, max(HZ / 50, 1));
		return -ENOBUFS;
	}
	return sdp_only_end(ss, sdp_gate(ss, true) ?: ss->stay ?: SDP_STAY_LOST);
}

/* sdp_lane_route() where no byte may go by TCP: -ENOBUFS or -EXFULL to ask again. */
int sdp_only_route(struct sdp_sock *ss, long *timeo)
{
	struct sdp_lane *lane = ss->lane;

	if (sdp_tx_shut(ss->sk))
		return -EPIPE;
	if (lane->tx.state == SDP_HALF_TX_MOVED)
		return sdp_only_moved(ss);
	if (lane->ready && lane->tx.state == SDP_HALF_TX_TCP) {
		sdp_only_reroute(ss->sk);
		if (sdp_lane_try(lane))
			return 1;
	} else if (lane->ready && sdp_lane_again(lane)) {
		return 1;
	}
	if (lane->ready)
		return sdp_only_left(ss);
	if (sdp_only_over(ss))
		return sdp_only_end(ss, SDP_STAY_CLOSED);
	return sdp_only_hold(ss, timeo) ?: -EXFULL;
}

/* A carrier was joined where no byte may go by TCP.  Any context, the socket locked. */
void sdp_only_joined(struct sdp_lane *lane)
{
	struct sock *sk = lane->ss->sk;

	WRITE_ONCE(lane->ready, true);
	/* The worker may not have seen it before the next one is looked for. */
	lane->ss->seek_end = 0;
	/* What the last one has not brought goes on, though the program makes no call. */
	if (lane->tx.state == SDP_HALF_TX_LOOSE && !sdp_lane_again(lane)) {
		if (lane->carrier)
			lane->back = sdp_gate(lane->ss, true) ?: SDP_STAY_LOST;
		return;
	}
	/* Pairs with the barrier in tcp_poll(): one of both sees the other. */
	smp_mb();
	if (sk->sk_socket && test_bit(SOCK_NOSPACE, &sk->sk_socket->flags))
		sk->sk_write_space(sk);
}

/* --- the end of the stream ----------------------------------------------------- */

/* Has the peer bytes that it does not take for all? */
static bool sdp_only_owes_end(const struct sdp_lane *lane)
{
	switch (lane->tx.state) {
	case SDP_HALF_TX_MOVED:
		return !lane->ended;
	case SDP_HALF_TX_LOOSE:
		/* A peer that is gone needs no end. */
		return !skb_queue_empty(&lane->kept) || !sdp_only_over(lane->ss);
	default:
		return false;
	}
}

/*
 * The program sends no more.  True if TCP's FIN is to wait: the lane sees to it.  The socket is
 * locked.
 */
bool sdp_only_shut(struct sdp_sock *ss)
{
	struct sdp_lane *lane = ss->lane;

	if (!lane || !sdp_only_owes_end(lane))
		return false;
	lane->fin = true;
	sdp_lane_push(lane);
	return true;
}

/* Was the process that closes killed, or is it a thread of the kernel? */
static bool sdp_only_killed(void)
{
	return fatal_signal_pending(current) || current->flags & PF_KTHREAD ||
	       (current->flags & PF_EXITING && current->exit_code & 0x7f);
}

/*
 * Waits until the peer has all, for at most net.sdp.only_wait seconds; true if it has.  Behind a
 * close the rest could not be brought: TCP may not.  The socket is locked, in process context, but
 * not while the call waits.
 */
bool sdp_only_drain(struct sdp_sock *ss)
{
	unsigned long end = jiffies + sdp_net_only_wait(sock_net(ss->sk)) * HZ;
	struct sdp_lane *lane = ss->lane;
	struct sock *sk = ss->sk;
	bool owes;

	if (!sdp_only_shut(ss))
		return true;
	refcount_inc(&lane->refs);
	while (ss->lane == lane && sdp_only_owes_end(lane) && !sdp_only_over(ss) &&
	       !sk->sk_err && !sdp_only_killed() && time_before(jiffies, end)) {
		release_sock(sk);
		wait_event_timeout(*sk_sleep(sk), READ_ONCE(lane->ended), SDP_ONLY_LOOK);
		lock_sock(sk);
	}
	owes = ss->lane == lane && sdp_only_owes_end(lane);
	sdp_lane_put(lane);
	return !owes;
}

/* The peer has taken in that the stream ends.  Any context, the socket locked. */
void sdp_only_ended(struct sdp_lane *lane)
{
	struct socket_wq *wq;

	WRITE_ONCE(lane->ended, true);
	sdp_lane_later(lane, 0);
	rcu_read_lock();
	wq = rcu_dereference(lane->ss->sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_all(&wq->wait);
	rcu_read_unlock();
}

/* TCP's FIN may go. */
static void sdp_only_fin(struct sdp_lane *lane)
{
	struct sdp_sock *ss = lane->ss;
	struct sock *sk = ss->sk;

	if (!lane->fin || lane->tx.state == SDP_HALF_TX_FIN)
		return;
	sdp_half_tx_closed(&lane->tx);
	sdp_stay_set(ss, SDP_STAY_CLOSED, false);
	ss->base->prot->shutdown(sk, SEND_SHUTDOWN);
	sk->sk_state_change(sk);
	if (sk->sk_shutdown == SHUTDOWN_MASK)
		sdp_lane_stop(lane);
}

/* --- the work ------------------------------------------------------------------ */

/* Does the peer's kernel take nothing in?  A program that does not read is no reason. */
static bool sdp_only_silent(const struct sdp_lane *lane)
{
	const struct sk_buff *first = skb_peek(&lane->kept);

	return lane->tx.state == SDP_HALF_TX_MOVED && first && first != lane->post &&
	       sdp_lane_flies(lane) &&
	       time_after(jiffies, lane->started + sdp_lane_patience(lane->ss->sk));
}

static enum sdp_stay sdp_only_why_end(struct sdp_lane *lane)
{
	enum sdp_stay why = lane->back;

	lane->back = SDP_STAY_NOT;
	if (why || lane->tx.state != SDP_HALF_TX_MOVED || skb_queue_empty(&lane->kept))
		return why;
	/* The program may wait for room, and make no call. */
	return sdp_tx_recheck(lane->ss, NULL);
}

/*
 * The lane's work where no byte may go by TCP; the lane may lose its endpoint.  The socket is
 * locked, in process context.
 */
void sdp_only_do(struct sdp_lane *lane)
{
	enum sdp_stay why;

	lane->redo = false;
	sdp_lane_run(lane);
	sdp_lane_push(lane);
	if (lane->ended)
		sdp_only_fin(lane);
	if (lane->ready && lane->tx.state == SDP_HALF_TX_TCP)
		lane->ss->sk->sk_write_space(lane->ss->sk);
	if (lane->carrier && sdp_only_silent(lane)) {
		lane->carrier->refusal = SDP_REFUSED_UNREACHABLE;
		sdp_avoid_over(lane->ss, lane->carrier);
		sdp_lane_lose(lane);
	}
	why = sdp_only_why_end(lane);
	if (why)
		sdp_only_end(lane->ss, why);
	else if (!skb_queue_empty(&lane->kept))
		sdp_lane_later(lane, HZ);
}

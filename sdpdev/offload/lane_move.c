// SPDX-License-Identifier: GPL-2.0
/*
 * The direction that is sent goes to a carrier of messages, and comes back.
 *
 * Callers hold the lock of the endpoint's socket, in any context, unless a comment says otherwise.
 */
#include <net/tcp.h>

#include "offload/avoid.h"
#include "offload/lane.h"

/* What a socket may keep that has set no limit: a carrier is not slowed down by less. */
#define SDP_LANE_SNDBUF		SZ_512K

/* How long a touch waits for what is not acknowledged. */
#define SDP_LANE_CALM		(HZ / 20)

/* Bytes that TCP has got: a record is a part of them. */
static u64 sdp_lane_put_count(const struct sdp_sock *ss)
{
	const struct tcp_sock *tp = tcp_sk(ss->sk);

	/* The end that connected counts its SYN as acknowledged. */
	return tp->bytes_acked + (u32)(tp->write_seq - tp->snd_una) - !ss->accepted;
}

/* The ULP as ss(8) names it. */
static const struct tcp_ulp_ops *sdp_lane_ulp(const struct sdp_sock *ss)
{
	switch (ss->lane->kind) {
	case SDP_SOCK_BY_IB:
		return ss->base->ulp_ib;
	case SDP_SOCK_BY_RDMA:
		return ss->base->ulp_rdma;
	default:
		return ss->base->ulp_local;
	}
}

static void sdp_lane_moved(struct sdp_sock *ss)
{
	struct sock *sk = ss->sk;
	int most = min(SDP_LANE_SNDBUF, READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_wmem[2]));

	/* TCP's acknowledgments raise it, and there are none. */
	if (!(sk->sk_userlocks & SOCK_SNDBUF_LOCK) && sk->sk_sndbuf < most)
		WRITE_ONCE(sk->sk_sndbuf, most);
	sdp_stay_set(ss, SDP_STAY_NOT, false);
	sdp_tx_moved(ss, sdp_lane_ulp(ss));
}

/* Were the messages made for a carrier that takes larger ones? */
static bool sdp_lane_too_large(const struct sdp_lane *lane)
{
	const struct sk_buff *skb;

	skb_queue_walk(&lane->kept, skb)
		if (skb->len > lane->carrier->most + lane->carrier->tail)
			return true;
	return false;
}

/* Another carrier goes on where the last one was lost, and the direction is LOOSE; false if not. */
bool sdp_lane_again(struct sdp_lane *lane)
{
	if (!lane->carrier || !lane->carrier->joined || sdp_lane_too_large(lane) ||
	    sdp_gate(lane->ss, true))
		return false;
	sdp_half_tx_again(&lane->tx, lane->carrier->number);
	lane->say_switch = true;
	lane->post = skb_peek(&lane->kept);
	lane->started = jiffies;
	sdp_lane_moved(lane->ss);
	sdp_lane_push(lane);
	return lane->tx.state == SDP_HALF_TX_MOVED;
}

/*
 * The direction is with TCP; its next bytes go by the carrier, if they may: true.  Behind a return
 * TCP has to deliver a message first.  A carrier that is not where packets go is given up.
 */
bool sdp_lane_try(struct sdp_lane *lane)
{
	struct sdp_sock *ss = lane->ss;
	struct tcp_sock *tp = tcp_sk(ss->sk);
	enum sdp_stay stay;
	siphash_key_t token;

	sdp_tx_follow(ss);
	if (!lane->carrier || !lane->carrier->joined || ss->rests)
		return false;
	stay = sdp_gate(ss, true) ?: sdp_lane_way(lane);
	if (!stay && sdp_only(ss) && !sdp_only_fresh(ss))
		stay = SDP_STAY_ONLY;
	if (!stay && (ss->sk->sk_write_pending || sdp_tx_held(ss->sk) ||
		      !after(tp->snd_una, ss->passed)))
		stay = SDP_STAY_PASSING;
	if (stay) {
		sdp_stay_set(ss, stay, false);
		if (stay == SDP_STAY_ROUTE)
			sdp_lane_lose(lane);
		return false;
	}
	get_random_bytes(&token, sizeof(token));
	sdp_half_tx_move(&lane->tx, lane->carrier->number, tp->write_seq, sdp_lane_put_count(ss),
			 &token);
	lane->say_switch = true;
	sdp_tx_touched(ss);
	sdp_lane_moved(ss);
	return true;
}

/* What is acknowledged before a touch need not go by TCP once more: wait for it a little. */
static int sdp_lane_calm(struct sdp_sock *ss, long *timeo)
{
	long most = min_t(long, *timeo, SDP_LANE_CALM), left = most;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sdp_lane *lane = ss->lane;
	struct sock *sk = ss->sk;
	int err = 0;

	refcount_inc(&lane->refs);
	add_wait_queue(sk_sleep(sk), &wait);
	while (!err && left && ss->lane == lane && lane->tx.state == SDP_HALF_TX_MOVED &&
	       !skb_queue_empty(&lane->kept) && !signal_pending(current) && !sdp_tx_shut(sk)) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		err = min(0, sk_wait_event(sk, &left, sdp_tx_shut(sk) ||
					   skb_queue_empty_lockless(&lane->kept), &wait));
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= most - left;
	/* A connection that ended meanwhile has let go of it. */
	if (ss->lane != lane)
		err = -EPIPE;
	sdp_lane_put(lane);
	return err;
}

/*
 * Where do the next bytes go?  1: to the carrier; 0: to TCP; or -errno as sdp_tx_return() has it.
 * May wait, at most @timeo jiffies and without the lock, and leaves the rest there.  Process
 * context.
 */
int sdp_lane_route(struct sdp_sock *ss, long *timeo)
{
	struct sdp_lane *lane = ss->lane;
	enum sdp_stay why;
	int err = 0;

	if (unlikely(sdp_only(ss)))
		return sdp_only_route(ss, timeo);
	switch (lane->tx.state) {
	case SDP_HALF_TX_MOVED:
		why = sdp_tx_recheck(ss, NULL);
		if (likely(!why))
			return 1;
		if (why == SDP_STAY_TOUCH)
			err = sdp_lane_calm(ss, timeo);
		return err ?: sdp_tx_return(ss, why);
	case SDP_HALF_TX_LOOSE:
		return sdp_lane_again(lane) ? 1 : sdp_tx_return(ss, SDP_STAY_LOST);
	case SDP_HALF_TX_BACK:
		return sdp_tx_return(ss, ss->stay);
	case SDP_HALF_TX_TCP:
		return sdp_lane_try(lane);
	default:
		return 0;
	}
}

/* The record, then the bytes that are not acknowledged: as much as TCP takes. */
static bool sdp_lane_append(struct sdp_sock *ss)
{
	struct sdp_lane *lane = ss->lane;
	struct sdp_half_tx *tx = &lane->tx;
	struct sdp_record record;
	struct sk_buff *skb;
	u32 skip, len;
	u8 bytes[512];
	int n = 1;

	if (tx->head)
		sdp_record_make(tx, &record);
	while (n > 0 && tx->head) {
		n = sdp_tx_feed(ss->sk, (u8 *)(&record + 1) - tx->head, tx->head,
				tx->acked != tx->pos);
		if (n > 0)
			sdp_half_tx_wrote(tx, n);
	}
	while (n > 0 && tx->state == SDP_HALF_TX_BACK) {
		sdp_lane_forget(lane, tx->acked);
		skb = skb_peek(&lane->kept);
		if (WARN_ON_ONCE(!skb))
			return true;
		skip = tx->acked - sdp_lane_msg(skb)->pos;
		len = min_t(u32, skb->len - skip, sizeof(bytes));
		skb_copy_bits(skb, skip, bytes, len);
		n = sdp_tx_feed(ss->sk, bytes, len, tx->acked + len != tx->pos);
		if (n > 0) {
			sdp_half_tx_wrote(tx, n);
			/* TCP counts them now. */
			ss->sent -= n;
		}
	}
	if (tx->state == SDP_HALF_TX_BACK)
		return false;
	sdp_lane_purge(lane);
	return true;
}

/*
 * Has the peer's adapter not answered, or does the carrier not know?  If it has, the path is good,
 * even if the peer does not take in what it got.
 */
bool sdp_lane_flies(const struct sdp_lane *lane)
{
	struct sdp_carrier *c = lane->carrier;

	return !c->ops->busy || c->ops->busy(c);
}

/* A part of sdp_tx_return(), whose context and return values it has. */
int sdp_lane_return(struct sdp_sock *ss, enum sdp_stay why)
{
	struct sdp_lane *lane = ss->lane;
	struct sdp_carrier *c = lane->carrier;
	u8 state = lane->tx.state;

	if (state == SDP_HALF_TX_TCP || state == SDP_HALF_TX_FIN)
		return 0;
	if (state != SDP_HALF_TX_BACK) {
		/* A peer that does not read says nothing of the path. */
		bool dead = c && why == SDP_STAY_STALL && lane->post != skb_peek(&lane->kept) &&
			    sdp_lane_flies(lane);
		bool over;

		sdp_stay_set(ss, dead ? SDP_STAY_LOST : why, state == SDP_HALF_TX_MOVED);
		over = !sdp_half_tx_return(&lane->tx, sdp_lane_stays(why));
		lane->post = NULL;
		lane->say_switch = false;
		lane->say_note = false;
		sdp_lend_back(lane);
		if (dead) {
			c->refusal = SDP_REFUSED_UNREACHABLE;
			sdp_avoid_over(ss, c);
		}
		if (over && c && lane->tx.carrier == c->number)
			sdp_lane_lose(lane);
		ss->stalled |= why == SDP_STAY_STALL;
	}
	if (lane->tx.state == SDP_HALF_TX_BACK && !sdp_tx_bring(ss, sdp_lane_append)) {
		/* The program may send nothing more. */
		lane->back = why;
		sdp_lane_later(lane, max(HZ / 50, 1));
		return -ENOBUFS;
	}
	sdp_lane_purge(lane);
	ss->passed = tcp_sk(ss->sk)->write_seq;
	sdp_sock_show(ss, ss->base->ulp);
	ss->sk->sk_write_space(ss->sk);
	return 0;
}

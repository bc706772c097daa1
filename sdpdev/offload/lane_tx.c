// SPDX-License-Identifier: GPL-2.0
/*
 * The direction that is sent, where a carrier of messages can have it.
 *
 * What a carrier gets is kept, as the socket's memory, until the peer has acknowledged it.  So
 * the socket's limits, poll() and memory control groups see it as they see what TCP keeps, and a
 * return always has all that it needs.
 */
#include <net/tcp.h>

#include "offload/avoid.h"
#include "offload/lane.h"
#include "offload/trace.h"

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

/* --- messages ------------------------------------------------------------------ */

/* Something that is not kept. */
static int sdp_lane_tell(struct sdp_lane *lane, u8 type)
{
	struct sdp_carrier *c = lane->carrier;
	struct sk_buff *skb = alloc_skb(0, GFP_ATOMIC | __GFP_NOWARN);
	struct sdp_lane_msg *msg;
	int err;

	if (!skb)
		return -ENOMEM;
	msg = sdp_lane_msg(skb);
	memset(msg, 0, sizeof(*msg));
	msg->type = type;
	msg->sure = lane->tx.state == SDP_HALF_TX_MOVED && sdp_half_tx_sure(&lane->tx);
	msg->ask = type == SDP_MSG_END;
	if (type == SDP_MSG_SWITCH) {
		msg->n = lane->tx.n;
		msg->pos = lane->tx.acked;
		msg->token = lane->tx.token;
	}
	err = c->ops->send(c, skb);
	kfree_skb(skb);
	if (!err)
		c->sent++;
	return err;
}

static int sdp_lane_tell_all(struct sdp_lane *lane)
{
	int err = 0;

	if (lane->say_switch)
		err = sdp_lane_tell(lane, SDP_MSG_SWITCH);
	if (err)
		return err;
	lane->say_switch = false;
	if (lane->say_leave)
		err = sdp_lane_tell(lane, SDP_MSG_LEAVE);
	if (err)
		return err;
	lane->say_leave = false;
	if (lane->say_note)
		err = sdp_lane_tell(lane, SDP_MSG_NOTE);
	if (!err)
		lane->say_note = false;
	return err;
}

/* Behind all bytes. */
static int sdp_lane_tell_end(struct sdp_lane *lane)
{
	int err = sdp_lane_tell(lane, SDP_MSG_END);

	if (!err)
		lane->end = lane->carrier->sent;
	return err;
}

static struct sk_buff *sdp_lane_next(struct sdp_lane *lane, struct sk_buff *skb)
{
	return skb_queue_is_last(&lane->kept, skb) ? NULL : skb_queue_next(&lane->kept, skb);
}

/* Is half of what the socket may keep full?  One message at a time asks for room. */
static bool sdp_lane_ask_now(const struct sdp_lane *lane)
{
	const struct sock *sk = lane->ss->sk;

	return !lane->asking && 2 * sk->sk_wmem_queued > sk->sk_sndbuf;
}

static int sdp_lane_post(struct sdp_lane *lane)
{
	struct sdp_carrier *c = lane->carrier;
	struct sk_buff *skb = lane->post;
	int err;

	sdp_lane_msg(skb)->sure = sdp_half_tx_sure(&lane->tx);
	sdp_lane_msg(skb)->ask = sdp_lane_ask_now(lane);
	err = c->ops->send(c, skb);
	if (err)
		return err;
	c->sent++;
	c->data++;
	c->bytes += skb->len;
	if (sdp_lane_msg(skb)->ask) {
		lane->asking = true;
		lane->asked = c->sent;
	}
	sdp_lane_msg(skb)->mseq = c->sent;
	lane->post = sdp_lane_next(lane, skb);
	if (lane->post)
		return 0;
	/* All that says so is on its way. */
	if (sdp_half_tx_sure(&lane->tx))
		lane->say_note = false;
	return 0;
}

/* Nagle's rule: a small message waits for more bytes while others are on their way. */
static bool sdp_lane_wait(const struct sdp_lane *lane)
{
	struct sdp_carrier *c = lane->carrier;

	return lane->post->len < c->most && skb_queue_is_last(&lane->kept, lane->post) &&
	       !(tcp_sk(lane->ss->sk)->nonagle & TCP_NAGLE_OFF) && !lane->fin &&
	       c->ops->busy && c->ops->busy(c);
}

/**
 * sdp_lane_push() - give the carrier what it has room for
 * @lane: the lane, its socket locked
 *
 * Context: any.
 */
void sdp_lane_push(struct sdp_lane *lane)
{
	int err = 0;

	if (!lane->carrier || !lane->carrier->joined)
		return;
	err = sdp_lane_tell_all(lane);
	while (!err && lane->post && lane->tx.state == SDP_HALF_TX_MOVED && !sdp_lane_wait(lane))
		err = sdp_lane_post(lane);
	if (!err && lane->fin && !lane->post && !lane->end &&
	    lane->tx.state == SDP_HALF_TX_MOVED)
		err = sdp_lane_tell_end(lane);
	switch (err) {
	case 0:
	case -EAGAIN:
		break;
	case -ENOMEM:
		sdp_lane_later(lane, 1);
		break;
	default:
		sdp_avoid_over(lane->ss, lane->carrier);
		sdp_lane_lose(lane);
	}
}

/* --- what is kept -------------------------------------------------------------- */

static void sdp_lane_free(struct sock *sk, struct sk_buff *skb)
{
	sk_wmem_queued_add(sk, -skb->truesize);
	sk_mem_uncharge(sk, skb->truesize);
	kfree_skb(skb);
}

/**
 * sdp_lane_purge() - forget what is kept
 * @lane: the lane, its socket locked
 */
void sdp_lane_purge(struct sdp_lane *lane)
{
	struct sk_buff *skb;

	lane->post = NULL;
	while ((skb = __skb_dequeue(&lane->kept)))
		sdp_lane_free(lane->ss->sk, skb);
}

/* Forget what lies before a position. */
static bool sdp_lane_forget(struct sdp_lane *lane, u64 pos)
{
	struct sk_buff *skb;
	bool some = false;

	while ((skb = skb_peek(&lane->kept)) && sdp_lane_msg(skb)->pos + skb->len <= pos) {
		if (skb == lane->post)
			lane->post = sdp_lane_next(lane, skb);
		__skb_unlink(skb, &lane->kept);
		sdp_lane_free(lane->ss->sk, skb);
		some = true;
	}
	return some;
}

/**
 * sdp_lane_acked() - the peer has taken in messages
 * @lane: the lane, its socket locked
 * @mseq: the last one of them
 *
 * Context: any.
 */
void sdp_lane_acked(struct sdp_lane *lane, u32 mseq)
{
	struct sock *sk = lane->ss->sk;
	u64 pos = lane->tx.acked;
	struct sk_buff *skb;

	if (lane->asking && (s32)(mseq - lane->asked) >= 0)
		lane->asking = false;
	if (lane->end && !lane->ended && (s32)(mseq - lane->end) >= 0)
		sdp_only_ended(lane);
	skb_queue_walk(&lane->kept, skb) {
		if (skb == lane->post || (s32)(mseq - sdp_lane_msg(skb)->mseq) < 0)
			break;
		pos = sdp_lane_msg(skb)->pos + skb->len;
	}
	if (lane->tx.state != SDP_HALF_TX_MOVED || pos == lane->tx.acked)
		return;
	lane->started = jiffies;
	lane->say_note |= sdp_half_tx_acked(&lane->tx, pos);
	if (!sdp_lane_forget(lane, pos))
		goto push;
	/* Pairs with the barrier in tcp_poll(): one of both sees the other. */
	smp_mb();
	if (sk->sk_socket && test_bit(SOCK_NOSPACE, &sk->sk_socket->flags))
		sk->sk_write_space(sk);
push:
	sdp_lane_push(lane);
}

/*
 * More bytes into a message, as many as it takes; its memory counts as the socket's.  Returns how
 * many, or -errno if there are none.
 */
static ssize_t sdp_lane_fill(struct sock *sk, struct sk_buff *skb, struct iov_iter *from,
			     size_t len)
{
	struct page_frag *frag = sk_page_frag(sk);
	size_t done = 0;
	int err = 0;

	while (done < len && !err) {
		int i = skb_shinfo(skb)->nr_frags, copy;
		bool merge;

		if (!sk_page_frag_refill(sk, frag)) {
			err = -ENOMEM;
			break;
		}
		merge = skb_can_coalesce(skb, i, frag->page, frag->offset);
		if (!merge && i >= MAX_SKB_FRAGS)
			break;
		copy = min_t(size_t, len - done, frag->size - frag->offset);
		err = sk_wmem_schedule(sk, copy) ?
		      skb_copy_to_page_nocache(sk, from, skb, frag->page, frag->offset, copy) :
		      -ENOMEM;
		if (err)
			break;
		if (merge) {
			skb_frag_size_add(&skb_shinfo(skb)->frags[i - 1], copy);
		} else {
			skb_fill_page_desc(skb, i, frag->page, frag->offset, copy);
			get_page(frag->page);
		}
		frag->offset += copy;
		done += copy;
	}
	return done ?: err;
}

/* The last message, if its bytes have not gone and there is room for more. */
static struct sk_buff *sdp_lane_open(const struct sdp_lane *lane)
{
	struct sk_buff *skb = lane->post ? skb_peek_tail(&lane->kept) : NULL;

	return skb && skb->len < lane->carrier->most &&
	       skb_shinfo(skb)->nr_frags < MAX_SKB_FRAGS ? skb : NULL;
}

/* A message without bytes. */
static struct sk_buff *sdp_lane_build(struct sdp_lane *lane)
{
	struct sock *sk = lane->ss->sk;
	struct sk_buff *skb = alloc_skb(0, sk->sk_allocation | __GFP_NOWARN);

	if (!skb)
		return NULL;
	if (!sk_wmem_schedule(sk, skb->truesize)) {
		kfree_skb(skb);
		return NULL;
	}
	sk_wmem_queued_add(sk, skb->truesize);
	sk_mem_charge(sk, skb->truesize);
	/* Nobody is to sum up what is copied. */
	skb->ip_summed = CHECKSUM_PARTIAL;
	memset(sdp_lane_msg(skb), 0, sizeof(struct sdp_lane_msg));
	sdp_lane_msg(skb)->type = SDP_MSG_DATA;
	sdp_lane_msg(skb)->pos = lane->tx.pos;
	return skb;
}

/* A message has got bytes, @before others; it is new if it had none. */
static void sdp_lane_filled(struct sdp_lane *lane, struct sk_buff *skb, u32 before, u32 len)
{
	u8 first = 0;

	if (skb_queue_empty(&lane->kept)) {
		lane->started = jiffies;
		sdp_lane_later(lane, HZ);
	}
	if (!before)
		__skb_queue_tail(&lane->kept, skb);
	if (!lane->post)
		lane->post = skb;
	/* The half keeps the first one of all. */
	if (lane->tx.pos == lane->tx.p0)
		skb_copy_bits(skb, before, &first, 1);
	sdp_half_tx_sent(&lane->tx, first, len);
	lane->active = jiffies;
	lane->ss->sent += len;
}

/**
 * sdp_lane_send() - give a carrier bytes of a message
 * @ss: the endpoint whose direction has moved, its socket locked
 * @from: the bytes
 * @timeo: jiffies that the call may wait for room; those that are left
 *
 * Context: process; may release the lock while it waits.
 *
 * Return: bytes that the carrier has or gets; 0 after having waited; or -errno.
 */
ssize_t sdp_lane_send(struct sdp_sock *ss, struct iov_iter *from, long *timeo)
{
	struct sdp_lane *lane = ss->lane;
	struct sock *sk = ss->sk;
	struct sk_buff *skb;
	u32 before;
	ssize_t n;

	if (sdp_tx_shut(sk))
		return -EPIPE;
	if (!sk_stream_memory_free(sk)) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		return sk_stream_wait_memory(sk, timeo);
	}
	if (!iov_iter_count(from))
		return 0;
	skb = sdp_lane_open(lane) ?: sdp_lane_build(lane);
	if (!skb)
		return -ENOMEM;
	before = skb->len;
	n = sdp_lane_fill(sk, skb, from,
			  min_t(size_t, iov_iter_count(from), lane->carrier->most - before));
	if (n > 0) {
		sdp_lane_filled(lane, skb, before, n);
		sdp_lane_push(lane);
	} else if (!before) {
		sdp_lane_free(sk, skb);
	}
	return n;
}

/* --- there and back ------------------------------------------------------------ */

static void sdp_lane_moved(struct sdp_sock *ss)
{
	struct sock *sk = ss->sk;
	int most = min(SDP_LANE_SNDBUF, READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_wmem[2]));

	/* TCP's acknowledgments raise it, and there are none. */
	if (!(sk->sk_userlocks & SOCK_SNDBUF_LOCK) && sk->sk_sndbuf < most)
		WRITE_ONCE(sk->sk_sndbuf, most);
	sdp_stay_set(ss, SDP_STAY_NOT, false);
	sdp_tx_moved(ss, ss->lane->kind == SDP_SOCK_BY_IB ? ss->base->ulp_ib :
							    ss->base->ulp_local);
}

/* Were the messages made for a carrier that takes larger ones? */
static bool sdp_lane_too_large(const struct sdp_lane *lane)
{
	const struct sk_buff *skb;

	skb_queue_walk(&lane->kept, skb)
		if (skb->len > lane->carrier->most)
			return true;
	return false;
}

/**
 * sdp_lane_again() - another carrier goes on where the last one was lost
 * @lane: a lane whose direction is LOOSE, its socket locked
 *
 * Context: any.
 *
 * Return: whether it does.
 */
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

/**
 * sdp_lane_try() - let the next bytes go by the carrier, if they may
 * @lane: a lane whose direction is with TCP, its socket locked
 *
 * Behind a return TCP has to deliver a message first.
 *
 * Return: whether they do.
 */
bool sdp_lane_try(struct sdp_lane *lane)
{
	struct sdp_sock *ss = lane->ss;
	struct tcp_sock *tp = tcp_sk(ss->sk);
	enum sdp_stay stay;
	siphash_key_t token;

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

/**
 * sdp_lane_route() - where do the next bytes go?
 * @ss: an endpoint that has a lane, its socket locked
 * @timeo: jiffies that the call may wait; those that are left
 *
 * Context: process; may release the lock while it waits.
 *
 * Return: 1 for the carrier, 0 for TCP, or -errno as sdp_tx_return() has it.
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
		if (n > 0)
			sdp_half_tx_wrote(tx, n);
	}
	if (tx->state == SDP_HALF_TX_BACK)
		return false;
	sdp_lane_purge(lane);
	return true;
}

/**
 * sdp_lane_return() - bring the direction back from a carrier
 * @ss: an endpoint that has a lane, its socket locked
 * @why: the reason
 *
 * A part of sdp_tx_return(), whose context it has.
 *
 * Return: 0, or -ENOBUFS if memory was short.
 */
int sdp_lane_return(struct sdp_sock *ss, enum sdp_stay why)
{
	struct sdp_lane *lane = ss->lane;
	struct sdp_carrier *c = lane->carrier;
	u8 state = lane->tx.state;

	if (state == SDP_HALF_TX_TCP || state == SDP_HALF_TX_FIN)
		return 0;
	if (state != SDP_HALF_TX_BACK) {
		/* A peer that does not read has acknowledged what was posted: the path is good. */
		bool dead = why == SDP_STAY_STALL && lane->post != skb_peek(&lane->kept);
		bool over;

		sdp_stay_set(ss, why, state == SDP_HALF_TX_MOVED);
		over = !sdp_half_tx_return(&lane->tx, sdp_lane_stays(why));
		lane->post = NULL;
		lane->say_switch = false;
		lane->say_note = false;
		if (c && dead) {
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

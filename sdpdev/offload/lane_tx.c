// SPDX-License-Identifier: GPL-2.0
/*
 * The direction that is sent, where a carrier of messages can have it.
 *
 * What a carrier gets is kept, as the socket's memory, until the peer has acknowledged it.  So
 * the socket's limits, poll() and memory control groups see it as they see what TCP keeps, and a
 * return always has all that it needs.
 *
 * Callers hold the lock of the endpoint's socket, in any context, unless a comment says otherwise.
 */
#include <net/tcp.h>

#include "core/core.h"
#include "offload/avoid.h"
#include "offload/lane.h"

/* --- messages ------------------------------------------------------------------ */

/* A message without bytes is not kept. */
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

/* Gives the carrier what it has room for.  The carrier may be lost meanwhile. */
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

static void sdp_lane_free(struct sdp_lane *lane, struct sk_buff *skb)
{
	struct sock *sk = lane->ss->sk;

	sk_wmem_queued_add(sk, -skb->truesize);
	sk_mem_uncharge(sk, skb->truesize);
	sdp_spare_sent(lane, skb);
}

void sdp_lane_purge(struct sdp_lane *lane)
{
	struct sk_buff *skb;

	lane->post = NULL;
	while ((skb = __skb_dequeue(&lane->kept)))
		sdp_lane_free(lane, skb);
}

/* Drops what is kept and lies before @pos; true if there was something. */
bool sdp_lane_forget(struct sdp_lane *lane, u64 pos)
{
	struct sk_buff *skb;
	bool some = false;

	while ((skb = skb_peek(&lane->kept)) && sdp_lane_msg(skb)->pos + skb->len <= pos) {
		if (skb == lane->post)
			lane->post = sdp_lane_next(lane, skb);
		__skb_unlink(skb, &lane->kept);
		sdp_lane_free(lane, skb);
		some = true;
	}
	return some;
}

/* The peer has taken in messages up to number @mseq. */
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
	sdp_count_add(sock_net(sk), SDP_CNT_SENT, pos - lane->tx.acked);
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

/* As sdp_lane_fill(), of bytes that have room in the message's own memory. */
static ssize_t sdp_lane_fill_head(struct sk_buff *skb, struct iov_iter *from, size_t len)
{
	if (!copy_from_iter_full(skb_tail_pointer(skb), len, from))
		return -EFAULT;
	skb_put(skb, len);
	return len;
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

	if (len <= skb_tailroom(skb))
		return sdp_lane_fill_head(skb, from, len);
	while (done < len && !err) {
		int i = skb_shinfo(skb)->nr_frags, copy;
		bool merge;

		if (!sdp_frag_refill(frag, sk->sk_allocation)) {
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

/*
 * The last message, if its bytes have not gone and there is room for more.  A message with memory
 * of a program has the notice of one call, and only bytes of that.
 */
static struct sk_buff *sdp_lane_open(const struct sdp_lane *lane, const struct msghdr *msg)
{
	struct sk_buff *skb = lane->post && !msg->msg_ubuf ? skb_peek_tail(&lane->kept) : NULL;

	return skb && skb->len < lane->carrier->most && !skb_zcopy(skb) &&
	       skb_shinfo(skb)->nr_frags < MAX_SKB_FRAGS ? skb : NULL;
}

/* How many of the bytes that are left go into a message that has some? */
static size_t sdp_lane_room(const struct sdp_lane *lane, u32 has, size_t left)
{
	const struct sdp_carrier *c = lane->carrier;

	return left <= c->most + c->tail - has ? left : c->most - has;
}

/* A message without bytes. */
static struct sk_buff *sdp_lane_build(struct sdp_lane *lane)
{
	struct sock *sk = lane->ss->sk;
	struct sk_buff *skb = sdp_spare_take(lane) ?:
			      alloc_skb(0, sk->sk_allocation | __GFP_NOWARN);

	if (!skb)
		return NULL;
	if (!sk_wmem_schedule(sk, skb->truesize)) {
		kfree_skb(skb);
		return NULL;
	}
	sk_wmem_queued_add(sk, skb->truesize);
	sk_mem_charge(sk, skb->truesize);
	/* What is copied needs no checksum. */
	skb->ip_summed = CHECKSUM_PARTIAL;
	memset(sdp_lane_msg(skb), 0, sizeof(struct sdp_lane_msg));
	sdp_lane_msg(skb)->type = SDP_MSG_DATA;
	sdp_lane_msg(skb)->pos = lane->tx.pos;
	return skb;
}

/* A message has got @len bytes behind the @before that it had; it is new if it had none. */
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

/* More bytes into a message, copied or lent.  Returns as sdp_lane_fill(). */
static ssize_t sdp_lane_take_in(struct sdp_lane *lane, struct sk_buff *skb, struct msghdr *msg,
				size_t len)
{
	struct sock *sk = lane->ss->sk;
	ssize_t first = 0, n;

	if (!sdp_lend_wants(lane, msg)) {
		sdp_lend_copied(msg->msg_ubuf);
		return sdp_lane_fill(sk, skb, &msg->msg_iter, len);
	}
	/* A return depends on the first byte of all, which must not change meanwhile. */
	if (lane->tx.pos == lane->tx.p0) {
		first = sdp_lane_fill(sk, skb, &msg->msg_iter, 1);
		if (first < 0)
			return first;
	}
	/* In vain at worst: its pages do not serve again then. */
	sdp_lane_msg(skb)->lent = true;
	n = sdp_lend_fill(sk, skb, msg, len - first);
	if (n > 0)
		lane->lent += n;
	return n > 0 ? first + n : first ?: n;
}

/*
 * Gives the carrier, which has the direction, bytes of a message.  Returns how many it has or gets;
 * 0 after having waited; or -errno.  Waits for room for at most @timeo jiffies, without the lock,
 * and leaves the rest there.  Process context.
 */
ssize_t sdp_lane_send(struct sdp_sock *ss, struct msghdr *msg, long *timeo)
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
	if (!msg_data_left(msg))
		return 0;
	skb = sdp_lane_open(lane, msg) ?: sdp_lane_build(lane);
	if (!skb)
		return -ENOMEM;
	before = skb->len;
	n = sdp_lane_take_in(lane, skb, msg,
			     sdp_lane_room(lane, before, msg_data_left(msg)));
	/* It has as many pieces as it may: the next one gets them. */
	if (n == -EMSGSIZE && before) {
		skb = sdp_lane_build(lane);
		if (!skb)
			return -ENOMEM;
		before = 0;
		n = sdp_lane_take_in(lane, skb, msg,
				     sdp_lane_room(lane, 0, msg_data_left(msg)));
	}
	if (n > 0) {
		sdp_lane_filled(lane, skb, before, n);
		sdp_lane_push(lane);
	} else if (!before) {
		sdp_lane_free(lane, skb);
	}
	return n;
}

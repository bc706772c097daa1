// SPDX-License-Identifier: GPL-2.0
/*
 * The direction that is received, where a carrier of messages can have it.
 *
 * Bytes wait in TCP's queue and in the lane's, and are read in the order of their positions.  What
 * TCP has from where the sender has left it is looked at first: a record, or bytes that are there.
 *
 * Callers hold the lock of the endpoint's socket, in any context, unless a comment says otherwise.
 */
#include <net/tcp.h>

#include "offload/lane.h"

/* What an endpoint takes in that its program has not read, even if SO_RCVBUF is less. */
#define SDP_LANE_QUEUE		SZ_64K

/* So many times that, where it cannot come by TCP. */
#define SDP_LANE_TIMES		4

/* Memory of them is so many times what their bytes may be, at most. */
#define SDP_LANE_WASTE		4

/* Bytes of TCP that the half looks at, at most, where they may be a record. */
#define SDP_LANE_LOOK		sizeof(struct sdp_record)

/* Bytes that TCP has got: a record is a part of them. */
static u64 sdp_lane_come_count(const struct sock *sk)
{
	return tcp_sk(sk)->bytes_received;
}

/* Bytes, or a FIN, that TCP has got and that are not read. */
static u32 sdp_lane_unread(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);
}

/* Position of the next byte that TCP has, or gets. */
static u64 sdp_lane_tcp_pos(const struct sdp_lane *lane)
{
	const struct sock *sk = lane->ss->sk;

	return sdp_half_rx_tcp_pos(&lane->rx, sdp_lane_come_count(sk) - sdp_lane_unread(sk));
}

/* --- questions: without the socket's lock the answer is a guess ---------------- */

/* Is TCP's queue all that there is to read, and may the program have it? */
bool sdp_lane_by_tcp(const struct sdp_lane *lane)
{
	return READ_ONCE(lane->rx.state) == SDP_HALF_RX_TCP && !READ_ONCE(lane->queued);
}

/* Does a message wait for a call that reads? */
bool sdp_lane_waits(const struct sdp_lane *lane)
{
	return !skb_queue_empty_lockless(&lane->held);
}

size_t sdp_lane_queued(const struct sdp_lane *lane)
{
	return READ_ONCE(lane->queued);
}

/* Bytes of TCP's queue that are the program's. */
u32 sdp_lane_tcp_bytes(const struct sdp_lane *lane, const struct sock *sk)
{
	u32 unread = sdp_lane_unread(sk);
	s32 before;

	switch (READ_ONCE(lane->rx.state)) {
	case SDP_HALF_RX_MOVED:
		before = READ_ONCE(lane->rx.n) - READ_ONCE(tcp_sk(sk)->copied_seq);
		return before > 0 ? min_t(u32, before, unread) : 0;
	case SDP_HALF_RX_TCP:
		return unread;
	default:
		return 0;
	}
}

/* In an RCU read section.  @info has the bytes of both directions already. */
void sdp_lane_info(const struct sdp_lane *lane, struct sdp_sock_info *info)
{
	if (READ_ONCE(lane->tx.state) == SDP_HALF_TX_MOVED)
		info->tx_carrier = READ_ONCE(lane->kind);
	if (READ_ONCE(lane->rx.state) == SDP_HALF_RX_MOVED)
		info->rx_carrier = READ_ONCE(lane->kind);
	info->tx_zcopy = READ_ONCE(lane->lent);
	/* What has come was counted, and what the program has not read counts apart. */
	info->queued = sdp_lane_queued(lane);
	info->rx_bytes -= min_t(u64, info->rx_bytes, info->queued);
}

/* Bytes that were sent and are not acknowledged, and that TCP has not got. */
size_t sdp_lane_unsure(const struct sdp_lane *lane)
{
	switch (READ_ONCE(lane->tx.state)) {
	case SDP_HALF_TX_TCP:
	case SDP_HALF_TX_FIN:
		return 0;
	default:
		return READ_ONCE(lane->tx.pos) - READ_ONCE(lane->tx.acked);
	}
}

/* --- messages ------------------------------------------------------------------ */

static void sdp_lane_wake(struct sdp_lane *lane)
{
	struct sock *sk = lane->ss->sk;

	if (sock_flag(sk, SOCK_DEAD))
		return;
	/* A client in the kernel has its own callback, and expects the lock that the caller has. */
	if (sk->sk_data_ready == sdp_lane_data_ready)
		lane->ss->base->data_ready(sk);
	else
		sk->sk_data_ready(sk);
}

static bool sdp_lane_take_switch(struct sdp_lane *lane, const struct sdp_lane_msg *msg)
{
	struct sdp_half_rx before = lane->rx;
	struct sdp_sock *ss = lane->ss;
	enum sdp_half_switch verdict;

	/* A read has to pass the mark first. */
	if (tcp_sk(ss->sk)->urg_data)
		return false;
	verdict = sdp_half_rx_switch(&lane->rx, lane->carrier->number, msg->n, msg->pos,
				     &msg->token, tcp_sk(ss->sk)->rcv_nxt,
				     sdp_lane_come_count(ss->sk));
	switch (verdict) {
	case SDP_HALF_TAKE:
		/* Pairs with the barrier in sdp_rx_enter_tcp(): one of both sees the other. */
		smp_mb();
		if (before.state == SDP_HALF_RX_MOVED || !atomic_read(&ss->in_tcp))
			return true;
		/* A call inside TCP's own reading would take what comes from there on. */
		lane->rx = before;
		return false;
	case SDP_HALF_HOLD:
		return false;
	case SDP_HALF_BAD:
		sdp_count(sock_net(ss->sk), SDP_CNT_LANE_BAD);
		fallthrough;
	default:
		sdp_lane_lose(lane);
		return false;
	}
}

/* Returns whether the message is the queue's now. */
static bool sdp_lane_take_data(struct sdp_lane *lane, struct sk_buff *skb)
{
	struct sdp_sock *ss = lane->ss;
	u64 pos = lane->rx.pos;
	u32 drop;
	u8 first;

	if (!skb->len)
		return false;
	skb_copy_bits(skb, 0, &first, 1);
	lane->carrier->data++;
	lane->carrier->bytes += skb->len;
	drop = sdp_half_rx_data(&lane->rx, lane->carrier->number, first, skb->len);
	if (drop == skb->len)
		return false;
	sdp_lane_msg(skb)->pos = pos;
	sdp_lane_msg(skb)->skip = drop;
	if (skb_queue_empty(&lane->queue))
		lane->offset = drop;
	__skb_queue_tail(&lane->queue, skb);
	WRITE_ONCE(lane->queued, lane->queued + skb->len - drop);
	lane->memory += skb->truesize;
	ss->received += skb->len - drop;
	sdp_count_add(sock_net(ss->sk), SDP_CNT_RECEIVED, skb->len - drop);
	lane->active = jiffies;
	/* Keepalive's clock: the peer is alive. */
	inet_csk(ss->sk)->icsk_ack.lrcvtime = tcp_jiffies32;
	return true;
}

static bool sdp_lane_exceeds(const struct sdp_lane *lane, unsigned int times)
{
	size_t limit = times * max_t(size_t, READ_ONCE(lane->ss->sk->sk_rcvbuf), SDP_LANE_QUEUE);

	return lane->queued >= limit || lane->memory >= SDP_LANE_WASTE * limit;
}

/* Has the program not read so much that the peer is to wait? */
static bool sdp_lane_full(const struct sdp_lane *lane)
{
	return sdp_lane_exceeds(lane, 1);
}

/*
 * May another carrier bring bytes on top of what the program has not read?  Where no byte may go by
 * TCP some carriers may be lost before the program reads.
 */
bool sdp_lane_takes(const struct sdp_lane *lane)
{
	return !sdp_lane_exceeds(lane, sdp_only(lane->ss) ? SDP_LANE_TIMES : 1);
}

/* What the program does not read takes the carrier's room: the peer has no more than that. */
static void sdp_lane_room(struct sdp_lane *lane, u32 count)
{
	struct sdp_carrier *c = lane->carrier;

	if (!sdp_lane_full(lane)) {
		count += lane->owed;
		lane->owed = 0;
	}
	if (count && c && c->ops->freed)
		c->ops->freed(c, count);
}

/* The receiving direction asks the gate as well, once a tick: the peer cannot. */
static void sdp_lane_recheck(struct sdp_lane *lane)
{
	enum sdp_stay stay;

	if (likely(!time_after(jiffies, lane->checked)))
		return;
	lane->checked = jiffies;
	stay = sdp_gate_peer(lane->ss);
	if (!stay)
		return;
	/* Where no byte may go by TCP the connection ends, and its peer hears of nothing else. */
	lane->say_leave = !sdp_only(lane->ss);
	if (!lane->back)
		lane->back = stay;
}

/* False if the message has to wait, or the carrier is lost. */
static bool sdp_lane_take_one(struct sdp_lane *lane, struct sk_buff *skb)
{
	struct sdp_carrier *c = lane->carrier;
	const struct sdp_lane_msg *msg = sdp_lane_msg(skb);
	bool sure = msg->sure, queued = false;

	if (msg->type == SDP_MSG_SWITCH && !sdp_lane_take_switch(lane, msg))
		return false;
	__skb_unlink(skb, &lane->held);
	if (sure)
		sdp_half_rx_sure(&lane->rx, c->number);
	if (msg->type == SDP_MSG_END)
		sdp_half_rx_over(&lane->rx, c->number);
	if (msg->type == SDP_MSG_LEAVE && !lane->back)
		lane->back = SDP_STAY_LEAVE;
	if (msg->type == SDP_MSG_DATA)
		queued = sdp_lane_take_data(lane, skb);
	if (!queued)
		kfree_skb(skb);
	return true;
}

/* Takes in what has come.  The carrier may be lost meanwhile. */
void sdp_lane_take(struct sdp_lane *lane)
{
	struct sdp_carrier *c = lane->carrier;
	size_t before = lane->queued;
	struct sk_buff *skb;
	u32 taken = 0, data = 0;
	bool bytes;

	while (lane->carrier == c && (skb = skb_peek(&lane->held))) {
		bytes = sdp_lane_msg(skb)->type == SDP_MSG_DATA;
		if (!sdp_lane_take_one(lane, skb))
			break;
		data += bytes;
		taken++;
	}
	if (taken && lane->carrier == c) {
		c->ops->taken(c, taken);
		lane->owed += data;
		sdp_lane_room(lane, taken - data);
		sdp_lane_recheck(lane);
	}
	if (lane->queued != before)
		sdp_lane_wake(lane);
}

/* --- TCP's bytes --------------------------------------------------------------- */

/* RST is sent later.  Until then the program must not take what has come for all of the stream. */
static void sdp_lane_abort(struct sdp_lane *lane)
{
	struct sock *sk = lane->ss->sk;

	sdp_count(sock_net(sk), SDP_CNT_LANE_RESET);
	sdp_half_rx_abort(&lane->rx);
	lane->reset = true;
	sock_reset_flag(sk, SOCK_DONE);
	WRITE_ONCE(sk->sk_err, ECONNRESET);
	sk_error_report(sk);
}

/* tcp_read_sock() asks about bytes of TCP: returns how many are to be dropped. */
static int sdp_lane_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset,
			  size_t len)
{
	struct sdp_lane *lane = desc->arg.data;
	struct sdp_carrier *c = lane->carrier;
	u32 used = 0, number = lane->rx.carrier;
	u8 bytes[SDP_LANE_LOOK];

	if (lane->rx.state == SDP_HALF_RX_MOVED)
		len = min(len, sizeof(bytes));
	if (skb_copy_bits(skb, offset, bytes, min(len, sizeof(bytes))))
		return 0;
	switch (sdp_half_rx_tcp(&lane->rx, TCP_SKB_CB(skb)->seq + offset, bytes, len, &used)) {
	case SDP_HALF_DROP:
	case SDP_HALF_CARRIER_STAYS:
		return used;
	case SDP_HALF_CARRIER_OVER:
		/*
		 * Without a carrier this end owes a record, and goes on owing it: a peer that has
		 * closed would answer with RST, and forget what it has still to send.
		 */
		if (c && c->number == number)
			sdp_lane_lose(lane);
		return used;
	case SDP_HALF_ABORT:
		sdp_lane_abort(lane);
		return 0;
	default:
		return 0;
	}
}

/* Has TCP got only what is no byte of the program's? */
static bool sdp_lane_elsewhere(const struct sdp_lane *lane)
{
	return lane->rx.state == SDP_HALF_RX_SKIP ||
	       (lane->rx.state == SDP_HALF_RX_MOVED &&
		!sdp_lane_tcp_bytes(lane, lane->ss->sk));
}

/* The sender has ended the stream where it had left TCP. */
static void sdp_lane_look_fin(struct sdp_lane *lane)
{
	const struct sock *sk = lane->ss->sk;

	if (!sock_flag(sk, SOCK_DONE) || sdp_lane_unread(sk) > 1 ||
	    (lane->rx.state != SDP_HALF_RX_MOVED && lane->rx.state != SDP_HALF_RX_SKIP))
		return;
	if (lane->rx.state == SDP_HALF_RX_MOVED &&
	    (s32)(lane->rx.n - tcp_sk(sk)->copied_seq) > 0)
		return;
	if (!sdp_half_rx_fin(&lane->rx))
		sdp_lane_abort(lane);
}

/* Looks at what TCP has, if it is not simply the program's.  The carrier may be lost meanwhile. */
void sdp_lane_look(struct sdp_lane *lane)
{
	struct sock *sk = lane->ss->sk;
	read_descriptor_t desc = { .arg.data = lane, .count = 1 };
	u32 before, after;

	if (lane->reset)
		return;
	if (unlikely(sdp_only(lane->ss)) && sdp_only_came(lane->ss)) {
		lane->back = lane->back ?: SDP_STAY_ONLY;
		return;
	}
	do {
		if (lane->rx.state == SDP_HALF_RX_TCP || lane->rx.state == SDP_HALF_RX_END ||
		    sdp_lane_tcp_bytes(lane, sk))
			break;
		before = lane->rx.state << 8 | lane->rx.got;
		after = tcp_sk(sk)->copied_seq;
		if (sdp_lane_unread(sk))
			tcp_read_sock(sk, &desc, sdp_lane_actor);
		before ^= lane->rx.state << 8 | lane->rx.got;
		after ^= tcp_sk(sk)->copied_seq;
	} while (before || after);
	/* No record, and no byte that came before, has the urgent mark. */
	if (sdp_lane_elsewhere(lane) && sdp_lane_unread(sk) && tcp_sk(sk)->urg_data &&
	    tcp_sk(sk)->urg_seq == tcp_sk(sk)->copied_seq)
		sdp_lane_abort(lane);
	else
		sdp_lane_look_fin(lane);
}

/* --- the program --------------------------------------------------------------- */

/*
 * Do the bytes of a message come before TCP's?  The queue can have some that an earlier carrier
 * has brought, and TCP what the sender sent before it left TCP again.
 */
static bool sdp_lane_before_tcp(const struct sdp_lane *lane, const struct sk_buff *skb)
{
	return !sdp_lane_tcp_bytes(lane, lane->ss->sk) ||
	       sdp_lane_msg(skb)->pos < sdp_lane_tcp_pos(lane);
}

/* The program has read bytes of the first message. */
static void sdp_lane_eat(struct sdp_lane *lane, struct sk_buff *skb, size_t len)
{
	lane->offset += len;
	WRITE_ONCE(lane->queued, lane->queued - len);
	if (lane->offset < skb->len)
		return;
	__skb_unlink(skb, &lane->queue);
	lane->memory -= skb->truesize;
	sdp_spare_read(lane, skb);
	skb = skb_peek(&lane->queue);
	lane->offset = skb ? sdp_lane_msg(skb)->skip : 0;
	sdp_lane_room(lane, 0);
}

static ssize_t sdp_lane_read_queue(struct sdp_lane *lane, struct iov_iter *to, size_t len)
{
	struct sk_buff *skb = skb_peek(&lane->queue);
	int err;

	len = min_t(size_t, len, skb->len - lane->offset);
	err = to ? skb_copy_datagram_iter(skb, lane->offset, to, len) : 0;
	if (err)
		return err;
	sdp_lane_eat(lane, skb, len);
	return len;
}

/* Is there nothing to look at but the queue? */
static bool sdp_lane_plain(const struct sdp_lane *lane)
{
	return lane->rx.state == SDP_HALF_RX_MOVED && !lane->kicked &&
	       skb_queue_empty(&lane->held) && !sdp_lane_unread(lane->ss->sk);
}

/*
 * The next bytes of the stream, from TCP or the queue; 0 if there are none; -EFAULT.  Without @to
 * they are thrown away.  Process context.
 */
ssize_t sdp_lane_read(struct sdp_sock *ss, struct iov_iter *to, size_t len)
{
	struct sdp_lane *lane = ss->lane;
	struct sk_buff *skb;
	size_t most;
	ssize_t n;

	if (!sdp_lane_plain(lane))
		sdp_lane_run(lane);
	skb = skb_peek(&lane->queue);
	if (skb && sdp_lane_before_tcp(lane, skb)) {
		n = sdp_lane_read_queue(lane, to, len);
	} else {
		most = min_t(size_t, len, sdp_lane_tcp_bytes(lane, lane->ss->sk));
		n = most ? sdp_rx_tcp(ss->sk, to, most) : 0;
	}
	/* A Switch may have waited for this, and a record may be next. */
	if (n > 0 && !sdp_lane_plain(lane))
		sdp_lane_run(lane);
	return n;
}

/*
 * Bytes of the stream behind the first @done, which stay where they are; perhaps fewer than there
 * are; 0 if there are none; -EFAULT.  @to may be NULL.
 */
ssize_t sdp_lane_peek(struct sdp_sock *ss, size_t done, struct iov_iter *to, size_t len)
{
	struct sdp_lane *lane = ss->lane;
	size_t skip = done, tcp = sdp_lane_tcp_bytes(lane, lane->ss->sk);
	u32 offset = lane->offset;
	struct sk_buff *skb;

	skb_queue_walk(&lane->queue, skb) {
		if (tcp && !sdp_lane_before_tcp(lane, skb)) {
			if (skip < tcp)
				break;
			skip -= tcp;
			tcp = 0;
		}
		if (skip < skb->len - offset) {
			offset += skip;
			len = min_t(size_t, len, skb->len - offset);
			return (to ? skb_copy_datagram_iter(skb, offset, to, len) : 0) ?: len;
		}
		skip -= skb->len - offset;
		if (!skb_queue_is_last(&lane->queue, skb))
			offset = sdp_lane_msg(skb_queue_next(&lane->queue, skb))->skip;
	}
	return skip < tcp ? sdp_rx_peek_tcp(ss->sk, skip, to, min_t(size_t, len, tcp - skip)) : 0;
}

/* What a client's actor is given of TCP's bytes, at most. */
struct sdp_lane_client {
	read_descriptor_t *desc;
	sk_read_actor_t actor;
	u32 most;
};

static int sdp_lane_client_actor(read_descriptor_t *desc, struct sk_buff *skb,
				 unsigned int offset, size_t len)
{
	struct sdp_lane_client *client = desc->arg.data;
	int used;

	len = min_t(size_t, len, client->most);
	used = len ? client->actor(client->desc, skb, offset, len) : 0;
	if (used > 0)
		client->most -= used;
	desc->count = client->desc->count;
	return used;
}

/* tcp_read_sock() of an endpoint that has a lane. */
int sdp_lane_give(struct sdp_sock *ss, read_descriptor_t *desc, sk_read_actor_t actor)
{
	struct sdp_lane *lane = ss->lane;
	int used, done = 0;

	do {
		struct sdp_lane_client client = { .desc = desc, .actor = actor };
		read_descriptor_t inner = { .arg.data = &client, .count = desc->count };
		struct sk_buff *skb;

		sdp_lane_run(lane);
		skb = skb_peek(&lane->queue);
		if (skb && sdp_lane_before_tcp(lane, skb)) {
			used = actor(desc, skb, lane->offset, skb->len - lane->offset);
			if (used > 0)
				sdp_lane_eat(lane, skb, used);
		} else {
			client.most = sdp_lane_tcp_bytes(lane, ss->sk);
			used = 0;
			if (client.most)
				used = tcp_read_sock(ss->sk, &inner, sdp_lane_client_actor);
		}
		if (used > 0)
			done += used;
	} while (used > 0 && desc->count);
	return done ?: used;
}

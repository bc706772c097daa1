// SPDX-License-Identifier: GPL-2.0
/*
 * A connection: what is sent, how it ends, and what its channel tells of it.
 */
#include <linux/slab.h>

#include "core/core.h"
#include "direct/direct.h"
#include "sdp/wire.h"

/* A peer that does not end its half may take so long. */
#define SDP_DIRECT_LATE		(60 * HZ)

/* What there was no memory for is sent again after so long. */
#define SDP_DIRECT_AGAIN	max(HZ / 10, 1)

static struct sdp_direct_link *sdp_direct_link(struct sdp_chan *chan)
{
	return container_of(chan, struct sdp_direct_link, chan);
}

/* --- sending control messages, and the end ----------------------------------------- */

/*
 * The connection is at its end, which the program is told by @err unless that is zero.  Lock held.
 */
void sdp_direct_ended(struct sock *sk, int err)
{
	bool tell = err && !sock_flag(sk, SOCK_DEAD);

	if (sk->sk_state != TCP_ESTABLISHED && sk->sk_state != TCP_SYN_SENT)
		return;
	if (tell)
		WRITE_ONCE(sk->sk_err, err);
	/* A caller without the lock that sees the end finds the error: see sdp_direct_poll(). */
	smp_wmb();
	if (sk->sk_state == TCP_ESTABLISHED)
		WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	WRITE_ONCE(sk->sk_state, TCP_CLOSE);
	__skb_queue_purge(&sk->sk_write_queue);
	sdp_direct(sk)->queued = 0;
	sdp_src_end(&sdp_direct(sk)->src);
	sdp_direct(sk)->sink = (struct sdp_sink){};
	sdp_room_end(&sdp_direct(sk)->room);
	sdp_direct(sk)->target.n = 0;
	if (tell)
		sk_error_report(sk);
	sk->sk_state_change(sk);
	sdp_direct_wake_source(sk);
	sdp_direct_wake_room(sk);
}

/* Whether a message was sent that has one field; the socket's lock held. */
static bool sdp_direct_say_field(struct sdp_direct *direct, u8 mid, u32 field)
{
	const __be32 ext = cpu_to_be32(field);
	const struct sdp_chan_out out = {
		.mid = mid,
		.class = SDP_CHAN_ANSWER,
		.ext = &ext,
		.ext_len = sizeof(ext),
	};

	return !sdp_chan_send(&direct->link->chan, &out);
}

/* Whether a message was sent; the socket's lock held. */
static bool sdp_direct_say(struct sdp_direct *direct, u8 mid, enum sdp_chan_class class)
{
	const struct sdp_chan_out out = { .mid = mid, .class = class };

	/* The size that a peer has asked for is not that of its messages. */
	if (mid == SDP_MID_CH_RCV_BUF_ACK)
		return sdp_direct_say_field(direct, mid, SDP_DIRECT_SIZE);
	return !sdp_chan_send(&direct->link->chan, &out);
}

/* Sends as many of one kind as are owed; whether that were all. */
static bool sdp_direct_answer(struct sdp_direct *direct, u32 *owed, u8 mid)
{
	while (*owed && sdp_direct_say(direct, mid, SDP_CHAN_ANSWER))
		--*owed;
	return !*owed;
}

/* Sends a message if it is owed; whether none is any more. */
static bool sdp_direct_say_once(struct sdp_direct *direct, bool *owed, u8 mid)
{
	if (*owed && sdp_direct_say(direct, mid, SDP_CHAN_ANSWER))
		*owed = false;
	return !*owed;
}

/* Says what it owes the peer for what the peer advertised; whether that was all. */
static bool sdp_direct_answers(struct sdp_direct *direct)
{
	struct sdp_target *target = &direct->target;
	struct sdp_sink *sink = &direct->sink;

	if (target->say_written &&
	    !sdp_direct_say_field(direct, SDP_MID_RDMA_WR_COMPL, target->say_written))
		return false;
	target->say_written = 0;
	while (sink->say_read) {
		if (!sdp_direct_say_field(direct, SDP_MID_RDMA_RD_COMPL, sink->say_read))
			return false;
		sdp_sink_told(sink);
		/* The next one's turn. */
		if (sink->state == SDP_SINK_OFFERED)
			direct->sk.sk_data_ready(&direct->sk);
	}
	return sdp_direct_answer(direct, &sink->say_sm, SDP_MID_SEND_SM) &&
	       sdp_direct_answer(direct, &target->say_acks, SDP_MID_SINK_CANCEL_ACK);
}

/* The same for what this end advertised, and for its mode. */
static bool sdp_direct_zcopy(struct sdp_direct *direct)
{
	if (!sdp_direct_answers(direct) ||
	    !sdp_direct_say_once(direct, &direct->src.say_cancel, SDP_MID_SRC_AVAIL_CANCEL) ||
	    !sdp_direct_say_once(direct, &direct->room.say_cancel, SDP_MID_SINK_AVAIL_CANCEL))
		return false;
	if (direct->tx_mode != direct->tx_mode_told &&
	    !sdp_direct_say_field(direct, SDP_MID_MODE_CHANGE,
				  direct->tx_mode << SDP_MODE_SHIFT))
		return false;
	direct->tx_mode_told = direct->tx_mode;
	return true;
}

/* As for a joined connection, a short message waits for more bytes while others go. */
static bool sdp_direct_gathers(struct sock *sk, struct sdp_chan *chan, struct sk_buff *skb)
{
	return !sdp_direct(sk)->nodelay && skb->len < chan->most && !*sdp_direct_offers(skb) &&
	       skb_queue_is_last(&sk->sk_write_queue, skb) &&
	       !(sk->sk_shutdown & SEND_SHUTDOWN) && sdp_chan_busy(chan);
}

/* Sends what was written; whether that was all.  The channel keeps what it needs of it. */
static bool sdp_direct_data(struct sock *sk, struct sdp_chan *chan)
{
	struct sdp_chan_out out = { .class = SDP_CHAN_STREAM };
	struct sdp_direct *direct = sdp_direct(sk);
	int err;

	while ((out.skb = skb_peek(&sk->sk_write_queue))) {
		bool offers = *sdp_direct_offers(out.skb);

		if (sdp_direct_gathers(sk, chan, out.skb) || sdp_src_is_out(&direct->src))
			return false;
		out.mid = offers ? SDP_MID_SRC_AVAIL : SDP_MID_DATA;
		out.ext = &direct->srcah;
		out.ext_len = offers ? sizeof(direct->srcah) : 0;
		err = sdp_chan_send(chan, &out);
		/* Room is told of, memory is not. */
		if (err == -ENOMEM)
			sk_reset_timer(sk, &sk->sk_timer, jiffies + SDP_DIRECT_AGAIN);
		if (err)
			return false;
		__skb_unlink(out.skb, &sk->sk_write_queue);
		direct->queued -= out.skb->len;
		if (out.skb->len)
			sdp_target_stream(&direct->target);
		consume_skb(out.skb);
		if (offers)
			sdp_src_sent(&direct->src);
		direct->deadline = jiffies + SDP_DIRECT_LATE;
	}
	return !sdp_src_is_out(&direct->src);
}

/* The channel ends if the link does not need it any more; the socket's lock held. */
static void sdp_direct_finish(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);

	if (direct->fin_sent && direct->fin_came) {
		sdp_direct_ended(sk, 0);
		direct->ending = true;
	}
	if (direct->ending && !sdp_chan_busy(&direct->link->chan))
		sdp_chan_end(&direct->link->chan);
}

/* Answers and data, in the order that the peer needs; whether that was all.  It is connected. */
static bool sdp_direct_flush(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);

	return sdp_direct_zcopy(direct) &&
	       sdp_direct_answer(direct, &direct->buf_acks, SDP_MID_CH_RCV_BUF_ACK) &&
	       sdp_direct_data(sk, &direct->link->chan);
}

/* Sends what there is to be sent; lock held. */
void sdp_direct_push(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);

	if (!direct->link)
		return;
	if (sk->sk_state == TCP_ESTABLISHED && sdp_direct_flush(sk) &&
	    sk->sk_shutdown & SEND_SHUTDOWN && !direct->fin_sent)
		direct->fin_sent = sdp_direct_say(direct, SDP_MID_DISCONN, SDP_CHAN_ANSWER);
	sdp_direct_finish(sk);
}

/* Ends a connection at once, as sdp_direct_ended(); lock held. */
void sdp_direct_abort(struct sock *sk, int err)
{
	struct sdp_direct *direct = sdp_direct(sk);

	if (!direct->link || direct->ending)
		return;
	/* A peer that has no buffer for it sees the end of the connection. */
	if (sk->sk_state == TCP_ESTABLISHED)
		sdp_direct_say(direct, SDP_MID_ABORT_CONN, SDP_CHAN_LAST);
	sdp_direct_ended(sk, err);
	direct->ending = true;
	sdp_chan_end(&direct->link->chan);
}

/*
 * Gives an attempt to connect up; lock held.  The socket may connect again at once.  Returns the
 * connection, whose channel the caller puts without the lock.
 */
struct sdp_direct_link *sdp_direct_detach(struct sock *sk, int err)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_direct_link *link = direct->link;

	direct->link = NULL;
	sdp_direct_ended(sk, err);
	if (link)
		sdp_chan_end(&link->chan);
	return link;
}

/* --- connections that no program has accepted yet ----------------------------------- */

/* Lets accept(2) have a connection; false if its listener is gone. */
static bool sdp_direct_offer(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sock *parent;
	bool listens;

	spin_lock_bh(&sdp_direct_accepts);
	parent = direct->parent;
	listens = parent && parent->sk_state == TCP_LISTEN;
	if (listens) {
		list_add_tail(&direct->queue, &sdp_direct(parent)->children);
		sock_hold(parent);
	}
	spin_unlock_bh(&sdp_direct_accepts);
	if (!listens)
		return false;
	parent->sk_data_ready(parent);
	sock_put(parent);
	return true;
}

/* One is over before it could be accepted: its socket may go with that. */
void sdp_direct_forget(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sock *parent = NULL;

	spin_lock_bh(&sdp_direct_accepts);
	if (direct->parent && list_empty(&direct->queue)) {
		swap(parent, direct->parent);
		sk_acceptq_removed(parent);
	}
	spin_unlock_bh(&sdp_direct_accepts);
	if (!parent)
		return;
	sock_put(parent);
	/* The queue's. */
	sock_put(sk);
}

/* --- what the channel tells --------------------------------------------------------- */

static void sdp_direct_established(struct sock *sk, bool asked)
{
	sk->sk_state = TCP_ESTABLISHED;
	sdp_count(sock_net(sk), asked ? SDP_CNT_ACCEPTED : SDP_CNT_CONNECTED);
}

/* The peer has accepted: what it says of itself. */
static bool sdp_direct_answered(struct sdp_chan *chan, const void *pdata, unsigned int len)
{
	struct sdp_hello hello;
	enum sdp_bad bad = sdp_parse_hello_ack(pdata, len, &hello);

	if (bad) {
		sdp_count(chan->net, SDP_CNT_BAD + bad);
		return false;
	}
	sdp_direct_link(chan)->adverts = hello.adverts;
	sdp_chan_peer(chan, hello.bufs, hello.rcv_sz);
	return true;
}

static void sdp_direct_opened(struct sdp_chan *chan, const void *pdata, unsigned int len)
{
	struct sdp_direct_link *link = sdp_direct_link(chan);
	struct sdp_direct *direct = sdp_direct(link->sk);
	bool asked = READ_ONCE(direct->parent), good = true, connects;
	struct sdp_direct_link *gone = NULL;

	if (pdata)
		good = sdp_direct_answered(chan, pdata, len);
	spin_lock_bh(&direct->lock);
	connects = direct->link == link && link->sk->sk_state == TCP_SYN_SENT;
	if (connects && good)
		sdp_direct_established(link->sk, asked);
	else if (connects)
		gone = sdp_direct_detach(link->sk, EPROTO);
	else if (!good)
		sdp_chan_end(chan);
	spin_unlock_bh(&direct->lock);
	if (asked && !sdp_direct_offer(link->sk)) {
		spin_lock_bh(&direct->lock);
		sdp_direct_abort(link->sk, 0);
		spin_unlock_bh(&direct->lock);
	}
	link->sk->sk_state_change(link->sk);
	if (connects && good && !asked)
		sk_wake_async(link->sk, SOCK_WAKE_IO, POLL_OUT);
	/* The transport has a reference to it, too. */
	if (gone)
		sdp_chan_put(chan);
}

static void sdp_direct_acked(struct sdp_chan *chan, u32 count, bool more)
{
}

static void sdp_direct_room(struct sdp_chan *chan)
{
	struct sdp_direct_link *link = sdp_direct_link(chan);
	struct sdp_direct *direct = sdp_direct(link->sk);

	spin_lock_bh(&direct->lock);
	if (direct->link == link)
		sdp_direct_push(link->sk);
	spin_unlock_bh(&direct->lock);
	/* close(2) waits until nothing is on its way. */
	if (sock_flag(link->sk, SOCK_DEAD))
		link->sk->sk_state_change(link->sk);
}

/* Of what keeps a connection from being made, programs know these. */
static int sdp_direct_unreachable(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
	case -ENETUNREACH:
	case -ENOBUFS:
	case -ENOMEM:
	case -ETIMEDOUT:
		return err;
	case -EDQUOT:
		return -ENOBUFS;
	case -ENODEV:
		return -ENETDOWN;
	default:
		return -EHOSTUNREACH;
	}
}

/* A negative errno. */
static int sdp_direct_why(const struct sdp_direct *direct, const struct sdp_chan_end *end)
{
	switch (end->type) {
	case SDP_XPRT_REJECTED:
		return -ECONNREFUSED;
	case SDP_XPRT_UNREACHABLE:
		return sdp_direct_unreachable(end->error);
	case SDP_XPRT_DEVICE_GONE:
		return -ENETDOWN;
	default:
		if (end->error == -ETIMEDOUT)
			return -ETIMEDOUT;
		return direct->fin_came ? -EPIPE : -ECONNRESET;
	}
}

static void sdp_direct_over(struct sdp_chan *chan, const struct sdp_chan_end *end)
{
	struct sdp_direct_link *link = sdp_direct_link(chan);
	struct sdp_direct *direct = sdp_direct(link->sk);
	bool mine;

	spin_lock_bh(&direct->lock);
	mine = direct->link == link;
	if (mine) {
		direct->link = NULL;
		sdp_direct_ended(link->sk, -sdp_direct_why(direct, end));
	}
	spin_unlock_bh(&direct->lock);
	if (!mine)
		return;
	/* close(2) waits for it where the socket itself was at its end before. */
	link->sk->sk_state_change(link->sk);
	sk_stop_timer(link->sk, &link->sk->sk_timer);
	sdp_direct_forget(link->sk);
	sdp_chan_put(chan);
}

static void sdp_direct_free(struct sdp_chan *chan)
{
	struct sdp_direct_link *link = sdp_direct_link(chan);

	sock_put(link->sk);
	kfree(link);
}

const struct sdp_chan_user sdp_direct_user = {
	/* What the peer reads, and writes into; what is read of the peer's, and written into it. */
	.rdma_depth	= 4,
	.stream		= sdp_direct_stream,
	.open		= sdp_direct_opened,
	.message	= sdp_direct_message,
	.bad		= sdp_direct_bad,
	.acked		= sdp_direct_acked,
	.room		= sdp_direct_room,
	.over		= sdp_direct_over,
	.free		= sdp_direct_free,
};

/* --- after the last reference to the socket ------------------------------------------- */

/* The last reference to a socket is gone. */
void sdp_direct_drop(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	bool unread, at_once;

	spin_lock_bh(&direct->lock);
	sock_set_flag(sk, SOCK_DEAD);
	at_once = sk->sk_state == TCP_SYN_SENT ||
		  (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime);
	unread = !skb_queue_empty(&sk->sk_receive_queue) || sdp_sink_is_open(&direct->sink);
	sk->sk_shutdown = SHUTDOWN_MASK;
	/* The last words of a program that reads no more may have waited for others. */
	if (unread && !at_once && direct->link && sk->sk_state == TCP_ESTABLISHED)
		sdp_direct_flush(sk);
	if (unread || at_once)
		sdp_direct_abort(sk, 0);
	else
		sdp_direct_push(sk);
	direct->deadline = jiffies + SDP_DIRECT_LATE;
	if (direct->link && !timer_pending(&sk->sk_timer))
		sk_reset_timer(sk, &sk->sk_timer, direct->deadline);
	spin_unlock_bh(&direct->lock);
}

/* There was no memory, or a connection without a program takes too long to end. */
void sdp_direct_late(struct timer_list *timer)
{
	struct sock *sk = timer_container_of(sk, timer, sk_timer);
	struct sdp_direct *direct = sdp_direct(sk);

	spin_lock_bh(&direct->lock);
	if (!sock_flag(sk, SOCK_DEAD) || time_before(jiffies, direct->deadline))
		sdp_direct_push(sk);
	else if (direct->link)
		sdp_chan_end(&direct->link->chan);
	/* Unless there is still no memory, it is called again at the deadline. */
	if (sock_flag(sk, SOCK_DEAD) && direct->link && !timer_pending(&sk->sk_timer) &&
	    time_before(jiffies, direct->deadline))
		sk_reset_timer(sk, &sk->sk_timer, direct->deadline);
	spin_unlock_bh(&direct->lock);
	sock_put(sk);
}

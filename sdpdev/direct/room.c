// SPDX-License-Identifier: GPL-2.0
/*
 * Write Zcopy, the sink: a program that waits in recv(2) with a large buffer advertises it, and
 * the peer writes the next bytes of the stream into it.  What the peer sends by messages instead,
 * or does not send before the call has to end, makes the advertisement void.  sdp/write.h has the
 * rules.
 *
 * The peer may write in Pipelined mode only, which it asks for.  In Combined mode it may where
 * that answers SrcAvail, which this end does if it cannot read.
 *
 * The peer's access ends before the call does: see sdp_chan_mem_free().
 */
#include <linux/wait.h>
#include <linux/wait_bit.h>

#include "core/core.h"
#include "direct/direct.h"
#include "offload/net.h"
#include "sdp/wire.h"

/* More than a message has: a peer that has as much to send has it at once. */
#define SDP_DIRECT_ROOM		SZ_32K

/* A call that takes its memory back need not wait any longer: the advertisement is answered. */
void sdp_direct_wake_room(struct sock *sk)
{
	sk->sk_state_change(sk);
	/* A waiter sees the answer, or is seen: pairs with the barrier of set_current_state(). */
	smp_mb();
	wake_up_var(&sdp_direct(sk)->room);
}

/* Does the peer wait for SinkAvail, or want it?  The socket's lock is held. */
static bool sdp_direct_is_wanted(const struct sdp_direct *direct)
{
	if (direct->rx_mode == SDP_MODE_PIPELINED && !sdp_sink_is_open(&direct->sink))
		return !direct->sink.refusing;
	return direct->sink.state == SDP_SINK_OFFERED && !direct->sink.waiting &&
	       !(direct->link->chan.caps & SDP_XPRT_CAP_READ);
}

/* May memory be advertised now?  The socket's lock is held. */
static bool sdp_direct_may_invite(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);

	return sk->sk_state == TCP_ESTABLISHED && direct->link && !direct->fin_came &&
	       direct->link->chan.caps & SDP_XPRT_CAP_MEM && sdp_direct_is_wanted(direct) &&
	       skb_queue_empty(&sk->sk_receive_queue) && !direct->sink.say_read &&
	       !direct->sink.say_sm && sdp_room_may(&direct->room);
}

/* The channel, referenced, if it may; or NULL. */
static struct sdp_chan *sdp_direct_inviting(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_chan *chan = NULL;

	spin_lock_bh(&direct->lock);
	if (!sdp_direct_may_invite(sk)) {
		;
	} else if (direct->room_skip) {
		direct->room_skip--;
	} else {
		chan = &direct->link->chan;
		refcount_inc(&chan->refs);
	}
	spin_unlock_bh(&direct->lock);
	return chan;
}

/* Sends SinkAvail; false: it may not be sent now. */
static bool sdp_direct_room_offer(struct sock *sk, struct sdp_chan *chan,
				  const struct sdp_direct_pages *p)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_sinkah sinkah = {
		.len = cpu_to_be32(p->len),
		.key = cpu_to_be32(p->cm.mem->key),
		.addr = cpu_to_be64(p->cm.mem->addr),
	};
	const struct sdp_chan_out out = {
		.mid = SDP_MID_SINK_AVAIL,
		.class = SDP_CHAN_STREAM,
		.ext = &sinkah,
		.ext_len = sizeof(sinkah),
	};
	bool good;

	spin_lock_bh(&direct->lock);
	sinkah.nondiscards = cpu_to_be32(direct->room.nondiscards);
	good = sdp_direct_may_invite(sk) && &direct->link->chan == chan &&
	       !sdp_chan_send(chan, &out);
	if (good) {
		if (sdp_sink_is_open(&direct->sink))
			sdp_sink_crossed(&direct->sink);
		sdp_room_offer(&direct->room, p->len);
	}
	spin_unlock_bh(&direct->lock);
	return good;
}

/* The socket may have another connection. */
static bool sdp_direct_is_filled(struct sock *sk, const struct sdp_chan *chan)
{
	const struct sdp_direct *direct = sdp_direct(sk);
	const struct sdp_direct_link *link = READ_ONCE(direct->link);
	u8 state = READ_ONCE(direct->room.state);

	return state == SDP_ROOM_ANSWERED || state == SDP_ROOM_NONE ||
	       (link && &link->chan != chan);
}

/* Takes the advertisement back, and waits until the peer knows; not long. */
static void sdp_direct_room_cancel(struct sock *sk, const struct sdp_chan *chan)
{
	struct sdp_direct *direct = sdp_direct(sk);

	sdp_count(sock_net(sk), SDP_CNT_ZCOPY_UNINVITED);
	spin_lock_bh(&direct->lock);
	if (direct->link && &direct->link->chan == chan) {
		sdp_room_cancel(&direct->room);
		sdp_direct_push(sk);
	}
	spin_unlock_bh(&direct->lock);
	if (wait_var_event_timeout(&direct->room, sdp_direct_is_filled(sk, chan),
				   SDP_DIRECT_CANCEL))
		return;
	spin_lock_bh(&direct->lock);
	if (direct->link && &direct->link->chan == chan) {
		sdp_direct_abort(sk, ETIMEDOUT);
		sdp_room_end(&direct->room);
	}
	spin_unlock_bh(&direct->lock);
}

/* Waits for the peer's answer.  Returns bytes that have come. */
static u32 sdp_direct_room_wait(struct sock *sk, const struct sdp_chan *chan, long *timeo)
{
	struct sdp_direct *direct = sdp_direct(sk);
	u32 n = 0;
	long left;

	left = wait_event_interruptible_timeout(*sk_sleep(sk), sdp_direct_is_filled(sk, chan) ||
						READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN,
						*timeo);
	/* An interrupted call finds the signal again. */
	if (left >= 0)
		*timeo = left;
	if (!sdp_direct_is_filled(sk, chan))
		sdp_direct_room_cancel(sk, chan);
	spin_lock_bh(&direct->lock);
	if (!direct->link || &direct->link->chan == chan) {
		n = sdp_room_take(&direct->room);
		direct->room_misses = n ? 0 : min_t(u32, direct->room_misses + 1,
						    SDP_DIRECT_MISSES);
		direct->room_skip = n ? 0 : BIT(direct->room_misses);
		direct->rx_bytes += n;
		direct->rx_zcopy += n;
		direct->rx_written += n;
	}
	spin_unlock_bh(&direct->lock);
	/* Others may advertise now. */
	sk->sk_state_change(sk);
	return n;
}

/* Memory that is enough for the peer to write into, in bytes, or zero. */
u32 sdp_direct_is_roomy(struct sock *sk, const struct msghdr *msg, size_t len)
{
	u32 n = min_t(size_t, sdp_direct_worth(&msg->msg_iter, SDP_DIRECT_ROOM), len);

	return n >= SDP_DIRECT_ROOM && READ_ONCE(sdp_net(sock_net(sk))->zcopy) ? n : 0;
}

/*
 * Lets the peer write the next bytes, of which there are none yet, into @msg, and waits *@timeo
 * jiffies, at least one.  Returns bytes that have come; zero: they come another way, or none.
 */
size_t sdp_direct_invite(struct sock *sk, struct msghdr *msg, size_t len, long *timeo)
{
	u32 most = sdp_direct_is_roomy(sk, msg, len), n = 0;
	struct sdp_chan *chan = most ? sdp_direct_inviting(sk) : NULL;
	struct sdp_direct_pages p = {};

	if (!chan)
		return 0;
	if (!sdp_direct_pin(&p, chan, &msg->msg_iter, most, SDP_XPRT_PEER_WRITES) &&
	    p.len >= SDP_DIRECT_ROOM && sdp_direct_room_offer(sk, chan, &p)) {
		sdp_count(sock_net(sk), SDP_CNT_ZCOPY_INVITED);
		n = sdp_direct_room_wait(sk, chan, timeo);
	}
	sdp_direct_unpin(&p);
	sdp_chan_put(chan);
	iov_iter_advance(&msg->msg_iter, n);
	return n;
}

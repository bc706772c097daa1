// SPDX-License-Identifier: GPL-2.0
/*
 * Read Zcopy, the source: a program that waits in send(2) with many bytes advertises its own
 * memory, and the peer reads it.  What the peer does not read in time, or does not want to read,
 * goes by copies.  sdp/zcopy.h has the states.
 *
 * In Combined mode the first bytes go along with the advertisement.  A peer that takes several
 * messages so gets the half Pipelined, in which it may let this end write (target.c).
 *
 * The advertisement is a message in sk_write_queue as any other, so the bytes keep their order.
 * None is sent behind it before the peer has answered.
 */
#include <linux/wait.h>
#include <linux/wait_bit.h>

#include "core/core.h"
#include "direct/direct.h"
#include "offload/net.h"

/* Bytes that go along with the advertisement: a header, which many programs read by itself. */
#define SDP_DIRECT_FIRST	256U

/* A program of the peer's that reads does so before. */
#define SDP_DIRECT_PATIENCE	(HZ / 5)

/* And after so many messages without a copy at most, a half that has failed is Pipelined again. */
#define SDP_DIRECT_HITS_MOST	64

/* The channel, referenced, if an advertisement may be sent now, in @mode; or NULL. */
static struct sdp_chan *sdp_direct_source(struct sock *sk, u8 *mode)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_chan *chan = NULL;

	spin_lock_bh(&direct->lock);
	if (sdp_direct_may_send(sk) && direct->src.state == SDP_SRC_IDLE &&
	    direct->tx_mode != SDP_MODE_BUFFERED && !direct->target.n &&
	    direct->link->chan.caps & SDP_XPRT_CAP_MEM) {
		*mode = direct->tx_mode;
		if (direct->src_skip) {
			direct->src_skip--;
		} else {
			chan = &direct->link->chan;
			refcount_inc(&chan->refs);
		}
	}
	spin_unlock_bh(&direct->lock);
	return chan;
}

/* The message, with the first bytes of @msg, which keeps them; or NULL. */
static struct sk_buff *sdp_direct_srcavail(struct sock *sk, struct msghdr *msg, u32 n)
{
	struct sk_buff *skb = sock_wmalloc(sk, n, true, sk->sk_allocation);

	if (!skb)
		return NULL;
	if (!copy_from_iter_full(skb_put(skb, n), n, &msg->msg_iter)) {
		kfree_skb(skb);
		return NULL;
	}
	iov_iter_revert(&msg->msg_iter, n);
	*sdp_direct_offers(skb) = true;
	return skb;
}

/* Queues the message; false: the connection has changed meanwhile. */
static bool sdp_direct_advertise(struct sock *sk, struct sdp_chan *chan, struct sk_buff *skb,
				 const struct sdp_direct_pages *p, u8 mode)
{
	struct sdp_direct *direct = sdp_direct(sk);
	bool good;

	spin_lock_bh(&direct->lock);
	good = sdp_direct_may_send(sk) && &direct->link->chan == chan &&
	       direct->src.state == SDP_SRC_IDLE && direct->tx_mode == mode &&
	       !direct->target.n;
	if (good) {
		sdp_src_queue(&direct->src, p->len, skb->len);
		direct->srcah.len = cpu_to_be32(p->len);
		direct->srcah.key = cpu_to_be32(p->cm.mem->key);
		direct->srcah.addr = cpu_to_be64(p->cm.mem->addr);
		direct->queued += skb->len;
		__skb_queue_tail(&sk->sk_write_queue, skb);
		sdp_direct_push(sk);
	}
	spin_unlock_bh(&direct->lock);
	if (!good)
		kfree_skb(skb);
	return good;
}

/*
 * A call that takes its memory back need not wait any longer: the advertisement is answered.
 * sk_state_change() wakes only those that a signal wakes, too.
 */
void sdp_direct_wake_source(struct sock *sk)
{
	/* A waiter sees the answer, or is seen: pairs with the barrier of set_current_state(). */
	smp_mb();
	wake_up_var(&sdp_direct(sk)->src);
}

static bool sdp_direct_is_answered(struct sock *sk)
{
	u8 state = READ_ONCE(sdp_direct(sk)->src.state);

	/* The socket may have another connection. */
	return state == SDP_SRC_ANSWERED || state == SDP_SRC_IDLE;
}

static bool sdp_direct_is_pointless(struct sock *sk)
{
	return sdp_direct_is_answered(sk) || READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN;
}

/* The message is in the queue, and stays there. */
static void sdp_direct_withdraw(struct sock *sk)
{
	struct sk_buff *skb;

	skb_queue_walk(&sk->sk_write_queue, skb)
		if (*sdp_direct_offers(skb)) {
			__skb_unlink(skb, &sk->sk_write_queue);
			sdp_direct(sk)->queued -= skb->len;
			kfree_skb(skb);
			return;
		}
}

/* The peer lets this end write, and so does not read; lock held. */
void sdp_direct_crossed(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);

	if (sdp_src_crossed(&direct->src))
		sdp_direct_withdraw(sk);
	if (direct->src.state != SDP_SRC_ANSWERED)
		return;
	sk->sk_state_change(sk);
	sdp_direct_wake_source(sk);
}

/* A large message went without a copy; lock held. */
void sdp_direct_hit(struct sdp_direct *direct)
{
	direct->src_misses = 0;
	direct->src_skip = 0;
	direct->src_hits++;
	/* A peer that takes one at a time has no use for it. */
	if (direct->tx_mode != SDP_MODE_COMBINED || direct->src_hits < direct->src_enough ||
	    !direct->link || direct->link->adverts < 2)
		return;
	direct->tx_mode = SDP_MODE_PIPELINED;
}

/* One did not: only Combined mode brings a header along, which many programs read first. */
static void sdp_direct_miss(struct sdp_direct *direct)
{
	direct->src_misses = min_t(u32, direct->src_misses + 1, SDP_DIRECT_MISSES);
	direct->src_skip = BIT(direct->src_misses);
	direct->src_hits = 0;
	if (direct->tx_mode != SDP_MODE_PIPELINED)
		return;
	direct->tx_mode = SDP_MODE_COMBINED;
	direct->src_enough = min_t(u32, 2 * direct->src_enough, SDP_DIRECT_HITS_MOST);
}

/* Takes the advertisement back, and waits until the peer knows; not long. */
static void sdp_direct_cancel(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);

	sdp_count(sock_net(sk), SDP_CNT_ZCOPY_CANCELLED);
	spin_lock_bh(&direct->lock);
	if (sdp_src_cancel(&direct->src))
		sdp_direct_withdraw(sk);
	sdp_direct_push(sk);
	spin_unlock_bh(&direct->lock);
	if (wait_var_event_timeout(&direct->src, sdp_direct_is_answered(sk), SDP_DIRECT_CANCEL))
		return;
	spin_lock_bh(&direct->lock);
	sdp_direct_abort(sk, ETIMEDOUT);
	sdp_src_end(&direct->src);
	spin_unlock_bh(&direct->lock);
}

/* Waits for the peer's answer.  Returns bytes that it has. */
static u32 sdp_direct_offered(struct sock *sk, long *timeo)
{
	struct sdp_direct *direct = sdp_direct(sk);
	long wait = min_t(long, *timeo, SDP_DIRECT_PATIENCE), left;
	u32 has;

	left = wait_event_interruptible_timeout(*sk_sleep(sk), sdp_direct_is_pointless(sk), wait);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= wait - max(left, 0L);
	if (!sdp_direct_is_answered(sk))
		sdp_direct_cancel(sk);
	spin_lock_bh(&direct->lock);
	if (direct->src.len && direct->src.read == direct->src.len)
		sdp_direct_hit(direct);
	else if (!direct->src.crossed)
		sdp_direct_miss(direct);
	has = sdp_src_take(&direct->src);
	direct->tx_bytes += has;
	if (direct->src.read > direct->src.first)
		direct->tx_zcopy += direct->src.read - direct->src.first;
	/* What has waited for the answer. */
	sdp_direct_push(sk);
	spin_unlock_bh(&direct->lock);
	/* Others wait for that, too. */
	sk->sk_state_change(sk);
	return has;
}

/*
 * Writes the next bytes of a message to the peer, or lets the peer read them, and waits *@timeo
 * jiffies at most.  Returns bytes that the peer has got; zero: the next ones are to be copied.
 */
size_t sdp_direct_lend(struct sock *sk, struct msghdr *msg, long *timeo)
{
	u32 least = READ_ONCE(sdp_net(sock_net(sk))->zcopy), most, has = 0, first;
	struct sdp_direct_pages p = {};
	struct sdp_chan *chan;
	struct sk_buff *skb;
	u8 mode;

	most = least ? sdp_direct_worth(&msg->msg_iter, max(least, SDP_DIRECT_FIRST + 1)) : 0;
	has = most && *timeo ? sdp_direct_fill(sk, msg, most) : 0;
	if (has)
		return has;
	chan = most && *timeo ? sdp_direct_source(sk, &mode) : NULL;
	if (!chan)
		return 0;
	first = min_t(u32, SDP_DIRECT_FIRST, chan->most - sizeof(struct sdp_srcah));
	if (mode == SDP_MODE_PIPELINED)
		first = 0;
	/* First of all: a fault may take its time, and what the transport knows keeps a device. */
	skb = sdp_direct_srcavail(sk, msg, first);
	if (!skb || sdp_direct_pin(&p, chan, &msg->msg_iter, most, SDP_XPRT_PEER_READS) ||
	    p.len <= first) {
		kfree_skb(skb);
	} else if (sdp_direct_advertise(sk, chan, skb, &p, mode)) {
		sdp_count(sock_net(sk), SDP_CNT_ZCOPY_OFFERED);
		has = sdp_direct_offered(sk, timeo);
	}
	sdp_direct_unpin(&p);
	sdp_chan_put(chan);
	iov_iter_advance(&msg->msg_iter, has);
	return has;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Carriers of messages come to a connection, and go.
 *
 *	NONE -- ops->ask() --> ASKED -- sdp_carrier_joined() --> JOINED -- lost, or left --> NONE
 *	   \-------- sdp_carrier_answer() ----------------------/
 *
 * The end that connected asks (ask.c).  carrier.c has what a carrier's module calls.
 *
 * Callers hold the lock of the endpoint's socket, in any context, unless a comment says otherwise.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "offload/avoid.h"
#include "offload/lane.h"
#include "offload/net.h"

/* Bytes that wait so long for an acknowledgment go by TCP. */
#define SDP_LANE_PATIENCE	(5UL * HZ)

/* The peer has given up a carrier for want of use if it ends after so long without any. */
#define SDP_LANE_IDLE		(1UL * HZ)

static struct workqueue_struct *sdp_lane_wq;

/*
 * Lanes outlive their carriers, whose buffers come and go by the dozen.  In one cache with those
 * each lane of an idle connection would keep a page to itself.
 */
static struct kmem_cache *sdp_lane_cache;

static void sdp_lane_work(struct work_struct *work);

/* --- the lane ------------------------------------------------------------------ */

static void sdp_lane_reclaim(struct rcu_head *rcu)
{
	kmem_cache_free(sdp_lane_cache, container_of(rcu, struct sdp_lane, rcu));
}

void sdp_lane_put(struct sdp_lane *lane)
{
	if (refcount_dec_and_test(&lane->refs))
		call_rcu(&lane->rcu, sdp_lane_reclaim);
}

struct sdp_lane *sdp_lane_new(struct sdp_sock *ss, gfp_t gfp)
{
	struct sdp_lane *lane = kmem_cache_zalloc(sdp_lane_cache, gfp | __GFP_NOWARN);

	if (!lane)
		return NULL;
	refcount_set(&lane->refs, 1);
	spin_lock_init(&lane->lock);
	__skb_queue_head_init(&lane->kept);
	__skb_queue_head_init(&lane->held);
	__skb_queue_head_init(&lane->queue);
	INIT_DELAYED_WORK(&lane->work, sdp_lane_work);
	lane->ss = ss;
	lane->sk = ss->sk;
	/* Pairs with sdp_sock_lane(). */
	smp_store_release(&ss->lane, lane);
	return lane;
}

/* TCP calls it in the socket's lock: what TCP has got may not be the program's. */
void sdp_lane_data_ready(struct sock *sk)
{
	struct sdp_sock *ss = rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data, true);

	/* A client in the kernel that is gone may have put it back. */
	if (ss->lane)
		sdp_lane_run(ss->lane);
	if (sdp_rx_more(ss, 0) || sk->sk_shutdown & RCV_SHUTDOWN)
		ss->base->data_ready(sk);
}

/*
 * In the place of the kernel's own callback only, as long as the lane lives.  A client in the
 * kernel that has saved it may put it back later.
 */
void sdp_lane_hear(struct sdp_sock *ss, bool on)
{
	struct sock *sk = ss->sk;

	write_lock_bh(&sk->sk_callback_lock);
	if (on && sk->sk_data_ready == ss->base->data_ready) {
		sk->sk_data_ready = sdp_lane_data_ready;
		ss->callback = true;
	} else if (!on && sk->sk_data_ready == sdp_lane_data_ready) {
		sk->sk_data_ready = ss->base->data_ready;
		ss->callback = false;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

/* @delay jiffies from now at the latest; the work holds a reference to the lane. */
void sdp_lane_later(struct sdp_lane *lane, unsigned long delay)
{
	if (delay && delayed_work_pending(&lane->work) &&
	    !time_after(lane->due, jiffies + delay))
		return;
	lane->due = jiffies + delay;
	refcount_inc(&lane->refs);
	if (mod_delayed_work(sdp_lane_wq, &lane->work, delay))
		refcount_dec(&lane->refs);
}

/* Has a carrier, which is joined, had no bytes for so long, and does nothing wait for it? */
static bool sdp_lane_idle(const struct sdp_lane *lane, unsigned long time)
{
	return lane->carrier->joined && time_after_eq(jiffies, lane->active + time) &&
	       skb_queue_empty(&lane->kept) && skb_queue_empty(&lane->held) &&
	       skb_queue_empty(&lane->queue) && lane->tx.state != SDP_HALF_TX_BACK &&
	       lane->rx.state != SDP_HALF_RX_SKIP &&
	       !lane->say_switch && !lane->say_note && !lane->say_leave && !lane->back;
}

/* A carrier that is idle is given up.  Its memory goes, and the sender owes TCP a record. */
static void sdp_lane_look_idle(struct sdp_lane *lane)
{
	unsigned long idle = (unsigned long)sdp_net_idle(sock_net(lane->sk)) * HZ;

	/* An end that may not go by TCP, and did not connect, could not ask for another one. */
	if (!lane->carrier || !idle || sdp_only(lane->ss))
		return;
	if (sdp_lane_idle(lane, idle)) {
		sdp_lane_lose(lane);
		return;
	}
	if (time_before(jiffies, lane->active + idle))
		idle = lane->active + idle - jiffies;
	sdp_lane_later(lane, idle);
}

/* Has it carried what a connection has to carry before it asks for one? */
static bool sdp_lane_was_worth(const struct sdp_lane *lane, const struct sdp_carrier *c)
{
	const struct sdp_net *sn = sdp_net(sock_net(lane->ss->sk));

	return c->data >= READ_ONCE(sn->move_messages) || c->bytes >= READ_ONCE(sn->move_bytes);
}

/*
 * The lane has no carrier any more.  What it has brought, and the half has not taken in, is
 * dropped.
 */
void sdp_lane_lose(struct sdp_lane *lane)
{
	struct sdp_carrier *c = lane->carrier;
	bool idle = c && c->refusal != SDP_REFUSED_UNREACHABLE &&
		    sdp_lane_idle(lane, SDP_LANE_IDLE);

	if (!c)
		return;
	sdp_avoid_gone(lane->ss, c);
	WRITE_ONCE(lane->carrier, NULL);
	spin_lock_bh(&c->lock);
	c->sk = NULL;
	skb_queue_splice_tail_init(&c->inbox, &lane->held);
	spin_unlock_bh(&c->lock);
	__skb_queue_purge(&lane->held);
	lane->post = NULL;
	lane->owed = 0;
	lane->say_switch = false;
	lane->say_note = false;
	lane->say_leave = false;
	lane->asking = false;
	lane->end = 0;
	WRITE_ONCE(lane->ready, false);
	rcu_read_lock();
	c->ops->end(c);
	rcu_read_unlock();
	kfree_skb(c->own);
	c->own = NULL;
	if (!c->joined && sdp_only(lane->ss) && lane->ss->moves)
		sdp_stay_set(lane->ss, SDP_STAY_LOST, false);
	else if (!c->joined)
		sdp_stay_vain(lane->ss, SDP_STAY_PEER);
	if (lane->tx.state == SDP_HALF_TX_MOVED) {
		sdp_stay_set(lane->ss, idle ? SDP_STAY_IDLE : SDP_STAY_LOST, true);
		sdp_sock_show(lane->ss, lane->ss->base->ulp);
	}
	lane->ss->again |= idle && sdp_lane_was_worth(lane, c);
	if (sdp_half_tx_lost(&lane->tx, c->number) && !lane->back && !sdp_only(lane->ss)) {
		lane->back = SDP_STAY_LOST;
		sdp_lane_later(lane, 0);
	}
	if (sdp_only(lane->ss))
		sdp_seek(lane->ss);
	sdp_half_rx_lost(&lane->rx, c->number);
	sdp_carrier_put(c);
}

/* Has an endpoint a carrier, or asked for one? */
bool sdp_lane_asked(const struct sdp_sock *ss)
{
	return ss->lane && ss->lane->carrier;
}

/* The same without the socket's lock: a guess. */
bool sdp_lane_asking(const struct sdp_lane *lane)
{
	return READ_ONCE(lane->carrier);
}

/* Lets go of a lane that nothing needs; true if there is none. */
bool sdp_lane_clear(struct sdp_sock *ss)
{
	struct sdp_lane *lane = ss->lane;

	if (!lane)
		return true;
	/* Records that went by TCP are no part of the stream, and the next carrier counts them. */
	if (lane->carrier || lane->tx.state != SDP_HALF_TX_TCP || !sdp_lane_by_tcp(lane) ||
	    lane->tx.base || lane->rx.base)
		return false;
	sdp_lane_leave(ss);
	return true;
}

/* Looks at what has happened.  The carrier may be lost meanwhile. */
void sdp_lane_run(struct sdp_lane *lane)
{
	struct sdp_carrier *c = lane->carrier;
	unsigned long events = 0;

	lane->kicked = false;
	if (c) {
		spin_lock_bh(&c->lock);
		skb_queue_splice_tail_init(&c->inbox, &lane->held);
		spin_unlock_bh(&c->lock);
		events = xchg(&c->events, 0);
		if (events & BIT(SDP_CARRIER_JOINED)) {
			c->joined = true;
			sdp_pair_withdraw(lane->ss, false);
			lane->active = jiffies;
			sdp_lane_look_idle(lane);
			sdp_avoid_joined(lane->ss, c);
			if (sdp_only(lane->ss))
				sdp_only_joined(lane);
		}
	}
	/* It may be gone already. */
	if (c && lane->carrier == c) {
		sdp_lane_acked(lane, READ_ONCE(c->acked));
		sdp_lane_take(lane);
	}
	if (c && lane->carrier == c && events & BIT(SDP_CARRIER_LOST)) {
		sdp_avoid_over(lane->ss, c);
		sdp_lane_lose(lane);
	}
	if (c && lane->carrier == c && events)
		sdp_lane_push(lane);
	sdp_lane_look(lane);
	/* A record that was read can be what a Switch has waited for. */
	if (c && lane->carrier == c && !skb_queue_empty(&lane->held))
		sdp_lane_take(lane);
	if (lane->back || lane->reset || lane->redo)
		sdp_lane_later(lane, 0);
}

/* A call lets go of the socket.  It still has the socket, and the spinlock. */
void sdp_lane_release(struct sdp_lane *lane)
{
	if (lane->kicked)
		sdp_lane_run(lane);
}

/* A call has let go of what a Switch may have waited for.  The socket is not locked; may sleep. */
void sdp_lane_kick(struct sdp_sock *ss)
{
	lock_sock(ss->sk);
	if (ss->lane)
		sdp_lane_run(ss->lane);
	release_sock(ss->sk);
}

/* Jiffies that bytes may wait for an acknowledgment. */
unsigned long sdp_lane_patience(const struct sock *sk)
{
	u32 timeout = inet_csk(sk)->icsk_user_timeout;

	return timeout ? min(SDP_LANE_PATIENCE, msecs_to_jiffies(timeout) / 2) :
			 SDP_LANE_PATIENCE;
}

/* What is to be done with the socket locked, in process context. */
static void sdp_lane_do(struct sdp_lane *lane)
{
	struct sdp_sock *ss = lane->ss;
	enum sdp_stay why = lane->back;

	lane->back = SDP_STAY_NOT;
	lane->redo = false;
	sdp_lane_run(lane);
	why = why ?: lane->back;
	sdp_lane_push(lane);
	if (lane->tx.state == SDP_HALF_TX_BACK)
		why = why ?: SDP_STAY_MEMORY;
	else if (lane->tx.state == SDP_HALF_TX_MOVED && !skb_queue_empty(&lane->kept) &&
		 time_after(jiffies, lane->started + sdp_lane_patience(ss->sk)))
		why = why ?: SDP_STAY_STALL;
	lane->back = SDP_STAY_NOT;
	if (why && sdp_tx_return(ss, why)) {
		lane->back = why;
		sdp_lane_later(lane, max(HZ / 50, 1));
	} else if (!skb_queue_empty(&lane->kept)) {
		sdp_lane_later(lane, HZ);
	} else {
		sdp_lane_look_idle(lane);
	}
}

/* The worker does not wait for a call, which may hold the socket for ever. */
static bool sdp_lane_lock(struct sdp_lane *lane, struct sock *sk)
{
	long patience = 0;

	while (!sdp_sock_lock(sk, &patience)) {
		bool kept;

		local_bh_disable();
		bh_lock_sock(sk);
		/* No program has a socket without a file: the lane goes with it. */
		kept = sock_owned_by_user(sk) || !sk->sk_socket;
		if (kept) {
			lane->kicked = true;
			lane->redo = true;
		}
		bh_unlock_sock(sk);
		local_bh_enable();
		if (kept)
			return false;
	}
	return true;
}

static void sdp_lane_work(struct work_struct *work)
{
	struct sdp_lane *lane = container_of(to_delayed_work(work), struct sdp_lane, work);
	bool reset = false;
	int disconnects = 0;
	struct sock *sk;

	spin_lock_bh(&lane->lock);
	sk = lane->sk;
	if (sk)
		sock_hold(sk);
	spin_unlock_bh(&lane->lock);
	if (!sk) {
		sdp_lane_put(lane);
		return;
	}
	if (sdp_lane_lock(lane, sk)) {
		if (lane->ss && sdp_only(lane->ss))
			sdp_only_do(lane);
		else if (lane->ss)
			sdp_lane_do(lane);
		if (lane->ss) {
			reset = lane->reset;
			lane->reset = false;
			disconnects = sk->sk_disconnects;
		}
		release_sock(sk);
	}
	/*
	 * The program's next connection is not meant.  TCP takes the lock itself: a program that
	 * disconnects and connects while TCP waits for it has that one reset.
	 */
	if (reset && READ_ONCE(sk->sk_disconnects) == disconnects)
		tcp_abort(sk, ECONNRESET);
	sock_put(sk);
	sdp_lane_put(lane);
}

/* The program reads no more, and TCP answers what comes from here on. */
void sdp_lane_stop(struct sdp_lane *lane)
{
	sdp_lane_run(lane);
	/* The peer has to learn that the stream ends. */
	if (!lane->fin || lane->tx.state == SDP_HALF_TX_FIN)
		sdp_lane_lose(lane);
}

/* --- the end ------------------------------------------------------------------- */

/*
 * An end's TCP is over.  What has come can still be read.  The socket is locked, or has no other
 * user any more.
 */
void sdp_lane_close(struct sdp_sock *ss)
{
	struct sdp_lane *lane = ss->lane;

	if (!lane)
		return;
	/* What has come is the program's. */
	sdp_lane_run(lane);
	sdp_lane_lose(lane);
	sdp_half_tx_closed(&lane->tx);
	sdp_lane_purge(lane);
	lane->back = SDP_STAY_NOT;
}

/* Context: as sdp_lane_close(). */
void sdp_lane_leave(struct sdp_sock *ss)
{
	struct sdp_lane *lane = ss->lane;

	if (!lane)
		return;
	sdp_lane_close(ss);
	sdp_lane_hear(ss, false);
	spin_lock_bh(&lane->lock);
	lane->sk = NULL;
	spin_unlock_bh(&lane->lock);
	lane->ss = NULL;
	__skb_queue_purge(&lane->queue);
	WRITE_ONCE(ss->lane, NULL);
	if (cancel_delayed_work(&lane->work))
		sdp_lane_put(lane);
	sdp_lane_put(lane);
}

/*
 * May TCP have the connection to itself from now on?  If so, the carrier goes.  If not, the peer is
 * asked to return its direction.  The own direction has returned.
 */
bool sdp_lane_settled(struct sdp_sock *ss)
{
	struct sdp_lane *lane = ss->lane;

	if (!lane)
		return true;
	if (sdp_lane_by_tcp(lane)) {
		sdp_lane_lose(lane);
		return true;
	}
	lane->say_leave = true;
	sdp_lane_push(lane);
	return false;
}

/* @owner returns the ULP's part of a socket, or NULL. */
int sdp_lane_init(struct sdp_sock *(*owner)(const struct sock *sk))
{
	sdp_ask_init(owner);
	sdp_carrier_init();
	sdp_lane_cache = kmem_cache_create("sdp_lane", sizeof(struct sdp_lane), 0, SLAB_ACCOUNT,
					   NULL);
	if (!sdp_lane_cache)
		return -ENOMEM;
	sdp_lane_wq = alloc_workqueue("sdp_lane", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (sdp_lane_wq)
		return 0;
	kmem_cache_destroy(sdp_lane_cache);
	return -ENOMEM;
}

/* No endpoint is left, but work may be queued that finds none. */
void sdp_lane_exit(void)
{
	destroy_workqueue(sdp_lane_wq);
	/* Those that were put last. */
	rcu_barrier();
	kmem_cache_destroy(sdp_lane_cache);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The two ends of a connection find each other.
 *
 * An end comes into the table when its connection has carried enough to be worth it, and the
 * second one to come makes the pair.  Both initial sequence numbers name a connection.  They are
 * no secret on this host: a user that has a network namespace with the same addresses can compute
 * them, but for the time.  So each end's random hash has to be the one that the other end's
 * packets came with, too.  The kernel keeps it beside a packet (skb->hash); no sender can put one
 * there.
 *
 * Addresses are not compared, so they may be translated between the ends; a proxy between the
 * ends makes two connections with numbers of their own.  The reader takes nothing from a pipe
 * unless its TCP has come to the very number where the sender's stopped: a second proof.
 */
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sdp_ring.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/tcp.h>

#include "offload/carrier.h"
#include "offload/net.h"
#include "offload/offload.h"

/* What a connection has to carry before it is asked about again doubles so often, at most. */
#define SDP_LOOKS_MAX		12

/* Milliseconds after which a pipe that stands still is looked after. */
#define SDP_PAIRS_MS		2000

static DEFINE_HASHTABLE(sdp_table, 10);
static LIST_HEAD(sdp_pairs);
static unsigned int sdp_pairs_count;
static DEFINE_SPINLOCK(sdp_table_lock);

static void sdp_pairs_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(sdp_pairs_later, sdp_pairs_work);

/* The number of the end that connected comes first. */
static u64 sdp_sock_key(const struct sdp_sock *ss)
{
	return ss->accepted ? (u64)ss->peer_isn << 32 | ss->isn :
			      (u64)ss->isn << 32 | ss->peer_isn;
}

/* TCP has counted from them; the end that connected counts its SYN as acknowledged. */
void sdp_sock_numbers(struct sdp_sock *ss)
{
	const struct tcp_sock *tp = tcp_sk(ss->sk);

	if (ss->accepted)
		return;
	ss->isn = tp->snd_una - (u32)tp->bytes_acked;
	ss->peer_isn = tp->rcv_nxt - (u32)tp->bytes_received - 1;
}

/*
 * Have the packets of one come to the other?  A TCP that retransmits takes another hash: then
 * the answer is no until its next packet has come.
 */
static bool sdp_sock_sees(const struct sdp_sock *ss, const struct sdp_sock *peer)
{
#ifdef CONFIG_RPS
	u32 hash = READ_ONCE(peer->sk->sk_txhash);

	return hash && READ_ONCE(ss->sk->sk_rxhash) == hash;
#else
	return false;
#endif
}

static struct sdp_sock *sdp_table_find(const struct sdp_sock *ss, enum sdp_table_state state)
{
	struct sdp_sock *peer;

	hash_for_each_possible(sdp_table, peer, node, sdp_sock_key(ss))
		if (peer->table == state && peer->accepted != ss->accepted &&
		    sdp_sock_key(peer) == sdp_sock_key(ss) &&
		    sdp_sock_sees(ss, peer) && sdp_sock_sees(peer, ss))
			return peer;
	return NULL;
}

/* Context: sdp_table_lock held. */
static void sdp_table_set(struct sdp_sock *ss, enum sdp_table_state state)
{
	if (ss->table == SDP_TABLE_OUT && state != SDP_TABLE_OUT)
		hash_add(sdp_table, &ss->node, sdp_sock_key(ss));
	else if (ss->table != SDP_TABLE_OUT && state == SDP_TABLE_OUT)
		hash_del(&ss->node);
	ss->table = state;
}

/* @ss has its numbers from now on, and may come into the table. */
static void sdp_table_name(struct sdp_sock *ss)
{
	if (ss->joined)
		return;
	sdp_sock_numbers(ss);
	ss->passed = ss->isn;
	ss->joined = true;
}

/* A reader under RCU looks into the pair's pipes, too. */
static void sdp_pair_free(struct rcu_head *rcu)
{
	struct sdp_pair *pair = container_of(rcu, struct sdp_pair, rcu);

	sdp_pipe_free(&pair->pipe[0]);
	sdp_pipe_free(&pair->pipe[1]);
	kfree(pair);
}

void sdp_pair_put(struct sdp_pair *pair)
{
	int i;

	if (!refcount_dec_and_test(&pair->refs))
		return;
	spin_lock_bh(&sdp_table_lock);
	list_del(&pair->list);
	sdp_pairs_count--;
	spin_unlock_bh(&sdp_table_lock);
	for (i = 0; i < 2; i++)
		if (pair->pipe[i].shared)
			sdp_shared_uncharge(pair->pipe[i].payer, SDP_SHARE_BYTES);
	call_rcu(&pair->rcu, sdp_pair_free);
}

/*
 * An end does not wait for its other end on this host any more; false if it has found it.  With
 * @asks it asks for a carrier, and waits again if it gets none.  The socket is locked.
 */
bool sdp_pair_withdraw(struct sdp_sock *ss, bool asks)
{
	bool found;

	spin_lock_bh(&sdp_table_lock);
	found = ss->pair;
	if (!found)
		sdp_table_set(ss, asks && ss->table == SDP_TABLE_WAITS ? SDP_TABLE_ASKS :
									 SDP_TABLE_OUT);
	spin_unlock_bh(&sdp_table_lock);
	if (!found)
		sdp_table_name(ss);
	return !found;
}

/*
 * Does the other end, which is on this host and had looked for this one first, ask for a carrier
 * meanwhile?  The socket is locked.
 */
bool sdp_pair_asked(struct sdp_sock *ss)
{
	bool asked;

	if (!sdp_order_has(sock_net(ss->sk), &sdp_carrier_local))
		return false;
	spin_lock_bh(&sdp_table_lock);
	asked = !ss->pair && sdp_table_find(ss, SDP_TABLE_ASKS);
	spin_unlock_bh(&sdp_table_lock);
	return asked;
}

static void sdp_pair_connect(struct sdp_pair *pair, struct sdp_sock *ss, struct sdp_sock *peer)
{
	refcount_set(&pair->refs, 2);
	pair->only = ss->mode == SDP_MODE_ONLY || READ_ONCE(peer->mode) == SDP_MODE_ONLY;
	sdp_pipe_init(sdp_tx_pipe(ss, pair), ss->sk, peer);
	sdp_pipe_init(sdp_tx_pipe(peer, pair), peer->sk, ss);
	pair->pipe[0].only = pair->only;
	pair->pipe[1].only = pair->only;
	list_add_tail(&pair->list, &sdp_pairs);
	if (!sdp_pairs_count++)
		schedule_delayed_work(&sdp_pairs_later, msecs_to_jiffies(SDP_PAIRS_MS));
	/* Pairs with sdp_sock_pair(): an end that sees the pair sees what is in it. */
	smp_store_release(&ss->pair, pair);
	/* The same for the other end. */
	smp_store_release(&peer->pair, pair);
}

/* Calls wait for a pair where no byte may go by TCP. */
static void sdp_pair_wake(struct sdp_pair *pair)
{
	int i;

	for (i = 0; i < 2; i++) {
		spin_lock_bh(&pair->pipe[i].lock);
		sdp_pipe_wake_tx(&pair->pipe[i]);
		spin_unlock_bh(&pair->pipe[i].lock);
	}
}

/*
 * Finds the other end; true if there is a pair.  An end that finds none waits for it in the table,
 * if its namespace uses memory of the host.  The endpoint has no lane, and its socket is locked.
 * Context: any that @gfp allows.
 */
bool sdp_pair_join(struct sdp_sock *ss, gfp_t gfp)
{
	struct sdp_pair *pair = NULL;
	struct sdp_sock *peer;

	if (unlikely(!sdp_order_has(sock_net(ss->sk), &sdp_carrier_local)))
		return false;
	sdp_table_name(ss);
again:
	spin_lock_bh(&sdp_table_lock);
	peer = ss->pair ? NULL : sdp_table_find(ss, SDP_TABLE_WAITS);
	if (peer && !pair) {
		spin_unlock_bh(&sdp_table_lock);
		pair = kzalloc(sizeof(*pair),
			       gfp | __GFP_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
		if (!pair)
			return false;
		goto again;
	}
	if (peer) {
		sdp_table_set(peer, SDP_TABLE_OUT);
		sdp_table_set(ss, SDP_TABLE_OUT);
		sdp_pair_connect(pair, ss, peer);
		pair = NULL;
	} else if (!ss->pair) {
		sdp_table_set(ss, SDP_TABLE_WAITS);
	}
	spin_unlock_bh(&sdp_table_lock);
	kfree(pair);
	if (peer && ss->pair->only)
		sdp_pair_wake(ss->pair);
	return ss->pair;
}

/*
 * Counts a call of an endpoint that is with TCP; true if it is worth sdp_sock_look() now.  The
 * first call is enough where a mode says so, or the other end may have SDP_MODE_ONLY.  Any context,
 * no lock: calls at the same time may count as one.
 */
bool sdp_sock_used(struct sdp_sock *ss, size_t len)
{
	const struct sdp_net *net = sdp_net(sock_net(ss->sk));

	ss->calls++;
	ss->bytes += len;
	if (unlikely(ss->later) && time_before(jiffies, ss->later))
		return false;
	if (unlikely(ss->again))
		return true;
	if (unlikely(ss->mode != SDP_MODE_MOVE || sdp_only_any()) &&
	    (!ss->looks || (ss->mode != SDP_MODE_MOVE && ss->calls >> ss->looks)))
		return true;
	return ss->calls >= (u64)READ_ONCE(net->move_messages) << ss->looks ||
	       ss->bytes >= (u64)READ_ONCE(net->move_bytes) << ss->looks;
}

/*
 * Asks for the kinds in their order; memory of the host is one of them.  SDP_STAY_NOT: it has a
 * pair; SDP_STAY_PASSING: it has asked; or why neither.  The socket is locked, and the gate has
 * nothing against it.  Context: any that @gfp allows.
 */
enum sdp_stay sdp_sock_ask(struct sdp_sock *ss, gfp_t gfp)
{
	enum sdp_stay one, stay = SDP_STAY_PEER;
	const struct sdp_carrier_ops *ops;
	unsigned int at = 0;

	while ((ops = sdp_order_next(sock_net(ss->sk), &at))) {
		if (ops != &sdp_carrier_local)
			one = sdp_lane_ask(ss, ops, gfp);
		else if (sdp_lane_clear(ss) && sdp_pair_join(ss, gfp))
			one = SDP_STAY_NOT;
		else
			one = SDP_STAY_PEER;
		module_put(ops->owner);
		if (one == SDP_STAY_NOT || one == SDP_STAY_PASSING)
			return one;
		if (one != SDP_STAY_PEER)
			stay = one;
	}
	return stay;
}

/*
 * The end that comes second finds the first one.  An end without success asks again when it has
 * carried twice as much: most have no other end here.  The socket is locked.
 */
void sdp_sock_look(struct sdp_sock *ss)
{
	enum sdp_stay stay;

	ss->rests = false;
	ss->calls = 0;
	ss->bytes = 0;
	ss->later = 0;
	ss->again = false;
	if (ss->pair || sdp_lane_asked(ss) || ss->ended)
		return;
	stay = sdp_gate(ss, true);
	if (!stay)
		stay = sdp_sock_ask(ss, ss->sk->sk_allocation);
	if (!ss->later)
		ss->looks = min(ss->looks + 1, SDP_LOOKS_MAX);
	sdp_stay_vain(ss, stay);
}

/*
 * An end's TCP is over, or has the connection to itself from now on.  Both ends can still read what
 * is in the pipes.  Any context; the socket is locked, or has no other user any more.
 */
void sdp_pair_close(struct sdp_sock *ss)
{
	struct sdp_pair *pair;

	sdp_seek_stop(ss);
	if (!ss->joined)
		return;
	spin_lock_bh(&sdp_table_lock);
	pair = ss->pair;
	sdp_table_set(ss, SDP_TABLE_OUT);
	spin_unlock_bh(&sdp_table_lock);
	if (!pair)
		return;
	sdp_pipe_detach_tx(sdp_tx_pipe(ss, pair));
	sdp_pipe_detach_rx(sdp_rx_pipe(ss, pair));
}

/*
 * An end lets go of its pair.  It joins no other, as the caller gives it a reason to stay for good.
 * The other end can still read what is in the pipe to it.  Context: as sdp_pair_close().
 */
void sdp_pair_leave(struct sdp_sock *ss)
{
	struct sdp_pair *pair;

	/* The other end cannot find it any more. */
	sdp_pair_close(ss);
	pair = ss->pair;
	if (!pair)
		return;
	ss->sent += sdp_pipe_sent(sdp_tx_pipe(ss, pair));
	ss->received += sdp_pipe_received(sdp_rx_pipe(ss, pair));
	sdp_pipe_tell_rest(sdp_rx_pipe(ss, pair), ss->sk);
	WRITE_ONCE(ss->pair, NULL);
	sdp_pair_put(pair);
}

/* Context: as sdp_pair_close(). */
void sdp_sock_leave(struct sdp_sock *ss)
{
	/* A lane without its carrier looks for another one, if it may not go by TCP. */
	sdp_lane_leave(ss);
	sdp_pair_leave(ss);
}

/*
 * The connection is over, and the endpoint, which has no pair, may get another one.  Some reasons
 * stay: calls may still sleep in TCP uncounted, and numbers are still what somebody chose.  The
 * socket is locked.
 */
void sdp_sock_renew(struct sdp_sock *ss)
{
	switch (ss->stay) {
	case SDP_STAY_LIVE:
	case SDP_STAY_REPAIR:
	case SDP_STAY_ULP:
		break;
	default:
		WRITE_ONCE(ss->stay, SDP_STAY_YOUNG);
	}
	ss->accepted = false;
	ss->joined = false;
	ss->stalled = false;
	ss->ended = false;
	ss->peer_only = false;
	ss->moves = 0;
	ss->sent = 0;
	ss->received = 0;
	ss->rests = false;
	ss->calls = 0;
	ss->bytes = 0;
	ss->looks = 0;
	ss->refused = false;
	ss->wary = false;
	ss->again = false;
	ss->later = 0;
	ss->probed = 0;
	ss->seen = 0;
	ss->seek_end = 0;
}

/*
 * lock_sock() for at most @patience jiffies, as a program may keep its socket for ever; returns
 * whether it is locked, and leaves the rest in @patience.  Process context; a fatal signal ends the
 * wait.  A socket that waits for accept(2), or that its program has closed, is not locked: its
 * listener, or TCP, ends it at any time, and expects no call within.
 */
bool sdp_sock_lock(struct sock *sk, long *patience)
{
	DEFINE_WAIT(wait);
	bool free;

	spin_lock_bh(&sk->sk_lock.slock);
	while (sock_owned_by_user(sk) && *patience && !fatal_signal_pending(current)) {
		prepare_to_wait(&sk->sk_lock.wq, &wait, TASK_KILLABLE);
		spin_unlock_bh(&sk->sk_lock.slock);
		*patience = schedule_timeout(*patience);
		spin_lock_bh(&sk->sk_lock.slock);
		finish_wait(&sk->sk_lock.wq, &wait);
	}
	free = !sock_owned_by_user(sk) && sk->sk_socket;
	if (free)
		sk->sk_lock.owned = 1;
	spin_unlock_bh(&sk->sk_lock.slock);
	if (free)
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return free;
}

/*
 * Why has the direction to come back though the sender makes no call?  A client in the kernel
 * that has taken the sender's socket over is not told of room in a pipe.
 */
static enum sdp_stay sdp_pipe_owes(struct sdp_pipe *pipe, struct sdp_sock *ss)
{
	enum sdp_stay why = SDP_STAY_NOT;

	spin_lock_bh(&pipe->lock);
	if (pipe->state == SDP_PIPE_RETURNING)
		why = ss->stay;
	else if (pipe->state == SDP_PIPE_MOVED && pipe->want_room)
		why = sdp_gate(ss, false);
	if (!why && pipe->state == SDP_PIPE_MOVED && pipe->head != pipe->claim)
		why = pipe->rx ? sdp_gate_peer(pipe->reader) : SDP_STAY_CLOSED;
	spin_unlock_bh(&pipe->lock);
	return why;
}

/*
 * An idle pipe has no pages.  Its bytes have to come back if memory was short when the sender
 * brought them, or if the reader is gone or may not see them.  A sender that is busy this very
 * moment does all of this itself.
 */
static void sdp_pipe_tend(struct sdp_pipe *pipe, struct sdp_sock *ss, struct sock *tx)
{
	enum sdp_stay why;
	long none = 0;

	if (!sdp_sock_lock(tx, &none))
		return;
	/* Its end lives while it is attached. */
	if (pipe->tx) {
		why = sdp_pipe_owes(pipe, ss);
		if (why)
			sdp_tx_back(ss, why);
		else
			sdp_pipe_trim(pipe);
	}
	release_sock(tx);
}

/*
 * A pipe that has not moved since the last time is empty, or its reader does not read.  Both ends
 * may wait for each other to read, in the trust that TCP has more room than a pipe: the sender
 * is woken, and goes there.
 */
static void sdp_pair_look(struct sdp_pair *pair, int i)
{
	struct sdp_pipe *pipe = &pair->pipe[i];
	u64 *seen = pair->seen[i];
	struct sock *tx = NULL;
	bool still;

	spin_lock_bh(&pipe->lock);
	/* The sender's program asks the kernel with the next message, and so comes by the rules. */
	if (sdp_pipe_shared(pipe))
		sdp_share_take(pipe, SDP_RING_TX);
	still = pipe->head == seen[0] && pipe->tail == seen[1];
	seen[0] = pipe->head;
	seen[1] = pipe->tail;
	sdp_land_age(pipe);
	sdp_pipe_tell(pipe);
	/* A program that sets O_ASYNC does not tell. */
	if (sdp_pipe_shared(pipe) && pipe->rx)
		sdp_share_watch(pipe, pipe->rx);
	/* A program that has put something in or out, and has not said so, costs seconds only. */
	if (sdp_pipe_shared(pipe) && sdp_share_used(pipe))
		sdp_pipe_wake_rx(pipe);
	if (still && pipe->state == SDP_PIPE_MOVED && pipe->want_room &&
	    pipe->head != pipe->tail && !pipe->only) {
		WRITE_ONCE(pipe->stalled, true);
		sdp_pipe_wake_tx(pipe);
	}
	if (still && pipe->pages[0] && pipe->tx) {
		tx = pipe->tx;
		sock_hold(tx);
	}
	spin_unlock_bh(&pipe->lock);
	if (!tx)
		return;
	/* The sender reads from the other pipe. */
	sdp_pipe_tend(pipe, pair->pipe[!i].reader, tx);
	sock_put(tx);
}

static void sdp_pairs_work(struct work_struct *work)
{
	struct sdp_pair *pair;
	unsigned int left;

	spin_lock_bh(&sdp_table_lock);
	for (left = sdp_pairs_count; left && sdp_pairs_count; left--) {
		pair = list_first_entry(&sdp_pairs, struct sdp_pair, list);
		list_move_tail(&pair->list, &sdp_pairs);
		if (!refcount_inc_not_zero(&pair->refs))
			continue;
		spin_unlock_bh(&sdp_table_lock);
		sdp_pair_look(pair, 0);
		sdp_pair_look(pair, 1);
		sdp_pair_put(pair);
		cond_resched();
		spin_lock_bh(&sdp_table_lock);
	}
	if (sdp_pairs_count)
		schedule_delayed_work(&sdp_pairs_later, msecs_to_jiffies(SDP_PAIRS_MS));
	spin_unlock_bh(&sdp_table_lock);
}

/* No endpoint is left. */
void sdp_pair_exit(void)
{
	sdp_only_exit();
	cancel_delayed_work_sync(&sdp_pairs_later);
	/* What sdp_pair_put() has left to do. */
	rcu_barrier();
}

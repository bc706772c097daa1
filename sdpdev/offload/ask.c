// SPDX-License-Identifier: GPL-2.0
/*
 * An end asks its peer for a carrier, and a peer is answered.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "offload/avoid.h"
#include "offload/lane.h"

/*
 * How long a request waits for a call to let go of the socket.  All of them together wait for this
 * part of the time, so that others' requests get through; but SDP_ASK_BURST counts as time that has
 * passed already, so several may wait one after the other.
 */
#define SDP_ASK_PATIENCE	max(HZ / 50, 2)
#define SDP_ASK_PART		10
#define SDP_ASK_BURST		HZ

static struct sdp_sock *(*sdp_lane_owner)(const struct sock *sk);

/* jiffies up to which the waits so far take their part; no request waits while that is to come. */
static unsigned long sdp_ask_rests = INITIAL_JIFFIES;

static void sdp_lane_join(struct sdp_lane *lane, struct sdp_carrier *c)
{
	WRITE_ONCE(lane->carrier, c);
	lane->ss->rests = false;
	WRITE_ONCE(lane->kind, c->ops->kind);
	sdp_lane_hear(lane->ss, true);
}

/*
 * May the carrier, which the lane has, have what goes where packets go now?  SDP_STAY_NOT, or why
 * not.  The socket is locked.
 */
enum sdp_stay sdp_lane_way(const struct sdp_lane *lane)
{
	const struct sdp_carrier *c = lane->carrier;
	const struct dst_entry *dst;
	enum sdp_stay stay;

	rcu_read_lock();
	dst = __sk_dst_get(lane->ss->sk);
	if (!dst)
		stay = SDP_STAY_PASSING;
	else if ((c->ifindex && c->ifindex != dst->dev->ifindex) ||
		 (c->ops->fits && !c->ops->fits(sock_net(lane->ss->sk), dst->dev)))
		stay = SDP_STAY_ROUTE;
	else
		stay = SDP_STAY_NOT;
	rcu_read_unlock();
	return stay;
}

/* Could the connection, as its packets go now, have this kind? */
static bool sdp_lane_fits(const struct sdp_sock *ss, const struct sdp_carrier_ops *ops,
			  int *ifindex)
{
	const struct dst_entry *dst;
	bool fits;

	rcu_read_lock();
	dst = __sk_dst_get(ss->sk);
	fits = !ops->fits || (dst && ops->fits(sock_net(ss->sk), dst->dev));
	*ifindex = dst ? dst->dev->ifindex : ss->sk->sk_bound_dev_if;
	rcu_read_unlock();
	return fits;
}

static enum sdp_stay sdp_lane_begin(struct sdp_sock *ss, const struct sdp_carrier_ops *ops,
				    int ifindex, gfp_t gfp)
{
	struct sdp_lane *lane = ss->lane;
	struct sdp_carrier *c;
	struct sdp_join join;

	if (!sdp_pair_withdraw(ss, true))
		return SDP_STAY_PEER;
	lane = lane ?: sdp_lane_new(ss, gfp);
	c = lane ? sdp_carrier_new(lane, ops, gfp) : NULL;
	if (!c)
		return SDP_STAY_MEMORY;
	sdp_join_make(ss, c, &join);
	c->ifindex = ifindex;
	if (ops->ask(c, sock_net(ss->sk), &join)) {
		/* There is no other reference. */
		kfree(c);
		return SDP_STAY_PEER;
	}
	sdp_count(sock_net(ss->sk), SDP_CNT_ASKED);
	sdp_lane_join(lane, c);
	return SDP_STAY_PASSING;
}

/*
 * Asks for a carrier of the kind @ops, whose module the caller holds.  The socket is locked, and
 * the gate has nothing against it.  SDP_STAY_PASSING if the peer was asked, SDP_STAY_AVOID if it
 * may be later; or why not.
 */
enum sdp_stay sdp_lane_ask(struct sdp_sock *ss, const struct sdp_carrier_ops *ops, gfp_t gfp)
{
	struct sdp_lane *lane = ss->lane;
	enum sdp_stay stay;
	int ifindex;

	if (ss->accepted || ss->pair || !sdp_lane_fits(ss, ops, &ifindex))
		return SDP_STAY_PEER;
	sdp_sock_numbers(ss);
	if (sdp_only(ss) && !sdp_only_fresh(ss))
		return SDP_STAY_ONLY;
	/* What the peer may send on another carrier comes on top of the unread bytes. */
	if (lane && (lane->carrier || !sdp_lane_takes(lane)))
		return SDP_STAY_PEER;
	stay = sdp_avoid(ss, ops->kind, ifindex, gfp);
	if (stay)
		return stay;
	stay = sdp_lane_begin(ss, ops, ifindex, gfp);
	if (stay != SDP_STAY_PASSING)
		sdp_avoid_untried(ss, ops->kind, ifindex, jiffies);
	return stay;
}

/**
 * struct sdp_ask - a peer's request, while it is answered
 * @ops: kind of the carrier
 * @join: the request
 * @answer: where the answer goes
 * @priv: becomes sdp_carrier.priv
 * @c: the carrier, or why there is none
 *
 * Lives on the stack of the function that waits for the answer.  sdp_sock.ask points to it while
 * the socket is in use: under the socket's spinlock it is answered, or taken back.
 */
struct sdp_ask {
	const struct sdp_carrier_ops *ops;
	const struct sdp_join *join;
	struct sdp_join *answer;
	void *priv;
	struct sdp_carrier *c;
};

/*
 * Does the peer know the connection?  A peer that does not learns nothing else of it, so this
 * comes before the look at what the socket does.  Context: the socket's spinlock.
 */
static bool sdp_ask_proved(struct sdp_sock *ss, const struct sdp_join *join)
{
	siphash_key_t key;

	if (!ss->accepted)
		return false;
	sdp_join_key(ss, &key);
	return join->proof == sdp_join_proof(&key, 1, join, 0);
}

/* May the connection have a carrier?  Returns 0 or -errno, as sdp_carrier_answer() has it. */
static int sdp_ask_allowed(struct sdp_sock *ss, const struct sdp_ask *ask)
{
	const struct sdp_join *join = ask->join;
	const struct sdp_lane *lane = ss->lane;

	/* The program has not accepted a connection that has no socket. */
	if (!ss->sk->sk_socket)
		return -EBUSY;
	if (!sdp_order_has(sock_net(ss->sk), ask->ops) || sdp_gate(ss, true))
		return -EPERM;
	if (!sdp_only(ss) && !join->only)
		return 0;
	/* An end that may say nothing by TCP needs a peer that says nothing, either. */
	if (!join->only || !sdp_only_fresh(ss))
		return -EPERM;
	if (lane && lane->tx.state != SDP_HALF_TX_TCP)
		return 0;
	/* A call that waits within TCP is about to say something. */
	return ss->sk->sk_write_pending ? -EBUSY : 0;
}

/*
 * The nonces of an end's requests grow.  A request whose nonce does not is old, and somebody that
 * has seen it sends it again: it gets nothing, and does not wait for the socket.  A request that
 * is refused counts, too: its end asks by another one.  Context: the socket's spinlock.
 */
static bool sdp_ask_old(struct sdp_sock *ss, const struct sdp_join *join)
{
	u64 nonce = be64_to_cpu(join->nonce);

	if (nonce <= ss->seen)
		return true;
	ss->seen = nonce;
	return false;
}

/* The carrier, or why there is none.  Context: the socket's spinlock; no call is at work on it. */
static struct sdp_carrier *sdp_lane_answer(struct sdp_sock *ss, struct sdp_ask *ask)
{
	int err = sdp_ask_allowed(ss, ask);
	struct sdp_carrier *c;
	struct sdp_lane *lane;

	if (err)
		return ERR_PTR(err);
	/* Memory of the host comes first: the asker looks again, and finds this end there. */
	if (sdp_pair_asked(ss) && sdp_lane_clear(ss)) {
		sdp_pair_join(ss, GFP_ATOMIC);
		return ERR_PTR(-EBUSY);
	}
	/* What the last one brought back has to be over, and what it brought to be read. */
	lane = ss->lane;
	if (lane && (lane->carrier || lane->rx.state == SDP_HALF_RX_SKIP || !sdp_lane_takes(lane)))
		return ERR_PTR(-EBUSY);
	if (!sdp_pair_withdraw(ss, false))
		return ERR_PTR(-EPERM);
	lane = lane ?: sdp_lane_new(ss, GFP_ATOMIC);
	c = lane ? sdp_carrier_new(lane, ask->ops, GFP_ATOMIC) : NULL;
	if (!c)
		return ERR_PTR(-ENOMEM);
	sdp_join_key(ss, &c->key);
	c->priv = ask->priv;
	sdp_join_answer(ss, c, ask->join, ask->answer);
	c->ifindex = ask->answer->ifindex;
	ss->peer_only = ask->join->only;
	sdp_lane_join(lane, c);
	return c;
}

/*
 * A call lets go of a socket that a request waits for.  It still has the socket, and the spinlock.
 */
void sdp_ask_release(struct sdp_sock *ss)
{
	struct sdp_ask *ask = ss->ask;

	ss->ask = NULL;
	ask->c = sdp_lane_answer(ss, ask);
}

/* Has no answer come yet?  The endpoint may be gone.  Context: the socket's spinlock. */
static bool sdp_ask_waits(const struct sdp_ask *ask, const struct sdp_sock *ss,
			  const struct sock *sk)
{
	return sdp_lane_owner(sk) == ss && ss->ask == ask;
}

/* A request has waited for so many jiffies.  Two at once may count as one. */
static void sdp_ask_waited(unsigned long wait)
{
	unsigned long rests = READ_ONCE(sdp_ask_rests), least = jiffies - SDP_ASK_BURST;

	if (time_before(rests, least))
		rests = least;
	WRITE_ONCE(sdp_ask_rests, rests + SDP_ASK_PART * wait);
}

/*
 * The call that has the socket answers when it lets go of it (sdp_ask_release()): a busy program
 * hardly ever leaves its socket alone.  A program that keeps its socket does not keep others
 * waiting for long, nor often.
 *
 * Context: process; the socket's spinlock, which it lets go of meanwhile.
 */
static void sdp_ask_wait(struct sdp_ask *ask, struct sdp_sock *ss, struct sock *sk)
	__must_hold(&sk->sk_lock.slock)
{
	long patience = SDP_ASK_PATIENCE;
	DEFINE_WAIT(wait);

	if (ss->ask || time_before(jiffies, READ_ONCE(sdp_ask_rests)))
		return;
	ss->ask = ask;
	while (sdp_ask_waits(ask, ss, sk) && patience) {
		prepare_to_wait(&sk->sk_lock.wq, &wait, TASK_UNINTERRUPTIBLE);
		spin_unlock_bh(&sk->sk_lock.slock);
		patience = schedule_timeout(patience);
		spin_lock_bh(&sk->sk_lock.slock);
		finish_wait(&sk->sk_lock.wq, &wait);
	}
	sdp_ask_waited(SDP_ASK_PATIENCE - patience);
	if (sdp_ask_waits(ask, ss, sk))
		ss->ask = NULL;
}

/**
 * sdp_carrier_answer() - a peer asks for a carrier
 * @ops: its kind
 * @net: where the request has come
 * @join: the request
 * @answer: out: what is to be answered
 * @priv: becomes sdp_carrier.priv
 *
 * sdp_carrier_joined() follows when the peer is known to have the answer.
 *
 * Context: process.
 *
 * Return: the carrier, with a reference for the module; -ENOENT if there is no such connection;
 * -EACCES if the proof is wrong; -EPERM if the connection stays as it is, or the request is an old
 * one; -EBUSY or -ENOMEM if it may be asked again.
 */
struct sdp_carrier *sdp_carrier_answer(const struct sdp_carrier_ops *ops, struct net *net,
				       const struct sdp_join *join, struct sdp_join *answer,
				       void *priv)
{
	struct sdp_ask ask = {
		.ops = ops,
		.join = join,
		.answer = answer,
		.priv = priv,
		.c = ERR_PTR(-EBUSY),
	};
	struct sock *sk = sdp_join_find(net, join);
	struct sdp_sock *ss;

	if (!sk)
		return ERR_PTR(-ENOENT);
	spin_lock_bh(&sk->sk_lock.slock);
	ss = sdp_lane_owner(sk);
	if (!ss)
		ask.c = ERR_PTR(-ENOENT);
	else if (!sdp_ask_proved(ss, join))
		ask.c = ERR_PTR(-EACCES);
	else if (sdp_ask_old(ss, join))
		ask.c = ERR_PTR(-EPERM);
	else if (sock_owned_by_user(sk))
		sdp_ask_wait(&ask, ss, sk);
	else
		ask.c = sdp_lane_answer(ss, &ask);
	spin_unlock_bh(&sk->sk_lock.slock);
	sock_put(sk);
	return ask.c;
}
EXPORT_SYMBOL_GPL(sdp_carrier_answer);

/* @owner returns the ULP's part of a socket, or NULL. */
void sdp_ask_init(struct sdp_sock *(*owner)(const struct sock *sk))
{
	sdp_lane_owner = owner;
}

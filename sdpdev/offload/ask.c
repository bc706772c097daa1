// SPDX-License-Identifier: GPL-2.0
/*
 * An end asks its peer for a carrier, and a peer is answered.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "offload/avoid.h"
#include "offload/lane.h"

static struct sdp_sock *(*sdp_lane_owner)(const struct sock *sk);

static void sdp_lane_join(struct sdp_lane *lane, struct sdp_carrier *c)
{
	WRITE_ONCE(lane->carrier, c);
	lane->ss->rests = false;
	WRITE_ONCE(lane->kind, c->ops->kind);
	sdp_lane_hear(lane->ss, true);
}

/**
 * sdp_lane_way() - may the carrier have what goes where packets go now?
 * @lane: a lane that has a carrier, its socket locked
 *
 * Return: SDP_STAY_NOT, or why not.
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

	if (!sdp_pair_withdraw(ss))
		return SDP_STAY_PEER;
	lane = lane ?: sdp_lane_new(ss, gfp);
	c = lane ? sdp_carrier_new(lane, ops, gfp) : NULL;
	if (!c)
		return SDP_STAY_MEMORY;
	sdp_join_make(ss, c, &join);
	c->ifindex = ifindex;
	if (ops->ask(c, sock_net(ss->sk), &join)) {
		/* Nobody else has it. */
		kfree(c);
		return SDP_STAY_PEER;
	}
	sdp_count(SDP_CNT_ASKED);
	sdp_lane_join(lane, c);
	return SDP_STAY_PASSING;
}

/**
 * sdp_lane_ask() - ask for a carrier
 * @ss: the endpoint, its socket locked, that the gate has nothing against
 * @ops: its kind, whose module the caller holds
 * @gfp: how to allocate what it needs
 *
 * Context: any that @gfp allows.
 *
 * Return: SDP_STAY_PASSING if it was asked; SDP_STAY_AVOID if it may be later; or why not.
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
	/* What the peer may send on another carrier comes on top of what nobody has read. */
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

/* Returns the carrier, or why there is none. */
static struct sdp_carrier *sdp_lane_answer(struct sdp_sock *ss, const struct sdp_carrier_ops *ops,
					   const struct sdp_join *join, struct sdp_join *answer,
					   void *priv)
{
	struct sdp_lane *lane = ss->lane;
	siphash_key_t key;
	struct sdp_carrier *c;

	/* Whatever the socket does just now: nobody learns by a wrong proof that there is one. */
	if (!ss->accepted)
		return ERR_PTR(-EACCES);
	sdp_join_key(ss, &key);
	if (join->proof != sdp_join_proof(&key, 1, join, 0))
		return ERR_PTR(-EACCES);
	/* Nor has anybody accepted a connection that has no socket. */
	if (sock_owned_by_user(ss->sk) || !ss->sk->sk_socket)
		return ERR_PTR(-EBUSY);
	if (!sdp_order_has(sock_net(ss->sk), ops) || sdp_gate(ss, true))
		return ERR_PTR(-EPERM);
	/* An end that may say nothing by TCP needs a peer that says nothing, either. */
	if ((sdp_only(ss) || join->only) && !(join->only && sdp_only_fresh(ss)))
		return ERR_PTR(-EPERM);
	/* An old request, sent again by somebody who has seen it. */
	if (lane && lane->seen == join->nonce)
		return ERR_PTR(-EPERM);
	/* What the last one brought back has to be over, and what it brought to be read. */
	if (lane && (lane->carrier || lane->rx.state == SDP_HALF_RX_SKIP || !sdp_lane_takes(lane)))
		return ERR_PTR(-EBUSY);
	if (!sdp_pair_withdraw(ss))
		return ERR_PTR(-EPERM);
	lane = lane ?: sdp_lane_new(ss, GFP_ATOMIC);
	c = lane ? sdp_carrier_new(lane, ops, GFP_ATOMIC) : NULL;
	if (!c)
		return ERR_PTR(-ENOMEM);
	c->key = key;
	c->priv = priv;
	lane->seen = join->nonce;
	sdp_join_answer(ss, c, join, answer);
	c->ifindex = answer->ifindex;
	ss->peer_only = join->only;
	sdp_lane_join(lane, c);
	return c;
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
 * Context: any that may take a socket's spinlock.
 *
 * Return: the carrier, with a reference for the module; -ENOENT if there is no such connection;
 * -EACCES if the proof is wrong; -EPERM if the connection stays as it is; -EBUSY or -ENOMEM if it
 * may be asked again.
 */
struct sdp_carrier *sdp_carrier_answer(const struct sdp_carrier_ops *ops, struct net *net,
				       const struct sdp_join *join, struct sdp_join *answer,
				       void *priv)
{
	struct sdp_carrier *c = ERR_PTR(-ENOENT);
	struct sock *sk = sdp_join_find(net, join);
	struct sdp_sock *ss;

	if (!sk)
		return c;
	local_bh_disable();
	bh_lock_sock(sk);
	ss = sdp_lane_owner(sk);
	if (ss)
		c = sdp_lane_answer(ss, ops, join, answer, priv);
	bh_unlock_sock(sk);
	local_bh_enable();
	sock_put(sk);
	return c;
}
EXPORT_SYMBOL_GPL(sdp_carrier_answer);

/**
 * sdp_ask_init() - peers can be answered from now on
 * @owner: tells what a socket has of the ULP, if it has it
 */
void sdp_ask_init(struct sdp_sock *(*owner)(const struct sock *sk))
{
	sdp_lane_owner = owner;
}

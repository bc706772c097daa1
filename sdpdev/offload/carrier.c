// SPDX-License-Identifier: GPL-2.0
/*
 * What modules that have carriers of messages call.
 *
 * They may be in any context.  What they say is queued, and the lane looks at it under the socket's
 * lock: at once, or when the call that has the socket lets go of it (sdp_lane_release()).
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "offload/lane.h"

/* What the kernel has room for in one packet. */
#define SDP_CARRIER_MOST	(MAX_SKB_FRAGS * PAGE_SIZE)

/* Memory of the host is one of the kinds, and no carrier of messages. */
struct sdp_carrier_ops sdp_carrier_local = {
	.name = "local",
	.owner = THIS_MODULE,
};

static LIST_HEAD(sdp_carriers);
static DEFINE_SPINLOCK(sdp_carriers_lock);

/* In the order of their ranks.  Context: sdp_carriers_lock held. */
static void sdp_carriers_add(struct sdp_carrier_ops *ops)
{
	struct list_head *at;

	list_for_each(at, &sdp_carriers)
		if (list_entry(at, struct sdp_carrier_ops, list)->rank > ops->rank)
			break;
	list_add_tail(&ops->list, at);
}

void sdp_carrier_init(void)
{
	sdp_carriers_add(&sdp_carrier_local);
}

/**
 * sdp_carrier_register() - a kind of carrier can be asked from now on
 * @ops: the kind
 *
 * Return: 0, or -EINVAL if something is missing, or messages are too large for a packet.
 */
int sdp_carrier_register(struct sdp_carrier_ops *ops)
{
	if (!ops->name || !ops->ask || !ops->send || !ops->taken || !ops->end || !ops->most ||
	    ops->most > SDP_CARRIER_MOST - ops->tail)
		return -EINVAL;
	spin_lock_bh(&sdp_carriers_lock);
	sdp_carriers_add(ops);
	spin_unlock_bh(&sdp_carriers_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(sdp_carrier_register);

/**
 * sdp_carrier_unregister() - no peer is asked for a kind any more
 * @ops: the kind
 *
 * The module ends its carriers itself.  It may go when ops->end() was called for each of them,
 * and an RCU grace period is over.
 */
void sdp_carrier_unregister(struct sdp_carrier_ops *ops)
{
	spin_lock_bh(&sdp_carriers_lock);
	list_del(&ops->list);
	spin_unlock_bh(&sdp_carriers_lock);
}
EXPORT_SYMBOL_GPL(sdp_carrier_unregister);

/* The kind of that name, or NULL.  The caller puts its module. */
const struct sdp_carrier_ops *sdp_carrier_named(const char *name)
{
	const struct sdp_carrier_ops *ops, *found = NULL;

	spin_lock_bh(&sdp_carriers_lock);
	list_for_each_entry(ops, &sdp_carriers, list)
		if (!found && !strcmp(ops->name, name) && try_module_get(ops->owner))
			found = ops;
	spin_unlock_bh(&sdp_carriers_lock);
	return found;
}

/*
 * The kinds in the order of their ranks, &sdp_carrier_local among them; NULL behind the last one.
 * @at is zero at first, and counts on.  The caller puts the module of each.
 */
const struct sdp_carrier_ops *sdp_carrier_next(unsigned int *at)
{
	const struct sdp_carrier_ops *ops, *found = NULL;
	unsigned int i = 0;

	spin_lock_bh(&sdp_carriers_lock);
	list_for_each_entry(ops, &sdp_carriers, list) {
		if (i++ < *at)
			continue;
		*at = i;
		if (try_module_get(ops->owner)) {
			found = ops;
			break;
		}
	}
	spin_unlock_bh(&sdp_carriers_lock);
	return found;
}

/**
 * sdp_carrier_put() - let go of a carrier
 * @c: the carrier
 */
void sdp_carrier_put(struct sdp_carrier *c)
{
	if (!refcount_dec_and_test(&c->refs))
		return;
	kfree_skb(c->spare);
	kfree(c);
}
EXPORT_SYMBOL_GPL(sdp_carrier_put);

/*
 * A carrier with two references, the offload layer's and the module's; NULL without memory.  The
 * socket is locked.
 */
struct sdp_carrier *sdp_carrier_new(struct sdp_lane *lane, const struct sdp_carrier_ops *ops,
				    gfp_t gfp)
{
	struct sdp_carrier *c = kzalloc(sizeof(*c), gfp | __GFP_ACCOUNT | __GFP_NOWARN);

	if (!c)
		return NULL;
	refcount_set(&c->refs, 2);
	spin_lock_init(&c->lock);
	skb_queue_head_init(&c->inbox);
	c->ops = ops;
	c->most = ops->most;
	c->tail = ops->tail;
	c->began = jiffies;
	c->sk = lane->sk;
	c->lane = lane;
	c->number = ++lane->carriers ?: ++lane->carriers;
	return c;
}

/* Something was queued: look at it, or let the call that has the socket look. */
static void sdp_carrier_kick(struct sdp_carrier *c)
{
	struct sdp_lane *lane;
	struct sock *sk;

	rcu_read_lock();
	spin_lock_bh(&c->lock);
	lane = c->lane;
	sk = c->sk;
	if (sk)
		sock_hold(sk);
	spin_unlock_bh(&c->lock);
	if (!sk)
		goto out;
	local_bh_disable();
	bh_lock_sock(sk);
	if (sock_owned_by_user(sk))
		lane->kicked = true;
	else if (lane->ss)
		sdp_lane_run(lane);
	bh_unlock_sock(sk);
	local_bh_enable();
	sock_put(sk);
out:
	rcu_read_unlock();
}

static void sdp_carrier_event(struct sdp_carrier *c, enum sdp_carrier_event event)
{
	/*
	 * What the module has written is there.  Pairs with the full barrier of xchg() in
	 * sdp_lane_run().
	 */
	smp_mb__before_atomic();
	set_bit(event, &c->events);
	sdp_carrier_kick(c);
}

/**
 * sdp_carrier_proof() - a proof of an end of the connection
 * @c: the carrier
 * @step: 1: of a request; 2: of its answer; 3: of the asker, that it has the answer
 * @join: what is proved
 * @other: the other end's nonce, or 0
 *
 * sdp_carrier_answer() checks the first one, and sdp_carrier_joined() the second.  The third is
 * the modules' own: an asker checks an answer, sends the proof, and only then says that the
 * carrier is joined; the other end does so when it has checked that proof.
 */
__be64 sdp_carrier_proof(const struct sdp_carrier *c, u32 step, const struct sdp_join *join,
			 __be64 other)
{
	return sdp_join_proof(&c->key, step, join, other);
}
EXPORT_SYMBOL_GPL(sdp_carrier_proof);

/**
 * sdp_carrier_joined() - a carrier can be used
 * @c: the carrier
 * @answer: what the peer answered; NULL where the peer asked
 *
 * Context: any that may take the socket's spinlock.
 *
 * Return: false if the answer proves nothing: the module ends the carrier.
 */
bool sdp_carrier_joined(struct sdp_carrier *c, const struct sdp_join *answer)
{
	if (answer && answer->proof != sdp_carrier_proof(c, 2, answer, c->nonce))
		return false;
	if (answer)
		c->answer = answer->nonce;
	sdp_carrier_event(c, SDP_CARRIER_JOINED);
	return true;
}
EXPORT_SYMBOL_GPL(sdp_carrier_joined);

/**
 * sdp_carrier_arrived() - a message has come
 * @c: the carrier
 * @skb: the message, which is the offload layer's from now on
 *
 * Context: any that may take the socket's spinlock.
 */
void sdp_carrier_arrived(struct sdp_carrier *c, struct sk_buff *skb)
{
	spin_lock_bh(&c->lock);
	if (c->sk) {
		__skb_queue_tail(&c->inbox, skb);
		skb = NULL;
	}
	spin_unlock_bh(&c->lock);
	if (skb)
		kfree_skb(skb);
	else
		sdp_carrier_kick(c);
}
EXPORT_SYMBOL_GPL(sdp_carrier_arrived);

/**
 * sdp_carrier_acked() - the peer has taken in messages
 * @c: the carrier
 * @mseq: so many since the carrier was joined
 * @more: the caller has more to tell, so the offload layer need not look yet
 *
 * Context: any that may take the socket's spinlock.
 */
void sdp_carrier_acked(struct sdp_carrier *c, u32 mseq, bool more)
{
	WRITE_ONCE(c->acked, mseq);
	if (!more)
		sdp_carrier_kick(c);
}
EXPORT_SYMBOL_GPL(sdp_carrier_acked);

/**
 * sdp_carrier_memcg() - the memory control group that pays for what a carrier needs
 * @c: the carrier
 *
 * Context: any.
 *
 * Return: the group of the connection's socket, referenced, or NULL.
 */
struct mem_cgroup *sdp_carrier_memcg(struct sdp_carrier *c)
{
	struct mem_cgroup *memcg;

	spin_lock_bh(&c->lock);
	memcg = c->sk ? sdp_sock_memcg(c->sk) : NULL;
	spin_unlock_bh(&c->lock);
	return memcg;
}
EXPORT_SYMBOL_GPL(sdp_carrier_memcg);

/**
 * sdp_carrier_room() - there is room for messages again
 * @c: the carrier
 *
 * Context: any that may take the socket's spinlock.
 */
void sdp_carrier_room(struct sdp_carrier *c)
{
	sdp_carrier_event(c, SDP_CARRIER_ROOM);
}
EXPORT_SYMBOL_GPL(sdp_carrier_room);

/**
 * sdp_carrier_lost() - a carrier is over, or was never joined
 * @c: the carrier
 *
 * Context: any that may take the socket's spinlock.
 */
void sdp_carrier_lost(struct sdp_carrier *c)
{
	sdp_carrier_event(c, SDP_CARRIER_LOST);
}
EXPORT_SYMBOL_GPL(sdp_carrier_lost);

/**
 * sdp_carrier_refused() - a carrier was never joined
 * @c: the carrier
 * @why: the reason
 * @retry_ms: the peer is not to be asked again before so many milliseconds
 *
 * As sdp_carrier_lost(), which leaves open whether the same would happen again.
 *
 * Context: any that may take the socket's spinlock.
 */
void sdp_carrier_refused(struct sdp_carrier *c, enum sdp_refusal why, unsigned int retry_ms)
{
	c->refusal = why;
	c->retry = msecs_to_jiffies(retry_ms);
	sdp_carrier_event(c, SDP_CARRIER_LOST);
}
EXPORT_SYMBOL_GPL(sdp_carrier_refused);

// SPDX-License-Identifier: GPL-2.0
/*
 * A carrier of messages between two ends on one host, whatever namespaces they are in, which can
 * be lost at any point: so the rules of the wire are tested without a wire.
 *
 * A work item of each link brings messages and acknowledgments.  Only it tells an end anything.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "offload/offload.h"
#include "offload/carrier.h"

MODULE_DESCRIPTION("Sockets Direct Protocol: a carrier within one host, for tests");
MODULE_LICENSE("GPL");

/* Where a link is lost. */
enum { POST, ARRIVED, TAKEN, ACKED };

static unsigned int kill;
module_param(kill, uint, 0644);
MODULE_PARM_DESC(kill, "The link is lost that has the so-many-th message from now on; 0: none");
static unsigned int where;
module_param(where, uint, 0644);
MODULE_PARM_DESC(where, "Lost 0: before it arrives, 1: when it has, 2: before it is acknowledged, 3: after");
static unsigned int odds;
module_param(odds, uint, 0644);
MODULE_PARM_DESC(odds, "One message in so many loses its link at a random point; 0: none");
static bool fit = true;
module_param(fit, bool, 0644);
MODULE_PARM_DESC(fit, "Any device will do");
static bool frozen;
module_param(frozen, bool, 0644);
MODULE_PARM_DESC(frozen, "Nothing arrives, and nobody is told");
static bool refuse;
module_param(refuse, bool, 0644);
MODULE_PARM_DESC(refuse, "Requests are not answered");
static unsigned int why = SDP_REFUSED_NO_SERVICE;
module_param(why, uint, 0644);
MODULE_PARM_DESC(why, "For this reason: enum sdp_refusal");
static bool broken;
module_param(broken, bool, 0644);
MODULE_PARM_DESC(broken, "Every link is lost, and says that the peer is out of reach");
static unsigned int tries = 200;
module_param(tries, uint, 0644);
MODULE_PARM_DESC(tries, "How often a request is brought again that the other end cannot answer now");
static bool forge;
module_param(forge, bool, 0644);
MODULE_PARM_DESC(forge, "Requests have a wrong proof");
static bool forge_answer;
module_param(forge_answer, bool, 0644);
MODULE_PARM_DESC(forge_answer, "Answers have a wrong proof");
static bool forge_last;
module_param(forge_last, bool, 0644);
MODULE_PARM_DESC(forge_last, "The asker shows the wrong proof that it has the answer");
static unsigned int credits = 16;
module_param(credits, uint, 0644);
MODULE_PARM_DESC(credits, "Messages that the other end has not freed, at most");
static unsigned int most = SZ_16K;
module_param(most, uint, 0644);
MODULE_PARM_DESC(most, "Bytes of a message, at most");
static bool less;
module_param(less, bool, 0644);
MODULE_PARM_DESC(less, "Each link takes fewer bytes, as it likes");
static atomic_t joined = ATOMIC_INIT(0), refused = ATOMIC_INIT(0), messages = ATOMIC_INIT(0);
static atomic_t large = ATOMIC_INIT(0);
module_param_named(joined, joined.counter, int, 0644);
module_param_named(refused, refused.counter, int, 0644);
module_param_named(messages, messages.counter, int, 0644);
module_param_named(large, large.counter, int, 0644);

static atomic_t links;
module_param_named(links, links.counter, int, 0444);

/* Milliseconds after which it is asked again. */
#define RETRY_MS	100

/* Messages without bytes have room of their own. */
#define SPARE	4

/* What is on its way to an end. */
struct end {
	struct link *link;
	struct sdp_carrier *c;
	struct sk_buff_head coming;
	u32 used;		/* messages that the end sent, and the other has not freed */
	u32 sent;
	u32 brought;		/* to this end */
	u32 fatal;		/* the message that it sent and that loses the link, or 0 */
	u32 taken;		/* by this end */
	u32 freed;		/* likewise, and the other one does not know yet */
	u32 acked;		/* what this end knows of the other */
	bool wants_room;
	bool told;		/* that the carrier is lost */
	bool ended;		/* by the offload layer */
};

/* @end[0] has asked.  Everything is under @lock. */
struct link {
	spinlock_t lock;	/* see above */
	refcount_t refs;
	struct end end[2];
	struct net *net;
	struct sdp_join join;
	unsigned int tries;
	bool asked;
	bool dead;
	enum sdp_refusal refusal;
	unsigned int retry;
	struct delayed_work work;
};

static struct workqueue_struct *wq;

static struct end *other(struct end *end)
{
	return &end->link->end[end == &end->link->end[0]];
}

static void link_put(struct link *link)
{
	if (!refcount_dec_and_test(&link->refs))
		return;
	__skb_queue_purge(&link->end[0].coming);
	__skb_queue_purge(&link->end[1].coming);
	kfree(link);
	atomic_dec(&links);
}

static void link_later(struct link *link, unsigned long delay)
{
	refcount_inc(&link->refs);
	/* The work that is pending may have run, and let go of all others, by now. */
	if (!queue_delayed_work(wq, &link->work, delay))
		link_put(link);
}

/* --- what the offload layer calls ---------------------------------------------- */

static int carrier_ask(struct sdp_carrier *c, struct net *net, const struct sdp_join *join);

/* Is this the message that loses the link? */
static bool fatal(void)
{
	unsigned int one_in = READ_ONCE(odds);

	if (one_in && !get_random_u32_below(one_in))
		return true;
	if (!READ_ONCE(kill))
		return false;
	WRITE_ONCE(kill, kill - 1);
	return !kill;
}

/* Has the message that an end sent come so far that the link is lost? */
static bool reached(const struct end *end, unsigned int point, u32 count)
{
	return end->fatal && point == READ_ONCE(where) && count >= end->fatal;
}

/* Has the end room for it? */
static bool has_room(const struct end *end, const struct sk_buff *skb)
{
	return end->used < READ_ONCE(credits) + (skb->len ? 0 : SPARE);
}

static int carrier_send(struct sdp_carrier *c, struct sk_buff *skb)
{
	struct end *end = c->priv, *peer = other(end);
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	struct link *link = end->link;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	spin_lock_bh(&link->lock);
	if (link->dead) {
		err = -ENOTCONN;
	} else if (skb->len > c->most) {
		atomic_inc(&large);
		err = -EMSGSIZE;
	} else if (!has_room(end, skb)) {
		end->wants_room = true;
		err = -EAGAIN;
	} else {
		end->used++;
		end->sent++;
		if (!end->fatal && fatal())
			end->fatal = end->sent;
		link->dead = end->fatal && where == POST;
		atomic_inc(&messages);
		__skb_queue_tail(&peer->coming, copy);
	}
	spin_unlock_bh(&link->lock);
	if (err)
		kfree_skb(copy);
	if (err != -EAGAIN)
		link_later(link, 0);
	return err;
}

static void carrier_taken(struct sdp_carrier *c, u32 count)
{
	struct end *end = c->priv;
	struct link *link = end->link;

	spin_lock_bh(&link->lock);
	end->taken += count;
	link->dead |= reached(other(end), TAKEN, end->taken);
	spin_unlock_bh(&link->lock);
	link_later(link, 0);
}

static void carrier_freed(struct sdp_carrier *c, u32 count)
{
	struct end *end = c->priv;
	struct link *link = end->link;

	spin_lock_bh(&link->lock);
	end->freed += count;
	spin_unlock_bh(&link->lock);
	link_later(link, 0);
}

static void carrier_end(struct sdp_carrier *c)
{
	struct end *end = c->priv;
	struct link *link = end->link;

	/* The end's own may go as soon as it is said to have ended. */
	refcount_inc(&link->refs);
	spin_lock_bh(&link->lock);
	link->dead = true;
	end->ended = true;
	spin_unlock_bh(&link->lock);
	link_later(link, 0);
	link_put(link);
}

static bool carrier_fits(struct net *net, const struct net_device *dev)
{
	return READ_ONCE(fit);
}

static struct sdp_carrier_ops ops = {
	.name = "test",
	.owner = THIS_MODULE,
	.kind = SDP_SOCK_BY_TEST,
	.rank = -1,
	.fits = carrier_fits,
	.ask = carrier_ask,
	.send = carrier_send,
	.taken = carrier_taken,
	.freed = carrier_freed,
	.end = carrier_end,
};

/* --- what the work item does --------------------------------------------------- */

/* The request goes to each namespace, as no wire says to which one. */
static struct sdp_carrier *link_request(struct link *link, struct sdp_join *answer)
{
	struct sdp_carrier *c = ERR_PTR(-ENOENT);
	struct sdp_join join = link->join;
	struct net *net;

	if (READ_ONCE(refuse))
		return ERR_PTR(-ECONNREFUSED);
	join.ifindex = 0;
	if (READ_ONCE(forge))
		join.proof ^= cpu_to_be64(1);
	down_read(&net_rwsem);
	for_each_net(net) {
		c = sdp_carrier_answer(&ops, net, &join, answer, &link->end[1]);
		if (!IS_ERR(c) || PTR_ERR(c) != -ENOENT)
			break;
	}
	up_read(&net_rwsem);
	return c;
}

/* Each end has what the other one proves by, or something is wrong. */
static bool link_proved(struct link *link, struct sdp_carrier *c, struct sdp_join *answer)
{
	struct sdp_carrier *asker = link->end[0].c;
	__be64 last = sdp_carrier_proof(asker, 3, &link->join, answer->nonce);

	if (READ_ONCE(forge_answer))
		answer->proof ^= cpu_to_be64(1);
	if (READ_ONCE(forge_last))
		last ^= cpu_to_be64(1);
	if (last != sdp_carrier_proof(c, 3, &link->join, c->answer))
		return false;
	if (READ_ONCE(less))
		asker->most = 1 + get_random_u32_below(ops.most);
	c->most = asker->most;
	return sdp_carrier_joined(asker, answer);
}

/* Asks once more, by another nonce: one that was refused is of no use any more. */
static void link_again(struct link *link)
{
	struct sdp_carrier *asker = link->end[0].c;

	link->join.nonce = cpu_to_be64(ktime_get_ns());
	asker->nonce = link->join.nonce;
	link->join.proof = sdp_carrier_proof(asker, 1, &link->join, 0);
	link_later(link, 1);
}

static void link_ask(struct link *link)
{
	struct end *end = link->end;
	struct sdp_join answer;
	struct sdp_carrier *c = link_request(link, &answer);

	if (IS_ERR(c) && PTR_ERR(c) == -EBUSY && link->tries++ < READ_ONCE(tries)) {
		link_again(link);
		return;
	}
	spin_lock_bh(&link->lock);
	link->asked = true;
	if (IS_ERR(c)) {
		atomic_inc(&refused);
		link->refusal = PTR_ERR(c) == -ECONNREFUSED ? why : sdp_refusal_of(PTR_ERR(c));
		link->retry = PTR_ERR(c) == -EBUSY ? RETRY_MS : 0;
		link->dead = true;
		end[1].ended = true;
		end[1].told = true;
	} else {
		end[1].c = c;
		refcount_inc(&link->refs);
	}
	spin_unlock_bh(&link->lock);
	if (IS_ERR(c))
		return;
	if (link_proved(link, c, &answer)) {
		atomic_inc(&joined);
		sdp_carrier_joined(c, NULL);
		return;
	}
	atomic_inc(&refused);
	spin_lock_bh(&link->lock);
	link->refusal = SDP_REFUSED_PROOF;
	link->dead = true;
	spin_unlock_bh(&link->lock);
}

/* Brings the end what is on its way to it.  Returns whether that was something. */
static bool end_bring(struct end *end)
{
	struct end *peer = other(end);
	struct link *link = end->link;
	struct sk_buff *skb = NULL;
	bool room = false, acked = false, lost;
	u32 acks;

	spin_lock_bh(&link->lock);
	if (!link->dead && end->c) {
		skb = __skb_dequeue(&end->coming);
		acks = peer->taken;
		acked = acks != end->acked;
		end->acked = acks;
		end->used -= peer->freed;
		room = peer->freed && end->wants_room;
		peer->freed = 0;
		end->wants_room &= !room;
	}
	spin_unlock_bh(&link->lock);
	/* A wire copies what a program has lent. */
	lost = skb && skb_orphan_frags_rx(skb, GFP_KERNEL);
	if (lost)
		kfree_skb(skb);
	else if (skb)
		sdp_carrier_arrived(end->c, skb);
	if (acked)
		sdp_carrier_acked(end->c, acks, false);
	if (room)
		sdp_carrier_room(end->c);
	spin_lock_bh(&link->lock);
	end->brought += !!skb;
	link->dead |= lost || reached(peer, ARRIVED, end->brought) ||
		      reached(end, ACKED, end->acked);
	spin_unlock_bh(&link->lock);
	return skb || acked;
}

/* A lost link: both ends are told, and let go of. */
static void end_over(struct end *end)
{
	struct link *link = end->link;
	bool tell, put;

	spin_lock_bh(&link->lock);
	tell = link->dead && end->c && !end->told;
	end->told |= tell;
	put = end->ended && end->c;
	spin_unlock_bh(&link->lock);
	if (tell && !put)
		sdp_carrier_refused(end->c, link->refusal, link->retry);
	spin_lock_bh(&link->lock);
	put = end->ended && end->c && end->told;
	spin_unlock_bh(&link->lock);
	if (!put)
		return;
	sdp_carrier_put(end->c);
	end->c = NULL;
	link_put(link);
}

static void link_break(struct link *link)
{
	spin_lock_bh(&link->lock);
	link->refusal = SDP_REFUSED_UNREACHABLE;
	link->dead = true;
	spin_unlock_bh(&link->lock);
}

static void link_work(struct work_struct *work)
{
	struct link *link = container_of(to_delayed_work(work), struct link, work);

	if (!link->asked && !link->dead)
		link_ask(link);
	if (READ_ONCE(broken))
		link_break(link);
	while (!READ_ONCE(frozen) && (end_bring(&link->end[0]) | end_bring(&link->end[1])))
		cond_resched();
	if (link->dead) {
		end_over(&link->end[0]);
		end_over(&link->end[1]);
	} else if (READ_ONCE(frozen)) {
		link_later(link, HZ / 10);
	}
	link_put(link);
}

static int carrier_ask(struct sdp_carrier *c, struct net *net, const struct sdp_join *join)
{
	struct link *link = kzalloc(sizeof(*link), GFP_ATOMIC);
	int i;

	if (!link)
		return -ENOMEM;
	atomic_inc(&links);
	spin_lock_init(&link->lock);
	refcount_set(&link->refs, 1);
	for (i = 0; i < 2; i++) {
		link->end[i].link = link;
		__skb_queue_head_init(&link->end[i].coming);
	}
	link->end[0].c = c;
	link->join = *join;
	c->priv = &link->end[0];
	INIT_DELAYED_WORK(&link->work, link_work);
	link_later(link, 0);
	return 0;
}

static int set_changed(const char *val, const struct kernel_param *kp)
{
	sdp_carrier_changed(&ops);
	return 0;
}

static const struct kernel_param_ops changed_ops = { .set = set_changed };
module_param_cb(changed, &changed_ops, NULL, 0200);
MODULE_PARM_DESC(changed, "Written: paths that have failed may be there again");

static int __init carrier_init(void)
{
	int err;

	wq = alloc_workqueue("sdp_carrier_test", WQ_UNBOUND, 0);
	if (!wq)
		return -ENOMEM;
	ops.most = most;
	err = sdp_carrier_register(&ops);
	if (err)
		destroy_workqueue(wq);
	return err;
}

/* Connections that have a carrier keep the module, through the offload layer. */
static void __exit carrier_exit(void)
{
	sdp_carrier_unregister(&ops);
	/* An ask() that has begun before. */
	synchronize_rcu();
	while (atomic_read(&links))
		msleep(20);
	/* Those that have called ops.end() last. */
	synchronize_rcu();
	destroy_workqueue(wq);
}

module_init(carrier_init);
module_exit(carrier_exit);

// SPDX-License-Identifier: GPL-2.0
/*
 * Destinations: the GIDs that packets are sent to, unicast and multicast, with
 * the address handle for each and a bounded queue for the time until there is
 * one. How a destination is resolved is path.c's and mcast.c's business.
 *
 * What a destination does about its way is its state. Whether it has one, its ah, is
 * another matter: it may have an old one while it asks for a new one.
 *
 *              a packet, an event             no answer, no way
 *     SETTLED --------------------> ASKING ----------------------> FAILED
 *        ^  ^                        |  ^                           |  ^
 *        |  +---- there is a way ----+  | an event           tries  |  | fails
 *        |                              |                  by itself|  | again
 *        |                              |                           v  |
 *        +------- there is a way -------+------------------------ PAUSING
 *
 * An event, and a packet after retry_at, makes a FAILED one SETTLED first, as if it had
 * never been asked for. Any of them becomes DEAD, and that is the end.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/wait_bit.h>

#include "compat.h"
#include "ipoib.h"
#include "trace.h"

/* The common part is freed as what it is part of. */
static_assert(offsetof(struct ipoib_path, dest) == 0);
static_assert(offsetof(struct ipoib_mcast, dest) == 0);

/* --- states -------------------------------------------------------------- */

/* To which states a destination may go from each. */
static const u8 ipoib_dest_steps[IPOIB_DEST_STATES] = {
	[IPOIB_DEST_SETTLED] = BIT(IPOIB_DEST_ASKING) | BIT(IPOIB_DEST_FAILED) |
			       BIT(IPOIB_DEST_DEAD),
	[IPOIB_DEST_ASKING]  = BIT(IPOIB_DEST_SETTLED) | BIT(IPOIB_DEST_FAILED) |
			       BIT(IPOIB_DEST_DEAD),
	[IPOIB_DEST_PAUSING] = BIT(IPOIB_DEST_SETTLED) | BIT(IPOIB_DEST_ASKING) |
			       BIT(IPOIB_DEST_FAILED) | BIT(IPOIB_DEST_DEAD),
	[IPOIB_DEST_FAILED]  = BIT(IPOIB_DEST_SETTLED) | BIT(IPOIB_DEST_PAUSING) |
			       BIT(IPOIB_DEST_DEAD),
};

/*
 * The one function that changes the state. Called under the destination's lock. One that is dead
 * stays so, even if its work finds something.
 */
void ipoib_dest_set_state(struct ipoib_dest *d, enum ipoib_dest_state state)
{
	lockdep_assert_held(&d->lock);
	if (d->state == state || d->state == IPOIB_DEST_DEAD)
		return;
	WARN_ON_ONCE(IS_ENABLED(CONFIG_PROVE_LOCKING) &&
		     !(ipoib_dest_steps[d->state] & BIT(state)));
	WRITE_ONCE(d->state, state);
}

/* Forgets that the destination has failed. Called under its lock. */
void ipoib_dest_forgive(struct ipoib_dest *d)
{
	if (d->state == IPOIB_DEST_FAILED)
		ipoib_dest_set_state(d, IPOIB_DEST_SETTLED);
	else if (d->state == IPOIB_DEST_PAUSING)
		ipoib_dest_set_state(d, IPOIB_DEST_ASKING);
}

/*
 * Will its work settle the destination, or does it do nothing? A failure is not forgotten. Called
 * under its lock.
 */
void ipoib_dest_set_asking(struct ipoib_dest *d, bool asking)
{
	if (ipoib_dest_has_failed(d))
		ipoib_dest_set_state(d, asking ? IPOIB_DEST_PAUSING : IPOIB_DEST_FAILED);
	else
		ipoib_dest_set_state(d, asking ? IPOIB_DEST_ASKING : IPOIB_DEST_SETTLED);
}

/* --- the table ----------------------------------------------------------- */

void ipoib_dest_init(struct ipoib_dev *priv, const struct ipoib_dest_kind *path,
		     const struct ipoib_dest_kind *mcast)
{
	priv->dests.path_kind = path;
	priv->dests.mcast_kind = mcast;
	priv->dests.seed = get_random_u32();
	spin_lock_init(&priv->dests.lock);
	hash_init(priv->dests.table);
	INIT_LIST_HEAD(&priv->dests.ages);
	INIT_LIST_HEAD(&priv->dests.evicted);
	INIT_WORK(&priv->dests.evict_work, ipoib_evict_work);
}

static u32 ipoib_dest_hash(struct ipoib_dev *priv, const union ib_gid *gid)
{
	return jhash2((const u32 *)gid->raw, sizeof(gid->raw) / sizeof(u32), priv->dests.seed);
}

/* Called under rcu_read_lock() or dests.lock. */
struct ipoib_dest *ipoib_dest_find(struct ipoib_dev *priv,
				   const union ib_gid *gid)
{
	struct ipoib_dest *d;

	hash_for_each_possible_rcu(priv->dests.table, d, hash,
				   ipoib_dest_hash(priv, gid),
				   lockdep_is_held(&priv->dests.lock))
		if (ipoib_gid_equal(&d->gid, gid))
			return d;
	return NULL;
}

/* Called under dests.lock. */
static void ipoib_dest_unlink(struct ipoib_dest *d)
{
	hash_del_rcu(&d->hash);
	list_del(&d->age);
	d->priv->dests.count--;
}

static void ipoib_dest_drop_queue(struct ipoib_dest *d, struct sk_buff_head *q,
				  enum ipoib_counter why)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(q))) {
		atomic_dec(&d->priv->dests.queued);
		ipoib_tx_drop(d->priv, why);
		dev_kfree_skb_any(skb);
	}
}

/*
 * A destination without an address handle has to make room for a new one, and so has one
 * that was not sent to for a while. A group that the stack listens to has not, nor has
 * the interface's own path: it tells when the subnet administrator is back. Called under
 * the destination's lock.
 */
static bool ipoib_dest_is_evictable(struct ipoib_dest *d)
{
	if (ipoib_gid_is_mcast(&d->gid) ? ipoib_to_mcast(d)->listen : ipoib_dest_is_own(d))
		return false;
	return !rcu_access_pointer(d->ah) ||
	       time_after(jiffies, READ_ONCE(d->last_used) + IPOIB_GC_PERIOD);
}

/*
 * Takes one destination out of the table, the oldest where possible; with @waiting,
 * one that packets wait for. Its memory is freed by a work. Called under dests.lock.
 */
static bool ipoib_dest_evict(struct ipoib_dev *priv, bool waiting)
{
	unsigned int n = min_t(unsigned int, priv->dests.count, IPOIB_EVICT_LOOK);
	struct sk_buff_head lost;
	struct ipoib_dest *d;
	bool found = false;

	if (priv->dests.evicted_count >= IPOIB_MAX_EVICTED)
		return false;

	__skb_queue_head_init(&lost);
	for (; n && !found; n--) {
		d = list_first_entry(&priv->dests.ages, struct ipoib_dest, age);
		spin_lock(&d->lock);
		found = ipoib_dest_is_evictable(d) &&
			!(waiting && skb_queue_empty(&d->queue));
		if (found) {
			ipoib_dest_set_state(d, IPOIB_DEST_DEAD);
			skb_queue_splice_tail_init(&d->queue, &lost);
		}
		spin_unlock(&d->lock);
		if (!found)
			list_move_tail(&d->age, &priv->dests.ages);
	}
	if (!found)
		return false;

	ipoib_dest_unlink(d);
	list_add_tail(&d->age, &priv->dests.evicted);
	priv->dests.evicted_count++;
	queue_work(ipoib_ctl_wq, &priv->dests.evict_work);
	ipoib_dest_drop_queue(d, &lost, IPOIB_TX_QUEUE_FULL);
	return true;
}

static struct ipoib_dest *ipoib_dest_create(struct ipoib_dev *priv,
					    const union ib_gid *gid)
{
	const struct ipoib_dest_kind *kind;
	struct ipoib_dest *d;

	/* Going down, it has removed all: what still runs must not make others. */
	if (!READ_ONCE(priv->link.up))
		return NULL;
	if (priv->dests.count >= IPOIB_MAX_DESTS && !ipoib_dest_evict(priv, false))
		return NULL;

	kind = ipoib_gid_is_mcast(gid) ? priv->dests.mcast_kind : priv->dests.path_kind;
	d = kind->create();
	if (!d)
		return NULL;

	d->kind = kind;
	d->priv = priv;
	d->gid = *gid;
	d->created = jiffies;
	d->last_used = d->created;
	spin_lock_init(&d->lock);
	__skb_queue_head_init(&d->queue);

	hash_add_rcu(priv->dests.table, &d->hash, ipoib_dest_hash(priv, gid));
	list_add_tail(&d->age, &priv->dests.ages);
	priv->dests.count++;
	trace_ipoib_dest_create(d);
	return d;
}

/*
 * Looks a destination up, or creates it; NULL if there is no memory, or there are too many, or the
 * interface is down. Called under rcu_read_lock() or ctl, also in atomic context.
 */
struct ipoib_dest *ipoib_dest_get(struct ipoib_dev *priv,
				  const union ib_gid *gid)
{
	struct ipoib_dest *d;

	spin_lock_bh(&priv->dests.lock);
	d = ipoib_dest_find(priv, gid);
	if (!d)
		d = ipoib_dest_create(priv, gid);
	spin_unlock_bh(&priv->dests.lock);
	return d;
}

/* @fn is called under dests.lock. */
void ipoib_dest_for_each(struct ipoib_dev *priv,
			 void (*fn)(struct ipoib_dest *d))
{
	struct ipoib_dest *d;
	int bucket;

	spin_lock_bh(&priv->dests.lock);
	hash_for_each(priv->dests.table, bucket, d, hash)
		fn(d);
	spin_unlock_bh(&priv->dests.lock);
}

static void ipoib_dest_resume(struct ipoib_dest *d)
{
	d->kind->resume(d);
}

/* The subnet administrator is back. */
void ipoib_dest_resume_all(struct ipoib_dev *priv)
{
	ipoib_dest_for_each(priv, ipoib_dest_resume);
}

static void ipoib_dest_refresh(struct ipoib_dest *d)
{
	d->kind->refresh(d);
}

/* Ways may have changed: asks again, and uses the old ones meanwhile. */
void ipoib_dest_refresh_all(struct ipoib_dev *priv)
{
	ipoib_dest_for_each(priv, ipoib_dest_refresh);
}

static void ipoib_dest_renew(struct ipoib_dest *d)
{
	d->kind->renew(d);
}

/* Forgets all ways, and finds them again. */
void ipoib_dest_renew_all(struct ipoib_dev *priv)
{
	ipoib_dest_for_each(priv, ipoib_dest_renew);
}

/* --- resolving ----------------------------------------------------------- */

/* As ipoib_dest_kick(), under the destination's lock. */
void ipoib_dest_kick_locked(struct ipoib_dest *d, unsigned long delay)
{
	if (d->state == IPOIB_DEST_DEAD)
		return;
	ipoib_dest_set_asking(d, true);
	mod_delayed_work(ipoib_wq, &d->work, delay);
}

/* Lets the work run in @delay jiffies, unless the destination is dead. */
void ipoib_dest_kick(struct ipoib_dest *d, unsigned long delay)
{
	spin_lock_bh(&d->lock);
	ipoib_dest_kick_locked(d, delay);
	spin_unlock_bh(&d->lock);
}

/* Does no packet wait, because there is no way for now? Under the destination's lock. */
static bool ipoib_dest_refuses(const struct ipoib_dest *d)
{
	return d->state == IPOIB_DEST_DEAD ||
	       (ipoib_dest_has_failed(d) && time_before(jiffies, d->retry_at));
}

/*
 * Lets the packet wait, or tells by @why that it cannot. Called under the destination's
 * lock.
 */
static bool ipoib_dest_enqueue(struct ipoib_dest *d, struct sk_buff *skb,
			       enum ipoib_counter *why)
{
	struct ipoib_dev *priv = d->priv;

	if (ipoib_dest_refuses(d)) {
		*why = IPOIB_TX_UNREACHABLE;
		return false;
	}
	*why = IPOIB_TX_QUEUE_FULL;
	if (skb_queue_len(&d->queue) >= IPOIB_DEST_QUEUE)
		return false;
	if (atomic_inc_return(&priv->dests.queued) > IPOIB_MAX_QUEUED) {
		atomic_dec(&priv->dests.queued);
		return false;
	}

	ipoib_dest_forgive(d);
	d->last_used = jiffies;
	__skb_queue_tail(&d->queue, skb);
	if (!ipoib_dest_is_asking(d))
		ipoib_dest_kick_locked(d, 0);
	return true;
}

/* The first packet of a destination can wait, even if many others do. */
static void ipoib_dest_make_room(struct ipoib_dest *d)
{
	struct ipoib_dev *priv = d->priv;
	bool first;

	if (atomic_read(&priv->dests.queued) < IPOIB_MAX_QUEUED)
		return;
	spin_lock_bh(&d->lock);
	first = !ipoib_dest_refuses(d) && skb_queue_empty(&d->queue);
	spin_unlock_bh(&d->lock);
	if (!first)
		return;
	spin_lock_bh(&priv->dests.lock);
	ipoib_dest_evict(priv, true);
	spin_unlock_bh(&priv->dests.lock);
}

/*
 * Keeps a packet, from the encapsulation header on, until its destination is resolved. Returns
 * NULL, and @skb is consumed; or how to reach @dest, if that has just been resolved. Called under
 * rcu_read_lock() and a tx lock.
 */
struct ipoib_ah *ipoib_dest_queue(struct ipoib_dev *priv,
				  const union ib_gid *gid, struct sk_buff *skb,
				  struct ipoib_dest **dest)
{
	enum ipoib_counter why = IPOIB_TX_NO_DEST;
	struct ipoib_ah *ah = NULL;
	struct ipoib_dest *d;
	bool waits = false;

	d = ipoib_dest_get(priv, gid);
	*dest = d;
	if (d) {
		ipoib_dest_make_room(d);
		spin_lock_bh(&d->lock);
		ah = rcu_dereference(d->ah);
		if (!ah)
			waits = ipoib_dest_enqueue(d, skb, &why);
		spin_unlock_bh(&d->lock);
	}
	if (!ah && !waits) {
		ipoib_tx_drop(priv, why);
		dev_kfree_skb_any(skb);
	}
	return ah;
}

/*
 * Makes a way known, unless packets wait; with @force even then. Those are moved to @waiting. True:
 * the way is known, and the reference to @ah is the destination's.
 */
bool ipoib_dest_set_ah(struct ipoib_dest *d, struct ipoib_ah *ah,
		       struct sk_buff_head *waiting, bool force)
{
	struct ipoib_ah *old = NULL;
	bool set;

	spin_lock_bh(&d->lock);
	set = force || skb_queue_empty(&d->queue);
	if (set) {
		old = rcu_replace_pointer(d->ah, ah,
					  lockdep_is_held(&d->lock));
		ipoib_dest_set_state(d, IPOIB_DEST_SETTLED);
		d->error = 0;
	}
	skb_queue_splice_tail_init(&d->queue, waiting);
	spin_unlock_bh(&d->lock);

	if (old)
		ipoib_ah_put(old);
	return set;
}

/* Lets packets wait from now on. */
void ipoib_dest_withdraw(struct ipoib_dest *d)
{
	struct ipoib_ah *old;

	spin_lock_bh(&d->lock);
	old = rcu_replace_pointer(d->ah, NULL, lockdep_is_held(&d->lock));
	spin_unlock_bh(&d->lock);

	if (old)
		ipoib_ah_put(old);
}

/* Drops what waits. More is refused for @backoff jiffies, unless there is still an old way. */
void ipoib_dest_fail(struct ipoib_dest *d, unsigned long backoff)
{
	struct sk_buff_head waiting;

	__skb_queue_head_init(&waiting);

	spin_lock_bh(&d->lock);
	ipoib_dest_set_state(d, IPOIB_DEST_FAILED);
	d->retry_at = jiffies + backoff;
	skb_queue_splice_tail_init(&d->queue, &waiting);
	spin_unlock_bh(&d->lock);

	ipoib_dest_drop_queue(d, &waiting, IPOIB_TX_UNREACHABLE);
}

/* --- removal ------------------------------------------------------------- */

static void ipoib_dest_free(struct rcu_head *rcu)
{
	struct ipoib_dest *d = container_of(rcu, struct ipoib_dest, rcu);

	d->kind->free(d);
}

/* Called under ctl. */
static void ipoib_dest_destroy(struct ipoib_dest *d)
{
	enum ipoib_counter why = d->priv->link.up ? IPOIB_TX_UNREACHABLE :
					       IPOIB_TX_LINK_DOWN;

	trace_ipoib_dest_remove(d);

	spin_lock_bh(&d->lock);
	ipoib_dest_set_state(d, IPOIB_DEST_DEAD);
	spin_unlock_bh(&d->lock);

	cancel_delayed_work_sync(&d->work);
	d->kind->release(d);

	ipoib_dest_withdraw(d);
	ipoib_dest_drop_queue(d, &d->queue, why);
	call_rcu(&d->rcu, ipoib_dest_free);
}

/* Of those that are out of the table. Called under ctl. */
static void ipoib_dest_destroy_all(struct list_head *kill)
{
	struct ipoib_dest *d, *next;

	list_for_each_entry_safe(d, next, kill, age)
		ipoib_dest_destroy(d);
}

/* Adds those that had to make room to the list. Called under dests.lock. */
static void ipoib_dest_take_evicted(struct ipoib_dev *priv,
				    struct list_head *kill)
{
	list_splice_tail_init(&priv->dests.evicted, kill);
	priv->dests.evicted_count = 0;
}

void ipoib_evict_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(work, struct ipoib_dev,
					      dests.evict_work);
	LIST_HEAD(kill);

	mutex_lock(&priv->link.ctl);
	spin_lock_bh(&priv->dests.lock);
	ipoib_dest_take_evicted(priv, &kill);
	spin_unlock_bh(&priv->dests.lock);
	ipoib_dest_destroy_all(&kill);
	mutex_unlock(&priv->link.ctl);
}

/*
 * Removes the destinations that @doomed names under dests.lock, and those that had to make room,
 * and waits for what they had under way. Called under ctl.
 */
void ipoib_dest_remove(struct ipoib_dev *priv,
		       bool (*doomed)(struct ipoib_dest *d))
{
	struct hlist_node *tmp;
	struct ipoib_dest *d;
	LIST_HEAD(kill);
	int bucket;

	lockdep_assert_held(&priv->link.ctl);

	spin_lock_bh(&priv->dests.lock);
	hash_for_each_safe(priv->dests.table, bucket, tmp, d, hash) {
		if (!doomed(d))
			continue;
		ipoib_dest_unlink(d);
		list_add_tail(&d->age, &kill);
	}
	ipoib_dest_take_evicted(priv, &kill);
	spin_unlock_bh(&priv->dests.lock);

	ipoib_dest_destroy_all(&kill);
}

/* What leads nowhere goes sooner, lest it keep others out of a full table. */
static bool ipoib_dest_is_idle(struct ipoib_dest *d)
{
	unsigned long idle = ipoib_idle();

	if (ipoib_dest_has_failed(d))
		idle = min(idle, IPOIB_GC_PERIOD);
	if (time_before(jiffies, READ_ONCE(d->last_used) + idle))
		return false;
	if (ipoib_gid_is_mcast(&d->gid) && ipoib_to_mcast(d)->listen)
		return false;
	trace_ipoib_dest_idle(d);
	return true;
}

/* Forgets destinations that were not sent to for long. Called under ctl. */
void ipoib_dest_remove_idle(struct ipoib_dev *priv)
{
	ipoib_dest_remove(priv, ipoib_dest_is_idle);
}

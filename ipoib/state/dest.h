/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Destinations, the GIDs that packets are sent to, and address handles.
 *
 * Locks: ipoib_dests.lock for membership of the table, and in it ipoib_dest.lock for one
 * destination's queue and state. The transmit path finds a destination, and its address
 * handle, under RCU.
 */
#ifndef _IPOIB_DEST_H
#define _IPOIB_DEST_H

#include <linux/hashtable.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "counter.h"

struct ipoib_dest_kind;
struct ipoib_dev;

/* Destinations: how many, how long idle, how much waits for one and for all. */
#define IPOIB_MAX_DESTS		16384
#define IPOIB_DEST_QUEUE	64
#define IPOIB_DEST_ROUNDS	16
#define IPOIB_MAX_QUEUED	2048
/* To make room: how many are looked at, and how many may wait for their end. */
#define IPOIB_EVICT_LOOK	256
#define IPOIB_MAX_EVICTED	1024
#define IPOIB_GC_PERIOD		(30UL * HZ)
#define IPOIB_MIN_BACKOFF	(HZ / 8)
#define IPOIB_MAX_BACKOFF	(16 * HZ)

/**
 * struct ipoib_ah - address handle that packets in flight may still need
 * @ah:		the handle
 * @priv:	the interface, whose ah_count counts this object
 * @refs:	one of the destination that publishes it, one of each packet in
 *		the send ring
 * @rcu:	a grace period after the last reference
 * @free_work:	destroys the handle then, in process context
 */
struct ipoib_ah {
	struct ib_ah *ah;
	struct ipoib_dev *priv;
	refcount_t refs;
	union {
		struct rcu_head rcu;
		struct work_struct free_work;
	};
};

/*
 * What a destination is doing about the way to it, which is its ah. Pictured and checked
 * in dest.c.
 */
enum ipoib_dest_state {
	IPOIB_DEST_SETTLED,	/* nothing: it is ready, or the next packet asks */
	IPOIB_DEST_ASKING,	/* its work will settle it, without being told again */
	IPOIB_DEST_PAUSING,	/* it has failed; its work tries again by itself */
	IPOIB_DEST_FAILED,	/* it has failed; from retry_at on a packet asks */
	IPOIB_DEST_DEAD,	/* being removed: nothing is queued, no work started */
	IPOIB_DEST_STATES
};

/**
 * struct ipoib_dest - a GID that packets are sent to
 * @hash:	in ipoib_dests.table; changed under its lock, read under RCU
 * @age:	in ipoib_dests.ages; under its lock. Out of the table, it links those to destroy
 * @rcu:	frees the destination after the last reader, where @age is no longer needed
 * @priv:	the interface
 * @kind:	what it is part of
 * @gid:	the key
 * @created:	jiffies when it was made
 * @ah:		how to reach it, NULL until that is known; RCU, changed under @lock
 * @last_used:	jiffies when last sent to
 * @work:	the only one that resolves this destination
 * @lock:	guards the members below
 * @state:	changed by ipoib_dest_set_state() only
 * @error:	why the last attempt failed, 0 after a success
 * @retry_at:	packets are refused until then, in jiffies, while pausing or failed without @ah
 * @queue:	packets that wait for @ah
 *
 * Embedded, first, in struct ipoib_path or struct ipoib_mcast. A destination is created when
 * it is needed, and lives until a holder of ctl destroys it, which waits for its work and its
 * queries, so these need no reference.
 */
struct ipoib_dest {
	struct hlist_node hash;
	union {
		struct list_head age;
		struct rcu_head rcu;
	};
	struct ipoib_dev *priv;
	const struct ipoib_dest_kind *kind;
	union ib_gid gid;
	unsigned long created;
	struct ipoib_ah __rcu *ah;
	unsigned long last_used;
	struct delayed_work work;

	spinlock_t lock;		/* what follows */
	enum ipoib_dest_state state;
	int error;
	unsigned long retry_at;
	struct sk_buff_head queue;
};

/**
 * struct ipoib_dest_kind - what a unicast destination does in its way, and a group in its
 * @create:	makes one, with the structure that it is the beginning of, or returns NULL; under
 *		ipoib_dests.lock
 * @free:	its memory, after the last reader
 * @release:	gives back what it has; its work has been cancelled for good
 * @resume:	the subnet administrator is back; under ipoib_dests.lock, as what follows
 * @refresh:	ways may have changed, but are usable until the new ones are known
 * @renew:	ways and memberships are none any more
 */
struct ipoib_dest_kind {
	struct ipoib_dest *(*create)(void);
	void (*free)(struct ipoib_dest *d);
	void (*release)(struct ipoib_dest *d);
	void (*resume)(struct ipoib_dest *d);
	void (*refresh)(struct ipoib_dest *d);
	void (*renew)(struct ipoib_dest *d);
};

/**
 * struct ipoib_dests - an interface's table of destinations
 * @lock:	what follows down to @evicted_count
 * @table:	by GID; read under RCU
 * @ages:	the same, the next one to make room for another first
 * @count:	how many
 * @evicted:	those that had to make room, out of the table and dead
 * @evicted_count: how many
 * @evict_work:	destroys them
 * @queued:	packets in all their queues
 * @asked:	paths' questions under way
 * @ah_count:	address handles not yet destroyed
 * @seed:	of the hash; fixed, as what follows
 * @path_kind:	makes unicast destinations
 * @mcast_kind:	makes groups
 */
struct ipoib_dests {
	spinlock_t lock;		/* down to evicted_count */
	DECLARE_HASHTABLE(table, 10);
	struct list_head ages;
	unsigned int count;
	struct list_head evicted;
	unsigned int evicted_count;

	struct work_struct evict_work;
	atomic_t queued;
	atomic_t asked;
	atomic_t ah_count;
	u32 seed;
	const struct ipoib_dest_kind *path_kind;
	const struct ipoib_dest_kind *mcast_kind;
};

/* Will its work settle it? Under the destination's lock. */
static inline bool ipoib_dest_is_asking(const struct ipoib_dest *d)
{
	return d->state == IPOIB_DEST_ASKING || d->state == IPOIB_DEST_PAUSING;
}

/* Has the last attempt failed? Under its lock, or as a guess. */
static inline bool ipoib_dest_has_failed(const struct ipoib_dest *d)
{
	enum ipoib_dest_state state = READ_ONCE(d->state);

	return state == IPOIB_DEST_PAUSING || state == IPOIB_DEST_FAILED;
}

/* ah.c */
struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv,
				 struct rdma_ah_attr *attr);
void ipoib_ah_put(struct ipoib_ah *ah);

/* dest.c */
struct ipoib_dest *ipoib_dest_find(struct ipoib_dev *priv,
				   const union ib_gid *gid);
struct ipoib_dest *ipoib_dest_get(struct ipoib_dev *priv,
				  const union ib_gid *gid);
struct ipoib_ah *ipoib_dest_queue(struct ipoib_dev *priv,
				  const union ib_gid *gid, struct sk_buff *skb,
				  struct ipoib_dest **dest);
void ipoib_dest_set_state(struct ipoib_dest *d, enum ipoib_dest_state state);
void ipoib_dest_forgive(struct ipoib_dest *d);
void ipoib_dest_set_asking(struct ipoib_dest *d, bool asking);
void ipoib_dest_kick_locked(struct ipoib_dest *d, unsigned long delay);
void ipoib_dest_kick(struct ipoib_dest *d, unsigned long delay);
bool ipoib_dest_set_ah(struct ipoib_dest *d, struct ipoib_ah *ah,
		       struct sk_buff_head *waiting, bool force);
void ipoib_dest_withdraw(struct ipoib_dest *d);
void ipoib_dest_fail(struct ipoib_dest *d, unsigned long backoff);
void ipoib_dest_remove(struct ipoib_dev *priv,
		       bool (*doomed)(struct ipoib_dest *d));
void ipoib_dest_for_each(struct ipoib_dev *priv,
			 void (*fn)(struct ipoib_dest *d));
void ipoib_dest_init(struct ipoib_dev *priv, const struct ipoib_dest_kind *path,
		     const struct ipoib_dest_kind *mcast);
void ipoib_evict_work(struct work_struct *work);
void ipoib_dest_remove_idle(struct ipoib_dev *priv);
void ipoib_dest_resume_all(struct ipoib_dev *priv);
void ipoib_dest_refresh_all(struct ipoib_dev *priv);
void ipoib_dest_renew_all(struct ipoib_dev *priv);

#endif /* _IPOIB_DEST_H */

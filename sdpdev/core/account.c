// SPDX-License-Identifier: GPL-2.0
/*
 * Who pays: what each user has of endpoints, connections and memory, with a
 * limit on each, and whose memory control group the buffers are charged to.
 *
 * An endpoint belongs to the user who made it, an incoming connection to the user who
 * made the listener.  The limits of a user namespace's owner bound all of its users
 * together, as with RLIMIT_NPROC: what one of them has is charged to the owner's account
 * as well.  Users of a namespace that root has made have accounts of their own only.
 *
 * Root has no limits for what its processes ask for.  A connection that a peer has asked
 * for is not of that kind before it is accepted.
 *
 * What is in an account was charged for an endpoint and goes with it, except the
 * memory of rings, which is there as long as somebody has it mapped.  An account lives
 * as long as its endpoints, such memory and the accounts below it.
 */
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "sdpdev.h"

/**
 * struct sdp_user - a user's account
 * @node: in the table of users; sdp_users_lock
 * @refs: endpoints, memory of rings and accounts that hold it; sdp_users_lock
 * @parent: account of the owner of the user namespace that this user is in, referenced;
 *	NULL in the first one, and in those that root has made there
 * @uid: the user
 * @used: what the user and the accounts below have of each; memory in bytes
 */
struct sdp_user {
	struct hlist_node node;
	unsigned int refs;
	struct sdp_user *parent;
	kuid_t uid;
	atomic_long_t used[SDP_LIMIT_MAX];
};

static DEFINE_HASHTABLE(sdp_users, 6);
static DEFINE_SPINLOCK(sdp_users_lock);

/* A uid has an account of its own below each owner of namespaces that it is in. */
static u32 sdp_user_key(const struct sdp_user *parent, kuid_t uid)
{
	return hash_ptr(parent, 32) ^ __kuid_val(uid);
}

/* Context: sdp_users_lock held. */
static struct sdp_user *sdp_user_find(const struct sdp_user *parent, kuid_t uid)
{
	struct sdp_user *user;

	hash_for_each_possible(sdp_users, user, node, sdp_user_key(parent, uid))
		if (user->parent == parent && uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static void sdp_user_hold(struct sdp_user *user)
{
	spin_lock_bh(&sdp_users_lock);
	user->refs++;
	spin_unlock_bh(&sdp_users_lock);
}

static void sdp_user_put(struct sdp_user *user)
{
	struct sdp_user *parent;
	bool last = true;

	for (; user && last; user = parent) {
		parent = user->parent;
		spin_lock_bh(&sdp_users_lock);
		last = !--user->refs;
		if (last)
			hash_del(&user->node);
		spin_unlock_bh(&sdp_users_lock);
		if (last)
			kfree(user);
	}
}

/* The account of @uid below @parent, whose reference passes to it. */
static struct sdp_user *sdp_user_get(struct sdp_user *parent, kuid_t uid)
{
	struct sdp_user *user, *new;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new) {
		sdp_user_put(parent);
		return NULL;
	}
	spin_lock_bh(&sdp_users_lock);
	user = sdp_user_find(parent, uid);
	if (!user) {
		user = new;
		user->parent = parent;
		user->uid = uid;
		hash_add(sdp_users, &user->node, sdp_user_key(parent, uid));
		parent = NULL;
		new = NULL;
	}
	user->refs++;
	spin_unlock_bh(&sdp_users_lock);
	/* It has a reference to @parent of its own. */
	sdp_user_put(parent);
	kfree(new);
	return user;
}

/*
 * Namespaces are nested 32 deep at most.  There is no account above the users of a
 * namespace of root's: they and root's own listeners would share the limit of peers.
 */
static struct sdp_user *sdp_user_in(const struct user_namespace *ns, kuid_t uid)
{
	struct sdp_user *parent = NULL;

	if (ns->parent &&
	    (ns->parent->parent || !uid_eq(ns->owner, GLOBAL_ROOT_UID))) {
		parent = sdp_user_in(ns->parent, ns->owner);
		if (!parent)
			return NULL;
	}
	return sdp_user_get(parent, uid);
}

static bool sdp_user_is_root(const struct sdp_user *user)
{
	return uid_eq(user->uid, GLOBAL_ROOT_UID);
}

static long sdp_limit(const struct sdp_user *user, enum sdp_limit which)
{
	/* As with other resources of the machine, root may have them all. */
	if (which != SDP_LIMIT_PEERS && sdp_user_is_root(user))
		return LONG_MAX;
	switch (which) {
	case SDP_LIMIT_ENDPOINTS:
		return READ_ONCE(sdp_user_endpoints);
	case SDP_LIMIT_CONNS:
	case SDP_LIMIT_PEERS:
		return READ_ONCE(sdp_user_conns);
	default:
		return (long)READ_ONCE(sdp_user_mib) << 20;
	}
}

/* From @user's account and those above, before @end. */
static void sdp_user_uncharge(struct sdp_user *user, const struct sdp_user *end,
			      enum sdp_limit which, long n)
{
	for (; user != end; user = user->parent)
		atomic_long_sub(n, &user->used[which]);
}

/* Charges @n if @spare can still be had after that. */
static bool sdp_user_charge(struct sdp_user *first, enum sdp_limit which, long n,
			    long spare)
{
	struct sdp_user *user;

	for (user = first; user; user = user->parent) {
		if (atomic_long_add_return(n, &user->used[which]) >
		    sdp_limit(user, which) - spare) {
			sdp_user_uncharge(first, user->parent, which, n);
			return false;
		}
	}
	return true;
}

/**
 * sdp_charge() - charge something to an endpoint's user
 * @ep: the endpoint
 * @which: what
 * @n: how many, or how many bytes
 *
 * Context: any.
 * Return: zero, or -ENOBUFS where it would be too much; nothing is charged then.
 */
int sdp_charge(struct sdp_ep *ep, enum sdp_limit which, long n)
{
	if (!sdp_user_charge(ep->user, which, n, 0)) {
		sdp_count(SDP_CNT_OVER_LIMIT);
		return -ENOBUFS;
	}
	if (which == SDP_LIMIT_MEMORY)
		atomic_long_add(n, &ep->memory);
	return 0;
}

/* How many others wait at the listener of an incoming connection. */
static long sdp_account_others(struct sdp_ep *listener)
{
	return max(READ_ONCE(listener->pending) - 1, 0);
}

/**
 * sdp_account_asked() - a peer asks for a connection
 * @ep: its endpoint
 * @listener: the listener, which has counted it
 *
 * A listener leaves as much as it has: however many connections peers ask it for, the
 * user's other listeners get some.
 *
 * Return: as of sdp_charge().
 */
int sdp_account_asked(struct sdp_ep *ep, struct sdp_ep *listener)
{
	if (sdp_user_charge(ep->user, SDP_LIMIT_PEERS, 1, sdp_account_others(listener)))
		return 0;
	sdp_count(SDP_CNT_OVER_LIMIT);
	return -ENOBUFS;
}

/**
 * sdp_uncharge() - the reverse
 * @ep: the endpoint
 * @which: what
 * @n: as charged before
 *
 * Context: any.
 */
void sdp_uncharge(struct sdp_ep *ep, enum sdp_limit which, long n)
{
	sdp_user_uncharge(ep->user, NULL, which, n);
	if (which == SDP_LIMIT_MEMORY)
		atomic_long_sub(n, &ep->memory);
}

/* The account whose share of an adapter counts: the uppermost one that is not root's. */
static const struct sdp_user *sdp_account_owner(const struct sdp_user *user)
{
	const struct sdp_user *owner = user;

	for (; user; user = user->parent)
		if (!sdp_user_is_root(user))
			owner = user;
	return owner;
}

/**
 * sdp_account_share() - how much of an adapter the endpoint's connection may use up
 * @ep: the endpoint
 * @listener: who has counted it, if a peer has asked for the connection; else NULL
 * @params: out: owner, share and what to spare
 *
 * A user has no more than his share (user_share) of what nobody else has: however many
 * users want all they can get, there is something left for the next one.  The users of
 * a namespace have one share with its owner.  Root has no share but for its peers.  A
 * listener spares as much of the share as it has.
 */
void sdp_account_share(const struct sdp_ep *ep, struct sdp_ep *listener,
		       struct sdp_xprt_params *params)
{
	const struct sdp_user *owner = sdp_account_owner(ep->user);

	params->owner = __kuid_val(owner->uid);
	params->share = READ_ONCE(sdp_user_share);
	params->spare = listener ? sdp_account_others(listener) : 0;
	if (sdp_user_is_root(owner) && !listener)
		params->share = 0;
}

/**
 * sdp_account_accepted() - an incoming connection is its listener's owner's now
 * @ep: its endpoint
 */
void sdp_account_accepted(struct sdp_ep *ep)
{
	sdp_uncharge(ep, SDP_LIMIT_PEERS, 1);
	if (!sdp_user_is_root(sdp_account_owner(ep->user)))
		return;
	/* Nobody destroys the connection as long as the mutex is held. */
	mutex_lock(&ep->tx_mutex);
	if (READ_ONCE(ep->live))
		ep->xprt->disown(ep->conn);
	mutex_unlock(&ep->tx_mutex);
}

/**
 * sdp_account_lend() - charge memory that may outlive the endpoint
 * @ep: the endpoint, whose own count of memory is the caller's
 * @bytes: how much
 *
 * Return: the account, held until sdp_account_return(); NULL where it would be too
 * much.
 */
struct sdp_user *sdp_account_lend(struct sdp_ep *ep, long bytes)
{
	if (sdp_charge(ep, SDP_LIMIT_MEMORY, bytes))
		return NULL;
	atomic_long_sub(bytes, &ep->memory);
	sdp_user_hold(ep->user);
	return ep->user;
}

/**
 * sdp_account_return() - the reverse
 * @user: the account
 * @bytes: as charged before
 */
void sdp_account_return(struct sdp_user *user, long bytes)
{
	sdp_user_uncharge(user, NULL, SDP_LIMIT_MEMORY, bytes);
	sdp_user_put(user);
}

static bool sdp_memcg_tryget(struct mem_cgroup *memcg)
{
#ifdef CONFIG_MEMCG
	return memcg && css_tryget(&memcg->css);
#else
	return false;
#endif
}

/**
 * sdp_account_memcg() - the memory control group that pays for an endpoint
 * @ep: the endpoint
 *
 * Return: the group, referenced for mem_cgroup_put(), or NULL.
 */
struct mem_cgroup *sdp_account_memcg(struct sdp_ep *ep)
{
	return sdp_memcg_tryget(ep->memcg) ? ep->memcg : NULL;
}

/**
 * sdp_account_open() - give a new endpoint somebody who pays
 * @ep: the endpoint
 * @listener: whose incoming connection it is, or NULL: the calling process pays
 *
 * Return: zero or -ENOMEM.
 */
int sdp_account_open(struct sdp_ep *ep, struct sdp_ep *listener)
{
	if (listener) {
		ep->uid = listener->uid;
		ep->user = listener->user;
		sdp_user_hold(ep->user);
	} else {
		ep->uid = current_fsuid();
		ep->user = sdp_user_in(current_user_ns(), ep->uid);
	}
	if (!ep->user)
		return -ENOMEM;
	if (!listener)
		ep->memcg = get_mem_cgroup_from_mm(current->mm);
	else if (sdp_memcg_tryget(listener->memcg))
		ep->memcg = listener->memcg;
	return 0;
}

/**
 * sdp_account_close() - the endpoint is freed
 * @ep: the endpoint, which has nothing any more
 */
void sdp_account_close(struct sdp_ep *ep)
{
	WARN_ON_ONCE(atomic_long_read(&ep->memory));
	mem_cgroup_put(ep->memcg);
	if (ep->user)
		sdp_user_put(ep->user);
}

/* What a buffer takes, as far as it is its size that decides: seldom less than this. */
static long sdp_buf_cost(u32 size)
{
	return roundup_pow_of_two(size);
}

/**
 * sdp_buf_alloc() - a message buffer that the endpoint's user pays for
 * @ep: the endpoint, which has a connection
 * @size: bytes
 * @recv: to receive, else to send
 *
 * Context: process context, whose ever.
 * Return: the buffer, or NULL: no memory, or the user has had enough.
 */
struct sdp_xprt_buf *sdp_buf_alloc(struct sdp_ep *ep, u32 size, bool recv)
{
	struct sdp_xprt_buf *buf;
	struct mem_cgroup *old;

	if (sdp_charge(ep, SDP_LIMIT_MEMORY, sdp_buf_cost(size)))
		return NULL;
	old = set_active_memcg(ep->memcg);
	buf = ep->xprt->buf_alloc(ep->conn, size, recv);
	set_active_memcg(old);
	if (!buf)
		sdp_uncharge(ep, SDP_LIMIT_MEMORY, sdp_buf_cost(size));
	return buf;
}

/**
 * sdp_buf_free() - free it
 * @ep: the endpoint
 * @conn: its connection
 * @buf: the buffer
 *
 * Context: any.
 */
void sdp_buf_free(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		  struct sdp_xprt_buf *buf)
{
	sdp_uncharge(ep, SDP_LIMIT_MEMORY, sdp_buf_cost(buf->size));
	conn->ops->buf_free(conn, buf);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * How much memory each user's programs map, with a limit on it; and whose share of an adapter a
 * socket's connection takes.
 *
 * The limit of a user namespace's owner bounds all of its users together, as with RLIMIT_NPROC:
 * what one of them has is charged to the owner's account as well.  Users of a namespace that
 * root has made have accounts of their own only.  Root has no limit.
 *
 * An account lives as long as memory that was charged to it, and the accounts below it.
 */
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <net/sock.h>

#include "core/core.h"

/**
 * struct sdp_user - a user's account
 * @node: in the table of users; sdp_users_lock
 * @refs: charges and accounts that hold it; sdp_users_lock
 * @parent: account of the owner of the user namespace that this user is in, referenced;
 *	NULL in the first one, and in those that root has made there
 * @uid: the user
 * @used: bytes that the user and the accounts below have
 */
struct sdp_user {
	struct hlist_node node;
	unsigned int refs;
	struct sdp_user *parent;
	kuid_t uid;
	atomic_long_t used;
};

static DEFINE_HASHTABLE(sdp_users, 6);
static DEFINE_SPINLOCK(sdp_users_lock);

/* One uid has several accounts: one below each owner of namespaces that it is in. */
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
	/* An account that was there already has its own reference to @parent. */
	sdp_user_put(parent);
	kfree(new);
	return user;
}

/* Namespaces are nested 32 deep at most. */
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

/* All pipes together have SDP_PIPES_PART of the memory, and a user's rings a share of that. */
static long sdp_user_limit(const struct sdp_user *user)
{
	long all = totalram_pages() / SDP_PIPES_PART << PAGE_SHIFT;

	/* As with other resources of the machine, root may have all of it. */
	if (uid_eq(user->uid, GLOBAL_ROOT_UID))
		return LONG_MAX;
	return min(all / 100 * (long)READ_ONCE(sdp_user_share),
		   (long)READ_ONCE(sdp_user_mib) << 20);
}

/* Takes @bytes from the account of @user and from those above it, but not from @end. */
static void sdp_user_uncharge(struct sdp_user *user, const struct sdp_user *end, long bytes)
{
	for (; user != end; user = user->parent)
		atomic_long_sub(bytes, &user->used);
}

static bool sdp_user_charge(struct sdp_user *first, long bytes)
{
	struct sdp_user *user;

	for (user = first; user; user = user->parent)
		if (atomic_long_add_return(bytes, &user->used) > sdp_user_limit(user)) {
			sdp_user_uncharge(first, user->parent, bytes);
			return false;
		}
	return true;
}

/*
 * The calling process's user pays for memory that a program maps.  Process context.  Returns the
 * account, which the caller holds until sdp_shared_uncharge(); NULL if the user would have too
 * much, or without memory.
 */
struct sdp_user *sdp_shared_charge(long bytes)
{
	struct sdp_user *user = sdp_user_in(current_user_ns(), current_fsuid());

	if (!user || sdp_user_charge(user, bytes))
		return user;
	sdp_count(current->nsproxy->net_ns, SDP_CNT_OVER_LIMIT);
	sdp_user_put(user);
	return NULL;
}

/* @bytes: as charged before.  Any context but hard interrupts. */
void sdp_shared_uncharge(struct sdp_user *user, long bytes)
{
	sdp_user_uncharge(user, NULL, bytes);
	sdp_user_put(user);
}

/*
 * The user whose share of an adapter the connection of @sk takes: the owner of the uppermost user
 * namespace that is not root's, else the socket's.  The caller has locked @sk.
 */
kuid_t sdp_sock_owner(const struct sock *sk)
{
	const struct socket *sock = sk->sk_socket;
	const struct user_namespace *ns;
	kuid_t owner = sk->sk_uid;

	if (!sock || !sock->file)
		return owner;
	for (ns = sock->file->f_cred->user_ns; ns->parent; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			owner = ns->owner;
	return owner;
}

/* @payer is of sdp_sock_owner().  @share is in percent; zero: no limit. */
void sdp_owner_share(kuid_t payer, u32 *owner, u32 *share)
{
	*owner = __kuid_val(payer);
	*share = uid_eq(payer, GLOBAL_ROOT_UID) ? 0 : READ_ONCE(sdp_user_share);
}

/* The group that pays for the socket, referenced, or NULL. */
struct mem_cgroup *sdp_sock_memcg(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	if (sk->sk_memcg && css_tryget(&sk->sk_memcg->css))
		return sk->sk_memcg;
#endif
	return NULL;
}

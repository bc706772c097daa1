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
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "core/core.h"

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

/* All pipes together have SDP_PIPES_PART of the memory; no user's rings have all of that. */
static long sdp_limit_shared(void)
{
	long all = totalram_pages() / SDP_PIPES_PART << PAGE_SHIFT;

	return min(all / 100 * (long)READ_ONCE(sdp_user_share),
		   (long)READ_ONCE(sdp_user_mib) << 20);
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
	case SDP_LIMIT_SHARED:
		return sdp_limit_shared();
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
 * sdp_charge_sparing() - charge something, and leave something
 * @acc: who pays
 * @which: what
 * @n: how many, or how many bytes
 * @spare: how much more there must be for the user after that
 *
 * Context: any.
 * Return: zero, or -ENOBUFS where it would be too much; nothing is charged then.
 */
int sdp_charge_sparing(struct sdp_account *acc, enum sdp_limit which, long n, long spare)
{
	if (!sdp_user_charge(acc->user, which, n, spare)) {
		sdp_count(SDP_CNT_OVER_LIMIT);
		return -ENOBUFS;
	}
	if (which == SDP_LIMIT_MEMORY)
		atomic_long_add(n, &acc->memory);
	return 0;
}

/**
 * sdp_charge() - charge something to an endpoint's user
 * @acc: who pays
 * @which: what
 * @n: how many, or how many bytes
 *
 * Context: any.
 * Return: as of sdp_charge_sparing().
 */
int sdp_charge(struct sdp_account *acc, enum sdp_limit which, long n)
{
	return sdp_charge_sparing(acc, which, n, 0);
}

/**
 * sdp_uncharge() - the reverse
 * @acc: who pays
 * @which: what
 * @n: as charged before
 *
 * Context: any.
 */
void sdp_uncharge(struct sdp_account *acc, enum sdp_limit which, long n)
{
	sdp_user_uncharge(acc->user, NULL, which, n);
	if (which == SDP_LIMIT_MEMORY)
		atomic_long_sub(n, &acc->memory);
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
 * sdp_account_is_root() - is there no share of an adapter that bounds this user?
 * @acc: the account
 */
bool sdp_account_is_root(const struct sdp_account *acc)
{
	return sdp_user_is_root(sdp_account_owner(acc->user));
}

/**
 * sdp_account_share() - how much of an adapter a connection may use up
 * @acc: who pays
 * @incoming: a peer has asked for the connection, and nobody has accepted it
 * @owner: out: whose connection it is, as a number
 * @share: out: percent; zero: no limit
 *
 * A user has no more than his share (user_share) of what nobody else has: however many
 * users want all they can get, there is something left for the next one.  The users of
 * a namespace have one share with its owner.  Root has no share but for its peers.
 */
void sdp_account_share(const struct sdp_account *acc, bool incoming, u32 *owner, u32 *share)
{
	const struct sdp_user *user = sdp_account_owner(acc->user);

	*owner = __kuid_val(user->uid);
	*share = READ_ONCE(sdp_user_share);
	if (sdp_user_is_root(user) && !incoming)
		*share = 0;
}

/**
 * sdp_sock_owner() - whose share of an adapter a socket's connection takes
 * @sk: the socket, locked
 *
 * Return: the owner of the uppermost user namespace that is not root's, else of the socket.
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

/**
 * sdp_owner_share() - how much of an adapter the connections of a user's sockets may use up
 * @payer: of sdp_sock_owner()
 * @owner: out: the user, as a number
 * @share: out: percent; zero: no limit
 */
void sdp_owner_share(kuid_t payer, u32 *owner, u32 *share)
{
	*owner = __kuid_val(payer);
	*share = uid_eq(payer, GLOBAL_ROOT_UID) ? 0 : READ_ONCE(sdp_user_share);
}

/**
 * sdp_account_lend() - charge memory that may outlive the endpoint
 * @acc: who pays, whose own count of memory is the caller's
 * @bytes: how much
 *
 * Return: the account, held until sdp_account_return(); NULL where it would be too
 * much.
 */
struct sdp_user *sdp_account_lend(struct sdp_account *acc, long bytes)
{
	if (sdp_charge(acc, SDP_LIMIT_MEMORY, bytes))
		return NULL;
	atomic_long_sub(bytes, &acc->memory);
	sdp_user_hold(acc->user);
	return acc->user;
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

/**
 * sdp_shared_charge() - the calling process's user pays for memory that a program maps
 * @bytes: how much
 *
 * Context: process.
 *
 * Return: the account, held until sdp_shared_uncharge(); NULL where it would be too much, or
 * without memory.
 */
struct sdp_user *sdp_shared_charge(long bytes)
{
	struct sdp_user *user = sdp_user_in(current_user_ns(), current_fsuid());

	if (!user || sdp_user_charge(user, SDP_LIMIT_SHARED, bytes, 0))
		return user;
	sdp_count(SDP_CNT_OVER_LIMIT);
	sdp_user_put(user);
	return NULL;
}

/**
 * sdp_shared_uncharge() - the reverse
 * @user: the account
 * @bytes: as charged before
 *
 * Context: any.
 */
void sdp_shared_uncharge(struct sdp_user *user, long bytes)
{
	sdp_user_uncharge(user, NULL, SDP_LIMIT_SHARED, bytes);
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
 * sdp_sock_memcg() - the memory control group that pays for a socket
 * @sk: the socket
 *
 * Return: the group, referenced, or NULL.
 */
struct mem_cgroup *sdp_sock_memcg(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	return sdp_memcg_tryget(sk->sk_memcg) ? sk->sk_memcg : NULL;
#else
	return NULL;
#endif
}

/**
 * sdp_account_memcg() - the memory control group that pays for an endpoint
 * @acc: who pays
 *
 * Return: the group, referenced for mem_cgroup_put(), or NULL.
 */
struct mem_cgroup *sdp_account_memcg(const struct sdp_account *acc)
{
	return sdp_memcg_tryget(acc->memcg) ? acc->memcg : NULL;
}

/**
 * sdp_account_open() - give a new endpoint somebody who pays
 * @acc: its account, zero so far
 * @from: of the listener whose incoming connection it is, or NULL: the calling process
 *	pays
 *
 * Return: zero or -ENOMEM.
 */
int sdp_account_open(struct sdp_account *acc, const struct sdp_account *from)
{
	if (from) {
		acc->uid = from->uid;
		acc->user = from->user;
		sdp_user_hold(acc->user);
	} else {
		acc->uid = current_fsuid();
		acc->user = sdp_user_in(current_user_ns(), acc->uid);
	}
	if (!acc->user)
		return -ENOMEM;
	if (!from)
		acc->memcg = get_mem_cgroup_from_mm(current->mm);
	else
		acc->memcg = sdp_account_memcg(from);
	return 0;
}

/**
 * sdp_account_close() - the endpoint is freed
 * @acc: its account, to which nothing is charged any more
 */
void sdp_account_close(struct sdp_account *acc)
{
	WARN_ON_ONCE(atomic_long_read(&acc->memory));
	mem_cgroup_put(acc->memcg);
	if (acc->user)
		sdp_user_put(acc->user);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Who pays: what each user has of endpoints, connections and memory, with a
 * limit on each, and whose memory control group the buffers are charged to.
 *
 * A user is who made the endpoint; of an incoming connection, who listens.
 * What is in an account was charged for an endpoint and goes with it, except the
 * memory of rings, which is there as long as somebody has it mapped.  An account lives
 * as long as its endpoints and such memory.
 */
#include <linux/hashtable.h>
#include <linux/math64.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "sdpdev.h"

/**
 * struct sdp_user - a user's account
 * @node: in the table of users; sdp_users_lock
 * @refs: endpoints and memory of rings that hold it; sdp_users_lock
 * @uid: the user
 * @used: what the user has of each; memory in bytes
 */
struct sdp_user {
	struct hlist_node node;
	unsigned int refs;
	kuid_t uid;
	atomic_long_t used[SDP_LIMIT_MAX];
};

static DEFINE_HASHTABLE(sdp_users, 6);
static DEFINE_SPINLOCK(sdp_users_lock);

/* Context: sdp_users_lock held. */
static struct sdp_user *sdp_user_find(kuid_t uid)
{
	struct sdp_user *user;

	hash_for_each_possible(sdp_users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct sdp_user *sdp_user_get(kuid_t uid)
{
	struct sdp_user *user, *new;

	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return NULL;
	spin_lock_bh(&sdp_users_lock);
	user = sdp_user_find(uid);
	if (!user) {
		user = new;
		user->uid = uid;
		hash_add(sdp_users, &user->node, __kuid_val(uid));
		new = NULL;
	}
	user->refs++;
	spin_unlock_bh(&sdp_users_lock);
	kfree(new);
	return user;
}

static void sdp_user_hold(struct sdp_user *user)
{
	spin_lock_bh(&sdp_users_lock);
	user->refs++;
	spin_unlock_bh(&sdp_users_lock);
}

static void sdp_user_put(struct sdp_user *user)
{
	bool last;

	spin_lock_bh(&sdp_users_lock);
	last = !--user->refs;
	if (last)
		hash_del(&user->node);
	spin_unlock_bh(&sdp_users_lock);
	if (last)
		kfree(user);
}

static long sdp_limit(const struct sdp_user *user, enum sdp_limit which)
{
	/* As with other resources of the machine, root may have them all. */
	if (uid_eq(user->uid, GLOBAL_ROOT_UID))
		return LONG_MAX;
	switch (which) {
	case SDP_LIMIT_ENDPOINTS:
		return READ_ONCE(sdp_user_endpoints);
	case SDP_LIMIT_CONNS:
		return READ_ONCE(sdp_user_conns);
	default:
		return (long)READ_ONCE(sdp_user_mib) << 20;
	}
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
	struct sdp_user *user = ep->user;

	if (atomic_long_add_return(n, &user->used[which]) >
	    sdp_limit(user, which)) {
		atomic_long_sub(n, &user->used[which]);
		sdp_count(SDP_CNT_OVER_LIMIT);
		return -ENOBUFS;
	}
	if (which == SDP_LIMIT_MEMORY)
		atomic_long_add(n, &ep->memory);
	return 0;
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
	atomic_long_sub(n, &ep->user->used[which]);
	if (which == SDP_LIMIT_MEMORY)
		atomic_long_sub(n, &ep->memory);
}

/**
 * sdp_account_leave() - how many connections an adapter must have left for others
 * @ep: an endpoint that has been charged for its connection
 *
 * So that its user has no more than his share (user_share) of what nobody else has:
 * however many users want all they can get, there is something left for the next one.
 *
 * Return: the number; zero for root.
 */
u32 sdp_account_leave(const struct sdp_ep *ep)
{
	u32 share = READ_ONCE(sdp_user_share);
	u64 has;

	if (uid_eq(ep->user->uid, GLOBAL_ROOT_UID))
		return 0;
	has = atomic_long_read(&ep->user->used[SDP_LIMIT_CONNS]);
	return min_t(u64, div_u64(has * (100 - share), share), INT_MAX);
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
	atomic_long_sub(bytes, &user->used[SDP_LIMIT_MEMORY]);
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
	ep->uid = listener ? listener->uid : current_fsuid();
	ep->user = sdp_user_get(ep->uid);
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

	if (sdp_charge(ep, SDP_LIMIT_MEMORY, size))
		return NULL;
	old = set_active_memcg(ep->memcg);
	buf = ep->xprt->buf_alloc(ep->conn, size, recv);
	set_active_memcg(old);
	if (!buf)
		sdp_uncharge(ep, SDP_LIMIT_MEMORY, size);
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
	sdp_uncharge(ep, SDP_LIMIT_MEMORY, buf->size);
	conn->ops->buf_free(conn, buf);
}

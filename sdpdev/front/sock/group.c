// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of control groups (version 2), and of users.
 *
 * A rule is an administrator's, for a user's sockets, or for the sockets that are made in a group
 * and in those inside it, as far as a rule of an inner group does not speak first.  The
 * administrator of a network namespace sets rules for it and for those of inner user namespaces:
 * the rule of the machine's administrator reaches containers, and a container's own does not
 * reach out.
 *
 * A socket belongs to the group of the process that made it, and to the user that owns it, as
 * elsewhere in the kernel.
 *
 * A rule lasts until it is removed, or until the network namespace goes from which it was set,
 * so that no namespace leaves rules behind.  The rule of a group that was removed says nothing any
 * more, and goes when more rules are set from that namespace: control groups tell no module of
 * their end.
 */
#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/sock.h>

#include "front/sock/policy.h"

/* Rules that can be set from a network namespace */
#define SDP_GROUP_MOST	1024
/* Rules of all namespaces together that do not belong to the initial user namespace */
#define SDP_GROUP_INNER	8192

/**
 * struct sdp_group - the rule of a control group, or of a user
 * @node: in the table
 * @entry: in sdp_group_net.rules
 * @owner: the network namespace it was set from, which drops it at its end
 * @cgrp: the group, referenced; NULL if it is a user's
 * @uid: the user; the initial namespace's root if it is a group's
 * @ns: @owner's user namespace, only compared: it is for sockets of network namespaces that
 *	belong to this one or to one inside
 * @say: what it says; does not change
 * @rcu: for a reader, which only compares the two pointers
 */
struct sdp_group {
	struct hlist_node node;
	struct list_head entry;
	struct sdp_group_net *owner;
	struct cgroup *cgrp;
	kuid_t uid;
	const struct user_namespace *ns;
	struct sdp_say say;
	struct rcu_head rcu;
};

/**
 * struct sdp_group_net - what was set from a network namespace
 * @rules: the rules
 * @count: their number
 */
struct sdp_group_net {
	struct list_head rules;
	unsigned int count;
};

/* Changes, here and in struct sdp_group_net, under sdp_group_mutex. */
static DEFINE_HASHTABLE(sdp_groups, 10);
static unsigned int sdp_group_count;
static unsigned int sdp_group_inner;
static DEFINE_MUTEX(sdp_group_mutex);
static unsigned int sdp_group_net_id;

/* A rule that is a user's has no control group; in some kernels no rule has one. */
#ifdef CONFIG_CGROUPS

static void sdp_group_hold(struct cgroup *cgrp)
{
	if (cgrp)
		cgroup_get(cgrp);
}

static void sdp_group_release(struct cgroup *cgrp)
{
	if (cgrp)
		cgroup_put(cgrp);
}

static bool sdp_group_gone(const struct cgroup *cgrp)
{
	return cgrp && !(cgrp->self.flags & CSS_ONLINE);
}

#else

static void sdp_group_hold(struct cgroup *cgrp)
{
}

static void sdp_group_release(struct cgroup *cgrp)
{
}

static bool sdp_group_gone(const struct cgroup *cgrp)
{
	return false;
}

#endif /* CONFIG_CGROUPS */

static unsigned long sdp_group_key(const struct cgroup *cgrp, kuid_t uid,
				   const struct user_namespace *ns)
{
	return (unsigned long)cgrp ^ __kuid_val(uid) ^
	       hash_long((unsigned long)ns, BITS_PER_LONG);
}

/* Context: rcu_read_lock() or sdp_group_mutex held. */
static struct sdp_group *sdp_group_find(const struct cgroup *cgrp, kuid_t uid,
					const struct user_namespace *ns)
{
	struct sdp_group *group;

	hash_for_each_possible_rcu(sdp_groups, group, node, sdp_group_key(cgrp, uid, ns),
				   lockdep_is_held(&sdp_group_mutex))
		if (group->cgrp == cgrp && uid_eq(group->uid, uid) && group->ns == ns)
			return group;
	return NULL;
}

/* @by: one more or one less.  Context: sdp_group_mutex held. */
static void sdp_group_counted(const struct sdp_group *group, int by)
{
	group->owner->count += by;
	if (group->ns != &init_user_ns)
		sdp_group_inner += by;
	WRITE_ONCE(sdp_group_count, sdp_group_count + by);
}

/* Context: sdp_group_mutex held. */
static void sdp_group_drop(struct sdp_group *group)
{
	if (!group)
		return;
	hash_del_rcu(&group->node);
	list_del(&group->entry);
	sdp_group_counted(group, -1);
	sdp_group_release(group->cgrp);
	kfree_rcu(group, rcu);
	sdp_attach(false);
}

/*
 * Looks at the @most rules of @owner that were looked at longest ago, and drops those of groups
 * that are gone.  Context: sdp_group_mutex held.
 */
static void sdp_group_sweep(struct sdp_group_net *owner, unsigned int most)
{
	struct sdp_group *group;

	while (most-- && !list_empty(&owner->rules)) {
		group = list_first_entry(&owner->rules, struct sdp_group, entry);
		if (sdp_group_gone(group->cgrp))
			sdp_group_drop(group);
		else
			list_move_tail(&group->entry, &owner->rules);
	}
}

static bool sdp_group_full(const struct sdp_group_net *owner, const struct user_namespace *ns)
{
	return owner->count >= SDP_GROUP_MOST ||
	       (ns != &init_user_ns && sdp_group_inner >= SDP_GROUP_INNER);
}

/*
 * Two looks for each new rule, so that what is gone stays less than what is there.
 * Context: sdp_group_mutex held.
 */
static bool sdp_group_room(struct sdp_group_net *owner, const struct user_namespace *ns)
{
	sdp_group_sweep(owner, 2);
	if (sdp_group_full(owner, ns))
		sdp_group_sweep(owner, owner->count);
	return !sdp_group_full(owner, ns);
}

/*
 * The new rule is there before the old one goes, so that no socket finds neither.
 * Context: sdp_group_mutex held.
 */
static int sdp_group_add(struct cgroup *cgrp, kuid_t uid, const struct net *net,
			 const struct sdp_say *say)
{
	struct sdp_group_net *owner = net_generic(net, sdp_group_net_id);
	struct sdp_group *group, *old;
	int err;

	/* sdp_group_room() may drop the old rule, so it comes before any look for that. */
	if (!sdp_group_room(owner, net->user_ns) && !sdp_group_find(cgrp, uid, net->user_ns))
		return -ENOSPC;
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	err = sdp_attach(true);
	if (err) {
		kfree(group);
		return err;
	}
	sdp_group_hold(cgrp);
	group->owner = owner;
	group->cgrp = cgrp;
	group->uid = uid;
	group->ns = net->user_ns;
	group->say = *say;
	old = sdp_group_find(cgrp, uid, net->user_ns);
	hash_add_rcu(sdp_groups, &group->node, sdp_group_key(cgrp, uid, net->user_ns));
	list_add_tail(&group->entry, &owner->rules);
	sdp_group_counted(group, 1);
	sdp_group_drop(old);
	return 0;
}

/* Of a control group, or of a user. */
static int sdp_group_change(struct cgroup *cgrp, kuid_t uid, const struct sdp_say *say)
{
	const struct net *net = current->nsproxy->net_ns;
	int err = 0;

	mutex_lock(&sdp_group_mutex);
	if (say->verdict == SDP_RULE_NONE)
		sdp_group_drop(sdp_group_find(cgrp, uid, net->user_ns));
	else
		err = sdp_group_add(cgrp, uid, net, say);
	mutex_unlock(&sdp_group_mutex);
	return err;
}

/*
 * The user's new rule, or SDP_RULE_NONE.  @uid is a number of the caller's user namespace.  The
 * caller needs CAP_NET_ADMIN in that of its network namespace.  Returns -EINVAL for a number that
 * names no user, and -ENOSPC if there are too many rules.
 */
int sdp_user_set(uid_t uid, const struct sdp_say *say)
{
	kuid_t kuid = make_kuid(current_user_ns(), uid);

	if (!ns_capable(current->nsproxy->net_ns->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	return uid_valid(kuid) ? sdp_group_change(NULL, kuid, say) : -EINVAL;
}

#ifdef CONFIG_SOCK_CGROUP_DATA

/*
 * The group's new rule, or SDP_RULE_NONE.  @fd: the group's directory.  Rights and errors are those
 * of sdp_user_set(); -EBADF if @fd is no group's.
 */
int sdp_group_set(int fd, const struct sdp_say *say)
{
	struct cgroup *cgrp;
	int err;

	if (!ns_capable(current->nsproxy->net_ns->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	cgrp = cgroup_get_from_fd(fd);
	if (IS_ERR(cgrp))
		return PTR_ERR(cgrp);
	err = sdp_group_change(cgrp, GLOBAL_ROOT_UID, say);
	cgroup_put(cgrp);
	return err;
}

static struct cgroup *sdp_group_of(const struct sock *sk)
{
	return sock_cgroup_ptr((struct sock_cgroup_data *)&sk->sk_cgrp_data);
}

static struct cgroup *sdp_group_outer(struct cgroup *cgrp)
{
	return cgroup_parent(cgrp);
}

#else

int sdp_group_set(int fd, const struct sdp_say *say)
{
	return -EOPNOTSUPP;
}

static struct cgroup *sdp_group_of(const struct sock *sk)
{
	return NULL;
}

static struct cgroup *sdp_group_outer(struct cgroup *cgrp)
{
	return NULL;
}

#endif /* CONFIG_SOCK_CGROUP_DATA */

/* What the rules say that were set with the rights of one user namespace: the inner group first. */
static u32 sdp_group_in(const struct user_namespace *ns, const struct sock *sk, u32 call, u16 port)
{
	struct sdp_group *group;
	struct cgroup *cgrp;
	u32 said = 0;

	for (cgrp = sdp_group_of(sk); cgrp && !said; cgrp = sdp_group_outer(cgrp)) {
		group = sdp_group_find(cgrp, GLOBAL_ROOT_UID, ns);
		if (group)
			said = sdp_say_said(&group->say, call, port);
	}
	group = sdp_group_find(NULL, READ_ONCE(sk->sk_uid), ns);
	if (group)
		said |= sdp_say_said(&group->say, call, port);
	return said;
}

/*
 * What the rules of a socket's control group and of its user say: a bit for each SDP_RULE_*, none
 * if no rule covers the call.  Any context; the caller holds rcu_read_lock().
 */
u32 sdp_group_said(const struct sock *sk, u32 call, u16 port)
{
	const struct user_namespace *ns;
	u32 said = 0;

	if (!READ_ONCE(sdp_group_count))
		return 0;
	/* A container's rules hide none of those that were set with more rights. */
	for (ns = sock_net(sk)->user_ns; ns; ns = ns->parent)
		said |= sdp_group_in(ns, sk, call, port);
	return said;
}

static int __net_init sdp_group_net_start(struct net *net)
{
	struct sdp_group_net *owner = net_generic(net, sdp_group_net_id);

	INIT_LIST_HEAD(&owner->rules);
	return 0;
}

static void __net_exit sdp_group_net_end(struct net *net)
{
	struct sdp_group_net *owner = net_generic(net, sdp_group_net_id);
	struct sdp_group *group, *next;

	mutex_lock(&sdp_group_mutex);
	list_for_each_entry_safe(group, next, &owner->rules, entry)
		sdp_group_drop(group);
	mutex_unlock(&sdp_group_mutex);
}

static struct pernet_operations sdp_group_net_ops = {
	.init	= sdp_group_net_start,
	.exit	= sdp_group_net_end,
	.id	= &sdp_group_net_id,
	.size	= sizeof(struct sdp_group_net),
};

int sdp_group_init(void)
{
	return register_pernet_subsys(&sdp_group_net_ops);
}

/* No caller can set a rule any more. */
void sdp_group_exit(void)
{
	unregister_pernet_subsys(&sdp_group_net_ops);
}

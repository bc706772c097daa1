// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of control groups (version 2).
 *
 * A rule is an administrator's, for the sockets that are made in a group and in those inside
 * it, as far as a rule of an inner group does not speak first.  The administrator of a
 * network namespace sets rules for it and for those of inner user namespaces: the rule of the
 * machine's administrator reaches containers, and a container's own does not reach out.
 *
 * A socket belongs to the group of the process that made it, as elsewhere in the kernel.
 *
 * A rule lasts until it is removed.  When its group is removed it does not say anything any
 * more, and goes when the next rule is set: control groups tell no module of their end.
 */
#include <linux/cgroup.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "front/sock/policy.h"

#ifdef CONFIG_SOCK_CGROUP_DATA

/* Rules that the administrators of a user namespace can have */
#define SDP_GROUP_MOST	1024

/**
 * struct sdp_group - a control group's rule
 * @node: in the table
 * @cgrp: the group, referenced
 * @ns: it is for sockets of network namespaces that belong to this user namespace, which is
 *	referenced, or to one inside
 * @say: what it says; does not change
 * @rcu: for who looks for it, and only compares the two pointers
 */
struct sdp_group {
	struct hlist_node node;
	struct cgroup *cgrp;
	struct user_namespace *ns;
	struct sdp_say say;
	struct rcu_head rcu;
};

/* Changes under sdp_group_mutex. */
static DEFINE_HASHTABLE(sdp_groups, 6);
static DEFINE_MUTEX(sdp_group_mutex);

/* Context: sdp_group_mutex held. */
static void sdp_group_drop(struct sdp_group *group)
{
	hash_del_rcu(&group->node);
	cgroup_put(group->cgrp);
	put_user_ns(group->ns);
	kfree_rcu(group, rcu);
	sdp_attach(false);
}

/*
 * Drops the rule of @cgrp in @ns, unless that is @keep, and those of groups that are gone.
 * Context: sdp_group_mutex held.
 * Return: how many are left of @ns.
 */
static unsigned int sdp_group_prune(const struct cgroup *cgrp, const struct user_namespace *ns,
				    const struct sdp_group *keep)
{
	struct sdp_group *group;
	struct hlist_node *next;
	unsigned int i, left = 0;

	hash_for_each_safe(sdp_groups, i, next, group, node) {
		bool mine = group->ns == ns;

		if (!(group->cgrp->self.flags & CSS_ONLINE) ||
		    (mine && group->cgrp == cgrp && group != keep))
			sdp_group_drop(group);
		else if (mine)
			left++;
	}
	return left;
}

/* The new rule is there before the old one goes, so that no socket finds neither. */
static int sdp_group_add(struct cgroup *cgrp, struct user_namespace *ns,
			 const struct sdp_say *say)
{
	struct sdp_group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	int err;

	if (!group)
		return -ENOMEM;
	err = sdp_attach(true);
	if (err) {
		kfree(group);
		return err;
	}
	cgroup_get(cgrp);
	group->cgrp = cgrp;
	group->ns = get_user_ns(ns);
	group->say = *say;
	hash_add_rcu(sdp_groups, &group->node, (unsigned long)cgrp);
	if (sdp_group_prune(cgrp, ns, group) > SDP_GROUP_MOST) {
		sdp_group_drop(group);
		return -ENOSPC;
	}
	return 0;
}

/**
 * sdp_group_set() - a rule for a control group
 * @fd: a descriptor of the group's directory
 * @say: what it says; SDP_RULE_NONE: the group has none any more
 *
 * Return: zero, -EPERM without CAP_NET_ADMIN, -EBADF where @fd is no group's, -ENOSPC where
 * there are too many rules, or another negative errno.
 */
int sdp_group_set(int fd, const struct sdp_say *say)
{
	struct user_namespace *ns = current->nsproxy->net_ns->user_ns;
	struct cgroup *cgrp;
	int err = 0;

	if (!ns_capable(ns, CAP_NET_ADMIN))
		return -EPERM;
	cgrp = cgroup_get_from_fd(fd);
	if (IS_ERR(cgrp))
		return PTR_ERR(cgrp);
	mutex_lock(&sdp_group_mutex);
	if (say->verdict == SDP_RULE_NONE)
		sdp_group_prune(cgrp, ns, NULL);
	else
		err = sdp_group_add(cgrp, ns, say);
	mutex_unlock(&sdp_group_mutex);
	cgroup_put(cgrp);
	return err;
}

/* What the rules of @cgrp itself say; that nothing moves counts more. */
static u32 sdp_group_here(const struct cgroup *cgrp, const struct sock *sk, u32 call, u16 port)
{
	u32 verdict = SDP_RULE_NONE;
	struct sdp_group *group;

	hash_for_each_possible_rcu(sdp_groups, group, node, (unsigned long)cgrp)
		if (group->cgrp == cgrp &&
		    sdp_userns_below(sock_net(sk)->user_ns, group->ns))
			verdict = max(verdict, sdp_say_verdict(&group->say, call, port));
	return verdict;
}

/**
 * sdp_group_verdict() - what the rules of a socket's control group say
 * @sk: the socket
 * @call: SDP_RULE_CONNECT or SDP_RULE_LISTEN
 * @port: as in sdp_say_verdict()
 *
 * Context: any; rcu_read_lock() held.
 * Return: SDP_RULE_NONE where none says anything of it.
 */
u32 sdp_group_verdict(const struct sock *sk, u32 call, u16 port)
{
	struct cgroup *cgrp = sock_cgroup_ptr((struct sock_cgroup_data *)&sk->sk_cgrp_data);
	u32 verdict = SDP_RULE_NONE;
	int level;

	if (hash_empty(sdp_groups))
		return SDP_RULE_NONE;
	for (level = cgrp->level; level >= 0 && verdict == SDP_RULE_NONE; level--)
		verdict = sdp_group_here(cgroup_ancestor(cgrp, level), sk, call, port);
	return verdict;
}

/**
 * sdp_group_exit() - the module ends, and there is no rule any more
 *
 * Context: nobody can set one.
 */
void sdp_group_exit(void)
{
	struct sdp_group *group;
	struct hlist_node *next;
	unsigned int i;

	mutex_lock(&sdp_group_mutex);
	hash_for_each_safe(sdp_groups, i, next, group, node)
		sdp_group_drop(group);
	mutex_unlock(&sdp_group_mutex);
}

#else

int sdp_group_set(int fd, const struct sdp_say *say)
{
	return -EOPNOTSUPP;
}

u32 sdp_group_verdict(const struct sock *sk, u32 call, u16 port)
{
	return SDP_RULE_NONE;
}

void sdp_group_exit(void)
{
}

#endif /* CONFIG_SOCK_CGROUP_DATA */

// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of processes.
 *
 * A process sets a rule for itself.  Its children inherit the rule when they are forked, and
 * keep it whatever they execute; a process's end is the end of what it has here.  So the
 * memory is bounded by what bounds processes, one struct sdp_member each, and the rule itself
 * goes with the last of them.
 *
 * A user's rule does not reach into programs that have more rights than the user: it moves no
 * connection of a process that is another user's, or that the user may not look into (which
 * the kernel says of what runs setuid or with capabilities of its file).  A rule that was
 * set with CAP_NET_ADMIN reaches everything inside the same user namespace.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/rculist.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "core/core.h"
#include "front/sock/policy.h"

/**
 * struct sdp_tree - a rule that processes share; does not change
 * @refs: members that have it
 * @say: what it says
 * @uid: whose processes it is for
 * @ns: or NULL; of all processes inside it, referenced
 * @rcu: for readers
 */
struct sdp_tree {
	refcount_t refs;
	struct sdp_say say;
	kuid_t uid;
	struct user_namespace *ns;
	struct rcu_head rcu;
};

/**
 * struct sdp_member - a process that has a rule
 * @node: in the table
 * @signal: the process: what its threads share, and no other process has while one of them
 *	lives; only compared
 * @tree: its rule, referenced
 * @rcu: for readers
 */
struct sdp_member {
	struct hlist_node node;
	const struct signal_struct *signal;
	struct sdp_tree *tree;
	struct rcu_head rcu;
};

/* Changes under sdp_tree_lock. */
static DEFINE_HASHTABLE(sdp_members, 8);
static unsigned int sdp_member_count;
static DEFINE_SPINLOCK(sdp_tree_lock);

static void sdp_tree_fork(void *data, struct task_struct *parent, struct task_struct *child);
static compat_exit_probe(sdp_tree_gone);

/* Both are on while there are members, and until sdp_tree_work has run; sdp_tree_mutex */
static struct sdp_hook sdp_fork_hook = { .name = "sched_process_fork", .fn = sdp_tree_fork };
static struct sdp_hook sdp_exit_hook = { .name = "sched_process_exit", .fn = sdp_tree_gone };
static DEFINE_MUTEX(sdp_tree_mutex);

static void sdp_tree_idle(struct work_struct *work);
static DECLARE_DELAYED_WORK(sdp_tree_work, sdp_tree_idle);

static void sdp_tree_put(struct sdp_tree *tree)
{
	if (!refcount_dec_and_test(&tree->refs))
		return;
	if (tree->ns)
		put_user_ns(tree->ns);
	kfree_rcu(tree, rcu);
}

/* Context: rcu_read_lock() or sdp_tree_lock held. */
static struct sdp_member *sdp_member_find(const struct signal_struct *signal)
{
	struct sdp_member *member;

	hash_for_each_possible_rcu(sdp_members, member, node, (unsigned long)signal,
				   lockdep_is_held(&sdp_tree_lock))
		if (member->signal == signal)
			return member;
	return NULL;
}

static void sdp_member_free(struct sdp_member *member)
{
	if (!member)
		return;
	sdp_tree_put(member->tree);
	kfree_rcu(member, rcu);
}

/* The caller holds sdp_tree_lock. */
static struct sdp_member *sdp_member_take(const struct signal_struct *signal)
{
	struct sdp_member *member = sdp_member_find(signal);

	if (member) {
		hash_del_rcu(&member->node);
		WRITE_ONCE(sdp_member_count, sdp_member_count - 1);
	}
	return member;
}

/* Context: sdp_tree_lock held. */
static void sdp_member_add(struct sdp_member *member, const struct signal_struct *signal,
			   struct sdp_tree *tree)
{
	member->signal = signal;
	member->tree = tree;
	hash_add_rcu(sdp_members, &member->node, (unsigned long)signal);
	WRITE_ONCE(sdp_member_count, sdp_member_count + 1);
}

/*
 * current has @tree's rule from now on, and no other one.  This uses up the caller's reference.
 * The caller holds sdp_tree_mutex.
 */
static int sdp_member_set(struct sdp_tree *tree)
{
	struct sdp_member *new, *old;

	new = kmalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new) {
		sdp_tree_put(tree);
		return -ENOMEM;
	}
	spin_lock(&sdp_tree_lock);
	old = sdp_member_take(current->signal);
	sdp_member_add(new, current->signal, tree);
	spin_unlock(&sdp_tree_lock);
	sdp_member_free(old);
	return 0;
}

/*
 * The child has the rule that the parent has at this moment.  Another thread of the parent may
 * set another rule or remove this one, so the look and the child's entry are under one hold of
 * the lock: where there is no member none comes, and the hooks can go off.
 * Return: false where the parent has no rule any more.
 */
static bool sdp_member_inherit(struct sdp_member *new, const struct signal_struct *signal,
			       const struct signal_struct *child)
{
	struct sdp_member *member;

	spin_lock(&sdp_tree_lock);
	member = sdp_member_find(signal);
	if (member) {
		refcount_inc(&member->tree->refs);
		sdp_member_add(new, child, member->tree);
	}
	spin_unlock(&sdp_tree_lock);
	return member;
}

/*
 * Without memory the child has no rule: its connections stay with TCP.  A child that may send
 * nothing by TCP does not run.
 */
static void sdp_tree_lost(const struct task_struct *parent, struct task_struct *child)
{
	struct sdp_member *member;
	bool only;

	sdp_count(current->nsproxy->net_ns, SDP_CNT_RULE_LOST);
	rcu_read_lock();
	member = sdp_member_find(parent->signal);
	only = member && member->tree->say.verdict == SDP_RULE_ONLY;
	rcu_read_unlock();
	if (only)
		send_sig(SIGKILL, child, 1);
}

static void sdp_tree_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct sdp_member *new;
	bool has;

	if (child->signal == parent->signal)
		return;
	rcu_read_lock();
	has = sdp_member_find(parent->signal);
	rcu_read_unlock();
	if (!has)
		return;
	new = kmalloc(sizeof(*new), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	if (!new)
		sdp_tree_lost(parent, child);
	else if (!sdp_member_inherit(new, parent->signal, child->signal))
		kfree(new);
}

/* The hooks go off after a while, unless there is a member by then. */
static void sdp_tree_rest(void)
{
	mod_delayed_work(system_percpu_wq, &sdp_tree_work, SDP_HOOK_IDLE);
}

static void sdp_tree_leave(const struct signal_struct *signal)
{
	struct sdp_member *member;
	bool last;

	spin_lock(&sdp_tree_lock);
	member = sdp_member_take(signal);
	last = member && !sdp_member_count;
	spin_unlock(&sdp_tree_lock);
	sdp_member_free(member);
	if (last)
		sdp_tree_rest();
}

/* A thread ends, and perhaps its process. */
static compat_exit_probe(sdp_tree_gone)
{
	struct sdp_member *member;

	if (atomic_read(&task->signal->live))
		return;
	rcu_read_lock();
	member = sdp_member_find(task->signal);
	rcu_read_unlock();
	if (member)
		sdp_tree_leave(task->signal);
}

/* Context: sdp_tree_mutex held. */
static void sdp_tree_off(void)
{
	if (!sdp_exit_hook.tp)
		return;
	sdp_hook_off(&sdp_fork_hook);
	sdp_hook_off(&sdp_exit_hook);
	sdp_attach(false);
}

/* How many processes have a rule. */
unsigned int sdp_tree_members(void)
{
	return READ_ONCE(sdp_member_count);
}

/* The last member went a while ago, or there is another one. */
static void sdp_tree_idle(struct work_struct *work)
{
	mutex_lock(&sdp_tree_mutex);
	if (!sdp_tree_members())
		sdp_tree_off();
	mutex_unlock(&sdp_tree_mutex);
}

/* Context: sdp_tree_mutex held. */
static int sdp_tree_on(void)
{
	int err;

	if (sdp_exit_hook.tp)
		return 0;
	err = sdp_attach(true);
	if (err)
		return err;
	err = sdp_hook_on(&sdp_fork_hook);
	if (!err)
		err = sdp_hook_on(&sdp_exit_hook);
	if (err) {
		sdp_hook_off(&sdp_fork_hook);
		sdp_attach(false);
	}
	return err;
}

static struct sdp_tree *sdp_tree_new(const struct sdp_say *say)
{
	struct sdp_tree *tree = kzalloc(sizeof(*tree), GFP_KERNEL_ACCOUNT);

	if (!tree)
		return NULL;
	refcount_set(&tree->refs, 1);
	tree->say = *say;
	tree->uid = current_euid();
	if (ns_capable(current_user_ns(), CAP_NET_ADMIN))
		tree->ns = get_user_ns(current_user_ns());
	return tree;
}

/* A rule for the calling process, and for the children that it will have; or SDP_RULE_NONE. */
int sdp_tree_set(const struct sdp_say *say)
{
	struct sdp_tree *tree;
	int err;

	if (say->verdict == SDP_RULE_NONE) {
		sdp_tree_leave(current->signal);
		return 0;
	}
	tree = sdp_tree_new(say);
	if (!tree)
		return -ENOMEM;
	mutex_lock(&sdp_tree_mutex);
	err = sdp_tree_on();
	if (!err)
		err = sdp_member_set(tree);
	else
		sdp_tree_put(tree);
	if (err && !sdp_tree_members())
		sdp_tree_rest();
	mutex_unlock(&sdp_tree_mutex);
	return err;
}

/* May the rule move what current does? */
static bool sdp_tree_reaches(const struct sdp_tree *tree)
{
	if (tree->ns && sdp_userns_below(current_user_ns(), tree->ns))
		return true;
	return uid_eq(current_euid(), tree->uid) && current->mm &&
	       compat_dumpable();
}

/*
 * What the calling process's rule says: a bit for its SDP_RULE_*, none if no rule covers the call.
 * Any context in which current makes the call; the caller holds rcu_read_lock().
 */
u32 sdp_tree_said(u32 call, u16 port)
{
	struct sdp_member *member = sdp_member_find(current->signal);
	u32 said;

	if (!member)
		return 0;
	said = sdp_say_said(&member->tree->say, call, port);
	if (said & ~BIT(SDP_RULE_NEVER) && !sdp_tree_reaches(member->tree))
		return 0;
	return said;
}

/* No process has a rule any more, and none can set one. */
void sdp_tree_exit(void)
{
	struct sdp_member *member;
	struct hlist_node *next;
	unsigned int i;

	mutex_lock(&sdp_tree_mutex);
	sdp_tree_off();
	hash_for_each_safe(sdp_members, i, next, member, node) {
		hash_del_rcu(&member->node);
		sdp_member_count--;
		sdp_member_free(member);
	}
	mutex_unlock(&sdp_tree_mutex);
	cancel_delayed_work_sync(&sdp_tree_work);
}

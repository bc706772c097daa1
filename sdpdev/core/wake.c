// SPDX-License-Identifier: GPL-2.0
/*
 * Telling processes: those that wait, those that want SIGIO, and the owner, who
 * gets SIGURG.
 *
 * sdp_ep_wake() notes an event under ep->lock, and sdp_ep_unlock() tells it when it has
 * released the lock: a client in the kernel may call back from its wake-up.
 */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "core/core.h"

/* SIGIO for what happened, as a socket of TCP's has it; @bands are EPOLLIN and EPOLLOUT. */
static void sdp_ep_sigio(struct sdp_ep *ep, __poll_t events, __poll_t bands)
{
	if ((events & EPOLLHUP) && READ_ONCE(ep->shut) == SHUTDOWN_MASK) {
		kill_fasync(&ep->fasync, SIGIO, POLL_HUP);
		return;
	}
	if (bands & EPOLLIN)
		kill_fasync(&ep->fasync, SIGIO, POLL_IN);
	if (bands & EPOLLOUT)
		kill_fasync(&ep->fasync, SIGIO, POLL_OUT);
}

static void sdp_ep_tell_bands(struct sdp_ep *ep, __poll_t events, __poll_t bands)
{
	/* Pairs with the smp_mb() in sdp_poll(), and with prepare_to_wait_event(). */
	if (wq_has_sleeper(&ep->wait))
		wake_up_interruptible_poll(&ep->wait, events);
	if (READ_ONCE(ep->fasync))
		sdp_ep_sigio(ep, events, bands);
}

/**
 * sdp_ep_tell() - tell everybody who waits
 * @ep: the endpoint
 * @events: EPOLL* that happened
 *
 * Context: any, ep->lock not held; under RCU, or with a reference.
 */
void sdp_ep_tell(struct sdp_ep *ep, __poll_t events)
{
	sdp_ep_tell_bands(ep, events, events & EPOLLIN ? EPOLLIN : events & EPOLLOUT);
}

/**
 * sdp_ep_unlock_tell() - release ep->lock and tell what has been noted
 * @ep: the endpoint
 *
 * Whoever is told may drop the last reference: RCU keeps the structures.
 */
void sdp_ep_unlock_tell(struct sdp_ep *ep)
	__releases(&ep->lock)
{
	struct sdp_ep *listener = ep->told_listener;
	__poll_t events = ep->events, bands = ep->sigio;

	ep->told_listener = NULL;
	ep->events = 0;
	ep->sigio = 0;
	rcu_read_lock();
	spin_unlock_bh(&ep->lock);
	if (events)
		sdp_ep_tell_bands(ep, events, bands);
	if (listener)
		sdp_ep_tell(listener, EPOLLIN | EPOLLRDNORM);
	rcu_read_unlock();
}

/* May whoever made this the owner send it signals?  As for SIGIO. */
static bool sdp_owner_may(const struct fown_struct *owner,
			  struct task_struct *task)
{
	const struct cred *cred = __task_cred(task);

	return uid_eq(owner->euid, GLOBAL_ROOT_UID) ||
	       uid_eq(owner->euid, cred->suid) ||
	       uid_eq(owner->euid, cred->uid) ||
	       uid_eq(owner->uid, cred->suid) ||
	       uid_eq(owner->uid, cred->uid);
}

static void sdp_owner_signal(const struct fown_struct *owner)
{
	struct task_struct *task;

	rcu_read_lock();
	switch (owner->pid_type) {
	case PIDTYPE_PID:
		task = pid_task(owner->pid, PIDTYPE_PID);
		if (task && sdp_owner_may(owner, task))
			send_sig(SIGURG, task, 1);
		break;
	case PIDTYPE_TGID:
		task = pid_task(owner->pid, PIDTYPE_PID);
		if (task && sdp_owner_may(owner, task))
			kill_pid(owner->pid, SIGURG, 1);
		break;
	default:
		hlist_for_each_entry_rcu(task, &owner->pid->tasks[owner->pid_type],
					 pid_links[owner->pid_type])
			if (sdp_owner_may(owner, task))
				kill_pid(task_tgid(task), SIGURG, 1);
	}
	rcu_read_unlock();
}

/**
 * sdp_ep_urge() - tell the owner of the file that urgent data comes
 * @ep: the endpoint, ep->lock held
 *
 * What the kernel does for a socket's file it does for no other.  A signal calls nobody
 * back, and the file is there as long as the lock is held.
 */
void sdp_ep_urge(struct sdp_ep *ep)
{
	struct fown_struct *owner = ep->file ? file_f_owner(ep->file) : NULL;
	unsigned long flags;
	bool owned;

	if (!owner)
		return;
	read_lock_irqsave(&owner->lock, flags);
	owned = owner->pid;
	if (owned)
		sdp_owner_signal(owner);
	read_unlock_irqrestore(&owner->lock, flags);
	if (owned)
		kill_fasync(&ep->fasync, SIGURG, POLL_PRI);
}

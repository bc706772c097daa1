// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: the table of all, references, the work that needs process context.
 */
#include <linux/rcupdate_wait.h>
#include <linux/workqueue.h>

#include "core/core.h"

/* By their numbers, which begin with one; an endpoint found there under RCU may have ended. */
static DEFINE_XARRAY_FLAGS(sdp_eps, XA_FLAGS_LOCK_BH);

static atomic64_t sdp_last_id;
static DECLARE_WAIT_QUEUE_HEAD(sdp_eps_wait);

struct workqueue_struct *sdp_wq;

/**
 * sdp_ep_init() - begin the life of an endpoint
 * @ep: the endpoint, zero but for its account
 * @ops: what those above do for it
 *
 * Return: zero, with one reference, or a negative errno.
 */
int sdp_ep_init(struct sdp_ep *ep, const struct sdp_ep_ops *ops)
{
	refcount_set(&ep->ref, 1);
	ep->ops = ops;
	mutex_init(&ep->op_mutex);
	spin_lock_init(&ep->lock);
	init_waitqueue_head(&ep->wait);
	INIT_WORK(&ep->work, ops->work);
	INIT_DELAYED_WORK(&ep->retry, ops->retry);
	INIT_DELAYED_WORK(&ep->offer, ops->offer);
	INIT_LIST_HEAD(&ep->accept_node);
	INIT_LIST_HEAD(&ep->coming_node);
	ep->id = atomic64_inc_return(&sdp_last_id);
	return xa_insert_bh(&sdp_eps, ep->id, ep, GFP_KERNEL);
}

/**
 * sdp_ep_exit() - the end of that life, except for those who read under RCU
 * @ep: the endpoint
 */
void sdp_ep_exit(struct sdp_ep *ep)
{
	xa_erase_bh(&sdp_eps, ep->id);
	kfree_rcu(ep, rcu);
	if (xa_empty(&sdp_eps))
		wake_up_all(&sdp_eps_wait);
}

/**
 * sdp_ep_set_net() - put an endpoint into a network namespace
 * @ep: the endpoint
 * @net: the namespace
 *
 * From now on it counts as one of its user's endpoints.
 *
 * Return: zero, or -ENOBUFS where the user has too many.
 */
int sdp_ep_set_net(struct sdp_ep *ep, struct net *net)
{
	int err = sdp_charge(&ep->account, SDP_LIMIT_ENDPOINTS, 1);

	if (err)
		return err;
	ep->counted = true;
	ep->net = get_net(net);
	return 0;
}

/**
 * sdp_ep_ready() - has the endpoint all that it needs to work?
 * @ep: the endpoint
 *
 * Everything that sdp_ep_set_ready()'s caller did before is seen then.
 */
bool sdp_ep_ready(struct sdp_ep *ep)
{
	/* Pairs with the release in sdp_ep_set_ready(). */
	return smp_load_acquire(&ep->family);
}

/**
 * sdp_ep_set_ready() - it has
 * @ep: the endpoint
 * @family: AF_INET or AF_INET6
 */
void sdp_ep_set_ready(struct sdp_ep *ep, unsigned short family)
{
	/* Pairs with the acquire in sdp_ep_ready(). */
	smp_store_release(&ep->family, family);
}

/**
 * sdp_ep_get() - take a reference where there is one already
 * @ep: the endpoint
 */
void sdp_ep_get(struct sdp_ep *ep)
{
	refcount_inc(&ep->ref);
}

/**
 * sdp_ep_put() - drop a reference
 * @ep: the endpoint
 *
 * Context: process context, no spinlock held.
 */
void sdp_ep_put(struct sdp_ep *ep)
{
	if (refcount_dec_and_test(&ep->ref))
		ep->ops->release(ep);
}

/**
 * sdp_ep_next() - the next one in the table of all endpoints
 * @id: in: the least number that it may have; out: its number
 *
 * Whoever looks at all of them holds up nobody, however many there are.
 *
 * Return: the endpoint, referenced, or NULL.
 */
struct sdp_ep *sdp_ep_next(unsigned long *id)
{
	struct sdp_ep *ep;

	rcu_read_lock();
	for (ep = xa_find(&sdp_eps, id, ULONG_MAX, XA_PRESENT);
	     ep && !refcount_inc_not_zero(&ep->ref);
	     ep = xa_find_after(&sdp_eps, id, ULONG_MAX, XA_PRESENT))
		cond_resched_rcu();
	rcu_read_unlock();
	return ep;
}

/**
 * sdp_ep_wait_idle() - wait until there is no endpoint any more
 */
void sdp_ep_wait_idle(void)
{
	wait_event(sdp_eps_wait, xa_empty(&sdp_eps));
}

/**
 * sdp_ep_native() - does the native socket answer the calls of this moment?
 * @ep: the endpoint
 *
 * So it does after the fall back, but also before anything has been decided:
 * nobody knows better how a socket behaves that is not connected.
 */
bool sdp_ep_native(struct sdp_ep *ep)
{
	u8 carrier = READ_ONCE(ep->carrier);

	if (carrier != SDP_CARRIER_NONE)
		return carrier == SDP_CARRIER_TCP;
	/*
	 * Pairs with the release in sdp_state_set(): the error of an attempt that
	 * is over is there, too.  The carrier may be the one from before: in every step
	 * of an endpoint that changes both, old and new carrier give the same answer.
	 */
	return smp_load_acquire(&ep->state) <= SDP_STATE_LISTEN;
}

/**
 * sdp_ep_kick() - have the endpoint's work done
 * @ep: the endpoint
 *
 * Context: any.
 */
void sdp_ep_kick(struct sdp_ep *ep)
{
	sdp_ep_get(ep);
	/* Pending already: it has its own reference, so this is not the last. */
	if (!queue_work(sdp_wq, &ep->work))
		refcount_dec(&ep->ref);
}

/**
 * sdp_ep_retry() - try again soon
 * @ep: the endpoint, for which the native socket's lock, or room for a receive buffer, was
 *	not to be had
 *
 * Context: any.
 */
void sdp_ep_retry(struct sdp_ep *ep)
{
	sdp_ep_get(ep);
	if (mod_delayed_work(sdp_wq, &ep->retry, msecs_to_jiffies(SDP_NATIVE_RETRY_MS)))
		refcount_dec(&ep->ref);
}

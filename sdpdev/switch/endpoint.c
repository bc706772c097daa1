// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: making and freeing them, waking and polling, what they tell.
 */
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "sdpdev.h"

/* By their numbers, which begin with one; an endpoint found there under RCU may have ended. */
DEFINE_XARRAY_FLAGS(sdp_eps, XA_FLAGS_LOCK_BH);

static atomic64_t sdp_last_id;
static DECLARE_WAIT_QUEUE_HEAD(sdp_eps_wait);

/**
 * sdp_ep_create() - make an endpoint, which belongs to no namespace yet
 * @listener: whose incoming connection it is, or NULL
 *
 * Return: the endpoint with one reference, or NULL.
 */
struct sdp_ep *sdp_ep_create(struct sdp_ep *listener)
{
	struct mem_cgroup *old;
	struct sdp_ep *ep;

	/* A peer's request comes in a context that nobody pays for. */
	old = set_active_memcg(listener ? listener->memcg : NULL);
	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	set_active_memcg(old);
	if (!ep)
		return NULL;
	refcount_set(&ep->ref, 1);
	mutex_init(&ep->op_mutex);
	mutex_init(&ep->tx_mutex);
	mutex_init(&ep->rx_mutex);
	spin_lock_init(&ep->lock);
	init_waitqueue_head(&ep->wait);
	ep->opts.rcvtimeo = MAX_SCHEDULE_TIMEOUT;
	ep->opts.sndtimeo = MAX_SCHEDULE_TIMEOUT;
	ep->opts.linger = -1;
	ep->opts.rcvlowat = 1;
	INIT_LIST_HEAD(&ep->accept_queue);
	INIT_LIST_HEAD(&ep->deferred_queue);
	INIT_LIST_HEAD(&ep->coming);
	INIT_LIST_HEAD(&ep->coming_node);
	INIT_LIST_HEAD(&ep->accept_node);
	INIT_HLIST_NODE(&ep->port_node);
	INIT_WORK(&ep->work, sdp_conn_work);
	INIT_DELAYED_WORK(&ep->timer, sdp_conn_timeout);
	INIT_DELAYED_WORK(&ep->retry, sdp_conn_try_again);
	INIT_DELAYED_WORK(&ep->alive, sdp_alive_work);
	INIT_DELAYED_WORK(&ep->idle, sdp_size_idle);
	INIT_LIST_HEAD(&ep->rx_early);
	INIT_LIST_HEAD(&ep->rx_queue);
	INIT_LIST_HEAD(&ep->tx_free);
	INIT_LIST_HEAD(&ep->tx_pending);
	INIT_LIST_HEAD(&ep->tx_ctl);

	ep->id = atomic64_inc_return(&sdp_last_id);
	if (!sdp_account_open(ep, listener) &&
	    !xa_insert_bh(&sdp_eps, ep->id, ep, GFP_KERNEL))
		return ep;
	sdp_account_close(ep);
	kfree(ep);
	return NULL;
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
	int err = sdp_charge(ep, SDP_LIMIT_ENDPOINTS, 1);

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
	if (!refcount_dec_and_test(&ep->ref))
		return;
	WARN_ON_ONCE(ep->conn);

	sdp_port_drop(ep);
	sdp_native_release(ep);
	sdp_ring_mem_detach(ep);
	if (ep->counted) {
		put_net(ep->net);
		sdp_uncharge(ep, SDP_LIMIT_ENDPOINTS, 1);
	}
	sdp_account_close(ep);
	xa_erase_bh(&sdp_eps, ep->id);
	kfree_rcu(ep, rcu);
	if (xa_empty(&sdp_eps))
		wake_up_all(&sdp_eps_wait);
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
	 * Pairs with the release in sdp_connect_settle(): the error of an attempt that
	 * is over is there, too.  The carrier may be the one from before: in every step
	 * of an endpoint that changes both, old and new carrier give the same answer.
	 */
	return smp_load_acquire(&ep->state) <= SDP_STATE_LISTEN;
}

/* False if the native socket has to be asked. */
static bool sdp_ep_poll_sdp(struct sdp_ep *ep, __poll_t *events)
{
	struct sdp_opts opts;
	__poll_t mask = 0;
	u64 avail, hidden;
	bool waited_for;

	/* The rest is for who may still be another's. */
	if (READ_ONCE(ep->carrier) == SDP_CARRIER_TCP)
		return false;
	sdp_opts_get(ep, &opts);
	spin_lock_bh(&ep->lock);
	/* Under the lock, since a fall back ends CONNECTING at any time. */
	if (sdp_ep_native(ep)) {
		spin_unlock_bh(&ep->lock);
		return false;
	}
	if (ep->err)
		mask |= EPOLLERR;
	if (ep->state == SDP_STATE_CONNECTING)
		goto out;
	sdp_size_limit(ep, &opts);
	if (ep->shut == SHUTDOWN_MASK || ep->state == SDP_STATE_CLOSED)
		mask |= EPOLLHUP;
	if (ep->shut & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	avail = sdp_rx_avail(ep);
	hidden = sdp_urg_hidden(ep);
	/* No more comes than there are buffers for, whatever is waited for. */
	if (avail >= hidden + max(opts.rcvlowat, 1) ||
	    (avail > hidden && sdp_credit_rx(&ep->credit) <= SDP_KEPT_CREDITS))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (ep->urg.state == SDP_URG_VALID)
		mask |= EPOLLPRI;
	waited_for = ep->tx_nospace;
	ep->tx_nospace = true;
	if ((ep->shut & SEND_SHUTDOWN) || sdp_tx_room(ep)) {
		mask |= EPOLLOUT | EPOLLWRNORM;
		ep->tx_nospace = false;
		/* Room that SO_SNDBUF has made: others have not heard of it. */
		if (waited_for)
			sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
	}
out:
	spin_unlock_bh(&ep->lock);
	*events = mask;
	return true;
}

/**
 * sdp_ep_poll() - the events that poll(2) would tell now
 * @ep: an endpoint after SDP_IOC_INIT
 *
 * The same as for a TCP socket in the corresponding state.
 */
__poll_t sdp_ep_poll(struct sdp_ep *ep)
{
	__poll_t mask;

	if (sdp_ep_poll_sdp(ep, &mask))
		return mask;

	mask = sdp_listens_alone(ep) ? 0 : sdp_native_poll(ep);
	if (READ_ONCE(ep->err))
		mask |= EPOLLERR | EPOLLIN | EPOLLRDNORM;
	if (sdp_accept_ready(ep))
		mask |= EPOLLIN | EPOLLRDNORM;
	return mask;
}

/**
 * sdp_ep_take_error() - take the pending error
 * @ep: an endpoint after SDP_IOC_INIT
 *
 * Return: a positive errno, or zero.
 */
int sdp_ep_take_error(struct sdp_ep *ep)
{
	int err;

	spin_lock_bh(&ep->lock);
	err = ep->err;
	ep->err = 0;
	spin_unlock_bh(&ep->lock);
	if (!err && sdp_ep_native(ep))
		err = -sock_error(sdp_native_sk(ep));
	return err;
}

/**
 * sdp_ep_pending() - what who reads or writes where TCP answers has to be told first
 * @ep: an endpoint whose native socket answers
 *
 * An attempt to connect that came to nothing left its error here.
 *
 * Return: zero or a negative errno.
 */
int sdp_ep_pending(struct sdp_ep *ep)
{
	return READ_ONCE(ep->err) ? -sdp_ep_take_error(ep) : 0;
}

static u32 sdp_put_addr(struct __kernel_sockaddr_storage *to,
			const struct sockaddr_storage *from)
{
	memcpy(to, from, sizeof(*to));
	return sdp_addr_len(from);
}

/**
 * sdp_ep_info() - what SDP_IOC_INFO tells
 * @ep: an endpoint after SDP_IOC_INIT
 * @info: out: zero so far
 */
void sdp_ep_info(struct sdp_ep *ep, struct sdp_info *info)
{
	spin_lock_bh(&ep->lock);
	info->state = ep->state;
	info->carrier = ep->carrier;
	info->reason = ep->reason;
	info->error = ep->err;
	info->shutdown = ep->shut;
	info->tx_ring_bytes = ep->tx_ring.size;
	info->rx_ring_bytes = ep->rx_ring.size;
	if (ep->tx_ring.size)
		info->ring_data_offset = sdp_ring_data_offset();
	if (ep->live)
		info->tx_credits = max(sdp_credit_tx(&ep->credit), 0);
	info->tx_bytes = ep->tx_bytes;
	info->rx_bytes = ep->rx_bytes;
	info->tx_msgs = ep->tx_msgs;
	info->rx_msgs = ep->rx_msgs;
	info->local_len = sdp_put_addr(&info->local, &ep->local);
	info->peer_len = sdp_put_addr(&info->peer, &ep->peer);
	spin_unlock_bh(&ep->lock);
	info->family = ep->family;
	info->id = ep->id;
	info->recv_by_call = sdp_recv_by_call(ep);

	if (sdp_ep_native(ep))
		sdp_native_info(ep, info);
	if (sdp_listens_alone(ep))
		info->state = SDP_STATE_LISTEN;
}

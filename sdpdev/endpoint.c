// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: making and freeing them, waking and polling, what they tell.
 */
#include <linux/poll.h>
#include <linux/slab.h>

#include "sdpdev.h"

DEFINE_SPINLOCK(sdp_eps_lock);
LIST_HEAD(sdp_eps);

static u64 sdp_last_id;	/* sdp_eps_lock */
static DECLARE_WAIT_QUEUE_HEAD(sdp_eps_wait);

/**
 * sdp_ep_create() - make an endpoint, which belongs to no namespace yet
 *
 * Return: the endpoint with one reference, or NULL.
 */
struct sdp_ep *sdp_ep_create(void)
{
	struct sdp_ep *ep;

	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep)
		return NULL;
	refcount_set(&ep->ref, 1);
	ep->uid = current_fsuid();
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
	INIT_LIST_HEAD(&ep->accept_node);
	INIT_HLIST_NODE(&ep->port_node);
	INIT_WORK(&ep->work, sdp_conn_work);
	INIT_DELAYED_WORK(&ep->timer, sdp_conn_timeout);
	INIT_LIST_HEAD(&ep->rx_queue);
	INIT_LIST_HEAD(&ep->tx_free);
	INIT_LIST_HEAD(&ep->tx_pending);
	INIT_LIST_HEAD(&ep->tx_ctl);

	spin_lock_bh(&sdp_eps_lock);
	ep->id = ++sdp_last_id;
	list_add_tail(&ep->list, &sdp_eps);
	spin_unlock_bh(&sdp_eps_lock);
	return ep;
}

/**
 * sdp_ep_set_net() - put an endpoint into a network namespace
 * @ep: the endpoint
 * @net: the namespace
 */
void sdp_ep_set_net(struct sdp_ep *ep, struct net *net)
{
	ep->net = get_net(net);
}

/**
 * sdp_ep_ready() - has the endpoint all that it needs to work?
 * @ep: the endpoint
 *
 * Everything that sdp_ep_set_ready()'s caller did before is seen then.
 */
bool sdp_ep_ready(struct sdp_ep *ep)
{
	/* Pairs with sdp_ep_set_ready(). */
	return smp_load_acquire(&ep->family);
}

/**
 * sdp_ep_set_ready() - it has
 * @ep: the endpoint
 * @family: AF_INET or AF_INET6
 */
void sdp_ep_set_ready(struct sdp_ep *ep, unsigned short family)
{
	/* Pairs with sdp_ep_ready(). */
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
	bool last;

	if (!refcount_dec_and_test(&ep->ref))
		return;
	WARN_ON_ONCE(ep->conn);

	sdp_native_release(ep);
	sdp_ring_free(&ep->tx_ring);
	sdp_ring_free(&ep->rx_ring);
	if (ep->net)
		put_net(ep->net);

	spin_lock_bh(&sdp_eps_lock);
	list_del(&ep->list);
	last = list_empty(&sdp_eps);
	spin_unlock_bh(&sdp_eps_lock);
	kfree(ep);
	if (last)
		wake_up_all(&sdp_eps_wait);
}

/**
 * sdp_ep_wait_idle() - wait until there is no endpoint any more
 */
void sdp_ep_wait_idle(void)
{
	wait_event(sdp_eps_wait, list_empty_careful(&sdp_eps));
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

	return carrier == SDP_CARRIER_TCP ||
	       (carrier == SDP_CARRIER_NONE &&
		READ_ONCE(ep->state) <= SDP_STATE_LISTEN);
}

/**
 * sdp_ep_wake() - tell everybody who waits
 * @ep: the endpoint
 * @events: EPOLL* that happened
 */
void sdp_ep_wake(struct sdp_ep *ep, __poll_t events)
{
	if (wq_has_sleeper(&ep->wait))
		wake_up_interruptible_poll(&ep->wait, events);
	if (events & EPOLLIN)
		kill_fasync(&ep->fasync, SIGIO, POLL_IN);
	else if (events & EPOLLOUT)
		kill_fasync(&ep->fasync, SIGIO, POLL_OUT);
}

/* False if the native socket has to be asked. */
static bool sdp_ep_poll_sdp(struct sdp_ep *ep, __poll_t *events)
{
	struct sdp_opts opts;
	__poll_t mask = 0;

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
	if (ep->shut == SHUTDOWN_MASK || ep->state == SDP_STATE_CLOSED)
		mask |= EPOLLHUP;
	if (ep->shut & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	/* No more comes than there are buffers for, whatever is waited for. */
	if (sdp_rx_avail(ep) >= max(opts.rcvlowat, 1) ||
	    (sdp_rx_avail(ep) && sdp_rx_credits(ep) <= SDP_KEPT_CREDITS))
		mask |= EPOLLIN | EPOLLRDNORM;
	ep->tx_nospace = true;
	if ((ep->shut & SEND_SHUTDOWN) || sdp_tx_room(ep)) {
		mask |= EPOLLOUT | EPOLLWRNORM;
		ep->tx_nospace = false;
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

	mask = sdp_native_poll(ep);
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
	ep->connect_err = 0;
	spin_unlock_bh(&ep->lock);
	if (!err && sdp_ep_native(ep))
		err = -sock_error(sdp_native_sk(ep));
	return err;
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
		info->tx_credits = max(sdp_tx_credits(ep), 0);
	info->tx_bytes = ep->tx_bytes;
	info->rx_bytes = ep->rx_bytes;
	info->tx_msgs = ep->tx_msgs;
	info->rx_msgs = ep->rx_msgs;
	info->local_len = sdp_put_addr(&info->local, &ep->local);
	info->peer_len = sdp_put_addr(&info->peer, &ep->peer);
	spin_unlock_bh(&ep->lock);
	info->family = ep->family;
	info->id = ep->id;

	if (sdp_ep_native(ep))
		sdp_native_info(ep, info);
}

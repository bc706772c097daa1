// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: making and freeing them.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ring/ring.h"
#include "switch/switch.h"

/**
 * sdp_ep_create() - make an endpoint, which belongs to no namespace yet
 * @ops: what those above do for it
 * @listener: whose incoming connection it is, or NULL
 *
 * Return: the endpoint with one reference, or NULL.
 */
struct sdp_ep *sdp_ep_create(const struct sdp_ep_ops *ops, struct sdp_ep *listener)
{
	struct mem_cgroup *old;
	struct sdp_ep *ep;

	/* A peer's request comes in a context that nobody pays for. */
	old = set_active_memcg(listener ? listener->account.memcg : NULL);
	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	set_active_memcg(old);
	if (!ep)
		return NULL;
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
	INIT_DELAYED_WORK(&ep->timer, ops->timeout);
	INIT_DELAYED_WORK(&ep->alive, ops->alive);
	INIT_DELAYED_WORK(&ep->idle, ops->idle);
	INIT_DELAYED_WORK(&ep->offer, ops->offer);
	INIT_LIST_HEAD(&ep->rx_early);
	INIT_LIST_HEAD(&ep->rx_queue);
	INIT_LIST_HEAD(&ep->tx_free);
	INIT_LIST_HEAD(&ep->tx_pending);
	INIT_LIST_HEAD(&ep->tx_ctl);

	if (!sdp_account_open(&ep->account, listener ? &listener->account : NULL) &&
	    !sdp_ep_init(ep, ops))
		return ep;
	sdp_account_close(&ep->account);
	kfree(ep);
	return NULL;
}

/**
 * sdp_ep_release() - struct sdp_ep_ops.release: the last reference is gone
 * @ep: the endpoint
 */
void sdp_ep_release(struct sdp_ep *ep)
{
	WARN_ON_ONCE(ep->conn);

	sdp_port_drop(ep);
	sdp_native_release(ep);
	sdp_ring_mem_detach(ep);
	if (ep->counted) {
		put_net(ep->net);
		sdp_uncharge(&ep->account, SDP_LIMIT_ENDPOINTS, 1);
	}
	sdp_account_close(&ep->account);
	sdp_ep_exit(ep);
}

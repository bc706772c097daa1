// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: making and freeing them.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ring/ring.h"
#include "switch/switch.h"

/* An endpoint and its parts that are always there; freed by the first. */
struct sdp_ep_whole {
	struct sdp_ep ep;
	struct sdp_tcp tcp;
};

/**
 * sdp_ep_create() - make an endpoint, which belongs to no namespace yet
 * @ops: what those above do for it
 * @listener: whose incoming connection it is, or NULL
 *
 * Return: the endpoint with one reference, or NULL.
 */
struct sdp_ep *sdp_ep_create(const struct sdp_ep_ops *ops, struct sdp_ep *listener)
{
	struct sdp_ep_whole *whole;
	struct mem_cgroup *old;
	struct sdp_ep *ep;

	/* kfree_rcu() of the endpoint frees all. */
	BUILD_BUG_ON(offsetof(struct sdp_ep_whole, ep));
	/* A peer's request comes in a context that nobody pays for. */
	old = set_active_memcg(listener ? listener->account.memcg : NULL);
	whole = kzalloc(sizeof(*whole), GFP_KERNEL_ACCOUNT);
	set_active_memcg(old);
	if (!whole)
		return NULL;
	ep = &whole->ep;
	sdp_tcp_init(&whole->tcp, ep);
	if (!sdp_account_open(&ep->account, listener ? &listener->account : NULL) &&
	    !sdp_ep_init(ep, ops))
		return ep;
	sdp_account_close(&ep->account);
	kfree(whole);
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
	kfree(ep->listen);
	if (ep->counted) {
		put_net(ep->net);
		sdp_uncharge(&ep->account, SDP_LIMIT_ENDPOINTS, 1);
	}
	sdp_account_close(&ep->account);
	sdp_ep_exit(ep);
}

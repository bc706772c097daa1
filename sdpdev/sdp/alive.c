// SPDX-License-Identifier: GPL-2.0
/*
 * Is the peer still there?  SO_KEEPALIVE with its times, and TCP_USER_TIMEOUT.
 * Does it say anything?  TCP_DEFER_ACCEPT.  Has what it asked for before come?
 * Does its user say more?  TCP_CORK and MSG_MORE.
 *
 * A probe is a Data message without stream bytes, or, where there is no credit for one
 * (the peer's user reads nothing), what the transport has for it: no peer's user
 * notices either, and its transport acknowledges both, or ours tells that it does not.
 *
 * The options are the native socket's, which tells nobody when they change.  So
 * whenever user space has had a descriptor of it the options are looked at soon
 * afterwards, and now and then as long as it keeps one.
 */
#include "sdp/sdp.h"
#include "tcp/tcp.h"

/* How long bytes are held back for more: as long as TCP's. */
#define SDP_TX_HOLD	(HZ / 5)

/**
 * sdp_alive_arm() - look at the peer in some time, and not before
 * @ep: the endpoint
 * @delay: jiffies
 */
void sdp_alive_arm(struct sdp_ep *ep, unsigned long delay)
{
	sdp_ep_get(ep);
	/* Pending already: it has its own reference, so this is not the last. */
	if (mod_delayed_work(sdp_wq, &ep->alive, delay))
		refcount_dec(&ep->ref);
}

/**
 * sdp_alive_wanted() - is there anybody to look for?
 * @ep: the endpoint, ep->lock held
 */
bool sdp_alive_wanted(const struct sdp_ep *ep)
{
	return ep->live && !ep->ending && !ep->kill && !ep->orphan;
}

/**
 * sdp_alive_begin() - messages flow
 * @ep: the endpoint, ep->lock held
 */
void sdp_alive_begin(struct sdp_ep *ep)
{
	struct sdp_opts opts;

	sdp_alive_heard(ep);
	sdp_opts_get(ep, &opts);
	if (opts.keepalive || opts.user_timeout)
		sdp_alive_arm(ep, 0);
}

/**
 * sdp_alive_look() - user space may change the options from now on
 * @ep: the endpoint
 */
void sdp_alive_look(struct sdp_ep *ep)
{
	sdp_ep_lock(ep);
	if (sdp_alive_wanted(ep))
		sdp_alive_arm(ep, SDP_ALIVE_LOOK);
	sdp_ep_unlock(ep);
}

/**
 * sdp_alive_sending() - stream bytes are about to be sent
 * @ep: the endpoint, ep->lock held
 */
void sdp_alive_sending(struct sdp_ep *ep)
{
	if (!ep->user_timeout)
		return;
	if (!ep->tx_unacked && list_empty(&ep->tx_pending))
		ep->tx_moved = jiffies;
	if (sdp_alive_wanted(ep) && !delayed_work_pending(&ep->alive))
		sdp_alive_arm(ep, ep->user_timeout);
}

/**
 * sdp_alive_hold() - stream bytes are held back for more
 * @ep: the endpoint, ep->lock held
 */
void sdp_alive_hold(struct sdp_ep *ep)
{
	if (ep->tx_held)
		return;
	ep->tx_held = true;
	ep->tx_held_end = jiffies + SDP_TX_HOLD;
	if (sdp_alive_wanted(ep) &&
	    (!delayed_work_pending(&ep->alive) ||
	     time_after(ep->alive.timer.expires, ep->tx_held_end)))
		sdp_alive_arm(ep, SDP_TX_HOLD);
}

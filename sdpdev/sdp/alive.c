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
#include "sdpdev.h"

/* How long after SDP_IOC_NATIVE the options are looked at. */
#define SDP_ALIVE_LOOK	HZ

/* How long bytes are held back for more: as long as TCP's. */
#define SDP_TX_HOLD	(HZ / 5)

static void sdp_alive_arm(struct sdp_ep *ep, unsigned long delay)
{
	sdp_ep_get(ep);
	/* Pending already: it has its own reference, so this is not the last. */
	if (mod_delayed_work(sdp_wq, &ep->alive, delay))
		refcount_dec(&ep->ref);
}

static bool sdp_alive_wanted(const struct sdp_ep *ep)
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
	if (opts.keepalive || opts.user_timeout || ep->deferred ||
	    READ_ONCE(ep->held))
		sdp_alive_arm(ep, 0);
}

/**
 * sdp_alive_look() - user space may change the options from now on
 * @ep: the endpoint
 */
void sdp_alive_look(struct sdp_ep *ep)
{
	spin_lock_bh(&ep->lock);
	if (sdp_alive_wanted(ep))
		sdp_alive_arm(ep, SDP_ALIVE_LOOK);
	spin_unlock_bh(&ep->lock);
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

/* Jiffies until what is held back goes as it is. */
static unsigned long sdp_alive_held(struct sdp_ep *ep)
{
	if (ep->tx_held && !time_before(jiffies, ep->tx_held_end)) {
		ep->tx_more = false;
		ep->tx_nagle = false;
		ep->tx_held = false;
		sdp_tx_push(ep);
	}
	return ep->tx_held ? ep->tx_held_end - jiffies : MAX_JIFFY_OFFSET;
}

/* Jiffies until the bytes under way are too old; zero: they are. */
static unsigned long sdp_alive_sent(struct sdp_ep *ep)
{
	unsigned long waited = jiffies - ep->tx_moved;

	if (!ep->user_timeout || !sdp_tx_queued(ep))
		return MAX_JIFFY_OFFSET;
	return ep->user_timeout - min(waited, ep->user_timeout);
}

/* Jiffies until the next probe or the end; zero: it has come. */
static unsigned long sdp_alive_probe(struct sdp_ep *ep,
				     const struct sdp_opts *opts)
{
	unsigned long idle = opts->keepidle, quiet = jiffies - ep->heard;
	bool end;

	if (!opts->keepalive)
		return MAX_JIFFY_OFFSET;
	if (quiet < idle)
		return idle - quiet;
	if (ep->user_timeout)
		end = quiet >= ep->user_timeout && ep->probes;
	else
		end = ep->probes >= opts->keepcnt;
	if (end)
		return 0;
	sdp_tx_probe(ep);
	ep->probes++;
	return opts->keepintvl;
}

/* Jiffies until it is offered to accept(2) whatever the peer sent. */
static unsigned long sdp_alive_deferred(struct sdp_ep *ep)
{
	if (!ep->deferred && !READ_ONCE(ep->held))
		return MAX_JIFFY_OFFSET;
	if (time_before(jiffies, ep->defer_end))
		return ep->defer_end - jiffies;
	sdp_incoming_offer(ep);
	return MAX_JIFFY_OFFSET;
}

/**
 * sdp_alive_work() - look at the options, and at the peer
 * @work: of struct sdp_ep
 */
void sdp_alive_work(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(to_delayed_work(work), struct sdp_ep,
					 alive);
	unsigned long next;
	struct sdp_opts opts;

	sdp_opts_get(ep, &opts);
	spin_lock_bh(&ep->lock);
	if (!sdp_alive_wanted(ep))
		goto out;
	if (!ep->user_timeout)
		ep->tx_moved = jiffies;
	ep->user_timeout = opts.user_timeout;

	next = min(sdp_alive_sent(ep), sdp_alive_probe(ep, &opts));
	if (!next) {
		sdp_abort(ep, SDP_REASON_TRANSPORT, ETIMEDOUT);
		goto out;
	}
	next = min(next, sdp_alive_deferred(ep));
	next = min(next, sdp_alive_held(ep));
	if (sdp_native_shared(ep))
		next = min_t(unsigned long, next, SDP_ALIVE_LOOK);
	if (next != MAX_JIFFY_OFFSET && sdp_alive_wanted(ep))
		sdp_alive_arm(ep, next);
out:
	spin_unlock_bh(&ep->lock);
	sdp_ep_put(ep);
}

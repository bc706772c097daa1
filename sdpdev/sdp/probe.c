// SPDX-License-Identifier: GPL-2.0
/*
 * The look at a peer that is silent, and at bytes that wait: what falls due of
 * SO_KEEPALIVE, TCP_USER_TIMEOUT, TCP_CORK and MSG_MORE.
 */
#include "sdp/sdp.h"
#include "tcp/tcp.h"

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
	sdp_ep_lock(ep);
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
	next = min(next, sdp_alive_held(ep));
	if (sdp_native_shared(ep))
		next = min_t(unsigned long, next, SDP_ALIVE_LOOK);
	if (next != MAX_JIFFY_OFFSET && sdp_alive_wanted(ep))
		sdp_alive_arm(ep, next);
out:
	sdp_ep_unlock(ep);
	sdp_ep_put(ep);
}

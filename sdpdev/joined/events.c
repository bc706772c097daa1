// SPDX-License-Identifier: GPL-2.0
/*
 * The transports' events: those of joined connections, of direct sockets, and of others.
 */
#include <linux/in.h>

#include "chan/chan.h"
#include "direct/direct.h"
#include "joined/joined.h"
#include "switch/switch.h"

static int sdp_events_addrs(const void *pdata, unsigned int len,
			    struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	if (len && *(const u8 *)pdata == SDP_MID_JOIN)
		return sdp_joined_request_addrs(pdata, len, local, peer);
	return sdp_direct_request_addrs(pdata, len, local, peer);
}

static int sdp_events_take(struct sdp_xprt_conn *xc, void *ctx, const struct sdp_xprt_event *ev)
{
	int err;

	if (ev->type != SDP_XPRT_CONNECT_REQUEST)
		return sdp_upcalls.event(xc, ctx, ev);
	/* Its port is at the same place for both families. */
	if (((const struct sockaddr_in *)ev->local)->sin_port == htons(SDP_JOINED_PORT))
		return sdp_joined_request(xc, ev);
	err = sdp_direct_request(xc, ev);
	if (err != -ENOENT)
		return err;
	return sdp_upcalls.event(xc, ctx, ev);
}

static void sdp_events_gone(const struct sdp_xprt_ops *ops, const struct sdp_xprt_dev *dev)
{
	sdp_chan_gone(ops, dev);
	sdp_upcalls.gone(ops, dev);
}

const struct sdp_xprt_upcalls sdp_events = {
	.request_addrs	= sdp_events_addrs,
	.event		= sdp_events_take,
	.gone		= sdp_events_gone,
};

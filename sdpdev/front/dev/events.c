// SPDX-License-Identifier: GPL-2.0
/*
 * What transports tell of connections that have no channel yet: a peer asks for one, for a TCP
 * connection or for a direct socket.
 */
#include <linux/in.h>

#include "core/core.h"
#include "direct/direct.h"
#include "front/dev/dev.h"
#include "joined/joined.h"

static int sdp_events_addrs(const void *pdata, unsigned int len,
			    struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	if (len && *(const u8 *)pdata == SDP_MID_JOIN)
		return sdp_joined_request_addrs(pdata, len, local, peer);
	return sdp_direct_request_addrs(pdata, len, local, peer);
}

static int sdp_events_request(struct sdp_xprt_conn *xc, void *ctx,
			      const struct sdp_xprt_event *ev)
{
	int err;

	if (WARN_ON_ONCE(ev->type != SDP_XPRT_CONNECT_REQUEST))
		return 0;
	/* Its port is at the same place for both families. */
	if (((const struct sockaddr_in *)ev->local)->sin_port == htons(SDP_JOINED_PORT))
		return sdp_joined_request(xc, ev);
	err = sdp_direct_request(xc, ev);
	if (err != -ENOENT)
		return err;
	sdp_count(ev->net, SDP_CNT_REFUSED_NO_LISTENER);
	return -ECONNREFUSED;
}

static void sdp_events_changed(const struct sdp_xprt_ops *ops)
{
	sdp_joined_changed(ops);
}

const struct sdp_xprt_upcalls sdp_events = {
	.request_addrs	= sdp_events_addrs,
	.event		= sdp_events_request,
	.gone		= sdp_chan_gone,
	.changed	= sdp_events_changed,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * What an administrator's tool does with a connection: bring it back to TCP, or have it look for
 * a better carrier now.
 */
#include <net/tcp.h>

#include "offload/lane.h"
#include "offload/trace.h"

static u32 sdp_tool_away_lane(const struct sdp_lane *lane)
{
	u32 away = 0;

	switch (READ_ONCE(lane->tx.state)) {
	case SDP_HALF_TX_TCP:
	case SDP_HALF_TX_FIN:
		break;
	default:
		away |= SDP_CTL_TX;
	}
	switch (READ_ONCE(lane->rx.state)) {
	case SDP_HALF_RX_TCP:
	case SDP_HALF_RX_END:
		break;
	case SDP_HALF_RX_MOVED:
		/* Without a carrier the peer's next bytes come by TCP. */
		if (!READ_ONCE(lane->rx.carrier) && !READ_ONCE(lane->queued))
			break;
		fallthrough;
	default:
		away |= SDP_CTL_RX;
	}
	return away;
}

static bool sdp_tool_piped(const struct sdp_pipe *pipe)
{
	switch (READ_ONCE(pipe->state)) {
	case SDP_PIPE_MOVED:
	case SDP_PIPE_RETURNING:
		return true;
	default:
		return false;
	}
}

/*
 * SDP_CTL_TX and SDP_CTL_RX of directions that are not with TCP, or on their way back.  In an RCU
 * read section, or with the socket locked; without the lock a guess.
 */
u32 sdp_tool_away(const struct sdp_sock *ss)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);
	struct sdp_lane *lane = sdp_sock_lane(ss);
	u32 away = lane ? sdp_tool_away_lane(lane) : 0;

	if (!pair)
		return away;
	if (sdp_tool_piped(sdp_tx_pipe(ss, pair)))
		away |= SDP_CTL_TX;
	if (sdp_tool_piped(sdp_rx_pipe(ss, pair)))
		away |= SDP_CTL_RX;
	return away;
}

/*
 * Brings a connection back to TCP; with @stay it does not leave TCP any more.  What this end sends
 * returns at once.  The caller does the same with the other end if it is on this host; another
 * peer is asked to return.  Without "stay" at either end the directions move again when the
 * connection has carried enough.  1; 0 if it was with TCP, or was told before; -ENOBUFS if memory
 * was short: the worker goes on; -EOPNOTSUPP if no byte may go by TCP.  The socket is locked, in
 * process context.
 */
int sdp_tool_return(struct sdp_sock *ss, bool stay)
{
	u32 away = sdp_tool_away(ss);
	bool told = ss->rests;
	int err;

	if (sdp_only(ss))
		return -EOPNOTSUPP;
	ss->rests = true;
	ss->calls = 0;
	ss->bytes = 0;
	err = sdp_tx_return(ss, SDP_STAY_TOOL);
	if (stay)
		sdp_mode_set(ss, SDP_MODE_NEVER);
	if (!err && sdp_lane_asked(ss))
		sdp_lane_settled(ss);
	/* Nor does it ask again because it had a carrier. */
	ss->again = false;
	return err ?: (away & SDP_CTL_TX) || (away && !told);
}

/* Why the connection stays with TCP; SDP_STAY_PASSING if it moves when TCP has delivered bytes. */
static enum sdp_stay sdp_tool_look(struct sdp_sock *ss)
{
	enum sdp_stay stay = sdp_gate(ss, true);

	if (stay)
		return stay;
	if (!ss->pair && !sdp_lane_asked(ss))
		sdp_sock_look(ss);
	if (ss->pair)
		return sdp_tx_try(ss, sdp_tx_pipe(ss, ss->pair)) ? SDP_STAY_NOT : ss->stay;
	return sdp_lane_asked(ss) ? SDP_STAY_PASSING : ss->stay;
}

/*
 * Looks for a better carrier, even if a connection has carried little.  1 if it has one now, or has
 * asked for one; 0 if that was so; -EOPNOTSUPP, and sdp_sock.stay says why not.  The socket is
 * locked, in process context.
 */
int sdp_tool_offload(struct sdp_sock *ss)
{
	bool had = (ss->pair || sdp_lane_asked(ss)) && !ss->rests;
	enum sdp_stay stay;

	/* What is owed to TCP, and has no carrier, may have another one. */
	if (sdp_tool_away(ss) & SDP_CTL_TX &&
	    !(ss->lane && ss->lane->tx.state == SDP_HALF_TX_LOOSE))
		return 0;
	ss->rests = false;
	stay = sdp_tool_look(ss);
	sdp_stay_set(ss, stay, false);
	trace_sdp_sock_ask(ss, stay);
	return stay && stay != SDP_STAY_PASSING ? -EOPNOTSUPP : !(stay && had);
}

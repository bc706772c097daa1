// SPDX-License-Identifier: GPL-2.0
/*
 * How far a connection has come, and each half of it.
 *
 *	SETUP ----> OPEN ----> DRAIN
 *	  |         | |          |
 *	  |         | +-> ABORT <+
 *	  |         |       |    |
 *	  +---------+---->  DEAD <
 *	                    |
 *	                  HUSK
 *
 * SETUP: it is being made, or accepted.  OPEN: messages flow.  DRAIN: AbortConn follows what
 * was written.  ABORT: AbortConn is on its way.  DEAD: it has ended, and the endpoint's work
 * destroys it.  HUSK: it is destroyed; what it received may still be read.
 *
 *	sending:    OPEN ---> FIN_WANTED ---> FIN_SENT ---> FIN_ACKED
 *	receiving:  OPEN ---> SHUT ---> FIN, or OPEN ---> FIN
 *
 * FIN_WANTED: DisConn follows what was written.  FIN_SENT: the transport has it.  FIN_ACKED: it
 * has arrived.  SHUT: nobody here reads any more.  FIN: the peer's DisConn has come.
 */
#include <linux/poll.h>

#include "sdp/sdp.h"

/* The phases that may follow each. */
static const u8 sdp_phase_next[] = {
	[SDP_PHASE_SETUP] = BIT(SDP_PHASE_OPEN) | BIT(SDP_PHASE_DEAD),
	[SDP_PHASE_OPEN]  = BIT(SDP_PHASE_DRAIN) | BIT(SDP_PHASE_ABORT) | BIT(SDP_PHASE_DEAD),
	[SDP_PHASE_DRAIN] = BIT(SDP_PHASE_ABORT) | BIT(SDP_PHASE_DEAD),
	[SDP_PHASE_ABORT] = BIT(SDP_PHASE_DEAD),
	[SDP_PHASE_DEAD]  = BIT(SDP_PHASE_HUSK),
	[SDP_PHASE_HUSK]  = 0,
};

/**
 * sdp_phase_set() - a connection goes on
 * @conn: the connection, ep->lock held
 * @next: to what
 */
void sdp_phase_set(struct sdp_conn *conn, enum sdp_phase next)
{
	SDP_ASSERT(sdp_phase_next[conn->phase] & BIT(next));
	WRITE_ONCE(conn->phase, next);
}

/**
 * sdp_tx_set() - the half that sends goes on
 * @conn: the connection, ep->lock held
 * @next: to what
 */
void sdp_tx_set(struct sdp_conn *conn, enum sdp_tx_state next)
{
	SDP_ASSERT(next == conn->tx.state + 1);
	WRITE_ONCE(conn->tx.state, next);
}

/**
 * sdp_rx_set() - the half that receives goes on
 * @conn: the connection, ep->lock held
 * @next: to what
 */
void sdp_rx_set(struct sdp_conn *conn, enum sdp_rx_state next)
{
	SDP_ASSERT(next > conn->rx.state);
	conn->rx.state = next;
}

/**
 * sdp_set_ended() - nothing is sent or received from now on
 * @conn: the connection, ep->lock held
 * @reason: SDP_REASON_*, NONE after an orderly end
 * @err: error for user space, positive, or zero
 */
void sdp_set_ended(struct sdp_conn *conn, u8 reason, int err)
{
	struct sdp_ep *ep = conn->ep;

	if (sdp_reason_set(ep, reason))
		sdp_count(SDP_CNT_REASON + reason);
	if (err && !ep->orphan)
		ep->err = err;
	ep->shut = SHUTDOWN_MASK;
	sdp_state_set(ep, SDP_STATE_CLOSED);
	sdp_ring_tx_end(conn);
	sdp_ring_rx_flags(conn);
	sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT |
			EPOLLWRNORM | EPOLLERR | EPOLLHUP);
}

/**
 * sdp_conn_ended() - the connection has ended, orderly or not
 * @conn: the connection, ep->lock held
 * @reason: SDP_REASON_*, NONE after an orderly end
 * @err: error for user space, positive, or zero
 */
void sdp_conn_ended(struct sdp_conn *conn, u8 reason, int err)
{
	bool told = conn->phase == SDP_PHASE_ABORT;

	if (conn->phase >= SDP_PHASE_DEAD)
		return;
	/* Who lingers looks for it when it is woken. */
	sdp_phase_set(conn, SDP_PHASE_DEAD);
	if (!told)
		sdp_set_ended(conn, reason, err);
	sdp_ep_kick(conn->ep);
}

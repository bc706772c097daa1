// SPDX-License-Identifier: GPL-2.0
/*
 * What a user sees of an endpoint: its state, its carrier and its reason.  And what is to
 * become of its attempt.
 *
 *	state:    IDLE ---> BOUND <---> LISTEN
 *	            |         |
 *	            +----+----+
 *	                 v
 *	            CONNECTING ---> CONNECTED ---> CLOSING ---> CLOSED
 *
 * SDP_STATE_* in uapi/linux/sdp.h says what they are.  IDLE goes to LISTEN as well, where
 * listen(2) binds.  An incoming connection begins with CONNECTING.  CONNECTING and CONNECTED
 * go to CLOSED where the connection ends at once.  An attempt that has failed goes from
 * CONNECTING to BOUND, and a connection that connect(2) with AF_UNSPEC has taken apart from
 * CLOSED to BOUND.  Steps that lead where the endpoint is are allowed only where several
 * may ask for the same: bind and part, listen, and shut down.
 *
 *	carrier:  SDP <---> NONE <---> TCP
 *
 * NONE: not settled.  A carrier that failed altogether, or was taken apart, makes room for
 * another attempt.
 *
 *	reason:   NONE ---> the first that there is; the next attempt begins with NONE
 *
 *	attempt:  NONE ---> FAILED ---> PARTING, or NONE ---> PARTING; each goes to NONE
 *
 * FAILED: the endpoint's work falls back to TCP, or tells the failure.  PARTING: connect(2)
 * with AF_UNSPEC waits until the work has taken the connection apart.
 */
#include "core/core.h"

/* The states that may follow each. */
static const u8 sdp_state_next[] = {
	[SDP_STATE_IDLE]       = BIT(SDP_STATE_BOUND) | BIT(SDP_STATE_LISTEN) |
				 BIT(SDP_STATE_CONNECTING),
	[SDP_STATE_BOUND]      = BIT(SDP_STATE_BOUND) | BIT(SDP_STATE_LISTEN) |
				 BIT(SDP_STATE_CONNECTING),
	[SDP_STATE_LISTEN]     = BIT(SDP_STATE_LISTEN) | BIT(SDP_STATE_BOUND),
	[SDP_STATE_CONNECTING] = BIT(SDP_STATE_CONNECTED) | BIT(SDP_STATE_CLOSED) |
				 BIT(SDP_STATE_BOUND),
	[SDP_STATE_CONNECTED]  = BIT(SDP_STATE_CLOSING) | BIT(SDP_STATE_CLOSED),
	[SDP_STATE_CLOSING]    = BIT(SDP_STATE_CLOSING) | BIT(SDP_STATE_CLOSED),
	[SDP_STATE_CLOSED]     = BIT(SDP_STATE_BOUND),
};

/* The carriers that may follow each. */
static const u8 sdp_carrier_next[] = {
	[SDP_CARRIER_NONE] = BIT(SDP_CARRIER_NONE) | BIT(SDP_CARRIER_SDP) |
			     BIT(SDP_CARRIER_TCP),
	[SDP_CARRIER_SDP]  = BIT(SDP_CARRIER_NONE),
	[SDP_CARRIER_TCP]  = BIT(SDP_CARRIER_NONE),
};

/* What may become of an attempt. */
static const u8 sdp_attempt_next[] = {
	[SDP_ATTEMPT_NONE]    = BIT(SDP_ATTEMPT_NONE) | BIT(SDP_ATTEMPT_FAILED) |
				BIT(SDP_ATTEMPT_PARTING),
	[SDP_ATTEMPT_FAILED]  = BIT(SDP_ATTEMPT_NONE) | BIT(SDP_ATTEMPT_PARTING),
	/* An interrupted caller may try again. */
	[SDP_ATTEMPT_PARTING] = BIT(SDP_ATTEMPT_NONE) | BIT(SDP_ATTEMPT_PARTING),
};

/**
 * sdp_state_set() - an endpoint goes on
 * @ep: the endpoint, ep->lock held
 * @next: SDP_STATE_*
 *
 * Readers without the lock that load the state with acquire order see all that was stored
 * before.
 */
void sdp_state_set(struct sdp_ep *ep, u8 next)
{
	lockdep_assert_held(&ep->lock);
	SDP_ASSERT(sdp_state_next[ep->state] & BIT(next));
	/*
	 * Pairs with the acquiring loads in sdp_ep_native(), sdp_connect_undecided() and
	 * sdp_listening().
	 */
	smp_store_release(&ep->state, next);
}

/**
 * sdp_carrier_set() - it is settled what carries a connection, or open again
 * @ep: the endpoint, ep->lock held
 * @next: SDP_CARRIER_*
 *
 * Where the state changes as well it does so afterwards: see sdp_ep_native().
 */
void sdp_carrier_set(struct sdp_ep *ep, u8 next)
{
	lockdep_assert_held(&ep->lock);
	SDP_ASSERT(sdp_carrier_next[ep->carrier] & BIT(next));
	WRITE_ONCE(ep->carrier, next);
}

/**
 * sdp_reason_set() - why a connection has ended, or is not SDP's
 * @ep: the endpoint, ep->lock held
 * @reason: SDP_REASON_*; NONE begins anew
 *
 * Return: whether it counts: the first reason stays.
 */
bool sdp_reason_set(struct sdp_ep *ep, u8 reason)
{
	lockdep_assert_held(&ep->lock);
	if (reason != SDP_REASON_NONE && ep->reason != SDP_REASON_NONE)
		return false;
	ep->reason = reason;
	return reason != SDP_REASON_NONE;
}

/**
 * sdp_attempt_set() - something is to become of an attempt, or has
 * @ep: the endpoint, ep->lock held
 * @next: what
 */
void sdp_attempt_set(struct sdp_ep *ep, enum sdp_attempt next)
{
	lockdep_assert_held(&ep->lock);
	SDP_ASSERT(sdp_attempt_next[ep->attempt] & BIT(next));
	/* Pairs with the acquire in sdp_part(), which goes on to the native socket. */
	smp_store_release(&ep->attempt, next);
}

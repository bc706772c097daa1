/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Credits: how many messages each end may send, and when an end tells of new buffers.
 *
 * The functions here are pure: they look at counters and change counters.  They know
 * no locks, no clock and no message, so selftests/credit runs the same file in user
 * space.  The rules, and why they come to an end, are in credit.c.
 */
#ifndef _SDP_CREDIT_H
#define _SDP_CREDIT_H

#include <linux/types.h>

/* Credits that no stream byte may use: they are for control messages (A4.5.2). */
#define SDP_KEPT_CREDITS	2

/* Fewest receive buffers that an end may have: two of them take stream bytes. */
#define SDP_MIN_BUFS		(SDP_KEPT_CREDITS + 2)

/**
 * struct sdp_credit - the counters of one end of a connection
 * @bufs: receive buffers that there are
 * @posted: those that the transport has, ready for a message
 * @min: how many there are at first, SDP_MIN_BUFS at least
 * @max: how many there may be, @min at least
 * @rx_mseq: last MSeq received
 * @adv_bufs: Bufs as last told to the peer
 * @adv_mseq: the MSeqAck told with it
 * @fresh: a buffer has been posted since, which was new or had carried stream bytes
 * @fin_rcvd: DisConn was received
 * @tx_mseq: last MSeq sent
 * @tx_acked: last MSeqAck received
 * @told: Bufs received with it
 * @fin_sent: DisConn was sent
 *
 * The channel's lock protects the structure.
 */
struct sdp_credit {
	u32 bufs;
	u32 posted;
	u32 min;
	u32 max;
	u32 rx_mseq;
	u32 adv_bufs;
	u32 adv_mseq;
	bool fresh;
	bool fin_rcvd;

	u32 tx_mseq;
	u32 tx_acked;
	u32 told;
	bool fin_sent;
};

/* Messages that the peer has buffers for. */
static inline s32 sdp_credit_tx(const struct sdp_credit *c)
{
	return (s32)(c->told - (c->tx_mseq - c->tx_acked));
}

/* Messages that the peer may send by what it was told last. */
static inline s32 sdp_credit_rx(const struct sdp_credit *c)
{
	return (s32)(c->adv_bufs - (c->rx_mseq - c->adv_mseq));
}

/* Buffers that the peer does not know of. */
static inline s32 sdp_credit_news(const struct sdp_credit *c)
{
	return (s32)c->posted - sdp_credit_rx(c);
}

/* What may be sent. */
bool sdp_credit_may_send(const struct sdp_credit *c);
bool sdp_credit_may_answer(const struct sdp_credit *c);
bool sdp_credit_must_update(const struct sdp_credit *c);

/* What has happened. */
void sdp_credit_init(struct sdp_credit *c);
void sdp_credit_peer(struct sdp_credit *c, u32 bufs);
void sdp_credit_sent(struct sdp_credit *c);
bool sdp_credit_received(struct sdp_credit *c, u32 mseq, u32 mseq_ack, u32 bufs,
			 bool payload);
void sdp_credit_posted(struct sdp_credit *c, bool fresh);
bool sdp_credit_wants_more(const struct sdp_credit *c);

#endif /* _SDP_CREDIT_H */

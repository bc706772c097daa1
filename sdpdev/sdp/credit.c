// SPDX-License-Identifier: GPL-2.0
/*
 * The credit rules (A4.5.2).
 *
 * Each message takes a buffer of the receiver, and each tells, by Bufs and MSeqAck, of
 * all buffers that its sender has posted.  So an end knows how many messages it may
 * send: its credits.  It also knows how many the peer believes that it may send; what is
 * posted beyond that is news.  An update is an empty Data message, which is sent for its
 * Bufs alone.
 *
 *   stream bytes	leave two credits
 *   answers, DisConn	leave one, as the peer waits for them, and may itself be unable
 *			to send before they come
 *   updates		take the last one
 *   AbortConn		the same: nothing follows it
 *
 * An update is due when the peer has used half of what it knew of, and a quarter of the
 * buffers is news: of four buffers, one.  But one is enough only if stream bytes were in
 * it or it is new.  Otherwise it takes two.
 *
 * No end waits for ever.  At least two buffers are posted at any time: stream bytes leave
 * them, and the buffer of any other message is posted again at once.  So whatever an end
 * sends, the peer can send two messages after it has taken that in, less those that were
 * under way meanwhile.
 * An end that has no credit has spent its last ones on updates, each of which gave the
 * peer a credit for stream bytes or two of any kind.  Either the peer has something to
 * send, and its message brings credits; or its program reads, and an update does; or it
 * has taken in everything, so that nearly all of its buffers are news, and two are enough
 * for an update.  A peer that has sent DisConn sends no stream bytes, and hears of news
 * only when its credits are at an end: it needs them to tell what its program reads.
 *
 * No end talks for ever.  While both programs sleep no stream bytes are read, so an end
 * sends one message for two that it has received, and each round has half as many as the
 * one before.  A peer of another make may send one for one: then half as many come back.
 *
 * Both ends of a connection cannot know of the third of four buffers at the same time,
 * as each message that tells of it takes one.  So where both programs leave one of two
 * messages unread, one of them may not get the next.
 */
#include <linux/minmax.h>

#include "sdp/credit.h"

/* May stream bytes be sent? */
bool sdp_credit_may_send(const struct sdp_credit *c)
{
	return sdp_credit_tx(c) > SDP_KEPT_CREDITS;
}

/*
 * May an answer to the peer, or DisConn, be sent?  The last credit is for what brings the peer new
 * ones (CA4-82).
 */
bool sdp_credit_may_answer(const struct sdp_credit *c)
{
	return sdp_credit_tx(c) > 1;
}

/* How much news is worth a message. */
static s32 sdp_credit_enough(const struct sdp_credit *c)
{
	return max_t(s32, c->bufs / 4, c->fresh ? 1 : 2);
}

/* Does the peer have to be told of buffers by an empty message? */
bool sdp_credit_must_update(const struct sdp_credit *c)
{
	s32 known = sdp_credit_rx(c), news = sdp_credit_news(c);

	if (sdp_credit_tx(c) < 1)
		return false;
	if (c->fin_rcvd)
		return !c->fin_sent && known <= 0 && news > 0;
	return known <= (s32)c->bufs / 2 && news >= sdp_credit_enough(c);
}

/*
 * A new connection has no buffers yet, and its peer knows of c->min.  The caller has set c->min and
 * c->max.
 */
void sdp_credit_init(struct sdp_credit *c)
{
	*c = (struct sdp_credit) {
		.min = c->min,
		.max = c->max,
		.adv_bufs = c->min,
	};
}

/* @bufs: Bufs of the peer's Hello or HelloAck. */
void sdp_credit_peer(struct sdp_credit *c, u32 bufs)
{
	c->told = bufs;
}

/* A message was sent.  It has told of all buffers that are posted. */
void sdp_credit_sent(struct sdp_credit *c)
{
	c->tx_mseq++;
	c->adv_bufs = c->posted;
	c->adv_mseq = c->rx_mseq;
	c->fresh = false;
}

/*
 * A message has come.  The caller has checked that @mseq is the next one, and @mseq_ack between the
 * last one and the last MSeq sent.  Returns false if the peer had no credit for the message, or
 * says that it has fewer buffers than there are messages under way.
 */
bool sdp_credit_received(struct sdp_credit *c, u32 mseq, u32 mseq_ack, u32 bufs,
			 bool payload)
{
	if (sdp_credit_rx(c) <= (payload ? SDP_KEPT_CREDITS : 0))
		return false;
	if (bufs < c->tx_mseq - mseq_ack)
		return false;
	c->rx_mseq = mseq;
	c->tx_acked = mseq_ack;
	c->told = bufs;
	return true;
}

/* The transport has got a receive buffer.  @fresh: it is new, or has carried stream bytes. */
void sdp_credit_posted(struct sdp_credit *c, bool fresh)
{
	c->posted++;
	c->fresh |= fresh;
}

/* Stream bytes came.  Has the peer used up its buffers, and may it get more? */
bool sdp_credit_wants_more(const struct sdp_credit *c)
{
	return sdp_credit_rx(c) <= SDP_KEPT_CREDITS && c->bufs < c->max;
}

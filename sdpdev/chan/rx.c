// SPDX-License-Identifier: GPL-2.0
/*
 * Messages from the peer, each of which is hostile until it has been checked.
 *
 * A buffer whose message is the user's counts as used until the user has freed it: so many
 * messages at most wait for a program that does not read, and the sender knows.  A long message
 * has the buffer's page.  The transport gets the buffer again with that page, if it is free by
 * then, or with another one.
 */
#include <linux/mm.h>
#include <linux/tcp.h>

#include "chan/chan.h"
#include "compat.h"
#include "core/core.h"

/* What is so short is copied, and its buffer's memory serves again. */
#define SDP_CHAN_SHORT		SZ_1K

/* An acknowledgment waits so long for a message that takes it along. */
#define SDP_CHAN_LATE		max(HZ / 50, 1)

/* What has come, in host byte order. */
struct sdp_chan_in {
	u8 mid;
	u8 flags;
	bool stream;
	bool told;		/* the user is told: it is no mere update */
	u32 len;		/* behind the base header */
	struct sk_buff *skb;
};

/* What all messages have in common. */
static enum sdp_bad sdp_chan_parse(struct sdp_chan *chan, const struct sdp_xprt_buf *buf,
				   struct sdp_chan_in *in)
{
	const struct sdp_bsdh *h = buf->head;
	struct sdp_credit *credit = &chan->credit;
	u32 mseq_ack;

	if (buf->len < sizeof(*h))
		return SDP_BAD_SHORT;
	if (be32_to_cpu(h->len) != buf->len)
		return SDP_BAD_LEN;
	if (be32_to_cpu(h->mseq) != credit->rx_mseq + 1)
		return SDP_BAD_MSEQ;
	mseq_ack = be32_to_cpu(h->mseq_ack);
	if (mseq_ack - credit->tx_acked > credit->tx_mseq - credit->tx_acked)
		return SDP_BAD_MSEQ_ACK;
	in->mid = h->mid;
	in->flags = h->flags;
	in->len = buf->len - sizeof(*h);
	in->stream = chan->user->stream(in->mid, in->len);
	in->told = in->mid != SDP_MID_DATA || in->len;
	in->skb = NULL;
	credit->fin_rcvd |= in->mid == SDP_MID_DISCONN;
	/* The user looks at the flags of all other messages. */
	if (!in->told && in->flags & SDP_OOB_PRES)
		return SDP_BAD_FIELD;
	if (!sdp_credit_received(credit, credit->rx_mseq + 1, mseq_ack, be16_to_cpu(h->bufs),
				 in->stream))
		return SDP_BAD_CREDITS;
	return SDP_BAD_NOTHING;
}

/* The bytes of a short message; NULL without memory. */
static struct sk_buff *sdp_chan_copy(struct sdp_chan *chan, struct sdp_xprt_buf *buf, u32 len)
{
	struct sk_buff *skb = chan->user->spare ? chan->user->spare(chan) : NULL;

	if (skb && skb_tailroom(skb) < len) {
		kfree_skb(skb);
		skb = NULL;
	}
	skb = skb ?: alloc_skb(len, GFP_ATOMIC | __GFP_NOWARN);
	if (skb)
		skb_put_data(skb, buf->data, len);
	return skb;
}

/* The bytes behind the base header; NULL without memory. */
static struct sk_buff *sdp_chan_packet(struct sdp_chan *chan, struct sdp_xprt_buf *buf, u32 len)
{
	struct sk_buff *skb;
	struct page *page;

	if (len <= SDP_CHAN_SHORT)
		return sdp_chan_copy(chan, buf, len);
	skb = alloc_skb(0, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	page = virt_to_page(buf->data);
	get_page(page);
	skb_add_rx_frag(skb, 0, page, 0, len, page_size(page));
	return skb;
}

/* Has the buffer a page without other users, or does it get such a page? */
static bool sdp_chan_renew(struct sdp_chan *chan, struct sdp_xprt_buf *buf)
{
	struct page *page = virt_to_page(buf->data);

	if (page_ref_count(page) == 1)
		return true;
	page = chan->xprt->buf_take(chan->xc, buf);
	if (page)
		put_page(page);
	return page;
}

/* chan->lock is held. */
static void sdp_chan_repost(struct sdp_chan *chan, struct sdp_xprt_buf *buf, bool fresh)
{
	int err = -ENOTCONN;

	if (chan->state <= SDP_CHAN_OPEN)
		err = chan->xprt->post_recv(chan->xc, buf);
	if (!err) {
		sdp_credit_posted(&chan->credit, fresh);
		return;
	}
	list_add(&buf->list, &chan->spare);
	if (err != -ENOTCONN)
		sdp_chan_over(chan);
}

/* Gives the transport a new receive buffer.  The channel's lock is held. */
void sdp_chan_post_recv(struct sdp_chan *chan, struct sdp_xprt_buf *buf)
{
	chan->credit.bufs++;
	sdp_chan_repost(chan, buf, true);
}

/* The peer has acknowledged messages of the user's.  Returns whether there are more of them. */
static bool sdp_chan_acknowledged(struct sdp_chan *chan)
{
	u32 before = chan->acked;

	while (chan->acked != chan->sent &&
	       (s32)(chan->credit.tx_acked - chan->mseq[chan->acked % SDP_CHAN_WINDOW]) >= 0)
		chan->acked++;
	return chan->acked != before;
}

/* A peer that uses up what there is gets more. */
static void sdp_chan_grow(struct sdp_chan *chan)
{
	if (!sdp_credit_wants_more(&chan->credit) || chan->want > chan->credit.bufs)
		return;
	chan->want = min_t(u32, 2 * chan->credit.bufs, chan->credit.max);
	sdp_chan_kick(chan);
}

/*
 * Takes the message apart, and its buffer goes where it belongs.  The caller holds chan->lock.
 * Returns whether the message is to be dealt with.
 */
static bool sdp_chan_admit(struct sdp_chan *chan, struct sdp_xprt_buf *buf,
			   struct sdp_chan_in *in)
{
	enum sdp_bad bad;

	/* Together with its number: what this end sends has to tell of both, or of none. */
	chan->credit.posted--;
	bad = sdp_chan_parse(chan, buf, in);
	if (bad) {
		sdp_count(chan->net, SDP_CNT_BAD + bad);
		chan->deaf = true;
		goto drop;
	}
	if (in->len) {
		in->skb = sdp_chan_packet(chan, buf, in->len);
		if (!in->skb)
			goto drop;
	}
	if (in->told)
		chan->came++;
	if (!chan->user->takes)
		chan->taken = chan->came;
	if (in->flags & SDP_CHAN_F_ASK && chan->user->takes)
		chan->late = true;
	if (in->told) {
		list_add_tail(&buf->list, &chan->spare);
		sdp_chan_grow(chan);
	} else {
		sdp_chan_repost(chan, buf, false);
	}
	return true;
drop:
	list_add(&buf->list, &chan->spare);
	if (!chan->deaf || !chan->user->bad)
		sdp_chan_over(chan);
	return false;
}

static void sdp_chan_take_in(struct sdp_chan *chan, struct sdp_xprt_buf *buf)
{
	bool acked = false, room = false, bad;
	struct sdp_chan_in in;
	u32 count;

	spin_lock_bh(&chan->lock);
	if (!sdp_chan_admit(chan, buf, &in)) {
		bad = chan->deaf && chan->user->bad;
		spin_unlock_bh(&chan->lock);
		if (bad)
			chan->user->bad(chan);
		return;
	}
	if (!(chan->user->takes && in.flags & SDP_CHAN_F_HELD))
		acked = sdp_chan_acknowledged(chan);
	count = chan->acked;
	sdp_chan_settle(chan);
	room = sdp_chan_roomy(chan);
	spin_unlock_bh(&chan->lock);

	if (acked)
		chan->user->acked(chan, count, in.told);
	if (in.told)
		chan->user->message(chan, in.mid, in.flags, in.skb);
	if (room)
		chan->user->room(chan);
}

/* The transport gives back a buffer.  If @error, nothing has come in it.  Softirq. */
void sdp_chan_received(struct sdp_chan *chan, struct sdp_xprt_buf *buf, int error)
{
	bool now = false, open = false;

	spin_lock_bh(&chan->lock);
	if (error || chan->deaf || chan->state > SDP_CHAN_OPEN) {
		chan->credit.posted--;
		list_add(&buf->list, &chan->spare);
	} else if (!chan->told) {
		list_add_tail(&buf->list, &chan->early);
		/* The peer has heard of the acceptance before this end knows that it has. */
		open = chan->accepts && chan->state == SDP_CHAN_OPENING;
	} else {
		now = true;
	}
	spin_unlock_bh(&chan->lock);
	if (open)
		sdp_chan_opened(chan, NULL, 0);
	if (now)
		sdp_chan_take_in(chan, buf);
}

/* Takes in what came before the user knew that messages flow.  Context as of sdp_chan_opened(). */
void sdp_chan_early(struct sdp_chan *chan)
{
	struct sdp_xprt_buf *buf;

	do {
		spin_lock_bh(&chan->lock);
		buf = NULL;
		/* Otherwise the rest is freed with the channel. */
		if (!chan->deaf && chan->state <= SDP_CHAN_OPEN)
			buf = list_first_entry_or_null(&chan->early, struct sdp_xprt_buf, list);
		if (buf)
			list_del(&buf->list);
		else
			chan->told = true;
		spin_unlock_bh(&chan->lock);
		if (buf) {
			local_bh_disable();
			sdp_chan_take_in(chan, buf);
			local_bh_enable();
		}
	} while (buf);
}

/* The user has taken in @count more messages.  Any context but hard interrupts. */
void sdp_chan_taken(struct sdp_chan *chan, u32 count)
{
	spin_lock_bh(&chan->lock);
	chan->taken += count;
	if (chan->state == SDP_CHAN_OPEN) {
		sdp_chan_settle(chan);
		if (chan->taken_told != chan->taken && !timer_pending(&chan->timer))
			mod_timer(&chan->timer, jiffies + SDP_CHAN_LATE);
	}
	spin_unlock_bh(&chan->lock);
}

/*
 * Some at a time: the peer hears of no fewer, and the pages of the first ones are free again when
 * the last one is.  But what the peer keeps for messages without bytes is there.
 */
static void sdp_chan_repost_due(struct sdp_chan *chan)
{
	struct sdp_xprt_buf *buf;

	if (chan->due < chan->credit.bufs / 4 && chan->credit.posted > SDP_KEPT_CREDITS)
		return;
	while (chan->due && chan->state == SDP_CHAN_OPEN) {
		buf = list_first_entry_or_null(&chan->spare, struct sdp_xprt_buf, list);
		if (WARN_ON_ONCE(!buf))
			break;
		if (!sdp_chan_renew(chan, buf)) {
			mod_timer(&chan->timer, jiffies + SDP_CHAN_LATE);
			break;
		}
		list_del(&buf->list);
		chan->due--;
		sdp_chan_repost(chan, buf, true);
	}
}

/*
 * The user has freed @count more messages: there is room for as many.  Any context but hard
 * interrupts.
 */
void sdp_chan_freed(struct sdp_chan *chan, u32 count)
{
	spin_lock_bh(&chan->lock);
	chan->due += count;
	sdp_chan_repost_due(chan);
	sdp_chan_settle(chan);
	spin_unlock_bh(&chan->lock);
}

/* Does the peer wait for the user to free messages?  Any context but hard interrupts. */
bool sdp_chan_full(struct sdp_chan *chan)
{
	bool full;

	spin_lock_bh(&chan->lock);
	full = sdp_credit_rx(&chan->credit) <= SDP_KEPT_CREDITS &&
	       !sdp_credit_must_update(&chan->credit) && chan->want <= chan->credit.bufs;
	spin_unlock_bh(&chan->lock);
	return full;
}

/* An acknowledgment, want of memory, or what drains has waited long enough. */
void sdp_chan_late(struct timer_list *timer)
{
	struct sdp_chan *chan = timer_container_of(chan, timer, timer);

	spin_lock_bh(&chan->lock);
	if (chan->state == SDP_CHAN_OPEN) {
		sdp_chan_repost_due(chan);
		chan->late |= chan->taken_told != chan->taken;
		sdp_chan_settle(chan);
	}
	/* The timer may have been on its way when sdp_chan_end() set it anew. */
	if (!timer_pending(&chan->timer))
		sdp_chan_drained(chan);
	spin_unlock_bh(&chan->lock);
}

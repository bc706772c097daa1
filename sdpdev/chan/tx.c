// SPDX-License-Identifier: GPL-2.0
/*
 * Messages to the peer.  Each tells it of the receive buffers that there are, and of what has
 * come; an update is an empty Data message that tells nothing else.
 */
#include <linux/bvec.h>
#include <linux/mm.h>

#include "chan/chan.h"

static bool sdp_chan_may(const struct sdp_chan *chan, enum sdp_chan_class class)
{
	switch (class) {
	case SDP_CHAN_STREAM:
		return sdp_credit_may_send(&chan->credit);
	case SDP_CHAN_ANSWER:
		return sdp_credit_may_answer(&chan->credit);
	default:
		return sdp_credit_tx(&chan->credit) > 0;
	}
}

/* Has something come that the user has not taken in? */
static bool sdp_chan_held(const struct sdp_chan *chan)
{
	return chan->user->takes && chan->came != chan->taken;
}

static void sdp_chan_header(const struct sdp_chan *chan, struct sdp_bsdh *h,
			    const struct sdp_chan_out *out, u32 len)
{
	h->mid = out->mid;
	h->flags = out->flags | (sdp_chan_held(chan) ? SDP_CHAN_F_HELD : 0);
	h->bufs = cpu_to_be16(chan->credit.posted);
	h->len = cpu_to_be32(len);
	h->mseq = cpu_to_be32(chan->credit.tx_mseq + 1);
	h->mseq_ack = cpu_to_be32(chan->credit.rx_mseq);
}

/* Names the memory of a packet.  Returns how many pieces it has, or more than @most. */
static unsigned int sdp_chan_pieces(const struct sk_buff *skb, struct bio_vec *pieces,
				    unsigned int most)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int i, n = 0, head = skb_headlen(skb);

	if (info->nr_frags + !!head > most)
		return most + 1;
	if (head)
		pieces[n++] = (struct bio_vec) {
			.bv_page = virt_to_page(skb->data),
			.bv_offset = offset_in_page(skb->data),
			.bv_len = head,
		};
	for (i = 0; i < info->nr_frags; i++)
		pieces[n++] = (struct bio_vec) {
			.bv_page = skb_frag_page(&info->frags[i]),
			.bv_offset = skb_frag_off(&info->frags[i]),
			.bv_len = skb_frag_size(&info->frags[i]),
		};
	return n;
}

/* Gives the transport a message whose headers are in @buf. */
static int sdp_chan_post(struct sdp_chan *chan, struct sdp_xprt_buf *buf, struct sk_buff *skb)
{
	unsigned int most = min_t(unsigned int, chan->xc->pieces, SDP_CHAN_PIECES), n;
	struct bio_vec pieces[SDP_CHAN_PIECES];

	if (!skb)
		return chan->xprt->post_send(chan->xc, buf);
	n = sdp_chan_pieces(skb, pieces, most);
	if (n > most) {
		if (skb_linearize(skb))
			return -ENOBUFS;
		n = sdp_chan_pieces(skb, pieces, most);
		if (n > most)
			return -EMSGSIZE;
	}
	return chan->xprt->post_gather(chan->xc, buf, pieces, n);
}

/*
 * The headers, and what follows them if it is short.  If it is not, @rest is a clone of it.
 * Returns zero or -ENOMEM.
 */
static int sdp_chan_fill(struct sdp_chan *chan, struct sdp_xprt_buf *buf,
			 const struct sdp_chan_out *out, struct sk_buff **rest)
{
	u32 len = sizeof(struct sdp_bsdh) + out->ext_len;
	u32 bytes = out->skb ? out->skb->len : 0;

	sdp_chan_header(chan, buf->data, out, len + bytes);
	if (out->ext_len)
		memcpy(buf->data + sizeof(struct sdp_bsdh), out->ext, out->ext_len);
	*rest = NULL;
	if (bytes > SDP_CHAN_COPY) {
		*rest = skb_clone(out->skb, GFP_ATOMIC | __GFP_NOWARN);
		if (!*rest)
			return -ENOMEM;
	} else if (bytes && !skb_copy_bits(out->skb, 0, buf->data + len, bytes)) {
		len += bytes;
	}
	buf->len = len;
	buf->off = bytes;
	buf->priv = *rest;
	return 0;
}

/* Returns zero, -ENOMEM or another error: the message was not sent. */
static int sdp_chan_out(struct sdp_chan *chan, const struct sdp_chan_out *out)
{
	struct sdp_xprt_buf *buf = list_first_entry(&chan->free, struct sdp_xprt_buf, list);
	struct sk_buff *rest;
	int err;

	err = sdp_chan_fill(chan, buf, out, &rest);
	if (err)
		return err;
	list_del(&buf->list);
	err = sdp_chan_post(chan, buf, rest);
	if (err) {
		/* The packet's pieces could not be mapped, or there were too many. */
		if (rest && err == -ENOBUFS)
			err = -ENOMEM;
		kfree_skb(rest);
		list_add(&buf->list, &chan->free);
		return err;
	}
	sdp_credit_sent(&chan->credit);
	chan->credit.fin_sent |= out->mid == SDP_MID_DISCONN;
	chan->sending++;
	chan->unsent += buf->off;
	if (sdp_chan_held(chan))
		return 0;
	chan->taken_told = chan->taken;
	chan->late = false;
	return 0;
}

/*
 * Any context but hard interrupts, and not within the user's stream() and spare(), which have the
 * lock.  Returns -EAGAIN if there is no room, and the user's room() follows; -ENOMEM; or another
 * error: the channel is at its end, and the user's over() follows.
 */
int sdp_chan_send(struct sdp_chan *chan, const struct sdp_chan_out *out)
{
	int err;

	spin_lock_bh(&chan->lock);
	if (chan->state != SDP_CHAN_OPEN) {
		err = -ENOTCONN;
	} else if (list_empty(&chan->free) || !sdp_chan_may(chan, out->class) ||
		   chan->sent - chan->acked >= SDP_CHAN_WINDOW) {
		chan->wants_room = true;
		/* Of several that wait, the class that needs the fewest credits. */
		chan->wants_class = max_t(u8, chan->wants_class, out->class);
		err = -EAGAIN;
	} else {
		err = sdp_chan_out(chan, out);
		if (!err) {
			chan->mseq[chan->sent % SDP_CHAN_WINDOW] = chan->credit.tx_mseq;
			chan->sent++;
		} else if (err != -ENOTCONN && err != -ENOMEM) {
			sdp_chan_over(chan);
		}
	}
	spin_unlock_bh(&chan->lock);
	return err;
}

/*
 * Are messages on their way?  If so, the user's room() follows when none are.  Context as of
 * sdp_chan_send().
 */
bool sdp_chan_busy(struct sdp_chan *chan)
{
	bool busy;

	spin_lock_bh(&chan->lock);
	busy = chan->sending && chan->state == SDP_CHAN_OPEN;
	chan->wants_idle = busy;
	spin_unlock_bh(&chan->lock);
	return busy;
}

/* Bytes of packets that are on their way.  Context as of sdp_chan_send(). */
u32 sdp_chan_unsent(struct sdp_chan *chan)
{
	u32 unsent;

	spin_lock_bh(&chan->lock);
	unsent = chan->unsent;
	spin_unlock_bh(&chan->lock);
	return unsent;
}

/* Is an update due: because buffers are news, or because the peer waits to hear? */
static bool sdp_chan_due(const struct sdp_chan *chan)
{
	if (sdp_credit_news(&chan->credit) > 0 &&
	    sdp_credit_must_update(&chan->credit))
		return true;
	/* The last credit is for news. */
	return chan->late && chan->taken_told != chan->taken && !sdp_chan_held(chan) &&
	       sdp_credit_may_answer(&chan->credit);
}

/* Tells the peer what it should hear now.  The channel's lock is held. */
void sdp_chan_settle(struct sdp_chan *chan)
{
	const struct sdp_chan_out update = { .mid = SDP_MID_DATA };
	int err;

	if (chan->state != SDP_CHAN_OPEN || list_empty(&chan->free) || !sdp_chan_due(chan))
		return;
	err = sdp_chan_out(chan, &update);
	if (err && err != -ENOTCONN)
		sdp_chan_over(chan);
}

/* Tells the peer what was taken in, before the end.  The channel's lock is held. */
void sdp_chan_last(struct sdp_chan *chan)
{
	chan->late = true;
	sdp_chan_settle(chan);
}

/*
 * May a user that waits go on?  Returns true once, and the caller then calls room().  The channel's
 * lock is held.
 */
bool sdp_chan_roomy(struct sdp_chan *chan)
{
	if (!chan->wants_room || chan->state != SDP_CHAN_OPEN || list_empty(&chan->free) ||
	    !sdp_chan_may(chan, chan->wants_class) ||
	    chan->sent - chan->acked >= SDP_CHAN_WINDOW)
		return false;
	chan->wants_room = false;
	chan->wants_class = SDP_CHAN_STREAM;
	return true;
}

/* The transport gives back a buffer.  Softirq. */
void sdp_chan_sent(struct sdp_chan *chan, struct sdp_xprt_buf *buf)
{
	struct sk_buff *skb = buf->priv;
	bool room;

	buf->priv = NULL;
	spin_lock_bh(&chan->lock);
	list_add(&buf->list, &chan->free);
	chan->unsent -= buf->off;
	if (!--chan->sending)
		sdp_chan_drained(chan);
	sdp_chan_settle(chan);
	room = sdp_chan_roomy(chan);
	if (chan->wants_idle && !chan->sending) {
		chan->wants_idle = false;
		room = true;
	}
	spin_unlock_bh(&chan->lock);
	consume_skb(skb);
	if (room)
		chan->user->room(chan);
}

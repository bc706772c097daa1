// SPDX-License-Identifier: GPL-2.0
/*
 * Write Zcopy, the source: a program that waits in send(2) with many bytes writes them into memory
 * that the peer advertises.  Any message with stream bytes makes such memory void instead.
 * sdp/write.h has the rules.
 *
 * The write and RdmaWrCompl are posted together, so nothing is left of the peer's memory here when
 * the socket's lock is free.
 */
#include "core/core.h"
#include "direct/direct.h"

/* May the next bytes of the stream be written?  The socket's lock is held. */
static bool sdp_direct_may_fill(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);

	return sdp_direct_may_send(sk) && sdp_target_may_write(&direct->target) &&
	       skb_queue_empty(&sk->sk_write_queue) && !sdp_src_is_out(&direct->src) &&
	       direct->link->chan.caps & SDP_XPRT_CAP_WRITE;
}

/* The channel, referenced, if they may, and *@room bytes at most; or NULL. */
static struct sdp_chan *sdp_direct_fillable(struct sock *sk, u32 *room)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_chan *chan = NULL;

	spin_lock_bh(&direct->lock);
	if (sdp_direct_may_fill(sk)) {
		chan = &direct->link->chan;
		refcount_inc(&chan->refs);
		*room = direct->target.open[0].len;
	}
	spin_unlock_bh(&direct->lock);
	return chan;
}

/* Writes; returns how much. */
static u32 sdp_direct_fill_begin(struct sock *sk, struct sdp_chan *chan,
				 struct sdp_direct_pages *p)
{
	struct sdp_direct *direct = sdp_direct(sk);
	const struct sdp_advert *advert = &direct->target.open[0];
	struct sdp_xprt_remote to;
	u32 n = 0;

	spin_lock_bh(&direct->lock);
	if (sdp_direct_may_fill(sk) && &direct->link->chan == chan) {
		to.addr = advert->addr;
		to.key = advert->key;
		to.len = min(p->len, advert->len);
		if (!sdp_chan_mem_write(chan, &p->cm, &to)) {
			n = sdp_target_write(&direct->target, p->len);
			direct->tx_bytes += n;
			direct->tx_zcopy += n;
			direct->tx_written += n;
			sdp_direct_hit(direct);
			sdp_direct_push(sk);
		}
	}
	spin_unlock_bh(&direct->lock);
	return n;
}

/*
 * Writes the next bytes of a message, @most of them at most, where the peer waits for them.
 * Returns bytes that the peer has; zero: they are to go another way.
 */
size_t sdp_direct_fill(struct sock *sk, struct msghdr *msg, u32 most)
{
	struct sdp_direct_pages p = {};
	struct sdp_chan *chan;
	u32 n = 0, room;

	chan = sdp_direct_fillable(sk, &room);
	if (!chan)
		return 0;
	/* There may be less room than bytes, or by then another advertisement. */
	most = min(most, room);
	if (!sdp_direct_pin(&p, chan, &msg->msg_iter, most, SDP_XPRT_WRITE_SOURCE))
		n = sdp_direct_fill_begin(sk, chan, &p);
	/* With an error the connection is at its end, which the caller finds. */
	if (n && sdp_chan_mem_wait(chan, &p.cm))
		n = 0;
	if (n)
		sdp_count(sock_net(sk), SDP_CNT_ZCOPY_WRITTEN);
	sdp_direct_unpin(&p);
	sdp_chan_put(chan);
	iov_iter_advance(&msg->msg_iter, n);
	return n;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Read Zcopy, the sink: a program that waits in recv(2) with a large buffer gets what the peer
 * advertises by RDMA Read, without a copy.  For any other the peer is told to send its bytes.
 * sdp/zcopy.h has the states.
 */
#include "core/core.h"
#include "direct/direct.h"
#include "offload/net.h"

/* To register less costs more than a message. */
#define SDP_DIRECT_FETCH	SZ_16K

/* What the peer offers comes by messages.  Returns whether there was something. */
bool sdp_direct_decline(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	bool offered;

	spin_lock_bh(&direct->lock);
	offered = direct->sink.state == SDP_SINK_OFFERED;
	if (offered) {
		sdp_sink_refuse(&direct->sink);
		sdp_count(sock_net(sk), SDP_CNT_ZCOPY_REFUSED);
		sdp_direct_push(sk);
	}
	spin_unlock_bh(&direct->lock);
	return offered;
}

/* The same, where this end cannot read, and the peer does not write. */
void sdp_direct_decline_unread(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	bool unread;

	spin_lock_bh(&direct->lock);
	unread = direct->link && !(direct->link->chan.caps & SDP_XPRT_CAP_READ);
	spin_unlock_bh(&direct->lock);
	if (unread)
		sdp_direct_decline(sk);
}

/* Begins to read; returns how much. */
static u32 sdp_direct_fetch_begin(struct sock *sk, struct sdp_chan *chan,
				  struct sdp_direct_pages *p)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_xprt_remote from;
	u32 n = 0;

	spin_lock_bh(&direct->lock);
	if (direct->link && &direct->link->chan == chan)
		n = sdp_sink_read(&direct->sink, p->len);
	if (n) {
		from.addr = direct->sink.now.addr + direct->sink.got;
		from.key = direct->sink.now.key;
		from.len = n;
		if (sdp_chan_mem_read(chan, &p->cm, &from)) {
			sdp_sink_read_done(&direct->sink, 0);
			sdp_sink_refuse(&direct->sink);
			sdp_direct_push(sk);
			n = 0;
		}
	}
	spin_unlock_bh(&direct->lock);
	return n;
}

/* It has come, or the connection is at its end.  Returns bytes that have come. */
static u32 sdp_direct_fetch_end(struct sock *sk, struct sdp_chan *chan, u32 n, int err)
{
	struct sdp_direct *direct = sdp_direct(sk);
	bool left = false;

	if (err)
		n = 0;
	spin_lock_bh(&direct->lock);
	if (sk->sk_state == TCP_ESTABLISHED && &direct->link->chan == chan) {
		sdp_sink_read_done(&direct->sink, n);
		/* Not to be tried until the connection has ended. */
		if (err)
			sdp_sink_refuse(&direct->sink);
		left = direct->sink.state == SDP_SINK_OFFERED;
		sdp_direct_push(sk);
	}
	direct->rx_bytes += n;
	direct->rx_zcopy += n;
	spin_unlock_bh(&direct->lock);
	/* A reader that has looked meanwhile has seen nothing. */
	if (left)
		sk->sk_data_ready(sk);
	if (n)
		sdp_count(sock_net(sk), SDP_CNT_ZCOPY_READ);
	return n;
}

/* The channel, referenced, if the peer's next bytes are those that it offers; or NULL. */
static struct sdp_chan *sdp_direct_offering(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_chan *chan = NULL;

	spin_lock_bh(&direct->lock);
	if (direct->link && direct->sink.state == SDP_SINK_OFFERED &&
	    skb_queue_empty(&sk->sk_receive_queue)) {
		chan = &direct->link->chan;
		refcount_inc(&chan->refs);
	}
	spin_unlock_bh(&direct->lock);
	return chan;
}

/*
 * Has the next bytes in @msg, if the peer offers them; the mutex to receive is held.  Without @may
 * they are not read: the peer is to send them.  @needs: the program waits for them.  Returns bytes
 * that have come.
 */
size_t sdp_direct_fetch(struct sock *sk, struct msghdr *msg, size_t len, bool may, bool needs)
{
	struct sdp_chan *chan = sdp_direct_offering(sk);
	struct sdp_direct_pages p = {};
	u32 n = 0, most;
	bool reads;

	if (!chan)
		return 0;
	reads = chan->caps & SDP_XPRT_CAP_READ;
	most = may && reads ?
	       min_t(size_t, sdp_direct_worth(&msg->msg_iter, SDP_DIRECT_FETCH), len) : 0;
	if (most && !sdp_direct_pin(&p, chan, &msg->msg_iter, most, SDP_XPRT_READ_SINK)) {
		n = sdp_direct_fetch_begin(sk, chan, &p);
		if (n)
			n = sdp_direct_fetch_end(sk, chan, n, sdp_chan_mem_wait(chan, &p.cm));
	} else if (needs && (reads || !may || !sdp_direct_is_roomy(sk, msg, len))) {
		sdp_direct_decline(sk);
	}
	if (most)
		sdp_direct_unpin(&p);
	sdp_chan_put(chan);
	iov_iter_advance(&msg->msg_iter, n);
	return n;
}

/* Can what the peer offers be read at all, or come by room.c?  Established, lock held. */
bool sdp_direct_serves(const struct sdp_direct *direct)
{
	return READ_ONCE(sdp_net(sock_net(&direct->sk))->zcopy) &&
	       direct->link->chan.caps & SDP_XPRT_CAP_MEM;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Messages from the peer.
 *
 * What a source advertises is read by sink.c, or the source is told to send its bytes (SendSm).
 * What a sink advertises is written into by target.c.
 */
#include "core/core.h"
#include "direct/direct.h"
#include "sdp/wire.h"

/* Bytes of the longest headers, of which no more than so many are looked at. */
#define SDP_DIRECT_HEADERS	64

/* Takes a message apart, whose base header but for these fields the channel has checked. */
static enum sdp_bad sdp_direct_parse(u8 mid, u8 flags, u32 len, struct sk_buff *skb,
				     struct sdp_pdu *pdu)
{
	struct {
		struct sdp_bsdh bsdh;
		u8 ext[SDP_DIRECT_HEADERS - sizeof(struct sdp_bsdh)];
	} headers = {};

	headers.bsdh.mid = mid;
	headers.bsdh.flags = flags;
	headers.bsdh.len = cpu_to_be32(sizeof(headers.bsdh) + len);
	if (skb && skb_copy_bits(skb, 0, headers.ext, min_t(u32, len, sizeof(headers.ext))))
		return SDP_BAD_SHORT;
	return sdp_parse(&headers, sizeof(headers.bsdh) + len, pdu);
}

/* struct sdp_chan_user.stream */
bool sdp_direct_stream(u8 mid, u32 len)
{
	struct sdp_pdu pdu = {};

	/* Without the headers, which do not matter for that. */
	sdp_direct_parse(mid, 0, len, NULL, &pdu);
	return pdu.payload;
}

/* The peer broke the rules: it hears of it, and the program. */
static void sdp_direct_broken(struct sock *sk, enum sdp_bad bad)
{
	sdp_count(sock_net(sk), SDP_CNT_BAD + bad);
	sdp_direct_abort(sk, ECONNRESET);
}

/* struct sdp_chan_user.bad */
void sdp_direct_bad(struct sdp_chan *chan)
{
	struct sdp_direct_link *link = container_of(chan, struct sdp_direct_link, chan);
	struct sdp_direct *direct = sdp_direct(link->sk);

	spin_lock_bh(&direct->lock);
	if (direct->link == link)
		sdp_direct_abort(link->sk, ECONNRESET);
	spin_unlock_bh(&direct->lock);
}

/* Stream bytes.  Returns whether the packet is in the queue. */
static bool sdp_direct_bytes(struct sock *sk, struct sk_buff *skb, const struct sdp_pdu *pdu)
{
	struct sdp_direct *direct = sdp_direct(sk);

	if (!pdu->payload)
		return false;
	/* Those of SrcAvail are the first of what is open with it. */
	if (direct->fin_came ||
	    (pdu->mid != SDP_MID_SRC_AVAIL && sdp_sink_is_open(&direct->sink))) {
		sdp_direct_broken(sk, SDP_BAD_TURN);
		return false;
	}
	sdp_sink_stream(&direct->sink);
	/* The program will not read them, as it has said; TCP answers late data by a reset, too. */
	if (sk->sk_shutdown == SHUTDOWN_MASK) {
		sdp_direct_abort(sk, ECONNRESET);
		return false;
	}
	*sdp_direct_off(skb) = pdu->off - sizeof(struct sdp_bsdh);
	__skb_queue_tail(&sk->sk_receive_queue, skb);
	direct->readable += pdu->payload;
	direct->rx_bytes += pdu->payload;
	return true;
}

/* As in A4.6.1; each half begins in Combined mode. */
static bool sdp_direct_mode(struct sdp_direct *direct, const struct sdp_pdu *pdu)
{
	if (pdu->mode_of_receiver) {
		if (direct->tx_mode != SDP_MODE_BUFFERED || pdu->mode != SDP_MODE_COMBINED)
			return false;
		direct->tx_mode = pdu->mode;
		return true;
	}
	/* From the source: Combined is next to either of the other two. */
	if (direct->rx_mode == SDP_MODE_BUFFERED || pdu->mode == direct->rx_mode ||
	    (direct->rx_mode != SDP_MODE_COMBINED && pdu->mode != SDP_MODE_COMBINED))
		return false;
	direct->rx_mode = pdu->mode;
	return true;
}

/* Stream bytes come by a message: nothing is written into what was advertised. */
static void sdp_direct_discard(struct sock *sk)
{
	if (sdp_room_stream(&sdp_direct(sk)->room))
		sdp_direct_wake_room(sk);
}

/* A source lets this end read. */
static bool sdp_direct_src_avail(struct sock *sk, const struct sdp_pdu *pdu)
{
	const struct sdp_advert advert = { .addr = pdu->addr, .key = pdu->key, .len = pdu->avail };
	struct sdp_direct *direct = sdp_direct(sk);
	bool pipelined = direct->rx_mode == SDP_MODE_PIPELINED;

	if (direct->rx_mode == SDP_MODE_BUFFERED || direct->fin_came ||
	    pipelined != !pdu->payload)
		return false;
	if (pdu->payload)
		sdp_direct_discard(sk);
	if (sdp_room_is_out(&direct->room)) {
		sdp_sink_crossed(&direct->sink);
		return true;
	}
	if (!sdp_sink_offered(&direct->sink, &advert, pdu->payload, pipelined))
		return false;
	if (!sdp_direct_serves(direct))
		sdp_sink_refuse(&direct->sink);
	else if (!pdu->payload)
		sk->sk_data_ready(sk);
	return true;
}

/* A sink lets this end write. */
static bool sdp_direct_sink_avail(struct sock *sk, const struct sdp_pdu *pdu)
{
	const struct sdp_advert advert = { .addr = pdu->addr, .key = pdu->key, .len = pdu->avail };
	struct sdp_direct *direct = sdp_direct(sk);
	bool stale;

	if (direct->tx_mode == SDP_MODE_BUFFERED ||
	    !sdp_target_offered(&direct->target, &advert, pdu->nondiscards, &stale))
		return false;
	if (pdu->payload)
		sdp_direct_discard(sk);
	if (stale)
		sdp_count(sock_net(sk), SDP_CNT_ZCOPY_STALE);
	else
		sdp_direct_crossed(sk);
	return true;
}

/* The peer has written into what this end advertised, or agrees that it will not. */
static bool sdp_direct_room_answer(struct sock *sk, const struct sdp_pdu *pdu)
{
	struct sdp_room *room = &sdp_direct(sk)->room;
	bool good = pdu->mid == SDP_MID_RDMA_WR_COMPL ? sdp_room_written(room, pdu->avail) :
							 sdp_room_ack(room);

	if (good)
		sdp_direct_wake_room(sk);
	return good;
}

/* No stream byte comes any more.  False if that breaks the rules. */
static bool sdp_direct_fin(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);

	if (direct->fin_came || sdp_sink_is_open(&direct->sink))
		return false;
	direct->fin_came = true;
	sk->sk_shutdown |= RCV_SHUTDOWN;
	sdp_room_end(&direct->room);
	sdp_direct_wake_room(sk);
	return true;
}

/* The peer's answer to what this end lets it read. */
static bool sdp_direct_answer_came(struct sock *sk, const struct sdp_pdu *pdu)
{
	struct sdp_src *src = &sdp_direct(sk)->src;
	bool good;

	good = pdu->mid == SDP_MID_SEND_SM ? sdp_src_send_sm(src) : sdp_src_read(src, pdu->avail);
	if (good && src->state == SDP_SRC_ANSWERED) {
		sk->sk_state_change(sk);
		sdp_direct_wake_source(sk);
	}
	return good;
}

static bool sdp_direct_advert(struct sock *sk, const struct sdp_pdu *pdu)
{
	struct sdp_direct *direct = sdp_direct(sk);

	switch (pdu->mid) {
	case SDP_MID_SRC_AVAIL:
		return sdp_direct_src_avail(sk, pdu);
	case SDP_MID_SRC_AVAIL_CANCEL:
		return sdp_sink_cancel(&direct->sink);
	case SDP_MID_SINK_AVAIL:
		return sdp_direct_sink_avail(sk, pdu);
	default:
		sdp_target_cancel(&direct->target);
		return true;
	}
}

/* What a message means.  Returns whether the packet is in the queue. */
static bool sdp_direct_do(struct sock *sk, struct sk_buff *skb, const struct sdp_pdu *pdu)
{
	struct sdp_direct *direct = sdp_direct(sk);

	switch (pdu->mid) {
	case SDP_MID_DATA:
		if (pdu->payload)
			sdp_direct_discard(sk);
		return sdp_direct_bytes(sk, skb, pdu);
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SRC_AVAIL_CANCEL:
	case SDP_MID_SINK_AVAIL_CANCEL:
		if (!sdp_direct_advert(sk, pdu))
			break;
		return sdp_direct_bytes(sk, skb, pdu);
	case SDP_MID_SEND_SM:
	case SDP_MID_RDMA_RD_COMPL:
		if (!sdp_direct_answer_came(sk, pdu))
			break;
		return false;
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_SINK_CANCEL_ACK:
		if (!sdp_direct_room_answer(sk, pdu))
			break;
		return false;
	case SDP_MID_DISCONN:
		if (!sdp_direct_fin(sk))
			break;
		return false;
	case SDP_MID_ABORT_CONN:
		/* The end of the channel says so. */
		sdp_chan_end(&direct->link->chan);
		return false;
	case SDP_MID_MODE_CHANGE:
		if (!sdp_direct_mode(direct, pdu))
			break;
		return false;
	case SDP_MID_CH_RCV_BUF:
		direct->buf_acks++;
		return false;
	default:
		/* Answers to what is never asked here, and what cannot be refused otherwise. */
		break;
	}
	sdp_direct_broken(sk, SDP_BAD_TURN);
	return false;
}

/* struct sdp_chan_user.message */
void sdp_direct_message(struct sdp_chan *chan, u8 mid, u8 flags, struct sk_buff *skb)
{
	struct sdp_direct_link *link = container_of(chan, struct sdp_direct_link, chan);
	struct sdp_direct *direct = sdp_direct(link->sk);
	struct sock *sk = link->sk;
	struct sdp_pdu pdu;
	enum sdp_bad bad;
	bool kept = false;

	spin_lock_bh(&direct->lock);
	if (direct->link != link || sk->sk_state != TCP_ESTABLISHED)
		goto out;
	bad = sdp_direct_parse(mid, flags, skb ? skb->len : 0, skb, &pdu);
	if (bad)
		sdp_direct_broken(sk, bad);
	else
		kept = sdp_direct_do(sk, skb, &pdu);
	if (!kept)
		sdp_chan_freed(chan, 1);
	sdp_direct_push(sk);
out:
	spin_unlock_bh(&direct->lock);
	if (kept) {
		sk->sk_data_ready(sk);
		return;
	}
	kfree_skb(skb);
	if (!direct->fin_came)
		return;
	sk->sk_state_change(sk);
	sk_wake_async(sk, SOCK_WAKE_WAITD,
		      READ_ONCE(sk->sk_shutdown) == SHUTDOWN_MASK ? POLL_HUP : POLL_IN);
}

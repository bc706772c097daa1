// SPDX-License-Identifier: GPL-2.0
/*
 * The carrier: what a joined connection's end receives, and its life.
 *
 *	the end that asks			the end that was asked
 *	ops->ask()	--- request, proof 1 -->	sdp_carrier_answer()
 *	open()		<-- acceptance, proof 2 ---
 *	  Joined, proof 3 --------------------->	message(): sdp_carrier_joined()
 *	  sdp_carrier_joined()
 *
 * The end that was asked sends nothing, and uses nothing, before the third proof.
 */
#include <linux/slab.h>

#include "chan/chan.h"
#include "compat.h"
#include "core/core.h"
#include "joined/joined.h"

/* Milliseconds that joining may take, and that the third proof may. */
#define SDP_JOINED_ASK_MS	10000
#define SDP_JOINED_PROVE_MS	2000

/* Milliseconds after which an end that was refused may ask again. */
#define SDP_JOINED_SOON_MS	100
#define SDP_JOINED_RETRY_MS	10000
#define SDP_JOINED_MOST_MS	600000

static __be64 sdp_joined_third(const struct sdp_joined *j)
{
	return sdp_carrier_proof(j->c, 3, &j->join, j->answer.nonce);
}

/* --- what comes ---------------------------------------------------------------- */

static bool sdp_joined_read_switch(struct sk_buff *skb, struct sdp_lane_msg *msg)
{
	struct sdp_joined_switch sw;

	if (skb->len != sizeof(sw) || skb_copy_bits(skb, 0, &sw, sizeof(sw)))
		return false;
	msg->type = SDP_MSG_SWITCH;
	msg->n = be32_to_cpu(sw.n);
	msg->pos = be64_to_cpu(sw.pos);
	msg->token.key[0] = be64_to_cpu(sw.token[0]);
	msg->token.key[1] = be64_to_cpu(sw.token[1]);
	skb_trim(skb, 0);
	return true;
}

static bool sdp_joined_read(u8 mid, u8 flags, struct sk_buff *skb)
{
	struct sdp_lane_msg *msg = sdp_lane_msg(skb);

	memset(msg, 0, sizeof(*msg));
	msg->sure = flags & SDP_CHAN_F_SURE;
	switch (mid) {
	case SDP_MID_SWITCH:
		return sdp_joined_read_switch(skb, msg);
	case SDP_MID_DATA:
		msg->type = SDP_MSG_DATA;
		return true;
	case SDP_MID_LEAVE:
	case SDP_MID_NOTE:
	case SDP_MID_END:
		msg->type = mid == SDP_MID_LEAVE ? SDP_MSG_LEAVE :
			    mid == SDP_MID_END ? SDP_MSG_END : SDP_MSG_NOTE;
		if (skb->len != sizeof(__be32))
			return false;
		skb_trim(skb, 0);
		return true;
	default:
		return false;
	}
}

/* Is this the third proof, which has to be the first message of the end that has asked? */
static bool sdp_joined_proved(struct sdp_joined *j, u8 mid, const struct sk_buff *skb)
{
	__be64 proof;

	if (mid != SDP_MID_JOINED || skb->len != sizeof(proof) ||
	    skb_copy_bits(skb, 0, &proof, sizeof(proof)) || proof != sdp_joined_third(j))
		return false;
	j->ready = true;
	sdp_chan_taken(&j->chan, 1);
	sdp_chan_freed(&j->chan, 1);
	sdp_carrier_joined(j->c, NULL);
	return true;
}

static void sdp_joined_message(struct sdp_chan *chan, u8 mid, u8 flags, struct sk_buff *skb)
{
	struct sdp_joined *j = sdp_joined_of(chan);

	if (!skb) {
		sdp_count(chan->net, SDP_CNT_LANE_BAD);
		sdp_chan_end(chan);
	} else if (!j->ready) {
		if (!sdp_joined_proved(j, mid, skb)) {
			sdp_count(chan->net, SDP_CNT_LANE_BAD);
			sdp_chan_end(chan);
		}
		kfree_skb(skb);
	} else if (sdp_joined_read(mid, flags, skb)) {
		sdp_carrier_arrived(j->c, skb);
	} else {
		sdp_count(chan->net, SDP_CNT_LANE_BAD);
		kfree_skb(skb);
		sdp_chan_end(chan);
	}
}

/* Before the third proof the channel may have no carrier. */
static struct sk_buff *sdp_joined_spare(struct sdp_chan *chan)
{
	struct sdp_joined *j = sdp_joined_of(chan);

	return j->ready ? sdp_carrier_spare(j->c) : NULL;
}

static bool sdp_joined_stream(u8 mid, u32 len)
{
	return mid == SDP_MID_DATA && len;
}

static void sdp_joined_acked(struct sdp_chan *chan, u32 count, bool more)
{
	struct sdp_joined *j = sdp_joined_of(chan);

	/* The third proof, this end's first message if it asked, is none of the offload layer's. */
	sdp_carrier_acked(j->c, chan->accepts ? count : count - 1, more);
}

static void sdp_joined_room(struct sdp_chan *chan)
{
	sdp_carrier_room(sdp_joined_of(chan)->c);
}

/* --- joining ------------------------------------------------------------------- */

static bool sdp_joined_prove(struct sdp_joined *j)
{
	__be64 proof = sdp_joined_third(j);
	const struct sdp_chan_out out = {
		.mid = SDP_MID_JOINED,
		.ext = &proof,
		.ext_len = sizeof(proof),
		.class = SDP_CHAN_ANSWER,
	};

	return !sdp_chan_send(&j->chan, &out);
}

static void sdp_joined_open(struct sdp_chan *chan, const void *pdata, unsigned int len)
{
	struct sdp_joined *j = sdp_joined_of(chan);

	if (chan->accepts)
		return;
	if (!sdp_joined_parse_rep(pdata, len, &j->join, &j->answer, &j->peer) ||
	    j->answer.proof != sdp_carrier_proof(j->c, 2, &j->answer, j->join.nonce)) {
		sdp_count(chan->net, SDP_CNT_LANE_BAD);
		sdp_chan_end(chan);
		return;
	}
	sdp_chan_peer(chan, j->peer.bufs, j->peer.size);
	j->c->most = chan->most;
	j->c->tail = chan->tail;
	if (!sdp_joined_prove(j)) {
		sdp_chan_end(chan);
		return;
	}
	j->ready = true;
	sdp_carrier_joined(j->c, &j->answer);
}

static void sdp_joined_deadline(struct timer_list *timer)
{
	struct sdp_joined *j = timer_container_of(j, timer, deadline);

	if (!READ_ONCE(j->ready))
		sdp_chan_end(&j->chan);
}

static bool sdp_joined_short(int error)
{
	return error == -EDQUOT || error == -ENOBUFS || error == -ENOMEM || error == -EAGAIN;
}

static void sdp_joined_refused(struct sdp_joined *j, const struct sdp_chan_end *end)
{
	const struct sdp_joined_rej *rej = end->pdata;

	/* A shortage at this end says nothing of the path, which other connections use, too. */
	if (sdp_joined_short(end->error)) {
		sdp_carrier_refused(j->c, SDP_REFUSED_LATER, SDP_JOINED_RETRY_MS);
		return;
	}
	if (end->type == SDP_XPRT_UNREACHABLE || end->type == SDP_XPRT_DEVICE_GONE) {
		sdp_carrier_refused(j->c, SDP_REFUSED_UNREACHABLE, 0);
		return;
	}
	if (end->type == SDP_XPRT_REJECTED && end->reason == SDP_XPRT_REJECT_NO_SERVICE) {
		sdp_carrier_refused(j->c, SDP_REFUSED_NO_SERVICE, 0);
		return;
	}
	if (end->type != SDP_XPRT_REJECTED || end->reason != SDP_XPRT_REJECT_CONSUMER ||
	    !rej || end->len < sizeof(*rej)) {
		sdp_carrier_refused(j->c, SDP_REFUSED_LATER, SDP_JOINED_RETRY_MS);
		return;
	}
	switch (rej->reason) {
	case SDP_JOINED_VERSIONS:
		sdp_carrier_refused(j->c, SDP_REFUSED_VERSION, 0);
		break;
	case SDP_JOINED_LATER:
		sdp_carrier_refused(j->c, SDP_REFUSED_LATER,
				    min_t(u32, be32_to_cpu(rej->retry), SDP_JOINED_MOST_MS));
		break;
	default:
		/* A refusal of the CM's own has no data: zeros. */
		sdp_carrier_refused(j->c, SDP_REFUSED_LATER, SDP_JOINED_RETRY_MS);
	}
}

static void sdp_joined_over(struct sdp_chan *chan, const struct sdp_chan_end *end)
{
	struct sdp_joined *j = sdp_joined_of(chan);

	timer_delete_sync(&j->deadline);
	/* Messages without acknowledgment tell of the path, as a request without answer does. */
	if (j->ready && end->error == -ETIMEDOUT)
		sdp_carrier_refused(j->c, SDP_REFUSED_UNREACHABLE, 0);
	else if (j->ready || chan->accepts)
		sdp_carrier_lost(j->c);
	else
		sdp_joined_refused(j, end);
}

static void sdp_joined_free(struct sdp_chan *chan)
{
	struct sdp_joined *j = sdp_joined_of(chan);

	if (j->c)
		sdp_carrier_put(j->c);
	kfree(j);
}

static const struct sdp_chan_user sdp_joined_user = {
	.takes		= true,
	.stream		= sdp_joined_stream,
	.open		= sdp_joined_open,
	.spare		= sdp_joined_spare,
	.message	= sdp_joined_message,
	.acked		= sdp_joined_acked,
	.room		= sdp_joined_room,
	.over		= sdp_joined_over,
	.free		= sdp_joined_free,
};

static struct sdp_joined *sdp_joined_new(struct net *net, const struct sdp_join *join, gfp_t gfp)
{
	struct sdp_joined *j = kzalloc(sizeof(*j), gfp | __GFP_ACCOUNT | __GFP_NOWARN);

	if (!j)
		return NULL;
	timer_setup(&j->deadline, sdp_joined_deadline, 0);
	j->join = *join;
	if (sdp_chan_init(&j->chan, &sdp_joined_user, net))
		return j;
	kfree(j);
	return NULL;
}

static const struct sdp_joined_bufs sdp_joined_own = {
	.bufs = SDP_CHAN_BUFS_FIRST,
	.size = SDP_JOINED_SIZE,
};

/* --- the peer asks ------------------------------------------------------------- */

/* Of struct sdp_xprt_upcalls: the addresses that a request names, and -EPROTO if it is none. */
int sdp_joined_request_addrs(const void *pdata, unsigned int len,
			     struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	struct sdp_joined_bufs bufs;
	struct sdp_join join;
	bool version;

	if (!sdp_joined_parse_req(pdata, len, NULL, &join, &bufs, &version)) {
		sdp_count(&init_net, SDP_CNT_LANE_BAD);
		return -EPROTO;
	}
	sdp_joined_addrs(&join, peer, local);
	/* A request names TCP's port.  The transport knows the service's. */
	((struct sockaddr_in *)local)->sin_port = 0;
	return 0;
}

/*
 * Tells the end that asks why it gets nothing.  An end that may not go by TCP does not ask for
 * long, and its request may have overtaken TCP's handshake.
 */
static void sdp_joined_refuse(struct sdp_xprt_conn *xc, const struct sdp_join *join, int why)
{
	struct sdp_joined_rej rej = { .version = SDP_JOINED_VERSION };

	switch (why) {
	case -EPROTONOSUPPORT:
		rej.reason = SDP_JOINED_VERSIONS;
		break;
	case -EBUSY:
		rej.reason = SDP_JOINED_LATER;
		rej.retry = cpu_to_be32(SDP_JOINED_SOON_MS);
		break;
	default:
		/* A wrong proof, too: that does not tell whether there is such a connection. */
		rej.reason = SDP_JOINED_LATER;
		rej.retry = cpu_to_be32(join->only ? SDP_JOINED_SOON_MS : SDP_JOINED_RETRY_MS);
	}
	xc->ops->reject(xc, &rej, sizeof(rej));
}

static void sdp_joined_params(const struct sdp_join *join, struct sdp_xprt_params *params)
{
	memset(params, 0, sizeof(*params));
	sdp_joined_addrs(join, &params->local, &params->peer);
	params->ifindex = join->ifindex;
	params->mark = join->mark;
	params->uid = join->uid;
	params->tos = join->tos;
	params->brief = true;
	params->any_port = true;
	params->timeout_ms = SDP_JOINED_ASK_MS;
	sdp_owner_share(join->payer, &params->owner, &params->share);
}

static int sdp_joined_accept(struct sdp_joined *j, struct sdp_xprt_conn *xc)
{
	struct sdp_xprt_params params;
	struct sdp_joined_rep rep;

	sdp_chan_peer(&j->chan, j->peer.bufs, j->peer.size);
	j->c->most = j->chan.most;
	j->c->tail = j->chan.tail;
	j->chan.memcg = sdp_carrier_memcg(j->c);
	sdp_joined_params(&j->answer, &params);
	sdp_joined_build_rep(&rep, &j->answer, &sdp_joined_own);
	mod_timer(&j->deadline, jiffies + msecs_to_jiffies(SDP_JOINED_PROVE_MS));
	return sdp_chan_accept(&j->chan, xc, &params, &rep, sizeof(rep));
}

/*
 * A peer asks; @ops are for a carrier of that kind.  Process context.  An error refuses the
 * request.
 */
int sdp_joined_answer(const struct sdp_carrier_ops *ops, struct sdp_xprt_conn *xc,
		      const struct sdp_xprt_event *ev)
{
	const struct sdp_joined_names names = { .from = ev->peer, .to = ev->local };
	struct sdp_joined_bufs peer;
	struct sdp_carrier *c;
	struct sdp_joined *j;
	struct sdp_join join;
	bool version;
	int err;

	if (!sdp_joined_parse_req(ev->pdata, ev->pdata_len, xc->ops->names ? &names : NULL,
				  &join, &peer, &version)) {
		sdp_count(ev->net, SDP_CNT_LANE_BAD);
		return -EPROTO;
	}
	join.ifindex = ev->ifindex;
	j = sdp_joined_new(ev->net, &join, GFP_KERNEL);
	if (!j)
		return -ENOMEM;
	j->peer = peer;
	/* The offload layer's reference, beside this function's. */
	refcount_inc(&j->chan.refs);
	c = version ? sdp_carrier_answer(ops, ev->net, &join, &j->answer, j) :
		      ERR_PTR(-EPROTONOSUPPORT);
	if (IS_ERR(c)) {
		/* No carrier: the offload layer has not taken its reference. */
		sdp_chan_put(&j->chan);
		err = PTR_ERR(c);
		sdp_joined_refuse(xc, &join, err);
	} else {
		j->c = c;
		err = sdp_joined_accept(j, xc);
		if (err) {
			timer_delete_sync(&j->deadline);
			sdp_carrier_lost(c);
		}
	}
	sdp_chan_put(&j->chan);
	return err;
}

/* --- this end asks --------------------------------------------------------------- */

int sdp_joined_ask(struct sdp_carrier *c, struct net *net, const struct sdp_join *join)
{
	struct sdp_joined *j = sdp_joined_new(net, join, GFP_ATOMIC);
	struct sdp_xprt_params params;
	struct sdp_joined_req req;

	if (!j)
		return -ENOMEM;
	j->c = c;
	c->priv = j;
	j->chan.memcg = sdp_carrier_memcg(c);
	sdp_joined_params(join, &params);
	params.by = c->ops->kind;
	sdp_joined_build_req(&req, join, &sdp_joined_own);
	j->chan.pdata_named = SDP_JOINED_NAMED;
	sdp_chan_connect(&j->chan, &params, &req, sizeof(req));
	return 0;
}

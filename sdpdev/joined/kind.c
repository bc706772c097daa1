// SPDX-License-Identifier: GPL-2.0
/*
 * The kinds of carriers that are joined connections, one for each struct sdp_xprt_ops.by, and
 * what the offload layer calls: what it sends.
 */
#include <linux/module.h>
#include <linux/sdp_sock.h>

#include "joined/joined.h"
#include "transport/registry.h"

static struct sdp_xprt_port *sdp_joined_port;

/* --- what the offload layer calls ---------------------------------------------- */

static bool sdp_joined_fits_ib(struct net *net, const struct net_device *dev)
{
	return sdp_xprt_takes(dev, SDP_SOCK_BY_IB);
}

static bool sdp_joined_fits_rdma(struct net *net, const struct net_device *dev)
{
	return sdp_xprt_takes(dev, SDP_SOCK_BY_RDMA);
}

static int sdp_joined_send_switch(struct sdp_joined *j, struct sdp_chan_out *out,
				  const struct sdp_lane_msg *msg)
{
	struct sdp_joined_switch sw = {
		.n = cpu_to_be32(msg->n),
		.pos = cpu_to_be64(msg->pos),
		.token = { cpu_to_be64(msg->token.key[0]), cpu_to_be64(msg->token.key[1]) },
	};

	out->mid = SDP_MID_SWITCH;
	out->ext = &sw;
	out->ext_len = sizeof(sw);
	return sdp_chan_send(&j->chan, out);
}

static int sdp_joined_send(struct sdp_carrier *c, struct sk_buff *skb)
{
	const struct sdp_lane_msg *msg = sdp_lane_msg(skb);
	struct sdp_joined *j = c->priv;
	struct sdp_chan_out out = {
		.flags = (msg->sure ? SDP_CHAN_F_SURE : 0) | (msg->ask ? SDP_CHAN_F_ASK : 0),
		.class = SDP_CHAN_ANSWER,
	};
	const __be32 zero = 0;

	switch (msg->type) {
	case SDP_MSG_DATA:
		out.mid = SDP_MID_DATA;
		out.class = SDP_CHAN_STREAM;
		out.skb = skb;
		return sdp_chan_send(&j->chan, &out);
	case SDP_MSG_SWITCH:
		return sdp_joined_send_switch(j, &out, msg);
	default:
		out.mid = msg->type == SDP_MSG_LEAVE ? SDP_MID_LEAVE :
			  msg->type == SDP_MSG_END ? SDP_MID_END : SDP_MID_NOTE;
		out.ext = &zero;
		out.ext_len = sizeof(zero);
		return sdp_chan_send(&j->chan, &out);
	}
}

static bool sdp_joined_busy(struct sdp_carrier *c)
{
	struct sdp_joined *j = c->priv;

	return sdp_chan_busy(&j->chan);
}

static void sdp_joined_taken(struct sdp_carrier *c, u32 count)
{
	struct sdp_joined *j = c->priv;

	sdp_chan_taken(&j->chan, count);
}

static void sdp_joined_freed(struct sdp_carrier *c, u32 count)
{
	struct sdp_joined *j = c->priv;

	sdp_chan_freed(&j->chan, count);
}

static void sdp_joined_end(struct sdp_carrier *c)
{
	struct sdp_joined *j = c->priv;

	sdp_chan_end(&j->chan);
	sdp_chan_put(&j->chan);
}

#define SDP_JOINED_OPS \
	.owner	= THIS_MODULE, \
	.terms	= SDP_JOINED_TERMS(SDP_JOINED_VERSION, SDP_JOINED_VERSION, SDP_CHAN_BUFS_FIRST, \
				   SDP_JOINED_SIZE), \
	.most	= SDP_CHAN_MOST, \
	.tail	= SDP_CHAN_TAIL, \
	.ask	= sdp_joined_ask, \
	.send	= sdp_joined_send, \
	.busy	= sdp_joined_busy, \
	.taken	= sdp_joined_taken, \
	.freed	= sdp_joined_freed, \
	.end	= sdp_joined_end

static struct sdp_carrier_ops sdp_joined_kinds[] = {
	[SDP_SOCK_BY_IB] = {
		.name	= "ib",
		.kind	= SDP_SOCK_BY_IB,
		.rank	= 10,
		.fits	= sdp_joined_fits_ib,
		SDP_JOINED_OPS,
	},
	[SDP_SOCK_BY_RDMA] = {
		.name	= "rdma",
		.kind	= SDP_SOCK_BY_RDMA,
		.rank	= 11,
		.fits	= sdp_joined_fits_rdma,
		SDP_JOINED_OPS,
	},
};

static struct sdp_carrier_ops *sdp_joined_kind(const struct sdp_xprt_ops *xprt)
{
	struct sdp_carrier_ops *ops;

	if (xprt->by >= ARRAY_SIZE(sdp_joined_kinds))
		return NULL;
	ops = &sdp_joined_kinds[xprt->by];
	return ops->name ? ops : NULL;
}

static void sdp_joined_unregister(void)
{
	sdp_carrier_unregister(&sdp_joined_kinds[SDP_SOCK_BY_RDMA]);
	sdp_carrier_unregister(&sdp_joined_kinds[SDP_SOCK_BY_IB]);
}

static int sdp_joined_register(void)
{
	int err = sdp_carrier_register(&sdp_joined_kinds[SDP_SOCK_BY_IB]);

	if (err)
		return err;
	err = sdp_carrier_register(&sdp_joined_kinds[SDP_SOCK_BY_RDMA]);
	if (err)
		sdp_carrier_unregister(&sdp_joined_kinds[SDP_SOCK_BY_IB]);
	return err;
}

/* A peer asks.  Process context.  An error refuses the request. */
int sdp_joined_request(struct sdp_xprt_conn *xc, const struct sdp_xprt_event *ev)
{
	const struct sdp_carrier_ops *ops = sdp_joined_kind(xc->ops);

	return ops ? sdp_joined_answer(ops, xc, ev) : -EPROTO;
}

int sdp_joined_start(void)
{
	int err = sdp_joined_register();

	if (err)
		return err;
	/* A request names a namespace by its address; the service has none of its own. */
	sdp_joined_port = sdp_xprt_listen(&init_net, SDP_JOINED_PORT);
	if (sdp_joined_port)
		return 0;
	sdp_joined_unregister();
	return -ENOMEM;
}

/* Peers that were out of reach may be there, by this transport.  Any context. */
void sdp_joined_changed(const struct sdp_xprt_ops *xprt)
{
	const struct sdp_carrier_ops *ops = sdp_joined_kind(xprt);

	if (ops)
		sdp_carrier_changed(ops);
}

/* No endpoint is left. */
void sdp_joined_stop(void)
{
	sdp_xprt_unlisten(sdp_joined_port);
	sdp_joined_unregister();
}

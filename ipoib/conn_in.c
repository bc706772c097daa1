// SPDX-License-Identifier: GPL-2.0
/*
 * Incoming connections: how they begin, and what they receive. They are accepted in either
 * mode, as a peer's mode is its own business, and receive only. conn_in_list.c has their
 * states, conn_in_end.c their end.
 */
#include <linux/random.h>
#include <net/busy_poll.h>

#include "ipoib.h"
#include "trace.h"

/* --- the beginning ------------------------------------------------------- */

static struct ib_qp *ipoib_conn_in_create_qp(struct ipoib_conn_in *c)
{
	struct ipoib_cm *cm = &c->priv->cm;
	struct ib_qp_init_attr attr = {
		.event_handler	= ipoib_conn_in_qp_event,
		.qp_context	= c,
		.send_cq	= cm->cq,
		.recv_cq	= cm->cq,
		.srq		= cm->ring ? cm->ring->srq : NULL,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.cap = {
			.max_send_wr	= 1,
			.max_send_sge	= 1,
			.max_recv_wr	= c->ring ? c->ring->size : 0,
			.max_recv_sge	= c->ring ? c->ring->pages : 0,
		},
	};

	return ib_create_qp(c->priv->pd, &attr);
}

/* Makes the queue pair and lets it receive. */
static int ipoib_conn_in_setup(struct ipoib_conn_in *c)
{
	static const enum ib_qp_state states[] = {
		IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS,
	};
	struct ipoib_dev *priv = c->priv;
	int i, err;

	if (!priv->cm.ring) {
		c->ring = ipoib_rc_ring_alloc(priv, ipoib_rc_private(priv));
		if (!c->ring)
			return -ENOMEM;
	}
	c->qp = ipoib_conn_in_create_qp(c);
	if (IS_ERR(c->qp)) {
		err = PTR_ERR(c->qp);
		c->qp = NULL;
		return err;
	}

	/* In RTS, as a drain may not complete in less on some adapters. */
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		err = ipoib_cm_modify(c->id, c->qp, states[i], c->psn);
		if (err)
			return err;
		if (states[i] == IB_QPS_INIT && c->ring) {
			c->ring->qp = c->qp;
			err = ipoib_rc_ring_fill(c->ring);
			if (err)
				return err;
		}
	}
	return 0;
}

static int ipoib_conn_in_reply(struct ipoib_conn_in *c,
			       const struct ib_cm_req_event_param *req)
{
	struct ipoib_cm_data data;
	struct ib_cm_rep_param rep = {
		.qp_num			= c->qp->qp_num,
		.starting_psn		= c->psn,
		.private_data		= &data,
		.private_data_len	= sizeof(data),
		.rnr_retry_count	= req->rnr_retry_count,
		.srq			= !c->ring,
	};

	ipoib_cm_data_fill(c->priv, &data);
	return ib_send_cm_rep(c->id, &rep);
}

/*
 * Is there room for one more from this LID? When half of what there may be is taken, no
 * LID may have more than a quarter. If there is no room, the oldest half-open connection
 * that takes it has to go, so that a later attempt finds some: requests may be forged.
 * Called under in_lock.
 */
static bool ipoib_conn_in_has_room(struct ipoib_cm *cm, __be32 dlid)
{
	bool full = cm->in_count >= cm->max_in;
	struct ipoib_conn_in *c, *old = NULL;
	unsigned int same = 0;

	if (cm->in_count < cm->max_in / 2)
		return true;
	list_for_each_entry(c, &cm->in[IPOIB_IN_LIVE], node) {
		same += c->dlid == dlid;
		if (!old && (full || c->dlid == dlid) && ipoib_conn_in_is_half_open(c))
			old = c;
	}
	if (!full && same < max(cm->max_in / 4, 1U))
		return true;
	if (old)
		ipoib_conn_in_doom_locked(old);
	return false;
}

/* Counts the connection, unless there are too many. */
static bool ipoib_conn_in_count(struct ipoib_conn_in *c)
{
	struct ipoib_cm *cm = &c->priv->cm;
	bool room;

	spin_lock_bh(&cm->in_lock);
	room = ipoib_conn_in_has_room(cm, c->dlid);
	if (room)
		cm->in_count++;
	spin_unlock_bh(&cm->in_lock);
	return room;
}

static void ipoib_conn_in_add(struct ipoib_conn_in *c)
{
	struct ipoib_cm *cm = &c->priv->cm;

	spin_lock_bh(&cm->in_lock);
	list_add_tail(&c->node, &cm->in[IPOIB_IN_LIVE]);
	if (c->flags)
		ipoib_conn_in_doom_locked(c);
	spin_unlock_bh(&cm->in_lock);
}

static bool ipoib_conn_in_same_sender(const struct ipoib_conn_in *a,
				      const struct ipoib_conn_in *b)
{
	return a->qpn == b->qpn && a->dlid == b->dlid &&
	       ipoib_gid_equal(&a->gid, &b->gid);
}

/*
 * A sender opens one connection only: those that it had before are of before it was restarted. A
 * request can name any sender; but our reply went to the owner of the LID, and has been answered.
 */
static void ipoib_conn_in_established(struct ipoib_conn_in *c)
{
	struct ipoib_cm *cm = &c->priv->cm;
	struct ipoib_conn_in *old, *next;
	bool again = false;

	spin_lock_bh(&cm->in_lock);
	c->established = true;
	/* Too late: another one of its has taken its place. */
	if (c->state != IPOIB_IN_LIVE) {
		spin_unlock_bh(&cm->in_lock);
		return;
	}
	list_for_each_entry_safe(old, next, &cm->in[IPOIB_IN_LIVE], node) {
		if (old == c)
			break;
		if (!ipoib_conn_in_same_sender(old, c))
			continue;
		again = true;
		ipoib_conn_in_doom_locked(old);
	}
	spin_unlock_bh(&cm->in_lock);
	if (again)
		ipoib_conn_suspect(c->priv, &c->gid, c->qpn, c->dlid);
}

/* The connection manager destroys the id. */
static void ipoib_conn_in_abandon(struct ipoib_conn_in *c)
{
	c->id = NULL;
	spin_lock_bh(&c->priv->cm.in_lock);
	ipoib_conn_in_move(c, IPOIB_IN_DRAINED);
	spin_unlock_bh(&c->priv->cm.in_lock);
}

static struct ipoib_conn_in *
ipoib_conn_in_alloc(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct sa_path_rec *path = event->param.req_rcvd.primary_path;
	const struct ipoib_cm_data *data = event->private_data;
	struct ipoib_conn_in *c;

	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return NULL;
	c->priv = id->context;
	c->id = id;
	c->gid = path->dgid;
	c->dlid = sa_path_get_dlid(path);
	c->qpn = be32_to_cpu(data->qpn) & IPOIB_QPN_MASK;
	c->psn = get_random_u32() & 0xffffff;
	c->created = jiffies;
	c->last_used = c->created;
	INIT_LIST_HEAD(&c->node);
	u64_stats_init(&c->sync);
	return c;
}

static int ipoib_conn_in_accept(struct ib_cm_id *id,
				const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	struct ipoib_dev *priv = id->context;
	struct ipoib_conn_in *c;
	int err;

	/* ib_cm looks at the service only, whatever it came by. */
	if (req->port != priv->port ||
	    (be16_to_cpu(req->primary_path->pkey) ^ priv->pkey) &
	    ~IPOIB_FULL_MEMBER)
		return -EINVAL;
	if (req->qp_type != IB_QPT_RC || !ipoib_cm_data_ok(event->private_data))
		return -EINVAL;
	err = ipoib_cm_prepare(priv, true);
	if (err)
		return err;
	c = ipoib_conn_in_alloc(id, event);
	if (!c)
		return -ENOMEM;
	if (!ipoib_conn_in_count(c)) {
		kfree(c);
		return -ENOSPC;
	}
	err = ipoib_conn_in_setup(c);
	trace_ipoib_rx_conn_open(priv, &c->gid, c->qpn, err);
	if (err) {
		ipoib_conn_in_abandon(c);
		return err;
	}

	/* From here on the handler and the work end it. */
	id->context = c;
	ipoib_count(priv, IPOIB_CONN_ACCEPTED);
	ipoib_conn_in_add(c);
	if (ipoib_conn_in_reply(c, req))
		ipoib_conn_in_doom(c);
	return 0;
}

/* Where this is an error the connection manager destroys @id. */
static int ipoib_conn_in_request(struct ib_cm_id *id,
				 const struct ib_cm_event *event)
{
	struct ipoib_dev *priv = id->context;
	int err;

	err = ipoib_conn_in_accept(id, event);
	if (err) {
		ipoib_count(priv, IPOIB_CONN_REFUSED);
		ipoib_dbg(priv, "refuses a connection: %d\n", err);
		ib_send_cm_rej(id, err == -EINVAL ? IB_CM_REJ_CONSUMER_DEFINED :
						    IB_CM_REJ_NO_RESOURCES,
			       NULL, 0, NULL, 0);
	}
	return err;
}

/*
 * @id is the connection's. Its context is the interface until ipoib_conn_in_accept() has put the
 * connection there. The connection manager destroys @id if this returns an error.
 */
int ipoib_conn_in_handler(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct ipoib_conn_in *c = id->context;

	switch (event->event) {
	case IB_CM_REQ_RECEIVED:
		return ipoib_conn_in_request(id, event);
	case IB_CM_SIDR_REQ_RECEIVED:
		return -EINVAL;		/* the service is connections only */
	case IB_CM_RTU_RECEIVED:
		ipoib_conn_in_established(c);
		break;
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(id, NULL, 0);
		ipoib_conn_in_doom(c);
		break;
	case IB_CM_REP_ERROR:
	case IB_CM_REJ_RECEIVED:
	case IB_CM_DREQ_ERROR:
	case IB_CM_DREP_RECEIVED:
	case IB_CM_TIMEWAIT_EXIT:
		ipoib_conn_in_doom(c);
		break;
	default:
		break;
	}
	return 0;
}

/* --- receiving ----------------------------------------------------------- */

static void ipoib_conn_in_packet(struct ipoib_conn_in *c,
				 struct ipoib_rc_ring *ring, unsigned int slot,
				 unsigned int len)
{
	struct ipoib_dev *priv = c->priv;
	unsigned long now = jiffies;
	struct sk_buff *skb;

	if (unlikely(len < IPOIB_ENCAP_LEN || len > priv->cm.max_len)) {
		ipoib_rx_drop(priv, IPOIB_RX_BAD_LENGTH);
		return;
	}
	skb = ipoib_rc_ring_take(ring, slot, len);
	if (unlikely(!skb)) {
		ipoib_rx_drop(priv, IPOIB_RX_NO_MEMORY);
		return;
	}

	u64_stats_update_begin(&c->sync);
	c->packets++;
	c->bytes += len;
	u64_stats_update_end(&c->sync);
	if (c->last_used != now)
		WRITE_ONCE(c->last_used, now);
	ipoib_dbg_cm_data(priv, "received %u bytes by a connection from QPN %#x\n",
			  len, c->qpn);
	skb->pkt_type = PACKET_HOST;
	/* As GRO does, for sockets that poll. */
	skb_mark_napi_id(skb, &priv->cm.napi);
	ipoib_rx_up(priv, priv->cm.alone ? NULL : &priv->cm.napi, skb);
}

/*
 * A receive has completed. Called by NAPI's poll, which posts shared buffers again behind a batch,
 * or by ipoib_cm_reap() in its place; softirqs are off.
 */
void ipoib_conn_in_complete(struct ipoib_dev *priv, const struct ib_wc *wc)
{
	struct ipoib_conn_in *c = wc->qp->qp_context;
	struct ipoib_rc_ring *ring = c->ring ?: priv->cm.ring;
	unsigned int left, slot = wc->wr_id & ~IPOIB_WR_RECV;

	if (WARN_ON_ONCE(slot >= ring->size))
		return;

	if (likely(wc->status == IB_WC_SUCCESS)) {
		ipoib_conn_in_packet(c, ring, slot, wc->byte_len);
	} else if (wc->status != IB_WC_WR_FLUSH_ERR) {
		ipoib_count(priv, IPOIB_RX_COMPLETION_ERROR);
		DEV_STATS_INC(priv->dev, rx_errors);
		ipoib_conn_in_doom(c);
	}

	left = ipoib_rc_ring_done(ring, slot);
	if (!c->ring)
		return;
	ipoib_rc_ring_refill(ring);
	if (!left)
		ipoib_conn_in_emptied(c);
}

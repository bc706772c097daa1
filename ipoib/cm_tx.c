// SPDX-License-Identifier: GPL-2.0
/*
 * Outgoing connections, each of a link-layer address that packets are sent to.
 *
 * A connection is opened when there is something to send, and closed when it
 * breaks or nobody has used it for long; its work alone does both. Packets wait
 * while it is opened for the first time. When that has failed, what fits into a
 * datagram goes by UD, until a later attempt succeeds.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/wait_bit.h>

#include "cm.h"
#include "ipoib.h"
#include "trace.h"

/*
 * Of the connection manager, which asks six times: 4.096 us * 2^18 for an answer, and
 * twice the life time of a packet. With opensm's life time that is 18 seconds in all.
 */
#define IPOIB_CM_RESPONSE	18
#define IPOIB_CM_RETRIES	5
#define IPOIB_MAX_LIFE_TIME	20	/* of a packet: 4.096 us * 2^20 */
/* Of the adapter; a receiver that is not ready for long is not waited for. */
#define IPOIB_RC_RETRIES	7
#define IPOIB_RC_RNR_RETRIES	6
/* How long one waits that others let send nothing, in jiffies. */
#define IPOIB_CONN_STARVED	max(HZ / 100, 1)

static bool ipoib_fits_ud(struct ipoib_dev *priv, const struct sk_buff *skb)
{
	return skb->len <= READ_ONCE(priv->mcast_mtu) + IPOIB_ENCAP_LEN;
}

/* --- the path's list ----------------------------------------------------- */

/* Called under RCU or the destination's lock. */
static struct ipoib_conn *ipoib_conn_find(struct ipoib_path *p, u32 qpn)
{
	struct ipoib_conn *c;

	list_for_each_entry_rcu(c, &p->conns, node,
				lockdep_is_held(&p->dest.lock))
		if (c->qpn == qpn)
			return c;
	return NULL;
}

static void ipoib_conn_work(struct work_struct *work);

/* Called under the destination's lock. */
static struct ipoib_conn *ipoib_conn_create(struct ipoib_path *p, u32 qpn)
{
	struct ipoib_conn *c;

	if (p->dest.state == IPOIB_DEST_DEAD || p->conn_count >= IPOIB_MAX_CONNS)
		return NULL;
	c = kzalloc(sizeof(*c), GFP_ATOMIC);
	if (!c)
		return NULL;

	c->priv = p->dest.priv;
	c->dest = &p->dest;
	c->qpn = qpn;
	c->created = jiffies;
	c->last_used = c->created;
	INIT_DELAYED_WORK(&c->work, ipoib_conn_work);
	spin_lock_init(&c->lock);
	__skb_queue_head_init(&c->queue);
	list_add_tail_rcu(&c->node, &p->conns);
	p->conn_count++;
	return c;
}

static struct ipoib_conn *ipoib_conn_get(struct ipoib_path *p, u32 qpn)
{
	struct ipoib_conn *c = ipoib_conn_find(p, qpn);

	if (likely(c))
		return c;
	spin_lock_bh(&p->dest.lock);
	c = ipoib_conn_find(p, qpn) ?: ipoib_conn_create(p, qpn);
	spin_unlock_bh(&p->dest.lock);
	return c;
}

/* --- breaking ------------------------------------------------------------ */

/*
 * Called under the connection's lock. @err says why it is not to be opened again
 * at once; if it has been up for a while, it is.
 */
static void ipoib_conn_break_locked(struct ipoib_conn *c, int err)
{
	if (c->dead || (c->state != IPOIB_CONN_UP &&
			c->state != IPOIB_CONN_OPENING))
		return;
	if (c->state == IPOIB_CONN_UP) {
		ipoib_count(c->priv, IPOIB_CONN_LOST);
		if (time_after(jiffies, c->since + HZ))
			err = 0;
	}
	c->state = IPOIB_CONN_BROKEN;
	c->error = err;
	mod_delayed_work(ipoib_wq, &c->work, 0);
}

static void ipoib_conn_break(struct ipoib_conn *c, int err)
{
	spin_lock_bh(&c->lock);
	ipoib_conn_break_locked(c, err);
	spin_unlock_bh(&c->lock);
}

/**
 * ipoib_conn_suspect() - a peer seems to have been restarted
 * @priv: the interface
 * @gid: the peer's
 * @qpn: the peer's, of its link-layer address
 * @dlid: where it is
 *
 * What is sent to it by the old connection would be lost, and the adapter takes
 * long to say so.
 */
void ipoib_conn_suspect(struct ipoib_dev *priv, const union ib_gid *gid,
			u32 qpn, __be32 dlid)
{
	struct ipoib_conn *c = NULL;
	struct ipoib_dest *d;

	rcu_read_lock();
	d = ipoib_gid_is_mcast(gid) ? NULL : ipoib_dest_find(priv, gid);
	if (d)
		c = ipoib_conn_find(ipoib_to_path(d), qpn);
	if (c) {
		spin_lock_bh(&c->lock);
		/* Somebody else may use the peer's name. */
		if (c->dlid == dlid)
			ipoib_conn_break_locked(c, 0);
		spin_unlock_bh(&c->lock);
	}
	rcu_read_unlock();
}

/**
 * ipoib_conns_reroute() - a path is known anew
 * @p: the path
 * @rec: what it is now
 *
 * A connection keeps the one that it was opened with. One that has failed is tried
 * again with the next packet.
 */
void ipoib_conns_reroute(struct ipoib_path *p, struct sa_path_rec *rec)
{
	__be32 slid = sa_path_get_slid(rec), dlid = sa_path_get_dlid(rec);
	struct ipoib_conn *c;

	rcu_read_lock();
	list_for_each_entry_rcu(c, &p->conns, node) {
		spin_lock_bh(&c->lock);
		if (c->slid != slid || c->dlid != dlid || c->sl != rec->sl)
			ipoib_conn_break_locked(c, 0);
		/* What made it fail may be over; a refusal is the peer's. */
		if (c->state == IPOIB_CONN_FAILED && !c->refused)
			c->retry_at = jiffies;
		spin_unlock_bh(&c->lock);
	}
	rcu_read_unlock();
}

/* --- sending ------------------------------------------------------------- */

static struct ipoib_tx_buf *ipoib_conn_slot(struct ipoib_conn *c,
					    unsigned int n)
{
	return &c->ring[n % IPOIB_CONN_RING];
}

/* Room in the ring, and in the completion queue. Called under the lock. */
static bool ipoib_conn_has_room(struct ipoib_conn *c)
{
	struct ipoib_cm *cm = &c->priv->cm;

	if (c->head - c->tail == IPOIB_CONN_RING)
		return false;
	if (atomic_inc_return(&cm->sends) <= (int)cm->max_sends)
		return true;
	atomic_dec(&cm->sends);
	return false;
}

/* Called under the lock, with room. Where it fails, @why tells how the packet is lost. */
static bool ipoib_conn_post(struct ipoib_conn *c, struct sk_buff *skb,
			    enum ipoib_counter *why)
{
	struct ipoib_tx_buf *buf = ipoib_conn_slot(c, c->head);
	struct ipoib_dev *priv = c->priv;
	struct ib_sge sge[IPOIB_TX_SGE];
	struct ib_send_wr wr = {
		.wr_id = c->head & ~(IPOIB_WR_RECV | IPOIB_WR_DRAIN),
		.sg_list = sge,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int i, n;

	*why = IPOIB_TX_NO_MEMORY;
	if (unlikely(ipoib_tx_pieces(skb, 0) > priv->max_send_sge) &&
	    skb_linearize(skb))
		return false;
	buf->skb = skb;
	buf->hlen = 0;
	n = ipoib_tx_map(priv, buf, sge);
	if (unlikely(n < 0))
		return false;

	for (i = 0; i < n; i++)
		sge[i].lkey = priv->pd->local_dma_lkey;
	wr.num_sge = n;
	ipoib_dbg_data(priv, "sending %u bytes by a connection to QPN %#x\n",
		       skb->len, c->qpn);
	skb_tx_timestamp(skb);
	/* It may complete before the next line. */
	WRITE_ONCE(c->head, c->head + 1);
	if (unlikely(ib_post_send(c->qp, &wr, NULL))) {
		WRITE_ONCE(c->head, c->head - 1);
		ipoib_tx_unmap(priv, buf, n);
		ipoib_conn_break_locked(c, -EIO);
		*why = IPOIB_TX_POST_FAILED;
		return false;
	}
	return true;
}

/* Sends a packet, or loses it. Called under the lock, with room. */
static void ipoib_conn_post_or_drop(struct ipoib_conn *c, struct sk_buff *skb)
{
	enum ipoib_counter why;

	if (unlikely(skb->len > c->max_len)) {
		atomic_dec(&c->priv->cm.sends);
		ipoib_too_big(c->priv, skb, c->max_len - IPOIB_ENCAP_LEN);
		return;
	}
	if (unlikely(!ipoib_conn_post(c, skb, &why))) {
		atomic_dec(&c->priv->cm.sends);
		ipoib_tx_drop(c->priv, why);
		dev_kfree_skb_any(skb);
	}
}

/*
 * Sends what waits. Called under the lock. Where others have taken all that the
 * interface may send, no completion comes that would send the rest.
 */
static void ipoib_conn_push(struct ipoib_conn *c)
{
	while (c->state == IPOIB_CONN_UP && !skb_queue_empty(&c->queue) &&
	       ipoib_conn_has_room(c)) {
		atomic_dec(&c->priv->cm.queued);
		ipoib_conn_post_or_drop(c, __skb_dequeue(&c->queue));
	}
	if (c->state == IPOIB_CONN_UP && !skb_queue_empty(&c->queue) &&
	    c->head == c->tail)
		queue_delayed_work(ipoib_wq, &c->work, IPOIB_CONN_STARVED);
}

/* Called under the lock. */
static void ipoib_conn_wait(struct ipoib_conn *c, struct sk_buff *skb)
{
	struct ipoib_dev *priv = c->priv;

	if (skb_queue_len(&c->queue) >= max_t(unsigned int, IPOIB_DEST_QUEUE,
					      READ_ONCE(priv->dev->tx_queue_len)))
		goto drop;
	if (atomic_inc_return(&priv->cm.queued) > IPOIB_MAX_QUEUED) {
		atomic_dec(&priv->cm.queued);
		goto drop;
	}
	__skb_queue_tail(&c->queue, skb);
	return;

drop:
	ipoib_tx_drop(priv, IPOIB_TX_QUEUE_FULL);
	dev_kfree_skb_any(skb);
}

/* Called under the lock. */
static void ipoib_conn_send_up(struct ipoib_conn *c, struct sk_buff *skb)
{
	if (likely(skb_queue_empty(&c->queue) && ipoib_conn_has_room(c))) {
		ipoib_conn_post_or_drop(c, skb);
		return;
	}
	ipoib_conn_wait(c, skb);
	ipoib_conn_push(c);
}

/*
 * A packet for a peer that cannot be connected with. One that is too big for UD
 * is lost; but a peer that is only being restarted should not be remembered for
 * a small MTU for minutes. Called under the lock. Returns false where it is to
 * go by UD.
 */
static bool ipoib_conn_fall_back(struct ipoib_conn *c, struct sk_buff *skb)
{
	if (ipoib_fits_ud(c->priv, skb) || c->refused ||
	    c->tries >= IPOIB_CONN_TRIES)
		return false;
	ipoib_tx_drop(c->priv, IPOIB_TX_UNREACHABLE);
	dev_kfree_skb_any(skb);
	return true;
}

/* Called under the lock. Returns false where the packet is to go by UD. */
static bool ipoib_conn_send_locked(struct ipoib_conn *c, struct sk_buff *skb)
{
	if (likely(c->state == IPOIB_CONN_UP)) {
		ipoib_conn_send_up(c, skb);
		return true;
	}
	if (c->dead)
		return false;
	if (c->state == IPOIB_CONN_FAILED &&
	    time_before(jiffies, c->retry_at))
		return ipoib_conn_fall_back(c, skb);

	if (c->state == IPOIB_CONN_FAILED || c->state == IPOIB_CONN_IDLE) {
		c->state = IPOIB_CONN_OPENING;
		mod_delayed_work(ipoib_wq, &c->work, 0);
	}
	/* Once it has failed, what need not wait does not. */
	if (c->tries && ipoib_fits_ud(c->priv, skb))
		return false;
	ipoib_conn_wait(c, skb);
	return true;
}

/**
 * ipoib_conn_send() - send a packet by a connection
 * @d: the unicast destination
 * @skb: the packet, from the encapsulation header on
 *
 * Called under rcu_read_lock() and a tx lock.
 *
 * Return: false if it is to go by UD; else @skb is consumed.
 */
bool ipoib_conn_send(struct ipoib_dest *d, struct sk_buff *skb)
{
	unsigned long now = jiffies;
	struct ipoib_conn *c;
	bool taken;

	/* Made for the offloads that datagram mode has had a moment ago. */
	if (unlikely(skb_is_gso(skb) || skb->ip_summed == CHECKSUM_PARTIAL))
		return false;
	c = ipoib_conn_get(ipoib_to_path(d), ipoib_skb_cb(skb)->qpn);
	if (unlikely(!c))
		return false;
	if (READ_ONCE(c->last_used) != now)
		WRITE_ONCE(c->last_used, now);

	spin_lock(&c->lock);
	taken = ipoib_conn_send_locked(c, skb);
	spin_unlock(&c->lock);
	return taken;
}

static void ipoib_conn_sent(struct ipoib_conn *c, const struct ib_wc *wc,
			    unsigned int len)
{
	struct ipoib_dev *priv = c->priv;

	if (likely(wc->status == IB_WC_SUCCESS)) {
		c->packets++;
		c->bytes += len;
		dev_sw_netstats_tx_add(priv->dev, 1, len);
		return;
	}
	ipoib_tx_drop(priv, IPOIB_TX_CONN_LOST);
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		return;
	ipoib_dbg(priv, "a send to %pI6 failed: %s (vendor error %#x)\n",
		  c->dest->gid.raw, ib_wc_status_msg(wc->status),
		  wc->vendor_err);
}

/**
 * ipoib_conn_complete() - a send has completed
 * @c: the connection
 * @wc: its completion
 * @budget: NAPI's
 */
void ipoib_conn_complete(struct ipoib_conn *c, const struct ib_wc *wc,
			 int budget)
{
	struct ipoib_tx_buf *buf = ipoib_conn_slot(c, c->tail);
	struct sk_buff *skb;
	bool idle;

	if (WARN_ON_ONCE(READ_ONCE(c->head) == c->tail))
		return;

	skb = buf->skb;
	ipoib_tx_unmap(c->priv, buf, ipoib_tx_pieces(skb, 0));
	ipoib_conn_sent(c, wc, skb->len);
	napi_consume_skb(skb, budget);
	atomic_dec(&c->priv->cm.sends);

	spin_lock(&c->lock);
	c->tail++;
	if (likely(wc->status == IB_WC_SUCCESS))
		ipoib_conn_push(c);
	else
		ipoib_conn_break_locked(c, -ECONNRESET);
	idle = c->state != IPOIB_CONN_UP && c->head == c->tail;
	spin_unlock(&c->lock);
	/* From here on it may be gone; but not its address. */
	if (unlikely(idle))
		wake_up_var(&c->tail);
}

/* --- opening ------------------------------------------------------------- */

static void ipoib_conn_set_up(struct ipoib_conn *c, unsigned int max_len)
{
	spin_lock_bh(&c->lock);
	if (c->state == IPOIB_CONN_OPENING && !c->dead) {
		c->state = IPOIB_CONN_UP;
		c->tries = 0;
		c->since = jiffies;
		c->max_len = max_len;
		ipoib_count(c->priv, IPOIB_CONN_OPENED);
		trace_ipoib_conn_up(c->priv, &c->dest->gid, c->qpn, 0);
		ipoib_conn_push(c);
	}
	spin_unlock_bh(&c->lock);
}

static int ipoib_conn_reply(struct ipoib_conn *c, struct ib_cm_id *id,
			    const struct ib_cm_event *event)
{
	const struct ipoib_cm_data *data = event->private_data;
	int err;

	if (!ipoib_cm_data_ok(data))
		return -EPROTO;
	err = ipoib_cm_modify(id, c->qp, IB_QPS_RTR, c->psn) ?:
	      ipoib_cm_modify(id, c->qp, IB_QPS_RTS, c->psn) ?:
	      ib_send_cm_rtu(id, NULL, 0);
	if (!err)
		ipoib_conn_set_up(c, min_t(u32, be32_to_cpu(data->mtu),
					   IPOIB_CM_LEN));
	return err;
}

/* Who answers that nobody listens may be about to. */
static void ipoib_conn_rejected(struct ipoib_conn *c, enum ib_cm_rej_reason why)
{
	spin_lock_bh(&c->lock);
	c->refused = why != IB_CM_REJ_INVALID_SERVICE_ID &&
		     why != IB_CM_REJ_STALE_CONN && why != IB_CM_REJ_TIMEOUT;
	ipoib_conn_break_locked(c, -ECONNREFUSED);
	spin_unlock_bh(&c->lock);
}

/* The id is the work's to destroy, which waits for this. */
static int ipoib_conn_handler(struct ib_cm_id *id,
			      const struct ib_cm_event *event)
{
	struct ipoib_conn *c = id->context;
	int err;

	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		err = ipoib_conn_reply(c, id, event);
		if (err) {
			ib_send_cm_rej(id, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0,
				       NULL, 0);
			ipoib_conn_break(c, err);
		}
		break;
	case IB_CM_REJ_RECEIVED:
		ipoib_conn_rejected(c, event->param.rej_rcvd.reason);
		break;
	case IB_CM_REQ_ERROR:
		ipoib_conn_break(c, -ETIMEDOUT);
		break;
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(id, NULL, 0);
		fallthrough;
	case IB_CM_DREQ_ERROR:
	case IB_CM_DREP_RECEIVED:
	case IB_CM_TIMEWAIT_EXIT:
		ipoib_conn_break(c, -ECONNRESET);
		break;
	default:
		break;
	}
	return 0;
}

/* In any context; the work is cancelled behind the last. */
static void ipoib_conn_qp_event(struct ib_event *event, void *context)
{
	struct ipoib_conn *c = context;

	if (event->event != IB_EVENT_QP_FATAL &&
	    event->event != IB_EVENT_QP_REQ_ERR &&
	    event->event != IB_EVENT_QP_ACCESS_ERR)
		return;
	WRITE_ONCE(c->fatal, true);
	mod_delayed_work(ipoib_wq, &c->work, 0);
}

static int ipoib_conn_create_qp(struct ipoib_conn *c)
{
	struct ipoib_dev *priv = c->priv;
	struct ib_qp_init_attr init = {
		.event_handler	= ipoib_conn_qp_event,
		.qp_context	= c,
		.send_cq	= priv->cm.cq,
		.recv_cq	= priv->cm.cq,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.cap = {
			.max_send_wr	= IPOIB_CONN_RING,
			.max_send_sge	= priv->max_send_sge,
			/* Nothing is received; not all adapters have none. */
			.max_recv_wr	= 1,
			.max_recv_sge	= 1,
		},
	};
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.pkey_index	= priv->pkey_index,
		.port_num	= priv->port,
	};
	struct ib_qp *qp;

	qp = ib_create_qp(priv->pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	c->qp = qp;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
				       IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static int ipoib_conn_request(struct ipoib_conn *c, struct sa_path_rec *rec)
{
	struct ipoib_cm_data data;
	struct ib_cm_req_param req = {
		.primary_path			= rec,
		.service_id			= ipoib_cm_service_id(c->qpn),
		.qp_num				= c->qp->qp_num,
		.qp_type			= IB_QPT_RC,
		.starting_psn			= c->psn,
		.private_data			= &data,
		.private_data_len		= sizeof(data),
		.responder_resources		= 1,
		.remote_cm_response_timeout	= IPOIB_CM_RESPONSE,
		.local_cm_response_timeout	= IPOIB_CM_RESPONSE,
		.retry_count			= IPOIB_RC_RETRIES,
		.rnr_retry_count		= IPOIB_RC_RNR_RETRIES,
		.max_cm_retries			= IPOIB_CM_RETRIES,
		.srq				= c->priv->cm.has_srq,
	};
	struct ib_cm_id *id;

	id = ib_create_cm_id(c->priv->hca, ipoib_conn_handler, c);
	if (IS_ERR(id))
		return PTR_ERR(id);
	c->id = id;
	ipoib_cm_data_fill(c->priv, &data);
	return ib_send_cm_req(id, &req);
}

/* What is left behind after an error is ipoib_conn_close()'s. */
static int ipoib_conn_open(struct ipoib_conn *c)
{
	struct ipoib_path *p = ipoib_to_path(c->dest);
	struct sa_path_rec rec;
	int err;

	spin_lock_bh(&c->dest->lock);
	rec = p->rec;
	spin_unlock_bh(&c->dest->lock);
	if (!ipoib_sa_path_ok(&p->dest, &rec))
		return -EHOSTUNREACH;
	/* ib_cm waits for multiples of it, which may be hours. */
	rec.packet_life_time = min_t(u8, rec.packet_life_time,
				     IPOIB_MAX_LIFE_TIME);

	spin_lock_bh(&c->lock);
	c->slid = sa_path_get_slid(&rec);
	c->dlid = sa_path_get_dlid(&rec);
	c->sl = rec.sl;
	c->refused = false;
	spin_unlock_bh(&c->lock);

	err = ipoib_cm_prepare(c->priv, false);
	if (err)
		return err;
	c->ring = kvcalloc(IPOIB_CONN_RING, sizeof(*c->ring), GFP_KERNEL);
	if (!c->ring)
		return -ENOMEM;
	c->psn = get_random_u32() & 0xffffff;
	trace_ipoib_conn_open(c->priv, &c->dest->gid, c->qpn, 0);
	return ipoib_conn_create_qp(c) ?: ipoib_conn_request(c, &rec);
}

/* --- closing ------------------------------------------------------------- */

static bool ipoib_conn_is_flushed(struct ipoib_conn *c)
{
	bool flushed;

	spin_lock_bh(&c->lock);
	flushed = c->head == c->tail;
	spin_unlock_bh(&c->lock);
	return flushed;
}

/* What a broken adapter never completed. */
static void ipoib_conn_drop_ring(struct ipoib_conn *c)
{
	for (; c->tail != c->head; c->tail++) {
		struct ipoib_tx_buf *buf = ipoib_conn_slot(c, c->tail);

		ipoib_tx_unmap(c->priv, buf, ipoib_tx_pieces(buf->skb, 0));
		atomic_dec(&c->priv->cm.sends);
		ipoib_tx_drop(c->priv, IPOIB_TX_CONN_LOST);
		dev_kfree_skb_any(buf->skb);
	}
}

/* Whether all that was posted has come back. One that does not is enough. */
static bool ipoib_conn_drain(struct ipoib_conn *c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ipoib_cm *cm = &c->priv->cm;
	bool empty = ipoib_conn_is_flushed(c);

	/* Even where this fails: a dead adapter's driver completes them, too. */
	ib_modify_qp(c->qp, &attr, IB_QP_STATE);
	if (wait_var_event_timeout(&c->tail, ipoib_conn_is_flushed(c),
				   READ_ONCE(cm->stuck) ? HZ / 10 :
							  IPOIB_CM_DRAIN_TIMEOUT)) {
		/* It does again; one that had nothing tells nothing. */
		if (!empty)
			WRITE_ONCE(cm->stuck, false);
		return true;
	}
	WRITE_ONCE(cm->stuck, true);
	if (net_ratelimit())
		netdev_warn(c->priv->dev, "a connection never drained\n");
	return false;
}

/* Of the work, or of who has cancelled it. Nobody posts: it is not up. */
static void ipoib_conn_close(struct ipoib_conn *c)
{
	/* Tells the peer, and waits for the handler. */
	if (c->id)
		ib_destroy_cm_id(c->id);
	c->id = NULL;

	if (c->qp) {
		trace_ipoib_conn_close(c->priv, &c->dest->gid, c->qpn, 0);
		if (ipoib_conn_drain(c)) {
			ib_destroy_qp(c->qp);
		} else {
			ipoib_cm_pause(c->priv, true);
			ipoib_cm_reset(c->qp);
			ipoib_cm_reap(c->priv);
			ib_destroy_qp(c->qp);
			ipoib_conn_drop_ring(c);
			ipoib_cm_pause(c->priv, false);
		}
	}
	c->qp = NULL;
	c->fatal = false;
	kvfree(c->ring);
	c->ring = NULL;
}

/* The packets that have waited in vain. */
static void ipoib_conn_give_up(struct ipoib_conn *c,
			       struct sk_buff_head *waiting)
{
	struct ipoib_dest *d = c->dest;
	struct ipoib_ah *ah;
	struct sk_buff *skb;
	bool dropped;

	rcu_read_lock();
	ah = rcu_dereference(d->ah);
	while ((skb = __skb_dequeue(waiting))) {
		atomic_dec(&c->priv->cm.queued);
		spin_lock_bh(&c->lock);
		dropped = ipoib_conn_fall_back(c, skb);
		spin_unlock_bh(&c->lock);
		if (dropped)
			continue;
		ipoib_skb_cb(skb)->rc = false;
		if (ah) {
			ipoib_send_queued(d, skb, ah);
		} else {
			ipoib_tx_drop(c->priv, IPOIB_TX_UNREACHABLE);
			dev_kfree_skb_any(skb);
		}
	}
	rcu_read_unlock();
}

/* What becomes of a connection that has been closed. */
static void ipoib_conn_settle(struct ipoib_conn *c)
{
	struct sk_buff_head waiting;
	int err;

	__skb_queue_head_init(&waiting);
	spin_lock_bh(&c->lock);
	err = c->error;
	if (err) {
		c->state = IPOIB_CONN_FAILED;
		c->retry_at = jiffies + min(HZ << min(c->tries, 4U),
					    IPOIB_MAX_BACKOFF);
		c->tries++;
		skb_queue_splice_tail_init(&c->queue, &waiting);
	} else {
		c->state = skb_queue_empty(&c->queue) ? IPOIB_CONN_IDLE :
							IPOIB_CONN_OPENING;
	}
	spin_unlock_bh(&c->lock);

	if (err) {
		trace_ipoib_conn_fail(c->priv, &c->dest->gid, c->qpn, err);
		ipoib_count(c->priv, IPOIB_CONN_FAILED_TO_OPEN);
		ipoib_dbg(c->priv, "no connection with %pI6: %d, try %u\n",
			  c->dest->gid.raw, err, c->tries);
		ipoib_conn_give_up(c, &waiting);
	}
}

static void ipoib_conn_proceed(struct ipoib_conn *c)
{
	enum ipoib_conn_state state;
	int err;

	for (;;) {
		if (READ_ONCE(c->fatal))
			ipoib_conn_break(c, -ECONNRESET);
		spin_lock_bh(&c->lock);
		state = c->dead ? IPOIB_CONN_IDLE : c->state;
		ipoib_conn_push(c);
		spin_unlock_bh(&c->lock);

		if (state == IPOIB_CONN_BROKEN) {
			ipoib_conn_close(c);
			ipoib_conn_settle(c);
		} else if (state == IPOIB_CONN_OPENING && !c->qp) {
			err = ipoib_conn_open(c);
			if (err)
				ipoib_conn_break(c, err);
		} else {
			return;
		}
	}
}

/* The memory that it takes may be what packets of a disk are to make free. */
static void ipoib_conn_work(struct work_struct *work)
{
	unsigned int flags = memalloc_noio_save();

	ipoib_conn_proceed(container_of(to_delayed_work(work),
					struct ipoib_conn, work));
	memalloc_noio_restore(flags);
}

/* --- removal ------------------------------------------------------------- */

/* Called under ctl. */
static void ipoib_conn_destroy(struct ipoib_conn *c)
{
	enum ipoib_counter why = c->priv->up ? IPOIB_TX_UNREACHABLE :
					       IPOIB_TX_LINK_DOWN;
	struct sk_buff *skb;

	spin_lock_bh(&c->lock);
	c->dead = true;
	c->state = IPOIB_CONN_BROKEN;
	spin_unlock_bh(&c->lock);

	cancel_delayed_work_sync(&c->work);
	ipoib_conn_close(c);
	cancel_delayed_work_sync(&c->work);
	while ((skb = __skb_dequeue(&c->queue))) {
		atomic_dec(&c->priv->cm.queued);
		ipoib_tx_drop(c->priv, why);
		dev_kfree_skb_any(skb);
	}
	kfree_rcu(c, rcu);
}

/* Called under the destination's lock. */
static void ipoib_conn_unlink(struct ipoib_path *p, struct ipoib_conn *c,
			      struct list_head *kill)
{
	list_del_rcu(&c->node);
	p->conn_count--;
	list_add_tail(&c->kill, kill);
}

static void ipoib_conns_destroy(struct list_head *kill)
{
	struct ipoib_conn *c, *next;

	list_for_each_entry_safe(c, next, kill, kill)
		ipoib_conn_destroy(c);
}

/**
 * ipoib_conns_release() - end all connections of a path
 * @p: the path, dead
 */
void ipoib_conns_release(struct ipoib_path *p)
{
	struct ipoib_conn *c, *next;
	LIST_HEAD(kill);

	spin_lock_bh(&p->dest.lock);
	list_for_each_entry_safe(c, next, &p->conns, node)
		ipoib_conn_unlink(p, c, &kill);
	spin_unlock_bh(&p->dest.lock);
	ipoib_conns_destroy(&kill);
}

/* Called under dest_lock. */
static void ipoib_conns_find_idle(struct ipoib_dest *d)
{
	struct ipoib_path *p = ipoib_to_path(d);
	struct ipoib_conn *c, *next;

	if (ipoib_gid_is_mcast(&d->gid))
		return;
	spin_lock(&d->lock);
	list_for_each_entry_safe(c, next, &p->conns, node)
		if (time_after(jiffies,
			       READ_ONCE(c->last_used) + ipoib_idle()))
			ipoib_conn_unlink(p, c, &d->priv->cm.idle);
	spin_unlock(&d->lock);
}

/**
 * ipoib_conns_reap() - end the connections that nobody has used for long
 * @priv: the interface; under ctl
 */
void ipoib_conns_reap(struct ipoib_dev *priv)
{
	INIT_LIST_HEAD(&priv->cm.idle);
	ipoib_dest_for_each(priv, ipoib_conns_find_idle);
	ipoib_conns_destroy(&priv->cm.idle);
}

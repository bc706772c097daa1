// SPDX-License-Identifier: GPL-2.0
/*
 * Outgoing connections: opening and closing.
 *
 * A connection is opened when there is something to send, and closed when it breaks or has
 * been idle for long; its work opens it, and closes one that breaks.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/wait_bit.h>

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

/* --- opening ------------------------------------------------------------- */

static void ipoib_conn_set_up(struct ipoib_conn *c, unsigned int max_len)
{
	spin_lock_bh(&c->lock);
	if (c->state == IPOIB_CONN_OPENING && !c->dead) {
		c->state = IPOIB_CONN_UP;
		c->tries = 0;
		c->since = jiffies;
		c->progress = c->since;
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

/* A peer that does not listen may be about to. */
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

/* Any context. The work is cancelled once more when the queue pair has gone. */
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
	ipoib_sa_path_rec(p, &rec);
	spin_unlock_bh(&c->dest->lock);
	if (!rec.ib.dlid)
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

/* Has all that was posted come back? After one that has not, the others are waited for less. */
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

/* Called in the work, or after it was cancelled. No packet is posted: the connection is not up. */
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
		ipoib_conn_wake(c);
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
void ipoib_conn_work(struct work_struct *work)
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
	enum ipoib_counter why = c->priv->link.up ? IPOIB_TX_UNREACHABLE :
					       IPOIB_TX_LINK_DOWN;
	struct sk_buff *skb;

	spin_lock_bh(&c->lock);
	c->dead = true;
	c->state = IPOIB_CONN_BROKEN;
	ipoib_conn_wake(c);
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

/* The path is dead, so no connection is added. Called under ctl. */
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

/* Called under dests.lock. */
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

/* Ends the connections that have been idle for long. Called under ctl. */
void ipoib_conns_reap(struct ipoib_dev *priv)
{
	INIT_LIST_HEAD(&priv->cm.idle);
	ipoib_dest_for_each(priv, ipoib_conns_find_idle);
	ipoib_conns_destroy(&priv->cm.idle);
}

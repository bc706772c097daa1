// SPDX-License-Identifier: GPL-2.0
/*
 * Outgoing connections, each of a link-layer address that packets are sent to: finding one
 * and sending by it. conn_out_open.c opens and closes them.
 *
 * Packets wait while a connection is opened for the first time. When that has failed, what
 * fits into a datagram goes by UD, until a later attempt succeeds.
 *
 *           a packet           the peer replies             it fails, or its
 *     IDLE ----------> OPENING ---------------> UP -------> path changes
 *       ^                ^  |                                     |
 *       |                |  +------ error ------> BROKEN <--------+
 *       |                |                          | closed
 *       |                |  packets wait            |
 *       +----------------+--------------------------+----> FAILED, if it had not been up
 *           nothing waits                                  for a second
 *
 * A packet takes one that is FAILED to OPENING from retry_at on.
 */
#include <linux/wait_bit.h>

#include "ipoib.h"
#include "trace.h"

/* How long a connection waits that others let send nothing, in jiffies. */
#define IPOIB_CONN_STARVED	max(HZ / 100, 1)

static bool ipoib_fits_ud(struct ipoib_dev *priv, const struct sk_buff *skb)
{
	return skb->len <= READ_ONCE(priv->link.mcast_mtu) + IPOIB_ENCAP_LEN;
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
 * Lets the stack send again by the queues that the connection has stopped. Called under its lock.
 */
void ipoib_conn_wake(struct ipoib_conn *c)
{
	unsigned int i;

	for_each_set_bit(i, &c->stopped, IPOIB_MAX_TX_QUEUES) {
		struct ipoib_tx_queue *q = &c->priv->tx[i];

		/* One that is closed is opened when the link comes up. */
		if (READ_ONCE(q->open))
			netif_tx_wake_queue(ipoib_txq(q));
	}
	c->stopped = 0;
}

/*
 * Has the work close the connection. With @err it is not opened again at once, unless it has been
 * up for a second. Called under its lock.
 */
void ipoib_conn_break_locked(struct ipoib_conn *c, int err)
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
	ipoib_conn_wake(c);
	mod_delayed_work(ipoib_wq, &c->work, 0);
}

void ipoib_conn_break(struct ipoib_conn *c, int err)
{
	spin_lock_bh(&c->lock);
	ipoib_conn_break_locked(c, err);
	spin_unlock_bh(&c->lock);
}

/*
 * A peer seems to have been restarted. What is sent to it by the old connection would be lost, and
 * the adapter takes long to say so.
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
		/* Another port may use the peer's name. */
		if (c->dlid == dlid)
			ipoib_conn_break_locked(c, 0);
		spin_unlock_bh(&c->lock);
	}
	rcu_read_unlock();
}

/*
 * A path is known again. A connection stays on the path that it was opened with: it is closed if
 * that is another one now. One that has failed is tried again with the next packet, unless the peer
 * has refused it.
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

/* How many packets may wait for a connection. No more than for all of them may. */
static unsigned int ipoib_conn_most(const struct ipoib_dev *priv)
{
	return clamp_t(unsigned int, READ_ONCE(priv->dev->tx_queue_len),
		       IPOIB_DEST_QUEUE, IPOIB_MAX_QUEUED);
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
	ipoib_dbg_cm_data(priv, "sending %u bytes by a connection to QPN %#x\n",
			  skb->len, c->qpn);
	skb_tx_timestamp(skb);
	/* One that had nothing to send was not stuck. */
	if (c->head == c->tail)
		c->progress = jiffies;
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
 * Sends what waits. Where others have taken all that the interface may send, no completion comes
 * that would send the rest: the work does. Called under the lock.
 */
void ipoib_conn_push(struct ipoib_conn *c)
{
	while (c->state == IPOIB_CONN_UP && !skb_queue_empty(&c->queue) &&
	       ipoib_conn_has_room(c)) {
		atomic_dec(&c->priv->cm.queued);
		ipoib_conn_post_or_drop(c, __skb_dequeue(&c->queue));
	}
	if (c->state == IPOIB_CONN_UP && !skb_queue_empty(&c->queue) &&
	    c->head == c->tail)
		queue_delayed_work(ipoib_wq, &c->work, IPOIB_CONN_STARVED);
	if (unlikely(c->stopped) &&
	    skb_queue_len(&c->queue) <= ipoib_conn_most(c->priv) / 4)
		ipoib_conn_wake(c);
}

/* Do so many packets wait, for it or for all, that the next ones may be lost? */
static bool ipoib_conn_is_crowded(const struct ipoib_conn *c)
{
	if (skb_queue_len(&c->queue) >= ipoib_conn_most(c->priv) / 2)
		return true;
	/* Where others' are many, its next completion lets the stack go on. */
	return c->head != c->tail &&
	       atomic_read(&c->priv->cm.queued) >= IPOIB_MAX_QUEUED / 2;
}

/*
 * Keeps the stack from sending more by the queue that a packet came from, before packets
 * are lost. Other neighbours' wait there, too: not for a connection that is stuck, so the
 * work looks at it. Called under the lock, and under the tx lock of that queue.
 */
static void ipoib_conn_hold_back(struct ipoib_conn *c, unsigned int queue)
{
	if (!ipoib_conn_is_crowded(c) || c->state != IPOIB_CONN_UP ||
	    time_after(jiffies, c->progress + IPOIB_CONN_STALLED))
		return;
	netif_tx_stop_queue(ipoib_txq(&c->priv->tx[queue]));
	__set_bit(queue, &c->stopped);
	queue_delayed_work(ipoib_wq, &c->work, IPOIB_CONN_STALLED);
}

/* Called under the lock. */
static void ipoib_conn_wait(struct ipoib_conn *c, struct sk_buff *skb)
{
	struct ipoib_dev *priv = c->priv;

	if (skb_queue_len(&c->queue) >= ipoib_conn_most(priv))
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
	unsigned int queue;

	if (likely(skb_queue_empty(&c->queue) && ipoib_conn_has_room(c))) {
		ipoib_conn_post_or_drop(c, skb);
		return;
	}
	queue = skb_get_queue_mapping(skb);
	ipoib_conn_wait(c, skb);
	ipoib_conn_push(c);
	ipoib_conn_hold_back(c, queue);
}

/*
 * A packet for a peer without a connection: false if it is to go by UD, else it was dropped. By UD
 * one that is too big tells its sender of a small MTU, which is remembered for minutes: not if the
 * peer is only being restarted. Called under the lock.
 */
bool ipoib_conn_fall_back(struct ipoib_conn *c, struct sk_buff *skb)
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

/*
 * False: the packet, from the encapsulation header on, is to go by UD; else it is consumed. Called
 * under rcu_read_lock() and a tx lock.
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

/* Called by NAPI's poll, or by ipoib_cm_reap() in its place; softirqs are off. */
void ipoib_conn_complete(struct ipoib_conn *c, const struct ib_wc *wc,
			 int budget)
{
	struct ipoib_tx_buf *buf = ipoib_conn_slot(c, c->tail);
	struct sk_buff *skb;
	unsigned int len;
	bool idle;

	if (WARN_ON_ONCE(READ_ONCE(c->head) == c->tail))
		return;

	skb = buf->skb;
	len = skb->len;
	ipoib_tx_unmap(c->priv, buf, ipoib_tx_pieces(skb, 0));
	ipoib_conn_sent(c, wc, len);
	napi_consume_skb(skb, budget);
	atomic_dec(&c->priv->cm.sends);

	spin_lock(&c->lock);
	c->tail++;
	c->progress = jiffies;
	if (likely(wc->status == IB_WC_SUCCESS)) {
		c->packets++;
		c->bytes += len;
		ipoib_conn_push(c);
	} else {
		ipoib_conn_break_locked(c, -ECONNRESET);
	}
	idle = c->state != IPOIB_CONN_UP && c->head == c->tail;
	spin_unlock(&c->lock);
	/* From here on it may be gone; but not its address. */
	if (unlikely(idle))
		wake_up_var(&c->tail);
}

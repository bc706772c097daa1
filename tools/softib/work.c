// SPDX-License-Identifier: GPL-2.0
/*
 * An HCA's work: it receives, answers and sends for all QPs
 */
#include "alloc.h"
#include "softib.h"

/* How much one run of the work may receive before others get a turn */
#define RX_BUDGET	64

/*
 * A CQ that is full takes its QP with it, and then rdmavt tells no consumer that the QP takes no
 * more from its SRQ.
 */
static unsigned long take_events(struct softib_qp *priv, u8 old_state)
{
	const struct rvt_qp *qp = priv->qp;
	unsigned long events = priv->events;

	if (qp->state == IB_QPS_ERR && old_state != IB_QPS_ERR && qp->ibqp.srq)
		__set_bit(IB_EVENT_QP_LAST_WQE_REACHED, &events);
	priv->events = 0;
	return events;
}

static void receive_qp(struct rvt_qp *qp, const struct softib_pkt *pkt)
{
	struct softib_qp *priv = qp->priv;
	struct softib_armed armed[2];
	unsigned long flags, events;
	u8 old_state;

	softib_cq_disarm(armed, qp);
	spin_lock_irqsave(&qp->r_lock, flags);
	spin_lock(&qp->s_lock);
	old_state = qp->state;
	switch (qp->ibqp.qp_type) {
	case IB_QPT_SMI:
	case IB_QPT_GSI:
	case IB_QPT_UD:
		softib_ud_receive(priv, pkt);
		break;
	case IB_QPT_RC:
	case IB_QPT_UC:
		softib_conn_receive(priv, pkt);
		break;
	default:
		break;
	}
	events = take_events(priv, old_state);
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->r_lock, flags);
	softib_cq_tell(armed);
	if (unlikely(events))
		softib_qp_report(qp, events);
}

static bool receive_mcast(struct softib_hca *hca, const struct softib_pkt *pkt)
{
	union ib_gid mgid;
	struct rvt_mcast *mcast;
	struct rvt_mcast_qp *p;

	if (!pkt->grh || !softib_lid_is_mcast(pkt->dlid))
		return false;
	mgid = pkt->grh->dgid;
	mcast = rvt_mcast_find(&hca->ibp, &mgid, pkt->dlid);
	if (!mcast)
		return false;
	list_for_each_entry_rcu(p, &mcast->qp_list, list)
		receive_qp(p->qp, pkt);
	/* The last but one reference is what rvt_detach_mcast() waits for. */
	if (atomic_dec_return(&mcast->refcount) <= 1)
		wake_up(&mcast->wait);
	return true;
}

static bool is_local_gid(struct softib_hca *hca, const union ib_gid *gid)
{
	struct softib_port *port = softib_hca_port(hca);
	int i;

	if (gid->global.subnet_prefix != READ_ONCE(hca->ibp.gid_prefix) &&
	    gid->global.subnet_prefix != SOFTIB_GID_PREFIX)
		return false;
	for (i = 0; i < SOFTIB_NGUIDS; i++)
		if (gid->global.interface_id &&
		    gid->global.interface_id == READ_ONCE(port->guids[i]))
			return true;
	return false;
}

/* IBA 9.6.1: the checks that come before those of the QP. The agents take the packet that
 * they answer.
 */
static bool receive(struct softib_hca *hca, struct sk_buff **skb)
{
	struct softib_port *port = softib_hca_port(hca);
	struct softib_pkt pkt;
	struct rvt_qp *qp;

	if (READ_ONCE(hca->deaf) || !softib_pkt_parse(*skb, &pkt))
		return false;
	if (pkt.qpn == SOFTIB_MULTICAST_QPN)
		return receive_mcast(hca, &pkt);
	if (softib_lid_is_mcast(pkt.dlid))
		return false;
	if (pkt.dlid == be16_to_cpu(IB_LID_PERMISSIVE)) {
		if (pkt.qpn)
			return false;
	} else if (!softib_port_has_lid(port, pkt.dlid)) {
		return false;
	}
	if (!pkt.qpn != (softib_vl(*skb) == SOFTIB_VL_SMP))
		return false;
	if (pkt.grh && !is_local_gid(hca, &pkt.grh->dgid))
		return false;
	if (pkt.qpn <= 1 && softib_mad_receive(hca, skb, &pkt))
		return true;

	qp = rvt_lookup_qpn(&hca->rdi, &hca->ibp, pkt.qpn);
	if (!qp)
		return false;
	receive_qp(qp, &pkt);
	return true;
}

static bool work_rx(struct softib_hca *hca)
{
	struct sk_buff *skb;
	int n;

	if (atomic_read(&hca->detaching))
		return false;
	for (n = 0; n < RX_BUDGET; n++) {
		if (skb_queue_empty_lockless(&hca->rxq))
			return false;
		skb = skb_dequeue(&hca->rxq);
		if (!skb)
			return false;
		rcu_read_lock();
		if (!receive(hca, &skb))
			hca->ibp.n_pkt_drops++;
		rcu_read_unlock();
		softib_pkt_done(skb);
	}
	return true;
}

/* One turn of one QP: build under its locks, transmit without. */
static bool work_qp(struct softib_hca *hca, struct softib_qp *priv)
{
	bool (*next)(struct softib_qp *priv, struct sk_buff_head *out);
	struct rvt_qp *qp = priv->qp;
	struct softib_armed armed[2];
	unsigned long flags, events;
	struct sk_buff_head out;
	struct sk_buff *skb;
	bool more = true;
	u8 old_state;
	int n;

	next = softib_is_connected(qp) ? softib_conn_send : softib_ud_send;
	__skb_queue_head_init(&out);
	softib_cq_disarm(armed, qp);
	spin_lock_irqsave(&qp->r_lock, flags);
	spin_lock(&qp->s_lock);
	old_state = qp->state;
	for (n = 0; more && n < SOFTIB_TX_BUDGET; n++)
		more = next(priv, &out);
	if (!more)
		softib_qp_drain(priv);
	events = take_events(priv, old_state);
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->r_lock, flags);

	softib_cq_tell(armed);
	while ((skb = __skb_dequeue(&out)))
		softib_hca_send(hca, skb);
	if (unlikely(events))
		softib_qp_report(qp, events);
	return more;
}

/* No more may be sent until enough of what was sent has been received. Returns
 * true if that happened in the meantime.
 */
static bool stall(struct softib_hca *hca, struct list_head *batch)
{
	unsigned long flags;

	spin_lock_irqsave(&hca->send_lock, flags);
	list_splice_init(batch, &hca->send_list);
	spin_unlock_irqrestore(&hca->send_lock, flags);

	atomic_set(&hca->stalled, 1);
	smp_mb__after_atomic(); /* pairs with the decrement in uncharge() */
	return atomic_read(&hca->inflight) < SOFTIB_INFLIGHT / 2 &&
	       atomic_xchg(&hca->stalled, 0);
}

static bool work_tx(struct softib_hca *hca)
{
	struct softib_qp *priv;
	unsigned long flags;
	bool again = false;
	LIST_HEAD(batch);

	if (READ_ONCE(hca->halted) || list_empty(&hca->send_list))
		return false;
	spin_lock_irqsave(&hca->send_lock, flags);
	list_splice_init(&hca->send_list, &batch);
	while (!list_empty(&batch)) {
		if (atomic_read(&hca->inflight) >= SOFTIB_INFLIGHT) {
			spin_unlock_irqrestore(&hca->send_lock, flags);
			return stall(hca, &batch);
		}
		priv = list_first_entry(&batch, struct softib_qp, send_node);
		list_del_init(&priv->send_node);
		spin_unlock_irqrestore(&hca->send_lock, flags);

		if (work_qp(hca, priv)) {
			again = true;
			softib_qp_schedule(priv->qp);
		}
		rvt_put_qp(priv->qp);
		spin_lock_irqsave(&hca->send_lock, flags);
	}
	spin_unlock_irqrestore(&hca->send_lock, flags);
	return again;
}

/* Is there anything that may be done now? */
static bool waits(struct softib_hca *hca)
{
	if (!skb_queue_empty_lockless(&hca->rxq) && !atomic_read(&hca->detaching))
		return true;
	return !list_empty(&hca->send_list) && !READ_ONCE(hca->halted) &&
	       !atomic_read(&hca->stalled);
}

/* Returns true if there is more to do. */
static bool run_hca(struct softib_hca *hca)
{
	bool again;

	lockdep_assert_held(&hca->run_lock);
	WRITE_ONCE(hca->running, true);
	again = work_rx(hca);
	again |= work_tx(hca);
	WRITE_ONCE(hca->running, false);
	/* Pairs with the barrier in kick(): one of both sees the other. */
	smp_mb();
	return again || waits(hca);
}

/*
 * In a thread, so that what a consumer posts in a row is sent, answered and told of in one go. With
 * softirqs off, for consumers that are told raise some.
 */
void softib_hca_work(struct work_struct *work)
{
	struct softib_hca *hca = container_of(work, struct softib_hca, work);
	bool again;

	spin_lock_bh(&hca->run_lock);
	again = run_hca(hca);
	spin_unlock_bh(&hca->run_lock);
	if (again)
		queue_work(softib_wq, &hca->work);
}

/*
 * In a softirq, because a consumer waits. What is more than one run may do is left to the thread.
 */
void softib_hca_soon(struct softib_hca *hca)
{
	bool again = true;

	if (spin_trylock(&hca->run_lock)) {
		again = run_hca(hca);
		spin_unlock(&hca->run_lock);
	}
	if (again)
		queue_work(softib_wq, &hca->work);
}

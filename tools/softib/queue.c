// SPDX-License-Identifier: GPL-2.0
/*
 * What waits for an HCA's work: QPs that may send, and packets that arrived; and the
 * way of its own packets to the link, for which it is charged
 */
#include <linux/wait_bit.h>

#include "softib.h"

static void schedule_locked(struct softib_hca *hca, struct softib_qp *priv)
{
	if (!list_empty(&priv->send_node))
		return;
	rvt_get_qp(priv->qp);
	list_add_tail(&priv->send_node, &hca->send_list);
}

/**
 * softib_qp_schedule - have the work look for something to send
 * @qp:	the QP
 *
 * May be called in any context, with any lock of the QP held.
 */
void softib_qp_schedule(struct rvt_qp *qp)
{
	struct softib_hca *hca = qp_to_hca(qp);
	unsigned long flags;

	spin_lock_irqsave(&hca->send_lock, flags);
	schedule_locked(hca, qp->priv);
	spin_unlock_irqrestore(&hca->send_lock, flags);
	queue_work(softib_wq, &hca->work);
}

/**
 * softib_qp_unschedule - take back softib_qp_schedule()
 * @qp:	the QP, in a state in which it sends nothing
 */
void softib_qp_unschedule(struct rvt_qp *qp)
{
	struct softib_hca *hca = qp_to_hca(qp);
	struct softib_qp *priv = qp->priv;
	unsigned long flags;
	bool queued;

	spin_lock_irqsave(&hca->send_lock, flags);
	queued = !list_empty(&priv->send_node);
	list_del_init(&priv->send_node);
	spin_unlock_irqrestore(&hca->send_lock, flags);
	if (queued)
		rvt_put_qp(qp);
}

/**
 * softib_qp_finish - let a QP send what has been posted
 * @qp:	the QP, without a lock
 *
 * As much as can be sent: what waits for credit, or an answer, stays.
 */
void softib_qp_finish(struct rvt_qp *qp)
{
	struct softib_hca *hca = qp_to_hca(qp);
	struct softib_qp *priv = qp->priv;
	int turns = qp->s_size / SOFTIB_TX_BUDGET + 1;

	do
		flush_work(&hca->work);
	while (--turns && !list_empty_careful(&priv->send_node));
}

/**
 * softib_hca_pause - have an HCA receive nothing, for a moment
 * @hca:	the HCA
 *
 * What comes waits.
 */
void softib_hca_pause(struct softib_hca *hca)
{
	atomic_inc(&hca->detaching);
	flush_work(&hca->work);
}

/**
 * softib_hca_resume - undo softib_hca_pause()
 * @hca:	the HCA
 */
void softib_hca_resume(struct softib_hca *hca)
{
	atomic_dec(&hca->detaching);
	queue_work(softib_wq, &hca->work);
}

/**
 * softib_hca_receive - a packet arrived for an HCA
 * @port:	its port
 * @skb:	the packet; consumed
 *
 * It waits for the work.
 */
void softib_hca_receive(struct softib_port *port, struct sk_buff *skb)
{
	struct softib_hca *hca = node_to_hca(port->node);

	/* What others are charged for has its limit there. */
	if (!skb->destructor &&
	    skb_queue_len_lockless(&hca->rxq) >= SOFTIB_BACKLOG) {
		hca->ibp.n_pkt_drops++;
		kfree_skb(skb);
		return;
	}
	skb_queue_tail(&hca->rxq, skb);
	queue_work(softib_wq, &hca->work);
}

/* The packet may be the last that softib_hca_destroy() waits for; then the HCA
 * lives until the end of this reader of RCU.
 */
static void uncharge(struct sk_buff *skb)
{
	struct softib_hca *hca = softib_cb(skb)->origin;
	int left;

	rcu_read_lock();
	left = atomic_dec_return(&hca->inflight);
	if (left < SOFTIB_INFLIGHT / 2 && atomic_read(&hca->stalled) &&
	    atomic_xchg(&hca->stalled, 0))
		queue_work(softib_wq, &hca->work);
	if (!left)
		wake_up_var(&hca->inflight);
	rcu_read_unlock();
}

/**
 * softib_hca_charge - charge an HCA for a packet until it is freed
 * @hca:	the HCA that is going to send it
 * @skb:	the packet, new
 */
void softib_hca_charge(struct softib_hca *hca, struct sk_buff *skb)
{
	*softib_cb(skb) = (struct softib_cb){ .origin = hca };
	atomic_inc(&hca->inflight);
	skb->destructor = uncharge;
}

/**
 * softib_hca_send - send a packet from an HCA
 * @hca:	the HCA
 * @skb:	the packet; consumed
 *
 * What is for the HCA itself never gets to the link; of a multicast packet the
 * HCA gets a copy, for a switch does not send it back.
 */
void softib_hca_send(struct softib_hca *hca, struct sk_buff *skb)
{
	struct softib_port *port = softib_hca_port(hca);
	u16 dlid = softib_dlid(skb);
	struct sk_buff *copy;

	if (softib_port_has_lid(port, dlid)) {
		hca->ibp.n_loop_pkts++;
		softib_hca_receive(port, skb);
		return;
	}
	if (softib_lid_is_mcast(dlid) && READ_ONCE(hca->rdi.n_mcast_grps_allocated)) {
		copy = skb_clone(skb, GFP_ATOMIC);
		if (copy)
			softib_hca_receive(port, copy);
	}
	softib_link_xmit(port, skb);
}

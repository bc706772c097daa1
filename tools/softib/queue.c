// SPDX-License-Identifier: GPL-2.0
/*
 * What waits for an HCA's work: QPs that may send, and packets that arrived; and the
 * way of its own packets to the link, for which it is charged
 */
#include <linux/wait_bit.h>

#include "softib.h"

/* How many runs of HCAs' work one softirq may do */
#define SOON_BUDGET	16

/* HCAs whose work is done in a softirq of this CPU: one after the other, and those that these
 * send to. Consumers' softirqs come behind all of them. One that wakes a process would have
 * the kernel leave to a thread whatever else is raised. With interrupts disabled.
 */
struct soon {
	struct list_head hcas;
	struct tasklet_struct tasklet;
	bool busy;
};

static DEFINE_PER_CPU(struct soon, soon);
static void (*soon_run)(struct softib_hca *hca);

static void add_soon(struct softib_hca *hca)
{
	struct soon *here;
	unsigned long flags;

	local_irq_save(flags);
	here = this_cpu_ptr(&soon);
	if (!xchg(&hca->soon, true)) {
		list_add_tail(&hca->soon_node, &here->hcas);
		if (!here->busy)
			tasklet_schedule(&here->tasklet);
	}
	local_irq_restore(flags);
}

static struct softib_hca *next_soon(struct soon *here)
{
	struct softib_hca *hca;

	local_irq_disable();
	hca = list_first_entry_or_null(&here->hcas, struct softib_hca, soon_node);
	here->busy = hca;
	if (hca) {
		list_del(&hca->soon_node);
		/* What is queued from here on is for the next time. */
		xchg(&hca->soon, false);
	}
	local_irq_enable();
	return hca;
}

static void do_soon(struct tasklet_struct *tasklet)
{
	struct soon *here = from_tasklet(here, tasklet, tasklet);
	struct softib_hca *hca;
	int n = SOON_BUDGET;

	rcu_read_lock();
	while ((hca = next_soon(here))) {
		if (n-- > 0)
			soon_run(hca);
		else
			queue_work(softib_wq, &hca->work);
		if (unlikely(READ_ONCE(hca->deaf)))
			wake_up_var(&hca->soon);
	}
	rcu_read_unlock();
}

/* @run does the work of one HCA. */
void softib_soon_init(void (*run)(struct softib_hca *hca))
{
	int cpu;

	soon_run = run;
	for_each_possible_cpu(cpu) {
		struct soon *there = per_cpu_ptr(&soon, cpu);

		INIT_LIST_HEAD(&there->hcas);
		tasklet_setup(&there->tasklet, do_soon);
	}
}

/* No HCA is left. */
void softib_soon_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(&soon, cpu)->tasklet);
}

/* Something waits. A run of the work that is under way looks once more at its end. */
static void kick(struct softib_hca *hca, bool now)
{
	/* Pairs with the barrier in run_hca() of work.c: one of both sees the other. */
	smp_mb();
	if (READ_ONCE(hca->running))
		return;
	if (now)
		add_soon(hca);
	else
		queue_work(softib_wq, &hca->work);
}

static void list_qp(struct softib_hca *hca, struct softib_qp *priv)
{
	unsigned long flags;

	spin_lock_irqsave(&hca->send_lock, flags);
	if (list_empty(&priv->send_node)) {
		rvt_get_qp(priv->qp);
		list_add_tail(&priv->send_node, &hca->send_list);
	}
	spin_unlock_irqrestore(&hca->send_lock, flags);
}

/* Has the work look for something to send. Any context, with any lock of the QP held. */
void softib_qp_schedule(struct rvt_qp *qp)
{
	struct softib_hca *hca = qp_to_hca(qp);

	list_qp(hca, qp->priv);
	kick(hca, false);
}

/* Does a consumer answer one message by one, and has it done so the last time? In a stream
 * one end sends, or gets, some in a row.
 */
static bool alternates(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp->priv;
	u32 msn = READ_ONCE(qp->r_msn);
	bool one, before;

	if (qp->ibqp.qp_type != IB_QPT_RC)
		return false;
	one = msn == READ_ONCE(priv->answered) + 1;
	before = READ_ONCE(priv->alternates);
	WRITE_ONCE(priv->answered, msn);
	if (before != one)
		WRITE_ONCE(priv->alternates, one);
	return one && before;
}

/*
 * A consumer has posted a work request to a QP that had none. Where the two ends take turns the
 * consumer waits for the request: it is sent in the consumer's context. Other requests wait for the
 * thread, which sends those that follow in the same go. No lock of the QP is held.
 */
void softib_qp_start(struct rvt_qp *qp)
{
	struct softib_hca *hca = qp_to_hca(qp);
	bool direct = !irqs_disabled();

	list_qp(hca, qp->priv);
	if (!alternates(qp)) {
		kick(hca, false);
		return;
	}
	/* Softirqs that are raised outside of all of them would go to a thread, too. */
	if (direct)
		local_bh_disable();
	kick(hca, true);
	if (direct)
		local_bh_enable();
}

/* Undoes softib_qp_schedule(). The QP is in a state in which it sends nothing. */
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

/*
 * Has a QP send what has been posted, as much as can be sent: what waits for credit, or an answer,
 * stays. No lock is held.
 */
void softib_qp_finish(struct rvt_qp *qp)
{
	struct softib_hca *hca = qp_to_hca(qp);
	struct softib_qp *priv = qp->priv;
	int turns = qp->s_size / SOFTIB_TX_BUDGET + 1;

	do {
		queue_work(softib_wq, &hca->work);
		flush_work(&hca->work);
	} while (--turns && !list_empty_careful(&priv->send_node));
}

/* Waits for the run of the HCA's work that is under way, in a thread or a softirq. */
void softib_hca_wait(struct softib_hca *hca)
{
	spin_lock_bh(&hca->run_lock);
	spin_unlock_bh(&hca->run_lock);
}

/* The HCA receives nothing until softib_hca_resume(): what comes waits. */
void softib_hca_pause(struct softib_hca *hca)
{
	atomic_inc(&hca->detaching);
	softib_hca_wait(hca);
}

void softib_hca_resume(struct softib_hca *hca)
{
	atomic_dec(&hca->detaching);
	queue_work(softib_wq, &hca->work);
}

/*
 * A packet arrived for an HCA, and is consumed. It waits for the work, which goes on as the
 * sender's does: in a thread or a softirq.
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
	kick(hca, in_serving_softirq());
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
		kick(hca, false);
	/* The barrier is that of the decrement: a waiter has made it deaf before. */
	if (!left && unlikely(READ_ONCE(hca->deaf)))
		wake_up_var(&hca->inflight);
	rcu_read_unlock();
}

/* Charges the HCA that is going to send a new packet, until the packet is freed. */
void softib_hca_charge(struct softib_hca *hca, struct sk_buff *skb)
{
	*softib_cb(skb) = (struct softib_cb){ .origin = hca };
	atomic_inc(&hca->inflight);
	skb->destructor = uncharge;
}

/*
 * Sends a packet from an HCA, and consumes it. What is for the HCA itself never gets to the link;
 * of a multicast packet the HCA gets a copy, for a switch does not send it back.
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

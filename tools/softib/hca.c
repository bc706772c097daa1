// SPDX-License-Identifier: GPL-2.0
/*
 * An HCA: its place in the fabric, and its work
 */
#include <linux/debugfs.h>
#include <linux/wait_bit.h>

#include "softib.h"

/* How much one run of the work may do before others get a turn */
#define RX_BUDGET	64
#define TX_BUDGET	16

/**
 * softib_pkey_ok - do two P_Keys match (IBA 10.9.3)?
 * @a:	one
 * @b:	the other
 *
 * Return: true if both are of one partition and one at least is a full member.
 */
bool softib_pkey_ok(u16 a, u16 b)
{
	return !((a ^ b) & 0x7fff) && (a & 0x7fff) && ((a | b) & 0x8000);
}

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
	int turns = qp->s_size / TX_BUDGET + 1;

	do
		flush_work(&hca->work);
	while (--turns && !list_empty_careful(&priv->send_node));
}

/* A CQ that is full takes its QP with it, and then rdmavt tells nobody that the QP takes
 * no more from its SRQ.
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
		skb = skb_dequeue(&hca->rxq);
		if (!skb)
			return false;
		rcu_read_lock();
		if (!receive(hca, &skb))
			hca->ibp.n_pkt_drops++;
		rcu_read_unlock();
		consume_skb(skb);
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
	for (n = 0; more && n < TX_BUDGET; n++)
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
	smp_mb__after_atomic(); /* pairs with the decrement in packet free */
	return atomic_read(&hca->inflight) < SOFTIB_INFLIGHT / 2 &&
	       atomic_xchg(&hca->stalled, 0);
}

static bool work_tx(struct softib_hca *hca)
{
	struct softib_qp *priv;
	unsigned long flags;
	bool again = false;
	LIST_HEAD(batch);

	if (READ_ONCE(hca->halted))
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

/* In a thread, so that what a consumer posts in a row is sent, answered and told
 * of in one go. With softirqs off, for consumers that are told raise some.
 */
static void hca_work(struct work_struct *work)
{
	struct softib_hca *hca = container_of(work, struct softib_hca, work);
	bool again;

	local_bh_disable();
	again = work_rx(hca);
	again |= work_tx(hca);
	local_bh_enable();
	if (again)
		queue_work(softib_wq, &hca->work);
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

static void hca_receive(struct softib_port *port, struct sk_buff *skb)
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
		hca_receive(port, skb);
		return;
	}
	if (softib_lid_is_mcast(dlid) && READ_ONCE(hca->rdi.n_mcast_grps_allocated)) {
		copy = skb_clone(skb, GFP_ATOMIC);
		if (copy)
			hca_receive(port, copy);
	}
	softib_link_xmit(port, skb);
}

static void hca_node_send(struct softib_node *node, struct sk_buff *skb)
{
	softib_hca_send(node_to_hca(node), skb);
}

/* The core copies the event and passes it on from a work queue, which it
 * flushes when it forgets the device.
 */
static void hca_port_event(struct softib_port *port, enum ib_event_type event)
{
	struct softib_hca *hca = node_to_hca(port->node);
	struct ib_event ev = {
		.device = &hca->rdi.ibdev,
		.element.port_num = port->num,
		.event = event,
	};

	if (hca->registered)
		ib_dispatch_event(&ev);
}

static const char *hca_get_desc(struct softib_node *node)
{
	return node_to_hca(node)->rdi.ibdev.node_desc;
}

static void hca_port_fill(struct softib_port *port, struct ib_port_info *info)
{
	const struct rvt_ibport *ibp = &node_to_hca(port->node)->ibp;

	info->cap_mask = cpu_to_be32(ibp->port_cap_flags);
	info->pkey_violations = cpu_to_be16(ibp->pkey_violations);
	info->qkey_violations = cpu_to_be16(ibp->qkey_violations);
}

/* rdmavt keeps its own copy of what it answers queries with. Zero clears a count. */
static void hca_port_update(struct softib_port *port, const struct ib_port_info *in)
{
	struct rvt_ibport *ibp = &node_to_hca(port->node)->ibp;
	const struct ib_port_info *info = &port->info;

	if (!in->pkey_violations)
		ibp->pkey_violations = 0;
	if (!in->qkey_violations)
		ibp->qkey_violations = 0;
	WRITE_ONCE(ibp->gid_prefix, info->gid_prefix);
	ibp->sm_lid = be16_to_cpu(info->sm_lid);
	ibp->sm_sl = info->neighbormtu_mastersmsl & 0xf;
	ibp->subnet_timeout = info->clientrereg_resv_subnetto & 0x1f;
}

static const struct softib_node_ops hca_ops = {
	.receive = hca_receive,
	.send = hca_node_send,
	.port_event = hca_port_event,
	.port_update = hca_port_update,
	.get_desc = hca_get_desc,
	.port_fill = hca_port_fill,
};

static void set_registered(struct softib_hca *hca, bool registered)
{
	unsigned long flags;

	spin_lock_irqsave(&softib_mgmt_lock, flags);
	hca->registered = registered;
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
}

static void hca_free(struct softib_hca *hca)
{
	softib_port_free(softib_hca_port(hca));
	device_unregister(hca->parent);
	rvt_dealloc_device(&hca->rdi);
}

/* What consumers have of the kinds that "rdma resource" does not count */
static int objects_show(struct seq_file *file, void *unused)
{
	struct softib_hca *hca = file->private;

	seq_printf(file, "ah %d\nmulticast_group %u\n",
		   READ_ONCE(hca->rdi.n_ahs_allocated),
		   READ_ONCE(hca->rdi.n_mcast_grps_allocated));
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(objects);

/**
 * softib_hca_create - make an HCA and add it to the fabric
 * @name:	its name
 * @guid:	node GUID; the port's is the next one
 * @vfs:	number of virtual functions
 *
 * softib_topology is held. Consumers see the HCA at once, with its port down:
 * nothing happens to it before they can hear of it.
 *
 * Return: the HCA or an error pointer.
 */
struct softib_hca *softib_hca_create(const char *name, u64 guid,
				     unsigned int vfs)
{
	struct rvt_dev_info *rdi;
	struct softib_hca *hca;
	int ret;

	rdi = rvt_alloc_device(sizeof(*hca), 1);
	if (!rdi)
		return ERR_PTR(-ENOMEM);
	hca = container_of(rdi, struct softib_hca, rdi);

	strscpy(hca->node.name, name, sizeof(hca->node.name));
	hca->node.ops = &hca_ops;
	hca->node.type = RDMA_NODE_IB_CA;
	hca->node.nports = 1;
	hca->node.guid = cpu_to_be64(guid);
	hca->node.ports = hca->ports;
	softib_traps_init(&hca->node);
	skb_queue_head_init(&hca->rxq);
	INIT_WORK(&hca->work, hca_work);
	spin_lock_init(&hca->send_lock);
	mutex_init(&hca->resize_lock);
	init_rwsem(&hca->iter_sem);
	INIT_LIST_HEAD(&hca->send_list);

	hca->parent = softib_device_create(name, vfs);
	if (IS_ERR(hca->parent)) {
		ret = PTR_ERR(hca->parent);
		goto err_dealloc;
	}
	ret = softib_port_init(softib_hca_port(hca), &hca->node, 1, guid + 1);
	if (ret)
		goto err_free;
	ret = softib_node_add(&hca->node);
	if (ret)
		goto err_free;
	ret = softib_verbs_init(hca);
	if (ret)
		goto err_remove;
	hca_port_update(softib_hca_port(hca), &softib_hca_port(hca)->info);
	ret = rvt_register_device(rdi);
	if (ret)
		goto err_remove;
	softib_verbs_registered(hca);
	set_registered(hca, true);
	hca->debugfs = debugfs_create_dir(name, softib_debugfs);
	debugfs_create_file("objects", 0400, hca->debugfs, hca, &objects_fops);
	return hca;

err_remove:
	softib_node_remove(&hca->node);
err_free:
	hca_free(hca);
	return ERR_PTR(ret);
err_dealloc:
	rvt_dealloc_device(rdi);
	return ERR_PTR(ret);
}

/**
 * softib_hca_unregister - take an HCA away from its consumers
 * @hca:	the HCA; softib_topology is held
 *
 * Its link still works, so that they can say goodbye, and its agents still answer.
 * Afterwards it has no QP, so it originates nothing but traps.
 */
void softib_hca_unregister(struct softib_hca *hca)
{
	/* Consumers wait for what they have posted. */
	softib_hca_halt(hca, false);
	debugfs_remove(hca->debugfs);
	set_registered(hca, false);
	/* Consumers go, and with them the QPs; then nobody is left to receive
	 * anything. rdmavt would let the consumers go, too, but free its table
	 * of QPs at once.
	 */
	ib_unregister_device(&hca->rdi.ibdev);
	WRITE_ONCE(hca->deaf, true);
	flush_work(&hca->work);
	rvt_unregister_device(&hca->rdi);
}

/**
 * softib_hca_destroy - take an HCA out of the fabric and free it
 * @hca:	the HCA, unregistered; softib_topology is held
 */
void softib_hca_destroy(struct softib_hca *hca)
{
	softib_node_remove(&hca->node);
	/* Its own packets may still be with others, and with itself. */
	wait_var_event(&hca->inflight, !atomic_read(&hca->inflight));
	synchronize_rcu_expedited();
	cancel_work_sync(&hca->work);
	skb_queue_purge(&hca->rxq);
	hca_free(hca);
}

static void kill_qp(struct rvt_qp *qp, u64 unused)
{
	struct softib_qp *priv = qp->priv;
	unsigned long events;

	spin_lock_irq(&qp->r_lock);
	spin_lock(&qp->s_hlock);
	spin_lock(&qp->s_lock);
	softib_qp_error(qp, IB_WC_WR_FLUSH_ERR);
	events = priv->events;
	priv->events = 0;
	spin_unlock(&qp->s_lock);
	spin_unlock(&qp->s_hlock);
	spin_unlock_irq(&qp->r_lock);
	softib_qp_report(qp, events);
}

/**
 * softib_hca_kill - have an HCA die (IBA 11.6.3.2, locally catastrophic error)
 * @hca:	the HCA; softib_topology is held
 *
 * Its port goes down and never up again, its QPs are in error, and consumers
 * are told. It can only be destroyed then.
 */
void softib_hca_kill(struct softib_hca *hca)
{
	struct softib_port *port = softib_hca_port(hca);

	spin_lock_irq(&softib_mgmt_lock);
	if (port->broken) {
		spin_unlock_irq(&softib_mgmt_lock);
		return;
	}
	port->broken = true;
	softib_port_retrain(port);
	softib_port_event(port, IB_EVENT_DEVICE_FATAL);
	spin_unlock_irq(&softib_mgmt_lock);
	down_read(&hca->iter_sem);
	rvt_qp_iter(&hca->rdi, 0, kill_qp);
	up_read(&hca->iter_sem);
	/* The QPs are flushed. */
	softib_hca_halt(hca, false);
}

/**
 * softib_hca_halt - have an HCA send nothing, or go on
 * @hca:	the HCA; softib_topology is held
 * @on:		whether it stands still
 *
 * What is posted waits, in whatever state its QP is, and unless that is reset it is lost
 * or completed only when the HCA goes on. Nothing of it is sent any more when this
 * returns. The HCA still receives, and its agents answer.
 */
void softib_hca_halt(struct softib_hca *hca, bool on)
{
	lockdep_assert_held(&softib_topology);
	WRITE_ONCE(hca->halted, on);
	queue_work(softib_wq, &hca->work);
	flush_work(&hca->work);
}

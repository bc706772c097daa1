// SPDX-License-Identifier: GPL-2.0
/*
 * An HCA: its place in the fabric, and its life
 */
#include <linux/debugfs.h>
#include <linux/wait_bit.h>

#include "softib.h"

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
	.receive = softib_hca_receive,
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

/*
 * Makes an HCA, and adds it to the fabric. @guid: of the node; the port's is the next one.
 * softib_topology is held. Consumers see the HCA at once, with its port down: nothing happens to it
 * before they can hear of it. Returns an error pointer on failure.
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
	INIT_WORK(&hca->work, softib_hca_work);
	spin_lock_init(&hca->run_lock);
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

/*
 * Takes an HCA away from its consumers. Its link still works, so that they can say goodbye, and its
 * agents still answer. Afterwards it has no QP, so it originates nothing but traps. softib_topology
 * is held.
 */
void softib_hca_unregister(struct softib_hca *hca)
{
	/* Consumers wait for what they have posted. */
	softib_hca_halt(hca, false);
	debugfs_remove(hca->debugfs);
	set_registered(hca, false);
	/*
	 * Consumers go, and with them the QPs; then none is left to receive anything. rdmavt would
	 * let the consumers go, too, but free its table of QPs at once.
	 */
	ib_unregister_device(&hca->rdi.ibdev);
	WRITE_ONCE(hca->deaf, true);
	softib_hca_wait(hca);
	rvt_unregister_device(&hca->rdi);
}

/* Takes an unregistered HCA out of the fabric and frees it. softib_topology is held. */
void softib_hca_destroy(struct softib_hca *hca)
{
	softib_node_remove(&hca->node);
	/* Its own packets may still be with others, and with itself. */
	wait_var_event(&hca->inflight, !atomic_read(&hca->inflight));
	wait_var_event(&hca->soon, !READ_ONCE(hca->soon));
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

/*
 * The HCA dies (IBA 11.6.3.2, locally catastrophic error): its port goes down and never up again,
 * its QPs are in error, and consumers are told. It can only be destroyed then. softib_topology is
 * held.
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

/*
 * @on: the HCA sends nothing. What is posted waits, in whatever state its QP is, until the HCA goes
 * on or the QP is reset or destroyed. When this returns nothing of it is sent any more. The HCA
 * still receives, and its agents answer. softib_topology is held.
 */
void softib_hca_halt(struct softib_hca *hca, bool on)
{
	lockdep_assert_held(&softib_topology);
	WRITE_ONCE(hca->halted, on);
	queue_work(softib_wq, &hca->work);
	softib_hca_wait(hca);
}

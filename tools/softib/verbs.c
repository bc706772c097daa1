// SPDX-License-Identifier: GPL-2.0
/*
 * What rdmavt asks of a driver
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/vmalloc.h>
#include <rdma/ib_mad.h>

#include "fail.h"
#include "softib.h"

/* rdmavt prints the name of a PCI device in front of its messages. */
static struct pci_dev no_pci_dev = { .dev.init_name = "softib" };

const enum ib_wc_opcode softib_wc_opcode[] = {
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP] = IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
	[IB_WR_LOCAL_INV] = IB_WC_LOCAL_INV,
	[IB_WR_REG_MR] = IB_WC_REG_MR,
	[IB_WR_LSO] = IB_WC_LSO,
};

#define QPT_UD	(BIT(IB_QPT_SMI) | BIT(IB_QPT_GSI) | BIT(IB_QPT_UD))
#define QPT_RC	BIT(IB_QPT_RC)
#define QPT_C	(BIT(IB_QPT_UC) | QPT_RC)

/* Which work requests may be posted on which QPs, IBA table 96 */
static const struct rvt_operation_params post_parms[RVT_OPERATION_MAX] = {
	[IB_WR_SEND] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = QPT_UD | QPT_C,
	},
	[IB_WR_SEND_WITH_IMM] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = QPT_UD | QPT_C,
	},
	[IB_WR_SEND_WITH_INV] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = QPT_RC,
	},
	[IB_WR_RDMA_WRITE] = {
		.length = sizeof(struct ib_rdma_wr),
		.qpt_support = QPT_C,
	},
	[IB_WR_RDMA_WRITE_WITH_IMM] = {
		.length = sizeof(struct ib_rdma_wr),
		.qpt_support = QPT_C,
	},
	[IB_WR_RDMA_READ] = {
		.length = sizeof(struct ib_rdma_wr),
		.qpt_support = QPT_RC,
		.flags = RVT_OPERATION_ATOMIC,
	},
	[IB_WR_ATOMIC_CMP_AND_SWP] = {
		.length = sizeof(struct ib_atomic_wr),
		.qpt_support = QPT_RC,
		.flags = RVT_OPERATION_ATOMIC | RVT_OPERATION_ATOMIC_SGE,
	},
	[IB_WR_ATOMIC_FETCH_AND_ADD] = {
		.length = sizeof(struct ib_atomic_wr),
		.qpt_support = QPT_RC,
		.flags = RVT_OPERATION_ATOMIC | RVT_OPERATION_ATOMIC_SGE,
	},
	[IB_WR_REG_MR] = {
		.length = sizeof(struct ib_reg_wr),
		.qpt_support = QPT_C,
		.flags = RVT_OPERATION_LOCAL,
	},
	[IB_WR_LOCAL_INV] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = QPT_C,
		.flags = RVT_OPERATION_LOCAL,
	},
	/* Its header is in the kernel's memory, whatever the pointer says. */
	[IB_WR_LSO] = {
		.length = sizeof(struct ib_ud_wr),
		.qpt_support = BIT(IB_QPT_UD),
		.flags = RVT_OPERATION_PRIV,
	},
};

static struct softib_hca *rdi_to_hca(struct rvt_dev_info *rdi)
{
	return container_of(rdi, struct softib_hca, rdi);
}

static struct pci_dev *get_pci_dev(struct rvt_dev_info *rdi)
{
	return &no_pci_dev;
}

static void *qp_priv_alloc(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	struct softib_qp *priv;

	priv = kzalloc(sizeof(*priv), GFP_KERNEL);
	if (!priv)
		return ERR_PTR(-ENOMEM);
	softib_qp_init(priv, qp);
	return priv;
}

/* rdmavt numbers QP0 and QP1 once in a device's life, but ib_mad makes them anew
 * after each move to another network namespace. No other caller makes any.
 */
static void forget_special(struct rvt_dev_info *rdi, enum ib_qp_type type)
{
	struct rvt_qpn_table *qpns = &rdi->qp_dev->qpn_table;
	unsigned int n = type == IB_QPT_GSI;

	if (rcu_access_pointer(rdi->ports[0]->qp[n]))
		return;
	spin_lock(&qpns->lock);
	qpns->flags &= ~BIT(n);
	spin_unlock(&qpns->lock);
}

static void qp_priv_free(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	struct softib_hca *hca = rdi_to_hca(rdi);
	enum ib_qp_type type = qp->ibqp.qp_type;
	struct softib_qp *priv = qp->priv;

	/*
	 * The last reference may have been the work's, which is still waking up the thread that
	 * frees the QP.
	 */
	softib_hca_wait(hca);
	/* rvt_qp_iter() holds a reference to the QP that it is at. But it follows the link
	 * to the next QP, which may be gone by then, after it has dropped the reference.
	 */
	down_write(&hca->iter_sem);
	up_write(&hca->iter_sem);
	if (type == IB_QPT_SMI || type == IB_QPT_GSI)
		forget_special(rdi, type);
	mutex_destroy(&priv->modify_lock);
	kfree(priv);
}

/* rdmavt insists on it, but never calls it. */
static unsigned int free_all_qps(struct rvt_dev_info *rdi)
{
	return 0;
}

static bool schedule_send(struct rvt_qp *qp)
{
	softib_qp_schedule(qp);
	return true;
}

/* With the state at RESET or ERR nothing is sent or received, whatever is
 * still queued: an HCA's work looks at the state under the QP's locks.
 */
static void qp_nothing(struct rvt_qp *qp)
{
}

static int setup_wqe(struct rvt_qp *qp, struct rvt_swqe *wqe, bool *call_send)
{
	struct rvt_ah *ah;
	u32 mtu;

	switch (qp->ibqp.qp_type) {
	case IB_QPT_SMI:
	case IB_QPT_GSI:
	case IB_QPT_UD:
		ah = rvt_get_swqe_ah(wqe);
		mtu = 1 << ah->log_pmtu;
		if (rvt_get_swqe_remote_qpn(wqe) & ~IB_QPN_MASK)
			return -EINVAL;
		if (wqe->wr.opcode == IB_WR_LSO)
			return softib_lso_setup(qp_to_hca(qp), wqe, mtu);
		if (wqe->length > mtu)
			return -EINVAL;
		if (qp->ibqp.qp_type == IB_QPT_GSI &&
		    rvt_get_swqe_pkey_index(wqe) >= softib_hca_port(qp_to_hca(qp))->npkeys)
			return -EINVAL;
		return 0;
	default:
		/* An atomic is one packet, however long it says that its answer may be. */
		if (wqe->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
		    wqe->wr.opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
			wqe->lpsn = wqe->psn;
		/* PSNs can be compared as long as half of them is not in use. */
		if (wqe->length > SOFTIB_MAX_MSG ||
		    wqe->length >> qp->log_pmtu > SOFTIB_MAX_PKTS)
			return -EINVAL;
		return 0;
	}
}

static enum ib_mtu active_mtu(struct softib_hca *hca)
{
	return softib_hca_port(hca)->info.neighbormtu_mastersmsl >> 4;
}

static void notify_new_ah(struct ib_device *ibdev, struct rdma_ah_attr *attr,
			  struct rvt_ah *ah)
{
	enum ib_mtu mtu = active_mtu(to_softib_hca(ibdev));

	ah->log_pmtu = ilog2(ib_mtu_enum_to_int(mtu));
}

static int get_pmtu_from_attr(struct rvt_dev_info *rdi, struct rvt_qp *qp,
			      struct ib_qp_attr *attr)
{
	if (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096)
		return -EINVAL;
	return min(attr->path_mtu, active_mtu(rdi_to_hca(rdi)));
}

static u32 mtu_from_qp(struct rvt_dev_info *rdi, struct rvt_qp *qp, u32 pmtu)
{
	return ib_mtu_enum_to_int(pmtu);
}

static int mtu_to_path_mtu(u32 mtu)
{
	return mtu >= 256 ? ilog2(mtu) - ilog2(256) + IB_MTU_256 : IB_MTU_256;
}

/* rdmavt takes the state that the consumer names for the QP's. */
static int check_modify_qp(struct rvt_qp *qp, struct ib_qp_attr *attr, int mask,
			   struct ib_udata *udata)
{
	return mask & IB_QP_CUR_STATE && attr->cur_qp_state != qp->state ? -EINVAL : 0;
}

static void modify_qp(struct rvt_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata)
{
	struct softib_qp *priv = qp->priv;

	if (mask & IB_QP_SQ_PSN) {
		priv->req_max = qp->s_psn;
		priv->req_asked = qp->s_psn;
		priv->req_pos.valid = false;
		priv->rd_pos.valid = false;
		priv->rd_psns = 0;
	}
	if (!(mask & IB_QP_STATE))
		return;
	priv->draining = attr->qp_state == IB_QPS_SQD &&
			 mask & IB_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify;
	/* A queue that was drained may hold what was posted since. In other states there is
	 * nothing to send, and a QP that is scheduled delays its own end.
	 */
	if (attr->qp_state == IB_QPS_RTS || attr->qp_state == IB_QPS_SQD)
		softib_qp_schedule(qp);
}

static int get_guid_be(struct rvt_dev_info *rdi, struct rvt_ibport *rvp,
		       int index, __be64 *guid)
{
	if (index < 0 || index >= SOFTIB_NGUIDS)
		return -EINVAL;
	*guid = READ_ONCE(softib_hca_port(rdi_to_hca(rdi))->guids[index]);
	return 0;
}

/* Called with a QP's locks held too, so it reads without one of its own. */
static int query_port_state(struct rvt_dev_info *rdi, u32 port_num,
			    struct ib_port_attr *props)
{
	struct softib_port *port = softib_hca_port(rdi_to_hca(rdi));
	const struct ib_port_info *info = &port->info;

	props->state = READ_ONCE(port->state);
	props->phys_state = info->portphysstate_linkdown >> 4;
	props->lid = READ_ONCE(port->lid);
	props->lmc = READ_ONCE(port->lmc);
	props->gid_tbl_len = SOFTIB_NGUIDS;
	props->active_width = info->link_width_active;
	props->active_speed = READ_ONCE(port->speed);
	props->max_vl_num = info->vlcap_inittype >> 4;
	props->max_mtu = info->inittypereply_mtucap & 0xf;
	props->active_mtu = info->neighbormtu_mastersmsl >> 4;
	return 0;
}

static int shut_down_port(struct rvt_dev_info *rdi, u32 port_num)
{
	return -EOPNOTSUPP;
}

static void cap_mask_chg(struct rvt_dev_info *rdi, u32 port_num)
{
	struct softib_hca *hca = rdi_to_hca(rdi);
	unsigned long flags;

	spin_lock_irqsave(&softib_mgmt_lock, flags);
	softib_trap(&hca->node, SOFTIB_TRAP_LOCAL_CHANGE);
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
}

static int comp_vect_cpu_lookup(struct rvt_dev_info *rdi, int vector)
{
	return cpumask_local_spread(vector, rdi->dparms.node);
}

static int modify_device(struct ib_device *ibdev, int mask,
			 struct ib_device_modify *modify)
{
	struct softib_node *node = &to_softib_hca(ibdev)->node;
	unsigned long flags;

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC) {
		spin_lock_irqsave(&softib_mgmt_lock, flags);
		memcpy(ibdev->node_desc, modify->node_desc,
		       sizeof(ibdev->node_desc));
		node->traps.changes |= SOFTIB_NODE_DESC_CHANGE;
		softib_trap(node, SOFTIB_TRAP_LOCAL_CHANGE);
		spin_unlock_irqrestore(&softib_mgmt_lock, flags);
	}
	return 0;
}

/* The queue was destroyed while it was being mapped. */
static void free_mmap_info(struct kref *ref)
{
	struct rvt_mmap_info *info = container_of(ref, struct rvt_mmap_info,
						  ref);
	struct rvt_dev_info *rdi = ib_to_rvt(info->context->device);

	/* It is there again if the queue got another size in the meantime. */
	spin_lock_irq(&rdi->pending_lock);
	list_del(&info->pending_mmaps);
	spin_unlock_irq(&rdi->pending_lock);
	vfree(info->obj);
	kfree(info);
}

/* Map a queue to user space. The mapping has references to the pages, not to
 * the queue: it may outlive the queue, the HCA and this module. That is what
 * makes it safe to take the HCA away from programs.
 */
static int mmap_queue(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	struct rvt_dev_info *rdi = ib_to_rvt(context->device);
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	struct rvt_mmap_info *info, *found = NULL;
	int ret;

	spin_lock_irq(&rdi->pending_lock);
	list_for_each_entry(info, &rdi->pending_mmaps, pending_mmaps) {
		if (info->context != context || info->offset != offset)
			continue;
		/* A thread that destroys the queue at this moment takes it off the list. */
		if (vma->vm_end - vma->vm_start <= info->size &&
		    kref_get_unless_zero(&info->ref)) {
			list_del_init(&info->pending_mmaps);
			found = info;
		}
		break;
	}
	spin_unlock_irq(&rdi->pending_lock);
	if (!found)
		return -EINVAL;
	ret = remap_vmalloc_range(vma, found->obj, 0);
	kref_put(&found->ref, free_mmap_info);
	return ret;
}

/* What programs have mapped they may keep. */
static void disassociate_ucontext(struct ib_ucontext *context)
{
}

static const struct attribute_group *port_groups[] = { NULL };

/* rdmavt knows nothing of these flags, and refuses what it does not know. */
static int create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		     struct ib_udata *udata)
{
	struct softib_hca *hca = to_softib_hca(ibqp->device);
	struct softib_inline *in = NULL;
	u32 known = 0;
	int ret;

	if (udata && !attr->srq) {
		ret = softib_guard_answer(udata);
		if (ret)
			return ret;
	}
	if (udata) {
		in = softib_inline_create(ibqp, &attr->cap);
		if (IS_ERR(in))
			return PTR_ERR(in);
	}
	if (!udata && attr->qp_type == IB_QPT_UD &&
	    hca->rdi.dparms.props.kernel_cap_flags & IBK_UD_TSO)
		known = attr->create_flags & IB_QP_CREATE_IPOIB_UD_LSO;
	attr->create_flags &= ~known;
	ret = hca->rvt_create_qp(ibqp, attr, udata);
	attr->create_flags |= known;
	if (ret) {
		softib_inline_destroy(in);
		return ret;
	}
	((struct softib_qp *)ibqp_to_rvtqp(ibqp)->priv)->in = in;
	attr->cap.max_inline_data = softib_inline_size(in);
	return 0;
}

static int query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init)
{
	struct softib_qp *priv = ibqp_to_rvtqp(ibqp)->priv;
	int ret = to_softib_hca(ibqp->device)->rvt_query_qp(ibqp, attr, mask, init);

	attr->cap.max_inline_data = softib_inline_size(priv->in);
	init->cap.max_inline_data = attr->cap.max_inline_data;
	return ret;
}

/*
 * A program may post what is never acknowledged, and go: hardware has mostly sent it by the time
 * that the QP is destroyed. mckey relies on it.
 */
static int destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rvt_qp *qp = ibqp_to_rvtqp(ibqp);
	struct softib_inline *in = ((struct softib_qp *)qp->priv)->in;
	int ret;

	if (ibqp->qp_type != IB_QPT_RC)
		softib_qp_finish(qp);
	ret = qp_to_hca(qp)->rvt_destroy_qp(ibqp, udata);
	if (!ret)
		softib_inline_destroy(in);
	return ret;
}

/* rdmavt drops its locks amid a reset, before it takes the QP out of its table:
 * meanwhile another thread of a program could put it in once more. Consumers in the
 * kernel know better, and may hold a lock.
 */
static int modify_qp_alone(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			   struct ib_udata *udata)
{
	struct rvt_qp *qp = ibqp_to_rvtqp(ibqp);
	struct softib_qp *priv = qp->priv;
	int ret;

	if (!udata)
		return qp_to_hca(qp)->rvt_modify_qp(ibqp, attr, mask, udata);
	mutex_lock(&priv->modify_lock);
	ret = qp_to_hca(qp)->rvt_modify_qp(ibqp, attr, mask, udata);
	mutex_unlock(&priv->modify_lock);
	return ret;
}

static int post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	struct rvt_qp *qp = ibqp_to_rvtqp(ibqp);
	int ret = qp_to_hca(qp)->rvt_post_recv(ibqp, wr, bad);

	softib_qp_posted(qp);
	return ret;
}

/*
 * rdmavt frees a group once it has no user, and does not wait until its last user has woken it up.
 */
static int detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct softib_hca *hca = to_softib_hca(ibqp->device);
	int ret;

	softib_hca_pause(hca);
	ret = hca->rvt_detach_mcast(ibqp, gid, lid);
	softib_hca_resume(hca);
	return ret;
}

/* Hardware has no room for more, and rdmavt does not look. */
static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	if (max_sg > pd->device->attrs.max_fast_reg_page_list_len)
		return ERR_PTR(-EINVAL);
	return to_softib_hca(pd->device)->rvt_alloc_mr(pd, type, max_sg);
}

static int no_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		  struct ib_udata *udata)
{
	return -EOPNOTSUPP;
}

/* What rdmavt puts in its place at registration, and does not export; before any
 * consumer sees the device. Called again when it moves to another namespace.
 */
static int wrap_ops(struct ib_device *ibdev)
{
	struct softib_hca *hca = to_softib_hca(ibdev);

	if (hca->rvt_create_qp)
		return 0;
	hca->rvt_create_qp = ibdev->ops.create_qp;
	hca->rvt_modify_qp = ibdev->ops.modify_qp;
	hca->rvt_destroy_qp = ibdev->ops.destroy_qp;
	hca->rvt_post_recv = ibdev->ops.post_recv;
	hca->rvt_detach_mcast = ibdev->ops.detach_mcast;
	hca->rvt_query_qp = ibdev->ops.query_qp;
	hca->rvt_alloc_mr = ibdev->ops.alloc_mr;
	ibdev->ops.create_qp = create_qp;
	ibdev->ops.query_qp = query_qp;
	ibdev->ops.alloc_mr = alloc_mr;
	ibdev->ops.modify_qp = modify_qp_alone;
	ibdev->ops.destroy_qp = destroy_qp;
	ibdev->ops.post_recv = post_recv;
	ibdev->ops.detach_mcast = detach_mcast;
	softib_guard_wrap(hca);
	if (!hca->rdi.dparms.props.max_srq)
		ibdev->ops.create_srq = no_srq;
	softib_fail_wrap(hca);
	return 0;
}

static const struct ib_device_ops device_ops = {
	.owner = THIS_MODULE,
	/* What user space binds its library by: libhfi1verbs speaks rdmavt's
	 * user interface and nothing more.
	 */
	.driver_id = RDMA_DRIVER_HFI1,
	.port_groups = port_groups,
	.enable_driver = wrap_ops,
	.modify_device = modify_device,
	.process_mad = softib_process_mad,
	.mmap = mmap_queue,
	.modify_srq = softib_modify_srq,
	.set_vf_link_state = softib_set_vf_link_state,
	.get_vf_config = softib_get_vf_config,
	.get_vf_stats = softib_get_vf_stats,
	.get_vf_guid = softib_get_vf_guid,
	.set_vf_guid = softib_set_vf_guid,
	.rdma_netdev_get_params = softib_netdev_params,
};

static const struct ib_device_ops movable_ops = {
	.disassociate_ucontext = disassociate_ucontext,
};

/*
 * After rvt_register_device(): allows that the HCA moves to another network namespace. The core
 * takes it from all its clients then, and gives it to them anew; without disassociation it refuses
 * the move. rdmavt's own MAD agent, which softib has no use for, would be left behind with a port
 * that is gone.
 */
void softib_verbs_registered(struct softib_hca *hca)
{
	struct ib_mad_agent *agent = hca->ibp.send_agent;

	hca->ibp.send_agent = NULL;
	if (agent)
		ib_unregister_mad_agent(agent);
	ib_set_device_ops(&hca->rdi.ibdev, &movable_ops);
}

static const struct rvt_driver_provided driver_f = {
	.get_pci_dev = get_pci_dev,
	.qp_priv_alloc = qp_priv_alloc,
	.qp_priv_free = qp_priv_free,
	.notify_qp_reset = softib_qp_reset,
	.free_all_qps = free_all_qps,
	.schedule_send = schedule_send,
	.schedule_send_no_lock = schedule_send,
	.do_send = softib_qp_start,
	.setup_wqe = setup_wqe,
	.flush_qp_waiters = qp_nothing,
	.stop_send_queue = softib_qp_unschedule,
	.quiesce_qp = softib_qp_quiesce,
	.notify_error_qp = softib_qp_error_notify,
	.notify_restart_rc = softib_req_timeout,
	.check_modify_qp = check_modify_qp,
	.modify_qp = modify_qp,
	.notify_new_ah = notify_new_ah,
	.get_pmtu_from_attr = get_pmtu_from_attr,
	.mtu_from_qp = mtu_from_qp,
	.mtu_to_path_mtu = mtu_to_path_mtu,
	.get_guid_be = get_guid_be,
	.query_port_state = query_port_state,
	.shut_down_port = shut_down_port,
	.cap_mask_chg = cap_mask_chg,
	.comp_vect_cpu_lookup = comp_vect_cpu_lookup,
};

static void init_props(struct softib_hca *hca)
{
	struct ib_device_attr *props = &hca->rdi.dparms.props;

	props->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR |
		IB_DEVICE_BAD_QKEY_CNTR | IB_DEVICE_SYS_IMAGE_GUID |
		IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_PORT_ACTIVE_EVENT |
		IB_DEVICE_MEM_MGT_EXTENSIONS;
	softib_offload_props(props);
	props->vendor_id = SOFTIB_VENDOR_ID;
	props->vendor_part_id = SOFTIB_DEVICE_ID;
	props->sys_image_guid = hca->node.guid;
	props->atomic_cap = IB_ATOMIC_GLOB;
	props->local_ca_ack_delay = 14;
}

static void init_params(struct rvt_driver_params *params)
{
	params->sge_copy_mode = RVT_SGE_COPY_MEMCPY;
	params->qpn_start = 1;
	params->qpn_inc = 1;
	params->qos_shift = 1;
	/* rdmavt must reserve one at least, at the start of a bitmap page. */
	params->qpn_res_start = RVT_BITS_PER_PAGE;
	params->qpn_res_end = RVT_BITS_PER_PAGE;
	params->psn_mask = SOFTIB_PSN_MASK;
	params->psn_modify_mask = SOFTIB_PSN_MASK;
	params->nports = 1;
	params->node = first_online_node;
	params->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	params->max_mad_size = IB_MGMT_MAD_SIZE;
}

/* Prepares an HCA for rvt_register_device(). */
int softib_verbs_init(struct softib_hca *hca)
{
	struct rvt_dev_info *rdi = &hca->rdi;
	struct ib_device *ibdev = &rdi->ibdev;
	int err;

	err = dev_set_name(&ibdev->dev, "%s", hca->node.name);
	if (err)
		return err;
	strscpy(ibdev->name, hca->node.name, IB_DEVICE_NAME_MAX);
	strscpy(ibdev->node_desc, hca->node.name, sizeof(ibdev->node_desc));
	ibdev->dev.parent = hca->parent;
	ibdev->node_guid = hca->node.guid;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_online_cpus();
	ib_set_device_ops(ibdev, &device_ops);

	init_props(hca);
	init_params(&rdi->dparms);
	softib_limits(hca);
	hca->has_netdev = softib_netdev_able();
	rdi->driver_f = driver_f;
	rdi->post_parms = post_parms;
	rdi->wc_opcode = softib_wc_opcode;

	spin_lock_init(&hca->ibp.lock);
	hca->ibp.port_cap_flags = IB_PORT_TRAP_SUP |
				  IB_PORT_SYS_IMAGE_GUID_SUP |
				  IB_PORT_CLIENT_REG_SUP |
				  SOFTIB_SPEEDS_SUP |
				  IB_PORT_CAP_MASK_NOTICE_SUP;
	return rvt_init_port(rdi, &hca->ibp, 0, softib_hca_port(hca)->pkeys);
}

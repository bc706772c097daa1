// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs calls and work requests that fail, in kernels with fault injection
 *
 * /sys/kernel/debug/softib/fail_verbs says which, as the kernel's own folders say
 * which allocations do; with nth those of a task also count for its fail-nth. Only
 * calls that an HCA may refuse are among them: if a consumer moves a queue pair to an
 * end, or destroys something, it has no other way. What management and programs in user
 * space ask for is left alone.
 *
 * /sys/kernel/debug/softib/fail_ends says which moves of a queue pair to an end fail after
 * all, with EIO, as of an HCA that does not answer.
 *
 * /sys/kernel/debug/softib/fail_requests says which work requests complete with
 * IB_WC_LOC_PROT_ERR, as with memory that the HCA may not use.
 */
#include "fail.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
#include <linux/debugfs.h>
#include <linux/fault-inject.h>

#include "compat.h"

static DECLARE_FAULT_ATTR(fail_verbs);
static DECLARE_FAULT_ATTR(fail_ends);
static DECLARE_FAULT_ATTR(fail_requests);
static bool fail_nth;

/* should_fail() looks at the task's fail-nth before anything else. */
static bool fails(void)
{
	if (!READ_ONCE(fail_nth) && !READ_ONCE(fail_verbs.probability))
		return false;
	return should_fail(&fail_verbs, 1);
}

static bool may_fail(const struct ib_qp *qp)
{
	return !qp->uobject && qp->qp_type != IB_QPT_SMI && qp->qp_type != IB_QPT_GSI;
}

static bool qp_fails(const struct ib_qp *qp)
{
	return may_fail(qp) && fails();
}

/* Not by fail-nth: see fails(). */
static bool told_to_fail(const struct ib_qp *qp, struct fault_attr *attr)
{
	return READ_ONCE(attr->probability) && may_fail(qp) && should_fail(attr, 1);
}

static const struct ib_device_ops *under(struct ib_device *ibdev)
{
	return &to_softib_hca(ibdev)->under;
}

static int fail_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return !udata && fails() ? -ENOMEM : under(pd->device)->alloc_pd(pd, udata);
}

static int fail_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
			  struct ib_udata *udata)
{
	return !udata && fails() ? -ENOMEM : under(ah->device)->create_ah(ah, attr, udata);
}

static int fail_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr,
			   struct ib_udata *udata)
{
	return !udata && fails() ? -ENOMEM : under(srq->device)->create_srq(srq, attr, udata);
}

static int fail_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			  struct ib_cq_udata *udata)
{
	return !udata && fails() ? -ENOMEM : under(cq->device)->create_cq(cq, attr, udata);
}

static int fail_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	bool management = attr->qp_type == IB_QPT_SMI || attr->qp_type == IB_QPT_GSI;

	if (!udata && !management && fails())
		return -ENOMEM;
	return under(qp->device)->create_qp(qp, attr, udata);
}

static int fail_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	bool end = mask & IB_QP_STATE &&
		   (attr->qp_state == IB_QPS_ERR || attr->qp_state == IB_QPS_RESET);

	if (end && told_to_fail(qp, &fail_ends))
		return -EIO;
	if (!end && qp_fails(qp))
		return -ENOMEM;
	return under(qp->device)->modify_qp(qp, attr, mask, udata);
}

static int fail_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	return qp_fails(qp) ? -ENOMEM : under(qp->device)->attach_mcast(qp, gid, lid);
}

static int fail_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	if (qp_fails(qp)) {
		*bad = wr;
		return -ENOMEM;
	}
	return under(qp->device)->post_send(qp, wr, bad);
}

static int fail_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	if (qp_fails(qp)) {
		*bad = wr;
		return -ENOMEM;
	}
	return under(qp->device)->post_recv(qp, wr, bad);
}

static int fail_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			      const struct ib_recv_wr **bad)
{
	if (!srq->uobject && fails()) {
		*bad = wr;
		return -ENOMEM;
	}
	return under(srq->device)->post_srq_recv(srq, wr, bad);
}

/*
 * Is the next work request of the QP, which is about to work on it, to complete with
 * IB_WC_LOC_PROT_ERR?
 */
bool softib_fail_request(const struct rvt_qp *qp)
{
	return told_to_fail(&qp->ibqp, &fail_requests);
}

void softib_fail_init(void)
{
	struct dentry *dir;

	dir = fault_create_debugfs_attr("fail_verbs", softib_debugfs, &fail_verbs);
	if (!IS_ERR(dir))
		debugfs_create_bool("nth", 0600, dir, &fail_nth);
	fault_create_debugfs_attr("fail_ends", softib_debugfs, &fail_ends);
	fault_create_debugfs_attr("fail_requests", softib_debugfs, &fail_requests);
}

/* Lets an HCA's calls fail. No consumer has seen it. */
void softib_fail_wrap(struct softib_hca *hca)
{
	struct ib_device *ibdev = &hca->rdi.ibdev;

	hca->under = ibdev->ops;
	ibdev->ops.alloc_pd = fail_alloc_pd;
	ibdev->ops.create_ah = fail_create_ah;
	ibdev->ops.create_srq = fail_create_srq;
	ibdev->ops.create_cq = fail_create_cq;
	ibdev->ops.create_qp = fail_create_qp;
	ibdev->ops.modify_qp = fail_modify_qp;
	ibdev->ops.attach_mcast = fail_attach_mcast;
	ibdev->ops.post_send = fail_post_send;
	ibdev->ops.post_recv = fail_post_recv;
	ibdev->ops.post_srq_recv = fail_post_srq_recv;
}
#endif /* CONFIG_FAULT_INJECTION_DEBUG_FS */

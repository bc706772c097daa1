// SPDX-License-Identifier: GPL-2.0
/*
 * Posts a receive to a queue pair that falls into error meanwhile, when loaded, and
 * fails to load if the receive does not come back.
 *
 * rdmavt looks at the state and then takes a lock; this module has taken that lock
 * before, and lets go of it when the state has changed.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_vt.h>
#include <rdma/rdmavt_qp.h>

#include "device_by_name.h"

MODULE_DESCRIPTION("Posts a receive while its queue pair falls into error");
MODULE_LICENSE("GPL");

static char *device = "softib0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "Device with the queue pair");

static struct ib_qp *late_qp;
static struct ib_cqe late_cqe;
static enum ib_wc_status late_status = IB_WC_SUCCESS;
static DECLARE_COMPLETION(late_begin);
static DECLARE_COMPLETION(late_end);
static bool late_posting;
static int late_ret;

static void late_done(struct ib_cq *cq, struct ib_wc *wc)
{
	late_status = wc->status;
}

static int late_post(void *unused)
{
	struct ib_recv_wr wr = { .wr_cqe = &late_cqe };

	wait_for_completion(&late_begin);
	WRITE_ONCE(late_posting, true);
	late_ret = ib_post_recv(late_qp, &wr, NULL);
	/* Not a step further in this module, which may go. */
	kthread_complete_and_exit(&late_end, 0);
}

/* Until the other CPU waits for the lock, or for a second at most; not every kind of
 * lock tells.
 */
static void late_wait(spinlock_t *lock)
{
	int i;

	for (i = 0; i < 1000 && !READ_ONCE(late_posting); i++)
		mdelay(1);
	for (i = 0; i < 100 && !spin_is_contended(lock); i++)
		mdelay(1);
}

static int late_error(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	spinlock_t *lock = &ibqp_to_rvtqp(late_qp)->r_rq.kwq->p_lock;
	int ret;

	/* The order of locks is wrong, but there is no other user of this queue pair. */
	lockdep_off();
	spin_lock_bh(lock);
	complete(&late_begin);
	late_wait(lock);
	ret = late_qp->device->ops.modify_qp(late_qp, &attr, IB_QP_STATE, NULL);
	spin_unlock_bh(lock);
	lockdep_on();
	return ret;
}

static int late_run(struct ib_cq *cq)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct task_struct *task;
	int ret;

	ret = ib_modify_qp(late_qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	late_cqe.done = late_done;
	task = kthread_run(late_post, NULL, "late");
	if (IS_ERR(task))
		return PTR_ERR(task);
	ret = late_error();
	wait_for_completion(&late_end);
	ib_process_cq_direct(cq, -1);
	if (ret || late_ret)
		return ret ?: late_ret;
	return late_status == IB_WC_WR_FLUSH_ERR ? 0 : -ETIME;
}

static int late_with(struct ib_device *dev)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 2, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_pd *pd = ib_alloc_pd(dev, 0);
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	init.send_cq = ib_alloc_cq(dev, NULL, 8, 0, IB_POLL_DIRECT);
	if (IS_ERR(init.send_cq)) {
		ret = PTR_ERR(init.send_cq);
		goto out_pd;
	}
	init.recv_cq = init.send_cq;
	late_qp = ib_create_qp(pd, &init);
	if (IS_ERR(late_qp)) {
		ret = PTR_ERR(late_qp);
		goto out_cq;
	}
	ret = late_run(init.recv_cq);
	ib_destroy_qp(late_qp);
out_cq:
	ib_free_cq(init.send_cq);
out_pd:
	ib_dealloc_pd(pd);
	return ret;
}

static int __init late_init(void)
{
	struct ib_device *dev;
	int ret;

	if (num_online_cpus() < 2)
		return -EBUSY;
	dev = device_by_name(device);
	if (!dev)
		return -ENODEV;
	ret = late_with(dev);
	ib_device_put(dev);
	return ret;
}

static void __exit late_exit(void)
{
}

module_init(late_init);
module_exit(late_exit);

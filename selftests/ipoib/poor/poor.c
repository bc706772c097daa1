// SPDX-License-Identifier: GPL-2.0
/*
 * Makes an adapter have less than it says, as long as this is loaded: its queue pairs
 * take fewer work requests, and it has no shared receive queues. So are real ones, whose
 * limits are those of small work requests.
 *
 *	insmod poor.ko device=softib0 most=1000
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "device_by_name.h"

MODULE_DESCRIPTION("Makes an adapter poorer than it says");
MODULE_LICENSE("GPL");

static char *device = "softib0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "The adapter");

static uint most = 1000;
module_param(most, uint, 0444);
MODULE_PARM_DESC(most, "Work requests in each direction of a queue pair");

static struct ib_device *poor_hca;
static int (*poor_make_qp)(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			   struct ib_udata *udata);
static int (*poor_make_srq)(struct ib_srq *srq, struct ib_srq_init_attr *attr,
			    struct ib_udata *udata);

static int poor_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			  struct ib_udata *udata)
{
	if (attr->cap.max_send_wr > most || attr->cap.max_recv_wr > most)
		return -ENOMEM;
	return poor_make_qp(qp, attr, udata);
}

static int poor_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr,
			   struct ib_udata *udata)
{
	return -EINVAL;
}

static int __init poor_init(void)
{
	poor_hca = device_by_name(device);
	if (!poor_hca)
		return -ENODEV;
	poor_make_qp = poor_hca->ops.create_qp;
	poor_make_srq = poor_hca->ops.create_srq;
	poor_hca->ops.create_qp = poor_create_qp;
	poor_hca->ops.create_srq = poor_create_srq;
	return 0;
}
module_init(poor_init);

static void __exit poor_exit(void)
{
	poor_hca->ops.create_qp = poor_make_qp;
	poor_hca->ops.create_srq = poor_make_srq;
	ib_device_put(poor_hca);
}
module_exit(poor_exit);

// SPDX-License-Identifier: GPL-2.0
/*
 * Makes an adapter have less than it says, as long as this is loaded: its queue pairs
 * take fewer work requests, and it has no shared receive queues. So are real ones, whose
 * limits are those of small work requests.
 *
 *	insmod poor.ko device=softib0 most=1000
 *	echo 300 > /sys/module/poor/parameters/buffers
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
module_param(most, uint, 0644);
MODULE_PARM_DESC(most, "Work requests in each direction of a queue pair");

static uint buffers = UINT_MAX;
module_param(buffers, uint, 0644);
MODULE_PARM_DESC(buffers, "Receives that can be posted in one call");

static struct ib_device *poor_hca;
static int (*poor_make_qp)(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			   struct ib_udata *udata);
static int (*poor_make_srq)(struct ib_srq *srq, struct ib_srq_init_attr *attr,
			    struct ib_udata *udata);
static int (*poor_take)(struct ib_qp *qp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

static int poor_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	const struct ib_recv_wr *w;
	unsigned int n = 0;

	for (w = wr; w; w = w->next)
		n++;
	if (n <= READ_ONCE(buffers))
		return poor_take(qp, wr, bad);
	*bad = wr;
	return -ENOMEM;
}

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
	poor_take = poor_hca->ops.post_recv;
	poor_hca->ops.create_qp = poor_create_qp;
	poor_hca->ops.create_srq = poor_create_srq;
	poor_hca->ops.post_recv = poor_post_recv;
	return 0;
}
module_init(poor_init);

static void __exit poor_exit(void)
{
	poor_hca->ops.create_qp = poor_make_qp;
	poor_hca->ops.create_srq = poor_make_srq;
	poor_hca->ops.post_recv = poor_take;
	ib_device_put(poor_hca);
}
module_exit(poor_exit);

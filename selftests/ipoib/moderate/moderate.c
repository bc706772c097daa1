// SPDX-License-Identifier: GPL-2.0
/*
 * Gives an adapter the interrupt moderation that it does not have, as long as this is
 * loaded. Nothing is moderated; it only tells what was asked for.
 *
 *	insmod moderate.ko device=softib0
 *	cat /sys/module/moderate/parameters/asked
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "device_by_name.h"

MODULE_DESCRIPTION("Gives an adapter interrupt moderation");
MODULE_LICENSE("GPL");

static char *device = "softib0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "The adapter, which has none");

static ushort most = 1000;
module_param(most, ushort, 0444);
MODULE_PARM_DESC(most, "Frames that it takes at most");

static struct ib_device *moderate_hca;
/* Of the last time that it was asked, and how often it was */
static u16 moderate_frames, moderate_usecs;
static uint moderate_times;

static int asked_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%u %u %u\n", moderate_frames, moderate_usecs, moderate_times);
}

static const struct kernel_param_ops asked_ops = { .get = asked_get };
module_param_cb(asked, &asked_ops, NULL, 0444);
MODULE_PARM_DESC(asked, "Frames and microseconds that it was asked for, and how often");

static int moderate_cq(struct ib_cq *cq, u16 frames, u16 usecs)
{
	if (frames > most)
		return -EINVAL;
	moderate_frames = frames;
	moderate_usecs = usecs;
	moderate_times++;
	return 0;
}

static int __init moderate_init(void)
{
	moderate_hca = device_by_name(device);
	if (!moderate_hca)
		return -ENODEV;
	if (moderate_hca->ops.modify_cq) {
		ib_device_put(moderate_hca);
		return -EBUSY;
	}
	moderate_hca->ops.modify_cq = moderate_cq;
	return 0;
}
module_init(moderate_init);

static void __exit moderate_exit(void)
{
	moderate_hca->ops.modify_cq = NULL;
	ib_device_put(moderate_hca);
}
module_exit(moderate_exit);

// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a function slow, so that what may happen before it does.
 *
 *	insmod slow.ko function=softib_qp_error us=20000
 *	cat /sys/module/slow/parameters/calls
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

MODULE_DESCRIPTION("Makes a function slow");
MODULE_LICENSE("GPL");

static char *function = "";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "Its name");

static uint us;
module_param(us, uint, 0444);
MODULE_PARM_DESC(us, "How much longer it takes, in microseconds, at most 100000");

static atomic_t slow_calls;

static int slow_calls_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&slow_calls));
}

static const struct kernel_param_ops slow_calls_ops = { .get = slow_calls_get };
module_param_cb(calls, &slow_calls_ops, NULL, 0444);
MODULE_PARM_DESC(calls, "How often it was called");

static int slow_enter(struct kprobe *probe, struct pt_regs *regs)
{
	atomic_inc(&slow_calls);
	mdelay(us / 1000);
	udelay(us % 1000);
	return 0;
}

static struct kprobe slow_probe = { .pre_handler = slow_enter };

static int __init slow_init(void)
{
	if (us > 100000)
		return -EINVAL;
	slow_probe.symbol_name = function;
	return register_kprobe(&slow_probe);
}
module_init(slow_init);

static void __exit slow_exit(void)
{
	unregister_kprobe(&slow_probe);
}
module_exit(slow_exit);

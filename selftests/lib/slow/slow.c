// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a function slow, so that what may happen before it does, or with after=1 what
 * may happen between its return and what follows that.
 *
 *	insmod slow.ko function=softib_qp_error us=20000
 *	cat /sys/module/slow/parameters/calls
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

MODULE_DESCRIPTION("Makes a function slow");
MODULE_LICENSE("GPL");

static char *function = "";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "Its name");

static uint us;
module_param(us, uint, 0444);
MODULE_PARM_DESC(us, "How much longer it takes, in microseconds, at most 2000000");

static bool after;
module_param(after, bool, 0444);
MODULE_PARM_DESC(after, "After what it does, not before");

static atomic_t slow_calls;

static int slow_calls_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&slow_calls));
}

static const struct kernel_param_ops slow_calls_ops = { .get = slow_calls_get };
module_param_cb(calls, &slow_calls_ops, NULL, 0444);
MODULE_PARM_DESC(calls, "How often it was called");

/* Not udelay(): a CPU that came up on a busy host may have measured its loops wrong. */
static void slow_delay(void)
{
	u64 end = ktime_get_mono_fast_ns() + (u64)us * NSEC_PER_USEC;

	while (ktime_get_mono_fast_ns() < end)
		cpu_relax();
}

static int slow_enter(struct kretprobe_instance *call, struct pt_regs *regs)
{
	atomic_inc(&slow_calls);
	if (!after)
		slow_delay();
	return 0;
}

static int slow_return(struct kretprobe_instance *call, struct pt_regs *regs)
{
	if (after)
		slow_delay();
	return 0;
}

static struct kretprobe slow_probe = {
	.entry_handler = slow_enter,
	.handler = slow_return,
	.maxactive = 64,
};

static int __init slow_init(void)
{
	if (us > 2000000)
		return -EINVAL;
	slow_probe.kp.symbol_name = function;
	return register_kretprobe(&slow_probe);
}
module_init(slow_init);

static void __exit slow_exit(void)
{
	unregister_kretprobe(&slow_probe);
}
module_exit(slow_exit);

// SPDX-License-Identifier: GPL-2.0
/*
 * Holds rtnl as long as this is loaded, as a driver does that waits for its adapter.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>

MODULE_DESCRIPTION("Holds rtnl");
MODULE_LICENSE("GPL");

static DECLARE_COMPLETION(hold_begun);
static struct task_struct *hold_task;

static int hold_run(void *unused)
{
	rtnl_lock();
	complete(&hold_begun);
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	rtnl_unlock();
	return 0;
}

static int __init hold_init(void)
{
	hold_task = kthread_run(hold_run, NULL, "hold");
	if (IS_ERR(hold_task))
		return PTR_ERR(hold_task);
	wait_for_completion(&hold_begun);
	return 0;
}
module_init(hold_init);

static void __exit hold_exit(void)
{
	kthread_stop(hold_task);
}
module_exit(hold_exit);

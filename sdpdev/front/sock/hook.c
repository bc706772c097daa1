// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints of the kernel, found by their names.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "front/sock/policy.h"

static void sdp_hook_compare(struct tracepoint *tp, void *data)
{
	struct sdp_hook *hook = data;

	if (!strcmp(tp->name, hook->name))
		hook->tp = tp;
}

/*
 * Lets a tracepoint call a function; does nothing if it does so already.  May sleep.  Returns
 * -EOPNOTSUPP if the kernel has no such tracepoint, and on PREEMPT_RT: the functions allocate and
 * take spinlocks, and the kernel calls them without preemption.
 */
int sdp_hook_on(struct sdp_hook *hook)
{
	int err;

	if (hook->tp)
		return 0;
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return -EOPNOTSUPP;
	for_each_kernel_tracepoint(sdp_hook_compare, hook);
	if (!hook->tp)
		return -EOPNOTSUPP;
	err = tracepoint_probe_register(hook->tp, hook->fn, NULL);
	if (err)
		hook->tp = NULL;
	return err;
}

/* May sleep.  No call is under way when this returns. */
void sdp_hook_off(struct sdp_hook *hook)
{
	if (!hook->tp)
		return;
	tracepoint_probe_unregister(hook->tp, hook->fn, NULL);
	hook->tp = NULL;
	tracepoint_synchronize_unregister();
}

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

/**
 * sdp_hook_on() - let a tracepoint call a function
 * @hook: which and what; nothing is done where it is on
 *
 * The functions allocate and take spinlocks, and the kernel calls them without preemption,
 * which does not go together on PREEMPT_RT.
 *
 * Context: may sleep.
 * Return: zero, -EOPNOTSUPP where the kernel has no such tracepoint or is PREEMPT_RT, or
 * -ENOMEM.
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

/**
 * sdp_hook_off() - the reverse
 * @hook: which; nothing is done where it is off
 *
 * Context: may sleep; no call is under way when it returns.
 */
void sdp_hook_off(struct sdp_hook *hook)
{
	if (!hook->tp)
		return;
	tracepoint_probe_unregister(hook->tp, hook->fn, NULL);
	hook->tp = NULL;
	tracepoint_synchronize_unregister();
}

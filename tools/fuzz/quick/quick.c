// SPDX-License-Identifier: GPL-2.0
/*
 * Takes from the checked kernel what makes it slow and finds nothing by itself: the stacks
 * that KASAN keeps of who allocated and who freed, and what remains of lockdep without
 * its checks.  The kernel has no switches for them.  It has to be booted with rodata=off.
 */
#include <linux/debug_locks.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

/* Returns 0 from now on, if it returns anything: xor %eax,%eax; ret */
static void empty(void *function)
{
	static const u8 nothing[] = { 0x31, 0xc0, 0xc3 };

	memcpy(function, nothing, sizeof(nothing));
}

static int __init quick_init(void)
{
	empty(stack_trace_save);
#ifdef CONFIG_LOCKDEP
	debug_locks_off();
	empty(lock_acquire);
	empty(lock_release);
#endif
	return 0;
}
module_init(quick_init);

/* What it has changed stays. */
static void __exit quick_exit(void)
{
}
module_exit(quick_exit);

MODULE_DESCRIPTION("What the fuzzer does without");
MODULE_LICENSE("GPL");

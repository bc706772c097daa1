// SPDX-License-Identifier: GPL-2.0
/*
 * Takes from the checked kernel what makes it slow and finds nothing by itself: the stacks
 * that KASAN keeps of each allocation and release, and what remains of lockdep without
 * its checks.  The kernel has no switches for them.  And what KASAN has called for each
 * atomic operation looks at the shadow itself before it calls what can check anything.
 * The kernel has to be booted with rodata=off.
 */
#include <linux/debug_locks.h>
#include <linux/irqflags.h>
#include <linux/kasan.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/stacktrace.h>
#include <linux/stop_machine.h>
#include <linux/string.h>

/* Returns 0 from now on, if it returns anything: xor %eax,%eax; ret */
static void empty(void *function)
{
	static const u8 nothing[] = { 0x31, 0xc0, 0xc3 };

	memcpy(function, nothing, sizeof(nothing));
}

#ifdef CONFIG_KASAN
/* What KASAN's compiled-in checks call where they cannot do it on the spot. */
void __asan_loadN(void *addr, ssize_t size);
void __asan_storeN(void *addr, ssize_t size);

/* All of it may be accessed, as the shadow of its first and last byte says. */
static __always_inline bool is_plain(const volatile void *p, unsigned int size)
{
	const void *first = (const void *)p, *last = first + size - 1;

	return size - 1 < 8 && (unsigned long)p >= PAGE_OFFSET &&
	       !*(const u8 *)kasan_mem_to_shadow(first) &&
	       !*(const u8 *)kasan_mem_to_shadow(last);
}

static bool check_read(const volatile void *p, unsigned int size)
{
	if (!is_plain(p, size))
		__asan_loadN((void *)p, size);
	return true;
}

static bool check_write(const volatile void *p, unsigned int size)
{
	if (!is_plain(p, size))
		__asan_storeN((void *)p, size);
	return true;
}

static struct {
	void *function, *by;
	u8 was[5];
} replaced[] = {
	{ __kasan_check_read, check_read },
	{ __kasan_check_write, check_write },
};

/* From now on the other functions are run: jmp */
static void quicken_kasan(void)
{
	u8 jump[sizeof(replaced->was)] = { 0xe9 };
	unsigned int i;
	s32 distance;

	for (i = 0; i < ARRAY_SIZE(replaced); i++) {
		distance = replaced[i].by - replaced[i].function - sizeof(jump);
		memcpy(jump + 1, &distance, sizeof(distance));
		memcpy(replaced[i].was, replaced[i].function, sizeof(jump));
		memcpy(replaced[i].function, jump, sizeof(jump));
	}
}

/* Its functions here go. */
static void restore_kasan(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(replaced); i++)
		memcpy(replaced[i].function, replaced[i].was, sizeof(replaced->was));
}
#else
static void quicken_kasan(void)
{
}

static void restore_kasan(void)
{
}
#endif

/* While no other CPU runs anything. */
static int quicken(void *unused)
{
	empty(stack_trace_save);
#ifdef CONFIG_LOCKDEP
	debug_locks_off();
	empty(lock_acquire);
	empty(lock_release);
	empty(trace_hardirqs_on);
	empty(trace_hardirqs_off);
	empty(debug_lockdep_rcu_enabled);
	empty(debug_check_no_locks_freed);
	empty(fs_reclaim_acquire);
	empty(fs_reclaim_release);
#endif
	quicken_kasan();
	return 0;
}

static int __init quick_init(void)
{
	return stop_machine(quicken, NULL, NULL);
}
module_init(quick_init);

static int restore(void *unused)
{
	restore_kasan();
	return 0;
}

/* What was emptied stays so. */
static void __exit quick_exit(void)
{
	stop_machine(restore, NULL, NULL);
}
module_exit(quick_exit);

MODULE_DESCRIPTION("What the fuzzer does without");
MODULE_LICENSE("GPL");

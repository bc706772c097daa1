// SPDX-License-Identifier: GPL-2.0
/*
 * Takes from the checked kernel what makes it slow and finds nothing by itself: the stacks
 * that KASAN keeps of who allocated and who freed, and what remains of lockdep without
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

/* From now on the other function is run: jmp */
static void replace(void *function, void *by)
{
	s32 distance = by - function - 5;
	u8 jump[5] = { 0xe9 };

	memcpy(jump + 1, &distance, sizeof(distance));
	memcpy(function, jump, sizeof(jump));
}

static void quicken_kasan(void)
{
	replace(__kasan_check_read, check_read);
	replace(__kasan_check_write, check_write);
}
#else
static void quicken_kasan(void)
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

/* What it has changed stays. */
static void __exit quick_exit(void)
{
}
module_exit(quick_exit);

MODULE_DESCRIPTION("What the fuzzer does without");
MODULE_LICENSE("GPL");

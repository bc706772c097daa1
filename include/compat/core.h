/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels: timers, memory, files, processes, tracing.
 */
#ifndef _COMPAT_CORE_H
#define _COMPAT_CORE_H

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#include <linux/hex.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define hrtimer_setup(timer, fn, clock, mode) \
	({ hrtimer_init(timer, clock, mode); (timer)->function = (fn); })
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define alloc_pages_bulk(gfp, count, pages)	alloc_pages_bulk_array(gfp, count, pages)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define timer_container_of(var, timer, field)	from_timer(var, timer, field)
#endif

/* What the tracepoint sched_process_exit calls. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define compat_exit_probe(fn) \
	void fn(void *data, struct task_struct *task, bool group_dead)
#else
#define compat_exit_probe(fn)	void fn(void *data, struct task_struct *task)
#endif

/* Work queues that are not unbound, and that are.  Newer kernels warn of the old names. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define WQ_PERCPU		0
#define system_percpu_wq	system_wq
#define system_dfl_wq		system_unbound_wq
#endif

/*
 * For a cache that slab_build_skb() gets objects of.  It expects krealloc() to leave an object
 * alone, which newer kernels do only if ksize() counts no word behind the object.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define COMPAT_SKB_CACHE	SLAB_TYPESAFE_BY_RCU
#else
#define COMPAT_SKB_CACHE	0
#endif

/* The file that a handler of sysctl is called for. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define compat_ctl_table	const struct ctl_table
#else
#define compat_ctl_table	struct ctl_table
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define iter_iov(iter)	((iter)->iov)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define copy_splice_read	generic_file_splice_read
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define vm_flags_mod(vma, set, clear) \
	((vma)->vm_flags = ((vma)->vm_flags | (set)) & ~(clear))
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define file_f_owner(file)	(&(file)->f_owner)
#endif

/* Where a lock has the file that it is taken on. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#include <linux/filelock.h>
#define file_lock_file(fl)	((fl)->c.flc_file)
#else
#define file_lock_file(fl)	((fl)->fl_file)
#endif

/* The string of a trace event: newer kernels remember it from __string(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define compat_assign_str(dst, src)	__assign_str(dst)
#else
#define compat_assign_str(dst, src)	__assign_str(dst, src)
#endif

/* A page may be one of several of a folio: programs have large ones. */
static inline size_t compat_copy_page_from_iter(struct page *page, size_t offset, size_t bytes,
						struct iov_iter *from)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	struct folio *folio = page_folio(page);

	return copy_folio_from_iter_atomic(folio, folio_page_idx(folio, page) * PAGE_SIZE + offset,
					   bytes, from);
#else
	return copy_page_from_iter_atomic(page, offset, bytes, from);
#endif
}

/* May a process with the same user look into this one? */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#include <linux/sched/exec_state.h>

static inline bool compat_dumpable(void)
{
	bool ret;

	rcu_read_lock();
	ret = READ_ONCE(rcu_dereference(current->exec_state)->dumpable) == TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return ret;
}
#else
#define compat_dumpable()	(get_dumpable(current->mm) == SUID_DUMP_USER)
#endif

#endif /* _COMPAT_CORE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that the project supports, in one place.
 * The code is written for the newest of them; what an older one lacks is
 * defined here under the newer kernel's name.
 */
#ifndef _COMPAT_H
#define _COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* The count of records that ib_sa_path_rec_get() calls back with. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define ib_sa_num_prs_t	unsigned int
#else
#define ib_sa_num_prs_t	int
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define IB_SPEED_XDR	256
/* Of these bits the code looks at one. */
#define COMPAT_SNDFLOW(sk)	(inet6_sk(sk)->sndflow)
#define inet6_test_bit(nr, sk)	COMPAT_##nr(sk)
#define COMPAT_DEFER_CONNECT(sk)	(inet_sk(sk)->defer_connect)
#define inet_test_bit(nr, sk)	COMPAT_##nr(sk)
#endif

/* What a driver is given to answer user space with that makes a completion queue. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define ib_cq_udata	uverbs_attr_bundle
#else
#define ib_cq_udata	ib_udata
#endif

/* What the tracepoint sched_process_exit calls. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define compat_exit_probe(fn) \
	void fn(void *data, struct task_struct *task, bool group_dead)
#else
#define compat_exit_probe(fn)	void fn(void *data, struct task_struct *task)
#endif

/* The file that a handler of sysctl is called for. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define compat_ctl_table	const struct ctl_table
#else
#define compat_ctl_table	struct ctl_table
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define register_net_sysctl_sz(net, path, table, size) \
	register_net_sysctl(net, path, table)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define iter_iov(iter)	((iter)->iov)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define copy_splice_read	generic_file_splice_read
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define slab_build_skb(data)	build_skb(data, 0)
#define vm_flags_mod(vma, set, clear) \
	((vma)->vm_flags = ((vma)->vm_flags | (set)) & ~(clear))
#endif

/* 6.1 has had it since a late stable release, as a macro. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#include <net/ip6_fib.h>
#ifndef dst_rt6_info
#define dst_rt6_info(ptr)	container_of(ptr, struct rt6_info, dst)
#endif
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

/* What an io_uring command carries, and whether 32-bit user space made it. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/io_uring/cmd.h>
#define io_uring_cmd_data(cmd)	io_uring_sqe_cmd((cmd)->sqe)
#else
#include <linux/io_uring.h>
#define io_uring_cmd_data(cmd)	((cmd)->cmd)
#define IO_URING_F_COMPAT	0
#endif

/* The string of a trace event: newer kernels remember it from __string(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define compat_assign_str(dst, src)	__assign_str(dst)
#else
#define compat_assign_str(dst, src)	__assign_str(dst, src)
#endif

/* What accept() of struct proto_ops is told. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define COMPAT_ACCEPT_ARGS	struct proto_accept_arg *arg
#define COMPAT_ACCEPT_PASS	arg
#define COMPAT_ACCEPT_FLAGS	((arg)->flags)
#else
#define COMPAT_ACCEPT_ARGS	int flags, bool kern
#define COMPAT_ACCEPT_PASS	flags, kern
#define COMPAT_ACCEPT_FLAGS	flags
#endif

/* An acknowledgment, at once. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define compat_tcp_send_ack(sk, seq)	__tcp_send_ack(sk, seq, 0)
#else
#define compat_tcp_send_ack(sk, seq)	__tcp_send_ack(sk, seq)
#endif

/* Where ioctl() of struct proto puts its answer, and how to read and write it. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define compat_ioctl_arg		int *
#define compat_ioctl_get(n, arg)	({ (n) = *(arg); 0; })
#define compat_ioctl_put(n, arg)	({ *(arg) = (n); 0; })
#else
#define compat_ioctl_arg		unsigned long
#define compat_ioctl_get(n, arg)	get_user(n, (int __user *)(arg))
#define compat_ioctl_put(n, arg)	put_user(n, (int __user *)(arg))
#endif

#endif /* _COMPAT_H */

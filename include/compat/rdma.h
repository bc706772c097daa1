/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels: verbs, the communication manager, the SA's client.
 */
#ifndef _COMPAT_RDMA_H
#define _COMPAT_RDMA_H

#include <linux/version.h>

/* The count of records that ib_sa_path_rec_get() calls back with. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define ib_sa_num_prs_t	unsigned int
#else
#define ib_sa_num_prs_t	int
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define IB_SPEED_XDR	256
#endif

/* What a driver is given to answer user space with that makes a completion queue. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define ib_cq_udata	uverbs_attr_bundle
#else
#define ib_cq_udata	ib_udata
#endif

/* How many entries user space wants in one, and the operation that gives them. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define compat_cqe_t	unsigned int
#else
#define compat_cqe_t	int
#define resize_user_cq	resize_cq
#endif

/* Have an MRA ready for a repeated message: 17 s, and what newer kernels take is longer. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define ib_prepare_cm_mra(cm_id)	ib_send_cm_mra(cm_id, IB_CM_MRA_FLAG_DELAY | 22, NULL, 0)
#endif

#endif /* _COMPAT_RDMA_H */

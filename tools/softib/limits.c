// SPDX-License-Identifier: GPL-2.0
/*
 * The abilities of HCAs: those of common ones, or those of a poor one
 */
#include <linux/module.h>

#include "softib.h"

#define LKEY_TABLE_BITS		18
#define QP_TABLE_SIZE		4096
#define MAX_SGE			SOFTIB_MAX_SGE

static bool srq = true;
module_param(srq, bool, 0644);
MODULE_PARM_DESC(srq, "HCAs made from now on have shared receive queues (default Y)");

static unsigned int send_sge = MAX_SGE;

static int send_sge_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, MAX_SGE);
}

static const struct kernel_param_ops send_sge_ops = {
	.set = send_sge_set,
	.get = param_get_uint,
};

module_param_cb(send_sge, &send_sge_ops, &send_sge, 0644);
MODULE_PARM_DESC(send_sge, "HCAs made from now on take sends in so many pieces, 1 to 32 (default 32)");

/* NodeInfo's PartitionCap has 16 bits, and the table whole blocks (IBA 14.2.5.3, 14.2.5.7). */
#define MAX_PKEYS		(U16_MAX / SOFTIB_PKEY_BLOCK * SOFTIB_PKEY_BLOCK)

static unsigned int pkeys = 4 * SOFTIB_PKEY_BLOCK;

static int pkeys_set(const char *val, const struct kernel_param *kp)
{
	unsigned int n;
	int ret = kstrtouint(val, 0, &n);

	if (ret)
		return ret;
	if (!n || n > MAX_PKEYS || n % SOFTIB_PKEY_BLOCK)
		return -EINVAL;
	WRITE_ONCE(pkeys, n);
	return 0;
}

static const struct kernel_param_ops pkeys_ops = {
	.set = pkeys_set,
	.get = param_get_uint,
};

module_param_cb(pkeys, &pkeys_ops, &pkeys, 0644);
MODULE_PARM_DESC(pkeys, "Ports of nodes made from now on have so many P_Keys, a multiple of 32 up to 65504 (default 128)");

/* Entries of the P_KeyTable of a port that is made now: whole blocks. */
u16 softib_npkeys(void)
{
	return READ_ONCE(pkeys);
}

static bool poor;
module_param(poor, bool, 0644);
MODULE_PARM_DESC(poor, "HCAs made from now on can do as little as old ones (default N)");

/**
 * struct limits - what differs between common HCAs and poor ones
 * @cqe:	entries of a CQ
 * @sge:	pieces of a send
 * @recv_sge:	pieces of a receive
 * @inline_data: bytes of inline data
 * @fast_pages:	pages that are registered fast at once
 * @rd_atomic:	RDMA reads and atomics under way on a QP, in each direction
 * @srq:	SRQs
 */
struct limits {
	u32 cqe;
	u8 sge;
	u8 recv_sge;
	u16 inline_data;
	u16 fast_pages;
	u8 rd_atomic;
	u32 srq;
};

static const struct limits common_limits = {
	.cqe = 4194303,
	.sge = MAX_SGE,
	.recv_sge = MAX_SGE,
	.inline_data = 512,
	.fast_pages = 4096,
	.rd_atomic = SOFTIB_MAX_RD_ATOMIC,
	.srq = 65536,
};

/* The CQ of the kernel's management agents has 1280 entries. */
static const struct limits poor_limits = {
	.cqe = 2047,
	.sge = 2,
	.recv_sge = 1,
	.fast_pages = 16,
	.rd_atomic = 1,
};

static void set_props(struct ib_device_attr *props, const struct limits *limits)
{
	props->page_size_cap = PAGE_SIZE;
	props->max_mr_size = U64_MAX;
	props->max_qp = 131072;
	props->max_qp_wr = 16384;
	props->max_send_sge = min_t(u32, READ_ONCE(send_sge), limits->sge);
	props->max_recv_sge = limits->recv_sge;
	props->max_sge_rd = limits->sge;
	props->max_cq = 65536;
	props->max_cqe = limits->cqe;
	props->max_mr = 1 << LKEY_TABLE_BITS;
	props->max_pd = 65536;
	props->max_ah = 65536;
	if (READ_ONCE(srq) && limits->srq) {
		props->max_srq = limits->srq;
		props->max_srq_wr = 16384;
		props->max_srq_sge = limits->recv_sge;
	}
	props->max_fast_reg_page_list_len = limits->fast_pages;
	props->max_qp_rd_atom = limits->rd_atomic;
	props->max_qp_init_rd_atom = limits->rd_atomic;
	props->max_res_rd_atom = limits->rd_atomic * props->max_qp;
	props->max_mcast_grp = 16384;
	props->max_mcast_qp_attach = 256;
	props->max_total_mcast_qp_attach = 16384 * 256;
}

/* Says how much an HCA can do that is being made. */
void softib_limits(struct softib_hca *hca)
{
	const struct limits *limits = READ_ONCE(poor) ? &poor_limits : &common_limits;
	struct rvt_driver_params *params = &hca->rdi.dparms;

	set_props(&params->props, limits);
	params->props.max_pkeys = softib_hca_port(hca)->npkeys;
	params->lkey_table_size = LKEY_TABLE_BITS;
	params->qp_table_size = QP_TABLE_SIZE;
	params->npkeys = softib_hca_port(hca)->npkeys;
	/* The ring of what a responder has to answer has SOFTIB_NACKS entries. */
	params->max_rdma_atomic = limits->rd_atomic;
	params->extra_rdma_atomic = SOFTIB_MAX_RD_ATOMIC - limits->rd_atomic;
	hca->max_inline = limits->inline_data;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Regions: what memory is registered with, made when there is need for one more, and kept
 * until the connection is destroyed.
 *
 * A peer may use what is registered in the protection domain of its queue pair, by a key
 * that can be guessed.  So a connection that has regions has a domain of its own: its peer
 * gets at nothing that is another peer's.
 */
#include <linux/slab.h>

#include "transport/verbs/verbs.h"

/* One in so many of a device's regions is not for SDP. */
#define SDP_RC_MR_RESERVE	8

static void sdp_rc_mr_reads(struct sdp_rc_conn *conn)
{
	const struct ib_device_attr *attrs = &conn->dev->device->attrs;
	u32 out = min_t(u32, attrs->max_qp_init_rd_atom, SDP_RC_READS);
	u32 in = min_t(u32, attrs->max_qp_rd_atom, SDP_RC_READS);

	conn->reads_out = conn->xc.max_mem ? min_t(u32, conn->reads_out, out) : 0;
	conn->reads_in = conn->xc.max_mem ? min_t(u32, conn->reads_in, in) : 0;
}

/* How much memory a connection may have, and where it is protected.  The device is known. */
int sdp_rc_mrs_init(struct sdp_rc_conn *conn, const struct sdp_xprt_params *params)
{
	struct ib_pd *pd;

	conn->xc.max_mem = params->rdma_depth ? sdp_rc_dev_mem(conn->dev->device) : 0;
	conn->max_mrs = conn->xc.max_mem ? params->rdma_depth : 0;
	sdp_rc_mr_reads(conn);
	conn->pd = conn->dev->pd;
	if (!conn->max_mrs)
		return 0;
	pd = ib_alloc_pd(conn->dev->device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	conn->pd = pd;
	return 0;
}

/*
 * Frees the regions.  The queue pair is gone; sdp_rc_mr_put() may be running.  In process context.
 */
void sdp_rc_mrs_exit(struct sdp_rc_conn *conn)
{
	struct sdp_rc_mr *mr, *next;

	spin_lock_bh(&conn->mr_lock);
	conn->max_mrs = 0;
	INIT_LIST_HEAD(&conn->free_mrs);
	spin_unlock_bh(&conn->mr_lock);

	list_for_each_entry_safe(mr, next, &conn->mrs, list) {
		ib_dereg_mr(mr->mr);
		kfree(mr);
	}
	INIT_LIST_HEAD(&conn->mrs);
	sdp_xprt_uncharge_mem(&conn->xc, conn->nr_mrs);
	conn->nr_mrs = 0;
	if (conn->pd != conn->dev->pd)
		ib_dealloc_pd(conn->pd);
}

static int sdp_rc_mr_make(struct sdp_rc_conn *conn, struct sdp_rc_mr *mr)
{
	u32 most = conn->dev->device->attrs.max_mr;
	int ret;

	ret = sdp_xprt_charge_mem(&conn->xc, most - most / SDP_RC_MR_RESERVE);
	if (ret)
		return ret;
	mr->mr = ib_alloc_mr(conn->pd, IB_MR_TYPE_MEM_REG, conn->xc.max_mem / PAGE_SIZE + 1);
	if (!IS_ERR(mr->mr))
		return 0;
	sdp_xprt_uncharge_mem(&conn->xc, 1);
	return PTR_ERR(mr->mr);
}

/* One more, which has been counted. */
static struct sdp_rc_mr *sdp_rc_mr_new(struct sdp_rc_conn *conn)
{
	struct sdp_rc_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	int ret = mr ? sdp_rc_mr_make(conn, mr) : -ENOMEM;

	spin_lock_bh(&conn->mr_lock);
	if (ret)
		conn->nr_mrs--;
	else
		list_add(&mr->list, &conn->mrs);
	spin_unlock_bh(&conn->mr_lock);
	if (!ret)
		return mr;
	kfree(mr);
	return ERR_PTR(ret);
}

/*
 * A region to register memory with, or ERR_PTR(): -ENOBUFS, -EDQUOT or -ENOMEM.  In process
 * context.
 */
struct sdp_rc_mr *sdp_rc_mr_get(struct sdp_rc_conn *conn)
{
	struct sdp_rc_mr *mr;
	bool more = false;

	spin_lock_bh(&conn->mr_lock);
	mr = list_first_entry_or_null(&conn->free_mrs, struct sdp_rc_mr, free);
	if (mr) {
		list_del(&mr->free);
	} else if (conn->nr_mrs < conn->max_mrs) {
		conn->nr_mrs++;
		more = true;
	}
	spin_unlock_bh(&conn->mr_lock);
	if (more)
		mr = sdp_rc_mr_new(conn);
	return mr ?: ERR_PTR(-ENOBUFS);
}

/*
 * A region with which nothing is posted is free again; the connection may have been destroyed.  In
 * any context but hard interrupts.
 */
void sdp_rc_mr_put(struct sdp_rc_conn *conn, struct sdp_rc_mr *mr)
{
	spin_lock_bh(&conn->mr_lock);
	/* Where there may be none it has been freed. */
	if (conn->max_mrs)
		list_add(&mr->free, &conn->free_mrs);
	spin_unlock_bh(&conn->mr_lock);
}

/**
 * sdp_rc_mr_ended() - the peer has ended a registration
 * @conn: the connection
 * @key: its key
 *
 * Context: softirq context.
 */
void sdp_rc_mr_ended(struct sdp_rc_conn *conn, u32 key)
{
	struct sdp_rc_mr *mr;

	spin_lock_bh(&conn->mr_lock);
	list_for_each_entry(mr, &conn->mrs, list)
		if (mr->mr->rkey == key)
			mr->valid = false;
	spin_unlock_bh(&conn->mr_lock);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that the devices of both ends use: registered by a work request (fast), read,
 * written, and forgotten.
 *
 * All of it is posted to the send queue, which the device takes in order: what is posted
 * behind a registration finds it.  The end of a registration that no peer can use is posted
 * when its region is used again.
 */
#include <linux/kref.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "transport/verbs/verbs.h"

/**
 * struct sdp_rc_mem - memory that a connection knows
 * @xm: what the protocol sees
 * @ref: the protocol, and each work request that registers it
 * @conn: the connection, referenced
 * @mr: the region
 * @sg: where it is
 * @nents: entries of that
 * @dir: which way bytes go
 * @access: bits of enum sdp_xprt_access
 * @cqe: of the operation that is posted
 * @done: the event that tells of its end
 * @ready: of the work requests that register it
 */
struct sdp_rc_mem {
	struct sdp_xprt_mem xm;
	struct kref ref;
	struct sdp_rc_conn *conn;
	struct sdp_rc_mr *mr;
	struct scatterlist *sg;
	unsigned int nents;
	enum dma_data_direction dir;
	u32 access;
	struct ib_cqe cqe;
	enum sdp_xprt_event_type done;
	struct ib_cqe ready;
};

static struct sdp_rc_mem *sdp_rc_mem(struct sdp_xprt_mem *xm)
{
	return container_of(xm, struct sdp_rc_mem, xm);
}

static void sdp_rc_mem_release(struct kref *ref)
{
	struct sdp_rc_mem *mem = container_of(ref, struct sdp_rc_mem, ref);
	struct sdp_rc_conn *conn = mem->conn;

	sdp_rc_mr_put(conn, mem->mr);
	kfree(mem);
	sdp_rc_conn_put(conn);
}

/* --- registration --------------------------------------------------------------- */

static void sdp_rc_mem_ready(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_rc_mem *mem = container_of(wc->wr_cqe, struct sdp_rc_mem, ready);
	struct sdp_rc_conn *conn = mem->conn;

	sdp_rc_wc_error(conn, wc, -EIO);
	/* The connection stays until what is posted has come back. */
	kref_put(&mem->ref, sdp_rc_mem_release);
	sdp_rc_posted_put(conn);
}

static int sdp_rc_mem_post(struct sdp_rc_mem *mem, struct ib_send_wr *wr)
{
	int ret;

	wr->wr_cqe = &mem->ready;
	kref_get(&mem->ref);
	ret = sdp_rc_post(mem->conn, wr);
	if (ret)
		kref_put(&mem->ref, sdp_rc_mem_release);
	return ret;
}

/* What the device is to let whom do. */
static int sdp_rc_mem_rights(const struct sdp_rc_mem *mem)
{
	int rights = 0;

	if (mem->access & SDP_XPRT_READ_SINK)
		rights |= IB_ACCESS_LOCAL_WRITE;
	if (mem->access & SDP_XPRT_PEER_READS)
		rights |= IB_ACCESS_REMOTE_READ;
	if (mem->access & SDP_XPRT_PEER_WRITES)
		rights |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	return rights;
}

/* Another key each time: an old one is of no use. */
static int sdp_rc_mem_register(struct sdp_rc_mem *mem)
{
	struct ib_mr *mr = mem->mr->mr;
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = mr->rkey,
	};
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mr,
		.access = sdp_rc_mem_rights(mem),
	};
	int ret = 0;

	if (mem->mr->valid)
		ret = sdp_rc_mem_post(mem, &inv);
	if (ret)
		return ret;
	mem->mr->valid = false;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	reg.key = mr->rkey;
	ret = sdp_rc_mem_post(mem, &reg.wr);
	if (ret)
		return ret;
	mem->mr->valid = true;
	return 0;
}

/* The bytes of a list that has no holes; zero for any other. */
static u64 sdp_rc_sg_bytes(struct scatterlist *sg, unsigned int nents)
{
	struct scatterlist *s;
	u64 bytes = 0;
	unsigned int i;

	for_each_sg(sg, s, nents, i) {
		if ((i && !PAGE_ALIGNED(s->offset)) ||
		    (i < nents - 1 && !PAGE_ALIGNED(s->offset + s->length)))
			return 0;
		bytes += s->length;
	}
	return bytes;
}

static enum dma_data_direction sdp_rc_mem_dir(u32 access)
{
	bool in = access & (SDP_XPRT_READ_SINK | SDP_XPRT_PEER_WRITES);
	bool out = access & (SDP_XPRT_WRITE_SOURCE | SDP_XPRT_PEER_READS);

	if (in && out)
		return DMA_BIDIRECTIONAL;
	return in ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

/* Tells the device where it is, and gives it a key. */
static int sdp_rc_mem_map(struct sdp_rc_mem *mem)
{
	struct ib_device *device = mem->conn->dev->device;
	int n, ret;

	n = ib_dma_map_sg(device, mem->sg, mem->nents, mem->dir);
	if (n <= 0)
		return -ENOMEM;
	ret = ib_map_mr_sg(mem->mr->mr, mem->sg, n, NULL, PAGE_SIZE);
	ret = ret == n ? sdp_rc_mem_register(mem) : -EINVAL;
	if (ret) {
		ib_dma_unmap_sg(device, mem->sg, mem->nents, mem->dir);
		return ret;
	}
	mem->xm.key = mem->mr->mr->rkey;
	mem->xm.addr = mem->mr->mr->iova;
	return 0;
}

/**
 * sdp_rc_mem_alloc() - struct sdp_xprt_ops.mem_alloc
 * @xc: the connection
 * @sg: where the memory is
 * @nents: entries of that
 * @access: what it is for
 */
struct sdp_xprt_mem *sdp_rc_mem_alloc(struct sdp_xprt_conn *xc, struct scatterlist *sg,
				      unsigned int nents, u32 access)
{
	struct sdp_rc_conn *conn = sdp_rc_conn(xc);
	u64 bytes = sdp_rc_sg_bytes(sg, nents);
	struct sdp_rc_mem *mem;
	int ret;

	if (!sdp_rc_can_post(conn))
		return ERR_PTR(-ENOTCONN);
	if (!bytes || bytes > xc->max_mem)
		return ERR_PTR(-EINVAL);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->mr = sdp_rc_mr_get(conn);
	if (IS_ERR(mem->mr)) {
		ret = PTR_ERR(mem->mr);
		kfree(mem);
		return ERR_PTR(ret);
	}
	kref_init(&mem->ref);
	kref_get(&conn->ref);
	INIT_LIST_HEAD(&mem->xm.list);
	mem->xm.len = bytes;
	mem->conn = conn;
	mem->sg = sg;
	mem->nents = nents;
	mem->dir = sdp_rc_mem_dir(access);
	mem->access = access;
	mem->ready.done = sdp_rc_mem_ready;
	ret = sdp_rc_mem_map(mem);
	if (!ret)
		return &mem->xm;
	kref_put(&mem->ref, sdp_rc_mem_release);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(sdp_rc_mem_alloc);

/**
 * sdp_rc_mem_free() - struct sdp_xprt_ops.mem_free
 * @xc: the connection
 * @xm: memory that is not posted, and that the peer cannot use
 */
void sdp_rc_mem_free(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm)
{
	struct sdp_rc_mem *mem = sdp_rc_mem(xm);

	ib_dma_unmap_sg(mem->conn->dev->device, mem->sg, mem->nents, mem->dir);
	kref_put(&mem->ref, sdp_rc_mem_release);
}
EXPORT_SYMBOL_GPL(sdp_rc_mem_free);

/* --- operations ----------------------------------------------------------------- */

static void sdp_rc_mem_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_rc_mem *mem = container_of(wc->wr_cqe, struct sdp_rc_mem, cqe);
	struct sdp_rc_conn *conn = mem->conn;
	struct sdp_xprt_event ev = {
		.type = mem->done,
		.mem = &mem->xm,
		.error = sdp_rc_wc_error(conn, wc, -EREMOTEIO),
	};

	if (!ev.error && mem->done == SDP_XPRT_INVALIDATE_DONE)
		mem->mr->valid = false;
	sdp_rc_conn_event(conn, &ev);
	sdp_rc_posted_put(conn);
}

static int sdp_rc_mem_operate(struct sdp_rc_mem *mem, struct ib_send_wr *wr,
			      enum sdp_xprt_event_type done)
{
	mem->done = done;
	mem->cqe.done = sdp_rc_mem_done;
	wr->wr_cqe = &mem->cqe;
	return sdp_rc_post(mem->conn, wr);
}

/**
 * sdp_rc_invalidate() - struct sdp_xprt_ops.invalidate
 * @xc: the connection
 * @xm: the memory
 */
int sdp_rc_invalidate(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = xm->key,
	};

	return sdp_rc_mem_operate(sdp_rc_mem(xm), &wr, SDP_XPRT_INVALIDATE_DONE);
}
EXPORT_SYMBOL_GPL(sdp_rc_invalidate);

static int sdp_rc_mem_move(struct sdp_rc_mem *mem, u32 off, const struct sdp_xprt_remote *there,
			   enum ib_wr_opcode opcode, enum sdp_xprt_event_type done)
{
	const struct ib_mr *mr = mem->mr->mr;
	struct ib_sge sge = {
		.addr = mr->iova + off,
		.length = there->len,
		.lkey = mr->lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.opcode = opcode,
		.wr.sg_list = &sge,
		.wr.num_sge = !!there->len,
		.remote_addr = there->addr,
		.rkey = there->key,
	};

	if ((u64)off + there->len > mem->xm.len)
		return -EINVAL;
	return sdp_rc_mem_operate(mem, &wr.wr, done);
}

/**
 * sdp_rc_post_read() - struct sdp_xprt_ops.post_read
 * @xc: the connection
 * @xm: where the bytes go
 * @off: from which byte of it on
 * @from: where they are
 */
int sdp_rc_post_read(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		     const struct sdp_xprt_remote *from)
{
	struct sdp_rc_mem *mem = sdp_rc_mem(xm);

	if (!(mem->access & SDP_XPRT_READ_SINK))
		return -EINVAL;
	if (!mem->conn->reads_out)
		return -EOPNOTSUPP;
	return sdp_rc_mem_move(mem, off, from, IB_WR_RDMA_READ, SDP_XPRT_READ_DONE);
}
EXPORT_SYMBOL_GPL(sdp_rc_post_read);

/**
 * sdp_rc_post_write() - struct sdp_xprt_ops.post_write
 * @xc: the connection
 * @xm: where the bytes are
 * @off: from which byte of it on
 * @to: where they go
 */
int sdp_rc_post_write(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		      const struct sdp_xprt_remote *to)
{
	struct sdp_rc_mem *mem = sdp_rc_mem(xm);

	if (!(mem->access & SDP_XPRT_WRITE_SOURCE))
		return -EINVAL;
	return sdp_rc_mem_move(mem, off, to, IB_WR_RDMA_WRITE, SDP_XPRT_WRITE_DONE);
}
EXPORT_SYMBOL_GPL(sdp_rc_post_write);

// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers: where their memory is, how it is posted, and how it comes back.
 *
 * Every work request asks for a completion, which gives the buffer back.  The device's
 * addresses of a buffer are in the scatter list that it is posted with.
 */
#include <linux/bvec.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "transport/verbs/verbs.h"

/**
 * struct sdp_rc_buf - a message buffer
 * @xb: what the protocol sees
 * @cqe: finds the buffer from its completion
 * @conn: the connection, referenced
 * @dir: DMA_FROM_DEVICE to receive, DMA_TO_DEVICE to send
 * @head: bytes at @xb.head
 * @whole: where the device puts a message that goes to @xb.head and @xb.data, if it cannot
 *	put it into two places; else NULL
 * @pieces: how many follow @xb.data in the message that is posted
 * @sge: as the device sees it: @whole; or @xb.head if there is one, @xb.data, and the pieces
 */
struct sdp_rc_buf {
	struct sdp_xprt_buf xb;
	struct ib_cqe cqe;
	struct sdp_rc_conn *conn;
	enum dma_data_direction dir;
	u32 head;
	void *whole;
	u32 pieces;
	struct ib_sge sge[];
};

/*
 * The control group that pays for it may be full: then there is no buffer, and
 * no process is killed for it.
 */
#define SDP_RC_BUF_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/* The same without sleeping, and without the reserves of memory, which others need more. */
#define SDP_RC_TAKE_GFP	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

/* --- memory --------------------------------------------------------------------- */

static struct sdp_rc_buf *sdp_rc_buf(struct sdp_xprt_buf *xb)
{
	return container_of(xb, struct sdp_rc_buf, xb);
}

static struct ib_device *sdp_rc_buf_device(const struct sdp_rc_buf *buf)
{
	return buf->conn->dev->device;
}

/* The entry of @buf->xb.data. */
static struct ib_sge *sdp_rc_buf_sge(struct sdp_rc_buf *buf)
{
	return &buf->sge[buf->head ? 1 : 0];
}

static void *sdp_rc_page_alloc(u32 size, gfp_t gfp)
{
	struct page *page = alloc_pages(gfp | __GFP_COMP, get_order(size));

	return page ? page_address(page) : NULL;
}

static void sdp_rc_data_free(struct sdp_rc_buf *buf, void *data)
{
	if (buf->head)
		put_page(virt_to_page(data));
	else
		kfree(data);
}

/* Tells the device of memory; zero or a negative errno. */
static int sdp_rc_sge_map(struct sdp_rc_buf *buf, struct ib_sge *sge, void *data, u32 len)
{
	struct ib_device *device = sdp_rc_buf_device(buf);

	sge->addr = ib_dma_map_single(device, data, len, buf->dir);
	sge->length = len;
	sge->lkey = buf->conn->pd->local_dma_lkey;
	return ib_dma_mapping_error(device, sge->addr);
}

static int sdp_rc_buf_map(struct sdp_rc_buf *buf)
{
	int ret;

	if (buf->whole)
		return sdp_rc_sge_map(buf, &buf->sge[0], buf->whole, buf->head + buf->xb.size);
	ret = sdp_rc_sge_map(buf, sdp_rc_buf_sge(buf), buf->xb.data, buf->xb.size);
	if (ret || !buf->head)
		return ret;
	ret = sdp_rc_sge_map(buf, &buf->sge[0], buf->xb.head, buf->head);
	if (ret)
		ib_dma_unmap_single(sdp_rc_buf_device(buf), sdp_rc_buf_sge(buf)->addr,
				    buf->xb.size, buf->dir);
	return ret;
}

static void sdp_rc_buf_unmap(struct sdp_rc_buf *buf)
{
	struct ib_device *device = sdp_rc_buf_device(buf);

	if (buf->whole) {
		ib_dma_unmap_single(device, buf->sge[0].addr, buf->head + buf->xb.size, buf->dir);
		return;
	}
	if (buf->head)
		ib_dma_unmap_single(device, buf->sge[0].addr, buf->head, buf->dir);
	ib_dma_unmap_single(device, sdp_rc_buf_sge(buf)->addr, buf->xb.size, buf->dir);
}

static bool sdp_rc_buf_size_ok(u32 size, u32 head)
{
	if (head)
		return is_power_of_2(size) && size >= PAGE_SIZE && size <= SDP_RC_MAX_SPLIT;
	return size && size <= SDP_RC_MAX_BUF;
}

/* False where there is not enough, and then some may be there. */
static bool sdp_rc_buf_memory(struct sdp_rc_buf *buf)
{
	u32 size = buf->xb.size;

	if (!buf->head) {
		buf->xb.data = kmalloc(size, SDP_RC_BUF_GFP);
		return buf->xb.data;
	}
	buf->xb.head = kmalloc(buf->head, SDP_RC_BUF_GFP);
	buf->xb.data = sdp_rc_page_alloc(size, SDP_RC_BUF_GFP);
	if (sdp_rc_dev_whole(buf->conn->dev)) {
		buf->whole = kmalloc(buf->head + size, SDP_RC_BUF_GFP);
		if (!buf->whole)
			return false;
	}
	return buf->xb.head && buf->xb.data;
}

static void sdp_rc_buf_release(struct sdp_rc_buf *buf)
{
	if (buf->xb.data)
		sdp_rc_data_free(buf, buf->xb.data);
	kfree(buf->xb.head);
	kfree(buf->whole);
	kfree(buf);
}

/**
 * sdp_rc_buf_alloc() - struct sdp_xprt_ops.buf_alloc
 * @xc: the connection, which has a queue pair
 * @size: bytes
 * @recv: to receive, else to send
 */
struct sdp_xprt_buf *sdp_rc_buf_alloc(struct sdp_xprt_conn *xc, u32 size,
				      bool recv)
{
	struct sdp_rc_conn *conn = sdp_rc_conn(xc);
	u32 head = recv ? conn->recv_head : 0;
	struct sdp_rc_buf *buf;

	if (WARN_ON_ONCE(!conn->qp) || !sdp_rc_buf_size_ok(size, head))
		return NULL;
	buf = kzalloc(struct_size(buf, sge, 1 + (recv ? !!head : xc->pieces)),
		      SDP_RC_BUF_GFP);
	if (!buf)
		return NULL;
	INIT_LIST_HEAD(&buf->xb.list);
	buf->xb.size = size;
	buf->head = head;
	buf->dir = recv ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	buf->conn = conn;
	if (!sdp_rc_buf_memory(buf) || sdp_rc_buf_map(buf)) {
		sdp_rc_buf_release(buf);
		return NULL;
	}
	kref_get(&conn->ref);
	return &buf->xb;
}
EXPORT_SYMBOL_GPL(sdp_rc_buf_alloc);

/**
 * sdp_rc_buf_free() - struct sdp_xprt_ops.buf_free
 * @xc: the connection
 * @xb: a buffer of it that is not posted
 */
void sdp_rc_buf_free(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct sdp_rc_buf *buf = sdp_rc_buf(xb);
	struct sdp_rc_conn *conn = buf->conn;

	sdp_rc_buf_unmap(buf);
	sdp_rc_buf_release(buf);
	sdp_rc_conn_put(conn);
}
EXPORT_SYMBOL_GPL(sdp_rc_buf_free);

/* A page that the control group which has paid for the old one pays for, or NULL. */
static void *sdp_rc_page_replace(struct page *old, u32 size)
{
	struct mem_cgroup *memcg;
	void *data;

	rcu_read_lock();
	memcg = set_active_memcg(folio_memcg(page_folio(old)));
	data = sdp_rc_page_alloc(size, SDP_RC_TAKE_GFP);
	set_active_memcg(memcg);
	rcu_read_unlock();
	return data;
}

/**
 * sdp_rc_buf_take() - struct sdp_xprt_ops.buf_take
 * @xc: the connection
 * @xb: a buffer of it, with page memory, that is not posted
 */
struct page *sdp_rc_buf_take(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct page *page = virt_to_page(xb->data);
	struct sdp_rc_buf *buf = sdp_rc_buf(xb);
	struct ib_sge *sge = sdp_rc_buf_sge(buf);
	u64 dma = sge->addr;
	void *data;

	if (WARN_ON_ONCE(!buf->head))
		return NULL;
	data = sdp_rc_page_replace(page, xb->size);
	if (!data)
		return NULL;
	if (!buf->whole && sdp_rc_sge_map(buf, sge, data, xb->size)) {
		sge->addr = dma;
		sdp_rc_data_free(buf, data);
		return NULL;
	}
	/* The CPU has not written to it since it came back: so this loses nothing. */
	if (!buf->whole)
		ib_dma_unmap_single(sdp_rc_buf_device(buf), dma, xb->size, buf->dir);
	xb->data = data;
	return page;
}
EXPORT_SYMBOL_GPL(sdp_rc_buf_take);

/* --- completions ---------------------------------------------------------------- */

/* Makes the first @len bytes of a message readable. */
static void sdp_rc_buf_arrived(struct sdp_rc_buf *buf, u32 len)
{
	struct ib_device *device = sdp_rc_buf_device(buf);
	u32 head = min(len, buf->head);

	if (buf->whole) {
		ib_dma_sync_single_for_cpu(device, buf->sge[0].addr, len, buf->dir);
		memcpy(buf->xb.head, buf->whole, head);
		memcpy(buf->xb.data, buf->whole + head, len - head);
		return;
	}
	if (head)
		ib_dma_sync_single_for_cpu(device, buf->sge[0].addr, head, buf->dir);
	if (len > head)
		ib_dma_sync_single_for_cpu(device, sdp_rc_buf_sge(buf)->addr, len - head,
					   buf->dir);
}

static void sdp_rc_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_rc_buf *buf = container_of(wc->wr_cqe, struct sdp_rc_buf,
					      cqe);
	struct sdp_rc_conn *conn = buf->conn;
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_RECV_DONE,
		.buf = &buf->xb,
		.error = sdp_rc_wc_error(conn, wc, -ECONNRESET),
	};

	buf->xb.len = 0;
	if (!ev.error) {
		buf->xb.len = wc->byte_len;
		if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
			ev.invalidated = true;
			ev.key = wc->ex.invalidate_rkey;
			sdp_rc_mr_ended(conn, ev.key);
		}
		sdp_rc_buf_arrived(buf, wc->byte_len);
		/* The RTU may be lost or late: this says the same (12.9.7). */
		if (test_and_clear_bit(SDP_RC_F_AWAIT_RTU, &conn->flags))
			sdp_rc_conn_post(conn, SDP_RC_EV_READY);
	}
	sdp_rc_conn_event(conn, &ev);
	sdp_rc_posted_put(conn);
}

static void sdp_rc_pieces_unmap(struct sdp_rc_buf *buf)
{
	const struct ib_sge *sge;

	while (buf->pieces) {
		sge = &buf->sge[buf->pieces--];
		ib_dma_unmap_page(sdp_rc_buf_device(buf), sge->addr, sge->length, buf->dir);
	}
}

static void sdp_rc_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_rc_buf *buf = container_of(wc->wr_cqe, struct sdp_rc_buf,
					      cqe);
	struct sdp_rc_conn *conn = buf->conn;
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_SEND_DONE,
		.buf = &buf->xb,
		.error = sdp_rc_wc_error(conn, wc, -ECONNRESET),
	};

	sdp_rc_pieces_unmap(buf);
	sdp_rc_conn_event(conn, &ev);
	sdp_rc_posted_put(conn);
}

/* --- posting -------------------------------------------------------------------- */

/* Posts the message in @buf, and its pieces, as @wr. */
static int sdp_rc_post_message(struct sdp_rc_conn *conn, struct sdp_rc_buf *buf,
			       struct ib_send_wr *wr)
{
	wr->wr_cqe = &buf->cqe;
	wr->sg_list = buf->sge;
	wr->num_sge = 1 + buf->pieces;
	buf->cqe.done = sdp_rc_send_done;
	buf->sge[0].length = buf->xb.len;
	ib_dma_sync_single_for_device(conn->dev->device, buf->sge[0].addr, buf->xb.len,
				      DMA_TO_DEVICE);
	return sdp_rc_post(conn, wr);
}

/**
 * sdp_rc_post_send() - struct sdp_xprt_ops.post_send
 * @xc: the connection
 * @xb: the message
 */
int sdp_rc_post_send(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };

	return sdp_rc_post_message(sdp_rc_conn(xc), sdp_rc_buf(xb), &wr);
}
EXPORT_SYMBOL_GPL(sdp_rc_post_send);

/**
 * sdp_rc_post_send_inv() - struct sdp_xprt_ops.post_send_inv
 * @xc: the connection
 * @xb: the message
 * @key: of the peer's registration, which ends
 */
int sdp_rc_post_send_inv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb, u32 key)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV,
		.ex.invalidate_rkey = key,
	};

	return sdp_rc_post_message(sdp_rc_conn(xc), sdp_rc_buf(xb), &wr);
}
EXPORT_SYMBOL_GPL(sdp_rc_post_send_inv);

/* Tells the device of pieces, of which an empty one is none. */
static int sdp_rc_pieces_map(struct sdp_rc_buf *buf, const struct bio_vec *pieces,
			     unsigned int n)
{
	struct ib_device *device = sdp_rc_buf_device(buf);
	const struct bio_vec *piece;
	struct ib_sge *sge;

	for (piece = pieces; piece < pieces + n; piece++) {
		if (!piece->bv_len)
			continue;
		sge = &buf->sge[1 + buf->pieces];
		sge->addr = ib_dma_map_page(device, piece->bv_page, piece->bv_offset,
					    piece->bv_len, buf->dir);
		if (ib_dma_mapping_error(device, sge->addr)) {
			sdp_rc_pieces_unmap(buf);
			return -ENOBUFS;
		}
		sge->length = piece->bv_len;
		sge->lkey = buf->conn->pd->local_dma_lkey;
		buf->pieces++;
	}
	return 0;
}

/**
 * sdp_rc_post_gather() - struct sdp_xprt_ops.post_gather
 * @xc: the connection
 * @xb: the beginning of the message
 * @pieces: the rest of it
 * @n: how many
 */
int sdp_rc_post_gather(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb,
		       const struct bio_vec *pieces, unsigned int n)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct sdp_rc_buf *buf = sdp_rc_buf(xb);
	int ret;

	if (n > xc->pieces)
		return -EINVAL;
	ret = sdp_rc_pieces_map(buf, pieces, n);
	if (ret)
		return ret;
	ret = sdp_rc_post_message(sdp_rc_conn(xc), buf, &wr);
	if (ret)
		sdp_rc_pieces_unmap(buf);
	return ret;
}
EXPORT_SYMBOL_GPL(sdp_rc_post_gather);

/**
 * sdp_rc_post_recv() - struct sdp_xprt_ops.post_recv
 * @xc: the connection
 * @xb: the buffer
 */
int sdp_rc_post_recv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct sdp_rc_buf *buf = sdp_rc_buf(xb);
	struct sdp_rc_conn *conn = sdp_rc_conn(xc);
	struct ib_recv_wr wr = {
		.wr_cqe = &buf->cqe,
		.sg_list = buf->sge,
		.num_sge = buf->head && !buf->whole ? 2 : 1,
	};
	int ret, i;

	if (!sdp_rc_posted_get(conn))
		return -ENOTCONN;

	buf->cqe.done = sdp_rc_recv_done;
	for (i = 0; i < wr.num_sge; i++)
		ib_dma_sync_single_for_device(conn->dev->device, buf->sge[i].addr,
					      buf->sge[i].length, DMA_FROM_DEVICE);
	ret = ib_post_recv(conn->qp, &wr, NULL);
	return ret ? sdp_rc_post_error(conn, ret) : 0;
}
EXPORT_SYMBOL_GPL(sdp_rc_post_recv);

// SPDX-License-Identifier: GPL-2.0
/*
 * Message buffers, and how a message gets from one into the other.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "local.h"

#define LOCAL_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_NORETRY)

static void *local_page_alloc(u32 size, gfp_t gfp)
{
	struct page *page = alloc_pages(gfp | __GFP_COMP, get_order(size));

	return page ? page_address(page) : NULL;
}

static void local_buf_release(struct local_buf *buf)
{
	if (!buf->head)
		kfree(buf->xb.data);
	else if (buf->xb.data)
		put_page(virt_to_page(buf->xb.data));
	kfree(buf->xb.head);
	kfree(buf);
}

struct sdp_xprt_buf *local_buf_alloc(struct sdp_xprt_conn *xc, u32 size, bool recv)
{
	struct local_conn *conn = local_conn(xc);
	struct local_buf *buf;

	buf = kzalloc(struct_size(buf, pieces, recv ? 0 : xc->pieces), LOCAL_GFP);
	if (!buf)
		return NULL;
	buf->head = recv ? conn->recv_head : 0;
	if (buf->head)
		buf->xb.head = kmalloc(buf->head, LOCAL_GFP);
	buf->xb.data = buf->head ? local_page_alloc(size, LOCAL_GFP) : kmalloc(size, LOCAL_GFP);
	if (!buf->xb.data || (buf->head && !buf->xb.head)) {
		local_buf_release(buf);
		return NULL;
	}
	buf->xb.size = size;
	buf->op.ev.type = recv ? SDP_XPRT_RECV_DONE : SDP_XPRT_SEND_DONE;
	buf->op.ev.buf = &buf->xb;
	INIT_LIST_HEAD(&buf->xb.list);
	INIT_LIST_HEAD(&buf->op.node);
	kref_get(&conn->ref);
	buf->conn = conn;
	return &buf->xb;
}

void local_buf_free(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct local_buf *buf = container_of(xb, struct local_buf, xb);
	struct local_conn *conn = buf->conn;

	local_buf_release(buf);
	local_put(conn);
}

struct page *local_buf_take(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct page *page = virt_to_page(xb->data);
	void *data = NULL;

	if (!READ_ONCE(local_starved))
		data = local_page_alloc(xb->size, GFP_NOWAIT | __GFP_NOWARN);
	if (!data)
		return NULL;
	xb->data = data;
	return page;
}

static u32 local_buf_bytes(const struct local_buf *send)
{
	u32 bytes = send->xb.len;
	unsigned int i;

	for (i = 0; i < send->n; i++)
		bytes += send->pieces[i].bv_len;
	return bytes;
}

bool local_buf_fits(const struct local_buf *send, const struct local_buf *recv)
{
	return local_buf_bytes(send) <= recv->head + recv->xb.size;
}

/* Appends to what has been received. */
static void local_buf_add(struct local_buf *recv, const void *from, u32 len)
{
	u32 head = min(len, recv->head - min(recv->head, recv->xb.len));

	if (head)
		memcpy(recv->xb.head + recv->xb.len, from, head);
	recv->xb.len += head;
	if (len > head)
		memcpy(recv->xb.data + recv->xb.len - recv->head, from + head, len - head);
	recv->xb.len += len - head;
}

/* A message gets into a buffer, where it fits. */
void local_buf_copy(const struct local_buf *send, struct local_buf *recv)
{
	const struct bio_vec *piece;

	local_buf_add(recv, send->xb.data, send->xb.len);
	for (piece = send->pieces; piece < send->pieces + send->n; piece++)
		local_buf_add(recv, page_address(piece->bv_page) + piece->bv_offset,
			      piece->bv_len);
}

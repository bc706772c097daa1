// SPDX-License-Identifier: GPL-2.0
/*
 * One end reads from and writes into the other's memory, and ends that.
 *
 * An operation is done when it is posted, under local_lock: by copying from one scatter
 * list into the other.  What is told of it later is that.
 */
#include <linux/slab.h>

#include "local.h"

/**
 * struct local_mem - memory that a connection knows
 * @xm: what the protocol sees
 * @op: while it is posted
 * @open: in the connection's list while the peer may use it
 * @conn: the connection, referenced
 * @sg: where it is
 * @nents: entries of that
 * @access: bits of enum sdp_xprt_access
 */
struct local_mem {
	struct sdp_xprt_mem xm;
	struct local_op op;
	struct list_head open;
	struct local_conn *conn;
	struct scatterlist *sg;
	unsigned int nents;
	u32 access;
};

/* What goes from one list into another goes through here; local_lock. */
static u8 local_bounce[SZ_1K];

static struct local_mem *local_mem(struct sdp_xprt_mem *xm)
{
	return container_of(xm, struct local_mem, xm);
}

/* The bytes of a list that a transport may be given; zero for any other. */
static u64 local_sg_bytes(struct scatterlist *sg, unsigned int nents)
{
	struct scatterlist *s;
	u64 bytes = 0;
	unsigned int i;

	for_each_sg(sg, s, nents, i) {
		if ((i && s->offset) ||
		    (i < nents - 1 && !PAGE_ALIGNED(s->offset + s->length)))
			return 0;
		bytes += s->length;
	}
	return bytes;
}

/* Numbers that no other memory has had lately, and that are no offsets. */
static void local_mem_open(struct local_mem *mem)
{
	static u32 last;

	mem->xm.key = last += 0x101;
	mem->xm.addr = 0xabcd00000000ULL + mem->sg->offset;
	list_add(&mem->open, &mem->conn->mems);
}

struct sdp_xprt_mem *local_mem_alloc(struct sdp_xprt_conn *xc, struct scatterlist *sg,
				     unsigned int nents, u32 access)
{
	struct local_conn *conn = local_conn(xc);
	u64 bytes = local_sg_bytes(sg, nents);
	struct local_mem *mem;
	int ret = 0;

	if (!bytes || bytes > LOCAL_MAX_MEM)
		return ERR_PTR(-EINVAL);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->xm.len = bytes;
	mem->op.ev.mem = &mem->xm;
	mem->conn = conn;
	mem->sg = sg;
	mem->nents = nents;
	mem->access = access;
	INIT_LIST_HEAD(&mem->xm.list);
	INIT_LIST_HEAD(&mem->op.node);
	INIT_LIST_HEAD(&mem->open);
	spin_lock_bh(&local_lock);
	if (conn->state != LOCAL_OPEN)
		ret = -ENOTCONN;
	else if (!conn->spare)
		ret = -ENOBUFS;
	if (!ret)
		conn->spare--;
	if (!ret && (access & (SDP_XPRT_PEER_READS | SDP_XPRT_PEER_WRITES)))
		local_mem_open(mem);
	spin_unlock_bh(&local_lock);
	if (ret) {
		kfree(mem);
		return ERR_PTR(ret);
	}
	kref_get(&conn->ref);
	return &mem->xm;
}

void local_mem_free(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm)
{
	struct local_mem *mem = local_mem(xm);
	struct local_conn *conn = mem->conn;

	spin_lock_bh(&local_lock);
	list_del(&mem->open);
	conn->spare++;
	spin_unlock_bh(&local_lock);
	kfree(mem);
	local_put(conn);
}

/* What the peer of the caller's end calls @key, or NULL; local_lock held. */
static struct local_mem *local_mem_find(struct local_conn *conn, u32 key)
{
	struct local_mem *mem;

	list_for_each_entry(mem, &conn->mems, open)
		if (mem->xm.key == key)
			return mem;
	return NULL;
}

/* Whether there was memory of that key, which the peer may not use any more; local_lock held. */
bool local_mem_end(struct local_conn *conn, u32 key)
{
	struct local_mem *mem = local_mem_find(conn, key);

	if (mem)
		list_del_init(&mem->open);
	return mem;
}

int local_invalidate(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm)
{
	struct local_conn *conn = local_conn(xc);
	struct local_mem *mem = local_mem(xm);
	int ret = -ENOTCONN;

	spin_lock_bh(&local_lock);
	if (conn->state == LOCAL_OPEN) {
		list_del_init(&mem->open);
		mem->op.ev.type = SDP_XPRT_INVALIDATE_DONE;
		local_done(conn, &mem->op, 0);
		ret = 0;
	}
	spin_unlock_bh(&local_lock);
	return ret;
}

static void local_copy(struct local_mem *to, u32 to_off, struct local_mem *from, u32 from_off,
		       u32 len)
{
	u32 n, done;

	for (done = 0; done < len; done += n) {
		n = min_t(u32, len - done, sizeof(local_bounce));
		sg_pcopy_to_buffer(from->sg, from->nents, local_bounce, n, from_off + done);
		sg_pcopy_from_buffer(to->sg, to->nents, local_bounce, n, to_off + done);
	}
}

/* Reads, or writes where @write. */
static int local_rdma(struct local_conn *conn, struct local_mem *mem, u32 off,
		      const struct sdp_xprt_remote *there, bool write)
{
	u32 ours = write ? SDP_XPRT_WRITE_SOURCE : SDP_XPRT_READ_SINK;
	u32 theirs = write ? SDP_XPRT_PEER_WRITES : SDP_XPRT_PEER_READS;
	struct local_mem *other;
	u64 at;

	if (!(mem->access & ours) || (u64)off + there->len > mem->xm.len)
		return -EINVAL;
	if (conn->state != LOCAL_OPEN)
		return -ENOTCONN;
	mem->op.ev.type = write ? SDP_XPRT_WRITE_DONE : SDP_XPRT_READ_DONE;
	other = local_mem_find(conn->peer, there->key);
	at = other ? there->addr - other->xm.addr : 0;
	if (!other || !(other->access & theirs) || at > other->xm.len ||
	    there->len > other->xm.len - at) {
		local_done(conn, &mem->op, -EREMOTEIO);
		local_fail_both(conn, conn->peer);
		return 0;
	}
	if (write)
		local_copy(other, at, mem, off, there->len);
	else
		local_copy(mem, off, other, at, there->len);
	local_done(conn, &mem->op, 0);
	return 0;
}

int local_post_read(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		    const struct sdp_xprt_remote *from)
{
	int ret;

	spin_lock_bh(&local_lock);
	ret = local_rdma(local_conn(xc), local_mem(xm), off, from, false);
	spin_unlock_bh(&local_lock);
	return ret;
}

int local_post_write(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		     const struct sdp_xprt_remote *to)
{
	int ret;

	spin_lock_bh(&local_lock);
	ret = local_rdma(local_conn(xc), local_mem(xm), off, to, true);
	spin_unlock_bh(&local_lock);
	return ret;
}

int local_post_send_inv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb, u32 key)
{
	struct local_buf *buf = container_of(xb, struct local_buf, xb);

	buf->n = 0;
	buf->inv = true;
	buf->key = key;
	return local_post(local_conn(xc), buf);
}

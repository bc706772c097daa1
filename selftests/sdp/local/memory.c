// SPDX-License-Identifier: GPL-2.0
/*
 * What a transport does with memory: two ends, of which one uses the other's.  Whoever reads
 * the parameter "memory" gets a line for each thing that was tried: "ok NAME", or "not ok
 * NAME".
 *
 * Two ends are for one thing that goes wrong, since that ends the connection.
 */
#include <linux/slab.h>

#include "carry.h"

#define MEMORY_PAGES	2
#define MEMORY_OFF	100	/* where memory begins in its first page */
#define MEMORY_LEN	5000
#define MEMORY_DEPTH	2	/* of params.rdma_depth */

/**
 * struct memory - two ends, and memory of both
 * @carry: the ends
 * @pages: memory: of the end that asks, and of the other one
 * @sg: of the same
 * @more: of a part of one of them
 */
struct memory {
	struct carry carry;
	u8 *pages[2];
	struct scatterlist sg[2][MEMORY_PAGES];
	struct scatterlist more;
};

static bool memory_init(struct memory *m, const struct carry_via *via)
{
	int i;

	m->carry.via = via;
	for (i = 0; i < 2; i++) {
		m->pages[i] = kzalloc(MEMORY_PAGES * PAGE_SIZE, GFP_KERNEL);
		if (!m->pages[i])
			return false;
		sg_init_table(m->sg[i], MEMORY_PAGES);
		sg_set_buf(&m->sg[i][0], m->pages[i] + MEMORY_OFF, PAGE_SIZE - MEMORY_OFF);
		sg_set_buf(&m->sg[i][1], m->pages[i] + PAGE_SIZE,
			   MEMORY_LEN - (PAGE_SIZE - MEMORY_OFF));
	}
	return carry_connect(&m->carry);
}

/* Gives back what @end knows, and so makes it readable. */
static void memory_forget(struct carry_end *end)
{
	if (!IS_ERR_OR_NULL(end->mem))
		end->xc->ops->mem_free(end->xc, end->mem);
	end->mem = NULL;
}

static void memory_exit(struct memory *m)
{
	struct carry_end *ends[] = { &m->carry.asks, &m->carry.asked };
	int i;

	/* The end that goes first gets back all posted work; memory outlives the connection. */
	for (i = 0; i < 2; i++)
		if (ends[i]->xc)
			ends[i]->xc->ops->conn_destroy(ends[i]->xc);
	for (i = 0; i < 2; i++) {
		memory_forget(ends[i]);
		carry_free(ends[i]);
		kfree(m->pages[i]);
	}
}

/* Has @end know its memory; true where it does. */
static bool memory_know(struct memory *m, struct carry_end *end, u32 access)
{
	end->mem = end->xc->ops->mem_alloc(end->xc, m->sg[end == &m->carry.asked],
					   MEMORY_PAGES, access);
	return !IS_ERR(end->mem) && end->mem->len == MEMORY_LEN;
}

static bool memory_read(struct carry_end *end, u32 off, const struct sdp_xprt_remote *from)
{
	return end->xc->ops->post_read(end->xc, end->mem, off, from) == 0;
}

static bool memory_write(struct carry_end *end, u32 off, const struct sdp_xprt_remote *to)
{
	return end->xc->ops->post_write(end->xc, end->mem, off, to) == 0;
}

static struct sdp_xprt_remote whole(const struct carry_end *end)
{
	return (struct sdp_xprt_remote){
		.addr = end->mem->addr,
		.key = end->mem->key,
		.len = end->mem->len,
	};
}

/* Its memory came back once, by that event, with that error. */
static bool memory_back(struct carry_end *end, enum sdp_xprt_event_type type, int error)
{
	return soon(&end->back) && end->done == type && end->mem_error == error &&
	       !completion_done(&end->back) && !end->early;
}

static bool memory_over(struct carry_end *one, struct carry_end *other)
{
	return soon(&one->down) && soon(&other->down);
}

/* --- what is tried ----------------------------------------------------------------- */

static void memory_reads(struct memory *m, struct carry_end *from, struct carry_end *to)
{
	const struct sdp_xprt_ops *ops = to->xc->ops;
	struct sdp_xprt_remote remote;
	u8 *at = m->pages[to == &m->carry.asked] + MEMORY_OFF;

	memset(m->pages[from == &m->carry.asked], 'r', MEMORY_PAGES * PAGE_SIZE);
	ok(&m->carry, memory_know(m, from, SDP_XPRT_PEER_READS) &&
	   memory_know(m, to, SDP_XPRT_READ_SINK), "memory is known");
	remote = whole(from);
	remote.addr += 7;
	remote.len = MEMORY_LEN - 20;
	ok(&m->carry, memory_read(to, 13, &remote) && memory_back(to, SDP_XPRT_READ_DONE, 0),
	   "a read comes back");
	memory_forget(to);
	ok(&m->carry, !memchr_inv(at + 13, 'r', remote.len) && !at[12] &&
	   !at[13 + remote.len], "with the bytes, and no others");
	ok(&m->carry, memory_know(m, to, SDP_XPRT_READ_SINK), "the same memory once more");
	remote.len = MEMORY_LEN;
	ok(&m->carry, ops->post_read(to->xc, to->mem, 1, &remote) == -EINVAL,
	   "a read that does not fit: EINVAL");
	ok(&m->carry, ops->post_write(to->xc, to->mem, 0, &remote) == -EINVAL,
	   "memory that is not for that: EINVAL");
	ok(&m->carry, memory_read(to, 0, &remote) &&
	   memory_back(to, SDP_XPRT_READ_DONE, -EREMOTEIO) && memory_over(from, to),
	   "a read behind the end: both ends are over");
	ok(&m->carry, ops->post_read(to->xc, to->mem, 0, &remote) == -ENOTCONN,
	   "the next one: ENOTCONN");
}

static void memory_writes(struct memory *m, struct carry_end *from, struct carry_end *to)
{
	u8 *at = m->pages[to == &m->carry.asked] + MEMORY_OFF;
	struct sdp_xprt_remote remote;

	memset(m->pages[from == &m->carry.asked], 'w', MEMORY_PAGES * PAGE_SIZE);
	ok(&m->carry, memory_know(m, from, SDP_XPRT_WRITE_SOURCE) &&
	   memory_know(m, to, SDP_XPRT_PEER_WRITES), "memory is known");
	remote = whole(to);
	ok(&m->carry, memory_write(from, 0, &remote) &&
	   memory_back(from, SDP_XPRT_WRITE_DONE, 0), "a write comes back");
	ok(&m->carry, to->xc->ops->invalidate(to->xc, to->mem) == 0 &&
	   memory_back(to, SDP_XPRT_INVALIDATE_DONE, 0), "the end of access");
	memory_forget(to);
	ok(&m->carry, !memchr_inv(at, 'w', MEMORY_LEN) && !at[-1] && !at[MEMORY_LEN],
	   "with the bytes, and no others");
	ok(&m->carry, memory_know(m, to, SDP_XPRT_PEER_WRITES) &&
	   to->mem->key != remote.key, "the same memory: another key");
	ok(&m->carry, memory_write(from, 0, &remote) &&
	   memory_back(from, SDP_XPRT_WRITE_DONE, -EREMOTEIO) && memory_over(from, to),
	   "a write by the old one: both ends are over");
}

/* Memory that the peer may read is not for writes. */
static void memory_access(struct memory *m, struct carry_end *from, struct carry_end *to)
{
	u8 *at = m->pages[to == &m->carry.asked];
	struct sdp_xprt_remote remote;

	ok(&m->carry, memory_know(m, from, SDP_XPRT_WRITE_SOURCE) &&
	   memory_know(m, to, SDP_XPRT_PEER_READS), "memory is known");
	remote = whole(to);
	memset(m->pages[from == &m->carry.asked], 'a', MEMORY_PAGES * PAGE_SIZE);
	ok(&m->carry, memory_write(from, 0, &remote) &&
	   memory_back(from, SDP_XPRT_WRITE_DONE, -EREMOTEIO) && memory_over(from, to) &&
	   !memchr_inv(at, 0, MEMORY_PAGES * PAGE_SIZE),
	   "a write to what is for reads: both ends are over");
}

/* Whether a message that ends the registration of @key arrives. */
static bool memory_send(struct carry_end *from, struct carry_end *to, u32 key)
{
	const struct sdp_xprt_ops *ops = from->xc->ops;

	from->send->len = 1;
	return ops->post_recv(to->xc, to->recv) == 0 &&
	       ops->post_send_inv(from->xc, from->send, key) == 0 && soon(&from->sent) &&
	       soon(&to->received);
}

static void memory_messages(struct memory *m, struct carry_end *from, struct carry_end *to)
{
	const struct sdp_xprt_ops *ops = to->xc->ops;
	u8 *pages = m->pages[to == &m->carry.asked];
	struct scatterlist sg[2];
	u32 key;

	sg_init_table(sg, 2);
	sg_set_buf(&sg[0], pages, 100);
	sg_set_buf(&sg[1], pages + PAGE_SIZE, 100);
	ok(&m->carry, PTR_ERR(ops->mem_alloc(to->xc, sg, 2, SDP_XPRT_PEER_READS)) == -EINVAL,
	   "memory with a hole: EINVAL");
	ok(&m->carry, memory_know(m, to, SDP_XPRT_PEER_READS | SDP_XPRT_PEER_WRITES),
	   "memory is known");
	key = to->mem->key;
	ok(&m->carry, memory_send(from, to, key) && !from->error && to->invalidated == key,
	   "a message ends its registration");
	memory_forget(to);
	ok(&m->carry, memory_know(m, to, SDP_XPRT_PEER_READS), "it is known again");
	ok(&m->carry, memory_send(from, to, key) && from->error && to->error &&
	   memory_over(from, to), "a message with the old key: both ends are over");
	ok(&m->carry, PTR_ERR(ops->mem_alloc(to->xc, sg, 1, 0)) == -ENOTCONN,
	   "memory of a connection that is over: ENOTCONN");
}

/* As many pieces as were asked for, many times, and what is under way at the end. */
static void memory_many(struct memory *m, struct carry_end *from, struct carry_end *to)
{
	const struct sdp_xprt_ops *ops = to->xc->ops;
	struct sdp_xprt_mem *other, *more;
	struct sdp_xprt_remote remote;
	bool good = memory_know(m, from, SDP_XPRT_PEER_READS);
	int i;

	for (i = 0; good && i < 20; i++) {
		remote = whole(from);
		good = memory_know(m, to, SDP_XPRT_READ_SINK) && memory_read(to, 0, &remote) &&
		       memory_back(to, SDP_XPRT_READ_DONE, 0);
		memory_forget(to);
	}
	ok(&m->carry, good, "one piece after the other");
	if (!good || !memory_know(m, to, SDP_XPRT_READ_SINK))
		return;
	sg_init_one(&m->more, m->pages[to == &m->carry.asked], 10);
	other = ops->mem_alloc(to->xc, &m->more, 1, SDP_XPRT_READ_SINK);
	ok(&m->carry, !IS_ERR(other), "as many as there may be");
	more = ops->mem_alloc(to->xc, m->sg[to == &m->carry.asked], MEMORY_PAGES,
			      SDP_XPRT_READ_SINK);
	ok(&m->carry, PTR_ERR(more) == -ENOBUFS, "one more: ENOBUFS");
	if (!IS_ERR(other))
		ops->mem_free(to->xc, other);
	remote = whole(from);
	good = memory_read(to, 0, &remote);
	ops->conn_destroy(to->xc);
	ok(&m->carry, good && completion_done(&to->back) && to->done == SDP_XPRT_READ_DONE,
	   "destroyed: what is posted comes back");
	memory_forget(to);
	carry_free(to);
	memset(to, 0, sizeof(*to));
}

/* The key of what one peer may use is of no use to another one. */
static void memory_scope(struct memory *m, struct carry_end *from, struct carry_end *to)
{
	struct memory *second = kzalloc(sizeof(*second), GFP_KERNEL);
	struct sdp_xprt_remote remote;
	struct carry_end *end;

	if (!second)
		return;
	end = &second->carry.asks;
	memset(m->pages[0], 's', MEMORY_PAGES * PAGE_SIZE);
	memset(m->pages[1], 's', MEMORY_PAGES * PAGE_SIZE);
	ok(&m->carry, memory_init(second, m->carry.via) &&
	   memory_know(m, to, SDP_XPRT_PEER_READS | SDP_XPRT_PEER_WRITES) &&
	   memory_know(second, end, SDP_XPRT_READ_SINK | SDP_XPRT_WRITE_SOURCE),
	   "memory of two connections");
	remote = whole(to);
	ok(&m->carry, memory_write(end, 0, &remote) &&
	   memory_back(end, SDP_XPRT_WRITE_DONE, -EREMOTEIO) &&
	   memory_over(end, &second->carry.asked), "another peer's key: the end of its own");
	ok(&m->carry, memory_know(m, from, SDP_XPRT_READ_SINK) &&
	   memory_read(from, 0, &remote) && memory_back(from, SDP_XPRT_READ_DONE, 0) &&
	   !memchr_inv(m->pages[to == &m->carry.asked], 's', MEMORY_PAGES * PAGE_SIZE),
	   "and the peer that has it goes on");
	memory_exit(second);
	kfree(second);
}

static int memory_one(char *text, int at, const struct carry_via *via, const char *name,
		      void (*run)(struct memory *m, struct carry_end *from, struct carry_end *to))
{
	struct memory *m = kzalloc(sizeof(*m), GFP_KERNEL);
	bool good;

	if (!m)
		return at;
	m->carry.text = text;
	m->carry.at = at;
	good = memory_init(m, via);
	ok(&m->carry, good && m->carry.asks.xc->max_mem, name);
	if (good)
		run(m, &m->carry.asks, &m->carry.asked);
	memory_exit(m);
	at = m->carry.at;
	kfree(m);
	return at;
}

int memory_all(char *text, const struct carry_via *asked)
{
	struct carry_via via = *asked;
	int ret;

	carry_params(&via);
	via.params.rdma_depth = MEMORY_DEPTH;
	ret = via.ops->listen(via.net, 0);
	if (ret)
		return ret;
	ret = memory_one(text, 0, &via, "two ends for reads", memory_reads);
	ret = memory_one(text, ret, &via, "two ends for writes", memory_writes);
	ret = memory_one(text, ret, &via, "two ends for what is not allowed", memory_access);
	ret = memory_one(text, ret, &via, "two ends for messages", memory_messages);
	ret = memory_one(text, ret, &via, "two ends for many", memory_many);
	ret = memory_one(text, ret, &via, "two ends that are not alone", memory_scope);
	via.ops->unlisten(via.net, 0);
	return ret;
}

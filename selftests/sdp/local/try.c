// SPDX-License-Identifier: GPL-2.0
/*
 * A client of transports: it connects two ends, and has one use the other's memory.  Who
 * reads the parameter "memory" gets a line for each thing that was tried: "ok NAME", or
 * "not ok NAME".
 *
 * Two ends are for one thing that goes wrong, since that ends the connection.
 */
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "local.h"

#define TRY_NAME	"try"
#define TRY_PORT	1	/* tests listen at others */
#define TRY_SOON	(10 * HZ)
#define TRY_PAGES	2
#define TRY_OFF		100	/* where memory begins in its first page */
#define TRY_LEN		5000

/**
 * struct try_end - one end
 * @xc: the connection
 * @up: it is established
 * @down: it has ended
 * @back: something came back from it
 * @ev: that
 * @early: how many events came behind @down
 * @buf: a buffer
 * @pages: memory
 * @sg: of @pages
 * @mem: the same as the transport knows it
 */
struct try_end {
	struct sdp_xprt_conn *xc;
	struct completion up;
	struct completion down;
	struct completion back;
	struct sdp_xprt_event ev;
	int early;
	struct sdp_xprt_buf *buf;
	u8 *pages;
	struct scatterlist sg[TRY_PAGES];
	struct sdp_xprt_mem *mem;
};

/**
 * struct try - two ends and what is told of them
 * @asks: connects
 * @asked: is connected to
 * @requested: @asked has its connection
 * @text: what is told
 * @at: its length
 */
struct try {
	struct try_end asks;
	struct try_end asked;
	struct completion requested;
	char *text;
	int at;
};

/* One at a time, by the mutex of the parameters. */
static struct try *trying;

static int try_event(struct sdp_xprt_conn *xc, void *ctx, const struct sdp_xprt_event *ev)
{
	struct try_end *end = ctx;

	switch (ev->type) {
	case SDP_XPRT_CONNECT_REQUEST:
		xc->ctx = &trying->asked;
		trying->asked.xc = xc;
		complete(&trying->requested);
		break;
	case SDP_XPRT_ESTABLISHED:
		complete(&end->up);
		break;
	case SDP_XPRT_RECV_DONE:
	case SDP_XPRT_SEND_DONE:
	case SDP_XPRT_READ_DONE:
	case SDP_XPRT_WRITE_DONE:
	case SDP_XPRT_INVALIDATE_DONE:
		end->early += completion_done(&end->down) || !in_softirq();
		end->ev = *ev;
		complete(&end->back);
		break;
	default:
		complete(&end->down);
		break;
	}
	return 0;
}

static const struct sdp_xprt_upcalls try_up = {
	.event = try_event,
};

static void ok(struct try *try, bool good, const char *name)
{
	try->at += scnprintf(try->text + try->at, PAGE_SIZE - try->at, "%s %s\n",
			     good ? "ok" : "not ok", name);
}

static bool soon(struct completion *done)
{
	return wait_for_completion_timeout(done, TRY_SOON);
}

/* Something of that type came back once, with that error. */
static bool came_back(struct try_end *end, enum sdp_xprt_event_type type, int error)
{
	return soon(&end->back) && end->ev.type == type && end->ev.error == error &&
	       !completion_done(&end->back) && !end->early;
}

/* --- two ends ------------------------------------------------------------------- */

static bool try_end_init(struct try_end *end)
{
	memset(end, 0, sizeof(*end));
	init_completion(&end->up);
	init_completion(&end->down);
	init_completion(&end->back);
	end->pages = kzalloc(TRY_PAGES * PAGE_SIZE, GFP_KERNEL);
	if (!end->pages)
		return false;
	sg_init_table(end->sg, TRY_PAGES);
	sg_set_buf(&end->sg[0], end->pages + TRY_OFF, PAGE_SIZE - TRY_OFF);
	sg_set_buf(&end->sg[1], end->pages + PAGE_SIZE, TRY_LEN - (PAGE_SIZE - TRY_OFF));
	return true;
}

static int try_resolved(struct sdp_xprt_conn *xc, void *ctx)
{
	return 0;
}

static void try_params(struct sdp_xprt_params *params)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&params->peer;

	memset(params, 0, sizeof(*params));
	params->rdma_depth = 1;
	params->ifindex = LOOPBACK_IFINDEX;
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sin->sin_port = htons(TRY_PORT);
	params->local = params->peer;
}

static bool try_connect(struct try *try)
{
	struct try_end *asks = &try->asks, *asked = &try->asked;
	struct sdp_xprt_params params;

	try_params(&params);
	asks->xc = local_ops.conn_create(&init_net, asks);
	if (IS_ERR(asks->xc)) {
		asks->xc = NULL;
		return false;
	}
	local_conn(asks->xc)->up = &try_up;
	return !local_ops.connect(asks->xc, &params, try_resolved, NULL, 0) &&
	       soon(&try->requested) && !local_ops.prepare(asked->xc, &params) &&
	       !local_ops.accept(asked->xc, NULL, 0) && soon(&asks->up) && soon(&asked->up);
}

static bool try_begin(struct try *try)
{
	bool good;

	init_completion(&try->requested);
	good = try_end_init(&try->asks);
	return try_end_init(&try->asked) && good && try_connect(try);
}

/* Ends the connection, and then gives back what it may have given the peer access to. */
static void try_finish(struct try_end *end)
{
	if (end->xc)
		local_ops.conn_destroy(end->xc);
	if (!IS_ERR_OR_NULL(end->mem))
		local_ops.mem_free(end->xc, end->mem);
	if (end->buf)
		local_ops.buf_free(end->xc, end->buf);
	kfree(end->pages);
}

/* Has @end know its memory; true where it does. */
static bool know(struct try_end *end, u32 access)
{
	end->mem = local_ops.mem_alloc(end->xc, end->sg, TRY_PAGES, access);
	return !IS_ERR(end->mem) && end->mem->len == TRY_LEN;
}

static struct sdp_xprt_remote whole(const struct try_end *end)
{
	return (struct sdp_xprt_remote){
		.addr = end->mem->addr,
		.key = end->mem->key,
		.len = end->mem->len,
	};
}

/* --- what is tried ----------------------------------------------------------------- */

static void try_read(struct try *try, struct try_end *from, struct try_end *to)
{
	struct sdp_xprt_remote remote;

	memset(from->pages, 'r', TRY_PAGES * PAGE_SIZE);
	ok(try, know(from, SDP_XPRT_PEER_READS) && know(to, SDP_XPRT_READ_SINK),
	   "memory is known");
	remote = whole(from);
	remote.addr += 7;
	remote.len = TRY_LEN - 20;
	ok(try, local_ops.post_read(to->xc, to->mem, 13, &remote) == 0 &&
	   came_back(to, SDP_XPRT_READ_DONE, 0) && to->ev.mem == to->mem,
	   "a read comes back");
	ok(try, !memchr_inv(to->pages + TRY_OFF + 13, 'r', remote.len) &&
	   !to->pages[TRY_OFF + 12] && !to->pages[TRY_OFF + 13 + remote.len],
	   "with the bytes, and no others");
	remote.len = TRY_LEN;
	ok(try, local_ops.post_read(to->xc, to->mem, 1, &remote) == -EINVAL,
	   "a read that does not fit: EINVAL");
	ok(try, local_ops.post_write(to->xc, to->mem, 0, &remote) == -EINVAL,
	   "memory that is not for that: EINVAL");
	ok(try, local_ops.post_read(to->xc, to->mem, 0, &remote) == 0 &&
	   came_back(to, SDP_XPRT_READ_DONE, -EREMOTEIO) && soon(&to->down) &&
	   soon(&from->down), "a read behind the end: both ends are over");
	ok(try, local_ops.post_read(to->xc, to->mem, 0, &remote) == -ENOTCONN,
	   "the next one: ENOTCONN");
}

static void try_write(struct try *try, struct try_end *from, struct try_end *to)
{
	struct sdp_xprt_remote remote;

	memset(from->pages, 'w', TRY_PAGES * PAGE_SIZE);
	ok(try, know(from, SDP_XPRT_WRITE_SOURCE) && know(to, SDP_XPRT_PEER_WRITES),
	   "memory is known");
	remote = whole(to);
	ok(try, local_ops.post_write(from->xc, from->mem, 0, &remote) == 0 &&
	   came_back(from, SDP_XPRT_WRITE_DONE, 0) && from->ev.mem == from->mem,
	   "a write comes back");
	ok(try, !memchr_inv(to->pages + TRY_OFF, 'w', TRY_LEN) && !to->pages[TRY_OFF - 1] &&
	   !to->pages[TRY_OFF + TRY_LEN], "with the bytes, and no others");
	ok(try, local_ops.invalidate(to->xc, to->mem) == 0 &&
	   came_back(to, SDP_XPRT_INVALIDATE_DONE, 0), "the end of access");
	ok(try, local_ops.post_write(from->xc, from->mem, 0, &remote) == 0 &&
	   came_back(from, SDP_XPRT_WRITE_DONE, -EREMOTEIO) && soon(&to->down) &&
	   soon(&from->down), "a write after it: both ends are over");
}

/* Whether a message that ends the registration of @key arrives, or fails with @error. */
static bool try_send(struct try_end *from, struct try_end *to, u32 key, int error)
{
	if (!from->buf)
		from->buf = local_ops.buf_alloc(from->xc, 64, false);
	if (!to->buf)
		to->buf = local_ops.buf_alloc(to->xc, 64, true);
	if (!from->buf || !to->buf || local_ops.post_recv(to->xc, to->buf))
		return false;
	from->buf->len = 1;
	return local_ops.post_send_inv(from->xc, from->buf, key) == 0 &&
	       came_back(from, SDP_XPRT_SEND_DONE, error) &&
	       came_back(to, SDP_XPRT_RECV_DONE, error) &&
	       (error || (to->ev.invalidated && to->ev.key == key));
}

static void try_send_inv(struct try *try, struct try_end *from, struct try_end *to)
{
	struct scatterlist sg[2];

	sg_init_table(sg, 2);
	sg_set_buf(&sg[0], to->pages, 100);
	sg_set_buf(&sg[1], to->pages + PAGE_SIZE, 100);
	ok(try, PTR_ERR(local_ops.mem_alloc(to->xc, sg, 2, SDP_XPRT_PEER_READS)) == -EINVAL,
	   "memory with a hole: EINVAL");
	ok(try, know(to, SDP_XPRT_PEER_READS | SDP_XPRT_PEER_WRITES), "memory is known");
	ok(try, try_send(from, to, to->mem->key, 0), "a message ends its registration");
	ok(try, try_send(from, to, to->mem->key, -EREMOTEIO) && soon(&from->down) &&
	   soon(&to->down), "another one: both ends are over");
	ok(try, PTR_ERR(local_ops.mem_alloc(to->xc, sg, 1, 0)) == -ENOTCONN,
	   "memory of a connection that is over: ENOTCONN");
}

static void try_one(struct try *try, const char *name,
		    void (*run)(struct try *try, struct try_end *from, struct try_end *to))
{
	bool good = try_begin(try);

	ok(try, good, name);
	if (good)
		run(try, &try->asks, &try->asked);
	try_finish(&try->asks);
	try_finish(&try->asked);
}

/* --- what the registry refuses ----------------------------------------------------- */

static bool try_register(const struct sdp_xprt_ops *ops, int error)
{
	const struct sdp_xprt_upcalls *up;
	int err = sdp_xprt_register(ops, &up);

	if (!err)
		sdp_xprt_unregister(ops);
	return err == error;
}

/* The functions of capabilities. */
static const size_t try_members[] = {
	offsetof(struct sdp_xprt_ops, mem_alloc),
	offsetof(struct sdp_xprt_ops, mem_free),
	offsetof(struct sdp_xprt_ops, invalidate),
	offsetof(struct sdp_xprt_ops, post_read),
	offsetof(struct sdp_xprt_ops, post_write),
	offsetof(struct sdp_xprt_ops, post_send_inv),
};

/* Without each capability, with the functions; and without each function. */
static void try_registry(struct try *try, struct sdp_xprt_ops *ops)
{
	unsigned int i;
	bool good = true;
	u32 cap;

	for (cap = 1; cap & SDP_XPRT_CAPS; cap <<= 1) {
		ops->caps = SDP_XPRT_CAPS & ~cap;
		good &= try_register(ops, -EINVAL);
	}
	ok(try, good, "functions without their capability: EINVAL");

	ops->caps = SDP_XPRT_CAPS + 1;
	ok(try, try_register(ops, -EINVAL), "a capability that nobody knows: EINVAL");

	for (i = 0, good = true; i < ARRAY_SIZE(try_members); i++) {
		*ops = local_ops;
		ops->name = TRY_NAME;
		memset((void *)ops + try_members[i], 0, sizeof(void *));
		good &= try_register(ops, -EINVAL);
	}
	*ops = local_ops;
	ops->name = TRY_NAME;
	ops->max_mem = 0;
	good &= try_register(ops, -EINVAL);
	ok(try, good, "a capability without its functions: EINVAL");

	ops->caps = SDP_XPRT_CAP_READ;
	ops->mem_alloc = NULL;
	ops->mem_free = NULL;
	ops->invalidate = NULL;
	ops->post_write = NULL;
	ops->post_send_inv = NULL;
	ok(try, try_register(ops, -EINVAL), "reads without memory: EINVAL");
	ops->caps = 0;
	ops->post_read = NULL;
	ok(try, try_register(ops, 0), "neither: registered");
}

static int try_all(char *text, const struct kernel_param *param)
{
	struct try *try = kzalloc(sizeof(*try), GFP_KERNEL);
	struct sdp_xprt_ops *ops = kmemdup(&local_ops, sizeof(local_ops), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!try || !ops)
		goto out;
	try->text = text;
	trying = try;
	ret = local_ops.listen(&init_net, TRY_PORT);
	if (ret)
		goto out;
	try_one(try, "two ends for reads", try_read);
	try_one(try, "two ends for writes", try_write);
	try_one(try, "two ends for messages", try_send_inv);
	local_ops.unlisten(&init_net, TRY_PORT);
	ops->name = TRY_NAME;
	try_registry(try, ops);
	ret = try->at;
out:
	kfree(ops);
	kfree(try);
	return ret;
}

const struct kernel_param_ops local_try = {
	.get = try_all,
};

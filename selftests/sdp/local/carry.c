// SPDX-License-Identifier: GPL-2.0
/*
 * Two ends of a transport, at port 0, and what they send each other.  Whoever reads the
 * parameter "carry" gets a line for each thing that was tried: "ok NAME", or "not ok NAME".
 */
#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "carry.h"

#define CARRY_HEAD	32		/* bytes of params.recv_head */
#define CARRY_PIECES	9		/* of params.send_pieces */
#define CARRY_SIZE	SZ_32K		/* of a buffer to receive */
#define CARRY_SEND	64		/* of a buffer to send */
#define CARRY_ORDER	4		/* of the memory that pieces are in */
#define CARRY_BYTES	(PAGE_SIZE << CARRY_ORDER)

/**
 * struct carry_hello - private data of a request
 * @local: address of the end that is asked
 * @peer: of the other one
 */
struct carry_hello {
	__be32 local;
	__be32 peer;
};

/* One at a time, by the mutex of the parameters. */
static struct carry *carrying;

/* A page that has been taken, with what is in it; until carry_held() looks at it. */
static struct page *carry_page;
static u8 carry_bytes[256];

/* --- events ----------------------------------------------------------------------- */

static int carry_addrs(const void *pdata, unsigned int len, struct sockaddr_storage *local,
		       struct sockaddr_storage *peer)
{
	const struct carry_hello *hello = pdata;

	local->ss_family = AF_INET;
	((struct sockaddr_in *)local)->sin_addr.s_addr = hello->local;
	peer->ss_family = AF_INET;
	((struct sockaddr_in *)peer)->sin_addr.s_addr = hello->peer;
	return 0;
}

/* Of a connection; by nothing else than its own function. */
static int carry_event(struct sdp_xprt_conn *xc, void *ctx, const struct sdp_xprt_event *ev)
{
	struct carry_end *end = ctx;

	switch (ev->type) {
	case SDP_XPRT_ESTABLISHED:
		complete(&end->up);
		break;
	case SDP_XPRT_SEND_DONE:
		end->error = ev->error;
		complete(&end->sent);
		break;
	case SDP_XPRT_RECV_DONE:
		end->error = ev->error;
		end->invalidated = ev->invalidated ? ev->key : 0;
		complete(&end->received);
		break;
	case SDP_XPRT_READ_DONE:
	case SDP_XPRT_WRITE_DONE:
	case SDP_XPRT_INVALIDATE_DONE:
		end->done = ev->type;
		end->mem_error = ev->error;
		end->early += completion_done(&end->down) || !in_softirq();
		complete(&end->back);
		break;
	default:
		end->end = ev->type;
		end->reason = ev->reason;
		memcpy(end->text, ev->pdata, min_t(size_t, ev->pdata_len, sizeof(end->text)));
		complete(&end->down);
		break;
	}
	return 0;
}

/* Of the protocol: requests. */
static int carry_up_event(struct sdp_xprt_conn *xc, void *ctx, const struct sdp_xprt_event *ev)
{
	struct carry *carry = carrying;

	if (ev->type != SDP_XPRT_CONNECT_REQUEST) {
		carry->stray++;
		return 0;
	}
	carry->port = ntohs(((const struct sockaddr_in *)ev->local)->sin_port);
	if (carry->refuse) {
		xc->ops->reject(xc, CARRY_TEXT, sizeof(CARRY_TEXT));
		return -ECONNREFUSED;
	}
	xc->ctx = &carry->asked;
	xc->event = carry_event;
	carry->asked.xc = xc;
	complete(&carry->requested);
	return 0;
}

static void carry_up_gone(const struct sdp_xprt_ops *ops, const struct sdp_xprt_dev *dev)
{
}

static void carry_up_changed(const struct sdp_xprt_ops *ops)
{
}

const struct sdp_xprt_upcalls carry_up = {
	.request_addrs	= carry_addrs,
	.event		= carry_up_event,
	.gone		= carry_up_gone,
	.changed	= carry_up_changed,
};

int carry_tell(char *text, int at, bool good, const char *name)
{
	return at + scnprintf(text + at, PAGE_SIZE - at, "%s %s\n", good ? "ok" : "not ok", name);
}

/* --- two ends --------------------------------------------------------------------- */

static void carry_end_init(struct carry_end *end)
{
	memset(end, 0, sizeof(*end));
	init_completion(&end->up);
	init_completion(&end->down);
	init_completion(&end->sent);
	init_completion(&end->received);
	init_completion(&end->back);
}

static int carry_buffers(struct sdp_xprt_conn *xc, void *ctx)
{
	struct carry_end *end = ctx;

	end->send = xc->ops->buf_alloc(xc, CARRY_SEND, false);
	end->recv = xc->ops->buf_alloc(xc, CARRY_SIZE, true);
	return end->send && end->recv ? 0 : -ENOMEM;
}

/* Asks; true where that has begun. */
static bool carry_ask(struct carry *carry)
{
	const struct carry_via *via = carry->via;
	struct carry_end *end = &carry->asks;
	struct carry_hello hello = {
		.local = ((struct sockaddr_in *)&via->params.peer)->sin_addr.s_addr,
		.peer = ((struct sockaddr_in *)&via->params.local)->sin_addr.s_addr,
	};

	carrying = carry;
	carry_end_init(end);
	carry_end_init(&carry->asked);
	init_completion(&carry->requested);
	carry->port = -1;
	end->xc = via->ops->conn_create(via->net, end);
	if (IS_ERR(end->xc)) {
		end->xc = NULL;
		return false;
	}
	end->xc->event = carry_event;
	via->own(end->xc);
	return !via->ops->connect(end->xc, &via->params, carry_buffers, &hello, sizeof(hello));
}

bool carry_connect(struct carry *carry)
{
	const struct sdp_xprt_ops *ops = carry->via->ops;
	struct carry_end *asked = &carry->asked;

	return carry_ask(carry) && soon(&carry->requested) &&
	       !ops->prepare(asked->xc, &carry->via->params) &&
	       !carry_buffers(asked->xc, asked) && !ops->accept(asked->xc, NULL, 0) &&
	       soon(&carry->asks.up) && soon(&asked->up);
}

void carry_free(struct carry_end *end)
{
	if (end->send)
		end->xc->ops->buf_free(end->xc, end->send);
	if (end->recv)
		end->xc->ops->buf_free(end->xc, end->recv);
}

static void carry_end(struct carry *carry)
{
	const struct sdp_xprt_ops *ops = carry->via->ops;

	if (carry->asked.xc)
		ops->conn_destroy(carry->asked.xc);
	if (carry->asks.xc)
		ops->conn_destroy(carry->asks.xc);
	carry_free(&carry->asked);
	carry_free(&carry->asks);
}

/* --- messages --------------------------------------------------------------------- */

/* What @len bytes in the buffer and @n pieces behind it are, as one message. */
static u32 carry_expect(struct carry *carry, u32 len, const struct bio_vec *pieces,
			unsigned int n)
{
	u32 at = len;
	unsigned int i;

	get_random_bytes(carry->expect, len);
	for (i = 0; i < n; i++) {
		memcpy(carry->expect + at, page_address(pieces[i].bv_page) + pieces[i].bv_offset,
		       pieces[i].bv_len);
		at += pieces[i].bv_len;
	}
	return at;
}

/* Whether a message has come as it is expected. */
static bool carry_same(const struct carry *carry, const struct sdp_xprt_buf *buf, u32 len)
{
	u32 head = min_t(u32, len, CARRY_HEAD);

	return buf->len == len && !memcmp(buf->head, carry->expect, head) &&
	       !memcmp(buf->data, carry->expect + head, len - head);
}

/* Sends a message from one end to the other; true where it comes as it was. */
static bool carry_message(struct carry *carry, struct carry_end *from, struct carry_end *to,
			  u32 len, const struct bio_vec *pieces, unsigned int n)
{
	const struct sdp_xprt_ops *ops = carry->via->ops;
	u32 all = carry_expect(carry, len, pieces, n);

	memcpy(from->send->data, carry->expect, len);
	from->send->len = len;
	memset(to->recv->head, 0xee, CARRY_HEAD);
	return !ops->post_recv(to->xc, to->recv) &&
	       !ops->post_gather(from->xc, from->send, pieces, n) && soon(&from->sent) &&
	       !from->error && soon(&to->received) && !to->error &&
	       carry_same(carry, to->recv, all);
}

/* A piece of the memory that there is for them. */
static struct bio_vec piece(struct carry *carry, unsigned int offset, unsigned int len)
{
	return (struct bio_vec){
		.bv_page = carry->pages,
		.bv_offset = offset,
		.bv_len = len,
	};
}

static void carry_gather(struct carry *carry, struct carry_end *from, struct carry_end *to)
{
	struct bio_vec pieces[CARRY_PIECES + 1];
	unsigned int i, most = from->xc->pieces;

	ok(carry, most && most <= CARRY_PIECES && to->xc->pieces == most,
	   "pieces that a message may have");
	ok(carry, carry_message(carry, from, to, 7, NULL, 0), "a message of less than a head");
	ok(carry, carry_message(carry, from, to, CARRY_HEAD, NULL, 0), "of a head");
	ok(carry, carry_message(carry, from, to, CARRY_SEND, NULL, 0), "of more than a head");
	pieces[0] = piece(carry, 1, 4001);
	ok(carry, carry_message(carry, from, to, 16, pieces, 1), "of one piece");
	pieces[0] = piece(carry, 3 * PAGE_SIZE - 5, PAGE_SIZE + 11);
	pieces[1] = piece(carry, 99, 1);
	pieces[2] = piece(carry, 0, 0);
	pieces[3] = piece(carry, PAGE_SIZE + 1, PAGE_SIZE - 1);
	ok(carry, carry_message(carry, from, to, 23, pieces, min(most, 4U)),
	   "of several: across pages, of one byte, of none");
	for (i = 0; i <= most; i++)
		pieces[i] = piece(carry, i * PAGE_SIZE + 2 * i + 1, 3 * i + 501);
	ok(carry, carry_message(carry, from, to, CARRY_HEAD, pieces, most), "of most pieces");
	ok(carry, carry_message(carry, to, from, 16, pieces, most), "and the other way");
	ok(carry, carry->via->ops->post_gather(from->xc, from->send, pieces, most + 1) == -EINVAL,
	   "of one more: EINVAL");
	pieces[0] = piece(carry, 8, CARRY_SIZE);
	ok(carry, carry_message(carry, from, to, CARRY_HEAD, pieces, 1), "as much as fits");
}

/* Takes a page, as the protocol does. */
static struct page *carry_take(struct carry_end *end)
{
	struct page *page;

	local_bh_disable();
	page = end->xc->ops->buf_take(end->xc, end->recv);
	local_bh_enable();
	return page;
}

static bool carry_takes_none(struct carry *carry, struct carry_end *to, u32 len,
			     enum carry_want want)
{
	void *data = to->recv->data;
	struct page *page;

	if (!carry->via->want(want))
		return true;
	page = carry_take(to);
	carry->via->want(CARRY_ALL);
	if (page)
		put_page(page);
	return !page && to->recv->data == data && carry_same(carry, to->recv, len);
}

static void carry_taken(struct carry *carry, struct carry_end *from, struct carry_end *to)
{
	struct bio_vec rest = piece(carry, 77, 20000), other = piece(carry, 30000, 20000);
	u32 all = CARRY_HEAD + rest.bv_len;
	struct page *page, *next;
	u8 *data;

	ok(carry, carry_message(carry, from, to, CARRY_HEAD, &rest, 1) &&
	   carry_takes_none(carry, to, all, CARRY_NO_PAGE),
	   "no memory: the page stays");
	ok(carry, carry_takes_none(carry, to, all, CARRY_NO_MAPPING), "no mapping: so it does");
	data = to->recv->data;
	page = carry_take(to);
	ok(carry, page && page_address(page) == data && to->recv->data != data &&
	   page_count(page) == 1 && compound_order(page) == get_order(CARRY_SIZE),
	   "a page is taken, and another one is in its place");
	ok(carry, carry_message(carry, from, to, CARRY_HEAD, &other, 1) &&
	   !memcmp(data, page_address(carry->pages) + 77, rest.bv_len),
	   "which the next message is in, and the first one stays");
	next = carry_take(to);
	ok(carry, next && !memcmp(page_address(next), page_address(carry->pages) + 30000,
				  other.bv_len), "that is taken, too");
	if (next)
		put_page(next);
	if (!page)
		return;
	carry_page = page;
	memcpy(carry_bytes, data, sizeof(carry_bytes));
}

/* What was posted and what was not, when the connection ends. */
static void carry_ended(struct carry *carry, struct carry_end *from, struct carry_end *to)
{
	const struct sdp_xprt_ops *ops = carry->via->ops;
	struct bio_vec rest = piece(carry, 5, 5000);
	struct page *page;

	ok(carry, carry_message(carry, from, to, 16, &rest, 1), "a last message");
	from->send->len = 16;
	/* The peer has no buffer for it. */
	ok(carry, !ops->post_gather(from->xc, from->send, &rest, 1) &&
	   !ops->post_recv(from->xc, from->recv), "and one that stays");
	ops->conn_destroy(from->xc);
	ok(carry, completion_done(&from->sent) && completion_done(&from->received) &&
	   from->error, "destroyed: all that is posted comes back");
	ops->conn_destroy(to->xc);
	page = carry_take(to);
	ok(carry, page && !memcmp(page_address(page) + 0, carry->expect + CARRY_HEAD,
				  16 + rest.bv_len - CARRY_HEAD),
	   "a page of a connection that is destroyed");
	if (page)
		put_page(page);
	carry_free(from);
	carry_free(to);
	memset(from, 0, sizeof(*from));
	memset(to, 0, sizeof(*to));
}

/* --- requests --------------------------------------------------------------------- */

static bool carry_is_told(struct carry *carry)
{
	struct carry_end *asks = &carry->asks;

	return soon(&asks->down) && asks->end == SDP_XPRT_REJECTED &&
	       asks->reason == SDP_XPRT_REJECT_CONSUMER && !strcmp(asks->text, CARRY_TEXT);
}

static void carry_refused(struct carry *carry)
{
	const struct sdp_xprt_ops *ops = carry->via->ops;

	carry->refuse = true;
	ok(carry, carry_ask(carry) && carry_is_told(carry), "refused at once, with words");
	carry_end(carry);
	carry->refuse = false;
	ok(carry, carry_ask(carry) && soon(&carry->requested), "a request that waits");
	if (carry->asked.xc)
		ops->reject(carry->asked.xc, CARRY_TEXT, sizeof(CARRY_TEXT));
	ok(carry, carry_is_told(carry), "refused later, with words");
	carry_end(carry);
}

/* One that has another way does not wait for a peer without buffers. */
static void carry_brief(struct carry *carry)
{
	struct carry_end *from = &carry->asks;
	bool good = carry_connect(carry);

	if (good) {
		from->send->len = 1;
		good = !carry->via->ops->post_send(from->xc, from->send) &&
		       wait_for_completion_timeout(&from->sent, 2 * HZ) &&
		       from->error == -ETIMEDOUT && soon(&from->down);
	}
	ok(carry, good, "a peer without a buffer: the end, soon");
	carry_end(carry);
}

static void carry_try(struct carry *carry)
{
	bool good = carry_connect(carry);

	ok(carry, good, "two ends");
	ok(carry, carry->port == 0, "at port 0");
	if (good && carry->via->times)
		ok(carry, carry->via->times(carry->asks.xc) &&
		   carry->via->times(carry->asked.xc), "with the times of one that is brief");
	if (good) {
		carry_gather(carry, &carry->asks, &carry->asked);
		carry_taken(carry, &carry->asks, &carry->asked);
		carry_ended(carry, &carry->asked, &carry->asks);
	}
	carry_end(carry);
	carry_refused(carry);
	if (carry->via->times)
		carry_brief(carry);
	ok(carry, !carry->stray, "each event comes to the connection's own function");
}

void carry_params(struct carry_via *via)
{
	via->params.send_depth = 2;
	via->params.recv_depth = 2;
	via->params.send_pieces = CARRY_PIECES;
	via->params.recv_head = CARRY_HEAD;
	via->params.timeout_ms = 10000;
}

int carry_all(char *text, const struct carry_via *asked)
{
	struct carry *carry = kzalloc(sizeof(*carry), GFP_KERNEL);
	struct carry_via via = *asked;
	int ret = -ENOMEM;

	if (!carry)
		return ret;
	carry_params(&via);
	carry->via = &via;
	carry->text = text;
	carry->expect = kmalloc(2 * CARRY_BYTES, GFP_KERNEL);
	carry->pages = alloc_pages(GFP_KERNEL | __GFP_COMP, CARRY_ORDER);
	if (!carry->expect || !carry->pages)
		goto out;
	get_random_bytes(page_address(carry->pages), CARRY_BYTES);
	ret = via.ops->listen(via.net, 0);
	if (ret)
		goto out;
	carry_try(carry);
	via.ops->unlisten(via.net, 0);
	ret = carry->at;
out:
	if (carry->pages)
		put_page(carry->pages);
	kfree(carry->expect);
	kfree(carry);
	return ret;
}

int carry_held(char *text)
{
	bool good = carry_page && !memcmp(page_address(carry_page), carry_bytes,
					  sizeof(carry_bytes));

	if (carry_page)
		put_page(carry_page);
	carry_page = NULL;
	return carry_tell(text, 0, good, "a page that was taken outlives its connection");
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Inline data: a buffer can be used again as soon as it is posted, and needs no region
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verbs.h"

#define INLINE	200	/* that a slot crosses pages now and then */
#define MOST	512
#define QKEY	0x1234
#define GRH	40

static struct end a, b;
static uint8_t data[MOST];	/* in no memory region */

static void set_data(unsigned int seed)
{
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = seed + i * 7;
}

static bool is_data(const uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != (uint8_t)(seed + i * 7))
			return false;
	return true;
}

static int post_data(size_t len, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { .addr = (uintptr_t)data, .length = len };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_INLINE,
	};

	wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
	wr.wr.rdma.rkey = b.mr->rkey;
	return post(&a, &wr, 0, 0);
}

static bool arrives(size_t offset, size_t len, unsigned int seed)
{
	return status(&b) == IBV_WC_SUCCESS && is_data(b.buf + offset, len, seed);
}

static bool refuses(uint32_t len)
{
	struct ibv_qp_init_attr init = {
		.send_cq = a.cq,
		.recv_cq = a.cq,
		.cap = {
			.max_send_wr = 1, .max_send_sge = 1, .max_inline_data = len,
		},
		.qp_type = IBV_QPT_RC,
	};

	return !ibv_create_qp(a.pd, &init) && errno == EINVAL;
}

static void test_limits(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init))
		die("ibv_query_qp");
	ok(attr.cap.max_inline_data == INLINE && init.cap.max_inline_data == INLINE,
	   "a QP tells how much inline data it takes");
	ok(refuses(MOST + 1), "there is a limit");
	set_data(0);
	ok(post_data(INLINE + 1, IBV_WR_SEND) == EINVAL, "more than it takes is refused");
	ok(post_data(8, IBV_WR_RDMA_READ) == EINVAL &&
	   post_data(8, IBV_WR_ATOMIC_FETCH_AND_ADD) == EINVAL,
	   "and for what sends no data");
	ok(quiet(&a, 50), "nothing of that was posted");
}

/* Nothing is sent before there is a receive: the buffer has changed by then. */
static void test_reuse(void)
{
	bool good;

	set_data(1);
	good = !post_data(INLINE, IBV_WR_SEND);
	set_data(2);
	good &= !post_data(5, IBV_WR_SEND);
	set_data(3);
	good &= !post_recv(&b, 0, 1000) && !post_recv(&b, 1000, 1000);
	ok(good && arrives(0, INLINE, 1) && arrives(1000, 5, 2),
	   "the data is that of the moment when it was posted");
	good = status(&a) == IBV_WC_SUCCESS;
	good &= status(&a) == IBV_WC_SUCCESS;
	ok(good, "and complete for the sender");
}

static void test_pieces(void)
{
	struct ibv_sge sge[3] = {
		{ .addr = (uintptr_t)data, .length = 50 },
		{ .length = 0 },
		{ .addr = (uintptr_t)data + 50, .length = 51 },
	};
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.num_sge = 3,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_INLINE,
	};

	set_data(4);
	post_recv(&b, 0, 1000);
	ok(!post(&a, &wr, 0, 0) && arrives(0, 101, 4) &&
	   status(&a) == IBV_WC_SUCCESS, "data in pieces");
	wr.num_sge = 0;
	post_recv(&b, 0, 1000);
	ok(!post(&a, &wr, 0, 0) && arrives(0, 0, 4) && status(&a) == IBV_WC_SUCCESS,
	   "and no data");
}

static void test_write(void)
{
	set_data(5);
	ok(!post_data(INLINE, IBV_WR_RDMA_WRITE) && status(&a) == IBV_WC_SUCCESS &&
	   is_data(b.buf, INLINE, 5), "an RDMA write");
}

static void test_chain(void)
{
	struct ibv_sge inl = { .addr = (uintptr_t)data, .length = 100 };
	struct ibv_sge reg = {
		.addr = (uintptr_t)a.buf, .length = 3000, .lkey = a.mr->lkey,
	};
	struct ibv_send_wr third = {
		.sg_list = &inl, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	};
	struct ibv_send_wr second = {
		.next = &third, .sg_list = &reg, .num_sge = 1, .opcode = IBV_WR_SEND,
	};
	struct ibv_send_wr first = third, *bad = NULL;
	int i;

	first.next = &second;
	set_data(6);
	fill(&a, 0, 3000, 7);
	for (i = 0; i < 3; i++)
		post_recv(&b, i * 4000, 4000);
	ok(!ibv_post_send(a.qp, &first, &bad) && arrives(0, 100, 6) &&
	   status(&b) == IBV_WC_SUCCESS && filled(&b, 4000, 3000, 7) &&
	   arrives(8000, 100, 6), "with others in one call");
	for (i = 0; i < 3; i++)
		if (status(&a) != IBV_WC_SUCCESS)
			die("a send");

	inl.addr = 0;
	second.next = NULL;
	third.next = &second;
	ok(ibv_post_send(a.qp, &third, &bad) == EFAULT && bad == &third && quiet(&a, 50),
	   "data that is nowhere");
}

static void test_full(void)
{
	int i, n = 0;
	bool good = true;

	for (;; n++) {
		set_data(n);
		errno = 0;
		if (post_data(INLINE, IBV_WR_SEND))
			break;
	}
	ok(n == QUEUE_LEN, "as many as the queue has entries");
	for (i = 0; i < n; i++) {
		post_recv(&b, 0, 1000);
		good &= arrives(0, INLINE, i) && status(&a) == IBV_WC_SUCCESS;
	}
	ok(good, "each has its own data");
	for (i = 0; i < 3 * QUEUE_LEN; i++) {
		set_data(i);
		post_recv(&b, 0, 1000);
		good &= !post_data(INLINE - i % 9, IBV_WR_SEND) &&
			arrives(0, INLINE - i % 9, i) && status(&a) == IBV_WC_SUCCESS;
	}
	ok(good, "round and round");
}

static void test_none(void)
{
	a.inline_data = 0;
	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	ok(post_data(1, IBV_WR_SEND) == EINVAL, "a QP that asked for none takes none");
	a.inline_data = INLINE;
}

static void test_uc(void)
{
	connect_qps(IBV_QPT_UC, &a, &b, NULL);
	set_data(8);
	post_recv(&b, 0, 1000);
	ok(!post_data(INLINE, IBV_WR_SEND) && arrives(0, INLINE, 8) &&
	   status(&a) == IBV_WC_SUCCESS, "an unreliable connection");
}

static void make_ud(struct end *end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
	};

	make_qp(end, IBV_QPT_UD);
	if (ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_QKEY))
		die("INIT");
	set_state(end, IBV_QPS_RTR);
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("RTS");
}

static void test_ud(void)
{
	struct ibv_ah_attr attr = { .dlid = b.lid, .port_num = 1 };
	struct ibv_sge sge = { .addr = (uintptr_t)data, .length = INLINE };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	};

	make_ud(&a);
	make_ud(&b);
	wr.wr.ud.ah = ibv_create_ah(a.pd, &attr);
	if (!wr.wr.ud.ah)
		die("ibv_create_ah");
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	set_data(9);
	post_recv(&b, 0, 1000);
	ok(!post(&a, &wr, 0, 0) && arrives(GRH, INLINE, 9) &&
	   status(&a) == IBV_WC_SUCCESS, "a datagram");
	ibv_destroy_ah(wr.wr.ud.ah);
}

/* With an argument: the adapters take none. */
int main(int argc, char **argv)
{
	(void)argv;
	plan(argc > 1 ? 1 : 18);
	open_end(&a, "softib0");
	if (argc > 1) {
		ok(refuses(1), "no inline data");
		close_end(&a);
		return finish();
	}
	open_end(&b, "softib1");
	a.inline_data = INLINE;
	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	test_limits();
	test_reuse();
	test_pieces();
	test_write();
	test_chain();
	test_full();
	test_none();
	test_uc();
	test_ud();
	close_end(&a);
	close_end(&b);
	return finish();
}

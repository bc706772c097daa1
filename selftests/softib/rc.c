// SPDX-License-Identifier: GPL-2.0
/*
 * Reliable connections as a user of verbs sees them. "rc" tests everything on
 * a fabric that loses nothing, "rc loss" what must be true on any; "rc reads" and
 * "rc long" are parts of faults.sh, "rc error" is one of slow.sh.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "verbs.h"

#define HALF	(BUF_SIZE / 2)
#define MTU	2048

static struct end a, b;

static void test_sends(void)
{
	static const size_t lengths[] = {
		0, 1, 2, 3, 5, MTU - 1, MTU, MTU + 1, 3 * MTU, 65537, HALF,
	};
	struct ibv_wc wc;
	unsigned int i;

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
		size_t len = lengths[i];

		fill(&a, 0, len, i);
		memset(b.buf, 0xee, len);
		post_recv(&b, 0, HALF);
		post(&a, &wr, 0, len);
		ok(status(&a) == IBV_WC_SUCCESS && poll_for(&b, &wc, 20000) &&
		   wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV &&
		   wc.byte_len == len && wc.src_qp == a.qp->qp_num &&
		   filled(&b, 0, len, i), "send of %zu bytes", len);
	}
}

static void test_send_kinds(void)
{
	struct ibv_send_wr imm = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(0x01020304),
	};
	struct ibv_sge sge[3], to[2];
	struct ibv_send_wr gather = {
		.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 3,
	};
	struct ibv_recv_wr scatter = { .sg_list = to, .num_sge = 2 }, *bad;
	struct ibv_wc wc;
	int i;

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	post_recv(&b, 0, 5000);
	post(&a, &imm, 0, 5000);
	ok(status(&a) == IBV_WC_SUCCESS && poll_for(&b, &wc, 20000) &&
	   wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == imm.imm_data,
	   "send with immediate data");

	/* 100 bytes each from three places, to two places of 250 and 50 */
	fill(&a, 0, 300, 7);
	for (i = 0; i < 3; i++) {
		memmove(a.buf + 10000 * (i + 1), a.buf + 100 * i, 100);
		sge[i].addr = (uintptr_t)a.buf + 10000 * (i + 1);
		sge[i].length = 100;
		sge[i].lkey = a.mr->lkey;
	}
	for (i = 0; i < 2; i++) {
		to[i].addr = (uintptr_t)b.buf + 8192 * i;
		to[i].length = i ? 50 : 250;
		to[i].lkey = b.mr->lkey;
	}
	ibv_post_recv(b.qp, &scatter, &bad);
	post(&a, &gather, 0, 0);
	i = status(&a) == IBV_WC_SUCCESS && status(&b) == IBV_WC_SUCCESS;
	memmove(b.buf + 250, b.buf + 8192, 50);
	ok(i && filled(&b, 0, 300, 7), "gather and scatter");
}

static void rdma(struct ibv_send_wr *wr, size_t offset)
{
	wr->wr.rdma.remote_addr = (uintptr_t)b.buf + offset;
	wr->wr.rdma.rkey = b.mr->rkey;
}

static void test_rdma(void)
{
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_send_wr imm = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htobe32(5),
	};
	struct ibv_send_wr read = { .opcode = IBV_WR_RDMA_READ };
	struct ibv_wc wc;
	bool good = true;
	int i;

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	fill(&a, 1, 1000003, 1);
	memset(b.buf, 0, BUF_SIZE);
	rdma(&write, 3);
	post(&a, &write, 1, 1000003);
	ok(status(&a) == IBV_WC_SUCCESS && filled(&b, 3, 1000003, 1) &&
	   !b.buf[2] && !b.buf[3 + 1000003] && quiet(&b, 50), "RDMA write");

	fill(&a, 0, 3 * MTU, 2);
	rdma(&imm, HALF);
	post_recv(&b, 0, 0);
	post(&a, &imm, 0, 3 * MTU);
	ok(status(&a) == IBV_WC_SUCCESS && poll_for(&b, &wc, 20000) &&
	   wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.imm_data == htobe32(5) &&
	   wc.byte_len == 3 * MTU && filled(&b, HALF, 3 * MTU, 2),
	   "RDMA write with immediate data");

	fill(&b, 5, 1000003, 3);
	rdma(&read, 5);
	post(&a, &read, 7, 1000003);
	ok(status(&a) == IBV_WC_SUCCESS && filled(&a, 7, 1000003, 3),
	   "RDMA read");

	for (i = 0; i < QUEUE_LEN; i++) {
		fill(&b, i * 10000, 9999, i);
		rdma(&read, i * 10000);
		good &= !post(&a, &read, i * 10000, 9999);
		read.sg_list = NULL;
	}
	for (i = 0; i < QUEUE_LEN; i++)
		good &= status(&a) == IBV_WC_SUCCESS &&
			filled(&a, i * 10000, 9999, i);
	ok(good, "more reads than may be under way");

	rdma(&read, 0);
	read.wr.rdma.rkey = 0x4711;
	read.sg_list = NULL;
	good = !post(&a, &read, 0, 0) && status(&a) == IBV_WC_SUCCESS;
	write.wr.rdma.rkey = 0x4711;
	write.sg_list = NULL;
	good &= !post(&a, &write, 0, 0) && status(&a) == IBV_WC_SUCCESS;
	ok(good, "nothing read and written needs no R_Key");
}

static uint64_t atomic(enum ibv_wr_opcode opcode, uint64_t arg, uint64_t swap)
{
	struct ibv_send_wr wr = { .opcode = opcode };

	wr.wr.atomic.remote_addr = (uintptr_t)b.buf + 8;
	wr.wr.atomic.rkey = b.mr->rkey;
	wr.wr.atomic.compare_add = arg;
	wr.wr.atomic.swap = swap;
	if (post(&a, &wr, 64, 8) || status(&a) != IBV_WC_SUCCESS)
		return ~0ULL;
	return *(uint64_t *)(a.buf + 64);
}

static void test_atomics(void)
{
	uint64_t *value = (uint64_t *)(b.buf + 8);

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	*value = 40;
	ok(atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 2, 0) == 40 && *value == 42,
	   "fetch and add");
	ok(atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 41, 1) == 42 && *value == 42,
	   "compare and swap of something else");
	ok(atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 42, 1) == 42 && *value == 1,
	   "compare and swap");
}

/* An operation that the other side refuses: the error, and both ends fail. */
static void refused(struct ibv_send_wr *wr, size_t len, int expected,
		    const char *what)
{
	struct ibv_send_wr next = { .opcode = IBV_WR_SEND };
	int got;

	post(&a, wr, 0, len);
	post(&a, &next, 0, 1);
	got = status(&a);
	ok(got == expected && status(&a) == IBV_WC_WR_FLUSH_ERR &&
	   get_state(&a) == IBV_QPS_ERR && get_state(&b) == IBV_QPS_ERR,
	   "%s: %s", what, got < 0 ? "nothing" : ibv_wc_status_str(got));
}

static void test_refused(void)
{
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_send_wr read = { .opcode = IBV_WR_RDMA_READ };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct conn none = default_conn;
	struct ibv_wc wc;

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	rdma(&write, 0);
	write.wr.rdma.rkey ^= 0x100;
	refused(&write, 1, IBV_WC_REM_ACCESS_ERR, "write with a wrong R_Key");

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	rdma(&write, BUF_SIZE - 1);
	write.sg_list = NULL;
	refused(&write, 2, IBV_WC_REM_ACCESS_ERR, "write beyond the end");

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	write.wr.rdma.remote_addr = (uintptr_t)b.buf - 1;
	write.sg_list = NULL;
	refused(&write, 1, IBV_WC_REM_ACCESS_ERR, "write before the start");

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	rdma(&write, 0);
	write.wr.rdma.rkey = 0;
	write.sg_list = NULL;
	refused(&write, 1, IBV_WC_REM_ACCESS_ERR, "write with R_Key 0");

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	rdma(&read, BUF_SIZE - 1);
	refused(&read, 2, IBV_WC_REM_ACCESS_ERR, "read beyond the end");

	none.access = IBV_ACCESS_LOCAL_WRITE;
	connect_qps(IBV_QPT_RC, &a, &b, &none);
	rdma(&write, 0);
	write.sg_list = NULL;
	refused(&write, 1, IBV_WC_REM_INV_REQ_ERR, "write where none may");

	connect_qps(IBV_QPT_RC, &a, &b, &none);
	rdma(&read, 0);
	read.sg_list = NULL;
	refused(&read, 1, IBV_WC_REM_INV_REQ_ERR, "read where none may");

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	post_recv(&b, 0, 100);
	refused(&send, 101, IBV_WC_REM_INV_REQ_ERR, "send of too much");
	ok(poll_for(&b, &wc, 20000) && wc.status == IBV_WC_LOC_LEN_ERR,
	   "the receive of too much fails");
}

/* A program's region is not the other side's to take away: receives are in it, too. */
static void test_invalidate(void)
{
	struct ibv_send_wr inv = {
		.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = b.mr->rkey,
	};
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	post_recv(&b, 0, 100);
	refused(&inv, 100, IBV_WC_REM_ACCESS_ERR, "send with invalidate of a program's R_Key");
	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	rdma(&write, 0);
	ok(!post(&a, &write, 0, 100) && status(&a) == IBV_WC_SUCCESS,
	   "the R_Key is still valid");
}

/* Without an LMC there are no path bits, whatever the consumer says: the LID would be
 * another port's, and the other end would not know the sender.
 */
static void test_path_bits(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct conn conn = default_conn;
	struct ibv_wc wc;

	conn.path_bits = 0x7f;
	connect_qps(IBV_QPT_RC, &a, &b, &conn);
	post_recv(&b, 0, 100);
	post(&a, &send, 0, 100);
	ok(status(&a) == IBV_WC_SUCCESS && poll_for(&b, &wc, 20000) && wc.slid == a.lid,
	   "path bits that the port has not");
}

static void test_not_ready(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct conn conn = default_conn;

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	fill(&a, 0, 5000, 9);
	post(&a, &send, 0, 5000);
	ok(quiet(&a, 100), "a send waits for a receive");
	post_recv(&b, 0, 5000);
	ok(status(&a) == IBV_WC_SUCCESS && status(&b) == IBV_WC_SUCCESS &&
	   filled(&b, 0, 5000, 9), "and is done when there is one");

	conn.rnr_retry = 2;
	connect_qps(IBV_QPT_RC, &a, &b, &conn);
	send.sg_list = NULL;
	post(&a, &send, 0, 1);
	ok(status(&a) == IBV_WC_RNR_RETRY_EXC_ERR &&
	   get_state(&a) == IBV_QPS_ERR && get_state(&b) == IBV_QPS_RTS,
	   "but not for ever, if it is told so");

	conn = default_conn;
	conn.timeout = 8;
	conn.retry_cnt = 2;
	connect_qps(IBV_QPT_RC, &a, &b, &conn);
	set_state(&b, IBV_QPS_RESET);
	send.sg_list = NULL;
	post(&a, &send, 0, 1);
	ok(status(&a) == IBV_WC_RETRY_EXC_ERR, "nobody answers");
}

static void test_flush(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	bool good = true;
	int i;

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	for (i = 0; i < 3; i++)
		post_recv(&a, 0, 10);
	set_state(&a, IBV_QPS_ERR);
	for (i = 0; i < 3; i++)
		good &= status(&a) == IBV_WC_WR_FLUSH_ERR;
	ok(good, "receives are flushed");
	ok(!post(&a, &send, 0, 1) && status(&a) == IBV_WC_WR_FLUSH_ERR,
	   "so is a send that is posted later");
	ok(!post_recv(&a, 0, 10) && status(&a) == IBV_WC_WR_FLUSH_ERR,
	   "and a receive");
}

static void test_psn_wrap(void)
{
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_send_wr read = { .opcode = IBV_WR_RDMA_READ };
	struct conn conn = default_conn;
	bool good;

	conn.psn = 0xfffffe;
	conn.mtu = IBV_MTU_256;
	connect_qps(IBV_QPT_RC, &a, &b, &conn);
	fill(&a, 0, 100000, 4);
	rdma(&write, 0);
	good = !post(&a, &write, 0, 100000) && status(&a) == IBV_WC_SUCCESS &&
	       filled(&b, 0, 100000, 4);
	rdma(&read, 0);
	good &= !post(&a, &read, HALF, 100000) &&
		status(&a) == IBV_WC_SUCCESS && filled(&a, HALF, 100000, 4);
	ok(good, "PSNs wrap, at the smallest MTU");
}

static void test_loopback(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct end c;

	open_end(&c, "softib0");
	connect_qps(IBV_QPT_RC, &a, &c, NULL);
	fill(&a, 0, 10000, 11);
	post_recv(&c, 0, 10000);
	post(&a, &send, 0, 10000);
	ok(status(&a) == IBV_WC_SUCCESS && status(&c) == IBV_WC_SUCCESS &&
	   filled(&c, 0, 10000, 11), "a connection within an HCA");
	close_end(&c);
}

/* Many operations of every kind, each of which must be done once, in order. */
static void test_mix(int rounds)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_send_wr read = { .opcode = IBV_WR_RDMA_READ };
	uint64_t *value = (uint64_t *)(b.buf + 8);
	int i, sends = 0, writes = 0, reads = 0, adds = 0;
	struct conn conn = default_conn;
	size_t len = 20000, at;

	conn.timeout = 12;
	connect_qps(IBV_QPT_RC, &a, &b, &conn);
	*value = 0;
	for (i = 0; i < rounds; i++) {
		at = 4096 + i % 16 * len;
		fill(&a, at, len, i);
		post_recv(&b, HALF + at, len);
		send.sg_list = NULL;
		write.sg_list = NULL;
		read.sg_list = NULL;
		rdma(&write, at);
		rdma(&read, at);
		post(&a, &write, at, len);
		post(&a, &send, at, len);
		post(&a, &read, HALF + at, len);
		writes += status(&a) == IBV_WC_SUCCESS;
		sends += status(&a) == IBV_WC_SUCCESS &&
			 status(&b) == IBV_WC_SUCCESS &&
			 filled(&b, HALF + at, len, i);
		reads += status(&a) == IBV_WC_SUCCESS &&
			 filled(&a, HALF + at, len, i) &&
			 filled(&b, at, len, i);
		adds += atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0) ==
			(uint64_t)i && *value == (uint64_t)i + 1;
	}
	ok(writes == rounds, "%d writes of %d", writes, rounds);
	ok(sends == rounds, "%d sends of %d arrive whole", sends, rounds);
	ok(reads == rounds, "%d reads of %d", reads, rounds);
	ok(adds == rounds, "%d additions of %d, none twice", adds, rounds);
}

/* As many large reads as may be under way, whose responses the test does not wait for */
static void test_reads(void)
{
	struct ibv_send_wr read = { .opcode = IBV_WR_RDMA_READ };
	struct conn conn = default_conn;
	bool good = true;
	int i;

	conn.timeout = 0;
	connect_qps(IBV_QPT_RC, &a, &b, &conn);
	rdma(&read, 0);
	for (i = 0; i < conn.max_rd_atomic; i++) {
		read.sg_list = NULL;
		good &= !post(&a, &read, HALF, HALF);
	}
	for (i = 0; i < conn.max_rd_atomic; i++)
		good &= status(&a) == IBV_WC_SUCCESS;
	ok(good, "%d large reads", conn.max_rd_atomic);
}

/* One packet, for a way that does not take any that long */
static void test_long(void)
{
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	struct conn conn = default_conn;

	conn.timeout = 8;
	conn.retry_cnt = 1;
	connect_qps(IBV_QPT_RC, &a, &b, &conn);
	rdma(&write, 0);
	ok(!post(&a, &write, 0, 100) && status(&a) == IBV_WC_SUCCESS, "a short packet");
	write.sg_list = NULL;
	ok(!post(&a, &write, 0, MTU) && status(&a) == IBV_WC_RETRY_EXC_ERR,
	   "a long one gets lost");
}

/* A QP in error stays in that state, whatever it has to flush. */
static void test_error(void)
{
	bool good = true;
	int i;

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	set_state(&a, IBV_QPS_ERR);
	for (i = 0; i < 200; i++) {
		good &= get_state(&a) == IBV_QPS_ERR;
		usleep(1000);
	}
	ok(good, "a queue pair in error is in error");
}

int main(int argc, char **argv)
{
	bool loss = argc > 1 && !strcmp(argv[1], "loss");
	bool reads = argc > 1 && !strcmp(argv[1], "reads");
	bool too_long = argc > 1 && !strcmp(argv[1], "long");
	bool error = argc > 1 && !strcmp(argv[1], "error");

	plan(loss ? 4 : reads || error ? 1 : too_long ? 2 : 46);
	open_end(&a, "softib0");
	open_end(&b, "softib1");
	if (reads || too_long || error) {
		reads ? test_reads() : error ? test_error() : test_long();
		return finish();
	}
	if (!loss) {
		test_sends();
		test_send_kinds();
		test_rdma();
		test_atomics();
		test_refused();
		test_invalidate();
		test_path_bits();
		test_not_ready();
		test_flush();
		test_psn_wrap();
		test_loopback();
	}
	test_mix(loss ? 100 : 20);
	close_end(&a);
	close_end(&b);
	return finish();
}

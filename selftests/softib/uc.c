// SPDX-License-Identifier: GPL-2.0
/*
 * Unreliable connections as a user of verbs sees them. "uc" tests everything on
 * a fabric that loses nothing, "uc loss" what must be true on any; "uc flood" and "uc
 * halted" are parts of faults.sh.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "verbs.h"

#define HALF	(BUF_SIZE / 2)
#define MTU	2048
/* A message that has not arrived by then was lost, or is late. */
#define LOST_MS	200
/* Messages for an HCA that stands still */
#define QUEUED	20

static struct end a, b;

static void test_sends(void)
{
	static const size_t lengths[] = { 0, 1, MTU, MTU + 1, 65537 };
	struct ibv_send_wr imm = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(0x01020304),
	};
	struct ibv_wc wc;
	unsigned int i;

	connect_qps(IBV_QPT_UC, &a, &b, NULL);
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
	post_recv(&b, 0, 5000);
	post(&a, &imm, 0, 5000);
	ok(status(&a) == IBV_WC_SUCCESS && poll_for(&b, &wc, 20000) &&
	   wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == imm.imm_data,
	   "send with immediate data");
}

static void rdma(struct ibv_send_wr *wr, size_t offset)
{
	wr->sg_list = NULL;
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
	int i, good = 0;

	connect_qps(IBV_QPT_UC, &a, &b, NULL);
	fill(&a, 1, 100003, 1);
	rdma(&write, 3);
	post(&a, &write, 1, 100003);
	fill(&a, HALF, 3 * MTU, 2);
	rdma(&imm, HALF);
	post_recv(&b, 0, 0);
	post(&a, &imm, HALF, 3 * MTU);
	for (i = 0; i < 2; i++)
		good += status(&a) == IBV_WC_SUCCESS;
	ok(good == 2 && poll_for(&b, &wc, 20000) &&
	   wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
	   wc.imm_data == htobe32(5) && wc.byte_len == 3 * MTU &&
	   filled(&b, HALF, 3 * MTU, 2), "RDMA write with immediate data");
	ok(filled(&b, 3, 100003, 1) && quiet(&b, 1), "RDMA write before it");
	rdma(&read, 0);
	ok(post(&a, &read, 0, 10), "no RDMA read");
}

/* A send that arrives shows that all before it has arrived, or never will. */
static bool next_arrives(size_t len, unsigned int seed)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	fill(&a, 0, len, seed);
	post(&a, &send, 0, len);
	return status(&a) == IBV_WC_SUCCESS && poll_for(&b, &wc, 20000) &&
	       wc.status == IBV_WC_SUCCESS && wc.byte_len == len &&
	       wc.wr_id == seed && filled(&b, HALF, len, seed);
}

/* So does a write, which takes no receive. */
static bool written(uint8_t mark)
{
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	uint8_t there = !mark;
	int i;

	a.buf[0] = mark;
	b.buf[0] = 0;
	rdma(&write, 0);
	if (post(&a, &write, 0, 1) || status(&a) != IBV_WC_SUCCESS)
		return false;
	for (i = 0; i < 20000 && there != mark; i++) {
		usleep(1000);
		there = __atomic_load_n(&b.buf[0], __ATOMIC_ACQUIRE);
	}
	return there == mark;
}

static void post_at(size_t offset, size_t len, uint64_t name)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b.buf + offset,
		.length = len,
		.lkey = b.mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = name, .sg_list = &sge, .num_sge = 1,
	}, *bad;

	if (ibv_post_recv(b.qp, &wr, &bad))
		die("ibv_post_recv");
}

static void post_named(size_t len, uint64_t name)
{
	post_at(HALF, len, name);
}

/* What cannot be done is not done, and neither side hears of it. */
static void test_dropped(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_send_wr imm = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM };
	bool sent;

	connect_qps(IBV_QPT_UC, &a, &b, NULL);
	sent = !post(&a, &send, 0, 3 * MTU) && status(&a) == IBV_WC_SUCCESS &&
	       written(1);
	post_named(5 * MTU, 1);
	ok(sent && next_arrives(2 * MTU + 5, 1), "no receive for a send");

	post_named(2 * MTU, 2);
	send.sg_list = NULL;
	sent = !post(&a, &send, 0, 2 * MTU + 1) && status(&a) == IBV_WC_SUCCESS;
	ok(sent && next_arrives(2 * MTU, 2),
	   "what is too long leaves the receive to the next");

	post_named(2 * MTU, 3);
	send.sg_list = NULL;
	sent = !post(&a, &send, 0, 3 * MTU) && status(&a) == IBV_WC_SUCCESS;
	rdma(&imm, 0);
	sent &= !post(&a, &imm, 0, 2 * MTU) && status(&a) == IBV_WC_SUCCESS;
	ok(sent && status(&b) == IBV_WC_SUCCESS && filled(&b, 0, 2 * MTU, 2),
	   "or to a write with immediate data");

	memset(b.buf, 0, 3 * MTU);
	rdma(&write, 0);
	write.wr.rdma.rkey ^= 0x100;
	sent = !post(&a, &write, 0, 3 * MTU) && status(&a) == IBV_WC_SUCCESS;
	rdma(&write, BUF_SIZE - 2 * MTU);
	sent &= !post(&a, &write, 0, 3 * MTU) && status(&a) == IBV_WC_SUCCESS;
	post_named(MTU, 4);
	ok(sent && next_arrives(MTU, 4) && !b.buf[0] && !b.buf[2 * MTU] &&
	   get_state(&b) == IBV_QPS_RTS,
	   "writes with a wrong R_Key and beyond the end");
}

/* A receive that a message left has no hold on its memory. */
static void test_left_receive(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.buf + HALF, MTU, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;
	bool sent;

	if (!mr)
		die("ibv_reg_mr");
	connect_qps(IBV_QPT_UC, &a, &b, NULL);
	sge = (struct ibv_sge){ (uintptr_t)b.buf + HALF, MTU, mr->lkey };
	wr.sg_list = &sge;
	sent = !ibv_post_recv(b.qp, &wr, &bad) && !post(&a, &send, 0, MTU + 1) &&
	       status(&a) == IBV_WC_SUCCESS && written(6);
	ok(sent && !ibv_dereg_mr(mr), "the memory of a receive that a message left can go");
	send.sg_list = NULL;
	ok(!post(&a, &send, 0, 1) && status(&a) == IBV_WC_SUCCESS &&
	   status(&b) == IBV_WC_LOC_PROT_ERR && state_comes(&b, IBV_QPS_ERR),
	   "the next message finds that out");
}

static void test_psn_wrap(void)
{
	struct conn conn = default_conn;

	conn.psn = 0xfffffe;
	conn.mtu = IBV_MTU_256;
	connect_qps(IBV_QPT_UC, &a, &b, &conn);
	post_named(10000, 5);
	ok(next_arrives(10000, 5), "PSNs wrap, at the smallest MTU");
}

/* Messages of some packets: those that arrive are whole and in order, and there
 * are some that do and some that do not. The last ones are sent until one
 * arrives. Where one does not a write follows, which takes no receive: neither its
 * own nor what the lost one had got.
 */
static void test_loss(void)
{
	const size_t len = 8 * MTU;
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	unsigned int i, n, sent = 0, last = 0, arrived = 0;
	bool whole = true;
	struct ibv_wc wc;

	connect_qps(IBV_QPT_UC, &a, &b, NULL);
	for (i = 0; i < QUEUE_LEN; i++)
		post_at(HALF + i * len, len, i);
	while (sent < 200 && arrived < QUEUE_LEN) {
		struct ibv_send_wr send = {
			.opcode = IBV_WR_SEND_WITH_IMM,
			.imm_data = htobe32(++sent),
		};

		fill(&a, 0, len, sent);
		if (post(&a, &send, 0, len) || status(&a) != IBV_WC_SUCCESS)
			break;
		/* Before it, ones that are late may come. */
		do {
			if (!poll_for(&b, &wc, LOST_MS)) {
				rdma(&write, 0);
				whole &= !post(&a, &write, 0, 1) &&
					 status(&a) == IBV_WC_SUCCESS;
				break;
			}
			n = be32toh(wc.imm_data);
			whole &= wc.status == IBV_WC_SUCCESS && wc.byte_len == len &&
				 wc.wr_id == arrived && n > last && n <= sent &&
				 filled(&b, HALF + wc.wr_id * len, len, n);
			last = n;
			arrived++;
		} while (n != sent && arrived < QUEUE_LEN);
	}
	ok(whole && last, "%u of %u messages arrive, whole and in order",
	   arrived, sent);
	ok(arrived < sent && arrived > sent / 10, "the others are lost");
	ok(get_state(&a) == IBV_QPS_RTS && get_state(&b) == IBV_QPS_RTS,
	   "without an error");
}

/* More packets than an HCA may have waiting in others */
static void test_flood(void)
{
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };

	connect_qps(IBV_QPT_UC, &a, &b, NULL);
	rdma(&write, 0);
	ok(!post(&a, &write, 0, BUF_SIZE) && status(&a) == IBV_WC_SUCCESS,
	   "all packets are sent");
}

/* Tells the first end's HCA to stand still, or to go on. */
static void halt(const char *on)
{
	FILE *f = fopen("/sys/kernel/config/softib/hcas/softib0/halted", "w");

	if (!f || fputs(on, f) < 0 || fclose(f))
		die("halted");
}

/* What is posted while the HCA stands still waits, and is neither lost nor sent twice. */
static void test_halted(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	int i, arrived = 0, sent = 0;
	struct ibv_wc wc;
	bool waited;

	connect_qps(IBV_QPT_UC, &a, &b, NULL);
	for (i = 0; i < QUEUED; i++)
		post_recv(&b, 0, MTU);
	halt("1");
	for (i = 0; i < QUEUED; i++)
		post(&a, &send, 0, i);
	waited = quiet(&a, 2 * LOST_MS) && quiet(&b, 1);
	/* It still receives. */
	post_recv(&a, 0, MTU);
	post(&b, &send, 0, MTU);
	waited &= status(&b) == IBV_WC_SUCCESS && poll_for(&a, &wc, 20000) &&
		  wc.opcode == IBV_WC_RECV;
	ok(waited, "what is posted waits");
	halt("0");
	for (i = 0; i < QUEUED; i++) {
		sent += status(&a) == IBV_WC_SUCCESS;
		arrived += poll_for(&b, &wc, 20000) && wc.status == IBV_WC_SUCCESS &&
			   wc.byte_len == (uint32_t)i;
	}
	ok(sent == QUEUED && arrived == QUEUED && quiet(&a, 1) && quiet(&b, 1),
	   "and is sent when the HCA goes on");
}

int main(int argc, char **argv)
{
	bool loss = argc > 1 && !strcmp(argv[1], "loss");
	bool flood = argc > 1 && !strcmp(argv[1], "flood");
	bool halted = argc > 1 && !strcmp(argv[1], "halted");

	plan(loss ? 3 : flood ? 1 : halted ? 2 : 16);
	open_end(&a, "softib0");
	open_end(&b, "softib1");
	if (loss) {
		test_loss();
	} else if (flood) {
		test_flood();
	} else if (halted) {
		test_halted();
	} else {
		test_sends();
		test_rdma();
		test_dropped();
		test_left_receive();
		test_psn_wrap();
	}
	close_end(&a);
	close_end(&b);
	return finish();
}

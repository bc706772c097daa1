// SPDX-License-Identifier: GPL-2.0
/*
 * A user of verbs who means harm: arguments that cannot be, and queues, which
 * user space has mapped, with anything written in them. It costs that user a
 * connection at the most.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <infiniband/verbs.h>
#include <rdma/rvt-abi.h>

#include "verbs.h"

#define LEN	1000
#define MAPS	32

static struct end a, b;

/* Memory that the kernel shares with libibverbs */
struct map {
	uint8_t *start;
	size_t len;
};

/* Those of one device, or of both */
static int find_maps(struct map *maps, struct end *of)
{
	const char *name = of ? of->ctx->device->dev_name : "/dev/infiniband/uverbs";
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];
	int n = 0;

	if (!f)
		die("/proc/self/maps");
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, name) || n == MAPS)
			continue;
		if (sscanf(line, "%lx-%lx", &start, &end) == 2)
			maps[n++] = (struct map){ (uint8_t *)start, end - start };
	}
	fclose(f);
	return n;
}

/* A new connection; returns where b's receives are. */
static struct map new_receives(void)
{
	struct map before[MAPS], after[MAPS];
	int n, m, i, j;

	if (b.qp && ibv_destroy_qp(b.qp))
		die("ibv_destroy_qp");
	b.qp = NULL;
	n = find_maps(before, &b);
	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	m = find_maps(after, &b);
	for (i = 0; i < m; i++) {
		for (j = 0; j < n && before[j].start != after[i].start; j++)
			;
		if (j == n)
			return after[i];
	}
	errno = ENOENT;
	die("no mapped queue");
}

/* Whatever was done, others come to no harm: a connection made now works. */
static bool works(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	fill(&a, 0, LEN, 1);
	memset(b.buf, 0, LEN);
	return !post_recv(&b, 0, LEN) && !post(&a, &send, 0, LEN) &&
	       status(&a) == IBV_WC_SUCCESS && status(&b) == IBV_WC_SUCCESS &&
	       filled(&b, 0, LEN, 1);
}

static bool no_qp(uint32_t wr, uint32_t sge)
{
	struct ibv_qp_init_attr init = {
		.send_cq = a.cq,
		.recv_cq = a.cq,
		.cap = { wr, wr, sge, sge, 0 },
		.qp_type = IBV_QPT_RC,
	};

	return !ibv_create_qp(a.pd, &init);
}

static void test_arguments(void)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1 << 30, .max_sge = 1 } };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	void *nowhere = (void *)(1UL << 46);

	ok(!ibv_create_cq(a.ctx, 0, NULL, NULL, 0) &&
	   !ibv_create_cq(a.ctx, INT_MAX, NULL, NULL, 0), "CQs of impossible sizes");
	ok(no_qp(1 << 30, 1) && no_qp(16, 10000) && no_qp(UINT_MAX, UINT_MAX),
	   "QPs of impossible sizes");
	ok(!ibv_create_srq(a.pd, &srq), "an SRQ of an impossible size");
	ok(!ibv_reg_mr(a.pd, nowhere, 4096, IBV_ACCESS_LOCAL_WRITE) &&
	   !ibv_reg_mr(a.pd, a.buf, SIZE_MAX / 2, IBV_ACCESS_LOCAL_WRITE),
	   "memory that is not there");
	make_qp(&a, IBV_QPT_RC);
	ok(ibv_modify_qp(a.qp, &rts, IBV_QP_STATE), "from RESET to RTS");
	ok(works(), "no harm was done");
}

/* To RTS, from the state that is named */
static int to_rts_from(struct end *end, enum ibv_qp_state from)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = from };

	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE);
}

static void test_states(enum ibv_qp_type type, const char *name)
{
	make_qp(&a, type);
	ok(to_rts_from(&a, IBV_QPS_RTS) == EINVAL &&
	   to_rts_from(&a, IBV_QPS_SQD) == EINVAL && get_state(&a) == IBV_QPS_RESET,
	   "%s: a QP in RESET is in no other state", name);
	connect_qps(type, &a, &b, NULL);
	set_state(&a, IBV_QPS_SQD);
	ok(to_rts_from(&a, IBV_QPS_RTS) == EINVAL && get_state(&a) == IBV_QPS_SQD,
	   "%s: nor is one in SQD", name);
	ok(!to_rts_from(&a, IBV_QPS_SQD) && get_state(&a) == IBV_QPS_RTS,
	   "%s: the state that it is in may be named", name);
}

static void *reset_again_and_again(void *count)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	time_t end = time(NULL) + 3;

	while (time(NULL) < end)
		*(unsigned int *)count += !ibv_modify_qp(a.qp, &attr, IBV_QP_STATE);
	return NULL;
}

static void *init_again_and_again(void *count)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	time_t end = time(NULL) + 3;

	while (time(NULL) < end)
		*(unsigned int *)count += !ibv_modify_qp(a.qp, &attr, IBV_QP_STATE |
				IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	return NULL;
}

static void test_two_threads(void)
{
	unsigned int resets = 0, inits = 0;
	pthread_t thread;

	make_qp(&a, IBV_QPT_RC);
	errno = pthread_create(&thread, NULL, reset_again_and_again, &resets);
	if (errno)
		die("pthread_create");
	init_again_and_again(&inits);
	pthread_join(thread, NULL);
	printf("# %u resets, %u times to INIT\n", resets, inits);
	ok(resets && inits && works(), "one thread resets a QP that another one uses");
}

static void test_posts(void)
{
	struct ibv_sge sge[64] = { { (uintptr_t)a.buf, 1, 0xdeadbeef } };
	struct ibv_send_wr bad = { .opcode = 99, .sg_list = sge }, *stop;

	works();
	ok(ibv_post_send(a.qp, &bad, &stop), "an opcode that is none");
	bad.opcode = IBV_WR_SEND;
	bad.num_sge = 64;
	ok(ibv_post_send(a.qp, &bad, &stop), "more SGEs than there may be");
	bad.num_sge = 1;
	ok(ibv_post_send(a.qp, &bad, &stop) || status(&a) == IBV_WC_LOC_PROT_ERR,
	   "an L_Key that is none");
	ok(works(), "no harm was done");
}

/* A receive with more SGEs than its queue has room for, each of them good: all
 * the queue is full of them.
 */
static void test_many_sges(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct rvt_wqe_sge *sge;
	struct rvt_rwq *rq;
	struct map map = new_receives();
	size_t i, n;

	if (post_recv(&b, 0, LEN))
		die("post_recv");
	rq = (struct rvt_rwq *)map.start;
	sge = rq->wq[0].sg_list;
	n = (map.start + map.len - (uint8_t *)sge) / sizeof(*sge);
	for (i = 0; i < n; i++) {
		sge[i].addr = (uintptr_t)b.buf;
		sge[i].length = 1;
		sge[i].lkey = b.mr->lkey;
	}
	rq->wq[0].num_sge = n < 255 ? n : 255;
	ok(!post(&a, &send, 0, 200) && status(&a) == IBV_WC_REM_OP_ERR,
	   "a receive of %u SGEs is none", rq->wq[0].num_sge);
	ok(works(), "no harm was done");
}

/* A range that ends before it begins: from the last page on over the end of all
 * addresses into a region near their beginning.
 */
static void test_range(void)
{
	void *low = mmap((void *)0x10000, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct ibv_sge sge = { .addr = -4096ULL, .length = 0x10000 + 4097 };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct map map = new_receives();
	struct ibv_send_wr *stop;
	struct ibv_mr *mr[2];
	struct rvt_rwq *rq;

	if (low == MAP_FAILED)
		die("mmap");
	mr[0] = ibv_reg_mr(a.pd, low, 4096, IBV_ACCESS_LOCAL_WRITE);
	mr[1] = ibv_reg_mr(b.pd, low, 4096, IBV_ACCESS_LOCAL_WRITE);
	if (!mr[0] || !mr[1] || post_recv(&b, 0, LEN))
		die("a region");
	rq = (struct rvt_rwq *)map.start;
	rq->wq[0].sg_list[0].addr = sge.addr;
	rq->wq[0].sg_list[0].length = sge.length;
	rq->wq[0].sg_list[0].lkey = mr[1]->lkey;
	ok(!post(&a, &(struct ibv_send_wr){ .opcode = IBV_WR_SEND }, 0, 200) &&
	   status(&a) == IBV_WC_REM_OP_ERR, "a receive that goes around all addresses");
	works();
	send.sg_list->lkey = mr[0]->lkey;
	ok(ibv_post_send(a.qp, &send, &stop), "a send that does");
	ok(works(), "no harm was done");
	ibv_dereg_mr(mr[0]);
	ibv_dereg_mr(mr[1]);
	munmap(low, 4096);
}

/* As much address space as that, with the same little memory all over it */
static void *map_again_and_again(size_t len)
{
	uint8_t *start = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("region", 0);
	size_t i;

	if (start == MAP_FAILED || fd < 0 || ftruncate(fd, BUF_SIZE))
		die("memory");
	for (i = 0; i < len; i += BUF_SIZE)
		if (mmap(start + i, BUF_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 fd, 0) == MAP_FAILED)
			die("mmap");
	close(fd);
	return start;
}

/* Lengths whose sum is 4 GiB, so nothing in 32 bits */
static void test_sum(void)
{
	const size_t len = 1 << 27;
	void *start = map_again_and_again(len);
	struct ibv_sge to_a[32], to_b[32];
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .sg_list = to_a, .num_sge = 32 };
	struct ibv_recv_wr recv = { .sg_list = to_b, .num_sge = 32 }, *bad;
	struct ibv_mr *mr[2];
	struct ibv_wc wc;
	int i;

	mr[0] = ibv_reg_mr(a.pd, start, len, IBV_ACCESS_LOCAL_WRITE);
	mr[1] = ibv_reg_mr(b.pd, start, len, IBV_ACCESS_LOCAL_WRITE);
	if (!mr[0] || !mr[1])
		die("ibv_reg_mr");
	for (i = 0; i < 32; i++) {
		to_a[i] = (struct ibv_sge){ (uintptr_t)start, len, mr[0]->lkey };
		to_b[i] = (struct ibv_sge){ (uintptr_t)start, len, mr[1]->lkey };
	}
	a.max_sge = 32;
	b.max_sge = 32;
	works();
	post_recv(&b, 0, LEN);
	ok(post(&a, &send, 0, 0), "a send of 4 GiB is not one of nothing");
	works();
	send.sg_list = NULL;
	ok(!ibv_post_recv(b.qp, &recv, &bad) && !post(&a, &send, 0, LEN) &&
	   poll_for(&b, &wc, 20000) && wc.status == IBV_WC_SUCCESS && wc.byte_len == LEN,
	   "nor is a receive");
	a.max_sge = 0;
	b.max_sge = 0;
	ok(works(), "no harm was done");
	ibv_dereg_mr(mr[0]);
	ibv_dereg_mr(mr[1]);
	munmap(start, len);
}

/* Room for the answer to an atomic that would take several packets, if it were not one */
static void test_atomic(void)
{
	struct ibv_send_wr add = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct conn conn = default_conn;
	bool added;

	conn.mtu = IBV_MTU_256;
	connect_qps(IBV_QPT_RC, &a, &b, &conn);
	add.wr.atomic.remote_addr = (uintptr_t)b.buf;
	add.wr.atomic.rkey = b.mr->rkey;
	if (post_recv(&b, 0, LEN) || post(&a, &add, 0, 1024) || post(&a, &send, 0, LEN))
		die("post");
	added = status(&a) == IBV_WC_SUCCESS;
	ok(added && status(&a) == IBV_WC_SUCCESS && status(&b) == IBV_WC_SUCCESS,
	   "an atomic with a long answer, and what follows it");
}

/* The same numbers in each run */
static uint32_t next_number(void)
{
	static uint32_t x = 1;

	x = x * 1664525 + 1013904223;
	return x >> 8;
}

/* Scribbles over some words of the queues of both, lets the kernel work with
 * that, and puts back what was there: libibverbs believes it, too.
 */
static void scribble(unsigned int round)
{
	static const uint32_t evil[] = { 0, 1, 63, 64, 65, 255, 256, 0x7fffffff,
					 0x80000000, 0xffffffff };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct map maps[MAPS];
	uint8_t *kept[MAPS];
	int n, i, j;

	connect_qps(IBV_QPT_RC, &a, &b, NULL);
	for (i = 0; i < 8; i++)
		post_recv(&b, i * LEN, LEN);
	n = find_maps(maps, NULL);
	for (i = 0; i < n; i++) {
		uint32_t *words = (uint32_t *)maps[i].start;

		kept[i] = malloc(maps[i].len);
		if (!kept[i])
			die("malloc");
		memcpy(kept[i], maps[i].start, maps[i].len);
		for (j = 0; j < 3; j++)
			words[next_number() % (round % 2 ? 64 : 2)] =
				evil[next_number() % (sizeof(evil) / sizeof(*evil))];
	}
	for (i = 0; i < 4; i++)
		post(&a, &send, 0, LEN);
	/* Waits until the kernel has done all that. */
	set_state(&a, IBV_QPS_ERR);
	set_state(&b, IBV_QPS_ERR);
	for (i = 0; i < n; i++) {
		memcpy(maps[i].start, kept[i], maps[i].len);
		free(kept[i]);
	}
}

static void reopen(void)
{
	close_end(&a);
	close_end(&b);
	open_end(&a, "softib0");
	open_end(&b, "softib1");
}

static void test_scribbles(unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		scribble(i);
		/* CQs that seemed to be full stay in error. */
		if (i % 10 == 9)
			reopen();
	}
	reopen();
	ok(works(), "%u times anything in the queues: no harm was done", rounds);
}

static void test_srq_size(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 32, .max_sge = 2 } };
	struct ibv_srq_attr attr = { .max_wr = 64 };

	a.srq = ibv_create_srq(a.pd, &init);
	if (!a.srq)
		die("ibv_create_srq");
	ok(ibv_modify_srq(a.srq, &attr, IBV_SRQ_MAX_WR), "an SRQ keeps its size");
	attr.srq_limit = 1000;
	ok(ibv_modify_srq(a.srq, &attr, IBV_SRQ_LIMIT), "and has no limit above it");
	ibv_destroy_srq(a.srq);
	a.srq = NULL;
}

int main(int argc, char *argv[])
{
	unsigned int rounds = argc > 1 ? atoi(argv[1]) : 200;

	plan(29);
	open_end(&a, "softib0");
	open_end(&b, "softib1");
	test_arguments();
	test_states(IBV_QPT_UC, "UC");
	test_states(IBV_QPT_RC, "RC");
	test_two_threads();
	test_posts();
	test_many_sges();
	test_range();
	test_sum();
	test_atomic();
	test_scribbles(rounds);
	test_srq_size();
	close_end(&a);
	close_end(&b);
	return finish();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Completion events, asynchronous events, and the queues that they are about
 */
#include <stdio.h>
#include <string.h>

#include "verbs.h"

#define RC	IBV_QPT_RC

static struct end a, b;

static bool send_one(int flags)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = flags };

	return !post(&a, &wr, 0, 100) && status(&a) == IBV_WC_SUCCESS;
}

/* Is there a completion event by now? What it was asked for to come is over. */
static bool notified(struct ibv_comp_channel *channel, int ms)
{
	struct ibv_cq *cq;
	void *context;

	if (!readable(channel->fd, ms) ||
	    ibv_get_cq_event(channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void test_notification(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(b.ctx);
	struct ibv_cq *cq = b.cq;

	if (!channel)
		die("ibv_create_comp_channel");
	b.cq = ibv_create_cq(b.ctx, QUEUE_LEN, NULL, channel, 0);
	if (!b.cq)
		die("ibv_create_cq");
	connect_qps(RC, &a, &b, NULL);
	post_recv(&b, 0, 100);
	post_recv(&b, 0, 100);
	ibv_req_notify_cq(b.cq, 0);
	ok(send_one(0) && notified(channel, 20000), "a completion event");
	ok(send_one(0) && !notified(channel, 20), "one only");

	status(&b);
	status(&b);
	post_recv(&b, 0, 100);
	post_recv(&b, 0, 100);
	ibv_req_notify_cq(b.cq, 1);
	ok(send_one(0) && !notified(channel, 20), "none that is not solicited");
	ok(send_one(IBV_SEND_SOLICITED) && notified(channel, 20000),
	   "one that is");
	ibv_req_notify_cq(b.cq, 1);
	post_recv(&b, 0, 100);
	set_state(&b, IBV_QPS_ERR);
	ok(notified(channel, 20000), "an error always is");

	ibv_destroy_qp(b.qp);
	b.qp = NULL;
	ibv_destroy_cq(b.cq);
	b.cq = cq;
	ibv_destroy_comp_channel(channel);
}

static void test_cq_size(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_cq *cq = b.cq;
	bool good = true;
	struct ibv_wc wc;
	int i;

	b.cq = ibv_create_cq(b.ctx, 8, NULL, NULL, 0);
	if (!b.cq)
		die("ibv_create_cq");
	connect_qps(RC, &a, &b, NULL);
	for (i = 0; i < 20; i++)
		post_recv(&b, 0, 100);
	for (i = 0; i < 8; i++)
		good &= send_one(0);
	ok(good && !ibv_resize_cq(b.cq, 32), "a CQ is made larger");
	for (i = 0; i < 10; i++)
		good &= send_one(0);
	ok(ibv_resize_cq(b.cq, 10), "it is not made too small for what it holds");
	for (i = 0; i < 18; i++)
		good &= status(&b) == IBV_WC_SUCCESS;
	ok(good && quiet(&b, 1), "all completions are in it");

	ok(!ibv_resize_cq(b.cq, 1), "an empty one is made small");
	post_recv(&b, 0, 100);
	good = send_one(0) && !post(&a, &send, 0, 100);
	for (i = 0; i < 10; i++)
		post_recv(&b, 0, 100);
	/* The kernel tells of the CQ first. */
	ok(good && event_comes(&b, IBV_EVENT_CQ_ERR) &&
	   state_comes(&b, IBV_QPS_ERR), "a full one takes its QP with it");
	ok(no_event(&b, 1), "and is told of once, whatever else has no room in it");
	while (ibv_poll_cq(b.cq, 1, &wc) > 0)
		;
	ibv_destroy_qp(b.qp);
	b.qp = NULL;
	ibv_destroy_cq(b.cq);
	b.cq = cq;
}

static bool post_srq(uint64_t name)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b.buf, .length = 100, .lkey = b.mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = name, .sg_list = &sge, .num_sge = 1,
	}, *bad;

	return !ibv_post_srq_recv(b.srq, &wr, &bad);
}

static void test_srq(void)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 16, .max_sge = 1 },
	};
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	bool good = true;
	struct ibv_wc wc;
	int i;

	b.srq = ibv_create_srq(b.pd, &init);
	if (!b.srq)
		die("ibv_create_srq");
	connect_qps(RC, &a, &b, NULL);
	for (i = 0; i < 5; i++)
		good &= post_srq(i);
	good &= !ibv_modify_srq(b.srq, &attr, IBV_SRQ_LIMIT);
	for (i = 0; i < 2; i++)
		good &= send_one(0) && poll_for(&b, &wc, 20000) &&
			wc.wr_id == (uint64_t)i;
	ok(good && no_event(&b, 1),
	   "an SRQ above its limit");
	ok(send_one(0) && event_comes(&b, IBV_EVENT_SRQ_LIMIT_REACHED),
	   "the limit is reached");
	ok(send_one(0) && no_event(&b, 20), "once");
	ok(!ibv_query_srq(b.srq, &attr) && !attr.srq_limit,
	   "which disarms it");
	attr.srq_limit = 2;
	ok(!ibv_modify_srq(b.srq, &attr, IBV_SRQ_LIMIT) &&
	   event_comes(&b, IBV_EVENT_SRQ_LIMIT_REACHED) && no_event(&b, 1),
	   "a limit that was passed before it was set");
	attr.srq_limit = 1;
	good = !ibv_modify_srq(b.srq, &attr, IBV_SRQ_LIMIT) && no_event(&b, 1);
	ok(good && send_one(0) && event_comes(&b, IBV_EVENT_SRQ_LIMIT_REACHED),
	   "the last receive is taken");
	set_state(&b, IBV_QPS_ERR);
	ok(event_comes(&b, IBV_EVENT_QP_LAST_WQE_REACHED),
	   "a QP in error takes no more from it");
	ibv_destroy_qp(b.qp);
	b.qp = NULL;
	ok(!ibv_destroy_srq(b.srq), "the SRQ is free then");
	b.srq = NULL;
}

/* The limit holds from the start, and nothing is ever taken. */
static void test_empty_srq(void)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 16, .max_sge = 1, .srq_limit = 1 },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	bool told;

	b.srq = ibv_create_srq(b.pd, &init);
	if (!b.srq)
		die("ibv_create_srq");
	connect_qps(RC, &a, &b, NULL);
	told = !post(&a, &wr, 0, 100) && event_comes(&b, IBV_EVENT_SRQ_LIMIT_REACHED);
	ok(told && post_srq(0) && status(&a) == IBV_WC_SUCCESS,
	   "a message for an SRQ that is empty");
	ibv_destroy_qp(b.qp);
	b.qp = NULL;
	ibv_destroy_srq(b.srq);
	b.srq = NULL;
}

/* A CQ with room for one completion */
static void test_full_cq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_cq *cq = b.cq;
	bool good;

	b.srq = ibv_create_srq(b.pd, &init);
	b.cq = ibv_create_cq(b.ctx, 1, NULL, NULL, 0);
	if (!b.srq || !b.cq)
		die("an SRQ and a CQ");
	connect_qps(RC, &a, &b, NULL);
	good = post_srq(0) && post_srq(1) && send_one(0);
	post(&a, &(struct ibv_send_wr){ .opcode = IBV_WR_SEND }, 0, 100);
	ok(good && event_comes(&b, IBV_EVENT_CQ_ERR) &&
	   event_comes(&b, IBV_EVENT_QP_LAST_WQE_REACHED),
	   "a full CQ and an SRQ that the QP takes no more from");
	ibv_destroy_qp(b.qp);
	b.qp = NULL;
	ibv_destroy_srq(b.srq);
	b.srq = NULL;
	ibv_destroy_cq(b.cq);
	b.cq = cq;
}

static void rdma(struct ibv_send_wr *wr, size_t offset)
{
	wr->sg_list = NULL;
	wr->wr.rdma.remote_addr = (uintptr_t)b.buf + offset;
	wr->wr.rdma.rkey = b.mr->rkey;
}

static void test_drain(void)
{
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1,
	};
	bool good = true;
	struct ibv_wc wc;
	int i, n = 0;

	connect_qps(RC, &a, &b, NULL);
	for (i = 0; i < 8; i++) {
		rdma(&write, 0);
		good &= !post(&a, &write, 0, 500000);
	}
	good &= !ibv_modify_qp(a.qp, &attr, IBV_QP_STATE |
			       IBV_QP_EN_SQD_ASYNC_NOTIFY);
	ok(good && event_comes(&a, IBV_EVENT_SQ_DRAINED),
	   "a send queue is drained");
	while (ibv_poll_cq(a.cq, 1, &wc) > 0) {
		good &= wc.status == IBV_WC_SUCCESS;
		n++;
	}
	rdma(&write, 0);
	ok(good && !post(&a, &write, 0, 10) && quiet(&a, 50),
	   "what is posted then waits");
	set_state(&a, IBV_QPS_RTS);
	for (; n < 9; n++)
		good &= status(&a) == IBV_WC_SUCCESS;
	ok(good, "until the queue runs again");
}

static void test_qp_events(void)
{
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	struct conn none = default_conn;

	make_qp(&a, RC);
	make_qp(&b, RC);
	connect_end(&a, &b, &default_conn, IBV_QPS_RTS);
	connect_end(&b, &a, &default_conn, IBV_QPS_RTR);
	post_recv(&b, 0, 100);
	ok(send_one(0) && event_comes(&b, IBV_EVENT_COMM_EST),
	   "the other side is ready first");

	connect_qps(RC, &a, &b, NULL);
	rdma(&write, 0);
	write.wr.rdma.rkey ^= 0x100;
	post(&a, &write, 0, 1);
	ok(status(&a) == IBV_WC_REM_ACCESS_ERR &&
	   event_comes(&b, IBV_EVENT_QP_ACCESS_ERR), "a wrong R_Key");

	none.access = IBV_ACCESS_LOCAL_WRITE;
	connect_qps(RC, &a, &b, &none);
	rdma(&write, 0);
	post(&a, &write, 0, 1);
	ok(status(&a) == IBV_WC_REM_INV_REQ_ERR &&
	   event_comes(&b, IBV_EVENT_QP_REQ_ERR), "a write where none may");
	ok(no_event(&a, 1) && no_event(&b, 1),
	   "there are no other events");
}

static struct ibv_port_attr port_of(struct end *end)
{
	struct ibv_port_attr attr;

	if (ibv_query_port(end->ctx, 1, &attr))
		die("ibv_query_port");
	return attr;
}

/* Entry 1 of a P_Key table that was never filled matches nothing. */
static void test_pkey(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct conn other = default_conn;
	unsigned int violations;

	violations = port_of(&b).bad_pkey_cntr;
	other.pkey_index = 1;
	other.timeout = 8;
	other.retry_cnt = 1;
	make_qp(&a, RC);
	make_qp(&b, RC);
	connect_end(&a, &b, &other, IBV_QPS_RTS);
	connect_end(&b, &a, &default_conn, IBV_QPS_RTS);
	post_recv(&b, 0, 100);
	post(&a, &send, 0, 100);
	ok(status(&a) == IBV_WC_RETRY_EXC_ERR && quiet(&b, 1),
	   "a packet with a wrong P_Key is dropped");
	ok(port_of(&b).bad_pkey_cntr >= violations + 2,
	   "and counted, each time that it is tried");
}

int main(void)
{
	plan(30);
	open_end(&a, "softib0");
	open_end(&b, "softib1");
	test_notification();
	test_cq_size();
	test_srq();
	test_empty_srq();
	test_full_cq();
	test_drain();
	test_qp_events();
	test_pkey();
	close_end(&a);
	close_end(&b);
	return finish();
}

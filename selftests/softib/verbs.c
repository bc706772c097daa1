// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "verbs.h"

#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* Emulated machines are slow; what takes longer never comes. */
#define PATIENCE_MS	20000

const struct conn default_conn = {
	.psn = 0x123456,
	.access = ACCESS,
	.max_rd_atomic = 16,
	.retry_cnt = 7,
	.rnr_retry = 7,
	.timeout = 14,
	.mtu = IBV_MTU_2048,
};

static int tests, failures;

void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

void open_end(struct end *end, const char *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **p;
	struct ibv_port_attr attr;

	memset(end, 0, sizeof(*end));
	for (p = list; p && *p; p++)
		if (!strcmp(ibv_get_device_name(*p), device))
			end->ctx = ibv_open_device(*p);
	if (!end->ctx)
		die(device);
	ibv_free_device_list(list);
	if (ibv_query_port(end->ctx, 1, &attr))
		die("ibv_query_port");
	end->lid = attr.lid;
	end->pd = ibv_alloc_pd(end->ctx);
	end->cq = ibv_create_cq(end->ctx, 4 * QUEUE_LEN, NULL, NULL, 0);
	end->buf = aligned_alloc(4096, BUF_SIZE);
	if (!end->pd || !end->cq || !end->buf)
		die("open_end");
	memset(end->buf, 0, BUF_SIZE);
	end->mr = ibv_reg_mr(end->pd, end->buf, BUF_SIZE, ACCESS);
	if (!end->mr)
		die("ibv_reg_mr");
}

void close_end(struct end *end)
{
	if (end->qp)
		ibv_destroy_qp(end->qp);
	ibv_dereg_mr(end->mr);
	ibv_destroy_cq(end->cq);
	ibv_dealloc_pd(end->pd);
	ibv_close_device(end->ctx);
	free(end->buf);
}

void make_qp(struct end *end, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = {
			.max_send_wr = QUEUE_LEN,
			.max_recv_wr = QUEUE_LEN,
			.max_send_sge = end->max_sge ?: 4,
			.max_recv_sge = end->max_sge ?: 4,
			.max_inline_data = end->inline_data,
		},
		.srq = end->srq,
		.qp_type = type,
		.sq_sig_all = 1,
	};
	struct ibv_wc wc;

	if (end->qp && ibv_destroy_qp(end->qp))
		die("ibv_destroy_qp");
	while (ibv_poll_cq(end->cq, 1, &wc) > 0)
		;
	end->qp = ibv_create_qp(end->pd, &init);
	if (!end->qp)
		die("ibv_create_qp");
}

static void modify(struct end *end, struct ibv_qp_attr *attr, int mask)
{
	if (ibv_modify_qp(end->qp, attr, mask | IBV_QP_STATE))
		die("ibv_modify_qp");
}

void connect_end(struct end *end, struct end *peer, const struct conn *conn,
		 enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {
		.pkey_index = conn->pkey_index,
		.port_num = 1,
		.qp_access_flags = conn->access,
		.path_mtu = conn->mtu,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = conn->psn,
		.sq_psn = conn->psn,
		.max_dest_rd_atomic = conn->max_rd_atomic,
		.max_rd_atomic = conn->max_rd_atomic,
		.min_rnr_timer = 12,
		.ah_attr = {
			.dlid = peer->lid, .src_path_bits = conn->path_bits, .port_num = 1,
		},
		.timeout = conn->timeout,
		.retry_cnt = conn->retry_cnt,
		.rnr_retry = conn->rnr_retry,
	};
	bool reliable = end->qp->qp_type == IBV_QPT_RC;

	attr.qp_state = IBV_QPS_INIT;
	modify(end, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	modify(end, &attr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
	       IBV_QP_RQ_PSN |
	       (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
	if (state == IBV_QPS_RTR)
		return;
	attr.qp_state = IBV_QPS_RTS;
	modify(end, &attr, IBV_QP_SQ_PSN |
	       (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0));
}

void connect_qps(enum ibv_qp_type type, struct end *a, struct end *b,
		 const struct conn *conn)
{
	conn = conn ?: &default_conn;
	make_qp(a, type);
	make_qp(b, type);
	connect_end(a, b, conn, IBV_QPS_RTS);
	connect_end(b, a, conn, IBV_QPS_RTS);
}

void set_state(struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	modify(end, &attr, 0);
}

enum ibv_qp_state get_state(struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init))
		die("ibv_query_qp");
	return attr.qp_state;
}

bool state_comes(struct end *end, enum ibv_qp_state state)
{
	int i;

	for (i = 0; i < PATIENCE_MS && get_state(end) != state; i++)
		usleep(1000);
	return get_state(end) == state;
}

int post_recv(struct end *end, size_t offset, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf + offset,
		.length = len,
		.lkey = end->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}

int post(struct end *end, const struct ibv_send_wr *wr, size_t offset, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf + offset,
		.length = len,
		.lkey = end->mr->lkey,
	};
	struct ibv_send_wr whole = *wr, *bad;

	if (!whole.sg_list) {
		whole.sg_list = &sge;
		whole.num_sge = 1;
	}
	return ibv_post_send(end->qp, &whole, &bad);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

bool poll_for(struct end *end, struct ibv_wc *wc, int ms)
{
	int64_t deadline = now_ms() + ms;
	bool late;
	int n;

	/* Once more after the time is over: a thread that slept through it has not looked. */
	do {
		late = now_ms() >= deadline;
		n = ibv_poll_cq(end->cq, 1, wc);
		if (n < 0)
			die("ibv_poll_cq");
		if (n)
			return true;
		if (!late)
			usleep(100);
	} while (!late);
	return false;
}

int status(struct end *end)
{
	struct ibv_wc wc;

	return poll_for(end, &wc, PATIENCE_MS) ? (int)wc.status : -1;
}

bool quiet(struct end *end, int ms)
{
	struct ibv_wc wc;

	return !poll_for(end, &wc, ms);
}

bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* What the subnet manager does to a port, users may hear of after it is up. */
static bool of_port(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return true;
	default:
		return false;
	}
}

static bool next_event(struct end *end, enum ibv_event_type *type, int ms)
{
	struct ibv_async_event event;

	do {
		if (!readable(end->ctx->async_fd, ms) ||
		    ibv_get_async_event(end->ctx, &event))
			return false;
		ibv_ack_async_event(&event);
		*type = event.event_type;
	} while (of_port(*type));
	return true;
}

bool event_comes(struct end *end, enum ibv_event_type type)
{
	enum ibv_event_type got;

	if (!next_event(end, &got, PATIENCE_MS))
		return false;
	if (got != type)
		printf("# event: %s\n", ibv_event_type_str(got));
	return got == type;
}

bool no_event(struct end *end, int ms)
{
	enum ibv_event_type got;

	if (!next_event(end, &got, ms))
		return true;
	printf("# event: %s\n", ibv_event_type_str(got));
	return false;
}

static uint8_t byte(size_t i, unsigned int seed)
{
	return (i * 2654435761u + seed * 40503u) >> 13;
}

void fill(struct end *end, size_t offset, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		end->buf[offset + i] = byte(i, seed);
}

bool filled(struct end *end, size_t offset, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (end->buf[offset + i] != byte(i, seed))
			return false;
	return true;
}

void plan(int n)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%d\n", n);
}

void ok(bool passed, const char *format, ...)
{
	va_list args;

	failures += !passed;
	printf("%sok %d - ", passed ? "" : "not ", ++tests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

int finish(void)
{
	return failures != 0;
}

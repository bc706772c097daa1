// SPDX-License-Identifier: GPL-2.0
/*
 * A queue pair that no connection manager looks after.
 */
#include <endian.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "join.h"

#define SENDS	64
#define BUF	32768

static struct ibv_context *verbs;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static uint8_t *mem;		/* JOIN_BUFS to receive, SENDS to send */
static unsigned int sent;
static uint32_t last;		/* number of the message that has come last */
static bool over;		/* a completion had an error */
static int used;		/* the buffer of the message that was given out, or -1 */

bool qp_open(const char *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device))
			verbs = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	mem = calloc(JOIN_BUFS + SENDS, BUF);
	if (!verbs || !mem)
		return false;
	pd = ibv_alloc_pd(verbs);
	cq = ibv_create_cq(verbs, 4 * (JOIN_BUFS + SENDS), NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, mem, (size_t)(JOIN_BUFS + SENDS) * BUF,
			     IBV_ACCESS_LOCAL_WRITE) : NULL;
	return cq && mr;
}

static bool post_recv(unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)mem + slot * BUF, BUF, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	return !ibv_post_recv(qp, &wr, &bad);
}

/* Its number, or 0. */
uint32_t qp_new(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { SENDS, JOIN_BUFS, 1, 1, 0 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .send_cq = cq, .recv_cq = cq,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	unsigned int i;

	sent = 0;
	last = 0;
	used = -1;
	over = false;
	qp = ibv_create_qp(pd, &init);
	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 IBV_QP_ACCESS_FLAGS))
		return 0;
	for (i = 0; i < JOIN_BUFS; i++)
		if (!post_recv(i))
			return 0;
	return qp->qp_num;
}

/* To the one that an answer names. */
bool qp_connect(const struct cm *cm, const struct cm_answer *answer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_2048,
		.dest_qp_num = answer->qpn, .rq_psn = CM_PSN, .min_rnr_timer = 12,
		.max_dest_rd_atomic = 1,
		.ah_attr = { .dlid = cm->peer_lid, .port_num = 1 },
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		return false;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .sq_psn = answer->psn, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1,
	};
	return !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* It fails when the other side has ended the connection. */
void qp_send(const void *message, unsigned int len)
{
	unsigned int slot = JOIN_BUFS + sent++ % SENDS;
	struct ibv_sge sge = { (uintptr_t)mem + slot * BUF, len, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	}, *bad;

	memcpy(mem + slot * BUF, message, len);
	ibv_post_send(qp, &wr, &bad);
}

/* The next message, if one has come: good until the next call. */
bool qp_receive(const uint8_t **message, unsigned int *len)
{
	struct ibv_wc wc;

	if (used >= 0)
		post_recv(used);
	used = -1;
	while (ibv_poll_cq(cq, 1, &wc) == 1) {
		if (wc.qp_num != qp->qp_num)
			continue;
		over |= wc.status != IBV_WC_SUCCESS;
		if (wc.status == IBV_WC_SUCCESS && wc.wr_id < JOIN_BUFS) {
			used = wc.wr_id;
			*message = mem + used * BUF;
			*len = wc.byte_len;
			memcpy(&last, *message + 8, sizeof(last));
			last = be32toh(last);
			return true;
		}
	}
	return false;
}

/* What a message that is sent now acknowledges. */
uint32_t last_heard(void)
{
	return last;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Is the other side's queue pair gone within so long?  A WRITE of no bytes shows it. */
bool qp_is_over(unsigned int ms)
{
	struct ibv_send_wr wr = { .wr_id = JOIN_BUFS, .opcode = IBV_WR_RDMA_WRITE }, *bad;
	long deadline = now_ms() + ms;
	const uint8_t *message;
	unsigned int len;

	while (now_ms() < deadline) {
		while (qp_receive(&message, &len))
			;
		if (over)
			return true;
		ibv_post_send(qp, &wr, &bad);
		poll(NULL, 0, 50);
	}
	return false;
}

void qp_end(void)
{
	const uint8_t *message;
	unsigned int len;

	while (qp_receive(&message, &len))
		;
	ibv_destroy_qp(qp);
}

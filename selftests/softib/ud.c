// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams and multicast as a user of verbs sees them
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "verbs.h"

#define QKEY	0x1234
#define GRH	40
#define MTU	2048

static struct end a, b;

static void make_ud(struct end *end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
	};

	make_qp(end, IBV_QPT_UD);
	if (ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_QKEY))
		die("INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(end->qp, &attr, IBV_QP_STATE))
		die("RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("RTS");
}

/* The port has no path bits, whatever is asked for. */
static struct ibv_ah *make_ah(uint16_t dlid, const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = { .dlid = dlid, .src_path_bits = 0x7f, .port_num = 1 };
	struct ibv_ah *ah;

	if (gid) {
		attr.is_global = 1;
		attr.grh.dgid = *gid;
		attr.grh.hop_limit = 1;
	}
	ah = ibv_create_ah(a.pd, &attr);
	if (!ah)
		die("ibv_create_ah");
	return ah;
}

/* Send, and see it sent; what becomes of it is another matter. */
static bool send_to(struct ibv_ah *ah, uint32_t qpn, uint32_t qkey, size_t len)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	return !post(&a, &wr, 0, len) && status(&a) == IBV_WC_SUCCESS;
}

static bool arrived(struct ibv_wc *wc, size_t len, unsigned int seed)
{
	return poll_for(&b, wc, 20000) && wc->status == IBV_WC_SUCCESS &&
	       wc->byte_len == len + GRH && wc->src_qp == a.qp->qp_num &&
	       filled(&b, GRH, len, seed);
}

static void test_unicast(void)
{
	struct ibv_ah *ah = make_ah(b.lid, NULL), *global;
	union ibv_gid gid, own;
	struct ibv_wc wc;

	post_recv(&b, 0, MTU + GRH);
	fill(&a, 0, 1001, 1);
	ok(send_to(ah, b.qp->qp_num, QKEY, 1001) && arrived(&wc, 1001, 1) &&
	   !(wc.wc_flags & IBV_WC_GRH) && wc.slid == a.lid, "a datagram");

	post_recv(&b, 0, MTU + GRH);
	fill(&a, 0, MTU, 2);
	ok(send_to(ah, b.qp->qp_num, QKEY, MTU) && arrived(&wc, MTU, 2),
	   "one as long as the MTU");
	ok(!send_to(ah, b.qp->qp_num, QKEY, MTU + 1), "not a longer one");

	if (ibv_query_gid(b.ctx, 1, 0, &gid) || ibv_query_gid(a.ctx, 1, 0, &own))
		die("ibv_query_gid");
	global = make_ah(b.lid, &gid);
	post_recv(&b, 0, MTU + GRH);
	fill(&a, 0, 500, 3);
	ok(send_to(global, b.qp->qp_num, QKEY, 500) && arrived(&wc, 500, 3) &&
	   wc.wc_flags & IBV_WC_GRH &&
	   !memcmp(b.buf + 8, &own, sizeof(own)) &&
	   !memcmp(b.buf + 24, &gid, sizeof(gid)), "one with a GRH");
	ibv_destroy_ah(global);

	post_recv(&b, 0, MTU + GRH);
	ok(send_to(ah, b.qp->qp_num, QKEY + 1, 10) && quiet(&b, 100),
	   "a wrong Q_Key gets nowhere");
	ok(send_to(ah, b.qp->qp_num + 1, QKEY, 10) && quiet(&b, 100),
	   "nor does a wrong QP");
	fill(&a, 0, 20, 4);
	ok(send_to(ah, b.qp->qp_num, QKEY, 20) && arrived(&wc, 20, 4),
	   "the receive is still there");

	post_recv(&b, 0, 100 + GRH);
	ok(send_to(ah, b.qp->qp_num, QKEY, 101) && quiet(&b, 100),
	   "what does not fit is dropped");
	ok(send_to(ah, b.qp->qp_num, QKEY, 20) && arrived(&wc, 20, 4),
	   "what fits then arrives");
	ok(send_to(ah, b.qp->qp_num, QKEY, 20) && quiet(&b, 100),
	   "without a receive it is dropped");
	ibv_destroy_ah(ah);
}

static void test_local_mcast(void)
{
	union ibv_gid mgid;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct end c;

	/* No such group is in the switch, so it stays within the HCA. */
	inet_pton(AF_INET6, "ff12::4711", &mgid);
	ah = make_ah(0xc123, &mgid);
	open_end(&c, "softib0");
	make_ud(&c);
	post_recv(&c, 0, MTU + GRH);
	fill(&a, 0, 30, 5);
	ok(send_to(ah, 0xffffff, QKEY, 30) && quiet(&c, 100),
	   "multicast does not come to a queue pair that is not attached");
	if (ibv_attach_mcast(c.qp, &mgid, 0xc123))
		die("ibv_attach_mcast");
	ok(send_to(ah, 0xffffff, QKEY, 30) && poll_for(&c, &wc, 20000) &&
	   wc.byte_len == 30 + GRH && wc.wc_flags & IBV_WC_GRH &&
	   filled(&c, GRH, 30, 5) && !memcmp(c.buf + 24, &mgid, sizeof(mgid)),
	   "multicast within the HCA");
	ibv_detach_mcast(c.qp, &mgid, 0xc123);
	post_recv(&c, 0, MTU + GRH);
	ok(send_to(ah, 0xffffff, QKEY, 30) && quiet(&c, 100), "detached");
	ibv_destroy_ah(ah);
	close_end(&c);
}

int main(void)
{
	plan(13);
	open_end(&a, "softib0");
	open_end(&b, "softib1");
	make_ud(&a);
	make_ud(&b);
	test_unicast();
	test_local_mcast();
	close_end(&a);
	close_end(&b);
	return finish();
}

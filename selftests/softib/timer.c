// SPDX-License-Identifier: GPL-2.0
/*
 * When the retry timer of a reliable connection runs. timer.sh has delayed what
 * softib0 sends by 1200 ms.
 */
#include <stdio.h>

#include "verbs.h"

#define MTU	2048
#define AHEAD	480	/* of 512 that may be under way, so that 32 can follow */
#define PACKETS	64

int main(void)
{
	struct ibv_send_wr flood = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE };
	struct conn conn = default_conn;
	struct end a, b, c, d;

	plan(3);
	open_end(&a, "softib0");
	open_end(&b, "softib1");
	open_end(&c, "softib0");
	open_end(&d, "softib1");

	/* Only the last packet asks, at a PSN that is a multiple of 64. It has to be
	 * answered within 2147 ms.
	 */
	conn.psn = 1;
	conn.timeout = 19;
	connect_qps(IBV_QPT_RC, &a, &b, &conn);
	connect_qps(IBV_QPT_UC, &c, &d, NULL);

	flood.wr.rdma.remote_addr = (uintptr_t)d.buf;
	flood.wr.rdma.rkey = d.mr->rkey;
	ok(!post(&c, &flood, 0, AHEAD * MTU) && status(&c) == IBV_WC_SUCCESS,
	   "the HCA has nearly as much under way as it may");
	fill(&a, 0, PACKETS * MTU, 1);
	write.wr.rdma.remote_addr = (uintptr_t)b.buf;
	write.wr.rdma.rkey = b.mr->rkey;
	ok(!post(&a, &write, 0, PACKETS * MTU) && status(&a) == IBV_WC_SUCCESS,
	   "a message, half of which has to wait");
	ok(filled(&b, 0, PACKETS * MTU, 1), "is there");

	close_end(&a);
	close_end(&b);
	close_end(&c);
	close_end(&d);
	return finish();
}

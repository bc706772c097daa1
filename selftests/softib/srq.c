// SPDX-License-Identifier: GPL-2.0
/*
 * srq DEVICE: how many shared receive queues it says that it has, and why there
 * is none if one is asked for, or "done"
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verbs.h"

int main(int argc, char **argv)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_device_attr attr;
	struct ibv_srq *srq;
	struct end end;

	if (argc != 2) {
		fprintf(stderr, "usage: srq DEVICE\n");
		return 2;
	}
	open_end(&end, argv[1]);
	if (ibv_query_device(end.ctx, &attr))
		die("ibv_query_device");
	srq = ibv_create_srq(end.pd, &init);
	printf("%d %s\n", attr.max_srq, srq ? "done" : strerror(errno));
	if (srq && ibv_destroy_srq(srq))
		die("ibv_destroy_srq");
	close_end(&end);
	return 0;
}

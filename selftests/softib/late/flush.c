// SPDX-License-Identifier: GPL-2.0
/*
 * Posts a request that the other end refuses, and with it a local invalidation, when
 * loaded. Fails to load unless the invalidation is flushed: programs cannot post one.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "device_by_name.h"

MODULE_DESCRIPTION("Has a local invalidation flushed");
MODULE_LICENSE("GPL");

static char *device = "softib0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "Device with the queue pairs");

struct flush_request {
	struct ib_cqe cqe;
	bool done;
	enum ib_wc_status status;
};

/* What the queue pair uses until it is destroyed, done or not. */
struct flush_work {
	struct flush_request write;
	struct flush_request inv;
	u8 byte;
};

static void flush_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct flush_request *request = container_of(wc->wr_cqe, struct flush_request, cqe);

	request->status = wc->status;
	request->done = true;
}

static int flush_connect(struct ib_qp *qp, struct ib_qp *peer, u16 lid)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = 1, .qp_access_flags = IB_ACCESS_REMOTE_WRITE,
		.path_mtu = IB_MTU_256, .dest_qp_num = peer->qp_num, .max_dest_rd_atomic = 1,
		.max_rd_atomic = 1, .retry_cnt = 7, .timeout = 14,
		.ah_attr = { .type = RDMA_AH_ATTR_TYPE_IB, .port_num = 1 },
	};
	int ret;

	rdma_ah_set_dlid(&attr.ah_attr, lid);
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	attr.qp_state = IB_QPS_RTR;
	ret = ret ?: ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
				  IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
				  IB_QP_MIN_RNR_TIMER);
	attr.qp_state = IB_QPS_RTS;
	return ret ?: ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN | IB_QP_TIMEOUT |
				   IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC);
}

static int flush_post(struct ib_qp *qp, struct ib_cq *cq, struct ib_mr *mr,
		      struct flush_work *work)
{
	struct flush_request *write = &work->write, *inv = &work->inv;
	struct ib_sge sge = {
		.addr = (uintptr_t)&work->byte, .length = 1, .lkey = qp->pd->local_dma_lkey,
	};
	struct ib_send_wr inv_wr = {
		.wr_cqe = &inv->cqe, .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = mr->rkey,
		.send_flags = IB_SEND_FENCE | IB_SEND_SIGNALED,
	};
	struct ib_rdma_wr write_wr = {
		.wr = {
			.next = &inv_wr, .wr_cqe = &write->cqe, .opcode = IB_WR_RDMA_WRITE,
			.sg_list = &sge, .num_sge = 1, .send_flags = IB_SEND_SIGNALED,
		},
		.rkey = ~mr->rkey,
	};
	int i, ret;

	write->cqe.done = flush_done;
	inv->cqe.done = flush_done;
	ret = ib_post_send(qp, &write_wr.wr, NULL);
	for (i = 0; !ret && i < 20000 && !inv->done; i++) {
		ib_process_cq_direct(cq, -1);
		usleep_range(1000, 2000);
	}
	if (ret)
		return ret;
	pr_info("flush: %s, then %s\n", ib_wc_status_msg(write->status),
		ib_wc_status_msg(inv->status));
	return inv->done && write->status == IB_WC_REM_ACCESS_ERR &&
	       inv->status == IB_WC_WR_FLUSH_ERR ? 0 : -EPROTO;
}

static int flush_with(struct ib_pd *pd, struct ib_cq *cq, struct ib_mr *mr)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_port_attr port;
	struct ib_qp *qp, *peer;
	struct flush_work *work;
	int ret = ib_query_port(pd->device, 1, &port);

	if (ret)
		return ret;
	work = kzalloc(sizeof(*work), GFP_KERNEL);
	if (!work)
		return -ENOMEM;
	qp = ib_create_qp(pd, &init);
	if (IS_ERR(qp)) {
		ret = PTR_ERR(qp);
		goto out_work;
	}
	peer = ib_create_qp(pd, &init);
	if (IS_ERR(peer)) {
		ret = PTR_ERR(peer);
		goto out_qp;
	}
	ret = flush_connect(qp, peer, port.lid) ?: flush_connect(peer, qp, port.lid) ?:
	      flush_post(qp, cq, mr, work);
	ib_destroy_qp(peer);
out_qp:
	ib_destroy_qp(qp);
out_work:
	kfree(work);
	return ret;
}

static int flush_on(struct ib_device *dev)
{
	struct ib_pd *pd = ib_alloc_pd(dev, 0);
	struct ib_cq *cq;
	struct ib_mr *mr;
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	cq = ib_alloc_cq(dev, NULL, 8, 0, IB_POLL_DIRECT);
	if (IS_ERR(cq)) {
		ret = PTR_ERR(cq);
		goto out_pd;
	}
	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto out_cq;
	}
	ret = flush_with(pd, cq, mr);
	ib_dereg_mr(mr);
out_cq:
	ib_free_cq(cq);
out_pd:
	ib_dealloc_pd(pd);
	return ret;
}

static int __init flush_init(void)
{
	struct ib_device *dev = device_by_name(device);
	int ret;

	if (!dev)
		return -ENODEV;
	ret = flush_on(dev);
	ib_device_put(dev);
	return ret;
}

static void __exit flush_exit(void)
{
}

module_init(flush_init);
module_exit(flush_exit);

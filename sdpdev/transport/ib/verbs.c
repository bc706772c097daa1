// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs and buffers.
 *
 * Every work request asks for a completion, and conn->posted counts those that
 * are to come, so a queue pair is drained when it has been moved to the error
 * state and the count has dropped to zero.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "transport/ib/ib.h"

/**
 * struct sdp_ib_buf - a message buffer
 * @xb: what the protocol sees
 * @cqe: finds the buffer from its completion
 * @conn: the connection, referenced
 * @dma: @xb.data as the device sees it
 * @dir: DMA_FROM_DEVICE to receive, DMA_TO_DEVICE to send
 */
struct sdp_ib_buf {
	struct sdp_xprt_buf xb;
	struct ib_cqe cqe;
	struct sdp_ib_conn *conn;
	u64 dma;
	enum dma_data_direction dir;
};

/* How soon what the adapter would not do is tried again */
#define SDP_IB_RETRY_MS	100

/* One in so many of a device's queue pairs is not for SDP, unless the parameter says so */
#define SDP_IB_RESERVE	8

/* Time after which the peer repeats what found no buffer: 0.64 ms (9.7.5.2.8) */
#define SDP_IB_RNR_TIMER	12

/*
 * The control group that pays for it may be full: then there is no buffer, and
 * nobody is killed for it.
 */
#define SDP_IB_BUF_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * sdp_ib_buf_alloc() - struct sdp_xprt_ops.buf_alloc
 * @xc: the connection, whose device is known
 * @size: bytes
 * @recv: to receive, else to send
 */
struct sdp_xprt_buf *sdp_ib_buf_alloc(struct sdp_xprt_conn *xc, u32 size,
				      bool recv)
{
	struct sdp_ib_conn *conn = sdp_ib_conn(xc);
	struct ib_device *device;
	struct sdp_ib_buf *buf;

	if (WARN_ON_ONCE(!conn->dev) || !size || size > SDP_IB_MAX_BUF)
		return NULL;
	device = conn->dev->device;

	buf = kzalloc(sizeof(*buf), SDP_IB_BUF_GFP);
	if (!buf)
		return NULL;
	buf->xb.data = kmalloc(size, SDP_IB_BUF_GFP);
	if (!buf->xb.data)
		goto err_free_buf;
	buf->xb.size = size;
	buf->dir = recv ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	buf->dma = ib_dma_map_single(device, buf->xb.data, size, buf->dir);
	if (ib_dma_mapping_error(device, buf->dma))
		goto err_free_data;

	INIT_LIST_HEAD(&buf->xb.list);
	kref_get(&conn->ref);
	buf->conn = conn;
	return &buf->xb;

err_free_data:
	kfree(buf->xb.data);
err_free_buf:
	kfree(buf);
	return NULL;
}

/**
 * sdp_ib_buf_free() - struct sdp_xprt_ops.buf_free
 * @xc: the connection
 * @xb: a buffer of it that is not posted
 */
void sdp_ib_buf_free(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct sdp_ib_buf *buf = container_of(xb, struct sdp_ib_buf, xb);
	struct sdp_ib_conn *conn = buf->conn;

	ib_dma_unmap_single(conn->dev->device, buf->dma, xb->size, buf->dir);
	kfree(xb->data);
	kfree(buf);
	sdp_ib_conn_put(conn);
}

static void sdp_ib_posted_put(struct sdp_ib_conn *conn)
{
	if (refcount_dec_and_test(&conn->posted))
		complete_all(&conn->flushed);
}

static bool sdp_ib_posted_get(struct sdp_ib_conn *conn)
{
	/*
	 * Pairs with sdp_ib_qp_flush(), which sets the bit, then drops the first count.
	 * The bit only makes this give up early; the count alone decides.
	 */
	return conn->qp && !test_bit(SDP_IB_F_FLUSHING, &conn->flags) &&
	       refcount_inc_not_zero(&conn->posted);
}

/* The queue pair is of no more use; counted once, told as often as one likes. */
static void sdp_ib_qp_error(struct sdp_ib_conn *conn, int error)
{
	if (!test_and_set_bit(SDP_IB_F_QP_ERROR, &conn->flags))
		sdp_ib_count(SDP_IB_STAT_QP_ERRORS);
	sdp_ib_conn_end(conn, error);
}

static int sdp_ib_wc_error(struct sdp_ib_conn *conn, const struct ib_wc *wc)
{
	int error;

	switch (wc->status) {
	case IB_WC_SUCCESS:
		return 0;
	case IB_WC_WR_FLUSH_ERR:
		return -ECANCELED;
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
		error = -ETIMEDOUT;
		break;
	case IB_WC_LOC_LEN_ERR:
		error = -EMSGSIZE;
		break;
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_OP_ERR:
	case IB_WC_REM_ABORT_ERR:
		error = -ECONNRESET;
		break;
	default:
		error = -EIO;
	}

	ibdev_dbg(conn->dev->device, "QP %u: %s (vendor error %#x)\n",
		  conn->qp->qp_num, ib_wc_status_msg(wc->status),
		  wc->vendor_err);
	sdp_ib_qp_error(conn, error);
	return error;
}

static void sdp_ib_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_ib_buf *buf = container_of(wc->wr_cqe, struct sdp_ib_buf,
					      cqe);
	struct sdp_ib_conn *conn = buf->conn;
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_RECV_DONE,
		.buf = &buf->xb,
		.error = sdp_ib_wc_error(conn, wc),
	};

	buf->xb.len = 0;
	if (!ev.error) {
		buf->xb.len = wc->byte_len;
		ib_dma_sync_single_for_cpu(conn->dev->device, buf->dma,
					   wc->byte_len, DMA_FROM_DEVICE);
		/* The RTU may be lost or late: this says the same (12.9.7). */
		if (test_and_clear_bit(SDP_IB_F_AWAIT_RTU, &conn->flags))
			sdp_ib_conn_post(conn, SDP_IB_EV_READY);
	}
	sdp_ib_conn_event(conn, &ev);
	sdp_ib_posted_put(conn);
}

static void sdp_ib_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_ib_buf *buf = container_of(wc->wr_cqe, struct sdp_ib_buf,
					      cqe);
	struct sdp_ib_conn *conn = buf->conn;
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_SEND_DONE,
		.buf = &buf->xb,
		.error = sdp_ib_wc_error(conn, wc),
	};

	sdp_ib_conn_event(conn, &ev);
	sdp_ib_posted_put(conn);
}

static int sdp_ib_post_error(struct sdp_ib_conn *conn, int ret)
{
	sdp_ib_posted_put(conn);
	if (ret == -ENOMEM)
		return -ENOBUFS;
	sdp_ib_qp_error(conn, -EIO);
	return -ENOTCONN;
}

/* Posts @wr; its completion gives @buf back. */
static int sdp_ib_post(struct sdp_ib_conn *conn, struct sdp_ib_buf *buf,
		       struct ib_send_wr *wr)
{
	int ret;

	/* Pairs with sdp_ib_accept(), which stores this before the peer may send anything. */
	switch (READ_ONCE(conn->state)) {
	case SDP_IB_ACCEPTED:
	case SDP_IB_ESTABLISHED:
		break;
	default:
		return -ENOTCONN;
	}
	if (!sdp_ib_posted_get(conn))
		return -ENOTCONN;

	buf->cqe.done = sdp_ib_send_done;
	wr->wr_cqe = &buf->cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	ret = ib_post_send(conn->qp, wr, NULL);
	return ret ? sdp_ib_post_error(conn, ret) : 0;
}

/**
 * sdp_ib_post_send() - struct sdp_xprt_ops.post_send
 * @xc: the connection
 * @xb: the message
 */
int sdp_ib_post_send(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct sdp_ib_buf *buf = container_of(xb, struct sdp_ib_buf, xb);
	struct sdp_ib_conn *conn = sdp_ib_conn(xc);
	struct ib_sge sge = {
		.addr = buf->dma,
		.length = xb->len,
		.lkey = conn->dev->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
	};

	ib_dma_sync_single_for_device(conn->dev->device, buf->dma, xb->len,
				      DMA_TO_DEVICE);
	return sdp_ib_post(conn, buf, &wr);
}

/**
 * sdp_ib_post_probe() - struct sdp_xprt_ops.post_probe
 * @xc: the connection
 * @xb: comes back once the peer's device has answered
 *
 * An RDMA WRITE of no bytes names no memory, and takes no receive buffer of the peer's.
 */
int sdp_ib_post_probe(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct sdp_ib_buf *buf = container_of(xb, struct sdp_ib_buf, xb);
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_WRITE,
	};

	return sdp_ib_post(sdp_ib_conn(xc), buf, &wr.wr);
}

/**
 * sdp_ib_post_recv() - struct sdp_xprt_ops.post_recv
 * @xc: the connection
 * @xb: the buffer
 */
int sdp_ib_post_recv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct sdp_ib_buf *buf = container_of(xb, struct sdp_ib_buf, xb);
	struct sdp_ib_conn *conn = sdp_ib_conn(xc);
	struct ib_recv_wr wr = {
		.wr_cqe = &buf->cqe,
		.num_sge = 1,
	};
	struct ib_sge sge;
	int ret;

	if (!sdp_ib_posted_get(conn))
		return -ENOTCONN;

	sge.addr = buf->dma;
	sge.length = xb->size;
	sge.lkey = conn->dev->pd->local_dma_lkey;
	wr.sg_list = &sge;
	buf->cqe.done = sdp_ib_recv_done;
	ib_dma_sync_single_for_device(conn->dev->device, buf->dma, xb->size,
				      DMA_FROM_DEVICE);
	ret = ib_post_recv(conn->qp, &wr, NULL);
	return ret ? sdp_ib_post_error(conn, ret) : 0;
}

static void sdp_ib_qp_event(struct ib_event *event, void *context)
{
	struct sdp_ib_conn *conn = context;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		sdp_ib_qp_error(conn, -EIO);
		break;
	default:
		break;
	}
}

static int sdp_ib_qp_init(struct sdp_ib_conn *conn)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = conn->pkey_index,
		.port_num = conn->port,
		/*
		 * For probes, which write nothing.  No memory is registered that a
		 * peer could write to.
		 */
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
	};

	return ib_modify_qp(conn->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

/*
 * How many connections the device may have: the rest is for other drivers and programs.
 * The queue pairs that others have made of it are not known.
 */
static u32 sdp_ib_qp_most(const struct sdp_ib_dev *dev)
{
	u32 limit = READ_ONCE(sdp_ib_device_conns);
	u32 most = dev->device->attrs.max_qp;

	return limit ? min(most, limit) : most - most / SDP_IB_RESERVE;
}

/**
 * sdp_ib_qp_create() - make a queue pair that buffers can be posted to
 * @conn: the connection, whose device, port and partition are known
 * @params: how many buffers, and whose share of the device it is
 *
 * One completion queue for both directions keeps the upcalls in order.
 *
 * Return: zero or a negative errno.
 */
int sdp_ib_qp_create(struct sdp_ib_conn *conn,
		     const struct sdp_xprt_params *params)
{
	struct ib_device *device = conn->dev->device;
	struct ib_qp_init_attr attr = {
		.event_handler = sdp_ib_qp_event,
		.qp_context = conn,
		.cap.max_send_wr = params->send_depth,
		.cap.max_recv_wr = params->recv_depth,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;
	int ret;

	if (!params->send_depth || !params->recv_depth ||
	    params->send_depth > device->attrs.max_qp_wr ||
	    params->recv_depth > device->attrs.max_qp_wr)
		return -EINVAL;

	ret = sdp_xprt_charge(&conn->xc, params, sdp_ib_qp_most(conn->dev));
	if (ret)
		return ret;
	conn->nr_cqe = params->send_depth + params->recv_depth;
	conn->cq = ib_cq_pool_get(device, conn->nr_cqe, -1, IB_POLL_SOFTIRQ);
	if (IS_ERR(conn->cq)) {
		ret = PTR_ERR(conn->cq);
		goto err_uncharge;
	}
	attr.send_cq = conn->cq;
	attr.recv_cq = conn->cq;

	qp = ib_create_qp(conn->dev->pd, &attr);
	if (IS_ERR(qp)) {
		ret = PTR_ERR(qp);
		goto err_put_cq;
	}
	/* In any order: sdp_ib_posted_get() does nothing without both. */
	refcount_set(&conn->posted, 1);
	conn->qp = qp;
	ret = sdp_ib_qp_init(conn);
	if (ret)
		goto err_destroy;
	return 0;

err_destroy:
	conn->qp = NULL;
	ib_destroy_qp(qp);
err_put_cq:
	ib_cq_pool_put(conn->cq, conn->nr_cqe);
err_uncharge:
	sdp_xprt_uncharge(&conn->xc);
	return ret;
}

static int sdp_ib_qp_modify(struct sdp_ib_conn *conn, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, ret;

	ret = ib_cm_init_qp_attr(conn->cm_id, &attr, &mask);
	if (ret)
		return ret;
	/* No alternate path and no RDMA READ, whatever the peer offered. */
	mask &= ~(IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE);
	attr.max_rd_atomic = 0;
	attr.max_dest_rd_atomic = 0;
	attr.min_rnr_timer = SDP_IB_RNR_TIMER;
	/* Of the REQ or REP; a REP is sent only when this is done. */
	attr.rq_psn = conn->psn;
	return ib_modify_qp(conn->qp, &attr, mask);
}

/**
 * sdp_ib_qp_connect() - make the queue pair ready to receive and to send
 * @conn: the connection, whose cm_id has a REQ or a REP from the peer
 *
 * Return: zero or a negative errno.
 */
int sdp_ib_qp_connect(struct sdp_ib_conn *conn)
{
	int ret = sdp_ib_qp_modify(conn, IB_QPS_RTR);

	return ret ?: sdp_ib_qp_modify(conn, IB_QPS_RTS);
}

/**
 * sdp_ib_qp_flush() - get back what is posted
 * @conn: the connection
 *
 * Context: process context.  May be called more than once, and side by side.
 */
void sdp_ib_qp_flush(struct sdp_ib_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	bool told = false;
	int ret;

	if (!conn->qp)
		return;
	if (!test_and_set_bit(SDP_IB_F_FLUSHING, &conn->flags)) {
		/* Nothing else brings them back; an adapter that has failed says yes in the end. */
		while ((ret = ib_modify_qp(conn->qp, &attr, IB_QP_STATE))) {
			if (!told && ret != -ENOMEM)
				ibdev_err(conn->dev->device,
					  "QP %u: cannot be flushed yet: %d\n",
					  conn->qp->qp_num, ret);
			told |= ret != -ENOMEM;
			msleep(SDP_IB_RETRY_MS);
		}
		sdp_ib_posted_put(conn);
	}
	wait_for_completion(&conn->flushed);
}

/**
 * sdp_ib_qp_destroy() - free the queue pair, if there is one
 * @conn: the connection, flushed
 */
void sdp_ib_qp_destroy(struct sdp_ib_conn *conn)
{
	if (!conn->qp)
		return;
	ib_destroy_qp(conn->qp);
	ib_cq_pool_put(conn->cq, conn->nr_cqe);
	sdp_xprt_uncharge(&conn->xc);
}

/**
 * sdp_ib_prepare() - struct sdp_xprt_ops.prepare
 * @xc: a connection that the peer has asked for
 * @params: how many buffers
 */
int sdp_ib_prepare(struct sdp_xprt_conn *xc,
		   const struct sdp_xprt_params *params)
{
	struct sdp_ib_conn *conn = sdp_ib_conn(xc);
	int ret = -ENOTCONN;

	mutex_lock(&conn->mutex);
	if (conn->state == SDP_IB_REQUESTED && !conn->qp)
		ret = sdp_ib_qp_create(conn, params);
	mutex_unlock(&conn->mutex);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs.
 *
 * Every work request asks for a completion, and conn->posted counts those that
 * are to come, so a queue pair is drained when it has been moved to the error
 * state and the count has dropped to zero.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "transport/verbs/verbs.h"

/* How soon what the adapter would not do is tried again */
#define SDP_RC_RETRY_MS	100

/* One in so many of a device's queue pairs is not for SDP, unless the parameter says so */
#define SDP_RC_RESERVE	8

/* Times after which the peer repeats what found no buffer: 0.64 and 20.48 ms (9.7.5.2.8) */
#define SDP_RC_RNR_TIMER	12
#define SDP_RC_RNR_TIMER_BRIEF	22

/*
 * Of a connection with params.brief: time after which to repeat what is not acknowledged
 * (4.096 us * 2^14, or 67 ms), and how often; and how often what found no buffer.
 */
#define SDP_RC_ACK_TIMEOUT_BRIEF	14
#define SDP_RC_RETRY_COUNT_BRIEF	7
#define SDP_RC_RNR_RETRY_BRIEF		6	/* 7: without end */

/* The device has given something back.  In any context. */
void sdp_rc_posted_put(struct sdp_rc_conn *conn)
{
	if (refcount_dec_and_test(&conn->posted))
		complete_all(&conn->flushed);
}

/*
 * Something is about to be posted; false where the queue pair takes nothing any more.  In any
 * context.
 */
bool sdp_rc_posted_get(struct sdp_rc_conn *conn)
{
	/*
	 * Pairs with sdp_rc_qp_flush(), which sets the bit, then drops the first count.
	 * The bit only makes this give up early; the count alone decides.
	 */
	return conn->qp && !test_bit(SDP_RC_F_FLUSHING, &conn->flags) &&
	       refcount_inc_not_zero(&conn->posted);
}

/* The queue pair is of no more use: the first error is told, and counted.  In any context. */
void sdp_rc_qp_error(struct sdp_rc_conn *conn, int error)
{
	if (!test_and_set_bit(SDP_RC_F_QP_ERROR, &conn->flags))
		atomic_long_inc(conn->kind->qp_errors);
	sdp_rc_conn_end(conn, error);
}

/*
 * The error of a completion, with which the connection is at its end; or zero.  A refusal of the
 * peer's device is called @refused.
 */
int sdp_rc_wc_error(struct sdp_rc_conn *conn, const struct ib_wc *wc, int refused)
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
		error = refused;
		break;
	default:
		error = -EIO;
	}

	ibdev_dbg(conn->dev->device, "QP %u: %s (vendor error %#x)\n",
		  conn->qp->qp_num, ib_wc_status_msg(wc->status),
		  wc->vendor_err);
	sdp_rc_qp_error(conn, error);
	return error;
}

static void sdp_rc_qp_event(struct ib_event *event, void *context)
{
	struct sdp_rc_conn *conn = context;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		sdp_rc_qp_error(conn, -EIO);
		break;
	default:
		break;
	}
}

static int sdp_rc_qp_init(struct sdp_rc_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	int mask, ret;

	ret = conn->kind->qp_attr(conn, &attr, &mask);
	if (ret || !mask)
		return ret;
	/*
	 * Peers of other make look whether this end lives by writing no bytes, even
	 * where no memory is registered that a peer could write to.
	 */
	attr.qp_access_flags = IB_ACCESS_REMOTE_WRITE |
			       (conn->reads_in ? IB_ACCESS_REMOTE_READ : 0);
	return ib_modify_qp(conn->qp, &attr, mask);
}

/*
 * How many connections the device may have: the rest is for other drivers and programs.
 * The queue pairs that others have made of it are not known.
 */
static u32 sdp_rc_qp_most(const struct sdp_rc_dev *dev)
{
	u32 limit = READ_ONCE(*dev->kind->most);
	u32 most = dev->device->attrs.max_qp;

	return limit ? min(most, limit) : most - most / SDP_RC_RESERVE;
}

/* Work requests to send at once: the protocol's, and those of memory. */
static u32 sdp_rc_send_depth(const struct sdp_xprt_params *params)
{
	return params->send_depth + SDP_RC_MEM_WRS * params->rdma_depth;
}

/*
 * Can the device queue so much?  ib_core would look for a completion queue of such a size without
 * end.
 */
static bool sdp_rc_qp_params_ok(struct sdp_rc_dev *dev, const struct sdp_xprt_params *params)
{
	const struct ib_device_attr *attrs = &dev->device->attrs;
	u32 send = sdp_rc_send_depth(params), recv = params->recv_depth;

	if (!send || !recv)
		return false;
	if (max(send, recv) <= attrs->max_qp_wr && send + recv <= attrs->max_cqe)
		return true;
	if (!test_and_set_bit(SDP_RC_DEV_F_SHALLOW, &dev->flags))
		ibdev_warn(dev->device,
			   "queues of %d, completion queues of %d: SDP needs %u and %u\n",
			   attrs->max_qp_wr, attrs->max_cqe, max(send, recv), send + recv);
	return false;
}

/*
 * How many pieces a message may have behind its buffer: one at least, as no connection manager
 * works with less.  A MAD is sent in two.
 */
static u32 sdp_rc_qp_pieces(const struct ib_device *device, const struct sdp_xprt_params *params)
{
	return min_t(u32, params->send_pieces, device->attrs.max_send_sge - 1);
}

/*
 * Makes a queue pair that buffers can be posted to; device, port and partition are known.  One
 * completion queue for both directions keeps the upcalls in order.
 */
int sdp_rc_qp_create(struct sdp_rc_conn *conn,
		     const struct sdp_xprt_params *params)
{
	struct ib_device *device = conn->dev->device;
	struct ib_qp_init_attr attr = {
		.event_handler = sdp_rc_qp_event,
		.qp_context = conn,
		.cap.max_send_wr = sdp_rc_send_depth(params),
		.cap.max_recv_wr = params->recv_depth,
		.cap.max_send_sge = 1 + sdp_rc_qp_pieces(device, params),
		.cap.max_recv_sge = params->recv_head && !sdp_rc_dev_whole(conn->dev) ? 2 : 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;
	int ret;

	if (!sdp_rc_qp_params_ok(conn->dev, params))
		return -EINVAL;

	ret = sdp_xprt_charge(&conn->xc, params, sdp_rc_qp_most(conn->dev));
	if (ret)
		return ret;
	ret = sdp_rc_mrs_init(conn, params);
	if (ret)
		goto err_uncharge;
	conn->nr_cqe = sdp_rc_send_depth(params) + params->recv_depth;
	conn->cq = ib_cq_pool_get(device, conn->nr_cqe, -1, IB_POLL_SOFTIRQ);
	if (IS_ERR(conn->cq)) {
		ret = PTR_ERR(conn->cq);
		goto err_mrs;
	}
	attr.send_cq = conn->cq;
	attr.recv_cq = conn->cq;

	qp = ib_create_qp_kernel(conn->pd, &attr, conn->kind->module);
	if (IS_ERR(qp)) {
		ret = PTR_ERR(qp);
		goto err_put_cq;
	}
	conn->xc.pieces = sdp_rc_qp_pieces(device, params);
	conn->recv_head = params->recv_head;
	conn->brief = params->brief;
	/* In any order: sdp_rc_posted_get() does nothing without both. */
	refcount_set(&conn->posted, 1);
	conn->qp = qp;
	ret = sdp_rc_qp_init(conn);
	if (ret)
		goto err_destroy;
	return 0;

err_destroy:
	conn->qp = NULL;
	ib_destroy_qp(qp);
err_put_cq:
	ib_cq_pool_put(conn->cq, conn->nr_cqe);
err_mrs:
	sdp_rc_mrs_exit(conn);
err_uncharge:
	sdp_xprt_uncharge(&conn->xc);
	return ret;
}

/* May something be posted to the send queue?  In any context. */
bool sdp_rc_can_post(const struct sdp_rc_conn *conn)
{
	/* Pairs with sdp_rc_accept(), which stores this before the peer may send anything. */
	switch (READ_ONCE(conn->state)) {
	case SDP_RC_ACCEPTED:
	case SDP_RC_ESTABLISHED:
		return true;
	default:
		return false;
	}
}

/*
 * Nothing has been posted, of what sdp_rc_posted_get() had counted. -ENOBUFS; or -ENOTCONN: the
 * connection is at its end.
 */
int sdp_rc_post_error(struct sdp_rc_conn *conn, int ret)
{
	sdp_rc_posted_put(conn);
	if (ret == -ENOMEM)
		return -ENOBUFS;
	sdp_rc_qp_error(conn, -EIO);
	return -ENOTCONN;
}

/*
 * Posts a work request, with its wr_cqe, to the send queue; errors as of struct
 * sdp_xprt_ops.post_send.
 */
int sdp_rc_post(struct sdp_rc_conn *conn, struct ib_send_wr *wr)
{
	int ret;

	if (!sdp_rc_can_post(conn) || !sdp_rc_posted_get(conn))
		return -ENOTCONN;

	wr->send_flags = IB_SEND_SIGNALED;
	ret = ib_post_send(conn->qp, wr, NULL);
	return ret ? sdp_rc_post_error(conn, ret) : 0;
}

static int sdp_rc_qp_modify(struct sdp_rc_conn *conn, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, ret;

	ret = conn->kind->qp_attr(conn, &attr, &mask);
	if (ret || !mask)
		return ret;
	/* No alternate path, whatever the peer offered. */
	mask &= ~(IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE);
	attr.max_rd_atomic = conn->reads_out;
	attr.max_dest_rd_atomic = conn->reads_in;
	attr.min_rnr_timer = SDP_RC_RNR_TIMER;
	if (conn->brief) {
		/* Neither the path nor the peer says; these are in the mask on the way to RTS. */
		attr.min_rnr_timer = SDP_RC_RNR_TIMER_BRIEF;
		attr.timeout = SDP_RC_ACK_TIMEOUT_BRIEF;
		attr.retry_cnt = SDP_RC_RETRY_COUNT_BRIEF;
		attr.rnr_retry = SDP_RC_RNR_RETRY_BRIEF;
	}
	return ib_modify_qp(conn->qp, &attr, mask);
}

/*
 * Makes the queue pair ready to receive and to send; the manager has the peer's request or answer.
 */
int sdp_rc_qp_connect(struct sdp_rc_conn *conn)
{
	int ret = sdp_rc_qp_modify(conn, IB_QPS_RTR);

	return ret ?: sdp_rc_qp_modify(conn, IB_QPS_RTS);
}

/* Gets back what is posted.  In process context, more than once, and side by side. */
void sdp_rc_qp_flush(struct sdp_rc_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	bool told = false;
	int ret;

	if (!conn->qp)
		return;
	if (!test_and_set_bit(SDP_RC_F_FLUSHING, &conn->flags)) {
		/* Nothing else brings them back; an adapter that has failed says yes in the end. */
		while ((ret = ib_modify_qp(conn->qp, &attr, IB_QP_STATE))) {
			if (!told && ret != -ENOMEM)
				ibdev_err(conn->dev->device,
					  "QP %u: cannot be flushed yet: %d\n",
					  conn->qp->qp_num, ret);
			told |= ret != -ENOMEM;
			msleep(SDP_RC_RETRY_MS);
		}
		sdp_rc_posted_put(conn);
	}
	wait_for_completion(&conn->flushed);
}

/* Frees the queue pair, if there is one, which is flushed. */
void sdp_rc_qp_destroy(struct sdp_rc_conn *conn)
{
	if (!conn->qp)
		return;
	ib_destroy_qp(conn->qp);
	ib_cq_pool_put(conn->cq, conn->nr_cqe);
	sdp_rc_mrs_exit(conn);
	sdp_xprt_uncharge(&conn->xc);
}

/**
 * sdp_rc_prepare() - struct sdp_xprt_ops.prepare
 * @xc: a connection that the peer has asked for
 * @params: how many buffers
 */
int sdp_rc_prepare(struct sdp_xprt_conn *xc,
		   const struct sdp_xprt_params *params)
{
	struct sdp_rc_conn *conn = sdp_rc_conn(xc);
	int ret = -ENOTCONN;

	mutex_lock(&conn->mutex);
	if (conn->state == SDP_RC_REQUESTED && !conn->qp)
		ret = sdp_rc_qp_create(conn, params);
	mutex_unlock(&conn->mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(sdp_rc_prepare);

// SPDX-License-Identifier: GPL-2.0
/*
 * The exchange with the peer's rdma_cm: over RoCE it names both addresses in a header of its own,
 * over iWARP they are those of a TCP connection.
 */
#include <linux/in.h>
#include <linux/moduleparam.h>
#include <rdma/ib_cm.h>

#include "transport/rdma/rdma.h"

unsigned int sdp_rdma_port = 1005;
module_param_named(port, sdp_rdma_port, uint, 0444);
MODULE_PARM_DESC(port, "Port of the service in rdma_cm's port space, on both machines (1005)");

/* A neighbour that has not answered by then is not there; as long as TCP's. */
#define SDP_RDMA_NEIGH_MS	4000

/* Requests over iWARP that are on their way, at most. */
#define SDP_RDMA_ASKS		32

static atomic_t sdp_rdma_asks;

/* iWARP devices connect queue pairs themselves, and answer with one message less. */
static bool sdp_rdma_is_iwarp(const struct rdma_cm_id *id)
{
	return rdma_protocol_iwarp(id->device, id->port_num);
}

/* --- what rdma_cm tells ------------------------------------------------------ */

static void sdp_rdma_refused(struct sdp_rc_conn *conn, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	int reason = event->status;

	/* An errno by iWARP, of the device's choice: what has words is the protocol's refusal. */
	if (sdp_rdma_is_iwarp(sdp_rdma_conn(conn)->id) && param->private_data_len)
		reason = IB_CM_REJ_CONSUMER_DEFINED;
	sdp_rc_told_refused(conn, param->private_data, param->private_data_len, reason);
}

/* rdma_cm's callback of a connection.  Zero: this end destroys @id. */
int sdp_rdma_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct sdp_rc_conn *conn = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ADDR_ERROR:
		sdp_rc_told_status(conn, event->status, SDP_RC_EV_ADDR);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		sdp_rc_told_status(conn, event->status, SDP_RC_EV_PATH);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (READ_ONCE(conn->state) != SDP_RC_CONNECTING) {
			sdp_rc_conn_post(conn, SDP_RC_EV_READY);
			break;
		}
		/* The answer, by iWARP. */
		fallthrough;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		sdp_rc_told_accepted(conn, param->private_data, param->private_data_len,
				     param->initiator_depth, param->responder_resources);
		break;
	case RDMA_CM_EVENT_REJECTED:
		sdp_rdma_refused(conn, event);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		sdp_rc_conn_end(conn, event->status ? : -ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		/* A bond goes on by another port, where the queue pair is not. */
		sdp_rc_conn_end(conn, -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		sdp_rc_conn_end(conn, 0);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		sdp_rc_conn_post(conn, SDP_RC_EV_GONE);
		break;
	default:
		break;
	}
	return 0;
}

/* --- the side that connects -------------------------------------------------- */

/* The service's port instead of TCP's, which is at one place for both families. */
static struct sockaddr_storage sdp_rdma_addr(const struct sockaddr_storage *addr, u16 port)
{
	struct sockaddr_storage ss = *addr;

	((struct sockaddr_in *)&ss)->sin_port = htons(port);
	return ss;
}

/* struct sdp_rc_kind.resolve */
int sdp_rdma_resolve(struct sdp_rc_conn *conn)
{
	struct sockaddr_storage src = sdp_rdma_addr(&conn->local, 0);
	struct sockaddr_storage dst = sdp_rdma_addr(&conn->peer, sdp_rdma_port);
	struct rdma_cm_id *id;

	id = rdma_create_id(conn->net, sdp_rdma_handler, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	sdp_rdma_conn(conn)->id = id;
	/* By the route's interface: another one may have the address, too. */
	id->route.addr.dev_addr.bound_dev_if = conn->params.ifindex;
	rdma_set_service_type(id, conn->params.tos);
	return rdma_resolve_addr(id, (struct sockaddr *)&src, (struct sockaddr *)&dst,
				 min_t(u32, conn->params.timeout_ms, SDP_RDMA_NEIGH_MS));
}

/* Under conn->mutex. */
static int sdp_rdma_path_start(struct sdp_rc_conn *conn)
{
	struct rdma_cm_id *id = sdp_rdma_conn(conn)->id;

	if (conn->status)
		return -EHOSTUNREACH;
	conn->dev = sdp_rdma_dev_get(id->device);
	if (!conn->dev)
		return -ENODEV;
	conn->xc.dev = &conn->dev->xdev;
	conn->port = id->port_num;
	sdp_rc_conn_attach(conn);
	return rdma_resolve_route(id, conn->params.timeout_ms);
}

/**
 * sdp_rdma_addr_resolved() - rdma_cm has found the peer's link-layer address
 * @conn: the connection
 */
void sdp_rdma_addr_resolved(struct sdp_rc_conn *conn)
{
	int ret = 0;

	mutex_lock(&conn->mutex);
	if (conn->state == SDP_RC_RESOLVING)
		ret = sdp_rdma_path_start(conn);
	mutex_unlock(&conn->mutex);
	if (ret)
		sdp_rc_conn_fail(conn, ret);
}

/* The path is known, or will not be. */
void sdp_rdma_path_resolved(struct sdp_rc_conn *conn)
{
	if (conn->status)
		sdp_rc_conn_fail(conn, -EHOSTUNREACH);
	else
		sdp_rc_path_known(conn);
}

/*
 * iWARP in software connects its TCP before it returns, which may take minutes.  The other works of
 * connections, over any transport, must not wait behind those.
 */
static int sdp_rdma_ask_iwarp(struct sdp_rc_conn *conn, struct rdma_conn_param *param)
{
	int ret;

	if (!atomic_add_unless(&sdp_rdma_asks, 1, SDP_RDMA_ASKS))
		return -EAGAIN;
	ret = rdma_connect(sdp_rdma_conn(conn)->id, param);
	atomic_dec(&sdp_rdma_asks);
	if (ret == -ECONNREFUSED) {
		/* No listener. */
		sdp_rc_told_refused(conn, "", 0, IB_CM_REJ_INVALID_SERVICE_ID);
		return 0;
	}
	/* A socket of this end has the port that rdma_cm chose: the path is as good as before. */
	return ret == -EADDRINUSE ? -EAGAIN : ret;
}

int sdp_rdma_request(struct sdp_rc_conn *conn)
{
	struct rdma_conn_param param = {
		.private_data = conn->req_pdata,
		.private_data_len = conn->req_len,
		.responder_resources = conn->reads_in,
		.initiator_depth = conn->reads_out,
		.flow_control = 1,
		.retry_count = SDP_RC_RETRY_COUNT,
		.rnr_retry_count = SDP_RC_RNR_RETRY,
		.qp_num = conn->qp->qp_num,
	};

	if (sdp_rdma_is_iwarp(sdp_rdma_conn(conn)->id))
		return sdp_rdma_ask_iwarp(conn, &param);
	return rdma_connect(sdp_rdma_conn(conn)->id, &param);
}

int sdp_rdma_confirm(struct sdp_rc_conn *conn, int ret)
{
	struct rdma_cm_id *id = sdp_rdma_conn(conn)->id;

	if (sdp_rdma_is_iwarp(id))
		return ret;
	if (ret) {
		rdma_reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
		return ret;
	}
	rdma_lock_handler(id);
	ret = rdma_accept(id, NULL);
	rdma_unlock_handler(id);
	return ret;
}

/* --- the side that accepts --------------------------------------------------- */

int sdp_rdma_accept(struct sdp_rc_conn *conn, const void *pdata, unsigned int len)
{
	struct rdma_cm_id *id = sdp_rdma_conn(conn)->id;
	struct rdma_conn_param param = {
		.private_data = pdata,
		.private_data_len = len,
		.responder_resources = conn->reads_in,
		.initiator_depth = conn->reads_out,
		.flow_control = 1,
		.rnr_retry_count = SDP_RC_RNR_RETRY,
		.qp_num = conn->qp->qp_num,
	};
	int ret;

	rdma_lock_handler(id);
	ret = rdma_accept(id, &param);
	rdma_unlock_handler(id);
	return ret;
}

/* Private data that does not fit is left out. */
void sdp_rdma_reject(struct sdp_rc_conn *conn, const void *pdata, unsigned int len)
{
	len = min_t(unsigned int, len, IB_CM_REJ_PRIVATE_DATA_SIZE);
	rdma_reject(sdp_rdma_conn(conn)->id, pdata, len, IB_CM_REJ_CONSUMER_DEFINED);
}

/* --- either side ------------------------------------------------------------- */

/**
 * sdp_rdma_cancel() - struct sdp_rc_kind.cancel: sdp_rdma_destroy() does it
 * @conn: the connection
 */
void sdp_rdma_cancel(struct sdp_rc_conn *conn)
{
}

void sdp_rdma_destroy(struct sdp_rc_conn *conn)
{
	if (sdp_rdma_conn(conn)->id)
		rdma_destroy_id(sdp_rdma_conn(conn)->id);
}

int sdp_rdma_qp_attr(struct sdp_rc_conn *conn, struct ib_qp_attr *attr, int *mask)
{
	struct rdma_cm_id *id = sdp_rdma_conn(conn)->id;

	if (sdp_rdma_is_iwarp(id) && attr->qp_state != IB_QPS_INIT) {
		*mask = 0;
		return 0;
	}
	return rdma_init_qp_attr(id, attr, mask);
}

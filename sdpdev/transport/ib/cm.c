// SPDX-License-Identifier: GPL-2.0
/*
 * The exchange with the peer's communication manager (IBA chapter 12): SDP's
 * Hello travels in the REQ, its HelloAck in the REP.
 */
#include <linux/in.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <net/sock.h>
#include <rdma/ib_cache.h>

#include "compat.h"
#include "transport/ib/ib.h"

/*
 * Times are 4.096 us * 2^n.  A REQ or REP that is lost is repeated after about
 * a second and twice the path's packet life time; conn->timer ends it earlier
 * where the protocol wants to know earlier.
 */
#define SDP_IB_CM_TIMEOUT	18	/* 1.07 s */
#define SDP_IB_CM_RETRIES	7

#define SDP_IB_PSN_MASK		0xffffff

/* --- a request from a peer -------------------------------------------------- */

/* Reject reason of a REQ that is not for SDP or that cannot be, or zero. */
static int sdp_ib_req_check(const struct ib_cm_req_event_param *req)
{
	const struct sa_path_rec *path = req->primary_path;

	if (req->qp_type != IB_QPT_RC)
		return IB_CM_REJ_INVALID_TRANSPORT_TYPE;
	if (path->mtu < IB_MTU_256 || path->mtu > IB_MTU_4096)
		return IB_CM_REJ_INVALID_MTU;
	if (!req->remote_qpn)
		return IB_CM_REJ_NO_QP;
	return 0;
}

/* The interface that the request is for, held, or NULL. */
static struct net_device *
sdp_ib_req_netdev(struct sdp_ib_dev *dev,
		  const struct ib_cm_req_event_param *req,
		  const struct sockaddr_storage *local)
{
	const struct sa_path_rec *path = req->primary_path;

	return ib_get_net_dev_by_params(dev->rc.device, req->port,
					be16_to_cpu(path->pkey), &path->sgid,
					(const struct sockaddr *)local);
}

static struct sdp_rc_conn *
sdp_ib_req_conn(struct sdp_ib_dev *dev, const struct net_device *ndev,
		const struct ib_cm_req_event_param *req,
		const struct sockaddr_storage *local,
		const struct sockaddr_storage *peer)
{
	struct sdp_rc_conn *conn = sdp_rc_conn_alloc(&sdp_ib_kind, dev_net(ndev));

	if (!conn)
		return NULL;
	refcount_inc(&dev->rc.refs);
	conn->dev = &dev->rc;
	conn->xc.dev = &dev->rc.xdev;
	conn->port = req->port;
	conn->ifindex = ndev->ifindex;
	conn->local = *local;
	conn->peer = *peer;
	sdp_rc_set_scope(&conn->local, ndev->ifindex);
	sdp_rc_set_scope(&conn->peer, ndev->ifindex);
	sdp_ib_conn(conn)->psn = get_random_u32() & SDP_IB_PSN_MASK;
	conn->reads_out = req->initiator_depth;
	conn->reads_in = req->responder_resources;
	conn->state = SDP_RC_REQUESTED;
	return conn;
}

/* Hand a request up.  Reject reason, or zero: the protocol has it. */
static int sdp_ib_req_deliver(struct sdp_rc_conn *conn, struct ib_cm_id *cm_id,
			      const struct ib_cm_event *event)
{
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_CONNECT_REQUEST,
		.net = conn->net,
		.ifindex = conn->ifindex,
		.local = &conn->local,
		.peer = &conn->peer,
		.pdata = event->private_data,
		.pdata_len = IB_CM_REQ_PRIVATE_DATA_SIZE,
	};
	const struct sa_path_rec *path = event->param.req_rcvd.primary_path;
	struct sdp_ib_conn *ib = sdp_ib_conn(conn);

	if (!sdp_rc_peer_plausible(conn) ||
	    ib_find_cached_pkey(conn->dev->device, conn->port,
				be16_to_cpu(path->pkey), &ib->pkey_index)) {
		sdp_ib_count(SDP_IB_STAT_REQ_NO_INTERFACE);
		return IB_CM_REJ_CONSUMER_DEFINED;
	}

	ib->cm_id = cm_id;
	cm_id->context = conn;
	if (sdp_rc_conn_event(conn, &ev)) {
		ib->cm_id = NULL;
		sdp_ib_count(SDP_IB_STAT_REQ_REFUSED);
		return IB_CM_REJ_CONSUMER_DEFINED;
	}
	/*
	 * The protocol may have destroyed it by now, in another thread; but
	 * that waits until this handler is done with the cm_id.
	 */
	sdp_rc_conn_attach(conn);
	/* Answer a repeated REQ while the protocol makes up its mind. */
	ib_prepare_cm_mra(cm_id);
	return 0;
}

/* Reject reason, or zero. */
static int sdp_ib_req_accept(struct ib_cm_id *cm_id,
			     const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	const struct sdp_ib_listener *listener = cm_id->context;
	struct sockaddr_storage local = {}, peer = {};
	struct sdp_rc_conn *conn;
	struct net_device *ndev;
	int reason;

	reason = sdp_ib_req_check(req);
	if (!reason &&
	    (sdp_ib_kind.up->request_addrs(event->private_data,
				      IB_CM_REQ_PRIVATE_DATA_SIZE,
				      &local, &peer) ||
	     !sdp_rc_is_unicast(&local) || !sdp_rc_is_unicast(&peer)))
		reason = IB_CM_REJ_CONSUMER_DEFINED;
	if (reason) {
		sdp_ib_count(SDP_IB_STAT_REQ_INVALID);
		return reason;
	}

	/* A Hello does not name it, the service ID does; as in sin6_port. */
	((struct sockaddr_in *)&local)->sin_port = htons(listener->port);
	ndev = sdp_ib_req_netdev(listener->dev, req, &local);
	if (!ndev) {
		sdp_ib_count(SDP_IB_STAT_REQ_NO_INTERFACE);
		return IB_CM_REJ_CONSUMER_DEFINED;
	}
	conn = sdp_ib_req_conn(listener->dev, ndev, req, &local, &peer);
	dev_put(ndev);
	if (!conn)
		return IB_CM_REJ_NO_RESOURCES;
	reason = sdp_ib_req_deliver(conn, cm_id, event);
	if (reason)
		sdp_rc_conn_destroy(&conn->xc);
	return reason;
}

static int sdp_ib_cm_req_handler(struct ib_cm_id *cm_id,
				 const struct ib_cm_event *event)
{
	int reason = sdp_ib_req_accept(cm_id, event);

	if (!reason)
		return 0;
	ib_send_cm_rej(cm_id, reason, NULL, 0, NULL, 0);
	/* ib_cm destroys the cm_id. */
	return -ECONNREFUSED;
}

/* --- everything else that ib_cm tells -------------------------------------- */

/* ib_cm's callback, of listeners and of connections: an error where ib_cm shall destroy @cm_id. */
int sdp_ib_cm_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	const struct ib_cm_rep_event_param *rep = &event->param.rep_rcvd;
	struct sdp_rc_conn *conn = cm_id->context;

	switch (event->event) {
	case IB_CM_REQ_RECEIVED:
		return sdp_ib_cm_req_handler(cm_id, event);
	case IB_CM_SIDR_REQ_RECEIVED:
		/* Not a service for datagrams: destroying it says so. */
		return -EOPNOTSUPP;
	case IB_CM_REP_RECEIVED:
		sdp_rc_told_accepted(conn, event->private_data, IB_CM_REP_PRIVATE_DATA_SIZE,
				     rep->initiator_depth, rep->responder_resources);
		break;
	case IB_CM_RTU_RECEIVED:
		sdp_rc_conn_post(conn, SDP_RC_EV_READY);
		break;
	case IB_CM_REJ_RECEIVED:
		sdp_rc_told_refused(conn, event->private_data, IB_CM_REJ_PRIVATE_DATA_SIZE,
				    event->param.rej_rcvd.reason);
		break;
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(cm_id, NULL, 0);
		sdp_rc_conn_end(conn, 0);
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_REP_ERROR:
		sdp_rc_conn_end(conn, -ETIMEDOUT);
		break;
	case IB_CM_TIMEWAIT_EXIT:
		/* After everything else; only news if that got lost. */
		sdp_rc_conn_end(conn, 0);
		break;
	default:
		/* MRA, which ib_cm has acted on, and alternate paths. */
		break;
	}
	return 0;
}

/* --- what this end tells the peer --------------------------------------------- */

/* Sends the REQ. */
int sdp_ib_cm_request(struct sdp_rc_conn *conn)
{
	struct sdp_ib_conn *ib = sdp_ib_conn(conn);
	struct ib_cm_req_param req = {
		.primary_path = &ib->path,
		.service_id = sdp_ib_conn_service(conn),
		.qp_num = conn->qp->qp_num,
		.qp_type = IB_QPT_RC,
		.private_data = conn->req_pdata,
		.private_data_len = conn->req_len,
		.responder_resources = conn->reads_in,
		.initiator_depth = conn->reads_out,
		.flow_control = 1,
		.remote_cm_response_timeout = SDP_IB_CM_TIMEOUT,
		.local_cm_response_timeout = SDP_IB_CM_TIMEOUT,
		.retry_count = SDP_RC_RETRY_COUNT,
		.rnr_retry_count = SDP_RC_RNR_RETRY,
		.max_cm_retries = SDP_IB_CM_RETRIES,
	};
	struct ib_cm_id *cm_id;

	cm_id = ib_create_cm_id(conn->dev->device, sdp_ib_cm_handler, conn);
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);
	ib->cm_id = cm_id;
	ib->psn = get_random_u32() & SDP_IB_PSN_MASK;
	req.starting_psn = ib->psn;
	return ib_send_cm_req(cm_id, &req);
}

/* Sends the RTU, or a REJ. */
int sdp_ib_cm_confirm(struct sdp_rc_conn *conn, int ret)
{
	struct ib_cm_id *cm_id = sdp_ib_conn(conn)->cm_id;

	if (!ret)
		return ib_send_cm_rtu(cm_id, NULL, 0);
	ib_send_cm_rej(cm_id, IB_CM_REJ_NO_RESOURCES, NULL, 0, NULL, 0);
	return ret;
}

/* Sends the REP. */
int sdp_ib_cm_accept(struct sdp_rc_conn *conn, const void *pdata, unsigned int len)
{
	struct sdp_ib_conn *ib = sdp_ib_conn(conn);
	struct ib_cm_rep_param rep = {
		.qp_num = conn->qp->qp_num,
		.starting_psn = ib->psn,
		.private_data = pdata,
		.private_data_len = len,
		.responder_resources = conn->reads_in,
		.initiator_depth = conn->reads_out,
		.flow_control = 1,
		.rnr_retry_count = SDP_RC_RNR_RETRY,
	};

	return ib_send_cm_rep(ib->cm_id, &rep);
}

/* Sends a REJ; private data that does not fit is left out. */
void sdp_ib_cm_reject(struct sdp_rc_conn *conn, const void *pdata, unsigned int len)
{
	len = min_t(unsigned int, len, IB_CM_REJ_PRIVATE_DATA_SIZE);
	ib_send_cm_rej(sdp_ib_conn(conn)->cm_id, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0, pdata, len);
}

void sdp_ib_cm_destroy(struct sdp_rc_conn *conn)
{
	if (sdp_ib_conn(conn)->cm_id)
		ib_destroy_cm_id(sdp_ib_conn(conn)->cm_id);
}

/* struct sdp_rc_kind.qp_attr */
int sdp_ib_cm_qp_attr(struct sdp_rc_conn *conn, struct ib_qp_attr *attr, int *mask)
{
	struct sdp_ib_conn *ib = sdp_ib_conn(conn);
	int ret;

	/* The side that connects has no cm_id yet. */
	if (attr->qp_state == IB_QPS_INIT) {
		attr->pkey_index = ib->pkey_index;
		attr->port_num = conn->port;
		*mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
		return 0;
	}
	ret = ib_cm_init_qp_attr(ib->cm_id, attr, mask);
	/* Of the REQ or REP; a REP is sent only when this is done. */
	attr->rq_psn = ib->psn;
	return ret;
}

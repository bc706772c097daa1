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

#include "transport/ib/ib.h"

/*
 * Times are 4.096 us * 2^n.  A REQ or REP that is lost is repeated after about
 * a second and twice the path's packet life time; conn->timer ends it earlier
 * where the protocol wants to know earlier.
 */
#define SDP_IB_CM_TIMEOUT	18	/* 1.07 s */
#define SDP_IB_CM_RETRIES	7
/* How long the peer shall wait if it repeats a REQ that is being looked at */
#define SDP_IB_CM_MRA_TIMEOUT	22	/* 17 s */

/*
 * How long the peer may leave a REP unanswered. ib_cm repeats it by the times in the
 * peer's REQ, which may be a day's.
 */
#define SDP_IB_RTU_MS		20000

#define SDP_IB_RETRY_COUNT	7	/* of packets that are not acknowledged */
#define SDP_IB_RNR_RETRY	7	/* without end: credits make it rare */

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

/* An address that one node can have? */
static bool sdp_ib_is_unicast(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)ss;

	switch (ss->ss_family) {
	case AF_INET:
		return !ipv4_is_zeronet(sin->sin_addr.s_addr) &&
		       !ipv4_is_loopback(sin->sin_addr.s_addr) &&
		       !ipv4_is_multicast(sin->sin_addr.s_addr) &&
		       !ipv4_is_lbcast(sin->sin_addr.s_addr);
	case AF_INET6:
		return ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_UNICAST &&
		       !ipv6_addr_loopback(&sin6->sin6_addr) &&
		       !ipv6_addr_v4mapped(&sin6->sin6_addr);
	default:
		return false;
	}
}

/*
 * Does the route back to the peer's address leave by IPoIB?  The address is
 * what the peer says it is; this keeps it from posing as a host of another
 * network.  The listener is not known yet, so routing rules see root of the
 * namespace, as with packets that no user sends.
 */
static bool sdp_ib_peer_plausible(struct sdp_ib_conn *conn)
{
	struct sdp_xprt_params back = {
		.local = conn->local,
		.peer = conn->peer,
		.uid = sock_net_uid(conn->net, NULL),
	};

	return !sdp_ib_route(conn->net, &back);
}

/* The interface that the request is for, held, or NULL. */
static struct net_device *
sdp_ib_req_netdev(struct sdp_ib_dev *dev,
		  const struct ib_cm_req_event_param *req,
		  const struct sockaddr_storage *local)
{
	const struct sa_path_rec *path = req->primary_path;

	return ib_get_net_dev_by_params(dev->device, req->port,
					be16_to_cpu(path->pkey), &path->sgid,
					(const struct sockaddr *)local);
}

static struct sdp_ib_conn *
sdp_ib_req_conn(struct sdp_ib_dev *dev, const struct net_device *ndev,
		const struct ib_cm_req_event_param *req,
		const struct sockaddr_storage *local,
		const struct sockaddr_storage *peer)
{
	struct sdp_ib_conn *conn = sdp_ib_conn_alloc(dev_net(ndev));

	if (!conn)
		return NULL;
	refcount_inc(&dev->refs);
	conn->dev = dev;
	conn->xc.dev = &dev->xdev;
	conn->port = req->port;
	conn->ifindex = ndev->ifindex;
	conn->local = *local;
	conn->peer = *peer;
	sdp_ib_set_scope(&conn->local, ndev->ifindex);
	sdp_ib_set_scope(&conn->peer, ndev->ifindex);
	conn->dgid = req->primary_path->dgid;
	conn->reads_out = req->initiator_depth;
	conn->reads_in = req->responder_resources;
	conn->state = SDP_IB_REQUESTED;
	return conn;
}

/* Hand a request up.  Reject reason, or zero: the protocol has it. */
static int sdp_ib_req_deliver(struct sdp_ib_conn *conn, struct ib_cm_id *cm_id,
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

	if (!sdp_ib_peer_plausible(conn) ||
	    ib_find_cached_pkey(conn->dev->device, conn->port,
				be16_to_cpu(path->pkey), &conn->pkey_index)) {
		sdp_ib_count(SDP_IB_STAT_REQ_NO_INTERFACE);
		return IB_CM_REJ_CONSUMER_DEFINED;
	}

	conn->cm_id = cm_id;
	cm_id->context = conn;
	if (sdp_ib_conn_event(conn, &ev)) {
		conn->cm_id = NULL;
		sdp_ib_count(SDP_IB_STAT_REQ_REFUSED);
		return IB_CM_REJ_CONSUMER_DEFINED;
	}
	/*
	 * The protocol may have destroyed it by now, in another thread; but
	 * that waits until this handler is done with the cm_id.
	 */
	sdp_ib_conn_attach(conn);
	/* Answer a repeated REQ while the protocol makes up its mind. */
	ib_send_cm_mra(cm_id, IB_CM_MRA_FLAG_DELAY | SDP_IB_CM_MRA_TIMEOUT,
		       NULL, 0);
	return 0;
}

/* Reject reason, or zero. */
static int sdp_ib_req_accept(struct ib_cm_id *cm_id,
			     const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	const struct sdp_ib_listener *listener = cm_id->context;
	struct sockaddr_storage local = {}, peer = {};
	struct sdp_ib_conn *conn;
	struct net_device *ndev;
	int reason;

	reason = sdp_ib_req_check(req);
	if (!reason &&
	    (sdp_ib_up->request_addrs(event->private_data,
				      IB_CM_REQ_PRIVATE_DATA_SIZE,
				      &local, &peer) ||
	     !sdp_ib_is_unicast(&local) || !sdp_ib_is_unicast(&peer)))
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
		sdp_ib_conn_destroy(&conn->xc);
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

/* Keep a message's private data for the work; a REP's is not overwritten. */
static bool sdp_ib_cm_keep(struct sdp_ib_conn *conn, const void *pdata,
			   unsigned int len, int reason)
{
	bool first;

	spin_lock_irq(&conn->lock);
	first = !conn->replied;
	if (first) {
		conn->replied = true;
		conn->reason = reason;
		conn->pdata_len = len;
		memcpy(conn->pdata, pdata, len);
	}
	spin_unlock_irq(&conn->lock);
	return first;
}

static void sdp_ib_cm_rej_received(struct sdp_ib_conn *conn,
				   const struct ib_cm_event *event)
{
	if (sdp_ib_cm_keep(conn, event->private_data,
			   IB_CM_REJ_PRIVATE_DATA_SIZE,
			   event->param.rej_rcvd.reason))
		sdp_ib_conn_post(conn, SDP_IB_EV_REJECTED);
	else
		sdp_ib_conn_end(conn, -ECONNRESET);
}

static void sdp_ib_cm_rep_received(struct sdp_ib_conn *conn, const struct ib_cm_event *event)
{
	const struct ib_cm_rep_event_param *rep = &event->param.rep_rcvd;

	if (!sdp_ib_cm_keep(conn, event->private_data, IB_CM_REP_PRIVATE_DATA_SIZE, 0))
		return;
	/* Nobody looks at them before the work has this event. */
	conn->reads_out = min(conn->reads_out, rep->initiator_depth);
	conn->reads_in = min(conn->reads_in, rep->responder_resources);
	sdp_ib_conn_post(conn, SDP_IB_EV_REPLY);
}

/**
 * sdp_ib_cm_handler() - ib_cm's callback, of listeners and of connections
 * @cm_id: whose
 * @event: what
 *
 * Return: zero, or an error where ib_cm shall destroy @cm_id.
 */
int sdp_ib_cm_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	struct sdp_ib_conn *conn = cm_id->context;

	switch (event->event) {
	case IB_CM_REQ_RECEIVED:
		return sdp_ib_cm_req_handler(cm_id, event);
	case IB_CM_SIDR_REQ_RECEIVED:
		/* Not a service for datagrams: destroying it says so. */
		return -EOPNOTSUPP;
	case IB_CM_REP_RECEIVED:
		sdp_ib_cm_rep_received(conn, event);
		break;
	case IB_CM_RTU_RECEIVED:
		sdp_ib_conn_post(conn, SDP_IB_EV_READY);
		break;
	case IB_CM_REJ_RECEIVED:
		sdp_ib_cm_rej_received(conn, event);
		break;
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(cm_id, NULL, 0);
		sdp_ib_conn_end(conn, 0);
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_REP_ERROR:
		sdp_ib_conn_end(conn, -ETIMEDOUT);
		break;
	case IB_CM_TIMEWAIT_EXIT:
		/* After everything else; only news if that got lost. */
		sdp_ib_conn_end(conn, 0);
		break;
	default:
		/* MRA, which ib_cm has acted on, and alternate paths. */
		break;
	}
	return 0;
}

/* --- the side that connects ------------------------------------------------- */

/**
 * sdp_ib_cm_request() - send the REQ
 * @conn: the connection, resolved and with its buffers posted
 *
 * Context: under conn->mutex.
 * Return: zero or a negative errno.
 */
int sdp_ib_cm_request(struct sdp_ib_conn *conn)
{
	struct ib_cm_req_param req = {
		.primary_path = &conn->path,
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
		.retry_count = SDP_IB_RETRY_COUNT,
		.rnr_retry_count = SDP_IB_RNR_RETRY,
		.max_cm_retries = SDP_IB_CM_RETRIES,
	};
	struct ib_cm_id *cm_id;
	int ret;

	cm_id = ib_create_cm_id(conn->dev->device, sdp_ib_cm_handler, conn);
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);
	conn->cm_id = cm_id;
	conn->psn = get_random_u32() & SDP_IB_PSN_MASK;
	req.starting_psn = conn->psn;
	conn->state = SDP_IB_CONNECTING;
	ret = ib_send_cm_req(cm_id, &req);
	if (ret)
		conn->state = SDP_IB_RESOLVING;
	return ret;
}

/**
 * sdp_ib_cm_reply() - the peer has accepted
 * @conn: the connection
 *
 * The RTU goes before the protocol hears of it: what the protocol sends at once does
 * not overtake it, and a connection that is asked for next comes later than it.
 */
void sdp_ib_cm_reply(struct sdp_ib_conn *conn)
{
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_ESTABLISHED,
		.pdata = conn->pdata,
		.pdata_len = conn->pdata_len,
	};
	int ret = -ENOTCONN;

	mutex_lock(&conn->mutex);
	if (conn->state == SDP_IB_CONNECTING) {
		ret = sdp_ib_qp_connect(conn);
		if (ret)
			ib_send_cm_rej(conn->cm_id, IB_CM_REJ_NO_RESOURCES,
				       NULL, 0, NULL, 0);
		else
			ret = ib_send_cm_rtu(conn->cm_id, NULL, 0);
		if (!ret) {
			cancel_delayed_work(&conn->timer);
			conn->state = SDP_IB_ESTABLISHED;
		}
	}
	mutex_unlock(&conn->mutex);
	if (ret)
		sdp_ib_conn_fail(conn, ret);
	else
		sdp_ib_conn_event(conn, &ev);
}

/**
 * sdp_ib_cm_rejected() - the peer has refused
 * @conn: the connection
 */
void sdp_ib_cm_rejected(struct sdp_ib_conn *conn)
{
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_REJECTED,
		.error = -ECONNREFUSED,
		.pdata = conn->pdata,
		.pdata_len = conn->pdata_len,
	};
	enum sdp_ib_state was;

	switch (conn->reason) {
	case IB_CM_REJ_CONSUMER_DEFINED:
		ev.reason = SDP_XPRT_REJECT_CONSUMER;
		break;
	case IB_CM_REJ_INVALID_SERVICE_ID:
		ev.reason = SDP_XPRT_REJECT_NO_SERVICE;
		break;
	case IB_CM_REJ_STALE_CONN:
		ev.reason = SDP_XPRT_REJECT_STALE;
		break;
	default:
		ev.reason = SDP_XPRT_REJECT_OTHER;
	}

	if (!sdp_ib_conn_close(conn, &was))
		return;
	/* The peer gave up what this side had accepted, or was about to. */
	if (was != SDP_IB_CONNECTING) {
		ev.type = SDP_XPRT_DISCONNECTED;
		ev.error = -ECONNRESET;
	}
	sdp_ib_conn_event(conn, &ev);
}

/* --- the side that accepts -------------------------------------------------- */

/**
 * sdp_ib_accept() - struct sdp_xprt_ops.accept
 * @xc: a connection that the peer has asked for, prepared
 * @pdata: for the REP
 * @len: bytes of @pdata
 */
int sdp_ib_accept(struct sdp_xprt_conn *xc, const void *pdata,
		  unsigned int len)
{
	struct sdp_ib_conn *conn = sdp_ib_conn(xc);
	struct ib_cm_rep_param rep = {
		.private_data = pdata,
		.private_data_len = len,
		.flow_control = 1,
		.rnr_retry_count = SDP_IB_RNR_RETRY,
	};
	int ret = -ENOTCONN;

	if (len > IB_CM_REP_PRIVATE_DATA_SIZE)
		return -EINVAL;

	mutex_lock(&conn->mutex);
	if (conn->state != SDP_IB_REQUESTED || !conn->qp)
		goto out;
	conn->psn = get_random_u32() & SDP_IB_PSN_MASK;
	ret = sdp_ib_qp_connect(conn);
	if (ret)
		goto out;
	set_bit(SDP_IB_F_AWAIT_RTU, &conn->flags);
	rep.qp_num = conn->qp->qp_num;
	rep.responder_resources = conn->reads_in;
	rep.initiator_depth = conn->reads_out;
	rep.starting_psn = conn->psn;
	/*
	 * Before the REP: the peer's first message may come, and be answered, at once.
	 * The locks and the doorbell of the REP are the barrier.  Pairs with
	 * sdp_ib_post_send().
	 */
	WRITE_ONCE(conn->state, SDP_IB_ACCEPTED);
	ret = ib_send_cm_rep(conn->cm_id, &rep);
	if (ret)
		conn->state = SDP_IB_REQUESTED;
	else
		sdp_ib_conn_set_timer(conn, SDP_IB_RTU_MS);
out:
	mutex_unlock(&conn->mutex);
	return ret;
}

/**
 * sdp_ib_cm_ready() - the peer knows that it has been accepted
 * @conn: the connection
 *
 * By its RTU, or by a message that has overtaken it. ib_cm is not told of that:
 * where the connection ends before it has thought about it (ib_cm_notify() only
 * queues that) it goes on to repeat the REP, and nothing can be destroyed as long
 * as the times in the peer's REQ say.
 */
void sdp_ib_cm_ready(struct sdp_ib_conn *conn)
{
	static const struct sdp_xprt_event ev = {
		.type = SDP_XPRT_ESTABLISHED,
	};
	bool ready;

	mutex_lock(&conn->mutex);
	ready = conn->state == SDP_IB_ACCEPTED;
	if (ready) {
		cancel_delayed_work(&conn->timer);
		conn->state = SDP_IB_ESTABLISHED;
	}
	mutex_unlock(&conn->mutex);

	clear_bit(SDP_IB_F_AWAIT_RTU, &conn->flags);
	if (ready)
		sdp_ib_conn_event(conn, &ev);
}

/**
 * sdp_ib_reject() - struct sdp_xprt_ops.reject
 * @xc: a connection that the peer has asked for
 * @pdata: for the REJ
 * @len: bytes of @pdata; what does not fit is left out
 */
void sdp_ib_reject(struct sdp_xprt_conn *xc, const void *pdata,
		   unsigned int len)
{
	struct sdp_ib_conn *conn = sdp_ib_conn(xc);
	enum sdp_ib_state was;

	if (!sdp_ib_conn_close(conn, &was) || was != SDP_IB_REQUESTED)
		return;
	len = min_t(unsigned int, len, IB_CM_REJ_PRIVATE_DATA_SIZE);
	ib_send_cm_rej(conn->cm_id, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0,
		       pdata, len);
}

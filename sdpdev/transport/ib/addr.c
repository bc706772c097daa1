// SPDX-License-Identifier: GPL-2.0
/*
 * From IP addresses to an InfiniBand path: the kernel's route tells the IPoIB
 * interface, its neighbour table the peer's GID, and the subnet administrator
 * the path between the two (IBA 15.2.5.16).
 */
#include <linux/if_arp.h>
#include <rdma/ib_cache.h>

#include "compat.h"
#include "transport/ib/ib.h"

/* A neighbour that has not answered by then is not there; as long as TCP's. */
#define SDP_IB_NEIGH_MS		4000
/* ib_sa repeats a query within this time; then it is asked anew. */
#define SDP_IB_SA_MS		2000
#define SDP_IB_SA_TRIES		3

#define SDP_IB_PATH_MASK	(IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID | \
				 IB_SA_PATH_REC_PKEY | \
				 IB_SA_PATH_REC_NUMB_PATH | \
				 IB_SA_PATH_REC_REVERSIBLE | \
				 IB_SA_PATH_REC_SERVICE_ID)

static void sdp_ib_addr_cb(int status, struct sockaddr *src,
			   struct rdma_dev_addr *addr, void *context)
{
	struct sdp_ib_conn *conn = context;

	spin_lock_irq(&conn->lock);
	conn->status = status;
	spin_unlock_irq(&conn->lock);
	sdp_ib_conn_post(conn, SDP_IB_EV_ADDR);
}

/**
 * sdp_ib_connect() - struct sdp_xprt_ops.connect
 * @xc: the connection
 * @params: as sdp_ib_route() left them
 * @resolved: called when buffers can be posted
 * @pdata: for the REQ
 * @len: bytes of @pdata
 */
int sdp_ib_connect(struct sdp_xprt_conn *xc,
		   const struct sdp_xprt_params *params,
		   int (*resolved)(struct sdp_xprt_conn *conn, void *ctx),
		   const void *pdata, unsigned int len)
{
	struct sdp_ib_conn *conn = sdp_ib_conn(xc);
	int ret = -EISCONN;

	if (len > sizeof(conn->req_pdata) || !params->timeout_ms)
		return -EINVAL;

	mutex_lock(&conn->mutex);
	if (conn->state != SDP_IB_IDLE)
		goto out;
	conn->params = *params;
	conn->local = params->local;
	conn->peer = params->peer;
	conn->reads_out = SDP_IB_READS;
	conn->reads_in = SDP_IB_READS;
	conn->resolved = resolved;
	memcpy(conn->req_pdata, pdata, len);
	conn->req_len = len;

	conn->addr.net = conn->net;
	conn->addr.bound_dev_if = params->ifindex;
	ret = rdma_resolve_ip((struct sockaddr *)&conn->local,
			      (struct sockaddr *)&conn->peer, &conn->addr,
			      min_t(u32, params->timeout_ms, SDP_IB_NEIGH_MS),
			      sdp_ib_addr_cb, false, conn);
	if (ret) {
		conn->addr.net = NULL;
		goto out;
	}
	conn->state = SDP_IB_RESOLVING;
	sdp_ib_conn_set_timer(conn, params->timeout_ms);
out:
	mutex_unlock(&conn->mutex);
	return ret;
}

/* What the SA says is taken only if it answers the question. */
static bool sdp_ib_path_valid(const struct sa_path_rec *asked,
			      const struct sa_path_rec *got)
{
	return got->rec_type == SA_PATH_REC_TYPE_IB &&
	       !memcmp(&got->dgid, &asked->dgid, sizeof(got->dgid)) &&
	       !memcmp(&got->sgid, &asked->sgid, sizeof(got->sgid)) &&
	       !((got->pkey ^ asked->pkey) & cpu_to_be16(0x7fff)) &&
	       got->mtu >= IB_MTU_256 && got->mtu <= IB_MTU_4096 &&
	       got->ib.dlid &&
	       be16_to_cpu(got->ib.dlid) < be16_to_cpu(IB_MULTICAST_LID_BASE);
}

static void sdp_ib_path_cb(int status, struct sa_path_rec *path,
			   ib_sa_num_prs_t num_prs, void *context)
{
	struct sdp_ib_conn *conn = context;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	/* The work does not look at the path while a query is under way. */
	if (!status && (!path || !sdp_ib_path_valid(&conn->path, path))) {
		sdp_ib_count(SDP_IB_STAT_PATH_INVALID);
		status = -EPROTO;
	}
	if (!status) {
		/* The P_Key that is used is the one this side has. */
		path->pkey = conn->path.pkey;
		conn->path = *path;
	}
	conn->status = status;
	conn->query = NULL;
	spin_unlock_irqrestore(&conn->lock, flags);
	sdp_ib_conn_post(conn, SDP_IB_EV_PATH);
	sdp_ib_conn_put(conn);
}

/* Under conn->mutex. */
static int sdp_ib_path_query(struct sdp_ib_conn *conn)
{
	struct sa_path_rec rec = conn->path;
	int ret;

	kref_get(&conn->ref);
	ret = ib_sa_path_rec_get(&sdp_ib_sa, conn->dev->device, conn->port,
				 &rec, SDP_IB_PATH_MASK, SDP_IB_SA_MS,
				 GFP_KERNEL, sdp_ib_path_cb, conn,
				 &conn->query);
	if (ret < 0) {
		conn->query = NULL;
		sdp_ib_conn_put(conn);
		return ret;
	}
	conn->query_id = ret;
	conn->tries++;
	return 0;
}

/* Under conn->mutex. */
static int sdp_ib_path_start(struct sdp_ib_conn *conn)
{
	struct rdma_dev_addr *addr = &conn->addr;
	union ib_gid sgid;
	u16 pkey;
	int ret;

	if (addr->dev_type != ARPHRD_INFINIBAND)
		return -EHOSTUNREACH;
	rdma_addr_get_sgid(addr, &sgid);
	rdma_addr_get_dgid(addr, &conn->dgid);
	conn->dev = sdp_ib_dev_by_gid(&sgid, &conn->port);
	if (!conn->dev)
		return -ENODEV;
	conn->xc.dev = &conn->dev->xdev;
	sdp_ib_conn_attach(conn);

	pkey = ib_addr_get_pkey(addr);
	ret = ib_find_cached_pkey(conn->dev->device, conn->port, pkey,
				  &conn->pkey_index);
	if (ret)
		return ret;

	conn->path.rec_type = SA_PATH_REC_TYPE_IB;
	conn->path.sgid = sgid;
	conn->path.dgid = conn->dgid;
	conn->path.pkey = cpu_to_be16(pkey);
	conn->path.numb_path = 1;
	conn->path.reversible = 1;
	conn->path.service_id = sdp_ib_conn_service(conn);
	return sdp_ib_path_query(conn);
}

/**
 * sdp_ib_addr_resolved() - ib_core has found the peer's link-layer address
 * @conn: the connection
 */
void sdp_ib_addr_resolved(struct sdp_ib_conn *conn)
{
	int ret = 0;

	mutex_lock(&conn->mutex);
	if (conn->state == SDP_IB_RESOLVING) {
		ret = conn->status == -ETIMEDOUT ? -EHOSTUNREACH : conn->status;
		if (!ret)
			ret = sdp_ib_path_start(conn);
	}
	mutex_unlock(&conn->mutex);
	if (ret)
		sdp_ib_conn_fail(conn, ret);
}

/* Under conn->mutex.  Positive: the SA is being asked again. */
static int sdp_ib_path_check(struct sdp_ib_conn *conn)
{
	if (conn->status == -ETIMEDOUT && conn->tries < SDP_IB_SA_TRIES)
		return sdp_ib_path_query(conn) ?: 1;
	if (conn->status)
		return -EHOSTUNREACH;
	return sdp_ib_qp_create(conn, &conn->params);
}

/**
 * sdp_ib_path_resolved() - the SA has answered
 * @conn: the connection
 *
 * The protocol posts its buffers before the peer hears of the connection.
 */
void sdp_ib_path_resolved(struct sdp_ib_conn *conn)
{
	int ret = 1;

	mutex_lock(&conn->mutex);
	if (conn->state == SDP_IB_RESOLVING)
		ret = sdp_ib_path_check(conn);
	mutex_unlock(&conn->mutex);
	if (ret > 0)
		return;

	if (!ret)
		ret = conn->resolved(&conn->xc, conn->xc.ctx);
	if (!ret) {
		mutex_lock(&conn->mutex);
		if (conn->state == SDP_IB_RESOLVING)
			ret = sdp_ib_cm_request(conn);
		mutex_unlock(&conn->mutex);
	}
	if (ret)
		sdp_ib_conn_fail(conn, ret);
}

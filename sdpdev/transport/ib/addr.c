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
/* ib_sa repeats a query within this time; then sdp_ib queries again. */
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
	sdp_rc_told_status(context, status, SDP_RC_EV_ADDR);
}

/* struct sdp_rc_kind.resolve */
int sdp_ib_addr_resolve(struct sdp_rc_conn *conn)
{
	struct rdma_dev_addr *addr = &sdp_ib_conn(conn)->addr;
	int ret;

	addr->net = conn->net;
	addr->bound_dev_if = conn->params.ifindex;
	ret = rdma_resolve_ip((struct sockaddr *)&conn->local, (struct sockaddr *)&conn->peer,
			      addr, min_t(u32, conn->params.timeout_ms, SDP_IB_NEIGH_MS),
			      sdp_ib_addr_cb, false, conn);
	if (ret)
		addr->net = NULL;
	return ret;
}

/*
 * A cancelled query still calls back, later: it holds a reference.  Under the lock, because ib_sa
 * may use a query's number again once it has called back.
 */
void sdp_ib_addr_cancel(struct sdp_rc_conn *conn)
{
	struct sdp_ib_conn *ib = sdp_ib_conn(conn);

	if (ib->addr.net)
		rdma_addr_cancel(&ib->addr);

	spin_lock_irq(&conn->lock);
	if (ib->query)
		ib_sa_cancel_query(ib->query_id, ib->query);
	spin_unlock_irq(&conn->lock);
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
	struct sdp_ib_conn *ib = context;
	struct sdp_rc_conn *conn = &ib->rc;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	/* The work does not look at the path while a query is under way. */
	if (!status && (!path || !sdp_ib_path_valid(&ib->path, path))) {
		sdp_ib_count(SDP_IB_STAT_PATH_INVALID);
		status = -EPROTO;
	}
	if (!status) {
		/* The P_Key that is used is the one this side has. */
		path->pkey = ib->path.pkey;
		ib->path = *path;
	}
	conn->status = status;
	ib->query = NULL;
	spin_unlock_irqrestore(&conn->lock, flags);
	sdp_rc_conn_post(conn, SDP_RC_EV_PATH);
	sdp_rc_conn_put(conn);
}

/* Under conn->mutex. */
static int sdp_ib_path_query(struct sdp_ib_conn *ib)
{
	struct sdp_rc_conn *conn = &ib->rc;
	struct sa_path_rec rec = ib->path;
	int ret;

	kref_get(&conn->ref);
	ret = ib_sa_path_rec_get(&sdp_ib_sa, conn->dev->device, conn->port,
				 &rec, SDP_IB_PATH_MASK, SDP_IB_SA_MS,
				 GFP_KERNEL, sdp_ib_path_cb, ib,
				 &ib->query);
	if (ret < 0) {
		ib->query = NULL;
		sdp_rc_conn_put(conn);
		return ret;
	}
	ib->query_id = ret;
	ib->tries++;
	return 0;
}

/* Under conn->mutex. */
static int sdp_ib_path_start(struct sdp_rc_conn *conn)
{
	struct sdp_ib_conn *ib = sdp_ib_conn(conn);
	struct rdma_dev_addr *addr = &ib->addr;
	struct sdp_ib_dev *dev;
	union ib_gid sgid;
	u16 pkey;
	int ret;

	if (addr->dev_type != ARPHRD_INFINIBAND)
		return -EHOSTUNREACH;
	rdma_addr_get_sgid(addr, &sgid);
	dev = sdp_ib_dev_by_gid(&sgid, &conn->port);
	if (!dev)
		return -ENODEV;
	conn->dev = &dev->rc;
	conn->xc.dev = &conn->dev->xdev;
	sdp_rc_conn_attach(conn);

	pkey = ib_addr_get_pkey(addr);
	ret = ib_find_cached_pkey(conn->dev->device, conn->port, pkey,
				  &ib->pkey_index);
	if (ret)
		return ret;

	ib->path.rec_type = SA_PATH_REC_TYPE_IB;
	ib->path.sgid = sgid;
	rdma_addr_get_dgid(addr, &ib->path.dgid);
	ib->path.pkey = cpu_to_be16(pkey);
	ib->path.numb_path = 1;
	ib->path.reversible = 1;
	ib->path.service_id = sdp_ib_conn_service(conn);
	return sdp_ib_path_query(ib);
}

/**
 * sdp_ib_addr_resolved() - ib_core has found the peer's link-layer address
 * @conn: the connection
 */
void sdp_ib_addr_resolved(struct sdp_rc_conn *conn)
{
	int ret = 0;

	mutex_lock(&conn->mutex);
	if (conn->state == SDP_RC_RESOLVING) {
		ret = conn->status == -ETIMEDOUT ? -EHOSTUNREACH : conn->status;
		if (!ret)
			ret = sdp_ib_path_start(conn);
	}
	mutex_unlock(&conn->mutex);
	if (ret)
		sdp_rc_conn_fail(conn, ret);
}

/* Under conn->mutex.  Positive: the SA is being asked again, or no step waits for it. */
static int sdp_ib_path_check(struct sdp_rc_conn *conn)
{
	struct sdp_ib_conn *ib = sdp_ib_conn(conn);

	if (conn->state != SDP_RC_RESOLVING)
		return 1;
	if (conn->status == -ETIMEDOUT && ib->tries < SDP_IB_SA_TRIES)
		return sdp_ib_path_query(ib) ?: 1;
	return conn->status ? -EHOSTUNREACH : 0;
}

/* The SA has answered. */
void sdp_ib_path_resolved(struct sdp_rc_conn *conn)
{
	int ret;

	mutex_lock(&conn->mutex);
	ret = sdp_ib_path_check(conn);
	mutex_unlock(&conn->mutex);
	if (ret < 0)
		sdp_rc_conn_fail(conn, ret);
	else if (!ret)
		sdp_rc_path_known(conn);
}

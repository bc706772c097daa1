/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sdp_ib.ko: the InfiniBand transport of sdpdev: ib_cm, and the subnet administrator's paths.
 * What it shares with others is in verbs/verbs.h, with locks and lifetimes.
 *
 * Calls go down only, from a file to those below it:
 *
 *	main.c				the module, devices that come and go, and which step
 *	  |				of a connection each of its events leads to
 *	  +-----------+
 *	addr.c     listen.c		from IP addresses to a path; the ports listened on
 *	  |           |
 *	  +-----------+
 *	cm.c				the communication manager's exchange
 *	  |
 *	route.c				which interfaces' routes lead to InfiniBand
 *	  |
 *	dev.c				devices and counters
 *
 * The transport's own lock is sdp_ib_mutex.  A listener has a reference of its device, and a
 * query under way one of its connection.
 */
#ifndef _SDP_IB_H
#define _SDP_IB_H

#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "transport/verbs/verbs.h"

/**
 * struct sdp_ib_dev - an InfiniBand device
 * @rc: as a device
 * @list: in the list of devices; sdp_ib_mutex
 * @listeners: struct sdp_ib_listener.dev_list; sdp_ib_mutex
 */
struct sdp_ib_dev {
	struct sdp_rc_dev rc;
	struct list_head list;
	struct list_head listeners;
};

/**
 * struct sdp_ib_listener - a port listened on, on one device
 * @dev_list: in struct sdp_ib_dev.listeners; sdp_ib_mutex
 * @port_list: in struct sdp_ib_port.listeners; sdp_ib_mutex
 * @dev: the device, referenced
 * @port: the port
 * @cm_id: listens on the port's service ID
 *
 * Freed after @cm_id is destroyed, which waits for its handlers.
 */
struct sdp_ib_listener {
	struct list_head dev_list;
	struct list_head port_list;
	struct sdp_ib_dev *dev;
	u16 port;
	struct ib_cm_id *cm_id;
};

/**
 * struct sdp_ib_conn - a connection
 * @rc: as a connection
 * @cm_id: ib_cm's; from the first REQ to conn_destroy()
 * @pkey_index: partition
 * @psn: that the peer begins with
 * @addr: ib_core's address resolution; its @net is set while it may be running
 * @path: asked of the SA, and its answer
 * @query: the query; sdp_rc_conn.lock
 * @query_id: its number
 * @tries: queries that have been sent
 */
struct sdp_ib_conn {
	struct sdp_rc_conn rc;
	struct ib_cm_id *cm_id;
	u16 pkey_index;
	u32 psn;
	struct rdma_dev_addr addr;
	struct sa_path_rec path;
	struct ib_sa_query *query;
	int query_id;
	int tries;
};

/**
 * enum sdp_ib_stat - what the transport counts
 * @SDP_IB_STAT_REQ_INVALID: REQs that are not SDP's, or that contradict
 *	themselves
 * @SDP_IB_STAT_REQ_NO_INTERFACE: REQs for an address that no interface has, or
 *	from one that is not behind an IPoIB interface
 * @SDP_IB_STAT_REQ_REFUSED: REQs that the protocol refused
 * @SDP_IB_STAT_PATH_INVALID: answers of the SA that do not fit the question
 * @SDP_IB_STAT_QP_ERRORS: connections that ended by an error of the queue pair
 * @SDP_IB_STAT_NUM: how many there are
 */
enum sdp_ib_stat {
	SDP_IB_STAT_REQ_INVALID,
	SDP_IB_STAT_REQ_NO_INTERFACE,
	SDP_IB_STAT_REQ_REFUSED,
	SDP_IB_STAT_PATH_INVALID,
	SDP_IB_STAT_QP_ERRORS,
	SDP_IB_STAT_NUM,
};

/* SDP's service ID: the IP port is its lowest 16 bits (IBA A4). */
static inline __be64 sdp_ib_service_id(u16 port)
{
	return IB_SDP_SERVICE_ID | cpu_to_be64(port);
}

/* The service that a connection asks for.  The port is at one place for both families. */
static inline __be64 sdp_ib_conn_service(const struct sdp_rc_conn *conn)
{
	const struct sockaddr_in *dst = (const struct sockaddr_in *)&conn->peer;

	return sdp_ib_service_id(conn->params.any_port ? 0 : ntohs(dst->sin_port));
}

static inline struct sdp_ib_dev *sdp_ib_dev(struct sdp_rc_dev *rc)
{
	return container_of(rc, struct sdp_ib_dev, rc);
}

static inline struct sdp_ib_conn *sdp_ib_conn(struct sdp_rc_conn *conn)
{
	return container_of(conn, struct sdp_ib_conn, rc);
}

/* dev.c */
extern struct sdp_rc_kind sdp_ib_kind;
extern struct ib_sa_client sdp_ib_sa;
extern unsigned int sdp_ib_device_conns;
extern atomic_long_t sdp_ib_stats[SDP_IB_STAT_NUM];
extern struct mutex sdp_ib_mutex;
extern struct list_head sdp_ib_devs;

void sdp_ib_count(enum sdp_ib_stat stat);
void sdp_ib_show_stats(struct seq_file *seq);
struct sdp_ib_dev *sdp_ib_dev_by_gid(const union ib_gid *gid, u32 *port);

/* route.c */
bool sdp_ib_takes(const struct net_device *ndev);
int sdp_ib_route(struct net *net, struct sdp_xprt_params *params);

/* cm.c */
int sdp_ib_cm_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event);
int sdp_ib_cm_request(struct sdp_rc_conn *conn);
int sdp_ib_cm_confirm(struct sdp_rc_conn *conn, int ret);
int sdp_ib_cm_accept(struct sdp_rc_conn *conn, const void *pdata, unsigned int len);
void sdp_ib_cm_reject(struct sdp_rc_conn *conn, const void *pdata, unsigned int len);
void sdp_ib_cm_destroy(struct sdp_rc_conn *conn);
int sdp_ib_cm_qp_attr(struct sdp_rc_conn *conn, struct ib_qp_attr *attr, int *mask);

/* listen.c */
int sdp_ib_listen(struct net *net, u16 number);
void sdp_ib_unlisten(struct net *net, u16 number);
void sdp_ib_listen_dev(struct sdp_ib_dev *dev);
void sdp_ib_unlisten_dev(struct sdp_ib_dev *dev);

/* addr.c */
int sdp_ib_addr_resolve(struct sdp_rc_conn *conn);
void sdp_ib_addr_cancel(struct sdp_rc_conn *conn);
void sdp_ib_addr_resolved(struct sdp_rc_conn *conn);
void sdp_ib_path_resolved(struct sdp_rc_conn *conn);

#endif /* _SDP_IB_H */

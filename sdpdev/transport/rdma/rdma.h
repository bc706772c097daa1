/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sdp_rdma.ko: the transport of sdpdev on the kernel's rdma_cm: RoCE, iWARP, InfiniBand.  What it
 * shares with others is in verbs/verbs.h, with locks and lifetimes.
 *
 * Calls go down only, from a file to those below it:
 *
 *	main.c		the module, devices that come and go, and which step of a connection
 *	  |		each of its events leads to
 *	listen.c	the service; requests
 *	  |
 *	cm.c		rdma_cm's exchange
 *	  |
 *	dev.c		devices, counters, which interfaces are theirs
 *
 * rdma_cm calls its handlers with a lock of the ID's, which its functions take, too, and which
 * is taken inside of sdp_rc_conn.mutex.  So a handler only notes what has happened.  That
 * holds for requests: the connection's work hands them up.
 */
#ifndef _SDP_RDMA_H
#define _SDP_RDMA_H

#include <rdma/rdma_cm.h>

#include "transport/verbs/verbs.h"

/**
 * struct sdp_rdma_dev - a device
 * @rc: as a device
 * @list: in the list of devices; sdp_rdma_mutex
 */
struct sdp_rdma_dev {
	struct sdp_rc_dev rc;
	struct list_head list;
};

/**
 * struct sdp_rdma_conn - a connection
 * @rc: as a connection
 * @id: rdma_cm's; to conn_destroy()
 */
struct sdp_rdma_conn {
	struct sdp_rc_conn rc;
	struct rdma_cm_id *id;
};

/**
 * enum sdp_rdma_stat - what the transport counts
 * @SDP_RDMA_STAT_REQ_INVALID: requests whose addresses no two nodes can have
 * @SDP_RDMA_STAT_REQ_NO_INTERFACE: requests by a device that is not known, or from an address
 *	that is not behind one
 * @SDP_RDMA_STAT_REQ_REFUSED: requests that the protocol refused
 * @SDP_RDMA_STAT_QP_ERRORS: connections that ended by an error of the queue pair
 * @SDP_RDMA_STAT_NUM: how many there are
 */
enum sdp_rdma_stat {
	SDP_RDMA_STAT_REQ_INVALID,
	SDP_RDMA_STAT_REQ_NO_INTERFACE,
	SDP_RDMA_STAT_REQ_REFUSED,
	SDP_RDMA_STAT_QP_ERRORS,
	SDP_RDMA_STAT_NUM,
};

static inline struct sdp_rdma_dev *sdp_rdma_dev(struct sdp_rc_dev *rc)
{
	return container_of(rc, struct sdp_rdma_dev, rc);
}

static inline struct sdp_rdma_conn *sdp_rdma_conn(struct sdp_rc_conn *conn)
{
	return container_of(conn, struct sdp_rdma_conn, rc);
}

/* dev.c */
extern struct sdp_rc_kind sdp_rdma_kind;
extern unsigned int sdp_rdma_device_conns;
extern bool sdp_rdma_infiniband;
extern atomic_long_t sdp_rdma_stats[SDP_RDMA_STAT_NUM];

void sdp_rdma_count(enum sdp_rdma_stat stat);
void sdp_rdma_show_stats(struct seq_file *seq);
void sdp_rdma_dev_add(struct sdp_rdma_dev *dev);
void sdp_rdma_dev_del(struct sdp_rdma_dev *dev);
struct sdp_rc_dev *sdp_rdma_dev_get(const struct ib_device *device);
bool sdp_rdma_takes(const struct net_device *ndev);
int sdp_rdma_route(struct net *net, struct sdp_xprt_params *params);

/* cm.c */
extern unsigned int sdp_rdma_port;

int sdp_rdma_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
int sdp_rdma_resolve(struct sdp_rc_conn *conn);
void sdp_rdma_addr_resolved(struct sdp_rc_conn *conn);
void sdp_rdma_path_resolved(struct sdp_rc_conn *conn);
int sdp_rdma_request(struct sdp_rc_conn *conn);
int sdp_rdma_confirm(struct sdp_rc_conn *conn, int ret);
int sdp_rdma_accept(struct sdp_rc_conn *conn, const void *pdata, unsigned int len);
void sdp_rdma_reject(struct sdp_rc_conn *conn, const void *pdata, unsigned int len);
void sdp_rdma_cancel(struct sdp_rc_conn *conn);
void sdp_rdma_destroy(struct sdp_rc_conn *conn);
int sdp_rdma_qp_attr(struct sdp_rc_conn *conn, struct ib_qp_attr *attr, int *mask);

/* listen.c */
int sdp_rdma_listen(struct net *net, u16 number);
void sdp_rdma_unlisten(struct net *net, u16 number);
void sdp_rdma_requested(struct sdp_rc_conn *conn);

#endif /* _SDP_RDMA_H */

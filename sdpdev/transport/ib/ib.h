/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sdp_ib.ko: the InfiniBand transport of sdpdev.  Inside of it.
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
 *	end.c				the ends of a connection
 *	  |
 *	buf.c      mem.c		buffers: posted, completed, taken; memory that both
 *	  |          |			ends' devices use
 *	  +----------+
 *	verbs.c				queue pairs
 *	  |
 *	mr.c				regions of memory
 *	  |
 *	conn.c     route.c		a connection as an object; the kernel's routes
 *	  |           |
 *	  +-----------+
 *	dev.c				devices, counters, the workqueue
 *
 * The lower files note an event for struct sdp_ib_conn.work, and main.c's table says which
 * function above them the work calls for it.
 *
 * Everything that happens to a connection is noted by sdp_ib_conn_post(), from
 * any context, and done by the connection's work item, one thing after the
 * other.  So the protocol's upcalls in process context never overlap, and the
 * threads of ib_cm, ib_sa and ib_core are never held up by the protocol.  The
 * one exception is a new request, which the thread of ib_cm hands up itself:
 * that is what lets unlisten() wait for it.
 *
 * Locks, outermost first: sdp_ib_conn.mutex, sdp_ib_mutex, sdp_xprt_dev.lock,
 * sdp_ib_conns_lock, sdp_ib_conn.lock.  Nothing is taken under sdp_ib_conn.mr_lock.  None of
 * them is held during an upcall.
 *
 * Lifetimes: a device lives from ib_core's add() to its remove(), which waits until nobody
 * has a reference; connections and listeners have one each.  A connection lives until
 * conn_destroy() has returned and its last buffer is freed, its work is done and its
 * query answered; its QP and CM ID are gone when conn_destroy() returns.
 */
#ifndef _SDP_IB_H
#define _SDP_IB_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "transport/transport.h"

/*
 * The largest buffer: memory of that order can still be had when it is
 * fragmented (PAGE_ALLOC_COSTLY_ORDER is one above).
 */
#define SDP_IB_MAX_BUF		SZ_16K

/* The largest memory that is registered at once, and the pages that it may be in */
#define SDP_IB_MAX_MEM		SZ_1M
#define SDP_IB_MEM_PAGES	(SDP_IB_MAX_MEM / PAGE_SIZE + 1)

/*
 * Work requests that there are at once for memory, at most: the end of the registration
 * before, the registration, and an operation.
 */
#define SDP_IB_MEM_WRS		3

/* Reads that a peer may have under way, and this end at the peer */
#define SDP_IB_READS		16

/* The largest page of a buffer with params.recv_head; of PAGE_ALLOC_COSTLY_ORDER itself */
#if PAGE_SHIFT > 15
#define SDP_IB_MAX_SPLIT	PAGE_SIZE
#else
#define SDP_IB_MAX_SPLIT	SZ_32K
#endif

/**
 * struct sdp_ib_dev - an InfiniBand device
 * @xdev: what the protocol knows of it
 * @list: in the list of devices; sdp_ib_mutex
 * @device: ib_core's
 * @pd: protection domain of all connections
 * @listeners: struct sdp_ib_listener.dev_list; sdp_ib_mutex
 * @events: tells of a fatal error
 * @refs: one for the list, one for each listener and each connection
 * @gone: being removed, or broken; sdp_ib_conns_lock
 * @unused: @refs is zero: the device may go
 *
 * Lives from ib_core's add() to its remove(), which waits for @unused.
 */
struct sdp_ib_dev {
	struct sdp_xprt_dev xdev;
	struct list_head list;
	struct ib_device *device;
	struct ib_pd *pd;
	struct list_head listeners;
	struct ib_event_handler events;
	refcount_t refs;
	bool gone;
	struct completion unused;
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
 * struct sdp_ib_mr - a region, which memory is registered with
 * @list: in struct sdp_ib_conn.mrs; its mr_lock
 * @free: in struct sdp_ib_conn.free_mrs, where nothing uses it; its mr_lock
 * @mr: the device's
 * @valid: it is registered, or about to be; whoever uses it
 */
struct sdp_ib_mr {
	struct list_head list;
	struct list_head free;
	struct ib_mr *mr;
	bool valid;
};

/**
 * enum sdp_ib_state - where a connection is
 * @SDP_IB_IDLE: made by conn_create()
 * @SDP_IB_RESOLVING: looks for address and path
 * @SDP_IB_CONNECTING: has sent a REQ
 * @SDP_IB_REQUESTED: has received a REQ
 * @SDP_IB_ACCEPTED: has sent a REP
 * @SDP_IB_ESTABLISHED: the protocol has been told, or is being told
 * @SDP_IB_CLOSED: over; the protocol has been told, or is being told
 */
enum sdp_ib_state {
	SDP_IB_IDLE,
	SDP_IB_RESOLVING,
	SDP_IB_CONNECTING,
	SDP_IB_REQUESTED,
	SDP_IB_ACCEPTED,
	SDP_IB_ESTABLISHED,
	SDP_IB_CLOSED,
};

/**
 * enum sdp_ib_event - what happened to a connection, in the order in which it
 *	is dealt with when several things happened
 * @SDP_IB_EV_ADDR: ib_core has answered; conn->status
 * @SDP_IB_EV_PATH: the SA has answered; conn->status, conn->path
 * @SDP_IB_EV_REPLY: a REP came; conn->pdata
 * @SDP_IB_EV_READY: an RTU came, or a message, which is as good
 * @SDP_IB_EV_REJECTED: a REJ came; conn->reason, conn->pdata
 * @SDP_IB_EV_END: anything else that ends it; conn->error
 * @SDP_IB_EV_TIMEOUT: conn->timer
 * @SDP_IB_EV_GONE: the device goes
 * @SDP_IB_EV_NUM: how many there are
 */
enum sdp_ib_event {
	SDP_IB_EV_ADDR,
	SDP_IB_EV_PATH,
	SDP_IB_EV_REPLY,
	SDP_IB_EV_READY,
	SDP_IB_EV_REJECTED,
	SDP_IB_EV_END,
	SDP_IB_EV_TIMEOUT,
	SDP_IB_EV_GONE,
	SDP_IB_EV_NUM,
};

/**
 * struct sdp_ib_conn - a connection
 * @xc: what the protocol sees
 * @ref: conn_destroy(), each buffer, a queued @work, a query under way
 * @net: the namespace, held
 * @dev: the device, held, once it is known
 * @port: its port
 * @pkey_index: partition
 * @list: in the list of connections that have a device; sdp_ib_conns_lock
 * @ifindex: of the IPoIB interface that a request is for
 * @local: address and port of this side
 * @peer: address and port of the other
 * @dgid: the other side's GID
 *
 * @mutex: @state, and the steps that go with its changes
 * @state: read by post_send() without the mutex
 * @cm_id: ib_cm's; from the first REQ to conn_destroy()
 * @psn: that the peer begins with
 * @params: of connect()
 * @resolved: of connect()
 * @req_pdata: of connect()
 * @req_len: bytes of @req_pdata
 *
 * @lock: @events, @dead and the arguments of events; any context
 * @events: bits of enum sdp_ib_event that await @work
 * @dead: conn_destroy() has begun: no more events
 * @replied: @pdata belongs to a REP
 * @work: deals with @events
 * @timer: limits connecting
 * @status: of SDP_IB_EV_ADDR and _PATH, which cannot be under way together
 * @error: of SDP_IB_EV_END: the first one counts
 * @reason: of SDP_IB_EV_REJECTED
 * @pdata_len: bytes of @pdata
 * @pdata: private data of a REP or a REJ
 *
 * @addr: ib_core's address resolution; its @net is set while it may be running
 * @path: asked of the SA, and its answer
 * @query: the query
 * @query_id: its number
 * @tries: queries that have been sent
 *
 * @qp: from prepare() or the resolution to conn_destroy()
 * @cq: its completion queue, shared with others
 * @nr_cqe: entries that this connection may use of it
 * @recv_head: of the parameters it was made with
 * @brief: of the same
 * @pd: its protection domain: its own where it has memory, so that no other peer gets at
 *	that, else the device's
 * @reads_out: reads that this end has under way at the peer, at most
 * @reads_in: and the peer here.  Both are what the peer offers and asks for until the queue
 *	pair is made, and what both ends can do when it is connected
 * @mr_lock: the lists of regions, and their numbers; any context, with bottom halves off
 * @max_mrs: regions that it may have; zero when they are gone
 * @nr_mrs: regions that it has, or is making
 * @mrs: struct sdp_ib_mr.list
 * @free_mrs: struct sdp_ib_mr.free
 * @posted: work requests that the device has, and one until it is flushed
 * @flags: SDP_IB_F_*
 * @flushed: @posted is zero
 */
struct sdp_ib_conn {
	struct sdp_xprt_conn xc;
	struct kref ref;
	struct net *net;
	struct sdp_ib_dev *dev;
	u32 port;
	u16 pkey_index;
	struct list_head list;
	int ifindex;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
	union ib_gid dgid;

	struct mutex mutex;		/* state */
	enum sdp_ib_state state;
	struct ib_cm_id *cm_id;
	u32 psn;
	struct sdp_xprt_params params;
	int (*resolved)(struct sdp_xprt_conn *conn, void *ctx);
	u8 req_pdata[IB_CM_REQ_PRIVATE_DATA_SIZE];
	unsigned int req_len;

	spinlock_t lock;		/* events and their arguments */
	unsigned long events;
	bool dead;
	bool replied;
	struct work_struct work;
	struct delayed_work timer;
	int status;
	int error;
	u16 reason;
	unsigned int pdata_len;
	u8 pdata[IB_CM_REP_PRIVATE_DATA_SIZE];

	struct rdma_dev_addr addr;
	struct sa_path_rec path;
	struct ib_sa_query *query;
	int query_id;
	int tries;

	struct ib_qp *qp;
	struct ib_cq *cq;
	unsigned int nr_cqe;
	u32 recv_head;
	bool brief;
	struct ib_pd *pd;
	u8 reads_out;
	u8 reads_in;
	spinlock_t mr_lock;		/* regions */
	u32 max_mrs;
	u32 nr_mrs;
	struct list_head mrs;
	struct list_head free_mrs;
	refcount_t posted;
	unsigned long flags;
	struct completion flushed;
};

#define SDP_IB_F_FLUSHING	0	/* the QP is in, or on its way to, error */
#define SDP_IB_F_AWAIT_RTU	1	/* a message is as good as the RTU */
#define SDP_IB_F_QP_ERROR	2	/* the QP has had an error */
#define SDP_IB_F_ENDING		3	/* @error is the first one */

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
static inline __be64 sdp_ib_conn_service(const struct sdp_ib_conn *conn)
{
	const struct sockaddr_in *dst = (const struct sockaddr_in *)&conn->peer;

	return sdp_ib_service_id(conn->params.any_port ? 0 : ntohs(dst->sin_port));
}

static inline struct sdp_ib_conn *sdp_ib_conn(struct sdp_xprt_conn *xc)
{
	return container_of(xc, struct sdp_ib_conn, xc);
}

/* What an event of a connection leads to; called by the connection's work. */
typedef void (*sdp_ib_step)(struct sdp_ib_conn *conn);

/* dev.c */
extern const struct sdp_xprt_upcalls *sdp_ib_up;
extern struct workqueue_struct *sdp_ib_wq;
extern struct ib_sa_client sdp_ib_sa;
extern unsigned int sdp_ib_device_conns;
extern struct mutex sdp_ib_mutex;
extern struct list_head sdp_ib_devs;

void sdp_ib_count(enum sdp_ib_stat stat);
void sdp_ib_show_stats(struct seq_file *seq);
void sdp_ib_dev_put(struct sdp_ib_dev *dev);
struct sdp_ib_dev *sdp_ib_dev_by_gid(const union ib_gid *gid, u32 *port);

/* conn.c */
void sdp_ib_conns_init(const struct sdp_xprt_ops *ops, const sdp_ib_step *steps);
struct sdp_ib_conn *sdp_ib_conn_alloc(struct net *net);
void sdp_ib_conn_put(struct sdp_ib_conn *conn);
void sdp_ib_conn_attach(struct sdp_ib_conn *conn);
void sdp_ib_conn_detach(struct sdp_ib_conn *conn);
void sdp_ib_conn_post(struct sdp_ib_conn *conn, enum sdp_ib_event ev);
void sdp_ib_conn_end(struct sdp_ib_conn *conn, int error);
int sdp_ib_conn_event(struct sdp_ib_conn *conn,
		      const struct sdp_xprt_event *ev);
void sdp_ib_conn_set_timer(struct sdp_ib_conn *conn, unsigned int ms);
void sdp_ib_conns_device_gone(struct sdp_ib_dev *dev);
struct sdp_xprt_conn *sdp_ib_conn_create(struct net *net, void *ctx);

/* route.c */
void sdp_ib_set_scope(struct sockaddr_storage *ss, int ifindex);
bool sdp_ib_takes(const struct net_device *ndev);
int sdp_ib_route(struct net *net, struct sdp_xprt_params *params);

/* mr.c */
int sdp_ib_mrs_init(struct sdp_ib_conn *conn, const struct sdp_xprt_params *params);
void sdp_ib_mrs_exit(struct sdp_ib_conn *conn);
struct sdp_ib_mr *sdp_ib_mr_get(struct sdp_ib_conn *conn);
void sdp_ib_mr_put(struct sdp_ib_conn *conn, struct sdp_ib_mr *mr);
void sdp_ib_mr_ended(struct sdp_ib_conn *conn, u32 key);

/* verbs.c */
int sdp_ib_qp_create(struct sdp_ib_conn *conn,
		     const struct sdp_xprt_params *params);
int sdp_ib_qp_connect(struct sdp_ib_conn *conn);
void sdp_ib_qp_flush(struct sdp_ib_conn *conn);
void sdp_ib_qp_destroy(struct sdp_ib_conn *conn);
int sdp_ib_prepare(struct sdp_xprt_conn *xc,
		   const struct sdp_xprt_params *params);
void sdp_ib_posted_put(struct sdp_ib_conn *conn);
bool sdp_ib_posted_get(struct sdp_ib_conn *conn);
void sdp_ib_qp_error(struct sdp_ib_conn *conn, int error);
int sdp_ib_wc_error(struct sdp_ib_conn *conn, const struct ib_wc *wc, int refused);
bool sdp_ib_can_post(const struct sdp_ib_conn *conn);
int sdp_ib_post_error(struct sdp_ib_conn *conn, int ret);
int sdp_ib_post(struct sdp_ib_conn *conn, struct ib_send_wr *wr);

/* mem.c */
struct sdp_xprt_mem *sdp_ib_mem_alloc(struct sdp_xprt_conn *xc, struct scatterlist *sg,
				      unsigned int nents, u32 access);
void sdp_ib_mem_free(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm);
int sdp_ib_invalidate(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm);
int sdp_ib_post_read(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		     const struct sdp_xprt_remote *from);
int sdp_ib_post_write(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		      const struct sdp_xprt_remote *to);

/* buf.c */
struct sdp_xprt_buf *sdp_ib_buf_alloc(struct sdp_xprt_conn *xc, u32 size,
				      bool recv);
void sdp_ib_buf_free(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);
struct page *sdp_ib_buf_take(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);
int sdp_ib_post_send(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);
int sdp_ib_post_send_inv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb, u32 key);
int sdp_ib_post_gather(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb,
		       const struct bio_vec *pieces, unsigned int n);
int sdp_ib_post_recv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);

/* end.c */
bool sdp_ib_conn_close(struct sdp_ib_conn *conn, enum sdp_ib_state *was);
void sdp_ib_conn_fail(struct sdp_ib_conn *conn, int error);
void sdp_ib_conn_destroy(struct sdp_xprt_conn *xc);

/* cm.c */
int sdp_ib_cm_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event);
int sdp_ib_cm_request(struct sdp_ib_conn *conn);
void sdp_ib_cm_reply(struct sdp_ib_conn *conn);
void sdp_ib_cm_ready(struct sdp_ib_conn *conn);
void sdp_ib_cm_rejected(struct sdp_ib_conn *conn);
int sdp_ib_accept(struct sdp_xprt_conn *xc, const void *pdata,
		  unsigned int len);
void sdp_ib_reject(struct sdp_xprt_conn *xc, const void *pdata,
		   unsigned int len);

/* listen.c */
int sdp_ib_listen(struct net *net, u16 number);
void sdp_ib_unlisten(struct net *net, u16 number);
void sdp_ib_listen_dev(struct sdp_ib_dev *dev);
void sdp_ib_unlisten_dev(struct sdp_ib_dev *dev);

/* addr.c */
int sdp_ib_connect(struct sdp_xprt_conn *xc,
		   const struct sdp_xprt_params *params,
		   int (*resolved)(struct sdp_xprt_conn *conn, void *ctx),
		   const void *pdata, unsigned int len);
void sdp_ib_addr_resolved(struct sdp_ib_conn *conn);
void sdp_ib_path_resolved(struct sdp_ib_conn *conn);

#endif /* _SDP_IB_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sdp_verbs.ko: what transports share that stand on kernel verbs: connections as objects and
 * their steps, queue pairs, buffers, memory, completions.  A communication manager, and how
 * addresses become paths, are the transport's own: struct sdp_rc_kind.
 *
 * Calls go down only, from a file to those below it, but for the functions of a kind:
 *
 *	step.c				what each event of a connection leads to
 *	  |
 *	end.c				the ends of a connection
 *	  |
 *	buf.c      mem.c		buffers: posted, completed, taken; memory that both
 *	  |          |			ends' devices use
 *	  +----------+
 *	qp.c				queue pairs
 *	  |
 *	mr.c				regions of memory
 *	  |
 *	told.c     route.c		what a manager tells; the kernel's routes
 *	  |          |
 *	  +----------+
 *	conn.c				a connection as an object
 *	  |
 *	dev.c				devices
 *	  |
 *	kind.c				transports
 *	  |
 *	main.c				the module, the workqueue
 *
 * The lower files note an event for struct sdp_rc_conn.work, and the kind's table says which
 * function above them the work calls for it.
 *
 * Everything that happens to a connection is noted by sdp_rc_conn_post(), from
 * any context, and done by the connection's work item, one thing after the
 * other.  So the protocol's upcalls in process context never overlap, and the
 * threads of the manager and of ib_core are never held up by the protocol.  The
 * one exception is a new request, which the manager's thread hands up itself:
 * that is what lets unlisten() wait for it.
 *
 * Locks, outermost first: sdp_rc_conn.mutex, the transport's own, sdp_xprt_dev.lock,
 * sdp_rc_conns_lock, sdp_rc_conn.lock.  Nothing is taken under sdp_rc_conn.mr_lock, nor under
 * sdp_rc_kinds_mutex.  None of them is held during an upcall.
 *
 * Lifetimes: a device lives from ib_core's add() to its remove(), which waits until there is
 * no reference; each connection has one.  A connection lives until conn_destroy() has
 * returned and its last buffer and memory is freed, its work is done, and what the transport
 * has under way is over; its queue pair and the manager's part are gone when conn_destroy()
 * returns.
 */
#ifndef _SDP_VERBS_H
#define _SDP_VERBS_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "transport/share.h"
#include "transport/transport.h"

/*
 * The largest buffer: memory of that order can still be had when it is
 * fragmented (PAGE_ALLOC_COSTLY_ORDER is one above).
 */
#define SDP_RC_MAX_BUF		SZ_16K

/* The largest memory that is registered at once, and the pages that it may be in */
#define SDP_RC_MAX_MEM		SZ_1M
#define SDP_RC_MEM_PAGES	(SDP_RC_MAX_MEM / PAGE_SIZE + 1)

/*
 * Work requests that there are at once for memory, at most: the end of the registration
 * before, the registration, and an operation.
 */
#define SDP_RC_MEM_WRS		3

/* Reads that a peer may have under way, and this end at the peer */
#define SDP_RC_READS		16

/* The largest page of a buffer with params.recv_head; of PAGE_ALLOC_COSTLY_ORDER itself */
#if PAGE_SHIFT > 15
#define SDP_RC_MAX_SPLIT	PAGE_SIZE
#else
#define SDP_RC_MAX_SPLIT	SZ_32K
#endif

/* How often what is not acknowledged is repeated; and without end what found no buffer */
#define SDP_RC_RETRY_COUNT	7
#define SDP_RC_RNR_RETRY	7	/* credits make it rare */

/* Room for the private data of an answer: those of a REP (IBA 12.6.8) */
#define SDP_RC_PDATA		196

/* Where the GID is in a 20 byte link-layer address (RFC 4391, 9.1.1) */
#define SDP_RC_LLADDR_GID	4

/* Ports of a device that a transport can use */
#define SDP_RC_PORTS_IB		1	/* InfiniBand, with CM and SA */
#define SDP_RC_PORTS_ETH	2	/* RoCE, iWARP */

struct sdp_rc_conn;

/* What an event of a connection leads to; called by the connection's work. */
typedef void (*sdp_rc_step)(struct sdp_rc_conn *conn);

/* Zero where connections can be made by an interface, else -EOPNOTSUPP. */
typedef int (*sdp_rc_check)(struct net *net, const struct net_device *ndev);

/**
 * struct sdp_rc_kind - a transport: its communication manager, and its own
 * @list: in the list of transports; sdp_rc_kinds_mutex
 * @module: its name, which the kernel's lists show
 * @ports: the ports that it can use: SDP_RC_PORTS_*
 * @ops: what the protocol calls
 * @up: the protocol; set by sdp_xprt_register()
 * @dev_size: bytes of its devices
 * @conn_size: bytes of its connections
 * @steps: what each of enum sdp_rc_event leads to
 * @qp_errors: counts connections that ended by an error of the queue pair
 * @most: connections of a device, at most; zero: all but an eighth of its queue pairs
 * @resolve: begin to look for device and path, which SDP_RC_EV_ADDR tells of
 * @request: ask the peer
 * @confirm: tell the peer that has accepted that this end knows, or, where @ret is not zero,
 *	that it cannot; returns @ret, or why not
 * @accept: accept
 * @reject: refuse
 * @cancel: end whatever @resolve has begun; without the mutex
 * @cm_destroy: free the manager's part; when it has returned none of its handlers runs
 * @qp_attr: what the manager wants of the queue pair to bring it to attr->qp_state; a mask of
 *	zero: the manager does it
 *
 * All but @cancel, @cm_destroy and @reject are called under sdp_rc_conn.mutex.
 */
struct sdp_rc_kind {
	struct list_head list;
	const char *module;
	unsigned int ports;
	const struct sdp_xprt_ops *ops;
	const struct sdp_xprt_upcalls *up;
	size_t dev_size;
	size_t conn_size;
	const sdp_rc_step *steps;
	atomic_long_t *qp_errors;
	const unsigned int *most;

	int (*resolve)(struct sdp_rc_conn *conn);
	int (*request)(struct sdp_rc_conn *conn);
	int (*confirm)(struct sdp_rc_conn *conn, int ret);
	int (*accept)(struct sdp_rc_conn *conn, const void *pdata, unsigned int len);
	void (*reject)(struct sdp_rc_conn *conn, const void *pdata, unsigned int len);
	void (*cancel)(struct sdp_rc_conn *conn);
	void (*cm_destroy)(struct sdp_rc_conn *conn);
	int (*qp_attr)(struct sdp_rc_conn *conn, struct ib_qp_attr *attr, int *mask);
};

/**
 * struct sdp_rc_dev - a device
 * @xdev: what the protocol knows of it
 * @device: ib_core's
 * @kind: its transport
 * @pd: protection domain of connections that have no memory
 * @events: tells of a fatal error, and of what may bring peers within reach
 * @refs: one from sdp_rc_dev_new() to sdp_rc_dev_end(), one for each connection, and for
 *	what the transport has there
 * @gone: being removed, or broken; sdp_rc_conns_lock
 * @flags: SDP_RC_DEV_F_*
 * @unused: @refs is zero: the device may go
 *
 * The first member of the transport's structure.  Lives from ib_core's add() to its remove(),
 * which waits for @unused.
 */
struct sdp_rc_dev {
	struct sdp_xprt_dev xdev;
	struct ib_device *device;
	const struct sdp_rc_kind *kind;
	struct ib_pd *pd;
	struct ib_event_handler events;
	refcount_t refs;
	bool gone;
	unsigned long flags;
	struct completion unused;
};

#define SDP_RC_DEV_F_SHALLOW	0	/* the log says that its queues are too short */

/* Does the device put a message into one place only? */
static inline bool sdp_rc_dev_whole(const struct sdp_rc_dev *dev)
{
	return dev->device->attrs.max_recv_sge < 2;
}

/**
 * struct sdp_rc_mr - a region, which memory is registered with
 * @list: in struct sdp_rc_conn.mrs; its mr_lock
 * @free: in struct sdp_rc_conn.free_mrs, where nothing uses it; its mr_lock
 * @mr: the device's
 * @valid: it is registered, or about to be; belongs to the user of the region
 */
struct sdp_rc_mr {
	struct list_head list;
	struct list_head free;
	struct ib_mr *mr;
	bool valid;
};

/**
 * enum sdp_rc_state - where a connection is
 * @SDP_RC_IDLE: made by conn_create()
 * @SDP_RC_RESOLVING: looks for address and path
 * @SDP_RC_CONNECTING: has asked the peer
 * @SDP_RC_REQUESTED: the peer has asked
 * @SDP_RC_ACCEPTED: has accepted
 * @SDP_RC_ESTABLISHED: the protocol has been told, or is being told
 * @SDP_RC_CLOSED: over; the protocol has been told, or is being told
 */
enum sdp_rc_state {
	SDP_RC_IDLE,
	SDP_RC_RESOLVING,
	SDP_RC_CONNECTING,
	SDP_RC_REQUESTED,
	SDP_RC_ACCEPTED,
	SDP_RC_ESTABLISHED,
	SDP_RC_CLOSED,
};

/**
 * enum sdp_rc_event - what happened to a connection, in the order in which it
 *	is dealt with when several things happened
 * @SDP_RC_EV_ADDR: the address is resolved, or is not; conn->status.  Or the peer has asked:
 *	sdp_rc_conn_asked()
 * @SDP_RC_EV_PATH: the path is, or is not; conn->status
 * @SDP_RC_EV_REPLY: the peer accepts; conn->pdata
 * @SDP_RC_EV_READY: the peer knows that it is accepted, or sends a message, which is as good
 * @SDP_RC_EV_REJECTED: the peer refuses; conn->reason, conn->pdata
 * @SDP_RC_EV_END: anything else that ends it; conn->error
 * @SDP_RC_EV_TIMEOUT: conn->timer
 * @SDP_RC_EV_GONE: the device goes
 * @SDP_RC_EV_NUM: how many there are
 */
enum sdp_rc_event {
	SDP_RC_EV_ADDR,
	SDP_RC_EV_PATH,
	SDP_RC_EV_REPLY,
	SDP_RC_EV_READY,
	SDP_RC_EV_REJECTED,
	SDP_RC_EV_END,
	SDP_RC_EV_TIMEOUT,
	SDP_RC_EV_GONE,
	SDP_RC_EV_NUM,
};

/**
 * struct sdp_rc_conn - a connection
 * @xc: what the protocol sees
 * @kind: the transport
 * @ref: conn_destroy(), each buffer and memory, a queued @work, and what the
 *	transport has under way
 * @net: the namespace, held
 * @dev: the device, held, once it is known
 * @port: its port
 * @list: in the list of connections that have a device; sdp_rc_conns_lock
 * @ifindex: of the interface that a request is for
 * @local: address and port of this side
 * @peer: address and port of the other
 *
 * @mutex: @state, and the steps that go with its changes
 * @state: read by post_send() without the mutex
 * @params: of connect()
 * @resolved: of connect()
 * @req_pdata: of connect()
 * @req_len: bytes of @req_pdata
 *
 * @lock: @events, @dead and the arguments of events; any context
 * @events: bits of enum sdp_rc_event that await @work
 * @dead: conn_destroy() has begun: no more events
 * @replied: @pdata belongs to an answer
 * @work: deals with @events
 * @timer: limits connecting
 * @status: of SDP_RC_EV_ADDR and _PATH, which cannot be under way together
 * @error: of SDP_RC_EV_END: the first one counts
 * @reason: of SDP_RC_EV_REJECTED
 * @pdata_len: bytes of @pdata
 * @pdata: private data of the answer
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
 * @mrs: struct sdp_rc_mr.list
 * @free_mrs: struct sdp_rc_mr.free
 * @posted: work requests that the device has, and one until it is flushed
 * @flags: SDP_RC_F_*
 * @flushed: @posted is zero
 *
 * The first member of the transport's structure.
 */
struct sdp_rc_conn {
	struct sdp_xprt_conn xc;
	const struct sdp_rc_kind *kind;
	struct kref ref;
	struct net *net;
	struct sdp_rc_dev *dev;
	u32 port;
	struct list_head list;
	int ifindex;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;

	struct mutex mutex;		/* state */
	enum sdp_rc_state state;
	struct sdp_xprt_params params;
	int (*resolved)(struct sdp_xprt_conn *conn, void *ctx);
	u8 req_pdata[SDP_XPRT_REQ_PDATA];
	unsigned int req_len;

	spinlock_t lock;		/* events and their arguments */
	unsigned long events;
	bool dead;
	bool replied;
	struct work_struct work;
	struct delayed_work timer;
	int status;
	int error;
	enum sdp_xprt_reject reason;
	unsigned int pdata_len;
	u8 pdata[SDP_RC_PDATA];

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

#define SDP_RC_F_FLUSHING	0	/* the QP is in, or on its way to, error */
#define SDP_RC_F_AWAIT_RTU	1	/* a message is as good as the RTU */
#define SDP_RC_F_QP_ERROR	2	/* the QP has had an error */
#define SDP_RC_F_ENDING		3	/* @error is the first one */

static inline struct sdp_rc_conn *sdp_rc_conn(struct sdp_xprt_conn *xc)
{
	return container_of(xc, struct sdp_rc_conn, xc);
}

/* The name of its device, for people. */
static inline const char *sdp_rc_conn_device(const struct sdp_rc_conn *conn)
{
	return conn->dev ? conn->dev->device->name : "-";
}

/* main.c */
extern struct workqueue_struct *sdp_rc_wq;

/* kind.c */
bool sdp_rc_kind_tells(const struct sdp_rc_kind *kind, unsigned int ports);
void sdp_rc_conns_flush(void);
int sdp_rc_start(struct sdp_rc_kind *kind, struct ib_client *client);
void sdp_rc_stop(struct sdp_rc_kind *kind, struct ib_client *client);

/* dev.c */
u32 sdp_rc_dev_mem(const struct ib_device *device);
struct sdp_rc_dev *sdp_rc_dev_new(const struct sdp_rc_kind *kind, struct ib_device *device);
void sdp_rc_dev_tell(const struct sdp_rc_dev *dev);
void sdp_rc_dev_end(struct sdp_rc_dev *dev);
void sdp_rc_dev_put(struct sdp_rc_dev *dev);

/* conn.c */
struct sdp_rc_conn *sdp_rc_conn_alloc(const struct sdp_rc_kind *kind, struct net *net);
void sdp_rc_conn_put(struct sdp_rc_conn *conn);
void sdp_rc_conn_attach(struct sdp_rc_conn *conn);
void sdp_rc_conn_asked(struct sdp_rc_conn *conn);
void sdp_rc_conn_detach(struct sdp_rc_conn *conn);
void sdp_rc_conn_post(struct sdp_rc_conn *conn, enum sdp_rc_event ev);
void sdp_rc_conn_end(struct sdp_rc_conn *conn, int error);
int sdp_rc_conn_event(struct sdp_rc_conn *conn,
		      const struct sdp_xprt_event *ev);
void sdp_rc_conn_set_timer(struct sdp_rc_conn *conn, unsigned int ms);
void sdp_rc_conns_device_gone(struct sdp_rc_dev *dev);
struct sdp_xprt_conn *sdp_rc_conn_create(const struct sdp_rc_kind *kind, struct net *net,
					 void *ctx);

/* told.c */
void sdp_rc_told_status(struct sdp_rc_conn *conn, int status, enum sdp_rc_event ev);
void sdp_rc_told_accepted(struct sdp_rc_conn *conn, const void *pdata, unsigned int len,
			  u8 reads_out, u8 reads_in);
void sdp_rc_told_refused(struct sdp_rc_conn *conn, const void *pdata, unsigned int len,
			 int reason);

/* route.c */
void sdp_rc_set_scope(struct sockaddr_storage *ss, int ifindex);
int sdp_rc_route(struct net *net, struct sdp_xprt_params *params, sdp_rc_check check);
bool sdp_rc_is_unicast(const struct sockaddr_storage *ss);
bool sdp_rc_peer_plausible(struct sdp_rc_conn *conn);

/* mr.c */
int sdp_rc_mrs_init(struct sdp_rc_conn *conn, const struct sdp_xprt_params *params);
void sdp_rc_mrs_exit(struct sdp_rc_conn *conn);
struct sdp_rc_mr *sdp_rc_mr_get(struct sdp_rc_conn *conn);
void sdp_rc_mr_put(struct sdp_rc_conn *conn, struct sdp_rc_mr *mr);
void sdp_rc_mr_ended(struct sdp_rc_conn *conn, u32 key);

/* qp.c */
int sdp_rc_qp_create(struct sdp_rc_conn *conn,
		     const struct sdp_xprt_params *params);
int sdp_rc_qp_connect(struct sdp_rc_conn *conn);
void sdp_rc_qp_flush(struct sdp_rc_conn *conn);
void sdp_rc_qp_destroy(struct sdp_rc_conn *conn);
int sdp_rc_prepare(struct sdp_xprt_conn *xc,
		   const struct sdp_xprt_params *params);
void sdp_rc_posted_put(struct sdp_rc_conn *conn);
bool sdp_rc_posted_get(struct sdp_rc_conn *conn);
void sdp_rc_qp_error(struct sdp_rc_conn *conn, int error);
int sdp_rc_wc_error(struct sdp_rc_conn *conn, const struct ib_wc *wc, int refused);
bool sdp_rc_can_post(const struct sdp_rc_conn *conn);
int sdp_rc_post_error(struct sdp_rc_conn *conn, int ret);
int sdp_rc_post(struct sdp_rc_conn *conn, struct ib_send_wr *wr);

/* mem.c */
struct sdp_xprt_mem *sdp_rc_mem_alloc(struct sdp_xprt_conn *xc, struct scatterlist *sg,
				      unsigned int nents, u32 access);
void sdp_rc_mem_free(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm);
int sdp_rc_invalidate(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm);
int sdp_rc_post_read(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		     const struct sdp_xprt_remote *from);
int sdp_rc_post_write(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		      const struct sdp_xprt_remote *to);

/* buf.c */
struct sdp_xprt_buf *sdp_rc_buf_alloc(struct sdp_xprt_conn *xc, u32 size,
				      bool recv);
void sdp_rc_buf_free(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);
struct page *sdp_rc_buf_take(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);
int sdp_rc_post_send(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);
int sdp_rc_post_send_inv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb, u32 key);
int sdp_rc_post_gather(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb,
		       const struct bio_vec *pieces, unsigned int n);
int sdp_rc_post_recv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);

/* end.c */
bool sdp_rc_conn_close(struct sdp_rc_conn *conn, enum sdp_rc_state *was);
void sdp_rc_conn_fail(struct sdp_rc_conn *conn, int error);
void sdp_rc_conn_destroy(struct sdp_xprt_conn *xc);

/* step.c */
int sdp_rc_connect(struct sdp_xprt_conn *xc, const struct sdp_xprt_params *params,
		   int (*resolved)(struct sdp_xprt_conn *conn, void *ctx),
		   const void *pdata, unsigned int len);
void sdp_rc_path_known(struct sdp_rc_conn *conn);
void sdp_rc_replied(struct sdp_rc_conn *conn);
void sdp_rc_rejected(struct sdp_rc_conn *conn);
int sdp_rc_accept(struct sdp_xprt_conn *xc, const void *pdata, unsigned int len);
void sdp_rc_ready(struct sdp_rc_conn *conn);
void sdp_rc_reject(struct sdp_xprt_conn *xc, const void *pdata, unsigned int len);
void sdp_rc_ended(struct sdp_rc_conn *conn);
void sdp_rc_timed_out(struct sdp_rc_conn *conn);
void sdp_rc_device_gone(struct sdp_rc_conn *conn);

/* What transports on kernel verbs have in common of their struct sdp_xprt_ops. */
#define SDP_RC_OPS \
	.caps		= SDP_XPRT_CAPS, \
	.max_msg	= SDP_RC_MAX_BUF, \
	.max_split	= SDP_RC_MAX_SPLIT, \
	.max_mem	= SDP_RC_MAX_MEM, \
	.connect	= sdp_rc_connect, \
	.prepare	= sdp_rc_prepare, \
	.accept		= sdp_rc_accept, \
	.reject		= sdp_rc_reject, \
	.conn_destroy	= sdp_rc_conn_destroy, \
	.buf_alloc	= sdp_rc_buf_alloc, \
	.buf_free	= sdp_rc_buf_free, \
	.buf_take	= sdp_rc_buf_take, \
	.post_send	= sdp_rc_post_send, \
	.post_gather	= sdp_rc_post_gather, \
	.post_recv	= sdp_rc_post_recv, \
	.mem_alloc	= sdp_rc_mem_alloc, \
	.mem_free	= sdp_rc_mem_free, \
	.invalidate	= sdp_rc_invalidate, \
	.post_read	= sdp_rc_post_read, \
	.post_write	= sdp_rc_post_write, \
	.post_send_inv	= sdp_rc_post_send_inv

/* The same of struct sdp_rc_kind.steps. */
#define SDP_RC_STEPS \
	[SDP_RC_EV_REPLY]	= sdp_rc_replied, \
	[SDP_RC_EV_READY]	= sdp_rc_ready, \
	[SDP_RC_EV_REJECTED]	= sdp_rc_rejected, \
	[SDP_RC_EV_END]		= sdp_rc_ended, \
	[SDP_RC_EV_TIMEOUT]	= sdp_rc_timed_out, \
	[SDP_RC_EV_GONE]	= sdp_rc_device_gone

#endif /* _SDP_VERBS_H */

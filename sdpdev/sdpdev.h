/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside sdpdev.ko: the endpoint and what its parts offer each other.
 *
 * Locks, outermost first:
 *
 *   ep->op_mutex	calls that configure an endpoint, one at a time
 *   sdp_xprt_mutex	which transport there is, and the ports it listens on
 *   ep->tx_mutex	one writer: order of the stream sent, send buffers
 *   ep->rx_mutex	one reader: order of the stream received
 *   sdp_eps.xa_lock	the table of all endpoints
 *   sdp_ports_lock	who listens where, and connects from which port
 *   ep->ring_mem's mutex, which faults take
 *   (the lock of the native socket's wait queue)
 *   ep->lock		everything else of an endpoint
 *
 * User memory that is not there is never waited for under any of them: see
 * sdp_copy_from().
 * Events of the transport take only the spinlocks, so it may be called and waited for
 * under the mutexes.
 *
 * Lifetimes: an open file holds a reference to its endpoint, and so does the
 * transport's connection from its making until sdp_conn_work() frees it; an endpoint
 * whose file is closed lives on for its connection to end in an orderly way.
 */
#ifndef _SDPDEV_H
#define _SDPDEV_H

#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <linux/sdp.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp/credit.h"
#include "ring/kring.h"
#include "sdp/wire.h"
#include "transport/transport.h"

/* Buffers for messages without stream bytes. */
#define SDP_CTL_BUFS	4
#define SDP_CTL_SIZE	64

/* What a send buffer is for, in buf->off. */
#define SDP_BUF_DATA	0
#define SDP_BUF_CTL	1
#define SDP_BUF_OOB	2	/* data; the last byte is urgent */

/**
 * struct sdp_opts - socket options that an accepted endpoint inherits
 * @rcvtimeo: SO_RCVTIMEO in jiffies
 * @sndtimeo: SO_SNDTIMEO in jiffies
 * @linger: SO_LINGER's time in jiffies, or -1 where it is off
 * @rcvlowat: SO_RCVLOWAT
 * @rcvbuf: SO_RCVBUF, or zero where it was not set
 * @sndbuf: SO_SNDBUF, or zero where it was not set
 * @oobinline: SO_OOBINLINE
 * @keepalive: SO_KEEPALIVE
 * @keepidle: TCP_KEEPIDLE in jiffies
 * @keepintvl: TCP_KEEPINTVL in jiffies
 * @keepcnt: TCP_KEEPCNT
 * @user_timeout: TCP_USER_TIMEOUT in jiffies, or zero
 * @nonagle: TCP_NODELAY and TCP_CORK, as TCP_NAGLE_*
 * @user_mss: TCP_MAXSEG, or zero where it was not set
 * @reuse: SO_REUSEADDR
 * @bound_dev_if: SO_BINDTODEVICE
 *
 * Stands in for the native socket until there is one.
 */
struct sdp_opts {
	long rcvtimeo;
	long sndtimeo;
	long linger;
	int rcvlowat;
	int rcvbuf;
	int sndbuf;
	bool oobinline;
	bool keepalive;
	unsigned long keepidle;
	unsigned long keepintvl;
	int keepcnt;
	unsigned long user_timeout;
	u8 nonagle;
	u16 user_mss;
	u8 reuse;
	int bound_dev_if;
};

/**
 * struct sdp_inherited - options that an accepted endpoint inherits, and that do
 *	nothing over SDP
 * @pacing: SO_MAX_PACING_RATE
 * @flags: those that are one bit of the socket's flags
 * @mark: SO_MARK
 * @tsflags: SO_TIMESTAMPING
 * @notsent_lowat: TCP_NOTSENT_LOWAT
 * @linger2: TCP_LINGER2 in jiffies
 * @peek_off: SO_PEEK_OFF, which does what it says over SDP as well, or -1
 * @ttl: IP_TTL
 * @hops: IPV6_UNICAST_HOPS
 * @rxopt: IPV6_RECV*
 * @tos: IP_TOS
 * @min_ttl: IP_MINTTL
 * @syn_retries: TCP_SYNCNT
 * @reuseport: SO_REUSEPORT
 * @v6only: IPV6_V6ONLY
 * @inq: TCP_INQ, which does what it says over SDP as well
 */
struct sdp_inherited {
	unsigned long pacing;
	unsigned long flags;
	u32 mark;
	u32 tsflags;
	u32 notsent_lowat;
	int linger2;
	int peek_off;
	s16 ttl;
	s16 hops;
	u16 rxopt;
	u8 tos;
	u8 min_ttl;
	u8 syn_retries;
	bool reuseport;
	bool v6only;
	bool inq;
};

/* What there is of the urgent byte at the mark. */
#define SDP_URG_NONE	0	/* nothing, or the mark has been passed */
#define SDP_URG_VALID	1
#define SDP_URG_READ	2	/* taken with MSG_OOB */

/**
 * struct sdp_urg - urgent data received
 * @pos: the mark: the urgent byte's position in the stream
 * @hole: position of urgent bytes that others have replaced while they were
 *	next to be read: readers pass over them, as with TCP
 * @hole_end: where they end
 * @state: SDP_URG_*
 * @byte: the urgent byte
 * @pending: one is announced and has not come
 * @told: user space has found the receive ring drained up to the mark
 *
 * Protected by ep->lock.
 */
struct sdp_urg {
	u64 pos;
	u64 hole;
	u64 hole_end;
	u8 state;
	u8 byte;
	bool pending;
	bool told;
};

/**
 * struct sdp_ep - an endpoint
 * @ref: references
 * @rcu: frees it, since readers of the table of all endpoints have no lock
 * @id: number, unique since the module was loaded; its place in the table of
 *	all endpoints
 * @net: network namespace, referenced; NULL before SDP_IOC_INIT
 * @uid: who made it
 * @user: that user's account, referenced
 * @memcg: memory control group that pays for the buffers, referenced; or NULL
 * @memory: bytes of buffers and rings
 * @counted: it counts as one of the user's endpoints
 * @family: AF_INET or AF_INET6; zero before SDP_IOC_INIT
 * @no_tcp_ever: SDP_INIT_NO_TCP; set before SDP_IOC_INIT is done
 * @op_mutex: see above
 * @tx_mutex: see above
 * @rx_mutex: see above
 * @wait: everybody who waits for anything
 * @fasync: processes that want SIGIO
 * @native: file of the TCP socket; set once, under @op_mutex
 * @native_wait: passes the TCP socket's wake-ups on to @wait
 * @native_urg: sequence number of the last urgent byte told of, under the lock
 *	of the TCP socket's wait queue
 * @opts: stands in for @native where that is NULL
 * @alive: looks whether the peer is there
 * @inherited: what @native gets from the listener when it is made, besides
 * @lock: protects everything below, and @opts
 * @file: the open file, NULL before accept(2) and once it is closed
 * @state: SDP_STATE_*
 * @carrier: SDP_CARRIER_*; NONE as long as SDP is tried
 * @reason: SDP_REASON_*
 * @err: pending error, positive, as sk_err
 * @shut: RCV_SHUTDOWN (also by the peer's DisConn) and SEND_SHUTDOWN
 * @shut_rd: receiving was shut down here
 * @fin_rcvd: the peer's DisConn came
 * @fin_sent: ours was posted
 * @fin_done: ours has arrived
 * @orphan: the file is closed
 * @no_tcp: the connection attempt must not fall back
 * @connect_told: some call of SDP_IOC_CONNECT has told how it went
 * @connect_err: negative errno of the failed attempt
 * @local: own address, as user space sees it (mapped where @family is AF_INET6)
 * @peer: the other's
 * @port_node: in the table of listeners (sdp_ports_lock)
 * @port: port listened on, host byte order; zero where not listening
 * @port_lent: of a listener: there were connections on its port
 * @port_file: of an incoming connection: its listener's native socket, referenced
 *	until the connection has ended, for the port
 * @pair: of an outgoing connection from a port that may be shared, else NULL
 * @accept_queue: of a listener: endpoints to be accepted, by @accept_node
 * @deferred_queue: of a listener: established ones that are not to be accepted
 *	yet, by @accept_node: see @deferred and @held
 * @coming: of a listener: those that are to be accepted in their order, until they
 *	are in @accept_queue, by @coming_node
 * @accept_node: of an incoming connection: in one of its listener's queues once
 *	established
 * @coming_node: of an incoming connection: in its listener's @coming
 * @no_tcp_listen: of a listener: the native socket does not listen
 * @accept_tcp: of a listener: the last one accepted came over SDP
 * @backlog: of a listener: how many may wait
 * @pending: of a listener: incoming connections not yet accepted
 * @listener: of an incoming connection not yet accepted: referenced
 * @xprt: transport, referenced as long as @conn is there
 * @accept_queued: it has been put into its listener's @accept_queue, or taken out of
 *	the other one to end (@listener's lock)
 * @deferred: it is in its listener's @deferred_queue by TCP_DEFER_ACCEPT
 * @held: it is there, as the peer has asked for another one before that is still to be
 *	established (@listener's lock)
 * @defer_end: jiffies when it is offered at the latest; before it is established, when
 *	it holds others no more
 * @conn: the transport's connection, or NULL
 * @device: whose @conn was, once it is being destroyed
 * @live: messages may be posted
 * @ending: AbortConn is on its way, then the connection ends
 * @abort_due: AbortConn follows what was written
 * @abort_sent: it was posted
 * @kill: the connection is to be destroyed by @work
 * @purge: so is what it received (the device goes away)
 * @destroyed: it is destroyed; unread messages may be left
 * @accepting: @work is to accept it
 * @connecting_failed: @work is to fall back to TCP, or to tell the failure
 * @parting: connect(2) with AF_UNSPEC waits for the connection to be gone
 * @work: what has to be done in process context
 * @timer: limits how long the connection's end may take
 * @retry: another try to settle, or to close the port, when user space had the native
 *	socket's lock; or to replace @rx_lost
 * @rx_early: messages that came before the connection was known to be there
 * @rx_queue: messages with unread bytes, from buf->off on
 * @rx_queued: their unread bytes
 * @credit: the credits of both directions, and receive buffers; those in @rx_early
 *	count as posted
 * @rx_depth: receive buffers that the transport can have
 * @rx_grow: @work is to add some
 * @rx_lost: those that the transport had no room for, which @work replaces
 * @rx_last: jiffies when stream bytes last came
 * @rx_size: size of receive buffers
 * @rx_mode: mode of the half connection from the peer
 * @rx_advert: the peer has advertised a source since the last cancellation
 * @urg: urgent data
 * @heard: jiffies when the peer or its transport was last heard of
 * @tx_moved: jiffies when stream bytes were last acknowledged, or began to wait
 * @user_timeout: TCP_USER_TIMEOUT in jiffies as last seen, or zero
 * @probes: sent since @heard
 * @tx_free: send buffers that nobody uses
 * @tx_pending: filled ones, waiting for credits
 * @tx_ctl: free buffers for messages without stream bytes
 * @tx_bufs: send buffers that there are
 * @tx_max: that there may be; less than @tx_limit when memory was short
 * @tx_limit: that SO_SNDBUF allows
 * @tx_depth: that the transport can have
 * @tx_used: not in @tx_free
 * @tx_posted: messages that the transport has
 * @tx_unacked: stream bytes in them
 * @tx_size: largest message that the peer takes
 * @tx_last: jiffies when stream bytes were last sent
 * @idle: gives back what is not used; pending when stream bytes were sent
 * @tx_owned: a writer is at work: nobody else fills buffers
 * @tx_more: hold a message with room back for more to come
 * @tx_final: there is no more to come
 * @tx_corked: @tx_more is by TCP_CORK
 * @tx_held: a message waits for more to come, and for nothing else
 * @tx_held_end: jiffies when it goes in any case
 * @tx_nagle: hold it back while one that had room is under way (RFC 896)
 * @tx_small: where in the stream the last message that had room ended
 * @tx_oob: buffers among @tx_pending with an urgent byte
 * @tx_nospace: somebody wants to know when there is room again
 * @tx_mode: mode of the half connection to the peer
 * @send_sm: SendSm owed to the peer
 * @cancel_acks: SinkCancelAck owed to the peer
 * @rcv_buf_acks: ChRcvBufAck owed to the peer
 * @ring_mem: the memory of both rings, referenced; NULL without them.  Whoever
 *	has them mapped holds it, too
 * @tx_ring: transmit ring
 * @rx_ring: receive ring
 * @tx_bytes: stream bytes sent
 * @rx_bytes: stream bytes received
 * @tx_msgs: messages sent
 * @rx_msgs: messages received
 *
 * Some of what @lock protects is also read without it, by READ_ONCE(), where one
 * byte or word is enough and an old one does no harm: the caller would have
 * found it, had it come a moment earlier.  These are @carrier, @err, @shut, @live,
 * @parting, @fin_done, @kill, @ending, @no_tcp_listen, @pending, @port, @port_lent, @held,
 * @tx_bufs, @credit.bufs and @urg.state.  Compilers store these in one piece.  A caller
 * that needs two of them of one moment takes @lock.  @state is read so as well; its
 * readers load it with acquire order where other fields come with it
 * (sdp_connect_settle(), sdp_listen()).
 */
struct sdp_ep {
	refcount_t ref;
	struct rcu_head rcu;
	u64 id;
	struct net *net;
	kuid_t uid;
	struct sdp_user *user;
	struct mem_cgroup *memcg;
	atomic_long_t memory;
	bool counted;
	unsigned short family;
	bool no_tcp_ever;

	struct mutex op_mutex;	/* configuring calls */
	struct mutex tx_mutex;	/* writers */
	struct mutex rx_mutex;	/* readers */
	wait_queue_head_t wait;
	struct fasync_struct *fasync;

	struct file *native;
	wait_queue_entry_t native_wait;
	u64 native_urg;
	struct sdp_opts opts;
	struct sdp_inherited inherited;
	struct delayed_work alive;

	spinlock_t lock;	/* all that follows */
	struct file *file;
	u8 state;
	u8 carrier;
	u8 reason;
	u8 shut;
	int err;
	int connect_err;
	bool shut_rd;
	bool fin_rcvd;
	bool fin_sent;
	bool fin_done;
	bool orphan;
	bool no_tcp;
	bool connect_told;

	struct sockaddr_storage local;
	struct sockaddr_storage peer;

	struct hlist_node port_node;
	u16 port;
	bool port_lent;
	struct file *port_file;
	struct sdp_pair *pair;
	struct list_head accept_queue;
	struct list_head deferred_queue;
	struct list_head coming;
	struct list_head accept_node;
	struct list_head coming_node;
	bool no_tcp_listen;
	bool accept_tcp;
	int backlog;
	int pending;
	struct sdp_ep *listener;
	bool accept_queued;
	bool deferred;
	bool held;
	unsigned long defer_end;

	const struct sdp_xprt_ops *xprt;
	struct sdp_xprt_conn *conn;
	const void *device;
	bool live;
	bool ending;
	bool abort_due;
	bool abort_sent;
	bool kill;
	bool purge;
	bool destroyed;
	bool accepting;
	bool connecting_failed;
	bool parting;
	struct work_struct work;
	struct delayed_work timer;
	struct delayed_work retry;

	struct list_head rx_early;
	struct list_head rx_queue;
	u32 rx_queued;
	struct sdp_credit credit;
	u32 rx_depth;
	bool rx_grow;
	u32 rx_lost;
	unsigned long rx_last;
	u32 rx_size;
	u8 rx_mode;
	bool rx_advert;
	struct sdp_urg urg;

	unsigned long heard;
	unsigned long tx_moved;
	unsigned long user_timeout;
	int probes;

	struct list_head tx_free;
	struct list_head tx_pending;
	struct list_head tx_ctl;
	u32 tx_bufs;
	u32 tx_max;
	u32 tx_limit;
	u32 tx_depth;
	u32 tx_used;
	u32 tx_posted;
	u32 tx_unacked;
	u32 tx_size;
	unsigned long tx_last;
	struct delayed_work idle;
	bool tx_owned;
	bool tx_more;
	bool tx_final;
	bool tx_corked;
	bool tx_held;
	unsigned long tx_held_end;
	bool tx_nagle;
	u64 tx_small;
	u32 tx_oob;
	bool tx_nospace;
	u8 tx_mode;
	u32 send_sm;
	u32 cancel_acks;
	u32 rcv_buf_acks;

	struct sdp_ring_mem *ring_mem;
	struct sdp_kring tx_ring;
	struct sdp_kring rx_ring;

	u64 tx_bytes;
	u64 rx_bytes;
	u64 tx_msgs;
	u64 rx_msgs;
};

/* Counters of /proc/net/sdp/snmp, in its order. */
enum sdp_counter {
	SDP_CNT_CONNECTED,
	SDP_CNT_ACCEPTED,
	SDP_CNT_FALLBACKS,
	SDP_CNT_REFUSED_NO_LISTENER,
	SDP_CNT_REFUSED_BACKLOG,
	SDP_CNT_REFUSED_BAD_HELLO,
	SDP_CNT_LISTEN_FAILED,
	SDP_CNT_OVER_LIMIT,
	/* One for each SDP_REASON_* that a connection has ended for. */
	SDP_CNT_REASON,
	/* One for each that SDP was not tried for. */
	SDP_CNT_UNTRIED = SDP_CNT_REASON + SDP_REASON_POLICY + 1,
	/* One for each enum sdp_bad. */
	SDP_CNT_BAD = SDP_CNT_UNTRIED + SDP_REASON_POLICY + 1,
	SDP_CNT_MAX = SDP_CNT_BAD + SDP_BAD_MAX,
};

/* What a user can have only so much of. */
enum sdp_limit {
	SDP_LIMIT_ENDPOINTS,
	SDP_LIMIT_CONNS,
	SDP_LIMIT_MEMORY,
	/* Connections that peers have asked for and nobody has accepted */
	SDP_LIMIT_PEERS,
	SDP_LIMIT_MAX,
};

/* main.c */
/* How soon what the native socket's lock is needed for is tried again */
#define SDP_NATIVE_RETRY_MS	100

extern struct workqueue_struct *sdp_wq;
extern unsigned int sdp_recv_bufs, sdp_recv_size, sdp_send_bufs;
extern unsigned int sdp_idle_bufs, sdp_idle_ms;
extern unsigned int sdp_connect_ms, sdp_close_ms;
extern unsigned int sdp_user_endpoints, sdp_user_conns, sdp_user_mib, sdp_user_share;
extern const struct file_operations sdp_fops;
void sdp_count(enum sdp_counter which);
long sdp_counter(enum sdp_counter which);

/* endpoint.c */
extern struct xarray sdp_eps;
struct sdp_ep *sdp_ep_create(struct sdp_ep *listener);
void sdp_ep_get(struct sdp_ep *ep);
void sdp_ep_put(struct sdp_ep *ep);
int sdp_ep_set_net(struct sdp_ep *ep, struct net *net);
bool sdp_ep_ready(struct sdp_ep *ep);
void sdp_ep_set_ready(struct sdp_ep *ep, unsigned short family);
bool sdp_ep_native(struct sdp_ep *ep);
__poll_t sdp_ep_poll(struct sdp_ep *ep);
int sdp_ep_take_error(struct sdp_ep *ep);
int sdp_ep_pending(struct sdp_ep *ep);
void sdp_ep_info(struct sdp_ep *ep, struct sdp_info *info);
void sdp_ep_wait_idle(void);

/* async.c */
void sdp_ep_wake(struct sdp_ep *ep, __poll_t events);
void sdp_ep_urge(struct sdp_ep *ep);
int sdp_owner_get(struct file *file);

/* alive.c */
void sdp_alive_begin(struct sdp_ep *ep);
void sdp_alive_look(struct sdp_ep *ep);
void sdp_alive_sending(struct sdp_ep *ep);
void sdp_alive_hold(struct sdp_ep *ep);
void sdp_alive_work(struct work_struct *work);

/* The peer or its transport has been heard of; ep->lock held. */
static inline void sdp_alive_heard(struct sdp_ep *ep)
{
	ep->heard = jiffies;
	ep->probes = 0;
}

/* conn.c */
void sdp_conn_init(struct sdp_ep *ep, const struct sdp_xprt_ops *xprt,
		   struct sdp_xprt_conn *conn);
int sdp_conn_bufs(struct sdp_ep *ep);
int sdp_conn_recv_bufs(struct sdp_ep *ep, u32 want);
void sdp_conn_kick(struct sdp_ep *ep);
void sdp_conn_timer(struct sdp_ep *ep, unsigned int ms);
void sdp_conn_retry(struct sdp_ep *ep);
void sdp_conn_work(struct work_struct *work);
void sdp_conn_timeout(struct work_struct *work);
void sdp_conn_try_again(struct work_struct *work);

/* account.c */
int sdp_charge(struct sdp_ep *ep, enum sdp_limit which, long n);
void sdp_uncharge(struct sdp_ep *ep, enum sdp_limit which, long n);
int sdp_account_asked(struct sdp_ep *ep, struct sdp_ep *listener);
void sdp_account_share(const struct sdp_ep *ep, struct sdp_ep *listener,
		       struct sdp_xprt_params *params);
void sdp_account_accepted(struct sdp_ep *ep);
struct sdp_user *sdp_account_lend(struct sdp_ep *ep, long bytes);
void sdp_account_return(struct sdp_user *user, long bytes);
struct mem_cgroup *sdp_account_memcg(struct sdp_ep *ep);
int sdp_account_open(struct sdp_ep *ep, struct sdp_ep *listener);
void sdp_account_close(struct sdp_ep *ep);
struct sdp_xprt_buf *sdp_buf_alloc(struct sdp_ep *ep, u32 size, bool recv);
void sdp_buf_free(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		  struct sdp_xprt_buf *buf);

/* size.c */
void sdp_size_init(struct sdp_ep *ep);
void sdp_size_limit(struct sdp_ep *ep, const struct sdp_opts *opts);
void sdp_size_look(struct sdp_ep *ep);
void sdp_size_received(struct sdp_ep *ep);
void sdp_size_lost(struct sdp_ep *ep);
void sdp_size_grow(struct sdp_ep *ep, bool more);
void sdp_size_watch(struct sdp_ep *ep);
void sdp_size_soon(struct sdp_ep *ep);
bool sdp_size_quiet(const struct sdp_ep *ep);
void sdp_size_told(struct sdp_ep *ep);
void sdp_size_sent(struct sdp_ep *ep);
void sdp_size_stop(struct sdp_ep *ep);
void sdp_size_idle(struct work_struct *work);

/* addr.c */
void sdp_addr_unmap(struct sockaddr_storage *ss);
void sdp_addr_map(struct sockaddr_storage *ss, unsigned short family);
bool sdp_addr_same_host(const struct sockaddr_storage *a,
			const struct sockaddr_storage *b);
bool sdp_addr_any(const struct sockaddr_storage *ss);
u16 sdp_addr_port(const struct sockaddr_storage *ss);
void sdp_addr_set_port(struct sockaddr_storage *ss, u16 port);
unsigned int sdp_addr_len(const struct sockaddr_storage *ss);

/* native.c */
int sdp_native_create(struct sdp_ep *ep, unsigned short family);
int sdp_native_ensure(struct sdp_ep *ep);
void sdp_native_release(struct sdp_ep *ep);
bool sdp_native_fall_back(struct sdp_ep *ep, struct sockaddr_storage *peer, int *err);
bool sdp_native_only_bound(struct sdp_ep *ep);
int sdp_native_flow(struct sdp_ep *ep, struct sdp_xprt_params *params);
int sdp_native_may_connect(struct sdp_ep *ep, const struct sockaddr_storage *addr,
			   unsigned int len, u8 *reason);
struct sock *sdp_native_sk(struct sdp_ep *ep);
int sdp_native_local(struct sdp_ep *ep, struct sockaddr_storage *ss);
int sdp_native_autobind(struct sdp_ep *ep);
__poll_t sdp_native_poll(struct sdp_ep *ep);
ssize_t sdp_native_recv(struct sdp_ep *ep, struct iov_iter *to,
			unsigned int flags, struct msghdr *msg);
ssize_t sdp_native_send(struct sdp_ep *ep, struct iov_iter *from,
			unsigned int flags);
long sdp_native_ioctl(struct sdp_ep *ep, unsigned int cmd, unsigned long arg);
bool sdp_native_signs(struct sdp_ep *ep);
bool sdp_native_holds(struct sdp_ep *ep);
void sdp_native_info(struct sdp_ep *ep, struct sdp_info *info);
long sdp_timeo(struct sdp_ep *ep, bool send);
int sdp_rcvlowat(struct sdp_ep *ep);
bool sdp_recv_by_call(struct sdp_ep *ep);
void sdp_opts_get(struct sdp_ep *ep, struct sdp_opts *opts);
u8 sdp_nonagle(struct sdp_ep *ep);
void sdp_inherit_get(const struct sock *sk, struct sdp_inherited *what);
void sdp_inherit_set(struct sock *sk, const struct sdp_inherited *what);

/* replace.c */
int sdp_replace(struct file *file, unsigned int fd);

/* lock.c */
int sdp_lock(struct file *file, int cmd, struct file_lock *fl);
int sdp_flock(struct file *file, int cmd, struct file_lock *fl);
void sdp_unlock(struct file *file, fl_owner_t owner);

/* route.c */
void sdp_route_set(struct sdp_ep *ep);
void sdp_route_forget(struct sdp_ep *ep);
bool sdp_native_shared(struct sdp_ep *ep);

/* listen.c */
int sdp_listen(struct sdp_ep *ep, int backlog, u32 flags);
bool sdp_listens_alone(struct sdp_ep *ep);
void sdp_unlisten(struct sdp_ep *ep);
int sdp_accept(struct file *file, struct sdp_accept *args, bool nonblock,
	       struct file **newfile);
bool sdp_accept_ready(struct sdp_ep *ep);
void sdp_incoming_established(struct sdp_ep *ep);
void sdp_incoming_offer(struct sdp_ep *ep);
void sdp_incoming_forget(struct sdp_ep *ep);
void sdp_incoming_accept(struct sdp_ep *ep);
int sdp_incoming(const struct sdp_xprt_ops *xprt, struct sdp_xprt_conn *conn,
		 const struct sdp_xprt_event *ev);

/* port.c */
int sdp_port_add(struct sdp_ep *ep, u16 port);
bool sdp_port_del(struct sdp_ep *ep);
struct sdp_ep *sdp_port_find(const struct sdp_xprt_event *ev);
void sdp_ports_for_each(void (*fn)(u16 port));
bool sdp_port_lend(struct sdp_ep *ep, struct sdp_ep *listener);
int sdp_port_pair(struct sdp_ep *ep, const struct sdp_xprt_params *params);
void sdp_port_drop(struct sdp_ep *ep);

/* connect.c */
int sdp_connect(struct sdp_ep *ep, struct sockaddr_storage *addr,
		unsigned int len, unsigned int flags, bool nonblock);
int sdp_connect_wait(struct sdp_ep *ep, long *timeo);
void sdp_connect_established(struct sdp_ep *ep,
			     const struct sdp_xprt_event *ev);
void sdp_connect_failed(struct sdp_ep *ep, u8 reason, int err);
void sdp_connect_settle(struct sdp_ep *ep);
int sdp_disconnect(struct sdp_ep *ep);

/* rx.c */
void sdp_rx_done(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		 struct sdp_xprt_buf *buf, int error);
void sdp_rx_begin(struct sdp_ep *ep);
ssize_t sdp_recv(struct sdp_ep *ep, struct iov_iter *to, unsigned int flags,
		 long timeo, struct msghdr *msg);
u64 sdp_rx_avail(struct sdp_ep *ep);
bool sdp_rx_ready(struct sdp_ep *ep, u64 more_than);
int sdp_rx_end(struct sdp_ep *ep, u64 seen, size_t done);
int sdp_rx_wait(struct sdp_ep *ep, u64 more_than, long *timeo);
void sdp_rx_fetch(struct sdp_ep *ep);

/* tx.c */
void sdp_tx_done(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		 struct sdp_xprt_buf *buf, int error);
void sdp_tx_push(struct sdp_ep *ep);
void sdp_tx_uncork(struct sdp_ep *ep);
void sdp_tx_look(struct sdp_ep *ep);
ssize_t sdp_send(struct sdp_ep *ep, struct iov_iter *from, unsigned int flags,
		 long timeo);
u64 sdp_tx_unsent(struct sdp_ep *ep);
u64 sdp_tx_queued(struct sdp_ep *ep);
bool sdp_tx_room(struct sdp_ep *ep);
struct sdp_xprt_buf *sdp_tx_get(struct sdp_ep *ep);
void sdp_tx_put(struct sdp_ep *ep, struct sdp_xprt_buf *buf);
int sdp_tx_prepare(struct sdp_ep *ep, u32 want);
int sdp_tx_wait(struct sdp_ep *ep, long *timeo);
int sdp_tx_drain(struct sdp_ep *ep);
void sdp_tx_probe(struct sdp_ep *ep);

/* urgent.c */
void sdp_urg_announced(struct sdp_ep *ep);
void sdp_urg_arrived(struct sdp_ep *ep, u8 byte);
bool sdp_urg_inline(struct sdp_ep *ep);
bool sdp_urg_here(struct sdp_ep *ep, u64 seen);
u64 sdp_urg_ahead(struct sdp_ep *ep);
u64 sdp_urg_hidden(struct sdp_ep *ep);
u32 sdp_urg_clip(struct sdp_ep *ep, size_t skip, u32 n, bool *hole);
void sdp_urg_moved(struct sdp_ep *ep);
u32 sdp_urg_until(const struct sdp_ep *ep, u32 n);
bool sdp_urg_fetch(struct sdp_ep *ep);
ssize_t sdp_urg_recv(struct sdp_ep *ep, struct iov_iter *to, unsigned int flags,
		     unsigned int *out_flags);

/*
 * Copies from and to user memory under tx_mutex or rx_mutex.  What is not there is not
 * waited for, as that may be for ever: it is brought in by sdp_fault_in(), without the
 * mutex, when nothing could be copied.
 */
static inline size_t sdp_copy_from(void *to, size_t n, struct iov_iter *from)
{
	pagefault_disable();
	n = copy_from_iter(to, n, from);
	pagefault_enable();
	return n;
}

static inline size_t sdp_copy_to(const void *from, size_t n, struct iov_iter *to)
{
	pagefault_disable();
	n = copy_to_iter(from, n, to);
	pagefault_enable();
	return n;
}

/* False: there is no such memory, or nobody who wants to know. */
static inline bool sdp_fault_in(struct iov_iter *iter, bool write)
{
	size_t n = min_t(size_t, iov_iter_count(iter), SZ_64K);

	if (!user_backed_iter(iter) || fatal_signal_pending(current))
		return false;
	return (write ? fault_in_iov_iter_writeable(iter, n) :
			fault_in_iov_iter_readable(iter, n)) < n;
}

/* close.c */
int sdp_shutdown(struct sdp_ep *ep, int how);
void sdp_close(struct sdp_ep *ep);
void sdp_close_port(struct sdp_ep *ep);
void sdp_abort(struct sdp_ep *ep, u8 reason, int err);
void sdp_abort_after(struct sdp_ep *ep);
void sdp_bad_message(struct sdp_ep *ep, enum sdp_bad bad);
void sdp_conn_ended(struct sdp_ep *ep, u8 reason, int err);
void sdp_close_progress(struct sdp_ep *ep);

/* ring.c */
int sdp_ring_setup(struct sdp_ep *ep, u32 tx_bytes, u32 rx_bytes);
void sdp_ring_drop(struct sdp_ep *ep);
u32 sdp_ring_put(struct sdp_ep *ep, const void *data, u32 len);
u32 sdp_ring_take(struct sdp_ep *ep, void *data, u32 len);
bool sdp_ring_tx_check(struct sdp_ep *ep, u32 *bytes);
bool sdp_ring_rx_check(struct sdp_ep *ep, u32 *bytes);
bool sdp_ring_tx_sleep(struct sdp_ep *ep);
void sdp_ring_tx_end(struct sdp_ep *ep);
void sdp_ring_look(struct sdp_ep *ep);
void sdp_ring_rx_flags(struct sdp_ep *ep);
ssize_t sdp_ring_consume(struct sdp_ep *ep, struct iov_iter *to, size_t skip,
			 unsigned int flags);
int sdp_ring_tx_grow(struct sdp_ep *ep);
int sdp_ring_enter(struct sdp_ep *ep, u32 flags, bool nonblock);
u32 sdp_ring_data_offset(void);

/* ringmem.c */
struct sdp_ring_mem *sdp_ring_mem_alloc(struct sdp_ep *ep, u32 tx_bytes, u32 rx_bytes);
void sdp_ring_mem_attach(struct sdp_ep *ep, struct sdp_ring_mem *mem, u32 tx_bytes,
			 u32 rx_bytes);
void sdp_ring_mem_detach(struct sdp_ep *ep);
bool sdp_ring_mem_idle(struct sdp_ep *ep);
void sdp_ring_closing(struct sdp_ep *ep);
int sdp_ring_mmap(struct sdp_ep *ep, struct vm_area_struct *vma);

/* file.c */
struct file *sdp_open_accepted(struct file *file, struct sdp_ep *ep, int flags);

/* msg.c */
long sdp_msg_command(struct sdp_ep *ep, bool send, struct sdp_msg __user *user,
		     bool nonblock, bool uring);

/* ioctl.c */
long sdp_arg_get(void *arg, u32 least, u32 known, void __user *user);
long sdp_command(struct file *file, unsigned int cmd, void __user *user,
		 bool nonblock, bool uring);
long sdp_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* uring.c */
int sdp_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

/* Why a transport could make no connection, if it was for want of something. */
static inline u8 sdp_shortage(int error, u8 otherwise)
{
	switch (error) {
	case -EDQUOT:
		return SDP_REASON_LIMIT;
	case -ENOBUFS:
		return SDP_REASON_NO_MEMORY;
	default:
		return otherwise;
	}
}

/* xprt.c */
extern struct mutex sdp_xprt_mutex;
const struct sdp_xprt_ops *sdp_xprt_get(void);
void sdp_xprt_put(void);
int sdp_xprt_listen(u16 port);
void sdp_xprt_unlisten(u16 port);
void sdp_xprt_stats(struct seq_file *seq);

/* proc.c */
int sdp_proc_init(void);
void sdp_proc_exit(void);
const char *sdp_state_name(u32 state);
const char *sdp_carrier_name(u32 carrier);

#endif /* _SDPDEV_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The endpoint.
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
#ifndef _SDP_EP_H
#define _SDP_EP_H

#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/sock.h>

#include "core/core.h"
#include "ring/kring.h"
#include "sdp/credit.h"
#include "transport/transport.h"

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

struct sdp_ep;

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
 * struct sdp_ep_ops - what those above do for an endpoint
 * @release: the last reference is gone; process context, no spinlock held
 * @work: what has to be done in process context
 * @retry: another try of what needed the native socket's lock
 * @timeout: the connection has taken too long to end
 * @alive: the look at a silent peer is due
 * @idle: the connection may be idle by now
 * @offer: the connection has been held back from accept(2) for long enough
 *
 * Each of the works holds a reference to the endpoint while it is pending, and drops it.
 */
struct sdp_ep_ops {
	void (*release)(struct sdp_ep *ep);
	work_func_t work;
	work_func_t retry;
	work_func_t timeout;
	work_func_t alive;
	work_func_t idle;
	work_func_t offer;
};

/**
 * struct sdp_ep - an endpoint
 * @ref: references
 * @rcu: frees it, since readers of the table of all endpoints have no lock
 * @id: number, unique since the module was loaded; its place in the table of
 *	all endpoints
 * @net: network namespace, referenced; NULL before SDP_IOC_INIT
 * @ops: what those above do for it
 * @account: who pays for it
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
 * @events: EPOLL* to be told when the lock is released
 * @told_listener: of an incoming connection: its listener has to be told of one that can
 *	be accepted
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
 * @offer: lets accept(2) have it when it has been held back for long enough
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
 * @ring_bad: user space has written what no index can be: the connection ends
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
	const struct sdp_ep_ops *ops;
	struct sdp_account account;
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
	__poll_t events;
	struct sdp_ep *told_listener;
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
	struct delayed_work offer;

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
	bool ring_bad;
	struct sdp_kring tx_ring;
	struct sdp_kring rx_ring;

	u64 tx_bytes;
	u64 rx_bytes;
	u64 tx_msgs;
	u64 rx_msgs;
};

/* How soon what the native socket's lock is needed for is tried again */
#define SDP_NATIVE_RETRY_MS	100

/* ep.c */
extern struct workqueue_struct *sdp_wq;
int sdp_ep_init(struct sdp_ep *ep, const struct sdp_ep_ops *ops);
void sdp_ep_exit(struct sdp_ep *ep);
void sdp_ep_get(struct sdp_ep *ep);
void sdp_ep_put(struct sdp_ep *ep);
int sdp_ep_set_net(struct sdp_ep *ep, struct net *net);
bool sdp_ep_ready(struct sdp_ep *ep);
void sdp_ep_set_ready(struct sdp_ep *ep, unsigned short family);
bool sdp_ep_native(struct sdp_ep *ep);
void sdp_ep_kick(struct sdp_ep *ep);
void sdp_ep_retry(struct sdp_ep *ep);
void sdp_ep_wait_idle(void);
struct sdp_ep *sdp_ep_next(unsigned long *id);

/* wake.c */
void sdp_ep_tell(struct sdp_ep *ep, __poll_t events);
void sdp_ep_unlock_tell(struct sdp_ep *ep)
	__releases(&ep->lock);
void sdp_ep_urge(struct sdp_ep *ep);

/* Has sdp_ep_unlock() tell everybody who waits; ep->lock held. */
static inline void sdp_ep_wake(struct sdp_ep *ep, __poll_t events)
{
	ep->events |= events;
}

static inline void sdp_ep_lock(struct sdp_ep *ep)
	__acquires(&ep->lock)
{
	spin_lock_bh(&ep->lock);
}

/* Context: no other spinlock is held that those who are told could want. */
static inline void sdp_ep_unlock(struct sdp_ep *ep)
	__releases(&ep->lock)
{
	if (ep->events || ep->told_listener)
		sdp_ep_unlock_tell(ep);
	else
		spin_unlock_bh(&ep->lock);
}

#endif /* _SDP_EP_H */

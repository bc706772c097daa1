/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The base of sdpdev: the endpoint, what all its parts share and where they are found; and
 * counters, parameters, accounts and addresses.
 *
 * Counters and accounts are atomic, and addresses belong to the caller: a caller may be in any
 * context and hold any lock, unless a function's own comment says otherwise.
 *
 * Locks, outermost first:
 *
 *   ep->op_mutex	calls that configure an endpoint, one at a time
 *   sdp_xprt_mutex	which transports there are, and the ports they listen on
 *   conn->tx.mutex	one writer: order of the stream sent, send buffers
 *   conn->rx.mutex	one reader: order of the stream received
 *   sdp_xprt_dev.lock	how many connections of a device there are
 *   sdp_ports_lock	who listens where, and connects from which port
 *   the mutex of a ring's memory, which faults take
 *   (the lock of the native socket's wait queue)
 *   ep->lock		everything else of an endpoint and its connection; a listener's
 *			inside of that of its incoming connection
 *
 * Nobody waits under any of them for user memory that is not there: see sdp_copy_from().
 * Events of the transport take only the spinlocks, so it may be called and waited for
 * under the mutexes.
 *
 * Lifetimes: an open file holds a reference to its endpoint, and so does a connection
 * (struct sdp_conn) as long as it lives.  The endpoint holds its connection from
 * connect(2), or from the peer's request, until the endpoint's work takes it away: when
 * the connection has ended and the file is closed, or the endpoint begins anew.  So an
 * endpoint whose file is closed lives on for its connection to end in an orderly way.
 */
#ifndef _SDP_CORE_H
#define _SDP_CORE_H

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/sdp.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/sock.h>

#include "compat.h"

struct mem_cgroup;
struct sdp_conn;
struct sdp_ep;
struct sdp_listener;
struct sdp_pair;
struct sdp_tcp;
struct sdp_user;
struct workqueue_struct;

/* What must be so is looked at on the checked kernel. */
#define SDP_ASSERT(cond)	WARN_ON_ONCE(IS_ENABLED(CONFIG_PROVE_LOCKING) && !(cond))

/* Room for the counters of bad messages. */
#define SDP_CNT_BAD_KINDS	12

/* Room for the counters of TCP sockets that stay with TCP. */
#define SDP_CNT_STAY_KINDS	32

/* Room for the counters of carriers that were not joined. */
#define SDP_CNT_REFUSAL_KINDS	8

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
	/* A child has not inherited the rule of its process, for want of memory. */
	SDP_CNT_RULE_LOST,
	/* One for each SDP_REASON_* that a connection has ended for. */
	SDP_CNT_REASON,
	/* One for each that SDP was not tried for. */
	SDP_CNT_UNTRIED = SDP_CNT_REASON + SDP_REASON_POLICY + 1,
	/* One for each kind of bad message: enum sdp_bad. */
	SDP_CNT_BAD = SDP_CNT_UNTRIED + SDP_REASON_POLICY + 1,
	/* TCP sockets with the ULP: directions that have moved; one for each enum sdp_stay that
	 * a direction has stayed with TCP for, and one that it has come back for.
	 */
	SDP_CNT_MOVED = SDP_CNT_BAD + SDP_CNT_BAD_KINDS,
	/* Messages, or parts, that a sender copied to the memory of a reader that waited. */
	SDP_CNT_LANDED,
	/* Carriers that were ended because the peer broke the rules, and connections. */
	SDP_CNT_LANE_BAD,
	SDP_CNT_LANE_RESET,
	/* Connections that a tool has asked to leave TCP. */
	SDP_CNT_TOOL,
	/* Carriers that were asked for, that were joined, and one for each reason not to be. */
	SDP_CNT_ASKED,
	SDP_CNT_JOINED,
	SDP_CNT_REFUSED,
	SDP_CNT_STAYED = SDP_CNT_REFUSED + SDP_CNT_REFUSAL_KINDS,
	SDP_CNT_RETURNED = SDP_CNT_STAYED + SDP_CNT_STAY_KINDS,
	/* One for each that has ended a connection of SDP_MODE_ONLY. */
	SDP_CNT_ONLY = SDP_CNT_RETURNED + SDP_CNT_STAY_KINDS,
	SDP_CNT_MAX = SDP_CNT_ONLY + SDP_CNT_STAY_KINDS,
};

/* This part of the machine's memory is the most that the pipes of all TCP sockets may have. */
#define SDP_PIPES_PART	8

/* What a user can have only so much of. */
enum sdp_limit {
	SDP_LIMIT_ENDPOINTS,
	SDP_LIMIT_CONNS,
	SDP_LIMIT_MEMORY,
	/* Bytes that programs map of TCP sockets' connections */
	SDP_LIMIT_SHARED,
	/* Connections that peers have asked for and nobody has accepted */
	SDP_LIMIT_PEERS,
	SDP_LIMIT_MAX,
};

/* param.c */
extern unsigned int sdp_recv_bufs, sdp_recv_size, sdp_send_bufs;
extern unsigned int sdp_idle_bufs, sdp_idle_ms;
extern unsigned int sdp_connect_ms, sdp_close_ms;
extern unsigned int sdp_user_endpoints, sdp_user_conns, sdp_user_mib, sdp_user_share;

/* count.c */
void sdp_count(enum sdp_counter which);
long sdp_counter(enum sdp_counter which);

/**
 * struct sdp_account - who pays for an endpoint
 * @user: the user's account, referenced
 * @uid: who made the endpoint
 * @memcg: memory control group that pays for the buffers, referenced; or NULL
 * @memory: bytes of buffers and rings
 *
 * The first three stay as they are from sdp_account_open() to sdp_account_close().
 */
struct sdp_account {
	struct sdp_user *user;
	kuid_t uid;
	struct mem_cgroup *memcg;
	atomic_long_t memory;
};

/* account.c */
int sdp_account_open(struct sdp_account *acc, const struct sdp_account *from);
void sdp_account_close(struct sdp_account *acc);
int sdp_charge(struct sdp_account *acc, enum sdp_limit which, long n);
int sdp_charge_sparing(struct sdp_account *acc, enum sdp_limit which, long n, long spare);
void sdp_uncharge(struct sdp_account *acc, enum sdp_limit which, long n);
bool sdp_account_is_root(const struct sdp_account *acc);
struct mem_cgroup *sdp_sock_memcg(const struct sock *sk);
kuid_t sdp_sock_owner(const struct sock *sk);
void sdp_owner_share(kuid_t payer, u32 *owner, u32 *share);
void sdp_account_share(const struct sdp_account *acc, bool incoming, u32 *owner,
		       u32 *share);
struct sdp_user *sdp_account_lend(struct sdp_account *acc, long bytes);
void sdp_account_return(struct sdp_user *user, long bytes);
struct sdp_user *sdp_shared_charge(long bytes);
void sdp_shared_uncharge(struct sdp_user *user, long bytes);
struct mem_cgroup *sdp_account_memcg(const struct sdp_account *acc);

/* addr.c */
void sdp_addr_unmap(struct sockaddr_storage *ss);
void sdp_addr_map(struct sockaddr_storage *ss, unsigned short family);
bool sdp_addr_same_host(const struct sockaddr_storage *a,
			const struct sockaddr_storage *b);
bool sdp_addr_any(const struct sockaddr_storage *ss);
u16 sdp_addr_port(const struct sockaddr_storage *ss);
void sdp_addr_set_port(struct sockaddr_storage *ss, u16 port);
unsigned int sdp_addr_len(const struct sockaddr_storage *ss);

/* What is to become of a connection that ends, besides its end: see state.c. */
enum sdp_attempt {
	SDP_ATTEMPT_NONE,
	SDP_ATTEMPT_FAILED,
	SDP_ATTEMPT_PARTING,
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
 * Each of the works holds a reference while it is pending, and drops it: work, retry and
 * offer to the endpoint; timeout, alive and idle to the connection, which holds the endpoint.
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
 * @tcp: the native socket and the options, as long as the endpoint
 * @op_mutex: calls that configure it
 * @wait: everybody who waits for anything
 * @fasync: processes that want SIGIO
 * @work: what has to be done in process context
 * @retry: another try to settle, or to close the port, when user space had the native
 *	socket's lock; or to replace receive buffers that were lost
 * @lock: protects everything below, and what @tcp and @conn say
 * @events: EPOLL* to be told when the lock is released
 * @sigio: of these, EPOLLIN and EPOLLOUT, for each of which there is a SIGIO
 * @told_listener: of an incoming connection: its listener has to be told of one that can
 *	be accepted
 * @file: the open file, NULL before accept(2) and once it is closed
 * @state: SDP_STATE_*; sdp_state_set() changes it
 * @carrier: SDP_CARRIER_*; NONE as long as SDP is tried; sdp_carrier_set() changes it
 * @reason: SDP_REASON_*; sdp_reason_set() changes it
 * @shut: RCV_SHUTDOWN (also by the peer's DisConn) and SEND_SHUTDOWN
 * @err: pending error, positive, as sk_err
 * @orphan: the file is closed
 * @local: own address, as user space sees it (mapped where @family is AF_INET6)
 * @peer: the other's
 * @conn: the connection over SDP, referenced; or NULL; see also sdp_conn_get()
 * @no_tcp: the connection attempt must not fall back
 * @connect_told: some call of SDP_IOC_CONNECT has told how it went
 * @attempt: enum sdp_attempt; sdp_attempt_set() changes it
 * @connect_err: negative errno of the failed attempt
 * @pair: of an outgoing connection from a port that may be shared, else NULL
 * @port_file: of an incoming connection: its listener's native socket, referenced
 *	until the connection has ended, for the port
 * @listen: of one that listens, or has: see there; set once, before @state says so
 * @listener: of an incoming connection not yet accepted: referenced
 * @accepting: @work is to accept it
 * @accept_node: of an incoming connection: in one of its listener's queues once
 *	established
 * @coming_node: of an incoming connection: in its listener's queue of those to come
 * @accept: enum sdp_accept_state; protected by @listener's lock
 * @defer_end: jiffies when it is offered at the latest; before it is established, when
 *	it holds others no more
 * @offer: lets accept(2) have it then
 *
 * Some of what @lock protects is also read without it, by READ_ONCE(), where one
 * byte or word is enough and an old one does no harm: the caller would have
 * found it, had it come a moment earlier.  These are @carrier, @err, @shut,
 * @attempt, @accept and, of other structures, those that say so.  Compilers store these in
 * one piece.  A caller that needs two of them of one moment takes @lock.  @state is read
 * so as well; its readers load it with acquire order where other fields come with it
 * (sdp_state_set()).
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
	struct sdp_tcp *tcp;

	struct mutex op_mutex;	/* configuring calls */
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	struct work_struct work;
	struct delayed_work retry;

	spinlock_t lock;	/* all that follows */
	__poll_t events;
	__poll_t sigio;
	struct sdp_ep *told_listener;
	struct file *file;
	u8 state;
	u8 carrier;
	u8 reason;
	u8 shut;
	int err;
	bool orphan;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;

	struct sdp_conn *conn;
	bool no_tcp;
	bool connect_told;
	u8 attempt;
	int connect_err;
	struct sdp_pair *pair;
	struct file *port_file;

	struct sdp_listener *listen;

	struct sdp_ep *listener;
	bool accepting;
	struct list_head accept_node;
	struct list_head coming_node;
	u8 accept;
	unsigned long defer_end;
	struct delayed_work offer;
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

/* state.c */
void sdp_state_set(struct sdp_ep *ep, u8 next);
void sdp_carrier_set(struct sdp_ep *ep, u8 next);
bool sdp_reason_set(struct sdp_ep *ep, u8 reason);
void sdp_attempt_set(struct sdp_ep *ep, enum sdp_attempt next);

/* wake.c */
void sdp_ep_tell(struct sdp_ep *ep, __poll_t events);
void sdp_ep_unlock_tell(struct sdp_ep *ep)
	__releases(&ep->lock);
void sdp_ep_urge(struct sdp_ep *ep);

/* Has sdp_ep_unlock() tell everybody who waits; ep->lock held. */
static inline void sdp_ep_wake(struct sdp_ep *ep, __poll_t events)
{
	ep->events |= events;
	ep->sigio |= events & EPOLLIN ? EPOLLIN : events & EPOLLOUT;
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

#endif /* _SDP_CORE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The offload layer: it decides whether the bytes of a TCP socket with the ULP "sdp" go by TCP or
 * by a carrier.
 *
 * A connection is a TCP connection from its first packet to its last.  If both of its ends are on
 * this kernel, each direction may move to a pipe in kernel memory.  Each return to TCP goes through
 * sdp_tx_return().  Only the sender of a direction decides about moves and returns.
 *
 *	sendmsg -> tx.c -- TCP's own queue ----- packets ----- TCP's queue -- rx.c -> recvmsg
 *	                 \------------------ pipe.c ------------------------/
 *
 * pair.c finds the other end, gate.c says whether a connection may be moved, and move.c moves it
 * and brings it back.  Programs may map a pipe and work on it themselves: share.c.  only.c has the
 * code for connections that may send no byte by TCP (SDP_MODE_ONLY).
 *
 * Locks, from the outside in: the socket's own lock (lock_sock(), or its spinlock if no call owns
 * the socket), sdp_pipe.lock, and the locks of a wake-up: sk_callback_lock for reading, wait
 * queues.  The other spinlocks of this layer come behind the socket's lock, too, and no other one
 * of the layer is taken under them.  Nor is one taken under sk_callback_lock for writing.  No call
 * holds the locks of two sockets.  If a sender or a reader changes a member without sdp_pipe.lock,
 * its own socket's lock guards that member.
 *
 * Lifetimes: a struct sdp_sock belongs to its socket (icsk_ulp_data) from the ULP's init() or
 * clone() to its release(); RCU frees it.  A pair belongs to the sdp_sock of both ends; it points
 * to a socket only as long as that socket's sdp_sock lives.
 */
#ifndef _SDP_OFFLOAD_H
#define _SDP_OFFLOAD_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sdp_sock.h>
#include <linux/spinlock.h>
#include <net/sock.h>

#include "core/core.h"
#include "offload/pipe.h"

struct sdp_ask;
struct sdp_carrier_ops;
struct sdp_lane;

/**
 * enum sdp_stay - why a connection stays with TCP, or has come back to it
 * @SDP_STAY_NOT: it does not: the direction has moved
 * @SDP_STAY_YOUNG: it has not carried enough yet
 * @SDP_STAY_PASSING: TCP has to deliver something, or a call to end, before it moves
 * @SDP_STAY_PEER: the other end was not found
 * @SDP_STAY_LIVE: it had a connection before it had the ULP
 * @SDP_STAY_WEAK: its initial sequence number may be known to others
 * @SDP_STAY_STATE: it is not established
 * @SDP_STAY_OPS: another part of the kernel has replaced its operations
 * @SDP_STAY_KERNEL: a client in the kernel has its own callbacks on it
 * @SDP_STAY_REPAIR: TCP_REPAIR is, or was, on
 * @SDP_STAY_SIGNED: MD5 or AO keys
 * @SDP_STAY_IPSEC: an IPsec policy
 * @SDP_STAY_FILTER: SO_ATTACH_FILTER, or a control group's packet programs
 * @SDP_STAY_PACING: SO_MAX_PACING_RATE
 * @SDP_STAY_STAMPS: SO_TIMESTAMP, SO_TIMESTAMPING
 * @SDP_STAY_READS: SO_RCVLOWAT, SO_PEEK_OFF
 * @SDP_STAY_URGENT: urgent data was sent
 * @SDP_STAY_CAPTURE: a program captures packets on the way
 * @SDP_STAY_MEMORY: memory is short
 * @SDP_STAY_STALL: the reader does not read
 * @SDP_STAY_CLOSED: shut down, or closed
 * @SDP_STAY_TOUCH: a message goes by TCP, as one does every net.sdp.touch seconds
 * @SDP_STAY_ULP: another ULP was asked for
 * @SDP_STAY_NEVER: the program or a rule says so
 * @SDP_STAY_ONLY: no byte may go by TCP, and one has
 * @SDP_STAY_LOST: the carrier is lost
 * @SDP_STAY_LEAVE: the peer wants it back
 * @SDP_STAY_ROUTE: packets leave by another device than the carrier was asked for
 * @SDP_STAY_IDLE: nothing was sent or received for long
 * @SDP_STAY_AVOID: the peer, or the path to it, has failed of late, or others ask first
 * @SDP_STAY_TOOL: an administrator or the owner wants it back
 * @SDP_STAY_MAX: their number
 *
 * Their names are in gate.c; the order is that of the counters.
 */
enum sdp_stay {
	SDP_STAY_NOT,
	SDP_STAY_YOUNG,
	SDP_STAY_PASSING,
	SDP_STAY_PEER,
	SDP_STAY_LIVE,
	SDP_STAY_WEAK,
	SDP_STAY_STATE,
	SDP_STAY_OPS,
	SDP_STAY_KERNEL,
	SDP_STAY_REPAIR,
	SDP_STAY_SIGNED,
	SDP_STAY_IPSEC,
	SDP_STAY_FILTER,
	SDP_STAY_PACING,
	SDP_STAY_STAMPS,
	SDP_STAY_READS,
	SDP_STAY_URGENT,
	SDP_STAY_CAPTURE,
	SDP_STAY_MEMORY,
	SDP_STAY_STALL,
	SDP_STAY_CLOSED,
	SDP_STAY_TOUCH,
	SDP_STAY_ULP,
	SDP_STAY_NEVER,
	SDP_STAY_ONLY,
	SDP_STAY_LOST,
	SDP_STAY_LEAVE,
	SDP_STAY_ROUTE,
	SDP_STAY_IDLE,
	SDP_STAY_AVOID,
	SDP_STAY_TOOL,
	SDP_STAY_MAX,
};

/**
 * struct sdp_base - TCP's own functions for one address family
 * @prot: its struct proto
 * @ops: its struct proto_ops
 * @data_ready: its sk_data_ready
 * @write_space: its sk_write_space
 * @ulp: the ULP, as ss(8) names it while the bytes go by TCP
 * @ulp_local: the same ULP, while they go by memory of the host
 * @ulp_ib: while they go over InfiniBand
 * @ulp_rdma: while they go over another RDMA network
 */
struct sdp_base {
	struct proto *prot;
	const struct proto_ops *ops;
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	const struct tcp_ulp_ops *ulp;
	const struct tcp_ulp_ops *ulp_local;
	const struct tcp_ulp_ops *ulp_ib;
	const struct tcp_ulp_ops *ulp_rdma;
};

/**
 * enum sdp_sleeper - a call that waits for bytes, in the socket's wait queue
 * @SDP_SLEEPER_NONE: there is none, or it is not known
 * @SDP_SLEEPER_WAITS: it sleeps, or is about to
 * @SDP_SLEEPER_TOLD: it has been woken, and has not looked for bytes since; it is still in the
 *	queue
 */
enum sdp_sleeper {
	SDP_SLEEPER_NONE,
	SDP_SLEEPER_WAITS,
	SDP_SLEEPER_TOLD,
};

/**
 * enum sdp_table_state - an end in the table of those that look for their other end on this host
 * @SDP_TABLE_OUT: it is not there
 * @SDP_TABLE_WAITS: it is, and has no lane: the other end makes the pair when it comes
 * @SDP_TABLE_ASKS: it is, and has asked for a carrier of messages meanwhile.  The other end waits
 *	in the table then, until this one looks again.
 */
enum sdp_table_state {
	SDP_TABLE_OUT,
	SDP_TABLE_WAITS,
	SDP_TABLE_ASKS,
};

/**
 * struct sdp_sock - the ULP's part of a socket
 * @sk: the socket
 * @base: TCP's functions
 * @ops: the ULP's struct proto_ops; a socket with others is not moved
 * @pair: set once, with release, by the end that finds the other; freed by RCU
 * @lane: what carriers of messages need; set and cleared under the socket's lock, freed by RCU
 * @ask: a peer's request that waits for a call to let go of the socket; under the socket's
 *	spinlock
 * @seen: nonce of the newest request for a carrier whose proof was right
 * @in_tcp: calls inside TCP's own functions that read; without one a direction may move to a pipe
 * @users: calls that read or write; while there are some the ULP stays
 * @accepted: the peer connected; from the beginning
 * @callback: TCP calls sdp_lane_data_ready(), or a client in the kernel has saved that, and may
 *	put it back when the lane has gone; under the socket's lock and sk_callback_lock
 * @joined: it has its numbers, so it may be in the table or have a pair; under the socket's lock
 * @table: enum sdp_table_state; under sdp_table_lock
 * @mode: SDP_MODE_*; changes by sdp_mode_set(), under the socket's lock
 * @never: the program or a rule says that it does not move
 * @ruled: it was a rule, so the program does not choose another mode: one more than the mode of
 *	before, which the socket's next connection has; or 0; under the socket's lock
 * @ended: a connection of SDP_MODE_ONLY was ended
 * @peer_only: the other end has that mode, and has asked for a carrier
 * @stalled: the sending direction came back last because the peer's program did not read
 * @stay: enum sdp_stay; for good unless it is one that changes (sdp_stay_for_good())
 * @rests: a tool has brought it back, and it has carried too little since
 * @sleeper: enum sdp_sleeper of the call that went to sleep in quick.c last
 * @waits: a thread within a call that has found nothing to read (turn.c); it takes itself out
 *	before the call ends.  A reader under RCU may use its task until the section ends.
 * @turn_vain: as @turn_rest was after the last turn
 * @turn_rest: reads that give no turn, until the next one that does
 * @isn: own initial sequence number
 * @peer_isn: the peer's
 * @passed: the sending direction moves when the peer's TCP has got more than this
 * @recent: bytes of a receive, of late; a large one is forgotten by halves
 * @calls: sends and receives, until the connection is asked about
 * @bytes: bytes of them
 * @looks: how often it has been asked about in vain, and so how many calls it needs before it
 *	is asked about again
 * @refused: the peer has said that it is not to have a carrier
 * @wary: the peer is asked again when @heard has changed
 * @again: the next call is enough to ask for a carrier
 * @heard: count of bytes that came from the peer
 * @later: jiffies before which it is not asked about again, or 0
 * @moves: how often the sending direction has moved
 * @sent: bytes that it has sent by a pipe that it has let go of
 * @received: bytes that it has received so
 * @checked: jiffies when the gate was asked last
 * @touched: jiffies when the sending direction went by TCP last
 * @routes: what sdp_tx_routes() was then
 * @probed: jiffies when only.c sent a packet without bytes to see whether it arrives, or 0
 * @segs: packets that had come to the peer before that
 * @missed: such packets that did not arrive, one after the other
 * @seek: in a list of those that only.c lets find their other end; under sdp_seek_lock
 * @seek_slow: in the list of those whose peers have not answered; under sdp_seek_lock
 * @seek_end: jiffies when it gives up, or 0 as long as TCP has not connected, or others ask first
 * @node: in the table of those that look for their other end; under sdp_table_lock
 * @rcu: for readers of icsk_ulp_data
 */
struct sdp_sock {
	struct sock *sk;
	const struct sdp_base *base;
	const struct proto_ops *ops;
	struct sdp_pair *pair;
	struct sdp_lane *lane;
	struct sdp_ask *ask;
	u64 seen;
	atomic_t in_tcp;
	atomic_t users;
	u8 accepted : 1;
	u8 callback : 1;
	bool joined;
	bool stalled;
	bool never;
	u8 ruled;
	bool ended;
	bool peer_only;
	bool refused;
	bool wary;
	bool again;
	u8 mode;
	u8 stay;
	u8 missed;
	u8 table;
	bool rests;
	bool seek_slow;
	u16 turn_vain;
	u16 turn_rest;
	u32 sleeper;
	struct task_struct *waits;
	u32 isn;
	u32 peer_isn;
	u32 passed;
	u32 recent;
	u32 calls;
	u32 heard;
	u32 routes;
	int looks;
	u64 bytes;
	u32 moves;
	u64 sent;
	u64 received;
	unsigned long checked;
	unsigned long touched;
	unsigned long probed;
	unsigned long later;
	u32 segs;
	struct list_head seek;
	unsigned long seek_end;
	struct hlist_node node;
	struct rcu_head rcu;
};

/* What an endpoint costs that is never moved. */
static_assert(sizeof(struct sdp_sock) <= 256);

static inline struct sdp_pipe *sdp_tx_pipe(const struct sdp_sock *ss, struct sdp_pair *pair)
{
	return &pair->pipe[ss->accepted];
}

static inline struct sdp_pipe *sdp_rx_pipe(const struct sdp_sock *ss, struct sdp_pair *pair)
{
	return &pair->pipe[!ss->accepted];
}

static inline struct sdp_pair *sdp_sock_pair(const struct sdp_sock *ss)
{
	/* Pairs with the release in sdp_pair_connect(). */
	return smp_load_acquire(&ss->pair);
}

/* Does no byte of the connection go by TCP?  The socket is locked. */
static inline bool sdp_only(const struct sdp_sock *ss)
{
	return ss->mode == SDP_MODE_ONLY || ss->peer_only || (ss->pair && ss->pair->only);
}

/* The socket is locked, or the caller is in an RCU read section. */
static inline struct sdp_lane *sdp_sock_lane(const struct sdp_sock *ss)
{
	/* Pairs with the release in sdp_lane_new(). */
	return smp_load_acquire(&ss->lane);
}

/* Does an endpoint have TCP only?  Without its socket's lock the answer is a guess. */
static inline bool sdp_sock_alone(const struct sdp_sock *ss)
{
	return !READ_ONCE(ss->pair) && likely(!READ_ONCE(ss->lane));
}

/* pair.c */
void sdp_sock_numbers(struct sdp_sock *ss);
bool sdp_pair_withdraw(struct sdp_sock *ss, bool asks);
bool sdp_pair_asked(struct sdp_sock *ss);
bool sdp_pair_join(struct sdp_sock *ss, gfp_t gfp);
bool sdp_sock_used(struct sdp_sock *ss, size_t len);
enum sdp_stay sdp_sock_ask(struct sdp_sock *ss, gfp_t gfp);
void sdp_sock_look(struct sdp_sock *ss);
void sdp_pair_close(struct sdp_sock *ss);
void sdp_pair_leave(struct sdp_sock *ss);
void sdp_sock_leave(struct sdp_sock *ss);
void sdp_sock_renew(struct sdp_sock *ss);
void sdp_pair_put(struct sdp_pair *pair);
bool sdp_sock_lock(struct sock *sk, long *patience);
void sdp_pair_exit(void);

/* gate.c */
enum sdp_stay sdp_gate(struct sdp_sock *ss, bool begin);
enum sdp_stay sdp_gate_peer(const struct sdp_sock *peer);
void sdp_stay_set(struct sdp_sock *ss, enum sdp_stay stay, bool back);
void sdp_stay_vain(struct sdp_sock *ss, enum sdp_stay stay);
bool sdp_stay_for_good(enum sdp_stay stay);
const char *sdp_stay_name(enum sdp_stay stay);

/* carrier.c */
extern struct sdp_carrier_ops sdp_carrier_local;

/* avoid.c */
const char *sdp_refusal_name(unsigned int why);

/* order.c */
bool sdp_order_has(const struct net *net, const struct sdp_carrier_ops *ops);
const struct sdp_carrier_ops *sdp_order_next(const struct net *net, unsigned int *at);

/* ask.c */
enum sdp_stay sdp_lane_ask(struct sdp_sock *ss, const struct sdp_carrier_ops *ops, gfp_t gfp);
void sdp_ask_release(struct sdp_sock *ss);

/* lane.c */
bool sdp_lane_asked(const struct sdp_sock *ss);
bool sdp_lane_asking(const struct sdp_lane *lane);
bool sdp_lane_clear(struct sdp_sock *ss);
void sdp_lane_run(struct sdp_lane *lane);
void sdp_lane_release(struct sdp_lane *lane);
void sdp_lane_kick(struct sdp_sock *ss);
void sdp_lane_data_ready(struct sock *sk);
void sdp_lane_hear(struct sdp_sock *ss, bool on);
void sdp_lane_stop(struct sdp_lane *lane);
void sdp_lane_close(struct sdp_sock *ss);
void sdp_lane_leave(struct sdp_sock *ss);
bool sdp_lane_settled(struct sdp_sock *ss);
int sdp_lane_init(struct sdp_sock *(*owner)(const struct sock *sk));
void sdp_lane_exit(void);

/* lane_tx.c */
ssize_t sdp_lane_send(struct sdp_sock *ss, struct msghdr *msg, long *timeo);

/* lend.c */
void sdp_lend_copied(struct ubuf_info *uarg);
struct ubuf_info *sdp_lend_notice(struct sdp_sock *ss, size_t len);
int sdp_lend_tcp(struct sock *sk, struct msghdr *msg, size_t len);

/* lane_move.c */
int sdp_lane_route(struct sdp_sock *ss, long *timeo);
int sdp_lane_return(struct sdp_sock *ss, enum sdp_stay why);

/* lane_rx.c */
void sdp_lane_info(const struct sdp_lane *lane, struct sdp_sock_info *info);
bool sdp_lane_by_tcp(const struct sdp_lane *lane);
bool sdp_lane_waits(const struct sdp_lane *lane);
u32 sdp_lane_tcp_bytes(const struct sdp_lane *lane, const struct sock *sk);
size_t sdp_lane_queued(const struct sdp_lane *lane);
ssize_t sdp_lane_read(struct sdp_sock *ss, struct iov_iter *to, size_t len);
int sdp_lane_give(struct sdp_sock *ss, read_descriptor_t *desc, sk_read_actor_t actor);
size_t sdp_lane_unsure(const struct sdp_lane *lane);
ssize_t sdp_lane_peek(struct sdp_sock *ss, size_t done, struct iov_iter *to, size_t len);

/* move.c */
bool sdp_tx_held(struct sock *sk);
int sdp_tx_feed(struct sock *sk, void *data, size_t len, bool more);
bool sdp_tx_bring(struct sdp_sock *ss, bool (*append)(struct sdp_sock *ss));
void sdp_tx_moved(struct sdp_sock *ss, const struct tcp_ulp_ops *ulp);
void sdp_tx_touched(struct sdp_sock *ss);
void sdp_tx_follow(struct sdp_sock *ss);
bool sdp_tx_try(struct sdp_sock *ss, struct sdp_pipe *pipe);
enum sdp_stay sdp_tx_recheck(struct sdp_sock *ss, struct sdp_pipe *pipe);
void sdp_sock_show(struct sdp_sock *ss, const struct tcp_ulp_ops *ulp);
int sdp_tx_return(struct sdp_sock *ss, enum sdp_stay why);

/*
 * Has a pipe, which is locked, a reader that can be woken?  Callbacks of clients in the kernel want
 * locks: such a reader gets nothing by a pipe.
 */
static inline bool sdp_pipe_wakes(const struct sdp_pipe *pipe)
{
	return pipe->rx &&
	       likely(READ_ONCE(pipe->rx->sk_data_ready) == pipe->reader->base->data_ready);
}

/* only.c */
void sdp_mode_set(struct sdp_sock *ss, u8 mode);
bool sdp_only_any(void);
void sdp_seek(struct sdp_sock *ss);
void sdp_seek_stop(struct sdp_sock *ss);
int sdp_only_end(struct sdp_sock *ss, enum sdp_stay why);
int sdp_only_hold(struct sdp_sock *ss, long *timeo);
int sdp_only_stays(struct sdp_sock *ss, struct sdp_pipe *pipe);
enum sdp_stay sdp_only_touch(struct sdp_sock *ss, struct sdp_pipe *pipe, unsigned int touch);
bool sdp_only_came(const struct sdp_sock *ss);
void sdp_only_exit(void);

/* only_lane.c */
bool sdp_only_ready(const struct sdp_sock *ss);
bool sdp_only_find(struct sdp_sock *ss, gfp_t gfp);
bool sdp_only_over(const struct sdp_sock *ss);
bool sdp_only_owes(const struct sdp_sock *ss);
bool sdp_only_shut(struct sdp_sock *ss);
bool sdp_only_drain(struct sdp_sock *ss);

/* tool.c */
int sdp_tool_return(struct sdp_sock *ss, bool stay);
int sdp_tool_offload(struct sdp_sock *ss);
u32 sdp_tool_away(const struct sdp_sock *ss);

/* tx.c */
bool sdp_tx_shut(const struct sock *sk);
int sdp_tx_back(struct sdp_sock *ss, enum sdp_stay why);
int sdp_tx_send(struct sdp_sock *ss, struct msghdr *msg, size_t len);

/* rx.c */
int sdp_rx_recv(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags, int *addr_len,
		long timeo);
bool sdp_rx_enter_tcp(struct sdp_sock *ss);
void sdp_rx_leave_tcp(struct sdp_sock *ss);
void sdp_rx_shut(struct sdp_sock *ss);
void sdp_rx_stop(struct sdp_sock *ss);
bool sdp_rx_ended(const struct sock *sk);
ssize_t sdp_rx_tcp(struct sock *sk, struct iov_iter *to, size_t len);
ssize_t sdp_rx_peek_tcp(struct sock *sk, size_t skip, struct iov_iter *to, size_t len);
int sdp_rx_wait_readable(struct sdp_sock *ss, bool nonblock);
bool sdp_rx_more(struct sdp_sock *ss, size_t have);
size_t sdp_rx_queued(const struct sdp_sock *ss);
void sdp_rx_watch(const struct sdp_sock *ss);

/* quick.c */
bool sdp_quick_send(struct sdp_sock *ss, struct msghdr *msg, size_t len);
int sdp_quick_recv(struct sdp_sock *ss, struct msghdr *msg, size_t len, int flags, long *timeo);

/* turn.c */
bool sdp_turn_give(struct sdp_sock *ss);

/* client.c */
int sdp_client_read(struct sdp_sock *ss, read_descriptor_t *desc, sk_read_actor_t actor);

#endif /* _SDP_OFFLOAD_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Both directions of a connection that a carrier of messages can have (carrier.h), within the
 * switch: half.c has the rules, ask.c and lane.c the carriers' coming and going,
 * lane_tx.c, lend.c and lane_move.c the direction that is sent, lane_rx.c the other one.
 *
 *	sendmsg -> lane_tx.c -> kept -> carrier ->-> inbox -> lane_rx.c -> queue -> recvmsg
 *	                \-> a return: TCP's queue ->-> TCP's queue -/
 */
#ifndef _SDP_OFFLOAD_LANE_H
#define _SDP_OFFLOAD_LANE_H

#include <linux/workqueue.h>

#include "offload/carrier.h"
#include "offload/half.h"
#include "offload/offload.h"

/**
 * struct sdp_lane - what an endpoint has for carriers of messages
 * @refs: one of the endpoint's, one while @work is queued, and one of each call that waits
 * @ss: the endpoint; NULL when it is gone
 * @sk: its socket, likewise; under @lock, so that others can find it
 * @lock: for @sk
 * @tx: state of the direction that is sent
 * @rx: and of the one that is received
 * @carrier: the one that there is, referenced, or NULL
 * @carriers: how many there were
 * @kind: SDP_SOCK_BY_*, of the last one
 * @kept: what was sent and is not acknowledged; counts as the socket's memory
 * @post: the first of @kept that the carrier has not got, or NULL
 * @lent: bytes that carriers have got without a copy
 * @held: messages that have come and cannot be taken in yet
 * @queue: what has come, in order
 * @offset: bytes of the first of @queue that were read
 * @memory: that @queue takes
 * @owed: Data that were taken in, and @carrier was not told that there is room for others
 * @checked: jiffies when the gate was asked for the direction that is received
 * @queued: bytes of @queue that were not; written under the socket's lock, read without
 * @say_switch: a Switch is to be sent before anything else
 * @say_note: the receiver is to learn that the sender is sure
 * @say_leave: the peer is to return
 * @ready: @carrier is joined, and no byte may go by TCP; written under the socket's lock, read
 *	without
 * @fin: the program sends no more, and the peer is to be told by a carrier
 * @end: number of the message that has told it, or 0
 * @ended: the peer has taken that in; as @ready
 * @asking: message @asked waits for an acknowledgment, and told the peer so
 * @asked: its number
 * @back: the direction that is sent is to return for this reason, or SDP_STAY_NOT
 * @reset: the peer's bytes make no sense: the connection is reset
 * @kicked: something has happened while the socket was in use
 * @redo: @work found the socket in use
 * @started: jiffies since which bytes wait for an acknowledgment
 * @active: jiffies when bytes were sent or have come last
 * @due: jiffies when @work is done, if it is queued
 * @work: does what has to be done in process context
 * @rcu: for readers of sdp_sock.lane
 *
 * The lock of the endpoint's socket protects it all, but for what is said otherwise.
 */
struct sdp_lane {
	refcount_t refs;
	struct sdp_sock *ss;
	struct sock *sk;
	spinlock_t lock;	/* see above */
	struct sdp_half_tx tx;
	struct sdp_half_rx rx;
	struct sdp_carrier *carrier;
	u32 carriers;
	u8 kind;
	struct sk_buff_head kept;
	struct sk_buff *post;
	u64 lent;
	struct sk_buff_head held;
	struct sk_buff_head queue;
	u32 offset;
	size_t queued;
	size_t memory;
	u32 owed;
	unsigned long checked;
	bool say_switch;
	bool say_note;
	bool say_leave;
	bool ready;
	bool fin;
	bool ended;
	u32 end;
	bool asking;
	u32 asked;
	bool reset;
	bool kicked;
	bool redo;
	enum sdp_stay back;
	unsigned long started;
	unsigned long active;
	unsigned long due;
	struct delayed_work work;
	struct rcu_head rcu;
};

/*
 * Does the carrier stay when a direction returns for this reason?  The other direction may go on,
 * or has to be asked to return.
 */
static inline bool sdp_lane_stays(enum sdp_stay why)
{
	switch (why) {
	case SDP_STAY_TOUCH:
	case SDP_STAY_CLOSED:
	case SDP_STAY_URGENT:
	case SDP_STAY_ULP:
	case SDP_STAY_REPAIR:
	case SDP_STAY_TOOL:
		return true;
	default:
		return false;
	}
}

/* join.c */
void sdp_join_key(struct sdp_sock *ss, siphash_key_t *key);
__be64 sdp_join_proof(const siphash_key_t *key, u32 step, const struct sdp_join *join,
		      __be64 other);
void sdp_join_make(struct sdp_sock *ss, struct sdp_carrier *c, struct sdp_join *join);
void sdp_join_answer(struct sdp_sock *ss, struct sdp_carrier *c, const struct sdp_join *join,
		     struct sdp_join *answer);
struct sock *sdp_join_find(struct net *net, const struct sdp_join *join);

/* carrier.c */
void sdp_carrier_init(void);
const struct sdp_carrier_ops *sdp_carrier_next(unsigned int *at);
const struct sdp_carrier_ops *sdp_carrier_named(const char *name);
struct sdp_carrier *sdp_carrier_new(struct sdp_lane *lane, const struct sdp_carrier_ops *ops,
				    gfp_t gfp);

/* lane.c */
struct sdp_lane *sdp_lane_new(struct sdp_sock *ss, gfp_t gfp);
void sdp_lane_put(struct sdp_lane *lane);
void sdp_lane_lose(struct sdp_lane *lane);
void sdp_lane_later(struct sdp_lane *lane, unsigned long delay);
unsigned long sdp_lane_patience(const struct sock *sk);

/* ask.c */
enum sdp_stay sdp_lane_way(const struct sdp_lane *lane);
void sdp_ask_init(struct sdp_sock *(*owner)(const struct sock *sk));

/* lane_tx.c */
void sdp_lane_push(struct sdp_lane *lane);
void sdp_lane_acked(struct sdp_lane *lane, u32 mseq);
void sdp_lane_purge(struct sdp_lane *lane);
bool sdp_lane_forget(struct sdp_lane *lane, u64 pos);

/* lend.c */
bool sdp_lend_wants(const struct sdp_lane *lane, const struct msghdr *msg);
ssize_t sdp_lend_fill(struct sock *sk, struct sk_buff *skb, struct msghdr *msg, size_t len);
void sdp_lend_back(struct sdp_lane *lane);

/* lane_move.c */
bool sdp_lane_flies(const struct sdp_lane *lane);
bool sdp_lane_try(struct sdp_lane *lane);
bool sdp_lane_again(struct sdp_lane *lane);

/* lane_rx.c */
void sdp_lane_take(struct sdp_lane *lane);
bool sdp_lane_takes(const struct sdp_lane *lane);
void sdp_lane_look(struct sdp_lane *lane);

/* spare.c */
void sdp_spare_sent(struct sdp_lane *lane, struct sk_buff *skb);
struct sk_buff *sdp_spare_take(struct sdp_lane *lane);
void sdp_spare_read(struct sdp_lane *lane, struct sk_buff *skb);

/* only_lane.c */
bool sdp_only_fresh(const struct sdp_sock *ss);
int sdp_only_route(struct sdp_sock *ss, long *timeo);
void sdp_only_joined(struct sdp_lane *lane);
void sdp_only_ended(struct sdp_lane *lane);
void sdp_only_do(struct sdp_lane *lane);

#endif /* _SDP_OFFLOAD_LANE_H */

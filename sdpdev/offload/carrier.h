/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the switch and a carrier of messages say to each other.
 *
 * A carrier brings messages from one end of a TCP connection to the other one: all of them, once,
 * in order, until it is lost.  It knows no socket and no stream.  The switch decides what goes by
 * it, keeps what the peer has not acknowledged, and goes back to TCP when the carrier is lost.
 *
 *	the switch			a carrier's module
 *	ops->ask()			asks the peer; sdp_carrier_joined() or sdp_carrier_lost()
 *					of a peer's request: sdp_carrier_answer(), which may say no
 *	ops->send()			a message; its memory stays as it is until ops->end()
 *					sdp_carrier_arrived(): one from the peer
 *	ops->taken()			tells the peer, whose carrier calls sdp_carrier_acked()
 *					sdp_carrier_room(): send() that said -EAGAIN would not now
 *	ops->end()			sdp_carrier_lost(): it is over, whoever has ended it
 *
 * The switch calls with the lock of the connection's socket held, in any context, so no operation
 * sleeps; but for ask(), and that may not either.  A carrier's module calls without a lock that
 * its operations take.  What it calls is queued where the socket is in use.
 */
#ifndef _SDP_OFFLOAD_CARRIER_H
#define _SDP_OFFLOAD_CARRIER_H

#include <linux/in6.h>
#include <linux/refcount.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct module;
struct net;
struct sdp_carrier;
struct sdp_lane;
struct sock;

/**
 * struct sdp_join - which connection is to be joined, and the proof that the asker has it
 * @from: address of the end that asks; IPv4 as ::ffff:0:0/96
 * @to: of the other end
 * @from_port: and its port
 * @to_port: and that one's
 * @ifindex: device by which the connection's packets leave; the asker's own number for it
 * @nonce: random; the asker's
 * @proof: shows that the asker knows both initial sequence numbers, and does not tell them
 *
 * Everything that TCP hands over.  An answer has the same form: the asker checks @proof, which is
 * made of both nonces.
 */
struct sdp_join {
	struct in6_addr from;
	struct in6_addr to;
	__be16 from_port;
	__be16 to_port;
	int ifindex;
	__be64 nonce;
	__be64 proof;
};

/* Kinds of messages. */
enum sdp_lane_msg_type {
	SDP_MSG_SWITCH,		/* the sender leaves TCP; @n, @pos, @token */
	SDP_MSG_DATA,		/* bytes of the stream */
	SDP_MSG_NOTE,		/* nothing but @sure */
	SDP_MSG_LEAVE,		/* the receiver is to return its own direction */
};

/**
 * struct sdp_lane_msg - what a message says beside its bytes; in skb->cb
 * @type: enum sdp_lane_msg_type
 * @sure: the sender is sure (half.c)
 * @n: sequence number at which TCP was left
 * @mseq: number of the message on its carrier; the sender's
 * @skip: bytes at the beginning that were there already; the receiver's
 * @pos: position of the first byte
 * @token: of @n
 */
struct sdp_lane_msg {
	u8 type;
	bool sure;
	u32 n;
	u32 mseq;
	u32 skip;
	u64 pos;
	siphash_key_t token;
};

static inline struct sdp_lane_msg *sdp_lane_msg(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct sdp_lane_msg) > sizeof(skb->cb));
	return (struct sdp_lane_msg *)skb->cb;
}

/**
 * struct sdp_carrier_ops - a kind of carrier
 * @name: what tools call it
 * @owner: the module
 * @kind: SDP_SOCK_BY_*, which programs and administrators see
 * @rank: where more than one would do, the switch asks the lowest; memory of the host has 0
 * @most: bytes of a message, at most
 * @ask: ask the peer of a connection.  Context: process, the socket locked; does not sleep.
 *	Returns 0, or -errno if it cannot be asked.
 * @send: send a message.  Returns 0, and the message is the carrier's; -EAGAIN if there is no
 *	room, and the carrier calls sdp_carrier_room() later; another error if it is lost.
 * @taken: the switch has taken in so many messages more, which the peer may be told
 * @end: the switch uses it no more.  The module calls sdp_carrier_put() when it has no
 *	reference to the carrier any more.
 * @list: the switch's
 */
struct sdp_carrier_ops {
	const char *name;
	struct module *owner;
	u8 kind;
	int rank;
	u32 most;
	int (*ask)(struct sdp_carrier *c, struct net *net, const struct sdp_join *join);
	int (*send)(struct sdp_carrier *c, struct sk_buff *skb);
	void (*taken)(struct sdp_carrier *c, u32 count);
	void (*end)(struct sdp_carrier *c);
	struct list_head list;
};

/* What has happened to a carrier, and the switch has not looked at; bits. */
enum sdp_carrier_event {
	SDP_CARRIER_JOINED,
	SDP_CARRIER_ROOM,
	SDP_CARRIER_LOST,
};

/**
 * struct sdp_carrier - a carrier of one connection
 * @refs: the switch has one, and the module one from ask() or sdp_carrier_answer() on
 * @ops: its kind
 * @priv: the module's
 * @number: of the connection's carriers
 * @nonce: of the end that asked
 * @key: both initial sequence numbers
 * @joined: the switch knows that it is; under the socket's lock
 * @sent: messages that were sent; under the socket's lock
 * @lock: for what follows
 * @sk: the connection's socket; NULL when the switch has ended it
 * @lane: what the switch has for it; as @sk
 * @inbox: messages that the switch has not looked at
 * @events: bits of enum sdp_carrier_event
 * @acked: messages that the peer has taken in
 */
struct sdp_carrier {
	refcount_t refs;
	const struct sdp_carrier_ops *ops;
	void *priv;
	u32 number;
	__be64 nonce;
	siphash_key_t key;
	bool joined;
	u32 sent;
	spinlock_t lock;	/* see above */
	struct sock *sk;
	struct sdp_lane *lane;
	struct sk_buff_head inbox;
	unsigned long events;
	u32 acked;
};

int sdp_carrier_register(struct sdp_carrier_ops *ops);
void sdp_carrier_unregister(struct sdp_carrier_ops *ops);
struct sdp_carrier *sdp_carrier_answer(const struct sdp_carrier_ops *ops, struct net *net,
				       const struct sdp_join *join, struct sdp_join *answer,
				       void *priv);
bool sdp_carrier_joined(struct sdp_carrier *c, const struct sdp_join *answer);
void sdp_carrier_arrived(struct sdp_carrier *c, struct sk_buff *skb);
void sdp_carrier_acked(struct sdp_carrier *c, u32 mseq);
void sdp_carrier_room(struct sdp_carrier *c);
void sdp_carrier_lost(struct sdp_carrier *c);
void sdp_carrier_put(struct sdp_carrier *c);

#endif /* _SDP_OFFLOAD_CARRIER_H */

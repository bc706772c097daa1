/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the offload layer and a carrier of messages.
 *
 * A carrier brings messages from one end of a TCP connection to the other one: all of them, once,
 * in order, until it is lost.  It knows neither sockets nor streams.  The offload layer decides
 * which bytes go by the carrier, keeps the bytes that the peer has not acknowledged, and returns to
 * TCP when the carrier is lost.
 *
 *	the offload layer		a carrier's module
 *	ops->ask()			asks the peer; sdp_carrier_joined() or sdp_carrier_lost()
 *					sdp_carrier_refused(): lost, and the peer has said why
 *					sdp_carrier_answer(): a peer asks; the layer may refuse
 *	ops->send()			sends a message.  Its bytes do not change, unless they are
 *					lent: a program may write to its own memory, or to a file
 *					sdp_carrier_arrived(): a message from the peer
 *	ops->taken()			tells the peer, whose carrier calls sdp_carrier_acked()
 *	ops->freed()			tells the peer that there is room for more messages
 *					sdp_carrier_room(): send() has returned -EAGAIN, and would
 *					not do so now
 *	ops->end()			sdp_carrier_lost(): either side has ended it
 *					sdp_carrier_changed(): peers may have come within reach
 *
 * The offload layer accepts and acknowledges messages whether the program reads or not.  Bytes
 * that the program has not read limit what the peer may send: ops->freed() then comes later.
 *
 * The offload layer calls with the lock of the connection's socket held, in any context, so no
 * operation may sleep.  When a carrier's module calls, it holds no lock that its operations take.
 * If the socket is in use, the layer queues the call.
 */
#ifndef _SDP_OFFLOAD_CARRIER_H
#define _SDP_OFFLOAD_CARRIER_H

#include <linux/errno.h>
#include <linux/in6.h>
#include <linux/refcount.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct mem_cgroup;
struct module;
struct net;
struct net_device;
struct sdp_carrier;
struct sdp_lane;
struct sock;

/**
 * struct sdp_join - the connection to join, and the proof that the asker has it
 * @from: address of the end that asks; IPv4 as ::ffff:0:0/96
 * @to: address of the other end
 * @from_port: port of the end that asks
 * @to_port: port of the other end
 * @ifindex: device by which the connection's packets leave; the asker's own number for it
 * @nonce: the asker's, which grows with each request; of an answer a random one
 * @terms: what else an end says of itself by which the other one is bound, as the carrier's module
 *	has it; part of what is proved
 * @proof: shows that the asker knows both initial sequence numbers, and does not tell them
 * @mark: SO_MARK of the end's socket
 * @uid: its owner
 * @payer: whose share of an adapter it takes
 * @tos: type of service, or traffic class, of its packets
 * @v4: they are IPv4, also if the socket is AF_INET6
 * @only: of a request: no byte of the connection may go by TCP; part of what is proved
 *
 * Everything that TCP hands over.  An answer has the same form: the asker checks @proof, which is
 * made of both nonces.  What comes behind @proof is an end's own, for a look at its routes.
 */
struct sdp_join {
	struct in6_addr from;
	struct in6_addr to;
	__be16 from_port;
	__be16 to_port;
	int ifindex;
	__be64 nonce;
	__be64 terms;
	__be64 proof;
	u32 mark;
	kuid_t uid;
	kuid_t payer;
	u8 tos;
	bool v4;
	bool only;
};

/**
 * enum sdp_refusal - why a carrier was not joined
 * @SDP_REFUSED_LATER: it may be asked again when more bytes have come from the peer
 * @SDP_REFUSED_NO_SERVICE: the peer has no service for such requests
 * @SDP_REFUSED_VERSION: no version that both know
 * @SDP_REFUSED_NEVER: this connection is not to have one
 * @SDP_REFUSED_PROOF: a proof was wrong: something lies between the ends
 * @SDP_REFUSED_UNREACHABLE: no answer, or no path
 * @SDP_REFUSALS: their number
 */
enum sdp_refusal {
	SDP_REFUSED_LATER,
	SDP_REFUSED_NO_SERVICE,
	SDP_REFUSED_VERSION,
	SDP_REFUSED_NEVER,
	SDP_REFUSED_PROOF,
	SDP_REFUSED_UNREACHABLE,
	SDP_REFUSALS,
};

/* What an error of sdp_carrier_answer() is to the end that has asked. */
static inline enum sdp_refusal sdp_refusal_of(int err)
{
	switch (err) {
	case -EACCES:
		return SDP_REFUSED_PROOF;
	case -EPERM:
		return SDP_REFUSED_NEVER;
	default:
		return SDP_REFUSED_LATER;
	}
}

/* Kinds of messages. */
enum sdp_lane_msg_type {
	SDP_MSG_SWITCH,		/* the sender leaves TCP; @n, @pos, @token */
	SDP_MSG_DATA,		/* bytes of the stream */
	SDP_MSG_NOTE,		/* nothing but @sure */
	SDP_MSG_LEAVE,		/* the receiver is to return its own direction */
	SDP_MSG_END,		/* the stream ends, and TCP's FIN follows */
};

/**
 * struct sdp_lane_msg - what a message says beside its bytes; in skb->cb
 * @type: enum sdp_lane_msg_type
 * @sure: the sender is sure (half.c)
 * @ask: it waits for an acknowledgment; the sender's
 * @lent: some pages are not the sender's own; the sender's
 * @n: sequence number at which TCP was left
 * @mseq: number of the message on its carrier; the sender's
 * @skip: bytes at the beginning that were there already; the receiver's
 * @pos: position of the first byte
 * @token: of @n
 */
struct sdp_lane_msg {
	u8 type;
	bool sure;
	bool ask;
	bool lent;
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
 * @rank: if several kinds fit, the offload layer asks for the lowest; memory of the host has 0
 * @terms: of the kind, see struct sdp_join
 * @most: as sdp_carrier.most, unless that is lower
 * @tail: likewise
 * @fits: could a connection have this kind whose packets leave by the device?  Context: any, in
 *	an RCU read section.  NULL: any connection could.
 * @ask: ask the peer of a connection.  Returns 0, or -errno if it cannot be asked.
 * @send: send a message, of which the carrier clones what it keeps.  Returns 0; -EAGAIN if there
 *	is no room, and the carrier calls sdp_carrier_room() later; -ENOMEM: the offload layer
 *	tries again; another error if the carrier is lost.  A message without bytes should find
 *	room even if the peer's program does not read.
 * @busy: are messages on their way?  Then the carrier calls sdp_carrier_room() when none are.
 *	NULL: it does not know.
 * @taken: the offload layer has accepted so many more messages, which may be acknowledged
 * @freed: there is room for so many more messages than when the carrier was joined; the layer
 *	counts each accepted message once, and those without bytes at once.  NULL: the carrier
 *	does not count them.
 * @end: the offload layer does not use it any more.  The module calls sdp_carrier_put() when it
 *	has no reference to the carrier any more.
 * @list: the offload layer's
 */
struct sdp_carrier_ops {
	const char *name;
	struct module *owner;
	u8 kind;
	int rank;
	__be64 terms;
	u32 most;
	u32 tail;
	bool (*fits)(struct net *net, const struct net_device *dev);
	int (*ask)(struct sdp_carrier *c, struct net *net, const struct sdp_join *join);
	int (*send)(struct sdp_carrier *c, struct sk_buff *skb);
	bool (*busy)(struct sdp_carrier *c);
	void (*taken)(struct sdp_carrier *c, u32 count);
	void (*freed)(struct sdp_carrier *c, u32 count);
	void (*end)(struct sdp_carrier *c);
	struct list_head list;
};

/* What has happened to a carrier, and the offload layer has not looked at; bits. */
enum sdp_carrier_event {
	SDP_CARRIER_JOINED,
	SDP_CARRIER_ROOM,
	SDP_CARRIER_LOST,
};

/**
 * struct sdp_carrier - a carrier of one connection
 * @refs: the offload layer has one, and the module one from ask() or sdp_carrier_answer() on
 * @ops: its kind
 * @priv: the module's
 * @most: bytes of a message that others follow, at most; the module may lower it before
 *	sdp_carrier_joined()
 * @tail: bytes that it may have more if none are left for a message behind it; likewise
 * @number: of the connection's carriers
 * @ifindex: device by which the connection's packets left when the carrier was asked for
 * @began: jiffies of that
 * @nonce: of the end that asked
 * @answer: nonce of the other end; there when the answer is
 * @key: both initial sequence numbers
 * @refusal: enum sdp_refusal, of a carrier that was not joined
 * @retry: jiffies before which the peer is not to be asked again
 * @joined: the offload layer knows that it is; under the socket's lock
 * @judged: what others may learn of it has been drawn; under the socket's lock
 * @sent: messages that were sent; under the socket's lock
 * @own: memory for the next message to be sent, or NULL; likewise
 * @data: those with bytes that were sent or have come; likewise
 * @bytes: theirs
 * @spare: memory for the next message that comes, or NULL; taken and put by xchg()
 * @lock: for @sk, @lane and @inbox
 * @sk: the connection's socket; NULL when the offload layer has ended it
 * @lane: what the offload layer has for it; as @sk
 * @inbox: messages that the offload layer has not looked at
 * @events: bits of enum sdp_carrier_event; changed by atomic operations
 * @acked: messages that the peer has taken in; written by the module alone, without a lock
 */
struct sdp_carrier {
	refcount_t refs;
	const struct sdp_carrier_ops *ops;
	void *priv;
	u32 most;
	u32 tail;
	u32 number;
	int ifindex;
	unsigned long began;
	__be64 nonce;
	__be64 answer;
	siphash_key_t key;
	u8 refusal;
	unsigned long retry;
	bool joined;
	bool judged;
	u32 sent;
	u32 data;
	u64 bytes;
	struct sk_buff *own;
	struct sk_buff *spare;
	spinlock_t lock;	/* see above */
	struct sock *sk;
	struct sdp_lane *lane;
	struct sk_buff_head inbox;
	unsigned long events;
	u32 acked;
};

/* An empty packet for as many bytes as a message that was read, or more; or NULL.  Any context. */
static inline struct sk_buff *sdp_carrier_spare(struct sdp_carrier *c)
{
	return READ_ONCE(c->spare) ? xchg(&c->spare, NULL) : NULL;
}

int sdp_carrier_register(struct sdp_carrier_ops *ops);
void sdp_carrier_unregister(struct sdp_carrier_ops *ops);
void sdp_carrier_changed(const struct sdp_carrier_ops *ops);
struct sdp_carrier *sdp_carrier_answer(const struct sdp_carrier_ops *ops, struct net *net,
				       const struct sdp_join *join, struct sdp_join *answer,
				       void *priv);
__be64 sdp_carrier_proof(const struct sdp_carrier *c, u32 step, const struct sdp_join *join,
			 __be64 other);
bool sdp_carrier_joined(struct sdp_carrier *c, const struct sdp_join *answer);
void sdp_carrier_refused(struct sdp_carrier *c, enum sdp_refusal why, unsigned int retry_ms);
void sdp_carrier_arrived(struct sdp_carrier *c, struct sk_buff *skb);
void sdp_carrier_acked(struct sdp_carrier *c, u32 mseq, bool more);
struct mem_cgroup *sdp_carrier_memcg(struct sdp_carrier *c);
void sdp_carrier_room(struct sdp_carrier *c);
void sdp_carrier_lost(struct sdp_carrier *c);
void sdp_carrier_put(struct sdp_carrier *c);

#endif /* _SDP_OFFLOAD_CARRIER_H */

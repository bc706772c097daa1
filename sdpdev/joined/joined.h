/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Joined connections: the carrier of messages (offload/carrier.h) that goes over the Sockets
 * Direct Protocol, on a channel (chan/chan.h) of its own for each TCP connection.
 *
 * kind.c has the kinds of carriers, and what an end sends; joined.c, which it calls, what an end
 * receives, and the carrier's life; request.c, which that one calls, reads and writes what the
 * two ends tell each other when they join.
 */
#ifndef _SDP_JOINED_H
#define _SDP_JOINED_H

#include "chan/chan.h"
#include "offload/carrier.h"
#include "sdp/wire.h"
#include "transport/transport.h"

/* The port of the service on each device, where no program can listen. */
#define SDP_JOINED_PORT		0

/* Version of the protocol: the only one. */
#define SDP_JOINED_VERSION	1

/* Messages that the annex does not have, and only joined connections do. */
enum sdp_joined_mid {
	SDP_MID_JOIN	= 0x40,	/* in private data of request and acceptance */
	SDP_MID_JOINED	= 0x41,	/* the first of the end that asked: the third proof */
	SDP_MID_SWITCH	= 0x42,	/* the sender leaves TCP */
	SDP_MID_LEAVE	= 0x43,	/* the receiver is to return */
	SDP_MID_NOTE	= 0x44,	/* nothing but its flags */
	SDP_MID_END	= 0x45,	/* the sender's stream ends */
};

/* Flags of a request. */
#define SDP_JOINED_F_ONLY	0x01	/* no byte of the connection may go by TCP */

/* Why a request is refused, as its private data say. */
enum sdp_joined_refusal {
	SDP_JOINED_LATER	= 1,
	SDP_JOINED_VERSIONS	= 2,
};

/**
 * struct sdp_joined_req - private data of a request
 * @bsdh: base header, SDP_MID_JOIN; @bufs: receive buffers of the end that asks
 * @highest: version that it knows
 * @lowest: likewise
 * @flags: SDP_JOINED_F_*
 * @zero: zero
 * @from_port: TCP port of the end that asks
 * @to_port: of the other end
 * @size: bytes of each of its receive buffers, the base header included
 * @nonce: grows with each request
 * @proof: of struct sdp_join
 * @from: address of the end that asks; IPv4 as ::ffff:0:0/96
 * @to: of the other end
 *
 * A transport that names the addresses itself carries what comes before @from.
 */
struct sdp_joined_req {
	struct sdp_bsdh bsdh;
	__u8 highest;
	__u8 lowest;
	__u8 flags;
	__u8 zero;
	__be16 from_port;
	__be16 to_port;
	__be32 size;
	__be64 nonce;
	__be64 proof;
	struct in6_addr from;
	struct in6_addr to;
} __packed __aligned(4);

#define SDP_JOINED_NAMED	offsetof(struct sdp_joined_req, from)

/**
 * struct sdp_joined_names - both ends as a transport names them
 * @from: the end that asks
 * @to: the other end
 */
struct sdp_joined_names {
	const struct sockaddr_storage *from;
	const struct sockaddr_storage *to;
};

/**
 * struct sdp_joined_rep - private data of an acceptance
 * @bsdh: base header, SDP_MID_JOIN; @bufs: receive buffers of the end that was asked
 * @version: the one that both speak
 * @zero: zero
 * @size: bytes of each of its receive buffers, the base header included
 * @nonce: random
 * @proof: of struct sdp_join
 */
struct sdp_joined_rep {
	struct sdp_bsdh bsdh;
	__u8 version;
	__u8 zero[3];
	__be32 size;
	__be64 nonce;
	__be64 proof;
} __packed __aligned(4);

/**
 * struct sdp_joined_rej - private data of a refusal
 * @version: SDP_JOINED_VERSION
 * @reason: enum sdp_joined_refusal
 * @zero: zero
 * @retry: milliseconds after which it may be asked again
 */
struct sdp_joined_rej {
	__u8 version;
	__u8 reason;
	__be16 zero;
	__be32 retry;
};

/**
 * struct sdp_joined_switch - what follows the base header of a Switch
 * @n: sequence number at which TCP was left
 * @zero: zero
 * @pos: position of the first byte that follows in Data messages
 * @token: of @n
 */
struct sdp_joined_switch {
	__be32 n;
	__be32 zero;
	__be64 pos;
	__be64 token[2];
};

/* What an end says of itself, for struct sdp_join: no other end can change it on the way. */
#define SDP_JOINED_TERMS(highest, lowest, bufs, size)	\
	cpu_to_be64((u64)(highest) << 56 | (u64)(lowest) << 48 | (u64)(bufs) << 32 | (size))

/* What a request or its answer says of the receive buffers. */
struct sdp_joined_bufs {
	u32 bufs;
	u32 size;
};

/* Bytes of a receive buffer. */
#define SDP_JOINED_SIZE		(SDP_CHAN_SIZE + sizeof(struct sdp_bsdh))

/**
 * struct sdp_joined - a joined connection, or one that is asked for
 * @chan: its channel
 * @c: the carrier, referenced
 * @join: the request
 * @answer: the answer
 * @peer: the peer's buffers
 * @ready: the carrier can be used: softirq, or open()
 * @deadline: of the third proof
 *
 * Lives as long as its channel, of which the offload layer has the user's reference until
 * ops->end().
 */
struct sdp_joined {
	struct sdp_chan chan;
	struct sdp_carrier *c;
	struct sdp_join join;
	struct sdp_join answer;
	struct sdp_joined_bufs peer;
	bool ready;
	struct timer_list deadline;
};

static inline struct sdp_joined *sdp_joined_of(struct sdp_chan *chan)
{
	return container_of(chan, struct sdp_joined, chan);
}

/* request.c */
void sdp_joined_build_req(struct sdp_joined_req *req, const struct sdp_join *join,
			  const struct sdp_joined_bufs *own);
bool sdp_joined_parse_req(const void *pdata, unsigned int len,
			  const struct sdp_joined_names *names, struct sdp_join *join,
			  struct sdp_joined_bufs *peer, bool *version);
void sdp_joined_build_rep(struct sdp_joined_rep *rep, const struct sdp_join *answer,
			  const struct sdp_joined_bufs *own);
bool sdp_joined_parse_rep(const void *pdata, unsigned int len, const struct sdp_join *asked,
			  struct sdp_join *answer, struct sdp_joined_bufs *peer);
void sdp_joined_addrs(const struct sdp_join *join, struct sockaddr_storage *from,
		      struct sockaddr_storage *to);

/* joined.c */
int sdp_joined_request_addrs(const void *pdata, unsigned int len,
			     struct sockaddr_storage *local, struct sockaddr_storage *peer);
int sdp_joined_answer(const struct sdp_carrier_ops *ops, struct sdp_xprt_conn *xc,
		      const struct sdp_xprt_event *ev);
int sdp_joined_ask(struct sdp_carrier *c, struct net *net, const struct sdp_join *join);

/* kind.c */
int sdp_joined_start(void);
void sdp_joined_stop(void);
void sdp_joined_changed(const struct sdp_xprt_ops *xprt);
int sdp_joined_request(struct sdp_xprt_conn *xc, const struct sdp_xprt_event *ev);

#endif /* _SDP_JOINED_H */

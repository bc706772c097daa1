/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a link that is far away: another kernel's softib, over UDP
 *
 * What the two ends send each other are datagrams that begin with a struct
 * softib_far_hdr. All fields are big endian.
 */
#ifndef _SOFTIB_FAR_H
#define _SOFTIB_FAR_H

#include <linux/in6.h>
#include <linux/net.h>
#include <net/dst_cache.h>

#include "fabric.h"

#define SOFTIB_FAR_MAGIC	0x53494246	/* "SIBF" */
#define SOFTIB_FAR_VERSION	1

enum softib_far_type {
	SOFTIB_FAR_HELLO = 1,
	SOFTIB_FAR_PACKET = 2,
};

/**
 * struct softib_far_hdr - what every datagram begins with
 * @magic:	SOFTIB_FAR_MAGIC
 * @version:	SOFTIB_FAR_VERSION
 * @type:	what follows, enum softib_far_type: a struct softib_far_hello, or
 *		a packet as it is on the wire, from LRH to VCRC (IBA 7.8)
 * @hops:	of a packet, how many switches it has come to; else zero
 * @reserved:	zero when sent, ignored when received
 */
struct softib_far_hdr {
	__be32 magic;
	u8 version;
	u8 type;
	u8 hops;
	u8 reserved;
};

/**
 * struct softib_far_hello - what an end says of itself
 * @session:	a number other than zero, which the sender takes at random when
 *		the link is plugged in, and counts up when it trains the link
 * @heard:	@session in the last hello that the sender has heard, or zero
 * @up:		1 if the sender's end is ready, 0 if not
 * @mtu:	MTU of the sender's end, enum ib_mtu
 * @rate:	rate of the sender's end, enum softib_rate
 * @reserved:	zero when sent, ignored when received
 *
 * The physical link is up while both ends are ready and each has heard the
 * other's session. A session that neither side knew trains it again.
 */
struct softib_far_hello {
	__be32 session;
	__be32 heard;
	u8 up;
	u8 mtu;
	u8 rate;
	u8 reserved;
};

union softib_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Why datagrams were dropped */
enum softib_far_drop {
	SOFTIB_FAR_FOREIGN,	/* received, but not from the peer */
	SOFTIB_FAR_MALFORMED,	/* received, but not what the above says */
	SOFTIB_FAR_UNSENT,	/* no way to the peer, or no memory */
	SOFTIB_FAR_NDROPS
};

struct softib_far;

/**
 * struct softib_far_ops - what the socket tells of what it gets
 * @hello:	a hello came from the peer; false if it has a value that does not
 *		exist. Called with bottom halves disabled, as the next one
 * @packet:	a packet came from the peer; consumed
 * @gone:	the socket is gone: nothing will be heard of the peer any more
 */
struct softib_far_ops {
	bool (*hello)(struct softib_far *far, const struct softib_far_hello *hello);
	void (*packet)(struct softib_far *far, struct sk_buff *skb);
	void (*gone)(struct softib_far *far);
};

/**
 * struct softib_far - the far end of a link
 * @link:	the link
 * @side:	which end of it is far away
 * @ops:	what the socket tells of what it gets
 * @bind:	address and port here
 * @peer:	address and port of the other kernel's end
 * @dropped:	how many datagrams were dropped, by enum softib_far_drop
 * @session:	this side's number, see struct softib_far_hello; under
 *		softib_mgmt_lock, as all up to @work
 * @hello:	the last that was heard; all zero if there is none, or it is too
 *		old
 * @heard:	when the peer was last heard, in jiffies; without the lock
 * @trained:	the peer's session that the link is up with; 0 while it is down
 * @said:	the last hello that was sent
 * @next:	when the next one is due, in jiffies
 * @rest:	@work is not run before, in jiffies
 * @work:	says hello, and lets the link follow what the peer says
 * @list:	in the list of those with a socket, under its lock
 * @sock:	the socket, which is not counted by its namespace; NULL when that
 *		is gone. Written under the lock of the list, read under RCU.
 * @dst_cache:	the way to the peer; used while @sock is
 *
 * It lives from softib_far_new() to softib_far_free(), during which the link is
 * plugged in. What comes in by the socket is a reader of RCU.
 */
struct softib_far {
	struct softib_link *link;
	u8 side;
	const struct softib_far_ops *ops;
	union softib_addr bind;
	union softib_addr peer;
	atomic_long_t dropped[SOFTIB_FAR_NDROPS];

	u32 session;
	struct softib_far_hello hello;
	unsigned long heard;
	u32 trained;
	struct softib_far_hello said;
	unsigned long next;
	unsigned long rest;
	struct delayed_work work;

	struct list_head list;
	struct socket __rcu *sock;
	struct dst_cache dst_cache;
};

static inline void softib_far_count(struct softib_far *far,
				    enum softib_far_drop why)
{
	atomic_long_inc(&far->dropped[why]);
}

/* far_train.c */
struct softib_far *softib_far_new(struct softib_link *link, u8 side,
				  const union softib_addr *bind,
				  const union softib_addr *peer);
void softib_far_stop(struct softib_far *far);
void softib_far_free(struct softib_far *far);
void softib_far_train(struct softib_far *far);

/* udp.c */
int softib_udp_open(struct softib_far *far);
void softib_udp_start(struct softib_far *far);
void softib_udp_close(struct softib_far *far);
void softib_udp_say(struct softib_far *far,
		    const struct softib_far_hello *hello);
void softib_udp_send(struct softib_far *far, struct sk_buff *skb);
int softib_udp_init(void);
void softib_udp_exit(void);

#endif /* _SOFTIB_FAR_H */

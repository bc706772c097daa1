/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A channel: messages of the Sockets Direct Protocol between this host and a peer, over a
 * transport.  It has the base header, sequence numbers and credits (sdp/credit.c), and knows
 * neither a socket nor a stream.  Its users do: the carrier of a joined connection (joined/), and
 * direct sockets (direct/).
 *
 *	OPENING -- the transport says so, or a message comes --> OPEN
 *	    \________________________________________________________\___> OVER ---> GONE
 *	                  sdp_chan_end(), or the transport's end            its work
 *
 * chan.c has its life, tx.c what is sent, rx.c what comes, mem.c memory that is read
 * or written.
 *
 * Locks: sdp_chan.lock is taken inside of a socket's lock.  Inside of it only the transport's post
 * functions take locks.  The channel calls the user's functions without it, except stream() and
 * spare().
 *
 * Lifetimes: the user has a reference to the channel, which sdp_chan_put() drops; the transport has
 * one until its part has been destroyed; and there is one while the channel's work is queued.
 * Received bytes outlive the channel: they are in memory of the kernel's own.
 */
#ifndef _SDP_CHAN_H
#define _SDP_CHAN_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "sdp/credit.h"
#include "sdp/wire.h"
#include "transport/transport.h"

/* Bytes of a receive buffer's pages, behind the base header. */
#if PAGE_SHIFT > 14
#define SDP_CHAN_SIZE		PAGE_SIZE
#else
#define SDP_CHAN_SIZE		SZ_16K
#endif

/*
 * Bytes of a message behind its base header, whatever the peer's buffers are: whole packets of
 * InfiniBand, and not a last one for a few bytes.  But rather such a packet than a message of its
 * own for the last bytes that there are: a program's 16 KiB are one message.
 */
#define SDP_CHAN_MOST		(SDP_CHAN_SIZE - sizeof(struct sdp_bsdh))
#define SDP_CHAN_TAIL		sizeof(struct sdp_bsdh)

/* Receive buffers at first, and at most.  Each is a message that the user has not freed. */
#define SDP_CHAN_BUFS_FIRST	8
#define SDP_CHAN_BUFS		32

/* Messages that the transport sends at once, at most. */
#define SDP_CHAN_SENDS		16

/* Pieces of memory that a message may have. */
#define SDP_CHAN_PIECES		(MAX_SKB_FRAGS + 1)

/* Bytes that are copied behind the headers, which is cheaper than to name them. */
#define SDP_CHAN_COPY		448

/* Headers of a message: the base header and the largest that a user puts behind it. */
#define SDP_CHAN_HEADERS	64

/* Messages of the user's that the peer has not acknowledged, at most; a power of two. */
#define SDP_CHAN_WINDOW		64

/* Flags in the base header, beside those of the annex. */
#define SDP_CHAN_F_HELD		BIT(5)	/* not all that MSeqAck says was taken in */
#define SDP_CHAN_F_SURE		BIT(6)	/* the user's */
#define SDP_CHAN_F_ASK		BIT(7)	/* acknowledge at once */

enum sdp_chan_state {
	SDP_CHAN_OPENING,
	SDP_CHAN_OPEN,
	SDP_CHAN_OVER,
	SDP_CHAN_GONE,
};

/* For whom a credit may be spent; credit.c has the rules. */
enum sdp_chan_class {
	SDP_CHAN_STREAM,	/* leaves two */
	SDP_CHAN_ANSWER,	/* leaves one */
	SDP_CHAN_LAST,		/* may take the last one */
};

/**
 * struct sdp_chan_end - how a channel has ended
 * @type: SDP_XPRT_REJECTED, _UNREACHABLE, _DISCONNECTED or _DEVICE_GONE
 * @reason: of a rejection
 * @error: negative errno, or zero
 * @pdata: private data of a rejection, valid during the call
 * @len: its bytes
 */
struct sdp_chan_end {
	enum sdp_xprt_event_type type;
	enum sdp_xprt_reject reason;
	int error;
	const void *pdata;
	unsigned int len;
};

struct sdp_chan;

/**
 * struct sdp_chan_user - whom a channel is for
 * @takes: does the user have to say sdp_chan_taken() for each message?  If not, a message is
 *	acknowledged when it has come
 * @rdma_depth: pieces of memory that the user has the transport know at once, at most
 * @stream: has a message of this kind, with so many bytes behind its base header, bytes of a
 *	stream?  The sender leaves credits for all others.  The channel is locked
 * @open: messages may be sent; with the private data of the acceptance where this end has
 *	asked.  Process context, or softirq where the peer asked
 * @spare: an empty packet for a message that comes, or NULL; no @spare: there is none.  Softirq
 *	context, the channel locked
 * @message: a message has come.  @skb, the user's from now on, has what follows the base
 *	header, and is NULL if nothing does.  It takes a buffer until sdp_chan_freed().  Not called
 *	for an update.  One at a time, in their order.  Softirq context
 * @bad: a message broke the rules, and was counted.  None is taken in from now on, and the user
 *	ends the channel as soon as it has nothing to say; without @bad it ends at once.  Softirq
 *	context
 * @acked: the peer has acknowledged the user's first so many messages; with @more @message
 *	follows at once.  Softirq context
 * @room: sdp_chan_send() that said -EAGAIN would not now, or sdp_chan_busy() says no.  Softirq
 *	context
 * @over: the transport's part is over, or never came about.  Once, in process context, and
 *	perhaps after sdp_chan_end()
 * @free: the last reference is gone
 */
struct sdp_chan_user {
	bool takes;
	u32 rdma_depth;
	bool (*stream)(u8 mid, u32 len);
	void (*open)(struct sdp_chan *chan, const void *pdata, unsigned int len);
	struct sk_buff *(*spare)(struct sdp_chan *chan);
	void (*message)(struct sdp_chan *chan, u8 mid, u8 flags, struct sk_buff *skb);
	void (*bad)(struct sdp_chan *chan);
	void (*acked)(struct sdp_chan *chan, u32 count, bool more);
	void (*room)(struct sdp_chan *chan);
	void (*over)(struct sdp_chan *chan, const struct sdp_chan_end *end);
	void (*free)(struct sdp_chan *chan);
};

/**
 * struct sdp_chan - a channel
 * @refs: see above
 * @user: whom it is for
 * @lock: for what follows, but for what is said otherwise
 * @state: enum sdp_chan_state
 * @told: the user knows that it is open, and has got what came before
 * @over_told: the user knows that it is over
 * @deaf: a message broke the rules
 * @lost: its device goes, or the transport
 * @disown: the work is to tell the transport that it counts as no user's share
 * @drains: it is over, and waits for what is on its way
 * @begun: the work has begun it; the work's
 * @late: the peer is to be told now what was taken in
 * @accepts: the peer has asked for it
 * @going: there is a work for it
 * @xprt: the transport, referenced, or NULL
 * @xc: the transport's part, or NULL
 * @net: the namespace, held
 * @memcg: the memory control group that pays for buffers, referenced, or NULL; the user sets it
 * @params: what the transport is asked; written before the work is queued
 * @pdata: private data of the request or the acceptance
 * @pdata_len: its bytes
 * @pdata_named: those of a request that a transport gets which names the addresses itself;
 *	zero: all.  Set before sdp_chan_connect()
 * @credit: messages that each end may send
 * @want: receive buffers that there are to be
 * @most: bytes of a message to the peer behind its base header, if others follow
 * @tail: bytes that it may have more if none follow
 * @caps: what the transport can do besides messages, with this peer: bits of enum sdp_xprt_caps
 * @max_mem: bytes that sdp_chan_mem_make() takes at most.  Both are written before the user
 *	hears that the channel is open, and outlive @xc
 * @free: buffers to send with
 * @spare: buffers to receive with, that the transport has not
 * @due: of them, those whose messages the user has freed
 * @early: messages that have come before the user knew
 * @sending: that the transport has
 * @unsent: bytes of packets in them
 * @wants_room: the user waits for room
 * @wants_class: enum sdp_chan_class of what was refused
 * @wants_idle: the user waits until nothing is on its way
 * @mseq: of the user's messages that are not acknowledged
 * @sent: messages of the user's
 * @acked: of them, acknowledged
 * @came: messages for the user
 * @taken: of them, taken in
 * @taken_told: the peer knows of so many
 * @known: memory that the transport knows, struct sdp_chan_mem
 * @making: calls of sdp_chan_mem_make() that are under way
 * @mems: how much memory the transport knows
 * @quiet: the transport's part is gone
 * @timer: an acknowledgment is late
 * @work: does what sleeps
 * @list: in the list of all
 */
struct sdp_chan {
	refcount_t refs;
	const struct sdp_chan_user *user;
	spinlock_t lock;	/* see above */
	u8 state;
	bool told;
	bool over_told;
	bool deaf;
	bool lost;
	bool disown;
	bool drains;
	bool begun;
	bool late;
	bool accepts;
	bool going;
	const struct sdp_xprt_ops *xprt;
	struct sdp_xprt_conn *xc;
	struct net *net;
	struct mem_cgroup *memcg;
	struct sdp_xprt_params params;
	u8 pdata[SDP_XPRT_REQ_PDATA];
	unsigned int pdata_len;
	unsigned int pdata_named;
	struct sdp_credit credit;
	u32 want;
	u32 most;
	u32 tail;
	u32 caps;
	u32 max_mem;
	struct list_head free;
	struct list_head spare;
	u32 due;
	struct list_head early;
	u32 sending;
	u32 unsent;
	bool wants_room;
	u8 wants_class;
	bool wants_idle;
	u32 mseq[SDP_CHAN_WINDOW];
	u32 sent;
	u32 acked;
	u32 came;
	u32 taken;
	u32 taken_told;
	struct list_head known;
	atomic_t making;
	atomic_t mems;
	bool quiet;
	struct timer_list timer;
	struct work_struct work;
	struct list_head list;
};

/**
 * struct sdp_chan_out - a message to be sent
 * @mid: its kind
 * @flags: SDP_CHAN_F_SURE, SDP_CHAN_F_ASK
 * @class: enum sdp_chan_class
 * @ext: what follows the base header
 * @ext_len: its bytes
 * @skb: what follows that, or NULL.  The channel has a clone of it until it is sent; its bytes
 *	stay as they are
 */
struct sdp_chan_out {
	u8 mid;
	u8 flags;
	u8 class;
	const void *ext;
	u32 ext_len;
	struct sk_buff *skb;
};

/**
 * struct sdp_chan_mem - memory of this host that the transport knows
 * @list: in the channel's list
 * @mem: as the transport knows it
 * @shared: the peer has access
 * @done: the transport has given it back
 * @error: with that: negative errno, or zero
 *
 * The user's; one operation at a time.
 */
struct sdp_chan_mem {
	struct list_head list;
	struct sdp_xprt_mem *mem;
	bool shared;
	struct completion done;
	int error;
};

/* chan.c */
int sdp_chan_start(void);
void sdp_chan_stop(void);
bool sdp_chan_init(struct sdp_chan *chan, const struct sdp_chan_user *user, struct net *net);
void sdp_chan_connect(struct sdp_chan *chan, const struct sdp_xprt_params *params,
		      const void *pdata, unsigned int len);
int sdp_chan_accept(struct sdp_chan *chan, struct sdp_xprt_conn *xc,
		    const struct sdp_xprt_params *params, const void *pdata, unsigned int len);
void sdp_chan_peer(struct sdp_chan *chan, u32 bufs, u32 size);
void sdp_chan_end(struct sdp_chan *chan);
void sdp_chan_disown(struct sdp_chan *chan);
void sdp_chan_put(struct sdp_chan *chan);
void sdp_chan_gone(const struct sdp_xprt_ops *ops, const struct sdp_xprt_dev *dev);

/* tx.c */
int sdp_chan_send(struct sdp_chan *chan, const struct sdp_chan_out *out);
bool sdp_chan_busy(struct sdp_chan *chan);
u32 sdp_chan_unsent(struct sdp_chan *chan);

/* rx.c */
void sdp_chan_taken(struct sdp_chan *chan, u32 count);
void sdp_chan_freed(struct sdp_chan *chan, u32 count);
bool sdp_chan_full(struct sdp_chan *chan);

/* mem.c */
int sdp_chan_mem_make(struct sdp_chan *chan, struct sdp_chan_mem *cm, struct sg_table *sgt,
		      u32 access);
int sdp_chan_mem_read(struct sdp_chan *chan, struct sdp_chan_mem *cm,
		      const struct sdp_xprt_remote *from);
int sdp_chan_mem_write(struct sdp_chan *chan, struct sdp_chan_mem *cm,
		       const struct sdp_xprt_remote *to);
int sdp_chan_mem_wait(struct sdp_chan *chan, struct sdp_chan_mem *cm);
void sdp_chan_mem_free(struct sdp_chan *chan, struct sdp_chan_mem *cm);

/* Within the folder: chan.c, */
void sdp_chan_kick(struct sdp_chan *chan);
void sdp_chan_over(struct sdp_chan *chan);
void sdp_chan_drained(struct sdp_chan *chan);
void sdp_chan_opened(struct sdp_chan *chan, const void *pdata, unsigned int len);

/* tx.c, */
void sdp_chan_settle(struct sdp_chan *chan);
void sdp_chan_last(struct sdp_chan *chan);
bool sdp_chan_roomy(struct sdp_chan *chan);
void sdp_chan_sent(struct sdp_chan *chan, struct sdp_xprt_buf *buf);

/* mem.c, */
void sdp_chan_mem_done(struct sdp_chan *chan, const struct sdp_xprt_mem *mem, int error);
void sdp_chan_quiet(struct sdp_chan *chan);

/* rx.c. */
void sdp_chan_post_recv(struct sdp_chan *chan, struct sdp_xprt_buf *buf);
void sdp_chan_received(struct sdp_chan *chan, struct sdp_xprt_buf *buf, int error);
void sdp_chan_early(struct sdp_chan *chan);
void sdp_chan_late(struct timer_list *timer);

#endif /* _SDP_CHAN_H */

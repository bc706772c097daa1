/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connected mode (RFC 4755): unicast packets to a neighbour that can do so go
 * over a reliable connection of its own in each direction. The sender opens the
 * connection and sends on it; the other end only receives.
 *
 * Locks, behind those in ipoib.h:
 *
 *   ipoib_cm.setup        what is made when the first connection needs it
 *   ipoib_cm.in_end       the end of incoming connections
 *   ipoib_dest.lock       membership of a path's list of connections
 *   ipoib_conn.lock       one outgoing connection
 *   ipoib_cm.in_lock      the incoming connections' lists
 *   ipoib_rc_ring.lock    which slots of a receive ring are empty
 */
#ifndef _IPOIB_CM_H
#define _IPOIB_CM_H

#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/u64_stats_sync.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>

#include "tx.h"

struct ipoib_dest;
struct ipoib_dev;
struct ipoib_path;

/* The largest IP packet, and what of it a receive buffer holds. */
#define IPOIB_CM_MTU		65520
#define IPOIB_CM_LEN		(IPOIB_CM_MTU + 4)
/* The least that a peer has to receive for a connection to be worth it. */
#define IPOIB_CM_MIN_LEN	(1280 + 4)
#define IPOIB_RC_PAGES		DIV_ROUND_UP(IPOIB_CM_LEN, PAGE_SIZE)
/* What is copied of a packet: all of a small one, else its headers. */
#define IPOIB_RC_COPYBREAK	256
#define IPOIB_RC_HEAD		128
#define IPOIB_RC_BATCH		16
/* Buffers of a connection where the adapter cannot share them. */
#define IPOIB_RC_PRIVATE	64

/* An outgoing connection's sends; and all of an interface, if the CQ has room for them. */
#define IPOIB_CONN_RING		64
#define IPOIB_CONN_SENDS	2048
#define IPOIB_MAX_CONNS		1024	/* to one GID */
/* How long one that sends nothing more may keep the stack's queues stopped, in jiffies. */
#define IPOIB_CONN_STALLED	HZ
#define IPOIB_CONN_TRIES	3
#define IPOIB_CM_DRAIN_TIMEOUT	(5 * HZ)
/* Incoming connections */
#define IPOIB_MAX_CONNS_IN	4096
/* How long a peer may take to answer our reply, in jiffies. */
#define IPOIB_IN_ESTABLISH	(30UL * HZ)

/* What a completion is of; below them the slot or the send's number. */
#define IPOIB_WR_RECV		BIT(31)
#define IPOIB_WR_DRAIN		BIT(30)

/**
 * struct ipoib_cm_data - private data of REQ and REP, RFC 4755 section 6
 * @qpn:	the sender's UD QPN, which is that of its link-layer address
 * @mtu:	the most it receives in a message, encapsulation header included
 */
struct ipoib_cm_data {
	__be32 qpn;
	__be32 mtu;
};

/**
 * struct ipoib_rc_slot - receive buffer
 * @pages:	its pages; NULL where one went up to the stack
 * @addr:	where they are mapped, for each bit in @mapped
 * @mapped:	pages that are mapped
 */
struct ipoib_rc_slot {
	struct page *pages[IPOIB_RC_PAGES];
	u64 addr[IPOIB_RC_PAGES];
	unsigned long mapped;
};

/**
 * struct ipoib_rc_ring - receive buffers, shared or of one connection
 * @priv:	the interface
 * @srq:	where they are posted; NULL: to @qp
 * @qp:		where they are posted
 * @size:	slots
 * @pages:	pages in each
 * @refill:	fills what could not be filled in softirq
 * @lock:	what follows, but for the slots that are posted
 * @dying:	no more is posted
 * @sge:	of the slot that is being posted; only the addresses differ
 * @posted:	slots that the adapter has
 * @idle_count:	slots that it has not
 * @idle:	their numbers
 * @slots:	the buffers
 */
struct ipoib_rc_ring {
	struct ipoib_dev *priv;
	struct ib_srq *srq;
	struct ib_qp *qp;
	unsigned int size;
	unsigned int pages;
	struct delayed_work refill;

	spinlock_t lock;		/* what follows */
	bool dying;
	struct ib_sge sge[IPOIB_RC_PAGES];
	unsigned int posted;
	unsigned int idle_count;
	u16 *idle;
	struct ipoib_rc_slot slots[];
};

/* An incoming connection goes from list to list in this order. */
enum ipoib_in_state {
	IPOIB_IN_LIVE,
	IPOIB_IN_DOOMED,	/* to be moved to the error state */
	IPOIB_IN_DYING,		/* the adapter gives back what it has */
	IPOIB_IN_DRAINED,	/* nothing more will complete */
	IPOIB_IN_STATES
};

enum ipoib_in_flag {
	IPOIB_IN_LAST_WQE,	/* it takes no more from the SRQ */
	IPOIB_IN_ERROR,
	IPOIB_IN_TOLD,		/* is in ipoib_cm.in_events */
};

/**
 * struct ipoib_conn_in - incoming connection
 * @node:	in ipoib_cm.in[@state]
 * @priv:	the interface
 * @id:		the connection manager's
 * @qp:		receives; it sends nothing but the drain's work request
 * @ring:	private receive buffers, or NULL
 * @gid:	the peer's, as it says
 * @dlid:	the peer's, which our reply goes to
 * @qpn:	the peer's, of its link-layer address
 * @psn:	the peer's first
 * @flags:	what the queue pair's events have told, enum ipoib_in_flag
 * @event:	in ipoib_cm.in_events
 * @state:	under in_lock
 * @last_wqe:	the queue pair takes no more from the SRQ; under in_lock
 * @draining:	the drain's work request is posted; under in_lock
 * @established: the peer has answered our reply; under in_lock
 * @created:	jiffies when it was accepted
 * @last_used:	jiffies when last received from
 * @sync:	what follows, where a processor writes 64 bits in two steps
 * @packets:	received; written by NAPI
 * @bytes:	received; written by NAPI
 */
struct ipoib_conn_in {
	struct list_head node;
	struct ipoib_dev *priv;
	struct ib_cm_id *id;
	struct ib_qp *qp;
	struct ipoib_rc_ring *ring;
	union ib_gid gid;
	__be32 dlid;
	u32 qpn;
	u32 psn;
	unsigned long flags;
	struct llist_node event;
	enum ipoib_in_state state;
	bool last_wqe;
	bool draining;
	bool established;
	unsigned long created;
	unsigned long last_used;
	struct u64_stats_sync sync;
	u64 packets;
	u64 bytes;
};

enum ipoib_conn_state {
	IPOIB_CONN_IDLE,	/* there is nothing to send */
	IPOIB_CONN_OPENING,
	IPOIB_CONN_UP,
	IPOIB_CONN_BROKEN,	/* its work is to close it */
	IPOIB_CONN_FAILED,	/* served by UD, until retry_at */
};

/**
 * struct ipoib_conn - outgoing connection
 * @node:	in ipoib_path.conns; changed under dest.lock, read under RCU
 * @kill:	links those that were taken out of the list for removal
 * @rcu:	frees it after the last reader
 * @priv:	the interface
 * @dest:	the path that it is of, which outlives it
 * @qpn:	the peer's, of its link-layer address
 * @created:	jiffies when it was made
 * @last_used:	jiffies when last sent to
 * @work:	opens and closes it; its removal cancels that, and then closes it, too
 * @id:		the connection manager's; @work's, as is what follows
 * @qp:		sends
 * @slid:	of the path in use
 * @dlid:	of the path in use
 * @sl:		of the path in use
 * @psn:	the peer's first, if it sent
 * @fatal:	the adapter has given up the queue pair; written in any context
 * @lock:	guards the members below, but for what is NAPI's: changed by its poll, or while
 *		that is disabled
 * @state:	enum ipoib_conn_state
 * @dead:	being removed: no work is started
 * @error:	why it broke, 0 if it may be opened again at once
 * @refused:	the peer has refused it, and is not just down
 * @tries:	failures since it was last up
 * @retry_at:	in jiffies, while failed
 * @since:	jiffies when it came up
 * @max_len:	the most that the peer receives in a message
 * @ring:	packets being sent, from @tail up to @head
 * @head:	sends posted
 * @tail:	sends completed; NAPI's
 * @queue:	packets that wait
 * @stopped:	transmit queues of the stack that are stopped until fewer wait, by index
 * @progress:	jiffies when a send last completed, or the first of several was posted
 * @packets:	sent
 * @bytes:	sent
 */
struct ipoib_conn {
	struct list_head node;
	struct list_head kill;
	struct rcu_head rcu;
	struct ipoib_dev *priv;
	struct ipoib_dest *dest;
	u32 qpn;
	unsigned long created;
	unsigned long last_used;
	struct delayed_work work;

	struct ib_cm_id *id;
	struct ib_qp *qp;
	__be32 slid;
	__be32 dlid;
	u8 sl;
	u32 psn;
	bool fatal;

	spinlock_t lock;		/* what follows */
	enum ipoib_conn_state state;
	bool dead;
	bool refused;
	int error;
	unsigned int tries;
	unsigned long retry_at;
	unsigned long since;
	unsigned int max_len;
	struct ipoib_tx_buf *ring;
	unsigned int head;
	unsigned int tail;
	struct sk_buff_head queue;
	unsigned long stopped;
	unsigned long progress;
	u64 packets;
	u64 bytes;
};

/**
 * struct ipoib_cm - an interface's part of connected mode
 * @able:	the adapter has what it takes
 * @has_srq:	it can share receive buffers; where that fails, this is false until the
 *		interface comes up again. Under @setup, as what follows, or before others
 *		know of the interface
 * @pages:	in a receive buffer
 * @max_len:	what it holds
 * @listener:	takes requests while the interface is up
 * @setup:	creation and end of @cq and @ring, moderation
 * @cq:		completions of all connections, NULL before the first
 * @ring:	shared receive buffers, NULL before the first or without SRQ
 * @max_sends:	how many sends @cq has room for
 * @max_in:	how many incoming connections it has room for
 * @napi:	takes the completions
 * @wc:		room for completions
 * @alone:	the poll has one of them, and GRO nothing to merge it with; NAPI's
 * @sends:	of all connections, not yet complete
 * @queued:	packets that wait for them
 * @stuck:	an adapter that does not give back what it has
 * @in_end:	moving incoming connections towards their end
 * @in_lock:	@in, @in_count and the connections' states
 * @in:		incoming connections by state
 * @in_count:	how many
 * @in_events:	those whose queue pairs have told something, in any context
 * @in_work:	moves them along
 * @in_wait:	for the last of them
 * @idle:	outgoing connections that are being reaped; under ctl
 * @too_big:	packets whose senders are to be told of the MTU
 * @too_big_work: tells them
 */
struct ipoib_cm {
	bool able;
	bool has_srq;
	unsigned int pages;
	unsigned int max_len;
	struct ib_cm_id *listener;

	struct mutex setup;	/* creation and end of cq and ring, moderation */
	struct ib_cq *cq;
	struct ipoib_rc_ring *ring;
	unsigned int max_sends;
	unsigned int max_in;
	struct napi_struct napi;
	struct ib_wc wc[IPOIB_RC_BATCH];
	bool alone;
	atomic_t sends;
	atomic_t queued;
	bool stuck;

	struct mutex in_end;	/* moving connections towards their end */
	spinlock_t in_lock;	/* the incoming connections */
	struct list_head in[IPOIB_IN_STATES];
	unsigned int in_count;
	struct llist_head in_events;
	struct work_struct in_work;
	wait_queue_head_t in_wait;

	struct list_head idle;
	struct sk_buff_head too_big;
	struct work_struct too_big_work;
};

static inline struct ipoib_tx_buf *ipoib_conn_slot(struct ipoib_conn *c,
						   unsigned int n)
{
	return &c->ring[n % IPOIB_CONN_RING];
}

/* cm.c */
__be64 ipoib_cm_service_id(u32 qpn);
void ipoib_cm_data_fill(struct ipoib_dev *priv, struct ipoib_cm_data *data);
bool ipoib_cm_data_ok(const struct ipoib_cm_data *data);
int ipoib_cm_modify(struct ib_cm_id *id, struct ib_qp *qp,
		    enum ib_qp_state state, u32 psn);
void ipoib_cm_reset(struct ib_qp *qp);
int ipoib_cm_moderate(struct ipoib_dev *priv, u16 frames, u16 usecs);
void ipoib_cm_share(struct ipoib_dev *priv);
int ipoib_cm_prepare(struct ipoib_dev *priv, bool receive);
void ipoib_cm_free(struct ipoib_dev *priv);

/* cm_poll.c */
void ipoib_cm_reap(struct ipoib_dev *priv);
void ipoib_cm_pause(struct ipoib_dev *priv, bool pause);
int ipoib_cm_poll(struct napi_struct *napi, int budget);

/* cm_start.c */
int ipoib_cm_start(struct ipoib_dev *priv);
void ipoib_cm_stop(struct ipoib_dev *priv);
void ipoib_cm_init(struct ipoib_dev *priv);
void ipoib_cm_uninit(struct ipoib_dev *priv);

/* too_big.c */
void ipoib_too_big(struct ipoib_dev *priv, struct sk_buff *skb,
		   unsigned int mtu);
void ipoib_too_big_init(struct ipoib_dev *priv);
void ipoib_too_big_uninit(struct ipoib_dev *priv);

/* conn_out.c */
void ipoib_conn_break_locked(struct ipoib_conn *c, int err);
void ipoib_conn_break(struct ipoib_conn *c, int err);
void ipoib_conn_push(struct ipoib_conn *c);
void ipoib_conn_wake(struct ipoib_conn *c);
bool ipoib_conn_fall_back(struct ipoib_conn *c, struct sk_buff *skb);
bool ipoib_conn_send(struct ipoib_dest *d, struct sk_buff *skb);
void ipoib_conn_complete(struct ipoib_conn *c, const struct ib_wc *wc,
			 int budget);
void ipoib_conn_suspect(struct ipoib_dev *priv, const union ib_gid *gid,
			u32 qpn, __be32 dlid);
void ipoib_conns_reroute(struct ipoib_path *p, struct sa_path_rec *rec);

/* conn_out_open.c */
void ipoib_conn_work(struct work_struct *work);
void ipoib_conns_release(struct ipoib_path *p);
void ipoib_conns_reap(struct ipoib_dev *priv);

/* conn_in.c */
int ipoib_conn_in_handler(struct ib_cm_id *id, const struct ib_cm_event *event);
void ipoib_conn_in_complete(struct ipoib_dev *priv, const struct ib_wc *wc);

/* conn_in_list.c */
void ipoib_conn_in_move(struct ipoib_conn_in *c, enum ipoib_in_state state);
void ipoib_conn_in_doom_locked(struct ipoib_conn_in *c);
void ipoib_conn_in_doom(struct ipoib_conn_in *c);
void ipoib_conn_in_drain(struct ipoib_conn_in *c);
void ipoib_conn_in_drained(struct ipoib_conn_in *c);
bool ipoib_conn_in_empty(struct ipoib_conn_in *c);
void ipoib_conn_in_emptied(struct ipoib_conn_in *c);
bool ipoib_conn_in_is_half_open(const struct ipoib_conn_in *c);
void ipoib_conn_in_qp_event(struct ib_event *event, void *context);
void ipoib_conns_in_listen(struct ipoib_cm *cm);

/* conn_in_end.c */
void ipoib_conn_in_work(struct work_struct *work);
void ipoib_conns_in_reap(struct ipoib_dev *priv);
void ipoib_conns_in_stop(struct ipoib_dev *priv);

/* rc_ring.c */
struct ipoib_rc_ring *ipoib_rc_ring_alloc(struct ipoib_dev *priv,
					  unsigned int size);
int ipoib_rc_ring_fill(struct ipoib_rc_ring *ring);
void ipoib_rc_ring_refill(struct ipoib_rc_ring *ring);
void ipoib_rc_ring_stop(struct ipoib_rc_ring *ring);
void ipoib_rc_ring_free(struct ipoib_rc_ring *ring);
unsigned int ipoib_rc_private(struct ipoib_dev *priv);
unsigned int ipoib_rc_ring_done(struct ipoib_rc_ring *ring, unsigned int slot);
struct sk_buff *ipoib_rc_ring_take(struct ipoib_rc_ring *ring,
				   unsigned int slot, unsigned int len);

#endif /* _IPOIB_CM_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IP over InfiniBand (RFC 4391, RFC 4392): structures shared by the driver's
 * files, with the locks that guard them.
 *
 * Locks, in the order in which they nest:
 *
 *   rtnl              what the network stack sees: the interface's MTU, address
 *   ipoib_dev.ctl     up and down, the queue pair's state, removal of
 *                     destinations; never taken by a destination's work, so
 *                     that its holder may wait for that work
 *   netif_addr_lock   the stack's list of multicast addresses
 *   tx lock           the stack's lock of a transmit queue: posting to it
 *   ipoib_dev.dest_lock   membership of the destination table
 *   ipoib_dest.lock   one destination's queue and state
 *   ipoib_dev.bcast_lock  what the broadcast group tells, and the carrier
 */
#ifndef _IPOIB_H
#define _IPOIB_H

#include <linux/hashtable.h>
#include <linux/if_infiniband.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "cm.h"

#define IPOIB_NAME		"ib_ipoib"

#define IPOIB_ENCAP_LEN		4
#define IPOIB_PSEUDO_LEN	INFINIBAND_ALEN
#define IPOIB_HARD_LEN		(IPOIB_PSEUDO_LEN + IPOIB_ENCAP_LEN)

#define IPOIB_SIGNATURE_IPV4	0x401b	/* of a group's GID; RFC 4391 4 */
#define IPOIB_SIGNATURE_IPV6	0x601b

#define IPOIB_FLAG_RC		0x80	/* first byte of a link-layer address */
#define IPOIB_QPN_MASK		0xffffff
#define IPOIB_MCAST_QPN		0xffffff
#define IPOIB_FULL_MEMBER	0x8000	/* in a P_Key */
#define IPOIB_FIRST_MLID	0xc000	/* multicast LIDs; IBA 4.1.3 */
#define IPOIB_LAST_MLID		0xfffe

/* Rings: bounds of the module parameters. */
#define IPOIB_MIN_TX_RING	128
#define IPOIB_MIN_RX_RING	16
#define IPOIB_MAX_RING		8192
#define IPOIB_DEFAULT_TX_RING	128
#define IPOIB_DEFAULT_RX_RING	256

/* Receive: the head of a packet is linear, the rest of a 4K one is not. */
#define IPOIB_RX_PAD		(NET_SKB_PAD + 4)
#define IPOIB_RX_HEAD		(IB_GRH_BYTES + 2048)
#define IPOIB_RX_COPYBREAK	256
#define IPOIB_RX_SGE		2
#define IPOIB_RX_BATCH		16

#define IPOIB_TX_SGE		(MAX_SKB_FRAGS + 1)
#define IPOIB_TX_BATCH		16
#define IPOIB_MAX_TX_QUEUES	16

/* Destinations: how many, how long idle, how much waits for one and for all. */
#define IPOIB_MAX_DESTS		16384
#define IPOIB_DEST_QUEUE	64
#define IPOIB_DEST_ROUNDS	16
#define IPOIB_MAX_QUEUED	2048
/* To make room: how many are looked at, and how many may wait for their end. */
#define IPOIB_EVICT_LOOK	256
#define IPOIB_MAX_EVICTED	1024
#define IPOIB_GC_PERIOD		(30UL * HZ)
#define IPOIB_MIN_BACKOFF	(HZ / 8)
#define IPOIB_MAX_BACKOFF	(16 * HZ)
#define IPOIB_PATH_TIMEOUT_MS	1000
#define IPOIB_PATH_TRIES	4

/**
 * struct ipoib_hdr - encapsulation header, RFC 4391 section 6
 * @proto:	Ethertype of what follows
 * @reserved:	zero when sent, ignored when received
 */
struct ipoib_hdr {
	__be16 proto;
	__be16 reserved;
};

/*
 * Why packets were lost and how often the subnet administrator was asked, by
 * cause; shown by ethtool -S under the names in ethtool.c, in this order.
 */
enum ipoib_counter {
	IPOIB_TX_BAD_FRAME,
	IPOIB_TX_TOO_LONG,
	IPOIB_TX_NO_DEST,
	IPOIB_TX_QUEUE_FULL,
	IPOIB_TX_UNREACHABLE,
	IPOIB_TX_RING_FULL,
	IPOIB_TX_NO_MEMORY,
	IPOIB_TX_POST_FAILED,
	IPOIB_TX_COMPLETION_ERROR,
	IPOIB_TX_LINK_DOWN,
	IPOIB_TX_TIMEOUT,
	IPOIB_TX_CONN_LOST,
	IPOIB_RX_BAD_LENGTH,
	IPOIB_RX_NO_MEMORY,
	IPOIB_RX_COMPLETION_ERROR,
	IPOIB_RX_OWN_MULTICAST,
	IPOIB_PATH_QUERIES,
	IPOIB_PATH_FAILED,
	IPOIB_PATH_BAD_RECORD,
	IPOIB_MCAST_JOINS,
	IPOIB_MCAST_JOIN_FAILED,
	IPOIB_MCAST_BAD_RECORD,
	IPOIB_CONN_OPENED,
	IPOIB_CONN_FAILED_TO_OPEN,
	IPOIB_CONN_LOST,
	IPOIB_CONN_ACCEPTED,
	IPOIB_CONN_REFUSED,
	IPOIB_COUNTERS
};

/* How much an event invalidates; each level includes those before it. */
enum ipoib_flush {
	IPOIB_FLUSH_NONE,
	IPOIB_FLUSH_LIGHT,	/* paths may have changed: ask again */
	IPOIB_FLUSH_NORMAL,	/* the port was away: everything anew but the QP */
	IPOIB_FLUSH_HEAVY,	/* P_Key or queue pair: down and up */
};

/**
 * struct ipoib_ah - address handle that packets in flight may still need
 * @ah:		the handle
 * @priv:	the interface, whose ah_count counts this object
 * @refs:	one of the destination that publishes it, one of each packet in
 *		the send ring
 * @free_work:	destroys the handle a grace period after the last reference,
 *		in process context
 */
struct ipoib_ah {
	struct ib_ah *ah;
	struct ipoib_dev *priv;
	refcount_t refs;
	struct rcu_work free_work;
};

/*
 * What a destination is doing about the way to it, which is its ah. Pictured and checked
 * in dest.c.
 */
enum ipoib_dest_state {
	IPOIB_DEST_SETTLED,	/* nothing: it is ready, or the next packet asks */
	IPOIB_DEST_ASKING,	/* its work will settle it, without being told again */
	IPOIB_DEST_PAUSING,	/* it has failed; its work tries again by itself */
	IPOIB_DEST_FAILED,	/* it has failed; from retry_at on a packet asks */
	IPOIB_DEST_DEAD,	/* being removed: nothing is queued, no work started */
	IPOIB_DEST_STATES
};

/**
 * struct ipoib_dest - a GID that packets are sent to
 * @hash:	in ipoib_dev.dests; changed under dest_lock, read under RCU
 * @age:	in ipoib_dev.ages; under dest_lock
 * @kill:	links those that were taken out of the table for removal
 * @rcu:	frees the destination after the last reader
 * @priv:	the interface
 * @gid:	the key
 * @created:	jiffies when it was made
 * @ah:		how to reach it, NULL until that is known; RCU, changed under @lock
 * @last_used:	jiffies when last sent to
 * @work:	the only one that resolves this destination
 * @lock:	guards the members below
 * @state:	changed by ipoib_dest_set_state() only
 * @error:	why the last attempt failed, 0 after a success
 * @retry_at:	packets are refused until then, in jiffies, while pausing or failed
 * @queue:	packets that wait for @ah
 *
 * Embedded, first, in struct ipoib_path or struct ipoib_mcast. A destination
 * is created by whoever needs it and lives until somebody who holds ctl removes
 * it; ipoib_dest_remove() waits for its work and its queries, so these need no
 * reference.
 */
struct ipoib_dest {
	struct hlist_node hash;
	struct list_head age;
	struct list_head kill;
	struct rcu_head rcu;
	struct ipoib_dev *priv;
	union ib_gid gid;
	unsigned long created;
	struct ipoib_ah __rcu *ah;
	unsigned long last_used;
	struct delayed_work work;

	spinlock_t lock;		/* what follows */
	enum ipoib_dest_state state;
	int error;
	unsigned long retry_at;
	struct sk_buff_head queue;
};

/* Of a path's query. */
enum ipoib_query {
	IPOIB_QUERY_NONE,	/* none is under way */
	IPOIB_QUERY_SENT,	/* its answer runs the path's work */
	IPOIB_QUERY_ANSWERED,	/* status and rec hold the answer */
};

/**
 * struct ipoib_path - unicast destination, resolved by a PathRecord query
 * @dest:	common part
 * @ask:	ask even if no packet waits; under dest.lock
 * @asked:	what became of the query; under dest.lock
 * @tries:	attempts since the last success; under dest.lock
 * @status:	of the query; of the work unless it is sent, as is what follows
 * @rec:	the answer, if @status is 0
 * @query:	for cancelling
 * @query_id:	for cancelling
 * @idle:	done when no query is under way, for removal to wait for
 * @conns:	connections to its link-layer addresses; changed under dest.lock,
 *		read under RCU
 * @conn_count:	how many; under dest.lock
 */
struct ipoib_path {
	struct ipoib_dest dest;
	bool ask;
	enum ipoib_query asked;
	unsigned int tries;

	int status;
	struct sa_path_rec rec;
	struct ib_sa_query *query;
	int query_id;
	struct completion idle;

	struct list_head conns;
	unsigned int conn_count;
};

/**
 * struct ipoib_mcast - multicast group, sent to, listened to, or both
 * @dest:	common part
 * @listen:	to be joined as full member and attached; under dest.lock
 * @rejoin:	the membership was lost or is to be renewed; under dest.lock
 * @answered:	@status and @rec hold an answer; under dest.lock
 * @backoff:	time to the next attempt after a failure; under dest.lock
 * @plain:	the subnet administrator knows no send-only full members; any time
 * @wanted:	found in the stack's list by the scan under way; under ctl
 * @warned:	how often it was logged that a join failed; of the work
 * @status:	of the join; of the work once @answered, as is what follows
 * @rec:	the answer, if @status is 0
 * @mc:		the membership, asked for or granted
 * @join_state:	what @mc asked for
 * @attached:	the queue pair receives the group, under @mlid
 * @mlid:	the group's LID
 */
struct ipoib_mcast {
	struct ipoib_dest dest;
	bool listen;
	bool rejoin;
	bool answered;
	unsigned long backoff;
	bool plain;

	bool wanted;
	unsigned int warned;

	int status;
	struct ib_sa_mcmember_rec rec;
	struct ib_sa_multicast *mc;
	u8 join_state;
	bool attached;
	u16 mlid;
};

/**
 * struct ipoib_sa - whether the subnet administrator answers
 * @heard:	jiffies when it last did, about a path
 * @lost:	it has missed a question and answered none since
 * @pause:	how long not to ask it whether it is back, in jiffies
 *
 * Read and written at any time, without a lock.
 */
struct ipoib_sa {
	unsigned long heard;
	bool lost;
	unsigned long pause;
};

/**
 * struct ipoib_rx_buf - slot of the receive ring
 * @head:	fragment for GRH, headers and up to 2 KiB of payload
 * @tail:	fragment for the rest where the port's MTU is 4096, else NULL
 * @sge:	the same two for the adapter
 * @wr:		work request that posts this slot
 *
 * A slot always holds its fragments while the interface is up: what is handed
 * to the stack is replaced first.
 */
struct ipoib_rx_buf {
	void *head;
	void *tail;
	struct ib_sge sge[IPOIB_RX_SGE];
	struct ib_recv_wr wr;
};

/**
 * struct ipoib_tx_buf - slot of a send ring
 * @skb:	the packet
 * @ah:		reference to its address handle
 * @hlen:	if the adapter cuts it into several, the length of what each of them
 *		begins with, which is not mapped; else 0
 * @addr:	where the packet's pieces are mapped
 */
struct ipoib_tx_buf {
	struct sk_buff *skb;
	struct ipoib_ah *ah;
	unsigned int hlen;
	u64 addr[IPOIB_TX_SGE];
};

/**
 * struct ipoib_tx_wr - a packet on its way to the adapter
 * @ud:		the work request
 * @sge:	the packet's pieces
 */
struct ipoib_tx_wr {
	struct ib_ud_wr ud;
	struct ib_sge sge[IPOIB_TX_SGE];
};

/**
 * struct ipoib_tx_queue - transmit queue of the stack, with a queue pair
 * @priv:	the interface
 * @index:	of the stack's queue, and in ipoib_dev.tx
 * @qp:		sends; that of the first queue is ipoib_dev.qp, and receives
 * @cq:		completions for @napi
 * @ring:	slots, ipoib_dev.tx_size; the transmit path's from @tail on, of
 *		@napi up to @head
 * @head:	filled so far; down to @batch all is written under the tx lock
 * @open:	takes packets
 * @broken:	the adapter refused some of what is in the ring
 * @batched:	packets of @batch that the adapter was not told of
 * @batch:	work requests to post in one go
 * @tail:	completed so far; down to @wc all is of @napi, or of who disabled it
 * @napi:	frees what was sent
 * @wc:		room for completions
 *
 * Where the stack has more to send at once, only the last packet of a batch
 * asks for a completion.
 */
struct ipoib_tx_queue {
	struct ipoib_dev *priv;
	unsigned int index;
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct ipoib_tx_buf *ring;

	unsigned int head;
	bool open;
	bool broken;
	unsigned int batched;
	struct ipoib_tx_wr batch[IPOIB_TX_BATCH];

	unsigned int tail ____cacheline_aligned_in_smp;
	struct napi_struct napi;
	struct ib_wc wc[IPOIB_TX_BATCH];
};

/**
 * struct ipoib_skb_cb - what a packet remembers of its link-layer address
 * @qpn:	the destination's QPN; its GID is the destination
 * @rc:		its owner can be connected with
 * @mtu:	of one that is too big: what it should have been
 */
struct ipoib_skb_cb {
	u32 qpn;
	bool rc;
	unsigned int mtu;
};

static inline struct ipoib_skb_cb *ipoib_skb_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct ipoib_skb_cb) > sizeof(skb->cb));
	return (struct ipoib_skb_cb *)skb->cb;
}

/**
 * struct ipoib_dev - one interface: a port and a P_Key
 * @dev:	the interface; down to @hash_seed all is fixed while registered
 * @hca:	the device
 * @parent:	the port's own interface, with a reference from ndo_init until this
 *		one is freed; NULL if this is it
 * @by_sysfs:	a child that its P_Key names
 * @doomed:	@delete_work is under way; under rtnl
 * @delete_work: unregisters the child; holds the netdev
 * @list:	of the ports of one device
 * @children:	of a port's own interface; under rtnl, read under RCU
 * @sibling:	in @parent's @children
 * @port:	the port's number
 * @events:	of the device, asynchronous
 * @listening:	@events is registered
 * @pd:		protection domain
 * @recv_cq:	completions for @rx_napi
 * @qp:		unreliable datagram queue pair, whose number peers send to
 * @max_ib_mtu:	largest that the receive ring takes
 * @max_send_sge: what the queue pair was made with
 * @tx:		transmit queues
 * @tx_queues:	how many
 * @tx_size:	slots in the ring of each, a power of two, as @rx_size; both are
 *		written under rtnl and @ctl, while the interface is down
 * @max_ring:	the most slots that either can have
 * @hash_seed:	of @dests
 * @pkey:	the P_Key with the full-member bit; a child's is fixed, the one of
 *		a port's own interface is written under @ctl
 * @pkey_index:	its index in the port's table, or -1; written under @ctl
 * @guid:	what the administrator chose of the port's GUIDs, or 0; written under
 *		rtnl
 * @has_gid:	@gid is in the port's table; written under @ctl
 * @gid:	the interface's own; written under @ctl
 * @broadcast:	the link's broadcast address, whatever the administrator makes of the
 *		netdev's meanwhile; written under @ctl, while the interface is down
 * @rx_ring:	slots; down to @rx_wc all is of @rx_napi, or of who disabled it
 * @rx_size:	slots in it
 * @rx_posted:	posted so far
 * @rx_tail_len: bytes behind the head, 0 or 2048
 * @rx_napi:	hands packets to the stack
 * @rx_wc:	room for completions
 * @dest_lock:	what follows down to @evicted_count
 * @dests:	destinations by GID
 * @ages:	the same, the next one to make room for another first
 * @dest_count:	how many
 * @evicted:	those that had to make room, out of the table and dead
 * @evicted_count: how many
 * @evict_work:	destroys them
 * @queued:	packets in all their queues
 * @ah_count:	address handles not yet destroyed
 * @gc_work:	forgets destinations that nobody uses
 * @sa:		what is known of the subnet administrator
 * @mcast_work:	follows the stack's list of groups
 * @mcast_short: there was no destination to be had for one of them; under @ctl
 * @bcast_lock:	what follows down to @mcast_mtu, and the carrier
 * @addr:	the link-layer address; changed under @ctl as well
 * @bcast_ok:	@bcast holds the group's parameters
 * @bcast:	the broadcast group's record
 * @qkey:	from @bcast, for the transmit path
 * @mcast_mtu:	from @bcast: the IPoIB link's MTU
 * @umcast:	leave user space's groups alone
 * @connected:	the mode; written under rtnl
 * @cm:		connections
 * @ctl:	opening, stopping, flushing and the works exclude each other
 * @admin_up:	between ndo_open and ndo_stop; under @ctl
 * @up:		the queue pair works; written under @ctl
 * @flush_level: enum ipoib_flush, asked for
 * @flush_work:	does it
 * @sync_work:	what needs rtnl; holds the netdev
 * @admin_mtu:	what the administrator set; under rtnl
 * @announce:	peers are to be told of the address; under rtnl
 * @rx_usecs:	how long the event of a CQ that receives may wait; under rtnl, and
 *		written under cm.setup, too
 * @rx_frames:	how many packets it may wait for; the same
 * @debug_mcg:	debugfs file; under rtnl
 * @debug_path:	debugfs file; under rtnl
 * @debug_conn:	debugfs file; under rtnl
 * @counters:	by enum ipoib_counter
 *
 * Lives as the net_device's private data: a port's own interface as long as the
 * port, a child from ipoib_child_register() to ipoib_child_unregister() but no
 * longer than its parent. The verbs objects and rings exist from ndo_init to
 * ndo_uninit, so that the QPN, and with it the link-layer address, survives
 * going down and up; only ipoib_resize() replaces them.
 */
struct ipoib_dev {
	struct net_device *dev;
	struct ib_device *hca;
	struct ipoib_dev *parent;
	bool by_sysfs;
	bool doomed;
	struct work_struct delete_work;
	struct list_head list;
	struct list_head children;	/* rtnl, RCU */
	struct list_head sibling;
	u32 port;
	struct ib_event_handler events;
	bool listening;
	struct ib_pd *pd;
	struct ib_cq *recv_cq;
	struct ib_qp *qp;
	unsigned int max_ib_mtu;
	unsigned int max_send_sge;
	struct ipoib_tx_queue *tx;
	unsigned int tx_queues;
	unsigned int tx_size;
	unsigned int max_ring;
	u32 hash_seed;

	u16 pkey;
	int pkey_index;
	__be64 guid;
	bool has_gid;
	union ib_gid gid;
	u8 broadcast[INFINIBAND_ALEN];

	struct ipoib_rx_buf *rx_ring;
	unsigned int rx_size;
	unsigned int rx_posted;
	unsigned int rx_tail_len;
	struct napi_struct rx_napi;
	struct ib_wc rx_wc[IPOIB_RX_BATCH];

	spinlock_t dest_lock;	/* down to evicted_count */
	DECLARE_HASHTABLE(dests, 10);
	struct list_head ages;
	unsigned int dest_count;
	struct list_head evicted;
	unsigned int evicted_count;
	struct work_struct evict_work;
	atomic_t queued;
	atomic_t ah_count;
	struct delayed_work gc_work;
	struct ipoib_sa sa;

	struct work_struct mcast_work;
	spinlock_t bcast_lock;	/* down to mcast_mtu, and the carrier */
	u8 addr[INFINIBAND_ALEN];
	bool bcast_ok;
	struct ib_sa_mcmember_rec bcast;
	u32 qkey;
	unsigned int mcast_mtu;
	bool umcast;
	bool connected;
	struct ipoib_cm cm;

	struct mutex ctl;	/* opening, stopping, flushing, the works */
	bool admin_up;
	bool up;
	bool mcast_short;
	atomic_t flush_level;
	struct work_struct flush_work;
	struct work_struct sync_work;
	unsigned int admin_mtu;
	bool announce;

	u16 rx_usecs;
	u16 rx_frames;
	struct dentry *debug_mcg;
	struct dentry *debug_path;
	struct dentry *debug_conn;

	atomic_long_t counters[IPOIB_COUNTERS];
};

extern struct workqueue_struct *ipoib_wq;
/* For works that wait for rtnl, whose holders wait for works of the other one */
extern struct workqueue_struct *ipoib_rtnl_wq;
extern struct ib_sa_client ipoib_sa_client;
extern unsigned int ipoib_send_queue_size;
extern unsigned int ipoib_idle_timeout;
extern int ipoib_debug_level;
extern int ipoib_mcast_debug_level;
/* What is logged of every packet costs a test each, unless it is left out. */
#ifdef IPOIB_DEBUG_DATA
extern int ipoib_data_debug_level;
#else
#define ipoib_data_debug_level	0
#endif
extern const struct net_device_ops ipoib_netdev_ops;
extern const struct ethtool_ops ipoib_ethtool_ops;
extern const struct attribute_group ipoib_attr_group;
extern struct rtnl_link_ops ipoib_link_ops;

#define ipoib_dbg(priv, fmt, ...)					\
do {									\
	if (ipoib_debug_level > 0)					\
		netdev_printk(KERN_DEBUG, (priv)->dev, fmt, ##__VA_ARGS__); \
} while (0)

#define ipoib_dbg_mcast(priv, fmt, ...)					\
do {									\
	if (ipoib_mcast_debug_level > 0)				\
		netdev_printk(KERN_DEBUG, (priv)->dev, fmt, ##__VA_ARGS__); \
} while (0)

#define ipoib_dbg_data(priv, fmt, ...)					\
do {									\
	if (ipoib_data_debug_level > 0)					\
		netdev_printk(KERN_DEBUG, (priv)->dev, fmt, ##__VA_ARGS__); \
} while (0)

static inline void ipoib_count(struct ipoib_dev *priv, enum ipoib_counter c)
{
	atomic_long_inc(&priv->counters[c]);
}

static inline void ipoib_tx_drop(struct ipoib_dev *priv, enum ipoib_counter c)
{
	ipoib_count(priv, c);
	DEV_STATS_INC(priv->dev, tx_dropped);
}

static inline void ipoib_rx_drop(struct ipoib_dev *priv, enum ipoib_counter c)
{
	ipoib_count(priv, c);
	DEV_STATS_INC(priv->dev, rx_dropped);
}

/* How long what nobody uses is kept, in jiffies. */
static inline unsigned long ipoib_idle(void)
{
	return clamp(READ_ONCE(ipoib_idle_timeout), 1U, 86400U) * HZ;
}

static inline bool ipoib_gid_is_mcast(const union ib_gid *gid)
{
	return gid->raw[0] == 0xff;
}

static inline bool ipoib_gid_equal(const union ib_gid *a, const union ib_gid *b)
{
	return !memcmp(a->raw, b->raw, sizeof(a->raw));
}

/* The broadcast group's GID is the end of the broadcast address. */
static inline bool ipoib_gid_is_bcast(struct ipoib_dev *priv,
				      const union ib_gid *gid)
{
	return !memcmp(gid->raw, priv->broadcast + 4, sizeof(gid->raw));
}

static inline struct netdev_queue *ipoib_txq(struct ipoib_tx_queue *q)
{
	return netdev_get_tx_queue(q->priv->dev, q->index);
}

static inline struct ipoib_tx_queue *ipoib_tx_end(struct ipoib_dev *priv)
{
	return priv->tx + priv->tx_queues;
}

/* main.c */
int ipoib_init_dev(struct net_device *dev, struct ib_device *hca, u32 port);
void ipoib_listen(struct ipoib_dev *priv);
unsigned int ipoib_num_tx_queues(void);

/* child.c */
int ipoib_child_register(struct ipoib_dev *parent, struct net_device *dev,
			 u16 pkey, bool by_sysfs,
			 struct netlink_ext_ack *extack);
int ipoib_child_create(struct ipoib_dev *parent, u16 pkey);
int ipoib_child_delete(struct ipoib_dev *parent, u16 pkey);
void ipoib_child_delete_work(struct work_struct *work);
void ipoib_child_unregister(struct ipoib_dev *priv, struct list_head *list);
void ipoib_children_unregister(struct ipoib_dev *parent,
			       struct list_head *list);
void ipoib_children_set_up(struct ipoib_dev *parent, bool up);

/* lookup.c */
struct net_device *ipoib_find_netdev(struct ib_device *hca, u32 port, u16 pkey,
				     const union ib_gid *gid,
				     const struct sockaddr *addr,
				     void *client_data);

/* netdev.c */
void ipoib_setup(struct net_device *dev);
void ipoib_spread_tx(struct ipoib_dev *priv);
void ipoib_make_address(struct ipoib_dev *priv);
void ipoib_get_address(struct ipoib_dev *priv, u8 *addr);
void ipoib_set_broadcast(struct ipoib_dev *priv);
int ipoib_set_mode(struct ipoib_dev *priv, bool connected,
		   struct netlink_ext_ack *extack);

/* link.c */
int ipoib_read_port(struct ipoib_dev *priv);
int ipoib_link_up(struct ipoib_dev *priv);
void ipoib_link_down(struct ipoib_dev *priv);
int ipoib_resize(struct ipoib_dev *priv, unsigned int rx_size,
		 unsigned int tx_size);
void ipoib_set_guid(struct ipoib_dev *priv, __be64 guid);
void ipoib_flush(struct ipoib_dev *priv, enum ipoib_flush level);
void ipoib_flush_work(struct work_struct *work);
void ipoib_event(struct ib_event_handler *handler, struct ib_event *event);
void ipoib_sync(struct ipoib_dev *priv);
void ipoib_sync_work(struct work_struct *work);

/* vf.c */
int ipoib_set_vf_link_state(struct net_device *dev, int vf, int state);
int ipoib_get_vf_config(struct net_device *dev, int vf,
			struct ifla_vf_info *info);
int ipoib_get_vf_stats(struct net_device *dev, int vf,
		       struct ifla_vf_stats *stats);
int ipoib_get_vf_guid(struct net_device *dev, int vf,
		      struct ifla_vf_guid *node_guid,
		      struct ifla_vf_guid *port_guid);
int ipoib_set_vf_guid(struct net_device *dev, int vf, u64 guid, int type);

/* verbs.c */
struct ib_cq *ipoib_create_cq(struct ipoib_dev *priv, ib_comp_handler handler,
			      void *context, unsigned int cqe);
int ipoib_verbs_init(struct ipoib_dev *priv);
void ipoib_verbs_cleanup(struct ipoib_dev *priv);
int ipoib_verbs_resize(struct ipoib_dev *priv, unsigned int rx_size,
		       unsigned int tx_size);
int ipoib_qp_start(struct ipoib_dev *priv);
void ipoib_qp_stop(struct ipoib_dev *priv);
int ipoib_qp_set_qkey(struct ipoib_dev *priv, u32 qkey);

/* rx.c */
int ipoib_rx_init(struct ipoib_dev *priv);
void ipoib_rx_cleanup(struct ipoib_dev *priv);
int ipoib_rx_fill(struct ipoib_dev *priv);
void ipoib_rx_drain(struct ipoib_dev *priv);
void ipoib_rx_free(struct ipoib_dev *priv);
int ipoib_rx_poll(struct napi_struct *napi, int budget);
void ipoib_recv_event(struct ib_cq *cq, void *context);
void ipoib_rx_up(struct ipoib_dev *priv, struct napi_struct *napi,
		 struct sk_buff *skb);

/* tx.c */
int ipoib_tx_init(struct ipoib_tx_queue *q);
void ipoib_tx_cleanup(struct ipoib_tx_queue *q);
netdev_tx_t ipoib_start_xmit(struct sk_buff *skb, struct net_device *dev);
netdev_features_t ipoib_features_check(struct sk_buff *skb,
				       struct net_device *dev,
				       netdev_features_t features);
void ipoib_send_queued(struct ipoib_dest *d, struct sk_buff *skb,
		       struct ipoib_ah *ah);
unsigned int ipoib_tx_pieces(const struct sk_buff *skb, unsigned int hlen);
int ipoib_tx_map(struct ipoib_dev *priv, struct ipoib_tx_buf *buf,
		 struct ib_sge *sge);
void ipoib_tx_unmap(struct ipoib_dev *priv, struct ipoib_tx_buf *buf,
		    unsigned int n);
unsigned int ipoib_tx_reap_all(struct ipoib_tx_queue *q);
void ipoib_tx_free(struct ipoib_tx_queue *q);
void ipoib_tx_set_open(struct ipoib_tx_queue *q, bool open);
int ipoib_tx_poll(struct napi_struct *napi, int budget);
void ipoib_send_event(struct ib_cq *cq, void *context);

/* dest.c */
struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv,
				 struct rdma_ah_attr *attr);
void ipoib_ah_put(struct ipoib_ah *ah);
struct ipoib_dest *ipoib_dest_find(struct ipoib_dev *priv,
				   const union ib_gid *gid);
struct ipoib_dest *ipoib_dest_get(struct ipoib_dev *priv,
				  const union ib_gid *gid);
struct ipoib_ah *ipoib_dest_queue(struct ipoib_dev *priv,
				  const union ib_gid *gid, struct sk_buff *skb,
				  struct ipoib_dest **dest);
void ipoib_dest_set_state(struct ipoib_dest *d, enum ipoib_dest_state state);
void ipoib_dest_forgive(struct ipoib_dest *d);
void ipoib_dest_set_asking(struct ipoib_dest *d, bool asking);
void ipoib_dest_kick(struct ipoib_dest *d, unsigned long delay);
void ipoib_dest_publish(struct ipoib_dest *d, struct ipoib_ah *ah);
void ipoib_dest_withdraw(struct ipoib_dest *d);
void ipoib_dest_fail(struct ipoib_dest *d, unsigned long backoff);
void ipoib_dest_remove(struct ipoib_dev *priv,
		       bool (*doomed)(struct ipoib_dest *d));
void ipoib_dest_for_each(struct ipoib_dev *priv,
			 void (*fn)(struct ipoib_dest *d));
void ipoib_evict_work(struct work_struct *work);
void ipoib_gc_later(struct ipoib_dev *priv);
void ipoib_gc_work(struct work_struct *work);

/* path.c */
struct ipoib_dest *ipoib_path_alloc(void);
void ipoib_path_release(struct ipoib_dest *d);
void ipoib_path_requery(struct ipoib_dest *d);
void ipoib_path_reset(struct ipoib_dest *d);
void ipoib_path_resume(struct ipoib_dest *d);

/* sa.c */
bool ipoib_sa_path_ok(const struct ipoib_dest *d, struct sa_path_rec *rec);
bool ipoib_sa_silent(int status);
unsigned long ipoib_sa_pause(struct ipoib_dev *priv);
void ipoib_sa_missed(struct ipoib_dev *priv);
void ipoib_sa_heard(struct ipoib_dest *d);

/* mcast.c */
struct ipoib_dest *ipoib_mcast_alloc(void);
void ipoib_mcast_release(struct ipoib_dest *d);
void ipoib_mcast_renew(struct ipoib_dest *d);
void ipoib_mcast_retry(struct ipoib_dest *d);
int ipoib_mcast_start(struct ipoib_dev *priv);
void ipoib_mcast_list_work(struct work_struct *work);

/* debugfs.c */
void ipoib_debugfs_init(void);
void ipoib_debugfs_exit(void);

/* The interface's own, which tells when the subnet administrator is back. */
static inline bool ipoib_dest_is_own(const struct ipoib_dest *d)
{
	return ipoib_gid_equal(&d->gid, &d->priv->gid);
}

/* Will its work settle it? Under the destination's lock. */
static inline bool ipoib_dest_is_asking(const struct ipoib_dest *d)
{
	return d->state == IPOIB_DEST_ASKING || d->state == IPOIB_DEST_PAUSING;
}

/* Has the last attempt failed? Under its lock, or as a guess. */
static inline bool ipoib_dest_has_failed(const struct ipoib_dest *d)
{
	enum ipoib_dest_state state = READ_ONCE(d->state);

	return state == IPOIB_DEST_PAUSING || state == IPOIB_DEST_FAILED;
}

static inline struct ipoib_mcast *ipoib_to_mcast(struct ipoib_dest *d)
{
	return container_of(d, struct ipoib_mcast, dest);
}

static inline struct ipoib_path *ipoib_to_path(struct ipoib_dest *d)
{
	return container_of(d, struct ipoib_path, dest);
}

#endif /* _IPOIB_H */

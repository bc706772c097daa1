/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fabric: nodes have ports, links join ports
 *
 * What protects what:
 *
 * - softib_topology, a mutex, protects which nodes and links there are and what
 *   joins what. A caller that makes, changes or removes one holds it.
 * - softib_mgmt_lock, a spinlock, protects what subnet management and the
 *   training of links change.
 * - The data path takes neither. It runs with bottom halves disabled, which
 *   makes it a reader of RCU: a link or node that was taken out of the fabric
 *   is not freed before the packets that found it in there have passed.
 */
#ifndef _SOFTIB_FABRIC_H
#define _SOFTIB_FABRIC_H

#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "hdr.h"

#define SOFTIB_MAX_HCAS		64
#define SOFTIB_MAX_SWITCHES	16
#define SOFTIB_MAX_PORTS	254	/* of a switch, IBA 18.2.4.1 */
#define SOFTIB_MAX_HOPS		16	/* switches that a packet and the answer to it may cross */
#define SOFTIB_MAX_MACHINE	255
#define SOFTIB_NAME_LEN		32
#define SOFTIB_GID_PREFIX	cpu_to_be64(0xfe80000000000000ULL)
/* Ports say how fast they are beyond QDR, and beyond EDR. */
#define SOFTIB_SPEEDS_SUP	(IB_PORT_EXTENDED_SPEEDS_SUP | IB_PORT_CAP_MASK2_SUP)

#define SOFTIB_PKEY_BLOCK	32	/* P_Keys of a block of the P_KeyTable */
#define SOFTIB_NGUIDS		8	/* one block of GUIDInfo */
#define SOFTIB_LFT_SIZE		0xc000	/* every unicast LID */
#define SOFTIB_MFT_SIZE		0x4000	/* LIDs from 0xc000 on; the last is no multicast LID */
#define SOFTIB_NO_PORT		0xff
#define SOFTIB_MILLION		1000000
#define SOFTIB_BACKLOG		4096	/* packets to wait that no HCA is charged for */

/* What NodeInfo says. These are made up: none were assigned. */
#define SOFTIB_VENDOR_ID	0x025349
#define SOFTIB_DEVICE_ID	1

/* Port counters, IBA 16.1.3.5 and 16.1.4.11 */
enum softib_counter {
	SOFTIB_XMIT_DATA,		/* in words of 4 bytes */
	SOFTIB_XMIT_PKTS,
	SOFTIB_RCV_DATA,
	SOFTIB_RCV_PKTS,
	SOFTIB_UCAST_XMIT_PKTS,
	SOFTIB_UCAST_RCV_PKTS,
	SOFTIB_MCAST_XMIT_PKTS,
	SOFTIB_MCAST_RCV_PKTS,
	SOFTIB_RCV_ERRORS,
	SOFTIB_RELAY_ERRORS,
	SOFTIB_XMIT_DISCARDS,
	SOFTIB_VL15_DROPPED,
	SOFTIB_LINK_DOWNED,
	SOFTIB_NCOUNTERS
};

struct softib_counters {
	u64 c[SOFTIB_NCOUNTERS];
};

struct softib_node;
struct softib_link;
struct softib_far;

/**
 * struct softib_port - a port of a node (IBA 7, 14.2.5.6)
 * @node:	the node that the port belongs to
 * @link:	what is plugged in, or NULL; written with softib_topology and
 *		softib_mgmt_lock held
 * @side:	which end of @link the port is at; written with it
 * @num:	port number; a switch's management port is 0
 * @lid:	base LID; this and the next three are copies of what is in @info, or follow
 *		from it, for the data path, which reads them without a lock
 * @lmc:	number of path bits
 * @state:	logical state of the link, enum ib_port_state
 * @max_words:	how long a packet may be with the NeighborMTU in @info, in words of 4 bytes
 * @info:	the PortInfo attribute as Get answers it, but for what other
 *		fields and the link know better
 * @speed:	of each lane of the link, enum ib_port_speed; @info says of those above
 *		QDR that they are QDR, and what tells them apart is after it in PortInfo
 * @disabled:	the SM took the port down for good
 * @broken:	the node died: the port comes up no more
 * @mkey_expiry: when the lease of the M_Key ends, in jiffies; 0 when it has
 *		not been started
 * @npkeys:	entries of @pkeys
 * @pkeys:	the P_KeyTable, in host order because rdmavt reads it
 * @guids:	GUIDInfo; entry 0 is the port GUID
 * @stats:	counters since creation, per CPU
 * @base:	what the counters were when the PMA was told to clear them
 *
 * softib_mgmt_lock protects everything that management changes.
 */
struct softib_port {
	struct softib_node *node;
	struct softib_link __rcu *link;
	u8 side;
	u8 num;

	u16 lid;
	u8 lmc;
	u8 state;
	u16 max_words;

	struct ib_port_info info;
	u8 speed;
	bool disabled;
	bool broken;
	unsigned long mkey_expiry;
	u16 npkeys;
	u16 *pkeys;
	__be64 guids[SOFTIB_NGUIDS];

	struct softib_counters __percpu *stats;
	struct softib_counters base;
};

/**
 * struct softib_node_ops - what differs between an HCA and a switch
 * @receive:	takes a packet that arrived at @port, and owns it; called with
 *		bottom halves disabled
 * @send:	sends a packet of the node's own; called with bottom halves
 *		disabled
 * @port_event:	something that the node's consumers are to hear of happened to
 *		@port; called with softib_mgmt_lock held; may be NULL
 * @port_update: @port's info changed, as the subnet manager asked for with @in; called
 *		with softib_mgmt_lock held; may be NULL
 * @get_desc:	the NodeDescription
 * @port_fill:	adds to PortInfo what only the node knows: CapabilityMask and
 *		counts of violations; called with softib_mgmt_lock held
 */
struct softib_node_ops {
	void (*receive)(struct softib_port *port, struct sk_buff *skb);
	void (*send)(struct softib_node *node, struct sk_buff *skb);
	void (*port_event)(struct softib_port *port, enum ib_event_type event);
	void (*port_update)(struct softib_port *port, const struct ib_port_info *in);
	const char *(*get_desc)(struct softib_node *node);
	void (*port_fill)(struct softib_port *port, struct ib_port_info *info);
};

/* What a node tells its SM about by itself, in the order of importance */
enum softib_trap {
	SOFTIB_TRAP_LINK_STATE,		/* 128, by switches */
	SOFTIB_TRAP_LOCAL_CHANGE,	/* 144 */
	SOFTIB_NTRAPS
};

/* OtherLocalChanges of trap 144 */
#define SOFTIB_NODE_DESC_CHANGE	0x01

/**
 * struct softib_traps - traps of a node (IBA 13.4.9, 14.2.5.1)
 * @work:	sends the first pending one, and again until it is repressed
 * @pending:	mask of 1 << enum softib_trap; kept for a manager that is still to come
 * @tid:	for each of them, the transaction ID of what is pending
 * @last_tid:	the last one that was given out
 * @changes:	OtherLocalChanges of trap 144
 * @next:	when the next one may be sent, in jiffies
 *
 * softib_mgmt_lock protects all but @work.
 */
struct softib_traps {
	struct delayed_work work;
	unsigned long pending;
	u32 tid[SOFTIB_NTRAPS];
	u32 last_tid;
	u16 changes;
	unsigned long next;
};

/**
 * struct softib_node - a channel adapter or a switch
 * @list:	in the list of nodes, under softib_topology
 * @name:	what configfs and users call it
 * @ops:	see struct softib_node_ops
 * @type:	NodeType of NodeInfo, IBA 14.2.5.3
 * @nports:	number of external ports
 * @guid:	node GUID
 * @ports:	the ports; index 0 is used by switches only
 * @traps:	see struct softib_traps
 *
 * A node lives from softib_hca_create() or softib_switch_create() to the
 * corresponding destroy function, which unplugs its links first.
 */
struct softib_node {
	struct list_head list;
	char name[SOFTIB_NAME_LEN];
	const struct softib_node_ops *ops;
	u8 type;
	u8 nports;
	__be64 guid;
	struct softib_port *ports;
	struct softib_traps traps;
};

/* What a link can be told to do to packets; the first four by chance. */
enum softib_fault {
	SOFTIB_FAULT_LOSS,
	SOFTIB_FAULT_CORRUPT,
	SOFTIB_FAULT_DUPLICATE,
	SOFTIB_FAULT_REORDER,
	SOFTIB_FAULT_DELAY,
	SOFTIB_FAULT_CUT,
	SOFTIB_NFAULTS,
	SOFTIB_FAULT_PASSED = SOFTIB_NFAULTS,		/* counted only */
	SOFTIB_NFAULT_COUNTS
};

struct softib_way;

typedef void softib_deliver_fn(struct softib_way *way, struct sk_buff *skb);

/**
 * struct softib_way - one direction of a link
 * @link:	the link
 * @side:	the end that sends
 * @deliver:	takes a packet at the other end, and owns it; called with bottom halves
 *		disabled and no lock held
 * @active:	there is something to do to packets; read without the lock
 * @lock:	protects all that follows; taken with bottom halves disabled
 * @fault:	how many in a million packets meet with each fault; how long
 *		all take, in microseconds
 * @seed:	what @rng was started with
 * @rng:	decides which packets meet with a fault
 * @count:	what was done, and to how many packets
 * @held:	the packet that the next one is to overtake
 * @queue:	packets that are under way, in order; when they arrive is in
 *		skb->tstamp
 * @timer:	for the first arrival in @queue, and for @held
 */
struct softib_way {
	struct softib_link *link;
	u8 side;
	softib_deliver_fn *deliver;
	bool active;

	spinlock_t lock;	/* see above */
	u32 fault[SOFTIB_NFAULTS];
	u32 seed;
	struct rnd_state rng;
	u64 count[SOFTIB_NFAULT_COUNTS];
	struct sk_buff *held;
	struct sk_buff_head queue;
	struct hrtimer timer;
};

/* As struct softib_far_hello tells it, too */
enum softib_rate {
	SOFTIB_RATE_2_5,
	SOFTIB_RATE_5,
	SOFTIB_RATE_10,
	SOFTIB_RATE_20,
	SOFTIB_RATE_40,
	SOFTIB_RATE_56,
	SOFTIB_RATE_100,
	SOFTIB_RATE_200,
	SOFTIB_RATE_400,
	SOFTIB_NRATES,
};

/**
 * struct softib_link - what carries packets between two ports, of which one may
 *			be far away
 * @end:	the ports; NULL where the end is far away, both while the link is
 *		not plugged in. Written with softib_topology held, while no port
 *		points to the link.
 * @far:	the far end, or NULL; written with @end
 * @up:		the cable is in, a bool; under softib_mgmt_lock, as the next two
 * @mtu:	MTUCap of both ports, enum ib_mtu; if an end is far away, what it
 *		says is less may count, also for the next one
 * @rate:	LinkWidthActive and LinkSpeedActive, enum softib_rate
 * @way:	the directions, by the end that sends
 *
 * The structure that embeds it is freed after softib_link_unplug().
 */
struct softib_link {
	struct softib_port *end[2];
	struct softib_far *far;
	u8 up;
	u8 mtu;
	u8 rate;
	struct softib_way way[2];
};

/**
 * struct softib_switch_info - the SwitchInfo attribute (IBA 14.2.5.4)
 * @linear_fdb_cap:	entries in the linear forwarding table
 * @random_fdb_cap:	entries in the random forwarding table
 * @multicast_fdb_cap:	entries in the multicast forwarding table
 * @linear_fdb_top:	highest LID that the linear table is used for
 * @default_port:	for the random table
 * @default_mcast_primary: port for multicast LIDs without an entry
 * @default_mcast_not_primary: the same, for all other ports of entry
 * @lifetime_state:	LifeTimeValue 7:3, PortStateChange 2
 * @lids_per_port:	for the random table
 * @partition_enf_cap:	entries of the external ports' P_Key tables
 * @flags:		capabilities
 * @resv:		reserved
 * @mcast_fdb_top:	highest multicast LID in use
 */
struct softib_switch_info {
	__be16 linear_fdb_cap;
	__be16 random_fdb_cap;
	__be16 multicast_fdb_cap;
	__be16 linear_fdb_top;
	u8 default_port;
	u8 default_mcast_primary;
	u8 default_mcast_not_primary;
	u8 lifetime_state;
	__be16 lids_per_port;
	__be16 partition_enf_cap;
	u8 flags;
	u8 resv;
	__be16 mcast_fdb_top;
} __packed;

#define SOFTIB_PORT_STATE_CHANGE	0x04

/**
 * struct softib_switch - a switch
 * @node:	its place in the fabric; ports[0] is its management port
 * @desc:	the NodeDescription, padded with zeros
 * @info:	the SwitchInfo attribute, under softib_mgmt_lock
 * @lft:	linear forwarding table: the port for each LID
 * @positions:	how many times 16 ports there are, rounded up
 * @mft:	multicast forwarding table: for each position a mask of 16 ports
 *		for each multicast LID
 *
 * The tables are written under softib_mgmt_lock and read without: an entry is
 * read at once or not at all.
 */
struct softib_switch {
	struct softib_node node;
	char desc[IB_DEVICE_NODE_DESC_MAX];
	struct softib_switch_info info;
	u8 lft[SOFTIB_LFT_SIZE];
	unsigned int positions;
	u16 mft[][SOFTIB_MFT_SIZE];
};

extern struct mutex softib_topology;
extern spinlock_t softib_mgmt_lock;
extern unsigned int softib_mtu;		/* module parameter */
extern unsigned int softib_machine;	/* the same */

static inline bool softib_is_switch(const struct softib_node *node)
{
	return node->type == RDMA_NODE_IB_SWITCH;
}

static inline struct softib_switch *node_to_switch(struct softib_node *node)
{
	return container_of(node, struct softib_switch, node);
}

/* The port that a node's agents speak for, and whose M_Key guards the node */
static inline struct softib_port *softib_mgmt_port(struct softib_port *port)
{
	return softib_is_switch(port->node) ? &port->node->ports[0] : port;
}

/* Is a unicast LID one of the port's? The port has none until it is told. */
static inline bool softib_port_has_lid(const struct softib_port *port, u16 lid)
{
	u16 own = READ_ONCE(port->lid);

	return own && !((lid ^ own) >> READ_ONCE(port->lmc));
}

static inline void softib_count(struct softib_port *port,
				enum softib_counter counter, u64 n)
{
	this_cpu_add(port->stats->c[counter], n);
}

static inline bool softib_mtu_ok(unsigned int mtu)
{
	return is_power_of_2(mtu) && mtu >= 256 && mtu <= SOFTIB_MAX_MTU;
}

static inline enum ib_mtu softib_mtu_enum(unsigned int mtu)
{
	return ilog2(mtu) - ilog2(256) + IB_MTU_256;
}

static inline void softib_port_set_phys(struct softib_port *port, u8 state)
{
	port->info.portphysstate_linkdown &= 0x0f;
	port->info.portphysstate_linkdown |= state << 4;
}

/* node.c */
int softib_node_add(struct softib_node *node);
void softib_node_remove(struct softib_node *node);
bool softib_name_ok(const char *name);
struct softib_node *softib_node_find(const char *name);

/* port.c */
void softib_port_set_mtu(struct softib_port *port, u8 mtu);
int softib_port_init(struct softib_port *port, struct softib_node *node,
		     u8 num, u64 guid);
void softib_port_free(struct softib_port *port);
void softib_port_set_state(struct softib_port *port, u8 state);
void softib_port_event(struct softib_port *port, enum ib_event_type event);
u16 softib_npkeys(void);	/* limits.c */
bool softib_pkey_ok(u16 a, u16 b);
int softib_find_pkey(struct softib_port *port, u16 pkey);
bool softib_port_remove_pkey(struct softib_port *port, u16 pkey);
void softib_port_counters(struct softib_port *port,
			  struct softib_counters *sum);

/* train.c */
bool softib_link_ready(const struct softib_link *link);
void softib_link_set(struct softib_link *link, bool up);

/* link.c */
void softib_link_init(struct softib_link *link);
int softib_link_plug(struct softib_link *link, struct softib_port *a,
		     struct softib_port *b, struct softib_far *far);
void softib_link_unplug(struct softib_link *link);
void softib_link_train(struct softib_link *link);
void softib_port_retrain(struct softib_port *port);
void softib_link_xmit(struct softib_port *port, struct sk_buff *skb);

static inline bool softib_link_plugged(const struct softib_link *link)
{
	return READ_ONCE(link->end[0]) || READ_ONCE(link->end[1]);
}

/* fault.c */
extern unsigned int softib_loss;
void softib_way_init(struct softib_way *way, struct softib_link *link, u8 side,
		     softib_deliver_fn *deliver);
void softib_way_enter(struct softib_way *way, struct sk_buff *skb);
void softib_way_stop(struct softib_way *way);
void softib_way_send(struct softib_way *way, struct sk_buff *skb);
void softib_way_set(struct softib_way *way, enum softib_fault fault, u32 value);
void softib_way_seed(struct softib_way *way, u32 seed);

static inline bool softib_way_active(const struct softib_way *way)
{
	return READ_ONCE(way->active) || READ_ONCE(softib_loss);
}

/* trap.c */
void softib_traps_init(struct softib_node *node);
void softib_traps_stop(struct softib_node *node);
void softib_trap(struct softib_node *node, enum softib_trap trap);
void softib_traps_resume(struct softib_node *node);
void softib_trap_repress(struct softib_node *node, const struct ib_smp *smp);

/* switch.c */
struct softib_node *softib_switch_create(const char *name, u64 guid,
					 unsigned int nports);
void softib_switch_destroy(struct softib_node *node);

/* sma.c */
enum softib_sma_result {
	SOFTIB_SMA_REPLY,	/* the request was turned into the response */
	SOFTIB_SMA_DROP,	/* no answer is allowed */
	SOFTIB_SMA_PASS,	/* not for the agent */
};

enum softib_sma_result softib_sma(struct softib_port *port,
				  struct ib_smp *smp);

/* mad.c */
bool softib_get_mad(struct sk_buff *skb, struct softib_pkt *pkt, u32 qpn, void *mad);

/* sma_switch.c */
u16 softib_get_switch_info(struct softib_switch *sw, struct ib_smp *smp);
u16 softib_set_switch_info(struct softib_switch *sw, struct ib_smp *smp);
u16 softib_get_lft(struct softib_switch *sw, struct ib_smp *smp);
u16 softib_set_lft(struct softib_switch *sw, struct ib_smp *smp);
u16 softib_get_mft(struct softib_switch *sw, struct ib_smp *smp);
u16 softib_set_mft(struct softib_switch *sw, struct ib_smp *smp);

/* pma.c */
struct ib_pma_mad;
bool softib_pma(struct softib_port *port, struct ib_pma_mad *mad);

/* conf_root.c */
int softib_conf_init(unsigned int hcas);
void softib_conf_exit(void);

#endif /* _SOFTIB_FABRIC_H */

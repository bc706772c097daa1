/* SPDX-License-Identifier: GPL-2.0 */
/*
 * softib - a virtual InfiniBand fabric
 *
 * Nodes (HCAs and a switch) have ports, ports are joined by links, and packets
 * as the InfiniBand Architecture Specification (IBA) lays them out cross the
 * links. An HCA puts what it receives on a queue that its tasklet works off; a
 * switch forwards in the sender's context. Everything that an HCA's tasklet
 * does for a QP it does with the QP's r_lock and s_lock held (in that order,
 * as rdmavt wants), and it transmits after it has dropped them, so no lock of
 * the fabric nests in a lock of a QP.
 */
#ifndef _SOFTIB_H
#define _SOFTIB_H

#include <linux/interrupt.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <rdma/rdma_vt.h>
#include <rdma/rdmavt_qp.h>
#include <rdma/ib_smi.h>

#include "compat.h"
#include "hdr.h"

#define SOFTIB_MAX_HCAS		64
#define SOFTIB_GID_PREFIX	cpu_to_be64(0xfe80000000000000ULL)
#define SOFTIB_NPKEYS		32	/* one block of the P_KeyTable */
#define SOFTIB_NGUIDS		8	/* one block of GUIDInfo */
#define SOFTIB_MAX_RD_ATOMIC	16
#define SOFTIB_NACKS		(SOFTIB_MAX_RD_ATOMIC + 1)
#define SOFTIB_MAX_MSG		0x80000000U	/* IBA 9.7.8 */
#define SOFTIB_MAX_PKTS		0x400000	/* packets of a message */
#define SOFTIB_LFT_SIZE		0xc000	/* every unicast LID */
#define SOFTIB_MFT_SIZE		1024	/* multicast LIDs from 0xc000 on */
#define SOFTIB_NO_PORT		0xff
#define SOFTIB_MFT_POSITIONS	DIV_ROUND_UP(SOFTIB_MAX_HCAS + 1, 16)

/* What NodeInfo says; as nobody has assigned them, they are made up. */
#define SOFTIB_VENDOR_ID	0x025349
#define SOFTIB_DEVICE_ID	1

/* Enough to be in flight from one HCA: what stands for link-level credits. */
#define SOFTIB_INFLIGHT		512

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

/**
 * struct softib_port - a port of a node (IBA 7, 14.2.5.6)
 * @node:	the node that the port belongs to
 * @peer:	the port at the other end of the link; set before the first
 *		packet, cleared after the last one
 * @num:	port number; a switch's management port is 0
 * @lid:	base LID; this and the next two are copies of what is in @info,
 *		for the data path, which reads them without a lock
 * @lmc:	number of path bits
 * @state:	logical state of the link, enum ib_port_state
 * @info:	the PortInfo attribute as Get answers it, but for what other
 *		fields and the link know better
 * @disabled:	the SM took the port down for good
 * @events:	what @node.ops->port_event is to be told once the lock is dropped:
 *		a mask of 1 << enum ib_event_type
 * @mkey_expiry: when the lease of the M_Key ends, in jiffies; 0 when it has
 *		not been started
 * @pkeys:	the P_KeyTable, in host order because rdmavt reads it
 * @guids:	GUIDInfo; entry 0 is the port GUID
 * @stats:	counters since creation, per CPU
 * @base:	what the counters were when the PMA was told to clear them
 * @loss_lock:	protects @loss_rng
 * @loss_rng:	decides which packets the link loses from this port on
 *
 * softib_mgmt_lock protects everything that management changes.
 */
struct softib_port {
	struct softib_node *node;
	struct softib_port *peer;
	u8 num;

	u16 lid;
	u8 lmc;
	u8 state;

	struct ib_port_info info;
	bool disabled;
	unsigned long events;
	unsigned long mkey_expiry;
	u16 pkeys[SOFTIB_NPKEYS];
	__be64 guids[SOFTIB_NGUIDS];

	struct softib_counters __percpu *stats;
	struct softib_counters base;

	spinlock_t loss_lock;	/* see above */
	struct rnd_state loss_rng;
};

/**
 * struct softib_node_ops - what differs between an HCA and a switch
 * @receive:	takes a packet that arrived at @port, and owns it; called with
 *		bottom halves disabled
 * @port_event:	something that the node's consumers are to hear of happened to
 *		@port; called without a lock, in any context; may be NULL
 * @port_update: @port's info changed; called with softib_mgmt_lock held; may be
 *		NULL
 * @get_desc:	the NodeDescription
 * @port_fill:	adds to PortInfo what only the node knows: CapabilityMask and
 *		counts of violations; called with softib_mgmt_lock held
 */
struct softib_node_ops {
	void (*receive)(struct softib_port *port, struct sk_buff *skb);
	void (*port_event)(struct softib_port *port, enum ib_event_type event);
	void (*port_update)(struct softib_port *port);
	const char *(*get_desc)(struct softib_node *node);
	void (*port_fill)(struct softib_port *port, struct ib_port_info *info);
};

/**
 * struct softib_node - a channel adapter or a switch
 * @ops:	see struct softib_node_ops
 * @type:	NodeType of NodeInfo, IBA 14.2.5.3
 * @nports:	number of external ports
 * @guid:	node GUID
 * @ports:	the ports; index 0 is used by switches only
 */
struct softib_node {
	const struct softib_node_ops *ops;
	u8 type;
	u8 nports;
	__be64 guid;
	struct softib_port *ports;
};

/**
 * struct softib_hca - a virtual HCA with one port
 * @rdi:	the rdmavt device; must be first
 * @node:	its place in the fabric
 * @ports:	what @node.ports points to; [1] is the port
 * @ibp:	rdmavt's view of the port
 * @rxq:	packets that arrived and wait for @tasklet
 * @tasklet:	does all work of the transport: receives, answers, sends
 * @send_lock:	protects @send_list and softib_qp.send_node
 * @send_list:	QPs that may have something to send; each holds a reference
 * @inflight:	packets that this HCA sent and nobody has freed yet
 * @stalled:	@tasklet waits for @inflight to fall
 * @registered:	consumers can see it; used by the creator only
 */
struct softib_hca {
	struct rvt_dev_info rdi;
	struct softib_node node;
	struct softib_port ports[2];
	struct rvt_ibport ibp;

	struct sk_buff_head rxq;
	struct tasklet_struct tasklet;
	spinlock_t send_lock;	/* see above */
	struct list_head send_list;
	atomic_t inflight;
	atomic_t stalled;
	bool registered;
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
 * @desc:	the NodeDescription
 * @info:	the SwitchInfo attribute, under softib_mgmt_lock
 * @lft:	linear forwarding table: the port for each LID
 * @mft:	multicast forwarding table: for each position of 16 ports a mask
 *		of ports for each multicast LID
 *
 * The tables are written under softib_mgmt_lock and read without: an entry is
 * read at once or not at all.
 */
struct softib_switch {
	struct softib_node node;
	char desc[IB_DEVICE_NODE_DESC_MAX];
	struct softib_switch_info info;
	u8 lft[SOFTIB_LFT_SIZE];
	u16 mft[SOFTIB_MFT_POSITIONS][SOFTIB_MFT_SIZE];
};

/**
 * struct softib_pos - a place in the data of a work request
 * @ss:		the place; holds no references, the work request does
 * @psn:	PSN of the packet that it is for
 * @valid:	the other two mean something
 */
struct softib_pos {
	struct rvt_sge_state ss;
	u32 psn;
	bool valid;
};

/* Kind of the message that a responder is receiving */
enum softib_msg {
	SOFTIB_MSG_NONE = 0,
	SOFTIB_MSG_SEND = 1,
	SOFTIB_MSG_WRITE = 2,
};

/**
 * struct softib_qp - our part of a QP
 * @qp:		rdmavt's part
 * @send_node:	in softib_hca.send_list, under its lock
 * @events:	what the consumer is to be told once the locks are dropped: a
 *		mask of 1 << enum ib_event_type
 *
 * The rest is RC's. The requester's fields are protected by qp->s_lock.
 *
 * @req_max:	first PSN that was never sent
 * @req_pos:	data of the next packet of a send or write
 * @rd_pos:	where the next RDMA READ response goes
 * @gap:	responses are missing and were asked for again
 *
 * The responder's fields are protected by qp->r_lock.
 *
 * @msg:	kind of the message that is arriving, enum softib_msg
 * @nak_status:	error that the QP falls into once the NAK is sent; a success
 *		if it does not
 * @ack_psn:	for each entry of qp->s_ack_queue the PSN of its next response
 * @ack_first:	the PSN that its run of responses started at
 */
struct softib_qp {
	struct rvt_qp *qp;
	struct list_head send_node;
	unsigned long events;

	u32 req_max;
	struct softib_pos req_pos;
	struct softib_pos rd_pos;
	bool gap;

	enum softib_msg msg;
	enum ib_wc_status nak_status;
	u32 ack_psn[SOFTIB_NACKS];
	u32 ack_first[SOFTIB_NACKS];
};

/* Module parameters */
extern unsigned int softib_mtu;

/* Protects all state that subnet management changes. Taken with interrupts
 * off; nothing else is taken inside.
 */
extern spinlock_t softib_mgmt_lock;

static inline struct softib_hca *to_softib_hca(struct ib_device *ibdev)
{
	return container_of(ib_to_rvt(ibdev), struct softib_hca, rdi);
}

static inline struct softib_hca *qp_to_hca(struct rvt_qp *qp)
{
	return to_softib_hca(qp->ibqp.device);
}

static inline struct softib_switch *node_to_switch(struct softib_node *node)
{
	return container_of(node, struct softib_switch, node);
}

static inline bool softib_is_switch(const struct softib_node *node)
{
	return node->type == RDMA_NODE_IB_SWITCH;
}

static inline struct softib_port *softib_hca_port(struct softib_hca *hca)
{
	return &hca->ports[1];
}

static inline struct softib_hca *node_to_hca(struct softib_node *node)
{
	return container_of(node, struct softib_hca, node);
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

/* Difference of two PSNs, IBA 9.7.2: they count modulo 2^24. */
static inline int softib_psn_diff(u32 a, u32 b)
{
	return sign_extend32(a - b, 23);
}

/* fabric.c */
int softib_port_init(struct softib_port *port, struct softib_node *node,
		     u8 num, u64 guid);
void softib_port_free(struct softib_port *port);
void softib_link(struct softib_port *a, struct softib_port *b);
void softib_link_retrain(struct softib_port *port);
void softib_port_set_state(struct softib_port *port, u8 state);
void softib_port_report(struct softib_port *port);
void softib_link_xmit(struct softib_port *port, struct sk_buff *skb);
void softib_port_counters(struct softib_port *port,
			  struct softib_counters *sum);
extern const struct kernel_param_ops softib_loss_ops;

/* capture.c */
DECLARE_STATIC_KEY_FALSE(softib_capture_key);
void __softib_capture(struct sk_buff *skb);
void softib_capture_init(void);
void softib_capture_exit(void);

/* Show a packet that is about to cross its first link to captures. */
static inline void softib_capture(struct sk_buff *skb)
{
	if (static_branch_unlikely(&softib_capture_key) &&
	    !softib_cb(skb)->captured)
		__softib_capture(skb);
}

/* hca.c */
struct softib_hca *softib_hca_create(unsigned int index);
int softib_hca_register(struct softib_hca *hca);
void softib_hca_unregister(struct softib_hca *hca);
void softib_hca_stop(struct softib_hca *hca);
void softib_hca_destroy(struct softib_hca *hca);
void softib_hca_send(struct softib_hca *hca, struct sk_buff *skb);
void softib_qp_schedule(struct rvt_qp *qp);
void softib_qp_unschedule(struct rvt_qp *qp);
void softib_qp_error(struct rvt_qp *qp, enum ib_wc_status status);
bool softib_pkey_ok(u16 a, u16 b);

/* verbs.c */
void softib_verbs_init(struct softib_hca *hca, unsigned int index);
extern const enum ib_wc_opcode softib_wc_opcode[];

/* switch.c */
struct softib_node *softib_switch_create(unsigned int nports);
void softib_switch_destroy(struct softib_node *node);

/* sma.c */
enum softib_sma_result {
	SOFTIB_SMA_REPLY,	/* the request was turned into the response */
	SOFTIB_SMA_DROP,	/* no answer is allowed */
	SOFTIB_SMA_PASS,	/* not for the agent */
};

enum softib_sma_result softib_sma(struct softib_port *port,
				  struct ib_smp *smp);

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

/* mad.c */
int softib_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		       const struct ib_wc *wc, const struct ib_grh *grh,
		       const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey_index);

/* rc.c */
void softib_rc_hdrs(struct rvt_qp *qp, struct softib_hdrs *hdrs, u32 psn);
bool softib_rc_send(struct softib_qp *priv, struct sk_buff_head *out);
void softib_rc_receive(struct softib_qp *priv, const struct softib_pkt *pkt);

/* rc_req.c */
void softib_req_timeout(struct rvt_qp *qp, u32 psn, int wait);
void softib_req_receive(struct softib_qp *priv, const struct softib_pkt *pkt);
bool softib_req_send(struct softib_qp *priv, struct sk_buff_head *out);

/* rc_resp.c */
void softib_resp_receive(struct softib_qp *priv, const struct softib_pkt *pkt);
bool softib_resp_send(struct softib_qp *priv, struct sk_buff_head *out);

/* ud.c */
bool softib_ud_send(struct softib_qp *priv, struct sk_buff_head *out);
void softib_ud_receive(struct softib_qp *priv, const struct softib_pkt *pkt);

#endif /* _SOFTIB_H */

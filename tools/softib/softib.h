/* SPDX-License-Identifier: GPL-2.0 */
/*
 * softib - a virtual InfiniBand fabric
 *
 * Nodes (HCAs and switches) have ports, links join the ports (fabric.h), and packets
 * cross the links as the InfiniBand Architecture Specification (IBA) lays them out.
 * An HCA looks to the kernel like any other RDMA device: rdmavt keeps its objects.
 *
 * The rooms. A file calls files on its right and on the floors below; none calls up.
 *
 *	module		main
 *			  |
 *	configfs	conf_root ---> conf_node
 *			    |--------> conf_link ---> conf_end
 *			  |
 *	nodes		hca ---> device			switch
 *			  |				  |
 *	calls, work	verbs ---> limits, guard, inline, netdev
 *			work				  |
 *			  |				  |
 *	agents		mad ---> sma ---> sma_switch	  |
 *			  |----> pma			  |
 *			  |				  |
 *	transport	conn ---> rc_req, rc_resp, uc	  |
 *			ud				  |
 *			  |				  |
 *	messages	msg, offload			  |
 *			  |				  |
 *	queue pairs	send ---> qp ---> recv		  |
 *			cq, build			  |
 *			  |				  |
 *	the way out	queue				  |
 *			  |				  |
 *	fabric		node ---> link ---> far_train ---> train ---> port ---> trap
 *				    |-----------|--------> fault, udp
 *			  |
 *	packets		capture, hdr, crc, alloc	fail (calls that fail)
 *
 * A program's or the kernel's call enters by rdmavt and verbs.c. A packet leaves by
 * work.c, ud.c or conn.c (which build it), queue.c and link.c; it crosses the link,
 * through fault.c if the link is to disturb it and udp.c if the other end is far away,
 * and link.c gives it to the node at the other end. A switch forwards it at once, in the
 * sender's context. An HCA puts it on a queue (queue.c) and its work (work.c, on
 * softib_wq) takes it from there: first to the agents (mad.c), then to its QP. Where two ends
 * take turns, the work is done in a softirq of the sender's context (queue.c).
 *
 * What has to go up goes through functions that were given from above: a port's events
 * and packets to its node (struct softib_node_ops), a packet to the end of its way
 * (softib_way.deliver), what the socket gets (struct softib_far_ops), and rdmavt's calls
 * (verbs.c). Variables that all floors read are main.c's; node.c has the fabric's locks.
 *
 * Locks, outermost first; all before softib_mgmt_lock are mutexes, or a semaphore.
 *
 *	softib_topology		which nodes and links there are
 *	modify_lock, post_lock	of a program's QP: one call at a time; resize_lock: of an
 *				HCA's CQs
 *	softib_hca.iter_sem	no QP is freed while all are gone through
 *	far_lock (udp.c)	the sockets of far ends
 *	softib_mgmt_lock	what subnet management and training change
 *
 *	r_lock, s_hlock, s_lock	of a QP, in this order, as rdmavt wants; inside r_lock
 *				also those of its receive queue (p_lock, c_lock), inside
 *				either those of its CQs
 *	send_lock		which QPs may send; in any context
 *
 *	run_lock		outside of all spinlocks: an HCA's work is being done. The work
 *				takes it, and a call that sleeps and waits for the work
 *
 *	softib_way.lock, capture_lock, locks of queues of packets: nothing is called with
 *	one of them held that takes another lock of ours
 *
 * All that the work does for a QP it does with r_lock and s_lock held. It transmits after
 * it has dropped them, so no lock of the data path nests in a lock of a QP. No two of the
 * three groups of spinlocks nest: management, QPs, data path.
 *
 * Lifetimes. configfs' directories make and destroy nodes and links, under
 * softib_topology. An HCA goes in two steps: softib_hca_unregister() takes it away from
 * its consumers, and so all its QPs, while its link still works; softib_hca_destroy()
 * takes it out of the fabric and waits for the packets that it is charged for. A QP
 * lives as long as rdmavt has references to it; softib_hca.send_list holds one. A packet
 * belongs to the function that it is given to. The data path, which runs with bottom
 * halves disabled, is a reader of RCU: links, nodes and sockets are freed after it.
 */
#ifndef _SOFTIB_H
#define _SOFTIB_H

#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/rdma_vt.h>
#include <rdma/rdmavt_qp.h>

#include "compat.h"
#include "fabric.h"
#include "hdr.h"

#define SOFTIB_MAX_RD_ATOMIC	16
#define SOFTIB_NACKS		(SOFTIB_MAX_RD_ATOMIC + 1)
#define SOFTIB_MAX_MSG		0x80000000U	/* IBA 9.7.8 */
#define SOFTIB_MAX_VFS		64
#define SOFTIB_MAX_PKTS		0x400000	/* packets of a message */
#define SOFTIB_MAX_SGE		32

/* How many packets of a QP one turn of it may send */
#define SOFTIB_TX_BUDGET	16

/* Enough to be in flight from one HCA: what stands for link-level credits. */
#define SOFTIB_INFLIGHT		512

/**
 * struct softib_hca - a virtual HCA with one port
 * @rdi:	the rdmavt device; must be first
 * @node:	its place in the fabric
 * @ports:	what @node.ports points to; [1] is the port
 * @ibp:	rdmavt's view of the port
 * @rxq:	packets that arrived and wait for @work
 * @work:	does all work of the transport in a thread: receives, answers, sends
 * @soon:	a softirq is about to do the same, as a consumer waits for it
 * @soon_node:	in that CPU's list of such HCAs
 * @run_lock:	one of the two at a time
 * @running:	one of them is at work, and looks once more before it ends; written under
 *		@run_lock, read without
 * @send_lock:	protects @send_list and softib_qp.send_node
 * @send_list:	QPs that may have something to send; each holds a reference
 * @inflight:	packets that this HCA sent and that are not freed yet
 * @stalled:	@work waits for @inflight to fall
 * @halted:	@work sends nothing; under softib_topology
 * @rvt_create_qp: what rdmavt does when a QP is made
 * @rvt_modify_qp: when it is modified
 * @rvt_destroy_qp: and when it is destroyed
 * @rvt_post_recv: and with a receive that is posted
 * @rvt_detach_mcast: and when a QP leaves a multicast group
 * @rvt_create_cq: when a CQ is made
 * @rvt_dereg_mr: when a memory region goes
 * @user_cq_event: what the core does with events of programs' CQs
 * @rvt_create_srq: when an SRQ is made
 * @rvt_resize_cq: when a CQ gets another size
 * @rvt_post_send: and with work requests that are posted
 * @rvt_query_qp: when a consumer asks what a QP is like
 * @rvt_alloc_mr: when memory is made that consumers in the kernel register fast
 * @max_inline:	the most inline data that a QP of a program takes, in bytes
 * @has_netdev:	it drives IPoIB's interfaces by itself, where the driver wants that
 * @resize_lock: programs change the size of one CQ at a time
 * @under:	all verbs calls as they are where none is made to fail
 * @parent:	the device that it appears under
 * @debugfs:	its directory there, while it is registered
 * @registered:	consumers hear of events; under softib_mgmt_lock
 * @iter_sem:	held for reading while something goes through all QPs; before a QP is freed,
 *		which cannot be found any more then, it is taken for writing
 * @detaching:	how many QPs leave multicast groups; @work receives nothing meanwhile
 * @deaf:	consumers have gone: rdmavt frees its table of QPs, in which @work
 *		looks for receivers
 */
struct softib_hca {
	struct rvt_dev_info rdi;
	struct softib_node node;
	struct softib_port ports[2];
	struct rvt_ibport ibp;

	struct sk_buff_head rxq;
	struct work_struct work;
	bool soon;
	struct list_head soon_node;
	spinlock_t run_lock;	/* see above */
	bool running;
	spinlock_t send_lock;	/* see above */
	struct list_head send_list;
	atomic_t inflight;
	atomic_t stalled;
	bool halted;
	int (*rvt_create_qp)(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			     struct ib_udata *udata);
	int (*rvt_modify_qp)(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			     struct ib_udata *udata);
	int (*rvt_destroy_qp)(struct ib_qp *ibqp, struct ib_udata *udata);
	int (*rvt_post_recv)(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad);
	int (*rvt_detach_mcast)(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
	int (*rvt_create_cq)(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			     struct ib_cq_udata *udata);
	int (*rvt_dereg_mr)(struct ib_mr *ibmr, struct ib_udata *udata);
	void (*user_cq_event)(struct ib_event *event, void *context);
	int (*rvt_create_srq)(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
			      struct ib_udata *udata);
	int (*rvt_resize_cq)(struct ib_cq *ibcq, compat_cqe_t cqe, struct ib_udata *udata);
	int (*rvt_post_send)(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			     const struct ib_send_wr **bad);
	int (*rvt_query_qp)(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			    struct ib_qp_init_attr *init);
	struct ib_mr *(*rvt_alloc_mr)(struct ib_pd *pd, enum ib_mr_type type,
				      u32 max_sg);
	u32 max_inline;
	bool has_netdev;
	struct mutex resize_lock;	/* see above */
#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
	struct ib_device_ops under;
#endif
	struct device *parent;
	struct dentry *debugfs;
	bool registered;
	struct rw_semaphore iter_sem;
	atomic_t detaching;
	bool deaf;
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

/* What becomes of a packet of a message */
enum softib_msg_result {
	SOFTIB_MSG_DONE,
	SOFTIB_MSG_NOT_READY,	/* no receive has been posted */
	SOFTIB_MSG_BAD_RECEIVE,	/* and completed: one that makes no sense */
	SOFTIB_MSG_BAD_LENGTH,
	SOFTIB_MSG_INVALID,	/* out of sequence, or not allowed at all */
	SOFTIB_MSG_NO_ACCESS,	/* the R_Key does not allow it */
};

/**
 * struct softib_qp - our part of a QP
 * @qp:		rdmavt's part
 * @modify_lock: the consumer modifies it one call at a time
 * @send_node:	in softib_hca.send_list, under its lock
 * @late_timer:	runs while a user's QP is in error, for the receives that are
 *		posted then
 * @events:	what the consumer is to be told once the locks are dropped: a
 *		mask of 1 << enum ib_event_type; under r_lock and s_lock
 * @answered:	qp->r_msn when the consumer posted to an idle QP last; a hint, without a lock
 * @alternates:	one message had come since the time before; likewise
 * @draining:	the consumer wants to hear when the send queue is drained;
 *		under s_lock
 * @in:		room for a program's inline data, or NULL; as long as the QP
 *
 * The rest is RC's, and partly UC's. The requester's fields are protected by
 * qp->s_lock.
 *
 * @req_max:	first PSN that was never sent
 * @req_asked:	the PSN after that of the last packet that asked for an answer;
 *		before una() if none did since what is unacknowledged was sent
 * @asked_at:	jiffies since when the first answer is due that was asked for
 * @req_pos:	data of the next packet of a send or write
 * @rd_pos:	where the next RDMA READ response goes
 * @rd_psns:	how many of the PSNs that are unacknowledged are for the responses to
 *		RDMA READs
 * @gap:	responses are missing and were asked for again
 * @lso_done:	how much of a large send is in packets, 0 before the first
 *
 * The responder's fields are protected by qp->r_lock.
 *
 * @msg:	kind of the message that is arriving, enum softib_msg
 * @rcv:	where its next packet goes; qp->r_sge, which holds the references,
 *		stays at its beginning
 * @sges:	memory of the last receive that was taken, as the consumer posted it
 * @num_sges:	how many pieces that is
 * @nak_status:	error that the QP falls into once the NAK is sent; a success
 *		if it does not
 * @ack_psn:	for each entry of qp->s_ack_queue the PSN of its next response
 * @ack_first:	the PSN that its run of responses started at
 */
struct softib_qp {
	struct rvt_qp *qp;
	struct mutex modify_lock;	/* see above */
	struct list_head send_node;
	struct timer_list late_timer;
	unsigned long events;
	u32 answered;
	bool alternates;
	bool draining;
	struct softib_inline *in;

	u32 req_max;
	u32 req_asked;
	unsigned long asked_at;
	struct softib_pos req_pos;
	struct softib_pos rd_pos;
	u32 rd_psns;
	bool gap;
	u32 lso_done;

	enum softib_msg msg;
	struct rvt_sge_state rcv;
	struct rvt_wqe_sge sges[SOFTIB_MAX_SGE];
	u8 num_sges;
	enum ib_wc_status nak_status;
	u32 ack_psn[SOFTIB_NACKS];
	u32 ack_first[SOFTIB_NACKS];
};

static inline struct softib_hca *to_softib_hca(struct ib_device *ibdev)
{
	return container_of(ib_to_rvt(ibdev), struct softib_hca, rdi);
}

static inline struct softib_hca *qp_to_hca(struct rvt_qp *qp)
{
	return to_softib_hca(qp->ibqp.device);
}

static inline bool softib_is_connected(const struct rvt_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_RC || qp->ibqp.qp_type == IB_QPT_UC;
}

/* Is a work request one on a memory region? No packet comes of it. */
static inline bool softib_is_local(const struct rvt_swqe *wqe)
{
	return wqe->wr.opcode == IB_WR_REG_MR ||
	       wqe->wr.opcode == IB_WR_LOCAL_INV;
}

static inline struct softib_port *softib_hca_port(struct softib_hca *hca)
{
	return &hca->ports[1];
}

static inline struct softib_hca *node_to_hca(struct softib_node *node)
{
	return container_of(node, struct softib_hca, node);
}

/* Counts of violations stand at their highest value (IBA 14.2.5.6). */
static inline void softib_violation(u16 *count)
{
	if (*count != U16_MAX)
		++*count;
}

/* The LMC says how many path bits there are; consumers may not choose any others, for
 * the LID would be another port's.
 */
static inline u16 softib_source_lid(const struct softib_port *port,
				    const struct rdma_ah_attr *ah)
{
	u8 bits = rdma_ah_get_path_bits(ah);

	if (bits)
		bits &= BIT(READ_ONCE(port->lmc)) - 1;
	return READ_ONCE(port->lid) | bits;
}

/* Difference of two PSNs, IBA 9.7.2: they count modulo 2^24. */
static inline int softib_psn_diff(u32 a, u32 b)
{
	return sign_extend32(a - b, 23);
}

/* main.c */
extern struct dentry *softib_debugfs;
extern struct workqueue_struct *softib_wq;

/* alloc.c */
int softib_alloc_init(void);
void softib_alloc_exit(void);
struct sk_buff *softib_alloc(u32 len);

/* device.c */
struct device *softib_device_create(const char *name, unsigned int vfs);
int softib_set_vf_link_state(struct ib_device *ibdev, int vf, u32 port, int state);
int softib_get_vf_config(struct ib_device *ibdev, int vf, u32 port,
			 struct ifla_vf_info *info);
int softib_get_vf_stats(struct ib_device *ibdev, int vf, u32 port,
			struct ifla_vf_stats *stats);
int softib_set_vf_stats(struct softib_hca *hca, int vf,
			const struct ifla_vf_stats *stats);
int softib_get_vf_guid(struct ib_device *ibdev, int vf, u32 port,
		       struct ifla_vf_guid *node_guid,
		       struct ifla_vf_guid *port_guid);
int softib_set_vf_guid(struct ib_device *ibdev, int vf, u32 port, u64 guid,
		       int type);
int softib_bus_init(void);
void softib_bus_exit(void);

/* hca.c */
struct softib_hca *softib_hca_create(const char *name, u64 guid, unsigned int vfs);
void softib_hca_unregister(struct softib_hca *hca);
void softib_hca_destroy(struct softib_hca *hca);
void softib_hca_kill(struct softib_hca *hca);
void softib_hca_halt(struct softib_hca *hca, bool on);

/* work.c */
void softib_hca_work(struct work_struct *work);
void softib_hca_soon(struct softib_hca *hca);

/* queue.c */
void softib_soon_init(void (*run)(struct softib_hca *hca));
void softib_soon_exit(void);
void softib_qp_schedule(struct rvt_qp *qp);
void softib_qp_start(struct rvt_qp *qp);
void softib_qp_unschedule(struct rvt_qp *qp);
void softib_qp_finish(struct rvt_qp *qp);
void softib_hca_wait(struct softib_hca *hca);
void softib_hca_pause(struct softib_hca *hca);
void softib_hca_resume(struct softib_hca *hca);
void softib_hca_receive(struct softib_port *port, struct sk_buff *skb);
void softib_hca_charge(struct softib_hca *hca, struct sk_buff *skb);
void softib_hca_send(struct softib_hca *hca, struct sk_buff *skb);

/* qp.c */
void softib_qp_init(struct softib_qp *priv, struct rvt_qp *qp);
void softib_qp_reset(struct rvt_qp *qp);
void softib_qp_error(struct rvt_qp *qp, enum ib_wc_status status);
void softib_qp_error_notify(struct rvt_qp *qp);
void softib_qp_posted(struct rvt_qp *qp);
void softib_qp_quiesce(struct rvt_qp *qp);
void softib_qp_drain(struct softib_qp *priv);
void softib_qp_report(struct rvt_qp *qp, unsigned long events);

/* cq.c */

/* A CQ that is disarmed for the time being, if cq is set, and where it was */
struct softib_armed {
	struct rvt_cq *cq;
	void *ring;
	u32 head;
	u8 triggered;
};

void softib_cq_disarm(struct softib_armed armed[2], struct rvt_qp *qp);
void softib_cq_tell(struct softib_armed armed[2]);

/* guard.c */
int softib_guard_answer(struct ib_udata *udata);
void softib_guard_wrap(struct softib_hca *hca);

/* inline.c */
struct softib_inline;
struct softib_inline *softib_inline_create(struct ib_qp *ibqp,
					   const struct ib_qp_cap *cap);
void softib_inline_destroy(struct softib_inline *in);
u32 softib_inline_size(const struct softib_inline *in);
int softib_inline_post(struct rvt_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad);

/* limits.c */
void softib_limits(struct softib_hca *hca);

/* netdev.c */
bool softib_netdev_able(void);
int softib_netdev_params(struct ib_device *ibdev, u32 port, enum rdma_netdev_t type,
			 struct rdma_netdev_alloc_params *params);

/* recv.c */
int softib_take_receive(struct rvt_qp *qp, bool name_only);
int softib_reopen_receive(struct rvt_qp *qp);
void softib_flush_receives(struct rvt_qp *qp);
int softib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata);

/* verbs.c */
int softib_verbs_init(struct softib_hca *hca);
void softib_verbs_registered(struct softib_hca *hca);
extern const enum ib_wc_opcode softib_wc_opcode[];

/* mad.c */
bool softib_mad_receive(struct softib_hca *hca, struct sk_buff **skb,
			struct softib_pkt *pkt);
int softib_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		       const struct ib_wc *wc, const struct ib_grh *grh,
		       const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey_index);

/* build.c */
void softib_conn_hdrs(struct rvt_qp *qp, struct softib_hdrs *hdrs, u32 psn);
struct sk_buff *softib_pkt_build(struct softib_hca *hca,
				 const struct softib_hdrs *hdrs,
				 struct rvt_sge_state *ss, u32 len,
				 bool release);
void *softib_pkt_payload(struct sk_buff *skb, u32 len);

/* send.c */
void softib_conn_fail(struct rvt_qp *qp, enum ib_wc_status status);
void softib_conn_local(struct rvt_qp *qp);
bool softib_flush_send(struct rvt_qp *qp);

/* conn.c */
bool softib_conn_send(struct softib_qp *priv, struct sk_buff_head *out);
void softib_conn_receive(struct softib_qp *priv, const struct softib_pkt *pkt);

/* msg.c */
u32 softib_msg_offset(struct rvt_qp *qp, struct rvt_swqe *wqe, u32 psn);
void softib_msg_seek(struct rvt_qp *qp, struct rvt_swqe *wqe, u32 psn,
		     struct softib_pos *pos);
struct sk_buff *softib_msg_build(struct softib_qp *priv, struct rvt_swqe *wqe,
				 struct softib_hdrs *hdrs);
bool softib_msg_begins(u8 opcode);
void softib_msg_abandon(struct softib_qp *priv);
enum softib_msg_result softib_msg_receive(struct softib_qp *priv,
					  const struct softib_pkt *pkt);
void softib_put_reth(struct ib_reth *reth, u64 vaddr, u32 rkey, u32 len);
bool softib_rkey_ok(struct rvt_qp *qp, struct rvt_sge *sge, u64 vaddr,
		    u32 rkey, u32 len, int access);

/* uc.c */
bool softib_uc_send(struct softib_qp *priv, struct sk_buff_head *out);
void softib_uc_receive(struct softib_qp *priv, const struct softib_pkt *pkt);

/* rc_req.c */
void softib_req_timeout(struct rvt_qp *qp, u32 psn, int wait);
void softib_req_receive(struct softib_qp *priv, const struct softib_pkt *pkt);
bool softib_req_send(struct softib_qp *priv, struct sk_buff_head *out);

/* rc_resp.c */
void softib_resp_receive(struct softib_qp *priv, const struct softib_pkt *pkt);
bool softib_resp_send(struct softib_qp *priv, struct sk_buff_head *out);

/* offload.c */
void softib_offload_props(struct ib_device_attr *props);
int softib_lso_setup(struct softib_hca *hca, struct rvt_swqe *wqe, u32 mtu);
void softib_offload_send(struct softib_hca *hca, const struct rvt_swqe *wqe,
			 void *payload, u32 len, u32 offset);
bool softib_offload_receive(struct softib_hca *hca, void *payload, u32 len);

/* ud.c */
bool softib_ud_send(struct softib_qp *priv, struct sk_buff_head *out);
void softib_ud_receive(struct softib_qp *priv, const struct softib_pkt *pkt);

#endif /* _SOFTIB_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IP over InfiniBand (RFC 4391, RFC 4392): the structures shared by the driver's
 * files. Each subject has a header in state/, with its locks first; this one has
 * what puts them together. Documentation/ipoib-inside.rst follows a packet through
 * the driver and lists its works.
 *
 * Locks, in the order in which they nest:
 *
 *   rtnl                   what the network stack sees: the interface's MTU, address
 *   netdev_lock_ops()      the same, where an adapter's driver wants that lock
 *   ipoib_link.ctl         up and down, the queue pair's state, removal of
 *                          destinations; never taken by a destination's work, so
 *                          that its holder may wait for that work
 *   netif_addr_lock        the stack's list of multicast addresses
 *   tx lock                the stack's lock of a transmit queue: posting to it
 *   ipoib_dests.lock       membership of the destination table
 *   ipoib_dest.lock        one destination's queue and state
 *   ipoib_link.bcast_lock  what the broadcast group tells, and the carrier
 */
#ifndef _IPOIB_H
#define _IPOIB_H

#include <linux/if_infiniband.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "state/claim.h"
#include "state/cm.h"
#include "state/counter.h"
#include "state/dest.h"
#include "state/link.h"
#include "state/mcast.h"
#include "state/path.h"
#include "state/rx.h"
#include "state/tx.h"
#include "state/ud.h"

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

/**
 * struct ipoib_hdr - encapsulation header, RFC 4391 section 6
 * @proto:	Ethertype of what follows
 * @reserved:	zero when sent, ignored when received
 */
struct ipoib_hdr {
	__be16 proto;
	__be16 reserved;
};

/* Rings: bounds of the module parameters. */
#define IPOIB_MIN_TX_RING	128
#define IPOIB_MIN_RX_RING	16
#define IPOIB_MAX_RING		8192
#define IPOIB_DEFAULT_TX_RING	128
#define IPOIB_DEFAULT_RX_RING	256

/**
 * struct ipoib_dev - one interface: a port and a P_Key
 * @dev:	the interface; members down to @max_ring that name no lock are fixed while it
 *		is registered
 * @hca:	the device
 * @parent:	the port's own interface, with a reference from ndo_init until this
 *		one is freed; NULL if this is it
 * @by_sysfs:	a child that its P_Key names
 * @doomed:	among the children that a work is going to unregister; under rtnl
 * @list:	of the ports of one device; changed only as the device comes and goes
 * @children:	of a port's own interface; under rtnl, read under RCU
 * @sibling:	in @parent's @children
 * @port:	the port's number
 * @events:	of the device, asynchronous
 * @listening:	@events is registered, which follows the registration of @dev
 * @pd:		protection domain
 * @ud:		how datagrams go
 * @enhanced:	the adapter's driver's part in that
 * @qpn:	number of the queue pair that peers send to; locks as of @tx_size
 * @qp:		unreliable datagram queue pair of that number; NULL if it is not ours; the same
 * @max_ib_mtu:	largest that the receive ring takes
 * @max_send_sge: what the queue pairs were made with; locks as of @tx_size
 * @tx:		transmit queues
 * @tx_queues:	how many
 * @tx_size:	slots in the ring of each, a power of two; written under rtnl and
 *		ipoib_link.ctl, while the interface is down
 * @max_ring:	the most slots that either can have
 * @pkey:	the P_Key with the full-member bit; a child's is fixed, the one of
 *		a port's own interface is written under ipoib_link.ctl
 * @pkey_index:	its index in the port's table, or -1; written under ipoib_link.ctl
 * @guid:	what the administrator chose of the port's GUIDs, or 0; written under
 *		rtnl
 * @has_gid:	@gid is in the port's table; written under ipoib_link.ctl
 * @gid:	the interface's own; written under ipoib_link.ctl
 * @broadcast:	the link's broadcast address, whatever the administrator makes of the
 *		netdev's meanwhile; written under ipoib_link.ctl, while no group is joined
 * @link:	up and down, the broadcast group, the works
 * @rx:		where datagrams arrive
 * @dests:	where packets go
 * @sa:		what is known of the subnet administrator
 * @umcast:	leave user space's groups alone
 * @connected:	the mode; written under rtnl
 * @cm:		connections
 * @claims:	memberships that user mode serves
 * @debug_mcg:	debugfs file; under rtnl
 * @debug_path:	debugfs file; under rtnl
 * @debug_conn:	debugfs file; under rtnl
 * @counters:	by enum ipoib_counter
 *
 * Lives in the net_device's private data, behind the part of the adapter's driver: a
 * port's own interface as long as the port, a child from ipoib_child_register() to
 * ipoib_child_unregister() but no longer than its parent. The verbs objects and rings
 * exist from ndo_init to ndo_uninit, so that the QPN, and with it the link-layer
 * address, survives going down and up; only ipoib_resize() replaces them.
 */
struct ipoib_dev {
	struct net_device *dev;
	struct ib_device *hca;
	struct ipoib_dev *parent;
	bool by_sysfs;
	struct list_head doomed;
	struct list_head list;
	struct list_head children;	/* rtnl, RCU */
	struct list_head sibling;
	u32 port;
	struct ib_event_handler events;
	bool listening;
	struct ib_pd *pd;
	const struct ipoib_ud_ops *ud;
	struct ipoib_enhanced enhanced;
	u32 qpn;
	struct ib_qp *qp;
	unsigned int max_ib_mtu;
	unsigned int max_send_sge;
	struct ipoib_tx_queue *tx;
	unsigned int tx_queues;
	unsigned int tx_size;
	unsigned int max_ring;

	u16 pkey;
	int pkey_index;
	__be64 guid;
	bool has_gid;
	union ib_gid gid;
	u8 broadcast[INFINIBAND_ALEN];
	bool umcast;
	bool connected;

	struct ipoib_link link;
	struct ipoib_rx rx;
	struct ipoib_dests dests;
	struct ipoib_sa sa;
	struct ipoib_cm cm;
	struct ipoib_claims claims;

	struct dentry *debug_mcg;
	struct dentry *debug_path;
	struct dentry *debug_conn;

	atomic_long_t counters[IPOIB_COUNTERS];
};

extern unsigned int ipoib_send_queue_size;
extern unsigned int ipoib_recv_queue_size;
extern unsigned int ipoib_idle_timeout;
extern bool ipoib_enhanced;
extern int ipoib_debug_level;
extern int ipoib_mcast_debug_level;
/* What is logged of every packet costs a test each, unless it is left out. */
#ifdef IPOIB_DEBUG_DATA
extern int ipoib_data_debug_level;
extern int ipoib_cm_data_debug_level;
#else
#define ipoib_data_debug_level		0
#define ipoib_cm_data_debug_level	0
#endif
extern const struct header_ops ipoib_header_ops;
extern const struct net_device_ops ipoib_netdev_ops;
extern const struct ethtool_ops ipoib_ethtool_ops;
extern const struct ethtool_ops ipoib_enhanced_ethtool_ops;
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

/* As the kernel's driver has it, a level of its own for connections. */
#define ipoib_dbg_cm_data(priv, fmt, ...)				\
do {									\
	if (ipoib_cm_data_debug_level > 0)				\
		netdev_printk(KERN_DEBUG, (priv)->dev, fmt, ##__VA_ARGS__); \
} while (0)

/* The private data begins with what the adapter's driver may have part in. */
static inline struct ipoib_dev *ipoib_priv(const struct net_device *dev)
{
	const struct rdma_netdev *rn = netdev_priv(dev);

	return rn->clnt_priv;
}

static inline bool ipoib_is_ours(const struct net_device *dev)
{
	return dev->rtnl_link_ops == &ipoib_link_ops;
}

static inline bool ipoib_is_enhanced(const struct ipoib_dev *priv)
{
	return priv->enhanced.rn;
}

static inline void ipoib_count(struct ipoib_dev *priv, enum ipoib_counter c)
{
	atomic_long_inc(&priv->counters[c]);
}

static inline void ipoib_tx_drop(struct ipoib_dev *priv, enum ipoib_counter c)
{
	ipoib_count(priv, c);
	/* Those of the interface itself may be the adapter's driver's. */
	dev_core_stats_tx_dropped_inc(priv->dev);
}

static inline void ipoib_rx_drop(struct ipoib_dev *priv, enum ipoib_counter c)
{
	ipoib_count(priv, c);
	DEV_STATS_INC(priv->dev, rx_dropped);
}

/* How long what is not used is kept, in jiffies. */
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

static inline bool ipoib_mcast_is_bcast(struct ipoib_mcast *m)
{
	return ipoib_gid_is_bcast(m->dest.priv, &m->dest.gid);
}

static inline struct netdev_queue *ipoib_txq(struct ipoib_tx_queue *q)
{
	return netdev_get_tx_queue(q->priv->dev, q->index);
}

static inline struct ipoib_tx_queue *ipoib_tx_end(struct ipoib_dev *priv)
{
	return priv->tx + priv->tx_queues;
}

/* The interface's own, which tells when the subnet administrator is back. */
static inline bool ipoib_dest_is_own(const struct ipoib_dest *d)
{
	return ipoib_gid_equal(&d->gid, &d->priv->gid);
}

/* param.c */
void ipoib_param_init(void);

/* iface.c */
void ipoib_setup(struct net_device *dev);
struct net_device *ipoib_alloc_dev(struct ib_device *hca, u32 port, struct ipoib_dev *parent,
				   const char *name, unsigned char name_type);
int ipoib_init_dev(struct net_device *dev, struct ib_device *hca, u32 port,
		   struct ipoib_dev *parent);
void ipoib_abandon_dev(struct net_device *dev);
void ipoib_listen(struct ipoib_dev *priv);
unsigned int ipoib_most_tx_queues(void);
unsigned int ipoib_most_rx_queues(void);

/* mode.c */
int ipoib_set_mode(struct ipoib_dev *priv, bool connected,
		   struct netlink_ext_ack *extack);

/* child.c */
int ipoib_child_register(struct ipoib_dev *parent, struct net_device *dev,
			 u16 pkey, bool by_sysfs,
			 struct netlink_ext_ack *extack);
int ipoib_child_create(struct ipoib_dev *parent, u16 pkey);
int ipoib_child_delete(struct ipoib_dev *parent, u16 pkey);
void ipoib_child_exit(void);
void ipoib_child_unregister(struct ipoib_dev *priv, struct list_head *list);
void ipoib_children_unregister(struct ipoib_dev *parent,
			       struct list_head *list);

/* lookup.c */
struct net_device *ipoib_find_netdev(struct ib_device *hca, u32 port, u16 pkey,
				     const union ib_gid *gid,
				     const struct sockaddr *addr,
				     void *client_data);

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

/* cq.c */
struct ib_cq *ipoib_create_cq(struct ipoib_dev *priv, ib_comp_handler handler,
			      void *context, unsigned int cqe);

/* verbs.c */
int ipoib_verbs_resize(struct ipoib_dev *priv, unsigned int rx_size,
		       unsigned int tx_size);

/* debugfs.c */
void ipoib_debugfs_init(void);
void ipoib_debugfs_exit(void);

#endif /* _IPOIB_H */

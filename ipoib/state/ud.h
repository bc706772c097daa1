/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How datagrams go: by queue pairs and rings of the driver's own (verbs.c), or by those of
 * the adapter's driver, which then has a part of the netdev (enhanced.c). No lock: all is
 * fixed before the netdev is registered.
 */
#ifndef _IPOIB_UD_H
#define _IPOIB_UD_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

struct ipoib_ah;
struct ipoib_dest;
struct ipoib_dev;

/**
 * struct ipoib_ud_ops - what is done either way
 * @init:	make the objects and tell the QPN, from ndo_init; 0 or an errno
 * @cleanup:	destroy them, from ndo_uninit
 * @start:	receive; under ctl, and where @rtnl is set under rtnl. 0 or an errno
 * @stop:	take everything back; under the same locks, with transmission closed
 * @set_open:	let the stack send, or wait until it does not; under ctl
 * @send:	send a packet; consumes it. Under RCU and the tx lock. NULL where the transmit
 *		queues are ours
 * @send_queued: send a packet that has waited for @d; consumes it. Under RCU
 * @set_qkey:	the broadcast group's; it is attached next. 0 or an errno
 * @attach:	receive a group; @bcast: the one that gives the link its Q_Key
 * @detach:	no longer
 * @set_mtu:	set the netdev's; under rtnl. 0 or an errno
 * @rtnl:	starting and stopping needs rtnl
 */
struct ipoib_ud_ops {
	int (*init)(struct ipoib_dev *priv);
	void (*cleanup)(struct ipoib_dev *priv);
	int (*start)(struct ipoib_dev *priv);
	void (*stop)(struct ipoib_dev *priv);
	void (*set_open)(struct ipoib_dev *priv, bool open);
	void (*send)(struct ipoib_dev *priv, struct sk_buff *skb, struct ipoib_ah *ah);
	void (*send_queued)(struct ipoib_dest *d, struct sk_buff *skb, struct ipoib_ah *ah);
	int (*set_qkey)(struct ipoib_dev *priv, u32 qkey);
	int (*attach)(struct ipoib_dev *priv, union ib_gid *gid, u16 mlid, bool bcast);
	void (*detach)(struct ipoib_dev *priv, union ib_gid *gid, u16 mlid);
	int (*set_mtu)(struct ipoib_dev *priv, unsigned int mtu);
	bool rtnl;
};

/**
 * struct ipoib_enhanced - the adapter's driver's part in an interface
 * @rn:		what it offers, the netdev's private data; NULL where it has no part
 * @theirs:	what it does as a network driver
 * @ops:	the netdev's operations: ours, and of theirs those that we have none of
 * @destructor:	frees what it has; NULL once it was called
 * @qkey:	for the broadcast group, when that is attached; under ctl or of its work
 */
struct ipoib_enhanced {
	struct rdma_netdev *rn;
	const struct net_device_ops *theirs;
	struct net_device_ops ops;
	void (*destructor)(struct net_device *dev);
	u32 qkey;
};

/* verbs.c */
extern const struct ipoib_ud_ops ipoib_plain_ops;

/* enhanced.c */
bool ipoib_enhanced_params(struct ib_device *hca, u32 port, struct ipoib_dev *parent,
			   struct rdma_netdev_alloc_params *params);
int ipoib_enhanced_setup(struct ipoib_dev *priv);
void ipoib_enhanced_release(struct ipoib_dev *priv);

#endif /* _IPOIB_UD_H */

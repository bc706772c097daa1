// SPDX-License-Identifier: GPL-2.0
/*
 * Enhanced IPoIB: the adapter's driver drives the interface itself (struct rdma_netdev), with
 * queues, offloads and counters that verbs do not know. What remains for this driver is
 * where packets go: addresses, groups, paths, partitions, the carrier.
 *
 * The netdev's private data begins with what that driver has of it. Its operations are
 * called by ours, or stay in the netdev's table where we have none. It is expected to leave
 * ndo_start_xmit to us, and not to call what was in the table before, as an Omni-Path
 * adapter's does, whose ports this driver does not take.
 *
 * An address handle is lent for the call of send() only: the caller is a reader of RCU, and
 * a handle lives for a grace period after its last reference.
 */
#include "compat.h"
#include "compat/netdev.h"
#include "ipoib.h"

/*
 * What an interface takes; false if this driver is to drive it alone. @parent is NULL for the
 * port's own interface, and a child is as its parent.
 */
bool ipoib_enhanced_params(struct ib_device *hca, u32 port, struct ipoib_dev *parent,
			   struct rdma_netdev_alloc_params *params)
{
	if (!(parent ? ipoib_is_enhanced(parent) : ipoib_enhanced))
		return false;
	return hca->ops.rdma_netdev_get_params &&
	       !hca->ops.rdma_netdev_get_params(hca, port, RDMA_NETDEV_IPOIB, params);
}

/* --- objects ------------------------------------------------------------- */

static int ipoib_enhanced_init(struct ipoib_dev *priv)
{
	const struct net_device_ops *theirs = priv->enhanced.theirs;
	struct net_device *dev = priv->dev;
	int err;

	/* For address handles. */
	priv->pd = ib_alloc_pd(priv->hca, 0);
	if (IS_ERR(priv->pd))
		return PTR_ERR(priv->pd);
	err = theirs->ndo_init ? theirs->ndo_init(dev) : 0;
	if (err) {
		ib_dealloc_pd(priv->pd);
		return err;
	}
	priv->qpn = get_unaligned_be32(dev->dev_addr) & IPOIB_QPN_MASK;
	return 0;
}

static void ipoib_enhanced_cleanup(struct ipoib_dev *priv)
{
	if (priv->enhanced.theirs->ndo_uninit)
		priv->enhanced.theirs->ndo_uninit(priv->dev);
	ib_dealloc_pd(priv->pd);
}

/* --- up and down --------------------------------------------------------- */

static int ipoib_enhanced_start(struct ipoib_dev *priv)
{
	struct ipoib_enhanced *e = &priv->enhanced;

	ASSERT_RTNL();
	if (e->rn->set_id)
		e->rn->set_id(priv->dev, priv->pkey_index);
	return e->theirs->ndo_open(priv->dev);
}

static void ipoib_enhanced_stop(struct ipoib_dev *priv)
{
	ASSERT_RTNL();
	priv->enhanced.theirs->ndo_stop(priv->dev);
}

/* ipoib_link.up has been set, and is what the transmit path looks at. */
static void ipoib_enhanced_set_open(struct ipoib_dev *priv, bool open)
{
	if (open)
		netif_tx_wake_all_queues(priv->dev);
	else
		netif_tx_disable(priv->dev);
}

static int ipoib_enhanced_set_mtu(struct ipoib_dev *priv, unsigned int mtu)
{
	const struct net_device_ops *theirs = priv->enhanced.theirs;

	priv->enhanced.rn->mtu = READ_ONCE(priv->link.mcast_mtu);
	if (theirs->ndo_change_mtu)
		return theirs->ndo_change_mtu(priv->dev, mtu);
	WRITE_ONCE(priv->dev->mtu, mtu);
	return 0;
}

/* --- groups -------------------------------------------------------------- */

static int ipoib_enhanced_set_qkey(struct ipoib_dev *priv, u32 qkey)
{
	priv->enhanced.qkey = qkey;
	return 0;
}

static int ipoib_enhanced_attach(struct ipoib_dev *priv, union ib_gid *gid, u16 mlid, bool bcast)
{
	struct ipoib_enhanced *e = &priv->enhanced;

	return e->rn->attach_mcast(priv->dev, priv->hca, gid, mlid, bcast, bcast ? e->qkey : 0);
}

static void ipoib_enhanced_detach(struct ipoib_dev *priv, union ib_gid *gid, u16 mlid)
{
	priv->enhanced.rn->detach_mcast(priv->dev, priv->hca, gid, mlid);
}

/* --- sending ------------------------------------------------------------- */

/* Does the link take it, or each packet that the adapter makes of it? */
static bool ipoib_enhanced_fits(const struct sk_buff *skb, unsigned int mtu)
{
	if (skb_is_gso(skb))
		return skb_gso_validate_network_len(skb, mtu);
	return skb->len <= mtu + IPOIB_ENCAP_LEN;
}

/* Gives a packet, from the encapsulation header on, to the adapter's driver. */
static void ipoib_enhanced_send(struct ipoib_dev *priv, struct sk_buff *skb, struct ipoib_ah *ah)
{
	unsigned int mtu = READ_ONCE(priv->link.mcast_mtu);

	if (unlikely(!ipoib_enhanced_fits(skb, mtu))) {
		ipoib_too_big(priv, skb, mtu);
		return;
	}
	ipoib_dbg_data(priv, "sending %u bytes to QPN %#x\n", skb->len,
		       ipoib_skb_cb(skb)->qpn);
	priv->enhanced.rn->send(priv->dev, skb, ah->ah, ipoib_skb_cb(skb)->qpn);
}

/* The stack does not look for this packet whether the queue takes any. */
static void ipoib_enhanced_send_queued(struct ipoib_dest *d, struct sk_buff *skb,
				       struct ipoib_ah *ah)
{
	struct ipoib_dev *priv = d->priv;
	struct netdev_queue *txq;

	/* There may be fewer queues than when it was sent. */
	if (skb_get_queue_mapping(skb) >= priv->dev->real_num_tx_queues)
		skb_set_queue_mapping(skb, 0);
	txq = netdev_get_tx_queue(priv->dev, skb_get_queue_mapping(skb));
	__netif_tx_lock_bh(txq);
	if (unlikely(netif_xmit_frozen_or_drv_stopped(txq))) {
		ipoib_tx_drop(priv, IPOIB_TX_RING_FULL);
		dev_kfree_skb_any(skb);
	} else {
		ipoib_enhanced_send(priv, skb, ah);
		/* Or the stack takes a queue that this packet fills for a stuck one. */
		txq_trans_cond_update(txq);
	}
	__netif_tx_unlock_bh(txq);
	/* As in ipoib_send_queued(). */
	netif_schedule_queue(txq);
}

static netdev_tx_t ipoib_enhanced_xmit(struct sk_buff *skb, struct net_device *dev)
{
	ipoib_xmit(ipoib_priv(dev), NULL, skb);
	return NETDEV_TX_OK;
}

static void ipoib_enhanced_tx_timeout(struct net_device *dev, unsigned int txqueue)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	ipoib_count(priv, IPOIB_TX_TIMEOUT);
	if (priv->enhanced.rn->tx_timeout) {
		priv->enhanced.rn->tx_timeout(dev, txqueue);
		return;
	}
	netdev_warn(dev, "transmit queue %u is stuck\n", txqueue);
	ipoib_flush(priv, IPOIB_FLUSH_HEAVY);
}

/* --- life ---------------------------------------------------------------- */

static const struct ipoib_ud_ops ipoib_enhanced_ops = {
	.init		= ipoib_enhanced_init,
	.cleanup	= ipoib_enhanced_cleanup,
	.start		= ipoib_enhanced_start,
	.stop		= ipoib_enhanced_stop,
	.set_open	= ipoib_enhanced_set_open,
	.send		= ipoib_enhanced_send,
	.send_queued	= ipoib_enhanced_send_queued,
	.set_qkey	= ipoib_enhanced_set_qkey,
	.attach		= ipoib_enhanced_attach,
	.detach		= ipoib_enhanced_detach,
	.set_mtu	= ipoib_enhanced_set_mtu,
	.rtnl		= true,
};

/* Their table with all of ours that does not know our rings; its statistics stay theirs. */
static void ipoib_enhanced_merge(struct net_device_ops *ops, const struct net_device_ops *ours,
				 const struct net_device_ops *theirs)
{
	*ops = *theirs;
	ops->ndo_init = ours->ndo_init;
	ops->ndo_uninit = ours->ndo_uninit;
	ops->ndo_open = ours->ndo_open;
	ops->ndo_stop = ours->ndo_stop;
	ops->ndo_start_xmit = ipoib_enhanced_xmit;
	ops->ndo_change_mtu = ours->ndo_change_mtu;
	ops->ndo_set_mac_address = ours->ndo_set_mac_address;
	ops->ndo_set_rx_mode = ours->ndo_set_rx_mode;
	ops->ndo_tx_timeout = ipoib_enhanced_tx_timeout;
	ops->ndo_get_iflink = ours->ndo_get_iflink;
	ops->ndo_set_vf_link_state = ours->ndo_set_vf_link_state;
	ops->ndo_get_vf_config = ours->ndo_get_vf_config;
	ops->ndo_get_vf_stats = ours->ndo_get_vf_stats;
	ops->ndo_get_vf_guid = ours->ndo_get_vf_guid;
	ops->ndo_set_vf_guid = ours->ndo_set_vf_guid;
}

/*
 * Lets the adapter's driver take its part. Only ipoib_setup() has set anything in the netdev. Our
 * destructor calls the driver's, or ipoib_abandon_dev() if the netdev could not be registered.
 */
int ipoib_enhanced_setup(struct ipoib_dev *priv)
{
	struct ipoib_enhanced *e = &priv->enhanced;
	struct net_device *dev = priv->dev;
	const struct net_device_ops *ours = dev->netdev_ops;
	struct rdma_netdev *rn = netdev_priv(dev);
	int err;

	/* The netdev is allocated, so the core asks for no name and no setup. */
	err = rdma_init_netdev(priv->hca, priv->port, RDMA_NETDEV_IPOIB, dev->name,
			       NET_NAME_UNKNOWN, NULL, dev);
	/* That is the driver's own memory, which it may have cleared. */
	rn->clnt_priv = priv;
	if (err)
		return err;
	e->rn = rn;
	e->theirs = dev->netdev_ops;
	e->destructor = dev->priv_destructor;
	dev->priv_destructor = NULL;
	ipoib_enhanced_merge(&e->ops, ours, e->theirs);
	dev->netdev_ops = &e->ops;
	priv->ud = &ipoib_enhanced_ops;
	return 0;
}

/* Has the adapter's driver free its part. May be called again. */
void ipoib_enhanced_release(struct ipoib_dev *priv)
{
	void (*destructor)(struct net_device *dev) = priv->enhanced.destructor;

	priv->enhanced.destructor = NULL;
	if (destructor)
		destructor(priv->dev);
}

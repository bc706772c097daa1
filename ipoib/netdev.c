// SPDX-License-Identifier: GPL-2.0
/*
 * The network interface as the stack sees it.
 */
#include <linux/if_arp.h>

#include "compat.h"
#include "ipoib.h"

/*
 * In front of the encapsulation header goes the destination's link-layer
 * address. It is not sent: it tells the transmit path where to send.
 */
static int ipoib_header_create(struct sk_buff *skb, struct net_device *dev,
			       unsigned short type, const void *daddr,
			       const void *saddr, unsigned int len)
{
	struct ipoib_hdr *hdr = skb_push(skb, sizeof(*hdr));

	hdr->proto = htons(type);
	hdr->reserved = 0;
	skb_push(skb, IPOIB_PSEUDO_LEN);
	if (!daddr) {
		memset(skb->data, 0, IPOIB_PSEUDO_LEN);
		return -IPOIB_HARD_LEN;
	}
	memcpy(skb->data, daddr, IPOIB_PSEUDO_LEN);
	return IPOIB_HARD_LEN;
}

const struct header_ops ipoib_header_ops = {
	.create	= ipoib_header_create,
};

/*
 * The adapter knows IPv4 only. How much it cuts up at a time verbs do not tell;
 * the stack's 64 KiB are what all of them take.
 */
static void ipoib_init_features(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	const struct ib_device_attr *hca = &priv->hca->attrs;

	if (!ib_uses_virt_dma(priv->hca))
		dev->features |= NETIF_F_HIGHDMA;
	if (ipoib_is_enhanced(priv)) {
		/* What it can do its driver has said. */
		dev->features |= dev->hw_features;
		return;
	}
	if (priv->max_send_sge > 1)
		dev->features |= NETIF_F_SG;

	if (!(hca->device_cap_flags & IB_DEVICE_UD_IP_CSUM))
		return;
	dev->hw_features |= NETIF_F_IP_CSUM | NETIF_F_RXCSUM;
	if (hca->kernel_cap_flags & IBK_UD_TSO)
		dev->hw_features |= NETIF_F_TSO;
	dev->features |= dev->hw_features;
}

/*
 * A connection carries no offloads: what the adapter does for UD queue pairs it
 * does not for reliable ones.
 */
static netdev_features_t ipoib_fix_features(struct net_device *dev,
					    netdev_features_t features)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	if (priv->connected)
		features &= ~(NETIF_F_IP_CSUM | NETIF_F_TSO);
	return features;
}

/*
 * A child that is gone for the stack may still be asked for its iflink. And the adapter goes
 * when its port's interface has gone, which waits for this.
 */
static void ipoib_destructor(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	ipoib_enhanced_release(priv);
	if (priv->parent)
		dev_put(priv->parent->dev);
}

static int ipoib_init(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	int err;

	mutex_lock(&priv->link.ctl);
	err = ipoib_read_port(priv);
	if (!err)
		err = priv->ud->init(priv);
	mutex_unlock(&priv->link.ctl);
	if (err)
		return err;

	ipoib_cm_init(priv);
	ipoib_make_address(priv);
	dev_addr_mod(dev, 0, priv->link.addr, sizeof(priv->link.addr));
	ipoib_init_features(dev);
	/* From here on whatever fails calls the destructor. */
	if (priv->parent)
		dev_hold(priv->parent->dev);
	dev->priv_destructor = ipoib_destructor;
	return 0;
}

static void ipoib_uninit(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	if (priv->listening)
		ib_unregister_event_handler(&priv->events);
	cancel_delayed_work_sync(&priv->link.gc_work);
	cancel_delayed_work_sync(&priv->link.mcast_work);
	ipoib_claims_release(priv);
	cancel_work_sync(&priv->dests.evict_work);

	/* The last packets' address handles wait for a grace period. */
	wait_var_event(&priv->dests.ah_count, !atomic_read(&priv->dests.ah_count));
	ipoib_cm_uninit(priv);
	priv->ud->cleanup(priv);
	/* Only now can the queue pair's events not queue it again. */
	cancel_work_sync(&priv->link.flush_work);
}

/* Children go up and down with the port's interface. Called under rtnl, without ctl. */
static void ipoib_children_set_up(struct ipoib_dev *parent, bool up)
{
	struct ipoib_dev *child;
	unsigned int flags;
	int err;

	list_for_each_entry(child, &parent->children, sibling) {
		flags = child->dev->flags;
		if (!(flags & IFF_UP) == !up)
			continue;
		err = dev_change_flags(child->dev, flags ^ IFF_UP, NULL);
		if (err && net_ratelimit())
			netdev_warn(child->dev, "cannot go up with %s: %d\n",
				    parent->dev->name, err);
	}
}

static int ipoib_open(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	int err;

	netif_carrier_off(dev);

	mutex_lock(&priv->link.ctl);
	err = ipoib_read_port(priv);
	if (!err)
		err = ipoib_link_up(priv);
	priv->link.admin_up = !err;
	mutex_unlock(&priv->link.ctl);

	ipoib_sync(priv);
	if (!err)
		ipoib_children_set_up(priv, true);
	return err;
}

static int ipoib_stop(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	mutex_lock(&priv->link.ctl);
	priv->link.admin_up = false;
	ipoib_link_down(priv);
	mutex_unlock(&priv->link.ctl);

	ipoib_children_set_up(priv, false);
	return 0;
}

/*
 * The administrator may ask for less than the link has, or for more. In connected
 * mode that is what there is, and what does not go by a connection is cut by the
 * sender, who is told.
 */
static int ipoib_change_mtu(struct net_device *dev, int mtu)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	priv->link.admin_mtu = mtu;
	if (!priv->connected)
		mtu = min_t(unsigned int, mtu, READ_ONCE(priv->link.mcast_mtu));
	return priv->ud->set_mtu(priv, mtu);
}

/*
 * A port may have several GUIDs, and the last 8 bytes say which is the interface's;
 * the rest of the address is not the administrator's choice.
 */
static int ipoib_set_address(struct net_device *dev, void *p)
{
	const size_t fixed = INFINIBAND_ALEN - sizeof(__be64);
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct sockaddr_storage *ss = p;
	const u8 *addr = (u8 *)ss + offsetof(struct sockaddr, sa_data);
	__be64 guid;

	memcpy(&guid, addr + fixed, sizeof(guid));
	if (memcmp(addr, dev->dev_addr, fixed) || !guid)
		return -EINVAL;
	ipoib_set_guid(priv, guid);
	return 0;
}

static void ipoib_set_rx_mode(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	mod_delayed_work(ipoib_ctl_wq, &priv->link.mcast_work, 0);
}

static void ipoib_tx_timeout(struct net_device *dev, unsigned int txqueue)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct ipoib_tx_queue *q = &priv->tx[txqueue];

	ipoib_count(priv, IPOIB_TX_TIMEOUT);
	netdev_warn(dev, "send ring %u is stuck: %u posted, %u completed\n",
		    txqueue, READ_ONCE(q->head), READ_ONCE(q->tail));
	/* The adapter is not going to complete them any more. */
	ipoib_flush(priv, IPOIB_FLUSH_HEAVY);
}

static int ipoib_get_iflink(const struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	return priv->parent ? priv->parent->dev->ifindex : dev->ifindex;
}

const struct net_device_ops ipoib_netdev_ops = {
	.ndo_init		= ipoib_init,
	.ndo_uninit		= ipoib_uninit,
	.ndo_open		= ipoib_open,
	.ndo_stop		= ipoib_stop,
	.ndo_start_xmit		= ipoib_start_xmit,
	.ndo_features_check	= ipoib_features_check,
	.ndo_fix_features	= ipoib_fix_features,
	.ndo_change_mtu		= ipoib_change_mtu,
	.ndo_set_mac_address	= ipoib_set_address,
	.ndo_set_rx_mode	= ipoib_set_rx_mode,
	.ndo_tx_timeout		= ipoib_tx_timeout,
	.ndo_get_stats64	= dev_get_tstats64,
	.ndo_get_iflink		= ipoib_get_iflink,
	.ndo_set_vf_link_state	= ipoib_set_vf_link_state,
	.ndo_get_vf_config	= ipoib_get_vf_config,
	.ndo_get_vf_stats	= ipoib_get_vf_stats,
	.ndo_get_vf_guid	= ipoib_get_vf_guid,
	.ndo_set_vf_guid	= ipoib_set_vf_guid,
};

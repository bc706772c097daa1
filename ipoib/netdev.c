// SPDX-License-Identifier: GPL-2.0
/*
 * The network interface as the stack sees it.
 */
#include <linux/if_arp.h>

#include "compat.h"
#include "ipoib.h"

/* 00:ff:ff:ff, then the MGID ff12:401b:<P_Key>::ffff:ffff; RFC 4391, 4 and 9.1. */
static const u8 ipoib_broadcast[INFINIBAND_ALEN] = {
	0x00, 0xff, 0xff, 0xff,
	0xff, 0x12, 0x40, 0x1b, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
};

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

static const struct header_ops ipoib_header_ops = {
	.create	= ipoib_header_create,
};

/*
 * The adapter knows IPv4 only. How much it cuts up at a time verbs do not tell;
 * the stack's 64 KiB are what all of them take.
 */
static void ipoib_init_features(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	const struct ib_device_attr *hca = &priv->hca->attrs;

	if (priv->max_send_sge > 1)
		dev->features |= NETIF_F_SG;
	if (!ib_uses_virt_dma(priv->hca))
		dev->features |= NETIF_F_HIGHDMA;

	if (!(hca->device_cap_flags & IB_DEVICE_UD_IP_CSUM))
		return;
	dev->hw_features |= NETIF_F_IP_CSUM | NETIF_F_RXCSUM;
	if (hca->kernel_cap_flags & IBK_UD_TSO)
		dev->hw_features |= NETIF_F_TSO;
	dev->features |= dev->hw_features;
}

static int ipoib_init(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	u8 addr[INFINIBAND_ALEN] = {};
	int err;

	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!dev->tstats)
		return -ENOMEM;

	mutex_lock(&priv->ctl);
	err = ipoib_read_port(priv);
	if (!err)
		err = ipoib_verbs_init(priv);
	mutex_unlock(&priv->ctl);
	if (err) {
		free_percpu(dev->tstats);
		return err;
	}

	put_unaligned_be32(priv->qp->qp_num & IPOIB_QPN_MASK, addr);
	memcpy(addr + 4, priv->gid.raw, sizeof(priv->gid.raw));
	dev_addr_mod(dev, 0, addr, sizeof(addr));
	ipoib_init_features(dev);

	netif_napi_add(dev, &priv->rx_napi, ipoib_rx_poll);
	netif_napi_add_tx(dev, &priv->tx_napi, ipoib_tx_poll);
	return 0;
}

static void ipoib_uninit(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	if (priv->listening)
		ib_unregister_event_handler(&priv->events);
	cancel_delayed_work_sync(&priv->gc_work);
	cancel_work_sync(&priv->mcast_work);

	/* The last packets' address handles wait for a grace period. */
	wait_var_event(&priv->ah_count, !atomic_read(&priv->ah_count));
	netif_napi_del(&priv->rx_napi);
	netif_napi_del(&priv->tx_napi);
	ipoib_verbs_cleanup(priv);
	/* Only now can the queue pair's events not queue it again. */
	cancel_work_sync(&priv->flush_work);
	free_percpu(dev->tstats);
}

static int ipoib_open(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	int err;

	netif_carrier_off(dev);

	mutex_lock(&priv->ctl);
	err = ipoib_read_port(priv);
	if (!err)
		err = ipoib_link_up(priv);
	priv->admin_up = !err;
	mutex_unlock(&priv->ctl);

	ipoib_sync(priv);
	if (!err)
		ipoib_children_set_up(priv, true);
	return err;
}

static int ipoib_stop(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	mutex_lock(&priv->ctl);
	priv->admin_up = false;
	ipoib_link_down(priv);
	mutex_unlock(&priv->ctl);

	ipoib_children_set_up(priv, false);
	return 0;
}

/* The administrator may ask for less than the link has, or for more. */
static int ipoib_change_mtu(struct net_device *dev, int mtu)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	priv->admin_mtu = mtu;
	WRITE_ONCE(dev->mtu, min_t(unsigned int, mtu,
				   READ_ONCE(priv->mcast_mtu)));
	return 0;
}

static void ipoib_set_rx_mode(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	queue_work(ipoib_wq, &priv->mcast_work);
}

static void ipoib_tx_timeout(struct net_device *dev, unsigned int txqueue)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	ipoib_count(priv, IPOIB_TX_TIMEOUT);
	netdev_warn(dev, "send ring is stuck: %u posted, %u completed\n",
		    READ_ONCE(priv->tx_head), READ_ONCE(priv->tx_tail));
	/* In case an event was lost. */
	napi_schedule(&priv->tx_napi);
}

static int ipoib_get_iflink(const struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	return priv->parent ? priv->parent->dev->ifindex : dev->ifindex;
}

const struct net_device_ops ipoib_netdev_ops = {
	.ndo_init		= ipoib_init,
	.ndo_uninit		= ipoib_uninit,
	.ndo_open		= ipoib_open,
	.ndo_stop		= ipoib_stop,
	.ndo_start_xmit		= ipoib_start_xmit,
	.ndo_features_check	= ipoib_features_check,
	.ndo_change_mtu		= ipoib_change_mtu,
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

/**
 * ipoib_setup() - what all interfaces have in common
 * @dev: a new netdev
 */
void ipoib_setup(struct net_device *dev)
{
	dev->netdev_ops = &ipoib_netdev_ops;
	dev->ethtool_ops = &ipoib_ethtool_ops;
	dev->header_ops = &ipoib_header_ops;
	dev->rtnl_link_ops = &ipoib_link_ops;
	dev->sysfs_groups[0] = &ipoib_attr_group;
	dev->needs_free_netdev = true;

	dev->type = ARPHRD_INFINIBAND;
	dev->hard_header_len = IPOIB_HARD_LEN;
	dev->addr_len = INFINIBAND_ALEN;
	dev->flags |= IFF_BROADCAST | IFF_MULTICAST;
	dev->features |= NETIF_F_VLAN_CHALLENGED;
	dev->watchdog_timeo = 10 * HZ;
	/* Anything but 0, lest the stack think that no queue is wanted. */
	dev->tx_queue_len = IPOIB_MIN_TX_RING;
	memcpy(dev->broadcast, ipoib_broadcast, INFINIBAND_ALEN);
}

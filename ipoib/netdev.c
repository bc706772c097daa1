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

/*
 * A connection carries no offloads: what the adapter does for UD queue pairs it
 * does not for reliable ones.
 */
static netdev_features_t ipoib_fix_features(struct net_device *dev,
					    netdev_features_t features)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	if (priv->connected)
		features &= ~(NETIF_F_IP_CSUM | NETIF_F_TSO);
	return features;
}

static void ipoib_set_connected(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->dev;

	WRITE_ONCE(priv->connected, true);
	dev->max_mtu = priv->cm.max_len - IPOIB_ENCAP_LEN;
	netdev_update_features(dev);
	if (net_ratelimit())
		netdev_info(dev, "multicast packets that are larger than the link's MTU are dropped in connected mode\n");
	/* A smaller MTU than there could be does no harm. */
	if (dev_set_mtu(dev, dev->max_mtu) && net_ratelimit())
		netdev_warn(dev, "cannot set the MTU to %u\n", dev->max_mtu);
}

/* The link loses what is larger than its MTU: without that there is no datagram mode. */
static int ipoib_set_datagram(struct ipoib_dev *priv,
			      struct netlink_ext_ack *extack)
{
	unsigned int most = priv->max_ib_mtu - IPOIB_ENCAP_LEN;
	struct net_device *dev = priv->dev;
	int err;

	err = dev_set_mtu(dev, min(most, READ_ONCE(priv->mcast_mtu)));
	if (err) {
		NL_SET_ERR_MSG(extack, "the interface cannot have the link's MTU");
		return err;
	}
	WRITE_ONCE(priv->connected, false);
	dev->max_mtu = most;
	priv->admin_mtu = most;
	netdev_update_features(dev);
	return 0;
}

/**
 * ipoib_set_mode() - datagram or connected
 * @priv: the interface
 * @connected: which
 * @extack: says what is wrong, or NULL
 *
 * Called under rtnl. The MTU becomes the largest that there is in connected mode;
 * back in datagram mode it is that of the link again. Connections that are open
 * are used no more then, and end as idle ones do.
 *
 * Return: 0; -EOPNOTSUPP if the adapter has no reliable connections; or, if something
 * in the kernel refuses the MTU of datagram mode, its errno.
 */
int ipoib_set_mode(struct ipoib_dev *priv, bool connected,
		   struct netlink_ext_ack *extack)
{
	ASSERT_RTNL();
	if (connected == priv->connected)
		return 0;
	if (connected && !priv->cm.able) {
		NL_SET_ERR_MSG(extack, "the adapter has no reliable connections");
		return -EOPNOTSUPP;
	}

	if (!connected)
		return ipoib_set_datagram(priv, extack);
	ipoib_set_connected(priv);
	return 0;
}

/**
 * ipoib_set_broadcast() - settle the broadcast address of the link
 * @priv: the interface, down; under ctl
 *
 * The administrator may have chosen another scope, as with the kernel's driver; whatever
 * else is no broadcast address of the partition's is put right.
 */
void ipoib_set_broadcast(struct ipoib_dev *priv)
{
	u8 *theirs = priv->dev->broadcast, *addr = priv->broadcast;

	netif_addr_lock_bh(priv->dev);
	memcpy(addr, ipoib_broadcast, INFINIBAND_ALEN);
	put_unaligned_be16(priv->pkey, &addr[8]);
	put_unaligned_be16(priv->pkey, &theirs[8]);
	if ((theirs[5] & 0xf0) == (addr[5] & 0xf0))
		addr[5] = theirs[5];
	if (memcmp(theirs, addr, INFINIBAND_ALEN)) {
		addr[5] = ipoib_broadcast[5];
		memcpy(theirs, addr, INFINIBAND_ALEN);
	}
	netif_addr_unlock_bh(priv->dev);
}

/**
 * ipoib_make_address() - make the link-layer address, RFC 4391 section 9.1.1
 * @priv: the interface, with its queue pair; under ctl, or not yet registered
 *
 * That connections are accepted, in either mode, is part of it: RFC 4755
 * section 3.1.
 */
void ipoib_make_address(struct ipoib_dev *priv)
{
	u8 *addr = priv->addr;

	spin_lock(&priv->bcast_lock);
	put_unaligned_be32(priv->qp->qp_num & IPOIB_QPN_MASK, addr);
	if (priv->cm.able)
		addr[0] |= IPOIB_FLAG_RC;
	memcpy(addr + 4, priv->gid.raw, sizeof(priv->gid.raw));
	spin_unlock(&priv->bcast_lock);
}

/**
 * ipoib_get_address() - copy the link-layer address
 * @priv: the interface
 * @addr: the copy
 *
 * Whoever holds rtnl need not wait for ctl, which others may hold for seconds.
 */
void ipoib_get_address(struct ipoib_dev *priv, u8 *addr)
{
	spin_lock(&priv->bcast_lock);
	memcpy(addr, priv->addr, INFINIBAND_ALEN);
	spin_unlock(&priv->bcast_lock);
}

/* A child that is gone for the stack may still be asked for its iflink. */
static void ipoib_put_parent(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	dev_put(priv->parent->dev);
}

static int ipoib_init(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	struct ipoib_tx_queue *q;
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

	ipoib_cm_init(priv);
	ipoib_make_address(priv);
	dev_addr_mod(dev, 0, priv->addr, sizeof(priv->addr));
	ipoib_init_features(dev);

	netif_napi_add(dev, &priv->rx_napi, ipoib_rx_poll);
	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		netif_napi_add_tx(dev, &q->napi, ipoib_tx_poll);
	/* Does not fail before the interface is registered. */
	netif_set_real_num_tx_queues(dev, priv->tx_queues);
	/* From here on whatever fails calls the destructor. */
	if (priv->parent) {
		dev_hold(priv->parent->dev);
		dev->priv_destructor = ipoib_put_parent;
	}
	return 0;
}

/**
 * ipoib_spread_tx() - give each CPU one of the transmit queues in use
 * @priv: the interface, registered
 */
void ipoib_spread_tx(struct ipoib_dev *priv)
{
	unsigned int i, n = priv->dev->real_num_tx_queues;
	cpumask_var_t mask;
	int cpu;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return;

	for (i = 0; i < n; i++) {
		cpumask_clear(mask);
		for_each_possible_cpu(cpu)
			if (cpu % n == i)
				cpumask_set_cpu(cpu, mask);
		/* Without it the stack chooses by the flow. */
		if (netif_set_xps_queue(priv->dev, mask, i))
			break;
	}
	free_cpumask_var(mask);
}

static void ipoib_uninit(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	struct ipoib_tx_queue *q;

	if (priv->listening)
		ib_unregister_event_handler(&priv->events);
	cancel_delayed_work_sync(&priv->gc_work);
	cancel_work_sync(&priv->mcast_work);
	cancel_work_sync(&priv->evict_work);

	/* The last packets' address handles wait for a grace period. */
	wait_var_event(&priv->ah_count, !atomic_read(&priv->ah_count));
	netif_napi_del(&priv->rx_napi);
	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		netif_napi_del(&q->napi);
	ipoib_cm_uninit(priv);
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

/*
 * The administrator may ask for less than the link has, or for more. In connected
 * mode that is what there is, and what does not go by a connection is cut by the
 * sender, who is told.
 */
static int ipoib_change_mtu(struct net_device *dev, int mtu)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	priv->admin_mtu = mtu;
	if (!priv->connected)
		mtu = min_t(unsigned int, mtu, READ_ONCE(priv->mcast_mtu));
	WRITE_ONCE(dev->mtu, mtu);
	return 0;
}

/*
 * A port may have several GUIDs, and the last 8 bytes say which is the interface's;
 * the rest of the address is not the administrator's choice.
 */
static int ipoib_set_address(struct net_device *dev, void *p)
{
	const size_t fixed = INFINIBAND_ALEN - sizeof(__be64);
	struct ipoib_dev *priv = netdev_priv(dev);
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
	struct ipoib_dev *priv = netdev_priv(dev);

	queue_work(ipoib_wq, &priv->mcast_work);
}

static void ipoib_tx_timeout(struct net_device *dev, unsigned int txqueue)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	struct ipoib_tx_queue *q = &priv->tx[txqueue];

	ipoib_count(priv, IPOIB_TX_TIMEOUT);
	netdev_warn(dev, "send ring %u is stuck: %u posted, %u completed\n",
		    txqueue, READ_ONCE(q->head), READ_ONCE(q->tail));
	/* The adapter is not going to complete them any more. */
	ipoib_flush(priv, IPOIB_FLUSH_HEAVY);
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
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->watchdog_timeo = 10 * HZ;
	/* The route is told of the path's MTU. */
	netif_keep_dst(dev);
	dev->tx_queue_len = 2 * ipoib_send_queue_size;
	memcpy(dev->broadcast, ipoib_broadcast, INFINIBAND_ALEN);
}

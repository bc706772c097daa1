// SPDX-License-Identifier: GPL-2.0
/*
 * What makes a netdev an interface of a port. main.c registers that of a port, and
 * child.c a child.
 */
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>

#include "compat.h"
#include "ipoib.h"

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

/* The largest packet that the port may bring, and that the ring takes. */
static int ipoib_query_mtu(struct ipoib_dev *priv)
{
	struct ib_port_attr attr;
	int err;

	err = ib_query_port(priv->hca, priv->port, &attr);
	if (err)
		return err;

	priv->max_ib_mtu = max(ib_mtu_enum_to_int(attr.max_mtu), 256);
	if (!ipoib_is_enhanced(priv) && priv->hca->attrs.max_recv_sge < IPOIB_RX_SGE)
		priv->max_ib_mtu = min(priv->max_ib_mtu, 2048U);
	return 0;
}

static void ipoib_init_priv(struct ipoib_dev *priv, struct net_device *dev,
			    struct ib_device *hca, u32 port)
{
	priv->dev = dev;
	priv->hca = hca;
	priv->port = port;
	priv->tx_size = ipoib_send_queue_size;
	priv->rx.size = ipoib_recv_queue_size;
	ipoib_dest_init(priv, &ipoib_path_kind, &ipoib_mcast_kind);
	priv->sa.heard = jiffies - HZ;
	priv->sa.pause = HZ;
	/* What is to replace a lost adapter has addresses that others remember. */
	priv->link.announce = true;

	spin_lock_init(&priv->link.bcast_lock);
	mutex_init(&priv->link.ctl);
	INIT_LIST_HEAD(&priv->children);
	INIT_LIST_HEAD(&priv->doomed);
	INIT_DELAYED_WORK(&priv->link.gc_work, ipoib_gc_work);
	INIT_DELAYED_WORK(&priv->link.mcast_work, ipoib_mcast_list_work);
	INIT_LIST_HEAD(&priv->claims.list);
	INIT_WORK(&priv->link.flush_work, ipoib_flush_work);
	INIT_WORK(&priv->link.sync_work, ipoib_sync_work);
	INIT_IB_EVENT_HANDLER(&priv->events, hca, ipoib_event);
}

/* The most that an adapter's driver has asked for; under rtnl. */
static unsigned int ipoib_their_txqs, ipoib_their_rxqs;

/* One for each CPU, up to a limit. */
static unsigned int ipoib_num_tx_queues(void)
{
	return min_t(unsigned int, num_online_cpus(), IPOIB_MAX_TX_QUEUES);
}

unsigned int ipoib_most_tx_queues(void)
{
	return max(ipoib_their_txqs, ipoib_num_tx_queues());
}

unsigned int ipoib_most_rx_queues(void)
{
	return max(ipoib_their_rxqs, 1U);
}

/* rtnetlink, which knows no adapter, allocates as much for a child, whatever its parent. */
static void ipoib_make_room(const struct rdma_netdev_alloc_params *params, size_t size)
{
	rtnl_lock();
	ipoib_link_ops.priv_size = max(ipoib_link_ops.priv_size, size);
	ipoib_their_txqs = max(ipoib_their_txqs, params->txqs);
	ipoib_their_rxqs = max(ipoib_their_rxqs, params->rxqs);
	rtnl_unlock();
}

/* Returns whether the adapter's driver has a part. */
static bool ipoib_get_params(struct ib_device *hca, u32 port, struct ipoib_dev *parent,
			     struct rdma_netdev_alloc_params *params)
{
	if (ipoib_enhanced_params(hca, port, parent, params))
		return true;
	*params = (struct rdma_netdev_alloc_params) {
		.sizeof_priv = sizeof(struct rdma_netdev),
		.txqs = ipoib_num_tx_queues(),
		.rxqs = 1,
	};
	return false;
}

/* Where ours begins, behind what the adapter's driver asks for. */
static size_t ipoib_priv_offset(const struct rdma_netdev_alloc_params *params)
{
	return ALIGN(params->sizeof_priv, SMP_CACHE_BYTES);
}

/*
 * Allocates a netdev, and has ipoib_setup() called. @parent is NULL for a port's own interface:
 * then rtnl must not be held. @name may be a pattern.
 */
struct net_device *ipoib_alloc_dev(struct ib_device *hca, u32 port, struct ipoib_dev *parent,
				   const char *name, unsigned char name_type)
{
	struct rdma_netdev_alloc_params params;
	size_t size;

	ipoib_get_params(hca, port, parent, &params);
	size = ipoib_priv_offset(&params) + sizeof(struct ipoib_dev);
	if (!parent)
		ipoib_make_room(&params, size);
	return alloc_netdev_mqs(size, name, name_type, ipoib_setup, params.txqs, params.rxqs);
}

/* Connects the two parts of the private data. */
static int ipoib_init_parts(struct net_device *dev, struct ib_device *hca, u32 port,
			    struct ipoib_dev *parent)
{
	struct rdma_netdev_alloc_params params;
	struct rdma_netdev *rn = netdev_priv(dev);
	struct ipoib_dev *priv;
	bool enhanced;
	int err;

	enhanced = ipoib_get_params(hca, port, parent, &params);
	priv = (void *)rn + ipoib_priv_offset(&params);
	rn->clnt_priv = priv;
	ipoib_init_priv(priv, dev, hca, port);
	priv->parent = parent;
	priv->ud = &ipoib_plain_ops;
	if (!enhanced)
		return 0;
	err = ipoib_enhanced_setup(priv);
	if (!err && dev->ethtool_ops == &ipoib_ethtool_ops)
		dev->ethtool_ops = &ipoib_enhanced_ethtool_ops;
	return err;
}

/*
 * Undoes ipoib_init_dev() for a netdev that could not be registered. One that was registered for a
 * moment has its destructor for that. The caller frees the netdev.
 */
void ipoib_abandon_dev(struct net_device *dev)
{
	if (dev->reg_state == NETREG_UNINITIALIZED)
		ipoib_enhanced_release(ipoib_priv(dev));
}

/*
 * @dev has had ipoib_setup(). @parent is NULL if the interface is the port's own.
 * ipoib_abandon_dev() undoes it; after an error nothing is left to undo.
 */
int ipoib_init_dev(struct net_device *dev, struct ib_device *hca, u32 port,
		   struct ipoib_dev *parent)
{
	struct ipoib_dev *priv;
	int err;

	err = ipoib_init_parts(dev, hca, port, parent);
	priv = ipoib_priv(dev);
	if (!err)
		err = ipoib_query_mtu(priv);
	if (err) {
		ipoib_abandon_dev(dev);
		return err;
	}

	dev->dev_id = port - 1;
	dev->dev_port = port - 1;
	dev->mtu = priv->max_ib_mtu - IPOIB_ENCAP_LEN;
	dev->max_mtu = dev->mtu;	/* of datagram mode */
	dev->min_mtu = ETH_MIN_MTU + IPOIB_ENCAP_LEN;
	priv->link.admin_mtu = dev->mtu;
	priv->link.mcast_mtu = dev->mtu;
	return 0;
}

/* From now on the interface, which is registered, uses the CPUs and follows what the port does. */
void ipoib_listen(struct ipoib_dev *priv)
{
	/* The adapter's driver does so for queues of its own. */
	if (!ipoib_is_enhanced(priv))
		ipoib_spread_tx(priv);
	ib_register_event_handler(&priv->events);
	priv->listening = true;
	/* What has happened to the port meanwhile. */
	ipoib_flush(priv, IPOIB_FLUSH_LIGHT);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Datagram or connected: what changes when an interface goes from one mode to the other.
 */
#include <linux/rtnetlink.h>

#include "compat.h"
#include "ipoib.h"

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

	err = dev_set_mtu(dev, min(most, READ_ONCE(priv->link.mcast_mtu)));
	if (err) {
		NL_SET_ERR_MSG(extack, "the interface cannot have the link's MTU");
		return err;
	}
	WRITE_ONCE(priv->connected, false);
	dev->max_mtu = most;
	priv->link.admin_mtu = most;
	netdev_update_features(dev);
	return 0;
}

/*
 * In connected mode the MTU becomes the largest that there is. Back in datagram mode it is the
 * link's again, and open connections are used no more: they end as idle ones do. Called under rtnl.
 * -EOPNOTSUPP: there are no connections. Another errno: something in the kernel refuses the link's
 * MTU.
 */
int ipoib_set_mode(struct ipoib_dev *priv, bool connected,
		   struct netlink_ext_ack *extack)
{
	ASSERT_RTNL();
	if (connected == priv->connected)
		return 0;
	if (connected && ipoib_is_enhanced(priv)) {
		NL_SET_ERR_MSG(extack, "the adapter's driver has no connected mode");
		return -EOPNOTSUPP;
	}
	if (connected && !priv->cm.able) {
		NL_SET_ERR_MSG(extack, "the adapter has no reliable connections");
		return -EOPNOTSUPP;
	}

	if (!connected)
		return ipoib_set_datagram(priv, extack);
	ipoib_set_connected(priv);
	return 0;
}

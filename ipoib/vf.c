// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual functions of the adapter, administered through the interface of its
 * physical function. It is all the adapter's business: what it does not have
 * ends here with -EOPNOTSUPP.
 */
#include <linux/if_link.h>

#include "ipoib.h"

int ipoib_set_vf_link_state(struct net_device *dev, int vf, int state)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	/* A child may be in a namespace whose administrator has no part in the adapter. */
	if (priv->parent)
		return -EOPNOTSUPP;
	return ib_set_vf_link_state(priv->hca, vf, priv->port, state);
}

int ipoib_get_vf_config(struct net_device *dev, int vf,
			struct ifla_vf_info *info)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	int err;

	err = ib_get_vf_config(priv->hca, vf, priv->port, info);
	if (err)
		return err;

	info->vf = vf;
	/* The adapter knows nothing of IPoIB's addresses. */
	BUILD_BUG_ON(sizeof(info->mac) < INFINIBAND_ALEN);
	memcpy(info->mac, dev->dev_addr, INFINIBAND_ALEN);
	return 0;
}

int ipoib_get_vf_stats(struct net_device *dev, int vf,
		       struct ifla_vf_stats *stats)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	return ib_get_vf_stats(priv->hca, vf, priv->port, stats);
}

int ipoib_get_vf_guid(struct net_device *dev, int vf,
		      struct ifla_vf_guid *node_guid,
		      struct ifla_vf_guid *port_guid)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	return ib_get_vf_guid(priv->hca, vf, priv->port, node_guid, port_guid);
}

int ipoib_set_vf_guid(struct net_device *dev, int vf, u64 guid, int type)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	if (priv->parent)
		return -EOPNOTSUPP;
	return ib_set_vf_guid(priv->hca, vf, priv->port, guid, type);
}

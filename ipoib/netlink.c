// SPDX-License-Identifier: GPL-2.0
/*
 * rtnetlink: links of the kind "ipoib".
 */
#include <linux/rtnetlink.h>
#include <net/netlink.h>
#include <net/rtnetlink.h>

#include "compat.h"
#include "ipoib.h"

static const struct nla_policy ipoib_policy[IFLA_IPOIB_MAX + 1] = {
	[IFLA_IPOIB_PKEY]	= { .type = NLA_U16 },
	[IFLA_IPOIB_MODE]	= NLA_POLICY_MAX(NLA_U16, IPOIB_MODE_CONNECTED),
	[IFLA_IPOIB_UMCAST]	= NLA_POLICY_MAX(NLA_U16, 1),
};

static int ipoib_change_mode(struct ipoib_dev *priv, struct nlattr *data[],
			     struct netlink_ext_ack *extack)
{
	if (!data || !data[IFLA_IPOIB_MODE])
		return 0;
	return ipoib_set_mode(priv, nla_get_u16(data[IFLA_IPOIB_MODE]) ==
				    IPOIB_MODE_CONNECTED, extack);
}

static void ipoib_set_umcast(struct ipoib_dev *priv, struct nlattr *data[])
{
	if (data && data[IFLA_IPOIB_UMCAST])
		WRITE_ONCE(priv->umcast, nla_get_u16(data[IFLA_IPOIB_UMCAST]));
}

static struct ipoib_dev *ipoib_find_parent(struct net *net, struct nlattr *link,
					   struct netlink_ext_ack *extack)
{
	struct net_device *dev;
	struct ipoib_dev *priv;

	if (!link) {
		NL_SET_ERR_MSG(extack, "an IPoIB interface needs a parent (link DEV)");
		return ERR_PTR(-EINVAL);
	}
	dev = __dev_get_by_index(net, nla_get_u32(link));
	if (!dev || !ipoib_is_ours(dev)) {
		NL_SET_ERR_MSG_ATTR(extack, link, "the parent is not an IPoIB interface");
		return ERR_PTR(-ENODEV);
	}
	priv = ipoib_priv(dev);
	if (priv->parent) {
		NL_SET_ERR_MSG_ATTR(extack, link, "the parent is itself a child");
		return ERR_PTR(-EINVAL);
	}
	return priv;
}

/* Of an address, the last 8 bytes can be chosen: which of the port's GUIDs it has. */
static int ipoib_choose_guid(struct ipoib_dev *priv, struct nlattr *address,
			     struct netlink_ext_ack *extack)
{
	__be64 guid;

	if (!address)
		return 0;
	if (nla_len(address) != INFINIBAND_ALEN) {
		NL_SET_ERR_MSG_ATTR(extack, address, "an address has 20 bytes");
		return -EINVAL;
	}
	memcpy(&guid, nla_data(address) + INFINIBAND_ALEN - sizeof(guid), sizeof(guid));
	if (!guid) {
		NL_SET_ERR_MSG_ATTR(extack, address,
				    "the last 8 bytes of the address are a GUID, which is not 0");
		return -EINVAL;
	}
	priv->guid = guid;
	return 0;
}

/* Registers a child that ipoib_init_dev() has made of @dev, and gives it what was asked for. */
static int ipoib_newlink_register(struct ipoib_dev *parent, struct net_device *dev,
				  struct nlattr *tb[], struct nlattr *data[],
				  struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	u16 pkey = parent->pkey;
	int err;

	err = ipoib_choose_guid(priv, tb[IFLA_ADDRESS], extack);
	if (err)
		return err;
	if (data && data[IFLA_IPOIB_PKEY])
		pkey = nla_get_u16(data[IFLA_IPOIB_PKEY]);
	err = ipoib_child_register(parent, dev, pkey, false, extack);
	if (err)
		return err;
	ipoib_set_umcast(priv, data);
	err = ipoib_change_mode(priv, data, extack);
	/* What rtnetlink has set already is the largest that there is. */
	if (!err && tb[IFLA_MTU]) {
		err = dev_set_mtu(dev, nla_get_u32(tb[IFLA_MTU]));
		if (err)
			NL_SET_ERR_MSG_ATTR(extack, tb[IFLA_MTU],
					    "the MTU is out of range");
	}
	if (err)
		ipoib_child_unregister(priv, NULL);
	return err;
}

static int ipoib_newlink(struct net_device *dev, struct rtnl_newlink_params *params,
			 struct netlink_ext_ack *extack)
{
	struct nlattr **tb = params->tb;
	struct ipoib_dev *parent;
	int err;

	parent = ipoib_find_parent(rtnl_newlink_link_net(params), tb[IFLA_LINK], extack);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	/* mlx5 looks for the parent in the child's namespace, by its index. */
	if (ipoib_is_enhanced(parent) && !net_eq(dev_net(dev), dev_net(parent->dev))) {
		NL_SET_ERR_MSG(extack, "create it in its parent's namespace, and then move it");
		return -EOPNOTSUPP;
	}
	err = ipoib_init_dev(dev, parent->hca, parent->port, parent);
	if (err)
		return err;
	err = ipoib_newlink_register(parent, dev, tb, params->data, extack);
	if (err)
		ipoib_abandon_dev(dev);
	return err;
}

COMPAT_NEWLINK(ipoib_newlink)

static int ipoib_changelink(struct net_device *dev, struct nlattr *tb[],
			    struct nlattr *data[],
			    struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	int err;

	if (data && data[IFLA_IPOIB_PKEY] &&
	    (nla_get_u16(data[IFLA_IPOIB_PKEY]) | IPOIB_FULL_MEMBER) != priv->pkey) {
		NL_SET_ERR_MSG_ATTR(extack, data[IFLA_IPOIB_PKEY],
				    "an interface keeps its P_Key");
		return -EOPNOTSUPP;
	}
	err = ipoib_change_mode(priv, data, extack);
	if (!err)
		ipoib_set_umcast(priv, data);
	return err;
}

/* There is no way to refuse, and the kernel's driver is silent, too. */
static void ipoib_dellink(struct net_device *dev, struct list_head *list)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	if (priv->parent)
		ipoib_child_unregister(priv, list);
	else if (net_ratelimit())
		netdev_info(dev, "lives as long as its port; not deleted\n");
}

static size_t ipoib_get_size(const struct net_device *dev)
{
	return nla_total_size(sizeof(u16)) +	/* IFLA_IPOIB_PKEY */
	       nla_total_size(sizeof(u16)) +	/* IFLA_IPOIB_MODE */
	       nla_total_size(sizeof(u16));	/* IFLA_IPOIB_UMCAST */
}

static int ipoib_fill_info(struct sk_buff *skb, const struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	if (nla_put_u16(skb, IFLA_IPOIB_PKEY, READ_ONCE(priv->pkey)) ||
	    nla_put_u16(skb, IFLA_IPOIB_MODE,
			READ_ONCE(priv->connected) ? IPOIB_MODE_CONNECTED :
						     IPOIB_MODE_DATAGRAM) ||
	    nla_put_u16(skb, IFLA_IPOIB_UMCAST, READ_ONCE(priv->umcast)))
		return -EMSGSIZE;
	return 0;
}

static struct net *ipoib_get_link_net(const struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	return dev_net(priv->parent ? priv->parent->dev : dev);
}

struct rtnl_link_ops ipoib_link_ops __read_mostly = {
	.kind		= "ipoib",
	/* A port's interface goes back to the first namespace, as hardware does. */
	.netns_refund	= true,
	.maxtype	= IFLA_IPOIB_MAX,
	.policy		= ipoib_policy,
	.setup		= ipoib_setup,
	.get_num_tx_queues = ipoib_most_tx_queues,
	.get_num_rx_queues = ipoib_most_rx_queues,
	.newlink	= compat_newlink(ipoib_newlink),
	.changelink	= ipoib_changelink,
	.dellink	= ipoib_dellink,
	.get_size	= ipoib_get_size,
	.fill_info	= ipoib_fill_info,
	.get_link_net	= ipoib_get_link_net,
};

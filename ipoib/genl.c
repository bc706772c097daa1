// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "ipoib": a program names one of its own sockets, which has
 * joined a group, and claims that membership. A claim concerns the program's own
 * membership only, so it needs the socket's descriptor and no privilege.
 */
#include <linux/net.h>
#include <linux/rtnetlink.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include <linux/ipoib_mcast.h>

#include "ipoib.h"

static const struct nla_policy ipoib_genl_policy[IPOIB_A_END] = {
	[IPOIB_A_IFINDEX]	= { .type = NLA_U32 },
	[IPOIB_A_SOCKET]	= { .type = NLA_U32 },
	[IPOIB_A_GROUP]		= { .type = NLA_BINARY, .len = sizeof(struct in6_addr) },
};

static int ipoib_genl_group(struct genl_info *info, struct ipoib_group *group)
{
	const struct nlattr *attr = info->attrs[IPOIB_A_GROUP];

	switch (nla_len(attr)) {
	case sizeof(group->in):
		group->family = AF_INET;
		group->in = nla_get_in_addr(attr);
		return 0;
	case sizeof(group->in6):
		group->family = AF_INET6;
		group->in6 = nla_get_in6_addr(attr);
		return 0;
	default:
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "an address has 4 or 16 bytes");
		return -EINVAL;
	}
}

/* Called under rtnl. */
static int ipoib_genl_run(struct genl_info *info, struct sock *sk,
			  const struct ipoib_group *group)
{
	const struct nlattr *attr = info->attrs[IPOIB_A_IFINDEX];
	struct net_device *dev;
	struct ipoib_dev *priv;
	int err;

	dev = __dev_get_by_index(genl_info_net(info), nla_get_u32(attr));
	if (!dev) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "there is no such interface");
		return -ENODEV;
	}
	if (!ipoib_is_ours(dev)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "it is not an IPoIB interface of this driver");
		return -EOPNOTSUPP;
	}

	priv = ipoib_priv(dev);
	mutex_lock(&priv->link.ctl);
	if (info->genlhdr->cmd == IPOIB_CMD_MCAST_CLAIM)
		err = ipoib_claim(priv, sk, group, info->extack);
	else
		err = ipoib_unclaim(priv, sk, group, info->extack);
	mutex_unlock(&priv->link.ctl);
	return err;
}

static int ipoib_genl_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipoib_group group;
	struct socket *sock;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, IPOIB_A_IFINDEX) ||
	    GENL_REQ_ATTR_CHECK(info, IPOIB_A_SOCKET) ||
	    GENL_REQ_ATTR_CHECK(info, IPOIB_A_GROUP))
		return -EINVAL;
	err = ipoib_genl_group(info, &group);
	if (err)
		return err;
	sock = sockfd_lookup(nla_get_u32(info->attrs[IPOIB_A_SOCKET]), &err);
	if (!sock) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPOIB_A_SOCKET],
				    "that descriptor is no socket");
		return err;
	}

	rtnl_lock();
	if (sock->sk && (sock->sk->sk_family == AF_INET || sock->sk->sk_family == AF_INET6)) {
		err = ipoib_genl_run(info, sock->sk, &group);
	} else {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPOIB_A_SOCKET],
				    "that socket is none of IPv4 or IPv6");
		err = -EAFNOSUPPORT;
	}
	rtnl_unlock();
	sockfd_put(sock);
	return err;
}

static const struct genl_small_ops ipoib_genl_ops[] = {
	{ .cmd = IPOIB_CMD_MCAST_CLAIM, .doit = ipoib_genl_doit },
	{ .cmd = IPOIB_CMD_MCAST_UNCLAIM, .doit = ipoib_genl_doit },
};

static struct genl_family ipoib_genl_family __ro_after_init = {
	.name		= IPOIB_GENL_NAME,
	.version	= IPOIB_GENL_VERSION,
	.maxattr	= IPOIB_A_END - 1,
	.policy		= ipoib_genl_policy,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.small_ops	= ipoib_genl_ops,
	.n_small_ops	= ARRAY_SIZE(ipoib_genl_ops),
	.resv_start_op	= IPOIB_CMD_MCAST_UNCLAIM + 1,
};

int __init ipoib_genl_init(void)
{
	return genl_register_family(&ipoib_genl_family);
}

/* Waits for requests that are under way. */
void ipoib_genl_exit(void)
{
	genl_unregister_family(&ipoib_genl_family);
}

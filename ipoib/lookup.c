// SPDX-License-Identifier: GPL-2.0
/*
 * From what a connection request carries to the interface it came for: asked
 * by the connection manager through ib_get_net_dev_by_params().
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>

#include "ipoib.h"

static bool ipoib_dev_has_addr(struct net_device *dev,
			       const struct sockaddr *addr)
{
	struct net *net = dev_net(dev);
	struct in_device *in_dev;
	__be32 ip;

	switch (addr->sa_family) {
	case AF_INET:
		in_dev = __in_dev_get_rcu(dev);
		if (!in_dev)
			return false;
		ip = ((const struct sockaddr_in *)addr)->sin_addr.s_addr;
		return inet_confirm_addr(net, in_dev, 0, ip, RT_SCOPE_HOST);
	case AF_INET6:
		return IS_ENABLED(CONFIG_IPV6) &&
		       ipv6_chk_addr(net, &((const struct sockaddr_in6 *)addr)->sin6_addr,
				     dev, 1);
	default:
		return false;
	}
}

static int ipoib_upper_has_addr(struct net_device *upper,
				struct netdev_nested_priv *nested)
{
	return ipoib_dev_has_addr(upper, nested->data);
}

/* The address may be that of an interface on top, such as a bond. */
static bool ipoib_has_addr(struct ipoib_dev *priv, const struct sockaddr *addr)
{
	struct netdev_nested_priv nested = { .data = (void *)addr };

	return ipoib_dev_has_addr(priv->dev, addr) ||
	       netdev_walk_all_upper_dev_rcu(priv->dev, ipoib_upper_has_addr,
					     &nested);
}

/* What a connection request carries, and the interfaces that it may mean */
struct ipoib_request {
	u32 port;
	u16 pkey;
	const union ib_gid *gid;
	const struct sockaddr *addr;

	unsigned int matches;
	struct ipoib_dev *only;
	struct ipoib_dev *with_addr;
};

static void ipoib_consider(struct ipoib_dev *priv, struct ipoib_request *req)
{
	if (priv->port != req->port ||
	    (priv->pkey ^ req->pkey) & ~IPOIB_FULL_MEMBER ||
	    (req->gid && !ipoib_gid_equal(req->gid, &priv->gid)))
		return;
	req->matches++;
	req->only = priv;
	if (!req->with_addr && req->addr && ipoib_has_addr(priv, req->addr))
		req->with_addr = priv;
}

/**
 * ipoib_find_netdev() - the interface that a connection request came for
 * @hca: the device it came by
 * @port: the port
 * @pkey: the P_Key, of either membership
 * @gid: the local GID, or NULL if not known
 * @addr: the IP address asked for; decides only between several interfaces
 * @client_data: the list of the device's interfaces
 *
 * The interface may be in any network namespace.
 *
 * Return: the netdev with a reference, or NULL.
 */
struct net_device *ipoib_find_netdev(struct ib_device *hca, u32 port, u16 pkey,
				     const union ib_gid *gid,
				     const struct sockaddr *addr,
				     void *client_data)
{
	struct list_head *ports = client_data;
	struct ipoib_request req = {
		.port = port, .pkey = pkey, .gid = gid, .addr = addr,
	};
	struct net_device *dev = NULL;
	struct ipoib_dev *priv, *child;

	rcu_read_lock();
	list_for_each_entry(priv, ports, list) {
		ipoib_consider(priv, &req);
		list_for_each_entry_rcu(child, &priv->children, sibling)
			ipoib_consider(child, &req);
	}
	priv = req.matches == 1 ? req.only : req.with_addr;
	if (priv) {
		dev = priv->dev;
		dev_hold(dev);
	}
	rcu_read_unlock();
	return dev;
}

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

/* An address, and which interface on top of ours has it */
struct ipoib_upper {
	const struct sockaddr *addr;
	struct net_device *dev;
};

static int ipoib_check_upper(struct net_device *dev,
			     struct netdev_nested_priv *nested)
{
	struct ipoib_upper *upper = nested->data;

	if (!ipoib_dev_has_addr(dev, upper->addr))
		return 0;
	upper->dev = dev;
	return 1;
}

/* The address may be that of an interface on top, such as a bond. */
static struct net_device *ipoib_with_addr(struct ipoib_dev *priv,
					  const struct sockaddr *addr)
{
	struct ipoib_upper upper = { .addr = addr };
	struct netdev_nested_priv nested = { .data = &upper };

	if (ipoib_dev_has_addr(priv->dev, addr))
		return priv->dev;
	netdev_walk_all_upper_dev_rcu(priv->dev, ipoib_check_upper, &nested);
	return upper.dev;
}

/* What a connection request carries, and the interfaces that it may mean */
struct ipoib_request {
	u32 port;
	u16 pkey;
	const union ib_gid *gid;
	const struct sockaddr *addr;

	unsigned int matches;
	struct net_device *only;
	struct net_device *with_addr;
};

static void ipoib_consider(struct ipoib_dev *priv, struct ipoib_request *req)
{
	if (priv->port != req->port ||
	    (priv->pkey ^ req->pkey) & ~IPOIB_FULL_MEMBER ||
	    (req->gid && !ipoib_gid_equal(req->gid, &priv->gid)))
		return;
	req->matches++;
	/* Routes are a bond's, not its slaves'. */
	req->only = netdev_master_upper_dev_get_rcu(priv->dev) ?: priv->dev;
	if (!req->with_addr && req->addr)
		req->with_addr = ipoib_with_addr(priv, req->addr);
}

/*
 * The interface that has @addr, which may be one on top of the driver's. Without such a one it is
 * the only interface that @port, @pkey (of either membership) and @gid leave, or its master. @gid
 * and @addr may be NULL. The interface may be in any network namespace. Returns it with a
 * reference, or NULL.
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
	struct ipoib_dev *priv, *child;
	struct net_device *dev;

	rcu_read_lock();
	list_for_each_entry(priv, ports, list) {
		ipoib_consider(priv, &req);
		list_for_each_entry_rcu(child, &priv->children, sibling)
			ipoib_consider(child, &req);
	}
	dev = req.with_addr;
	if (!dev && req.matches == 1)
		dev = req.only;
	dev_hold(dev);
	rcu_read_unlock();
	return dev;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Which interfaces' routes lead to InfiniBand.
 */
#include <linux/if_arp.h>
#include <linux/netdevice.h>

#include "transport/ib/ib.h"

/* Is it an IPoIB interface of a device that connections can be made on? */
static int sdp_ib_check_netdev(struct net *net, const struct net_device *ndev)
{
	struct sdp_ib_dev *dev;
	union ib_gid gid;
	int ret = 0;
	u32 port;

	if (ndev->type != ARPHRD_INFINIBAND)
		return -EOPNOTSUPP;
	memcpy(&gid, ndev->dev_addr + SDP_RC_LLADDR_GID, sizeof(gid));
	dev = sdp_ib_dev_by_gid(&gid, &port);
	if (!dev)
		return -EOPNOTSUPP;
	/* Where devices belong to namespaces it may not be of this one. */
	if (!rdma_dev_access_netns(dev->rc.device, net))
		ret = -EOPNOTSUPP;
	sdp_rc_dev_put(&dev->rc);
	return ret;
}

/* A bond has the type of those that it is made of. */
bool sdp_ib_takes(const struct net_device *ndev)
{
	return ndev->type == ARPHRD_INFINIBAND;
}

int sdp_ib_route(struct net *net, struct sdp_xprt_params *params)
{
	return sdp_rc_route(net, params, sdp_ib_check_netdev);
}

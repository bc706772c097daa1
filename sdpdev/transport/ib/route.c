// SPDX-License-Identifier: GPL-2.0
/*
 * By which IPoIB interface the kernel's route leaves.
 */
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/route.h>

#include "compat.h"
#include "transport/ib/ib.h"

/* Where the GID is in a 20 byte link-layer address (RFC 4391, 9.1.1) */
#define SDP_IB_LLADDR_GID	4

/* Is it an IPoIB interface of a device that connections can be made on? */
static int sdp_ib_check_netdev(struct net *net, const struct net_device *ndev)
{
	struct sdp_ib_dev *dev;
	union ib_gid gid;
	int ret = 0;
	u32 port;

	if (ndev->type != ARPHRD_INFINIBAND)
		return -EOPNOTSUPP;
	memcpy(&gid, ndev->dev_addr + SDP_IB_LLADDR_GID, sizeof(gid));
	dev = sdp_ib_dev_by_gid(&gid, &port);
	if (!dev)
		return -EOPNOTSUPP;
	/* Where devices belong to namespaces it may not be of this one. */
	if (!rdma_dev_access_netns(dev->device, net))
		ret = -EOPNOTSUPP;
	sdp_ib_dev_put(dev);
	return ret;
}

/**
 * sdp_ib_takes() - struct sdp_xprt_ops.takes
 * @ndev: the device; a bond has the type of those that it is made of
 */
bool sdp_ib_takes(const struct net_device *ndev)
{
	return ndev->type == ARPHRD_INFINIBAND;
}

/* A link-local address means nothing without the interface it is of. */
void sdp_ib_set_scope(struct sockaddr_storage *ss, int ifindex)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;

	if (ss->ss_family == AF_INET6 &&
	    ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		sin6->sin6_scope_id = ifindex;
}

static int sdp_ib_route4(struct net *net, struct sdp_xprt_params *params)
{
	struct sockaddr_in *src = (struct sockaddr_in *)&params->local;
	struct sockaddr_in *dst = (struct sockaddr_in *)&params->peer;
	struct flowi4 fl4 = {
		.daddr = dst->sin_addr.s_addr,
		.saddr = src->sin_addr.s_addr,
		.flowi4_oif = params->ifindex,
		.flowi4_mark = params->mark,
		.flowi4_uid = params->uid,
		.flowi4_tos = RT_TOS(params->tos),
		.flowi4_proto = IPPROTO_TCP,
		.fl4_dport = dst->sin_port,
		.fl4_sport = src->sin_port,
	};
	struct rtable *rt;
	int ret;

	rt = ip_route_output_flow(net, &fl4, NULL);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	/* A router is an IP node: InfiniBand has no path through it. */
	if (rt->rt_type != RTN_UNICAST || rt->rt_uses_gateway)
		ret = -EOPNOTSUPP;
	else
		ret = sdp_ib_check_netdev(net, rt->dst.dev);
	if (!ret) {
		src->sin_addr.s_addr = fl4.saddr;
		params->ifindex = rt->dst.dev->ifindex;
	}
	ip_rt_put(rt);
	return ret;
}

static int sdp_ib_route6(struct net *net, struct sdp_xprt_params *params)
{
	struct sockaddr_in6 *src = (struct sockaddr_in6 *)&params->local;
	struct sockaddr_in6 *dst = (struct sockaddr_in6 *)&params->peer;
	struct flowi6 fl6 = {
		.daddr = dst->sin6_addr,
		.saddr = src->sin6_addr,
		.flowi6_oif = params->ifindex,
		.flowi6_mark = params->mark,
		.flowi6_uid = params->uid,
		.flowlabel = ip6_make_flowinfo(params->tos, dst->sin6_flowinfo),
		.flowi6_proto = IPPROTO_TCP,
		.fl6_dport = dst->sin6_port,
		.fl6_sport = src->sin6_port,
	};
	struct dst_entry *entry;
	int ret;

	if (!fl6.flowi6_oif &&
	    ipv6_addr_type(&dst->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		fl6.flowi6_oif = dst->sin6_scope_id;
	entry = ipv6_stub->ipv6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	if (ipv6_addr_is_multicast(&dst->sin6_addr) ||
	    dst_rt6_info(entry)->rt6i_flags & (RTF_GATEWAY | RTF_LOCAL))
		ret = -EOPNOTSUPP;
	else
		ret = sdp_ib_check_netdev(net, entry->dev);
	if (!ret) {
		src->sin6_addr = fl6.saddr;
		params->ifindex = entry->dev->ifindex;
		sdp_ib_set_scope(&params->local, params->ifindex);
		sdp_ib_set_scope(&params->peer, params->ifindex);
	}
	dst_release(entry);
	return ret;
}

/**
 * sdp_ib_route() - struct sdp_xprt_ops.route
 * @net: the namespace
 * @params: addresses, interface and what rules look at; gets source address and interface
 *
 * An address of this machine's own is reached through the loopback interface,
 * and so is not for this transport.
 */
int sdp_ib_route(struct net *net, struct sdp_xprt_params *params)
{
	if (params->local.ss_family != params->peer.ss_family)
		return -EAFNOSUPPORT;
	switch (params->peer.ss_family) {
	case AF_INET:
		return sdp_ib_route4(net, params);
	case AF_INET6:
		return sdp_ib_route6(net, params);
	default:
		return -EAFNOSUPPORT;
	}
}

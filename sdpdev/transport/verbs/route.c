// SPDX-License-Identifier: GPL-2.0
/*
 * By which interface the kernel's route leaves, and what addresses are worth.
 */
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <net/sock.h>

#include "compat.h"
#include "transport/verbs/verbs.h"

/* A link-local address means nothing without the interface it is of. */
void sdp_rc_set_scope(struct sockaddr_storage *ss, int ifindex)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;

	if (ss->ss_family == AF_INET6 &&
	    ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		sin6->sin6_scope_id = ifindex;
}
EXPORT_SYMBOL_GPL(sdp_rc_set_scope);

static int sdp_rc_route4(struct net *net, struct sdp_xprt_params *params, sdp_rc_check check)
{
	struct sockaddr_in *src = (struct sockaddr_in *)&params->local;
	struct sockaddr_in *dst = (struct sockaddr_in *)&params->peer;
	struct flowi4 fl4 = {
		.daddr = dst->sin_addr.s_addr,
		.saddr = src->sin_addr.s_addr,
		.flowi4_oif = params->ifindex,
		.flowi4_mark = params->mark,
		.flowi4_uid = params->uid,
		.flowi4_proto = IPPROTO_TCP,
		.fl4_dport = dst->sin_port,
		.fl4_sport = src->sin_port,
	};
	struct rtable *rt;
	int ret;

	compat_flow_tos(&fl4, params->tos);
	rt = ip_route_output_flow(net, &fl4, NULL);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	/* A router is an IP node: there is no path through it. */
	if (rt->rt_type != RTN_UNICAST || rt->rt_uses_gateway)
		ret = -EOPNOTSUPP;
	else
		ret = check(net, rt->dst.dev);
	if (!ret) {
		src->sin_addr.s_addr = fl4.saddr;
		params->ifindex = rt->dst.dev->ifindex;
	}
	ip_rt_put(rt);
	return ret;
}

static int sdp_rc_route6(struct net *net, struct sdp_xprt_params *params, sdp_rc_check check)
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

	if (ipv6_addr_type(&dst->sin6_addr) & IPV6_ADDR_LINKLOCAL && dst->sin6_scope_id)
		fl6.flowi6_oif = dst->sin6_scope_id;
	entry = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	if (ipv6_addr_is_multicast(&dst->sin6_addr) ||
	    dst_rt6_info(entry)->rt6i_flags & (RTF_GATEWAY | RTF_LOCAL))
		ret = -EOPNOTSUPP;
	else
		ret = check(net, entry->dev);
	if (!ret) {
		src->sin6_addr = fl6.saddr;
		params->ifindex = entry->dev->ifindex;
		sdp_rc_set_scope(&params->local, params->ifindex);
		sdp_rc_set_scope(&params->peer, params->ifindex);
	}
	dst_release(entry);
	return ret;
}

/**
 * sdp_rc_route() - struct sdp_xprt_ops.route
 * @net: the namespace
 * @params: addresses, interface and what rules look at; gets source address and interface
 * @check: zero where connections can be made by an interface, else -EOPNOTSUPP
 *
 * An address of this machine's own is reached through the loopback interface,
 * and so is not for this transport.
 */
int sdp_rc_route(struct net *net, struct sdp_xprt_params *params, sdp_rc_check check)
{
	if (params->local.ss_family != params->peer.ss_family)
		return -EAFNOSUPPORT;
	switch (params->peer.ss_family) {
	case AF_INET:
		return sdp_rc_route4(net, params, check);
	case AF_INET6:
		return sdp_rc_route6(net, params, check);
	default:
		return -EAFNOSUPPORT;
	}
}
EXPORT_SYMBOL_GPL(sdp_rc_route);

/* Is it an address that one node can have? */
bool sdp_rc_is_unicast(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)ss;

	switch (ss->ss_family) {
	case AF_INET:
		return !ipv4_is_zeronet(sin->sin_addr.s_addr) &&
		       !ipv4_is_loopback(sin->sin_addr.s_addr) &&
		       !ipv4_is_multicast(sin->sin_addr.s_addr) &&
		       !ipv4_is_lbcast(sin->sin_addr.s_addr);
	case AF_INET6:
		return ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_UNICAST &&
		       !ipv6_addr_loopback(&sin6->sin6_addr) &&
		       !ipv6_addr_v4mapped(&sin6->sin6_addr);
	default:
		return false;
	}
}
EXPORT_SYMBOL_GPL(sdp_rc_is_unicast);

/*
 * Does the route back to the peer's address leave by this transport?  The address is
 * what the peer says it is; this keeps it from posing as a host of another
 * network.  The routes are those of the VRF that the interface is in.  The
 * listener is not known yet, so routing rules see root of the namespace, as with
 * packets that no user sends.
 */
bool sdp_rc_peer_plausible(struct sdp_rc_conn *conn)
{
	struct sdp_xprt_params back = {
		.local = conn->local,
		.peer = conn->peer,
		.ifindex = l3mdev_master_ifindex_by_index(conn->net, conn->ifindex),
		.uid = sock_net_uid(conn->net, NULL),
		/* One that is asked for at the service is what each transport can have. */
		.any_port = true,
	};

	return !conn->kind->ops->route(conn->net, &back);
}
EXPORT_SYMBOL_GPL(sdp_rc_peer_plausible);

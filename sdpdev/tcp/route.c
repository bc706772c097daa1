// SPDX-License-Identifier: GPL-2.0
/*
 * The route that TCP would have in its socket, for IP_MTU, IPV6_MTU and
 * IPV6_PATHMTU: over SDP the native socket is given one, and answers.
 */
#include <linux/ipv6.h>
#include <net/addrconf.h>
#include <net/inet_sock.h>
#include <net/ip6_route.h>
#include <net/route.h>

#include "tcp/tcp.h"

static struct dst_entry *sdp_route4(struct net *net, const struct sock *sk,
				    const struct sockaddr_storage *local,
				    const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *src = (const struct sockaddr_in *)local;
	const struct sockaddr_in *dst = (const struct sockaddr_in *)peer;
	struct flowi4 fl4 = {
		.daddr = dst->sin_addr.s_addr,
		.saddr = src->sin_addr.s_addr,
		.flowi4_oif = READ_ONCE(sk->sk_bound_dev_if),
		.flowi4_mark = READ_ONCE(sk->sk_mark),
		.flowi4_uid = sk->sk_uid,
		.flowi4_tos = ip_sock_rt_tos(sk),
		.flowi4_scope = ip_sock_rt_scope(sk),
		.flowi4_proto = IPPROTO_TCP,
		.fl4_dport = dst->sin_port,
		.fl4_sport = src->sin_port,
	};
	struct rtable *rt = ip_route_output_flow(net, &fl4, NULL);

	return IS_ERR(rt) ? ERR_CAST(rt) : &rt->dst;
}

static struct dst_entry *sdp_route6(struct net *net, const struct sock *sk,
				    const struct sockaddr_storage *local,
				    const struct sockaddr_storage *peer)
{
	const struct sockaddr_in6 *src = (const struct sockaddr_in6 *)local;
	const struct sockaddr_in6 *dst = (const struct sockaddr_in6 *)peer;
	struct flowi6 fl6 = {
		.daddr = dst->sin6_addr,
		.saddr = src->sin6_addr,
		.flowi6_oif = READ_ONCE(sk->sk_bound_dev_if),
		.flowi6_mark = READ_ONCE(sk->sk_mark),
		.flowi6_uid = sk->sk_uid,
		.flowlabel = ip6_make_flowinfo(READ_ONCE(inet6_sk(sk)->tclass),
					       dst->sin6_flowinfo),
		.flowi6_proto = IPPROTO_TCP,
		.fl6_dport = dst->sin6_port,
		.fl6_sport = src->sin6_port,
	};

	if (!fl6.flowi6_oif &&
	    ipv6_addr_type(&dst->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		fl6.flowi6_oif = dst->sin6_scope_id;
	return ipv6_stub->ipv6_dst_lookup_flow(net, NULL, &fl6, NULL);
}

/**
 * sdp_route_set() - let the native socket know the way that SDP goes
 * @ep: an endpoint with a native socket, op_mutex held
 *
 * Nothing happens where the native socket answers for itself.
 */
void sdp_route_set(struct sdp_ep *ep)
{
	struct sock *sk = sdp_native_sk(ep);
	struct sockaddr_storage local, peer;
	struct dst_entry *dst;
	u32 cookie = 0;

	sdp_ep_lock(ep);
	local = ep->local;
	peer = ep->peer;
	sdp_ep_unlock(ep);
	if (sdp_ep_native(ep) || !peer.ss_family)
		return;
	sdp_addr_unmap(&local);
	sdp_addr_unmap(&peer);

	lock_sock(sk);
	/* What the program itself has connected by it has a route, of its own family. */
	if (sk->sk_state != TCP_CLOSE || sk->sk_family != ep->family)
		goto out;
	if (sk->sk_family == AF_INET6)
		cookie = inet6_sk(sk)->dst_cookie;
	/* As long as it holds, it is the one. */
	if (__sk_dst_check(sk, cookie))
		goto out;
	if (peer.ss_family == AF_INET)
		dst = sdp_route4(ep->net, sk, &local, &peer);
	else
		dst = sdp_route6(ep->net, sk, &local, &peer);
	if (IS_ERR(dst))
		goto out;
	if (peer.ss_family == AF_INET6)
		inet6_sk(sk)->dst_cookie = rt6_get_cookie(dst_rt6_info(dst));
	__sk_dst_set(sk, dst);
out:
	release_sock(sk);
}

/**
 * sdp_route_forget() - there is no connection any more
 * @ep: an endpoint with a native socket
 */
void sdp_route_forget(struct sdp_ep *ep)
{
	sk_dst_reset(sdp_native_sk(ep));
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Socket addresses.  Inside, an IPv4 address is an AF_INET one whatever the
 * family of the endpoint; user space sees it in the form of its family.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "core/core.h"

/**
 * sdp_addr_unmap() - make an IPv4 address mapped into IPv6 the IPv4 one it is
 * @ss: the address
 */
void sdp_addr_unmap(struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in sin = { .sin_family = AF_INET };

	if (ss->ss_family != AF_INET6 || !ipv6_addr_v4mapped(&sin6->sin6_addr))
		return;
	sin.sin_port = sin6->sin6_port;
	sin.sin_addr.s_addr = sin6->sin6_addr.s6_addr32[3];
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, &sin, sizeof(sin));
}

/**
 * sdp_addr_map() - give an address the form that user space of @family expects
 * @ss: the address
 * @family: AF_INET or AF_INET6
 */
void sdp_addr_map(struct sockaddr_storage *ss, unsigned short family)
{
	const struct sockaddr_in *sin = (struct sockaddr_in *)ss;
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };

	if (ss->ss_family != AF_INET || family != AF_INET6)
		return;
	sin6.sin6_port = sin->sin_port;
	ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, &sin6.sin6_addr);
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, &sin6, sizeof(sin6));
}

static bool sdp_addr6_same_host(const struct sockaddr_in6 *a,
				const struct sockaddr_in6 *b)
{
	return ipv6_addr_equal(&a->sin6_addr, &b->sin6_addr) &&
	       (!(ipv6_addr_type(&a->sin6_addr) & IPV6_ADDR_LINKLOCAL) ||
		a->sin6_scope_id == b->sin6_scope_id);
}

/**
 * sdp_addr_same_host() - are two addresses equal, but for their ports?
 * @a: one
 * @b: the other
 *
 * Of link-local addresses the interface counts as well.
 */
bool sdp_addr_same_host(const struct sockaddr_storage *a,
			const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return sdp_addr6_same_host((const struct sockaddr_in6 *)a,
					   (const struct sockaddr_in6 *)b);
	return ((struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((struct sockaddr_in *)b)->sin_addr.s_addr;
}

/**
 * sdp_addr_any() - is it the wildcard?
 * @ss: the address
 */
bool sdp_addr_any(const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET6)
		return ipv6_addr_any(&((struct sockaddr_in6 *)ss)->sin6_addr);
	return ((struct sockaddr_in *)ss)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/**
 * sdp_addr_port() - the port of an address, host byte order
 * @ss: the address
 */
u16 sdp_addr_port(const struct sockaddr_storage *ss)
{
	return ntohs(((struct sockaddr_in *)ss)->sin_port);
}

/**
 * sdp_addr_set_port() - give an address a port
 * @ss: the address
 * @port: host byte order
 */
void sdp_addr_set_port(struct sockaddr_storage *ss, u16 port)
{
	((struct sockaddr_in *)ss)->sin_port = htons(port);
}

/**
 * sdp_addr_len() - how many bytes of an address are used
 * @ss: the address
 */
unsigned int sdp_addr_len(const struct sockaddr_storage *ss)
{
	switch (ss->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

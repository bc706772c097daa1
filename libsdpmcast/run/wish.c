// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Options of a socket that join groups and leave them, and the interface that they mean.
 */
#define _GNU_SOURCE
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "run.h"

/* --- the interface -------------------------------------------------------------- */

static unsigned int by_address(const struct sockaddr_storage *addr)
{
	struct ifaddrs *all, *at;
	struct sockaddr_storage a;
	unsigned int ifindex = 0;

	if (getifaddrs(&all))
		return 0;
	for (at = all; at && !ifindex; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != addr->ss_family)
			continue;
		memcpy(&a, at->ifa_addr, addr->ss_family == AF_INET ?
		       sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		if (addr_equal(&a, addr))
			ifindex = if_nametoindex(at->ifa_name);
	}
	freeifaddrs(all);
	return ifindex;
}

/* As the kernel chooses it: by the route to the group. */
static unsigned int by_route(const struct sockaddr_storage *group)
{
	struct sockaddr_storage to = *group, own = {};
	const struct sockaddr_in6 *in6 = (const void *)&own;
	socklen_t len = sizeof(own);
	int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned int ifindex = 0;

	if (fd < 0)
		return 0;
	addr_set_port(&to, htons(9));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
	    !getsockname(fd, (struct sockaddr *)&own, &len))
		ifindex = own.ss_family == AF_INET6 && in6->sin6_scope_id ? in6->sin6_scope_id :
			  by_address(&own);
	close(fd);
	return ifindex;
}

static bool is_infiniband(unsigned int ifindex)
{
	struct ifreq req = {};
	int fd, err;

	if (!ifindex || !if_indextoname(ifindex, req.ifr_name))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	err = fd < 0 ? -1 : ioctl(fd, SIOCGIFHWADDR, &req);
	if (fd >= 0)
		close(fd);
	return !err && req.ifr_hwaddr.sa_family == ARPHRD_INFINIBAND;
}

/* --- the options ----------------------------------------------------------------- */

/* A structure of the call, of which the program may give less; as much as it has. */
static bool read_value(void *to, size_t least, size_t most, const void *value, socklen_t len)
{
	if (!value || len < least)
		return false;
	memset(to, 0, most);
	memcpy(to, value, len < most ? len : most);
	return true;
}

static void fill4(struct sockaddr_storage *to, struct in_addr addr)
{
	struct in6_addr a = {};

	memcpy(&a, &addr, sizeof(addr));
	addr_fill(to, AF_INET, &a, 0);
}

static bool read_mreqn(const void *value, socklen_t len, struct wish *w)
{
	struct sockaddr_storage own;
	struct ip_mreqn m;

	if (!read_value(&m, sizeof(struct ip_mreq), sizeof(m), value, len))
		return false;
	fill4(&w->group, m.imr_multiaddr);
	fill4(&own, m.imr_address);
	w->ifindex = m.imr_ifindex;
	if (!w->ifindex && m.imr_address.s_addr)
		w->ifindex = by_address(&own);
	return true;
}

static bool read_mreq_source(const void *value, socklen_t len, struct wish *w)
{
	struct ip_mreq_source m;
	struct sockaddr_storage own;

	if (!read_value(&m, sizeof(m), sizeof(m), value, len))
		return false;
	fill4(&w->group, m.imr_multiaddr);
	fill4(&w->source, m.imr_sourceaddr);
	fill4(&own, m.imr_interface);
	w->from_one = true;
	w->ifindex = m.imr_interface.s_addr ? by_address(&own) : 0;
	return true;
}

static bool read_mreq6(const void *value, socklen_t len, struct wish *w)
{
	struct ipv6_mreq m;

	if (!read_value(&m, sizeof(m), sizeof(m), value, len))
		return false;
	addr_fill(&w->group, AF_INET6, &m.ipv6mr_multiaddr, 0);
	w->ifindex = m.ipv6mr_interface;
	return true;
}

static bool read_req(const void *value, socklen_t len, struct wish *w)
{
	struct group_req m;

	if (!read_value(&m, sizeof(m), sizeof(m), value, len))
		return false;
	w->ifindex = m.gr_interface;
	w->group = m.gr_group;
	return true;
}

static bool read_source_req(const void *value, socklen_t len, struct wish *w)
{
	struct group_source_req m;

	if (!read_value(&m, sizeof(m), sizeof(m), value, len))
		return false;
	w->ifindex = m.gsr_interface;
	w->group = m.gsr_group;
	w->source = m.gsr_source;
	w->from_one = true;
	return true;
}

/* The structure of the option. */
static bool read_option(int level, int name, const void *value, socklen_t len, struct wish *w)
{
	if (name == MCAST_JOIN_GROUP || name == MCAST_LEAVE_GROUP)
		return read_req(value, len, w);
	if (name == MCAST_JOIN_SOURCE_GROUP || name == MCAST_LEAVE_SOURCE_GROUP)
		return read_source_req(value, len, w);
	if (level == IPPROTO_IPV6)
		return (name == IPV6_JOIN_GROUP || name == IPV6_LEAVE_GROUP) &&
		       read_mreq6(value, len, w);
	if (name == IP_ADD_SOURCE_MEMBERSHIP || name == IP_DROP_SOURCE_MEMBERSHIP)
		return read_mreq_source(value, len, w);
	return (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP) &&
	       read_mreqn(value, len, w);
}

/* True if the option, which the kernel has taken, joins or leaves a group of InfiniBand. */
bool wish_read(int level, int name, const void *value, socklen_t len, struct wish *w, bool *join)
{
	memset(w, 0, sizeof(*w));
	if ((level != IPPROTO_IP && level != IPPROTO_IPV6) ||
	    !read_option(level, name, value, len, w))
		return false;
	*join = name == MCAST_JOIN_GROUP || name == MCAST_JOIN_SOURCE_GROUP ||
		(level == IPPROTO_IPV6 ? name == IPV6_JOIN_GROUP :
		 name == IP_ADD_MEMBERSHIP || name == IP_ADD_SOURCE_MEMBERSHIP);
	if (!w->ifindex)
		w->ifindex = by_route(&w->group);
	return is_infiniband(w->ifindex);
}

/* Filters of sources, which the endpoint does not have; and those of the program's own. */
const char *wish_refused(int level, int name)
{
	if (level == SOL_SOCKET)
		return name == SO_ATTACH_FILTER || name == SO_ATTACH_BPF ||
		       name == SO_DETACH_FILTER ? "the program sets a filter" : NULL;
	if (level != IPPROTO_IP && level != IPPROTO_IPV6)
		return NULL;
	if (name == MCAST_BLOCK_SOURCE || name == MCAST_UNBLOCK_SOURCE || name == MCAST_MSFILTER ||
	    (level == IPPROTO_IP && (name == IP_BLOCK_SOURCE || name == IP_UNBLOCK_SOURCE ||
				     name == IP_MSFILTER)))
		return "the program sets a filter of sources";
	return NULL;
}

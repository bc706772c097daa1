// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Addresses.
 */
#define _GNU_SOURCE
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

/* Without the ports. */
bool addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				  &((const struct sockaddr_in6 *)b)->sin6_addr);
}

void addr_fill(struct sockaddr_storage *to, sa_family_t family, const struct in6_addr *addr,
	       in_port_t port)
{
	struct sockaddr_in6 *in6 = (void *)to;
	struct sockaddr_in *in = (void *)to;

	memset(to, 0, sizeof(*in6));
	to->ss_family = family;
	if (family == AF_INET) {
		in->sin_port = port;
		memcpy(&in->sin_addr, addr, sizeof(in->sin_addr));
	} else {
		in6->sin6_port = port;
		in6->sin6_addr = *addr;
	}
}

/* The address; of IPv4 the first four bytes. */
void addr_read(const struct sockaddr_storage *from, struct in6_addr *addr, in_port_t *port)
{
	const struct sockaddr_in6 *in6 = (const void *)from;
	const struct sockaddr_in *in = (const void *)from;

	memset(addr, 0, sizeof(*addr));
	if (from->ss_family == AF_INET)
		memcpy(addr, &in->sin_addr, sizeof(in->sin_addr));
	else
		*addr = in6->sin6_addr;
	if (port)
		*port = from->ss_family == AF_INET ? in->sin_port : in6->sin6_port;
}

bool addr_is_multicast(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	return addr->ss_family == AF_INET ? IN_MULTICAST(ntohl(in->sin_addr.s_addr)) :
	       IN6_IS_ADDR_MULTICAST(&in6->sin6_addr);
}

/* Where it has none. */
void addr_set_port(struct sockaddr_storage *addr, in_port_t port)
{
	struct sockaddr_in6 *in6 = (void *)addr;
	struct sockaddr_in *in = (void *)addr;

	if (addr->ss_family == AF_INET && !in->sin_port)
		in->sin_port = port;
	else if (addr->ss_family == AF_INET6 && !in6->sin6_port)
		in6->sin6_port = port;
}

/* Only an address that is not link-local has its interface by itself. */
static bool is_usable(const struct ifaddrs *at, const char *name, sa_family_t family)
{
	if (!at->ifa_addr || at->ifa_addr->sa_family != family || strcmp(at->ifa_name, name))
		return false;
	return family == AF_INET ||
	       !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)at->ifa_addr)->sin6_addr);
}

bool addr_of_interface(unsigned int ifindex, sa_family_t family, struct sockaddr_storage *to)
{
	char name[IF_NAMESIZE];
	struct ifaddrs *all, *at;
	bool found = false;

	if (!if_indextoname(ifindex, name) || getifaddrs(&all))
		return false;
	for (at = all; at && !found; at = at->ifa_next) {
		found = is_usable(at, name, family);
		if (found)
			memcpy(to, at->ifa_addr, family == AF_INET ? sizeof(struct sockaddr_in) :
			       sizeof(struct sockaddr_in6));
	}
	freeifaddrs(all);
	return found;
}

bool addr_is_local(const struct sockaddr_storage *addr)
{
	struct sockaddr_storage own;
	struct ifaddrs *all, *at;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (at = all; at && !found; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != addr->ss_family)
			continue;
		memcpy(&own, at->ifa_addr, addr->ss_family == AF_INET ?
		       sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		found = addr_equal(&own, addr);
	}
	freeifaddrs(all);
	return found;
}

/* Of InfiniBand, whose addresses are longer than what struct sockaddr_ll says. */
bool addr_hardware(unsigned int ifindex, uint8_t hw[HW_LEN])
{
	const struct sockaddr_ll *ll;
	struct ifaddrs *all, *at;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (at = all; at && !found; at = at->ifa_next) {
		ll = (const void *)at->ifa_addr;
		found = ll && ll->sll_family == AF_PACKET && ll->sll_ifindex == (int)ifindex &&
			ll->sll_halen == HW_LEN;
		if (found)
			memcpy(hw, (const char *)ll + offsetof(struct sockaddr_ll, sll_addr),
			       HW_LEN);
	}
	freeifaddrs(all);
	return found;
}

/* Or 0. */
unsigned int addr_mtu(unsigned int ifindex)
{
	struct ifreq req = {};
	int fd, err;

	if (!if_indextoname(ifindex, req.ifr_name))
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	err = fd < 0 ? -1 : ioctl(fd, SIOCGIFMTU, &req);
	if (fd >= 0)
		close(fd);
	return err ? 0 : req.ifr_mtu;
}

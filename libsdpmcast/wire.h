/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Datagrams as they cross the fabric: the header of IPoIB (RFC 4391), IPv4 or IPv6, UDP.
 * What arrives is hostile until wire_read() has taken it.
 */
#ifndef WIRE_H
#define WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_verdict {
	WIRE_OK,
	WIRE_OTHER,		/* not IP, or not UDP */
	WIRE_FRAGMENT,
	WIRE_MALFORMED,		/* a length, a version or an address that cannot be */
	WIRE_BAD_SUM,
};

/**
 * struct wire_ends - between whom a datagram goes
 * @family:	AF_INET or AF_INET6
 * @from:	the source; of IPv4 the first four bytes
 * @to:		the destination, likewise
 * @from_port:	in the order of the network, as the next
 * @to_port:	the destination's
 * @ttl:	or hop limit
 */
struct wire_ends {
	sa_family_t family;
	struct in6_addr from;
	struct in6_addr to;
	in_port_t from_port;
	in_port_t to_port;
	uint8_t ttl;
};

/* What wire_write() puts in front of a datagram, at most. */
#define WIRE_MAX_HEADERS	52

size_t wire_write(void *packet, const struct wire_ends *ends, const void *data, size_t len);
enum wire_verdict wire_read(const void *packet, size_t len, bool sum_ok, struct wire_ends *ends,
			    const void **data, size_t *data_len);

#endif /* WIRE_H */

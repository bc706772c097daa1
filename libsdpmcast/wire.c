// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Reads the headers of a datagram, and writes them. No length is believed before it has been held
 * against what has arrived. Structures are copied, as nothing is aligned.
 */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>

#include "wire.h"

#define TYPE_IPV4	0x0800
#define TYPE_IPV6	0x86dd
/* Extension headers that are followed; no datagram has more. */
#define MAX_EXTENSIONS	8

/* A piece of a packet that is still to be read. */
struct rest {
	const uint8_t *data;
	size_t len;
};

/* Copies the first @len bytes out and steps over them; false if there are fewer. */
static bool take(struct rest *r, void *to, size_t len)
{
	if (r->len < len)
		return false;
	memcpy(to, r->data, len);
	r->data += len;
	r->len -= len;
	return true;
}

static bool skip(struct rest *r, size_t len)
{
	if (r->len < len)
		return false;
	r->data += len;
	r->len -= len;
	return true;
}

/* --- checksums ----------------------------------------------------------- */

/* Adds the words of @p to a sum that has not been folded. */
static uint64_t sum_add(uint64_t sum, const void *p, size_t len)
{
	const uint8_t *at = p;
	uint32_t word;

	for (; len >= sizeof(word); len -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sum += word;
	}
	if (len) {
		word = 0;
		memcpy(&word, at, len);
		sum += word;
	}
	return sum;
}

static uint16_t sum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Of what the checksum of UDP covers beside the datagram. */
static uint64_t sum_pseudo(const struct wire_ends *ends, size_t udp_len)
{
	size_t addr_len = ends->family == AF_INET ? 4 : 16;
	uint64_t sum;

	sum = sum_add(0, &ends->from, addr_len);
	sum = sum_add(sum, &ends->to, addr_len);
	return sum + htons(IPPROTO_UDP) + htons(udp_len);
}

/* --- reading ------------------------------------------------------------- */

static enum wire_verdict read_udp(struct rest *r, bool sum_ok, struct wire_ends *ends)
{
	const uint8_t *start = r->data;
	struct udphdr udp;
	size_t len;

	if (!take(r, &udp, sizeof(udp)))
		return WIRE_MALFORMED;
	len = ntohs(udp.uh_ulen);
	if (len < sizeof(udp) || len - sizeof(udp) > r->len)
		return WIRE_MALFORMED;
	/* With IPv6 it has to be there (RFC 8200 8.1). */
	if (!udp.uh_sum && ends->family == AF_INET6)
		return WIRE_BAD_SUM;
	if (udp.uh_sum && !sum_ok &&
	    sum_fold(sum_add(sum_pseudo(ends, len), start, len)) != 0xffff)
		return WIRE_BAD_SUM;

	r->len = len - sizeof(udp);
	ends->from_port = udp.uh_sport;
	ends->to_port = udp.uh_dport;
	return WIRE_OK;
}

/* Can that not be a source? */
static bool is_no_source4(in_addr_t addr)
{
	in_addr_t a = ntohl(addr);

	return IN_MULTICAST(a) || a == INADDR_BROADCAST || a >> 24 == IN_LOOPBACKNET;
}

static enum wire_verdict read_ipv4(struct rest *r, bool sum_ok, struct wire_ends *ends)
{
	const uint8_t *start = r->data;
	struct ip ip;
	size_t header, total;

	if (!take(r, &ip, sizeof(ip)))
		return WIRE_MALFORMED;
	header = ip.ip_hl * 4;
	total = ntohs(ip.ip_len);
	if (ip.ip_v != 4 || header < sizeof(ip) || total < header ||
	    total - sizeof(ip) > r->len || is_no_source4(ip.ip_src.s_addr))
		return WIRE_MALFORMED;
	if (!sum_ok && sum_fold(sum_add(0, start, header)) != 0xffff)
		return WIRE_BAD_SUM;
	r->len = total - sizeof(ip);
	skip(r, header - sizeof(ip));

	ends->family = AF_INET;
	memcpy(&ends->from, &ip.ip_src, sizeof(ip.ip_src));
	memcpy(&ends->to, &ip.ip_dst, sizeof(ip.ip_dst));
	ends->ttl = ip.ip_ttl;
	if (ntohs(ip.ip_off) & (IP_MF | IP_OFFMASK))
		return WIRE_FRAGMENT;
	return ip.ip_p == IPPROTO_UDP ? read_udp(r, sum_ok, ends) : WIRE_OTHER;
}

/* Steps over what is in front of UDP. */
static enum wire_verdict skip_extensions(struct rest *r, uint8_t *next)
{
	struct ip6_ext ext;
	int i;

	for (i = 0; i < MAX_EXTENSIONS; i++) {
		if (*next == IPPROTO_FRAGMENT)
			return WIRE_FRAGMENT;
		if (*next != IPPROTO_HOPOPTS && *next != IPPROTO_DSTOPTS)
			return *next == IPPROTO_UDP ? WIRE_OK : WIRE_OTHER;
		if (!take(r, &ext, sizeof(ext)) ||
		    !skip(r, (ext.ip6e_len + 1) * 8 - sizeof(ext)))
			return WIRE_MALFORMED;
		*next = ext.ip6e_nxt;
	}
	return WIRE_MALFORMED;
}

static enum wire_verdict read_ipv6(struct rest *r, struct wire_ends *ends)
{
	enum wire_verdict verdict;
	struct ip6_hdr ip;
	uint8_t next;

	if (!take(r, &ip, sizeof(ip)) || ip.ip6_vfc >> 4 != 6 || ntohs(ip.ip6_plen) > r->len ||
	    IN6_IS_ADDR_MULTICAST(&ip.ip6_src) || IN6_IS_ADDR_LOOPBACK(&ip.ip6_src))
		return WIRE_MALFORMED;
	r->len = ntohs(ip.ip6_plen);

	ends->family = AF_INET6;
	ends->from = ip.ip6_src;
	ends->to = ip.ip6_dst;
	ends->ttl = ip.ip6_hlim;
	next = ip.ip6_nxt;
	verdict = skip_extensions(r, &next);
	return verdict == WIRE_OK ? read_udp(r, false, ends) : verdict;
}

/*
 * Reads a packet from the header of IPoIB on. With @sum_ok the adapter has checked the
 * checksums, of IPv4: it knows no other. What is behind the data, as Ethernet pads, is left out.
 */
enum wire_verdict wire_read(const void *packet, size_t len, bool sum_ok, struct wire_ends *ends,
			    const void **data, size_t *data_len)
{
	struct rest r = { .data = packet, .len = len };
	enum wire_verdict verdict;
	uint16_t encap[2];

	memset(ends, 0, sizeof(*ends));
	*data = packet;
	*data_len = 0;
	if (!take(&r, encap, sizeof(encap)))
		return WIRE_MALFORMED;
	switch (ntohs(encap[0])) {
	case TYPE_IPV4:
		verdict = read_ipv4(&r, sum_ok, ends);
		break;
	case TYPE_IPV6:
		verdict = read_ipv6(&r, ends);
		break;
	default:
		verdict = WIRE_OTHER;
	}
	*data = r.data;
	*data_len = r.len;
	return verdict;
}

/* --- writing ------------------------------------------------------------- */

static size_t write_ip(uint8_t *to, const struct wire_ends *ends, size_t udp_len)
{
	struct ip ip = {
		.ip_v = 4,
		.ip_hl = sizeof(ip) / 4,
		.ip_len = htons(sizeof(ip) + udp_len),
		/* So it needs no identification (RFC 6864). */
		.ip_off = htons(IP_DF),
		.ip_ttl = ends->ttl,
		.ip_p = IPPROTO_UDP,
	};
	struct ip6_hdr ip6 = {
		.ip6_flow = htonl(6U << 28),
		.ip6_plen = htons(udp_len),
		.ip6_nxt = IPPROTO_UDP,
		.ip6_hlim = ends->ttl,
		.ip6_src = ends->from,
		.ip6_dst = ends->to,
	};

	if (ends->family == AF_INET6) {
		memcpy(to, &ip6, sizeof(ip6));
		return sizeof(ip6);
	}
	memcpy(&ip.ip_src, &ends->from, sizeof(ip.ip_src));
	memcpy(&ip.ip_dst, &ends->to, sizeof(ip.ip_dst));
	ip.ip_sum = ~sum_fold(sum_add(0, &ip, sizeof(ip)));
	memcpy(to, &ip, sizeof(ip));
	return sizeof(ip);
}

/*
 * Writes a packet: headers, and @len bytes of @data. Returns its length, which is no more than
 * @len + WIRE_MAX_HEADERS. The caller knows that a link takes it.
 */
size_t wire_write(void *packet, const struct wire_ends *ends, const void *data, size_t len)
{
	uint16_t encap[2] = { htons(ends->family == AF_INET ? TYPE_IPV4 : TYPE_IPV6) };
	struct udphdr udp = {
		.uh_sport = ends->from_port,
		.uh_dport = ends->to_port,
		.uh_ulen = htons(sizeof(udp) + len),
	};
	uint8_t *at = packet;
	uint64_t sum;

	memcpy(at, encap, sizeof(encap));
	at += sizeof(encap);
	at += write_ip(at, ends, sizeof(udp) + len);
	if (len)
		memcpy(at + sizeof(udp), data, len);

	sum = sum_add(sum_pseudo(ends, sizeof(udp) + len), &udp, sizeof(udp));
	sum = sum_add(sum, at + sizeof(udp), len);
	udp.uh_sum = ~sum_fold(sum);
	/* Zero would say that there is none. */
	if (!udp.uh_sum)
		udp.uh_sum = 0xffff;
	memcpy(at, &udp, sizeof(udp));
	return at + sizeof(udp) + len - (uint8_t *)packet;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What two ends tell each other when they join: bytes in and out, and no state.
 */
#include <linux/in.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "joined/joined.h"
#include "sdp/credit.h"

static void sdp_joined_header(struct sdp_bsdh *h, u32 len, const struct sdp_joined_bufs *own)
{
	memset(h, 0, sizeof(*h));
	h->mid = SDP_MID_JOIN;
	h->bufs = cpu_to_be16(own->bufs);
	h->len = cpu_to_be32(len);
}

static bool sdp_joined_check(const void *pdata, unsigned int len, unsigned int least,
			     __be32 size, struct sdp_joined_bufs *peer)
{
	const struct sdp_bsdh *h = pdata;

	peer->bufs = be16_to_cpu(h->bufs);
	peer->size = be32_to_cpu(size);
	return h->mid == SDP_MID_JOIN && be32_to_cpu(h->len) == least &&
	       peer->bufs >= SDP_MIN_BUFS && peer->size >= SDP_MIN_RCV_SZ;
}

void sdp_joined_build_req(struct sdp_joined_req *req, const struct sdp_join *join,
			  const struct sdp_joined_bufs *own)
{
	BUILD_BUG_ON(sizeof(*req) > SDP_XPRT_REQ_PDATA);
	memset(req, 0, sizeof(*req));
	sdp_joined_header(&req->bsdh, sizeof(*req), own);
	req->highest = SDP_JOINED_VERSION;
	req->lowest = SDP_JOINED_VERSION;
	req->flags = join->only ? SDP_JOINED_F_ONLY : 0;
	req->from_port = join->from_port;
	req->to_port = join->to_port;
	req->size = cpu_to_be32(own->size);
	req->nonce = join->nonce;
	req->proof = join->proof;
	req->from = join->from;
	req->to = join->to;
}

static void sdp_joined_name(const struct sockaddr_storage *ss, struct in6_addr *addr)
{
	if (ss->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)ss)->sin_addr.s_addr, addr);
	else
		*addr = ((const struct sockaddr_in6 *)ss)->sin6_addr;
}

/*
 * @names: the addresses, if the bytes do not have them, or NULL.  @join gets no interface.
 * @version: is there a version that both know?  Returns false if it is no request.
 */
bool sdp_joined_parse_req(const void *pdata, unsigned int len,
			  const struct sdp_joined_names *names, struct sdp_join *join,
			  struct sdp_joined_bufs *peer, bool *version)
{
	const struct sdp_joined_req *req = pdata;

	if (len < (names ? SDP_JOINED_NAMED : sizeof(*req)) ||
	    !sdp_joined_check(pdata, len, sizeof(*req), req->size, peer))
		return false;
	memset(join, 0, sizeof(*join));
	if (names) {
		sdp_joined_name(names->from, &join->from);
		sdp_joined_name(names->to, &join->to);
	} else {
		join->from = req->from;
		join->to = req->to;
	}
	join->from_port = req->from_port;
	join->to_port = req->to_port;
	join->nonce = req->nonce;
	join->only = req->flags & SDP_JOINED_F_ONLY;
	join->terms = SDP_JOINED_TERMS(req->highest, req->lowest, peer->bufs, peer->size);
	join->proof = req->proof;
	*version = req->lowest <= SDP_JOINED_VERSION && req->highest >= SDP_JOINED_VERSION;
	return req->lowest <= req->highest &&
	       ipv6_addr_v4mapped(&join->from) == ipv6_addr_v4mapped(&join->to);
}

void sdp_joined_build_rep(struct sdp_joined_rep *rep, const struct sdp_join *answer,
			  const struct sdp_joined_bufs *own)
{
	BUILD_BUG_ON(sizeof(*rep) > SDP_XPRT_REP_PDATA);
	memset(rep, 0, sizeof(*rep));
	sdp_joined_header(&rep->bsdh, sizeof(*rep), own);
	rep->version = SDP_JOINED_VERSION;
	rep->size = cpu_to_be32(own->size);
	rep->nonce = answer->nonce;
	rep->proof = answer->proof;
}

/* Returns false if it is no answer to a request of this version.  The caller checks the proof. */
bool sdp_joined_parse_rep(const void *pdata, unsigned int len, const struct sdp_join *asked,
			  struct sdp_join *answer, struct sdp_joined_bufs *peer)
{
	const struct sdp_joined_rep *rep = pdata;

	if (len < sizeof(*rep) || !sdp_joined_check(pdata, len, sizeof(*rep), rep->size, peer))
		return false;
	memset(answer, 0, sizeof(*answer));
	answer->from = asked->to;
	answer->to = asked->from;
	answer->from_port = asked->to_port;
	answer->to_port = asked->from_port;
	answer->nonce = rep->nonce;
	answer->terms = SDP_JOINED_TERMS(rep->version, rep->version, peer->bufs, peer->size);
	answer->proof = rep->proof;
	return rep->version == SDP_JOINED_VERSION;
}

static void sdp_joined_addr(const struct in6_addr *addr, __be16 port,
			    struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (ipv6_addr_v4mapped(addr)) {
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = addr->s6_addr32[3];
		sin->sin_port = port;
	} else {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = *addr;
		sin6->sin6_port = port;
	}
}

/* Both ends of a connection, as the transports name them. */
void sdp_joined_addrs(const struct sdp_join *join, struct sockaddr_storage *from,
		      struct sockaddr_storage *to)
{
	sdp_joined_addr(&join->from, join->from_port, from);
	sdp_joined_addr(&join->to, join->to_port, to);
}

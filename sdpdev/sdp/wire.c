// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of the Sockets Direct Protocol: reading and writing their headers.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "compat.h"
#include "sdp/credit.h"
#include "sdp/wire.h"
#include "transport/transport.h"

struct sdp_kind {
	u8 ext;			/* bytes of the extended header */
	bool payload;		/* stream bytes may follow */
	bool known;
};

static const struct sdp_kind sdp_kinds[256] = {
	[SDP_MID_HELLO]			= { .ext = 48, .payload = true, .known = true },
	[SDP_MID_HELLO_ACK]		= { .ext = 8, .payload = true, .known = true },
	[SDP_MID_DISCONN]		= { .known = true },
	[SDP_MID_ABORT_CONN]		= { .known = true },
	[SDP_MID_SEND_SM]		= { .known = true },
	[SDP_MID_RDMA_WR_COMPL]		= { .ext = 4, .known = true },
	[SDP_MID_RDMA_RD_COMPL]		= { .ext = 4, .known = true },
	[SDP_MID_MODE_CHANGE]		= { .ext = 4, .known = true },
	[SDP_MID_SRC_AVAIL_CANCEL]	= { .known = true },
	[SDP_MID_SINK_AVAIL_CANCEL]	= { .known = true },
	[SDP_MID_SINK_CANCEL_ACK]	= { .known = true },
	[SDP_MID_CH_RCV_BUF]		= { .ext = 4, .known = true },
	[SDP_MID_CH_RCV_BUF_ACK]	= { .ext = 4, .known = true },
	[SDP_MID_SUSP_COMM]		= { .ext = 8, .known = true },
	[SDP_MID_SUSP_COMM_ACK]		= { .known = true },
	[SDP_MID_SINK_AVAIL]		= { .ext = 20, .payload = true, .known = true },
	[SDP_MID_SRC_AVAIL]		= { .ext = 16, .payload = true, .known = true },
	[SDP_MID_DATA]			= { .payload = true, .known = true },
};

/* Both kinds of advertisements begin alike. */
static enum sdp_bad sdp_parse_avail(const u8 *ext, struct sdp_pdu *pdu)
{
	static_assert(offsetof(struct sdp_srcah, key) == offsetof(struct sdp_sinkah, key));
	static_assert(offsetof(struct sdp_srcah, addr) == offsetof(struct sdp_sinkah, addr));

	pdu->avail = get_unaligned_be32(ext);
	pdu->key = get_unaligned_be32(ext + offsetof(struct sdp_sinkah, key));
	pdu->addr = get_unaligned_be64(ext + offsetof(struct sdp_sinkah, addr));
	if (pdu->mid == SDP_MID_SINK_AVAIL)
		pdu->nondiscards = get_unaligned_be32(ext + offsetof(struct sdp_sinkah,
								     nondiscards));
	/* What comes along with SrcAvail is the beginning of what is advertised. */
	else if (pdu->payload > pdu->avail)
		return SDP_BAD_FIELD;
	return pdu->avail ? SDP_BAD_NOTHING : SDP_BAD_FIELD;
}

/*
 * Takes a message of an established connection apart (A4.3).  @pdu is valid only if the result is
 * SDP_BAD_NOTHING.
 */
enum sdp_bad sdp_parse(const void *data, u32 len, struct sdp_pdu *pdu)
{
	const struct sdp_bsdh *h = data;
	const u8 *ext = data + sizeof(*h);
	const struct sdp_kind *kind;

	if (len < sizeof(*h))
		return SDP_BAD_SHORT;
	if (be32_to_cpu(h->len) != len)
		return SDP_BAD_LEN;
	kind = &sdp_kinds[h->mid];
	if (!kind->known)
		return SDP_BAD_MID;

	pdu->off = sizeof(*h) + kind->ext;
	if (len < pdu->off)
		return SDP_BAD_SHORT;
	pdu->payload = len - pdu->off;
	if (pdu->payload && !kind->payload)
		return SDP_BAD_LEN;

	pdu->mid = h->mid;
	pdu->bufs = be16_to_cpu(h->bufs);
	pdu->mseq = be32_to_cpu(h->mseq);
	pdu->mseq_ack = be32_to_cpu(h->mseq_ack);
	pdu->oob_pres = h->flags & SDP_OOB_PRES;
	pdu->oob_pend = h->flags & SDP_OOB_PEND;
	if (pdu->oob_pres && !pdu->payload)
		return SDP_BAD_FIELD;

	switch (h->mid) {
	case SDP_MID_MODE_CHANGE:
		pdu->mode = (ext[0] >> 4) & 7;
		pdu->mode_of_receiver = ext[0] & 0x80;
		if (pdu->mode > SDP_MODE_PIPELINED)
			return SDP_BAD_FIELD;
		break;
	case SDP_MID_RDMA_RD_COMPL:
	case SDP_MID_RDMA_WR_COMPL:
		pdu->avail = get_unaligned_be32(ext);
		break;
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
		return sdp_parse_avail(ext, pdu);
	}
	return SDP_BAD_NOTHING;
}

/* The parts that Hello and HelloAck share; @min as the kind has it. */
static enum sdp_bad sdp_parse_cm(const void *data, unsigned int len, u8 mid,
				 unsigned int min)
{
	const struct sdp_bsdh *h = data;
	u32 msg_len;

	if (len < min)
		return SDP_BAD_SHORT;
	/* A transport may hand up padding behind the message. */
	msg_len = be32_to_cpu(h->len);
	if (msg_len < min || msg_len > len)
		return SDP_BAD_LEN;
	if (h->mid != mid)
		return SDP_BAD_TURN;
	return SDP_BAD_NOTHING;
}

static enum sdp_bad sdp_check_sizes(const struct sdp_hello *hello)
{
	if (hello->rcv_sz < SDP_MIN_RCV_SZ || hello->bufs <= SDP_KEPT_CREDITS)
		return SDP_BAD_SIZES;
	return SDP_BAD_NOTHING;
}

static void sdp_get_addr(struct sockaddr_storage *ss, bool v6, const u8 *ip,
			 __be16 port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (v6) {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = port;
		memcpy(&sin6->sin6_addr, ip, sizeof(sin6->sin6_addr));
	} else {
		sin->sin_family = AF_INET;
		sin->sin_port = port;
		memcpy(&sin->sin_addr, ip + 12, sizeof(sin->sin_addr));
	}
}

/* A peer can neither have nor call an address that names no single host. */
static bool sdp_addr_is_host(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)ss;

	if (ss->ss_family == AF_INET6)
		return !(ipv6_addr_type(&sin6->sin6_addr) &
			 (IPV6_ADDR_MULTICAST | IPV6_ADDR_MAPPED)) &&
		       !ipv6_addr_any(&sin6->sin6_addr);
	return !ipv4_is_multicast(sin->sin_addr.s_addr) &&
	       !ipv4_is_zeronet(sin->sin_addr.s_addr) &&
	       !ipv4_is_lbcast(sin->sin_addr.s_addr);
}

/* Reads the private data of a connection request (A4.3.3). */
enum sdp_bad sdp_parse_hello(const void *data, unsigned int len,
			     struct sdp_hello *hello)
{
	const struct sdp_hh *hh = data;
	enum sdp_bad bad;
	u8 ipv;

	bad = sdp_parse_cm(data, len, SDP_MID_HELLO, SDP_HH_MIN);
	if (bad)
		return bad;
	if (SDP_VERSION_MAJOR(hh->version) != SDP_VERSION_MAJOR(SDP_VERSION))
		return SDP_BAD_VERSION;
	ipv = hh->ipv_cap >> 4;
	if (ipv != 4 && ipv != 6)
		return SDP_BAD_ADDR;
	sdp_get_addr(&hello->src, ipv == 6, hh->src, hh->local_port);
	sdp_get_addr(&hello->dst, ipv == 6, hh->dst, 0);
	if (!hh->local_port || !sdp_addr_is_host(&hello->src) ||
	    !sdp_addr_is_host(&hello->dst))
		return SDP_BAD_ADDR;
	if (be32_to_cpu(hh->bsdh.mseq) != 0)
		return SDP_BAD_MSEQ;

	hello->bufs = be16_to_cpu(hh->bsdh.bufs);
	hello->rcv_sz = be32_to_cpu(hh->local_rcv_sz);
	hello->adverts = hh->max_adverts;
	return sdp_check_sizes(hello);
}

/* Reads the private data of an acceptance (A4.3.4); no addresses. */
enum sdp_bad sdp_parse_hello_ack(const void *data, unsigned int len,
				 struct sdp_hello *hello)
{
	const struct sdp_hah *hah = data;
	enum sdp_bad bad;

	bad = sdp_parse_cm(data, len, SDP_MID_HELLO_ACK, sizeof(*hah));
	if (bad)
		return bad;
	if (SDP_VERSION_MAJOR(hah->version) != SDP_VERSION_MAJOR(SDP_VERSION))
		return SDP_BAD_VERSION;
	if (be32_to_cpu(hah->bsdh.mseq) != 0)
		return SDP_BAD_MSEQ;
	if (be32_to_cpu(hah->bsdh.mseq_ack) != 0)
		return SDP_BAD_MSEQ_ACK;

	hello->bufs = be16_to_cpu(hah->bsdh.bufs);
	hello->rcv_sz = be32_to_cpu(hah->act_rcv_sz);
	hello->adverts = hah->max_adverts;
	return sdp_check_sizes(hello);
}

static void sdp_put_addr(u8 *ip, const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)ss;

	if (ss->ss_family == AF_INET6)
		memcpy(ip, &sin6->sin6_addr, sizeof(sin6->sin6_addr));
	else
		memcpy(ip + 12, &sin->sin_addr, sizeof(sin->sin_addr));
}

/* IPv4 addresses must not be in their IPv6 form. */
void sdp_build_hello(struct sdp_hh *hh, const struct sdp_hello *hello)
{
	const struct sockaddr_in *src = (const struct sockaddr_in *)&hello->src;

	static_assert(offsetof(struct sdp_hh, rsvd3) == SDP_HH_MIN);
	static_assert(sizeof(struct sdp_hh) == SDP_XPRT_REQ_PDATA);

	memset(hh, 0, sizeof(*hh));
	hh->bsdh.mid = SDP_MID_HELLO;
	hh->bsdh.bufs = cpu_to_be16(hello->bufs);
	hh->bsdh.len = cpu_to_be32(sizeof(*hh));
	hh->version = SDP_VERSION;
	hh->ipv_cap = src->sin_family == AF_INET6 ? 0x60 : 0x40;
	hh->max_adverts = hello->adverts;
	hh->des_rem_rcv_sz = cpu_to_be32(hello->rcv_sz);
	hh->local_rcv_sz = cpu_to_be32(hello->rcv_sz);
	/* sin_port and sin6_port are at the same place. */
	hh->local_port = src->sin_port;
	sdp_put_addr(hh->src, &hello->src);
	sdp_put_addr(hh->dst, &hello->dst);
}

void sdp_build_hello_ack(struct sdp_hah *hah, const struct sdp_hello *hello)
{
	memset(hah, 0, sizeof(*hah));
	hah->bsdh.mid = SDP_MID_HELLO_ACK;
	hah->bsdh.bufs = cpu_to_be16(hello->bufs);
	hah->bsdh.len = cpu_to_be32(sizeof(*hah));
	hah->version = SDP_VERSION;
	hah->max_adverts = hello->adverts;
	hah->act_rcv_sz = cpu_to_be32(hello->rcv_sz);
}

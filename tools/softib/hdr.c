// SPDX-License-Identifier: GPL-2.0
/*
 * Building and parsing of packets
 */
#include "softib.h"

/* Link version, which must be 0, and link next header in the first halfword */
#define LRH_VERSION_LNH	(IB_LVER_MASK << IB_LVER_SHIFT | IB_LNH_MASK)

#define RETH	sizeof(struct ib_reth)
#define ATOMIC	sizeof(struct ib_atomic_eth)
#define DETH	IB_DETH_BYTES
#define IMM	4	/* ImmDt and IETH */
#define AETH	4
#define AACK	8	/* AtomicAckETH */

/* Extended transport headers by operation, IBA table 38; + 1 marks an
 * operation that exists. Sends and writes are the same for RC and UC.
 */
static const u8 eth_len[] = {
	[IB_OPCODE_SEND_FIRST] = 1,
	[IB_OPCODE_SEND_MIDDLE] = 1,
	[IB_OPCODE_SEND_LAST] = 1,
	[IB_OPCODE_SEND_LAST_WITH_IMMEDIATE] = 1 + IMM,
	[IB_OPCODE_SEND_ONLY] = 1,
	[IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE] = 1 + IMM,
	[IB_OPCODE_RDMA_WRITE_FIRST] = 1 + RETH,
	[IB_OPCODE_RDMA_WRITE_MIDDLE] = 1,
	[IB_OPCODE_RDMA_WRITE_LAST] = 1,
	[IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE] = 1 + IMM,
	[IB_OPCODE_RDMA_WRITE_ONLY] = 1 + RETH,
	[IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE] = 1 + RETH + IMM,
	[IB_OPCODE_RDMA_READ_REQUEST] = 1 + RETH,
	[IB_OPCODE_RDMA_READ_RESPONSE_FIRST] = 1 + AETH,
	[IB_OPCODE_RDMA_READ_RESPONSE_MIDDLE] = 1,
	[IB_OPCODE_RDMA_READ_RESPONSE_LAST] = 1 + AETH,
	[IB_OPCODE_RDMA_READ_RESPONSE_ONLY] = 1 + AETH,
	[IB_OPCODE_ACKNOWLEDGE] = 1 + AETH,
	[IB_OPCODE_ATOMIC_ACKNOWLEDGE] = 1 + AETH + AACK,
	[IB_OPCODE_COMPARE_SWAP] = 1 + ATOMIC,
	[IB_OPCODE_FETCH_ADD] = 1 + ATOMIC,
	[IB_OPCODE_SEND_LAST_WITH_INVALIDATE] = 1 + IMM,
	[IB_OPCODE_SEND_ONLY_WITH_INVALIDATE] = 1 + IMM,
};

/**
 * softib_eth_len - length of the extended transport headers (IBA 9.3)
 * @opcode:	BTH opcode
 *
 * Return: the length, or -EPROTO for an opcode that is not spoken here.
 */
int softib_eth_len(u8 opcode)
{
	u8 op = opcode & ~RVT_OPCODE_QP_MASK;

	switch (opcode & RVT_OPCODE_QP_MASK) {
	case IB_OPCODE_UD:
		if (op == IB_OPCODE_SEND_ONLY)
			return DETH;
		if (op == IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE)
			return DETH + IMM;
		return -EPROTO;
	case IB_OPCODE_UC:
		if (op > IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE)
			return -EPROTO;
		fallthrough;
	case IB_OPCODE_RC:
		return op < ARRAY_SIZE(eth_len) ? eth_len[op] - 1 : -EPROTO;
	default:
		return -EPROTO;
	}
}

/* IBA 8.3; what is behind the GRH must be @paylen bytes of an IBA packet. */
static bool grh_ok(const struct ib_grh *grh, u32 paylen)
{
	u32 version = be32_to_cpu(grh->version_tclass_flow);

	return version >> IB_GRH_VERSION_SHIFT == IB_GRH_VERSION &&
	       grh->next_hdr == IB_GRH_NEXT_HDR &&
	       be16_to_cpu(grh->paylen) == paylen;
}

/**
 * softib_pkt_parse - check a packet and find its parts
 * @skb:	the packet, LRH first; unchanged
 * @pkt:	is filled in
 *
 * Checks what IBA 7.8, 8.3 and 9.6.1 let a receiver check without knowing the
 * QP: lengths, versions, next headers and the opcode. @pkt points into @skb.
 *
 * Return: true if the packet is well formed.
 */
bool softib_pkt_parse(struct sk_buff *skb, struct softib_pkt *pkt)
{
	u8 *p = skb->data, *end;
	u32 bth0, words;
	int eth;

	if (skb_headlen(skb) < IB_LRH_BYTES)
		return false;
	pkt->lrh = (const __be16 *)p;
	words = softib_words(skb);
	if (words * 4 + SOFTIB_VCRC_BYTES != skb_headlen(skb) ||
	    words * 4 < IB_LRH_BYTES + SOFTIB_ICRC_BYTES)
		return false;
	end = p + words * 4 - SOFTIB_ICRC_BYTES;
	pkt->sl = (be16_to_cpu(pkt->lrh[0]) >> IB_SL_SHIFT) & IB_SL_MASK;
	pkt->dlid = be16_to_cpu(pkt->lrh[1]);
	pkt->slid = be16_to_cpu(pkt->lrh[3]);
	p += IB_LRH_BYTES;

	pkt->grh = NULL;
	switch (be16_to_cpu(pkt->lrh[0]) & LRH_VERSION_LNH) {
	case IB_LNH_IBA_LOCAL:
		break;
	case IB_LNH_IBA_GLOBAL:
		pkt->grh = (const struct ib_grh *)p;
		p += sizeof(*pkt->grh);
		if (p > end || !grh_ok(pkt->grh, end + SOFTIB_ICRC_BYTES - p))
			return false;
		break;
	default:
		return false;
	}

	pkt->bth = (struct ib_other_headers *)p;
	p += IB_BTH_BYTES;
	if (p > end)
		return false;
	bth0 = be32_to_cpu(pkt->bth->bth[0]);
	pkt->opcode = bth0 >> IB_BTH_OPCODE_SHIFT;
	pkt->qpn = be32_to_cpu(pkt->bth->bth[1]) & IB_QPN_MASK;
	pkt->psn = be32_to_cpu(pkt->bth->bth[2]) & SOFTIB_PSN_MASK;
	eth = softib_eth_len(pkt->opcode);
	if (eth < 0 || (bth0 >> IB_BTH_TVER_SHIFT) & IB_BTH_TVER_MASK)
		return false;

	pkt->payload = p + eth;
	end -= (bth0 >> IB_BTH_PAD_SHIFT) & IB_BTH_PAD_MASK;
	if ((u8 *)pkt->payload > end)
		return false;
	pkt->len = end - (u8 *)pkt->payload;
	return pkt->len <= SOFTIB_MAX_MTU;
}

static void put_grh(struct sk_buff *skb, struct softib_hca *hca,
		    const struct rdma_ah_attr *ah, u32 paylen)
{
	const struct ib_global_route *route = rdma_ah_read_grh(ah);
	struct softib_port *port = softib_hca_port(hca);
	struct ib_grh *grh = skb_put(skb, sizeof(*grh));

	grh->version_tclass_flow =
		cpu_to_be32(IB_GRH_VERSION << IB_GRH_VERSION_SHIFT |
			    route->traffic_class << IB_GRH_TCLASS_SHIFT |
			    (route->flow_label & IB_GRH_FLOW_MASK));
	grh->paylen = cpu_to_be16(paylen);
	grh->next_hdr = IB_GRH_NEXT_HDR;
	grh->hop_limit = route->hop_limit;
	grh->sgid.global.subnet_prefix = READ_ONCE(hca->ibp.gid_prefix);
	grh->sgid.global.interface_id =
		READ_ONCE(port->guids[route->sgid_index % SOFTIB_NGUIDS]);
	grh->dgid = route->dgid;
}

static void put_payload(struct sk_buff *skb, struct rvt_sge_state *ss, u32 len,
			bool release)
{
	while (len) {
		u32 n = rvt_get_sge_length(&ss->sge, len);

		skb_put_data(skb, ss->sge.vaddr, n);
		rvt_update_sge(ss, n, release);
		len -= n;
	}
}

/**
 * softib_pkt_build - build a packet
 * @hca:	the HCA that sends it and is charged for it
 * @hdrs:	what its headers are to say
 * @ss:		where the payload comes from; advanced past it
 * @len:	length of that part of the payload
 * @release:	drop the references of the memory regions that are used up
 *
 * @ss advances even if there is no memory for the packet, which then counts as
 * lost on the wire.
 *
 * Return: the packet, or NULL.
 */
struct sk_buff *softib_pkt_build(struct softib_hca *hca,
				 const struct softib_hdrs *hdrs,
				 struct rvt_sge_state *ss, u32 len,
				 bool release)
{
	bool global = rdma_ah_get_ah_flags(hdrs->ah) & IB_AH_GRH;
	u32 eth = softib_eth_len(hdrs->opcode);
	u32 data = hdrs->head_len + len, pad = -data & 3;
	u32 paylen = IB_BTH_BYTES + eth + data + pad + SOFTIB_ICRC_BYTES;
	u32 total = IB_LRH_BYTES + (global ? IB_GRH_BYTES : 0) + paylen;
	struct sk_buff *skb;
	__be32 *bth;
	__be16 *lrh;

	skb = softib_alloc(total + SOFTIB_VCRC_BYTES);
	if (!skb) {
		hca->ibp.n_pkt_drops++;
		if (len)
			rvt_skip_sge(ss, len, release);
		return NULL;
	}

	lrh = skb_put(skb, IB_LRH_BYTES);
	lrh[0] = cpu_to_be16(hdrs->vl << 12 |
			     rdma_ah_get_sl(hdrs->ah) << IB_SL_SHIFT |
			     (global ? IB_LNH_IBA_GLOBAL : IB_LNH_IBA_LOCAL));
	lrh[1] = cpu_to_be16(rdma_ah_get_dlid(hdrs->ah));
	lrh[2] = cpu_to_be16(total / 4);
	lrh[3] = cpu_to_be16(hdrs->slid);
	if (global)
		put_grh(skb, hca, hdrs->ah, paylen);

	bth = skb_put(skb, IB_BTH_BYTES);
	bth[0] = cpu_to_be32(hdrs->opcode << IB_BTH_OPCODE_SHIFT |
			     hdrs->flags | pad << IB_BTH_PAD_SHIFT |
			     hdrs->pkey);
	bth[1] = cpu_to_be32(hdrs->qpn);
	bth[2] = cpu_to_be32(hdrs->psn & (IB_BTH_REQ_ACK | SOFTIB_PSN_MASK));
	skb_put_data(skb, &hdrs->eth, eth);
	if (hdrs->head_len)
		skb_put_data(skb, hdrs->head, hdrs->head_len);
	if (len)
		put_payload(skb, ss, len, release);
	skb_put_zero(skb, pad + SOFTIB_ICRC_BYTES + SOFTIB_VCRC_BYTES);

	softib_hca_charge(hca, skb);
	return skb;
}

/**
 * softib_pkt_payload - find the payload of a packet just built
 * @skb:	the packet
 * @len:	length of the payload
 *
 * Return: where it begins.
 */
void *softib_pkt_payload(struct sk_buff *skb, u32 len)
{
	return skb_tail_pointer(skb) - SOFTIB_VCRC_BYTES - SOFTIB_ICRC_BYTES -
	       ALIGN(len, 4);
}

/**
 * softib_pkt_reverse - turn a UD packet into one to its sender
 * @skb:	the packet; its data must be writable
 * @pkt:	what softib_pkt_parse() said about it; not valid any more
 *
 * Addresses are exchanged in the LRH, the GRH and between BTH and DETH; the
 * payload is left as it is.
 */
void softib_pkt_reverse(struct sk_buff *skb, struct softib_pkt *pkt)
{
	__be32 *deth = pkt->bth->u.ud.deth;
	__be16 *lrh = (__be16 *)skb->data;

	softib_cb(skb)->captured = false;
	swap(lrh[1], lrh[3]);
	if (pkt->grh) {
		struct ib_grh *grh = (struct ib_grh *)pkt->grh;

		swap(grh->sgid, grh->dgid);
	}
	pkt->bth->bth[1] = deth[1] & cpu_to_be32(IB_QPN_MASK);
	deth[1] = cpu_to_be32(pkt->qpn);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of packets: parsing, and turning them round
 */
#include <rdma/rdma_vt.h>
#include <rdma/rdmavt_qp.h>

#include "hdr.h"

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

/*
 * Length of the extended transport headers (IBA 9.3), or -EPROTO for an opcode that is not spoken
 * here.
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

/*
 * Checks what IBA 7.8, 8.3 and 9.6.1 let a receiver check without knowing the QP: lengths,
 * versions, next headers and the opcode. @pkt then points into @skb, which begins with the LRH and
 * is unchanged.
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

/*
 * Makes a UD packet one to its sender: exchanges addresses in the LRH, the GRH and between BTH and
 * DETH, and leaves the payload as it is. The data must be writable. @pkt is not valid any more.
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

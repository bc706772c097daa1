// SPDX-License-Identifier: GPL-2.0
/*
 * Building of packets
 */
#include "softib.h"

/*
 * Fills in the headers of a packet to the connection's other end, but for opcode and extended
 * headers.
 */
void softib_conn_hdrs(struct rvt_qp *qp, struct softib_hdrs *hdrs, u32 psn)
{
	struct softib_port *port = softib_hca_port(qp_to_hca(qp));

	*hdrs = (struct softib_hdrs) {
		.ah = &qp->remote_ah_attr,
		.slid = softib_source_lid(port, &qp->remote_ah_attr),
		.pkey = READ_ONCE(port->pkeys[qp->s_pkey_index]),
		.flags = qp->s_mig_state == IB_MIG_MIGRATED ?
			 IB_BTH_MIG_REQ : 0,
		.qpn = qp->remote_qpn,
		.psn = psn & SOFTIB_PSN_MASK,
	};
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

/*
 * Builds a packet, for which @hca is charged. @ss advances by @len bytes even if there is no memory
 * for the packet (NULL), which then counts as lost on the wire. @release: drop the references of
 * the memory regions that are used up.
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

/* Where the payload of a packet begins that was just built. */
void *softib_pkt_payload(struct sk_buff *skb, u32 len)
{
	return skb_tail_pointer(skb) - SOFTIB_VCRC_BYTES - SOFTIB_ICRC_BYTES -
	       ALIGN(len, 4);
}

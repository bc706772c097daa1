// SPDX-License-Identifier: GPL-2.0
/*
 * An HCA's agents, which answer subnet management and performance management
 *
 * They look at what arrives before ib_mad does, as an adapter's firmware would: they answer
 * also while the kernel has no QP0 and QP1, as when the HCA moves to another network
 * namespace. ib_mad then has no part in it: its own way to send an agent's answer,
 * agent_send_response(), holds no reference to what ib_agent_port_close() frees.
 */
#include <rdma/ib_pma.h>

#include "softib.h"

/*
 * Copies the MAD in a packet for QP @qpn, and makes the packet writable, so that the copy can be
 * put back. @pkt is what softib_pkt_parse() says then. Returns false if there is no proper MAD.
 */
bool softib_get_mad(struct sk_buff *skb, struct softib_pkt *pkt, u32 qpn, void *mad)
{
	if (skb_ensure_writable(skb, skb->len) || !softib_pkt_parse(skb, pkt) ||
	    pkt->opcode != IB_OPCODE_UD_SEND_ONLY || pkt->qpn != qpn ||
	    pkt->len != IB_MGMT_MAD_SIZE)
		return false;
	memcpy(mad, pkt->payload, IB_MGMT_MAD_SIZE);
	return true;
}

/* A directed route that ends at an HCA, C14-9; the sender of the SMP has moved the hop
 * pointer on. The way back begins with the port that the SMP came in by, C14-13.
 */
static enum softib_sma_result answer_dr(struct softib_port *port, struct ib_smp *smp)
{
	if (ib_get_smp_direction(smp))
		return SOFTIB_SMA_PASS;
	if (smp->dr_slid != IB_LID_PERMISSIVE || smp->dr_dlid != IB_LID_PERMISSIVE ||
	    !smp->hop_cnt || smp->hop_cnt >= IB_SMP_MAX_PATH_HOPS ||
	    smp->hop_ptr != smp->hop_cnt)
		return SOFTIB_SMA_DROP;
	smp->return_path[smp->hop_ptr] = port->num;
	return softib_sma(port, smp);
}

static enum softib_sma_result answer_smp(struct softib_port *port, struct ib_smp *smp)
{
	switch (smp->mgmt_class) {
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
		return answer_dr(port, smp);
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
		return softib_sma(port, smp);
	default:
		return SOFTIB_SMA_PASS;
	}
}

/* Wrong keys are for QP1 to count. The answer is in a partition that the asker can hear:
 * its key may be that of a limited member.
 */
static enum softib_sma_result answer_pma(struct softib_port *port, struct softib_pkt *pkt,
					 struct ib_pma_mad *mad)
{
	int index = softib_find_pkey(port, ib_bth_get_pkey(pkt->bth));

	if (index < 0 || ib_get_qkey(pkt->bth) != IB_QP1_QKEY || !softib_pma(port, mad))
		return SOFTIB_SMA_PASS;
	pkt->bth->bth[0] &= ~cpu_to_be32(IB_BTH_PKEY_MASK);
	pkt->bth->bth[0] |= cpu_to_be32(READ_ONCE(port->pkeys[index]));
	return SOFTIB_SMA_REPLY;
}

/* QP1 has users of its own, and they judge what is theirs. */
static bool is_agents(const struct softib_pkt *pkt)
{
	const struct ib_mad_hdr *hdr = pkt->payload;

	return !pkt->qpn || (pkt->len == IB_MGMT_MAD_SIZE &&
			     hdr->mgmt_class == IB_MGMT_CLASS_PERF_MGMT);
}

static noinline_for_stack enum softib_sma_result
answer(struct softib_port *port, struct sk_buff *skb, struct softib_pkt *pkt)
{
	union {
		struct ib_smp smp;
		struct ib_pma_mad pma;
	} mad;
	enum softib_sma_result result;

	if (!softib_get_mad(skb, pkt, pkt->qpn, &mad))
		return SOFTIB_SMA_DROP;
	result = pkt->qpn ? answer_pma(port, pkt, &mad.pma) : answer_smp(port, &mad.smp);
	if (result != SOFTIB_SMA_REPLY)
		return result;
	memcpy(pkt->payload, &mad, sizeof(mad));
	softib_pkt_reverse(skb, pkt);
	softib_cb(skb)->hops = 0;
	return result;
}

/*
 * Gives an HCA's agents the first look at a packet for QP0 or QP1. Called with bottom halves
 * disabled. Returns true if it was their business; @skb is NULL then if they have sent it back as
 * an answer. Returns false if it is the QP's; @pkt has changed then if the data is elsewhere.
 */
bool softib_mad_receive(struct softib_hca *hca, struct sk_buff **skb,
			struct softib_pkt *pkt)
{
	if (!is_agents(pkt))
		return false;
	switch (answer(softib_hca_port(hca), *skb, pkt)) {
	case SOFTIB_SMA_REPLY:
		softib_hca_send(hca, *skb);
		*skb = NULL;
		return true;
	case SOFTIB_SMA_DROP:
		hca->ibp.n_pkt_drops++;
		return true;
	default:
		return false;
	}
}

static int process_smp(struct softib_port *port, struct ib_smp *smp)
{
	switch (softib_sma(port, smp)) {
	case SOFTIB_SMA_REPLY:
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	case SOFTIB_SMA_DROP:
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}

/*
 * Gives an HCA's agents the first look at a MAD of the HCA's own, whose directed route has been
 * dealt with. Such a MAD never leaves the HCA: it has a directed route without hops, or reads the
 * counters for sysfs. Of what came from elsewhere, ib_mad gets what the agents have let pass.
 * Unlike elsewhere, M_Keys are checked whatever @flags say.
 */
int softib_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		       const struct ib_wc *wc, const struct ib_grh *grh,
		       const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey_index)
{
	struct softib_port *port = softib_hca_port(to_softib_hca(ibdev));

	switch (in->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
		*out = *in;
		return process_smp(port, (struct ib_smp *)out);
	case IB_MGMT_CLASS_PERF_MGMT:
		*out = *in;
		if (softib_pma(port, (struct ib_pma_mad *)out))
			return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
		return IB_MAD_RESULT_SUCCESS;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The performance management agent of a node (IBA 16.1)
 */
#include <rdma/ib_pma.h>

#include "softib.h"

#define PMA_CLASS_VERSION	1
#define PMA_RESP_TIME		18	/* 4.096 us * 2^18, about a second */

#define BAD_VERSION	IB_MGMT_MAD_STATUS_BAD_VERSION
#define BAD_ATTR	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB
#define BAD_FIELD	IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE

/* Counters are selected by bits, in the order of the attribute's components. */
static const s8 select[16] = {
	-1, -1,
	SOFTIB_LINK_DOWNED,
	SOFTIB_RCV_ERRORS,
	-1,
	SOFTIB_RELAY_ERRORS,
	SOFTIB_XMIT_DISCARDS,
	-1, -1, -1, -1,
	SOFTIB_VL15_DROPPED,
	SOFTIB_XMIT_DATA,
	SOFTIB_RCV_DATA,
	SOFTIB_XMIT_PKTS,
	SOFTIB_RCV_PKTS,
};

static const s8 select_ext[16] = {
	SOFTIB_XMIT_DATA,
	SOFTIB_RCV_DATA,
	SOFTIB_XMIT_PKTS,
	SOFTIB_RCV_PKTS,
	SOFTIB_UCAST_XMIT_PKTS,
	SOFTIB_UCAST_RCV_PKTS,
	SOFTIB_MCAST_XMIT_PKTS,
	SOFTIB_MCAST_RCV_PKTS,
	-1, -1, -1, -1, -1, -1, -1, -1,
};

static struct softib_port *select_port(struct softib_port *port, u8 num)
{
	struct softib_node *node = port->node;

	if (num > node->nports || (!num && !softib_is_switch(node)))
		return NULL;
	return &node->ports[num];
}

static void clear_counters(struct softib_port *port, const s8 *table, u16 mask)
{
	struct softib_counters sum;
	unsigned long flags;
	int i;

	softib_port_counters(port, &sum);
	spin_lock_irqsave(&softib_mgmt_lock, flags);
	for (i = 0; i < 16; i++)
		if (mask & BIT(i) && table[i] >= 0)
			port->base.c[table[i]] = sum.c[table[i]];
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
}

static void read_counters(struct softib_port *port, struct softib_counters *sum)
{
	unsigned long flags;
	int i;

	softib_port_counters(port, sum);
	spin_lock_irqsave(&softib_mgmt_lock, flags);
	for (i = 0; i < SOFTIB_NCOUNTERS; i++)
		sum->c[i] -= port->base.c[i];
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
}

/* The counters of PortCounters stop at their highest value (16.1.3.5). */
static u32 clamp_to(u64 value, u32 max)
{
	return min_t(u64, value, max);
}

static u16 port_counters(struct softib_port *port, struct ib_pma_mad *mad)
{
	struct ib_pma_portcounters *p = (struct ib_pma_portcounters *)mad->data;
	struct softib_port *target = select_port(port, p->port_select);
	u16 mask = be16_to_cpu(p->counter_select);
	u8 num = p->port_select;
	struct softib_counters c;

	if (!target)
		return BAD_FIELD;
	if (mad->mad_hdr.method == IB_MGMT_METHOD_SET)
		clear_counters(target, select, mask);
	read_counters(target, &c);
	memset(mad->data, 0, sizeof(mad->data));
	p->port_select = num;
	p->link_downed_counter = clamp_to(c.c[SOFTIB_LINK_DOWNED], U8_MAX);
	p->port_rcv_errors =
		cpu_to_be16(clamp_to(c.c[SOFTIB_RCV_ERRORS], U16_MAX));
	p->port_rcv_switch_relay_errors =
		cpu_to_be16(clamp_to(c.c[SOFTIB_RELAY_ERRORS], U16_MAX));
	p->port_xmit_discards =
		cpu_to_be16(clamp_to(c.c[SOFTIB_XMIT_DISCARDS], U16_MAX));
	p->vl15_dropped =
		cpu_to_be16(clamp_to(c.c[SOFTIB_VL15_DROPPED], U16_MAX));
	p->port_xmit_data =
		cpu_to_be32(clamp_to(c.c[SOFTIB_XMIT_DATA], U32_MAX));
	p->port_rcv_data =
		cpu_to_be32(clamp_to(c.c[SOFTIB_RCV_DATA], U32_MAX));
	p->port_xmit_packets =
		cpu_to_be32(clamp_to(c.c[SOFTIB_XMIT_PKTS], U32_MAX));
	p->port_rcv_packets =
		cpu_to_be32(clamp_to(c.c[SOFTIB_RCV_PKTS], U32_MAX));
	return 0;
}

static u16 port_counters_ext(struct softib_port *port, struct ib_pma_mad *mad)
{
	struct ib_pma_portcounters_ext *p = (void *)mad->data;
	struct softib_port *target = select_port(port, p->port_select);
	u16 mask = be16_to_cpu(p->counter_select);
	u8 num = p->port_select;
	struct softib_counters c;

	if (!target)
		return BAD_FIELD;
	if (mad->mad_hdr.method == IB_MGMT_METHOD_SET)
		clear_counters(target, select_ext, mask);
	read_counters(target, &c);
	memset(mad->data, 0, sizeof(mad->data));
	p->port_select = num;
	p->port_xmit_data = cpu_to_be64(c.c[SOFTIB_XMIT_DATA]);
	p->port_rcv_data = cpu_to_be64(c.c[SOFTIB_RCV_DATA]);
	p->port_xmit_packets = cpu_to_be64(c.c[SOFTIB_XMIT_PKTS]);
	p->port_rcv_packets = cpu_to_be64(c.c[SOFTIB_RCV_PKTS]);
	p->port_unicast_xmit_packets =
		cpu_to_be64(c.c[SOFTIB_UCAST_XMIT_PKTS]);
	p->port_unicast_rcv_packets = cpu_to_be64(c.c[SOFTIB_UCAST_RCV_PKTS]);
	p->port_multicast_xmit_packets =
		cpu_to_be64(c.c[SOFTIB_MCAST_XMIT_PKTS]);
	p->port_multicast_rcv_packets = cpu_to_be64(c.c[SOFTIB_MCAST_RCV_PKTS]);
	return 0;
}

static u16 class_port_info(struct ib_pma_mad *mad)
{
	struct ib_class_port_info *info = (void *)mad->data;

	if (mad->mad_hdr.attr_mod || mad->mad_hdr.method != IB_MGMT_METHOD_GET)
		return BAD_ATTR;
	memset(mad->data, 0, sizeof(mad->data));
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = PMA_CLASS_VERSION;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
	ib_set_cpi_resp_time(info, PMA_RESP_TIME);
	return 0;
}

static u16 handle(struct softib_port *port, struct ib_pma_mad *mad)
{
	if (mad->mad_hdr.base_version != IB_MGMT_BASE_VERSION ||
	    mad->mad_hdr.class_version != PMA_CLASS_VERSION)
		return BAD_VERSION;
	switch (mad->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		return class_port_info(mad);
	case IB_PMA_PORT_COUNTERS:
		return port_counters(port, mad);
	case IB_PMA_PORT_COUNTERS_EXT:
		return port_counters_ext(port, mad);
	default:
		return BAD_ATTR;
	}
}

/*
 * Answers a performance management MAD; a switch's port 0 answers for all others. Returns false if
 * it is not a request, and was left alone.
 */
bool softib_pma(struct softib_port *port, struct ib_pma_mad *mad)
{
	if (mad->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (mad->mad_hdr.method != IB_MGMT_METHOD_GET &&
	     mad->mad_hdr.method != IB_MGMT_METHOD_SET))
		return false;
	mad->mad_hdr.status = cpu_to_be16(handle(port, mad));
	mad->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	return true;
}

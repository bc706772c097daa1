// SPDX-License-Identifier: GPL-2.0
/*
 * Ports: their state, and what is counted there
 */
#include "softib.h"

/*
 * @mtu: enum ib_mtu. A packet has a payload of the MTU and all headers that there can be, at most
 * (IBA 7.7.8). softib_mgmt_lock is held, or the port is not known yet.
 */
void softib_port_set_mtu(struct softib_port *port, u8 mtu)
{
	struct ib_port_info *info = &port->info;

	info->neighbormtu_mastersmsl &= 0x0f;
	info->neighbormtu_mastersmsl |= mtu << 4;
	WRITE_ONCE(port->max_words, ((128 << mtu) + SOFTIB_MAX_HEADERS) / 4);
}

/* What PortInfo says before a manager sets anything, IBA 14.2.5.6 */
static void init_info(struct softib_port *port)
{
	struct ib_port_info *info = &port->info;
	bool mgmt = softib_is_switch(port->node) && !port->num;

	info->gid_prefix = SOFTIB_GID_PREFIX;
	info->link_width_enabled = IB_WIDTH_1X | IB_WIDTH_4X;
	info->link_width_supported = IB_WIDTH_1X | IB_WIDTH_4X;
	info->link_width_active = IB_WIDTH_4X;
	info->linkspeed_portstate =
		(IB_SPEED_SDR | IB_SPEED_DDR | IB_SPEED_QDR) << 4 |
		(mgmt ? IB_PORT_ACTIVE : IB_PORT_DOWN);
	info->portphysstate_linkdown =
		(mgmt ? IB_PORT_PHYS_STATE_LINK_UP :
			IB_PORT_PHYS_STATE_POLLING) << 4 |
		IB_PORT_PHYS_STATE_POLLING;
	info->linkspeedactive_enabled =
		IB_SPEED_QDR << 4 |
		(IB_SPEED_SDR | IB_SPEED_DDR | IB_SPEED_QDR);
	port->speed = IB_SPEED_QDR;
	softib_port_set_mtu(port, softib_mtu_enum(softib_mtu));
	info->vlcap_inittype = 1 << 4;			/* VL0 */
	info->inittypereply_mtucap = softib_mtu_enum(softib_mtu);
	info->operationalvl_pei_peo_fpi_fpo = 1 << 4;	/* VL0 */
	info->guid_cap = port->num || mgmt ? SOFTIB_NGUIDS : 0;
	info->resv_resptimevalue = 16;
}

/* The port is zeroed. After an error it needs softib_port_free(), too. */
int softib_port_init(struct softib_port *port, struct softib_node *node,
		     u8 num, u64 guid)
{
	port->stats = alloc_percpu(struct softib_counters);
	port->npkeys = softib_npkeys();
	port->pkeys = kvcalloc(port->npkeys, sizeof(*port->pkeys), GFP_KERNEL);
	if (!port->stats || !port->pkeys)
		return -ENOMEM;
	port->node = node;
	port->num = num;
	port->guids[0] = cpu_to_be64(guid);
	port->pkeys[0] = IB_DEFAULT_PKEY_FULL;
	init_info(port);
	port->state = port->info.linkspeed_portstate & 0xf;
	return 0;
}

/* No packet is near the port. It may never have been set up. */
void softib_port_free(struct softib_port *port)
{
	kvfree(port->pkeys);
	free_percpu(port->stats);
}

/* Tells a port's consumers. softib_mgmt_lock is held. */
void softib_port_event(struct softib_port *port, enum ib_event_type event)
{
	if (port->node->ops->port_event)
		port->node->ops->port_event(port, event);
}

/* Changes the logical state of a port (IBA 7.2.7). softib_mgmt_lock is held. */
void softib_port_set_state(struct softib_port *port, u8 state)
{
	struct ib_port_info *info = &port->info;
	u8 old = port->state;

	lockdep_assert_held(&softib_mgmt_lock);
	if (state == old)
		return;
	info->linkspeed_portstate &= 0xf0;
	info->linkspeed_portstate |= state;
	WRITE_ONCE(port->state, state);
	if (state == IB_PORT_ACTIVE)
		softib_port_event(port, IB_EVENT_PORT_ACTIVE);
	else if (old == IB_PORT_ACTIVE)
		softib_port_event(port, IB_EVENT_PORT_ERR);
	if (state == IB_PORT_DOWN)
		softib_count(port, SOFTIB_LINK_DOWNED, 1);

	/* Changes that the SM made itself are no news to it. */
	if (softib_is_switch(port->node) && state <= IB_PORT_INIT) {
		node_to_switch(port->node)->info.lifetime_state |=
			SOFTIB_PORT_STATE_CHANGE;
		softib_trap(port->node, SOFTIB_TRAP_LINK_STATE);
	}
}

/* Do two P_Keys match (IBA 10.9.3): are both of one partition, and one at least a full member? */
bool softib_pkey_ok(u16 a, u16 b)
{
	return !((a ^ b) & 0x7fff) && (a & 0x7fff) && ((a | b) & 0x8000);
}

/* The index of a P_Key that matches that of a packet (IBA 10.9.3), or a negative number. */
int softib_find_pkey(struct softib_port *port, u16 pkey)
{
	int i;

	for (i = 0; i < port->npkeys; i++)
		if (softib_pkey_ok(READ_ONCE(port->pkeys[i]), pkey))
			return i;
	return -ENOENT;
}

/* Returns false if the key is not in the port's table. softib_mgmt_lock is held. */
bool softib_port_remove_pkey(struct softib_port *port, u16 pkey)
{
	bool found = false;
	int i;

	for (i = 0; i < port->npkeys; i++) {
		if (port->pkeys[i] != pkey)
			continue;
		WRITE_ONCE(port->pkeys[i], 0);
		found = true;
	}
	if (found)
		softib_port_event(port, IB_EVENT_PKEY_CHANGE);
	return found;
}

/* Since the port was created. */
void softib_port_counters(struct softib_port *port,
			  struct softib_counters *sum)
{
	int cpu, i;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu)
		for (i = 0; i < SOFTIB_NCOUNTERS; i++)
			sum->c[i] += per_cpu_ptr(port->stats, cpu)->c[i];
}

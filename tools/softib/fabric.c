// SPDX-License-Identifier: GPL-2.0
/*
 * Ports and the links between them
 */
#include <linux/moduleparam.h>

#include "softib.h"

#define SOFTIB_MILLION	1000000

/* Parts per million of packets that every link loses, each way. */
static unsigned int loss;

DEFINE_SPINLOCK(softib_mgmt_lock);

static int loss_set(const char *val, const struct kernel_param *kp)
{
	unsigned int ppm;
	int ret;

	ret = kstrtouint(val, 0, &ppm);
	if (ret || ppm > SOFTIB_MILLION) {
		pr_err("softib: loss is in packets per million, 0 to %u\n",
		       SOFTIB_MILLION);
		return ret ?: -EINVAL;
	}
	WRITE_ONCE(loss, ppm);
	return 0;
}

static int loss_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(loss));
}

const struct kernel_param_ops softib_loss_ops = {
	.set = loss_set,
	.get = loss_get,
};

static enum ib_mtu mtu_enum(unsigned int mtu)
{
	return ilog2(mtu) - ilog2(256) + IB_MTU_256;
}

/* What PortInfo says before anybody sets anything, IBA 14.2.5.6 */
static void init_info(struct softib_port *port)
{
	struct ib_port_info *info = &port->info;
	bool mgmt = softib_is_switch(port->node) && !port->num;
	u8 mtu = mtu_enum(softib_mtu);

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
	info->neighbormtu_mastersmsl = mtu << 4;
	info->vlcap_inittype = 1 << 4;			/* VL0 */
	info->inittypereply_mtucap = mtu;
	info->operationalvl_pei_peo_fpi_fpo = 1 << 4;	/* VL0 */
	info->guid_cap = port->num || mgmt ? SOFTIB_NGUIDS : 0;
	info->resv_resptimevalue = 16;
}

/**
 * softib_port_init - set up a port without a link
 * @port:	the port, zeroed
 * @node:	its node
 * @num:	its number
 * @guid:	its GUID
 *
 * Return: 0 or -ENOMEM.
 */
int softib_port_init(struct softib_port *port, struct softib_node *node,
		     u8 num, u64 guid)
{
	port->stats = alloc_percpu(struct softib_counters);
	if (!port->stats)
		return -ENOMEM;
	port->node = node;
	port->num = num;
	port->guids[0] = cpu_to_be64(guid);
	port->pkeys[0] = 0xffff;
	spin_lock_init(&port->loss_lock);
	prandom_seed_state(&port->loss_rng, guid + num);
	init_info(port);
	port->state = port->info.linkspeed_portstate & 0xf;
	return 0;
}

/**
 * softib_port_free - undo softib_port_init()
 * @port:	the port, with no packet near it; may never have been set up
 */
void softib_port_free(struct softib_port *port)
{
	free_percpu(port->stats);
}

/**
 * softib_port_set_state - change the logical state of a port (IBA 7.2.7)
 * @port:	the port; softib_mgmt_lock is held
 * @state:	the new state
 */
void softib_port_set_state(struct softib_port *port, u8 state)
{
	struct ib_port_info *info = &port->info;
	u8 old = port->state;

	if (state == old)
		return;
	info->linkspeed_portstate &= 0xf0;
	info->linkspeed_portstate |= state;
	WRITE_ONCE(port->state, state);
	if (state == IB_PORT_ACTIVE)
		__set_bit(IB_EVENT_PORT_ACTIVE, &port->events);
	else if (old == IB_PORT_ACTIVE)
		__set_bit(IB_EVENT_PORT_ERR, &port->events);
	if (state == IB_PORT_DOWN)
		softib_count(port, SOFTIB_LINK_DOWNED, 1);

	/* Changes that the SM made itself are no news to it. */
	if (softib_is_switch(port->node) && state <= IB_PORT_INIT)
		node_to_switch(port->node)->info.lifetime_state |=
			SOFTIB_PORT_STATE_CHANGE;
}

static void set_phys_state(struct softib_port *port, u8 state)
{
	port->info.portphysstate_linkdown &= 0x0f;
	port->info.portphysstate_linkdown |= state << 4;
}

/**
 * softib_link_retrain - take a link down, and up if both its ports want to
 * @port:	a port of it, or one without a link; softib_mgmt_lock is held
 */
void softib_link_retrain(struct softib_port *port)
{
	struct softib_port *end[] = { port, port->peer };
	bool up = port->peer && !port->disabled && !port->peer->disabled;
	int i;

	for (i = 0; i < ARRAY_SIZE(end) && end[i]; i++) {
		softib_port_set_state(end[i], IB_PORT_DOWN);
		set_phys_state(end[i], up ? IB_PORT_PHYS_STATE_LINK_UP :
			       end[i]->disabled ? IB_PORT_PHYS_STATE_DISABLED :
						  IB_PORT_PHYS_STATE_POLLING);
		if (up)
			softib_port_set_state(end[i], IB_PORT_INIT);
	}
}

/**
 * softib_port_report - tell consumers what happened to a port
 * @port:	the port; no lock is held
 */
void softib_port_report(struct softib_port *port)
{
	unsigned long flags, events;
	unsigned int event;

	spin_lock_irqsave(&softib_mgmt_lock, flags);
	events = port->events;
	port->events = 0;
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
	if (!port->node->ops->port_event)
		return;
	for_each_set_bit(event, &events, BITS_PER_LONG)
		port->node->ops->port_event(port, event);
}

/**
 * softib_link - join two ports by a link
 * @a:	a port without a link
 * @b:	another one
 *
 * The physical link is up at once; the subnet manager does the rest.
 */
void softib_link(struct softib_port *a, struct softib_port *b)
{
	unsigned long flags;

	spin_lock_irqsave(&softib_mgmt_lock, flags);
	a->peer = b;
	b->peer = a;
	softib_link_retrain(a);
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
}

/* May a packet leave through (or, if @in, enter by) a port in its state? IBA
 * 7.2.7: management packets from Initialize on, data leaves only in Active.
 */
static bool state_ok(const struct softib_port *port, bool vl15, bool in)
{
	switch (READ_ONCE(port->state)) {
	case IB_PORT_ACTIVE:
		return true;
	case IB_PORT_ARMED:
		return vl15 || in;
	case IB_PORT_INIT:
		return vl15;
	default:
		return false;
	}
}

static bool lose(struct softib_port *port)
{
	unsigned int ppm = READ_ONCE(loss);
	u32 r;

	if (likely(!ppm))
		return false;
	spin_lock(&port->loss_lock);
	r = prandom_u32_state(&port->loss_rng);
	spin_unlock(&port->loss_lock);
	return ((u64)r * SOFTIB_MILLION) >> 32 < ppm;
}

/**
 * softib_link_xmit - send a packet over a port's link
 * @port:	the port
 * @skb:	the packet, at least an LRH; consumed
 *
 * Called with bottom halves disabled and no lock held.
 */
void softib_link_xmit(struct softib_port *port, struct sk_buff *skb)
{
	bool vl15 = softib_vl(skb) == SOFTIB_VL_SMP;
	bool mcast = softib_lid_is_mcast(softib_dlid(skb));
	u32 words = be16_to_cpu(softib_lrh(skb)[2]) & 0x7ff;
	struct softib_port *peer = port->peer;

	if (!peer || !state_ok(port, vl15, false)) {
		softib_count(port, SOFTIB_XMIT_DISCARDS, 1);
		goto drop;
	}
	softib_count(port, SOFTIB_XMIT_PKTS, 1);
	softib_count(port, SOFTIB_XMIT_DATA, words);
	softib_count(port, mcast ? SOFTIB_MCAST_XMIT_PKTS :
				   SOFTIB_UCAST_XMIT_PKTS, 1);
	softib_capture(skb);

	/* A packet that is lost arrives with a bad CRC. SMPs are spared: their
	 * time-outs are long, and they are not what loss is to test.
	 */
	if (!vl15 && lose(port)) {
		softib_count(peer, SOFTIB_RCV_ERRORS, 1);
		goto drop;
	}
	if (!state_ok(peer, vl15, true)) {
		if (vl15)
			softib_count(peer, SOFTIB_VL15_DROPPED, 1);
		goto drop;
	}
	softib_count(peer, SOFTIB_RCV_PKTS, 1);
	softib_count(peer, SOFTIB_RCV_DATA, words);
	softib_count(peer, mcast ? SOFTIB_MCAST_RCV_PKTS :
				   SOFTIB_UCAST_RCV_PKTS, 1);
	peer->node->ops->receive(peer, skb);
	return;
drop:
	kfree_skb(skb);
}

/**
 * softib_port_counters - read the counters of a port
 * @port:	the port
 * @sum:	the counters since the port was created
 */
void softib_port_counters(struct softib_port *port,
			  struct softib_counters *sum)
{
	int cpu, i;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu)
		for (i = 0; i < SOFTIB_NCOUNTERS; i++)
			sum->c[i] += per_cpu_ptr(port->stats, cpu)->c[i];
}

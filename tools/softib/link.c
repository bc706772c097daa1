// SPDX-License-Identifier: GPL-2.0
/*
 * Links: what two ports are joined by, and how packets cross it
 */
#include "softib.h"

static const struct {
	u8 width;
	u8 speed;
} rates[] = {
	[SOFTIB_RATE_2_5] = { IB_WIDTH_1X, IB_SPEED_SDR },
	[SOFTIB_RATE_5] = { IB_WIDTH_1X, IB_SPEED_DDR },
	[SOFTIB_RATE_10] = { IB_WIDTH_4X, IB_SPEED_SDR },
	[SOFTIB_RATE_20] = { IB_WIDTH_4X, IB_SPEED_DDR },
	[SOFTIB_RATE_40] = { IB_WIDTH_4X, IB_SPEED_QDR },
};

/**
 * softib_link_init - set up a link that is not plugged in
 * @link:	the link, zeroed
 */
void softib_link_init(struct softib_link *link)
{
	link->up = true;
	link->mtu = softib_mtu_enum(softib_mtu);
	link->rate = SOFTIB_RATE_40;
	softib_way_init(&link->way[0], link, 0);
	softib_way_init(&link->way[1], link, 1);
}

/**
 * softib_link_train - take a link down, and up if both its ports want to
 * @link:	the link, plugged in; softib_mgmt_lock is held
 *
 * The subnet manager takes it from INIT to ACTIVE.
 */
void softib_link_train(struct softib_link *link)
{
	bool up = link->up;
	int i;

	lockdep_assert_held(&softib_mgmt_lock);
	for (i = 0; i < 2; i++)
		up &= !link->end[i]->disabled && !link->end[i]->broken;

	for (i = 0; i < 2; i++) {
		struct softib_port *port = link->end[i];
		struct ib_port_info *info = &port->info;

		softib_port_set_state(port, IB_PORT_DOWN);
		softib_port_set_phys(port, up ? IB_PORT_PHYS_STATE_LINK_UP :
				     port->disabled ?
				     IB_PORT_PHYS_STATE_DISABLED :
				     IB_PORT_PHYS_STATE_POLLING);
		if (!up)
			continue;
		info->link_width_active = rates[link->rate].width;
		info->linkspeedactive_enabled &= 0x0f;
		info->linkspeedactive_enabled |= rates[link->rate].speed << 4;
		info->inittypereply_mtucap &= 0xf0;
		info->inittypereply_mtucap |= link->mtu;
		if (info->neighbormtu_mastersmsl >> 4 > link->mtu) {
			info->neighbormtu_mastersmsl &= 0x0f;
			info->neighbormtu_mastersmsl |= link->mtu << 4;
		}
		softib_port_set_state(port, IB_PORT_INIT);
	}
}

/**
 * softib_link_plug - join two ports
 * @link:	a link that is not plugged in
 * @a:		the port at its end 0
 * @b:		the port at its end 1
 *
 * softib_topology is held.
 *
 * Return: 0, or -EBUSY if a port has a link already or is at both ends.
 */
int softib_link_plug(struct softib_link *link, struct softib_port *a,
		     struct softib_port *b)
{
	unsigned long flags;

	lockdep_assert_held(&softib_topology);
	if (a == b || rcu_access_pointer(a->link) ||
	    rcu_access_pointer(b->link))
		return -EBUSY;
	WRITE_ONCE(link->end[0], a);
	link->end[1] = b;
	spin_lock_irqsave(&softib_mgmt_lock, flags);
	a->side = 0;
	b->side = 1;
	rcu_assign_pointer(a->link, link);
	rcu_assign_pointer(b->link, link);
	softib_link_train(link);
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
	return 0;
}

/**
 * softib_link_unplug - take a link out of the fabric
 * @link:	the link; softib_topology is held
 *
 * Both ports go down, what was under way is lost, and no packet is near the
 * link any more.
 */
void softib_link_unplug(struct softib_link *link)
{
	unsigned long flags;
	int i;

	lockdep_assert_held(&softib_topology);
	spin_lock_irqsave(&softib_mgmt_lock, flags);
	for (i = 0; i < 2; i++) {
		RCU_INIT_POINTER(link->end[i]->link, NULL);
		softib_port_retrain(link->end[i]);
	}
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
	synchronize_rcu_expedited();
	for (i = 0; i < 2; i++)
		softib_way_stop(&link->way[i]);
	/* The timers that have just been stopped delivered to the ports. */
	WRITE_ONCE(link->end[0], NULL);
	link->end[1] = NULL;
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

/* Length of a packet in words, from the LRH */
static u32 words(const struct sk_buff *skb)
{
	return be16_to_cpu(softib_lrh(skb)[2]) & 0x7ff;
}

/**
 * softib_link_arrive - a packet arrives at the end of its way
 * @port:	the port that it arrives at
 * @skb:	the packet; consumed
 *
 * Called with bottom halves disabled and no lock held.
 */
void softib_link_arrive(struct softib_port *port, struct sk_buff *skb)
{
	bool vl15 = softib_vl(skb) == SOFTIB_VL_SMP;
	bool mcast = softib_lid_is_mcast(softib_dlid(skb));

	if (!state_ok(port, vl15, true)) {
		if (vl15)
			softib_count(port, SOFTIB_VL15_DROPPED, 1);
		kfree_skb(skb);
		return;
	}
	softib_count(port, SOFTIB_RCV_PKTS, 1);
	softib_count(port, SOFTIB_RCV_DATA, words(skb));
	softib_count(port, mcast ? SOFTIB_MCAST_RCV_PKTS :
				   SOFTIB_UCAST_RCV_PKTS, 1);
	port->node->ops->receive(port, skb);
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
	struct softib_link *link = rcu_dereference_bh(port->link);
	bool vl15 = softib_vl(skb) == SOFTIB_VL_SMP;
	bool mcast = softib_lid_is_mcast(softib_dlid(skb));
	struct softib_way *way;

	if (!link || !state_ok(port, vl15, false)) {
		softib_count(port, SOFTIB_XMIT_DISCARDS, 1);
		kfree_skb(skb);
		return;
	}
	softib_count(port, SOFTIB_XMIT_PKTS, 1);
	softib_count(port, SOFTIB_XMIT_DATA, words(skb));
	softib_count(port, mcast ? SOFTIB_MCAST_XMIT_PKTS :
				   SOFTIB_UCAST_XMIT_PKTS, 1);
	softib_capture(skb);

	way = &link->way[port->side];
	/* SMPs are spared: their time-outs are long, and they are not what
	 * faults are to test.
	 */
	if (unlikely(softib_way_active(way)) && !vl15)
		softib_way_send(way, skb);
	else
		softib_link_arrive(link->end[!port->side], skb);
}

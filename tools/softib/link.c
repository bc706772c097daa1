// SPDX-License-Identifier: GPL-2.0
/*
 * Links: what two ports are joined by, or a port with one far away, and how
 * packets cross it
 */
#include "capture.h"
#include "far.h"
#include "softib.h"

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

static void arrive(struct softib_port *port, struct sk_buff *skb)
{
	bool vl15 = softib_vl(skb) == SOFTIB_VL_SMP;
	bool mcast = softib_lid_is_mcast(softib_dlid(skb));
	u32 words = softib_words(skb);

	if (!state_ok(port, vl15, true)) {
		if (vl15)
			softib_count(port, SOFTIB_VL15_DROPPED, 1);
		kfree_skb(skb);
		return;
	}
	if (unlikely(softib_cb(skb)->sealed)) {
		if (!softib_vcrc_ok(skb)) {
			softib_count(port, SOFTIB_RCV_ERRORS, 1);
			kfree_skb(skb);
			return;
		}
		softib_cb(skb)->sealed = false;
	}
	if (words > READ_ONCE(port->max_words)) {
		softib_count(port, SOFTIB_RCV_ERRORS, 1);
		kfree_skb(skb);
		return;
	}
	softib_count(port, SOFTIB_RCV_PKTS, 1);
	softib_count(port, SOFTIB_RCV_DATA, words);
	softib_count(port, mcast ? SOFTIB_MCAST_RCV_PKTS :
				   SOFTIB_UCAST_RCV_PKTS, 1);
	port->node->ops->receive(port, skb);
}

/* A packet has come to the end of its way: called with bottom halves disabled and no
 * lock held.
 */
static void leave(struct softib_way *way, struct sk_buff *skb)
{
	struct softib_link *link = way->link;
	struct softib_port *port = link->end[!way->side];

	if (port)
		arrive(port, skb);
	else
		softib_udp_send(link->far, skb);
}

/* The link is zeroed, and not plugged in. */
void softib_link_init(struct softib_link *link)
{
	link->up = true;
	link->mtu = softib_mtu_enum(softib_mtu);
	link->rate = SOFTIB_RATE_40;
	softib_way_init(&link->way[0], link, 0, leave);
	softib_way_init(&link->way[1], link, 1, leave);
}

/*
 * Takes a link down, and up if both its ends want to. It is plugged in, and softib_mgmt_lock is
 * held.
 */
void softib_link_train(struct softib_link *link)
{
	if (link->far)
		softib_far_train(link->far);
	else
		softib_link_set(link, softib_link_ready(link));
}

/* Takes a port's link down, and up if both ends want to. softib_mgmt_lock is held. */
void softib_port_retrain(struct softib_port *port)
{
	struct softib_link *link;

	link = rcu_dereference_protected(port->link,
					 lockdep_is_held(&softib_mgmt_lock));
	if (link) {
		softib_link_train(link);
		return;
	}
	softib_port_set_state(port, IB_PORT_DOWN);
	softib_port_set_phys(port, port->disabled ?
				   IB_PORT_PHYS_STATE_DISABLED :
				   IB_PORT_PHYS_STATE_POLLING);
}

static bool is_free(const struct softib_port *port)
{
	return !port || !rcu_access_pointer(port->link);
}

/*
 * Joins two ports, @a at end 0 and @b at end 1. One of them is NULL if that end is far away: @far,
 * which is the link's if this succeeds. softib_topology is held. Returns -EBUSY if a port has a
 * link already or is at both ends.
 */
int softib_link_plug(struct softib_link *link, struct softib_port *a,
		     struct softib_port *b, struct softib_far *far)
{
	unsigned long flags;
	int i;

	lockdep_assert_held(&softib_topology);
	if (a == b || !is_free(a) || !is_free(b))
		return -EBUSY;
	WRITE_ONCE(link->end[0], a);
	WRITE_ONCE(link->end[1], b);
	link->far = far;
	spin_lock_irqsave(&softib_mgmt_lock, flags);
	for (i = 0; i < 2; i++) {
		if (!link->end[i])
			continue;
		link->end[i]->side = i;
		rcu_assign_pointer(link->end[i]->link, link);
	}
	softib_link_train(link);
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
	if (far)
		softib_udp_start(far);
	return 0;
}

/*
 * Takes a link out of the fabric: its ports go down, what was under way is lost, and no packet is
 * near the link any more. softib_topology is held.
 */
void softib_link_unplug(struct softib_link *link)
{
	unsigned long flags;
	int i;

	lockdep_assert_held(&softib_topology);
	spin_lock_irqsave(&softib_mgmt_lock, flags);
	for (i = 0; i < 2; i++) {
		if (!link->end[i])
			continue;
		RCU_INIT_POINTER(link->end[i]->link, NULL);
		softib_port_retrain(link->end[i]);
	}
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
	if (link->far)
		softib_far_stop(link->far);
	synchronize_rcu_expedited();
	for (i = 0; i < 2; i++)
		softib_way_stop(&link->way[i]);
	/* The timers that have just been stopped delivered to the ends. */
	if (link->far)
		softib_far_free(link->far);
	link->far = NULL;
	WRITE_ONCE(link->end[0], NULL);
	WRITE_ONCE(link->end[1], NULL);
}

/*
 * Sends a packet, at least an LRH, over a port's link, and consumes it. Called with bottom halves
 * disabled and no lock held.
 */
void softib_link_xmit(struct softib_port *port, struct sk_buff *skb)
{
	struct softib_link *link = rcu_dereference_bh(port->link);
	bool vl15 = softib_vl(skb) == SOFTIB_VL_SMP;
	bool mcast = softib_lid_is_mcast(softib_dlid(skb));
	u32 words = softib_words(skb);
	struct softib_way *way;

	if (!link || !state_ok(port, vl15, false) ||
	    words > READ_ONCE(port->max_words)) {
		softib_count(port, SOFTIB_XMIT_DISCARDS, 1);
		kfree_skb(skb);
		return;
	}
	softib_count(port, SOFTIB_XMIT_PKTS, 1);
	softib_count(port, SOFTIB_XMIT_DATA, words);
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
		leave(way, skb);
}

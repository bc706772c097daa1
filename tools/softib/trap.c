// SPDX-License-Identifier: GPL-2.0
/*
 * Traps: what a node tells its subnet manager by itself (IBA 14.2.3, 14.2.5.1)
 *
 * A trap is sent until the manager represses it, and there is no more than one
 * in a SubnetTimeOut (14.2.5.6).
 */
#include "softib.h"

#define NOTICE_GENERIC	0x80	/* with the type in the other bits */

enum notice_type {
	NOTICE_URGENT = 1,
	NOTICE_INFORMATIONAL = 4,
};

/**
 * struct notice - the Notice attribute (IBA 13.4.8.2)
 * @generic_type:	NOTICE_GENERIC and enum notice_type
 * @producer:		NodeType of the sender
 * @trap:		trap number
 * @lid:		LID of the sender
 * @toggle_count:	zero in a trap
 * @details:		14.2.5.1, by trap number
 */
struct notice {
	u8 generic_type;
	u8 producer[3];
	__be16 trap;
	__be16 lid;
	__be16 toggle_count;
	union {
		struct {
			__be16 lid;
		} ntc128;
		struct {
			__be16 reserved;
			__be16 lid;
			u8 reserved2;
			u8 local_changes;
			__be32 cap_mask;
			__be16 change_flags;
		} __packed ntc144;
		u8 raw[54];
	} details;
} __packed;

static void fill_notice(struct softib_node *node, struct softib_port *port,
			enum softib_trap trap, struct notice *notice)
{
	struct ib_port_info info = port->info;

	notice->producer[2] = node->type;
	notice->lid = port->info.lid;
	switch (trap) {
	case SOFTIB_TRAP_LINK_STATE:
		notice->generic_type = NOTICE_GENERIC | NOTICE_URGENT;
		notice->trap = cpu_to_be16(128);
		notice->details.ntc128.lid = port->info.lid;
		break;
	default:
		if (node->ops->port_fill)
			node->ops->port_fill(port, &info);
		notice->generic_type = NOTICE_GENERIC | NOTICE_INFORMATIONAL;
		notice->trap = IB_NOTICE_TRAP_CAP_MASK_CHG;
		notice->details.ntc144.lid = port->info.lid;
		notice->details.ntc144.local_changes = !!node->traps.changes;
		notice->details.ntc144.cap_mask = info.cap_mask;
		notice->details.ntc144.change_flags =
			cpu_to_be16(node->traps.changes);
	}
}

static struct sk_buff *build(struct softib_node *node,
			     struct softib_port *port, enum softib_trap trap)
{
	const u32 len = IB_LRH_BYTES + IB_BTH_BYTES + IB_DETH_BYTES +
			IB_MGMT_MAD_SIZE + SOFTIB_ICRC_BYTES;
	struct sk_buff *skb;
	struct ib_smp *smp;
	__be32 *bth;
	__be16 *lrh;

	skb = alloc_skb(len + SOFTIB_VCRC_BYTES, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	lrh = skb_put(skb, IB_LRH_BYTES);
	lrh[0] = cpu_to_be16(SOFTIB_VL_SMP << 12 | IB_LNH_IBA_LOCAL);
	lrh[1] = port->info.sm_lid;
	lrh[2] = cpu_to_be16(len / 4);
	lrh[3] = port->info.lid;

	bth = skb_put_zero(skb, IB_BTH_BYTES + IB_DETH_BYTES);
	bth[0] = cpu_to_be32(IB_OPCODE_UD_SEND_ONLY << IB_BTH_OPCODE_SHIFT |
			     IB_BTH_MIG_REQ | IB_DEFAULT_PKEY_FULL);

	smp = skb_put_zero(skb, IB_MGMT_MAD_SIZE);
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_TRAP;
	smp->tid = cpu_to_be64(node->traps.tid[trap]);
	smp->attr_id = IB_SMP_ATTR_NOTICE;
	smp->mkey = port->info.mkey;
	fill_notice(node, port, trap, (struct notice *)smp->data);
	skb_put_zero(skb, SOFTIB_ICRC_BYTES + SOFTIB_VCRC_BYTES);
	return skb;
}

/* How long a manager may take to answer, IBA 14.2.5.6 */
static unsigned long subnet_timeout(const struct softib_port *port)
{
	u8 value = port->info.clientrereg_resv_subnetto & 0x1f;

	return nsecs_to_jiffies(4096ULL << min_t(u8, value, 20)) + 1;
}

static struct softib_port *trap_port(struct softib_node *node)
{
	return &node->ports[softib_is_switch(node) ? 0 : 1];
}

static bool has_manager(const struct softib_port *port)
{
	return port->info.lid && port->info.sm_lid;
}

/* See to the first that is pending, when its time has come. */
static void send_later(struct softib_node *node)
{
	struct softib_traps *traps = &node->traps;
	unsigned long now = jiffies;

	if (!traps->pending || !has_manager(trap_port(node)))
		return;
	mod_delayed_work(system_percpu_wq, &traps->work,
			 time_after(traps->next, now) ? traps->next - now : 0);
}

static void traps_work(struct work_struct *work)
{
	struct softib_node *node = container_of(to_delayed_work(work),
						struct softib_node, traps.work);
	struct softib_port *port = trap_port(node);
	struct softib_traps *traps = &node->traps;
	struct sk_buff *skb = NULL;

	spin_lock_irq(&softib_mgmt_lock);
	if (has_manager(port) && traps->pending) {
		skb = build(node, port, __ffs(traps->pending));
		traps->next = jiffies + subnet_timeout(port);
		send_later(node);
	}
	spin_unlock_irq(&softib_mgmt_lock);
	if (!skb)
		return;
	local_bh_disable();
	node->ops->send(node, skb);
	local_bh_enable();
}

/* Has a trap sent. softib_mgmt_lock is held. */
void softib_trap(struct softib_node *node, enum softib_trap trap)
{
	struct softib_traps *traps = &node->traps;

	lockdep_assert_held(&softib_mgmt_lock);
	traps->tid[trap] = ++traps->last_tid;
	__set_bit(trap, &traps->pending);
	send_later(node);
}

/* The manager has heard of a trap (IBA 13.4.9). softib_mgmt_lock is held. */
void softib_trap_repress(struct softib_node *node, const struct ib_smp *smp)
{
	struct softib_traps *traps = &node->traps;
	int i;

	if (smp->attr_id != IB_SMP_ATTR_NOTICE)
		return;
	/* What has changed since it was sent has another ID. */
	for (i = 0; i < SOFTIB_NTRAPS; i++)
		if (smp->tid == cpu_to_be64(traps->tid[i]))
			__clear_bit(i, &traps->pending);
	if (!(traps->pending & BIT(SOFTIB_TRAP_LOCAL_CHANGE)))
		traps->changes = 0;
	send_later(node);
}

/*
 * A manager has told the node where it is. It may have looked at a port just before that changed,
 * so it hears of all that is pending. It has the capability mask from the answer to what it has
 * just set. softib_mgmt_lock is held.
 */
void softib_traps_resume(struct softib_node *node)
{
	struct softib_traps *traps = &node->traps;

	if (!traps->changes)
		__clear_bit(SOFTIB_TRAP_LOCAL_CHANGE, &traps->pending);
	send_later(node);
}

void softib_traps_init(struct softib_node *node)
{
	INIT_DELAYED_WORK(&node->traps.work, traps_work);
	node->traps.next = jiffies;
}

/* Nothing happens to the node any more. */
void softib_traps_stop(struct softib_node *node)
{
	cancel_delayed_work_sync(&node->traps.work);
}

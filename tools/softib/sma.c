// SPDX-License-Identifier: GPL-2.0
/*
 * The subnet management agent of a node (IBA 14.2)
 */
#include "softib.h"

#define SMP_CLASS_VERSION	1

#define OK		0
#define BAD_VERSION	IB_MGMT_MAD_STATUS_BAD_VERSION
#define BAD_METHOD	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD
#define BAD_ATTR	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB
#define BAD_FIELD	IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE

#define SOFTIB_MOD_EXT_SPEEDS	BIT(31)

/* The port that an attribute modifier names, or NULL. At an HCA zero is the
 * port that the SMP came in by.
 */
static struct softib_port *get_port(struct softib_port *port, u32 num)
{
	struct softib_node *node = port->node;

	if (num > node->nports)
		return NULL;
	if (!num && !softib_is_switch(node))
		return port;
	return &node->ports[num];
}

/* The port that PortInfo is about, or NULL; the highest bit says that the manager knows
 * of extended speeds, IBA 14.2.5.6.
 */
static struct softib_port *port_info_port(struct softib_port *port,
					  const struct ib_smp *smp)
{
	return get_port(port, be32_to_cpu(smp->attr_mod) & ~SOFTIB_MOD_EXT_SPEEDS);
}

static u16 get_node_desc(struct softib_port *port, struct ib_smp *smp)
{
	const char *desc = port->node->ops->get_desc(port->node);

	if (smp->attr_mod)
		return BAD_FIELD;
	memcpy(smp->data, desc, IB_DEVICE_NODE_DESC_MAX);
	return OK;
}

static u16 get_node_info(struct softib_port *port, struct ib_smp *smp)
{
	struct ib_node_info *info = (struct ib_node_info *)smp->data;
	struct softib_node *node = port->node;

	if (smp->attr_mod)
		return BAD_FIELD;
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = SMP_CLASS_VERSION;
	info->node_type = node->type;
	info->num_ports = node->nports;
	info->sys_guid = node->guid;
	info->node_guid = node->guid;
	info->port_guid = softib_mgmt_port(port)->guids[0];
	info->partition_cap = cpu_to_be16(port->npkeys);
	info->device_id = cpu_to_be16(SOFTIB_DEVICE_ID);
	info->local_port_num = port->num;
	info->vendor_id[0] = SOFTIB_VENDOR_ID >> 16;
	info->vendor_id[1] = SOFTIB_VENDOR_ID >> 8 & 0xff;
	info->vendor_id[2] = SOFTIB_VENDOR_ID & 0xff;
	return OK;
}

static u16 get_guid_info(struct softib_port *port, struct ib_smp *smp)
{
	port = softib_mgmt_port(port);
	if (smp->attr_mod)
		return BAD_FIELD;
	memcpy(smp->data, port->guids, sizeof(port->guids));
	return OK;
}

static u16 set_guid_info(struct softib_port *port, struct ib_smp *smp)
{
	const __be64 *guids = (const __be64 *)smp->data;
	int i;

	port = softib_mgmt_port(port);
	if (smp->attr_mod)
		return BAD_FIELD;
	/* The first is the port GUID, which does not change. */
	for (i = 1; i < SOFTIB_NGUIDS; i++)
		WRITE_ONCE(port->guids[i], guids[i]);
	softib_port_event(port, IB_EVENT_GID_CHANGE);
	return OK;
}

/* The port whose table an SMP is about, and the block of it, or NULL */
static struct softib_port *pkey_block(struct softib_port *port,
				      const struct ib_smp *smp, u16 **block)
{
	u32 mod = be32_to_cpu(smp->attr_mod);
	u32 first = (mod & 0xffff) * SOFTIB_PKEY_BLOCK;

	if (softib_is_switch(port->node))
		port = get_port(port, mod >> 16);
	if (!port || first >= port->npkeys)
		return NULL;
	*block = port->pkeys + first;
	return port;
}

static u16 get_pkey_table(struct softib_port *port, struct ib_smp *smp)
{
	__be16 *pkeys = (__be16 *)smp->data;
	u16 *block;
	int i;

	if (!pkey_block(port, smp, &block))
		return BAD_FIELD;
	for (i = 0; i < SOFTIB_PKEY_BLOCK; i++)
		pkeys[i] = cpu_to_be16(block[i]);
	return OK;
}

static u16 set_pkey_table(struct softib_port *port, struct ib_smp *smp)
{
	const __be16 *pkeys = (const __be16 *)smp->data;
	bool changed = false;
	u16 *block;
	int i;

	port = pkey_block(port, smp, &block);
	if (!port)
		return BAD_FIELD;
	for (i = 0; i < SOFTIB_PKEY_BLOCK; i++) {
		u16 pkey = be16_to_cpu(pkeys[i]);

		changed |= pkey != block[i];
		WRITE_ONCE(block[i], pkey);
	}
	if (changed)
		softib_port_event(port, IB_EVENT_PKEY_CHANGE);
	return OK;
}

/* With one data VL every SL maps to VL0 and there is nothing to arbitrate;
 * both tables are all zero, and a Set is answered with what is so.
 */
static u16 get_vl_table(struct softib_port *port, struct ib_smp *smp)
{
	return OK;
}

/* The end of PortInfo, after the last member that the kernel's struct names; the struct
 * itself ends later, for alignment.
 */
#define PORT_INFO_EXT	offsetofend(struct ib_port_info, link_roundtrip_latency)

struct port_info_ext {
	__be16 cap_mask2;
	u8 speed_active_supported;	/* 4 bits, 4 bits */
	u8 speed_enabled;
} __packed;

/* FDR and above; their bits in LinkSpeedExtActive follow each other as the kernel's do. */
static void put_speeds(const struct softib_port *port, struct port_info_ext *ext)
{
	u8 all = (IB_SPEED_FDR | IB_SPEED_EDR | IB_SPEED_HDR | IB_SPEED_NDR) >> 4;

	ext->cap_mask2 = cpu_to_be16(IB_PORT_LINK_SPEED_HDR_SUP |
				     IB_PORT_LINK_SPEED_NDR_SUP);
	ext->speed_active_supported = (port->speed & 0xf0) | all;
	ext->speed_enabled = all;
}

static u16 get_port_info(struct softib_port *port, struct ib_smp *smp)
{
	struct ib_port_info *info = (struct ib_port_info *)smp->data;
	struct softib_port *guard = softib_mgmt_port(port), *target;

	target = port_info_port(port, smp);
	if (!target)
		return BAD_FIELD;
	*info = target->info;
	put_speeds(target, (struct port_info_ext *)&smp->data[PORT_INFO_EXT]);
	info->local_port_num = port->num;
	if (target->node->ops->port_fill)
		target->node->ops->port_fill(target, info);
	/* A manager that does not know the M_Key does not learn it (14.2.4.1). */
	if (info->mkeyprot_resv_lmc >> 6 && smp->mkey != guard->info.mkey)
		info->mkey = 0;
	return OK;
}

static u8 merge(u8 old, u8 new, u8 mask)
{
	return (old & ~mask) | (new & mask);
}

static void note_changes(struct softib_port *port, const struct ib_port_info *old,
			 const struct ib_port_info *in)
{
	const struct ib_port_info *new = &port->info;

	if (new->gid_prefix != old->gid_prefix)
		softib_port_event(port, IB_EVENT_GID_CHANGE);
	if (new->lid != old->lid ||
	    new->mkeyprot_resv_lmc != old->mkeyprot_resv_lmc)
		softib_port_event(port, IB_EVENT_LID_CHANGE);
	if (new->sm_lid != old->sm_lid ||
	    new->neighbormtu_mastersmsl != old->neighbormtu_mastersmsl)
		softib_port_event(port, IB_EVENT_SM_CHANGE);
	if (in->clientrereg_resv_subnetto & 0x80)
		softib_port_event(port, IB_EVENT_CLIENT_REREGISTER);
	if (new->lid != old->lid || new->sm_lid != old->sm_lid)
		softib_traps_resume(port->node);
}

/* The components that a port with a LID has: of an HCA, and a switch's own */
static u16 set_endport(struct softib_port *port, const struct ib_port_info *in)
{
	struct ib_port_info *info = &port->info;
	u16 lid = be16_to_cpu(in->lid), sm_lid = be16_to_cpu(in->sm_lid);
	u8 lmc = in->mkeyprot_resv_lmc & 7;

	if (lid >= be16_to_cpu(IB_MULTICAST_LID_BASE) ||
	    sm_lid >= be16_to_cpu(IB_MULTICAST_LID_BASE) ||
	    lid & (BIT(lmc) - 1))
		return BAD_FIELD;

	port->mkey_expiry = 0;
	info->mkey = in->mkey;
	info->mkey_lease_period = in->mkey_lease_period;
	info->mkeyprot_resv_lmc = in->mkeyprot_resv_lmc & 0xc7;
	info->gid_prefix = in->gid_prefix;
	info->lid = in->lid;
	info->sm_lid = in->sm_lid;
	info->neighbormtu_mastersmsl =
		merge(info->neighbormtu_mastersmsl,
		      in->neighbormtu_mastersmsl, 0x0f);
	info->inittypereply_mtucap = merge(info->inittypereply_mtucap,
					   in->inittypereply_mtucap, 0xf0);
	info->clientrereg_resv_subnetto = in->clientrereg_resv_subnetto & 0x1f;
	WRITE_ONCE(port->lid, lid);
	WRITE_ONCE(port->lmc, lmc);
	return OK;
}

/* PortState and PortPhysicalState: zero leaves them alone (14.2.5.6). */
static u16 set_link(struct softib_port *port, const struct ib_port_info *in)
{
	u8 state = in->linkspeed_portstate & 0xf;
	u8 phys = in->portphysstate_linkdown >> 4;

	switch (phys) {
	case 0:
		break;
	case IB_PORT_PHYS_STATE_POLLING:
		port->disabled = false;
		softib_port_retrain(port);
		break;
	case IB_PORT_PHYS_STATE_DISABLED:
		port->disabled = true;
		softib_port_retrain(port);
		break;
	default:
		return BAD_FIELD;
	}

	switch (state) {
	case 0:
		return OK;
	case IB_PORT_DOWN:
		softib_port_retrain(port);
		return OK;
	case IB_PORT_ARMED:
		if (port->state != IB_PORT_INIT && port->state != state)
			return BAD_FIELD;
		break;
	case IB_PORT_ACTIVE:
		if (port->state != IB_PORT_ARMED && port->state != state)
			return BAD_FIELD;
		break;
	default:
		return BAD_FIELD;
	}
	softib_port_set_state(port, state);
	return OK;
}

static u16 set_port_info(struct softib_port *port, struct ib_smp *smp)
{
	const struct ib_port_info *in = (const struct ib_port_info *)smp->data;
	struct ib_port_info *info, old;
	u8 mtu = in->neighbormtu_mastersmsl >> 4;
	u16 status = OK;

	port = port_info_port(port, smp);
	if (!port)
		return BAD_FIELD;
	info = &port->info;
	old = *info;
	if (!softib_is_switch(port->node) || !port->num)
		status = set_endport(port, in);
	if (status)
		return status;

	if (mtu >= IB_MTU_256 && mtu <= (info->inittypereply_mtucap & 0xf))
		softib_port_set_mtu(port, mtu);
	else if (mtu)
		status = BAD_FIELD;
	info->portphysstate_linkdown = merge(info->portphysstate_linkdown,
					     in->portphysstate_linkdown, 0x0f);
	info->vl_high_limit = in->vl_high_limit;
	info->vlstallcnt_hoqlife = in->vlstallcnt_hoqlife;
	info->localphyerrors_overrunerrors = in->localphyerrors_overrunerrors;
	if (!in->mkey_violations)
		info->mkey_violations = 0;
	if (port->node->ops->port_update)
		port->node->ops->port_update(port, in);
	/* Consumers that hear of it ask for the new values. */
	if (!softib_is_switch(port->node) || !port->num)
		note_changes(port, &old, in);

	/* A switch's own port has no link: it is always active. */
	if (!port->num)
		return status;
	return set_link(port, in) ?: status;
}

static u16 switch_attr(struct softib_port *port, struct ib_smp *smp,
		       u16 (*handler)(struct softib_switch *sw,
				      struct ib_smp *smp))
{
	if (!softib_is_switch(port->node))
		return BAD_ATTR;
	return handler(node_to_switch(port->node), smp);
}

static u16 get_attr(struct softib_port *port, struct ib_smp *smp)
{
	memset(smp->data, 0, sizeof(smp->data));
	switch (smp->attr_id) {
	case IB_SMP_ATTR_NODE_DESC:
		return get_node_desc(port, smp);
	case IB_SMP_ATTR_NODE_INFO:
		return get_node_info(port, smp);
	case IB_SMP_ATTR_GUID_INFO:
		return get_guid_info(port, smp);
	case IB_SMP_ATTR_PORT_INFO:
		return get_port_info(port, smp);
	case IB_SMP_ATTR_PKEY_TABLE:
		return get_pkey_table(port, smp);
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
	case IB_SMP_ATTR_VL_ARB_TABLE:
		return get_vl_table(port, smp);
	case IB_SMP_ATTR_SWITCH_INFO:
		return switch_attr(port, smp, softib_get_switch_info);
	case IB_SMP_ATTR_LINEAR_FORWARD_TABLE:
		return switch_attr(port, smp, softib_get_lft);
	case IB_SMP_ATTR_MCAST_FORWARD_TABLE:
		return switch_attr(port, smp, softib_get_mft);
	default:
		return BAD_ATTR;
	}
}

static u16 set_attr(struct softib_port *port, struct ib_smp *smp)
{
	switch (smp->attr_id) {
	case IB_SMP_ATTR_GUID_INFO:
		return set_guid_info(port, smp);
	case IB_SMP_ATTR_PORT_INFO:
		return set_port_info(port, smp);
	case IB_SMP_ATTR_PKEY_TABLE:
		return set_pkey_table(port, smp);
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
	case IB_SMP_ATTR_VL_ARB_TABLE:
		return OK;
	case IB_SMP_ATTR_SWITCH_INFO:
		return switch_attr(port, smp, softib_set_switch_info);
	case IB_SMP_ATTR_LINEAR_FORWARD_TABLE:
		return switch_attr(port, smp, softib_set_lft);
	case IB_SMP_ATTR_MCAST_FORWARD_TABLE:
		return switch_attr(port, smp, softib_set_mft);
	default:
		return BAD_ATTR;
	}
}

/*
 * M_Key protection, IBA 14.2.4: a manager that does not know the key may not write, nor at the
 * higher levels read. After a lease period without the right key the protection ends.
 */
static bool mkey_ok(struct softib_port *port, const struct ib_smp *smp)
{
	struct softib_port *guard = softib_mgmt_port(port);
	struct ib_port_info *info = &guard->info;
	unsigned int lease = be16_to_cpu(info->mkey_lease_period);

	if (guard->mkey_expiry && time_after(jiffies, guard->mkey_expiry)) {
		info->mkeyprot_resv_lmc &= 0x3f;
		guard->mkey_expiry = 0;
	}
	if (!info->mkey || smp->mkey == info->mkey) {
		guard->mkey_expiry = 0;
		return true;
	}
	if (smp->method == IB_MGMT_METHOD_GET &&
	    info->mkeyprot_resv_lmc >> 6 < 2)
		return true;
	if (info->mkey_violations != cpu_to_be16(U16_MAX))
		be16_add_cpu(&info->mkey_violations, 1);
	if (lease && !guard->mkey_expiry)
		guard->mkey_expiry = (jiffies + lease * HZ) | 1;
	return false;
}

static bool is_sm(struct softib_port *port)
{
	struct ib_port_info info = {};

	if (port->node->ops->port_fill)
		port->node->ops->port_fill(port, &info);
	return info.cap_mask & cpu_to_be32(IB_PORT_SM);
}

static enum softib_sma_result handle(struct softib_port *port,
				     struct ib_smp *smp, u16 *status)
{
	bool repress = smp->method == IB_MGMT_METHOD_TRAP_REPRESS;
	bool set = smp->method == IB_MGMT_METHOD_SET;

	/* Responses and traps are a manager's business. */
	if (smp->method != IB_MGMT_METHOD_GET && !set && !repress)
		return SOFTIB_SMA_PASS;
	if (smp->base_version != IB_MGMT_BASE_VERSION ||
	    smp->class_version != SMP_CLASS_VERSION) {
		*status = BAD_VERSION;
		return SOFTIB_SMA_REPLY;
	}
	if (smp->attr_id == IB_SMP_ATTR_SM_INFO && is_sm(port))
		return SOFTIB_SMA_PASS;
	if (!mkey_ok(port, smp))
		return SOFTIB_SMA_DROP;
	if (repress) {
		softib_trap_repress(port->node, smp);
		return SOFTIB_SMA_DROP;
	}

	*status = set ? set_attr(port, smp) : OK;
	if (*status != BAD_ATTR) {
		u16 get_status = get_attr(port, smp);

		*status = *status ?: get_status;
	}
	return SOFTIB_SMA_REPLY;
}

/*
 * Answers a subnet management packet that came in by @port: @smp becomes the response. Directed
 * routes are the caller's business, but for the direction bit.
 */
enum softib_sma_result softib_sma(struct softib_port *port,
				  struct ib_smp *smp)
{
	enum softib_sma_result result;
	unsigned long flags;
	u16 status = OK;

	spin_lock_irqsave(&softib_mgmt_lock, flags);
	result = handle(port, smp, &status);
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);

	if (result == SOFTIB_SMA_REPLY) {
		smp->method = IB_MGMT_METHOD_GET_RESP;
		smp->status = cpu_to_be16(status);
		if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
			smp->status |= IB_SMP_DIRECTION;
	}
	return result;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A switch: forwarding by the tables that the subnet manager wrote (IBA 18.2),
 * directed routes (14.2.2), and its own management agents
 */
#include <linux/vmalloc.h>
#include <rdma/ib_pma.h>

#include "softib.h"

static struct softib_port *external_port(struct softib_switch *sw, u8 num)
{
	if (!num || num > sw->node.nports)
		return NULL;
	return &sw->node.ports[num];
}

static void relay_error(struct softib_port *in, struct sk_buff *skb)
{
	softib_count(in, SOFTIB_RELAY_ERRORS, 1);
	kfree_skb(skb);
}

static void forward(struct softib_switch *sw, struct softib_port *in,
		    struct sk_buff *skb)
{
	u16 dlid = softib_dlid(skb);
	struct softib_port *out = NULL;

	if (dlid && dlid <= be16_to_cpu(READ_ONCE(sw->info.linear_fdb_top)))
		out = external_port(sw, READ_ONCE(sw->lft[dlid]));
	if (out)
		softib_link_xmit(out, skb);
	else
		relay_error(in, skb);
}

static void replicate(struct softib_switch *sw, struct softib_port *in,
		      u8 num, struct sk_buff *skb)
{
	struct softib_port *out = external_port(sw, num);
	struct sk_buff *copy;

	if (!out || out == in)
		return;
	copy = skb_clone(skb, GFP_ATOMIC);
	if (copy)
		softib_link_xmit(out, copy);
	else
		softib_count(out, SOFTIB_XMIT_DISCARDS, 1);
}

static void forward_mcast(struct softib_switch *sw, struct softib_port *in,
			  struct sk_buff *skb)
{
	unsigned int i = softib_dlid(skb) - be16_to_cpu(IB_MULTICAST_LID_BASE);
	unsigned int position, bit;
	bool found = false;

	for (position = 0; position < sw->positions; position++) {
		unsigned long mask = READ_ONCE(sw->mft[position][i]);

		found |= mask;
		for_each_set_bit(bit, &mask, 16)
			replicate(sw, in, position * 16 + bit, skb);
	}
	if (!found) {
		u8 num = READ_ONCE(sw->info.default_mcast_primary);

		if (num == in->num)
			num = READ_ONCE(sw->info.default_mcast_not_primary);
		replicate(sw, in, num, skb);
	}
	consume_skb(skb);
}

/*
 * Next hop of a request, C14-9; port 0 stands for the switch itself. The sender of the SMP has
 * moved the hop pointer on already.
 */
static struct softib_port *dr_request(struct softib_switch *sw,
				      struct softib_port *in,
				      struct ib_smp *smp)
{
	if (!smp->hop_ptr || smp->hop_ptr > smp->hop_cnt)
		return NULL;
	smp->return_path[smp->hop_ptr] = in->num;
	if (smp->hop_ptr++ == smp->hop_cnt)
		return &sw->node.ports[0];
	return external_port(sw, smp->initial_path[smp->hop_ptr]);
}

/*
 * Next hop of a response, C14-13. No subnet manager lives in a switch here, so a response that ends
 * at the switch is dropped.
 */
static struct softib_port *dr_response(struct softib_switch *sw,
				       struct ib_smp *smp)
{
	if (smp->hop_ptr < 2 || smp->hop_ptr > smp->hop_cnt + 1)
		return NULL;
	return external_port(sw, smp->return_path[--smp->hop_ptr]);
}

/* Directed routes only: a route that begins or ends with one by LID is not
 * supported, and nothing uses it.
 */
static struct softib_port *route_smp(struct softib_switch *sw,
				     struct softib_port *in,
				     struct ib_smp *smp)
{
	struct softib_port *out;

	if (smp->mgmt_class != IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE ||
	    smp->dr_slid != IB_LID_PERMISSIVE ||
	    smp->dr_dlid != IB_LID_PERMISSIVE ||
	    smp->hop_cnt >= IB_SMP_MAX_PATH_HOPS)
		return NULL;
	if (ib_get_smp_direction(smp))
		return dr_response(sw, smp);
	out = dr_request(sw, in, smp);
	if (out != &sw->node.ports[0])
		return out;
	if (softib_sma(in, smp) != SOFTIB_SMA_REPLY)
		return NULL;
	return dr_response(sw, smp);
}

/* Where an SMP goes next, or NULL. It is off the stack when it goes there: it
 * may find sixteen switches in a row.
 */
static noinline_for_stack struct softib_port *
process_dr(struct softib_switch *sw, struct softib_port *in,
	   struct sk_buff *skb)
{
	struct softib_port *out;
	struct softib_pkt pkt;
	struct ib_smp smp;
	bool request;

	if (softib_vl(skb) != SOFTIB_VL_SMP || !softib_get_mad(skb, &pkt, 0, &smp))
		return NULL;
	request = !ib_get_smp_direction(&smp);
	out = route_smp(sw, in, &smp);
	if (!out)
		return NULL;
	/* An answer of the switch is a packet that no link has seen. */
	if (request && ib_get_smp_direction(&smp))
		softib_cb(skb)->captured = false;
	memcpy(pkt.payload, &smp, sizeof(smp));
	return out;
}

static void receive_dr(struct softib_switch *sw, struct softib_port *in,
		       struct sk_buff *skb)
{
	struct softib_port *out = process_dr(sw, in, skb);

	if (out)
		softib_link_xmit(out, skb);
	else
		relay_error(in, skb);
}

/* What is for the switch's own LID: SMPs and performance queries. Returns false
 * if there is no answer.
 */
static noinline_for_stack bool process_own(struct softib_switch *sw,
					   struct softib_port *in,
					   struct sk_buff *skb)
{
	union {
		struct ib_smp smp;
		struct ib_pma_mad pma;
	} mad;
	struct softib_pkt pkt;

	if (softib_vl(skb) == SOFTIB_VL_SMP) {
		if (!softib_get_mad(skb, &pkt, 0, &mad) ||
		    mad.smp.mgmt_class != IB_MGMT_CLASS_SUBN_LID_ROUTED ||
		    softib_sma(in, &mad.smp) != SOFTIB_SMA_REPLY)
			return false;
	} else {
		if (!softib_get_mad(skb, &pkt, 1, &mad) ||
		    ib_get_qkey(pkt.bth) != IB_QP1_QKEY ||
		    !softib_pma(&sw->node.ports[0], &mad.pma))
			return false;
	}
	memcpy(pkt.payload, &mad, sizeof(mad));
	softib_pkt_reverse(skb, &pkt);
	return true;
}

static void receive_own(struct softib_switch *sw, struct softib_port *in,
			struct sk_buff *skb)
{
	if (process_own(sw, in, skb))
		forward(sw, in, skb);
	else
		kfree_skb(skb);
}

static void switch_receive(struct softib_port *in, struct sk_buff *skb)
{
	struct softib_switch *sw = node_to_switch(in->node);
	u16 dlid = softib_dlid(skb);

	/* Tables that lead in a circle would never let go of it. */
	if (++softib_cb(skb)->hops > SOFTIB_MAX_HOPS)
		relay_error(in, skb);
	else if (dlid == be16_to_cpu(IB_LID_PERMISSIVE))
		receive_dr(sw, in, skb);
	else if (softib_lid_is_mcast(dlid))
		forward_mcast(sw, in, skb);
	else if (softib_port_has_lid(&sw->node.ports[0], dlid))
		receive_own(sw, in, skb);
	else
		forward(sw, in, skb);
}

static void switch_send(struct softib_node *node, struct sk_buff *skb)
{
	forward(node_to_switch(node), &node->ports[0], skb);
}

static const char *switch_get_desc(struct softib_node *node)
{
	return node_to_switch(node)->desc;
}

static void switch_port_fill(struct softib_port *port,
			     struct ib_port_info *info)
{
	if (!port->num)
		info->cap_mask = cpu_to_be32(IB_PORT_TRAP_SUP | SOFTIB_SPEEDS_SUP);
}

static const struct softib_node_ops switch_ops = {
	.receive = switch_receive,
	.send = switch_send,
	.get_desc = switch_get_desc,
	.port_fill = switch_port_fill,
};

static void switch_free(struct softib_switch *sw)
{
	int i;

	for (i = 0; sw->node.ports && i <= sw->node.nports; i++)
		softib_port_free(&sw->node.ports[i]);
	kfree(sw->node.ports);
	vfree(sw);
}

/*
 * Makes a switch with @nports external ports, and adds it to the fabric. @guid: of the node, and of
 * all its ports. softib_topology is held. Returns the switch's node or an error pointer.
 */
struct softib_node *softib_switch_create(const char *name, u64 guid,
					 unsigned int nports)
{
	unsigned int positions = DIV_ROUND_UP(nports + 1, 16);
	struct softib_switch *sw;
	int i, ret = -ENOMEM;

	sw = vzalloc(struct_size(sw, mft, positions));
	if (!sw)
		return ERR_PTR(-ENOMEM);
	sw->positions = positions;
	strscpy(sw->node.name, name, sizeof(sw->node.name));
	sw->node.ops = &switch_ops;
	sw->node.type = RDMA_NODE_IB_SWITCH;
	sw->node.nports = nports;
	sw->node.guid = cpu_to_be64(guid);
	softib_traps_init(&sw->node);
	strscpy(sw->desc, name, sizeof(sw->desc));
	memset(sw->lft, SOFTIB_NO_PORT, sizeof(sw->lft));
	sw->info.linear_fdb_cap = cpu_to_be16(SOFTIB_LFT_SIZE);
	sw->info.multicast_fdb_cap = cpu_to_be16(SOFTIB_MFT_SIZE - 1);
	sw->info.default_mcast_primary = SOFTIB_NO_PORT;
	sw->info.default_mcast_not_primary = SOFTIB_NO_PORT;

	sw->node.ports = kcalloc(nports + 1, sizeof(*sw->node.ports),
				 GFP_KERNEL);
	if (!sw->node.ports)
		goto err;
	for (i = 0; i <= nports; i++)
		if (softib_port_init(&sw->node.ports[i], &sw->node, i, guid))
			goto err;
	ret = softib_node_add(&sw->node);
	if (ret)
		goto err;
	return &sw->node;
err:
	switch_free(sw);
	return ERR_PTR(ret);
}

/* Takes a switch out of the fabric and frees it. softib_topology is held. */
void softib_switch_destroy(struct softib_node *node)
{
	softib_node_remove(node);
	switch_free(node_to_switch(node));
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What rules say, and to whom.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "front/sock/policy.h"

/*
 * @port: of the call; zero if a listener has none yet.  Returns a bit for the rule's SDP_RULE_*, or
 * zero if the rule does not cover the call.
 */
u32 sdp_say_said(const struct sdp_say *say, u32 call, u16 port)
{
	bool every = true;
	unsigned int i;

	if (!(say->calls & call))
		return 0;
	for (i = 0; i < SDP_RULE_PORTS; i++) {
		if (!say->ports[i].first)
			continue;
		if (port >= say->ports[i].first && port <= say->ports[i].last)
			return BIT(say->verdict);
		every = false;
	}
	return every ? BIT(say->verdict) : 0;
}

/* Is @ns, which the caller holds, @top or inside it?  @top is only compared. */
bool sdp_userns_below(const struct user_namespace *ns, const struct user_namespace *top)
{
	for (; ns; ns = ns->parent)
		if (ns == top)
			return true;
	return false;
}

static bool sdp_ports_valid(const struct sdp_ports *ports)
{
	return ports->first ? ports->last >= ports->first : !ports->last;
}

static bool sdp_rule_valid(const struct sdp_rule *arg)
{
	unsigned int i;

	if (arg->reserved || (arg->calls & ~(SDP_RULE_CONNECT | SDP_RULE_LISTEN)) ||
	    arg->verdict > SDP_RULE_ONLY || !arg->calls != !arg->verdict)
		return false;
	if (arg->scope == SDP_RULE_PROCESS ? arg->fd : arg->scope > SDP_RULE_USER)
		return false;
	for (i = 0; i < SDP_RULE_PORTS; i++)
		if (!sdp_ports_valid(&arg->ports[i]))
			return false;
	return true;
}

/* SDP_IOC_RULE. */
int sdp_rule_set(const struct sdp_rule *arg)
{
	struct sdp_say say = { .verdict = arg->verdict, .calls = arg->calls };

	if (!sdp_rule_valid(arg))
		return -EINVAL;
	memcpy(say.ports, arg->ports, sizeof(say.ports));
	if (arg->scope == SDP_RULE_PROCESS)
		return sdp_tree_set(&say);
	if (arg->scope == SDP_RULE_USER)
		return sdp_user_set(arg->fd, &say);
	return sdp_group_set(arg->fd, &say);
}

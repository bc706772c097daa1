// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of what has happened in a network namespace, for /proc/net/sdp/snmp.  Each processor
 * counts for itself, and a reader adds them up.
 */
#include <linux/percpu.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "core/core.h"

struct sdp_counters {
	unsigned long n[SDP_CNT_MAX];
};

/* Of a namespace, as long as it lives. */
struct sdp_count_net {
	struct sdp_counters __percpu *here;
};

static unsigned int sdp_count_net_id;

/* The caller holds @net. */
void sdp_count(const struct net *net, enum sdp_counter which)
{
	const struct sdp_count_net *cn = net_generic(net, sdp_count_net_id);

	this_cpu_inc(cn->here->n[which]);
}

/* As sdp_count(), of @n at once. */
void sdp_count_add(const struct net *net, enum sdp_counter which, unsigned long n)
{
	const struct sdp_count_net *cn = net_generic(net, sdp_count_net_id);

	this_cpu_add(cn->here->n[which], n);
}

unsigned long sdp_counter(const struct net *net, enum sdp_counter which)
{
	const struct sdp_count_net *cn = net_generic(net, sdp_count_net_id);
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(cn->here, cpu)->n[which]);
	return sum;
}

static int __net_init sdp_count_net_start(struct net *net)
{
	struct sdp_count_net *cn = net_generic(net, sdp_count_net_id);

	cn->here = alloc_percpu_gfp(struct sdp_counters, GFP_KERNEL_ACCOUNT);
	return cn->here ? 0 : -ENOMEM;
}

static void __net_exit sdp_count_net_end(struct net *net)
{
	struct sdp_count_net *cn = net_generic(net, sdp_count_net_id);

	free_percpu(cn->here);
}

static struct pernet_operations sdp_count_net_ops = {
	.init	= sdp_count_net_start,
	.exit	= sdp_count_net_end,
	.id	= &sdp_count_net_id,
	.size	= sizeof(struct sdp_count_net),
};

/* Before all else that belongs to a namespace, and sdp_count_exit() behind it. */
int sdp_count_init(void)
{
	return register_pernet_subsys(&sdp_count_net_ops);
}

void sdp_count_exit(void)
{
	unregister_pernet_subsys(&sdp_count_net_ops);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/sys/net/sdp in every network namespace.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "compat.h"
#include "offload/avoid.h"
#include "offload/net.h"

static unsigned int sdp_net_id;
static DEFINE_MUTEX(sdp_net_lock);
static int (*sdp_net_attach)(bool on);

/* The caller holds the namespace.  Any context. */
struct sdp_net *sdp_net(const struct net *net)
{
	return net_generic(net, sdp_net_id);
}

/*
 * A setting that costs the host something.  In a user's own namespace the host's setting bounds
 * it; 0: no bound.
 */
static unsigned int sdp_net_bounded(const struct net *net, unsigned int own, unsigned int most)
{
	if (net->user_ns == &init_user_ns || !most)
		return own;
	return own ? min(own, most) : most;
}

unsigned int sdp_net_joins(const struct net *net)
{
	return sdp_net_bounded(net, READ_ONCE(sdp_net(net)->joins),
			       READ_ONCE(sdp_net(&init_net)->joins));
}

unsigned int sdp_net_only_wait(const struct net *net)
{
	return sdp_net_bounded(net, READ_ONCE(sdp_net(net)->only_wait),
			       READ_ONCE(sdp_net(&init_net)->only_wait));
}

unsigned int sdp_net_idle(const struct net *net)
{
	return sdp_net_bounded(net, READ_ONCE(sdp_net(net)->idle),
			       READ_ONCE(sdp_net(&init_net)->idle));
}

static int sdp_net_switch(struct sdp_net *sn, unsigned int attach)
{
	int err;

	if (!sn->attach == !attach)
		return 0;
	err = sdp_net_attach(attach);
	if (!err)
		WRITE_ONCE(sn->attach, attach);
	return err;
}

static int sdp_net_attach_file(compat_ctl_table *table, int write, void *buffer,
			       size_t *lenp, loff_t *ppos)
{
	struct sdp_net *sn = container_of(table->data, struct sdp_net, attach);
	struct ctl_table copy = *table;
	unsigned int attach;
	int err;

	mutex_lock(&sdp_net_lock);
	attach = sn->attach;
	copy.data = &attach;
	err = proc_douintvec_minmax(&copy, write, buffer, lenp, ppos);
	if (!err && write)
		err = sdp_net_switch(sn, attach);
	mutex_unlock(&sdp_net_lock);
	return err;
}

static const unsigned int sdp_net_most_touch = 3600;
static const unsigned int sdp_net_most = INT_MAX;

#define SDP_NET_FILE(name, handler, least, most)	\
	{						\
		.procname = #name,			\
		.data = (void *)offsetof(struct sdp_net, name),	\
		.maxlen = sizeof(unsigned int),		\
		.mode = 0644,				\
		.proc_handler = handler,		\
		.extra1 = least,			\
		.extra2 = (void *)(most),		\
	}

/* Their data are offsets into struct sdp_net.  Older kernels look for the empty one. */
static const struct ctl_table sdp_net_table[] = {
	SDP_NET_FILE(attach, sdp_net_attach_file, SYSCTL_ZERO, SYSCTL_ONE),
	SDP_NET_FILE(move_messages, proc_douintvec_minmax, SYSCTL_ZERO, &sdp_net_most),
	SDP_NET_FILE(move_bytes, proc_douintvec_minmax, SYSCTL_ZERO, &sdp_net_most),
	SDP_NET_FILE(touch, proc_douintvec_minmax, SYSCTL_ONE, &sdp_net_most_touch),
	SDP_NET_FILE(capture, proc_douintvec_minmax, SYSCTL_ZERO, SYSCTL_ONE),
	SDP_NET_FILE(direct, proc_douintvec_minmax, SYSCTL_ZERO, SYSCTL_ONE),
	SDP_NET_FILE(zcopy, proc_douintvec_minmax, SYSCTL_ZERO, &sdp_net_most),
	SDP_NET_FILE(only_wait, proc_douintvec_minmax, SYSCTL_ONE, &sdp_net_most_touch),
	{
		.procname = "carriers",
		.data = (void *)offsetof(struct sdp_net, order),
		.mode = 0644,
		.proc_handler = sdp_order_file,
	},
	SDP_NET_FILE(idle, proc_douintvec_minmax, SYSCTL_ZERO, &sdp_net_most_touch),
	SDP_NET_FILE(joins, proc_douintvec_minmax, SYSCTL_ZERO, &sdp_net_most),
	{ }
};

static int __net_init sdp_net_start(struct net *net)
{
	const unsigned int files = ARRAY_SIZE(sdp_net_table) - 1;
	struct sdp_net *sn = sdp_net(net);
	unsigned int i;

	sn->move_messages = 8;
	sn->move_bytes = 65536;
	sn->touch = 10;
	sn->capture = 1;
	sn->zcopy = 65536;
	sn->only_wait = 5;
	sn->idle = 30;
	sn->joins = 200;

	sn->table = kmemdup(sdp_net_table, sizeof(sdp_net_table), GFP_KERNEL_ACCOUNT);
	if (!sn->table)
		return -ENOMEM;
	for (i = 0; i < files; i++)
		sn->table[i].data = (void *)sn + (unsigned long)sn->table[i].data;
	sn->header = register_net_sysctl_sz(net, "net/sdp", sn->table, files);
	if (!sn->header) {
		kfree(sn->table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit sdp_net_end(struct net *net)
{
	struct sdp_net *sn = sdp_net(net);

	unregister_net_sysctl_table(sn->header);
	kfree(sn->table);
	sdp_avoid_free(sn->avoid);
	sdp_order_free(sn);
	mutex_lock(&sdp_net_lock);
	sdp_net_switch(sn, 0);
	mutex_unlock(&sdp_net_lock);
}

static struct pernet_operations sdp_net_ops = {
	.init	= sdp_net_start,
	.exit	= sdp_net_end,
	.id	= &sdp_net_id,
	.size	= sizeof(struct sdp_net),
};

/*
 * @attach(true) is called when a namespace begins to attach all of its sockets, and a negative
 * errno refuses that; @attach(false) when it ends.  Both may sleep.
 */
int sdp_net_init(int (*attach)(bool on))
{
	sdp_net_attach = attach;
	return register_pernet_subsys(&sdp_net_ops);
}

void sdp_net_exit(void)
{
	unregister_pernet_subsys(&sdp_net_ops);
}

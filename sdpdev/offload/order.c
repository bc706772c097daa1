// SPDX-License-Identifier: GPL-2.0
/*
 * Which kinds of carriers a network namespace uses, and in which order: net.sdp.carriers.
 *
 * The name of a kind that is not registered waits for its module.
 */
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>

#include "offload/lane.h"
#include "offload/net.h"

#define SDP_ORDER_KINDS		8
#define SDP_ORDER_NAME		16
#define SDP_ORDER_LEN		(SDP_ORDER_KINDS * SDP_ORDER_NAME)

/**
 * struct sdp_order - an order that was set; it does not change
 * @count: of the kinds
 * @name: their names
 * @rcu: for readers of sdp_net.order
 */
struct sdp_order {
	unsigned int count;
	char name[SDP_ORDER_KINDS][SDP_ORDER_NAME];
	struct rcu_head rcu;
};

/* For changes of all namespaces' orders. */
static DEFINE_MUTEX(sdp_order_lock);

static int sdp_order_parse(struct sdp_order *order, char *text)
{
	char *word;

	while ((word = strsep(&text, " \t\n,"))) {
		if (!*word)
			continue;
		if (order->count == SDP_ORDER_KINDS)
			return -E2BIG;
		if (strscpy(order->name[order->count++], word, SDP_ORDER_NAME) < 0)
			return -EINVAL;
	}
	return 0;
}

/* An empty order is none: all kinds, by their ranks. */
static int sdp_order_set(struct sdp_net *sn, char *text)
{
	struct sdp_order *order = kzalloc(sizeof(*order), GFP_KERNEL_ACCOUNT), *old;
	int err = order ? sdp_order_parse(order, text) : -ENOMEM;

	if (err || !order->count) {
		kfree(order);
		order = NULL;
	}
	if (err)
		return err;
	old = rcu_replace_pointer(sn->order, order, lockdep_is_held(&sdp_order_lock));
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

static void sdp_order_show(const struct sdp_net *sn, char *text, size_t size)
{
	const struct sdp_order *order;
	unsigned int i;
	int len = 0;

	order = rcu_dereference_protected(sn->order, lockdep_is_held(&sdp_order_lock));
	for (i = 0; order && i < order->count; i++)
		len += scnprintf(text + len, size - len, "%s%s", i ? " " : "", order->name[i]);
}

int sdp_order_file(compat_ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	char text[SDP_ORDER_LEN] = "";
	struct ctl_table copy = { .data = text, .maxlen = sizeof(text) };
	struct sdp_net *sn = container_of(table->data, struct sdp_net, order);
	int err;

	mutex_lock(&sdp_order_lock);
	/* A write that goes on where another one ended changes nothing. */
	sdp_order_show(sn, text, sizeof(text));
	err = proc_dostring(&copy, write, buffer, lenp, ppos);
	if (!err && write)
		err = sdp_order_set(sn, text);
	mutex_unlock(&sdp_order_lock);
	return err;
}

void sdp_order_free(struct sdp_net *sn)
{
	kfree(rcu_access_pointer(sn->order));
}

bool sdp_order_has(const struct net *net, const struct sdp_carrier_ops *ops)
{
	const struct sdp_order *order;
	bool has = true;
	unsigned int i;

	rcu_read_lock();
	order = rcu_dereference(sdp_net(net)->order);
	if (unlikely(order)) {
		has = false;
		for (i = 0; i < order->count; i++)
			has |= !strcmp(order->name[i], ops->name);
	}
	rcu_read_unlock();
	return has;
}

/*
 * The kinds in the order in which a namespace uses them, &sdp_carrier_local among them; NULL behind
 * the last one.  @at is zero at first, and counts on.  The caller puts the module of each.
 */
const struct sdp_carrier_ops *sdp_order_next(const struct net *net, unsigned int *at)
{
	const struct sdp_carrier_ops *ops = NULL;
	const struct sdp_order *order;

	rcu_read_lock();
	order = rcu_dereference(sdp_net(net)->order);
	if (!order)
		ops = sdp_carrier_next(at);
	while (order && !ops && *at < order->count)
		ops = sdp_carrier_named(order->name[(*at)++]);
	rcu_read_unlock();
	return ops;
}

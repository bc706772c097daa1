// SPDX-License-Identifier: GPL-2.0
/*
 * Which kinds of carriers a network namespace uses, and in which order: net.sdp.carriers.
 *
 * Names of kinds that nobody has registered wait for their module.
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

/* An empty one is none. */
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

/**
 * sdp_order_file() - net.sdp.carriers is read or written
 * @table: its @data is the namespace's settings
 * @write: as proc_handler has it
 * @buffer: likewise
 * @lenp: likewise
 * @ppos: likewise
 */
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

/**
 * sdp_order_free() - a namespace has no order any more, nor anything else
 * @sn: its settings
 */
void sdp_order_free(struct sdp_net *sn)
{
	kfree(rcu_access_pointer(sn->order));
}

/**
 * sdp_order_has() - does a namespace use a kind of carrier?
 * @net: the namespace
 * @ops: the kind
 *
 * Context: any.
 */
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

/**
 * sdp_order_next() - the kinds in the order in which a namespace uses them
 * @net: the namespace
 * @at: zero at first; counts on
 *
 * Return: the kind, whose module the caller puts, or &sdp_carrier_local; NULL behind the last one.
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

// SPDX-License-Identifier: GPL-2.0
/*
 * The transports that are registered, and the ports on which all of them listen.
 */
#include <linux/completion.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "core/core.h"
#include "transport/registry.h"

/* Transports at a time; each is a bit of struct sdp_xprt_port.heard. */
#define SDP_XPRT_MAX	8

/**
 * struct sdp_xprt - a transport that is registered
 * @list: in the list of all; sdp_xprt_mutex, and RCU for readers
 * @rcu: frees it
 * @ops: the transport
 * @bit: its number
 * @ref: one until it is being unregistered, and one of each connection
 * @going: it is being unregistered: no new references
 * @gone: @ref is zero
 */
struct sdp_xprt {
	struct list_head list;
	struct rcu_head rcu;
	const struct sdp_xprt_ops *ops;
	unsigned int bit;
	refcount_t ref;
	bool going;
	struct completion gone;
};

/**
 * struct sdp_xprt_port - a port of a namespace on which the protocol listens
 * @node: in the table of all
 * @net: the namespace, which the listeners hold
 * @port: host byte order
 * @count: how many listen there
 * @heard: by its number, each transport whose listen() returned zero
 *
 * Under sdp_xprt_mutex; lives as long as there are listeners.
 */
struct sdp_xprt_port {
	struct hlist_node node;
	struct net *net;
	u16 port;
	unsigned int count;
	unsigned long heard;
};

static DEFINE_MUTEX(sdp_xprt_mutex);
static LIST_HEAD(sdp_xprts);
static DEFINE_HASHTABLE(sdp_xprt_ports, 8);

/* What the protocol gives to every transport; set once. */
static const struct sdp_xprt_upcalls *sdp_xprt_up;

/* The protocol, which gets the transports' events. */
void sdp_xprt_init(const struct sdp_xprt_upcalls *up)
{
	sdp_xprt_up = up;
}

/* --- references --------------------------------------------------------------- */

/* Context: sdp_xprt_mutex or rcu_read_lock() held. */
static struct sdp_xprt *sdp_xprt_find(const struct sdp_xprt_ops *ops)
{
	struct sdp_xprt *xprt;

	list_for_each_entry_rcu(xprt, &sdp_xprts, list, lockdep_is_held(&sdp_xprt_mutex))
		if (xprt->ops == ops)
			return xprt;
	return NULL;
}

static bool sdp_xprt_tryget(struct sdp_xprt *xprt)
{
	/* One that starts to leave just now ends the caller's connection soon. */
	return !READ_ONCE(xprt->going) && refcount_inc_not_zero(&xprt->ref);
}

static void sdp_xprt_drop(struct sdp_xprt *xprt)
{
	if (refcount_dec_and_test(&xprt->ref))
		complete(&xprt->gone);
}

/*
 * A reference to a transport, in any context; false where it is not registered, or is being
 * unregistered.
 */
bool sdp_xprt_get(const struct sdp_xprt_ops *ops)
{
	struct sdp_xprt *xprt;
	bool got;

	rcu_read_lock();
	xprt = sdp_xprt_find(ops);
	got = xprt && sdp_xprt_tryget(xprt);
	rcu_read_unlock();
	return got;
}

/* Drops the reference, in any context. */
void sdp_xprt_put(const struct sdp_xprt_ops *ops)
{
	rcu_read_lock();
	/* It stays in the list at least as long as there are references. */
	sdp_xprt_drop(sdp_xprt_find(ops));
	rcu_read_unlock();
}

/* --- outgoing connections ------------------------------------------------------- */

/* The one behind @prev, whose reference is dropped, or the first; referenced, or NULL. */
static struct sdp_xprt *sdp_xprt_next(struct sdp_xprt *prev)
{
	struct sdp_xprt *xprt = prev;

	rcu_read_lock();
	if (!xprt)
		xprt = list_entry_rcu(sdp_xprts.next, struct sdp_xprt, list);
	else
		xprt = list_entry_rcu(xprt->list.next, struct sdp_xprt, list);
	list_for_each_entry_from_rcu(xprt, &sdp_xprts, list)
		if (sdp_xprt_tryget(xprt))
			break;
	if (&xprt->list == &sdp_xprts)
		xprt = NULL;
	rcu_read_unlock();
	if (prev)
		sdp_xprt_drop(prev);
	return xprt;
}

/*
 * The first transport that takes a connection, in the order of their registration; referenced.  It
 * alone changes @params, as struct sdp_xprt_ops.route says.  NULL without any such transport; or
 * an ERR_PTR: the first error that says more than that the route leaves by another kind of
 * interface, else -EOPNOTSUPP.  In process context.
 */
const struct sdp_xprt_ops *sdp_xprt_route(struct net *net, struct sdp_xprt_params *params)
{
	struct sdp_xprt *xprt = NULL;
	struct sdp_xprt_params found;
	int err, told = 0;

	while ((xprt = sdp_xprt_next(xprt))) {
		if (params->by && params->by != xprt->ops->by)
			continue;
		found = *params;
		err = xprt->ops->route(net, &found);
		if (!err) {
			*params = found;
			return xprt->ops;
		}
		if (!told || told == -EOPNOTSUPP)
			told = err;
	}
	return told ? ERR_PTR(told) : NULL;
}

/*
 * Might a connection that leaves by a device use a transport @by of struct sdp_xprt_ops?  False
 * where sdp_xprt_route() finds none.  In any context.
 */
bool sdp_xprt_takes(const struct net_device *dev, u8 by)
{
	struct sdp_xprt *xprt;
	bool takes = false;

	rcu_read_lock();
	list_for_each_entry_rcu(xprt, &sdp_xprts, list)
		if (xprt->ops->by == by && xprt->ops->takes && xprt->ops->takes(dev)) {
			takes = true;
			break;
		}
	rcu_read_unlock();
	return takes;
}

/* --- ports ------------------------------------------------------------------------ */

static u32 sdp_xprt_port_key(const struct net *net, u16 port)
{
	return hash_ptr(net, 32) ^ port;
}

/* All of these: sdp_xprt_mutex held. */
static struct sdp_xprt_port *sdp_xprt_port_find(const struct net *net, u16 port)
{
	struct sdp_xprt_port *found;

	hash_for_each_possible(sdp_xprt_ports, found, node, sdp_xprt_port_key(net, port))
		if (found->port == port && net_eq(found->net, net))
			return found;
	return NULL;
}

static struct sdp_xprt_port *sdp_xprt_port_make(struct net *net, u16 number)
{
	struct sdp_xprt_port *port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);

	if (!port)
		return NULL;
	port->net = net;
	port->port = number;
	hash_add(sdp_xprt_ports, &port->node, sdp_xprt_port_key(net, number));
	return port;
}

static void sdp_xprt_port_open(struct sdp_xprt_port *port, const struct sdp_xprt *xprt)
{
	int err = xprt->ops->listen(port->net, port->port);

	if (!err)
		__set_bit(xprt->bit, &port->heard);
	else if (err != -EOPNOTSUPP)
		sdp_count(port->net, SDP_CNT_LISTEN_FAILED);
}

static void sdp_xprt_port_close(struct sdp_xprt_port *port, const struct sdp_xprt *xprt)
{
	if (__test_and_clear_bit(xprt->bit, &port->heard))
		xprt->ops->unlisten(port->net, port->port);
}

/*
 * Lets requests for a port in, by every transport there is or will be; one that cannot is counted,
 * and left out.  Listeners share out the addresses among themselves.  The caller holds @net until
 * sdp_xprt_unlisten(), which takes what this returns; NULL without memory.  In process context.
 */
struct sdp_xprt_port *sdp_xprt_listen(struct net *net, u16 number)
{
	struct sdp_xprt_port *port;
	struct sdp_xprt *xprt;

	mutex_lock(&sdp_xprt_mutex);
	port = sdp_xprt_port_find(net, number);
	if (!port) {
		port = sdp_xprt_port_make(net, number);
		if (!port)
			goto out;
		list_for_each_entry(xprt, &sdp_xprts, list)
			if (!xprt->going)
				sdp_xprt_port_open(port, xprt);
	}
	port->count++;
out:
	mutex_unlock(&sdp_xprt_mutex);
	return port;
}

/* The reverse; in process context. */
void sdp_xprt_unlisten(struct sdp_xprt_port *port)
{
	struct sdp_xprt *xprt;

	mutex_lock(&sdp_xprt_mutex);
	if (!--port->count) {
		hash_del(&port->node);
		list_for_each_entry(xprt, &sdp_xprts, list)
			sdp_xprt_port_close(port, xprt);
		kfree(port);
	}
	mutex_unlock(&sdp_xprt_mutex);
}

/* The transports' own counters. */
void sdp_xprt_stats(struct seq_file *seq)
{
	struct sdp_xprt *xprt;

	mutex_lock(&sdp_xprt_mutex);
	list_for_each_entry(xprt, &sdp_xprts, list)
		if (xprt->ops->show_stats)
			xprt->ops->show_stats(seq);
	mutex_unlock(&sdp_xprt_mutex);
}

/* --- registration ----------------------------------------------------------------- */

/* A number for a newcomer, or a negative errno; sdp_xprt_mutex held. */
static int sdp_xprt_admit(const struct sdp_xprt_ops *ops)
{
	unsigned long used = 0;
	struct sdp_xprt *xprt;

	list_for_each_entry(xprt, &sdp_xprts, list) {
		if (xprt->ops == ops || !strcmp(xprt->ops->name, ops->name))
			return -EEXIST;
		__set_bit(xprt->bit, &used);
	}
	return used == BIT(SDP_XPRT_MAX) - 1 ? -ENOSPC : ffz(used);
}

/* Whether one has what its capabilities say, and no more. */
static bool sdp_xprt_agrees(const struct sdp_xprt_ops *ops)
{
	bool mem = ops->caps & SDP_XPRT_CAP_MEM;
	bool read = ops->caps & SDP_XPRT_CAP_READ;
	bool write = ops->caps & SDP_XPRT_CAP_WRITE;
	bool inv = ops->caps & SDP_XPRT_CAP_SEND_INV;

	return !(ops->caps & ~SDP_XPRT_CAPS) && (mem || !(read || write)) &&
	       mem == !!ops->max_mem && mem == !!ops->mem_alloc &&
	       mem == !!ops->mem_free && mem == !!ops->invalidate &&
	       read == !!ops->post_read && write == !!ops->post_write &&
	       inv == !!ops->post_send_inv;
}

int sdp_xprt_register(const struct sdp_xprt_ops *ops, const struct sdp_xprt_upcalls **up)
{
	struct sdp_xprt_port *port;
	struct sdp_xprt *xprt;
	int bit, i;

	if (!sdp_xprt_agrees(ops))
		return -EINVAL;
	xprt = kzalloc(sizeof(*xprt), GFP_KERNEL);
	if (!xprt)
		return -ENOMEM;
	xprt->ops = ops;
	refcount_set(&xprt->ref, 1);
	init_completion(&xprt->gone);

	mutex_lock(&sdp_xprt_mutex);
	bit = sdp_xprt_admit(ops);
	if (bit >= 0) {
		xprt->bit = bit;
		*up = sdp_xprt_up;
		list_add_tail_rcu(&xprt->list, &sdp_xprts);
		hash_for_each(sdp_xprt_ports, i, port, node)
			sdp_xprt_port_open(port, xprt);
	}
	mutex_unlock(&sdp_xprt_mutex);
	if (bit >= 0)
		return 0;
	kfree(xprt);
	return bit;
}
EXPORT_SYMBOL_GPL(sdp_xprt_register);

/* No new connections; returns what is registered as @ops. */
static struct sdp_xprt *sdp_xprt_leave(const struct sdp_xprt_ops *ops)
{
	struct sdp_xprt_port *port;
	struct sdp_xprt *xprt;
	int i;

	mutex_lock(&sdp_xprt_mutex);
	xprt = sdp_xprt_find(ops);
	/* Read alone in sdp_xprt_tryget(): no barrier, see sdp_xprt_unregister(). */
	WRITE_ONCE(xprt->going, true);
	hash_for_each(sdp_xprt_ports, i, port, node)
		sdp_xprt_port_close(port, xprt);
	mutex_unlock(&sdp_xprt_mutex);
	return xprt;
}

void sdp_xprt_unregister(const struct sdp_xprt_ops *ops)
{
	struct sdp_xprt *xprt = sdp_xprt_leave(ops);

	sdp_xprt_drop(xprt);
	/* A connection that began in the last moment is found a bit later. */
	do {
		sdp_xprt_up->gone(ops, NULL);
	} while (!wait_for_completion_timeout(&xprt->gone, HZ / 4));
	mutex_lock(&sdp_xprt_mutex);
	list_del_rcu(&xprt->list);
	mutex_unlock(&sdp_xprt_mutex);
	kfree_rcu(xprt, rcu);
}
EXPORT_SYMBOL_GPL(sdp_xprt_unregister);

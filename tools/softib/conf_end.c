// SPDX-License-Identifier: GPL-2.0
/*
 * An end of a link in configfs: which port it is, or where far away; what
 * befalls the port, and what befalls the packets that it sends
 */
#include <linux/inet.h>
#include <net/ipv6.h>

#include "conf.h"
#include "softib.h"

#define MAX_DELAY	60000000	/* microseconds */

static const char * const state_names[] = {
	[IB_PORT_NOP] = "",
	[IB_PORT_DOWN] = "DOWN",
	[IB_PORT_INIT] = "INIT",
	[IB_PORT_ARMED] = "ARMED",
	[IB_PORT_ACTIVE] = "ACTIVE",
};

static struct softib_conf_end *to_conf_end(struct config_item *item)
{
	return container_of(to_config_group(item), struct softib_conf_end,
			    group);
}

static struct softib_port *end_port(struct softib_conf_end *end)
{
	return end->conf->link.end[end->side];
}

static struct softib_way *item_way(struct config_item *item)
{
	struct softib_conf_end *end = to_conf_end(item);

	return &end->conf->link.way[end->side];
}

static ssize_t end_port_show(struct config_item *item, char *page)
{
	struct softib_conf_end *end = to_conf_end(item);
	int n = 0;

	mutex_lock(&softib_topology);
	if (end->node[0])
		n = sysfs_emit(page, "%s/%u\n", end->node, end->port);
	mutex_unlock(&softib_topology);
	return n;
}

/* An empty line takes back what was said. */
static bool is_empty(const char *page)
{
	return !*page || sysfs_streq(page, "");
}

static ssize_t end_port_store(struct config_item *item, const char *page,
			      size_t count)
{
	struct softib_conf_end *end = to_conf_end(item);
	const char *slash = strchr(page, '/');
	unsigned int port = 0;
	int ret = 0;

	if (is_empty(page)) {
		slash = page;
	} else {
		if (!slash || slash == page || slash - page >= SOFTIB_NAME_LEN)
			return -EINVAL;
		ret = kstrtouint(slash + 1, 10, &port);
		if (ret)
			return ret;
		/* Port 0 is inside a switch. */
		if (!port || port > SOFTIB_MAX_PORTS)
			return -EINVAL;
	}
	mutex_lock(&softib_topology);
	if (softib_link_plugged(&end->conf->link)) {
		ret = -EBUSY;
	} else {
		strscpy(end->node, page, slash - page + 1);
		end->port = port;
	}
	mutex_unlock(&softib_topology);
	return ret ?: count;
}

CONFIGFS_ATTR(end_, port);

static int parse_in(const char *page, struct sockaddr_in *in, const char **end)
{
	if (!in4_pton(page, -1, (u8 *)&in->sin_addr, ':', end) ||
	    ipv4_is_multicast(in->sin_addr.s_addr) ||
	    ipv4_is_lbcast(in->sin_addr.s_addr))
		return -EINVAL;
	in->sin_family = AF_INET;
	return 0;
}

/* Link-local addresses say nothing without an interface. */
static int parse_in6(const char *page, struct sockaddr_in6 *in6,
		     const char **end)
{
	if (!in6_pton(page, -1, in6->sin6_addr.s6_addr, ']', end) ||
	    *(*end)++ != ']' ||
	    ipv6_addr_type(&in6->sin6_addr) &
	    (IPV6_ADDR_MULTICAST | IPV6_ADDR_LINKLOCAL | IPV6_ADDR_MAPPED))
		return -EINVAL;
	in6->sin6_family = AF_INET6;
	return 0;
}

/* ADDRESS:PORT, or [ADDRESS]:PORT for IPv6 */
static int parse_addr(const char *page, union softib_addr *addr)
{
	const char *end;
	u16 port;
	int ret;

	memset(addr, 0, sizeof(*addr));
	if (is_empty(page))
		return 0;
	ret = *page == '[' ? parse_in6(page + 1, &addr->in6, &end) :
			     parse_in(page, &addr->in, &end);
	if (ret)
		return ret;
	if (*end != ':')
		return -EINVAL;
	ret = kstrtou16(end + 1, 10, &port);
	if (ret)
		return ret;
	if (!port)
		return -EINVAL;
	/* It is at the same place in both. */
	addr->in.sin_port = cpu_to_be16(port);
	return 0;
}

static bool is_any(const union softib_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 ?
	       ipv6_addr_any(&addr->in6.sin6_addr) :
	       addr->sa.sa_family && !addr->in.sin_addr.s_addr;
}

static ssize_t show_addr(const union softib_addr *addr, char *page)
{
	union softib_addr copy;

	mutex_lock(&softib_topology);
	copy = *addr;
	mutex_unlock(&softib_topology);
	if (!copy.sa.sa_family)
		return sysfs_emit(page, "\n");
	return sysfs_emit(page, "%pISpc\n", &copy.sa);
}

static int set_addr(struct softib_conf_end *end, union softib_addr *addr,
		    const union softib_addr *value)
{
	int ret = 0;

	mutex_lock(&softib_topology);
	if (softib_link_plugged(&end->conf->link))
		ret = -EBUSY;
	else
		*addr = *value;
	mutex_unlock(&softib_topology);
	return ret;
}

static ssize_t end_udp_bind_show(struct config_item *item, char *page)
{
	return show_addr(&to_conf_end(item)->bind, page);
}

static ssize_t end_udp_bind_store(struct config_item *item, const char *page,
				  size_t count)
{
	struct softib_conf_end *end = to_conf_end(item);
	union softib_addr addr;

	return parse_addr(page, &addr) ?:
	       set_addr(end, &end->bind, &addr) ?: count;
}

CONFIGFS_ATTR(end_, udp_bind);

static ssize_t end_udp_peer_show(struct config_item *item, char *page)
{
	return show_addr(&to_conf_end(item)->peer, page);
}

static ssize_t end_udp_peer_store(struct config_item *item, const char *page,
				  size_t count)
{
	struct softib_conf_end *end = to_conf_end(item);
	union softib_addr addr;
	int ret = parse_addr(page, &addr);

	if (ret)
		return ret;
	if (is_any(&addr))
		return -EINVAL;
	return set_addr(end, &end->peer, &addr) ?: count;
}

CONFIGFS_ATTR(end_, udp_peer);

static ssize_t end_udp_dropped_show(struct config_item *item, char *page)
{
	struct softib_conf_end *end = to_conf_end(item);
	long dropped[SOFTIB_FAR_NDROPS] = {};
	struct softib_far *far;
	int i;

	mutex_lock(&softib_topology);
	far = end->conf->link.far;
	if (far && far->side == end->side)
		for (i = 0; i < SOFTIB_FAR_NDROPS; i++)
			dropped[i] = atomic_long_read(&far->dropped[i]);
	mutex_unlock(&softib_topology);
	return sysfs_emit(page, "foreign %lu\nmalformed %lu\nunsent %lu\n",
			  dropped[SOFTIB_FAR_FOREIGN],
			  dropped[SOFTIB_FAR_MALFORMED],
			  dropped[SOFTIB_FAR_UNSENT]);
}

CONFIGFS_ATTR_RO(end_, udp_dropped);

static ssize_t end_state_show(struct config_item *item, char *page)
{
	struct softib_conf_end *end = to_conf_end(item);
	struct softib_port *port;
	u8 state = IB_PORT_DOWN;

	mutex_lock(&softib_topology);
	port = end_port(end);
	if (port)
		state = READ_ONCE(port->state);
	else if (softib_link_plugged(&end->conf->link))
		state = IB_PORT_NOP;	/* far away: not known */
	mutex_unlock(&softib_topology);
	return sysfs_emit(page, "%s\n", state_names[state]);
}

/* What no manager orders: that a link goes down for a moment, or falls back to
 * where its ports wait for a manager (IBA 7.2.7).
 */
static int fall_back(struct softib_link *link, int state)
{
	struct softib_port *port = link->end[0] ?: link->end[1];
	int i, ret = 0;

	spin_lock_irq(&softib_mgmt_lock);
	if (state != IB_PORT_DOWN && state != IB_PORT_INIT)
		ret = -EINVAL;
	else if (state == IB_PORT_INIT && port->state == IB_PORT_DOWN)
		ret = -ENETDOWN;
	else if (state == IB_PORT_DOWN || link->far)
		softib_link_train(link);
	else
		for (i = 0; i < 2; i++)
			softib_port_set_state(link->end[i], IB_PORT_INIT);
	spin_unlock_irq(&softib_mgmt_lock);
	return ret;
}

static ssize_t end_state_store(struct config_item *item, const char *page,
			       size_t count)
{
	struct softib_link *link = &to_conf_end(item)->conf->link;
	int state = sysfs_match_string(state_names, page);
	int ret = -ENODEV;

	if (state < 0)
		return state;
	mutex_lock(&softib_topology);
	if (softib_link_plugged(link))
		ret = fall_back(link, state);
	mutex_unlock(&softib_topology);
	return ret ?: count;
}

CONFIGFS_ATTR(end_, state);

static ssize_t end_remove_pkey_store(struct config_item *item,
				     const char *page, size_t count)
{
	struct softib_port *port;
	u16 pkey;
	int ret = kstrtou16(page, 0, &pkey);

	if (ret)
		return ret;
	if (!(pkey & 0x7fff))
		return -EINVAL;
	mutex_lock(&softib_topology);
	port = end_port(to_conf_end(item));
	if (!port) {
		ret = -ENODEV;
	} else {
		spin_lock_irq(&softib_mgmt_lock);
		if (!softib_port_remove_pkey(port, pkey))
			ret = -ENOENT;
		spin_unlock_irq(&softib_mgmt_lock);
	}
	mutex_unlock(&softib_topology);
	return ret ?: count;
}

CONFIGFS_ATTR_WO(end_, remove_pkey);

static ssize_t show_fault(struct config_item *item, enum softib_fault fault,
			  char *page)
{
	return sysfs_emit(page, "%u\n",
			  READ_ONCE(item_way(item)->fault[fault]));
}

static ssize_t store_fault(struct config_item *item, enum softib_fault fault,
			   u32 max, const char *page, size_t count)
{
	u32 value;
	int ret = kstrtou32(page, 0, &value);

	if (ret)
		return ret;
	if (value > max)
		return -EINVAL;
	softib_way_set(item_way(item), fault, value);
	return count;
}

static ssize_t end_loss_show(struct config_item *item, char *page)
{
	return show_fault(item, SOFTIB_FAULT_LOSS, page);
}

static ssize_t end_loss_store(struct config_item *item, const char *page,
			      size_t count)
{
	return store_fault(item, SOFTIB_FAULT_LOSS, SOFTIB_MILLION, page,
			   count);
}

CONFIGFS_ATTR(end_, loss);

static ssize_t end_corrupt_show(struct config_item *item, char *page)
{
	return show_fault(item, SOFTIB_FAULT_CORRUPT, page);
}

static ssize_t end_corrupt_store(struct config_item *item, const char *page,
				 size_t count)
{
	return store_fault(item, SOFTIB_FAULT_CORRUPT, SOFTIB_MILLION, page,
			   count);
}

CONFIGFS_ATTR(end_, corrupt);

static ssize_t end_duplicate_show(struct config_item *item, char *page)
{
	return show_fault(item, SOFTIB_FAULT_DUPLICATE, page);
}

static ssize_t end_duplicate_store(struct config_item *item, const char *page,
				   size_t count)
{
	return store_fault(item, SOFTIB_FAULT_DUPLICATE, SOFTIB_MILLION, page,
			   count);
}

CONFIGFS_ATTR(end_, duplicate);

static ssize_t end_reorder_show(struct config_item *item, char *page)
{
	return show_fault(item, SOFTIB_FAULT_REORDER, page);
}

static ssize_t end_reorder_store(struct config_item *item, const char *page,
				 size_t count)
{
	return store_fault(item, SOFTIB_FAULT_REORDER, SOFTIB_MILLION, page,
			   count);
}

CONFIGFS_ATTR(end_, reorder);

static ssize_t end_delay_show(struct config_item *item, char *page)
{
	return show_fault(item, SOFTIB_FAULT_DELAY, page);
}

static ssize_t end_delay_store(struct config_item *item, const char *page,
			       size_t count)
{
	return store_fault(item, SOFTIB_FAULT_DELAY, MAX_DELAY, page, count);
}

CONFIGFS_ATTR(end_, delay);

static ssize_t end_cut_show(struct config_item *item, char *page)
{
	return show_fault(item, SOFTIB_FAULT_CUT, page);
}

static ssize_t end_cut_store(struct config_item *item, const char *page,
			     size_t count)
{
	return store_fault(item, SOFTIB_FAULT_CUT, U32_MAX, page, count);
}

CONFIGFS_ATTR(end_, cut);

static ssize_t end_seed_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(item_way(item)->seed));
}

static ssize_t end_seed_store(struct config_item *item, const char *page,
			      size_t count)
{
	u32 seed;
	int ret = kstrtou32(page, 0, &seed);

	if (ret)
		return ret;
	softib_way_seed(item_way(item), seed);
	return count;
}

CONFIGFS_ATTR(end_, seed);

static ssize_t end_counts_show(struct config_item *item, char *page)
{
	struct softib_way *way = item_way(item);
	u64 count[SOFTIB_NFAULT_COUNTS];

	spin_lock_bh(&way->lock);
	memcpy(count, way->count, sizeof(count));
	spin_unlock_bh(&way->lock);
	return sysfs_emit(page,
			  "packets %llu\nlost %llu\ncorrupted %llu\nduplicated %llu\nreordered %llu\ndelayed %llu\n",
			  count[SOFTIB_FAULT_PASSED],
			  count[SOFTIB_FAULT_LOSS],
			  count[SOFTIB_FAULT_CORRUPT],
			  count[SOFTIB_FAULT_DUPLICATE],
			  count[SOFTIB_FAULT_REORDER],
			  count[SOFTIB_FAULT_DELAY]);
}

CONFIGFS_ATTR_RO(end_, counts);

static struct configfs_attribute *end_attrs[] = {
	&end_attr_port,
	&end_attr_udp_bind,
	&end_attr_udp_peer,
	&end_attr_udp_dropped,
	&end_attr_state,
	&end_attr_remove_pkey,
	&end_attr_loss,
	&end_attr_corrupt,
	&end_attr_duplicate,
	&end_attr_reorder,
	&end_attr_delay,
	&end_attr_cut,
	&end_attr_seed,
	&end_attr_counts,
	NULL
};

const struct config_item_type softib_conf_end_type = {
	.ct_owner = THIS_MODULE,
	.ct_attrs = end_attrs,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * Links and their faults in configfs
 *
 * A directory has one of its own for each end, a and b: which port it is, what
 * befalls the port, and what befalls the packets that it sends.
 */
#include <linux/slab.h>
#include <linux/stringhash.h>

#include "conf.h"
#include "softib.h"

#define MAX_DELAY	1000000		/* microseconds */

/**
 * struct conf_end - the directory of an end of a link
 * @group:	the directory
 * @conf:	the link
 * @side:	which end it is
 * @node:	name of the node whose port it is, or empty
 * @port:	number of the port
 */
struct conf_end {
	struct config_group group;
	struct conf_link *conf;
	u8 side;
	char node[SOFTIB_NAME_LEN];
	unsigned int port;
};

/**
 * struct conf_link - a directory in links
 * @group:	the directory
 * @end:	the directories of its ends
 * @link:	the link
 *
 * softib_topology protects what changes.
 */
struct conf_link {
	struct config_group group;
	struct conf_end end[2];
	struct softib_link link;
};

static const struct {
	const char *name;
	u8 width;
	u8 speed;
} rates[] = {
	{ "2.5", IB_WIDTH_1X, IB_SPEED_SDR },
	{ "5", IB_WIDTH_1X, IB_SPEED_DDR },
	{ "10", IB_WIDTH_4X, IB_SPEED_SDR },
	{ "20", IB_WIDTH_4X, IB_SPEED_DDR },
	{ "40", IB_WIDTH_4X, IB_SPEED_QDR },
};

static const char * const state_names[] = {
	[IB_PORT_DOWN] = "DOWN",
	[IB_PORT_INIT] = "INIT",
	[IB_PORT_ARMED] = "ARMED",
	[IB_PORT_ACTIVE] = "ACTIVE",
};

static struct conf_link *to_conf_link(struct config_item *item)
{
	return container_of(to_config_group(item), struct conf_link, group);
}

static struct conf_end *to_conf_end(struct config_item *item)
{
	return container_of(to_config_group(item), struct conf_end, group);
}

static bool plugged(const struct conf_link *conf)
{
	return conf->link.end[0];
}

/* --- the link ----------------------------------------------------------- */

static struct softib_port *find_port(const struct conf_end *end)
{
	struct softib_node *node;

	if (!end->node[0])
		return ERR_PTR(-EINVAL);
	node = softib_node_find(end->node);
	if (!node || end->port > node->nports)
		return ERR_PTR(-ENODEV);
	return &node->ports[end->port];
}

static int plug(struct conf_link *conf)
{
	struct softib_port *a, *b;

	if (plugged(conf))
		return 0;
	a = find_port(&conf->end[0]);
	if (IS_ERR(a))
		return PTR_ERR(a);
	b = find_port(&conf->end[1]);
	if (IS_ERR(b))
		return PTR_ERR(b);
	return softib_link_plug(&conf->link, a, b);
}

static void unplug(struct conf_link *conf)
{
	if (plugged(conf))
		softib_link_unplug(&conf->link);
}

static ssize_t link_show_enable(struct conf_link *conf, char *page)
{
	return sysfs_emit(page, "%d\n", plugged(conf));
}

static int link_store_enable(struct conf_link *conf, const char *page)
{
	bool on;
	int ret = kstrtobool(page, &on);

	if (ret)
		return ret;
	if (on)
		return plug(conf);
	unplug(conf);
	return 0;
}

CONF_ATTR(link_, enable, to_conf_link);

/* Change what a link is made of; it is trained anew. */
static void change(struct conf_link *conf, bool up, u8 mtu, u8 width, u8 speed)
{
	struct softib_link *link = &conf->link;

	spin_lock_irq(&softib_mgmt_lock);
	if (up != link->up || mtu != link->mtu || width != link->width ||
	    speed != link->speed) {
		link->up = up;
		link->mtu = mtu;
		link->width = width;
		link->speed = speed;
		if (plugged(conf))
			softib_link_train(link);
	}
	spin_unlock_irq(&softib_mgmt_lock);
}

static ssize_t link_show_up(struct conf_link *conf, char *page)
{
	return sysfs_emit(page, "%d\n", conf->link.up);
}

static int link_store_up(struct conf_link *conf, const char *page)
{
	const struct softib_link *link = &conf->link;
	bool up;
	int ret = kstrtobool(page, &up);

	if (!ret)
		change(conf, up, link->mtu, link->width, link->speed);
	return ret;
}

CONF_ATTR(link_, up, to_conf_link);

static ssize_t link_show_mtu(struct conf_link *conf, char *page)
{
	return sysfs_emit(page, "%d\n", ib_mtu_enum_to_int(conf->link.mtu));
}

static int link_store_mtu(struct conf_link *conf, const char *page)
{
	const struct softib_link *link = &conf->link;
	unsigned int mtu;
	int ret = kstrtouint(page, 0, &mtu);

	if (ret)
		return ret;
	if (!softib_mtu_ok(mtu))
		return -EINVAL;
	change(conf, link->up, softib_mtu_enum(mtu), link->width, link->speed);
	return 0;
}

CONF_ATTR(link_, mtu, to_conf_link);

static ssize_t link_show_rate(struct conf_link *conf, char *page)
{
	const struct softib_link *link = &conf->link;
	int i;

	for (i = 0; i < ARRAY_SIZE(rates) - 1; i++)
		if (rates[i].width == link->width &&
		    rates[i].speed == link->speed)
			break;
	return sysfs_emit(page, "%s\n", rates[i].name);
}

static int link_store_rate(struct conf_link *conf, const char *page)
{
	const struct softib_link *link = &conf->link;
	int i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		if (!sysfs_streq(page, rates[i].name))
			continue;
		change(conf, link->up, link->mtu, rates[i].width,
		       rates[i].speed);
		return 0;
	}
	return -EINVAL;
}

CONF_ATTR(link_, rate, to_conf_link);

static struct configfs_attribute *link_attrs[] = {
	&link_attr_enable,
	&link_attr_up,
	&link_attr_mtu,
	&link_attr_rate,
	NULL
};

/* --- its ends ----------------------------------------------------------- */

static ssize_t end_show_port(struct conf_end *end, char *page)
{
	if (!end->node[0])
		return sysfs_emit(page, "\n");
	return sysfs_emit(page, "%s/%u\n", end->node, end->port);
}

static int end_store_port(struct conf_end *end, const char *page)
{
	const char *slash = strchr(page, '/');
	unsigned int port;
	int ret;

	if (!slash || slash == page || slash - page >= SOFTIB_NAME_LEN)
		return -EINVAL;
	ret = kstrtouint(slash + 1, 10, &port);
	if (ret)
		return ret;
	/* Port 0 is inside a switch. */
	if (!port || port > SOFTIB_MAX_PORTS)
		return -EINVAL;
	if (plugged(end->conf))
		return -EBUSY;
	strscpy(end->node, page, slash - page + 1);
	end->port = port;
	return 0;
}

CONF_ATTR(end_, port, to_conf_end);

static ssize_t end_show_state(struct conf_end *end, char *page)
{
	struct softib_port *port = end->conf->link.end[end->side];

	return sysfs_emit(page, "%s\n", state_names[port ? port->state :
						    IB_PORT_DOWN]);
}

/* What no manager orders: that a port loses its link for a moment, or falls
 * back to where it waits for a manager.
 */
static int end_store_state(struct conf_end *end, const char *page)
{
	struct softib_port *port = end->conf->link.end[end->side];
	int ret = 0;

	if (!port)
		return -ENODEV;
	spin_lock_irq(&softib_mgmt_lock);
	if (sysfs_streq(page, state_names[IB_PORT_DOWN]))
		softib_port_retrain(port);
	else if (!sysfs_streq(page, state_names[IB_PORT_INIT]))
		ret = -EINVAL;
	else if (port->state < IB_PORT_INIT)
		ret = -ENETDOWN;
	else
		softib_port_set_state(port, IB_PORT_INIT);
	spin_unlock_irq(&softib_mgmt_lock);
	return ret;
}

CONF_ATTR(end_, state, to_conf_end);

static int end_store_remove_pkey(struct conf_end *end, const char *page)
{
	struct softib_port *port = end->conf->link.end[end->side];
	bool found;
	u16 pkey;
	int ret = kstrtou16(page, 0, &pkey);

	if (ret)
		return ret;
	if (!(pkey & 0x7fff))
		return -EINVAL;
	if (!port)
		return -ENODEV;
	spin_lock_irq(&softib_mgmt_lock);
	found = softib_port_remove_pkey(port, pkey);
	spin_unlock_irq(&softib_mgmt_lock);
	return found ? 0 : -ENOENT;
}

CONF_ATTR_WO(end_, remove_pkey, to_conf_end);

static struct softib_way *end_way(struct conf_end *end)
{
	return &end->conf->link.way[end->side];
}

static int store_fault(struct conf_end *end, enum softib_fault fault, u32 max,
		       const char *page)
{
	u32 value;
	int ret = kstrtou32(page, 0, &value);

	if (ret)
		return ret;
	if (value > max)
		return -EINVAL;
	softib_way_set(end_way(end), fault, value);
	return 0;
}

/* A fault that happens by chance */
#define END_ATTR_PPM(_name, _fault)					\
static ssize_t end_show_##_name(struct conf_end *end, char *page)	\
{									\
	return sysfs_emit(page, "%u\n", end_way(end)->ppm[_fault]);	\
}									\
									\
static int end_store_##_name(struct conf_end *end, const char *page)	\
{									\
	return store_fault(end, _fault, SOFTIB_MILLION, page);		\
}									\
									\
CONF_ATTR(end_, _name, to_conf_end)

END_ATTR_PPM(loss, SOFTIB_FAULT_LOSS);
END_ATTR_PPM(corrupt, SOFTIB_FAULT_CORRUPT);
END_ATTR_PPM(duplicate, SOFTIB_FAULT_DUPLICATE);
END_ATTR_PPM(reorder, SOFTIB_FAULT_REORDER);

static ssize_t end_show_delay(struct conf_end *end, char *page)
{
	return sysfs_emit(page, "%u\n", end_way(end)->delay);
}

static int end_store_delay(struct conf_end *end, const char *page)
{
	return store_fault(end, SOFTIB_FAULT_DELAY, MAX_DELAY, page);
}

CONF_ATTR(end_, delay, to_conf_end);

static ssize_t end_show_seed(struct conf_end *end, char *page)
{
	return sysfs_emit(page, "%u\n", end_way(end)->seed);
}

static int end_store_seed(struct conf_end *end, const char *page)
{
	u32 seed;
	int ret = kstrtou32(page, 0, &seed);

	if (!ret)
		softib_way_seed(end_way(end), seed);
	return ret;
}

CONF_ATTR(end_, seed, to_conf_end);

static ssize_t end_show_counts(struct conf_end *end, char *page)
{
	struct softib_way *way = end_way(end);
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

CONF_ATTR_RO(end_, counts, to_conf_end);

static struct configfs_attribute *end_attrs[] = {
	&end_attr_port,
	&end_attr_state,
	&end_attr_remove_pkey,
	&end_attr_loss,
	&end_attr_corrupt,
	&end_attr_duplicate,
	&end_attr_reorder,
	&end_attr_delay,
	&end_attr_seed,
	&end_attr_counts,
	NULL
};

static const struct config_item_type end_type = {
	.ct_owner = THIS_MODULE,
	.ct_attrs = end_attrs,
};

/* --- the directory links ------------------------------------------------ */

static void link_release(struct config_item *item)
{
	kfree(to_conf_link(item));
}

static struct configfs_item_operations link_ops = {
	.release = link_release,
};

static const struct config_item_type link_type = {
	.ct_owner = THIS_MODULE,
	.ct_item_ops = &link_ops,
	.ct_attrs = link_attrs,
};

/**
 * softib_conf_link_new - make a directory for a link
 * @name:	its name
 *
 * Return: the directory or an error pointer.
 */
struct config_group *softib_conf_link_new(const char *name)
{
	struct conf_link *conf;
	int i;

	if (!softib_conf_name_ok(name))
		return ERR_PTR(-EINVAL);
	conf = kzalloc(sizeof(*conf), GFP_KERNEL);
	if (!conf)
		return ERR_PTR(-ENOMEM);
	softib_link_init(&conf->link);
	config_group_init_type_name(&conf->group, name, &link_type);
	for (i = 0; i < 2; i++) {
		struct conf_end *end = &conf->end[i];

		end->conf = conf;
		end->side = i;
		/* Chance differs from link to link, not from run to run. */
		softib_way_seed(&conf->link.way[i],
				full_name_hash(NULL, name, strlen(name)) + i);
		config_group_init_type_name(&end->group, i ? "b" : "a",
					    &end_type);
		configfs_add_default_group(&end->group, &conf->group);
	}
	return &conf->group;
}

/**
 * softib_conf_link_join - say which ports a link joins, and plug it in
 * @group:	the link's directory; softib_topology is held
 * @a:		name of the node at end a
 * @a_port:	number of its port
 * @b:		name of the node at end b
 * @b_port:	number of its port
 *
 * Return: 0 or an error.
 */
int softib_conf_link_join(struct config_group *group, const char *a,
			  unsigned int a_port, const char *b,
			  unsigned int b_port)
{
	struct conf_link *conf = to_conf_link(&group->cg_item);

	strscpy(conf->end[0].node, a, SOFTIB_NAME_LEN);
	conf->end[0].port = a_port;
	strscpy(conf->end[1].node, b, SOFTIB_NAME_LEN);
	conf->end[1].port = b_port;
	return plug(conf);
}

static struct config_group *make_link(struct config_group *parent,
				      const char *name)
{
	return softib_conf_link_new(name);
}

static void drop_link(struct config_group *parent, struct config_item *item)
{
	mutex_lock(&softib_topology);
	unplug(to_conf_link(item));
	mutex_unlock(&softib_topology);
	config_item_put(item);
}

static struct configfs_group_operations links_ops = {
	.make_group = make_link,
	.drop_item = drop_link,
};

const struct config_item_type softib_conf_links_type = {
	.ct_owner = THIS_MODULE,
	.ct_group_ops = &links_ops,
};

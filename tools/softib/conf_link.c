// SPDX-License-Identifier: GPL-2.0
/*
 * Links in configfs
 *
 * A directory has one of its own for each end, a and b (conf_end.c).
 */
#include <linux/slab.h>
#include <linux/stringhash.h>

#include "conf.h"
#include "softib.h"

/* In Gbit/s */
static const char * const rate_names[] = {
	[SOFTIB_RATE_2_5] = "2.5",
	[SOFTIB_RATE_5] = "5",
	[SOFTIB_RATE_10] = "10",
	[SOFTIB_RATE_20] = "20",
	[SOFTIB_RATE_40] = "40",
	[SOFTIB_RATE_56] = "56",
	[SOFTIB_RATE_100] = "100",
	[SOFTIB_RATE_200] = "200",
	[SOFTIB_RATE_400] = "400",
};

static struct softib_conf_link *to_conf_link(struct config_item *item)
{
	return container_of(to_config_group(item), struct softib_conf_link,
			    group);
}

static struct softib_port *find_port(const struct softib_conf_end *end)
{
	struct softib_node *node;

	if (!end->node[0])
		return ERR_PTR(-EINVAL);
	node = softib_node_find(end->node);
	if (!node || end->port > node->nports)
		return ERR_PTR(-ENODEV);
	return &node->ports[end->port];
}

static int plug(struct softib_conf_link *conf)
{
	const struct softib_conf_end *away = NULL;
	struct softib_port *port[2] = {};
	struct softib_far *far = NULL;
	int i, ret;

	if (softib_link_plugged(&conf->link))
		return 0;
	for (i = 0; i < 2; i++) {
		const struct softib_conf_end *end = &conf->end[i];

		if (end->peer.sa.sa_family) {
			/* An end is here or away, and not both are away. */
			if (end->node[0] || away)
				return -EINVAL;
			away = end;
			continue;
		}
		port[i] = find_port(end);
		if (IS_ERR(port[i]))
			return PTR_ERR(port[i]);
	}
	if (away) {
		far = softib_far_new(&conf->link, away->side, &away->bind,
				     &away->peer);
		if (IS_ERR(far))
			return PTR_ERR(far);
	}
	ret = softib_link_plug(&conf->link, port[0], port[1], far);
	if (ret && far)
		softib_far_free(far);
	return ret;
}

static void unplug(struct softib_conf_link *conf)
{
	if (softib_link_plugged(&conf->link))
		softib_link_unplug(&conf->link);
}

static ssize_t link_enable_show(struct config_item *item, char *page)
{
	struct softib_conf_link *conf = to_conf_link(item);

	return sysfs_emit(page, "%d\n", softib_link_plugged(&conf->link));
}

static ssize_t link_enable_store(struct config_item *item, const char *page,
				 size_t count)
{
	struct softib_conf_link *conf = to_conf_link(item);
	bool on;
	int ret = kstrtobool(page, &on);

	if (ret)
		return ret;
	mutex_lock(&softib_topology);
	if (on)
		ret = plug(conf);
	else
		unplug(conf);
	mutex_unlock(&softib_topology);
	return ret ?: count;
}

CONFIGFS_ATTR(link_, enable);

/* Store what a link is made of in one of its fields; then train the link again. */
static void change(struct softib_conf_link *conf, u8 *field, u8 value)
{
	struct softib_link *link = &conf->link;

	mutex_lock(&softib_topology);
	spin_lock_irq(&softib_mgmt_lock);
	if (*field != value) {
		WRITE_ONCE(*field, value);
		if (softib_link_plugged(link))
			softib_link_train(link);
	}
	spin_unlock_irq(&softib_mgmt_lock);
	mutex_unlock(&softib_topology);
}

static ssize_t link_up_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_conf_link(item)->link.up));
}

static ssize_t link_up_store(struct config_item *item, const char *page,
			     size_t count)
{
	struct softib_conf_link *conf = to_conf_link(item);
	bool up;
	int ret = kstrtobool(page, &up);

	if (ret)
		return ret;
	change(conf, &conf->link.up, up);
	return count;
}

CONFIGFS_ATTR(link_, up);

static ssize_t link_mtu_show(struct config_item *item, char *page)
{
	u8 mtu = READ_ONCE(to_conf_link(item)->link.mtu);

	return sysfs_emit(page, "%d\n", ib_mtu_enum_to_int(mtu));
}

static ssize_t link_mtu_store(struct config_item *item, const char *page,
			      size_t count)
{
	struct softib_conf_link *conf = to_conf_link(item);
	unsigned int mtu;
	int ret = kstrtouint(page, 0, &mtu);

	if (ret)
		return ret;
	if (!softib_mtu_ok(mtu))
		return -EINVAL;
	change(conf, &conf->link.mtu, softib_mtu_enum(mtu));
	return count;
}

CONFIGFS_ATTR(link_, mtu);

static ssize_t link_rate_show(struct config_item *item, char *page)
{
	u8 rate = READ_ONCE(to_conf_link(item)->link.rate);

	return sysfs_emit(page, "%s\n", rate_names[rate]);
}

static ssize_t link_rate_store(struct config_item *item, const char *page,
			       size_t count)
{
	struct softib_conf_link *conf = to_conf_link(item);
	int rate = sysfs_match_string(rate_names, page);

	if (rate < 0)
		return rate;
	change(conf, &conf->link.rate, rate);
	return count;
}

CONFIGFS_ATTR(link_, rate);

static struct configfs_attribute *link_attrs[] = {
	&link_attr_enable,
	&link_attr_up,
	&link_attr_mtu,
	&link_attr_rate,
	NULL
};

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

/* The directory of a link, or an error pointer. */
struct config_group *softib_conf_link_new(const char *name)
{
	struct softib_conf_link *conf;
	int i;

	if (!softib_name_ok(name))
		return ERR_PTR(-EINVAL);
	conf = kzalloc(sizeof(*conf), GFP_KERNEL);
	if (!conf)
		return ERR_PTR(-ENOMEM);
	softib_link_init(&conf->link);
	config_group_init_type_name(&conf->group, name, &link_type);
	for (i = 0; i < 2; i++) {
		struct softib_conf_end *end = &conf->end[i];

		end->conf = conf;
		end->side = i;
		/* Chance differs from link to link, not from run to run. */
		softib_way_seed(&conf->link.way[i],
				full_name_hash(NULL, name, strlen(name)) + i);
		config_group_init_type_name(&end->group, i ? "b" : "a",
					    &softib_conf_end_type);
		configfs_add_default_group(&end->group, &conf->group);
	}
	return &conf->group;
}

/*
 * Says which ports of which nodes the link of a directory joins, and plugs it in. softib_topology
 * is held.
 */
int softib_conf_link_join(struct config_group *group, const char *a,
			  unsigned int a_port, const char *b,
			  unsigned int b_port)
{
	struct softib_conf_link *conf = to_conf_link(&group->cg_item);

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

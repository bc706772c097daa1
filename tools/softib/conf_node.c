// SPDX-License-Identifier: GPL-2.0
/*
 * HCAs and switches in configfs
 *
 * A directory is what a node is to be; while "enable" is 1 there is one.
 */
#include <linux/idr.h>
#include <linux/if_link.h>
#include <linux/slab.h>

#include "conf.h"
#include "softib.h"

/* Locally administered; each node has 256 of them, each kernel those of 256
 * nodes of a kind.
 */
#define HCA_GUID	0x0253494200000000ULL
#define SWITCH_GUID	0x0253494201000000ULL

#define SWITCH_PORTS	8	/* if "ports" does not say how many */

/**
 * struct conf_node - a directory in hcas or switches
 * @group:	the directory
 * @ids:	where @id is from
 * @id:		number of the node among its kind, for the GUID
 * @guid:	node GUID
 * @ports:	number of ports of a switch, 0 of an HCA
 * @vfs:	number of virtual functions of an HCA
 * @node:	the node, or NULL while it is not enabled
 * @unregistered: softib_hca_unregister() has been called for @node
 *
 * softib_topology protects what changes.
 */
struct conf_node {
	struct config_group group;
	struct ida *ids;
	unsigned int id;
	u64 guid;
	unsigned int ports;
	unsigned int vfs;
	struct softib_node *node;
	bool unregistered;
};

static DEFINE_IDA(hca_ids);
static DEFINE_IDA(switch_ids);

static struct conf_node *to_conf_node(struct config_item *item)
{
	return container_of(to_config_group(item), struct conf_node, group);
}

static int enable(struct conf_node *conf)
{
	const char *name = config_item_name(&conf->group.cg_item);
	struct softib_node *node;
	struct softib_hca *hca;

	if (conf->node)
		return 0;
	if (conf->ports) {
		node = softib_switch_create(name, conf->guid, conf->ports);
		if (IS_ERR(node))
			return PTR_ERR(node);
		WRITE_ONCE(conf->node, node);
		return 0;
	}
	hca = softib_hca_create(name, conf->guid, conf->vfs);
	if (IS_ERR(hca))
		return PTR_ERR(hca);
	WRITE_ONCE(conf->node, &hca->node);
	return 0;
}

static void unregister(struct conf_node *conf)
{
	if (!conf->node || conf->ports || conf->unregistered)
		return;
	softib_hca_unregister(node_to_hca(conf->node));
	conf->unregistered = true;
}

static void disable(struct conf_node *conf)
{
	if (!conf->node)
		return;
	unregister(conf);
	if (conf->ports)
		softib_switch_destroy(conf->node);
	else
		softib_hca_destroy(node_to_hca(conf->node));
	WRITE_ONCE(conf->node, NULL);
	conf->unregistered = false;
}

static ssize_t node_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(to_conf_node(item)->node));
}

static ssize_t store_bool(struct config_item *item, const char *page, size_t count,
			  int (*set)(struct conf_node *conf, bool on))
{
	bool on;
	int ret = kstrtobool(page, &on);

	if (ret)
		return ret;
	mutex_lock(&softib_topology);
	ret = set(to_conf_node(item), on);
	mutex_unlock(&softib_topology);
	return ret ?: count;
}

/* A number that stays as it is while the node is enabled. */
static ssize_t store_number(struct config_item *item, const char *page, size_t count,
			    unsigned int *number, unsigned int min, unsigned int max)
{
	struct conf_node *conf = to_conf_node(item);
	unsigned int value;
	int ret = kstrtouint(page, 0, &value);

	if (ret)
		return ret;
	if (value < min || value > max)
		return -EINVAL;
	mutex_lock(&softib_topology);
	if (conf->node)
		ret = -EBUSY;
	else
		WRITE_ONCE(*number, value);
	mutex_unlock(&softib_topology);
	return ret ?: count;
}

static int set_enabled(struct conf_node *conf, bool on)
{
	if (on)
		return enable(conf);
	disable(conf);
	return 0;
}

static ssize_t node_enable_store(struct config_item *item, const char *page,
				 size_t count)
{
	return store_bool(item, page, count, set_enabled);
}

CONFIGFS_ATTR(node_, enable);

static ssize_t node_node_guid_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "0x%016llx\n",
			  READ_ONCE(to_conf_node(item)->guid));
}

static ssize_t node_node_guid_store(struct config_item *item, const char *page,
				    size_t count)
{
	struct conf_node *conf = to_conf_node(item);
	u64 guid;
	int ret = kstrtou64(page, 0, &guid);

	if (ret)
		return ret;
	/* An HCA's port has the next one. */
	if (!guid || guid == U64_MAX)
		return -EINVAL;
	mutex_lock(&softib_topology);
	if (conf->node)
		ret = -EBUSY;
	else
		WRITE_ONCE(conf->guid, guid);
	mutex_unlock(&softib_topology);
	return ret ?: count;
}

CONFIGFS_ATTR(node_, node_guid);

static ssize_t node_ports_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(to_conf_node(item)->ports));
}

static ssize_t node_ports_store(struct config_item *item, const char *page,
				size_t count)
{
	return store_number(item, page, count, &to_conf_node(item)->ports, 1, SOFTIB_MAX_PORTS);
}

CONFIGFS_ATTR(node_, ports);

static ssize_t node_vfs_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(to_conf_node(item)->vfs));
}

static ssize_t node_vfs_store(struct config_item *item, const char *page,
			      size_t count)
{
	return store_number(item, page, count, &to_conf_node(item)->vfs, 0, SOFTIB_MAX_VFS);
}

CONFIGFS_ATTR(node_, vfs);

static ssize_t node_vf_stats_store(struct config_item *item, const char *page,
				   size_t count)
{
	struct conf_node *conf = to_conf_node(item);
	struct ifla_vf_stats s;
	unsigned int vf;
	int ret;

	if (sscanf(page, "%u %llu %llu %llu %llu %llu %llu %llu %llu", &vf,
		   &s.rx_packets, &s.tx_packets, &s.rx_bytes, &s.tx_bytes,
		   &s.broadcast, &s.multicast, &s.rx_dropped, &s.tx_dropped) != 9)
		return -EINVAL;
	mutex_lock(&softib_topology);
	if (conf->node)
		ret = softib_set_vf_stats(node_to_hca(conf->node), vf, &s);
	else
		ret = -ENODEV;
	mutex_unlock(&softib_topology);
	return ret ?: count;
}

CONFIGFS_ATTR_WO(node_, vf_stats);

static int set_fatal(struct conf_node *conf, bool on)
{
	if (!on)
		return -EINVAL;
	if (!conf->node)
		return -ENODEV;
	softib_hca_kill(node_to_hca(conf->node));
	return 0;
}

static ssize_t node_fatal_store(struct config_item *item, const char *page,
				size_t count)
{
	return store_bool(item, page, count, set_fatal);
}

CONFIGFS_ATTR_WO(node_, fatal);

static ssize_t node_halted_show(struct config_item *item, char *page)
{
	struct conf_node *conf = to_conf_node(item);
	bool on;

	mutex_lock(&softib_topology);
	on = conf->node && node_to_hca(conf->node)->halted;
	mutex_unlock(&softib_topology);
	return sysfs_emit(page, "%d\n", on);
}

static int set_halted(struct conf_node *conf, bool on)
{
	if (!conf->node)
		return -ENODEV;
	softib_hca_halt(node_to_hca(conf->node), on);
	return 0;
}

static ssize_t node_halted_store(struct config_item *item, const char *page,
				 size_t count)
{
	return store_bool(item, page, count, set_halted);
}

CONFIGFS_ATTR(node_, halted);

static void node_release(struct config_item *item)
{
	struct conf_node *conf = to_conf_node(item);

	ida_free(conf->ids, conf->id);
	kfree(conf);
}

static struct configfs_item_operations node_ops = {
	.release = node_release,
};

static struct configfs_attribute *hca_attrs[] = {
	&node_attr_enable,
	&node_attr_node_guid,
	&node_attr_vfs,
	&node_attr_vf_stats,
	&node_attr_fatal,
	&node_attr_halted,
	NULL
};

static const struct config_item_type hca_type = {
	.ct_owner = THIS_MODULE,
	.ct_item_ops = &node_ops,
	.ct_attrs = hca_attrs,
};

static struct configfs_attribute *switch_attrs[] = {
	&node_attr_enable,
	&node_attr_node_guid,
	&node_attr_ports,
	NULL
};

static const struct config_item_type switch_type = {
	.ct_owner = THIS_MODULE,
	.ct_item_ops = &node_ops,
	.ct_attrs = switch_attrs,
};

static struct config_group *node_new(const char *name, struct ida *ids,
				     unsigned int max, u64 guid,
				     unsigned int ports,
				     const struct config_item_type *type)
{
	struct conf_node *conf;
	int id;

	if (!softib_name_ok(name))
		return ERR_PTR(-EINVAL);
	conf = kzalloc(sizeof(*conf), GFP_KERNEL);
	if (!conf)
		return ERR_PTR(-ENOMEM);
	id = ida_alloc_max(ids, max - 1, GFP_KERNEL);
	if (id < 0) {
		kfree(conf);
		return ERR_PTR(id);
	}
	conf->ids = ids;
	conf->id = id;
	conf->guid = guid + (softib_machine << 16) + (id << 8);
	conf->ports = ports;
	config_group_init_type_name(&conf->group, name, type);
	return &conf->group;
}

/* The directory of an HCA, or an error pointer. */
struct config_group *softib_conf_hca_new(const char *name)
{
	/* The first one's is ...100: HCAs count from one. */
	return node_new(name, &hca_ids, SOFTIB_MAX_HCAS, HCA_GUID + 0x100, 0,
			&hca_type);
}

/* The directory of a switch, or an error pointer. */
struct config_group *softib_conf_switch_new(const char *name,
					    unsigned int ports)
{
	return node_new(name, &switch_ids, SOFTIB_MAX_SWITCHES, SWITCH_GUID,
			ports, &switch_type);
}

/* Makes the node that a directory describes. softib_topology is held. */
int softib_conf_node_enable(struct config_group *group)
{
	return enable(to_conf_node(&group->cg_item));
}

/* Takes a directory's node from its consumers. softib_topology is held. */
void softib_conf_node_unregister(struct config_group *group)
{
	unregister(to_conf_node(&group->cg_item));
}

/* Destroys a directory's node. softib_topology is held. */
void softib_conf_node_disable(struct config_group *group)
{
	disable(to_conf_node(&group->cg_item));
}

static struct config_group *make_hca(struct config_group *parent,
				     const char *name)
{
	return softib_conf_hca_new(name);
}

static struct config_group *make_switch(struct config_group *parent,
					const char *name)
{
	return softib_conf_switch_new(name, SWITCH_PORTS);
}

static void drop_node(struct config_group *parent, struct config_item *item)
{
	mutex_lock(&softib_topology);
	disable(to_conf_node(item));
	mutex_unlock(&softib_topology);
	config_item_put(item);
}

static struct configfs_group_operations hcas_ops = {
	.make_group = make_hca,
	.drop_item = drop_node,
};

const struct config_item_type softib_conf_hcas_type = {
	.ct_owner = THIS_MODULE,
	.ct_group_ops = &hcas_ops,
};

static struct configfs_group_operations switches_ops = {
	.make_group = make_switch,
	.drop_item = drop_node,
};

const struct config_item_type softib_conf_switches_type = {
	.ct_owner = THIS_MODULE,
	.ct_group_ops = &switches_ops,
};

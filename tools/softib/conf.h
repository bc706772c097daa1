/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fabric in configfs
 */
#ifndef _SOFTIB_CONF_H
#define _SOFTIB_CONF_H

#include <linux/configfs.h>

#include "fabric.h"

/* A writable attribute of the item that container_of finds in a config_item;
 * both functions are called with softib_topology held.
 */
#define CONF_ATTR_SHOW(_pfx, _name, _to)				\
static ssize_t _pfx##_name##_show(struct config_item *item, char *page)	\
{									\
	ssize_t ret;							\
									\
	mutex_lock(&softib_topology);					\
	ret = _pfx##show_##_name(_to(item), page);			\
	mutex_unlock(&softib_topology);					\
	return ret;							\
}

#define CONF_ATTR_STORE(_pfx, _name, _to)				\
static ssize_t _pfx##_name##_store(struct config_item *item,		\
				   const char *page, size_t count)	\
{									\
	int ret;							\
									\
	mutex_lock(&softib_topology);					\
	ret = _pfx##store_##_name(_to(item), page);			\
	mutex_unlock(&softib_topology);					\
	return ret ?: count;						\
}

#define CONF_ATTR(_pfx, _name, _to)					\
	CONF_ATTR_SHOW(_pfx, _name, _to)				\
	CONF_ATTR_STORE(_pfx, _name, _to)				\
	CONFIGFS_ATTR(_pfx, _name)

#define CONF_ATTR_RO(_pfx, _name, _to)					\
	CONF_ATTR_SHOW(_pfx, _name, _to)				\
	CONFIGFS_ATTR_RO(_pfx, _name)

#define CONF_ATTR_WO(_pfx, _name, _to)					\
	CONF_ATTR_STORE(_pfx, _name, _to)				\
	CONFIGFS_ATTR_WO(_pfx, _name)

bool softib_conf_name_ok(const char *name);

/* conf_node.c: the directories hcas and switches */
extern const struct config_item_type softib_conf_hcas_type;
extern const struct config_item_type softib_conf_switches_type;
struct config_group *softib_conf_hca_new(const char *name);
struct config_group *softib_conf_switch_new(const char *name,
					    unsigned int ports);
int softib_conf_node_enable(struct config_group *group);
void softib_conf_node_unregister(struct config_group *group);
void softib_conf_node_disable(struct config_group *group);

/* conf_link.c: the directory links */
extern const struct config_item_type softib_conf_links_type;
struct config_group *softib_conf_link_new(const char *name);
int softib_conf_link_join(struct config_group *group, const char *a,
			  unsigned int a_port, const char *b,
			  unsigned int b_port);

#endif /* _SOFTIB_CONF_H */

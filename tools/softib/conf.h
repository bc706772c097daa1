/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fabric in configfs
 */
#ifndef _SOFTIB_CONF_H
#define _SOFTIB_CONF_H

#include <linux/configfs.h>

#include "fabric.h"
#include "far.h"

struct softib_conf_link;

/**
 * struct softib_conf_end - the directory of an end of a link
 * @group:	the directory
 * @conf:	the link
 * @side:	which end it is
 * @node:	name of the node whose port it is, or empty
 * @port:	number of the port
 * @bind:	if the end is far away, address and port here; its family is 0 when
 *		it is not set
 * @peer:	address and port there, the same
 */
struct softib_conf_end {
	struct config_group group;
	struct softib_conf_link *conf;
	u8 side;
	char node[SOFTIB_NAME_LEN];
	unsigned int port;
	union softib_addr bind;
	union softib_addr peer;
};

/**
 * struct softib_conf_link - a directory in links
 * @group:	the directory
 * @end:	the directories of its ends
 * @link:	the link
 *
 * softib_topology protects what changes.
 */
struct softib_conf_link {
	struct config_group group;
	struct softib_conf_end end[2];
	struct softib_link link;
};

/* conf_node.c: the directories hcas and switches */
extern const struct config_item_type softib_conf_hcas_type;
extern const struct config_item_type softib_conf_switches_type;
struct config_group *softib_conf_hca_new(const char *name);
struct config_group *softib_conf_switch_new(const char *name,
					    unsigned int ports);
int softib_conf_node_enable(struct config_group *group);
void softib_conf_node_unregister(struct config_group *group);
void softib_conf_node_disable(struct config_group *group);

/* conf_end.c: the directories a and b of a link */
extern const struct config_item_type softib_conf_end_type;

/* conf_link.c: the directory links */
extern const struct config_item_type softib_conf_links_type;
struct config_group *softib_conf_link_new(const char *name);
int softib_conf_link_join(struct config_group *group, const char *a,
			  unsigned int a_port, const char *b,
			  unsigned int b_port);

#endif /* _SOFTIB_CONF_H */

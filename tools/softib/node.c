// SPDX-License-Identifier: GPL-2.0
/*
 * Which nodes there are, and what they may be called
 */
#include <linux/ctype.h>

#include "softib.h"

DEFINE_MUTEX(softib_topology);		/* see fabric.h */
DEFINE_SPINLOCK(softib_mgmt_lock);	/* the same */

static LIST_HEAD(nodes);	/* under softib_topology */

/* A node's name is also that of the RDMA device, so it has to be a tame one. */
bool softib_name_ok(const char *name)
{
	const char *p = name;

	if (!isalnum(*p))
		return false;
	while (isalnum(*p) || *p == '_' || *p == '-')
		p++;
	return !*p && p - name < SOFTIB_NAME_LEN;
}

/* softib_topology is held as long as the node is used. */
struct softib_node *softib_node_find(const char *name)
{
	struct softib_node *node;

	lockdep_assert_held(&softib_topology);
	list_for_each_entry(node, &nodes, list)
		if (!strcmp(node->name, name))
			return node;
	return NULL;
}

/* GUIDs of a node and its ports: an HCA's port has the next one. */
static bool guids_overlap(const struct softib_node *a, const struct softib_node *b)
{
	u64 first_a = be64_to_cpu(a->guid), first_b = be64_to_cpu(b->guid);

	return first_a <= first_b + !softib_is_switch(b) &&
	       first_b <= first_a + !softib_is_switch(a);
}

/*
 * Lets a node be found. softib_topology is held. Returns -EEXIST if there is one with the same name
 * or GUID.
 */
int softib_node_add(struct softib_node *node)
{
	struct softib_node *other;

	lockdep_assert_held(&softib_topology);
	list_for_each_entry(other, &nodes, list)
		if (!strcmp(node->name, other->name) ||
		    guids_overlap(node, other))
			return -EEXIST;
	list_add_tail(&node->list, &nodes);
	return 0;
}

/*
 * Takes a node out of the fabric: it cannot be found any more, by name or by a link, and sends no
 * more traps. softib_topology is held.
 */
void softib_node_remove(struct softib_node *node)
{
	struct softib_link *link;
	int i;

	lockdep_assert_held(&softib_topology);
	list_del(&node->list);
	for (i = 0; i <= node->nports; i++) {
		link = rcu_dereference_protected(node->ports[i].link,
						 lockdep_is_held(&softib_topology));
		if (link)
			softib_link_unplug(link);
	}
	softib_traps_stop(node);
}

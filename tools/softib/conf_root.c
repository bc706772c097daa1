// SPDX-License-Identifier: GPL-2.0
/*
 * The directory softib in configfs, and the fabric that is there from the start
 */
#include <linux/module.h>

#include "conf.h"

#define FIRST_SWITCH	"switch"
#define NAME_FORMAT	"softib%u"

static const struct config_item_type root_type = {
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem subsys = {
	.su_group.cg_item.ci_namebuf = "softib",
	.su_group.cg_item.ci_type = &root_type,
};

static struct config_group hcas_group, switches_group, links_group;

/*
 * The directories of the fabric that is there from the start, which cannot be removed: one for each
 * HCA and for its link, and the switch.
 */
static struct config_group *first_hcas[SOFTIB_MAX_HCAS];
static struct config_group *first_links[SOFTIB_MAX_HCAS];
static struct config_group *first_switch;

/* Make a directory appear that softib_conf_*_new() has made. */
static struct config_group *appear(struct config_group *parent,
				   struct config_group *group)
{
	int ret;

	if (IS_ERR(group))
		return group;
	ret = configfs_register_group(parent, group);
	if (!ret)
		return group;
	config_group_put(group);
	return ERR_PTR(ret);
}

static void vanish(struct config_group **group)
{
	if (!*group)
		return;
	configfs_unregister_group(*group);
	config_group_put(*group);
	*group = NULL;
}

static int make_dirs(unsigned int hcas)
{
	struct config_group *group;
	char name[SOFTIB_NAME_LEN];
	unsigned int i;

	group = appear(&switches_group,
		       softib_conf_switch_new(FIRST_SWITCH, hcas));
	if (IS_ERR(group))
		return PTR_ERR(group);
	first_switch = group;
	for (i = 0; i < hcas; i++) {
		snprintf(name, sizeof(name), NAME_FORMAT, i);
		group = appear(&hcas_group, softib_conf_hca_new(name));
		if (IS_ERR(group))
			return PTR_ERR(group);
		first_hcas[i] = group;
		group = appear(&links_group, softib_conf_link_new(name));
		if (IS_ERR(group))
			return PTR_ERR(group);
		first_links[i] = group;
	}
	return 0;
}

/* One switch with all HCAs on it */
static int enable_all(unsigned int hcas)
{
	char name[SOFTIB_NAME_LEN];
	unsigned int i;
	int ret;

	ret = softib_conf_node_enable(first_switch);
	for (i = 0; !ret && i < hcas; i++) {
		snprintf(name, sizeof(name), NAME_FORMAT, i);
		ret = softib_conf_node_enable(first_hcas[i]) ?:
		      softib_conf_link_join(first_links[i], name, 1,
					    FIRST_SWITCH, i + 1);
	}
	return ret;
}

/* All HCAs are taken from their consumers while all links still work, so that
 * consumers can say goodbye: the first HCA's last, for there the subnet manager
 * tends to be.
 */
static void disable_all(void)
{
	int i;

	for (i = SOFTIB_MAX_HCAS - 1; i >= 0; i--)
		if (first_hcas[i])
			softib_conf_node_unregister(first_hcas[i]);
	for (i = 0; i < SOFTIB_MAX_HCAS; i++)
		if (first_hcas[i])
			softib_conf_node_disable(first_hcas[i]);
	if (first_switch)
		softib_conf_node_disable(first_switch);
}

/* @hcas: of the first fabric; with 0, there is none. */
int softib_conf_init(unsigned int hcas)
{
	int ret;

	config_group_init(&subsys.su_group);
	mutex_init(&subsys.su_mutex);
	config_group_init_type_name(&hcas_group, "hcas",
				    &softib_conf_hcas_type);
	config_group_init_type_name(&switches_group, "switches",
				    &softib_conf_switches_type);
	config_group_init_type_name(&links_group, "links",
				    &softib_conf_links_type);
	configfs_add_default_group(&hcas_group, &subsys.su_group);
	configfs_add_default_group(&switches_group, &subsys.su_group);
	configfs_add_default_group(&links_group, &subsys.su_group);
	ret = configfs_register_subsystem(&subsys);
	if (ret || !hcas)
		return ret;

	ret = make_dirs(hcas);
	if (!ret) {
		mutex_lock(&softib_topology);
		ret = enable_all(hcas);
		mutex_unlock(&softib_topology);
	}
	if (ret)
		softib_conf_exit();
	return ret;
}

void softib_conf_exit(void)
{
	int i;

	mutex_lock(&softib_topology);
	disable_all();
	mutex_unlock(&softib_topology);
	for (i = 0; i < SOFTIB_MAX_HCAS; i++) {
		vanish(&first_links[i]);
		vanish(&first_hcas[i]);
	}
	vanish(&first_switch);
	configfs_unregister_subsystem(&subsys);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Objects to every change of an interface's MTU as long as this is loaded, as what is
 * built upon an interface may.
 *
 *	insmod object.ko interface=ib0
 */
#include <linux/module.h>
#include <linux/netdevice.h>

MODULE_DESCRIPTION("Objects to changes of an interface's MTU");
MODULE_LICENSE("GPL");

static char *interface = "";
module_param(interface, charp, 0444);
MODULE_PARM_DESC(interface, "Its name, in whatever network namespace");

static int object_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);

	if (event != NETDEV_PRECHANGEMTU || strcmp(dev->name, interface))
		return NOTIFY_DONE;
	return notifier_from_errno(-EBUSY);
}

static struct notifier_block object_block = { .notifier_call = object_event };

static int __init object_init(void)
{
	return register_netdevice_notifier(&object_block);
}
module_init(object_init);

static void __exit object_exit(void)
{
	unregister_netdevice_notifier(&object_block);
}
module_exit(object_exit);

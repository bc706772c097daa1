// SPDX-License-Identifier: GPL-2.0
/*
 * IP over InfiniBand (RFC 4391, RFC 4392): the module, and an interface for
 * every InfiniBand port.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "compat.h"
#include "ipoib.h"

MODULE_DESCRIPTION("IP over InfiniBand");
MODULE_VERSION(PROJECT_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS_RTNL_LINK("ipoib");

static struct ipoib_dev *ipoib_add_port(struct ib_device *hca, u32 port)
{
	struct ipoib_dev *priv;
	struct net_device *dev;
	int err;

	dev = ipoib_alloc_dev(hca, port, NULL, "ib%d", NET_NAME_UNKNOWN);
	if (!dev)
		return ERR_PTR(-ENOMEM);

	SET_NETDEV_DEV(dev, hca->dev.parent);
	err = ipoib_init_dev(dev, hca, port, NULL);
	if (err)
		goto free;
	err = register_netdev(dev);
	if (err)
		goto abandon;
	priv = ipoib_priv(dev);
	ipoib_listen(priv);
	return priv;

abandon:
	ipoib_abandon_dev(dev);
free:
	free_netdev(dev);
	return ERR_PTR(err);
}

static void ipoib_remove_port(struct ipoib_dev *priv)
{
	LIST_HEAD(gone);

	rtnl_lock();
	ipoib_children_unregister(priv, &gone);
	unregister_netdevice_queue(priv->dev, &gone);
	unregister_netdevice_many(&gone);
	rtnl_unlock();
}

static void ipoib_remove_one(struct ib_device *hca, void *client_data)
{
	struct list_head *ports = client_data;
	struct ipoib_dev *priv, *next;

	list_for_each_entry_safe(priv, next, ports, list) {
		list_del(&priv->list);
		ipoib_remove_port(priv);
	}
	kfree(ports);
}

static struct ib_client ipoib_client;

/* The list of a device's ports does not change until the device goes. */
static int ipoib_add_one(struct ib_device *hca)
{
	struct list_head *ports;
	struct ipoib_dev *priv;
	u32 port;

	ports = kmalloc(sizeof(*ports), GFP_KERNEL);
	if (!ports)
		return -ENOMEM;
	INIT_LIST_HEAD(ports);

	rdma_for_each_port(hca, port) {
		if (rdma_protocol_roce(hca, port)) {
			dev_info(&hca->dev, "no IPoIB interface for port %u: RoCE, which has Ethernet's\n",
				 port);
			continue;
		}
		if (!rdma_protocol_ib(hca, port))
			continue;
		if (rdma_core_cap_opa_port(hca, port)) {
			dev_warn(&hca->dev, "no IPoIB interface for port %u: Omni-Path, not InfiniBand\n",
				 port);
			continue;
		}
		priv = ipoib_add_port(hca, port);
		if (IS_ERR(priv))
			dev_warn(&hca->dev, "no IPoIB interface for port %u: %ld\n",
				 port, PTR_ERR(priv));
		else
			list_add_tail(&priv->list, ports);
	}

	if (list_empty(ports)) {
		kfree(ports);
		return -EOPNOTSUPP;
	}
	ib_set_client_data(hca, &ipoib_client, ports);
	return 0;
}

static struct ib_client ipoib_client = {
	.name			= "ipoib",
	.add			= ipoib_add_one,
	.remove			= ipoib_remove_one,
	.get_net_dev_by_params	= ipoib_find_netdev,
};

static int __init ipoib_module_init(void)
{
	int err;

	ipoib_param_init();
	err = ipoib_path_init();
	if (err)
		return err;
	err = ipoib_work_init();
	if (err)
		goto exit_path;

	ipoib_debugfs_init();
	ib_sa_register_client(&ipoib_sa_client);
	err = rtnl_link_register(&ipoib_link_ops);
	if (err)
		goto unregister_sa;
	err = ib_register_client(&ipoib_client);
	if (err)
		goto unregister_link;
	err = ipoib_genl_init();
	if (err)
		goto unregister_client;
	/* The kernel's own has the same name. */
	pr_info(IPOIB_NAME ": the driver of sdpdev, version " PROJECT_VERSION "\n");
	return 0;

unregister_client:
	ib_unregister_client(&ipoib_client);
unregister_link:
	rtnl_link_unregister(&ipoib_link_ops);
unregister_sa:
	ib_sa_unregister_client(&ipoib_sa_client);
	ipoib_child_exit();
	ipoib_debugfs_exit();
	ipoib_work_exit();
exit_path:
	ipoib_path_exit();
	return err;
}

static void __exit ipoib_module_exit(void)
{
	ipoib_genl_exit();
	ib_unregister_client(&ipoib_client);
	rtnl_link_unregister(&ipoib_link_ops);
	ib_sa_unregister_client(&ipoib_sa_client);
	ipoib_child_exit();
	ipoib_debugfs_exit();
	ipoib_work_exit();
	ipoib_path_exit();
}

module_init(ipoib_module_init);
module_exit(ipoib_module_exit);

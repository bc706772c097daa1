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
MODULE_LICENSE("GPL");
MODULE_ALIAS_RTNL_LINK("ipoib");

unsigned int ipoib_send_queue_size = IPOIB_DEFAULT_TX_RING;
module_param_named(send_queue_size, ipoib_send_queue_size, uint, 0444);
MODULE_PARM_DESC(send_queue_size, "Packets in the send ring (128 to 8192)");

static unsigned int recv_queue_size = IPOIB_DEFAULT_RX_RING;
module_param(recv_queue_size, uint, 0444);
MODULE_PARM_DESC(recv_queue_size, "Buffers in the receive ring (16 to 8192)");

unsigned int ipoib_idle_timeout = 300;
module_param_named(idle_timeout, ipoib_idle_timeout, uint, 0644);
MODULE_PARM_DESC(idle_timeout,
		 "Seconds that an unused destination or connection is kept (1 to 86400)");

int ipoib_debug_level;
module_param_named(debug_level, ipoib_debug_level, int, 0644);
MODULE_PARM_DESC(debug_level, "Log events and paths if above 0");

int ipoib_mcast_debug_level;
module_param_named(mcast_debug_level, ipoib_mcast_debug_level, int, 0644);
MODULE_PARM_DESC(mcast_debug_level, "Log multicast joins if above 0");

#ifdef IPOIB_DEBUG_DATA
int ipoib_data_debug_level;
module_param_named(data_debug_level, ipoib_data_debug_level, int, 0644);
MODULE_PARM_DESC(data_debug_level, "Log every packet if above 0");
#endif

/*
 * All of the driver's work. flush_work, gc_work and evict_work wait for the works of
 * destinations, connections and what these receive; those wait for none of them.
 */
struct workqueue_struct *ipoib_wq;
struct workqueue_struct *ipoib_rtnl_wq;
struct ib_sa_client ipoib_sa_client;

/* The largest packet that the port may bring, and that the ring takes. */
static int ipoib_query_mtu(struct ipoib_dev *priv)
{
	struct ib_port_attr attr;
	int err;

	err = ib_query_port(priv->hca, priv->port, &attr);
	if (err)
		return err;

	priv->max_ib_mtu = max(ib_mtu_enum_to_int(attr.max_mtu), 256);
	if (priv->hca->attrs.max_recv_sge < IPOIB_RX_SGE)
		priv->max_ib_mtu = min(priv->max_ib_mtu, 2048U);
	return 0;
}

static void ipoib_init_priv(struct ipoib_dev *priv, struct net_device *dev,
			    struct ib_device *hca, u32 port)
{
	priv->dev = dev;
	priv->hca = hca;
	priv->port = port;
	priv->tx_size = ipoib_send_queue_size;
	priv->rx_size = recv_queue_size;
	priv->hash_seed = get_random_u32();
	priv->sa.heard = jiffies - HZ;
	priv->sa.pause = HZ;
	/* What is to replace a lost adapter has addresses that others remember. */
	priv->announce = true;

	spin_lock_init(&priv->dest_lock);
	spin_lock_init(&priv->bcast_lock);
	mutex_init(&priv->ctl);
	INIT_LIST_HEAD(&priv->children);
	hash_init(priv->dests);
	INIT_LIST_HEAD(&priv->ages);
	INIT_LIST_HEAD(&priv->evicted);
	INIT_WORK(&priv->evict_work, ipoib_evict_work);
	INIT_DELAYED_WORK(&priv->gc_work, ipoib_gc_work);
	INIT_WORK(&priv->mcast_work, ipoib_mcast_list_work);
	INIT_WORK(&priv->flush_work, ipoib_flush_work);
	INIT_WORK(&priv->sync_work, ipoib_sync_work);
	INIT_WORK(&priv->delete_work, ipoib_child_delete_work);
	INIT_IB_EVENT_HANDLER(&priv->events, hca, ipoib_event);
}

/**
 * ipoib_init_dev() - make a netdev an interface of a port
 * @dev: the netdev, after ipoib_setup()
 * @hca: the device
 * @port: the port
 *
 * Return: 0 or an errno.
 */
int ipoib_init_dev(struct net_device *dev, struct ib_device *hca, u32 port)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	int err;

	ipoib_init_priv(priv, dev, hca, port);
	err = ipoib_query_mtu(priv);
	if (err)
		return err;

	dev->dev_id = port - 1;
	dev->dev_port = port - 1;
	dev->mtu = priv->max_ib_mtu - IPOIB_ENCAP_LEN;
	dev->max_mtu = dev->mtu;	/* of datagram mode */
	dev->min_mtu = ETH_MIN_MTU + IPOIB_ENCAP_LEN;
	priv->admin_mtu = dev->mtu;
	priv->mcast_mtu = dev->mtu;
	return 0;
}

/**
 * ipoib_num_tx_queues() - how many transmit queues an interface has
 *
 * Return: one for each CPU, up to a limit.
 */
unsigned int ipoib_num_tx_queues(void)
{
	return min_t(unsigned int, num_online_cpus(), IPOIB_MAX_TX_QUEUES);
}

/**
 * ipoib_listen() - from now on, use the CPUs and follow what the port does
 * @priv: the interface, registered
 */
void ipoib_listen(struct ipoib_dev *priv)
{
	ipoib_spread_tx(priv);
	ib_register_event_handler(&priv->events);
	priv->listening = true;
	/* What has happened to the port meanwhile. */
	ipoib_flush(priv, IPOIB_FLUSH_LIGHT);
}

static struct ipoib_dev *ipoib_add_port(struct ib_device *hca, u32 port)
{
	struct ipoib_dev *priv;
	struct net_device *dev;
	int err;

	dev = alloc_netdev_mqs(sizeof(*priv), "ib%d", NET_NAME_UNKNOWN,
			       ipoib_setup, ipoib_num_tx_queues(), 1);
	if (!dev)
		return ERR_PTR(-ENOMEM);

	SET_NETDEV_DEV(dev, hca->dev.parent);
	err = ipoib_init_dev(dev, hca, port);
	if (!err)
		err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return ERR_PTR(err);
	}
	priv = netdev_priv(dev);
	ipoib_listen(priv);
	return priv;
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

static unsigned int ipoib_ring_size(const char *name, unsigned int size,
				    unsigned int least)
{
	unsigned int fits = roundup_pow_of_two(clamp(size, least,
						     (unsigned int)IPOIB_MAX_RING));

	if (fits != size)
		pr_info(IPOIB_NAME ": %s is %u\n", name, fits);
	return fits;
}

static int __init ipoib_module_init(void)
{
	int err;

	ipoib_send_queue_size = ipoib_ring_size("send_queue_size",
						ipoib_send_queue_size,
						IPOIB_MIN_TX_RING);
	recv_queue_size = ipoib_ring_size("recv_queue_size", recv_queue_size,
					  IPOIB_MIN_RX_RING);

	ipoib_wq = alloc_workqueue(IPOIB_NAME, WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!ipoib_wq)
		return -ENOMEM;
	ipoib_rtnl_wq = alloc_workqueue(IPOIB_NAME "_rtnl", WQ_UNBOUND, 0);
	if (!ipoib_rtnl_wq) {
		destroy_workqueue(ipoib_wq);
		return -ENOMEM;
	}

	ipoib_debugfs_init();
	ib_sa_register_client(&ipoib_sa_client);
	err = rtnl_link_register(&ipoib_link_ops);
	if (err)
		goto unregister_sa;
	err = ib_register_client(&ipoib_client);
	if (err)
		goto unregister_link;
	return 0;

unregister_link:
	rtnl_link_unregister(&ipoib_link_ops);
unregister_sa:
	ib_sa_unregister_client(&ipoib_sa_client);
	ipoib_debugfs_exit();
	destroy_workqueue(ipoib_rtnl_wq);
	destroy_workqueue(ipoib_wq);
	return err;
}

static void __exit ipoib_module_exit(void)
{
	ib_unregister_client(&ipoib_client);
	rtnl_link_unregister(&ipoib_link_ops);
	ib_sa_unregister_client(&ipoib_sa_client);
	ipoib_debugfs_exit();
	destroy_workqueue(ipoib_rtnl_wq);
	destroy_workqueue(ipoib_wq);
}

module_init(ipoib_module_init);
module_exit(ipoib_module_exit);

// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_ib.ko: connections of sdpdev over InfiniBand.
 *
 * This file: the module, the devices, and the ports listened on, which exist
 * on every device, those included that come later.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "transport/ib/ib.h"

MODULE_DESCRIPTION("Sockets Direct Protocol: InfiniBand transport");
MODULE_LICENSE("GPL");

/**
 * struct sdp_ib_port - a port that the protocol listens on
 * @list: in sdp_ib_ports; sdp_ib_mutex
 * @listeners: struct sdp_ib_listener.port_list, one for each device;
 *	sdp_ib_mutex
 * @port: its number
 */
struct sdp_ib_port {
	struct list_head list;
	struct list_head listeners;
	u16 port;
};

static struct ib_client sdp_ib_client;

unsigned int sdp_ib_device_conns;
module_param_named(device_connections, sdp_ib_device_conns, uint, 0644);
MODULE_PARM_DESC(device_connections,
		 "Connections of an adapter, at most; 0: all but an eighth of its queue pairs");

const struct sdp_xprt_upcalls *sdp_ib_up;
struct workqueue_struct *sdp_ib_wq;
struct ib_sa_client sdp_ib_sa;

/* Guards the lists of devices, ports and listeners. */
static DEFINE_MUTEX(sdp_ib_mutex);
static LIST_HEAD(sdp_ib_devs);
static LIST_HEAD(sdp_ib_ports);

/* --- counters --------------------------------------------------------------- */

static atomic_long_t sdp_ib_stats[SDP_IB_STAT_NUM];

static const char * const sdp_ib_stat_names[] = {
	[SDP_IB_STAT_REQ_INVALID]	= "ib_req_invalid",
	[SDP_IB_STAT_REQ_NO_INTERFACE]	= "ib_req_no_interface",
	[SDP_IB_STAT_REQ_REFUSED]	= "ib_req_refused",
	[SDP_IB_STAT_PATH_INVALID]	= "ib_path_invalid",
	[SDP_IB_STAT_QP_ERRORS]		= "ib_qp_errors",
};

/**
 * sdp_ib_count() - count one
 * @stat: of these
 */
void sdp_ib_count(enum sdp_ib_stat stat)
{
	atomic_long_inc(&sdp_ib_stats[stat]);
}

static void sdp_ib_show_stats(struct seq_file *seq)
{
	int i;

	for (i = 0; i < SDP_IB_STAT_NUM; i++)
		seq_printf(seq, "%s %ld\n", sdp_ib_stat_names[i],
			   atomic_long_read(&sdp_ib_stats[i]));
}

/* --- listening -------------------------------------------------------------- */

/* Under sdp_ib_mutex. */
static int sdp_ib_listen_on(struct sdp_ib_dev *dev, struct sdp_ib_port *port)
{
	struct sdp_ib_listener *listener;
	int ret;

	listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	if (!listener)
		return -ENOMEM;
	listener->dev = dev;
	listener->port = port->port;
	listener->cm_id = ib_create_cm_id(dev->device, sdp_ib_cm_handler,
					  listener);
	if (IS_ERR(listener->cm_id)) {
		ret = PTR_ERR(listener->cm_id);
		goto err_free;
	}
	ret = ib_cm_listen(listener->cm_id, sdp_ib_service_id(port->port));
	if (ret)
		goto err_destroy;
	refcount_inc(&dev->refs);
	list_add_tail(&listener->dev_list, &dev->listeners);
	list_add_tail(&listener->port_list, &port->listeners);
	return 0;

err_destroy:
	ib_destroy_cm_id(listener->cm_id);
err_free:
	kfree(listener);
	return ret;
}

/*
 * Not under the mutex: this waits for handlers, and those wait for locks of the
 * protocol, which calls listen() under them.
 */
static void sdp_ib_listener_destroy(struct sdp_ib_listener *listener)
{
	ib_destroy_cm_id(listener->cm_id);
	sdp_ib_dev_put(listener->dev);
	kfree(listener);
}

/* Take a port out of the lists, with its listeners; under sdp_ib_mutex. */
static void sdp_ib_port_unlink(struct sdp_ib_port *port)
{
	struct sdp_ib_listener *listener;

	list_del(&port->list);
	list_for_each_entry(listener, &port->listeners, port_list)
		list_del(&listener->dev_list);
}

static void sdp_ib_port_free(struct sdp_ib_port *port)
{
	struct sdp_ib_listener *listener, *next;

	list_for_each_entry_safe(listener, next, &port->listeners, port_list)
		sdp_ib_listener_destroy(listener);
	kfree(port);
}

static int sdp_ib_listen(u16 number)
{
	struct sdp_ib_port *port;
	struct sdp_ib_dev *dev;
	int ret = 0;

	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return -ENOMEM;
	port->port = number;
	INIT_LIST_HEAD(&port->listeners);

	mutex_lock(&sdp_ib_mutex);
	list_add_tail(&port->list, &sdp_ib_ports);
	list_for_each_entry(dev, &sdp_ib_devs, list) {
		ret = sdp_ib_listen_on(dev, port);
		if (ret)
			break;
	}
	if (ret)
		sdp_ib_port_unlink(port);
	mutex_unlock(&sdp_ib_mutex);

	if (ret)
		sdp_ib_port_free(port);
	return ret;
}

static void sdp_ib_unlisten(u16 number)
{
	struct sdp_ib_port *port, *found = NULL;

	mutex_lock(&sdp_ib_mutex);
	list_for_each_entry(port, &sdp_ib_ports, list) {
		if (port->port == number) {
			found = port;
			sdp_ib_port_unlink(port);
			break;
		}
	}
	mutex_unlock(&sdp_ib_mutex);

	/* There is none where listen() failed. */
	if (found)
		sdp_ib_port_free(found);
}

/* --- devices ---------------------------------------------------------------- */

/**
 * sdp_ib_dev_put() - drop a reference
 * @dev: the device
 *
 * Context: any.
 */
void sdp_ib_dev_put(struct sdp_ib_dev *dev)
{
	if (refcount_dec_and_test(&dev->refs))
		complete(&dev->unused);
}

/**
 * sdp_ib_dev_by_gid() - the device that has a port with this GID
 * @gid: the GID
 * @port: out: number of the port
 *
 * Return: the device, referenced, or NULL.
 */
struct sdp_ib_dev *sdp_ib_dev_by_gid(const union ib_gid *gid, u32 *port)
{
	struct sdp_ib_dev *dev, *found = NULL;
	const struct ib_gid_attr *attr;

	mutex_lock(&sdp_ib_mutex);
	list_for_each_entry(dev, &sdp_ib_devs, list) {
		attr = rdma_find_gid(dev->device, gid, IB_GID_TYPE_IB, NULL);
		if (IS_ERR(attr))
			continue;
		*port = attr->port_num;
		rdma_put_gid_attr(attr);
		refcount_inc(&dev->refs);
		found = dev;
		break;
	}
	mutex_unlock(&sdp_ib_mutex);
	return found;
}

static void sdp_ib_dev_event(struct ib_event_handler *handler,
			     struct ib_event *event)
{
	struct sdp_ib_dev *dev = container_of(handler, struct sdp_ib_dev,
					      events);

	if (event->event == IB_EVENT_DEVICE_FATAL)
		sdp_ib_conns_device_gone(dev);
}

static bool sdp_ib_dev_usable(struct ib_device *device)
{
	u32 port;

	rdma_for_each_port(device, port)
		if (rdma_protocol_ib(device, port) &&
		    rdma_cap_ib_cm(device, port) &&
		    rdma_cap_ib_sa(device, port))
			return true;
	return false;
}

static int sdp_ib_add(struct ib_device *device)
{
	struct sdp_ib_port *port;
	struct sdp_ib_dev *dev;
	int ret;

	if (!sdp_ib_dev_usable(device))
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->device = device;
	INIT_LIST_HEAD(&dev->listeners);
	refcount_set(&dev->refs, 1);
	mutex_init(&dev->qps_lock);
	xa_init(&dev->owners);
	init_completion(&dev->unused);
	dev->pd = ib_alloc_pd(device, 0);
	if (IS_ERR(dev->pd)) {
		ret = PTR_ERR(dev->pd);
		kfree(dev);
		return ret;
	}
	INIT_IB_EVENT_HANDLER(&dev->events, device, sdp_ib_dev_event);
	ib_register_event_handler(&dev->events);

	mutex_lock(&sdp_ib_mutex);
	list_add_tail(&dev->list, &sdp_ib_devs);
	list_for_each_entry(port, &sdp_ib_ports, list) {
		ret = sdp_ib_listen_on(dev, port);
		if (ret)
			ibdev_warn(device, "SDP port %u: cannot listen: %d\n",
				   port->port, ret);
	}
	mutex_unlock(&sdp_ib_mutex);
	ib_set_client_data(device, &sdp_ib_client, dev);
	return 0;
}

static void sdp_ib_remove(struct ib_device *device, void *client_data)
{
	struct sdp_ib_listener *listener, *next;
	struct sdp_ib_dev *dev = client_data;
	LIST_HEAD(listeners);

	mutex_lock(&sdp_ib_mutex);
	list_del(&dev->list);
	list_splice(&dev->listeners, &listeners);
	list_for_each_entry(listener, &listeners, dev_list)
		list_del(&listener->port_list);
	mutex_unlock(&sdp_ib_mutex);

	/* First no new connections, then an end to those there are. */
	list_for_each_entry_safe(listener, next, &listeners, dev_list)
		sdp_ib_listener_destroy(listener);
	ib_unregister_event_handler(&dev->events);
	sdp_ib_conns_device_gone(dev);
	sdp_ib_dev_put(dev);
	/* Again for a connection that was just ending, and was not known to be here. */
	do
		sdp_ib_up->device_gone(dev);
	while (!wait_for_completion_timeout(&dev->unused, HZ / 4));

	ib_dealloc_pd(dev->pd);
	kfree(dev);
}

static struct ib_client sdp_ib_client = {
	.name = "sdp",
	.add = sdp_ib_add,
	.remove = sdp_ib_remove,
};

/* --- the module ------------------------------------------------------------- */

const struct sdp_xprt_ops sdp_ib_ops = {
	.owner		= THIS_MODULE,
	.name		= "ib",
	.max_msg	= SDP_IB_MAX_BUF,
	.route		= sdp_ib_route,
	.listen		= sdp_ib_listen,
	.unlisten	= sdp_ib_unlisten,
	.conn_create	= sdp_ib_conn_create,
	.connect	= sdp_ib_connect,
	.prepare	= sdp_ib_prepare,
	.accept		= sdp_ib_accept,
	.reject		= sdp_ib_reject,
	.disown		= sdp_ib_disown,
	.conn_destroy	= sdp_ib_conn_destroy,
	.buf_alloc	= sdp_ib_buf_alloc,
	.buf_free	= sdp_ib_buf_free,
	.post_send	= sdp_ib_post_send,
	.post_probe	= sdp_ib_post_probe,
	.post_recv	= sdp_ib_post_recv,
	.show_stats	= sdp_ib_show_stats,
};

static int __init sdp_ib_init(void)
{
	int ret;

	sdp_ib_wq = alloc_workqueue("sdp_ib", WQ_UNBOUND, 0);
	if (!sdp_ib_wq)
		return -ENOMEM;
	ib_sa_register_client(&sdp_ib_sa);
	/*
	 * The protocol first: a device that is there may have a request for a
	 * port as soon as it is listened on.
	 */
	ret = sdp_xprt_register(&sdp_ib_ops, &sdp_ib_up);
	if (ret)
		goto err_sa;
	ret = ib_register_client(&sdp_ib_client);
	if (ret)
		goto err_xprt;
	return 0;

err_xprt:
	sdp_xprt_unregister(&sdp_ib_ops);
err_sa:
	ib_sa_unregister_client(&sdp_ib_sa);
	destroy_workqueue(sdp_ib_wq);
	return ret;
}

static void __exit sdp_ib_exit(void)
{
	sdp_xprt_unregister(&sdp_ib_ops);
	ib_unregister_client(&sdp_ib_client);
	ib_sa_unregister_client(&sdp_ib_sa);
	destroy_workqueue(sdp_ib_wq);
}

module_init(sdp_ib_init);
module_exit(sdp_ib_exit);

// SPDX-License-Identifier: GPL-2.0
/*
 * The ports listened on, which exist on every device, those included that come later.  A
 * service ID does not tell a namespace, so all namespaces share a port's listeners.
 */
#include <linux/slab.h>

#include "transport/ib/ib.h"

/**
 * struct sdp_ib_port - a port that the protocol listens on
 * @list: in sdp_ib_ports; sdp_ib_mutex
 * @listeners: struct sdp_ib_listener.port_list, one for each device;
 *	sdp_ib_mutex
 * @port: its number
 * @users: namespaces that listen there; sdp_ib_mutex
 */
struct sdp_ib_port {
	struct list_head list;
	struct list_head listeners;
	u16 port;
	unsigned int users;
};

/* Under sdp_ib_mutex. */
static LIST_HEAD(sdp_ib_ports);

/* Under sdp_ib_mutex.  A device that cannot, as another driver has the service, is left out. */
static int sdp_ib_listen_on(struct sdp_ib_dev *dev, struct sdp_ib_port *port)
{
	struct sdp_ib_listener *listener;
	int ret;

	listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	if (!listener)
		return -ENOMEM;
	listener->dev = dev;
	listener->port = port->port;
	listener->cm_id = ib_create_cm_id(dev->rc.device, sdp_ib_cm_handler,
					  listener);
	if (IS_ERR(listener->cm_id)) {
		ret = PTR_ERR(listener->cm_id);
		goto err_free;
	}
	ret = ib_cm_listen(listener->cm_id, sdp_ib_service_id(port->port));
	if (ret)
		goto err_destroy;
	refcount_inc(&dev->rc.refs);
	list_add_tail(&listener->dev_list, &dev->listeners);
	list_add_tail(&listener->port_list, &port->listeners);
	return 0;

err_destroy:
	ib_destroy_cm_id(listener->cm_id);
err_free:
	kfree(listener);
	ibdev_warn_ratelimited(dev->rc.device, "SDP port %u: cannot listen: %d\n", port->port,
			       ret);
	return ret;
}

/*
 * Not under the mutex: this waits for handlers, and those take it for the route back to
 * their peer.
 */
static void sdp_ib_listener_destroy(struct sdp_ib_listener *listener)
{
	ib_destroy_cm_id(listener->cm_id);
	sdp_rc_dev_put(&listener->dev->rc);
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

static struct sdp_ib_port *sdp_ib_port_find(u16 number)
{
	struct sdp_ib_port *port;

	list_for_each_entry(port, &sdp_ib_ports, list)
		if (port->port == number)
			return port;
	return NULL;
}

/* A port listened on for the first namespace that asks for it. */
static int sdp_ib_port_make(u16 number)
{
	struct sdp_ib_port *port;
	struct sdp_ib_dev *dev;
	int ret = 0;

	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return -ENOMEM;
	port->port = number;
	port->users = 1;
	INIT_LIST_HEAD(&port->listeners);

	mutex_lock(&sdp_ib_mutex);
	list_add_tail(&port->list, &sdp_ib_ports);
	list_for_each_entry(dev, &sdp_ib_devs, list)
		ret = sdp_ib_listen_on(dev, port) ? : ret;
	/* Peers come by the other devices. */
	if (!list_empty(&port->listeners))
		ret = 0;
	if (ret)
		sdp_ib_port_unlink(port);
	mutex_unlock(&sdp_ib_mutex);

	if (ret)
		sdp_ib_port_free(port);
	return ret;
}

/* A request's namespace is known by its address only: @net does not matter. */
int sdp_ib_listen(struct net *net, u16 number)
{
	struct sdp_ib_port *port;

	mutex_lock(&sdp_ib_mutex);
	port = sdp_ib_port_find(number);
	if (port)
		port->users++;
	mutex_unlock(&sdp_ib_mutex);
	/* No other call makes one: the registry calls one at a time. */
	return port ? 0 : sdp_ib_port_make(number);
}

void sdp_ib_unlisten(struct net *net, u16 number)
{
	struct sdp_ib_port *port;
	bool last;

	mutex_lock(&sdp_ib_mutex);
	port = sdp_ib_port_find(number);
	last = !--port->users;
	if (last)
		sdp_ib_port_unlink(port);
	mutex_unlock(&sdp_ib_mutex);
	if (last)
		sdp_ib_port_free(port);
}

/**
 * sdp_ib_listen_dev() - a device has come: listen there
 * @dev: the device
 *
 * From then on sdp_ib_dev_by_gid() finds the device, too.
 */
void sdp_ib_listen_dev(struct sdp_ib_dev *dev)
{
	struct sdp_ib_port *port;

	mutex_lock(&sdp_ib_mutex);
	list_add_tail(&dev->list, &sdp_ib_devs);
	list_for_each_entry(port, &sdp_ib_ports, list)
		sdp_ib_listen_on(dev, port);
	mutex_unlock(&sdp_ib_mutex);
}

/**
 * sdp_ib_unlisten_dev() - a device goes: do not listen there any more
 * @dev: the device
 *
 * When it returns, no request is under way, and sdp_ib_dev_by_gid() does not find the device.
 */
void sdp_ib_unlisten_dev(struct sdp_ib_dev *dev)
{
	struct sdp_ib_listener *listener, *next;
	LIST_HEAD(listeners);

	mutex_lock(&sdp_ib_mutex);
	list_del(&dev->list);
	list_splice(&dev->listeners, &listeners);
	list_for_each_entry(listener, &listeners, dev_list)
		list_del(&listener->port_list);
	mutex_unlock(&sdp_ib_mutex);

	list_for_each_entry_safe(listener, next, &listeners, dev_list)
		sdp_ib_listener_destroy(listener);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that come and go.
 */
#include <linux/slab.h>

#include "transport/verbs/verbs.h"

/**
 * sdp_rc_dev_put() - drop a reference
 * @dev: the device
 *
 * Context: any.
 */
void sdp_rc_dev_put(struct sdp_rc_dev *dev)
{
	if (refcount_dec_and_test(&dev->refs))
		complete(&dev->unused);
}
EXPORT_SYMBOL_GPL(sdp_rc_dev_put);

static void sdp_rc_dev_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct sdp_rc_dev *dev = container_of(handler, struct sdp_rc_dev, events);

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		sdp_rc_conns_device_gone(dev);
		break;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
		dev->kind->up->changed(dev->kind->ops);
		break;
	default:
		break;
	}
}

/* Bytes that a device can have registered at once, or zero. */
u32 sdp_rc_dev_mem(const struct ib_device *device)
{
	u32 pages = min_t(u32, device->attrs.max_fast_reg_page_list_len, SDP_RC_MEM_PAGES);

	if (!(device->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) || pages < 2)
		return 0;
	/* It may begin anywhere in the first page. */
	return (pages - 1) * PAGE_SIZE;
}

static unsigned int sdp_rc_dev_ports(struct ib_device *device)
{
	unsigned int ports = 0;
	u32 port;

	rdma_for_each_port(device, port) {
		if (rdma_protocol_ib(device, port) && rdma_cap_ib_cm(device, port) &&
		    rdma_cap_ib_sa(device, port))
			ports |= SDP_RC_PORTS_IB;
		if (rdma_protocol_roce(device, port) || rdma_protocol_iwarp(device, port))
			ports |= SDP_RC_PORTS_ETH;
	}
	return ports;
}

/* Why no transport uses the device.  One transport says it for all. */
static void sdp_rc_dev_tell_unused(const struct sdp_rc_kind *kind, struct ib_device *device,
				   unsigned int ports)
{
	if (!sdp_rc_kind_tells(kind, ports))
		return;
	if (ports)
		ibdev_info(device, "SDP needs the module %s to use it\n",
			   ports & SDP_RC_PORTS_IB ? "sdp_ib" : "sdp_rdma");
	else
		ibdev_info(device,
			   "SDP cannot use it: no port of RoCE, iWARP, or InfiniBand with CM and SA\n");
}

/**
 * sdp_rc_dev_tell() - the log gets to know that a device is used, and what it lacks
 * @dev: the device, on which the transport listens if it has to
 */
void sdp_rc_dev_tell(const struct sdp_rc_dev *dev)
{
	ibdev_info(dev->device, "%s uses it for SDP\n", dev->kind->module);
	if (!sdp_rc_kind_tells(dev->kind, sdp_rc_dev_ports(dev->device)))
		return;
	if (!sdp_rc_dev_mem(dev->device))
		ibdev_info(dev->device, "no fast registration: SDP copies all bytes\n");
	if (sdp_rc_dev_whole(dev))
		ibdev_info(dev->device, "one piece for a receive: SDP copies what arrives twice\n");
}
EXPORT_SYMBOL_GPL(sdp_rc_dev_tell);

static struct sdp_rc_dev *sdp_rc_dev_alloc(const struct sdp_rc_kind *kind,
					   struct ib_device *device)
{
	struct sdp_rc_dev *dev = kzalloc(kind->dev_size, GFP_KERNEL);
	struct ib_pd *pd;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	pd = ib_alloc_pd(device, 0);
	if (IS_ERR(pd)) {
		kfree(dev);
		return ERR_CAST(pd);
	}
	dev->pd = pd;
	return dev;
}

/**
 * sdp_rc_dev_new() - a device has come
 * @kind: the transport
 * @device: ib_core's
 *
 * The log tells why a device is not used.  For one that is used, see sdp_rc_dev_tell().
 *
 * Return: the device, as the first member of the transport's structure, or ERR_PTR():
 * -EOPNOTSUPP if the transport can use none of its ports.
 */
struct sdp_rc_dev *sdp_rc_dev_new(const struct sdp_rc_kind *kind, struct ib_device *device)
{
	unsigned int ports = sdp_rc_dev_ports(device);
	struct sdp_rc_dev *dev;

	if (!(ports & kind->ports)) {
		sdp_rc_dev_tell_unused(kind, device, ports);
		return ERR_PTR(-EOPNOTSUPP);
	}
	dev = sdp_rc_dev_alloc(kind, device);
	if (IS_ERR(dev)) {
		ibdev_warn(device, "%s cannot use it: %ld\n", kind->module, PTR_ERR(dev));
		return dev;
	}
	dev->kind = kind;
	dev->device = device;
	refcount_set(&dev->refs, 1);
	sdp_xprt_dev_init(&dev->xdev);
	init_completion(&dev->unused);
	INIT_IB_EVENT_HANDLER(&dev->events, device, sdp_rc_dev_event);
	ib_register_event_handler(&dev->events);
	return dev;
}
EXPORT_SYMBOL_GPL(sdp_rc_dev_new);

/**
 * sdp_rc_dev_end() - a device goes
 * @dev: the device, which gets no new connections
 *
 * Ends its connections, waits until the last reference is gone, and frees it.
 */
void sdp_rc_dev_end(struct sdp_rc_dev *dev)
{
	ib_unregister_event_handler(&dev->events);
	sdp_rc_conns_device_gone(dev);
	sdp_rc_dev_put(dev);
	/* Again for a connection that was just ending, and was not known to be here. */
	do
		dev->kind->up->gone(dev->kind->ops, &dev->xdev);
	while (!wait_for_completion_timeout(&dev->unused, HZ / 4));
	ib_dealloc_pd(dev->pd);
	kfree(dev);
}
EXPORT_SYMBOL_GPL(sdp_rc_dev_end);

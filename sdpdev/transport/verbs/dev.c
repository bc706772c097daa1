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

/* Once: that the device is used, and what is slower by it than it could be. */
static void sdp_rc_dev_tell(const struct sdp_rc_dev *dev)
{
	ibdev_info(dev->device, "%s carries SDP\n", dev->kind->module);
	if (!sdp_rc_dev_mem(dev->device))
		ibdev_info(dev->device, "no fast registration: SDP copies all bytes\n");
	if (sdp_rc_dev_whole(dev))
		ibdev_info(dev->device, "one piece for a receive: SDP copies what arrives twice\n");
}

/**
 * sdp_rc_dev_new() - a device has come
 * @kind: the transport
 * @device: ib_core's
 *
 * Return: the device, as the first member of the transport's structure, or ERR_PTR().
 */
struct sdp_rc_dev *sdp_rc_dev_new(const struct sdp_rc_kind *kind, struct ib_device *device)
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
	dev->kind = kind;
	dev->device = device;
	dev->pd = pd;
	refcount_set(&dev->refs, 1);
	sdp_xprt_dev_init(&dev->xdev);
	init_completion(&dev->unused);
	INIT_IB_EVENT_HANDLER(&dev->events, device, sdp_rc_dev_event);
	ib_register_event_handler(&dev->events);
	sdp_rc_dev_tell(dev);
	return dev;
}
EXPORT_SYMBOL_GPL(sdp_rc_dev_new);

/**
 * sdp_rc_dev_end() - a device goes
 * @dev: the device, which gets no new connections
 *
 * Ends its connections, waits until nobody has a reference, and frees it.
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

// SPDX-License-Identifier: GPL-2.0
/*
 * What an HCA appears under: a device on softib's own bus, with as many virtual functions as it was
 * told to have. A function is what its administrator has set through the HCA, for tests of that; no
 * adapter of its own appears.
 */
#include <linux/device.h>
#include <linux/if_link.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "softib.h"

/**
 * struct softib_vf - a virtual function
 * @link_state:	IFLA_VF_LINK_STATE_*
 * @node_guid:	0 until it is set
 * @port_guid:	0 until it is set
 * @stats:	all 0 until they are set; under stats_lock
 *
 * Each of the others is a word of its own, and read and written as such.
 */
struct softib_vf {
	u32 link_state;
	u64 node_guid;
	u64 port_guid;
	struct ifla_vf_stats stats;
};

static DEFINE_SPINLOCK(stats_lock);

/**
 * struct softib_device - a device on the bus
 * @dev:	its references are the structure's
 * @vfs:	number of virtual functions
 * @vf:		those
 */
struct softib_device {
	struct device dev;
	unsigned int vfs;
	struct softib_vf vf[];
};

static struct device *root;
/* Of devices that are not freed yet, and one more while the module is there */
static refcount_t devices = REFCOUNT_INIT(1);
static DECLARE_COMPLETION(no_devices);

static struct softib_device *to_softib_device(struct device *dev)
{
	return container_of(dev, struct softib_device, dev);
}

static int bus_num_vf(struct device *dev)
{
	return to_softib_device(dev)->vfs;
}

static struct bus_type softib_bus = {
	.name = "softib",
	.num_vf = bus_num_vf,
};

static void put_devices(void)
{
	if (refcount_dec_and_test(&devices))
		complete(&no_devices);
}

static void device_free(struct device *dev)
{
	kfree(to_softib_device(dev));
	put_devices();
}

/* The device that an HCA is to appear under, for device_unregister(), or an error pointer. */
struct device *softib_device_create(const char *name, unsigned int vfs)
{
	struct softib_device *device;
	int ret;

	device = kzalloc(struct_size(device, vf, vfs), GFP_KERNEL);
	if (!device)
		return ERR_PTR(-ENOMEM);
	refcount_inc(&devices);
	device->vfs = vfs;
	device_initialize(&device->dev);
	device->dev.bus = &softib_bus;
	device->dev.parent = root;
	device->dev.release = device_free;
	ret = dev_set_name(&device->dev, "softib.%s", name) ? : device_add(&device->dev);
	if (ret) {
		put_device(&device->dev);
		return ERR_PTR(ret);
	}
	return &device->dev;
}

static struct softib_vf *get_vf(struct ib_device *ibdev, int vf)
{
	struct softib_device *device = to_softib_device(ibdev->dev.parent);

	if (!device->vfs)
		return ERR_PTR(-EOPNOTSUPP);
	if (vf < 0 || vf >= device->vfs)
		return ERR_PTR(-EINVAL);
	return &device->vf[vf];
}

int softib_set_vf_link_state(struct ib_device *ibdev, int vf, u32 port, int state)
{
	struct softib_vf *v = get_vf(ibdev, vf);

	if (IS_ERR(v))
		return PTR_ERR(v);
	if (state < 0 || state >= __IFLA_VF_LINK_STATE_MAX)
		return -EINVAL;
	WRITE_ONCE(v->link_state, state);
	return 0;
}

int softib_get_vf_config(struct ib_device *ibdev, int vf, u32 port,
			 struct ifla_vf_info *info)
{
	struct softib_vf *v = get_vf(ibdev, vf);

	if (IS_ERR(v))
		return PTR_ERR(v);
	memset(info, 0, sizeof(*info));
	info->linkstate = READ_ONCE(v->link_state);
	return 0;
}

int softib_get_vf_stats(struct ib_device *ibdev, int vf, u32 port,
			struct ifla_vf_stats *stats)
{
	struct softib_vf *v = get_vf(ibdev, vf);

	if (IS_ERR(v))
		return PTR_ERR(v);
	spin_lock(&stats_lock);
	*stats = v->stats;
	spin_unlock(&stats_lock);
	return 0;
}

/* @stats are shown from now on: nothing counts them. */
int softib_set_vf_stats(struct softib_hca *hca, int vf,
			const struct ifla_vf_stats *stats)
{
	struct softib_vf *v = get_vf(&hca->rdi.ibdev, vf);

	if (IS_ERR(v))
		return PTR_ERR(v);
	spin_lock(&stats_lock);
	v->stats = *stats;
	spin_unlock(&stats_lock);
	return 0;
}

int softib_get_vf_guid(struct ib_device *ibdev, int vf, u32 port,
		       struct ifla_vf_guid *node_guid,
		       struct ifla_vf_guid *port_guid)
{
	struct softib_vf *v = get_vf(ibdev, vf);

	if (IS_ERR(v))
		return PTR_ERR(v);
	node_guid->guid = READ_ONCE(v->node_guid);
	port_guid->guid = READ_ONCE(v->port_guid);
	return 0;
}

int softib_set_vf_guid(struct ib_device *ibdev, int vf, u32 port, u64 guid,
		       int type)
{
	struct softib_vf *v = get_vf(ibdev, vf);

	if (IS_ERR(v))
		return PTR_ERR(v);
	if (type == IFLA_VF_IB_NODE_GUID)
		WRITE_ONCE(v->node_guid, guid);
	else if (type == IFLA_VF_IB_PORT_GUID)
		WRITE_ONCE(v->port_guid, guid);
	else
		return -EINVAL;
	return 0;
}

int softib_bus_init(void)
{
	int ret = bus_register(&softib_bus);

	if (ret)
		return ret;
	root = root_device_register("softib");
	if (IS_ERR(root)) {
		bus_unregister(&softib_bus);
		return PTR_ERR(root);
	}
	return 0;
}

/* Waits until the last device is freed. */
void softib_bus_exit(void)
{
	put_devices();
	wait_for_completion(&no_devices);
	root_device_unregister(root);
	bus_unregister(&softib_bus);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The InfiniBand device of a name, for modules of the tests: newer kernels have no function for it.
 * One module includes this once, and looks while it is initialized.
 */
#ifndef _DEVICE_BY_NAME_H
#define _DEVICE_BY_NAME_H

#include <linux/string.h>
#include <rdma/ib_verbs.h>

static const char *device_wanted;
static struct ib_device *device_found;

/* The core shows a client all devices.  This client wants to keep none of them. */
static int device_look(struct ib_device *device)
{
	if (!strcmp(dev_name(&device->dev), device_wanted) && ib_device_try_get(device))
		device_found = device;
	return -EOPNOTSUPP;
}

static struct ib_client device_looker = {
	.name = "device_by_name",
	.add = device_look,
};

/* Returns the device with a reference, which ib_device_put() gives back, or NULL. */
static struct ib_device *device_by_name(const char *name)
{
	device_wanted = name;
	if (ib_register_client(&device_looker))
		return NULL;
	ib_unregister_client(&device_looker);
	return device_found;
}

#endif /* _DEVICE_BY_NAME_H */

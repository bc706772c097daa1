// SPDX-License-Identifier: GPL-2.0
/*
 * Makes an adapter's first port look like one of Omni-Path, as long as this is loaded, to
 * drivers that are loaded meanwhile.
 *
 *	insmod opa.ko device=softib3
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "device_by_name.h"

MODULE_DESCRIPTION("Makes an adapter's port look like one of Omni-Path");
MODULE_LICENSE("GPL");

static char *device = "softib0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "The adapter");

static struct ib_device *opa_hca;

static void opa_set(bool opa)
{
	u32 *flags = &opa_hca->port_data[1].immutable.core_cap_flags;

	if (opa)
		*flags |= RDMA_CORE_CAP_OPA_MAD;
	else
		*flags &= ~RDMA_CORE_CAP_OPA_MAD;
}

static int __init opa_init(void)
{
	opa_hca = device_by_name(device);
	if (!opa_hca)
		return -ENODEV;
	opa_set(true);
	return 0;
}
module_init(opa_init);

static void __exit opa_exit(void)
{
	opa_set(false);
	ib_device_put(opa_hca);
}
module_exit(opa_exit);

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What network drivers need. compat.h does not include it: the other modules have none.
 */
#ifndef _COMPAT_NETDEV_H
#define _COMPAT_NETDEV_H

#include <linux/netdevice.h>
#include <linux/version.h>

/* Where large packets have moved to, from skbuff.h. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

#endif /* _COMPAT_NETDEV_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels: network drivers. compat.h does not include this header, as the
 * other modules have no such driver.
 */
#ifndef _COMPAT_NETDEV_H
#define _COMPAT_NETDEV_H

#include <linux/netdevice.h>
#include <linux/version.h>

/* Where large packets have moved to, from skbuff.h. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

/* Drivers of newer kernels may ask for a lock of the interface's own, beside rtnl. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#include <net/netdev_lock.h>
#else
static inline void netdev_lock_ops(struct net_device *dev)
{
}

static inline void netdev_unlock_ops(struct net_device *dev)
{
}
#endif

/* Has GRO packets that did not go up yet? */
static inline bool napi_has_packets(const struct napi_struct *napi)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	return napi->gro.bitmask || napi->gro.rx_count;
#else
	return napi->gro_bitmask || napi->rx_count;
#endif
}

/* Would GRO keep a packet, to merge it with those of the next poll? */
static inline bool napi_keeps_packets(const struct napi_struct *napi)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	return READ_ONCE(napi->gro_flush_timeout);
#else
	return READ_ONCE(napi->dev->gro_flush_timeout);
#endif
}

#endif /* _COMPAT_NETDEV_H */

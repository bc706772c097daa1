// SPDX-License-Identifier: GPL-2.0
/*
 * The interface's link-layer address, and that of the link's broadcast group.
 */
#include "compat.h"
#include "ipoib.h"

/* 00:ff:ff:ff, then the MGID ff12:401b:<P_Key>::ffff:ffff; RFC 4391, 4 and 9.1. */
const u8 ipoib_broadcast[INFINIBAND_ALEN] = {
	0x00, 0xff, 0xff, 0xff,
	0xff, 0x12, 0x40, 0x1b, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
};

/**
 * ipoib_set_broadcast() - settle the broadcast address of the link
 * @priv: the interface, down; under ctl
 *
 * The administrator may have chosen another scope, as with the kernel's driver; whatever
 * else is no broadcast address of the partition's is put right.
 */
void ipoib_set_broadcast(struct ipoib_dev *priv)
{
	u8 *theirs = priv->dev->broadcast, *addr = priv->broadcast;

	netif_addr_lock_bh(priv->dev);
	memcpy(addr, ipoib_broadcast, INFINIBAND_ALEN);
	put_unaligned_be16(priv->pkey, &addr[8]);
	put_unaligned_be16(priv->pkey, &theirs[8]);
	if ((theirs[5] & 0xf0) == (addr[5] & 0xf0))
		addr[5] = theirs[5];
	if (memcmp(theirs, addr, INFINIBAND_ALEN)) {
		addr[5] = ipoib_broadcast[5];
		memcpy(theirs, addr, INFINIBAND_ALEN);
	}
	netif_addr_unlock_bh(priv->dev);
}

/**
 * ipoib_make_address() - make the link-layer address, RFC 4391 section 9.1.1
 * @priv: the interface, with its queue pair; under ctl, or not yet registered
 *
 * That connections are accepted, in either mode, is part of it: RFC 4755
 * section 3.1.
 */
void ipoib_make_address(struct ipoib_dev *priv)
{
	u8 *addr = priv->link.addr;

	spin_lock(&priv->link.bcast_lock);
	put_unaligned_be32(priv->qpn & IPOIB_QPN_MASK, addr);
	if (priv->cm.able)
		addr[0] |= IPOIB_FLAG_RC;
	memcpy(addr + 4, priv->gid.raw, sizeof(priv->gid.raw));
	spin_unlock(&priv->link.bcast_lock);
}

/**
 * ipoib_get_address() - copy the link-layer address
 * @priv: the interface
 * @addr: the copy
 *
 * A holder of rtnl need not wait for ctl, which others may hold for seconds.
 */
void ipoib_get_address(struct ipoib_dev *priv, u8 *addr)
{
	spin_lock(&priv->link.bcast_lock);
	memcpy(addr, priv->link.addr, INFINIBAND_ALEN);
	spin_unlock(&priv->link.bcast_lock);
}

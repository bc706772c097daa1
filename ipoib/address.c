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

/*
 * Settles the broadcast address of the link, before the interface joins any group. The
 * administrator may have chosen another scope, as with the kernel's driver; an address that differs
 * in anything else is put right. Called under ctl.
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

/*
 * RFC 4391 section 9.1.1. If the adapter can have connections, the address says so in either mode
 * (RFC 4755 section 3.1). The interface has its queue pair; ctl is held, or the interface is not
 * yet registered.
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

/* A holder of rtnl need not wait for ctl, which others may hold for seconds. */
void ipoib_get_address(struct ipoib_dev *priv, u8 *addr)
{
	spin_lock(&priv->link.bcast_lock);
	memcpy(addr, priv->link.addr, INFINIBAND_ALEN);
	spin_unlock(&priv->link.bcast_lock);
}

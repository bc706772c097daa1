// SPDX-License-Identifier: GPL-2.0
/*
 * How many connections of a device an owner may have.
 *
 * Of those that no other owner has, each owner may have a share: however many owners want
 * all they can get, there is something left for the next one.
 */
#include <linux/math64.h>

#include "transport/registry.h"

void sdp_xprt_dev_init(struct sdp_xprt_dev *dev)
{
	mutex_init(&dev->lock);
	dev->conns = 0;
	xa_init(&dev->owners);
}
EXPORT_SYMBOL_GPL(sdp_xprt_dev_init);

/* How many must be left for others if an owner has @has of them. */
static u64 sdp_share_leave(u32 has, u32 share)
{
	return share ? div_u64((u64)has * (100 - share), share) : 0;
}

static u32 sdp_share_has(struct sdp_xprt_dev *dev, u32 owner)
{
	void *entry = xa_load(&dev->owners, owner);

	return entry ? xa_to_value(entry) : 0;
}

int sdp_xprt_charge(struct sdp_xprt_conn *conn, const struct sdp_xprt_params *params, u32 most)
{
	struct sdp_xprt_dev *dev = conn->dev;
	int ret = 0;
	u32 has;

	mutex_lock(&dev->lock);
	has = sdp_share_has(dev, params->owner) + 1;
	if (dev->conns + 1 + sdp_share_leave(has, params->share) > most)
		ret = -EDQUOT;
	else if (params->share &&
		 xa_err(xa_store(&dev->owners, params->owner, xa_mk_value(has), GFP_KERNEL)))
		ret = -ENOBUFS;
	if (!ret) {
		dev->conns++;
		conn->owner = params->owner;
		conn->owned = params->share;
	}
	mutex_unlock(&dev->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(sdp_xprt_charge);

/* Context: sdp_xprt_dev.lock held. */
static void sdp_share_drop(struct sdp_xprt_conn *conn)
{
	struct sdp_xprt_dev *dev = conn->dev;
	u32 has;

	if (!conn->owned)
		return;
	conn->owned = false;
	has = sdp_share_has(dev, conn->owner) - 1;
	if (has)
		/* In the place of another number, which takes no memory. */
		xa_store(&dev->owners, conn->owner, xa_mk_value(has), GFP_KERNEL);
	else
		xa_erase(&dev->owners, conn->owner);
}

/**
 * sdp_xprt_disown() - a connection does not count as its owner's any more
 * @conn: the connection, which has been charged
 *
 * Context: process context.
 */
void sdp_xprt_disown(struct sdp_xprt_conn *conn)
{
	mutex_lock(&conn->dev->lock);
	sdp_share_drop(conn);
	mutex_unlock(&conn->dev->lock);
}

void sdp_xprt_uncharge(struct sdp_xprt_conn *conn)
{
	mutex_lock(&conn->dev->lock);
	conn->dev->conns--;
	sdp_share_drop(conn);
	mutex_unlock(&conn->dev->lock);
}
EXPORT_SYMBOL_GPL(sdp_xprt_uncharge);

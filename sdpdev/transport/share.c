// SPDX-License-Identifier: GPL-2.0
/*
 * How many connections of a device, and how many registrations of memory, an owner may have.
 *
 * Of those that no other owner has, each owner may have a share: however many owners want
 * all they can get, there is something left for the next one.
 */
#include <linux/math64.h>

#include "transport/registry.h"
#include "transport/share.h"

static void sdp_share_init(struct sdp_xprt_share *share)
{
	share->all = 0;
	xa_init(&share->owners);
}

void sdp_xprt_dev_init(struct sdp_xprt_dev *dev)
{
	mutex_init(&dev->lock);
	sdp_share_init(&dev->conns);
	sdp_share_init(&dev->mems);
}
EXPORT_SYMBOL_GPL(sdp_xprt_dev_init);

/* How many must be left for others if an owner has @has of them. */
static u64 sdp_share_leave(u32 has, u32 percent)
{
	return percent ? div_u64((u64)has * (100 - percent), percent) : 0;
}

static u32 sdp_share_has(struct sdp_xprt_share *share, u32 owner)
{
	void *entry = xa_load(&share->owners, owner);

	return entry ? xa_to_value(entry) : 0;
}

/* Counts one more; without @percent it has no owner.  Context: sdp_xprt_dev.lock held. */
static int sdp_share_take(struct sdp_xprt_share *share, u32 owner, u32 percent, u32 most)
{
	u32 has = sdp_share_has(share, owner) + 1;

	if (share->all + 1 + sdp_share_leave(has, percent) > most)
		return -EDQUOT;
	if (percent && xa_err(xa_store(&share->owners, owner, xa_mk_value(has), GFP_KERNEL)))
		return -ENOBUFS;
	share->all++;
	return 0;
}

/* @n do not count as the owner's any more.  Context: sdp_xprt_dev.lock held. */
static void sdp_share_drop(struct sdp_xprt_share *share, u32 owner, u32 n)
{
	u32 has = sdp_share_has(share, owner) - n;

	if (has)
		/* In the place of another number, which takes no memory. */
		xa_store(&share->owners, owner, xa_mk_value(has), GFP_KERNEL);
	else
		xa_erase(&share->owners, owner);
}

int sdp_xprt_charge(struct sdp_xprt_conn *conn, const struct sdp_xprt_params *params, u32 most)
{
	struct sdp_xprt_dev *dev = conn->dev;
	int ret;

	mutex_lock(&dev->lock);
	ret = sdp_share_take(&dev->conns, params->owner, params->share, most);
	if (!ret) {
		conn->owner = params->owner;
		conn->share = params->share;
		conn->owned = params->share;
	}
	mutex_unlock(&dev->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(sdp_xprt_charge);

/* Context: sdp_xprt_dev.lock held. */
static void sdp_conn_disown(struct sdp_xprt_conn *conn)
{
	if (conn->owned)
		sdp_share_drop(&conn->dev->conns, conn->owner, 1);
	conn->owned = false;
}

/*
 * A connection that has been charged does not count as its owner's any more.  In process context.
 */
void sdp_xprt_disown(struct sdp_xprt_conn *conn)
{
	mutex_lock(&conn->dev->lock);
	sdp_conn_disown(conn);
	mutex_unlock(&conn->dev->lock);
}

void sdp_xprt_uncharge(struct sdp_xprt_conn *conn)
{
	mutex_lock(&conn->dev->lock);
	conn->dev->conns.all--;
	sdp_conn_disown(conn);
	mutex_unlock(&conn->dev->lock);
}
EXPORT_SYMBOL_GPL(sdp_xprt_uncharge);

int sdp_xprt_charge_mem(struct sdp_xprt_conn *conn, u32 most)
{
	int ret;

	mutex_lock(&conn->dev->lock);
	ret = sdp_share_take(&conn->dev->mems, conn->owner, conn->share, most);
	mutex_unlock(&conn->dev->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(sdp_xprt_charge_mem);

void sdp_xprt_uncharge_mem(struct sdp_xprt_conn *conn, u32 n)
{
	mutex_lock(&conn->dev->lock);
	conn->dev->mems.all -= n;
	if (n && conn->share)
		sdp_share_drop(&conn->dev->mems, conn->owner, n);
	mutex_unlock(&conn->dev->lock);
}
EXPORT_SYMBOL_GPL(sdp_xprt_uncharge_mem);

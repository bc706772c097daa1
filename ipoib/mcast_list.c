// SPDX-License-Identifier: GPL-2.0
/*
 * The groups that the stack listens to: its list of addresses, and the members behind each. The
 * groups' own works join, attach and leave (mcast.c).
 */
#include "compat.h"
#include "ipoib.h"

/*
 * Makes @d a group to listen to, with so many members more, unless it has just had to make
 * room for another.
 */
static bool ipoib_mcast_set_listen(struct ipoib_dest *d, int members)
{
	struct ipoib_mcast *m = ipoib_to_mcast(d);
	bool start, dead;

	spin_lock_bh(&d->lock);
	dead = d->state == IPOIB_DEST_DEAD;
	start = !m->listen && !dead;
	m->listen |= start;
	spin_unlock_bh(&d->lock);

	m->wanted = true;
	m->members += members;
	if (start)
		ipoib_dest_kick(d, 0);
	return !dead;
}

/* Listens to a group. Called under ctl. Returns false where there is no room. */
static bool ipoib_mcast_listen(struct ipoib_dev *priv, const union ib_gid *gid, int members)
{
	struct ipoib_dest *d;

	do
		d = ipoib_dest_get(priv, gid);
	while (d && !ipoib_mcast_set_listen(d, members));
	return d;
}

/*
 * Starts to join the broadcast group, and then the others. The interface is up; called under ctl.
 */
int ipoib_mcast_start(struct ipoib_dev *priv)
{
	union ib_gid gid;

	/* No partition, no link; a change of the P_Key starts all again. */
	if (!(priv->pkey & ~IPOIB_FULL_MEMBER))
		return 0;

	ipoib_set_broadcast(priv);
	memcpy(gid.raw, priv->broadcast + 4, sizeof(gid.raw));
	if (!ipoib_mcast_listen(priv, &gid, 1))
		return -ENOMEM;
	mod_delayed_work(ipoib_ctl_wq, &priv->link.mcast_work, 0);
	return 0;
}

/* Is an address of the stack's list that of a group of this link? Sets @gid in any case. */
static bool ipoib_mcast_addr(struct ipoib_dev *priv, const u8 *addr,
			     union ib_gid *gid)
{
	const u8 *bcast = priv->broadcast;

	memcpy(gid->raw, addr + 4, sizeof(gid->raw));
	return !memcmp(addr, bcast, 5) && (addr[5] & 0xf0) == 0x10 &&
	       !memcmp(addr + 8, bcast + 8, 2);
}

/* User space that joined a group by itself may want to be the only one. */
static bool ipoib_mcast_is_users(struct ipoib_dev *priv, union ib_gid *gid)
{
	struct ib_sa_mcmember_rec rec;
	bool ours;

	if (!READ_ONCE(priv->umcast))
		return false;

	rcu_read_lock();
	ours = ipoib_dest_find(priv, gid);
	rcu_read_unlock();
	return !ours &&
	       !ib_sa_get_mcmember_rec(priv->hca, priv->port, gid, &rec);
}

static void ipoib_mcast_unmark(struct ipoib_dest *d)
{
	struct ipoib_mcast *m;

	if (!ipoib_gid_is_mcast(&d->gid))
		return;
	m = ipoib_to_mcast(d);
	m->wanted = false;
	m->members = 0;
	m->claimed = 0;
}

/* Has the group's work attach or detach, where the members are others than before. */
static void ipoib_mcast_judge(struct ipoib_dest *d)
{
	struct ipoib_mcast *m;
	bool offloaded;

	if (!ipoib_gid_is_mcast(&d->gid))
		return;
	m = ipoib_to_mcast(d);
	offloaded = m->claimed && m->members <= m->claimed;

	spin_lock_bh(&d->lock);
	if (offloaded != m->offloaded && d->state != IPOIB_DEST_DEAD) {
		m->offloaded = offloaded;
		if (offloaded)
			ipoib_count(d->priv, IPOIB_MCAST_OFFLOADED);
		mod_delayed_work(ipoib_wq, &d->work, 0);
	}
	spin_unlock_bh(&d->lock);
}

static bool ipoib_mcast_unwanted(struct ipoib_dest *d)
{
	struct ipoib_mcast *m;

	if (!ipoib_gid_is_mcast(&d->gid))
		return false;
	m = ipoib_to_mcast(d);
	return m->listen && !m->wanted && !ipoib_mcast_is_bcast(m);
}

/* Joins what the stack listens to, and leaves the rest. Called under ctl. */
static void ipoib_mcast_follow_list(struct ipoib_dev *priv)
{
	struct netdev_hw_addr *ha;
	union ib_gid gid;

	priv->link.mcast_short = false;
	ipoib_dest_for_each(priv, ipoib_mcast_unmark);

	netif_addr_lock_bh(priv->dev);
	netdev_for_each_mc_addr(ha, priv->dev) {
		if (!ipoib_mcast_addr(priv, ha->addr, &gid) ||
		    ipoib_mcast_is_users(priv, &gid))
			continue;
		if (!ipoib_mcast_listen(priv, &gid, ha->refcount))
			priv->link.mcast_short = true;
	}
	netif_addr_unlock_bh(priv->dev);

	ipoib_claims_count(priv);
	ipoib_dest_for_each(priv, ipoib_mcast_judge);
	ipoib_dest_remove(priv, ipoib_mcast_unwanted);
}

void ipoib_mcast_list_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work), struct ipoib_dev,
					      link.mcast_work);

	mutex_lock(&priv->link.ctl);
	if (ipoib_claims_look(priv))
		queue_delayed_work(ipoib_ctl_wq, &priv->link.mcast_work, IPOIB_CLAIM_PERIOD);
	if (priv->link.up)
		ipoib_mcast_follow_list(priv);
	mutex_unlock(&priv->link.ctl);
}

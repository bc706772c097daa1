// SPDX-License-Identifier: GPL-2.0
/*
 * The link: going up and down, and what the port's events change.
 *
 * The broadcast group is the link (RFC 4391 section 5): the carrier is on while
 * it is joined, and its MTU is the interface's.
 */
#include <net/sch_generic.h>
#include <rdma/ib_cache.h>

#include "compat.h"
#include "compat/netdev.h"
#include "ipoib.h"
#include "trace.h"

/* --- the port's identity ------------------------------------------------- */

struct ipoib_identity {
	u16 pkey;
	int pkey_index;		/* -1: not in the port's table */
	bool has_gid;		/* it is in the port's table */
	union ib_gid gid;
};

/* The subnet's prefix, with the GUID that the administrator chose or the port's. */
static int ipoib_read_gid(struct ipoib_dev *priv, struct ipoib_identity *id)
{
	__be64 guid = READ_ONCE(priv->guid);
	const struct ib_gid_attr *attr;
	int err;

	if (!guid && priv->parent)
		guid = READ_ONCE(priv->parent->guid);
	err = rdma_query_gid(priv->hca, priv->port, 0, &id->gid);
	id->has_gid = !err;
	if (err || !guid)
		return err;

	id->gid.global.interface_id = guid;
	attr = rdma_find_gid_by_port(priv->hca, &id->gid, IB_GID_TYPE_IB,
				     priv->port, NULL);
	id->has_gid = !IS_ERR(attr);
	if (id->has_gid)
		rdma_put_gid_attr(attr);
	return 0;
}

static int ipoib_read_identity(struct ipoib_dev *priv,
			       struct ipoib_identity *id)
{
	int err;

	if (priv->parent) {
		u16 index;

		id->pkey = priv->pkey;
		err = ib_find_pkey(priv->hca, priv->port, id->pkey, &index);
		id->pkey_index = err ? -1 : index;
	} else {
		id->pkey_index = 0;
		err = ib_query_pkey(priv->hca, priv->port, 0, &id->pkey);
		if (err)
			return err;
		/* Groups are named by the full member's P_Key, RFC 4391 4. */
		id->pkey |= IPOIB_FULL_MEMBER;
	}
	return ipoib_read_gid(priv, id);
}

static enum ipoib_flush ipoib_identity_change(struct ipoib_dev *priv,
					      const struct ipoib_identity *id)
{
	if (id->pkey != priv->pkey || id->pkey_index != priv->pkey_index ||
	    id->has_gid != priv->has_gid)
		return IPOIB_FLUSH_HEAVY;
	if (!ipoib_gid_equal(&id->gid, &priv->gid))
		return IPOIB_FLUSH_NORMAL;
	return IPOIB_FLUSH_NONE;
}

/* The broadcast address follows here, the interface's own in ipoib_sync(). */
static void ipoib_set_identity(struct ipoib_dev *priv,
			       const struct ipoib_identity *id)
{
	netif_addr_lock_bh(priv->dev);
	priv->pkey = id->pkey;
	priv->pkey_index = id->pkey_index;
	priv->has_gid = id->has_gid;
	priv->gid = id->gid;
	put_unaligned_be16(id->pkey, &priv->dev->broadcast[8]);
	netif_addr_unlock_bh(priv->dev);
	/* The first time is before there is a queue pair. */
	if (priv->qpn)
		ipoib_make_address(priv);
}

/* Learns the port's P_Key and GID. The interface is down; called under ctl. */
int ipoib_read_port(struct ipoib_dev *priv)
{
	struct ipoib_identity id;
	int err;

	err = ipoib_read_identity(priv, &id);
	if (!err)
		ipoib_set_identity(priv, &id);
	return err;
}

/* --- what the stack sees ------------------------------------------------- */

/* Called under bcast_lock. */
static void ipoib_set_carrier(struct ipoib_dev *priv, bool on)
{
	if (on == netif_carrier_ok(priv->dev))
		return;

	trace_ipoib_carrier(priv, on);
	if (on)
		netif_carrier_on(priv->dev);
	else
		netif_carrier_off(priv->dev);
}

static void ipoib_sync_address(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->dev;
	u8 addr[INFINIBAND_ALEN];
	bool changed;

	ipoib_get_address(priv, addr);
	netif_addr_lock_bh(dev);
	changed = memcmp(dev->dev_addr, addr, sizeof(addr));
	if (changed)
		dev_addr_mod(dev, 0, addr, sizeof(addr));
	netif_addr_unlock_bh(dev);

	if (!changed)
		return;
	call_netdevice_notifiers(NETDEV_CHANGEADDR, dev);
	priv->link.announce = true;
}

/* Neighbours would send to the old address until they doubt it by themselves. */
static void ipoib_announce(struct ipoib_dev *priv)
{
	if (!priv->link.announce || !netif_running(priv->dev))
		return;
	priv->link.announce = false;
	/* The stack would only do so after this, and drop what is sent until then. */
	dev_activate(priv->dev);
	call_netdevice_notifiers(NETDEV_NOTIFY_PEERS, priv->dev);
}

static void ipoib_sync_mtu(struct ipoib_dev *priv)
{
	unsigned int wish = priv->link.admin_mtu;
	unsigned int mtu = min(wish, READ_ONCE(priv->link.mcast_mtu));

	if (priv->connected || priv->dev->mtu == mtu)
		return;
	if (dev_set_mtu(priv->dev, mtu) && net_ratelimit())
		netdev_warn(priv->dev, "cannot set the MTU to %u\n", mtu);
	/* That was the link's doing, not the administrator's. */
	priv->link.admin_mtu = wish;
}

/* --- what is not used ---------------------------------------------------- */

/*
 * Has gc_work look for idle destinations and connections of an interface that is up, or look again
 * whether one that is to be up can be. Called under ctl.
 */
static void ipoib_gc_later(struct ipoib_dev *priv)
{
	unsigned long delay = HZ;

	if (priv->link.up)
		delay = min(IPOIB_GC_PERIOD, ipoib_idle() / 2);
	/* One that is pending may be for much later. */
	mod_delayed_work(ipoib_ctl_wq, &priv->link.gc_work, delay);
}

/* Forgets what is idle, and tries to bring up what is to be up and is not. */
void ipoib_gc_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work),
					      struct ipoib_dev, link.gc_work);

	mutex_lock(&priv->link.ctl);
	if (priv->link.up) {
		ipoib_dest_remove_idle(priv);
		ipoib_conns_reap(priv);
		ipoib_conns_in_reap(priv);
		if (priv->link.mcast_short)
			mod_delayed_work(ipoib_ctl_wq, &priv->link.mcast_work, 0);
		ipoib_gc_later(priv);
	} else if (priv->link.admin_up) {
		/* It comes up, or asks for this again. */
		ipoib_flush(priv, IPOIB_FLUSH_NONE);
	}
	mutex_unlock(&priv->link.ctl);
}

/* --- up and down --------------------------------------------------------- */

static void ipoib_link_lost(struct ipoib_dev *priv)
{
	spin_lock(&priv->link.bcast_lock);
	priv->link.bcast_ok = false;
	ipoib_set_carrier(priv, false);
	spin_unlock(&priv->link.bcast_lock);
}

static bool ipoib_dest_any(struct ipoib_dest *d)
{
	return true;
}

/*
 * Starts the queue pairs and the joins. Where the port does not have the P_Key or the GUID it
 * returns 0, and the interface comes up when the port has them. After an error it is down. Called
 * under ctl, and under rtnl if ud->rtnl is set.
 */
int ipoib_link_up(struct ipoib_dev *priv)
{
	int err;

	lockdep_assert_held(&priv->link.ctl);

	if (priv->pkey_index < 0 || !priv->has_gid) {
		ipoib_dbg(priv, "waits for its %s\n",
			  priv->has_gid ? "P_Key" : "GUID");
		/*
		 * The core does not tell its clients when a port gets a GUID: the driver
		 * looks each second. The message is in the words of the kernel's driver,
		 * which people look for.
		 */
		if (!priv->has_gid)
			ipoib_gc_later(priv);
		else if (net_ratelimit())
			netdev_warn(priv->dev, "P_Key 0x%04x is not found\n", priv->pkey);
		return 0;
	}
	err = priv->ud->start(priv);
	if (err)
		return err;

	WRITE_ONCE(priv->link.up, true);
	priv->ud->set_open(priv, true);
	err = ipoib_cm_start(priv);
	if (!err)
		err = ipoib_mcast_start(priv);
	if (err) {
		ipoib_link_down(priv);
		return err;
	}
	ipoib_gc_later(priv);
	return 0;
}

/* Leaves all groups, forgets all paths, stops the queue pairs. Locks as of ipoib_link_up(). */
void ipoib_link_down(struct ipoib_dev *priv)
{
	lockdep_assert_held(&priv->link.ctl);

	if (!priv->link.up)
		return;
	WRITE_ONCE(priv->link.up, false);

	/* After this no packet is sent, and no destination is created. */
	priv->ud->set_open(priv, false);
	ipoib_dest_remove(priv, ipoib_dest_any);
	/* No work is left that could turn the carrier on. */
	ipoib_link_lost(priv);
	ipoib_cm_stop(priv);
	priv->ud->stop(priv);
}

/* For one that is to be up: what fails now is tried again. Called under ctl. */
static void ipoib_link_try_up(struct ipoib_dev *priv)
{
	int err = ipoib_link_up(priv);

	if (!err)
		return;
	if (net_ratelimit())
		netdev_warn(priv->dev, "does not come up: %d; trying again\n", err);
	ipoib_gc_later(priv);
}

/* Other queue pairs, and the address that belongs to them. Called under ctl. */
static int ipoib_set_rings(struct ipoib_dev *priv, unsigned int rx_size,
			   unsigned int tx_size)
{
	int err = ipoib_verbs_resize(priv, rx_size, tx_size);

	ipoib_make_address(priv);
	return err;
}

/*
 * Gives the interface rings of so many slots, each number a power of two. If it is up it goes down
 * and comes up again, with another link-layer address. After an error the rings are as they were.
 * Called under rtnl.
 */
int ipoib_resize(struct ipoib_dev *priv, unsigned int rx_size,
		 unsigned int tx_size)
{
	unsigned int old_rx = priv->rx.size, old_tx = priv->tx_size;
	bool down;
	int err;

	ASSERT_RTNL();

	mutex_lock(&priv->link.ctl);
	ipoib_link_down(priv);
	err = ipoib_set_rings(priv, rx_size, tx_size);
	down = err;
	if (!err && priv->link.admin_up) {
		err = ipoib_link_up(priv);
		down = err;
		/* They cannot be filled, perhaps. Without the old ones it goes on trying. */
		if (err && ipoib_set_rings(priv, old_rx, old_tx))
			err = 0;
	}
	if (down && priv->link.admin_up)
		ipoib_link_try_up(priv);
	mutex_unlock(&priv->link.ctl);

	ipoib_sync(priv);
	return err;
}

/* --- events -------------------------------------------------------------- */

/* Restarts an interface that is to be up. Called under ctl. */
static void ipoib_restart(struct ipoib_dev *priv,
			  const struct ipoib_identity *id)
{
	ipoib_link_down(priv);
	ipoib_set_identity(priv, id);
	/* The Q_Key of another partition's link is not known yet. */
	ipoib_link_try_up(priv);
}

/* Does what events have asked for, and no less than @level. */
static void ipoib_do_flush(struct ipoib_dev *priv, enum ipoib_flush level)
{
	struct ipoib_identity id;

	mutex_lock(&priv->link.ctl);
	if (ipoib_read_identity(priv, &id)) {
		id.pkey = priv->pkey;
		id.pkey_index = priv->pkey_index;
		id.has_gid = priv->has_gid;
		id.gid = priv->gid;
	}
	level = max3(level, ipoib_identity_change(priv, &id),
		     (enum ipoib_flush)atomic_xchg(&priv->link.flush_level,
						   IPOIB_FLUSH_NONE));
	trace_ipoib_flush(priv, level);
	ipoib_dbg(priv, "flush, level %d\n", level);

	if (!priv->link.admin_up) {
		ipoib_set_identity(priv, &id);
	} else if (level == IPOIB_FLUSH_HEAVY || !priv->link.up) {
		ipoib_restart(priv, &id);
	} else if (level == IPOIB_FLUSH_NORMAL) {
		ipoib_link_lost(priv);
		ipoib_set_identity(priv, &id);
		ipoib_dest_renew_all(priv);
	} else {
		ipoib_dest_refresh_all(priv);
	}
	mutex_unlock(&priv->link.ctl);
}

void ipoib_flush_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(work, struct ipoib_dev,
					      link.flush_work);

	ipoib_do_flush(priv, IPOIB_FLUSH_NONE);
	ipoib_sync(priv);
}

/*
 * Takes another of the port's GUIDs; if that is the port's own, the interface follows it when it
 * changes, unless it is a child whose parent has another. Where the port does not have @guid the
 * interface waits for the subnet manager to give it to the port. Children without a GUID of their
 * own have their parent's. Called under rtnl.
 */
void ipoib_set_guid(struct ipoib_dev *priv, __be64 guid)
{
	struct ipoib_dev *child;
	union ib_gid own;

	ASSERT_RTNL();

	if (!rdma_query_gid(priv->hca, priv->port, 0, &own) &&
	    guid == own.global.interface_id &&
	    !(priv->parent && priv->parent->guid))
		guid = 0;
	WRITE_ONCE(priv->guid, guid);
	/* All groups are left with the old one, and joined with the new. */
	ipoib_do_flush(priv, IPOIB_FLUSH_HEAVY);
	ipoib_sync_address(priv);
	ipoib_sync(priv);
	list_for_each_entry(child, &priv->children, sibling)
		ipoib_flush(child, IPOIB_FLUSH_HEAVY);
}

void ipoib_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct ipoib_dev *priv = container_of(handler, struct ipoib_dev,
					      events);

	if (event->element.port_num != priv->port)
		return;

	ipoib_dbg(priv, "event: %s\n", ib_event_msg(event->event));

	switch (event->event) {
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
		ipoib_flush(priv, IPOIB_FLUSH_NORMAL);
		break;
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_GID_CHANGE:
		/* Becomes more where the P_Key or GID in use has changed. */
		ipoib_flush(priv, IPOIB_FLUSH_LIGHT);
		break;
	default:
		break;
	}
}

/* --- what needs rtnl ----------------------------------------------------- */

/* Is there one to do where the flush, too, needs rtnl? */
static bool ipoib_flush_is_due(struct ipoib_dev *priv)
{
	return priv->ud->rtnl &&
	       (atomic_read(&priv->link.flush_level) != IPOIB_FLUSH_NONE ||
		(READ_ONCE(priv->link.admin_up) && !READ_ONCE(priv->link.up)));
}

/* Brings what the stack sees into line with the port. The work holds a reference to the netdev. */
void ipoib_sync_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(work, struct ipoib_dev,
					      link.sync_work);
	struct net_device *dev = priv->dev;

	rtnl_lock();
	if (dev->reg_state != NETREG_REGISTERED)
		goto unlock;

	if (ipoib_flush_is_due(priv)) {
		/* As the core does when it has an interface started and stopped. */
		netdev_lock_ops(dev);
		ipoib_do_flush(priv, IPOIB_FLUSH_NONE);
		netdev_unlock_ops(dev);
	}
	ipoib_sync_address(priv);
	if (!READ_ONCE(priv->link.bcast_ok))
		goto unlock;

	ipoib_sync_mtu(priv);
	spin_lock(&priv->link.bcast_lock);
	if (priv->link.bcast_ok)
		ipoib_set_carrier(priv, true);
	spin_unlock(&priv->link.bcast_lock);
	if (netif_carrier_ok(dev))
		ipoib_announce(priv);
unlock:
	rtnl_unlock();
	dev_put(dev);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Child interfaces: further partitions on a port's interface, and further
 * interfaces of one partition. Made and removed by sysfs.c and netlink.c.
 */
#include <linux/rtnetlink.h>

#include "compat.h"
#include "ipoib.h"

/*
 * No cgroup is charged for the memory and queue pairs of an interface. The administrator of a user
 * namespace that has a port's interface may make no more children than that.
 */
#define IPOIB_NS_CHILDREN	16

/* How many go at a time, after ipoib_child_delete(). Others get rtnl in between. */
#define IPOIB_CHILDREN_BATCH	8

static void ipoib_doomed_delete(struct work_struct *work);

static LIST_HEAD(ipoib_doomed);	/* under rtnl */
static DECLARE_WORK(ipoib_doomed_work, ipoib_doomed_delete);

/*
 * The files in sysfs name a child by its P_Key alone. Children that get a name by rtnetlink may be
 * several of one P_Key, as with containers.
 */
static struct ipoib_dev *ipoib_child_by_pkey(struct ipoib_dev *parent, u16 pkey)
{
	struct ipoib_dev *child;

	list_for_each_entry(child, &parent->children, sibling)
		if (child->by_sysfs && child->pkey == pkey)
			return child;
	return NULL;
}

static unsigned int ipoib_child_count(struct ipoib_dev *parent)
{
	struct ipoib_dev *child;
	unsigned int n = 0;

	list_for_each_entry(child, &parent->children, sibling)
		n++;
	return n;
}

/*
 * With @list the caller unregisters what is on it (unregister_netdevice_many()). Called under rtnl.
 */
void ipoib_child_unregister(struct ipoib_dev *priv, struct list_head *list)
{
	list_del_rcu(&priv->sibling);
	list_del_init(&priv->doomed);
	unregister_netdevice_queue(priv->dev, list);
}

/*
 * The end of rtnl waits for the references to these children, and sync_work has some: so this is
 * not in the queue of that.
 */
static void ipoib_doomed_delete(struct work_struct *work)
{
	struct ipoib_dev *priv, *next;
	unsigned int n = 0;
	LIST_HEAD(gone);

	rtnl_lock();
	list_for_each_entry_safe(priv, next, &ipoib_doomed, doomed) {
		ipoib_child_unregister(priv, &gone);
		if (++n == IPOIB_CHILDREN_BATCH)
			break;
	}
	unregister_netdevice_many(&gone);
	if (!list_empty(&ipoib_doomed))
		queue_work(system_dfl_wq, work);
	rtnl_unlock();
}

/* Called after the last interface. */
void ipoib_child_exit(void)
{
	cancel_work_sync(&ipoib_doomed_work);
}

/*
 * Registers what ipoib_init_dev() has made of @dev. @pkey is of either membership. Called under
 * rtnl. -EPERM: a user namespace's administrator has IPOIB_NS_CHILDREN; -ENOTUNIQ: with @by_sysfs
 * the P_Key is taken; -ERESTARTNOINTR: the child that has it is going. After an error the caller
 * abandons and frees the netdev.
 */
int ipoib_child_register(struct ipoib_dev *parent, struct net_device *dev,
			 u16 pkey, bool by_sysfs,
			 struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev), *other;
	int err;

	ASSERT_RTNL();
	if (!(pkey & ~IPOIB_FULL_MEMBER)) {
		NL_SET_ERR_MSG(extack, "0 and 0x8000 are not valid P_Keys");
		return -EINVAL;
	}
	if (!capable(CAP_NET_ADMIN) && ipoib_child_count(parent) >= IPOIB_NS_CHILDREN) {
		NL_SET_ERR_MSG(extack, "only the machine's administrator may create more children");
		return -EPERM;
	}
	/* The link is that of the full members. */
	pkey |= IPOIB_FULL_MEMBER;
	if (by_sysfs) {
		other = ipoib_child_by_pkey(parent, pkey);
		if (other && !list_empty(&other->doomed))
			return restart_syscall();
		if (other || parent->pkey == pkey)
			return -ENOTUNIQ;
	}

	priv->by_sysfs = by_sysfs;
	priv->pkey = pkey;

	err = register_netdevice(dev);
	if (err)
		return err;
	list_add_tail_rcu(&priv->sibling, &parent->children);
	ipoib_listen(priv);
	return 0;
}

/*
 * The name is what there is room for of the parent's, and @pkey as it is given. Called under rtnl;
 * errors as of ipoib_child_register().
 */
int ipoib_child_create(struct ipoib_dev *parent, u16 pkey)
{
	struct net_device *dev;
	char name[IFNAMSIZ];
	int err;

	snprintf(name, sizeof(name), "%.10s.%04x", parent->dev->name, pkey);
	dev = ipoib_alloc_dev(parent->hca, parent->port, parent, name, NET_NAME_PREDICTABLE);
	if (!dev)
		return -ENOMEM;
	dev_net_set(dev, dev_net(parent->dev));

	err = ipoib_init_dev(dev, parent->hca, parent->port, parent);
	if (err)
		goto free;
	err = ipoib_child_register(parent, dev, pkey, true, NULL);
	if (err)
		goto abandon;
	return 0;

abandon:
	ipoib_abandon_dev(dev);
free:
	free_netdev(dev);
	return err;
}

/*
 * Called under rtnl, for a write to a file of the parent's. The parent cannot go before the write
 * has returned, and what keeps the child from going may wait for the parent: so a work takes the
 * child away.
 */
int ipoib_child_delete(struct ipoib_dev *parent, u16 pkey)
{
	struct ipoib_dev *child;

	ASSERT_RTNL();
	child = ipoib_child_by_pkey(parent, pkey | IPOIB_FULL_MEMBER);
	if (!child || !list_empty(&child->doomed))
		return -ENODEV;
	list_add_tail(&child->doomed, &ipoib_doomed);
	queue_work(system_dfl_wq, &ipoib_doomed_work);
	return 0;
}

/* As ipoib_child_unregister(). */
void ipoib_children_unregister(struct ipoib_dev *parent,
			       struct list_head *list)
{
	struct ipoib_dev *child, *next;

	list_for_each_entry_safe(child, next, &parent->children, sibling)
		ipoib_child_unregister(child, list);
}

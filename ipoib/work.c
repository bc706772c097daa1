// SPDX-License-Identifier: GPL-2.0
/*
 * The works: where they run, and how the rest of the driver asks for those of the link.
 * Documentation/ipoib-inside.rst has a table of all of them.
 */
#include "ipoib.h"

/*
 * All of the driver's work. flush_work, gc_work and evict_work wait for the works of
 * destinations, connections and what these receive; those wait for none of them.
 */
struct workqueue_struct *ipoib_wq;
struct workqueue_struct *ipoib_rtnl_wq;

/**
 * ipoib_work_init() - make the workqueues
 *
 * Return: 0 or an errno.
 */
int ipoib_work_init(void)
{
	ipoib_wq = alloc_workqueue(IPOIB_NAME, WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!ipoib_wq)
		return -ENOMEM;
	ipoib_rtnl_wq = alloc_workqueue(IPOIB_NAME "_rtnl", WQ_UNBOUND, 0);
	if (!ipoib_rtnl_wq) {
		destroy_workqueue(ipoib_wq);
		return -ENOMEM;
	}
	return 0;
}

/**
 * ipoib_work_exit() - wait for what they hold, and destroy them
 */
void ipoib_work_exit(void)
{
	destroy_workqueue(ipoib_rtnl_wq);
	destroy_workqueue(ipoib_wq);
}

/**
 * ipoib_flush() - ask for a flush
 * @priv: the interface
 * @level: how much; what is asked for meanwhile is done in one go
 *
 * May be called in any context.
 */
void ipoib_flush(struct ipoib_dev *priv, enum ipoib_flush level)
{
	int old = atomic_read(&priv->link.flush_level);

	while (old < level &&
	       !atomic_try_cmpxchg(&priv->link.flush_level, &old, level))
		;
	/* Where it takes rtnl, ipoib_sync_work() does it. */
	if (priv->ud->rtnl)
		ipoib_sync(priv);
	else
		queue_work(ipoib_wq, &priv->link.flush_work);
}

/**
 * ipoib_sync() - have ipoib_sync_work() run
 * @priv: the interface
 */
void ipoib_sync(struct ipoib_dev *priv)
{
	dev_hold(priv->dev);
	if (!queue_work(ipoib_rtnl_wq, &priv->link.sync_work))
		dev_put(priv->dev);
}

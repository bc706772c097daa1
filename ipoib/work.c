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

void ipoib_work_exit(void)
{
	destroy_workqueue(ipoib_rtnl_wq);
	destroy_workqueue(ipoib_wq);
}

/* Any context. All that is asked for before the flush begins is done in one go. */
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

/* Any context. */
void ipoib_sync(struct ipoib_dev *priv)
{
	dev_hold(priv->dev);
	if (!queue_work(ipoib_rtnl_wq, &priv->link.sync_work))
		dev_put(priv->dev);
}

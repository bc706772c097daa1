// SPDX-License-Identifier: GPL-2.0
/*
 * The works: where they run, and how the rest of the driver asks for those of the link.
 * Documentation/ipoib-inside.rst has a table of all of them.
 */
#include "ipoib.h"

/*
 * A work that waits for another one must not keep it from its turn: it would where each of
 * thousands of interfaces has one. So works that wait for each other are in different queues,
 * and these run no more of them at a time than is of use, as a worker is 26 KiB.
 */
#define IPOIB_CTL_WORKS		32

struct workqueue_struct *ipoib_wq;
struct workqueue_struct *ipoib_ctl_wq;
struct workqueue_struct *ipoib_rtnl_wq;

int ipoib_work_init(void)
{
	ipoib_wq = alloc_workqueue(IPOIB_NAME, WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	ipoib_ctl_wq = alloc_workqueue(IPOIB_NAME "_ctl", WQ_UNBOUND | WQ_MEM_RECLAIM,
				       IPOIB_CTL_WORKS);
	ipoib_rtnl_wq = alloc_ordered_workqueue(IPOIB_NAME "_rtnl", 0);
	if (ipoib_wq && ipoib_ctl_wq && ipoib_rtnl_wq)
		return 0;
	ipoib_work_exit();
	return -ENOMEM;
}

/* Also of what ipoib_work_init() has made before it failed. */
void ipoib_work_exit(void)
{
	if (ipoib_rtnl_wq)
		destroy_workqueue(ipoib_rtnl_wq);
	if (ipoib_ctl_wq)
		destroy_workqueue(ipoib_ctl_wq);
	if (ipoib_wq)
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
		queue_work(ipoib_ctl_wq, &priv->link.flush_work);
}

/* Any context. */
void ipoib_sync(struct ipoib_dev *priv)
{
	dev_hold(priv->dev);
	if (!queue_work(ipoib_rtnl_wq, &priv->link.sync_work))
		dev_put(priv->dev);
}

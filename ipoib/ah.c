// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles, which live until the last packet that was sent by them is complete.
 */
#include <linux/wait_bit.h>

#include "ipoib.h"

static void ipoib_ah_free(struct work_struct *work)
{
	struct ipoib_ah *ah = container_of(work, struct ipoib_ah, free_work);
	struct ipoib_dev *priv = ah->priv;

	rdma_destroy_ah(ah->ah, RDMA_DESTROY_AH_SLEEPABLE);
	kfree(ah);
	/* Nothing of the interface may be touched after the last one. */
	if (atomic_dec_and_test(&priv->dests.ah_count))
		wake_up_var(&priv->dests.ah_count);
}

static void ipoib_ah_free_later(struct rcu_head *rcu)
{
	struct ipoib_ah *ah = container_of(rcu, struct ipoib_ah, rcu);

	INIT_WORK(&ah->free_work, ipoib_ah_free);
	queue_work(ipoib_wq, &ah->free_work);
}

/* Returns a handle with one reference, the caller's, or an ERR_PTR(). May sleep. */
struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv,
				 struct rdma_ah_attr *attr)
{
	struct ipoib_ah *ah;

	ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	if (!ah)
		return ERR_PTR(-ENOMEM);

	ah->ah = rdma_create_ah(priv->pd, attr, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah->ah)) {
		struct ib_ah *err = ah->ah;

		kfree(ah);
		return ERR_CAST(err);
	}

	ah->priv = priv;
	refcount_set(&ah->refs, 1);
	atomic_inc(&priv->dests.ah_count);
	return ah;
}

/* Any context. Readers under RCU may use the handle until their section ends. */
void ipoib_ah_put(struct ipoib_ah *ah)
{
	if (refcount_dec_and_test(&ah->refs))
		call_rcu(&ah->rcu, ipoib_ah_free_later);
}

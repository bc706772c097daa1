// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: an interface's part of it, from its beginning to its end.
 */
#include "ipoib.h"

/* Accepts connections, or returns 0 where the adapter has none. Called under ctl. */
int ipoib_cm_start(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;
	struct ib_cm_id *id;
	int err;

	if (!cm->able)
		return 0;

	id = ib_create_cm_id(priv->hca, ipoib_conn_in_handler, priv);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = ib_cm_listen(id, ipoib_cm_service_id(priv->qp->qp_num));
	if (err) {
		ib_destroy_cm_id(id);
		return err;
	}
	cm->listener = id;
	cm->stuck = false;
	return 0;
}

/* Ends all incoming connections; the outgoing ones are gone. Called under ctl; may take seconds. */
void ipoib_cm_stop(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;

	if (cm->listener)
		ib_destroy_cm_id(cm->listener);
	cm->listener = NULL;

	ipoib_conns_in_stop(priv);
	ipoib_cm_free(priv);
}

/* Called once, before others know of the interface. */
void ipoib_cm_init(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;
	int i;

	mutex_init(&cm->setup);
	mutex_init(&cm->in_end);
	spin_lock_init(&cm->in_lock);
	for (i = 0; i < IPOIB_IN_STATES; i++)
		INIT_LIST_HEAD(&cm->in[i]);
	init_llist_head(&cm->in_events);
	INIT_WORK(&cm->in_work, ipoib_conn_in_work);
	init_waitqueue_head(&cm->in_wait);
	ipoib_too_big_init(priv);
	netif_napi_add(priv->dev, &cm->napi, ipoib_cm_poll);

	cm->max_sends = min_t(unsigned int, IPOIB_CONN_SENDS, priv->hca->attrs.max_cqe / 2);
	ipoib_cm_share(priv);
	cm->able = !ipoib_is_enhanced(priv) && rdma_cap_ib_cm(priv->hca, priv->port) &&
		   cm->max_len >= IPOIB_CM_MIN_LEN;
}

/* The interface is down. */
void ipoib_cm_uninit(struct ipoib_dev *priv)
{
	ipoib_too_big_uninit(priv);
	netif_napi_del(&priv->cm.napi);
}

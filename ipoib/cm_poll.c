// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: the completions of all connections, and the interface's part of it from
 * its beginning to its end.
 */
#include "ipoib.h"

/* --- completions --------------------------------------------------------- */

static void ipoib_cm_complete(struct ipoib_dev *priv, const struct ib_wc *wc,
			      int budget)
{
	if (wc->wr_id & IPOIB_WR_RECV)
		ipoib_conn_in_complete(priv, wc);
	else if (unlikely(wc->wr_id & IPOIB_WR_DRAIN))
		ipoib_conn_in_drained(wc->qp->qp_context);
	else
		ipoib_conn_complete(wc->qp->qp_context, wc, budget);
}

/**
 * ipoib_cm_reap() - take the completions there are
 * @priv: the interface, between the calls of ipoib_cm_pause()
 *
 * They point to queue pairs, and not every adapter forgets those of one that is
 * destroyed. Connections that go on may add some all the time: what was there
 * before is among as many as the CQ holds.
 */
void ipoib_cm_reap(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;
	int i, n, left = cm->cq->cqe;

	do {
		local_bh_disable();
		n = ib_poll_cq(cm->cq, IPOIB_RC_BATCH, cm->wc);
		for (i = 0; i < n; i++)
			ipoib_cm_complete(priv, &cm->wc[i], 0);
		local_bh_enable();
		left -= n;
	} while (n > 0 && left > 0);
}

/**
 * ipoib_cm_pause() - keep NAPI from completions of what is to be destroyed
 * @priv: the interface, with a CQ for connections
 * @pause: or let it go on
 *
 * For what should have completed and has not. Nothing else is set up meanwhile.
 */
void ipoib_cm_pause(struct ipoib_dev *priv, bool pause)
{
	struct ipoib_cm *cm = &priv->cm;

	if (pause) {
		mutex_lock(&cm->setup);
		napi_disable(&cm->napi);
		return;
	}
	napi_enable(&cm->napi);
	local_bh_disable();
	napi_schedule(&cm->napi);
	local_bh_enable();
	mutex_unlock(&cm->setup);
}

/**
 * ipoib_cm_poll() - NAPI poll of the connections' CQ
 * @napi: the connections'
 * @budget: how many completions to take
 *
 * Return: how many were taken.
 */
int ipoib_cm_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_dev *priv = container_of(napi, struct ipoib_dev, cm.napi);
	struct ipoib_cm *cm = &priv->cm;
	struct ipoib_rc_ring *ring;
	int i, n, done = 0;

	while (done < budget) {
		n = ib_poll_cq(cm->cq, min(budget - done, IPOIB_RC_BATCH),
			       cm->wc);
		for (i = 0; i < n; i++)
			ipoib_cm_complete(priv, &cm->wc[i], budget);
		done += max(n, 0);
		/* Pairs with the release in ipoib_cm_create_ring(). */
		ring = smp_load_acquire(&cm->ring);
		if (ring)
			ipoib_rc_ring_refill(ring);
		if (n < IPOIB_RC_BATCH)
			break;
	}

	if (done < budget && napi_complete_done(napi, done) &&
	    ib_req_notify_cq(cm->cq, IB_CQ_NEXT_COMP |
				     IB_CQ_REPORT_MISSED_EVENTS) > 0)
		napi_schedule(napi);
	return done;
}

/* --- life ---------------------------------------------------------------- */

/**
 * ipoib_cm_start() - accept connections
 * @priv: the interface; under ctl
 *
 * Return: 0 or an errno.
 */
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

/**
 * ipoib_cm_stop() - end all incoming connections, and give back what they shared
 * @priv: the interface, whose outgoing connections are gone; under ctl
 */
void ipoib_cm_stop(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;

	if (cm->listener)
		ib_destroy_cm_id(cm->listener);
	cm->listener = NULL;

	ipoib_conns_in_stop(priv);
	ipoib_cm_free(priv);
}

/**
 * ipoib_cm_init() - see what the adapter can do
 * @priv: the interface, with its verbs objects; called once
 */
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
	cm->able = rdma_cap_ib_cm(priv->hca, priv->port) &&
		   cm->max_len >= IPOIB_CM_MIN_LEN;
}

/**
 * ipoib_cm_uninit() - the end
 * @priv: the interface, down
 */
void ipoib_cm_uninit(struct ipoib_dev *priv)
{
	ipoib_too_big_uninit(priv);
	netif_napi_del(&priv->cm.napi);
}

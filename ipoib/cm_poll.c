// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: the completions of all connections.
 */
#include "compat/netdev.h"
#include "ipoib.h"

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

/*
 * Takes the completions there are, between the two calls of ipoib_cm_pause(). They point to queue
 * pairs, and not every adapter forgets those of one that is destroyed. Connections that go on may
 * add some all the time: what was there before is among as many as the CQ holds.
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

/*
 * Keeps NAPI from completions of what is to be destroyed, if it should have completed and has not.
 * setup is held from the call with @pause to the one without: nothing else is set up meanwhile. The
 * interface has a CQ for connections.
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

int ipoib_cm_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_dev *priv = container_of(napi, struct ipoib_dev, cm.napi);
	struct ipoib_cm *cm = &priv->cm;
	struct ipoib_rc_ring *ring;
	int i, n, done = 0;

	while (done < budget) {
		n = ib_poll_cq(cm->cq, min(budget - done, IPOIB_RC_BATCH),
			       cm->wc);
		cm->alone = !done && n == 1 && !napi_has_packets(napi) &&
			    !napi_keeps_packets(napi);
		for (i = 0; i < n; i++)
			ipoib_cm_complete(priv, &cm->wc[i], budget);
		cm->alone = false;
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

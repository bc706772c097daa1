// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode (RFC 4755): what its connections share.
 *
 * Nothing of it takes memory before the first connection: then come the
 * completion queue and, for a peer that sends, the receive buffers.
 */
#include <linux/module.h>
#include <linux/sched/mm.h>

#include "ipoib.h"

/*
 * The service of the interface whose UD QPN is in the low 24 bits. The prefix is
 * that of the kernel's driver, which RFC 4755 section 3.5 has as 0x01.
 */
#define IPOIB_CM_SERVICE	0x1000000000000000ULL

/* How long a sender waits for receive buffers: 10.24 ms, IBA 9.7.5.2.8. */
#define IPOIB_RNR_TIMER		20

static unsigned int max_nonsrq_conn_qp = 128;
module_param(max_nonsrq_conn_qp, uint, 0444);
MODULE_PARM_DESC(max_nonsrq_conn_qp,
		 "Incoming connections where the adapter has no shared receive queues (at most 4096)");

/* What a neighbour listens to: @qpn is that of its link-layer address. */
__be64 ipoib_cm_service_id(u32 qpn)
{
	return cpu_to_be64(IPOIB_CM_SERVICE | qpn);
}

void ipoib_cm_data_fill(struct ipoib_dev *priv, struct ipoib_cm_data *data)
{
	data->qpn = cpu_to_be32(priv->qp->qp_num & IPOIB_QPN_MASK);
	data->mtu = cpu_to_be32(priv->cm.max_len);
}

/* Is a peer one to be connected with? It may say anything. */
bool ipoib_cm_data_ok(const struct ipoib_cm_data *data)
{
	return be32_to_cpu(data->qpn) & IPOIB_QPN_MASK &&
	       be32_to_cpu(data->mtu) >= IPOIB_CM_MIN_LEN;
}

/* @psn, for RTR, is that of the first packet to be received: the receiver chooses it. */
int ipoib_cm_modify(struct ib_cm_id *id, struct ib_qp *qp,
		    enum ib_qp_state state, u32 psn)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, err;

	err = ib_cm_init_qp_attr(id, &attr, &mask);
	if (err)
		return err;
	if (state == IB_QPS_RTR) {
		/* What is still to be told the peer ib_cm does not know. */
		attr.rq_psn = psn;
		/* Its choice is 0, which is the longest: 655 ms. */
		attr.min_rnr_timer = IPOIB_RNR_TIMER;
	}
	return ib_modify_qp(qp, &attr, mask);
}

/* --- completions --------------------------------------------------------- */

static void ipoib_cm_event(struct ib_cq *cq, void *context)
{
	struct ipoib_dev *priv = context;

	napi_schedule(&priv->cm.napi);
}

/* Nothing more of @qp completes. ipoib_cm_reap() takes what has completed before. */
void ipoib_cm_reset(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	/* One that even refuses this is destroyed all the same. */
	ib_modify_qp(qp, &attr, IB_QP_STATE);
}

/* --- what all connections need ------------------------------------------- */

/*
 * One CQ has receives and sends. A CQ that is made later gets the same values. Called under rtnl.
 */
int ipoib_cm_moderate(struct ipoib_dev *priv, u16 frames, u16 usecs)
{
	struct ipoib_cm *cm = &priv->cm;
	int err = 0;

	mutex_lock(&cm->setup);
	if (cm->cq)
		err = rdma_set_cq_moderation(cm->cq, frames, usecs);
	if (!err) {
		priv->rx.frames = frames;
		priv->rx.usecs = usecs;
	}
	mutex_unlock(&cm->setup);
	return err;
}

/* The adapter may share fewer buffers than the interface has for datagrams. */
static unsigned int ipoib_cm_srq_size(struct ipoib_dev *priv)
{
	return min_t(unsigned int, priv->rx.size, priv->hca->attrs.max_srq_wr);
}

/* How large messages can be, with shared buffers or without. */
static void ipoib_cm_set_srq(struct ipoib_dev *priv, bool srq)
{
	const struct ib_device_attr *hca = &priv->hca->attrs;
	struct ipoib_cm *cm = &priv->cm;

	cm->has_srq = srq;
	cm->pages = min_t(unsigned int, srq ? hca->max_srq_sge : hca->max_recv_sge,
			  IPOIB_RC_PAGES);
	cm->max_len = min_t(unsigned int, cm->pages * PAGE_SIZE, IPOIB_CM_LEN);
}

static bool ipoib_cm_may_share(struct ipoib_dev *priv)
{
	const struct ib_device_attr *hca = &priv->hca->attrs;

	return hca->max_srq && hca->max_srq_wr >= IPOIB_MIN_RX_RING &&
	       priv->hca->ops.create_srq;
}

/* Called under setup, or before others know of the interface. */
void ipoib_cm_share(struct ipoib_dev *priv)
{
	ipoib_cm_set_srq(priv, ipoib_cm_may_share(priv));
}

/* Completions that there may be of an incoming connection at a time. */
static unsigned int ipoib_cm_each(struct ipoib_dev *priv)
{
	return 1 + (priv->cm.has_srq ? 0 : ipoib_rc_private(priv));
}

/* How many incoming connections there may be, with room for so many completions. */
static unsigned int ipoib_cm_max_in(struct ipoib_dev *priv, unsigned int cqe)
{
	unsigned int most = IPOIB_MAX_CONNS_IN;

	if (!priv->cm.has_srq)
		most = min(most, max_nonsrq_conn_qp);
	return min(most, cqe / ipoib_cm_each(priv));
}

/* Room for every completion that there may be at a time. */
static int ipoib_cm_create_cq(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;
	unsigned int fixed = cm->max_sends +
			     (cm->has_srq ? ipoib_cm_srq_size(priv) : 0);
	unsigned int most = priv->hca->attrs.max_cqe;
	struct ib_cq *cq;

	if (most < fixed + ipoib_cm_each(priv))
		return -ENOSPC;
	cm->max_in = ipoib_cm_max_in(priv, most - fixed);

	cq = ipoib_create_cq(priv, ipoib_cm_event, priv,
			     fixed + cm->max_in * ipoib_cm_each(priv) - 1);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	if (priv->rx.usecs &&
	    rdma_set_cq_moderation(cq, priv->rx.frames, priv->rx.usecs) &&
	    net_ratelimit())
		netdev_warn(priv->dev, "the adapter does not moderate the interrupts of connections\n");
	cm->cq = cq;
	napi_enable(&cm->napi);
	/* The first poll arms it. */
	local_bh_disable();
	napi_schedule(&cm->napi);
	local_bh_enable();
	return 0;
}

/* Each connection gets buffers of its own, as many as the CQ has room for. */
static void ipoib_cm_share_no_more(struct ipoib_dev *priv, int err)
{
	struct ipoib_cm *cm = &priv->cm;

	if (net_ratelimit())
		netdev_warn(priv->dev, "has no shared receive queue: %d\n", err);
	ipoib_cm_set_srq(priv, false);
	cm->max_in = ipoib_cm_max_in(priv, cm->cq->cqe - cm->max_sends);
}

static int ipoib_cm_create_ring(struct ipoib_dev *priv)
{
	struct ib_srq_init_attr attr = {
		.srq_type = IB_SRQT_BASIC,
		.attr = {
			.max_wr = ipoib_cm_srq_size(priv),
			.max_sge = priv->cm.pages,
		},
	};
	struct ipoib_rc_ring *ring;
	int err;

	ring = ipoib_rc_ring_alloc(priv, attr.attr.max_wr);
	if (!ring)
		return -ENOMEM;
	ring->srq = ib_create_srq(priv->pd, &attr);
	if (IS_ERR(ring->srq)) {
		err = 0;
		ipoib_cm_share_no_more(priv, PTR_ERR(ring->srq));
		goto free_ring;
	}
	err = ipoib_rc_ring_fill(ring);
	if (err)
		goto destroy_srq;
	/* NAPI looks: pairs with the acquire in ipoib_cm_poll(). */
	smp_store_release(&priv->cm.ring, ring);
	return 0;

destroy_srq:
	ib_destroy_srq(ring->srq);
free_ring:
	ipoib_rc_ring_stop(ring);
	ipoib_rc_ring_free(ring);
	return err;
}

/*
 * Makes what a connection needs, with @receive buffers, too. The work that opens a connection waits
 * for the lock, and packets of a disk may wait for that connection, so the memory must not come
 * from writing to the disk. The interface is up. May sleep.
 */
int ipoib_cm_prepare(struct ipoib_dev *priv, bool receive)
{
	unsigned int flags = memalloc_noio_save();
	struct ipoib_cm *cm = &priv->cm;
	int err = 0;

	mutex_lock(&cm->setup);
	if (!cm->cq)
		err = ipoib_cm_create_cq(priv);
	if (!err && receive && cm->has_srq && !cm->ring)
		err = ipoib_cm_create_ring(priv);
	mutex_unlock(&cm->setup);
	memalloc_noio_restore(flags);
	if (err && net_ratelimit())
		netdev_warn(priv->dev, "cannot set up connected mode: %d\n", err);
	return err;
}

/* Called under setup. */
static void ipoib_cm_free_locked(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;

	napi_disable(&cm->napi);
	if (cm->ring) {
		ipoib_rc_ring_stop(cm->ring);
		ib_destroy_srq(cm->ring->srq);
		ipoib_rc_ring_free(cm->ring);
		cm->ring = NULL;
	}
	ib_destroy_cq(cm->cq);
	cm->cq = NULL;
	/* The next time buffers can perhaps be shared. */
	ipoib_cm_share(priv);
}

/* No connection is left. */
void ipoib_cm_free(struct ipoib_dev *priv)
{
	/* ipoib_cm_moderate() may be at the CQ, under rtnl only. */
	mutex_lock(&priv->cm.setup);
	if (priv->cm.cq)
		ipoib_cm_free_locked(priv);
	mutex_unlock(&priv->cm.setup);
}

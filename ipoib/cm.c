// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode (RFC 4755): what its connections share.
 *
 * Nothing of it takes memory before the first connection: then come the
 * completion queue and, for a peer that sends, the receive buffers.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <net/icmp.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "cm.h"
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

/**
 * ipoib_cm_service_id() - what a neighbour listens to
 * @qpn: the UD QPN of its link-layer address
 *
 * Return: the service ID.
 */
__be64 ipoib_cm_service_id(u32 qpn)
{
	return cpu_to_be64(IPOIB_CM_SERVICE | qpn);
}

/**
 * ipoib_cm_data_fill() - tell a peer who this is and what it receives
 * @priv: the interface
 * @data: private data of a REQ or REP
 */
void ipoib_cm_data_fill(struct ipoib_dev *priv, struct ipoib_cm_data *data)
{
	data->qpn = cpu_to_be32(priv->qp->qp_num & IPOIB_QPN_MASK);
	data->mtu = cpu_to_be32(priv->cm.max_len);
}

/**
 * ipoib_cm_data_ok() - is a peer one to be connected with?
 * @data: private data of its REQ or REP
 *
 * Return: whether what it says makes sense.
 */
bool ipoib_cm_data_ok(const struct ipoib_cm_data *data)
{
	return be32_to_cpu(data->qpn) & IPOIB_QPN_MASK &&
	       be32_to_cpu(data->mtu) >= IPOIB_CM_MIN_LEN;
}

/**
 * ipoib_cm_modify() - move a connection's queue pair
 * @id: tells the attributes
 * @qp: the queue pair
 * @state: its next state
 * @psn: that of the first packet it is to receive, which is the receiver's choice
 *
 * Return: 0 or an errno.
 */
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

static void ipoib_cm_complete(struct ipoib_dev *priv, const struct ib_wc *wc,
			      int budget)
{
	if (wc->wr_id & IPOIB_WR_RECV)
		ipoib_rx_conn_complete(priv, wc);
	else if (unlikely(wc->wr_id & IPOIB_WR_DRAIN))
		ipoib_rx_conn_drained(wc->qp->qp_context);
	else
		ipoib_conn_complete(wc->qp->qp_context, wc, budget);
}

/**
 * ipoib_cm_reset() - let nothing more of a queue pair complete
 * @qp: the queue pair
 *
 * What has completed before is still to be taken: ipoib_cm_reap().
 */
void ipoib_cm_reset(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	/* One that even refuses this is destroyed all the same. */
	ib_modify_qp(qp, &attr, IB_QP_STATE);
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

/* --- what all connections need ------------------------------------------- */

/**
 * ipoib_cm_moderate() - have received packets' events wait
 * @priv: the interface; under rtnl
 * @frames: for so many packets
 * @usecs: or so long
 *
 * The CQ is one for receives and sends. One that is made later gets the same.
 *
 * Return: 0 or an errno.
 */
int ipoib_cm_moderate(struct ipoib_dev *priv, u16 frames, u16 usecs)
{
	struct ipoib_cm *cm = &priv->cm;
	int err = 0;

	mutex_lock(&cm->setup);
	if (cm->cq)
		err = rdma_set_cq_moderation(cm->cq, frames, usecs);
	if (!err) {
		priv->rx_frames = frames;
		priv->rx_usecs = usecs;
	}
	mutex_unlock(&cm->setup);
	return err;
}

/* The adapter may share fewer buffers than the interface has for datagrams. */
static unsigned int ipoib_cm_srq_size(struct ipoib_dev *priv)
{
	return min_t(unsigned int, priv->rx_size, priv->hca->attrs.max_srq_wr);
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

/* Completions that there may be of an incoming connection at a time. */
static unsigned int ipoib_cm_each(struct ipoib_dev *priv)
{
	return 1 + (priv->cm.has_srq ? 0 : ipoib_rc_private(priv));
}

/* How many incoming connections there may be, with room for so many completions. */
static unsigned int ipoib_cm_max_rx(struct ipoib_dev *priv, unsigned int cqe)
{
	unsigned int most = IPOIB_MAX_RX_CONNS;

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
	cm->max_rx = ipoib_cm_max_rx(priv, most - fixed);

	cq = ipoib_create_cq(priv, ipoib_cm_event, priv,
			     fixed + cm->max_rx * ipoib_cm_each(priv) - 1);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	if (priv->rx_usecs &&
	    rdma_set_cq_moderation(cq, priv->rx_frames, priv->rx_usecs) &&
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
	cm->max_rx = ipoib_cm_max_rx(priv, cm->cq->cqe - cm->max_sends);
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

/**
 * ipoib_cm_prepare() - have what a connection needs
 * @priv: the interface, up
 * @receive: buffers, too
 *
 * The work that opens a connection waits for the lock, and packets of a disk may wait for
 * that connection, so the memory must not come from writing to the disk.
 *
 * Return: 0 or an errno.
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
		netdev_warn(priv->dev, "has nothing for connections: %d\n", err);
	return err;
}

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

	id = ib_create_cm_id(priv->hca, ipoib_rx_conn_handler, priv);
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

/* Called under setup, with no connection left. */
static void ipoib_cm_free(struct ipoib_dev *priv)
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
	ipoib_cm_set_srq(priv, ipoib_cm_may_share(priv));
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

	ipoib_rx_conns_stop(priv);
	/* ipoib_cm_moderate() may be at the CQ, under rtnl only. */
	mutex_lock(&cm->setup);
	if (cm->cq)
		ipoib_cm_free(priv);
	mutex_unlock(&cm->setup);
}

/* --- packets that are too big -------------------------------------------- */

static void ipoib_tell_too_big(struct sk_buff *skb, unsigned int mtu)
{
	/* To the sender by the address that it had before NAT. */
	if (skb->protocol == htons(ETH_P_IP))
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, htonl(mtu));
	else if (IS_ENABLED(CONFIG_IPV6) && skb->protocol == htons(ETH_P_IPV6))
		icmpv6_ndo_send(skb, ICMPV6_PKT_TOOBIG, 0, mtu);
}

static void ipoib_too_big_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(work, struct ipoib_cm, too_big_work);
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&cm->too_big))) {
		local_bh_disable();
		ipoib_tell_too_big(skb, ipoib_skb_cb(skb)->mtu);
		local_bh_enable();
		kfree_skb(skb);
	}
}

/**
 * ipoib_too_big() - drop a packet, and tell its sender what fits
 * @priv: the interface
 * @skb: the packet, from the encapsulation header on; consumed
 * @mtu: the largest IP packet that its destination takes
 *
 * The message may have to leave by this interface, whose tx lock the caller may
 * hold; so a work sends it.
 */
void ipoib_too_big(struct ipoib_dev *priv, struct sk_buff *skb,
		   unsigned int mtu)
{
	struct ipoib_cm *cm = &priv->cm;

	ipoib_tx_drop(priv, IPOIB_TX_TOO_LONG);
	if (skb_dst(skb))
		skb_dst_update_pmtu_no_confirm(skb, mtu);
	if (skb_queue_len_lockless(&cm->too_big) >= IPOIB_DEST_QUEUE) {
		dev_kfree_skb_any(skb);
		return;
	}
	ipoib_skb_cb(skb)->mtu = mtu;
	skb_queue_tail(&cm->too_big, skb);
	queue_work(ipoib_wq, &cm->too_big_work);
}

/* --- life ---------------------------------------------------------------- */

/**
 * ipoib_cm_init() - see what the adapter can do
 * @priv: the interface, with its verbs objects; called once
 */
void ipoib_cm_init(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = &priv->cm;
	int i;

	mutex_init(&cm->setup);
	mutex_init(&cm->rx_end);
	spin_lock_init(&cm->rx_lock);
	for (i = 0; i < IPOIB_RX_STATES; i++)
		INIT_LIST_HEAD(&cm->rx[i]);
	init_llist_head(&cm->rx_events);
	INIT_WORK(&cm->rx_work, ipoib_rx_conn_work);
	init_waitqueue_head(&cm->rx_wait);
	skb_queue_head_init(&cm->too_big);
	INIT_WORK(&cm->too_big_work, ipoib_too_big_work);
	netif_napi_add(priv->dev, &cm->napi, ipoib_cm_poll);

	cm->max_sends = min_t(unsigned int, IPOIB_CONN_SENDS, priv->hca->attrs.max_cqe / 2);
	ipoib_cm_set_srq(priv, ipoib_cm_may_share(priv));
	cm->able = rdma_cap_ib_cm(priv->hca, priv->port) &&
		   cm->max_len >= IPOIB_CM_MIN_LEN;
}

/**
 * ipoib_cm_uninit() - the end
 * @priv: the interface, down
 */
void ipoib_cm_uninit(struct ipoib_dev *priv)
{
	cancel_work_sync(&priv->cm.too_big_work);
	skb_queue_purge(&priv->cm.too_big);
	netif_napi_del(&priv->cm.napi);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The interface's queue pair and completion queues.
 */
#include <linux/delay.h>

#include "compat.h"
#include "ipoib.h"

#define IPOIB_DRAIN_TIMEOUT	(5 * HZ)

static void ipoib_qp_event(struct ib_event *event, void *context)
{
	struct ipoib_dev *priv = context;

	if (event->event == IB_EVENT_QP_FATAL ||
	    event->event == IB_EVENT_QP_REQ_ERR ||
	    event->event == IB_EVENT_QP_ACCESS_ERR)
		ipoib_flush(priv, IPOIB_FLUSH_HEAVY);
}

/* A queue that only sends has a receive queue all the same; it stays empty. */
static struct ib_qp *ipoib_create_qp(struct ipoib_dev *priv, struct ib_cq *send,
				     struct ib_cq *recv, unsigned int max_recv)
{
	const struct ib_device_attr *hca = &priv->hca->attrs;
	struct ib_qp *qp;
	struct ib_qp_init_attr attr = {
		.event_handler	= ipoib_qp_event,
		.qp_context	= priv,
		.send_cq	= send,
		.recv_cq	= recv,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_UD,
		.cap = {
			.max_send_wr	= priv->tx_size,
			.max_recv_wr	= max_recv,
			.max_send_sge	= priv->max_send_sge,
			.max_recv_sge	= min_t(u32, hca->max_recv_sge,
						IPOIB_RX_SGE),
		},
	};

	if (hca->kernel_cap_flags & IBK_BLOCK_MULTICAST_LOOPBACK)
		attr.create_flags |= IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	/*
	 * Programs steer packets of the interface by its queue pair: that which receives. An
	 * adapter has few such numbers (mlx4: 256).
	 */
	if (recv != send && hca->device_cap_flags & IB_DEVICE_MANAGED_FLOW_STEERING)
		attr.create_flags |= IB_QP_CREATE_NETIF_QP;
	if (hca->kernel_cap_flags & IBK_UD_TSO)
		attr.create_flags |= IB_QP_CREATE_IPOIB_UD_LSO;
	qp = ib_create_qp(priv->pd, &attr);
	/* The adapter may give less than was asked for. */
	if (!IS_ERR(qp))
		priv->max_send_sge = min(priv->max_send_sge, attr.cap.max_send_sge);
	return qp;
}

static void ipoib_destroy_tx_queue(struct ipoib_tx_queue *q)
{
	ib_destroy_qp(q->qp);
	ib_destroy_cq(q->cq);
	ipoib_tx_cleanup(q);
}

/* The first queue's queue pair is the one that receives. */
static int ipoib_create_tx_queue(struct ipoib_dev *priv, unsigned int index)
{
	struct ipoib_tx_queue *q = &priv->tx[index];
	int err;

	q->priv = priv;
	q->index = index;
	err = ipoib_tx_init(q);
	if (err)
		return err;

	q->cq = ipoib_create_cq(priv, ipoib_send_event, q, priv->tx_size);
	if (IS_ERR(q->cq)) {
		err = PTR_ERR(q->cq);
		goto free_ring;
	}
	if (index)
		q->qp = ipoib_create_qp(priv, q->cq, q->cq, 1);
	else
		q->qp = ipoib_create_qp(priv, q->cq, priv->rx.cq,
					priv->rx.size);
	if (IS_ERR(q->qp)) {
		err = PTR_ERR(q->qp);
		goto destroy_cq;
	}
	return 0;

destroy_cq:
	ib_destroy_cq(q->cq);
free_ring:
	ipoib_tx_cleanup(q);
	return err;
}

/* Rings and objects of receiving and of each transmit queue. */
static void ipoib_destroy_rings(struct ipoib_dev *priv, unsigned int queues)
{
	while (queues-- > 0)
		ipoib_destroy_tx_queue(&priv->tx[queues]);
	ib_destroy_cq(priv->rx.cq);
	ipoib_rx_cleanup(priv);
}

/* As ethtool has set it for the CQ that was there before. */
static void ipoib_moderate(struct ipoib_dev *priv)
{
	if (!priv->rx.usecs ||
	    !rdma_set_cq_moderation(priv->rx.cq, priv->rx.frames, priv->rx.usecs))
		return;
	if (net_ratelimit())
		netdev_warn(priv->dev, "the adapter does not moderate interrupts any more\n");
	priv->rx.usecs = 0;
	priv->rx.frames = 0;
}

/* The one that receives, and that has the interface's address. */
static void ipoib_use_first_qp(struct ipoib_dev *priv)
{
	priv->qp = priv->tx[0].qp;
	priv->qpn = priv->qp->qp_num;
}

/* Returns how many transmit queues the adapter has objects for, or an errno. */
static int ipoib_create_rings(struct ipoib_dev *priv)
{
	unsigned int n;
	int err;

	err = ipoib_rx_init(priv);
	if (err)
		return err;
	priv->rx.cq = ipoib_create_cq(priv, ipoib_recv_event, priv,
				      priv->rx.size);
	if (IS_ERR(priv->rx.cq)) {
		err = PTR_ERR(priv->rx.cq);
		goto free_rx;
	}

	for (n = 0; n < priv->tx_queues; n++) {
		err = ipoib_create_tx_queue(priv, n);
		if (err)
			break;
	}
	if (!n)
		goto destroy_cq;
	if (err && net_ratelimit())
		netdev_warn(priv->dev, "has only %u of %u transmit queues: %d\n",
			    n, priv->tx_queues, err);
	ipoib_use_first_qp(priv);
	return n;

destroy_cq:
	ib_destroy_cq(priv->rx.cq);
free_rx:
	ipoib_rx_cleanup(priv);
	return err;
}

/* The rings that the module parameters ask for, as far as the adapter says it has them. */
static void ipoib_limit_rings(struct ipoib_dev *priv)
{
	const struct ib_device_attr *hca = &priv->hca->attrs;
	unsigned int most = min(hca->max_qp_wr, hca->max_cqe - 1);

	most = clamp(most, 1U, (unsigned int)IPOIB_MAX_RING);
	priv->max_ring = rounddown_pow_of_two(most);
	priv->tx_size = min(priv->tx_size, priv->max_ring);
	priv->rx.size = min(priv->rx.size, priv->max_ring);
}

/* Halves the larger ring. Returns false where both are as small as by default. */
static bool ipoib_halve_ring(struct ipoib_dev *priv)
{
	bool tx = priv->tx_size > IPOIB_DEFAULT_TX_RING;
	bool rx = priv->rx.size > IPOIB_DEFAULT_RX_RING;

	if (tx && (!rx || priv->tx_size >= priv->rx.size))
		priv->tx_size /= 2;
	else if (rx)
		priv->rx.size /= 2;
	return tx || rx;
}

/*
 * The adapter's limits are those of small work requests. Of large ones, as IPoIB's are,
 * there may be fewer, and only an attempt shows how many.
 */
static int ipoib_create_fitting_rings(struct ipoib_dev *priv)
{
	unsigned int tx = priv->tx_size, rx = priv->rx.size;
	int n;

	do
		n = ipoib_create_rings(priv);
	while ((n == -ENOMEM || n == -EINVAL) && ipoib_halve_ring(priv));
	if (n < 0 || (tx == priv->tx_size && rx == priv->rx.size))
		return n;

	priv->max_ring = max(priv->tx_size, priv->rx.size);
	if (net_ratelimit())
		netdev_warn(priv->dev, "the adapter cannot have rings of %u receives and %u sends; they have %u and %u\n",
			    rx, tx, priv->rx.size, priv->tx_size);
	return n;
}

static int ipoib_create_objects(struct ipoib_dev *priv)
{
	int err;

	ipoib_limit_rings(priv);

	priv->max_send_sge = min_t(u32, priv->hca->attrs.max_send_sge,
				   IPOIB_TX_SGE);

	priv->pd = ib_alloc_pd(priv->hca, 0);
	if (IS_ERR(priv->pd))
		return PTR_ERR(priv->pd);

	/* There may be room for as many as the driver of another adapter has asked for. */
	priv->tx_queues = min_t(unsigned int, num_online_cpus(), IPOIB_MAX_TX_QUEUES);
	priv->tx_queues = min(priv->tx_queues, priv->dev->num_tx_queues);
	priv->tx = kvcalloc(priv->tx_queues, sizeof(*priv->tx), GFP_KERNEL);
	if (!priv->tx) {
		err = -ENOMEM;
		goto dealloc_pd;
	}
	err = ipoib_create_fitting_rings(priv);
	if (err < 0)
		goto free_tx;
	priv->tx_queues = err;
	return 0;

free_tx:
	kvfree(priv->tx);
dealloc_pd:
	ib_dealloc_pd(priv->pd);
	return err;
}

/* From ndo_init, with the sizes of the rings set. Leaves nothing behind if it fails. */
static int ipoib_verbs_init(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->dev;
	struct ipoib_tx_queue *q;
	int err;

	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!dev->tstats)
		return -ENOMEM;
	err = ipoib_create_objects(priv);
	if (err) {
		free_percpu(dev->tstats);
		return err;
	}

	netif_napi_add(dev, &priv->rx.napi, ipoib_rx_poll);
	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		netif_napi_add_tx(dev, &q->napi, ipoib_tx_poll);
	/* Does not fail before the interface is registered. */
	netif_set_real_num_tx_queues(dev, priv->tx_queues);
	netif_set_real_num_rx_queues(dev, 1);
	return 0;
}

/* The interface is down, with all its address handles destroyed. */
static void ipoib_verbs_cleanup(struct ipoib_dev *priv)
{
	struct ipoib_tx_queue *q;

	netif_napi_del(&priv->rx.napi);
	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		netif_napi_del(&q->napi);
	free_percpu(priv->dev->tstats);
	ipoib_destroy_rings(priv, priv->tx_queues);
	kvfree(priv->tx);
	ib_dealloc_pd(priv->pd);
}

/* What another size of the rings replaces. */
struct ipoib_rings {
	unsigned int rx_size;
	unsigned int tx_size;
	struct ipoib_rx_buf *rx_ring;
	struct ib_cq *recv_cq;
	struct {
		struct ipoib_tx_buf *ring;
		struct ib_cq *cq;
		struct ib_qp *qp;
	} tx[IPOIB_MAX_TX_QUEUES];
};

static void ipoib_swap_rings(struct ipoib_dev *priv, struct ipoib_rings *other)
{
	unsigned int i;

	swap(priv->rx.size, other->rx_size);
	swap(priv->tx_size, other->tx_size);
	swap(priv->rx.ring, other->rx_ring);
	swap(priv->rx.cq, other->recv_cq);
	for (i = 0; i < priv->tx_queues; i++) {
		swap(priv->tx[i].ring, other->tx[i].ring);
		swap(priv->tx[i].cq, other->tx[i].cq);
		swap(priv->tx[i].qp, other->tx[i].qp);
	}
}

/*
 * A queue pair has the size that it was made with, so there are others after this, with other
 * numbers. Sizes are powers of two. After an error the rings are as they were. The interface is
 * down; called under ctl.
 */
int ipoib_verbs_resize(struct ipoib_dev *priv, unsigned int rx_size,
		       unsigned int tx_size)
{
	struct ipoib_rings *other;
	int n;

	lockdep_assert_held(&priv->link.ctl);

	other = kzalloc(sizeof(*other), GFP_KERNEL);
	if (!other)
		return -ENOMEM;
	other->rx_size = rx_size;
	other->tx_size = tx_size;

	ipoib_swap_rings(priv, other);
	n = ipoib_create_rings(priv);
	if (n == priv->tx_queues) {
		ipoib_moderate(priv);
		ipoib_swap_rings(priv, other);
		ipoib_destroy_rings(priv, n);
	} else if (n > 0) {
		ipoib_destroy_rings(priv, n);
		n = -ENOMEM;
	}
	ipoib_swap_rings(priv, other);
	ipoib_use_first_qp(priv);
	kfree(other);
	return min(n, 0);
}

static int ipoib_qp_modify(struct ipoib_dev *priv, struct ib_qp *qp,
			   enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT) {
		/* The Q_Key comes with the broadcast group. */
		attr.qkey = READ_ONCE(priv->link.qkey);
		attr.port_num = priv->port;
		attr.pkey_index = priv->pkey_index;
		mask |= IB_QP_QKEY | IB_QP_PORT | IB_QP_PKEY_INDEX;
	} else if (state == IB_QPS_RTS) {
		attr.sq_psn = 0;
		mask |= IB_QP_SQ_PSN;
	}
	return ib_modify_qp(qp, &attr, mask);
}

/* Moves all queue pairs, even if one does not. */
static int ipoib_modify_all(struct ipoib_dev *priv, enum ib_qp_state state)
{
	struct ipoib_tx_queue *q;
	int err, first = 0;

	for (q = priv->tx; q < ipoib_tx_end(priv); q++) {
		err = ipoib_qp_modify(priv, q->qp, state);
		first = first ?: err;
	}
	return first;
}

/*
 * The first queue pair accepts packets with the link's Q_Key. All of them send with it if
 * its high bit is set: then the adapter ignores what a work request says (IBA 10.2.5).
 */
static int ipoib_qp_set_qkey(struct ipoib_dev *priv, u32 qkey)
{
	struct ib_qp_attr attr = { .qkey = qkey };
	struct ipoib_tx_queue *q;
	int err;

	for (q = priv->tx; q < ipoib_tx_end(priv); q++) {
		err = ib_modify_qp(q->qp, &attr, IB_QP_QKEY);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Fills the receive ring and brings the queue pairs from RESET to RTS. NAPI is disabled. If
 * it fails, they are in RESET again.
 */
static int ipoib_qp_start(struct ipoib_dev *priv)
{
	struct ipoib_tx_queue *q;
	int err;

	err = ipoib_modify_all(priv, IB_QPS_INIT);
	if (err)
		goto reset;
	err = ipoib_rx_fill(priv);
	if (err)
		goto reset;
	err = ipoib_modify_all(priv, IB_QPS_RTR);
	if (err)
		goto reset;
	err = ipoib_modify_all(priv, IB_QPS_RTS);
	if (err)
		goto reset;

	napi_enable(&priv->rx.napi);
	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		napi_enable(&q->napi);
	/* The first poll arms a CQ. */
	local_bh_disable();
	napi_schedule(&priv->rx.napi);
	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		napi_schedule(&q->napi);
	local_bh_enable();
	return 0;

reset:
	ipoib_modify_all(priv, IB_QPS_RESET);
	ipoib_rx_drain(priv);
	ipoib_rx_free(priv);
	if (net_ratelimit())
		netdev_warn(priv->dev, "cannot start the queue pairs: %d\n", err);
	return err;
}

/* Returns how many packets the adapter has not yet given back. */
static unsigned int ipoib_qp_drain(struct ipoib_dev *priv)
{
	struct ipoib_tx_queue *q;
	unsigned int sends = 0;

	ipoib_rx_drain(priv);
	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		sends += ipoib_tx_reap_all(q);
	return sends;
}

/*
 * Takes everything back from the adapter. In the error state it completes all that was
 * posted, with an error; the reset takes back what a broken adapter did not.
 */
static void ipoib_qp_stop(struct ipoib_dev *priv)
{
	unsigned long give_up = jiffies + IPOIB_DRAIN_TIMEOUT;
	struct ipoib_tx_queue *q;
	unsigned int sends;

	napi_disable(&priv->rx.napi);
	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		napi_disable(&q->napi);

	if (ipoib_modify_all(priv, IB_QPS_ERR) && net_ratelimit())
		netdev_warn(priv->dev, "cannot move the queue pairs to error\n");

	for (;;) {
		sends = ipoib_qp_drain(priv);
		if (!sends && !priv->rx.posted)
			break;
		if (time_after(jiffies, give_up)) {
			if (net_ratelimit())
				netdev_warn(priv->dev, "%u sends and %u receives never completed\n",
					    sends, priv->rx.posted);
			break;
		}
		usleep_range(500, 1000);
	}

	if (ipoib_modify_all(priv, IB_QPS_RESET) && net_ratelimit())
		netdev_warn(priv->dev, "cannot reset the queue pairs\n");
	ipoib_rx_drain(priv);
	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		ipoib_tx_free(q);
	ipoib_rx_free(priv);
}

static int ipoib_qp_attach(struct ipoib_dev *priv, union ib_gid *gid, u16 mlid, bool bcast)
{
	return ib_attach_mcast(priv->qp, gid, mlid);
}

static void ipoib_qp_detach(struct ipoib_dev *priv, union ib_gid *gid, u16 mlid)
{
	ib_detach_mcast(priv->qp, gid, mlid);
}

static int ipoib_plain_set_mtu(struct ipoib_dev *priv, unsigned int mtu)
{
	WRITE_ONCE(priv->dev->mtu, mtu);
	return 0;
}

const struct ipoib_ud_ops ipoib_plain_ops = {
	.init		= ipoib_verbs_init,
	.cleanup	= ipoib_verbs_cleanup,
	.start		= ipoib_qp_start,
	.stop		= ipoib_qp_stop,
	.set_open	= ipoib_tx_set_open,
	.send_queued	= ipoib_send_queued,
	.set_qkey	= ipoib_qp_set_qkey,
	.attach		= ipoib_qp_attach,
	.detach		= ipoib_qp_detach,
	.set_mtu	= ipoib_plain_set_mtu,
};

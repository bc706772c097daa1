// SPDX-License-Identifier: GPL-2.0
/*
 * The interface's queue pair and completion queues.
 */
#include <linux/delay.h>

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

static int ipoib_create_cqs(struct ipoib_dev *priv)
{
	static atomic_t next_vector;
	unsigned int vector = atomic_add_return(2, &next_vector);
	unsigned int vectors = max(priv->hca->num_comp_vectors, 1);
	struct ib_cq_init_attr attr = {};

	attr.cqe = priv->rx_size + 1;
	attr.comp_vector = vector % vectors;
	priv->recv_cq = ib_create_cq(priv->hca, ipoib_recv_event, NULL, priv,
				     &attr);
	if (IS_ERR(priv->recv_cq))
		return PTR_ERR(priv->recv_cq);

	attr.cqe = priv->tx_size + 1;
	attr.comp_vector = (vector + 1) % vectors;
	priv->send_cq = ib_create_cq(priv->hca, ipoib_send_event, NULL, priv,
				     &attr);
	if (IS_ERR(priv->send_cq)) {
		ib_destroy_cq(priv->recv_cq);
		return PTR_ERR(priv->send_cq);
	}
	return 0;
}

static int ipoib_create_qp(struct ipoib_dev *priv)
{
	const struct ib_device_attr *hca = &priv->hca->attrs;
	struct ib_qp_init_attr attr = {
		.event_handler	= ipoib_qp_event,
		.qp_context	= priv,
		.send_cq	= priv->send_cq,
		.recv_cq	= priv->recv_cq,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_UD,
		.cap = {
			.max_send_wr	= priv->tx_size,
			.max_recv_wr	= priv->rx_size,
			.max_send_sge	= min_t(u32, hca->max_send_sge,
						IPOIB_TX_SGE),
			.max_recv_sge	= min_t(u32, hca->max_recv_sge,
						IPOIB_RX_SGE),
		},
	};

	if (hca->kernel_cap_flags & IBK_BLOCK_MULTICAST_LOOPBACK)
		attr.create_flags |= IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	if (hca->kernel_cap_flags & IBK_UD_TSO)
		attr.create_flags |= IB_QP_CREATE_IPOIB_UD_LSO;

	priv->max_send_sge = attr.cap.max_send_sge;
	priv->qp = ib_create_qp(priv->pd, &attr);
	return PTR_ERR_OR_ZERO(priv->qp);
}

/**
 * ipoib_max_ring() - the largest ring that there can be
 * @hca: the adapter
 *
 * Return: how many slots it has, a power of two.
 */
unsigned int ipoib_max_ring(struct ib_device *hca)
{
	unsigned int most = min(hca->attrs.max_qp_wr, hca->attrs.max_cqe - 1);

	most = clamp(most, 1U, (unsigned int)IPOIB_MAX_RING);
	return rounddown_pow_of_two(most);
}

/* The rings the module parameters ask for, where the adapter has them. */
static void ipoib_limit_rings(struct ipoib_dev *priv)
{
	unsigned int most = ipoib_max_ring(priv->hca);

	priv->tx_size = min(priv->tx_size, most);
	priv->rx_size = min(priv->rx_size, most);
}

/**
 * ipoib_verbs_init() - create the verbs objects and the rings
 * @priv: the interface, with the sizes of its rings set
 *
 * Return: 0 or an errno, with nothing left behind.
 */
int ipoib_verbs_init(struct ipoib_dev *priv)
{
	int err;

	ipoib_limit_rings(priv);

	priv->pd = ib_alloc_pd(priv->hca, 0);
	if (IS_ERR(priv->pd))
		return PTR_ERR(priv->pd);

	err = ipoib_rx_init(priv);
	if (err)
		goto dealloc_pd;
	err = ipoib_tx_init(priv);
	if (err)
		goto free_rx;
	err = ipoib_create_cqs(priv);
	if (err)
		goto free_tx;
	err = ipoib_create_qp(priv);
	if (err)
		goto destroy_cqs;
	return 0;

destroy_cqs:
	ib_destroy_cq(priv->send_cq);
	ib_destroy_cq(priv->recv_cq);
free_tx:
	ipoib_tx_cleanup(priv);
free_rx:
	ipoib_rx_cleanup(priv);
dealloc_pd:
	ib_dealloc_pd(priv->pd);
	return err;
}

/**
 * ipoib_verbs_cleanup() - destroy what ipoib_verbs_init() made
 * @priv: the interface, down, with all its address handles destroyed
 */
void ipoib_verbs_cleanup(struct ipoib_dev *priv)
{
	ib_destroy_qp(priv->qp);
	ib_destroy_cq(priv->send_cq);
	ib_destroy_cq(priv->recv_cq);
	ipoib_tx_cleanup(priv);
	ipoib_rx_cleanup(priv);
	ib_dealloc_pd(priv->pd);
}

static int ipoib_qp_modify(struct ipoib_dev *priv, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT) {
		/* The Q_Key comes with the broadcast group. */
		attr.qkey = READ_ONCE(priv->qkey);
		attr.port_num = priv->port;
		attr.pkey_index = priv->pkey_index;
		mask |= IB_QP_QKEY | IB_QP_PORT | IB_QP_PKEY_INDEX;
	} else if (state == IB_QPS_RTS) {
		attr.sq_psn = 0;
		mask |= IB_QP_SQ_PSN;
	}
	return ib_modify_qp(priv->qp, &attr, mask);
}

/**
 * ipoib_qp_set_qkey() - make the queue pair accept the link's Q_Key
 * @priv: the interface, up
 * @qkey: the broadcast group's Q_Key
 *
 * Return: 0 or an errno.
 */
int ipoib_qp_set_qkey(struct ipoib_dev *priv, u32 qkey)
{
	struct ib_qp_attr attr = { .qkey = qkey };

	return ib_modify_qp(priv->qp, &attr, IB_QP_QKEY);
}

/**
 * ipoib_qp_start() - fill the receive ring and bring the queue pair to RTS
 * @priv: the interface, its queue pair in RESET, NAPI disabled
 *
 * Return: 0 or an errno, with the queue pair in RESET again.
 */
int ipoib_qp_start(struct ipoib_dev *priv)
{
	int err;

	err = ipoib_qp_modify(priv, IB_QPS_INIT);
	if (err)
		goto fail;
	err = ipoib_rx_fill(priv);
	if (err)
		goto reset;
	err = ipoib_qp_modify(priv, IB_QPS_RTR);
	if (err)
		goto reset;
	err = ipoib_qp_modify(priv, IB_QPS_RTS);
	if (err)
		goto reset;

	napi_enable(&priv->rx_napi);
	napi_enable(&priv->tx_napi);
	/* The first poll arms the CQ. */
	local_bh_disable();
	napi_schedule(&priv->rx_napi);
	local_bh_enable();
	return 0;

reset:
	ipoib_qp_modify(priv, IB_QPS_RESET);
	ipoib_rx_drain(priv);
	ipoib_rx_free(priv);
fail:
	netdev_warn(priv->dev, "cannot start the queue pair: %d\n", err);
	return err;
}

/**
 * ipoib_qp_stop() - take everything back from the adapter
 * @priv: the interface, after ipoib_qp_start(), with transmission closed
 *
 * In the error state the adapter completes all that was posted, with an error;
 * the reset takes back what a broken adapter did not.
 */
void ipoib_qp_stop(struct ipoib_dev *priv)
{
	unsigned long give_up = jiffies + IPOIB_DRAIN_TIMEOUT;
	unsigned int sends;

	napi_disable(&priv->rx_napi);
	napi_disable(&priv->tx_napi);

	if (ipoib_qp_modify(priv, IB_QPS_ERR))
		netdev_warn(priv->dev, "cannot move the queue pair to error\n");

	for (;;) {
		ipoib_rx_drain(priv);
		sends = ipoib_tx_reap_all(priv);
		if (!sends && !priv->rx_posted)
			break;
		if (time_after(jiffies, give_up)) {
			netdev_warn(priv->dev, "%u sends and %u receives never completed\n",
				    sends, priv->rx_posted);
			break;
		}
		usleep_range(500, 1000);
	}

	if (ipoib_qp_modify(priv, IB_QPS_RESET))
		netdev_warn(priv->dev, "cannot reset the queue pair\n");
	ipoib_rx_drain(priv);
	ipoib_tx_free(priv);
	ipoib_rx_free(priv);
}

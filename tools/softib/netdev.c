// SPDX-License-Identifier: GPL-2.0
/*
 * IPoIB's network interface as adapters offer it that drive it by themselves (struct
 * rdma_netdev, "enhanced IPoIB"). The IPoIB driver resolves addresses and joins groups;
 * packets are sent and received here, by a UD QP that no other consumer sees.
 *
 * Locks and lifetimes. The IPoIB driver calls ndo_init to ndo_stop one after the other,
 * under rtnl. send() is called under the stack's lock of the packet's queue and shares
 * only @pending and @under_way with the NAPI that takes the completions. The objects live
 * from ndo_init to ndo_uninit, the rings from initialize() to the netdev's destructor.
 */
#include <linux/delay.h>
#include <linux/ethtool.h>
#include <linux/if_infiniband.h>
#include <linux/module.h>
#include <linux/netdevice.h>

#include "softib.h"

#define QUEUES		2
#define QUEUE_SIZE	128	/* sends under way, of each queue */
#define RECEIVES	256
#define BATCH		16
#define ENCAP_LEN	4
#define HARD_LEN	(INFINIBAND_ALEN + ENCAP_LEN)
#define DRAIN_TIMEOUT	(5 * HZ)

static bool rdma_netdev;
module_param(rdma_netdev, bool, 0644);
MODULE_PARM_DESC(rdma_netdev, "HCAs made from now on drive IPoIB's interface by themselves (default N)");

/**
 * struct netdev_recv - a receive that is posted
 * @skb:	where the packet goes, behind room for its link-layer address
 * @addr:	mapped
 */
struct netdev_recv {
	struct sk_buff *skb;
	u64 addr;
};

/**
 * struct softib_netdev - an interface; the netdev's private data
 * @rn:		what the IPoIB driver knows; must be first
 * @dev:	the interface
 * @pkey_index:	from the IPoIB driver; used by the next ndo_open
 * @qkey:	of the link, with which packets are sent and accepted
 * @buf_len:	how much a receive has room for
 * @pd:		protection domain
 * @send_cq:	completions for @send_napi
 * @recv_cq:	completions for @recv_napi
 * @qp:		the queue pair
 * @send_napi:	frees what was sent
 * @recv_napi:	hands packets to the stack
 * @opened:	between ndo_open and ndo_stop
 * @posted:	receives that the QP has; of @recv_napi, or of the caller that has disabled it
 * @under_way:	packets that are posted, with its lock
 * @pending:	how many of each of the stack's queues
 * @sent:	all that was sent, the same way
 * @own:	packets that this interface sent to a group, and got back
 * @ring:	RECEIVES of them
 */
struct softib_netdev {
	struct rdma_netdev rn;
	struct net_device *dev;
	u16 pkey_index;
	u32 qkey;
	u32 buf_len;
	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_qp *qp;
	struct napi_struct send_napi;
	struct napi_struct recv_napi;
	bool opened;
	unsigned int posted;
	struct sk_buff_head under_way;
	atomic_t pending[QUEUES];
	atomic64_t sent[QUEUES];
	atomic64_t own;
	struct netdev_recv *ring;
};

/* Of a packet that is being sent */
struct netdev_cb {
	u64 addr;
	u32 len;
};

static struct netdev_cb *netdev_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct netdev_cb) > sizeof(skb->cb));
	return (struct netdev_cb *)skb->cb;
}

/* --- sending ------------------------------------------------------------- */

static void sent(struct softib_netdev *n, struct sk_buff *skb, enum ib_wc_status status,
		 int budget)
{
	unsigned int queue = skb_get_queue_mapping(skb);
	u32 len = netdev_cb(skb)->len;
	struct netdev_queue *txq = netdev_get_tx_queue(n->dev, queue);

	ib_dma_unmap_single(n->rn.hca, netdev_cb(skb)->addr, len, DMA_TO_DEVICE);
	if (status == IB_WC_SUCCESS)
		dev_sw_netstats_tx_add(n->dev, 1, len);
	else
		DEV_STATS_INC(n->dev, tx_errors);
	skb_unlink(skb, &n->under_way);
	napi_consume_skb(skb, budget);

	atomic_dec(&n->pending[queue]);
	/* Either this sees the queue stopped or its stopper sees one less pending. */
	smp_mb__after_atomic();
	if (netif_tx_queue_stopped(txq) && READ_ONCE(n->opened) &&
	    atomic_read(&n->pending[queue]) <= QUEUE_SIZE / 2)
		netif_tx_wake_queue(txq);
}

static int reap_sends(struct softib_netdev *n, int most, int budget)
{
	struct ib_wc wc[BATCH];
	int i, got, done = 0;

	do {
		got = ib_poll_cq(n->send_cq, min(most - done, BATCH), wc);
		for (i = 0; i < got; i++)
			sent(n, (struct sk_buff *)(uintptr_t)wc[i].wr_id, wc[i].status, budget);
		done += max(got, 0);
	} while (got == BATCH && done < most);
	return done;
}

static int send_poll(struct napi_struct *napi, int budget)
{
	struct softib_netdev *n = container_of(napi, struct softib_netdev, send_napi);
	int done = reap_sends(n, budget, budget);

	if (done < budget && napi_complete_done(napi, done) &&
	    ib_req_notify_cq(n->send_cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		napi_schedule(napi);
	return done;
}

static void send_event(struct ib_cq *cq, void *context)
{
	struct softib_netdev *n = context;

	napi_schedule(&n->send_napi);
}

/*
 * The address handle is of the IPoIB driver's protection domain, which adapters do not look
 * at here, and only there during this call: rdmavt, which looks, gets a copy, and makes one.
 */
static int post_send(struct softib_netdev *n, struct sk_buff *skb, struct ib_ah *ah, u32 qpn)
{
	struct rvt_ah copy = *ibah_to_rvtah(ah);
	struct ib_sge sge = {
		.addr = netdev_cb(skb)->addr,
		.length = skb->len,
		.lkey = n->pd->local_dma_lkey,
	};
	struct ib_ud_wr wr = {
		.wr = {
			.wr_id = (uintptr_t)skb,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = &copy.ibah,
		.remote_qpn = qpn,
		.remote_qkey = READ_ONCE(n->qkey),
	};

	copy.ibah.pd = n->pd;
	return ib_post_send(n->qp, &wr.wr, NULL);
}

/* struct rdma_netdev's. The checksums of either IP are this adapter's work. */
static int netdev_send(struct net_device *dev, struct sk_buff *skb, struct ib_ah *ah, u32 qpn)
{
	struct softib_netdev *n = netdev_priv(dev);
	unsigned int queue = skb_get_queue_mapping(skb);
	struct netdev_queue *txq = netdev_get_tx_queue(dev, queue);
	u64 addr;

	if (skb_linearize(skb) ||
	    (skb->ip_summed == CHECKSUM_PARTIAL && skb_checksum_help(skb)))
		goto drop;
	addr = ib_dma_map_single(n->rn.hca, skb->data, skb->len, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(n->rn.hca, addr))
		goto drop;
	netdev_cb(skb)->addr = addr;
	netdev_cb(skb)->len = skb->len;

	skb_tx_timestamp(skb);
	/* From the post on the packet is no longer this function's. */
	if (atomic_inc_return(&n->pending[queue]) >= QUEUE_SIZE) {
		netif_tx_stop_queue(txq);
		/* Pairs with the barrier in sent(). */
		smp_mb__after_atomic();
		if (atomic_read(&n->pending[queue]) < QUEUE_SIZE)
			netif_tx_wake_queue(txq);
	}
	atomic64_inc(&n->sent[queue]);
	skb_queue_tail(&n->under_way, skb);
	if (!post_send(n, skb, ah, qpn))
		return NETDEV_TX_OK;
	sent(n, skb, IB_WC_GENERAL_ERR, 0);
	return NETDEV_TX_OK;

drop:
	DEV_STATS_INC(dev, tx_dropped);
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

/* --- receiving ----------------------------------------------------------- */

static int post_recv(struct softib_netdev *n, unsigned int i)
{
	struct netdev_recv *r = &n->ring[i];
	struct ib_sge sge = {
		.addr = r->addr,
		.length = n->buf_len,
		.lkey = n->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	int ret = ib_post_recv(n->qp, &wr, NULL);

	if (!ret)
		n->posted++;
	return ret;
}

/* Gives the slot a packet to be, or leaves it as it is. */
static int renew(struct softib_netdev *n, struct netdev_recv *r, gfp_t gfp)
{
	struct sk_buff *skb = __netdev_alloc_skb(n->dev, n->buf_len, gfp);
	u64 addr;

	if (!skb)
		return -ENOMEM;
	addr = ib_dma_map_single(n->rn.hca, skb->data, n->buf_len, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(n->rn.hca, addr)) {
		dev_kfree_skb_any(skb);
		return -ENOMEM;
	}
	r->skb = skb;
	r->addr = addr;
	return 0;
}

static void free_receives(struct softib_netdev *n)
{
	struct netdev_recv *r;

	for (r = n->ring; r < n->ring + RECEIVES; r++) {
		if (!r->skb)
			continue;
		ib_dma_unmap_single(n->rn.hca, r->addr, n->buf_len, DMA_FROM_DEVICE);
		dev_kfree_skb_any(r->skb);
		r->skb = NULL;
	}
	n->posted = 0;
}

static int fill_receives(struct softib_netdev *n)
{
	unsigned int i;
	int ret;

	for (i = 0; i < RECEIVES; i++) {
		ret = renew(n, &n->ring[i], GFP_KERNEL) ?: post_recv(n, i);
		if (ret)
			return ret;
	}
	return 0;
}

/* Is it one of this interface's own to a group? Sets what the packet is otherwise. */
static bool is_own(struct softib_netdev *n, const struct ib_wc *wc, struct sk_buff *skb)
{
	const struct ib_grh *grh = (const struct ib_grh *)skb->data;

	skb->pkt_type = PACKET_HOST;
	if (!(wc->wc_flags & IB_WC_GRH) || grh->dgid.raw[0] != 0xff)
		return false;
	if (wc->src_qp == n->qp->qp_num &&
	    !memcmp(grh->sgid.raw, n->dev->dev_addr + 4, sizeof(grh->sgid)))
		return true;
	if (!memcmp(grh->dgid.raw, n->dev->broadcast + 4, sizeof(grh->dgid))) {
		skb->pkt_type = PACKET_BROADCAST;
	} else {
		skb->pkt_type = PACKET_MULTICAST;
		DEV_STATS_INC(n->dev, multicast);
	}
	return false;
}

/* To the stack, with a link-layer header of as many bytes as those that are sent have. */
static void deliver(struct softib_netdev *n, const struct ib_wc *wc, struct sk_buff *skb)
{
	skb_put(skb, wc->byte_len);
	if (is_own(n, wc, skb)) {
		atomic64_inc(&n->own);
		dev_kfree_skb_any(skb);
		return;
	}
	if (n->dev->features & NETIF_F_RXCSUM && wc->wc_flags & IB_WC_IP_CSUM_OK)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	__skb_pull(skb, IB_GRH_BYTES);
	skb->protocol = *(__be16 *)skb->data;
	memset(skb_push(skb, INFINIBAND_ALEN), 0, INFINIBAND_ALEN);
	skb_reset_mac_header(skb);
	__skb_pull(skb, HARD_LEN);
	dev_sw_netstats_rx_add(n->dev, skb->len);
	napi_gro_receive(&n->recv_napi, skb);
}

static void received(struct softib_netdev *n, const struct ib_wc *wc)
{
	struct netdev_recv *r = &n->ring[wc->wr_id];
	struct netdev_recv old = *r;

	n->posted--;
	if (wc->status != IB_WC_SUCCESS) {
		DEV_STATS_INC(n->dev, rx_errors);
		return;
	}
	if (wc->byte_len < IB_GRH_BYTES + ENCAP_LEN || renew(n, r, GFP_ATOMIC)) {
		DEV_STATS_INC(n->dev, rx_dropped);
	} else {
		ib_dma_unmap_single(n->rn.hca, old.addr, n->buf_len, DMA_FROM_DEVICE);
		deliver(n, wc, old.skb);
	}
	post_recv(n, wc->wr_id);
}

static int recv_poll(struct napi_struct *napi, int budget)
{
	struct softib_netdev *n = container_of(napi, struct softib_netdev, recv_napi);
	struct ib_wc wc[BATCH];
	int i, got, done = 0;

	do {
		got = ib_poll_cq(n->recv_cq, min(budget - done, BATCH), wc);
		for (i = 0; i < got; i++)
			received(n, &wc[i]);
		done += max(got, 0);
	} while (got == BATCH && done < budget);

	if (done < budget && napi_complete_done(napi, done) &&
	    ib_req_notify_cq(n->recv_cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		napi_schedule(napi);
	return done;
}

static void recv_event(struct ib_cq *cq, void *context)
{
	struct softib_netdev *n = context;

	napi_schedule(&n->recv_napi);
}

/* --- up and down --------------------------------------------------------- */

static int move_qp(struct softib_netdev *n, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT) {
		attr.qkey = n->qkey;
		attr.port_num = n->rn.port_num;
		attr.pkey_index = n->pkey_index;
		mask |= IB_QP_QKEY | IB_QP_PORT | IB_QP_PKEY_INDEX;
	} else if (state == IB_QPS_RTS) {
		mask |= IB_QP_SQ_PSN;
	}
	return ib_modify_qp(n->qp, &attr, mask);
}

static void drain_receives(struct softib_netdev *n)
{
	struct ib_wc wc[BATCH];
	int got;

	do {
		got = ib_poll_cq(n->recv_cq, BATCH, wc);
		n->posted -= max(got, 0);
	} while (got > 0);
}

static bool drained(struct softib_netdev *n)
{
	drain_receives(n);
	local_bh_disable();
	reap_sends(n, INT_MAX, 0);
	local_bh_enable();
	return skb_queue_empty(&n->under_way) && !n->posted;
}

static int netdev_open(struct net_device *dev)
{
	struct softib_netdev *n = netdev_priv(dev);
	int ret;

	ret = move_qp(n, IB_QPS_INIT) ?: fill_receives(n) ?:
	      move_qp(n, IB_QPS_RTR) ?: move_qp(n, IB_QPS_RTS);
	if (ret) {
		move_qp(n, IB_QPS_RESET);
		drain_receives(n);
		free_receives(n);
		return ret;
	}
	WRITE_ONCE(n->opened, true);
	napi_enable(&n->recv_napi);
	napi_enable(&n->send_napi);
	/* The first poll arms a CQ. */
	local_bh_disable();
	napi_schedule(&n->recv_napi);
	napi_schedule(&n->send_napi);
	local_bh_enable();
	netif_tx_start_all_queues(dev);
	return 0;
}

/* All that was posted completes in the error state, unless the HCA stands still. */
static int netdev_stop(struct net_device *dev)
{
	unsigned long give_up = jiffies + DRAIN_TIMEOUT;
	struct softib_netdev *n = netdev_priv(dev);
	struct sk_buff *skb;

	if (!n->opened)
		return 0;
	WRITE_ONCE(n->opened, false);
	netif_tx_disable(dev);
	napi_disable(&n->recv_napi);
	napi_disable(&n->send_napi);
	move_qp(n, IB_QPS_ERR);
	while (!drained(n) && time_before(jiffies, give_up))
		usleep_range(500, 1000);
	move_qp(n, IB_QPS_RESET);
	drained(n);
	while ((skb = skb_peek(&n->under_way)))
		sent(n, skb, IB_WC_WR_FLUSH_ERR, 0);
	free_receives(n);
	return 0;
}

/* --- life ---------------------------------------------------------------- */

static struct ib_cq *make_cq(struct softib_netdev *n, ib_comp_handler handler, u32 size)
{
	struct ib_cq_init_attr attr = { .cqe = size + 1 };

	return ib_create_cq(n->rn.hca, handler, NULL, n, &attr);
}

static int make_qp(struct softib_netdev *n)
{
	struct ib_qp_init_attr attr = {
		.send_cq = n->send_cq,
		.recv_cq = n->recv_cq,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_UD,
		.cap = {
			.max_send_wr = QUEUES * QUEUE_SIZE,
			.max_recv_wr = RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	n->qp = ib_create_qp(n->pd, &attr);
	return PTR_ERR_OR_ZERO(n->qp);
}

static int make_objects(struct softib_netdev *n)
{
	int ret;

	n->pd = ib_alloc_pd(n->rn.hca, 0);
	if (IS_ERR(n->pd))
		return PTR_ERR(n->pd);
	n->send_cq = make_cq(n, send_event, QUEUES * QUEUE_SIZE);
	if (IS_ERR(n->send_cq)) {
		ret = PTR_ERR(n->send_cq);
		goto dealloc_pd;
	}
	n->recv_cq = make_cq(n, recv_event, RECEIVES);
	if (IS_ERR(n->recv_cq)) {
		ret = PTR_ERR(n->recv_cq);
		goto destroy_send_cq;
	}
	ret = make_qp(n);
	if (!ret)
		return 0;

	ib_destroy_cq(n->recv_cq);
destroy_send_cq:
	ib_destroy_cq(n->send_cq);
dealloc_pd:
	ib_dealloc_pd(n->pd);
	return ret;
}

/* The QP's number is the interface's, in bytes 1 to 3 of its address. */
static int netdev_init(struct net_device *dev)
{
	struct softib_netdev *n = netdev_priv(dev);
	u8 qpn[3];
	int ret;

	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!dev->tstats)
		return -ENOMEM;
	ret = make_objects(n);
	if (ret) {
		free_percpu(dev->tstats);
		dev->tstats = NULL;
		return ret;
	}
	qpn[0] = n->qp->qp_num >> 16;
	qpn[1] = n->qp->qp_num >> 8;
	qpn[2] = n->qp->qp_num;
	dev_addr_mod(dev, 1, qpn, sizeof(qpn));
	netif_napi_add(dev, &n->recv_napi, recv_poll);
	netif_napi_add_tx(dev, &n->send_napi, send_poll);
	return 0;
}

static void netdev_uninit(struct net_device *dev)
{
	struct softib_netdev *n = netdev_priv(dev);

	netif_napi_del(&n->recv_napi);
	netif_napi_del(&n->send_napi);
	ib_destroy_qp(n->qp);
	ib_destroy_cq(n->recv_cq);
	ib_destroy_cq(n->send_cq);
	ib_dealloc_pd(n->pd);
	free_percpu(dev->tstats);
	dev->tstats = NULL;
}

static const struct net_device_ops netdev_ops = {
	.ndo_init	= netdev_init,
	.ndo_uninit	= netdev_uninit,
	.ndo_open	= netdev_open,
	.ndo_stop	= netdev_stop,
	.ndo_get_stats64 = dev_get_tstats64,
};

/* --- what the IPoIB driver tells ----------------------------------------- */

static void set_id(struct net_device *dev, int id)
{
	struct softib_netdev *n = netdev_priv(dev);

	n->pkey_index = id;
}

static int attach_mcast(struct net_device *dev, struct ib_device *ibdev, union ib_gid *gid,
			u16 mlid, int set_qkey, u32 qkey)
{
	struct softib_netdev *n = netdev_priv(dev);
	struct ib_qp_attr attr = { .qkey = qkey };
	int ret = 0;

	if (set_qkey) {
		ret = ib_modify_qp(n->qp, &attr, IB_QP_QKEY);
		WRITE_ONCE(n->qkey, qkey);
	}
	return ret ?: ib_attach_mcast(n->qp, gid, mlid);
}

static int detach_mcast(struct net_device *dev, struct ib_device *ibdev, union ib_gid *gid,
			u16 mlid)
{
	struct softib_netdev *n = netdev_priv(dev);

	return ib_detach_mcast(n->qp, gid, mlid);
}

/* --- ethtool ------------------------------------------------------------- */

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct softib_netdev *n = netdev_priv(dev);

	strscpy(info->driver, "softib[ib_ipoib]", sizeof(info->driver));
	strscpy(info->bus_info, dev_name(n->rn.hca->dev.parent), sizeof(info->bus_info));
}

static void get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	channels->max_rx = 1;
	channels->rx_count = 1;
	channels->max_tx = min_t(unsigned int, QUEUES, dev->num_tx_queues);
	channels->tx_count = dev->real_num_tx_queues;
}

static int set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	return netif_set_real_num_tx_queues(dev, channels->tx_count);
}

static int get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? QUEUES + 1 : -EOPNOTSUPP;
}

static void get_strings(struct net_device *dev, u32 set, u8 *data)
{
	unsigned int i;

	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < QUEUES; i++)
		ethtool_sprintf(&data, "tx%u_packets", i);
	ethtool_sprintf(&data, "rx_own_multicast");
}

static void get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct softib_netdev *n = netdev_priv(dev);
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		data[i] = atomic64_read(&n->sent[i]);
	data[i] = atomic64_read(&n->own);
}

static const struct ethtool_ops netdev_ethtool_ops = {
	.get_drvinfo	= get_drvinfo,
	.get_link	= ethtool_op_get_link,
	.get_channels	= get_channels,
	.set_channels	= set_channels,
	.get_sset_count	= get_sset_count,
	.get_strings	= get_strings,
	.get_ethtool_stats = get_ethtool_stats,
};

/* --- offering it --------------------------------------------------------- */

static void netdev_destructor(struct net_device *dev)
{
	struct softib_netdev *n = netdev_priv(dev);

	kvfree(n->ring);
}

static int initialize(struct ib_device *ibdev, u32 port, struct net_device *dev, void *param)
{
	struct softib_netdev *n = netdev_priv(dev);
	struct ib_port_attr attr;
	int ret;

	ret = ib_query_port(ibdev, port, &attr);
	if (ret)
		return ret;
	n->ring = kvcalloc(RECEIVES, sizeof(*n->ring), GFP_KERNEL);
	if (!n->ring)
		return -ENOMEM;
	netif_set_real_num_tx_queues(dev, min_t(unsigned int, QUEUES, dev->num_tx_queues));
	netif_set_real_num_rx_queues(dev, 1);
	skb_queue_head_init(&n->under_way);
	n->dev = dev;
	n->buf_len = IB_GRH_BYTES + ib_mtu_enum_to_int(attr.max_mtu);
	n->rn.hca = ibdev;
	n->rn.port_num = port;
	n->rn.mtu = dev->mtu;
	n->rn.send = netdev_send;
	n->rn.set_id = set_id;
	n->rn.attach_mcast = attach_mcast;
	n->rn.detach_mcast = detach_mcast;

	dev->hw_features |= NETIF_F_IP_CSUM | NETIF_F_IPV6_CSUM | NETIF_F_RXCSUM;
	dev->netdev_ops = &netdev_ops;
	dev->ethtool_ops = &netdev_ethtool_ops;
	dev->priv_destructor = netdev_destructor;
	dev->needs_free_netdev = true;
	return 0;
}

/* Does an HCA that is made now drive IPoIB's interfaces? */
bool softib_netdev_able(void)
{
	return READ_ONCE(rdma_netdev);
}

/* With -EOPNOTSUPP the IPoIB driver has to do all by itself. */
int softib_netdev_params(struct ib_device *ibdev, u32 port, enum rdma_netdev_t type,
			 struct rdma_netdev_alloc_params *params)
{
	if (type != RDMA_NETDEV_IPOIB || !to_softib_hca(ibdev)->has_netdev)
		return -EOPNOTSUPP;
	*params = (struct rdma_netdev_alloc_params) {
		.sizeof_priv = sizeof(struct softib_netdev),
		.txqs = QUEUES,
		.rxqs = 1,
		.initialize_rdma_netdev = initialize,
	};
	return 0;
}

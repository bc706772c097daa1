// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit: from the stack's packet to a UD send, and completions.
 *
 * Everything here runs under the tx lock, completions included: the transmit
 * path reaps what is done while it holds the lock anyway, and asks the adapter
 * for an event only when something is left. Where packets flow, and where the
 * adapter completes at once, there are next to no events.
 */
#include <linux/tcp.h>

#include "compat.h"
#include "ipoib.h"

static unsigned int ipoib_tx_pending(struct ipoib_dev *priv)
{
	return priv->tx_head - priv->tx_tail;
}

static struct ipoib_tx_buf *ipoib_tx_slot(struct ipoib_dev *priv,
					  unsigned int n)
{
	return &priv->tx_ring[n & (priv->tx_size - 1)];
}

/* How much of the linear part is mapped. */
static unsigned int ipoib_tx_head_len(const struct ipoib_tx_buf *buf)
{
	return skb_headlen(buf->skb) - buf->hlen;
}

/* Undoes the first @n mappings of the packet, the linear part being one. */
static void ipoib_tx_unmap(struct ipoib_dev *priv, struct ipoib_tx_buf *buf,
			   unsigned int n)
{
	unsigned int head = ipoib_tx_head_len(buf) ? 1 : 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (i < head)
			ib_dma_unmap_single(priv->hca, buf->addr[i],
					    ipoib_tx_head_len(buf),
					    DMA_TO_DEVICE);
		else
			ib_dma_unmap_page(priv->hca, buf->addr[i],
					  skb_frag_size(&skb_shinfo(buf->skb)->frags[i - head]),
					  DMA_TO_DEVICE);
	}
}

/* Pieces of what follows the first @hlen bytes. */
static unsigned int ipoib_tx_pieces(const struct sk_buff *skb,
				    unsigned int hlen)
{
	return (skb_headlen(skb) > hlen ? 1 : 0) + skb_shinfo(skb)->nr_frags;
}

/* Packets that the adapter makes of it. */
static unsigned int ipoib_tx_segments(const struct ipoib_tx_buf *buf)
{
	return buf->hlen ? DIV_ROUND_UP(buf->skb->len - buf->hlen,
					skb_shinfo(buf->skb)->gso_size) : 1;
}

/* What of it is on the wire, from the encapsulation header on. */
static unsigned int ipoib_tx_bytes(const struct ipoib_tx_buf *buf)
{
	return buf->skb->len + (ipoib_tx_segments(buf) - 1) * buf->hlen;
}

/* Maps the packet and fills tx_sge. Returns the number of pieces. */
static int ipoib_tx_map(struct ipoib_dev *priv, struct ipoib_tx_buf *buf)
{
	unsigned int i, f, n = 0, head = ipoib_tx_head_len(buf);
	struct sk_buff *skb = buf->skb;

	if (head) {
		buf->addr[0] = ib_dma_map_single(priv->hca,
						 skb->data + buf->hlen, head,
						 DMA_TO_DEVICE);
		if (ib_dma_mapping_error(priv->hca, buf->addr[0]))
			return -EIO;
		priv->tx_sge[n++].length = head;
	}

	for (f = 0; f < skb_shinfo(skb)->nr_frags; f++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[f];

		buf->addr[n] = ib_dma_map_page(priv->hca, skb_frag_page(frag),
					       skb_frag_off(frag),
					       skb_frag_size(frag),
					       DMA_TO_DEVICE);
		if (ib_dma_mapping_error(priv->hca, buf->addr[n])) {
			ipoib_tx_unmap(priv, buf, n);
			return -EIO;
		}
		priv->tx_sge[n++].length = skb_frag_size(frag);
	}

	for (i = 0; i < n; i++)
		priv->tx_sge[i].addr = buf->addr[i];
	return n;
}

/* Returns how many bytes are done with, whatever became of them. */
static unsigned int ipoib_tx_done(struct ipoib_dev *priv,
				  const struct ib_wc *wc, int napi_budget)
{
	struct ipoib_tx_buf *buf = ipoib_tx_slot(priv, priv->tx_tail);
	unsigned int bytes;

	/* A send queue completes in order; what came before a reset does not. */
	if (unlikely(!ipoib_tx_pending(priv) || wc->wr_id != priv->tx_tail))
		return 0;

	bytes = ipoib_tx_bytes(buf);

	ipoib_tx_unmap(priv, buf, ipoib_tx_pieces(buf->skb, buf->hlen));
	priv->tx_tail++;

	if (likely(wc->status == IB_WC_SUCCESS)) {
		dev_sw_netstats_tx_add(priv->dev, ipoib_tx_segments(buf), bytes);
	} else if (wc->status == IB_WC_WR_FLUSH_ERR) {
		ipoib_tx_drop(priv, IPOIB_TX_LINK_DOWN);
	} else {
		ipoib_count(priv, IPOIB_TX_COMPLETION_ERROR);
		DEV_STATS_INC(priv->dev, tx_errors);
		if (net_ratelimit())
			netdev_warn(priv->dev, "send failed: %s (vendor error %#x)\n",
				    ib_wc_status_msg(wc->status),
				    wc->vendor_err);
		/* The send queue stands still now. */
		ipoib_flush(priv, IPOIB_FLUSH_HEAVY);
	}

	napi_consume_skb(buf->skb, napi_budget);
	ipoib_ah_put(buf->ah);
	buf->skb = NULL;
	return bytes;
}

/* Takes up to @budget completions. Called under the tx lock. */
static int ipoib_tx_reap(struct ipoib_dev *priv, int budget, int napi_budget)
{
	unsigned int tail = priv->tx_tail, bytes = 0;
	int i, n, done = 0;

	while (done < budget && ipoib_tx_pending(priv)) {
		n = ib_poll_cq(priv->send_cq,
			       min(budget - done, IPOIB_TX_BATCH), priv->tx_wc);
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			bytes += ipoib_tx_done(priv, &priv->tx_wc[i],
					       napi_budget);
		done += n;
	}
	netdev_tx_completed_queue(ipoib_txq(priv), priv->tx_tail - tail, bytes);

	if (unlikely(netif_tx_queue_stopped(ipoib_txq(priv))) &&
	    priv->tx_open && ipoib_tx_pending(priv) <= priv->tx_size / 2)
		netif_tx_wake_queue(ipoib_txq(priv));

	return done;
}

/* Makes sure that what is left will be reaped. Called under the tx lock. */
static void ipoib_tx_arm(struct ipoib_dev *priv)
{
	if (!ipoib_tx_pending(priv) || priv->tx_armed)
		return;

	priv->tx_armed = true;
	if (ib_req_notify_cq(priv->send_cq, IB_CQ_NEXT_COMP |
					    IB_CQ_REPORT_MISSED_EVENTS))
		napi_schedule(&priv->tx_napi);
}

/**
 * ipoib_send_event() - completion handler of the send CQ
 * @cq: the CQ
 * @context: the interface
 */
void ipoib_send_event(struct ib_cq *cq, void *context)
{
	struct ipoib_dev *priv = context;

	napi_schedule(&priv->tx_napi);
}

/**
 * ipoib_tx_poll() - NAPI poll of the send CQ
 * @napi: tx_napi
 * @budget: how many completions to take
 *
 * Return: how many were taken.
 */
int ipoib_tx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_dev *priv = container_of(napi, struct ipoib_dev, tx_napi);
	struct netdev_queue *txq = ipoib_txq(priv);
	int done;

	__netif_tx_lock(txq, smp_processor_id());
	done = ipoib_tx_reap(priv, budget, budget);
	if (done < budget && napi_complete_done(napi, done)) {
		priv->tx_armed = false;
		ipoib_tx_arm(priv);
	}
	__netif_tx_unlock(txq);

	return done;
}

/* Posts the packet in the slot at tx_head. */
static int ipoib_tx_post(struct ipoib_dev *priv, struct ipoib_tx_buf *buf,
			 u32 qpn)
{
	struct ib_ud_wr wr = {
		.wr.wr_id	= priv->tx_head,
		.wr.opcode	= IB_WR_SEND,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.wr.sg_list	= priv->tx_sge,
		.ah		= buf->ah->ah,
		.remote_qpn	= qpn,
		.remote_qkey	= READ_ONCE(priv->qkey),
	};
	int n, err;

	n = ipoib_tx_map(priv, buf);
	if (n < 0)
		return n;

	if (buf->skb->ip_summed == CHECKSUM_PARTIAL)
		wr.wr.send_flags |= IB_SEND_IP_CSUM;
	if (buf->hlen) {
		/* Read until the send is complete; so long lives the packet. */
		wr.wr.opcode = IB_WR_LSO;
		wr.header = buf->skb->data;
		wr.hlen = buf->hlen;
		wr.mss = skb_shinfo(buf->skb)->gso_size;
	}

	wr.wr.num_sge = n;
	err = ib_post_send(priv->qp, &wr.wr, NULL);
	if (err)
		ipoib_tx_unmap(priv, buf, n);
	return err;
}

/*
 * The length of the headers that all parts of a large packet begin with, which
 * are in its linear part then; 0 for a packet that stays as it is, a negative
 * number for one that cannot be cut.
 */
static int ipoib_tx_hlen(struct sk_buff *skb)
{
	unsigned int hlen;

	if (!skb_is_gso(skb))
		return 0;
	if (unlikely(!skb_is_gso_tcp(skb) || !skb_transport_header_was_set(skb)))
		return -EINVAL;
	hlen = skb_transport_offset(skb);
	if (unlikely(!pskb_may_pull(skb, hlen + sizeof(struct tcphdr))))
		return -EINVAL;
	hlen += tcp_hdrlen(skb);
	if (unlikely(!pskb_may_pull(skb, hlen) || skb->len == hlen))
		return -EINVAL;
	return hlen;
}

/**
 * ipoib_features_check() - ndo_features_check
 * @skb: a packet that is about to be sent
 * @dev: the interface
 * @features: what the interface can do for it
 *
 * Return: what remains of @features. A large packet in more pieces than the
 * adapter takes had better be cut than copied.
 */
netdev_features_t ipoib_features_check(struct sk_buff *skb,
				       struct net_device *dev,
				       netdev_features_t features)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	if (skb_is_gso(skb) && ipoib_tx_pieces(skb, 0) > priv->max_send_sge)
		features &= ~NETIF_F_GSO_MASK;
	return features;
}

/**
 * ipoib_send() - send one packet, or drop and count it
 * @priv: the interface
 * @skb: the packet, from the encapsulation header on; consumed
 * @ah: how to reach the destination
 * @qpn: the destination's queue pair
 *
 * Called under the tx lock.
 */
void ipoib_send(struct ipoib_dev *priv, struct sk_buff *skb,
		struct ipoib_ah *ah, u32 qpn)
{
	struct netdev_queue *txq = ipoib_txq(priv);
	struct ipoib_tx_buf *buf = ipoib_tx_slot(priv, priv->tx_head);
	enum ipoib_counter why;
	unsigned int longest;
	int hlen;

	why = IPOIB_TX_LINK_DOWN;
	if (unlikely(!priv->tx_open))
		goto drop;

	why = IPOIB_TX_BAD_FRAME;
	hlen = ipoib_tx_hlen(skb);
	if (unlikely(hlen < 0))
		goto drop;

	why = IPOIB_TX_TOO_LONG;
	longest = hlen ? hlen + skb_shinfo(skb)->gso_size : skb->len;
	if (unlikely(longest > READ_ONCE(priv->mcast_mtu) + IPOIB_ENCAP_LEN))
		goto drop;

	why = IPOIB_TX_RING_FULL;
	if (unlikely(ipoib_tx_pending(priv) == priv->tx_size))
		goto drop;

	why = IPOIB_TX_NO_MEMORY;
	if (unlikely(ipoib_tx_pieces(skb, hlen) > priv->max_send_sge) &&
	    skb_linearize(skb))
		goto drop;

	/* The destination may have gone since the caller looked. */
	why = IPOIB_TX_UNREACHABLE;
	if (unlikely(!refcount_inc_not_zero(&ah->refs)))
		goto drop;

	ipoib_dbg_data(priv, "sending %u bytes to QPN %#x\n", skb->len, qpn);
	buf->skb = skb;
	buf->ah = ah;
	buf->hlen = hlen;
	skb_tx_timestamp(skb);

	if (unlikely(ipoib_tx_post(priv, buf, qpn))) {
		buf->skb = NULL;
		ipoib_ah_put(ah);
		why = IPOIB_TX_POST_FAILED;
		goto drop;
	}

	priv->tx_head++;
	netdev_tx_sent_queue(txq, ipoib_tx_bytes(buf));
	txq_trans_cond_update(txq);
	if (ipoib_tx_pending(priv) == priv->tx_size)
		netif_tx_stop_queue(txq);

	ipoib_tx_reap(priv, IPOIB_TX_BATCH, 0);
	ipoib_tx_arm(priv);
	return;

drop:
	ipoib_tx_drop(priv, why);
	dev_kfree_skb_any(skb);
}

/**
 * ipoib_start_xmit() - ndo_start_xmit
 * @skb: the packet, behind the 20 bytes of link-layer address that the header
 *	operation put in front of the encapsulation header
 * @dev: the interface
 *
 * Return: NETDEV_TX_OK, or NETDEV_TX_BUSY with the packet untouched.
 */
netdev_tx_t ipoib_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	unsigned long now = jiffies;
	struct ipoib_ah *ah = NULL;
	struct ipoib_dest *d;
	union ib_gid gid;
	u32 qpn;

	if (unlikely(ipoib_tx_pending(priv) == priv->tx_size)) {
		netif_tx_stop_queue(ipoib_txq(priv));
		return NETDEV_TX_BUSY;
	}

	/* Packet sockets may send what they like. */
	if (unlikely(!pskb_may_pull(skb, IPOIB_HARD_LEN)))
		goto bad_frame;

	qpn = get_unaligned_be32(skb->data) & IPOIB_QPN_MASK;
	memcpy(gid.raw, skb->data + 4, sizeof(gid.raw));
	__skb_pull(skb, IPOIB_PSEUDO_LEN);

	if (ipoib_gid_is_mcast(&gid)) {
		/* Where the address was made before the P_Key changed. */
		put_unaligned_be16(priv->pkey, &gid.raw[4]);
		qpn = IPOIB_MCAST_QPN;
	} else if (unlikely(!qpn || qpn == IPOIB_MCAST_QPN)) {
		goto bad_frame;
	}

	rcu_read_lock();
	d = ipoib_dest_find(priv, &gid);
	if (likely(d)) {
		if (READ_ONCE(d->last_used) != now)
			WRITE_ONCE(d->last_used, now);
		ah = rcu_dereference(d->ah);
	}
	if (likely(ah))
		ipoib_send(priv, skb, ah, qpn);
	else
		ipoib_dest_queue(priv, &gid, skb, qpn);
	rcu_read_unlock();
	return NETDEV_TX_OK;

bad_frame:
	ipoib_tx_drop(priv, IPOIB_TX_BAD_FRAME);
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

/**
 * ipoib_tx_reap_all() - take all completions there are
 * @priv: the interface, tx_napi disabled
 *
 * Return: how many packets are still in the ring.
 */
unsigned int ipoib_tx_reap_all(struct ipoib_dev *priv)
{
	struct netdev_queue *txq = ipoib_txq(priv);
	unsigned int pending;

	__netif_tx_lock_bh(txq);
	ipoib_tx_reap(priv, INT_MAX, 0);
	pending = ipoib_tx_pending(priv);
	__netif_tx_unlock_bh(txq);
	return pending;
}

/**
 * ipoib_tx_free() - drop what the adapter never completed
 * @priv: the interface, its queue pair reset
 */
void ipoib_tx_free(struct ipoib_dev *priv)
{
	struct netdev_queue *txq = ipoib_txq(priv);
	const struct ib_wc flushed = { .status = IB_WC_WR_FLUSH_ERR };

	__netif_tx_lock_bh(txq);
	while (ipoib_tx_pending(priv)) {
		struct ib_wc wc = flushed;

		wc.wr_id = priv->tx_tail;
		ipoib_tx_done(priv, &wc, 0);
	}
	netdev_tx_reset_queue(txq);
	priv->tx_armed = false;
	__netif_tx_unlock_bh(txq);
}

/**
 * ipoib_tx_init() - allocate the send ring
 * @priv: the interface, with tx_size and pd set
 *
 * Return: 0 or an errno.
 */
int ipoib_tx_init(struct ipoib_dev *priv)
{
	unsigned int i;

	priv->tx_ring = kvcalloc(priv->tx_size, sizeof(*priv->tx_ring),
				 GFP_KERNEL);
	if (!priv->tx_ring)
		return -ENOMEM;

	for (i = 0; i < IPOIB_TX_SGE; i++)
		priv->tx_sge[i].lkey = priv->pd->local_dma_lkey;
	return 0;
}

/**
 * ipoib_tx_cleanup() - free the send ring
 * @priv: the interface, the ring empty
 */
void ipoib_tx_cleanup(struct ipoib_dev *priv)
{
	kvfree(priv->tx_ring);
	priv->tx_ring = NULL;
}

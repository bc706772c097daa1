// SPDX-License-Identifier: GPL-2.0
/*
 * Receive: a ring of buffers that are posted again as soon as they are empty,
 * and packets handed to the stack under NAPI.
 *
 * A buffer starts with the 40 bytes that the adapter leaves for the GRH. Small
 * packets are copied out and the buffer is posted again as it is. Larger ones
 * go up in the buffer they arrived in. No buffer needs more than one page: what
 * a 4 KiB packet has beyond 2 KiB goes to a fragment of its own.
 */
#include "ipoib.h"

/* What build_skb() needs for the head fragment. */
static unsigned int ipoib_rx_head_size(void)
{
	return SKB_DATA_ALIGN(IPOIB_RX_PAD + IPOIB_RX_HEAD) +
	       SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
}

static void ipoib_rx_free_head(struct ipoib_dev *priv, struct ipoib_rx_buf *buf)
{
	ib_dma_unmap_single(priv->hca, buf->sge[0].addr, IPOIB_RX_HEAD,
			    DMA_FROM_DEVICE);
	skb_free_frag(buf->head);
	buf->head = NULL;
}

static void ipoib_rx_free_tail(struct ipoib_dev *priv, struct ipoib_rx_buf *buf)
{
	ib_dma_unmap_single(priv->hca, buf->sge[1].addr, priv->rx.tail_len,
			    DMA_FROM_DEVICE);
	skb_free_frag(buf->tail);
	buf->tail = NULL;
}

static void ipoib_rx_buf_free(struct ipoib_dev *priv, struct ipoib_rx_buf *buf)
{
	if (buf->head)
		ipoib_rx_free_head(priv, buf);
	if (buf->tail)
		ipoib_rx_free_tail(priv, buf);
}

/* A fragment of @size bytes, @len of which from @pad on are mapped at @addr, or NULL. */
static void *ipoib_rx_alloc(struct ipoib_dev *priv, unsigned int size,
			    unsigned int pad, unsigned int len, u64 *addr)
{
	void *frag = netdev_alloc_frag(size);
	u64 at;

	if (!frag)
		return NULL;
	at = ib_dma_map_single(priv->hca, frag + pad, len, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(priv->hca, at)) {
		skb_free_frag(frag);
		return NULL;
	}
	*addr = at;
	return frag;
}

/* Gives the slot a fresh head, and with @tail a fresh tail, or leaves it as it is. */
static int ipoib_rx_buf_alloc(struct ipoib_dev *priv, struct ipoib_rx_buf *buf,
			      bool tail)
{
	struct ipoib_rx_buf fresh = *buf;

	fresh.head = ipoib_rx_alloc(priv, ipoib_rx_head_size(), IPOIB_RX_PAD,
				    IPOIB_RX_HEAD, &fresh.sge[0].addr);
	if (!fresh.head)
		return -ENOMEM;
	if (tail) {
		fresh.tail = ipoib_rx_alloc(priv, priv->rx.tail_len, 0,
					    priv->rx.tail_len, &fresh.sge[1].addr);
		if (!fresh.tail) {
			ipoib_rx_free_head(priv, &fresh);
			return -ENOMEM;
		}
	}
	*buf = fresh;
	return 0;
}

/* A copy of a small packet; the buffer stays in the ring. */
static struct sk_buff *ipoib_rx_copy(struct ipoib_dev *priv,
				     struct ipoib_rx_buf *buf, unsigned int len)
{
	struct sk_buff *skb;

	skb = napi_alloc_skb(&priv->rx.napi, 4 + len);
	if (!skb)
		return NULL;

	skb_reserve(skb, 4);
	ib_dma_sync_single_for_cpu(priv->hca, buf->sge[0].addr, len,
				   DMA_FROM_DEVICE);
	skb_put_data(skb, buf->head + IPOIB_RX_PAD, len);
	ib_dma_sync_single_for_device(priv->hca, buf->sge[0].addr, len,
				      DMA_FROM_DEVICE);
	return skb;
}

/* The buffer itself as a packet; the slot gets a new one, but keeps an empty tail. */
static struct sk_buff *ipoib_rx_take(struct ipoib_dev *priv,
				     struct ipoib_rx_buf *buf, unsigned int len)
{
	struct ipoib_rx_buf old = *buf;
	unsigned int head_len = min_t(unsigned int, len, IPOIB_RX_HEAD);
	bool tail = len > head_len;
	struct sk_buff *skb;
	struct page *page;

	if (ipoib_rx_buf_alloc(priv, buf, tail))
		return NULL;

	skb = build_skb(old.head, ipoib_rx_head_size());
	if (!skb) {
		ipoib_rx_free_head(priv, &old);
		if (tail)
			ipoib_rx_free_tail(priv, &old);
		return NULL;
	}
	ib_dma_unmap_single(priv->hca, old.sge[0].addr, IPOIB_RX_HEAD,
			    DMA_FROM_DEVICE);
	skb_reserve(skb, IPOIB_RX_PAD);
	__skb_put(skb, head_len);

	if (!tail)
		return skb;

	ib_dma_unmap_single(priv->hca, old.sge[1].addr, priv->rx.tail_len,
			    DMA_FROM_DEVICE);
	page = virt_to_head_page(old.tail);
	skb_add_rx_frag(skb, 0, page, old.tail - page_address(page),
			len - head_len, priv->rx.tail_len);
	return skb;
}

/* The adapter gives our own multicast packets back to us. */
static bool ipoib_rx_is_own(struct ipoib_dev *priv, const struct ib_wc *wc,
			    const struct ib_grh *grh)
{
	const struct ipoib_tx_queue *q;

	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		if (wc->src_qp == q->qp->qp_num)
			return ipoib_gid_equal(&grh->sgid, &priv->gid);
	return false;
}

/*
 * Hands a packet to the stack, from the encapsulation header on: with its type, and with room in
 * front for a link-layer address. GRO of @napi may merge it with others, unless that is NULL.
 */
void ipoib_rx_up(struct ipoib_dev *priv, struct napi_struct *napi,
		 struct sk_buff *skb)
{
	const struct ipoib_hdr *hdr = (const struct ipoib_hdr *)skb->data;

	skb->protocol = hdr->proto;
	skb->dev = priv->dev;

	/* A link-layer header as long as those that we send, address zero. */
	skb_push(skb, IPOIB_PSEUDO_LEN);
	memset(skb->data, 0, IPOIB_PSEUDO_LEN);
	skb_reset_mac_header(skb);
	__skb_pull(skb, IPOIB_HARD_LEN);

	/* As monitoring knows it: what is sent counts with the header, this without. */
	dev_sw_netstats_rx_add(priv->dev, skb->len);
	if (napi)
		napi_gro_receive(napi, skb);
	else
		netif_receive_skb(skb);
}

/* Hands a packet that starts at its GRH to the stack. */
static void ipoib_rx_deliver(struct ipoib_dev *priv, const struct ib_wc *wc,
			     struct sk_buff *skb)
{
	const struct ib_grh *grh = (const struct ib_grh *)skb->data;

	skb->pkt_type = PACKET_HOST;
	if ((wc->wc_flags & IB_WC_GRH) && ipoib_gid_is_mcast(&grh->dgid)) {
		if (ipoib_rx_is_own(priv, wc, grh)) {
			ipoib_count(priv, IPOIB_RX_OWN_MULTICAST);
			dev_kfree_skb_any(skb);
			return;
		}
		if (ipoib_gid_is_bcast(priv, &grh->dgid)) {
			skb->pkt_type = PACKET_BROADCAST;
		} else {
			skb->pkt_type = PACKET_MULTICAST;
			DEV_STATS_INC(priv->dev, multicast);
		}
	}

	if ((priv->dev->features & NETIF_F_RXCSUM) &&
	    (wc->wc_flags & IB_WC_IP_CSUM_OK))
		skb->ip_summed = CHECKSUM_UNNECESSARY;

	__skb_pull(skb, IB_GRH_BYTES);
	ipoib_rx_up(priv, &priv->rx.napi, skb);
}

static void ipoib_rx_done(struct ipoib_dev *priv, const struct ib_wc *wc,
			  struct ipoib_rx_buf *buf)
{
	struct sk_buff *skb;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		ipoib_count(priv, IPOIB_RX_COMPLETION_ERROR);
		DEV_STATS_INC(priv->dev, rx_errors);
		if (net_ratelimit())
			netdev_warn(priv->dev, "receive failed: %s (vendor error %#x)\n",
				    ib_wc_status_msg(wc->status),
				    wc->vendor_err);
		/* A UD queue pair stops at a receive error. */
		ipoib_flush(priv, IPOIB_FLUSH_HEAVY);
		return;
	}

	if (unlikely(wc->byte_len < IB_GRH_BYTES + IPOIB_ENCAP_LEN ||
		     wc->byte_len > IPOIB_RX_HEAD + priv->rx.tail_len)) {
		ipoib_rx_drop(priv, IPOIB_RX_BAD_LENGTH);
		return;
	}

	ipoib_dbg_data(priv, "received %u bytes from LID %#x, QPN %#x\n",
		       wc->byte_len, wc->slid, wc->src_qp);
	if (wc->byte_len <= IB_GRH_BYTES + IPOIB_RX_COPYBREAK)
		skb = ipoib_rx_copy(priv, buf, wc->byte_len);
	else
		skb = ipoib_rx_take(priv, buf, wc->byte_len);
	if (likely(skb))
		ipoib_rx_deliver(priv, wc, skb);
	else
		ipoib_rx_drop(priv, IPOIB_RX_NO_MEMORY);
}

static int ipoib_rx_post(struct ipoib_dev *priv, struct ib_recv_wr *first,
			 unsigned int n)
{
	const struct ib_recv_wr *bad;
	int err;

	err = ib_post_recv(priv->qp, first, &bad);
	if (unlikely(err)) {
		for (; bad; bad = bad->next)
			n--;
		if (net_ratelimit())
			netdev_warn(priv->dev, "cannot post receive buffers: %d\n",
				    err);
	}
	priv->rx.posted += n;
	return err;
}

/* Handles one batch of completions. Returns how many there were. */
static int ipoib_rx_batch(struct ipoib_dev *priv, int max)
{
	struct ib_recv_wr *first = NULL, **next = &first;
	unsigned int again = 0;
	int i, n;

	n = ib_poll_cq(priv->rx.cq, min(max, IPOIB_RX_BATCH), priv->rx.wc);
	for (i = 0; i < n; i++) {
		const struct ib_wc *wc = &priv->rx.wc[i];
		struct ipoib_rx_buf *buf;

		if (WARN_ON_ONCE(wc->wr_id >= priv->rx.size))
			continue;

		priv->rx.posted--;
		if (unlikely(wc->status == IB_WC_WR_FLUSH_ERR))
			continue;

		buf = &priv->rx.ring[wc->wr_id];
		ipoib_rx_done(priv, wc, buf);
		*next = &buf->wr;
		next = &buf->wr.next;
		again++;
	}

	*next = NULL;
	if (first && unlikely(ipoib_rx_post(priv, first, again)))
		ipoib_flush(priv, IPOIB_FLUSH_HEAVY);
	return n;
}

void ipoib_recv_event(struct ib_cq *cq, void *context)
{
	struct ipoib_dev *priv = context;

	napi_schedule(&priv->rx.napi);
}

int ipoib_rx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_dev *priv = container_of(napi, struct ipoib_dev, rx.napi);
	int n, done = 0;

	while (done < budget) {
		n = ipoib_rx_batch(priv, budget - done);
		done += max(n, 0);
		if (n < IPOIB_RX_BATCH)
			break;
	}

	if (done < budget && napi_complete_done(napi, done) &&
	    ib_req_notify_cq(priv->rx.cq, IB_CQ_NEXT_COMP |
					    IB_CQ_REPORT_MISSED_EVENTS) > 0)
		napi_schedule(napi);

	return done;
}

/*
 * Gives every slot its buffers and posts them all. The queue pair is in INIT. After an error
 * ipoib_rx_free() undoes the part that was done.
 */
int ipoib_rx_fill(struct ipoib_dev *priv)
{
	struct ib_recv_wr *first = NULL;
	unsigned int i;

	for (i = priv->rx.size; i-- > 0; ) {
		struct ipoib_rx_buf *buf = &priv->rx.ring[i];

		if (ipoib_rx_buf_alloc(priv, buf, priv->rx.tail_len))
			return -ENOMEM;
		buf->wr.next = first;
		first = &buf->wr;
	}

	priv->rx.posted = 0;
	return ipoib_rx_post(priv, first, priv->rx.size);
}

/* Takes all completions there are and posts nothing. NAPI is disabled, or not yet enabled. */
void ipoib_rx_drain(struct ipoib_dev *priv)
{
	int n;

	do {
		n = ib_poll_cq(priv->rx.cq, IPOIB_RX_BATCH, priv->rx.wc);
		if (n > 0)
			priv->rx.posted -= min_t(unsigned int, n,
						 priv->rx.posted);
	} while (n > 0);
}

/* The queue pair is in RESET. */
void ipoib_rx_free(struct ipoib_dev *priv)
{
	unsigned int i;

	for (i = 0; i < priv->rx.size; i++)
		ipoib_rx_buf_free(priv, &priv->rx.ring[i]);
	priv->rx.posted = 0;
}

/* Allocates the ring, without buffers. rx.size, max_ib_mtu and pd are set. */
int ipoib_rx_init(struct ipoib_dev *priv)
{
	unsigned int i;

	/* Page fragments are never larger than a page when memory is short. */
	BUILD_BUG_ON(IPOIB_RX_PAD + IPOIB_RX_HEAD +
		     SKB_DATA_ALIGN(sizeof(struct skb_shared_info)) +
		     SMP_CACHE_BYTES > PAGE_SIZE);

	priv->rx.ring = kvcalloc(priv->rx.size, sizeof(*priv->rx.ring),
				 GFP_KERNEL);
	if (!priv->rx.ring)
		return -ENOMEM;

	priv->rx.tail_len = priv->max_ib_mtu > 2048 ?
			    priv->max_ib_mtu - 2048 : 0;

	for (i = 0; i < priv->rx.size; i++) {
		struct ipoib_rx_buf *buf = &priv->rx.ring[i];

		buf->sge[0].length = IPOIB_RX_HEAD;
		buf->sge[0].lkey = priv->pd->local_dma_lkey;
		buf->sge[1].length = priv->rx.tail_len;
		buf->sge[1].lkey = priv->pd->local_dma_lkey;
		buf->wr.wr_id = i;
		buf->wr.sg_list = buf->sge;
		buf->wr.num_sge = priv->rx.tail_len ? 2 : 1;
	}
	return 0;
}

/* The ring has no buffers. */
void ipoib_rx_cleanup(struct ipoib_dev *priv)
{
	kvfree(priv->rx.ring);
	priv->rx.ring = NULL;
}

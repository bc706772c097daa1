// SPDX-License-Identifier: GPL-2.0
/*
 * A packet's pieces, as the adapter reads them: mapped, and unmapped again.
 */
#include "ipoib.h"

/* How much of the linear part is mapped. */
static unsigned int ipoib_tx_head_len(const struct ipoib_tx_buf *buf)
{
	return skb_headlen(buf->skb) - buf->hlen;
}

/* Undoes the first @n mappings of a packet. The linear part, if any of it is mapped, is one. */
void ipoib_tx_unmap(struct ipoib_dev *priv, struct ipoib_tx_buf *buf,
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

/* Returns the number of pieces, or an errno. The keys in @sge are left alone. */
int ipoib_tx_map(struct ipoib_dev *priv, struct ipoib_tx_buf *buf,
		 struct ib_sge *sge)
{
	unsigned int i, f, n = 0, head = ipoib_tx_head_len(buf);
	struct sk_buff *skb = buf->skb;

	if (head) {
		buf->addr[0] = ib_dma_map_single(priv->hca,
						 skb->data + buf->hlen, head,
						 DMA_TO_DEVICE);
		if (ib_dma_mapping_error(priv->hca, buf->addr[0]))
			return -EIO;
		sge[n++].length = head;
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
		sge[n++].length = skb_frag_size(frag);
	}

	for (i = 0; i < n; i++)
		sge[i].addr = buf->addr[i];
	return n;
}

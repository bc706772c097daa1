/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transmit queues. What fills a ring is under the stack's lock of the queue; what empties it
 * belongs to NAPI, or may be changed while NAPI is disabled.
 */
#ifndef _IPOIB_TX_H
#define _IPOIB_TX_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <rdma/ib_verbs.h>

struct ipoib_ah;
struct ipoib_dest;
struct ipoib_dev;

#define IPOIB_TX_SGE		(MAX_SKB_FRAGS + 1)
#define IPOIB_TX_BATCH		16
#define IPOIB_MAX_TX_QUEUES	16

/**
 * struct ipoib_tx_buf - slot of a send ring
 * @skb:	the packet
 * @ah:		reference to its address handle
 * @hlen:	if the adapter cuts it into several, the length of what each of them
 *		begins with, which is not mapped; else 0
 * @addr:	where the packet's pieces are mapped
 */
struct ipoib_tx_buf {
	struct sk_buff *skb;
	struct ipoib_ah *ah;
	unsigned int hlen;
	u64 addr[IPOIB_TX_SGE];
};

/**
 * struct ipoib_tx_wr - a packet on its way to the adapter
 * @ud:		the work request
 * @sge:	the packet's pieces
 */
struct ipoib_tx_wr {
	struct ib_ud_wr ud;
	struct ib_sge sge[IPOIB_TX_SGE];
};

/**
 * struct ipoib_tx_queue - transmit queue of the stack, with a queue pair
 * @priv:	the interface
 * @index:	of the stack's queue, and in ipoib_dev.tx
 * @qp:		sends; that of the first queue is ipoib_dev.qp, and receives
 * @cq:		completions for @napi
 * @ring:	slots, ipoib_dev.tx_size; the transmit path's from @tail on, of
 *		@napi up to @head
 * @head:	filled so far; down to @batch all is written under the tx lock
 * @open:	takes packets
 * @broken:	the adapter refused some of what is in the ring
 * @batched:	packets of @batch that the adapter was not told of
 * @batch:	work requests to post in one go
 * @tail:	completed so far; down to @wc all is @napi's, or changed while that is disabled
 * @napi:	frees what was sent
 * @wc:		room for completions
 *
 * Where the stack has more to send at once, only the last packet of a batch
 * asks for a completion.
 */
struct ipoib_tx_queue {
	struct ipoib_dev *priv;
	unsigned int index;
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct ipoib_tx_buf *ring;

	unsigned int head;
	bool open;
	bool broken;
	unsigned int batched;
	struct ipoib_tx_wr batch[IPOIB_TX_BATCH];

	unsigned int tail ____cacheline_aligned_in_smp;
	struct napi_struct napi;
	struct ib_wc wc[IPOIB_TX_BATCH];
};

/**
 * struct ipoib_skb_cb - what a packet remembers of its link-layer address
 * @qpn:	the destination's QPN; its GID is the destination
 * @rc:		its owner can be connected with
 * @mtu:	of one that is too big: what it should have been
 */
struct ipoib_skb_cb {
	u32 qpn;
	bool rc;
	unsigned int mtu;
};

static inline struct ipoib_skb_cb *ipoib_skb_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct ipoib_skb_cb) > sizeof(skb->cb));
	return (struct ipoib_skb_cb *)skb->cb;
}

/* tx_map.c */
int ipoib_tx_map(struct ipoib_dev *priv, struct ipoib_tx_buf *buf,
		 struct ib_sge *sge);
void ipoib_tx_unmap(struct ipoib_dev *priv, struct ipoib_tx_buf *buf,
		    unsigned int n);

/* tx.c */
int ipoib_tx_init(struct ipoib_tx_queue *q);
void ipoib_tx_cleanup(struct ipoib_tx_queue *q);
void ipoib_xmit(struct ipoib_dev *priv, struct ipoib_tx_queue *q, struct sk_buff *skb);
netdev_tx_t ipoib_start_xmit(struct sk_buff *skb, struct net_device *dev);
netdev_features_t ipoib_features_check(struct sk_buff *skb,
				       struct net_device *dev,
				       netdev_features_t features);
void ipoib_send_queued(struct ipoib_dest *d, struct sk_buff *skb,
		       struct ipoib_ah *ah);
void ipoib_tx_publish(struct ipoib_dest *d, struct ipoib_ah *ah);
unsigned int ipoib_tx_reap_all(struct ipoib_tx_queue *q);
void ipoib_tx_free(struct ipoib_tx_queue *q);
void ipoib_tx_set_open(struct ipoib_dev *priv, bool open);
int ipoib_tx_poll(struct napi_struct *napi, int budget);
void ipoib_send_event(struct ib_cq *cq, void *context);
void ipoib_spread_tx(struct ipoib_dev *priv);

/* How many pieces a packet is in; @hlen bytes at its beginning do not count. */
static inline unsigned int ipoib_tx_pieces(const struct sk_buff *skb,
					   unsigned int hlen)
{
	return (skb_headlen(skb) > hlen ? 1 : 0) + skb_shinfo(skb)->nr_frags;
}

#endif /* _IPOIB_TX_H */

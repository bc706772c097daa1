// SPDX-License-Identifier: GPL-2.0
/*
 * Receive buffers of connected mode, of single pages, whatever they hold.
 *
 * A packet's headers are copied, and its other pages go up to the stack as they
 * are. Pages that went up are replaced behind the packets of a batch; where there
 * are none for softirq, a work waits for them. Meanwhile the connections do: the
 * adapter tells the sender that its receiver is not ready.
 */
#include <linux/gfp.h>

#include "compat.h"
#include "ipoib.h"

static void ipoib_rc_slot_unmap(struct ipoib_rc_ring *ring,
				struct ipoib_rc_slot *slot, unsigned int i)
{
	ib_dma_unmap_page(ring->priv->hca, slot->addr[i], PAGE_SIZE,
			  DMA_FROM_DEVICE);
	__clear_bit(i, &slot->mapped);
}

/* Gives the slot what it lacks. */
static bool ipoib_rc_slot_fill(struct ipoib_rc_ring *ring,
			       struct ipoib_rc_slot *slot, gfp_t gfp)
{
	struct ib_device *hca = ring->priv->hca;
	unsigned int i, n = 0, before;

	/* Nothing was taken where the packet was copied. */
	if (bitmap_full(&slot->mapped, ring->pages))
		return true;

	/* It may stop after one. */
	do {
		before = n;
		n = alloc_pages_bulk(gfp, ring->pages, slot->pages);
	} while (n < ring->pages && n > before);
	if (n < ring->pages)
		return false;

	for (i = 0; i < n; i++) {
		if (test_bit(i, &slot->mapped))
			continue;
		slot->addr[i] = ib_dma_map_page(hca, slot->pages[i], 0,
						PAGE_SIZE, DMA_FROM_DEVICE);
		if (ib_dma_mapping_error(hca, slot->addr[i]))
			return false;
		__set_bit(i, &slot->mapped);
	}
	return true;
}

static void ipoib_rc_slot_free(struct ipoib_rc_ring *ring,
			       struct ipoib_rc_slot *slot)
{
	unsigned int i;

	for (i = 0; i < ring->pages; i++) {
		if (test_bit(i, &slot->mapped))
			ipoib_rc_slot_unmap(ring, slot, i);
		if (slot->pages[i])
			__free_page(slot->pages[i]);
		slot->pages[i] = NULL;
	}
}

/* Called under the ring's lock. */
static int ipoib_rc_slot_post(struct ipoib_rc_ring *ring, unsigned int n)
{
	const struct ipoib_rc_slot *slot = &ring->slots[n];
	struct ib_recv_wr wr = {
		.wr_id = n | IPOIB_WR_RECV,
		.sg_list = ring->sge,
		.num_sge = ring->pages,
	};
	unsigned int i;
	int err;

	for (i = 0; i < ring->pages; i++)
		ring->sge[i].addr = slot->addr[i];
	if (ring->srq)
		err = ib_post_srq_recv(ring->srq, &wr, NULL);
	else
		err = ib_post_recv(ring->qp, &wr, NULL);
	if (!err)
		ring->posted++;
	return err;
}

/* An empty slot's number, which is the caller's to post or to put back; or -1. */
static int ipoib_rc_ring_get(struct ipoib_rc_ring *ring)
{
	int n = -1;

	if (!READ_ONCE(ring->idle_count))
		return n;
	spin_lock_bh(&ring->lock);
	if (ring->idle_count && !ring->dying)
		n = ring->idle[--ring->idle_count];
	spin_unlock_bh(&ring->lock);
	return n;
}

static int ipoib_rc_ring_put(struct ipoib_rc_ring *ring, unsigned int n,
			     bool filled)
{
	int err = filled ? 0 : -ENOMEM;

	spin_lock_bh(&ring->lock);
	if (ring->dying)
		err = -ESHUTDOWN;
	if (!err)
		err = ipoib_rc_slot_post(ring, n);
	if (err)
		ring->idle[ring->idle_count++] = n;
	spin_unlock_bh(&ring->lock);
	return err;
}

static int ipoib_rc_ring_fill_gfp(struct ipoib_rc_ring *ring, gfp_t gfp)
{
	int n, err = 0;

	while (!err && (n = ipoib_rc_ring_get(ring)) >= 0)
		err = ipoib_rc_ring_put(ring, n,
					ipoib_rc_slot_fill(ring, &ring->slots[n],
							   gfp));
	return err;
}

/* Posts all empty slots, or some before an error. The ring has its SRQ or queue pair. May sleep. */
int ipoib_rc_ring_fill(struct ipoib_rc_ring *ring)
{
	return ipoib_rc_ring_fill_gfp(ring, GFP_KERNEL);
}

/* ipoib_rc_ring_fill() in softirq: a work posts those for which there is no memory. */
void ipoib_rc_ring_refill(struct ipoib_rc_ring *ring)
{
	if (ipoib_rc_ring_fill_gfp(ring, GFP_ATOMIC | __GFP_NOWARN))
		queue_delayed_work(ipoib_wq, &ring->refill, 0);
}

static void ipoib_rc_ring_work(struct work_struct *work)
{
	struct ipoib_rc_ring *ring = container_of(to_delayed_work(work),
						  struct ipoib_rc_ring, refill);
	int err = ipoib_rc_ring_fill(ring);

	/* Without buffers nothing completes, and nothing else would try again. */
	if (err && err != -ESHUTDOWN) {
		ipoib_dbg(ring->priv, "no receive buffers: %d\n", err);
		queue_delayed_work(ipoib_wq, &ring->refill, HZ / 10);
	}
}

/* The adapter has given a slot back. Returns how many it still has. Softirqs are off. */
unsigned int ipoib_rc_ring_done(struct ipoib_rc_ring *ring, unsigned int slot)
{
	unsigned int posted;

	spin_lock(&ring->lock);
	posted = --ring->posted;
	ring->idle[ring->idle_count++] = slot;
	spin_unlock(&ring->lock);
	return posted;
}

/*
 * Makes a packet of what has arrived in slot @n, before ipoib_rc_ring_done(); NULL without memory.
 * Softirqs are off.
 */
struct sk_buff *ipoib_rc_ring_take(struct ipoib_rc_ring *ring, unsigned int n,
				   unsigned int len)
{
	struct ipoib_rc_slot *slot = &ring->slots[n];
	struct ib_device *hca = ring->priv->hca;
	unsigned int head, part, i;
	struct sk_buff *skb;

	head = len <= IPOIB_RC_COPYBREAK ? len : IPOIB_RC_HEAD;
	/* The IP header behind the encapsulation header is to be aligned. */
	skb = napi_alloc_skb(&ring->priv->cm.napi, 12 + head);
	if (!skb)
		return NULL;
	skb_reserve(skb, 12);

	ib_dma_sync_single_for_cpu(hca, slot->addr[0], head, DMA_FROM_DEVICE);
	skb_put_data(skb, page_address(slot->pages[0]), head);
	ib_dma_sync_single_for_device(hca, slot->addr[0], head,
				      DMA_FROM_DEVICE);

	for (i = 0, len -= head; len; i++, len -= part, head = 0) {
		part = min_t(unsigned int, len, PAGE_SIZE - head);
		ipoib_rc_slot_unmap(ring, slot, i);
		skb_add_rx_frag(skb, i, slot->pages[i], head, part, PAGE_SIZE);
		slot->pages[i] = NULL;
	}
	return skb;
}

/* Slots of a connection's own ring. */
unsigned int ipoib_rc_private(struct ipoib_dev *priv)
{
	return min_t(unsigned int, priv->rx.size, IPOIB_RC_PRIVATE);
}

/* The ring has no buffers yet. */
struct ipoib_rc_ring *ipoib_rc_ring_alloc(struct ipoib_dev *priv,
					  unsigned int size)
{
	struct ipoib_rc_ring *ring;
	unsigned int i;

	ring = kvzalloc(struct_size(ring, slots, size), GFP_KERNEL);
	if (!ring)
		return NULL;
	ring->idle = kvmalloc_array(size, sizeof(*ring->idle), GFP_KERNEL);
	if (!ring->idle) {
		kvfree(ring);
		return NULL;
	}

	ring->priv = priv;
	ring->size = size;
	ring->pages = priv->cm.pages;
	INIT_DELAYED_WORK(&ring->refill, ipoib_rc_ring_work);
	spin_lock_init(&ring->lock);
	for (i = 0; i < ring->pages; i++) {
		ring->sge[i].length = PAGE_SIZE;
		ring->sge[i].lkey = priv->pd->local_dma_lkey;
	}
	for (i = 0; i < size; i++)
		ring->idle[i] = i;
	ring->idle_count = size;
	return ring;
}

/* Posts no more. May sleep. */
void ipoib_rc_ring_stop(struct ipoib_rc_ring *ring)
{
	spin_lock_bh(&ring->lock);
	ring->dying = true;
	spin_unlock_bh(&ring->lock);
	cancel_delayed_work_sync(&ring->refill);
}

/* The ring is stopped, and its SRQ or queue pair is destroyed. */
void ipoib_rc_ring_free(struct ipoib_rc_ring *ring)
{
	unsigned int i;

	for (i = 0; i < ring->size; i++)
		ipoib_rc_slot_free(ring, &ring->slots[i]);
	kvfree(ring->idle);
	kvfree(ring);
}

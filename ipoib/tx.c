// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit: from the stack's packet to a UD send, and completions.
 *
 * The transmit path, under the stack's lock of the queue, and NAPI share no
 * lock: the one fills the ring's head, the other empties its tail.
 */
#include <linux/icmpv6.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ndisc.h>

#include "compat.h"
#include "ipoib.h"

static unsigned int ipoib_tx_pending(const struct ipoib_tx_queue *q)
{
	/* Pairs with the release in ipoib_tx_complete(). */
	return READ_ONCE(q->head) - smp_load_acquire(&q->tail);
}

static struct ipoib_tx_buf *ipoib_tx_slot(struct ipoib_tx_queue *q,
					  unsigned int n)
{
	return &q->ring[n & (q->priv->tx_size - 1)];
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

/* --- completions --------------------------------------------------------- */

static void ipoib_tx_error(struct ipoib_dev *priv, const struct ib_wc *wc)
{
	ipoib_count(priv, IPOIB_TX_COMPLETION_ERROR);
	DEV_STATS_INC(priv->dev, tx_errors);
	if (net_ratelimit())
		netdev_warn(priv->dev, "send failed: %s (vendor error %#x)\n",
			    ib_wc_status_msg(wc->status), wc->vendor_err);
	/* The send queue stands still now. */
	ipoib_flush(priv, IPOIB_FLUSH_HEAVY);
}

/* What NAPI sums up before it tells the stack. */
struct ipoib_tx_sum {
	unsigned int packets;	/* of the stack */
	unsigned int bytes;
	unsigned int sent;	/* on the wire */
	unsigned int sent_bytes;
};

/* Frees one slot. @wc is NULL if the packet was sent. */
static void ipoib_tx_done(struct ipoib_tx_queue *q, struct ipoib_tx_buf *buf,
			  const struct ib_wc *wc, struct ipoib_tx_sum *sum,
			  int budget)
{
	unsigned int bytes = ipoib_tx_bytes(buf);

	ipoib_tx_unmap(q->priv, buf, ipoib_tx_pieces(buf->skb, buf->hlen));

	sum->packets++;
	sum->bytes += bytes;
	if (likely(!wc)) {
		sum->sent += ipoib_tx_segments(buf);
		sum->sent_bytes += bytes;
	} else if (wc->status == IB_WC_WR_FLUSH_ERR) {
		ipoib_tx_drop(q->priv, IPOIB_TX_LINK_DOWN);
	} else {
		ipoib_tx_error(q->priv, wc);
	}

	napi_consume_skb(buf->skb, budget);
	ipoib_ah_put(buf->ah);
	buf->skb = NULL;
}

/*
 * A completion is that of its packet, and a send queue completes in order: all
 * before it that asked for none were sent. What came before a reset is unknown.
 */
static void ipoib_tx_complete(struct ipoib_tx_queue *q, const struct ib_wc *wc,
			      struct ipoib_tx_sum *sum, int budget)
{
	unsigned int last = wc->wr_id, tail = q->tail;

	if (unlikely(last - tail >= ipoib_tx_pending(q)))
		return;

	for (; tail != last; tail++)
		ipoib_tx_done(q, ipoib_tx_slot(q, tail), NULL, sum, budget);
	ipoib_tx_done(q, ipoib_tx_slot(q, last),
		      likely(wc->status == IB_WC_SUCCESS) ? NULL : wc, sum,
		      budget);
	/* The slots are the transmit path's from here on. */
	smp_store_release(&q->tail, last + 1);
}

/* Takes up to @budget completions. */
static int ipoib_tx_reap(struct ipoib_tx_queue *q, int budget, int napi_budget)
{
	struct netdev_queue *txq = ipoib_txq(q);
	struct ipoib_tx_sum sum = {};
	int i, n, done = 0;

	while (done < budget) {
		n = ib_poll_cq(q->cq, min(budget - done, IPOIB_TX_BATCH),
			       q->wc);
		for (i = 0; i < n; i++)
			ipoib_tx_complete(q, &q->wc[i], &sum, napi_budget);
		done += max(n, 0);
		if (n < IPOIB_TX_BATCH)
			break;
	}

	if (sum.sent)
		dev_sw_netstats_tx_add(q->priv->dev, sum.sent, sum.sent_bytes);
	netdev_tx_completed_queue(txq, sum.packets, sum.bytes);

	/* Either this sees the queue stopped or its stopper sees the new tail. */
	smp_mb();
	if (unlikely(netif_tx_queue_stopped(txq)) && READ_ONCE(q->open) &&
	    ipoib_tx_pending(q) <= q->priv->tx_size / 2)
		netif_tx_wake_queue(txq);
	return done;
}

void ipoib_send_event(struct ib_cq *cq, void *context)
{
	struct ipoib_tx_queue *q = context;

	napi_schedule(&q->napi);
}

int ipoib_tx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_tx_queue *q = container_of(napi, struct ipoib_tx_queue,
						napi);
	int done = ipoib_tx_reap(q, budget, budget);

	if (done < budget && napi_complete_done(napi, done) &&
	    ib_req_notify_cq(q->cq, IB_CQ_NEXT_COMP |
				    IB_CQ_REPORT_MISSED_EVENTS) > 0)
		napi_schedule(napi);
	return done;
}

/*
 * Takes all completions there are. Returns how many packets are still to complete: none, if the
 * adapter refused some and may never tell of the others. NAPI is disabled.
 */
unsigned int ipoib_tx_reap_all(struct ipoib_tx_queue *q)
{
	local_bh_disable();
	ipoib_tx_reap(q, INT_MAX, 0);
	local_bh_enable();
	return q->broken ? 0 : ipoib_tx_pending(q);
}

/* Drops what the adapter never completed. The queue pair is in RESET, and NAPI is disabled. */
void ipoib_tx_free(struct ipoib_tx_queue *q)
{
	const struct ib_wc flushed = { .status = IB_WC_WR_FLUSH_ERR };
	struct ipoib_tx_sum sum = {};

	__netif_tx_lock_bh(ipoib_txq(q));
	for (; q->tail != q->head; q->tail++)
		ipoib_tx_done(q, ipoib_tx_slot(q, q->tail), &flushed, &sum, 0);
	q->broken = false;
	netdev_tx_reset_queue(ipoib_txq(q));
	__netif_tx_unlock_bh(ipoib_txq(q));
}

/* --- sending ------------------------------------------------------------- */

/* Tells the adapter of the batch. Called under the tx lock. */
static void ipoib_tx_post(struct ipoib_tx_queue *q)
{
	const struct ib_send_wr *bad;
	struct ib_send_wr *last;
	int err;

	if (!q->batched)
		return;

	last = &q->batch[q->batched - 1].ud.wr;
	last->next = NULL;
	last->send_flags |= IB_SEND_SIGNALED;
	q->batched = 0;
	err = ib_post_send(q->qp, &q->batch[0].ud.wr, &bad);
	if (likely(!err))
		return;

	/*
	 * What the adapter did accept may never tell that it was sent. All of
	 * it stays in the ring until the queue pair starts anew, which need
	 * not wait for it.
	 */
	if (net_ratelimit())
		netdev_warn(q->priv->dev, "cannot post sends: %d\n", err);
	ipoib_count(q->priv, IPOIB_TX_POST_FAILED);
	q->broken = true;
	WRITE_ONCE(q->open, false);
	ipoib_flush(q->priv, IPOIB_FLUSH_HEAVY);
}

static int ipoib_tx_batch(struct ipoib_tx_queue *q, struct ipoib_tx_buf *buf)
{
	struct ipoib_tx_wr *wr = &q->batch[q->batched];
	struct ib_ud_wr *ud = &wr->ud;
	int n;

	n = ipoib_tx_map(q->priv, buf, wr->sge);
	if (n < 0)
		return n;

	ud->wr.wr_id = q->head;
	ud->wr.num_sge = n;
	ud->wr.opcode = IB_WR_SEND;
	ud->wr.send_flags = 0;
	if (buf->skb->ip_summed == CHECKSUM_PARTIAL)
		ud->wr.send_flags |= IB_SEND_IP_CSUM;
	if (buf->hlen) {
		/* Read until the send is complete; so long lives the packet. */
		ud->wr.opcode = IB_WR_LSO;
		ud->header = buf->skb->data;
		ud->hlen = buf->hlen;
		ud->mss = skb_shinfo(buf->skb)->gso_size;
	}
	ud->ah = buf->ah->ah;
	ud->remote_qpn = ipoib_skb_cb(buf->skb)->qpn;
	ud->remote_qkey = READ_ONCE(q->priv->link.qkey);

	if (q->batched)
		q->batch[q->batched - 1].ud.wr.next = &ud->wr;
	q->batched++;
	return 0;
}

/*
 * Is it what an adapter can cut, TCP behind @hlen bytes of an IPv4 header that is whole?
 * Packets of programs and of other machines may only say so.
 */
static bool ipoib_tx_is_tcp(const struct sk_buff *skb, unsigned int hlen)
{
	const struct ipoib_hdr *hdr = (const void *)skb->data;
	const struct iphdr *ip = (const void *)(hdr + 1);

	return hdr->proto == htons(ETH_P_IP) && hlen >= IPOIB_ENCAP_LEN + sizeof(*ip) &&
	       hlen == IPOIB_ENCAP_LEN + ip->ihl * 4 && ip->version == 4 &&
	       ip->protocol == IPPROTO_TCP && !ip_is_fragment(ip);
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
	if (unlikely(!pskb_may_pull(skb, hlen + sizeof(struct tcphdr)) ||
		     !ipoib_tx_is_tcp(skb, hlen)))
		return -EINVAL;
	hlen += tcp_hdrlen(skb);
	if (unlikely(!pskb_may_pull(skb, hlen) || skb->len == hlen))
		return -EINVAL;
	return hlen;
}

/* A large packet in more pieces than the adapter takes had better be cut than copied. */
netdev_features_t ipoib_features_check(struct sk_buff *skb,
				       struct net_device *dev,
				       netdev_features_t features)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	if (skb_is_gso(skb) && ipoib_tx_pieces(skb, 0) > priv->max_send_sge)
		features &= ~NETIF_F_GSO_MASK;
	return features;
}

/* Called when a packet has filled the ring. */
static void ipoib_tx_stop(struct ipoib_tx_queue *q)
{
	netif_tx_stop_queue(ipoib_txq(q));
	/* Pairs with the barrier in ipoib_tx_reap(). */
	smp_mb();
	/* Another CPU may have found it stopped, and left its packets in the qdisc. */
	if (ipoib_tx_pending(q) < q->priv->tx_size)
		netif_tx_wake_queue(ipoib_txq(q));
}

/*
 * Sends one packet, or drops and counts it. The adapter is told of it by
 * ipoib_tx_post(). Called under the tx lock, with RCU.
 */
static void ipoib_send(struct ipoib_tx_queue *q, struct sk_buff *skb,
		       struct ipoib_ah *ah)
{
	struct ipoib_tx_buf *buf = ipoib_tx_slot(q, q->head);
	struct ipoib_dev *priv = q->priv;
	enum ipoib_counter why;
	unsigned int longest, mtu;
	int hlen;

	why = IPOIB_TX_BAD_FRAME;
	hlen = ipoib_tx_hlen(skb);
	if (unlikely(hlen < 0))
		goto drop;

	longest = hlen ? hlen + skb_shinfo(skb)->gso_size : skb->len;
	mtu = READ_ONCE(priv->link.mcast_mtu);
	if (unlikely(longest > mtu + IPOIB_ENCAP_LEN)) {
		ipoib_too_big(priv, skb, mtu);
		return;
	}

	why = IPOIB_TX_RING_FULL;
	if (unlikely(ipoib_tx_pending(q) == priv->tx_size))
		goto drop;

	why = IPOIB_TX_NO_MEMORY;
	if (unlikely(ipoib_tx_pieces(skb, hlen) > priv->max_send_sge) &&
	    skb_linearize(skb))
		goto drop;

	/* The destination may have gone since the caller looked. */
	why = IPOIB_TX_UNREACHABLE;
	if (unlikely(!refcount_inc_not_zero(&ah->refs)))
		goto drop;

	ipoib_dbg_data(priv, "sending %u bytes to QPN %#x\n", skb->len,
		       ipoib_skb_cb(skb)->qpn);
	buf->skb = skb;
	buf->ah = ah;
	buf->hlen = hlen;

	if (unlikely(ipoib_tx_batch(q, buf))) {
		buf->skb = NULL;
		ipoib_ah_put(ah);
		why = IPOIB_TX_NO_MEMORY;
		goto drop;
	}

	skb_tx_timestamp(skb);
	/* The limit of bytes in the ring holds behind a batch, not in it. */
	__netdev_tx_sent_queue(ipoib_txq(q), ipoib_tx_bytes(buf),
			       netdev_xmit_more());
	txq_trans_cond_update(ipoib_txq(q));
	WRITE_ONCE(q->head, q->head + 1);
	if (ipoib_tx_pending(q) == priv->tx_size)
		ipoib_tx_stop(q);
	if (q->batched == IPOIB_TX_BATCH)
		ipoib_tx_post(q);
	return;

drop:
	ipoib_tx_drop(priv, why);
	dev_kfree_skb_any(skb);
}

/* Sends it by a connection, if there is to be one, else by UD. */
static void ipoib_deliver(struct ipoib_tx_queue *q, struct ipoib_dest *d,
			  struct sk_buff *skb, struct ipoib_ah *ah)
{
	if (!ipoib_skb_cb(skb)->rc || !ipoib_conn_send(d, skb))
		ipoib_send(q, skb, ah);
}

/*
 * Sends a packet that has waited, from the encapsulation header on. It takes the queue that the
 * stack had chosen, as others of its flow do. Consumes @skb. Called under RCU.
 */
void ipoib_send_queued(struct ipoib_dest *d, struct sk_buff *skb,
		       struct ipoib_ah *ah)
{
	struct ipoib_tx_queue *q = &d->priv->tx[skb_get_queue_mapping(skb)];

	__netif_tx_lock_bh(ipoib_txq(q));
	ipoib_deliver(q, d, skb, ah);
	ipoib_tx_post(q);
	__netif_tx_unlock_bh(ipoib_txq(q));
	/*
	 * The limit of bytes may have stopped the queue for a moment. A CPU that has
	 * looked at it just then, which the lock does not keep from it, has left its
	 * packets in the qdisc, and no completion may come that has them sent.
	 */
	netif_schedule_queue(ipoib_txq(q));
}

/*
 * Lets packets flow, first those that waited. What comes while those are sent has to wait behind
 * them, but for IPOIB_DEST_ROUNDS only. The reference to @ah is the destination's from now on.
 */
void ipoib_tx_publish(struct ipoib_dest *d, struct ipoib_ah *ah)
{
	struct sk_buff_head waiting;
	struct sk_buff *skb;
	int rounds = 0;
	bool set;

	__skb_queue_head_init(&waiting);
	/* Once it is known, another CPU may put the last reference. */
	rcu_read_lock();
	do {
		set = ipoib_dest_set_ah(d, ah, &waiting,
					++rounds == IPOIB_DEST_ROUNDS);
		while ((skb = __skb_dequeue(&waiting))) {
			atomic_dec(&d->priv->dests.queued);
			d->priv->ud->send_queued(d, skb, ah);
		}
	} while (!set);
	rcu_read_unlock();
}

/*
 * A group of this link's. Neighbours choose the address that they are answered to: they
 * must not make this one a member of groups of other protocols. ARP goes to the
 * broadcast group, whatever its scope, and to no other.
 */
static bool ipoib_group_is_ours(struct ipoib_dev *priv, const union ib_gid *gid,
				__be16 proto)
{
	u16 signature = get_unaligned_be16(&gid->raw[2]);

	if (proto == htons(ETH_P_ARP) || proto == htons(ETH_P_RARP))
		return !memcmp(&gid->raw[2], priv->broadcast + 6, 14);
	return (gid->raw[1] & 0xf0) == 0x10 &&
	       (signature == IPOIB_SIGNATURE_IPV4 ||
		signature == IPOIB_SIGNATURE_IPV6);
}

/*
 * Address resolution goes by UD in connected mode, too: a neighbour can be found though
 * no connection with it can be made, and a request for an address does not make this
 * interface open a connection.
 */
static bool ipoib_is_resolution(const struct sk_buff *skb, __be16 proto)
{
	const struct {
		struct ipv6hdr ip;
		struct icmp6hdr icmp;
	} *nd;
	u8 buf[sizeof(*nd)];

	if (proto == htons(ETH_P_ARP) || proto == htons(ETH_P_RARP))
		return true;
	if (proto != htons(ETH_P_IPV6))
		return false;
	nd = skb_header_pointer(skb, IPOIB_ENCAP_LEN, sizeof(*nd), buf);
	return nd && nd->ip.nexthdr == IPPROTO_ICMPV6 &&
	       (nd->icmp.icmp6_type == NDISC_NEIGHBOUR_SOLICITATION ||
		nd->icmp.icmp6_type == NDISC_NEIGHBOUR_ADVERTISEMENT);
}

/*
 * Takes the link-layer address off the packet. Packet sockets may send what
 * they like.
 */
static bool ipoib_pull_address(struct ipoib_dev *priv, struct sk_buff *skb,
			       union ib_gid *gid)
{
	struct ipoib_skb_cb *cb = ipoib_skb_cb(skb);
	__be16 proto;

	if (unlikely(!pskb_may_pull(skb, IPOIB_HARD_LEN)))
		return false;

	cb->qpn = get_unaligned_be32(skb->data) & IPOIB_QPN_MASK;
	cb->rc = READ_ONCE(priv->connected) && skb->data[0] & IPOIB_FLAG_RC;
	memcpy(gid->raw, skb->data + 4, sizeof(gid->raw));
	__skb_pull(skb, IPOIB_PSEUDO_LEN);
	proto = ((struct ipoib_hdr *)skb->data)->proto;

	if (ipoib_gid_is_mcast(gid)) {
		/* Where the address was made before the P_Key changed. */
		put_unaligned_be16(priv->pkey, &gid->raw[4]);
		cb->qpn = IPOIB_MCAST_QPN;
		cb->rc = false;
		return ipoib_group_is_ours(priv, gid, proto);
	}
	if (cb->rc && ipoib_is_resolution(skb, proto))
		cb->rc = false;
	return cb->qpn && cb->qpn != IPOIB_MCAST_QPN;
}

/*
 * Sends a packet of ipoib_start_xmit(), or lets it wait for its destination; consumes it. @q is
 * NULL if the adapter's driver sends. Called under the tx lock.
 */
void ipoib_xmit(struct ipoib_dev *priv, struct ipoib_tx_queue *q, struct sk_buff *skb)
{
	unsigned long now = jiffies;
	struct ipoib_ah *ah = NULL;
	enum ipoib_counter why;
	struct ipoib_dest *d;
	union ib_gid gid;

	why = IPOIB_TX_LINK_DOWN;
	if (unlikely(!(q ? q->open : READ_ONCE(priv->link.up))))
		goto drop;
	why = IPOIB_TX_BAD_FRAME;
	if (unlikely(!ipoib_pull_address(priv, skb, &gid)))
		goto drop;

	rcu_read_lock();
	d = ipoib_dest_find(priv, &gid);
	if (likely(d)) {
		if (READ_ONCE(d->last_used) != now)
			WRITE_ONCE(d->last_used, now);
		ah = rcu_dereference(d->ah);
	}
	if (unlikely(!ah))
		ah = ipoib_dest_queue(priv, &gid, skb, &d);
	if (likely(ah && q))
		ipoib_deliver(q, d, skb, ah);
	else if (ah)
		priv->ud->send(priv, skb, ah);
	rcu_read_unlock();
	return;

drop:
	ipoib_tx_drop(priv, why);
	dev_kfree_skb_any(skb);
}

/* In front of the encapsulation header is the link-layer address, from ipoib_header_create(). */
netdev_tx_t ipoib_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct ipoib_tx_queue *q = &priv->tx[skb_get_queue_mapping(skb)];

	if (unlikely(ipoib_tx_pending(q) == priv->tx_size)) {
		ipoib_tx_stop(q);
		return NETDEV_TX_BUSY;
	}

	ipoib_xmit(priv, q, skb);
	/* The queue may be stopped before the last packet of a batch. */
	if (!netdev_xmit_more() || netif_tx_queue_stopped(ipoib_txq(q)))
		ipoib_tx_post(q);
	return NETDEV_TX_OK;
}

static void ipoib_tx_set_one_open(struct ipoib_tx_queue *q, bool open)
{
	struct netdev_queue *txq = ipoib_txq(q);

	__netif_tx_lock_bh(txq);
	WRITE_ONCE(q->open, open);
	if (open)
		netif_tx_wake_queue(txq);
	else
		netif_tx_stop_queue(txq);
	__netif_tx_unlock_bh(txq);
}

void ipoib_tx_set_open(struct ipoib_dev *priv, bool open)
{
	struct ipoib_tx_queue *q;

	for (q = priv->tx; q < ipoib_tx_end(priv); q++)
		ipoib_tx_set_one_open(q, open);
}

/* Gives each CPU one of the transmit queues in use. */
void ipoib_spread_tx(struct ipoib_dev *priv)
{
	unsigned int i, n = priv->dev->real_num_tx_queues;
	cpumask_var_t mask;
	int cpu;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return;

	for (i = 0; i < n; i++) {
		cpumask_clear(mask);
		for_each_possible_cpu(cpu)
			if (cpu % n == i)
				cpumask_set_cpu(cpu, mask);
		/* Without it the stack chooses by the flow. */
		if (netif_set_xps_queue(priv->dev, mask, i))
			break;
	}
	free_cpumask_var(mask);
}

/* q->priv is set, and has its PD. */
int ipoib_tx_init(struct ipoib_tx_queue *q)
{
	unsigned int i, n;

	q->ring = kvcalloc(q->priv->tx_size, sizeof(*q->ring), GFP_KERNEL);
	if (!q->ring)
		return -ENOMEM;

	for (n = 0; n < IPOIB_TX_BATCH; n++) {
		q->batch[n].ud.wr.sg_list = q->batch[n].sge;
		for (i = 0; i < IPOIB_TX_SGE; i++)
			q->batch[n].sge[i].lkey = q->priv->pd->local_dma_lkey;
	}
	return 0;
}

/* The ring is empty. */
void ipoib_tx_cleanup(struct ipoib_tx_queue *q)
{
	kvfree(q->ring);
	q->ring = NULL;
}

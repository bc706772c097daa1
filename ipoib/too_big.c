// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that are larger than what their way takes: a connection, or the link.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <net/icmp.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "ipoib.h"

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

/*
 * Drops a packet, from the encapsulation header on, and tells its sender how large an IP packet may
 * be. The message may have to leave by this interface, whose tx lock the caller may hold; so a work
 * sends it.
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

void ipoib_too_big_init(struct ipoib_dev *priv)
{
	skb_queue_head_init(&priv->cm.too_big);
	INIT_WORK(&priv->cm.too_big_work, ipoib_too_big_work);
}

/* Forgets the messages that were not sent. The interface is down. */
void ipoib_too_big_uninit(struct ipoib_dev *priv)
{
	cancel_work_sync(&priv->cm.too_big_work);
	skb_queue_purge(&priv->cm.too_big);
}

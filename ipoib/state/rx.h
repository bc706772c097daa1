/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receiving datagrams. No lock: all but the sizes, and the moderation of interrupts, is changed by
 * NAPI, or while NAPI is disabled.
 */
#ifndef _IPOIB_RX_H
#define _IPOIB_RX_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

struct ipoib_dev;

/* Receive: the head of a packet is linear, the rest of a 4K one is not. */
#define IPOIB_RX_PAD		(NET_SKB_PAD + 4)
#define IPOIB_RX_HEAD		(IB_GRH_BYTES + 2048)
#define IPOIB_RX_COPYBREAK	256
#define IPOIB_RX_SGE		2
#define IPOIB_RX_BATCH		16

/**
 * struct ipoib_rx_buf - slot of the receive ring
 * @head:	fragment for GRH, headers and up to 2 KiB of payload
 * @tail:	fragment for the rest where the port's MTU is 4096, else NULL
 * @sge:	the same two for the adapter
 * @wr:		work request that posts this slot
 *
 * A slot always holds its fragments while the interface is up: what is handed
 * to the stack is replaced first.
 */
struct ipoib_rx_buf {
	void *head;
	void *tail;
	struct ib_sge sge[IPOIB_RX_SGE];
	struct ib_recv_wr wr;
};

/**
 * struct ipoib_rx - an interface's receive queue
 * @cq:		completions for @napi
 * @ring:	slots
 * @size:	how many, a power of two; written under rtnl and ipoib_link.ctl, while the
 *		interface is down
 * @posted:	posted so far
 * @tail_len:	bytes behind the head, 0 or 2048
 * @napi:	hands packets to the stack
 * @wc:		room for completions
 * @usecs:	how long the event of a CQ that receives may wait; under rtnl, and written
 *		under ipoib_cm.setup, too, or while the interface is down
 * @frames:	how many packets it may wait for; the same
 */
struct ipoib_rx {
	struct ib_cq *cq;
	struct ipoib_rx_buf *ring;
	unsigned int size;
	unsigned int posted;
	unsigned int tail_len;
	struct napi_struct napi;
	struct ib_wc wc[IPOIB_RX_BATCH];
	u16 usecs;
	u16 frames;
};

int ipoib_rx_init(struct ipoib_dev *priv);
void ipoib_rx_cleanup(struct ipoib_dev *priv);
int ipoib_rx_fill(struct ipoib_dev *priv);
void ipoib_rx_drain(struct ipoib_dev *priv);
void ipoib_rx_free(struct ipoib_dev *priv);
int ipoib_rx_poll(struct napi_struct *napi, int budget);
void ipoib_recv_event(struct ib_cq *cq, void *context);
void ipoib_rx_up(struct ipoib_dev *priv, struct napi_struct *napi,
		 struct sk_buff *skb);

#endif /* _IPOIB_RX_H */

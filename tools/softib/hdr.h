/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets as the IBA lays them out: LRH (7.7), GRH (8.3), BTH and extended
 * transport headers (9.2, 9.3), payload, pad, ICRC and VCRC. The two CRCs are
 * there but zero: a link within a kernel corrupts nothing by itself. crc.c computes
 * the VCRC of packets that leave the kernel, or that a fault befalls.
 */
#ifndef _SOFTIB_HDR_H
#define _SOFTIB_HDR_H

#include <linux/skbuff.h>
#include <rdma/ib_hdrs.h>
#include <rdma/ib_pack.h>
#include <rdma/rdmavt_mr.h>

struct softib_hca;

#define SOFTIB_ICRC_BYTES	4
#define SOFTIB_VCRC_BYTES	2
#define SOFTIB_MAX_MTU		4096
#define SOFTIB_MAX_HEADERS	124	/* around a payload of the MTU, IBA 7.7.8 */
#define SOFTIB_MIN_PACKET	(IB_LRH_BYTES + IB_BTH_BYTES + \
				 SOFTIB_ICRC_BYTES + SOFTIB_VCRC_BYTES)
#define SOFTIB_MAX_PACKET	(SOFTIB_MIN_PACKET + IB_GRH_BYTES + \
				 sizeof(union ib_ehdrs) + SOFTIB_MAX_MTU)
#define SOFTIB_MULTICAST_QPN	0xffffff
#define SOFTIB_VL_SMP		15

/* The two high bits of an AETH's syndrome that say what it is (9.7.5.2.1) */
enum {
	SOFTIB_AETH_ACK = 0,
	SOFTIB_AETH_RNR = 1,
	SOFTIB_AETH_NAK = 3,
};

/* The part of a 24 bit PSN or QPN that a BTH holds */
#define SOFTIB_PSN_MASK		0xffffff

/**
 * struct softib_cb - what travels with a packet in skb->cb
 * @origin:	HCA that is charged for the packet until it is freed
 * @captured:	the packet has been offered to captures
 * @sealed:	it has a VCRC, which is to be checked where it arrives
 * @hops:	switches that it has come to
 */
struct softib_cb {
	struct softib_hca *origin;
	bool captured;
	bool sealed;
	u8 hops;
};

static inline struct softib_cb *softib_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct softib_cb) > sizeof(skb->cb));
	return (struct softib_cb *)skb->cb;
}

/**
 * struct softib_pkt - a packet that passed softib_pkt_parse()
 * @lrh:	the four halfwords of the LRH
 * @grh:	the GRH, or NULL
 * @bth:	the BTH and what follows it
 * @payload:	first byte of the payload
 * @len:	length of the payload, without pad
 * @psn:	BTH PSN
 * @qpn:	BTH destination QP
 * @slid:	source LID
 * @dlid:	destination LID
 * @opcode:	BTH opcode
 * @sl:		service level
 */
struct softib_pkt {
	const __be16 *lrh;
	const struct ib_grh *grh;
	struct ib_other_headers *bth;
	void *payload;
	u32 len;
	u32 psn;
	u32 qpn;
	u16 slid;
	u16 dlid;
	u8 opcode;
	u8 sl;
};

/**
 * struct softib_hdrs - what a packet to be built says in its headers
 * @ah:		where to and how; read only while the packet is built
 * @slid:	source LID
 * @pkey:	BTH P_Key
 * @vl:		virtual lane
 * @opcode:	BTH opcode
 * @flags:	BTH solicited event and MigReq bits, IB_BTH_*
 * @qpn:	destination QP, with nothing above bit 23
 * @psn:	PSN and, if an acknowledgment is asked for, IB_BTH_REQ_ACK
 * @eth:	extended transport headers; how many bytes of it there are
 *		follows from @opcode
 * @head:	what the payload begins with, before what comes from memory
 * @head_len:	length of that, or 0
 */
struct softib_hdrs {
	const struct rdma_ah_attr *ah;
	u16 slid;
	u16 pkey;
	u8 vl;
	u8 opcode;
	u32 flags;
	u32 qpn;
	u32 psn;
	union ib_ehdrs eth;
	const void *head;
	u32 head_len;
};

/* The fields that a switch needs, of a packet of at least an LRH */
static inline const __be16 *softib_lrh(const struct sk_buff *skb)
{
	return (const __be16 *)skb->data;
}

static inline u8 softib_vl(const struct sk_buff *skb)
{
	return be16_to_cpu(softib_lrh(skb)[0]) >> 12;
}

static inline u16 softib_dlid(const struct sk_buff *skb)
{
	return be16_to_cpu(softib_lrh(skb)[1]);
}

/* Length of a packet in words, from the LRH to the ICRC */
static inline u32 softib_words(const struct sk_buff *skb)
{
	return be16_to_cpu(softib_lrh(skb)[2]) & 0x7ff;
}

static inline bool softib_lid_is_mcast(u16 lid)
{
	return lid >= be16_to_cpu(IB_MULTICAST_LID_BASE) &&
	       lid != be16_to_cpu(IB_LID_PERMISSIVE);
}

int softib_eth_len(u8 opcode);
bool softib_pkt_parse(struct sk_buff *skb, struct softib_pkt *pkt);
void softib_pkt_reverse(struct sk_buff *skb, struct softib_pkt *pkt);

/* crc.c */
void softib_vcrc_init(void);
void softib_vcrc_put(void *packet, unsigned int len);
bool softib_vcrc_ok(const struct sk_buff *skb);

#endif /* _SOFTIB_HDR_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The variant CRC (IBA 7.8.2)
 *
 * On a link within this kernel nothing changes a packet unless it is told to,
 * so there the CRC is computed only of packets that something befalls.
 */
#include "softib.h"

#define POLY	0xd008	/* 0x100b, least significant bit first */

static u16 table[256] __ro_after_init;

/* Of all bytes before it */
static u16 vcrc(const u8 *p, unsigned int len)
{
	const u8 *end = p + len - SOFTIB_VCRC_BYTES;
	u16 crc = 0xffff;

	while (p < end)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

/* @len: with the VCRC. */
void softib_vcrc_put(void *packet, unsigned int len)
{
	put_unaligned_le16(vcrc(packet, len),
			   packet + len - SOFTIB_VCRC_BYTES);
}

/* The packet is linear. */
bool softib_vcrc_ok(const struct sk_buff *skb)
{
	return get_unaligned_le16(skb->data + skb->len - SOFTIB_VCRC_BYTES) ==
	       vcrc(skb->data, skb->len);
}

/* Before any packet is there. */
void __init softib_vcrc_init(void)
{
	unsigned int i, bit;
	u16 crc;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLY : crc >> 1;
		table[i] = crc;
	}
}

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
static u16 vcrc(const struct sk_buff *skb)
{
	const u8 *p = skb->data, *end = p + skb->len - SOFTIB_VCRC_BYTES;
	u16 crc = 0xffff;

	while (p < end)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

/**
 * softib_vcrc_put - complete a packet by its VCRC
 * @skb:	the packet, linear and writable
 */
void softib_vcrc_put(struct sk_buff *skb)
{
	put_unaligned_le16(vcrc(skb), skb_tail_pointer(skb) -
				      SOFTIB_VCRC_BYTES);
}

/**
 * softib_vcrc_ok - check a packet's VCRC
 * @skb:	the packet, linear
 *
 * Return: true if it is right.
 */
bool softib_vcrc_ok(const struct sk_buff *skb)
{
	return get_unaligned_le16(skb_tail_pointer(skb) -
				  SOFTIB_VCRC_BYTES) == vcrc(skb);
}

/**
 * softib_vcrc_init - fill the table; before any packet is there
 */
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

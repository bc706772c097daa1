// SPDX-License-Identifier: GPL-2.0
/*
 * The attributes that only a switch has: SwitchInfo and the forwarding tables
 * (IBA 14.2.5.4, 14.2.5.10, 14.2.5.12). All are called with softib_mgmt_lock
 * held, and return a MAD status.
 */
#include "softib.h"

#define LFT_BLOCK	64	/* ports in an attribute */
#define MFT_BLOCK	32	/* port masks in an attribute */

#define BAD_FIELD	IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE

u16 softib_get_switch_info(struct softib_switch *sw, struct ib_smp *smp)
{
	if (smp->attr_mod)
		return BAD_FIELD;
	memcpy(smp->data, &sw->info, sizeof(sw->info));
	return 0;
}

u16 softib_set_switch_info(struct softib_switch *sw, struct ib_smp *smp)
{
	const struct softib_switch_info *in = (const void *)smp->data;

	if (smp->attr_mod ||
	    be16_to_cpu(in->linear_fdb_top) >= SOFTIB_LFT_SIZE)
		return BAD_FIELD;
	WRITE_ONCE(sw->info.linear_fdb_top, in->linear_fdb_top);
	WRITE_ONCE(sw->info.default_mcast_primary, in->default_mcast_primary);
	WRITE_ONCE(sw->info.default_mcast_not_primary,
		   in->default_mcast_not_primary);
	/* Writing one to PortStateChange clears it. */
	sw->info.lifetime_state = (in->lifetime_state & 0xf8) |
		(sw->info.lifetime_state & ~in->lifetime_state &
		 SOFTIB_PORT_STATE_CHANGE);
	sw->info.mcast_fdb_top = in->mcast_fdb_top;
	return 0;
}

/* Start of the block that the attribute modifier names, or NULL */
static u8 *lft_block(struct softib_switch *sw, const struct ib_smp *smp)
{
	u32 block = be32_to_cpu(smp->attr_mod);

	return block < SOFTIB_LFT_SIZE / LFT_BLOCK ?
	       &sw->lft[block * LFT_BLOCK] : NULL;
}

u16 softib_get_lft(struct softib_switch *sw, struct ib_smp *smp)
{
	const u8 *lft = lft_block(sw, smp);

	if (!lft)
		return BAD_FIELD;
	memcpy(smp->data, lft, LFT_BLOCK);
	return 0;
}

u16 softib_set_lft(struct softib_switch *sw, struct ib_smp *smp)
{
	u8 *lft = lft_block(sw, smp);
	int i;

	if (!lft)
		return BAD_FIELD;
	for (i = 0; i < LFT_BLOCK; i++)
		WRITE_ONCE(lft[i], smp->data[i]);
	return 0;
}

/*
 * The modifier has the block in its low 9 bits, and the position in its high 4. So a table has
 * no more blocks than this one.
 */
static u16 *mft_block(struct softib_switch *sw, const struct ib_smp *smp)
{
	u32 mod = be32_to_cpu(smp->attr_mod);
	u32 block = mod & 0x1ff, position = mod >> 28;

	BUILD_BUG_ON(SOFTIB_MFT_SIZE != (0x1ff + 1) * MFT_BLOCK);
	if (position >= sw->positions)
		return NULL;
	return &sw->mft[position][block * MFT_BLOCK];
}

u16 softib_get_mft(struct softib_switch *sw, struct ib_smp *smp)
{
	const u16 *mft = mft_block(sw, smp);
	__be16 *out = (__be16 *)smp->data;
	int i;

	if (!mft)
		return BAD_FIELD;
	for (i = 0; i < MFT_BLOCK; i++)
		out[i] = cpu_to_be16(mft[i]);
	return 0;
}

u16 softib_set_mft(struct softib_switch *sw, struct ib_smp *smp)
{
	const __be16 *in = (const __be16 *)smp->data;
	u16 *mft = mft_block(sw, smp);
	int i;

	if (!mft)
		return BAD_FIELD;
	for (i = 0; i < MFT_BLOCK; i++)
		WRITE_ONCE(mft[i], be16_to_cpu(in[i]));
	return 0;
}

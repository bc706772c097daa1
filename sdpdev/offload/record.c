// SPDX-License-Identifier: GPL-2.0
/*
 * The record with which a sender that is sure comes back to TCP.
 *
 *	0      1      2             4             8             16            24
 *	+------+------+-------------+-------------+-------------+-------------+
 *	| ~F   | type | length 24   | 0           | P           | mac         |
 *	+------+------+-------------+-------------+-------------+-------------+
 *
 * Everything is big-endian.  F is the byte of the stream that TCP would have carried here,
 * P the position of the byte that follows.  The mac is SipHash of type, sequence number and
 * P, with the token as its key.  The token has never been sent by TCP, so an attacker that only
 * reads and writes TCP cannot make a record.
 */
#include <asm/byteorder.h>

#include "offload/half.h"

static __be64 sdp_record_mac(u8 type, u32 n, __be64 pos, const siphash_key_t *token)
{
	return cpu_to_be64(siphash_3u64(type, n, be64_to_cpu(pos), token));
}

/*
 * The half is in BACK, and TCP has taken nothing behind the record.  The record is the same each
 * time: a caller whose TCP took only a part makes it anew, and goes on with its last @tx->head
 * bytes.
 */
void sdp_record_make(const struct sdp_half_tx *tx, struct sdp_record *record)
{
	record->first = ~tx->first;
	record->type = tx->type;
	record->len = cpu_to_be16(sizeof(*record));
	record->zero = 0;
	record->pos = cpu_to_be64(tx->acked);
	record->mac = sdp_record_mac(tx->type, tx->n, record->pos, &tx->token);
}

/*
 * May the peer have written this record here?  The half is MOVED, and has the whole record.  The
 * sender was sure, so its position is beyond the first byte that left TCP, and the receiver has all
 * bytes before it.
 */
bool sdp_record_good(const struct sdp_half_rx *rx)
{
	const struct sdp_record *r = &rx->record;
	u64 pos = be64_to_cpu(r->pos);

	return (r->type == SDP_HALF_OVER || r->type == SDP_HALF_STAYS) &&
	       r->len == cpu_to_be16(sizeof(*r)) && !r->zero &&
	       r->mac == sdp_record_mac(r->type, rx->n, r->pos, &rx->token) &&
	       pos > rx->p0 && pos <= rx->pos;
}

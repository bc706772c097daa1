// SPDX-License-Identifier: GPL-2.0
/*
 * The states of both halves of a direction, and the rules by which they change.
 *
 *	sending:         +--------------------------+
 *	                 v                          |
 *	                TCP ----> MOVED ----------> BACK
 *	                 |        |   ^              ^
 *	                 v        v   |              |
 *	                FIN       LOOSE -------------+
 *
 * TCP: TCP takes what the program sends.  MOVED: a carrier takes it, and TCP gets nothing.
 * LOOSE: the carrier is lost or was given up.  TCP is still left at @n, and another carrier may
 * go on from there.  BACK: the half returns; TCP gets the record and the bytes that the
 * receiver has not acknowledged.  FIN: TCP has got FIN, or has ended; TCP can end in any state.
 *
 *	receiving:      TCP ----> MOVED ----> SKIP
 *	                 ^         |           |
 *	                 +---------+-----------+
 *
 * TCP: TCP's bytes are the program's.  MOVED: a carrier brings the bytes, and TCP's bytes from
 * @n on say how the sender has come back.  SKIP: the sender has come back, and the receiver
 * already has the next bytes of TCP.  END, from any state: the stream has ended, or the
 * connection is to be reset.
 *
 * Why the receiver always knows what it reads at @n.  F is the byte of the stream that TCP would
 * have carried there.  The sender is sure once the receiver has acknowledged F.
 *
 *	the sender	writes at @n			the receiver
 *	sure		~F, the rest of a record	has F
 *	not sure	F, and what follows it		has F, or has nothing
 *
 * A receiver that has F compares.  A receiver that has nothing knows that the sender cannot be
 * sure.  So no end waits for a confirmation, and no byte of the program looks like a record.
 * FIN at @n ends the stream only if the receiver has nothing, or knows by a carrier that the stream
 * ends: a sender that has anything to bring back writes it before FIN.
 *
 * A sender that is not sure still has all bytes from F on.  A sender that is sure has all bytes
 * that are not acknowledged, and the record says where they begin.  The receiver may have more
 * of them than it has acknowledged, and skips those.
 *
 * An attacker that can only write to TCP cannot make a record.  Until the receiver knows that
 * the sender is sure, the attacker can do what it can do to any TCP connection, if it guesses F.
 * From then on it can reset the connection, and nothing else.  Therefore a sender says at once
 * that it is sure.  A receiver that has read raw bytes ends the carrier.  It drops what the
 * carrier still brings, so the sender must not see an acknowledgment of it.
 *
 * A position in the stream is a count of TCP's bytes plus @base.  Only a return changes @base:
 * records are no part of the stream, and bytes that a carrier brought are no part of TCP.
 *
 * If the sender knows what the receiver has taken, no record is needed: it takes back the rest,
 * and TCP carries that from @n on.  Only the model has such halves (@local).  In the kernel both
 * ends of one host have a pair, whose pipes need no half (move.c).
 */
#include <asm/byteorder.h>
#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "core/core.h"
#include "offload/half.h"

/* The states that may follow each. */
static const u8 sdp_half_tx_next[] = {
	[SDP_HALF_TX_TCP]   = BIT(SDP_HALF_TX_MOVED) | BIT(SDP_HALF_TX_FIN),
	[SDP_HALF_TX_MOVED] = BIT(SDP_HALF_TX_LOOSE) | BIT(SDP_HALF_TX_BACK) | BIT(SDP_HALF_TX_FIN),
	[SDP_HALF_TX_LOOSE] = BIT(SDP_HALF_TX_MOVED) | BIT(SDP_HALF_TX_BACK) | BIT(SDP_HALF_TX_FIN),
	[SDP_HALF_TX_BACK]  = BIT(SDP_HALF_TX_TCP) | BIT(SDP_HALF_TX_FIN),
	[SDP_HALF_TX_FIN]   = 0,
};

static const u8 sdp_half_rx_next[] = {
	[SDP_HALF_RX_TCP]   = BIT(SDP_HALF_RX_MOVED) | BIT(SDP_HALF_RX_END),
	[SDP_HALF_RX_MOVED] = BIT(SDP_HALF_RX_TCP) | BIT(SDP_HALF_RX_SKIP) | BIT(SDP_HALF_RX_END),
	[SDP_HALF_RX_SKIP]  = BIT(SDP_HALF_RX_TCP) | BIT(SDP_HALF_RX_END),
	[SDP_HALF_RX_END]   = 0,
};

static void sdp_half_tx_set(struct sdp_half_tx *tx, enum sdp_half_tx_state next)
{
	SDP_ASSERT(sdp_half_tx_next[tx->state] & BIT(next));
	tx->state = next;
}

static void sdp_half_rx_set(struct sdp_half_rx *rx, enum sdp_half_rx_state next)
{
	SDP_ASSERT(sdp_half_rx_next[rx->state] & BIT(next));
	rx->state = next;
}

/* --- the half that sends ------------------------------------------------------- */

/* Does the receiver have the first byte that left TCP, for certain?  The half is MOVED or LOOSE. */
bool sdp_half_tx_sure(const struct sdp_half_tx *tx)
{
	return tx->acked != tx->p0;
}

/*
 * The direction leaves TCP, which has got @count bytes, records included, up to @n.  @token is a
 * random one; NULL: the receiver is on this host.  The caller sends a Switch with @tx->n, @tx->p0
 * and @tx->token, then Data.  It has asked the gate, and no call sleeps while it writes to TCP.
 */
void sdp_half_tx_move(struct sdp_half_tx *tx, u32 carrier, u32 n, u64 count,
		      const siphash_key_t *token)
{
	sdp_half_tx_set(tx, SDP_HALF_TX_MOVED);
	tx->carrier = carrier;
	tx->n = n;
	tx->p0 = sdp_half_tx_tcp_pos(tx, count);
	tx->pos = tx->p0;
	tx->acked = tx->p0;
	tx->local = !token;
	if (token)
		tx->token = *token;
}

/*
 * Another carrier takes over a half that is LOOSE.  The caller sends a Switch with @tx->n,
 * @tx->acked and @tx->token, then the bytes from @tx->acked up to @tx->pos once more.
 */
void sdp_half_tx_again(struct sdp_half_tx *tx, u32 carrier)
{
	sdp_half_tx_set(tx, SDP_HALF_TX_MOVED);
	tx->carrier = carrier;
}

/*
 * The carrier has got @len bytes, one at least, for the first time; @byte is the first.  The half
 * is MOVED.  The caller keeps the bytes until they are acknowledged.
 */
void sdp_half_tx_sent(struct sdp_half_tx *tx, u8 byte, u32 len)
{
	SDP_ASSERT(tx->state == SDP_HALF_TX_MOVED);
	if (tx->pos == tx->p0)
		tx->first = byte;
	tx->pos += len;
}

/*
 * The receiver has the bytes up to @pos, or has taken them from the pair; a Switch has none.  True
 * if the half is sure since now, and tells the receiver so at once.
 */
bool sdp_half_tx_acked(struct sdp_half_tx *tx, u64 pos)
{
	bool was_sure = sdp_half_tx_sure(tx);

	if (tx->state != SDP_HALF_TX_MOVED || pos <= tx->acked || pos > tx->pos)
		return false;
	tx->acked = pos;
	return !was_sure && !tx->local;
}

/*
 * A carrier is lost, or is given up.  True if bytes are not acknowledged: the half goes on by
 * another carrier soon, or returns.  Otherwise it may stay LOOSE until the program sends something;
 * then it returns, unless there is a carrier.
 */
bool sdp_half_tx_lost(struct sdp_half_tx *tx, u32 carrier)
{
	if (tx->state != SDP_HALF_TX_MOVED || tx->carrier != carrier)
		return false;
	sdp_half_tx_set(tx, SDP_HALF_TX_LOOSE);
	return tx->acked != tx->pos;
}

/*
 * A half that is MOVED or LOOSE comes back to TCP.  The caller puts into TCP the last @tx->head
 * bytes of the record, then the bytes from @tx->acked up to @tx->pos, and calls
 * sdp_half_tx_wrote().  It writes nothing else before the half is in TCP again.
 *
 * With @stays the carrier is to stay for the other half, or the next Switch.  Only a record tells
 * the receiver so: false if it cannot.  Then the caller ends carrier @tx->carrier, unless that is
 * a former one.
 */
bool sdp_half_tx_return(struct sdp_half_tx *tx, bool stays)
{
	bool sure = sdp_half_tx_sure(tx);

	stays = stays && tx->state == SDP_HALF_TX_MOVED && (sure || tx->local);
	sdp_half_tx_set(tx, SDP_HALF_TX_BACK);
	tx->type = stays ? SDP_HALF_STAYS : SDP_HALF_OVER;
	tx->head = sure && !tx->local ? sizeof(struct sdp_record) : 0;
	tx->base += tx->acked - tx->p0 - tx->head;
	sdp_half_tx_wrote(tx, 0);
	return stays;
}

/* TCP has taken @len bytes of a return: of the record, and of those behind it. */
void sdp_half_tx_wrote(struct sdp_half_tx *tx, u32 len)
{
	u32 head = min_t(u32, len, tx->head);

	tx->head -= head;
	tx->acked += len - head;
	if (!tx->head && tx->acked == tx->pos)
		sdp_half_tx_set(tx, SDP_HALF_TX_TCP);
}

/* TCP gets FIN.  A half that is not in TCP returns first, and ends its return. */
void sdp_half_tx_fin(struct sdp_half_tx *tx)
{
	SDP_ASSERT(tx->state == SDP_HALF_TX_TCP);
	sdp_half_tx_set(tx, SDP_HALF_TX_FIN);
}

/*
 * TCP has ended.  The caller ends the carrier, and drops what is not acknowledged.  The half that
 * receives goes on: what has come may still be read.
 */
void sdp_half_tx_closed(struct sdp_half_tx *tx)
{
	if (tx->state != SDP_HALF_TX_FIN)
		sdp_half_tx_set(tx, SDP_HALF_TX_FIN);
}

/* --- the half that receives ---------------------------------------------------- */

/* Has it the byte that TCP would have carried at @rx->n? */
static bool sdp_half_rx_has_first(const struct sdp_half_rx *rx)
{
	return rx->pos != rx->p0;
}

/* TCP goes on at position @pos, behind @head bytes of a record. */
static void sdp_half_rx_leave(struct sdp_half_rx *rx, u64 pos, u32 head)
{
	rx->base += pos - rx->p0 - head;
	rx->skip = rx->pos - pos;
	sdp_half_rx_set(rx, rx->skip ? SDP_HALF_RX_SKIP : SDP_HALF_RX_TCP);
}

static enum sdp_half_switch sdp_half_rx_move(struct sdp_half_rx *rx, u32 n, u64 pos, u64 count,
					     const siphash_key_t *token)
{
	if (pos != sdp_half_rx_tcp_pos(rx, count))
		return SDP_HALF_BAD;
	sdp_half_rx_set(rx, SDP_HALF_RX_MOVED);
	rx->n = n;
	rx->p0 = pos;
	rx->pos = pos;
	rx->got = 0;
	rx->sure = false;
	rx->over = false;
	rx->local = !token;
	if (token)
		rx->token = *token;
	return SDP_HALF_TAKE;
}

/* Another carrier goes on where TCP was left for the last one. */
static enum sdp_half_switch sdp_half_rx_again(struct sdp_half_rx *rx, u64 pos,
					      const siphash_key_t *token)
{
	if (pos < rx->p0 || pos > rx->pos || rx->local != !token)
		return SDP_HALF_BAD;
	if (token && (rx->token.key[0] != token->key[0] || rx->token.key[1] != token->key[1]))
		return SDP_HALF_BAD;
	return SDP_HALF_TAKE;
}

/*
 * A Switch has come, with @n, @pos and @token; no token: the sender is on this host.  TCP has got
 * @count bytes, records included, up to @rcv_nxt.
 *
 * While a thread is in TCP's own recvmsg the caller does not ask, but holds.  It asks again
 * whenever TCP has got something, and after TCP's bytes have been looked at.
 */
enum sdp_half_switch sdp_half_rx_switch(struct sdp_half_rx *rx, u32 carrier, u32 n, u64 pos,
					const siphash_key_t *token, u32 rcv_nxt, u64 count)
{
	bool moved = rx->state == SDP_HALF_RX_MOVED;
	s32 ahead = (s32)(n - (moved ? rx->n : rcv_nxt));
	enum sdp_half_switch verdict;

	if (ahead < 0 || rx->state == SDP_HALF_RX_END)
		return SDP_HALF_STALE;
	if (ahead > 0 || rx->state == SDP_HALF_RX_SKIP)
		return SDP_HALF_HOLD;
	verdict = moved ? sdp_half_rx_again(rx, pos, token) :
			  sdp_half_rx_move(rx, n, pos, count, token);
	if (verdict == SDP_HALF_TAKE) {
		rx->carrier = carrier;
		rx->at = pos;
	}
	return verdict;
}

/*
 * @len bytes have come by a carrier, one at least; @byte is the first.  Returns how many to drop,
 * from the first one on: they are there already, or come by TCP.  The caller queues the others, of
 * which the first has the position that @rx->pos was.
 */
u32 sdp_half_rx_data(struct sdp_half_rx *rx, u32 carrier, u8 byte, u32 len)
{
	u32 drop;

	if (rx->state != SDP_HALF_RX_MOVED || rx->carrier != carrier)
		return len;
	drop = min_t(u64, rx->pos - rx->at, len);
	if (!sdp_half_rx_has_first(rx))
		rx->first = byte;
	rx->at += len;
	rx->pos += len - drop;
	return drop;
}

/*
 * The sender says that it is sure.  Any message can say so.  Where a Switch is held, the flag is
 * held with what follows it.
 */
void sdp_half_rx_sure(struct sdp_half_rx *rx, u32 carrier)
{
	if (rx->state == SDP_HALF_RX_MOVED && rx->carrier == carrier)
		rx->sure = true;
}

/*
 * The sender says that the stream ends here.  A sender that brings nothing back says so before
 * TCP's FIN, and waits until it is acknowledged.
 */
void sdp_half_rx_over(struct sdp_half_rx *rx, u32 carrier)
{
	if (rx->state == SDP_HALF_RX_MOVED && rx->carrier == carrier && rx->at == rx->pos)
		rx->over = true;
}

/*
 * A carrier is lost, or is given up.  If it has brought nothing, the sender is not sure, and TCP's
 * next bytes are the program's.
 */
void sdp_half_rx_lost(struct sdp_half_rx *rx, u32 carrier)
{
	if (rx->state != SDP_HALF_RX_MOVED || rx->carrier != carrier)
		return;
	rx->carrier = 0;
	if (!sdp_half_rx_has_first(rx))
		sdp_half_rx_leave(rx, rx->p0, 0);
}

/* The sender has come back, and @byte is where TCP was left. */
static enum sdp_half_bytes sdp_half_rx_raw(struct sdp_half_rx *rx, u8 byte)
{
	if (rx->sure || (sdp_half_rx_has_first(rx) && byte != rx->first)) {
		sdp_half_rx_abort(rx);
		return SDP_HALF_ABORT;
	}
	sdp_half_rx_leave(rx, rx->p0, 0);
	return SDP_HALF_CARRIER_OVER;
}

static enum sdp_half_bytes sdp_half_rx_record(struct sdp_half_rx *rx, const u8 *data, u32 len,
					      u32 *used)
{
	*used = min_t(u32, len, sizeof(rx->record) - rx->got);
	memcpy((u8 *)&rx->record + rx->got, data, *used);
	rx->got += *used;
	if (rx->got < sizeof(rx->record))
		return SDP_HALF_DROP;
	if (!sdp_record_good(rx)) {
		sdp_half_rx_abort(rx);
		return SDP_HALF_ABORT;
	}
	sdp_half_rx_leave(rx, be64_to_cpu(rx->record.pos), sizeof(rx->record));
	return rx->record.type == SDP_HALF_OVER ? SDP_HALF_CARRIER_OVER : SDP_HALF_CARRIER_STAYS;
}

/* What TCP brings from the place on where it was left. */
static enum sdp_half_bytes sdp_half_rx_back(struct sdp_half_rx *rx, const u8 *data, u32 len,
					    u32 *used)
{
	*used = 0;
	if (rx->local) {
		sdp_half_rx_leave(rx, rx->pos, 0);
		return SDP_HALF_CARRIER_STAYS;
	}
	if (rx->got || (sdp_half_rx_has_first(rx) && (data[0] ^ rx->first) == 0xff))
		return sdp_half_rx_record(rx, data, len, used);
	return sdp_half_rx_raw(rx, data[0]);
}

/*
 * What is to be done with the first @used of TCP's next @len bytes, one at least?  @used may be
 * none.  All bytes before @seq have been read or dropped.  The caller asks before the program
 * reads TCP, and when TCP has got something, if the half is MOVED and the program has read TCP up
 * to @rx->n.
 *
 * On one host it asks about bytes at @rx->n, or FIN, only if the pair says that the sender has
 * left @rx->n.  Otherwise the sender has not written them, and the caller resets the connection.
 */
enum sdp_half_bytes sdp_half_rx_tcp(struct sdp_half_rx *rx, u32 seq, const u8 *data, u32 len,
				    u32 *used)
{
	s32 before;

	*used = len;
	switch (rx->state) {
	case SDP_HALF_RX_MOVED:
		before = (s32)(rx->n - seq);
		if (before <= 0)
			return sdp_half_rx_back(rx, data, len, used);
		*used = min_t(u32, len, before);
		return SDP_HALF_READ;
	case SDP_HALF_RX_SKIP:
		*used = min_t(u64, len, rx->skip);
		rx->skip -= *used;
		if (!rx->skip)
			sdp_half_rx_set(rx, SDP_HALF_RX_TCP);
		return SDP_HALF_DROP;
	case SDP_HALF_RX_END:
		return SDP_HALF_ABORT;
	default:
		return SDP_HALF_READ;
	}
}

/*
 * FIN is next in TCP: all bytes before it have been read or dropped.  True if that is the end of
 * the stream; false: the caller resets the connection.
 */
bool sdp_half_rx_fin(struct sdp_half_rx *rx)
{
	bool end = rx->state == SDP_HALF_RX_TCP ||
		   (rx->state == SDP_HALF_RX_MOVED &&
		    (!sdp_half_rx_has_first(rx) || rx->local || rx->over));

	sdp_half_rx_abort(rx);
	return end;
}

void sdp_half_rx_abort(struct sdp_half_rx *rx)
{
	if (rx->state != SDP_HALF_RX_END)
		sdp_half_rx_set(rx, SDP_HALF_RX_END);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One direction of a connection that leaves TCP for a carrier and comes back: the half that
 * sends and the half that receives.
 *
 * The functions here are pure.  They know no lock, no memory, no clock and no socket, so that
 * the model runs them in user space, too.  The rules, and why they hold,
 * are in half.c; record.c has the record that a sender writes into TCP.
 *
 * The lock of the endpoint's socket protects both structures, and is held in each call.
 *
 *	the program sends	TCP: the bytes, or sdp_half_tx_move() and a Switch first
 *				MOVED: Data, and sdp_half_tx_sent()
 *				LOOSE: sdp_half_tx_again() and a Switch, or a return first
 *				BACK: the rest of the return first
 *	any return		sdp_half_tx_return(), then sdp_half_tx_wrote() until all is written
 *	shutdown, close		a return, then sdp_half_tx_fin()
 *	TCP has ended		sdp_half_tx_closed()
 *	an acknowledgment	sdp_half_tx_acked()
 *	a carrier is lost	sdp_half_tx_lost() and sdp_half_rx_lost()
 *	a carrier's message	sdp_half_rx_switch(), sdp_half_rx_data(), sdp_half_rx_sure(),
 *				sdp_half_rx_over()
 *	TCP's bytes, FIN	sdp_half_rx_tcp(), sdp_half_rx_fin()
 *
 * A caller has one carrier at a time, with a number that is not zero.  It passes only what that
 * carrier brings.  After sdp_half_rx_lost() it drops what the lost carrier still brings, and
 * only then it has another one.
 *
 * A caller acknowledges a message after the half has taken it in.  A Switch that is held or
 * stale is not taken in, nor is anything behind it.
 */
#ifndef _OFFLOAD_HALF_H
#define _OFFLOAD_HALF_H

#include <linux/siphash.h>
#include <linux/types.h>

/* States of the half that sends; half.c has the picture. */
enum sdp_half_tx_state {
	SDP_HALF_TX_TCP,
	SDP_HALF_TX_MOVED,
	SDP_HALF_TX_LOOSE,
	SDP_HALF_TX_BACK,
	SDP_HALF_TX_FIN,
};

/* States of the half that receives. */
enum sdp_half_rx_state {
	SDP_HALF_RX_TCP,
	SDP_HALF_RX_MOVED,
	SDP_HALF_RX_SKIP,
	SDP_HALF_RX_END,
};

/* Types of a record. */
enum sdp_half_type {
	SDP_HALF_OVER	= 1,	/* the carrier is over, too */
	SDP_HALF_STAYS	= 2,	/* it stays */
};

/* What the caller does with a Switch. */
enum sdp_half_switch {
	SDP_HALF_TAKE,		/* take it in; Data follow */
	SDP_HALF_HOLD,		/* ask again when TCP has moved on, and hold what follows */
	SDP_HALF_STALE,		/* the peer has left it: end the carrier */
	SDP_HALF_BAD,		/* the peer breaks the rules: end the carrier, and count it */
};

/* What the caller does with bytes of TCP. */
enum sdp_half_bytes {
	SDP_HALF_READ,		/* the program's */
	SDP_HALF_DROP,		/* drop them, and ask again */
	SDP_HALF_CARRIER_OVER,	/* the same; end the carrier that the half names */
	SDP_HALF_CARRIER_STAYS,	/* the same; it stays */
	SDP_HALF_ABORT,		/* reset the connection */
};

/**
 * struct sdp_record - what a sender that is sure writes into TCP before its bytes
 * @first: complement of the byte that the receiver had at the position where TCP was left
 * @type: enum sdp_half_type
 * @len: of the record
 * @zero: zero
 * @pos: position of the byte that follows
 * @mac: proof that the sender knows the token
 */
struct sdp_record {
	u8 first;
	u8 type;
	__be16 len;
	__be32 zero;
	__be64 pos;
	__be64 mac;
};

/**
 * struct sdp_half_tx - the half that sends
 * @state: enum sdp_half_tx_state; sdp_half_tx_set() changes it
 * @first: the first byte that a carrier got, if @pos is beyond @p0
 * @type: in BACK: of the record
 * @head: in BACK: bytes of the record that TCP has not taken yet
 * @local: @acked is exact, and no record is needed; in the model only
 * @carrier: number of the carrier that has the direction, or had it last
 * @n: sequence number at which TCP was left
 * @base: what a count of bytes in TCP lacks to a position in the stream
 * @p0: position of the byte that TCP would have carried at @n
 * @pos: behind the last byte that a carrier got
 * @acked: behind the last one that the receiver has acknowledged; in BACK: of the next byte
 *	that TCP has to take
 * @token: of @n; known to both ends and never sent by TCP
 *
 * A half whose bytes are all zero is in TCP, at the beginning of a stream.
 */
struct sdp_half_tx {
	u8 state;
	u8 first;
	u8 type;
	u8 head;
	bool local;
	u32 carrier;
	u32 n;
	u64 base;
	u64 p0;
	u64 pos;
	u64 acked;
	siphash_key_t token;
};

/**
 * struct sdp_half_rx - the half that receives
 * @state: enum sdp_half_rx_state; sdp_half_rx_set() changes it
 * @first: the first byte that came by a carrier, if @pos is beyond @p0
 * @got: bytes of @record that have come
 * @sure: the sender is known to be sure: nothing but a record may follow in TCP
 * @over: the sender has said by a carrier that the stream ends at @pos
 * @local: the sender takes back all that was not taken; in the model only
 * @carrier: number of the carrier that has the direction; zero: that one is lost
 * @n: sequence number at which TCP was left
 * @base: what a count of bytes in TCP lacks to a position in the stream
 * @p0: position of the byte that TCP would have carried at @n
 * @pos: behind the last byte that a carrier has brought
 * @at: position of the next byte that @carrier brings, @pos at most
 * @skip: bytes of TCP that are there already
 * @token: of @n
 * @record: the record, as far as it has come
 */
struct sdp_half_rx {
	u8 state;
	u8 first;
	u8 got;
	bool sure;
	bool over;
	bool local;
	u32 carrier;
	u32 n;
	u64 base;
	u64 p0;
	u64 pos;
	u64 at;
	u64 skip;
	siphash_key_t token;
	struct sdp_record record;
};

/*
 * Position of a byte in TCP, before which @count bytes were put into TCP, records included.  The
 * half is in TCP or FIN.
 */
static inline u64 sdp_half_tx_tcp_pos(const struct sdp_half_tx *tx, u64 count)
{
	return count + tx->base;
}

/*
 * Position of a byte in TCP that is the program's.  @count bytes came by TCP before it, records
 * included.  Where bytes of a carrier and of TCP wait, those with the lower position are read
 * first.
 */
static inline u64 sdp_half_rx_tcp_pos(const struct sdp_half_rx *rx, u64 count)
{
	return count + rx->base;
}

/* The half that sends. */
bool sdp_half_tx_sure(const struct sdp_half_tx *tx);
void sdp_half_tx_move(struct sdp_half_tx *tx, u32 carrier, u32 n, u64 count,
		      const siphash_key_t *token);
void sdp_half_tx_again(struct sdp_half_tx *tx, u32 carrier);
void sdp_half_tx_sent(struct sdp_half_tx *tx, u8 byte, u32 len);
bool sdp_half_tx_acked(struct sdp_half_tx *tx, u64 pos);
bool sdp_half_tx_lost(struct sdp_half_tx *tx, u32 carrier);
bool sdp_half_tx_return(struct sdp_half_tx *tx, bool stays);
void sdp_half_tx_wrote(struct sdp_half_tx *tx, u32 len);
void sdp_half_tx_fin(struct sdp_half_tx *tx);
void sdp_half_tx_closed(struct sdp_half_tx *tx);

/* The half that receives. */
enum sdp_half_switch sdp_half_rx_switch(struct sdp_half_rx *rx, u32 carrier, u32 n, u64 pos,
					const siphash_key_t *token, u32 rcv_nxt, u64 count);
u32 sdp_half_rx_data(struct sdp_half_rx *rx, u32 carrier, u8 byte, u32 len);
void sdp_half_rx_sure(struct sdp_half_rx *rx, u32 carrier);
void sdp_half_rx_over(struct sdp_half_rx *rx, u32 carrier);
void sdp_half_rx_lost(struct sdp_half_rx *rx, u32 carrier);
enum sdp_half_bytes sdp_half_rx_tcp(struct sdp_half_rx *rx, u32 seq, const u8 *data, u32 len,
				    u32 *used);
bool sdp_half_rx_fin(struct sdp_half_rx *rx);
void sdp_half_rx_abort(struct sdp_half_rx *rx);

/* record.c */
void sdp_record_make(const struct sdp_half_tx *tx, struct sdp_record *record);
bool sdp_record_good(const struct sdp_half_rx *rx);

#endif /* _OFFLOAD_HALF_H */

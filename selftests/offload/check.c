// SPDX-License-Identifier: GPL-2.0
/*
 * What must hold in each state of the model.
 */
#include <asm/byteorder.h>

#include "model.h"

/* All that direction @i does without a carrier. */
static bool drain(struct state *s, int i)
{
	static const enum what order[] = { OVER, PUT, WRITE, SHUT, COME, READ, LOOK };
	bool moved = false;

	for (unsigned int n = 0; n < sizeof(order) / sizeof(*order); n++)
		moved |= step(s, order[n], i);
	return moved;
}

static void check_end(const struct direction *d)
{
	expect(d->end, "the end is not reached");
	expect(d->read == d->total, "bytes are not read");
}

/* Both directions come to their end without a carrier. */
void check_drains(const struct state *s)
{
	struct state t = *s;
	bool moved = true;

	for (int e = 0; e < 2; e++)
		if (t.carrier[e])
			lose(&t, e);
	while (moved && !wrong) {
		moved = drain(&t, 0);
		moved |= drain(&t, 1);
	}
	check_end(&t.d[0]);
	check_end(&t.d[1]);
}

/* So does a direction whose receiver never hears that the carrier is lost. */
void check_alone(const struct state *s, int i)
{
	struct state t = *s;

	while (!wrong && drain(&t, i))
		;
	check_end(&t.d[i]);
}

/* What may become of bytes that somebody else puts into TCP at @rx->n. */
static bool inject(const struct direction *d, const void *data, u32 len)
{
	struct sdp_half_rx rx = d->rx;
	u32 used;

	counts[ABORTS]++;
	switch (sdp_half_rx_tcp(&rx, ISN + (u32)d->seen, data, len, &used)) {
	case SDP_HALF_ABORT:
		return rx.state == SDP_HALF_RX_END;
	case SDP_HALF_DROP:
		/* Not a whole record. */
		return len < sizeof(struct sdp_record);
	case SDP_HALF_CARRIER_OVER:
		/* As on any TCP connection. */
		return !used && !d->rx.sure && (d->rx.pos == d->rx.p0 ||
			*(u8 *)data == value(d->rx.p0));
	default:
		return false;
	}
}

/* A record that is right but for one thing that the injector does not know, or has changed. */
static void inject_record(const struct direction *d, u32 token, u32 n, u64 pos, int change)
{
	struct item item = {
		.type = SDP_HALF_OVER, .first = d->rx.first, .n = n, .token = token, .pos = pos,
	};
	struct sdp_record r;

	make_record(&item, &r);
	if (change == 1)
		r.type = SDP_HALF_STAYS;
	else if (change == 2)
		r.pos ^= cpu_to_be64(1);
	else if (change == 3)
		r.zero = 1;
	else if (change == 4)
		r.len = 0;
	else if (change == 5)
		r.mac ^= 1;
	expect(inject(d, &r, sizeof(r)), "somebody else's record is taken");
}

/* The record's first bytes were the sender's. */
static void inject_rest(const struct direction *d)
{
	struct sdp_half_rx rx = d->rx;
	u8 rest[sizeof(struct sdp_record)];
	struct sdp_record record;
	u32 used;

	make_record(&d->item[0], &record);
	for (u32 i = rx.got; i < sizeof(rest); i++)
		rest[i - rx.got] = ~((u8 *)&record)[i];
	expect(sdp_half_rx_tcp(&rx, ISN + (u32)d->seen, rest, sizeof(rest) - rx.got, &used) ==
	       SDP_HALF_ABORT, "the rest of somebody else's record is taken");
}

/* The sender may have said by its carrier that the stream ends; others say nothing by it. */
static void check_over(const struct direction *d)
{
	struct sdp_half_rx rx = d->rx, late = d->rx;

	sdp_half_rx_over(&late, rx.carrier + 1);
	expect(!sdp_half_rx_fin(&late), "an end that a former carrier tells of is taken");
	if (!rx.carrier)
		return;
	sdp_half_rx_over(&rx, rx.carrier);
	expect(sdp_half_rx_fin(&rx) == (d->rx.at == d->rx.pos), "FIN behind the end");
}

/* An attacker who can only write to TCP writes at the place where it was left. */
static void check_injector(const struct direction *d)
{
	struct sdp_half_rx rx = d->rx;

	if (rx.state != SDP_HALF_RX_MOVED || local || d->came != d->seen)
		return;
	if (rx.got) {
		inject_rest(d);
		return;
	}
	if (ISN + (u32)d->seen != rx.n)
		return;
	for (int v = 0; v < 256; v += lazy ? 1 : 255) {
		u8 byte = v;

		expect(inject(d, &byte, 1), "somebody else's bytes are taken");
	}
	if (rx.pos == rx.p0)
		return;
	expect(!sdp_half_rx_fin(&rx), "somebody else's FIN is taken");
	check_over(d);
	inject_record(d, d->rx_token + 1, rx.n, rx.pos, 0);
	inject_record(d, d->rx_token, rx.n + 1, rx.pos, 0);
	inject_record(d, d->rx_token, rx.n, rx.pos + 1, 0);
	inject_record(d, d->rx_token, rx.n, rx.p0, 0);
	for (int change = 1; change <= 5; change++)
		inject_record(d, d->rx_token, rx.n, rx.pos, change);
}

/* What comes late, by a carrier of the past, or after a return, changes nothing. */
static void check_late(const struct direction *d)
{
	u32 carrier = d->rx.carrier + 1;
	struct sdp_half_tx tx = d->tx;
	struct sdp_half_rx rx = d->rx;
	bool moved = tx.state == SDP_HALF_TX_MOVED;

	expect(!sdp_half_tx_lost(&tx, tx.carrier + 1), "a former carrier is missed");
	expect(!sdp_half_tx_acked(&tx, moved ? tx.acked : tx.acked + 1) &&
	       !sdp_half_tx_acked(&tx, tx.pos + 1) && !sdp_half_tx_acked(&tx, tx.p0),
	       "bytes are acknowledged that are not kept");
	expect(tx.state == d->tx.state && tx.acked == d->tx.acked,
	       "what comes late changes the sender");
	expect(sdp_half_rx_data(&rx, carrier, 1, 3) == 3, "data of a former carrier are taken");
	sdp_half_rx_sure(&rx, carrier);
	sdp_half_rx_lost(&rx, carrier);
	expect(rx.state == d->rx.state && rx.carrier == d->rx.carrier && rx.sure == d->rx.sure &&
	       rx.pos == d->rx.pos && rx.at == d->rx.at,
	       "what comes late changes the receiver");
	sdp_half_tx_closed(&tx);
	expect(tx.state == SDP_HALF_TX_FIN, "the end of TCP is not the end");
}

static void check_switch(const struct direction *d, u32 n, u64 pos, u32 token,
			 enum sdp_half_switch verdict)
{
	struct sdp_half_rx rx = d->rx;
	siphash_key_t key = key_of(token);

	expect(sdp_half_rx_switch(&rx, 1, n, pos, local ? NULL : &key, ISN + (u32)d->came,
				  d->came) == verdict, "a wrong verdict on a Switch");
}

/* A peer that breaks the rules. */
static void check_liar(const struct direction *d)
{
	struct sdp_half_rx rx = d->rx;
	u64 pos = sdp_half_rx_tcp_pos(&rx, d->came);
	u32 nxt = ISN + (u32)d->came;

	switch (rx.state) {
	case SDP_HALF_RX_TCP:
		check_switch(d, nxt, pos - 1, 1, SDP_HALF_BAD);
		check_switch(d, nxt, pos + 1, 1, SDP_HALF_BAD);
		check_switch(d, nxt - 1, pos - 1, 1, SDP_HALF_STALE);
		check_switch(d, nxt + 1, pos + 1, 1, SDP_HALF_HOLD);
		break;
	case SDP_HALF_RX_MOVED:
		check_switch(d, rx.n, rx.pos + 1, d->rx_token, SDP_HALF_BAD);
		check_switch(d, rx.n, rx.p0 - 1, d->rx_token, SDP_HALF_BAD);
		check_switch(d, rx.n, rx.p0, d->rx_token, SDP_HALF_TAKE);
		if (!local)
			check_switch(d, rx.n, rx.pos, d->rx_token + 1, SDP_HALF_BAD);
		break;
	case SDP_HALF_RX_END:
		check_switch(d, nxt, pos, 1, SDP_HALF_STALE);
		break;
	default:
		expect(!sdp_half_rx_fin(&rx), "FIN before the last byte is taken");
		break;
	}
}

void check_peers(const struct state *s)
{
	for (int i = 0; i < 2; i++) {
		check_injector(&s->d[i]);
		check_late(&s->d[i]);
		check_liar(&s->d[i]);
	}
}

static const char *const tx_name[] = { "TCP", "MOVED", "LOOSE", "BACK", "FIN" };
static const char *const rx_name[] = { "TCP", "MOVED", "SKIP", "END" };

void show_state(const struct state *s)
{
	for (int i = 0; i < 2; i++) {
		const struct direction *d = &s->d[i];

		printf("#  %c: carrier %u, %u of %u bytes, got %u, ", 'A' + i, s->carrier[i],
		       d->written, d->total, d->got);
		printf("%s n %d p0 %u acked %u pos %u -> ", tx_name[d->tx.state],
		       (int)(d->tx.n - ISN), (u32)d->tx.p0, (u32)d->tx.acked, (u32)d->tx.pos);
		printf("%s n %d p0 %u at %u pos %u%s skip %u; ", rx_name[d->rx.state],
		       (int)(d->rx.n - ISN), (u32)d->rx.p0, (u32)d->rx.at, (u32)d->rx.pos,
		       d->rx.sure ? " sure" : "", (u32)d->rx.skip);
		printf("TCP %u, %u, %u; %u messages\n", (u32)d->put, (u32)d->came, (u32)d->seen,
		       d->messages);
	}
}

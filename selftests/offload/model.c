// SPDX-License-Identifier: GPL-2.0
/*
 * Single steps of the model.  Each byte of a stream is known by its position, not by its
 * value, so one that is lost, doubled or out of order is noticed when it is accepted.
 */
#include <string.h>

#include "model.h"

const char *const what_name[WHATS] = {
	"join", "kill", "write", "move", "again", "return, over", "return, stays", "put", "fin",
	"come", "look", "read", "take", "ack", "leave",
};

bool local, lazy, pieces;
u8 (*value)(unsigned int pos);
u32 (*draw)(u32 below);
const char *wrong;
unsigned long counts[COUNTS];

void bad(const char *what)
{
	if (!wrong)
		wrong = what;
}

void expect(bool cond, const char *what)
{
	if (!cond)
		bad(what);
}

void assert_failed(const char *what)
{
	bad(what);
}

/* Up to @most; where nothing is random, one. */
static u32 some(u32 most)
{
	return lazy && most > 1 ? 1 + draw(most) : 1;
}

siphash_key_t key_of(u32 token)
{
	return (siphash_key_t){ { token * 0x9e3779b97f4a7c15ull, ~(u64)token } };
}

void start(struct state *s, unsigned int a, unsigned int b)
{
	memset(s, 0, sizeof(*s));
	s->d[0].total = a;
	s->d[1].total = b;
}

bool ended(const struct state *s)
{
	return s->d[0].end && s->d[1].end;
}

/* --- TCP ----------------------------------------------------------------------- */

static void put_item(struct direction *d, struct item new, u32 len)
{
	struct item *last = d->items ? &d->item[d->items - 1] : NULL;

	d->put += len;
	if (last && new.kind == RUN && last->kind == RUN &&
	    last->pos + last->len == new.pos) {
		last->len += new.len;
		return;
	}
	if (d->items == ROOM)
		bad("no room in TCP");
	else
		d->item[d->items++] = new;
}

static void put_run(struct direction *d, u16 pos, u16 len)
{
	if (len)
		put_item(d, (struct item){ .kind = RUN, .pos = pos, .len = len }, len);
}

static u32 item_len(const struct item *item)
{
	return item->kind == RUN ? item->len :
	       item->kind == RECORD ? sizeof(struct sdp_record) : 1;
}

static void consume(struct direction *d, u32 len)
{
	struct item *first = &d->item[0];

	d->seen += len;
	if (first->kind == RUN) {
		first->pos += len;
		first->len -= len;
		if (first->len)
			return;
	} else {
		d->part += len;
		if (d->part < item_len(first))
			return;
	}
	d->part = 0;
	d->items--;
	memmove(first, first + 1, d->items * sizeof(*first));
}

/* What a sender writes that has the direction's state at the time of its return. */
void make_record(const struct item *item, struct sdp_record *record)
{
	struct sdp_half_tx tx = {
		.first = item->first,
		.type = item->type,
		.n = item->n,
		.acked = item->pos,
		.token = key_of(item->token),
	};

	sdp_record_make(&tx, record);
}

static u32 peek(const struct direction *d, u8 *data, u32 len)
{
	const struct item *first = &d->item[0];
	struct sdp_record record;
	u32 i;

	if (first->kind == RECORD) {
		make_record(first, &record);
		memcpy(data, (u8 *)&record + d->part, len);
		return len;
	}
	for (i = 0; i < len; i++)
		data[i] = value(first->pos + i);
	return len;
}

/* --- the carrier --------------------------------------------------------------- */

static void post(struct state *s, int i, struct message m)
{
	struct direction *d = &s->d[i];

	d->mseq++;
	m.sure = d->tx.state == SDP_HALF_TX_MOVED && !local && sdp_half_tx_sure(&d->tx);
	/* The peer has no carrier any more. */
	if (s->carrier[i] != s->carrier[!i])
		return;
	if (d->messages == ROOM)
		bad("no room on the carrier");
	else
		d->message[d->messages++] = m;
}

static void post_switch(struct state *s, int i)
{
	struct direction *d = &s->d[i];
	u64 pos = d->tx.acked;

	d->pair_pos = pos;
	post(s, i, (struct message){
		.kind = SWITCH, .pos = pos, .n = d->tx.n, .token = d->token,
	});
}

static void post_data(struct state *s, int i, u16 pos, u16 len)
{
	struct direction *d = &s->d[i];

	post(s, i, (struct message){ .kind = DATA, .pos = pos, .len = len });
	if (d->keeps == ROOM)
		bad("no room to keep messages");
	else
		d->kept[d->keeps++] = (struct kept){ d->mseq, pos + len };
}

/* Under the pair's lock the sender takes back what the receiver has not taken. */
static void take_back(struct direction *d)
{
	if (!local || d->tx.state != SDP_HALF_TX_MOVED)
		return;
	sdp_half_tx_acked(&d->tx, d->pair_pos);
	d->messages = 0;
}

static void join(struct state *s)
{
	s->carriers++;
	for (int i = 0; i < 2; i++) {
		struct direction *d = &s->d[i];

		s->carrier[i] = s->carriers;
		d->messages = 0;
		d->mseq = 0;
		d->taken = 0;
		d->acked = 0;
		d->asked = false;
	}
}

void lose(struct state *s, int e)
{
	struct direction *out = &s->d[e], *in = &s->d[!e];
	struct sdp_half_rx rx;
	u32 carrier = s->carrier[e];
	bool waits;

	take_back(out);
	s->carrier[e] = 0;
	waits = out->tx.state == SDP_HALF_TX_MOVED && out->tx.acked != out->tx.pos;
	expect(sdp_half_tx_lost(&out->tx, carrier) == waits, "bytes wait, and nobody is told");
	out->keeps = 0;
	sdp_half_rx_lost(&in->rx, carrier);
	rx = in->rx;
	expect(sdp_half_rx_data(&rx, carrier, 0, 1), "data of a lost carrier are taken");
	/* What has come and was not taken in is dropped. */
	in->messages = 0;
}

/* Random walks are longer than the lists. */
static bool full(const struct direction *d)
{
	return lazy && (d->items > ROOM - 6 || d->messages > ROOM - 4 || d->keeps > ROOM - 4);
}

/* --- the sender ---------------------------------------------------------------- */

static bool do_write(struct state *s, int i)
{
	struct direction *d = &s->d[i];
	u16 len = some(d->total - d->written > 5 ? 5 : d->total - d->written);

	if (d->written == d->total || full(d))
		return false;
	if (d->tx.state == SDP_HALF_TX_TCP) {
		expect(sdp_half_tx_tcp_pos(&d->tx, d->put) == d->written,
		       "the sender counts wrongly");
		put_run(d, d->written, len);
	} else if (d->tx.state == SDP_HALF_TX_MOVED) {
		expect(d->tx.pos == d->written, "the sender's carrier counts wrongly");
		post_data(s, i, d->written, len);
		sdp_half_tx_sent(&d->tx, value(d->written), len);
	} else {
		return false;
	}
	d->written += len;
	return true;
}

static bool do_move(struct state *s, int i)
{
	struct direction *d = &s->d[i];
	siphash_key_t key;

	if (!s->carrier[i] || d->tx.state != SDP_HALF_TX_TCP || d->stuck || full(d))
		return false;
	d->token = ++s->tokens;
	key = key_of(d->token);
	d->keeps = 0;
	sdp_half_tx_move(&d->tx, s->carrier[i], ISN + (u32)d->put, d->put, local ? NULL : &key);
	expect(d->tx.p0 == d->written, "the sender leaves TCP at a wrong position");
	post_switch(s, i);
	return true;
}

static bool do_again(struct state *s, int i)
{
	struct direction *d = &s->d[i];
	u64 pos = d->tx.acked;
	u16 len;

	if (!s->carrier[i] || d->tx.state != SDP_HALF_TX_LOOSE || d->stuck || full(d))
		return false;
	counts[AGAINS]++;
	d->keeps = 0;
	sdp_half_tx_again(&d->tx, s->carrier[i]);
	post_switch(s, i);
	for (; pos < d->tx.pos; pos += len) {
		len = d->messages > ROOM / 2 ? d->tx.pos - pos : some(d->tx.pos - pos);
		post_data(s, i, pos, len);
	}
	return true;
}

/* TCP takes @len bytes of a return. */
static void put_back(struct direction *d, u32 len)
{
	struct item *item = &d->item[d->items];
	u32 head = len < d->tx.head ? len : d->tx.head;

	/* The record goes there in one piece, however it is read. */
	if (head) {
		head = d->tx.head;
		len = len < head ? head : len;
		if (d->items == ROOM) {
			bad("no room in TCP");
			return;
		}
		*item = (struct item){
			.kind = RECORD, .type = d->tx.type, .first = d->tx.first,
			.n = d->tx.n, .token = d->token, .pos = d->tx.acked,
		};
		d->items++;
		d->put += sizeof(struct sdp_record);
	}
	put_run(d, d->tx.acked, len - head);
	sdp_half_tx_wrote(&d->tx, len);
}

static bool do_return(struct state *s, int i, bool stays)
{
	struct direction *d = &s->d[i];
	u8 before = d->tx.state;
	u32 carrier = d->tx.carrier;

	if (before != SDP_HALF_TX_MOVED && before != SDP_HALF_TX_LOOSE)
		return false;
	take_back(d);
	stays = sdp_half_tx_return(&d->tx, stays);
	expect(!stays || local || d->tx.head, "a carrier stays, and nobody says so");
	expect(!stays || before == SDP_HALF_TX_MOVED, "a lost carrier stays");
	expect(d->tx.type == (stays ? SDP_HALF_STAYS : SDP_HALF_OVER), "a wrong type of return");
	d->keeps = 0;
	if (d->tx.state == SDP_HALF_TX_BACK && !lazy)
		put_back(d, d->tx.head + d->tx.pos - d->tx.acked);
	if (!stays && s->carrier[i] && s->carrier[i] == carrier)
		lose(s, i);
	return true;
}

static bool do_put(struct direction *d)
{
	if (d->tx.state != SDP_HALF_TX_BACK)
		return false;
	put_back(d, some(d->tx.head + d->tx.pos - d->tx.acked));
	return true;
}

static bool do_shut(struct direction *d)
{
	if (d->tx.state != SDP_HALF_TX_TCP || d->written < d->total)
		return false;
	sdp_half_tx_fin(&d->tx);
	d->fin = true;
	put_item(d, (struct item){ .kind = FIN }, 1);
	return true;
}

static bool do_ack(struct state *s, int i)
{
	struct direction *d = &s->d[i];
	u64 pos = 0;
	u8 n = 0;
	bool tell;

	if (!s->carrier[i] || !d->keeps || (s32)(d->taken - d->kept[0].mseq) < 0)
		return false;
	/* One that covers more messages is this one and the next ones. */
	d->acked = d->kept[0].mseq;
	while (n < d->keeps && (s32)(d->kept[n].mseq - d->acked) <= 0)
		pos = d->kept[n++].end;
	d->keeps -= n;
	memmove(d->kept, d->kept + n, d->keeps * sizeof(*d->kept));
	tell = !sdp_half_tx_sure(&d->tx) && !local;
	expect(sdp_half_tx_acked(&d->tx, pos) == tell && sdp_half_tx_sure(&d->tx),
	       "acknowledged bytes make nobody sure");
	if (tell && d->messages < ROOM)
		post(s, i, (struct message){ .kind = NOTE });
	return true;
}

/* --- the receiver -------------------------------------------------------------- */

/* A program that reads when it likes has the order from the positions: see do_read(). */
static void accept_bytes(struct direction *d, u32 pos, u32 len)
{
	expect(lazy || pos == d->got, "bytes lost, doubled or out of order");
	if (d->got < pos + len)
		d->got = pos + len;
}

static void queue(struct direction *d, u16 pos, u16 len)
{
	if (!lazy)
		d->read += len;
	else if (d->queue == ROOM)
		bad("no room for the receiver's bytes");
	else
		d->queued[d->queue++] = (struct queued){ pos, len };
}

/* Where nothing is random: a byte, or a record, or one of its two pieces. */
static u32 coming(const struct direction *d)
{
	const struct item *item = d->item;
	u64 end = d->seen + item_len(item) - d->part;

	for (; end <= d->came; end += item_len(item))
		item++;
	if (item->kind != RECORD || (pieces && end - d->came == sizeof(struct sdp_record)))
		return 1;
	return end - d->came;
}

static bool do_come(struct direction *d)
{
	u32 len;

	if (d->came == d->put)
		return false;
	len = d->put - d->came;
	d->came += lazy ? some(len) : coming(d);
	return true;
}

static void look_at_fin(struct direction *d)
{
	expect(sdp_half_rx_fin(&d->rx), "FIN resets the connection");
	expect(d->fin && d->got == d->total, "FIN before the last byte");
	d->end = true;
	consume(d, 1);
}

/* Bytes of TCP that are the program's; false: others come first. */
static bool read_tcp(struct direction *d, u32 len)
{
	const struct item *first = &d->item[0];

	expect(sdp_half_rx_tcp_pos(&d->rx, d->seen) == first->pos, "the receiver counts wrongly");
	if (d->read != first->pos) {
		expect(d->queue, "the program's bytes are out of order");
		return false;
	}
	accept_bytes(d, first->pos, len);
	d->read += len;
	return true;
}

/* Returns false if nothing has changed. */
static bool do_look(struct state *s, int i)
{
	struct direction *d = &s->d[i];
	struct item *first = &d->item[0];
	u32 len = d->came - d->seen, room, used;
	u32 carrier = d->rx.carrier;
	enum sdp_half_bytes verdict;
	bool moved = d->rx.state == SDP_HALF_RX_MOVED;
	u8 data[64];

	if (!len || d->end || wrong)
		return false;
	if (first->kind == FIN) {
		look_at_fin(d);
		return true;
	}
	room = item_len(first) - d->part;
	len = len < room ? len : room;
	len = len < sizeof(data) ? len : sizeof(data);
	len = lazy ? some(len) : len;
	peek(d, data, len);
	verdict = sdp_half_rx_tcp(&d->rx, ISN + (u32)d->seen, data, len, &used);
	switch (verdict) {
	case SDP_HALF_READ:
		expect(first->kind == RUN, "a record is read as data");
		if (!read_tcp(d, used))
			return false;
		break;
	case SDP_HALF_DROP:
		counts[SKIPS] += !moved;
		if (moved)
			expect(first->kind == RECORD, "data are read as a record");
		else
			expect(first->kind == RUN && first->pos + used <= d->got,
			       "bytes are skipped that have not come");
		break;
	case SDP_HALF_CARRIER_OVER:
	case SDP_HALF_CARRIER_STAYS:
		expect(local || first->kind == (used ? RECORD : RUN), "a wrong kind of return");
		if (used) {
			expect(first->type == (verdict == SDP_HALF_CARRIER_OVER ?
					       SDP_HALF_OVER : SDP_HALF_STAYS),
			       "a wrong type of return");
			counts[RECORDS]++;
		} else {
			counts[d->rx.state == SDP_HALF_RX_SKIP ? RAW : RAW_NONE]++;
		}
		break;
	case SDP_HALF_ABORT:
		bad("a reset");
		return false;
	}
	if (used)
		consume(d, used);
	if (verdict == SDP_HALF_CARRIER_OVER && carrier && s->carrier[!i] == carrier)
		lose(s, !i);
	return true;
}

static bool do_read(struct direction *d)
{
	struct queued *first = &d->queued[0];
	u32 len;

	if (!d->queue || first->pos != d->read)
		return false;
	len = some(first->len);
	d->read += len;
	first->pos += len;
	first->len -= len;
	if (!first->len)
		memmove(first, first + 1, --d->queue * sizeof(*first));
	return true;
}

static bool take_switch(struct state *s, int i, const struct message *m)
{
	struct direction *d = &s->d[i];
	siphash_key_t key = key_of(m->token);

	switch (sdp_half_rx_switch(&d->rx, s->carrier[!i], m->n, m->pos, local ? NULL : &key,
				   ISN + (u32)d->came, d->came)) {
	case SDP_HALF_TAKE:
		d->rx_token = m->token;
		return true;
	case SDP_HALF_HOLD:
		counts[HOLDS]++;
		return false;
	case SDP_HALF_STALE:
		counts[STALES]++;
		lose(s, !i);
		return false;
	default:
		bad("a bad Switch");
		return false;
	}
}

static void take_data(struct state *s, int i, const struct message *m)
{
	struct direction *d = &s->d[i];
	u64 before = d->rx.pos;
	u32 drop = sdp_half_rx_data(&d->rx, s->carrier[!i], value(m->pos), m->len);

	if (drop == m->len)
		return;
	expect(before == m->pos + drop, "a carrier's bytes have a wrong position");
	accept_bytes(d, m->pos + drop, m->len - drop);
	queue(d, m->pos + drop, m->len - drop);
	d->pair_pos = d->rx.pos;
}

static void take_flag(struct direction *d, u32 carrier)
{
	sdp_half_rx_sure(&d->rx, carrier);
	expect(d->rx.sure || d->rx.state != SDP_HALF_RX_MOVED || d->rx.carrier != carrier,
	       "a flag is not seen");
}

static bool do_take(struct state *s, int i)
{
	struct direction *d = &s->d[i];
	struct message m = d->message[0];
	u32 carrier = s->carrier[!i];

	if (!carrier || !d->messages || d->queue == ROOM)
		return false;
	if (m.kind == SWITCH && !take_switch(s, i, &m))
		return s->carrier[!i] != carrier;
	d->messages--;
	memmove(d->message, d->message + 1, d->messages * sizeof(m));
	d->taken++;
	if (m.sure)
		take_flag(d, carrier);
	if (m.kind == DATA)
		take_data(s, i, &m);
	/* The other direction is to return. */
	if (m.kind == LEAVE && !do_return(s, !i, true))
		do_return(s, !i, false);
	return true;
}

static bool do_ask(struct state *s, int i)
{
	struct direction *d = &s->d[i], *back = &s->d[!i];

	if (!lazy || !s->carrier[!i] || d->asked || d->rx.state != SDP_HALF_RX_MOVED ||
	    back->messages == ROOM)
		return false;
	d->asked = true;
	post(s, !i, (struct message){ .kind = LEAVE });
	return true;
}

/* --- steps --------------------------------------------------------------------- */

/* One step of direction or end @e; false: there is none, or nothing has changed. */
bool step(struct state *s, enum what act, int e)
{
	struct direction *d = &s->d[e];

	switch (act) {
	case JOIN:
		if (s->carrier[0] || s->carrier[1])
			return false;
		join(s);
		return true;
	case KILL:
		if (!s->carrier[e])
			return false;
		lose(s, e);
		return true;
	case WRITE:	return do_write(s, e);
	case MOVE:	return do_move(s, e);
	case AGAIN:	return do_again(s, e);
	case OVER:	return do_return(s, e, false);
	case STAY:	return do_return(s, e, true);
	case PUT:	return do_put(d);
	case SHUT:	return do_shut(d);
	case COME:	return do_come(d);
	case LOOK:	return do_look(s, e);
	case READ:	return do_read(d);
	case TAKE:	return do_take(s, e);
	case ACK:	return do_ack(s, e);
	case ASK:	return do_ask(s, e);
	default:	return false;
	}
}

/* --- what needs no order ------------------------------------------------------- */

/* Is there a Switch with this sequence number on the carrier? */
static bool has_switch(const struct direction *d, u32 n)
{
	for (int i = 0; i < d->messages; i++)
		if (d->message[i].kind == SWITCH && d->message[i].n == n)
			return true;
	return false;
}

/*
 * Does the next step of TCP lead to the same states before and after each other step?  The
 * sequence number of a Switch that comes later is that of the end of what is in TCP now, or
 * a higher one.  So only one that is on its way can be taken in before a byte, but not after
 * it: the one with the byte's number.
 */
static bool tcp_is_free(const struct direction *d)
{
	if (d->rx.state != SDP_HALF_RX_MOVED)
		return !has_switch(d, ISN + (u32)d->came);
	/* What comes at @n ends it, unless a carrier brings something first. */
	return !d->rx.carrier && !has_switch(d, d->rx.n);
}

/* No Switch is taken in or refused for what a program has read. */
static bool look_is_free(const struct direction *d)
{
	return d->rx.state != SDP_HALF_RX_MOVED || tcp_is_free(d);
}

/* Will the next message be dropped, whenever it is taken? */
static bool message_is_free(const struct state *s, int i)
{
	const struct direction *d = &s->d[i];

	return s->carrier[!i] && d->messages && d->message[0].kind == DATA &&
	       (d->rx.state != SDP_HALF_RX_MOVED || d->rx.carrier != s->carrier[!i]);
}

/*
 * Do steps of which the order does not matter, so that fewer states are to be looked at.
 * None of them can be done for ever.
 */
void settle(struct state *s)
{
	bool moved = true;

	while (moved && !wrong) {
		moved = false;
		for (int i = 0; i < 2; i++) {
			struct direction *d = &s->d[i];

			if (message_is_free(s, i))
				moved |= do_take(s, i);
			if (tcp_is_free(d))
				moved |= do_come(d);
			if (look_is_free(d))
				moved |= do_look(s, i);
		}
	}
}

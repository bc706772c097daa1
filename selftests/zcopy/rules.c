// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of sdpdev/sdp/zcopy.c and write.c: a source and a sink, and all that may happen to
 * them and to the messages between them, in all orders, in Combined and in Pipelined mode.  In
 * each state the sink reads only what the source lets it, and the source writes only where the
 * sink lets it; the bytes come in their order, and in the end both know the same.  Before that,
 * one end each gets messages from a peer that keeps no rule.
 *
 *	rules		"N states", or what went wrong and how it came to that
 *
 * Exit status 1 if something went wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdp/write.h"
#include "sdp/zcopy.h"

#define ROUNDS	2		/* SrcAvail messages, one behind the other */
#define ROOMS	2		/* SinkAvail messages */
#define DATAS	1		/* Data messages */
#define LONGEST	2		/* bytes of an advertisement */
#define WIRE	8		/* messages on their way in one direction */
#define STATES	(1 << 20)	/* a power of two */
#define HOSTILE	500000

enum mid {
	NOTHING, SRC_AVAIL, CANCEL, DATA, WR_COMPL, SINK_ACK,	/* the source's */
	RD_COMPL, SEND_SM, SINK_AVAIL, SINK_CANCEL,		/* the sink's */
};

/**
 * struct message - one on its way
 * @mid: its kind
 * @len: bytes that it tells of
 * @first: of SrcAvail: bytes that come along
 * @pos: where its first byte is in the stream
 * @count: of SinkAvail: NonDiscards
 */
struct message {
	u8 mid;
	u8 len;
	u8 first;
	u8 pos;
	u8 count;
};

/**
 * struct world - both ends of one half connection; compared as bytes
 * @src: what the source advertises
 * @target: what it may write into
 * @sink: what the source advertises, as the sink knows it
 * @room: what the sink advertises
 * @there: messages to the sink
 * @back: messages to the source
 * @pipelined: the mode, else Combined
 * @rounds: SrcAvail messages so far
 * @rooms: SinkAvail messages so far, which is the key of the last one
 * @datas: Data messages so far
 * @sent: the last SrcAvail has been
 * @pos: bytes that the source counts
 * @at: bytes that the sink has
 */
struct world {
	struct sdp_src src;
	struct sdp_target target;
	struct sdp_sink sink;
	struct sdp_room room;
	struct message there[WIRE], back[WIRE];
	u8 pipelined;
	u8 rounds;
	u8 rooms;
	u8 datas;
	u8 sent;
	u8 pos;
	u8 at;
};

static struct world *seen;
static int *parent;
static unsigned int count;
static int *table;
static const char *wrong;
static int from;

static void visit(const struct world *w)
{
	unsigned int hash = 2166136261u, at;
	const unsigned char *bytes = (const unsigned char *)w;

	for (size_t i = 0; i < sizeof(*w); i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	for (at = hash & (2 * STATES - 1); table[at] >= 0; at = (at + 1) & (2 * STATES - 1))
		if (!memcmp((const unsigned char *)&seen[table[at]], bytes, sizeof(*w)))
			return;
	if (count == STATES) {
		wrong = "too many states";
		return;
	}
	seen[count] = *w;
	parent[count] = from;
	table[at] = count++;
}

static void put(struct message *wire, struct message m)
{
	int i = 0;

	while (i < WIRE && wire[i].mid)
		i++;
	if (i == WIRE)
		wrong = "too many messages";
	else
		wire[i] = m;
}

static struct message get(struct message *wire)
{
	struct message m = wire[0];

	memmove(wire, wire + 1, (WIRE - 1) * sizeof(*wire));
	memset(&wire[WIRE - 1], 0, sizeof(*wire));
	return m;
}

/* --- what may happen: each makes one more world --------------------------------------- */

/* No message with stream bytes goes now. */
static bool is_held(const struct world *w)
{
	return w->target.say_written || w->target.say_acks || sdp_src_is_out(&w->src) ||
	       w->src.state == SDP_SRC_QUEUED;
}

/* Where the next byte is, though a program may not have heard of those before. */
static u8 end_of(const struct world *w)
{
	struct sdp_src copy = w->src;

	return w->pos + (copy.state == SDP_SRC_ANSWERED ? sdp_src_take(&copy) : 0);
}

static void source_begins(const struct world *now)
{
	struct world w;

	if (now->src.state != SDP_SRC_IDLE || now->rounds == ROUNDS || now->target.n)
		return;
	for (u8 len = 1; len <= LONGEST; len++) {
		w = *now;
		memset(&w.src, 0, sizeof(w.src));
		sdp_src_queue(&w.src, len, !now->pipelined);
		w.rounds++;
		w.sent = 0;
		visit(&w);
	}
}

static void source_sends(const struct world *now)
{
	struct world w = *now;

	if (now->target.say_written)
		return;
	if (now->src.state == SDP_SRC_QUEUED && !now->target.say_acks) {
		put(w.there, (struct message){
			SRC_AVAIL, now->src.len, now->src.first, end_of(now), 0
		});
		if (now->src.first)
			sdp_target_stream(&w.target);
		sdp_src_sent(&w.src);
		w.sent = 1;
		visit(&w);
	}
	w = *now;
	if (now->src.say_cancel) {
		put(w.there, (struct message){ .mid = CANCEL });
		w.src.say_cancel = false;
		visit(&w);
	}
	w = *now;
	if (now->datas < DATAS && !is_held(now)) {
		put(w.there, (struct message){ DATA, 1, 0, end_of(now), 0 });
		sdp_target_stream(&w.target);
		w.datas++;
		w.pos++;
		visit(&w);
	}
	w = *now;
	if (now->target.say_acks) {
		put(w.there, (struct message){ .mid = SINK_ACK });
		w.target.say_acks--;
		visit(&w);
	}
}

static void source_writes(const struct world *now)
{
	struct world w = *now;
	u32 n;

	if (now->target.say_written) {
		n = now->target.say_written;
		put(w.there, (struct message){ WR_COMPL, n, 0, end_of(now) - n, 0 });
		w.target.say_written = 0;
		visit(&w);
	}
	if (!sdp_target_may_write(&now->target) || is_held(now))
		return;
	for (u8 most = 1; most <= LONGEST; most++) {
		w = *now;
		if (!sdp_room_is_out(&now->room) || now->target.open[0].key != now->rooms)
			wrong = "memory is written that is the program's again";
		n = sdp_target_write(&w.target, most);
		if (n > now->room.len)
			wrong = "memory behind the end is written";
		w.pos += n;
		visit(&w);
	}
}

static void source_ends(const struct world *now)
{
	struct world w = *now;

	if (now->src.state == SDP_SRC_ANSWERED) {
		w.pos += sdp_src_take(&w.src);
		/* Unless others have sent something meanwhile. */
		if (now->sent && !now->there[0].mid && !now->target.say_written && w.pos != w.at)
			wrong = "the ends do not agree about the bytes";
		visit(&w);
	}
	w = *now;
	if (now->src.state == SDP_SRC_QUEUED || now->src.state == SDP_SRC_OFFERED) {
		if (sdp_src_cancel(&w.src) && now->sent)
			wrong = "an advertisement was withdrawn that has been sent";
		visit(&w);
	}
}

static void sink_reads(const struct world *now)
{
	struct world w;

	for (u8 most = 1; now->sink.state == SDP_SINK_OFFERED && most <= LONGEST; most++) {
		w = *now;
		if (!sdp_sink_read(&w.sink, most))
			wrong = "an offer cannot be read";
		visit(&w);
	}
	if (now->sink.state == SDP_SINK_OFFERED) {
		w = *now;
		sdp_sink_refuse(&w.sink);
		visit(&w);
	}
	for (int good = 0; now->sink.reading && good < 2; good++) {
		w = *now;
		w.at += good ? now->sink.reading : 0;
		sdp_sink_read_done(&w.sink, good ? now->sink.reading : 0);
		visit(&w);
	}
}

/* In Combined mode only as the answer to SrcAvail. */
static bool may_invite(const struct world *w)
{
	if (!sdp_room_may(&w->room) || w->rooms == ROOMS || w->sink.say_read || w->sink.say_sm)
		return false;
	return w->pipelined ? !sdp_sink_is_open(&w->sink) && !w->sink.refusing :
			      w->sink.state == SDP_SINK_OFFERED;
}

static void sink_advertises(const struct world *now)
{
	struct world w;

	for (u8 len = 1; may_invite(now) && len <= LONGEST; len++) {
		w = *now;
		if (now->sink.state == SDP_SINK_OFFERED)
			sdp_sink_crossed(&w.sink);
		put(w.back, (struct message){ SINK_AVAIL, len, 0, 0, now->room.nondiscards });
		sdp_room_offer(&w.room, len);
		w.rooms++;
		visit(&w);
	}
	w = *now;
	if (now->room.state == SDP_ROOM_OFFERED) {
		sdp_room_cancel(&w.room);
		visit(&w);
	}
	w = *now;
	if (now->room.say_cancel) {
		put(w.back, (struct message){ .mid = SINK_CANCEL });
		w.room.say_cancel = false;
		visit(&w);
	}
	w = *now;
	if (now->room.state == SDP_ROOM_ANSWERED) {
		sdp_room_take(&w.room);
		visit(&w);
	}
}

static void sink_tells(const struct world *now)
{
	struct world w = *now;

	if (now->sink.say_read) {
		put(w.back, (struct message){ .mid = RD_COMPL, .len = now->sink.say_read });
		sdp_sink_told(&w.sink);
		visit(&w);
	} else if (now->sink.say_sm) {
		put(w.back, (struct message){ .mid = SEND_SM });
		w.sink.say_sm--;
		visit(&w);
	}
}

/* Bytes of the stream, which are the next. */
static void arrive(struct world *w, struct message m, u8 bytes)
{
	if (m.pos != w->at)
		wrong = "bytes come out of order";
	w->at += bytes;
}

static bool src_avail(struct world *w, struct message m)
{
	struct sdp_advert advert = { .key = 7, .len = m.len };

	if (m.first)
		sdp_room_stream(&w->room);
	if (sdp_room_is_out(&w->room)) {
		sdp_sink_crossed(&w->sink);
		return true;
	}
	arrive(w, m, m.first);
	return sdp_sink_offered(&w->sink, &advert, m.first, w->pipelined);
}

static void arrives_there(const struct world *now)
{
	struct world w = *now;
	struct message m = get(w.there);
	bool good = true;

	switch (m.mid) {
	case NOTHING:
		return;
	case SRC_AVAIL:
		good = src_avail(&w, m);
		break;
	case CANCEL:
		good = sdp_sink_cancel(&w.sink);
		break;
	case DATA:
		good = !sdp_sink_is_open(&w.sink);
		sdp_room_stream(&w.room);
		sdp_sink_stream(&w.sink);
		arrive(&w, m, 1);
		break;
	case WR_COMPL:
		good = sdp_room_written(&w.room, m.len);
		arrive(&w, m, m.len);
		break;
	case SINK_ACK:
		good = sdp_room_ack(&w.room);
		break;
	}
	if (!good)
		wrong = "the sink does not understand the source";
	visit(&w);
}

static void arrives_back(const struct world *now)
{
	struct world w = *now;
	struct message m = get(w.back);
	struct sdp_advert advert = { .len = m.len };
	bool good = true, stale = true;

	switch (m.mid) {
	case NOTHING:
		return;
	case RD_COMPL:
		good = sdp_src_read(&w.src, m.len);
		break;
	case SEND_SM:
		good = sdp_src_send_sm(&w.src);
		break;
	case SINK_AVAIL:
		/* None comes before the one before it is answered. */
		for (int i = 0; i < WIRE; i++)
			advert.key += w.back[i].mid == SINK_AVAIL;
		advert.key = w.rooms - advert.key;
		good = sdp_target_offered(&w.target, &advert, m.count, &stale);
		if (!stale)
			sdp_src_crossed(&w.src);
		break;
	case SINK_CANCEL:
		sdp_target_cancel(&w.target);
		break;
	}
	if (!good)
		wrong = "the source does not understand the sink";
	visit(&w);
}

/* Nothing is on its way, nor will be before a program does something. */
static bool is_quiet(const struct world *w)
{
	return !w->there[0].mid && !w->back[0].mid && !w->src.say_cancel && !w->sink.say_read &&
	       !w->sink.say_sm && !w->sink.reading && !w->target.say_written &&
	       !w->target.say_acks && !w->room.say_cancel;
}

static void look(const struct world *w)
{
	if (w->sink.reading && !sdp_src_is_out(&w->src))
		wrong = "memory is read that is the program's again";
	if (w->sink.reading > w->sink.now.len - w->sink.got)
		wrong = "memory behind the end is read";
	if (!is_quiet(w))
		return;
	if (sdp_src_is_out(&w->src) && w->sink.state != SDP_SINK_OFFERED)
		wrong = "the source waits for ever";
	/* That the sink's program reads is not for the source to wait for. */
	if (w->src.state == SDP_SRC_CANCELLED)
		wrong = "a cancellation has no answer";
	if (w->room.state == SDP_ROOM_CANCELLED || w->room.ack_due)
		wrong = "the sink waits for ever";
	if (sdp_room_is_out(&w->room) != !!w->target.n ||
	    w->room.nondiscards != w->target.nondiscards)
		wrong = "the ends do not agree about what is void";
	if (w->src.state == SDP_SRC_IDLE && w->pos != w->at)
		wrong = "the ends do not agree about the bytes";
}

static void show_one(const struct world *w)
{
	static const char *const srcs[] = { "idle", "queued", "offered", "cancelled", "answered" };
	static const char *const sinks[] = {
		"none", "offered", "reading", "cancelled", "answered"
	};
	static const char *const rooms[] = { "none", "offered", "cancelled", "answered" };

	printf("# source %s, %u of %u read, %u open; sink %s, %u of %u; room %s; bytes %u %u;",
	       srcs[w->src.state], w->src.read, w->src.len, w->target.n, sinks[w->sink.state],
	       w->sink.got, w->sink.now.len, rooms[w->room.state], w->pos, w->at);
	printf(" messages %u %u %u, %u %u %u\n", w->there[0].mid, w->there[1].mid,
	       w->there[2].mid, w->back[0].mid, w->back[1].mid, w->back[2].mid);
}

/* How it came to a state: from the first one on. */
static void show(int last)
{
	int i, next = -1, before;

	for (i = last; i >= 0; i = before) {
		before = parent[i];
		parent[i] = next;
		next = i;
	}
	for (i = next; i >= 0; i = parent[i])
		show_one(&seen[i]);
}

static void all_states(void)
{
	static void (*const acts[])(const struct world *now) = {
		source_begins, source_sends, source_writes, source_ends, sink_reads,
		sink_advertises, sink_tells, arrives_there, arrives_back,
	};
	static struct world w;

	from = -1;
	visit(&w);
	w.pipelined = 1;
	visit(&w);
	for (unsigned int i = 0; i < count && !wrong; i++) {
		from = i;
		for (unsigned int j = 0; j < sizeof(acts) / sizeof(*acts); j++)
			acts[j](&seen[i]);
		look(&seen[i]);
	}
}

/* --- peers that keep no rule ------------------------------------------------------------ */

static struct sdp_src src;
static struct sdp_sink sink;
static struct sdp_room room;
static struct sdp_target target;

/* A small number, or any. */
static u32 any(void)
{
	return random() % 3 ? random() % 8 : (u32)random() * 2;
}

static void hostile_source(void)
{
	struct sdp_advert advert = { .len = any() };

	switch (random() % 9) {
	case 0:
		sdp_sink_offered(&sink, &advert, random() % 8, random() % 2);
		break;
	case 1:
		sdp_sink_cancel(&sink);
		break;
	case 2:
		sdp_sink_read(&sink, random() % 8);
		break;
	case 3:
		if (sink.reading)
			sdp_sink_read_done(&sink, random() % 2 ? sink.reading : 0);
		break;
	case 4:
		sdp_sink_refuse(&sink);
		sink.say_sm = 0;
		break;
	case 5:
		if (sink.say_read)
			sdp_sink_told(&sink);
		sdp_sink_stream(&sink);
		sdp_room_stream(&room);
		break;
	case 6:
		sdp_room_written(&room, any());
		break;
	case 7:
		sdp_room_ack(&room);
		break;
	default:
		if (room.state == SDP_ROOM_ANSWERED && sdp_room_take(&room) > room.len)
			wrong = "more was written than there is";
		if (sdp_room_may(&room))
			sdp_room_offer(&room, 1 + random() % 8);
		else if (random() % 2)
			sdp_room_cancel(&room);
		room.say_cancel = false;
	}
}

static void hostile_sink(void)
{
	struct sdp_advert advert = { .len = 1 + any() };
	bool stale;

	switch (random() % 6) {
	case 0:
		sdp_src_read(&src, any());
		break;
	case 1:
		sdp_src_send_sm(&src);
		break;
	case 2:
		if (src.state == SDP_SRC_IDLE)
			sdp_src_queue(&src, 1 + random() % 8, 1);
		else if (src.state == SDP_SRC_QUEUED)
			sdp_src_sent(&src);
		break;
	case 3:
		if (src.state == SDP_SRC_ANSWERED && sdp_src_take(&src) > 8)
			wrong = "more was read than there is";
		else if (random() % 2)
			sdp_src_cancel(&src);
		break;
	case 4:
		sdp_target_offered(&target, &advert,
				   random() % 2 ? target.nondiscards : any(), &stale);
		if (!stale)
			sdp_src_crossed(&src);
		break;
	default:
		if (random() % 4 == 0)
			sdp_target_cancel(&target);
		else if (random() % 2)
			sdp_target_stream(&target);
		else if (sdp_target_may_write(&target))
			sdp_target_write(&target, 1 + random() % 8);
		target.say_written = 0;
		target.say_acks = 0;
	}
}

static void hostile(void)
{
	for (int i = 0; i < HOSTILE && !wrong; i++) {
		if (random() % 2)
			hostile_source();
		else
			hostile_sink();
		if (sink.got > sink.now.len || sink.reading > sink.now.len - sink.got ||
		    sink.told > sink.got || sink.waiting >= SDP_MAX_ADVERTS ||
		    src.read > src.len || target.n > SDP_MAX_ADVERTS)
			wrong = "a peer makes an end count wrong";
		if (!!sink.reading != (sink.state == SDP_SINK_READING ||
				       sink.state == SDP_SINK_CANCELLED))
			wrong = "a peer makes an end forget a read";
	}
}

int main(void)
{
	seen = malloc(STATES * sizeof(*seen));
	parent = malloc(STATES * sizeof(*parent));
	table = malloc(2 * STATES * sizeof(*table));
	if (!seen || !parent || !table)
		return 2;
	memset(table, 0xff, 2 * STATES * sizeof(*table));
	hostile();
	if (wrong) {
		printf("%s\n", wrong);
		return 1;
	}
	all_states();
	if (wrong) {
		printf("%s\n", wrong);
		show(from);
		return 1;
	}
	printf("%u states\n", count);
	return 0;
}

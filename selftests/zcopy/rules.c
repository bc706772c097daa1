// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of sdpdev/sdp/zcopy.c: a source and a sink, and all that may happen to them and to the
 * messages between them, in all orders.  In each state the sink reads only what the source lets
 * it; in the end both know the same bytes.  Then one end each gets messages from a peer that
 * keeps no rule.
 *
 *	rules		"N states", or what went wrong and how it came to that
 *
 * Exit status 1 if something went wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdp/zcopy.h"

#define ROUNDS	2		/* advertisements, one behind the other */
#define LONGEST	4		/* bytes of one */
#define WIRE	6		/* messages on their way in one direction */
#define STATES	(1 << 20)	/* a power of two */
#define HOSTILE	3000000

enum mid { NOTHING, SRC_AVAIL, CANCEL, DATA, RD_COMPL, SEND_SM };

struct message {
	u8 mid;
	u8 len;
	u8 first;
};

/* Compared as bytes: all of it is zero before it is set. */
struct world {
	struct sdp_src src;
	struct sdp_sink sink;
	struct message there[WIRE], back[WIRE];
	u8 rounds;
	u8 sent;	/* the advertisement has been */
	u8 data;	/* a message with bytes may follow */
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

static void put(struct message *wire, u8 mid, u8 len, u8 first)
{
	int i = 0;

	while (i < WIRE && wire[i].mid)
		i++;
	if (i == WIRE)
		wrong = "too many messages";
	else
		wire[i] = (struct message){ mid, len, first };
}

static struct message get(struct message *wire)
{
	struct message m = wire[0];

	memmove(wire, wire + 1, (WIRE - 1) * sizeof(*wire));
	memset(&wire[WIRE - 1], 0, sizeof(*wire));
	return m;
}

/* --- what may happen: each makes one more world --------------------------------------- */

static void source_acts(const struct world *now)
{
	struct world w = *now;
	u32 has;

	switch (now->src.state) {
	case SDP_SRC_IDLE:
		for (u8 len = 1; len <= LONGEST && now->rounds < ROUNDS; len++) {
			w = *now;
			memset(&w.src, 0, sizeof(w.src));
			sdp_src_queue(&w.src, len, 1);
			w.rounds++;
			w.sent = 0;
			visit(&w);
		}
		break;
	case SDP_SRC_QUEUED:
		put(w.there, SRC_AVAIL, now->src.len, now->src.first);
		sdp_src_sent(&w.src);
		w.sent = 1;
		visit(&w);
		break;
	case SDP_SRC_ANSWERED:
		has = sdp_src_take(&w.src);
		if (has != (now->sent ? now->sink.got : 0))
			wrong = "the ends do not agree about the bytes";
		w.data = 1;
		visit(&w);
		break;
	}
	w = *now;
	if (now->src.state == SDP_SRC_QUEUED || now->src.state == SDP_SRC_OFFERED) {
		if (sdp_src_cancel(&w.src) && now->sent)
			wrong = "an advertisement was withdrawn that has been sent";
		visit(&w);
	}
	w = *now;
	if (now->src.say_cancel) {
		put(w.there, CANCEL, 0, 0);
		w.src.say_cancel = false;
		visit(&w);
	}
	w = *now;
	if (now->data && !sdp_src_is_out(&now->src)) {
		put(w.there, DATA, 0, 0);
		w.data = 0;
		visit(&w);
	}
}

static void sink_acts(const struct world *now)
{
	struct world w;

	for (u8 most = 1; now->sink.state == SDP_SINK_OFFERED && most < LONGEST; most++) {
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
		sdp_sink_read_done(&w.sink, good ? now->sink.reading : 0);
		visit(&w);
	}
	w = *now;
	if (now->sink.say_read) {
		put(w.back, RD_COMPL, now->sink.say_read, 0);
		w.sink.say_read = 0;
		visit(&w);
	} else if (now->sink.say_sm) {
		put(w.back, SEND_SM, 0, 0);
		w.sink.say_sm--;
		visit(&w);
	}
}

static void arrives(const struct world *now)
{
	struct world w = *now;
	struct message m = get(w.there);
	bool good = true;

	if (m.mid == SRC_AVAIL)
		good = sdp_sink_offered(&w.sink, m.len, m.first, 7, 1000);
	else if (m.mid == CANCEL)
		good = sdp_sink_cancel(&w.sink);
	else if (m.mid == DATA)
		good = !sdp_sink_is_open(&w.sink);
	if (!good)
		wrong = "the sink does not understand the source";
	if (m.mid)
		visit(&w);
	w = *now;
	m = get(w.back);
	if (m.mid == RD_COMPL)
		good = sdp_src_read(&w.src, m.len);
	else if (m.mid == SEND_SM)
		good = sdp_src_send_sm(&w.src);
	if (!good)
		wrong = "an end does not understand the other";
	if (m.mid)
		visit(&w);
}

static void look(const struct world *w, unsigned int before)
{
	if (w->sink.reading && !sdp_src_is_out(&w->src))
		wrong = "memory is read that is the program's again";
	if (w->sink.reading > w->sink.len - w->sink.got)
		wrong = "memory behind the end is read";
	/* That the sink's program reads is not for the source to wait for. */
	if (w->src.state == SDP_SRC_CANCELLED && !w->src.say_cancel && !w->there[0].mid &&
	    w->sink.state == SDP_SINK_OFFERED)
		wrong = "a cancellation has no answer";
	if (count != before)
		return;
	/* Nothing can happen any more, or only what has happened before. */
	if (w->rounds == ROUNDS && w->src.state == SDP_SRC_IDLE)
		return;
	if (w->there[0].mid || w->back[0].mid || w->src.state == SDP_SRC_IDLE ||
	    w->src.state == SDP_SRC_QUEUED || w->src.state == SDP_SRC_ANSWERED ||
	    w->src.say_cancel || w->sink.say_read || w->sink.say_sm || w->sink.reading ||
	    w->sink.state == SDP_SINK_OFFERED)
		return;
	wrong = "both wait for ever";
}

static void show_one(const struct world *w)
{
	static const char *const src[] = { "idle", "queued", "offered", "cancelled", "answered" };
	static const char *const sink[] = { "none", "offered", "reading", "cancelled", "answered" };

	printf("# source %s, %u of %u read; sink %s, %u of %u; messages %u %u %u, %u %u %u\n",
	       src[w->src.state], w->src.read, w->src.len, sink[w->sink.state], w->sink.got,
	       w->sink.len, w->there[0].mid, w->there[1].mid, w->there[2].mid, w->back[0].mid,
	       w->back[1].mid, w->back[2].mid);
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
	static struct world w;

	from = -1;
	visit(&w);
	for (unsigned int i = 0; i < count && !wrong; i++) {
		unsigned int before = count;

		from = i;
		source_acts(&seen[i]);
		sink_acts(&seen[i]);
		arrives(&seen[i]);
		look(&seen[i], before);
	}
}

/* --- peers that keep no rule ------------------------------------------------------------ */

static void hostile(void)
{
	struct sdp_sink sink = {};
	struct sdp_src src = {};

	for (int i = 0; i < HOSTILE && !wrong; i++) {
		u32 n = random() % 3 ? random() % 8 : (u32)random() * 2;

		switch (random() % 9) {
		case 0:
			sdp_sink_offered(&sink, n, random() % 8, 7, (u64)random() << 33);
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
			sink.say_read = 0;
			sdp_src_read(&src, n);
			break;
		case 6:
			sdp_src_send_sm(&src);
			break;
		case 7:
			if (src.state == SDP_SRC_IDLE)
				sdp_src_queue(&src, 1 + random() % 8, 1);
			else if (src.state == SDP_SRC_QUEUED)
				sdp_src_sent(&src);
			break;
		default:
			if (src.state == SDP_SRC_ANSWERED && sdp_src_take(&src) > 8)
				wrong = "more was read than there is";
			else if (random() % 2)
				sdp_src_cancel(&src);
		}
		if (sink.got > sink.len || sink.reading > sink.len - sink.got ||
		    sink.told > sink.got || src.read > src.len)
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
	all_states();
	if (wrong) {
		printf("%s\n", wrong);
		show(from);
		return 1;
	}
	hostile();
	if (wrong) {
		printf("%s\n", wrong);
		return 1;
	}
	printf("%u states\n", count);
	return 0;
}

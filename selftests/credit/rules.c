// SPDX-License-Identifier: GPL-2.0
/*
 * Two ends of a connection that follow the rules of sdpdev/sdp/credit.c, or one of them and
 * an end that follows the published rules of another implementation, in random
 * schedules.  Each schedule must end with all bytes delivered to each program that
 * reads, and with few messages while both programs sleep.
 *
 *   rules [--seed N] SCHEDULES	"N schedules", or what went wrong with the first bad one
 *   rules --show SEED		that schedule, event by event
 *
 * Exit status 1 if a schedule was bad.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/minmax.h>

#include "sdp/credit.h"

#define WIRE	1024		/* messages on their way in one direction */

enum kind { DATA, EMPTY, SRC_AVAIL, CANCEL, SEND_SM, DISCONN };

static const char *const kind_name[] = {
	"Data", "empty", "SrcAvail", "SrcAvailCancel", "SendSm", "DisConn",
};

struct message {
	enum kind kind;
	u32 bufs, mseq, ack;
};

/* One end, and its program. */
struct end {
	struct sdp_credit c;
	char name;
	bool foreign;		/* OFED's rules, and SrcAvail */
	u32 small;		/* of so many writes one is advertised */
	s32 left;		/* credits that its DisConn leaves at least */
	bool reads;		/* at the end of the schedule */
	bool holds;		/* the program leaves a message until the next one is there */
	u32 least;		/* receive buffers of an idle end */
	unsigned int pending;	/* messages with stream bytes that wait for credits */
	unsigned int written;	/* all of them */
	unsigned int unread;
	unsigned int got;	/* read */
	unsigned int owed;	/* SendSm */
	bool waits;		/* the program is in write(2) until SendSm comes */
	bool cancelled;		/* it has said that it waits no more, and still does */
	bool shut;
	bool grow, no_memory;
	unsigned int slow;	/* of 16 chances to read it lets so many go by */
	unsigned int head, tail;	/* of what is on its way from it */
};

static struct end ends[2];
static struct message wires[2][WIRE];
static unsigned int sent;		/* messages, of both */
static bool show;
static const char *wrong;
static uint64_t state;

static u32 draw(u32 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (u32)((state >> 32) * below >> 32);
}

__attribute__((format(printf, 1, 2)))
static void say(const char *format, ...)
{
	va_list args;

	if (!show)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

static struct end *other(const struct end *e)
{
	return &ends[e == ends];
}

static void post(struct end *e, enum kind kind)
{
	struct sdp_credit *c = &e->c;

	if (e->head - e->tail == WIRE) {
		wrong = "too many messages under way";
		return;
	}
	sdp_credit_sent(c);
	wires[e - ends][e->head++ % WIRE] = (struct message){
		kind, c->adv_bufs, c->tx_mseq, c->adv_mseq,
	};
	sent++;
	say("%c sends %s: Bufs %u, credits %d left\n", e->name, kind_name[kind], c->adv_bufs,
	    sdp_credit_tx(c));
}

/* --- the rules ----------------------------------------------------------------- */

/* What OFED does whenever something has changed. */
static void push_foreign(struct end *e)
{
	struct sdp_credit *c = &e->c;
	s32 known;

	while (e->pending && !e->waits && sdp_credit_tx(c) > SDP_KEPT_CREDITS) {
		e->pending--;
		/* Some writes are large enough to be advertised. */
		e->waits = !draw(e->small);
		post(e, e->waits ? SRC_AVAIL : DATA);
	}
	known = sdp_credit_rx(c);
	if (known > SDP_KEPT_CREDITS)
		known += known / 2;
	if (known < (s32)c->posted && sdp_credit_tx(c) > 0 && !e->c.fin_rcvd)
		post(e, EMPTY);
	if (e->shut && !e->c.fin_sent && !e->pending && !e->waits && sdp_credit_tx(c) > e->left) {
		e->c.fin_sent = true;
		post(e, DISCONN);
	}
}

/* What sdp_tx_push() does. */
static void push(struct end *e)
{
	struct sdp_credit *c = &e->c;

	if (e->foreign) {
		push_foreign(e);
		return;
	}
	for (; e->owed && sdp_credit_may_answer(c); e->owed--)
		post(e, SEND_SM);
	for (; e->pending && sdp_credit_may_send(c); e->pending--)
		post(e, DATA);
	if (e->shut && !e->c.fin_sent && !e->pending && sdp_credit_may_answer(c)) {
		e->c.fin_sent = true;
		post(e, DISCONN);
	}
	if (sdp_credit_must_update(c))
		post(e, EMPTY);
}

static void repost(struct end *e, bool fresh)
{
	sdp_credit_posted(&e->c, fresh);
}

static void take_data(struct end *e, enum kind kind)
{
	e->unread++;
	e->owed += kind == SRC_AVAIL;
	if (!e->foreign && sdp_credit_wants_more(&e->c))
		e->grow = true;
}

static void take_other(struct end *e, enum kind kind)
{
	e->c.fin_rcvd |= kind == DISCONN;
	if (kind == SEND_SM) {
		e->waits = false;
		e->cancelled = false;
	}
	repost(e, false);
}

/* The next message that is on its way to @e. */
static bool deliver(struct end *e)
{
	struct end *from = other(e);
	const struct message *m;
	bool payload;

	if (from->head == from->tail)
		return false;
	m = &wires[from - ends][from->tail++ % WIRE];
	payload = m->kind == DATA || m->kind == SRC_AVAIL;
	say("%c takes %s\n", e->name, kind_name[m->kind]);
	if (!e->c.posted)
		wrong = "a message without a buffer for it";
	e->c.posted--;
	if (!sdp_credit_received(&e->c, m->mseq, m->ack, m->bufs, payload))
		wrong = "a message without a credit for it";
	if (payload)
		take_data(e, m->kind);
	else
		take_other(e, m->kind);
	push(e);
	return true;
}

/* --- programs and timers ------------------------------------------------------- */

static bool take(struct end *e)
{
	if (!e->unread || e->waits)
		return false;
	e->unread--;
	e->got++;
	say("%c reads\n", e->name);
	repost(e, true);
	push(e);
	return true;
}

static void put(struct end *e, unsigned int messages)
{
	if (e->shut)
		return;
	say("%c writes %u\n", e->name, messages);
	e->pending += messages;
	e->written += messages;
	push(e);
}

static bool grow(struct end *e)
{
	u32 want = min_t(u32, e->c.bufs * 2, e->c.max);

	if (!e->grow)
		return false;
	e->grow = false;
	for (; e->c.bufs < want && !(e->no_memory && draw(4)); e->c.bufs++)
		sdp_credit_posted(&e->c, true);
	say("%c has %u buffers, %u posted\n", e->name, e->c.bufs, e->c.posted);
	push(e);
	return true;
}

/* A sender waits about a second for SendSm, and then sends SrcAvailCancel. */
static bool give_up(struct end *e)
{
	if (!e->waits || e->cancelled || sdp_credit_tx(&e->c) < 2)
		return false;
	e->cancelled = true;
	post(e, CANCEL);
	return true;
}

static void shut(struct end *e)
{
	say("%c shuts\n", e->name);
	e->shut = true;
	push(e);
}

/* --- schedules ----------------------------------------------------------------- */

static void make_end(struct end *e)
{
	static const unsigned char least[] = { 4, 4, 4, 5, 6, 8 };
	static const unsigned char most[] = { 4, 4, 5, 6, 7, 8, 12, 16, 32 };

	*e = (struct end){ .name = 'A' + (e - ends) };
	e->least = least[draw(sizeof(least))];
	e->holds = !draw(4);
	e->foreign = !draw(3);
	e->left = draw(2);
	e->small = 1 + draw(8);
	e->no_memory = !draw(4);
	e->slow = draw(3) * 8;
	e->c.min = e->least;
	e->c.max = e->foreign ? e->least : max_t(u32, e->least, most[draw(sizeof(most))]);
	sdp_credit_init(&e->c);
	while (e->c.bufs < e->c.min) {
		e->c.bufs++;
		sdp_credit_posted(&e->c, true);
	}
}

static void make_ends(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		make_end(&ends[i]);
	/* Two of the others would exchange updates for ever. */
	if (ends[0].foreign)
		ends[1].foreign = false;
	for (i = 0; i < 2; i++) {
		sdp_credit_peer(&ends[i].c, other(&ends[i])->c.posted);
		say("%c: %u to %u buffers%s\n", ends[i].name, ends[i].c.min, ends[i].c.max,
		    ends[i].foreign ? ", OFED" : "");
	}
}

/* What happens, and how often in a schedule of the usual kind. */
enum what { PUT, PUT_MUCH, TAKE, SHUT, GROW, DELIVER, WHATS };

static const unsigned char usual[WHATS] = { 20, 8, 28, 1, 8, 54 };
static u32 weight[WHATS], weights;

static void draw_weights(void)
{
	weights = 0;
	for (int i = 0; i < WHATS; i++) {
		weight[i] = usual[i];
		if (!draw(4))
			weight[i] = draw(4 * usual[i] + 1);
		weights += weight[i];
	}
}

static enum what draw_what(void)
{
	u32 n = draw(weights), what = 0;

	while (n >= weight[what])
		n -= weight[what++];
	return what;
}

static void step(void)
{
	struct end *e = &ends[draw(2)];
	u32 n;

	switch (draw_what()) {
	case PUT:
		put(e, 1 + draw(3));
		break;
	case PUT_MUCH:
		put(e, 1 + draw(24));
		break;
	case TAKE:
		for (n = draw(6); n && draw(16) >= e->slow; n--)
			take(e);
		break;
	case SHUT:
		shut(e);
		break;
	case GROW:
		grow(e);
		break;
	default:
		for (n = 1 + draw(8); n; n--)
			deliver(draw(2) ? e : other(e));
	}
}

/* One round of all that goes on by itself; false: nothing does. */
static bool live(struct end *e)
{
	bool moved = deliver(e);

	moved |= grow(e);
	/* With four buffers, and two of them kept, updates that cross leave no room for two. */
	if (e->reads && e->unread > (e->holds && e->c.bufs > SDP_MIN_BUFS))
		moved |= take(e);
	return moved;
}

/* Until nothing moves.  False: more messages were sent than @most. */
static bool settle(unsigned int most)
{
	unsigned int before = sent;
	bool moved = true;

	while (moved && !wrong) {
		moved = live(&ends[0]);
		moved |= live(&ends[1]);
		if (!moved)
			moved = give_up(&ends[0]) || give_up(&ends[1]);
		if (sent - before > most)
			return false;
	}
	return true;
}

static void check_delivered(struct end *e)
{
	struct end *from = other(e);

	if (wrong || !e->reads)
		return;
	if (e->got + e->unread != from->written)
		wrong = e == ends ? "bytes for A did not arrive" : "bytes for B did not arrive";
	else if (from->shut && !e->c.fin_rcvd)
		wrong = e == ends ? "the end for A did not arrive" : "the end for B did not arrive";
}

static void asleep(void)
{
	say("both sleep\n");
	if (!settle(8 * (ends[0].c.bufs + ends[1].c.bufs) + 64))
		wrong = "no end of messages while both sleep";
}

/* Returns what was wrong with it. */
static const char *run(uint64_t seed)
{
	u32 steps;

	state = (seed + 1) * 0x9e3779b97f4a7c15;
	draw(1);
	wrong = NULL;
	sent = 0;
	make_ends();
	draw_weights();
	for (steps = 8 + draw(120); steps && !wrong; steps--)
		step();
	if (!wrong && draw(2))
		asleep();
	if (wrong)
		return wrong;

	ends[0].reads = draw(3);
	ends[1].reads = !ends[0].reads || draw(2);
	say("%s read\n", !ends[1].reads ? "A" : !ends[0].reads ? "B" : "both");
	if (!settle(100000))
		wrong = "no end of messages";
	check_delivered(&ends[0]);
	check_delivered(&ends[1]);
	return wrong;
}

static void make_plain(struct end *e, u32 bufs, u32 most)
{
	*e = (struct end){ .name = 'A' + (e - ends) };
	e->c.min = bufs;
	e->c.max = most;
	sdp_credit_init(&e->c);
	for (; e->c.bufs < bufs; e->c.bufs++)
		sdp_credit_posted(&e->c, true);
	sdp_credit_peer(&e->c, bufs);
}

/*
 * From one that writes much to one that reads it as it comes, or only when nothing else
 * moves, and then all but the last message: nothing stops, the buffers grow, updates are
 * few.
 */
static const char *stream(u32 bufs, u32 most, bool prompt)
{
	struct end *a = &ends[0], *b = &ends[1];
	u32 messages = 1000, updates = messages * (prompt ? 2 : 4) / most + 32;

	sent = 0;
	wrong = NULL;
	state = 1;
	make_plain(a, bufs, most);
	make_plain(b, bufs, most);
	put(a, messages);
	while (!wrong && (deliver(a) || deliver(b) || grow(b) || b->unread > 1)) {
		grow(b);
		if (prompt || (a->head == a->tail && b->unread > 1))
			take(b);
	}
	if (!wrong && b->got + b->unread != messages)
		wrong = "a stream stops";
	if (!wrong && b->c.bufs != most)
		wrong = "a stream's buffers do not grow";
	if (!wrong && sent > messages + updates)
		wrong = "too many updates";
	return wrong;
}

static bool streams(void)
{
	return !stream(4, 4, false) && !stream(4, 32, false) && !stream(32, 32, true);
}

static void show_end(const struct end *e)
{
	printf("# %c: credits %d, known %d, %u of %u buffers posted, ", e->name,
	       sdp_credit_tx(&e->c), sdp_credit_rx(&e->c), e->c.posted, e->c.bufs);
	printf("%u unread, %u to send%s%s%s%s\n", e->unread, e->pending,
	       e->foreign ? ", OFED" : "", e->waits ? ", waits" : "",
	       e->c.fin_sent ? ", has sent DisConn" : "", e->owed ? ", owes SendSm" : "");
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, n, i;

	if (argc == 3 && !strcmp(argv[1], "--show")) {
		show = true;
		seed = strtoull(argv[2], NULL, 0);
		n = 1;
	} else if (argc == 4 && !strcmp(argv[1], "--seed")) {
		seed = strtoull(argv[2], NULL, 0);
		n = strtoull(argv[3], NULL, 0);
	} else if (argc == 2) {
		n = strtoull(argv[1], NULL, 0);
	} else {
		fprintf(stderr, "usage: rules [--seed N] SCHEDULES | --show SEED\n");
		return 2;
	}
	if (!show && !streams()) {
		printf("stream: %s\n", wrong);
		return 1;
	}
	for (i = seed; i < seed + n; i++)
		if (run(i)) {
			printf("seed %llu: %s\n", (unsigned long long)i, wrong);
			show_end(&ends[0]);
			show_end(&ends[1]);
			return 1;
		}
	printf("%llu schedules\n", (unsigned long long)n);
	return 0;
}

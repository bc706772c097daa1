// SPDX-License-Identifier: GPL-2.0
/*
 * All states that the model can reach, each once.
 *
 * What bounds them: the messages, and nothing else.  Each record in TCP needs a byte that was
 * acknowledged since the one before, and bytes in TCP and on the carrier are those of the
 * stream.  Carriers may come and go without end.  Numbers of carriers and tokens are only
 * compared, so they are told by their order of appearance; sequence numbers and counts are
 * told from where the receiver is in TCP.  States that differ otherwise only in what is over
 * are one state.
 *
 * A message is a byte.  A byte's value counts only where it is compared with F, that is,
 * whether it equals F; so two values are enough.  Which bytes are alike is a parameter.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* Two directions, each with at most so many words. */
#define WORDS	256

struct code {
	u32 tokens[16];
	unsigned int token_count, n;
	u16 word[WORDS];
};

static u64 *table;
static unsigned long size, used;

static void add(struct code *c, u64 word)
{
	c->word[c->n++ % WORDS] = word;
}

static void add_token(struct code *c, u32 token)
{
	unsigned int i;

	for (i = 0; i < c->token_count; i++)
		if (c->tokens[i] == token)
			break;
	if (i == c->token_count)
		c->tokens[c->token_count++ % 16] = token;
	add(c, i);
}

static void add_tx(struct code *c, const struct direction *d, u32 from)
{
	const struct sdp_half_tx *tx = &d->tx;

	add(c, tx->state | d->written << 4 | d->fin << 12);
	add(c, d->put - d->seen);
	if (tx->state != SDP_HALF_TX_MOVED && tx->state != SDP_HALF_TX_LOOSE)
		return;
	add(c, tx->n - from);
	add(c, tx->p0 | tx->acked << 5 | tx->pos << 10);
	add(c, tx->first);
	if (local)
		add(c, d->pair_pos);
	add_token(c, d->token);
}

static void add_rx(struct code *c, const struct direction *d, u32 carrier, u32 from)
{
	const struct sdp_half_rx *rx = &d->rx;

	add(c, rx->state | d->got << 4 | d->end << 12);
	add(c, d->came - d->seen);
	if (rx->state == SDP_HALF_RX_SKIP)
		add(c, rx->skip);
	if (rx->state != SDP_HALF_RX_MOVED)
		return;
	add(c, rx->n - from);
	add(c, rx->p0 | rx->pos << 5 | rx->sure << 10);
	add(c, rx->first | rx->got << 8);
	add(c, carrier && rx->carrier == carrier ? rx->at + 1 : 0);
	add_token(c, d->rx_token);
}

static void add_lists(struct code *c, const struct direction *d, bool acks, u32 from)
{
	unsigned int i;

	add(c, d->items | d->messages << 8);
	for (i = 0; i < d->items; i++) {
		const struct item *item = &d->item[i];

		add(c, item->kind | item->type << 2 | item->pos << 4 | item->len << 10);
		if (item->kind != RECORD)
			continue;
		add(c, item->n - from);
		add(c, item->first);
		add_token(c, item->token);
	}
	for (i = 0; i < d->messages; i++) {
		const struct message *m = &d->message[i];

		add(c, m->kind | m->sure << 2 | m->pos << 4 | m->len << 10);
		if (m->kind != SWITCH)
			continue;
		add(c, m->n - from);
		add_token(c, m->token);
	}
	if (!acks)
		return;
	/* The messages that are kept, and how many of them were taken in. */
	for (i = 0; i < d->keeps && (s32)(d->taken - d->kept[i].mseq) >= 0; i++)
		;
	add(c, d->keeps | i << 8);
}

/* With direction @first first. */
static u64 code_from(const struct state *s, int first)
{
	struct code c = { .n = 0 };
	u64 hash = 0x243f6a8885a308d3, words;
	unsigned int i;

	add(&c, (s->carrier[first] != 0) | (s->carrier[!first] != 0) << 1 |
		(s->carrier[0] == s->carrier[1]) << 2);
	for (i = first; i < 2u + first; i++) {
		const struct direction *d = &s->d[i & 1];
		/* A sequence number less those of what has been looked at. */
		u32 from = ISN + (u32)d->seen;

		add_tx(&c, d, from);
		add_rx(&c, d, s->carrier[!(i & 1)], from);
		add_lists(&c, d, s->carrier[i & 1], from);
	}
	if (c.n > WORDS - 4 || c.token_count > 16)
		wrong = "no room for the code of a state";
	for (i = 0; i < c.n; i += 4) {
		memcpy(&words, c.word + i, sizeof(words));
		hash = (hash ^ words) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	hash = (hash ^ c.n) * 0xd6e8feb86659fd93;
	hash ^= hash >> 32;
	return hash ? hash : 1;
}

/* The same for a state and its mirror image, which differ only in names. */
static u64 code_of(const struct state *s)
{
	u64 code = code_from(s, 0), mirrored;

	if (s->d[0].total != s->d[1].total)
		return code;
	mirrored = code_from(s, 1);
	return code < mirrored ? code : mirrored;
}

/* Where it is, or would be. */
static u64 *slot(u64 code)
{
	unsigned long i = code & (size - 1);

	while (table[i] && table[i] != code)
		i = (i + 1) & (size - 1);
	return &table[i];
}

static void grow(void)
{
	u64 *old = table;
	unsigned long n = size;

	size = n ? 2 * n : 1 << 16;
	table = calloc(size, sizeof(*table));
	if (!table) {
		perror("model");
		exit(2);
	}
	while (n--)
		if (old[n])
			*slot(old[n]) = old[n];
	free(old);
}

/* Returns false if it was there. */
static bool insert(u64 code)
{
	u64 *place;

	if (2 * used >= size)
		grow();
	place = slot(code);
	if (*place)
		return false;
	*place = code;
	used++;
	return true;
}

/* A state on the way to the one that is looked at, and the next step to try from it. */
struct place {
	struct state s;
	u8 next;
};

static struct place *path;
static unsigned long places;

static void push(const struct state *s, unsigned long depth)
{
	if (depth == places) {
		places = places ? 2 * places : 1024;
		path = realloc(path, places * sizeof(*path));
		if (!path) {
			perror("model");
			exit(2);
		}
	}
	path[depth].s = *s;
	path[depth].next = 0;
}

static void check(const struct state *s)
{
	if (!s->carrier[0] && !s->carrier[1])
		check_drains(s);
	for (int e = 0; e < 2; e++)
		if (!s->carrier[e] && s->carrier[!e])
			check_alone(s, e);
	if (!wrong)
		check_peers(s);
}

static void show_path(unsigned long depth)
{
	for (unsigned long i = 0; i < depth; i++) {
		int last = path[i].next - 1;

		printf("# %c: %s\n", 'A' + last % 2, what_name[last / 2]);
		if (i + 1 < depth)
			show_state(&path[i + 1].s);
	}
}

/* From all that is sent by @a messages one way and @b the other; returns how many states. */
unsigned long search(unsigned int a, unsigned int b)
{
	struct state s;
	unsigned long depth = 0, states;
	bool spoilt = false;

	start(&s, a, b);
	settle(&s);
	insert(code_of(&s));
	push(&s, depth++);
	while (depth && !wrong) {
		struct place *p = &path[depth - 1];
		int next = p->next++;

		if (next == 2 * WHATS) {
			depth--;
			spoilt = true;
			continue;
		}
		if (spoilt)
			s = p->s;
		spoilt = step(&s, next / 2, next % 2);
		if (!spoilt)
			continue;
		settle(&s);
		if (wrong || !insert(code_of(&s)))
			continue;
		check(&s);
		if (!wrong) {
			push(&s, depth++);
			spoilt = false;
		}
	}
	if (wrong)
		show_path(depth);
	states = used;
	free(table);
	table = NULL;
	size = 0;
	used = 0;
	return states;
}

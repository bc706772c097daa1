// SPDX-License-Identifier: GPL-2.0
/*
 * The corpus: inputs that together reach all that has been reached.  Its file
 * has an input a line, in hex; lines that begin with # are comments.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS	4096
#define TRIMS	16	/* runs to make an input shorter */

static struct entry {
	uint16_t *edges;
	unsigned int n;
	struct input in;
} corpus[CORPUS];

static unsigned char seen[EDGES];

unsigned int corpus_n, edges_seen;

bool corpus_parse(struct input *in, const char *hex)
{
	unsigned char *to = (unsigned char *)in->r;
	unsigned int i, byte, chars = strspn(hex, "0123456789abcdef");

	if (!chars || chars % (2 * sizeof(*in->r)) || chars / 2 > sizeof(in->r) ||
	    hex[chars] > ' ')
		return false;
	for (i = 0; i < chars / 2; i++) {
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		to[i] = byte;
	}
	in->n = chars / 2 / sizeof(*in->r);
	return true;
}

void corpus_print(const char *word, const struct input *in)
{
	const unsigned char *from = (const unsigned char *)in->r;
	unsigned int i;

	printf("%s", word);
	for (i = 0; i < in->n * sizeof(*in->r); i++)
		printf("%02x", from[i]);
	printf("\n");
	fflush(stdout);
}

static void add(const struct input *in, const uint16_t *edges, unsigned int n)
{
	struct entry *e = &corpus[corpus_n];

	if (corpus_n == CORPUS)
		return;
	e->in = *in;
	e->n = n;
	e->edges = malloc(n * sizeof(*edges) + 1);
	if (!e->edges)
		die("memory");
	if (n)
		memcpy(e->edges, edges, n * sizeof(*edges));
	corpus_n++;
}

void corpus_load(const char *path)
{
	char line[2 * sizeof(struct record) * RECORDS + 16];
	struct input in = {};
	FILE *f = fopen(path, "r");

	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f)) {
		if (*line == '#' || *line == '\n')
			continue;
		if (!corpus_parse(&in, line)) {
			fprintf(stderr, "fuzz: %s: not an input: %s", path, line);
			exit(2);
		}
		add(&in, NULL, 0);
	}
	fclose(f);
}

/* How many of the edges are new. */
static unsigned int count_new(const uint16_t *edges, unsigned int n)
{
	unsigned int i, new = 0;

	for (i = 0; i < n; i++)
		new += !seen[edges[i]];
	return new;
}

static void mark(const uint16_t *edges, unsigned int n)
{
	unsigned int i;

	edges_seen += count_new(edges, n);
	for (i = 0; i < n; i++)
		seen[edges[i]] = 1;
}

/* Cuts out what it does without: half, a quarter and so on. */
static unsigned int trim(struct input *in, uint16_t *edges, unsigned int n)
{
	static uint16_t shorter[EDGES];
	unsigned int at, piece, new = count_new(edges, n), m, tries = TRIMS;
	struct input less;

	for (piece = in->n / 2; piece; piece /= 2) {
		for (at = 0; at + piece < in->n && tries; tries--) {
			less = *in;
			less.n -= piece;
			memmove(&less.r[at], &less.r[at + piece], (less.n - at) * sizeof(*in->r));
			exec_input(&less);
			m = cover_get(shorter);
			if (count_new(shorter, m) < new) {
				at += piece;
				continue;
			}
			*in = less;
			memcpy(edges, shorter, m * sizeof(*edges));
			n = m;
		}
	}
	return n;
}

/* Is it worth keeping? */
bool corpus_consider(const struct input *in)
{
	static uint16_t edges[EDGES];
	struct input kept = *in;
	unsigned int n;

	exec_input(in);
	n = cover_get(edges);
	if (!count_new(edges, n))
		return false;
	n = trim(&kept, edges, n);
	mark(edges, n);
	add(&kept, edges, n);
	return true;
}

/* What was loaded, to learn what it reaches. */
void corpus_replay(void)
{
	static uint16_t edges[EDGES];
	unsigned int i;

	for (i = 0; i < corpus_n; i++) {
		struct entry *e = &corpus[i];

		exec_input(&e->in);
		e->n = cover_get(edges);
		free(e->edges);
		e->edges = malloc(e->n * sizeof(*edges) + 1);
		if (!e->edges)
			die("memory");
		memcpy(e->edges, edges, e->n * sizeof(*edges));
		mark(edges, e->n);
	}
}

/* Prints those that together reach all, the ones that reach most first. */
void corpus_minimise(void)
{
	unsigned int i, best, new, most;

	memset(seen, 0, sizeof(seen));
	for (;;) {
		most = 0;
		best = 0;
		for (i = 0; i < corpus_n; i++) {
			new = count_new(corpus[i].edges, corpus[i].n);
			if (new > most) {
				most = new;
				best = i;
			}
		}
		if (!most)
			return;
		mark(corpus[best].edges, corpus[best].n);
		corpus_print("keep ", &corpus[best].in);
	}
}

static void random_record(struct record *r, uint32_t *seed)
{
	uint32_t v = next_random(seed);

	r->op = v;
	/* Few slots, so that operations meet. */
	r->slot = v >> 8 & (v & 0x10000 ? 1 : 7);
	r->a = v >> 24;
	/* Mostly right arguments. */
	r->b = v & 0x60000 ? v >> 12 & 0x7c : next_random(seed) >> 8;
	r->c = next_random(seed);
}

static void random_input(struct input *in, uint32_t *seed)
{
	unsigned int i;

	in->n = 8 + next_random(seed) % (RECORDS - 8);
	for (i = 0; i < in->n; i++)
		random_record(&in->r[i], seed);
	/* A connection to begin with. */
	if (next_random(seed) & 3) {
		in->r[0].op = 0;
		in->r[0].slot = 0;
	}
}

static void insert(struct input *in, unsigned int at, const struct record *r, unsigned int n)
{
	if (n > RECORDS - in->n)
		n = RECORDS - in->n;
	memmove(&in->r[at + n], &in->r[at], (in->n - at) * sizeof(*r));
	memcpy(&in->r[at], r, n * sizeof(*r));
	in->n += n;
}

/* Another bit; which one, @random says. */
static void flip(struct record *r, uint32_t random)
{
	unsigned char *bytes = (unsigned char *)r;

	bytes[random % sizeof(*r)] ^= 1 << (random >> 8 & 7);
}

/* A piece of another input. */
static void take_piece(struct input *in, unsigned int at, uint32_t *seed)
{
	const struct input *other = &corpus[next_random(seed) % corpus_n].in;
	unsigned int from = next_random(seed) % other->n;

	insert(in, at, &other->r[from], 1 + next_random(seed) % (other->n - from));
}

static void mutate_once(struct input *in, uint32_t *seed)
{
	uint32_t v = next_random(seed);
	unsigned int at = (v >> 8) % in->n;
	struct record *r = &in->r[at], new;

	switch (v & 7) {
	case 0:
	case 1:
		random_record(&new, seed);
		insert(in, at, &new, 1);
		break;
	case 2:
		if (in->n == 1)
			break;
		memmove(r, r + 1, (in->n - at - 1) * sizeof(*r));
		in->n--;
		break;
	case 3:
		flip(r, v >> 16);
		break;
	case 4:
		r->a = v >> 16;
		break;
	case 5:
		r->c = next_random(seed);
		break;
	case 6:
		new = *r;
		insert(in, (v >> 16) % in->n, &new, 1);
		break;
	default:
		take_piece(in, at, seed);
	}
}

/* By pieces of others, and by anything. */
static void lengthen(struct input *in, uint32_t *seed)
{
	unsigned int least = RECORDS / 4 + next_random(seed) % (3 * RECORDS / 4);
	struct record new[4];
	unsigned int i;

	while (in->n < least) {
		if (next_random(seed) & 1) {
			take_piece(in, in->n, seed);
			continue;
		}
		for (i = 0; i < 4; i++)
			random_record(&new[i], seed);
		insert(in, in->n, new, 4);
	}
}

void corpus_mutate(struct input *in, uint32_t *seed)
{
	uint32_t v = next_random(seed);
	unsigned int times = 1 + (v >> 8 & 7);

	if (!corpus_n || !(v & 15)) {
		random_input(in, seed);
		return;
	}
	/* Newer ones more often. */
	v = next_random(seed);
	*in = corpus[v & 0x10000 ? v % corpus_n : corpus_n - 1 - v % (corpus_n / 4 + 1)].in;
	while (times--)
		mutate_once(in, seed);
	/* What comes before and after an input takes longer than a short one. */
	lengthen(in, seed);
}

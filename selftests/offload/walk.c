// SPDX-License-Identifier: GPL-2.0
/*
 * The rules, tried.
 *
 *   model --all		all states of two directions with six messages together
 *   model --few		the same with four
 *   model [--seed N] WALKS	random ones, with longer streams and longer messages
 *   model --show SEED		one of these, step by step
 *
 * Exit status 1, and the steps that led there, if something was wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* --- all states ---------------------------------------------------------------- */

static unsigned int alike;	/* a bit for each byte: those with one value */

static u8 two_values(unsigned int pos)
{
	return alike >> pos & 1 ? 0xff : 0;
}

static u32 draw_nothing(u32 below)
{
	return below - 1;
}

static unsigned long states;

static bool search_with(unsigned int a, unsigned int b, unsigned int pattern, bool on_one_host)
{
	alike = pattern;
	local = on_one_host;
	if (!wrong)
		states += search(a, b);
	if (wrong)
		printf("%u and %u messages, bytes %x%s: %s\n", a, b, pattern,
		       local ? ", on one host" : "", wrong);
	return !wrong;
}

/* All that @total messages can be split into, up to which direction is called which. */
static bool search_splits(unsigned int total, unsigned int pattern, bool on_one_host)
{
	for (unsigned int b = 0; 2 * b <= total; b++)
		if (!search_with(total - b, b, pattern, on_one_host))
			return false;
	return true;
}

/*
 * Bytes that are all alike look most like what they are not.  A wrong one of bytes that
 * are not alike may be seen as a record.  That all values are others changes nothing.
 */
static bool search_all(unsigned int most)
{
	value = two_values;
	draw = draw_nothing;
	lazy = false;
	pieces = true;
	for (unsigned int total = 0; total < 4; total++)
		for (unsigned int pattern = 0; pattern < 1u << total; pattern += 2)
			if (!search_splits(total, pattern, false))
				return false;
	pieces = false;
	return search_splits(4, 0, false) && search_splits(4, 0, true) &&
	       search_splits(most, 0x2c, false);
}

/* --- random walks -------------------------------------------------------------- */

static u64 random_state;
static u8 bytes[256];
static bool show;

static u32 draw_random(u32 below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (u32)((random_state >> 32) * below >> 32);
}

static u8 random_value(unsigned int pos)
{
	return bytes[pos % sizeof(bytes)];
}

/* Any bytes, or only one and its complement, so that much looks like what it is not. */
static void draw_bytes(void)
{
	u8 one = draw(256);
	u32 kind = draw(4);

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = kind == 0 ? draw(256) : kind == 1 || draw(2) ? one : (u8)~one;
}

/* How often each step is tried in a usual walk. */
static const u8 usual[WHATS] = {
	[JOIN] = 8, [KILL] = 1, [WRITE] = 12, [MOVE] = 8, [AGAIN] = 6, [OVER] = 1, [STAY] = 3,
	[PUT] = 10, [SHUT] = 1, [COME] = 14, [LOOK] = 14, [READ] = 10, [TAKE] = 16, [ACK] = 14,
	[ASK] = 1,
};

static u32 weight[WHATS], weights;

static void draw_weights(void)
{
	weights = 0;
	for (int i = 0; i < WHATS; i++) {
		weight[i] = usual[i];
		if (!draw(3))
			weight[i] = draw(3 * usual[i] + 1);
		weights += weight[i];
	}
}

static enum what draw_what(void)
{
	u32 n, what = 0;

	for (n = draw(weights); n >= weight[what]; what++)
		n -= weight[what];
	return what;
}

/* An urgent byte: the direction comes back for good. */
static void urge(struct state *s, int i)
{
	step(s, OVER, i);
	s->d[i].stuck = true;
}

static void walk(struct state *s)
{
	for (u32 steps = 20 + draw(400); steps && !ended(s) && !wrong; steps--) {
		enum what act = draw_what();
		int e = draw(2);

		if (!draw(1000))
			urge(s, e);
		if (!step(s, act, e))
			continue;
		if (show) {
			printf("# %c: %s\n", 'A' + e, what_name[act]);
			show_state(s);
		}
		if (!wrong && !draw(8))
			check_peers(s);
		if (!wrong && !draw(64))
			check_drains(s);
	}
	if (!wrong)
		check_drains(s);
}

/* Returns what was wrong with it. */
static const char *run(u64 seed)
{
	struct state s;

	random_state = (seed + 1) * 0x9e3779b97f4a7c15;
	draw(1);
	wrong = NULL;
	local = !draw(4);
	draw_bytes();
	draw_weights();
	start(&s, draw(100), draw(2) ? draw(100) : draw(3));
	walk(&s);
	return wrong;
}

/* Walks that do not meet all that can happen say nothing. */
static bool all_happened(void)
{
	for (int i = 0; i < COUNTS; i++)
		if (!counts[i]) {
			printf("nothing of kind %d has happened\n", i);
			return false;
		}
	return true;
}

static bool run_all(u64 seed, u64 n)
{
	value = random_value;
	draw = draw_random;
	lazy = true;
	for (u64 i = seed; i < seed + n; i++)
		if (run(i)) {
			printf("seed %llu: %s\n", (unsigned long long)i, wrong);
			return false;
		}
	if (!show && !all_happened())
		return false;
	printf("%llu walks\n", (unsigned long long)n);
	return true;
}

int main(int argc, char **argv)
{
	if (argc == 2 && (!strcmp(argv[1], "--all") || !strcmp(argv[1], "--few"))) {
		if (!search_all(argv[1][2] == 'a' ? 6 : 4))
			return 1;
		printf("%lu states\n", states);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "--show")) {
		show = true;
		return !run_all(strtoull(argv[2], NULL, 0), 1);
	}
	if (argc == 4 && !strcmp(argv[1], "--seed"))
		return !run_all(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
	if (argc == 2 && argv[1][0] != '-')
		return !run_all(1, strtoull(argv[1], NULL, 0));
	fprintf(stderr, "usage: model --all | --few | [--seed N] WALKS | --show SEED\n");
	return 2;
}

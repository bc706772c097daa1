// SPDX-License-Identifier: GPL-2.0
/*
 * What libsdpmcast makes of packets: right ones, each that is wrong in one way, and random
 * ones. Each packet ends at the end of its memory, where a sanitizer watches.
 */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libsdpmcast/wire.h"
#include "../lib/tap.h"

#define ROUNDS	200000
#define TEXT	"thirteen byte"

/* A packet that is being made. */
struct packet {
	uint8_t data[256];
	size_t len;
	size_t udp;	/* where UDP begins */
};

static void add(struct packet *p, const void *data, size_t len)
{
	memcpy(p->data + p->len, data, len);
	p->len += len;
}

static void put16(struct packet *p, size_t at, unsigned int value)
{
	p->data[at] = value >> 8;
	p->data[at + 1] = value;
}

/* By bytes, as RFC 1071 has it; not as the library does it. */
static unsigned int add_words(unsigned int sum, const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? p[i] : p[i] << 8;
	return sum;
}

static unsigned int fold(unsigned int sum)
{
	return ~((sum & 0xffff) + (sum >> 16) + (((sum & 0xffff) + (sum >> 16)) >> 16)) & 0xffff;
}

static void finish_udp(struct packet *p, size_t addresses, size_t len)
{
	unsigned int udp_len = p->len - p->udp, sum;

	put16(p, p->udp + 4, udp_len);
	put16(p, p->udp + 6, 0);
	sum = add_words(17 + udp_len, p->data + addresses, len);
	put16(p, p->udp + 6, fold(add_words(sum, p->data + p->udp, udp_len)));
}

static void make_ipv4(struct packet *p, unsigned int options)
{
	static const uint8_t head[] = { 8, 0, 0, 0, 0x45, 0, 0, 0, 1, 2, 0x40, 0, 7, 17, 0, 0,
					10, 77, 0, 2, 239, 77, 5, 1 };
	static const uint8_t udp[] = { 0x1b, 0xbc, 0x1b, 0xbd, 0, 0, 0, 0 };
	static const uint8_t nops[40] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	p->len = 0;
	add(p, head, sizeof(head));
	add(p, nops, options);
	p->data[4] += options / 4;
	p->udp = p->len;
	add(p, udp, sizeof(udp));
	add(p, TEXT, strlen(TEXT));
	put16(p, 6, p->len - 4);
	put16(p, 14, fold(add_words(0, p->data + 4, p->udp - 4)));
	finish_udp(p, 16, 8);
}

static void make_ipv6(struct packet *p, uint8_t extension)
{
	static const uint8_t head[] = { 0x86, 0xdd, 0, 0, 0x60, 0, 0, 0, 0, 0, 17, 9,
					0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
					0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x77, 0, 5 };
	static const uint8_t udp[] = { 0x1b, 0xbc, 0x1b, 0xbd, 0, 0, 0, 0 };
	static const uint8_t more[8] = { 17 };

	p->len = 0;
	add(p, head, sizeof(head));
	if (extension != 17) {
		p->data[10] = extension;
		add(p, more, sizeof(more));
	}
	p->udp = p->len;
	add(p, udp, sizeof(udp));
	add(p, TEXT, strlen(TEXT));
	put16(p, 8, p->len - 44);
	finish_udp(p, 12, 32);
}

/* Reads a copy that nothing is behind. What comes out has to be a part of it. */
static enum wire_verdict look(const struct packet *p, struct wire_ends *ends, size_t *len)
{
	uint8_t *copy = malloc(p->len ? p->len : 1);
	enum wire_verdict verdict;
	const uint8_t *at;
	const void *data;

	memcpy(copy, p->data, p->len);
	verdict = wire_read(copy, p->len, false, ends, &data, len);
	at = data;
	if (at < copy || *len > p->len || at + *len > copy + p->len)
		abort();
	if (verdict == WIRE_OK && *len == strlen(TEXT) && memcmp(data, TEXT, *len))
		verdict = WIRE_MALFORMED;
	free(copy);
	return verdict;
}

static bool gives(const struct packet *p, enum wire_verdict wanted)
{
	struct wire_ends ends;
	enum wire_verdict got;
	size_t len;

	got = look(p, &ends, &len);
	if (got != wanted)
		printf("# verdict %d, wanted %d\n", got, wanted);
	return got == wanted;
}

static bool right_ones(void)
{
	struct wire_ends ends;
	struct packet p;
	size_t len;

	make_ipv4(&p, 0);
	if (look(&p, &ends, &len) != WIRE_OK || ends.ttl != 7 || len != strlen(TEXT) ||
	    ends.to_port != htons(7101) || memcmp(&ends.to, "\xef\x4d\x05\x01", 4))
		return false;
	make_ipv4(&p, 8);
	if (!gives(&p, WIRE_OK))
		return false;
	make_ipv6(&p, 17);
	if (look(&p, &ends, &len) != WIRE_OK || ends.ttl != 9 || len != strlen(TEXT) ||
	    ends.from_port != htons(7100) || ends.from.s6_addr[15] != 2)
		return false;
	make_ipv6(&p, 0);
	return gives(&p, WIRE_OK);
}

/* Each byte that a checksum covers. */
static bool flipped(struct packet *p, size_t from)
{
	enum wire_verdict verdict;
	struct wire_ends ends;
	size_t i, len;

	for (i = from; i < p->len; i++) {
		p->data[i] ^= 0x10;
		verdict = look(p, &ends, &len);
		p->data[i] ^= 0x10;
		if (verdict == WIRE_OK) {
			printf("# byte %zu\n", i);
			return false;
		}
	}
	return true;
}

static bool cut(struct packet *p)
{
	bool ok = true;

	for (; p->len; p->len--, ok &= gives(p, WIRE_MALFORMED))
		;
	return ok;
}

static bool fragments(void)
{
	struct packet p;
	bool ok;

	make_ipv4(&p, 0);
	put16(&p, 10, 0x2000);
	put16(&p, 14, 0);
	put16(&p, 14, fold(add_words(0, p.data + 4, 20)));
	ok = gives(&p, WIRE_FRAGMENT);
	make_ipv6(&p, 44);
	return ok && gives(&p, WIRE_FRAGMENT);
}

static bool without_sum(void)
{
	struct packet p;
	bool ok;

	make_ipv4(&p, 0);
	put16(&p, p.udp + 6, 0);
	ok = gives(&p, WIRE_OK);
	make_ipv6(&p, 17);
	put16(&p, p.udp + 6, 0);
	return ok && gives(&p, WIRE_BAD_SUM);
}

static bool not_udp(void)
{
	struct packet p;
	bool ok;

	make_ipv6(&p, 17);
	p.data[10] = 58;
	ok = gives(&p, WIRE_OTHER);
	put16(&p, 0, 0x0806);
	return ok && gives(&p, WIRE_OTHER);
}

static bool same_ends(const struct wire_ends *a, const struct wire_ends *b)
{
	return a->family == b->family && !memcmp(&a->from, &b->from, sizeof(a->from)) &&
	       !memcmp(&a->to, &b->to, sizeof(a->to)) && a->from_port == b->from_port &&
	       a->to_port == b->to_port && a->ttl == b->ttl;
}

/* Writes what make_ipv4() or make_ipv6() made. Both ends are those that are read. */
static bool writes(struct packet *p, size_t len)
{
	struct packet got = { .len = 0 };
	struct wire_ends ends, back;
	const void *data;
	bool ok;

	if (wire_read(p->data, p->len, false, &ends, &data, &got.len) != WIRE_OK)
		return false;
	got.len = wire_write(got.data, &ends, TEXT, len);
	ok = look(&got, &back, &len) == WIRE_OK && same_ends(&ends, &back);
	if (!ok)
		printf("# of %zu bytes\n", len);
	return ok;
}

static bool written(void)
{
	struct packet p;
	bool ok = true;
	size_t len;

	for (len = 0; len <= strlen(TEXT); len++) {
		make_ipv4(&p, 0);
		ok &= writes(&p, len);
		make_ipv6(&p, 17);
		ok &= writes(&p, len);
	}
	return ok;
}

/* But for the identification, and what follows from it, they are the ones made here. */
static bool written_alike(void)
{
	struct packet p, got = { .len = 0 };
	struct wire_ends ends;
	const void *data;
	size_t len;

	make_ipv4(&p, 0);
	put16(&p, 8, 0);
	put16(&p, 14, 0);
	put16(&p, 14, fold(add_words(0, p.data + 4, 20)));
	wire_read(p.data, p.len, false, &ends, &data, &len);
	if (wire_write(got.data, &ends, TEXT, strlen(TEXT)) != p.len ||
	    memcmp(got.data, p.data, p.len))
		return false;
	make_ipv6(&p, 17);
	wire_read(p.data, p.len, false, &ends, &data, &len);
	return wire_write(got.data, &ends, TEXT, strlen(TEXT)) == p.len &&
	       !memcmp(got.data, p.data, p.len);
}

/* A sum of zero says that there is none. Two bytes make it that, by turns. */
static bool written_sum(void)
{
	struct wire_ends ends;
	const void *data;
	struct packet p;
	uint8_t text[2];
	size_t len, i;

	for (i = 0; i < 65536; i++) {
		make_ipv6(&p, 17);
		wire_read(p.data, p.len, false, &ends, &data, &len);
		text[0] = i >> 8;
		text[1] = i;
		p.len = wire_write(p.data, &ends, text, sizeof(text));
		if (wire_read(p.data, p.len, false, &ends, &data, &len) != WIRE_OK)
			return false;
	}
	return true;
}

static bool random_ones(void)
{
	struct wire_ends ends;
	struct packet p;
	size_t len, i;
	int round;

	srandom(1);
	for (round = 0; round < ROUNDS; round++) {
		if (random() % 2)
			make_ipv4(&p, random() % 11 * 4);
		else
			make_ipv6(&p, random() % 61);
		for (i = random() % 6; i; i--)
			p.data[random() % 64] = random();
		p.len = random() % (p.len + 1);
		look(&p, &ends, &len);
	}
	return true;
}

int main(void)
{
	struct packet p;

	tap_plan(12);
	ok(right_ones(), "packets that are right");
	make_ipv4(&p, 0);
	/* The parser ignores the encapsulation and the kind of service. */
	ok(flipped(&p, 5), "IPv4: each byte that is another");
	make_ipv6(&p, 17);
	ok(flipped(&p, 12), "IPv6: each byte that is another");
	make_ipv4(&p, 0);
	ok(cut(&p), "IPv4 that is cut off");
	make_ipv6(&p, 17);
	ok(cut(&p), "IPv6 that is cut off");
	ok(fragments(), "fragments");
	ok(without_sum(), "without a checksum");
	ok(not_udp(), "what is not UDP");
	ok(written(), "what is written is read as it was meant");
	ok(written_alike(), "what is written has the bytes that the standards say");
	ok(written_sum(), "a sum of zero is written as the other zero");
	ok(random_ones(), "random packets");
	return tap_exit();
}

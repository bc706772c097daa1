// SPDX-License-Identifier: GPL-2.0
/*
 * What shows that an end has the TCP connection: SipHash-2-4 of what is asked, keyed with both
 * initial sequence numbers (Documentation/joined.rst).
 */
#include <endian.h>
#include <string.h>

#include "join.h"

#define REQ_BYTES	76
#define STEP_ONLY	0x100

struct text {
	struct in6_addr from, to;
	uint16_t from_port, to_port;
	uint32_t step;
	uint64_t nonce, other, terms;
};

static uint64_t rotate(uint64_t x, unsigned int bits)
{
	return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[4], unsigned int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

/* Of whole words. */
static uint64_t siphash(const void *data, size_t len, const uint64_t key[2])
{
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573,
	};
	uint64_t word;
	size_t at;

	for (at = 0; at < len; at += 8) {
		memcpy(&word, (const char *)data + at, 8);
		word = le64toh(word);
		v[3] ^= word;
		rounds(v, 2);
		v[0] ^= word;
	}
	word = (uint64_t)len << 56;
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t hash(const struct text *text, const struct tcp *tcp)
{
	uint64_t key[2] = { tcp->isn, tcp->peer_isn };

	return htobe64(siphash(text, sizeof(*text), key));
}

static uint64_t terms(uint8_t highest, uint8_t lowest, uint16_t bufs, uint32_t size)
{
	return htobe64((uint64_t)highest << 56 | (uint64_t)lowest << 48 |
		       (uint64_t)be16toh(bufs) << 32 | be32toh(size));
}

static struct in6_addr mapped(const struct sockaddr_in *from)
{
	struct in6_addr to = { .s6_addr = { [10] = 0xff, 0xff } };

	memcpy(to.s6_addr + 12, &from->sin_addr, 4);
	return to;
}

/* A request that is right but for its proof. */
void join_fill(struct join_req *req, const struct tcp *tcp, uint64_t nonce)
{
	*req = (struct join_req){
		.mid = MID_JOIN, .bufs = htobe16(JOIN_BUFS), .len = htobe32(REQ_BYTES),
		.highest = 1, .lowest = 1, .size = htobe32(JOIN_SIZE), .nonce = nonce,
		.from_port = tcp->name[0].sin_port, .to_port = tcp->name[1].sin_port,
		.from = mapped(&tcp->name[0]), .to = mapped(&tcp->name[1]),
	};
}

static uint64_t of_request(const struct join_req *req, const struct tcp *tcp, uint32_t step,
			   uint64_t other)
{
	struct text text = {
		.from = req->from, .to = req->to,
		.from_port = req->from_port, .to_port = req->to_port,
		.step = htobe32(step | (req->mode & 1 ? STEP_ONLY : 0)),
		.nonce = req->nonce, .other = other,
		.terms = terms(req->highest, req->lowest, req->bufs, req->size),
	};

	return hash(&text, tcp);
}

/* The first proof: of the request as it is. */
void join_prove(struct join_req *req, const struct tcp *tcp)
{
	req->proof = of_request(req, tcp, 1, 0);
}

/* Is the second proof right? */
bool join_proved(const struct join_rep *rep, const struct tcp *tcp, const struct join_req *req)
{
	struct text text = {
		.from = req->to, .to = req->from,
		.from_port = req->to_port, .to_port = req->from_port,
		.step = htobe32(2), .nonce = rep->nonce, .other = req->nonce,
		.terms = terms(rep->version, rep->version, rep->bufs, rep->size),
	};

	return rep->mid == MID_JOIN && rep->proof == hash(&text, tcp);
}

uint64_t join_third(const struct join_req *req, const struct tcp *tcp,
		    const struct join_rep *rep)
{
	return of_request(req, tcp, 3, rep->nonce);
}

/* A record that is right for a Switch at @n with @token, after which the stream goes on at @pos. */
void join_record(struct join_record *r, uint8_t type, uint8_t first, uint32_t n, uint64_t pos,
		 const uint64_t token[2])
{
	uint64_t words[3] = { htole64(type), htole64(n), htole64(pos) };
	uint64_t key[2] = { be64toh(token[0]), be64toh(token[1]) };

	*r = (struct join_record){
		.first = ~first, .type = type, .len = htobe16(sizeof(*r)),
		.pos = htobe64(pos), .mac = htobe64(siphash(words, sizeof(words), key)),
	};
}

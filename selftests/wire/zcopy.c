// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that advertises memory, and writes into the other side's, as it should and otherwise.
 * Names that begin with "target-" are for a server that sends ("pour"), those with "room-" for one
 * that receives ("fetch"); see sdp_end.c.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"

#define MEMORY	65536
#define FIRST	256	/* bytes that come along with SrcAvail */

static unsigned char memory[MEMORY];

/* The next message of that kind; NULL if the connection ends first. */
static const struct bsdh *await(uint8_t mid)
{
	const struct bsdh *h;
	unsigned int bytes;

	while ((h = receive(&bytes)))
		if (h->mid == mid)
			return h;
	return NULL;
}

static const char *outcome(void)
{
	return await(ABORT_CONN) ? "aborted" : "ended";
}

static void say(uint8_t mid, const void *ext, unsigned int n)
{
	struct bsdh h = { .mid = mid, .bufs = own_bufs, .len = sizeof(h) + n, .ack = last_rcvd };

	h.mseq = ++mseq;
	send_bytes(h, ext, n, h.len);
}

static void say_field(uint8_t mid, uint32_t field)
{
	field = htobe32(field);
	say(mid, &field, sizeof(field));
}

static void say_sink_avail(const struct remote *r, uint32_t nondiscards)
{
	uint32_t ext[] = {
		htobe32(r->len), htobe32(r->key), htobe32(r->addr >> 32), htobe32(r->addr),
		htobe32(nondiscards),
	};

	say(SINK_AVAIL, ext, sizeof(ext));
}

/* --- the other side sends ------------------------------------------------------------- */

/* Lets it write into the memory, or what is said of it, instead of being read. */
static bool let_write(uint32_t wrong_key, uint32_t more, uint32_t nondiscards)
{
	struct remote r = remote_memory(memory, sizeof(memory));

	if (!await(SRC_AVAIL))
		return false;
	r.key ^= wrong_key;
	r.len += more;
	say_sink_avail(&r, nondiscards);
	return true;
}

static const char *target_good(void)
{
	const struct bsdh *h;
	uint32_t n;

	if (!let_write(0, 0, 1))
		return "ended";
	h = await(RDMA_WR_COMPL);
	if (!h)
		return "not written";
	memcpy(&n, h + 1, sizeof(n));
	if (be32toh(n) != sizeof(memory))
		return "written in part";
	for (unsigned int i = 0; i < sizeof(memory); i++)
		if (memory[i] != (unsigned char)((i + FIRST) * 7))
			return "wrong bytes";
	return "written";
}

static const char *target_key(void)
{
	return let_write(0x5500, 0, 1) ? outcome() : "ended early";
}

static const char *target_long(void)
{
	return let_write(0, sizeof(memory), 1) ? outcome() : "ended early";
}

/* It says that a message makes the advertisement void, so it does not answer SrcAvail. */
static const char *target_stale(void)
{
	if (!let_write(0, 0, 0))
		return "ended";
	say(SEND_SM, NULL, 0);
	return await(DATA) ? "answered" : "no answer";
}

static const char *target_cancel(void)
{
	if (!let_write(0, 0, 1))
		return "ended";
	say(SINK_AVAIL_CANCEL, NULL, 0);
	return await(SINK_CANCEL_ACK) ? "answered" : "no answer";
}

/* --- the other side receives ---------------------------------------------------------- */

/* The memory that it advertises next. */
static bool next_room(struct remote *r)
{
	const struct bsdh *h = await(SINK_AVAIL);
	uint32_t ext[5];

	if (!h)
		return false;
	memcpy(ext, h + 1, sizeof(ext));
	r->len = be32toh(ext[0]);
	r->key = be32toh(ext[1]);
	r->addr = (uint64_t)be32toh(ext[2]) << 32 | be32toh(ext[3]);
	return true;
}

/* The server takes a byte first, so its reader begins to wait behind both messages. */
static bool first_room(struct remote *r)
{
	say_field(MODE_CHANGE, 2U << 28);
	send_good(DATA, "x");
	return next_room(r);
}

static const char *write_badly(struct remote r, unsigned int bytes)
{
	return write_to(&r, bytes) ? "written" : "refused";
}

static const char *room_good(void)
{
	struct remote r, next;

	if (!first_room(&r) || !write_to(&r, 10))
		return "ended";
	say_field(RDMA_WR_COMPL, 10);
	return next_room(&next) && next.len == r.len - 10 ? "answered" : "no answer";
}

static const char *room_key(void)
{
	struct remote r;

	if (!first_room(&r))
		return "ended";
	r.key ^= 0x5500;
	return write_badly(r, 10);
}

static const char *room_beyond(void)
{
	struct remote r;

	if (!first_room(&r))
		return "ended";
	r.addr += r.len - 5;
	return write_badly(r, 10);
}

/* When the call has returned, which the server says. */
static const char *room_late(void)
{
	const struct bsdh *h;
	struct remote r;

	if (!first_room(&r))
		return "ended";
	say_field(RDMA_WR_COMPL, r.len);
	do {
		h = await(DATA);
		if (!h)
			return "no answer";
	} while (be32toh(h->len) == sizeof(*h));
	return write_badly(r, 10);
}

static const char *room_long(void)
{
	struct remote r;

	if (!first_room(&r))
		return "ended";
	say_field(RDMA_WR_COMPL, r.len + 1);
	return outcome();
}

static const char *room_none(void)
{
	struct remote r;

	if (!first_room(&r))
		return "ended";
	say_field(RDMA_WR_COMPL, 0);
	return outcome();
}

static const char *room_ack(void)
{
	struct remote r;

	if (!first_room(&r))
		return "ended";
	say(SINK_CANCEL_ACK, NULL, 0);
	return outcome();
}

static const struct zcopy_case cases[] = {
	{ "target-good", target_good, false },
	{ "target-key", target_key, true },
	{ "target-long", target_long, true },
	{ "target-stale", target_stale, false },
	{ "target-cancel", target_cancel, false },
	{ "room-good", room_good, false },
	{ "room-key", room_key, true },
	{ "room-beyond", room_beyond, true },
	{ "room-late", room_late, true },
	{ "room-long", room_long, true },
	{ "room-none", room_none, true },
	{ "room-ack", room_ack, true },
};

const struct zcopy_case *zcopy_case(const char *name)
{
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(name, cases[i].name))
			return &cases[i];
	return NULL;
}

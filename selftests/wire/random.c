// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of random messages, as right as a peer's own or wrong in some
 * field, in any state, with other bytes in the Hello, beyond the credits, and
 * with the end at any moment.  A connection is as its seed has it; the seed of one
 * that goes as it should not is printed.
 *
 * What has to be: after a message that is surely wrong the connection ends, and
 * a good conversation now and then goes as if nothing had happened.
 */
#include <endian.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

#define GOOD_EVERY	16	/* connections */
#define MESSAGES	200	/* of a connection, at most */
#define KEPT_CREDITS	2
#define EXT_MAX		64

enum {
	SEND_SM = 0x04,
	RDMA_WR_COMPL = 0x05,
	RDMA_RD_COMPL = 0x06,
	SRC_AVAIL_CANCEL = 0x08,
	SINK_AVAIL_CANCEL = 0x09,
};

static uint32_t state;
static int credits;
static bool over, advertised;
static unsigned long sent_all, connections, refused, ended, failed;

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

static void fill(void *to, unsigned int n)
{
	unsigned char *byte = to;

	while (n--)
		*byte++ = rnd(256);
}

/* Takes what came. */
static void look(void)
{
	const struct bsdh *h;
	unsigned int bytes, i;

	for (i = 0; i < 64 && !over; i++) {
		over = !poll_once(&h, &bytes);
		if (!h) {
			if (!bytes && i > 2)
				break;
			continue;
		}
		if (h->mid == ABORT_CONN || h->mid == DISCONN)
			over = true;
		credits = be16toh(h->bufs) - (int)(mseq - be32toh(h->ack));
		if (h->mid == SEND_SM)
			advertised = false;
	}
	over |= cm_says_over();
}

/* Until there is room to send one more, which the queue pair's end makes, too. */
static void make_room(void)
{
	long deadline = now_ms() + WAIT_MS;

	while (sends_posted() > SENDS / 2 && !over && now_ms() < deadline)
		look();
}

static void send_one(struct bsdh h, const void *ext, unsigned int ext_bytes, unsigned int bytes)
{
	make_room();
	if (over)
		return;
	send_bytes(h, ext, ext_bytes, bytes);
	credits--;
	sent_all++;
}

/* As a good peer would, with extension EXT and PAYLOAD bytes behind it. */
static struct bsdh right(uint8_t mid, unsigned int bytes)
{
	mseq++;
	return (struct bsdh){ .mid = mid, .len = bytes, .mseq = mseq, .ack = last_rcvd };
}

static void send_right_ext(uint8_t mid, const void *ext, unsigned int ext_bytes,
			   unsigned int payload)
{
	unsigned int bytes = sizeof(struct bsdh) + ext_bytes + payload;

	send_one(right(mid, bytes), ext, ext_bytes, bytes);
}

static void send_data(void)
{
	struct bsdh h;
	unsigned int payload = rnd(4) ? rnd(100) : rnd(3000);

	if (!rnd(3))
		payload = 0;
	h = right(DATA, sizeof(h) + payload);
	/* Sometimes its last byte is urgent. */
	if (payload && !rnd(8))
		h.flags = 3;
	send_one(h, NULL, 0, h.len);
}

/* Keys and addresses are whatever comes to mind: nobody may use them. */
static void send_advert(void)
{
	unsigned char ext[20];

	fill(ext, sizeof(ext));
	if (rnd(2)) {
		ext[0] = 0x7f;
		send_right_ext(SRC_AVAIL, ext, 16, 1 + rnd(50));
		advertised = true;
	} else {
		send_right_ext(SINK_AVAIL, ext, 20, 0);
	}
}

static void send_control(void)
{
	unsigned char ext[4];

	fill(ext, sizeof(ext));
	if (advertised && rnd(2)) {
		send_right_ext(SRC_AVAIL_CANCEL, NULL, 0, 0);
		advertised = false;
	} else if (rnd(2)) {
		send_right_ext(SINK_AVAIL_CANCEL, NULL, 0, 0);
	} else {
		send_right_ext(CH_RCV_BUF, ext, 4, 0);
	}
}

static void send_right(void)
{
	look();
	if (credits <= KEPT_CREDITS + 1) {
		poll(NULL, 0, 1);
		return;
	}
	switch (rnd(8)) {
	case 0:
		send_advert();
		break;
	case 1:
		send_control();
		break;
	default:
		send_data();
	}
}

/* It ends the connection, whatever came before. */
static void send_surely_wrong(void)
{
	static const uint8_t unknown[] = { 0x0f, 0x10, 0x55, 0x80, 0xa0, 0xfc };
	unsigned int bytes = sizeof(struct bsdh) + rnd(100);
	struct bsdh h = right(DATA, bytes);

	switch (rnd(7)) {
	case 0:
		h.mid = unknown[rnd(sizeof(unknown))];
		break;
	case 1:
		h.len += 1 + rnd(1U << rnd(31));
		break;
	case 2:
		h.len -= 1 + rnd(h.len);
		break;
	case 3:
		h.mseq += 1 + rnd(0x7fffffff);
		break;
	case 4:
		h.mseq -= 1 + rnd(0x7fffffff);
		break;
	case 5:
		h.ack -= 0x40000000 + rnd(0x7fffffff);
		break;
	default:
		bytes = rnd(sizeof(h));
	}
	send_one(h, NULL, 0, bytes);
}

/* Some field is anything. */
static void send_wrong(void)
{
	static const uint8_t mids[] = {
		HELLO, HELLO_ACK, DISCONN, ABORT_CONN, SEND_SM, RDMA_WR_COMPL, RDMA_RD_COMPL,
		MODE_CHANGE, SRC_AVAIL_CANCEL, SINK_AVAIL_CANCEL, 0x0a, CH_RCV_BUF, 0x0c,
		SUSP_COMM, 0x0e, SINK_AVAIL, SRC_AVAIL, DATA,
	};
	unsigned char ext[EXT_MAX];
	unsigned int ext_bytes = rnd(3) ? rnd(10) * 4 : rnd(EXT_MAX);
	unsigned int bytes = sizeof(struct bsdh) + ext_bytes + (rnd(2) ? 0 : rnd(2000));
	struct bsdh h = right(mids[rnd(sizeof(mids))], bytes);

	fill(ext, sizeof(ext));
	switch (rnd(8)) {
	case 0:
		h.flags = rnd(256);
		break;
	case 1:
		h.mid = rnd(256);
		break;
	case 2:
		fill(&h, sizeof(h));
		break;
	case 3:
		h.len = rnd(2 * bytes);
		break;
	case 4:
		/* Larger than any buffer. */
		if (!rnd(16))
			h.len = BUF_BYTES;
		bytes = h.len == BUF_BYTES ? BUF_BYTES : bytes;
		break;
	}
	send_one(h, ext, ext_bytes, bytes);
}

/* As many as the queue takes, whatever the other side has room for. */
static void overrun(void)
{
	unsigned int i, n = 8 + rnd(SENDS);

	for (i = 0; i < n && !over; i++) {
		struct bsdh h = right(DATA, sizeof(h) + 1);

		send_one(h, NULL, 0, h.len);
	}
}

static void spoil(struct hello *hello)
{
	unsigned int n = 1 + rnd(3);

	if (!rnd(8)) {
		fill(hello, sizeof(*hello));
		return;
	}
	while (n--)
		((unsigned char *)hello)[rnd(sizeof(*hello))] = rnd(3) ? rnd(256) : 0;
}

/* True if the connection ended, for five seconds at most. */
static bool is_ended(void)
{
	const struct bsdh *h;
	unsigned int bytes;
	long deadline = now_ms() + WAIT_MS;

	while (!over && now_ms() < deadline) {
		h = receive(&bytes);
		over = !h || h->mid == ABORT_CONN || h->mid == DISCONN;
	}
	return now_ms() < deadline;
}

static bool converse(void)
{
	unsigned int i, n = rnd(MESSAGES), odds = rnd(4) ? 100 : 5;

	for (i = 0; i < n && !over; i++) {
		if (rnd(odds))
			send_right();
		else if (rnd(8))
			send_wrong();
		else
			overrun();
	}
	switch (rnd(6)) {
	case 0:
		/* It just goes, with messages on their way. */
		return true;
	case 1:
		send_right_ext(DISCONN, NULL, 0, 0);
		return true;
	case 2:
		send_right_ext(ABORT_CONN, NULL, 0, 0);
		return is_ended();
	default:
		send_surely_wrong();
		return is_ended();
	}
}

static bool one_connection(const struct place *place, uint32_t seed)
{
	bool good = true, spoilt;
	struct hello hello;

	/* Seeds side by side begin with alike numbers otherwise. */
	state = seed * 0x9e3779b1U | 1;
	over = false;
	advertised = false;
	connections++;
	fill_hello(&hello, place);
	spoilt = !rnd(8);
	if (spoilt)
		spoil(&hello);
	sent_all++;
	if (!connect_to(place, &hello)) {
		refused++;
		good = spoilt;
	} else {
		credits = peer_bufs;
		good = converse();
		ended += over;
	}
	disconnect();
	return good;
}

static bool good_connection(const struct place *place)
{
	struct hello hello;
	bool good;

	fill_hello(&hello, place);
	good = connect_to(place, &hello) && is_good();
	disconnect();
	return good;
}

int run_random(const struct place *place, unsigned long seed, unsigned long messages)
{
	silent = true;
	while (sent_all < messages) {
		if (!one_connection(place, seed)) {
			printf("random %lu 1: not ended as it should\n", seed);
			failed++;
		}
		if (!(connections % GOOD_EVERY) && !good_connection(place)) {
			printf("random %lu 1: after it a good one does not work\n", seed);
			failed++;
		}
		if (!(connections % 256)) {
			printf("%lu messages, %lu connections\n", sent_all, connections);
			fflush(stdout);
		}
		seed++;
	}
	if (!good_connection(place)) {
		printf("at the end a good one does not work\n");
		failed++;
	}
	printf("%lu messages, %lu connections, %lu refused, ", sent_all, connections, refused);
	printf("%lu ended by the other side, %lu failed\n", ended, failed);
	return failed != 0;
}

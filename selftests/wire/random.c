// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of random messages, by several peers at a time.  Every other one is
 * right in all until one thing is wrong, which is the next of a table each time; so
 * every kind of wrong is met, whatever chance brings.  Those between are as right
 * as a peer's own or wrong in some field, in any state, with other bytes in the
 * Hello, beyond the credits, and with the end at any moment.  A connection is as its
 * seed has it; the seed of one that goes as it should not is printed.
 *
 * What has to be: what is right is taken, after what is surely wrong the connection
 * ends, and a good conversation now and then goes as if nothing had happened.
 */
#include <endian.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

#define GOOD_EVERY	16	/* connections */
#define TOLD_EVERY	256
#define KEPT_CREDITS	2
#define EXT_MAX		64
#define PEERS_MAX	64
#define CREDIT_MS	50	/* then a message does without */

/* What all peers have done together, in memory that they share */
static struct tally {
	unsigned long sent, connections, refused, ended, failed;
} *all;

static uint32_t state, last_acked;
static int credits;
static bool over, advertised, cancelled;
static unsigned int length;	/* messages before one thing is wrong, at most */

static void count(unsigned long *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static unsigned long counted(const unsigned long *what)
{
	return __atomic_load_n(what, __ATOMIC_RELAXED);
}

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

	while (sends_posted() > SENDS / 2 && !over && now_ms() < deadline) {
		await_news(deadline);
		look();
	}
}

static void send_one(struct bsdh h, const void *ext, unsigned int ext_bytes, unsigned int bytes)
{
	make_room();
	if (over)
		return;
	send_bytes(h, ext, ext_bytes, bytes);
	credits--;
	count(&all->sent);
}

/* As a good peer would, with extension EXT and PAYLOAD bytes behind it. */
static struct bsdh right(uint8_t mid, unsigned int bytes)
{
	mseq++;
	last_acked = last_rcvd;
	return (struct bsdh){ .mid = mid, .bufs = own_bufs, .len = bytes, .mseq = mseq,
			      .ack = last_rcvd };
}

static void send_right_ext(uint8_t mid, const void *ext, unsigned int ext_bytes,
			   unsigned int payload)
{
	unsigned int bytes = sizeof(struct bsdh) + ext_bytes + payload;

	send_one(right(mid, bytes), ext, ext_bytes, bytes);
}

/*
 * Until the other side has room for any message, for some time at most.  It may have
 * to hear first that there is room here.
 */
static bool await_credits(long ms)
{
	long deadline = now_ms() + ms;

	look();
	while (credits <= KEPT_CREDITS && !over && now_ms() < deadline) {
		if (last_rcvd - last_acked >= BUFS / 2 && credits > 1)
			send_right_ext(DATA, NULL, 0, 0);
		await_news(deadline);
		look();
	}
	return credits > KEPT_CREDITS && !over;
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

/* Keys and addresses are random: they must not be used. */
static void send_advert(void)
{
	unsigned char ext[20];

	fill(ext, sizeof(ext));
	if (rnd(2)) {
		ext[0] = 0x7f;
		send_right_ext(SRC_AVAIL, ext, 16, 1 + rnd(50));
		advertised = true;
		cancelled = false;
	} else {
		send_right_ext(SINK_AVAIL, ext, 20, 0);
	}
}

static void send_control(void)
{
	unsigned char ext[4];

	fill(ext, sizeof(ext));
	if (advertised && !cancelled && rnd(2)) {
		send_right_ext(SRC_AVAIL_CANCEL, NULL, 0, 0);
		cancelled = true;
	} else if (rnd(2)) {
		send_right_ext(SINK_AVAIL_CANCEL, NULL, 0, 0);
	} else {
		send_right_ext(CH_RCV_BUF, ext, 4, 0);
	}
}

static void send_right(void)
{
	/* No byte follows an advertisement before its answer. */
	switch (advertised ? 1 : rnd(8)) {
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

/* --- what is surely wrong: it ends the connection, whatever came before --------- */

static void wrong_short(void)
{
	send_one(right(DATA, 16), NULL, 0, rnd(sizeof(struct bsdh)));
}

static void wrong_len(void)
{
	unsigned int bytes = sizeof(struct bsdh) + rnd(100);
	struct bsdh h = right(DATA, bytes);

	if (rnd(2))
		h.len += 1 + rnd(1U << rnd(31));
	else
		h.len -= 1 + rnd(h.len);
	send_one(h, NULL, 0, bytes);
}

static void wrong_mid(void)
{
	static const uint8_t unknown[] = { 0x0f, 0x10, 0x55, 0x80, 0xa0, 0xfc };
	unsigned int bytes = sizeof(struct bsdh) + rnd(100);

	send_one(right(unknown[rnd(sizeof(unknown))], bytes), NULL, 0, bytes);
}

/* An urgent byte where there is none, a mode that is none, more than is advertised */
static void wrong_field(void)
{
	static const char ext[16] = "\0\0\0\x04";
	struct bsdh h = right(DATA, sizeof(h));

	switch (rnd(3)) {
	case 0:
		h.flags = 1;
		send_one(h, NULL, 0, sizeof(h));
		break;
	case 1:
		h.mid = MODE_CHANGE;
		h.len += 4;
		send_one(h, rnd(2) ? "\x30\0\0" : "\xf0\0\0", 4, h.len);
		break;
	default:
		h.mid = SRC_AVAIL;
		h.len += sizeof(ext) + 5 + rnd(50);
		send_one(h, ext, sizeof(ext), h.len);
	}
}

/* Answers to what was not asked, and the handshake again */
static void wrong_turn(void)
{
	static const struct {
		uint8_t mid, ext;
	} turns[] = {
		{ HELLO, 48 }, { HELLO_ACK, 8 }, { SEND_SM, 0 }, { RDMA_WR_COMPL, 4 },
		{ RDMA_RD_COMPL, 4 }, { SINK_CANCEL_ACK, 0 }, { CH_RCV_BUF_ACK, 4 },
		{ SUSP_COMM, 8 }, { SUSP_COMM_ACK, 0 },
	};
	unsigned int i = rnd(sizeof(turns) / sizeof(*turns));
	unsigned char ext[EXT_MAX];

	fill(ext, sizeof(ext));
	send_right_ext(turns[i].mid, ext, turns[i].ext, 0);
}

static void wrong_mseq(void)
{
	unsigned int bytes = sizeof(struct bsdh) + rnd(100);
	struct bsdh h = right(DATA, bytes);

	if (rnd(2))
		h.mseq += 1 + rnd(0x7fffffff);
	else
		h.mseq -= 1 + rnd(0x7fffffff);
	send_one(h, NULL, 0, bytes);
}

static void wrong_ack(void)
{
	unsigned int bytes = sizeof(struct bsdh) + rnd(100);
	struct bsdh h = right(DATA, bytes);

	h.ack -= 0x40000000 + rnd(0x7fffffff);
	send_one(h, NULL, 0, bytes);
}

/*
 * With no buffer left here, as it is said, the other side cannot give new credits: it
 * has to run out of what there are, or has sent what it had none for.
 */
static void wrong_credits(void)
{
	long deadline = now_ms() + WAIT_MS;
	struct bsdh h;

	while (!over && now_ms() < deadline) {
		h = right(DATA, sizeof(h) + 1);
		h.bufs = 0;
		send_one(h, NULL, 0, h.len);
		look();
	}
}

static void wrong_abort(void)
{
	send_right_ext(ABORT_CONN, NULL, 0, 0);
}

static void wrong_version(struct hello *hello)
{
	hello->version = 0x10 * (3 + rnd(13)) + rnd(16);
}

static void wrong_addr(struct hello *hello)
{
	switch (rnd(3)) {
	case 0:
		hello->ipv = 0x50;
		break;
	case 1:
		hello->port = 0;
		break;
	default:
		(rnd(2) ? hello->src : hello->dst)[12] = 0xe0 + rnd(16);
	}
}

static void wrong_sizes(struct hello *hello)
{
	if (rnd(2))
		hello->rcv_sz = htobe32(rnd(256));
	else
		hello->h.bufs = htobe16(rnd(KEPT_CREDITS + 1));
}

/* random.sh looks whether there is a counter for each that has moved. */
static const struct wrong {
	void (*hello)(struct hello *hello);
	void (*message)(void);
} wrongs[] = {
	{ .hello = wrong_version }, { .hello = wrong_addr }, { .hello = wrong_sizes },
#define HELLOS	3
	{ .message = wrong_short }, { .message = wrong_len }, { .message = wrong_mid },
	{ .message = wrong_field }, { .message = wrong_turn }, { .message = wrong_mseq },
	{ .message = wrong_ack }, { .message = wrong_credits }, { .message = wrong_abort },
};

#define WRONGS	(sizeof(wrongs) / sizeof(*wrongs))

static void send_surely_wrong(void)
{
	wrongs[HELLOS + rnd(WRONGS - HELLOS)].message();
}

/* --- what may be wrong -------------------------------------------------------- */

/* Some field is anything. */
static void send_wrong(void)
{
	static const uint8_t mids[] = {
		HELLO, HELLO_ACK, DISCONN, ABORT_CONN, SEND_SM, RDMA_WR_COMPL, RDMA_RD_COMPL,
		MODE_CHANGE, SRC_AVAIL_CANCEL, SINK_AVAIL_CANCEL, SINK_CANCEL_ACK, CH_RCV_BUF,
		CH_RCV_BUF_ACK, SUSP_COMM, SUSP_COMM_ACK, SINK_AVAIL, SRC_AVAIL, DATA,
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
	unsigned int i, n = rnd(5 * length), odds = rnd(4) ? 2 * length : 5;

	for (i = 0; i < n && !over; i++) {
		if (rnd(odds)) {
			if (await_credits(CREDIT_MS))
				send_right();
		} else if (rnd(8)) {
			send_wrong();
		} else {
			overrun();
		}
	}
	switch (rnd(6)) {
	case 0:
		/* It just goes, with messages on their way. */
		return true;
	case 1:
		send_right_ext(DISCONN, NULL, 0, 0);
		return true;
	default:
		send_surely_wrong();
		return is_ended();
	}
}

/* All is right, and then one thing is not. */
static bool converse_well(const struct wrong *wrong)
{
	unsigned int i, n = rnd(length);

	for (i = 0; i < n; i++) {
		if (!await_credits(WAIT_MS))
			return false;
		send_right();
	}
	if (!await_credits(WAIT_MS))
		return false;
	wrong->message();
	return is_ended();
}

static bool one_connection(const struct place *place, uint32_t seed)
{
	const struct wrong *wrong = seed % 2 ? NULL : &wrongs[seed / 2 % WRONGS];
	bool good, spoilt = false;
	struct hello hello;

	/* Seeds side by side begin with alike numbers otherwise. */
	state = seed * 0x9e3779b1U | 1;
	over = false;
	advertised = false;
	last_acked = 0;
	fill_hello(&hello, place);
	if (wrong && wrong->hello) {
		wrong->hello(&hello);
	} else if (!wrong && !rnd(8)) {
		spoilt = true;
		spoil(&hello);
	}
	count(&all->sent);
	if (!connect_to(place, &hello)) {
		count(&all->refused);
		good = spoilt || (wrong && wrong->hello);
	} else {
		credits = peer_bufs;
		good = !wrong ? converse() : wrong->message && converse_well(wrong);
		if (over)
			count(&all->ended);
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

/* One of the peers: connections from SEED on, each of which only one peer makes. */
static void run_peer(const struct place *place, unsigned long seed, unsigned long messages)
{
	unsigned long n;

	peer_init();
	silent = true;
	/* The first are at least one of each kind. */
	while (counted(&all->sent) < messages || counted(&all->connections) < 2 * WRONGS) {
		n = __atomic_fetch_add(&all->connections, 1, __ATOMIC_RELAXED);
		if (!one_connection(place, seed + n)) {
			printf("random %lu 1 1: not ended as it should\n", seed + n);
			count(&all->failed);
		}
		if (!(n % GOOD_EVERY) && !good_connection(place)) {
			printf("random %lu 1 1: after it a good one does not work\n", seed + n);
			count(&all->failed);
		}
		if (n % TOLD_EVERY == TOLD_EVERY - 1)
			printf("%lu messages, %lu connections\n", counted(&all->sent), n + 1);
		fflush(stdout);
	}
	if (!good_connection(place)) {
		printf("at the end a good one does not work\n");
		count(&all->failed);
	}
	fflush(stdout);
}

int run_random(const struct place *place, unsigned long seed, unsigned long messages,
	       unsigned int peers, unsigned int most)
{
	unsigned int i;
	int status;

	length = most ?: 1;
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		   -1, 0);
	if (all == MAP_FAILED || !peers || peers > PEERS_MAX)
		die("peers");
	for (i = 0; i < peers; i++) {
		switch (fork()) {
		case -1:
			die("fork");
		case 0:
			run_peer(place, seed, messages);
			exit(0);
		}
	}
	while (wait(&status) > 0)
		if (status)
			count(&all->failed);
	printf("%lu messages, %lu connections, ", all->sent, all->connections);
	printf("%lu refused, %lu ended by the other side, %lu failed\n", all->refused,
	       all->ended, all->failed);
	return all->failed != 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that speaks SDP badly: in ways that have names, and at random.
 *
 *   sdp_peer FROM TO SRC DST PORT CASE... | order | early | unsaid | idle |
 *		random SEED MESSAGES PEERS LENGTH
 *
 * FROM and TO are the devices, SRC and DST the IPv4 addresses that the Hello
 * names.  CASE is a name out of the tables below or of zcopy.c, "good", "probe" (an RDMA
 * WRITE of no bytes, and then as "good") or "write" (one of a byte).  Prints a line for
 * each, what the other side did and which of its counters for bad things moved,
 * say "hello-mseq: rejected 28; refused_bad_hello bad_mseq ib_req_invalid":
 *
 *   rejected REASON	the request was refused, with ib_cm's reason
 *   accepted		the request was accepted
 *   aborted		AbortConn came
 *   ended		the connection ended without one
 *   answered		the message was answered as the annex has it
 *   echoed		the good conversation went as it should
 *   refused		the RDMA WRITE failed
 *   nothing		none of this, for five seconds
 *
 * With "order" one connection is asked for and answered, then another one is made,
 * and then the first one is, unless the argument "alone" follows; their ports are
 * 40000 and 40001.  With "early" there is an echo before the connection manager says
 * that there is a connection, and one after.  "unsaid" is a peer that never says so, and
 * nothing else: it waits to be told that it is over; "idle" says so, and nothing else for
 * as long as that takes, from port 40001.  What "random" does is in random.c.  The
 * first byte of a Hello cannot be made wrong: the connection manager writes it.
 */
#include <endian.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

#define SETTLE_MS	200
#define COUNTERS	512
/* The other side leaves its peer 20 s for the RTU, and tells of it a bit later. */
#define RTU_MS		20000
#define OVER_MS		(RTU_MS + 30000)
#define IDLE_MS		(RTU_MS + 5000)

/* What is wrong with the Hello: bytes at an offset. */
static const struct bad_hello {
	const char *name;
	unsigned int at, n;
	const char *bytes;
} bad_hellos[] = {
	{ "hello-version-0", offsetof(struct hello, version), 1, "\x00" },
	{ "hello-version-1", offsetof(struct hello, version), 1, "\x11" },
	{ "hello-version-3", offsetof(struct hello, version), 1, "\x30" },
	{ "hello-ip-5", offsetof(struct hello, ipv), 1, "\x50" },
	{ "hello-len-0", offsetof(struct hello, h.len), 4, "\0\0\0\0" },
	{ "hello-len-15", offsetof(struct hello, h.len), 4, "\0\0\0\x0f" },
	{ "hello-len-63", offsetof(struct hello, h.len), 4, "\0\0\0\x3f" },
	{ "hello-len-huge", offsetof(struct hello, h.len), 4, "\xff\xff\xff\xff" },
	{ "hello-mseq", offsetof(struct hello, h.mseq), 4, "\0\0\0\x07" },
	{ "hello-bufs", offsetof(struct hello, h.bufs), 2, "\0\0" },
	{ "hello-bufs-2", offsetof(struct hello, h.bufs), 2, "\0\x02" },
	{ "hello-rcvsz", offsetof(struct hello, rcv_sz), 4, "\0\0\0\x10" },
	{ "hello-port", offsetof(struct hello, port), 2, "\0\0" },
	{ "hello-src-any", offsetof(struct hello, src) + 12, 4, "\0\0\0\0" },
	{ "hello-src-multicast", offsetof(struct hello, src) + 12, 4, "\xe0\0\0\x01" },
	{ "hello-src-loopback", offsetof(struct hello, src) + 12, 4, "\x7f\0\0\x01" },
	{ "hello-src-elsewhere", offsetof(struct hello, src) + 12, 4, "\xc0\0\x02\x01" },
	{ "hello-ipv6", offsetof(struct hello, ipv), 1, "\x60" },
	{ "hello-dst-elsewhere", offsetof(struct hello, dst) + 12, 4, "\xc0\0\x02\x01" },
};

/* A wrong message on a good connection. */
static const struct bad_message {
	const char *name;
	uint8_t mid;
	unsigned int bytes;	/* as sent */
	int len;		/* Len less that */
	int mseq;		/* MSeq less the right one */
	int ack;		/* MSeqAck less the right one */
	unsigned int times;
	const char *ext;	/* first bytes behind the base header */
} bad_messages[] = {
	{ .name = "empty", .mid = DATA, .bytes = 0 },
	{ .name = "short", .mid = DATA, .bytes = 15 },
	{ .name = "len-small", .mid = DATA, .bytes = 32, .len = -17 },
	{ .name = "len-short", .mid = DATA, .bytes = 32, .len = -1 },
	{ .name = "len-long", .mid = DATA, .bytes = 32, .len = 1 },
	{ .name = "len-huge", .mid = DATA, .bytes = 32, .len = 0x7fffff00 },
	{ .name = "mid-unknown", .mid = 0x55, .bytes = 16 },
	{ .name = "mid-0f", .mid = 0x0f, .bytes = 16 },
	{ .name = "mid-fc", .mid = 0xfc, .bytes = 16 },
	{ .name = "hello-again", .mid = HELLO, .bytes = 76 },
	{ .name = "hello-ack", .mid = HELLO_ACK, .bytes = 24 },
	{ .name = "mseq-skipped", .mid = DATA, .bytes = 20, .mseq = 1 },
	{ .name = "mseq-repeated", .mid = DATA, .bytes = 20, .mseq = -1 },
	{ .name = "mseq-far", .mid = DATA, .bytes = 20, .mseq = 0x40000000 },
	{ .name = "ack-ahead", .mid = DATA, .bytes = 20, .ack = 1 },
	{ .name = "ack-far", .mid = DATA, .bytes = 20, .ack = -0x7fffffff },
	{ .name = "disconn-long", .mid = DISCONN, .bytes = 20 },
	{ .name = "disconn-twice", .mid = DISCONN, .bytes = 16, .times = 2 },
	{ .name = "abort-long", .mid = ABORT_CONN, .bytes = 17 },
	{ .name = "rcvbuf-short", .mid = CH_RCV_BUF, .bytes = 18 },
	{ .name = "srcavail-short", .mid = SRC_AVAIL, .bytes = 24 },
	{ .name = "srcavail-data", .mid = SRC_AVAIL, .bytes = 16 + 16 + 8, .ext = "\0\0\0\x04" },
	{ .name = "sinkavail-short", .mid = SINK_AVAIL, .bytes = 35 },
	{ .name = "mode-unknown", .mid = MODE_CHANGE, .bytes = 20, .ext = "\x50" },
	{ .name = "mode-short", .mid = MODE_CHANGE, .bytes = 17, .ext = "\x10" },
	{ .name = "mode-same", .mid = MODE_CHANGE, .bytes = 20, .ext = "\x10\0\0" },
	{ .name = "mode-not-ours", .mid = MODE_CHANGE, .bytes = 20, .ext = "\x90\0\0" },
	{ .name = "srcavail-bare", .mid = SRC_AVAIL, .bytes = 32, .ext = "\0\0\0\x04" },
	{ .name = "cancel-nothing", .mid = SRC_AVAIL_CANCEL, .bytes = 16 },
	{ .name = "answer-unasked", .mid = SEND_SM, .bytes = 16 },
	{ .name = "srcavail-empty", .mid = SRC_AVAIL, .bytes = 32, .ext = "\0\0\0" },
	{ .name = "sinkavail-empty", .mid = SINK_AVAIL, .bytes = 36, .ext = "\0\0\0" },
	{ .name = "written-unasked", .mid = RDMA_WR_COMPL, .bytes = 20, .ext = "\0\0\0\x04" },
	{ .name = "written-short", .mid = RDMA_WR_COMPL, .bytes = 18 },
	{ .name = "sinkack-unasked", .mid = SINK_CANCEL_ACK, .bytes = 16 },
	{ .name = "read-unasked", .mid = RDMA_RD_COMPL, .bytes = 20, .ext = "\0\0\0\x04" },
	{ .name = "srcavail-key", .mid = SRC_AVAIL, .bytes = 16 + 16 + 8, .ext = "\0\x04\0\0" },
	{ .name = "susp", .mid = SUSP_COMM, .bytes = 24 },
	{ .name = "susp-short", .mid = SUSP_COMM, .bytes = 20 },
	{ .name = "credits", .mid = DATA, .bytes = 17, .times = SENDS },
	{ .name = "oversize", .mid = DATA, .bytes = BUF_BYTES },
};

/* A message that has an answer. */
static const struct asked {
	const char *name;
	uint8_t mid;
	unsigned int bytes;	/* as sent */
	const char *ext;	/* first bytes behind the base header */
	uint8_t answer;
} askeds[] = {
	{ "src-avail", SRC_AVAIL, 16 + 16 + 8, "\0\0\x10\0", SEND_SM },
	{ "sink-cancel", SINK_AVAIL_CANCEL, 16, NULL, SINK_CANCEL_ACK },
	{ "rcvbuf", CH_RCV_BUF, 20, "\0\0\x10\0", CH_RCV_BUF_ACK },
};

/* An RDMA WRITE of so many bytes to where nothing is; false: it was refused. */
static bool write_nowhere(unsigned int bytes)
{
	static const struct remote nowhere;

	return write_to(&nowhere, bytes);
}

/* It is answered, and the connection goes on. */
static void run_asked(const struct asked *m)
{
	struct bsdh h = { .mid = m->mid, .bufs = own_bufs, .len = m->bytes };
	const struct bsdh *in;
	unsigned int bytes;

	h.mseq = ++mseq;
	send_bytes(h, m->ext, m->ext ? 4 : 0, m->bytes);
	while ((in = receive(&bytes)))
		if (in->mid == m->answer) {
			printf("answered");
			return;
		}
	printf("ended");
}

/* Combined to Pipelined, back, and to Buffered; SinkAvail is not taken up. */
static void run_modes(void)
{
	static const struct {
		uint8_t mid;
		unsigned int ext_bytes;
		const char *ext;
	} sent[] = {
		{ MODE_CHANGE, 4, "\x20\0\0" },
		{ MODE_CHANGE, 4, "\x10\0\0" },
		{ SINK_AVAIL, 20, "\0\0\x10\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0" },
		{ MODE_CHANGE, 4, "\0\0\0" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		struct bsdh h = {
			.mid = sent[i].mid,
			.bufs = own_bufs,
			.len = sizeof(h) + sent[i].ext_bytes,
			.mseq = ++mseq,
		};

		send_bytes(h, sent[i].ext, sent[i].ext_bytes, h.len);
	}
	printf(is_good() ? "echoed" : "not echoed");
}

static void run_bad(const struct bad_message *m)
{
	unsigned int i, bytes, ext_bytes = m->ext ? 4 : 0;
	const struct bsdh *h;

	for (i = 0; i < (m->times ?: 1); i++) {
		struct bsdh wrong = {
			.mid = m->mid,
			.bufs = own_bufs,
			.len = m->bytes + m->len,
			.mseq = ++mseq + m->mseq,
			.ack = last_rcvd + m->ack,
		};

		send_bytes(wrong, m->ext, ext_bytes, m->bytes);
	}
	while ((h = receive(&bytes)))
		if (h->mid == ABORT_CONN) {
			printf("aborted");
			return;
		}
	printf("ended");
}

struct counter {
	char name[48];
	unsigned long value;
};

/* Adds those of a process's namespace to the values. */
static unsigned int add_counters(struct counter *c, pid_t pid)
{
	unsigned int n = 0;
	unsigned long value;
	char path[48];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/sdp/snmp", pid);
	f = fopen(path, "r");
	if (!f)
		die(path);
	while (n < COUNTERS && fscanf(f, "%47s %lu", c[n].name, &value) == 2)
		c[n++].value += value;
	fclose(f);
	return n;
}

/* Of node1, where the shell is, and of what names no namespace, which the first one counts. */
static unsigned int read_counters(struct counter *c)
{
	unsigned int n;

	memset(c, 0, COUNTERS * sizeof(*c));
	add_counters(c, getppid());
	n = add_counters(c, 1);
	/* What is not seen cannot have moved. */
	if (n == COUNTERS)
		die("more counters than there is room for");
	return n;
}

static bool is_moved(const struct counter *c, const struct counter *was)
{
	static const char *const bad[] = { "refused_", "bad_", "ib_" };
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!strncmp(c->name, bad[i], strlen(bad[i])))
			return c->value != was->value;
	return false;
}

/* Has the other side counted something? */
static bool is_counted(const struct counter *was)
{
	struct counter c[COUNTERS];
	unsigned int i, n = read_counters(c);

	for (i = 0; i < n; i++)
		if (is_moved(&c[i], &was[i]))
			return true;
	return false;
}

/* The other side may need a moment, or many, to see what this one has seen. */
static void print_moved(const struct counter *was, unsigned int settle_ms)
{
	long deadline = now_ms() + WAIT_MS;
	struct counter c[COUNTERS];
	unsigned int i, n;

	poll(NULL, 0, settle_ms);
	while (settle_ms && !is_counted(was) && now_ms() < deadline)
		poll(NULL, 0, settle_ms);
	n = read_counters(c);
	for (i = 0; i < n; i++)
		if (is_moved(&c[i], &was[i]))
			printf(" %s", c[i].name);
}

static void run(const struct place *place, const char *name)
{
	struct hello hello;
	const struct bad_hello *bad = NULL;
	const struct bad_message *msg = NULL;
	const struct zcopy_case *zcopy = zcopy_case(name);
	const struct asked *asked = NULL;
	struct counter was[COUNTERS];
	unsigned int i;

	for (i = 0; i < sizeof(bad_hellos) / sizeof(*bad_hellos); i++)
		if (!strcmp(name, bad_hellos[i].name))
			bad = &bad_hellos[i];
	for (i = 0; i < sizeof(bad_messages) / sizeof(*bad_messages); i++)
		if (!strcmp(name, bad_messages[i].name))
			msg = &bad_messages[i];
	for (i = 0; i < sizeof(askeds) / sizeof(*askeds); i++)
		if (!strcmp(name, askeds[i].name))
			asked = &askeds[i];

	read_counters(was);
	fill_hello(&hello, place);
	if (bad)
		memcpy((char *)&hello + bad->at, bad->bytes, bad->n);
	printf("%s: ", name);
	if (connect_to(place, &hello)) {
		if (bad)
			printf("accepted");
		else if (msg)
			run_bad(msg);
		else if (asked)
			run_asked(asked);
		else if (zcopy)
			printf("%s", zcopy->run());
		else if (!strcmp(name, "modes"))
			run_modes();
		else if (!strcmp(name, "good"))
			printf(is_good() ? "echoed" : "not echoed");
		else if (!strcmp(name, "probe"))
			printf(write_nowhere(0) && is_good() ? "echoed" : "refused");
		else if (!strcmp(name, "write"))
			printf(write_nowhere(1) ? "written" : "refused");
		else
			printf("no such case");
	}
	printf(";");
	print_moved(was, msg || (zcopy && zcopy->bad) || !strcmp(name, "write") ? SETTLE_MS : 0);
	printf("\n");
	fflush(stdout);
	disconnect();
}

/*
 * The one that is asked for later: says how it went, and stays. Its echo shows that the server has
 * it: what the two processes send by themselves may overtake each other.
 */
static void run_second(const struct place *place, int other)
{
	struct hello hello;
	char c;

	if (read(other, &c, 1) != 1)
		exit(1);
	peer_init();
	fill_hello(&hello, place);
	hello.port = htobe16(40001);
	c = connect_to(place, &hello) && is_good();
	if (write(other, &c, 1) != 1 || read(other, &c, 1))
		exit(1);
	exit(0);
}

/* Two processes: each connection has a connection manager of its own. */
static int run_order(const struct place *place, bool alone)
{
	struct hello hello;
	char good = 0;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("sockets");
	switch (fork()) {
	case -1:
		die("fork");
	case 0:
		close(pair[0]);
		run_second(place, pair[1]);
	}
	close(pair[1]);
	peer_init();
	fill_hello(&hello, place);
	ask(place, &hello);
	await_answer();
	if (write(pair[0], "", 1) != 1 || read(pair[0], &good, 1) != 1)
		die("the second");
	return !good || (!alone && (!is_connected() || !is_good()));
}

/* Says how far it came. */
static int run_early(const struct place *place)
{
	struct hello hello;

	peer_init();
	fill_hello(&hello, place);
	hold_rtu = true;
	if (!connect_to(place, &hello) || !is_echoed("before")) {
		printf("no echo before the RTU\n");
		return 1;
	}
	if (!establish() || !is_good()) {
		printf("no echo after the RTU\n");
		return 1;
	}
	disconnect();
	return 0;
}

/* Is something said of the connection within MS? */
static bool is_over_in(unsigned int ms)
{
	long deadline = now_ms() + ms;

	while (now_ms() < deadline) {
		if (cm_says_over())
			return true;
		poll(NULL, 0, SETTLE_MS);
	}
	return false;
}

/* Is the connection ended, and after how long? */
static int run_unsaid(const struct place *place)
{
	long began = now_ms(), took;
	struct hello hello;
	bool over;

	peer_init();
	fill_hello(&hello, place);
	hold_rtu = true;
	if (!connect_to(place, &hello)) {
		printf("no answer\n");
		return 1;
	}
	over = is_over_in(OVER_MS);
	took = now_ms() - began;
	printf("%s after %ld ms\n", over ? "over" : "nothing", took);
	disconnect();
	return !over || took < RTU_MS / 2;
}

static int run_idle(const struct place *place)
{
	struct hello hello;

	peer_init();
	fill_hello(&hello, place);
	hello.port = htobe16(40001);
	hold_rtu = true;
	if (!connect_to(place, &hello) || !establish()) {
		printf("no connection\n");
		return 1;
	}
	if (is_over_in(IDLE_MS) || !is_good()) {
		printf("ended\n");
		return 1;
	}
	disconnect();
	return 0;
}

int main(int argc, char **argv)
{
	struct place place;
	int i;

	if (argc < 7) {
		fprintf(stderr,
			"usage: sdp_peer FROM TO SRC DST PORT CASE... | order [alone] | early | unsaid | idle | random SEED MESSAGES PEERS LENGTH\n");
		return 2;
	}
	place = (struct place){ argv[1], argv[2], argv[3], argv[4], atoi(argv[5]) };
	if (argc == 11 && !strcmp(argv[6], "random"))
		return run_random(&place, strtoul(argv[7], NULL, 0), strtoul(argv[8], NULL, 0),
				  atoi(argv[9]), atoi(argv[10]));
	if (!strcmp(argv[6], "order"))
		return run_order(&place, argc == 8);
	if (!strcmp(argv[6], "early"))
		return run_early(&place);
	if (!strcmp(argv[6], "unsaid"))
		return run_unsaid(&place);
	if (!strcmp(argv[6], "idle"))
		return run_idle(&place);
	peer_init();
	for (i = 6; i < argc; i++)
		run(&place, argv[i]);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that speaks SDP badly, from user space: the RDMA connection manager's
 * native InfiniBand addresses (AF_IB) let it send any private data to any
 * service ID, and verbs any message.
 *
 *   sdp_peer FROM TO SRC DST PORT CASE...
 *
 * FROM and TO are the devices, SRC and DST the IPv4 addresses that the Hello
 * names.  CASE is a name out of the tables below, or "good".  Prints a line for
 * each, what the other side did and which of its counters for bad things moved,
 * say "hello-mseq: rejected 28; refused_bad_hello bad_mseq ib_req_invalid":
 *
 *   rejected REASON	the request was refused, with ib_cm's reason
 *   accepted		the request was accepted
 *   aborted		AbortConn came
 *   ended		the connection ended without one
 *   echoed		the good conversation went as it should
 *   nothing		none of this, for five seconds
 *
 * The first byte of a Hello cannot be made wrong: the connection manager writes
 * it.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/ib.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define BUFS		16	/* receive buffers, as the Hello says */
#define SENDS		64
#define SLOTS		(BUFS + SENDS)
#define BUF_BYTES	32768
#define WAIT_MS		5000
#define SETTLE_MS	200
#define COUNTERS	128
#define HAH_BYTES	24

#define SDP_SERVICE_ID	0x10000ULL

enum {
	HELLO = 0x00,
	HELLO_ACK = 0x01,
	DISCONN = 0x02,
	ABORT_CONN = 0x03,
	MODE_CHANGE = 0x07,
	CH_RCV_BUF = 0x0b,
	SUSP_COMM = 0x0d,
	SINK_AVAIL = 0xfd,
	SRC_AVAIL = 0xfe,
	DATA = 0xff,
};

struct bsdh {
	uint8_t mid, flags;
	uint16_t bufs;
	uint32_t len, mseq, ack;
};

struct hello {
	struct bsdh h;
	uint8_t version, ipv, rsvd1, adverts;
	uint32_t des_rcv_sz, rcv_sz;
	uint16_t port, rsvd2;
	uint8_t src[16], dst[16];
	uint16_t rsvd3, ext_adverts;
	uint8_t pad[8];
};

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
	{ "hello-len-huge", offsetof(struct hello, h.len), 4, "\xff\xff\xff\xff" },
	{ "hello-mseq", offsetof(struct hello, h.mseq), 4, "\0\0\0\x07" },
	{ "hello-bufs", offsetof(struct hello, h.bufs), 2, "\0\0" },
	{ "hello-rcvsz", offsetof(struct hello, rcv_sz), 4, "\0\0\0\x10" },
	{ "hello-port", offsetof(struct hello, port), 2, "\0\0" },
	{ "hello-src-any", offsetof(struct hello, src) + 12, 4, "\0\0\0\0" },
	{ "hello-src-multicast", offsetof(struct hello, src) + 12, 4, "\xe0\0\0\x01" },
	{ "hello-src-loopback", offsetof(struct hello, src) + 12, 4, "\x7f\0\0\x01" },
	{ "hello-src-elsewhere", offsetof(struct hello, src) + 12, 4, "\xc0\0\x02\x01" },
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
	{ .name = "susp-short", .mid = SUSP_COMM, .bytes = 20 },
	{ .name = "credits", .mid = DATA, .bytes = 17, .times = SENDS },
	{ .name = "oversize", .mid = DATA, .bytes = BUF_BYTES },
};

/* The connection of the case at hand. */
static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static unsigned char *mem;		/* BUFS to receive, SENDS to send */
static unsigned int sent;
static uint32_t mseq, last_rcvd;	/* sent last, received last */

static void die(const char *what)
{
	fprintf(stderr, "sdp_peer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void set_gid(struct sockaddr_ib *sib, const char *device)
{
	char path[128], gid[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/0", device);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%63s", gid) != 1 || inet_pton(AF_INET6, gid, &sib->sib_addr) != 1)
		die(path);
	fclose(f);
	sib->sib_family = AF_IB;
	sib->sib_pkey = htobe16(0xffff);
}

/* --- the connection --------------------------------------------------------- */

/* The next event of the connection manager: is it WANT? */
static bool expect(enum rdma_cm_event_type want, struct rdma_cm_event **evp)
{
	struct rdma_cm_event *ev;
	bool is;

	if (rdma_get_cm_event(channel, &ev))
		die("event");
	is = ev->event == want;
	if (is && evp) {
		*evp = ev;
		return true;
	}
	if (ev->event == RDMA_CM_EVENT_REJECTED)
		printf("rejected %d", ev->status);
	else if (!is)
		printf("%s (%d)", rdma_event_str(ev->event), ev->status);
	rdma_ack_cm_event(ev);
	return is;
}

static void post_recv(unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)mem + slot * BUF_BYTES, BUF_BYTES, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(id->qp, &wr, &bad))
		die("post receive");
}

static void make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = SENDS, .max_recv_wr = BUFS,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	unsigned int i;

	cq = ibv_create_cq(id->verbs, SLOTS, NULL, NULL, 0);
	if (!cq)
		die("completion queue");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(id, NULL, &attr))
		die("queue pair");
	mr = ibv_reg_mr(id->pd, mem, SLOTS * BUF_BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("memory region");
	for (i = 0; i < BUFS; i++)
		post_recv(i);
}

static bool hello_ack_is_good(const struct rdma_conn_param *param)
{
	const struct bsdh *ack = param->private_data;

	return ack && param->private_data_len >= HAH_BYTES && ack->mid == HELLO_ACK &&
	       be32toh(ack->len) == HAH_BYTES && be16toh(ack->bufs);
}

/* False, and said why, if it does not come to be. */
static bool connect_to(const char *from, const char *to, unsigned int port,
		       const struct hello *hello)
{
	struct rdma_conn_param param = {
		.private_data = hello,
		.private_data_len = sizeof(*hello),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct sockaddr_ib src = {}, dst = {};
	struct rdma_cm_event *ev;
	bool good;

	set_gid(&src, from);
	set_gid(&dst, to);
	dst.sib_sid = htobe64(SDP_SERVICE_ID | port);
	dst.sib_sid_mask = ~0ULL;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_IB))
		die("connection manager");
	if (rdma_bind_addr(id, (struct sockaddr *)&src))
		die("bind");
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&dst, WAIT_MS))
		die("resolve address");
	if (!expect(RDMA_CM_EVENT_ADDR_RESOLVED, NULL))
		return false;
	if (rdma_resolve_route(id, WAIT_MS))
		die("resolve route");
	if (!expect(RDMA_CM_EVENT_ROUTE_RESOLVED, NULL))
		return false;
	make_qp();
	if (rdma_connect(id, &param))
		die("connect");
	if (!expect(RDMA_CM_EVENT_ESTABLISHED, &ev))
		return false;
	good = hello_ack_is_good(&ev->param.conn);
	rdma_ack_cm_event(ev);
	if (!good)
		printf("bad HelloAck");
	return good;
}

static void disconnect(void)
{
	if (id->qp) {
		rdma_disconnect(id);
		rdma_destroy_qp(id);
		ibv_dereg_mr(mr);
		ibv_destroy_cq(cq);
	}
	rdma_destroy_id(id);
	sent = 0;
	mseq = 0;
	last_rcvd = 0;
}

/* Send the first BYTES of a base header and what follows. */
static void send_bytes(struct bsdh h, const char *ext, unsigned int ext_bytes, unsigned int bytes)
{
	unsigned int slot = BUFS + sent++ % SENDS;
	unsigned char *out = mem + slot * BUF_BYTES;
	struct ibv_sge sge = { (uintptr_t)out, bytes, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;

	h.bufs = htobe16(BUFS);
	h.len = htobe32(h.len);
	h.mseq = htobe32(h.mseq);
	h.ack = htobe32(h.ack);
	memset(out, 'x', BUF_BYTES);
	memcpy(out, &h, sizeof(h));
	if (ext_bytes)
		memcpy(out + sizeof(h), ext, ext_bytes);
	/* It fails once the other side has ended the connection. */
	ibv_post_send(id->qp, &wr, &bad);
}

static void send_good(uint8_t mid, const char *text)
{
	unsigned int bytes = sizeof(struct bsdh) + strlen(text);
	struct bsdh h = { .mid = mid, .len = bytes, .mseq = ++mseq, .ack = last_rcvd };

	send_bytes(h, text, strlen(text), bytes);
}

static bool cm_says_over(void)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	if (poll(&p, 1, 0) != 1 || rdma_get_cm_event(channel, &ev))
		return false;
	rdma_ack_cm_event(ev);
	return true;
}

/* The next message; NULL if the connection ended first, or nothing came. */
static const struct bsdh *receive(unsigned int *bytes)
{
	long deadline = now_ms() + WAIT_MS;
	const struct bsdh *h;
	bool over = false;
	struct ibv_wc wc;
	int n;

	while (now_ms() < deadline) {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n < 0)
			die("poll");
		if (!n) {
			if (over)
				return NULL;
			/* What came before the end is in the queue by now. */
			over = cm_says_over();
			poll(NULL, 0, over ? 0 : 1);
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS) {
			over = true;
		} else if (wc.wr_id < BUFS) {
			h = (const void *)(mem + wc.wr_id * BUF_BYTES);
			last_rcvd = be32toh(h->mseq);
			*bytes = wc.byte_len;
			return h;
		}
	}
	printf("nothing, ");
	return NULL;
}

/* --- the cases -------------------------------------------------------------- */

static bool is_echoed(const char *text)
{
	unsigned int bytes, n = 0, len = strlen(text);
	const struct bsdh *h;

	send_good(DATA, text);
	while (n < len) {
		h = receive(&bytes);
		if (!h || h->mid != DATA || bytes < sizeof(*h))
			return false;
		bytes -= sizeof(*h);
		if (bytes > len - n || memcmp(h + 1, text + n, bytes))
			return false;
		n += bytes;
	}
	return true;
}

static void run_good(void)
{
	const struct bsdh *h;
	unsigned int bytes;

	if (!is_echoed("a good word")) {
		printf("not echoed");
		return;
	}
	send_good(DISCONN, "");
	while ((h = receive(&bytes)))
		if (h->mid == DISCONN) {
			printf("echoed");
			return;
		}
	printf("not closed");
}

static void run_bad(const struct bad_message *m)
{
	unsigned int i, bytes, ext_bytes = m->ext ? 4 : 0;
	const struct bsdh *h;

	for (i = 0; i < (m->times ?: 1); i++) {
		struct bsdh wrong = {
			.mid = m->mid,
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

static unsigned int read_counters(struct counter *c)
{
	FILE *f = fopen("/proc/net/sdp/snmp", "r");
	unsigned int n = 0;

	if (!f)
		die("/proc/net/sdp/snmp");
	while (n < COUNTERS && fscanf(f, "%47s %lu", c[n].name, &c[n].value) == 2)
		n++;
	fclose(f);
	return n;
}

static bool is_moved(const struct counter *c, const struct counter *was)
{
	static const char *const bad[] = { "refused_", "ended_", "bad_", "ib_" };
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!strncmp(c->name, bad[i], strlen(bad[i])))
			return c->value != was->value;
	return false;
}

/* The other side may need a moment to see what this one has seen. */
static void print_moved(const struct counter *was, unsigned int settle_ms)
{
	struct counter c[COUNTERS];
	unsigned int i, n;

	poll(NULL, 0, settle_ms);
	n = read_counters(c);
	for (i = 0; i < n; i++)
		if (is_moved(&c[i], &was[i]))
			printf(" %s", c[i].name);
}

/* FROM TO SRC DST PORT */
static void run(char **argv, const char *name)
{
	struct hello hello = {
		.h = { .mid = HELLO, .bufs = htobe16(BUFS), .len = htobe32(sizeof(hello)) },
		.version = 0x22, .ipv = 0x40, .adverts = 1,
		.des_rcv_sz = htobe32(BUF_BYTES), .rcv_sz = htobe32(BUF_BYTES),
		.port = htobe16(40000),
	};
	const struct bad_hello *bad = NULL;
	const struct bad_message *msg = NULL;
	struct counter was[COUNTERS];
	unsigned int i;

	for (i = 0; i < sizeof(bad_hellos) / sizeof(*bad_hellos); i++)
		if (!strcmp(name, bad_hellos[i].name))
			bad = &bad_hellos[i];
	for (i = 0; i < sizeof(bad_messages) / sizeof(*bad_messages); i++)
		if (!strcmp(name, bad_messages[i].name))
			msg = &bad_messages[i];

	read_counters(was);
	inet_pton(AF_INET, argv[2], hello.src + 12);
	inet_pton(AF_INET, argv[3], hello.dst + 12);
	if (bad)
		memcpy((char *)&hello + bad->at, bad->bytes, bad->n);
	printf("%s: ", name);
	if (connect_to(argv[0], argv[1], atoi(argv[4]), &hello)) {
		if (bad)
			printf("accepted");
		else if (msg)
			run_bad(msg);
		else if (!strcmp(name, "good"))
			run_good();
		else
			printf("no such case");
	}
	printf(";");
	print_moved(was, msg ? SETTLE_MS : 0);
	printf("\n");
	fflush(stdout);
	disconnect();
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 7) {
		fprintf(stderr, "usage: sdp_peer FROM TO SRC DST PORT CASE...\n");
		return 2;
	}
	mem = calloc(SLOTS, BUF_BYTES);
	channel = rdma_create_event_channel();
	if (!mem || !channel)
		die("connection manager");
	for (i = 6; i < argc; i++)
		run(argv + 1, argv[i]);
	return 0;
}

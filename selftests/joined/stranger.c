// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that asks for joined connections by rdma_cm, and has no right to any.  It succeeds if
 * each request is refused as it should be.
 *
 *	stranger ADDRESS PORT bytes|version|proof|flood|gone
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOOD		400	/* more than wait to be looked at, at most */
#define FLOOD_IWARP	60	/* siw gives a program 67 queue pairs */
#define GONE		30
#define RESOLVE_MS	4000
#define PATIENCE	100	/* seconds */
#define REFUSED		28	/* by the protocol, as InfiniBand's CM calls it */
#define PDATA		56	/* what rdma_cm leaves */

/* A Join, as far as the transport carries it; numbers are big endian. */
struct join {
	uint8_t mid, flags;
	uint16_t bufs;
	uint32_t len, mseq, mseqack;
	uint8_t highest, lowest, only, zero;
	uint16_t from_port, to_port;
	uint32_t size;
	uint32_t nonce[2], proof[2];
};

static_assert(sizeof(struct join) == 44, "what the protocol calls so");

/* What a refusal says: that there is no common version, or later. */
enum { LATER = 1, VERSIONS = 2 };

static struct rdma_event_channel *channel;
static struct sockaddr_in to = { .sin_family = AF_INET };

static const struct join join = {
	.mid = 0x40,
	.bufs = 0x1000,
	.len = 0x4c000000,
	.highest = 1,
	.lowest = 1,
	.from_port = 0x1111,
	.to_port = 0x2222,
	.size = 0x00400000,
	.nonce = { 7 },
	.proof = { 8 },
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct rdma_cm_event *next(void)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event))
		die("rdma_get_cm_event");
	return event;
}

static void expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next();

	if (event->event != type) {
		fprintf(stderr, "%s\n", rdma_event_str(event->event));
		exit(1);
	}
	rdma_ack_cm_event(event);
}

static struct rdma_cm_id *resolved(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, RESOLVE_MS))
		die("rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, RESOLVE_MS))
		die("rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

static bool is_iwarp(const struct rdma_cm_id *id)
{
	return id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* By the protocol: InfiniBand's manager says so, iWARP's has an errno of the device's choice. */
static bool by_protocol(const struct rdma_cm_id *id, int status)
{
	return is_iwarp(id) ? status == -ECONNREFUSED || status == -ECONNRESET : status == REFUSED;
}

/* iWARP's manager asks for a queue pair of the device. */
static void with_qp(struct rdma_cm_id *id)
{
	static struct ibv_cq *cq;
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1, .max_recv_wr = 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	if (!cq)
		cq = ibv_create_cq(id->verbs, 2 * FLOOD_IWARP, NULL, NULL, 0);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (!cq || rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp");
}

static void done(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

/* InfiniBand's takes any number for one: nobody will use it. */
static void request(struct rdma_cm_id *id, const void *pdata, unsigned int len)
{
	struct rdma_conn_param param = {
		.private_data = pdata,
		.private_data_len = len,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = 0x777,
	};

	if (is_iwarp(id))
		with_qp(id);
	if (rdma_connect(id, &param))
		die("rdma_connect");
}

/* Is the request refused, and for this reason, if it says any? */
static bool refused(const void *pdata, unsigned int len, uint8_t reason)
{
	struct rdma_cm_id *id = resolved();
	struct rdma_cm_event *event;
	const uint8_t *words;
	bool right;

	request(id, pdata, len);
	event = next();
	words = event->param.conn.private_data;
	right = event->event == RDMA_CM_EVENT_REJECTED &&
		by_protocol(id, event->status) &&
		(!reason || (event->param.conn.private_data_len >= 8 && words[1] == reason));
	if (!right)
		fprintf(stderr, "%u bytes: %s, status %d\n", len, rdma_event_str(event->event),
			event->status);
	rdma_ack_cm_event(event);
	done(id);
	return right;
}

/* Private data that are too short, or no Join. */
static bool bytes(void)
{
	uint8_t noise[PDATA] = {};
	struct join none = join;
	unsigned int i, len;

	for (len = 0; len < sizeof(join); len += 11)
		if (!refused(&join, len, 0))
			return false;
	if (!refused(noise, sizeof(noise), 0))
		return false;
	for (i = 0; i < sizeof(noise); i++)
		noise[i] = 101 * i + 1;
	none.bufs = 0;
	return refused(noise, sizeof(noise), 0) && refused(&none, sizeof(none), 0);
}

static bool version(void)
{
	struct join other = join;

	other.highest = 9;
	other.lowest = 8;
	return refused(&other, sizeof(other), VERSIONS);
}

static bool proof(void)
{
	return refused(&join, sizeof(join), LATER);
}

/* Many at once: each is refused, be it that there are too many. */
static bool flood(void)
{
	static struct rdma_cm_id *id[FLOOD];
	unsigned int i, flood = FLOOD, n = 0;
	struct rdma_cm_event *event;

	for (i = 0; i < flood; i++) {
		id[i] = resolved();
		if (is_iwarp(id[i]))
			flood = FLOOD_IWARP;
	}
	for (i = 0; i < flood; i++)
		request(id[i], &join, sizeof(join));
	for (i = 0; i < flood; i++) {
		event = next();
		n += event->event == RDMA_CM_EVENT_REJECTED;
		rdma_ack_cm_event(event);
	}
	for (i = 0; i < flood; i++)
		done(id[i]);
	if (n < flood)
		fprintf(stderr, "%u of %u were refused\n", n, flood);
	return n == flood;
}

/* This end goes before it has the answer; the last one shows that the service is there. */
static bool gone(void)
{
	struct rdma_cm_id *id;
	unsigned int i;

	for (i = 0; i < GONE; i++) {
		id = resolved();
		request(id, &join, sizeof(join));
		done(id);
	}
	return proof();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} cases[] = {
		{ "bytes", bytes }, { "version", version }, { "proof", proof },
		{ "flood", flood }, { "gone", gone },
	};
	unsigned int i;

	channel = rdma_create_event_channel();
	if (argc != 4 || !channel || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons(atoi(argv[2]));
	alarm(PATIENCE);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[3], cases[i].name))
			return !cases[i].run();
	return 2;
}

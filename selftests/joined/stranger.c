// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that asks for joined connections, and has no right to any.  It succeeds if each request
 * is refused as it should be.
 *
 * Over RoCE it asks by rdma_cm.  Over iWARP it speaks MPA (RFC 5044) itself: siw does not look at
 * an answer that comes together with the end of its TCP connection, as that of a refusal does if
 * the machine is busy.
 *
 *	stranger ADDRESS PORT bytes|version|proof|flood|gone
 */
#include <arpa/inet.h>
#include <assert.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FLOOD		400	/* more than wait to be looked at, at most */
#define FLOOD_IWARP	200	/* the kernel's iw_cm drops what is more than 256 */
#define GONE		30
#define RESOLVE_MS	4000
#define PATIENCE	100	/* seconds */
#define REFUSED		28	/* by the protocol, as InfiniBand's CM calls it */
#define PDATA		56	/* what rdma_cm leaves */
#define MPA_REVISION	1
#define MPA_REJECT	0x20

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

/* What a request by MPA begins with, and its answer. */
struct mpa {
	char key[16];
	uint8_t flags, revision;
	uint16_t len;
};

/* What a refusal says: that there is no common version, or later. */
enum { LATER = 1, VERSIONS = 2 };

/* A request that waits for its answer: rdma_cm's, or a TCP connection that speaks MPA. */
struct asked {
	struct rdma_cm_id *id;
	int fd;
};

/* How it was answered, and the first words. */
struct answer {
	bool refused;
	int status;
	unsigned int len;
	uint8_t words[8];
};

static struct rdma_event_channel *channel;
static bool iwarp;
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

/* Without as many bytes at the end as are to follow. */
static int mpa_request(const void *pdata, unsigned int len, unsigned int less)
{
	struct mpa mpa = { .revision = MPA_REVISION, .len = htons(len) };
	char whole[sizeof(mpa) + PDATA];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memcpy(mpa.key, "MPA ID Req Frame", sizeof(mpa.key));
	memcpy(whole, &mpa, sizeof(mpa));
	memcpy(whole + sizeof(mpa), pdata, len);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    send(fd, whole, sizeof(mpa) + len - less, MSG_NOSIGNAL) < 0)
		die("a request by MPA");
	return fd;
}

static struct answer mpa_answer(int fd)
{
	struct answer a = { .status = REFUSED };
	char pdata[PDATA] = "";
	struct mpa mpa;

	if (recv(fd, &mpa, sizeof(mpa), MSG_WAITALL) != sizeof(mpa) ||
	    memcmp(mpa.key, "MPA ID Rep Frame", sizeof(mpa.key)))
		return a;
	a.len = ntohs(mpa.len);
	if (a.len > PDATA || recv(fd, pdata, a.len, MSG_WAITALL) != (ssize_t)a.len)
		return a;
	memcpy(a.words, pdata, sizeof(a.words));
	a.refused = mpa.flags & MPA_REJECT;
	return a;
}

/* Of any request */
static struct answer cm_answer(void)
{
	struct rdma_cm_event *event = next();
	struct answer a = {
		.refused = event->event == RDMA_CM_EVENT_REJECTED,
		.status = event->status,
		.len = event->param.conn.private_data_len,
	};

	if (a.len >= sizeof(a.words))
		memcpy(a.words, event->param.conn.private_data, sizeof(a.words));
	if (!a.refused)
		fprintf(stderr, "%s\n", rdma_event_str(event->event));
	rdma_ack_cm_event(event);
	return a;
}

/* rdma_cm takes any number for that of a queue pair: it is never used. */
static void cm_request(struct rdma_cm_id *id, const void *pdata, unsigned int len)
{
	struct rdma_conn_param param = {
		.private_data = pdata,
		.private_data_len = len,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = 0x777,
	};

	if (rdma_connect(id, &param))
		die("rdma_connect");
}

/* Many are resolved first, so that they ask at once. */
static struct asked prepared(void)
{
	return (struct asked){ .id = iwarp ? NULL : resolved(), .fd = -1 };
}

static void request(struct asked *r, const void *pdata, unsigned int len)
{
	if (iwarp)
		r->fd = mpa_request(pdata, len, 0);
	else
		cm_request(r->id, pdata, len);
}

static struct answer answer(const struct asked *r)
{
	return iwarp ? mpa_answer(r->fd) : cm_answer();
}

static void done(struct asked *r)
{
	if (iwarp)
		close(r->fd);
	else
		rdma_destroy_id(r->id);
}

/* Is the request refused by the protocol, and for this reason, if it says any? */
static bool refused(const void *pdata, unsigned int len, uint8_t reason)
{
	struct asked r = prepared();
	struct answer a;
	bool right;

	request(&r, pdata, len);
	a = answer(&r);
	right = a.refused && a.status == REFUSED &&
		(!reason || (a.len >= sizeof(a.words) && a.words[1] == reason));
	if (!right)
		fprintf(stderr, "%u bytes: refused %d, status %d, %u bytes, reason %u\n", len,
			a.refused, a.status, a.len, a.words[1]);
	done(&r);
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
	const unsigned int flood = iwarp ? FLOOD_IWARP : FLOOD;
	static struct asked r[FLOOD];
	unsigned int i, n = 0;

	for (i = 0; i < flood; i++)
		r[i] = prepared();
	for (i = 0; i < flood; i++)
		request(&r[i], &join, sizeof(join));
	for (i = 0; i < flood; i++)
		n += answer(&r[i]).refused;
	for (i = 0; i < flood; i++)
		done(&r[i]);
	if (n < flood)
		fprintf(stderr, "%u of %u were refused\n", n, flood);
	return n == flood;
}

/*
 * siw's listener ends with a connection that it has not accepted yet.  It has accepted these when
 * it answers a later one.
 */
static bool mpa_gone(void)
{
	const char *last = (const char *)(&join + 1) - 1;
	unsigned int i;
	int fd[GONE];

	for (i = 0; i < GONE; i++)
		fd[i] = mpa_request(&join, sizeof(join), 1);
	if (!proof())
		return false;
	for (i = 0; i < GONE; i++)
		if (send(fd[i], last, 1, MSG_NOSIGNAL) != 1 || close(fd[i]))
			die("the rest of a request");
	return proof();
}

/* This end goes before it has the answer; the last one shows that the service is there. */
static bool gone(void)
{
	struct asked r;
	unsigned int i;

	if (iwarp)
		return mpa_gone();
	for (i = 0; i < GONE; i++) {
		r = prepared();
		request(&r, &join, sizeof(join));
		done(&r);
	}
	return proof();
}

/* Which device has the route. */
static bool is_iwarp(void)
{
	struct rdma_cm_id *id = resolved();
	bool is = id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;

	rdma_destroy_id(id);
	return is;
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
	iwarp = is_iwarp();
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[3], cases[i].name))
			return !cases[i].run();
	return 2;
}

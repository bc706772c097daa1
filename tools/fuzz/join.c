// SPDX-License-Identifier: GPL-2.0
/*
 * Requests for connections that a peer of sdpdev's sends by the RDMA connection manager: to join a
 * TCP connection, or for direct SDP, with anything in them.  What becomes of them is decided by
 * the kernel's own threads, whose coverage guides nobody.
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>

#define JOINS		4	/* of an input */
#define ANSWER_MS	50
#define SERVICE		0x10000ULL
#define PRIVATE		76	/* bytes of a request, of either kind */
#define FROM		"/sys/class/infiniband/softib1/ports/1/gids/0"
#define TO		"/sys/class/infiniband/softib0/ports/1/gids/0"

/* The kernel wants each to be used by the thread that has opened it. */
static struct rdma_event_channel *channels[THREADS];
static struct sockaddr_ib from, to;
static unsigned int n_joins;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void get_gid(const char *path, struct sockaddr_ib *sib)
{
	char gid[64];
	FILE *f = fopen(path, "re");

	if (!f || fscanf(f, "%63s", gid) != 1 || inet_pton(AF_INET6, gid, &sib->sib_addr) != 1)
		die(path);
	fclose(f);
	sib->sib_family = AF_IB;
	sib->sib_pkey = htobe16(0xffff);
}

void joins_init(void)
{
	get_gid(FROM, &from);
	get_gid(TO, &to);
	to.sib_sid_mask = ~0ULL;
}

static struct rdma_event_channel *channel_of(unsigned int nr)
{
	if (!channels[nr]) {
		channels[nr] = rdma_create_event_channel();
		if (!channels[nr] || fcntl(channels[nr]->fd, F_SETFL, O_NONBLOCK))
			die("connection manager");
	}
	return channels[nr];
}

/* The next event, if there is one soon: is it WANT? */
static bool comes(struct rdma_event_channel *channel, enum rdma_cm_event_type want)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	bool is;

	if (poll(&p, 1, ANSWER_MS) != 1 || rdma_get_cm_event(channel, &ev))
		return false;
	is = ev->event == want;
	rdma_ack_cm_event(ev);
	return is;
}

/* As struct sdp_joined_req is, or a Hello; then by the record. */
static void fill(unsigned char *data, const struct record *r)
{
	static const unsigned char join[PRIVATE] = {
		[0] = 0x40, [3] = 8, [7] = PRIVATE, [16] = 1, [17] = 1,
		[20] = 0x9c, [21] = 0x40, [22] = PORT >> 8, [23] = PORT & 0xff, [26] = 0x40, 0x10,
		[54] = 0xff, 0xff, 10, 77, 0, 2, [70] = 0xff, 0xff, 10, 77, 0, 1,
	};
	static const unsigned char hello[PRIVATE] = {
		[3] = 16, [7] = PRIVATE, [16] = 0x22, 0x40, 0, 1, [22] = 0x40, [26] = 0x40,
		[28] = 0x9c, 0x40, [44] = 10, 77, 0, 2, [60] = 10, 77, 0, 1,
	};
	uint32_t seed = r->c | 1;
	unsigned int i, n = r->b >> 4;

	memcpy(data, r->a & 1 ? hello : join, PRIVATE);
	if ((r->a & 0x30) == 0x30)
		n = PRIVATE;
	/* The proof is never right, and most are only that. */
	if (r->a & 6)
		n = 0;
	for (i = 0; i < n; i++)
		data[next_random(&seed) % PRIVATE] = next_random(&seed);
}

void op_join(struct worker *w)
{
	unsigned char data[PRIVATE];
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = PRIVATE - (w->r->b & 15),
		.retry_count = 7, .rnr_retry_count = 7, .qp_num = 0xabcdef,
	};
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;

	w->nothing = true;
	if (pthread_mutex_trylock(&lock))
		return;
	channel = channel_of(w->nr);
	if (n_joins == JOINS || rdma_create_id(channel, &id, NULL, RDMA_PS_IB))
		goto out;
	n_joins++;
	w->nothing = false;
	fill(data, w->r);
	to.sib_sid = htobe64(SERVICE | (w->r->a & 8 ? PORT + 1 : 0));
	wake_not(true);
	if (!rdma_bind_addr(id, (struct sockaddr *)&from) &&
	    !rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, ANSWER_MS) &&
	    comes(channel, RDMA_CM_EVENT_ADDR_RESOLVED) && !rdma_resolve_route(id, ANSWER_MS) &&
	    comes(channel, RDMA_CM_EVENT_ROUTE_RESOLVED) && !rdma_connect(id, &param))
		comes(channel, RDMA_CM_EVENT_REJECTED);
	wake_not(false);
	rdma_destroy_id(id);
out:
	pthread_mutex_unlock(&lock);
}

/* As before an input. */
void joins_clean(void)
{
	n_joins = 0;
}

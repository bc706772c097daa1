// SPDX-License-Identifier: GPL-2.0
/*
 * Requests for connections that a peer of sdpdev's sends to the communication manager: to join a
 * TCP connection, or for direct SDP, with anything in them.  The kernel's own threads decide what
 * becomes of them, and their coverage guides no worker.
 */
#include "fuzz.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "../lib/cm.h"

#define JOINS		4	/* of an input */
#define ANSWER_MS	2
#define SERVICE		0x10000ULL
#define PRIVATE		76	/* bytes of a request, of either kind */

static struct cm cm;
static unsigned int n_joins;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void joins_init(void)
{
	if (!cm_open(&cm, "softib1", "softib0"))
		die("management datagrams");
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
	uint64_t service = SERVICE | (w->r->a & 8 ? PORT + 1 : 0);
	unsigned char data[PRIVATE];
	uint32_t id;

	w->nothing = true;
	if (pthread_mutex_trylock(&lock))
		return;
	if (n_joins < JOINS) {
		n_joins++;
		w->nothing = false;
		fill(data, w->r);
		id = cm_new_id(&cm);
		if (cm_ask(&cm, id, service, id & 0xffffff, data, PRIVATE - (w->r->b & 15))) {
			poll(NULL, 0, ANSWER_MS);
			cm_give_up(&cm, id);
		}
	}
	pthread_mutex_unlock(&lock);
}

/* As before an input. */
void joins_clean(void)
{
	n_joins = 0;
}

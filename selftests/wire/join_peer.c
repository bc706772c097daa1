// SPDX-License-Identifier: GPL-2.0
/*
 * A peer of a joined connection that asks, proves, and says what it should not.
 *
 *	join_peer FROM TO SERVER			the cases, as a test
 *	join_peer FROM TO SERVER flood COUNT		so many requests with wrong proofs
 *
 * FROM and TO are the devices, SERVER is an address of node1; the peer is in node2.
 */
#include <endian.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"
#include "join_case.h"

#define BATCH		64	/* on their way: fewer than the device has buffers for */
#define PATIENCE	300	/* times 10 ms */

static uint64_t refused(void)
{
	return counter("ib_req_refused");
}

/* The number of a queue pair that is made, and goes: they are given out in their order. */
static uint32_t next_qpn(void)
{
	uint32_t qpn = qp_new();

	must(qpn);
	qp_end();
	return qpn;
}

/* A request with a wrong proof; each other one has that of another connection. */
static void ask_wrongly(const struct tcp *other, unsigned long i)
{
	join_fill(&req, i & 1 ? other : &tcp, i);
	if (i % 8 == 2)
		req.from_port ^= htobe16(i & 0xff00);
	join_prove(&req, &tcp);
	req.proof ^= !(i & 1);
	must(cm_ask(&cm, cm_new_id(&cm), JOIN_SERVICE, 1 + i % 0xfffffe, &req, sizeof(req)));
}

/*
 * Waits until no more than so many have no answer, or nothing has come for a while: then those are
 * lost.  Returns how many have been refused.
 */
static unsigned long answered(uint64_t before, unsigned long *asked, unsigned int left)
{
	unsigned long done = refused() - before, last = done;
	unsigned int idle = 0;

	while (done + left < *asked && idle < PATIENCE) {
		poll(NULL, 0, 10);
		done = refused() - before;
		idle = done == last ? idle + 1 : 0;
		last = done;
	}
	if (idle == PATIENCE) {
		printf("# %lu of %lu are lost\n", *asked - done, *asked);
		*asked = done;
	}
	return done;
}

/* Requests until so many are refused, unless nearly all are lost. */
static unsigned long ask_all(const struct tcp *other, unsigned long count)
{
	unsigned long i, asked = 0, done = 0;
	uint64_t before = refused();

	for (i = 0; done < count && i < 2 * count; i++) {
		ask_wrongly(other, i);
		asked++;
		if (asked % BATCH == 0 || asked >= count)
			done = answered(before, &asked, asked >= count ? 0 : BATCH);
	}
	return done;
}

static int flood(unsigned long count)
{
	uint32_t step, qpn;
	struct tcp other;
	bool good;

	tap_plan(3);
	new_case();
	tcp_open(&other, server, "node1", "node2");
	qpn = next_qpn();
	step = next_qpn() - qpn;
	qpn += step;
	ok(ask_all(&other, count) == count, "%lu requests with wrong proofs are refused", count);
	ok(next_qpn() == qpn + step, "no queue pair was made");
	good = lives();
	tcp_close(&tcp);
	tcp = other;
	pos = 0;
	got = 0;
	ok(lives() && good, "both connections are what they were");
	tcp_close(&tcp);
	return tap_exit();
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: join_peer FROM TO SERVER [flood COUNT]\n");
		return 2;
	}
	server = argv[3];
	signal(SIGPIPE, SIG_IGN);
	must(cm_open(&cm, argv[1], argv[2]));
	/* The queue pairs that are counted are the other side's. */
	must(qp_open(argv[argc == 6 ? 2 : 1]));
	if (argc == 6)
		return flood(strtoul(argv[5], NULL, 0));
	return rows();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The cases of a wrong peer.
 */
#include <endian.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../lib/tap.h"
#include "join_case.h"

#define CM_REJ_INVALID_SERVICE	8

/* --- requests ------------------------------------------------------------------ */

static void wrong_proof(void)
{
	req.proof ^= 1;
}

static void swapped_numbers(void)
{
	struct tcp other = tcp;

	other.isn = tcp.peer_isn;
	other.peer_isn = tcp.isn;
	join_prove(&req, &other);
}

static void other_port(void)
{
	req.from_port ^= htobe16(1);
	join_prove(&req, &tcp);
}

static void other_address(void)
{
	req.to.s6_addr[15]++;
	join_prove(&req, &tcp);
}

static void later_versions(void)
{
	req.highest = 3;
	req.lowest = 2;
	join_prove(&req, &tcp);
}

static void no_versions(void)
{
	req.highest = 1;
	req.lowest = 2;
	join_prove(&req, &tcp);
}

static void version_unproved(void)
{
	req.highest = 9;
}

static void size_unproved(void)
{
	req.size = htobe32(JOIN_SIZE - 1);
}

static void bufs_unproved(void)
{
	req.bufs = htobe16(JOIN_BUFS - 1);
}

static void mixed_families(void)
{
	req.from.s6_addr[0] = 0xfd;
	join_prove(&req, &tcp);
}

static void few_bufs(void)
{
	req.bufs = htobe16(2);
	join_prove(&req, &tcp);
}

static void small_bufs(void)
{
	req.size = htobe32(16);
	join_prove(&req, &tcp);
}

static void wrong_length(void)
{
	req.len = htobe32(sizeof(req) - 1);
}

static void hello(void)
{
	req.mid = 0;
}

static void nothing_by_tcp(void)
{
	req.mode = 1;
	join_prove(&req, &tcp);
}

static const struct {
	const char *name;
	void (*spoil)(void);
	unsigned int reason;	/* 0: the other side does not say */
	const char *counter;	/* NULL: it has no counter of its own */
} requests[] = {
	{ "a wrong proof", wrong_proof, REFUSED_LATER, NULL },
	{ "a proof with the numbers in the other order", swapped_numbers, REFUSED_LATER, NULL },
	{ "another port", other_port, REFUSED_LATER, NULL },
	{ "another address", other_address, 0, NULL },
	{ "a later version", later_versions, REFUSED_VERSION, NULL },
	{ "no version", no_versions, 0, "carrier_bad" },
	{ "a version that is not proved", version_unproved, REFUSED_LATER, NULL },
	{ "a size that is not proved", size_unproved, REFUSED_LATER, NULL },
	{ "a number of buffers that is not proved", bufs_unproved, REFUSED_LATER, NULL },
	{ "addresses of two kinds", mixed_families, 0, "carrier_bad" },
	{ "too few buffers", few_bufs, 0, "carrier_bad" },
	{ "too small buffers", small_bufs, 0, "carrier_bad" },
	{ "a wrong length", wrong_length, 0, "carrier_bad" },
	{ "a Hello", hello, 0, "refused_bad_hello" },
	{ "nothing by TCP, and something was", nothing_by_tcp, REFUSED_LATER, NULL },
};

/* A listener's port is no service for peers of other make unless direct SDP is on. */
static bool no_such_service(void)
{
	struct cm_answer answer;
	uint32_t id = cm_new_id(&cm);

	join_fill(&req, &tcp, a_nonce());
	req.mid = 0;
	return cm_ask_and_hear(&cm, id, JOIN_SERVICE + be16toh(tcp.name[1].sin_port),
			       id & 0xffffff, &req, sizeof(req), &answer) &&
	       answer.attr == CM_REJ && answer.reason == CM_REJ_INVALID_SERVICE;
}

static void ask_wrongly(void)
{
	unsigned int i;

	new_case();
	by_tcp(100);
	for (i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		join_fill(&req, &tcp, a_nonce());
		join_prove(&req, &tcp);
		requests[i].spoil();
		counts(requests[i].counter);
		ok(is_refused(requests[i].reason) && counted(), "refused: %s",
		   requests[i].name);
	}
	ok(no_such_service(), "refused: the service of a port");
	ok(lives(), "and the connection is what it was");
	end_case();
}

/* --- how a case goes on --------------------------------------------------------- */

static bool cut_and_lives(void)
{
	return is_cut() && lives();
}

/* It has left TCP, and the other end has a byte of the carrier's. */
static bool cut_and_back(void)
{
	if (!is_cut())
		return false;
	come_back();
	return lives();
}

static bool back_and_lives(void)
{
	come_back();
	return lives();
}

/* This end gives up what the other one has not left TCP with. */
static bool ended_and_lives(void)
{
	cut();
	return lives();
}

static bool all_come(void)
{
	return comes_to(OPEN, pos);
}

/* The program has got no byte beyond those that were right. */
static bool is_reset(void)
{
	return comes_to(RESET, got);
}

static bool is_reset_or_over(void)
{
	return comes_to(RESET, 150) || comes_to(ENDED, 150);
}

static bool is_over(void)
{
	return comes_to(ENDED, 150);
}

static bool is_over_before(void)
{
	return comes_to(ENDED, 100);
}

/* --- what a joined end says ---------------------------------------------------- */

static void nothing(const int *arg)
{
	(void)arg;
}

static void forge_third(const int *arg)
{
	uint64_t proof = join_third(&req, &tcp, &rep) ^ 1;

	(void)arg;
	say(MID_JOINED, 0, &proof, sizeof(proof));
}

static void prove_again(const int *arg)
{
	(void)arg;
	prove();
}

/* A word: its MID. */
static void say_word(const int *arg)
{
	word(arg[0], 0);
}

/* A base header alone: its MID. */
static void say_header(const int *arg)
{
	say(arg[0], 0, NULL, 0);
}

/* A Switch: how much longer than it should be. */
static void size_switch(const int *arg)
{
	uint8_t bytes[sizeof(struct join_switch) + 4] = {};

	say(MID_SWITCH, 0, bytes, sizeof(struct join_switch) + arg[0]);
}

/* A Note: what is wrong in Len, MSeq, MSeqAck. */
static void spoil_header(const int *arg)
{
	uint32_t zero = 0;

	say_wrong(MID_NOTE, 0, &zero, sizeof(zero), arg[0], arg[1], arg[2]);
}

/* A Switch: what is wrong in N and P. */
static void switch_to(const int *arg)
{
	leave_tcp(arg[0], arg[1]);
}

/* Another Switch: what is wrong in P, and whether the token is. */
static void switch_again(const int *arg)
{
	again(arg[0], arg[1]);
}

/* The same bytes twice are there once. */
static void switch_twice(const int *arg)
{
	(void)arg;
	again(0, false);
	pos -= 50;
	by_carrier(60);
}

/* What was never said to have left TCP comes by TCP. */
static void no_switch(const int *arg)
{
	(void)arg;
	by_carrier(50);
	pos -= 50;
}

static void switch_far(const int *arg)
{
	(void)arg;
	leave_tcp(1000000, 1000000);
	no_switch(NULL);
}

/* TCP's bytes come later than what is behind them. */
static void switch_early(const int *arg)
{
	(void)arg;
	leave_tcp(50, 50);
	pos += 50;
	by_carrier(50);
	pos -= 100;
	by_tcp(50);
	pos += 50;
}

/* --- TCP alone: whoever can only write to it ------------------------------------ */

/* A byte: how it differs from the next one that has not come by TCP. */
static void say_raw(const int *arg)
{
	uint8_t byte = byte_at(100) ^ arg[0];

	tcp_raw(&byte, 1);
}

/* The receiver cannot know better, and the bytes are the stream's. */
static void say_bytes(const int *arg)
{
	(void)arg;
	pos = 100;
	by_tcp(60);
}

/* A record: its type, what is wrong in its position, and a byte that is wrong, with what. */
static void say_record(const int *arg)
{
	record(arg[0], arg[1], arg[2], arg[3]);
	by_tcp(100);
}

/* One that goes back to what the receiver has read: it skips that. */
static void go_back(const int *arg)
{
	(void)arg;
	record(RECORD_OVER, -20, -1, 0);
	pos -= 20;
}

static void carrier_stays(const int *arg)
{
	(void)arg;
	record(RECORD_STAYS, 0, -1, 0);
	by_tcp(50);
	leave_tcp(0, 0);
	by_carrier(50);
}

static void say_fin(const int *arg)
{
	(void)arg;
	shutdown(tcp.fd, SHUT_WR);
}

static void half_record_fin(const int *arg)
{
	say_raw(arg);
	say_fin(NULL);
}

static void fin_of_nothing(const int *arg)
{
	(void)arg;
	leave_tcp(0, 0);
	say_fin(NULL);
}

static void fin_before(const int *arg)
{
	(void)arg;
	leave_tcp(50, 50);
	pos += 50;
	by_carrier(50);
	say_fin(NULL);
}

static void urgent(const int *arg)
{
	(void)arg;
	must(send(tcp.fd, "x", 1, MSG_OOB | MSG_NOSIGNAL) == 1);
}

static void rst(const int *arg)
{
	struct linger now = { 1, 0 };

	(void)arg;
	must(!setsockopt(tcp.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	shutdown(tcp.fd, SHUT_RDWR);
}

/* --- cases that begin in a way of their own ------------------------------------- */

static bool accepted_once(void)
{
	return accepted(1, true);
}

/* It leaves TCP as soon as it is accepted. */
static bool goes_at_once(void)
{
	prove();
	leave_tcp(0, 0);
	by_carrier(50);
	return comes_to(OPEN, 150);
}

static bool more_versions(void)
{
	return accepted(9, true) && goes_at_once();
}

/* The messages alone show that the acceptance has come; so does what ends the connection. */
static bool no_rtu(void)
{
	if (!accepted(1, false) || !goes_at_once())
		return false;
	cut();
	return true;
}

/* Is it refused, whatever becomes of the connection? */
static bool refused_now(const struct join_req *old)
{
	cut();
	if (!comes_to(OPEN, pos))
		return false;
	qp_end();
	req = *old;
	return is_refused(REFUSED_LATER) && lives() && (qp_new() || true);
}

static bool asks_again(void)
{
	struct join_req old;

	if (!joined())
		return false;
	old = req;
	return refused_now(&old);
}

/* Another one, while there is a carrier. */
static bool asks_meanwhile(void)
{
	join_fill(&req, &tcp, a_nonce());
	join_prove(&req, &tcp);
	return is_refused(REFUSED_LATER);
}

static bool asks_again_refused(void)
{
	struct join_req old;

	if (!joined() || !asks_meanwhile())
		return false;
	old = req;
	return refused_now(&old);
}

static bool two_at_once(void)
{
	if (!joined() || !asks_meanwhile())
		return false;
	leave_tcp(0, 0);
	by_carrier(50);
	return true;
}

static bool far_switched(void)
{
	if (!joined())
		return false;
	switch_far(NULL);
	by_tcp(50);
	return comes_to(OPEN, 150);
}

static bool twice_switched(void)
{
	if (!moved())
		return false;
	switch_twice(NULL);
	return comes_to(OPEN, 160);
}

static bool stayed(void)
{
	if (!moved())
		return false;
	carrier_stays(NULL);
	return comes_to(OPEN, 250);
}

static bool sure(void)
{
	if (!moved())
		return false;
	word(MID_NOTE, F_SURE);
	by_carrier(50);
	return comes_to(OPEN, 200);
}

/* A Note behind End: that one is acknowledged when both have been taken in. */
static bool end_taken_in(void)
{
	if (!moved())
		return false;
	word(MID_END, 0);
	return is_taken_in();
}

/**
 * struct talk - a case of a peer that asks rightly
 * @name: what is wrong
 * @begin: how far it comes before
 * @say: what it does then, NULL for nothing
 * @arg: for @say
 * @after: what comes of it, NULL if @begin has looked
 * @counter: what has to rise between @begin and @after; NULL: nothing
 */
struct talk {
	const char *name;
	bool (*begin)(void);
	void (*say)(const int *arg);
	int arg[4];
	bool (*after)(void);
	const char *counter;
};

static const struct talk talks[] = {
	{ "all is right", moved, nothing, {}, back_and_lives, NULL },
	{ "versions 1 to 9", more_versions, nothing, {}, back_and_lives, NULL },
	{ "an old request", asks_again, NULL, {}, NULL, NULL },
	{ "an old request that was refused", asks_again_refused, NULL, {}, NULL, NULL },
	{ "another request while there is a carrier", two_at_once, nothing, {}, all_come, NULL },
	{ "the third proof is wrong", accepted_once, forge_third, {}, cut_and_lives,
	  "carrier_bad" },
	{ "the third proof does not come", accepted_once, nothing, {}, cut_and_lives, NULL },
	{ "a Switch in its place", accepted_once, switch_to, {}, cut_and_lives, "carrier_bad" },
	{ "no RTU", no_rtu, nothing, {}, back_and_lives, NULL },
	{ "the third proof twice", joined, prove_again, {}, cut_and_lives, "carrier_bad" },
	{ "an unknown message", joined, say_word, { 0x46 }, cut_and_lives, "carrier_bad" },
	{ "DisConn", joined, say_header, { 0x02 }, cut_and_lives, "carrier_bad" },
	{ "a Switch that is too short", joined, size_switch, { -4 }, cut_and_lives,
	  "carrier_bad" },
	{ "a Switch that is too long", joined, size_switch, { 4 }, cut_and_lives,
	  "carrier_bad" },
	{ "a Note that is too short", joined, say_header, { MID_NOTE }, cut_and_lives,
	  "carrier_bad" },
	{ "Len is too large", joined, spoil_header, { 1 }, cut_and_lives, "bad_len" },
	{ "MSeq is skipped", joined, spoil_header, { 0, 1 }, cut_and_lives, "bad_mseq" },
	{ "MSeq is an old one", joined, spoil_header, { 0, -1 }, cut_and_lives, "bad_mseq" },
	{ "MSeqAck of what was not sent", joined, spoil_header, { 0, 0, 1 }, cut_and_lives,
	  "bad_mseq_ack" },
	{ "MSeqAck is an old one", joined, spoil_header, { 0, 0, -0x1000 }, cut_and_lives,
	  "bad_mseq_ack" },
	{ "Data without a Switch", joined, no_switch, {}, ended_and_lives, NULL },
	{ "a Switch where TCP has been", joined, switch_to, { -10 }, cut_and_lives, NULL },
	{ "a Switch to another position", joined, switch_to, { 0, 5 }, cut_and_lives,
	  "carrier_bad" },
	{ "a Switch where TCP never comes", far_switched, nothing, {}, ended_and_lives, NULL },
	{ "a Switch where TCP comes later", joined, switch_early, {}, all_come, NULL },
	{ "another Switch with another token", moved, switch_again, { 0, 1 }, cut_and_back,
	  "carrier_bad" },
	{ "another Switch beyond what has come", moved, switch_again, { 51 }, cut_and_back,
	  "carrier_bad" },
	{ "another Switch before what has come", moved, switch_again, { -1 }, cut_and_back,
	  "carrier_bad" },
	{ "another Switch, and the bytes again", twice_switched, nothing, {}, back_and_lives,
	  NULL },
	{ "by TCP another byte", moved, say_raw, { 0x55 }, is_reset, "carrier_reset" },
	{ "by TCP the bytes", moved, say_bytes, {}, cut_and_lives, NULL },
	{ "by TCP the bytes, of a sender that is sure", sure, say_bytes, {}, is_reset,
	  "carrier_reset" },
	{ "a record of another type", moved, say_record, { 3, 0, -1 }, is_reset,
	  "carrier_reset" },
	{ "a record of another length", moved, say_record, { RECORD_OVER, 0, 2, 1 }, is_reset,
	  "carrier_reset" },
	{ "a record with other zeros", moved, say_record, { RECORD_OVER, 0, 4, 1 }, is_reset,
	  "carrier_reset" },
	{ "a record with another hash", moved, say_record, { RECORD_OVER, 0, 16, 1 }, is_reset,
	  "carrier_reset" },
	{ "a record with another position", moved, say_record, { RECORD_OVER, 0, 15, 1 },
	  is_reset, "carrier_reset" },
	{ "a record beyond what has come", moved, say_record, { RECORD_OVER, 10, -1 }, is_reset,
	  "carrier_reset" },
	{ "a record before what has come", moved, say_record, { RECORD_OVER, -50, -1 }, is_reset,
	  "carrier_reset" },
	{ "a record of what has been read", moved, go_back, {}, lives, NULL },
	{ "a record, and the carrier stays", stayed, nothing, {}, back_and_lives, NULL },
	{ "a part of a record, and FIN", moved, half_record_fin, { 0xff }, is_reset,
	  "carrier_reset" },
	{ "FIN by TCP alone", moved, say_fin, {}, is_reset, "carrier_reset" },
	{ "FIN, and the carrier has brought nothing", joined, fin_of_nothing, {},
	  is_over_before, NULL },
	{ "FIN before the Switch", joined, fin_before, {}, is_over_before, NULL },
	{ "FIN behind End", end_taken_in, say_fin, {}, is_over, NULL },
	{ "an urgent byte by TCP", moved, urgent, {}, is_reset, "carrier_reset" },
	{ "RST by TCP", moved, rst, {}, is_reset_or_over, NULL },
};

static bool runs(const struct talk *t)
{
	if (!t->begin())
		return false;
	counts(t->counter);
	if (t->say)
		t->say(t->arg);
	return (!t->after || t->after()) && counted();
}

int rows(void)
{
	unsigned int i;

	tap_plan(sizeof(requests) / sizeof(*requests) + 2 + sizeof(talks) / sizeof(*talks));
	ask_wrongly();
	for (i = 0; i < sizeof(talks) / sizeof(*talks); i++) {
		ok(runs(&talks[i]), "%s", talks[i].name);
		end_case();
	}
	return tap_exit();
}

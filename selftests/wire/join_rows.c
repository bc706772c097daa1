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

static void as_is(void)
{
}

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
} requests[] = {
	{ "a wrong proof", wrong_proof, REFUSED_LATER },
	{ "a proof with the numbers in the other order", swapped_numbers, REFUSED_LATER },
	{ "another port", other_port, REFUSED_LATER },
	{ "another address", other_address, 0 },
	{ "a later version", later_versions, REFUSED_VERSION },
	{ "no version", no_versions, 0 },
	{ "a version that is not proved", version_unproved, REFUSED_LATER },
	{ "a size that is not proved", size_unproved, REFUSED_LATER },
	{ "a number of buffers that is not proved", bufs_unproved, REFUSED_LATER },
	{ "addresses of two kinds", mixed_families, 0 },
	{ "too few buffers", few_bufs, 0 },
	{ "too small buffers", small_bufs, 0 },
	{ "a wrong length", wrong_length, 0 },
	{ "a Hello", hello, 0 },
	{ "nothing by TCP, and something was", nothing_by_tcp, REFUSED_LATER },
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
		ok(is_refused(requests[i].reason), "refused: %s", requests[i].name);
	}
	ok(no_such_service(), "refused: the service of a port");
	ok(lives(), "and the connection is what it was");
	end_case();
}

/* --- what a joined end says ---------------------------------------------------- */

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

static bool more_versions(void)
{
	new_case();
	by_tcp(100);
	join_fill(&req, &tcp, a_nonce());
	req.highest = 9;
	join_prove(&req, &tcp);
	if (!is_accepted(true))
		return false;
	prove();
	leave_tcp(0, 0);
	by_carrier(50);
	return comes_to(OPEN, 150);
}

static bool right(void)
{
	if (!moved())
		return false;
	come_back();
	return lives();
}

static bool asks_again(void)
{
	struct join_req old;

	if (!joined())
		return false;
	old = req;
	cut();
	if (!comes_to(OPEN, pos))
		return false;
	qp_end();
	req = old;
	return is_refused(REFUSED_LATER) && lives() && (qp_new() || true);
}

static bool two_at_once(void)
{
	if (!joined())
		return false;
	join_fill(&req, &tcp, a_nonce());
	join_prove(&req, &tcp);
	if (!is_refused(REFUSED_LATER))
		return false;
	leave_tcp(0, 0);
	by_carrier(50);
	return comes_to(OPEN, 150);
}

static bool before_proof(void (*say_it)(void))
{
	new_case();
	by_tcp(100);
	if (!comes_to(OPEN, 100))
		return false;
	join_fill(&req, &tcp, a_nonce());
	join_prove(&req, &tcp);
	if (!is_accepted(true))
		return false;
	say_it();
	return cut_and_lives();
}

static void forged_third(void)
{
	uint64_t proof = join_third(&req, &tcp, &rep) ^ 1;

	say(MID_JOINED, 0, &proof, sizeof(proof));
}

static void switch_first(void)
{
	leave_tcp(0, 0);
}

static bool third_wrong(void)
{
	return before_proof(forged_third);
}

static bool third_missing(void)
{
	return before_proof(as_is);
}

static bool third_late(void)
{
	return before_proof(switch_first);
}

/* The messages alone show that the acceptance has come; so does what ends the connection. */
static bool no_rtu(void)
{
	new_case();
	by_tcp(100);
	if (!comes_to(OPEN, 100))
		return false;
	join_fill(&req, &tcp, a_nonce());
	join_prove(&req, &tcp);
	if (!is_accepted(false))
		return false;
	prove();
	leave_tcp(0, 0);
	by_carrier(50);
	if (!comes_to(OPEN, 150))
		return false;
	cut();
	come_back();
	return lives();
}

static bool third_twice(void)
{
	if (!joined())
		return false;
	prove();
	return cut_and_lives();
}

static bool unknown(void)
{
	if (!joined())
		return false;
	word(0x46, 0);
	return cut_and_lives();
}

static bool disconn(void)
{
	if (!joined())
		return false;
	say(0x02, 0, NULL, 0);
	return cut_and_lives();
}

static bool switch_sized(unsigned int len)
{
	uint8_t bytes[sizeof(struct join_switch) + 4] = {};

	if (!joined())
		return false;
	say(MID_SWITCH, 0, bytes, len);
	return cut_and_lives();
}

static bool switch_short(void)
{
	return switch_sized(sizeof(struct join_switch) - 4);
}

static bool switch_long(void)
{
	return switch_sized(sizeof(struct join_switch) + 4);
}

static bool note_empty(void)
{
	if (!joined())
		return false;
	say(MID_NOTE, 0, NULL, 0);
	return cut_and_lives();
}

static bool wrong_header(int len_off, int mseq_off, int ack_off)
{
	uint32_t zero = 0;

	if (!joined())
		return false;
	say_wrong(MID_NOTE, 0, &zero, sizeof(zero), len_off, mseq_off, ack_off);
	return cut_and_lives();
}

static bool len_long(void)
{
	return wrong_header(1, 0, 0);
}

static bool mseq_skipped(void)
{
	return wrong_header(0, 1, 0);
}

static bool mseq_stale(void)
{
	return wrong_header(0, -1, 0);
}

static bool ack_ahead(void)
{
	return wrong_header(0, 0, 1);
}

static bool ack_stale(void)
{
	return wrong_header(0, 0, -0x1000);
}

/* What was never said to have left TCP comes by TCP. */
static bool no_switch(void)
{
	if (!joined())
		return false;
	by_carrier(50);
	pos -= 50;
	cut();
	return lives();
}

static bool switch_stale(void)
{
	if (!joined())
		return false;
	leave_tcp(-10, 0);
	return cut_and_lives();
}

static bool switch_elsewhere(void)
{
	if (!joined())
		return false;
	leave_tcp(0, 5);
	return cut_and_lives();
}

static bool switch_far(void)
{
	if (!joined())
		return false;
	leave_tcp(1000000, 1000000);
	by_carrier(50);
	pos -= 50;
	by_tcp(50);
	if (!comes_to(OPEN, 150))
		return false;
	cut();
	return lives();
}

/* TCP's bytes come later than what is behind them. */
static bool switch_early(void)
{
	if (!joined())
		return false;
	leave_tcp(50, 50);
	pos += 50;
	by_carrier(50);
	pos -= 100;
	by_tcp(50);
	pos += 50;
	return comes_to(OPEN, 200);
}

static bool again_other_token(void)
{
	if (!moved())
		return false;
	again(0, true);
	return cut_and_back();
}

static bool again_beyond(void)
{
	if (!moved())
		return false;
	again(51, false);
	return cut_and_back();
}

static bool again_before(void)
{
	if (!moved())
		return false;
	again(-1, false);
	return cut_and_back();
}

/* The same bytes twice are there once. */
static bool again_right(void)
{
	if (!moved())
		return false;
	again(0, false);
	pos -= 50;
	by_carrier(60);
	if (!comes_to(OPEN, 160))
		return false;
	come_back();
	return lives();
}

/* --- TCP alone: whoever can only write to it ------------------------------------ */

static bool raw_other(void)
{
	uint8_t byte = byte_at(100) ^ 0x55;

	if (!moved())
		return false;
	tcp_raw(&byte, 1);
	return comes_to(RESET, 150);
}

/* The receiver cannot know better, and the bytes are the stream's. */
static bool raw_right(void)
{
	if (!moved())
		return false;
	pos -= 50;
	by_tcp(60);
	return is_cut() && lives();
}

static bool raw_sure(void)
{
	if (!moved())
		return false;
	word(MID_NOTE, F_SURE);
	by_carrier(50);
	if (!comes_to(OPEN, 200))
		return false;
	pos -= 100;
	by_tcp(60);
	return comes_to(RESET, 200);
}

static bool forged_record(uint8_t type, int pos_off, int at, uint8_t other)
{
	if (!moved())
		return false;
	record(type, pos_off, at, other);
	by_tcp(100);
	return comes_to(RESET, 150);
}

static bool record_type(void)
{
	return forged_record(3, 0, -1, 0);
}

static bool record_len(void)
{
	return forged_record(RECORD_OVER, 0, 2, 1);
}

static bool record_zero(void)
{
	return forged_record(RECORD_OVER, 0, 4, 1);
}

static bool record_mac(void)
{
	return forged_record(RECORD_OVER, 0, 16, 1);
}

static bool record_pos(void)
{
	return forged_record(RECORD_OVER, 0, 15, 1);
}

static bool record_beyond(void)
{
	return forged_record(RECORD_OVER, 10, -1, 0);
}

static bool record_stale(void)
{
	return forged_record(RECORD_OVER, -50, -1, 0);
}

/* One that goes back to what the receiver has read: it skips that. */
static bool record_back(void)
{
	if (!moved())
		return false;
	record(RECORD_OVER, -20, -1, 0);
	pos -= 20;
	return lives();
}

static bool record_stays(void)
{
	if (!moved())
		return false;
	record(RECORD_STAYS, 0, -1, 0);
	by_tcp(50);
	leave_tcp(0, 0);
	by_carrier(50);
	if (!comes_to(OPEN, 250))
		return false;
	come_back();
	return lives();
}

static bool half_record_fin(void)
{
	uint8_t byte = ~byte_at(100);

	if (!moved())
		return false;
	tcp_raw(&byte, 1);
	shutdown(tcp.fd, SHUT_WR);
	return comes_to(RESET, 150);
}

static bool fin(void)
{
	if (!moved())
		return false;
	shutdown(tcp.fd, SHUT_WR);
	return comes_to(RESET, 150);
}

static bool fin_of_nothing(void)
{
	if (!joined())
		return false;
	leave_tcp(0, 0);
	shutdown(tcp.fd, SHUT_WR);
	return comes_to(ENDED, 100);
}

static bool fin_before(void)
{
	if (!joined())
		return false;
	leave_tcp(50, 50);
	pos += 50;
	by_carrier(50);
	shutdown(tcp.fd, SHUT_WR);
	return comes_to(ENDED, 100);
}

static bool fin_after_end(void)
{
	if (!moved())
		return false;
	word(MID_END, 0);
	/* A Note behind it: that one is acknowledged when both have been taken in. */
	if (!is_taken_in())
		return false;
	shutdown(tcp.fd, SHUT_WR);
	return comes_to(ENDED, 150);
}

static bool urgent(void)
{
	if (!moved())
		return false;
	must(send(tcp.fd, "x", 1, MSG_OOB | MSG_NOSIGNAL) == 1);
	return comes_to(RESET, 150);
}

static bool rst(void)
{
	struct linger now = { 1, 0 };

	if (!moved())
		return false;
	must(!setsockopt(tcp.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	shutdown(tcp.fd, SHUT_RDWR);
	return comes_to(RESET, 150) || comes_to(ENDED, 150);
}

static const struct {
	const char *name;
	bool (*run)(void);
} talks[] = {
	{ "all is right", right },
	{ "versions 1 to 9", more_versions },
	{ "an old request", asks_again },
	{ "another request while there is a carrier", two_at_once },
	{ "the third proof is wrong", third_wrong },
	{ "the third proof does not come", third_missing },
	{ "a Switch in its place", third_late },
	{ "no RTU", no_rtu },
	{ "the third proof twice", third_twice },
	{ "an unknown message", unknown },
	{ "DisConn", disconn },
	{ "a Switch that is too short", switch_short },
	{ "a Switch that is too long", switch_long },
	{ "a Note that is too short", note_empty },
	{ "Len is too large", len_long },
	{ "MSeq is skipped", mseq_skipped },
	{ "MSeq is an old one", mseq_stale },
	{ "MSeqAck of what was not sent", ack_ahead },
	{ "MSeqAck is an old one", ack_stale },
	{ "Data without a Switch", no_switch },
	{ "a Switch where TCP has been", switch_stale },
	{ "a Switch to another position", switch_elsewhere },
	{ "a Switch where TCP never comes", switch_far },
	{ "a Switch where TCP comes later", switch_early },
	{ "another Switch with another token", again_other_token },
	{ "another Switch beyond what has come", again_beyond },
	{ "another Switch before what has come", again_before },
	{ "another Switch, and the bytes again", again_right },
	{ "by TCP another byte", raw_other },
	{ "by TCP the bytes", raw_right },
	{ "by TCP the bytes, of a sender that is sure", raw_sure },
	{ "a record of another type", record_type },
	{ "a record of another length", record_len },
	{ "a record with other zeros", record_zero },
	{ "a record with another hash", record_mac },
	{ "a record with another position", record_pos },
	{ "a record beyond what has come", record_beyond },
	{ "a record before what has come", record_stale },
	{ "a record of what has been read", record_back },
	{ "a record, and the carrier stays", record_stays },
	{ "a part of a record, and FIN", half_record_fin },
	{ "FIN by TCP alone", fin },
	{ "FIN, and the carrier has brought nothing", fin_of_nothing },
	{ "FIN before the Switch", fin_before },
	{ "FIN behind End", fin_after_end },
	{ "an urgent byte by TCP", urgent },
	{ "RST by TCP", rst },
};

int rows(void)
{
	unsigned int i;

	tap_plan(sizeof(requests) / sizeof(*requests) + 2 + sizeof(talks) / sizeof(*talks));
	ask_wrongly();
	for (i = 0; i < sizeof(talks) / sizeof(*talks); i++) {
		ok(talks[i].run(), "%s", talks[i].name);
		end_case();
	}
	return tap_exit();
}

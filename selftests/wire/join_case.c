// SPDX-License-Identifier: GPL-2.0
/*
 * One case of a wrong peer: see join_case.h.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "join_case.h"

#define CM_REJ_CONSUMER		28
#define BASE		16
#define MOST		8192
#define WAIT_S		30
#define OVER_MS		20000

const char *server;
struct cm cm;
struct tcp tcp;
struct join_req req;
struct join_rep rep;
uint64_t pos, got;
static uint32_t by_now;		/* bytes that TCP has got */
static uint32_t id, qpn, peer_id, peer_qpn;
static uint32_t mseq;
static uint64_t p0;		/* where TCP was left */
static uint32_t n;
static uint64_t token[2];
static bool there;		/* the peer has a queue pair */
static const char *count_of;
static uint64_t count_before;

void new_case(void)
{
	tcp_open(&tcp, server, "node1", "node2");
	mseq = 0;
	pos = 0;
	got = 0;
	by_now = 0;
	there = false;
}

uint64_t a_nonce(void)
{
	uint64_t nonce;

	must(getrandom(&nonce, sizeof(nonce), 0) == sizeof(nonce));
	return nonce;
}

/* --- counters ------------------------------------------------------------------ */

static uint64_t counter_of(pid_t pid, const char *which)
{
	unsigned long long value, found = 0;
	char name[48];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/net/sdp/snmp", pid);
	f = fopen(name, "re");
	must(f);
	while (fscanf(f, "%47s %llu", name, &value) == 2)
		if (!strcmp(name, which))
			found = value;
	fclose(f);
	return found;
}

/* Of node1, where the shell is, and of what names no namespace, which the first one counts. */
uint64_t counter(const char *which)
{
	bool transport = !strncmp(which, "ib_", 3);

	/* A transport's are the machine's. */
	return counter_of(getppid(), which) + (transport ? 0 : counter_of(1, which));
}

/* From now on this is to be counted; NULL for nothing. */
void counts(const char *which)
{
	count_of = which;
	count_before = which ? counter(which) : 0;
}

bool counted(void)
{
	if (!count_of || counter(count_of) > count_before)
		return true;
	printf("# %s counts nothing\n", count_of);
	return false;
}

/* --- the stream ---------------------------------------------------------------- */

uint8_t byte_at(uint64_t at)
{
	return at * 151 + (at >> 8) + 7;
}

static void stream(uint8_t *to, uint64_t at, unsigned int len)
{
	while (len--)
		*to++ = byte_at(at++);
}

void tcp_raw(const void *bytes, unsigned int len)
{
	must(send(tcp.fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len || errno == EPIPE ||
	     errno == ECONNRESET);
	by_now += len;
}

/* The next bytes of the stream go by TCP. */
void by_tcp(unsigned int len)
{
	uint8_t bytes[MOST];

	stream(bytes, pos, len);
	tcp_raw(bytes, len);
	pos += len;
}

static const char *const ends[] = { "more to come", "the end", "a reset", "wrong bytes" };

/* The program reads until there are so many bytes, or no more. */
static enum end reads(uint64_t want)
{
	struct timeval tv = { .tv_sec = WAIT_S };
	uint8_t bytes[MOST], right[MOST];
	ssize_t len;

	must(!setsockopt(tcp.server, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	while (got < want) {
		len = recv(tcp.server, bytes, want - got < MOST ? want - got : MOST, 0);
		if (len <= 0)
			return !len ? ENDED : errno == ECONNRESET ? RESET : OPEN;
		stream(right, got, len);
		if (memcmp(bytes, right, len))
			return WRONG;
		got += len;
	}
	return OPEN;
}

/* Is the end of reading the right one, and does it come behind @most bytes at the latest? */
bool comes_to(enum end want, uint64_t most)
{
	enum end end = reads(want == OPEN ? most : most + 1);

	if (end == want && (want == RESET || got == most))
		return true;
	printf("# %ju of %ju bytes, then %s\n", (uintmax_t)got, (uintmax_t)most, ends[end]);
	return false;
}

/* Bytes still go both ways, by TCP. */
bool lives(void)
{
	struct timeval tv = { .tv_sec = WAIT_S };
	uint8_t back[100], right[100];

	by_tcp(1000);
	if (!comes_to(OPEN, pos))
		return false;
	stream(right, 0, sizeof(right));
	must(!setsockopt(tcp.fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	if (send(tcp.server, right, sizeof(right), MSG_NOSIGNAL) == sizeof(right) &&
	    recv(tcp.fd, back, sizeof(back), MSG_WAITALL) == sizeof(back) &&
	    !memcmp(back, right, sizeof(back)))
		return true;
	printf("# nothing comes back: %s\n", strerror(errno));
	return false;
}

/* --- joining ------------------------------------------------------------------- */

/* The request as it is; how it was answered. */
bool asked(struct cm_answer *answer)
{
	id = cm_new_id(&cm);
	if (cm_ask_and_hear(&cm, id, JOIN_SERVICE, qpn, &req, sizeof(req), answer))
		return true;
	printf("# no answer\n");
	return false;
}

bool is_refused(unsigned int reason)
{
	struct cm_answer answer;
	struct join_rej rej;

	qpn = cm_new_id(&cm) & 0xffffff;
	if (!asked(&answer))
		return false;
	memcpy(&rej, answer.data, sizeof(rej));
	if (answer.attr == CM_REJ && answer.reason == CM_REJ_CONSUMER && rej.reason == reason)
		return true;
	printf("# answer %#x, reason %u, %u\n", answer.attr, answer.reason, rej.reason);
	return false;
}

/* As far as the acceptance, and the word that it has come, if RTU is true. */
bool is_accepted(bool rtu)
{
	struct cm_answer answer;

	qpn = qp_new();
	must(qpn);
	there = true;
	if (!asked(&answer))
		return false;
	memcpy(&rep, answer.data, sizeof(rep));
	peer_id = answer.id;
	peer_qpn = answer.qpn;
	if (answer.attr != CM_REP || !join_proved(&rep, &tcp, &req)) {
		printf("# answer %#x, reason %u\n", answer.attr, answer.reason);
		return false;
	}
	return qp_connect(&cm, &answer) && (!rtu || cm_ready(&cm, id, peer_id));
}

void say_wrong(uint8_t mid, uint8_t flags, const void *ext, unsigned int len, int len_off,
	       int mseq_off, int ack_off)
{
	uint8_t message[BASE + MOST] = { mid, flags };
	uint16_t bufs = htobe16(JOIN_BUFS);
	const uint8_t *in;
	unsigned int in_len;
	uint32_t words[3];

	memcpy(message + 2, &bufs, 2);
	while (qp_receive(&in, &in_len))
		;
	words[0] = htobe32(BASE + len + len_off);
	words[1] = htobe32(++mseq + mseq_off);
	words[2] = htobe32(last_heard() + ack_off);
	memcpy(message + 4, words, sizeof(words));
	if (ext)
		memcpy(message + BASE, ext, len);
	qp_send(message, BASE + len);
}

void say(uint8_t mid, uint8_t flags, const void *ext, unsigned int len)
{
	say_wrong(mid, flags, ext, len, 0, 0, 0);
}

void prove(void)
{
	uint64_t proof = join_third(&req, &tcp, &rep);

	say(MID_JOINED, 0, &proof, sizeof(proof));
}

/* A connection that has carried some bytes, and whose peer accepts up to this version. */
bool accepted(uint8_t highest, bool rtu)
{
	new_case();
	by_tcp(100);
	if (!comes_to(OPEN, 100))
		return false;
	join_fill(&req, &tcp, a_nonce());
	req.highest = highest;
	join_prove(&req, &tcp);
	return is_accepted(rtu);
}

bool joined(void)
{
	if (!accepted(1, true))
		return false;
	prove();
	return true;
}

/* --- what an end says ---------------------------------------------------------- */

/* Its direction leaves TCP; wrong by so much. */
void leave_tcp(int n_off, int pos_off)
{
	struct join_switch sw;

	n = tcp.isn + 1 + by_now + n_off;
	p0 = pos;
	must(getrandom(token, sizeof(token), 0) == sizeof(token));
	sw = (struct join_switch){ htobe32(n), 0, htobe64(pos + pos_off),
				   { token[0], token[1] } };
	say(MID_SWITCH, 0, &sw, sizeof(sw));
}

void again(int pos_off, bool other_token)
{
	struct join_switch sw = { htobe32(n), 0, htobe64(p0 + pos_off),
				  { token[0] ^ other_token, token[1] } };

	say(MID_SWITCH, 0, &sw, sizeof(sw));
}

void by_carrier(unsigned int len)
{
	uint8_t bytes[MOST];

	stream(bytes, pos, len);
	say(MID_DATA, 0, bytes, len);
	pos += len;
}

void word(uint8_t mid, uint8_t flags)
{
	uint32_t zero = 0;

	say(mid, flags, &zero, sizeof(zero));
}

/* A record that is right but for a byte at an offset. */
void record(uint8_t type, int pos_off, int at, uint8_t other)
{
	struct join_record r;

	join_record(&r, type, byte_at(p0), n, pos + pos_off, token);
	if (at >= 0)
		((uint8_t *)&r)[at] ^= other;
	tcp_raw(&r, sizeof(r));
}

/* Comes back as the protocol has it: the program has bytes that the carrier brought. */
void come_back(void)
{
	record(RECORD_OVER, 0, -1, 0);
}

/* As far as bytes by the carrier that the program has read. */
bool moved(void)
{
	if (!joined())
		return false;
	leave_tcp(0, 0);
	by_carrier(50);
	return comes_to(OPEN, 150);
}

/* Does the other end give up the queue pair by itself?  Then the connection goes on without it. */
bool is_cut(void)
{
	if (qp_is_over(OVER_MS))
		return true;
	printf("# the queue pair stays\n");
	return false;
}

/* This end gives it up. */
void cut(void)
{
	must(cm_end(&cm, id, peer_id, peer_qpn));
	if (!qp_is_over(OVER_MS))
		printf("# the queue pair stays\n");
}

void end_case(void)
{
	tcp_close(&tcp);
	if (there)
		qp_end();
}

/* Has the other end taken in all that was said?  It acknowledges a message that asks for it. */
bool is_taken_in(void)
{
	const uint8_t *in;
	unsigned int len, tries;
	uint32_t ack;

	word(MID_NOTE, F_ASK);
	for (tries = 0; tries < WAIT_S * 100; tries++) {
		while (qp_receive(&in, &len)) {
			memcpy(&ack, in + 12, sizeof(ack));
			if (be32toh(ack) == mseq && !(in[1] & F_HELD))
				return true;
		}
		poll(NULL, 0, 10);
	}
	return false;
}

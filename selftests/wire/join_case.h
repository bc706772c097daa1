/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a case of a wrong peer is made of.  There is one at a time.
 *
 * Whatever the peer does, the program at the other end reads the bytes of the stream, in their
 * order, and then more of them, the end where it is, or an error.
 */
#ifndef SELFTESTS_WIRE_JOIN_CASE_H
#define SELFTESTS_WIRE_JOIN_CASE_H

#include "join.h"

/* What reading comes to. */
enum end { OPEN, ENDED, RESET, WRONG };

extern const char *server;		/* address of node1 */
extern struct cm cm;
extern struct tcp tcp;
extern struct join_req req;
extern struct join_rep rep;
extern uint64_t pos;			/* bytes of the stream that the peer has sent */
extern uint64_t got;			/* those that the program has read */

void new_case(void);
uint64_t a_nonce(void);
void end_case(void);
uint8_t byte_at(uint64_t at);
void tcp_raw(const void *bytes, unsigned int len);
void by_tcp(unsigned int len);
bool comes_to(enum end want, uint64_t most);
bool lives(void);

uint64_t counter(const char *which);
void counts(const char *which);
bool counted(void);

bool is_refused(unsigned int reason);
bool is_accepted(bool rtu);
bool accepted(uint8_t highest, bool rtu);
void prove(void);
bool joined(void);
bool moved(void);
bool is_taken_in(void);
bool is_cut(void);
void cut(void);

void say_wrong(uint8_t mid, uint8_t flags, const void *ext, unsigned int len, int len_off,
	       int mseq_off, int ack_off);
void say(uint8_t mid, uint8_t flags, const void *ext, unsigned int len);
void word(uint8_t mid, uint8_t flags);
void leave_tcp(int n_off, int pos_off);
void again(int pos_off, bool other_token);
void by_carrier(unsigned int len);
void come_back(void);
void record(uint8_t type, int pos_off, int at, uint8_t other);

/* join_rows.c */
int rows(void);

#endif /* SELFTESTS_WIRE_JOIN_CASE_H */

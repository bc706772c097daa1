/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of one connection: two ends, TCP both ways, a carrier between them.  The states of
 * the halves change by the functions of sdpdev/offload alone.  model.c does single steps,
 * search.c all that there are, walk.c random ones.
 */
#ifndef SELFTESTS_OFFLOAD_MODEL_H
#define SELFTESTS_OFFLOAD_MODEL_H

#include <stdio.h>

#include "offload/half.h"

/* Sequence numbers begin here, and wrap soon. */
#define ISN	0xfffffff8u

#define ROOM	20		/* entries of each list */

/* In TCP: bytes of the stream, a record, FIN. */
enum { RUN, RECORD, FIN };

struct item {
	u8 kind, type, first;
	u16 pos, len;		/* RUN: which bytes; RECORD: @pos is the one in it */
	u32 n, token;
};

/* On a carrier; each may say that its sender is sure, NOTE says nothing else. */
enum { SWITCH, DATA, NOTE, LEAVE };

struct message {
	u8 kind;
	bool sure;
	u16 pos, len;
	u32 n, token;
};

/* A message that is not acknowledged, and the position behind it. */
struct kept {
	u32 mseq;
	u16 end;
};

/* Bytes from a carrier that the program has not read. */
struct queued {
	u16 pos, len;
};

/* Direction i goes from end i to the other end. */
struct direction {
	struct sdp_half_tx tx;
	struct sdp_half_rx rx;
	u16 total;		/* bytes that the program sends */
	u16 written;		/* that it has sent */
	u16 got;		/* that the receiver has accepted, in order */
	u16 read;		/* that its program has read */
	bool fin, end;		/* FIN was put, was read */
	bool stuck;		/* the sender sent an urgent byte: never again by a carrier */
	bool asked;		/* the receiver sent Leave on the carrier that there is */

	/* Bytes that TCP got from the sender; that came; that were looked at. */
	u64 put, came, seen;
	u32 token;		/* of tx; the model's number for it */
	u32 rx_token;
	u8 items, part;		/* @part bytes of the first one were looked at */
	u8 messages, keeps, queue;
	struct item item[ROOM];
	struct message message[ROOM];
	struct kept kept[ROOM];
	struct queued queued[ROOM];

	u32 mseq, taken, acked;	/* messages on this carrier: sent, taken in, acknowledged */
	u64 pair_pos;		/* local: how far the receiver has come */
};

struct state {
	struct direction d[2];
	u32 carrier[2];		/* that each end has; zero: none */
	u32 carriers, tokens;	/* that there were */
};

enum what {
	JOIN,			/* both ends have a new carrier */
	KILL,			/* the end loses its carrier, or gives it up */
	WRITE,			/* the program sends a message */
	MOVE, AGAIN,
	OVER, STAY,		/* return */
	PUT,			/* TCP takes something of a return */
	SHUT,			/* FIN */
	COME,			/* TCP's bytes come */
	LOOK,			/* and are looked at, or read */
	READ,			/* the program reads what a carrier brought */
	TAKE,			/* the next message of the carrier */
	ACK,			/* the sender learns that one more was taken in */
	ASK,			/* the receiver sends Leave */
	WHATS
};

extern const char *const what_name[WHATS];

/* How the model runs. */
extern bool local;		/* both ends on one host */
extern bool lazy;		/* programs read when they like, bytes come in any pieces */
extern bool pieces;		/* otherwise records come in one piece, or in two */
extern u8 (*value)(unsigned int pos);
extern u32 (*draw)(u32 below);

/* What was wrong first, or NULL. */
extern const char *wrong;

/* What has happened, so that a test can see that everything has. */
enum { RAW, RAW_NONE, RECORDS, SKIPS, AGAINS, STALES, HOLDS, ABORTS, COUNTS };
extern unsigned long counts[COUNTS];

/* model.c */
void start(struct state *s, unsigned int a, unsigned int b);
bool step(struct state *s, enum what act, int e);
void settle(struct state *s);
bool ended(const struct state *s);
void lose(struct state *s, int e);
siphash_key_t key_of(u32 token);
void make_record(const struct item *item, struct sdp_record *record);
void bad(const char *what);
void expect(bool cond, const char *what);

/* check.c */
void check_drains(const struct state *s);
void check_alone(const struct state *s, int i);
void check_peers(const struct state *s);
void show_state(const struct state *s);

/* search.c */
unsigned long search(unsigned int a, unsigned int b);

#endif

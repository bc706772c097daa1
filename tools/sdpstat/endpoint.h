/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endpoints as they are shown: TCP sockets with the ULP "sdp", and sockets of direct SDP.
 */
#ifndef SDPSTAT_ENDPOINT_H
#define SDPSTAT_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/sdp_sock.h>

#include "tool.h"

enum kind {
	KIND_SOCKET,
	KIND_DIRECT,
	KIND_MAX,
};

/* What is a word; "-" if there is nothing to say. */
enum word {
	WORD_STATE,
	WORD_TX_CARRIER,
	WORD_RX_CARRIER,
	WORD_LOCAL,
	WORD_PEER,
	WORD_REASON,
	WORD_MODE,
	WORD_MAX,
};

#define WORD_LEN	64

/* What is a number. */
enum number {
	NUM_ID,		/* of the kernel's: no other of the same kind ever has it */
	NUM_TX_ZCOPY,
	NUM_RX_ZCOPY,
	NUM_TX_WRITTEN,
	NUM_RX_WRITTEN,
	NUM_TX_BYTES,
	NUM_RX_BYTES,
	NUM_TX_RATE,
	NUM_RX_RATE,
	NUM_TX_QUEUED,
	NUM_RX_QUEUED,
	NUM_MOVES,
	NUM_TCP_TX_BYTES,
	NUM_TCP_RX_BYTES,
	NUM_UID,
	NUM_INODE,
	NUM_MAX,
};

struct owner {
	pid_t pid;
	char program[16];
};

/**
 * struct endpoint - an endpoint
 * @kind: its kind
 * @known: the numbers that it has, a bit each
 * @word: its words
 * @number: its numbers
 * @end: a socket's name in the kernel
 * @owners: processes that have it open
 * @owner_count: how many
 */
struct endpoint {
	enum kind kind;
	unsigned int known;
	char word[WORD_MAX][WORD_LEN];
	uint64_t number[NUM_MAX];
	struct sdp_ctl_end end;
	struct owner *owners;
	size_t owner_count;
};

/**
 * struct endpoints - some of them
 * @all: the endpoints
 * @count: how many
 * @room: how many @all has room for
 * @hidden: the kernel has not told which TCP sockets have the ULP
 * @failed: it has not told of sockets at all, which was said
 */
struct endpoints {
	struct endpoint *all;
	size_t count;
	size_t room;
	bool hidden;
	bool failed;
};

/* endpoint.c */
struct endpoint *endpoint_add(struct endpoints *list, enum kind kind);
void endpoint_number(struct endpoint *ep, enum number which, uint64_t value);
bool endpoint_knows(const struct endpoint *ep, enum number which);
void endpoints_free(struct endpoints *list);

/* Fills in what went each way in a second since @before; sorts @before. */
void endpoints_rates(struct endpoints *now, struct endpoints *before, double seconds);

/* direct.c: sockets of direct SDP. */
void direct_read(struct endpoints *list);

/*
 * sockets.c: TCP sockets with the ULP, and what TCP and the ULP tell of them; or, by names_read(),
 * the names of all TCP sockets.
 */
struct nlmsghdr;
void sockets_read(struct endpoints *list);
void names_read(struct endpoints *list);
int sockets_answer(const struct nlmsghdr *nlh, void *list);

/* owners.c: returns whether there are processes that it may not look at. */
bool owners_find(struct endpoints *list);

#endif /* SDPSTAT_ENDPOINT_H */

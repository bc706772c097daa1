/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An end of a TCP connection that joins it as sdpdev does, and then says what it likes.  Its TCP
 * is the kernel's, a socket without the ULP; its messages and its queue pair are the program's.
 */
#ifndef SELFTESTS_WIRE_JOIN_H
#define SELFTESTS_WIRE_JOIN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../tools/lib/cm.h"

#define JOIN_SERVICE	0x10000ULL
#define JOIN_BUFS	16
#define JOIN_SIZE	16400

enum {
	MID_JOIN = 0x40,
	MID_JOINED = 0x41,
	MID_SWITCH = 0x42,
	MID_LEAVE = 0x43,
	MID_NOTE = 0x44,
	MID_END = 0x45,
	MID_DATA = 0xff,
};

#define F_HELD	0x20
#define F_SURE	0x40
#define F_ASK	0x80

/* Types of a record. */
enum { RECORD_OVER = 1, RECORD_STAYS = 2 };

/* Private data of a request and of an acceptance, and of a refusal. */
struct join_req {
	uint8_t mid, flags;
	uint16_t bufs;
	uint32_t len, mseq, ack;
	uint8_t highest, lowest, mode, zero;
	uint16_t from_port, to_port;
	uint32_t size;
	uint64_t nonce, proof;
	struct in6_addr from, to;
} __attribute__((packed));

struct join_rep {
	uint8_t mid, flags;
	uint16_t bufs;
	uint32_t len, mseq, ack;
	uint8_t version, zero[3];
	uint32_t size;
	uint64_t nonce, proof;
} __attribute__((packed));

struct join_rej {
	uint8_t version, reason;
	uint16_t zero;
	uint32_t retry;
};

enum { REFUSED_LATER = 1, REFUSED_VERSION = 2 };

/* What follows the base header of a Switch. */
struct join_switch {
	uint32_t n, zero;
	uint64_t pos, token[2];
};

/* What a sender that is sure writes into TCP. */
struct join_record {
	uint8_t first, type;
	uint16_t len;
	uint32_t zero;
	uint64_t pos, mac;
};

/**
 * struct tcp - a connection whose one end is the program's own
 * @fd: that end, which has connected
 * @server: the other end, which has the ULP
 * @name: addresses and ports
 * @isn: initial sequence number of @fd
 * @peer_isn: of @server
 */
struct tcp {
	int fd, server;
	struct sockaddr_in name[2];
	uint32_t isn, peer_isn;
};

/* join_proof.c */
void join_fill(struct join_req *req, const struct tcp *tcp, uint64_t nonce);
void join_prove(struct join_req *req, const struct tcp *tcp);
bool join_proved(const struct join_rep *rep, const struct tcp *tcp, const struct join_req *req);
uint64_t join_third(const struct join_req *req, const struct tcp *tcp,
		    const struct join_rep *rep);
void join_record(struct join_record *r, uint8_t type, uint8_t first, uint32_t n, uint64_t pos,
		 const uint64_t token[2]);

/* join_qp.c */
bool qp_open(const char *device);
uint32_t qp_new(void);
bool qp_connect(const struct cm *cm, const struct cm_answer *answer);
void qp_send(const void *message, unsigned int len);
bool qp_receive(const uint8_t **message, unsigned int *len);
uint32_t last_heard(void);
bool qp_is_over(unsigned int ms);
void qp_end(void);

/* join_tcp.c */
void tcp_open(struct tcp *tcp, const char *server, const char *server_netns,
	      const char *client_netns);
void tcp_close(struct tcp *tcp);

#endif /* SELFTESTS_WIRE_JOIN_H */

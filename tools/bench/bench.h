/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The benchmark's program: the same work over any kind of socket.
 */
#ifndef BENCH_H
#define BENCH_H

#include <sdpdev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct side - one of the two processes
 * @server: it listens
 * @ulp: the sockets have the ULP "sdp"
 * @carrier: the other side's have it, too: the ULP's name when this carries what is sent
 * @fast: they are sent and received on by their rings
 * @beside: so many connections lie idle beside those that are measured; they have moved once
 * @active: so many have a message on its way at the same time
 * @family: of the sockets
 * @address: where the server listens, for all families but AF_UNIX
 * @listener: the server's listening socket
 * @control: a socket to the other process that has nothing to do with the work
 */
struct side {
	bool server;
	bool ulp;
	const char *carrier;
	bool fast;
	unsigned int beside;
	unsigned int active;
	int family;
	const char *address;
	int listener;
	int control;
};

/* One end of a connection; fast is NULL without rings. */
struct conn {
	int fd;
	struct sdp_fast *fast;
};

/* How a stream is sent: in one direction, in both at once, lent by MSG_ZEROCOPY, from a file. */
enum way {
	WAY_ONE,
	WAY_BOTH,
	WAY_LENT,
	WAY_FILE,
};

/* What was used, since the meter was started. */
struct meter {
	int64_t time;
	int64_t idle;
};

/* conn.c: both sides call the same functions in the same order. */
void side_listen(struct side *side);
void side_sync(const struct side *side);
void conn_open(const struct side *side, struct conn *conn, bool nodelay);
bool conn_moved(const struct side *side, const struct conn *conn);
bool conn_rests(const struct conn *conn);
void conn_check(const struct side *side, const struct conn *conn);
void conn_finish(const struct side *side, struct conn *conn);
void conn_send(const struct conn *conn, const void *buf, size_t len);
size_t conn_recv(const struct conn *conn, void *buf, size_t len);
void conn_recv_all(const struct conn *conn, void *buf, size_t len);
void conn_lend(const struct conn *conn, const void *buf, size_t len);
void conn_send_file(const struct conn *conn, int file, size_t len);

/* meter.c: the time is in nanoseconds, which are instructions in a counting VM. */
int64_t now(void);
void meter_start(struct meter *meter);
int64_t meter_stop(const struct meter *meter);
int64_t memory_used(void);

/* smc.c */
void smc_prepare(void);

/* work.c: the client prints one line each. */
void work_pingpong(const struct side *side, size_t size, unsigned int rounds);
void work_stream(const struct side *side, size_t size, size_t total, unsigned int conns,
		 enum way way);
void work_connect(const struct side *side, unsigned int count);
void work_idle(const struct side *side, unsigned int count, bool moved);

void die(const char *what) __attribute__((noreturn));

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of the transport: two ends, each on an HCA of its own, in one
 * process, and results in the Test Anything Protocol.
 */
#ifndef VERBS_H
#define VERBS_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define BUF_SIZE	(2 << 20)
#define QUEUE_LEN	64

/*
 * One end: its QP, on an SRQ if there is one, with room for inline data if it asks
 * for any, and memory that all of the HCA's operations may use
 */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
	uint16_t lid;
	int max_sge;	/* of its requests, 4 unless it is set */
	uint32_t inline_data;
};

/* How QPs are connected; connect_qps() takes default_conn for NULL. */
struct conn {
	uint32_t psn;
	int pkey_index;
	int access;
	int max_rd_atomic;
	int retry_cnt;
	int rnr_retry;
	int timeout;
	enum ibv_mtu mtu;
	uint8_t path_bits;
};

extern const struct conn default_conn;

void open_end(struct end *end, const char *device);
void close_end(struct end *end);

void make_qp(struct end *end, enum ibv_qp_type type);
/* Take an end to a state, RTR or RTS. */
void connect_end(struct end *end, struct end *peer, const struct conn *conn,
		 enum ibv_qp_state state);
void connect_qps(enum ibv_qp_type type, struct end *a, struct end *b,
		 const struct conn *conn);
void set_state(struct end *end, enum ibv_qp_state state);
enum ibv_qp_state get_state(struct end *end);

int post_recv(struct end *end, size_t offset, size_t len);
int post(struct end *end, const struct ibv_send_wr *wr, size_t offset, size_t len);

/* The next completion, or none within @ms milliseconds: then false. */
bool poll_for(struct end *end, struct ibv_wc *wc, int ms);
/* The next completion's status, or -1 */
int status(struct end *end);
bool quiet(struct end *end, int ms);
/* Is this the end's next asynchronous event? And is there none within @ms
 * milliseconds? Those of the port do not count.
 */
bool event_comes(struct end *end, enum ibv_event_type type);
bool no_event(struct end *end, int ms);
/* Does it come to this state, now or soon? */
bool state_comes(struct end *end, enum ibv_qp_state state);
bool readable(int fd, int ms);

void fill(struct end *end, size_t offset, size_t len, unsigned int seed);
bool filled(struct end *end, size_t offset, size_t len, unsigned int seed);

void plan(int n);
void ok(bool passed, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void die(const char *what) __attribute__((noreturn));
int finish(void);

#endif

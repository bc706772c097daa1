/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sdp_local: local.c carries messages, buf.c has their buffers, and mem.c has one end use the
 * other's memory.  carry.c and memory.c are a client that tries all of it, which sdp_ib_try
 * has, too; try.c tries the registry.
 *
 * local_lock protects the states, the queues, the peer of each end, and what memory the other
 * end may use; what a request is made with stays as it is once it is posted.
 */
#ifndef _SDP_LOCAL_H
#define _SDP_LOCAL_H

#include <linux/bvec.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/workqueue.h>

#include "transport/transport.h"

#define LOCAL_MAX_MSG	SZ_16K
#define LOCAL_MAX_SPLIT	SZ_32K
#define LOCAL_MAX_PIECES	17U
#define LOCAL_MAX_MEM	SZ_1M

/**
 * enum local_state - where a connection is
 * @LOCAL_IDLE: made by conn_create()
 * @LOCAL_CONNECTING: asks
 * @LOCAL_REQUESTED: is asked
 * @LOCAL_OPEN: messages flow
 * @LOCAL_CLOSED: over
 */
enum local_state {
	LOCAL_IDLE,
	LOCAL_CONNECTING,
	LOCAL_REQUESTED,
	LOCAL_OPEN,
	LOCAL_CLOSED,
};

/**
 * struct local_conn - one end of a connection
 * @xc: what the protocol sees
 * @up: whose it is
 * @ref: conn_destroy(), each buffer and memory, the other end, a queued @work
 * @net: the namespace, held
 * @state: enum local_state
 * @dead: conn_destroy() has begun: no more work
 * @recv_head: of its parameters
 * @spare: pieces of memory that it may have besides those it has
 * @charged: it counts as a connection of the device
 * @events: bits of enum local_event
 * @work: deals with @events
 * @peer: the other end, referenced; NULL when there is none
 * @sends: posted, and the peer has no buffer for them yet
 * @recvs: posted
 * @mems: memory that the peer may use, by struct local_mem.open
 * @done: to be given back, by @tasklet
 * @tasklet: gives back
 * @params: of connect()
 * @resolved: of connect()
 * @reason: of LOCAL_EV_REJECTED
 * @request: private data of connect()
 * @request_len: its bytes
 * @answer: private data of the other end's accept()
 * @answer_len: its bytes
 */
struct local_conn {
	struct sdp_xprt_conn xc;
	const struct sdp_xprt_upcalls *up;
	struct kref ref;
	struct net *net;
	enum local_state state;
	bool dead;
	bool charged;
	u32 recv_head;
	u32 spare;
	unsigned long events;
	struct work_struct work;
	struct local_conn *peer;
	struct list_head sends;
	struct list_head recvs;
	struct list_head mems;
	struct list_head done;
	struct tasklet_struct tasklet;
	struct sdp_xprt_params params;
	int (*resolved)(struct sdp_xprt_conn *conn, void *ctx);
	enum sdp_xprt_reject reason;
	u8 request[SDP_XPRT_REQ_PDATA];
	unsigned int request_len;
	u8 answer[SDP_XPRT_REP_PDATA];
	unsigned int answer_len;
};

/**
 * struct local_op - something posted
 * @node: in one of the connection's lists meanwhile
 * @ev: the event that gives it back
 */
struct local_op {
	struct list_head node;
	struct sdp_xprt_event ev;
};

/**
 * struct local_buf - a message buffer
 * @xb: what the protocol sees
 * @op: while it is posted
 * @conn: the connection, referenced
 * @head: bytes at @xb.head
 * @inv: the message ends the peer's registration of @key
 * @key: see @inv
 * @n: how many @pieces the message has
 * @pieces: what follows @xb.data in it
 */
struct local_buf {
	struct sdp_xprt_buf xb;
	struct local_op op;
	struct local_conn *conn;
	u32 head;
	bool inv;
	u32 key;
	unsigned int n;
	struct bio_vec pieces[];
};

static inline struct local_conn *local_conn(struct sdp_xprt_conn *xc)
{
	return container_of(xc, struct local_conn, xc);
}

/* buf.c */
struct sdp_xprt_buf *local_buf_alloc(struct sdp_xprt_conn *xc, u32 size, bool recv);
void local_buf_free(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);
struct page *local_buf_take(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb);
bool local_buf_fits(const struct local_buf *send, const struct local_buf *recv);
void local_buf_copy(const struct local_buf *send, struct local_buf *recv);

/* local.c */
extern bool local_starved;
extern struct sdp_xprt_ops local_ops;
extern spinlock_t local_lock;
void local_put(struct local_conn *conn);
void local_done(struct local_conn *conn, struct local_op *op, int error);
void local_fail_both(struct local_conn *from, struct local_conn *to);
int local_post(struct local_conn *conn, struct local_buf *buf);

/* mem.c */
bool local_mem_end(struct local_conn *conn, u32 key);
struct sdp_xprt_mem *local_mem_alloc(struct sdp_xprt_conn *xc, struct scatterlist *sg,
				     unsigned int nents, u32 access);
void local_mem_free(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm);
int local_invalidate(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm);
int local_post_read(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		    const struct sdp_xprt_remote *from);
int local_post_write(struct sdp_xprt_conn *xc, struct sdp_xprt_mem *xm, u32 off,
		     const struct sdp_xprt_remote *to);
int local_post_send_inv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb, u32 key);

/* try.c */
int local_try(char *text, int at);

#endif /* _SDP_LOCAL_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol: one connection over SDP, from the first buffer to the last.  This header is
 * for all.  It takes in credit.h and wire.h, which are private: each is of one pure file.
 *
 * A byte that a program writes comes in at send.c, which fills a buffer.  tx.c cuts what
 * waits into messages as the credits allow (credit.c), and post.c hands each one to the
 * transport.  A message that comes goes through rx.c, which checks it, to the queue or
 * into the receive ring, and recv.c gives its bytes to the program.  Credits are counted in
 * credit.c alone.  Only send.c, recv.c, ring_calls.c, idle.c and the making and taking apart
 * in conn.c may sleep; all others are called with ep->lock held, from any context.
 *
 * Locks: ep->lock protects all of struct sdp_conn that does not say otherwise.  One writer
 * at a time holds tx.mutex, which also keeps the connection from being destroyed; one
 * reader at a time holds rx.mutex, which keeps what it copies in the queue.
 *
 * Lifetimes: a connection is a new object for each attempt.  It holds its endpoint.  The
 * endpoint, the transport (until sdp_conn_free()), each pending work, and each call
 * that reads or writes hold it.
 */
#ifndef _SDP_SDP_H
#define _SDP_SDP_H

#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "core/core.h"
#include "ring/ring.h"
#include "sdp/credit.h"
#include "sdp/wire.h"
#include "transport/registry.h"

/* Buffers for messages without stream bytes. */
#define SDP_CTL_BUFS	4
#define SDP_CTL_SIZE	64

struct sdp_opts;

/* What a buffer is for, in buf->kind. */
#define SDP_BUF_DATA	0
#define SDP_BUF_CTL	1
#define SDP_BUF_OOB	2	/* data; the last byte is urgent */

/* How long an AbortConn may take before the connection ends without it. */
#define SDP_ABORT_MS	2000

/* What the counters of bad messages have room for */
static_assert(SDP_BAD_MAX <= SDP_CNT_BAD_KINDS);

/* What there is of the urgent byte at the mark. */
#define SDP_URG_NONE	0	/* nothing, or the mark has been passed */
#define SDP_URG_VALID	1
#define SDP_URG_READ	2	/* taken with MSG_OOB */

/**
 * struct sdp_urg - urgent data received
 * @pos: the mark: the urgent byte's position in the stream
 * @hole: position of urgent bytes that others have replaced while they were
 *	next to be read: readers pass over them, as with TCP
 * @hole_end: where they end
 * @state: SDP_URG_*
 * @byte: the urgent byte
 * @pending: one is announced and has not come
 * @told: user space has found the receive ring drained up to the mark
 *
 * Protected by ep->lock.
 */
struct sdp_urg {
	u64 pos;
	u64 hole;
	u64 hole_end;
	u8 state;
	u8 byte;
	bool pending;
	bool told;
};

/* How far the half that sends is: see phase.c. */
enum sdp_tx_state {
	SDP_TX_OPEN,
	SDP_TX_FIN_WANTED,
	SDP_TX_FIN_SENT,
	SDP_TX_FIN_ACKED,
};

/* How far the half that receives is: see phase.c. */
enum sdp_rx_state {
	SDP_RX_OPEN,
	SDP_RX_SHUT,
	SDP_RX_FIN,
};

/**
 * struct sdp_segs - a queue of segments, which is a piece of a stream: see segs.c
 * @list: the buffers, in the order of the stream
 * @begin: position in the stream of the first byte
 * @end: position behind the last one
 */
struct sdp_segs {
	struct list_head list;
	u64 begin;
	u64 end;
};

/**
 * struct sdp_tx - the half of a connection that sends
 * @mutex: one writer: the order of the stream, and the send buffers
 * @msgs: messages sent
 * @free: send buffers that nobody uses
 * @pending: filled ones, waiting for credits; begins with the next byte to be sent
 * @ctl: free buffers for messages without stream bytes
 * @bufs: send buffers that there are; also read without the lock
 * @max: that there may be; less than @limit when memory was short
 * @limit: that SO_SNDBUF allows
 * @depth: that the transport can have
 * @used: not in @free
 * @posted: messages that the transport has
 * @unacked: stream bytes in them
 * @size: largest message that the peer takes
 * @mode: mode of this half
 * @last: jiffies when stream bytes were last sent
 * @moved: jiffies when stream bytes were last acknowledged, or began to wait
 * @owned: a writer is at work: nobody else fills buffers
 * @more: hold a message with room back for more to come
 * @final: there is no more to come
 * @corked: @more is by TCP_CORK
 * @held: a message waits for more to come, and for nothing else
 * @held_end: jiffies when it goes in any case
 * @nagle: hold it back while one that had room is under way (RFC 896)
 * @small: position where the last message that had room ended
 * @oob: buffers among @pending with an urgent byte
 * @nospace: somebody wants to know when there is room again
 * @state: enum sdp_tx_state; sdp_tx_set() changes it; also read without the lock
 */
struct sdp_tx {
	struct mutex mutex;	/* one writer */
	u64 msgs;
	struct list_head free;
	struct sdp_segs pending;
	struct list_head ctl;
	u32 bufs;
	u32 max;
	u32 limit;
	u32 depth;
	u32 used;
	u32 posted;
	u32 unacked;
	u32 size;
	u8 mode;
	unsigned long last;
	unsigned long moved;
	bool owned;
	bool more;
	bool final;
	bool corked;
	bool held;
	unsigned long held_end;
	bool nagle;
	u64 small;
	u32 oob;
	bool nospace;
	u8 state;
};

/**
 * struct sdp_rx - the half of a connection that receives
 * @mutex: one reader: the order of the stream
 * @msgs: messages received
 * @early: messages that came before the connection was known to be there
 * @queue: messages with unread bytes; ends behind the last byte received
 * @depth: receive buffers that the transport can have
 * @grow: the endpoint's work is to add some
 * @lost: those that the transport had no room for, which the endpoint's work replaces
 * @size: size of receive buffers
 * @last: jiffies when stream bytes last came
 * @mode: mode of this half
 * @advert: the peer has advertised a source since the last cancellation
 * @state: enum sdp_rx_state; sdp_rx_set() changes it
 */
struct sdp_rx {
	struct mutex mutex;	/* one reader */
	u64 msgs;
	struct list_head early;
	struct sdp_segs queue;
	u32 depth;
	bool grow;
	u32 lost;
	u32 size;
	unsigned long last;
	u8 mode;
	bool advert;
	u8 state;
};

/* How far a connection has come: see phase.c. */
enum sdp_phase {
	SDP_PHASE_SETUP,
	SDP_PHASE_OPEN,
	SDP_PHASE_DRAIN,
	SDP_PHASE_ABORT,
	SDP_PHASE_DEAD,
	SDP_PHASE_HUSK,
};

/**
 * struct sdp_conn - a connection over SDP
 * @ref: references
 * @rcu: frees it, since sdp_conn_get() takes no lock
 * @ep: the endpoint, referenced
 * @xprt: the transport, referenced as long as @xc is there
 * @xc: the transport's connection; NULL once it has been freed
 * @dev: the transport's device, once it is being destroyed
 * @phase: enum sdp_phase; sdp_phase_set() changes it; also read without the lock
 * @abort_sent: AbortConn was posted
 * @purge: what it received is to be freed as well (the device goes away)
 * @timer: limits how long the connection's end may take
 * @alive: looks whether the peer is there
 * @idle: gives back what is not used; pending when stream bytes were sent
 * @heard: jiffies when the peer or its transport was last heard of
 * @user_timeout: TCP_USER_TIMEOUT in jiffies as last seen, or zero
 * @probes: sent since @heard
 * @credit: the credits of both directions, and receive buffers; those in rx.early
 *	count as posted
 * @tx: the half that sends
 * @rx: the half that receives
 * @urg: urgent data received
 * @send_sm: SendSm owed to the peer
 * @cancel_acks: SinkCancelAck owed to the peer
 * @rcv_buf_acks: ChRcvBufAck owed to the peer
 * @rings: rings, if user space has asked for them
 */
struct sdp_conn {
	refcount_t ref;
	struct rcu_head rcu;
	struct sdp_ep *ep;
	const struct sdp_xprt_ops *xprt;
	struct sdp_xprt_conn *xc;
	const struct sdp_xprt_dev *dev;

	u8 phase;
	bool abort_sent;
	bool purge;

	struct delayed_work timer;
	struct delayed_work alive;
	struct delayed_work idle;
	unsigned long heard;
	unsigned long user_timeout;
	int probes;

	struct sdp_credit credit;
	struct sdp_tx tx;
	struct sdp_rx rx;
	struct sdp_urg urg;
	u32 send_sm;
	u32 cancel_acks;
	u32 rcv_buf_acks;

	struct sdp_rings rings;
};

/* Messages may be posted. */
static inline bool sdp_conn_live(const struct sdp_conn *conn)
{
	u8 phase = READ_ONCE(conn->phase);

	return phase >= SDP_PHASE_OPEN && phase <= SDP_PHASE_ABORT;
}

/* Stream bytes may be posted. */
static inline bool sdp_conn_open(const struct sdp_conn *conn)
{
	u8 phase = READ_ONCE(conn->phase);

	return phase == SDP_PHASE_OPEN || phase == SDP_PHASE_DRAIN;
}

/* It ends without the bytes that are left, or has ended. */
static inline bool sdp_conn_over(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->phase) >= SDP_PHASE_ABORT;
}

/* It has ended. */
static inline bool sdp_conn_dead(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->phase) >= SDP_PHASE_DEAD;
}

/* segs.c */
static inline u32 sdp_seg_bytes(const struct sdp_xprt_buf *buf)
{
	return buf->len - buf->off;
}

static inline u64 sdp_segs_bytes(const struct sdp_segs *segs)
{
	return segs->end - segs->begin;
}

static inline bool sdp_segs_empty(const struct sdp_segs *segs)
{
	return list_empty(&segs->list);
}

/* The first segment of a queue that is not empty. */
static inline struct sdp_xprt_buf *sdp_segs_first(const struct sdp_segs *segs)
{
	return list_first_entry(&segs->list, struct sdp_xprt_buf, list);
}

/**
 * sdp_segs_add() - put a segment behind the others
 * @segs: the queue
 * @buf: the segment
 */
static inline void sdp_segs_add(struct sdp_segs *segs, struct sdp_xprt_buf *buf)
{
	list_add_tail(&buf->list, &segs->list);
	segs->end += sdp_seg_bytes(buf);
}

/**
 * sdp_segs_pop() - take the first segment
 * @segs: a queue that is not empty
 *
 * Return: the segment.
 */
static inline struct sdp_xprt_buf *sdp_segs_pop(struct sdp_segs *segs)
{
	struct sdp_xprt_buf *buf = list_first_entry(&segs->list, struct sdp_xprt_buf, list);

	list_del(&buf->list);
	segs->begin += sdp_seg_bytes(buf);
	return buf;
}

/**
 * sdp_segs_take() - take bytes off the first segment
 * @segs: a queue that is not empty
 * @n: how many; at most those of the segment
 *
 * Return: the segment, if it is used up and not in the queue any more; or NULL.
 */
static inline struct sdp_xprt_buf *sdp_segs_take(struct sdp_segs *segs, u32 n)
{
	struct sdp_xprt_buf *buf = sdp_segs_first(segs);

	buf->off += n;
	segs->begin += n;
	if (buf->off < buf->len)
		return NULL;
	list_del(&buf->list);
	return buf;
}

void sdp_segs_init(struct sdp_segs *segs);
struct sdp_xprt_buf *sdp_segs_unadd(struct sdp_segs *segs);
void sdp_segs_unpop(struct sdp_segs *segs, struct sdp_xprt_buf *buf);
struct sdp_xprt_buf *sdp_segs_find(struct sdp_segs *segs, u64 pos, u32 *at);
void sdp_segs_skip(struct sdp_segs *segs, struct list_head *bufs);
void sdp_segs_cut(struct sdp_segs *segs, struct list_head *bufs);

/* conn.c */
struct sdp_conn *sdp_conn_create(struct sdp_ep *ep, const struct sdp_xprt_ops *xprt);
void sdp_conn_attach(struct sdp_conn *conn, struct sdp_xprt_conn *xc);
void sdp_conn_release(struct sdp_conn *conn);

/**
 * sdp_conn_get() - the connection of an endpoint
 * @ep: the endpoint
 *
 * Return: the connection, referenced, or NULL.
 */
static inline struct sdp_conn *sdp_conn_get(struct sdp_ep *ep)
{
	struct sdp_conn *conn;

	rcu_read_lock();
	/* Pairs with the release in sdp_conn_attach(), by the address. */
	conn = READ_ONCE(ep->conn);
	if (conn && !refcount_inc_not_zero(&conn->ref))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

/**
 * sdp_conn_put() - drop a reference
 * @conn: the connection, or NULL
 *
 * Context: process context, no spinlock held.
 */
static inline void sdp_conn_put(struct sdp_conn *conn)
{
	if (conn && refcount_dec_and_test(&conn->ref))
		sdp_conn_release(conn);
}

void sdp_conn_arm(struct sdp_conn *conn, struct delayed_work *work, unsigned long delay);
void sdp_conn_destroy(struct sdp_conn *conn);
void sdp_conn_free(struct sdp_conn *conn);
struct sdp_xprt_buf *sdp_buf_alloc(struct sdp_conn *conn, u32 size, bool recv);
void sdp_buf_free(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
		  struct sdp_xprt_buf *buf);
int sdp_conn_bufs(struct sdp_conn *conn);
int sdp_conn_recv_bufs(struct sdp_conn *conn, u32 want);
void sdp_conn_timer(struct sdp_conn *conn, unsigned int ms);

static inline bool sdp_quiet_since(unsigned long last, unsigned int ms)
{
	return time_after_eq(jiffies, last + msecs_to_jiffies(ms));
}

/* size.c */
void sdp_size_init(struct sdp_conn *conn);
void sdp_size_limit(struct sdp_conn *conn, const struct sdp_opts *opts);
void sdp_size_look(struct sdp_conn *conn);
void sdp_size_received(struct sdp_conn *conn);
void sdp_size_lost(struct sdp_conn *conn);
void sdp_size_watch(struct sdp_conn *conn);
void sdp_size_soon(struct sdp_conn *conn);
bool sdp_size_quiet(const struct sdp_conn *conn);
void sdp_size_told(struct sdp_conn *conn);
void sdp_size_sent(struct sdp_conn *conn);

/* How long after SDP_IOC_NATIVE the options are looked at. */
#define SDP_ALIVE_LOOK	HZ

/* alive.c */
void sdp_alive_arm(struct sdp_conn *conn, unsigned long delay);
bool sdp_alive_wanted(const struct sdp_conn *conn);
void sdp_alive_begin(struct sdp_conn *conn);
void sdp_alive_look(struct sdp_conn *conn);
void sdp_alive_sending(struct sdp_conn *conn);
void sdp_alive_hold(struct sdp_conn *conn);

/* The peer or its transport has been heard of; ep->lock held. */
static inline void sdp_alive_heard(struct sdp_conn *conn)
{
	conn->heard = jiffies;
	conn->probes = 0;
}

/* rings.c */
u32 sdp_ring_put(struct sdp_conn *conn, const void *data, u32 len);
u32 sdp_ring_take(struct sdp_conn *conn, void *data, u32 len);
bool sdp_ring_tx_check(struct sdp_conn *conn, u32 *bytes);
bool sdp_ring_rx_check(struct sdp_conn *conn, u32 *bytes);
bool sdp_ring_tx_sleep(struct sdp_conn *conn);
void sdp_ring_tx_end(struct sdp_conn *conn);
void sdp_ring_rx_flags(struct sdp_conn *conn);
ssize_t sdp_ring_consume(struct sdp_conn *conn, struct iov_iter *to, u64 *pos,
			 unsigned int flags);
u64 sdp_ring_from(struct sdp_conn *conn, u64 pos);

/**
 * sdp_rx_from() - where a reader goes on
 * @conn: the connection, ep->lock held
 * @pos: position in the stream up to which it has peeked; zero if it has not
 *
 * Return: the position of its next byte, which is behind what others have taken.
 */
static inline u64 sdp_rx_from(struct sdp_conn *conn, u64 pos)
{
	return conn->rings.rx.size ? sdp_ring_from(conn, pos) : max(pos, conn->rx.queue.begin);
}

/* Stream bytes that can be read; ep->lock held. */
static inline u64 sdp_rx_avail(struct sdp_conn *conn)
{
	return conn->rx.queue.end - sdp_rx_from(conn, 0);
}

/* phase.c */
void sdp_phase_set(struct sdp_conn *conn, enum sdp_phase next);
void sdp_tx_set(struct sdp_conn *conn, enum sdp_tx_state next);
void sdp_rx_set(struct sdp_conn *conn, enum sdp_rx_state next);
void sdp_set_ended(struct sdp_conn *conn, u8 reason, int err);
void sdp_conn_ended(struct sdp_conn *conn, u8 reason, int err);

/* post.c */
bool sdp_post(struct sdp_conn *conn, struct sdp_xprt_buf *buf, u8 mid);
bool sdp_post_ctl(struct sdp_conn *conn, u8 mid, const void *ext, u32 ext_len);
void sdp_post_probe(struct sdp_conn *conn);
void sdp_post_abort(struct sdp_conn *conn);

/* end.c */
void sdp_abort(struct sdp_conn *conn, u8 reason, int err);
void sdp_bad_message(struct sdp_conn *conn, enum sdp_bad bad);
void sdp_close_progress(struct sdp_conn *conn);

/* urgent.c */
void sdp_urg_announced(struct sdp_conn *conn);
void sdp_urg_arrived(struct sdp_conn *conn, u8 byte);
bool sdp_urg_inline(struct sdp_conn *conn);
bool sdp_urg_here(struct sdp_conn *conn, u64 pos);
u64 sdp_urg_ahead(struct sdp_conn *conn);
u64 sdp_urg_hidden(struct sdp_conn *conn);
u32 sdp_urg_clip(struct sdp_conn *conn, u64 pos, u32 n, bool *hole);
void sdp_urg_moved(struct sdp_conn *conn);
u32 sdp_urg_until(const struct sdp_conn *conn, u32 n);
bool sdp_urg_fetch(struct sdp_conn *conn);
ssize_t sdp_urg_recv(struct sdp_conn *conn, struct iov_iter *to, unsigned int flags,
		     unsigned int *out_flags);

/* tx.c */
u64 sdp_tx_unsent(struct sdp_conn *conn);
u64 sdp_tx_queued(struct sdp_conn *conn);
bool sdp_tx_room(struct sdp_conn *conn);
u32 sdp_buf_room(const struct sdp_conn *conn, const struct sdp_xprt_buf *buf);
void sdp_buf_from_ring(struct sdp_conn *conn, struct sdp_xprt_buf *buf, u32 most);
void sdp_tx_clear(struct sdp_xprt_buf *buf);
struct sdp_xprt_buf *sdp_tx_get(struct sdp_conn *conn);
void sdp_tx_put(struct sdp_conn *conn, struct sdp_xprt_buf *buf);
void sdp_tx_done(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
		 struct sdp_xprt_buf *buf, int error);
void sdp_tx_probe(struct sdp_conn *conn);
void sdp_tx_push(struct sdp_conn *conn);
void sdp_tx_uncork(struct sdp_conn *conn);
void sdp_tx_abort_after(struct sdp_conn *conn);
void sdp_tx_look(struct sdp_conn *conn);

/* rx.c */
void sdp_rx_done(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
		 struct sdp_xprt_buf *buf, int error);
void sdp_rx_begin(struct sdp_conn *conn);
void sdp_rx_repost(struct sdp_conn *conn, struct sdp_xprt_buf *buf, bool fresh);
void sdp_rx_to_ring(struct sdp_conn *conn);

/* send.c */
int sdp_tx_prepare(struct sdp_conn *conn, u32 want);
int sdp_tx_drain(struct sdp_conn *conn);
ssize_t sdp_send(struct sdp_conn *conn, struct iov_iter *from, unsigned int flags,
		 long timeo);

/* recv.c */
void sdp_rx_fetch(struct sdp_conn *conn);
bool sdp_rx_ready(struct sdp_conn *conn, u64 pos);
int sdp_rx_end(struct sdp_conn *conn, u64 pos, size_t done);
int sdp_rx_wait(struct sdp_conn *conn, u64 pos, long *timeo);
ssize_t sdp_recv(struct sdp_conn *conn, struct iov_iter *to, unsigned int flags,
		 long timeo, struct msghdr *msg);

/* ring_calls.c */
u32 sdp_ring_data_offset(void);
bool sdp_ring_sizes_ok(u32 tx_bytes, u32 rx_bytes);
int sdp_ring_setup(struct sdp_conn *conn, u32 tx_bytes, u32 rx_bytes);
void sdp_ring_drop(struct sdp_conn *conn);
void sdp_ring_look(struct sdp_conn *conn);
int sdp_ring_tx_grow(struct sdp_conn *conn);
int sdp_ring_enter(struct sdp_conn *conn, u32 flags, bool nonblock);

/* idle.c */
void sdp_size_grow(struct sdp_conn *conn, bool more);
void sdp_size_idle(struct work_struct *work);

/* probe.c */
void sdp_alive_work(struct work_struct *work);

/*
 * Copies from and to user memory under tx.mutex or rx.mutex.  What is not there is not
 * waited for, as that may be for ever: it is brought in by sdp_fault_in(), without the
 * mutex, when nothing could be copied.
 */
static inline size_t sdp_copy_from(void *to, size_t n, struct iov_iter *from)
{
	pagefault_disable();
	n = copy_from_iter(to, n, from);
	pagefault_enable();
	return n;
}

static inline size_t sdp_copy_to(const void *from, size_t n, struct iov_iter *to)
{
	pagefault_disable();
	n = copy_to_iter(from, n, to);
	pagefault_enable();
	return n;
}

/* False: there is no such memory, or nobody who wants to know. */
static inline bool sdp_fault_in(struct iov_iter *iter, bool write)
{
	size_t n = min_t(size_t, iov_iter_count(iter), SZ_64K);

	if (!user_backed_iter(iter) || fatal_signal_pending(current))
		return false;
	return (write ? fault_in_iov_iter_writeable(iter, n) :
			fault_in_iov_iter_readable(iter, n)) < n;
}

#endif /* _SDP_SDP_H */

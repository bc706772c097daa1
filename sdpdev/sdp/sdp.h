/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol of one connection.
 */
#ifndef _SDP_SDP_H
#define _SDP_SDP_H

#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "core/ep.h"
#include "sdp/credit.h"
#include "sdp/wire.h"
#include "transport/registry.h"

/* Buffers for messages without stream bytes. */
#define SDP_CTL_BUFS	4
#define SDP_CTL_SIZE	64

/* What a send buffer is for, in buf->off. */
#define SDP_BUF_DATA	0
#define SDP_BUF_CTL	1
#define SDP_BUF_OOB	2	/* data; the last byte is urgent */

/* How long an AbortConn may take before the connection ends without it. */
#define SDP_ABORT_MS	2000

/* What the counters of bad messages have room for */
static_assert(SDP_BAD_MAX <= SDP_CNT_BAD_KINDS);

/* conn.c */
void sdp_conn_init(struct sdp_ep *ep, const struct sdp_xprt_ops *xprt,
		   struct sdp_xprt_conn *conn);
struct sdp_xprt_buf *sdp_buf_alloc(struct sdp_ep *ep, u32 size, bool recv);
void sdp_buf_free(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		  struct sdp_xprt_buf *buf);
void sdp_bufs_free(struct sdp_ep *ep, struct sdp_xprt_conn *conn, struct list_head *bufs);
int sdp_conn_bufs(struct sdp_ep *ep);
int sdp_conn_recv_bufs(struct sdp_ep *ep, u32 want);
void sdp_conn_timer(struct sdp_ep *ep, unsigned int ms);

static inline bool sdp_quiet_since(unsigned long last, unsigned int ms)
{
	return time_after_eq(jiffies, last + msecs_to_jiffies(ms));
}

/* size.c */
void sdp_size_init(struct sdp_ep *ep);
void sdp_size_limit(struct sdp_ep *ep, const struct sdp_opts *opts);
void sdp_size_look(struct sdp_ep *ep);
void sdp_size_received(struct sdp_ep *ep);
void sdp_size_lost(struct sdp_ep *ep);
void sdp_size_watch(struct sdp_ep *ep);
void sdp_size_soon(struct sdp_ep *ep);
bool sdp_size_quiet(const struct sdp_ep *ep);
void sdp_size_told(struct sdp_ep *ep);
void sdp_size_sent(struct sdp_ep *ep);
void sdp_size_stop(struct sdp_ep *ep);

/* How long after SDP_IOC_NATIVE the options are looked at. */
#define SDP_ALIVE_LOOK	HZ

/* alive.c */
void sdp_alive_arm(struct sdp_ep *ep, unsigned long delay);
bool sdp_alive_wanted(const struct sdp_ep *ep);
void sdp_alive_begin(struct sdp_ep *ep);
void sdp_alive_look(struct sdp_ep *ep);
void sdp_alive_sending(struct sdp_ep *ep);
void sdp_alive_hold(struct sdp_ep *ep);

/* The peer or its transport has been heard of; ep->lock held. */
static inline void sdp_alive_heard(struct sdp_ep *ep)
{
	ep->heard = jiffies;
	ep->probes = 0;
}

/* rings.c */
u32 sdp_ring_put(struct sdp_ep *ep, const void *data, u32 len);
u32 sdp_ring_take(struct sdp_ep *ep, void *data, u32 len);
bool sdp_ring_tx_check(struct sdp_ep *ep, u32 *bytes);
bool sdp_ring_rx_check(struct sdp_ep *ep, u32 *bytes);
bool sdp_ring_tx_sleep(struct sdp_ep *ep);
void sdp_ring_tx_end(struct sdp_ep *ep);
void sdp_ring_rx_flags(struct sdp_ep *ep);
ssize_t sdp_ring_consume(struct sdp_ep *ep, struct iov_iter *to, size_t skip,
			 unsigned int flags);
u64 sdp_rx_avail(struct sdp_ep *ep);

/* phase.c */
void sdp_set_ended(struct sdp_ep *ep, u8 reason, int err);
void sdp_conn_ended(struct sdp_ep *ep, u8 reason, int err);

/* post.c */
bool sdp_post(struct sdp_ep *ep, struct sdp_xprt_buf *buf, u8 mid);
bool sdp_post_ctl(struct sdp_ep *ep, u8 mid, const void *ext, u32 ext_len);
void sdp_post_probe(struct sdp_ep *ep);
void sdp_post_abort(struct sdp_ep *ep);

/* end.c */
void sdp_abort(struct sdp_ep *ep, u8 reason, int err);
void sdp_bad_message(struct sdp_ep *ep, enum sdp_bad bad);
void sdp_close_progress(struct sdp_ep *ep);

/* urgent.c */
void sdp_urg_announced(struct sdp_ep *ep);
void sdp_urg_arrived(struct sdp_ep *ep, u8 byte);
bool sdp_urg_inline(struct sdp_ep *ep);
bool sdp_urg_here(struct sdp_ep *ep, u64 seen);
u64 sdp_urg_ahead(struct sdp_ep *ep);
u64 sdp_urg_hidden(struct sdp_ep *ep);
u32 sdp_urg_clip(struct sdp_ep *ep, size_t skip, u32 n, bool *hole);
void sdp_urg_moved(struct sdp_ep *ep);
u32 sdp_urg_until(const struct sdp_ep *ep, u32 n);
bool sdp_urg_fetch(struct sdp_ep *ep);
ssize_t sdp_urg_recv(struct sdp_ep *ep, struct iov_iter *to, unsigned int flags,
		     unsigned int *out_flags);

/* tx.c */
u64 sdp_tx_unsent(struct sdp_ep *ep);
u64 sdp_tx_queued(struct sdp_ep *ep);
bool sdp_tx_room(struct sdp_ep *ep);
u32 sdp_buf_room(const struct sdp_ep *ep, const struct sdp_xprt_buf *buf);
void sdp_buf_from_ring(struct sdp_ep *ep, struct sdp_xprt_buf *buf, u32 most);
struct sdp_xprt_buf *sdp_tx_get(struct sdp_ep *ep);
void sdp_tx_put(struct sdp_ep *ep, struct sdp_xprt_buf *buf);
void sdp_tx_done(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		 struct sdp_xprt_buf *buf, int error);
void sdp_tx_probe(struct sdp_ep *ep);
void sdp_tx_push(struct sdp_ep *ep);
void sdp_tx_uncork(struct sdp_ep *ep);
void sdp_tx_abort_after(struct sdp_ep *ep);
void sdp_tx_look(struct sdp_ep *ep);

/* rx.c */
void sdp_rx_done(struct sdp_ep *ep, struct sdp_xprt_conn *conn,
		 struct sdp_xprt_buf *buf, int error);
void sdp_rx_begin(struct sdp_ep *ep);
void sdp_rx_repost(struct sdp_ep *ep, struct sdp_xprt_buf *buf, bool fresh);
void sdp_rx_to_ring(struct sdp_ep *ep);

/* send.c */
int sdp_tx_prepare(struct sdp_ep *ep, u32 want);
int sdp_tx_wait(struct sdp_ep *ep, long *timeo);
int sdp_tx_drain(struct sdp_ep *ep);
ssize_t sdp_send(struct sdp_ep *ep, struct iov_iter *from, unsigned int flags,
		 long timeo);

/* recv.c */
void sdp_rx_fetch(struct sdp_ep *ep);
bool sdp_rx_ready(struct sdp_ep *ep, u64 more_than);
int sdp_rx_end(struct sdp_ep *ep, u64 seen, size_t done);
int sdp_rx_wait(struct sdp_ep *ep, u64 more_than, long *timeo);
ssize_t sdp_recv(struct sdp_ep *ep, struct iov_iter *to, unsigned int flags,
		 long timeo, struct msghdr *msg);

/* ring_calls.c */
u32 sdp_ring_data_offset(void);
int sdp_ring_setup(struct sdp_ep *ep, u32 tx_bytes, u32 rx_bytes);
void sdp_ring_drop(struct sdp_ep *ep);
void sdp_ring_look(struct sdp_ep *ep);
int sdp_ring_tx_grow(struct sdp_ep *ep);
int sdp_ring_enter(struct sdp_ep *ep, u32 flags, bool nonblock);

/* idle.c */
void sdp_size_grow(struct sdp_ep *ep, bool more);
void sdp_size_idle(struct work_struct *work);

/* probe.c */
void sdp_alive_work(struct work_struct *work);

/*
 * Copies from and to user memory under tx_mutex or rx_mutex.  What is not there is not
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

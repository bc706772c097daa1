/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pipes: memory of the host by which a direction goes whose ends are both on this kernel.
 *
 * offload.h has the locks and the lives.
 */
#ifndef _SDP_PIPE_H
#define _SDP_PIPE_H

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "offload/nap.h"

struct sdp_landing;
struct sdp_shared;
struct sdp_sock;
struct sdp_user;

/* Pages of a pipe, at most; a power of two. */
#define SDP_PIPE_PAGES	64
#define SDP_PIPE_BYTES	(SDP_PIPE_PAGES * PAGE_SIZE)

/**
 * enum sdp_pipe_state - what a direction's sender does with its bytes
 * @SDP_PIPE_IDLE: they go by TCP
 * @SDP_PIPE_MOVED: they go by the pipe
 * @SDP_PIPE_RETURNING: the sender appends the unread bytes to TCP's queue, and
 *	sends nothing before all of them are there; if memory was short, the pairs' worker
 *	goes on
 * @SDP_PIPE_ENDED: the sender is gone; the reader still gets what is in the pipe
 */
enum sdp_pipe_state {
	SDP_PIPE_IDLE,
	SDP_PIPE_MOVED,
	SDP_PIPE_RETURNING,
	SDP_PIPE_ENDED,
};

/**
 * enum sdp_half - the side that works on a program's half of a mapped pipe
 * @SDP_HALF_SHUT: the kernel
 * @SDP_HALF_TAKEN: the kernel, which gives it back when it can
 * @SDP_HALF_LENT: the program, and its word in struct sdp_shared counts
 */
enum sdp_half {
	SDP_HALF_SHUT,
	SDP_HALF_TAKEN,
	SDP_HALF_LENT,
};

/**
 * struct sdp_pipe - one direction between two sockets of this kernel
 * @lock: for what is said to be under it; taken in softirqs too
 * @state: changed by sdp_pipe_set() alone, under @lock
 * @tx: the sender's socket, NULL when it is gone; under @lock
 * @rx: the reader's socket, likewise
 * @reader: @rx's; valid while @rx is
 * @write_space: what wakes @tx, if it is still the kernel's own
 * @head: bytes that the sender has put in, ever; the sender changes it, under @lock
 * @claim: bytes that the reader has taken or is bound to take; under @lock.  The sender takes
 *	nothing back that lies before it.
 * @tail: bytes that the reader has taken; the reader stores it with release, and the sender's
 *	acquire makes the pages before it the sender's again
 * @start: TCP's sequence number where the direction left it: the pipe's bytes come behind the
 *	last one before it; under @lock
 * @back: the sender has returned the bytes before it; the sender's
 * @base: position of the first byte of @pages[0].  The sender moves it while the pipe is empty;
 *	the reader reads it after it has seen a new @head under @lock.
 * @limit: bytes that the pipe holds, at most
 * @landing: memory of a reader that waits, or NULL; under @lock
 * @landed: bytes that went there, and never were in the pipe; under @lock
 * @lands: the reader has waited for large messages of late; the sender's
 * @deep: jiffies until which the sender does not wait for such a reader, or 0; the sender's
 * @told: bytes that were sent, and received, when the namespaces' counters were told last; under
 *	@lock
 * @want_room: a thread waits until there is room
 * @stalled: full for a while, and not read: what the sender has goes to TCP, with more room
 * @tx_half: enum sdp_half of the sender's program; under @lock
 * @rx_half: and of the reader's; while it is lent @claim and @tail are one, under @lock
 * @shared: what programs see of it, in a page of its own; NULL if no program has ever mapped
 *	it.  Set once, with release; then @base and @pages stay as they are.
 * @payer: the user who pays for what programs map, held; NULL without @shared
 * @nap: how the reader sleeps
 * @only: no byte goes by TCP, so a FIN may come before the pipe is empty; does not change
 * @pages: the bytes; the sender allocates a page when it gets there, and keeps it
 */
struct sdp_pipe {
	spinlock_t lock;	/* see above */
	enum sdp_pipe_state state;
	struct sock *tx;
	struct sock *rx;
	struct sdp_sock *reader;
	void (*write_space)(struct sock *sk);
	u64 head;
	u64 claim;
	u64 back;
	u64 base;
	u32 start;
	u32 limit;
	struct sdp_landing *landing;
	u64 landed;
	unsigned long deep;
	u64 told[2];
	bool lands;
	bool want_room;
	bool stalled;
	u8 tx_half;
	u8 rx_half;
	struct sdp_shared *shared;
	struct sdp_user *payer;
	struct sdp_nap nap;
	bool only;
	u64 tail ____cacheline_aligned_in_smp;
	struct page *pages[SDP_PIPE_PAGES];
};

/**
 * struct sdp_pair - both directions of a connection whose ends are on this kernel
 * @refs: one for each end, for each file that maps its pipes, and for each call that waits
 * @pipe: index 0 carries what the end that connected sends, 1 what the other one sends
 * @list: in sdp_pairs, for the worker that looks after pipes that stand still, until the last
 *	reference goes
 * @seen: @pipe's heads and tails when that worker came last
 * @attached: bit 0: a program has the pipes mapped for the end that connected, bit 1: for the
 *	other one
 * @only: an end has SDP_MODE_ONLY: no byte goes by TCP either way
 * @rcu: for readers of sdp_sock.pair
 */
struct sdp_pair {
	refcount_t refs;
	struct sdp_pipe pipe[2];
	struct list_head list;
	u64 seen[2][2];
	unsigned long attached;
	bool only;
	struct rcu_head rcu;
};

static inline unsigned int sdp_pipe_slot(const struct sdp_pipe *pipe, u64 pos)
{
	return ((pos - pipe->base) >> PAGE_SHIFT) & (SDP_PIPE_PAGES - 1);
}

static inline unsigned int sdp_pipe_offset(const struct sdp_pipe *pipe, u64 pos)
{
	return offset_in_page(pos - pipe->base);
}

static inline u64 sdp_pipe_sent(const struct sdp_pipe *pipe)
{
	return READ_ONCE(pipe->head) + READ_ONCE(pipe->landed);
}

static inline u64 sdp_pipe_received(const struct sdp_pipe *pipe)
{
	return READ_ONCE(pipe->tail) + READ_ONCE(pipe->landed);
}

/* pipe.c */
struct page *sdp_pipe_page(gfp_t gfp);
void sdp_pipe_page_free(struct page *page);
void sdp_pipe_init(struct sdp_pipe *pipe, struct sock *tx, struct sdp_sock *reader);
void sdp_pipe_free(struct sdp_pipe *pipe);
void sdp_pipe_set(struct sdp_pipe *pipe, enum sdp_pipe_state state);
void sdp_pipe_tell(struct sdp_pipe *pipe);
void sdp_pipe_tell_rest(struct sdp_pipe *pipe, const struct sock *rx);
ssize_t sdp_pipe_write(struct sdp_pipe *pipe, struct iov_iter *from, size_t most, gfp_t gfp);
bool sdp_pipe_publish(struct sdp_pipe *pipe, size_t len);
bool sdp_pipe_has_room(struct sdp_pipe *pipe, int wake);
size_t sdp_pipe_queued(const struct sdp_pipe *pipe, u32 seq);
bool sdp_pipe_claim(struct sdp_pipe *pipe);
bool sdp_pipe_arrived(const struct sdp_pipe *pipe, u32 seq);
ssize_t sdp_pipe_read(struct sdp_pipe *pipe, struct iov_iter *to, size_t len);
ssize_t sdp_pipe_peek(struct sdp_pipe *pipe, u64 pos, struct iov_iter *to, size_t len);
void *sdp_pipe_slice(struct sdp_pipe *pipe, u64 pos, u64 end, size_t *len);
void sdp_pipe_wake_tx(struct sdp_pipe *pipe);
bool sdp_pipe_below(struct sdp_pipe *pipe, size_t bytes);
bool sdp_pipe_wake_rx(struct sdp_pipe *pipe);
void sdp_pipe_freed(struct sdp_pipe *pipe);
void sdp_pipe_detach_tx(struct sdp_pipe *pipe);
void sdp_pipe_detach_rx(struct sdp_pipe *pipe);
void sdp_pipe_trim(struct sdp_pipe *pipe);

/* land.c */
bool sdp_land_worth(const struct sdp_sock *ss, const struct iov_iter *to, size_t len);
void sdp_land_offer(struct sdp_pipe *pipe, struct sdp_landing *land, struct iov_iter *to,
		    size_t len);
size_t sdp_land_take(struct sdp_pipe *pipe, struct sdp_landing *land, struct iov_iter *to);
size_t sdp_land_write(struct sdp_pipe *pipe, struct iov_iter *from);
void sdp_land_drop(struct sdp_pipe *pipe);
void sdp_land_age(struct sdp_pipe *pipe);

/* share.c */
#define SDP_SHARE_PAGES	(2 + 2 * SDP_PIPE_PAGES)
#define SDP_SHARE_BYTES	((long)PAGE_SIZE * (1 + SDP_PIPE_PAGES))	/* of one direction */
void sdp_share_take(struct sdp_pipe *pipe, unsigned int halves);
void sdp_share_show(struct sdp_pipe *pipe);
void sdp_share_close_all(struct sdp_pipe *pipe);
bool sdp_share_begin_write(struct sdp_pipe *pipe);
bool sdp_share_busy(const struct sdp_pipe *pipe);
void sdp_share_written(struct sdp_pipe *pipe);
void sdp_share_look(struct sdp_pipe *pipe);
void sdp_share_watch(const struct sdp_pipe *pipe, const struct sock *sk);
void sdp_share_begin_read(struct sdp_pipe *pipe);
void sdp_share_read(struct sdp_pipe *pipe);
void sdp_share_end_read(struct sdp_pipe *pipe);
size_t sdp_share_used(const struct sdp_pipe *pipe);
void sdp_share_want_data(const struct sdp_pipe *pipe);
bool sdp_share_watched(const struct sock *sk);
void sdp_share_want_room(const struct sdp_pipe *pipe);
void sdp_share_has_room(struct sdp_pipe *pipe);
void sdp_share_kick(struct sdp_pair *pair, bool accepted, unsigned int what);
unsigned int sdp_share_open(struct sdp_sock *ss, unsigned int halves);

/* map.c */
struct sock *sdp_share_sock(struct sdp_pair *pair, bool accepted);
int sdp_share_attach(struct sdp_pair *pair, bool accepted);
void sdp_share_detach(struct sdp_pair *pair, bool accepted);
void sdp_share_pages(const struct sdp_pair *pair, bool accepted, struct page **pages);

/* Has a program ever mapped a pipe? */
static inline bool sdp_pipe_shared(const struct sdp_pipe *pipe)
{
	/* Pairs with the release in sdp_share_install(). */
	return unlikely(smp_load_acquire(&pipe->shared));
}

#endif /* _SDP_PIPE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a direction that programs map: all of a pipe's pages, where they are, and a head.
 *
 * A pipe gets the pages when a program of either end attaches, and keeps them until the connection
 * is over.  share.c has what the kernel and the programs do there.
 */
#include <linux/sdp_ring.h>

#include "offload/offload.h"

/* How often, and how many jiffies apart, a socket is tried whose lock a call has. */
#define SDP_SHARE_TRIES	50
#define SDP_SHARE_PAUSE	(HZ / 50)

/* An end's socket, referenced; NULL if it is gone. */
struct sock *sdp_share_sock(struct sdp_pair *pair, bool accepted)
{
	struct sdp_pipe *pipe = &pair->pipe[accepted];
	struct sock *sk;

	spin_lock_bh(&pipe->lock);
	sk = pipe->tx;
	if (sk)
		sock_hold(sk);
	spin_unlock_bh(&pipe->lock);
	return sk;
}

/**
 * struct sdp_share_pages - all that a mapped pipe has
 * @payer: the user who pays, held
 * @page: the pages; the last one becomes the shared head
 */
struct sdp_share_pages {
	struct sdp_user *payer;
	struct page *page[SDP_PIPE_PAGES + 1];
};

/* A program that maps the pages sees no bytes that were read before. */
static void sdp_share_clear(struct sdp_pipe *pipe)
{
	u64 pos, end;
	size_t n;

	spin_lock_bh(&pipe->lock);
	/* Behind the head lies what a program with the sender's half is about to send. */
	if (pipe->tx_half != SDP_HALF_SHUT)
		goto out;
	end = pipe->tail + SDP_PIPE_BYTES;
	for (pos = pipe->head; pos != end; pos += n) {
		void *bytes = sdp_pipe_slice(pipe, pos, end, &n);

		memset(bytes, 0, n);
	}
out:
	spin_unlock_bh(&pipe->lock);
}

/* The sender does not look at the pages, nor at where they begin, while its lock is ours. */
static void sdp_share_install(struct sdp_pipe *pipe, struct sdp_share_pages *pages)
{
	int i;

	if (pipe->shared) {
		sdp_share_clear(pipe);
		return;
	}
	for (i = 0; i < SDP_PIPE_PAGES; i++)
		if (!pipe->pages[i])
			swap(pipe->pages[i], pages->page[i]);
	sdp_share_clear(pipe);
	spin_lock_bh(&pipe->lock);
	/* Pairs with sdp_pipe_shared(): the page is clear. */
	smp_store_release(&pipe->shared, page_address(pages->page[i]));
	/*
	 * Pairs with the barrier in sdp_pipe_freed(): a reader in quick.c, which has no lock of
	 * this pipe, sees that it is mapped and shows its tail, or sdp_share_show() does.
	 */
	smp_mb();
	pages->page[i] = NULL;
	swap(pipe->payer, pages->payer);
	/* As in sdp_land_offer(). */
	sdp_land_drop(pipe);
	sdp_share_show(pipe);
	spin_unlock_bh(&pipe->lock);
}

/* The caller does not sleep for the lock: the call that has it may be one of another user. */
static int sdp_share_fix_once(struct sdp_pair *pair, bool accepted, struct sdp_share_pages *pages)
{
	struct sock *tx = sdp_share_sock(pair, accepted);
	int err = -EAGAIN;

	if (!tx)
		return -ENOTCONN;
	local_bh_disable();
	bh_lock_sock(tx);
	if (!sock_owned_by_user(tx)) {
		sdp_share_install(&pair->pipe[accepted], pages);
		err = 0;
	}
	bh_unlock_sock(tx);
	local_bh_enable();
	sock_put(tx);
	return err;
}

static int sdp_share_alloc(struct sdp_share_pages *pages)
{
	int i;

	pages->payer = sdp_shared_charge(SDP_SHARE_BYTES);
	if (!pages->payer)
		return -ENOMEM;
	for (i = 0; i <= SDP_PIPE_PAGES; i++) {
		pages->page[i] = sdp_pipe_page(GFP_KERNEL);
		if (!pages->page[i])
			return -ENOMEM;
	}
	return 0;
}

static void sdp_share_free(struct sdp_share_pages *pages)
{
	int i;

	for (i = 0; i <= SDP_PIPE_PAGES; i++)
		if (pages->page[i])
			sdp_pipe_page_free(pages->page[i]);
	if (pages->payer)
		sdp_shared_uncharge(pages->payer, SDP_SHARE_BYTES);
	kfree(pages);
}

/* A pipe gets all of its pages, and keeps them where they are. */
static int sdp_share_fix(struct sdp_pair *pair, bool accepted)
{
	bool shared = READ_ONCE(pair->pipe[accepted].shared);
	struct sdp_share_pages *pages;
	int i, err;

	pages = kzalloc(sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return -ENOMEM;
	err = shared ? 0 : sdp_share_alloc(pages);
	for (i = 0; err != -ENOMEM && i < SDP_SHARE_TRIES; i++) {
		err = sdp_share_fix_once(pair, accepted, pages);
		if (err != -EAGAIN || signal_pending(current))
			break;
		schedule_timeout_interruptible(SDP_SHARE_PAUSE);
	}
	sdp_share_free(pages);
	return err;
}

/*
 * Makes both directions ready to be mapped by an end's program; the caller's user and memory
 * control group pay.  -EBUSY if a program of this end has them; -ENOTCONN if the connection is
 * over; -EOPNOTSUPP if no byte of it may go by TCP; -EAGAIN if a call has a socket for long, or a
 * signal comes.  Process context; no socket is locked.
 */
int sdp_share_attach(struct sdp_pair *pair, bool accepted)
{
	int err;

	/* What a program is about to send by its ring may have to go by TCP. */
	if (pair->only)
		return -EOPNOTSUPP;
	if (test_and_set_bit(accepted, &pair->attached))
		return -EBUSY;
	err = sdp_share_fix(pair, accepted) ?: sdp_share_fix(pair, !accepted);
	if (err)
		clear_bit(accepted, &pair->attached);
	return err;
}

/* An end's program has both directions no more. */
void sdp_share_detach(struct sdp_pair *pair, bool accepted)
{
	struct sdp_pipe *tx = &pair->pipe[accepted], *rx = &pair->pipe[!accepted];

	spin_lock_bh(&tx->lock);
	sdp_share_take(tx, SDP_RING_TX);
	WRITE_ONCE(tx->tx_half, SDP_HALF_SHUT);
	WRITE_ONCE(tx->shared->busy, 0);
	spin_unlock_bh(&tx->lock);
	spin_lock_bh(&rx->lock);
	sdp_share_take(rx, SDP_RING_RX);
	WRITE_ONCE(rx->rx_half, SDP_HALF_SHUT);
	spin_unlock_bh(&rx->lock);
	/* The program may have ended before it could tell the other end. */
	sdp_share_kick(pair, accepted, SDP_RING_DATA | SDP_RING_ROOM);
	clear_bit(accepted, &pair->attached);
}

/*
 * Fills in SDP_SHARE_PAGES pages of an end: two heads, then the sent direction, then the received
 * one.
 */
void sdp_share_pages(const struct sdp_pair *pair, bool accepted, struct page **pages)
{
	const struct sdp_pipe *pipe[] = { &pair->pipe[accepted], &pair->pipe[!accepted] };
	int i;

	for (i = 0; i < 2; i++) {
		pages[i] = virt_to_page(pipe[i]->shared);
		memcpy(pages + 2 + i * SDP_PIPE_PAGES, pipe[i]->pages, sizeof(pipe[i]->pages));
	}
}

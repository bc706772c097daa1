// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of this host that the peer uses, or that the peer's is read into or written from.
 *
 * The transport's part outlives all calls of mem_alloc(), and the transport all of the memory:
 * sdp_chan_finish() waits for both.
 */
#include <linux/wait_bit.h>

#include "chan/chan.h"

/* A transport that works gives memory back long before. */
#define SDP_CHAN_PROMPT		HZ

/* A transport that repeats what a peer does not acknowledge gives up before that. */
#define SDP_CHAN_PATIENCE	(60 * HZ)

/*
 * Has the transport know memory.  The caller has a reference to the channel until
 * sdp_chan_mem_free().  @access: bits of enum sdp_xprt_access.  Process context.  Returns -ENOTCONN
 * if the channel is not open.
 */
int sdp_chan_mem_make(struct sdp_chan *chan, struct sdp_chan_mem *cm, struct sg_table *sgt,
		      u32 access)
{
	bool open;

	spin_lock_bh(&chan->lock);
	open = chan->state == SDP_CHAN_OPEN;
	if (open)
		atomic_inc(&chan->making);
	spin_unlock_bh(&chan->lock);
	if (!open)
		return -ENOTCONN;
	cm->mem = chan->xprt->mem_alloc(chan->xc, sgt->sgl, sgt->nents, access);
	if (!IS_ERR(cm->mem)) {
		cm->shared = access & (SDP_XPRT_PEER_READS | SDP_XPRT_PEER_WRITES);
		init_completion(&cm->done);
		atomic_inc(&chan->mems);
		spin_lock_bh(&chan->lock);
		list_add(&cm->list, &chan->known);
		spin_unlock_bh(&chan->lock);
	}
	if (atomic_dec_and_test(&chan->making))
		wake_up_var(&chan->making);
	return PTR_ERR_OR_ZERO(cm->mem);
}

/*
 * Reads the peer's memory into @cm.  If it returns zero, the caller calls sdp_chan_mem_wait().  Any
 * context but hard interrupts.
 */
int sdp_chan_mem_read(struct sdp_chan *chan, struct sdp_chan_mem *cm,
		      const struct sdp_xprt_remote *from)
{
	int err = -ENOTCONN;

	spin_lock_bh(&chan->lock);
	if (chan->state == SDP_CHAN_OPEN)
		err = chan->xprt->post_read(chan->xc, cm->mem, 0, from);
	spin_unlock_bh(&chan->lock);
	return err;
}

/*
 * Writes @cm into the peer's memory.  The peer has the bytes before any message that is sent later.
 * If it returns zero, the caller calls sdp_chan_mem_wait().  Any context but hard interrupts.
 */
int sdp_chan_mem_write(struct sdp_chan *chan, struct sdp_chan_mem *cm,
		       const struct sdp_xprt_remote *to)
{
	int err = -ENOTCONN;

	spin_lock_bh(&chan->lock);
	if (chan->state == SDP_CHAN_OPEN)
		err = chan->xprt->post_write(chan->xc, cm->mem, 0, to);
	spin_unlock_bh(&chan->lock);
	return err;
}

/*
 * Waits until the transport gives posted memory back.  Process context.  Returns zero, or why the
 * channel is at its end.
 *
 * A process that is killed ends the channel, and with that the wait, if the memory does not come
 * soon: other processes may have the channel's socket, and bytes may wait there to be sent.  So
 * does a peer that takes in no message: what is behind that waits without end.
 */
int sdp_chan_mem_wait(struct sdp_chan *chan, struct sdp_chan_mem *cm)
{
	if (!wait_for_completion_timeout(&cm->done, SDP_CHAN_PROMPT) &&
	    wait_for_completion_killable_timeout(&cm->done, SDP_CHAN_PATIENCE) <= 0) {
		sdp_chan_end(chan);
		wait_for_completion(&cm->done);
	}
	return cm->error;
}

/* Ends the peer's access, whatever becomes of the channel. */
static void sdp_chan_mem_revoke(struct sdp_chan *chan, struct sdp_chan_mem *cm)
{
	int err = -ENOTCONN;

	spin_lock_bh(&chan->lock);
	if (chan->state == SDP_CHAN_OPEN) {
		err = chan->xprt->invalidate(chan->xc, cm->mem);
		if (err)
			sdp_chan_over(chan);
	}
	spin_unlock_bh(&chan->lock);
	if (!err)
		sdp_chan_mem_wait(chan, cm);
	else
		/* Pairs with sdp_chan_quiet(). */
		wait_var_event(&chan->quiet, smp_load_acquire(&chan->quiet));
}

/* @cm is not posted.  The peer has no access any more when this returns.  Process context. */
void sdp_chan_mem_free(struct sdp_chan *chan, struct sdp_chan_mem *cm)
{
	if (cm->shared)
		sdp_chan_mem_revoke(chan, cm);
	spin_lock_bh(&chan->lock);
	list_del(&cm->list);
	spin_unlock_bh(&chan->lock);
	chan->xprt->mem_free(chan->xc, cm->mem);
	if (atomic_dec_and_test(&chan->mems))
		wake_up_var(&chan->mems);
}

/* The transport gives memory back.  Softirq. */
void sdp_chan_mem_done(struct sdp_chan *chan, const struct sdp_xprt_mem *mem, int error)
{
	struct sdp_chan_mem *cm;

	spin_lock_bh(&chan->lock);
	list_for_each_entry(cm, &chan->known, list)
		if (cm->mem == mem) {
			cm->error = error;
			complete(&cm->done);
			break;
		}
	spin_unlock_bh(&chan->lock);
}

/* The transport's part is gone: the peer has no access to anything.  Process context. */
void sdp_chan_quiet(struct sdp_chan *chan)
{
	/* Pairs with sdp_chan_mem_revoke(), which frees then. */
	smp_store_release(&chan->quiet, true);
	/* A waiter sees @quiet, or is seen: pairs with the barrier of set_current_state(). */
	smp_mb();
	wake_up_var(&chan->quiet);
}

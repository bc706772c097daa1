// SPDX-License-Identifier: GPL-2.0
/*
 * A reader of a mapped pipe naps before it asks to be woken.
 *
 * A sender that has its half mapped makes a system call only if the reader has asked to be woken.
 * A reader that is faster than the sender asks behind each message, and the wake-up costs many
 * times what the message costs.  So the reader first sleeps for a short time of which the sender
 * does not know, and then finds many messages at once.
 *
 * Only a stream of many messages is worth that.  The reader naps when its last waits were short,
 * and its own program has sent nothing meanwhile: an answer would be late.  A nap that finds
 * hardly more than a wait is the last one for a while: two connections, with one direction each
 * in use, may be a conversation, too.
 */
#include <linux/hrtimer.h>
#include <linux/sched/signal.h>
#include <linux/sdp_ring.h>
#include <net/tcp.h>

#include "offload/offload.h"

/* A nap; a wait that is not longer is short. */
#define SDP_NAP_NS	(50 * NSEC_PER_USEC)

/* Short waits in a row before a nap: at first, and at most. */
#define SDP_NAP_FIRST	16
#define SDP_NAP_MOST	1024

/* A nap finds so many times the bytes that a wait has found. */
#define SDP_NAP_GAIN	4

/* The pipe that an endpoint reads, if it is mapped.  Within an RCU read section. */
static struct sdp_pipe *sdp_nap_pipe(const struct sdp_sock *ss, struct sdp_pair *pair)
{
	struct sdp_pipe *pipe = pair ? sdp_rx_pipe(ss, pair) : NULL;

	return pipe && sdp_pipe_shared(pipe) ? pipe : NULL;
}

/* Has the reader's program sent nothing since the last call? */
static bool sdp_nap_only_reads(const struct sdp_pipe *tx, struct sdp_nap *nap)
{
	u64 sent = sdp_pipe_shared(tx) ? READ_ONCE(tx->shared->head) & ~SDP_RING_CLOSED :
					 READ_ONCE(tx->head);
	bool same = sent == READ_ONCE(nap->sent);

	WRITE_ONCE(nap->sent, sent);
	return same;
}

static bool sdp_nap_may(const struct sdp_sock *ss)
{
	struct sdp_pair *pair;
	struct sdp_pipe *pipe;
	bool ret = false;

	rcu_read_lock();
	pair = sdp_sock_pair(ss);
	pipe = sdp_nap_pipe(ss, pair);
	if (pipe && !sdp_nap_only_reads(sdp_tx_pipe(ss, pair), &pipe->nap))
		WRITE_ONCE(pipe->nap.dense, 0);
	else if (pipe)
		ret = READ_ONCE(pipe->nap.dense) >=
			      max_t(u16, READ_ONCE(pipe->nap.wanted), SDP_NAP_FIRST) &&
		      READ_ONCE(pipe->state) == SDP_PIPE_MOVED && !sdp_share_used(pipe);
	rcu_read_unlock();
	/* Without timers that are fine enough it would be a long one. */
	return ret && hrtimer_resolution < SDP_NAP_NS;
}

/*
 * The sender is not to wake the reader.  Returns false if the reader is not alone in the wait
 * queue, or there are bytes already.
 */
static bool sdp_nap_begin(const struct sdp_sock *ss)
{
	const struct socket_wq *wq;
	struct sdp_pipe *pipe;
	bool ret = false;

	rcu_read_lock();
	pipe = sdp_nap_pipe(ss, sdp_sock_pair(ss));
	wq = rcu_dereference(ss->sk->sk_wq);
	if (pipe && wq && list_is_singular(&wq->wait.head) && !sock_flag(ss->sk, SOCK_FASYNC)) {
		WRITE_ONCE(pipe->shared->want_data, 0);
		/* Pairs with the sending program's barrier: a kick before this wakes no thread. */
		smp_mb();
		ret = !sdp_share_used(pipe);
	}
	rcu_read_unlock();
	return ret;
}

/* The nap is over.  What has come to the queue meanwhile may not have been told of bytes. */
static void sdp_nap_judge(struct sdp_sock *ss)
{
	struct sdp_pipe *pipe;
	struct sdp_nap *nap;
	size_t found;

	rcu_read_lock();
	pipe = sdp_nap_pipe(ss, sdp_sock_pair(ss));
	if (!pipe)
		goto out;
	if (sdp_share_watched(ss->sk)) {
		sdp_share_want_data(pipe);
		if (sdp_share_used(pipe))
			ss->base->data_ready(ss->sk);
	}
	nap = &pipe->nap;
	found = sdp_share_used(pipe);
	if (found >= READ_ONCE(nap->least)) {
		WRITE_ONCE(nap->wanted, SDP_NAP_FIRST);
	} else {
		WRITE_ONCE(nap->wanted, clamp(2 * READ_ONCE(nap->wanted), 2 * SDP_NAP_FIRST,
					      SDP_NAP_MOST));
		WRITE_ONCE(nap->dense, 0);
	}
out:
	rcu_read_unlock();
}

/*
 * A reader that has found nothing sleeps for a short time, if that is worth it.  If bytes have not
 * come then, it goes to sleep for good.  Its socket is not locked.
 */
void sdp_nap(struct sdp_sock *ss)
{
	ktime_t most = ns_to_ktime(SDP_NAP_NS);
	struct sock *sk = ss->sk;
	DEFINE_WAIT(wait);
	bool slept;

	if (likely(!sdp_nap_may(ss)))
		return;
	prepare_to_wait(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
	slept = !signal_pending(current) && !sdp_rx_ended(sk) && sdp_nap_begin(ss);
	if (slept)
		schedule_hrtimeout(&most, HRTIMER_MODE_REL);
	finish_wait(sk_sleep(sk), &wait);
	if (slept)
		sdp_nap_judge(ss);
}

/* A reader goes to sleep for good, its socket not locked: the result is for sdp_nap_woken(). */
u64 sdp_nap_wait(const struct sdp_sock *ss)
{
	bool mapped;

	rcu_read_lock();
	mapped = sdp_nap_pipe(ss, sdp_sock_pair(ss));
	rcu_read_unlock();
	return mapped ? ktime_get_ns() : 0;
}

void sdp_nap_woken(struct sdp_sock *ss, u64 since)
{
	struct sdp_pipe *pipe;
	size_t found;

	if (likely(!since))
		return;
	rcu_read_lock();
	pipe = sdp_nap_pipe(ss, sdp_sock_pair(ss));
	found = pipe ? sdp_share_used(pipe) : 0;
	if (found && ktime_get_ns() - since <= SDP_NAP_NS) {
		WRITE_ONCE(pipe->nap.least, SDP_NAP_GAIN * found);
		WRITE_ONCE(pipe->nap.dense, min(READ_ONCE(pipe->nap.dense) + 1, SDP_NAP_MOST));
	} else if (pipe) {
		WRITE_ONCE(pipe->nap.dense, 0);
	}
	rcu_read_unlock();
}

/*
 * There is no room: a reader that naps is to read.  The caller is the sender, and the pipe is
 * mapped.
 */
void sdp_nap_end(struct sdp_pipe *pipe)
{
	spin_lock_bh(&pipe->lock);
	sdp_pipe_wake_rx(pipe);
	spin_unlock_bh(&pipe->lock);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A reader that finds nothing gives its turn to the peer's thread.
 *
 * Two threads of one processor that answer each other run in turns.  To sleep and to be woken costs
 * each of them more than the switch does.  So a reader that is about to sleep first gives the
 * processor to the peer's thread, if that one is on this processor, ready to run, and within a call
 * that waits for bytes.  The reader stays ready to run and is in no wait queue meanwhile: the peer
 * finds no thread to wake.  No word passes between them, so there is nothing to order.  A reader
 * that has its turn again without bytes goes to sleep as always, and that one is woken.
 *
 * The scheduler decides which thread runs, and some kernels make a thread that gives its turn away
 * wait for longer than one that sleeps.  Beside busy threads this would cost far more than it
 * saves.  So a connection whose reader had to wait long does without for very many reads.
 */
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task.h>

#include "offload/offload.h"

/* An answer that takes longer comes late, or would have been worth a sleep. */
#define SDP_TURN_NS	(200 * NSEC_PER_USEC)

/* Reads without a turn: behind one that took longer; at most, behind those that were in vain. */
#define SDP_TURN_LONG	U16_MAX
#define SDP_TURN_VAIN	255

/* The peer's thread, referenced, if a turn is worth something to it; or NULL. */
static struct task_struct *sdp_turn_peer(const struct sdp_sock *ss)
{
	struct task_struct *peer = NULL;
	struct sdp_pair *pair;
	struct sdp_pipe *pipe;

	rcu_read_lock();
	pair = sdp_sock_pair(ss);
	pipe = pair ? sdp_tx_pipe(ss, pair) : NULL;
	/* An endpoint that is attached here is freed after this section; so are its threads. */
	if (pipe && READ_ONCE(pipe->rx))
		peer = READ_ONCE(pipe->reader->waits);
	if (peer && task_cpu(peer) == raw_smp_processor_id() && task_is_running(peer))
		get_task_struct(peer);
	else
		peer = NULL;
	rcu_read_unlock();
	return peer;
}

/* Grows by as long as the caller has waited for a processor. */
static u64 sdp_turn_delay(void)
{
#ifdef CONFIG_SCHED_INFO
	return current->sched_info.run_delay;
#else
	return local_clock();
#endif
}

/*
 * A reader that has found nothing, and may sleep, lets the peer's thread run first; true if bytes
 * have come.  Its socket is not locked, and sdp_sock.waits is the caller.  Threads of one endpoint
 * may take each other's counts: they are a guess.
 */
bool sdp_turn_give(struct sdp_sock *ss)
{
	u16 rest = READ_ONCE(ss->turn_rest), vain = 0;
	struct task_struct *peer;
	u64 delay;
	bool more;

	if (rest) {
		WRITE_ONCE(ss->turn_rest, rest - 1);
		return false;
	}
	peer = sdp_turn_peer(ss);
	if (!peer)
		return false;
	delay = sdp_turn_delay();
	more = yield_to(peer, false) > 0 && sdp_rx_more(ss, 0);
	put_task_struct(peer);
	if (!more)
		vain = min(2 * READ_ONCE(ss->turn_vain) + 1, SDP_TURN_VAIN);
	WRITE_ONCE(ss->turn_vain, vain);
	WRITE_ONCE(ss->turn_rest, sdp_turn_delay() - delay > SDP_TURN_NS ? SDP_TURN_LONG : vain);
	return more;
}

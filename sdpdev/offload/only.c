// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_MODE_ONLY: no byte of the stream goes by TCP, either way.
 *
 * TCP makes the connection and ends it.  The first byte waits until both ends are a pair
 * (pair.c) or have a carrier of messages (only_lane.c), so both directions leave TCP where it
 * begins to count.  What would bring a direction back to TCP ends the connection instead, by a
 * reset.  A touch is a packet without bytes.  A FIN need not wait for the pipe: the reader takes
 * all that is there before it sees the FIN (pipe.c).
 *
 * An end may make no call at all before its peer may send, so a worker looks for the other end of
 * all those that need one.  One end of this mode is enough: while there is any, each endpoint
 * looks for its other end at once.
 */
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "offload/net.h"
#include "offload/offload.h"
#include "offload/trace.h"

/* The longest pause of the worker, and how many it looks at between two pauses. */
#define SDP_SEEK_PAUSE	(HZ / 8)
#define SDP_SEEK_BATCH	256U

/* How long a packet may take before the next one is sent after it. */
#define SDP_PROBE_PAUSE	(HZ / 4)

/* So many packets have to be lost before the way counts as closed. */
#define SDP_PROBES	3

/* Endpoints of this mode. */
static atomic_t sdp_only_count;

/**
 * struct sdp_seekers - endpoints that the worker looks at, one batch after the other
 * @list: of sdp_sock.seek
 * @count: their number
 */
struct sdp_seekers {
	struct list_head list;
	unsigned int count;
};

/*
 * A user can have many endpoints whose peers do not answer for a second: those wait for each
 * other, and no others wait for them.
 */
static struct sdp_seekers sdp_seekers = { .list = LIST_HEAD_INIT(sdp_seekers.list) };
static struct sdp_seekers sdp_seekers_slow = { .list = LIST_HEAD_INIT(sdp_seekers_slow.list) };
static unsigned long sdp_seek_pause;
static DEFINE_SPINLOCK(sdp_seek_lock);

static void sdp_seek_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(sdp_seek_later, sdp_seek_work);

bool sdp_only_any(void)
{
	return atomic_read(&sdp_only_count);
}

/* The socket is locked, or not in use yet, or not any more. */
void sdp_mode_set(struct sdp_sock *ss, u8 mode)
{
	atomic_add((mode == SDP_MODE_ONLY) - (ss->mode == SDP_MODE_ONLY), &sdp_only_count);
	WRITE_ONCE(ss->mode, mode);
	WRITE_ONCE(ss->never, mode == SDP_MODE_NEVER);
	if (ss->never)
		sdp_stay_set(ss, SDP_STAY_NEVER, false);
}

/* Has TCP delivered bytes?  The socket is locked. */
bool sdp_only_came(const struct sdp_sock *ss)
{
	/* A FIN counts as one. */
	return tcp_sk(ss->sk)->bytes_received > sock_flag(ss->sk, SOCK_DONE);
}

static void sdp_only_unreported(struct sock *sk)
{
}

/*
 * TCP's disconnect sets ECONNRESET and reports it.  A program that the report wakes would read
 * that error instead of the one that is set afterwards.  The socket is locked.  Users of the
 * callback that save it without that lock have sockets of their own, which are no endpoints.
 */
static void sdp_only_disconnect(struct sock *sk)
{
	void (*report)(struct sock *sk);

	write_lock_bh(&sk->sk_callback_lock);
	report = sk->sk_error_report;
	WRITE_ONCE(sk->sk_error_report, sdp_only_unreported);
	write_unlock_bh(&sk->sk_callback_lock);

	sk->sk_prot->disconnect(sk, 0);

	write_lock_bh(&sk->sk_callback_lock);
	/* A user of the callback may have put its own there meanwhile. */
	if (sk->sk_error_report == sdp_only_unreported)
		WRITE_ONCE(sk->sk_error_report, report);
	write_unlock_bh(&sk->sk_callback_lock);
}

/*
 * Ends a connection that would have to go by TCP: its error is set, and it has no pair and no lane
 * any more.  Returns -EPIPE.  Neither the network nor the other end has done it: ECONNABORTED says
 * that.  Where the reader is gone, or the carrier, the error is TCP's.  Any context, the socket
 * locked.
 */
int sdp_only_end(struct sdp_sock *ss, enum sdp_stay why)
{
	struct sock *sk = ss->sk;
	int err = ECONNABORTED;

	if (why == SDP_STAY_LOST)
		err = ECONNRESET;
	else if (why == SDP_STAY_CLOSED)
		err = sk->sk_state == TCP_CLOSE_WAIT ? EPIPE : ECONNRESET;
	sdp_count(sock_net(sk), SDP_CNT_ONLY + why);
	trace_sdp_sock_end(ss, why);
	/* Calls that sleep are not to go on with another connection. */
	sk->sk_disconnects++;
	sdp_only_disconnect(sk);
	WRITE_ONCE(ss->stay, why);
	ss->ended = true;
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	WRITE_ONCE(sk->sk_err, err);
	sk_error_report(sk);
	return -EPIPE;
}

/* Why can the connection not move, even if it waits? */
static enum sdp_stay sdp_only_why(struct sdp_sock *ss)
{
	if (sdp_only_came(ss))
		return SDP_STAY_ONLY;
	/* It waits for accept(2): there is not all that the gate looks at. */
	if (!ss->sk->sk_socket)
		return SDP_STAY_NOT;
	return ss->stay == SDP_STAY_CLOSED ? SDP_STAY_NOT : sdp_gate(ss, true);
}

static int sdp_only_wait(struct sdp_sock *ss, long *timeo)
{
	struct sock *sk = ss->sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int ret;

	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	if (!*timeo)
		return sdp_only_ready(ss) ? 0 : -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	add_wait_queue(sk_sleep(sk), &wait);
	ret = sk_wait_event(sk, timeo, sdp_only_ready(ss) || sdp_tx_shut(sk), &wait);
	remove_wait_queue(sk_sleep(sk), &wait);
	return min(ret, 0);
}

/*
 * Holds bytes back until there is a way that is not TCP's: 0 to look again, or -errno.  The
 * endpoint has none.  The socket is locked, in process context, but not while the call waits.
 */
int sdp_only_hold(struct sdp_sock *ss, long *timeo)
{
	struct sock *sk = ss->sk;
	enum sdp_stay why;

	if (sdp_tx_shut(sk))
		return -EPIPE;
	/* TCP_FASTOPEN_CONNECT: TCP waits for bytes to go with the SYN. */
	if (inet_test_bit(DEFER_CONNECT, sk))
		return sdp_only_end(ss, SDP_STAY_STATE);
	if (!((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)))
		return sk_stream_wait_connect(sk, timeo);
	why = sdp_only_why(ss);
	if (why)
		return sdp_only_end(ss, why);
	if (sdp_only_find(ss, sk->sk_allocation))
		return 0;
	sdp_stay_set(ss, ss->moves ? SDP_STAY_LOST : SDP_STAY_PEER, false);
	sdp_seek(ss);
	return sdp_only_wait(ss, timeo);
}

/*
 * sdp_tx_try() has left a direction of a pair where it was: -ENOBUFS if it may leave TCP soon, or
 * -errno.  The socket is locked.
 */
int sdp_only_stays(struct sdp_sock *ss, struct sdp_pipe *pipe)
{
	if (sdp_tx_shut(ss->sk))
		return -EPIPE;
	if (!READ_ONCE(pipe->rx))
		return sdp_only_end(ss, SDP_STAY_CLOSED);
	if (tcp_sk(ss->sk)->write_seq != ss->isn + 1)
		return sdp_only_end(ss, SDP_STAY_ONLY);
	if (ss->stay == SDP_STAY_PASSING)
		return -ENOBUFS;
	return sdp_only_end(ss, ss->stay);
}

/*
 * Packets that have come to the other end, if that can be seen: only this end sends any.
 * Otherwise those that come from there.
 */
static u32 sdp_only_segs(const struct sdp_sock *ss, struct sdp_pipe *pipe)
{
	u32 segs = 0;

	if (!pipe)
		return tcp_sk(ss->sk)->segs_in;
	spin_lock_bh(&pipe->lock);
	if (pipe->rx)
		segs = READ_ONCE(tcp_sk(pipe->rx)->segs_in);
	spin_unlock_bh(&pipe->lock);
	return segs;
}

/* A peer on another host answers a packet whose number lies before what it waits for. */
static void sdp_only_probe(struct sdp_sock *ss, bool answered)
{
	struct tcp_sock *tp = tcp_sk(ss->sk);

	tp->snd_nxt -= answered;
	compat_tcp_send_ack(ss->sk, tp->rcv_nxt);
	tp->snd_nxt += answered;
}

/*
 * Is the way by TCP still open?  An acknowledgment goes the way of all packets.  The other end's
 * socket counts it, or that end answers as it answers keepalive.  SDP_STAY_TOUCH if none has come
 * for as long as between two touches, @touch seconds.  @pipe is moved, and NULL if a carrier of
 * messages has the direction.  The socket is locked.
 */
enum sdp_stay sdp_only_touch(struct sdp_sock *ss, struct sdp_pipe *pipe, unsigned int touch)
{
	u32 segs = sdp_only_segs(ss, pipe);

	if (ss->probed && segs != ss->segs) {
		ss->probed = 0;
		ss->missed = 0;
		ss->touched = jiffies;
		return SDP_STAY_NOT;
	}
	if (ss->probed && time_before(jiffies, ss->probed + SDP_PROBE_PAUSE))
		return SDP_STAY_NOT;
	/* A program that has sent nothing for long has one touch's time, too. */
	if (!ss->probed && time_after(jiffies, ss->touched + touch * HZ))
		ss->touched = jiffies - touch * HZ;
	if (ss->probed && ss->missed < SDP_PROBES)
		ss->missed++;
	/* Some have had time to come, even if the program sends seldom. */
	if (ss->missed == SDP_PROBES && time_after_eq(jiffies, ss->touched + 2 * touch * HZ))
		return SDP_STAY_TOUCH;
	ss->segs = segs;
	ss->probed = jiffies ?: 1;
	sdp_only_probe(ss, !pipe);
	return SDP_STAY_NOT;
}

static struct sdp_seekers *sdp_seekers_of(const struct sdp_sock *ss)
{
	return ss->seek_slow ? &sdp_seekers_slow : &sdp_seekers;
}

/* Context: sdp_seek_lock held. */
static void sdp_seek_del(struct sdp_sock *ss)
{
	if (list_empty(&ss->seek))
		return;
	list_del_init(&ss->seek);
	sdp_seekers_of(ss)->count--;
}

/* Context: sdp_seek_lock held. */
static bool sdp_seek_any(void)
{
	return sdp_seekers.count || sdp_seekers_slow.count;
}

/*
 * Lets the worker look for the other end.  It looks at new ones first, even if many others wait:
 * their peers are mostly there.  Any context, the socket locked.
 */
void sdp_seek(struct sdp_sock *ss)
{
	spin_lock_bh(&sdp_seek_lock);
	if (list_empty(&ss->seek)) {
		bool first = !sdp_seek_any();

		ss->seek_slow = false;
		list_add(&ss->seek, &sdp_seekers.list);
		sdp_seekers.count++;
		/* Work that is due at once is not put off by those that come. */
		if (sdp_seek_pause != 1 || first)
			mod_delayed_work(system_percpu_wq, &sdp_seek_later, 1);
		sdp_seek_pause = 1;
	}
	spin_unlock_bh(&sdp_seek_lock);
}

/* Context: as sdp_pair_close(). */
void sdp_seek_stop(struct sdp_sock *ss)
{
	if (list_empty(&ss->seek))
		return;
	spin_lock_bh(&sdp_seek_lock);
	sdp_seek_del(ss);
	spin_unlock_bh(&sdp_seek_lock);
}

/* Its peer has not answered.  Context: the socket's spinlock. */
static void sdp_seek_slow(struct sdp_sock *ss)
{
	spin_lock_bh(&sdp_seek_lock);
	if (!list_empty(&ss->seek) && !ss->seek_slow) {
		sdp_seekers.count--;
		ss->seek_slow = true;
		sdp_seekers_slow.count++;
		list_move_tail(&ss->seek, &sdp_seekers_slow.list);
	}
	spin_unlock_bh(&sdp_seek_lock);
}

/* Returns whether the worker need not look again.  Context: the socket's spinlock. */
static bool sdp_seek_look(struct sdp_sock *ss)
{
	struct sock *sk = ss->sk;
	enum sdp_stay why;

	switch (sk->sk_state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		if (inet_csk(sk)->icsk_retransmits)
			sdp_seek_slow(ss);
		return false;
	case TCP_ESTABLISHED:
	case TCP_CLOSE_WAIT:
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
		break;
	default:
		return true;
	}
	if (!ss->seek_end)
		ss->seek_end = (jiffies + sdp_net_only_wait(sock_net(sk)) * HZ) ?: 1;
	if (sdp_only_find(ss, GFP_ATOMIC)) {
		ss->seek_end = 0;
		return true;
	}
	if (!sdp_only(ss))
		return time_after(jiffies, ss->seek_end);
	if (sdp_only_over(ss) && !sdp_lane_unsure(ss->lane)) {
		/* The peer will never hear that the stream has ended. */
		if (sdp_only_owes(ss))
			sdp_only_end(ss, SDP_STAY_LOST);
		return true;
	}
	why = sdp_only_over(ss) ? SDP_STAY_LOST : sdp_only_why(ss);
	if (!why && time_after(jiffies, ss->seek_end))
		why = ss->moves ? SDP_STAY_LOST : SDP_STAY_PEER;
	if (why)
		sdp_only_end(ss, why);
	return why;
}

/*
 * A call that owns a socket looks itself, or sleeps with it unlocked.  The socket's sdp_sock lives
 * as long as it is in the list: only a caller with the socket's lock takes it out.
 */
static void sdp_seek_one(struct sdp_sock *ss, struct sock *sk)
{
	local_bh_disable();
	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk) && !list_empty(&ss->seek) && sdp_seek_look(ss))
		sdp_seek_stop(ss);
	bh_unlock_sock(sk);
	local_bh_enable();
}

/* Context: sdp_seek_lock held, and let go of meanwhile. */
static void sdp_seek_some(struct sdp_seekers *seekers)
	__must_hold(&sdp_seek_lock)
{
	unsigned int left = min(seekers->count, SDP_SEEK_BATCH);
	struct sdp_sock *ss;
	struct sock *sk;

	for (; left && seekers->count; left--) {
		ss = list_first_entry(&seekers->list, struct sdp_sock, seek);
		list_move_tail(&ss->seek, &seekers->list);
		sk = ss->sk;
		sock_hold(sk);
		/* It is freed by RCU if it leaves the list before its socket is locked. */
		rcu_read_lock();
		spin_unlock_bh(&sdp_seek_lock);
		sdp_seek_one(ss, sk);
		rcu_read_unlock();
		sock_put(sk);
		cond_resched();
		spin_lock_bh(&sdp_seek_lock);
	}
}

static void sdp_seek_work(struct work_struct *work)
{
	spin_lock_bh(&sdp_seek_lock);
	sdp_seek_some(&sdp_seekers);
	sdp_seek_some(&sdp_seekers_slow);
	sdp_seek_pause = max(sdp_seekers.count, sdp_seekers_slow.count) > SDP_SEEK_BATCH ? 1 :
			 min_t(unsigned long, sdp_seek_pause * 2, SDP_SEEK_PAUSE);
	if (sdp_seek_any())
		schedule_delayed_work(&sdp_seek_later, sdp_seek_pause);
	spin_unlock_bh(&sdp_seek_lock);
}

/* No endpoint is left. */
void sdp_only_exit(void)
{
	cancel_delayed_work_sync(&sdp_seek_later);
}

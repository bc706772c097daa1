// SPDX-License-Identifier: GPL-2.0
/*
 * The sending half: the bytes of a message go to TCP or to a pipe (move.c decides).
 */
#include <linux/sched/signal.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "offload/offload.h"

/* Bytes of one call that TCP gets, while the direction may soon move. */
#define SDP_TX_TCP_CHUNK	SZ_256K

/* How long a call waits for memory to bring back bytes that were under way to TCP. */
#define SDP_TX_PAUSE		(HZ / 10)

/*
 * A reader that waits for large messages gets them with one copy, and those that are in the pipe
 * with two.  If these are so many a call waits a little until the reader comes back; and does not
 * again for a while if it waited in vain.
 */
#define SDP_TX_AHEAD		SZ_64K
#define SDP_TX_AHEAD_PAUSE	max(HZ / 50, 2)
#define SDP_TX_DEEP		(10 * HZ)

/* May this message go by a pipe at all? */
static bool sdp_tx_plain(const struct msghdr *msg)
{
	return !msg->msg_controllen && !(msg->msg_flags & (MSG_OOB | MSG_FASTOPEN));
}

/*
 * Bytes by TCP: at most so many that the direction may move in the middle of a long call; 0 after
 * having waited.  TCP would count a time-out anew for each piece: a call that has one waits here.
 */
static int sdp_tx_tcp(struct sdp_sock *ss, struct msghdr *msg, size_t len, long *timeo)
{
	size_t rest = 0;
	int ret;

	if (len > SDP_TX_TCP_CHUNK && sdp_tx_plain(msg)) {
		rest = len - SDP_TX_TCP_CHUNK;
		iov_iter_truncate(&msg->msg_iter, SDP_TX_TCP_CHUNK);
	}
	ret = sdp_lend_tcp(ss->sk, msg, len - rest);
	if (rest)
		iov_iter_reexpand(&msg->msg_iter, iov_iter_count(&msg->msg_iter) + rest);
	if (ret == -EAGAIN && *timeo)
		ret = sk_stream_wait_memory(ss->sk, timeo);
	return ret;
}

bool sdp_tx_shut(const struct sock *sk)
{
	return READ_ONCE(sk->sk_err) || (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN);
}

/*
 * Wait until the pipe has room, or the direction has come back.  sk_stream_wait_memory() takes
 * room that has come meanwhile for a shortage of memory, and sleeps.
 */
static int sdp_tx_wait(struct sdp_sock *ss, struct sdp_pair *pair, long *timeo)
{
	struct sdp_pipe *pipe = sdp_tx_pipe(ss, pair);
	struct sock *sk = ss->sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	refcount_inc(&pair->refs);
	add_wait_queue(sk_sleep(sk), &wait);
	while (!err) {
		/* Before the look at the room: the reader makes room first, and then looks here. */
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		if (pipe->state != SDP_PIPE_MOVED || sdp_pipe_has_room(pipe, 0))
			break;
		if (sdp_tx_shut(sk))
			err = -EPIPE;
		else if (!*timeo)
			err = -EAGAIN;
		else if (signal_pending(current))
			err = sock_intr_errno(*timeo);
		else if (sdp_pipe_shared(pipe))
			sdp_nap_end(pipe);
		if (!err)
			err = min(0, sk_wait_event(sk, timeo, sdp_tx_shut(sk) ||
						   READ_ONCE(pipe->state) != SDP_PIPE_MOVED ||
						   sdp_pipe_has_room(pipe, 0), &wait));
	}
	if (!err)
		sk_clear_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
	sdp_pair_put(pair);
	return err;
}

static bool sdp_tx_ahead(struct sdp_pipe *pipe, size_t bytes)
{
	return READ_ONCE(pipe->state) == SDP_PIPE_MOVED && !READ_ONCE(pipe->landing) &&
	       !sdp_pipe_below(pipe, bytes);
}

static bool sdp_tx_patient(const struct sdp_pipe *pipe, long timeo)
{
	return pipe->lands && timeo && (!pipe->deep || time_after(jiffies, pipe->deep));
}

/* Wait for a reader that will save a copy. */
static int sdp_tx_wait_reader(struct sdp_sock *ss, struct sdp_pair *pair, long *timeo)
{
	struct sdp_pipe *pipe = sdp_tx_pipe(ss, pair);
	long most = min_t(long, *timeo, SDP_TX_AHEAD_PAUSE), left = most;
	struct sock *sk = ss->sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	refcount_inc(&pair->refs);
	add_wait_queue(sk_sleep(sk), &wait);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	while (!err && left && !signal_pending(current) && !sdp_tx_shut(sk) &&
	       sdp_tx_ahead(pipe, SDP_TX_AHEAD / 2))
		err = min(0, sk_wait_event(sk, &left, sdp_tx_shut(sk) ||
					   !sdp_tx_ahead(pipe, SDP_TX_AHEAD / 2), &wait));
	remove_wait_queue(sk_sleep(sk), &wait);
	if (!left)
		pipe->deep = (jiffies + SDP_TX_DEEP) ?: 1;
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= most - left;
	/* A connection that ended meanwhile has let go of it. */
	if (ss->pair != pair)
		err = -EPIPE;
	sdp_pair_put(pair);
	return err;
}

/*
 * The direction leaves the pipe: for TCP, or for good.  As sdp_tx_return(), but -EPIPE where no
 * byte may go by TCP.
 */
int sdp_tx_back(struct sdp_sock *ss, enum sdp_stay why)
{
	return unlikely(sdp_only(ss)) ? sdp_only_end(ss, why) : sdp_tx_return(ss, why);
}

/* Bytes to a reader that waits, or by the pipe: as many as there is room for. */
static ssize_t sdp_tx_piped(struct sdp_sock *ss, struct msghdr *msg, long *timeo)
{
	struct sdp_pipe *pipe = sdp_tx_pipe(ss, ss->pair);
	struct sock *sk = ss->sk;
	bool patient = sdp_tx_patient(pipe, *timeo);
	ssize_t n, piped = 0;

	if (unlikely(sdp_tx_shut(sk)))
		return -EPIPE;
	n = sdp_land_write(pipe, &msg->msg_iter);
	if (n)
		sdp_count(sock_net(sk), SDP_CNT_LANDED);
	if (!n && unlikely(patient) && sdp_tx_ahead(pipe, SDP_TX_AHEAD)) {
		n = sdp_tx_wait_reader(ss, ss->pair, timeo);
		if (n < 0 || pipe->state != SDP_PIPE_MOVED || READ_ONCE(pipe->landing))
			return n;
	}
	if (!n) {
		n = sdp_pipe_write(pipe, &msg->msg_iter, patient ? SDP_TX_AHEAD : SIZE_MAX,
				   sk->sk_allocation);
		piped = n;
	}
	if (!n && msg_data_left(msg))
		return sdp_tx_wait(ss, ss->pair, timeo);
	if (n > 0)
		sdp_lend_copied(msg->msg_ubuf);
	if (n > 0 && !sdp_pipe_publish(pipe, piped))
		sdp_tx_back(ss, READ_ONCE(pipe->rx) ? SDP_STAY_KERNEL : SDP_STAY_CLOSED);
	return n;
}

/*
 * Where do the next bytes go?  Returns 1 for the pipe, 0 for TCP, or -errno: -ENOBUFS to wait a
 * while and ask again, -EXFULL to ask again at once.
 */
static int sdp_tx_route(struct sdp_sock *ss, const struct msghdr *msg, long *timeo)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);
	struct sdp_pipe *pipe;
	enum sdp_stay why;
	int err;

	if (!pair && !ss->lane)
		return unlikely(sdp_only(ss)) ? sdp_only_hold(ss, timeo) ?: -EXFULL : 0;
	if (unlikely(!sdp_tx_plain(msg))) {
		if (sdp_only(ss))
			return -EOPNOTSUPP;
		why = msg->msg_flags & MSG_OOB ? SDP_STAY_URGENT : SDP_STAY_TOUCH;
		err = sdp_tx_return(ss, why);
		if (!err)
			sdp_stay_set(ss, why, false);
		return err;
	}
	if (unlikely(ss->lane))
		return sdp_lane_route(ss, timeo);
	pipe = sdp_tx_pipe(ss, pair);
	switch (pipe->state) {
	case SDP_PIPE_MOVED:
		why = sdp_tx_recheck(ss, pipe);
		return likely(!why) ? 1 : sdp_tx_back(ss, why);
	case SDP_PIPE_RETURNING:
		return sdp_tx_return(ss, ss->stay);
	default:
		if (unlikely(ss->rests))
			ss->rests = !sdp_sock_used(ss, iov_iter_count(&msg->msg_iter));
		if (sdp_tx_try(ss, pipe))
			return 1;
		return unlikely(pair->only) ? sdp_only_stays(ss, pipe) : 0;
	}
}

/* TCP waits when memory is short, and so does a return that is not through. */
static int sdp_tx_pause(struct sock *sk, long *timeo)
{
	long pause = min_t(long, *timeo, SDP_TX_PAUSE);
	int disconnects = sk->sk_disconnects;

	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	release_sock(sk);
	schedule_timeout_interruptible(pause);
	lock_sock(sk);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= pause;
	return sk->sk_disconnects == disconnects ? 0 : -EPIPE;
}

/* Some bytes of a message, by the way that they go now; 0 after having waited. */
static ssize_t sdp_tx_some(struct sdp_sock *ss, struct msghdr *msg, size_t len, long *timeo)
{
	ssize_t n = sdp_tx_route(ss, msg, timeo);

	if (n == -ENOBUFS)
		return sdp_tx_pause(ss->sk, timeo);
	if (n < 0)
		return n == -EXFULL ? 0 : n;
	if (!n)
		return sdp_tx_tcp(ss, msg, len, timeo);
	n = ss->lane ? sdp_lane_send(ss, msg, timeo) : sdp_tx_piped(ss, msg, timeo);
	/* Another thread of the program is about to send by its ring. */
	if (unlikely(n == -EBUSY))
		n = sdp_tx_return(ss, SDP_STAY_PASSING) ? sdp_tx_pause(ss->sk, timeo) : 0;
	if (n != -ENOMEM)
		return n;
	n = sdp_tx_back(ss, SDP_STAY_MEMORY);
	return n == -ENOBUFS ? -ENOMEM : n ?: sdp_tx_tcp(ss, msg, len, timeo);
}

/*
 * A message of a connection that has both ways.  An error behind a part of it is the next
 * call's.
 */
static int sdp_tx_message(struct sdp_sock *ss, struct msghdr *msg, size_t len)
{
	struct sock *sk = ss->sk;
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	int flags = msg->msg_flags;
	size_t sent = 0;
	ssize_t n;

	/* TCP does not wait where it does not know how long the call has waited. */
	if (timeo != MAX_SCHEDULE_TIMEOUT)
		msg->msg_flags |= MSG_DONTWAIT;
	do {
		n = sdp_tx_some(ss, msg, len - sent, &timeo);
		if (n < 0)
			break;
		sent += n;
		/* TCP's own calls raise no signal for what they find behind a part. */
		if (sent)
			msg->msg_flags |= MSG_NOSIGNAL;
	} while (sent < len && !(sent && sdp_tx_shut(sk)));
	msg->msg_flags = flags;
	if (!sent)
		return n < 0 ? sk_stream_error(sk, flags, n) : 0;
	switch (n) {
	case -ECONNRESET:
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		/* TCP has taken it from there. */
		WRITE_ONCE(sk->sk_err, -n);
	}
	return sent;
}

/*
 * tcp_sendmsg_locked() of an endpoint.  Its socket is locked, in process context, but not while the
 * call waits.
 */
int sdp_tx_send(struct sdp_sock *ss, struct msghdr *msg, size_t len)
{
	struct sock *sk = ss->sk;
	struct ubuf_info *uarg = NULL;
	int ret;

	if (!ss->pair && (likely(!ss->lane) || !sdp_lane_asked(ss)) && sdp_sock_used(ss, len))
		sdp_sock_look(ss);
	if (sdp_sock_alone(ss) && likely(!sdp_only(ss)))
		return compat_tcp_sendmsg(sk, msg, len);
	if (unlikely(msg->msg_flags & MSG_FASTOPEN) && sdp_only(ss))
		return -EOPNOTSUPP;

	/*
	 * One notice for a call, even if its bytes go several ways.  TCP makes it where they all go
	 * by TCP: a control message may say that they are a device's.
	 */
	if (unlikely(msg->msg_flags & MSG_ZEROCOPY) && !msg->msg_ubuf && len &&
	    sock_flag(sk, SOCK_ZEROCOPY) && sdp_tx_plain(msg)) {
		uarg = sdp_lend_notice(ss, len);
		if (!uarg)
			return -ENOBUFS;
		msg->msg_ubuf = uarg;
		/* Without a notice the caller need not have said where pages come from. */
		msg->sg_from_iter = NULL;
	}
	ret = sdp_tx_message(ss, msg, len);
	if (uarg) {
		msg->msg_ubuf = NULL;
		if (ret > 0)
			net_zcopy_put(uarg);
		else
			net_zcopy_put_abort(uarg, true);
	}
	return ret;
}

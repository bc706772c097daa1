// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of struct proto and struct proto_ops that are not TCP's own.
 */
#include <asm/ioctls.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sdp_sock.h>
#include <linux/sockios.h>
#include <linux/splice.h>
#include <net/inet_common.h>
#include <net/transp_v6.h>

#include "front/sock/proto.h"

/* Has the sending direction moved to memory of the host?  Under the socket's lock it stays so. */
static bool sdp_sock_moved(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_ulp_ops) == &sdp_ulp_local;
}

/* A small message needs no owner of the socket. */
static bool sdp_sendmsg_quick(struct sock *sk, struct msghdr *msg, size_t len)
{
	struct sdp_sock *ss;
	bool sent;

	spin_lock_bh(&sk->sk_lock.slock);
	ss = rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data, true);
	sent = !sock_owned_by_user(sk) && sdp_sock_moved(sk) && sdp_quick_send(ss, msg, len);
	spin_unlock_bh(&sk->sk_lock.slock);
	return sent;
}

static int sdp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)
{
	struct sdp_sock *ss;
	int ret;

	if (sdp_sock_moved(sk) && sdp_sendmsg_quick(sk, msg, len))
		return len;
	lock_sock(sk);
	ss = sdp_sk(sk);
	if (likely(ss)) {
		atomic_inc(&ss->users);
		ret = sdp_tx_send(ss, msg, len);
		sdp_sock_put(ss);
	} else {
		ret = compat_tcp_sendmsg(sk, msg, len);
	}
	release_sock(sk);
	return ret;
}

static bool sdp_sock_only(struct sdp_sock *ss)
{
	bool only;

	lock_sock(ss->sk);
	only = sdp_only(ss);
	release_sock(ss->sk);
	return only;
}

static int sdp_recvmsg(COMPAT_RECVMSG_ARGS)
{
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	struct sdp_sock *ss = sdp_sock_get(sk);
	int ret;

	if (unlikely(!ss))
		return compat_recvmsg(sdp_sk_base(sk)->prot, sk, msg, len, flags,
				      COMPAT_RECVMSG_NAME);
	ret = READ_ONCE(ss->pair) ? sdp_quick_recv(ss, msg, len, flags, &timeo) : -EXDEV;
	if (ret != -EXDEV)
		goto out;
	if (unlikely(flags & MSG_OOB) && sdp_sock_only(ss))
		ret = -EINVAL;
	else if (flags & (MSG_OOB | MSG_ERRQUEUE))
		ret = compat_recvmsg(ss->base->prot, sk, msg, len, flags, COMPAT_RECVMSG_NAME);
	else
		ret = sdp_rx_recv(ss, msg, len, flags, COMPAT_RECVMSG_NAME, timeo);
out:
	sdp_sock_put(ss);
	return ret;
}

/* Does the peer have all that was sent, or does TCP bring it? */
static bool sdp_close_sending(struct sdp_sock *ss)
{
	return sdp_only(ss) ? sdp_only_drain(ss) : !sdp_tx_return(ss, SDP_STAY_CLOSED);
}

/* A FIN or RST is TCP's, and goes behind the bytes that come back to TCP before it. */
static void sdp_close(struct sock *sk, long timeout)
{
	const struct sdp_base *base = sdp_sk_base(sk);
	struct sdp_sock *ss;

	lock_sock(sk);
	ss = sdp_sk(sk);
	if (ss && ss->lane)
		sdp_lane_run(ss->lane);
	if (ss && !sdp_sock_alone(ss)) {
		bool unread = sdp_rx_queued(ss);
		bool reset = sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime;
		bool sent = unread || reset || sdp_close_sending(ss);

		/* As TCP: a close with unread bytes, which may just have come, is a reset. */
		if (!sent || sdp_rx_queued(ss)) {
			sock_set_flag(sk, SOCK_LINGER);
			WRITE_ONCE(sk->sk_lingertime, 0);
		}
	}
	if (ss) {
		sdp_stay_set(ss, SDP_STAY_CLOSED, false);
		sdp_sock_leave(ss);
	}
	release_sock(sk);
	base->prot->close(sk, timeout);
}

/*
 * A connection that the socket makes next is another one.  Its numbers begin where the old peer
 * can compute, unless TCP is told to choose as for a new socket.
 */
static void sdp_sock_again(struct sdp_sock *ss)
{
	struct tcp_sock *tp = tcp_sk(ss->sk);

	if (tp->repair || ss->sk->sk_state != TCP_CLOSE)
		return;
	WRITE_ONCE(tp->write_seq, 0);
	sdp_sock_renew(ss);
}

/* Also for children that were not accepted, under a spinlock. */
static int sdp_disconnect(struct sock *sk, int flags)
{
	struct sdp_sock *ss = sdp_sk(sk);
	int err;

	if (ss) {
		sdp_sock_leave(ss);
		sdp_sock_show(ss, &sdp_ulp);
		sdp_stay_set(ss, SDP_STAY_WEAK, false);
	}
	err = sdp_sk_base(sk)->prot->disconnect(sk, flags);
	if (ss && !err) {
		sdp_mode_forget(ss);
		sdp_sock_again(ss);
	}
	return err;
}

/*
 * sdp_only_end() ended the connection while the call waited.  The error is still in the socket, and
 * TCP gives it to the next call.
 */
static int sdp_connect_ended(struct socket *sock, struct sockaddr_unsized *addr, int len,
			     int flags)
{
	int err = -EPIPE;

	lock_sock(sock->sk);
	/* Otherwise another thread has disconnected it, and TCP would connect once more. */
	if (sock->state == SS_CONNECTING && sock->sk->sk_state == TCP_CLOSE)
		err = __inet_stream_connect(sock, addr, len, flags, 0);
	release_sock(sock->sk);
	return err;
}

/*
 * A socket that got the ULP while it listened has TCP's struct proto (ulp.c).  It listens no more,
 * and gets ours before it connects: TCP's would sleep, or send, beside the pipe.  The socket is
 * locked.
 */
static void sdp_connect_own(struct sock *sk)
{
	struct sdp_family *fam = sdp_family(sk);
	struct sdp_sock *ss = sdp_sk(sk);

	if (!ss || sk->sk_state != TCP_CLOSE || READ_ONCE(sk->sk_prot) != fam->base.prot)
		return;
	WRITE_ONCE(sk->sk_prot, &fam->prot);
	sdp_stay_set(ss, SDP_STAY_WEAK, false);
	sdp_mode_forget(ss);
	sdp_sock_again(ss);
}

/* TCP connects.  An end of SDP_MODE_ONLY, and its other end, need each other before they call. */
static int sdp_connect(struct socket *sock, struct sockaddr_unsized *addr, int len, int flags)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ss;
	int err;

	lock_sock(sk);
	sdp_connect_own(sk);
	ss = sdp_sk(sk);
	/* The first bytes would go with the SYN. */
	err = ss && ss->mode == SDP_MODE_ONLY && tcp_sk(sk)->fastopen_connect ? -EOPNOTSUPP : 0;
	release_sock(sk);
	err = err ?: sdp_sk_base(sk)->ops->connect(sock, addr, len, flags);
	if (err == -EPIPE)
		err = sdp_connect_ended(sock, addr, len, flags);
	if (err && err != -EINPROGRESS)
		return err;
	lock_sock(sk);
	/* AF_UNSPEC has ended its listening. */
	sdp_connect_own(sk);
	ss = sdp_sk(sk);
	if (ss && (ss->mode == SDP_MODE_ONLY || sdp_only_any()) && sk->sk_state != TCP_CLOSE)
		sdp_seek(ss);
	release_sock(sk);
	return err;
}

static void sdp_shutdown(struct sock *sk, int how)
{
	const struct sdp_base *base = sdp_sk_base(sk);
	struct sdp_sock *ss = sdp_sk(sk);

	if (ss && how & SEND_SHUTDOWN && sdp_only(ss)) {
		if (ss->pair)
			sdp_pipe_detach_tx(sdp_tx_pipe(ss, ss->pair));
		if (sdp_only_shut(ss))
			how &= ~SEND_SHUTDOWN;
		else
			sdp_stay_set(ss, SDP_STAY_CLOSED, false);
	} else if (ss && how & SEND_SHUTDOWN) {
		/* Memory is short for the rest: the peer must not take what it has for all. */
		if (sdp_tx_return(ss, SDP_STAY_CLOSED)) {
			sk->sk_disconnects++;
			sk->sk_prot->disconnect(sk, 0);
			return;
		}
		sdp_stay_set(ss, SDP_STAY_CLOSED, false);
	}
	base->prot->shutdown(sk, how);
	if (ss && how & RCV_SHUTDOWN)
		sdp_rx_shut(ss);
	/* TCP answers what comes from here on with RST. */
	if (ss && sk->sk_shutdown == SHUTDOWN_MASK)
		sdp_rx_stop(ss);
}

/* TCP is over, in whatever context. */
static void sdp_unhash(struct sock *sk)
{
	struct sdp_sock *ss = sdp_sk(sk);

	if (ss) {
		sdp_lane_close(ss);
		sdp_pair_close(ss);
		sdp_sock_show(ss, &sdp_ulp);
	}
	sdp_sk_base(sk)->prot->unhash(sk);
}

/* Something may have happened to a carrier while a call had the socket. */
static void sdp_release_cb(struct sock *sk)
{
	struct sdp_sock *ss = sdp_sk(sk);

	if (unlikely(!ss)) {
		sdp_sk_base(sk)->prot->release_cb(sk);
		return;
	}
	if (unlikely(ss->lane))
		sdp_lane_release(ss->lane);
	if (unlikely(ss->ask))
		sdp_ask_release(ss);
	ss->base->prot->release_cb(sk);
}

static bool sdp_memory_free(const struct sock *sk, int wake)
{
	const struct sdp_base *base = sdp_sk_base(sk);
	struct sdp_pair *pair;
	struct sdp_sock *ss;
	bool moved = false, room = true;

	rcu_read_lock();
	ss = sdp_sk(sk);
	pair = ss ? sdp_sock_pair(ss) : NULL;
	if (pair && READ_ONCE(sdp_tx_pipe(ss, pair)->state) == SDP_PIPE_MOVED) {
		moved = true;
		room = sdp_pipe_has_room(sdp_tx_pipe(ss, pair), wake);
	} else if (ss && unlikely(READ_ONCE(ss->mode) == SDP_MODE_ONLY ||
				  READ_ONCE(ss->peer_only)) && !sdp_only_ready(ss)) {
		/* The first byte is held back.  The end of the connection wakes by itself. */
		moved = true;
		room = false;
	}
	rcu_read_unlock();
	return moved ? room : base->prot->stream_memory_free(sk, wake);
}

static bool sdp_is_readable(struct sock *sk)
{
	struct sdp_sock *ss;
	bool ret;

	rcu_read_lock();
	ss = sdp_sk(sk);
	if (ss)
		sdp_rx_watch(ss);
	ret = ss && sdp_rx_queued(ss) && sdp_rx_more(ss, READ_ONCE(sk->sk_rcvlowat) - 1);
	rcu_read_unlock();
	return ret;
}

/*
 * What TCP does not count.  The other end's kernel has the bytes of a pipe, so they are as good as
 * acknowledged, unless they are on their way back to TCP.
 */
static int sdp_ioctl_more(struct sock *sk, int cmd)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct sdp_lane *lane;
	struct sdp_pair *pair;
	struct sdp_pipe *pipe;
	struct sdp_sock *ss;
	int more, n = 0;

	rcu_read_lock();
	ss = sdp_sk(sk);
	pair = ss ? sdp_sock_pair(ss) : NULL;
	lane = ss ? sdp_sock_lane(ss) : NULL;
	if (ss && (cmd == SIOCINQ || cmd == SIOCATMARK)) {
		n = sdp_rx_queued(ss);
		/* TCP has counted what may be no byte of the program's. */
		if (lane && cmd == SIOCINQ) {
			more = READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq) -
			       sdp_lane_tcp_bytes(lane, sk);
			/* TCP's answer does not count a FIN. */
			n -= more - (more && sock_flag(sk, SOCK_DONE));
		}
	} else if (lane && (cmd == SIOCOUTQ || cmd == SIOCOUTQNSD)) {
		n = sdp_lane_unsure(lane);
	} else if (pair && (cmd == SIOCOUTQ || cmd == SIOCOUTQNSD)) {
		pipe = sdp_tx_pipe(ss, pair);
		if (READ_ONCE(pipe->state) == SDP_PIPE_RETURNING)
			n = READ_ONCE(pipe->head) - READ_ONCE(pipe->back);
	}
	rcu_read_unlock();
	return n;
}

static int sdp_ioctl(struct sock *sk, int cmd, compat_ioctl_arg arg)
{
	int err = sdp_sk_base(sk)->prot->ioctl(sk, cmd, arg);
	int more = err ? 0 : sdp_ioctl_more(sk, cmd);
	int n;

	if (!more)
		return err;
	/* TCP has read to the mark, and the program has not. */
	if (cmd == SIOCATMARK)
		return compat_ioctl_put(0, arg);
	return compat_ioctl_get(n, arg) ?: compat_ioctl_put(n + more, arg);
}

/* Newer kernels have MSG_SPLICE_PAGES of sendmsg instead; some of the older have both. */
#ifdef MSG_SENDPAGE_NOTLAST
static int sdp_sendpage(struct sock *sk, struct page *page, int offset, size_t size, int flags)
{
	struct bio_vec bv = { .bv_page = page, .bv_len = size, .bv_offset = offset };
	struct msghdr msg = { .msg_flags = flags | MSG_SPLICE_PAGES };

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bv, 1, size);
	return sdp_sendmsg(sk, &msg, size);
}
#endif

/* From TCP by its own pages, from a pipe by copies. */
static ssize_t sdp_splice_read(struct socket *sock, loff_t *ppos, struct pipe_inode_info *pipe,
			       size_t len, unsigned int flags)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ss = sdp_sock_get(sk);
	loff_t pos = 0;
	ssize_t ret;

	if (!ss)
		return sdp_sk_base(sk)->ops->splice_read(sock, ppos, pipe, len, flags);
	if (*ppos) {
		ret = -ESPIPE;
		goto out;
	}
	ret = sdp_rx_wait_readable(ss, sock->file->f_flags & O_NONBLOCK);
	if (ret)
		goto out;
	if (sdp_rx_enter_tcp(ss)) {
		ret = ss->base->ops->splice_read(sock, ppos, pipe, len, flags);
		sdp_rx_leave_tcp(ss);
	} else {
		ret = copy_splice_read(sock->file, &pos, pipe, len, flags);
	}
out:
	sdp_sock_put(ss);
	return ret;
}

/* For clients in the kernel, which have locked the socket. */
static int sdp_read_sock(struct sock *sk, read_descriptor_t *desc, sk_read_actor_t actor)
{
	struct sdp_sock *ss = sdp_sk(sk);

	return ss ? sdp_client_read(ss, desc, actor) : tcp_read_sock(sk, desc, actor);
}

/* The same clients ask how much there is. */
static int sdp_peek_len(struct socket *sock)
{
	return sdp_sk_base(sock->sk)->ops->peek_len(sock) + sdp_ioctl_more(sock->sk, SIOCINQ);
}

/* Memory was short for its ULP.  Where no byte may go by TCP the connection is over. */
static void sdp_accept_plain(struct sock *listener, struct sock *sk)
{
	struct sdp_sock *ss;
	bool only;

	rcu_read_lock();
	ss = sdp_sk(listener);
	only = ss && sdp_only(ss);
	rcu_read_unlock();
	if (!only)
		return;
	lock_sock(sk);
	sk->sk_prot->disconnect(sk, 0);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	WRITE_ONCE(sk->sk_err, ECONNABORTED);
	release_sock(sk);
}

/* A child without the ULP has no reference to the module, and so none of its functions. */
static int sdp_accept(struct socket *sock, struct socket *newsock, COMPAT_ACCEPT_ARGS)
{
	const struct proto_ops *ops = sdp_sk_base(sock->sk)->ops;
	int err = ops->accept(sock, newsock, COMPAT_ACCEPT_PASS);

	if (!err && !sdp_ulp_ours(newsock->sk)) {
		newsock->ops = ops;
		sdp_accept_plain(sock->sk, newsock->sk);
	}
	return err;
}

/* fam->prot and fam->ops are copies of TCP's. */
void sdp_proto_build(struct sdp_family *fam)
{
	struct proto *prot = &fam->prot;

	prot->sendmsg = sdp_sendmsg;
	prot->recvmsg = sdp_recvmsg;
	prot->close = sdp_close;
	prot->disconnect = sdp_disconnect;
	prot->shutdown = sdp_shutdown;
	prot->unhash = sdp_unhash;
	prot->release_cb = sdp_release_cb;
	prot->ioctl = sdp_ioctl;
	prot->setsockopt = sdp_setsockopt;
	prot->getsockopt = sdp_getsockopt;
	prot->stream_memory_free = sdp_memory_free;
	prot->sock_is_readable = sdp_is_readable;
#ifdef CONFIG_BPF_SYSCALL
	/* A socket map must not put its functions in front of ours. */
	prot->psock_update_sk_prot = NULL;
#endif
#ifdef MSG_SENDPAGE_NOTLAST
	prot->sendpage = sdp_sendpage;
#endif
	fam->ops.accept = sdp_accept;
	fam->ops.connect = sdp_connect;
	fam->ops.setsockopt = sdp_ops_setsockopt;
	fam->ops.getsockopt = sdp_ops_getsockopt;
	fam->ops.splice_read = sdp_splice_read;
	fam->ops.read_sock = sdp_read_sock;
	fam->ops.peek_len = sdp_peek_len;
}

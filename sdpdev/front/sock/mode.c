// SPDX-License-Identifier: GPL-2.0
/*
 * When a connection leaves TCP: what its program asks for by the option SDP_SOCK_MODE, and what
 * rules say.
 */
#include <linux/sdp_sock.h>

#include "front/sock/policy.h"

static bool sdp_mode_fresh(const struct sock *sk)
{
	return sk->sk_state == TCP_CLOSE || sk->sk_state == TCP_LISTEN;
}

/* A connection of SDP_MODE_ONLY is one from the first byte to the last. */
static int sdp_mode_change(struct sdp_sock *ss, int mode)
{
	if (mode == ss->mode)
		return 0;
	if (ss->ruled)
		return -EPERM;
	if (!sdp_mode_fresh(ss->sk) && (mode == SDP_MODE_ONLY || sdp_only(ss)))
		return -EISCONN;
	/* A call that has not seen the end of the last connection would send by TCP. */
	if (mode == SDP_MODE_ONLY && (ss->sk->sk_write_pending || atomic_read(&ss->users)))
		return -EBUSY;
	if (mode == SDP_MODE_NEVER && sdp_tx_return(ss, SDP_STAY_NEVER))
		return -EBUSY;
	sdp_mode_set(ss, mode);
	return 0;
}

/*
 * The option SDP_SOCK_MODE.  Returns -EPERM if a rule says only or never; -EISCONN if it is too
 * late; -EBUSY if memory is short for bytes that have to return to TCP, or a call is under way;
 * -ENOPROTOOPT if the socket has not the ULP.
 */
int sdp_mode_setsockopt(struct sock *sk, sockptr_t optval, unsigned int optlen)
{
	struct sdp_sock *ss;
	int mode, err;

	if (optlen < sizeof(mode))
		return -EINVAL;
	if (copy_from_sockptr(&mode, optval, sizeof(mode)))
		return -EFAULT;
	if (mode < SDP_MODE_MOVE || mode > SDP_MODE_NEVER)
		return -EINVAL;
	if (mode == SDP_MODE_ONLY)
		sdp_attach_only();
	lock_sock(sk);
	ss = sdp_sk(sk);
	err = ss ? sdp_mode_change(ss, mode) : -ENOPROTOOPT;
	release_sock(sk);
	return err;
}

/* Returns -ENOPROTOOPT if the socket has not the ULP. */
int sdp_mode_getsockopt(struct sock *sk, char __user *optval, int __user *optlen)
{
	struct sdp_sock *ss;
	int len, mode = 0;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	rcu_read_lock();
	ss = sdp_sk(sk);
	if (ss)
		mode = READ_ONCE(ss->mode);
	rcu_read_unlock();
	if (!ss)
		return -ENOPROTOOPT;
	len = min_t(int, len, sizeof(mode));
	return put_user(len, optlen) || copy_to_user(optval, &mode, len) ? -EFAULT : 0;
}

/*
 * A socket that cannot have what SDP_RULE_ONLY says carries no byte, and neither do those that
 * it accepts: their state is copied from it.  TCP forgets an error of before it connects.
 *
 * Bytes that are on their way with a SYN (MSG_FASTOPEN) stay, and TCP's sendmsg, which is under
 * way, finds that it may send none.
 */
static void sdp_mode_refuse(struct sock *sk)
{
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if (tcp_sk(sk)->fastopen_req)
		tcp_sk(sk)->fastopen_req->size = 0;
	/* TCP_FASTOPEN_CONNECT: the SYN must not wait for bytes either. */
	tcp_sk(sk)->fastopen_connect = 0;
}

/*
 * A client of MPTCP would read what its peer sends first.  TCP has no room for that; and as FIN
 * finds no room, either, a close resets the connection.  A listener has the room: without it the
 * peer's send would wait for ever, where it fails now.
 */
static void sdp_mode_deafen(struct sock *sk)
{
	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, 0);
	sock_set_flag(sk, SOCK_LINGER);
	WRITE_ONCE(sk->sk_lingertime, 0);
}

/*
 * The attempt is over.  A socket without room is one that sdp_mode_deafen() has had, and its next
 * attempt may be another rule's.  It gets what new sockets have.  The socket is locked.  Any
 * context.
 */
void sdp_mode_over(struct sock *sk)
{
	if (sk->sk_rcvbuf)
		return;
	sk->sk_userlocks &= ~SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_rmem[1]));
	sock_reset_flag(sk, SOCK_LINGER);
	WRITE_ONCE(sk->sk_shutdown, 0);
}

/*
 * MPTCP's sockets of TCP are refused as they come.  This is the program's own, whose calls would
 * wait for them.  Where it connects its port is not known here: a rule that names ports says
 * nothing of it.
 */
static void sdp_mode_refuse_mptcp(struct sock *sk, bool connect)
{
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if (connect)
		WRITE_ONCE(sk->sk_err, ECONNABORTED);
	sdp_count(sock_net(sk), SDP_CNT_ONLY + SDP_STAY_OPS);
}

static u8 sdp_mode_said(u32 said)
{
	return said & BIT(SDP_RULE_ONLY) ? SDP_MODE_ONLY :
	       said & BIT(SDP_RULE_NEVER) ? SDP_MODE_NEVER :
	       said & BIT(SDP_RULE_NOW) ? SDP_MODE_NOW : SDP_MODE_MOVE;
}

/*
 * Rules speak of an endpoint; @said has a bit for each SDP_RULE_*.  Its socket is locked.  Any
 * context.
 *
 * "only" and "never" count more than what the program says.  If both are said, by the program or by
 * a rule, the connection fails.  Otherwise the program's word counts.
 */
void sdp_mode_rule(struct sdp_sock *ss, u32 said)
{
	u8 mode = sdp_mode_said(said);
	bool never = said & BIT(SDP_RULE_NEVER) || ss->never;

	if (said & (BIT(SDP_RULE_NEVER) | BIT(SDP_RULE_ONLY)) && !ss->ruled)
		WRITE_ONCE(ss->ruled, ss->mode + 1);
	if (mode == SDP_MODE_ONLY || (mode == SDP_MODE_NEVER && sdp_only(ss))) {
		sdp_mode_set(ss, SDP_MODE_ONLY);
		WRITE_ONCE(ss->never, never);
	} else if (mode == SDP_MODE_NEVER || ss->mode == SDP_MODE_MOVE) {
		sdp_mode_set(ss, mode);
	}
}

/*
 * The socket's next connection is another one: the mode is again what it was before a rule said
 * only or never.  The socket is locked.
 */
void sdp_mode_forget(struct sdp_sock *ss)
{
	u8 ruled = ss->ruled;

	if (!ruled)
		return;
	WRITE_ONCE(ss->ruled, 0);
	sdp_mode_set(ss, ruled - 1);
}

/*
 * Rules speak of a socket of TCP, or of MPTCP, that is about to connect or to listen; @said has a
 * bit for each SDP_RULE_*.  The socket is locked.  Any context.
 */
void sdp_mode_attach(struct sock *sk, u32 said, bool connect)
{
	struct sdp_sock *ss = sdp_sk(sk);
	u8 mode = sdp_mode_said(said);

	/* An attempt that failed may have been another rule's. */
	if (ss)
		sdp_mode_forget(ss);
	if (!said)
		return;
	/*
	 * Not for clients in the kernel.  MPTCP's are the program's, though the kernel made them.
	 */
	if (sk->sk_kern_sock && !sk_is_mptcp(sk))
		return;
	if (sk->sk_protocol == IPPROTO_MPTCP) {
		if (mode == SDP_MODE_ONLY)
			sdp_mode_refuse_mptcp(sk, connect);
		return;
	}
	/* Without effect if the program has set the ULP itself. */
	if (mode != SDP_MODE_NEVER)
		sdp_sock_attach(sk);
	ss = sdp_sk(sk);
	if (mode == SDP_MODE_ONLY && (!ss || tcp_sk(sk)->fastopen_req))
		sdp_mode_refuse(sk);
	if (mode == SDP_MODE_ONLY && !ss && connect)
		sdp_mode_deafen(sk);
	if (!ss)
		return;
	sdp_mode_rule(ss, said);
	if (connect && (mode == SDP_MODE_ONLY || sdp_only_any()))
		sdp_seek(ss);
}

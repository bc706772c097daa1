// SPDX-License-Identifier: GPL-2.0
/*
 * The upper layer protocol "sdp" of TCP sockets: how a socket gets it, passes it on to the
 * connections that it accepts, and loses it.
 *
 * Each socket with the ULP holds a reference to the module, which the kernel puts when the
 * socket is destroyed.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "front/sock/sock.h"

static int sdp_ulp_init(struct sock *sk);
static void sdp_ulp_release(struct sock *sk);
static void sdp_ulp_clone(const struct request_sock *req, struct sock *newsk, const gfp_t gfp);

/* One ULP by several names, of which ss(8) shows the one that says where the bytes go. */
#define SDP_ULP(ulp_name)				\
	{						\
		.name		= ulp_name,		\
		.owner		= THIS_MODULE,		\
		.init		= sdp_ulp_init,		\
		.release	= sdp_ulp_release,	\
		.clone		= sdp_ulp_clone,	\
		.get_info	= sdp_info_diag,	\
		.get_info_size	= sdp_info_diag_size,	\
	}

struct tcp_ulp_ops sdp_ulp __read_mostly = SDP_ULP("sdp");
struct tcp_ulp_ops sdp_ulp_local __read_mostly = SDP_ULP("sdp-local");
struct tcp_ulp_ops sdp_ulp_ib __read_mostly = SDP_ULP("sdp-ib");
struct tcp_ulp_ops sdp_ulp_rdma __read_mostly = SDP_ULP("sdp-rdma");

static struct sdp_sock *sdp_sock_alloc(struct sock *sk, struct sdp_family *fam, gfp_t gfp)
{
	struct sdp_sock *ss = kzalloc(sizeof(*ss), gfp);

	if (!ss)
		return NULL;
	ss->sk = sk;
	ss->base = &fam->base;
	ss->ops = &fam->ops;
	ss->stay = SDP_STAY_YOUNG;
	INIT_LIST_HEAD(&ss->seek);
	return ss;
}

/*
 * A socket that had a connection before it had the ULP stays with TCP: calls may sleep in TCP
 * that were never counted, and it is not known which end has connected.  So does one whose next
 * sequence number is set already: it can have been chosen.
 */
static enum sdp_stay sdp_ulp_past(const struct sock *sk)
{
	switch (sk->sk_state) {
	case TCP_CLOSE:
		return tcp_sk(sk)->write_seq || tcp_sk(sk)->repair ? SDP_STAY_WEAK :
								     SDP_STAY_YOUNG;
	case TCP_LISTEN:
		return SDP_STAY_YOUNG;
	default:
		return SDP_STAY_LIVE;
	}
}

static int sdp_ulp_give(struct sock *sk, gfp_t gfp)
{
	struct sdp_family *fam = sdp_family(sk);
	struct sdp_sock *ss;

	/* MPTCP, a socket map or a client in the kernel is in front of this socket already. */
	if (!fam || READ_ONCE(sk->sk_prot) != fam->base.prot || sk->sk_kern_sock ||
	    READ_ONCE(sk->sk_user_data))
		return -EOPNOTSUPP;
	ss = sdp_sock_alloc(sk, fam, gfp);
	if (!ss)
		return -ENOMEM;
	sdp_stay_set(ss, sdp_ulp_past(sk), false);
	rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, ss);
	if (sk->sk_socket) {
		/* The kernel has cleared SOCK_SUPPORT_ZC on the way here. */
		set_bit(SOCK_SUPPORT_ZC, &sk->sk_socket->flags);
		if (READ_ONCE(sk->sk_socket->ops) == fam->base.ops)
			WRITE_ONCE(sk->sk_socket->ops, &fam->ops);
	}
	/* A listener is copied without its lock: its children get theirs in sdp_ulp_clone(). */
	if (sk->sk_state != TCP_LISTEN)
		WRITE_ONCE(sk->sk_prot, &fam->prot);
	return 0;
}

/* A listener is not looked at again: what rules say of its mode holds now. */
static int sdp_ulp_init(struct sock *sk)
{
	int err = sdp_ulp_give(sk, GFP_KERNEL_ACCOUNT);

	if (err || sk->sk_state != TCP_LISTEN)
		return err;
	rcu_read_lock();
	sdp_mode_rule(rcu_dereference(inet_csk(sk)->icsk_ulp_data),
		      sdp_attach_said(sk, TCP_LISTEN));
	rcu_read_unlock();
	return 0;
}

/* Both ends may need each other before either makes a call. */
static void sdp_ulp_child(struct sdp_sock *ss, u8 mode, bool never, u8 ruled)
{
	sdp_mode_set(ss, mode);
	WRITE_ONCE(ss->never, never);
	ss->ruled = ruled;
	if (mode == SDP_MODE_NEVER || (mode == SDP_MODE_MOVE && !sdp_only_any()))
		return;
	sdp_pair_join(ss, GFP_ATOMIC);
	if (mode == SDP_MODE_ONLY)
		sdp_seek(ss);
}

/*
 * In softirq.  A child that cannot have the ULP is a plain TCP socket, or one that carries no
 * byte if it may carry none by TCP.
 */
static void sdp_ulp_clone(const struct request_sock *req, struct sock *newsk, const gfp_t gfp)
{
	struct inet_connection_sock *icsk = inet_csk(newsk);
	struct sdp_family *fam = sdp_family(newsk);
	/* The listener's, which sdp_ulp_release() frees by RCU. */
	const struct sdp_sock *parent = rcu_dereference_protected(icsk->icsk_ulp_data, true);
	u8 mode = parent ? READ_ONCE(parent->mode) : SDP_MODE_MOVE;
	bool never = parent && READ_ONCE(parent->never);
	u8 ruled = parent ? READ_ONCE(parent->ruled) : 0;
	struct sdp_sock *ss = sdp_sock_alloc(newsk, fam, gfp);

	/* The child's end, and that of its TIME_WAIT, come when the module may be gone. */
	newsk->sk_prot_creator = fam->base.prot;
	/* The listener's reference may be gone already. */
	if (ss && !try_module_get(THIS_MODULE)) {
		kfree(ss);
		ss = NULL;
	}
	rcu_assign_pointer(icsk->icsk_ulp_data, ss);
	if (!ss) {
		icsk->icsk_ulp_ops = NULL;
		newsk->sk_prot = fam->base.prot;
		if (mode == SDP_MODE_ONLY)
			newsk->sk_shutdown = SHUTDOWN_MASK;
		return;
	}
	icsk->icsk_ulp_ops = &sdp_ulp;
	newsk->sk_prot = &fam->prot;
	ss->accepted = true;
	ss->isn = tcp_rsk(req)->snt_isn;
	ss->peer_isn = tcp_rsk(req)->rcv_isn;
	sdp_ulp_child(ss, mode, never, ruled);
}

/* In any context.  The kernel puts the module when this has returned. */
static void sdp_ulp_release(struct sock *sk)
{
	struct sdp_sock *ss = rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data, true);

	if (!ss)
		return;
	sdp_sock_leave(ss);
	/* A client in the kernel may have put it back since. */
	if (ss->callback)
		sdp_lane_hear(ss, false);
	sdp_mode_set(ss, SDP_MODE_MOVE);
	WRITE_ONCE(sk->sk_prot, ss->base->prot);
	rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, NULL);
	kfree_rcu(ss, rcu);
}

/*
 * Gives a TCP socket without a connection the ULP, as setsockopt(2) would.  The caller has locked
 * the socket.  Any context: a tracepoint may call.  Returns -EEXIST if the socket has a ULP;
 * -EOPNOTSUPP if something else is in front of it, or the module ends.
 */
int sdp_sock_attach(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	int err;

	if (icsk->icsk_ulp_ops)
		return -EEXIST;
	if (!try_module_get(THIS_MODULE))
		return -EOPNOTSUPP;
	err = sdp_ulp_give(sk, GFP_ATOMIC | __GFP_ACCOUNT);
	if (err)
		module_put(THIS_MODULE);
	else
		WRITE_ONCE(icsk->icsk_ulp_ops, &sdp_ulp);
	return err;
}

/*
 * Takes the ULP from a locked socket.  Returns -EBUSY for a listener and in the mode "only"; while
 * a call reads or writes; while bytes that did not come by TCP wait for the program; until the peer
 * has returned its direction; and if memory is short for bytes that return to TCP.
 */
int sdp_sock_give_up(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct sdp_sock *ss = sdp_sk(sk);

	if (!ss)
		return 0;
	if (sk->sk_state == TCP_LISTEN || sdp_only(ss) || sdp_tx_return(ss, SDP_STAY_ULP))
		return -EBUSY;
	/* From here on the other end sends by TCP. */
	sdp_stay_set(ss, SDP_STAY_ULP, false);
	sdp_pair_close(ss);
	/* A client in the kernel may put our callback back when it goes. */
	if (ss->callback && READ_ONCE(sk->sk_data_ready) != sdp_lane_data_ready &&
	    READ_ONCE(sk->sk_data_ready) != ss->base->data_ready)
		return -EBUSY;
	/* A reader that finds no ULP reads by TCP alone: nothing may wait elsewhere. */
	if (!sdp_lane_settled(ss) || sdp_rx_queued(ss))
		return -EBUSY;
	WRITE_ONCE(icsk->icsk_ulp_ops, NULL);
	/* Pairs with the barrier in sdp_sock_get(): one of both sees the other. */
	smp_mb();
	if (atomic_read(&ss->users) || sdp_rx_queued(ss)) {
		WRITE_ONCE(icsk->icsk_ulp_ops, &sdp_ulp);
		return -EBUSY;
	}
	if (sk->sk_socket && sk->sk_socket->ops == ss->ops)
		WRITE_ONCE(sk->sk_socket->ops, ss->base->ops);
	sdp_ulp_release(sk);
	module_put(THIS_MODULE);
	return 0;
}

static struct sdp_sock *sdp_sock_of(const struct sock *sk)
{
	return sdp_sk(sk);
}

int sdp_sock_init(void)
{
	int err = sdp_family_init();

	if (err)
		return err;
	err = sdp_lane_init(sdp_sock_of);
	if (err)
		goto family;
	err = sdp_diag_init();
	if (err)
		goto lane;
	err = tcp_register_ulp(&sdp_ulp);
	if (!err)
		return 0;
	sdp_diag_exit();
lane:
	sdp_lane_exit();
family:
	sdp_family_exit();
	return err;
}

/* No socket has the ULP: each holds the module. */
void sdp_sock_exit(void)
{
	sdp_diag_exit();
	sdp_family_exit();
	tcp_unregister_ulp(&sdp_ulp);
	sdp_pair_exit();
	sdp_lane_exit();
	/*
	 * The last call of the last socket can still be on its way out of a wrapper.  It does not
	 * sleep there: what sleeps holds the module.
	 */
	synchronize_rcu_tasks();
}

MODULE_ALIAS_TCP_ULP("sdp");

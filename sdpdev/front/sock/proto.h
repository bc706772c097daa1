/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to this folder: what the functions in front of TCP's have in common.
 */
#ifndef _SDP_PROTO_H
#define _SDP_PROTO_H

#include "front/sock/sock.h"

static inline const struct sdp_base *sdp_sk_base(const struct sock *sk)
{
	return &sdp_family(sk)->base;
}

/* Keep the ULP for the time of a call that is not under the socket's lock. */
static inline struct sdp_sock *sdp_sock_get(const struct sock *sk)
{
	struct sdp_sock *ss;

	rcu_read_lock();
	ss = sdp_sk(sk);
	if (ss) {
		atomic_inc(&ss->users);
		/* Pairs with the barrier in sdp_sock_give_up(): one of both sees the other. */
		smp_mb__after_atomic();
		if (sdp_sk(sk) != ss) {
			atomic_dec(&ss->users);
			ss = NULL;
		}
	}
	rcu_read_unlock();
	return ss;
}

static inline void sdp_sock_put(struct sdp_sock *ss)
{
	atomic_dec(&ss->users);
}

/* options.c */
int sdp_setsockopt(struct sock *sk, int level, int optname, sockptr_t optval,
		   unsigned int optlen);
int sdp_getsockopt(struct sock *sk, int level, int optname, char __user *optval,
		   int __user *optlen);
int sdp_ops_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
		       unsigned int optlen);
int sdp_ops_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
		       int __user *optlen);

#endif /* _SDP_PROTO_H */

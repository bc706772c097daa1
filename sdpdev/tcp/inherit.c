// SPDX-License-Identifier: GPL-2.0
/*
 * Socket options that do nothing to a connection over SDP, but which an accepted
 * endpoint has from its listener all the same, because programs ask for them, hand
 * the descriptor on, or connect it anew after a disconnect.
 */
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/inet_sock.h>

#include "tcp/tcp.h"

/* Those that are one flag of the socket, and no more than that. */
#define SDP_INHERITED_FLAGS						\
	(BIT(SOCK_DBG) | BIT(SOCK_LOCALROUTE) | BIT(SOCK_BROADCAST) |	\
	 BIT(SOCK_RCVTSTAMP) | BIT(SOCK_RCVTSTAMPNS) | BIT(SOCK_TSTAMP_NEW) | \
	 BIT(SOCK_RXQ_OVFL) | BIT(SOCK_WIFI_STATUS) | BIT(SOCK_NOFCS) |	\
	 BIT(SOCK_SELECT_ERR_QUEUE) | BIT(SOCK_RCVMARK))

/**
 * sdp_inherit_get() - note what an endpoint has
 * @sk: its native socket
 * @what: out: its options
 */
void sdp_inherit_get(const struct sock *sk, struct sdp_inherited *what)
{
	const struct inet_sock *inet = inet_sk(sk);

	what->flags = READ_ONCE(sk->sk_flags) & SDP_INHERITED_FLAGS;
	what->mark = READ_ONCE(sk->sk_mark);
	what->pacing = READ_ONCE(sk->sk_max_pacing_rate);
	what->tsflags = READ_ONCE(sk->sk_tsflags);
	what->peek_off = READ_ONCE(sk->sk_peek_off);
	what->reuseport = sk->sk_reuseport;
	what->v6only = sk->sk_ipv6only;
	what->tos = READ_ONCE(inet->tos);
	what->ttl = READ_ONCE(inet->uc_ttl);
	what->min_ttl = READ_ONCE(inet->min_ttl);
	what->syn_retries = READ_ONCE(inet_csk(sk)->icsk_syn_retries);
	what->notsent_lowat = READ_ONCE(tcp_sk(sk)->notsent_lowat);
	what->linger2 = READ_ONCE(tcp_sk(sk)->linger2);
	what->inq = tcp_sk(sk)->recvmsg_inq;
	if (sk->sk_family == AF_INET6) {
		what->hops = inet6_sk(sk)->hop_limit;
		what->rxopt = inet6_sk(sk)->rxopt.all;
	}
}

/**
 * sdp_inherit_set() - give them to the native socket of an accepted endpoint
 * @sk: a new socket, locked
 * @what: the options
 */
void sdp_inherit_set(struct sock *sk, const struct sdp_inherited *what)
{
	struct inet_sock *inet = inet_sk(sk);

	sk->sk_flags |= what->flags;
	sk->sk_mark = what->mark;
	sk->sk_max_pacing_rate = what->pacing;
	sk->sk_tsflags = what->tsflags;
	sk->sk_peek_off = what->peek_off;
	sk->sk_reuseport = what->reuseport;
	sk->sk_ipv6only = what->v6only;
	inet->tos = what->tos;
	inet->uc_ttl = what->ttl;
	inet->min_ttl = what->min_ttl;
	inet_csk(sk)->icsk_syn_retries = what->syn_retries;
	tcp_sk(sk)->notsent_lowat = what->notsent_lowat;
	tcp_sk(sk)->linger2 = what->linger2;
	tcp_sk(sk)->recvmsg_inq = what->inq;
	if (sk->sk_family == AF_INET6) {
		inet6_sk(sk)->hop_limit = what->hops;
		inet6_sk(sk)->rxopt.all = what->rxopt;
	}
}

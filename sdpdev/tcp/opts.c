// SPDX-License-Identifier: GPL-2.0
/*
 * The native socket, if there is one, and the socket options: its own, or what stands in
 * for them where there is none.
 */
#include <net/inet_sock.h>
#include <net/tcp.h>

#include "tcp/tcp.h"

/**
 * sdp_native_sk() - the native socket
 * @ep: the endpoint
 *
 * Return: the socket, valid as long as the endpoint, or NULL.
 */
struct sock *sdp_native_sk(struct sdp_ep *ep)
{
	/* Pairs with the release in sdp_native_attach(). */
	struct file *file = smp_load_acquire(&ep->tcp->file);

	return file ? ((struct socket *)file->private_data)->sk : NULL;
}

/**
 * sdp_native_shared() - has user space a descriptor of the native socket?
 * @ep: the endpoint
 */
bool sdp_native_shared(struct sdp_ep *ep)
{
	/* Pairs with the release in sdp_native_attach(), by the address. */
	struct file *file = READ_ONCE(ep->tcp->file);

	return file && file_count(file) > 1;
}

/**
 * sdp_timeo() - how long a call may wait
 * @ep: the endpoint
 * @send: by SO_SNDTIMEO, else by SO_RCVTIMEO
 *
 * Return: jiffies.
 */
long sdp_timeo(struct sdp_ep *ep, bool send)
{
	struct sock *sk = sdp_native_sk(ep);

	if (send)
		return sk ? READ_ONCE(sk->sk_sndtimeo) : READ_ONCE(ep->tcp->opts.sndtimeo);
	return sk ? READ_ONCE(sk->sk_rcvtimeo) : READ_ONCE(ep->tcp->opts.rcvtimeo);
}

/**
 * sdp_rcvlowat() - SO_RCVLOWAT
 * @ep: the endpoint
 */
int sdp_rcvlowat(struct sdp_ep *ep)
{
	struct sock *sk = sdp_native_sk(ep);

	return sk ? READ_ONCE(sk->sk_rcvlowat) : READ_ONCE(ep->tcp->opts.rcvlowat);
}

/**
 * sdp_recv_by_call() - are there options that only calls which receive regard?
 * @ep: the endpoint
 */
bool sdp_recv_by_call(struct sdp_ep *ep)
{
	struct sock *sk = sdp_native_sk(ep);
	int peek_off = sk ? READ_ONCE(sk->sk_peek_off) : ep->tcp->inherited.peek_off;

	return sdp_rcvlowat(ep) > 1 || peek_off >= 0;
}

/**
 * sdp_opts_get() - the socket options that hold now
 * @ep: the endpoint
 * @opts: out: the options
 */
void sdp_opts_get(struct sdp_ep *ep, struct sdp_opts *opts)
{
	struct sock *sk = sdp_native_sk(ep);

	if (!sk) {
		*opts = ep->tcp->opts;
		return;
	}
	opts->rcvtimeo = READ_ONCE(sk->sk_rcvtimeo);
	opts->sndtimeo = READ_ONCE(sk->sk_sndtimeo);
	opts->rcvlowat = READ_ONCE(sk->sk_rcvlowat);
	opts->rcvbuf = sk->sk_userlocks & SOCK_RCVBUF_LOCK ?
		       READ_ONCE(sk->sk_rcvbuf) : 0;
	opts->sndbuf = sk->sk_userlocks & SOCK_SNDBUF_LOCK ?
		       READ_ONCE(sk->sk_sndbuf) : 0;
	opts->linger = -1;
	if (sock_flag(sk, SOCK_LINGER))
		opts->linger = min_t(unsigned long, READ_ONCE(sk->sk_lingertime),
				     LONG_MAX);
	opts->oobinline = sock_flag(sk, SOCK_URGINLINE);
	opts->keepalive = sock_flag(sk, SOCK_KEEPOPEN);
	opts->keepidle = keepalive_time_when(tcp_sk(sk));
	opts->keepintvl = keepalive_intvl_when(tcp_sk(sk));
	opts->keepcnt = keepalive_probes(tcp_sk(sk));
	opts->user_timeout =
		msecs_to_jiffies(READ_ONCE(inet_csk(sk)->icsk_user_timeout));
	opts->nonagle = tcp_sk(sk)->nonagle;
	opts->user_mss = tcp_sk(sk)->rx_opt.user_mss;
	opts->reuse = sk->sk_reuse;
	opts->bound_dev_if = READ_ONCE(sk->sk_bound_dev_if);
}

/**
 * sdp_nonagle() - TCP_NODELAY and TCP_CORK
 * @ep: the endpoint
 *
 * Return: TCP_NAGLE_*.
 */
u8 sdp_nonagle(struct sdp_ep *ep)
{
	struct sock *sk = sdp_native_sk(ep);

	return sk ? tcp_sk(sk)->nonagle : ep->tcp->opts.nonagle;
}

/**
 * sdp_opts_set() - give a new socket the options that the listener had
 * @sk: the socket, locked
 * @opts: the options
 */
void sdp_opts_set(struct sock *sk, const struct sdp_opts *opts)
{
	struct tcp_sock *tp = tcp_sk(sk);

	sk->sk_rcvtimeo = opts->rcvtimeo;
	sk->sk_sndtimeo = opts->sndtimeo;
	sk->sk_rcvlowat = opts->rcvlowat;
	if (opts->rcvbuf) {
		sk->sk_rcvbuf = opts->rcvbuf;
		sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	}
	if (opts->sndbuf) {
		sk->sk_sndbuf = opts->sndbuf;
		sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	}
	if (opts->linger >= 0) {
		sk->sk_lingertime = opts->linger;
		sock_set_flag(sk, SOCK_LINGER);
	}
	sock_valbool_flag(sk, SOCK_URGINLINE, opts->oobinline);
	sock_valbool_flag(sk, SOCK_KEEPOPEN, opts->keepalive);
	tp->keepalive_time = opts->keepidle;
	tp->keepalive_intvl = opts->keepintvl;
	tp->keepalive_probes = opts->keepcnt;
	inet_csk(sk)->icsk_user_timeout = jiffies_to_msecs(opts->user_timeout);
	tp->nonagle = opts->nonagle;
	tp->rx_opt.user_mss = opts->user_mss;
	sk->sk_reuse = opts->reuse;
	sk->sk_bound_dev_if = opts->bound_dev_if;
}

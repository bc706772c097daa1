// SPDX-License-Identifier: GPL-2.0
/*
 * What programs call to make connections and to end them.
 */
#include <linux/inetdevice.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/route.h>

#include "core/core.h"
#include "direct/direct.h"
#include "transport/registry.h"

/* How long a peer may take to answer. */
#define SDP_DIRECT_CONNECT_MS	60000

DEFINE_SPINLOCK(sdp_direct_accepts);

/* Reads an address that a program gives; its family may be either. */
static int sdp_direct_addr(const struct sockaddr_unsized *addr, int len, struct sockaddr_in *to)
{
	if (len < (int)sizeof(*to))
		return -EINVAL;
	if (addr->sa_family != AF_INET && addr->sa_family != SDP_DIRECT_FAMILY)
		return -EAFNOSUPPORT;
	memcpy(to, addr, sizeof(*to));
	to->sin_family = AF_INET;
	return 0;
}

static int sdp_direct_may_bind(struct net *net, const struct sockaddr_in *addr)
{
	u16 port = ntohs(addr->sin_port);

	if (addr->sin_addr.s_addr && inet_addr_type(net, addr->sin_addr.s_addr) != RTN_LOCAL)
		return -EADDRNOTAVAIL;
	if (port && inet_port_requires_bind_service(net, port) &&
	    !ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	return 0;
}

int sdp_direct_bind(struct socket *sock, struct sockaddr_unsized *addr, int len)
{
	struct sock *sk = sock->sk;
	struct sockaddr_in to;
	int err = sdp_direct_addr(addr, len, &to);

	if (!err)
		err = sdp_direct_may_bind(sock_net(sk), &to);
	if (err)
		return err;
	lock_sock(sk);
	if (sk->sk_state != TCP_CLOSE || !hlist_unhashed(&sdp_direct(sk)->bound))
		err = -EINVAL;
	else
		err = sdp_direct_bind_to(sk, to.sin_addr.s_addr, ntohs(to.sin_port));
	if (!err && to.sin_addr.s_addr)
		sk->sk_userlocks |= SOCK_BINDADDR_LOCK;
	release_sock(sk);
	return err;
}

/* An address that a route has given goes with the attempt; the socket locked. */
static void sdp_direct_unroute(struct sock *sk)
{
	if (!(sk->sk_userlocks & SOCK_BINDADDR_LOCK))
		sdp_direct(sk)->local.sin_addr.s_addr = 0;
}

/* Begins to connect; the socket locked. */
static int sdp_direct_start(struct sock *sk, const struct sockaddr_in *to)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_xprt_params params = {
		.ifindex = READ_ONCE(sk->sk_bound_dev_if),
		.mark = READ_ONCE(sk->sk_mark),
		.uid = sk->sk_uid,
		.timeout_ms = SDP_DIRECT_CONNECT_MS,
	};
	const struct sdp_xprt_ops *xprt;
	int err = 0;

	if (sk->sk_state != TCP_CLOSE)
		return -EISCONN;
	if (sk->sk_shutdown || READ_ONCE(direct->link))
		return -EINVAL;
	if (hlist_unhashed(&direct->bound))
		err = sdp_direct_bind_to(sk, 0, 0);
	if (err)
		return err;
	direct->peer = *to;
	memcpy(&params.local, &direct->local, sizeof(direct->local));
	memcpy(&params.peer, to, sizeof(*to));
	direct->payer = sdp_sock_owner(sk);
	sdp_owner_share(direct->payer, &params.owner, &params.share);
	xprt = sdp_xprt_route(sock_net(sk), &params);
	if (IS_ERR_OR_NULL(xprt))
		return !xprt || PTR_ERR(xprt) == -EOPNOTSUPP ? -ENETUNREACH : PTR_ERR(xprt);
	sdp_xprt_put(xprt);
	direct->local.sin_addr = ((struct sockaddr_in *)&params.local)->sin_addr;
	err = sdp_direct_begin(sk, &params);
	if (err)
		sdp_direct_unroute(sk);
	return err;
}

/* Waits until it is connected, or is not; the socket locked. */
static int sdp_direct_connected(struct socket *sock, long timeo)
{
	struct sock *sk = sock->sk;
	int err = 0;

	release_sock(sk);
	if (!sdp_direct_is_tried(sk))
		err = timeo ? sdp_direct_wait(sk, &timeo, sdp_direct_is_tried) : -EINPROGRESS;
	lock_sock(sk);
	if (err)
		return err == -EAGAIN ? -EINPROGRESS : err;
	if (sk->sk_state == TCP_ESTABLISHED) {
		sock->state = SS_CONNECTED;
		return 0;
	}
	sock->state = SS_UNCONNECTED;
	sdp_direct_unroute(sk);
	return sock_error(sk) ?: -ECONNABORTED;
}

int sdp_direct_connect(struct socket *sock, struct sockaddr_unsized *addr, int len, int flags)
{
	struct sock *sk = sock->sk;
	struct sockaddr_in to;
	bool again;
	int err = sdp_direct_addr(addr, len, &to);

	if (err)
		return err;
	lock_sock(sk);
	again = sock->state == SS_CONNECTING;
	if (sock->state == SS_CONNECTED)
		err = -EISCONN;
	else if (!again)
		err = sdp_direct_start(sk, &to);
	if (!err) {
		sock->state = SS_CONNECTING;
		err = sdp_direct_connected(sock, sock_sndtimeo(sk, flags & O_NONBLOCK));
		if (err == -EINPROGRESS && again)
			err = -EALREADY;
	}
	release_sock(sk);
	return err;
}

/* Listens at the address that it has. */
static int sdp_direct_hear(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_xprt_port *port;

	port = sdp_xprt_listen(sock_net(sk), ntohs(direct->local.sin_port));
	if (!port)
		return -ENOBUFS;
	direct->port = port;
	if (sdp_direct_may_listen(sk))
		return 0;
	direct->port = NULL;
	sdp_xprt_unlisten(port);
	return -EADDRINUSE;
}

int sdp_direct_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	struct sdp_direct *direct = sdp_direct(sk);
	int err = 0;

	lock_sock(sk);
	WRITE_ONCE(sk->sk_max_ack_backlog, backlog);
	if (sk->sk_state == TCP_LISTEN)
		goto out;
	err = -EINVAL;
	if (sock->state != SS_UNCONNECTED || sk->sk_state != TCP_CLOSE || sk->sk_shutdown ||
	    READ_ONCE(direct->link))
		goto out;
	err = hlist_unhashed(&direct->bound) ? sdp_direct_bind_to(sk, 0, 0) : 0;
	if (err)
		goto out;
	direct->payer = sdp_sock_owner(sk);
	err = sdp_direct_hear(sk);
out:
	release_sock(sk);
	return err;
}

static bool sdp_direct_is_asked(struct sock *sk)
{
	return !list_empty_careful(&sdp_direct(sk)->children) || sk->sk_state != TCP_LISTEN;
}

/* The first that waits to be accepted, with the queue's reference, or NULL. */
static struct sock *sdp_direct_first(struct sock *sk)
{
	struct sdp_direct *child;
	struct sock *parent = NULL;

	spin_lock_bh(&sdp_direct_accepts);
	child = list_first_entry_or_null(&sdp_direct(sk)->children, struct sdp_direct, queue);
	if (child) {
		list_del_init(&child->queue);
		swap(parent, child->parent);
		sk_acceptq_removed(sk);
	}
	spin_unlock_bh(&sdp_direct_accepts);
	if (!child)
		return NULL;
	sock_put(parent);
	return &child->sk;
}

/* Root's program has it now, and has no limit. */
static void sdp_direct_disown(struct sock *sk, struct sock *child)
{
	struct sdp_direct *direct = sdp_direct(child);

	if (!uid_eq(sdp_direct(sk)->payer, GLOBAL_ROOT_UID))
		return;
	spin_lock_bh(&direct->lock);
	if (direct->link)
		sdp_chan_disown(&direct->link->chan);
	spin_unlock_bh(&direct->lock);
}

/* The next connection's socket, or NULL and why there is none. */
struct sock *sdp_direct_accept(struct sock *sk, int flags, int *err)
{
	long timeo = sock_rcvtimeo(sk, flags & O_NONBLOCK);
	struct sock *child;

	for (;;) {
		*err = -EINVAL;
		if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
			return NULL;
		child = sdp_direct_first(sk);
		if (child) {
			sdp_direct_disown(sk, child);
			return child;
		}
		*err = timeo ? sdp_direct_wait(sk, &timeo, sdp_direct_is_asked) : -EAGAIN;
		if (*err)
			return NULL;
	}
}

/* The socket does not listen any more. */
static void sdp_direct_unlisten(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sock *child;

	spin_lock_bh(&sdp_direct_accepts);
	sk->sk_state = TCP_CLOSE;
	spin_unlock_bh(&sdp_direct_accepts);
	/* Waits for requests that are under way. */
	sdp_xprt_unlisten(direct->port);
	direct->port = NULL;
	while ((child = sdp_direct_first(sk))) {
		sock_set_flag(child, SOCK_LINGER);
		child->sk_lingertime = 0;
		sdp_direct_drop(child);
		sock_put(child);
	}
}

int sdp_direct_shutdown(struct socket *sock, int how)
{
	struct sock *sk = sock->sk;
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_direct_link *link = NULL;
	int err = -ENOTCONN;

	if (how < SHUT_RD || how > SHUT_RDWR)
		return -EINVAL;
	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN) {
		/* As with TCP: a call that waits to accept hears of it, and the address stays. */
		if (how != SHUT_WR)
			sdp_direct_unlisten(sk);
		err = 0;
	}
	spin_lock_bh(&direct->lock);
	if (sk->sk_state == TCP_ESTABLISHED) {
		sk->sk_shutdown |= how + 1;
		sdp_direct_push(sk);
		err = 0;
	} else if (sk->sk_state == TCP_SYN_SENT) {
		/* As with TCP: it gives the attempt up. */
		link = sdp_direct_detach(sk, ECONNRESET);
		sdp_direct_unroute(sk);
		sock->state = SS_UNCONNECTED;
		err = 0;
	}
	spin_unlock_bh(&direct->lock);
	if (link)
		sdp_chan_put(&link->chan);
	release_sock(sk);
	sk->sk_state_change(sk);
	return err;
}

/* Has the peer got all that it is to get? */
static bool sdp_direct_is_out(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	bool out;

	spin_lock_bh(&direct->lock);
	out = !direct->link ||
	      ((direct->fin_sent || direct->ending) && !sdp_chan_busy(&direct->link->chan));
	spin_unlock_bh(&direct->lock);
	return out;
}

int sdp_direct_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	long timeo;

	if (!sk)
		return 0;
	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN)
		sdp_direct_unlisten(sk);
	else
		sdp_direct_drop(sk);
	timeo = sock_flag(sk, SOCK_LINGER) ? sk->sk_lingertime : 0;
	if (timeo && !(current->flags & PF_EXITING))
		sdp_direct_wait(sk, &timeo, sdp_direct_is_out);
	sdp_direct_unbind(sk);
	sock_orphan(sk);
	release_sock(sk);
	sock->sk = NULL;
	sock_put(sk);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Connecting: over SDP where the route leads there and somebody answers, over
 * TCP otherwise.  The attempt runs by itself, and so does the fall back; the
 * caller waits for the end of both, or does not.
 */
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/tcp_states.h>

#include "switch/switch.h"

/* TCP takes the connection, or tells why not, exactly as it always does. */
static int sdp_connect_native(struct sdp_ep *ep, struct sockaddr_storage *addr,
			      unsigned int len, bool nonblock)
{
	struct socket *sock = sdp_native_sk(ep)->sk_socket;
	int err;

	err = kernel_connect(sock, (struct sockaddr *)addr, len,
			     nonblock ? O_NONBLOCK : 0);

	/* It has failed for good: the next attempt may go over SDP again. */
	sdp_ep_lock(ep);
	if (err && READ_ONCE(sock->state) == SS_UNCONNECTED &&
	    ep->carrier == SDP_CARRIER_TCP)
		sdp_carrier_set(ep, SDP_CARRIER_NONE);
	sdp_ep_unlock(ep);
	return err;
}

/* Where @addr is one that SDP could connect to, makes it the inner form. */
static bool sdp_connect_eligible(struct sdp_ep *ep,
				 const struct sockaddr_storage *addr,
				 unsigned int len, struct sockaddr_storage *peer)
{
	struct sock *sk = sdp_native_sk(ep);

	if (len < sizeof(addr->ss_family) || addr->ss_family != ep->family ||
	    len < (ep->family == AF_INET6 ? SIN6_LEN_RFC2133
					  : sizeof(struct sockaddr_in)))
		return false;
	/* User space may have done anything to it through its descriptor. */
	if (inet_sk_state_load(sk) != TCP_CLOSE ||
	    READ_ONCE(sk->sk_socket->state) != SS_UNCONNECTED)
		return false;

	memset(peer, 0, sizeof(*peer));
	memcpy(peer, addr, min_t(unsigned int, len, sdp_addr_len(addr)));
	sdp_addr_unmap(peer);
	if (peer->ss_family != ep->family && ipv6_only_sock(sk))
		return false;
	return sdp_addr_port(peer) && !sdp_addr_any(peer);
}

/* The parameters of a connection to @peer, except the own port. */
static int sdp_connect_params(struct sdp_ep *ep,
			      const struct sockaddr_storage *peer,
			      struct sdp_xprt_params *params, u8 *reason)
{
	int err;

	memset(params, 0, sizeof(*params));
	if (sdp_native_signs(ep)) {
		*reason = SDP_REASON_SIGNED;
		return -EOPNOTSUPP;
	}
	err = sdp_native_local(ep, &params->local);
	if (err)
		return err;
	sdp_addr_unmap(&params->local);
	if (params->local.ss_family != peer->ss_family) {
		/* The IPv6 wildcard covers IPv4; another address does not. */
		if (!sdp_addr_any(&params->local)) {
			*reason = SDP_REASON_FAMILY;
			return -EOPNOTSUPP;
		}
		memset(&params->local, 0, sizeof(params->local));
		params->local.ss_family = peer->ss_family;
	}
	params->peer = *peer;
	err = sdp_native_flow(ep, params);
	if (err)
		return err;
	params->timeout_ms = READ_ONCE(sdp_connect_ms);
	return 0;
}

/* The transport by which it leaves, referenced, or an ERR_PTR. */
static const struct sdp_xprt_ops *sdp_connect_route(struct sdp_ep *ep,
						    struct sdp_xprt_params *params,
						    u8 *reason)
{
	const struct sdp_xprt_ops *xprt = sdp_xprt_route(ep->net, params);

	if (!xprt) {
		*reason = SDP_REASON_NO_TRANSPORT;
		return ERR_PTR(-EOPNOTSUPP);
	}
	if (IS_ERR(xprt))
		*reason = SDP_REASON_NO_ROUTE;
	return xprt;
}

static int sdp_connect_resolved(struct sdp_xprt_conn *xc, void *ctx)
{
	return sdp_conn_bufs(ctx);
}

static void sdp_connect_begin(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
			      const struct sdp_xprt_params *params, bool no_tcp)
{
	struct sdp_ep *ep = conn->ep;

	sdp_ep_lock(ep);
	sdp_size_init(conn);
	sdp_conn_attach(conn, xc);
	sdp_state_set(ep, SDP_STATE_CONNECTING);
	sdp_reason_set(ep, SDP_REASON_NONE);
	ep->err = 0;
	/* What sdp_disconnect() left there, and TCP forgets as well. */
	sock_error(sdp_native_sk(ep));
	ep->no_tcp = no_tcp;
	ep->connect_told = false;
	/* Whoever was to part, and was interrupted, has another connection now. */
	sdp_attempt_set(ep, SDP_ATTEMPT_NONE);
	ep->local = params->local;
	ep->peer = params->peer;
	sdp_addr_map(&ep->local, ep->family);
	sdp_addr_map(&ep->peer, ep->family);
	sdp_ep_unlock(ep);
}

/* The attempt runs by itself from here on, and so does its failure. */
static void sdp_connect_run(struct sdp_conn *conn, struct sdp_xprt_conn *xc,
			    struct sdp_xprt_params *params, bool no_tcp)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_hello hello;
	struct sdp_hh hh;
	int err;

	/* The attempt may be over, and its connection freed, before the mutex is released. */
	refcount_inc(&conn->ref);
	/* As long as it is held nothing destroys the connection, whatever happens to it. */
	mutex_lock(&conn->tx.mutex);
	sdp_connect_begin(conn, xc, params, no_tcp);
	params->recv_depth = conn->rx.depth;
	params->send_depth = conn->tx.depth + SDP_CTL_BUFS;
	params->spare = 0;
	sdp_account_share(&ep->account, false, &params->owner, &params->share);

	hello.bufs = conn->credit.min;
	hello.rcv_sz = conn->rx.size;
	hello.src = params->local;
	hello.dst = params->peer;
	sdp_build_hello(&hh, &hello);
	err = conn->xprt->connect(xc, params, sdp_connect_resolved, &hh, sizeof(hh));
	mutex_unlock(&conn->tx.mutex);
	sdp_conn_put(conn);
	if (!err)
		return;
	sdp_ep_lock(ep);
	sdp_connect_failed(ep, SDP_REASON_UNREACHABLE, err);
	sdp_ep_unlock(ep);
}

/*
 * May this connection go over SDP?  If so its transport, referenced, and its parameters;
 * else an ERR_PTR, and @reason says why not.
 */
static const struct sdp_xprt_ops *
sdp_connect_check(struct sdp_ep *ep, const struct sockaddr_storage *peer,
		  const struct sockaddr_storage *addr, unsigned int len,
		  struct sdp_xprt_params *params, u8 *reason)
{
	const struct sdp_xprt_ops *xprt;
	int err;

	*reason = SDP_REASON_NO_TRANSPORT;
	if (!sdp_xprt_any())
		return ERR_PTR(-EOPNOTSUPP);
	*reason = SDP_REASON_UNREACHABLE;
	err = sdp_connect_params(ep, peer, params, reason);
	if (err)
		return ERR_PTR(err);
	xprt = sdp_connect_route(ep, params, reason);
	if (IS_ERR(xprt))
		return xprt;
	/* Not before: TCP asks the programs of its own accord wherever SDP does not go. */
	err = sdp_native_may_connect(ep, addr, len, reason);
	/* Not before: TCP's choice of a port is better made by TCP. */
	if (!err)
		err = sdp_native_autobind(ep);
	if (err) {
		sdp_xprt_put(xprt);
		return ERR_PTR(err);
	}
	sdp_addr_set_port(&params->local, READ_ONCE(inet_sk(sdp_native_sk(ep))->inet_num));
	return xprt;
}

/* A connection and the transport's, which do not know each other yet. */
static int sdp_connect_make(struct sdp_ep *ep, const struct sdp_xprt_ops *xprt,
			    struct sdp_conn **conn, struct sdp_xprt_conn **xc)
{
	*conn = sdp_conn_create(ep, xprt);
	if (!*conn)
		return -ENOBUFS;
	*xc = xprt->conn_create(ep->net, *conn);
	if (!IS_ERR(*xc))
		return 0;
	sdp_conn_put(*conn);
	return PTR_ERR(*xc);
}

/*
 * Begins an attempt over SDP to @peer, the inner form of @addr.  Zero: it is under way.
 * Otherwise nothing has happened, and the error and @reason say why SDP is not for this
 * one.
 */
static int sdp_connect_sdp(struct sdp_ep *ep,
			   const struct sockaddr_storage *peer,
			   const struct sockaddr_storage *addr, unsigned int len,
			   bool no_tcp, u8 *reason)
{
	const struct sdp_xprt_ops *xprt;
	struct sdp_xprt_params params;
	struct sdp_xprt_conn *xc;
	struct sdp_conn *conn;
	int err;

	xprt = sdp_connect_check(ep, peer, addr, len, &params, reason);
	if (IS_ERR(xprt))
		return PTR_ERR(xprt);
	*reason = SDP_REASON_LIMIT;
	err = sdp_charge(&ep->account, SDP_LIMIT_CONNS, 1);
	if (err)
		goto err_xprt;
	*reason = SDP_REASON_NO_MEMORY;
	err = sdp_port_pair(ep, &params);
	if (err)
		goto err_charge;
	err = sdp_connect_make(ep, xprt, &conn, &xc);
	if (err)
		goto err_port;
	/* It may have come and gone when this returns. */
	sdp_connect_run(conn, xc, &params, no_tcp);
	return 0;

err_port:
	sdp_port_drop(ep);
err_charge:
	sdp_uncharge(&ep->account, SDP_LIMIT_CONNS, 1);
err_xprt:
	sdp_xprt_put(xprt);
	return err;
}

/**
 * sdp_connect_established() - the transport says that messages flow
 * @conn: the connection of an endpoint that connects, ep->lock held
 * @ev: the event, with the peer's HelloAck
 */
void sdp_connect_established(struct sdp_conn *conn, const struct sdp_xprt_event *ev)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_hello hello;
	enum sdp_bad bad;

	if (ep->state != SDP_STATE_CONNECTING || sdp_conn_dead(conn))
		return;
	bad = sdp_parse_hello_ack(ev->pdata, ev->pdata_len, &hello);
	if (bad) {
		sdp_count(SDP_CNT_BAD + bad);
		sdp_connect_failed(ep, SDP_REASON_BAD_HELLO, -EPROTO);
		return;
	}
	sdp_credit_peer(&conn->credit, hello.bufs);
	conn->tx.size = min(hello.rcv_sz, conn->rx.size);
	sdp_phase_set(conn, SDP_PHASE_OPEN);
	sdp_carrier_set(ep, SDP_CARRIER_SDP);
	sdp_state_set(ep, SDP_STATE_CONNECTED);
	sdp_count(SDP_CNT_CONNECTED);
	sdp_alive_begin(conn);
	sdp_tx_push(conn);
	sdp_ep_wake(ep, EPOLLOUT | EPOLLWRNORM);
	sdp_rx_begin(conn);
}

/**
 * sdp_connect_failed() - the attempt over SDP has failed
 * @ep: the endpoint, ep->lock held
 * @reason: SDP_REASON_*
 * @err: negative errno
 *
 * What follows needs process context: see sdp_connect_settle().
 */
void sdp_connect_failed(struct sdp_ep *ep, u8 reason, int err)
{
	if (ep->state != SDP_STATE_CONNECTING || !ep->conn || sdp_conn_dead(ep->conn))
		return;
	sdp_reason_set(ep, reason);
	ep->connect_err = err;
	sdp_phase_set(ep->conn, SDP_PHASE_DEAD);
	if (!ep->listener && ep->attempt == SDP_ATTEMPT_NONE)
		sdp_attempt_set(ep, SDP_ATTEMPT_FAILED);
	sdp_ep_kick(ep);
}

/* The attempt is over: TCP has the connection, or there is none, for @err; ep->lock held. */
static void sdp_connect_over(struct sdp_ep *ep, u8 carrier, int err)
{
	ep->shut = 0;
	memset(&ep->local, 0, sizeof(ep->local));
	memset(&ep->peer, 0, sizeof(ep->peer));
	if (carrier == SDP_CARRIER_NONE) {
		ep->err = -err;
		ep->connect_told = true;
	}
	/* In this order: whoever finds the attempt over finds its carrier and its error. */
	sdp_carrier_set(ep, carrier);
	sdp_state_set(ep, SDP_STATE_BOUND);
	sdp_attempt_set(ep, SDP_ATTEMPT_NONE);
	sdp_ep_wake(ep, EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM |
			EPOLLERR | EPOLLHUP);
}

/*
 * What needs nothing of the native socket but to tell it; ep->lock held.  False: TCP is to
 * have a try.
 */
static bool sdp_connect_settled(struct sdp_ep *ep)
{
	switch (ep->attempt) {
	case SDP_ATTEMPT_NONE:
		/* An AF_UNSPEC was interrupted, and the next connection has begun. */
		return true;
	case SDP_ATTEMPT_PARTING:
		/* The caller that takes the connection apart has no use for another. */
		WRITE_ONCE(sdp_native_sk(ep)->sk_err, ECONNRESET);
		sdp_connect_over(ep, SDP_CARRIER_NONE, 0);
		return true;
	default:
		if (!ep->no_tcp && !ep->orphan)
			return false;
		sdp_connect_over(ep, SDP_CARRIER_NONE, ep->connect_err);
		return true;
	}
}

/**
 * sdp_connect_settle() - fall back to TCP, or tell the failure
 * @ep: the endpoint, whose connection is freed
 *
 * Where user space has the native socket's lock it is tried again later.
 */
void sdp_connect_settle(struct sdp_ep *ep)
{
	struct sockaddr_storage peer;
	bool settled;
	int err;

	sdp_ep_lock(ep);
	settled = sdp_connect_settled(ep);
	err = ep->connect_err;
	peer = ep->peer;
	sdp_ep_unlock(ep);
	if (settled)
		return;

	if (!sdp_native_fall_back(ep, &peer, &err)) {
		sdp_ep_retry(ep);
		return;
	}
	sdp_count(SDP_CNT_FALLBACKS);
	sdp_ep_lock(ep);
	sdp_connect_over(ep, err && err != -EINPROGRESS ? SDP_CARRIER_NONE :
							  SDP_CARRIER_TCP, err);
	sdp_ep_unlock(ep);
}

static bool sdp_connect_undecided(struct sdp_ep *ep)
{
	/* Pairs with the release in sdp_state_set(). */
	return smp_load_acquire(&ep->state) == SDP_STATE_CONNECTING;
}

/**
 * sdp_connect_wait() - wait until it is known what carries the connection
 * @ep: the endpoint
 * @timeo: in and out: jiffies to wait; zero: not at all
 *
 * Return: zero (also where nothing is under way), -EAGAIN, -EINTR or
 * -ERESTARTSYS.
 */
int sdp_connect_wait(struct sdp_ep *ep, long *timeo)
{
	long left;

	if (!sdp_connect_undecided(ep))
		return 0;
	if (!*timeo)
		return -EAGAIN;
	left = wait_event_interruptible_timeout(ep->wait,
						!sdp_connect_undecided(ep),
						*timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return left ? 0 : -EAGAIN;
}

/* How the attempt went, once it is decided. */
static int sdp_connect_result(struct sdp_ep *ep, struct sockaddr_storage *addr,
			      unsigned int len, bool nonblock)
{
	bool native;
	int err = 0;

	if (sdp_listens_alone(ep))
		return -EISCONN;

	sdp_ep_lock(ep);
	native = ep->carrier == SDP_CARRIER_TCP;
	if (ep->carrier == SDP_CARRIER_NONE)
		err = -xchg(&ep->err, 0) ? : -ECONNABORTED;
	else if (ep->connect_told)
		err = -EISCONN;
	if (!native)
		ep->connect_told = true;
	sdp_ep_unlock(ep);
	return native ? sdp_connect_native(ep, addr, len, nonblock) : err;
}

static int sdp_connect_tcp(struct sdp_ep *ep)
{
	sdp_ep_lock(ep);
	sdp_carrier_set(ep, SDP_CARRIER_TCP);
	sdp_ep_unlock(ep);
	return -EISCONN;
}

/* SDP is not for this one. */
static void sdp_connect_untried(struct sdp_ep *ep, u8 reason)
{
	sdp_count(SDP_CNT_UNTRIED + reason);
	sdp_ep_lock(ep);
	sdp_reason_set(ep, SDP_REASON_NONE);
	sdp_reason_set(ep, reason);
	sdp_ep_unlock(ep);
}

/*
 * Begins what connect(2) asks for.  -EINPROGRESS: SDP is at it; -EISCONN: the
 * carrier is settled, and TCP may still have to connect.
 */
static int sdp_connect_start(struct sdp_ep *ep, struct sockaddr_storage *addr,
			     unsigned int len, unsigned int flags)
{
	struct sockaddr_storage peer;
	u8 reason, state, carrier;
	int err;

	/* Both of one moment: an attempt may be settled just now. */
	sdp_ep_lock(ep);
	state = ep->state;
	carrier = ep->carrier;
	sdp_ep_unlock(ep);
	if (state == SDP_STATE_CONNECTING)
		return -EALREADY;
	if (carrier != SDP_CARRIER_NONE)
		return -EISCONN;
	/* A failure that nobody has asked for yet comes first. */
	if (READ_ONCE(ep->err))
		return -sdp_ep_take_error(ep);
	if (sdp_listens_alone(ep))
		return -EISCONN;
	if (ep->no_tcp_ever)
		flags = SDP_CONNECT_NO_TCP;
	if (state == SDP_STATE_LISTEN ||
	    (flags & SDP_CONNECT_NO_SDP))
		return sdp_connect_tcp(ep);
	if (!sdp_connect_eligible(ep, addr, len, &peer)) {
		/* TCP tells what is wrong with an address, or goes there. */
		if ((flags & SDP_CONNECT_NO_TCP) &&
		    len >= sizeof(addr->ss_family) && addr->ss_family == ep->family)
			return -ENETUNREACH;
		return sdp_connect_tcp(ep);
	}

	err = sdp_connect_sdp(ep, &peer, addr, len, flags & SDP_CONNECT_NO_TCP, &reason);
	if (!err)
		return -EINPROGRESS;
	if (err == -EADDRNOTAVAIL)
		return err;
	sdp_connect_untried(ep, reason);
	if (flags & SDP_CONNECT_NO_TCP)
		return err == -EOPNOTSUPP ? -ENETUNREACH : err;
	return sdp_connect_tcp(ep);
}

/**
 * sdp_connect() - connect(2)
 * @ep: the endpoint
 * @addr: where to, as user space gave it
 * @len: its length
 * @flags: SDP_CONNECT_*
 * @nonblock: do not wait
 *
 * Return: zero or a negative errno.
 */
int sdp_connect(struct sdp_ep *ep, struct sockaddr_storage *addr,
		unsigned int len, unsigned int flags, bool nonblock)
{
	int err, begun;
	long timeo;

	if (mutex_lock_killable(&ep->op_mutex))
		return -ERESTARTSYS;
	err = sdp_connect_start(ep, addr, len, flags);
	mutex_unlock(&ep->op_mutex);

	timeo = nonblock ? 0 : sdp_timeo(ep, true);
	switch (err) {
	case -EALREADY:
	case -EINPROGRESS:
		if (nonblock)
			return err;
		begun = err;
		err = sdp_connect_wait(ep, &timeo);
		/* A time-out of connect(2) tells that it goes on. */
		if (err)
			return err == -EAGAIN ? begun : err;
		break;
	case -EISCONN:
		break;
	default:
		return err;
	}
	return sdp_connect_result(ep, addr, len, nonblock);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Listening on SDP and TCP at once, and accepting from whichever has one.  An incoming
 * connection goes this way to accept(2):
 *
 *	ASKED ---> HELD -----> QUEUED ---> TAKEN
 *	  | |                  ^    |
 *	  | +----> DEFERRED ---+    |
 *	  |           |             |
 *	  +--> GONE <-+     (straight from HELD or DEFERRED, if nobody listens any more)
 *
 * ASKED: it is not established.  HELD: one that the same peer asked for before is to be
 * accepted first.  DEFERRED: TCP_DEFER_ACCEPT waits for bytes.  QUEUED: accept(2) can have
 * it.  TAKEN: accept(2) has it, or the listener's end.  GONE: nobody will ever have it.
 */
#include <linux/file.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/inet_connection_sock.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/netns/core.h>
#include <net/tcp.h>

#include "switch/switch.h"

static bool sdp_listening(struct sdp_ep *ep)
{
	/* Pairs with the release in sdp_state_set(): how it listens is known, too. */
	return smp_load_acquire(&ep->state) == SDP_STATE_LISTEN;
}

/**
 * sdp_listens_alone() - does it listen on SDP, but its native socket does not?
 * @ep: the endpoint
 */
bool sdp_listens_alone(struct sdp_ep *ep)
{
	return sdp_listening(ep) && READ_ONCE(ep->listen->no_tcp);
}

static int sdp_listen_make(struct sdp_ep *ep)
{
	struct sdp_listener *listen;

	if (ep->listen)
		return 0;
	listen = kzalloc(sizeof(*listen), GFP_KERNEL_ACCOUNT);
	if (!listen)
		return -ENOBUFS;
	listen->ep = ep;
	INIT_HLIST_NODE(&listen->node);
	INIT_LIST_HEAD(&listen->accept_queue);
	INIT_LIST_HEAD(&listen->deferred_queue);
	INIT_LIST_HEAD(&listen->coming);
	/* It is complete: pairs with the acquire in sdp_ep_listen(). */
	smp_store_release(&ep->listen, listen);
	return 0;
}

/* As the native socket does it, or at its address without it. */
static int sdp_listen_native(struct sdp_ep *ep, int backlog, bool alone,
			     struct sockaddr_storage *local)
{
	int err = alone ? sdp_native_autobind(ep) :
			  kernel_listen(sdp_native_sk(ep)->sk_socket, backlog);

	return err ? : sdp_native_local(ep, local);
}

/* What it has listened with so far stays. */
static u32 sdp_listen_flags(const struct sdp_ep *ep, u32 flags)
{
	if (ep->state == SDP_STATE_LISTEN)
		return ep->listen->no_tcp ? SDP_LISTEN_NO_TCP :
		       ep->listen->port ? 0 : SDP_LISTEN_NO_SDP;
	return ep->no_tcp_ever ? SDP_LISTEN_NO_TCP : flags;
}

static void sdp_listen_done(struct sdp_ep *ep)
{
	sdp_ep_lock(ep);
	sdp_state_set(ep, SDP_STATE_LISTEN);
	sdp_ep_unlock(ep);
}

/**
 * sdp_listen() - listen(2)
 * @ep: the endpoint, op_mutex held
 * @backlog: connections that may wait, for each carrier
 * @flags: SDP_LISTEN_*
 *
 * Return: zero or a negative errno.
 */
int sdp_listen(struct sdp_ep *ep, int backlog, u32 flags)
{
	int most = READ_ONCE(ep->net->core.sysctl_somaxconn);
	struct sock *sk = sdp_native_sk(ep);
	struct sockaddr_storage local;
	struct sdp_listener *listen;
	int err;

	if (!sk || !sdp_ep_native(ep) || ep->carrier == SDP_CARRIER_TCP)
		return -EINVAL;
	if ((unsigned int)backlog > most)
		backlog = most;
	flags = sdp_listen_flags(ep, flags);
	err = sdp_listen_make(ep);
	if (!err)
		err = sdp_listen_native(ep, backlog, flags & SDP_LISTEN_NO_TCP, &local);
	if (err)
		return err;

	listen = ep->listen;
	/* An address in the table of listeners does not change. */
	if (listen->port && (listen->port != sdp_addr_port(&local) ||
			     !sdp_addr_same_host(&ep->local, &local)))
		sdp_port_del(ep);
	sdp_ep_lock(ep);
	listen->backlog = backlog;
	if (!listen->port)
		ep->local = local;
	listen->no_tcp = flags & SDP_LISTEN_NO_TCP;
	sdp_ep_unlock(ep);
	if (!listen->port && !(flags & SDP_LISTEN_NO_SDP))
		err = sdp_port_add(ep, sdp_addr_port(&local));
	if (!err)
		/* After all of the above: sdp_listening() is asked without the lock. */
		sdp_listen_done(ep);
	else if (!(flags & SDP_LISTEN_NO_TCP))
		/* Nobody is to get a connection there. */
		kernel_sock_shutdown(sk->sk_socket, SHUT_RDWR);
	return err;
}

/* The steps that are allowed. */
static const u8 sdp_accept_steps[] = {
	[SDP_ACCEPT_NONE]     = BIT(SDP_ACCEPT_ASKED),
	[SDP_ACCEPT_ASKED]    = BIT(SDP_ACCEPT_HELD) | BIT(SDP_ACCEPT_DEFERRED) |
				BIT(SDP_ACCEPT_QUEUED) | BIT(SDP_ACCEPT_GONE),
	[SDP_ACCEPT_HELD]     = BIT(SDP_ACCEPT_QUEUED) | BIT(SDP_ACCEPT_TAKEN),
	[SDP_ACCEPT_DEFERRED] = BIT(SDP_ACCEPT_QUEUED) | BIT(SDP_ACCEPT_TAKEN) |
				BIT(SDP_ACCEPT_GONE),
	[SDP_ACCEPT_QUEUED]   = BIT(SDP_ACCEPT_TAKEN),
	[SDP_ACCEPT_TAKEN]    = 0,
	[SDP_ACCEPT_GONE]     = 0,
};

/**
 * sdp_accept_set() - an incoming connection goes on
 * @ep: its endpoint; its listener's lock held
 * @next: to what
 */
void sdp_accept_set(struct sdp_ep *ep, enum sdp_accept_state next)
{
	SDP_ASSERT(sdp_accept_steps[ep->accept] & BIT(next));
	WRITE_ONCE(ep->accept, next);
}

/* It is its listener's owner's now. */
static void sdp_accept_counts(struct sdp_ep *child)
{
	struct sdp_conn *conn;

	sdp_uncharge(&child->account, SDP_LIMIT_PEERS, 1);
	if (!sdp_account_is_root(&child->account))
		return;
	/* Nobody destroys the connection as long as the mutex is held. */
	conn = sdp_conn_get(child);
	if (!conn)
		return;
	mutex_lock(&conn->tx.mutex);
	if (sdp_conn_live(conn))
		sdp_xprt_disown(conn->xc);
	mutex_unlock(&conn->tx.mutex);
	sdp_conn_put(conn);
}

/* Takes the first of the queue; the queue's reference passes on. */
static struct sdp_ep *sdp_accept_pop(struct sdp_ep *ep)
{
	struct sdp_ep *child;

	sdp_ep_lock(ep);
	child = list_first_entry_or_null(&ep->listen->accept_queue, struct sdp_ep,
					 accept_node);
	if (child) {
		list_del_init(&child->accept_node);
		list_del_init(&child->coming_node);
		/* It may be one that was held or deferred, for sdp_unlisten(). */
		sdp_accept_set(child, SDP_ACCEPT_TAKEN);
		ep->listen->pending--;
	}
	sdp_ep_unlock(ep);
	if (!child)
		return NULL;

	sdp_ep_lock(child);
	child->listener = NULL;
	sdp_ep_unlock(child);
	sdp_accept_counts(child);
	sdp_ep_put(ep);
	return child;
}

/**
 * sdp_unlisten() - stop listening
 * @ep: the endpoint; where it does not listen nothing happens
 */
void sdp_unlisten(struct sdp_ep *ep)
{
	struct sdp_listener *listen = sdp_ep_listen(ep);
	struct sdp_ep *child;

	if (!listen ||
	    (!(READ_ONCE(listen->port) && sdp_port_del(ep)) && !sdp_listening(ep)))
		return;
	sdp_ep_lock(ep);
	/* Somebody else may have stopped it meanwhile, and gone on. */
	if (ep->state == SDP_STATE_LISTEN)
		sdp_state_set(ep, SDP_STATE_BOUND);
	list_splice_tail_init(&listen->deferred_queue, &listen->accept_queue);
	sdp_ep_unlock(ep);

	/* A connection that is not established yet finds out when it is. */
	while ((child = sdp_accept_pop(ep))) {
		sdp_ep_lock(child);
		child->orphan = true;
		if (child->conn)
			sdp_abort(child->conn, SDP_REASON_LOCAL_ABORT, 0);
		sdp_ep_kick(child);
		sdp_ep_unlock(child);
		sdp_ep_put(child);
	}
	sdp_ep_tell(ep, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

/**
 * sdp_accept_ready() - can a connection over SDP be accepted?
 * @ep: the endpoint
 */
bool sdp_accept_ready(struct sdp_ep *ep)
{
	struct sdp_listener *listen = sdp_ep_listen(ep);

	return listen && !list_empty_careful(&listen->accept_queue);
}

static bool sdp_accept_any(struct sdp_ep *ep)
{
	return sdp_accept_ready(ep) || !sdp_listening(ep) ||
	       (!ep->listen->no_tcp && sdp_native_poll(ep));
}

static int sdp_accept_native(struct sdp_ep *ep, struct sdp_accepted *got)
{
	if (sdp_listens_alone(ep))
		return -EAGAIN;
	return kernel_accept(sdp_native_sk(ep)->sk_socket, &got->sock, O_NONBLOCK);
}

/*
 * A connection that waits, or -EAGAIN.  Both carriers take turns, so that many clients on
 * one of them do not keep those on the other out.
 */
static int sdp_accept_next(struct sdp_ep *ep, struct sdp_accepted *got)
{
	bool tcp = READ_ONCE(ep->listen->accept_tcp) && sdp_native_poll(ep);

	WRITE_ONCE(ep->listen->accept_tcp, false);
	if (tcp && !sdp_accept_native(ep, got))
		return 0;
	got->ep = sdp_accept_pop(ep);
	if (!got->ep)
		return sdp_accept_native(ep, got);
	WRITE_ONCE(ep->listen->accept_tcp, true);
	return 0;
}

/**
 * sdp_ep_accept() - wait for a connection
 * @ep: the listener
 * @nonblock: do not wait
 * @got: out: the connection
 *
 * Return: zero or a negative errno.
 */
int sdp_ep_accept(struct sdp_ep *ep, bool nonblock, struct sdp_accepted *got)
{
	long most = sdp_timeo(ep, false), timeo = nonblock ? 0 : most;
	int err;

	for (;;) {
		if (!sdp_listening(ep))
			return -EINVAL;
		err = sdp_accept_next(ep, got);
		if (err != -EAGAIN || !timeo)
			return err;
		timeo = wait_event_interruptible_timeout(ep->wait,
							 sdp_accept_any(ep),
							 timeo);
		if (timeo < 0)
			return sock_intr_errno(most);
	}
}

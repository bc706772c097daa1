// SPDX-License-Identifier: GPL-2.0
/*
 * Listening on SDP and TCP at once, and accepting from whichever has one.
 */
#include <linux/file.h>
#include <linux/net.h>
#include <net/inet_connection_sock.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/netns/core.h>
#include <net/tcp.h>

#include "switch/switch.h"

static bool sdp_listening(struct sdp_ep *ep)
{
	/* Pairs with the release in sdp_listen(): how it listens is known, too. */
	return smp_load_acquire(&ep->state) == SDP_STATE_LISTEN;
}

/**
 * sdp_listens_alone() - does it listen on SDP, but its native socket does not?
 * @ep: the endpoint
 */
bool sdp_listens_alone(struct sdp_ep *ep)
{
	return sdp_listening(ep) && READ_ONCE(ep->no_tcp_listen);
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
	struct sock *sk = sdp_native_sk(ep);
	int most = READ_ONCE(ep->net->core.sysctl_somaxconn);
	struct sockaddr_storage local;
	int err;

	if (!sk || !sdp_ep_native(ep) || ep->carrier == SDP_CARRIER_TCP)
		return -EINVAL;
	if ((unsigned int)backlog > most)
		backlog = most;
	if (ep->no_tcp_ever)
		flags = SDP_LISTEN_NO_TCP;
	if (ep->state == SDP_STATE_LISTEN)
		flags = ep->no_tcp_listen ? SDP_LISTEN_NO_TCP :
			ep->port ? 0 : SDP_LISTEN_NO_SDP;
	if (flags & SDP_LISTEN_NO_TCP)
		err = sdp_native_autobind(ep);
	else
		err = kernel_listen(sk->sk_socket, backlog);
	if (!err)
		err = sdp_native_local(ep, &local);
	if (err)
		return err;

	/* An address in the table of listeners does not change. */
	if (ep->port && (ep->port != sdp_addr_port(&local) ||
			 !sdp_addr_same_host(&ep->local, &local)))
		sdp_port_del(ep);
	sdp_ep_lock(ep);
	ep->backlog = backlog;
	if (!ep->port)
		ep->local = local;
	ep->no_tcp_listen = flags & SDP_LISTEN_NO_TCP;
	sdp_ep_unlock(ep);
	if (!ep->port && !(flags & SDP_LISTEN_NO_SDP))
		err = sdp_port_add(ep, sdp_addr_port(&local));
	if (!err)
		/* After all of the above: pairs with the acquire in sdp_listening(). */
		smp_store_release(&ep->state, SDP_STATE_LISTEN);
	else if (!(flags & SDP_LISTEN_NO_TCP))
		/* Nobody is to get a connection there. */
		kernel_sock_shutdown(sk->sk_socket, SHUT_RDWR);
	return err;
}

/* It is its listener's owner's now. */
static void sdp_accept_counts(struct sdp_ep *child)
{
	sdp_uncharge(&child->account, SDP_LIMIT_PEERS, 1);
	if (!sdp_account_is_root(&child->account))
		return;
	/* Nobody destroys the connection as long as the mutex is held. */
	mutex_lock(&child->tx_mutex);
	if (READ_ONCE(child->live))
		child->xprt->disown(child->conn);
	mutex_unlock(&child->tx_mutex);
}

/* Takes the first of the queue; the queue's reference passes on. */
static struct sdp_ep *sdp_accept_pop(struct sdp_ep *ep)
{
	struct sdp_ep *child;

	sdp_ep_lock(ep);
	child = list_first_entry_or_null(&ep->accept_queue, struct sdp_ep,
					 accept_node);
	if (child) {
		list_del_init(&child->accept_node);
		list_del_init(&child->coming_node);
		/* It may be one that was deferred, for sdp_unlisten(). */
		child->accept_queued = true;
		child->held = false;
		ep->pending--;
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
	struct sdp_ep *child;

	if (!(READ_ONCE(ep->port) && sdp_port_del(ep)) && !sdp_listening(ep))
		return;
	sdp_ep_lock(ep);
	ep->state = SDP_STATE_BOUND;
	list_splice_tail_init(&ep->deferred_queue, &ep->accept_queue);
	sdp_ep_unlock(ep);

	/* Who is not established yet finds out when it is. */
	while ((child = sdp_accept_pop(ep))) {
		sdp_ep_lock(child);
		child->orphan = true;
		sdp_abort(child, SDP_REASON_LOCAL_ABORT, 0);
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
	return !list_empty_careful(&ep->accept_queue);
}

static bool sdp_accept_any(struct sdp_ep *ep)
{
	return sdp_accept_ready(ep) || !sdp_listening(ep) ||
	       (!ep->no_tcp_listen && sdp_native_poll(ep));
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
	bool tcp = READ_ONCE(ep->accept_tcp) && sdp_native_poll(ep);

	WRITE_ONCE(ep->accept_tcp, false);
	if (tcp && !sdp_accept_native(ep, got))
		return 0;
	got->ep = sdp_accept_pop(ep);
	if (!got->ep)
		return sdp_accept_native(ep, got);
	WRITE_ONCE(ep->accept_tcp, true);
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

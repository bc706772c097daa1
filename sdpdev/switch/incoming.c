// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that peers ask for, until they are accepted.
 *
 * An incoming connection is an endpoint of its own from the first moment.  It
 * holds a reference to its listener until it is accepted or forgotten, and it
 * is in the listener's queue once established; with TCP_DEFER_ACCEPT in another
 * queue until there is something to read, or the time is over.
 *
 * Those of one peer are accepted in the order in which it asked for them: who connects
 * twice, one after the other, counts on that, but transports tell of different
 * connections from different processors, in any order.  So one that is established
 * before another that the same peer asked for earlier is held in that other queue
 * until that one is established or has ended, and for SDP_ORDER_TIME at most.  The
 * connections of other peers wait for neither.
 * listen.c draws the states of an incoming connection.
 */
#include <net/inet_connection_sock.h>
#include <net/inet_sock.h>
#include <net/tcp.h>

#include "switch/switch.h"

/*
 * How long one that is not established may hold later ones: a message of the
 * transport's that was lost is there again after a second or so.
 */
#define SDP_ORDER_TIME	(2 * HZ)

/*
 * How many others wait at a listener.  It leaves as much as it has: however many
 * connections peers ask it for, the user's other listeners get some.
 */
static long sdp_incoming_others(const struct sdp_ep *listener)
{
	return max(READ_ONCE(listener->listen->pending) - 1, 0);
}

/* Makes the endpoint of an incoming connection. */
static struct sdp_ep *sdp_incoming_create(struct sdp_ep *listener,
					  const struct sdp_xprt_event *ev)
{
	struct sdp_ep *ep = sdp_ep_create(listener->ops, listener);

	if (!ep)
		return NULL;
	if (sdp_ep_set_net(ep, listener->net) || !sdp_port_lend(ep, listener) ||
	    sdp_charge_sparing(&ep->account, SDP_LIMIT_PEERS, 1,
			       sdp_incoming_others(listener)))
		goto err_ep;
	if (sdp_charge(&ep->account, SDP_LIMIT_CONNS, 1))
		goto err_peers;
	sdp_ep_lock(ep);
	sdp_carrier_set(ep, SDP_CARRIER_SDP);
	sdp_state_set(ep, SDP_STATE_CONNECTING);
	sdp_ep_unlock(ep);
	ep->local = *ev->local;
	ep->peer = *ev->peer;
	sdp_addr_map(&ep->local, listener->family);
	sdp_addr_map(&ep->peer, listener->family);
	sdp_opts_get(listener, &ep->tcp->opts);
	sdp_inherit_get(sdp_native_sk(listener), &ep->tcp->inherited);
	ep->connect_told = true;
	ep->accepting = true;
	sdp_ep_set_ready(ep, listener->family);
	return ep;

err_peers:
	sdp_uncharge(&ep->account, SDP_LIMIT_PEERS, 1);
err_ep:
	sdp_ep_put(ep);
	return NULL;
}

/* Counts the newcomer against the listener's backlog. */
static int sdp_incoming_admit(struct sdp_ep *listener)
{
	int err = 0;

	sdp_ep_lock(listener);
	if (listener->state != SDP_STATE_LISTEN || sdp_native_signs(listener)) {
		err = -ECONNREFUSED;
	} else if (listener->listen->pending > listener->listen->backlog) {
		sdp_count(SDP_CNT_REFUSED_BACKLOG);
		err = -ECONNREFUSED;
	} else {
		listener->listen->pending++;
	}
	sdp_ep_unlock(listener);
	return err;
}

/* Would TCP's answer leave by the transport?  Rules may be for the listener alone. */
static int sdp_incoming_route(struct sdp_ep *listener, const struct sdp_xprt_ops *xprt,
			      const struct sdp_xprt_event *ev)
{
	struct sdp_xprt_params params = { .local = *ev->local, .peer = *ev->peer };

	return sdp_native_flow(listener, &params) ? : xprt->route(listener->net, &params);
}

/* Gives the endpoint of an incoming connection its connection. */
static int sdp_incoming_begin(struct sdp_ep *ep, struct sdp_ep *listener,
			      struct sdp_xprt_conn *xc, const struct sdp_hello *hello)
{
	struct sdp_conn *conn = sdp_conn_create(ep, xc->ops);

	if (!conn)
		return -ENOMEM;
	if (!sdp_xprt_get(xc->ops)) {
		sdp_conn_put(conn);
		return -ENETDOWN;
	}
	sdp_ep_lock(ep);
	sdp_size_init(conn);
	sdp_conn_attach(conn, xc);
	ep->listener = listener;
	ep->defer_end = jiffies + SDP_ORDER_TIME;
	spin_lock_nested(&listener->lock, SINGLE_DEPTH_NESTING);
	sdp_accept_set(ep, SDP_ACCEPT_ASKED);
	list_add_tail(&ep->coming_node, &listener->listen->coming);
	spin_unlock(&listener->lock);
	sdp_credit_peer(&conn->credit, hello->bufs);
	conn->tx.size = min(hello->rcv_sz, conn->rx.size);
	sdp_ep_kick(ep);
	sdp_ep_unlock(ep);
	return 0;
}

/**
 * sdp_incoming() - a peer asks for a connection
 * @xc: the transport's new connection
 * @ev: the event
 *
 * Return: zero, or a negative errno that refuses it.
 */
int sdp_incoming(struct sdp_xprt_conn *xc, const struct sdp_xprt_event *ev)
{
	struct sdp_ep *listener, *ep;
	struct sdp_hello hello;
	enum sdp_bad bad;
	int err;

	bad = sdp_parse_hello(ev->pdata, ev->pdata_len, &hello);
	if (bad) {
		sdp_count(SDP_CNT_BAD + bad);
		sdp_count(SDP_CNT_REFUSED_BAD_HELLO);
		return -EPROTO;
	}
	listener = sdp_port_find(ev);
	if (!listener) {
		sdp_count(SDP_CNT_REFUSED_NO_LISTENER);
		return -ECONNREFUSED;
	}
	err = sdp_incoming_route(listener, xc->ops, ev);
	if (!err)
		err = sdp_incoming_admit(listener);
	if (err)
		goto err_listener;
	ep = sdp_incoming_create(listener, ev);
	if (!ep) {
		err = -ENOMEM;
		goto err_pending;
	}
	err = sdp_incoming_begin(ep, listener, xc, &hello);
	if (!err)
		return 0;

	sdp_uncharge(&ep->account, SDP_LIMIT_CONNS, 1);
	sdp_uncharge(&ep->account, SDP_LIMIT_PEERS, 1);
	sdp_ep_put(ep);
err_pending:
	sdp_ep_lock(listener);
	listener->listen->pending--;
	sdp_ep_unlock(listener);
err_listener:
	sdp_ep_put(listener);
	return err;
}

/**
 * sdp_incoming_accept() - make an incoming connection ready and accept it
 * @conn: the connection, which user space has not accepted yet
 *
 * Context: the endpoint's work.
 */
void sdp_incoming_accept(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_xprt_params params = {
		.send_depth = conn->tx.depth + SDP_CTL_BUFS,
		.recv_depth = conn->rx.depth,
		.local = ep->local,
		.peer = ep->peer,
	};
	struct sdp_hello hello = {
		.bufs = conn->credit.min,
		.rcv_sz = conn->rx.size,
	};
	struct sdp_hah hah;
	int err;

	sdp_addr_unmap(&params.local);
	sdp_addr_unmap(&params.peer);
	/* It stays the listener: only this work, or accept(2) later, takes it away. */
	sdp_account_share(&ep->account, true, &params.owner, &params.share);
	params.spare = sdp_incoming_others(ep->listener);
	err = conn->xprt->prepare(conn->xc, &params);
	if (!err)
		err = sdp_conn_bufs(conn);
	if (err) {
		conn->xprt->reject(conn->xc, NULL, 0);
	} else {
		sdp_build_hello_ack(&hah, &hello);
		err = conn->xprt->accept(conn->xc, &hah, sizeof(hah));
	}
	if (!err)
		return;
	if (err == -EDQUOT)
		sdp_count(SDP_CNT_OVER_LIMIT);
	sdp_ep_lock(ep);
	sdp_conn_ended(conn, sdp_shortage(err, SDP_REASON_TRANSPORT), ECONNABORTED);
	sdp_ep_unlock(ep);
}

/*
 * How long accept(2) may not have a connection without bytes, in jiffies.  TCP
 * counts in repetitions of its SYN-ACK, each of which waits twice as long as the
 * one before.
 */
static unsigned long sdp_defer_time(struct sdp_ep *listener)
{
	struct sock *sk = sdp_native_sk(listener);
	u8 times = READ_ONCE(inet_csk(sk)->icsk_accept_queue.rskq_defer_accept);
	unsigned long step = TCP_TIMEOUT_INIT, all = 0;

	for (; times; times--) {
		all += step;
		step = min_t(unsigned long, step * 2, TCP_RTO_MAX);
	}
	return all;
}

/* Lets a connection be accepted; its listener's lock held. */
static void sdp_offer(struct sdp_ep *listener, struct sdp_ep *ep)
{
	sdp_accept_set(ep, SDP_ACCEPT_QUEUED);
	list_del_init(&ep->coming_node);
	list_move_tail(&ep->accept_node, &listener->listen->accept_queue);
	sdp_count(SDP_CNT_ACCEPTED);
	sdp_ep_wake(listener, EPOLLIN | EPOLLRDNORM);
}

/* May this one, which is not established, hold those that came later? */
static bool sdp_holds(const struct sdp_ep *ep)
{
	return ep->accept == SDP_ACCEPT_ASKED && time_before(jiffies, ep->defer_end);
}

/* Has the peer asked for another one before, that is still to come? */
static bool sdp_is_held(const struct sdp_ep *listener, const struct sdp_ep *ep)
{
	const struct sdp_ep *other;

	list_for_each_entry(other, &listener->listen->coming, coming_node) {
		if (other == ep)
			return false;
		if (sdp_addr_same_host(&other->peer, &ep->peer) &&
		    (other->accept == SDP_ACCEPT_HELD || sdp_holds(other)))
			return true;
	}
	return false;
}

/* One of @peer does not come any more, or has come: lets those behind it go. */
static void sdp_offer_next(struct sdp_ep *listener,
			   const struct sockaddr_storage *peer)
{
	struct sdp_ep *ep, *next;

	list_for_each_entry_safe(ep, next, &listener->listen->coming, coming_node) {
		if (!sdp_addr_same_host(&ep->peer, peer))
			continue;
		if (sdp_holds(ep))
			return;
		if (ep->accept == SDP_ACCEPT_HELD)
			sdp_offer(listener, ep);
	}
}

/*
 * Releases the lock of @listener, which is told when that of @ep, which is held, is
 * released as well.
 */
static void sdp_incoming_unlock(struct sdp_ep *listener, struct sdp_ep *ep)
	__releases(&listener->lock)
{
	if (listener->events)
		ep->told_listener = listener;
	listener->events = 0;
	listener->sigio = 0;
	spin_unlock(&listener->lock);
}

/*
 * Puts it into one of the listener's queues, with @defer jiffies in the one of those
 * not to be accepted yet; false if nobody listens any more.
 */
static bool sdp_incoming_queue(struct sdp_ep *ep, struct sdp_ep *listener,
			       unsigned long defer)
{
	bool listens;

	spin_lock_nested(&listener->lock, SINGLE_DEPTH_NESTING);
	listens = listener->state == SDP_STATE_LISTEN;
	if (listens && defer) {
		sdp_accept_set(ep, SDP_ACCEPT_DEFERRED);
		ep->defer_end = jiffies + defer;
		list_add_tail(&ep->accept_node, &listener->listen->deferred_queue);
		list_del_init(&ep->coming_node);
		sdp_offer_next(listener, &ep->peer);
	} else if (listens && sdp_is_held(listener, ep)) {
		list_add_tail(&ep->accept_node, &listener->listen->deferred_queue);
		sdp_accept_set(ep, SDP_ACCEPT_HELD);
	} else if (listens) {
		sdp_offer(listener, ep);
		sdp_offer_next(listener, &ep->peer);
	}
	sdp_incoming_unlock(listener, ep);
	return listens;
}

/* Is it established, but not to be accepted yet? */
static bool sdp_accept_waits(const struct sdp_ep *ep)
{
	u8 accept = READ_ONCE(ep->accept);

	return accept == SDP_ACCEPT_HELD || accept == SDP_ACCEPT_DEFERRED;
}

/**
 * sdp_incoming_offer() - let a connection be accepted that was not to be yet
 * @ep: its endpoint, ep->lock held
 */
void sdp_incoming_offer(struct sdp_ep *ep)
{
	struct sdp_ep *listener = ep->listener;

	if (!listener)
		return;
	spin_lock_nested(&listener->lock, SINGLE_DEPTH_NESTING);
	/* Otherwise that is done, or sdp_unlisten() has taken it out, and ends it. */
	if (sdp_accept_waits(ep)) {
		sdp_offer(listener, ep);
		sdp_offer_next(listener, &ep->peer);
	}
	sdp_incoming_unlock(listener, ep);
}

/* Offers it when the time is over, whatever has come by then. */
static void sdp_incoming_watch(struct sdp_ep *ep)
{
	long left = ep->defer_end - jiffies;

	sdp_ep_get(ep);
	if (mod_delayed_work(sdp_wq, &ep->offer, max(left, 0L)))
		refcount_dec(&ep->ref);
}

/**
 * sdp_incoming_time() - struct sdp_ep_ops.offer: it has been held back for long enough
 * @work: of struct sdp_ep
 */
void sdp_incoming_time(struct work_struct *work)
{
	struct sdp_ep *ep = container_of(to_delayed_work(work), struct sdp_ep, offer);

	sdp_ep_lock(ep);
	if (ep->conn && sdp_conn_open(ep->conn) && sdp_accept_waits(ep))
		sdp_incoming_offer(ep);
	sdp_ep_unlock(ep);
	sdp_ep_put(ep);
}

/**
 * sdp_incoming_established() - messages flow on an incoming connection
 * @ep: its endpoint, ep->lock held
 */
void sdp_incoming_established(struct sdp_ep *ep)
{
	struct sdp_ep *listener = ep->listener;
	unsigned long defer;

	if (ep->state != SDP_STATE_CONNECTING || sdp_conn_dead(ep->conn) || !listener)
		return;
	sdp_state_set(ep, SDP_STATE_CONNECTED);
	sdp_phase_set(ep->conn, SDP_PHASE_OPEN);
	defer = sdp_defer_time(listener);
	if (!sdp_incoming_queue(ep, listener, defer)) {
		/* sdp_incoming_forget() follows. */
		sdp_abort(ep->conn, SDP_REASON_LOCAL_ABORT, 0);
		return;
	}
	if (sdp_accept_waits(ep))
		sdp_incoming_watch(ep);
	sdp_alive_begin(ep->conn);
	sdp_tx_push(ep->conn);
}

/**
 * sdp_incoming_forget() - give up an incoming connection before it is accepted
 * @ep: an endpoint that ends; nothing happens where it is none such
 *
 * One that is in the queue stays there: accept(2) returns it, and its error is
 * found later, as with TCP.  So it is with one that is held, which waits for nothing
 * any more.  One that is deferred nobody will ever have heard of.
 *
 * Context: the endpoint's work.
 */
void sdp_incoming_forget(struct sdp_ep *ep)
{
	struct sdp_ep *listener;
	bool mine = false;

	/* Only this, and accept(2), take it away. */
	if (!READ_ONCE(ep->listener))
		return;
	sdp_ep_lock(ep);
	listener = ep->listener;
	if (listener) {
		spin_lock_nested(&listener->lock, SINGLE_DEPTH_NESTING);
		if (ep->accept == SDP_ACCEPT_HELD)
			sdp_offer(listener, ep);
		mine = ep->accept == SDP_ACCEPT_ASKED || ep->accept == SDP_ACCEPT_DEFERRED;
		if (mine) {
			sdp_accept_set(ep, SDP_ACCEPT_GONE);
			list_del_init(&ep->accept_node);
			list_del_init(&ep->coming_node);
			listener->listen->pending--;
		}
		sdp_offer_next(listener, &ep->peer);
		sdp_incoming_unlock(listener, ep);
	}
	if (mine) {
		ep->listener = NULL;
		ep->orphan = true;
	}
	sdp_ep_unlock(ep);
	if (!mine)
		return;

	sdp_uncharge(&ep->account, SDP_LIMIT_PEERS, 1);
	sdp_ep_put(listener);
	/* The reference from its making: nobody will accept it. */
	sdp_ep_put(ep);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Ports: who listens where, and what else keeps one from others.  The native sockets
 * have them from TCP, which finds most of those who want the same; what only SDP knows
 * is here.
 */
#include <linux/file.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>

#include "switch/switch.h"

/**
 * struct sdp_pair - both ends of a connection from a port that may be shared
 * @node: in the table of all (sdp_ports_lock)
 * @net: whose addresses they are
 * @local: its own, inner form
 * @peer: the other's
 *
 * Belongs to the endpoint, from before the attempt until the connection has ended.
 */
struct sdp_pair {
	struct hlist_node node;
	const struct net *net;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
};

static DEFINE_HASHTABLE(sdp_ports, 8);
static DEFINE_HASHTABLE(sdp_pairs, 8);
static DEFINE_SPINLOCK(sdp_ports_lock);

/* May these two not listen on one port?  As TCP sees it. */
static bool sdp_port_conflict(struct sdp_ep *a, struct sdp_ep *b)
{
	struct sock *x = sdp_native_sk(a), *y = sdp_native_sk(b);
	int x_if = READ_ONCE(x->sk_bound_dev_if), y_if = READ_ONCE(y->sk_bound_dev_if);

	if (!net_eq(a->net, b->net) || (x_if && y_if && x_if != y_if))
		return false;
	if (x->sk_reuseport && y->sk_reuseport && uid_eq(a->account.uid, b->account.uid))
		return false;
	return inet_rcv_saddr_equal(x, y, true);
}

/* Has TCP still given the native socket what the endpoint listens on? */
static bool sdp_port_holds(const struct sdp_listener *listen)
{
	return sdp_native_holds(listen->ep, listen->port, !listen->no_tcp);
}

/*
 * Does another endpoint listen there, and one of both without TCP?  TCP finds all other
 * conflicts.
 */
static bool sdp_port_taken(struct sdp_ep *ep, u16 port)
{
	struct sdp_listener *other;

	hash_for_each_possible(sdp_ports, other, node, port)
		if (other->port == port &&
		    (ep->listen->no_tcp || other->no_tcp) &&
		    sdp_port_holds(other) && sdp_port_conflict(ep, other->ep))
			return true;
	return false;
}

/**
 * sdp_port_add() - listen on a port
 * @ep: the endpoint, op_mutex held
 * @port: the port, host byte order
 *
 * Return: zero, -EADDRINUSE, or -ENOBUFS.
 */
int sdp_port_add(struct sdp_ep *ep, u16 port)
{
	struct sdp_xprt_port *heard = sdp_xprt_listen(ep->net, port, SDP_XPRT_ENDPOINTS);
	int err = 0;

	if (IS_ERR(heard))
		return PTR_ERR(heard);
	spin_lock_bh(&sdp_ports_lock);
	if (sdp_port_taken(ep, port)) {
		err = -EADDRINUSE;
	} else {
		ep->listen->port = port;
		ep->listen->heard = heard;
		hash_add(sdp_ports, &ep->listen->node, port);
	}
	spin_unlock_bh(&sdp_ports_lock);
	if (err)
		sdp_xprt_unlisten(heard);
	return err;
}

/**
 * sdp_port_del() - stop listening
 * @ep: the endpoint
 *
 * Return: whether it listened.
 */
bool sdp_port_del(struct sdp_ep *ep)
{
	struct sdp_xprt_port *heard = NULL;

	spin_lock_bh(&sdp_ports_lock);
	if (ep->listen->port) {
		hash_del(&ep->listen->node);
		ep->listen->port = 0;
		heard = ep->listen->heard;
	}
	spin_unlock_bh(&sdp_ports_lock);
	if (heard)
		sdp_xprt_unlisten(heard);
	return heard;
}

/* The socket to which TCP would give this connection, or NULL; RCU held. */
static const struct sock *sdp_port_tcp_listener(const struct sdp_xprt_event *ev)
{
	const struct sockaddr_in6 *to6 = (const struct sockaddr_in6 *)ev->local;
	const struct sockaddr_in6 *from6 = (const struct sockaddr_in6 *)ev->peer;
	const struct sockaddr_in *to = (const struct sockaddr_in *)ev->local;
	const struct sockaddr_in *from = (const struct sockaddr_in *)ev->peer;
	struct inet_hashinfo *table = ev->net->ipv4.tcp_death_row.hashinfo;
	int master = l3mdev_master_ifindex_by_index(ev->net, ev->ifindex);
	u16 port = sdp_addr_port(ev->local);

	if (ev->local->ss_family == AF_INET)
		return __inet_lookup_listener(ev->net, table, NULL, 0, from->sin_addr.s_addr,
					      from->sin_port, to->sin_addr.s_addr, port,
					      ev->ifindex, master);
	return inet6_lookup_listener(ev->net, table, NULL, 0, &from6->sin6_addr,
				     from6->sin6_port, &to6->sin6_addr, port, ev->ifindex,
				     master);
}

/*
 * May the endpoint have this connection?  The port has to be its user's in TCP's eyes:
 * its native socket listens there, or no other user's socket does.  TCP would give the
 * connection to @tcp.
 */
static bool sdp_port_owned(const struct sdp_listener *listen, const struct sock *tcp)
{
	if (!sdp_port_holds(listen))
		return false;
	if (!listen->no_tcp)
		return true;
	return !tcp || uid_eq(tcp->sk_uid, sdp_native_sk(listen->ep)->sk_uid);
}

/*
 * How well a listener fits a destination: the more is fixed the better, as with
 * TCP; negative: not at all.
 */
static int sdp_port_score(const struct sdp_listener *listen, const struct sdp_xprt_event *ev,
			  const struct sock *tcp)
{
	const struct sdp_ep *ep = listen->ep;
	struct sock *sk = sdp_native_sk(listen->ep);
	struct sockaddr_storage bound = ep->local;
	int dev = READ_ONCE(sk->sk_bound_dev_if);
	int score = 0;

	if (!net_eq(ep->net, ev->net) || (dev && dev != ev->ifindex) ||
	    !sdp_port_owned(listen, tcp))
		return -1;
	if (dev)
		score++;
	sdp_addr_unmap(&bound);
	if (sdp_addr_any(&bound)) {
		if (bound.ss_family == ev->local->ss_family)
			return score + 1;
		return bound.ss_family == AF_INET6 && !ipv6_only_sock(sk) ?
		       score : -1;
	}
	return sdp_addr_same_host(&bound, ev->local) ? score + 4 : -1;
}

/**
 * sdp_port_find() - who gets an incoming connection
 * @ev: the transport's event
 *
 * Of those that share a port (SO_REUSEPORT) each gets its part.
 *
 * Return: the listener that fits best, referenced, or NULL.
 */
struct sdp_ep *sdp_port_find(const struct sdp_xprt_event *ev)
{
	u16 port = sdp_addr_port(ev->local);
	struct sdp_listener *listen;
	struct sdp_ep *best = NULL;
	const struct sock *tcp;
	int score, most = -1;
	u32 same = 0;

	rcu_read_lock();
	/* Once for all that share the port, and not under everybody's lock. */
	tcp = sdp_port_tcp_listener(ev);
	spin_lock_bh(&sdp_ports_lock);
	hash_for_each_possible(sdp_ports, listen, node, port) {
		if (listen->port != port)
			continue;
		score = sdp_port_score(listen, ev, tcp);
		if (score < 0 || score < most)
			continue;
		if (score > most)
			same = 0;
		most = score;
		if (!reciprocal_scale(get_random_u32(), ++same))
			best = listen->ep;
	}
	if (best)
		sdp_ep_get(best);
	spin_unlock_bh(&sdp_ports_lock);
	rcu_read_unlock();
	return best;
}

/**
 * sdp_port_lend() - an incoming connection is on its listener's port
 * @ep: its endpoint
 * @listener: the listener
 *
 * As with TCP, nobody else gets the port before the last of them has ended, unless
 * SO_REUSEADDR says so: the listener's native socket lives on for them.
 *
 * Return: false where nobody listens any more.
 */
bool sdp_port_lend(struct sdp_ep *ep, struct sdp_ep *listener)
{
	/* Who closes the listener looks for it when nobody listens any more. */
	sdp_ep_lock(listener);
	if (listener->state == SDP_STATE_LISTEN) {
		/* Pairs with sdp_close_port(), which comes after a listener's end. */
		WRITE_ONCE(listener->listen->lent, true);
		ep->port_file = get_file(listener->tcp->file);
	}
	sdp_ep_unlock(listener);
	return ep->port_file;
}

static bool sdp_pair_same(const struct sdp_pair *a, const struct sdp_pair *b)
{
	return net_eq(a->net, b->net) &&
	       sdp_addr_port(&a->local) == sdp_addr_port(&b->local) &&
	       sdp_addr_port(&a->peer) == sdp_addr_port(&b->peer) &&
	       sdp_addr_same_host(&a->local, &b->local) &&
	       sdp_addr_same_host(&a->peer, &b->peer);
}

static int sdp_pair_add(struct sdp_pair *pair)
{
	u16 port = sdp_addr_port(&pair->local);
	struct sdp_pair *other;
	int err = 0;

	spin_lock_bh(&sdp_ports_lock);
	hash_for_each_possible(sdp_pairs, other, node, port)
		if (sdp_pair_same(other, pair))
			err = -EADDRNOTAVAIL;
	if (!err)
		hash_add(sdp_pairs, &pair->node, port);
	spin_unlock_bh(&sdp_ports_lock);
	return err;
}

/**
 * sdp_port_pair() - a connection is about to be made
 * @ep: the endpoint, op_mutex held
 * @params: both ends of it
 *
 * Two that share a port (SO_REUSEADDR, SO_REUSEPORT) cannot both connect to the same
 * peer.
 *
 * Return: zero, -EADDRNOTAVAIL where there is such a connection, or -ENOBUFS.
 */
int sdp_port_pair(struct sdp_ep *ep, const struct sdp_xprt_params *params)
{
	struct sock *sk = sdp_native_sk(ep);
	struct sdp_pair *pair;
	int err;

	if (!sk->sk_reuse && !sk->sk_reuseport)
		return 0;
	pair = kmalloc(sizeof(*pair), GFP_KERNEL_ACCOUNT);
	if (!pair)
		return -ENOBUFS;
	pair->net = ep->net;
	pair->local = params->local;
	pair->peer = params->peer;
	err = sdp_pair_add(pair);
	if (err)
		kfree(pair);
	else
		ep->pair = pair;
	return err;
}

/**
 * sdp_port_drop() - the endpoint's connection has ended, or was not made
 * @ep: the endpoint; where it has no part in a port nothing happens
 *
 * Context: process context, one at a time for each endpoint.
 */
void sdp_port_drop(struct sdp_ep *ep)
{
	if (ep->port_file)
		fput(ep->port_file);
	ep->port_file = NULL;
	if (!ep->pair)
		return;
	spin_lock_bh(&sdp_ports_lock);
	hash_del(&ep->pair->node);
	spin_unlock_bh(&sdp_ports_lock);
	kfree(ep->pair);
	ep->pair = NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses and ports.  They are beside TCP's: what is bound here is not bound there.
 */
#include <linux/hashtable.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/netns/hash.h>

#include "direct/direct.h"

/* By namespace and port. */
static DEFINE_HASHTABLE(sdp_direct_ports, 10);
static DEFINE_SPINLOCK(sdp_direct_bounds);

static u32 sdp_direct_key(const struct net *net, __be16 port)
{
	return net_hash_mix(net) + ntohs(port);
}

/* May two sockets have the same port?  sdp_direct_bounds held. */
static bool sdp_direct_clash(const struct sdp_direct *a, const struct sdp_direct *b)
{
	__be32 one = a->local.sin_addr.s_addr, other = b->local.sin_addr.s_addr;

	if (one && other && one != other)
		return false;
	return !a->sk.sk_reuse || !b->sk.sk_reuse || b->sk.sk_state == TCP_LISTEN;
}

/* Is there another one in the way of an address?  sdp_direct_bounds held. */
static bool sdp_direct_taken(const struct sdp_direct *direct)
{
	const struct net *net = sock_net(&direct->sk);
	__be16 port = direct->local.sin_port;
	const struct sdp_direct *other;

	hash_for_each_possible(sdp_direct_ports, other, bound, sdp_direct_key(net, port))
		if (other != direct && other->local.sin_port == port &&
		    net_eq(sock_net(&other->sk), net) && sdp_direct_clash(direct, other))
			return true;
	return false;
}

/* Takes a port if it is free. */
static bool sdp_direct_take_port(struct sdp_direct *direct, u16 port)
{
	bool good;

	spin_lock_bh(&sdp_direct_bounds);
	direct->local.sin_port = htons(port);
	good = !sdp_direct_taken(direct);
	if (good)
		hash_add(sdp_direct_ports, &direct->bound,
			 sdp_direct_key(sock_net(&direct->sk), direct->local.sin_port));
	else
		direct->local.sin_port = 0;
	spin_unlock_bh(&sdp_direct_bounds);
	return good;
}

/* Takes any port.  Others may have the lock, and the processor, between two of them. */
static bool sdp_direct_any_port(struct sdp_direct *direct)
{
	int low, high, i, n;
	u32 first;

	inet_get_local_port_range(sock_net(&direct->sk), &low, &high);
	n = high - low + 1;
	first = get_random_u32() % n;
	for (i = 0; i < n; i++) {
		u16 port = low + (first + i) % n;

		if (!inet_is_local_reserved_port(sock_net(&direct->sk), port) &&
		    sdp_direct_take_port(direct, port))
			return true;
		cond_resched();
	}
	return false;
}

/*
 * Gives a socket, which has none, an address of this host's, or zero, and a port, or zero: any.
 * In process context.  Zero or -EADDRINUSE.
 */
int sdp_direct_bind_to(struct sock *sk, __be32 addr, u16 port)
{
	struct sdp_direct *direct = sdp_direct(sk);
	bool good;

	direct->local.sin_addr.s_addr = addr;
	good = port ? sdp_direct_take_port(direct, port) : sdp_direct_any_port(direct);
	return good ? 0 : -EADDRINUSE;
}

void sdp_direct_unbind(struct sock *sk)
{
	spin_lock_bh(&sdp_direct_bounds);
	hash_del(&sdp_direct(sk)->bound);
	spin_unlock_bh(&sdp_direct_bounds);
}

/* Lets a socket, which is bound, listen, unless another one does at its address. */
bool sdp_direct_may_listen(struct sock *sk)
{
	bool may;

	spin_lock_bh(&sdp_direct_bounds);
	may = !sdp_direct_taken(sdp_direct(sk));
	if (may)
		sk->sk_state = TCP_LISTEN;
	spin_unlock_bh(&sdp_direct_bounds);
	return may;
}

/* The socket that listens, held, or NULL. */
struct sock *sdp_direct_listener(struct net *net, const struct sockaddr_in *addr, int ifindex)
{
	struct sdp_direct *direct;
	struct sock *found = NULL;
	int device;

	spin_lock_bh(&sdp_direct_bounds);
	hash_for_each_possible(sdp_direct_ports, direct, bound,
			       sdp_direct_key(net, addr->sin_port)) {
		device = READ_ONCE(direct->sk.sk_bound_dev_if);
		if (direct->sk.sk_state == TCP_LISTEN && net_eq(sock_net(&direct->sk), net) &&
		    direct->local.sin_port == addr->sin_port &&
		    (!direct->local.sin_addr.s_addr ||
		     direct->local.sin_addr.s_addr == addr->sin_addr.s_addr) &&
		    (!device || device == ifindex)) {
			found = &direct->sk;
			sock_hold(found);
			break;
		}
	}
	spin_unlock_bh(&sdp_direct_bounds);
	return found;
}

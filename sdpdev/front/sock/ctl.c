// SPDX-License-Identifier: GPL-2.0
/*
 * An administrator, or the user who owns a socket, moves its connection: the socket is found by
 * its addresses and its cookie in the caller's network namespace.
 */
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>

#include "front/sock/sock.h"

/* The socket, referenced, or NULL. */
static struct sock *sdp_ctl_find(struct net *net, const struct sdp_ctl_end *end)
{
	u16 port = ntohs(end->local_port);
	struct in6_addr local, peer;
	struct sock *sk = NULL;

	memcpy(&local, end->local, sizeof(local));
	memcpy(&peer, end->peer, sizeof(peer));
	rcu_read_lock();
	if (ipv6_addr_v4mapped(&peer))
		sk = compat_tcp_find4(net, peer.s6_addr32[3], end->peer_port,
				      local.s6_addr32[3], port, end->ifindex, 0);
#if IS_ENABLED(CONFIG_IPV6)
	else
		sk = compat_tcp_find6(net, &peer, end->peer_port, &local, port, end->ifindex, 0);
#endif
	rcu_read_unlock();
	if (!sk)
		return NULL;
	if (sk->sk_state != TCP_TIME_WAIT && sk->sk_state != TCP_NEW_SYN_RECV &&
	    end->cookie && atomic64_read(&sk->sk_cookie) == (s64)end->cookie)
		return sk;
	sock_gen_put(sk);
	return NULL;
}

static bool sdp_ctl_allowed(struct sock *sk)
{
	return ns_capable(sock_net(sk)->user_ns, CAP_NET_ADMIN) ||
	       uid_eq(sk_uid(sk), current_euid());
}

/* Returns 1 if it has moved, or was told to; 0 if that was so; or -errno. */
static int sdp_ctl_do(const struct sdp_ctl *ctl, struct sdp_sock *ss)
{
	if (ctl->command == SDP_CTL_OFFLOAD)
		return sdp_tool_offload(ss);
	return sdp_tool_return(ss, ctl->flags & SDP_CTL_STAY);
}

/*
 * The same for the other end, if it is on this host.  It stays with TCP if one of the two has
 * said so, and has its own reasons not to move.
 */
static int sdp_ctl_other(const struct sdp_ctl *ctl, struct sdp_pair *pair, bool accepted,
			 long *patience)
{
	struct sock *sk = sdp_share_sock(pair, accepted);
	struct sdp_sock *ss;
	int err = 0;

	if (!sk)
		return 0;
	if (sdp_sock_lock(sk, patience)) {
		ss = sdp_sk(sk);
		if (ss && ss->pair == pair && ctl->command == SDP_CTL_RETURN)
			err = sdp_tool_return(ss, false);
		else if (ss && ss->pair == pair)
			sdp_tool_offload(ss);
		release_sock(sk);
	} else {
		err = -EBUSY;
	}
	sock_put(sk);
	return err;
}

static bool sdp_ctl_endpoint(const struct sock *sk)
{
	bool yes;

	rcu_read_lock();
	yes = READ_ONCE(sk->sk_socket) && sdp_sk(sk);
	rcu_read_unlock();
	return yes;
}

static int sdp_ctl_sock(const struct sdp_ctl *ctl, struct sock *sk, long *patience)
{
	struct sdp_pair *pair = NULL;
	bool accepted = false;
	struct sdp_sock *ss;
	int err, ret = -ENOPROTOOPT;

	/* A socket that is no endpoint, or that no program has, is not waited for. */
	if (!sdp_ctl_endpoint(sk))
		return ret;
	if (!sdp_sock_lock(sk, patience))
		return -EBUSY;
	ss = sdp_sk(sk);
	if (ss) {
		ret = sdp_ctl_do(ctl, ss);
		pair = ss->pair;
		accepted = ss->accepted;
	}
	if (pair)
		refcount_inc(&pair->refs);
	release_sock(sk);
	if (!pair)
		return ret;
	err = sdp_ctl_other(ctl, pair, !accepted, patience);
	sdp_pair_put(pair);
	/* The other end's result counts if it failed, or if this end had nothing to do. */
	return err < 0 || !ret ? err : ret;
}

/* Of the connection, after the move. */
static void sdp_ctl_tell(struct sock *sk, struct sdp_ctl_end *end)
{
	struct sdp_sock *ss;

	rcu_read_lock();
	ss = sdp_sk(sk);
	if (ss) {
		end->away = sdp_tool_away(ss);
		end->unread = min_t(size_t, sdp_rx_queued(ss), U32_MAX);
		strscpy(end->stay, sdp_stay_name(READ_ONCE(ss->stay)), sizeof(end->stay));
	}
	rcu_read_unlock();
}

/*
 * Moves the connection that @end names as a tool wants it, and tells in @end what has become of it.
 * @patience: jiffies that it may wait for calls that keep the socket; reduced by those that it
 * waited.  Process context.  Returns whether the connection was moved, or has been asked to.
 */
bool sdp_ctl_move(const struct sdp_ctl *ctl, struct sdp_ctl_end *end, long *patience)
{
	struct sock *sk = sdp_ctl_find(current->nsproxy->net_ns, end);
	int ret;

	end->away = 0;
	end->unread = 0;
	memset(end->stay, 0, sizeof(end->stay));
	if (!sk) {
		end->error = ENOENT;
		return false;
	}
	ret = sdp_ctl_allowed(sk) ? sdp_ctl_sock(ctl, sk, patience) : -EPERM;
	if (ret != -EPERM)
		sdp_ctl_tell(sk, end);
	sock_put(sk);
	end->error = ret < 0 ? -ret : 0;
	if (ret > 0 && ctl->command == SDP_CTL_OFFLOAD)
		sdp_count(current->nsproxy->net_ns, SDP_CNT_TOOL);
	return ret > 0;
}

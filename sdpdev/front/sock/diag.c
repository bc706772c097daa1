// SPDX-License-Identifier: GPL-2.0
/*
 * A list of endpoints, by generic netlink (<linux/sdp_diag.h>).
 *
 * TCP's own answer to sock_diag(7) takes each socket's lock, which a program may keep for as long
 * as it likes, for instance while a page of its memory does not come.  Here nothing is locked but
 * a chain of TCP's tables: numbers are those of a moment, each for itself.
 *
 * A place in the list is a chain and a number of an endpoint in it, so what changes between two
 * messages can hide an endpoint, or show it twice, as in TCP's own list.
 */
#include <linux/sdp_diag.h>
#include <linux/sock_diag.h>
#include <net/genetlink.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>

#include "front/sock/sock.h"

static struct genl_family sdp_diag_family;

static void sdp_diag_addresses(const struct sock *sk, struct sdp_diag_sock *at)
{
	struct in6_addr local, peer;

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		memcpy(at->local, &sk->sk_v6_rcv_saddr, sizeof(at->local));
		memcpy(at->peer, &sk->sk_v6_daddr, sizeof(at->peer));
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_rcv_saddr, &local);
	ipv6_addr_set_v4mapped(sk->sk_daddr, &peer);
	memcpy(at->local, &local, sizeof(at->local));
	memcpy(at->peer, &peer, sizeof(at->peer));
}

static void sdp_diag_look(struct sock *sk, struct user_namespace *ns, struct sdp_diag_sock *at)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cookie[2];

	memset(at, 0, sizeof(*at));
	sdp_diag_addresses(sk, at);
	sock_diag_save_cookie(sk, cookie);
	at->cookie = (u64)cookie[1] << 32 | cookie[0];
	at->local_port = htons(sk->sk_num);
	at->peer_port = sk->sk_dport;
	at->ifindex = READ_ONCE(sk->sk_bound_dev_if);
	at->uid = from_kuid_munged(ns, sk_uid(sk));
	at->inode = sock_i_ino(sk);
	at->family = sk->sk_family;
	at->state = inet_sk_state_load(sk);
	at->tcp_tx_bytes = READ_ONCE(tp->bytes_sent) - READ_ONCE(tp->bytes_retrans);
	at->tcp_rx_bytes = READ_ONCE(tp->bytes_received);
}

/* One that has lost the ULP meanwhile is left out. */
static int sdp_diag_put(struct sk_buff *skb, struct netlink_callback *cb, struct sock *sk)
{
	struct sdp_sock_info info;
	struct sdp_diag_sock at;
	struct sdp_sock *ss;
	void *msg;

	rcu_read_lock();
	ss = sdp_sk(sk);
	if (ss)
		sdp_info_fill(ss, &info);
	rcu_read_unlock();
	if (!ss)
		return 0;
	sdp_diag_look(sk, sk_user_ns(NETLINK_CB(cb->skb).sk), &at);
	msg = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &sdp_diag_family,
			  NLM_F_MULTI, SDP_DIAG_LIST);
	if (!msg)
		return -EMSGSIZE;
	if (nla_put(skb, SDP_DIAG_SOCK, sizeof(at), &at) ||
	    nla_put(skb, SDP_DIAG_INFO, sizeof(info), &info)) {
		genlmsg_cancel(skb, msg);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, msg);
	return 0;
}

/**
 * struct sdp_diag_chain - a chain of one of TCP's two tables
 * @head: its sockets
 * @lock: what keeps them there
 */
struct sdp_diag_chain {
	struct hlist_nulls_head *head;
	spinlock_t *lock;	/* see above */
};

/* The chains of listeners first, then those of connections.  Returns whether there is one. */
static bool sdp_diag_chain(struct inet_hashinfo *hash, unsigned long i,
			   struct sdp_diag_chain *chain)
{
	if (i <= hash->lhash2_mask) {
		chain->head = &hash->lhash2[i].nulls_head;
		chain->lock = &hash->lhash2[i].lock;
		return true;
	}
	i -= hash->lhash2_mask + 1UL;
	if (i > hash->ehash_mask)
		return false;
	chain->head = &hash->ehash[i].chain;
	chain->lock = inet_ehash_lockp(hash, i);
	return true;
}

/* An endpoint of a chain, referenced: the @n-th one of a namespace. */
static struct sock *sdp_diag_nth(const struct net *net, const struct sdp_diag_chain *chain,
				 unsigned long n)
{
	const struct hlist_nulls_node *node;
	struct sock *sk;

	if (hlist_nulls_empty(chain->head))
		return NULL;
	spin_lock_bh(chain->lock);
	sk_nulls_for_each(sk, node, chain->head) {
		if (!sk_fullsock(sk) || !net_eq(sock_net(sk), net) || !sdp_ulp_ours(sk))
			continue;
		if (n)
			n--;
		else if (refcount_inc_not_zero(&sk->sk_refcnt))
			goto found;
	}
	sk = NULL;
found:
	spin_unlock_bh(chain->lock);
	return sk;
}

static int sdp_diag_list(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	struct inet_hashinfo *hash = net->ipv4.tcp_death_row.hashinfo;
	struct sdp_diag_chain chain;
	struct sock *sk;
	int err;

	for (; sdp_diag_chain(hash, cb->args[0], &chain); cb->args[0]++, cb->args[1] = 0) {
		while ((sk = sdp_diag_nth(net, &chain, cb->args[1]))) {
			err = sdp_diag_put(skb, cb, sk);
			sock_put(sk);
			if (err)
				return skb->len;
			cb->args[1]++;
		}
		cond_resched();
	}
	return skb->len;
}

static const struct genl_ops sdp_diag_ops[] = {
	{
		.cmd	= SDP_DIAG_LIST,
		.flags	= GENL_UNS_ADMIN_PERM,
		.dumpit	= sdp_diag_list,
	},
};

/* A request that waits holds up no other one. */
static struct genl_family sdp_diag_family __ro_after_init = {
	.name		= SDP_DIAG_NAME,
	.version	= SDP_DIAG_VERSION,
	.module		= THIS_MODULE,
	.netnsok	= true,
	.parallel_ops	= true,
	.ops		= sdp_diag_ops,
	.n_ops		= ARRAY_SIZE(sdp_diag_ops),
	.resv_start_op	= SDP_DIAG_LIST + 1,
};

int sdp_diag_init(void)
{
	return genl_register_family(&sdp_diag_family);
}

void sdp_diag_exit(void)
{
	genl_unregister_family(&sdp_diag_family);
}

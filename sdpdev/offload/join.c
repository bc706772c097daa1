// SPDX-License-Identifier: GPL-2.0
/*
 * Which connection two hosts speak of when one asks the other for a carrier, and how each shows
 * the other one that it has it.
 *
 * Addresses and ports name the connection; they must be the same at both ends, so one that passes
 * a translator has no carrier.  Both initial sequence numbers are the secret.  No message of a join
 * contains them: they are the key of a hash of what is asked and of a number of each end's that it
 * uses once.  A request that comes to the wrong host is of no use there.
 */
#include <linux/random.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/l3mdev.h>
#include <net/tcp.h>

#include "compat.h"
#include "offload/lane.h"

/* Beside the step of a proof: the mode of the end that asks. */
#define SDP_JOIN_ONLY		BIT(8)

/* What is hashed; no padding. */
struct sdp_join_text {
	struct in6_addr from;
	struct in6_addr to;
	__be16 from_port;
	__be16 to_port;
	__be32 step;
	__be64 nonce;
	__be64 other;
	__be64 terms;
};

/*
 * What only the two ends of a connection know.  The socket is locked; the numbers of an
 * accepted one do not change, so its spinlock is enough.
 */
void sdp_join_key(struct sdp_sock *ss, siphash_key_t *key)
{
	sdp_sock_numbers(ss);
	key->key[0] = ss->accepted ? ss->peer_isn : ss->isn;
	key->key[1] = ss->accepted ? ss->isn : ss->peer_isn;
}

/* @other is the other end's nonce, or 0; sdp_carrier_proof() has the steps. */
__be64 sdp_join_proof(const siphash_key_t *key, u32 step, const struct sdp_join *join,
		      __be64 other)
{
	struct sdp_join_text text = {
		.from = join->from,
		.to = join->to,
		.from_port = join->from_port,
		.to_port = join->to_port,
		.step = cpu_to_be32(step | (join->only ? SDP_JOIN_ONLY : 0)),
		.nonce = join->nonce,
		.other = other,
		.terms = join->terms,
	};

	return cpu_to_be64(siphash(&text, sizeof(text), key));
}

static void sdp_join_name(const struct sock *sk, struct sdp_join *join)
{
	const struct dst_entry *dst = __sk_dst_get((struct sock *)sk);

	memset(join, 0, sizeof(*join));
	join->from_port = inet_sk(sk)->inet_sport;
	join->to_port = inet_sk(sk)->inet_dport;
	join->ifindex = dst ? dst->dev->ifindex : sk->sk_bound_dev_if;
	join->mark = READ_ONCE(sk->sk_mark);
	join->uid = sk->sk_uid;
	join->payer = sdp_sock_owner(sk);
	join->tos = READ_ONCE(inet_sk(sk)->tos);
	join->v4 = true;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		join->from = sk->sk_v6_rcv_saddr;
		join->to = sk->sk_v6_daddr;
		join->v4 = ipv6_addr_v4mapped(&join->to);
		if (!join->v4)
			join->tos = READ_ONCE(inet6_sk(sk)->tclass);
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_rcv_saddr, &join->from);
	ipv6_addr_set_v4mapped(sk->sk_daddr, &join->to);
}

/* Fills the request, and the carrier's key and nonce.  The socket is locked. */
void sdp_join_make(struct sdp_sock *ss, struct sdp_carrier *c, struct sdp_join *join)
{
	sdp_join_key(ss, &c->key);
	sdp_join_name(ss->sk, join);
	/* It grows with each request, so an old one is of no use: sdp_ask_old(). */
	join->nonce = cpu_to_be64(ktime_get_ns());
	c->nonce = join->nonce;
	join->terms = c->ops->terms;
	join->only = sdp_only(ss);
	join->proof = sdp_join_proof(&c->key, 1, join, 0);
}

/* Answers the request @join.  The carrier has its key, and the socket's spinlock is held. */
void sdp_join_answer(struct sdp_sock *ss, struct sdp_carrier *c, const struct sdp_join *join,
		     struct sdp_join *answer)
{
	sdp_join_name(ss->sk, answer);
	get_random_bytes(&answer->nonce, sizeof(answer->nonce));
	c->nonce = join->nonce;
	c->answer = answer->nonce;
	answer->terms = c->ops->terms;
	answer->proof = sdp_join_proof(&c->key, 2, answer, join->nonce);
}

/* The socket that a request is for, referenced; or NULL. */
struct sock *sdp_join_find(struct net *net, const struct sdp_join *join)
{
	int vrf = l3mdev_master_ifindex_by_index(net, join->ifindex);
	struct sock *sk = NULL;

	rcu_read_lock();
	if (ipv6_addr_v4mapped(&join->from))
		sk = compat_tcp_find4(net, join->from.s6_addr32[3], join->from_port,
				      join->to.s6_addr32[3], ntohs(join->to_port), join->ifindex,
				      vrf);
#if IS_ENABLED(CONFIG_IPV6)
	if (!sk)
		sk = compat_tcp_find6(net, &join->from, join->from_port, &join->to,
				      ntohs(join->to_port), join->ifindex, vrf);
#endif
	rcu_read_unlock();
	if (sk && (sk->sk_state == TCP_TIME_WAIT || sk->sk_state == TCP_NEW_SYN_RECV)) {
		sock_gen_put(sk);
		sk = NULL;
	}
	return sk;
}

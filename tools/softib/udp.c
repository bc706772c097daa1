// SPDX-License-Identifier: GPL-2.0
/*
 * The socket of a far end: datagrams to and from another kernel (see far.h)
 *
 * The socket belongs to the namespace of the process that plugged the link in, and does not keep
 * it: when the namespace goes, so does the socket.
 */
#include <linux/nsproxy.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/udp_tunnel.h>

#include "far.h"
#include "softib.h"

#define HEADROOM	(LL_MAX_HEADER + sizeof(struct ipv6hdr) + \
			 sizeof(struct udphdr) + sizeof(struct softib_far_hdr))

static DEFINE_MUTEX(far_lock);	/* protects the list and their sockets */
static LIST_HEAD(fars);

static bool is_ipv4(const struct softib_far *far)
{
	return far->peer.sa.sa_family == AF_INET;
}

static struct sk_buff *alloc(enum softib_far_type type, u8 hops, u32 len)
{
	struct softib_far_hdr *hdr;
	struct sk_buff *skb;

	skb = alloc_skb(HEADROOM + len, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, HEADROOM - sizeof(*hdr));
	hdr = skb_put_zero(skb, sizeof(*hdr));
	hdr->magic = cpu_to_be32(SOFTIB_FAR_MAGIC);
	hdr->version = SOFTIB_FAR_VERSION;
	hdr->type = type;
	hdr->hops = hops;
	return skb;
}

static bool xmit4(struct softib_far *far, struct sock *sk, struct sk_buff *skb)
{
	const struct sockaddr_in *here = &far->bind.in, *there = &far->peer.in;
	struct rtable *rt;
	__be32 from;

	rt = dst_cache_get_ip4(&far->dst_cache, &from);
	if (!rt) {
		struct flowi4 flow = {
			.saddr = here->sin_addr.s_addr,
			.daddr = there->sin_addr.s_addr,
			.fl4_sport = here->sin_port,
			.fl4_dport = there->sin_port,
			.flowi4_proto = IPPROTO_UDP,
		};

		rt = ip_route_output_flow(sock_net(sk), &flow, sk);
		if (IS_ERR(rt))
			return false;
		from = flow.saddr;
		dst_cache_set_ip4(&far->dst_cache, &rt->dst, from);
	}
	compat_udp_xmit4(rt, sk, skb, from, there->sin_addr.s_addr, 0, ip4_dst_hoplimit(&rt->dst),
			 0, here->sin_port, there->sin_port, false, false);
	return true;
}

static bool xmit6(struct softib_far *far, struct sock *sk, struct sk_buff *skb)
{
	struct sockaddr_in6 *here = &far->bind.in6, *there = &far->peer.in6;
	struct dst_entry *dst;
	struct in6_addr from;

	dst = dst_cache_get_ip6(&far->dst_cache, &from);
	if (!dst) {
		struct flowi6 flow = {
			.saddr = here->sin6_addr,
			.daddr = there->sin6_addr,
			.fl6_sport = here->sin6_port,
			.fl6_dport = there->sin6_port,
			.flowi6_proto = IPPROTO_UDP,
		};

		dst = ip6_dst_lookup_flow(sock_net(sk), sk, &flow, NULL);
		if (IS_ERR(dst))
			return false;
		from = flow.saddr;
		dst_cache_set_ip6(&far->dst_cache, dst, &from);
	}
	/* What is too long for the way is fragmented, as with IPv4. */
	skb->ignore_df = 1;
	compat_udp_xmit6(dst, sk, skb, NULL, &from, &there->sin6_addr, 0, ip6_dst_hoplimit(dst),
			 0, here->sin6_port, there->sin6_port, false);
	return true;
}

/* Called with bottom halves disabled; consumes @skb. */
static void xmit(struct softib_far *far, struct sk_buff *skb)
{
	struct socket *sock;

	rcu_read_lock();
	sock = rcu_dereference(far->sock);
	if (!sock || !(is_ipv4(far) ? xmit4(far, sock->sk, skb) :
				      xmit6(far, sock->sk, skb))) {
		softib_far_count(far, SOFTIB_FAR_UNSENT);
		kfree_skb(skb);
	}
	rcu_read_unlock();
}

void softib_udp_say(struct softib_far *far,
		    const struct softib_far_hello *hello)
{
	struct sk_buff *skb = alloc(SOFTIB_FAR_HELLO, 0, sizeof(*hello));

	if (!skb) {
		softib_far_count(far, SOFTIB_FAR_UNSENT);
		return;
	}
	skb_put_data(skb, hello, sizeof(*hello));
	local_bh_disable();
	xmit(far, skb);
	local_bh_enable();
}

/*
 * Sends a packet to the other kernel, and consumes it. Called with bottom halves disabled. The
 * packet is copied, for others may have clones of it, and its HCA is charged no longer: what is
 * lost on the way is the transport's business.
 */
void softib_udp_send(struct softib_far *far, struct sk_buff *skb)
{
	struct sk_buff *copy;
	void *packet;

	copy = alloc(SOFTIB_FAR_PACKET, softib_cb(skb)->hops, skb->len);
	if (!copy) {
		softib_far_count(far, SOFTIB_FAR_UNSENT);
		kfree_skb(skb);
		return;
	}
	packet = skb_put_data(copy, skb->data, skb->len);
	if (!softib_cb(skb)->sealed)
		softib_vcrc_put(packet, skb->len);
	consume_skb(skb);
	xmit(far, copy);
}

/* @skb begins with its UDP header. */
static bool is_from_peer(const struct softib_far *far,
			 const struct sk_buff *skb)
{
	__be16 port = udp_hdr(skb)->source;

	if (is_ipv4(far))
		return ip_hdr(skb)->saddr == far->peer.in.sin_addr.s_addr &&
		       port == far->peer.in.sin_port;
	return ipv6_addr_equal(&ipv6_hdr(skb)->saddr,
			       &far->peer.in6.sin6_addr) &&
	       port == far->peer.in6.sin6_port;
}

/* The header of a datagram that can be one of the peer's; @skb is then what
 * follows, in one piece.
 */
static const struct softib_far_hdr *pull(struct sk_buff *skb)
{
	const unsigned int before = sizeof(struct udphdr) +
				    sizeof(struct softib_far_hdr);
	const struct softib_far_hdr *hdr;

	if (skb->len < before || skb->len > before + SOFTIB_MAX_PACKET ||
	    skb_linearize(skb))
		return NULL;
	hdr = (const struct softib_far_hdr *)(skb->data +
					      sizeof(struct udphdr));
	if (hdr->magic != cpu_to_be32(SOFTIB_FAR_MAGIC) ||
	    hdr->version != SOFTIB_FAR_VERSION)
		return NULL;
	__skb_pull(skb, before);
	return hdr;
}

/* Lengths as IBA 7.7.5 and 7.8 have them; the receiver checks the rest. */
static bool is_packet(const struct sk_buff *skb)
{
	return skb->len >= SOFTIB_MIN_PACKET &&
	       softib_words(skb) * 4 + SOFTIB_VCRC_BYTES == skb->len;
}

/* Make of what was a datagram a packet like any other. */
static void strip(struct sk_buff *skb, u8 hops)
{
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb->dev = NULL;
	skb->ip_summed = CHECKSUM_NONE;
	memset(skb->cb, 0, sizeof(skb->cb));
	softib_cb(skb)->hops = hops;
	softib_cb(skb)->sealed = true;
}

static int receive(struct sock *sk, struct sk_buff *skb)
{
	struct softib_far *far = rcu_dereference_sk_user_data(sk);
	const struct softib_far_hdr *hdr;

	if (!far)
		goto drop;
	if (!is_from_peer(far, skb)) {
		softib_far_count(far, SOFTIB_FAR_FOREIGN);
		goto drop;
	}
	hdr = pull(skb);
	if (!hdr)
		goto malformed;
	if (hdr->type == SOFTIB_FAR_PACKET && is_packet(skb) &&
	    hdr->hops <= SOFTIB_MAX_HOPS) {
		WRITE_ONCE(far->heard, jiffies);
		strip(skb, hdr->hops);
		far->ops->packet(far, skb);
		return 0;
	}
	if (hdr->type == SOFTIB_FAR_HELLO &&
	    skb->len == sizeof(struct softib_far_hello) &&
	    far->ops->hello(far, (struct softib_far_hello *)skb->data)) {
		WRITE_ONCE(far->heard, jiffies);
		consume_skb(skb);
		return 0;
	}
malformed:
	softib_far_count(far, SOFTIB_FAR_MALFORMED);
drop:
	kfree_skb(skb);
	return 0;
}

/* Makes the socket of a far end, in the caller's namespace. */
int softib_udp_open(struct softib_far *far)
{
	struct udp_port_cfg cfg = {
		.family = far->bind.sa.sa_family,
		.use_udp_checksums = true,
		.use_udp6_tx_checksums = true,
		.use_udp6_rx_checksums = true,
		.ipv6_v6only = true,
	};
	struct socket *sock;
	int ret;

	if (is_ipv4(far)) {
		cfg.local_ip = far->bind.in.sin_addr;
		cfg.local_udp_port = far->bind.in.sin_port;
	} else {
		cfg.local_ip6 = far->bind.in6.sin6_addr;
		cfg.local_udp_port = far->bind.in6.sin6_port;
	}
	ret = dst_cache_init(&far->dst_cache, GFP_KERNEL);
	if (ret)
		return ret;
	mutex_lock(&far_lock);
	ret = udp_sock_create(current->nsproxy->net_ns, &cfg, &sock);
	if (!ret) {
		rcu_assign_pointer(far->sock, sock);
		list_add_tail(&far->list, &fars);
	}
	mutex_unlock(&far_lock);
	if (ret)
		dst_cache_destroy(&far->dst_cache);
	return ret;
}

/* The link is plugged in: from now on what the socket gets is received. */
void softib_udp_start(struct softib_far *far)
{
	struct udp_tunnel_sock_cfg cfg = {
		.sk_user_data = far,
		.encap_type = 1,
		.encap_rcv = receive,
	};
	struct socket *sock;

	mutex_lock(&far_lock);
	sock = rcu_dereference_protected(far->sock,
					 lockdep_is_held(&far_lock));
	if (sock)
		setup_udp_tunnel_sock(sock_net(sock->sk), compat_udp_socket(sock), &cfg);
	mutex_unlock(&far_lock);
}

static void close_locked(struct softib_far *far)
{
	struct socket *sock;

	sock = rcu_replace_pointer(far->sock, NULL,
				   lockdep_is_held(&far_lock));
	if (!sock)
		return;
	list_del(&far->list);
	synchronize_rcu();	/* the last sender */
	udp_tunnel_sock_release(compat_udp_socket(sock));
	synchronize_rcu();	/* the last receiver */
	dst_cache_reset_now(&far->dst_cache);
}

/* Sends and receives nothing more. May be called again. */
void softib_udp_close(struct softib_far *far)
{
	mutex_lock(&far_lock);
	close_locked(far);
	mutex_unlock(&far_lock);
}

/*
 * A namespace is going, and no process is in it any more. softib_topology may not be taken here:
 * its holder may wait for what waits for us.
 */
static void __net_exit softib_net_pre_exit(struct net *net)
{
	struct softib_far *far, *next;

	mutex_lock(&far_lock);
	list_for_each_entry_safe(far, next, &fars, list) {
		if (sock_net(rcu_access_pointer(far->sock)->sk) != net)
			continue;
		close_locked(far);
		far->ops->gone(far);
	}
	mutex_unlock(&far_lock);
}

static struct pernet_operations softib_net_ops = {
	.pre_exit = softib_net_pre_exit,
};

int __init softib_udp_init(void)
{
	return register_pernet_subsys(&softib_net_ops);
}

/* There are no links. */
void softib_udp_exit(void)
{
	unregister_pernet_subsys(&softib_net_ops);
}

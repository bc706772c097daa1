/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels: sockets and TCP, routes, tunnels, links.
 */
#ifndef _COMPAT_NET_H
#define _COMPAT_NET_H

#include <linux/uio.h>
#include <linux/version.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ip6_fib.h>
#include <net/rtnetlink.h>
#include <net/tcp.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
/* Of these bits the code looks at one. */
#define COMPAT_SNDFLOW(sk)	(inet6_sk(sk)->sndflow)
#define inet6_test_bit(nr, sk)	COMPAT_##nr(sk)
#define COMPAT_DEFER_CONNECT(sk)	(inet_sk(sk)->defer_connect)
#define inet_test_bit(nr, sk)	COMPAT_##nr(sk)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define register_net_sysctl_sz(net, path, table, size) \
	register_net_sysctl(net, path, table)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define slab_build_skb(data)	build_skb(data, 0)
#endif

/* 6.1 has had it since a late stable release, as a macro. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#ifndef dst_rt6_info
#define dst_rt6_info(ptr)	container_of(ptr, struct rt6_info, dst)
#endif
#endif

/* What accept() of struct proto_ops is told. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define COMPAT_ACCEPT_ARGS	struct proto_accept_arg *arg
#define COMPAT_ACCEPT_PASS	arg
#define COMPAT_ACCEPT_FLAGS	((arg)->flags)
#else
#define COMPAT_ACCEPT_ARGS	int flags, bool kern
#define COMPAT_ACCEPT_PASS	flags, kern
#define COMPAT_ACCEPT_FLAGS	flags
#endif

/* What bind() and connect() of struct proto_ops are told. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
#define sockaddr_unsized	sockaddr
#endif

/* recvmsg() of struct proto; newer kernels have no pointer to the name's length. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define COMPAT_RECVMSG_ARGS	struct sock *sk, struct msghdr *msg, size_t len, int flags
#define COMPAT_RECVMSG_NAME	NULL
#define compat_recvmsg(prot, sk, msg, len, flags, name)	\
	((prot)->recvmsg(sk, msg, len, flags))
#else
#define COMPAT_RECVMSG_ARGS	struct sock *sk, struct msghdr *msg, size_t len, int flags, \
				int *addr_len
#define COMPAT_RECVMSG_NAME	addr_len
#define compat_recvmsg(prot, sk, msg, len, flags, name)	\
	((prot)->recvmsg(sk, msg, len, flags, name))
#endif

/* What get_info() and get_info_size() of an upper layer protocol are told at last. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define COMPAT_INFO_ARGS	, bool net_admin
#else
#define COMPAT_INFO_ARGS
#endif

/* An acknowledgment, at once. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define compat_tcp_send_ack(sk, seq)	__tcp_send_ack(sk, seq, 0)
#else
#define compat_tcp_send_ack(sk, seq)	__tcp_send_ack(sk, seq)
#endif

/* Where ioctl() of struct proto puts its answer, and how to read and write it. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define compat_ioctl_arg		int *
#define compat_ioctl_get(n, arg)	({ (n) = *(arg); 0; })
#define compat_ioctl_put(n, arg)	({ *(arg) = (n); 0; })
#else
#define compat_ioctl_arg		unsigned long
#define compat_ioctl_get(n, arg)	get_user(n, (int __user *)(arg))
#define compat_ioctl_put(n, arg)	put_user(n, (int __user *)(arg))
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define compat_zerocopy_realloc(sk, size, uarg)	msg_zerocopy_realloc(sk, size, uarg, false)
#else
#define compat_zerocopy_realloc(sk, size, uarg)	msg_zerocopy_realloc(sk, size, uarg)
#endif

/* Memory of a program that a packet is to have. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define compat_zerocopy_stream(sk, skb, msg, len, uarg)	\
	skb_zerocopy_iter_stream(sk, skb, msg, len, uarg, NULL)
#else
#define compat_zerocopy_stream(sk, skb, msg, len, uarg)	\
	skb_zerocopy_iter_stream(sk, skb, msg, len, uarg)
#endif

/* Is a notice one of MSG_ZEROCOPY, and not of io_uring? */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define compat_zerocopy_msg(uarg)	((uarg)->ops == &msg_zerocopy_ubuf_ops)
#define compat_zerocopy_done(uarg, success)	((uarg)->ops->complete(NULL, uarg, success))
#else
#define compat_zerocopy_msg(uarg)	((uarg)->callback == msg_zerocopy_callback)
#define compat_zerocopy_done(uarg, success)	((uarg)->callback(NULL, uarg, success))
#endif

/*
 * Pages that a call of the kernel's lends: of a file, or of a pipe.  Before there was
 * skb_splice_from_iter() they came one by one, by sendpage().
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define compat_splice_from_iter(skb, iter, most, gfp)	skb_splice_from_iter(skb, iter, most)
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define compat_splice_from_iter(skb, iter, most, gfp)	skb_splice_from_iter(skb, iter, most, gfp)
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define compat_splices(msg)	(!!((msg)->msg_flags & MSG_SPLICE_PAGES))
#define compat_tcp_sendmsg(sk, msg, len)	tcp_sendmsg_locked(sk, msg, len)
#else
#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES	0x8000000
#endif

/* A program has no such pieces, whatever flags it passes. */
static inline bool compat_splices(const struct msghdr *msg)
{
	return msg->msg_flags & MSG_SPLICE_PAGES && !msg->msg_ubuf &&
	       iov_iter_is_bvec(&msg->msg_iter);
}

static inline ssize_t compat_splice_from_iter(struct sk_buff *skb, struct iov_iter *from,
					      size_t most, gfp_t gfp)
{
	const struct bio_vec *piece = from->bvec;
	size_t n = min(most, piece->bv_len - from->iov_offset);
	int err = -EIO;

	if (sendpage_ok(piece->bv_page))
		err = skb_append_pagefrags(skb, piece->bv_page,
					   piece->bv_offset + from->iov_offset, n);
	if (err)
		return err;
	skb->len += n;
	skb->data_len += n;
	skb->truesize += n;
	iov_iter_advance(from, n);
	return n;
}

static inline int compat_tcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)
{
	struct iov_iter *from = &msg->msg_iter;
	const struct bio_vec *piece = from->bvec;
	int n;

	if (!compat_splices(msg))
		return tcp_sendmsg_locked(sk, msg, len);
	n = tcp_sendpage_locked(sk, piece->bv_page, piece->bv_offset + from->iov_offset,
				min(len, piece->bv_len - from->iov_offset),
				msg->msg_flags & ~MSG_SPLICE_PAGES);
	if (n > 0)
		iov_iter_advance(from, n);
	return n;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define sk_uid(sk)	sock_i_uid(sk)
#endif

/* TCP's table of sockets. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define COMPAT_TCP_TABLE(net)
#else
#define COMPAT_TCP_TABLE(net)	(net)->ipv4.tcp_death_row.hashinfo,
#endif

/* The socket of a connection by an interface, which is in the VRF @master, or in none (0). */
static inline struct sock *compat_tcp_find4(struct net *net, __be32 saddr, __be16 sport,
					    __be32 daddr, u16 port, int ifindex, int master)
{
	return __inet_lookup_established(net, COMPAT_TCP_TABLE(net) saddr, sport, daddr, port,
					 ifindex, master);
}

#if IS_ENABLED(CONFIG_IPV6)
static inline struct sock *compat_tcp_find6(struct net *net, const struct in6_addr *saddr,
					    __be16 sport, const struct in6_addr *daddr, u16 port,
					    int ifindex, int master)
{
	return __inet6_lookup_established(net, COMPAT_TCP_TABLE(net) saddr, sport, daddr, port,
					  ifindex, master);
}
#endif

/* The type of service that a route is asked for with. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define compat_flow_tos(fl4, tos)	((fl4)->flowi4_dscp = inet_dsfield_to_dscp(RT_TOS(tos)))
#else
#define compat_flow_tos(fl4, tos)	((fl4)->flowi4_tos = RT_TOS(tos))
#endif

/* Tunnels: what is said of a packet at last, and what has the socket. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define compat_udp_xmit4(args...)	udp_tunnel_xmit_skb(args, 0)
#define compat_udp_xmit6(args...)	udp_tunnel6_xmit_skb(args, 0)
#else
#define compat_udp_xmit4(args...)	udp_tunnel_xmit_skb(args)
#define compat_udp_xmit6(args...)	udp_tunnel6_xmit_skb(args)
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define compat_udp_socket(sock)		((sock)->sk)
#else
#define compat_udp_socket(sock)		(sock)
#endif

/*
 * newlink() of struct rtnl_link_ops.  COMPAT_NEWLINK() makes the older kernel's function of the
 * newer one's, and compat_newlink() is its name.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define COMPAT_NEWLINK(fn)
#define compat_newlink(fn)	fn
#else
struct rtnl_newlink_params {
	struct net *link_net;
	struct nlattr **tb;
	struct nlattr **data;
};

static inline struct net *rtnl_newlink_link_net(const struct rtnl_newlink_params *params)
{
	return params->link_net;
}

#define compat_newlink(fn)	fn##_of_net
#define COMPAT_NEWLINK(fn)							\
static int fn##_of_net(struct net *net, struct net_device *dev, struct nlattr *tb[],	\
		       struct nlattr *data[], struct netlink_ext_ack *extack)	\
{										\
	struct rtnl_newlink_params params = {					\
		.link_net = net, .tb = tb, .data = data,			\
	};									\
	return fn(dev, &params, extack);					\
}
#endif

#endif /* _COMPAT_NET_H */

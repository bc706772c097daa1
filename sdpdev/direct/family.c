// SPDX-License-Identifier: GPL-2.0
/*
 * The family, and what is common to all of its sockets.
 */
#include <linux/module.h>
#include <linux/sdp_sock.h>
#include <linux/tcp.h>
#include <linux/wait.h>

#include "compat.h"
#include "direct/direct.h"
#include "offload/net.h"

/* accept(2) asks so for the peer's name, which it tells though the connection be over. */
#define SDP_DIRECT_ACCEPTED	2

static struct proto sdp_direct_proto = {
	.name		= "SDP_DIRECT",
	.owner		= THIS_MODULE,
	.obj_size	= sizeof(struct sdp_direct),
};

/* What sdp_direct_init() has registered. */
static bool sdp_direct_netns, sdp_direct_protocol, sdp_direct_registered;

static void sdp_direct_destruct(struct sock *sk)
{
	sdp_direct_unlist(sk);
	skb_queue_purge(&sk->sk_receive_queue);
	WARN_ON_ONCE(sdp_direct(sk)->link || !skb_queue_empty(&sk->sk_write_queue));
}

/**
 * sdp_direct_wait() - wait for something
 * @sk: the socket, unlocked
 * @timeo: jiffies that are left
 * @done: what is waited for
 *
 * Return: zero, -EAGAIN, or a signal's errno.
 */
int sdp_direct_wait(struct sock *sk, long *timeo, bool (*done)(struct sock *sk))
{
	long left = wait_event_interruptible_timeout(*sk_sleep(sk), done(sk), *timeo);

	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return left ? 0 : -EAGAIN;
}

/* Is the attempt to connect over? */
bool sdp_direct_is_tried(struct sock *sk)
{
	return READ_ONCE(sk->sk_state) != TCP_SYN_SENT;
}

static int sdp_direct_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	struct sdp_direct *direct = sdp_direct(sock->sk);
	int err = 0;

	spin_lock_bh(&direct->lock);
	if (!peer)
		memcpy(addr, &direct->local, sizeof(direct->local));
	else if (peer == SDP_DIRECT_ACCEPTED || direct->sk.sk_state == TCP_ESTABLISHED)
		memcpy(addr, &direct->peer, sizeof(direct->peer));
	else
		err = -ENOTCONN;
	spin_unlock_bh(&direct->lock);
	return err ?: sizeof(direct->local);
}

static int sdp_direct_accept_to(struct socket *sock, struct socket *newsock, COMPAT_ACCEPT_ARGS)
{
	struct sock *child;
	int err;

	child = sdp_direct_accept(sock->sk, COMPAT_ACCEPT_FLAGS, &err);
	if (!child)
		return err;
	lock_sock(child);
	sock_graft(child, newsock);
	newsock->state = SS_CONNECTED;
	release_sock(child);
	return 0;
}

static int sdp_direct_set_nodelay(struct sock *sk, sockptr_t value, unsigned int len)
{
	struct sdp_direct *direct = sdp_direct(sk);
	int on;

	if (len < sizeof(on))
		return -EINVAL;
	if (copy_from_sockptr(&on, value, sizeof(on)))
		return -EFAULT;
	spin_lock_bh(&direct->lock);
	direct->nodelay = on;
	sdp_direct_push(sk);
	spin_unlock_bh(&direct->lock);
	return 0;
}

/* Of the others that programs set on every stream, there is nothing to be set. */
static int sdp_direct_setsockopt(struct socket *sock, int level, int name, sockptr_t value,
				 unsigned int len)
{
	if (level != SOL_TCP)
		return -ENOPROTOOPT;
	switch (name) {
	case TCP_NODELAY:
		return sdp_direct_set_nodelay(sock->sk, value, len);
	case TCP_CORK:
	case TCP_QUICKACK:
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int sdp_direct_getsockopt(struct socket *sock, int level, int name, char __user *value,
				 int __user *len)
{
	int on = READ_ONCE(sdp_direct(sock->sk)->nodelay), room;

	if (level != SOL_TCP || name != TCP_NODELAY)
		return -ENOPROTOOPT;
	if (get_user(room, len))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	room = min_t(int, room, sizeof(on));
	return put_user(room, len) || copy_to_user(value, &on, room) ? -EFAULT : 0;
}

static const struct proto_ops sdp_direct_ops = {
	.family		= SDP_DIRECT_FAMILY,
	.owner		= THIS_MODULE,
	.release	= sdp_direct_release,
	.bind		= sdp_direct_bind,
	.connect	= sdp_direct_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= sdp_direct_accept_to,
	.getname	= sdp_direct_getname,
	.poll		= sdp_direct_poll,
	.ioctl		= sdp_direct_ioctl,
	.set_rcvlowat	= sdp_direct_set_rcvlowat,
	.listen		= sdp_direct_listen,
	.shutdown	= sdp_direct_shutdown,
	.setsockopt	= sdp_direct_setsockopt,
	.getsockopt	= sdp_direct_getsockopt,
	.sendmsg	= sdp_direct_sendmsg,
	.recvmsg	= sdp_direct_recvmsg,
	.mmap		= sock_no_mmap,
};

/* A socket for a program's @sock, or for none yet if that is NULL; NULL without memory. */
struct sock *sdp_direct_make(struct net *net, struct socket *sock, int kern)
{
	struct sock *sk = sk_alloc(net, SDP_DIRECT_FAMILY, GFP_KERNEL, &sdp_direct_proto, kern);
	struct sdp_direct *direct = sdp_direct(sk);

	if (!sk)
		return NULL;
	sock_init_data(sock, sk);
	sk->sk_destruct = sdp_direct_destruct;
	/* What waits to be sent is the program's control group's. */
	sk->sk_allocation = GFP_KERNEL_ACCOUNT;
	/* Code that sees IPPROTO_TCP, such as BPF, would take it for a struct tcp_sock. */
	sk->sk_protocol = IPPROTO_SDP;
	mutex_init(&direct->send);
	mutex_init(&direct->receive);
	spin_lock_init(&direct->lock);
	INIT_HLIST_NODE(&direct->bound);
	INIT_LIST_HEAD(&direct->queue);
	INIT_LIST_HEAD(&direct->children);
	direct->local.sin_family = AF_INET;
	direct->peer.sin_family = AF_INET;
	timer_setup(&sk->sk_timer, sdp_direct_late, 0);
	sdp_direct_list(sk);
	return sk;
}

/* An endpoint as any other: a TCP socket that may be moved. */
static int sdp_direct_make_tcp(struct net *net, struct socket *sock, int kern)
{
	struct socket *tcp;
	struct sock *sk;
	int err = __sock_create(net, AF_INET, SOCK_STREAM, IPPROTO_SDP, &tcp, kern);

	if (err)
		return err;
	sk = tcp->sk;
	lock_sock(sk);
	sock_orphan(sk);
	tcp->sk = NULL;
	sock->ops = tcp->ops;
	sock->flags |= tcp->flags & BIT(SOCK_SUPPORT_ZC);
	sock_graft(sk, sock);
	sock_reset_flag(sk, SOCK_DEAD);
	release_sock(sk);
	sock_release(tcp);
	return 0;
}

static int sdp_direct_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	/* As without the module: there is nothing else of that family. */
	if (sock->type != SOCK_STREAM ||
	    (protocol && protocol != IPPROTO_TCP && protocol != IPPROTO_SDP))
		return -EAFNOSUPPORT;
	if (!READ_ONCE(sdp_net(net)->direct))
		return sdp_direct_make_tcp(net, sock, kern);
	sock->ops = &sdp_direct_ops;
	return sdp_direct_make(net, sock, kern) ? 0 : -ENOBUFS;
}

static const struct net_proto_family sdp_direct_family = {
	.family	= SDP_DIRECT_FAMILY,
	.create	= sdp_direct_create,
	.owner	= THIS_MODULE,
};

/* The family is there from now on, unless another module has it. */
void sdp_direct_init(void)
{
	int err = register_pernet_subsys(&sdp_direct_net_ops);

	sdp_direct_netns = !err;
	if (!err)
		err = proto_register(&sdp_direct_proto, 0);
	sdp_direct_protocol = sdp_direct_netns && !err;
	if (!err)
		err = sock_register(&sdp_direct_family);
	sdp_direct_registered = !err;
	if (err)
		pr_warn("sdpdev: no sockets of family %d: error %d\n", SDP_DIRECT_FAMILY, err);
}

/* The family has no sockets any more. */
void sdp_direct_exit(void)
{
	if (sdp_direct_registered)
		sock_unregister(SDP_DIRECT_FAMILY);
	if (sdp_direct_protocol)
		proto_unregister(&sdp_direct_proto);
	if (sdp_direct_netns)
		unregister_pernet_subsys(&sdp_direct_net_ops);
}

MODULE_ALIAS_NETPROTO(27);

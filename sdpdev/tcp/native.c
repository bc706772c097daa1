// SPDX-License-Identifier: GPL-2.0
/*
 * The native TCP socket that an endpoint carries: it holds the port and the
 * options, listens beside SDP, and takes the connection where SDP cannot.
 *
 * It is an ordinary file, and user space can get a descriptor of it, so
 * whatever state it is in is never taken for granted here.
 */
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/tcp.h>
#include <net/inet_common.h>
#include <net/inet_ecn.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "tcp/tcp.h"

/**
 * sdp_tcp_init() - a new endpoint's, without a socket
 * @tcp: zero so far
 * @ep: the endpoint
 */
void sdp_tcp_init(struct sdp_tcp *tcp, struct sdp_ep *ep)
{
	tcp->ep = ep;
	tcp->opts.rcvtimeo = MAX_SCHEDULE_TIMEOUT;
	tcp->opts.sndtimeo = MAX_SCHEDULE_TIMEOUT;
	tcp->opts.linger = -1;
	tcp->opts.rcvlowat = 1;
	ep->tcp = tcp;
}

/* Tells the endpoint's owner of each urgent byte once. */
static void sdp_native_urge(struct sdp_ep *ep, const struct tcp_sock *tp)
{
	if (!(READ_ONCE(tp->urg_data) & TCP_URG_VALID) ||
	    ep->tcp->urg_seq == tp->urg_seq)
		return;
	ep->tcp->urg_seq = tp->urg_seq;
	spin_lock(&ep->lock);
	sdp_ep_urge(ep);
	spin_unlock(&ep->lock);
}

/* The TCP socket's state has changed; what its own file would be told. */
static void sdp_native_changed(struct sdp_ep *ep, const struct sock *sk)
{
	u8 state = inet_sk_state_load(sk);

	wake_up_interruptible_all(&ep->wait);
	if (state == TCP_ESTABLISHED)
		kill_fasync(&ep->fasync, SIGIO, POLL_OUT);
	else if (state == TCP_CLOSE || sk->sk_shutdown == SHUTDOWN_MASK)
		kill_fasync(&ep->fasync, SIGIO, POLL_HUP);
	else
		kill_fasync(&ep->fasync, SIGIO, POLL_IN);
}

/* Called under the lock of the TCP socket's wait queue, from any context. */
static int sdp_native_wake(wait_queue_entry_t *wait, unsigned int mode,
			   int sync, void *key)
{
	struct sdp_tcp *tcp = container_of(wait, struct sdp_tcp, wait);
	struct sdp_ep *ep = tcp->ep;
	const struct sock *sk = sdp_native_sk(ep);

	if (!key) {
		sdp_native_changed(ep, sk);
		return 0;
	}
	sdp_ep_tell(ep, key_to_poll(key));
	if (key_to_poll(key) & EPOLLPRI)
		sdp_native_urge(ep, tcp_sk(sk));
	return 0;
}

static struct file *sdp_native_file(struct net *net, unsigned short family)
{
	struct socket *sock;
	int err;

	err = __sock_create(net, family, SOCK_STREAM, IPPROTO_TCP, &sock, 0);
	if (err)
		return ERR_PTR(err);
	/* Releases the socket where it fails. */
	return sock_alloc_file(sock, 0, NULL);
}

static void sdp_native_attach(struct sdp_ep *ep, struct file *file)
{
	struct socket *sock = file->private_data;

	ep->tcp->urg_seq = U64_MAX;
	init_waitqueue_func_entry(&ep->tcp->wait, sdp_native_wake);
	/* The socket is complete: pairs with the loads in sdp_native_sk() and elsewhere. */
	smp_store_release(&ep->tcp->file, file);
	add_wait_queue(&sock->wq.wait, &ep->tcp->wait);
}

/**
 * sdp_native_create() - make the native socket of a new endpoint
 * @ep: the endpoint, op_mutex held
 * @family: AF_INET or AF_INET6
 *
 * Return: zero or a negative errno, that of socket(2).
 */
int sdp_native_create(struct sdp_ep *ep, unsigned short family)
{
	struct net *net = current->nsproxy->net_ns;
	struct file *file;
	int err;

	file = sdp_native_file(net, family);
	if (IS_ERR(file))
		return PTR_ERR(file);
	err = sdp_ep_set_net(ep, net);
	if (err) {
		fput(file);
		return err;
	}
	sdp_native_attach(ep, file);
	return 0;
}

/**
 * sdp_native_ensure() - make the native socket of an accepted endpoint
 * @ep: the endpoint, op_mutex held
 *
 * Return: zero or a negative errno, that of socket(2).
 */
int sdp_native_ensure(struct sdp_ep *ep)
{
	struct sdp_opts opts;
	struct file *file;
	struct sock *sk;

	if (ep->tcp->file)
		return 0;
	file = sdp_native_file(ep->net, ep->family);
	if (IS_ERR(file))
		return PTR_ERR(file);

	sdp_opts_get(ep, &opts);
	sk = ((struct socket *)file->private_data)->sk;
	lock_sock(sk);
	sdp_opts_set(sk, &opts);
	sdp_inherit_set(sk, &ep->tcp->inherited);
	release_sock(sk);
	sdp_native_attach(ep, file);
	return 0;
}

/*
 * As lock_sock(), where nobody has the lock: user space can keep it by a descriptor, for
 * as long as it likes, and others' work must not wait for that.
 */
static bool sdp_native_trylock(struct sock *sk)
{
	bool locked;

	spin_lock_bh(&sk->sk_lock.slock);
	locked = !sk->sk_lock.owned;
	if (locked) {
		sk->sk_lock.owned = 1;
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	return locked;
}

/*
 * The traffic class and the flow label of a peer's address hold if the program has set
 * IPV6_FLOWINFO_SEND; somebody else may have the label (IPV6_FLOWLABEL_MGR).
 */
static int sdp_native_flowinfo(struct sock *sk, struct sockaddr_in6 *peer)
{
	struct ip6_flowlabel *label = NULL;

	if (!inet6_test_bit(SNDFLOW, sk))
		peer->sin6_flowinfo = 0;
	peer->sin6_flowinfo &= IPV6_FLOWINFO_MASK & ~htonl(INET_ECN_MASK << 20);
	if (peer->sin6_flowinfo & IPV6_FLOWLABEL_MASK)
		label = fl6_sock_lookup(sk, peer->sin6_flowinfo);
	if (IS_ERR(label))
		return -EINVAL;
	fl6_sock_release(label);
	return 0;
}

/**
 * sdp_native_flow() - what routing rules look at besides addresses
 * @ep: an endpoint with a native socket
 * @params: in: the peer's address; out: what TCP would ask for
 *
 * Return: zero, or -EINVAL where the peer's flow label is somebody else's.
 */
int sdp_native_flow(struct sdp_ep *ep, struct sdp_xprt_params *params)
{
	struct sock *sk = sdp_native_sk(ep);

	params->ifindex = READ_ONCE(sk->sk_bound_dev_if);
	params->mark = READ_ONCE(sk->sk_mark);
	params->uid = sk->sk_uid;
	params->dontroute = sock_flag(sk, SOCK_LOCALROUTE);
	params->tos = READ_ONCE(inet_sk(sk)->tos);
	if (params->peer.ss_family != AF_INET6)
		return 0;
	params->tos = READ_ONCE(inet6_sk(sk)->tclass);
	return sdp_native_flowinfo(sk, (struct sockaddr_in6 *)&params->peer);
}

/**
 * sdp_native_may_connect() - do the control group's programs let TCP connect there?
 * @ep: an endpoint with a native socket
 * @addr: the address, as user space gave it
 * @len: its length
 * @reason: out: SDP_REASON_*, where it is not for SDP
 *
 * Where they send it elsewhere that is for TCP, which asks them again.  So is a socket that
 * the program has turned into one of IPv4 (IPV6_ADDRFORM): its programs are those for
 * IPv4, and would find another address in an IPv6 one.
 *
 * Return: zero or a negative errno.
 */
int sdp_native_may_connect(struct sdp_ep *ep, const struct sockaddr_storage *addr,
			   unsigned int len, u8 *reason)
{
	struct sock *sk = sdp_native_sk(ep);
	struct sockaddr_storage asked = *addr;
	bool other_family;
	int err = 0;

	lock_sock(sk);
	other_family = sk->sk_family != ep->family;
	if (!other_family && sk->sk_prot->pre_connect)
		err = sk->sk_prot->pre_connect(sk, (struct sockaddr *)&asked, len);
	release_sock(sk);
	if (!err && (other_family || memcmp(&asked, addr, sizeof(asked))))
		err = -EOPNOTSUPP;
	if (err)
		*reason = other_family ? SDP_REASON_FAMILY : SDP_REASON_POLICY;
	return err;
}

/**
 * sdp_native_fall_back() - have TCP connect
 * @ep: an endpoint with a native socket
 * @peer: where to
 * @err: out: as of connect(2), which does not wait
 *
 * Return: false where user space has the socket's lock; nothing has happened then.
 */
bool sdp_native_fall_back(struct sdp_ep *ep, struct sockaddr_storage *peer, int *err)
{
	struct sock *sk = sdp_native_sk(ep);

	if (!sdp_native_trylock(sk))
		return false;
	*err = __inet_stream_connect(sk->sk_socket, (struct sockaddr *)peer,
				     sdp_addr_len(peer), O_NONBLOCK, 0);
	release_sock(sk);
	return true;
}

/**
 * sdp_native_only_bound() - nobody listens any more, but connections need the port
 * @ep: an endpoint with a native socket
 *
 * Return: false where user space has the socket's lock; nothing has happened then.
 */
bool sdp_native_only_bound(struct sdp_ep *ep)
{
	struct sock *sk = sdp_native_sk(ep);

	if (inet_sk_state_load(sk) != TCP_LISTEN)
		return true;
	if (!sdp_native_trylock(sk))
		return false;
	sk->sk_userlocks |= SOCK_BINDPORT_LOCK;
	if (sk->sk_state == TCP_LISTEN)
		sk->sk_prot->disconnect(sk, O_NONBLOCK);
	/* Who has a descriptor of it hears of that. */
	sk->sk_state_change(sk);
	release_sock(sk);
	return true;
}

/**
 * sdp_native_release() - drop the native socket
 * @ep: an endpoint that nobody uses any more
 */
void sdp_native_release(struct sdp_ep *ep)
{
	struct sock *sk = sdp_native_sk(ep);

	if (!sk)
		return;
	remove_wait_queue(&sk->sk_socket->wq.wait, &ep->tcp->wait);
	fput(ep->tcp->file);
	ep->tcp->file = NULL;
}

/**
 * sdp_native_local() - the address that the native socket is bound to
 * @ep: an endpoint with a native socket
 * @ss: out: the address
 *
 * Return: zero or a negative errno.
 */
int sdp_native_local(struct sdp_ep *ep, struct sockaddr_storage *ss)
{
	int len;

	memset(ss, 0, sizeof(*ss));
	len = kernel_getsockname(sdp_native_sk(ep)->sk_socket,
				 (struct sockaddr *)ss);
	if (len < 0)
		return len;
	return 0;
}

/**
 * sdp_native_signs() - does it want its peer's segments to be signed?
 * @ep: an endpoint with a native socket
 *
 * By TCP_MD5SIG (RFC 2385) or TCP_AO_ADD_KEY (RFC 5925). SDP has nothing like that.
 */
bool sdp_native_signs(struct sdp_ep *ep)
{
	const struct tcp_sock *tp __maybe_unused = tcp_sk(sdp_native_sk(ep));
	bool signs = false;

#ifdef CONFIG_TCP_MD5SIG
	signs = rcu_access_pointer(tp->md5sig_info);
#endif
#ifdef CONFIG_TCP_AO
	signs |= !!rcu_access_pointer(tp->ao_info);
#endif
	return signs;
}

/**
 * sdp_native_autobind() - make sure that the native socket has a port
 * @ep: an endpoint with a native socket
 *
 * Return: zero, or -EAGAIN where no port is free.
 */
int sdp_native_autobind(struct sdp_ep *ep)
{
	struct sock *sk = sdp_native_sk(ep);
	struct inet_sock *inet = inet_sk(sk);
	int err = 0;

	lock_sock(sk);
	if (!inet->inet_num) {
		if (sk->sk_prot->get_port(sk, 0))
			err = -EAGAIN;
		else
			inet->inet_sport = htons(inet->inet_num);
	}
	release_sock(sk);
	return err;
}

/**
 * sdp_native_poll() - what poll(2) would tell of the native socket
 * @ep: an endpoint with a native socket
 *
 * Its wake-ups come through the endpoint's own wait queue.
 */
__poll_t sdp_native_poll(struct sdp_ep *ep)
{
	return vfs_poll(ep->tcp->file, NULL);
}

/**
 * sdp_native_recv() - receive from the native socket
 * @ep: an endpoint with a native socket
 * @to: where to
 * @flags: MSG_*
 * @msg: in and out: its flags, and where control messages go
 *
 * Return: bytes, or a negative errno, that of recvmsg(2).
 */
ssize_t sdp_native_recv(struct sdp_ep *ep, struct iov_iter *to,
			unsigned int flags, struct msghdr *msg)
{
	int rc;

	msg->msg_iter = *to;
	rc = sock_recvmsg(sdp_native_sk(ep)->sk_socket, msg, flags);
	*to = msg->msg_iter;
	return rc;
}

/**
 * sdp_native_send() - send on the native socket
 * @ep: an endpoint with a native socket
 * @from: where from
 * @flags: MSG_*
 *
 * Return: bytes, or a negative errno, that of sendmsg(2).
 */
ssize_t sdp_native_send(struct sdp_ep *ep, struct iov_iter *from,
			unsigned int flags)
{
	struct msghdr msg = { .msg_iter = *from, .msg_flags = flags };
	int rc;

	rc = sock_sendmsg(sdp_native_sk(ep)->sk_socket, &msg);
	*from = msg.msg_iter;
	return rc;
}

/**
 * sdp_native_ioctl() - ioctl(2) on the native socket
 * @ep: an endpoint with a native socket
 * @cmd: the request
 * @arg: its argument
 *
 * Return: as ioctl(2), or a negative errno.
 */
long sdp_native_ioctl(struct sdp_ep *ep, unsigned int cmd, unsigned long arg)
{
	const struct file_operations *ops = ep->tcp->file->f_op;

#ifdef CONFIG_COMPAT
	if (in_compat_syscall())
		return ops->compat_ioctl(ep->tcp->file, cmd, arg);
#endif
	return ops->unlocked_ioctl(ep->tcp->file, cmd, arg);
}

static u32 sdp_native_state(const struct sock *sk)
{
	switch (inet_sk_state_load(sk)) {
	case TCP_ESTABLISHED:
		return SDP_STATE_CONNECTED;
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return SDP_STATE_CONNECTING;
	case TCP_LISTEN:
		return SDP_STATE_LISTEN;
	case TCP_CLOSE:
		if (READ_ONCE(sk->sk_shutdown) == SHUTDOWN_MASK)
			return SDP_STATE_CLOSED;
		return inet_sk(sk)->inet_num ? SDP_STATE_BOUND : SDP_STATE_IDLE;
	default:
		return SDP_STATE_CLOSING;
	}
}

/*
 * What getsockname(2) or getpeername(2) says, without the socket's lock: a program can
 * keep that for as long as it likes, and everybody reads this.
 */
static u32 sdp_native_name(struct sock *sk, bool peer, void *to)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct sockaddr_in6 *sin6 = to;
	struct sockaddr_in *sin = to;
	const struct in6_addr *addr;

	if (peer && (!READ_ONCE(inet->inet_dport) ||
		     BIT(inet_sk_state_load(sk)) & (TCPF_CLOSE | TCPF_SYN_SENT)))
		return 0;
	if (READ_ONCE(sk->sk_family) == AF_INET) {
		sin->sin_family = AF_INET;
		sin->sin_port = peer ? inet->inet_dport : inet->inet_sport;
		sin->sin_addr.s_addr = peer ? inet->inet_daddr :
				       inet->inet_rcv_saddr ?: inet->inet_saddr;
		return sizeof(*sin);
	}
	addr = peer ? &sk->sk_v6_daddr : &sk->sk_v6_rcv_saddr;
	if (!peer && ipv6_addr_any(addr))
		addr = &inet6_sk(sk)->saddr;
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = peer ? inet->inet_dport : inet->inet_sport;
	sin6->sin6_addr = *addr;
	sin6->sin6_scope_id = ipv6_iface_scope_id(addr, READ_ONCE(sk->sk_bound_dev_if));
	return sizeof(*sin6);
}

/**
 * sdp_native_holds() - does TCP still give the native socket what the endpoint listens on?
 * @ep: an endpoint in the table of listeners
 * @port: what it listens on
 * @listens: the native socket listens, too
 *
 * User space can take the port away from it, through a descriptor of its own.
 */
bool sdp_native_holds(struct sdp_ep *ep, u16 port, bool listens)
{
	struct sock *sk = sdp_native_sk(ep);
	struct sockaddr_storage name = {};

	if (READ_ONCE(inet_sk(sk)->inet_num) != port ||
	    (listens && inet_sk_state_load(sk) != TCP_LISTEN))
		return false;
	sdp_native_name(sk, false, &name);
	return sdp_addr_same_host(&name, &ep->local);
}

/**
 * sdp_native_info() - SDP_IOC_INFO where the native socket answers
 * @ep: an endpoint with a native socket
 * @info: out: what differs from the endpoint's own
 */
void sdp_native_info(struct sdp_ep *ep, struct sdp_info *info)
{
	struct sock *sk = sdp_native_sk(ep);

	info->state = sdp_native_state(sk);
	info->shutdown = READ_ONCE(sk->sk_shutdown) & SHUTDOWN_MASK;
	if (!info->error)
		info->error = READ_ONCE(sk->sk_err);
	info->local_len = sdp_native_name(sk, false, &info->local);
	info->peer_len = sdp_native_name(sk, true, &info->peer);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Options of a socket: those of the ULP, and those of TCP that concern where its bytes go.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sdp_sock.h>

#include "front/sock/proto.h"

/* How long a call waits until the peer has returned its direction. */
#define SDP_GIVE_UP_MS		10
#define SDP_GIVE_UP_TRIES	100

/* The peer may have to return its direction before the ULP can go. */
static bool sdp_sock_settles(struct sock *sk)
{
	struct sdp_sock *ss = sdp_sk(sk);

	return ss && sdp_lane_asked(ss) && !signal_pending(current);
}

/*
 * Another ULP needs the socket to itself.  So does a program that reads out a connection's state
 * (TCP_REPAIR), and IPV6_ADDRFORM, which puts IPv4's functions there.
 */
static int sdp_setsockopt_first(struct sock *sk, int level, int optname, sockptr_t optval,
				unsigned int optlen)
{
	char name[TCP_ULP_NAME_MAX] = "";
	struct sdp_sock *ss;
	int i, err = 0;

	if (level == SOL_TCP && optname == TCP_ULP) {
		if (copy_from_sockptr(name, optval, min_t(size_t, optlen, sizeof(name) - 1)))
			return -EFAULT;
		if (strcmp(name, "tls") && strcmp(name, "espintcp"))
			return 0;
	} else if (level == SOL_IPV6 && optname == IPV6_ADDRFORM) {
		if (sk->sk_family != AF_INET6 || sk->sk_state != TCP_ESTABLISHED)
			return 0;
	} else if (level != SOL_TCP || optname != TCP_REPAIR ||
		   !ns_capable(sock_net(sk)->user_ns, CAP_NET_ADMIN)) {
		return 0;
	}
	lock_sock(sk);
	ss = sdp_sk(sk);
	if (ss && sdp_only(ss)) {
		err = -EBUSY;
	} else if (level == SOL_TCP && optname == TCP_REPAIR) {
		if (ss && sdp_tx_return(ss, SDP_STAY_REPAIR))
			err = -EBUSY;
		if (ss && !err) {
			sdp_pair_close(ss);
			sdp_stay_set(ss, SDP_STAY_REPAIR, false);
			err = !sdp_lane_settled(ss) || sdp_rx_queued(ss) ? -EBUSY : 0;
		}
	} else {
		err = sdp_sock_give_up(sk);
		for (i = 0; err == -EBUSY && i < SDP_GIVE_UP_TRIES && sdp_sock_settles(sk); i++) {
			release_sock(sk);
			msleep_interruptible(SDP_GIVE_UP_MS);
			lock_sock(sk);
			err = sdp_sock_give_up(sk);
		}
	}
	release_sock(sk);
	return err;
}

int sdp_setsockopt(struct sock *sk, int level, int optname, sockptr_t optval,
		   unsigned int optlen)
{
	const struct sdp_base *base = sdp_sk_base(sk);
	int err;

	if (level == IPPROTO_SDP && optname == SDP_SOCK_MODE)
		return sdp_mode_setsockopt(sk, optval, optlen);
	/* sdp_setsockopt_first() may put the socket's own reference. */
	__module_get(THIS_MODULE);
	err = sdp_setsockopt_first(sk, level, optname, optval, optlen) ?:
	      base->prot->setsockopt(sk, level, optname, optval, optlen);
	module_put(THIS_MODULE);
	return err;
}

/* Pages of a pipe cannot be mapped: the program is told to read. */
static int sdp_getsockopt_zc(size_t queued, char __user *optval, int __user *optlen)
{
	struct tcp_zerocopy_receive zc = {};
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	len = min_t(int, len, sizeof(zc));
	if (len < (int)offsetofend(struct tcp_zerocopy_receive, recv_skip_hint))
		return -EINVAL;
	if (copy_from_user(&zc, optval, len))
		return -EFAULT;
	zc.length = 0;
	zc.recv_skip_hint = queued;
	if (put_user(len, optlen) || copy_to_user(optval, &zc, len))
		return -EFAULT;
	return 0;
}

/* TCP counts what goes by TCP.  To a program it is all one stream. */
static int sdp_getsockopt_info(struct sock *sk, char __user *optval, int __user *optlen)
{
	struct sdp_sock_info more = {};
	struct tcp_info info = {};
	struct sdp_sock *ss;
	int len, err;

	err = sdp_sk_base(sk)->prot->getsockopt(sk, SOL_TCP, TCP_INFO, optval, optlen);
	if (err)
		return err;
	rcu_read_lock();
	ss = sdp_sk(sk);
	if (ss)
		sdp_info_fill(ss, &more);
	rcu_read_unlock();
	if (!more.tx_bytes && !more.rx_bytes && !more.queued)
		return 0;
	/* Another thread may have changed the length since. */
	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	if (copy_from_user(&info, optval, min_t(int, len, sizeof(info))))
		return -EFAULT;
	info.tcpi_bytes_acked += more.tx_bytes;
	info.tcpi_bytes_sent += more.tx_bytes;
	info.tcpi_bytes_received += more.rx_bytes + more.queued;
	return copy_to_user(optval, &info, min_t(int, len, sizeof(info))) ? -EFAULT : 0;
}

int sdp_getsockopt(struct sock *sk, int level, int optname, char __user *optval,
		   int __user *optlen)
{
	struct sdp_sock *ss = NULL;
	int ret;

	if (level == IPPROTO_SDP && optname == SDP_SOCK_INFO)
		return sdp_info_getsockopt(sk, optval, optlen);
	if (level == IPPROTO_SDP && optname == SDP_SOCK_MODE)
		return sdp_mode_getsockopt(sk, optval, optlen);
	if (level == SOL_TCP && optname == TCP_INFO)
		return sdp_getsockopt_info(sk, optval, optlen);
	if (level == SOL_TCP && optname == TCP_ZEROCOPY_RECEIVE)
		ss = sdp_sock_get(sk);
	if (!ss)
		return sdp_sk_base(sk)->prot->getsockopt(sk, level, optname, optval, optlen);
	if (sdp_rx_enter_tcp(ss)) {
		ret = ss->base->prot->getsockopt(sk, level, optname, optval, optlen);
		sdp_rx_leave_tcp(ss);
	} else {
		lock_sock(sk);
		ret = tcp_sk(sk)->rcv_nxt - tcp_sk(sk)->copied_seq + sdp_rx_queued(ss);
		release_sock(sk);
		ret = sdp_getsockopt_zc(ret, optval, optlen);
	}
	sdp_sock_put(ss);
	return ret;
}

/* A socket that got the ULP while it listened still has TCP's own struct proto (ulp.c). */
int sdp_ops_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
		       unsigned int optlen)
{
	if (level == IPPROTO_SDP)
		return sdp_setsockopt(sock->sk, level, optname, optval, optlen);
	return sock_common_setsockopt(sock, level, optname, optval, optlen);
}

int sdp_ops_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
		       int __user *optlen)
{
	if (level == IPPROTO_SDP)
		return sdp_getsockopt(sock->sk, level, optname, optval, optlen);
	return sock_common_getsockopt(sock, level, optname, optval, optlen);
}

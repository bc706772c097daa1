// SPDX-License-Identifier: GPL-2.0
/*
 * May this connection be moved, or stay moved?
 *
 * What is asked here are rules that speak of packets, and users of the socket who would not
 * see what does not come by TCP.  Some are fields of the other end's socket, which the caller
 * does not hold the lock of: they are read once, and asked about again.
 */
#include <linux/bpf-cgroup.h>
#include <linux/netdevice.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include <net/xfrm.h>

#include "offload/offload.h"
#include "offload/net.h"

static const char * const sdp_stay_names[] = {
	[SDP_STAY_NOT] = "moved",
	[SDP_STAY_YOUNG] = "young",
	[SDP_STAY_PEER] = "peer",
	[SDP_STAY_LIVE] = "live",
	[SDP_STAY_WEAK] = "weak",
	[SDP_STAY_STATE] = "state",
	[SDP_STAY_OPS] = "ops",
	[SDP_STAY_KERNEL] = "kernel",
	[SDP_STAY_REPAIR] = "repair",
	[SDP_STAY_SIGNED] = "signed",
	[SDP_STAY_IPSEC] = "ipsec",
	[SDP_STAY_FILTER] = "filter",
	[SDP_STAY_PACING] = "pacing",
	[SDP_STAY_STAMPS] = "timestamps",
	[SDP_STAY_READS] = "reads",
	[SDP_STAY_URGENT] = "urgent",
	[SDP_STAY_CAPTURE] = "capture",
	[SDP_STAY_MEMORY] = "memory",
	[SDP_STAY_POLICY] = "policy",
	[SDP_STAY_CLOSED] = "closed",
	[SDP_STAY_TOUCH] = "touch",
	[SDP_STAY_ULP] = "ulp",
};

/**
 * sdp_stay_name() - the word for a reason, as tools show it
 * @stay: the reason
 */
const char *sdp_stay_name(enum sdp_stay stay)
{
	static_assert(ARRAY_SIZE(sdp_stay_names) == SDP_STAY_MAX);
	return sdp_stay_names[stay];
}

/**
 * sdp_stay_for_good() - is a reason one that does not pass?
 * @stay: the reason
 */
bool sdp_stay_for_good(enum sdp_stay stay)
{
	switch (stay) {
	case SDP_STAY_LIVE:
	case SDP_STAY_WEAK:
	case SDP_STAY_REPAIR:
	case SDP_STAY_URGENT:
	case SDP_STAY_CLOSED:
	case SDP_STAY_ULP:
		return true;
	default:
		return false;
	}
}

static bool sdp_gate_ipsec(struct sock *sk)
{
#ifdef CONFIG_XFRM
	struct dst_entry *dst = __sk_dst_get(sk);
	struct net *net = sock_net(sk);

	return (dst && dst_xfrm(dst)) || rcu_access_pointer(sk->sk_policy[0]) ||
	       rcu_access_pointer(sk->sk_policy[1]) ||
	       READ_ONCE(net->xfrm.policy_count[XFRM_POLICY_IN]);
#else
	return false;
#endif
}

static bool sdp_gate_signed(const struct tcp_sock *tp)
{
#ifdef CONFIG_TCP_MD5SIG
	if (rcu_access_pointer(tp->md5sig_info))
		return true;
#endif
#ifdef CONFIG_TCP_AO
	if (rcu_access_pointer(tp->ao_info))
		return true;
#endif
	return false;
}

static bool sdp_gate_filter(struct sock *sk)
{
	if (rcu_access_pointer(sk->sk_filter))
		return true;
#ifdef CONFIG_CGROUP_BPF
	if (cgroup_bpf_enabled(CGROUP_INET_INGRESS) &&
	    cgroup_bpf_sock_enabled(sk, CGROUP_INET_INGRESS))
		return true;
	if (cgroup_bpf_enabled(CGROUP_INET_EGRESS) &&
	    cgroup_bpf_sock_enabled(sk, CGROUP_INET_EGRESS))
		return true;
#endif
	return false;
}

static bool sdp_gate_stamps(const struct sock *sk)
{
	return sock_flag(sk, SOCK_RCVTSTAMP) || READ_ONCE(sk->sk_tsflags);
}

static bool sdp_gate_capture(struct sock *sk)
{
	struct dst_entry *dst = __sk_dst_get(sk);

	return READ_ONCE(sdp_net(sock_net(sk))->capture) && dst && dev_nit_active(dst->dev);
}

/* What the reader's socket has to be as well, whoever asks. */
static enum sdp_stay sdp_gate_reader(const struct sdp_sock *ss, const struct sock *sk)
{
	if (READ_ONCE(sk->sk_data_ready) != ss->base->data_ready ||
	    rcu_access_pointer(sk->sk_user_data))
		return SDP_STAY_KERNEL;
	if (READ_ONCE(sk->sk_rcvlowat) > 1 || READ_ONCE(sk->sk_peek_off) >= 0)
		return SDP_STAY_READS;
	if (sdp_gate_stamps(sk))
		return SDP_STAY_STAMPS;
	if (READ_ONCE(tcp_sk(sk)->urg_data))
		return SDP_STAY_URGENT;
	return SDP_STAY_NOT;
}

/**
 * sdp_gate() - may this end's sending direction be moved?
 * @ss: the endpoint, its socket locked
 * @begin: it is with TCP now
 *
 * Return: SDP_STAY_NOT, or why not.
 */
enum sdp_stay sdp_gate(struct sdp_sock *ss, bool begin)
{
	struct sock *sk = ss->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	enum sdp_stay stay = ss->stay;

	if (sdp_stay_for_good(stay))
		return stay;
	if (sk->sk_state != TCP_ESTABLISHED && (begin || sk->sk_state != TCP_CLOSE_WAIT))
		return SDP_STAY_STATE;
	if (!sk->sk_socket || READ_ONCE(sk->sk_socket->ops) != ss->ops)
		return SDP_STAY_OPS;
	if (sdp_gate_signed(tp))
		return SDP_STAY_SIGNED;
	if (READ_ONCE(sk->sk_max_pacing_rate) != ~0UL)
		return SDP_STAY_PACING;
	stay = sdp_gate_reader(ss, sk);
	if (stay)
		return stay;

	rcu_read_lock();
	if (sdp_gate_ipsec(sk))
		stay = SDP_STAY_IPSEC;
	else if (sdp_gate_filter(sk))
		stay = SDP_STAY_FILTER;
	else if (sdp_gate_capture(sk))
		stay = SDP_STAY_CAPTURE;
	rcu_read_unlock();
	return stay;
}

/**
 * sdp_gate_peer() - may the other end's socket be read from a pipe?
 * @peer: the other end, whose socket need not be locked
 */
enum sdp_stay sdp_gate_peer(const struct sdp_sock *peer)
{
	if (sdp_stay_for_good(READ_ONCE(peer->stay)))
		return READ_ONCE(peer->stay);
	return sdp_gate_reader(peer, peer->sk);
}

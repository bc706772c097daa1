// SPDX-License-Identifier: GPL-2.0
/*
 * May this connection be moved, or stay moved?
 *
 * The gate asks for rules that speak of packets, and for users of the socket that would not see
 * what does not come by TCP.  Some are fields of the other end's socket, whose lock the caller does
 * not hold: they are read once, and asked about again.
 */
#include <linux/bpf-cgroup.h>
#include <linux/netdevice.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include <net/xfrm.h>

#define CREATE_TRACE_POINTS
#include "offload/net.h"
#include "offload/offload.h"
#include "offload/trace.h"

static const char * const sdp_stay_names[] = {
	[SDP_STAY_NOT] = "moved",
	[SDP_STAY_YOUNG] = "young",
	[SDP_STAY_PASSING] = "passing",
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
	[SDP_STAY_STALL] = "stall",
	[SDP_STAY_CLOSED] = "closed",
	[SDP_STAY_TOUCH] = "touch",
	[SDP_STAY_ULP] = "ulp",
	[SDP_STAY_NEVER] = "never",
	[SDP_STAY_ONLY] = "only",
	[SDP_STAY_LOST] = "lost",
	[SDP_STAY_LEAVE] = "leave",
	[SDP_STAY_ROUTE] = "route",
	[SDP_STAY_IDLE] = "idle",
	[SDP_STAY_AVOID] = "avoid",
	[SDP_STAY_TOOL] = "tool",
};

const char *sdp_stay_name(enum sdp_stay stay)
{
	static_assert(ARRAY_SIZE(sdp_stay_names) == SDP_STAY_MAX);
	static_assert(SDP_STAY_MAX <= SDP_CNT_STAY_KINDS);
	return sdp_stay_names[stay];
}

/*
 * Remembers why a sending direction is with TCP, or that it has moved (SDP_STAY_NOT).  With @back
 * it has just come back.  The socket is locked.
 */
void sdp_stay_set(struct sdp_sock *ss, enum sdp_stay stay, bool back)
{
	/* A reason that passes does not replace one that stays. */
	if (sdp_stay_for_good(ss->stay) && !sdp_stay_for_good(stay))
		stay = ss->stay;
	if (back) {
		sdp_count(sock_net(ss->sk), SDP_CNT_RETURNED + stay);
		trace_sdp_sock_return(ss, stay);
	} else if (stay != ss->stay && stay && stay != SDP_STAY_CLOSED) {
		sdp_count(sock_net(ss->sk), SDP_CNT_STAYED + stay);
		trace_sdp_sock_stay(ss, stay);
	}
	WRITE_ONCE(ss->stay, stay);
}

/*
 * What came of a look for the other end.  A carrier that was lost is the reason until there is
 * another one, or a better reason: that none has been found yet says less.  The socket is locked.
 */
void sdp_stay_vain(struct sdp_sock *ss, enum sdp_stay stay)
{
	bool less = stay == SDP_STAY_PEER || stay == SDP_STAY_AVOID || stay == SDP_STAY_PASSING;

	if (ss->stay != SDP_STAY_LOST || !less)
		sdp_stay_set(ss, stay, false);
}

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

/* A program captures at a device, or at one that it is a port of. */
static bool sdp_gate_nit(struct net_device *dev)
{
	while (dev && !dev_nit_active(dev))
		dev = netdev_master_upper_dev_get_rcu(dev);
	return dev;
}

/* The device on the other side of veth is on the way, too. */
static int sdp_gate_nits(struct net_device *dev, struct netdev_nested_priv *unused)
{
	struct net_device *(*peer)(struct net_device *dev) = dev->netdev_ops->ndo_get_peer_dev;

	return sdp_gate_nit(dev) || (peer && sdp_gate_nit(peer(dev)));
}

/*
 * At the device, or at one that its packets pass by.  The port of a bridge that they leave by is
 * looked at for the other end.
 */
static bool sdp_gate_capture(struct sock *sk)
{
	struct dst_entry *dst = __sk_dst_get(sk);

	if (!READ_ONCE(sdp_net(sock_net(sk))->capture) || !dst)
		return false;
	return sdp_gate_nits(dst->dev, NULL) ||
	       (!netif_is_bridge_master(dst->dev) &&
		netdev_walk_all_lower_dev_rcu(dst->dev, sdp_gate_nits, NULL));
}

/* A client in the kernel that has gone may have put a callback back whose lane has gone, too. */
static bool sdp_gate_client(const struct sdp_sock *ss)
{
	void (*ready)(struct sock *sk) = READ_ONCE(ss->sk->sk_data_ready);

	return (ready != ss->base->data_ready &&
		(ready != sdp_lane_data_ready || !READ_ONCE(ss->lane))) ||
	       READ_ONCE(ss->sk->sk_write_space) != ss->base->write_space ||
	       READ_ONCE(ss->sk->sk_user_data);
}

/*
 * What the socket of either end has to be.  The caller is in an RCU read section, and has the
 * lock of its own end only, which need not be this one.
 */
static enum sdp_stay sdp_gate_end(const struct sdp_sock *ss)
{
	struct sock *sk = ss->sk;

	/* Got the ULP while it listened: its calls are TCP's own. */
	if (READ_ONCE(sk->sk_prot) == ss->base->prot)
		return SDP_STAY_OPS;
	if (sdp_gate_client(ss))
		return SDP_STAY_KERNEL;
	if (READ_ONCE(sk->sk_rcvlowat) > 1 || READ_ONCE(sk->sk_peek_off) >= 0)
		return SDP_STAY_READS;
	if (sdp_gate_stamps(sk))
		return SDP_STAY_STAMPS;
	if (READ_ONCE(tcp_sk(sk)->urg_data))
		return SDP_STAY_URGENT;
	if (sdp_gate_signed(tcp_sk(sk)))
		return SDP_STAY_SIGNED;
	if (sdp_gate_ipsec(sk))
		return SDP_STAY_IPSEC;
	if (sdp_gate_filter(sk))
		return SDP_STAY_FILTER;
	return sdp_gate_capture(sk) ? SDP_STAY_CAPTURE : SDP_STAY_NOT;
}

/*
 * May this end's sending direction be moved, or stay moved?  With @begin it is with TCP now.
 * SDP_STAY_NOT, or why not.  The socket is locked.
 */
enum sdp_stay sdp_gate(struct sdp_sock *ss, bool begin)
{
	struct sock *sk = ss->sk;
	enum sdp_stay stay = ss->stay;

	if (sdp_stay_for_good(stay))
		return stay;
	if (ss->never)
		return SDP_STAY_NEVER;
	if (sk->sk_state != TCP_ESTABLISHED &&
	    ((begin && !sdp_only(ss)) || sk->sk_state != TCP_CLOSE_WAIT))
		return SDP_STAY_STATE;
	if (!sk->sk_socket || READ_ONCE(sk->sk_socket->ops) != ss->ops)
		return SDP_STAY_OPS;
	if (tcp_sk(sk)->snd_una != tcp_sk(sk)->snd_up)
		return SDP_STAY_URGENT;
	if (READ_ONCE(sk->sk_max_pacing_rate) != ~0UL)
		return SDP_STAY_PACING;
	rcu_read_lock();
	stay = sdp_gate_end(ss);
	rcu_read_unlock();
	return stay;
}

/*
 * May the other end, whose socket need not be locked, be sent to by a pipe?  Its reasons not to
 * send by one are its own business, but for those that speak of the whole connection.
 */
enum sdp_stay sdp_gate_peer(const struct sdp_sock *peer)
{
	enum sdp_stay stay = READ_ONCE(peer->stay);

	switch (stay) {
	case SDP_STAY_LIVE:
	case SDP_STAY_WEAK:
	case SDP_STAY_REPAIR:
	case SDP_STAY_ULP:
		return stay;
	default:
		break;
	}
	if (READ_ONCE(peer->never))
		return SDP_STAY_NEVER;
	rcu_read_lock();
	stay = sdp_gate_end(peer);
	rcu_read_unlock();
	return stay;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What an endpoint tells: to its program by getsockopt(2), to an administrator by sock_diag.
 */
#include <linux/sdp_sock.h>
#include <net/netlink.h>

#include "front/sock/sock.h"

/* A snapshot of numbers that change.  Any context, in an RCU read section. */
void sdp_info_fill(const struct sdp_sock *ss, struct sdp_sock_info *info)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);
	enum sdp_stay stay = READ_ONCE(ss->stay);
	const struct sdp_lane *lane;
	struct sdp_pipe *tx, *rx;

	memset(info, 0, sizeof(*info));
	info->moves = READ_ONCE(ss->moves);
	info->tx_bytes = READ_ONCE(ss->sent);
	info->rx_bytes = READ_ONCE(ss->received);
	info->mode = READ_ONCE(ss->mode);
	if (pair) {
		tx = sdp_tx_pipe(ss, pair);
		rx = sdp_rx_pipe(ss, pair);
		if (READ_ONCE(tx->state) == SDP_PIPE_MOVED)
			info->tx_carrier = SDP_SOCK_BY_LOCAL;
		if (READ_ONCE(rx->state) == SDP_PIPE_MOVED)
			info->rx_carrier = SDP_SOCK_BY_LOCAL;
		info->tx_bytes += sdp_pipe_sent(tx);
		info->rx_bytes += sdp_pipe_received(rx);
		info->queued = sdp_rx_queued(ss);
	}
	lane = sdp_sock_lane(ss);
	if (lane)
		sdp_lane_info(lane, info);
	/* The endpoint may have a pair, and have sent nothing yet. */
	if (info->tx_carrier == SDP_SOCK_BY_TCP && stay != SDP_STAY_NOT)
		strscpy(info->stay, sdp_stay_name(stay), sizeof(info->stay));
}

/* The option SDP_SOCK_INFO.  Returns -ENOPROTOOPT if the socket has not the ULP. */
int sdp_info_getsockopt(struct sock *sk, char __user *optval, int __user *optlen)
{
	struct sdp_sock_info info;
	struct sdp_sock *ss;
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	rcu_read_lock();
	ss = sdp_sk(sk);
	if (ss)
		sdp_info_fill(ss, &info);
	rcu_read_unlock();
	if (!ss)
		return -ENOPROTOOPT;
	len = min_t(int, len, sizeof(info));
	return put_user(len, optlen) || copy_to_user(optval, &info, len) ? -EFAULT : 0;
}

/* An endpoint's part of an answer of sock_diag. */
int sdp_info_diag(struct sock *sk, struct sk_buff *skb COMPAT_INFO_ARGS)
{
	struct sdp_sock_info info;
	struct sdp_sock *ss;

	rcu_read_lock();
	ss = sdp_sk(sk);
	if (ss)
		sdp_info_fill(ss, &info);
	rcu_read_unlock();
	return ss ? nla_put(skb, SDP_ULP_INFO, sizeof(info), &info) : 0;
}

size_t sdp_info_diag_size(const struct sock *sk COMPAT_INFO_ARGS)
{
	return nla_total_size(sizeof(struct sdp_sock_info));
}

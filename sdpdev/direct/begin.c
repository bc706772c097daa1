// SPDX-License-Identifier: GPL-2.0
/*
 * How connections begin: a program asks, or a peer.
 */
#include <linux/security.h>
#include <linux/slab.h>

#include "core/core.h"
#include "direct/direct.h"
#include "sdp/wire.h"

/* What this end says of its receive buffers. */
static const struct sdp_hello sdp_direct_own = {
	.bufs = SDP_CHAN_BUFS_FIRST,
	.rcv_sz = SDP_DIRECT_SIZE,
	.adverts = SDP_MAX_ADVERTS,
};

/* Gives a socket a connection that is nowhere yet, and that @payer's control group pays for. */
static struct sdp_direct_link *sdp_direct_new_link(struct sock *sk, const struct sock *payer)
{
	struct sdp_direct_link *link = kzalloc(sizeof(*link), GFP_KERNEL_ACCOUNT);
	struct sdp_direct *direct = sdp_direct(sk);

	if (!link)
		return NULL;
	if (!sdp_chan_init(&link->chan, &sdp_direct_user, sock_net(sk))) {
		kfree(link);
		return NULL;
	}
	link->chan.memcg = sdp_sock_memcg(payer);
	sock_hold(sk);
	link->sk = sk;
	spin_lock_bh(&direct->lock);
	direct->link = link;
	direct->fin_sent = false;
	direct->fin_came = false;
	direct->ending = false;
	direct->src = (struct sdp_src){};
	direct->src_skip = 0;
	direct->src_misses = 0;
	direct->src_hits = 0;
	direct->src_enough = SDP_DIRECT_HITS;
	direct->sink = (struct sdp_sink){};
	direct->room = (struct sdp_room){};
	direct->room_skip = 0;
	direct->room_misses = 0;
	direct->target = (struct sdp_target){};
	direct->rx_mode = SDP_MODE_COMBINED;
	direct->tx_mode = SDP_MODE_COMBINED;
	direct->tx_mode_told = SDP_MODE_COMBINED;
	direct->buf_acks = 0;
	direct->tx_bytes = 0;
	direct->rx_bytes = 0;
	direct->tx_zcopy = 0;
	direct->rx_zcopy = 0;
	direct->tx_written = 0;
	direct->rx_written = 0;
	sk->sk_state = TCP_SYN_SENT;
	spin_unlock_bh(&direct->lock);
	return link;
}

/* Asks the peer; the socket is locked, bound, and has the peer's address.  Zero or -ENOBUFS. */
int sdp_direct_begin(struct sock *sk, struct sdp_xprt_params *params)
{
	struct sdp_direct_link *link = sdp_direct_new_link(sk, sk);
	struct sdp_hello hello = sdp_direct_own;
	struct sdp_hh hh;

	if (!link)
		return -ENOBUFS;
	hello.src = params->local;
	hello.dst = params->peer;
	sdp_build_hello(&hh, &hello);
	sdp_chan_connect(&link->chan, params, &hh, sizeof(hh));
	return 0;
}

static void sdp_direct_inherit(struct sock *sk, struct sock *parent)
{
	sk->sk_type = parent->sk_type;
	sk->sk_sndbuf = READ_ONCE(parent->sk_sndbuf);
	sk->sk_rcvbuf = READ_ONCE(parent->sk_rcvbuf);
	sk->sk_rcvlowat = READ_ONCE(parent->sk_rcvlowat);
	sk->sk_priority = parent->sk_priority;
	sk->sk_mark = READ_ONCE(parent->sk_mark);
	sk->sk_reuse = parent->sk_reuse;
	sk->sk_userlocks = parent->sk_userlocks;
	sdp_direct(sk)->nodelay = READ_ONCE(sdp_direct(parent)->nodelay);
	sk->sk_lingertime = parent->sk_lingertime;
	sock_valbool_flag(sk, SOCK_LINGER, sock_flag(parent, SOCK_LINGER));
	sk->sk_sndtimeo = parent->sk_sndtimeo;
	sk->sk_rcvtimeo = parent->sk_rcvtimeo;
	sk->sk_uid = parent->sk_uid;
	sk->sk_bound_dev_if = parent->sk_bound_dev_if;
	security_sk_clone(parent, sk);
}

/* A place in the listener's queue. */
static bool sdp_direct_admit(struct sock *parent, struct sock *sk)
{
	bool good;

	spin_lock_bh(&sdp_direct_accepts);
	good = parent->sk_state == TCP_LISTEN && !sk_acceptq_is_full(parent);
	if (good) {
		sk_acceptq_added(parent);
		sock_hold(parent);
		sdp_direct(sk)->parent = parent;
	}
	spin_unlock_bh(&sdp_direct_accepts);
	return good;
}

/* The reverse of all that was done; the queue's reference goes with the place in it. */
static void sdp_direct_refuse(struct sock *sk)
{
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_direct_link *link;

	spin_lock_bh(&direct->lock);
	link = direct->link;
	direct->link = NULL;
	sdp_direct_ended(sk, 0);
	spin_unlock_bh(&direct->lock);
	if (link)
		sdp_chan_put(&link->chan);
	sdp_direct_forget(sk);
}

static int sdp_direct_take(struct sock *sk, struct sock *parent, struct sdp_xprt_conn *xc,
			   const struct sdp_xprt_event *ev, const struct sdp_hello *hello)
{
	struct sdp_direct_link *link = sdp_direct_new_link(sk, parent);
	struct sdp_xprt_params params = { .local = *ev->local, .peer = *ev->peer };
	struct sdp_direct *direct = sdp_direct(sk);
	struct sdp_hah hah;

	if (!link)
		return -ENOMEM;
	memcpy(&direct->local, ev->local, sizeof(direct->local));
	memcpy(&direct->peer, ev->peer, sizeof(direct->peer));
	params.ifindex = ev->ifindex;
	/* Peers shall not take an adapter from all others before root's program accepts. */
	sdp_owner_share(sdp_direct(parent)->payer, &params.owner, &params.share);
	params.share = READ_ONCE(sdp_user_share);
	sdp_build_hello_ack(&hah, &sdp_direct_own);
	link->adverts = hello->adverts;
	sdp_chan_peer(&link->chan, hello->bufs, hello->rcv_sz);
	return sdp_chan_accept(&link->chan, xc, &params, &hah, sizeof(hah));
}

static int sdp_direct_hello(const struct net *net, const void *pdata, unsigned int len,
			    struct sdp_hello *hello)
{
	enum sdp_bad bad = sdp_parse_hello(pdata, len, hello);

	if (!bad)
		return 0;
	sdp_count(net, SDP_CNT_BAD + bad);
	sdp_count(net, SDP_CNT_REFUSED_BAD_HELLO);
	return -EPROTO;
}

/* struct sdp_xprt_upcalls.request_addrs */
int sdp_direct_request_addrs(const void *pdata, unsigned int len,
			     struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	struct sdp_hello hello;
	int err = sdp_direct_hello(&init_net, pdata, len, &hello);

	if (err)
		return err;
	*local = hello.dst;
	*peer = hello.src;
	return 0;
}

/*
 * A peer asks, within SDP_XPRT_CONNECT_REQUEST.  Zero; -ENOENT: no socket listens; or another errno
 * that refuses it.
 */
int sdp_direct_request(struct sdp_xprt_conn *xc, const struct sdp_xprt_event *ev)
{
	struct sdp_hello hello;
	struct sock *parent, *sk;
	int err;

	if (ev->local->ss_family != AF_INET)
		return -ENOENT;
	parent = sdp_direct_listener(ev->net, (const struct sockaddr_in *)ev->local,
				     ev->ifindex);
	if (!parent)
		return -ENOENT;
	err = sdp_direct_hello(ev->net, ev->pdata, ev->pdata_len, &hello);
	if (err)
		goto out;
	err = -ENOMEM;
	sk = sdp_direct_make(ev->net, NULL, 0);
	if (!sk)
		goto out;
	sdp_direct_inherit(sk, parent);
	err = -ECONNREFUSED;
	if (!sdp_direct_admit(parent, sk)) {
		sdp_count(ev->net, SDP_CNT_REFUSED_BACKLOG);
		sock_put(sk);
		goto out;
	}
	err = sdp_direct_take(sk, parent, xc, ev, &hello);
	if (err)
		sdp_direct_refuse(sk);
out:
	sock_put(parent);
	return err;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes that a carrier of messages gets without a copy: a message has the pages themselves, of a
 * file or a pipe (sendfile(2), splice(2)), or of the program (MSG_ZEROCOPY, io_uring's SEND_ZC).
 *
 * A message keeps them until the peer has acknowledged it, and a clone of the carrier's until its
 * adapter is done.  A program's are counted by a notice (struct ubuf_info), which the last of both
 * gives back: it tells the program that they are its own again.  So a call has one notice, even if
 * its bytes went several ways.  The notice says that bytes were copied if some were.
 */
#include <net/tcp.h>

#include "compat.h"
#include "core/core.h"
#include "offload/lane.h"

/* Fewer bytes are cheaper to copy than to name to an adapter. */
#define SDP_LEND_LEAST		512

/* The notice, if there is one, is to say that bytes were copied.  Any context. */
void sdp_lend_copied(struct ubuf_info *uarg)
{
	if (likely(!uarg))
		return;
	/* Not the last reference: nothing is told yet. */
	net_zcopy_get(uarg);
	compat_zerocopy_done(uarg, false);
}

/*
 * A notice for a call of @len bytes, referenced; or NULL.  A socket may have so many
 * (net.core.optmem_max).  Then the last one tells of this call, too, if what it is about is kept:
 * so it is with TCP.  The socket is locked, in process context.
 */
struct ubuf_info *sdp_lend_notice(struct sdp_sock *ss, size_t len)
{
	struct ubuf_info *uarg = compat_zerocopy_realloc(ss->sk, len, NULL);
	struct sk_buff *last;

	if (likely(uarg))
		return uarg;
	last = ss->lane ? skb_peek_tail(&ss->lane->kept) : NULL;
	uarg = skb_zcopy(last ?: tcp_write_queue_tail(ss->sk));
	if (!uarg || !compat_zerocopy_msg(uarg))
		return NULL;
	return compat_zerocopy_realloc(ss->sk, len, uarg);
}

/*
 * tcp_sendmsg_locked().  Some kernels take a notice back when TCP sends nothing.  But the notice is
 * the caller's, and a part of the call may have gone.
 */
int sdp_lend_tcp(struct sock *sk, struct msghdr *msg, size_t len)
{
	struct ubuf_info *uarg = msg->msg_ubuf;
	bool counts = unlikely(uarg) && compat_zerocopy_msg(uarg);
	u16 calls = counts ? uarg_to_msgzc(uarg)->len : 0;
	int ret;

	if (unlikely(uarg) && !(sk->sk_route_caps & NETIF_F_SG))
		sdp_lend_copied(uarg);
	ret = compat_tcp_sendmsg(sk, msg, len);
	if (counts && ret < 0 && uarg_to_msgzc(uarg)->len < calls) {
		uarg_to_msgzc(uarg)->len = calls;
		atomic_inc(&sk->sk_zckey);
	}
	return ret;
}

/*
 * Are the next bytes of a call to be lent?  The rest of a call that has lent some is, even if it is
 * little.  The socket is locked.
 */
bool sdp_lend_wants(const struct sdp_lane *lane, const struct msghdr *msg)
{
	bool enough = iov_iter_count(&msg->msg_iter) >= SDP_LEND_LEAST;
	struct sk_buff *last;

	if (!msg->msg_ubuf || !(msg->msg_flags & MSG_ZEROCOPY))
		return unlikely(compat_splices(msg)) && enough;
	last = skb_peek_tail(&lane->kept);
	return enough || (last && skb_zcopy(last) == msg->msg_ubuf);
}

/* A program's memory; it counts as the socket's. */
static ssize_t sdp_lend_program(struct sock *sk, struct sk_buff *skb, struct msghdr *msg,
				size_t len)
{
	unsigned int before = skb->truesize;
	int n = compat_zerocopy_stream(sk, skb, msg, len, msg->msg_ubuf);

	if (n >= 0)
		return n;
	/* The pages are gone, and what they count is not. */
	sk_wmem_queued_add(sk, before - skb->truesize);
	sk_mem_uncharge(sk, skb->truesize - before);
	skb->truesize = before;
	return n;
}

/* Pages that the kernel lends; their bytes count as the socket's memory. */
static ssize_t sdp_lend_pages(struct sock *sk, struct sk_buff *skb, struct msghdr *msg,
			      size_t len)
{
	ssize_t n = compat_splice_from_iter(skb, &msg->msg_iter, len, sk->sk_allocation);

	if (n <= 0)
		return n;
	if (!(msg->msg_flags & MSG_NO_SHARED_FRAGS))
		skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	sk_wmem_queued_add(sk, n);
	sk_mem_charge(sk, n);
	return n;
}

/*
 * A message gets up to @len bytes of pages of a call that lends them.  Returns how many it has got,
 * or -errno if none.  The socket is locked, in process context.
 */
ssize_t sdp_lend_fill(struct sock *sk, struct sk_buff *skb, struct msghdr *msg, size_t len)
{
	ssize_t n;

	/* The first page and the last one count whole. */
	if (!sk_wmem_schedule(sk, len + 2 * PAGE_SIZE))
		return -ENOMEM;
	n = msg->msg_ubuf ? sdp_lend_program(sk, skb, msg, len) :
			    sdp_lend_pages(sk, skb, msg, len);
	if (n > 0)
		sdp_count(sock_net(sk), SDP_CNT_LENT);
	return n;
}

/* What is kept goes by TCP, which gets copies.  The socket is locked. */
void sdp_lend_back(struct sdp_lane *lane)
{
	struct sk_buff *skb;

	skb_queue_walk(&lane->kept, skb)
		sdp_lend_copied(skb_zcopy(skb));
}

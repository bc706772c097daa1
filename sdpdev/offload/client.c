// SPDX-License-Identifier: GPL-2.0
/*
 * A client in the kernel takes a socket over, and reads it by its read_sock(), as KCM does.
 *
 * It has callbacks of its own, which the sender of a pipe does not call: so the direction comes
 * back to TCP (pipe.c, gate.c).  What the program has left in the pipe by then is read here, in
 * the order that rx.c has.
 */
#include <linux/skbuff.h>
#include <net/tcp.h>

#include "offload/offload.h"

/* Bytes of a packet that is made of a pipe's bytes. */
#define SDP_CLIENT_BYTES	PAGE_SIZE

/* A packet of the next bytes that have been claimed. */
static struct sk_buff *sdp_client_skb(struct sdp_pipe *pipe)
{
	size_t n, left = min_t(u64, pipe->claim - pipe->tail, SDP_CLIENT_BYTES);
	struct sk_buff *skb = alloc_skb(left, GFP_ATOMIC | __GFP_NOWARN);
	u64 pos;

	for (pos = pipe->tail; skb && left; pos += n, left -= n) {
		void *from = sdp_pipe_slice(pipe, pos, pos + left, &n);

		skb_put_data(skb, from, n);
	}
	return skb;
}

/* Give the client claimed bytes, until it takes no more: @desc->count is 0 then. */
static int sdp_client_pipe(struct sdp_pipe *pipe, read_descriptor_t *desc, sk_read_actor_t actor)
{
	struct sk_buff *skb;
	int used, len, done = 0;

	while (pipe->claim != pipe->tail && desc->count) {
		skb = sdp_client_skb(pipe);
		if (!skb) {
			/* It asks again later. */
			desc->error = -ENOMEM;
			desc->count = 0;
			break;
		}
		len = skb->len;
		used = actor(desc, skb, 0, len);
		kfree_skb(skb);
		if (used > 0)
			done += sdp_pipe_read(pipe, NULL, used);
		if (used < len)
			desc->count = 0;
		if (used < 0 && !done)
			return used;
	}
	return done;
}

/*
 * tcp_read_sock() of an endpoint.  Its socket is locked, in any context.  -ECONNABORTED if bytes
 * have come by TCP that may not.
 */
int sdp_client_read(struct sdp_sock *ss, read_descriptor_t *desc, sk_read_actor_t actor)
{
	struct sdp_pair *pair = sdp_sock_pair(ss);
	struct sdp_pipe *pipe = pair ? sdp_rx_pipe(ss, pair) : NULL;
	int n, done = 0;

	/* TCP may be in the middle of its own work: the program's next call ends the connection. */
	if (unlikely(sdp_only(ss)) && sdp_only_came(ss))
		return -ECONNABORTED;
	if (unlikely(ss->lane))
		return sdp_lane_give(ss, desc, actor);
	if (pipe) {
		done = sdp_client_pipe(pipe, desc, actor);
		if (done < 0 || !desc->count)
			return done;
	}
	n = tcp_read_sock(ss->sk, desc, actor);
	if (n < 0)
		return done ?: n;
	done += n;
	/* All of TCP's has to be read first. */
	if (!pipe || !desc->count || !skb_queue_empty(&ss->sk->sk_receive_queue) ||
	    !sdp_pipe_claim(pipe))
		return done;
	n = sdp_client_pipe(pipe, desc, actor);
	return n < 0 ? done ?: n : done + n;
}

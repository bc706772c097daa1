// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Sending. A group that the endpoint is not in is joined to send only. Datagrams go by the socket
 * until that is done. The socket also sends what a packet of the link does not hold, as the kernel
 * makes fragments, and what sockets of this host are to receive.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "internal.h"

static socklen_t addr_len(const struct sdpmcast *e)
{
	return e->family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* --- by the socket -------------------------------------------------------- */

static int set(const struct sdpmcast *e, int option4, int option6, int value)
{
	return e->family == AF_INET ?
	       setsockopt(e->sock, IPPROTO_IP, option4, &value, sizeof(value)) :
	       setsockopt(e->sock, IPPROTO_IPV6, option6, &value, sizeof(value));
}

/* Returns 0 or -1, with errno set. */
int send_open(struct sdpmcast *e)
{
	struct ip_mreqn mreq = { .imr_ifindex = e->ifindex };
	int ifindex = e->ifindex;

	if (sdpmcast_set(e, SDPMCAST_TTL, 1) || sdpmcast_set(e, SDPMCAST_LOOP, 0))
		return -1;
	return e->family == AF_INET ?
	       setsockopt(e->sock, IPPROTO_IP, IP_MULTICAST_IF, &mreq, sizeof(mreq)) :
	       setsockopt(e->sock, IPPROTO_IPV6, IPV6_MULTICAST_IF, &ifindex, sizeof(ifindex));
}

/* Returns how many, or -1. */
static int send_by_socket(struct sdpmcast *e, struct sockaddr_storage *to,
			  const struct iovec *datagrams, unsigned int n)
{
	struct mmsghdr msgs[BATCH];
	unsigned int i;
	int sent;

	memset(msgs, 0, sizeof(msgs));
	for (i = 0; i < n; i++)
		msgs[i].msg_hdr = (struct msghdr){
			.msg_name = to,
			.msg_namelen = addr_len(e),
			.msg_iov = (struct iovec *)&datagrams[i],
			.msg_iovlen = 1,
		};
	sent = sendmmsg(e->sock, msgs, n, 0);
	if (sent > 0)
		e->stat.sent_by_socket += sent;
	return sent;
}

/* --- by the queue pair ---------------------------------------------------- */

/* Takes back what the adapter has sent. */
static void reclaim(struct sdpmcast *e)
{
	struct ibv_wc wc[BATCH];
	bool lost = false;
	int i, count;

	do {
		count = ibv_poll_cq(e->send_cq, BATCH, wc);
		for (i = 0; i < count; i++) {
			e->send_tail = wc[i].wr_id;
			lost |= wc[i].status != IBV_WC_SUCCESS;
		}
	} while (count == BATCH);
	if (lost)
		groups_lost(e, SDPMCAST_LOST);
}

/* How many slots are empty. Where none is, an event tells when one may be. */
static unsigned int room(struct sdpmcast *e)
{
	if (e->send_head - e->send_tail > SEND_SLOTS / 2)
		reclaim(e);
	if (e->send_head - e->send_tail == SEND_SLOTS && !e->broken) {
		ibv_req_notify_cq(e->send_cq, 0);
		reclaim(e);
	}
	return SEND_SLOTS - (e->send_head - e->send_tail);
}

static void fill_ends(const struct sdpmcast *e, const struct sockaddr_storage *to,
		      struct wire_ends *ends)
{
	memset(ends, 0, sizeof(*ends));
	ends->family = e->family;
	ends->ttl = e->ttl;
	addr_read(&e->local, &ends->from, NULL);
	addr_read(to, &ends->to, &ends->to_port);
	ends->from_port = e->port;
}

/* Returns how many, or -1; the last one of a batch tells of all. */
static int send_by_pair(struct sdpmcast *e, const struct group *g, struct sockaddr_storage *to,
			const struct iovec *datagrams, unsigned int n)
{
	struct ibv_send_wr wr[BATCH], *bad;
	struct ibv_sge sge[BATCH];
	struct wire_ends ends;
	unsigned int i, slot;

	fill_ends(e, to, &ends);
	for (i = 0; i < n; i++) {
		slot = e->slots + (e->send_head + i) % SEND_SLOTS;
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)slot_at(e, slot),
			.length = wire_write(slot_at(e, slot), &ends, datagrams[i].iov_base,
					     datagrams[i].iov_len),
			.lkey = e->mr->lkey,
		};
		wr[i] = (struct ibv_send_wr){
			.wr_id = e->send_head + i + 1,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = i + 1 < n ? 0 : IBV_SEND_SIGNALED,
			.wr.ud = { .ah = g->ah, .remote_qpn = g->qpn, .remote_qkey = g->qkey },
		};
	}
	errno = ibv_post_send(e->id->qp, wr, &bad);
	if (errno) {
		/* Those before it went, and nothing would tell when. */
		groups_lost(e, SDPMCAST_LOST);
		return -1;
	}
	e->send_head += n;
	e->stat.sent += n;
	return n;
}

/* --- both ------------------------------------------------------------------ */

/*
 * How many of @datagrams go one way, from the first on; @by_pair says which. With a TTL of 0 no
 * datagram may leave the host: the kernel knows.
 */
static unsigned int same_way(const struct sdpmcast *e, const struct group *g,
			     const struct iovec *datagrams, unsigned int n, bool *by_pair)
{
	bool pair = g->way == SDPMCAST_QUEUE_PAIR && g->ah && !e->loop && e->ttl;
	unsigned int i;

	*by_pair = pair && datagrams[0].iov_len <= e->send_most;
	for (i = 1; i < n && i < BATCH; i++)
		if ((pair && datagrams[i].iov_len <= e->send_most) != *by_pair)
			break;
	return i;
}

static int send_some(struct sdpmcast *e, const struct group *g, struct sockaddr_storage *to,
		     const struct iovec *datagrams, unsigned int n)
{
	unsigned int free;
	bool by_pair;

	n = same_way(e, g, datagrams, n, &by_pair);
	free = by_pair ? room(e) : 0;
	if (by_pair && !e->broken) {
		if (free)
			return send_by_pair(e, g, to, datagrams, n < free ? n : free);
		errno = EAGAIN;
		return -1;
	}
	return send_by_socket(e, to, datagrams, n);
}

/*
 * Sends @n datagrams. Returns how many were sent; where none could be, -1, and with EAGAIN
 * sdpmcast_fd() is readable when there may be room.
 */
__public int sdpmcast_send(struct sdpmcast *e, const struct sockaddr *group,
			   const struct iovec *datagrams, unsigned int n)
{
	struct sockaddr_storage to;
	unsigned int done = 0;
	struct group *g;
	int sent;

	if (group->sa_family != e->family) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	memset(&to, 0, sizeof(to));
	memcpy(&to, group, addr_len(e));
	if (!addr_is_multicast(&to)) {
		errno = EINVAL;
		return -1;
	}
	g = group_to_send(e, &to);
	if (!g)
		return -1;
	if (g->way != SDPMCAST_QUEUE_PAIR || group_events_due(&e->busy_out, n))
		group_events(e);
	addr_set_port(&to, e->port);
	while (done < n) {
		sent = send_some(e, g, &to, datagrams + done, n - done);
		if (sent < 0)
			return done ? (int)done : -1;
		done += sent;
	}
	return done;
}

/* As the options of sockets. */
__public int sdpmcast_set(struct sdpmcast *e, enum sdpmcast_option option, int value)
{
	switch (option) {
	case SDPMCAST_TTL:
		if (value < 0 || value > 255)
			break;
		if (set(e, IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, value))
			return -1;
		e->ttl = value;
		return 0;
	case SDPMCAST_LOOP:
		if (value != 0 && value != 1)
			break;
		if (set(e, IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, value))
			return -1;
		e->loop = value;
		return 0;
	}
	errno = EINVAL;
	return -1;
}

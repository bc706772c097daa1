// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Receiving: completions of the queue pair, then the socket. What a datagram carries stays
 * in its slot until the program gives that back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "internal.h"

/* --- by the queue pair ---------------------------------------------------- */

static void count_refused(struct sdpmcast *e, enum wire_verdict verdict)
{
	if (verdict == WIRE_OTHER)
		e->stat.not_udp++;
	else if (verdict == WIRE_BAD_SUM)
		e->stat.bad_sum++;
	else if (verdict == WIRE_FRAGMENT)
		e->stat.fragments++;
	else
		e->stat.malformed++;
}

/* Has a program of this host sent it? What the port sends carries the port's GID. */
static bool is_local(struct sdpmcast *e, const struct ibv_wc *wc, const struct sdpmcast_msg *msg)
{
	if (memcmp(slot_at(e, wc->wr_id) + GRH_SGID, e->hw + HW_LEN - GID_LEN, GID_LEN))
		return false;
	if (addr_equal(&msg->from, &e->local))
		return true;
	/* Another address of the host, or another network namespace at the same port */
	if (!addr_equal(&msg->from, &e->asked)) {
		e->asked = msg->from;
		e->asked_is_local = addr_is_local(&e->asked);
	}
	return e->asked_is_local;
}

/*
 * Is it to be left out? An adapter gives a copy to each queue pair in the group, so that an
 * endpoint receives what it has sent. An adopted socket has what this host sends by the kernel.
 */
static bool is_own(struct sdpmcast *e, const struct ibv_wc *wc, const struct sdpmcast_msg *msg)
{
	if (e->adopted)
		return is_local(e, wc, msg);
	return wc->src_qp == e->id->qp->qp_num && addr_equal(&msg->from, &e->local);
}

/* Is it the program's? Fragments make their group come by the socket: the kernel joins them. */
static bool accept_datagram(struct sdpmcast *e, const struct ibv_wc *wc,
			    struct sdpmcast_msg *msg)
{
	const uint8_t *packet = slot_at(e, wc->wr_id) + GRH_LEN;
	bool sum_ok = wc->wc_flags & IBV_WC_IP_CSUM_OK;
	enum wire_verdict verdict;
	struct wire_ends ends;
	struct group *g;

	if (wc->byte_len < GRH_LEN) {
		e->stat.malformed++;
		return false;
	}
	verdict = wire_read(packet, wc->byte_len - GRH_LEN, sum_ok, &ends, &msg->data, &msg->len);
	if (verdict != WIRE_OK && verdict != WIRE_FRAGMENT) {
		count_refused(e, verdict);
		return false;
	}
	addr_fill(&msg->from, ends.family, &ends.from, ends.from_port);
	addr_fill(&msg->to, ends.family, &ends.to, ends.to_port);
	g = group_find(e, &msg->to);
	if (!g || !g->receives || !group_wants(g, &msg->from) || is_own(e, wc, msg)) {
		e->stat.filtered++;
		return false;
	}
	if (g->way != SDPMCAST_QUEUE_PAIR) {
		if (g->left && verdict == WIRE_OK && ends.to_port == e->port)
			e->stat.lost++;
		else
			e->stat.filtered++;
		return false;
	}
	if (verdict == WIRE_FRAGMENT) {
		count_refused(e, verdict);
		e->stat.lost++;
		group_set_way(e, g, SDPMCAST_FRAGMENTS);
		return false;
	}
	if (ends.to_port != e->port) {
		e->stat.other_port++;
		return false;
	}
	msg->ttl = ends.ttl;
	msg->slot = wc->wr_id;
	e->stat.received++;
	return true;
}

unsigned int recv_completions(struct sdpmcast *e, struct sdpmcast_msg *msgs, unsigned int n)
{
	unsigned int looked = 0, got = 0, returned;
	uint32_t back[BATCH];
	struct ibv_wc wc[BATCH];
	bool lost = false;
	int i, count;

	/* What others send may come for ever. */
	while (got < n && looked < e->slots) {
		count = ibv_poll_cq(e->cq, n - got < BATCH ? n - got : BATCH, wc);
		if (count <= 0)
			break;
		looked += count;
		returned = 0;
		for (i = 0; i < count; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				lost = true;
			else if (accept_datagram(e, &wc[i], &msgs[got]))
				got++;
			else
				back[returned++] = wc[i].wr_id;
		}
		if (!lost)
			pair_post(e, back, returned);
	}
	if (lost)
		groups_lost(e, SDPMCAST_LOST);
	return got;
}

/* An event says no more than that there may be completions. */
void recv_rearm(struct sdpmcast *e)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(e->comp, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	ibv_req_notify_cq(e->cq, 0);
}

/* --- by the socket -------------------------------------------------------- */

/* Where the datagram was sent to, as the kernel tells it. */
static void read_destination(const struct sdpmcast *e, struct msghdr *hdr,
			     struct sdpmcast_msg *msg)
{
	struct in6_addr to = {};
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(hdr); c; c = CMSG_NXTHDR(hdr, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
			memcpy(&to, &((struct in_pktinfo *)CMSG_DATA(c))->ipi_addr, 4);
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
			to = ((struct in6_pktinfo *)CMSG_DATA(c))->ipi6_addr;
	}
	addr_fill(&msg->to, e->family, &to, e->port);
}

/* While the program has all slots of the socket, the socket's datagrams must not wake it. */
static void watch_socket(const struct sdpmcast *e, bool watch)
{
	struct epoll_event event = { .events = watch ? EPOLLIN : 0 };

	epoll_ctl(e->epoll, EPOLL_CTL_MOD, e->sock, &event);
}

static bool take_from_socket(struct sdpmcast *e, struct sdpmcast_msg *msg)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control;
	uint32_t slot = e->free[e->free_count - 1];
	struct iovec iov = { .iov_base = slot_at(e, slot), .iov_len = SOCKET_LEN };
	struct msghdr hdr = {
		.msg_name = &msg->from,
		.msg_namelen = sizeof(msg->from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	ssize_t len;

	len = recvmsg(e->sock, &hdr, 0);
	if (len < 0)
		return false;
	if (!--e->free_count)
		watch_socket(e, false);
	msg->data = iov.iov_base;
	msg->len = len;
	msg->ttl = 0;
	msg->slot = slot;
	read_destination(e, &hdr, msg);
	e->stat.by_socket++;
	return true;
}

/* --- both ------------------------------------------------------------------ */

static unsigned int take_from_pair(struct sdpmcast *e, struct sdpmcast_msg *msgs, unsigned int n)
{
	return e->cq ? recv_completions(e, msgs, n) : 0;
}

/*
 * Up to @n datagrams. Where there are none, -1 and EAGAIN, and sdpmcast_fd() is readable
 * when there may be some. A call that finds some at the queue pair makes no system call, but
 * what the queue pair brings for ever may not keep the rest from coming.
 */
__public int sdpmcast_recv(struct sdpmcast *e, struct sdpmcast_msg *msgs, unsigned int n)
{
	unsigned int got = take_from_pair(e, msgs, n);

	if (got && !group_events_due(&e->busy_in, got))
		return got;
	group_events(e);
	if (!got && e->cq) {
		recv_rearm(e);
		got = take_from_pair(e, msgs, n);
	}
	while (got < n && e->free_count && take_from_socket(e, &msgs[got]))
		got++;
	if (got || !n)
		return got;
	errno = EAGAIN;
	return -1;
}

/* Gives the slots back: what the datagrams carried is gone after this. */
__public void sdpmcast_release(struct sdpmcast *e, const struct sdpmcast_msg *msgs,
			       unsigned int n)
{
	uint32_t back[BATCH];
	unsigned int i, count = 0;

	for (i = 0; i < n; i++) {
		if (msgs[i].slot >= SOCKET_SLOTS) {
			back[count++] = msgs[i].slot;
		} else {
			e->free[e->free_count++] = msgs[i].slot;
			if (e->free_count == 1)
				watch_socket(e, true);
		}
		if (count == BATCH) {
			pair_post(e, back, count);
			count = 0;
		}
	}
	if (count)
		pair_post(e, back, count);
}

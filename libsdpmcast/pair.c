// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The queue pair, and the memory that it receives into. The connection manager finds the port and
 * the partition by the interface's address.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "internal.h"

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static int watch(struct sdpmcast *e, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return set_nonblocking(fd) ? -1 : epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Gives the adapter empty slots. Returns 0 or an errno. */
int pair_post(struct sdpmcast *e, const uint32_t *slots, unsigned int n)
{
	struct ibv_recv_wr wr[BATCH], *bad;
	struct ibv_sge sge[BATCH];
	unsigned int i;

	for (i = 0; i < n; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)slot_at(e, slots[i]),
			.length = SLOT_LEN,
			.lkey = e->mr->lkey,
		};
		wr[i] = (struct ibv_recv_wr){
			.wr_id = slots[i],
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
		};
	}
	return n ? ibv_post_recv(e->id->qp, wr, &bad) : 0;
}

static int post_all(struct sdpmcast *e)
{
	uint32_t slots[BATCH];
	unsigned int n = 0;
	uint32_t slot;

	for (slot = SOCKET_SLOTS; slot < e->slots; slot++) {
		slots[n++] = slot;
		if (n == BATCH || slot + 1 == e->slots) {
			if (pair_post(e, slots, n))
				return -1;
			n = 0;
		}
	}
	return 0;
}

/*
 * What a packet carries beside its headers. The broadcast group has the MTU of the link, which the
 * interface has, too, but for the connected mode: there 2044 bytes are what all links take.
 */
static int find_most(struct sdpmcast *e)
{
	unsigned int mtu = addr_mtu(e->ifindex);
	struct ibv_port_attr port;

	if (ibv_query_port(e->id->verbs, e->id->port_num, &port))
		return -1;
	if (!mtu || mtu + 4 > 128U << port.active_mtu)
		mtu = 2044;
	e->send_most = mtu - (WIRE_MAX_HEADERS - 4) + (e->family == AF_INET ? 20 : 0);
	return 0;
}

/* The P_Key that the queue pair's index stands for now. */
static bool read_pkey(const struct sdpmcast *e, uint16_t *pkey)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	__be16 key;

	if (ibv_query_qp(e->id->qp, &attr, IBV_QP_PKEY_INDEX, &init) ||
	    ibv_query_pkey(e->id->verbs, e->id->port_num, attr.pkey_index, &key))
		return false;
	*pkey = ntohs(key) & 0x7fff;
	return true;
}

/* If the subnet manager has moved P_Keys, the queue pair hears another partition, or none. */
bool pair_in_partition(const struct sdpmcast *e)
{
	uint16_t pkey;

	return read_pkey(e, &pkey) && pkey == e->pkey;
}

static int make_pair(struct sdpmcast *e)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_recv_wr = e->slots - SOCKET_SLOTS, .max_send_wr = SEND_SLOTS,
			 .max_recv_sge = 1, .max_send_sge = 1 },
	};

	e->pd = ibv_alloc_pd(e->id->verbs);
	if (!e->pd)
		return -1;
	e->mr = ibv_reg_mr(e->pd, slot_at(e, SOCKET_SLOTS),
			   (size_t)(e->slots - SOCKET_SLOTS + SEND_SLOTS) * SLOT_LEN,
			   IBV_ACCESS_LOCAL_WRITE);
	e->comp = ibv_create_comp_channel(e->id->verbs);
	if (!e->mr || !e->comp)
		return -1;
	e->cq = ibv_create_cq(e->id->verbs, e->slots, NULL, e->comp, 0);
	e->send_cq = ibv_create_cq(e->id->verbs, SEND_SLOTS, NULL, e->comp, 0);
	if (!e->cq || !e->send_cq || find_most(e))
		return -1;
	attr.send_cq = e->send_cq;
	attr.recv_cq = e->cq;
	if (rdma_create_qp(e->id, e->pd, &attr) || post_all(e) || !read_pkey(e, &e->pkey))
		return -1;
	return ibv_req_notify_cq(e->cq, 0) || watch(e, e->comp->fd) ||
	       watch(e, e->channel->fd) ? -1 : 0;
}

/* Returns 0 or -1; then there is none, and everything comes by the socket. */
int pair_open(struct sdpmcast *e)
{
	int error;

	if (!addr_of_interface(e->ifindex, e->family, &e->local)) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	e->channel = rdma_create_event_channel();
	if (!e->channel)
		return -1;
	if (!rdma_create_id(e->channel, &e->id, e, RDMA_PS_IPOIB) &&
	    !rdma_bind_addr(e->id, (struct sockaddr *)&e->local) && e->id->verbs && !make_pair(e))
		return 0;
	error = errno;
	pair_close(e);
	errno = error;
	return -1;
}

void pair_close(struct sdpmcast *e)
{
	if (e->id && e->id->qp)
		rdma_destroy_qp(e->id);
	if (e->cq)
		ibv_destroy_cq(e->cq);
	if (e->send_cq)
		ibv_destroy_cq(e->send_cq);
	if (e->comp)
		ibv_destroy_comp_channel(e->comp);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	if (e->pd)
		ibv_dealloc_pd(e->pd);
	if (e->id)
		rdma_destroy_id(e->id);
	if (e->channel)
		rdma_destroy_event_channel(e->channel);
	e->cq = NULL;
	e->send_cq = NULL;
	e->comp = NULL;
	e->mr = NULL;
	e->pd = NULL;
	e->id = NULL;
	e->channel = NULL;
}

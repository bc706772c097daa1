/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The endpoint and its groups. One thread at a time is in the library with an endpoint, so
 * there are no locks.
 */
#ifndef INTERNAL_H
#define INTERNAL_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "sdpmcast.h"
#include "wire.h"

#define __public	__attribute__((visibility("default")))

#define GRH_LEN		40
#define MAX_MTU		4096
#define SLOT_LEN	(GRH_LEN + MAX_MTU)
#define MAX_SLOTS	8192
/* Slots that are never posted: what comes by the socket goes there, fragments joined. */
#define SOCKET_SLOTS	32
#define SOCKET_LEN	65536
#define BATCH		32

/**
 * struct group - a group that the endpoint is in
 * @next:	the endpoint's next group
 * @addr:	the address; the port is the endpoint's
 * @way:	by which way its datagrams come; changed by group_set_way() only
 * @joined:	the queue pair is in it, or asked for
 * @sources:	from which it is wanted; from all of them if there are none
 * @source_count: how many
 */
struct group {
	struct group *next;
	struct sockaddr_storage addr;
	enum sdpmcast_way way;
	bool joined;
	struct sockaddr_storage *sources;
	unsigned int source_count;
};

/**
 * struct sdpmcast - an endpoint
 * @family:	AF_INET or AF_INET6
 * @port:	in the order of the network
 * @ifindex:	the interface
 * @sock:	is a member of each group, so that routers hear of it
 * @epoll:	what the program waits for
 * @netlink:	to the interface's driver, or -1
 * @genl:	the number of its family there
 * @channel:	events of @id, or NULL without a queue pair
 * @id:		the connection manager's
 * @pd:		protection domain
 * @comp:	tells when @cq has something
 * @cq:		completions
 * @broken:	the queue pair receives nothing any more
 * @mr:		@memory, known to the adapter
 * @memory:	slots: SOCKET_SLOTS of SOCKET_LEN bytes, then those that are posted, of SLOT_LEN
 * @len:	its bytes
 * @slots:	how many
 * @free:	those of the socket that are free, @free_count of them
 * @free_count:	how many
 * @groups:	the groups
 * @stat:	what is counted
 */
struct sdpmcast {
	sa_family_t family;
	in_port_t port;
	unsigned int ifindex;
	int sock;
	int epoll;
	int netlink;
	uint16_t genl;

	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	bool broken;
	struct ibv_mr *mr;
	uint8_t *memory;
	size_t len;
	unsigned int slots;
	uint32_t free[SOCKET_SLOTS];
	unsigned int free_count;

	struct group *groups;
	struct sdpmcast_stat stat;
};

static inline uint8_t *slot_at(const struct sdpmcast *e, uint32_t slot)
{
	if (slot < SOCKET_SLOTS)
		return e->memory + (size_t)slot * SOCKET_LEN;
	return e->memory + SOCKET_SLOTS * SOCKET_LEN + (size_t)(slot - SOCKET_SLOTS) * SLOT_LEN;
}

/* addr.c */
bool addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
void addr_fill(struct sockaddr_storage *to, sa_family_t family, const struct in6_addr *addr,
	       in_port_t port);
bool addr_of_interface(unsigned int ifindex, sa_family_t family, struct sockaddr_storage *to);

/* claim.c */
void claim_open(struct sdpmcast *e);
int claim_send(const struct sdpmcast *e, const struct group *g, bool claim);

/* filter.c */
int filter_set(const struct sdpmcast *e);

/* pair.c */
int pair_open(struct sdpmcast *e);
void pair_close(struct sdpmcast *e);
int pair_post(struct sdpmcast *e, const uint32_t *slots, unsigned int n);

/* group.c */
struct group *group_find(const struct sdpmcast *e, const struct sockaddr_storage *addr);
bool group_wants(const struct group *g, const struct sockaddr_storage *source);
void group_set_way(struct sdpmcast *e, struct group *g, enum sdpmcast_way way);
void group_events(struct sdpmcast *e);
void groups_lost(struct sdpmcast *e);
void groups_free(struct sdpmcast *e);

#endif /* INTERNAL_H */

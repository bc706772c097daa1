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
#define GRH_SGID	8
#define HW_LEN		20
#define GID_LEN		16
#define MAX_MTU		4096
#define SLOT_LEN	(GRH_LEN + MAX_MTU)
#define MAX_SLOTS	8192
/* Slots that are never posted: what comes by the socket goes there, fragments joined. */
#define SOCKET_SLOTS	32
#define SOCKET_LEN	65536
#define BATCH		32
/* So many datagrams of the queue pair, and the memberships and the socket get a look. */
#define BUSY		64
/* Seconds between two joins of a group that is refused, at most. */
#define MAX_PAUSE	16
/* Packets that are on their way to the adapter, at most; a power of two. */
#define SEND_SLOTS	64

/**
 * struct group - a group that the endpoint is in, or sends to
 * @next:	the endpoint's next group
 * @addr:	the address; the port is the endpoint's
 * @receives:	the socket is in it; otherwise the queue pair joins to send only
 * @way:	by which way its datagrams go; begun by group_start(), changed by group_set_way()
 * @joined:	the queue pair is in it, or asked for
 * @again:	the timer has it join again: it was refused
 * @left:	it went from the queue pair to the socket, and has not come back
 * @ah:		where the queue pair sends to, or NULL; with @qpn and @qkey
 * @qpn:	of multicast
 * @qkey:	the group's
 * @sources:	from which it is wanted; from all of them if there are none
 * @source_count: how many
 */
struct group {
	struct group *next;
	struct sockaddr_storage addr;
	bool receives;
	enum sdpmcast_way way;
	bool joined;
	bool again;
	bool left;
	struct ibv_ah *ah;
	uint32_t qpn;
	uint32_t qkey;
	struct sockaddr_storage *sources;
	unsigned int source_count;
};

/**
 * struct sdpmcast - an endpoint
 * @family:	AF_INET or AF_INET6
 * @port:	in the order of the network
 * @ifindex:	the interface
 * @sock:	is a member of each group, so that routers hear of it
 * @adopted:	@sock is a program's, which joins and reads it; see endpoint_adopt()
 * @changed:	told of each change of a group's way, or NULL; @owner is for it
 * @owner:	whose endpoint it is
 * @hw:		the interface's hardware address, which ends with its GID
 * @asked:	an address that was looked for among those of the host
 * @asked_is_local: it is one of them
 * @epoll:	what the program waits for
 * @timer:	when refused groups are asked for again, in @epoll; or -1
 * @pause:	seconds until then
 * @netlink:	to the interface's driver, or -1
 * @genl:	the number of its family there
 * @channel:	events of @id, or NULL without a queue pair
 * @id:		the connection manager's
 * @pd:		protection domain
 * @comp:	tells when @cq has something
 * @cq:		completions of what it receives
 * @send_cq:	and of what it sends
 * @pkey:	the partition of the queue pair when it was made
 * @busy_in:	datagrams that the queue pair has brought since the last look at memberships
 * @busy_out:	datagrams that it has sent since then
 * @broken:	why the queue pair receives nothing any more; SDPMCAST_QUEUE_PAIR while it does
 * @local:	the interface's address when the queue pair was made
 * @mr:		what of @memory the adapter knows: all but the socket's slots
 * @memory:	slots: SOCKET_SLOTS of SOCKET_LEN bytes, then those that are posted, of SLOT_LEN,
 *		then SEND_SLOTS likewise
 * @len:	its bytes
 * @slots:	how many, without those to send
 * @send_head:	packets that were posted
 * @send_tail:	of them, those that are known to have gone
 * @send_most:	bytes that a datagram in one packet carries
 * @ttl:	of what is sent, or hop limit
 * @loop:	sockets of the host are to receive it, too
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
	bool adopted;
	void (*changed)(struct sdpmcast *e, const struct group *g);
	void *owner;
	uint8_t hw[HW_LEN];
	struct sockaddr_storage asked;
	bool asked_is_local;
	int epoll;
	int timer;
	unsigned int pause;
	int netlink;
	uint16_t genl;

	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct ibv_cq *send_cq;
	uint16_t pkey;
	unsigned int busy_in;
	unsigned int busy_out;
	enum sdpmcast_way broken;
	struct sockaddr_storage local;
	struct ibv_mr *mr;
	uint8_t *memory;
	size_t len;
	unsigned int slots;
	uint32_t send_head;
	uint32_t send_tail;
	uint32_t send_most;
	int ttl;
	bool loop;
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
void addr_read(const struct sockaddr_storage *from, struct in6_addr *addr, in_port_t *port);
void addr_set_port(struct sockaddr_storage *addr, in_port_t port);
bool addr_is_multicast(const struct sockaddr_storage *addr);
unsigned int addr_mtu(unsigned int ifindex);
bool addr_of_interface(unsigned int ifindex, sa_family_t family, struct sockaddr_storage *to);
bool addr_is_local(const struct sockaddr_storage *addr);
bool addr_hardware(unsigned int ifindex, uint8_t hw[HW_LEN]);

/* claim.c */
void claim_open(struct sdpmcast *e);
int claim_send(const struct sdpmcast *e, const struct group *g, bool claim);

/* endpoint.c */
struct sdpmcast *endpoint_adopt(int sock, unsigned int ifindex, sa_family_t family,
				in_port_t port, unsigned int slots);

/* filter.c */
int filter_set(const struct sdpmcast *e);

/* pair.c */
int pair_open(struct sdpmcast *e);
void pair_close(struct sdpmcast *e);
bool pair_in_partition(const struct sdpmcast *e);
int pair_post(struct sdpmcast *e, const uint32_t *slots, unsigned int n);

/* recv.c */
unsigned int recv_completions(struct sdpmcast *e, struct sdpmcast_msg *msgs, unsigned int n);
void recv_rearm(struct sdpmcast *e);

/* send.c */
int send_open(struct sdpmcast *e);

/* group.c */
struct group *group_to_send(struct sdpmcast *e, const struct sockaddr_storage *addr);
struct group *group_find(const struct sdpmcast *e, const struct sockaddr_storage *addr);
bool group_wants(const struct group *g, const struct sockaddr_storage *source);
void group_set_way(struct sdpmcast *e, struct group *g, enum sdpmcast_way way);
void group_events(struct sdpmcast *e);
bool group_events_due(unsigned int *busy, unsigned int more);
void groups_lost(struct sdpmcast *e, enum sdpmcast_way why);
void groups_free(struct sdpmcast *e);

#endif /* INTERNAL_H */

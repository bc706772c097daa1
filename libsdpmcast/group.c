// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Groups. The socket joins first, and has the datagrams until the queue pair is in the group.
 * Then its filter drops them, and the interface is told. Back it goes the other way round.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "internal.h"

struct group *group_find(const struct sdpmcast *e, const struct sockaddr_storage *addr)
{
	struct group *g;

	for (g = e->groups; g; g = g->next)
		if (addr_equal(&g->addr, addr))
			return g;
	return NULL;
}

static int source_find(const struct group *g, const struct sockaddr_storage *source)
{
	unsigned int i;

	for (i = 0; i < g->source_count; i++)
		if (addr_equal(&g->sources[i], source))
			return i;
	return -1;
}

bool group_wants(const struct group *g, const struct sockaddr_storage *source)
{
	return !g->source_count || source_find(g, source) >= 0;
}

/*
 * The socket's filter, and the claim, as the way wants them. A program's socket may have joined on
 * another interface than sdprun's library thinks.
 */
static void group_receive(struct sdpmcast *e, struct group *g)
{
	bool fits = !filter_set(e);
	int err = 0;

	if (g->way != SDPMCAST_QUEUE_PAIR)
		return;
	if (fits)
		err = claim_send(e, g, true);
	if (!fits || (e->adopted && err == -EADDRNOTAVAIL)) {
		g->way = fits ? SDPMCAST_NO_DEVICE : SDPMCAST_REFUSED;
		filter_set(e);
	} else if (!err) {
		e->stat.claimed++;
	}
}

static void group_unask(struct sdpmcast *e, struct group *g)
{
	if (g->joined)
		rdma_leave_multicast(e->id, (struct sockaddr *)&g->addr);
	g->joined = false;
}

/* The one function that changes the way, once group_start() has begun it. */
void group_set_way(struct sdpmcast *e, struct group *g, enum sdpmcast_way way)
{
	bool was = g->way == SDPMCAST_QUEUE_PAIR;

	if (g->way == way)
		return;
	if (was && g->receives && !claim_send(e, g, false))
		e->stat.claimed--;
	g->way = way;
	g->left = way != SDPMCAST_QUEUE_PAIR && (was || g->left);
	if (g->receives && (was || way == SDPMCAST_QUEUE_PAIR))
		group_receive(e, g);
	if (g->way != SDPMCAST_QUEUE_PAIR && g->ah) {
		ibv_destroy_ah(g->ah);
		g->ah = NULL;
	}
	if (g->way != SDPMCAST_QUEUE_PAIR && g->way != SDPMCAST_JOINING)
		group_unask(e, g);
	if (e->changed)
		e->changed(e, g);
}

/*
 * Has another group of the queue pair the same GID, which holds the last 80 bits of an address of
 * IPv6? The adapter counts no members: to leave one group would be to leave both.
 */
static bool group_is_taken(const struct sdpmcast *e, const struct group *g)
{
	const struct group *other;
	struct in6_addr own, addr;

	addr_read(&g->addr, &own, NULL);
	for (other = e->groups; other && e->family == AF_INET6; other = other->next) {
		addr_read(&other->addr, &addr, NULL);
		if (other != g && other->joined && other->receives &&
		    !memcmp(&addr.s6_addr[6], &own.s6_addr[6], 10))
			return true;
	}
	return false;
}

/* Asks the subnet administrator; an event tells the answer. */
static bool group_ask(struct sdpmcast *e, struct group *g)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = g->receives ? RDMA_MC_JOIN_FLAG_FULLMEMBER :
			      RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = (struct sockaddr *)&g->addr,
	};

	g->again = false;
	g->joined = !group_is_taken(e, g) && !rdma_join_multicast_ex(e->id, &attr, g);
	return g->joined;
}

/* Until it is asked for again, as the interface does: a new subnet manager may not be ready. */
static void group_refused(struct sdpmcast *e, struct group *g)
{
	struct itimerspec pause = { .it_value.tv_sec = e->pause }, left;

	group_unask(e, g);
	group_set_way(e, g, SDPMCAST_REFUSED);
	g->again = true;
	/* Groups that are refused one after the other do not put off the first. */
	if (timerfd_gettime(e->timer, &left) || (!left.it_value.tv_sec && !left.it_value.tv_nsec))
		timerfd_settime(e->timer, 0, &pause, NULL);
}

static void group_start(struct sdpmcast *e, struct group *g)
{
	g->way = SDPMCAST_JOINING;
	if (e->id && !e->broken) {
		if (!group_ask(e, g))
			group_refused(e, g);
		return;
	}
	g->way = e->broken ?: SDPMCAST_NO_DEVICE;
	if (e->changed)
		e->changed(e, g);
}

static void groups_again(struct sdpmcast *e)
{
	struct group *g;
	uint64_t times;

	if (read(e->timer, &times, sizeof(times)) < 0)
		return;
	e->pause = e->pause < MAX_PAUSE ? 2 * e->pause : MAX_PAUSE;
	for (g = e->groups; g; g = g->next)
		if (g->again && !e->broken && !group_ask(e, g))
			group_refused(e, g);
}

/* The group of an event, if it is one still. */
static struct group *group_of_event(const struct sdpmcast *e, const struct rdma_cm_event *event)
{
	struct group *g;

	for (g = e->groups; g; g = g->next)
		if (g == event->param.ud.private_data)
			return g;
	return NULL;
}

/* A membership that is lost is asked for at once. */
static void group_event(struct sdpmcast *e, struct group *g, enum rdma_cm_event_type type,
			int status, struct rdma_ud_param *ud)
{
	/* Too late: the queue pair is of no use. */
	if (e->broken)
		return;
	if (!pair_in_partition(e)) {
		groups_lost(e, SDPMCAST_MOVED);
		return;
	}
	if (type == RDMA_CM_EVENT_MULTICAST_JOIN && !status) {
		/* Without one it only receives. */
		g->ah = ibv_create_ah(e->pd, &ud->ah_attr);
		g->qpn = ud->qp_num;
		g->qkey = ud->qkey;
		e->pause = 1;
		group_set_way(e, g, SDPMCAST_QUEUE_PAIR);
	} else if (g->way == SDPMCAST_QUEUE_PAIR) {
		group_set_way(e, g, SDPMCAST_JOINING);
		group_unask(e, g);
		group_start(e, g);
	} else {
		group_refused(e, g);
	}
}

/*
 * The queue pair is of no use any more: all that it has received comes by the socket. The
 * descriptor of an adapter that is gone is readable for ever.
 */
void groups_lost(struct sdpmcast *e, enum sdpmcast_way why)
{
	struct group *g;

	if (e->broken)
		return;
	e->broken = why;
	epoll_ctl(e->epoll, EPOLL_CTL_DEL, e->comp->fd, NULL);
	for (g = e->groups; g; g = g->next)
		if (g->way == SDPMCAST_QUEUE_PAIR || g->way == SDPMCAST_JOINING)
			group_set_way(e, g, why);
}

void group_events(struct sdpmcast *e)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_ud_param ud;
	struct group *g;
	int status;

	while (e->channel && !rdma_get_cm_event(e->channel, &event)) {
		type = event->event;
		status = event->status;
		ud = event->param.ud;
		g = NULL;
		if (type == RDMA_CM_EVENT_MULTICAST_JOIN || type == RDMA_CM_EVENT_MULTICAST_ERROR)
			g = group_of_event(e, event);
		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			groups_lost(e, SDPMCAST_LOST);
		if (g)
			group_event(e, g, type, status, &ud);
	}
	groups_again(e);
}

/* Has the queue pair, with @more datagrams, been busy for so long that it is time for a look? */
bool group_events_due(unsigned int *busy, unsigned int more)
{
	*busy += more;
	if (*busy < BUSY)
		return false;
	*busy = 0;
	return true;
}

/* --- joining and leaving -------------------------------------------------- */

static void store(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, from->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
	       sizeof(struct sockaddr_in6));
}

static int socket_group(const struct sdpmcast *e, const struct sockaddr_storage *group,
			const struct sockaddr_storage *source, bool join)
{
	int level = e->family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
	struct group_source_req one = { .gsr_interface = e->ifindex, .gsr_group = *group };
	struct group_req any = { .gr_interface = e->ifindex, .gr_group = *group };

	/* The program has done it, or does. */
	if (e->adopted)
		return 0;
	if (!source)
		return setsockopt(e->sock, level, join ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP,
				  &any, sizeof(any));
	one.gsr_source = *source;
	return setsockopt(e->sock, level,
			  join ? MCAST_JOIN_SOURCE_GROUP : MCAST_LEAVE_SOURCE_GROUP,
			  &one, sizeof(one));
}

static int source_add(struct group *g, const struct sockaddr_storage *source)
{
	struct sockaddr_storage *more;

	more = realloc(g->sources, (g->source_count + 1) * sizeof(*more));
	if (!more)
		return -1;
	more[g->source_count++] = *source;
	g->sources = more;
	return 0;
}

/* Takes the addresses of a call; false, with errno set, if one is of another family. */
static bool take(const struct sdpmcast *e, const struct sockaddr *group,
		 const struct sockaddr *source, struct sockaddr_storage *to,
		 struct sockaddr_storage *from)
{
	if (group->sa_family != e->family || (source && source->sa_family != e->family)) {
		errno = EAFNOSUPPORT;
		return false;
	}
	store(to, group);
	if (source)
		store(from, source);
	return true;
}

static void group_free(struct group *g)
{
	free(g->sources);
	free(g);
}

static struct group *group_make(const struct sockaddr_storage *addr, bool receives)
{
	struct group *g = calloc(1, sizeof(*g));

	if (g) {
		g->addr = *addr;
		g->receives = receives;
	}
	return g;
}

static void group_add(struct sdpmcast *e, struct group *g)
{
	g->next = e->groups;
	e->groups = g;
	group_start(e, g);
}

static void group_remove(struct sdpmcast *e, struct group *g)
{
	struct group **at = &e->groups;

	group_set_way(e, g, SDPMCAST_NO_GROUP);
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	group_free(g);
}

/* The group, which is joined to send only if the endpoint is not in it; or NULL. */
struct group *group_to_send(struct sdpmcast *e, const struct sockaddr_storage *addr)
{
	struct group *g = group_find(e, addr);

	if (g)
		return g;
	g = group_make(addr, false);
	if (g)
		group_add(e, g);
	return g;
}

/* A group is wanted from all sources or from some, as the kernel has it. */
__public int sdpmcast_join(struct sdpmcast *e, const struct sockaddr *group,
			   const struct sockaddr *source)
{
	struct sockaddr_storage to, from;
	struct group *g, *fresh = NULL;

	if (!take(e, group, source, &to, &from))
		return -1;
	g = group_find(e, &to);
	if (!g || !g->receives) {
		fresh = group_make(&to, true);
		if (!fresh)
			return -1;
	}
	/* Refused by the kernel if the group is there, but for a source more. */
	if (socket_group(e, &to, source ? &from : NULL, true))
		goto free_group;
	if (source && source_add(fresh ?: g, &from)) {
		socket_group(e, &to, &from, false);
		goto free_group;
	}
	/* The connection manager knows memberships by their addresses, so there is one. */
	if (fresh && g)
		group_remove(e, g);
	if (fresh)
		group_add(e, fresh);
	return 0;

free_group:
	if (fresh)
		group_free(fresh);
	return -1;
}

__public int sdpmcast_leave(struct sdpmcast *e, const struct sockaddr *group,
			    const struct sockaddr *source)
{
	struct sockaddr_storage to, from;
	struct group *g;
	bool received;
	int i;

	if (!take(e, group, source, &to, &from))
		return -1;
	g = group_find(e, &to);
	i = g && source ? source_find(g, &from) : 0;
	if (!g || i < 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	if (source && g->source_count > 1) {
		g->sources[i] = g->sources[--g->source_count];
		return socket_group(e, &to, &from, false);
	}
	received = g->receives;
	group_remove(e, g);
	return received ? socket_group(e, &to, source ? &from : NULL, false) : 0;
}

__public enum sdpmcast_way sdpmcast_way(const struct sdpmcast *e, const struct sockaddr *group)
{
	struct sockaddr_storage to;
	struct group *g;

	if (group->sa_family != e->family)
		return SDPMCAST_NO_GROUP;
	store(&to, group);
	g = group_find(e, &to);
	return g ? g->way : SDPMCAST_NO_GROUP;
}

void groups_free(struct sdpmcast *e)
{
	while (e->groups)
		group_remove(e, e->groups);
}

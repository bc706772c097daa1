// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Groups. The socket joins first, and has the datagrams until the queue pair is in the group.
 * Then its filter drops them, and the interface is told. Back it goes the other way round.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* The one function that changes the way, once group_start() has begun it. */
void group_set_way(struct sdpmcast *e, struct group *g, enum sdpmcast_way way)
{
	bool was = g->way == SDPMCAST_QUEUE_PAIR;

	if (g->way == way)
		return;
	if (was && !claim_send(e, g, false))
		e->stat.claimed--;
	g->way = way;
	if (way == SDPMCAST_QUEUE_PAIR) {
		if (filter_set(e)) {
			g->way = SDPMCAST_REFUSED;
			filter_set(e);
		} else if (!claim_send(e, g, true)) {
			e->stat.claimed++;
		}
	} else if (was) {
		filter_set(e);
	}
	if (g->joined && g->way != SDPMCAST_QUEUE_PAIR && g->way != SDPMCAST_JOINING) {
		g->joined = false;
		rdma_leave_multicast(e->id, (struct sockaddr *)&g->addr);
	}
}

static void group_start(struct sdpmcast *e, struct group *g)
{
	g->way = SDPMCAST_JOINING;
	if (!e->id || e->broken) {
		g->way = SDPMCAST_NO_DEVICE;
		return;
	}
	g->joined = !rdma_join_multicast(e->id, (struct sockaddr *)&g->addr, g);
	if (!g->joined)
		g->way = SDPMCAST_REFUSED;
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

/* A membership that is lost is asked for again; one that was refused is not. */
static void group_event(struct sdpmcast *e, struct group *g, enum rdma_cm_event_type type,
			int status)
{
	if (type == RDMA_CM_EVENT_MULTICAST_JOIN && !status) {
		group_set_way(e, g, SDPMCAST_QUEUE_PAIR);
	} else if (g->way == SDPMCAST_QUEUE_PAIR) {
		group_set_way(e, g, SDPMCAST_REFUSED);
		group_start(e, g);
	} else {
		group_set_way(e, g, SDPMCAST_REFUSED);
	}
}

/* The queue pair, or its adapter, is gone: all that it has received comes by the socket. */
void groups_lost(struct sdpmcast *e)
{
	struct group *g;

	for (g = e->groups; g; g = g->next)
		if (g->way == SDPMCAST_QUEUE_PAIR || g->way == SDPMCAST_JOINING)
			group_set_way(e, g, SDPMCAST_NO_DEVICE);
}

void group_events(struct sdpmcast *e)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct group *g;
	int status;

	while (e->channel && !rdma_get_cm_event(e->channel, &event)) {
		type = event->event;
		status = event->status;
		g = NULL;
		if (type == RDMA_CM_EVENT_MULTICAST_JOIN || type == RDMA_CM_EVENT_MULTICAST_ERROR)
			g = group_of_event(e, event);
		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
			e->broken = true;
			groups_lost(e);
		}
		if (g)
			group_event(e, g, type, status);
	}
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

static int check(const struct sdpmcast *e, const struct sockaddr *group,
		 const struct sockaddr *source)
{
	if (group->sa_family == e->family && (!source || source->sa_family == e->family))
		return 0;
	errno = EAFNOSUPPORT;
	return -1;
}

static void group_free(struct group *g)
{
	free(g->sources);
	free(g);
}

/* A group is wanted from all sources or from some, as the kernel has it. */
__public int sdpmcast_join(struct sdpmcast *e, const struct sockaddr *group,
			   const struct sockaddr *source)
{
	struct sockaddr_storage to, from;
	struct group *g, *fresh = NULL;

	if (check(e, group, source))
		return -1;
	store(&to, group);
	if (source)
		store(&from, source);
	g = group_find(e, &to);
	if (!g) {
		fresh = calloc(1, sizeof(*fresh));
		if (!fresh)
			return -1;
		fresh->addr = to;
		g = fresh;
	}
	/* Refused by the kernel if the group is there, but for a source more. */
	if (socket_group(e, &to, source ? &from : NULL, true))
		goto free_group;
	if (source && source_add(g, &from)) {
		socket_group(e, &to, &from, false);
		goto free_group;
	}
	if (fresh) {
		g->next = e->groups;
		e->groups = g;
		group_start(e, g);
	}
	return 0;

free_group:
	if (fresh)
		group_free(fresh);
	return -1;
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

__public int sdpmcast_leave(struct sdpmcast *e, const struct sockaddr *group,
			    const struct sockaddr *source)
{
	struct sockaddr_storage to, from;
	struct group *g;
	int i;

	if (check(e, group, source))
		return -1;
	store(&to, group);
	if (source)
		store(&from, source);
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
	group_remove(e, g);
	return socket_group(e, &to, source ? &from : NULL, false);
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

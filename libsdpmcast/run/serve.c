// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * A socket with an endpoint beside it. All under the socket's lock.
 *
 * The endpoint's descriptor is readable while there may be datagrams: either the adapter has
 * raised an event that no thread has read, or the eventfd says so. Only a look that finds nothing
 * takes both away, and then the adapter raises an event for the next datagram.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "run.h"

/* 2 MiB of locked memory. */
#define SLOTS	512

/* Of <linux/udp.h>, which does not go together with <netinet/udp.h>. */
#define UDP_ENCAP_OPTION	100
#define UDP_GRO_OPTION		104

/* --- why not ------------------------------------------------------------------ */

static const char *const reasons[] = {
	/* The first join, as long as no answer has come, is not told. */
	[SDPMCAST_JOINING] = "the membership is lost, and the library joins again",
	[SDPMCAST_NO_DEVICE] =
		"there is no queue pair, or the socket has joined the group on another interface",
	[SDPMCAST_REFUSED] =
		"the SA or the adapter refused the join, or another group there has its GID",
	[SDPMCAST_FRAGMENTS] = "the datagrams are larger than the link's MTU",
	[SDPMCAST_LOST] = "the queue pair or its adapter has failed",
	[SDPMCAST_MOVED] = "the subnet manager has moved the port's P_Keys",
};

static void group_changed(struct sdpmcast *e, const struct group *g)
{
	struct served *s = e->owner;

	if (g->way == SDPMCAST_QUEUE_PAIR) {
		s->first = OLDER;
		rule_tell(s->fd, &g->addr, NULL);
	} else if (g->way < sizeof(reasons) / sizeof(reasons[0]) && reasons[g->way]) {
		rule_tell(s->fd, &g->addr, reasons[g->way]);
	}
}

/* --- epoll sets ---------------------------------------------------------------- */

/* The endpoint's descriptor goes where the program waits for the socket to be readable. */
static int watch(struct served *s, int epoll, const struct epoll_event *event)
{
	struct epoll_event own = *event;

	if (event->events & (EPOLLONESHOT | EPOLLEXCLUSIVE))
		return -1;
	own.events &= EPOLLIN | EPOLLRDNORM | EPOLLET | EPOLLWAKEUP;
	if (!(own.events & (EPOLLIN | EPOLLRDNORM))) {
		NEXT(epoll_ctl)(epoll, EPOLL_CTL_DEL, s->e->epoll, NULL);
		return 0;
	}
	if (!NEXT(epoll_ctl)(epoll, EPOLL_CTL_MOD, s->e->epoll, &own))
		return 0;
	return NEXT(epoll_ctl)(epoll, EPOLL_CTL_ADD, s->e->epoll, &own);
}

static int watch_all(struct served *s)
{
	struct epoll_event event;
	unsigned int at = 0;
	int epoll;

	while (table_watch(s->fd, &event, &epoll, &at))
		if (watch(s, epoll, &event))
			return -1;
	return 0;
}

static void unwatch_all(struct served *s)
{
	struct epoll_event event;
	unsigned int at = 0;
	int epoll;

	while (table_watch(s->fd, &event, &epoll, &at))
		NEXT(epoll_ctl)(epoll, EPOLL_CTL_DEL, s->e->epoll, NULL);
}

/* What epoll_ctl(2) has done with the socket. */
void serve_watch(struct served *s, int epoll, int op, const struct epoll_event *event)
{
	bool full = table_epoll(epoll, op, s->fd, event);

	if (op == EPOLL_CTL_DEL && s->state == SERVED)
		NEXT(epoll_ctl)(epoll, EPOLL_CTL_DEL, s->e->epoll, NULL);
	else if (full || (s->state == SERVED && watch(s, epoll, event)))
		serve_stop(s, "an epoll set cannot take the queue pair as well");
}

/* --- options that calls look at ------------------------------------------------- */

static int ask(int fd, int level, int name)
{
	int value[16] = {};
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, value, &len) ? 0 : value[0];
}

/* What a received datagram would need and does not have here. */
static const char *obstacle(const struct served *s)
{
	static const int none[] = { SO_TIMESTAMPING, SO_RXQ_OVFL };
	static const int none4[] = { IP_RECVTOS, IP_RECVOPTS, IP_RETOPTS, IP_PASSSEC,
				     IP_ORIGDSTADDR, IP_RECVFRAGSIZE, IP_CHECKSUM, IP_RECVERR };
	static const int none6[] = { IPV6_RECVTCLASS, IPV6_RECVRTHDR, IPV6_RECVHOPOPTS,
				     IPV6_RECVDSTOPTS, IPV6_RECVERR, IPV6_RECVORIGDSTADDR,
				     IPV6_RECVFRAGSIZE, IPV6_2292PKTINFO, IPV6_2292HOPLIMIT };
	bool v4 = s->family == AF_INET;
	const int *names = v4 ? none4 : none6;
	unsigned int device = ask(s->fd, SOL_SOCKET, SO_BINDTOIFINDEX);
	unsigned int i, n = v4 ? sizeof(none4) / sizeof(none4[0]) :
				 sizeof(none6) / sizeof(none6[0]);

	if (device && device != s->e->ifindex)
		return "the socket is bound to another device";
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (ask(s->fd, SOL_SOCKET, none[i]))
			return "an option of the socket (SO_TIMESTAMPING, SO_RXQ_OVFL)";
	for (i = 0; i < n; i++)
		if (ask(s->fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, names[i]))
			return "the program wants more of the IP header than address and TTL";
	if (ask(s->fd, IPPROTO_UDP, UDP_ENCAP_OPTION) || ask(s->fd, IPPROTO_UDP, UDP_GRO_OPTION))
		return "an option of the socket (UDP_GRO, UDP_ENCAP)";
	return NULL;
}

/* After an option has been set. */
void serve_options(struct served *s)
{
	bool v4 = s->family == AF_INET;
	const char *why;

	if (s->state != SERVED)
		return;
	why = obstacle(s);
	if (why) {
		serve_stop(s, why);
		return;
	}
	s->pktinfo = v4 ? ask(s->fd, IPPROTO_IP, IP_PKTINFO) :
		     ask(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
	s->ttl = v4 ? ask(s->fd, IPPROTO_IP, IP_RECVTTL) :
		 ask(s->fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT);
	s->stamp = ask(s->fd, SOL_SOCKET, SO_TIMESTAMPNS) ? SO_TIMESTAMPNS :
		   ask(s->fd, SOL_SOCKET, SO_TIMESTAMP) ? SO_TIMESTAMP : 0;
}

/* --- what the queue pair has received ------------------------------------------- */

static bool is_any(const struct sockaddr_storage *a)
{
	struct in6_addr addr;

	addr_read(a, &addr, NULL);
	return IN6_IS_ADDR_UNSPECIFIED(&addr);
}

/* Would the kernel give it to the socket? */
static bool is_wanted(const struct served *s, const struct sdpmcast_msg *m)
{
	in_port_t from, peer;
	struct in6_addr addr;

	if (!is_any(&s->bound) && !addr_equal(&s->bound, &m->to))
		return false;
	if (!s->connected)
		return true;
	addr_read(&m->from, &addr, &from);
	addr_read(&s->peer, &addr, &peer);
	return addr_equal(&s->peer, &m->from) && from == peer;
}

/* Datagrams that the queue pair has had, and that no call will receive. */
static void tell_lost(struct served *s, unsigned int more)
{
	uint64_t lost;

	s->e->stat.lost += more;
	lost = s->e->stat.lost - s->told_lost;
	s->told_lost += lost;
	if (lost)
		rule_tell_lost(s->fd, lost);
}

/* Takes what has come; true if some is for the program. */
static bool take(struct served *s)
{
	unsigned int i, n;

	s->next = 0;
	s->count = 0;
	while (!s->count && s->e->cq) {
		n = recv_completions(s->e, s->msgs, BATCH);
		tell_lost(s, 0);
		if (!n)
			return false;
		for (i = 0; i < n; i++)
			if (is_wanted(s, &s->msgs[i]))
				s->msgs[s->count++] = s->msgs[i];
			else
				sdpmcast_release(s->e, &s->msgs[i], 1);
	}
	if (s->stamp)
		clock_gettime(CLOCK_REALTIME, &s->taken);
	return s->count;
}

/* --- beginning and end --------------------------------------------------------- */

/* A program's own filter has to see each datagram. */
static bool has_filter(int fd)
{
	struct sock_filter none;
	socklen_t len = 0;

	return getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, &none, &len) || len;
}

static int open_more(struct served *s)
{
	struct epoll_event event = { .events = EPOLLIN };

	s->more = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->more < 0 ? -1 : NEXT(epoll_ctl)(s->e->epoll, EPOLL_CTL_ADD, s->more, &event);
}

/* NULL, or why there is no endpoint. */
static const char *start(struct served *s, unsigned int ifindex)
{
	in_port_t port;
	struct in6_addr addr;

	addr_read(&s->bound, &addr, &port);
	if (has_filter(s->fd))
		return "the socket has a filter";
	s->e = endpoint_adopt(s->fd, ifindex, s->family, port, SLOTS);
	if (!s->e) {
		snprintf(s->text, sizeof(s->text), "no queue pair: %s", strerror(errno));
		return s->text;
	}
	s->e->owner = s;
	s->e->changed = group_changed;
	s->state = SERVED;
	if (open_more(s) || watch_all(s))
		return "an epoll set cannot take the queue pair as well";
	return NULL;
}

/* Of all that the adapter has, none is given back. */
static void count_lost(struct served *s)
{
	unsigned int n = s->count - s->next;

	while (take(s))
		n += s->count;
	tell_lost(s, n);
}

/*
 * The kernel has the socket for ever, and the program is told why, unless it closes it. The
 * endpoint's descriptor stays: a thread may be waiting for it.
 */
void serve_stop(struct served *s, const char *why)
{
	const struct group *g = s->e ? s->e->groups : NULL;

	if (s->state == STOPPED)
		return;
	s->why = why;
	if (why && g) {
		rule_tell(s->fd, g->next ? NULL : &g->addr, why);
		count_lost(s);
	}
	if (s->e) {
		unwatch_all(s);
		s->e->changed = NULL;
		groups_free(s->e);
		pair_close(s->e);
		/* No thread reads these any more, and one may wait. */
		NEXT(epoll_ctl)(s->e->epoll, EPOLL_CTL_DEL, s->e->timer, NULL);
		NEXT(epoll_ctl)(s->e->epoll, EPOLL_CTL_DEL, s->more, NULL);
	}
	s->next = 0;
	s->count = 0;
	s->state = STOPPED;
}

/* Its last reference is gone. */
void serve_end(struct served *s)
{
	if (s->more >= 0)
		close(s->more);
	sdpmcast_close(s->e);
}

/* --- groups -------------------------------------------------------------------- */

static void serve_wish(struct served *s, const struct wish *w)
{
	const struct sockaddr *source = w->from_one ? (const void *)&w->source : NULL;
	const char *why = NULL;

	if (s->state != STOPPED) {
		if (w->group.ss_family != s->family)
			why = "an IPv4 group on a socket of IPv6";
		else if (s->state == IDLE)
			why = start(s, w->ifindex);
		if (!why)
			serve_options(s);
	}
	if (s->state == STOPPED) {
		if (s->why)
			rule_tell(s->fd, &w->group, s->why);
	} else if (why) {
		rule_tell(s->fd, &w->group, why);
		serve_stop(s, why);
	} else if (w->ifindex != s->e->ifindex) {
		rule_tell(s->fd, &w->group, "the socket has groups on another interface");
	} else if (sdpmcast_join(s->e, (const void *)&w->group, source)) {
		rule_tell(s->fd, &w->group, strerror(errno));
	}
}

/* The socket's addresses decide what it receives. Those that joined before the port now begin. */
void serve_address(struct served *s)
{
	socklen_t len = sizeof(s->bound), peer_len = sizeof(s->peer);
	struct in6_addr addr;
	in_port_t port = 0;
	unsigned int i;

	if (getsockname(s->fd, (struct sockaddr *)&s->bound, &len))
		return;
	s->connected = !getpeername(s->fd, (struct sockaddr *)&s->peer, &peer_len);
	addr_read(&s->bound, &addr, &port);
	if (!port)
		return;
	for (i = 0; i < s->wish_count; i++)
		if (rule_covers(&s->wishes[i].group, port))
			serve_wish(s, &s->wishes[i]);
	s->wish_count = 0;
}

void serve_join(struct served *s, const struct wish *wish)
{
	struct wish *more;

	more = realloc(s->wishes, (s->wish_count + 1) * sizeof(*more));
	if (!more) {
		rule_tell_covered(s->fd, &wish->group, NO_MEMORY);
		return;
	}
	s->wishes = more;
	more[s->wish_count++] = *wish;
	serve_address(s);
}

static bool is_wish(const struct wish *a, const struct wish *b)
{
	return addr_equal(&a->group, &b->group) && a->ifindex == b->ifindex &&
	       a->from_one == b->from_one && (!a->from_one || addr_equal(&a->source, &b->source));
}

void serve_drop(struct served *s, const struct wish *wish)
{
	unsigned int i;

	for (i = 0; i < s->wish_count; i++)
		if (is_wish(&s->wishes[i], wish)) {
			s->wishes[i] = s->wishes[--s->wish_count];
			return;
		}
	if (s->state == SERVED && wish->ifindex == s->e->ifindex)
		sdpmcast_leave(s->e, (const void *)&wish->group,
			       wish->from_one ? (const void *)&wish->source : NULL);
}

/* --- datagrams ------------------------------------------------------------------ */

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return NEXT(poll)(&p, 1, 0) > 0;
}

/* Is there a datagram at s->next? The order of the steps: see above. */
bool serve_fill(struct served *s)
{
	const uint64_t one = 1;
	uint64_t value;

	if (s->state != SERVED)
		return false;
	if (s->next < s->count)
		return true;
	if (take(s)) {
		if (group_events_due(&s->e->busy_in, s->count)) {
			s->first = BATCH;
			group_events(s->e);
		}
		return true;
	}
	if (!is_readable(s->e->epoll))
		return false;
	if (NEXT(read)(s->more, &value, sizeof(value)) < 0 && errno != EAGAIN)
		return false;
	group_events(s->e);
	recv_rearm(s->e);
	if (!take(s))
		return false;
	return write(s->more, &one, sizeof(one)) > 0;
}

/* The program has had a datagram. The adapter gets the slots back together. */
void serve_done(struct served *s)
{
	if (++s->next < s->count)
		return;
	sdpmcast_release(s->e, s->msgs, s->count);
	s->next = 0;
	s->count = 0;
}

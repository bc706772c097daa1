// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Endpoints: the socket, the queue pair beside it, and the descriptor to wait for both.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "internal.h"

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

/* Takes what its own groups bring, and not what those of others on the host do. */
static int set_options(int fd, sa_family_t family)
{
	if (set(fd, SOL_SOCKET, SO_REUSEADDR, 1))
		return -1;
	if (family == AF_INET)
		return set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0) ?:
		       set(fd, IPPROTO_IP, IP_PKTINFO, 1);
	return set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) ?:
	       set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0) ?:
	       set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
}

static int open_socket(struct sdpmcast *e)
{
	struct sockaddr_storage addr;

	e->sock = socket(e->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (e->sock < 0 || set_options(e->sock, e->family))
		return -1;
	addr_fill(&addr, e->family, &in6addr_any, e->port);
	return bind(e->sock, (struct sockaddr *)&addr, e->family == AF_INET ?
		    sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
}

static int open_memory(struct sdpmcast *e, unsigned int slots)
{
	unsigned int i;

	e->slots = slots + SOCKET_SLOTS;
	e->len = SOCKET_SLOTS * SOCKET_LEN + (size_t)(slots + SEND_SLOTS) * SLOT_LEN;
	if (posix_memalign((void **)&e->memory, sysconf(_SC_PAGESIZE), e->len)) {
		e->memory = NULL;
		errno = ENOMEM;
		return -1;
	}
	for (i = 0; i < SOCKET_SLOTS; i++)
		e->free[i] = i;
	e->free_count = SOCKET_SLOTS;
	return 0;
}

static int open_epoll(struct sdpmcast *e)
{
	struct epoll_event event = { .events = EPOLLIN };

	e->epoll = epoll_create1(EPOLL_CLOEXEC);
	e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (e->epoll < 0 || e->timer < 0 ||
	    epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->timer, &event))
		return -1;
	if (e->adopted)
		return 0;
	return epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->sock, &event);
}

static struct sdpmcast *make(sa_family_t family, in_port_t port)
{
	struct sdpmcast *e = calloc(1, sizeof(*e));

	if (e) {
		e->family = family;
		e->port = port;
		e->sock = -1;
		e->epoll = -1;
		e->timer = -1;
		e->pause = 1;
		e->netlink = -1;
	}
	return e;
}

static void give_up(struct sdpmcast *e)
{
	int error = errno;

	sdpmcast_close(e);
	errno = error;
}

/*
 * An endpoint beside a socket that a program has made, joins with, reads and closes: the endpoint
 * only receives by the queue pair, and its descriptor knows nothing of the socket.
 */
struct sdpmcast *endpoint_adopt(int sock, unsigned int ifindex, sa_family_t family,
				in_port_t port, unsigned int slots)
{
	struct sdpmcast *e = make(family, port);

	if (!e)
		return NULL;
	e->adopted = true;
	e->ifindex = ifindex;
	e->sock = sock;
	if (!addr_hardware(ifindex, e->hw)) {
		errno = ENODEV;
		give_up(e);
		return NULL;
	}
	if (open_memory(e, slots) || open_epoll(e) || pair_open(e)) {
		give_up(e);
		return NULL;
	}
	claim_open(e);
	return e;
}

/* Without a queue pair the endpoint works by the socket alone: sdpmcast_way() tells. */
__public struct sdpmcast *sdpmcast_open(const char *interface, sa_family_t family,
					in_port_t port, unsigned int slots)
{
	struct sdpmcast *e;

	if ((family != AF_INET && family != AF_INET6) || !slots || slots > MAX_SLOTS) {
		errno = EINVAL;
		return NULL;
	}
	e = make(family, htons(port));
	if (!e)
		return NULL;
	e->ifindex = if_nametoindex(interface);
	if (!e->ifindex || open_socket(e) || send_open(e) || open_memory(e, slots) ||
	    open_epoll(e)) {
		give_up(e);
		return NULL;
	}
	if (!pair_open(e))
		claim_open(e);
	return e;
}

__public int sdpmcast_fd(const struct sdpmcast *e)
{
	return e->epoll;
}

/* @size is sizeof(*stat): the library may know less of it, or more. */
__public void sdpmcast_stat(const struct sdpmcast *e, struct sdpmcast_stat *stat, size_t size)
{
	memset(stat, 0, size);
	memcpy(stat, &e->stat, size < sizeof(*stat) ? size : sizeof(*stat));
}

__public void sdpmcast_close(struct sdpmcast *e)
{
	if (!e)
		return;
	groups_free(e);
	pair_close(e);
	if (e->netlink >= 0)
		close(e->netlink);
	if (e->sock >= 0 && !e->adopted)
		close(e->sock);
	if (e->timer >= 0)
		close(e->timer);
	if (e->epoll >= 0)
		close(e->epoll);
	free(e->memory);
	free(e);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What an endpoint does with its socket, step by step: in a node with ib0, whose own datagrams
 * the kernel gives back to it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>

#include "../../libsdpmcast/sdpmcast.h"
#include "../lib/tap.h"

#define PORT	7600
#define COUNT	100
/* Of the socket: see SOCKET_SLOTS */
#define HELD	32

static struct sockaddr_in group = { .sin_family = AF_INET };

static const struct sockaddr *to(void)
{
	return (const struct sockaddr *)&group;
}

static bool readable(const struct sdpmcast *e, int ms)
{
	struct pollfd fd = { .fd = sdpmcast_fd(e), .events = POLLIN };

	return poll(&fd, 1, ms) == 1;
}

/* By a socket, to the sockets of this host */
static void send_near(int count)
{
	struct sdpmcast *e = sdpmcast_open("ib0", AF_INET, PORT + 1, 1);
	struct iovec datagram = { .iov_base = "near", .iov_len = 4 };
	struct sockaddr_in there = group;

	must(e && !sdpmcast_set(e, SDPMCAST_LOOP, 1));
	there.sin_port = htons(PORT);
	for (; count; count--)
		must(sdpmcast_send(e, (struct sockaddr *)&there, &datagram, 1) == 1);
	sdpmcast_close(e);
}

/* The answer to the join is there, and behind the datagrams of the socket. */
static bool moves(struct sdpmcast *e)
{
	struct sdpmcast_msg msg;
	int i;

	must(readable(e, 60000));
	send_near(COUNT);
	for (i = 0; i < COUNT / 2; i++) {
		if (sdpmcast_recv(e, &msg, 1) != 1)
			return false;
		sdpmcast_release(e, &msg, 1);
	}
	return sdpmcast_way(e, to()) == SDPMCAST_QUEUE_PAIR;
}

/* The socket has more datagrams than slots. */
static bool holds(struct sdpmcast *e)
{
	struct sdpmcast_msg msgs[HELD], msg;
	bool good;

	if (sdpmcast_recv(e, msgs, HELD) != HELD || sdpmcast_recv(e, &msg, 1) != -1 ||
	    errno != EAGAIN || readable(e, 0))
		return false;
	sdpmcast_release(e, msgs, 1);
	good = readable(e, 0) && sdpmcast_recv(e, &msg, 1) == 1;
	sdpmcast_release(e, &msg, 1);
	sdpmcast_release(e, msgs + 1, HELD - 1);
	return good && readable(e, 0);
}

static bool refuses_unicast(struct sdpmcast *e)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sdpmcast *e6 = sdpmcast_open("ib0", AF_INET6, PORT, 1);
	struct sockaddr_in far = { .sin_family = AF_INET };
	bool good;

	must(e6);
	far.sin_addr.s_addr = inet_addr("10.77.0.2");
	good = sdpmcast_send(e, (struct sockaddr *)&far, NULL, 0) == -1 && errno == EINVAL &&
	       sdpmcast_send(e6, (struct sockaddr *)&six, NULL, 0) == -1 && errno == EINVAL;
	sdpmcast_close(e6);
	return good;
}

/* The kernel sends it, which is to say that nobody gets it. */
static bool stays(struct sdpmcast *e)
{
	struct iovec datagram = { .iov_base = "zero", .iov_len = 4 };
	struct sdpmcast_stat stat;

	must(sdpmcast_send(e, to(), &datagram, 1) == 1 && !sdpmcast_set(e, SDPMCAST_TTL, 0) &&
	     sdpmcast_send(e, to(), &datagram, 1) == 1);
	sdpmcast_stat(e, &stat, sizeof(stat));
	return stat.sent == 1 && stat.sent_by_socket == 1;
}

int main(void)
{
	struct sdpmcast *e = sdpmcast_open("ib0", AF_INET, PORT, 64);

	group.sin_addr.s_addr = inet_addr("239.77.8.1");
	tap_plan(4);
	must(e && !sdpmcast_join(e, to(), NULL));
	ok(moves(e), "a group goes to the queue pair while the socket has datagrams");
	ok(holds(e), "a program that holds all slots of the socket sleeps");
	ok(stays(e), "no datagram with a TTL of 0 leaves the host");
	ok(refuses_unicast(e), "a unicast address");
	sdpmcast_close(e);
	return tap_exit();
}

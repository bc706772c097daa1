// SPDX-License-Identifier: GPL-2.0
/*
 * Loaded behind the library of sdprun --mcast, whose handler of fork(2) so runs before this one:
 * a socket joins between that handler and the fork, as a thread of the program might do.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* It stays open. */
static int fd;

static void join(void)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(7401) };
	struct ip_mreqn mreq = { .imr_multiaddr.s_addr = inet_addr("239.77.7.1"),
				 .imr_ifindex = if_nametoindex("ib0") };
	static const char line[] = "late: joined\n";

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)) ||
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mreq, sizeof(mreq)) ||
	    write(2, line, sizeof(line) - 1) < 0)
		abort();
}

__attribute__((constructor))
static void start(void)
{
	pthread_atfork(join, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The Ethernet between machines, for the server in each of them and its
 * clients. It is in the network namespace of process 1, and in no node.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"

#define NET_FIRST	0x0a4e0000	/* 10.78.0.0 */
#define NET_PORT	1078

/* A TCP socket on the Ethernet, wherever the caller is; or -1 with errno. */
int net_socket(void)
{
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int there = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	int sock = -1, one = 1, error;

	if (here >= 0 && there >= 0 && !setns(there, CLONE_NEWNET)) {
		sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		error = errno;
		if (setns(here, CLONE_NEWNET))
			_exit(125);
		errno = error;
	}
	error = errno;
	close(here);
	close(there);
	if (sock >= 0)
		setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	errno = error;
	return sock;
}

/* Where a machine's server listens. */
struct sockaddr_in net_server(unsigned int machine)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(NET_PORT),
		.sin_addr.s_addr = htonl(NET_FIRST + machine),
	};
}

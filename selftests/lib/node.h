/* SPDX-License-Identifier: GPL-2.0 */
/* The fabric's nodes, each of which is a network namespace. */
#ifndef SELFTESTS_NODE_H
#define SELFTESTS_NODE_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

static inline void enter_node(int node)
{
	char path[64];
	int ns;

	snprintf(path, sizeof(path), "/run/netns/node%d", node);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	must(ns >= 0 && !setns(ns, CLONE_NEWNET));
	close(ns);
}

/* A socket of node 2's that listens at PORT, for node 1, which this is; also its address. */
static inline int listen_there(int port, int backlog, struct sockaddr_in *address)
{
	int sock, one = 1;

	address->sin_family = AF_INET;
	address->sin_port = htons(port);
	must(inet_pton(AF_INET, "10.77.0.2", &address->sin_addr) == 1);
	enter_node(2);
	sock = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(!bind(sock, (struct sockaddr *)address, sizeof(*address)) &&
	     !listen(sock, backlog));
	enter_node(1);
	return sock;
}

#endif /* SELFTESTS_NODE_H */

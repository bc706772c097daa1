// SPDX-License-Identifier: GPL-2.0
/*
 * A TCP connection between two namespaces, of which the end that accepts has the ULP.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include "../lib/tap.h"
#include "join.h"

#define PORT	7000

/* Only the listener's namespace has it: which one is named first stays the same. */
static int listener = -1;

static int new_socket(const char *netns)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && !setns(fd, CLONE_NEWNET));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(fd >= 0);
	return fd;
}

static void listen_at(const struct sockaddr_in *a, const char *netns)
{
	int one = 1;

	listener = new_socket(netns);
	must(!setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	must(!setsockopt(listener, IPPROTO_TCP, TCP_ULP, "sdp", 3));
	must(!bind(listener, (const struct sockaddr *)a, sizeof(*a)) && !listen(listener, 16));
}

/* The sequence number of the next byte of a queue, on a connection that has carried nothing. */
static uint32_t number(int fd, int queue)
{
	socklen_t len = sizeof(uint32_t);
	uint32_t seq;

	must(!setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)));
	must(!getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, &len));
	return seq;
}

static void read_numbers(struct tcp *tcp)
{
	int mode = TCP_REPAIR_ON;

	must(!setsockopt(tcp->fd, IPPROTO_TCP, TCP_REPAIR, &mode, sizeof(mode)));
	tcp->isn = number(tcp->fd, TCP_SEND_QUEUE) - 1;
	tcp->peer_isn = number(tcp->fd, TCP_RECV_QUEUE) - 1;
	mode = TCP_REPAIR_OFF_NO_WP;
	must(!setsockopt(tcp->fd, IPPROTO_TCP, TCP_REPAIR, &mode, sizeof(mode)));
}

/* Bails out if there is none. */
void tcp_open(struct tcp *tcp, const char *server, const char *server_netns,
	      const char *client_netns)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	socklen_t len = sizeof(a);

	must(inet_pton(AF_INET, server, &a.sin_addr) == 1);
	if (listener < 0)
		listen_at(&a, server_netns);
	tcp->fd = new_socket(client_netns);
	must(!connect(tcp->fd, (struct sockaddr *)&a, sizeof(a)));
	tcp->server = accept(listener, NULL, NULL);
	must(tcp->server >= 0);
	tcp->name[1] = a;
	must(!getsockname(tcp->fd, (struct sockaddr *)&tcp->name[0], &len));
	read_numbers(tcp);
}

void tcp_close(struct tcp *tcp)
{
	close(tcp->fd);
	close(tcp->server);
}

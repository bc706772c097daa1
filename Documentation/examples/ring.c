// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Two processes of one machine send a message to and fro by the memory of their connection.
 *
 *	cc ring.c $(pkg-config --cflags --libs libsdpdev) && ./a.out 100000
 */
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sdpdev.h>

/* Sends a byte and waits for the answer, or the other way round. */
static void play(struct sdp_fast *fast, long times, bool first)
{
	char byte = 'x';
	ssize_t n;

	for (times *= 2; times; times--, first = !first) {
		n = first ? sdp_fast_send(fast, &byte, 1, 0) : sdp_fast_recv(fast, &byte, 1, 0);
		if (n < 0)
			err(1, first ? "send" : "receive");
		if (!n)
			errx(1, "the other end has closed the connection");
	}
}

/* Two ends of a connection within this machine. */
static void connection(int ends[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, IPPROTO_SDP);
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, len) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&addr, &len))
		err(1, "listener");
	ends[0] = socket(AF_INET, SOCK_STREAM, IPPROTO_SDP);
	if (ends[0] < 0 || connect(ends[0], (struct sockaddr *)&addr, len))
		err(1, "connect");
	ends[1] = accept(listener, NULL, NULL);
	if (ends[1] < 0)
		err(1, "accept");
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 100000;
	struct sdp_sock_info info;
	struct sdp_fast *fast;
	int ends[2];
	pid_t child;

	connection(ends);
	child = fork();
	if (child < 0)
		err(1, "fork");
	/* The child has one end, and its parent the other one. */
	close(ends[!child]);
	fast = sdp_fast_open(ends[!!child], 0);
	if (!fast)
		err(1, "sdp_fast_open");
	play(fast, times, !child);
	if (!child)
		return 0;
	if (sdp_info(ends[1], &info, sizeof(info)))
		err(1, "sdp_info");
	printf("%ld times to and fro, %s; without TCP: %llu bytes\n", times,
	       sdp_fast_state(fast) ? "by rings" : "by system calls",
	       (unsigned long long)(info.tx_bytes + info.rx_bytes));
	sdp_fast_close(fast);
	wait(NULL);
	return 0;
}

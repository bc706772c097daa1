// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Two processes of one machine send a message to and fro by the memory of their connection.
 *
 *	cc ring.c $(pkg-config --cflags --libs libsdpdev) && ./a.out 100000
 */
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sdpdev.h>

/* Sends a byte and waits for the answer, or the other way round. */
static void play(struct sdp_fast *fast, long times, int first)
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

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	long times = argc > 1 ? atol(argv[1]) : 100000;
	int listener = socket(AF_INET, SOCK_STREAM, IPPROTO_SDP);
	int other = socket(AF_INET, SOCK_STREAM, IPPROTO_SDP), fd;
	struct sdp_sock_info info;
	socklen_t len = sizeof(addr);
	struct sdp_fast *fast;
	pid_t child;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, len) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&addr, &len))
		err(1, "listener");
	if (other < 0 || connect(other, (struct sockaddr *)&addr, len))
		err(1, "connect");
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		err(1, "accept");
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		close(fd);
		fast = sdp_fast_open(other, 0);
		if (!fast)
			err(1, "sdp_fast_open");
		play(fast, times, 1);
		return 0;
	}
	close(other);
	fast = sdp_fast_open(fd, 0);
	if (!fast)
		err(1, "sdp_fast_open");
	play(fast, times, 0);
	if (sdp_info(fd, &info, sizeof(info)))
		err(1, "sdp_info");
	printf("%ld times to and fro, %s; without TCP: %llu bytes\n", times,
	       sdp_fast_state(fast) ? "by rings" : "by system calls",
	       (unsigned long long)(info.tx_bytes + info.rx_bytes));
	sdp_fast_close(fast);
	wait(NULL);
	return 0;
}

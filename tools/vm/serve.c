// SPDX-License-Identifier: GPL-2.0
/*
 * serve MACHINE: in each of several machines, runs programs for the others, and
 * for itself: where and as it was started itself, in the background. It
 * returns when others can reach it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"
#include "program.h"
#include "wire.h"

#define BACKLOG	128

static void fail(const char *what)
{
	fprintf(stderr, "vm serve: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int listen_on(unsigned int machine)
{
	struct sockaddr_in address = net_server(machine);
	int sock = net_socket(), one = 1;

	if (sock < 0)
		fail("socket");
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(sock, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(sock, BACKLOG))
		fail("listen");
	return sock;
}

/* Waits for the first frame, which says what to run. */
static bool receive_run(int sock, struct wire_frame *f)
{
	struct pollfd p = { sock, POLLIN, 0 };
	int ret;

	wire_nonblock(sock);
	do {
		poll(&p, 1, -1);
		ret = wire_read(sock, f);
	} while (!ret);
	return ret > 0 && f->type == WIRE_RUN && f->len > 2 &&
	       !f->data[f->len - 1];
}

static void serve(int sock)
{
	static struct wire_frame f;
	static char *argv[sizeof(f.data)];
	struct wire_run *run = (struct wire_run *)f.data;
	char *end = (char *)f.data, *arg;
	int n = 0;

	if (!receive_run(sock, &f))
		return;
	end += f.len;
	for (arg = run->arguments; arg < end; arg += strlen(arg) + 1)
		argv[n++] = arg;
	program_run(sock, run->tty, argv);
}

int main(int argc, char **argv)
{
	int sock, connection;

	if (argc != 2) {
		fputs("usage: serve MACHINE\n", stderr);
		return 2;
	}
	sock = listen_on(atoi(argv[1]));
	if (daemon(1, 0))
		fail("daemon");
	/* The kernel buries the children. */
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		connection = accept4(sock, NULL, NULL, SOCK_CLOEXEC);
		if (connection < 0)
			continue;
		if (!fork()) {
			signal(SIGCHLD, SIG_DFL);
			close(sock);
			serve(connection);
			return 0;
		}
		close(connection);
	}
}

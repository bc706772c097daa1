// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's end of a run: starts a program and carries its input, output
 * and exit status over the VM's serial port.
 *
 * The run is over when the program ends, whatever else it left running. The
 * other end confirms that the exit status arrived; only then is all output
 * out of the VM, and only then does this end return.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

static void fail(const char *what)
{
	fprintf(stderr, "vm guest: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The kernel learns a moment after boot that the host has its end open. */
static void wait_for_host(int port)
{
	struct pollfd p = { port, POLLOUT, 0 };
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		poll(&p, 1, 10);
		if (!(p.revents & POLLHUP) && (p.revents & POLLOUT))
			return;
		usleep(10000);
	}
	errno = ETIMEDOUT;
	fail("nobody listens");
}

int main(int argc, char **argv)
{
	int port;

	if (argc < 4) {
		fputs("usage: guest PORT tty|pipe PROGRAM [ARG...]\n", stderr);
		return 2;
	}
	port = open(argv[1], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (port < 0)
		fail(argv[1]);
	wait_for_host(port);
	if (!program_run(port, !strcmp(argv[2], "tty"), argv + 3))
		fail("the other end is gone");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * All ways to end a connection: both ends see what they see on TCP, the wire has the same FIN and
 * RST, the same end is in TIME_WAIT, and the module has no reference left.
 *
 *	ends [-w] [-l LISTEN] [-c CONNECT] [-S NETNS] [-C NETNS] [ROW...]
 *			-w: by a carrier of messages, and only how connections are closed
 *	ends --leave	leaves sockets in TIME_WAIT
 *	ends --hold	holds a listener, a connection, or a child that nobody accepts
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/conn.h"
#include "common/row.h"
#include "ends/rows.h"

static const struct row *lists[] = { close_rows, queue_rows, twin_rows, NULL };

/* Either end closes first, in turn. */
static int leave(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		struct conn c = conn_moved();

		close(i & 1 ? c.a.fd : c.b.fd);
		need(!get(i & 1 ? &c.b : &c.a, 1, 0));
		close(i & 1 ? c.b.fd : c.a.fd);
	}
	return 0;
}

/* Says when there is what keeps the module, and keeps it until its input ends. */
static int hold(const char *what)
{
	int port, listener = sock_listen(4, &port);
	char end;

	if (strcmp(what, "listener")) {
		int fd = sock_new(NULL);

		need(!sock_connect(fd, port));
		if (!strcmp(what, "child"))
			close(fd);
		else
			close(listener);
	}
	puts("held");
	fflush(stdout);
	return read(0, &end, 1) < 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--leave"))
		return leave();
	if (argc > 2 && !strcmp(argv[1], "--hold"))
		return hold(argv[2]);
	nothing_yet();
	place_options(argc, argv);
	if (late)
		lists[1] = NULL;
	return rows_main(lists, argv + optind);
}

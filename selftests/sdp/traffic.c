// SPDX-License-Identifier: GPL-2.0
/*
 * traffic N: N processes that connect, send, receive, close and begin again,
 * whatever happens to their connections, until they are killed.
 *
 * traffic unread: a connection that its peer has reset, with a byte that nobody reads
 */
#include "end.h"

#include <sys/prctl.h>
#include <sys/wait.h>

static char buf[32768];

/* One connection: half of them end orderly, half with bytes on their way. */
static void connection(int port, unsigned int round)
{
	int l, c, a = -1, flags;

	enter_node(2);
	l = end_open(SDP, AF_INET);
	if (end_bind(SDP, l, SERVER4, port) || end_listen(SDP, l, 8))
		goto out_listener;
	enter_node(1);
	c = end_open(SDP, AF_INET);
	if (end_connect(SDP, c, SERVER4, port) == 0) {
		nonblock(l, true);
		events(l, POLLIN, 2000);
		a = end_accept(SDP, l);
	}
	if (a >= 0) {
		nonblock(c, true);
		flags = fcntl(a, F_GETFL);
		fcntl(a, F_SETFL, flags | O_NONBLOCK);
		for (int i = 0; i < 200; i++) {
			if (write(c, buf, 1 + (i * 977 + round) % sizeof(buf)) < 0 &&
			    errno != EAGAIN)
				break;
			events(a, POLLIN, 10);
			if (read(a, buf, sizeof(buf)) < 0 && errno != EAGAIN)
				break;
		}
		if (round & 1) {
			end_shutdown(SDP, c, SHUT_WR);
			while (events(a, POLLIN, 1000) && read(a, buf, sizeof(buf)) > 0)
				;
		}
		close(a);
	}
	close(c);
out_listener:
	close(l);
}

static void leave_unread(void)
{
	const struct linger at_once = { .l_onoff = 1 };
	int end[2];

	pair(SDP, end);
	must(!end_setsockopt(SDP, end[0], SO_LINGER, &at_once, sizeof(at_once)));
	must(write(end[0], buf, 1) == 1 && all_events(end[1], POLLIN, 10000));
	close(end[0]);
	must(all_events(end[1], POLLERR, 10000));
	puts("ready");
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4;

	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && !strcmp(argv[1], "unread"))
		leave_unread();
	for (int i = 0; i < n; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned int round = 0; ; round++)
			connection(40000 + i * 1000 + round % 1000, round);
	}
	while (wait(NULL) > 0)
		;
	return 1;
}

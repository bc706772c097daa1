// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * send INTERFACE PORT GROUP [TTL [LOOP [join]]]: each line of its input is a datagram to the
 * group, which it joins if it is told to; a line "tell" is answered by which way they go, and by
 * how many have come. It waits until the group goes by the queue pair, or cannot.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sdpmcast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS	16

static int parse(const char *text, struct sockaddr_storage *to)
{
	struct sockaddr_in6 *in6 = (void *)to;
	struct sockaddr_in *in = (void *)to;

	memset(to, 0, sizeof(*to));
	to->ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	return inet_pton(to->ss_family, text, to->ss_family == AF_INET ?
			 (void *)&in->sin_addr : (void *)&in6->sin6_addr) == 1 ? 0 : -1;
}

/* What has come, or happened. */
static void wait_for(struct sdpmcast *e)
{
	struct pollfd fd = { .fd = sdpmcast_fd(e), .events = POLLIN };
	struct sdpmcast_msg msg;

	while (sdpmcast_recv(e, &msg, 1) == 1)
		sdpmcast_release(e, &msg, 1);
	poll(&fd, 1, 1000);
	while (sdpmcast_recv(e, &msg, 1) == 1)
		sdpmcast_release(e, &msg, 1);
}

static int send_line(struct sdpmcast *e, const struct sockaddr *group, char *line, size_t len)
{
	struct iovec datagram = { .iov_base = line, .iov_len = len };

	while (sdpmcast_send(e, group, &datagram, 1) < 0) {
		if (errno != EAGAIN)
			return -1;
		wait_for(e);
	}
	return 0;
}

static void tell(struct sdpmcast *e, const struct sockaddr *group)
{
	struct sdpmcast_stat s;
	struct sdpmcast_msg msg;

	while (sdpmcast_recv(e, &msg, 1) == 1)
		sdpmcast_release(e, &msg, 1);
	sdpmcast_stat(e, &s, sizeof(s));
	printf("way %d sent %ju socket %ju came %ju filtered %ju\n", sdpmcast_way(e, group),
	       (uintmax_t)s.sent, (uintmax_t)s.sent_by_socket,
	       (uintmax_t)(s.received + s.by_socket), (uintmax_t)s.filtered);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct sockaddr_storage group;
	struct sdpmcast *e;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (argc < 4 || parse(argv[3], &group)) {
		fprintf(stderr, "usage: send INTERFACE PORT GROUP [TTL [LOOP [join]]]\n");
		return 2;
	}
	e = sdpmcast_open(argv[1], group.ss_family, atoi(argv[2]), SLOTS);
	if (!e || (argc > 4 && sdpmcast_set(e, SDPMCAST_TTL, atoi(argv[4]))) ||
	    (argc > 5 && sdpmcast_set(e, SDPMCAST_LOOP, atoi(argv[5]))) ||
	    (argc > 6 && sdpmcast_join(e, (struct sockaddr *)&group, NULL)) ||
	    sdpmcast_send(e, (struct sockaddr *)&group, NULL, 0)) {
		perror("send");
		return 1;
	}
	while (sdpmcast_way(e, (struct sockaddr *)&group) == SDPMCAST_JOINING)
		wait_for(e);
	while ((len = getline(&line, &room, stdin)) > 0) {
		if (!strcmp(line, "tell\n")) {
			tell(e, (struct sockaddr *)&group);
		} else if (send_line(e, (struct sockaddr *)&group, line, len)) {
			perror("send");
			return 1;
		}
	}
	free(line);
	sdpmcast_close(e);
	return 0;
}

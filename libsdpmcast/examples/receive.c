// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * receive INTERFACE PORT GROUP [SOURCE]...: prints the datagrams of a group, a line each,
 * and which way they came. Each line of its input is answered by the way of the group, and by
 * what the endpoint has counted.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sdpmcast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH	16
#define SLOTS	512

static int parse(const char *text, struct sockaddr_storage *to)
{
	struct sockaddr_in6 *in6 = (void *)to;
	struct sockaddr_in *in = (void *)to;

	memset(to, 0, sizeof(*to));
	to->ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	return inet_pton(to->ss_family, text, to->ss_family == AF_INET ?
			 (void *)&in->sin_addr : (void *)&in6->sin6_addr) == 1 ? 0 : -1;
}

/* The first line of what it carries */
static void show(const struct sdpmcast_msg *m)
{
	const char *end = memchr(m->data, '\n', m->len);
	size_t len = end ? (size_t)(end - (const char *)m->data) : m->len;

	printf("%s %zu %.*s\n", m->ttl ? "queue-pair" : "socket", m->len,
	       len < 40 ? (int)len : 40, (const char *)m->data);
}

static void receive(struct sdpmcast *e)
{
	struct sdpmcast_msg msgs[BATCH];
	int i, n;

	while ((n = sdpmcast_recv(e, msgs, BATCH)) > 0) {
		for (i = 0; i < n; i++)
			show(&msgs[i]);
		sdpmcast_release(e, msgs, n);
	}
	fflush(stdout);
}

static void tell(struct sdpmcast *e, const struct sockaddr_storage *group)
{
	struct sdpmcast_stat s;
	char line[80];

	if (!fgets(line, sizeof(line), stdin))
		exit(0);
	sdpmcast_stat(e, &s, sizeof(s));
	printf("way %d received %ju socket %ju ", sdpmcast_way(e, (const void *)group),
	       (uintmax_t)s.received, (uintmax_t)s.by_socket);
	printf("port %ju filtered %ju malformed %ju ", (uintmax_t)s.other_port,
	       (uintmax_t)s.filtered, (uintmax_t)s.malformed);
	printf("sum %ju fragments %ju claimed %ju lost %ju\n", (uintmax_t)s.bad_sum,
	       (uintmax_t)s.fragments, (uintmax_t)s.claimed, (uintmax_t)s.lost);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct sockaddr_storage group, source;
	struct pollfd fds[2] = { { .fd = 0, .events = POLLIN }, { .events = POLLIN } };
	struct sdpmcast *e;
	int i;

	if (argc < 4 || parse(argv[3], &group)) {
		fprintf(stderr, "usage: receive INTERFACE PORT GROUP [SOURCE]...\n");
		return 2;
	}
	e = sdpmcast_open(argv[1], group.ss_family, atoi(argv[2]), SLOTS);
	if (!e || (argc == 4 && sdpmcast_join(e, (struct sockaddr *)&group, NULL))) {
		perror("receive");
		return 1;
	}
	for (i = 4; i < argc; i++)
		if (parse(argv[i], &source) ||
		    sdpmcast_join(e, (struct sockaddr *)&group, (struct sockaddr *)&source)) {
			perror("receive");
			return 1;
		}
	fds[1].fd = sdpmcast_fd(e);
	for (;;) {
		receive(e);
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (fds[0].revents)
			tell(e, &group);
	}
}

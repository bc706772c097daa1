// SPDX-License-Identifier: GPL-2.0
/*
 * datagrams socket|queue-pair RECEIVERS SIZE COUNT: what COUNT multicast datagrams cost the
 * machine, in instructions, if so many programs receive each. Another node's socket sends, as
 * many at a time as each receiver has room for. Without receivers it is what sending costs.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sdpmcast.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT	7400
#define BATCH	32
#define SLOTS	128

static struct sockaddr_in group = { .sin_family = AF_INET };

void die(const char *what)
{
	perror(what);
	exit(1);
}

static void enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

/* --- receivers -------------------------------------------------------------- */

static int open_receiver(void)
{
	struct ip_mreqn mreq = { .imr_multiaddr = group.sin_addr };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1;

	mreq.imr_ifindex = if_nametoindex("ib0");
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (const struct sockaddr *)&group, sizeof(group)) ||
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mreq, sizeof(mreq)))
		die("socket");
	return fd;
}

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		exit(1);
}

/* Tells when it is there, and after each batch. The first batch tells that the group works. */
static void receive_by_socket(size_t size, int done)
{
	static char buf[65536];
	int fd = open_receiver();
	unsigned int n = 0;

	tell(done);
	for (;;) {
		if (recv(fd, buf, sizeof(buf), 0) != (ssize_t)size)
			exit(1);
		if (++n % BATCH == 0)
			tell(done);
	}
}

static void wait_for(struct sdpmcast *e)
{
	struct pollfd fd = { .fd = sdpmcast_fd(e), .events = POLLIN };

	poll(&fd, 1, -1);
}

static void receive_by_queue_pair(size_t size, int done)
{
	struct sdpmcast *e = sdpmcast_open("ib0", AF_INET, PORT, SLOTS);
	const struct sockaddr *to = (const struct sockaddr *)&group;
	struct sdpmcast_msg msgs[BATCH];
	unsigned int n = 0;
	int i, got;

	if (!e || sdpmcast_join(e, to, NULL))
		die("sdpmcast");
	while (sdpmcast_way(e, to) == SDPMCAST_JOINING) {
		wait_for(e);
		if (sdpmcast_recv(e, msgs, 1) == 1)
			sdpmcast_release(e, msgs, 1);
	}
	if (sdpmcast_way(e, to) != SDPMCAST_QUEUE_PAIR)
		exit(1);
	tell(done);
	for (;;) {
		got = sdpmcast_recv(e, msgs, BATCH);
		if (got < 0) {
			wait_for(e);
			continue;
		}
		for (i = 0; i < got; i++) {
			if (msgs[i].len != size)
				exit(1);
			if (++n % BATCH == 0)
				tell(done);
		}
		sdpmcast_release(e, msgs, got);
	}
}

/* --- the sender --------------------------------------------------------------- */

static int open_sender(void)
{
	struct ip_mreqn mreq = {};
	int fd;

	enter("/run/netns/node2");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	mreq.imr_ifindex = if_nametoindex("ib0");
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &mreq, sizeof(mreq)))
		die("sender");
	enter("/run/netns/node1");
	return fd;
}

static void await(int done, unsigned int receivers)
{
	char buf[64];
	ssize_t n;

	while (receivers) {
		n = read(done, buf, receivers < sizeof(buf) ? receivers : sizeof(buf));
		if (n <= 0)
			die("a receiver has ended");
		receivers -= n;
	}
}

static void send_batch(int fd, size_t size)
{
	static char buf[65536];
	int i;

	for (i = 0; i < BATCH; i++)
		if (sendto(fd, buf, size, 0, (const struct sockaddr *)&group,
			   sizeof(group)) != (ssize_t)size)
			die("sendto");
}

/* The switches learn of a member some time after the member knows: then one is lost. */
static void settle(void)
{
	sleep(2);
}

static int64_t measure(unsigned int receivers, size_t size, unsigned int count, int done)
{
	int fd = open_sender();
	struct meter meter;
	unsigned int n;

	await(done, receivers);
	settle();
	send_batch(fd, size);
	await(done, receivers);
	meter_start(&meter);
	for (n = 0; n < count; n += BATCH) {
		send_batch(fd, size);
		await(done, receivers);
	}
	return meter_stop(&meter);
}

int main(int argc, char **argv)
{
	unsigned int receivers, count, i;
	pid_t pids[64];
	int done[2];
	size_t size;
	bool pair;

	if (argc != 5 || atoi(argv[2]) > 64) {
		fprintf(stderr, "usage: datagrams socket|queue-pair RECEIVERS SIZE COUNT\n");
		return 2;
	}
	group.sin_port = htons(PORT);
	group.sin_addr.s_addr = inet_addr("239.77.7.1");
	pair = !strcmp(argv[1], "queue-pair");
	receivers = atoi(argv[2]);
	size = atoi(argv[3]);
	count = atoi(argv[4]) / BATCH * BATCH;
	if (pipe2(done, O_CLOEXEC))
		die("pipe");
	for (i = 0; i < receivers; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		close(done[0]);
		(pair ? receive_by_queue_pair : receive_by_socket)(size, done[1]);
	}
	close(done[1]);
	printf("%lld\n", (long long)measure(receivers, size, count, done[0]) / count);
	for (i = 0; i < receivers; i++)
		kill(pids[i], SIGKILL);
	return 0;
}

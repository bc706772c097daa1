// SPDX-License-Identifier: GPL-2.0
/*
 * One socket, several processes and threads.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/random.h"
#include "../common/conn.h"
#include "rows.h"

static int ended(pid_t pid)
{
	int status = -1;

	need(waitpid(pid, &status, 0) == pid);
	return status;
}

static void forked(void)
{
	struct conn c = conn_moved();
	pid_t pid = fork();

	if (!pid) {
		put(&c.a, 5000, 0);
		get_all(&c.b, 2500);
		want(&c.a, true);
		_exit(0);
	}
	SAY(ended(pid));
	c.a.out += 5000;
	c.b.in += 2500;
	SAY(get(&c.b, 2500, MSG_WAITALL));
	/* The child that has gone has closed nothing. */
	put(&c.a, 10, 0);
	SAY(get(&c.b, 10, 0));
	pid = fork();
	if (!pid) {
		SAY(get(&c.b, 10, MSG_WAITALL));
		_exit(0);
	}
	put(&c.a, 10, 0);
	SAY(ended(pid));
	c.b.in += 10;
	close(c.a.fd);
	SAY(get(&c.b, 10, 0));
}

static void send_fd(int via, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 0;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *cm = CMSG_FIRSTHDR(&m);

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cm), &fd, sizeof(fd));
	need(sendmsg(via, &m, 0) == 1);
}

static int recv_fd(int via)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int fd;

	need(recvmsg(via, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* The only descriptor of a moved socket is on its way, and then another process's. */
static void passed(void)
{
	struct conn c = conn_moved();
	int via[2];
	pid_t pid;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, via));
	send_fd(via[0], c.b.fd);
	close(c.b.fd);
	put(&c.a, 3000, 0);
	pid = fork();
	if (!pid) {
		close(c.a.fd);
		c.b.fd = recv_fd(via[1]);
		get_all(&c.b, 3000);
		want(&c.b, true);
		put(&c.b, 4000, 0);
		_exit(0);
	}
	SAY(ended(pid));
	SAY(get(&c.a, 4000, MSG_WAITALL));
	SAY(get(&c.a, 1, 0));
}

/* Bytes whose sum tells that none came twice and none was lost. */
struct worker {
	pthread_t thread;
	int fd;
	int value;
	size_t bytes;
	size_t count[256];
};

static void *write_values(void *arg)
{
	struct worker *w = arg;
	unsigned int seed = w->value;
	char buf[9000];

	memset(buf, w->value, sizeof(buf));
	while (w->bytes) {
		size_t most = random32(&seed) & 1 ? 20 : sizeof(buf);
		size_t n = 1 + random32(&seed) % most;
		ssize_t ret = send(w->fd, buf, n < w->bytes ? n : w->bytes, 0);

		need(ret > 0);
		w->bytes -= ret;
	}
	return NULL;
}

static void *read_values(void *arg)
{
	struct worker *w = arg;
	unsigned char buf[5000];
	ssize_t i, n;

	while ((n = recv(w->fd, buf, sizeof(buf), 0)) > 0)
		for (i = 0; i < n; i++)
			w->count[buf[i]]++;
	need(!n);
	return NULL;
}

/* Two write, two read, and the direction moves and comes back meanwhile. */
static void crowded(void)
{
	struct conn c = conn_moved();
	static struct worker w[4];
	int i;

	for (i = 0; i < 4; i++) {
		w[i].fd = i < 2 ? c.a.fd : c.b.fd;
		w[i].value = 1 + i;
		w[i].bytes = slow_kernel() ? 300000 : 2000000;
		need(!pthread_create(&w[i].thread, NULL, i < 2 ? write_values : read_values,
				     &w[i]));
	}
	for (i = 0; i < 8; i++)
		gate(&c.a, i & 1);
	pthread_join(w[0].thread, NULL);
	pthread_join(w[1].thread, NULL);
	shutdown(c.a.fd, SHUT_WR);
	pthread_join(w[2].thread, NULL);
	pthread_join(w[3].thread, NULL);
	for (i = 0; i < 4; i++)
		say("of %d: %zu", i, w[2].count[i] + w[3].count[i]);
}

const struct row share_rows[] = {
	{ "fork()", forked },
	{ "a descriptor passed on", passed },
	{ "two writers and two readers, with moves in the middle", crowded },
	{ }
};

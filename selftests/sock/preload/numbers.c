// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptors that mean something else after a while: a byte never goes to what a number meant
 * before.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rows.h"

/* A pipe that one can write to by this number, which is free; what to read from. */
static int pipe_at(int number)
{
	int ends[2];

	need(!pipe2(ends, O_CLOEXEC));
	if (ends[0] == number) {
		/* The next lowest one is for reading. */
		ends[0] = syscall(SYS_dup, number);
		need(syscall(SYS_dup2, ends[1], number) == number);
		syscall(SYS_close, ends[1]);
	} else if (ends[1] != number) {
		need(syscall(SYS_dup2, ends[1], number) == number);
		syscall(SYS_close, ends[1]);
	}
	return ends[0];
}

/* What is written to the number has to come out of the pipe. */
static void goes_to(int number, int reads)
{
	char bytes[10] = "";
	int i;

	for (i = 0; i < 100; i++) {
		need(write(number, "pipe", 4) == 4);
		if (read(reads, bytes, 4) != 4 || strcmp(bytes, "pipe"))
			wrong("round %d: \"%s\"", i, bytes);
	}
	close(number);
	close(reads);
}

/* As before, by another number. */
static void goes_on(struct conn *c)
{
	put(&c->a, 1000, 0);
	get_all(&c->b, 1000);
	put(&c->b, 1000, 0);
	get_all(&c->a, 1000);
}

static void duplicates(void)
{
	struct conn c = conn_ringed();
	int old, i;

	for (i = 0; i < 6; i++) {
		ring(&c, 2);
		old = c.a.fd;
		switch (i) {
		case 0:
			c.a.fd = dup(old);
			break;
		case 1:
			c.a.fd = dup2(old, 200);
			break;
		case 2:
			c.a.fd = dup3(old, 201, O_CLOEXEC);
			break;
		case 3:
			c.a.fd = fcntl(old, F_DUPFD, 100);
			break;
		case 4:
			c.a.fd = fcntl(old, F_DUPFD_CLOEXEC, 100);
			break;
		case 5:
			c.a.fd = fcntl64(old, F_DUPFD, 100);
			break;
		}
		need(c.a.fd >= 0);
		have_rings(1);
		goes_on(&c);
		have_rings(1);
		/* Nobody sees this. */
		syscall(SYS_close, old);
		goes_to(old, pipe_at(old));
		goes_on(&c);
	}
	ring(&c, 2);
	conn_close(&c);
}

/* The socket itself goes, and nobody sees it. */
static void closed(void)
{
	struct conn c = conn_ringed();

	syscall(SYS_close, c.a.fd);
	goes_to(c.a.fd, pipe_at(c.a.fd));
	SAY(get(&c.b, 10, 0));
	close(c.b.fd);
}

static void replaced(void)
{
	struct conn c = conn_ringed();
	int ends[2];

	need(!pipe2(ends, O_CLOEXEC));
	put(&c.a, 1000, 0);
	SAY(dup2(ends[1], c.a.fd) == c.a.fd);
	close(ends[1]);
	goes_to(c.a.fd, ends[0]);
	get_all(&c.b, 1000);
	SAY(get(&c.b, 10, 0));
	have_rings(1);
	close(c.b.fd);
	have_rings(0);
}

static void streams(void)
{
	struct conn c = conn_ringed();
	FILE *file = fdopen(c.a.fd, "r+");

	need(file);
	SAY(fprintf(file, "%s", "") + fflush(file));
	c.a.fd = dup(c.a.fd);
	ring(&c, 1);
	SAY(fclose(file));
	ring(&c, 2);
	file = fdopen(c.a.fd, "r+");
	SAY(fclose(file));
	have_rings(1);
	SAY(get(&c.b, 10, 0));
	close(c.b.fd);
}

/* A descriptor of rings; -1 if there is none. */
static int descriptor(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;
	int fd = -1;

	need(dir);
	while ((d = readdir(dir))) {
		char name[300], to[100] = "";

		snprintf(name, sizeof(name), "/proc/self/fd/%s", d->d_name);
		if (readlink(name, to, sizeof(to) - 1) > 0 && strstr(to, "[sdp-ring]"))
			fd = atoi(d->d_name);
	}
	closedir(dir);
	return fd;
}

/* Those that the program has not made: it may close what it does not know. */
static void of_rings(void)
{
	struct conn c = conn_ringed();
	int fd = plain ? 900 : descriptor();

	if (fd < 300)
		wrong("a descriptor of rings is %d", fd);
	errno = 0;
	SAY(close(fd));
	have_rings(1);
	ring(&c, 2);
	fd = plain ? 900 : descriptor();
	SAY(dup2(0, fd) == fd);
	have_rings(1);
	goes_on(&c);
	SAY(close(fd));
	ring(&c, 2);
	SAY(close_range(300, ~0U, 0));
	have_rings(0);
	ring(&c, 2);
	closefrom(300);
	have_rings(0);
	goes_on(&c);
	conn_close(&c);
}

/* By another process's socket to us, as one process does it to another. */
static void passed(void)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { "x", 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	struct conn c = conn_ringed();
	int old = c.a.fd, ends[2];
	char byte;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	*cmsg = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(cmsg), &old, sizeof(old));
	SAY(sendmsg(ends[0], &msg, 0));
	have_rings(1);
	iov.iov_base = &byte;
	SAY(recvmsg(ends[1], &msg, 0));
	memcpy(&c.a.fd, CMSG_DATA(cmsg), sizeof(c.a.fd));
	goes_on(&c);
	have_rings(1);
	syscall(SYS_close, old);
	goes_to(old, pipe_at(old));
	ring(&c, 2);
	conn_close(&c);
}

static void *uses(void *arg)
{
	int fd = *(int *)arg;

	while (send(fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 || errno == EAGAIN)
		;
	return NULL;
}

/* While a thread is in a call. */
static void closed_under(void)
{
	char bytes[100];
	int i;

	for (i = 0; i < 30; i++) {
		struct conn c = conn_ringed();
		pthread_t thread;

		need(!pthread_create(&thread, NULL, uses, &c.a.fd));
		while (recv(c.b.fd, bytes, 100, 0) < i)
			;
		close(c.a.fd);
		need(!pthread_join(thread, NULL));
		close(c.b.fd);
	}
	have_rings(0);
}

static void *nothing(void *arg)
{
	need(!unshare(CLONE_FILES));
	return arg;
}

/* Threads with descriptors of their own mean different things by a number. */
static void unshared(void)
{
	struct conn c = conn_ringed();
	pthread_t thread;

	need(!pthread_create(&thread, NULL, nothing, NULL));
	need(!pthread_join(thread, NULL));
	have_rings(0);
	goes_on(&c);
	have_rings(0);
	conn_close(&c);
}

const struct row number_rows[] = {
	{ "duplicates, one of which is closed by a system call", duplicates },
	{ "a socket is closed by a system call", closed },
	{ "something else gets the number", replaced },
	{ "streams of the C library", streams },
	{ "the program closes what it does not know", of_rings },
	{ "a descriptor is passed on", passed },
	{ "a close while a thread is in a call", closed_under },
	{ "threads with descriptors of their own", unshared },
	{ NULL, NULL },
};

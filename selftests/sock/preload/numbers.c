// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptors that mean something else after a while: a byte never goes to what a number meant
 * before.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rows.h"

typedef long (*syscall_t)(long number, ...);

/* The C library's own: a system call that the library of rings does not see. */
static long unseen(long number, long a, long b, long c)
{
	static syscall_t call;

	if (!call)
		call = (syscall_t)dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "syscall");
	need(call);
	return call(number, a, b, c);
}

/* A pipe that one can write to by this number, which is free; what to read from. */
static int pipe_at(int number)
{
	int ends[2];

	need(!unseen(SYS_pipe2, (long)ends, O_CLOEXEC, 0));
	if (ends[0] == number) {
		/* The next lowest one is for reading. */
		ends[0] = unseen(SYS_dup, number, 0, 0);
		need(unseen(SYS_dup2, ends[1], number, 0) == number);
		unseen(SYS_close, ends[1], 0, 0);
	} else if (ends[1] != number) {
		need(unseen(SYS_dup2, ends[1], number, 0) == number);
		unseen(SYS_close, ends[1], 0, 0);
	}
	return ends[0];
}

/* What is written to the number has to come out of the pipe. */
static void goes_to(int number, int reads, int left)
{
	char bytes[10] = "";
	int i;

	for (i = 0; i < 100; i++) {
		need(write(number, "pipe", 4) == 4);
		if (read(reads, bytes, 4) != 4 || strcmp(bytes, "pipe"))
			wrong("round %d: \"%s\"", i, bytes);
	}
	/* The number's rings went with the first call: what closed the socket is not known. */
	have_rings(left);
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
		unseen(SYS_close, old, 0, 0);
		goes_to(old, pipe_at(old), 1);
		goes_on(&c);
	}
	ring(&c, 2);
	conn_close(&c);
}

/* The socket itself goes, and the library does not see it. */
static void closed(void)
{
	struct conn c = conn_ringed();

	unseen(SYS_close, c.a.fd, 0, 0);
	goes_to(c.a.fd, pipe_at(c.a.fd), 1);
	SAY(get(&c.b, 10, 0));
	close(c.b.fd);
}

/* As libuv does it. */
static void closed_by_number(void)
{
	struct conn c = conn_ringed();

	SAY(syscall(SYS_close, c.a.fd));
	have_rings(1);
	SAY(syscall(SYS_close_range, c.b.fd, c.b.fd, 0));
	have_rings(0);
	c = conn_ringed();
	SAY(syscall(SYS_dup2, c.b.fd, c.a.fd) == c.a.fd);
	have_rings(0);
	close(c.a.fd);
	close(c.b.fd);
}

/* A descriptor comes, as the number that is free. */
static int comes(int way, int listener)
{
	int ends[2] = { -1, -1 };

	switch (way) {
	case 0: return accept(listener, NULL, NULL);
	case 1: return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	case 2: return syscall(SYS_accept4, listener, NULL, NULL, 0);
	case 3: return socket(AF_INET, SOCK_STREAM, 0);
	case 4: return open("/dev/null", O_RDWR);
	case 5: return openat(AT_FDCWD, "/dev/null", O_RDWR);
	case 6: return epoll_create1(0);
	case 7: return eventfd(0, 0);
	case 8: return dup(0);
	case 9: return fcntl(0, F_DUPFD, 3);
	case 10: return syscall(SYS_fsopen, "tmpfs", 0);
	case 11:
		need(!pipe(ends));
		break;
	default:
		need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	}
	unseen(SYS_close, ends[1], 0, 0);
	return ends[0];
}

/* The next descriptor that is free is this one, once it is closed. */
static void next_free(int fd)
{
	int below;

	do {
		below = unseen(SYS_dup, 0, 0, 0);
		need(below >= 0);
	} while (below < fd);
	unseen(SYS_close, below, 0, 0);
}

/* The library does not see the close: the next file has nothing of what the number had. */
static void comes_again(void)
{
	int port, way, listener = sock_listen(10, &port);

	for (way = 0; way < 13; way++) {
		struct conn c = conn_ringed();
		int other = way < 3 ? sock_new(NULL) : -1, fd;

		if (other >= 0)
			need(!sock_connect(other, port));
		next_free(c.a.fd);
		unseen(SYS_close, c.a.fd, 0, 0);
		fd = comes(way, listener);
		if (fd != c.a.fd)
			wrong("way %d: %d, and not %d", way, fd, c.a.fd);
		if (!plain && rings() != 1)
			wrong("way %d: %d sockets have rings", way, rings());
		close(fd);
		close(other);
		close(c.b.fd);
	}
	close(listener);
	have_rings(0);
}

static void replaced(void)
{
	struct conn c = conn_ringed();
	int ends[2];

	need(!pipe2(ends, O_CLOEXEC));
	put(&c.a, 1000, 0);
	SAY(dup2(ends[1], c.a.fd) == c.a.fd);
	close(ends[1]);
	goes_to(c.a.fd, ends[0], 1);
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
	c = conn_ringed();
	file = fdopen(c.a.fd, "r+");
	file = freopen("/dev/null", "r+", file);
	need(file);
	SAY(fileno(file) == c.a.fd);
	have_rings(1);
	SAY(fclose(file));
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

/* As a program does it that closes all but what it knows. */
static void kicks_in_vain(void)
{
	struct conn c = conn_ringed();
	struct pollfd p = { .fd = c.b.fd, .events = POLLIN };
	int fd;

	while ((fd = descriptor()) >= 0)
		unseen(SYS_close, fd, 0, 0);
	SAY(poll(&p, 1, 0));
	put(&c.a, 10, 0);
	SAY(poll(&p, 1, 5000));
	have_rings(1);
	get_all(&c.b, 10);
	goes_on(&c);
	conn_close(&c);
}

/* By another process's socket to us, as one process does it to another. */
static void pass(bool bare)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { "x", 1 };
	struct mmsghdr msgs = {
		.msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			     .msg_controllen = sizeof(control) },
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msgs.msg_hdr);
	struct conn c = conn_ringed();
	int old = c.a.fd, ends[2];
	char byte;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	*cmsg = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(cmsg), &old, sizeof(old));
	if (bare)
		SAY(syscall(SYS_sendmmsg, ends[0], &msgs, 1, 0));
	else
		SAY(sendmsg(ends[0], &msgs.msg_hdr, 0));
	have_rings(1);
	iov.iov_base = &byte;
	if (bare)
		SAY(syscall(SYS_recvmmsg, ends[1], &msgs, 1, 0, NULL));
	else
		SAY(recvmsg(ends[1], &msgs.msg_hdr, 0));
	memcpy(&c.a.fd, CMSG_DATA(cmsg), sizeof(c.a.fd));
	goes_on(&c);
	have_rings(1);
	unseen(SYS_close, old, 0, 0);
	goes_to(old, pipe_at(old), 1);
	ring(&c, 2);
	conn_close(&c);
}

static void passed(void)
{
	pass(false);
	pass(true);
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
	{ "a program closes by the number of the system call", closed_by_number },
	{ "a number comes again as something else", comes_again },
	{ "something else gets the number", replaced },
	{ "streams of the C library", streams },
	{ "the program closes what it does not know", of_rings },
	{ "the descriptors of rings are closed by a system call", kicks_in_vain },
	{ "a descriptor is passed on", passed },
	{ "a close while a thread is in a call", closed_under },
	{ "threads with descriptors of their own", unshared },
	{ NULL, NULL },
};

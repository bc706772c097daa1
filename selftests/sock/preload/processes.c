// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that share a socket, and processes that end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rows.h"

static int ended(pid_t pid)
{
	int status = -1;

	need(waitpid(pid, &status, 0) == pid);
	return status;
}

static long count(int fd, long until)
{
	char bytes[100];
	long all = 0;
	ssize_t n;

	while (all < until && (n = read(fd, bytes, sizeof(bytes))) > 0)
		all += n;
	return all;
}

/* Both write, at the same time. */
static void both(void)
{
	struct conn c = conn_ringed();
	pid_t pid = fork();
	int i;

	for (i = 0; i < 5000; i++)
		need(write(c.a.fd, "x", 1) == 1);
	if (!pid) {
		have_rings(0);
		_exit(0);
	}
	SAY(count(c.b.fd, 10000));
	SAY(ended(pid));
	/* No other process has them now. */
	ring(&c, 2);
	conn_close(&c);
}

/* As a server does that forks for each connection. */
static void served(void)
{
	struct conn c = conn_ringed();
	pid_t pid = fork();

	if (!pid) {
		close(c.a.fd);
		while (c.b.in < 3000) {
			get_all(&c.b, 1);
			put(&c.b, 1, 0);
		}
		have_rings(1);
		_exit(0);
	}
	close(c.b.fd);
	while (c.a.out < 3000) {
		put(&c.a, 1, 0);
		get_all(&c.a, 1);
	}
	have_rings(1);
	SAY(ended(pid));
	SAY(get(&c.a, 1, 0));
	close(c.a.fd);
}

static void without_handlers(void)
{
	struct conn c = conn_ringed();
	pid_t pid = _Fork();

	if (!pid) {
		put(&c.a, 1000, 0);
		_exit(rings());
	}
	SAY(ended(pid));
	c.a.out += 1000;
	get_all(&c.b, 1000);
	conn_close(&c);
}

/* A child that has its parent's memory, and descriptors of its own. */
static void lends_memory(void)
{
	struct conn c = conn_ringed();
	char bytes[4];
	int ends[2];
	pid_t pid;

	need(!pipe2(ends, O_CLOEXEC));
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): it is what is tested */
	pid = vfork();
	if (!pid) {
		/* Both are the parent's still. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): as programs do it */
		close(c.b.fd);
		dup2(ends[1], c.a.fd);
		if (write(c.a.fd, "pipe", 4) != 4)
			_exit(1);
		_exit(0);
	}
	SAY(ended(pid));
	SAY(read(ends[0], bytes, 4));
	put(&c.a, 1000, 0);
	get_all(&c.b, 1000);
	ring(&c, 2);
	conn_close(&c);
}

int executed(int fd)
{
	char bytes[100] = "";
	int i;

	for (i = 0; i < 3000; i++)
		if (write(fd, bytes, 100) != 100 || read(fd, bytes, 1) != 1)
			return 1;
	return 2 + rings();
}

/* A program that has rings executes another one, which gets its own. */
static void executes(void)
{
	struct conn c = conn_ringed();
	pid_t pid = fork();
	char number[12], bytes[100];
	int i;

	if (!pid) {
		close(c.b.fd);
		snprintf(number, sizeof(number), "%d", c.a.fd);
		fcntl(c.a.fd, F_SETFD, 0);
		execl("/proc/self/exe", "preload", "-x", number, NULL);
		_exit(1);
	}
	close(c.a.fd);
	for (i = 0; i < 3000; i++) {
		need(recv(c.b.fd, bytes, 100, MSG_WAITALL) == 100);
		need(write(c.b.fd, "x", 1) == 1);
	}
	i = WEXITSTATUS(ended(pid));
	if (i != (plain ? 2 : 3))
		wrong("exit status %d", i);
	close(c.b.fd);
}

static void killed(void)
{
	int i;

	for (i = 0; i < 5; i++) {
		struct conn c = conn_moved();
		pid_t pid = fork();
		ssize_t n;

		if (!pid) {
			close(c.b.fd);
			for (;;)
				put(&c.a, 1 + c.a.out % 3000, 0);
		}
		close(c.a.fd);
		get_all(&c.b, 3000000);
		have_rings(1);
		kill(pid, SIGKILL);
		need(ended(pid) == SIGKILL);
		do {
			n = get(&c.b, 10000, 0);
		} while (n > 0);
		SAY(n);
		close(c.b.fd);
	}
}

const struct row process_rows[] = {
	{ "two processes that write", both },
	{ "a server that forks", served },
	{ "a child that no handler sees", without_handlers },
	{ "a child of vfork", lends_memory },
	{ "a program executes another", executes },
	{ "a sender is killed", killed },
	{ NULL, NULL },
};

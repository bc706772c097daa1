// SPDX-License-Identifier: GPL-2.0
/*
 * In a machine that is one of several: runs a command in another one, or has
 * the host freeze, thaw or kill it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "net.h"
#include "wire.h"

/* The port to the host. One process at a time can have it open. */
#define CONTROL		"/run/control"
/* Held by the process that has. */
#define LOCK		"/run/vm"
/* Milliseconds of silence after which the host is asked whether it will last. */
#define SILENCE		1000
/* A connection is tried again after so many. */
#define AGAIN		50

static unsigned int machine;

static void fail(const char *what)
{
	client_restore_terminal();
	fprintf(stderr, "machine %u: %s: %s\n", machine, what, strerror(errno));
	exit(125);
}

static void on_end(int sig)
{
	client_ended_by = sig;
}

/* Asks the host. Returns 0 or an errno. */
static int ask(enum wire_what what)
{
	struct wire_ask ask = {
		.cookie = getpid(), .machine = machine, .what = what,
	};
	static struct wire_frame f;
	int lock, port;

	lock = open(LOCK, O_RDONLY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX))
		fail(LOCK);
	port = open(CONTROL, O_RDWR | O_CLOEXEC);
	if (port < 0)
		fail(CONTROL);
	wire_set(&f, WIRE_ASK, &ask, sizeof(ask));
	if (wire_write(port, &f) != 1)
		fail(CONTROL);
	do {
		f.done = 0;
		if (wire_read(port, &f) != 1)
			fail(CONTROL);
		memcpy(&ask, f.data, sizeof(ask));
	} while (ask.cookie != (uint32_t)getpid());
	close(port);
	close(lock);
	return ask.error;
}

/* Ends if the machine is gone. */
static void check(void)
{
	errno = ask(WIRE_ALIVE);
	if (errno)
		fail("run");
}

/* A machine that does not listen is still on its way up, if it is not gone. */
static int dial(void)
{
	struct sockaddr_in address = net_server(machine);
	struct pollfd p = { .events = POLLOUT };
	struct linger at_once = { .l_onoff = 1 };
	socklen_t size = sizeof(int);
	int error;

	for (;;) {
		p.fd = net_socket();
		if (p.fd < 0)
			fail("socket");
		wire_nonblock(p.fd);
		/* If this process is killed, there is no more to be said. */
		setsockopt(p.fd, SOL_SOCKET, SO_LINGER, &at_once,
			   sizeof(at_once));
		error = 0;
		if (connect(p.fd, (struct sockaddr *)&address, sizeof(address)))
			error = errno;
		while (error == EINPROGRESS) {
			if (poll(&p, 1, SILENCE) > 0)
				getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error,
					   &size);
			else
				check();
		}
		if (!error)
			return p.fd;
		close(p.fd);
		check();
		poll(NULL, 0, AGAIN);
	}
}

/* The frame that says what to run. */
static void set_run(struct wire_frame *f, bool tty, char **argv)
{
	struct wire_run *what = (struct wire_run *)f->data;
	size_t len = 0, n;

	what->tty = tty;
	for (; *argv; argv++) {
		n = strlen(*argv) + 1;
		if (n > sizeof(what->arguments) - len) {
			errno = E2BIG;
			fail("arguments");
		}
		memcpy(what->arguments + len, *argv, n);
		len += n;
	}
	wire_set(f, WIRE_RUN, NULL, 1 + len);
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static int run(char **argv)
{
	static struct client c = { .in = 0, .status = -1, .to_full = true };
	struct pollfd p[CLIENT_FDS];
	bool tty = isatty(0) && isatty(1);
	long long heard;

	set_run(&c.to, tty, argv);
	c.sock = dial();
	signal(SIGPIPE, SIG_IGN);
	if (tty) {
		client_catch(on_end);
		client_take_terminal(&c);
	}
	heard = now();
	do {
		client_poll(&c, p);
		if (poll(p, CLIENT_FDS, SILENCE) < 0)
			memset(p, 0, sizeof(p));
		if (p[0].revents & POLLIN) {
			heard = now();
		} else if (now() - heard >= SILENCE) {
			if (ask(WIRE_ALIVE))
				break;
			heard = now();
		}
	} while (client_step(&c, p) && !client_ended_by);
	if (client_ended_by)
		return 128 + client_ended_by;
	if (c.status < 0) {
		check();
		errno = ECONNRESET;
		fail("run");
	}
	return c.status;
}

static int usage(void)
{
	fputs("usage: machine MACHINE run COMMAND [ARG...]\n"
	      "       machine MACHINE freeze|thaw|kill\n"
	      "\n"
	      "Runs COMMAND in another machine, in its node, with this process's input,\n"
	      "output and exit status, which is 125 if the machine is gone. Or stops its\n"
	      "processors, lets them go on, or switches it off.\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {
		[WIRE_FREEZE] = "freeze", [WIRE_THAW] = "thaw",
		[WIRE_KILL] = "kill",
	};
	char *end;
	size_t i;

	if (argc < 3)
		return usage();
	machine = strtoul(argv[1], &end, 10);
	if (*end || machine < 1 || machine > UINT8_MAX)
		return usage();
	if (!strcmp(argv[2], "run"))
		return argc > 3 ? run(argv + 3) : usage();
	if (argc > 3)
		return usage();
	for (i = WIRE_FREEZE; i <= WIRE_KILL; i++) {
		if (strcmp(argv[2], names[i]))
			continue;
		errno = ask(i);
		if (errno)
			fail(argv[2]);
		return 0;
	}
	return usage();
}

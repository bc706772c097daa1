// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's end of a run: starts a program and carries its input, output
 * and exit status over the VM's serial port.
 *
 * The run is over when the program ends, whatever else it left running. The
 * other end confirms that the exit status arrived; only then is all output
 * out of the VM, and only then does this end return.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire.h"

/**
 * struct guest - the guest's end
 * @port: the serial port
 * @sig: signalfd for SIGCHLD
 * @pid: the program
 * @status: its exit status, -1 while it runs
 * @in: write end of its standard input, or the terminal; -1: closed
 * @out: read end of its standard output, or the terminal; -1: ended
 * @err: read end of its standard error; -1: ended, or a terminal
 * @tty: @in and @out are one terminal
 * @from: the frame being received
 * @from_full: @from is whole and waits to be written to @in
 * @from_off: bytes of it written
 * @to: the frame being sent
 * @to_full: @to is not sent yet
 * @exit_sent: the exit status is, or is about to be, on its way
 * @bye: the other end has it
 */
struct guest {
	int port;
	int sig;
	pid_t pid;
	int status;
	int in;
	int out;
	int err;
	bool tty;
	struct wire_frame from;
	bool from_full;
	size_t from_off;
	struct wire_frame to;
	bool to_full;
	bool exit_sent;
	bool bye;
};

static void fail(const char *what)
{
	fprintf(stderr, "vm guest: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void run_program(char **argv, const sigset_t *mask)
{
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void start_on_tty(struct guest *g, char **argv, const sigset_t *mask)
{
	g->pid = forkpty(&g->out, NULL, NULL, NULL);
	if (g->pid < 0)
		fail("forkpty");
	if (!g->pid)
		run_program(argv, mask);
	g->in = g->out;
	g->err = -1;
}

static void start_on_pipes(struct guest *g, char **argv, const sigset_t *mask)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC))
		fail("pipe");
	g->pid = fork();
	if (g->pid < 0)
		fail("fork");
	if (!g->pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		run_program(argv, mask);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	g->in = in[1];
	g->out = out[0];
	g->err = err[0];
	wire_nonblock(g->err);
}

static void close_in(struct guest *g)
{
	/* A terminal's input does not end; its user types an end of file. */
	if (g->in >= 0 && !g->tty)
		close(g->in);
	g->in = -1;
	if (g->from_full) {
		g->from_full = false;
		g->from.done = 0;
	}
}

static void set_size(struct guest *g)
{
	struct winsize ws = { 0 };
	struct wire_size size;

	if (!g->tty || g->from.len != sizeof(size))
		return;
	memcpy(&size, g->from.data, sizeof(size));
	ws.ws_row = size.rows;
	ws.ws_col = size.cols;
	ioctl(g->out, TIOCSWINSZ, &ws);
}

/* A whole frame has arrived. */
static void received(struct guest *g)
{
	if (g->from.type == WIRE_IN && g->from.len && g->in >= 0) {
		g->from_full = true;
		g->from_off = 0;
		return;
	}
	if (g->from.type == WIRE_IN && !g->from.len)
		close_in(g);
	else if (g->from.type == WIRE_SIZE)
		set_size(g);
	else if (g->from.type == WIRE_BYE)
		g->bye = true;
	g->from.done = 0;
}

static void read_port(struct guest *g)
{
	int ret = wire_read(g->port, &g->from);

	if (ret < 0)
		fail("the other end is gone");
	if (ret)
		received(g);
}

/* Passes received input on to the program. */
static void write_in(struct guest *g)
{
	ssize_t n = write(g->in, g->from.data + g->from_off,
			  g->from.len - g->from_off);

	if (n < 0) {
		/* It reads no more: what still comes for it is dropped. */
		if (errno != EAGAIN && errno != EINTR)
			close_in(g);
		return;
	}
	g->from_off += n;
	if (g->from_off == g->from.len) {
		g->from_full = false;
		g->from.done = 0;
	}
}

/* Takes output from the program. Returns false when there is none now. */
static bool read_output(struct guest *g, int *fd, enum wire_type type)
{
	ssize_t n;

	if (*fd < 0 || g->to_full)
		return false;
	n = read(*fd, g->to.data, sizeof(g->to.data));
	if (n > 0) {
		wire_set(&g->to, type, NULL, n);
		g->to_full = true;
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* A terminal says EIO when nobody has its other side open. */
	if (!g->tty)
		close(*fd);
	*fd = -1;
	return false;
}

static void write_port(struct guest *g)
{
	int ret = wire_write(g->port, &g->to);

	if (ret < 0)
		fail("the other end is gone");
	if (ret)
		g->to_full = false;
}

static void reap(struct guest *g)
{
	struct signalfd_siginfo info;
	int status;

	while (read(g->sig, &info, sizeof(info)) > 0)
		;
	if (waitpid(g->pid, &status, WNOHANG) != g->pid)
		return;
	g->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
					  WEXITSTATUS(status);
}

static void send_exit(struct guest *g)
{
	unsigned char status = g->status;

	wire_set(&g->to, WIRE_EXIT, &status, sizeof(status));
	g->to_full = true;
	g->exit_sent = true;
	/* What it left running may hold its input open and never read it. */
	close_in(g);
}

static void step(struct guest *g)
{
	struct pollfd p[] = {
		{ g->port, (g->from_full ? 0 : POLLIN) |
			   (g->to_full ? POLLOUT : 0), 0 },
		{ g->sig, POLLIN, 0 },
		{ g->from_full ? g->in : -1, POLLOUT, 0 },
		{ g->to_full ? -1 : g->out, POLLIN, 0 },
		{ g->to_full ? -1 : g->err, POLLIN, 0 },
	};
	bool ended = g->status >= 0 && !g->exit_sent && !g->to_full;
	bool more = false;

	if (poll(p, 5, ended ? 0 : -1) < 0) {
		if (errno != EINTR)
			fail("poll");
		return;
	}
	if (p[0].revents & POLLOUT)
		write_port(g);
	if (p[0].revents & (POLLIN | POLLHUP))
		if (!g->from_full)
			read_port(g);
	if (p[1].revents)
		reap(g);
	if (p[2].revents && g->from_full)
		write_in(g);
	if (p[3].revents)
		more = read_output(g, &g->out, WIRE_OUT);
	if (p[4].revents)
		more |= read_output(g, &g->err, WIRE_ERR);
	if (ended && !more && !g->to_full)
		send_exit(g);
}

/* The kernel learns a moment after boot that the host has its end open. */
static void wait_for_host(int port)
{
	struct pollfd p = { port, POLLOUT, 0 };
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		poll(&p, 1, 10);
		if (!(p.revents & POLLHUP) && (p.revents & POLLOUT))
			return;
		usleep(10000);
	}
	errno = ETIMEDOUT;
	fail("nobody listens");
}

int main(int argc, char **argv)
{
	static struct guest g = { .status = -1 };
	sigset_t chld, old;

	if (argc < 4) {
		fputs("usage: guest PORT tty|pipe PROGRAM [ARG...]\n", stderr);
		return 2;
	}
	g.tty = !strcmp(argv[2], "tty");
	g.port = open(argv[1], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (g.port < 0)
		fail(argv[1]);
	wait_for_host(g.port);

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);
	g.sig = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC);
	if (g.sig < 0)
		fail("signalfd");

	if (g.tty)
		start_on_tty(&g, argv + 3, &old);
	else
		start_on_pipes(&g, argv + 3, &old);
	wire_nonblock(g.in);
	wire_nonblock(g.out);

	wire_set(&g.to, WIRE_HELLO, NULL, 0);
	g.to_full = true;
	while (!g.bye)
		step(&g);
	return 0;
}

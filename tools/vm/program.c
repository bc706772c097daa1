// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"
#include "wire.h"

/**
 * struct program - a program that runs for the far end
 * @port: the way to the far end
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
 * @bye: the far end has it
 * @lost: there is no far end any more; errno says why
 */
struct program {
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
	bool lost;
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

static void start_on_tty(struct program *p, char **argv, const sigset_t *mask)
{
	p->pid = forkpty(&p->out, NULL, NULL, NULL);
	if (p->pid < 0)
		fail("forkpty");
	if (!p->pid)
		run_program(argv, mask);
	p->in = p->out;
	p->err = -1;
}

static void start_on_pipes(struct program *p, char **argv, const sigset_t *mask)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC))
		fail("pipe");
	p->pid = fork();
	if (p->pid < 0)
		fail("fork");
	if (!p->pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		run_program(argv, mask);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	p->in = in[1];
	p->out = out[0];
	p->err = err[0];
	wire_nonblock(p->err);
}

static void close_in(struct program *p)
{
	/* A terminal's input does not end; its user types an end of file. */
	if (p->in >= 0 && !p->tty)
		close(p->in);
	p->in = -1;
	if (p->from_full) {
		p->from_full = false;
		p->from.done = 0;
	}
}

static void set_size(struct program *p)
{
	struct winsize ws = { 0 };
	struct wire_size size;

	if (!p->tty || p->from.len != sizeof(size))
		return;
	memcpy(&size, p->from.data, sizeof(size));
	ws.ws_row = size.rows;
	ws.ws_col = size.cols;
	ioctl(p->out, TIOCSWINSZ, &ws);
}

/* A whole frame has arrived. */
static void received(struct program *p)
{
	if (p->from.type == WIRE_IN && p->from.len && p->in >= 0) {
		p->from_full = true;
		p->from_off = 0;
		return;
	}
	if (p->from.type == WIRE_IN && !p->from.len)
		close_in(p);
	else if (p->from.type == WIRE_SIZE)
		set_size(p);
	else if (p->from.type == WIRE_BYE)
		p->bye = true;
	p->from.done = 0;
}

static void read_port(struct program *p)
{
	int ret = wire_read(p->port, &p->from);

	if (ret < 0)
		p->lost = true;
	else if (ret)
		received(p);
}

/* Passes received input on to the program. */
static void write_in(struct program *p)
{
	ssize_t n = write(p->in, p->from.data + p->from_off,
			  p->from.len - p->from_off);

	if (n < 0) {
		/* It reads no more: what still comes for it is dropped. */
		if (errno != EAGAIN && errno != EINTR)
			close_in(p);
		return;
	}
	p->from_off += n;
	if (p->from_off == p->from.len) {
		p->from_full = false;
		p->from.done = 0;
	}
}

/* Takes output from the program. Returns false when there is none now. */
static bool read_output(struct program *p, int *fd, enum wire_type type)
{
	ssize_t n;

	if (*fd < 0 || p->to_full)
		return false;
	n = read(*fd, p->to.data, sizeof(p->to.data));
	if (n > 0) {
		wire_set(&p->to, type, NULL, n);
		p->to_full = true;
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* A terminal says EIO when no process has its other side open. */
	if (!p->tty)
		close(*fd);
	*fd = -1;
	return false;
}

static void write_port(struct program *p)
{
	int ret = wire_write(p->port, &p->to);

	if (ret < 0)
		p->lost = true;
	else if (ret)
		p->to_full = false;
}

static void reap(struct program *p)
{
	struct signalfd_siginfo info;
	int status;

	while (read(p->sig, &info, sizeof(info)) > 0)
		;
	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	p->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
					  WEXITSTATUS(status);
}

static void send_exit(struct program *p)
{
	unsigned char status = p->status;

	wire_set(&p->to, WIRE_EXIT, &status, sizeof(status));
	p->to_full = true;
	p->exit_sent = true;
	/* What it left running may hold its input open and never read it. */
	close_in(p);
}

static void step(struct program *p)
{
	struct pollfd fds[] = {
		{ p->port, (p->from_full ? 0 : POLLIN) |
			   (p->to_full ? POLLOUT : 0), 0 },
		{ p->sig, POLLIN, 0 },
		{ p->from_full ? p->in : -1, POLLOUT, 0 },
		{ p->to_full ? -1 : p->out, POLLIN, 0 },
		{ p->to_full ? -1 : p->err, POLLIN, 0 },
	};
	bool ended = p->status >= 0 && !p->exit_sent && !p->to_full;
	bool more = false;

	if (poll(fds, 5, ended ? 0 : -1) < 0) {
		if (errno != EINTR)
			fail("poll");
		return;
	}
	if (fds[0].revents & POLLOUT)
		write_port(p);
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) {
		if (!p->from_full)
			read_port(p);
		else
			p->lost = true;
	}
	if (fds[1].revents)
		reap(p);
	if (fds[2].revents && p->from_full)
		write_in(p);
	if (fds[3].revents)
		more = read_output(p, &p->out, WIRE_OUT);
	if (fds[4].revents)
		more |= read_output(p, &p->err, WIRE_ERR);
	if (ended && !more && !p->to_full)
		send_exit(p);
}

/*
 * Runs a program and carries its input, output and exit status over @port, which
 * must not block. Returns false when the far end went away before the exit
 * status was there: the program is told to end then.
 */
bool program_run(int port, bool tty, char **argv)
{
	static struct program p = { .status = -1 };
	sigset_t chld, old;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);
	p.sig = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC);
	if (p.sig < 0)
		fail("signalfd");

	p.port = port;
	p.tty = tty;
	if (tty)
		start_on_tty(&p, argv, &old);
	else
		start_on_pipes(&p, argv, &old);
	wire_nonblock(p.in);
	wire_nonblock(p.out);

	wire_set(&p.to, WIRE_HELLO, NULL, 0);
	p.to_full = true;
	while (!p.bye && !p.lost)
		step(&p);
	if (p.status >= 0)
		return true;
	kill(-p.pid, SIGTERM);
	return false;
}

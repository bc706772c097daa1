// SPDX-License-Identifier: GPL-2.0
/*
 * The host's end of a run: starts the emulator, and carries standard input,
 * output and the exit status between this process and the program in the VM.
 *
 * Whatever ends this process ends the emulator too. When the VM is gone, a
 * program is run in this one's place that reports how it went.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "wire.h"

/* Where the emulator finds its end of the serial port's socket. */
#define EMULATOR_FD	3

/**
 * struct host - the host's end
 * @sock: the VM's serial port
 * @stop_time: seconds that the VM may take to stop after the program's end
 * @tty: standard input is a terminal, passed through
 * @up: the VM has said that it is up; nothing is read for it before
 * @in_open: standard input has not ended
 * @size_due: the terminal's size is to be sent
 * @bye_due: the exit status has arrived and is to be confirmed
 * @status: the program's exit status, -1 while it runs
 * @from: the frame being received
 * @to: the frame being sent
 * @to_full: @to is not sent yet
 */
struct host {
	int sock;
	unsigned int stop_time;
	bool tty;
	bool up;
	bool in_open;
	bool size_due;
	bool bye_due;
	int status;
	struct wire_frame from;
	struct wire_frame to;
	bool to_full;
};

static volatile sig_atomic_t killed_by;
static volatile sig_atomic_t resized;
static pid_t emulator;
static struct termios saved_termios;
static bool raw;

static void fail(const char *what)
{
	fprintf(stderr, "vm host: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* SIGALRM is the time limit, the others come from outside. */
static void on_end(int sig)
{
	if (!killed_by)
		killed_by = sig;
	if (emulator > 0)
		kill(emulator, SIGKILL);
}

static void on_resize(int sig)
{
	(void)sig;
	resized = 1;
}

static void catch(int sig, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler };

	sigaction(sig, &sa, NULL);
}

static void limit_time(unsigned int seconds)
{
	struct itimerval it = { .it_value.tv_sec = seconds };

	setitimer(ITIMER_REAL, &it, NULL);
}

static void restore_terminal(void)
{
	if (raw)
		tcsetattr(0, TCSADRAIN, &saved_termios);
	raw = false;
}

static void take_terminal(void)
{
	struct termios t;

	if (tcgetattr(0, &saved_termios))
		return;
	t = saved_termios;
	cfmakeraw(&t);
	raw = true;
	atexit(restore_terminal);
	tcsetattr(0, TCSADRAIN, &t);
}

static void exec_emulator(int sock, pid_t parent, char **argv)
{
	int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(125);
	/* Away from the terminal: its signals are for this end to handle. */
	setpgid(0, 0);
	dup2(null, 0);
	dup2(2, 1);
	if (sock != EMULATOR_FD)
		dup2(sock, EMULATOR_FD);
	fcntl(EMULATOR_FD, F_SETFD, 0);
	execvp(argv[0], argv);
	fprintf(stderr, "vm host: %s: %s\n", argv[0], strerror(errno));
	_exit(125);
}

static void start_emulator(struct host *h, char **argv)
{
	pid_t self = getpid();
	sigset_t all, old;
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		fail("socketpair");
	/* No signal between the fork and the assignment of the pid. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	emulator = fork();
	if (emulator < 0)
		fail("fork");
	if (!emulator) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		exec_emulator(sv[1], self, argv);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(sv[1]);
	h->sock = sv[0];
	wire_nonblock(h->sock);
}

/* Standard output and error may block; the program in the VM then does too. */
static void write_all(int fd, const unsigned char *data, size_t len)
{
	ssize_t n;

	while (len && !killed_by) {
		n = write(fd, data, len);
		if (n >= 0) {
			data += n;
			len -= n;
		} else if (errno == EPIPE) {
			on_end(SIGPIPE);
		} else if (errno == EAGAIN) {
			poll(&(struct pollfd){ fd, POLLOUT, 0 }, 1, -1);
		} else if (errno != EINTR) {
			fprintf(stderr, "vm host: output: %s\n", strerror(errno));
			on_end(SIGPIPE);
		}
	}
}

static void received(struct host *h)
{
	switch (h->from.type) {
	case WIRE_HELLO:
		h->up = true;
		break;
	case WIRE_OUT:
		write_all(1, h->from.data, h->from.len);
		break;
	case WIRE_ERR:
		write_all(2, h->from.data, h->from.len);
		break;
	case WIRE_EXIT:
		if (h->from.len == 1) {
			h->status = h->from.data[0];
			h->bye_due = true;
			limit_time(h->stop_time);
		}
		break;
	}
	h->from.done = 0;
}

/* Chooses what to send next, if anything. */
static void prepare(struct host *h, bool in_ready)
{
	struct wire_size size;
	struct winsize ws;
	ssize_t n;

	if (h->bye_due) {
		h->bye_due = false;
		wire_set(&h->to, WIRE_BYE, NULL, 0);
	} else if (h->size_due) {
		h->size_due = false;
		if (ioctl(0, TIOCGWINSZ, &ws))
			return;
		size.rows = ws.ws_row;
		size.cols = ws.ws_col;
		wire_set(&h->to, WIRE_SIZE, &size, sizeof(size));
	} else if (in_ready) {
		n = read(0, h->to.data, sizeof(h->to.data));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		if (n <= 0)
			h->in_open = false;
		wire_set(&h->to, WIRE_IN, NULL, n > 0 ? n : 0);
	} else {
		return;
	}
	h->to_full = true;
}

/* Returns false when the VM has closed its end. */
static bool step(struct host *h)
{
	bool read_in = h->up && h->in_open && !h->to_full && h->status < 0;
	struct pollfd p[] = {
		{ h->sock, POLLIN | (h->to_full ? POLLOUT : 0), 0 },
		{ read_in ? 0 : -1, POLLIN, 0 },
	};
	int ret;

	if (resized) {
		resized = 0;
		h->size_due = h->tty;
	}
	if (poll(p, 2, !h->to_full && (h->size_due || h->bye_due) ? 0 : -1) < 0)
		return errno == EINTR;
	if (p[0].revents & POLLOUT) {
		ret = wire_write(h->sock, &h->to);
		if (ret)
			h->to_full = false;
	}
	if (p[0].revents & (POLLIN | POLLHUP)) {
		ret = wire_read(h->sock, &h->from);
		if (ret < 0)
			return false;
		if (ret)
			received(h);
	}
	if (!h->to_full)
		prepare(h, p[1].revents);
	return true;
}

/* In one word, for the report. */
static const char *outcome(const struct host *h, int status)
{
	switch (killed_by) {
	case 0:
		if (h->status >= 0)
			return "ended";
		if (WIFEXITED(status) && WEXITSTATUS(status))
			return "failed";
		return h->up ? "died" : "unborn";
	case SIGALRM:
		return h->status >= 0 ? "stuck" : "timeout";
	default:
		return "killed";
	}
}

static void usage(void)
{
	fputs("usage: host [--tty] [--timeout SECONDS] [--stop-time SECONDS]\n"
	      "            REPORT LOG EMULATOR [ARG...]\n"
	      "runs REPORT LOG OUTCOME STATUS at the end\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "tty", no_argument, NULL, 'i' },
		{ "timeout", required_argument, NULL, 't' },
		{ "stop-time", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	static struct host h = {
		.in_open = true,
		.status = -1,
		.stop_time = 60,
	};
	unsigned int seconds = 0;
	char status[16];
	int c, wstatus;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (c == 'i')
			h.tty = true;
		else if (c == 't')
			seconds = atoi(optarg);
		else if (c == 's')
			h.stop_time = atoi(optarg);
		else
			usage();
	}
	argv += optind;
	if (argc - optind < 3)
		usage();

	catch(SIGPIPE, SIG_IGN);
	catch(SIGALRM, on_end);
	catch(SIGHUP, on_end);
	catch(SIGINT, on_end);
	catch(SIGTERM, on_end);
	catch(SIGWINCH, on_resize);
	start_emulator(&h, argv + 2);
	limit_time(seconds);
	if (h.tty) {
		take_terminal();
		h.size_due = true;
	}

	while (!killed_by && step(&h))
		;
	if (killed_by)
		kill(emulator, SIGKILL);
	while (waitpid(emulator, &wstatus, 0) < 0 && errno == EINTR)
		;
	limit_time(0);
	restore_terminal();

	snprintf(status, sizeof(status), "%d",
		 killed_by ? 128 + killed_by : h.status);
	execl(argv[0], argv[0], argv[1], outcome(&h, wstatus), status, NULL);
	fail(argv[0]);
}

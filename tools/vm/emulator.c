// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator.h"
#include "wire.h"

/* Bytes that may wait for a machine, if the system lets them. */
#define CABLE_QUEUE	(1024 * 1024)

void emulator_fail(const char *what)
{
	fprintf(stderr, "vm host: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void make_pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		emulator_fail("socketpair");
}

/* An Ethernet cable: ends[0] is the hub's, ends[1] the emulator's. */
static void make_cable(int ends[2])
{
	int size = CABLE_QUEUE;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends))
		emulator_fail("socketpair");
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

/* Puts descriptors where the emulator finds them, wherever they are now. */
static void place(const int *fds, const int *places, int n)
{
	int high[8], i;

	for (i = 0; i < n; i++)
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 64);
	for (i = 0; i < n; i++)
		dup2(high[i], places[i]);
}

static void exec_emulator(const int *fds, pid_t parent, char **argv)
{
	static const int places[] = {
		EMULATOR_IO, EMULATOR_CONTROL, EMULATOR_MONITOR, EMULATOR_CABLE,
	};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(125);
	/* Away from the terminal: its signals are for the parent to handle. */
	setpgid(0, 0);
	dup2(null, 0);
	dup2(2, 1);
	place(fds, places, 4);
	execvp(argv[0], argv);
	fprintf(stderr, "vm host: %s: %s\n", argv[0], strerror(errno));
	_exit(125);
}

/* Starts an emulator that ends when this process does, however that ends. */
void emulator_start(struct emulator *e, char **argv)
{
	int io[2], control[2], monitor[2], cable[2];
	pid_t self = getpid();
	sigset_t all, old;

	make_pair(io);
	make_pair(control);
	make_pair(monitor);
	make_cable(cable);
	/* No signal between the fork and the assignment of the pid. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	e->pid = fork();
	if (e->pid < 0)
		emulator_fail("fork");
	if (!e->pid) {
		int fds[] = { io[1], control[1], monitor[1], cable[1] };

		sigprocmask(SIG_SETMASK, &old, NULL);
		exec_emulator(fds, self, argv);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(io[1]);
	close(control[1]);
	close(monitor[1]);
	close(cable[1]);
	e->io = io[0];
	e->control = control[0];
	e->monitor = monitor[0];
	e->cable = cable[0];
	wire_nonblock(e->io);
	wire_nonblock(e->control);
	dprintf(e->monitor, "{\"execute\":\"qmp_capabilities\"}\n");
}

/*
 * Has the emulator execute a command of QMP. Its answers and events are a line
 * each; ours has the command's name as its id.
 */
static int qmp(const struct emulator *e, const char *command)
{
	char line[1024], id[64];
	size_t len = 0;

	snprintf(id, sizeof(id), "\"id\": \"%s\"", command);
	dprintf(e->monitor, "{\"execute\":\"%s\",\"id\":\"%s\"}\n",
		command, command);
	while (read(e->monitor, line + len, 1) == 1) {
		if (line[len] != '\n') {
			/* What is longer is none of ours. */
			if (len < sizeof(line) - 2)
				len++;
			continue;
		}
		line[len] = '\0';
		len = 0;
		if (strstr(line, id))
			return strstr(line, "\"return\"") ? 0 : -EIO;
	}
	return -EHOSTDOWN;
}

/* Returns 0 or a negative errno. */
int emulator_freeze(struct emulator *e, bool freeze)
{
	int error;

	if (e->frozen == freeze)
		return 0;
	error = qmp(e, freeze ? "stop" : "cont");
	if (!error)
		e->frozen = freeze;
	return error;
}

/* Safe in a signal handler. */
void emulator_kill(const struct emulator *e)
{
	if (e->pid > 0)
		kill(e->pid, SIGKILL);
}

/* Waits until the emulator, which is about to end, has ended. */
void emulator_reap(struct emulator *e)
{
	if (e->pid <= 0)
		return;
	while (waitpid(e->pid, &e->wstatus, 0) < 0 && errno == EINTR)
		;
	e->pid = 0;
	close(e->io);
	close(e->control);
	close(e->monitor);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The host's end of a run: starts the emulators, and carries standard input,
 * output and the exit status between this process and the program in the first
 * machine. The other machines serve it: their sessions last until it has ended.
 *
 * Whatever ends this process ends the emulators too. When the machines are gone,
 * a program is run in this one's place that reports how it went.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "emulator.h"
#include "hub.h"
#include "wire.h"

/* A machine's descriptors to wait for: its session's, and its questions. */
#define MACHINE_FDS	(CLIENT_FDS + 1)

/**
 * struct machine - one of the machines
 * @log: its kernel's log
 * @argv: the emulator's arguments
 * @ask: the question being received
 * @session: its session; the first machine's has the command
 * @e: its emulator
 * @gone: its emulator has ended
 * @off: and this process has ended it
 * @early: its session ended before the command did
 */
struct machine {
	const char *log;
	char **argv;
	struct wire_frame ask;
	struct client session;
	struct emulator e;
	bool gone;
	bool off;
	bool early;
};

static struct machine machines[EMULATORS_MAX];
static int count;
static pid_t hub;

/* SIGALRM is the time limit, the others come from outside. */
static void on_end(int sig)
{
	int i;

	if (!client_ended_by)
		client_ended_by = sig;
	for (i = 0; i < count; i++)
		emulator_kill(&machines[i].e);
}

static void limit_time(unsigned int seconds)
{
	struct itimerval it = { .it_value.tv_sec = seconds };

	setitimer(ITIMER_REAL, &it, NULL);
}

static void switch_off(struct machine *m)
{
	if (m->gone)
		return;
	emulator_kill(&m->e);
	emulator_reap(&m->e);
	m->gone = true;
	m->off = true;
}

/* The machine has closed its session's port. */
static void ended(struct machine *m)
{
	int i;

	emulator_reap(&m->e);
	m->gone = true;
	/* Without the command, or before there can be one, none is needed. */
	if ((m == machines && m->session.status < 0) || !m->session.up)
		for (i = 0; i < count; i++)
			switch_off(&machines[i]);
}

/* Returns 0 or a negative errno. */
static int answer(const struct wire_ask *ask)
{
	struct machine *m;

	if (ask->machine < 1 || ask->machine > count)
		return -ENODEV;
	m = &machines[ask->machine - 1];
	if (m->gone || m->session.status >= 0)
		return -EHOSTDOWN;
	if (ask->what == WIRE_ALIVE)
		return 0;
	if (m == machines)
		return -EPERM;
	switch (ask->what) {
	case WIRE_FREEZE:
		return emulator_freeze(&m->e, true);
	case WIRE_THAW:
		return emulator_freeze(&m->e, false);
	case WIRE_KILL:
		switch_off(m);
		return 0;
	}
	return -EINVAL;
}

/* Takes a question from a machine, and answers it at once. */
static void asked(struct machine *m)
{
	struct wire_ask ask;
	int ret;

	ret = wire_read(m->e.control, &m->ask);
	if (!ret)
		return;
	if (ret > 0 && m->ask.type == WIRE_ASK && m->ask.len == sizeof(ask)) {
		memcpy(&ask, m->ask.data, sizeof(ask));
		ask.error = -answer(&ask);
		if (m->gone)
			return;
		wire_set(&m->ask, WIRE_ASK, &ask, sizeof(ask));
		ret = wire_write(m->e.control, &m->ask) == 1 ? 1 : -1;
	}
	m->ask.done = 0;
	/* A peer that talks nonsense, or does not listen, is not heard any more. */
	if (ret < 0)
		m->e.control = -1;
}

/* Once all machines are up, the command may have its input. */
static void begin(void)
{
	static bool begun;
	int i;

	for (i = 0; i < count; i++)
		if (!machines[i].session.up)
			return;
	if (!begun)
		machines[0].session.in = 0;
	begun = true;
}

/* Once the command has ended, the others may go. */
static void finish(unsigned int stop_time)
{
	static bool finished;
	int i;

	for (i = 1; i < count && !finished; i++)
		if (machines[i].session.status >= 0)
			machines[i].early = true;
	if (machines[0].session.status < 0 || finished)
		return;
	finished = true;
	limit_time(stop_time);
	for (i = 1; i < count; i++) {
		if (machines[i].gone)
			continue;
		emulator_freeze(&machines[i].e, false);
		machines[i].session.eof_due = true;
	}
}

/* Waits for something to happen, and deals with it. */
static void step(void)
{
	struct pollfd p[EMULATORS_MAX][MACHINE_FDS];
	struct machine *m;
	int i, j;

	for (i = 0; i < count; i++) {
		m = &machines[i];
		client_poll(&m->session, p[i]);
		p[i][CLIENT_FDS].fd = m->e.control;
		p[i][CLIENT_FDS].events = POLLIN;
		for (j = 0; m->gone && j < MACHINE_FDS; j++)
			p[i][j].fd = -1;
	}
	if (poll(p[0], count * MACHINE_FDS, -1) < 0)
		return;
	for (i = 0; i < count; i++) {
		m = &machines[i];
		if (!m->gone && !client_step(&m->session, p[i]))
			ended(m);
		if (!m->gone && p[i][CLIENT_FDS].revents)
			asked(m);
	}
}

static bool running(void)
{
	int i;

	for (i = 0; i < count; i++)
		if (!machines[i].gone)
			return true;
	return false;
}

/* In one word, for the report. */
static const char *outcome(const struct machine *m)
{
	if (client_ended_by && client_ended_by != SIGALRM)
		return "killed";
	if (!m->gone)
		return machines[0].session.status >= 0 ? "stuck" : "timeout";
	if (m->off)
		return "off";
	if (m->session.status >= 0)
		return m->early ? "died" : "ended";
	if (WIFEXITED(m->e.wstatus) && WEXITSTATUS(m->e.wstatus))
		return "failed";
	return m->session.up ? "died" : "unborn";
}

static void report(char *program)
{
	char *argv[2 * EMULATORS_MAX + 3], status[16];
	int i, n = 2;

	snprintf(status, sizeof(status), "%d", client_ended_by ?
		 128 + client_ended_by : machines[0].session.status);
	argv[0] = program;
	argv[1] = status;
	for (i = 0; i < count; i++) {
		argv[n++] = (char *)machines[i].log;
		argv[n++] = (char *)outcome(&machines[i]);
	}
	argv[n] = NULL;
	execv(program, argv);
	emulator_fail(program);
}

/* Whatever is left. */
static void stop(void)
{
	int i;

	for (i = 0; i < count; i++) {
		emulator_kill(&machines[i].e);
		emulator_reap(&machines[i].e);
	}
	if (hub > 0) {
		kill(hub, SIGKILL);
		waitpid(hub, NULL, 0);
	}
	limit_time(0);
	client_restore_terminal();
}

static void start(bool tty)
{
	int cables[EMULATORS_MAX] = { 0 }, i;

	for (i = 0; i < count; i++) {
		emulator_start(&machines[i].e, machines[i].argv);
		cables[i] = machines[i].e.cable;
		machines[i].session.sock = machines[i].e.io;
		machines[i].session.in = -1;
		machines[i].session.status = -1;
	}
	if (count > 1)
		hub = hub_start(cables, count);
	for (i = 0; i < count; i++)
		close(cables[i]);
	if (tty)
		client_take_terminal(&machines[0].session);
}

static void usage(void)
{
	fputs("usage: host [--tty] [--timeout SECONDS] [--stop-time SECONDS] REPORT\n"
	      "            -- LOG EMULATOR [ARG...] [-- LOG EMULATOR [ARG...]]...\n"
	      "runs REPORT STATUS LOG OUTCOME [LOG OUTCOME]... at the end\n", stderr);
	exit(2);
}

/* Finds the machines in the arguments. */
static void take_machines(char **argv)
{
	while (*argv) {
		if (strcmp(*argv, "--") || !argv[1] || !argv[2] ||
		    count == EMULATORS_MAX)
			usage();
		*argv = NULL;
		machines[count].log = argv[1];
		machines[count++].argv = argv + 2;
		argv += 2;
		while (*argv && strcmp(*argv, "--"))
			argv++;
	}
	if (!count)
		usage();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "tty", no_argument, NULL, 'i' },
		{ "timeout", required_argument, NULL, 't' },
		{ "stop-time", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct sigaction alarm = { .sa_handler = on_end };
	unsigned int seconds = 0, stop_time = 180;
	bool tty = false;
	int c;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (c == 'i')
			tty = true;
		else if (c == 't')
			seconds = atoi(optarg);
		else if (c == 's')
			stop_time = atoi(optarg);
		else
			usage();
	}
	if (optind == argc)
		usage();
	take_machines(argv + optind + 1);

	client_catch(on_end);
	sigaction(SIGALRM, &alarm, NULL);
	start(tty);
	limit_time(seconds);
	while (!client_ended_by && running()) {
		step();
		begin();
		finish(stop_time);
	}
	stop();
	report(argv[optind]);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The same work over any kind of stream socket, between two network namespaces of
 * one machine: what it costs is printed. See Documentation/bench.rst.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
	"usage: sockets tcp|unix|smc|direct|joined|joined-rdma|ulp|ulp-rings|ulp-alone\n"
	"               [beside COUNT [active COUNT]] WORK\n"
	"  pingpong SIZE ROUNDS               instructions, median and p99 of a round trip\n"
	"  stream SIZE BYTES CONNS one|both|lent|file  instructions for a KiB\n"
	"  connect COUNT                      instructions for a connection\n"
	"  idle COUNT                         bytes of memory for a connection\n"
	"  idle-moved COUNT                   the same, of one that was moved once\n"
	"With beside, so many connections lie idle next to that of a pingpong; with active, so many\n"
	"have a message on its way at the same time, and the cost is that of one.\n"
	"tcp is for a preload library, too; smc is family 43, the kernel's SMC; direct is family\n"
	"27. The others have the ULP \"sdp\",\n"
	"ulp-alone at the client only.\n"
	"The server is in node2, at 10.77.0.2.\n";

void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void __attribute__((noreturn)) wrong(void)
{
	fputs(usage, stderr);
	exit(2);
}

static void enter(const char *node)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", node);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

static size_t number(const char *arg)
{
	char *end;
	size_t n = strtoul(arg, &end, 10);

	if (!n || *end)
		wrong();
	return n;
}

static enum way way(const char *name)
{
	static const char *const names[] = { "one", "both", "lent", "file" };
	enum way i;

	for (i = WAY_ONE; i <= WAY_FILE; i++)
		if (!strcmp(name, names[i]))
			return i;
	wrong();
}

static void work(const struct side *side, int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[0], "pingpong"))
		work_pingpong(side, number(argv[1]), number(argv[2]));
	else if (argc == 5 && !strcmp(argv[0], "stream"))
		work_stream(side, number(argv[1]), number(argv[2]), number(argv[3]),
			    way(argv[4]));
	else if (argc == 2 && !strcmp(argv[0], "connect"))
		work_connect(side, number(argv[1]));
	else if (argc == 2 && !strcmp(argv[0], "idle"))
		work_idle(side, number(argv[1]), false);
	else if (argc == 2 && !strcmp(argv[0], "idle-moved"))
		work_idle(side, number(argv[1]), true);
	else
		wrong();
}

static void run(struct side *side, bool server, int control, int argc, char **argv)
{
	side->server = server;
	side->control = control;
	if (side->family != AF_UNIX)
		enter(server ? "node2" : "node1");
	if (server && !side->carrier)
		side->ulp = false;
	if (server)
		side_listen(side);
	side_sync(side);
	work(side, argc, argv);
	fflush(stdout);
	side_sync(side);
}

static void choose(struct side *side, const char *kind)
{
	side->family = AF_INET;
	if (!strcmp(kind, "unix"))
		side->family = AF_UNIX;
	else if (!strcmp(kind, "smc"))
		side->family = AF_SMC;
	else if (!strcmp(kind, "direct"))
		side->family = AF_INET_OFFLOAD;
	else if (!strcmp(kind, "joined"))
		side->carrier = "sdp-ib";
	else if (!strcmp(kind, "joined-rdma"))
		side->carrier = "sdp-rdma";
	else if (!strcmp(kind, "ulp") || !strcmp(kind, "ulp-rings"))
		side->carrier = "sdp-local";
	else if (strcmp(kind, "tcp") && strcmp(kind, "ulp-alone"))
		wrong();
	side->ulp = side->carrier || !strcmp(kind, "ulp-alone");
	side->fast = !strcmp(kind, "ulp-rings");
}

int main(int argc, char **argv)
{
	struct rlimit files = { 65536, 65536 };
	struct side side = { .address = "10.77.0.2", .active = 1 };
	int control[2], status;
	pid_t child;

	if (argc < 3)
		wrong();
	choose(&side, argv[1]);
	if (argc > 4 && !strcmp(argv[2], "beside")) {
		side.beside = number(argv[3]);
		argc -= 2;
		argv += 2;
	}
	if (argc > 4 && !strcmp(argv[2], "active")) {
		side.active = number(argv[3]);
		argc -= 2;
		argv += 2;
	}
	setrlimit(RLIMIT_NOFILE, &files);
	if (side.family == AF_SMC)
		smc_prepare();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control))
		die("socketpair");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		close(control[0]);
		run(&side, true, control[1], argc - 2, argv + 2);
		return 0;
	}
	close(control[1]);
	run(&side, false, control[0], argc - 2, argv + 2);
	if (waitpid(child, &status, 0) != child || status)
		die("the server failed");
	return 0;
}

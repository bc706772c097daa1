// SPDX-License-Identifier: GPL-2.0
/*
 * A program that is built for 32 and for 64 bits, each of which runs the other and
 * hands it a descriptor.  It knows nothing of SDP, and makes the calls that a file
 * which is no socket refuses.
 *
 *	cross listen PORT PROGRAM accept PROGRAM talk [PROGRAM talk]...
 *	cross connect ADDRESS PORT PROGRAM hear [PROGRAM hear]...
 *	cross run PROGRAM [ARGUMENT]...
 *
 * Each program that is named is executed by the one before it, with the descriptor
 * as its standard input.  One that is asked to talk sends a line, one that is asked
 * to hear receives one and prints it; the width is that of the one that does it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIDTH	((int)sizeof(void *) * 8)

#define must(cond)							\
do {									\
	if (!(cond)) {							\
		fprintf(stderr, "%d-bit: line %d: %s: %s\n", WIDTH,	\
			__LINE__, #cond, strerror(errno));		\
		exit(1);						\
	}								\
} while (0)

/* The rest of the arguments as a program, if there is any, and @fd for it. */
static int next(int fd, char **argv)
{
	must(fd >= 0);
	if (!*argv)
		return 0;
	must(fd == STDIN_FILENO || (dup2(fd, STDIN_FILENO) == STDIN_FILENO && !close(fd)));
	execv(*argv, argv);
	must(!"executed");
	return 1;
}

static struct sockaddr_in address(const char *host, const char *port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

	must(!host || inet_pton(AF_INET, host, &in.sin_addr) == 1);
	return in;
}

static int listen_at(const char *port)
{
	struct sockaddr_in in = address(NULL, port);
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	must(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	must(!bind(fd, (struct sockaddr *)&in, sizeof(in)));
	must(!listen(fd, 5));
	return fd;
}

static int connect_to(const char *host, const char *port)
{
	struct sockaddr_in in = address(host, port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(!connect(fd, (struct sockaddr *)&in, sizeof(in)));
	return fd;
}

/* What a descriptor that was handed over has to answer. */
static void look(int fd)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);
	int type = 0;

	must(!getpeername(fd, (struct sockaddr *)&in, &len));
	len = sizeof(type);
	must(!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM);
}

static void talk(int fd)
{
	char line[16];

	look(fd);
	must(sprintf(line, "from %d\n", WIDTH) == 8);
	must(send(fd, line, 8, MSG_NOSIGNAL) == 8);
}

static void hear(int fd)
{
	char line[8];

	look(fd);
	must(recv(fd, line, 8, MSG_WAITALL) == 8);
	printf("to %d %.8s", WIDTH, line);
	must(!fflush(stdout));
}

static int run(char **argv)
{
	int status = 0, pid = fork();

	must(pid >= 0);
	if (!pid)
		return next(STDIN_FILENO, argv);
	must(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "listen") && argc > 2)
		return next(listen_at(argv[2]), argv + 3);
	if (!strcmp(what, "accept"))
		return next(accept(STDIN_FILENO, NULL, NULL), argv + 2);
	if (!strcmp(what, "connect") && argc > 3)
		return next(connect_to(argv[2], argv[3]), argv + 4);
	if (!strcmp(what, "run"))
		return run(argv + 2);
	if (!strcmp(what, "talk"))
		talk(STDIN_FILENO);
	else if (!strcmp(what, "hear"))
		hear(STDIN_FILENO);
	else
		must(!"an argument");
	return next(STDIN_FILENO, argv + 2);
}

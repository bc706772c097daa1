// SPDX-License-Identifier: GPL-2.0
/*
 * listing N: whether N endpoints at least can be opened, one after the other, while a
 * process of another network namespace looks for its own among many.
 */
#include "end.h"

#include <stdlib.h>
#include <sys/wait.h>

#define MANY	200

static void list(int go)
{
	char line[512];
	FILE *f;

	must(unshare(CLONE_NEWNET) == 0);
	f = fopen("/proc/thread-self/net/sdp/endpoints", "re");
	must(f && write(go, "", 1) == 1);
	/* The line of names. */
	must(fgets(line, sizeof(line), f));
	must(!fgets(line, sizeof(line), f));
	exit(0);
}

int main(int argc, char **argv)
{
	int fd[MANY], go[2], i, n = 0, status;
	char c;
	pid_t child;

	must(argc == 2 && pipe(go) == 0);
	for (i = 0; i < MANY; i++)
		fd[i] = end_open(SDP, AF_INET);
	child = fork();
	must(child >= 0);
	if (!child)
		list(go[1]);
	must(read(go[0], &c, 1) == 1);
	while (waitpid(child, &status, WNOHANG) == 0) {
		int more = open(SDP_DEVICE_PATH, O_RDWR);

		must(more >= 0);
		close(more);
		n++;
	}
	for (i = 0; i < MANY; i++)
		close(fd[i]);
	printf("%d were opened\n", n);
	return status || n < atoi(argv[1]);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program, which is not the project's, between two marks: count.c counts as long as it runs.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mark.h"

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: bracket PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	MARK(MARK_BEGIN);
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("bracket");
		return 1;
	}
	MARK(MARK_END);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

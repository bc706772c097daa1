// SPDX-License-Identifier: GPL-2.0
/*
 * The Ethernet between machines: a process with a cable to each of them, a pair
 * of sockets that carries a frame as a datagram. No other process can get at it, and
 * no other run can meet it.
 *
 * The sender's emulator never waits for the receiver's: a frame that a machine
 * does not take is dropped, as it would be on a real cable. A driver whose
 * frames do not get away complains, and a frozen machine takes none.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emulator.h"
#include "hub.h"

/* No frame is larger. */
#define HUB_FRAME	(128 * 1024)

/*
 * The last byte of a machine's address is its number, counted from 1; an odd
 * first byte means everybody.
 */
static void forward(const int *cables, int n, int from)
{
	static unsigned char frame[HUB_FRAME];
	ssize_t len;
	int i;

	while ((len = recv(cables[from], frame, sizeof(frame), MSG_DONTWAIT)) > 6)
		for (i = 0; i < n; i++)
			if (i != from && (frame[0] & 1 || frame[5] == i + 1))
				send(cables[i], frame, len,
				     MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void run(const int *cables, int n)
{
	struct pollfd p[EMULATORS_MAX];
	int i;

	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){ cables[i], POLLIN, 0 };
	while (poll(p, n, -1) > 0)
		for (i = 0; i < n; i++)
			if (p[i].revents)
				forward(cables, n, i);
}

/* Starts the hub's process, which ends when this one does. */
pid_t hub_start(const int *cables, int n)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		emulator_fail("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Away from the terminal's signals: they are the parent's to handle. */
	setpgid(0, 0);
	if (getppid() == parent)
		run(cables, n);
	_exit(0);
}

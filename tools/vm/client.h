/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The near end of a program that runs elsewhere: its standard input comes from
 * this process, and its output goes to this one's.
 */
#ifndef _VM_CLIENT_H
#define _VM_CLIENT_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "wire.h"

/* Descriptors that a client waits for. */
#define CLIENT_FDS	2

/**
 * struct client - one program's near end
 * @sock: the way to the far end
 * @in: what to read for it once it is up; -1: nothing, or no more
 * @tty: @in is a terminal, passed through
 * @up: the far end has said that it is up
 * @eof_due: the end of its input is to be sent
 * @size_due: the terminal's size is to be sent
 * @bye_due: the exit status has arrived and is to be confirmed
 * @status: the program's exit status, -1 while it runs
 * @from: the frame being received
 * @to: the frame being sent
 * @to_full: @to is not sent yet
 */
struct client {
	int sock;
	int in;
	bool tty;
	bool up;
	bool eof_due;
	bool size_due;
	bool bye_due;
	int status;
	struct wire_frame from;
	struct wire_frame to;
	bool to_full;
};

/* The signal that is to end this process, once there is one: no handler of one
 * that returns may leave it 0. SIGPIPE if the output has no reader.
 */
extern volatile sig_atomic_t client_ended_by;

void client_catch(void (*on_end)(int sig));
void client_take_terminal(struct client *c);
void client_restore_terminal(void);
void client_poll(struct client *c, struct pollfd p[CLIENT_FDS]);
bool client_step(struct client *c, const struct pollfd p[CLIENT_FDS]);

#endif /* _VM_CLIENT_H */

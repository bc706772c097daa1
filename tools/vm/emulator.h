/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VM_EMULATOR_H
#define _VM_EMULATOR_H

#include <stdbool.h>
#include <sys/types.h>

#define EMULATORS_MAX	8

/* The descriptors that an emulator finds: tools/vm/run names them. */
enum emulator_fd {
	EMULATOR_IO = 3,
	EMULATOR_INITRD,
	EMULATOR_CONTROL,
	EMULATOR_MONITOR,
	EMULATOR_CABLE,
};

/**
 * struct emulator - a machine's process, seen from its parent
 * @pid: the process; 0: not started, or gone
 * @io: the serial port with the machine's session
 * @control: the serial port on which it asks for something
 * @cable: its Ethernet
 * @monitor: where the emulator takes commands (QMP)
 * @frozen: its processors are stopped
 * @wstatus: how it ended
 */
struct emulator {
	pid_t pid;
	int io;
	int control;
	int cable;
	int monitor;
	bool frozen;
	int wstatus;
};

void emulator_fail(const char *what);
void emulator_start(struct emulator *e, char **argv);
int emulator_freeze(struct emulator *e, bool freeze);
void emulator_kill(const struct emulator *e);
void emulator_reap(struct emulator *e);

#endif /* _VM_EMULATOR_H */

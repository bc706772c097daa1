/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two ends of a run say to each other over the VM's serial port, or
 * over the Ethernet between machines: frames of a header and up to WIRE_MAX
 * bytes.
 *
 * Each direction is a stream of its own, and an end holds at most one frame
 * that it could not pass on yet, so that nothing grows without bound and
 * neither direction can block the other.
 */
#ifndef _VM_WIRE_H
#define _VM_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_MAX	16384

/**
 * enum wire_type - what a frame carries
 * @WIRE_IN: to the guest: bytes for standard input; none: its end
 * @WIRE_SIZE: to the guest: struct wire_size, the terminal's size
 * @WIRE_BYE: to the guest: the exit status has arrived, and with it all output
 * @WIRE_HELLO: to the host: the VM is up
 * @WIRE_OUT: to the host: bytes from standard output
 * @WIRE_ERR: to the host: bytes from standard error
 * @WIRE_EXIT: to the host: one byte, the exit status
 * @WIRE_RUN: to a server, first of all: struct wire_run, what to run
 * @WIRE_ASK: between a machine and the host, on a port of its own: struct
 *	wire_ask, and the same with the answer
 */
enum wire_type {
	WIRE_IN,
	WIRE_SIZE,
	WIRE_BYE,
	WIRE_HELLO,
	WIRE_OUT,
	WIRE_ERR,
	WIRE_EXIT,
	WIRE_RUN,
	WIRE_ASK,
};

struct wire_size {
	uint16_t rows;
	uint16_t cols;
};

/**
 * struct wire_run - what to run
 * @tty: on a terminal, 0 or 1
 * @arguments: each with a zero byte at its end
 */
struct wire_run {
	unsigned char tty;
	char arguments[WIRE_MAX - 1];
};

/**
 * enum wire_what - what is asked of the host
 * @WIRE_ALIVE: nothing; is the machine there?
 * @WIRE_FREEZE: stop it
 * @WIRE_THAW: let it go on
 * @WIRE_KILL: switch it off
 */
enum wire_what {
	WIRE_ALIVE,
	WIRE_FREEZE,
	WIRE_THAW,
	WIRE_KILL,
};

/**
 * struct wire_ask - a question about a machine, or its answer
 * @cookie: the asker's; one that died before it was answered leaves the answer
 *	to the next
 * @machine: counted from 1
 * @what: enum wire_what
 * @error: of the answer: errno, EHOSTDOWN if the machine is gone
 */
struct wire_ask {
	uint32_t cookie;
	uint16_t machine;
	uint16_t what;
	uint32_t error;
};

/**
 * struct wire_frame - a frame, on its way in or out
 * @type: enum wire_type
 * @len: bytes of @data
 * @data: the bytes
 * @done: bytes of the frame, header included, that have been read or written
 */
struct wire_frame {
	uint32_t type;
	uint32_t len;
	unsigned char data[WIRE_MAX];
	size_t done;
};

int wire_read(int fd, struct wire_frame *f);
int wire_write(int fd, struct wire_frame *f);
void wire_set(struct wire_frame *f, enum wire_type type, const void *data,
	      size_t len);
int wire_nonblock(int fd);

#endif /* _VM_WIRE_H */

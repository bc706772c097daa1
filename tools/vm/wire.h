/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two ends of a run say to each other over the VM's serial port:
 * frames of a header and up to WIRE_MAX bytes.
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
 */
enum wire_type {
	WIRE_IN,
	WIRE_SIZE,
	WIRE_BYE,
	WIRE_HELLO,
	WIRE_OUT,
	WIRE_ERR,
	WIRE_EXIT,
};

struct wire_size {
	uint16_t rows;
	uint16_t cols;
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

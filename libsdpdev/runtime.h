/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The runtime of AddressSanitizer, for sdprun.
 */
#ifndef SDPDEV_RUNTIME_H
#define SDPDEV_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

/**
 * runtime_is - whether a library is the one that has to be first
 * @name: its name or path
 */
bool runtime_is(const char *name);

/**
 * runtime_needed - whether a program itself needs it, and by what name
 * @fd: the program, a dynamic 64-bit one
 * @name: the library's name
 * @size: room for it
 */
bool runtime_needed(int fd, char *name, size_t size);

#endif /* SDPDEV_RUNTIME_H */

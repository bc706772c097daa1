/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VM_PROGRAM_H
#define _VM_PROGRAM_H

#include <stdbool.h>

bool program_run(int port, bool tty, char **argv);

#endif /* _VM_PROGRAM_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_SOCK_ENDS_ROWS_H
#define SELFTESTS_SOCK_ENDS_ROWS_H

#include "../common/row.h"

extern const struct row close_rows[], queue_rows[], twin_rows[];

/*
 * A network namespace of its own, with a loopback device; unless the connection's place has
 * namespaces.  What has been counted before does not count.
 */
void fresh(void);
/* Nothing holds the module when all sockets are closed, but what holds it now. */
void nothing_yet(void);
void nothing_left(void);
/* Write @value to a file of /proc/sys. */
void sysctl(const char *name, const char *value);

#endif /* SELFTESTS_SOCK_ENDS_ROWS_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_SOCK_PRELOAD_ROWS_H
#define SELFTESTS_SOCK_PRELOAD_ROWS_H

#include "../common/conn.h"
#include "../common/row.h"

extern const struct row bytes_rows[], number_rows[], process_rows[];

/* Of the C library. */
ssize_t __read_chk(int fd, void *buf, size_t n, size_t size);
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t size, int flags,
		       struct sockaddr *addr, socklen_t *len);

/* Sockets that have rings in this process. */
int rings(void);
/* Wrong if there are not so many: the library is there, and TCP has none. */
void have_rings(int n);
/* Send to and fro until so many sockets have rings. */
void ring(struct conn *c, int n);
/* A connection with rings at both ends. */
struct conn conn_ringed(void);

/* What a program does that was executed with a socket: an exit status. */
int executed(int fd);

#endif /* SELFTESTS_SOCK_PRELOAD_ROWS_H */

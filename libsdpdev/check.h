/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sdprun --check: what would carry a connection, and why.
 */
#ifndef SDPDEV_CHECK_H
#define SDPDEV_CHECK_H

/* Exit statuses. */
#define CHECK_SDP	0
#define CHECK_TCP	1
#define CHECK_NEITHER	2

/* What sdp_socket() failed with, for people. */
const char *check_device_error(int error);

/* Explains it on standard output; @program may be NULL.  An exit status. */
int check(const char *host, const char *port, const char *program);

#endif /* SDPDEV_CHECK_H */

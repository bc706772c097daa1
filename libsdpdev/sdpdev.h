/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * libsdpdev: TCP sockets with the upper layer protocol "sdp".
 *
 * A program needs no library to use such a socket: see sdp_sock(7).  The library sends and
 * receives without system calls (sdp_fast_*), asks for the carrier of a connection (sdp_info), and
 * sets rules (sdp_set_rule).  Several threads may make all calls at once, except sdp_fast_close():
 * see libsdpdev(3).
 */
#ifndef SDPDEV_H
#define SDPDEV_H

#include <linux/sdp_ring.h>
#include <linux/sdp_sock.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this file; sdp_version() returns that of the library. */
#define SDPDEV_VERSION_MAJOR	2
#define SDPDEV_VERSION_MINOR	0
#define SDPDEV_VERSION		(SDPDEV_VERSION_MAJOR << 16 | SDPDEV_VERSION_MINOR)

unsigned int sdp_version(void);

/* Older stacks call it AF_INET_SDP: TCP with the ULP, or direct SDP; see sdp_sock(7). */
#define AF_INET_OFFLOAD		27

/* The rings of a socket; if it has none, the calls below make system calls. */
struct sdp_fast;

struct sdp_fast *sdp_fast_open(int fd, unsigned int flags);
ssize_t sdp_fast_send(struct sdp_fast *fast, const void *buf, size_t len, int flags);
ssize_t sdp_fast_recv(struct sdp_fast *fast, void *buf, size_t len, int flags);
unsigned int sdp_fast_state(struct sdp_fast *fast);
void sdp_fast_close(struct sdp_fast *fast);

/* @size is sizeof(*info): an older kernel fills in less of it, a newer one writes no more. */
int sdp_info(int fd, struct sdp_sock_info *info, size_t size);

int sdp_set_rule(const struct sdp_rule *rule);

#ifdef __cplusplus
}
#endif

#endif /* SDPDEV_H */

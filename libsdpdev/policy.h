/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * What the user asked of the preload library, by the environment.
 */
#ifndef SDPDEV_POLICY_H
#define SDPDEV_POLICY_H

#include <stdbool.h>
#include <sys/socket.h>

#include "internal.h"

/* Reads SDPDEV_MODE and SDPDEV_DEBUG; called once, by the constructor. */
__hidden void policy_read(void);

/* Whether a socket of that kind is to be an endpoint. */
__hidden bool policy_wants(int family, int type, int protocol);

/* SDP_CONNECT_* for a connection. */
__hidden unsigned int policy_connect_flags(void);

/* Whether a plain socket may stand in for an endpoint that cannot be made. */
__hidden bool policy_may_fall_back(void);

/*
 * Diagnostics, where SDPDEV_DEBUG asks for them: one line on the standard error
 * output that the program was started with.  errno is left alone.
 */
__hidden void say_no_endpoint(int error);
__hidden void say_connect(int fd, int ret);
__hidden void say_settled(int fd);
__hidden void say_accepted(int listener, int fd, unsigned int carrier);

#endif /* SDPDEV_POLICY_H */

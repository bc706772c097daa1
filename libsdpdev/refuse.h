/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * TCP sockets that a rule "use sdp" refuses.
 *
 * With such a rule the program has a TCP socket only where no endpoint could be made, where
 * it asked for one explicitly, or where the socket came from elsewhere.  Where it connects
 * or listens is known later than that.
 */
#ifndef SDPDEV_REFUSE_H
#define SDPDEV_REFUSE_H

#include <stdbool.h>
#include <sys/socket.h>

#include "internal.h"

/**
 * refuse - whether a TCP socket must not connect or listen
 * @fd: a descriptor, of anything
 * @direction: CONF_CONNECT or CONF_LISTEN
 * @addr: where to, or where
 * @len: length of @addr
 *
 * Return: true, with EACCES in errno and said once; or false, with errno as it was
 */
__hidden bool refuse(int fd, unsigned int direction, const struct sockaddr *addr,
		     socklen_t len);

/* The same of a listener, by where it is bound to. */
__hidden bool refuse_listener(int fd);

/* The same of what a message does: with MSG_FASTOPEN it connects. */
__hidden bool refuse_message(int fd, const struct msghdr *msg, int flags);

#endif /* SDPDEV_REFUSE_H */

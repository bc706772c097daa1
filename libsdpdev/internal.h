/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * What the files of the library share and no program sees.
 */
#ifndef SDPDEV_INTERNAL_H
#define SDPDEV_INTERNAL_H

#include <errno.h>
#include <stdbool.h>

#include "sdpdev.h"

#define __hidden __attribute__((visibility("hidden")))
#define __public __attribute__((visibility("default")))

/**
 * sdp_fail - give up with an error
 * @error: the errno value
 *
 * Return: -1, as every call does that fails
 */
static inline int sdp_fail(int error)
{
	errno = error;
	return -1;
}

/* ioctl() that is a cancellation point, as the blocking socket calls are. */
__hidden int sdp_ioctl_blocking(int fd, unsigned long request, void *arg);

/* sdp_listen() on some carriers only: SDP_LISTEN_*, of no effect on one that listens. */
__hidden int sdp_listen_carriers(int fd, int backlog, unsigned int flags);

/* sdp_accept() that also tells what kind of descriptor came of it. */
__hidden int sdp_accept_carrier(int fd, struct sockaddr *addr, socklen_t *addrlen,
				int flags, unsigned int *carrier);

/* Whether connect() is what MSG_FASTOPEN asks for first: EOPNOTSUPP where not. */
__hidden int sdp_check_fastopen(const struct msghdr *msg);

/*
 * Whether control messages with bytes to send are nothing, as TCP looks at them; else the
 * error, which is EOPNOTSUPP for those that do something.
 */
__hidden int sdp_check_control(const struct msghdr *msg);

/* Whether all of these bytes can be read, or written, without a signal. */
__hidden bool sdp_can_read(const void *p, size_t n);
__hidden bool sdp_can_write(void *p, size_t n);

/*
 * Gives an address out as the kernel does: cut short, the length told whole; EFAULT and
 * EINVAL as from the kernel.
 */
__hidden int sdp_put_addr(const struct __kernel_sockaddr_storage *from,
			  socklen_t from_len, struct sockaddr *addr,
			  socklen_t *addrlen);

/* Whether an address can be taken in: EINVAL and EFAULT as from the kernel. */
__hidden int sdp_check_addr(const struct sockaddr *addr, socklen_t addrlen);

/*
 * The native TCP socket as a descriptor of its own; closed by sdp_unnative(), in the same
 * thread.  Children do not keep it.
 */
__hidden int sdp_native(int fd);
__hidden void sdp_unnative(int native);

/* Puts the native socket in the endpoint's place: EBUSY where it cannot be. */
__hidden int sdp_replace(int fd);

/* getsockopt(TCP_INFO) where SDP carries the bytes, with or without success. */
__hidden int sdp_get_tcp_info(int native, const struct sdp_info *info, void *val,
			      socklen_t *len);

/* The runtime that sdprun puts first is for this program alone, not for those that it runs. */
__hidden void sdp_forget_runtime(void);

#endif /* SDPDEV_INTERNAL_H */

// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The calls of libsdpdev that have nothing to do with rings.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

/* SDPDEV_VERSION of the library that the program has found. */
__public unsigned int sdp_version(void)
{
	return SDPDEV_VERSION;
}

/* What the kernel does not know of the structure is zero. */
__public int sdp_info(int fd, struct sdp_sock_info *info, size_t size)
{
	socklen_t len = size;

	memset(info, 0, size);
	return getsockopt(fd, IPPROTO_SDP, SDP_SOCK_INFO, info, &len);
}

__public int sdp_set_rule(const struct sdp_rule *rule)
{
	int fd = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	int ret, error;

	if (fd < 0)
		return -1;
	ret = ioctl(fd, SDP_IOC_RULE, rule);
	error = errno;
	close(fd);
	errno = error;
	return ret;
}

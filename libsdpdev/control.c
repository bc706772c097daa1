// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Control messages, and what else of sendmsg(2) is for TCP alone.
 */
#define _GNU_SOURCE
#include <string.h>

#include "internal.h"

int sdp_check_fastopen(const struct msghdr *msg)
{
	const struct sockaddr *addr = msg->msg_name;

	if (addr && sdp_check_addr(addr, msg->msg_namelen))
		return -1;
	if (addr && msg->msg_namelen >= sizeof(addr->sa_family) &&
	    addr->sa_family == AF_UNSPEC)
		return sdp_fail(EOPNOTSUPP);
	return 0;
}

static int check_one(const struct cmsghdr *cmsg)
{
	/* What is not for the socket nobody looks at. */
	if (cmsg->cmsg_level != SOL_SOCKET)
		return 0;
	switch (cmsg->cmsg_type) {
	case SCM_RIGHTS:
	case SCM_CREDENTIALS:
		return 0;
	case SO_MARK:
	case SO_TIMESTAMPING:
		return sdp_fail(EOPNOTSUPP);
	default:
		return sdp_fail(EINVAL);
	}
}

int sdp_check_control(const struct msghdr *msg)
{
	const char *at = msg->msg_control;
	size_t left = msg->msg_controllen;
	struct cmsghdr cmsg;
	size_t step;

	if (!sdp_can_read(at, left))
		return sdp_fail(EFAULT);
	/* Of a 32-bit program the kernel does not take it for nothing. */
	if (sizeof(long) < sizeof(long long) && left && left < sizeof(cmsg))
		return sdp_fail(EINVAL);
	while (left >= sizeof(cmsg)) {
		memcpy(&cmsg, at, sizeof(cmsg));
		if (cmsg.cmsg_len < sizeof(cmsg) || cmsg.cmsg_len > left)
			return sdp_fail(EINVAL);
		if (check_one(&cmsg))
			return -1;
		step = CMSG_ALIGN(cmsg.cmsg_len);
		if (step >= left)
			break;
		at += step;
		left -= step;
	}
	return 0;
}

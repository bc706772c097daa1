// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Control messages, and what else of sendmsg(2) is for TCP alone.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

int sdp_check_fastopen(const struct msghdr *msg)
{
	const struct sockaddr *addr = msg->msg_name;

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

	if (left && !at)
		return sdp_fail(EFAULT);
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

static int wants_inq(int fd)
{
	int saved = errno, on = 0;
	socklen_t len = sizeof(on);

	if (sdp_getsockopt(fd, IPPROTO_TCP, TCP_INQ, &on, &len))
		on = 0;
	errno = saved;
	return on;
}

void sdp_put_control(int fd, struct msghdr *msg, size_t room)
{
	struct {
		struct cmsghdr head;
		int inq;
	} out = {
		.head.cmsg_len = CMSG_LEN(sizeof(int)),
		.head.cmsg_level = IPPROTO_TCP,
		.head.cmsg_type = TCP_CM_INQ,
	};
	struct sdp_info info;

	if (!wants_inq(fd) || ioctl(fd, FIONREAD, &out.inq))
		return;
	/* A last byte that is not there: that the next call finds the end. */
	if (!out.inq && !sdp_info(fd, &info) && (info.shutdown & 1))
		out.inq = 1;
	if (!msg->msg_control || room < sizeof(out.head)) {
		msg->msg_flags |= MSG_CTRUNC;
		return;
	}
	if (room < CMSG_LEN(sizeof(int))) {
		msg->msg_flags |= MSG_CTRUNC;
		out.head.cmsg_len = room;
	}
	memcpy(msg->msg_control, &out, out.head.cmsg_len);
	msg->msg_controllen = room < CMSG_SPACE(sizeof(int)) ? room : CMSG_SPACE(sizeof(int));
}

/* SPDX-License-Identifier: GPL-2.0 */
/* Descriptors that go from one process to another. */
#ifndef SELFTESTS_ORACLE_PASS_H
#define SELFTESTS_ORACLE_PASS_H

#include "oracle.h"

static inline void hand_over(int over, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = "", .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control.room) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	must(sendmsg(over, &msg, 0) == 1);
}

/* @flags: recvmsg's */
static inline int taken_over(int over, int flags)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control;
	char c;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control) };
	int fd;

	must(recvmsg(over, &msg, flags) == 1 && CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

#endif /* SELFTESTS_ORACLE_PASS_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring: the ioctls as commands of IORING_OP_URING_CMD.
 *
 * Each is tried without waiting, in the submitter's context, and where that does
 * not do again in a worker of io_uring's, which may wait and is interrupted where
 * the entry is cancelled.  Completing them from the wake-up instead would leave
 * nobody to end them on 6.1, where a command that the file keeps cannot be
 * cancelled and a process that is killed waits for it.
 */
#include <linux/compat.h>
#include <linux/sched/signal.h>

#include "front/dev/dev.h"

/* In 32-bit user space's struct iovec a worker would read 64-bit ones. */
static bool sdp_uring_foreign(unsigned int op, unsigned int issue_flags)
{
	if (op != SDP_IOC_SEND && op != SDP_IOC_RECV)
		return false;
	return (issue_flags & IO_URING_F_COMPAT) || in_compat_syscall();
}

static long sdp_uring_run(struct io_uring_cmd *cmd, bool nonblock,
			  unsigned int issue_flags)
{
	/* It may lie in memory that user space writes to at any time. */
	const struct sdp_uring *data = io_uring_cmd_data(cmd);
	u64 arg = READ_ONCE(data->arg);
	long ret;

	if (READ_ONCE(data->reserved) || (cmd->flags & IORING_URING_CMD_FIXED))
		return -EINVAL;
	if (sdp_uring_foreign(cmd->cmd_op, issue_flags))
		return -EOPNOTSUPP;
	ret = sdp_command(cmd->file, cmd->cmd_op, u64_to_user_ptr(arg), nonblock, true);
	/* Nobody makes the call again. */
	return ret == -ERESTARTSYS ? -EINTR : ret;
}

/**
 * sdp_uring_cmd() - a command of io_uring
 * @cmd: the command
 * @issue_flags: IO_URING_F_*
 *
 * Return: -EAGAIN where it has to be issued again with leave to wait, otherwise
 * -EIOCBQUEUED, and it is complete: older kernels take a positive value for a
 * failure.
 */
int sdp_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	bool nonblock = issue_flags & IO_URING_F_NONBLOCK;
	long ret = sdp_uring_run(cmd, nonblock, issue_flags);

	if (ret == -EAGAIN && nonblock)
		return -EAGAIN;
	io_uring_cmd_done(cmd, ret, 0, issue_flags);
	return -EIOCBQUEUED;
}

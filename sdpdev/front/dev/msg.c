// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_IOC_SEND and SDP_IOC_RECV: sendmsg(2) and recvmsg(2) of an endpoint.
 *
 * Each message comes here, so each instruction counts.  A structure of today's size is
 * read by members, and a single piece of memory is described without a struct iovec in the
 * kernel: the functions that take any size or number cost more than the rest of the call.
 * There is no large variable either, as many kernels clear the stack.
 */
#include <linux/compat.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "front/dev/dev.h"

#define SDP_MSG_SEND_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | MSG_EOR | MSG_OOB | \
				 MSG_WAITALL | MSG_ZEROCOPY)
#define SDP_MSG_RECV_FLAGS	(MSG_DONTWAIT | MSG_PEEK | MSG_WAITALL | MSG_TRUNC | MSG_OOB | \
				 MSG_ERRQUEUE)

/* Sends what @iter has or, with @m, receives what it has room for. */
static ssize_t sdp_msg_move(struct sdp_ep *ep, struct iov_iter *iter, unsigned int flags,
			    struct msghdr *m)
{
	long timeo = flags & MSG_DONTWAIT ? 0 : sdp_timeo(ep, !m);

	return m ? sdp_io_recv(ep, iter, flags, timeo, m) :
		   sdp_io_send(ep, iter, flags, timeo);
}

/* Bytes in several pieces, or pieces as a 32-bit program describes them. */
static ssize_t sdp_msg_pieces(struct sdp_ep *ep, const struct sdp_msg *msg, unsigned int flags,
			      struct msghdr *m)
{
	struct iovec fast[UIO_FASTIOV], *iov = fast;
	struct iov_iter iter;
	ssize_t ret;

	ret = import_iovec(m ? ITER_DEST : ITER_SOURCE, u64_to_user_ptr(msg->iov),
			   msg->iov_len, ARRAY_SIZE(fast), &iov, &iter);
	if (ret < 0)
		return ret;
	ret = sdp_msg_move(ep, &iter, flags, m);
	kfree(iov);
	return ret;
}

/* Bytes in one piece, as nearly all are. */
static ssize_t sdp_msg_piece(struct sdp_ep *ep, const struct sdp_msg *msg, unsigned int flags,
			     struct msghdr *m)
{
	const struct iovec __user *user = u64_to_user_ptr(msg->iov);
	struct iov_iter iter;
	void __user *base;
	size_t len;

	if (!user_read_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_get_user(base, &user->iov_base, fault);
	unsafe_get_user(len, &user->iov_len, fault);
	user_read_access_end();
	if ((ssize_t)len < 0)
		return -EINVAL;
	if (!access_ok(base, len))
		return -EFAULT;
	iov_iter_ubuf(&iter, m ? ITER_DEST : ITER_SOURCE, base, min(len, MAX_RW_COUNT));
	return sdp_msg_move(ep, &iter, flags, m);
fault:
	user_read_access_end();
	return -EFAULT;
}

static ssize_t sdp_msg_run(struct sdp_ep *ep, const struct sdp_msg *msg, unsigned int flags,
			   struct msghdr *m)
{
	if (msg->iov_len == 1 && !in_compat_syscall())
		return sdp_msg_piece(ep, msg, flags, m);
	if (msg->iov_len > UIO_MAXIOV)
		return -EMSGSIZE;
	return sdp_msg_pieces(ep, msg, flags, m);
}

static ssize_t sdp_msg_send(struct sdp_ep *ep, struct sdp_msg *msg, unsigned int more)
{
	if (msg->control || msg->control_len || msg->reserved)
		return -EINVAL;
	if (msg->flags & ~SDP_MSG_SEND_FLAGS)
		return -EOPNOTSUPP;
	msg->out_flags = 0;
	return sdp_msg_run(ep, msg, msg->flags | more, NULL);
}

static ssize_t sdp_msg_recv(struct sdp_ep *ep, struct sdp_msg *msg, unsigned int more)
{
	struct msghdr m = {
		.msg_control_user = u64_to_user_ptr(msg->control),
		.msg_control_is_user = true,
		.msg_controllen = msg->control_len,
		/* Nobody but a 32-bit program has control messages of its own kind. */
		.msg_flags = in_compat_syscall() ? MSG_CMSG_COMPAT : 0,
	};
	ssize_t ret;

	if (msg->reserved)
		return -EINVAL;
	if (msg->flags & ~SDP_MSG_RECV_FLAGS)
		return -EOPNOTSUPP;
	ret = sdp_msg_run(ep, msg, msg->flags | more, &m);
	msg->out_flags = m.msg_flags & ~MSG_CMSG_COMPAT;
	/* It has moved on by what was written. */
	msg->control_len = (unsigned long)m.msg_control_user - (unsigned long)msg->control;
	return ret;
}

static long sdp_msg_get(struct sdp_msg *msg, struct sdp_msg __user *user)
{
	if (!user_read_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_get_user(msg->size, &user->size, other);
	if (msg->size != sizeof(*msg))
		goto other;
	unsafe_get_user(msg->flags, &user->flags, other);
	unsafe_get_user(msg->iov, &user->iov, other);
	unsafe_get_user(msg->iov_len, &user->iov_len, other);
	unsafe_get_user(msg->out_flags, &user->out_flags, other);
	unsafe_get_user(msg->control, &user->control, other);
	unsafe_get_user(msg->control_len, &user->control_len, other);
	unsafe_get_user(msg->reserved, &user->reserved, other);
	user_read_access_end();
	return 0;
other:
	user_read_access_end();
	return sdp_arg_get(msg, offsetofend(struct sdp_msg, out_flags), sizeof(*msg), user);
}

/* The first version of the structure has no @control_len. */
static long sdp_msg_put(const struct sdp_msg *msg, struct sdp_msg __user *user)
{
	if (put_user(msg->out_flags, &user->out_flags))
		return -EFAULT;
	if (msg->size < offsetofend(struct sdp_msg, control_len))
		return 0;
	return put_user(msg->control_len, &user->control_len);
}

/**
 * sdp_msg_command() - SDP_IOC_SEND or SDP_IOC_RECV
 * @ep: the endpoint
 * @send: which of them
 * @user: the structure
 * @nonblock: do not wait, whatever the file says
 * @uring: it comes from io_uring
 *
 * Return: bytes, or a negative errno, as sdp_command() returns it.
 */
long sdp_msg_command(struct sdp_ep *ep, bool send, struct sdp_msg __user *user,
		     bool nonblock, bool uring)
{
	unsigned int more = (nonblock ? MSG_DONTWAIT : 0) | (uring ? MSG_NOSIGNAL : 0);
	struct sdp_msg msg;
	long ret;

	ret = sdp_msg_get(&msg, user);
	if (ret)
		return ret;
	if (!sdp_ep_ready(ep))
		return -ENOTCONN;
	/* A part would be done and not be told: so not without waiting. */
	if (uring && nonblock && (msg.flags & MSG_WAITALL) && !(msg.flags & MSG_DONTWAIT))
		return -EAGAIN;
	ret = send ? sdp_msg_send(ep, &msg, more) : sdp_msg_recv(ep, &msg, more);
	if (ret >= 0 && sdp_msg_put(&msg, user))
		return -EFAULT;
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A connection that TCP carries for good needs no endpoint: its native socket can
 * have the descriptor instead, and then costs what any socket costs.
 *
 * That is done where nobody notices: the descriptor is all that there is of the
 * endpoint's file.  Who has got hold of it in another way - dup(2), fork(2), a
 * message, a call of another thread - shares what the file is to others, such as its
 * flags, and would not any more.
 */
#include <linux/fdtable.h>
#include <linux/nospec.h>
#include <net/inet_sock.h>
#include <net/tcp_states.h>

#include "sdpdev.h"

/* What fcntl(2) sets of a file, and goes with it. */
#define SDP_FILE_FLAGS	(O_NONBLOCK | O_APPEND | O_NOATIME)

/*
 * The references to the file of an ioctl(2) where a descriptor is all that there is:
 * the call has one of its own where others may close the descriptor meanwhile.  A
 * thread that has ended since is one too few, and the endpoint stays.
 */
static long sdp_replace_refs(void)
{
	return atomic_read(&current->files->count) > 1 ? 2 : 1;
}

/* Has the file an owner, who gets signals? */
static bool sdp_replace_owned(struct file *file)
{
	const struct fown_struct *owner = file_f_owner(file);

	return owner && (READ_ONCE(owner->pid) || READ_ONCE(owner->signum));
}

static bool sdp_replace_watched(const struct file *file)
{
#ifdef CONFIG_EPOLL
	return READ_ONCE(file->f_ep);
#else
	return false;
#endif
}

/* Is there nothing that would go with the endpoint's file? */
static bool sdp_replace_may(struct file *file)
{
	struct sdp_ep *ep = file->private_data;

	if (file_count(file) > sdp_replace_refs())
		return false;
	/* What somebody has done to it who had a reference, and has none now. */
	smp_mb();
	return !sdp_replace_watched(file) && !sdp_replace_owned(file) &&
	       !READ_ONCE(ep->fasync) && !sdp_native_shared(ep) &&
	       !locks_inode_context(file_inode(ep->native));
}

static void sdp_replace_flags(struct file *file, unsigned int flags)
{
	spin_lock(&file->f_lock);
	file->f_flags = (file->f_flags & ~SDP_FILE_FLAGS) | (flags & SDP_FILE_FLAGS);
	spin_unlock(&file->f_lock);
}

/*
 * Gives the descriptor to the native socket.  Who looks it up at the same time either
 * finds that, or looks again because it has changed, or has been counted: then the
 * endpoint gets it back.  Whatever anybody did in between was done to the same
 * connection.
 */
static int sdp_replace_fd(struct file *file, unsigned int fd)
{
	struct sdp_ep *ep = file->private_data;
	struct files_struct *files = current->files;
	struct file __rcu **slot;
	struct fdtable *fdt;
	int err = 0;

	spin_lock(&files->file_lock);
	if (files_lookup_fd_locked(files, fd) != file) {
		spin_unlock(&files->file_lock);
		return -EBADF;
	}
	fdt = files_fdtable(files);
	slot = &fdt->fd[array_index_nospec(fd, fdt->max_fds)];
	if (sdp_replace_may(file)) {
		sdp_replace_flags(ep->native, file->f_flags);
		rcu_assign_pointer(*slot, ep->native);
		/* Pairs with the look at the descriptor after the reference is taken. */
		smp_mb();
		if (sdp_replace_may(file))
			get_file(ep->native);
		else
			err = -EBUSY;
	} else {
		err = -EBUSY;
	}
	if (err)
		rcu_assign_pointer(*slot, file);
	spin_unlock(&files->file_lock);
	return err;
}

/* Does TCP carry it, or is about to, and nothing else depends on the endpoint? */
static int sdp_replace_check(struct sdp_ep *ep)
{
	int err = 0;

	spin_lock_bh(&ep->lock);
	if (ep->carrier == SDP_CARRIER_SDP)
		err = -EOPNOTSUPP;
	else if (ep->carrier != SDP_CARRIER_TCP ||
		 (1 << inet_sk_state_load(sdp_native_sk(ep)) & (TCPF_CLOSE | TCPF_LISTEN)))
		err = -ENOTCONN;
	else if (ep->err || ep->conn || ep->port || ep->port_lent)
		err = -EBUSY;
	spin_unlock_bh(&ep->lock);
	return err;
}

/**
 * sdp_replace() - put the native socket in an endpoint's place
 * @file: the endpoint's file
 * @fd: its descriptor in this process
 *
 * After success the endpoint ends when the ioctl(2) has returned, and the connection
 * goes on.
 *
 * Return: zero or a negative errno.
 */
int sdp_replace(struct file *file, unsigned int fd)
{
	struct sdp_ep *ep = file->private_data;
	int err;

	if (mutex_lock_interruptible(&ep->op_mutex))
		return -ERESTARTSYS;
	err = sdp_replace_check(ep);
	if (!err)
		err = sdp_replace_fd(file, fd);
	mutex_unlock(&ep->op_mutex);
	/*
	 * The descriptor's reference.  If it is the last one, fput() leaves the rest to
	 * the way back to user space, so the file is there until the call is over.
	 */
	if (!err)
		filp_close(file, current->files);
	return err;
}

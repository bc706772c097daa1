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

#include "front/dev/dev.h"

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

/*
 * Takes all of the file's references away, if they are @refs: who looks up a descriptor
 * then takes the file for one that is being closed, and looks again until that is over.
 * epoll would not look again, and is told under f_lock that there is a file.
 */
static bool sdp_replace_freeze(struct file *file, long refs)
	__must_hold(&file->f_lock)
{
	/*
	 * A full barrier where it succeeds: pairs with the one in the fput() of whoever
	 * had a reference before.
	 */
	return !sdp_replace_watched(file) &&
	       atomic_long_cmpxchg(&file->f_count, refs, 0) == refs;
}

static void sdp_replace_thaw(struct file *file, long refs)
{
	/*
	 * The new file is in the table first: pairs with the acquire of whoever looks up
	 * the descriptor, takes a reference of this file, and compares the table again.
	 */
	atomic_long_set_release(&file->f_count, refs);
}

/*
 * Is there nothing that would go with the frozen file?  What somebody has done to it who
 * had a reference is seen here, since freezing orders memory.  Connections on the port
 * that it once listened on have references to the native socket.
 */
static bool sdp_replace_may(struct file *file)
{
	struct sdp_ep *ep = file->private_data;

	return !sdp_replace_owned(file) && !READ_ONCE(ep->fasync) &&
	       !sdp_native_shared(ep) && !locks_inode_context(file_inode(ep->tcp->file));
}

/* Gives a frozen file's descriptor to the native socket, which nobody else has. */
static int sdp_replace_slot(struct file *file, struct file __rcu **slot)
{
	struct sdp_ep *ep = file->private_data;
	struct file *native = ep->tcp->file;

	if (!sdp_replace_may(file))
		return -EBUSY;
	native->f_flags = (native->f_flags & ~SDP_FILE_FLAGS) |
			  (file->f_flags & SDP_FILE_FLAGS);
	rcu_assign_pointer(*slot, get_file(native));
	return 0;
}

/*
 * Who looks up the descriptor at the same time has either been counted, and nothing
 * happens, or waits while the file is frozen, and finds the native socket.  What waits
 * spins, so this must not be preempted by it.
 */
static int sdp_replace_swap(struct file *file, struct file __rcu **slot)
{
	long refs = sdp_replace_refs();
	int err = -EBUSY;

	spin_lock(&file->f_lock);
	preempt_disable();
	if (sdp_replace_freeze(file, refs)) {
		err = sdp_replace_slot(file, slot);
		sdp_replace_thaw(file, refs);
	}
	preempt_enable();
	spin_unlock(&file->f_lock);
	return err;
}

static int sdp_replace_fd(struct file *file, unsigned int fd)
{
	struct files_struct *files = current->files;
	struct fdtable *fdt;
	int err = -EBADF;

	spin_lock(&files->file_lock);
	fdt = files_fdtable(files);
	if (files_lookup_fd_locked(files, fd) == file)
		err = sdp_replace_swap(file, &fdt->fd[array_index_nospec(fd, fdt->max_fds)]);
	spin_unlock(&files->file_lock);
	return err;
}

/* Does TCP carry it, or is about to, and nothing else depends on the endpoint? */
static int sdp_replace_check(struct sdp_ep *ep)
{
	int err = 0;

	sdp_ep_lock(ep);
	if (ep->carrier == SDP_CARRIER_SDP)
		err = -EOPNOTSUPP;
	else if (ep->carrier != SDP_CARRIER_TCP ||
		 (1 << inet_sk_state_load(sdp_native_sk(ep)) & (TCPF_CLOSE | TCPF_LISTEN)))
		err = -ENOTCONN;
	else if (ep->err || ep->conn || (ep->listen && ep->listen->port))
		err = -EBUSY;
	sdp_ep_unlock(ep);
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

	if (mutex_lock_killable(&ep->op_mutex))
		return -ERESTARTSYS;
	err = sdp_replace_check(ep);
	if (!err)
		err = sdp_replace_fd(file, fd);
	/* What the socket does from now on is its own affair. */
	if (!err && ep->listen)
		WRITE_ONCE(ep->listen->lent, false);
	mutex_unlock(&ep->op_mutex);
	/*
	 * The descriptor's reference.  If it is the last one, fput() leaves the rest to
	 * the way back to user space, so the file is there until the call is over.
	 */
	if (!err)
		filp_close(file, current->files);
	return err;
}

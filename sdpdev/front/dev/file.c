// SPDX-License-Identifier: GPL-2.0
/*
 * The file operations of /dev/sdp: an open file is an endpoint.
 */
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/splice.h>

#include "front/dev/dev.h"

static int sdp_open(struct inode *inode, struct file *file)
{
	struct sdp_ep *ep = sdp_handed_over() ? : sdp_ep_create(&sdp_ep_ops, NULL);

	if (!ep)
		return -ENOMEM;
	file->private_data = ep;
	/* Offsets it has none, and F_GETFL of a socket does not show it. */
	file->f_flags &= ~O_LARGEFILE;
	sdp_ep_lock(ep);
	ep->file = file;
	sdp_ep_unlock(ep);
	/* As for a socket: io_uring may try without waiting. */
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

/*
 * Somebody closes a descriptor, by whatever call: with it go what locks it has, and
 * who remembers the descriptor's number is told.
 */
static int sdp_flush(struct file *file, fl_owner_t id)
{
	sdp_io_closing(file->private_data);
	sdp_unlock(file, id);
	return 0;
}

static int sdp_release(struct inode *inode, struct file *file)
{
	sdp_unlock(file, file);
	sdp_close(file->private_data);
	return 0;
}

/* The MSG_* flags of a call, and how long it may wait. */
static int sdp_call_flags(struct kiocb *iocb, struct sdp_ep *ep, bool write, long *timeo)
{
	int flags = 0;

	if ((iocb->ki_flags & IOCB_NOWAIT) ||
	    (iocb->ki_filp->f_flags & O_NONBLOCK))
		flags = MSG_DONTWAIT;
	*timeo = flags ? 0 : sdp_timeo(ep, write);
	return flags;
}

static ssize_t sdp_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct sdp_ep *ep = iocb->ki_filp->private_data;
	struct msghdr msg = {};
	long timeo;
	int flags;

	if (!iov_iter_count(to))
		return 0;
	if (!sdp_ep_ready(ep))
		return -ENOTCONN;
	flags = sdp_call_flags(iocb, ep, false, &timeo);
	return sdp_io_recv(ep, to, flags, timeo, &msg);
}

static ssize_t sdp_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct sdp_ep *ep = iocb->ki_filp->private_data;
	long timeo;
	int flags;

	if (!sdp_ep_ready(ep))
		return -ENOTCONN;
	flags = sdp_call_flags(iocb, ep, true, &timeo);
	return sdp_io_send(ep, from, flags, timeo);
}

static __poll_t sdp_poll(struct file *file, poll_table *pt)
{
	struct sdp_ep *ep = file->private_data;

	poll_wait(file, &ep->wait, pt);
	/*
	 * The place in the queue before the look at the state.  Pairs with the barrier
	 * of wq_has_sleeper() in sdp_ep_tell(): what happened comes before the look at
	 * the queue.
	 */
	smp_mb();
	if (!sdp_ep_ready(ep))
		return EPOLLERR | EPOLLHUP;
	return sdp_ep_poll(ep);
}

static int sdp_mmap(struct file *file, struct vm_area_struct *vma)
{
	return sdp_io_mmap(file->private_data, vma);
}

static int sdp_fasync(int fd, struct file *file, int on)
{
	struct sdp_ep *ep = file->private_data;

	return fasync_helper(fd, file, on, &ep->fasync);
}

static void sdp_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct sdp_ep *ep = file->private_data;
	struct sdp_info info = {};

	if (!sdp_ep_ready(ep))
		return;
	sdp_ep_info(ep, &info);
	seq_printf(m, "sdp-id:\t%llu\n", info.id);
	seq_printf(m, "sdp-state:\t%s\n", sdp_state_name(info.state));
	seq_printf(m, "sdp-carrier:\t%s\n", sdp_carrier_name(info.carrier));
	if (info.local_len)
		seq_printf(m, "sdp-local:\t%pISpc\n", &info.local);
	if (info.peer_len)
		seq_printf(m, "sdp-peer:\t%pISpc\n", &info.peer);
}

const struct file_operations sdp_fops = {
	.owner		= THIS_MODULE,
	.open		= sdp_open,
	.flush		= sdp_flush,
	.release	= sdp_release,
	.lock		= sdp_lock,
	.flock		= sdp_flock,
	.read_iter	= sdp_read_iter,
	.write_iter	= sdp_write_iter,
	.splice_read	= copy_splice_read,
	.splice_write	= iter_file_splice_write,
	.poll		= sdp_poll,
	.mmap		= sdp_mmap,
	.fasync		= sdp_fasync,
	.unlocked_ioctl	= sdp_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.uring_cmd	= sdp_uring_cmd,
	.show_fdinfo	= sdp_show_fdinfo,
};

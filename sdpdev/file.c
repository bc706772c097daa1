// SPDX-License-Identifier: GPL-2.0
/*
 * The file operations of /dev/sdp: an open file is an endpoint.
 */
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/splice.h>

#include "sdpdev.h"

static int sdp_open(struct inode *inode, struct file *file)
{
	struct sdp_ep *ep = sdp_ep_create(NULL);

	if (!ep)
		return -ENOMEM;
	file->private_data = ep;
	ep->file = file;
	/* As for a socket: io_uring may try without waiting. */
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

static int sdp_release(struct inode *inode, struct file *file)
{
	sdp_close(file->private_data);
	return 0;
}

/*
 * Waits until it is settled which carrier answers.  Returns the MSG_* flags of
 * the call, or a negative errno; @timeo is what is left of the time-out.
 */
static int sdp_settle(struct kiocb *iocb, struct sdp_ep *ep, bool write,
		      long *timeo)
{
	struct sdp_opts opts;
	int flags = 0, err;

	if (!sdp_ep_ready(ep))
		return -ENOTCONN;
	if ((iocb->ki_flags & IOCB_NOWAIT) ||
	    (iocb->ki_filp->f_flags & O_NONBLOCK))
		flags = MSG_DONTWAIT;
	sdp_opts_get(ep, &opts);
	*timeo = flags ? 0 : write ? opts.sndtimeo : opts.rcvtimeo;
	err = sdp_connect_wait(ep, timeo);
	return err ? : flags;
}

static ssize_t sdp_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct sdp_ep *ep = iocb->ki_filp->private_data;
	unsigned int out_flags = 0;
	long timeo;
	int flags;

	if (!iov_iter_count(to))
		return 0;
	flags = sdp_settle(iocb, ep, false, &timeo);
	if (flags < 0)
		return flags;
	if (sdp_ep_native(ep))
		return sdp_native_recv(ep, to, flags, NULL);
	return sdp_recv(ep, to, flags, timeo, &out_flags);
}

static ssize_t sdp_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct sdp_ep *ep = iocb->ki_filp->private_data;
	long timeo;
	int flags;

	flags = sdp_settle(iocb, ep, true, &timeo);
	if (flags < 0)
		return flags;
	if (sdp_ep_native(ep))
		return sdp_native_send(ep, from, flags);
	return sdp_send(ep, from, flags, timeo);
}

static __poll_t sdp_poll(struct file *file, poll_table *pt)
{
	struct sdp_ep *ep = file->private_data;

	poll_wait(file, &ep->wait, pt);
	/* Pairs with the barrier of wq_has_sleeper() in sdp_ep_wake(). */
	smp_mb();
	if (!sdp_ep_ready(ep))
		return EPOLLERR | EPOLLHUP;
	return sdp_ep_poll(ep);
}

static int sdp_mmap(struct file *file, struct vm_area_struct *vma)
{
	return sdp_ring_mmap(file->private_data, vma);
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
	.release	= sdp_release,
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

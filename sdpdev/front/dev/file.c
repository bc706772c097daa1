// SPDX-License-Identifier: GPL-2.0
/*
 * The file operations of /dev/sdp: an open file is an endpoint.
 */
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/splice.h>

#include "sdpdev.h"

/**
 * struct sdp_handover - an accepted endpoint on its way to its file
 * @node: in the list of all
 * @task: who opens the file
 * @ep: the endpoint, NULL once the file has it
 */
struct sdp_handover {
	struct list_head node;
	struct task_struct *task;
	struct sdp_ep *ep;
};

static LIST_HEAD(sdp_handovers);
static DEFINE_SPINLOCK(sdp_handover_lock);

/* The endpoint that this task has accepted and opens a file for, or NULL. */
static struct sdp_ep *sdp_handed_over(void)
{
	struct sdp_handover *h;
	struct sdp_ep *ep = NULL;

	spin_lock(&sdp_handover_lock);
	list_for_each_entry(h, &sdp_handovers, node)
		if (h->task == current)
			swap(ep, h->ep);
	spin_unlock(&sdp_handover_lock);
	return ep;
}

/**
 * sdp_open_accepted() - open a file for an accepted endpoint
 * @file: the listening one, for another of the same device node
 * @ep: the endpoint; closed where there is no file
 * @flags: O_*
 *
 * Return: the file, or an ERR_PTR().
 */
struct file *sdp_open_accepted(struct file *file, struct sdp_ep *ep, int flags)
{
	struct sdp_handover h = { .task = current, .ep = ep };
	struct file *f;

	spin_lock(&sdp_handover_lock);
	list_add(&h.node, &sdp_handovers);
	spin_unlock(&sdp_handover_lock);
	f = dentry_open(&file->f_path, flags, current_cred());
	spin_lock(&sdp_handover_lock);
	list_del(&h.node);
	spin_unlock(&sdp_handover_lock);
	if (h.ep)
		sdp_close(h.ep);
	return f;
}

static int sdp_open(struct inode *inode, struct file *file)
{
	struct sdp_ep *ep = sdp_handed_over() ? : sdp_ep_create(NULL);

	if (!ep)
		return -ENOMEM;
	file->private_data = ep;
	/* Offsets it has none, and F_GETFL of a socket does not show it. */
	file->f_flags &= ~O_LARGEFILE;
	spin_lock_bh(&ep->lock);
	ep->file = file;
	spin_unlock_bh(&ep->lock);
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
	sdp_ring_closing(file->private_data);
	sdp_unlock(file, id);
	return 0;
}

static int sdp_release(struct inode *inode, struct file *file)
{
	sdp_unlock(file, file);
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
	int flags = 0, err;

	if (!sdp_ep_ready(ep))
		return -ENOTCONN;
	if ((iocb->ki_flags & IOCB_NOWAIT) ||
	    (iocb->ki_filp->f_flags & O_NONBLOCK))
		flags = MSG_DONTWAIT;
	*timeo = flags ? 0 : sdp_timeo(ep, write);
	err = sdp_connect_wait(ep, timeo);
	return err ? : flags;
}

static ssize_t sdp_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct sdp_ep *ep = iocb->ki_filp->private_data;
	long timeo;
	int flags;

	if (!iov_iter_count(to))
		return 0;
	flags = sdp_settle(iocb, ep, false, &timeo);
	if (flags < 0)
		return flags;
	if (sdp_ep_native(ep))
		return sdp_ep_pending(ep) ? :
		       sdp_native_recv(ep, to, flags, &(struct msghdr){});
	return sdp_recv(ep, to, flags, timeo, NULL);
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
		return sdp_ep_pending(ep) ? : sdp_native_send(ep, from, flags);
	return sdp_send(ep, from, flags, timeo);
}

static __poll_t sdp_poll(struct file *file, poll_table *pt)
{
	struct sdp_ep *ep = file->private_data;

	poll_wait(file, &ep->wait, pt);
	/*
	 * The place in the queue before the look at the state.  Pairs with the barrier
	 * of wq_has_sleeper() in sdp_ep_wake(): what happened comes before the look at
	 * the queue.
	 */
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

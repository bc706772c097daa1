// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_IOC_ACCEPT: an accepted connection gets its file.
 */
#include <linux/file.h>
#include <linux/net.h>

#include "front/dev/dev.h"

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

/**
 * sdp_handed_over() - the endpoint that this task has accepted and opens a file for
 *
 * Return: the endpoint, or NULL.
 */
struct sdp_ep *sdp_handed_over(void)
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

/* A file for @ep, of the same device node as @file; @ep is closed where there is none. */
static struct file *sdp_open_accepted(struct file *file, struct sdp_ep *ep, int flags)
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

static int sdp_accept_tcp(struct socket *sock, struct sdp_accept *args,
			  struct file **newfile)
{
	struct file *f;
	int err;

	err = kernel_getpeername(sock, (struct sockaddr *)&args->addr);
	if (err < 0) {
		sock_release(sock);
		return -ECONNABORTED;
	}
	args->addr_len = err;
	args->carrier = SDP_CARRIER_TCP;
	/* Releases the socket where it fails. */
	f = sock_alloc_file(sock, args->flags & SDP_ACCEPT_NONBLOCK ? O_NONBLOCK : 0,
			    NULL);
	if (IS_ERR(f))
		return PTR_ERR(f);
	*newfile = f;
	return 0;
}

static int sdp_accept_sdp(struct file *file, struct sdp_ep *child,
			  struct sdp_accept *args, struct file **newfile)
{
	struct file *f;
	int flags = O_RDWR;
	int err = 0;

	if (args->flags & SDP_ACCEPT_NONBLOCK)
		flags |= O_NONBLOCK;
	/* Reading looks for that one in the native socket only. */
	if (child->tcp->inherited.peek_off >= 0) {
		mutex_lock(&child->op_mutex);
		err = sdp_native_ensure(child);
		mutex_unlock(&child->op_mutex);
	}
	f = sdp_open_accepted(file, child, flags);
	if (IS_ERR(f))
		return PTR_ERR(f);
	if (err) {
		fput(f);
		return err;
	}

	sdp_ep_lock(child);
	memcpy(&args->addr, &child->peer, sizeof(args->addr));
	args->addr_len = sdp_addr_len(&child->peer);
	sdp_ep_unlock(child);
	args->carrier = SDP_CARRIER_SDP;
	*newfile = f;
	return 0;
}

/**
 * sdp_accept() - accept(2)
 * @file: the listening file
 * @args: flags in; carrier and the peer's address out
 * @nonblock: do not wait
 * @newfile: out: the new connection's file
 *
 * Return: zero or a negative errno.
 */
int sdp_accept(struct file *file, struct sdp_accept *args, bool nonblock,
	       struct file **newfile)
{
	struct sdp_accepted got = {};
	int err;

	err = sdp_ep_accept(file->private_data, nonblock, &got);
	if (err)
		return err;
	return got.ep ? sdp_accept_sdp(file, got.ep, args, newfile) :
			sdp_accept_tcp(got.sock, args, newfile);
}

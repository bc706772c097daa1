/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/sdp: an open file is an endpoint.
 *
 * This folder checks the input of user space before any other folder acts on it.  The
 * structures of uapi/linux/sdp.h and struct file go no further down.
 *
 * Lifetimes: an open file holds its endpoint (file->private_data) until sdp_close().
 * Nothing of another folder holds a file, but ep->file, which tells the owner of SIGURG and
 * is NULL once the file is closed.
 */
#ifndef _SDP_DEV_H
#define _SDP_DEV_H

struct sdp_attach;
struct sdp_ctl;

#include "ring/ring.h"
#include "switch/switch.h"

/* file.c */
extern const struct file_operations sdp_fops;

/* attach.c */
int sdp_attach_rings(struct sdp_attach *arg, struct file **newfile);

/* ctl.c */
int sdp_ctl(struct sdp_ctl *ctl);

/* replace.c */
int sdp_replace(struct file *file, unsigned int fd);

/* lock.c */
int sdp_lock(struct file *file, int cmd, struct file_lock *fl);
int sdp_flock(struct file *file, int cmd, struct file_lock *fl);
void sdp_unlock(struct file *file, fl_owner_t owner);

/* accept.c */
struct sdp_ep *sdp_handed_over(void);
int sdp_accept(struct file *file, struct sdp_accept *args, bool nonblock,
	       struct file **newfile);

/* arg.c */
long sdp_arg_get(void *arg, u32 least, u32 known, void __user *user);

/* msg.c */
long sdp_msg_command(struct sdp_ep *ep, bool send, struct sdp_msg __user *user,
		     bool nonblock, bool uring);

/* ioctl.c */
long sdp_command(struct file *file, unsigned int cmd, void __user *user,
		 bool nonblock, bool uring);
long sdp_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* uring.c */
int sdp_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

/* proc.c */
int sdp_proc_init(void);
void sdp_proc_exit(void);
const char *sdp_state_name(u32 state);
const char *sdp_carrier_name(u32 carrier);

#endif /* _SDP_DEV_H */

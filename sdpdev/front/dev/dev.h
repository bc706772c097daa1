/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/sdp: the door for rings and control.
 *
 * An open file has no state: each ioctl says what it is about.  ioctl.c checks the structures of
 * user space before anything acts on them; what a pointer in them leads to is checked where it
 * is read.
 */
#ifndef _SDP_DEV_H
#define _SDP_DEV_H

struct file;
struct sdp_attach;
struct sdp_ctl;
struct sdp_xprt_upcalls;

/* events.c */
extern const struct sdp_xprt_upcalls sdp_events;

/* ioctl.c */
extern const struct file_operations sdp_fops;

/* attach.c */
int sdp_attach_rings(struct sdp_attach *arg, struct file **newfile);

/* ctl.c */
int sdp_ctl(struct sdp_ctl *ctl);

/* proc.c */
int sdp_proc_init(void);
void sdp_proc_exit(void);

#endif /* _SDP_DEV_H */

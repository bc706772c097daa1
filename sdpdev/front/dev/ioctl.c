// SPDX-License-Identifier: GPL-2.0
/*
 * The file operations of /dev/sdp.  See uapi/linux/sdp.h for how structures grow.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sdp_ring.h>
#include <linux/uaccess.h>

#include "front/dev/dev.h"
#include "front/sock/sock.h"

/* What an ioctl gets; zero behind what user space gave. */
union sdp_arg {
	__u32 size;
	struct sdp_rule rule;
	struct sdp_attach attach;
	struct sdp_ctl ctl;
};

/* Reads a structure, of whatever version, that has @known bytes now; never had fewer. */
static int sdp_arg_get(union sdp_arg *arg, u32 known, void __user *user)
{
	u32 size;
	int err;

	memset(arg, 0, sizeof(*arg));
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (size < known || size > PAGE_SIZE)
		return -EINVAL;
	err = copy_struct_from_user(arg, known, user, size);
	if (err)
		return err == -E2BIG ? -EINVAL : err;
	/* The size was read twice, and may have changed in between. */
	arg->size = size;
	return 0;
}

static int sdp_arg_put(const union sdp_arg *arg, u32 known, void __user *user)
{
	return copy_to_user(user, arg, known) ? -EFAULT : 0;
}

static long sdp_dev_rule(void __user *user)
{
	union sdp_arg arg;
	int err = sdp_arg_get(&arg, sizeof(arg.rule), user);

	return err ?: sdp_rule_set(&arg.rule);
}

static long sdp_dev_ctl(void __user *user)
{
	union sdp_arg arg;
	int err = sdp_arg_get(&arg, sizeof(arg.ctl), user);

	err = err ?: sdp_ctl(&arg.ctl);
	return err ?: sdp_arg_put(&arg, sizeof(arg.ctl), user);
}

/* The number is reserved first: a process that has none left does not attach in vain. */
static long sdp_dev_attach(void __user *user)
{
	struct file *newfile = NULL;
	union sdp_arg arg;
	int fd, err = sdp_arg_get(&arg, sizeof(arg.attach), user);

	if (err)
		return err;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	err = sdp_attach_rings(&arg.attach, &newfile);
	/* A program that the kernel refuses for its version learns the kernel's. */
	if ((!err || err == -EPROTONOSUPPORT) && sdp_arg_put(&arg, sizeof(arg.attach), user))
		err = -EFAULT;
	if (!err) {
		fd_install(fd, newfile);
		return fd;
	}
	put_unused_fd(fd);
	if (newfile)
		fput(newfile);
	return err;
}

static long sdp_dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case SDP_IOC_RULE:
		return sdp_dev_rule(user);
	case SDP_IOC_ATTACH:
		return sdp_dev_attach(user);
	case SDP_IOC_CTL:
		return sdp_dev_ctl(user);
	default:
		return -ENOTTY;
	}
}

const struct file_operations sdp_fops = {
	.owner		= THIS_MODULE,
	.open		= nonseekable_open,
	.llseek		= noop_llseek,
	.unlocked_ioctl	= sdp_dev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};
